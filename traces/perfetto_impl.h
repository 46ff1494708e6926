// SPDX-License-Identifier: Apache-2.0
// What perfetto.c (slices) and flows.c (arrows) share.
#ifndef NPU_PERFETTO_IMPL_H
#define NPU_PERFETTO_IMPL_H

#include "emit.h"
#include "index.h"

enum { // processes
    NPU_PID_ORCHESTRATOR = 1,
    NPU_PID_SCHEDULER = 2,
    NPU_PID_DISPATCH = 3, // "Scheduler View": dispatch -> finish
    NPU_PID_WORKER = 4,   // "Worker View": receive -> end
};

enum { // threads
    NPU_TID_QUEUE = 3999,
    NPU_TID_ORCHESTRATOR = 4000,
    NPU_TID_AICPU = 19000, // + thread, in Worker View
    NPU_MARKER_NS = 20,    // width of a slice that has none
};

typedef struct npu_perfetto {
    npu_emit emit;
    const npu_trace *trace;
    const npu_graph *graph;
    int level;
    npu_index index;
    npu_groups completes; // "complete" phases of each scheduler
    int64_t origin;       // ticks of the smallest stamp
    int next_event;       // ids of slices
    int *slice;           // of each row, in Worker View
    int *finishes;        // of each phase: rows whose finish it saw
    int *marker;          // of each task: index of its dummy_task phase, or -1
    int *marker_slice;
} npu_perfetto;

// A stamp as the file shows it: whole ns from the smallest one, a multiple of the tick.
int64_t npu_perfetto_at(const npu_perfetto *p, double ns);

static inline int npu_core_tid(int core) {
    return 10000 + 10 * core;
}

static inline int npu_scheduler_tid(int thread) {
    return 30000 + 10 * thread;
}

// The "complete" phase in which scheduler `thread` saw a row finish at `ns`: the one around
// that time, else the next; -1 when there is none.
int npu_perfetto_complete_at(const npu_perfetto *p, int thread, double ns);

void npu_perfetto_flows(npu_perfetto *p);

#endif
