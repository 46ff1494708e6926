// SPDX-License-Identifier: Apache-2.0
// chip_swimlane_records.json, generation G1 (runtime.md 1.3): stamps only, in ticks.
#ifndef NPU_SWIMLANE_H
#define NPU_SWIMLANE_H

#include <stdio.h>

#include "trace.h"

// Levels: 1 AICore rows; 2 and AICPU rows; 3 and scheduler phases; 4 and orchestrator calls.
npu_status npu_swimlane_write(FILE *out, const npu_trace *trace, int level, npu_error *err);

#endif
