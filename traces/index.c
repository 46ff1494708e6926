// SPDX-License-Identifier: Apache-2.0
#include "index.h"

#include <assert.h>
#include <stdlib.h>

npu_status npu_groups_make(npu_groups *groups, int group_count, int count,
                           int (*key)(const void *data, int item), const void *data,
                           npu_error *err) {
    assert(group_count >= 0 && count >= 0);
    groups->first = calloc((size_t)group_count + 2, sizeof *groups->first);
    groups->items = calloc((size_t)count + 1, sizeof *groups->items);
    if (groups->first == NULL || groups->items == NULL)
        return npu_fail_memory(err);
    // A counting sort. Each group's end is counted one place further on, so that while items
    // are placed next[g] = first[g + 1] runs from the group's start to its end.
    int *next = groups->first + 1;
    for (int i = 0; i < count; i++) {
        int g = key(data, i);
        assert(g >= -1 && g < group_count);
        if (g >= 0)
            next[g + 1]++;
    }
    for (int g = 0; g < group_count; g++)
        next[g + 1] += next[g];
    for (int i = 0; i < count; i++) {
        int g = key(data, i);
        if (g >= 0)
            groups->items[next[g]++] = i;
    }
    assert(groups->first[0] == 0 && groups->first[group_count] <= count);
    return NPU_OK;
}

void npu_groups_free(npu_groups *groups) {
    free(groups->items);
    free(groups->first);
    *groups = (npu_groups){0};
}

static int row_core(const void *data, int item) {
    return ((const npu_trace *)data)->rows[item].core;
}

static int row_task(const void *data, int item) {
    return ((const npu_trace *)data)->rows[item].task;
}

npu_status npu_rows_by_core(const npu_trace *trace, npu_groups *groups, npu_error *err) {
    return npu_groups_make(groups, trace->core_count, trace->row_count, row_core, trace, err);
}

static int edge_succ(const void *data, int item) {
    return ((const npu_graph *)data)->edges[item].succ;
}

static int edge_pred(const void *data, int item) {
    return ((const npu_graph *)data)->edges[item].pred;
}

// Turns groups of edges into groups of the tasks at their other ends, each named once.
static npu_status neighbours(const npu_graph *graph, npu_groups *groups, bool preds,
                             npu_error *err) {
    int *seen = calloc((size_t)graph->task_count + 1, sizeof *seen); // 1 + the last to meet it
    if (seen == NULL)
        return npu_fail_memory(err);
    int kept = 0;
    int begin = 0;
    for (int task = 0; task < graph->task_count; task++) {
        int end = groups->first[task + 1];
        for (int i = begin; i < end; i++) {
            const npu_edge *edge = &graph->edges[groups->items[i]];
            int other = preds ? edge->pred : edge->succ;
            assert(edge->pred < edge->succ && other >= 0 && other < graph->task_count);
            if (seen[other] == task + 1)
                continue;
            seen[other] = task + 1;
            groups->items[kept++] = other;
        }
        groups->first[task + 1] = kept;
        begin = end;
    }
    free(seen);
    return NPU_OK;
}

npu_status npu_index_make(const npu_trace *trace, const npu_graph *graph, npu_index *index,
                          npu_error *err) {
    *index = (npu_index){0};
    npu_status status = npu_rows_by_core(trace, &index->core, err);
    if (status == NPU_OK)
        status = npu_groups_make(&index->task, graph->task_count, trace->row_count, row_task, trace,
                                 err);
    if (status == NPU_OK)
        status = npu_groups_make(&index->preds, graph->task_count, graph->edge_count, edge_succ,
                                 graph, err);
    if (status == NPU_OK)
        status = neighbours(graph, &index->preds, true, err);
    if (status == NPU_OK)
        status = npu_groups_make(&index->succs, graph->task_count, graph->edge_count, edge_pred,
                                 graph, err);
    if (status == NPU_OK)
        status = neighbours(graph, &index->succs, false, err);
    return status;
}

void npu_index_free(npu_index *index) {
    npu_groups_free(&index->core);
    npu_groups_free(&index->task);
    npu_groups_free(&index->preds);
    npu_groups_free(&index->succs);
}
