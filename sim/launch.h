// SPDX-License-Identifier: Apache-2.0
// Operators: tasks that the device's own task scheduler launches one after the other, each on
// an empty die, instead of the AICPU dispatching a graph (`dispatch: operator` in a graph). It
// starts the cores of a task one by one; a task ends when its last block has, and then the next
// one is launched.
#ifndef NPU_LAUNCH_H
#define NPU_LAUNCH_H

#include "aicpu.h"

typedef struct npu_launch npu_launch;

// As npu_aicpu_new: everything is borrowed, rows are appended to `trace`, whose cores are filled.
npu_status npu_launch_new(const npu_die *die, const npu_graph *graph, npu_engine *engine,
                          const npu_aicpu_hooks *hooks, npu_trace *trace, npu_launch **launch,
                          npu_error *err);
void npu_launch_begin(npu_launch *launch);
// The kernel body on `core` ended now.
void npu_launch_done(npu_launch *launch, int core);
npu_status npu_launch_result(const npu_launch *launch, npu_error *err);
void npu_launch_free(npu_launch *launch);

#endif
