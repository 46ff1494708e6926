// SPDX-License-Identifier: Apache-2.0
// What a task holds while it lives: a slot, the memory of its outputs and entries in the lists of
// its producers, all in the ring of its scope's depth. A ring frees its oldest task first.
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "aicpu_state.h"

static int scope_of(const npu_aicpu *a, int task) {
    return a->graph->tasks[task].scope;
}

static npu_ring *ring_of(const npu_aicpu *a, int task) {
    int depth = a->graph->scope_count > 0 ? a->graph->scopes[scope_of(a, task)].depth : 0;
    int last = (int)a->die->aicpu.rings - 1;
    return &a->rings[depth < last ? depth : last];
}

npu_status npu_aicpu_rings_new(npu_aicpu *a, npu_error *err) {
    size_t batch = (size_t)fmin(a->die->aicpu.release_batch, a->graph->task_count) + 1;
    int rings = (int)a->die->aicpu.rings;
    a->rings = npu_arena_alloc(&a->arena, (size_t)rings, sizeof *a->rings);
    a->closed = npu_arena_alloc(&a->arena, (size_t)a->graph->scope_count + 1, sizeof *a->closed);
    if (a->rings == NULL || a->closed == NULL)
        return npu_fail_memory(err);
    for (int i = 0; i < rings; i++)
        a->rings[i].oldest = a->rings[i].newest = -1;
    for (int i = 0; i < a->thread_count; i++) {
        a->threads[i].release = npu_arena_alloc(&a->arena, batch, sizeof(int));
        if (a->threads[i].release == NULL)
            return npu_fail_memory(err);
    }
    return NPU_OK;
}

static int64_t heap_bytes(const npu_aicpu *a, int task) {
    if (a->graph->args == NULL) // captured: nobody knows what tasks allocate
        return 0;
    const npu_task *t = &a->graph->tasks[task];
    int64_t align = (int64_t)a->die->aicpu.heap_align;
    int64_t bytes = 0;
    for (int i = t->first_arg; i < t->first_arg + t->arg_count; i++) {
        const npu_arg *arg = &a->graph->args[i];
        if (arg->access == NPU_OUT) {
            const npu_tensor *tensor = &a->graph->tensors[arg->tensor];
            bytes += (a->graph->tensors[tensor->storage].bytes + align - 1) / align * align;
        }
    }
    return bytes;
}

// Where the outputs would end; -1 without room. They lie in one piece. Top and tail meet only in
// an empty heap, so after a wrap one byte stays free.
static int64_t heap_place(const npu_ring *ring, int64_t size, int64_t bytes) {
    if (ring->tasks == 0)
        return bytes <= size ? bytes : -1;
    if (bytes == 0)
        return ring->heap_top;
    if (ring->heap_top < ring->heap_tail)
        return ring->heap_tail - ring->heap_top > bytes ? ring->heap_top + bytes : -1;
    if (size - ring->heap_top >= bytes)
        return ring->heap_top + bytes;
    return ring->heap_tail > bytes ? bytes : -1;
}

static int64_t entries_wanted(const npu_aicpu *a, int task) {
    const npu_task_state *s = &a->tasks[task];
    int64_t count = 0;
    for (int i = 0; i < s->link_count; i++)
        count += !a->tasks[a->links[s->first_link + i].pred].complete;
    return count;
}

// ---------------------------------------------------------------- no room

// The tasks of the scope that keeps the ring's oldest task, and those of scopes around and in it.
static const char *list_tasks(const npu_aicpu *a, const npu_ring *ring, int scope, char *buf,
                              size_t size, int *count) {
    enum { SHOWN = 6 };
    size_t used = 0;
    *count = 0;
    buf[0] = '\0';
    for (int task = ring->oldest; task >= 0; task = a->tasks[task].ring_next) {
        if (scope_of(a, task) != scope)
            continue;
        if (++*count <= SHOWN && used < size)
            used += (size_t)snprintf(buf + used, size - used, "%s%s", used > 0 ? ", " : "",
                                     a->graph->tasks[task].name);
    }
    if (*count > SHOWN && used < size)
        snprintf(buf + used, size - used, ", ..");
    return buf;
}

static void scope_deadlock(npu_aicpu *a, int task, const npu_ring *ring, const char *what) {
    const npu_task *t = &a->graph->tasks[task];
    int scope = scope_of(a, ring->oldest);
    char names[256];
    int count = 0;
    list_tasks(a, ring, scope, names, sizeof names, &count);
    char where[64] = "the graph";
    if (scope > 0)
        snprintf(where, sizeof where, "the scope of line %d", a->graph->scopes[scope].pos.line);
    npu_aicpu_fail(
        a, npu_fail(&a->error, NPU_BAD_INPUT, t->pos,
                    "scope deadlock: task '%s' waits for %s of ring %d, which is freed from its "
                    "oldest task on, '%s'; that one stays until %s ends, which waits for '%s' "
                    "(%d of its tasks are in the ring: %s)",
                    t->name, what, (int)(ring - a->rings), a->graph->tasks[ring->oldest].name,
                    where, t->name, count, names));
}

static void too_large(npu_aicpu *a, int task, const char *what, int64_t wanted, double most) {
    const npu_task *t = &a->graph->tasks[task];
    npu_aicpu_fail(a, npu_fail(&a->error, NPU_BAD_INPUT, t->pos,
                               "task '%s' needs %lld %s, but a ring has %.0f", t->name,
                               (long long)wanted, what, most));
}

bool npu_aicpu_ring_room(npu_aicpu *a, int task) {
    const npu_ring *ring = ring_of(a, task);
    int64_t most = (int64_t)a->die->aicpu.ring_tasks - 1;
    int64_t size = (int64_t)a->die->aicpu.ring_heap;
    int64_t deps = (int64_t)a->die->aicpu.ring_deps;
    int64_t bytes = heap_bytes(a, task);
    int64_t entries = entries_wanted(a, task);
    const char *what = NULL;
    if (bytes > size)
        too_large(a, task, "bytes of heap (aicpu.ring_heap)", bytes, a->die->aicpu.ring_heap);
    else if (entries > deps)
        too_large(a, task, "dependency entries (aicpu.ring_deps)", entries,
                  a->die->aicpu.ring_deps);
    else if (ring->tasks >= most)
        what = "a slot (aicpu.ring_tasks)";
    else if (heap_place(ring, size, bytes) < 0)
        what = "heap (aicpu.ring_heap)";
    else if (ring->deps + entries > deps)
        what = "dependency entries (aicpu.ring_deps)";
    else
        return true;
    if (what != NULL && !a->closed[scope_of(a, ring->oldest)])
        scope_deadlock(a, task, ring, what);
    return false;
}

// ---------------------------------------------------------------- taking and freeing

void npu_aicpu_ring_take(npu_aicpu *a, int task) {
    npu_ring *ring = ring_of(a, task);
    npu_task_state *s = &a->tasks[task];
    s->heap_end = heap_place(ring, (int64_t)a->die->aicpu.ring_heap, heap_bytes(a, task));
    assert(s->heap_end >= 0);
    if (ring->tasks == 0)
        ring->heap_tail = 0;
    ring->heap_top = s->heap_end;
    s->ring_next = -1;
    if (ring->tasks == 0)
        ring->oldest = task;
    else
        a->tasks[ring->newest].ring_next = task;
    ring->newest = task;
    ring->tasks++;
}

void npu_aicpu_ring_deps(npu_aicpu *a, int task) {
    ring_of(a, task)->deps += a->tasks[task].entries;
}

static bool may_go(const npu_aicpu *a, int task) {
    const npu_task_state *s = &a->tasks[task];
    return s->let_go && s->holders == 0 && a->closed[scope_of(a, task)];
}

static void advance(npu_aicpu *a, npu_ring *ring) {
    bool freed = false;
    while (ring->oldest >= 0 && may_go(a, ring->oldest)) {
        npu_task_state *s = &a->tasks[ring->oldest];
        s->freed = freed = true;
        ring->heap_tail = s->heap_end;
        ring->deps -= s->entries;
        ring->tasks--;
        assert(ring->deps >= 0 && ring->tasks >= 0);
        ring->oldest = s->ring_next;
    }
    if (freed)
        npu_aicpu_submit_retry(a);
}

void npu_aicpu_close_scopes(npu_aicpu *a, int task) {
    const npu_task_scope *scopes = a->graph->scopes;
    if (a->graph->scope_count == 0)
        return;
    for (int s = scope_of(a, task); s >= 0 && scopes[s].end == task + 1; s = scopes[s].parent) {
        a->closed[s] = true;
        for (int ring = 0; ring < (int)a->die->aicpu.rings; ring++)
            advance(a, &a->rings[ring]);
    }
}

static void let_go(npu_aicpu *a, int task) {
    npu_task_state *s = &a->tasks[task];
    s->let_go = true;
    for (int i = 0; i < s->link_count; i++) {
        npu_task_link *link = &a->links[s->first_link + i];
        if (!link->holds)
            continue;
        link->holds = false;
        assert(a->tasks[link->pred].holders > 0);
        if (--a->tasks[link->pred].holders == 0)
            advance(a, ring_of(a, link->pred));
    }
    advance(a, ring_of(a, task));
}

void npu_aicpu_release(npu_aicpu *a, npu_thread *t) {
    for (int i = 0; i < t->release_count; i++)
        let_go(a, t->release[i]);
    t->release_count = 0;
}

void npu_aicpu_defer_release(npu_aicpu *a, npu_thread *t, int task) {
    if (t->release_count >= a->die->aicpu.release_batch)
        npu_aicpu_release(a, t);
    t->release[t->release_count++] = task;
}
