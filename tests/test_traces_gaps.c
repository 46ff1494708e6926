// SPDX-License-Identifier: Apache-2.0
// Where the time of the small run went, worked out by hand.
#include "test_traces_fixture.h"

#include <math.h>

#include "gaps.h"

typedef struct made {
    npu_metrics metrics;
    npu_gaps gaps;
} made;

static void assert_near(double value, double expected) {
    if (fabs(value - expected) > 1e-9 * (fabs(expected) + 1))
        fail_msg("%.12g is not %.12g", value, expected);
}

static made make(const fixture *f) {
    static const double aicpu_ns[3] = {1730, 8650, 0};
    made m;
    npu_error err = {0};
    assert_int_equal(npu_metrics_make(&f->trace, &f->graph, aicpu_ns, 3, &m.metrics, &err), NPU_OK);
    assert_int_equal(npu_gaps_make(&f->trace, &f->graph, &m.metrics, &m.gaps, &err), NPU_OK);
    return m;
}

static void discard(made *m) {
    npu_gaps_free(&m->gaps);
    npu_metrics_free(&m->metrics);
}

static void assert_gap(const made *m, int link, double detect, double submit, double dispatch,
                       double pick_up) {
    const double expected[] = {detect, submit, dispatch, pick_up};
    double sum = 0;
    for (int c = 0; c < NPU_CAUSE_COUNT; c++) {
        assert_near(m->gaps.gaps[link].part[c], expected[c]);
        sum += expected[c];
    }
    assert_near(sum, m->metrics.chain[link].wait);
}

static void each_gap_is_split_by_its_causes(void **state) {
    (void)state;
    fixture *f = fix_new();
    made m = make(f);
    // mm: submitted at 400, dispatched at 1000, started at 1500.
    assert_gap(&m, 0, 0, 400, 600, 500);
    // fuse on core 4: mm ended at 5500 and was seen at 6100; dispatched at 6500, started at 7020.
    assert_gap(&m, 1, 600, 0, 400, 520);
    // act: fuse's last row ended at 11020 and was seen at 11600; dispatched at 12000, started at
    // 12400. The dummy between them takes no time of its own.
    assert_gap(&m, 2, 580, 0, 400, 400);
    // act's third block waited in the core's slot: dispatched at 12000, free at 14400, 14700.
    assert_gap(&m, 3, 0, 0, 0, 300);
    discard(&m);
    free(f);
}

static void the_sums_tile_the_makespan(void **state) {
    (void)state;
    fixture *f = fix_new();
    made m = make(f);
    assert_near(m.gaps.part[NPU_CAUSE_DETECT], 600 + 580 + 600); // the last finish too
    assert_near(m.gaps.part[NPU_CAUSE_SUBMIT], 400);
    assert_near(m.gaps.part[NPU_CAUSE_DISPATCH], 600 + 400 + 400);
    assert_near(m.gaps.part[NPU_CAUSE_PICK_UP], 500 + 520 + 400 + 300);
    double sum = m.metrics.chain_exec;
    for (int c = 0; c < NPU_CAUSE_COUNT; c++)
        sum += m.gaps.part[c];
    assert_near(sum, 17300);
    discard(&m);
    free(f);
}

static void a_late_submit_is_a_cause(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->submits[2].end = 6300; // fuse: 200 after mm was seen to end
    made m = make(f);
    assert_gap(&m, 1, 600, 200, 200, 520);
    discard(&m);
    free(f);
}

static void a_block_staged_early_waits_for_the_finish_only(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->rows[4].dispatch = 10000; // before fuse ended at 11020; its doorbell came after 11600
    made m = make(f);
    assert_gap(&m, 2, 580, 0, 0, 800);
    discard(&m);
    free(f);
}

static void a_core_is_known_to_be_free_from_its_rows_finish(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->rows[6].dispatch = 15200; // after the finish of the row before it, 15000
    f->rows[6].start = 15500;
    made m = make(f);
    assert_gap(&m, 3, 600, 0, 200, 300);
    discard(&m);
    free(f);
}

static void assert_cores(const npu_core_time *t, double span, int cores, double kernel, double data,
                         const double *part, double no_work) {
    double sum = kernel + data + no_work;
    assert_int_equal(t->cores, cores);
    assert_near(t->kernel, kernel);
    assert_near(t->data, data);
    for (int c = 0; c < NPU_CAUSE_COUNT; c++) {
        assert_near(t->part[c], part[c]);
        sum += part[c];
    }
    assert_near(t->no_work, no_work);
    assert_near(sum, span * cores);
}

static void the_time_of_all_cores_is_accounted_for(void **state) {
    (void)state;
    fixture *f = fix_new();
    made m = make(f);
    // Core 0: mm (0, 400, 600, 500), 4000 in it, 11800 after it. Core 1: mm ended at 5500; 600
    // until it was seen, 400 undispatched, 500 until fuse started; 4000 in it, 6300 after it.
    assert_cores(&m.gaps.cores[NPU_AIC], 17300, 2, 8000, 5500, (double[]){600, 400, 1000, 1000},
                 11800 + 6300);
    // Cores 2 and 3: fuse ended at 11020; 580 and 400 each; 400 and 420; 2000 + 1980; on core 2
    // 300 more before 2000 more. Cores 4 and 5: 5500; 600, 400 and 520 each; 4000 and 2980.
    assert_cores(&m.gaps.cores[NPU_AIV], 17300, 4, 2000 + 2000 + 1980 + 4000 + 2980,
                 2 * 11020 + 2 * 5500,
                 (double[]){2 * 580 + 2 * 600, 0, 4 * 400, 400 + 420 + 300 + 2 * 520},
                 600 + 2900 + 6280 + 7300);
    discard(&m);
    free(f);
}

static void the_static_path_is_the_longest_by_the_tasks_own_time(void **state) {
    (void)state;
    fixture *f = fix_new();
    made m = make(f);
    // mm 4000; fuse from 7000 to 11020; act from 12400 to 16700.
    assert_int_equal(m.gaps.path_count, 3);
    assert_near(m.gaps.path_length, 4000 + 4020 + 4300);
    assert_int_equal(m.gaps.path[0].task, 0);
    assert_int_equal(m.gaps.path[1].task, 1);
    assert_int_equal(m.gaps.path[2].task, 3);
    assert_near(m.gaps.path[1].length, 4020);
    discard(&m);
    free(f);
}

static void an_edge_that_the_run_did_not_keep_is_left_out(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->rows[4].start = 11020 - 41; // a tick is 20 ns
    made m = make(f);
    assert_int_equal(m.gaps.path_count, 2); // mm 4000, fuse 4020; act alone takes 5721
    assert_near(m.gaps.path_length, 8020);
    discard(&m);
    f->rows[4].start = 11020 - 40;
    m = make(f);
    assert_int_equal(m.gaps.path_count, 3);
    discard(&m);
    free(f);
}

static void a_run_without_rows_is_all_finish_detection(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->trace.row_count = 0;
    f->trace.submit_count = 0;
    f->graph.task_count = f->graph.edge_count = 0;
    made m = make(f);
    assert_int_equal(m.gaps.path_count, 0);
    assert_near(m.gaps.part[NPU_CAUSE_DETECT], 17300);
    assert_near(m.gaps.cores[NPU_AIV].no_work, 4 * 17300);
    discard(&m);
    free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_gap_is_split_by_its_causes),
        cmocka_unit_test(the_sums_tile_the_makespan),
        cmocka_unit_test(a_late_submit_is_a_cause),
        cmocka_unit_test(a_block_staged_early_waits_for_the_finish_only),
        cmocka_unit_test(a_core_is_known_to_be_free_from_its_rows_finish),
        cmocka_unit_test(the_time_of_all_cores_is_accounted_for),
        cmocka_unit_test(the_static_path_is_the_longest_by_the_tasks_own_time),
        cmocka_unit_test(an_edge_that_the_run_did_not_keep_is_left_out),
        cmocka_unit_test(a_run_without_rows_is_all_finish_detection),
    };
    return cmocka_run_group_tests_name("gaps", tests, NULL, NULL);
}
