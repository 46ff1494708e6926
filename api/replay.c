// SPDX-License-Identifier: Apache-2.0
#include "replay.h"

#include <sys/stat.h>

#include "context.h"
#include "folder.h"

static bool is_recorded(const npusim_replay_options *options) {
    char path[NPU_CONFIG_PATH + 16];
    struct stat info;
    snprintf(path, sizeof path, "%s/summary.json", options->path); // as a run of npusim has
    if (options->recorder == NPUSIM_RECORDER_AUTO)
        return stat(path, &info) != 0;
    return options->recorder == NPUSIM_RECORDER_ON;
}

// The same without the recorder: what the device is thought to take when nothing is captured.
static npu_status run_unrecorded(const npu_scene *scene, const npu_die *die, npu_replay_options how,
                                 double *makespan, npu_error *err) {
    npu_replay replay = {.tasks = 0};
    how.recorded = false;
    npu_status status = npu_replay_run(scene, die, &how, &replay, err);
    *makespan = replay.modelled;
    npu_replay_free(&replay);
    return status;
}

static npu_status replay_scene(const npusim_replay_options *options, const npu_context *context,
                               const npu_run_files *run, const npu_scene *scene, FILE *report,
                               double *error_share, npu_error *err) {
    npu_replay replay = {.tasks = 0};
    npu_replay_options how = {.map = options->cost_model ? &context->ranks.graphs[0] : NULL,
                              .measured_order = options->order_measured,
                              .recorded = is_recorded(options),
                              .engine = context->engine,
                              .l2_warm = options->input.l2_warm};
    npu_die die = context->die; // borrows from it
    if (run->capture.level < 4)
        die.recorder.submit = 0; // the orchestrator is not recorded
    npu_status status = npu_replay_run(scene, &die, &how, &replay, err);
    if (!status && how.recorded)
        status = run_unrecorded(scene, &die, how, &replay.unrecorded, err);
    if (!status && report != NULL) {
        fprintf(report, "%s on %s, cost %s, order %s, recorder %s: ", run->capture.path, die.name,
                options->cost_model ? "model" : "measured",
                options->order_measured ? "measured" : "model", how.recorded ? "on" : "off");
        npu_replay_print(report, &replay);
    }
    if (!status && error_share != NULL)
        *error_share = replay.measured > 0 ? replay.modelled / replay.measured - 1 : 0;
    npu_replay_free(&replay);
    return status;
}

static npu_status replay_one(const npusim_replay_options *options, const npu_context *context,
                             const npu_run_files *run, FILE *report, double *error_share,
                             npu_error *err) {
    npu_scene scene;
    npu_status status =
        npu_scene_make(&run->capture, &run->deps, run->has_names ? &run->names : NULL, &scene, err);
    if (!status)
        status = replay_scene(options, context, run, &scene, report, error_share, err);
    npu_scene_free(&scene);
    return status;
}

static npu_status read_run(const char *path, npu_run_files *run, npu_error *err) {
    npu_capture_list list;
    npu_status status = npu_folder_find(path, &list, err);
    if (!status && list.count > 1)
        status = npu_fail(err, NPU_BAD_INPUT, (npu_pos){.file = path},
                          "holds %d captures; name the folder of one, as %s", list.count,
                          list.items[0].place);
    if (!status)
        status = npu_run_files_read(&list.items[0], run, err);
    if (!status && !run->has_deps)
        status = npu_fail(err, NPU_IO, (npu_pos){.file = path},
                          "there is no deps.json, without which nothing can be replayed");
    npu_folder_free(&list);
    return status;
}

npu_status npusim_replay(const npusim_replay_options *options, FILE *report, FILE *warn,
                         double *error_share, npu_error *err) {
    npu_context context = {.engine = NPU_ENGINE_FLUID};
    npu_run_files run = {.has_deps = false};
    if (options->cost_model && options->input.graph == NULL)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0},
                        "the model's cost of kernels needs a map, a graph file with their tile "
                        "programs");
    npu_status status = npu_context_open(&context, &options->input, err);
    npu_context_print_warnings(&context, 0, warn);
    if (!status)
        status = read_run(options->path, &run, err);
    if (!status)
        status = replay_one(options, &context, &run, report, error_share, err);
    npu_run_files_free(&run);
    npu_context_close(&context);
    return status;
}
