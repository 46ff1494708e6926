// SPDX-License-Identifier: Apache-2.0
// The pipes of one core. On the die of test_sim_core.h a load of n lines that hit takes 10
// (issue) + 100 (latency) + n ns, one that misses 10 + 1000 + n, a store 10 + n (and 100 until
// others see it), an add of n lines 20 (start-up) + n. S issues at no cost, if a test does not say
// so.
#include "test_sim_core.h"

#define ADD(in, out) "{ vec: { op: add, in: " #in ", out: " #out " } }"
#define LOAD(rows, to) "{ load: { from: 'x[" #rows ", :]', to: " #to " } }"
#define STORE(from, rows) "{ store: { from: " #from ", to: 'y[" #rows ", :]' } }"
#define AIV(memory, slots, ops) GRAPH("aiv", memory, slots, "[" ops "]")
#define AB UB(a, 100, 1) ", " UB(b, 100, 1)
#define ABCD AB ", " UB(c, 100, 1) ", " UB(d, 100, 1)

// ---- waiting ---------------------------------------------------------------------------------

static void an_op_waits_for_what_it_reads(void **state) {
    // Load 10 + 100 + 100 = 210; add 20 + 100 = 330; store 10 + 100 = 440; seen at 540.
    double end = run_alone(
        *state, AIV(WARM, AB, LOAD(0 : 100, a) "," ADD(a, b) "," STORE(b, 0 : 100)), AIV0);
    assert_time(end, 540);
}

static void a_write_waits_until_the_copy_is_drained(void **state) {
    // Load 210, add 330; the second load may ask only then: 540.
    double end = run_alone(
        *state, AIV(WARM, AB, LOAD(0 : 100, a) "," ADD(a, b) "," LOAD(100 : 100, a)), AIV0);
    assert_time(end, 540);
    // With a second copy it moves from 210 to 310, and the add is the last to end.
    end = run_alone(*state,
                    AIV(WARM, UB(a, 100, 2) ", " UB(b, 100, 1),
                        LOAD(0 : 100, a) "," ADD(a, b) "," LOAD(100 : 100, a)),
                    AIV0);
    assert_time(end, 330);
}

static void a_pipe_takes_its_ops_in_order(void **state) {
    fixture *f = *state;
    f->die.vector.ops[NPU_VEC_ADD].per_repeat = 5; // an add of 100 lines takes 20 + 1000
    // The first store waits for the add, until 1020, and moves 1030 - 1130. The second has
    // nothing to wait for, but moves behind it, until 1230; seen at 1330.
    double end = run_alone(
        f, AIV(WARM, ABCD, ADD(a, b) "," STORE(b, 0 : 100) "," STORE(c, 100 : 100)), AIV0);
    assert_time(end, 1330);
    assert_time(f->rows[0].busy[NPU_PIPE_MTE3], 1230 - 1020);
}

static void every_op_of_a_stream_pays_its_start_up(void **state) {
    fixture *f = *state;
    // Whether the next op needs the result or not.
    double end = run_alone(f, AIV(WARM, ABCD, ADD(a, b) "," ADD(a, c) "," ADD(a, d)), AIV0);
    assert_time(end, 3 * (20 + 100));
    assert_time(f->rows[0].busy[NPU_PIPE_V], 3 * (20 + 100));
    end = run_alone(f, AIV(WARM, ABCD, ADD(a, b) "," ADD(b, c) "," ADD(c, d)), AIV0);
    assert_time(end, 3 * (20 + 100));
    assert_time(f->rows[0].busy[NPU_PIPE_V], 3 * (20 + 100));
}

static void v_overwrites_what_it_has_read_at_once(void **state) {
    // The last three write what an earlier add reads or writes: V is past that.
    double end = run_alone(
        *state, AIV(WARM, ABCD, ADD(a, b) "," ADD(c, a) "," ADD(d, b) "," ADD(d, c)), AIV0);
    assert_time(end, 4 * (20 + 100));
}

#define ADD_BOTH "{ vec: { op: add, in: [a, b], out: c, shape: [100, 128] } }"
#define PADDED                                                                                     \
    UB(a, 100, 1) ", b: { in: ub, shape: [100, 128], dtype: fp32, pad: 256 }, " UB(c, 100, 1)

static void sources_that_start_in_one_bank_group_are_slow(void **state) {
    fixture *f = *state;
    f->die.vector.bank_conflict = 2; // 200 repeats at 2 cycles instead of 0.5
    // b starts 51200 B behind a: 1600 rows of 32 B, a multiple of the 16 groups. With 256 B more
    // it is 8 groups away.
    assert_time(run_alone(f, AIV(WARM, ABCD, ADD_BOTH), AIV0), 20 + 400);
    assert_time(run_alone(f, AIV(WARM, PADDED, ADD_BOTH), AIV0), 20 + 100);
}

#define ADD_ROWS(cols)                                                                             \
    "x1: { in: ub, shape: [100, " #cols "], dtype: fp32 }, " UB(b, 100, 1) ", " UB(c, 100, 1)
#define ADD_WIDE "{ vec: { op: add, in: [x1, b], out: c, shape: [100, 128] } }"

static void a_source_of_one_block_per_row_is_slow(void **state) {
    fixture *f = *state;
    f->die.vector.broadcast = 1.5; // 200 repeats at 1.5 cycles instead of 0.5
    assert_time(run_alone(f, AIV(WARM, ADD_ROWS(8), ADD_WIDE), AIV0), 20 + 300);
    assert_time(run_alone(f, AIV(WARM, ADD_ROWS(16), ADD_WIDE), AIV0), 20 + 100);
    // Rows of one block on both sides are no broadcast: 100 short rows of a repeat each.
    assert_time(run_alone(f,
                          AIV(WARM, ADD_ROWS(8),
                              "{ vec: { op: add, in: [x1, b], out: c, shape: [100, 8] } }"),
                          AIV0),
                20 + 50);
}

static void an_old_result_is_not_forgotten(void **state) {
    fixture *f = *state;
    f->die.vector.ops[NPU_VEC_ADD].startup = f->die.vector.ops[NPU_VEC_MULS].startup = 0;
    // V is done with the adds at 100 and 200 and with the rest at 1200. When MTE3 comes to its
    // second store, at 100, V has gone 1000 ops past the add that it waits for. Stores 110 - 210
    // and 210 - 310; L2 has answered at 410, then the load is asked for, 10 + 1000 + 100.
    double end = run_alone(
        f,
        AIV(COLD, AB ", " UB(c, 100, 1) ", " UB(d, 1, 1),
            ADD(a, b) "," STORE(b, 0 : 100) "," ADD(a, c) "," STORE(c, 100 : 100) "," LOAD(
                0 : 100, c) ", { loop: i in 0..1000, do: [{ vec: { op: muls, in: d, out: d } }] }"),
        AIV0);
    assert_time(end, 1520);
}

static void an_old_slot_is_not_forgotten(void **state) {
    fixture *f = *state;
    // V's add is 1000 ops old when S issues the store that waits for it: S is held by V's queue
    // of 32 until the last but 32 of the others starts, at 21 + 967 * 21 = 20328. The store moves
    // 20338 - 20339 and is answered at 20439, the load behind it takes 10 + 1000 + 1.
    double end =
        run_alone(f,
                  AIV(COLD, UB(b, 1, 1) ", " UB(d, 1, 1),
                      "{ vec: { op: add, in: d, out: b } },"
                      "{ loop: i in 0..1000, do: [{ vec: { op: muls, in: d, out: d } }] }," STORE(
                          b, 0 : 1) "," LOAD(0 : 1, b)),
                  AIV0);
    assert_time(end, 21450);
}

// ---- slot copies -----------------------------------------------------------------------------

static const char *const loads_and_adds[] = {
    AIV(WARM, UB(a, 100, 1) ", " UB(b, 100, 4),
        "{ loop: i in 0..4, do: [" LOAD(100 * i : 100, a) "," ADD(a, b) "] }"),
    AIV(WARM, UB(a, 100, 2) ", " UB(b, 100, 4),
        "{ loop: i in 0..4, do: [" LOAD(100 * i : 100, a) "," ADD(a, b) "] }"),
    AIV(WARM, UB(a, 100, 3) ", " UB(b, 100, 4),
        "{ loop: i in 0..4, do: [" LOAD(100 * i : 100, a) "," ADD(a, b) "] }"),
};

static void copies_decide_how_far_loads_and_adds_overlap(void **state) {
    fixture *f = *state;
    f->die.vector.ops[NPU_VEC_ADD].per_repeat = 0.8; // an add takes 20 + 160
    // One copy: load, add, load, add ... each 10 + 100 + 100 + 180.
    assert_time(run_alone(f, loads_and_adds[0], AIV0), 4 * 390);
    // Two copies (the example of docs/model.md). Loads end at 210, 310; adds run 210 - 390, 390 -
    // 570. The third load asks at 390 and ends at 600, the fourth 570, 780; adds 600 - 780, 780 -
    // 960.
    assert_time(run_alone(f, loads_and_adds[1], AIV0), 960);
    assert_time(f->rows[0].busy[NPU_PIPE_MTE2], 310 + 210 + 180);
    assert_time(f->rows[0].busy[NPU_PIPE_V], 4 * 180);
    // Three copies: V never waits again.
    assert_time(run_alone(f, loads_and_adds[2], AIV0), 210 + 4 * 180);
}

#define SHORT_LOADS(copies)                                                                        \
    AIV(COLD, UB(a, 10, copies) ", " UB(b, 10, 8),                                                 \
        "{ loop: i in 0..8, do: [" LOAD(10 * i : 10, a) "," ADD(a, b) "] }")

static void a_copy_that_is_stored_is_taken_until_l2_has_answered(void **state) {
    fixture *f = *state;
    f->die.l2.write_latency = 300;
    // Load 210, store 320, answered at 620; load 830, store 940, answered at 1240.
    double end = run_alone(
        f,
        AIV(WARM, UB(a, 100, 1),
            "{ loop: i in 0..2, do: [" LOAD(100 * i : 100, a) "," STORE(a, 100 * i : 100) "] }"),
        AIV0);
    assert_time(end, 1240);
    assert_time(f->rows[0].busy[NPU_PIPE_MTE3], 2 * 110);
    // Stores do not wait for the answers to those before: 110, 210, 310, answered at 610.
    end = run_alone(
        f, AIV(WARM, AB, STORE(a, 0 : 100) "," STORE(a, 100 : 100) "," STORE(b, 200 : 100)), AIV0);
    assert_time(end, 610);
}

static void latency_is_hidden_as_far_as_copies_allow(void **state) {
    fixture *f = *state;
    // One copy: 8 times 10 + 1000 + 10, and 30 for the add.
    assert_time(run_alone(f, SHORT_LOADS(1), AIV0), 8 * 1050);
    // Two: asked for in pairs, at 0 and 10, 1050 and 1080, 2100 and 2130 ... The pair's second add
    // ends 30 later.
    assert_time(run_alone(f, SHORT_LOADS(2), AIV0), 4 * 1050 + 30);
    // Eight: asked for at 0, 10 ... 70; one latency for all, and then V is never idle.
    assert_time(run_alone(f, SHORT_LOADS(8), AIV0), 1020 + 8 * 30);
}

static void loads_compute_and_stores_overlap(void **state) {
    fixture *f = *state;
    // Two copies of both slots, 4 times load 100, add 20 + 100, store 100. Loads end at 210, 310;
    // adds run 210 - 330, 330 - 450; so loads ask at 330 and 450 and end at 540, 660; adds 540 -
    // 660, 660 - 780. Stores ask at 330, 450, 660, 780 and end at 440, 560, 770, 890; seen at 990.
    double end = run_alone(f,
                           AIV(WARM, UB(a, 100, 2) ", " UB(b, 100, 2),
                               "{ loop: i in 0..4, do: [" LOAD(100 * i : 100, a) "," ADD(
                                   a, b) "," STORE(b, 100 * i : 100) "] }"),
                           AIV0);
    assert_time(end, 990);
}

// ---- issuing ---------------------------------------------------------------------------------

static void a_full_queue_holds_s(void **state) {
    fixture *f = *state;
    const char *text =
        AIV(WARM, ABCD,
            ADD(a, b) "," ADD(a, c) "," ADD(a, d) "," ADD(a, b) ", { scalar: { ops: 1000 } }");
    f->die.scalar.issue = 1;
    // S issues at 1, 2, 3, 4 and computes from 4 to 1005.
    assert_time(run_alone(f, text, AIV0), 1005);
    // With two places the third add is issued when the first starts (1), the fourth when the
    // second does (121): at 3 and 122. S then computes until 1123.
    f->die.scalar.queue_depth = 2;
    assert_time(run_alone(f, text, AIV0), 1123);
    assert_time(f->rows[0].busy[NPU_PIPE_S], 4 + 1001);
}

static void a_queue_is_full_until_its_first_op_starts(void **state) {
    fixture *f = *state;
    f->die.scalar.issue = 1;
    f->die.scalar.queue_depth = 2;
    // Issued at 1: the load, there at 211; at 2 and 3: adds that wait for it. The place of the
    // first is free at 211, for the third add at 212; then S computes for 1001.
    double end = run_alone(f,
                           AIV(WARM, ABCD,
                               LOAD(0 : 100, a) "," ADD(a, b) "," ADD(a, c) "," ADD(
                                   a, d) ", { scalar: { ops: 1000 } }"),
                           AIV0);
    assert_time(end, 1213);
    // A load starts when it is asked for: the second at 331, when the add is done with its slot.
    // Its place in a queue of one goes to the third at 332. S computes until 1333.
    f->die.scalar.queue_depth = 1;
    end = run_alone(f,
                    AIV(WARM, AB,
                        LOAD(0 : 100, a) "," ADD(a, b) "," LOAD(100 : 1, a) "," LOAD(
                            200 : 1, a) ", { scalar: { ops: 1000 } }"),
                    AIV0);
    assert_time(end, 1333);
}

static void s_issues_one_op_after_the_other(void **state) {
    fixture *f = *state;
    f->die.scalar.issue = 300;
    // The adds are issued at 300 and 600, the second ends at 620 + 100.
    assert_time(run_alone(f, AIV(WARM, ABCD, ADD(a, b) "," ADD(a, c)), AIV0), 720);
    // Instructions and round trips of S: 300 + 7 + 2 * 200.
    assert_time(run_alone(f, AIV(WARM, AB, "{ scalar: { ops: 7, gm: 2 } }"), AIV0), 707);
}

static void rows_cost_issue(void **state) {
    fixture *f = *state;
    f->die.mte.per_row = 5;
    const char *text =
        AIV(WARM, UB(a, 8, 2),
            "{ loop: i in 0..2, do: [{ load: { from: 'x[8 * i : 8, 0 : 32]', to: a } }] }");
    // 8 rows of 128 B: issued in 10 + 8 * 5 = 50; the last byte comes 100 later, at 150 (their 8
    // sectors alone would be there at 112). The second load is issued from 50 to 100.
    assert_time(run_alone(f, text, AIV0), 200);
    // Whole lines side by side are one row.
    assert_time(run_alone(f, AIV(WARM, UB(a, 8, 1), LOAD(0 : 8, a)), AIV0), 10 + 100 + 8);
}

static void ops_of_fixed_cost_need_no_events(void **state) {
    fixture *f = *state;
    run_alone(
        f,
        AIV(WARM, ABCD,
            "{ loop: i in 0..500, do: [" ADD(a, b) "," ADD(b, c) ", { scalar: { ops: 3 } }] }"),
        AIV0);
    const npu_engine_stats *stats = npu_engine_get_stats(f->engine);
    assert_true(stats->delays == 1 && stats->flows == 0); // the end of the block
    assert_true(f->rows[0].ops == 1500);
}

// ---- the AIC's chain ---------------------------------------------------------------------------

#define CUBE_SLOTS                                                                                 \
    "a1: { in: l1, shape: [16, 128], dtype: fp32 }, a0: { in: l0a, shape: [16, 128], dtype: fp32 " \
    "},"                                                                                           \
    " b0: { in: l0b, shape: [128, 16], dtype: fp32 }, c0: { in: l0c, shape: [16, 16], dtype: "     \
    "fp32 }"

static void a_tile_goes_through_the_cube(void **state) {
    fixture *f = *state;
    double end =
        run_alone(f,
                  GRAPH("aic", WARM, CUBE_SLOTS,
                        "[" LOAD(0 : 16, a1) ", { extract: { from: a1, to: a0 } },"
                                             " { extract: { from: a1, to: b0 } },"
                                             " { loop: i in 0..2, do: [{ matmul: { a: a0, b: b0, "
                                             "to: c0, shape: [16, 16, 128], acc: i } }] },"
                                             " { store: { from: c0, to: 'y[0 : 16, 0 : 16]' } }]"),
                  AIC0);
    const npu_row *row = &f->rows[0];
    // Load 10 + 100 + 16 = 126.
    assert_time(row->busy[NPU_PIPE_MTE2], 126);
    // 8 KiB at 256 and at 128 B per cycle, 50 each on top: 82, until 208, and 114, until 322.
    assert_time(row->busy[NPU_PIPE_MTE1], 82 + 114);
    // 16 fractals of 8 in k, 2 cycles each, and 20: until 374 and 426.
    assert_time(row->busy[NPU_PIPE_M], 2 * 52);
    // 160 + 16 rows of 4 = 224, until 650; the 16 lines need only from 586 to 602. Seen at 750.
    assert_time(row->busy[NPU_PIPE_FIXPIPE], 224);
    assert_time(end, 750);
    assert_true(row->ops == 6);
    assert_true(row->read_bytes == 16 * 512 && row->write_bytes == 16 * 64);
    const npu_totals *totals = &f->trace.totals;
    assert_true(totals->mac_padded == 2 * 16 * 16 * 128 && totals->mac_valid == totals->mac_padded);
    assert_true(totals->ops == 6 && totals->vec_elements == 0);
}

static void a_wide_drain_is_bound_by_its_bytes(void **state) {
    fixture *f = *state;
    f->die.aic.write = 8;
    // 16 lines at 8 B/ns take 1024 ns, from 160 on, longer than the drain (224). Seen 100 later.
    assert_time(run_alone(f,
                          GRAPH("aic", WARM, CUBE_SLOTS,
                                "[{ store: { from: c0, to: 'y[0 : 16, 0 : 16]' } }]"),
                          AIC0),
                160 + 1024 + 100);
}

// ---- blocks ------------------------------------------------------------------------------------

static void a_block_ends_when_its_stores_are_seen(void **state) {
    fixture *f = *state;
    assert_time(run_alone(f, AIV(WARM, AB, STORE(a, 0 : 100)), AIV0), 10 + 100 + 100);
    assert_time(f->rows[0].busy[NPU_PIPE_MTE3], 10 + 100);
}

static void a_block_without_ops_ends_at_once(void **state) {
    fixture *f = *state;
    load(f, AIV(WARM, AB, "{ if: block == 1, do: [" ADD(a, b) "] }"));
    start_at(f, 0, 0, AIV0, 70);
    run(f);
    assert_time(f->rows[0].start, 70);
    assert_time(f->rows[0].end, 70);
    assert_true(f->rows[0].ops == 0);
}

static void blocks_of_one_core_do_not_touch(void **state) {
    fixture *f = *state;
    load(f,
         AIV(WARM, AB, LOAD(100 * block : 100, a) "," ADD(a, b) "," STORE(b, 100 * block : 100)));
    for (int block = 0; block < 5; block++)
        start_at(f, 0, block, AIV0, 0);
    int late = start_at(f, 0, 5, AIV1, 1000);
    run(f);
    for (int row = 0; row < 5; row++) {
        assert_time(f->rows[row].start, 540 * row);
        assert_time(f->rows[row].end, 540 * (row + 1));
        assert_true(f->rows[row].ops == 3 && f->rows[row].read_bytes == 51200);
        assert_time(f->rows[row].busy[NPU_PIPE_MTE2], 210);
    }
    assert_time(f->rows[late].end, 1000 + 540);
    assert_true(f->trace.totals.load_bytes[NPU_ACTIVATION] == 6 * 51200);
    assert_true(f->trace.totals.store_bytes[NPU_ACTIVATION] == 6 * 51200);
    assert_true(f->trace.totals.vec_elements == 6 * 12800);
}

static void a_region_outside_its_tensor_is_the_first_error(void **state) {
    fixture *f = *state;
    load(f, AIV(WARM, AB, LOAD(4000 + 60 * block : 60, a)));
    for (int block = 0; block < 4; block++)
        start_at(f, 0, block, AIV0 + block, 100 * block);
    assert_int_equal(carry_out(f), NPU_BAD_INPUT);
    assert_non_null(strstr(f->err.text, "'x'"));
    assert_time(npu_engine_now(f->engine), 100); // it stopped there
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(an_op_waits_for_what_it_reads),
        TEST(a_write_waits_until_the_copy_is_drained),
        TEST(a_pipe_takes_its_ops_in_order),
        TEST(every_op_of_a_stream_pays_its_start_up),
        TEST(v_overwrites_what_it_has_read_at_once),
        TEST(sources_that_start_in_one_bank_group_are_slow),
        TEST(a_source_of_one_block_per_row_is_slow),
        TEST(an_old_result_is_not_forgotten),
        TEST(an_old_slot_is_not_forgotten),
        TEST(copies_decide_how_far_loads_and_adds_overlap),
        TEST(a_copy_that_is_stored_is_taken_until_l2_has_answered),
        TEST(latency_is_hidden_as_far_as_copies_allow),
        TEST(loads_compute_and_stores_overlap),
        TEST(a_full_queue_holds_s),
        TEST(a_queue_is_full_until_its_first_op_starts),
        TEST(s_issues_one_op_after_the_other),
        TEST(rows_cost_issue),
        TEST(ops_of_fixed_cost_need_no_events),
        TEST(a_tile_goes_through_the_cube),
        TEST(a_wide_drain_is_bound_by_its_bytes),
        TEST(a_block_ends_when_its_stores_are_seen),
        TEST(a_block_without_ops_ends_at_once),
        TEST(blocks_of_one_core_do_not_touch),
        TEST(a_region_outside_its_tensor_is_the_first_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
