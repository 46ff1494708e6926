// SPDX-License-Identifier: Apache-2.0
// pmu.csv, event type 2 (pipe utilisation): busy cycles of the core's clock per row
// (runtime.md 1.9). FIXPIPE has no column there.
#ifndef NPU_PMU_H
#define NPU_PMU_H

#include <stdio.h>

#include "trace.h"

npu_status npu_pmu_write(FILE *out, const npu_trace *trace, const npu_graph *graph, npu_error *err);

#endif
