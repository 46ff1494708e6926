// SPDX-License-Identifier: Apache-2.0
// merged_swimlane.json: the run as a Chrome trace for ui.perfetto.dev (runtime.md 1.8).
#ifndef NPU_PERFETTO_H
#define NPU_PERFETTO_H

#include <stdio.h>

#include "trace.h"

// Levels as in swimlane.h: 1 Worker View; 2 and Scheduler View; 3 and AICPU Scheduler;
// 4 and Orchestrator.
npu_status npu_perfetto_write(FILE *out, const npu_trace *trace, const npu_graph *graph, int level,
                              npu_error *err);

#endif
