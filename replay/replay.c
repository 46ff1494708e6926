// SPDX-License-Identifier: Apache-2.0
#include "replay.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay_impl.h"

void npu_replay_free(npu_replay *replay) {
    free((void *)replay->graph.tasks);
    free(replay->kernels);
    npu_timed_free(&replay->runs[0]);
    npu_timed_free(&replay->runs[1]);
    npu_sim_result_free(&replay->result);
    *replay = (npu_replay){.tasks = 0};
}

static npu_pos whole(const npu_scene *scene) {
    return (npu_pos){.file = scene->graph.path};
}

// ---- the graph -----------------------------------------------------------------------------

// A kernel's tasks in the map, in their order: of the captured one's n-th task it is the n-th,
// and begins anew when there are fewer.
static int find_in_map(const npu_graph *map, const char *kernel, int nth) {
    int count = 0;
    for (int t = 0; t < map->task_count; t++)
        count += map->tasks[t].program != NULL && strcmp(map->tasks[t].kernel, kernel) == 0;
    if (count == 0)
        return -1;
    nth %= count;
    for (int t = 0; t < map->task_count; t++)
        if (map->tasks[t].program != NULL && strcmp(map->tasks[t].kernel, kernel) == 0 &&
            nth-- == 0)
            return t;
    return -1;
}

static npu_status give_program(npu_task *task, const npu_graph *map, int nth, npu_error *err) {
    int found = find_in_map(map, task->kernel, nth);
    if (found < 0)
        return NPU_OK;
    const npu_task *by = &map->tasks[found];
    if (by->engine != task->engine || by->block_num != task->block_num)
        return npu_fail(err, NPU_BAD_INPUT, by->pos,
                        "kernel '%s' has %lld blocks on %s, but in the capture %lld on %s",
                        task->kernel, (long long)by->block_num, npu_engine_type_names[by->engine],
                        (long long)task->block_num, npu_engine_type_names[task->engine]);
    task->program = by->program;
    task->first_arg = by->first_arg;
    task->arg_count = by->arg_count;
    task->sync_start = by->sync_start;
    return NPU_OK;
}

static npu_status give_programs(const npu_scene *scene, npu_task *tasks, const npu_graph *map,
                                npu_error *err) {
    const npu_graph *graph = &scene->graph;
    int *met = calloc((size_t)graph->func_count + 1, sizeof *met); // tasks of a function so far
    npu_status status = NPU_OK;
    int mapped = 0;
    if (met == NULL)
        return npu_fail_memory(err);
    for (int t = 0; t < graph->task_count && status == NPU_OK; t++) {
        if (tasks[t].engine == NPU_DUMMY)
            continue;
        status = give_program(&tasks[t], map, met[tasks[t].func]++, err);
        mapped += tasks[t].program != NULL;
    }
    free(met);
    if (status == NPU_OK && mapped == 0)
        status = npu_fail(err, NPU_BAD_INPUT, (npu_pos){.file = map->path},
                          "names no kernel of the capture");
    return status;
}

// The scene's graph as it can be carried out: what did not run is a dummy.
static npu_status make_graph(const npu_scene *scene, const npu_graph *map, npu_replay *replay,
                             npu_error *err) {
    const npu_graph *graph = &scene->graph;
    npu_task *tasks = malloc(((size_t)graph->task_count + 1) * sizeof *tasks);
    char *ran = calloc((size_t)graph->task_count + 1, 1);
    if (tasks == NULL || ran == NULL) {
        free(tasks);
        free(ran);
        return npu_fail_memory(err);
    }
    memcpy(tasks, graph->tasks, (size_t)graph->task_count * sizeof *tasks);
    for (int i = 0; i < scene->trace.row_count; i++)
        ran[scene->trace.rows[i].task] = 1;
    for (int t = 0; t < graph->task_count; t++) {
        replay->tasks += ran[t];
        if (ran[t] || tasks[t].engine == NPU_DUMMY)
            continue;
        replay->idle_tasks++;
        tasks[t].engine = NPU_DUMMY;
        tasks[t].func = -1;
        tasks[t].block_num = 0;
    }
    free(ran);
    replay->graph = *graph;
    replay->graph.tasks = tasks;
    replay->graph.arena = (npu_arena){0};
    if (map == NULL)
        return NPU_OK;
    replay->graph.tensors = map->tensors;
    replay->graph.tensor_count = map->tensor_count;
    replay->graph.args = map->args;
    replay->graph.arg_count = map->arg_count;
    return give_programs(scene, tasks, map, err);
}

// ---- the order -----------------------------------------------------------------------------

static npu_status make_pins(const npu_scene *scene, const npu_graph *graph, npu_pin **pins,
                            npu_error *err) {
    const npu_trace *trace = &scene->trace;
    int *rows = calloc((size_t)graph->task_count + 1, sizeof *rows);
    *pins = malloc(((size_t)trace->row_count + 1) * sizeof **pins);
    npu_status status = NPU_OK;
    if (rows == NULL || *pins == NULL) {
        free(rows);
        return npu_fail_memory(err);
    }
    for (int i = 0; i < trace->row_count && status == NPU_OK; i++) {
        const npu_row *row = &trace->rows[i]; // by start: so are those of a core
        (*pins)[i] = (npu_pin){row->core, row->task, row->block};
        rows[row->task]++;
    }
    for (int t = 0; t < graph->task_count && status == NPU_OK; t++) {
        const npu_task *task = &graph->tasks[t];
        if (rows[t] != task->block_num * npu_task_cores(task))
            status =
                npu_fail(err, NPU_BAD_INPUT, whole(scene),
                         "the order cannot be pinned: task %s has %d rows, not %lld blocks "
                         "on %d cores each",
                         task->name, rows[t], (long long)task->block_num, npu_task_cores(task));
    }
    free(rows);
    return status;
}

bool npu_replay_recorded(const char *folder) {
    char path[4096];
    snprintf(path, sizeof path, "%s/summary.json", folder);
    return access(path, F_OK) != 0;
}

// ---- the whole -----------------------------------------------------------------------------

static npu_status check_scene(const npu_scene *scene, const npu_die *die, npu_error *err) {
    if (scene->trace.row_count == 0)
        return npu_fail(err, NPU_BAD_INPUT, whole(scene), "holds no rows to replay");
    if (scene->backward > 0)
        return npu_fail(err, NPU_BAD_INPUT, whole(scene),
                        "%d edges lead to tasks that were submitted earlier", scene->backward);
    if (scene->trace.core_count != 3 * (int)die->clusters)
        return npu_fail(err, NPU_BAD_INPUT, whole(scene),
                        "is of %d cores, but the die %s has %d clusters of three",
                        scene->trace.core_count, die->name, (int)die->clusters);
    return NPU_OK;
}

npu_status npu_replay_run(const npu_scene *scene, const npu_die *die,
                          const npu_replay_options *options, npu_replay *replay, npu_error *err) {
    npu_replay_times times = {.clusters = 0};
    npu_pin *pins = NULL;
    *replay = (npu_replay){.tasks = 0};
    npu_status status = check_scene(scene, die, err);
    if (status == NPU_OK)
        status = make_graph(scene, options->map, replay, err);
    if (status == NPU_OK)
        status = npu_replay_times_make(scene, &replay->graph, &times, err);
    if (status == NPU_OK && options->measured_order)
        status = make_pins(scene, &replay->graph, &pins, err);
    npu_sim_times known = {npu_replay_time_of, &times};
    npu_sim_options sim = {.engine = options->engine,
                           .l2_warm = options->l2_warm,
                           .times = &known,
                           .pins = pins,
                           .pin_count = scene->trace.row_count,
                           .recorded = options->recorded};
    if (status == NPU_OK)
        status = npu_simulate(&replay->graph, die, &sim, &replay->result, err);
    replay->captured = &scene->trace;
    if (status == NPU_OK)
        status = npu_replay_compare(scene, replay, err);
    free(pins);
    npu_replay_times_free(&times);
    return status;
}
