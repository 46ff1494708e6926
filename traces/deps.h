// SPDX-License-Identifier: Apache-2.0
// deps.json: the task graph as the runtime's dep_gen records it (runtime.md 1.7).
#ifndef NPU_DEPS_H
#define NPU_DEPS_H

#include <stdio.h>

#include "graph.h"

// Ids are those of npu_task_id; tensors are storages, named by npu_tensor_id.
npu_status npu_deps_write(FILE *out, const npu_graph *graph, npu_error *err);

// A number for a tensor's name that is the same in every run.
uint64_t npu_tensor_id(const char *name);

#endif
