// SPDX-License-Identifier: Apache-2.0
// The observed critical path (runtime.md 4): from the last end backwards, always to what ended
// last of the things that the block needed.
#include <assert.h>
#include <stdlib.h>

#include "metrics_impl.h"

const char *const npu_wait_names[] = {"front", "data", "core", NULL};

static bool ends_later(const npu_trace *trace, int row, int than) {
    return than < 0 || trace->rows[row].end > trace->rows[than].end;
}

// For each task the row that ends last of it; for a dummy, of its producers. -1 for none.
static void find_last_rows(const npu_trace *trace, const npu_graph *graph, const npu_index *index,
                           int *last) {
    for (int task = 0; task < graph->task_count; task++) {
        last[task] = -1;
        int begin = index->task.first[task];
        int end = index->task.first[task + 1];
        for (int i = begin; i < end; i++)
            if (ends_later(trace, index->task.items[i], last[task]))
                last[task] = index->task.items[i];
        if (begin < end)
            continue;
        for (int i = index->preds.first[task]; i < index->preds.first[task + 1]; i++) {
            int row = last[index->preds.items[i]];
            if (row >= 0 && ends_later(trace, row, last[task]))
                last[task] = row;
        }
    }
}

// What the row waited for last: *reason and the row that ended, or -1 at the front.
static int find_before(const npu_trace *trace, const npu_index *index, const int *last,
                       const int *core_before, int row, npu_wait_reason *reason) {
    assert(row >= 0 && row < trace->row_count);
    double start = trace->rows[row].start;
    int best = -1;
    *reason = NPU_WAIT_FRONT;
    int task = trace->rows[row].task;
    for (int i = index->preds.first[task]; i < index->preds.first[task + 1]; i++) {
        int other = last[index->preds.items[i]];
        // Strictly before: that is what makes the walk end.
        if (other >= 0 && trace->rows[other].start < start && ends_later(trace, other, best)) {
            best = other;
            *reason = NPU_WAIT_DATA;
        }
    }
    int other = core_before[row];
    if (other >= 0 && trace->rows[other].start < start && ends_later(trace, other, best)) {
        best = other;
        *reason = NPU_WAIT_CORE;
    }
    return best;
}

static void find_core_before(const npu_trace *trace, const npu_index *index, int *core_before) {
    for (int core = 0; core < trace->core_count; core++) {
        int before = -1;
        for (int i = index->core.first[core]; i < index->core.first[core + 1]; i++) {
            core_before[index->core.items[i]] = before;
            before = index->core.items[i];
        }
    }
}

static void reverse(npu_chain_link *links, int count) {
    for (int i = 0; i < count / 2; i++) {
        npu_chain_link kept = links[i];
        links[i] = links[count - 1 - i];
        links[count - 1 - i] = kept;
    }
}

static npu_status walk(const npu_trace *trace, const npu_index *index, const int *last,
                       const int *core_before, npu_metrics *metrics, npu_error *err) {
    int row = -1;
    int capacity = 0;
    for (int i = 0; i < trace->row_count; i++)
        if (ends_later(trace, i, row))
            row = i;
    double until = row >= 0 ? trace->rows[row].end : 0; // what is already accounted for
    metrics->chain_tail = trace->makespan - until;
    while (row >= 0) {
        npu_status status = npu_grow((void **)&metrics->chain, &capacity, metrics->chain_count + 1,
                                     sizeof *metrics->chain, err);
        if (status != NPU_OK)
            return status;
        npu_chain_link *link = &metrics->chain[metrics->chain_count++];
        const npu_row *now = &trace->rows[row];
        int before = find_before(trace, index, last, core_before, row, &link->reason);
        double ended = before >= 0 ? trace->rows[before].end : 0;
        // A producer may end up to two ticks after the start: its time is cut there.
        ended = ended < now->start ? ended : now->start;
        link->row = row;
        link->task = now->task;
        link->exec = until - now->start;
        link->wait = now->start - ended;
        assert(link->exec >= 0 && link->wait >= 0);
        metrics->chain_exec += link->exec;
        metrics->chain_wait[link->reason] += link->wait;
        until = ended;
        row = before;
    }
    reverse(metrics->chain, metrics->chain_count);
    return NPU_OK;
}

npu_status npu_chain_make(const npu_trace *trace, const npu_graph *graph, const npu_index *index,
                          npu_metrics *metrics, npu_error *err) {
    int *last = calloc((size_t)graph->task_count + 1, sizeof *last);
    int *core_before = calloc((size_t)trace->row_count + 1, sizeof *core_before);
    npu_status status = NPU_NO_MEMORY;
    if (last == NULL || core_before == NULL) {
        npu_fail_memory(err);
    } else {
        find_last_rows(trace, graph, index, last);
        find_core_before(trace, index, core_before);
        status = walk(trace, index, last, core_before, metrics, err);
    }
    free(last);
    free(core_before);
    assert(metrics->chain_count <= trace->row_count);
    return status;
}
