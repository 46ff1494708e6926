// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <stdlib.h>

#include "replay_impl.h"

enum { MOST_PARTS = 1 << 25 }; // of blocks, in memory at once

static const double by_program = -1;
static const double missing = -2;

int npu_replay_part(const npu_graph *graph, int clusters, int task, int core) {
    if (graph->tasks[task].engine != NPU_MIX || core < clusters)
        return 0;
    return 1 + (core - clusters) % 2;
}

static int parts_of(const npu_task *task) {
    return npu_task_cores(task);
}

static double *slot(const npu_replay_times *times, int task, int64_t block, int part) {
    const npu_task *t = &times->graph->tasks[task];
    assert(block >= 0 && block < t->block_num && part < parts_of(t));
    return &times->ns[times->first[task] + block * parts_of(t) + part];
}

double npu_replay_time_of(const void *owner, const npu_row *row) {
    const npu_replay_times *times = owner;
    int part = npu_replay_part(times->graph, times->clusters, row->task, row->core);
    return *slot(times, row->task, row->block, part);
}

typedef struct mean_time {
    double sum;
    int count;
} mean_time;

// Fills what no row tells by the mean of the function's rows on that type of core.
static npu_status fill_missing(const npu_scene *scene, npu_replay_times *times, npu_error *err) {
    const npu_graph *graph = times->graph;
    mean_time(*means)[2] = calloc((size_t)graph->func_count + 1, sizeof *means);
    if (means == NULL)
        return npu_fail_memory(err);
    for (int i = 0; i < scene->trace.row_count; i++) {
        const npu_row *row = &scene->trace.rows[i];
        int func = graph->tasks[row->task].func;
        mean_time *mean = &means[func >= 0 ? func : 0][scene->trace.cores[row->core].type];
        mean->sum += row->end - row->start;
        mean->count++;
    }
    for (int t = 0; t < graph->task_count; t++) {
        const npu_task *task = &graph->tasks[t];
        int slots = (int)task->block_num * parts_of(task);
        for (int i = 0; i < slots; i++) {
            bool aiv = task->engine == NPU_AIV || (task->engine == NPU_MIX && i % 3 > 0);
            const mean_time *mean = &means[task->func][aiv ? NPU_AIV : NPU_AIC];
            double *ns = &times->ns[times->first[t] + i];
            if (*ns == missing)
                *ns = mean->count > 0 ? mean->sum / mean->count : 0;
        }
    }
    free(means);
    return NPU_OK;
}

npu_status npu_replay_times_make(const npu_scene *scene, const npu_graph *graph,
                                 npu_replay_times *times, npu_error *err) {
    *times = (npu_replay_times){.graph = graph, .clusters = scene->trace.core_count / 3};
    times->first = calloc((size_t)graph->task_count + 1, sizeof *times->first);
    if (times->first == NULL)
        return npu_fail_memory(err);
    int64_t slots = 0;
    for (int t = 0; t < graph->task_count; t++) {
        times->first[t] = (int)slots;
        slots += graph->tasks[t].block_num * parts_of(&graph->tasks[t]);
        if (slots > MOST_PARTS)
            return npu_fail(err, NPU_BAD_INPUT, (npu_pos){.file = graph->path},
                            "the graph has more than %d blocks", MOST_PARTS);
    }
    times->ns = calloc((size_t)slots + 1, sizeof *times->ns);
    if (times->ns == NULL)
        return npu_fail_memory(err);
    for (int t = 0; t < graph->task_count; t++) {
        const npu_task *task = &graph->tasks[t];
        for (int64_t i = 0; i < task->block_num * parts_of(task); i++)
            times->ns[times->first[t] + i] = task->program != NULL ? by_program : missing;
    }
    for (int i = 0; i < scene->trace.row_count; i++) {
        const npu_row *row = &scene->trace.rows[i];
        const npu_task *task = &graph->tasks[row->task];
        if (task->program == NULL && task->engine != NPU_DUMMY && row->block < task->block_num)
            *slot(times, row->task, row->block,
                  npu_replay_part(graph, times->clusters, row->task, row->core)) =
                row->end - row->start;
    }
    return fill_missing(scene, times, err);
}

void npu_replay_times_free(npu_replay_times *times) {
    free(times->first);
    free(times->ns);
    *times = (npu_replay_times){.clusters = 0};
}
