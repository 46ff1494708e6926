// SPDX-License-Identifier: Apache-2.0
#include "replay.h"

#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "folder.h"
#include "out.h"

static bool is_recorded(const npusim_replay_options *options) {
    if (options->recorder == NPUSIM_RECORDER_AUTO)
        return npu_replay_recorded(options->path);
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

// ---- files ---------------------------------------------------------------------------------

enum { SETS = 3 };

typedef struct output_sets { // sets of files: that of --out, and one file each
    npu_out *sets[SETS];
    const char *names[SETS]; // NULL: of the folder
} output_sets;

// Before the simulation: a folder that cannot be written is known at once.
static npu_status begin_file(const char *path, npu_out **set, const char **name, npu_error *err) {
    const char *slash = strrchr(path, '/');
    *name = slash != NULL ? slash + 1 : path;
    if (**name == '\0')
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "'%s' is a folder, not a file", path);
    char *folder = strndup(path, (size_t)(*name - path));
    npu_status status = folder != NULL ? npu_out_begin(folder, set, err) : npu_fail_memory(err);
    free(folder);
    return status;
}

static npu_status begin_outputs(const npusim_replay_options *options, output_sets *outputs,
                                npu_error *err) {
    npu_status status = NPU_OK;
    if (options->out != NULL)
        status = npu_out_begin(options->out, &outputs->sets[0], err);
    if (!status && options->json != NULL)
        status = begin_file(options->json, &outputs->sets[1], &outputs->names[1], err);
    if (!status && options->html != NULL)
        status = begin_file(options->html, &outputs->sets[2], &outputs->names[2], err);
    return status;
}

typedef npu_status write_file(FILE *out, const npu_replay *replay, npu_error *err);
typedef npu_status draw_file(const npu_replay *replay, const char *png, npu_error *err);

static npu_status add_file(npu_out *set, const char *name, write_file *write,
                           const npu_replay *replay, npu_error *err) {
    FILE *file = npu_out_file(set, name, err);
    return file != NULL ? write(file, replay, err) : NPU_IO;
}

static npu_status add_picture(npu_out *set, const char *name, draw_file *draw,
                              const npu_replay *replay, npu_error *err) {
    const char *png = npu_out_path(set, name, err);
    return png != NULL ? draw(replay, png, err) : NPU_IO;
}

static npu_status write_outputs(output_sets *outputs, const npu_replay *replay, npu_error *err) {
    npu_out *folder = outputs->sets[0];
    npu_status status = NPU_OK;
    if (folder != NULL) {
        status = add_file(folder, "replay.json", npu_replay_json, replay, err);
        if (!status)
            status = add_file(folder, "replay_swimlane.json", npu_replay_perfetto, replay, err);
        if (!status)
            status = add_picture(folder, "swimlanes.png", npu_replay_swimlanes_png, replay, err);
        if (!status)
            status = add_picture(folder, "kernels.png", npu_replay_kernels_png, replay, err);
        if (!status)
            status = add_file(folder, "replay.html", npu_replay_html, replay, err);
    }
    if (!status && outputs->sets[1] != NULL)
        status = add_file(outputs->sets[1], outputs->names[1], npu_replay_json, replay, err);
    if (!status && outputs->sets[2] != NULL)
        status = add_file(outputs->sets[2], outputs->names[2], npu_replay_html, replay, err);
    for (int i = 0; i < SETS && !status; i++) {
        npu_out *set = outputs->sets[i];
        outputs->sets[i] = NULL;
        if (set != NULL)
            status = npu_out_commit(set, err);
    }
    return status;
}

// ---- the call ------------------------------------------------------------------------------

static void print_report(const npu_replay *replay, FILE *report) {
    fprintf(report, "%s on %s, cost %s, order %s, recorder %s: ", replay->about.capture,
            replay->about.die, replay->about.cost_model ? "model" : "measured",
            replay->about.order_measured ? "measured" : "model",
            replay->about.recorded ? "on" : "off");
    npu_replay_print(report, replay);
}

static npu_status replay_scene(const npusim_replay_options *options, const npu_context *context,
                               const npu_run_files *run, const npu_scene *scene,
                               output_sets *outputs, FILE *report, double *error_share,
                               npu_error *err) {
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
    replay.about = (npu_replay_about){.capture = run->capture.path,
                                      .die = die.name,
                                      .cost_model = options->cost_model,
                                      .order_measured = options->order_measured,
                                      .recorded = how.recorded};
    if (!status && how.recorded)
        status = run_unrecorded(scene, &die, how, &replay.unrecorded, err);
    if (!status)
        status = write_outputs(outputs, &replay, err);
    if (!status && report != NULL)
        print_report(&replay, report);
    if (!status && error_share != NULL)
        *error_share = replay.measured > 0 ? replay.modelled / replay.measured - 1 : 0;
    npu_replay_free(&replay);
    return status;
}

static npu_status replay_one(const npusim_replay_options *options, const npu_context *context,
                             const npu_run_files *run, output_sets *outputs, FILE *report,
                             double *error_share, npu_error *err) {
    npu_scene scene;
    npu_status status =
        npu_scene_make(&run->capture, &run->deps, run->has_names ? &run->names : NULL, &scene, err);
    if (!status)
        status = replay_scene(options, context, run, &scene, outputs, report, error_share, err);
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
    output_sets outputs = {.sets = {NULL}};
    if (options->cost_model && options->input.graph == NULL)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0},
                        "the model's cost of kernels needs a map, a graph file with their tile "
                        "programs");
    npu_status status = npu_context_open(&context, &options->input, err);
    npu_context_print_warnings(&context, 0, warn);
    if (!status)
        status = read_run(options->path, &run, err);
    if (!status)
        status = begin_outputs(options, &outputs, err);
    if (!status)
        status = replay_one(options, &context, &run, &outputs, report, error_share, err);
    for (int i = 0; i < SETS; i++)
        npu_out_discard(outputs.sets[i]);
    npu_run_files_free(&run);
    npu_context_close(&context);
    return status;
}
