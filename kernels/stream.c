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

static npu_status bad_number(const npu_stmt *stmt, int64_t value, npu_error *err) {
    return npu_fail(err, NPU_BAD_INPUT, stmt->pos, "a size of this op is %lld", (long long)value);
}

static npu_status set_numbers(const npu_stmt *stmt, const int64_t *n, npu_op *op, npu_error *err) {
    switch (op->kind) {
    case NPU_OP_MATMUL:
        for (int i = 0; i < NPU_OP_NUMBERS; i++)
            if (n[i] <= 0 || n[i] > INT32_MAX)
                return bad_number(stmt, n[i], err);
        if (n[3] > n[0] || n[4] > n[1] || n[5] > n[2])
            return npu_fail(err, NPU_BAD_INPUT, stmt->pos,
                            "valid %lld x %lld x %lld is more than the shape %lld x %lld x %lld",
                            (long long)n[3], (long long)n[4], (long long)n[5], (long long)n[0],
                            (long long)n[1], (long long)n[2]);
        op->k = n[2];
        op->valid = n[3] * n[4] * n[5];
        break;
    case NPU_OP_EXTRACT:
    case NPU_OP_VEC:
        for (int i = 0; i < 2; i++)
            if (n[i] <= 0 || n[i] > INT32_MAX)
                return bad_number(stmt, n[i], err);
        break;
    case NPU_OP_SCALAR:
        if (n[0] < 0 || n[1] < 0 || n[0] > INT32_MAX || n[1] > INT32_MAX)
            return bad_number(stmt, n[0] < 0 ? n[0] : n[1], err);
        op->scalar_ops = n[0];
        op->scalar_gm = n[1];
        return NPU_OK;
    case NPU_OP_SIGNAL:
    case NPU_OP_WAIT:
        if (n[0] < 0 || n[0] > 10) // CrossCore flags have the ids 0 to 10
            return npu_fail(err, NPU_BAD_INPUT, stmt->pos, "flags are 0 to 10, not %lld",
                            (long long)n[0]);
        op->flag = (int)n[0];
        return NPU_OK;
    default:
        return NPU_OK;
    }
    op->m = n[0];
    op->n = n[1];
    return NPU_OK;
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

// What does not fit the slot it goes to is the kernel's mistake, found where it happens.
static npu_status check_fit(const npu_stream *s, const npu_stmt *stmt, const npu_op *op,
                            npu_error *err) {
    int slot = stmt->write;
    int64_t bytes = 0;
    if (op->kind == NPU_OP_LOAD)
        bytes = npu_gm_bytes(&op->gm);
    else if (op->kind == NPU_OP_EXTRACT)
        bytes = op->m * op->n * npu_dtype_bytes(op->dtype);
    else if (op->kind == NPU_OP_MATMUL)
        bytes = op->m * op->n * npu_dtype_bytes(s->body->slots[slot].dtype);
    else if (op->kind == NPU_OP_STORE && op->buffer == NPU_UB) {
        slot = stmt->reads[0];
        bytes = npu_gm_bytes(&op->gm);
    } else
        return NPU_OK;
    if (bytes <= s->body->slots[slot].bytes)
        return NPU_OK;
    return npu_fail(err, NPU_BAD_INPUT, stmt->pos, "%lld bytes do not fit slot '%s' of %lld bytes",
                    (long long)bytes, s->body->slots[slot].name,
                    (long long)s->body->slots[slot].bytes);
}

static npu_status yield_op(npu_stream *s, const npu_stmt *stmt, npu_op *op, npu_error *err) {
    *op = stmt->op;
    npu_status status = eval_numbers(s, stmt, op, err);
    int64_t acc = stmt->acc.value;
    if (!status && stmt->acc.op_count != 0)
        status = npu_code_run(&stmt->acc, s->vars, &acc, err);
    if (acc != 0 && op->kind == NPU_OP_MATMUL)
        op->accumulate = true;
    else if (acc != 0)
        op->atomic = true;
    bool moves = op->kind == NPU_OP_LOAD || op->kind == NPU_OP_STORE || op->kind == NPU_OP_PREFETCH;
    const struct npu_bound *bound = s->program->bound;
    int64_t last = 1;
    if (!status && moves)
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
