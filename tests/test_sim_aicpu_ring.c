// SPDX-License-Identifier: Apache-2.0
// What holds the orchestrator: full rings, values read back; and tasks whose predicate says no.
// The die as in test_sim_aicpu.c; a ring of n slots holds n - 1 tasks.
#include "test_sim_aicpu.h"

// Scope 0 is the graph; tasks added from now on are in a new one inside `parent`.
static int open_scope(fixture *f, int parent) {
    if (f->graph.scope_count == 0) {
        f->graph.scopes = f->scopes;
        f->scopes[f->graph.scope_count++] = (npu_task_scope){.parent = -1, .end = MAX_TASKS};
    }
    int at = f->graph.scope_count++;
    f->scopes[at] = (npu_task_scope){parent, f->scopes[parent].depth + 1, f->graph.task_count,
                                     f->graph.task_count, (npu_pos){NULL, at, 0}};
    return at;
}

static int task_in(fixture *f, int scope, const char *name, npu_engine_type engine, double kernel) {
    int t = task(f, name, engine, engine == NPU_DUMMY ? 0 : 1, kernel);
    f->tasks[t].scope = scope;
    for (int s = scope; s > 0; s = f->scopes[s].parent)
        f->scopes[s].end = t + 1;
    return t;
}

static void fails(fixture *f, const char *message) {
    npu_error err = {0};
    assert_int_equal(carry_out(f, &err), NPU_BAD_INPUT);
    assert_string_equal(err.text, message);
}

// a and b fill the ring; their scope ends at 200. b goes into a's pending slot as in
// test_sim_aicpu.c, so a's end is seen at 1372 and it is complete at 1412. The iteration from 1412
// reads b at 1422, finds nothing, and lets go of a: c is submitted from then on, and its record
// begins at 200. c finds its core open at 1522: pop 1524, payload 1544, barrier 1547. It is picked
// up at 2364 and starts at 2414; the reads from 1558 on, 20 apart, see that at 2418: b is complete
// at 2458, let go at 2468, and d submitted until 2568.
static void a_full_ring_holds_the_orchestrator(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    f->die.aicpu.ring_tasks = 3;
    int s = open_scope(f, 0);
    int a = task_in(f, s, "a", NPU_AIC, 1000);
    int b = task_in(f, s, "b", NPU_AIC, 1000);
    s = open_scope(f, 0);
    int c = task_in(f, s, "c", NPU_AIC, 1000);
    task_in(f, s, "d", NPU_AIC, 1000);
    run(f);
    assert_row(f, a, 0, 125, 156, 306, 1306, 1372);
    assert_time(f->trace.submits[c].start, 200);
    assert_time(f->trace.submits[c].end, 1522);
    assert_time(row_of(f, c, 0, 0)->dispatch, 1547);
    assert_time(row_of(f, b, 0, 0)->finish, 2418);
    assert_time(f->trace.submits[3].start, 1522);
    assert_time(f->trace.submits[3].end, 2568);
    assert_time(f->busy[0], 400); // waiting is not work
    done(f);
}

// Outputs of 1500 B take 2 KiB each, and two of them the whole heap of 4. When a is gone at 1422
// there is room up to the heap's end, none, and 2 KiB in front of b: they are not enough, since
// top would meet tail. b's FIN of 2364 is read at 2382; it is complete at 2422 and, with no core to
// read, let go at once.
static void a_full_heap_holds_it_and_never_quite_closes(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    f->die.aicpu.ring_heap = 4096;
    f->args[1] = (npu_arg){.access = NPU_OUT, .tensor = 1};
    f->tensors[1] = (npu_tensor){.storage = 1, .bytes = 1500};
    int s = open_scope(f, 0);
    task_in(f, s, "a", NPU_AIC, 1000);
    task_in(f, s, "b", NPU_AIC, 1000);
    s = open_scope(f, 0);
    int c = task_in(f, s, "c", NPU_AIC, 1000);
    for (int i = 0; i <= c; i++) {
        f->tasks[i].first_arg = 1;
        f->tasks[i].arg_count = 1;
    }
    f->die.aicpu.submit_arg = 0;
    run(f);
    assert_time(f->trace.submits[c].start, 200);
    assert_time(f->trace.submits[c].end, 2522);
    done(f);
}

// a and b stand in p's list and have both entries of ring 1. When p is complete, at 1356, c needs
// none.
static void dependency_entries_hold_it(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    f->die.aicpu.ring_deps = 2;
    int s = open_scope(f, 0);
    int p = task_in(f, 0, "p", NPU_AIC, 1000);
    f->scopes[s].first = 1;
    task_in(f, s, "a", NPU_DUMMY, 0);
    after(f, p);
    task_in(f, s, "b", NPU_DUMMY, 0);
    after(f, p);
    int c = task_in(f, open_scope(f, 0), "c", NPU_DUMMY, 0);
    after(f, p);
    run(f);
    assert_time(f->trace.submits[c].start, 300);
    assert_time(f->trace.submits[c].end, 1456);
    done(f);
}

// b is popped at 218 and stamped 241; from 242 on a sweep reads a (252, 282, ..) and b (262, ..).
// b is seen at 1432 and complete at 1472, but a is older. After that a alone is read, at 1482,
// 1502, ..: FIN of 5310, visible 5315, at 5322; a is complete and let go at 5362.
static void a_ring_is_freed_in_order(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    f->die.aicpu.ring_tasks = 3;
    int s = open_scope(f, 0);
    int a = task_in(f, s, "a", NPU_AIC, 5000);
    int b = task_in(f, s, "b", NPU_AIV, 1000);
    int c = task_in(f, open_scope(f, 0), "c", NPU_AIV, 1000);
    run(f);
    assert_time(row_of(f, b, 0, 0)->finish, 1432);
    assert_time(row_of(f, a, 0, 0)->finish, 5322);
    assert_time(f->trace.submits[c].end, 5462);
    done(f);
}

// p is complete at 1356 and its consumer q queued at 1361: stamped 1386, written 1387. The
// iteration from 1387 lets go of p at 1397. q starts at 1467; its FIN of 2471, visible 2476, is
// read at 2477, and it is complete and lets go of p at 2517.
static void consumers_keep_what_they_retain(void **state) {
    (void)state;
    static const npu_edge_source sources[] = {NPU_EDGE_TENSORMAP, NPU_EDGE_EXPLICIT,
                                              NPU_EDGE_CREATOR};
    static const double ends[] = {1497, 2617, 2617};
    for (int i = 0; i < 3; i++) {
        fixture *f = made_up(1, 1);
        f->die.aicpu.ring_tasks = 2;
        int p = task_in(f, open_scope(f, 0), "p", NPU_AIC, 1000);
        task_in(f, 0, "q", NPU_AIC, 1000);
        after(f, p);
        f->edges[0].source = sources[i];
        int r = task_in(f, open_scope(f, 0), "r", NPU_AIC, 1000);
        run(f);
        assert_time(f->trace.submits[r].start, 200);
        assert_time(f->trace.submits[r].end, ends[i]);
        done(f);
    }
}

// a and b end at 1422; z keeps its core. From 348 on a sweep reads a (358, 398, ..), b and z. a is
// seen at 1438 and complete at 1478, b at 1488 and 1528. With room for one task a is let go then;
// else in the next iteration without work, which reads z from 1538 to 1548.
static void threads_let_go_when_they_have_time_or_no_room(void **state) {
    (void)state;
    for (int batch = 1; batch <= 2; batch++) {
        fixture *f = made_up(1, 1);
        f->die.aicpu.ring_tasks = 3;
        f->die.aicpu.release_batch = batch;
        int s = open_scope(f, 0);
        int a = task_in(f, s, "a", NPU_AIC, 1116);
        int b = task_in(f, s, "b", NPU_AIV, 1000);
        task_in(f, 0, "z", NPU_AIV, 9000);
        int c = task_in(f, open_scope(f, 0), "c", NPU_AIC, 1000);
        run(f);
        assert_time(row_of(f, a, 0, 0)->finish, 1438);
        assert_time(row_of(f, b, 0, 0)->finish, 1488);
        assert_time(f->trace.submits[c].end, batch == 1 ? 1628 : 1648);
        done(f);
    }
}

static void a_scope_larger_than_its_ring_is_a_deadlock(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    f->die.aicpu.ring_tasks = 3;
    task_in(f, 0, "outside", NPU_AIC, 10);
    int s = open_scope(f, 0);
    task_in(f, s, "a", NPU_AIC, 10);
    task_in(f, s, "b", NPU_AIC, 10);
    task_in(f, s, "c", NPU_AIC, 10);
    fails(f, "scope deadlock: task 'c' waits for a slot (aicpu.ring_tasks) of ring 1, which is "
             "freed from its oldest task on, 'a'; that one stays until the scope of line 1 ends, "
             "which waits for 'c' (2 of its tasks are in the ring: a, b)");
    done(f);
}

// Depths 3 and 4 share ring 3, so the inner scope's task needs the slot of the outer one's.
static void scopes_from_depth_three_on_share_a_ring(void **state) {
    (void)state;
    for (int depth = 3; depth <= 4; depth++) {
        fixture *f = made_up(1, 1);
        f->die.aicpu.ring_tasks = 2;
        int s = 0;
        for (int i = 1; i < depth; i++)
            s = open_scope(f, s);
        task_in(f, s, "outer", NPU_AIC, 10);
        task_in(f, open_scope(f, s), "inner", NPU_AIC, 10);
        if (depth == 3)
            run(f);
        else
            fails(f, "scope deadlock: task 'inner' waits for a slot (aicpu.ring_tasks) of ring 3, "
                     "which is freed from its oldest task on, 'outer'; that one stays until the "
                     "scope of line 3 ends, which waits for 'inner' (1 of its tasks are in the "
                     "ring: outer)");
        done(f);
    }
}

static void an_output_larger_than_the_heap_is_refused(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    f->die.aicpu.ring_heap = 4096;
    f->args[1] = (npu_arg){.access = NPU_OUT, .tensor = 1};
    f->tensors[1] = (npu_tensor){.storage = 1, .bytes = 4097};
    int a = task(f, "a", NPU_AIC, 1, 10);
    f->tasks[a].first_arg = f->tasks[a].arg_count = 1;
    fails(f, "task 'a' needs 5120 bytes of heap (aicpu.ring_heap), but a ring has 4096");
    done(f);
}

// a is complete at 1356; its value is there at 1363, and b is submitted from then on. Another
// read, at the end, is one more of 7.
static void a_value_read_back_holds_the_orchestrator(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    int a = task(f, "a", NPU_AIC, 1, 1000);
    int b = task(f, "b", NPU_AIC, 1, 1000);
    f->read_backs[0] = (npu_read_back){b, a, (npu_pos){0}};
    f->read_backs[1] = (npu_read_back){b + 1, a, (npu_pos){0}};
    f->graph.read_backs = f->read_backs;
    f->graph.read_back_count = 2;
    run(f);
    assert_row(f, a, 0, 125, 156, 306, 1306, 1316);
    assert_time(f->trace.submits[b].start, 1363);
    assert_time(f->trace.submits[b].end, 1463);
    assert_time(f->busy[0], 214);
    done(f);
}

// no is released at 1361, popped as a dummy at 1363 and complete at 1403; b is released at 1408:
// pop 1410, payload 1430, barrier 1433.
static void a_task_whose_predicate_says_no_retires_like_a_dummy(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    int a = task(f, "a", NPU_AIC, 1, 1000);
    int no = task(f, "no", NPU_AIC, 24, 1000);
    after(f, a);
    f->tasks[no].predicated = f->tasks[no].skipped = true;
    int b = task(f, "b", NPU_AIC, 1, 1000);
    after(f, no);
    run(f);
    assert_int_equal(f->trace.row_count, 2);
    assert_time(row_of(f, b, 0, 0)->dispatch, 1433);
    const npu_phase *marker = phase_of(f, NPU_PHASE_DUMMY_TASK, 0);
    assert_int_equal(marker->task, no);
    assert_time(marker->start, 1363);
    done(f);
}

// Without the predicate b would be staged behind a gate while a runs; with one that says yes it is
// dispatched like any task, when a is complete: released 1361, pop 1363, 1383, 1386.
static void a_task_with_a_predicate_is_never_staged_early(void **state) {
    (void)state;
    for (int predicated = 0; predicated <= 1; predicated++) {
        fixture *f = made_up(1, 1);
        int a = task(f, "a", NPU_AIC, 1, 1000);
        f->tasks[a].early = true;
        int b = task(f, "b", NPU_AIC, 1, 1000);
        after(f, a);
        f->tasks[b].predicated = predicated != 0;
        run(f);
        assert_true((phase_of(f, NPU_PHASE_EARLY_DISPATCH, 0) == NULL) == (predicated != 0));
        if (predicated)
            assert_time(row_of(f, b, 0, 0)->dispatch, 1386);
        done(f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_ring_holds_the_orchestrator),
        cmocka_unit_test(a_full_heap_holds_it_and_never_quite_closes),
        cmocka_unit_test(dependency_entries_hold_it),
        cmocka_unit_test(a_ring_is_freed_in_order),
        cmocka_unit_test(consumers_keep_what_they_retain),
        cmocka_unit_test(threads_let_go_when_they_have_time_or_no_room),
        cmocka_unit_test(a_scope_larger_than_its_ring_is_a_deadlock),
        cmocka_unit_test(scopes_from_depth_three_on_share_a_ring),
        cmocka_unit_test(an_output_larger_than_the_heap_is_refused),
        cmocka_unit_test(a_value_read_back_holds_the_orchestrator),
        cmocka_unit_test(a_task_whose_predicate_says_no_retires_like_a_dummy),
        cmocka_unit_test(a_task_with_a_predicate_is_never_staged_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
