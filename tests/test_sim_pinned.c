// SPDX-License-Identifier: Apache-2.0
// Pinned schedules on the made-up die: submit 100; a payload 26 in all (pop 2, payload 20, barrier
// 3, write 1), seen 30 later; set-up 50, the core's first 100 more; FIN 4, visible 5 later; a look
// 10; resolve 40, each edge 5.
#include "test_sim_aicpu.h"

#include "pinned.h"

typedef struct pinned_run {
    fixture *f;
    npu_pinned *pinned;
} pinned_run;

static void body_end(void *owner, int64_t core) {
    pinned_run *o = owner;
    npu_pinned_done(o->pinned, (int)core);
}

static void body_start(void *owner, int row) {
    pinned_run *o = owner;
    const npu_row *r = &o->f->trace.rows[row];
    npu_engine_delay(o->f->engine, o->f->kernel[r->task], body_end, o, r->core);
}

static bool recorded; // by the recorder of the die

static npu_status run_pinned(fixture *f, const npu_pin *pins, int count, npu_error *err) {
    pinned_run o = {.f = f};
    npu_net net = {0};
    npu_aicpu_hooks hooks = {body_start, &o};
    assert_int_equal(npu_engine_new(NPU_ENGINE_FLUID, &net, &f->engine, err), NPU_OK);
    assert_int_equal(npu_aicpu_cores(&f->die, &f->trace, err), NPU_OK);
    assert_int_equal(npu_pinned_new(&f->die, &f->graph, f->engine, &hooks, pins, count, &f->trace,
                                    &o.pinned, err),
                     NPU_OK);
    if (recorded)
        npu_pinned_record(o.pinned);
    npu_pinned_begin(o.pinned);
    assert_int_equal(npu_engine_run(f->engine, err), NPU_OK);
    npu_status status = npu_pinned_result(o.pinned, err);
    npu_pinned_free(o.pinned);
    return status;
}

static void run_good(fixture *f, const npu_pin *pins, int count) {
    npu_error err = {{0}};
    assert_int_equal(run_pinned(f, pins, count, &err), NPU_OK);
}

static void assert_pinned(const fixture *f, int row, int task, double dispatch, double receive,
                          double start, double end, double finish) {
    const npu_row *r = &f->trace.rows[row];
    assert_int_equal(r->task, task);
    assert_true(r->dispatch == dispatch);
    assert_true(r->receive == receive);
    assert_true(r->start == start);
    assert_true(r->end == end);
    assert_true(r->finish == finish);
}

static void end(fixture *f) {
    npu_engine_free(f->engine);
    npu_trace_free(&f->trace);
    free(f);
}

// a: submitted 100, sent 126, seen 156, starts 156 + 150 = 306, ends 1306; FIN 1310, visible
// 1315, looked at until 1325. Resolved 1365, b released 1370, sent 1396, seen 1426, starts 1476.
static void a_block_waits_for_its_producers(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    int a = task(f, "a", NPU_AIC, 1, 1000);
    int b = task(f, "b", NPU_AIC, 1, 500);
    after(f, a);
    run_good(f, (npu_pin[]){{0, a, 0}, {0, b, 0}}, 2);
    assert_pinned(f, 0, a, 126, 156, 306, 1306, 1325);
    assert_pinned(f, 1, b, 1396, 1426, 1476, 1976, 1995);
    assert_true(f->trace.makespan == 1995);
    assert_true(f->trace.submits[1].end == 200);
    end(f);
}

// b: submitted 200, sent 226, behind a on the core: picked up as a's FIN is written, 1310.
static void a_block_waits_for_the_one_before_it_on_its_core(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    int a = task(f, "a", NPU_AIC, 1, 1000);
    int b = task(f, "b", NPU_AIC, 1, 500);
    run_good(f, (npu_pin[]){{0, a, 0}, {0, b, 0}}, 2);
    assert_pinned(f, 0, a, 126, 156, 306, 1306, 1325);
    assert_pinned(f, 1, b, 226, 1310, 1360, 1860, 1879);
    end(f);
}

// The order is the given one, not that of submission: b is sent at 226, and a behind it.
static void the_order_is_the_given_one(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    int a = task(f, "a", NPU_AIC, 1, 1000);
    int b = task(f, "b", NPU_AIC, 1, 500);
    run_good(f, (npu_pin[]){{0, b, 0}, {0, a, 0}}, 2);
    assert_pinned(f, 0, b, 226, 256, 406, 906, 925);
    assert_pinned(f, 1, a, 252, 910, 960, 1960, 1979);
    end(f);
}

// c finds no slot before a is seen to finish, 1325; then a is resolved until 1365, c sent 1391.
static void a_core_holds_two_blocks(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    int a = task(f, "a", NPU_AIC, 1, 1000);
    int b = task(f, "b", NPU_AIC, 1, 500);
    int c = task(f, "c", NPU_AIC, 1, 500);
    run_good(f, (npu_pin[]){{0, a, 0}, {0, b, 0}, {0, c, 0}}, 3);
    assert_pinned(f, 1, b, 226, 1310, 1360, 1860, 1879);
    assert_pinned(f, 2, c, 1391, 1864, 1914, 2414, 2433);
    end(f);
}

// The AIVs of a MIX block cost a write each behind its payload. The look at a core waits for half
// of the others that the scheduler owns: 10 x (1 + 2 / 2) behind 1320 + 5 + 4.
static void a_mix_block_has_one_payload(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    int a = task(f, "a", NPU_MIX, 1, 1000);
    run_good(f, (npu_pin[]){{0, a, 0}, {1, a, 0}, {2, a, 0}}, 3);
    assert_pinned(f, 0, a, 126, 156, 306, 1306, 1335);
    assert_pinned(f, 1, a, 127, 157, 307, 1307, 1336);
    assert_pinned(f, 2, a, 128, 158, 308, 1308, 1337);
    end(f);
}

// Submits take half as long again: 150, 300. a: sent 176, starts 356, ends 1356, FIN 1360; the
// core writes the record for 70, then picks b up, 1430.
static void recording_holds_cores_and_the_orchestrator(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    f->die.recorder.core = 70;
    f->die.recorder.submit = 0.5;
    int a = task(f, "a", NPU_AIC, 1, 1000);
    int b = task(f, "b", NPU_AIC, 1, 500);
    recorded = true;
    run_good(f, (npu_pin[]){{0, a, 0}, {0, b, 0}}, 2);
    recorded = false;
    assert_pinned(f, 0, a, 176, 206, 356, 1356, 1375);
    assert_pinned(f, 1, b, 326, 1430, 1480, 1980, 1999);
    end(f);
}

static void an_order_against_the_edges_is_refused(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    npu_error err = {{0}};
    int a = task(f, "a", NPU_AIC, 1, 1000);
    int b = task(f, "b", NPU_AIC, 1, 500);
    after(f, a);
    assert_int_equal(run_pinned(f, (npu_pin[]){{0, b, 0}, {0, a, 0}}, 2, &err), NPU_BAD_INPUT);
    assert_string_equal(err.text, "the order of the cores and the edges wait for each other: task "
                                  "a never completes");
    end(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_waits_for_its_producers),
        cmocka_unit_test(a_block_waits_for_the_one_before_it_on_its_core),
        cmocka_unit_test(the_order_is_the_given_one),
        cmocka_unit_test(a_core_holds_two_blocks),
        cmocka_unit_test(a_mix_block_has_one_payload),
        cmocka_unit_test(recording_holds_cores_and_the_orchestrator),
        cmocka_unit_test(an_order_against_the_edges_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
