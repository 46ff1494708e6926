// SPDX-License-Identifier: Apache-2.0
#include "run_folder.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "json_put.h"

// Both engines agree to 1e-6 on every time, and summary.json keeps 12 digits.
static const double same_makespan = 2e-6;

typedef struct reader {
    npu_run_folder *folder;
    const char *path;
    npu_error *err;
} reader;

#define REFUSE(r, status, ...) npu_fail((r)->err, status, (npu_pos){.file = (r)->path}, __VA_ARGS__)

// Of several ranks the files lie in rank0, rank1 and so on. A folder that was written to twice may
// hold both kinds, and the older of the two is not to be explained by mistake.
static FILE *open_summary(reader *r, const char *folder, npu_status *status) {
    const char *one = npu_arena_printf(&r->folder->arena, "%s/summary.json", folder);
    const char *ranks = npu_arena_printf(&r->folder->arena, "%s/rank0/summary.json", folder);
    *status = NPU_IO;
    if (one == NULL || ranks == NULL) {
        *status = npu_fail_memory(r->err);
        return NULL;
    }
    FILE *file = fopen(one, "rb");
    FILE *other = fopen(ranks, "rb");
    r->path = file != NULL ? one : ranks;
    if (file != NULL && other != NULL) {
        *status = npu_fail(r->err, NPU_BAD_INPUT, (npu_pos){0},
                           "%s holds a run of one rank and one of several; run the one that you "
                           "mean into a folder of its own",
                           folder);
        fclose(file);
        fclose(other);
        return NULL;
    }
    if (file != NULL || other != NULL)
        return file != NULL ? file : other;
    struct stat about;
    int reason = stat(folder, &about) != 0 ? errno : S_ISDIR(about.st_mode) ? 0 : ENOTDIR;
    if (reason != 0)
        npu_fail(r->err, NPU_IO, (npu_pos){0}, "cannot read %s: %s", folder, strerror(reason));
    else
        npu_fail(r->err, NPU_IO, (npu_pos){0},
                 "%s: there is no summary.json in this folder; `npusim run --out` writes it",
                 folder);
    return NULL;
}

// A text of `object` into the arena. A key that may be missing leaves *text as it is.
static npu_status get_text(reader *r, const json_t *object, const char *key, bool needed,
                           const char **text) {
    const json_t *value = json_object_get(object, key);
    if (value == NULL && !needed)
        return NPU_OK;
    if (!json_is_string(value))
        return REFUSE(r, NPU_BAD_INPUT, "'%s' is not a text: this is no summary of a run", key);
    *text = npu_arena_text(&r->folder->arena, json_string_value(value), json_string_length(value));
    return *text != NULL ? NPU_OK : npu_fail_memory(r->err);
}

static npu_status get_sets(reader *r, const json_t *input) {
    const json_t *list = json_object_get(input, "set");
    if (!json_is_array(list))
        return REFUSE(r, NPU_BAD_INPUT, "'set' is not a list: this is no summary of a run");
    size_t count = json_array_size(list);
    const char **sets = npu_arena_alloc(&r->folder->arena, count + 1, sizeof *sets);
    if (sets == NULL)
        return npu_fail_memory(r->err);
    for (size_t i = 0; i < count; i++) {
        const json_t *set = json_array_get(list, i);
        if (!json_is_string(set))
            return REFUSE(r, NPU_BAD_INPUT, "'set' holds something that is not a text");
        sets[i] =
            npu_arena_text(&r->folder->arena, json_string_value(set), json_string_length(set));
        if (sets[i] == NULL)
            return npu_fail_memory(r->err);
    }
    r->folder->input.sets = sets;
    r->folder->input.set_count = (int)count;
    return NPU_OK;
}

static npu_status get_input(reader *r, const json_t *input) {
    npusim_input *to = &r->folder->input;
    const char *l2 = "", *hash = "";
    npu_status status = get_text(r, input, "graph", true, &to->graph);
    if (!status)
        status = get_text(r, input, "graph_hash", true, &hash);
    if (!status)
        status = get_text(r, input, "die", true, &to->die);
    if (!status) // a die of the user's own
        status = get_text(r, input, "die_file", false, &to->die);
    if (!status)
        status = get_text(r, input, "engine", true, &to->engine);
    if (!status)
        status = get_text(r, input, "l2", true, &l2);
    if (!status)
        status = get_text(r, input, "fabric", false, &to->fabric);
    if (!status)
        status = get_sets(r, input);
    to->l2_warm = strcmp(l2, "warm") == 0;
    r->folder->hash = strtoull(hash, NULL, 16);
    const json_t *rank = json_object_get(input, "rank");
    r->folder->rank = json_is_integer(rank) ? (int)json_integer_value(rank) : 0;
    return status;
}

static npu_status get_all(reader *r, const json_t *root) {
    const char *version = "";
    npu_status status = get_text(r, root, "npusim", true, &version);
    if (!status && strcmp(version, NPUSIM_VERSION) != 0)
        return REFUSE(r, NPU_BAD_INPUT,
                      "the run is of npusim %s and this is %s, which may give other times: run it "
                      "again",
                      version, NPUSIM_VERSION);
    if (!status)
        status = get_input(r, json_object_get(root, "input"));
    const json_t *makespan = json_object_get(root, "makespan_us");
    if (!status && !json_is_number(makespan))
        return REFUSE(r, NPU_BAD_INPUT,
                      "'makespan_us' is not a number: this is no summary of a run");
    r->folder->makespan = json_number_value(makespan) * 1000;
    return status;
}

npu_status npu_run_folder_read(const char *folder, npu_run_folder *read, npu_error *err) {
    *read = (npu_run_folder){0};
    reader r = {.folder = read, .err = err};
    npu_status status = NPU_OK;
    FILE *file = open_summary(&r, folder, &status);
    if (file == NULL)
        return status;
    json_error_t problem;
    json_t *root = json_loadf(file, 0, &problem);
    int reason = ferror(file) ? errno : 0;
    fclose(file);
    if (root == NULL && reason != 0)
        return REFUSE(&r, NPU_IO, "cannot read: %s", strerror(reason));
    if (root == NULL)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){r.path, problem.line, problem.column}, "%s",
                        problem.text);
    status = get_all(&r, root);
    json_decref(root);
    return status;
}

const char *npu_run_folder_changed(const npu_run_folder *folder, const char *path,
                                   const npu_simulated *run, char *buf, size_t size) {
    int rank = folder->rank < run->context.ranks.full ? folder->rank : 0;
    double now = run->results[rank].trace.makespan;
    if (run->context.ranks.graphs[rank].hash != folder->hash)
        snprintf(buf, size, "%s has changed since the run in %s", folder->input.graph, path);
    else if (fabs(now - folder->makespan) > same_makespan * folder->makespan)
        snprintf(buf, size,
                 "the run in %s took %.1f us and takes %.1f us now: its die, its fabric or npusim "
                 "has changed",
                 path, folder->makespan / 1000, now / 1000);
    else
        return NULL;
    return buf;
}

void npu_run_folder_free(npu_run_folder *folder) {
    npu_arena_free(&folder->arena);
    *folder = (npu_run_folder){0};
}
