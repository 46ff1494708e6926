// SPDX-License-Identifier: Apache-2.0
#include "order.h"

#include <assert.h>
#include <stdlib.h>

npu_status npu_order_make(const npu_graph *graph, npu_order *order, npu_error *err) {
    assert(graph->task_count <= NPU_ORDER_TASKS);
    order->words = ((size_t)graph->task_count + 63) / 64;
    order->before = calloc((size_t)graph->task_count * order->words + 1, sizeof *order->before);
    if (order->before == NULL)
        return npu_fail_memory(err);
    for (int i = 0; i < graph->task_count; i++) {
        const npu_task *task = &graph->tasks[i];
        uint64_t *row = order->before + (size_t)i * order->words;
        for (int e = task->first_edge; e < task->first_edge + task->edge_count; e++) {
            int pred = graph->edges[e].pred;
            if (row[pred / 64] >> (pred % 64) & 1)
                continue; // with everything before it
            const uint64_t *from = order->before + (size_t)pred * order->words;
            for (int w = 0; w <= pred / 64; w++)
                row[w] |= from[w];
            row[pred / 64] |= (uint64_t)1 << (pred % 64);
        }
    }
    return NPU_OK;
}

void npu_order_free(npu_order *order) {
    free(order->before);
    *order = (npu_order){0};
}
