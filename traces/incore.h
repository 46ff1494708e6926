// SPDX-License-Identifier: Apache-2.0
// In-core traces: what the pipes of one core, or of one cluster, did during one block, as the
// vendor's core simulator tells it in a Chrome trace.
#ifndef NPU_INCORE_H
#define NPU_INCORE_H

#include "json.h"

typedef struct npu_incore_lane { // one pipe, or a row of flags, of one core
    const char *core;            // "core0.cubecore0", "core0.veccore1"
    const char *pipe;            // "MTE2"; lanes "MTE2#1" of overlapping slices count as the same
} npu_incore_lane;

typedef struct npu_incore_slice {
    int lane;
    const char *name;   // of the instruction, or of the flag that is waited for
    int64_t start, end; // ps
    bool flag;          // a B and E pair
} npu_incore_slice;

typedef struct npu_incore {
    npu_incore_lane *lanes;
    int lane_count, lane_capacity;
    npu_incore_slice *slices; // by lane, then start
    int slice_count, slice_capacity;
    int64_t arrows;   // from one slice to another
    int64_t unpaired; // ends of slices whose other end is missing (the trace was cut off)
    npu_arena arena;
} npu_incore;

// Free *incore in any case. NPU_BAD_INPUT with file:line:col when it is no such file.
npu_status npu_incore_read(const char *path, npu_incore *incore, npu_error *err);
// The same from JSON that has been opened with `err`.
npu_status npu_incore_read_json(npu_json *json, npu_incore *incore, npu_error *err);
void npu_incore_free(npu_incore *incore);

// From the first start to the last end, ps.
int64_t npu_incore_span(const npu_incore *incore);
// How long at least one instruction of the lane was under way, ps; waits for flags not counted.
int64_t npu_incore_busy(const npu_incore *incore, int lane);

#endif
