// SPDX-License-Identifier: Apache-2.0
#include "overlay.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "diefile.h"
#include "yaml_tree.h"

enum { CHAIN = 16 }; // more files than a die may extend

typedef struct chain { // the files of a die, from its own to its base
    struct stat files[CHAIN];
    int count;
} chain;

static bool same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static npu_status read_chain(npu_arena *arena, const char *path, chain *c, npu_error *err) {
    for (c->count = 0; path != NULL && c->count < CHAIN; c->count++) {
        const npu_yaml *root = NULL;
        if (stat(path, &c->files[c->count]) != 0)
            return npu_fail(err, NPU_IO, (npu_pos){0}, "cannot read %s: %s", path, strerror(errno));
        npu_status status = npu_yaml_load(arena, path, &root, err);
        if (status)
            return status;
        const npu_yaml *extends = npu_yaml_get(root, "extends");
        if (extends == NULL)
            path = NULL;
        else if ((path = npu_path_beside(arena, path, extends->text)) == NULL)
            return npu_fail_memory(err);
    }
    return NPU_OK;
}

static bool has_file(const chain *c, const char *path) {
    struct stat file;
    if (path == NULL || stat(path, &file) != 0)
        return false;
    for (int i = 0; i < c->count; i++)
        if (same_file(&c->files[i], &file))
            return true;
    return false;
}

npu_status npu_die_reads(const npu_die *die, const char *path, bool *reads, npu_error *err) {
    npu_arena arena = {0};
    chain c;
    npu_status status = read_chain(&arena, die->path, &c, err);
    *reads = !status && has_file(&c, path);
    npu_arena_free(&arena);
    return status;
}

// ---- which die a case gets -----------------------------------------------------------------

typedef struct maker {
    const npu_die *die;
    const npu_params *params;
    const char *folder;
    chain files; // of `die`
    npu_models *models;
    npu_error *err;
} maker;

static npu_status keep_names(maker *m, npu_model *model, const npu_die *die) {
    char *path = realpath(die->path, NULL);
    if (path == NULL)
        return npu_fail(m->err, NPU_IO, (npu_pos){0}, "cannot read %s: %s", die->path,
                        strerror(errno));
    model->path = npu_arena_text(&m->models->arena, path, strlen(path));
    model->name = npu_arena_text(&m->models->arena, die->name, strlen(die->name));
    free(path);
    return model->path != NULL && model->name != NULL ? NPU_OK : npu_fail_memory(m->err);
}

// `die` is what the cases ask for.
static npu_status relate(maker *m, npu_model *model, const npu_die *die) {
    npu_arena arena = {0};
    chain files = {0};
    npu_status status = read_chain(&arena, die->path, &files, m->err);
    npu_arena_free(&arena);
    if (status)
        return status;
    bool calibrated = has_file(&m->files, die->path);
    model->related =
        calibrated || same_file(&m->files.files[m->files.count - 1], &files.files[files.count - 1]);
    for (int i = 0; i < m->params->count && model->related; i++) {
        const char *file = die->notes[m->params->list[i].field].pos.file;
        model->takes[i] = calibrated || has_file(&m->files, file);
        model->moves = model->moves || model->takes[i];
    }
    return keep_names(m, model, calibrated ? m->die : die);
}

static npu_status add_model(maker *m, const char *asked) {
    npu_models *models = m->models;
    npu_status status = NPU_GROW(models, list, count, capacity, m->err);
    if (status)
        return status;
    npu_model *model = &models->list[models->count++];
    *model = (npu_model){.asked = asked};
    npu_die die;
    model->status = npu_die_load(m->folder, asked, &die, &model->error);
    if (model->status == NPU_NO_MEMORY)
        return npu_fail_memory(m->err);
    if (model->status)
        return NPU_OK;
    status = relate(m, model, &die);
    npu_die_free(&die);
    return status;
}

static npu_status make(maker *m, const npu_cases *cases) {
    npu_models *models = m->models;
    npu_status status = read_chain(&models->arena, m->die->path, &m->files, m->err);
    for (int v = 0; v < cases->variant_count && !status; v++) {
        int at = 0;
        while (at < models->count && strcmp(models->list[at].asked, cases->variants[v].die) != 0)
            at++;
        if (at == models->count)
            status = add_model(m, cases->variants[v].die);
        models->of_variant[v] = at;
    }
    return status;
}

npu_status npu_models_make(const npu_cases *cases, const char *folder, const npu_die *die,
                           const npu_params *params, npu_models *models, npu_error *err) {
    maker m = {.die = die, .params = params, .folder = folder, .models = models, .err = err};
    models->of_variant = calloc((size_t)cases->variant_count + 1, sizeof *models->of_variant);
    return models->of_variant != NULL ? make(&m, cases) : npu_fail_memory(err);
}

void npu_models_free(npu_models *models) {
    for (int i = 0; i < models->count; i++)
        npu_die_free(&models->list[i].die);
    free(models->list);
    free(models->of_variant);
    npu_arena_free(&models->arena);
    *models = (npu_models){0};
}

// ---- the values that are tried -------------------------------------------------------------

static npu_status write_overlay(const npu_model *model, const npu_params *params,
                                const double *values, const char *path, npu_error *err) {
    npu_die_entry entries[NPU_PARAMS_MAX];
    int count = 0;
    for (int i = 0; i < params->count; i++)
        if (model->takes[i])
            entries[count++] = (npu_die_entry){.param = &params->list[i], .value = values[i]};
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return npu_fail(err, NPU_IO, (npu_pos){0}, "cannot write %s: %s", path, strerror(errno));
    npu_diefile_write(file, model->path, model->name, entries, count);
    bool written = ferror(file) == 0;
    if (fclose(file) != 0 || !written)
        return npu_fail(err, NPU_IO, (npu_pos){0}, "cannot write %s", path);
    return NPU_OK;
}

// By way of a file, so that the loader checks the values as it will check the calibrated die.
static npu_status load_overlay(npu_model *model, const npu_params *params, const double *values,
                               const char *path, npu_error *err) {
    npu_die_free(&model->die);
    if (!model->moves)
        return npu_die_load("", model->path, &model->die, err);
    npu_status status = write_overlay(model, params, values, path, err);
    if (!status)
        status = npu_die_load("", path, &model->die, err);
    unlink(path);
    // The values are to blame only while the die itself can be read: somebody may edit it.
    npu_die die;
    npu_error error = {{0}};
    if (status == NPU_BAD_INPUT && npu_die_load("", model->path, &die, &error) != NPU_OK) {
        *err = error;
        return NPU_IO;
    }
    if (status == NPU_BAD_INPUT)
        npu_die_free(&die);
    return status;
}

npu_status npu_models_set(npu_models *models, const npu_params *params, const double *values,
                          bool *fits, npu_error *err) {
    char folder[512], path[600];
    const char *place = getenv("TMPDIR");
    int length = snprintf(folder, sizeof folder, "%s/npusim-XXXXXX",
                          place != NULL && place[0] != '\0' ? place : "/tmp");
    if (length >= (int)sizeof folder || mkdtemp(folder) == NULL)
        return npu_fail(err, NPU_IO, (npu_pos){0}, "cannot make a temporary folder: %s",
                        strerror(errno));
    snprintf(path, sizeof path, "%s/die.yaml", folder);
    npu_status status = NPU_OK;
    npu_error error = {{0}};
    for (int i = 0; i < models->count && !status; i++)
        if (!models->list[i].status)
            status = load_overlay(&models->list[i], params, values, path, &error);
    rmdir(folder);
    if (fits != NULL)
        *fits = status != NPU_BAD_INPUT;
    if (status == NPU_OK || (status == NPU_BAD_INPUT && fits != NULL))
        return NPU_OK;
    // The temporary file is no place to name.
    const char *sentence =
        strncmp(error.text, folder, strlen(folder)) == 0 ? strstr(error.text, ": ") : NULL;
    return npu_fail(err, status, (npu_pos){0}, "%s", sentence ? sentence + 2 : error.text);
}
