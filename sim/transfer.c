// SPDX-License-Identifier: Apache-2.0
// Loads and stores. A pipe asks for its transfers in order, each as soon as its slot is ready,
// and moves their bytes one after the other: the latency of one is hidden behind the bytes of
// those before it exactly as far as slot copies allow it to be asked for early.
#include <assert.h>
#include <math.h>

#include "core_state.h"
#include "images.h"

static bool is_transfer(const queued *q) {
    return q->kind == NPU_OP_LOAD || q->kind == NPU_OP_STORE;
}

static bool is_remote(const core_state *core, const queued *q) {
    return npu_rank_of(q->gm.address) != core->all->rank;
}

// ns to the die that owns what is moved, one way.
static double way(const core_state *core, const queued *q) {
    return is_remote(core, q)
               ? npu_dies_latency(core->all->dies, core->all->rank, npu_rank_of(q->gm.address))
               : 0;
}

static npu_memory *memory_of(const core_state *core, const queued *q) {
    return core->all->dies->memories[npu_rank_of(q->gm.address)];
}

// The path of each part of a load, and of a store.
static int path_of(const core_state *core, const queued *q, int part) {
    enum { WRITE = PARTS };
    static const npu_memory_path own[2][PARTS + 1] = {
        {NPU_PATH_AIC_MISS, NPU_PATH_AIC_HIT, NPU_PATH_AIC_CROWD, NPU_PATH_AIC_QUEUE,
         NPU_PATH_AIC_WRITE},
        {NPU_PATH_AIV_MISS, NPU_PATH_AIV_HIT, NPU_PATH_AIV_CROWD, NPU_PATH_AIV_QUEUE,
         NPU_PATH_AIV_WRITE},
    };
    // What crosses the fabric has no crowds of its own: there the miss is the narrower path.
    static const npu_remote_path remote[2][PARTS + 1] = {
        {NPU_REMOTE_AIC_MISS, NPU_REMOTE_AIC_HIT, NPU_REMOTE_AIC_MISS, NPU_REMOTE_AIC_HIT,
         NPU_REMOTE_AIC_WRITE},
        {NPU_REMOTE_AIV_MISS, NPU_REMOTE_AIV_HIT, NPU_REMOTE_AIV_MISS, NPU_REMOTE_AIV_HIT,
         NPU_REMOTE_AIV_WRITE},
    };
    const npu_cores *all = core->all;
    int kind = q->kind == NPU_OP_STORE ? WRITE : part;
    bool aiv = core->type == NPU_AIV;
    if (!is_remote(core, q))
        return npu_memory_engine_path(all->dies->memories[all->rank], own[aiv][kind]);
    return npu_dies_path(all->dies, all->rank, npu_rank_of(q->gm.address), remote[aiv][kind]);
}

// ---- asking ------------------------------------------------------------------------------------

static void ask_later(void *owner, int64_t tag) {
    core_state *core = owner;
    core->pipes[tag].waiting = false;
    core->pending_events--;
    npu_core_advance(core);
}

// Looks up the lines of a load; returns its latency. Lines in flight are a window: however fast
// the port is, no more than `outstanding` lines arrive within a latency (Little's law).
static double ask_load(core_state *core, npu_pipe which, queued *q, double now) {
    const npu_cores *all = core->all;
    const npu_die *die = all->die;
    const npu_core_port *port = core->type == NPU_AIC ? &die->aic : &die->aiv;
    pipe_state *p = &core->pipes[which];
    npu_memory *memory = memory_of(core, q);
    npu_touch t = npu_memory_load(memory, &q->gm, npu_core_class(core, q->gm.arg),
                                  npu_memory_reader(memory, all->rank, core->index), q->bypass);
    double there = 2 * way(core, q); // and back
    double miss = die->l2.miss_latency + there, hit = die->l2.hit_latency + there;
    q->bytes[0] = t.miss;
    q->bytes[1] = t.hit + t.late;
    q->bytes[2] = t.crowd;
    q->bytes[3] = t.queued;
    double window = port->outstanding * die->l2.line;
    p->window = fmax(p->window, now) +
                ((t.miss + t.crowd + t.late_lines) * miss + (t.hit + t.queued) * hit) / window;
    return t.miss + t.crowd + t.late_lines > 0 ? miss : hit;
}

// What is sent to another die is in flight until that has answered; here a store is posted.
static void ask_remote_store(core_state *core, npu_pipe which, const queued *q, double now) {
    const npu_die *die = core->all->die;
    const npu_core_port *port = core->type == NPU_AIC ? &die->aic : &die->aiv;
    pipe_state *p = &core->pipes[which];
    double answer = die->l2.write_latency + 2 * way(core, q);
    p->window = fmax(p->window, now) + q->bytes[0] * answer / (port->outstanding * die->l2.line);
}

// The transfer is asked for now: its lines are looked up, and the pipe is taken for as long as
// issuing it takes (an instruction, and each of its rows).
static void ask(core_state *core, npu_pipe which, queued *q, double now) {
    const npu_cores *all = core->all;
    const npu_die *die = all->die;
    double rows = (double)q->gm.rows[0] * q->gm.rows[1];
    double issue = (die->mte.issue + rows * die->mte.per_row) * all->cycle;
    double first = die->mte.issue * all->cycle, latency = 0;
    if (q->kind == NPU_OP_LOAD) {
        latency = ask_load(core, which, q, now);
    } else {
        q->bytes[0] = npu_memory_store(memory_of(core, q), &q->gm, q->atomic);
        q->bytes[1] = q->bytes[2] = q->bytes[3] = 0;
        if (is_remote(core, q))
            ask_remote_store(core, which, q, now);
        if (which == NPU_PIPE_FIXPIPE) { // the drain of L0C is the instruction
            issue = q->busy;
            first = die->fixpipe.fixed * all->cycle;
        }
    }
    q->began = now;
    q->first_at = now + first + latency;
    q->last_at = now + issue + latency;
    q->last_at = fmax(q->last_at, core->pipes[which].window);
    core->pipes[which].free = now + issue;
}

// Does the next op's part that needs the slots; true when it was done.
static bool ask_next(core_state *core, npu_pipe which) {
    pipe_state *p = &core->pipes[which];
    if (p->started == p->issued || p->waiting)
        return false;
    queued *q = queue_at(p, p->started + 1);
    if (!npu_core_ready(core, q))
        return false;
    double now = npu_engine_now(core->all->engine), at = fmax(q->ready, p->free);
    // The window is full until its first lines are back.
    if (q->kind == NPU_OP_LOAD || (q->kind == NPU_OP_STORE && is_remote(core, q)))
        at = fmax(at, p->window - core->all->die->l2.miss_latency - 2 * way(core, q));
    if (q->kind == NPU_OP_WAIT && !npu_core_take(core, q->flag, &at))
        return false;
    if (is_transfer(q) && at > now + NPU_ENGINE_TIE) {
        p->waiting = true;
        core->pending_events++;
        npu_engine_delay(core->all->engine, at - now, ask_later, core, which);
        return true;
    }
    if (is_transfer(q)) {
        ask(core, which, q, now);
        if (core->all->images != NULL)
            npu_images_ask(core->all->images, core, which, p->started + 1, q);
    } else {
        p->free = q->last_at = at; // flags take no time of their own
    }
    p->starts[++p->started % QUEUE] = is_transfer(q) ? now : at;
    return true;
}

// ---- moving ------------------------------------------------------------------------------------

static void moved(void *owner, int64_t tag);

static void move(core_state *core, npu_pipe which, queued *q) {
    int part = 0;
    while (part < PARTS - 1 && q->bytes[part] <= 0)
        part++;
    double bytes = q->bytes[part];
    q->bytes[part] = 0;
    npu_engine_flow(core->all->engine, bytes, path_of(core, q, part), moved, core, which);
}

static void first_byte(void *owner, int64_t tag) {
    core_state *core = owner;
    pipe_state *p = &core->pipes[tag];
    move(core, (npu_pipe)tag, queue_at(p, p->resolved + 1));
}

static void finish_transfer(core_state *core, npu_pipe which, queued *q, double now) {
    pipe_state *p = &core->pipes[which];
    double end = fmax(now, q->last_at);
    p->busy += end - fmax(q->began, p->finish);
    p->flowing = false;
    // A store is done once L2 has answered: then others see it and its slot copy may be reused.
    double answer = core->all->die->l2.write_latency + 2 * way(core, q);
    double done = q->kind == NPU_OP_STORE ? end + answer : end;
    p->visible = fmax(p->visible, done);
    npu_core_resolve(core, which, end, done);
}

static void moved(void *owner, int64_t tag) {
    core_state *core = owner;
    pipe_state *p = &core->pipes[tag];
    queued *q = queue_at(p, p->resolved + 1);
    if (q->bytes[0] + q->bytes[1] + q->bytes[2] + q->bytes[3] > 0) { // the next part
        move(core, (npu_pipe)tag, q);
        return;
    }
    core->pending_events--;
    finish_transfer(core, (npu_pipe)tag, q, npu_engine_now(core->all->engine));
    npu_core_advance(core);
}

// A flag tells of stores that others can see. The pipe does not stand still until they can,
// only where the count of the flag is full.
static bool pass_flag(core_state *core, npu_pipe which, const queued *q) {
    pipe_state *p = &core->pipes[which];
    double finish = fmax(q->last_at, p->finish);
    if (q->kind == NPU_OP_SIGNAL) {
        double seen = fmax(q->last_at, p->visible), at = seen;
        if (!npu_core_raise(core, q->flag, &at))
            return false;
        if (at > seen)
            finish = at;
    }
    npu_core_resolve(core, which, finish, finish);
    return true;
}

// Starts moving, or finishes, the oldest op that was asked for; true when it did.
static bool move_next(core_state *core, npu_pipe which) {
    pipe_state *p = &core->pipes[which];
    if (p->flowing || p->resolved == p->started)
        return false;
    queued *q = queue_at(p, p->resolved + 1);
    double now = npu_engine_now(core->all->engine);
    if (!is_transfer(q))
        return pass_flag(core, which, q);
    p->flowing = true;
    core->pending_events++;
    double at = fmax(q->first_at, p->finish);
    if (at > now + NPU_ENGINE_TIE)
        npu_engine_delay(core->all->engine, at - now, first_byte, core, which);
    else
        move(core, which, q);
    return true;
}

bool npu_core_transfer(core_state *core, npu_pipe which) {
    assert(which == NPU_PIPE_MTE2 || which == NPU_PIPE_MTE3 || which == NPU_PIPE_FIXPIPE);
    bool asked = ask_next(core, which);
    bool moving = move_next(core, which);
    return asked || moving;
}
