// SPDX-License-Identifier: Apache-2.0
// A small run, made by hand: two clusters (AIC 0 and 1; AIV 2, 3 and 4, 5), two schedulers.
//
//   r1t0 mm       AIC, 1 block
//   r1t1 fuse     MIX, 1 block, on cluster 1; reads what mm allocated
//   r1t2 barrier  dummy, after fuse
//   r1t3 act      AIV, 3 blocks on cores 2, 3 and 2 again; reads what fuse wrote
#ifndef TEST_TRACES_FIXTURE_H
#define TEST_TRACES_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace.h"

enum { FIX_TENSORS = 5, FIX_ARGS = 7, FIX_TASKS = 4, FIX_EDGES = 4, FIX_FUNCS = 3, FIX_CORES = 6 };
enum { FIX_ROWS = 7, FIX_PHASES = 9, FIX_SUBMITS = 5 };

typedef struct fixture {
    npu_tensor tensors[FIX_TENSORS];
    npu_arg args[FIX_ARGS];
    npu_task tasks[FIX_TASKS];
    npu_edge edges[FIX_EDGES];
    npu_func funcs[FIX_FUNCS];
    npu_graph graph;
    npu_core_info cores[FIX_CORES];
    npu_row rows[FIX_ROWS];
    npu_phase phases[FIX_PHASES];
    npu_submit submits[FIX_SUBMITS];
    npu_trace trace;
} fixture;

static inline npu_tensor fix_tensor(const char *name, npu_dtype dtype, int storage, int64_t rows,
                                    int64_t address) {
    return (npu_tensor){.name = name,
                        .dtype = dtype,
                        .rank = 2,
                        .shape = {rows, 16},
                        .stride = {16, 1},
                        .storage = storage,
                        .address = address,
                        .bytes = rows * 16 * npu_dtype_bytes(dtype)};
}

static inline npu_arg fix_arg(const char *name, int tensor, npu_access access, int64_t rows,
                              int64_t offset) {
    return (npu_arg){.name = name,
                     .tensor = tensor,
                     .access = access,
                     .rank = 2,
                     .shape = {rows, 16},
                     .stride = {16, 1},
                     .offset = offset};
}

static inline void fix_graph(fixture *f) {
    f->tensors[0] = fix_tensor("x", NPU_BF16, 0, 4, 0);
    f->tensors[1] = fix_tensor("y", NPU_FP32, 1, 4, 512);
    f->tensors[2] = fix_tensor("z", NPU_FP32, 2, 8, 1024);
    f->tensors[3] = fix_tensor("z_low", NPU_FP32, 2, 4, 1024 + 256); // a view
    f->tensors[3].bytes = 0;
    f->tensors[4] = fix_tensor("out", NPU_INT8, 4, 8, 1536);
    f->args[0] = fix_arg("x", 0, NPU_IN, 4, 0);
    f->args[1] = fix_arg("y", 1, NPU_OUT, 4, 0);
    f->args[2] = fix_arg("y", 1, NPU_IN, 4, 0);
    f->args[3] = fix_arg("z", 3, NPU_INOUT, 4, 64);
    f->args[4] = fix_arg("z", 2, NPU_IN, 8, 0);
    f->args[5] = fix_arg("out", 4, NPU_OUT_EXISTING, 8, 0);
    f->args[6] = fix_arg("table", 0, NPU_NO_DEP, 4, 0);
    f->funcs[0] = (npu_func){.name = "mm", .aic_id = 0, .aiv_id = -1};
    f->funcs[1] = (npu_func){.name = "fuse", .aic_id = 1, .aiv_id = 2};
    f->funcs[2] = (npu_func){.name = "act", .aic_id = -1, .aiv_id = 3};
    f->tasks[0] = (npu_task){
        .name = "mm", .func = 0, .engine = NPU_AIC, .arg_count = 2, .block_num = 1, .early = true};
    f->tasks[1] = (npu_task){.name = "fuse",
                             .func = 1,
                             .engine = NPU_MIX,
                             .first_arg = 2,
                             .arg_count = 2,
                             .edge_count = 1,
                             .block_num = 1};
    f->tasks[2] = (npu_task){.name = "barrier",
                             .func = -1,
                             .engine = NPU_DUMMY,
                             .first_arg = 4,
                             .first_edge = 1,
                             .edge_count = 1,
                             .manual = true};
    f->tasks[3] = (npu_task){.name = "act",
                             .func = 2,
                             .engine = NPU_AIV,
                             .first_arg = 4,
                             .arg_count = 3,
                             .first_edge = 2,
                             .edge_count = 2,
                             .block_num = 3};
    f->edges[0] = (npu_edge){0, 1, 0, NPU_EDGE_CREATOR, false, 1};
    f->edges[1] = (npu_edge){1, 2, -1, NPU_EDGE_EXPLICIT, false, -1};
    f->edges[2] = (npu_edge){1, 3, 0, NPU_EDGE_TENSORMAP, true, 1};
    f->edges[3] = (npu_edge){2, 3, -1, NPU_EDGE_EXPLICIT, false, -1};
    f->graph = (npu_graph){.name = "tiny",
                           .tensors = f->tensors,
                           .tensor_count = FIX_TENSORS,
                           .tasks = f->tasks,
                           .task_count = FIX_TASKS,
                           .args = f->args,
                           .arg_count = FIX_ARGS,
                           .edges = f->edges,
                           .edge_count = FIX_EDGES,
                           .funcs = f->funcs,
                           .func_count = FIX_FUNCS};
}

static inline npu_row fix_row(int task, int64_t block, int core, uint32_t reg, double dispatch,
                              double receive, double start, double end, double finish) {
    return (npu_row){.core = core,
                     .task = task,
                     .block = block,
                     .reg_task_id = reg,
                     .dispatch = dispatch,
                     .receive = receive,
                     .start = start,
                     .end = end,
                     .finish = finish,
                     .read_bytes = 1000 * (task + 1),
                     .write_bytes = 10};
}

static inline npu_phase fix_phase(int thread, npu_phase_kind kind, double start, double end,
                                  int64_t iter, int64_t processed) {
    return (npu_phase){.thread = thread,
                       .kind = kind,
                       .start = start,
                       .end = end,
                       .loop_iter = iter,
                       .processed = processed,
                       .task = -1};
}

static inline void fix_phases(fixture *f) {
    f->phases[0] = fix_phase(0, NPU_PHASE_DISPATCH, 800, 1060, 7, 1);
    f->phases[0].pop_hit = 1;
    f->phases[0].pop_miss = 2;
    f->phases[0].depth_start[0] = 1;
    f->phases[1] = fix_phase(0, NPU_PHASE_COMPLETE, 6000, 6300, 50, 1);
    f->phases[1].depth_end[2] = 1;
    f->phases[2] = fix_phase(0, NPU_PHASE_DISPATCH, 11900, 12100, 90, 3);
    f->phases[3] = fix_phase(0, NPU_PHASE_COMPLETE, 14800, 17300, 99, 3);
    f->phases[4] = fix_phase(0, NPU_PHASE_RESOLVE, 15000, 16000, 99, 2);
    f->phases[5] = fix_phase(1, NPU_PHASE_DISPATCH, 6300, 6560, 40, 3);
    f->phases[6] = fix_phase(1, NPU_PHASE_COMPLETE, 11400, 11700, 80, 3);
    f->phases[7] = fix_phase(1, NPU_PHASE_RESOLVE, 11420, 11600, 80, 2); // too short to be kept
    f->phases[8] = fix_phase(1, NPU_PHASE_DUMMY_TASK, 11760, 11760, 80, 1);
    f->phases[8].task = 2;
    f->submits[0] = (npu_submit){0, 0, 400};
    f->submits[1] = (npu_submit){-1, 400, 500};
    f->submits[2] = (npu_submit){1, 500, 900};
    f->submits[3] = (npu_submit){2, 900, 1200};
    f->submits[4] = (npu_submit){3, 1200, 1600};
}

static inline void fix_trace(fixture *f) {
    for (int core = 0; core < FIX_CORES; core++)
        f->cores[core] =
            (npu_core_info){core < 2 ? NPU_AIC : NPU_AIV, core < 2 ? core : (core - 2) / 2};
    f->rows[0] = fix_row(0, 0, 0, 1, 1000, 1200, 1500, 5500, 6100);
    f->rows[0].busy[NPU_PIPE_M] = 3000;
    f->rows[0].busy[NPU_PIPE_MTE2] = 2000;
    f->rows[0].busy[NPU_PIPE_MTE1] = 1000;
    f->rows[0].busy[NPU_PIPE_S] = 100;
    f->rows[0].busy[NPU_PIPE_FIXPIPE] = 400;
    f->rows[1] = fix_row(1, 0, 1, 1, 6500, 6700, 7000, 11000, 11500);
    f->rows[1].busy[NPU_PIPE_MTE2] = 3600;
    f->rows[2] = fix_row(1, 0, 4, 1, 6500, 6700, 7020, 11020, 11600);
    f->rows[2].busy[NPU_PIPE_V] = 2000;
    f->rows[2].busy[NPU_PIPE_MTE3] = 500;
    f->rows[3] = fix_row(1, 0, 5, 1, 6500, 6700, 7020, 10000, 11600);
    f->rows[3].busy[NPU_PIPE_V] = 1000;
    f->rows[4] = fix_row(3, 0, 2, 1, 12000, 12200, 12400, 14400, 15000);
    f->rows[4].busy[NPU_PIPE_V] = 2000;
    f->rows[5] = fix_row(3, 1, 3, 1, 12000, 12200, 12420, 14400, 14900);
    f->rows[6] = fix_row(3, 2, 2, 2, 12000, 14400, 14700, 16700, 17300);
    fix_phases(f);
    f->trace = (npu_trace){.clock_hz = 50e6,
                           .core_hz = 1.85e9,
                           .cores = f->cores,
                           .core_count = FIX_CORES,
                           .rows = f->rows,
                           .row_count = FIX_ROWS,
                           .phases = f->phases,
                           .phase_count = FIX_PHASES,
                           .submits = f->submits,
                           .submit_count = FIX_SUBMITS,
                           .scheduler_count = 2,
                           .makespan = 17300};
}

static inline fixture *fix_new(void) {
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    fix_graph(f);
    fix_trace(f);
    return f;
}

// Text written to a stream: begin, write to `out`, end; free the result.
typedef struct sink {
    FILE *out;
    char *text;
    size_t size;
} sink;

static inline void sink_begin(sink *s) {
    s->out = open_memstream(&s->text, &s->size);
    assert_non_null(s->out);
}

static inline char *sink_end(sink *s) {
    assert_int_equal(fclose(s->out), 0);
    return s->text;
}

// Says which line differs, where assert_string_equal would print both texts whole.
static inline void assert_text(const char *text, const char *expected) {
    int line = 1;
    size_t start = 0;
    for (size_t i = 0;; i++) {
        if (text[i] != expected[i])
            fail_msg("line %d is\n%.200s\nand not\n%.200s", line, text + start, expected + start);
        if (text[i] == '\0')
            return;
        if (text[i] == '\n') {
            line++;
            start = i + 1;
        }
    }
}

#endif
