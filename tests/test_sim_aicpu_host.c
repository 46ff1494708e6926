// SPDX-License-Identifier: Apache-2.0
// Graphs that the host has built before the run. The die as in test_sim_aicpu.c; the resolving
// thread spins for 4.
#include "test_sim_aicpu.h"

static fixture *host_built(void) {
    fixture *f = made_up(1, 1);
    f->graph.runtime = NPU_RUNTIME_HOST;
    return f;
}

// The task is in its queue at 0: pop 2, payload 22, barrier 25, write 26, seen 56, cold start 206.
// FIN of 1210, visible 1215, is read at 1216 and booked there. The resolver looks at 1216: pop
// 1218, complete 1258.
static void nothing_is_submitted(void **state) {
    (void)state;
    fixture *f = host_built();
    int t = task(f, "one", NPU_AIC, 1, 1000);
    f->tasks[t].arg_count = 3;
    run(f);
    assert_row(f, t, 0, 25, 56, 206, 1206, 1216);
    assert_int_equal(f->trace.submit_count, 0);
    assert_time(phase_of(f, NPU_PHASE_COMPLETE, 0)->end, 1216); // resolving is not its business
    assert_time(f->busy[0], 42);
    assert_time(npu_engine_now(f->engine), 1266); // the thread's look after 1258: 1216 + 5 x 10
    done(f);
}

// c and d wait for b, the later of their producers, e for a. a is stamped 25 and b 51; a is seen
// at 1232, popped 1234, complete 1274; e alone is woken, at 1279. The thread reads b until 1292:
// pop 1294, payload 1314, barrier 1317. From 1318 it reads e and b in turn; b's FIN of 3236,
// visible 3241, at 3258. The resolver's spins since 1279 end at 3259: pop 3261, complete 3301; d,
// the last to register, is woken at 3306, c at 3311. The thread reads e until 3308: d is popped
// 3310 and stamped 3333, c popped 3336 and stamped 3359.
static void waiters_stand_with_their_latest_producer_and_the_last_is_first(void **state) {
    (void)state;
    fixture *f = host_built();
    int a = task(f, "a", NPU_AIC, 1, 1000);
    int b = task(f, "b", NPU_AIV, 1, 3000);
    int c = task(f, "c", NPU_AIV, 1, 1000);
    after(f, a);
    after(f, b);
    int d = task(f, "d", NPU_AIV, 1, 1000);
    after(f, a);
    after(f, b);
    int e = task(f, "e", NPU_AIC, 1, 10000);
    after(f, a);
    run(f);
    assert_time(row_of(f, a, 0, 0)->finish, 1232);
    assert_time(row_of(f, e, 0, 0)->dispatch, 1317);
    assert_time(row_of(f, b, 0, 0)->finish, 3258);
    assert_time(row_of(f, d, 0, 0)->dispatch, 3333);
    assert_time(row_of(f, c, 0, 0)->dispatch, 3359);
    done(f);
}

// b ends first: c is woken, finds a and registers again, so it is walked twice. Three tasks of 2
// and 40, two walks of 5.
static void a_waiter_that_still_waits_registers_again(void **state) {
    (void)state;
    fixture *f = host_built();
    int a = task(f, "a", NPU_AIC, 1, 3000);
    int b = task(f, "b", NPU_AIV, 1, 1000);
    int c = task(f, "c", NPU_AIV, 1, 1000);
    after(f, a);
    after(f, b);
    run(f);
    assert_true(row_of(f, c, 0, 0)->dispatch > row_of(f, a, 0, 0)->finish);
    assert_time(f->busy[0], 136);
    done(f);
}

// a is complete at 1258 and the dummy woken at 1263: pop 1265, complete 1305, b woken 1310. The
// thread spins in steps of 10 from 1216 on: look 1316, pop 1318, payload 1338, barrier 1341.
static void the_resolver_retires_dummies(void **state) {
    (void)state;
    fixture *f = host_built();
    int a = task(f, "a", NPU_AIC, 1, 1000);
    int d = task(f, "d", NPU_DUMMY, 0, 0);
    after(f, a);
    int b = task(f, "b", NPU_AIC, 1, 1000);
    after(f, d);
    run(f);
    assert_time(row_of(f, b, 0, 0)->dispatch, 1341);
    assert_null(phase_of(f, NPU_PHASE_DUMMY, 0));
    done(f);
}

static void early_flags_change_nothing(void **state) {
    (void)state;
    fixture *f = host_built();
    int a = task(f, "a", NPU_AIC, 1, 1000);
    f->tasks[a].early = true;
    int b = task(f, "b", NPU_AIC, 1, 1000);
    after(f, a);
    run(f);
    assert_null(phase_of(f, NPU_PHASE_EARLY_DISPATCH, 0));
    assert_true(row_of(f, b, 0, 0)->dispatch > row_of(f, a, 0, 0)->finish);
    done(f);
}

// No ring, so no window; but the graph as a whole has a limit.
static void only_the_number_of_tasks_is_limited(void **state) {
    (void)state;
    for (int most = 4; most >= 3; most--) {
        fixture *f = host_built();
        f->die.aicpu.ring_tasks = 2;
        f->die.aicpu.host_tasks = most;
        f->graph.path = "g.yaml";
        for (int i = 0; i < 4; i++)
            task(f, "t", NPU_AIC, 1, 10);
        if (most == 4) {
            run(f);
        } else {
            npu_error err = {0};
            npu_net net = {0};
            npu_aicpu_hooks hooks = {kernel_start, f};
            assert_int_equal(npu_engine_new(NPU_ENGINE_FLUID, &net, &f->engine, &err), NPU_OK);
            assert_int_equal(npu_aicpu_cores(&f->die, &f->trace, &err), NPU_OK);
            assert_int_equal(
                npu_aicpu_new(&f->die, &f->graph, f->engine, &hooks, &f->trace, &f->aicpu, &err),
                NPU_BAD_INPUT);
            assert_string_equal(err.text, "g.yaml: the graph has 4 tasks, but a host-built one has "
                                          "at most 3 (aicpu.host_tasks)");
        }
        done(f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_submitted),
        cmocka_unit_test(waiters_stand_with_their_latest_producer_and_the_last_is_first),
        cmocka_unit_test(a_waiter_that_still_waits_registers_again),
        cmocka_unit_test(the_resolver_retires_dummies),
        cmocka_unit_test(early_flags_change_nothing),
        cmocka_unit_test(only_the_number_of_tasks_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
