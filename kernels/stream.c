// SPDX-License-Identifier: Apache-2.0
// The interpreter: yields a block's ops one by one.
#include <assert.h>
#include <string.h>

#include "kernel.h"

void npu_stream_open(npu_stream *stream, const npu_program *program, npu_engine_type core,
                     int64_t block, int lane) {
    assert(core == NPU_AIC || core == NPU_AIV);
    assert(block >= 0 && block < program->block_num && (lane == 0 || lane == 1));
    const struct npu_bound *bound = program->bound;
    stream->program = program;
    stream->body = &program->body[core == NPU_AIC ? 0 : 1];
    stream->pc = -1; // the lets are still to be computed
    stream->vars[NPU_VAR_BLOCK] = block;
    stream->vars[NPU_VAR_LANE] = lane;
    for (int i = bound->axis_count - 1; i >= 0; i--) {
        stream->vars[NPU_VAR_FIRST_AXIS + i] = block % bound->grid[i].count;
        block /= bound->grid[i].count;
    }
    memset(stream->copy, 0, sizeof stream->copy);
}

static npu_status run_prologue(npu_stream *s, npu_error *err) {
    const struct npu_bound *bound = s->program->bound;
    for (int i = 0; i < bound->prologue_count; i++) {
        const npu_prologue *entry = &bound->prologue[i];
        npu_status status = npu_code_run(&entry->code, s->vars, &s->vars[entry->var], err);
        if (status)
            return status;
    }
    s->pc = 0;
    return NPU_OK;
}

// No buffer of a core holds more of anything, and three of them multiply without overflow.
enum { MAX_SIZE = 1 << 20 };

static npu_status check_range(const npu_stmt *stmt, const char *what, int64_t value, int64_t least,
                              int64_t most, npu_error *err) {
    if (value >= least && value <= most)
        return NPU_OK;
    return npu_fail(err, NPU_BAD_INPUT, stmt->pos,
                    "%s of this op is %lld; possible is %lld to %lld", what, (long long)value,
                    (long long)least, (long long)most);
}

static npu_status check_sizes(const npu_stmt *stmt, const int64_t *n, int count, npu_error *err) {
    npu_status status = NPU_OK;
    for (int i = 0; i < count && !status; i++)
        status = check_range(stmt, "a size", n[i], 1, MAX_SIZE, err);
    return status;
}

static npu_status set_matmul(const npu_stmt *stmt, const int64_t *n, npu_op *op, npu_error *err) {
    npu_status status = check_sizes(stmt, n, NPU_OP_NUMBERS, err);
    if (status)
        return status;
    if (n[3] > n[0] || n[4] > n[1] || n[5] > n[2])
        return npu_fail(err, NPU_BAD_INPUT, stmt->pos,
                        "valid %lld x %lld x %lld is more than the shape %lld x %lld x %lld",
                        (long long)n[3], (long long)n[4], (long long)n[5], (long long)n[0],
                        (long long)n[1], (long long)n[2]);
    op->m = n[0];
    op->n = n[1];
    op->k = n[2];
    op->valid = n[3] * n[4] * n[5];
    return NPU_OK;
}

static npu_status set_numbers(const npu_stmt *stmt, const int64_t *n, npu_op *op, npu_error *err) {
    npu_status status = NPU_OK;
    switch (op->kind) {
    case NPU_OP_MATMUL:
        return set_matmul(stmt, n, op, err);
    case NPU_OP_EXTRACT:
    case NPU_OP_VEC:
        op->m = n[0];
        op->n = n[1];
        return check_sizes(stmt, n, 2, err);
    case NPU_OP_SCALAR:
        op->scalar_ops = n[0];
        op->scalar_gm = n[1];
        status = check_range(stmt, "ops", n[0], 0, INT32_MAX, err);
        return status ? status : check_range(stmt, "gm", n[1], 0, INT32_MAX, err);
    case NPU_OP_SIGNAL:
    case NPU_OP_WAIT:
        op->flag = (int)n[0];
        return check_range(stmt, "the flag", n[0], 0, NPU_FLAGS - 1, err);
    case NPU_OP_NOTIFY:
    case NPU_OP_AWAIT:
        op->value = n[0];
        return NPU_OK;
    default:
        return NPU_OK;
    }
}

static npu_status eval_numbers(npu_stream *s, const npu_stmt *stmt, npu_op *op, npu_error *err) {
    int64_t n[NPU_OP_NUMBERS];
    for (int i = 0; i < NPU_OP_NUMBERS; i++) {
        n[i] = stmt->numbers[i].value;
        if (stmt->numbers[i].op_count == 0)
            continue;
        npu_status status = npu_code_run(&stmt->numbers[i], s->vars, &n[i], err);
        if (status)
            return status;
    }
    return set_numbers(stmt, n, op, err);
}

static int16_t instance(const npu_stream *s, int slot) {
    return (int16_t)(s->body->slots[slot].first + s->copy[slot]);
}

// Reads mean the copies as they are before this op's write takes the next one.
static void use_slots(npu_stream *s, const npu_stmt *stmt, npu_op *op) {
    for (int i = 0; i < NPU_OP_SLOTS; i++)
        op->reads[i] = stmt->reads[i] < 0 ? -1 : instance(s, stmt->reads[i]);
    op->writes = -1;
    if (stmt->write < 0)
        return;
    bool next = stmt->whole && !op->accumulate;
    int copies = s->body->slots[stmt->write].copies;
    if (next && ++s->copy[stmt->write] == copies)
        s->copy[stmt->write] = 0;
    op->writes = instance(s, stmt->write);
}

static npu_status fit(const npu_slot *slot, int64_t bytes, npu_pos pos, npu_error *err) {
    if (bytes <= slot->bytes)
        return NPU_OK;
    return npu_fail(err, NPU_BAD_INPUT, pos, "%lld bytes do not fit slot '%s' of %lld bytes",
                    (long long)bytes, slot->name, (long long)slot->bytes);
}

static bool holds(const npu_slot *slot, const npu_op *op) {
    npu_dtype dtype = slot->rank > 0 ? slot->dtype : op->dtype;
    return op->m * op->n * npu_dtype_bytes(dtype) <= slot->bytes;
}

// A reduction writes less than it reads and a broadcast reads less than it writes: one slot
// that holds all elements is enough.
static npu_status fit_vec(const npu_slot *slots, const npu_stmt *stmt, const npu_op *op,
                          npu_error *err) {
    bool found = holds(&slots[stmt->write], op);
    for (int i = 0; i < NPU_OP_SLOTS && !found; i++)
        found = stmt->reads[i] >= 0 && holds(&slots[stmt->reads[i]], op);
    if (found)
        return NPU_OK;
    return npu_fail(err, NPU_BAD_INPUT, stmt->pos, "%lld x %lld elements fit no slot of this op",
                    (long long)op->m, (long long)op->n);
}

// What does not fit its slot is the kernel's mistake, found where it happens.
static npu_status check_fit(const npu_stream *s, const npu_stmt *stmt, const npu_op *op,
                            npu_error *err) {
    const npu_slot *slots = s->body->slots;
    int64_t size = npu_dtype_bytes(op->dtype);
    npu_status status = NPU_OK;
    switch (op->kind) {
    case NPU_OP_LOAD:
        return fit(&slots[stmt->write], npu_gm_bytes(&op->gm), stmt->pos, err);
    case NPU_OP_STORE: // fixpipe may convert on its way out of L0C
        return op->buffer == NPU_L0C
                   ? NPU_OK
                   : fit(&slots[stmt->reads[0]], npu_gm_bytes(&op->gm), stmt->pos, err);
    case NPU_OP_EXTRACT:
        status = fit(&slots[stmt->reads[0]], op->m * op->n * size, stmt->pos, err);
        return status ? status : fit(&slots[stmt->write], op->m * op->n * size, stmt->pos, err);
    case NPU_OP_MATMUL:
        status = fit(&slots[stmt->reads[0]], op->m * op->k * size, stmt->pos, err);
        if (!status)
            status = fit(&slots[stmt->reads[1]], op->k * op->n * size, stmt->pos, err);
        size = npu_dtype_bytes(slots[stmt->write].dtype);
        return status ? status : fit(&slots[stmt->write], op->m * op->n * size, stmt->pos, err);
    case NPU_OP_VEC:
        return fit_vec(slots, stmt, op, err);
    case NPU_OP_NOTIFY:
    case NPU_OP_AWAIT:
        if (npu_gm_bytes(&op->gm) == size)
            return NPU_OK;
        return npu_fail(err, NPU_BAD_INPUT, stmt->pos, "a counter is one element, not %lld",
                        (long long)(npu_gm_bytes(&op->gm) / size));
    default:
        return NPU_OK;
    }
}

static npu_status yield_op(npu_stream *s, const npu_stmt *stmt, npu_op *op, npu_error *err) {
    *op = stmt->op;
    npu_status status = eval_numbers(s, stmt, op, err);
    int64_t acc = stmt->acc.value, mode = stmt->mode.value;
    if (!status && stmt->acc.op_count != 0)
        status = npu_code_run(&stmt->acc, s->vars, &acc, err);
    if (!status && stmt->mode.op_count != 0)
        status = npu_code_run(&stmt->mode, s->vars, &mode, err);
    op->accumulate = acc != 0;
    op->atomic = mode != 0 && op->kind == NPU_OP_STORE;
    op->bypass = mode != 0 && op->kind == NPU_OP_LOAD;
    op->unit_flag = mode != 0 && op->kind == NPU_OP_MATMUL;
    const struct npu_bound *bound = s->program->bound;
    int64_t last = 1;
    if (!status && npu_op_in_gm(op->kind))
        status = npu_region_eval(&stmt->region, &bound->windows[stmt->region.arg],
                                 bound->arg_names[stmt->region.arg], s->vars, &op->gm, &last, err);
    use_slots(s, stmt, op);
    if (!status)
        status = check_fit(s, stmt, op, err);
    if (!status && op->kind == NPU_OP_STORE && op->buffer == NPU_L0C) {
        op->m = npu_gm_bytes(&op->gm) / npu_dtype_bytes(op->dtype) / last;
        op->n = last;
    }
    return status;
}

npu_status npu_stream_next(npu_stream *s, npu_op *op, bool *more, npu_error *err) {
    npu_status status = NPU_OK;
    if (s->pc < 0)
        status = run_prologue(s, err);
    *more = true;
    while (!status && s->pc < s->body->stmt_count) {
        const npu_stmt *stmt = &s->body->stmts[s->pc++];
        int64_t value = 0;
        switch (stmt->what) {
        case NPU_DO_OP:
            return yield_op(s, stmt, op, err);
        case NPU_DO_LOOP:
            status = npu_code_run(&stmt->from, s->vars, &s->vars[stmt->var], err);
            if (!status)
                status = npu_code_run(&stmt->to, s->vars, &s->limits[stmt->depth], err);
            if (!status && s->vars[stmt->var] >= s->limits[stmt->depth])
                s->pc = stmt->target;
            break;
        case NPU_DO_NEXT:
            if (++s->vars[stmt->var] < s->limits[stmt->depth])
                s->pc = stmt->target;
            break;
        case NPU_DO_UNLESS:
            status = npu_code_run(&stmt->from, s->vars, &value, err);
            if (!status && !value)
                s->pc = stmt->target;
            break;
        case NPU_DO_JUMP:
            s->pc = stmt->target;
            break;
        }
    }
    *more = false;
    return status;
}
