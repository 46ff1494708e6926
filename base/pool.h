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
    bool lasting;       // a process does job after job, in this run and the next, else only one
    size_t order_size;  // bytes that are sent along with a job, at most 64 KiB
    size_t result_size; // bytes of a job's result
    void *owner;
    // In the parent: fills the order of a job. NULL when its size is 0.
    void (*order)(void *owner, int job, void *order);
    // In a child, whose memory is the parent's as it was when the process began: fills the zeroed
    // result. What else it changes is lost to all but this process.
    npu_status (*work)(void *owner, int job, const void *order, void *result, npu_error *err);
    // In the parent, as jobs end, in any order.
    void (*done)(void *owner, int job, npu_status status, const npu_error *error,
                 const void *result);
    struct npu_worker *workers; // NULL at first
} npu_pool;

// Runs all jobs, the first ones first. A process that dies makes its job fail (NPU_BAD_INPUT,
// with the signal); this call fails only when processes cannot be started.
npu_status npu_pool_run(npu_pool *pool, npu_error *err);
// Ends the processes that last. Only `jobs` may change between runs before this.
void npu_pool_close(npu_pool *pool);

#endif
