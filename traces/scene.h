// SPDX-License-Identifier: Apache-2.0
// A capture as the trace and the graph that metrics, pictures and the Perfetto file are made of.
#ifndef NPU_SCENE_H
#define NPU_SCENE_H

#include "capture.h"
#include "deps.h"
#include "names.h"

typedef struct npu_scene {
    npu_trace trace; // stamps in ns from the first one; each is a whole tick of the capture
    npu_graph
        graph;    // tasks, functions, edges; arguments are counted, not kept; no tensors, programs
    int clamped;  // stamps moved because they went backwards in time
    int backward; // edges against the order of submission: left out
    int host_calls; // calls in the host's time: left out
} npu_scene;

// Tasks are those of the graph, in its order, and behind them those that only rows know. `deps`
// and `names` may be NULL: kernels are then called func_N, or "task". Rows without a start are
// left out; where the AICPU's row is missing, a row is dispatched when it is received and
// finished when it ends. Which block a row is of is not recorded: they are numbered by start, of a
// MIX by cluster. A width that the graph does not say follows from the rows. A core without a
// thread belongs to scheduler (cluster mod schedulers).
// Free *scene in any case. NPU_BAD_INPUT when the capture spans more than 2^62 ns.
npu_status npu_scene_make(const npu_capture *capture, const npu_deps *deps,
                          const npu_name_map *names, npu_scene *scene, npu_error *err);
void npu_scene_free(npu_scene *scene);

#endif
