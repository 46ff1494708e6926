// SPDX-License-Identifier: Apache-2.0
// Runs a task graph on a die, or one per rank on several, and fills a trace of each.
#ifndef NPU_SIMULATE_H
#define NPU_SIMULATE_H

#include "die.h"
#include "pinned.h"
#include "ranks.h"
#include "trace.h"

enum { NPU_MAX_THREADS = 9 }; // the orchestrator and at most 8 schedulers

// Kernel times that are known instead of modelled.
typedef struct npu_sim_times {
    // ns of the kernel body of a row, of which core, task and block are filled; below 0: by its
    // task's tile program.
    double (*of)(const void *owner, const npu_row *row);
    const void *owner;
} npu_sim_times;

typedef struct npu_link_use { // of a link of the fabric
    double bytes;             // that it carried
    double busy;              // ns in which it carried anything
} npu_link_use;

typedef struct npu_sim_options {
    npu_engine_kind engine;
    bool l2_warm;          // external tensors start in L2
    npu_warnings *hazards; // what dies tell each other and works by luck (counters.h); may be NULL
    npu_link_use *fabric;  // [ranks->fabric.link_count] to be filled, or NULL
    // Of rank 0:
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

// `results`: one of each rank that is simulated, ranks->full. All dies are alike and begin at once.
// On failure the results are empty. Errors: a block that cannot go on, ranks that wait for each
// other (with who waits for what). Free each result with npu_sim_result_free.
npu_status npu_simulate_ranks(const npu_ranks *ranks, const npu_die *die,
                              const npu_sim_options *options, npu_sim_result *results,
                              npu_error *err);
// The same for a graph of one rank.
npu_status npu_simulate(const npu_graph *graph, const npu_die *die, const npu_sim_options *options,
                        npu_sim_result *result, npu_error *err);
void npu_sim_result_free(npu_sim_result *result);

#endif
