// SPDX-License-Identifier: Apache-2.0
#include "false_edges.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "redundant.h"

// Bounds of the time and the memory that a search may take: comparisons of regions, edges found,
// elements gone through one by one for one comparison and for all, bits of the map for one.
enum {
    MOST_TESTS = 30000000,
    MOST_EDGES = 1000000,
    PAIR_ELEMENTS = 1 << 24,
    MOST_ELEMENTS = 1 << 30,
    MOST_BITS = 1 << 27
};

typedef struct entry { // a writer that later tasks may have to wait for
    int task, arg;
    int next; // of the same storage, newest first; -1 at the end
} entry;

typedef struct search {
    const npu_graph *graph;
    const npu_order *order;
    npu_false_edges *found;
    entry *entries;
    int entry_count;
    int *newest; // by tensor index of the storage
    int64_t tests, elements;
    npu_error *err;
} search;

// ---- element by element --------------------------------------------------------------------

typedef struct span { // elements [low, high), a bit for each
    int64_t low, high;
    uint64_t *bits;
} span;

// Sets the bits of a window, or looks for one that is set.
static bool walk(const npu_arg *w, const span *s, bool set) {
    int64_t at[NPU_MAX_RANK] = {0};
    for (;;) {
        int64_t element = w->offset;
        for (int i = 0; i < w->rank; i++)
            element += at[i] * w->stride[i];
        if (element >= s->low && element < s->high) {
            uint64_t bit = UINT64_C(1) << ((element - s->low) % 64);
            uint64_t *word = &s->bits[(element - s->low) / 64];
            if (set)
                *word |= bit;
            else if (*word & bit)
                return true;
        }
        int dim = w->rank - 1;
        while (dim >= 0 && ++at[dim] == w->shape[dim])
            at[dim--] = 0;
        if (dim < 0)
            return false;
    }
}

typedef enum verdict { SHARED, APART, UNDECIDED, FAILED } verdict;

static verdict compare_elements(search *s, const npu_arg *a, const npu_arg *b) {
    int64_t extent[2], count[2];
    npu_extent(a, &extent[0], &count[0]);
    npu_extent(b, &extent[1], &count[1]);
    span both = {.low = a->offset > b->offset ? a->offset : b->offset};
    int64_t end = a->offset + extent[0];
    both.high = b->offset + extent[1] < end ? b->offset + extent[1] : end;
    int64_t work = count[0] + count[1];
    if (both.high - both.low > MOST_BITS || work > PAIR_ELEMENTS ||
        s->elements + work > MOST_ELEMENTS)
        return UNDECIDED;
    s->elements += work;
    both.bits = calloc((size_t)(both.high - both.low) / 64 + 1, sizeof *both.bits);
    if (both.bits == NULL) {
        npu_fail_memory(s->err);
        return FAILED;
    }
    walk(a, &both, true);
    bool shared = walk(b, &both, false);
    free(both.bits);
    return shared ? SHARED : APART;
}

// ---- the tensor map ------------------------------------------------------------------------

static bool same_layout(const npu_arg *a, const npu_arg *b) {
    return a->rank == b->rank &&
           memcmp(a->stride, b->stride, (size_t)a->rank * sizeof *a->stride) == 0;
}

static npu_status add(search *s, const entry *e, int task, int arg, bool in_graph) {
    npu_false_edges *found = s->found;
    if (found->count == MOST_EDGES) {
        s->tests = MOST_TESTS + 1;
        return NPU_OK;
    }
    npu_status status = NPU_GROW(found, items, count, capacity, s->err);
    if (!status)
        found->items[found->count++] =
            (npu_false_edge){e->task, task, e->arg, arg, in_graph, false};
    return status;
}

// Whether the runtime waits for the entry without need. *covers as npu_overlap says.
static npu_status look_at(search *s, const entry *e, int task, int arg, bool *covers) {
    const npu_arg *reader = &s->graph->args[arg], *writer = &s->graph->args[e->arg];
    bool in_graph = npu_overlap(reader, writer, covers);
    bool waits = same_layout(reader, writer) ? in_graph : npu_extents_overlap(reader, writer);
    if (!waits)
        return NPU_OK;
    if (!in_graph)
        return add(s, e, task, arg, false);
    if (*covers || npu_overlap_is_exact(reader, writer))
        return NPU_OK;
    switch (compare_elements(s, reader, writer)) {
    case APART:
        return add(s, e, task, arg, true);
    case UNDECIDED:
        s->found->undecided++;
        return NPU_OK;
    case FAILED:
        return NPU_NO_MEMORY;
    default:
        return NPU_OK;
    }
}

static npu_status look_up(search *s, int task, int arg) {
    const npu_arg *a = &s->graph->args[arg];
    npu_status status = NPU_OK;
    for (int *link = &s->newest[s->graph->tensors[a->tensor].storage]; *link >= 0 && !status;) {
        const entry *e = &s->entries[*link];
        bool covers = false;
        if (e->task != task && ++s->tests <= MOST_TESTS)
            status = look_at(s, e, task, arg, &covers);
        if (covers && a->access == NPU_INOUT)
            *link = e->next;
        else
            link = &s->entries[*link].next;
    }
    return status;
}

static npu_status go_through(search *s) {
    const npu_graph *graph = s->graph;
    npu_status status = NPU_OK;
    for (int i = 0; i < graph->task_count && !status && s->tests <= MOST_TESTS; i++) {
        const npu_task *task = &graph->tasks[i];
        int end = task->first_arg + task->arg_count;
        for (int a = task->first_arg; a < end && !status && !task->manual; a++)
            if (graph->args[a].access == NPU_IN || graph->args[a].access == NPU_INOUT)
                status = look_up(s, i, a);
        for (int a = task->first_arg; a < end && !task->manual; a++) {
            npu_access access = graph->args[a].access;
            if (access != NPU_INOUT && access != NPU_OUT_EXISTING)
                continue;
            int *newest = &s->newest[graph->tensors[graph->args[a].tensor].storage];
            s->entries[s->entry_count] = (entry){i, a, *newest};
            *newest = s->entry_count++;
        }
    }
    return status;
}

// ---- what they cost ------------------------------------------------------------------------

static int edges_between(const npu_graph *graph, int pred, int succ) {
    const npu_task *task = &graph->tasks[succ];
    int count = 0;
    for (int e = task->first_edge; e < task->first_edge + task->edge_count; e++)
        count += graph->edges[e].pred == pred;
    return count;
}

// An edge of the graph costs nothing when another way orders the two, or an edge of theirs that is
// not false.
static void find_ordered(const search *s) {
    npu_false_edge *items = s->found->items;
    int begin = 0;
    for (int i = 0; i < s->found->count; i++) {
        npu_false_edge *f = &items[i];
        if (items[begin].succ != f->succ)
            begin = i;
        f->ordered = f->in_graph ? npu_is_redundant(s->graph, s->order, f->pred, f->succ)
                                 : npu_is_before(s->order, f->pred, f->succ);
        if (!f->in_graph || f->ordered)
            continue;
        int others = 0;
        for (int j = begin; j < s->found->count && items[j].succ == f->succ; j++)
            others += items[j].pred == f->pred && items[j].in_graph;
        f->ordered = edges_between(s->graph, f->pred, f->succ) > others;
    }
}

npu_status npu_false_edges_find(const npu_graph *graph, const npu_order *order,
                                npu_false_edges *found, npu_error *err) {
    *found = (npu_false_edges){0};
    search s = {.graph = graph, .order = order, .found = found, .err = err};
    s.entries = calloc((size_t)graph->arg_count + 1, sizeof *s.entries);
    s.newest = calloc((size_t)graph->tensor_count + 1, sizeof *s.newest);
    npu_status status = NPU_OK;
    if (s.entries == NULL || s.newest == NULL) {
        status = npu_fail_memory(err);
    } else {
        for (int i = 0; i < graph->tensor_count; i++)
            s.newest[i] = -1;
        status = go_through(&s);
    }
    if (!status)
        find_ordered(&s);
    found->complete = s.tests <= MOST_TESTS;
    free(s.entries);
    free(s.newest);
    return status;
}

void npu_false_edges_free(npu_false_edges *found) {
    free(found->items);
    *found = (npu_false_edges){0};
}
