// SPDX-License-Identifier: Apache-2.0
// Edges that change nothing about the order: another way from the producer to the consumer
// exists. What is left without them is the transitive reduction of the graph.
#ifndef NPU_REDUNDANT_H
#define NPU_REDUNDANT_H

#include "order.h"

typedef struct npu_redundant_edge {
    int pred, succ;
    int edge; // the first of the pair in npu_graph.edges
} npu_redundant_edge;

typedef struct npu_redundant {
    npu_redundant_edge *items; // by consumer, then producer
    int count;
    int pairs; // of tasks joined by edges, in all
} npu_redundant;

// Several edges of one pair count once. Free in any case.
npu_status npu_redundant_find(const npu_graph *graph, const npu_order *order,
                              npu_redundant *redundant, npu_error *err);
void npu_redundant_free(npu_redundant *redundant);

// True when `pred` is before another producer of `succ`.
bool npu_is_redundant(const npu_graph *graph, const npu_order *order, int pred, int succ);

#endif
