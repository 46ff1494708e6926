// SPDX-License-Identifier: Apache-2.0
// Cycles of single ops, on the die of test_sim_core.h.
#include "cost.h"
#include "test_sim_core.h"

static npu_die die(void) {
    npu_die d;
    made_up_die(&d);
    return d;
}

static void assert_cost(npu_op op, double cycles) {
    npu_die d = die();
    assert_time(npu_op_cycles(&d, &op), cycles);
}

static void assert_matmul(npu_dtype dtype, int64_t m, int64_t n, int64_t k, double cycles) {
    assert_cost((npu_op){.kind = NPU_OP_MATMUL, .dtype = dtype, .m = m, .n = n, .k = k}, cycles);
}

static void a_matmul_costs_its_fractals_and_a_head(void **state) {
    (void)state;
    // 16 x 16 x 32 B of k in one cycle: k is 16 (fp16, bf16) or 32 (int8).
    assert_matmul(NPU_FP16, 16, 16, 16, 20 + 1);
    assert_matmul(NPU_BF16, 16, 16, 16, 20 + 1);
    assert_matmul(NPU_INT8, 16, 16, 32, 20 + 1);
    // 8 x 16 x 4 and half as many.
    assert_matmul(NPU_FP16, 128, 256, 64, 20 + 512);
    assert_matmul(NPU_INT8, 128, 256, 64, 20 + 256);
    // fp32: k is 8 and a fractal's 2048 MACs take 2 cycles.
    assert_matmul(NPU_FP32, 16, 16, 8, 20 + 2);
    assert_matmul(NPU_FP32, 128, 256, 64, 20 + 8 * 16 * 8 * 2);
}

static void a_part_of_a_fractal_costs_a_whole_one(void **state) {
    (void)state;
    assert_matmul(NPU_FP16, 1, 1, 1, 20 + 1);
    assert_matmul(NPU_FP16, 17, 16, 16, 20 + 2);
    assert_matmul(NPU_FP16, 17, 17, 17, 20 + 8);
    assert_matmul(NPU_INT8, 16, 16, 33, 20 + 2);
    assert_matmul(NPU_FP32, 16, 16, 9, 20 + 4);
}

static void an_extract_costs_its_bytes_and_its_issue(void **state) {
    (void)state;
    // 16 KiB at 256 and at 128 B per cycle, then half of it.
    npu_op op = {.kind = NPU_OP_EXTRACT, .dtype = NPU_FP16, .buffer = NPU_L0A, .m = 128, .n = 64};
    assert_cost(op, 50 + 16384.0 / 256);
    op.buffer = NPU_L0B;
    assert_cost(op, 50 + 16384.0 / 128);
    op.dtype = NPU_INT8;
    assert_cost(op, 50 + 8192.0 / 128);
    op.m = op.n = 1;
    assert_cost(op, 50 + 1.0 / 128);
}

static void a_vector_op_costs_its_start_up_repeats_and_rows(void **state) {
    (void)state;
    npu_op op = {.kind = NPU_OP_VEC, .vec = NPU_VEC_ADD, .dtype = NPU_FP32, .m = 1, .n = 64};
    assert_cost(op, 20 + 1 * 0.5); // one repeat of 256 B; V is taken for the start-up too
    op.n = 65;
    assert_cost(op, 20 + 2 * 0.5);
    op.m = 3; // 780 B: rows lie side by side
    assert_cost(op, 20 + 4 * 0.5);
    op.n = 128; // 1536 B in fp32, 768 B in fp16
    assert_cost(op, 20 + 6 * 0.5);
    op.dtype = NPU_FP16;
    assert_cost(op, 20 + 3 * 0.5);
    npu_die d = die();
    d.vector.ops[NPU_VEC_ROW_SUM] = (npu_vec_cost){.startup = 70, .per_repeat = 2, .per_row = 5};
    op = (npu_op){.kind = NPU_OP_VEC, .vec = NPU_VEC_ROW_SUM, .dtype = NPU_FP32, .m = 16, .n = 128};
    assert_time(npu_op_cycles(&d, &op), 70 + 32 * 2 + 16 * 5); // 32 repeats, 16 rows
}

static void a_row_shorter_than_a_repeat_takes_one(void **state) {
    (void)state;
    npu_op op = {.kind = NPU_OP_VEC, .vec = NPU_VEC_ADD, .dtype = NPU_FP16, .m = 64, .n = 64};
    assert_cost(op, 20 + 64 * 0.5); // 128 B each: 64 repeats, not 32
    op.n = 1;
    assert_cost(op, 20 + 64 * 0.5);
    op.dtype = NPU_FP32; // 63 x 4 B do not fill one, 64 x 4 B do: the same
    op.n = 63;
    assert_cost(op, 20 + 64 * 0.5);
    op.n = 64;
    assert_cost(op, 20 + 64 * 0.5);
    op.dtype = NPU_INT8;
    op.m = 3;
    op.n = 65;
    assert_cost(op, 20 + 3 * 0.5);
    // Longer ones are joined: 3 x 260 B are 4 repeats, not 6.
    op.n = 260;
    assert_cost(op, 20 + 4 * 0.5);
    // Of two sources in one bank group each of the repeats is slow.
    npu_die d = die();
    d.vector.bank_conflict = 2;
    d.vector.partial_row = 16;
    op = (npu_op){.kind = NPU_OP_VEC, .vec = NPU_VEC_ADD, .dtype = NPU_FP16, .m = 64, .n = 64};
    op.same_banks = true;
    assert_time(npu_op_cycles(&d, &op), 20 + 64 * 2 + 16);
}

static void two_sources_in_one_bank_group_slow_every_repeat(void **state) {
    (void)state;
    npu_die d = die();
    d.vector.bank_conflict = 2;
    npu_op op = {.kind = NPU_OP_VEC, .vec = NPU_VEC_ADD, .dtype = NPU_FP32, .m = 64, .n = 64};
    assert_time(npu_op_cycles(&d, &op), 20 + 64 * 0.5);
    op.same_banks = true;
    assert_time(npu_op_cycles(&d, &op), 20 + 64 * 2);
    d.vector.ops[NPU_VEC_DIV].per_repeat = 4; // slower than the reads anyway
    op.vec = NPU_VEC_DIV;
    assert_time(npu_op_cycles(&d, &op), 20 + 64 * 4);
    op.vec = NPU_VEC_EXP; // it reads one tile
    assert_time(npu_op_cycles(&d, &op), 20 + 64 * 0.5);
}

static void a_block_for_a_whole_row_slows_every_repeat(void **state) {
    (void)state;
    npu_die d = die();
    d.vector.broadcast = 1.5;
    npu_op op = {.kind = NPU_OP_VEC, .vec = NPU_VEC_ADD, .dtype = NPU_FP32, .m = 64, .n = 64};
    op.broadcast = true;
    assert_time(npu_op_cycles(&d, &op), 20 + 64 * 1.5);
    op.vec = NPU_VEC_ROW_EXPAND_MUL; // its own figures include how its sources lie
    assert_time(npu_op_cycles(&d, &op), 20 + 64 * 0.5);
}

static void rows_that_are_no_multiple_of_a_repeat_cost_once_more(void **state) {
    (void)state;
    npu_die d = die();
    d.vector.partial_row = 16;
    npu_op op = {.kind = NPU_OP_VEC, .vec = NPU_VEC_ADD, .dtype = NPU_FP32, .m = 4, .n = 64};
    assert_time(npu_op_cycles(&d, &op), 20 + 4 * 0.5);
    op.n = 65; // 1040 B: 5 repeats
    assert_time(npu_op_cycles(&d, &op), 20 + 5 * 0.5 + 16);
    op.n = 32; // short rows, too
    assert_time(npu_op_cycles(&d, &op), 20 + 4 * 0.5 + 16);
}

static void unit_flag_shortens_the_head_of_a_matmul(void **state) {
    (void)state;
    npu_die d = die();
    npu_op op = {.kind = NPU_OP_MATMUL, .dtype = NPU_FP16, .m = 16, .n = 16, .k = 16};
    assert_time(npu_op_cycles(&d, &op), 20 + 1);
    op.unit_flag = true;
    assert_time(npu_op_cycles(&d, &op), 9 + 1);
}

static void a_scalar_op_costs_instructions_and_round_trips(void **state) {
    (void)state;
    assert_cost((npu_op){.kind = NPU_OP_SCALAR, .scalar_ops = 7}, 7);
    assert_cost((npu_op){.kind = NPU_OP_SCALAR, .scalar_ops = 7, .scalar_gm = 2}, 7 + 2 * 200);
}

static void what_moves_or_signals_has_no_fixed_cost(void **state) {
    (void)state;
    static const npu_op_kind kinds[] = {NPU_OP_LOAD, NPU_OP_STORE, NPU_OP_SIGNAL, NPU_OP_WAIT,
                                        NPU_OP_PREFETCH};
    for (int i = 0; i < (int)(sizeof kinds / sizeof *kinds); i++)
        assert_cost((npu_op){.kind = kinds[i], .m = 16, .n = 16}, 0);
}

static void a_drain_costs_its_rows(void **state) {
    (void)state;
    npu_die d = die();
    // Narrow rows: the floor of 4. Wide ones: 4 B per element, 128 B per cycle.
    assert_time(npu_fixpipe_cycles(&d, 16, 8), 160 + 16 * 4);
    assert_time(npu_fixpipe_cycles(&d, 16, 128), 160 + 16 * 4);
    assert_time(npu_fixpipe_cycles(&d, 16, 256), 160 + 16 * 8);
    assert_time(npu_fixpipe_cycles(&d, 128, 256), 160 + 128 * 8);
}

static void a_drain_costs_the_odd_part_of_its_width(void **state) {
    (void)state;
    npu_die d = die();
    // ceil(n / 8) without its factors of 2, less 1, times 2 cycles, for each row.
    assert_time(npu_fixpipe_cycles(&d, 1, 1), 160 + 4);                // 1
    assert_time(npu_fixpipe_cycles(&d, 1, 24), 160 + 4 + 2 * 2);       // 3
    assert_time(npu_fixpipe_cycles(&d, 1, 80), 160 + 4 + 2 * 4);       // 10: 5
    assert_time(npu_fixpipe_cycles(&d, 1, 96), 160 + 4 + 2 * 2);       // 12: 3
    assert_time(npu_fixpipe_cycles(&d, 1, 97), 160 + 4 + 2 * 12);      // 13
    assert_time(npu_fixpipe_cycles(&d, 10, 160), 160 + 10 * (5 + 8));  // 20: 5
    assert_time(npu_fixpipe_cycles(&d, 10, 512), 160 + 10 * (16 + 0)); // 64: 1
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_matmul_costs_its_fractals_and_a_head),
        cmocka_unit_test(a_part_of_a_fractal_costs_a_whole_one),
        cmocka_unit_test(an_extract_costs_its_bytes_and_its_issue),
        cmocka_unit_test(a_vector_op_costs_its_start_up_repeats_and_rows),
        cmocka_unit_test(a_row_shorter_than_a_repeat_takes_one),
        cmocka_unit_test(two_sources_in_one_bank_group_slow_every_repeat),
        cmocka_unit_test(a_block_for_a_whole_row_slows_every_repeat),
        cmocka_unit_test(rows_that_are_no_multiple_of_a_repeat_cost_once_more),
        cmocka_unit_test(unit_flag_shortens_the_head_of_a_matmul),
        cmocka_unit_test(a_scalar_op_costs_instructions_and_round_trips),
        cmocka_unit_test(what_moves_or_signals_has_no_fixed_cost),
        cmocka_unit_test(a_drain_costs_its_rows),
        cmocka_unit_test(a_drain_costs_the_odd_part_of_its_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
