// SPDX-License-Identifier: Apache-2.0
// deps.json: the task graph as the runtime's dep_gen records it (runtime.md 1.7).
#ifndef NPU_DEPS_H
#define NPU_DEPS_H

#include <stdio.h>

#include "graph.h"
#include "json.h"

// Ids are those of npu_task_id; tensors are storages, named by npu_tensor_id.
npu_status npu_deps_write(FILE *out, const npu_graph *graph, npu_error *err);

extern const char *const npu_dep_access_names[]; // "INPUT" ..., by npu_access, NULL-terminated
extern const char *const npu_dep_source_names[]; // "explicit" ..., by npu_edge_source

// A number for a tensor's name that is the same in every run.
uint64_t npu_tensor_id(const char *name);

// ---- what a captured file holds -------------------------------------------------------------

typedef struct npu_dep_arg {
    int idx;
    npu_access access;
    bool windowed; // the rest is there; not so for an OUTPUT, whose memory comes later
    uint64_t tensor;
    npu_dtype dtype;        // NPU_DTYPE_COUNT: a name that npusim does not know
    int rank, first_extent; // npu_deps.extents[first_extent, + rank) is the shape,
    int64_t start_offset;   // the `rank` numbers behind it are the strides; elements
} npu_dep_arg;

typedef struct npu_dep_task {
    uint64_t id;
    bool manual, early;
    bool has_kernels;  // kernel_ids is there
    int kernel_ids[3]; // of the AIC and the two AIVs; -1: none
    bool has_blocks;   // block_num is there; it is 1 otherwise
    int64_t block_num;
    int first_arg, arg_count;
} npu_dep_task;

typedef struct npu_dep_tensor {
    uint64_t id, address, elements;
    npu_dtype dtype;
} npu_dep_tensor;

typedef struct npu_dep_edge {
    uint64_t pred, succ;
    int pred_task, succ_task; // -1: not in the file. As a producer that is an allocation, which is
                              // complete when it is submitted.
    int arg;                  // of the consumer; -1: explicit
    npu_edge_source source;
    bool wait, retain; // it orders the two; it keeps the producer's memory
    bool covered;      // tensormap
} npu_dep_edge;

typedef struct npu_deps {
    const char *runtime; // NULL: not said
    npu_dep_task *tasks; // in the order of their submission
    int task_count, task_capacity;
    npu_dep_arg *args;
    int arg_count, arg_capacity;
    int64_t *extents;
    int extent_count, extent_capacity;
    npu_dep_tensor *tensors;
    int tensor_count, tensor_capacity;
    npu_dep_edge *edges;
    int edge_count, edge_capacity;
    int *by_id; // tasks, sorted by id, then place
    npu_arena arena;
} npu_deps;

// Free *deps in any case. NPU_BAD_INPUT with file:line:col when it is no such file, also when
// its edges go round in a circle.
npu_status npu_deps_read(const char *path, npu_deps *deps, npu_error *err);
// The same from JSON that has been opened with `err`.
npu_status npu_deps_read_json(npu_json *json, npu_deps *deps, npu_error *err);
void npu_deps_free(npu_deps *deps);
// Writes tasks and edges without arguments and tensors: for a graph that is read from arrows.
npu_status npu_deps_write_captured(FILE *out, const npu_deps *deps, npu_error *err);

// The (first) task with this id, or -1.
int npu_deps_find(const npu_deps *deps, uint64_t id);
// Sorts the tasks and joins the edges with them: for makers of an npu_deps.
npu_status npu_deps_index(npu_deps *deps, npu_error *err);
// A task on a circle of edges that order, or -1.
npu_status npu_deps_circle(const npu_deps *deps, int *task, npu_error *err);
// Cores that the rows of a block take: one per kernel id. -1: not said.
int npu_dep_parts(const npu_dep_task *task);

#endif
