// SPDX-License-Identifier: Apache-2.0
// Which tasks are complete when another one starts: the edges and everything that follows from
// them, a bit for every pair of tasks.
#ifndef NPU_ORDER_H
#define NPU_ORDER_H

#include "graph.h"

enum { NPU_ORDER_TASKS = 32768 }; // at most: 128 MiB of bits

typedef struct npu_order {
    uint64_t *before; // a row of `words` per task
    size_t words;
} npu_order;

// The graph must have at most NPU_ORDER_TASKS tasks. Free in any case.
npu_status npu_order_make(const npu_graph *graph, npu_order *order, npu_error *err);
void npu_order_free(npu_order *order);

static inline bool npu_is_before(const npu_order *order, int task, int later) {
    return order->before[(size_t)later * order->words + (size_t)task / 64] >> (task % 64) & 1;
}

#endif
