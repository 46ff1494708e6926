// SPDX-License-Identifier: Apache-2.0
#include "replay_impl.h"
#include "units.h"

static double percent(double part, double whole) {
    return whole > 0 ? 100 * part / whole : 0;
}

static const char *show(double ns, char buf[32]) {
    return npu_show_time(ns, buf, 32);
}

// "+12.00 us"
static const char *show_difference(double ns, char buf[40]) {
    char text[32];
    snprintf(buf, 40, "%s%s", ns < 0 ? "-" : "+", npu_show_time(ns < 0 ? -ns : ns, text, 32));
    return buf;
}

static void print_kernels(FILE *out, const npu_replay *r) {
    char text[7][32];
    fprintf(out, "\n  %-24s %6s %6s  %-32s %-32s %7s %7s %10s  %s\n", "Kernel", "tasks", "rows",
            "measured: mean, p50, p90", "modelled: mean, p50, p90", "error", "share", "start off",
            "time of");
    for (int i = 0; i < r->kernel_count; i++) {
        const npu_replay_kernel *k = &r->kernels[i];
        if (k->rows > 0)
            fprintf(
                out,
                "  %-24.24s %6d %6d  %10s %10s %10s %10s %10s %10s %+6.1f%% %+6.1f%% %10s  %s\n",
                k->name, k->tasks, k->rows, show(k->measured.mean, text[0]),
                show(k->measured.p50, text[1]), show(k->measured.p90, text[2]),
                show(k->modelled.mean, text[3]), show(k->modelled.p50, text[4]),
                show(k->modelled.p90, text[5]),
                percent(k->modelled.mean - k->measured.mean, k->measured.mean), 100 * k->share,
                show(k->start_error, text[6]), k->by_program ? "the model" : "the capture");
    }
}

static void print_waterfall(FILE *out, const npu_replay *r) {
    char text[32], change[40];
    const npu_waterfall *w = &r->waterfall;
    if (!w->known) {
        fprintf(out, "\n  Causes cannot be told: the capture's stamps contradict its edges\n");
        return;
    }
    fprintf(out, "\n  %-24s %12s %12s\n", "Cause", "difference", "makespan");
    fprintf(out, "  %-24s %12s %12s\n", "measured", "", show(r->measured, text));
    for (int c = 0; c < NPU_CAUSE_COUNT; c++)
        fprintf(out, "  %-24s %12s %12s\n", npu_replay_cause_names[c],
                show_difference(w->share[c], change), show(w->after[c], text));
    fprintf(out, "  %-24s %12s %12s\n", "modelled", "", show(r->modelled, text));
}

static void print_parting(FILE *out, const npu_replay *r, const npu_parting *p, const char *how) {
    char at[32], apart[40];
    if (p->task < 0) {
        fprintf(out, "  The schedules do not part %s\n", how);
        return;
    }
    fprintf(out, "  The schedules part %s at %s: task %s", how, show(p->at, at),
            r->graph.tasks[p->task].name);
    if (p->core >= 0 && p->other_core >= 0)
        fprintf(out, " on core %d, modelled on %d, %s\n", p->core, p->other_core,
                show_difference(p->apart, apart));
    else
        fprintf(out, " runs %s only\n", p->core >= 0 ? "in the capture" : "in the model");
}

static void print_schedule(FILE *out, const npu_replay *r) {
    static const char *const runs[] = {"measured", "modelled"};
    char text[4][32];
    fputc('\n', out);
    print_parting(out, r, &r->by_time, "in time");
    print_parting(out, r, &r->by_place, "in place");
    fprintf(out, "\n  %-10s %24s  %s\n", "", "tasks sent early:",
            "cores idle with ready rows: of "
            "the time, times cores");
    fprintf(out, "  %-10s %8s %8s %6s  %10s %10s %12s %12s\n", "", "full", "partial", "none", "AIC",
            "AIV", "AIC", "AIV");
    for (int i = 0; i < 2; i++)
        fprintf(out, "  %-10s %8d %8d %6d  %10s %10s %12s %12s\n", runs[i],
                r->early[i][NPU_EARLY_FULL], r->early[i][NPU_EARLY_PARTIAL],
                r->early[i][NPU_EARLY_NO], show(r->idle[i][0].time, text[0]),
                show(r->idle[i][1].time, text[1]), show(r->idle[i][0].core_time, text[2]),
                show(r->idle[i][1].core_time, text[3]));
}

void npu_replay_print(FILE *out, const npu_replay *r) {
    char a[32], b[32];
    fprintf(out, "measured %s, modelled %s (%+.1f %%), first dispatch to last finish\n",
            show(r->measured, a), show(r->modelled, b),
            percent(r->modelled - r->measured, r->measured));
    fprintf(out,
            "  %d tasks ran; their starts lie %s apart in the median (%.1f %%), %s at most "
            "for 90 %%\n",
            r->tasks, show(r->start_median, a), percent(r->start_median, r->measured),
            show(r->start_p90, b));
    if (r->idle_tasks > 0)
        fprintf(out, "  %d tasks have a kernel and no row: they are carried out as dummies\n",
                r->idle_tasks);
    print_kernels(out, r);
    print_waterfall(out, r);
    print_schedule(out, r);
    if (r->unrecorded > 0)
        fprintf(out, "\n  without the recorder: %s\n", show(r->unrecorded, a));
}
