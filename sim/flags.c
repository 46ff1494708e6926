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

// How often everyone who waits for a flag of `core` has taken it.
static uint32_t taken_by_all(const core_state *core, int flag) {
    if (core->type == NPU_AIV)
        return aic_of(core)->taken[flag];
    uint32_t a = aiv_of(core, 0)->taken[flag], b = aiv_of(core, 1)->taken[flag];
    return a < b ? a : b;
}

// The other side goes on from an event of its own, so that cores never run inside each other.
static void wake(void *owner, int64_t tag) {
    (void)tag;
    core_state *core = owner;
    core->pending_events--;
    npu_core_advance(core);
}

static void wake_soon(core_state *core) {
    if (core->row < 0)
        return;
    core->pending_events++;
    npu_engine_delay(core->all->engine, 0, wake, core, 0);
}

static void wake_peers(core_state *core) {
    if (core->type == NPU_AIV) {
        wake_soon(aic_of(core));
        return;
    }
    wake_soon(aiv_of(core, 0));
    wake_soon(aiv_of(core, 1));
}

bool npu_core_raise(core_state *core, int flag, double at) {
    assert(flag >= 0 && flag < FLAGS);
    flag_line *line = &core->flags[flag];
    if (line->raised - taken_by_all(core, flag) >= FLAG_POSTS - 1)
        return false;
    line->at[line->raised++ % FLAG_POSTS] = at;
    wake_peers(core);
    return true;
}

static bool raised_at(const core_state *by, int flag, uint32_t nth, double *at) {
    const flag_line *line = &by->flags[flag];
    if (line->raised <= nth)
        return false;
    assert(line->raised - nth < FLAG_POSTS);
    *at = fmax(*at, line->at[nth % FLAG_POSTS]);
    return true;
}

bool npu_core_take(core_state *core, int flag, double *at) {
    assert(flag >= 0 && flag < FLAGS);
    uint32_t nth = core->taken[flag];
    double when = 0;
    if (core->type == NPU_AIV) {
        if (!raised_at(aic_of(core), flag, nth, &when))
            return false;
    } else if (!raised_at(aiv_of(core, 0), flag, nth, &when) ||
               !raised_at(aiv_of(core, 1), flag, nth, &when)) {
        return false;
    }
    core->taken[flag]++;
    *at = fmax(*at, when + core->all->die->scalar.flag * core->all->cycle);
    wake_peers(core); // a raiser may be held by a full count
    return true;
}

// A block can never end when every core that could raise a flag for it has come to rest: it is
// done with the block or waits as well.
void npu_core_check_stuck(core_state *core) {
    npu_cores *all = core->all;
    const npu_trace *trace = all->trace;
    const npu_row *row = &trace->rows[core->row];
    const npu_task *task = &all->graph->tasks[row->task];
    const core_state *mates[3] = {aic_of(core), aiv_of(core, 0), aiv_of(core, 1)};
    if (task->engine == NPU_MIX) {
        for (int i = 0; i < 3; i++) {
            const core_state *mate = mates[i];
            bool here = mate->row >= 0 && trace->rows[mate->row].task == row->task &&
                        trace->rows[mate->row].block == row->block;
            bool past = false; // the mate has run its half already
            for (int r = trace->row_count - 1; r >= 0 && !here && !past; r--)
                past = trace->rows[r].core == mate->index && trace->rows[r].task == row->task &&
                       trace->rows[r].block == row->block && trace->rows[r].ops > 0;
            if ((here && mate->pending_events > 0) || (!here && !past))
                return;
        }
    }
    npu_core_fail(all, npu_fail(&all->error, NPU_BAD_INPUT, task->pos,
                                "task '%s' cannot end: kernel '%s' waits for a cross-core flag "
                                "that is never raised",
                                task->name, task->program->kernel));
}
