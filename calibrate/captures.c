// SPDX-License-Identifier: Apache-2.0
#include "captures.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum quantity { // of the rows or submits of a group of kinds, median, ns
    HEAD,               // sent -> starts, on a core that is free
    SWITCH,             // the row before on its core ends -> starts, when it was sent by then
    SUBMIT,             // of the orchestrator
    ROW,                // the kernel, when a tile program stands for it: of one kind, mean
} quantity;

static const char *const quantity_names[] = {"head", "switch", "submit", "time of a row"};

enum { ALL_OF_GROUP = -1 };

typedef struct npu_kind_figure {
    int capture, group;
    int func; // ALL_OF_GROUP: one kind has too few rows to say what a step costs
    quantity what;
} npu_kind_figure;

// ---- what a replay says of a kind ----------------------------------------------------------

// NAN: the row has none of it.
static double of_row(const npu_timed *run, const npu_timed_row *row, quantity what) {
    if (what == ROW)
        return row->end - row->start;
    if (row->before < 0 || row->dispatch < run->data[row->task]) // a cold core; staged early
        return NAN;
    double free = run->rows[row->before].end;
    if ((what == SWITCH) != (free > row->dispatch))
        return NAN;
    return row->start - (what == SWITCH ? free : row->dispatch);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// NAN when there is nothing.
static double median(double *values, int count) {
    if (count == 0)
        return NAN;
    qsort(values, (size_t)count, sizeof *values, compare);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double mean(const double *values, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += values[i];
    return count > 0 ? sum / count : NAN;
}

static bool is_of(const npu_captures *captures, const npu_kind_figure *f, const npu_replay *r,
                  int task) {
    int func = r->graph.tasks[task].func;
    if (func < 0 || f->func != ALL_OF_GROUP)
        return func >= 0 && func == f->func;
    return captures->list[f->capture].groups[func] == f->group;
}

// `room` is as long as rows and submits.
static double read_run(const npu_captures *captures, const npu_kind_figure *f, const npu_replay *r,
                       bool modelled, double *room) {
    quantity what = f->what;
    const npu_timed *run = &r->runs[modelled];
    const npu_trace *trace = modelled ? &r->result.trace : r->captured;
    int count = 0;
    for (int i = 0; i < trace->submit_count && what == SUBMIT; i++) {
        const npu_submit *submit = &trace->submits[i];
        if (submit->task >= 0 && is_of(captures, f, r, submit->task))
            room[count++] = submit->end - submit->start;
    }
    for (int i = 0; i < run->count && what != SUBMIT; i++) {
        const npu_timed_row *row = &run->rows[i];
        double value = is_of(captures, f, r, row->task) ? of_row(run, row, what) : NAN;
        if (!isnan(value))
            room[count++] = value;
    }
    return what == ROW ? mean(room, count) : median(room, count);
}

static double *make_room(const npu_replay *r) {
    int most = r->runs[0].count > r->runs[1].count ? r->runs[0].count : r->runs[1].count;
    most += r->captured->submit_count + r->result.trace.submit_count;
    return malloc(((size_t)most + 1) * sizeof(double));
}

static npu_status replay(const npu_captures *captures, int capture, const npu_die *die,
                         npu_replay *r, npu_error *err) {
    const npu_captured *c = &captures->list[capture];
    npu_replay_options how = {
        .map = captures->map, .measured_order = true, .recorded = c->recorded};
    npu_die used = *die;
    if (c->run.capture.level < 4)
        used.recorder.submit = 0;
    return npu_replay_run(&c->scene, &used, &how, r, err);
}

// ---- for the crew --------------------------------------------------------------------------

static int capture_of(int job) {
    return job / NPU_KIND_GROUPS;
}

static bool same(const void *owner, int a, int b) {
    (void)owner;
    return capture_of(a) == capture_of(b);
}

static npu_status simulate(const void *owner, const int *jobs, int count, const npu_die *die,
                           double *makespan, npu_value *values, npu_error *err) {
    const npu_captures *captures = owner;
    npu_replay r = {.tasks = 0};
    npu_status status = replay(captures, capture_of(jobs[0]), die, &r, err);
    double *room = status ? NULL : make_room(&r);
    if (!status && room == NULL)
        status = npu_fail_memory(err);
    for (int k = 0; k < count && room != NULL; k++)
        for (int i = 0; i < captures->figure_count; i++) {
            const npu_kind_figure *f = &captures->figures[i];
            if (f->capture != capture_of(jobs[k]) || f->group != jobs[k] % NPU_KIND_GROUPS)
                continue;
            npu_value *value = values++;
            *value = (npu_value){.value = read_run(captures, f, &r, true, room)};
            if (isnan(value->value))
                npu_fail(&value->error, NPU_BAD_INPUT, (npu_pos){0}, "the model has no %s of a row",
                         quantity_names[f->what]);
        }
    *makespan = r.modelled;
    free(room);
    npu_replay_free(&r);
    return status;
}

// ---- cases ---------------------------------------------------------------------------------

// How many kinds of all captures come before a name.
static int rank_of(const npu_captures *captures, const char *name) {
    int rank = 0;
    for (int c = 0; c < captures->count; c++) {
        const npu_graph *graph = &captures->list[c].scene.graph;
        for (int f = 0; f < graph->func_count; f++) {
            bool met = strcmp(graph->funcs[f].name, name) >= 0;
            for (int d = 0; d <= c && !met; d++) { // counted already?
                const npu_graph *other = &captures->list[d].scene.graph;
                for (int g = 0; g < (d < c ? other->func_count : f) && !met; g++)
                    met = strcmp(other->funcs[g].name, graph->funcs[f].name) == 0;
            }
            rank += !met;
        }
    }
    return rank;
}

static bool is_first(const npu_graph *graph, int task) { // of its kind
    for (int t = 0; t < task; t++)
        if (graph->tasks[t].func == graph->tasks[task].func)
            return false;
    return true;
}

static npu_status add_figure(npu_captures *captures, npu_cases *cases, npu_kind_figure f,
                             const npu_replay *r, double *room, npu_error *err) {
    double measured = read_run(captures, &f, r, false, room);
    double modelled = read_run(captures, &f, r, true, room);
    int job = f.capture * NPU_KIND_GROUPS + f.group;
    if (!(measured > 0) || !(modelled > 0))
        return NPU_OK;
    npu_status status = NPU_GROW(captures, figures, figure_count, figure_capacity, err);
    if (!status)
        status = NPU_GROW(cases, figures, figure_count, figure_capacity, err);
    if (status)
        return status;
    captures->figures[captures->figure_count++] = f;
    cases->figures[cases->figure_count++] = (npu_figure){.read = {.text = quantity_names[f.what]},
                                                         .case_ = job,
                                                         .variant = job,
                                                         .dimension = NPU_DIM_TIME,
                                                         .unit = "ns",
                                                         .scale = 1,
                                                         .measured = measured,
                                                         .band = -1,
                                                         .per = 1,
                                                         .base = -1};
    cases->cases[job].figure_count++;
    return NPU_OK;
}

// What the dispatch costs, of all kinds of the group; the time of a row, of each kind that a tile
// program stands for.
static npu_status add_figures(npu_captures *captures, npu_cases *cases, int job,
                              const npu_replay *r, double *room, npu_error *err) {
    int capture = capture_of(job), group = job % NPU_KIND_GROUPS;
    npu_status status = NPU_OK;
    for (int what = 0; what < ROW && !status; what++) {
        npu_kind_figure f = {capture, group, ALL_OF_GROUP, (quantity)what};
        status = add_figure(captures, cases, f, r, room, err);
    }
    for (int t = 0; t < r->graph.task_count && captures->map != NULL && !status; t++) {
        int func = r->graph.tasks[t].func;
        if (func < 0 || r->graph.tasks[t].program == NULL ||
            captures->list[capture].groups[func] != group || !is_first(&r->graph, t))
            continue;
        npu_kind_figure f = {capture, group, func, ROW};
        status = add_figure(captures, cases, f, r, room, err);
    }
    return status;
}

static npu_status add_case(npu_captures *captures, npu_cases *cases, int job, const char *die_name,
                           npu_error *err) {
    const char *path = captures->list[capture_of(job)].run.capture.path;
    npu_status status = NPU_GROW(cases, cases, case_count, case_capacity, err);
    if (!status)
        status = NPU_GROW(cases, variants, variant_count, variant_capacity, err);
    if (!status)
        status = NPU_GROW(cases, jobs, job_count, job_capacity, err);
    if (status)
        return status;
    assert(cases->case_count == job);
    npu_pos pos = {.file = path};
    cases->cases[cases->case_count++] = (npu_case){.name = path,
                                                   .pos = pos,
                                                   .group = job % NPU_KIND_GROUPS,
                                                   .first_variant = job,
                                                   .variant_count = 1,
                                                   .first_figure = cases->figure_count};
    cases->variants[cases->variant_count++] = (npu_variant){
        .pos = pos, .die = die_name, .die_pos = pos, .graph = path, .graph_pos = pos, .job = job};
    cases->jobs[cases->job_count++] = (npu_case_job){job, job};
    return NPU_OK;
}

static npu_status add_groups(npu_cases *cases, npu_error *err) {
    static const char *const names[NPU_KIND_GROUPS] = {
        "task kinds 1, 6, ...", "task kinds 2, 7, ...", "task kinds 3, 8, ...",
        "task kinds 4, 9, ...", "task kinds 5, 10, ..."};
    npu_status status = NPU_OK;
    for (int g = 0; g < NPU_KIND_GROUPS && !status; g++) {
        status = NPU_GROW(cases, groups, group_count, group_capacity, err);
        if (!status)
            cases->groups[cases->group_count++] = names[g];
    }
    return status;
}

static npu_status add_capture(npu_captures *captures, npu_cases *cases, int capture,
                              const npu_die *die, const char *die_name, npu_error *err) {
    npu_replay r = {.tasks = 0};
    npu_status status = replay(captures, capture, die, &r, err);
    double *room = status ? NULL : make_room(&r);
    if (!status && room == NULL)
        status = npu_fail_memory(err);
    for (int g = 0; g < NPU_KIND_GROUPS && !status && room != NULL; g++) {
        int job = capture * NPU_KIND_GROUPS + g;
        status = add_case(captures, cases, job, die_name, err);
        if (!status)
            status = add_figures(captures, cases, job, &r, room, err);
    }
    free(room);
    npu_replay_free(&r);
    return status;
}

static npu_status give_groups(npu_captures *captures, int capture, npu_error *err) {
    npu_captured *c = &captures->list[capture];
    const npu_graph *graph = &c->scene.graph;
    c->groups = calloc((size_t)graph->func_count + 1, sizeof *c->groups);
    if (c->groups == NULL)
        return npu_fail_memory(err);
    for (int f = 0; f < graph->func_count; f++)
        c->groups[f] = rank_of(captures, graph->funcs[f].name) % NPU_KIND_GROUPS;
    return NPU_OK;
}

// ---- reading -------------------------------------------------------------------------------

static npu_status read_one(npu_captures *captures, const npu_capture_files *files, npu_error *err) {
    npu_status status = NPU_GROW(captures, list, count, capacity, err);
    if (status)
        return status;
    npu_captured *c = &captures->list[captures->count++];
    *c = (npu_captured){.recorded = npu_replay_recorded(files->folder)};
    status = npu_run_files_read(files, &c->run, err);
    if (!status && !c->run.has_deps)
        status = npu_fail(err, NPU_IO, (npu_pos){.file = files->folder},
                          "there is no deps.json, without which nothing can be replayed");
    if (!status)
        status = npu_scene_make(&c->run.capture, &c->run.deps,
                                c->run.has_names ? &c->run.names : NULL, &c->scene, err);
    return status;
}

static npu_status read_folder(npu_captures *captures, const char *folder, npu_error *err) {
    npu_capture_list list;
    npu_status status = npu_folder_find(folder, &list, err);
    for (int i = 0; i < list.count && !status; i++)
        status = read_one(captures, &list.items[i], err);
    npu_folder_free(&list);
    return status;
}

npu_status npu_captures_read(npu_captures *captures, const char *const *folders, int count,
                             const npu_graph *map, const npu_die *die, const char *die_name,
                             npu_cases *cases, npu_error *err) {
    *captures = (npu_captures){.map = map};
    captures->subject = (npu_subject){simulate, same, captures};
    npu_status status = NPU_OK;
    for (int i = 0; i < count && !status; i++)
        status = read_folder(captures, folders[i], err);
    if (!status)
        status = add_groups(cases, err);
    for (int i = 0; i < captures->count && !status; i++)
        status = give_groups(captures, i, err);
    for (int i = 0; i < captures->count && !status; i++)
        status = add_capture(captures, cases, i, die, die_name, err);
    return status;
}

void npu_captures_free(npu_captures *captures) {
    for (int i = 0; i < captures->count; i++) {
        free(captures->list[i].groups);
        npu_scene_free(&captures->list[i].scene);
        npu_run_files_free(&captures->list[i].run);
    }
    free(captures->list);
    free(captures->figures);
    *captures = (npu_captures){.count = 0};
}
