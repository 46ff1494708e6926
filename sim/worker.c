// SPDX-License-Identifier: Apache-2.0
#include "worker.h"

#include <assert.h>

static double now(const npu_workers *w) {
    return npu_engine_now(w->engine);
}

static npu_row *row_of(npu_workers *w, const npu_token *token) {
    assert(token->row >= 0 && token->row < w->trace->row_count);
    return &w->trace->rows[token->row];
}

// ACK is written right before the body starts, so that a status read that shows it tells that
// the gate is behind the core.
static void begin_body(npu_workers *w, npu_token *token) {
    token->state = NPU_TOKEN_RUNNING;
    row_of(w, token)->start = now(w);
    w->changed(w->owner);
    w->hooks.start(w->hooks.owner, token->row);
}

static void setup_event(void *owner, int64_t core_id) {
    npu_workers *w = owner;
    npu_core *core = &w->cores[core_id];
    assert(core->working >= 0);
    npu_token *token = &core->tokens[core->working];
    assert(token->state == NPU_TOKEN_SETUP);
    if (token->gated && !token->open)
        token->state = NPU_TOKEN_GATE;
    else
        begin_body(w, token);
}

static void pick_up(npu_workers *w, int core_id, int slot) {
    npu_core *core = &w->cores[core_id];
    assert(core->working < 0);
    npu_token *token = &core->tokens[slot];
    core->working = slot;
    token->state = NPU_TOKEN_SETUP;
    row_of(w, token)->receive = now(w);
    double dt = w->die->aicpu.setup;
    if (token->number == 1)
        dt += w->die->aicpu.cold;
    if (token->gated)
        dt += w->die->aicpu.setup_args;
    npu_engine_delay(w->engine, dt, setup_event, w, core_id);
}

// The slot in this state, or -1; of the states asked for here there is at most one.
static int slot_in(const npu_core *core, npu_token_state state) {
    for (int slot = 0; slot < 2; slot++)
        if (core->tokens[slot].state == state)
            return slot;
    return -1;
}

static void token_event(void *owner, int64_t core_id) {
    npu_workers *w = owner;
    npu_core *core = &w->cores[core_id];
    int slot = slot_in(core, NPU_TOKEN_SENT);
    assert(slot >= 0);
    core->tokens[slot].state = NPU_TOKEN_SEEN;
    if (core->working < 0)
        pick_up(w, (int)core_id, slot);
}

static void doorbell_event(void *owner, int64_t core_id) {
    npu_workers *w = owner;
    npu_core *core = &w->cores[core_id];
    // Behind a gated token nothing is queued, so the token is the only one that can be meant.
    int slot = core->tokens[0].rung && !core->tokens[0].open ? 0 : 1;
    npu_token *token = &core->tokens[slot];
    assert(token->gated && token->rung && !token->open);
    assert(token->state >= NPU_TOKEN_SEEN && token->state <= NPU_TOKEN_GATE);
    token->open = true;
    if (token->state == NPU_TOKEN_GATE)
        begin_body(w, token);
}

// The core looks for its next token.
static void free_event(void *owner, int64_t core_id) {
    npu_workers *w = owner;
    npu_core *core = &w->cores[core_id];
    core->working = -1;
    int next = slot_in(core, NPU_TOKEN_SEEN);
    if (next >= 0)
        pick_up(w, (int)core_id, next);
}

static void fin_event(void *owner, int64_t core_id) {
    npu_workers *w = owner;
    npu_core *core = &w->cores[core_id];
    npu_token *token = &core->tokens[core->working];
    assert(token->state == NPU_TOKEN_ENDED);
    token->state = NPU_TOKEN_FIN;
    token->visible = now(w) + w->die->aicpu.fin_visible;
    w->changed(w->owner);
    if (w->recorded)
        npu_engine_delay(w->engine, w->die->recorder.core, free_event, w, core_id);
    else
        free_event(w, core_id);
}

void npu_worker_send(npu_workers *w, int core, int slot, double dt) {
    npu_token *token = &w->cores[core].tokens[slot];
    assert(token->state == NPU_TOKEN_CLAIMED && token->row >= 0);
    assert(slot_in(&w->cores[core], NPU_TOKEN_SENT) < 0 && "two tokens in one register");
    token->state = NPU_TOKEN_SENT;
    npu_engine_delay(w->engine, dt + w->die->aicpu.propagation, token_event, w, core);
}

void npu_worker_ring(npu_workers *w, int core, int slot, double dt) {
    npu_token *token = &w->cores[core].tokens[slot];
    assert(token->gated && token->published && !token->rung);
    token->rung = true;
    npu_engine_delay(w->engine, dt + w->die->aicpu.propagation, doorbell_event, w, core);
}

void npu_worker_done(npu_workers *w, int core_id) {
    npu_core *core = &w->cores[core_id];
    assert(core->working >= 0 && "no kernel runs on this core");
    npu_token *token = &core->tokens[core->working];
    assert(token->state == NPU_TOKEN_RUNNING);
    token->state = NPU_TOKEN_ENDED;
    row_of(w, token)->end = now(w);
    npu_engine_delay(w->engine, w->die->aicpu.fin, fin_event, w, core_id);
}

// One register: what was written last is what it shows. ACK shows at once; FIN shows
// fin_visible after it was written, until when the register shows the ACK before it.
npu_core_status npu_worker_status(const npu_workers *w, int core_id) {
    const npu_core *core = &w->cores[core_id];
    int shown = -1;
    for (int slot = 0; slot < 2; slot++) {
        const npu_token *token = &core->tokens[slot];
        if (token->state >= NPU_TOKEN_RUNNING &&
            (shown < 0 || token->number > core->tokens[shown].number))
            shown = slot;
    }
    if (shown < 0)
        return (npu_core_status){-1, false};
    const npu_token *token = &core->tokens[shown];
    bool fin = token->state == NPU_TOKEN_FIN && token->visible <= now(w) + NPU_ENGINE_TIE;
    return (npu_core_status){shown, fin};
}
