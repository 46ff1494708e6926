// SPDX-License-Identifier: Apache-2.0
// name_map.json: func_id -> name (runtime.md 1.9).
#ifndef NPU_NAMES_H
#define NPU_NAMES_H

#include <stdio.h>

#include "graph.h"

// A kernel with both halves (MIX) is written as two names, NAME_aic and NAME_aiv.
npu_status npu_names_write(FILE *out, const npu_graph *graph, npu_error *err);

// The name of a function's part on a core of this type, as in name_map.json; returns buf.
const char *npu_func_name(const npu_func *func, npu_engine_type core, char *buf, int size);

#endif
