// SPDX-License-Identifier: Apache-2.0
// Placing blocks: the staging order over shapes and slots, claims of block ranges, and the
// publishing of a batch of tokens. Early dispatch and drains use the same machinery.
#include <assert.h>

#include "aicpu_state.h"

// The staging order of one tier. Single cores come in an order that differs between
// neighbouring threads, so that they do not all reach for the same queue first.
enum { MIX_IDLE, FIRST_IDLE, SECOND_IDLE, MIX_PENDING, FIRST_PENDING, SECOND_PENDING, STAGES };

static int stage_shape(const npu_thread *t) {
    if (t->stage == MIX_IDLE || t->stage == MIX_PENDING)
        return NPU_MIX;
    bool first = t->stage == FIRST_IDLE || t->stage == FIRST_PENDING;
    return first == (t->id % 2 == 0) ? NPU_AIC : NPU_AIV;
}

static bool stage_pending(const npu_thread *t) {
    return t->stage >= MIX_PENDING;
}

static uint64_t whole_clusters(uint64_t cores) {
    return cores & cores >> 1 & cores >> 2 & NPU_AIC_BITS;
}

// A MIX block that does not find an idle cluster may also take one in which every core has a
// free slot, running or pending.
uint64_t npu_aicpu_units(const npu_thread *t, int shape, bool pending) {
    uint64_t slots = pending ? t->open : t->idle;
    if (shape == NPU_AIC)
        return slots & NPU_AIC_BITS;
    if (shape == NPU_AIV)
        return slots & ~NPU_AIC_BITS;
    uint64_t idle = whole_clusters(t->idle);
    return pending ? whole_clusters(t->idle | t->open) & ~idle : idle;
}

static uint64_t stage_units(const npu_thread *t) {
    return npu_aicpu_units(t, stage_shape(t), stage_pending(t));
}

static npu_queue *stage_queue(npu_aicpu *a, const npu_thread *t) {
    return &a->queues[t->tier][stage_shape(t)];
}

// A hint read from the books of the others, which may be about to change.
static bool others_idle(const npu_aicpu *a, const npu_thread *t, int shape) {
    for (int i = 0; i < a->thread_count; i++)
        if (i != t->id && npu_aicpu_units(&a->threads[i], shape, false) != 0)
            return true;
    return false;
}

static bool stage_allowed(const npu_aicpu *a, const npu_thread *t) {
    if (stage_shape(t) != NPU_MIX && t->singles_wait)
        return false;
    if (!stage_pending(t))
        return true;
    if (a->calendar != NULL && t->tier == NPU_TIER_READY)
        return true; // it has decided
    // Blocks that start together never queue behind others.
    return t->tier != NPU_TIER_SYNC && !others_idle(a, t, stage_shape(t));
}

static void next_stage(const npu_aicpu *a, npu_thread *t) {
    t->stage++;
    if (a->calendar == NULL && (t->stage == FIRST_IDLE || t->stage == FIRST_PENDING))
        t->singles_wait = t->singles_wait || a->queues[t->tier][NPU_MIX].count > 0;
}

// --- the steps ---

static void look(npu_aicpu *a, npu_thread *t);
static void place(npu_aicpu *a, npu_thread *t);
static void tier_end(npu_aicpu *a, npu_thread *t);

// Looks at empty queues cost nothing of their own: they are what the idle spin consists of.
static bool look_at_queue(npu_aicpu *a, npu_thread *t) {
    if (stage_units(t) == 0)
        return false;
    if (stage_queue(a, t)->count == 0) {
        t->pop_miss += t->tier == NPU_TIER_READY;
        return false;
    }
    npu_aicpu_spend(a, t, a->die->aicpu.pop, look);
    return true;
}

// From t->stage on.
static void try_stages(npu_aicpu *a, npu_thread *t) {
    for (; t->stage < STAGES; next_stage(a, t))
        if (stage_allowed(a, t) && look_at_queue(a, t))
            return;
    tier_end(a, t);
}

static void begin_tier(npu_aicpu *a, npu_thread *t, npu_tier tier) {
    t->tier = tier;
    t->stage = MIX_IDLE;
    t->singles_wait = false;
    try_stages(a, t);
}

// The next task of the queue, or -1. With a calendar it is the next that this thread has to place
// now; those before it go to the end.
static int pop_next(npu_aicpu *a, npu_thread *t, npu_queue *queue) {
    for (int left = queue->count; left > 0; left--) {
        int task = npu_queue_pop(queue);
        uint64_t units = stage_units(t);
        if (a->calendar == NULL || npu_aicpu_policy_units(a, t, task, units, false) != 0)
            return task;
        npu_queue_push(queue, task);
        t->vain = true;
    }
    return -1;
}

static void look(npu_aicpu *a, npu_thread *t) {
    int most = npu_count_bits(stage_units(t));
    npu_queue *queue = stage_queue(a, t);
    t->batch_count = t->batch_at = 0;
    t->placed = false;
    assert(most > 0 && most <= NPU_THREAD_CORES && t->claim_count == 0);
    for (int task = 0; t->batch_count < most && task >= 0;) {
        task = pop_next(a, t, queue);
        if (task >= 0)
            t->batch[t->batch_count++] = task;
    }
    if (t->tier != NPU_TIER_EARLY) {
        t->pop_hit += t->batch_count;
        t->pop_miss += t->batch_count == 0;
    }
    place(a, t);
}

// Books one core for one block: an idle core's running slot or a busy one's pending slot.
static void take_core(npu_aicpu *a, npu_thread *t, int bit, int task, int64_t block, bool first) {
    uint64_t mask = UINT64_C(1) << bit;
    npu_core *core = &a->workers.cores[t->cores[bit]];
    bool idle = (t->idle & mask) != 0;
    assert(idle || (t->open & mask) != 0);
    int slot = idle ? core->running : !core->running;
    assert(core->tokens[slot].state == NPU_TOKEN_NONE);
    t->idle &= ~mask;
    t->open &= ~mask;
    core->tokens[slot] = (npu_token){.state = NPU_TOKEN_CLAIMED,
                                     .task = task,
                                     .block = block,
                                     .row = -1,
                                     .number = ++core->tokens_sent,
                                     .gated = t->tier == NPU_TIER_EARLY && !t->draining};
    a->in_flight++;
    assert(t->claim_count < NPU_THREAD_CORES);
    t->claims[t->claim_count++] = (npu_claim){t->cores[bit], slot, first};
}

// Claims the next blocks of a task, one for each unit as far as they go, lowest core first.
static int64_t claim(npu_aicpu *a, npu_thread *t, int task, uint64_t units) {
    npu_task_state *s = &a->tasks[task];
    int64_t left = s->limit - s->next_block;
    int64_t count = npu_count_bits(units);
    if (count > left)
        count = left;
    assert(count > 0);
    for (int64_t i = 0; i < count; i++) {
        int bit = npu_aicpu_policy_unit(a, t, task, units);
        int64_t block = npu_aicpu_policy_block(a, t, task, bit, s->next_block + i);
        units &= ~(UINT64_C(1) << bit);
        for (int part = 0; part < s->width; part++)
            take_core(a, t, bit + part, task, block, part == 0);
    }
    s->next_block += count;
    return count;
}

static void push_back_rest(npu_aicpu *a, npu_thread *t) {
    while (t->batch_at < t->batch_count)
        npu_aicpu_push(a, stage_queue(a, t), t->batch[t->batch_at++]);
}

static void written(npu_aicpu *a, npu_thread *t) {
    int writes = 0; // doorbells of tasks that became ready while their blocks were on the way
    for (int i = 0; i < t->claim_count; i++) {
        npu_claim *c = &t->claims[i];
        npu_token *token = &a->workers.cores[c->core].tokens[c->slot];
        token->published = true;
        if (token->gated && a->tasks[token->task].early == NPU_EARLY_OVER)
            npu_worker_ring(&a->workers, c->core, c->slot, ++writes * a->die->aicpu.write);
    }
    for (int i = 0; i < t->claim_count; i++)
        if (t->claims[i].first) {
            npu_claim *c = &t->claims[i];
            int task = a->workers.cores[c->core].tokens[c->slot].task;
            a->tasks[task].published++;
            t->out_blocks++;
            npu_aicpu_launched(a, task);
        }
    t->out_cores += t->claim_count;
    t->claim_count = 0;
    t->progress = true;
    npu_step next = t->draining ? npu_aicpu_drained : place;
    if (writes > 0)
        npu_aicpu_spend(a, t, writes * a->die->aicpu.write, next);
    else
        next(a, t);
}

// One stamp for the whole batch; the writes follow one after the other.
static void stamp(npu_aicpu *a, npu_thread *t) {
    npu_trace *trace = a->trace;
    for (int i = 0; i < t->claim_count; i++) {
        npu_claim *c = &t->claims[i];
        npu_token *token = &a->workers.cores[c->core].tokens[c->slot];
        npu_status status = NPU_GROW(trace, rows, row_count, row_capacity, &a->error);
        if (status != NPU_OK) {
            npu_aicpu_fail(a, status);
            return;
        }
        token->row = trace->row_count++;
        trace->rows[token->row] = (npu_row){.core = c->core,
                                            .task = token->task,
                                            .block = token->block,
                                            .reg_task_id = token->number,
                                            .dispatch = npu_now(a)};
        npu_worker_send(&a->workers, c->core, c->slot, (i + 1) * a->die->aicpu.write);
    }
    npu_aicpu_spend(a, t, t->claim_count * a->die->aicpu.write, written);
}

static void publish(npu_aicpu *a, npu_thread *t) {
    npu_aicpu_spend(a, t, a->die->aicpu.barrier, stamp);
}

// A cohort that starts together and does not fit on this thread's idle cores waits for the
// die to run dry; one at a time.
static void enter_drain(npu_aicpu *a, npu_thread *t, int task) {
    if (a->drain < 0)
        a->drain = task;
    else
        npu_aicpu_push(a, stage_queue(a, t), task);
    push_back_rest(a, t);
    t->entered_drain = true;
}

static void batch_end(npu_aicpu *a, npu_thread *t) {
    if (t->entered_drain) {
        tier_end(a, t);
        return;
    }
    // A ready queue is looked at again as long as that leads somewhere.
    if (t->placed && t->tier != NPU_TIER_EARLY && look_at_queue(a, t))
        return;
    next_stage(a, t);
    try_stages(a, t);
}

// The next task of the batch. Ready tasks are published together at the end of the batch;
// cohorts and gated blocks task by task.
static void place(npu_aicpu *a, npu_thread *t) {
    while (t->batch_at < t->batch_count) {
        int task = t->batch[t->batch_at];
        const npu_task_state *s = &a->tasks[task];
        int64_t blocks = a->graph->tasks[task].block_num;
        if (t->tier == NPU_TIER_EARLY && s->early != NPU_EARLY_STAGING) {
            t->batch_at++; // its producers completed: what is left of it went to a ready queue
            continue;
        }
        uint64_t units = stage_units(t);
        if (units == 0) {
            if (t->claim_count > 0)
                break;
            push_back_rest(a, t);
            break;
        }
        t->batch_at++;
        units = npu_aicpu_policy_units(a, t, task, units, stage_pending(t));
        if (units == 0) {
            npu_aicpu_push(a, stage_queue(a, t), task);
            t->vain = true;
            continue;
        }
        if (t->tier == NPU_TIER_SYNC && npu_count_bits(units) < blocks) {
            enter_drain(a, t, task);
            break;
        }
        int64_t count = claim(a, t, task, units);
        if (s->next_block < s->limit) // at once, so that the other threads can share it
            npu_aicpu_push(a, stage_queue(a, t), task);
        t->placed = true;
        npu_aicpu_spend(a, t, (double)count * a->die->aicpu.payload,
                        t->tier == NPU_TIER_READY ? place : publish);
        return;
    }
    if (t->claim_count > 0)
        publish(a, t);
    else
        batch_end(a, t);
}

void npu_aicpu_stage_share(npu_aicpu *a, npu_thread *t, int task) {
    assert(t->claim_count == 0 && t->draining);
    uint64_t units = npu_aicpu_units(t, npu_shape(a, task), false);
    bool left = a->tasks[task].next_block < a->graph->tasks[task].block_num;
    int64_t count = units != 0 && left ? claim(a, t, task, units) : 0;
    if (count > 0)
        npu_aicpu_spend(a, t, (double)count * a->die->aicpu.payload, publish);
    else
        npu_aicpu_spend(a, t, 0, npu_aicpu_drained);
}

// --- the tiers ---

static bool ready_work(const npu_aicpu *a) {
    for (int shape = 0; shape < NPU_SHAPES; shape++)
        if (a->queues[NPU_TIER_SYNC][shape].count > 0 || a->queues[NPU_TIER_READY][shape].count > 0)
            return true;
    return false;
}

static void begin_early(npu_aicpu *a, npu_thread *t) {
    t->entered_drain = false;
    if ((t->idle | t->open) == 0 || ready_work(a)) {
        npu_aicpu_loop_end(a, t);
        return;
    }
    npu_aicpu_phase_begin(a, t);
    t->out_cores = t->out_blocks = 0;
    begin_tier(a, t, NPU_TIER_EARLY);
}

static void tier_end(npu_aicpu *a, npu_thread *t) {
    if (t->tier == NPU_TIER_SYNC && !t->entered_drain) {
        begin_tier(a, t, NPU_TIER_READY);
    } else if (t->tier != NPU_TIER_EARLY) {
        if (t->out_cores > 0)
            npu_aicpu_phase_end(a, t, NPU_PHASE_DISPATCH, t->out_cores);
        begin_early(a, t);
    } else {
        if (t->out_blocks > 0)
            npu_aicpu_phase_end(a, t, NPU_PHASE_EARLY_DISPATCH, t->out_blocks);
        npu_aicpu_loop_end(a, t);
    }
}

void npu_aicpu_dispatch(npu_aicpu *a, npu_thread *t) {
    npu_aicpu_phase_begin(a, t);
    t->out_cores = t->out_blocks = 0;
    t->entered_drain = false;
    begin_tier(a, t, NPU_TIER_SYNC);
}
