// SPDX-License-Identifier: Apache-2.0
#include "cost.h"

#include <assert.h>
#include <math.h>

static int64_t ceil_div(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

static double mac_rate(const npu_die *die, npu_dtype dtype) {
    if (npu_dtype_bytes(dtype) == 1)
        return die->cube.mac_int8;
    return npu_dtype_bytes(dtype) == 2 ? die->cube.mac_fp16 : die->cube.mac_fp32;
}

// The cube works in fractals of 16 x 16 x 32 bytes of k; a part of one costs a whole one.
static double matmul_cycles(const npu_die *die, const npu_op *op) {
    int64_t side = (int64_t)die->cube.fractal;
    int64_t depth = (int64_t)die->cube.fractal_bytes / npu_dtype_bytes(op->dtype);
    int64_t fractals = ceil_div(op->m, side) * ceil_div(op->n, side) * ceil_div(op->k, depth);
    double macs = (double)(side * side * depth);
    double head = op->unit_flag ? die->cube.unit_flag_head : die->cube.head;
    return head + (double)fractals * macs / mac_rate(die, op->dtype);
}

// Ops that read two whole tiles; the expanding ones read a tile and a row or column, and their
// figures include how those lie.
static bool reads_two_tiles(npu_vec_op op) {
    return op <= NPU_VEC_DIV || op == NPU_VEC_AND || op == NPU_VEC_OR || op == NPU_VEC_COMPARE ||
           op == NPU_VEC_SELECT;
}

static double vec_cycles(const npu_die *die, const npu_op *op) {
    const npu_vec_cost *c = &die->vector.ops[op->vec];
    double bytes = (double)(op->m * op->n * npu_dtype_bytes(op->dtype));
    double row_bytes = (double)(op->n * npu_dtype_bytes(op->dtype));
    double repeats = ceil(bytes / die->vector.bytes);
    if (row_bytes < die->vector.bytes) // short rows are not joined
        repeats = (double)op->m;
    double per_repeat = c->per_repeat;
    if (op->same_banks && reads_two_tiles(op->vec))
        per_repeat = fmax(per_repeat, die->vector.bank_conflict);
    if (op->broadcast && reads_two_tiles(op->vec))
        per_repeat = fmax(per_repeat, die->vector.broadcast);
    double partial = fmod(row_bytes, die->vector.bytes) != 0 ? die->vector.partial_row : 0;
    return c->startup + repeats * per_repeat + (double)op->m * c->per_row + partial;
}

double npu_op_cycles(const npu_die *die, const npu_op *op) {
    double cycles = 0;
    switch (op->kind) {
    case NPU_OP_EXTRACT:
        cycles = (double)(op->m * op->n * npu_dtype_bytes(op->dtype)) /
                     (op->buffer == NPU_L0A ? die->mte1.l0a : die->mte1.l0b) +
                 die->mte1.issue;
        break;
    case NPU_OP_MATMUL:
        cycles = matmul_cycles(die, op);
        break;
    case NPU_OP_VEC:
        cycles = vec_cycles(die, op);
        break;
    case NPU_OP_SCALAR:
        cycles = (double)op->scalar_ops * die->scalar.op + (double)op->scalar_gm * die->scalar.gm;
        break;
    default:
        break;
    }
    assert(cycles >= 0);
    return cycles;
}

double npu_fixpipe_cycles(const npu_die *die, int64_t m, int64_t n) {
    int64_t odd = ceil_div(n, 8);
    while (odd % 2 == 0)
        odd /= 2;
    double row = fmax(die->fixpipe.row_floor, 4.0 * (double)n / die->fixpipe.bytes) +
                 die->fixpipe.odd * (double)(odd - 1);
    return die->fixpipe.fixed + (double)m * row;
}
