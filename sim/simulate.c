// SPDX-License-Identifier: Apache-2.0
#include "simulate.h"

#include <assert.h>
#include <stdlib.h>

#include "aicpu.h"
#include "core.h"
#include "dies.h"
#include "launch.h"
#include "memory.h"
#include "sdma.h"

typedef struct simulation simulation;

typedef struct one_die {
    simulation *all;
    const npu_graph *graph;
    npu_trace *trace;
    npu_memory *memory;
    npu_sdma *sdma;
    npu_cores *cores;
    npu_aicpu *aicpu; // one of these three dispatches
    npu_launch *launch;
    npu_pinned *pinned;
} one_die;

struct simulation {
    const npu_die *die;
    const npu_sim_times *times;
    npu_engine *engine;
    npu_dies dies;
    one_die ranks[NPU_MAX_RANKS];
};

static void block_done(void *owner, int core);

static void time_over(void *owner, int64_t core) {
    block_done(owner, (int)core);
}

static void start_block(void *owner, int row) {
    one_die *d = owner;
    const npu_row *at = &d->trace->rows[row];
    const npu_sim_times *times = d->graph->rank == 0 ? d->all->times : NULL;
    double known = times != NULL ? times->of(times->owner, at) : -1;
    if (known >= 0)
        npu_engine_delay(d->all->engine, known, time_over, d, at->core);
    else
        npu_cores_start(d->cores, row);
}

static void block_done(void *owner, int core) {
    one_die *d = owner;
    if (d->launch != NULL)
        npu_launch_done(d->launch, core);
    else if (d->pinned != NULL)
        npu_pinned_done(d->pinned, core);
    else
        npu_aicpu_done(d->aicpu, core);
}

static npu_status build_die(simulation *sim, one_die *d, const npu_sim_options *options,
                            npu_error *err) {
    const npu_die *die = sim->die;
    npu_trace *trace = d->trace;
    npu_cores_hooks core_hooks = {block_done, d};
    npu_aicpu_hooks aicpu_hooks = {start_block, d};
    npu_status status = npu_aicpu_cores(die, trace, err);
    if (!status)
        status = npu_memory_new(die, d->graph, sim->engine, options->l2_warm, &trace->totals,
                                &d->memory, err);
    sim->dies.memories[d->graph->rank] = d->memory;
    if (!status)
        status = npu_sdma_new(die, sim->engine, d->memory, &trace->totals, trace->core_count,
                              &d->sdma, err);
    if (!status)
        status = npu_cores_new(die, d->graph, sim->engine, &sim->dies, d->sdma, trace, &core_hooks,
                               &d->cores, err);
    if (status)
        return status;
    if (d->graph->operators)
        return npu_launch_new(die, d->graph, sim->engine, &aicpu_hooks, trace, &d->launch, err);
    if (options->pins != NULL && d->graph->rank == 0)
        return npu_pinned_new(die, d->graph, sim->engine, &aicpu_hooks, options->pins,
                              options->pin_count, trace, &d->pinned, err);
    return npu_aicpu_new(die, d->graph, sim->engine, &aicpu_hooks, trace, &d->aicpu, err);
}

static npu_status build(simulation *sim, const npu_ranks *ranks, const npu_sim_options *options,
                        npu_sim_result *results, npu_error *err) {
    int count = ranks->full;
    sim->dies.ranks = ranks->count;
    sim->dies.full = count;
    sim->dies.graphs = ranks->graphs;
    sim->dies.fabric = ranks->count > 1 ? &ranks->fabric : NULL;
    npu_status status = npu_dies_engine(sim->die, ranks->count, count, sim->dies.fabric,
                                        options->engine, &sim->engine, err);
    if (!status)
        status = npu_counters_new(sim->engine, options->hazards, &sim->dies.counters, err);
    for (int r = 0; r < count && !status; r++) {
        const npu_graph *graph = &ranks->graphs[r];
        assert(graph->rank == r && graph->ranks == ranks->count);
        sim->ranks[r] = (one_die){.all = sim, .graph = graph, .trace = &results[r].trace};
        status = build_die(sim, &sim->ranks[r], options, err);
    }
    for (int r = count; r < ranks->count; r++)
        sim->dies.memories[r] = sim->dies.memories[r % count];
    return status;
}

static int by_start(const void *a, const void *b) {
    const npu_row *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->core > y->core) - (x->core < y->core);
}

static void collect(const one_die *d, const npu_engine_stats *stats, npu_sim_result *result) {
    const npu_die *die = d->all->die;
    npu_trace *trace = &result->trace;
    npu_totals *totals = &trace->totals;
    trace->clock_hz = die->trace_clock * 1e9;
    trace->core_hz = die->clock * 1e9;
    totals->hbm_peak = npu_die_hbm_rate(die);
    totals->l2_read_peak = die->l2.read;
    totals->events = result->events = stats->delays + stats->flows;
    result->thread_count = 1 + (int)die->aicpu.schedulers;
    assert(result->thread_count <= NPU_MAX_THREADS);
    if (d->aicpu != NULL)
        npu_aicpu_busy(d->aicpu, result->thread_busy, result->thread_count);
    qsort(trace->rows, (size_t)trace->row_count, sizeof *trace->rows, by_start);
}

static void measure_fabric(const simulation *sim, npu_link_use *use) {
    const npu_engine_stats *stats = npu_engine_get_stats(sim->engine);
    int first = sim->dies.full * NPU_LINK_COUNT;
    for (int i = 0; use != NULL && sim->dies.fabric != NULL && i < sim->dies.fabric->link_count;
         i++)
        use[i] = (npu_link_use){stats->link_bytes[first + i], stats->link_busy[first + i]};
}

static void begin_die(void *owner, int64_t tag) {
    const one_die *d = owner;
    (void)tag;
    if (d->launch != NULL)
        npu_launch_begin(d->launch);
    else if (d->pinned != NULL)
        npu_pinned_begin(d->pinned);
    else
        npu_aicpu_begin(d->aicpu);
}

static void record(const one_die *d) {
    if (d->pinned != NULL)
        npu_pinned_record(d->pinned);
    else if (d->aicpu != NULL)
        npu_aicpu_record(d->aicpu);
}

static void begin(simulation *sim, bool recorded) {
    for (int r = 0; r < sim->dies.full; r++) {
        one_die *d = &sim->ranks[r];
        if (recorded)
            record(d);
        if (d->graph->skew > 0)
            npu_engine_delay(sim->engine, d->graph->skew, begin_die, d, 0);
        else
            begin_die(d, 0);
    }
}

// What went wrong: a block that failed stopped the engine, so that the dispatchers look stuck, and
// so do those of dies that wait for one that is; hence the order.
static npu_status find_result(simulation *sim, npu_error *err) {
    npu_status status = NPU_OK;
    for (int r = 0; r < sim->dies.full && !status; r++)
        status = npu_cores_result(sim->ranks[r].cores, err);
    if (!status)
        status = npu_cores_awaited(sim->dies.counters, err);
    for (int r = 0; r < sim->dies.full && !status; r++) {
        const one_die *d = &sim->ranks[r];
        status = d->launch != NULL   ? npu_launch_result(d->launch, err)
                 : d->pinned != NULL ? npu_pinned_result(d->pinned, err)
                                     : npu_aicpu_result(d->aicpu, err);
    }
    return status;
}

static void free_simulation(simulation *sim) {
    for (int r = 0; r < sim->dies.full; r++) {
        one_die *d = &sim->ranks[r];
        npu_launch_free(d->launch);
        npu_pinned_free(d->pinned);
        npu_aicpu_free(d->aicpu);
        npu_cores_free(d->cores);
        npu_sdma_free(d->sdma);
        npu_memory_free(d->memory);
    }
    npu_counters_free(sim->dies.counters);
    npu_engine_free(sim->engine);
    free(sim);
}

npu_status npu_simulate_ranks(const npu_ranks *ranks, const npu_die *die,
                              const npu_sim_options *options, npu_sim_result *results,
                              npu_error *err) {
    int count = ranks->full;
    assert(count >= 1 && count <= ranks->count && ranks->count <= NPU_MAX_RANKS);
    for (int r = 0; r < count; r++)
        results[r] = (npu_sim_result){0};
    simulation *sim = calloc(1, sizeof *sim);
    if (sim == NULL)
        return npu_fail_memory(err);
    sim->die = die;
    sim->times = options->times;
    npu_status status = build(sim, ranks, options, results, err);
    if (!status) {
        begin(sim, options->recorded);
        status = npu_engine_run(sim->engine, err);
    }
    if (!status)
        status = find_result(sim, err);
    if (!status)
        npu_counters_finish(sim->dies.counters);
    if (!status)
        measure_fabric(sim, options->fabric);
    for (int r = 0; r < count && !status; r++) {
        collect(&sim->ranks[r], npu_engine_get_stats(sim->engine), &results[r]);
        npu_memory_check_invariants(sim->ranks[r].memory);
        npu_trace_check_invariants(&results[r].trace, &ranks->graphs[r]);
    }
    free_simulation(sim);
    for (int r = 0; r < count && status; r++)
        npu_sim_result_free(&results[r]);
    return status;
}

npu_status npu_simulate(const npu_graph *graph, const npu_die *die, const npu_sim_options *options,
                        npu_sim_result *result, npu_error *err) {
    assert(graph->ranks == 1);
    npu_graph one = *graph;
    npu_ranks ranks = {.graphs = &one, .count = 1, .full = 1};
    return npu_simulate_ranks(&ranks, die, options, result, err);
}

void npu_sim_result_free(npu_sim_result *result) {
    npu_trace_free(&result->trace);
    *result = (npu_sim_result){0};
}
