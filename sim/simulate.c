// SPDX-License-Identifier: Apache-2.0
#include "simulate.h"

#include <assert.h>
#include <stdlib.h>

#include "aicpu.h"
#include "core.h"
#include "launch.h"
#include "memory.h"
#include "sdma.h"

typedef struct simulation {
    npu_engine *engine;
    npu_memory *memory;
    npu_sdma *sdma;
    npu_cores *cores;
    npu_aicpu *aicpu; // one of these three dispatches
    npu_launch *launch;
    npu_pinned *pinned;
    const npu_sim_times *times;
    const npu_trace *trace;
} simulation;

static void block_done(void *owner, int core);

static void time_over(void *owner, int64_t core) {
    block_done(owner, (int)core);
}

static void start_block(void *owner, int row) {
    simulation *sim = owner;
    const npu_row *at = &sim->trace->rows[row];
    double known = sim->times != NULL ? sim->times->of(sim->times->owner, at) : -1;
    if (known >= 0)
        npu_engine_delay(sim->engine, known, time_over, sim, at->core);
    else
        npu_cores_start(sim->cores, row);
}

static void block_done(void *owner, int core) {
    simulation *sim = owner;
    if (sim->launch != NULL)
        npu_launch_done(sim->launch, core);
    else if (sim->pinned != NULL)
        npu_pinned_done(sim->pinned, core);
    else
        npu_aicpu_done(sim->aicpu, core);
}

static npu_status build(simulation *sim, const npu_graph *graph, const npu_die *die,
                        const npu_sim_options *options, npu_trace *trace, npu_error *err) {
    npu_link links[NPU_LINK_COUNT];
    npu_path paths[NPU_PATH_COUNT];
    npu_memory_net(die, links, paths);
    npu_net net = {links, NPU_LINK_COUNT, paths, NPU_PATH_COUNT};
    npu_cores_hooks core_hooks = {block_done, sim};
    npu_aicpu_hooks aicpu_hooks = {start_block, sim};
    npu_status status = npu_engine_new(options->engine, &net, &sim->engine, err);
    if (!status)
        status = npu_aicpu_cores(die, trace, err);
    if (!status)
        status = npu_memory_new(die, graph, sim->engine, options->l2_warm, &trace->totals,
                                &sim->memory, err);
    if (!status)
        status = npu_sdma_new(die, sim->engine, sim->memory, &trace->totals, trace->core_count,
                              &sim->sdma, err);
    if (!status)
        status = npu_cores_new(die, graph, sim->engine, sim->memory, sim->sdma, trace, &core_hooks,
                               &sim->cores, err);
    if (status)
        return status;
    if (graph->operators)
        return npu_launch_new(die, graph, sim->engine, &aicpu_hooks, trace, &sim->launch, err);
    if (options->pins != NULL)
        return npu_pinned_new(die, graph, sim->engine, &aicpu_hooks, options->pins,
                              options->pin_count, trace, &sim->pinned, err);
    return npu_aicpu_new(die, graph, sim->engine, &aicpu_hooks, trace, &sim->aicpu, err);
}

static int by_start(const void *a, const void *b) {
    const npu_row *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->core > y->core) - (x->core < y->core);
}

static void collect(simulation *sim, const npu_die *die, const npu_engine_stats *stats,
                    npu_sim_result *result) {
    npu_trace *trace = &result->trace;
    npu_totals *totals = &trace->totals;
    trace->clock_hz = die->trace_clock * 1e9;
    trace->core_hz = die->clock * 1e9;
    totals->hbm_peak = npu_die_hbm_rate(die);
    totals->l2_read_peak = die->l2.read;
    totals->events = result->events = stats->delays + stats->flows;
    result->thread_count = 1 + (int)die->aicpu.schedulers;
    assert(result->thread_count <= NPU_MAX_THREADS);
    if (sim->aicpu != NULL)
        npu_aicpu_busy(sim->aicpu, result->thread_busy, result->thread_count);
    qsort(trace->rows, (size_t)trace->row_count, sizeof *trace->rows, by_start);
}

npu_status npu_simulate(const npu_graph *graph, const npu_die *die, const npu_sim_options *options,
                        npu_sim_result *result, npu_error *err) {
    simulation sim = {.times = options->times, .trace = &result->trace};
    *result = (npu_sim_result){0};
    npu_status status = build(&sim, graph, die, options, &result->trace, err);
    if (!status) {
        if (options->recorded && sim.pinned != NULL)
            npu_pinned_record(sim.pinned);
        else if (options->recorded && sim.aicpu != NULL)
            npu_aicpu_record(sim.aicpu);
        if (sim.launch != NULL)
            npu_launch_begin(sim.launch);
        else if (sim.pinned != NULL)
            npu_pinned_begin(sim.pinned);
        else
            npu_aicpu_begin(sim.aicpu);
        status = npu_engine_run(sim.engine, err);
    }
    // A block that fails stops the engine, so that the dispatcher looks stuck: blame it first.
    if (!status)
        status = npu_cores_result(sim.cores, err);
    if (!status)
        status = sim.launch != NULL   ? npu_launch_result(sim.launch, err)
                 : sim.pinned != NULL ? npu_pinned_result(sim.pinned, err)
                                      : npu_aicpu_result(sim.aicpu, err);
    if (!status) {
        collect(&sim, die, npu_engine_get_stats(sim.engine), result);
        npu_memory_check_invariants(sim.memory);
        npu_trace_check_invariants(&result->trace, graph);
    }
    npu_launch_free(sim.launch);
    npu_pinned_free(sim.pinned);
    npu_aicpu_free(sim.aicpu);
    npu_cores_free(sim.cores);
    npu_sdma_free(sim.sdma);
    npu_memory_free(sim.memory);
    npu_engine_free(sim.engine);
    if (status)
        npu_sim_result_free(result);
    return status;
}

void npu_sim_result_free(npu_sim_result *result) {
    npu_trace_free(&result->trace);
    *result = (npu_sim_result){0};
}
