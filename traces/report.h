// SPDX-License-Identifier: Apache-2.0
// The figures of a run as text of at most 100 columns. Every figure has its unit.
#ifndef NPU_REPORT_H
#define NPU_REPORT_H

#include <stdio.h>

#include "metrics.h"

typedef struct npu_report {
    const npu_trace *trace;
    const npu_graph *graph;
    const npu_metrics *metrics;
    const char *die; // its name
} npu_report;

void npu_report_print(FILE *out, const npu_report *report);

#endif
