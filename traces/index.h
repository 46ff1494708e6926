// SPDX-License-Identifier: Apache-2.0
// Ways into a trace: its rows by core and by task, and each task's producers and consumers
// without repeats.
#ifndef NPU_INDEX_H
#define NPU_INDEX_H

#include "trace.h"

// items[first[g], first[g + 1]) belong to group g, in their old order.
typedef struct npu_groups {
    int *items;
    int *first;
} npu_groups;

typedef struct npu_index {
    npu_groups core;  // rows of a core, by start
    npu_groups task;  // rows of a task, by start
    npu_groups preds; // tasks that a task waits for
    npu_groups succs; // tasks that wait for a task
} npu_index;

// Sorts `count` items into `groups` groups; key(data, i) is the group of item i, -1 for none.
npu_status npu_groups_make(npu_groups *groups, int group_count, int count,
                           int (*key)(const void *data, int item), const void *data,
                           npu_error *err);
void npu_groups_free(npu_groups *groups);

// Rows of each core alone.
npu_status npu_rows_by_core(const npu_trace *trace, npu_groups *groups, npu_error *err);

// Indices inside rows and edges must be in range. Free in any case.
npu_status npu_index_make(const npu_trace *trace, const npu_graph *graph, npu_index *index,
                          npu_error *err);
void npu_index_free(npu_index *index);

#endif
