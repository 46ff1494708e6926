// SPDX-License-Identifier: Apache-2.0
// The scalar unit: instructions around the ops it issues, and values that come back from V. On the
// die of test_sim_core.h an op of V on n lines takes 20 + n ns and issuing is free, unless a test
// says otherwise.
#include "test_sim_core.h"

#define SLOTS UB(a, 100, 1) ", " UB(b, 100, 1)
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define EXP(in, out) "{ vec: { op: exp, in: " #in ", out: " #out " } }"

static void instructions_around_an_op_delay_its_issue(void **state) {
    fixture *f = *state;
    f->die.scalar.op = 2;
    // S needs 30 x 2 for each op: the second is issued at 120, when the first has long begun.
    double end = run_alone(
        f, GRAPH("aiv\n    calls: { vec: 30 }", WARM, SLOTS, "[" EXP(a, b) "," EXP(a, b) "]"),
        AIV0);
    assert_time(end, 60 + 120 + 120);
    assert_time(f->rows[0].busy[NPU_PIPE_S], 120);
    // With 100 for each S is what takes long: 200, 400, then the op.
    end = run_alone(
        f, GRAPH("aiv\n    calls: { vec: 100 }", WARM, SLOTS, "[" EXP(a, b) "," EXP(a, b) "]"),
        AIV0);
    assert_time(end, 400 + 120);
}

static void a_graph_says_it_for_kernels_that_do_not(void **state) {
    fixture *f = *state;
    f->die.scalar.op = 2;
    double end = run_alone(
        f, "calls: { vec: 10 * 3 }\n" GRAPH("aiv", WARM, SLOTS, "[" EXP(a, b) "," EXP(a, b) "]"),
        AIV0);
    assert_time(end, 60 + 120 + 120);
    end = run_alone(f,
                    "calls: { vec: 30 }\n" GRAPH("aiv\n    calls: { vec: 0 }", WARM, SLOTS,
                                                 "[" EXP(a, b) "," EXP(a, b) "]"),
                    AIV0);
    assert_time(end, 120 + 120);
}

static void s_waits_for_the_value_that_it_reads(void **state) {
    fixture *f = *state;
    f->die.scalar.op = 2;
    f->die.scalar.read = 50;
    // The op until 120, the read until 170, 5 instructions until 180; then the next op.
    double end = run_alone(f,
                           GRAPH("aiv", WARM, SLOTS,
                                 "[" EXP(a, b) ", { scalar: { ops: 5, reads: b } }," EXP(a, b) "]"),
                           AIV0);
    assert_time(end, 180 + 120);
    // What nobody has written is there.
    end = run_alone(f, GRAPH("aiv", WARM, SLOTS, "[{ scalar: { reads: b } }," EXP(a, b) "]"), AIV0);
    assert_time(end, 50 + 120);
}

static void s_waits_for_a_load_that_is_under_way(void **state) {
    fixture *f = *state;
    // The load of 100 lines is there at 210.
    double end =
        run_alone(f,
                  GRAPH("aiv", WARM, SLOTS,
                        "[{ load: { from: 'x[0 : 100, :]', to: a } }, { scalar: { reads: a "
                        "} }," EXP(b, b) "]"),
                  AIV0);
    assert_time(end, 210 + 120);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(instructions_around_an_op_delay_its_issue),
        TEST(a_graph_says_it_for_kernels_that_do_not),
        TEST(s_waits_for_the_value_that_it_reads),
        TEST(s_waits_for_a_load_that_is_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
