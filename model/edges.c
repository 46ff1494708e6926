// SPDX-License-Identifier: Apache-2.0
// Edges between tasks, found as the runtime's orchestrator finds them at each submit:
// explicit ones first, then per argument that is no OUT the task that created its memory,
// and for IN and INOUT every live entry of the tensor map that overlaps. An INOUT takes the
// entries away that it covers. Then INOUT and OUT_EXISTING become entries themselves.
// Write-after-read is not tracked.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"

typedef struct entry { // a writer that later tasks may have to wait for
    int task;
    int arg;  // in npu_build.args
    int next; // of the same storage, newest first; -1 at the end
} entry;

typedef struct storage_state {
    int newest;  // entry, or -1
    int creator; // task, or -1
    int creator_arg;
    bool written; // by any task so far
    bool warned;
} storage_state;

typedef struct inference {
    npu_build *b;
    storage_state *storages; // by tensor index
    entry *entries;
    int entry_count, entry_capacity;
    const npu_after *late; // the first `after` that names a later task
    int late_pred;
} inference;

static npu_status add_edge(inference *in, npu_edge edge) {
    npu_build *b = in->b;
    assert(edge.pred >= 0 && edge.pred < edge.succ);
    npu_status status = NPU_GROW(b, edges, edge_count, edge_capacity, b->err);
    if (status == NPU_OK)
        b->edges[b->edge_count++] = edge;
    return status;
}

// ---------------------------------------------------------------- explicit

npu_status npu_unknown_task(npu_build *b, const char *name, npu_pos pos, const char *key) {
    int count = b->task_families.count;
    const char **names = npu_arena_alloc(&b->scratch, (size_t)count, sizeof *names);
    if (names == NULL)
        return npu_fail_memory(b->err);
    for (int i = 0; i < count; i++)
        names[i] = b->task_families.items[i].text;
    char hint[128];
    return npu_fail(b->err, NPU_BAD_INPUT, pos, "unknown task '%s' in %s%s", name, key,
                    npu_did_you_mean(name, names, count, hint, sizeof hint));
}

static npu_status add_explicit(inference *in, const npu_after *after, int pred, int first_edge) {
    npu_build *b = in->b;
    if (pred == after->task)
        return npu_fail(b->err, NPU_BAD_INPUT, after->pos, "task '%s' cannot come after itself",
                        b->tasks[pred].name);
    if (pred > after->task) { // told at the end, when the chain back is known
        if (in->late == NULL) {
            in->late = after;
            in->late_pred = pred;
        }
        return NPU_OK;
    }
    for (int i = first_edge; i < b->edge_count; i++)
        if (b->edges[i].pred == pred)
            return NPU_OK;
    return add_edge(in, (npu_edge){.pred = pred,
                                   .succ = after->task,
                                   .arg = -1,
                                   .source = NPU_EDGE_EXPLICIT,
                                   .producer_arg = -1});
}

static npu_status resolve_after(inference *in, const npu_after *after, int first_edge) {
    npu_build *b = in->b;
    const npu_name *one = npu_names_find(&b->task_names, after->name);
    if (one != NULL)
        return add_explicit(in, after, one->value, first_edge);
    const npu_name *all = npu_names_find(&b->task_families, after->name);
    if (all == NULL)
        return npu_unknown_task(b, after->name, after->pos, "after");
    npu_status status = NPU_OK;
    for (int task = b->families[all->value].first; status == NPU_OK && task >= 0;
         task = b->next_task[task])
        status = add_explicit(in, after, task, first_edge);
    return status;
}

// ---------------------------------------------------------------- by memory

static storage_state *state_of(const inference *in, const npu_arg *arg) {
    return &in->storages[in->b->tensors[arg->tensor].storage];
}

static npu_status look_up(inference *in, int task, int arg_index) {
    npu_build *b = in->b;
    const npu_task *t = &b->tasks[task];
    const npu_arg *arg = &b->args[arg_index];
    storage_state *state = state_of(in, arg);
    int relative = arg_index - t->first_arg;
    if (state->creator >= 0) {
        npu_edge edge = {state->creator, task, relative, NPU_EDGE_CREATOR, false, 0};
        edge.producer_arg = state->creator_arg - b->tasks[state->creator].first_arg;
        npu_status status = add_edge(in, edge);
        if (status != NPU_OK)
            return status;
    }
    if (arg->access != NPU_IN && arg->access != NPU_INOUT)
        return NPU_OK;
    for (int *link = &state->newest; *link >= 0;) {
        assert(in->entries != NULL && *link < in->entry_count);
        const entry *e = &in->entries[*link];
        bool covers = false;
        if (npu_overlap(arg, &b->args[e->arg], &covers)) {
            npu_edge edge = {e->task, task, relative, NPU_EDGE_TENSORMAP, covers, 0};
            edge.producer_arg = e->arg - b->tasks[e->task].first_arg;
            npu_status status = add_edge(in, edge);
            if (status != NPU_OK)
                return status;
            if (covers && arg->access == NPU_INOUT) {
                *link = e->next;
                continue;
            }
        }
        link = &in->entries[*link].next;
    }
    return NPU_OK;
}

// An OUT whose memory is not the runtime's to allocate: it exists, or is only a part.
static bool out_exists(const inference *in, const npu_arg *arg) {
    const npu_tensor *storage = &in->b->tensors[in->b->tensors[arg->tensor].storage];
    const storage_state *state = state_of(in, arg);
    int64_t extent = 0;
    int64_t count = 0;
    npu_extent(arg, &extent, &count);
    bool whole = extent == count && count * npu_dtype_bytes(storage->dtype) == storage->bytes;
    return storage->external || state->written || !whole;
}

static npu_status register_arg(inference *in, int task, int arg_index) {
    npu_build *b = in->b;
    npu_arg *arg = &b->args[arg_index];
    storage_state *state = state_of(in, arg);
    if (arg->access == NPU_OUT) {
        assert(state->creator < 0);
        state->creator = task;
        state->creator_arg = arg_index;
    }
    bool writes = arg->access == NPU_INOUT || arg->access == NPU_OUT_EXISTING;
    if (!writes || b->tasks[task].manual)
        return NPU_OK;
    npu_status status = NPU_GROW(in, entries, entry_count, entry_capacity, b->err);
    if (status != NPU_OK)
        return status;
    in->entries[in->entry_count] = (entry){task, arg_index, state->newest};
    state->newest = in->entry_count++;
    return NPU_OK;
}

static void warn_unwritten(inference *in, const npu_task *task, const npu_arg *arg) {
    const npu_tensor *tensor = &in->b->tensors[arg->tensor];
    const npu_tensor *storage = &in->b->tensors[tensor->storage];
    storage_state *state = state_of(in, arg);
    bool reads = arg->access == NPU_IN || arg->access == NPU_INOUT;
    bool exists = storage->external || state->written || storage->class_ == NPU_HANDOFF;
    if (!reads || exists || state->warned)
        return;
    state->warned = true;
    npu_warn(in->b->warnings, arg->pos,
             "task '%s' reads '%s', which no task before it writes; if it exists before the "
             "run, say `external: true`",
             task->name, storage->name);
}

static npu_status infer_task(inference *in, int index) {
    npu_build *b = in->b;
    const npu_task *task = &b->tasks[index];
    int end = task->first_arg + task->arg_count;
    npu_status status = NPU_OK;
    for (int i = task->first_arg; i < end; i++) {
        if (b->args[i].access == NPU_OUT && out_exists(in, &b->args[i]))
            b->args[i].access = NPU_OUT_EXISTING;
        warn_unwritten(in, task, &b->args[i]);
        if (b->args[i].access != NPU_IN)
            state_of(in, &b->args[i])->written = true;
    }
    for (int i = task->first_arg; status == NPU_OK && i < end && !task->manual; i++)
        if (b->args[i].access != NPU_OUT && b->args[i].access != NPU_NO_DEP)
            status = look_up(in, index, i);
    for (int i = task->first_arg; status == NPU_OK && i < end; i++)
        status = register_arg(in, index, i);
    return status;
}

// ---------------------------------------------------------------- in order

static int compare_edges(const void *a, const void *b) {
    const npu_edge *x = a;
    const npu_edge *y = b;
    if (x->pred != y->pred)
        return x->pred < y->pred ? -1 : 1;
    if (x->arg != y->arg)
        return x->arg < y->arg ? -1 : 1;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    return (x->producer_arg > y->producer_arg) - (x->producer_arg < y->producer_arg);
}

// The tasks from `from` back to `to` along edges: step[task] is the next one. False: no way.
static bool find_way(const npu_build *b, int from, int to, int *step, int *queue) {
    for (int i = 0; i < b->task_count; i++)
        step[i] = -1;
    int head = 0;
    int tail = 0;
    queue[tail++] = from;
    while (head < tail) {
        int task = queue[head++];
        if (task == to)
            return true;
        const npu_task *t = &b->tasks[task];
        for (int e = t->first_edge; e < t->first_edge + t->edge_count; e++) {
            int pred = b->edges[e].pred;
            if (pred >= to && step[pred] < 0 && pred != from) {
                step[pred] = task;
                queue[tail++] = pred;
            }
        }
    }
    return false;
}

// An `after` cannot name a task that is submitted later. Worse when that one waits for us.
static npu_status fail_late(inference *in) {
    npu_build *b = in->b;
    const char *name = b->tasks[in->late->task].name;
    const char *later = b->tasks[in->late_pred].name;
    size_t count = (size_t)b->task_count;
    int *step = npu_arena_alloc(&b->scratch, count, sizeof *step);
    int *queue = npu_arena_alloc(&b->scratch, count, sizeof *queue);
    if (step == NULL || queue == NULL)
        return npu_fail_memory(b->err);
    if (!find_way(b, in->late_pred, in->late->task, step, queue))
        return npu_fail(b->err, NPU_BAD_INPUT, in->late->pos,
                        "task '%s' cannot come after '%s', which is submitted later", name, later);
    const char *chain = name;
    for (int task = step[in->late->task]; task >= 0; task = step[task]) {
        chain = npu_arena_printf(&b->scratch, "%s -> %s", chain, b->tasks[task].name);
        if (chain == NULL)
            return npu_fail_memory(b->err);
    }
    return npu_fail(b->err, NPU_BAD_INPUT, in->late->pos,
                    "task '%s' cannot come after '%s', which waits for it: a cycle %s -> %s", name,
                    later, chain, name);
}

static npu_status infer(inference *in) {
    npu_build *b = in->b;
    npu_status status = NPU_OK;
    int after = 0;
    for (int i = 0; status == NPU_OK && i < b->task_count; i++) {
        npu_task *task = &b->tasks[i];
        task->first_edge = b->edge_count;
        for (; status == NPU_OK && after < b->after_count && b->afters[after].task == i; after++)
            status = resolve_after(in, &b->afters[after], task->first_edge);
        if (status == NPU_OK)
            status = infer_task(in, i);
        task->edge_count = b->edge_count - task->first_edge;
        if (task->edge_count > 1)
            qsort(b->edges + task->first_edge, (size_t)task->edge_count, sizeof *b->edges,
                  compare_edges);
    }
    if (status == NPU_OK && in->late != NULL)
        status = fail_late(in);
    return status;
}

npu_status npu_build_edges(npu_build *b) {
    inference in = {.b = b};
    in.storages = npu_arena_alloc(&b->scratch, (size_t)b->tensor_count, sizeof *in.storages);
    if (in.storages == NULL)
        return npu_fail_memory(b->err);
    for (int i = 0; i < b->tensor_count; i++)
        in.storages[i] = (storage_state){.newest = -1, .creator = -1};
    npu_status status = infer(&in);
    assert(status != NPU_OK || in.late == NULL);
    free(in.entries);
    return status;
}
