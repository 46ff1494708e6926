// SPDX-License-Identifier: Apache-2.0
#include "redundant.h"

#include <assert.h>
#include <stdlib.h>

bool npu_is_redundant(const npu_graph *graph, const npu_order *order, int pred, int succ) {
    const npu_task *task = &graph->tasks[succ];
    // Only a later task can come after `pred`, and edges are sorted by producer.
    for (int e = task->first_edge + task->edge_count - 1; e >= task->first_edge; e--) {
        int other = graph->edges[e].pred;
        if (other <= pred)
            return false;
        if (npu_is_before(order, pred, other))
            return true;
    }
    return false;
}

npu_status npu_redundant_find(const npu_graph *graph, const npu_order *order,
                              npu_redundant *redundant, npu_error *err) {
    *redundant = (npu_redundant){0};
    redundant->items = calloc((size_t)graph->edge_count + 1, sizeof *redundant->items);
    // Of the task at hand: what is before any of its producers.
    uint64_t *covered = calloc(order->words + 1, sizeof *covered);
    if (redundant->items == NULL || covered == NULL) {
        free(covered);
        return npu_fail_memory(err);
    }
    for (int i = 0; i < graph->task_count; i++) {
        const npu_task *task = &graph->tasks[i];
        for (size_t w = 0; w < order->words; w++)
            covered[w] = 0;
        for (int e = task->first_edge + task->edge_count - 1; e >= task->first_edge; e--) {
            int pred = graph->edges[e].pred;
            const uint64_t *row = order->before + (size_t)pred * order->words;
            if (e + 1 < task->first_edge + task->edge_count && graph->edges[e + 1].pred == pred)
                continue;
            for (int w = 0; w <= pred / 64; w++)
                covered[w] |= row[w];
        }
        for (int e = task->first_edge; e < task->first_edge + task->edge_count; e++) {
            int pred = graph->edges[e].pred;
            if (e > task->first_edge && graph->edges[e - 1].pred == pred)
                continue;
            redundant->pairs++;
            if (covered[pred / 64] >> (pred % 64) & 1)
                redundant->items[redundant->count++] = (npu_redundant_edge){pred, i, e};
        }
    }
    free(covered);
    assert(redundant->count <= redundant->pairs && redundant->pairs <= graph->edge_count);
    return NPU_OK;
}

void npu_redundant_free(npu_redundant *redundant) {
    free(redundant->items);
    *redundant = (npu_redundant){0};
}
