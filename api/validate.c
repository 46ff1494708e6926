// SPDX-License-Identifier: Apache-2.0
// Every measured case, simulated in processes of its own, beside what the device gave.
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "baseline.h"
#include "context.h"
#include "job.h"
#include "out.h"
#include "output.h"
#include "pool.h"

enum { OUTPUTS = 4 };

typedef struct validation {
    const npusim_validate_options *options;
    char config[NPU_CONFIG_PATH];
    npu_engine_kind engine;
    npu_cases cases;
    npu_warnings problems;
    npu_verdicts verdicts;
    npu_baseline baseline;
    npu_out *outs[OUTPUTS];
    char **answers; // by job: what its process sent
    int done;       // jobs
} validation;

typedef struct answer { // the values of a job's figures follow
    npu_status status;
    npu_error error;
} answer;

// ---- case files ----------------------------------------------------------------------------

static int is_yaml(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return entry->d_name[0] != '.' && length > 5 &&
           strcmp(entry->d_name + length - 5, ".yaml") == 0;
}

static npu_status read_shipped(validation *v, npu_error *err) {
    char path[NPU_CONFIG_PATH + 300];
    struct dirent **entries = NULL;
    snprintf(path, sizeof path, "%s/validation", v->config);
    int count = scandir(path, &entries, is_yaml, alphasort);
    if (count <= 0) {
        free(entries);
        return npu_fail(err, NPU_IO, (npu_pos){0}, "there are no case files in %s", path);
    }
    npu_status status = NPU_OK;
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/validation/%s", v->config, entries[i]->d_name);
        if (!status)
            status = npu_cases_read(&v->cases, path, &v->problems, err);
        free(entries[i]);
    }
    free(entries);
    return status;
}

static npu_status read_cases(validation *v, npu_error *err) {
    npu_status status = NPU_OK;
    if (v->options->file_count == 0)
        return read_shipped(v, err);
    for (int i = 0; i < v->options->file_count && !status; i++)
        status = npu_cases_read(&v->cases, v->options->files[i], &v->problems, err);
    return status;
}

// ---- simulating ----------------------------------------------------------------------------

static npu_status simulate(const validation *v, int job, npu_value *values, npu_error *err) {
    const npu_variant *variant = &v->cases.variants[v->cases.jobs[job].variant];
    char folder[NPU_CONFIG_PATH + 16];
    npu_die die = {0};
    npu_ranks ranks = {0};
    snprintf(folder, sizeof folder, "%s/die", v->config);
    npu_status status =
        npu_die_load(folder, v->options->die ? v->options->die : variant->die, &die, err);
    if (status)
        npu_place_error(err, variant->die_pos);
    if (!status)
        status = npu_job_load(&v->cases, job, v->config, &ranks, err);
    if (!status)
        status = npu_job_simulate(&v->cases, job, &ranks, &die, v->engine, values, err);
    npu_ranks_free(&ranks);
    npu_die_free(&die);
    return status;
}

static npu_status run_job(void *owner, int job, const void *order, void *result, npu_error *err) {
    (void)order;
    return simulate(owner, job, result, err);
}

static void show_progress(const validation *v, const char *name) {
    FILE *out = v->options->progress;
    if (out == NULL)
        return;
    fprintf(out, "\r\033[K"); // from the start of an empty line
    if (name != NULL)
        fprintf(out, "%d of %d: %.60s", v->done, v->cases.job_count, name);
    fflush(out);
}

static int most_figures(const npu_cases *cases) {
    int most = 1;
    for (int job = 0; job < cases->job_count; job++)
        while (npu_job_figure(cases, job, most) >= 0)
            most++;
    return most;
}

static size_t values_size(const npu_cases *cases) {
    return (size_t)most_figures(cases) * sizeof(npu_value);
}

static void take_answer(void *owner, int job, npu_status status, const npu_error *error,
                        const void *result) {
    validation *v = owner;
    const npu_case *c = &v->cases.cases[v->cases.jobs[job].case_];
    answer a = {status, *error};
    assert(v->answers[job] != NULL && v->done < v->cases.job_count);
    v->done++;
    show_progress(v, c->name);
    memcpy(v->answers[job], &a, sizeof a);
    memcpy(v->answers[job] + sizeof a, result, values_size(&v->cases));
}

// In the order of the files, whatever ended first.
static npu_status take_values(validation *v, npu_error *err) {
    assert(v->answers != NULL && v->done == v->cases.job_count);
    npu_value *values = calloc(1, values_size(&v->cases));
    if (values == NULL)
        return npu_fail_memory(err);
    for (int job = 0; job < v->cases.job_count; job++) {
        answer a;
        memcpy(&a, v->answers[job], sizeof a);
        memcpy(values, v->answers[job] + sizeof a, values_size(&v->cases));
        if (a.status) {
            npu_place_error(&a.error, v->cases.variants[v->cases.jobs[job].variant].pos);
            npu_warn(&v->problems, (npu_pos){0}, "%s", a.error.text);
        } else {
            npu_job_take(&v->cases, job, values, &v->problems);
        }
    }
    free(values);
    npu_cases_relate(&v->cases, &v->problems);
    return NPU_OK;
}

static npu_status run_jobs(validation *v, npu_error *err) {
    int parallel = v->options->jobs;
    if (parallel == 0)
        parallel = (int)sysconf(_SC_NPROCESSORS_ONLN);
    npu_pool pool = {.jobs = v->cases.job_count,
                     .parallel = parallel > 0 ? parallel : 1,
                     .result_size = values_size(&v->cases),
                     .owner = v,
                     .work = run_job,
                     .done = take_answer};
    v->answers = calloc((size_t)pool.jobs + 1, sizeof *v->answers);
    if (v->answers == NULL)
        return npu_fail_memory(err);
    npu_status status = NPU_OK;
    for (int job = 0; job < pool.jobs && !status; job++) {
        v->answers[job] = calloc(1, sizeof(answer) + pool.result_size);
        if (v->answers[job] == NULL)
            status = npu_fail_memory(err);
    }
    if (!status)
        status = npu_pool_run(&pool, err);
    show_progress(v, NULL);
    if (!status)
        status = take_values(v, err);
    for (int job = 0; job < pool.jobs; job++)
        free(v->answers[job]);
    free(v->answers);
    v->answers = NULL;
    return status;
}

// ---- files ---------------------------------------------------------------------------------

static npu_status write_csv(const validation *v, FILE *out, npu_error *err) {
    return npu_validation_csv(out, &v->cases, err);
}

static npu_status write_json(const validation *v, FILE *out, npu_error *err) {
    return npu_validation_json(out, &v->cases, &v->verdicts, err);
}

static npu_status write_baseline(const validation *v, FILE *out, npu_error *err) {
    return npu_baseline_write(out, &v->cases, err);
}

typedef struct output {
    const char *path;
    npu_status (*write)(const validation *v, FILE *out, npu_error *err); // NULL: the plot
} output;

static void list_outputs(const validation *v, output outputs[OUTPUTS]) {
    const npusim_validate_options *o = v->options;
    outputs[0] = (output){o->csv, write_csv};
    outputs[1] = (output){o->json, write_json};
    outputs[2] = (output){o->write_baseline, write_baseline};
    outputs[3] = (output){o->plot, NULL};
}

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

// Before the simulations: a folder that cannot be written is known at once.
static npu_status begin_outputs(validation *v, npu_error *err) {
    output outputs[OUTPUTS];
    npu_status status = NPU_OK;
    list_outputs(v, outputs);
    for (int i = 0; i < OUTPUTS && !status; i++) {
        if (outputs[i].path == NULL)
            continue;
        const char *name = file_name(outputs[i].path);
        if (name[0] == '\0')
            return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "'%s' is a folder, not a file",
                            outputs[i].path);
        char *folder = strndup(outputs[i].path, (size_t)(name - outputs[i].path));
        status = folder != NULL ? npu_out_begin(folder, &v->outs[i], err) : npu_fail_memory(err);
        free(folder);
    }
    return status;
}

static npu_status write_outputs(validation *v, npu_error *err) {
    output outputs[OUTPUTS];
    npu_status status = NPU_OK;
    list_outputs(v, outputs);
    for (int i = 0; i < OUTPUTS && !status; i++) {
        if (outputs[i].path == NULL)
            continue;
        const char *name = file_name(outputs[i].path);
        if (outputs[i].write != NULL) {
            FILE *file = npu_out_file(v->outs[i], name, err);
            status = file != NULL ? outputs[i].write(v, file, err) : NPU_IO;
        } else {
            const char *png = npu_out_path(v->outs[i], name, err);
            status = png != NULL ? npu_scatter_png(&v->cases, png, err) : NPU_IO;
        }
        if (!status) {
            npu_out *out = v->outs[i];
            v->outs[i] = NULL;
            status = npu_out_commit(out, err);
        }
    }
    return status;
}

// ---- the call ------------------------------------------------------------------------------

static npu_status prepare(validation *v, npu_error *err) {
    const npusim_validate_options *o = v->options;
    npu_status status = npu_engine_choice(o->engine, &v->engine, err);
    if (!status && o->config == NULL)
        status = npusim_config_folder(v->config, sizeof v->config, err);
    else if (!status && snprintf(v->config, sizeof v->config, "%s", o->config) >= NPU_CONFIG_PATH)
        status = npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "the config folder's path is too long");
    if (!status && o->die != NULL) {
        char folder[NPU_CONFIG_PATH + 16];
        npu_die die;
        snprintf(folder, sizeof folder, "%s/die", v->config);
        status = npu_die_load(folder, o->die, &die, err);
        npu_die_free(&die);
    }
    if (!status && o->baseline != NULL)
        status = npu_baseline_read(o->baseline, &v->baseline, err);
    if (!status)
        status = begin_outputs(v, err);
    return status ? status : read_cases(v, err);
}

// Returns how many there are now.
static int print_problems(const validation *v, int from, FILE *warn) {
    for (int i = from; i < v->problems.count && warn != NULL; i++)
        fprintf(warn, "%s\n", v->problems.lines[i]);
    return v->problems.count;
}

static npu_status report_results(validation *v, FILE *report, npusim_validation *found,
                                 npu_error *err) {
    npu_regressions regressions = {0};
    npu_status status = npu_verdicts_make(&v->cases, &v->verdicts, err);
    if (status)
        return status;
    const npu_score *all = &v->verdicts.scores[v->cases.group_count];
    if (v->cases.group_count > 0)
        npu_validation_print(report, &v->cases, &v->verdicts, v->options->brief);
    if (v->options->baseline != NULL)
        status = npu_baseline_compare(&v->baseline, &v->cases, report, &regressions, err);
    assert(regressions.drifted + regressions.worse == 0 || v->options->baseline != NULL);
    *found = (npusim_validation){.figures = all->figures,
                                 .outside = all->outside,
                                 .regressed = regressions.drifted + regressions.worse,
                                 .failed = v->cases.rejected + all->missing};
    return status ? status : write_outputs(v, err);
}

static npu_status carry_out(validation *v, FILE *report, FILE *warn, npusim_validation *found,
                            npu_error *err) {
    npu_status status = prepare(v, err);
    int shown = print_problems(v, 0, warn);
    if (!status)
        status = run_jobs(v, err);
    print_problems(v, shown, warn);
    if (!status)
        status = report_results(v, report, found, err);
    if (!status && found->failed > 0)
        status = npu_fail(err, NPU_BAD_INPUT, (npu_pos){0},
                          "%d case%s or figure%s could not be simulated", found->failed,
                          found->failed == 1 ? "" : "s", found->failed == 1 ? "" : "s");
    return status;
}

npu_status npusim_validate(const npusim_validate_options *options, FILE *report, FILE *warn,
                           npusim_validation *found, npu_error *err) {
    validation *v = calloc(1, sizeof *v);
    npusim_validation unused = {0};
    if (v == NULL)
        return npu_fail_memory(err);
    v->options = options;
    found = found != NULL ? found : &unused;
    *found = (npusim_validation){0};
    npu_status status = carry_out(v, report, warn, found, err);
    for (int i = 0; i < OUTPUTS; i++)
        npu_out_discard(v->outs[i]);
    npu_verdicts_free(&v->verdicts);
    npu_baseline_free(&v->baseline);
    npu_cases_free(&v->cases);
    npu_warnings_free(&v->problems);
    free(v);
    return status;
}
