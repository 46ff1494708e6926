// SPDX-License-Identifier: Apache-2.0
// Where the time between kernels went: each wait of the observed chain and each idle span of a
// core by its causes, and the static critical path. ns throughout.
#ifndef NPU_GAPS_H
#define NPU_GAPS_H

#include "metrics.h"

// The causes of a wait, in the order in which they follow each other within it.
typedef enum npu_cause {
    NPU_CAUSE_DETECT,   // what it waited for had ended: until the AICPU saw it
    NPU_CAUSE_SUBMIT,   // until the orchestrator had submitted the task
    NPU_CAUSE_DISPATCH, // ready but undispatched: until the stamp before the register writes
    NPU_CAUSE_PICK_UP,  // until the kernel started on its core
    NPU_CAUSE_COUNT,
} npu_cause;
extern const char *const npu_cause_names[]; // "finish detection", ..

typedef struct npu_gap {          // before one link of the chain, same index
    double part[NPU_CAUSE_COUNT]; // their sum is the link's wait
} npu_gap;

// The time of all cores of one type: the sum of the parts is makespan x cores.
typedef struct npu_core_time {
    int cores;
    double kernel;
    double part[NPU_CAUSE_COUNT]; // idle, while the next row's producers had all ended
    double data;                  // idle, until the producers of the next row had ended
    double no_work;               // after its last row
} npu_core_time;

typedef struct npu_static_link { // one task of the static path
    int task;
    double length; // from its first start to its last end
} npu_static_link;

typedef struct npu_gaps {
    npu_gap *gaps;                // by link of the chain
    double part[NPU_CAUSE_COUNT]; // sums over the chain, the last finish in NPU_CAUSE_DETECT
    npu_core_time cores[2];       // NPU_AIC, NPU_AIV
    // The longest path of tasks, each as long as it was in the run: what is left with cores for
    // all and no time between tasks (runtime.md 4). Edges that the run did not keep to 2 ticks do
    // not count.
    npu_static_link *path;
    int path_count;
    double path_length;
} npu_gaps;

// Of metrics made from this trace. Free in any case.
npu_status npu_gaps_make(const npu_trace *trace, const npu_graph *graph, const npu_metrics *metrics,
                         npu_gaps *gaps, npu_error *err);
void npu_gaps_free(npu_gaps *gaps);

#endif
