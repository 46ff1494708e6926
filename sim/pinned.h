// SPDX-License-Identifier: Apache-2.0
// A pinned schedule: which block runs on which core, and in which order, is given; when it runs
// is modelled. A block is sent when its task's producers are complete and its core has a free slot;
// each scheduler does its work one piece after the other, at the cost that it has in the dispatch
// (docs/dispatch.md), and sees a core finish half a sweep of its cores later. Nothing is staged
// early.
#ifndef NPU_PINNED_H
#define NPU_PINNED_H

#include "aicpu.h"

typedef struct npu_pin {
    int core, task;
    int64_t block;
} npu_pin;

typedef struct npu_pinned npu_pinned;

// As npu_aicpu_new. `pins` name every part of every block once, those of a core in their order.
npu_status npu_pinned_new(const npu_die *die, const npu_graph *graph, npu_engine *engine,
                          const npu_aicpu_hooks *hooks, const npu_pin *pins, int pin_count,
                          npu_trace *trace, npu_pinned **pinned, npu_error *err);
// As npu_aicpu_record.
void npu_pinned_record(npu_pinned *pinned);
void npu_pinned_begin(npu_pinned *pinned);
// The kernel body on `core` ended now.
void npu_pinned_done(npu_pinned *pinned, int core);
// After run(): NPU_OK when every task completed; NPU_BAD_INPUT when a core's order and the edges
// wait for each other.
npu_status npu_pinned_result(const npu_pinned *pinned, npu_error *err);
void npu_pinned_free(npu_pinned *pinned);

#endif
