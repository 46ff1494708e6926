// SPDX-License-Identifier: Apache-2.0
// A captured graph's tasks by their ids, its circles, and writing it again.
#include <assert.h>
#include <stdlib.h>

#include "deps.h"
#include "emit.h"

void npu_deps_free(npu_deps *deps) {
    free(deps->tasks);
    free(deps->args);
    free(deps->extents);
    free(deps->tensors);
    free(deps->edges);
    free(deps->by_id);
    npu_arena_free(&deps->arena);
    *deps = (npu_deps){0};
}

int npu_dep_parts(const npu_dep_task *task) {
    if (!task->has_kernels)
        return -1;
    return (task->kernel_ids[0] >= 0) + (task->kernel_ids[1] >= 0) + (task->kernel_ids[2] >= 0);
}

// ---- ids -----------------------------------------------------------------------------------

typedef struct id_entry {
    uint64_t id;
    int task;
} id_entry;

static int compare_ids(const void *a, const void *b) {
    const id_entry *x = a;
    const id_entry *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x->task - y->task;
}

static npu_status sort_tasks(npu_deps *deps, npu_error *err) {
    size_t count = (size_t)deps->task_count;
    id_entry *entries = calloc(count + 1, sizeof *entries);
    free(deps->by_id);
    deps->by_id = calloc(count + 1, sizeof *deps->by_id);
    if (entries == NULL || deps->by_id == NULL) {
        free(entries);
        return npu_fail_memory(err);
    }
    for (size_t i = 0; i < count; i++)
        entries[i] = (id_entry){deps->tasks[i].id, (int)i};
    qsort(entries, count, sizeof *entries, compare_ids);
    for (size_t i = 0; i < count; i++)
        deps->by_id[i] = entries[i].task;
    free(entries);
    return NPU_OK;
}

int npu_deps_find(const npu_deps *deps, uint64_t id) {
    int low = 0;
    for (int high = deps->task_count; low < high;) {
        int middle = low + (high - low) / 2;
        if (deps->tasks[deps->by_id[middle]].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == deps->task_count || deps->tasks[deps->by_id[low]].id != id)
        return -1;
    return deps->by_id[low];
}

npu_status npu_deps_index(npu_deps *deps, npu_error *err) {
    npu_status status = sort_tasks(deps, err);
    for (int i = 0; i < deps->edge_count && status == NPU_OK; i++) {
        npu_dep_edge *edge = &deps->edges[i];
        edge->pred_task = npu_deps_find(deps, edge->pred);
        edge->succ_task = npu_deps_find(deps, edge->succ);
    }
    return status;
}

// ---- circles -------------------------------------------------------------------------------

static bool orders(const npu_dep_edge *edge) {
    return edge->wait && edge->pred_task >= 0 && edge->succ_task >= 0;
}

// The edges out of each task: edges[first[t], first[t + 1]). `left` counts those into it.
static void sort_edges(const npu_deps *deps, int *first, int *edges, int *left) {
    int *next = first + 1; // as in npu_groups_make
    for (int i = 0; i < deps->edge_count; i++) {
        if (!orders(&deps->edges[i]))
            continue;
        next[deps->edges[i].pred_task + 1]++;
        left[deps->edges[i].succ_task]++;
    }
    for (int t = 0; t < deps->task_count; t++)
        next[t + 1] += next[t];
    for (int i = 0; i < deps->edge_count; i++)
        if (orders(&deps->edges[i]))
            edges[next[deps->edges[i].pred_task]++] = i;
}

// Takes away task after task that waits for no other. What is left waits for a circle; back
// along its producers one gets into it.
static int find_circle(const npu_deps *deps, const int *first, const int *edges, int *left,
                       int *queue) {
    int count = 0, done = 0;
    for (int t = 0; t < deps->task_count; t++)
        if (left[t] == 0)
            queue[count++] = t;
    for (; done < count; done++)
        for (int i = first[queue[done]]; i < first[queue[done] + 1]; i++) {
            int succ = deps->edges[edges[i]].succ_task;
            if (--left[succ] == 0)
                queue[count++] = succ;
        }
    if (count == deps->task_count)
        return -1;
    // Each task left has a producer that is left: after as many steps back as there are tasks
    // one is on a circle. queue[t] is now one of t's producers.
    for (int i = 0; i < deps->edge_count; i++)
        if (orders(&deps->edges[i]) && left[deps->edges[i].pred_task] > 0)
            queue[deps->edges[i].succ_task] = deps->edges[i].pred_task;
    int task = 0;
    while (left[task] == 0)
        task++;
    for (int i = 0; i < deps->task_count; i++)
        task = queue[task];
    return task;
}

npu_status npu_deps_circle(const npu_deps *deps, int *task, npu_error *err) {
    size_t tasks = (size_t)deps->task_count;
    int *first = calloc(tasks + 2, sizeof *first);
    int *edges = calloc((size_t)deps->edge_count + 1, sizeof *edges);
    int *left = calloc(tasks + 1, sizeof *left);
    int *queue = calloc(tasks + 1, sizeof *queue);
    npu_status status = NPU_OK;
    *task = -1;
    if (first == NULL || edges == NULL || left == NULL || queue == NULL) {
        status = npu_fail_memory(err);
    } else {
        sort_edges(deps, first, edges, left);
        *task = find_circle(deps, first, edges, left, queue);
    }
    free(first);
    free(edges);
    free(left);
    free(queue);
    return status;
}

// ---- writing -------------------------------------------------------------------------------

npu_status npu_deps_write_captured(FILE *out, const npu_deps *deps, npu_error *err) {
    npu_emit emit = {.out = out, .err = err};
    npu_emit_list(&emit, "{\"tasks\":[");
    for (int i = 0; i < deps->task_count; i++) {
        const npu_dep_task *task = &deps->tasks[i];
        npu_emit_line(&emit,
                      "\n{\"task_id\":\"%s\",\"scope\":\"%s\",\"early_dispatch\":%s,"
                      "\"kernel_ids\":[%d,%d,%d],\"args\":[]}",
                      npu_u64(task->id).text, task->manual ? "manual" : "auto",
                      task->early ? "true" : "false", task->kernel_ids[0], task->kernel_ids[1],
                      task->kernel_ids[2]);
    }
    npu_emit_list(&emit, "],\n\"tensors\":[],\n\"edges\":[");
    for (int i = 0; i < deps->edge_count; i++) {
        const npu_dep_edge *edge = &deps->edges[i];
        npu_emit_line(
            &emit,
            "\n{\"pred\":\"%s\",\"succ\":\"%s\",\"arg\":%d,\"source\":\"%s\",\"flags\":[%s]}",
            npu_u64(edge->pred).text, npu_u64(edge->succ).text, edge->arg,
            npu_dep_source_names[edge->source],
            edge->wait && edge->retain ? "\"wait\",\"retain\""
            : edge->wait               ? "\"wait\""
            : edge->retain             ? "\"retain\""
                                       : "");
    }
    npu_emit_text(&emit, "]}\n");
    return npu_emit_done(&emit);
}
