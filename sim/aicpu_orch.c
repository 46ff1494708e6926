// SPDX-License-Identifier: Apache-2.0
// The orchestrator: one thread that submits the tasks in order and ties each to the producers
// that it has to wait for.
#include <assert.h>

#include "aicpu_state.h"

// Several edges may join two tasks; waiting happens once. Edges are sorted, so they stand
// next to each other.
npu_status npu_aicpu_link_tasks(npu_aicpu *a, npu_error *err) {
    const npu_graph *graph = a->graph;
    a->links = npu_arena_alloc(&a->arena, (size_t)graph->edge_count + 1, sizeof *a->links);
    if (a->links == NULL)
        return npu_fail_memory(err);
    for (int i = 0; i < graph->task_count; i++) {
        const npu_task *task = &graph->tasks[i];
        npu_task_state *s = &a->tasks[i];
        s->width = npu_task_cores(task);
        s->fan_out = s->ring_next = -1;
        s->limit = task->block_num;
        if (graph->waves && s->width > 0 && s->limit > npu_aicpu_room(a, task->engine))
            s->limit = npu_aicpu_room(a, task->engine);
        s->first_link = a->link_count;
        for (int e = task->first_edge; e < task->first_edge + task->edge_count; e++) {
            int pred = graph->edges[e].pred;
            assert(graph->edges[e].succ == i && pred >= 0 && pred < graph->task_count);
            int last = s->link_count > 0 ? a->links[a->link_count - 1].pred : -1;
            assert(pred >= last && "edges are sorted");
            bool retains = graph->edges[e].source != NPU_EDGE_TENSORMAP;
            if (pred != last) {
                a->links[a->link_count++] = (npu_task_link){pred, i, -1, false, false};
                s->link_count++;
            }
            npu_task_link *link = &a->links[a->link_count - 1];
            link->retains = link->retains || retains;
        }
    }
    return NPU_OK;
}

static void make_candidate(npu_aicpu *a, int task) {
    npu_task_state *s = &a->tasks[task];
    assert(s->early == NPU_EARLY_NONE && s->live > 0 && s->next_block == 0);
    s->early = NPU_EARLY_STAGING;
    npu_queue_push(&a->queues[NPU_TIER_EARLY][npu_shape(a, task)], task);
}

void npu_aicpu_producer_launched(npu_aicpu *a, int task) {
    npu_task_state *s = &a->tasks[task];
    s->unlaunched--;
    assert(s->unlaunched >= 0);
    if (s->may_early && s->unlaunched == 0 && s->live > 0)
        make_candidate(a, task);
}

// Gated blocks do not count: a consumer that took cores before they are released could keep
// its own producers off the die.
void npu_aicpu_launched(npu_aicpu *a, int task) {
    npu_task_state *s = &a->tasks[task];
    if (s->launched || !a->graph->tasks[task].early || s->width == 0 ||
        s->early == NPU_EARLY_STAGING || s->published < a->graph->tasks[task].block_num)
        return;
    s->launched = true;
    for (int link = s->fan_out; link >= 0; link = a->links[link].next)
        npu_aicpu_producer_launched(a, a->links[link].succ);
}

// Takes effect at one instant: the runtime's guard against producers that complete while
// the task is being tied to them has nothing to do here.
static void tie(npu_aicpu *a, int task) {
    npu_task_state *s = &a->tasks[task];
    bool flagged = true;
    for (int i = 0; i < s->link_count; i++) {
        npu_task_link *link = &a->links[s->first_link + i];
        npu_task_state *pred = &a->tasks[link->pred];
        flagged = flagged && a->graph->tasks[link->pred].early;
        if (link->retains && !pred->freed) {
            link->holds = true;
            pred->holders++;
        }
        if (pred->complete)
            continue;
        link->next = pred->fan_out; // in front: the last to be submitted is released first
        pred->fan_out = s->first_link + i;
        s->live++;
        s->unlaunched += pred->launched ? 0 : 1;
    }
    const npu_task *t = &a->graph->tasks[task];
    s->may_early = flagged && s->width > 0 && !t->sync_start && !t->predicated;
    s->submitted = true;
    s->entries = s->live;
    npu_aicpu_ring_deps(a, task);
    if (s->live == 0)
        npu_aicpu_ready(a, task);
    else if (s->may_early && s->unlaunched == 0)
        make_candidate(a, task);
}

static void submit_event(void *owner, int64_t task) {
    npu_aicpu *a = owner;
    npu_status status = NPU_GROW(a->trace, submits, submit_count, submit_capacity, &a->error);
    if (status != NPU_OK) {
        npu_aicpu_fail(a, status);
        return;
    }
    a->trace->submits[a->trace->submit_count++] =
        (npu_submit){(int)task, a->submit_start, npu_now(a)};
    tie(a, (int)task);
    a->submitted++;
    npu_aicpu_close_scopes(a, (int)task);
    a->submit_start = npu_now(a);
    npu_aicpu_submit_next(a);
    npu_aicpu_wake(a);
}

static void read_back_event(void *owner, int64_t tag) {
    (void)tag;
    npu_aicpu *a = owner;
    a->read_back++;
    a->submit_start = npu_now(a);
    npu_aicpu_submit_next(a);
}

// The value that the orchestrator needs before it can go on, if any.
static bool read_back(npu_aicpu *a) {
    const npu_graph *graph = a->graph;
    if (a->read_back == graph->read_back_count ||
        graph->read_backs[a->read_back].before > a->submitted)
        return false;
    if (!a->tasks[graph->read_backs[a->read_back].task].complete) {
        a->submit_waits = true;
        return true;
    }
    a->submit_busy += a->die->aicpu.read_back;
    npu_engine_delay(a->engine, a->die->aicpu.read_back, read_back_event, a, 0);
    return true;
}

void npu_aicpu_submit_next(npu_aicpu *a) {
    assert(!a->submit_waits);
    if (read_back(a) || a->submitted == a->graph->task_count)
        return;
    if (!npu_aicpu_ring_room(a, a->submitted)) {
        a->submit_waits = true;
        return;
    }
    npu_aicpu_ring_take(a, a->submitted);
    int args = a->graph->tasks[a->submitted].arg_count;
    double cost = a->die->aicpu.submit + a->die->aicpu.submit_arg * args;
    if (a->recorded)
        cost *= 1 + a->die->recorder.submit;
    a->submit_busy += cost;
    npu_engine_delay(a->engine, cost, submit_event, a, a->submitted);
}

void npu_aicpu_submit_retry(npu_aicpu *a) {
    if (!a->submit_waits)
        return;
    a->submit_waits = false;
    npu_aicpu_submit_next(a);
}
