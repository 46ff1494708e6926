// SPDX-License-Identifier: Apache-2.0
#include "job.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulate.h"

// ---- the places of errors ------------------------------------------------------------------

// The text before *end ends in ":digits"; *end moves to the colon.
static bool ends_in_number(const char *text, const char **end) {
    const char *at = *end;
    while (at > text && at[-1] >= '0' && at[-1] <= '9')
        at--;
    if (at == *end || at == text || at[-1] != ':')
        return false;
    *end = at - 1;
    return true;
}

void npu_place_error(npu_error *error, npu_pos pos) {
    const char *end = strstr(error->text, ": ");
    if (end != NULL && ends_in_number(error->text, &end) && ends_in_number(error->text, &end))
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

npu_status npu_job_load(const npu_cases *cases, int job, const char *kernel_folder,
                        npu_graph *graph, npu_error *err) {
    assert(job >= 0 && job < cases->job_count);
    const npu_variant *v = &cases->variants[cases->jobs[job].variant];
    npu_graph_options options = {kernel_folder, v->sets, v->set_count};
    FILE *file = NULL;
    char path[64] = "(no path)";
    npu_error error = {{0}};
    npu_status status = NPU_OK;
    *graph = (npu_graph){0};
    if (v->graph_text != NULL)
        status = write_graph(v, &file, path, sizeof path, &error);
    if (!status)
        status =
            npu_graph_load(v->graph_text != NULL ? path : v->graph, &options, graph, NULL, &error);
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

static npu_status read_value(const npu_figure *figure, const npu_trace *trace,
                             const npu_graph *graph, npu_value *value) {
    assert(figure->per > 0 && figure->scale > 0);
    npu_status status =
        npu_reading_value(&figure->read, trace, graph, &value->value, &value->error);
    if (figure->dimension == NPU_DIM_CYCLES)
        value->value *= trace->core_hz / 1e9;
    value->value /= figure->per * figure->scale;
    return status;
}

npu_status npu_job_simulate(const npu_cases *cases, int job, const npu_graph *graph,
                            const npu_die *die, npu_engine_kind engine, npu_value *values,
                            npu_error *err) {
    assert(job >= 0 && job < cases->job_count && values != NULL);
    const npu_variant *v = &cases->variants[cases->jobs[job].variant];
    npu_sim_options options = {.engine = engine, .l2_warm = v->l2_warm};
    npu_sim_result result = {0};
    npu_error error = {{0}};
    npu_walls walls;
    npu_die_walls(die, &walls);
    npu_status status = npu_graph_check(graph, &walls, NULL, &error);
    if (!status)
        status = npu_simulate(graph, die, &options, &result, &error);
    if (status) {
        name_places(v, graph->path, &error);
        return npu_fail(err, status, (npu_pos){0}, "%s", error.text);
    }
    for (int n = 0, i; (i = npu_job_figure(cases, job, n)) >= 0 && !status; n++) {
        values[n] = (npu_value){0};
        status = read_value(&cases->figures[i], &result.trace, graph, &values[n]);
        if (status == NPU_BAD_INPUT) // of this figure alone
            status = NPU_OK;
        else if (status)
            npu_fail(err, status, (npu_pos){0}, "%s", values[n].error.text);
    }
    npu_sim_result_free(&result);
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
