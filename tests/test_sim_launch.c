// SPDX-License-Identifier: Apache-2.0
// Operators launched by the device's task scheduler: head 10, 2 per core, tail 5, and kernels
// that take a fixed time.
#include "test_sim_aicpu.h"

#include "launch.h"

typedef struct operators {
    fixture *f;
    npu_launch *launch;
} operators;

static void body_end(void *owner, int64_t core) {
    operators *o = owner;
    npu_launch_done(o->launch, (int)core);
}

static void body_start(void *owner, int row) {
    operators *o = owner;
    const npu_row *r = &o->f->trace.rows[row];
    npu_engine_delay(o->f->engine, o->f->kernel[r->task], body_end, o, r->core);
}

static void run_operators(fixture *f) {
    operators o = {.f = f};
    npu_net net = {0};
    npu_error err = {{0}};
    npu_aicpu_hooks hooks = {body_start, &o};
    f->die.launch.head = 10;
    f->die.launch.core = 2;
    f->die.launch.tail = 5;
    assert_int_equal(npu_engine_new(NPU_ENGINE_FLUID, &net, &f->engine, &err), NPU_OK);
    assert_int_equal(npu_aicpu_cores(&f->die, &f->trace, &err), NPU_OK);
    assert_int_equal(
        npu_launch_new(&f->die, &f->graph, f->engine, &hooks, &f->trace, &o.launch, &err), NPU_OK);
    npu_launch_begin(o.launch);
    assert_int_equal(npu_engine_run(f->engine, &err), NPU_OK);
    assert_int_equal(npu_launch_result(o.launch, &err), NPU_OK);
    npu_launch_free(o.launch);
}

static void assert_ran(const fixture *f, int row, int core, double dispatch, double start,
                       double end, double finish) {
    const npu_row *r = &f->trace.rows[row];
    assert_int_equal(r->core, core);
    assert_true(r->dispatch == dispatch && r->receive == start && r->start == start);
    assert_true(r->end == end && r->finish == finish);
}

static void assert_run(const fixture *f, int row, int core, double dispatch, double start,
                       double end) {
    assert_ran(f, row, core, dispatch, start, end, end);
}

// The block that ends its operator: finished after the tail.
static void assert_last(const fixture *f, int row, int core, double dispatch, double start,
                        double end) {
    assert_ran(f, row, core, dispatch, start, end, end + 5);
}

static void cores_start_one_after_the_other(void **state) {
    (void)state;
    fixture *f = made_up(2, 1);
    task(f, "v", NPU_AIV, 4, 100);
    run_operators(f);
    assert_int_equal(f->trace.row_count, 4);
    for (int i = 0; i < 3; i++) // AIVs are cores 2 to 5
        assert_run(f, i, 2 + i, 0, 10 + 2 * (i + 1), 110 + 2 * (i + 1));
    assert_last(f, 3, 5, 0, 18, 118);
    assert_true(f->trace.makespan == 118 + 5);
    done(f);
}

// The next one is launched in its place.
static void an_operator_whose_predicate_says_no_is_not_launched(void **state) {
    (void)state;
    fixture *f = made_up(2, 1);
    int no = task(f, "no", NPU_AIC, 1, 100);
    f->tasks[no].predicated = f->tasks[no].skipped = true;
    task(f, "yes", NPU_AIC, 1, 100);
    run_operators(f);
    assert_int_equal(f->trace.row_count, 1);
    assert_last(f, 0, 0, 0, 12, 112);
    done(f);
}

// Two AICs, five blocks of 100: 12, 14, then as they become free; the last ends at 312.
static void further_blocks_go_to_the_cores_that_are_free(void **state) {
    (void)state;
    fixture *f = made_up(2, 1);
    task(f, "c", NPU_AIC, 5, 100);
    run_operators(f);
    assert_run(f, 0, 0, 0, 12, 112);
    assert_run(f, 1, 1, 0, 14, 114);
    assert_run(f, 2, 0, 112, 112, 212);
    assert_run(f, 3, 1, 114, 114, 214);
    assert_last(f, 4, 0, 212, 212, 312);
    assert_int_equal(f->trace.rows[4].reg_task_id, 3);
    assert_true(f->trace.makespan == 317);
    done(f);
}

static void a_mix_block_takes_a_cluster(void **state) {
    (void)state;
    fixture *f = made_up(2, 1);
    task(f, "m", NPU_MIX, 2, 100);
    run_operators(f);
    int cores[] = {0, 2, 3, 1, 4, 5};
    for (int i = 0; i < 5; i++)
        assert_run(f, i, cores[i], 0, i < 3 ? 12 : 14, i < 3 ? 112 : 114);
    assert_last(f, 5, 5, 0, 14, 114);
    done(f);
}

// The first ends at 112, its tail at 117, the dummy takes nothing, the next starts at 129.
static void operators_do_not_overlap(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    task(f, "first", NPU_AIC, 1, 100);
    task(f, "none", NPU_DUMMY, 0, 0);
    task(f, "second", NPU_AIV, 1, 50);
    run_operators(f);
    assert_last(f, 0, 0, 0, 12, 112);
    assert_last(f, 1, 1, 117, 129, 179);
    assert_true(f->trace.makespan == 184);
    done(f);
}

// With 1 ns of work a core is free before the next one is started, and takes its block: the first
// two of a pair, since the second core starts at 14, after the first one's second block.
static void a_quick_core_takes_the_block_of_one_that_waits(void **state) {
    (void)state;
    fixture *f = made_up(2, 1);
    task(f, "v", NPU_AIV, 4, 1);
    run_operators(f);
    assert_int_equal(f->trace.row_count, 4);
    assert_run(f, 0, 2, 0, 12, 13);
    assert_run(f, 1, 2, 13, 13, 14);
    assert_int_equal(f->trace.rows[2].core, 3);
    assert_int_equal(f->trace.rows[3].core, 2);
    for (int i = 2; i < 4; i++)
        assert_true(f->trace.rows[i].start == 14 && f->trace.rows[i].end == 15);
    assert_true(f->trace.makespan == 15 + 5);
    done(f);
}

// Four AIVs are to start at 12 to 18; with 1 ns of work the first ones do all. The next operator is
// launched before the last of them was due, and gets its own starts only.
static void a_start_that_came_too_late_is_forgotten(void **state) {
    (void)state;
    fixture *f = made_up(2, 1);
    task(f, "quick", NPU_AIV, 4, 0.1);
    task(f, "next", NPU_MIX, 2, 100);
    f->die.launch.tail = 0;
    run_operators(f);
    assert_int_equal(f->trace.row_count, 4 + 6);
    double launched = f->trace.rows[4].dispatch;
    for (int i = 4; i < 10; i++)
        assert_true(f->trace.rows[i].start == launched + (i < 7 ? 12 : 14));
    done(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cores_start_one_after_the_other),
        cmocka_unit_test(an_operator_whose_predicate_says_no_is_not_launched),
        cmocka_unit_test(further_blocks_go_to_the_cores_that_are_free),
        cmocka_unit_test(a_mix_block_takes_a_cluster),
        cmocka_unit_test(operators_do_not_overlap),
        cmocka_unit_test(a_quick_core_takes_the_block_of_one_that_waits),
        cmocka_unit_test(a_start_that_came_too_late_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
