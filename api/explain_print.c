// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "units.h"

enum { MOST_LINKS = 120, MOST_WHATIFS = 10, MOST_KERNELS = 24 };

static const double least_time = 0.05; // ns: what is printed as 0.0

static double percent(double part, double whole) {
    return whole > 0 ? 100 * part / whole : 0;
}

static double sum_of(const double *part) {
    double sum = 0;
    for (int c = 0; c < NPU_CAUSE_COUNT; c++)
        sum += part[c];
    return sum;
}

// ---- the head, the two paths ---------------------------------------------------------------

static void print_head(const npu_explained *e, FILE *out) {
    const npu_simulated *run = &e->run;
    const npu_metrics *m = &run->metrics;
    fprintf(out, "%s on %s, %s: makespan %s\n", npu_simulated_graph(run)->name,
            run->context.die.name, e->folder, npu_shown_time(m->makespan).text);
    if (run->context.ranks.count > 1)
        fprintf(out, "  of %d ranks the slowest is explained: rank %d\n", run->context.ranks.count,
                run->slowest);
    fprintf(out, "\nCritical path\n");
    fprintf(out, "  observed  %4d block%s  kernels %s + gaps %s = %s\n", m->chain_count,
            m->chain_count == 1 ? " " : "s", npu_shown_time(m->chain_exec).text,
            npu_shown_time(sum_of(run->gaps.part)).text, npu_shown_time(m->makespan).text);
    fprintf(out, "  static    %4d task%s   %s, with cores for all and no time between tasks\n",
            run->gaps.path_count, run->gaps.path_count == 1 ? " " : "s",
            npu_shown_time(run->gaps.path_length).text);
}

// How much of the kernels' time each pipe of their cores was busy, the five busiest.
static void print_pipes(const npu_explained *e, FILE *out) {
    const npu_metrics *m = &e->run.metrics;
    double busy[NPU_PIPE_COUNT] = {0}, time = 0;
    for (int i = 0; i < m->chain_count; i++) {
        const npu_row *row = &npu_simulated_trace(&e->run)->rows[m->chain[i].row];
        time += row->end - row->start;
        for (int pipe = 0; pipe < NPU_PIPE_COUNT; pipe++)
            busy[pipe] += row->busy[pipe];
    }
    const char *before = "  pipes busy in them  ";
    for (int n = 0; n < 5; n++) {
        int most = 0;
        for (int pipe = 1; pipe < NPU_PIPE_COUNT; pipe++)
            most = busy[pipe] > busy[most] ? pipe : most;
        if (percent(busy[most], time) < 0.05)
            break;
        fprintf(out, "%s%s %.1f %%", before, npu_pipe_names[most], percent(busy[most], time));
        busy[most] = 0;
        before = ", ";
    }
    fputs(before[0] == ',' ? "\n" : "", out);
}

static void print_causes(const npu_explained *e, FILE *out) {
    static const char *const means[] = {
        "ended, until the AICPU saw it",
        "seen, until the task was submitted",
        "ready, until written to a core",
        "written, until its kernel started",
    };
    const npu_metrics *m = &e->run.metrics;
    const npu_gaps *gaps = &e->run.gaps;
    fprintf(out, "\n%-20s %11s %8s %6s %10s\n", "Observed path", "time", "share", "gaps",
            "longest");
    fprintf(out, "  %-18s %11s %6.1f %%\n", "kernels", npu_shown_time(m->chain_exec).text,
            percent(m->chain_exec, m->makespan));
    print_pipes(e, out);
    for (int c = 0; c < NPU_CAUSE_COUNT; c++) {
        int count = 0;
        double longest = 0;
        for (int i = 0; i < m->chain_count; i++) {
            count += gaps->gaps[i].part[c] > 0;
            longest = gaps->gaps[i].part[c] > longest ? gaps->gaps[i].part[c] : longest;
        }
        if (c == NPU_CAUSE_DETECT) { // the last finish
            count += m->chain_tail > 0;
            longest = m->chain_tail > longest ? m->chain_tail : longest;
        }
        fprintf(out, "  %-18s %11s %6.1f %% %6d %10s  %s\n", npu_cause_names[c],
                npu_shown_time(gaps->part[c]).text, percent(gaps->part[c], m->makespan), count,
                npu_shown_time(longest).text, means[c]);
    }
}

// ---- the links -----------------------------------------------------------------------------

static int by_wait(const void *a, const void *b) {
    const double *x = a, *y = b;
    return *x != *y ? (*x > *y ? -1 : 1) : 0;
}

// The wait from which on a link is printed: of a long path the longest gaps only. Below 0: all.
static double least_wait(const npu_metrics *m) {
    if (m->chain_count <= MOST_LINKS)
        return -1;
    double *waits = calloc((size_t)m->chain_count, sizeof *waits);
    if (waits == NULL)
        return -1;
    for (int i = 0; i < m->chain_count; i++)
        waits[i] = m->chain[i].wait;
    qsort(waits, (size_t)m->chain_count, sizeof *waits, by_wait);
    double least = waits[MOST_LINKS - 1];
    free(waits);
    return least;
}

static void print_link(const npu_simulated *run, int i, FILE *out) {
    const npu_chain_link *link = &run->metrics.chain[i];
    const npu_row *row = &npu_simulated_trace(run)->rows[link->row];
    const double *part = run->gaps.gaps[i].part;
    fprintf(out, "%10s %-5s %9s %9s %9s %9s %9s %4d %.27s\n", npu_shown_time(row->start).text,
            npu_wait_names[link->reason], npu_shown_time(part[0]).text,
            npu_shown_time(part[1]).text, npu_shown_time(part[2]).text,
            npu_shown_time(part[3]).text, npu_shown_time(link->exec).text, row->core,
            npu_simulated_graph(run)->tasks[link->task].name);
}

static void print_links(const npu_explained *e, FILE *out) {
    const npu_metrics *m = &e->run.metrics;
    double least = least_wait(m);
    int equal = MOST_LINKS; // links that wait as long as the least: as many as there is room for
    for (int i = 0; i < m->chain_count; i++)
        equal -= m->chain[i].wait > least;
    fprintf(out, "\nEach gap of it, and the block after it%s\n",
            m->chain_count > MOST_LINKS ? " (the longest; --json has all)" : "");
    fprintf(out, "%10s %-5s %9s %9s %9s %9s %9s %4s %s\n", "start", "for", "detect", "submit",
            "undisp.", "pick-up", "ran", "core", "task");
    for (int i = 0; i < m->chain_count; i++)
        if (m->chain[i].wait > least || (m->chain[i].wait == least && equal-- > 0))
            print_link(&e->run, i, out);
    fprintf(out, "%10s %-5s %9s\n", npu_shown_time(m->makespan).text, "end",
            npu_shown_time(m->chain_tail).text);
}

// ---- core time and wall time ---------------------------------------------------------------

static void print_kernels(const npu_explained *e, const npu_kernel_time *times, int count,
                          FILE *out) {
    const npu_metrics *m = &e->run.metrics;
    fprintf(out, "\n%-34s %11s %8s  %10s %8s %10s\n", "Core time against wall time", "on cores",
            "share", "on path", "share", "gaps");
    for (int i = 0; i < count && i < MOST_KERNELS; i++) {
        const npu_kernel_time *t = &times[i];
        fprintf(out, "  %-32.32s %11s %6.1f %%  %10s %6.1f %% %10s\n", m->kernels[t->func].name,
                npu_shown_time(t->core).text, percent(t->core, m->core_time),
                npu_shown_time(t->path).text, percent(t->path + t->gaps, m->makespan),
                npu_shown_time(t->gaps).text);
    }
    if (count > MOST_KERNELS)
        fprintf(out, "  and %d more kernels\n", count - MOST_KERNELS);
}

static void print_cores(const npu_explained *e, FILE *out) {
    static const char *const names[] = {"AIC", "AIV"};
    fprintf(out, "\n%-10s %8s %8s %8s %8s %8s %8s %8s\n", "Cores", "kernels", "data", "detect",
            "submit", "undisp.", "pick-up", "no work");
    for (int type = NPU_AIC; type <= NPU_AIV; type++) {
        const npu_core_time *t = &e->run.gaps.cores[type];
        double all = e->run.metrics.makespan * t->cores;
        fprintf(out, "  %3d %-4s %6.1f %% %6.1f %%", t->cores, names[type], percent(t->kernel, all),
                percent(t->data, all));
        for (int c = 0; c < NPU_CAUSE_COUNT; c++)
            fprintf(out, " %6.1f %%", percent(t->part[c], all));
        fprintf(out, " %6.1f %%\n", percent(t->no_work, all));
    }
}

// ---- what-ifs ------------------------------------------------------------------------------

static void print_whatifs(const npu_explained *e, FILE *out) {
    double base = e->run.metrics.makespan;
    fprintf(out, "\n%-38s %10s %10s %8s\n", "What if, each simulated", "makespan", "saved",
            "share");
    for (int i = 0; i < e->whatifs.count && i < MOST_WHATIFS; i++) {
        const npu_whatif *w = &e->whatifs.items[i];
        double saved = base - w->makespan;
        if (w->failed || saved < least_time)
            break;
        fprintf(out, "  %-36.36s %10s %10s %6.1f %%\n", w->name, npu_shown_time(w->makespan).text,
                npu_shown_time(saved).text, percent(saved, base));
    }
    for (int i = 0; i < e->whatifs.count; i++)
        if (e->whatifs.items[i].failed)
            fprintf(out, "  %-36.36s cannot be:\n    %.96s\n", e->whatifs.items[i].name,
                    e->whatifs.items[i].why);
}

npu_status npu_explain_print(const npu_explained *e, FILE *out, npu_error *err) {
    int used = 0;
    npu_kernel_time *times = npu_kernel_times(&e->run, &used);
    if (times == NULL)
        return npu_fail_memory(err);
    print_head(e, out);
    print_causes(e, out);
    print_links(e, out);
    print_kernels(e, times, used, out);
    print_cores(e, out);
    print_whatifs(e, out);
    free(times);
    return NPU_OK;
}
