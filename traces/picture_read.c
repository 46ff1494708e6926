// SPDX-License-Identifier: Apache-2.0
// Pictures from the files of a run or of a capture.
#include <jansson.h>
#include <string.h>

#include "folder.h"
#include "picture.h"
#include "scene.h"
#include "units.h"

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

// The die that summary.json names, if there is one; it only helps, so no fault of it matters.
static const char *die_of(npu_picture *picture, const char *folder) {
    const char *path = npu_arena_printf(&picture->arena, "%s/summary.json", folder);
    json_t *summary = path != NULL ? json_load_file(path, 0, NULL) : NULL;
    const char *die = json_string_value(json_object_get(json_object_get(summary, "input"), "die"));
    if (die != NULL)
        die = npu_arena_text(&picture->arena, last_part(die), strlen(last_part(die)));
    json_decref(summary);
    return die;
}

// "GRAPH on DIE: makespan", of what is known; a capture's folder may stand for the graph.
static npu_status make_title(npu_picture *picture, const npu_run_files *run, const char *folder,
                             double makespan) {
    const char *graph = run->names.orchestrator;
    const char *die = die_of(picture, folder);
    char time[32];
    npu_show_time(makespan, time, (int)sizeof time);
    picture->title =
        npu_arena_printf(&picture->arena, "%s%s%s: %s", graph != NULL ? graph : last_part(folder),
                         die != NULL ? " on " : "", die != NULL ? die : "", time);
    return picture->title != NULL ? NPU_OK : NPU_NO_MEMORY;
}

static npu_status draw(const npu_run_files *run, const char *folder, npu_picture *picture,
                       npu_error *err) {
    npu_scene scene;
    npu_status status = npu_scene_make(&run->capture, run->has_deps ? &run->deps : NULL,
                                       run->has_names ? &run->names : NULL, &scene, err);
    if (status == NPU_OK)
        status = npu_picture_make(&scene.trace, &scene.graph, "", picture, err);
    if (status == NPU_OK && make_title(picture, run, folder, scene.trace.makespan) != NPU_OK)
        status = npu_fail_memory(err);
    for (int i = 0; i < picture->bar_count; i++) // phases behind the last row are drawn whole
        if (picture->bars[i].end > picture->span)
            picture->span = picture->bars[i].end;
    npu_scene_free(&scene);
    return status;
}

npu_status npu_picture_read(const char *folder, npu_picture *picture, npu_error *err) {
    npu_capture_list list;
    npu_run_files run = {.has_deps = false};
    *picture = (npu_picture){0};
    npu_status status = npu_folder_find(folder, &list, err);
    if (status == NPU_OK && list.count > 1)
        status = npu_fail(err, NPU_BAD_INPUT, (npu_pos){.file = folder},
                          "holds %d captures; name the folder of one, as %s", list.count,
                          list.items[0].place);
    if (status == NPU_OK)
        status = npu_run_files_read(&list.items[0], &run, err);
    if (status == NPU_OK)
        status = draw(&run, folder, picture, err);
    npu_run_files_free(&run);
    npu_folder_free(&list);
    return status;
}
