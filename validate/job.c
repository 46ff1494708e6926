// SPDX-License-Identifier: Apache-2.0
#include "job.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

// ---- the places of errors ------------------------------------------------------------------

void npu_place_error(npu_error *error, npu_pos pos) {
    if (npu_has_place(error->text))
        return;
    npu_error placed = {{0}};
    npu_fail(&placed, NPU_BAD_INPUT, pos, "%s", error->text);
    *error = placed;
}

// Puts `to` in the place of text[at, at + length).
static void replace(npu_error *error, size_t at, size_t length, const char *to) {
    npu_error replaced = {{0}};
    npu_fail(&replaced, NPU_BAD_INPUT, (npu_pos){0}, "%.*s%s%s", (int)at, error->text, to,
             error->text + at + length);
    *error = replaced;
}

// What a graph inside a case file is loaded from is no name for a reader; `--set` was not typed.
static void name_places(const npu_variant *v, const char *path, npu_error *error) {
    for (const char *at; v->graph_text != NULL && (at = strstr(error->text, path)) != NULL;)
        replace(error, (size_t)(at - error->text), strlen(path), v->graph);
    for (int i = 0; i < v->set_count; i++) {
        char set[sizeof error->text], place[512];
        snprintf(set, sizeof set, "--set %s: ", v->sets[i]);
        if (strncmp(error->text, set, strlen(set)) == 0)
            replace(error, 0, strlen(set), npu_pos_text(v->set_pos[i], place, sizeof place));
    }
    npu_place_error(error, v->graph_pos);
}

// ---- loading -------------------------------------------------------------------------------

// The loader wants a path. A temporary file that is gone when it is closed has one.
static npu_status write_graph(const npu_variant *v, FILE **file, char *path, int size,
                              npu_error *err) {
    *file = tmpfile();
    if (*file == NULL)
        return npu_fail(err, NPU_IO, (npu_pos){0}, "cannot make a temporary file: %s",
                        strerror(errno));
    if (fputs(v->graph_text, *file) == EOF || fflush(*file) != 0)
        return npu_fail(err, NPU_IO, (npu_pos){0}, "cannot write a temporary file: %s",
                        strerror(errno));
    snprintf(path, (size_t)size, "/proc/self/fd/%d", fileno(*file));
    return NPU_OK;
}

npu_status npu_job_load(const npu_cases *cases, int job, const char *config, npu_ranks *ranks,
                        npu_error *err) {
    assert(job >= 0 && job < cases->job_count);
    const npu_variant *v = &cases->variants[cases->jobs[job].variant];
    char kernels[PATH_BYTES], fabrics[PATH_BYTES];
    snprintf(kernels, sizeof kernels, "%s/kernels", config);
    snprintf(fabrics, sizeof fabrics, "%s/fabric", config);
    npu_ranks_options options = {{kernels, v->sets, v->set_count, 0}, fabrics, NULL};
    FILE *file = NULL;
    char path[64] = "(no path)";
    npu_error error = {{0}};
    npu_status status = NPU_OK;
    *ranks = (npu_ranks){0};
    if (v->graph_text != NULL)
        status = write_graph(v, &file, path, sizeof path, &error);
    if (!status)
        status =
            npu_ranks_load(v->graph_text != NULL ? path : v->graph, &options, ranks, NULL, &error);
    if (file != NULL)
        fclose(file);
    if (!status)
        return status;
    name_places(v, path, &error);
    return npu_fail(err, status, (npu_pos){0}, "%s", error.text);
}

// ---- simulating ----------------------------------------------------------------------------

int npu_job_figure(const npu_cases *cases, int job, int n) {
    const npu_case *c = &cases->cases[cases->jobs[job].case_];
    for (int i = c->first_figure; i < c->first_figure + c->figure_count; i++)
        if (cases->variants[cases->figures[i].variant].job == job && n-- == 0)
            return i;
    return -1;
}

static npu_status read_value(const npu_figure *figure, const npu_ranks *ranks,
                             const npu_sim_result *results, npu_value *value) {
    const npu_trace *trace = &results[0].trace;
    assert(figure->per > 0 && figure->scale > 0);
    npu_status status =
        npu_reading_value(&figure->read, trace, &ranks->graphs[0], &value->value, &value->error);
    for (int r = 1; r < ranks->full && figure->read.quantity == NPU_READ_MAKESPAN; r++)
        value->value = fmax(value->value, results[r].trace.makespan);
    if (figure->dimension == NPU_DIM_CYCLES)
        value->value *= trace->core_hz / 1e9;
    value->value /= figure->per * figure->scale;
    return status;
}

npu_status npu_job_run(const npu_cases *cases, int job, const npu_ranks *ranks, const npu_die *die,
                       npu_engine_kind engine, npu_sim_result *results, npu_error *err) {
    assert(job >= 0 && job < cases->job_count);
    const npu_variant *v = &cases->variants[cases->jobs[job].variant];
    npu_sim_options options = {.engine = engine, .l2_warm = v->l2_warm};
    npu_error error = {{0}};
    npu_walls walls;
    npu_die_walls(die, &walls);
    npu_status status = npu_ranks_check(ranks, &walls, NULL, &error);
    if (!status)
        status = npu_simulate_ranks(ranks, die, &options, results, &error);
    if (!status)
        return NPU_OK;
    name_places(v, ranks->graphs[0].path, &error);
    return npu_fail(err, status, (npu_pos){0}, "%s", error.text);
}

npu_status npu_job_read(const npu_cases *cases, int job, const npu_ranks *ranks,
                        const npu_sim_result *results, npu_value *values, npu_error *err) {
    npu_status status = NPU_OK;
    assert(values != NULL);
    for (int n = 0, i; (i = npu_job_figure(cases, job, n)) >= 0 && !status; n++) {
        values[n] = (npu_value){0};
        status = read_value(&cases->figures[i], ranks, results, &values[n]);
        if (status == NPU_BAD_INPUT) // of this figure alone
            status = NPU_OK;
        else if (status)
            npu_fail(err, status, (npu_pos){0}, "%s", values[n].error.text);
    }
    return status;
}

npu_status npu_job_simulate(const npu_cases *cases, int job, const npu_ranks *ranks,
                            const npu_die *die, npu_engine_kind engine, npu_value *values,
                            npu_error *err) {
    npu_sim_result *results = calloc((size_t)ranks->full, sizeof *results);
    if (results == NULL)
        return npu_fail_memory(err);
    npu_status status = npu_job_run(cases, job, ranks, die, engine, results, err);
    if (!status)
        status = npu_job_read(cases, job, ranks, results, values, err);
    for (int r = 0; r < ranks->full; r++)
        npu_sim_result_free(&results[r]);
    free(results);
    return status;
}

void npu_job_take(npu_cases *cases, int job, const npu_value *values, npu_warnings *problems) {
    for (int n = 0, i; (i = npu_job_figure(cases, job, n)) >= 0; n++) {
        npu_figure *figure = &cases->figures[i];
        figure->known = values[n].error.text[0] == '\0';
        figure->predicted = values[n].value;
        assert(!figure->known || (isfinite(figure->predicted) && figure->predicted >= 0));
        if (!figure->known) // a relative figure and its base may say the same: once
            npu_warn(problems, (npu_pos){0}, "%s", values[n].error.text);
    }
}

void npu_cases_relate(npu_cases *cases, npu_warnings *problems) {
    for (int i = 0; i < cases->figure_count; i++) {
        npu_figure *figure = &cases->figures[i];
        if (figure->base < 0)
            continue;
        const npu_figure *base = &cases->figures[figure->base];
        assert(base->base < 0 && "the base of a ratio is no ratio");
        if (figure->known && base->known && !(base->predicted > 0))
            npu_warn(problems, figure->read.base_pos,
                     "'%s' is 0 in variant '%s', so nothing is relative to it", base->read.text,
                     figure->read.base);
        figure->known = figure->known && base->known && base->predicted > 0;
        if (figure->known)
            figure->predicted /= base->predicted * base->scale;
    }
}
