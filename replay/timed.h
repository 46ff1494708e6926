// SPDX-License-Identifier: Apache-2.0
// The two runs of a replay side by side: stamps in whole ticks of the capture, the rows that a row
// waited for, and which row of the one is which of the other.
#ifndef NPU_TIMED_H
#define NPU_TIMED_H

#include "index.h"
#include "trace.h"

typedef struct npu_timed_row {
    int row; // of the trace
    int task, core;
    int mate;   // the same part of the same block in the other run, -1: none
    int before; // the row before it on its core, -1: none
    int slot;   // the last row of its core that was seen to finish before this one was sent, or -1
    double enter; // the scheduler turned to dispatch: start of its phase; <= dispatch
    double dispatch, start, end, finish;
} npu_timed_row;

typedef struct npu_timed {
    npu_timed_row *rows; // by start, then core
    int count;
    npu_index index;    // of the trace, but `core` and `task` are of these rows
    double *submit;     // by task: the submit ended, NAN: not known
    double *data;       // by task: the last finish that it waited for, -INFINITY: none
    double first, last; // the first dispatch, the last finish
    bool has_submits;
} npu_timed;

// Both runs are of the same graph and machine. Without the calls of an orchestrator in both, no
// submit is known; without phases in both, `enter` is `dispatch`. Zero is the first submit's start,
// or the first dispatch. Free both in any case.
npu_status npu_timed_make(const npu_trace *measured, const npu_trace *modelled,
                          const npu_graph *graph, npu_timed *m, npu_timed *s, npu_error *err);
void npu_timed_free(npu_timed *run);

#endif
