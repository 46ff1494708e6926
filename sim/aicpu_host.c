// SPDX-License-Identifier: Apache-2.0
// The runtime's other flavour: the host built the graph before the run. No orchestrator, no rings;
// a thread without cores resolves what the others see complete. A task waits in the list of one
// producer at a time, of those not complete the one submitted last.
#include <assert.h>
#include <math.h>

#include "aicpu_state.h"

static void round_begin(npu_aicpu *a);

static void spend(npu_aicpu *a, double dt, npu_event_fn next) {
    a->resolver->busy += dt;
    npu_engine_delay(a->engine, dt, next, a, 0);
}

// In front of its producer's list; false when all its producers are complete.
static bool wait_for_producer(npu_aicpu *a, int task) {
    npu_resolver *r = a->resolver;
    const npu_task_state *s = &a->tasks[task];
    for (int i = s->link_count - 1; i >= 0; i--) {
        int pred = a->links[s->first_link + i].pred;
        if (a->tasks[pred].complete)
            continue;
        r->wake_next[task] = r->wake[pred];
        r->wake[pred] = task;
        return true;
    }
    return false;
}

static void waiter_event(void *owner, int64_t tag);

static void walk(npu_aicpu *a) {
    npu_resolver *r = a->resolver;
    if (r->waiter >= 0)
        spend(a, a->die->aicpu.resolve_edge, waiter_event);
    else
        round_begin(a);
}

static void waiter_event(void *owner, int64_t tag) {
    (void)tag;
    npu_aicpu *a = owner;
    npu_resolver *r = a->resolver;
    int task = r->waiter;
    r->waiter = r->wake_next[task];
    if (!wait_for_producer(a, task)) {
        npu_aicpu_ready(a, task);
        npu_aicpu_wake(a);
    }
    walk(a);
}

static void completed_event(void *owner, int64_t tag) {
    (void)tag;
    npu_aicpu *a = owner;
    npu_resolver *r = a->resolver;
    assert(!a->tasks[r->task].complete);
    a->tasks[r->task].complete = true;
    a->completed++;
    r->waiter = r->wake[r->task];
    npu_aicpu_wake(a);
    walk(a);
}

// What the threads saw complete, the threads in turn, then tasks without blocks.
static npu_queue *next_queue(npu_aicpu *a) {
    for (int i = 0; i < a->thread_count; i++)
        if (a->resolver->finished[i].count > 0)
            return &a->resolver->finished[i];
    return a->dummies.count > 0 ? &a->dummies : NULL;
}

static void popped_event(void *owner, int64_t tag) {
    (void)tag;
    npu_aicpu *a = owner;
    npu_queue *queue = next_queue(a); // nobody else pops; a better one may have been filled
    assert(queue != NULL);
    a->resolver->task = npu_queue_pop(queue);
    spend(a, a->die->aicpu.resolve, completed_event);
}

static void round_begin(npu_aicpu *a) {
    npu_resolver *r = a->resolver;
    if (a->completed == a->graph->task_count)
        return;
    if (next_queue(a) != NULL) {
        spend(a, a->die->aicpu.pop, popped_event);
        return;
    }
    r->asleep = true;
    r->sleep_from = npu_now(a);
}

static void round_event(void *owner, int64_t tag) {
    (void)tag;
    round_begin(owner);
}

// It spins; the look that ends at this very instant sees what came.
static void wake_resolver(npu_aicpu *a) {
    npu_resolver *r = a->resolver;
    if (!r->asleep)
        return;
    double spin = a->die->aicpu.resolver;
    double passed = npu_now(a) - r->sleep_from;
    double spins = fmax(1, ceil((passed - NPU_ENGINE_TIE) / spin));
    r->asleep = false;
    npu_engine_delay(a->engine, fmax(0, spins * spin - passed), round_event, a, 0);
}

void npu_aicpu_host_take(npu_aicpu *a, npu_thread *t) {
    for (int i = 0; i < t->resolve_count; i++)
        npu_queue_push(&a->resolver->finished[t->id], t->resolve[i]);
    t->resolve_at = t->resolve_count = 0;
    wake_resolver(a);
}

bool npu_aicpu_host_idle(const npu_aicpu *a) {
    return a->resolver->asleep;
}

// The graph is there: tasks that wait for nothing are in their queues.
void npu_aicpu_host_begin(npu_aicpu *a) {
    for (int task = 0; task < a->graph->task_count; task++) {
        a->tasks[task].submitted = true;
        if (!wait_for_producer(a, task))
            npu_aicpu_ready(a, task);
    }
    a->submitted = a->graph->task_count;
    round_begin(a);
}

npu_status npu_aicpu_host_new(npu_aicpu *a, npu_error *err) {
    int tasks = a->graph->task_count;
    if (tasks > a->die->aicpu.host_tasks)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){a->graph->path, 0, 0},
                        "the graph has %d tasks, but a host-built one has at most %.0f "
                        "(aicpu.host_tasks)",
                        tasks, a->die->aicpu.host_tasks);
    npu_resolver *r = npu_arena_alloc(&a->arena, 1, sizeof *r);
    if (r == NULL)
        return npu_fail_memory(err);
    a->resolver = r;
    r->finished = npu_arena_alloc(&a->arena, (size_t)a->thread_count, sizeof *r->finished);
    r->wake = npu_arena_alloc(&a->arena, (size_t)tasks + 1, sizeof *r->wake);
    r->wake_next = npu_arena_alloc(&a->arena, (size_t)tasks + 1, sizeof *r->wake_next);
    if (r->finished == NULL || r->wake == NULL || r->wake_next == NULL)
        return npu_fail_memory(err);
    for (int i = 0; i < tasks; i++)
        r->wake[i] = r->wake_next[i] = -1;
    for (int i = 0; i < a->thread_count; i++) // a task that completed is in no other queue
        npu_queue_init(&r->finished[i], a->dummies.next);
    return NPU_OK;
}
