// SPDX-License-Identifier: Apache-2.0
// Cross-core flags, on the die of test_sim_core.h: a flag takes 50 ns, S issues at no cost.
#include "test_sim_core.h"

#define SIGNAL(pipe, flag) "{ signal: { pipe: " #pipe ", flag: " #flag " } }"
#define WAIT(pipe, flag) "{ wait: { pipe: " #pipe ", flag: " #flag " } }"
#define SCALAR(ops) "{ scalar: { ops: " #ops " } }"
#define LOAD(rows, to) "{ load: { from: 'x[" #rows ", :]', to: " #to " } }"
#define STORE(from, rows) "{ store: { from: " #from ", to: 'y[" #rows ", :]' } }"
#define TIMES(count, ops) "{ loop: i in 0.." #count ", do: [" ops "] }"
#define SLOTS                                                                                      \
    UB(a, 100, 1)                                                                                  \
    ", " UB(b, 1, 1) ", l: { in: l1, shape: [100, 128], dtype: fp32 },"                            \
                     " a0: { in: l0a, shape: [16, 128], dtype: fp32 },"                            \
                     " b0: { in: l0b, shape: [128, 16], dtype: fp32 },"                            \
                     " c0: { in: l0c, shape: [16, 16], dtype: fp32 }"
#define MIX(aic, aiv) GRAPH("mix", WARM, SLOTS, "{ aic: [" aic "], aiv: [" aiv "] }")

// One MIX block on the first cluster: ends[0] is the AIC's, then the lanes'.
static void run_mix(fixture *f, const char *text, double ends[3]) {
    load(f, text);
    int first = start_at(f, 0, 0, AIC0, 0);
    start_at(f, 0, 0, AIV0, 0);
    start_at(f, 0, 0, AIV1, 0);
    run(f);
    for (int i = 0; i < 3; i++)
        ends[i] = f->rows[first + i].end;
}

static void a_flag_of_the_aic_is_seen_by_both_lanes(void **state) {
    double ends[3];
    run_mix(*state, MIX(SCALAR(100) "," SIGNAL(S, 3), WAIT(S, 3) "," SCALAR(10)), ends);
    assert_time(ends[0], 100);
    assert_time(ends[1], 100 + 50 + 10);
    assert_time(ends[2], 100 + 50 + 10);
}

static void the_aic_waits_for_both_lanes(void **state) {
    double ends[3];
    run_mix(*state,
            MIX(WAIT(S, 0) "," SCALAR(1), "{ scalar: { ops: 100 + 200 * lane } }," SIGNAL(S, 0)),
            ends);
    assert_time(ends[1], 100);
    assert_time(ends[2], 300);
    assert_time(ends[0], 300 + 50 + 1);
}

static void a_raiser_whose_end_is_known_ends_once(void **state) {
    fixture *f = *state;
    load(f, MIX(SIGNAL(S, 0) "," SCALAR(1000), WAIT(S, 0)));
    for (int block = 0; block < 2; block++)
        for (int core = 0; core < 3; core++)
            start_at(f, 0, block, core == 0 ? AIC0 : AIV0 + core - 1, 0);
    run(f);
    // The lanes take the first flag at 50 and the second, raised at 1000, at 1050.
    static const double ends[] = {1000, 50, 50, 2000, 1050, 1050};
    for (int row = 0; row < 6; row++)
        assert_time(f->rows[row].end, ends[row]);
}

static void a_flag_behind_a_store_waits_until_others_see_it(void **state) {
    double ends[3];
    // Stored from 10 to 110, seen at 210, the flag there at 260; the load takes 10 + 100 + 100.
    // The second store does not wait for the flag: from 110 to 210, seen at 310.
    run_mix(*state,
            MIX(WAIT(MTE2, 0) "," LOAD(0 : 100, l),
                STORE(a, 0 : 100) "," SIGNAL(MTE3, 0) "," STORE(a, 100 : 100)),
            ends);
    assert_time(ends[0], 470);
    assert_time(ends[1], 310);
    // FIXPIPE: drained at 160 + 16 * 4 = 224, seen at 324, the flag there at 374.
    run_mix(*state,
            MIX("{ store: { from: c0, to: 'y[0 : 16, 0 : 16]' } }," SIGNAL(FIXPIPE, 0),
                WAIT(MTE2, 0) "," LOAD(0 : 100, a)),
            ends);
    assert_time(ends[0], 324);
    assert_time(ends[1], 374 + 10 + 100 + 100);
}

static void a_flag_of_a_pipe_tells_that_its_ops_are_done(void **state) {
    double ends[3];
    // The add is done at 20 + 100, where the flag is raised and V goes on, until 240. The
    // matmul starts at 170: 16 fractals of 2, and 20.
    run_mix(*state,
            MIX(WAIT(M, 4) ", { matmul: { a: a0, b: b0, to: c0, shape: [16, 16, 128] } }",
                "{ vec: { op: add, in: a, out: a } }," SIGNAL(
                    V, 4) ", { vec: { op: add, in: a, out: a } }"),
            ends);
    assert_time(ends[0], 170 + 52);
    assert_time(ends[1], 240);
    // A load is there at 210, so the flag arrives at 260.
    run_mix(*state, MIX(LOAD(0 : 100, l) "," SIGNAL(MTE2, 4), WAIT(V, 4)), ends);
    assert_time(ends[1], 260);
}

static void a_wait_holds_its_pipe_and_no_other(void **state) {
    double ends[3];
    // The flag reaches MTE2 at 1050. V does not wait for it.
    run_mix(*state,
            MIX(SCALAR(1000) "," SIGNAL(S, 0),
                WAIT(MTE2, 0) "," LOAD(0 : 1, b) ", { vec: { op: add, in: a, out: a } }"),
            ends);
    assert_time(ends[2], 1050 + 10 + 100 + 1);
    fixture *f = *state;
    assert_time(f->rows[2].busy[NPU_PIPE_V], 20 + 100);
    assert_time(f->rows[2].busy[NPU_PIPE_MTE2], 111);
}

static void blocks_may_start_at_different_times(void **state) {
    fixture *f = *state;
    load(f, MIX(SIGNAL(S, 0) "," WAIT(S, 1) "," SCALAR(1),
                WAIT(S, 0) "," SCALAR(10) "," SIGNAL(S, 1)));
    int aic = start_at(f, 0, 0, AIC0, 0), late = start_at(f, 0, 0, AIV1, 3000);
    int early = start_at(f, 0, 0, AIV0, 1000);
    run(f);
    assert_time(f->rows[early].end, 1010);
    assert_time(f->rows[late].end, 3010);
    assert_time(f->rows[aic].end, 3010 + 50 + 1);
}

static void a_core_may_be_a_block_ahead(void **state) {
    fixture *f = *state;
    load(f, MIX(SIGNAL(S, 0) "," SCALAR(10), WAIT(S, 0) "," SCALAR(1000)));
    for (int block = 0; block < 3; block++)
        for (int core = 0; core < 3; core++)
            start_at(f, 0, block, core == 0 ? AIC0 : AIV0 + core - 1, 0);
    run(f);
    // Raised at 0, 10, 20; taken at 50, 1050, 2050.
    for (int block = 0; block < 3; block++) {
        assert_time(f->rows[3 * block].end, 10 * (block + 1));
        assert_time(f->rows[3 * block + 1].end, 50 + 1000 * (block + 1));
        assert_time(f->rows[3 * block + 2].end, 50 + 1000 * (block + 1));
    }
}

static void clusters_do_not_see_each_other(void **state) {
    fixture *f = *state;
    load(f, MIX(SIGNAL(S, 0), WAIT(S, 0)));
    static const int cores[2][3] = {{AIC0, AIV0, AIV1}, {AIC0 + 1, AIV2, AIV3}};
    for (int cluster = 0; cluster < 2; cluster++)
        for (int i = 0; i < 3; i++)
            start_at(f, 0, cluster, cores[cluster][i], cluster == 1 && i == 0 ? 5000 : 0);
    run(f);
    assert_time(f->rows[1].end, 50);
    assert_time(f->rows[2].end, 50);
    assert_time(f->rows[4].end, 5050);
    assert_time(f->rows[5].end, 5050);
}

static void a_raiser_is_held_while_the_flag_counts_15(void **state) {
    double ends[3];
    run_mix(*state,
            MIX("{ loop: i in 0..17, do: [" SIGNAL(S, 1) "," SCALAR(1) "] }",
                "{ loop: i in 0..17, do: [" WAIT(S, 1) "," SCALAR(100) "] }"),
            ends);
    // Taken at 50, 150, 250 ... Raised at 0, 1 ... 14; the 16th when the first was taken (50),
    // the 17th when the second was (150).
    assert_time(ends[0], 151);
    assert_time(ends[1], 50 + 17 * 100);
    assert_time(ends[2], 50 + 17 * 100);
}

static void a_pipe_is_held_while_a_flag_counts_15(void **state) {
    double ends[3];
    // The AIC takes at 500, 1500, 2500 ... V raises at 21, 42 ... 315 (adds of 20 + 1). The 16th
    // would be at 336 and is at 500, the 17th at 1500 instead of 521.
    run_mix(*state,
            MIX(SCALAR(500) "," TIMES(17, WAIT(S, 1) "," SCALAR(1000)),
                TIMES(17, "{ vec: { op: add, in: b, out: b } }," SIGNAL(V, 1))),
            ends);
    assert_time(ends[0], 500 + 17 * 1000);
    assert_time(ends[1], 1500);
    assert_time(ends[2], 1500);
    // MTE3 stores a line every 10 ns and raises 100 later, at 111 ... 251. The 16th raise comes at
    // 500 instead of 261, and the store behind it moves then; the 17th at 1500 instead of 601, and
    // the last store moves 1500 - 1501, seen at 1601.
    run_mix(*state,
            MIX(SCALAR(500) "," TIMES(17, WAIT(S, 1) "," SCALAR(1000)),
                TIMES(17, STORE(b, 0 : 1) "," SIGNAL(MTE3, 1)) "," STORE(b, 0 : 1)),
            ends);
    assert_time(ends[1], 1601);
    assert_time(ends[2], 1601);
}

static void assert_stuck(fixture *f, const char *text, int rows, const char *error) {
    static const int cores[] = {AIC0, AIV0, AIV1};
    load(f, text);
    for (int i = 0; i < rows; i++)
        start_at(f, 0, 0, rows == 1 ? AIV2 : cores[i], 0);
    assert_int_equal(carry_out(f), NPU_BAD_INPUT);
    if (strstr(f->err.text, error) == NULL || strstr(f->err.text, "task 'k' cannot end") == NULL)
        fail_msg("'%s' does not say '%s'", f->err.text, error);
}

static void a_block_that_can_never_end_is_an_error(void **state) {
    fixture *f = *state;
    const char *never = "waits for cross-core flag 7, which is never raised";
    // Whoever comes to rest last tells it.
    assert_stuck(f, MIX(WAIT(S, 7), WAIT(S, 7)), 3, never);
    assert_stuck(f, MIX(WAIT(S, 7), SCALAR(1000)), 3, never);
    assert_stuck(f, MIX(WAIT(S, 7), "{ if: lane == 0, do: [" SIGNAL(S, 7) "] }"), 3, never);
    assert_stuck(f, MIX(SCALAR(1000), WAIT(S, 7)), 3, never);
    assert_stuck(f, MIX(SCALAR(1000), WAIT(MTE2, 7)), 3, never);
    assert_stuck(f, MIX("{ if: 0, do: [" SCALAR(1) "] }", WAIT(V, 7)), 3, never);
    assert_stuck(f, MIX("{ loop: i in 0..16, do: [" SIGNAL(S, 7) "] }", SCALAR(1)), 3,
                 "is held by the full count of cross-core flag 7, which is never taken");
    // A block without an AIC's half has nobody to wait for.
    assert_stuck(f, GRAPH("aiv", WARM, SLOTS, "[" WAIT(V, 7) "]"), 1, never);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_flag_of_the_aic_is_seen_by_both_lanes),
        TEST(the_aic_waits_for_both_lanes),
        TEST(a_raiser_whose_end_is_known_ends_once),
        TEST(a_flag_behind_a_store_waits_until_others_see_it),
        TEST(a_flag_of_a_pipe_tells_that_its_ops_are_done),
        TEST(a_wait_holds_its_pipe_and_no_other),
        TEST(blocks_may_start_at_different_times),
        TEST(a_core_may_be_a_block_ahead),
        TEST(clusters_do_not_see_each_other),
        TEST(a_raiser_is_held_while_the_flag_counts_15),
        TEST(a_pipe_is_held_while_a_flag_counts_15),
        TEST(a_block_that_can_never_end_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
