// SPDX-License-Identifier: Apache-2.0
// What npu_graph_check says about tiles, runs, blocks and races.
#include "test_model.h"

static const npu_walls walls = {
    .buffer = {64 << 10, 64 << 10, 128 << 10, 512 << 10, 184 << 10},
    .align = {512, 512, 512, 32, 32},
    .min_alloc = 32,
    .line = 512,
    .clusters = 24,
};

#define X "tensors: { x: { shape: [64, 1024], dtype: fp32, external: true } }\n"
#define ONE "tasks: [{ task: q, kernel: k, x: x }]\n"
#define KERNEL(engine, slots, program)                                                             \
    "kernels:\n  k:\n    engine: " engine                                                          \
    "\n    args: { x: { access: in, shape: [R, C] } }\n    slots:\n" slots                         \
    "    program:\n" program
#define IDLE "      - scalar: { ops: 1 }\n"

static npu_status check(fixture *f, const char *text) {
    loads(f, text);
    npu_warnings_free(&f->warnings);
    return npu_graph_check(&f->graph, &walls, &f->warnings, &f->err);
}

static void fits(fixture *f, const char *text) {
    npu_status status = check(f, text);
    assert_string_equal(f->err.text, "");
    assert_int_equal(status, NPU_OK);
}

static void is_refused(fixture *f, const char *text, const char *message) {
    assert_int_equal(check(f, text), NPU_BAD_INPUT);
    assert_string_equal(f->err.text, message);
}

static void a_tile_over_its_buffer_tells_what_would_fit(void **state) {
    is_refused(*state,
               KERNEL("aic", "      c: { in: l0c, shape: [64, 1024], dtype: fp32 }\n", IDLE) X ONE,
               "g.yaml:10:9: task 'q': an L0C tile of 64 x 1024 fp32 is 256 KiB, over 128 KiB; the "
               "largest n for m = 64 is 512 (slot 'c', g.yaml:6)");
    is_refused(*state,
               KERNEL("aic", "      b: { in: l0b, shape: [512, 128], dtype: int16 }\n", IDLE) X ONE,
               "g.yaml:10:9: task 'q': an L0B tile of 512 x 128 int16 is 128 KiB, over 64 KiB; the "
               "largest n for k = 512 is 64 (slot 'b', g.yaml:6)");
    is_refused(*state,
               KERNEL("aic", "      c: { in: l0c, shape: [65536, 2], dtype: fp32 }\n", IDLE) X ONE,
               "g.yaml:10:9: task 'q': an L0C tile of 65536 x 2 fp32 is 512 KiB, over 128 KiB "
               "(slot 'c', g.yaml:6)");
    is_refused(*state,
               KERNEL("aiv", "      t: { in: ub, shape: [2, 32768], dtype: fp32 }\n", IDLE) X ONE,
               "g.yaml:10:9: task 'q': a UB tile of 2 x 32768 fp32 is 256 KiB, over 184 KiB; 2 "
               "rows can have at most 23552 columns (slot 't', g.yaml:6)");
    is_refused(*state, KERNEL("aiv", "      t: { in: ub, bytes: 185 * 1024 }\n", IDLE) X ONE,
               "g.yaml:10:9: task 'q': the UB slot 't' (g.yaml:6) is 185 KiB, over 184 KiB");
}

static void a_full_buffer_shows_its_sum(void **state) {
    is_refused(*state,
               KERNEL("aiv",
                      "      xb: { in: ub, bytes: 64KiB, copies: 2 }\n"
                      "      yb: { in: ub, bytes: 32KiB, copies: 2 }\n",
                      IDLE) X ONE,
               "g.yaml:11:9: task 'q': UB: xb 2 x 64 KiB + yb 2 x 32 KiB = 192 KiB, over 184 KiB "
               "(g.yaml:6)");
    fits(*state, KERNEL("aiv",
                        "      xb: { in: ub, bytes: 64KiB, copies: 2 }\n"
                        "      yb: { in: ub, bytes: 28KiB, copies: 2 }\n",
                        IDLE) X ONE);
}

// 92 KiB twice would fit exactly; 32 B more do not.
static void slots_are_rounded_up_to_the_alignment(void **state) {
    fits(*state, KERNEL("aiv", "      t: { in: ub, bytes: 92KiB, copies: 2 }\n", IDLE) X ONE);
    is_refused(*state,
               KERNEL("aiv",
                      "      t: { in: ub, bytes: 92KiB - 31, copies: 2 }\n"
                      "      u: { in: ub, bytes: 1 }\n",
                      IDLE) X ONE,
               "g.yaml:11:9: task 'q': UB: t 2 x 92 KiB + u 1 x 32 B = 188448 B, over 184 KiB "
               "(g.yaml:6)");
}

static void a_slot_below_the_smallest_is_a_warning(void **state) {
    fixture *f = *state;
    fits(f, KERNEL("aiv", "      t: { in: ub, bytes: 4 }\n", IDLE) X ONE);
    assert_int_equal(f->warnings.count, 1);
    assert_string_equal(f->warnings.lines[0], "g.yaml:6:7: the slot 't' of 4 B takes 32 B");
}

static void both_halves_of_a_mix_are_checked(void **state) {
    is_refused(
        *state,
        "kernels:\n  k:\n    engine: mix\n    args: { x: in }\n    slots:\n"
        "      l: { in: l1, bytes: 512KiB }\n"
        "      u: { in: ub, bytes: 100KiB, copies: 2 }\n"
        "    program: { aic: [{ scalar: { ops: 1 } }], aiv: [{ scalar: { ops: 1 } }] }\n" X ONE,
        "g.yaml:10:9: task 'q': UB: u 2 x 100 KiB = 200 KiB, over 184 KiB (g.yaml:7)");
}

#define TILE "      t: { in: ub, shape: [16, 64], dtype: x, copies: 2 }\n"

static void short_rows_are_a_warning(void **state) {
    fixture *f = *state;
    fits(f, KERNEL("aiv", TILE, "      - load: { from: \"x[0 : 16, block * 64 : 64]\", to: t }\n") X
         "tasks: [{ for: g in 0..2, do: [{ task: \"q[g]\", kernel: k, x: x, grid: { n: 16 } }]"
         " }]\n");
    assert_int_equal(f->warnings.count, 1);
    assert_string_equal(f->warnings.lines[0],
                        "g.yaml:10:62: task 'q' argument x: rows of 256 B are shorter than a 512 B "
                        "line: up to 2.0x the bytes move");
}

static void rows_of_a_line_and_single_short_reads_are_fine(void **state) {
    fixture *f = *state;
    fits(f, KERNEL("aiv", "      t: { in: ub, shape: [16, 128], dtype: x }\n",
                   "      - load: { from: \"x[0 : 16, 0 : 128]\", to: t }\n"
                   "      - load: { from: \"x[3, 0 : 8]\", to: \"t[..]\" }\n") X ONE);
    assert_int_equal(f->warnings.count, 0);
}

static void a_region_that_leaves_its_tensor_is_found(void **state) {
    is_refused(*state,
               KERNEL("aiv", TILE,
                      "      - loop: i in 0..20\n"
                      "        do: [{ load: { from: \"x[0 : 16, i * 64 : 64]\", to: t } }]\n")
                   X ONE,
               "g.yaml:9:31: x[1024 : 64] leaves dimension 1 of 'x', which has 1024 (block 0 of "
               "task 'q')");
    is_refused(
        *state,
        KERNEL("aiv", TILE, "      - load: { from: \"x[0 : 16, block * 64 : 64]\", to: t }\n") X
        "tasks: [{ task: q, kernel: k, x: x, grid: { n: 17 } }]\n",
        "g.yaml:8:24: x[1024 : 64] leaves dimension 1 of 'x', which has 1024 (block 16 of "
        "task 'q')");
}

static void blocks_that_start_together_must_fit(void **state) {
    is_refused(*state,
               KERNELS X
               "tasks: [{ task: a, kernel: add, y: x, sync_start: true, grid: { n: 25 } }]\n",
               "g.yaml:10:9: task 'a': sync_start with 25 blocks, but only 24 aic blocks fit on 24 "
               "clusters at once");
    is_refused(*state,
               KERNELS X
               "tasks: [{ task: a, kernel: read, x: x, sync_start: true, grid: { n: 49 } }]\n",
               "g.yaml:10:9: task 'a': sync_start with 49 blocks, but only 48 aiv blocks fit on 24 "
               "clusters at once");
    fits(*state,
         KERNELS X "tasks: [{ task: a, kernel: read, x: x, sync_start: true, grid: { n: 48 } }]\n");
    fits(*state, KERNELS X "tasks: [{ task: a, kernel: read, x: x, grid: { n: 480 } }]\n");
}

#define Z                                                                                          \
    "tensors: { x: { shape: [8, 64], dtype: fp32, external: true }, z: { shape: [8], dtype: fp32 " \
    "} }\n"

static void a_write_after_a_read_is_a_warning(void **state) {
    fixture *f = *state;
    fits(f, KERNELS Z "tasks:\n"
                      "  - for: i in 0..3\n"
                      "    do: [{ task: \"r[i]\", kernel: read, x: \"x[i, :]\" }]\n"
                      "  - { task: w, kernel: put, y: x }\n");
    assert_int_equal(f->warnings.count, 1); // one for the three readers
    assert_string_equal(f->warnings.lines[0],
                        "g.yaml:13:32: no edge orders task 'w', which writes 'x', after 'r[2]', "
                        "which reads it");
}

static void two_writers_without_an_edge_are_a_warning(void **state) {
    fixture *f = *state;
    fits(f, KERNELS Z "tasks:\n"
                      "  - { task: a, kernel: put, y: x }\n"
                      "  - { task: b, kernel: put, y: \"x[0 : 2, :]\" }\n"
                      "  - { task: c, kernel: read, x: x, edges: manual, after: b }\n");
    assert_int_equal(f->warnings.count, 2);
    assert_string_equal(f->warnings.lines[0],
                        "g.yaml:12:33: no edge orders task 'b', which writes 'x', after 'a', which "
                        "writes it");
    assert_string_equal(f->warnings.lines[1],
                        "g.yaml:13:33: no edge orders task 'c', which reads 'x', after 'a', which "
                        "writes it");
}

static void order_through_other_tasks_is_order(void **state) {
    fixture *f = *state;
    fits(f, KERNELS Z "tasks:\n"
                      "  - { task: r, kernel: use, x: x, y: z }\n"
                      "  - { dummy: d, after: r }\n"
                      "  - { task: w, kernel: put, y: x, after: d }\n"
                      "  - { task: p, kernel: peek, x: x }\n");
    assert_int_equal(f->warnings.count, 0);
}

static void parts_that_do_not_meet_are_no_race(void **state) {
    fixture *f = *state;
    fits(f, KERNELS Z "tasks:\n"
                      "  - { task: a, kernel: put, y: \"x[:, 0 : 32]\" }\n"
                      "  - { task: b, kernel: put, y: \"x[:, 32 : 32]\" }\n");
    assert_int_equal(f->warnings.count, 0);
}

#define ADDER(atomic)                                                                              \
    "kernels: { k: { engine: aiv, args: { y: { access: inout, shape: [R, C] } },\n"                \
    "  slots: { t: { in: ub, shape: [R, C], dtype: y } },\n"                                       \
    "  program: [{ vec: { op: fill, out: t } }, { store: { from: t, to: \"y[:, :]\", "             \
    "atomic: " atomic " } }] } }\n"
#define TWO_ADD                                                                                    \
    "tasks: [{ scope: manual, do: [{ task: a, kernel: k, y: x }, { task: b, kernel: k, y: x }] "   \
    "}]\n"

static void tasks_that_only_add_need_no_order(void **state) {
    fixture *f = *state;
    fits(f, ADDER("true") Z TWO_ADD);
    assert_int_equal(f->warnings.count, 0);
    fits(f, ADDER("false") Z TWO_ADD);
    assert_int_equal(f->warnings.count, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_tile_over_its_buffer_tells_what_would_fit),
        TEST(a_full_buffer_shows_its_sum),
        TEST(slots_are_rounded_up_to_the_alignment),
        TEST(a_slot_below_the_smallest_is_a_warning),
        TEST(both_halves_of_a_mix_are_checked),
        TEST(short_rows_are_a_warning),
        TEST(rows_of_a_line_and_single_short_reads_are_fine),
        TEST(a_region_that_leaves_its_tensor_is_found),
        TEST(blocks_that_start_together_must_fit),
        TEST(a_write_after_a_read_is_a_warning),
        TEST(two_writers_without_an_edge_are_a_warning),
        TEST(order_through_other_tasks_is_order),
        TEST(parts_that_do_not_meet_are_no_race),
        TEST(tasks_that_only_add_need_no_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
