// SPDX-License-Identifier: Apache-2.0
// What merged.c collects and merged_build.c uses. Times in ns.
#ifndef NPU_MERGED_IMPL_H
#define NPU_MERGED_IMPL_H

#include "merged.h"

enum {
    NPU_MOST_PROCESSES = 64,
    NPU_MOST_MERGED_CORES = 900, // their threads end where the markers begin
    NPU_TID_MARKERS = 19000,     // + thread, in the worker view
};

typedef enum npu_view {
    NPU_VIEW_OTHER,
    NPU_VIEW_WORKER,
    NPU_VIEW_DISPATCH,
    NPU_VIEW_SCHEDULER,
    NPU_VIEW_ORCHESTRATOR,
} npu_view;

typedef struct npu_process {
    const char *pid;
    npu_view view;
} npu_process;

typedef struct npu_slice {
    int process, tid;
    npu_view view; // of the process
    int64_t start, end, setup;
    bool has_task, has_depths;
    uint64_t task;
    int func;           // -1: not said
    const char *kernel; // with func
    int kind;           // of a scheduler's phase, as in npu_capture.kinds; -1: none
    int64_t loop_iter, processed, submit_idx;
    int64_t depth_start[3], depth_end[3];
} npu_slice;

typedef struct npu_arrow_end {
    uint64_t id;
    bool leads; // it begins here
    int process, tid;
    int64_t ts;
} npu_arrow_end;

typedef struct npu_merged {
    npu_capture *capture;
    npu_deps *deps;
    npu_name_map *names;
    npu_error *err;
    npu_process processes[NPU_MOST_PROCESSES];
    int process_count;
    npu_slice *slices;
    int slice_count, slice_capacity;
    npu_arrow_end *arrows;
    int arrow_count, arrow_capacity;
    npu_arena arena;
} npu_merged;

npu_status npu_merged_build(npu_merged *m, npu_json *json);

#endif
