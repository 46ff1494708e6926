// SPDX-License-Identifier: Apache-2.0
// Where ready blocks go when a graph asks for another way than the runtime's. The die as in
// test_sim_aicpu.c.
#include "test_sim_aicpu.h"

// a is on core 0 from 125 on, b on core 1 (thread 1 looks at 202: stamped 227, start 408, end 508,
// FIN 512, which shows only at 912). c, with 30 arguments, is submitted until 600. At 616 thread 0
// knows of no idle core and takes it: pop 618, payload 638, barrier 641; it starts behind a, at
// 5310 + 50. Idle first, b's FIN is known: c stays in the queue, where thread 1 looks once in 22
// (read, pop, spin; reads end at 618, 640, ..). At 926 it sees FIN; b is complete at 966: pop 968,
// payload 988, barrier 991.
static void idle_first_waits_for_a_core_that_is_about_to_be_free(void **state) {
    (void)state;
    for (int idle_first = 0; idle_first <= 1; idle_first++) {
        fixture *f = made_up(2, 2);
        f->die.aicpu.fin_visible = 400;
        f->graph.policy = idle_first ? NPU_POLICY_IDLE_FIRST : NPU_POLICY_SHIPPED;
        task(f, "a", NPU_AIC, 1, 5000);
        int b = task(f, "b", NPU_AIC, 1, 100);
        int c = task(f, "c", NPU_AIC, 1, 100);
        f->die.aicpu.submit_arg = 100;
        f->tasks[c].arg_count = 3;
        run(f);
        const npu_row *row = row_of(f, c, 0, 0);
        assert_int_equal(row->core, idle_first);
        assert_time(row->dispatch, idle_first ? 991 : 641);
        assert_time(row->start, idle_first ? 991 + 31 + 50 : 5360);
        if (idle_first)
            assert_time(row_of(f, b, 0, 0)->finish, 926);
        done(f);
    }
}

// Idle cores: the one that was used least. a ends on core 0; x then goes to core 1, y to core 0.
// Pending: where a block was dispatched first, so z goes behind x. With ten arguments y and z are
// submitted long after x is dispatched, at 1300 and 2400.
static void least_loaded_takes_turns(void **state) {
    (void)state;
    fixture *f = made_up(2, 1);
    f->graph.policy = NPU_POLICY_LEAST_LOADED;
    int a = task(f, "a", NPU_AIC, 1, 100);
    int x = task(f, "x", NPU_AIC, 1, 5000);
    after(f, a);
    int y = task(f, "y", NPU_AIC, 1, 5000);
    int z = task(f, "z", NPU_AIC, 1, 100);
    f->tasks[y].arg_count = f->tasks[z].arg_count = 10;
    f->die.aicpu.submit_arg = 100;
    run(f);
    assert_int_equal(row_of(f, a, 0, 0)->core, 0);
    assert_int_equal(row_of(f, x, 0, 0)->core, 1);
    assert_int_equal(row_of(f, y, 0, 0)->core, 0);
    assert_true(row_of(f, x, 0, 0)->dispatch < row_of(f, y, 0, 0)->dispatch);
    assert_int_equal(row_of(f, z, 0, 0)->core, 1);
    done(f);
}

// When the pending slot opens at 316 both s and l are queued; behind l hang two more. One pop of
// one: 318, payload 338, barrier 341.
static void the_longest_way_comes_first(void **state) {
    (void)state;
    for (int critical = 0; critical <= 1; critical++) {
        fixture *f = made_up(1, 1);
        f->graph.policy = critical ? NPU_POLICY_CRITICAL_PATH : NPU_POLICY_SHIPPED;
        task(f, "first", NPU_AIC, 1, 1000);
        int s = task(f, "s", NPU_AIC, 1, 1000);
        int l = task(f, "l", NPU_AIC, 1, 1000);
        int m = task(f, "m", NPU_AIV, 1, 1000);
        after(f, l);
        task(f, "n", NPU_AIV, 1, 1000);
        after(f, m);
        run(f);
        assert_time(row_of(f, critical ? l : s, 0, 0)->dispatch, 341);
        assert_true(row_of(f, critical ? s : l, 0, 0)->dispatch > 1000);
        done(f);
    }
}

// Three blocks on two clusters are two waves, and so more than l's one: with five the way of w is
// three long, as long as that of l, m, n; the one queued first comes first.
static void ways_are_counted_in_waves(void **state) {
    (void)state;
    for (int blocks = 3; blocks <= 5; blocks += 2) {
        fixture *f = made_up(2, 1);
        f->graph.policy = NPU_POLICY_CRITICAL_PATH;
        task(f, "first", NPU_AIC, 4, 1000);
        int w = task(f, "w", NPU_AIC, blocks, 1000);
        int l = task(f, "l", NPU_AIC, 1, 1000);
        int m = task(f, "m", NPU_AIV, 1, 1000);
        after(f, l);
        task(f, "n", NPU_AIV, 1, 1000);
        after(f, m);
        run(f);
        bool w_first = row_of(f, w, 0, 0)->dispatch < row_of(f, l, 0, 0)->dispatch;
        assert_true(w_first == (blocks == 5));
        done(f);
    }
}

// Booked in the order of submission, on the core with the fewest blocks: a and c on core 0, b and d
// on core 1. c waits for a, which starts at 306, although core 1 has been idle for long.
static void a_calendar_says_for_each_block_where_it_goes(void **state) {
    (void)state;
    fixture *f = made_up(2, 1);
    f->graph.policy = NPU_POLICY_CALENDAR;
    int a = task(f, "a", NPU_AIC, 1, 5000);
    int b = task(f, "b", NPU_AIC, 1, 100);
    int c = task(f, "c", NPU_AIC, 1, 100);
    int d = task(f, "d", NPU_AIC, 1, 100);
    run(f);
    assert_row(f, a, 0, 125, 156, 306, 5306, row_of(f, a, 0, 0)->finish);
    assert_int_equal(row_of(f, b, 0, 0)->core, 1);
    assert_int_equal(row_of(f, c, 0, 0)->core, 0);
    assert_time(row_of(f, c, 0, 0)->start, 5360);
    assert_int_equal(row_of(f, d, 0, 0)->core, 1);
    assert_true(row_of(f, d, 0, 0)->end < 1000);
    done(f);
}

// As in one_block, block 0 is seen at 1316. Only then block 1 is queued: pop 1318, payload 1338,
// barrier 1341, write 1342, seen 1372, start 1422.
static void the_next_wave_waits_for_the_one_before(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    f->graph.waves = true;
    int t = task(f, "two", NPU_AIC, 2, 1000);
    run(f);
    assert_row(f, t, 0, 125, 156, 306, 1306, 1316);
    assert_time(row_of(f, t, 1, 0)->dispatch, 1341);
    assert_time(row_of(f, t, 1, 0)->start, 1422);
    done(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_first_waits_for_a_core_that_is_about_to_be_free),
        cmocka_unit_test(least_loaded_takes_turns),
        cmocka_unit_test(the_longest_way_comes_first),
        cmocka_unit_test(ways_are_counted_in_waves),
        cmocka_unit_test(a_calendar_says_for_each_block_where_it_goes),
        cmocka_unit_test(the_next_wave_waits_for_the_one_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
