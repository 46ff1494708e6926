// SPDX-License-Identifier: Apache-2.0
// Figures computed from a trace and its graph: what each kernel cost, how busy the die was,
// and the chain of blocks that the makespan consists of. ns and bytes throughout.
#ifndef NPU_METRICS_H
#define NPU_METRICS_H

#include "trace.h"

// All tasks of one function (npu_graph.funcs, same index). A MIX block counts once and lasts
// from its first start to its last end; a row is one core's part of it.
typedef struct npu_kernel_metrics {
    const char *name;
    npu_engine_type engine;
    int tasks;
    int rows;
    int64_t blocks;
    double block_mean, block_max;
    // AICPU overhead per row. Head: dispatch -> start, or since the core was free when that was
    // later (a task queued behind another); tail: end -> finish.
    double head_mean, head_median;
    double tail_mean, tail_median;
    // The pipe busiest on average while its cores ran this kernel.
    npu_engine_type bound_core; // AIC or AIV
    npu_pipe bound_pipe;
    double bound_share; // 0..1
    int64_t read_bytes, write_bytes;
    double core_time;  // sum over rows of end - start
    double core_share; // of the core time of all kernels
} npu_kernel_metrics;

// Why a block of the chain did not start when the one before it ended.
typedef enum npu_wait_reason {
    NPU_WAIT_FRONT, // nothing before it: submit and first dispatch
    NPU_WAIT_DATA,  // its latest producer had ended: the dispatch was under way
    NPU_WAIT_CORE,  // its core was taken until then
} npu_wait_reason;
extern const char *const npu_wait_names[]; // "front", "data", "core"

typedef struct npu_chain_link { // one block of the chain
    int row;
    int task;
    double wait; // from the end of the link before it (or 0) to its start
    double exec;
    npu_wait_reason reason;
} npu_chain_link;

typedef struct npu_metrics {
    npu_kernel_metrics *kernels; // by function; those without rows have tasks == 0
    int kernel_count;
    int dummies;               // tasks without rows
    double makespan;           // as in the trace
    double core_time;          // of all rows
    double aic_busy, aiv_busy; // share of the makespan, 0..1
    double *aicpu_busy;        // share per thread, [0] the orchestrator
    int aicpu_count;
    npu_chain_link *chain; // in time order
    int chain_count;
    double chain_exec;    // sum of exec
    double chain_wait[3]; // sum of wait by reason
    double chain_tail;    // last end -> makespan. exec + wait + tail = makespan
} npu_metrics;

// `aicpu_ns` holds ns that each AICPU thread was busy. Free in any case.
npu_status npu_metrics_make(const npu_trace *trace, const npu_graph *graph, const double *aicpu_ns,
                            int aicpu_count, npu_metrics *metrics, npu_error *err);
void npu_metrics_free(npu_metrics *metrics);

#endif
