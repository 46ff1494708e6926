// SPDX-License-Identifier: Apache-2.0
// What a measured case reads off a simulation: "time of qproj", "busy mte2 of gemm".
#ifndef NPU_READING_H
#define NPU_READING_H

#include "error.h"
#include "mem.h"
#include "tile.h"
#include "trace.h"

typedef enum npu_quantity {
    NPU_READ_MAKESPAN,
    NPU_READ_TIME,      // from the first start to the last end
    NPU_READ_LATENCY,   // from the first dispatch to the last finish
    NPU_READ_MEAN_TIME, // per block
    NPU_READ_MAX_TIME,
    NPU_READ_SUM_TIME,
    NPU_READ_CORE_TIME, // sum over rows: a MIX block counts on each of its cores
    NPU_READ_BUSY,      // of a pipe, summed per core, mean over the cores
    NPU_READ_RATE,      // bytes of the kernel's ops over its time
    NPU_READ_READ_RATE,
    NPU_READ_WRITE_RATE,
    NPU_READ_COUNT, // rows
    NPU_READ_BLOCKS,
    NPU_QUANTITY_COUNT,
} npu_quantity;

typedef struct npu_reading {
    const char *text; // as written
    npu_quantity quantity;
    const char *kernel; // "proj", "proj[3]" or a pattern, "proj*"; NULL: of the whole run
    npu_pos kernel_pos;
    npu_pipe pipe;        // busy
    npu_engine_type core; // busy: NPU_AIC, NPU_AIV, or NPU_MIX for the one that has the pipe
    const char *base;     // `relative to` this variant; NULL: absolute
    npu_pos base_pos;
} npu_reading;

// Parses `text`, which stands at `pos`. The reading's texts are in the arena.
npu_status npu_reading_parse(npu_arena *arena, const char *text, npu_pos pos, npu_reading *reading,
                             npu_error *err);

// True when both read the same off a run; what they are relative to does not count.
bool npu_reading_same(const npu_reading *a, const npu_reading *b);

// The reading of one run in ns, bytes per ns, or as a number. A kernel that never ran is an
// error with the nearest one that did.
npu_status npu_reading_value(const npu_reading *reading, const npu_trace *trace,
                             const npu_graph *graph, double *value, npu_error *err);

#endif
