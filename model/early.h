// SPDX-License-Identifier: Apache-2.0
// What the `early` flags of a graph are good for. A consumer is staged before its producers end
// only when all of them are flagged: one that is not makes the flags of its siblings useless.
#ifndef NPU_EARLY_H
#define NPU_EARLY_H

#include "order.h"

typedef struct npu_flag_use { // of one flagged task
    int task;
    int consumers;     // tasks that wait for it
    int staged;        // of them, those that may be staged early
    int cohorts;       // of the others, those of sync_start and dummies, which never are
    int sibling;       // the latest producer of a consumer that lacks the flag, -1: none
    int consumer;      // that consumer
    bool by_redundant; // the edge of that sibling is redundant: without it nothing is in the way
} npu_flag_use;

typedef struct npu_flags {
    npu_flag_use *items; // flagged tasks in order
    int count;
    int useless; // of them, those with no consumer that may be staged
} npu_flags;

// Free in any case.
npu_status npu_flags_find(const npu_graph *graph, const npu_order *order, npu_flags *flags,
                          npu_error *err);
void npu_flags_free(npu_flags *flags);

#endif
