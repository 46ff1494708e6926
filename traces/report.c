// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

enum { NAME_WIDTH = 24, MOST_LINKS = 24 };

static npu_shown percent(double share) {
    npu_shown f = {{0}};
    snprintf(f.text, sizeof f.text, "%.1f %%", share * 100);
    return f;
}

// A large count in steps of 1000: "1.23 G".
static npu_shown count_of(double count) {
    static const char *const steps[] = {"", " k", " M", " G", " T", " P"};
    int step = 0;
    while (count >= 999.95 && step < 5) {
        count /= 1000;
        step++;
    }
    npu_shown f = {{0}};
    snprintf(f.text, sizeof f.text, "%.*f%s", step > 0 ? 2 : 0, count, steps[step]);
    return f;
}

static double ratio(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

static const char *engine_label(npu_engine_type engine) {
    static const char *const labels[] = {"AIC", "AIV", "MIX", "-"};
    return labels[engine];
}

static void print_head(FILE *out, const npu_report *report) {
    const npu_metrics *metrics = report->metrics;
    const npu_trace *trace = report->trace;
    int64_t blocks = 0;
    int aic = 0;
    for (int i = 0; i < metrics->kernel_count; i++)
        blocks += metrics->kernels[i].blocks;
    for (int core = 0; core < trace->core_count; core++)
        aic += trace->cores[core].type == NPU_AIC;
    fprintf(out, "%s on %s: makespan %s\n", report->graph->name, report->die,
            npu_shown_time(metrics->makespan).text);
    fprintf(out, "  %d tasks (%d without a kernel), %lld blocks, %d rows on %d AIC and %d AIV\n",
            report->graph->task_count, metrics->dummies, (long long)blocks, trace->row_count, aic,
            trace->core_count - aic);
}

static int by_core_time(const void *a, const void *b) {
    const npu_kernel_metrics *x = a;
    const npu_kernel_metrics *y = b;
    if (x->core_time != y->core_time)
        return x->core_time > y->core_time ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void print_times(FILE *out, const npu_kernel_metrics *kernels, int count) {
    fprintf(out, "\n%-*s %-4s %6s %8s %8s %11s %11s %10s\n", NAME_WIDTH, "Kernel", "on", "tasks",
            "blocks", "rows", "block mean", "block max", "core time");
    for (int i = 0; i < count; i++) {
        const npu_kernel_metrics *k = &kernels[i];
        fprintf(out, "%-*.*s %-4s %6d %8lld %8d %11s %11s %10s\n", NAME_WIDTH, NAME_WIDTH, k->name,
                engine_label(k->engine), k->tasks, (long long)k->blocks, k->rows,
                npu_shown_time(k->block_mean).text, npu_shown_time(k->block_max).text,
                percent(k->core_share).text);
    }
}

static void print_causes(FILE *out, const npu_kernel_metrics *kernels, int count) {
    fprintf(out, "\n%-*s %-11s %7s %9s %9s %16s %16s\n", NAME_WIDTH, "Kernel", "bound by", "busy",
            "read", "written", "head mean/median", "tail mean/median");
    for (int i = 0; i < count; i++) {
        const npu_kernel_metrics *k = &kernels[i];
        char bound[24];
        char head[72];
        char tail[72];
        snprintf(bound, sizeof bound, "%s %s", engine_label(k->bound_core),
                 npu_pipe_names[k->bound_pipe]);
        snprintf(head, sizeof head, "%s/%s", npu_shown_time(k->head_mean).text,
                 npu_shown_time(k->head_median).text);
        snprintf(tail, sizeof tail, "%s/%s", npu_shown_time(k->tail_mean).text,
                 npu_shown_time(k->tail_median).text);
        fprintf(out, "%-*.*s %-11s %7s %9s %9s %16s %16s\n", NAME_WIDTH, NAME_WIDTH, k->name, bound,
                percent(k->bound_share).text, npu_shown_bytes((double)k->read_bytes).text,
                npu_shown_bytes((double)k->write_bytes).text, head, tail);
    }
}

static void print_kernels(FILE *out, const npu_metrics *metrics) {
    npu_kernel_metrics *kernels = calloc((size_t)metrics->kernel_count + 1, sizeof *kernels);
    if (kernels == NULL) {
        fputs("\n(no memory left to print the kernels)\n", out);
        return;
    }
    int count = 0;
    for (int i = 0; i < metrics->kernel_count; i++)
        if (metrics->kernels[i].rows > 0)
            kernels[count++] = metrics->kernels[i];
    qsort(kernels, (size_t)count, sizeof *kernels, by_core_time);
    print_times(out, kernels, count);
    print_causes(out, kernels, count);
    free(kernels);
}

static void print_use(FILE *out, const char *what, double share, const char *detail) {
    fprintf(out, "  %-16s %8s  %s\n", what, percent(share).text, detail);
}

static void print_memory_use(FILE *out, const npu_totals *totals, double span) {
    char detail[160];
    double hbm = ratio(totals->hbm_read_bytes + totals->hbm_write_bytes, span);
    snprintf(detail, sizeof detail, "%s of %s; read %s, written %s", npu_shown_rate(hbm).text,
             npu_shown_rate(totals->hbm_peak).text, npu_shown_bytes(totals->hbm_read_bytes).text,
             npu_shown_bytes(totals->hbm_write_bytes).text);
    print_use(out, "HBM", ratio(hbm, totals->hbm_peak), detail);
    double touched = totals->l2_hit_bytes + totals->l2_miss_bytes;
    snprintf(detail, sizeof detail, "reads %s of %s; hit %s, missed %s",
             npu_shown_rate(ratio(touched, span)).text, npu_shown_rate(totals->l2_read_peak).text,
             npu_shown_bytes(totals->l2_hit_bytes).text,
             npu_shown_bytes(totals->l2_miss_bytes).text);
    print_use(out, "L2", ratio(touched, span * totals->l2_read_peak), detail);
}

static void print_utilisation(FILE *out, const npu_report *report) {
    const npu_metrics *metrics = report->metrics;
    fprintf(out, "\nShare of the makespan\n");
    print_use(out, "AIC", metrics->aic_busy, "cores in a kernel");
    print_use(out, "AIV", metrics->aiv_busy, "cores in a kernel");
    print_memory_use(out, &report->trace->totals, metrics->makespan);
    for (int i = 0; i < metrics->aicpu_count; i++) {
        char what[40];
        if (i == 0)
            snprintf(what, sizeof what, "AICPU");
        else
            what[0] = '\0';
        char detail[40];
        if (i == 0)
            snprintf(detail, sizeof detail, "orchestrator");
        else
            snprintf(detail, sizeof detail, "scheduler %d", i - 1);
        print_use(out, what, metrics->aicpu_busy[i], detail);
    }
}

// What L2 did for each class; prefetched and stored lines only where there are any.
static void print_l2(FILE *out, const npu_totals *totals) {
    static const char *const classes[] = {"activations", "weights", "cache", "handoff"};
    _Static_assert(sizeof classes / sizeof *classes == NPU_CLASS_COUNT, "classes");
    fprintf(out, "\n%-18s %10s %10s %16s %10s %12s\n", "L2 by class", "hit", "missed",
            "evicted unused", "warmed", "warmed used");
    for (int i = 0; i < NPU_CLASS_COUNT; i++) {
        const npu_l2_use *u = &totals->l2[i];
        if (u->hit + u->missed + u->evicted + u->warmed > 0)
            fprintf(out, "  %-16s %10s %10s %16s %10s %12s\n", classes[i],
                    npu_shown_bytes(u->hit).text, npu_shown_bytes(u->missed).text,
                    npu_shown_bytes(u->evicted).text, npu_shown_bytes(u->warmed).text,
                    npu_shown_bytes(u->warmed_used).text);
    }
}

static void print_class(FILE *out, const char *what, double loaded, double stored) {
    fprintf(out, "  %-16s %10s %10s\n", what, npu_shown_bytes(loaded).text,
            npu_shown_bytes(stored).text);
}

static void print_work(FILE *out, const npu_totals *totals, double span) {
    static const char *const classes[] = {"activations", "weights", "cache", "handoff"};
    _Static_assert(sizeof classes / sizeof *classes == NPU_CLASS_COUNT, "classes");
    fprintf(out, "\n%-18s %10s %10s\n", "Bytes by class", "loaded", "stored");
    double loaded = 0;
    double stored = 0;
    for (int i = 0; i < NPU_CLASS_COUNT; i++) {
        print_class(out, classes[i], (double)totals->load_bytes[i], (double)totals->store_bytes[i]);
        loaded += (double)totals->load_bytes[i];
        stored += (double)totals->store_bytes[i];
    }
    print_class(out, "all", loaded, stored);
    if (totals->prefetch_bytes > 0)
        fprintf(out, "  %-16s %10s by SDMA into L2\n", "prefetched",
                npu_shown_bytes((double)totals->prefetch_bytes).text);
    print_l2(out, totals);
    double padded = (double)totals->mac_padded;
    double valid = (double)totals->mac_valid;
    fprintf(out, "\nCompute\n");
    fprintf(out, "  %-16s %10s MAC, %s MAC of them valid (%s), %.2f TOPS valid\n", "cube",
            count_of(padded).text, count_of(valid).text, percent(ratio(valid, padded)).text,
            ratio(2 * valid, span) / 1e3);
    fprintf(out, "  %-16s %10s elements\n", "vector", count_of((double)totals->vec_elements).text);
    fprintf(out, "  %-16s %10s ops\n", "tile programs", count_of((double)totals->ops).text);
}

static void print_link(FILE *out, const npu_report *report, const npu_chain_link *link) {
    assert(link->row >= 0 && link->row < report->trace->row_count);
    const npu_row *row = &report->trace->rows[link->row];
    fprintf(out, "  %11s %10s %-5s %10s  core %-3d %.48s\n", npu_shown_time(row->start).text,
            npu_shown_time(link->wait).text, npu_wait_names[link->reason],
            npu_shown_time(link->exec).text, row->core, report->graph->tasks[link->task].name);
}

static void print_chain(FILE *out, const npu_report *report) {
    const npu_metrics *m = report->metrics;
    fprintf(out, "\nLongest chain: %d blocks, kernels %s + data wait %s + core wait %s\n",
            m->chain_count, npu_shown_time(m->chain_exec).text,
            npu_shown_time(m->chain_wait[NPU_WAIT_DATA]).text,
            npu_shown_time(m->chain_wait[NPU_WAIT_CORE]).text);
    fprintf(out, "  + front %s + last finish %s = %s\n",
            npu_shown_time(m->chain_wait[NPU_WAIT_FRONT]).text, npu_shown_time(m->chain_tail).text,
            npu_shown_time(m->makespan).text);
    if (m->chain_count == 0)
        return;
    fprintf(out, "  %11s %10s %-5s %10s  %-8s %s\n", "start", "waited", "for", "ran", "on", "task");
    for (int i = 0; i < m->chain_count; i++) {
        if (m->chain_count > MOST_LINKS && i == MOST_LINKS / 2) {
            int skipped = m->chain_count - MOST_LINKS;
            fprintf(out, "  %11s %d more\n", "...", skipped);
            i += skipped;
        }
        print_link(out, report, &m->chain[i]);
    }
}

void npu_report_print(FILE *out, const npu_report *report) {
    assert(report->trace != NULL && report->graph != NULL && report->metrics != NULL);
    print_head(out, report);
    print_kernels(out, report->metrics);
    print_utilisation(out, report);
    print_work(out, &report->trace->totals, report->metrics->makespan);
    print_chain(out, report);
}
