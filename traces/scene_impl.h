// SPDX-License-Identifier: Apache-2.0
// What scene.c (the graph) and scene_trace.c (the trace) share.
#ifndef NPU_SCENE_IMPL_H
#define NPU_SCENE_IMPL_H

#include "scene.h"

typedef struct npu_scene_maker {
    const npu_capture *c;
    const npu_deps *deps;      // may be empty
    const npu_name_map *names; // may be empty
    npu_scene *scene;
    npu_error *err;
    npu_task *tasks;
    uint64_t *ids; // of the tasks
    int task_count, task_capacity, id_capacity;
    npu_func *funcs;
    int func_count, func_capacity;
    npu_edge *edges;
    int edge_count, edge_capacity;
    int *task_of;         // of each AICore row; -1: it is left out
    int graph_task_count; // tasks of the graph; behind them stand others, sorted by id
} npu_scene_maker;

// The task with this id, or -1.
int npu_scene_task(const npu_scene_maker *m, uint64_t id);
npu_status npu_scene_graph(npu_scene_maker *m);
npu_status npu_scene_trace(npu_scene_maker *m);

#endif
