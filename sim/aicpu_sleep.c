// SPDX-License-Identifier: Apache-2.0
// Spinning without events. A thread that found nothing to do does the same rounds again and
// again: a read of each core that runs, then an idle spin. Nothing is simulated of them until
// something changes that a read or a look could show; the thread then goes on at the place of
// the round where it would be. Times and books are as if every round had been simulated.
#include <assert.h>
#include <math.h>

#include "aicpu_state.h"

// A FIN shows some time after it was written, and no event tells when: with one on the way the
// rounds are simulated.
static bool fin_on_the_way(const npu_aicpu *a, const npu_thread *t) {
    for (uint64_t left = t->all & ~t->idle; left != 0; left &= left - 1) {
        const npu_core *core = &a->workers.cores[t->cores[__builtin_ctzll(left)]];
        if (core->tokens[0].state == NPU_TOKEN_FIN || core->tokens[1].state == NPU_TOKEN_FIN)
            return true;
    }
    return false;
}

static uint64_t cores_to_read(const npu_aicpu *a, const npu_thread *t) {
    uint64_t sweep = 0;
    for (uint64_t left = t->all & ~t->idle; left != 0; left &= left - 1) {
        int bit = __builtin_ctzll(left);
        const npu_core *core = &a->workers.cores[t->cores[bit]];
        if (!npu_aicpu_gated(a, &core->tokens[core->running]))
            sweep |= UINT64_C(1) << bit;
    }
    return sweep;
}

void npu_aicpu_rest(npu_aicpu *a, npu_thread *t) {
    t->round_misses += t->pop_miss;
    assert(t->round_misses >= 0 && !t->asleep && !t->progress);
    // What changed during the round may have been missed by it.
    if (t->round_change != a->changes || t->vain || fin_on_the_way(a, t) || a->drain >= 0) {
        npu_aicpu_idle(a, t, a->die->aicpu.idle, npu_aicpu_loop);
        return;
    }
    t->idling = t->asleep = true;
    t->sleep_from = npu_now(a) + a->die->aicpu.idle;
    t->sleep_sweep = cores_to_read(a, t);
}

// How many steps of length `step` ended before `passed`. What ends at this very instant is
// still to come: it sees the change.
static double steps_before(double passed, double step) {
    return fmax(0, ceil((passed - NPU_ENGINE_TIE) / step) - 1);
}

// Goes on in the round that is `into` ns old, above 0.
static void join_round(npu_aicpu *a, npu_thread *t, double into) {
    double poll = a->die->aicpu.poll;
    int cores = npu_count_bits(t->sleep_sweep);
    int read = cores == 0 ? 0 : (int)fmin(cores, steps_before(into, poll));
    t->iteration++;
    t->busy += read * poll;
    if (read == cores) {
        t->pop_miss += t->round_misses;
        double left = cores * poll + a->die->aicpu.idle - into;
        npu_aicpu_idle(a, t, fmax(0, left), npu_aicpu_loop);
        return;
    }
    uint64_t sweep = t->sleep_sweep;
    for (int i = 0; i < read; i++)
        sweep &= sweep - 1;
    t->reading = __builtin_ctzll(sweep);
    t->sweep = t->all & ~t->idle & ~(((UINT64_C(1) << t->reading) << 1) - 1);
    t->round_misses = -t->pop_miss;
    t->round_change = a->changes - 1;
    t->progress = t->idling = t->vain = false;
    t->retired = 0;
    t->phase_start = npu_now(a) - into;
    t->busy += into - read * poll; // of the read under way; what is left of it is spent
    npu_aicpu_spend(a, t, fmax(0, (read + 1) * poll - into), npu_aicpu_read_status);
}

static void go_on(npu_aicpu *a, npu_thread *t) {
    double passed = npu_now(a) - t->sleep_from;
    t->asleep = false;
    if (passed <= NPU_ENGINE_TIE) {
        npu_aicpu_idle(a, t, fmax(0, -passed), npu_aicpu_loop);
        return;
    }
    double reading = npu_count_bits(t->sleep_sweep) * a->die->aicpu.poll;
    double round = reading + a->die->aicpu.idle;
    double rounds = steps_before(passed, round);
    t->iteration += (int64_t)rounds;
    t->pop_miss += (int64_t)rounds * t->round_misses;
    t->busy += rounds * reading;
    join_round(a, t, passed - rounds * round);
}

void npu_aicpu_wake(npu_aicpu *a) {
    a->changes++;
    for (int i = 0; i < a->thread_count; i++)
        if (a->threads[i].asleep)
            go_on(a, &a->threads[i]);
}
