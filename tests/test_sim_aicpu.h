// SPDX-License-Identifier: Apache-2.0
// A made-up die with round numbers, graphs built by hand, and kernels that take a fixed time.
#ifndef TEST_SIM_AICPU_H
#define TEST_SIM_AICPU_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aicpu.h"
#include "aicpu_state.h"

enum { MAX_TASKS = 400, MAX_EDGES = 4000, MAX_BLOCKS = 100 };

typedef struct fixture {
    npu_die die;
    npu_task tasks[MAX_TASKS];
    npu_edge edges[MAX_EDGES];
    npu_arg args[16]; // the first are inputs, of any task
    npu_tensor tensors[16];
    npu_task_scope scopes[16];
    npu_read_back read_backs[4];
    double kernel[MAX_TASKS]; // ns of each block; < 0: it never ends
    bool recorded;
    bool coupled; // the kernels of a MIX block wait for each other before they do anything
    char started[MAX_TASKS][MAX_BLOCKS];
    npu_graph graph;
    npu_trace trace;
    npu_engine *engine;
    npu_aicpu *aicpu;
    double busy[1 + NPU_MAX_SCHEDULERS];
} fixture;

static inline fixture *made_up(int clusters, int schedulers) {
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->die.name = f->die.path = "made up";
    f->die.clusters = clusters;
    f->die.aicpu.schedulers = schedulers;
    f->die.aicpu.submit = 100;
    f->die.aicpu.submit_arg = 10;
    f->die.aicpu.poll = 10;
    f->die.aicpu.idle = 10;
    f->die.aicpu.payload = 20;
    f->die.aicpu.write = 1;
    f->die.aicpu.barrier = 3;
    f->die.aicpu.propagation = 30;
    f->die.aicpu.resolve = 40;
    f->die.aicpu.resolve_edge = 5;
    f->die.aicpu.pop = 2;
    f->die.aicpu.pop_batch = 8;
    f->die.aicpu.setup = 50;
    f->die.aicpu.setup_args = 25;
    f->die.aicpu.cold = 100;
    f->die.aicpu.fin = 4;
    f->die.aicpu.fin_visible = 5;
    f->die.aicpu.read_back = 7;
    f->die.aicpu.resolver = 4;
    f->die.aicpu.rings = 4;
    f->die.aicpu.ring_tasks = f->die.aicpu.ring_deps = f->die.aicpu.host_tasks = 10000;
    f->die.aicpu.ring_heap = 1 << 20;
    f->die.aicpu.heap_align = 1024;
    f->die.aicpu.release_batch = 256;
    f->graph.args = f->args;
    f->graph.tensors = f->tensors;
    f->graph.tasks = f->tasks;
    f->graph.edges = f->edges;
    return f;
}

static inline int task(fixture *f, const char *name, npu_engine_type engine, int64_t blocks,
                       double kernel) {
    int i = f->graph.task_count++;
    assert_true(i < MAX_TASKS);
    f->tasks[i] = (npu_task){.name = name,
                             .kernel = name,
                             .func = -1,
                             .engine = engine,
                             .block_num = blocks,
                             .first_edge = f->graph.edge_count};
    f->kernel[i] = kernel;
    return i;
}

// The task added last waits for `pred`; ascending.
static inline void after(fixture *f, int pred) {
    int succ = f->graph.task_count - 1;
    assert_true(f->graph.edge_count < MAX_EDGES);
    f->edges[f->graph.edge_count++] = (npu_edge){.pred = pred, .succ = succ, .arg = -1};
    f->tasks[succ].edge_count++;
}

static inline void kernel_end(void *owner, int64_t core) {
    fixture *f = owner;
    npu_aicpu_done(f->aicpu, (int)core);
    npu_aicpu_check_invariants(f->aicpu);
}

static inline void begin_kernel(fixture *f, const npu_row *r) {
    if (f->kernel[r->task] == 0)
        npu_aicpu_done(f->aicpu, r->core);
    else if (f->kernel[r->task] > 0)
        npu_engine_delay(f->engine, f->kernel[r->task], kernel_end, f, r->core);
}

static inline void kernel_start(void *owner, int row) {
    fixture *f = owner;
    const npu_row *r = &f->trace.rows[row];
    assert_true(r->start == npu_engine_now(f->engine));
    if (!f->coupled || f->tasks[r->task].engine != NPU_MIX) {
        begin_kernel(f, r);
    } else if (++f->started[r->task][r->block] == 3) {
        for (int i = 0; i < f->trace.row_count; i++)
            if (f->trace.rows[i].task == r->task && f->trace.rows[i].block == r->block)
                begin_kernel(f, &f->trace.rows[i]);
    }
}

static inline void prepare(fixture *f) {
    npu_error err = {0};
    npu_net net = {0};
    npu_aicpu_hooks hooks = {kernel_start, f};
    assert_int_equal(npu_engine_new(NPU_ENGINE_FLUID, &net, &f->engine, &err), NPU_OK);
    assert_int_equal(npu_aicpu_cores(&f->die, &f->trace, &err), NPU_OK);
    assert_int_equal(
        npu_aicpu_new(&f->die, &f->graph, f->engine, &hooks, &f->trace, &f->aicpu, &err), NPU_OK);
    if (f->recorded)
        npu_aicpu_record(f->aicpu);
    npu_aicpu_begin(f->aicpu);
}

static inline npu_status carry_out(fixture *f, npu_error *err) {
    prepare(f);
    assert_int_equal(npu_engine_run(f->engine, err), NPU_OK);
    npu_aicpu_busy(f->aicpu, f->busy, 1 + NPU_MAX_SCHEDULERS);
    return npu_aicpu_result(f->aicpu, err);
}

static inline void run(fixture *f) {
    npu_error err = {0};
    npu_status status = carry_out(f, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, NPU_OK);
}

static inline void done(fixture *f) {
    npu_aicpu_free(f->aicpu);
    npu_engine_free(f->engine);
    npu_trace_free(&f->trace);
    free(f);
}

static inline void assert_time(double got, double want) {
    if (fabs(got - want) > 1e-6)
        fail_msg("time %.3f, expected %.3f", got, want);
}

// The row of a block on its n-th core in the order of dispatch.
static inline const npu_row *row_of(const fixture *f, int t, int64_t block, int n) {
    for (int i = 0; i < f->trace.row_count; i++)
        if (f->trace.rows[i].task == t && f->trace.rows[i].block == block && n-- == 0)
            return &f->trace.rows[i];
    fail_msg("task %d has no row for block %d", t, (int)block);
    return NULL;
}

static inline void assert_row(const fixture *f, int t, int64_t block, double dispatch,
                              double receive, double start, double end, double finish) {
    const npu_row *row = row_of(f, t, block, 0);
    assert_time(row->dispatch, dispatch);
    assert_time(row->receive, receive);
    assert_time(row->start, start);
    assert_time(row->end, end);
    assert_time(row->finish, finish);
}

// The n-th phase of a kind.
static inline const npu_phase *phase_of(const fixture *f, npu_phase_kind kind, int n) {
    for (int i = 0; i < f->trace.phase_count; i++)
        if (f->trace.phases[i].kind == kind && n-- == 0)
            return &f->trace.phases[i];
    return NULL;
}

#endif
