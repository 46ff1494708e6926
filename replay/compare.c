// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "replay_impl.h"
#include "units.h"

// What a swimlane file would say: whole ticks of `hz`, rounded down. A captured stamp is one.
static double tick(double ns, double hz) {
    return floor(ns * hz / 1e9 + 1e-6) * 1e9 / hz;
}

// First start of each task, from the first dispatch of all, ns; below 0: it has no rows.
static double *first_starts(const npu_trace *trace, int tasks, double hz, double *span) {
    double *starts = malloc(((size_t)tasks + 1) * sizeof *starts);
    double first = INFINITY, last = 0;
    for (int t = 0; t < tasks && starts != NULL; t++)
        starts[t] = -1;
    for (int i = 0; i < trace->row_count && starts != NULL; i++) {
        const npu_row *row = &trace->rows[i];
        first = row->dispatch < first ? row->dispatch : first;
        last = row->finish > last ? row->finish : last;
        if (starts[row->task] < 0) // rows are sorted by start
            starts[row->task] = tick(row->start, hz);
    }
    first = tick(first, hz);
    for (int t = 0; t < tasks && starts != NULL; t++)
        starts[t] = starts[t] >= first ? starts[t] - first : starts[t];
    *span = last > first ? tick(last, hz) - first : 0;
    return starts;
}

static void sum_rows(const npu_trace *trace, const npu_graph *graph, double hz, bool modelled,
                     npu_replay_kernel *kernels) {
    for (int i = 0; i < trace->row_count; i++) {
        const npu_row *row = &trace->rows[i];
        npu_replay_kernel *kernel = &kernels[graph->tasks[row->task].func];
        double time = tick(row->end, hz) - tick(row->start, hz);
        *(modelled ? &kernel->modelled_total : &kernel->measured_total) += time;
        *(modelled ? &kernel->modelled_mean : &kernel->measured_mean) += 1; // counts, for now
    }
}

static int compare_numbers(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double quantile(double *sorted, int count, double share) {
    return count > 0 ? sorted[(int)(share * (count - 1) + 0.5)] : 0;
}

static int compare_kernels(const void *a, const void *b) {
    double x = ((const npu_replay_kernel *)a)->measured_total;
    double y = ((const npu_replay_kernel *)b)->measured_total;
    return x > y ? -1 : x < y;
}

// Errors of the starts of a function's tasks (-1: of all) in ascending order; their number.
static int sort_errors(const npu_graph *graph, const double *measured, const double *modelled,
                       int func, double *errors) {
    int count = 0;
    for (int t = 0; t < graph->task_count; t++)
        if (measured[t] >= 0 && modelled[t] >= 0 && (func < 0 || graph->tasks[t].func == func))
            errors[count++] = fabs(modelled[t] - measured[t]);
    qsort(errors, (size_t)count, sizeof *errors, compare_numbers);
    return count;
}

static void fill(const npu_scene *scene, npu_replay *replay, const double *measured,
                 const double *modelled, double *errors) {
    const npu_graph *graph = &replay->graph;
    double hz = scene->trace.clock_hz;
    int count = sort_errors(graph, measured, modelled, -1, errors);
    replay->start_median = quantile(errors, count, 0.5);
    replay->start_p90 = quantile(errors, count, 0.9);
    sum_rows(&scene->trace, graph, hz, false, replay->kernels);
    sum_rows(&replay->result.trace, graph, hz, true, replay->kernels);
    for (int t = 0; t < graph->task_count; t++) {
        if (graph->tasks[t].func < 0)
            continue;
        npu_replay_kernel *kernel = &replay->kernels[graph->tasks[t].func];
        kernel->tasks++;
        kernel->modelled = kernel->modelled || graph->tasks[t].program != NULL;
    }
    for (int f = 0; f < graph->func_count; f++) {
        npu_replay_kernel *kernel = &replay->kernels[f];
        kernel->name = graph->funcs[f].name;
        kernel->rows = (int)kernel->measured_mean;
        if (kernel->measured_mean > 0)
            kernel->measured_mean = kernel->measured_total / kernel->measured_mean;
        if (kernel->modelled_mean > 0)
            kernel->modelled_mean = kernel->modelled_total / kernel->modelled_mean;
        count = sort_errors(graph, measured, modelled, f, errors);
        kernel->start_error = quantile(errors, count, 0.5);
    }
    replay->kernel_count = graph->func_count;
    qsort(replay->kernels, (size_t)replay->kernel_count, sizeof *replay->kernels, compare_kernels);
}

npu_status npu_replay_compare(const npu_scene *scene, npu_replay *replay, npu_error *err) {
    int tasks = replay->graph.task_count;
    double *measured = first_starts(&scene->trace, tasks, scene->trace.clock_hz, &replay->measured);
    double *modelled =
        first_starts(&replay->result.trace, tasks, scene->trace.clock_hz, &replay->modelled);
    double *errors = malloc(((size_t)tasks + 1) * sizeof *errors);
    replay->kernels = calloc((size_t)replay->graph.func_count + 1, sizeof *replay->kernels);
    bool room = measured != NULL && modelled != NULL && errors != NULL && replay->kernels != NULL;
    if (room)
        fill(scene, replay, measured, modelled, errors);
    free(measured);
    free(modelled);
    free(errors);
    return room ? NPU_OK : npu_fail_memory(err);
}

// ---- printing ------------------------------------------------------------------------------

static double percent(double part, double whole) {
    return whole > 0 ? 100 * part / whole : 0;
}

void npu_replay_print(FILE *out, const npu_replay *r) {
    char a[32], b[32], c[32];
    fprintf(out, "measured %s, modelled %s (%+.1f %%), first dispatch to last finish\n",
            npu_show_time(r->measured, a, sizeof a), npu_show_time(r->modelled, b, sizeof b),
            percent(r->modelled - r->measured, r->measured));
    fprintf(out,
            "  %d tasks ran; their starts lie %s apart in the median (%.1f %%), %s at most "
            "for 90 %%\n",
            r->tasks, npu_show_time(r->start_median, a, sizeof a),
            percent(r->start_median, r->measured), npu_show_time(r->start_p90, b, sizeof b));
    if (r->idle_tasks > 0)
        fprintf(out, "  %d tasks have a kernel and no row: they are carried out as dummies\n",
                r->idle_tasks);
    fprintf(out, "\n  %-24s %6s %6s %12s %12s %8s %12s  %s\n", "Kernel", "tasks", "rows",
            "measured", "modelled", "error", "start off", "time of");
    for (int i = 0; i < r->kernel_count; i++) {
        const npu_replay_kernel *k = &r->kernels[i];
        if (k->rows > 0)
            fprintf(out, "  %-24.24s %6d %6d %12s %12s %+7.1f%% %12s  %s\n", k->name, k->tasks,
                    k->rows, npu_show_time(k->measured_mean, a, sizeof a),
                    npu_show_time(k->modelled_mean, b, sizeof b),
                    percent(k->modelled_mean - k->measured_mean, k->measured_mean),
                    npu_show_time(k->start_error, c, sizeof c),
                    k->modelled ? "the model" : "the capture");
    }
}
