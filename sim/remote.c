// SPDX-License-Identifier: Apache-2.0
// Counters and other dies, as S sees them.
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core_state.h"

static const char *arg_name(const core_state *core, const npu_op *op) {
    const npu_graph *graph = core->all->graph;
    const npu_task *task = &graph->tasks[core->all->trace->rows[core->row].task];
    return graph->tensors[graph->args[task->first_arg + op->gm.arg].tensor].name;
}

static bool fail(core_state *core, const npu_op *op, const char *why) {
    npu_cores *all = core->all;
    const npu_task *task = &all->graph->tasks[all->trace->rows[core->row].task];
    npu_core_fail(all, npu_fail(&all->error, NPU_BAD_INPUT, task->pos,
                                "task '%s', line %d of kernel '%s': '%s' %s", task->name, op->line,
                                task->program->kernel, arg_name(core, op), why));
    return false;
}

bool npu_core_reaches(core_state *core, const npu_op *op, bool here) {
    const npu_gm *gm = &op->gm;
    int64_t last = gm->address + (gm->rows[0] - 1) * gm->stride[0] +
                   (gm->rows[1] - 1) * gm->stride[1] + gm->run - 1;
    int rank = npu_rank_of(gm->address);
    if (npu_rank_of(last) != rank)
        return fail(core, op, "lies on several dies; one op reaches one");
    if (here && rank != core->all->rank)
        return fail(core, op, "lies on another die");
    return true;
}

static npu_actor actor_of(const core_state *core) {
    return (npu_actor){core->all->graph, core->all->trace->rows[core->row].task};
}

// Whether stores before `at` are still under way.
static bool unanswered(const core_state *core, double at) {
    static const npu_pipe stores[] = {NPU_PIPE_MTE3, NPU_PIPE_FIXPIPE};
    for (int i = 0; i < 2; i++) {
        const pipe_state *p = &core->pipes[stores[i]];
        if (p->resolved != p->issued || p->visible > at + NPU_ENGINE_TIE)
            return true;
    }
    return false;
}

// Posted: S goes on, and the change is seen once L2 of the other die has it.
bool npu_core_notify(core_state *core, const npu_op *op) {
    npu_cores *all = core->all;
    double now = npu_engine_now(all->engine);
    double at = fmax(now, core->s_time + all->die->scalar.issue * all->cycle);
    double way = npu_dies_latency(all->dies, all->rank, npu_rank_of(op->gm.address)) +
                 all->die->l2.hit_latency;
    npu_notice notice = {.address = op->gm.address,
                         .value = op->value,
                         .set = op->set,
                         .overtakes = unanswered(core, at),
                         .sent = at,
                         .arrives = at + way,
                         .by = actor_of(core)};
    npu_status status = npu_counters_notify(all->dies->counters, &notice, &all->error);
    if (status)
        npu_core_fail(all, status);
    return status == NPU_OK;
}

static void reached(void *owner) {
    core_state *core = owner;
    assert(core->awaiting);
    core->awaiting = false;
    npu_core_wake_soon(core);
}

bool npu_core_await(core_state *core, const npu_op *op) {
    npu_cores *all = core->all;
    if (core->awaiting || !npu_core_reaches(core, op, true))
        return false;
    npu_waiter waiter = {op->gm.address, op->value, actor_of(core), reached, core};
    bool is_reached = false;
    double since = 0;
    npu_status status =
        npu_counters_await(all->dies->counters, &waiter, &is_reached, &since, &all->error);
    if (status)
        npu_core_fail(all, status);
    core->awaiting = status == NPU_OK && !is_reached;
    if (!is_reached)
        return false;
    // The read that shows the value is a round trip.
    core->s_time = fmax(core->s_time, since) + all->die->scalar.gm * all->cycle;
    return true;
}

bool npu_core_drain(core_state *core) {
    static const npu_pipe stores[] = {NPU_PIPE_MTE3, NPU_PIPE_FIXPIPE};
    for (int i = 0; i < 2; i++)
        if (core->pipes[stores[i]].resolved != core->pipes[stores[i]].issued)
            return false;
    for (int i = 0; i < 2; i++)
        core->s_time = fmax(core->s_time, core->pipes[stores[i]].visible);
    return true;
}

// The tensor that holds an address, and its element.
static const char *counter_text(const npu_graph *graph, int64_t address, char *buf, int size) {
    for (int i = 0; i < graph->tensor_count; i++) {
        const npu_tensor *t = &graph->tensors[i];
        int64_t at = address - t->address;
        if (t->bytes > 0 && at >= 0 && at < t->bytes)
            snprintf(buf, (size_t)size, "'%s', element %lld", t->name,
                     (long long)(at / npu_dtype_bytes(t->dtype)));
    }
    return buf;
}

npu_status npu_cores_awaited(const npu_counters *counters, npu_error *err) {
    enum { SHOWN = 3 };
    int count = 0;
    const npu_waiter *waiters = npu_counters_waiters(counters, &count);
    char text[700] = "";
    npu_pos pos = {0};
    for (int i = 0; i < count && i < SHOWN; i++) {
        const core_state *core = waiters[i].owner;
        const npu_cores *all = core->all;
        const npu_row *row = &all->trace->rows[core->row];
        const npu_task *task = &all->graph->tasks[row->task];
        char counter[128] = "a counter";
        size_t used = strlen(text);
        if (i == 0)
            pos = task->pos;
        snprintf(text + used, sizeof text - used,
                 "%stask '%s', block %lld, of rank %d holds %s %d and waits for %s, to reach %lld "
                 "(it is %lld)",
                 i > 0 ? "; " : "", task->name, (long long)row->block, all->rank,
                 npu_engine_type_names[core->type], core->index,
                 counter_text(all->graph, waiters[i].address, counter, sizeof counter),
                 (long long)waiters[i].value,
                 (long long)npu_counters_value(counters, waiters[i].address));
    }
    if (count == 0)
        return NPU_OK;
    char more[48] = "";
    if (count > SHOWN)
        snprintf(more, sizeof more, "; and %d more", count - SHOWN);
    return npu_fail(err, NPU_BAD_INPUT, pos, "the run can never end: %s%s", text, more);
}
