// SPDX-License-Identifier: Apache-2.0
// Cross-core flags between the AIC of a cluster and its two AIVs. A flag raised by the AIC is
// seen once by each AIV; one that the AIC waits for must be raised by both AIVs. Counts are
// never reset: a block leaves them as it found them when every raise is waited for.
#include <assert.h>
#include <math.h>

#include "core_state.h"

static core_state *aic_of(const core_state *core) {
    return &core->all->cores[core->cluster];
}

static core_state *aiv_of(const core_state *core, int lane) {
    return &core->all->cores[core->all->clusters + 2 * core->cluster + lane];
}

static void wake(void *owner, int64_t tag) {
    (void)tag;
    core_state *core = owner;
    core->waking = false;
    npu_core_advance(core);
}

void npu_core_wake_soon(core_state *core) {
    if (core->row < 0 || core->ending || core->waking)
        return;
    core->waking = true;
    npu_engine_delay(core->all->engine, 0, wake, core, 0);
}

static void wake_peers(core_state *core) {
    if (core->type == NPU_AIV) {
        npu_core_wake_soon(aic_of(core));
        return;
    }
    npu_core_wake_soon(aiv_of(core, 0));
    npu_core_wake_soon(aiv_of(core, 1));
}

static void add(flag_line *line, double at) {
    line->at[line->count++ % FLAG_POSTS] = at;
}

// Makes *at not earlier than the n-th time of a line; false while there is none.
static bool not_before(const flag_line *line, uint32_t nth, double *at) {
    if (line->count <= nth)
        return false;
    assert(line->count - nth <= FLAG_POSTS);
    *at = fmax(*at, line->at[nth % FLAG_POSTS]);
    return true;
}

// The same for all on the other side of a core's flags: what they raised, or what they took.
static bool peers_not_before(const core_state *core, bool raised, int flag, uint32_t nth,
                             double *at) {
    const core_state *peers[2] = {aic_of(core), NULL};
    if (core->type == NPU_AIC) {
        peers[0] = aiv_of(core, 0);
        peers[1] = aiv_of(core, 1);
    }
    for (int i = 0; i < 2 && peers[i] != NULL; i++)
        if (!not_before(raised ? &peers[i]->raised[flag] : &peers[i]->taken[flag], nth, at))
            return false;
    return true;
}

static bool held(core_state *core, npu_op_kind kind, int flag) {
    core->held = kind;
    core->held_flag = flag;
    return false;
}

bool npu_core_raise(core_state *core, int flag, double *at) {
    assert(flag >= 0 && flag < NPU_FLAGS);
    flag_line *line = &core->raised[flag];
    double when = *at;
    if (line->count >= FLAG_MOST && // room for one more came when this one was taken:
        !peers_not_before(core, false, flag, line->count - FLAG_MOST, &when))
        return held(core, NPU_OP_SIGNAL, flag);
    *at = when;
    add(line, when);
    wake_peers(core);
    return true;
}

bool npu_core_take(core_state *core, int flag, double *at) {
    assert(flag >= 0 && flag < NPU_FLAGS);
    flag_line *line = &core->taken[flag];
    double when = 0;
    if (!peers_not_before(core, true, flag, line->count, &when))
        return held(core, NPU_OP_WAIT, flag);
    *at = fmax(*at, when + core->all->die->scalar.flag * core->all->cycle);
    add(line, *at);
    wake_peers(core); // a raiser may be held by a full count
    return true;
}

// ---- blocks that can never end -------------------------------------------------------------

static const npu_task *task_of(const core_state *core) {
    return &core->all->graph->tasks[core->all->trace->rows[core->row].task];
}

// Whether a mate may still raise or take a flag in the MIX block that `core` is in.
static bool may_act(const core_state *mate, const core_state *core) {
    if (mate->mixes != core->mixes)
        return mate->mixes < core->mixes;
    if (mate->row < 0 || task_of(mate)->engine != NPU_MIX)
        return true; // it will come to it
    return mate->pending_events > 0 || mate->waking || mate->awaiting;
}

// A block can never end when every core that could raise a flag for it has come to rest: it is
// done with the block or waits as well.
void npu_core_check_stuck(core_state *core) {
    npu_cores *all = core->all;
    const npu_task *task = task_of(core);
    if (core->pending_events > 0 || core->waking || core->awaiting)
        return;
    const core_state *mates[3] = {aic_of(core), aiv_of(core, 0), aiv_of(core, 1)};
    for (int i = 0; i < 3 && task->engine == NPU_MIX; i++)
        if (may_act(mates[i], core))
            return;
    bool waits = core->held == NPU_OP_WAIT;
    npu_core_fail(all, npu_fail(&all->error, NPU_BAD_INPUT, task->pos,
                                "task '%s' cannot end: kernel '%s' %s cross-core flag %d, which is "
                                "never %s",
                                task->name, task->program->kernel,
                                waits ? "waits for" : "is held by the full count of",
                                core->held_flag, waits ? "raised" : "taken"));
}

void npu_core_check_mates(core_state *core) {
    core_state *mates[3] = {aic_of(core), aiv_of(core, 0), aiv_of(core, 1)};
    for (int i = 0; i < 3 && core->all->status == NPU_OK; i++)
        if (mates[i]->row >= 0)
            npu_core_check_stuck(mates[i]);
}
