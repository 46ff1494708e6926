// SPDX-License-Identifier: Apache-2.0
#include "trace.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *const npu_phase_names[] = {"complete", "dispatch",       "async_poll", "release",
                                       "dummy",    "early_dispatch", "drain",      "other",
                                       "resolve",  "dummy_task",     "inner",      NULL};

_Static_assert(sizeof npu_phase_names / sizeof *npu_phase_names == NPU_PHASE_COUNT + 1, "phases");

void npu_trace_free(npu_trace *trace) {
    free(trace->rows);
    free(trace->phases);
    free(trace->submits);
    free((void *)trace->cores);
    *trace = (npu_trace){0};
}

void npu_trace_check_invariants(const npu_trace *trace, const npu_graph *graph) {
    npu_error err = {0};
    npu_status status = npu_trace_verify(trace, graph, &err);
    if (status == NPU_BAD_INPUT)
        fprintf(stderr, "%s\n", err.text);
    assert(status != NPU_BAD_INPUT && "a trace that we made breaks a rule of the runtime");
}

int npu_task_cores(const npu_task *task) {
    if (task->engine == NPU_DUMMY || task->skipped)
        return 0;
    return task->engine == NPU_MIX ? 3 : 1;
}

int npu_task_func_id(const npu_graph *graph, const npu_task *task, npu_engine_type core) {
    assert(core == NPU_AIC || core == NPU_AIV);
    if (task->func < 0)
        return -1;
    const npu_func *func = &graph->funcs[task->func];
    return core == NPU_AIC ? func->aic_id : func->aiv_id;
}

uint64_t npu_task_id(int task) {
    assert(task >= 0);
    return (UINT64_C(1) << 32) | (uint32_t)task;
}

uint64_t npu_alloc_id(int n) {
    assert(n >= 0);
    return (uint64_t)n;
}

uint64_t npu_trace_task_id(const npu_trace *trace, int task) {
    return trace->task_ids != NULL ? trace->task_ids[task] : npu_task_id(task);
}

const char *npu_task_label(uint64_t id, bool host_graph, char *buf, int size) {
    unsigned long space = (unsigned long)(id >> 62);
    unsigned long parent = (unsigned long)(id >> 32 & 0xfffff);
    unsigned long local = (unsigned long)(id & 0xffffffff);
    if (host_graph && space == 1)
        snprintf(buf, (size_t)size, "g%lut%lu", parent, local);
    else if (host_graph && space != 3)
        snprintf(buf, (size_t)size, "%c%lu", space == 0 ? 't' : 'p', local);
    else if (id >> 32 == 0)
        snprintf(buf, (size_t)size, "t%lu", local);
    else if (id >> 40 != 0) // no id that the runtime would make
        snprintf(buf, (size_t)size, "%llu", (unsigned long long)id);
    else
        snprintf(buf, (size_t)size, "r%lut%lu", parent & 0xff, local);
    return buf;
}

const char *npu_phase_name(const npu_phase *phase) {
    return phase->name != NULL ? phase->name : npu_phase_names[phase->kind];
}

int64_t npu_trace_ticks(const npu_trace *trace, double ns) {
    assert(ns >= 0 && trace->clock_hz > 0);
    if (trace->task_ids != NULL)
        return llround(ns * trace->clock_hz / 1e9) + trace->origin;
    return (int64_t)floor(ns * trace->clock_hz / 1e9) + NPU_TICK_ORIGIN;
}

bool npu_phase_recorded(const npu_trace *trace, const npu_phase *phase) {
    return phase->kind != NPU_PHASE_RESOLVE || trace->task_ids != NULL ||
           npu_trace_ticks(trace, phase->end) - npu_trace_ticks(trace, phase->start) >= 50;
}
