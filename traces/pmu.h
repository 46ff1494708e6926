// SPDX-License-Identifier: Apache-2.0
// pmu.csv, event type 2 (pipe utilisation): busy cycles of the core's clock per row
// (runtime.md 1.9). FIXPIPE has no column there.
#ifndef NPU_PMU_H
#define NPU_PMU_H

#include <stdio.h>

#include "trace.h"

npu_status npu_pmu_write(FILE *out, const npu_trace *trace, const npu_graph *graph, npu_error *err);

// ---- what a captured file holds -------------------------------------------------------------

enum { NPU_PMU_COUNTERS = 16 };

typedef struct npu_pmu_row { // one block (or half) on one core
    uint64_t task;
    uint64_t total_cycles;
    uint64_t counters[NPU_PMU_COUNTERS]; // by npu_pmu.counters
    int core;
    int thread, func; // -1: not known
    int event_type;
    npu_engine_type type;
} npu_pmu_row;

typedef struct npu_pmu {
    const char *counters[NPU_PMU_COUNTERS]; // their names
    int counter_count;
    npu_pmu_row *rows;
    int row_count, row_capacity;
    npu_arena arena;
} npu_pmu;

// Reads a file of any event type. Free *pmu in any case. NPU_BAD_INPUT with file:line:col when
// it is no such file.
npu_status npu_pmu_read(const char *path, npu_pmu *pmu, npu_error *err);
// The same from a stream, which is closed; `name` is what errors call it.
npu_status npu_pmu_read_stream(FILE *file, const char *name, npu_pmu *pmu, npu_error *err);
void npu_pmu_free(npu_pmu *pmu);

#endif
