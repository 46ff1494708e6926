// SPDX-License-Identifier: Apache-2.0
// Tasks that touch the same memory with no edge between them, one of them writing. The
// runtime does not track write-after-read, and a manual scope tracks nothing.
#include <assert.h>
#include <stdlib.h>

#include "build.h"

// Above these the search is left out or ends: it only warns, and a graph of that size has shown
// its kinds of tasks long before.
enum { MAX_TASKS = 16384, MAX_TESTS = 300000, MAX_WARNINGS = 20 };

typedef struct access { // an argument that reads or writes
    int task, arg;
    int next; // of the same storage, earlier; -1 at the end
} access;

typedef struct race { // told already: functions and storage
    int first, second, storage;
} race;

typedef struct search {
    const npu_graph *graph;
    const bool *atomic; // by argument: only added to
    npu_warnings *warnings;
    uint64_t *before; // a row of bits per task: which tasks are done when it starts
    size_t words;
    access *accesses;
    int *newest; // by tensor index of the storage
    int64_t tests;
    race told[MAX_WARNINGS];
    int told_count;
} search;

static bool is_before(const search *s, int task, int later) {
    return s->before[(size_t)later * s->words + (size_t)task / 64] >> (task % 64) & 1;
}

static void find_order(search *s) {
    const npu_graph *graph = s->graph;
    for (int i = 0; i < graph->task_count; i++) {
        const npu_task *task = &graph->tasks[i];
        uint64_t *row = s->before + (size_t)i * s->words;
        for (int e = task->first_edge; e < task->first_edge + task->edge_count; e++) {
            int pred = graph->edges[e].pred;
            if (row[pred / 64] >> (pred % 64) & 1)
                continue; // with everything before it
            const uint64_t *from = s->before + (size_t)pred * s->words;
            for (int w = 0; w <= pred / 64; w++)
                row[w] |= from[w];
            row[pred / 64] |= (uint64_t)1 << (pred % 64);
        }
    }
}

static bool was_told(search *s, race r) {
    for (int i = 0; i < s->told_count; i++)
        if (s->told[i].first == r.first && s->told[i].second == r.second &&
            s->told[i].storage == r.storage)
            return true;
    if (s->told_count < MAX_WARNINGS)
        s->told[s->told_count++] = r;
    return false;
}

static void tell(search *s, const access *a, const access *b) {
    const npu_graph *graph = s->graph;
    const npu_task *first = &graph->tasks[a->task];
    const npu_task *second = &graph->tasks[b->task];
    const npu_arg *later = &graph->args[b->arg];
    const npu_tensor *tensor = &graph->tensors[graph->tensors[later->tensor].storage];
    if (s->told_count == MAX_WARNINGS ||
        was_told(s, (race){first->func, second->func, tensor->storage}))
        return;
    bool reads = graph->args[a->arg].access == NPU_IN;
    bool writes = later->access != NPU_IN;
    npu_warn(s->warnings, later->pos,
             "no edge orders task '%s', which %s '%s', after '%s', which %s it", second->name,
             writes ? "writes" : "reads", tensor->name, first->name, reads ? "reads" : "writes");
}

// Compares a new access with the earlier ones of its storage.
static void compare(search *s, const access *b) {
    const npu_arg *later = &s->graph->args[b->arg];
    for (int i = s->newest[s->graph->tensors[later->tensor].storage]; i >= 0;) {
        const access *a = &s->accesses[i];
        const npu_arg *earlier = &s->graph->args[a->arg];
        i = a->next;
        bool harmless = (later->access == NPU_IN && earlier->access == NPU_IN) ||
                        (s->atomic[a->arg] && s->atomic[b->arg]);
        if (harmless || a->task == b->task || is_before(s, a->task, b->task))
            continue;
        if (++s->tests > MAX_TESTS)
            return;
        bool covers = false;
        if (npu_overlap(earlier, later, &covers))
            tell(s, a, b);
    }
}

static void look(search *s) {
    const npu_graph *graph = s->graph;
    for (int i = 0; i < graph->tensor_count; i++)
        s->newest[i] = -1;
    int count = 0;
    for (int i = 0; i < graph->task_count && s->tests <= MAX_TESTS; i++) {
        const npu_task *task = &graph->tasks[i];
        for (int a = task->first_arg; a < task->first_arg + task->arg_count; a++) {
            if (graph->args[a].access == NPU_NO_DEP)
                continue;
            int storage = graph->tensors[graph->args[a].tensor].storage;
            access b = {i, a, s->newest[storage]};
            compare(s, &b);
            s->accesses[count] = b;
            s->newest[storage] = count++;
        }
    }
    assert(count <= graph->arg_count);
}

npu_status npu_check_races(const npu_graph *graph, const bool *atomic, npu_warnings *warnings,
                           npu_error *err) {
    if (graph->task_count > MAX_TASKS || warnings == NULL)
        return NPU_OK;
    search s = {.graph = graph, .atomic = atomic, .warnings = warnings};
    s.words = ((size_t)graph->task_count + 63) / 64;
    s.before = calloc((size_t)graph->task_count * s.words + 1, sizeof *s.before);
    s.accesses = calloc((size_t)graph->arg_count + 1, sizeof *s.accesses);
    s.newest = calloc((size_t)graph->tensor_count + 1, sizeof *s.newest);
    bool room = s.before != NULL && s.accesses != NULL && s.newest != NULL;
    if (room) {
        find_order(&s);
        look(&s);
    }
    free(s.before);
    free(s.accesses);
    free(s.newest);
    return room ? NPU_OK : npu_fail_memory(err);
}
