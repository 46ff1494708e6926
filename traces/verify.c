// SPDX-License-Identifier: Apache-2.0
// The rules that every trace keeps, ours and a captured one (runtime.md 1.5, 1.10).
#include <assert.h>
#include <stdlib.h>

#include "index.h"
#include "trace.h"

typedef struct verifier {
    const npu_trace *trace;
    const npu_graph *graph;
    npu_index index;
    double slack; // ns: two ticks, since two stamps rounded down may differ by that much
    npu_error *err;
} verifier;

#define BROKEN(v, ...) npu_fail((v)->err, NPU_BAD_INPUT, (npu_pos){0}, __VA_ARGS__)

static int count_aic(const npu_trace *trace) {
    int count = 0;
    while (count < trace->core_count && trace->cores[count].type == NPU_AIC)
        count++;
    return count;
}

static int cluster_of(int core, int aic_count) {
    return core < aic_count ? core : (core - aic_count) / 2;
}

static npu_status verify_cores(const verifier *v) {
    const npu_trace *trace = v->trace;
    int aic = count_aic(trace);
    if (trace->core_count <= 0 || trace->core_count != 3 * aic)
        return BROKEN(v,
                      "a die has N AICs and then 2 N AIVs, but this one has %d cores and "
                      "begins with %d AICs",
                      trace->core_count, aic);
    for (int core = 0; core < trace->core_count; core++) {
        if (core >= aic && trace->cores[core].type != NPU_AIV)
            return BROKEN(v, "core %d must be an AIV", core);
        int thread = trace->cores[core].thread;
        if (thread < 0 || thread >= trace->scheduler_count)
            return BROKEN(v, "core %d belongs to scheduler %d, but there are %d", core, thread,
                          trace->scheduler_count);
        int cluster = cluster_of(core, aic);
        if (thread != trace->cores[cluster].thread)
            return BROKEN(v, "core %d belongs to scheduler %d, the AIC of its cluster %d to %d",
                          core, thread, cluster, trace->cores[cluster].thread);
    }
    return NPU_OK;
}

static npu_status verify_edges_in_range(const verifier *v) {
    for (int i = 0; i < v->graph->edge_count; i++) {
        const npu_edge *edge = &v->graph->edges[i];
        if (edge->pred < 0 || edge->succ >= v->graph->task_count || edge->pred >= edge->succ)
            return BROKEN(v, "edge %d joins task %d to task %d, which is not submitted later", i,
                          edge->pred, edge->succ);
    }
    return NPU_OK;
}

static npu_status verify_place(const verifier *v, int i) {
    const npu_row *row = &v->trace->rows[i];
    if (row->core < 0 || row->core >= v->trace->core_count)
        return BROKEN(v, "row %d is on core %d, but there are %d", i, row->core,
                      v->trace->core_count);
    if (row->task < 0 || row->task >= v->graph->task_count)
        return BROKEN(v, "row %d is of task %d, but there are %d", i, row->task,
                      v->graph->task_count);
    const npu_task *task = &v->graph->tasks[row->task];
    npu_engine_type type = v->trace->cores[row->core].type;
    if (task->engine != NPU_MIX && task->engine != type)
        return BROKEN(v, "row %d (task %s) is on core %d, which cannot run its kernel", i,
                      task->name, row->core);
    if (row->block < 0 || row->block >= task->block_num)
        return BROKEN(v, "row %d (task %s) is of block %lld of %lld", i, task->name,
                      (long long)row->block, (long long)task->block_num);
    return NPU_OK;
}

static npu_status verify_times(const verifier *v, int i) {
    const npu_row *row = &v->trace->rows[i];
    const char *name = v->graph->tasks[row->task].name;
    const char *early = NULL;
    // Written so that a NaN breaks a rule too.
    if (!(row->dispatch >= 0))
        early = "is dispatched before the run";
    else if (!(row->receive >= row->dispatch))
        early = "is received before it is dispatched";
    else if (!(row->start >= row->receive))
        early = "starts before it is received";
    else if (!(row->end >= row->start))
        early = "ends before it starts";
    else if (!(row->finish >= row->end - v->slack))
        early = "finishes before it ends";
    else if (!(row->finish <= v->trace->makespan * (1 + 1e-12)))
        early = "finishes after the run";
    if (early != NULL)
        return BROKEN(v,
                      "row %d (task %s, core %d) %s: dispatch %.3f receive %.3f start %.3f "
                      "end %.3f finish %.3f ns",
                      i, name, row->core, early, row->dispatch, row->receive, row->start, row->end,
                      row->finish);
    double length = row->end - row->start;
    for (int pipe = 0; pipe < NPU_PIPE_COUNT; pipe++)
        if (!(row->busy[pipe] >= 0) || row->busy[pipe] > length * (1 + 1e-9))
            return BROKEN(v, "row %d (task %s, core %d): pipe %s is busy for %.3f ns of %.3f ns", i,
                          name, row->core, npu_pipe_names[pipe], row->busy[pipe], length);
    return NPU_OK;
}

static npu_status verify_rows(const verifier *v) {
    const npu_row *rows = v->trace->rows;
    for (int i = 0; i < v->trace->row_count; i++) {
        npu_status status = verify_place(v, i);
        if (status == NPU_OK)
            status = verify_times(v, i);
        if (status != NPU_OK)
            return status;
        if (i > 0 && (rows[i].start < rows[i - 1].start ||
                      (rows[i].start == rows[i - 1].start && rows[i].core < rows[i - 1].core)))
            return BROKEN(v, "rows are sorted by start, then core, but row %d is not", i);
    }
    return NPU_OK;
}

// Rows of one core, in order: no overlap, at most two in flight, dispatches numbered upwards.
static npu_status verify_core(const verifier *v, int core) {
    const npu_groups *groups = &v->index.core;
    double flight[2] = {-1, -1}; // when the latest two known to be in flight finish
    const npu_row *before = NULL;
    for (int i = groups->first[core]; i < groups->first[core + 1]; i++) {
        const npu_row *row = &v->trace->rows[groups->items[i]];
        if (before != NULL && row->start < before->end)
            return BROKEN(v, "core %d starts task %s at %.3f ns, while task %s runs until %.3f ns",
                          core, v->graph->tasks[row->task].name, row->start,
                          v->graph->tasks[before->task].name, before->end);
        if (row->reg_task_id <= (before != NULL ? before->reg_task_id : 0))
            return BROKEN(v, "core %d: dispatch %u does not come after dispatch %u", core,
                          row->reg_task_id, before != NULL ? before->reg_task_id : 0);
        int slot = flight[0] <= flight[1] ? 0 : 1;
        if (flight[slot] > row->dispatch + v->slack)
            return BROKEN(v, "core %d has three tasks in flight when %s is dispatched at %.3f ns",
                          core, v->graph->tasks[row->task].name, row->dispatch);
        flight[slot] = row->finish;
        before = row;
    }
    return NPU_OK;
}

// The part of a MIX block that a core runs: 0 the AIC, 1 and 2 the AIVs.
static int part_of(const npu_trace *trace, int core, int aic) {
    assert(core >= 0 && core < trace->core_count);
    return trace->cores[core].type == NPU_AIC ? 0 : 1 + (core - aic) % 2;
}

// Every block once on every core it needs; the halves of a MIX block in one cluster. `seen`
// and `cluster` are zeroed and have room for one task's rows.
static npu_status verify_blocks(const verifier *v, int t, int aic, char *seen, int *cluster) {
    const npu_task *task = &v->graph->tasks[t];
    int parts = npu_task_cores(task);
    for (int i = v->index.task.first[t]; i < v->index.task.first[t + 1]; i++) {
        const npu_row *row = &v->trace->rows[v->index.task.items[i]];
        int part = parts == 3 ? part_of(v->trace, row->core, aic) : 0;
        char *mark = &seen[row->block * parts + part];
        if (*mark != 0)
            return BROKEN(v, "block %lld of task %s runs twice, the second time on core %d",
                          (long long)row->block, task->name, row->core);
        *mark = 1;
        int *home = &cluster[row->block]; // 1 + cluster
        int here = cluster_of(row->core, aic);
        if (parts == 3 && *home != 0 && *home != 1 + here)
            return BROKEN(v, "block %lld of the MIX task %s runs in clusters %d and %d",
                          (long long)row->block, task->name, *home - 1, here);
        *home = 1 + here;
    }
    return NPU_OK;
}

static npu_status verify_task(const verifier *v, int t) {
    const npu_task *task = &v->graph->tasks[t];
    int rows = v->index.task.first[t + 1] - v->index.task.first[t];
    int parts = npu_task_cores(task);
    bool fits = task->block_num >= 0 && task->block_num <= rows; // so the product is small
    if (parts == 0 ? rows != 0 : !fits || task->block_num * parts != rows)
        return BROKEN(v, "task %s has %d rows, but %lld blocks on %d cores each", task->name, rows,
                      (long long)task->block_num, parts);
    if (rows == 0)
        return NPU_OK;
    char *seen = calloc((size_t)rows, 1);
    int *cluster = calloc((size_t)task->block_num, sizeof *cluster);
    npu_status status = seen == NULL || cluster == NULL
                            ? npu_fail_memory(v->err)
                            : verify_blocks(v, t, count_aic(v->trace), seen, cluster);
    free(seen);
    free(cluster);
    return status;
}

// No task starts before its producers end. A dummy has no rows: it hands on the latest end of
// its own producers.
static npu_status verify_order(const verifier *v) {
    double *done = calloc((size_t)v->graph->task_count + 1, sizeof *done);
    if (done == NULL)
        return npu_fail_memory(v->err);
    npu_status status = NPU_OK;
    for (int t = 0; t < v->graph->task_count && status == NPU_OK; t++) {
        int first_row = v->index.task.first[t];
        int end_row = v->index.task.first[t + 1];
        int last = -1; // the producer that ends last
        for (int i = v->index.preds.first[t]; i < v->index.preds.first[t + 1]; i++)
            if (last < 0 || done[v->index.preds.items[i]] > done[last])
                last = v->index.preds.items[i];
        double ready = last >= 0 ? done[last] : 0;
        if (first_row < end_row) {
            const npu_row *row = &v->trace->rows[v->index.task.items[first_row]];
            if (row->start < ready - v->slack)
                status =
                    BROKEN(v, "task %s starts at %.3f ns, but waits for %s until %.3f ns",
                           v->graph->tasks[t].name, row->start, v->graph->tasks[last].name, ready);
        } else {
            done[t] = ready;
        }
        for (int i = first_row; i < end_row; i++) {
            double end = v->trace->rows[v->index.task.items[i]].end;
            done[t] = end > done[t] ? end : done[t];
        }
    }
    free(done);
    return status;
}

static npu_status verify_phases(const verifier *v) {
    const npu_phase *before = NULL; // the outer phase before, of the same thread
    for (int i = 0; i < v->trace->phase_count; i++) {
        const npu_phase *phase = &v->trace->phases[i];
        if (phase->thread < 0 || phase->thread >= v->trace->scheduler_count ||
            (i > 0 && phase->thread < v->trace->phases[i - 1].thread))
            return BROKEN(v, "phases are sorted by thread, then time, but phase %d is not", i);
        if (!(phase->start >= 0) || !(phase->end >= phase->start))
            return BROKEN(v, "phase %d (%s of scheduler %d) lasts from %.3f to %.3f ns", i,
                          npu_phase_names[phase->kind], phase->thread, phase->start, phase->end);
        if (phase->kind == NPU_PHASE_DUMMY_TASK &&
            (phase->task < 0 || phase->task >= v->graph->task_count))
            return BROKEN(v, "phase %d marks task %d, but there are %d", i, phase->task,
                          v->graph->task_count);
        if (phase->kind >= NPU_PHASE_RESOLVE) // inside another, or without width
            continue;
        if (before != NULL && before->thread == phase->thread && phase->start < before->end)
            return BROKEN(v, "scheduler %d is in %s at %.3f ns, while in %s until %.3f ns",
                          phase->thread, npu_phase_names[phase->kind], phase->start,
                          npu_phase_names[before->kind], before->end);
        before = phase;
    }
    return NPU_OK;
}

static npu_status verify_submits(const verifier *v) {
    for (int i = 0; i < v->trace->submit_count; i++) {
        const npu_submit *submit = &v->trace->submits[i];
        if (!(submit->start >= (i > 0 ? submit[-1].end : 0)) || !(submit->end >= submit->start))
            return BROKEN(v, "submit %d lasts from %.3f to %.3f ns, not after the one before", i,
                          submit->start, submit->end);
        if (submit->task < -1 || submit->task >= v->graph->task_count)
            return BROKEN(v, "submit %d is of task %d, but there are %d", i, submit->task,
                          v->graph->task_count);
    }
    return NPU_OK;
}

npu_status npu_trace_verify(const npu_trace *trace, const npu_graph *graph, npu_error *err) {
    verifier v = {.trace = trace, .graph = graph, .err = err};
    if (!(trace->clock_hz > 0) || !(trace->core_hz > 0))
        return BROKEN(&v, "a trace must know its clocks, but has %g Hz and %g Hz", trace->clock_hz,
                      trace->core_hz);
    v.slack = 2e9 / trace->clock_hz;
    npu_status status = verify_cores(&v);
    if (status == NPU_OK)
        status = verify_edges_in_range(&v);
    if (status == NPU_OK)
        status = verify_rows(&v);
    if (status == NPU_OK)
        status = npu_index_make(trace, graph, &v.index, err);
    for (int core = 0; core < trace->core_count && status == NPU_OK; core++)
        status = verify_core(&v, core);
    for (int t = 0; t < graph->task_count && status == NPU_OK; t++)
        status = verify_task(&v, t);
    if (status == NPU_OK)
        status = verify_order(&v);
    if (status == NPU_OK)
        status = verify_phases(&v);
    if (status == NPU_OK)
        status = verify_submits(&v);
    npu_index_free(&v.index);
    return status;
}
