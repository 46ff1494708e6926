// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core_state.h"
#include "images.h"

void npu_core_fail(npu_cores *cores, npu_status status) {
    if (cores->status == NPU_OK)
        cores->status = status;
    npu_engine_stop(cores->engine);
}

// ---- dependencies --------------------------------------------------------------------------

bool npu_core_ready(const core_state *core, queued *q) {
    bool known = true;
    for (int p = 0; p < NPU_PIPE_COUNT; p++) {
        if (q->dep[p] == 0)
            continue;
        if (q->dep[p] > core->pipes[p].resolved) {
            known = false;
            continue;
        }
        q->ready = fmax(q->ready, finish_of(&core->pipes[p], q->dep[p]));
        q->dep[p] = 0;
    }
    return known;
}

// Ops in queues take what they wait for with them before it is forgotten.
static void remember(core_state *core) {
    for (int p = NPU_PIPE_V; p < NPU_PIPE_COUNT; p++) {
        pipe_state *pipe = &core->pipes[p];
        for (uint32_t seq = pipe->resolved + 1; seq <= pipe->issued; seq++)
            npu_core_ready(core, queue_at(pipe, seq));
    }
}

void npu_core_resolve(core_state *core, npu_pipe which, double finish, double done) {
    pipe_state *p = &core->pipes[which];
    assert(p->resolved < p->issued);
    p->finish = fmax(p->finish, finish);
    p->visible = fmax(p->visible, p->finish);
    p->history[++p->resolved % HISTORY] = fmax(p->finish, done);
    if (p->resolved % (HISTORY / 2) == 0)
        remember(core);
}

// A reader waits for the copy's writer; a writer also waits for the readers of what the copy
// held before. Those of its own pipe are past it: a pipe reads and writes in order.
static void note_slots(core_state *core, const npu_op *op, npu_pipe pipe, queued *q, uint32_t seq) {
    for (int i = 0; i < NPU_OP_SLOTS; i++) {
        if (op->reads[i] < 0)
            continue;
        slot_use *use = &core->slots[op->reads[i]];
        for (int p = 0; p < NPU_PIPE_COUNT; p++)
            if (use->written[p] > q->dep[p])
                q->dep[p] = use->written[p];
        use->read[pipe] = seq;
    }
    if (op->writes < 0)
        return;
    slot_use *use = &core->slots[op->writes];
    for (int p = 0; p < NPU_PIPE_COUNT; p++) {
        uint32_t last = use->written[p] > use->read[p] ? use->written[p] : use->read[p];
        if (p != (int)pipe && last > q->dep[p])
            q->dep[p] = last;
    }
    use->written[pipe] = seq;
}

// ---- the scalar unit -------------------------------------------------------------------------

static void count_op(core_state *core, const npu_op *op) {
    npu_cores *all = core->all;
    npu_totals *totals = &all->trace->totals;
    totals->ops++;
    core->row_ops++;
    if (op->kind == NPU_OP_LOAD || op->kind == NPU_OP_STORE) {
        npu_class class_ = npu_core_class(core, op->gm.arg);
        int64_t bytes = npu_gm_bytes(&op->gm);
        if (op->kind == NPU_OP_LOAD) {
            totals->load_bytes[class_] += bytes;
            core->read_bytes += bytes;
        } else {
            totals->store_bytes[class_] += bytes;
            core->write_bytes += bytes;
        }
    } else if (op->kind == NPU_OP_MATMUL) {
        totals->mac_padded += op->m * op->n * op->k;
        totals->mac_valid += op->valid;
    } else if (op->kind == NPU_OP_VEC) {
        totals->vec_elements += op->m * op->n;
    }
}

static bool reads_one_block(const core_state *core, const npu_op *op, int source) {
    return op->kind == NPU_OP_VEC && op->reads[source] >= 0 && core->one_block[op->reads[source]];
}

// Puts an op into its pipe's queue; false while the queue is full.
static bool issue(core_state *core, npu_op *op) {
    npu_cores *all = core->all;
    pipe_state *p = &core->pipes[op->pipe];
    uint32_t depth = (uint32_t)all->die->scalar.queue_depth;
    if (p->issued - p->started >= depth || p->issued - p->resolved >= QUEUE)
        return false;
    bool moves = op->kind == NPU_OP_LOAD || op->kind == NPU_OP_STORE;
    if (moves && all->dies->ranks > 1 && !npu_core_reaches(core, op, false))
        return false;
    uint32_t seq = ++p->issued;
    if (seq > depth) // the place it takes became free when that op started
        core->s_time = fmax(core->s_time, p->starts[(seq - depth) % QUEUE]);
    double cost =
        (all->die->scalar.issue + (double)op->scalar_ops * all->die->scalar.op) * all->cycle;
    core->s_time += cost;
    core->s_busy += cost;
    queued *q = queue_at(p, seq);
    op->same_banks = op->reads[0] >= 0 && op->reads[1] >= 0 && op->reads[0] != op->reads[1] &&
                     core->bank_group[op->reads[0]] == core->bank_group[op->reads[1]];
    op->broadcast = op->n * npu_dtype_bytes(op->dtype) > all->die->vector.bank_row &&
                    (reads_one_block(core, op, 0) || reads_one_block(core, op, 1));
    *q = (queued){.kind = op->kind,
                  .ready = core->s_time,
                  .busy = npu_op_cycles(all->die, op) * all->cycle,
                  .flag = op->flag,
                  .gm = op->gm,
                  .atomic = op->atomic,
                  .bypass = op->bypass};
    if (op->kind == NPU_OP_STORE && op->pipe == NPU_PIPE_FIXPIPE)
        q->busy = npu_fixpipe_cycles(all->die, op->m, op->n) * all->cycle;
    note_slots(core, op, op->pipe, q, seq);
    npu_core_ready(core, q);
    return true;
}

// S waits for what wrote a slot copy; false while that is not known.
static bool read_back(core_state *core, int slot) {
    for (int p = 0; p < NPU_PIPE_COUNT; p++) {
        uint32_t seq = core->slots[slot].written[p];
        if (seq > core->pipes[p].resolved)
            return false;
        if (seq > 0)
            core->s_time = fmax(core->s_time, finish_of(&core->pipes[p], seq));
    }
    return true;
}

// Ops of the scalar unit itself, in order with its issuing. False while it must wait.
static bool do_scalar(core_state *core, const npu_op *op) {
    npu_cores *all = core->all;
    double cost = all->die->scalar.issue * all->cycle;
    if (op->kind == NPU_OP_WAIT) {
        if (!npu_core_take(core, op->flag, &core->s_time))
            return false;
    } else if (op->kind == NPU_OP_SIGNAL) {
        if (!npu_core_raise(core, op->flag, &core->s_time))
            return false;
    } else if (op->kind == NPU_OP_NOTIFY) {
        if (!npu_core_notify(core, op))
            return false;
    } else if (op->kind == NPU_OP_AWAIT) {
        if (!npu_core_await(core, op))
            return false;
    } else if (op->kind == NPU_OP_DRAIN) {
        if (!npu_core_drain(core))
            return false;
    } else if (op->kind == NPU_OP_PREFETCH) {
        if (!npu_core_reaches(core, op, true))
            return false;
        cost += all->die->sdma.issue;
        double at = fmax(core->s_time + cost, npu_engine_now(all->engine));
        npu_status status = npu_sdma_prefetch(all->sdma, core->index, &op->gm, at, &all->error);
        if (status)
            npu_core_fail(all, status);
    } else if (op->reads[0] >= 0 && !read_back(core, op->reads[0])) {
        return false;
    } else {
        cost += npu_op_cycles(all->die, op) * all->cycle;
        if (op->reads[0] >= 0)
            cost += all->die->scalar.read * all->cycle;
    }
    core->s_time += cost;
    core->s_busy += cost;
    return true;
}

// The code around an op is in the cache, or S waits for it. Of a scalar op's instructions nothing
// is known, they may be a loop.
static void fetch_code(core_state *core, const npu_op *op) {
    const npu_cores *all = core->all;
    if (op->kind == NPU_OP_SCALAR || op->scalar_ops == 0)
        return;
    const npu_task *task = &all->graph->tasks[all->trace->rows[core->row].task];
    core->s_time +=
        npu_icache_fetch(all->icache, core->index, task->func, core->stream.pc - 1, op->scalar_ops);
}

// Issues ops in program order until a queue is full. True when at least one was issued.
static bool fetch(core_state *core) {
    npu_cores *all = core->all;
    bool any = false;
    while (core->more && all->status == NPU_OK) {
        if (!core->fetched) {
            npu_status status = npu_stream_next(&core->stream, &core->op, &core->more, &all->error);
            if (status)
                npu_core_fail(all, status);
            if (status || !core->more)
                break;
            core->fetched = true;
            fetch_code(core, &core->op);
        }
        bool done =
            core->op.pipe == NPU_PIPE_S ? do_scalar(core, &core->op) : issue(core, &core->op);
        if (!done)
            break;
        count_op(core, &core->op);
        if (all->images != NULL)
            npu_images_issue(all->images, core, &core->op, core->pipes[core->op.pipe].issued,
                             fmax(core->s_time, npu_engine_now(all->engine)));
        core->fetched = false;
        any = true;
    }
    return any;
}

// ---- pipes of fixed cost ---------------------------------------------------------------------

// Gives the next op of V, M or MTE1 its times, if all it waits for is known.
static bool resolve_fixed(core_state *core, npu_pipe which) {
    pipe_state *p = &core->pipes[which];
    if (p->resolved == p->issued)
        return false;
    queued *q = queue_at(p, p->resolved + 1);
    if (!npu_core_ready(core, q))
        return false;
    double start = fmax(q->ready, p->free);
    if (q->kind == NPU_OP_WAIT && !npu_core_take(core, q->flag, &start))
        return false;
    if (q->kind == NPU_OP_SIGNAL) {
        start = fmax(start, p->finish); // it tells that what stands before it is done
        if (!npu_core_raise(core, q->flag, &start))
            return false;
    }
    p->starts[++p->started % QUEUE] = start;
    p->free = start + q->busy;
    p->busy += q->busy;
    npu_core_resolve(core, which, start + q->busy, start + q->busy);
    return true;
}

// ---- blocks ------------------------------------------------------------------------------------

static void end_block(void *owner, int64_t tag) {
    (void)tag;
    core_state *core = owner;
    npu_cores *all = core->all;
    npu_row *row = &all->trace->rows[core->row];
    for (int p = 0; p < NPU_PIPE_COUNT; p++)
        row->busy[p] = p == NPU_PIPE_S ? core->s_busy : core->pipes[p].busy;
    row->read_bytes = core->read_bytes;
    row->write_bytes = core->write_bytes;
    row->ops = core->row_ops;
    core->mixes += all->graph->tasks[row->task].engine == NPU_MIX;
    core->pending_events--;
    core->row = -1;
    core->ending = false;
    npu_core_check_mates(core);
    if (all->status == NPU_OK)
        all->hooks.done(all->hooks.owner, core->index);
}

// True when every op has its finish; *at is the latest.
static bool block_finished(const core_state *core, double *at) {
    if (core->more || core->fetched)
        return false;
    *at = core->s_time;
    for (int p = 0; p < NPU_PIPE_COUNT; p++) {
        const pipe_state *pipe = &core->pipes[p];
        if (pipe->resolved != pipe->issued)
            return false;
        *at = fmax(*at, fmax(pipe->finish, pipe->visible));
    }
    return true;
}

void npu_core_advance(core_state *core) {
    npu_cores *all = core->all;
    if (core->row < 0 || core->ending || all->status != NPU_OK)
        return;
    if (core->advancing)
        return; // the loop below, further up the stack, sees what changed
    core->advancing = true;
    bool changed = true;
    while (changed && all->status == NPU_OK) {
        changed = fetch(core);
        for (int p = NPU_PIPE_V; p <= NPU_PIPE_MTE1; p++)
            while (resolve_fixed(core, (npu_pipe)p))
                changed = true;
        for (int p = NPU_PIPE_MTE2; p <= NPU_PIPE_FIXPIPE; p++)
            while (npu_core_transfer(core, (npu_pipe)p))
                changed = true;
    }
    core->advancing = false;
    double at = 0;
    if (all->status != NPU_OK)
        return;
    if (block_finished(core, &at)) {
        core->ending = true;
        core->pending_events++;
        npu_engine_delay(all->engine, fmax(0, at - npu_engine_now(all->engine)), end_block, core,
                         0);
    } else {
        npu_core_check_stuck(core);
    }
}

// Slots lie in UB one after the other, in the order of the kernel.
static void place_slots(core_state *core) {
    const npu_die *die = core->all->die;
    const npu_body *body = core->stream.body;
    int64_t at = 0, align = (int64_t)die->align[NPU_UB];
    for (int i = 0; i < body->slot_count; i++) {
        const npu_slot *slot = &body->slots[i];
        if (slot->buffer != NPU_UB)
            continue;
        at += slot->pad;
        bool one_block = slot->rank == 2 && slot->shape[1] * npu_dtype_bytes(slot->dtype) ==
                                                (int64_t)die->vector.bank_row;
        for (int copy = 0; copy < slot->copies; copy++) {
            at = (at + align - 1) / align * align;
            core->bank_group[slot->first + copy] =
                (int16_t)(at / (int64_t)die->vector.bank_row % (int64_t)die->vector.bank_groups);
            core->one_block[slot->first + copy] = one_block;
            at += slot->bytes;
        }
    }
}

void npu_cores_start(npu_cores *cores, int row) {
    const npu_row *r = &cores->trace->rows[row];
    core_state *core = &cores->cores[r->core];
    const npu_task *task = &cores->graph->tasks[r->task];
    assert(core->row < 0 && core->pending_events == 0 && task->program != NULL);
    double now = npu_engine_now(cores->engine);
    npu_stream_open(&core->stream, task->program, core->type, r->block, core->lane);
    core->row = row;
    core->more = true;
    core->fetched = false;
    core->s_time = now;
    core->s_busy = 0;
    core->row_ops = 0;
    core->read_bytes = core->write_bytes = 0;
    for (int p = 0; p < NPU_PIPE_COUNT; p++) {
        pipe_state *pipe = &core->pipes[p];
        pipe->issued = pipe->started = pipe->resolved = 0;
        pipe->free = pipe->finish = pipe->visible = pipe->window = now;
        pipe->busy = 0;
        pipe->waiting = pipe->flowing = false;
    }
    int instances = core->stream.body->instance_count;
    assert(instances <= INSTANCES);
    place_slots(core);
    if (cores->images != NULL)
        npu_images_start(cores->images, core);
    memset(core->slots, 0, (size_t)instances * sizeof *core->slots);
    npu_core_advance(core);
}

// ---- life
// ----------------------------------------------------------------------------------------

npu_status npu_cores_new(const npu_die *die, const npu_graph *graph, npu_engine *engine,
                         npu_dies *dies, npu_sdma *sdma, npu_trace *trace,
                         const npu_cores_hooks *hooks, npu_cores **out, npu_error *err) {
    npu_cores *cores = calloc(1, sizeof *cores);
    core_state *states = calloc((size_t)trace->core_count, sizeof *states);
    if (cores == NULL || states == NULL) {
        free(cores);
        free(states);
        return npu_fail_memory(err);
    }
    assert(die->scalar.queue_depth <= QUEUE);
    *cores = (npu_cores){.die = die,
                         .graph = graph,
                         .engine = engine,
                         .dies = dies,
                         .rank = graph->rank,
                         .sdma = sdma,
                         .trace = trace,
                         .hooks = *hooks,
                         .cycle = 1.0 / die->clock,
                         .cores = states,
                         .core_count = trace->core_count,
                         .clusters = (int)die->clusters};
    for (int i = 0; i < trace->core_count; i++) {
        bool aiv = trace->cores[i].type == NPU_AIV;
        int of_kind = aiv ? i - cores->clusters : i;
        states[i].all = cores;
        states[i].index = i;
        states[i].type = trace->cores[i].type;
        states[i].cluster = aiv ? of_kind / 2 : of_kind;
        states[i].lane = aiv ? of_kind % 2 : 0;
        states[i].row = -1;
    }
    npu_status status = npu_images_new(cores, &cores->images, err);
    if (!status)
        status = npu_icache_new(die, graph, trace->core_count, &cores->icache, err);
    if (status) {
        npu_cores_free(cores);
        return status;
    }
    *out = cores;
    return NPU_OK;
}

npu_status npu_cores_result(const npu_cores *cores, npu_error *err) {
    if (cores->status != NPU_OK && err != NULL && err->text[0] == '\0')
        *err = cores->error;
    return cores->status;
}

void npu_cores_free(npu_cores *cores) {
    if (cores == NULL)
        return;
    npu_images_free(cores->images);
    npu_icache_free(cores->icache);
    free(cores->cores);
    free(cores);
}
