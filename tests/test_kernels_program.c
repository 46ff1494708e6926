// SPDX-License-Identifier: Apache-2.0
// The tile-program language: what a block of a small kernel does, op by op, worked out by hand.
// Ops are written as by list_block: slots with their copy, memory as address+run*rows/stride.
#include "test_kernels_util.h"

static void bind_text(fixture *f, const char *text, const char *settings) {
    start_over(f);
    assert_ok(f, parse_kernel(f, text));
    assert_ok(f, bind_kernel(f, settings));
}

static const char add_rows[] =
    "engine: aiv\n"
    "args:\n"
    "  x: { access: in, shape: [R, C] }\n"
    "  y: { access: in, shape: [R, C] }\n"
    "  z: { access: out, shape: [R, C] }\n"
    "params: { tile: 1024 }\n"
    "slots:\n"
    "  xb: { in: ub, shape: [1, tile], dtype: x, copies: 2 }\n"
    "  yb: { in: ub, shape: [1, tile], dtype: y, copies: 2 }\n"
    "  zb: { in: ub, shape: [1, tile], dtype: z, copies: 2 }\n"
    "program:\n"
    "  - loop: i in 0..C / tile\n"
    "    do:\n"
    "      - load:  { from: \"x[block, i * tile : tile]\", to: xb }\n"
    "      - load:  { from: \"y[block, i * tile : tile]\", to: yb }\n"
    "      - vec:   { op: add, in: [xb, yb], out: zb, shape: [1, tile] }\n"
    "      - store: { from: zb, to: \"z[block, i * tile : tile]\" }\n";

static void a_loop_takes_the_copies_of_its_slots_in_turn(void **state) {
    fixture *f = *state;
    bind_text(f, add_rows, "x fp32 4x48; y fp32 4x48; z fp32 4x48; with tile 16; grid r 4");
    assert_int_equal(f->program.block_num, 4);
    assert_string_equal(list_block(f, NPU_AIV, 2, 0), "load x 384+64 > xb.1\n"
                                                      "load y 384+64 > yb.1\n"
                                                      "add xb.1 yb.1 > zb.1 1x16\n"
                                                      "store zb.1 > z 384+64\n"
                                                      "load x 448+64 > xb.0\n"
                                                      "load y 448+64 > yb.0\n"
                                                      "add xb.0 yb.0 > zb.0 1x16\n"
                                                      "store zb.0 > z 448+64\n"
                                                      "load x 512+64 > xb.1\n"
                                                      "load y 512+64 > yb.1\n"
                                                      "add xb.1 yb.1 > zb.1 1x16\n"
                                                      "store zb.1 > z 512+64\n");
    assert_int_equal(f->ops[0].pipe, NPU_PIPE_MTE2);
    assert_int_equal(f->ops[2].pipe, NPU_PIPE_V);
    assert_int_equal(f->ops[3].pipe, NPU_PIPE_MTE3);
    assert_int_equal(f->ops[0].line, 14);
    assert_int_equal(f->ops[3].line, 17);
}

static void a_stream_can_be_copied(void **state) {
    fixture *f = *state;
    npu_stream stream;
    npu_stream fork;
    npu_op op;
    npu_op other;
    bool more = true;
    bind_text(f, add_rows, "x fp32 1x64; y fp32 1x64; z fp32 1x64; with tile 16; grid r 1");
    npu_stream_open(&stream, &f->program, NPU_AIV, 0, 0);
    for (int i = 0; i < 5; i++)
        assert_ok(f, npu_stream_next(&stream, &op, &more, &f->err));
    fork = stream;
    while (more) {
        bool other_more = false;
        assert_ok(f, npu_stream_next(&stream, &op, &more, &f->err));
        assert_ok(f, npu_stream_next(&fork, &other, &other_more, &f->err));
        assert_int_equal(more, other_more);
        assert_true(!more || (op.kind == other.kind && op.gm.address == other.gm.address &&
                              op.reads[0] == other.reads[0] && op.writes == other.writes));
    }
}

// ---- slots -----------------------------------------------------------------------------------

static void a_write_in_place_or_into_a_part_keeps_the_copy(void **state) {
    fixture *f = *state;
    bind_text(f,
              "engine: aiv\n"
              "args: { x: in }\n"
              "slots:\n"
              "  xb: { in: ub, shape: [2, 8], dtype: fp32, copies: 3 }\n"
              "  s: { in: ub, shape: [2, 8], dtype: fp32, copies: 2 }\n"
              "program:\n"
              "  - load: { from: \"x[:, 0 : 8]\", to: xb }\n"
              "  - vec: { op: exp, in: xb, out: xb }\n"              // in place
              "  - load: { from: \"x[0, 8 : 8]\", to: \"xb[0]\" }\n" // a part
              "  - vec: { op: mul, in: xb, out: s }\n"               // a new copy of s
              "  - vec: { op: add, in: [s, xb], out: s }\n"          // in place
              "  - vec: { op: copy, in: xb, out: \"s[1]\", shape: [1, 8] }\n"
              "  - load: { from: \"x[:, 8 : 8]\", to: xb }\n"
              "  - vec: { op: sub, in: [xb, s], out: s }\n",
              "x fp32 2x16");
    assert_string_equal(list_block(f, NPU_AIV, 0, 0), "load x 0+32*2/64 > xb.1\n"
                                                      "exp xb.1 > xb.1 2x8\n"
                                                      "load x 32+32 > xb.1\n"
                                                      "mul xb.1 > s.1 2x8\n"
                                                      "add s.1 xb.1 > s.1 2x8\n"
                                                      "copy xb.1 > s.1 1x8\n"
                                                      "load x 32+32*2/64 > xb.2\n"
                                                      "sub xb.2 s.1 > s.1 2x8\n");
}

static void a_matmul_that_accumulates_stays_in_its_copy(void **state) {
    fixture *f = *state;
    bind_text(f,
              "engine: aic\n"
              "args: { a: in, c: out }\n"
              "slots:\n"
              "  a1: { in: l1, shape: [16, 64], dtype: a }\n"
              "  a0: { in: l0a, shape: [16, 32], dtype: a, copies: 2 }\n"
              "  b0: { in: l0b, shape: [32, 16], dtype: a, copies: 2 }\n"
              "  c0: { in: l0c, shape: [16, 16], dtype: acc(a), copies: 2 }\n"
              "program:\n"
              "  - load: { from: \"a[:, :]\", to: a1 }\n"
              "  - loop: n in 0..2\n"
              "    do:\n"
              "      - loop: k in 0..2\n"
              "        do:\n"
              "          - extract: { from: a1, to: a0 }\n"
              "          - extract: { from: a1, to: b0, shape: [32, 16] }\n"
              "          - matmul: { a: a0, b: b0, to: c0, shape: [16, 16, 32], acc: k,\n"
              "                      valid: [8, 12, 32] }\n"
              "      - store: { from: c0, to: \"c[:, n * 16 : 16]\", atomic: n }\n",
              "a int8 16x64; c int32 16x32");
    assert_string_equal(list_block(f, NPU_AIC, 0, 0),
                        "load a 0+1024 > a1.0\n"
                        "extract a1.0 > a0.1 16x32\n"
                        "extract a1.0 > b0.1 32x16\n"
                        "matmul a0.1 b0.1 > c0.1 16x16x32 valid 3072\n"
                        "extract a1.0 > a0.0 16x32\n"
                        "extract a1.0 > b0.0 32x16\n"
                        "matmul a0.0 b0.0 > c0.1 16x16x32 valid 3072 acc\n"
                        "store c0.1 > c 0+64*16/128\n"
                        "extract a1.0 > a0.1 16x32\n"
                        "extract a1.0 > b0.1 32x16\n"
                        "matmul a0.1 b0.1 > c0.0 16x16x32 valid 3072\n"
                        "extract a1.0 > a0.0 16x32\n"
                        "extract a1.0 > b0.0 32x16\n"
                        "matmul a0.0 b0.0 > c0.0 16x16x32 valid 3072 acc\n"
                        "store c0.0 > c 64+64*16/128 atomic\n");
    assert_int_equal(f->program.body[0].slots[3].dtype, NPU_INT32);
    assert_int_equal(f->ops[1].pipe, NPU_PIPE_MTE1);
    assert_int_equal(f->ops[3].pipe, NPU_PIPE_M);
    assert_int_equal(f->ops[7].pipe, NPU_PIPE_FIXPIPE);
    assert_int_equal(f->ops[7].m, 16); // rows and columns of what leaves L0C
    assert_int_equal(f->ops[7].n, 16);
}

static void slots_have_the_type_of_an_argument_or_their_own(void **state) {
    fixture *f = *state;
    bind_text(f,
              "engine: aic\n"
              "args: { a: in }\n"
              "slots:\n"
              "  p: { in: l1, shape: [2, 8], dtype: a }\n"
              "  q: { in: l0c, shape: [2, 8], dtype: acc(a) }\n"
              "  r: { in: l1, shape: [2, 8], dtype: int16, copies: 2 }\n"
              "  s: { in: l0b, bytes: 3 * 32 }\n"
              "program: []\n",
              "a bf16 4");
    const npu_slot *slots = f->program.body[0].slots;
    assert_int_equal(f->program.body[0].slot_count, 4);
    assert_int_equal(slots[0].dtype, NPU_BF16);
    assert_int_equal(slots[0].bytes, 32);
    assert_int_equal(slots[1].dtype, NPU_FP32);
    assert_int_equal(slots[1].bytes, 64);
    assert_int_equal(slots[2].bytes, 32);
    assert_int_equal(slots[2].first, 2);
    assert_int_equal(slots[3].bytes, 96);
    assert_int_equal(slots[3].rank, 0);
    assert_int_equal(slots[3].first, 4);
    assert_int_equal(f->program.body[0].instance_count, 5);
    assert_string_equal(list_block(f, NPU_AIC, 0, 0), "");
}

static void a_vec_is_as_large_as_its_slots_unless_it_says_so(void **state) {
    fixture *f = *state;
    bind_text(f,
              "engine: aiv\n"
              "args: { x: in }\n"
              "slots:\n"
              "  t: { in: ub, shape: [4, 16], dtype: fp32 }\n"
              "  h: { in: ub, shape: [4, 16], dtype: fp16 }\n"
              "  r: { in: ub, shape: [1, 8], dtype: fp32 }\n"
              "program:\n"
              "  - vec: { op: fill, out: t }\n"
              "  - vec: { op: row_sum, in: t, out: r }\n"    // what it reads
              "  - vec: { op: row_expand, in: r, out: t }\n" // what it writes
              "  - vec: { op: cast, in: t, out: h }\n"
              "  - vec: { op: adds, in: t, out: t, elements: 24 }\n"
              "  - vec: { op: muls, in: r, out: r, dtype: int32 }\n",
              "x fp32 4");
    assert_string_equal(list_block(f, NPU_AIV, 0, 0), "fill > t.0 4x16\n"
                                                      "row_sum t.0 > r.0 4x16\n"
                                                      "row_expand r.0 > t.0 4x16\n"
                                                      "cast t.0 > h.0 4x16\n"
                                                      "adds t.0 > t.0 1x24\n"
                                                      "muls r.0 > r.0 1x8\n");
    assert_int_equal(f->ops[3].dtype, NPU_FP32); // of what it reads
    assert_int_equal(f->ops[5].dtype, NPU_INT32);
}

// ---- names -----------------------------------------------------------------------------------

static void the_first_axis_of_the_grid_is_the_slowest(void **state) {
    fixture *f = *state;
    static const char text[] =
        "engine: aiv\n"
        "args: { x: in }\n"
        "let: { half: grid.c / 2, at: block.a * 100 + block.b * 10 + block.c }\n"
        "program:\n"
        "  - scalar: { ops: at, gm: grid * 100 + grid.a * 10 + half }\n"
        "  - scalar: { ops: block, gm: x.size }\n";
    bind_text(f, text, "x int16 4; grid a 2; grid b 3; grid c 4");
    assert_int_equal(f->program.block_num, 24);
    assert_string_equal(list_block(f, NPU_AIV, 0, 0), "scalar 0 2422\nscalar 0 2\n");
    assert_string_equal(list_block(f, NPU_AIV, 7, 0), "scalar 13 2422\nscalar 7 2\n");
    assert_string_equal(list_block(f, NPU_AIV, 23, 0), "scalar 123 2422\nscalar 23 2\n");
}

static void loads_stores_and_matmuls_have_a_mode(void **state) {
    fixture *f = *state;
    static const char text[] =
        "engine: aic\n"
        "args: { x: in, y: inout }\n"
        "params: { fast: 1 }\n"
        "slots:\n"
        "  a1: { in: l1, shape: [1, 4], dtype: x }\n"
        "  a0: { in: l0a, shape: [1, 4], dtype: x }\n"
        "  b0: { in: l0b, shape: [4, 1], dtype: x }\n"
        "  c0: { in: l0c, shape: [1, 1], dtype: fp32, pad: 64 }\n"
        "program:\n"
        "  - load: { from: \"x[:]\", to: a1, bypass: fast }\n"
        "  - matmul: { a: a0, b: b0, to: c0, shape: [1, 1, 4], unit_flag: true }\n"
        "  - store: { from: c0, to: \"y[:]\", atomic: fast == 0 }\n";
    bind_text(f, text, "x fp16 4; y fp32 1");
    assert_int_equal(f->program.body[0].slots[3].pad, 64);
    npu_stream stream;
    npu_op op[3];
    bool more = true;
    npu_stream_open(&stream, &f->program, NPU_AIC, 0, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(npu_stream_next(&stream, &op[i], &more, NULL), NPU_OK);
    assert_true(op[0].bypass && !op[0].atomic && !op[0].unit_flag);
    assert_true(op[1].unit_flag && !op[1].accumulate && !op[1].bypass);
    assert_true(!op[2].atomic);
}

static void an_axis_that_is_not_given_has_one_step(void **state) {
    fixture *f = *state;
    static const char text[] =
        "engine: aiv\n"
        "args: { x: in }\n"
        "grid: [n, k]\n"
        "program:\n"
        "  - scalar: { ops: block.n * 10 + block.k, gm: grid.n * 10 + grid.k }\n";
    bind_text(f, text, "x int16 4; grid n 3");
    assert_int_equal(f->program.block_num, 3);
    assert_string_equal(list_block(f, NPU_AIV, 2, 0), "scalar 20 31\n");
    bind_text(f, text, "x int16 4; grid k 2");
    assert_string_equal(list_block(f, NPU_AIV, 1, 0), "scalar 1 12\n");
}

static void defaults_may_use_what_is_already_known(void **state) {
    fixture *f = *state;
    static const char text[] = "engine: aiv\n"
                               "args: { x: { access: in, shape: [R, C] } }\n"
                               "params: { p: R * 2, q: p + 1 }\n"
                               "tile: { m: required, n: tile.m * C }\n"
                               "let: { s: q + tile.n }\n"
                               "program:\n"
                               "  - scalar: { ops: q, gm: s }\n";
    bind_text(f, text, "x fp32 3x5; tile m 7");
    assert_string_equal(list_block(f, NPU_AIV, 0, 0), "scalar 7 42\n");
    bind_text(f, text, "x fp32 3x5; tile m 7; tile n 1; with p 10");
    assert_string_equal(list_block(f, NPU_AIV, 0, 0), "scalar 11 12\n");
}

static void shapes_bind_names_and_check_what_is_known(void **state) {
    fixture *f = *state;
    static const char text[] = "engine: aiv\n"
                               "args:\n"
                               "  x: { access: in, shape: [A, _, 4] }\n"
                               "  y: { access: in, shape: [A * 2, B] }\n"
                               "  z: in\n"
                               "program:\n"
                               "  - scalar: { ops: A, gm: B }\n";
    bind_text(f, text, "x fp32 3x9x4; y fp32 6x5; z fp32 1x1x1x1x1");
    assert_string_equal(list_block(f, NPU_AIV, 0, 0), "scalar 3 5\n");
}

// ---- loops and ifs ---------------------------------------------------------------------------

static void loops_nest_and_may_be_empty(void **state) {
    fixture *f = *state;
    bind_text(f,
              "engine: aiv\n"
              "program:\n"
              "  - loop: i in 1..4\n"
              "    do:\n"
              "      - loop: j in i..3\n"
              "        do:\n"
              "          - scalar: { ops: i, gm: j }\n"
              "      - scalar: { ops: 9 }\n"
              "  - loop: i in 0..block\n" // the name is free again
              "    do: [ scalar: { ops: 100 + i } ]\n",
              "grid b 3");
    assert_string_equal(list_block(f, NPU_AIV, 2, 0), "scalar 1 1\n"
                                                      "scalar 1 2\n"
                                                      "scalar 9 0\n"
                                                      "scalar 2 2\n"
                                                      "scalar 9 0\n"
                                                      "scalar 9 0\n"
                                                      "scalar 100 0\n"
                                                      "scalar 101 0\n");
}

static const char ifs[] = "engine: aiv\n"
                          "params: { p: 0 }\n"
                          "program:\n"
                          "  - if: p\n"
                          "    do: [ scalar: { ops: 1 } ]\n"
                          "    else:\n"
                          "      - if: p == 0\n"
                          "        do: [ scalar: { ops: 2 }, scalar: { ops: 3 } ]\n"
                          "  - loop: i in 0..3\n"
                          "    do:\n"
                          "      - if: i % 2 == block\n"
                          "        do: [ scalar: { ops: 10 + i } ]\n"
                          "        else: [ scalar: { ops: 20 + i } ]\n"
                          "      - if: i == 2\n"
                          "        do: [ scalar: { ops: 5 } ]\n";

static void ifs_choose_at_binding_or_while_streaming(void **state) {
    fixture *f = *state;
    bind_text(f, ifs, "grid b 2");
    int folded = f->program.body[1].stmt_count;
    assert_string_equal(list_block(f, NPU_AIV, 0, 0),
                        "scalar 2 0\nscalar 3 0\nscalar 10 0\nscalar 21 0\nscalar 12 0\n"
                        "scalar 5 0\n");
    assert_string_equal(list_block(f, NPU_AIV, 1, 0),
                        "scalar 2 0\nscalar 3 0\nscalar 20 0\nscalar 11 0\nscalar 22 0\n"
                        "scalar 5 0\n");
    bind_text(f, ifs, "with p 1; grid b 2");
    assert_string_equal(list_block(f, NPU_AIV, 0, 0),
                        "scalar 1 0\nscalar 10 0\nscalar 21 0\nscalar 12 0\nscalar 5 0\n");
    assert_int_equal(f->program.body[1].stmt_count, folded - 1); // only one branch is there
}

// ---- the other ops ---------------------------------------------------------------------------

static void a_mix_kernel_has_a_program_per_core(void **state) {
    fixture *f = *state;
    bind_text(f,
              "engine: mix\n"
              "args: { s: no_dep, w: no_dep }\n"
              "slots:\n"
              "  c0: { in: l0c, shape: [16, 16], dtype: fp32 }\n"
              "  u: { in: ub, shape: [16, 16], dtype: fp32, copies: 2 }\n"
              "program:\n"
              "  aic:\n"
              "    - store: { from: c0, to: \"s[:, :]\" }\n"
              "    - signal: { pipe: FIXPIPE, flag: 3 }\n"
              "    - wait: { pipe: MTE2, flag: 10 }\n"
              "    - prefetch: { from: \"w[1 : 2, :]\" }\n"
              "  aiv:\n"
              "    - wait: { pipe: MTE2, flag: 3 }\n"
              "    - if: lane == 0\n"
              "      do: [ load: { from: \"s[:, :]\", to: u } ]\n"
              "    - signal: { pipe: MTE3, flag: 10 }\n",
              "s fp32 16x16; w int8 4x1024; grid b 1");
    assert_int_equal(f->program.engine, NPU_MIX);
    assert_string_equal(list_block(f, NPU_AIC, 0, 0), "store c0.0 > s 0+1024\n"
                                                      "signal FIXPIPE 3\n"
                                                      "wait MTE2 10\n"
                                                      "prefetch w 1024+2048\n");
    assert_int_equal(f->ops[3].pipe, NPU_PIPE_S);
    assert_string_equal(list_block(f, NPU_AIV, 0, 0), "wait MTE2 3\n"
                                                      "load s 0+1024 > u.1\n"
                                                      "signal MTE3 10\n");
    assert_string_equal(list_block(f, NPU_AIV, 0, 1), "wait MTE2 3\nsignal MTE3 10\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_loop_takes_the_copies_of_its_slots_in_turn, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_stream_can_be_copied, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_write_in_place_or_into_a_part_keeps_the_copy, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_matmul_that_accumulates_stays_in_its_copy, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(slots_have_the_type_of_an_argument_or_their_own, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_vec_is_as_large_as_its_slots_unless_it_says_so, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_first_axis_of_the_grid_is_the_slowest, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(loads_stores_and_matmuls_have_a_mode, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_axis_that_is_not_given_has_one_step, set_up, tear_down),
        cmocka_unit_test_setup_teardown(defaults_may_use_what_is_already_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shapes_bind_names_and_check_what_is_known, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(loops_nest_and_may_be_empty, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ifs_choose_at_binding_or_while_streaming, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_mix_kernel_has_a_program_per_core, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
