// SPDX-License-Identifier: Apache-2.0
// What the parts of a replay share: the graph (replay.c), times (times.c), figures (compare.c).
#ifndef NPU_REPLAY_IMPL_H
#define NPU_REPLAY_IMPL_H

#include "replay.h"

// Measured times of every part of every block.
typedef struct npu_replay_times {
    const npu_graph *graph;
    int clusters;
    int *first; // of each task: its place in `ns`
    double *ns; // by block, then part; below 0: a tile program's matter
} npu_replay_times;

// Parts without a row take the mean of their function's rows on such cores. The blocks of a graph
// may be changed before only as its rows allow.
npu_status npu_replay_times_make(const npu_scene *scene, const npu_graph *graph,
                                 npu_replay_times *times, npu_error *err);
void npu_replay_times_free(npu_replay_times *times);
// For npu_sim_times.
double npu_replay_time_of(const void *times, const npu_row *row);

// The part of a MIX block that a core runs: 0 the AIC, 1 and 2 the AIVs; 0 of any other task.
int npu_replay_part(const npu_graph *graph, int clusters, int task, int core);

// What a swimlane file would say: whole ticks of `hz`, rounded down. A captured stamp is one.
double npu_replay_tick(double ns, double hz);

// The first dispatch, ns.
double npu_replay_first(const npu_trace *trace);

npu_status npu_replay_compare(const npu_scene *scene, npu_replay *replay, npu_error *err);

#endif
