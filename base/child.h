// SPDX-License-Identifier: Apache-2.0
// Work in a process of its own, because SimGrid runs once per process.
#ifndef NPU_CHILD_H
#define NPU_CHILD_H

#include <stddef.h>

#include "error.h"

// Calls work(arg, result, err) in a forked child, with a zeroed *result, and brings back its
// status, its error and the `size` plain bytes of *result. The child shares nothing else with its
// parent. One that dies is an error, as in npu_pool_run.
npu_status npu_in_child(npu_status (*work)(const void *arg, void *result, npu_error *err),
                        const void *arg, void *result, size_t size, npu_error *err);

#endif
