// SPDX-License-Identifier: Apache-2.0
#include "folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "merged.h"
#include "records.h"

typedef struct finder {
    npu_capture_list *list;
    npu_error *err;
} finder;

void npu_folder_free(npu_capture_list *list) {
    free(list->items);
    npu_arena_free(&list->arena);
    *list = (npu_capture_list){0};
}

// ---- names ---------------------------------------------------------------------------------

static bool begins(const char *name, const char *with) {
    return strncmp(name, with, strlen(with)) == 0;
}

static bool ends(const char *name, const char *with) {
    size_t length = strlen(name), tail = strlen(with);
    return length >= tail && strcmp(name + length - tail, with) == 0;
}

// How well a name suits as the records file: 0 not at all; newer names are better.
static int records_rank(const char *name) {
    static const char *const known[] = {"l2_perf_records.json", "l2_swimlane_records.json",
                                        "chip_swimlane_records.json"};
    for (int i = 0; i < 3; i++)
        if (strcmp(name, known[i]) == 0)
            return 2 + i;
    return begins(name, "perf_swimlane_") && ends(name, ".json") ? 1 : 0;
}

static bool is_merged(const char *name) {
    return begins(name, "merged_swimlane") && ends(name, ".json");
}

static bool is_names(const char *name) {
    return begins(name, "name_map") && ends(name, ".json");
}

// "rank12" with the prefix "rank" is 12; -1: no such name.
static int numbered(const char *name, const char *prefix) {
    npu_json_token number;
    if (!begins(name, prefix))
        return -1;
    name += strlen(prefix);
    return npu_json_integer(name, strlen(name), &number) && !number.negative &&
                   number.value <= INT32_MAX
               ? (int)number.value
               : -1;
}

// ---- one folder ----------------------------------------------------------------------------

static const char *join(finder *f, const char *folder, const char *name) {
    return npu_arena_printf(&f->list->arena, "%s/%s", folder, name);
}

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

// Keeps `name` in *best when it comes earlier by its letters.
static npu_status keep_least(finder *f, const char *name, const char **best) {
    if (*best != NULL && strcmp(name, *best) >= 0)
        return NPU_OK;
    *best = npu_arena_text(&f->list->arena, name, strlen(name));
    return *best != NULL ? NPU_OK : npu_fail_memory(f->err);
}

// Notes the names of one folder's files.
static npu_status note_file(finder *f, const char *name, npu_capture_files *files) {
    int rank = records_rank(name);
    if (rank > 0 && rank > (files->records != NULL ? records_rank(files->records) : 0)) {
        files->records = NULL; // a newer name
        return keep_least(f, name, &files->records);
    }
    if (rank == 1 && records_rank(files->records) == 1)
        return keep_least(f, name, &files->records);
    if (is_merged(name))
        return keep_least(f, name, &files->merged);
    if (is_names(name))
        return keep_least(f, name, &files->names);
    if (strcmp(name, "deps.json") == 0)
        return keep_least(f, name, &files->deps);
    if (strcmp(name, "pmu.csv") == 0)
        return keep_least(f, name, &files->pmu);
    if (strcmp(name, "scope_stats.jsonl") == 0)
        return keep_least(f, name, &files->scope);
    return NPU_OK;
}

static npu_status note_folder(finder *f, const char *folder, npu_capture_files *files) {
    DIR *dir = opendir(folder);
    npu_status status = NPU_OK;
    for (struct dirent *entry; dir != NULL && status == NPU_OK && (entry = readdir(dir)) != NULL;)
        status = note_file(f, entry->d_name, files);
    if (dir != NULL)
        closedir(dir);
    return status;
}

// Names become paths.
static npu_status complete(finder *f, npu_capture_files *files) {
    const char **names[] = {&files->records, &files->merged, &files->deps,
                            &files->names,   &files->pmu,    &files->scope};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (*names[i] != NULL && (*names[i] = join(f, files->folder, *names[i])) == NULL)
            return npu_fail_memory(f->err);
    if (files->scope != NULL)
        return NPU_OK;
    const char *below = join(f, files->folder, "scope_stats/scope_stats.jsonl");
    struct stat info;
    if (below == NULL)
        return npu_fail_memory(f->err);
    if (stat(below, &info) == 0)
        files->scope = below;
    return NPU_OK;
}

// Adds the capture in a folder, if there is one.
static npu_status add_folder(finder *f, const char *folder, npu_capture_files files) {
    files.folder = folder;
    npu_status status = note_folder(f, folder, &files);
    if (status != NPU_OK || (files.records == NULL && files.merged == NULL))
        return status;
    status = complete(f, &files);
    if (status == NPU_OK)
        status = NPU_GROW(f->list, items, count, capacity, f->err);
    if (status == NPU_OK)
        f->list->items[f->list->count++] = files;
    return status;
}

// ---- ranks ---------------------------------------------------------------------------------

typedef npu_status (*folder_fn)(finder *f, const char *folder, const char *name, int number,
                                const npu_capture_files *above);

// Calls `use` for every folder PREFIX{n} of a folder.
static npu_status each_numbered(finder *f, const char *folder, const char *prefix, folder_fn use,
                                const npu_capture_files *above) {
    DIR *dir = opendir(folder);
    npu_status status = NPU_OK;
    for (struct dirent *entry; dir != NULL && status == NPU_OK && (entry = readdir(dir)) != NULL;) {
        int number = numbered(entry->d_name, prefix);
        if (number < 0)
            continue;
        const char *path = join(f, folder, entry->d_name);
        if (path == NULL)
            status = npu_fail_memory(f->err);
        else if (is_folder(path))
            status = use(f, path, entry->d_name, number, above);
    }
    if (dir != NULL)
        closedir(dir);
    return status;
}

static npu_status add_number(finder *f, const char *folder, const char *name, int number,
                             const npu_capture_files *above) {
    npu_capture_files files = *above;
    files.number = number;
    files.place = join(f, above->place, name);
    return files.place != NULL ? add_folder(f, folder, files) : npu_fail_memory(f->err);
}

static npu_status add_rank(finder *f, const char *folder, const char *name, int number,
                           const npu_capture_files *above) {
    npu_capture_files files = *above;
    files.rank = number;
    files.place = npu_arena_printf(&f->list->arena, "%s%s%s", above->place,
                                   above->place[0] != '\0' ? "/" : "", name);
    if (files.place == NULL)
        return npu_fail_memory(f->err);
    npu_status status = add_folder(f, folder, files);
    return status == NPU_OK ? each_numbered(f, folder, "d", add_number, &files) : status;
}

static int compare_files(const void *a, const void *b) {
    const npu_capture_files *x = a;
    const npu_capture_files *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return strcmp(x->folder, y->folder);
}

static npu_status find_in(finder *f, const char *folder, const char *place) {
    npu_capture_files files = {.place = place, .rank = -1, .number = -1};
    npu_status status = add_folder(f, folder, files);
    return status == NPU_OK ? each_numbered(f, folder, "rank", add_rank, &files) : status;
}

// A file that is named itself: what begins like a Chrome trace is a merged swimlane.
static npu_status add_file(finder *f, const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    npu_capture_files files = {.place = "", .rank = -1, .number = -1};
    files.folder =
        slash != NULL ? npu_arena_text(&f->list->arena, path, (size_t)(slash - path)) : ".";
    const char *kept = npu_arena_text(&f->list->arena, path, strlen(path));
    if (files.folder == NULL || kept == NULL)
        return npu_fail_memory(f->err);
    *(is_merged(name) ? &files.merged : &files.records) = kept;
    npu_status status = NPU_GROW(f->list, items, count, capacity, f->err);
    if (status == NPU_OK)
        f->list->items[f->list->count++] = files;
    return status;
}

npu_status npu_folder_find(const char *path, npu_capture_list *list, npu_error *err) {
    finder f = {.list = list, .err = err};
    struct stat info;
    *list = (npu_capture_list){0};
    if (stat(path, &info) != 0)
        return npu_fail(err, NPU_IO, (npu_pos){.file = path}, "cannot read: %s", strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return add_file(&f, path);
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    const char *folder = npu_arena_text(&list->arena, path, length);
    const char *below = folder != NULL ? join(&f, folder, "dfx_outputs") : NULL;
    if (below == NULL)
        return npu_fail_memory(err);
    npu_status status = find_in(&f, folder, "");
    if (status == NPU_OK && list->count == 0 && is_folder(below))
        status = find_in(&f, below, "");
    if (status == NPU_OK && list->count == 0)
        status = npu_fail(err, NPU_IO, (npu_pos){.file = path},
                          "there is no chip_swimlane_records.json in this folder, nor in a "
                          "rank{r}/d{k} below it");
    if (list->count > 0)
        qsort(list->items, (size_t)list->count, sizeof *list->items, compare_files);
    return status;
}

// ---- reading -------------------------------------------------------------------------------

npu_status npu_run_files_read(const npu_capture_files *files, npu_run_files *run, npu_error *err) {
    *run = (npu_run_files){.has_deps = files->deps != NULL};
    npu_status status = NPU_OK;
    if (files->records != NULL) {
        status = npu_records_read(files->records, &run->capture, err);
    } else {
        status = npu_merged_read(files->merged, &run->capture, &run->deps, &run->names, err);
        run->has_names = run->names.count > 0;
        if (files->deps != NULL)
            npu_deps_free(&run->deps);
        run->has_deps = true;
    }
    if (status == NPU_OK && files->deps != NULL)
        status = npu_deps_read(files->deps, &run->deps, err);
    if (status == NPU_OK && files->names != NULL) {
        npu_name_map_free(&run->names);
        run->has_names = true;
        status = npu_name_map_read(files->names, &run->names, err);
    }
    run->has_pmu = files->pmu != NULL;
    if (status == NPU_OK && run->has_pmu)
        status = npu_pmu_read(files->pmu, &run->pmu, err);
    run->has_scope = files->scope != NULL;
    if (status == NPU_OK && run->has_scope)
        status = npu_scope_read(files->scope, &run->scope, err);
    return status;
}

void npu_run_files_free(npu_run_files *run) {
    npu_capture_free(&run->capture);
    npu_deps_free(&run->deps);
    npu_name_map_free(&run->names);
    npu_pmu_free(&run->pmu);
    npu_scope_free(&run->scope);
}
