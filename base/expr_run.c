// SPDX-License-Identifier: Apache-2.0
#include "expr_impl.h"

#include <assert.h>
#include <inttypes.h>

npu_status npu_expr_report(fault f, int64_t x, int64_t y, npu_pos pos, npu_error *err) {
    switch (f) {
    case FAULT_ZERO:
        return npu_fail(err, NPU_BAD_INPUT, pos, "division by zero");
    case FAULT_REST:
        return npu_fail(err, NPU_BAD_INPUT, pos,
                        "%" PRId64 " / %" PRId64 " leaves a rest; use // or ceil()", x, y);
    case FAULT_PAD:
        return npu_fail(err, NPU_BAD_INPUT, pos, "pad() cannot round up to a multiple of %" PRId64,
                        y);
    case FAULT_LOG2:
        return npu_fail(err, NPU_BAD_INPUT, pos, "log2(%" PRId64 "): not a power of two", x);
    case FAULT_TABLE:
        return npu_fail(err, NPU_BAD_INPUT, pos,
                        "the index %" PRId64 " is outside a table's dimension of %" PRId64, x, y);
    default:
        assert(f == FAULT_OVERFLOW);
        return npu_fail(err, NPU_BAD_INPUT, pos, "the value is too large for 64 bits");
    }
}

static fault divide(opcode code, int64_t x, int64_t y, int64_t *out) {
    if (y == 0)
        return FAULT_ZERO;
    if (y == -1) { // INT64_MIN / -1 would trap, for the remainder as well
        if (code == OP_MOD)
            return *out = 0, FAULT_NONE;
        return __builtin_sub_overflow(0, x, out) ? FAULT_OVERFLOW : FAULT_NONE;
    }
    int64_t quotient = x / y;
    int64_t rest = x % y;
    bool same_sign = (rest < 0) == (y < 0);
    switch (code) {
    case OP_DIV:
        if (rest != 0)
            return FAULT_REST;
        break;
    case OP_FLOOR:
        quotient -= rest != 0 && !same_sign;
        break;
    case OP_CEIL:
        quotient += rest != 0 && same_sign;
        break;
    default:
        assert(code == OP_MOD);
        quotient = rest != 0 && !same_sign ? rest + y : rest;
    }
    *out = quotient;
    return FAULT_NONE;
}

static fault pad_up(int64_t x, int64_t y, int64_t *out) {
    if (y <= 0)
        return y == 0 ? FAULT_ZERO : FAULT_PAD;
    int64_t rest = x % y;
    int64_t add = rest > 0 ? y - rest : -rest;
    return __builtin_add_overflow(x, add, out) ? FAULT_OVERFLOW : FAULT_NONE;
}

static fault exact_log2(int64_t x, int64_t *out) {
    if (x <= 0 || (x & (x - 1)) != 0)
        return FAULT_LOG2;
    *out = __builtin_ctzll((unsigned long long)x);
    return FAULT_NONE;
}

static inline fault apply(opcode code, int64_t x, int64_t y, int64_t *out) {
    switch (code) {
    case OP_ADD:
        return __builtin_add_overflow(x, y, out) ? FAULT_OVERFLOW : FAULT_NONE;
    case OP_SUB:
        return __builtin_sub_overflow(x, y, out) ? FAULT_OVERFLOW : FAULT_NONE;
    case OP_MUL:
        return __builtin_mul_overflow(x, y, out) ? FAULT_OVERFLOW : FAULT_NONE;
    case OP_DIV:
    case OP_FLOOR:
    case OP_MOD:
    case OP_CEIL:
        return divide(code, x, y, out);
    case OP_PAD:
        return pad_up(x, y, out);
    case OP_LOG2:
        return exact_log2(x, out);
    case OP_MIN:
        *out = x < y ? x : y;
        break;
    case OP_MAX:
        *out = x > y ? x : y;
        break;
    case OP_EQ:
        *out = x == y;
        break;
    case OP_NE:
        *out = x != y;
        break;
    case OP_LT:
        *out = x < y;
        break;
    case OP_LE:
        *out = x <= y;
        break;
    case OP_GT:
        *out = x > y;
        break;
    case OP_GE:
        *out = x >= y;
        break;
    default:
        assert(code == OP_MOVE);
        *out = x;
    }
    return FAULT_NONE;
}

// Binding calls this one; the run has `apply` inlined into its loop.
fault npu_expr_apply(opcode code, int64_t x, int64_t y, int64_t *out) {
    return apply(code, x, y, out);
}

fault npu_expr_table(const npu_table *table, const int64_t *spans, int64_t *out, int64_t *x,
                     int64_t *y) {
    int64_t at[NPU_TABLE_RANK] = {0}, sum = 0;
    for (int d = 0; d < table->rank; d++) {
        int64_t start = spans[2 * d], length = spans[2 * d + 1], size = table->size[d];
        bool inside = start >= 0 && length >= 0 && start <= size && length <= size - start;
        *x = start < 0 || start >= size ? start : size;
        *y = size;
        if (!inside)
            return FAULT_TABLE;
    }
    for (int d = 0; d < table->rank; d++)
        if (spans[2 * d + 1] == 0)
            return *out = 0, FAULT_NONE;
    for (int d = 0; d >= 0;) {
        int64_t index = 0;
        for (d = 0; d < table->rank; d++)
            index = index * table->size[d] + spans[2 * d] + at[d];
        if (__builtin_add_overflow(sum, table->values[index], &sum))
            return FAULT_OVERFLOW;
        for (d = table->rank - 1; d >= 0 && ++at[d] == spans[2 * d + 1]; d--)
            at[d] = 0;
    }
    *out = sum;
    return FAULT_NONE;
}

static npu_status run_table(const npu_code *code, const op *o, int64_t table, int64_t *temps,
                            npu_error *err) {
    int64_t x = 0, y = 0;
    fault f = npu_expr_table(&code->tables[table], &temps[o->dst], &temps[o->dst], &x, &y);
    return f == FAULT_NONE ? NPU_OK
                           : npu_expr_report(f, x, y, npu_pos_right(code->pos, o->at), err);
}

static npu_status run_steps(const npu_code *code, int start, const int64_t *slots, int64_t *value,
                            npu_error *err) {
    int64_t temps[MAX_TEMPS];
    const int64_t *pool = (const int64_t *)(const void *)(code->ops + code->op_count);
    const int64_t *const from[KIND_COUNT] = {
        [IN_POOL] = pool, [IN_SLOT] = slots, [IN_TEMP] = temps};
    temps[0] = 0;
    for (int i = start; i < code->op_count;) {
        const op *o = &code->ops[i++];
        int64_t x = from[o->a_kind][o->a];
        int64_t y = from[o->b_kind][o->b];
        if (o->code == OP_TABLE) {
            if (run_table(code, o, x, temps, err) != NPU_OK)
                return NPU_BAD_INPUT;
            continue;
        }
        if (o->code >= OP_JUMP) {
            assert(o->code <= OP_JUMP_NONZERO && o->dst >= i);
            if (o->code == OP_JUMP || (x == 0) == (o->code == OP_JUMP_ZERO))
                i = o->dst;
            continue;
        }
        fault f = apply((opcode)o->code, x, y, &temps[o->dst]);
        if (f != FAULT_NONE)
            return npu_expr_report(f, x, y, npu_pos_right(code->pos, o->at), err);
    }
    *value = temps[0];
    return NPU_OK;
}

npu_status npu_code_run(const npu_code *code, const int64_t *slots, int64_t *value,
                        npu_error *err) {
    if (code->op_count == 0) {
        *value = code->value;
        return NPU_OK;
    }
    const op *first = &code->ops[0];
    if (first->code != OP_AFFINE)
        return run_steps(code, 0, slots, value, err);
    const int64_t *pool = (const int64_t *)(const void *)(code->ops + code->op_count);
    int64_t scaled;
    if (!__builtin_mul_overflow(slots[first->a], pool[first->b], &scaled) &&
        !__builtin_add_overflow(scaled, pool[first->dst], value))
        return NPU_OK;
    return run_steps(code, 1, slots, value, err);
}

bool npu_code_uses(const npu_code *code, int slot) {
    for (int i = 0; i < code->op_count; i++) {
        const op *o = &code->ops[i];
        if ((o->a_kind == IN_SLOT && o->a == slot) || (o->b_kind == IN_SLOT && o->b == slot))
            return true;
    }
    return false;
}
