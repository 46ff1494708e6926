// SPDX-License-Identifier: Apache-2.0
// What must hold of the books at any time, and how a graph that cannot finish is told.
#include <assert.h>

#include "aicpu_state.h"

static int64_t check_core(const npu_aicpu *a, int id) {
    const npu_core *core = &a->workers.cores[id];
    const npu_thread *t = &a->threads[core->thread];
    const npu_token *running = &core->tokens[core->running];
    const npu_token *pending = &core->tokens[!core->running];
    uint64_t mask = UINT64_C(1) << core->bit;
    assert(t->cores[core->bit] == id && (t->all & mask) != 0);
    assert(((t->idle & mask) != 0) == (running->state == NPU_TOKEN_NONE));
    assert(running->state != NPU_TOKEN_NONE || pending->state == NPU_TOKEN_NONE);
    if ((t->open & mask) != 0)
        assert(running->state >= NPU_TOKEN_RUNNING && pending->state == NPU_TOKEN_NONE);
    int64_t held = 0;
    for (int slot = 0; slot < 2; slot++) {
        const npu_token *token = &core->tokens[slot];
        if (token->state == NPU_TOKEN_NONE)
            continue;
        held++;
        assert(token->task >= 0 && token->number <= core->tokens_sent);
        assert((token->state > NPU_TOKEN_CLAIMED) == (token->row >= 0));
        assert(token->row < 0 || a->trace->rows[token->row].core == id);
        assert(core->working == slot || token->state < NPU_TOKEN_SETUP ||
               token->state == NPU_TOKEN_FIN);
    }
    return held;
}

static void check_task(const npu_aicpu *a, int task) {
    const npu_task_state *s = &a->tasks[task];
    int64_t blocks = a->graph->tasks[task].block_num;
    assert(0 <= s->finished && s->finished <= s->published * s->width);
    assert(0 <= s->published && s->published <= s->next_block);
    assert(s->next_block <= blocks || s->width == 0);
    assert(0 <= s->live && s->live <= s->link_count);
    assert(0 <= s->unlaunched && s->unlaunched <= s->link_count);
    if (s->next_block > 0)
        assert(s->submitted && (s->live == 0 || s->early == NPU_EARLY_STAGING));
    assert(s->next_block <= s->limit || s->width == 0);
    assert(!s->freed || (s->let_go && s->complete && s->holders == 0));
    if (s->complete)
        assert(s->finished == blocks * s->width && s->live == 0);
    if (s->launched)
        assert(s->published == blocks && s->early == NPU_EARLY_OVER);
}

static void check_queues(const npu_aicpu *a) {
    for (int tier = 0; tier < NPU_TIERS; tier++)
        for (int shape = 0; shape < NPU_SHAPES; shape++) {
            const npu_queue *queue = &a->queues[tier][shape];
            npu_queue_check_invariants(queue);
            int task = queue->count > 0 ? queue->head : NPU_QUEUE_END;
            for (; task != NPU_QUEUE_END; task = queue->next[task]) {
                const npu_task *t = &a->graph->tasks[task];
                const npu_task_state *s = &a->tasks[task];
                assert(npu_shape(a, task) == shape && s->submitted);
                assert(t->sync_start == (tier == NPU_TIER_SYNC));
                if (tier == NPU_TIER_EARLY)
                    assert(s->may_early);
                else
                    assert(s->early == NPU_EARLY_OVER && s->next_block < s->limit);
            }
        }
    npu_queue_check_invariants(&a->dummies);
}

void npu_aicpu_check_invariants(const npu_aicpu *a) {
    int64_t held = 0;
    for (int core = 0; core < a->core_count; core++)
        held += check_core(a, core);
    assert(held == a->in_flight);
    for (int task = 0; task < a->graph->task_count; task++)
        check_task(a, task);
    check_queues(a);
    assert(a->completed <= a->submitted || a->status != NPU_OK);
    assert(a->drain < 0 || a->graph->tasks[a->drain].sync_start);
    assert(a->drain_waiting <= a->thread_count && a->drain_staging <= a->thread_count);
}

// Only threads move things along, and those that neither spin nor wait are still at it.
bool npu_aicpu_stuck(const npu_aicpu *a, const npu_thread *self) {
    if (a->submitted < a->graph->task_count || a->in_flight > 0 || a->dummies.count > 0)
        return false;
    if (a->completed == a->graph->task_count || a->drain >= 0)
        return false;
    if (a->resolver != NULL && !npu_aicpu_host_idle(a))
        return false;
    for (int i = 0; i < a->thread_count; i++)
        if (&a->threads[i] != self && !a->threads[i].idling)
            return false;
    for (int shape = 0; shape < NPU_SHAPES; shape++)
        if (a->queues[NPU_TIER_SYNC][shape].count > 0 || a->queues[NPU_TIER_READY][shape].count > 0)
            return false;
    return true;
}

npu_status npu_aicpu_stuck_error(const npu_aicpu *a, npu_error *err) {
    int task = 0;
    while (task < a->graph->task_count && a->tasks[task].complete)
        task++;
    assert(task < a->graph->task_count);
    const npu_task *t = &a->graph->tasks[task];
    const npu_task_state *s = &a->tasks[task];
    for (int i = 0; s->submitted && i < s->link_count; i++) {
        int pred = a->links[s->first_link + i].pred;
        if (!a->tasks[pred].complete)
            return npu_fail(err, NPU_BAD_INPUT, t->pos,
                            "task '%s' cannot start: it waits for '%s', which never completes",
                            t->name, a->graph->tasks[pred].name);
    }
    return npu_fail(err, NPU_BAD_INPUT, t->pos,
                    "the run ended before task '%s' completed: %lld of its %lld blocks were sent",
                    t->name, (long long)s->published, (long long)t->block_num);
}
