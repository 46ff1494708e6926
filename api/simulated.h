// SPDX-License-Identifier: Apache-2.0
// A graph loaded, simulated and measured: what explaining and comparing begin with.
#ifndef NPU_SIMULATED_H
#define NPU_SIMULATED_H

#include "context.h"
#include "gaps.h"
#include "simulate.h"

typedef struct npu_simulated {
    npu_context context;
    npu_sim_result *results; // of each rank
    int slowest;             // the rank whose makespan is the largest
    bool l2_warm;
    npu_metrics metrics; // of the slowest rank, as are the gaps
    npu_gaps gaps;
} npu_simulated;

// On the fluid engine, whatever `input` says. Close it in any case.
npu_status npu_simulated_open(npu_simulated *s, const npusim_input *input, npu_error *err);
void npu_simulated_close(npu_simulated *s);

// Of the slowest rank.
static inline const npu_graph *npu_simulated_graph(const npu_simulated *s) {
    return &s->context.ranks.graphs[s->slowest];
}
static inline const npu_trace *npu_simulated_trace(const npu_simulated *s) {
    return &s->results[s->slowest].trace;
}

#endif
