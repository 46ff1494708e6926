// SPDX-License-Identifier: Apache-2.0
// Completions: what a status read tells about a core's two slots, and what a finished task
// sets free.
#include <assert.h>

#include "aicpu_state.h"

static npu_core *core_of(npu_aicpu *a, int core) {
    return &a->workers.cores[core];
}

bool npu_aicpu_gated(const npu_aicpu *a, const npu_token *token) {
    return token->gated && a->tasks[token->task].early == NPU_EARLY_STAGING;
}

// The blocks of a wave have ended: those of the next may go out.
static void next_wave(npu_aicpu *a, int task) {
    npu_task_state *s = &a->tasks[task];
    const npu_task *t = &a->graph->tasks[task];
    assert(a->graph->waves && s->next_block == s->limit && s->early == NPU_EARLY_OVER);
    s->limit += npu_aicpu_room(a, npu_shape(a, task));
    if (s->limit > t->block_num)
        s->limit = t->block_num;
    npu_aicpu_push(
        a, &a->queues[t->sync_start ? NPU_TIER_SYNC : NPU_TIER_READY][npu_shape(a, task)], task);
}

// The AICPU learns now that the token's kernel ended.
static void retire(npu_aicpu *a, npu_thread *t, npu_token *token) {
    assert(token->state == NPU_TOKEN_FIN);
    npu_task_state *s = &a->tasks[token->task];
    double now = npu_now(a);
    a->trace->rows[token->row].finish = now;
    if (now > a->trace->makespan)
        a->trace->makespan = now;
    s->finished++;
    assert(s->finished <= s->published * s->width);
    if (s->finished == a->graph->tasks[token->task].block_num * s->width)
        t->resolve[t->resolve_count++] = token->task;
    else if (s->finished == s->limit * s->width)
        next_wave(a, token->task);
    *token = (npu_token){.task = -1, .row = -1};
    a->in_flight--;
    t->retired++;
    t->progress = true;
}

static void set_idle(npu_thread *t, int bit) {
    t->idle |= UINT64_C(1) << bit;
    t->open &= ~(UINT64_C(1) << bit);
}

// The decision table. A pending token that is not gated is picked up right after FIN, so FIN
// of the running one is left alone until the register names the pending one; a gated one
// waits for a doorbell that may depend on this very FIN.
bool npu_aicpu_read(npu_aicpu *a, npu_thread *t) {
    npu_core *core = core_of(a, t->cores[t->reading]);
    npu_token *running = &core->tokens[core->running];
    npu_token *pending = &core->tokens[!core->running];
    npu_core_status seen = npu_worker_status(&a->workers, t->cores[t->reading]);
    assert(running->state != NPU_TOKEN_NONE);
    bool waits = pending->state != NPU_TOKEN_NONE;
    t->resolve_count = t->resolve_at = 0;
    if (seen.slot < 0)
        return false;
    if (seen.slot != core->running) { // ACK or FIN of the pending one
        assert(waits);
        if (seen.fin)
            retire(a, t, pending);
        retire(a, t, running);
        core->running = !core->running;
        if (seen.fin)
            set_idle(t, t->reading);
        else
            t->open |= UINT64_C(1) << t->reading;
    } else if (!seen.fin) {
        if (!waits)
            t->open |= UINT64_C(1) << t->reading;
    } else if (!waits) {
        retire(a, t, running);
        set_idle(t, t->reading);
    } else if (npu_aicpu_gated(a, pending)) {
        retire(a, t, running);
        core->running = !core->running;
    }
    return t->resolve_count > 0;
}

// Rings every core that waits with a block of this task, in the order of core ids.
static int ring(npu_aicpu *a, int task) {
    int writes = 0;
    for (int c = 0; c < a->core_count; c++)
        for (int slot = 0; slot < 2; slot++) {
            const npu_token *token = &core_of(a, c)->tokens[slot];
            if (token->task == task && token->gated && token->published && !token->rung)
                npu_worker_ring(&a->workers, c, slot, ++writes * a->die->aicpu.write);
        }
    return writes;
}

int npu_aicpu_ready(npu_aicpu *a, int task) {
    npu_task_state *s = &a->tasks[task];
    const npu_task *t = &a->graph->tasks[task];
    assert(s->submitted && s->live == 0 && s->early != NPU_EARLY_OVER);
    bool staged = s->early == NPU_EARLY_STAGING;
    s->early = NPU_EARLY_OVER;
    int writes = 0;
    if (staged) {
        writes = ring(a, task);
        npu_aicpu_launched(a, task);
    }
    if (s->width == 0) // a dummy, or the predicate says no
        npu_queue_push(&a->dummies, task);
    else if (s->next_block < s->limit)
        npu_aicpu_push(
            a, &a->queues[t->sync_start ? NPU_TIER_SYNC : NPU_TIER_READY][npu_shape(a, task)],
            task);
    return writes;
}

static void walk(npu_aicpu *a, npu_thread *t);

static void release_consumer(npu_aicpu *a, npu_thread *t) {
    int succ = a->links[t->link].succ;
    npu_task_state *s = &a->tasks[succ];
    t->link = a->links[t->link].next;
    t->visited++;
    s->live--;
    assert(s->live >= 0);
    if (t->late)
        npu_aicpu_producer_launched(a, succ);
    int writes = s->live == 0 ? npu_aicpu_ready(a, succ) : 0;
    if (writes > 0)
        npu_aicpu_spend(a, t, writes * a->die->aicpu.write, walk);
    else
        walk(a, t);
}

static void walk(npu_aicpu *a, npu_thread *t) {
    if (t->link >= 0) {
        npu_aicpu_spend(a, t, a->die->aicpu.resolve_edge, release_consumer);
        return;
    }
    npu_aicpu_phase_inner(a, t, NPU_PHASE_RESOLVE, t->resolve_start, t->visited, -1);
    t->resolve_at++;
    npu_aicpu_resolve(a, t);
}

// From here on nobody ties itself to the task any more.
static void complete(npu_aicpu *a, npu_thread *t) {
    int task = t->resolve[t->resolve_at];
    npu_task_state *s = &a->tasks[task];
    assert(!s->complete && s->live == 0);
    s->complete = true;
    a->completed++;
    npu_aicpu_defer_release(a, t, task);
    npu_aicpu_submit_retry(a);
    t->late = !s->launched;
    t->link = s->fan_out;
    t->visited = 0;
    walk(a, t);
}

void npu_aicpu_resolve(npu_aicpu *a, npu_thread *t) {
    if (a->resolver != NULL)
        npu_aicpu_host_take(a, t);
    if (t->resolve_at == t->resolve_count) {
        t->resolve_at = t->resolve_count = 0;
        t->resolved(a, t);
        return;
    }
    int task = t->resolve[t->resolve_at];
    t->resolve_start = npu_now(a);
    if (a->tasks[task].width == 0)
        npu_aicpu_phase_inner(a, t, NPU_PHASE_DUMMY_TASK, t->resolve_start, 1, task);
    npu_aicpu_spend(a, t, a->die->aicpu.resolve, complete);
}
