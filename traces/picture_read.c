// SPDX-License-Identifier: Apache-2.0
// Pictures from the files of a run or of a capture (runtime.md 1.2, 1.3, 1.7, 1.9). Rows may
// be wider than expected; older names of files, keys and phases are known.
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"
#include "units.h"

// The name of one task's kernel.
typedef struct task_name {
    uint64_t id;
    int name;
} task_name;

typedef struct reader {
    npu_picture *picture;
    npu_error *err;
    const char *path; // of the swimlane file
    const json_t *root;
    double tick_us;
    json_int_t origin; // smallest stamp
    json_int_t last;   // largest
    json_int_t finish; // largest of a row
    int core_count;
    int schedulers, cores; // first lanes of their kinds
    task_name *tasks;      // sorted by id
    int task_count, task_capacity;
} reader;

#define REFUSE(r, ...) npu_fail((r)->err, NPU_BAD_INPUT, (npu_pos){.file = (r)->path}, __VA_ARGS__)

// Loads a JSON file; *json stays NULL and NPU_OK is returned when there is none.
static npu_status load(const char *path, json_t **json, npu_error *err) {
    *json = NULL;
    FILE *file = fopen(path, "rb");
    if (file == NULL && errno == ENOENT)
        return NPU_OK;
    if (file == NULL)
        return npu_fail(err, NPU_IO, (npu_pos){.file = path}, "cannot read: %s", strerror(errno));
    json_error_t problem;
    *json = json_loadf(file, 0, &problem);
    int reason = ferror(file) ? errno : 0;
    fclose(file);
    if (*json != NULL)
        return NPU_OK;
    if (reason != 0)
        return npu_fail(err, NPU_IO, (npu_pos){.file = path}, "cannot read: %s", strerror(reason));
    return npu_fail(err, NPU_BAD_INPUT, (npu_pos){path, problem.line, problem.column}, "%s",
                    problem.text);
}

static const char *join(reader *r, const char *folder, const char *name) {
    return npu_arena_printf(&r->picture->arena, "%s/%s", folder, name);
}

// A u64 given as a number (negative: two's complement) or as decimal text.
static bool read_u64(const json_t *json, uint64_t *value) {
    if (json_is_integer(json)) {
        *value = (uint64_t)json_integer_value(json);
        return true;
    }
    const char *text = json_string_value(json);
    char *end = NULL;
    if (text == NULL || *text < '0' || *text > '9')
        return false;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0';
}

static void note_stamp(reader *r, json_int_t stamp) {
    if (stamp > 0 && (r->origin == 0 || stamp < r->origin))
        r->origin = stamp;
    if (stamp > r->last)
        r->last = stamp;
}

static double to_us(const reader *r, json_int_t stamp) {
    assert(r->tick_us > 0);
    return (double)(stamp - r->origin) * r->tick_us;
}

static npu_status read_metadata(reader *r) {
    if (json_object_get(r->root, "scheduler_tasks") != NULL)
        return REFUSE(r, "has scheduler_tasks: a newer generation of the file, of which only the "
                         "first (aicpu_tasks) is read");
    const json_t *metadata = json_object_get(r->root, "metadata");
    const json_t *types = json_object_get(metadata, "core_types");
    json_int_t clock = json_integer_value(json_object_get(metadata, "clock_freq_hz"));
    if (!json_is_object(metadata))
        return REFUSE(r, "has no metadata object");
    if (clock <= 0)
        return REFUSE(r, "metadata must give clock_freq_hz, a number of Hz above 0");
    if (!json_is_array(types) || json_array_size(types) == 0 || json_array_size(types) > 100000)
        return REFUSE(r, "metadata must give core_types, a list with each core's type");
    r->tick_us = 1e6 / (double)clock;
    r->core_count = (int)json_array_size(types);
    return NPU_OK;
}

// The list under `key`; an absent one is empty (NULL).
static npu_status get_list(const reader *r, const char *key, const json_t **list) {
    *list = json_object_get(r->root, key);
    if (*list != NULL && !json_is_array(*list))
        return REFUSE(r, "%s must be a list", key);
    return NPU_OK;
}

// Row i of a list of number rows: at least `width` numbers, the first a core.
static npu_status check_row(const reader *r, const char *key, const json_t *row, size_t i,
                            size_t width) {
    if (json_array_size(row) < width)
        return REFUSE(r, "%s: row %zu has %zu columns, at least %zu are needed", key, i,
                      json_array_size(row), width);
    for (size_t c = 0; c < width; c++)
        if (!json_is_integer(json_array_get(row, c)))
            return REFUSE(r, "%s: row %zu, column %zu is not a whole number", key, i, c);
    json_int_t core = json_integer_value(json_array_get(row, 0));
    if (core < 0 || core >= r->core_count)
        return REFUSE(r, "%s: row %zu is on core %lld, but there are %d cores", key, i,
                      (long long)core, r->core_count);
    return NPU_OK;
}

static json_int_t column(const json_t *row, size_t c) {
    return json_integer_value(json_array_get(row, c));
}

// Checks the rows of both streams and notes their stamps.
static npu_status scan_rows(reader *r) {
    static const char *const keys[] = {"aicore_tasks", "aicpu_tasks"};
    for (int stream = 0; stream < 2; stream++) {
        const json_t *rows;
        npu_status status = get_list(r, keys[stream], &rows);
        if (status == NPU_OK && stream == 0 && rows == NULL)
            status = REFUSE(r, "has no aicore_tasks");
        for (size_t i = 0; status == NPU_OK && i < json_array_size(rows); i++) {
            const json_t *row = json_array_get(rows, i);
            status = check_row(r, keys[stream], row, i, stream == 0 ? 5 : 4);
            if (status != NPU_OK)
                break;
            if (stream == 0 && column(row, 4) < column(row, 3))
                status = REFUSE(r, "aicore_tasks: row %zu ends before it starts", i);
            json_int_t setup = stream == 0 && json_array_size(row) > 5 ? column(row, 5) : 0;
            note_stamp(r, column(row, stream == 0 ? 3 : 2) - setup);
            note_stamp(r, column(row, stream == 0 ? 4 : 3));
            r->finish = r->last;
        }
        if (status != NPU_OK)
            return status;
    }
    return NPU_OK;
}

typedef npu_status (*phase_fn)(reader *r, int thread, const json_t *phase);

// Calls `use` for every record of a list of lists of objects with start and end.
static npu_status each_phase(reader *r, const char *key, phase_fn use) {
    const json_t *threads;
    npu_status status = get_list(r, key, &threads);
    for (size_t t = 0; status == NPU_OK && t < json_array_size(threads); t++) {
        const json_t *records = json_array_get(threads, t);
        if (!json_is_array(records))
            return REFUSE(r, "%s: entry %zu must be a list", key, t);
        for (size_t i = 0; status == NPU_OK && i < json_array_size(records); i++) {
            const json_t *record = json_array_get(records, i);
            const json_t *start = json_object_get(record, "start_cycles");
            const json_t *end = json_object_get(record, "end_cycles");
            if (!json_is_integer(start) || !json_is_integer(end) ||
                json_integer_value(end) < json_integer_value(start))
                return REFUSE(r, "%s: record %zu of thread %zu needs start_cycles and end_cycles",
                              key, i, t);
            status = use(r, (int)t, record);
        }
    }
    return status;
}

static npu_status scan_phase(reader *r, int thread, const json_t *phase) {
    (void)thread;
    note_stamp(r, json_integer_value(json_object_get(phase, "start_cycles")));
    note_stamp(r, json_integer_value(json_object_get(phase, "end_cycles")));
    return NPU_OK;
}

// Threads up to the last one with records: trailing empty lists are spare places.
static int count_threads(const reader *r, const char *key) {
    const json_t *threads = json_object_get(r->root, key);
    size_t count = json_array_size(threads);
    while (count > 0 && json_array_size(json_array_get(threads, count - 1)) == 0)
        count--;
    return (int)count;
}

static npu_status add_lanes(reader *r) {
    npu_picture *picture = r->picture;
    npu_status status = NPU_OK;
    if (count_threads(r, "aicpu_orchestrator_phases") > 0)
        status = npu_picture_lane(picture, NPU_LANE_ORCHESTRATOR, 0, r->err);
    r->schedulers = picture->lane_count;
    int threads = count_threads(r, "aicpu_scheduler_phases");
    for (int i = 0; i < threads && status == NPU_OK; i++)
        status = npu_picture_lane(picture, NPU_LANE_SCHEDULER, i, r->err);
    r->cores = picture->lane_count;
    const json_t *types = json_object_get(json_object_get(r->root, "metadata"), "core_types");
    for (int i = 0; i < r->core_count && status == NPU_OK; i++) {
        const char *type = json_string_value(json_array_get(types, (size_t)i));
        if (type == NULL || (strcmp(type, "aic") != 0 && strcmp(type, "aiv") != 0))
            return REFUSE(r, "metadata: the type of core %d is neither aic nor aiv", i);
        status = npu_picture_lane(picture, strcmp(type, "aic") == 0 ? NPU_LANE_AIC : NPU_LANE_AIV,
                                  i, r->err);
    }
    return status;
}

static npu_status add_bar(reader *r, int lane, int name, json_int_t start, json_int_t end) {
    assert(start <= end && name >= 0);
    return npu_picture_bar(r->picture, (npu_bar){lane, name, to_us(r, start), to_us(r, end)},
                           r->err);
}

static npu_status add_submit(reader *r, int thread, const json_t *phase) {
    if (thread > 0)
        return NPU_OK;
    return add_bar(r, 0, NPU_SHADE_SUBMIT,
                   json_integer_value(json_object_get(phase, "start_cycles")),
                   json_integer_value(json_object_get(phase, "end_cycles")));
}

static npu_status add_phase(reader *r, int thread, const json_t *phase) {
    static const char *const hidden[] = {"resolve", "dummy_task",    "predicated_skip",
                                         "idle",    "drain_prepare", "drain_publish",
                                         "fanout"};
    const char *kind = json_string_value(json_object_get(phase, "kind"));
    if (kind == NULL)
        return REFUSE(r, "aicpu_scheduler_phases: a record of thread %d has no kind", thread);
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (strcmp(kind, hidden[i]) == 0) // inside another, without width, or no work
            return NPU_OK;
    npu_shade shade = NPU_SHADE_OTHER;
    if (strcmp(kind, "complete") == 0)
        shade = NPU_SHADE_COMPLETE;
    else if (strcmp(kind, "dispatch") == 0 || strcmp(kind, "early_dispatch") == 0)
        shade = NPU_SHADE_DISPATCH;
    return add_bar(r, r->schedulers + thread, shade,
                   json_integer_value(json_object_get(phase, "start_cycles")),
                   json_integer_value(json_object_get(phase, "end_cycles")));
}

static int compare_ids(const void *a, const void *b) {
    uint64_t x = ((const task_name *)a)->id;
    uint64_t y = ((const task_name *)b)->id;
    return x < y ? -1 : x > y;
}

static npu_status add_rows(reader *r) {
    const json_t *rows = json_object_get(r->root, "aicore_tasks");
    assert(r->picture->lane_count == r->cores + r->core_count);
    int unnamed = -1;
    npu_status status = NPU_OK;
    for (size_t i = 0; status == NPU_OK && i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        task_name key = {.id = (uint64_t)column(row, 1)};
        const task_name *found = r->task_count > 0 ? bsearch(&key, r->tasks, (size_t)r->task_count,
                                                             sizeof key, compare_ids)
                                                   : NULL;
        int name = found != NULL ? found->name : unnamed;
        if (name < 0) {
            status = npu_picture_name(r->picture, "task", &unnamed, r->err);
            name = unnamed;
        }
        if (status == NPU_OK && column(row, 3) > 0) // 0: lost
            status =
                add_bar(r, r->cores + (int)column(row, 0), name, column(row, 3), column(row, 4));
    }
    return status;
}

// The name of a task's kernel. The halves of a MIX are named NAME_aic and NAME_aiv: one name.
static npu_status name_task(reader *r, const json_t *task, const json_t *names, int *name) {
    json_int_t ids[3] = {-1, -1, -1};
    const json_t *kernel_ids = json_object_get(task, "kernel_ids");
    for (size_t i = 0; i < 3 && i < json_array_size(kernel_ids); i++)
        ids[i] = json_integer_value(json_array_get(kernel_ids, i));
    bool both = ids[0] >= 0 && (ids[1] >= 0 || ids[2] >= 0);
    json_int_t id = ids[0] >= 0 ? ids[0] : ids[1] >= 0 ? ids[1] : ids[2];
    char text[200];
    snprintf(text, sizeof text, "%lld", (long long)id);
    const char *known = json_string_value(json_object_get(names, text));
    if (known == NULL)
        snprintf(text, sizeof text, "func_%lld", (long long)id);
    else
        snprintf(text, sizeof text, "%s", known);
    *name = -1;
    if (id < 0) // a dummy: it has no rows
        return NPU_OK;
    size_t length = strlen(text);
    if (both && length > 4 && strcmp(text + length - 4, "_aic") == 0)
        text[length - 4] = '\0';
    return npu_picture_name(r->picture, text, name, r->err);
}

static npu_status name_tasks(reader *r, const char *path, const json_t *deps, const json_t *names) {
    const json_t *tasks = json_object_get(deps, "tasks");
    if (!json_is_array(tasks))
        return npu_fail(r->err, NPU_BAD_INPUT, (npu_pos){.file = path}, "has no list of tasks");
    for (size_t i = 0; i < json_array_size(tasks); i++) {
        const json_t *task = json_array_get(tasks, i);
        task_name entry = {0};
        if (!read_u64(json_object_get(task, "task_id"), &entry.id))
            return npu_fail(r->err, NPU_BAD_INPUT, (npu_pos){.file = path},
                            "task %zu has no task_id", i);
        npu_status status = name_task(r, task, names, &entry.name);
        if (status == NPU_OK)
            status = NPU_GROW(r, tasks, task_count, task_capacity, r->err);
        if (status != NPU_OK)
            return status;
        r->tasks[r->task_count++] = entry;
    }
    if (r->task_count > 0)
        qsort(r->tasks, (size_t)r->task_count, sizeof *r->tasks, compare_ids);
    return NPU_OK;
}

// The first name_map*.json of the folder in the order of their names; NULL when there is none.
static const char *find_name_map(reader *r, const char *folder) {
    DIR *dir = opendir(folder);
    char *best = NULL;
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (strncmp(entry->d_name, "name_map", 8) != 0 || length < 13 ||
            strcmp(entry->d_name + length - 5, ".json") != 0)
            continue;
        if (best == NULL || strcmp(entry->d_name, best) < 0)
            best = npu_arena_text(&r->picture->arena, entry->d_name, length);
    }
    if (dir != NULL)
        closedir(dir);
    return best != NULL ? join(r, folder, best) : NULL;
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

// "GRAPH on DIE: makespan", of what is known; a capture's folder may stand for the graph.
static npu_status make_title(reader *r, const char *folder, const json_t *name_map) {
    npu_arena *arena = &r->picture->arena;
    const char *graph = json_string_value(json_object_get(name_map, "orchestrator_name"));
    const char *summary_path = join(r, folder, "summary.json");
    json_t *summary = NULL;
    if (summary_path == NULL)
        return npu_fail_memory(r->err);
    load(summary_path, &summary, NULL); // it only helps: no fault of it matters here
    const char *die = json_string_value(json_object_get(json_object_get(summary, "input"), "die"));
    char makespan[32];
    npu_show_time(to_us(r, r->finish > r->origin ? r->finish : r->origin) * 1e3, makespan,
                  (int)sizeof makespan);
    r->picture->title =
        npu_arena_printf(arena, "%s%s%s: %s", graph != NULL ? graph : last_part(folder),
                         die != NULL ? " on " : "", die != NULL ? last_part(die) : "", makespan);
    json_decref(summary);
    return r->picture->title != NULL ? NPU_OK : npu_fail_memory(r->err);
}

// Reads names and tasks as far as they are there, and makes the title.
static npu_status read_names(reader *r, const char *folder) {
    json_t *deps = NULL;
    json_t *map = NULL;
    const char *deps_path = join(r, folder, "deps.json");
    const char *map_path = find_name_map(r, folder);
    if (deps_path == NULL)
        return npu_fail_memory(r->err);
    npu_status status = load(deps_path, &deps, r->err);
    if (status == NPU_OK && map_path != NULL)
        status = load(map_path, &map, r->err);
    if (status == NPU_OK && deps != NULL)
        status = name_tasks(r, deps_path, deps, json_object_get(map, "callable_id_to_name"));
    if (status == NPU_OK)
        status = make_title(r, folder, map);
    json_decref(deps);
    json_decref(map);
    return status;
}

static npu_status read_picture(reader *r, const char *folder) {
    npu_status status = read_metadata(r);
    if (status == NPU_OK)
        status = scan_rows(r);
    if (status == NPU_OK)
        status = each_phase(r, "aicpu_scheduler_phases", scan_phase);
    if (status == NPU_OK)
        status = each_phase(r, "aicpu_orchestrator_phases", scan_phase);
    if (status == NPU_OK)
        status = add_lanes(r);
    if (status == NPU_OK)
        status = read_names(r, folder);
    if (status == NPU_OK)
        r->picture->span = to_us(r, r->last > r->origin ? r->last : r->origin);
    if (status == NPU_OK)
        status = each_phase(r, "aicpu_orchestrator_phases", add_submit);
    if (status == NPU_OK)
        status = each_phase(r, "aicpu_scheduler_phases", add_phase);
    if (status == NPU_OK)
        status = add_rows(r);
    return status;
}

npu_status npu_picture_read(const char *folder, npu_picture *picture, npu_error *err) {
    static const char *const files[] = {"chip_swimlane_records.json", "l2_swimlane_records.json"};
    *picture = (npu_picture){0};
    reader r = {.picture = picture, .err = err};
    json_t *root = NULL;
    npu_status status = NPU_OK;
    for (size_t i = 0; i < 2 && root == NULL && status == NPU_OK; i++) {
        r.path = join(&r, folder, files[i]);
        status = r.path != NULL ? load(r.path, &root, err) : npu_fail_memory(err);
    }
    if (status == NPU_OK && root == NULL)
        status = npu_fail(err, NPU_IO, (npu_pos){.file = folder}, "there is no %s in this folder",
                          files[0]);
    if (status == NPU_OK && !json_is_object(root))
        status = REFUSE(&r, "must hold an object");
    r.root = root;
    if (status == NPU_OK)
        status = read_picture(&r, folder);
    free(r.tasks);
    json_decref(root);
    return status;
}
