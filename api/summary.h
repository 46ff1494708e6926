// SPDX-License-Identifier: Apache-2.0
// summary.json: everything that led to a result, and the result.
#ifndef NPU_SUMMARY_H
#define NPU_SUMMARY_H

#include <stdio.h>

#include "context.h"
#include "metrics.h"
#include "trace.h"

npu_status npu_summary_write(FILE *out, const npu_context *context,
                             const npusim_run_options *options, const npu_graph *graph,
                             const npu_trace *trace, const npu_metrics *metrics, npu_error *err);

#endif
