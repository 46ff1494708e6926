// SPDX-License-Identifier: Apache-2.0
#include "timed.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay_impl.h"

void npu_timed_free(npu_timed *run) {
    free(run->rows);
    free(run->submit);
    free(run->data);
    npu_index_free(&run->index);
    *run = (npu_timed){.count = 0};
}

// ---- rows ----------------------------------------------------------------------------------

static bool dispatches(const npu_phase *phase) {
    return phase->kind == NPU_PHASE_DISPATCH || phase->kind == NPU_PHASE_EARLY_DISPATCH ||
           phase->kind == NPU_PHASE_DRAIN;
}

static bool has_dispatch(const npu_trace *trace) {
    for (int i = 0; i < trace->phase_count; i++)
        if (dispatches(&trace->phases[i]))
            return true;
    return false;
}

static int phase_thread(const void *data, int item) {
    const npu_trace *trace = data;
    return dispatches(&trace->phases[item]) ? trace->phases[item].thread : -1;
}

// The start of the last phase of the thread that begins by `ns`, when that is in it.
static double phase_around(const npu_trace *trace, const npu_groups *by_thread, int thread,
                           double ns, double none) {
    int low = by_thread->first[thread];
    for (int high = by_thread->first[thread + 1]; low < high;) {
        int middle = low + (high - low) / 2;
        if (trace->phases[by_thread->items[middle]].start <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == by_thread->first[thread])
        return none;
    const npu_phase *phase = &trace->phases[by_thread->items[low - 1]];
    return ns <= phase->end ? phase->start : none;
}

static int compare_rows(const void *a, const void *b) {
    const npu_timed_row *x = a;
    const npu_timed_row *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->core != y->core)
        return x->core - y->core;
    return x->row - y->row;
}

static npu_status make_rows(const npu_trace *trace, bool phased, npu_timed *run, npu_error *err) {
    npu_groups by_thread = {0};
    double hz = trace->clock_hz;
    run->rows = calloc((size_t)trace->row_count + 1, sizeof *run->rows);
    if (run->rows == NULL)
        return npu_fail_memory(err);
    npu_status status = npu_groups_make(&by_thread, trace->scheduler_count, trace->phase_count,
                                        phase_thread, trace, err);
    run->count = trace->row_count;
    for (int i = 0; i < run->count && !status; i++) {
        const npu_row *row = &trace->rows[i];
        double enter = phased ? phase_around(trace, &by_thread, trace->cores[row->core].thread,
                                             row->dispatch, row->dispatch)
                              : row->dispatch;
        run->rows[i] = (npu_timed_row){.row = i,
                                       .task = row->task,
                                       .core = row->core,
                                       .mate = -1,
                                       .enter = npu_replay_tick(enter, hz),
                                       .dispatch = npu_replay_tick(row->dispatch, hz),
                                       .start = npu_replay_tick(row->start, hz),
                                       .end = npu_replay_tick(row->end, hz),
                                       .finish = npu_replay_tick(row->finish, hz)};
    }
    npu_groups_free(&by_thread);
    if (!status)
        qsort(run->rows, (size_t)run->count, sizeof *run->rows, compare_rows);
    return status;
}

static void find_neighbours(npu_timed *run, int cores) {
    for (int core = 0; core < cores; core++) {
        const npu_groups *by_core = &run->index.core;
        int slot = -1;
        for (int i = by_core->first[core]; i < by_core->first[core + 1]; i++) {
            npu_timed_row *row = &run->rows[by_core->items[i]];
            row->before = i > by_core->first[core] ? by_core->items[i - 1] : -1;
            for (int k = i - 1; k >= by_core->first[core] && k >= i - 2; k--) { // two slots
                slot = by_core->items[k];
                if (run->rows[slot].finish <= row->dispatch)
                    break;
                slot = -1;
            }
            row->slot = i > by_core->first[core] ? slot : -1;
        }
    }
}

// ---- submits and data ----------------------------------------------------------------------

static npu_status make_submits(const npu_trace *trace, const npu_graph *graph, bool known,
                               npu_timed *run, npu_error *err) {
    run->submit = malloc(((size_t)graph->task_count + 1) * sizeof *run->submit);
    if (run->submit == NULL)
        return npu_fail_memory(err);
    for (int t = 0; t < graph->task_count; t++)
        run->submit[t] = NAN;
    run->has_submits = known;
    for (int i = 0; i < trace->submit_count && known; i++)
        if (trace->submits[i].task >= 0)
            run->submit[trace->submits[i].task] =
                npu_replay_tick(trace->submits[i].end, trace->clock_hz);
    return NPU_OK;
}

// What a task waits for: the finishes of its producers; of one without rows, when it was ready.
static npu_status make_data(const npu_graph *graph, npu_timed *run, npu_error *err) {
    double *done = malloc(((size_t)graph->task_count + 1) * sizeof *done);
    run->data = malloc(((size_t)graph->task_count + 1) * sizeof *run->data);
    if (done == NULL || run->data == NULL) {
        free(done);
        return npu_fail_memory(err);
    }
    for (int t = 0; t < graph->task_count; t++)
        done[t] = -INFINITY;
    for (int i = 0; i < run->count; i++)
        done[run->rows[i].task] = fmax(done[run->rows[i].task], run->rows[i].finish);
    const npu_groups *preds = &run->index.preds;
    for (int t = 0; t < graph->task_count; t++) { // producers are submitted before
        run->data[t] = -INFINITY;
        for (int i = preds->first[t]; i < preds->first[t + 1]; i++)
            run->data[t] = fmax(run->data[t], done[preds->items[i]]);
        if (run->index.task.first[t] == run->index.task.first[t + 1])
            done[t] = fmax(run->data[t], run->submit[t]); // NAN is none
    }
    free(done);
    return NPU_OK;
}

static void shift(const npu_trace *trace, const npu_graph *graph, npu_timed *run) {
    run->first = INFINITY;
    run->last = -INFINITY;
    for (int i = 0; i < run->count; i++) {
        run->first = fmin(run->first, run->rows[i].dispatch);
        run->last = fmax(run->last, run->rows[i].finish);
    }
    double zero = run->first;
    if (run->has_submits)
        zero = npu_replay_tick(trace->submits[0].start, trace->clock_hz);
    for (int i = 0; i < run->count; i++) {
        npu_timed_row *row = &run->rows[i];
        row->enter -= zero;
        row->dispatch -= zero;
        row->start -= zero;
        row->end -= zero;
        row->finish -= zero;
    }
    for (int t = 0; t < graph->task_count; t++)
        run->submit[t] -= zero;
    run->first -= zero;
    run->last -= zero;
}

static int row_core(const void *data, int item) {
    return ((const npu_timed *)data)->rows[item].core;
}

static int row_task(const void *data, int item) {
    return ((const npu_timed *)data)->rows[item].task;
}

static npu_status make_run(const npu_trace *trace, const npu_graph *graph, bool phased,
                           bool submits, npu_timed *run, npu_error *err) {
    npu_status status = npu_index_make(trace, graph, &run->index, err);
    if (!status)
        status = make_rows(trace, phased, run, err);
    npu_groups_free(&run->index.core);
    npu_groups_free(&run->index.task);
    if (!status)
        status =
            npu_groups_make(&run->index.core, trace->core_count, run->count, row_core, run, err);
    if (!status)
        status =
            npu_groups_make(&run->index.task, graph->task_count, run->count, row_task, run, err);
    if (!status)
        status = make_submits(trace, graph, submits, run, err);
    if (status)
        return status;
    shift(trace, graph, run);
    find_neighbours(run, trace->core_count);
    return make_data(graph, run, err);
}

// ---- mates ---------------------------------------------------------------------------------

// Places of the parts of a task's blocks stand together, from first[task] on.
static npu_status make_places(const npu_graph *graph, int **first, npu_error *err) {
    *first = malloc(((size_t)graph->task_count + 1) * sizeof **first);
    if (*first == NULL)
        return npu_fail_memory(err);
    int at = 0; // npu_replay_times_make has seen that an int holds it
    for (int t = 0; t < graph->task_count; t++) {
        (*first)[t] = at;
        at += (int)graph->tasks[t].block_num * npu_task_cores(&graph->tasks[t]);
    }
    (*first)[graph->task_count] = at;
    return NPU_OK;
}

typedef struct pairing {
    const npu_graph *graph;
    int clusters;
    const int *first;
    int *nth; // by task and part: blocks met
} pairing;

// Which block a row is of is known where its time was that of a row of the capture. Otherwise the
// blocks of a task are alike, and the n-th to start is the n-th to start in the other run.
static int place_of(pairing *p, const npu_timed_row *row, int64_t block) {
    const npu_task *task = &p->graph->tasks[row->task];
    int parts = npu_task_cores(task);
    int part = npu_replay_part(p->graph, p->clusters, row->task, row->core);
    if (task->program != NULL)
        block = p->nth[3 * row->task + part]++;
    if (parts == 0 || part >= parts || block >= task->block_num)
        return -1;
    return p->first[row->task] + (int)block * parts + part;
}

// places[i] of each row, in the order of the run.
static npu_status find_places(const npu_trace *trace, const npu_timed *run, pairing *p, int *places,
                              npu_error *err) {
    p->nth = calloc(3 * ((size_t)p->graph->task_count + 1), sizeof *p->nth);
    if (p->nth == NULL)
        return npu_fail_memory(err);
    for (int i = 0; i < run->count; i++)
        places[i] = place_of(p, &run->rows[i], trace->rows[run->rows[i].row].block);
    free(p->nth);
    return NPU_OK;
}

static void join(npu_timed *m, npu_timed *s, const int *of_m, const int *of_s, int *taken,
                 int place_count) {
    for (int i = 0; i <= place_count; i++)
        taken[i] = -1;
    for (int i = 0; i < s->count; i++) {
        s->rows[i].mate = -1;
        if (of_s[i] >= 0)
            taken[of_s[i]] = i;
    }
    for (int i = 0; i < m->count; i++) {
        int mate = of_m[i] >= 0 ? taken[of_m[i]] : -1;
        m->rows[i].mate = mate;
        if (mate < 0)
            continue;
        s->rows[mate].mate = i;
        taken[of_m[i]] = -1;
    }
}

static npu_status pair(const npu_trace *measured, const npu_trace *modelled, const npu_graph *graph,
                       npu_timed *m, npu_timed *s, npu_error *err) {
    int *first = NULL;
    npu_status status = make_places(graph, &first, err);
    if (status)
        return status;
    int places = first[graph->task_count];
    pairing p = {.graph = graph, .clusters = measured->core_count / 3, .first = first};
    int *of_m = calloc((size_t)m->count + 1, sizeof *of_m);
    int *of_s = calloc((size_t)s->count + 1, sizeof *of_s);
    int *taken = calloc((size_t)places + 1, sizeof *taken);
    if (of_m != NULL && of_s != NULL && taken != NULL) {
        status = find_places(measured, m, &p, of_m, err);
        if (!status)
            status = find_places(modelled, s, &p, of_s, err);
        if (!status)
            join(m, s, of_m, of_s, taken, places);
    } else {
        status = npu_fail_memory(err);
    }
    free(first);
    free(of_m);
    free(of_s);
    free(taken);
    return status;
}

npu_status npu_timed_make(const npu_trace *measured, const npu_trace *modelled,
                          const npu_graph *graph, npu_timed *m, npu_timed *s, npu_error *err) {
    bool submits = measured->submit_count > 0 && modelled->submit_count > 0;
    bool phased = has_dispatch(measured) && has_dispatch(modelled);
    *m = *s = (npu_timed){.count = 0};
    npu_status status = make_run(measured, graph, phased, submits, m, err);
    if (!status)
        status = make_run(modelled, graph, phased, submits, s, err);
    return status ? status : pair(measured, modelled, graph, m, s, err);
}
