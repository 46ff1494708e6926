// SPDX-License-Identifier: Apache-2.0
// Counters in GM that tell one die of what another has done: notify changes one, await spins on
// one of its own die. All start at 0.
#ifndef NPU_COUNTERS_H
#define NPU_COUNTERS_H

#include "engine.h"

typedef struct npu_counters npu_counters;

// A core that spins; `wake` is called, once, when its counter has reached the value. It must not
// call back into the counters.
typedef struct npu_waiter {
    int64_t address, value;
    void (*wake)(void *owner);
    void *owner;
} npu_waiter;

npu_status npu_counters_new(npu_engine *engine, npu_counters **counters, npu_error *err);
// The counter at `address` changes dt ns from now. NPU_NO_MEMORY when there are too many.
npu_status npu_counters_notify(npu_counters *counters, int64_t address, int64_t value, bool set,
                               double dt, npu_error *err);
// *reached: the counter holds at least waiter->value; *since is then the time (ns) of its last
// change, 0 when it never changed. Otherwise the waiter is kept until that is so.
npu_status npu_counters_await(npu_counters *counters, const npu_waiter *waiter, bool *reached,
                              double *since, npu_error *err);
int64_t npu_counters_value(const npu_counters *counters, int64_t address);
// The waiters that are left, in the order in which they came.
const npu_waiter *npu_counters_waiters(const npu_counters *counters, int *count);
void npu_counters_free(npu_counters *counters);

#endif
