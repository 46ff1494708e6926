// SPDX-License-Identifier: Apache-2.0
#include "early.h"

#include <stdlib.h>

#include "redundant.h"

// The latest producer that lacks the flag, or -1.
static int find_unflagged(const npu_graph *graph, const npu_task *task) {
    for (int e = task->first_edge + task->edge_count - 1; e >= task->first_edge; e--)
        if (!graph->tasks[graph->edges[e].pred].early)
            return graph->edges[e].pred;
    return -1;
}

// True when every producer that lacks the flag is before another producer.
static bool all_redundant(const npu_graph *graph, const npu_order *order, int consumer) {
    const npu_task *task = &graph->tasks[consumer];
    for (int e = task->first_edge; e < task->first_edge + task->edge_count; e++) {
        int pred = graph->edges[e].pred;
        if (!graph->tasks[pred].early && !npu_is_redundant(graph, order, pred, consumer))
            return false;
    }
    return true;
}

// Books the consumer on each of its flagged producers; at[task] is the task's item.
static void book(const npu_graph *graph, const npu_order *order, int consumer, const int *at,
                 npu_flags *flags) {
    const npu_task *task = &graph->tasks[consumer];
    bool never = task->engine == NPU_DUMMY || task->sync_start;
    int sibling = never ? -1 : find_unflagged(graph, task);
    bool redundant = sibling >= 0 && all_redundant(graph, order, consumer);
    for (int e = task->first_edge; e < task->first_edge + task->edge_count; e++) {
        int pred = graph->edges[e].pred;
        if (!graph->tasks[pred].early)
            continue;
        if (e > task->first_edge && graph->edges[e - 1].pred == pred)
            continue;
        npu_flag_use *use = &flags->items[at[pred]];
        use->consumers++;
        use->cohorts += never;
        use->staged += !never && sibling < 0;
        if (sibling >= 0 && use->sibling < 0) {
            use->sibling = sibling;
            use->consumer = consumer;
            use->by_redundant = redundant;
        }
    }
}

npu_status npu_flags_find(const npu_graph *graph, const npu_order *order, npu_flags *flags,
                          npu_error *err) {
    *flags = (npu_flags){0};
    flags->items = calloc((size_t)graph->task_count + 1, sizeof *flags->items);
    int *at = calloc((size_t)graph->task_count + 1, sizeof *at);
    if (flags->items == NULL || at == NULL) {
        free(at);
        return npu_fail_memory(err);
    }
    for (int i = 0; i < graph->task_count; i++) {
        if (!graph->tasks[i].early)
            continue;
        at[i] = flags->count;
        flags->items[flags->count++] = (npu_flag_use){.task = i, .sibling = -1, .consumer = -1};
    }
    for (int i = 0; i < graph->task_count; i++)
        book(graph, order, i, at, flags);
    for (int i = 0; i < flags->count; i++)
        flags->useless += flags->items[i].staged == 0;
    free(at);
    return NPU_OK;
}

void npu_flags_free(npu_flags *flags) {
    free(flags->items);
    *flags = (npu_flags){0};
}
