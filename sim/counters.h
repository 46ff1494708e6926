// SPDX-License-Identifier: Apache-2.0
// Counters in GM that tell one die of what another has done: notify changes one, await spins on
// one of its own die. All start at 0.
#ifndef NPU_COUNTERS_H
#define NPU_COUNTERS_H

#include "engine.h"
#include "graph.h"

typedef struct npu_counters npu_counters;

// The task that does something, for what is said about it.
typedef struct npu_actor {
    const npu_graph *graph;
    int task;
} npu_actor;

// A change of the counter at `address`.
typedef struct npu_notice {
    int64_t address, value;
    bool set;             // else the value is added
    bool overtakes;       // stores before it have not been answered
    double sent, arrives; // ns; may lie ahead
    npu_actor by;
} npu_notice;

// A core that spins; `wake` is called, once, when its counter has reached the value. It must not
// call back into the counters.
typedef struct npu_waiter {
    int64_t address, value;
    npu_actor by;
    void (*wake)(void *owner);
    void *owner;
} npu_waiter;

// `hazards` gets a line for every pair of tasks that works by luck (may be NULL):
// - a notify that may pass stores of its task, and the task that waits for it;
// - a set and another notify that are on their way to one counter at once;
// - two tasks that wait for the same value of a counter that goes on to count.
npu_status npu_counters_new(npu_engine *engine, npu_warnings *hazards, npu_counters **counters,
                            npu_error *err);
npu_status npu_counters_notify(npu_counters *counters, const npu_notice *notice, npu_error *err);
// *reached: the counter holds at least waiter->value; *since is then the time (ns) of its last
// change, 0 when it never changed. Otherwise the waiter is kept until that is so.
npu_status npu_counters_await(npu_counters *counters, const npu_waiter *waiter, bool *reached,
                              double *since, npu_error *err);
// After the run: hazards that show only then.
void npu_counters_finish(npu_counters *counters);
int64_t npu_counters_value(const npu_counters *counters, int64_t address);
// The waiters that are left, in the order in which they came.
const npu_waiter *npu_counters_waiters(const npu_counters *counters, int *count);
void npu_counters_free(npu_counters *counters);

#endif
