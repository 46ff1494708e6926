// SPDX-License-Identifier: Apache-2.0
#include "races.h"

#include <assert.h>
#include <stdlib.h>

#include "build.h"

// The check before every run only warns, and a graph of that size has shown its kinds of tasks
// long before; a search that is asked for may take seconds.
enum { MAX_TASKS = 16384, MAX_TESTS = 300000, MAX_WARNINGS = 20 };
enum { DEEP_TESTS = 30000000, DEEP_RACES = 1000000 };

typedef struct access { // an argument that reads or writes
    int task, arg;
    int next; // of the same storage, earlier; -1 at the end
} access;

typedef struct kind { // of races told already: functions and storage
    int first, second, storage;
} kind;

typedef struct search {
    const npu_graph *graph;
    const npu_order *order;
    const bool *atomic; // by argument: only added to
    access *accesses;
    int *newest; // by tensor index of the storage
    int64_t tests, most_tests;
    // what becomes of a race: a warning or an item
    npu_warnings *warnings;
    kind told[MAX_WARNINGS];
    int told_count;
    npu_races *races;
    npu_error *err;
} search;

static bool was_told(search *s, kind r) {
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
        was_told(s, (kind){first->func, second->func, tensor->storage}))
        return;
    bool reads = graph->args[a->arg].access == NPU_IN;
    bool writes = later->access != NPU_IN;
    npu_warn(s->warnings, later->pos,
             "no edge orders task '%s', which %s '%s', after '%s', which %s it", second->name,
             writes ? "writes" : "reads", tensor->name, first->name, reads ? "reads" : "writes");
}

static npu_status keep(search *s, const access *a, const access *b) {
    npu_races *races = s->races;
    if (races->count == DEEP_RACES) {
        s->tests = s->most_tests + 1;
        return NPU_OK;
    }
    npu_status status = NPU_GROW(races, items, count, capacity, s->err);
    if (!status)
        races->items[races->count++] = (npu_race){a->task, b->task, a->arg, b->arg};
    return status;
}

// Compares a new access with the earlier ones of its storage.
static npu_status compare(search *s, const access *b) {
    const npu_arg *later = &s->graph->args[b->arg];
    npu_status status = NPU_OK;
    for (int i = s->newest[s->graph->tensors[later->tensor].storage]; i >= 0 && !status;) {
        const access *a = &s->accesses[i];
        const npu_arg *earlier = &s->graph->args[a->arg];
        i = a->next;
        bool harmless = (later->access == NPU_IN && earlier->access == NPU_IN) ||
                        (s->atomic[a->arg] && s->atomic[b->arg]);
        if (harmless || a->task == b->task || npu_is_before(s->order, a->task, b->task))
            continue;
        if (++s->tests > s->most_tests)
            return NPU_OK;
        bool covers = false;
        if (!npu_overlap(earlier, later, &covers))
            continue;
        if (s->races != NULL)
            status = keep(s, a, b);
        else
            tell(s, a, b);
    }
    return status;
}

static npu_status look(search *s) {
    const npu_graph *graph = s->graph;
    for (int i = 0; i < graph->tensor_count; i++)
        s->newest[i] = -1;
    int count = 0;
    npu_status status = NPU_OK;
    for (int i = 0; i < graph->task_count && s->tests <= s->most_tests && !status; i++) {
        const npu_task *task = &graph->tasks[i];
        for (int a = task->first_arg; a < task->first_arg + task->arg_count && !status; a++) {
            if (graph->args[a].access == NPU_NO_DEP)
                continue;
            int storage = graph->tensors[graph->args[a].tensor].storage;
            access b = {i, a, s->newest[storage]};
            status = compare(s, &b);
            s->accesses[count] = b;
            s->newest[storage] = count++;
        }
    }
    assert(count <= graph->arg_count);
    return status;
}

static npu_status run(search *s) {
    const npu_graph *graph = s->graph;
    s->accesses = calloc((size_t)graph->arg_count + 1, sizeof *s->accesses);
    s->newest = calloc((size_t)graph->tensor_count + 1, sizeof *s->newest);
    bool room = s->accesses != NULL && s->newest != NULL;
    npu_status status = room ? look(s) : npu_fail_memory(s->err);
    free(s->accesses);
    free(s->newest);
    return status;
}

npu_status npu_check_races(const npu_graph *graph, const bool *atomic, npu_warnings *warnings,
                           npu_error *err) {
    if (graph->task_count > MAX_TASKS || warnings == NULL)
        return NPU_OK;
    npu_order order = {0};
    npu_status status = npu_order_make(graph, &order, err);
    search s = {.graph = graph,
                .order = &order,
                .atomic = atomic,
                .most_tests = MAX_TESTS,
                .warnings = warnings,
                .err = err};
    if (!status)
        status = run(&s);
    npu_order_free(&order);
    return status;
}

npu_status npu_races_find(const npu_graph *graph, const npu_order *order, const npu_walls *walls,
                          npu_races *races, npu_error *err) {
    *races = (npu_races){0};
    bool *atomic = calloc((size_t)graph->arg_count + 1, sizeof *atomic);
    if (atomic == NULL)
        return npu_fail_memory(err);
    search s = {.graph = graph,
                .order = order,
                .atomic = atomic,
                .most_tests = DEEP_TESTS,
                .races = races,
                .err = err};
    npu_status status = npu_check_runs(graph, walls, atomic, NULL, err);
    if (!status)
        status = run(&s);
    races->complete = s.tests <= s.most_tests;
    free(atomic);
    return status;
}

void npu_races_free(npu_races *races) {
    free(races->items);
    *races = (npu_races){0};
}
