// SPDX-License-Identifier: Apache-2.0
// One iteration of a scheduler thread: poll, drain, dummies, dispatch, early dispatch, spin.
#include <assert.h>

#include "aicpu_state.h"

static void poll_next(npu_aicpu *a, npu_thread *t);
static void after_poll(npu_aicpu *a, npu_thread *t);

// What finished is in the books: its tasks complete, or the sweep goes on.
static void booked(npu_aicpu *a, npu_thread *t) {
    if (t->resolve_count > 0)
        npu_aicpu_resolve(a, t);
    else
        poll_next(a, t);
}

void npu_aicpu_read_status(npu_aicpu *a, npu_thread *t) {
    uint64_t idle = t->idle, open = t->open;
    int64_t retired = t->retired;
    t->resolved = poll_next;
    bool completes = npu_aicpu_read(a, t);
    if (t->idle != idle || t->open != open || t->retired != retired)
        npu_aicpu_wake(a); // the books of this thread are a hint to the others
    double cost = (double)(t->retired - retired) * a->die->aicpu.retire;
    if (cost > 0)
        npu_aicpu_spend(a, t, cost, booked);
    else if (completes)
        npu_aicpu_resolve(a, t);
    else
        poll_next(a, t);
}

static void poll_next(npu_aicpu *a, npu_thread *t) {
    while (t->sweep != 0) {
        int bit = __builtin_ctzll(t->sweep);
        t->sweep &= t->sweep - 1;
        const npu_core *core = &a->workers.cores[t->cores[bit]];
        if (npu_aicpu_gated(a, &core->tokens[core->running]))
            continue; // it has nothing to tell before its doorbell
        t->reading = bit;
        npu_aicpu_spend(a, t, a->die->aicpu.poll, npu_aicpu_read_status);
        return;
    }
    if (t->retired > 0)
        npu_aicpu_phase_end(a, t, NPU_PHASE_COMPLETE, t->retired);
    after_poll(a, t);
}

// --- drain: every thread stops, then all place their share of one task ---

void npu_aicpu_drained(npu_aicpu *a, npu_thread *t) {
    assert(t->draining && a->drain_staging > 0);
    if (--a->drain_staging > 0)
        return;
    assert(a->tasks[a->drain].next_block == a->graph->tasks[a->drain].block_num);
    a->drain = -1;
    a->drain_waiting = 0;
    for (int i = 0; i < a->thread_count; i++) {
        npu_thread *other = &a->threads[i];
        other->draining = false;
        npu_aicpu_phase_end(a, other, NPU_PHASE_DRAIN, other->out_blocks);
        npu_aicpu_spend(a, other, 0, npu_aicpu_loop);
    }
}

static void drain(npu_aicpu *a, npu_thread *t) {
    npu_aicpu_phase_begin(a, t);
    t->out_cores = t->out_blocks = 0;
    if (++a->drain_waiting < a->thread_count)
        return; // the last one to come here wakes all
    int64_t room = 0;
    for (int i = 0; i < a->thread_count; i++)
        room += npu_count_bits(npu_aicpu_units(&a->threads[i], npu_shape(a, a->drain), false));
    if (room < a->graph->tasks[a->drain].block_num) {
        a->drain_waiting = 0; // poll on, so that cores become idle, and try again
        for (int i = 0; i < a->thread_count; i++)
            npu_aicpu_idle(a, &a->threads[i], a->die->aicpu.idle, npu_aicpu_loop);
        return;
    }
    a->drain_staging = a->thread_count;
    for (int i = 0; i < a->thread_count; i++) {
        a->threads[i].draining = true;
        npu_aicpu_stage_share(a, &a->threads[i], a->drain);
    }
}

// --- dummies: tasks without a kernel complete on the thread that pops them ---

static void dummies_end(npu_aicpu *a, npu_thread *t) {
    npu_aicpu_phase_end(a, t, NPU_PHASE_DUMMY, t->retired);
    t->progress = true;
    npu_aicpu_dispatch(a, t);
}

static void pop_dummies(npu_aicpu *a, npu_thread *t) {
    int most = (int)a->die->aicpu.pop_batch;
    t->resolve_count = t->resolve_at = 0;
    while (t->resolve_count < most && a->dummies.count > 0)
        t->resolve[t->resolve_count++] = npu_queue_pop(&a->dummies);
    if (t->resolve_count == 0) { // another thread was faster
        npu_aicpu_dispatch(a, t);
        return;
    }
    t->retired = t->resolve_count;
    t->resolved = dummies_end;
    npu_aicpu_resolve(a, t);
}

// --- the loop ---

static void after_poll(npu_aicpu *a, npu_thread *t) {
    if (a->drain >= 0) {
        drain(a, t);
    } else if (a->dummies.count > 0 && a->resolver == NULL) {
        npu_aicpu_phase_begin(a, t);
        npu_aicpu_spend(a, t, a->die->aicpu.pop, pop_dummies);
    } else {
        npu_aicpu_dispatch(a, t);
    }
}

void npu_aicpu_loop(npu_aicpu *a, npu_thread *t) {
    if (a->completed == a->graph->task_count) {
        npu_aicpu_stopped(a, t);
        return;
    }
    t->iteration++;
    t->round_change = a->changes;
    t->round_misses = -t->pop_miss; // the end of the round adds what it is then
    t->progress = t->vain = false;
    t->retired = 0;
    t->sweep = t->all & ~t->idle;
    npu_aicpu_phase_begin(a, t);
    poll_next(a, t);
}

void npu_aicpu_loop_end(npu_aicpu *a, npu_thread *t) {
    if (!t->progress)
        npu_aicpu_release(a, t);
    if (t->progress)
        npu_aicpu_loop(a, t);
    else if (npu_aicpu_stuck(a, t))
        npu_aicpu_fail(a, npu_aicpu_stuck_error(a, &a->error));
    else
        npu_aicpu_rest(a, t);
}
