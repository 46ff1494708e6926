// SPDX-License-Identifier: Apache-2.0
// scope_stats.jsonl: how full the runtime's rings were at each begin and end of a scope.
#ifndef NPU_SCOPE_H
#define NPU_SCOPE_H

#include "json.h"

enum { NPU_RINGS = 4 };

typedef struct npu_scope_mark { // one boundary
    const char *site;           // "file:line"
    bool ends;                  // phase end, else begin
    int depth, ring;
    int64_t tasks_start, tasks_end; // of the task window: tail and head
    int64_t heap_start, heap_end;   // bytes, which only grow
    int64_t deps_start, deps_end;
    int64_t tensormap;
} npu_scope_mark;

typedef struct npu_scope_stats {
    int version;
    bool fatal;
    int64_t dropped, total;
    int64_t tasks_max[NPU_RINGS], heap_max[NPU_RINGS], deps_max[NPU_RINGS]; // capacities
    int64_t tensormap_max;
    npu_scope_mark *marks;
    int mark_count, mark_capacity;
    npu_arena arena;
} npu_scope_stats;

// Free *stats in any case. NPU_BAD_INPUT with file:line:col when it is no such file.
npu_status npu_scope_read(const char *path, npu_scope_stats *stats, npu_error *err);
// The same from JSON opened as NPU_JSON_LINES with `err`.
npu_status npu_scope_read_json(npu_json *json, npu_scope_stats *stats, npu_error *err);
void npu_scope_free(npu_scope_stats *stats);

// The most that a ring held at any boundary: end - start.
typedef struct npu_scope_peak {
    int64_t tasks, heap, deps;
} npu_scope_peak;
npu_scope_peak npu_scope_peak_of(const npu_scope_stats *stats, int ring);

#endif
