// SPDX-License-Identifier: Apache-2.0
#ifndef NPU_METRICS_IMPL_H
#define NPU_METRICS_IMPL_H

#include "index.h"
#include "metrics.h"

// Fills the chain of `metrics`.
npu_status npu_chain_make(const npu_trace *trace, const npu_graph *graph, const npu_index *index,
                          npu_metrics *metrics, npu_error *err);

#endif
