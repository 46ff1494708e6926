// SPDX-License-Identifier: Apache-2.0
// Fields of a die fitted to measured cases, and the files that come of it.
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "captures.h"
#include "context.h"
#include "out.h"
#include "paths.h"
#include "results.h"

enum { EVALUATIONS = 200 };

typedef struct calibration {
    const npusim_calibrate_options *options;
    char config[NPU_CONFIG_PATH];
    char dies[NPU_CONFIG_PATH + 16];
    npu_die die;
    npu_params params;
    npu_cases cases;
    npu_warnings problems;
    npu_models models;
    bool of_captures;
    npu_ranks map;
    npu_captures captures;
    npu_predictor predictor;
    npu_calibration result;
    npu_out *die_out, *report_out;
} calibration;

// ---- what is given -------------------------------------------------------------------------

static int is_yaml(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return entry->d_name[0] != '.' && length > 5 &&
           strcmp(entry->d_name + length - 5, ".yaml") == 0;
}

static npu_status read_shipped(calibration *c, npu_error *err) {
    char path[NPU_CONFIG_PATH + 300];
    struct dirent **entries = NULL;
    snprintf(path, sizeof path, "%s/validation", c->config);
    int count = scandir(path, &entries, is_yaml, alphasort);
    npu_status status = NPU_OK;
    if (count <= 0)
        status = npu_fail(err, NPU_IO, (npu_pos){0}, "there are no case files in %s", path);
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/validation/%s", c->config, entries[i]->d_name);
        if (!status)
            status = npu_cases_read(&c->cases, path, &c->problems, err);
        free(entries[i]);
    }
    free(entries);
    return status;
}

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

// Folders are captures, files are cases; both together would be two calibrations.
static npu_status tell_captures(calibration *c, npu_error *err) {
    const npusim_calibrate_options *o = c->options;
    int folders = 0;
    for (int i = 0; i < o->file_count; i++)
        folders += is_folder(o->files[i]);
    c->of_captures = folders > 0;
    if (folders > 0 && folders < o->file_count)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0},
                        "folders of captures and files of cases cannot be mixed");
    if (folders > 0 && o->report != NULL)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "--report is of cases, not of captures");
    if (folders == 0 && o->map != NULL)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "--map is for captures");
    return NPU_OK;
}

static npu_status read_captures(calibration *c, npu_error *err) {
    const npusim_calibrate_options *o = c->options;
    npu_status status = NPU_OK;
    if (o->map != NULL) {
        char kernels[NPU_CONFIG_PATH + 16], fabrics[NPU_CONFIG_PATH + 16];
        snprintf(kernels, sizeof kernels, "%s/kernels", c->config);
        snprintf(fabrics, sizeof fabrics, "%s/fabric", c->config);
        npu_ranks_options options = {{kernels, NULL, 0, 0}, fabrics, NULL};
        status = npu_ranks_load(o->map, &options, &c->map, &c->problems, err);
    }
    if (status)
        return status;
    return npu_captures_read(&c->captures, o->files, o->file_count,
                             o->map != NULL ? &c->map.graphs[0] : NULL, &c->die,
                             o->die != NULL ? o->die : "A3", &c->cases, err);
}

static npu_status read_cases(calibration *c, npu_error *err) {
    npu_status status = NPU_OK;
    if (c->of_captures)
        return read_captures(c, err);
    if (c->options->file_count == 0)
        return read_shipped(c, err);
    for (int i = 0; i < c->options->file_count && !status; i++)
        status = npu_cases_read(&c->cases, c->options->files[i], &c->problems, err);
    return status;
}

static npu_status find_configs(calibration *c, npu_error *err) {
    const char *given = c->options->config;
    npu_status status = NPU_OK;
    if (given == NULL)
        status = npusim_config_folder(c->config, sizeof c->config, err);
    else if (snprintf(c->config, sizeof c->config, "%s", given) >= NPU_CONFIG_PATH)
        status = npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "the config folder's path is too long");
    snprintf(c->dies, sizeof c->dies, "%s/die", c->config);
    return status;
}

// ---- files ---------------------------------------------------------------------------------

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

// Before the work: a folder that cannot be written is known at once.
static npu_status begin_output(const char *path, npu_out **out, npu_error *err) {
    if (path == NULL)
        return NPU_OK;
    const char *name = file_name(path);
    if (name[0] == '\0')
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "'%s' is a folder, not a file", path);
    char *folder = strndup(path, (size_t)(name - path));
    npu_status status = folder != NULL ? npu_out_begin(folder, out, err) : npu_fail_memory(err);
    free(folder);
    return status;
}

static npu_status begin_die(calibration *c, npu_error *err) {
    const char *path = c->options->out;
    bool reads = false;
    if (path == NULL)
        return NPU_OK;
    if (c->params.count == 0)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "--out needs --fit: no field is fitted");
    size_t length = strlen(file_name(path));
    if (length <= 5 || strcmp(path + strlen(path) - 5, ".yaml") != 0)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0},
                        "--out '%s' must end in .yaml: --die takes no other file", path);
    npu_status status = npu_die_reads(&c->die, path, &reads, err);
    if (!status && reads)
        status =
            npu_fail(err, NPU_BAD_INPUT, (npu_pos){0},
                     "--out %s would replace a file that the die %s is made of", path, c->die.name);
    return status ? status : begin_output(path, &c->die_out, err);
}

static npu_status begin_outputs(calibration *c, npu_error *err) {
    const char *die = c->options->out, *report = c->options->report;
    if (die != NULL && report != NULL && strcmp(die, report) == 0)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "--out and --report are the same file");
    npu_status status = begin_die(c, err);
    return status ? status : begin_output(c->options->report, &c->report_out, err);
}

static npu_status write_die(calibration *c, npu_error *err) {
    const char *path = c->options->out, *name = file_name(path);
    char *extends = npu_path_between(path, c->die.path);
    char *title = strndup(name, strlen(name) - 5);
    npu_status status = extends != NULL && title != NULL ? NPU_OK : npu_fail_memory(err);
    FILE *file = status ? NULL : npu_out_file(c->die_out, name, err);
    if (!status)
        status = file != NULL ? npu_calibration_die(file, &c->result, extends, title, err) : NPU_IO;
    free(extends);
    free(title);
    return status;
}

static npu_status write_report(calibration *c, npu_error *err) {
    FILE *file = npu_out_file(c->report_out, file_name(c->options->report), err);
    return file != NULL ? npu_calibration_accuracy(file, &c->result, err) : NPU_IO;
}

static npu_status commit(npu_out **out, npu_error *err) {
    npu_out *done = *out;
    *out = NULL;
    return done != NULL ? npu_out_commit(done, err) : NPU_OK;
}

// Both are complete before one of them appears.
static npu_status write_outputs(calibration *c, npu_error *err) {
    npu_status status = c->die_out != NULL ? write_die(c, err) : NPU_OK;
    if (!status && c->report_out != NULL)
        status = write_report(c, err);
    if (!status)
        status = commit(&c->die_out, err);
    return status ? status : commit(&c->report_out, err);
}

// ---- the call ------------------------------------------------------------------------------

static npu_status prepare(calibration *c, npu_error *err) {
    const npusim_calibrate_options *o = c->options;
    npu_status status = tell_captures(c, err);
    if (!status)
        status = find_configs(c, err);
    if (!status)
        status = npu_die_load(c->dies, o->die != NULL ? o->die : "A3", &c->die, err);
    if (!status)
        status = npu_params_read(&c->die, o->fits, o->fit_count, o->bounds, o->bound_count,
                                 &c->params, err);
    if (!status)
        status = begin_outputs(c, err);
    if (!status)
        status = read_cases(c, err);
    return status ? status
                  : npu_models_make(&c->cases, c->dies, &c->die, &c->params, &c->models, err);
}

// Returns how many there are now.
static int print_problems(const calibration *c, int from, FILE *warn) {
    for (int i = from; i < c->problems.count && warn != NULL; i++)
        fprintf(warn, "%s\n", c->problems.lines[i]);
    return c->problems.count;
}

static npu_status fit(calibration *c, FILE *warn, npu_error *err) {
    const npusim_calibrate_options *o = c->options;
    int parallel = o->jobs > 0 ? o->jobs : (int)sysconf(_SC_NPROCESSORS_ONLN);
    c->predictor = (npu_predictor){.cases = &c->cases,
                                   .models = &c->models,
                                   .params = &c->params,
                                   .subject = c->of_captures ? &c->captures.subject : NULL,
                                   .config = c->config,
                                   .parallel = parallel > 0 ? parallel : 1,
                                   .progress = o->progress};
    c->result.die = &c->die;
    c->result.predictor = &c->predictor;
    int shown = print_problems(c, 0, warn);
    npu_status status = npu_predictor_start(&c->predictor, &c->problems, err);
    print_problems(c, shown, warn);
    if (!status)
        status = npu_study_make(&c->predictor, o->evaluations > 0 ? o->evaluations : EVALUATIONS,
                                !o->no_leave_out, &c->result.study, err);
    if (o->progress != NULL)
        fprintf(o->progress, "\r\033[K");
    return status;
}

static int count_failed(const calibration *c) {
    int failed = c->cases.rejected;
    for (int i = 0; i < c->cases.figure_count; i++)
        failed += !c->cases.figures[i].hidden && !c->cases.figures[i].known;
    return failed;
}

static npu_status carry_out(calibration *c, FILE *report, FILE *warn, npu_error *err) {
    npu_status status = prepare(c, err);
    if (status)
        print_problems(c, 0, warn);
    else
        status = fit(c, warn, err);
    if (!status)
        status = npu_calibration_print(report, &c->result, err);
    if (!status)
        status = write_outputs(c, err);
    if (status)
        return status;
    npu_predictor_show(&c->predictor, 0, NULL);
    int failed = count_failed(c);
    if (failed > 0)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0},
                        "%d case%s or figure%s could not be simulated", failed,
                        failed == 1 ? "" : "s", failed == 1 ? "" : "s");
    return NPU_OK;
}

npu_status npusim_calibrate(const npusim_calibrate_options *options, FILE *report, FILE *warn,
                            npu_error *err) {
    assert(options != NULL && report != NULL);
    calibration *c = calloc(1, sizeof *c);
    if (c == NULL)
        return npu_fail_memory(err);
    c->options = options;
    npu_status status = carry_out(c, report, warn, err);
    npu_out_discard(c->die_out);
    npu_out_discard(c->report_out);
    npu_study_free(&c->result.study);
    npu_predictor_free(&c->predictor);
    npu_models_free(&c->models);
    npu_cases_free(&c->cases);
    npu_captures_free(&c->captures);
    npu_ranks_free(&c->map);
    npu_warnings_free(&c->problems);
    npu_die_free(&c->die);
    free(c);
    return status;
}
