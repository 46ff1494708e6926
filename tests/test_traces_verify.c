// SPDX-License-Identifier: Apache-2.0
#include "test_traces_fixture.h"

static void verify_refuses(fixture *f, const char *sentence) {
    npu_error err = {0};
    assert_int_equal(npu_trace_verify(&f->trace, &f->graph, &err), NPU_BAD_INPUT);
    if (strstr(err.text, sentence) == NULL)
        fail_msg("'%s' does not hold '%s'", err.text, sentence);
    free(f);
}

static void a_sound_trace_passes(void **state) {
    (void)state;
    fixture *f = fix_new();
    npu_error err = {0};
    if (npu_trace_verify(&f->trace, &f->graph, &err) != NPU_OK)
        fail_msg("%s", err.text);
    npu_trace_check_invariants(&f->trace, &f->graph);
    free(f);
}

static void an_empty_trace_passes(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->trace.row_count = f->trace.phase_count = f->trace.submit_count = 0;
    f->graph.task_count = f->graph.edge_count = 0;
    npu_error err = {0};
    if (npu_trace_verify(&f->trace, &f->graph, &err) != NPU_OK)
        fail_msg("%s", err.text);
    free(f);
}

static void clocks_must_be_known(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->trace.clock_hz = 0;
    verify_refuses(f, "must know its clocks, but has 0 Hz");
}

static void cores_come_as_n_aics_and_2n_aivs(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->trace.core_count = 5;
    verify_refuses(f, "this one has 5 cores and begins with 2 AICs");
    f = fix_new();
    f->cores[1].type = NPU_AIV;
    verify_refuses(f, "begins with 1 AICs");
    f = fix_new();
    f->cores[3].type = NPU_AIC;
    verify_refuses(f, "core 3 must be an AIV");
}

static void a_cluster_belongs_to_one_scheduler(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->cores[5].thread = 0;
    verify_refuses(f, "core 5 belongs to scheduler 0, the AIC of its cluster 1 to 1");
    f = fix_new();
    f->cores[5].thread = 2;
    verify_refuses(f, "core 5 belongs to scheduler 2, but there are 2");
}

static void edges_point_to_later_tasks(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->edges[3].pred = 3;
    verify_refuses(f, "edge 3 joins task 3 to task 3, which is not submitted later");
}

static void a_row_names_a_core_a_task_and_a_block_that_exist(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->rows[0].core = 6;
    verify_refuses(f, "row 0 is on core 6, but there are 6");
    f = fix_new();
    f->rows[0].task = 4;
    verify_refuses(f, "row 0 is of task 4, but there are 4");
    f = fix_new();
    f->rows[6].block = 3;
    verify_refuses(f, "row 6 (task act) is of block 3 of 3");
}

static void a_kernel_runs_on_cores_of_its_kind(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->rows[0].core = 2;
    verify_refuses(f, "row 0 (task mm) is on core 2, which cannot run its kernel");
    f = fix_new();
    f->rows[6].task = 2; // a dummy runs on none
    verify_refuses(f, "row 6 (task barrier) is on core 2, which cannot");
}

static void the_times_of_a_row_are_in_order(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->rows[0].dispatch = -1;
    verify_refuses(f, "row 0 (task mm, core 0) is dispatched before the run");
    f = fix_new();
    f->rows[0].receive = 999;
    verify_refuses(f, "is received before it is dispatched");
    f = fix_new();
    f->rows[0].receive = 1501;
    verify_refuses(f, "starts before it is received");
    f = fix_new();
    f->rows[0].end = 1499;
    verify_refuses(f, "ends before it starts");
    f = fix_new();
    f->rows[0].finish = 5459; // two ticks before the end are forgiven
    verify_refuses(f, "finishes before it ends");
    f = fix_new();
    f->rows[6].finish = 17301;
    verify_refuses(f, "finishes after the run");
    f = fix_new();
    f->rows[0].end = 0.0 / 0.0;
    verify_refuses(f, "ends before it starts");
}

static void no_pipe_is_busier_than_its_row_is_long(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->rows[0].busy[NPU_PIPE_M] = 4001;
    verify_refuses(f, "row 0 (task mm, core 0): pipe M is busy for 4001.000 ns of 4000.000 ns");
    f = fix_new();
    f->rows[0].busy[NPU_PIPE_V] = -1;
    verify_refuses(f, "pipe V is busy for -1.000 ns");
}

static void rows_are_sorted(void **state) {
    (void)state;
    fixture *f = fix_new();
    npu_row kept = f->rows[2];
    f->rows[2] = f->rows[3];
    f->rows[3] = kept;
    verify_refuses(f, "sorted by start, then core, but row 3 is not");
}

static void rows_of_a_core_do_not_overlap(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->rows[4].end = 14701;
    verify_refuses(f, "core 2 starts task act at 14700.000 ns, while task act runs until 14701");
}

static void dispatches_of_a_core_are_numbered_upwards(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->rows[6].reg_task_id = 1;
    verify_refuses(f, "core 2: dispatch 1 does not come after dispatch 1");
    f = fix_new();
    f->rows[0].reg_task_id = 0;
    verify_refuses(f, "core 0: dispatch 0 does not come after dispatch 0");
}

static void a_core_has_at_most_two_tasks_in_flight(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->rows[5].core = 2; // between the other two
    f->rows[4].end = f->rows[5].start = 13000;
    f->rows[5].end = 14400;
    f->rows[5].reg_task_id = 2;
    f->rows[6].reg_task_id = 3;
    f->rows[4].busy[NPU_PIPE_V] = 0;
    verify_refuses(f, "core 2 has three tasks in flight when act is dispatched at 12000.000 ns");
}

static void a_task_has_as_many_rows_as_blocks_and_cores(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->tasks[3].block_num = 4;
    verify_refuses(f, "task act has 3 rows, but 4 blocks on 1 cores each");
    f = fix_new();
    f->tasks[3].block_num = INT64_MAX;
    verify_refuses(f, "task act has 3 rows");
    f = fix_new();
    f->rows[3].core = 4;
    f->rows[3].reg_task_id = 2;
    f->rows[3].start = f->rows[3].end = 11020;
    f->rows[3].busy[NPU_PIPE_V] = 0;
    verify_refuses(f, "block 0 of task fuse runs twice, the second time on core 4");
    f = fix_new();
    f->rows[6].block = 1;
    verify_refuses(f, "block 1 of task act runs twice, the second time on core 2");
}

static void the_parts_of_a_mix_block_share_a_cluster(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->rows[1].core = 0;
    f->rows[1].reg_task_id = 2;
    verify_refuses(f, "block 0 of the MIX task fuse runs in clusters 0 and 1");
}

static void no_task_starts_before_its_producers_end(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->rows[0].end = 7041; // two ticks are forgiven
    f->rows[0].finish = 7041;
    verify_refuses(f, "task fuse starts at 7000.000 ns, but waits for mm until 7041.000 ns");
    f = fix_new(); // through the dummy alone
    f->edges[2] = f->edges[3];
    f->graph.edge_count = 3;
    f->rows[2].end = f->rows[2].finish = 12441;
    verify_refuses(f, "task act starts at 12400.000 ns, but waits for barrier until 12441.000 ns");
}

static void a_start_within_two_ticks_of_its_producers_passes(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->rows[0].end = f->rows[0].finish = 7040;
    npu_error err = {0};
    if (npu_trace_verify(&f->trace, &f->graph, &err) != NPU_OK)
        fail_msg("%s", err.text);
    free(f);
}

static void outer_phases_of_a_thread_do_not_overlap(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->phases[1].end = 11901;
    verify_refuses(f, "scheduler 0 is in dispatch at 11900.000 ns, while in complete until 11901");
    f = fix_new();
    f->phases[5].thread = 0;
    f->phases[4].thread = 1;
    verify_refuses(f, "sorted by thread, then time, but phase 5 is not");
    f = fix_new();
    f->phases[0].end = 799;
    verify_refuses(f, "phase 0 (dispatch of scheduler 0) lasts from 800.000 to 799.000 ns");
    f = fix_new();
    f->phases[8].task = -1;
    verify_refuses(f, "phase 8 marks task -1, but there are 4");
}

static void submits_follow_each_other(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->submits[2].start = 499;
    verify_refuses(f, "submit 2 lasts from 499.000 to 900.000 ns, not after the one before");
    f = fix_new();
    f->submits[2].task = 4;
    verify_refuses(f, "submit 2 is of task 4, but there are 4");
}

static void ids_and_ticks_have_their_layout(void **state) {
    (void)state;
    fixture *f = fix_new();
    assert_true(npu_task_id(0) == UINT64_C(4294967296));
    assert_true(npu_task_id(2) == UINT64_C(4294967298));
    assert_true(npu_alloc_id(2) == 2);
    assert_int_equal(npu_trace_ticks(&f->trace, 0), NPU_TICK_ORIGIN); // never 0
    assert_int_equal(npu_trace_ticks(&f->trace, 19.99), NPU_TICK_ORIGIN);
    assert_int_equal(npu_trace_ticks(&f->trace, 20), NPU_TICK_ORIGIN + 1);
    assert_int_equal(npu_task_cores(&f->tasks[0]), 1);
    assert_int_equal(npu_task_cores(&f->tasks[1]), 3);
    assert_int_equal(npu_task_cores(&f->tasks[2]), 0);
    assert_int_equal(npu_task_func_id(&f->graph, &f->tasks[1], NPU_AIC), 1);
    assert_int_equal(npu_task_func_id(&f->graph, &f->tasks[1], NPU_AIV), 2);
    assert_int_equal(npu_task_func_id(&f->graph, &f->tasks[2], NPU_AIV), -1);
    free(f);
}

static void free_returns_what_a_trace_owns(void **state) {
    (void)state;
    npu_trace trace = {.rows = malloc(8), .phases = malloc(8), .submits = malloc(8)};
    trace.cores = malloc(8);
    npu_trace_free(&trace);
    assert_null(trace.rows);
    assert_null(trace.cores);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_trace_passes),
        cmocka_unit_test(an_empty_trace_passes),
        cmocka_unit_test(clocks_must_be_known),
        cmocka_unit_test(cores_come_as_n_aics_and_2n_aivs),
        cmocka_unit_test(a_cluster_belongs_to_one_scheduler),
        cmocka_unit_test(edges_point_to_later_tasks),
        cmocka_unit_test(a_row_names_a_core_a_task_and_a_block_that_exist),
        cmocka_unit_test(a_kernel_runs_on_cores_of_its_kind),
        cmocka_unit_test(the_times_of_a_row_are_in_order),
        cmocka_unit_test(no_pipe_is_busier_than_its_row_is_long),
        cmocka_unit_test(rows_are_sorted),
        cmocka_unit_test(rows_of_a_core_do_not_overlap),
        cmocka_unit_test(dispatches_of_a_core_are_numbered_upwards),
        cmocka_unit_test(a_core_has_at_most_two_tasks_in_flight),
        cmocka_unit_test(a_task_has_as_many_rows_as_blocks_and_cores),
        cmocka_unit_test(the_parts_of_a_mix_block_share_a_cluster),
        cmocka_unit_test(no_task_starts_before_its_producers_end),
        cmocka_unit_test(a_start_within_two_ticks_of_its_producers_passes),
        cmocka_unit_test(outer_phases_of_a_thread_do_not_overlap),
        cmocka_unit_test(submits_follow_each_other),
        cmocka_unit_test(ids_and_ticks_have_their_layout),
        cmocka_unit_test(free_returns_what_a_trace_owns),
    };
    return cmocka_run_group_tests_name("a trace's rules", tests, NULL, NULL);
}
