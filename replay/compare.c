// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "replay_impl.h"

double npu_replay_tick(double ns, double hz) {
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
            starts[row->task] = npu_replay_tick(row->start, hz);
    }
    first = npu_replay_tick(first, hz);
    for (int t = 0; t < tasks && starts != NULL; t++)
        starts[t] = starts[t] >= first ? starts[t] - first : starts[t];
    *span = last > first ? npu_replay_tick(last, hz) - first : 0;
    return starts;
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
    double x = ((const npu_replay_kernel *)a)->measured.total;
    double y = ((const npu_replay_kernel *)b)->measured.total;
    return x > y ? -1 : x < y;
}

static int func_of(const npu_replay *replay, const npu_timed *run, int row) {
    return replay->graph.tasks[run->rows[row].task].func;
}

// The rows of a function; `lengths` has room for all rows. Returns how many.
static int measure_rows(const npu_replay *replay, const npu_timed *run, int func, double *lengths,
                        npu_replay_span *span) {
    int count = 0;
    *span = (npu_replay_span){.total = 0};
    for (int i = 0; i < run->count; i++) {
        if (func_of(replay, run, i) != func)
            continue;
        lengths[count] = run->rows[i].end - run->rows[i].start;
        span->total += lengths[count++];
    }
    qsort(lengths, (size_t)count, sizeof *lengths, compare_numbers);
    span->mean = count > 0 ? span->total / count : 0;
    span->p50 = quantile(lengths, count, 0.5);
    span->p90 = quantile(lengths, count, 0.9);
    return count;
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

static void fill_kernels(npu_replay *replay, const double *measured, const double *modelled,
                         double *values) {
    const npu_graph *graph = &replay->graph;
    double apart = 0;
    for (int t = 0; t < graph->task_count; t++) {
        if (graph->tasks[t].func < 0)
            continue;
        npu_replay_kernel *kernel = &replay->kernels[graph->tasks[t].func];
        kernel->tasks++;
        kernel->by_program = kernel->by_program || graph->tasks[t].program != NULL;
    }
    for (int f = 0; f < graph->func_count; f++) {
        npu_replay_kernel *kernel = &replay->kernels[f];
        kernel->name = graph->funcs[f].name;
        kernel->rows = measure_rows(replay, &replay->runs[0], f, values, &kernel->measured);
        measure_rows(replay, &replay->runs[1], f, values, &kernel->modelled);
        int count = sort_errors(graph, measured, modelled, f, values);
        kernel->start_error = quantile(values, count, 0.5);
        apart += fabs(kernel->modelled.total - kernel->measured.total);
    }
    replay->kernel_count = graph->func_count;
    for (int f = 0; f < graph->func_count && apart > 0; f++) {
        npu_replay_kernel *kernel = &replay->kernels[f];
        kernel->share = (kernel->modelled.total - kernel->measured.total) / apart;
    }
    qsort(replay->kernels, (size_t)replay->kernel_count, sizeof *replay->kernels, compare_kernels);
}

static npu_status fill(const npu_scene *scene, npu_replay *replay, const double *measured,
                       const double *modelled, double *values, npu_error *err) {
    const npu_graph *graph = &replay->graph;
    const npu_timed *m = &replay->runs[0];
    const npu_timed *s = &replay->runs[1];
    int count = sort_errors(graph, measured, modelled, -1, values);
    replay->start_median = quantile(values, count, 0.5);
    replay->start_p90 = quantile(values, count, 0.9);
    fill_kernels(replay, measured, modelled, values);
    npu_part_by_time(m, s, &replay->by_time);
    npu_part_by_place(m, s, scene->trace.core_count, &replay->by_place);
    for (int run = 0; run < 2; run++)
        for (int t = 0; t < graph->task_count; t++)
            replay->early[run][npu_early_of(&replay->runs[run], t, 1e9 / scene->trace.clock_hz)]++;
    npu_status status = npu_waterfall_make(graph, m, s, &replay->waterfall, err);
    for (int run = 0; run < 2 && !status; run++)
        status = npu_idle_of(&replay->runs[run], run == 0 ? &scene->trace : &replay->result.trace,
                             replay->idle[run], err);
    return status;
}

static int larger(int a, int b) {
    return a > b ? a : b;
}

npu_status npu_replay_compare(const npu_scene *scene, npu_replay *replay, npu_error *err) {
    int tasks = replay->graph.task_count;
    const npu_trace *simulated = &replay->result.trace;
    double hz = scene->trace.clock_hz;
    npu_status status = npu_timed_make(&scene->trace, simulated, &replay->graph, &replay->runs[0],
                                       &replay->runs[1], err);
    if (status)
        return status;
    int room = larger(tasks, larger(scene->trace.row_count, simulated->row_count));
    double *measured = first_starts(&scene->trace, tasks, hz, &replay->measured);
    double *modelled = first_starts(simulated, tasks, hz, &replay->modelled);
    double *values = malloc(((size_t)room + 1) * sizeof *values);
    replay->kernels = calloc((size_t)replay->graph.func_count + 1, sizeof *replay->kernels);
    if (measured != NULL && modelled != NULL && values != NULL && replay->kernels != NULL)
        status = fill(scene, replay, measured, modelled, values, err);
    else
        status = npu_fail_memory(err);
    free(measured);
    free(modelled);
    free(values);
    return status;
}
