// SPDX-License-Identifier: Apache-2.0
// Runs a task graph on a die and fills a trace.
#ifndef NPU_SIMULATE_H
#define NPU_SIMULATE_H

#include "die.h"
#include "engine.h"
#include "graph.h"
#include "pinned.h"
#include "trace.h"

enum { NPU_MAX_THREADS = 9 }; // the orchestrator and at most 8 schedulers

// Kernel times that are known instead of modelled.
typedef struct npu_sim_times {
    // ns of the kernel body of a row, of which core, task and block are filled; below 0: by its
    // task's tile program.
    double (*of)(const void *owner, const npu_row *row);
    const void *owner;
} npu_sim_times;

typedef struct npu_sim_options {
    npu_engine_kind engine;
    bool l2_warm;               // external tensors start in L2
    const npu_sim_times *times; // NULL: every task has a tile program
    const npu_pin *pins;        // where and in which order blocks run (pinned.h); NULL: dispatched
    int pin_count;
    bool recorded; // recording the swimlane costs time, as on the device (npu_die.recorder)
} npu_sim_options;

typedef struct npu_sim_result {
    npu_trace trace;
    double thread_busy[NPU_MAX_THREADS]; // ns: orchestrator, schedulers
    int thread_count;
    int64_t events; // callbacks of the engine
} npu_sim_result;

// On failure *result is empty. Free with npu_sim_result_free.
npu_status npu_simulate(const npu_graph *graph, const npu_die *die, const npu_sim_options *options,
                        npu_sim_result *result, npu_error *err);
void npu_sim_result_free(npu_sim_result *result);

#endif
