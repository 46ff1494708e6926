// SPDX-License-Identifier: Apache-2.0
// Tasks that touch the same memory with no edge between them, one of them writing. The
// runtime does not track write-after-read, an `out_existing` waits for no earlier writer, and a
// manual scope tracks nothing.
#ifndef NPU_RACES_H
#define NPU_RACES_H

#include "order.h"

typedef struct npu_race {
    int first, second;         // tasks, in submission order
    int first_arg, second_arg; // in npu_graph.args
} npu_race;

typedef struct npu_races {
    npu_race *items; // by the later task
    int count, capacity;
    bool complete; // false: the search ended early, for its length
} npu_races;

// All of them, atomic adds to one place excepted. Errors: those of streaming a block. Free in any
// case.
npu_status npu_races_find(const npu_graph *graph, const npu_order *order, const npu_walls *walls,
                          npu_races *races, npu_error *err);
void npu_races_free(npu_races *races);

#endif
