// SPDX-License-Identifier: Apache-2.0
// False serialisation: a task waits for a writer whose region it does not touch. The runtime
// compares two regions exactly only when they have the same rank and strides; otherwise they
// overlap when their extents do (docs/graphs.md).
#ifndef NPU_FALSE_EDGES_H
#define NPU_FALSE_EDGES_H

#include "order.h"

typedef struct npu_false_edge {
    int pred, succ;
    int pred_arg, succ_arg; // in npu_graph.args
    bool in_graph;          // false: only the runtime has it, this graph does not
    bool ordered;           // the two are in this order anyway
} npu_false_edge;

typedef struct npu_false_edges {
    npu_false_edge *items; // by consumer
    int count, capacity;
    int undecided; // pairs of regions too large to compare element by element
    bool complete; // false: the search ended early, for its length
} npu_false_edges;

// Goes through the tensor map as the runtime would. Free in any case.
npu_status npu_false_edges_find(const npu_graph *graph, const npu_order *order,
                                npu_false_edges *found, npu_error *err);
void npu_false_edges_free(npu_false_edges *found);

#endif
