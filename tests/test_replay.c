// SPDX-License-Identifier: Apache-2.0
// Two runs that are laid side by side, of one cluster (core 0 an AIC, 1 and 2 AIVs) and one
// scheduler, in ticks of 20 ns. The figures are worked out in the comments.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "schedule.h"
#include "waterfall.h"

enum { MOST = 8 };

static const npu_core_info cores[] = {{NPU_AIC, 0}, {NPU_AIV, 0}, {NPU_AIV, 0}};

typedef struct run { // rows by start
    npu_row rows[MOST];
    npu_submit submits[MOST];
    npu_phase phases[MOST];
    int row_count, submit_count, phase_count;
} run;

static npu_trace trace_of(run *r) {
    return (npu_trace){.clock_hz = 50e6,
                       .cores = cores,
                       .core_count = 3,
                       .rows = r->rows,
                       .row_count = r->row_count,
                       .phases = r->phases,
                       .phase_count = r->phase_count,
                       .submits = r->submits,
                       .submit_count = r->submit_count,
                       .scheduler_count = 1};
}

// A row whose scheduler turned to it at `enter`.
static void add(run *r, int task, int64_t block, int core, double enter, double dispatch,
                double start, double end, double finish) {
    r->phases[r->phase_count++] =
        (npu_phase){.kind = NPU_PHASE_DISPATCH, .start = enter, .end = dispatch, .task = -1};
    r->rows[r->row_count++] = (npu_row){.core = core,
                                        .task = task,
                                        .block = block,
                                        .dispatch = dispatch,
                                        .receive = dispatch,
                                        .start = start,
                                        .end = end,
                                        .finish = finish};
}

static void submit(run *r, double end) {
    int n = r->submit_count++;
    r->submits[n] = (npu_submit){n, n > 0 ? r->submits[n - 1].end : 0, end};
}

typedef struct pair {
    npu_trace traces[2];
    npu_timed runs[2];
    npu_waterfall waterfall;
} pair;

static void compare(const npu_graph *graph, run *measured, run *modelled, pair *p) {
    npu_error err = {{0}};
    p->traces[0] = trace_of(measured);
    p->traces[1] = trace_of(modelled);
    assert_int_equal(
        npu_timed_make(&p->traces[0], &p->traces[1], graph, &p->runs[0], &p->runs[1], &err),
        NPU_OK);
    assert_int_equal(npu_waterfall_make(graph, &p->runs[0], &p->runs[1], &p->waterfall, &err),
                     NPU_OK);
}

static void drop(pair *p) {
    npu_timed_free(&p->runs[0]);
    npu_timed_free(&p->runs[1]);
}

static void assert_shares(const pair *p, double kernel, double dispatch, double resolve,
                          double pressure, double core, double order) {
    double expected[] = {kernel, dispatch, resolve, pressure, core, order};
    assert_true(p->waterfall.known);
    for (int c = 0; c < NPU_CAUSE_COUNT; c++)
        if (p->waterfall.share[c] != expected[c])
            fail_msg("%s: %g instead of %g", npu_replay_cause_names[c], p->waterfall.share[c],
                     expected[c]);
}

static const npu_func funcs[] = {{.name = "k", .aic_id = -1, .aiv_id = 0}};
static npu_edge chain_edges[] = {{.pred = 0, .succ = 1, .producer_arg = -1}};

// One AIV task after the other; task 1 waits for task 0, the others for nothing.
static npu_graph graph_of(npu_task *tasks, int count) {
    for (int t = 0; t < count; t++)
        tasks[t] = (npu_task){.name = "t",
                              .kernel = "k",
                              .engine = NPU_AIV,
                              .block_num = 1,
                              .first_edge = t > 1,
                              .edge_count = t == 1};
    return (npu_graph){.tasks = tasks,
                       .task_count = count,
                       .funcs = funcs,
                       .func_count = 1,
                       .edges = chain_edges,
                       .edge_count = 1};
}

// 0: sent 400 after its submit, starts 400 later, runs 3000 and is seen 200 later. 1 waits for it:
// taken up 400 after that, sent 200 later; runs 2000. 2 waits behind it on the core, which takes
// 300 to change; runs 1000, seen 200 later: 9500, of which 1400 were before the first dispatch.
static void measure_chain(run *r) {
    submit(r, 1000);
    submit(r, 2000);
    submit(r, 6600);
    add(r, 0, 0, 1, 1200, 1400, 1800, 4800, 5000);
    add(r, 1, 0, 1, 5400, 5600, 6000, 8000, 8200);
    add(r, 2, 0, 1, 6800, 7000, 8300, 9300, 9500);
}

static void each_cause_gets_what_it_changed(void **state) {
    (void)state;
    npu_task tasks[3];
    npu_graph graph = graph_of(tasks, 3);
    run measured = {.row_count = 0}, modelled = {.row_count = 0};
    pair p;
    measure_chain(&measured);
    submit(&modelled, 1000);
    submit(&modelled, 2000);
    submit(&modelled, 6600);
    add(&modelled, 0, 0, 1, 1200, 1400, 1800, 5300, 5600);   // kernel + 500, seen + 100
    add(&modelled, 1, 0, 1, 6040, 6300, 6700, 8700, 8900);   // taken up + 40, sent + 60
    add(&modelled, 2, 0, 1, 6800, 7000, 9100, 10100, 10300); // the core changes in + 100
    compare(&graph, &measured, &modelled, &p);
    assert_shares(&p, 500, 60, 140, 0, 100, 0);
    assert_true(p.waterfall.after[NPU_CAUSE_KERNEL] == 8600); // 8100 + 500
    assert_true(p.waterfall.after[NPU_CAUSE_ORDER] == 8900);
    drop(&p);
}

static void the_same_run_differs_in_nothing(void **state) {
    (void)state;
    npu_task tasks[3];
    npu_graph graph = graph_of(tasks, 3);
    run measured = {.row_count = 0};
    npu_parting parting;
    pair p;
    measure_chain(&measured);
    compare(&graph, &measured, &measured, &p);
    assert_shares(&p, 0, 0, 0, 0, 0, 0);
    npu_part_by_time(&p.runs[0], &p.runs[1], &parting);
    assert_int_equal(parting.task, -1);
    npu_part_by_place(&p.runs[0], &p.runs[1], 3, &parting);
    assert_int_equal(parting.task, -1);
    drop(&p);
}

// Task 1 is submitted when task 0 has long been seen to finish, and 2000 later in the model.
static void a_late_submit_is_back_pressure(void **state) {
    (void)state;
    npu_task tasks[2];
    npu_graph graph = graph_of(tasks, 2);
    run measured = {.row_count = 0}, modelled = {.row_count = 0};
    pair p;
    submit(&measured, 1000);
    submit(&measured, 7000);
    add(&measured, 0, 0, 1, 1200, 1400, 1800, 4800, 5000);
    add(&measured, 1, 0, 1, 7200, 7400, 7800, 8800, 9000);
    submit(&modelled, 1000);
    submit(&modelled, 9000);
    add(&modelled, 0, 0, 1, 1200, 1400, 1800, 4800, 5000);
    add(&modelled, 1, 0, 1, 9200, 9400, 9800, 10800, 11000);
    compare(&graph, &measured, &modelled, &p);
    assert_shares(&p, 0, 0, 0, 2000, 0, 0);
    drop(&p);
}

// Tasks 0 and 2 of the chain graph without task 1's row: on two cores in the capture, one behind
// the other in the model. There 2 starts 300 after the end of 0, at 5100 instead of 2800.
static void another_place_is_order_and_parting(void **state) {
    (void)state;
    npu_task tasks[3];
    npu_graph graph = graph_of(tasks, 3);
    run measured = {.row_count = 0}, modelled = {.row_count = 0};
    npu_parting parting;
    npu_idle idle[2];
    npu_error err = {{0}};
    pair p;
    for (int i = 0; i < 2; i++) {
        submit(i == 0 ? &measured : &modelled, 1000);
        submit(i == 0 ? &measured : &modelled, 1500);
        submit(i == 0 ? &measured : &modelled, 2000);
    }
    add(&measured, 0, 0, 1, 1200, 1400, 1800, 4800, 5000);
    add(&measured, 2, 0, 2, 2200, 2400, 2800, 4800, 5000);
    add(&modelled, 0, 0, 1, 1200, 1400, 1800, 4800, 5000);
    add(&modelled, 2, 0, 1, 2200, 2400, 5100, 7100, 7300);
    compare(&graph, &measured, &modelled, &p);
    assert_shares(&p, 0, 0, 0, 0, 0, 2300);
    npu_part_by_time(&p.runs[0], &p.runs[1], &parting);
    assert_int_equal(parting.task, 2);
    assert_true(parting.at == 1400 && parting.apart == 2300); // 2800 - 1400
    npu_part_by_place(&p.runs[0], &p.runs[1], 3, &parting);
    assert_int_equal(parting.task, 2);
    assert_int_equal(parting.core, 2);
    assert_int_equal(parting.other_core, 1);
    assert_true(parting.at == 1400 && parting.apart == 2300);
    // Ready from 1000 to 1400 and from 2000 to 2400, with two AIVs idle and then one: one could
    // have begun each time.
    assert_int_equal(npu_idle_of(&p.runs[0], &p.traces[0], idle, &err), NPU_OK);
    assert_true(idle[NPU_AIV].time == 800 && idle[NPU_AIV].core_time == 800);
    assert_true(idle[NPU_AIC].time == 0);
    drop(&p);
}

// Task 0 is seen to finish at 5000. Of task 1 one block is sent at 4000, the other two ticks before
// 5000, which is no proof, or three.
static void early_dispatch_is_proved_from_the_third_tick_on(void **state) {
    (void)state;
    npu_task tasks[2];
    npu_graph graph = graph_of(tasks, 2);
    run measured = {.row_count = 0}, modelled = {.row_count = 0};
    pair p;
    tasks[1].block_num = 2;
    for (int i = 0; i < 2; i++) {
        run *r = i == 0 ? &measured : &modelled;
        double sent = i == 0 ? 4960 : 4940;
        submit(r, 1000);
        submit(r, 2000);
        add(r, 0, 0, 1, 1200, 1400, 1800, 4800, 5000);
        add(r, 1, 0, 1, 3800, 4000, 5400, 6400, 6600);
        add(r, 1, 1, 2, 4900, sent, 5600, 6600, 6800);
    }
    compare(&graph, &measured, &modelled, &p);
    assert_int_equal(npu_early_of(&p.runs[0], 1, 20), NPU_EARLY_PARTIAL);
    assert_int_equal(npu_early_of(&p.runs[1], 1, 20), NPU_EARLY_FULL);
    assert_int_equal(npu_early_of(&p.runs[0], 0, 20), NPU_EARLY_UNASKED);
    assert_shares(&p, 0, 0, 0, 0, 0, 0); // the gate opens as late as before
    drop(&p);
}

// Task 1 is a dummy between 0 and 2: what 2 waits for is the finish of 0, 100 later in the model.
static void a_dummy_passes_on_what_it_waited_for(void **state) {
    (void)state;
    npu_task tasks[3];
    npu_graph graph = graph_of(tasks, 3);
    npu_edge edges[] = {{.pred = 0, .succ = 1, .producer_arg = -1},
                        {.pred = 1, .succ = 2, .producer_arg = -1}};
    run measured = {.row_count = 0}, modelled = {.row_count = 0};
    pair p;
    tasks[1].engine = NPU_DUMMY;
    tasks[1].func = -1;
    tasks[1].block_num = 0;
    tasks[2].edge_count = 1;
    graph.edges = edges;
    graph.edge_count = 2;
    for (int i = 0; i < 2; i++) {
        run *r = i == 0 ? &measured : &modelled;
        double later = i * 100;
        submit(r, 1000);
        submit(r, 1500);
        submit(r, 2000);
        add(r, 0, 0, 1, 1200, 1400, 1800, 4800, 5000 + later);
        add(r, 2, 0, 2, 5800 + later, 6000 + later, 6400 + later, 7400 + later, 7600 + later);
    }
    compare(&graph, &measured, &modelled, &p);
    assert_true(p.runs[0].data[2] == 5000);
    assert_shares(&p, 0, 0, 100, 0, 0, 0);
    drop(&p);
}

static void stamps_against_the_edges_give_no_causes(void **state) {
    (void)state;
    npu_task tasks[2];
    npu_graph graph = graph_of(tasks, 2);
    run measured = {.row_count = 0}, modelled = {.row_count = 0};
    pair p;
    add(&measured, 1, 0, 2, 1200, 1400, 1800, 2800, 3000); // before its producer
    add(&measured, 0, 0, 1, 2200, 2400, 2800, 4800, 5000);
    add(&modelled, 0, 0, 1, 1200, 1400, 1800, 4800, 5000);
    add(&modelled, 1, 0, 1, 5400, 5600, 6000, 7000, 7200);
    compare(&graph, &measured, &modelled, &p);
    assert_false(p.waterfall.known);
    drop(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cause_gets_what_it_changed),
        cmocka_unit_test(the_same_run_differs_in_nothing),
        cmocka_unit_test(a_late_submit_is_back_pressure),
        cmocka_unit_test(another_place_is_order_and_parting),
        cmocka_unit_test(early_dispatch_is_proved_from_the_third_tick_on),
        cmocka_unit_test(a_dummy_passes_on_what_it_waited_for),
        cmocka_unit_test(stamps_against_the_edges_give_no_causes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
