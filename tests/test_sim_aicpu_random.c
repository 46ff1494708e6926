// SPDX-License-Identifier: Apache-2.0
// Random graphs on dies of several sizes: everything finishes, the books hold at every kernel's
// begin and end, the trace keeps the runtime's rules, and the same graph gives the same trace.
#include <stdio.h>

#include "test_sim_aicpu.h"

static uint32_t draw(uint32_t *seed, uint32_t below) {
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

static void random_graph(fixture *f, uint32_t seed, int tasks) {
    int clusters = (int)f->die.clusters;
    for (int i = 0; i < tasks; i++) {
        static const npu_engine_type types[] = {NPU_AIC, NPU_AIV, NPU_AIC,  NPU_AIV,
                                                NPU_MIX, NPU_AIV, NPU_DUMMY};
        npu_engine_type type = types[draw(&seed, 7)];
        bool wide = draw(&seed, 3) == 0;
        int64_t blocks = 1 + draw(&seed, wide ? 3 * (uint32_t)clusters : 4);
        bool sync = type != NPU_DUMMY && draw(&seed, 12) == 0;
        if (sync && blocks > clusters)
            blocks = clusters;
        double kernel = draw(&seed, 5) == 0 ? 0 : draw(&seed, 20000);
        int t = task(f, "t", type, type == NPU_DUMMY ? 0 : blocks, kernel);
        f->tasks[t].sync_start = sync;
        f->tasks[t].early = draw(&seed, 3) != 0;
        f->tasks[t].arg_count = (int)draw(&seed, 6);
        for (int pred = i > 12 ? i - 12 : 0; pred < i; pred++)
            for (uint32_t n = draw(&seed, 6); n >= 4; n--) // some pairs twice
                after(f, pred);
    }
}

// The constants of a real die, so that the order of magnitude is right.
static void real_numbers(npu_die *die) {
    die->aicpu.submit = 900;
    die->aicpu.poll = 100;
    die->aicpu.idle = 115;
    die->aicpu.payload = 400;
    die->aicpu.write = 5;
    die->aicpu.barrier = 30;
    die->aicpu.propagation = 140;
    die->aicpu.resolve = 300;
    die->aicpu.resolve_edge = 100;
    die->aicpu.pop = 20;
    die->aicpu.setup = 300;
    die->aicpu.setup_args = 1000;
    die->aicpu.cold = 1800;
    die->aicpu.fin = 10;
    die->aicpu.fin_visible = 100;
}

static int by_start(const void *left, const void *right) {
    const npu_row *x = left;
    const npu_row *y = right;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->core - y->core;
}

// Everything else that a graph can ask for. Scopes of ten tasks in rings of 15.
static void ask_for_more(fixture *f, uint32_t seed) {
    f->graph.policy = (npu_policy)(seed % 5);
    f->graph.waves = seed % 3 == 0 && f->graph.policy != NPU_POLICY_CALENDAR;
    f->graph.runtime = seed % 4 == 3 ? NPU_RUNTIME_HOST : NPU_RUNTIME_TENSORMAP;
    f->die.aicpu.ring_tasks = 16;
    f->die.aicpu.ring_deps = 60;
    f->die.aicpu.release_batch = 1 + seed % 4;
    f->graph.scopes = f->scopes;
    f->scopes[0] = (npu_task_scope){.parent = -1, .end = f->graph.task_count};
    for (int i = 0; i < f->graph.task_count; i++) {
        npu_task_scope *scope = &f->scopes[1 + i / 10];
        *scope = (npu_task_scope){0, 1, i / 10 * 10, i + 1, (npu_pos){0}};
        f->tasks[i].scope = 1 + i / 10;
        f->tasks[i].predicated = i % 7 == 3;
        f->tasks[i].skipped = i % 14 == 3 && f->tasks[i].engine != NPU_DUMMY;
        if (f->tasks[i].skipped)
            f->tasks[i].sync_start = false;
    }
    f->graph.scope_count = 1 + (f->graph.task_count + 9) / 10;
    for (int i = 0; i < f->graph.edge_count; i++)
        f->edges[i].source = (npu_edge_source)(f->edges[i].pred % 3);
    f->read_backs[0] = (npu_read_back){50, 42, (npu_pos){0}};
    f->graph.read_backs = f->read_backs;
    f->graph.read_back_count = f->graph.runtime == NPU_RUNTIME_TENSORMAP;
}

static fixture *simulated(uint32_t seed, int clusters, int schedulers, bool more) {
    fixture *f = made_up(clusters, schedulers);
    if (seed % 2 == 0)
        real_numbers(&f->die);
    if (seed % 5 == 0) { // everything that may be free is: many events fall together
        f->die.aicpu.payload = f->die.aicpu.write = f->die.aicpu.barrier = 0;
        f->die.aicpu.propagation = f->die.aicpu.resolve = f->die.aicpu.resolve_edge = 0;
        f->die.aicpu.pop = f->die.aicpu.setup = f->die.aicpu.setup_args = f->die.aicpu.cold = 0;
        f->die.aicpu.fin = f->die.aicpu.fin_visible = 0;
    }
    f->coupled = seed % 3 == 0;
    random_graph(f, seed, 100);
    if (more)
        ask_for_more(f, seed);
    run(f);
    f->trace.clock_hz = 50e6;
    f->trace.core_hz = 1.85e9;
    qsort(f->trace.rows, (size_t)f->trace.row_count, sizeof *f->trace.rows, by_start);
    return f;
}

static void check(const fixture *f) {
    npu_error err = {0};
    if (npu_trace_verify(&f->trace, &f->graph, &err) != NPU_OK)
        fail_msg("%s", err.text);
    int64_t rows = 0;
    for (int i = 0; i < f->graph.task_count; i++) {
        assert_true(f->aicpu->tasks[i].complete);
        rows += f->tasks[i].block_num * f->aicpu->tasks[i].width;
    }
    assert_int_equal(f->trace.row_count, rows);
    bool host = f->graph.runtime == NPU_RUNTIME_HOST;
    assert_int_equal(f->trace.submit_count, host ? 0 : f->graph.task_count);
    assert_int_equal(f->aicpu->in_flight, 0);
    for (int i = 0; i < 1 + (int)f->die.aicpu.schedulers; i++)
        assert_true(f->busy[i] <= npu_engine_now(f->engine));
}

static void random_graphs(void **state) {
    (void)state;
    static const int sizes[][2] = {{1, 1}, {2, 1}, {3, 2}, {4, 4}, {8, 3}, {24, 3}, {21, 1}};
    int phases[NPU_PHASE_COUNT] = {0};
    for (uint32_t seed = 1; seed <= 140; seed++) {
        const int *size = sizes[seed % 7];
        fixture *f = simulated(seed, size[0], size[1], false);
        check(f);
        for (int i = 0; i < f->trace.phase_count; i++)
            phases[f->trace.phases[i].kind]++;
        done(f);
    }
    // The graphs are only worth something when every path is taken.
    assert_true(phases[NPU_PHASE_DRAIN] > 100);
    assert_true(phases[NPU_PHASE_EARLY_DISPATCH] > 100);
    assert_true(phases[NPU_PHASE_DUMMY] > 100);
    assert_true(phases[NPU_PHASE_RESOLVE] > 10);
}

static void random_graphs_with_every_option(void **state) {
    (void)state;
    static const int sizes[][2] = {{1, 1}, {2, 1}, {3, 2}, {4, 4}, {8, 3}, {24, 3}, {21, 1}};
    int waits = 0;
    for (uint32_t seed = 1; seed <= 210; seed++) {
        const int *size = sizes[seed % 7];
        fixture *f = simulated(seed, size[0], size[1], true);
        check(f);
        for (int i = 0; i < f->trace.submit_count; i++)
            waits += f->trace.submits[i].end - f->trace.submits[i].start > 1500;
        done(f);
    }
    assert_true(waits > 500); // the rings are small enough to matter
}

static void same_again(void **state) {
    (void)state;
    for (uint32_t seed = 1; seed <= 4; seed++) {
        fixture *f = simulated(seed, 24, 3, false);
        fixture *g = simulated(seed, 24, 3, false);
        assert_int_equal(f->trace.row_count, g->trace.row_count);
        assert_int_equal(f->trace.phase_count, g->trace.phase_count);
        for (int i = 0; i < f->trace.row_count; i++) {
            assert_true(f->trace.rows[i].dispatch == g->trace.rows[i].dispatch);
            assert_true(f->trace.rows[i].finish == g->trace.rows[i].finish);
            assert_int_equal(f->trace.rows[i].core, g->trace.rows[i].core);
        }
        done(f);
        done(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs),
        cmocka_unit_test(random_graphs_with_every_option),
        cmocka_unit_test(same_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
