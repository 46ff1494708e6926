// SPDX-License-Identifier: Apache-2.0
// name_map.json: func_id -> name (runtime.md 1.9).
#ifndef NPU_NAMES_H
#define NPU_NAMES_H

#include <stdio.h>

#include "graph.h"
#include "json.h"

// A kernel with both halves (MIX) is written as two names, NAME_aic and NAME_aiv.
npu_status npu_names_write(FILE *out, const npu_graph *graph, npu_error *err);

// The name of a function's part on a core of this type, as in name_map.json; returns buf.
const char *npu_func_name(const npu_func *func, npu_engine_type core, char *buf, int size);

// ---- what a captured file holds -------------------------------------------------------------

typedef struct npu_name_entry { // of a func_id
    int64_t id;
    const char *text;
} npu_name_entry;

typedef struct npu_name_map {
    const char *orchestrator; // NULL: not said
    npu_name_entry *names;    // sorted by id
    int count, capacity;
    npu_arena arena;
} npu_name_map;

// Free *map in any case. NPU_BAD_INPUT with file:line:col when it is no such file.
npu_status npu_name_map_read(const char *path, npu_name_map *map, npu_error *err);
// The same from JSON that has been opened with `err`.
npu_status npu_name_map_read_json(npu_json *json, npu_name_map *map, npu_error *err);
void npu_name_map_free(npu_name_map *map);
npu_status npu_name_map_write(FILE *out, const npu_name_map *map, npu_error *err);
// For makers of a map: adds a name; npu_name_map_sort when all are there.
npu_status npu_name_map_add(npu_name_map *map, int64_t id, const char *text, npu_error *err);
void npu_name_map_sort(npu_name_map *map);
// NULL: it has no name.
const char *npu_name_map_find(const npu_name_map *map, int64_t id);

#endif
