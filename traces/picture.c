// SPDX-License-Identifier: Apache-2.0
#include "picture.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

npu_status npu_picture_lane(npu_picture *picture, npu_lane_kind kind, int number, npu_error *err) {
    npu_status status = NPU_GROW(picture, lanes, lane_count, lane_capacity, err);
    if (status == NPU_OK)
        picture->lanes[picture->lane_count++] = (npu_lane){kind, number};
    return status;
}

npu_status npu_picture_bar(npu_picture *picture, npu_bar bar, npu_error *err) {
    assert(bar.lane >= 0 && bar.lane < picture->lane_count);
    assert(bar.name >= 0 && bar.start <= bar.end);
    npu_status status = NPU_GROW(picture, bars, bar_count, bar_capacity, err);
    if (status == NPU_OK)
        picture->bars[picture->bar_count++] = bar;
    return status;
}

npu_status npu_picture_name(npu_picture *picture, const char *text, int *name, npu_error *err) {
    for (int i = 0; i < picture->name_count; i++) {
        if (strcmp(picture->names[i], text) == 0) {
            *name = i;
            return NPU_OK;
        }
    }
    npu_status status = NPU_GROW(picture, names, name_count, name_capacity, err);
    if (status != NPU_OK)
        return status;
    char *copy = npu_arena_text(&picture->arena, text, strlen(text));
    if (copy == NULL)
        return npu_fail_memory(err);
    *name = picture->name_count++;
    picture->names[*name] = copy;
    return NPU_OK;
}

void npu_picture_free(npu_picture *picture) {
    free(picture->lanes);
    free(picture->bars);
    free(picture->names);
    npu_arena_free(&picture->arena);
    *picture = (npu_picture){0};
}

// The lanes of a run, and the time that they begin at.
typedef struct run_lanes {
    int orchestrator, schedulers, cores; // the first of their kind
    double first;                        // ns
} run_lanes;

// Lanes of the AICPU threads that did something, then one per core.
static npu_status add_lanes(npu_picture *picture, const npu_trace *trace, run_lanes *lanes,
                            npu_error *err) {
    npu_status status = NPU_OK;
    lanes->orchestrator = picture->lane_count;
    if (trace->submit_count > 0)
        status = npu_picture_lane(picture, NPU_LANE_ORCHESTRATOR, 0, err);
    lanes->schedulers = picture->lane_count;
    for (int i = 0; i < trace->scheduler_count && trace->phase_count > 0 && status == NPU_OK; i++)
        status = npu_picture_lane(picture, NPU_LANE_SCHEDULER, i, err);
    lanes->cores = picture->lane_count;
    for (int i = 0; i < trace->core_count && status == NPU_OK; i++)
        status = npu_picture_lane(
            picture, trace->cores[i].type == NPU_AIC ? NPU_LANE_AIC : NPU_LANE_AIV, i, err);
    return status;
}

static npu_shade shade_of(npu_phase_kind kind) {
    if (kind == NPU_PHASE_COMPLETE)
        return NPU_SHADE_COMPLETE;
    return kind == NPU_PHASE_DISPATCH || kind == NPU_PHASE_EARLY_DISPATCH ? NPU_SHADE_DISPATCH
                                                                          : NPU_SHADE_OTHER;
}

static npu_status add_bar(npu_picture *picture, const run_lanes *lanes, int lane, int name,
                          double start, double end, npu_error *err) {
    start = start > lanes->first ? start - lanes->first : 0;
    end = end > lanes->first ? end - lanes->first : 0;
    npu_bar bar = {lane, name, start / 1e3, end / 1e3};
    return npu_picture_bar(picture, bar, err);
}

static npu_status add_aicpu(npu_picture *picture, const npu_trace *trace, const run_lanes *lanes,
                            npu_error *err) {
    npu_status status = NPU_OK;
    for (int i = 0; i < trace->submit_count && status == NPU_OK; i++) {
        const npu_submit *submit = &trace->submits[i];
        status = add_bar(picture, lanes, lanes->orchestrator, NPU_SHADE_SUBMIT, submit->start,
                         submit->end, err);
    }
    for (int i = 0; i < trace->phase_count && status == NPU_OK; i++) {
        const npu_phase *phase = &trace->phases[i];
        if (phase->kind >= NPU_PHASE_RESOLVE) // inside another, or without width
            continue;
        status = add_bar(picture, lanes, lanes->schedulers + phase->thread, shade_of(phase->kind),
                         phase->start, phase->end, err);
    }
    return status;
}

static npu_status add_rows(npu_picture *picture, const npu_trace *trace, const npu_graph *graph,
                           const run_lanes *lanes, npu_error *err) {
    int *names = calloc((size_t)graph->func_count + 1, sizeof *names); // of a function; 0: none yet
    if (names == NULL)
        return npu_fail_memory(err);
    npu_status status = NPU_OK;
    for (int i = 0; i < trace->row_count && status == NPU_OK; i++) {
        const npu_row *row = &trace->rows[i];
        int func = graph->tasks[row->task].func;
        assert(func >= 0 && func < graph->func_count && "a dummy has no rows");
        int name = names[func] - 1;
        if (name < 0)
            status = npu_picture_name(picture, graph->funcs[func].name, &name, err);
        names[func] = name + 1;
        if (status == NPU_OK)
            status =
                add_bar(picture, lanes, lanes->cores + row->core, name, row->start, row->end, err);
    }
    free(names);
    return status;
}

static npu_status add_run(npu_picture *picture, const npu_trace *trace, const npu_graph *graph,
                          double first, npu_error *err) {
    run_lanes lanes = {.first = first};
    npu_status status = add_lanes(picture, trace, &lanes, err);
    if (status == NPU_OK)
        status = add_aicpu(picture, trace, &lanes, err);
    if (status == NPU_OK)
        status = add_rows(picture, trace, graph, &lanes, err);
    return status;
}

npu_status npu_picture_make(const npu_trace *trace, const npu_graph *graph, const char *die,
                            npu_picture *picture, npu_error *err) {
    *picture = (npu_picture){.span = trace->makespan / 1e3};
    char makespan[32];
    npu_show_time(trace->makespan, makespan, (int)sizeof makespan);
    picture->title = npu_arena_printf(&picture->arena, "%s on %s: %s", graph->name, die, makespan);
    if (picture->title == NULL)
        return npu_fail_memory(err);
    return add_run(picture, trace, graph, 0, err);
}

npu_status npu_picture_pair(const npu_trace *const traces[2], const double first[2],
                            const npu_graph *graph, const char *title, npu_picture *picture,
                            npu_error *err) {
    *picture = (npu_picture){.span = 0};
    picture->title = npu_arena_text(&picture->arena, title, strlen(title));
    if (picture->title == NULL)
        return npu_fail_memory(err);
    npu_status status = NPU_OK;
    for (int i = 0; i < 2 && status == NPU_OK; i++) {
        double span = (traces[i]->makespan - first[i]) / 1e3;
        picture->span = span > picture->span ? span : picture->span;
        picture->split = i == 1 ? picture->lane_count : 0;
        status = add_run(picture, traces[i], graph, first[i], err);
    }
    return status;
}
