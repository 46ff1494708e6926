// SPDX-License-Identifier: Apache-2.0
// A made-up die with round numbers (1 GHz: a cycle is a ns, and a line of 512 B takes 1 ns), and
// blocks of inline kernels that start on chosen cores at chosen times, without an AICPU.
#ifndef TEST_SIM_CORE_H
#define TEST_SIM_CORE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core.h"

enum { MAX_ROWS = 64, CLUSTERS = 2, CORES = 3 * CLUSTERS };
enum { AIC0 = 0, AIV0 = CLUSTERS, AIV1, AIV2, AIV3 }; // AIV0 and AIV1 are in the cluster of AIC0

// A graph of one kernel `k` over x and y. A row of them is a line of L2. Whether x is in L2
// when the run starts is the caller's choice.
#define COLD "external: true"
#define WARM "external: true, l2: warm"
#define GRAPH(engine, x, slots, program)                                                           \
    "graph: t\n"                                                                                   \
    "kernels:\n"                                                                                   \
    "  k:\n"                                                                                       \
    "    engine: " engine "\n"                                                                     \
    "    args: { x: in, y: out }\n"                                                                \
    "    slots: { " slots " }\n"                                                                   \
    "    program: " program "\n"                                                                   \
    "tensors:\n"                                                                                   \
    "  x: { shape: [4096, 128], dtype: fp32, " x " }\n"                                            \
    "  y: { shape: [4096, 128], dtype: fp32 }\n"                                                   \
    "tasks: [{ task: k, kernel: k, x: x, y: y, grid: { b: 64 } }]\n"
// `copies` tiles of `lines` lines.
#define UB(name, lines, copies)                                                                    \
#name ": { in: ub, shape: [" #lines ", 128], dtype: fp32, copies: " #copies " }"

typedef struct fixture {
    npu_die die;
    npu_graph graph;
    npu_dies dies;
    npu_warnings warnings;
    npu_error err;
    npu_trace trace;
    npu_core_info info[CORES];
    npu_row rows[MAX_ROWS];
    double when[MAX_ROWS]; // the earliest time a row's block may start
    int running[CORES];    // row, or -1
    npu_engine *engine;
    npu_memory *memory;
    npu_sdma *sdma;
    npu_cores *cores;
} fixture;

static inline void made_up_memory(npu_die *die) {
    // Neither lines in flight nor what the cores share is a limit, if a test does not say so.
    die->aic = die->aiv = (npu_core_port){.read = 512, .write = 512, .outstanding = 1e6};
    die->l2.size = 4096 * 32768.0;
    die->l2.line = 512;
    die->l2.sector = 128;
    die->l2.read = die->l2.write = 1e6;
    die->l2.hit_latency = 100;
    die->l2.miss_latency = 1000;
    die->l2.write_latency = 100;
    die->l2.atomic = 2;
    die->hbm.rate = 1e6;
    die->hbm.efficiency = 1;
    die->hbm.crowd = 64; // more than there are cores
    die->hbm.crowd_rate = 1e6;
    die->sdma.start = 500;
    die->sdma.rate = 256;
    die->sdma.shared = 64;
    die->sdma.chunk = 51200;
    die->sdma.issue = 300;
}

static inline void made_up_die(npu_die *die) {
    memset(die, 0, sizeof *die);
    die->name = die->path = "made up";
    die->clock = 1;
    die->clusters = CLUSTERS;
    die->scalar.op = 1;
    die->scalar.gm = 200;
    die->scalar.queue_depth = 32;
    die->scalar.flag = 50;
    die->icache.size = 1024;
    die->icache.line = 64;
    die->icache.instruction = 4;
    die->cube.mac_fp16 = 4096;
    die->cube.mac_int8 = 8192;
    die->cube.mac_fp32 = 1024;
    die->cube.fractal = 16;
    die->cube.fractal_bytes = 32;
    die->cube.head = 20;
    die->cube.unit_flag_head = 9;
    die->mte1.l0a = 256;
    die->mte1.l0b = 128;
    die->mte1.issue = 50;
    die->mte.issue = 10;
    die->fixpipe.fixed = 160;
    die->fixpipe.row_floor = 4;
    die->fixpipe.bytes = 128;
    die->fixpipe.odd = 2;
    die->vector.bytes = 256;
    die->align[NPU_UB] = 32;
    die->vector.bank_groups = 16;
    die->vector.bank_row = 32;
    for (int i = 0; i < NPU_VEC_COUNT; i++) // 1 cycle for a line
        die->vector.ops[i] = (npu_vec_cost){.startup = 20, .per_repeat = 0.5};
    made_up_memory(die);
}

static inline int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    *state = f;
    if (f == NULL)
        return -1;
    made_up_die(&f->die);
    for (int i = 0; i < CORES; i++)
        f->info[i].type = i < CLUSTERS ? NPU_AIC : NPU_AIV;
    f->trace.cores = f->info;
    f->trace.core_count = CORES;
    f->trace.rows = f->rows;
    return 0;
}

static inline void take_down(fixture *f) {
    npu_cores_free(f->cores);
    npu_sdma_free(f->sdma);
    npu_memory_free(f->memory);
    npu_counters_free(f->dies.counters);
    npu_engine_free(f->engine);
    f->cores = NULL;
    f->dies = (npu_dies){0};
    f->sdma = NULL;
    f->memory = NULL;
    f->engine = NULL;
}

static inline int tear_down(void **state) {
    fixture *f = *state;
    take_down(f);
    npu_graph_free(&f->graph);
    npu_warnings_free(&f->warnings);
    free(f);
    return 0;
}

// Forgets the blocks and the graph before.
static inline void load(fixture *f, const char *text) {
    char path[] = "/tmp/npusim_test_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    npu_graph_options options = {.kernel_folder = "."};
    take_down(f);
    npu_graph_free(&f->graph);
    npu_warnings_free(&f->warnings);
    f->trace.row_count = 0;
    memset(&f->trace.totals, 0, sizeof f->trace.totals);
    f->err.text[0] = '\0';
    npu_status status = npu_graph_load(path, &options, &f->graph, &f->warnings, &f->err);
    unlink(path);
    assert_string_equal(f->err.text, "");
    assert_int_equal(status, NPU_OK);
}

// A block of a task starts on a core at `when`, or as soon as the blocks before it have ended.
static inline int start_at(fixture *f, int task, int64_t block, int core, double when) {
    int row = f->trace.row_count++;
    assert_true(row < MAX_ROWS);
    f->rows[row] = (npu_row){.core = core, .task = task, .block = block, .end = -1};
    f->when[row] = when;
    return row;
}

static inline void start_next(fixture *f, int core) {
    for (int row = 0; row < f->trace.row_count && f->running[core] < 0; row++) {
        npu_row *r = &f->rows[row];
        if (r->core != core || r->end >= 0)
            continue;
        if (f->when[row] > npu_engine_now(f->engine))
            return;
        f->running[core] = row;
        r->start = npu_engine_now(f->engine);
        npu_cores_start(f->cores, row);
    }
}

static inline void time_to_start(void *owner, int64_t core) {
    start_next(owner, (int)core);
}

static inline void block_ended(void *owner, int core) {
    fixture *f = owner;
    f->rows[f->running[core]].end = npu_engine_now(f->engine);
    f->running[core] = -1;
    start_next(f, core);
}

static inline void build(fixture *f) {
    npu_cores_hooks hooks = {block_ended, f};
    npu_totals *totals = &f->trace.totals;
    npu_error *err = &f->err;
    assert_int_equal(npu_dies_engine(&f->die, 1, 1, NULL, NPU_ENGINE_FLUID, &f->engine, err),
                     NPU_OK);
    assert_int_equal(npu_memory_new(&f->die, &f->graph, f->engine, false, totals, &f->memory, err),
                     NPU_OK);
    assert_int_equal(npu_sdma_new(&f->die, f->engine, f->memory, totals, CORES, &f->sdma, err),
                     NPU_OK);
    f->dies = (npu_dies){.ranks = 1, .full = 1, .graphs = &f->graph, .memories = {f->memory}};
    assert_int_equal(npu_counters_new(f->engine, NULL, &f->dies.counters, err), NPU_OK);
    assert_int_equal(npu_cores_new(&f->die, &f->graph, f->engine, &f->dies, f->sdma, &f->trace,
                                   &hooks, &f->cores, err),
                     NPU_OK);
}

static inline npu_status carry_out(fixture *f) {
    build(f);
    for (int i = 0; i < CORES; i++)
        f->running[i] = -1;
    for (int row = 0; row < f->trace.row_count; row++) {
        if (f->when[row] > 0)
            npu_engine_delay(f->engine, f->when[row], time_to_start, f, f->rows[row].core);
        else
            start_next(f, f->rows[row].core);
    }
    assert_int_equal(npu_engine_run(f->engine, &f->err), NPU_OK);
    npu_memory_check_invariants(f->memory);
    return npu_cores_result(f->cores, &f->err);
}

static inline void run(fixture *f) {
    npu_status status = carry_out(f);
    assert_string_equal(f->err.text, "");
    assert_int_equal(status, NPU_OK);
    for (int row = 0; row < f->trace.row_count; row++)
        assert_true(f->rows[row].end >= f->rows[row].start);
}

static inline void assert_time(double got, double want) {
    if (!(fabs(got - want) <= 1e-6))
        fail_msg("time %.6f, expected %.6f", got, want);
}

// When block 0 of the first task ends on a core on which it is started at 0.
static inline double run_alone(fixture *f, const char *text, int core) {
    load(f, text);
    int row = start_at(f, 0, 0, core, 0);
    run(f);
    return f->rows[row].end;
}

#endif
