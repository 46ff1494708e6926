// SPDX-License-Identifier: Apache-2.0
// Jobs in processes of their own, several at a time: one that dies takes no other with it, and
// an engine that runs once per process can be used.
#ifndef NPU_POOL_H
#define NPU_POOL_H

#include <stddef.h>

#include "error.h"

typedef struct npu_pool {
    int jobs;           // numbered from 0
    int parallel;       // at most, at least 1
    size_t result_size; // bytes of a job's result
    void *owner;
    // In the child: fills the zeroed result. What else it changes is lost.
    npu_status (*work)(void *owner, int job, void *result, npu_error *err);
    // In the parent, as jobs end, in any order.
    void (*done)(void *owner, int job, npu_status status, const npu_error *error,
                 const void *result);
} npu_pool;

// Runs all jobs. A process that dies makes its job fail (NPU_BAD_INPUT, with the signal); this
// call fails only when processes cannot be started.
npu_status npu_pool_run(const npu_pool *pool, npu_error *err);

#endif
