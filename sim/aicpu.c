// SPDX-License-Identifier: Apache-2.0
// The AICPU's life: made, begun, asked for its result, freed; and how its threads spend and
// record time. docs/dispatch.md tells the algorithm.
#include "aicpu.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "aicpu_state.h"

// Phases keep every resolve from this length on, as the runtime's recorder does.
static const double resolve_recorded = 1000;

static int clusters_of(const npu_die *die) {
    return (int)die->clusters;
}

static int threads_of(const npu_die *die) {
    return (int)die->aicpu.schedulers;
}

static bool whole(double value) {
    return value >= 1 && value <= INT_MAX / 4 && fmod(value, 1) == 0;
}

static npu_status check_die(const npu_die *die, npu_error *err) {
    npu_pos pos = {die->path, 0, 0};
    if (!whole(die->clusters))
        return npu_fail(err, NPU_BAD_INPUT, pos, "clusters must be a whole number from 1 on");
    if (!whole(die->aicpu.schedulers) || die->aicpu.schedulers > NPU_MAX_SCHEDULERS)
        return npu_fail(err, NPU_BAD_INPUT, pos,
                        "aicpu.schedulers must be a whole number from 1 to %d", NPU_MAX_SCHEDULERS);
    int most = (clusters_of(die) - 1) / threads_of(die) + 1;
    if (most > NPU_THREAD_CLUSTERS)
        return npu_fail(err, NPU_BAD_INPUT, pos,
                        "a scheduler can own at most %d clusters: %d clusters need more than %d "
                        "schedulers",
                        NPU_THREAD_CLUSTERS, clusters_of(die), threads_of(die));
    if (!whole(die->aicpu.rings) || !whole(die->aicpu.ring_tasks) || die->aicpu.ring_tasks < 2)
        return npu_fail(err, NPU_BAD_INPUT, pos,
                        "aicpu.ring_tasks must be a whole number from 2 on: one slot stays empty");
    if (!whole(die->aicpu.pop_batch))
        return npu_fail(err, NPU_BAD_INPUT, pos,
                        "aicpu.pop_batch must be a whole number from 1 on");
    // A spin that takes no time would never let time pass.
    if (!(die->aicpu.poll > 0) || !(die->aicpu.idle > 0))
        return npu_fail(err, NPU_BAD_INPUT, pos, "aicpu.poll and aicpu.idle must be above 0ns");
    return NPU_OK;
}

static npu_status check_tasks(const npu_die *die, const npu_graph *graph, npu_error *err) {
    for (int i = 0; i < graph->task_count; i++) {
        const npu_task *task = &graph->tasks[i];
        if (task->engine == NPU_DUMMY)
            continue;
        if (task->block_num < 1)
            return npu_fail(err, NPU_BAD_INPUT, task->pos, "task '%s' has no blocks", task->name);
        int room = clusters_of(die) * (task->engine == NPU_AIV ? 2 : 1);
        if (task->sync_start && task->block_num > room)
            return npu_fail(err, NPU_BAD_INPUT, task->pos,
                            "task '%s' starts %lld blocks together (sync_start), but the die has "
                            "room for %d",
                            task->name, (long long)task->block_num, room);
    }
    return NPU_OK;
}

npu_status npu_aicpu_cores(const npu_die *die, npu_trace *trace, npu_error *err) {
    npu_status status = check_die(die, err);
    if (status != NPU_OK)
        return status;
    int clusters = clusters_of(die);
    npu_core_info *cores = calloc((size_t)clusters * 3, sizeof *cores);
    if (cores == NULL)
        return npu_fail_memory(err);
    for (int c = 0; c < clusters; c++) {
        int thread = c % threads_of(die);
        cores[c] = (npu_core_info){NPU_AIC, thread};
        cores[clusters + 2 * c] = (npu_core_info){NPU_AIV, thread};
        cores[clusters + 2 * c + 1] = (npu_core_info){NPU_AIV, thread};
    }
    free((void *)trace->cores);
    trace->cores = cores;
    trace->core_count = 3 * clusters;
    trace->scheduler_count = threads_of(die);
    return NPU_OK;
}

static bool allocate(npu_aicpu *a) {
    size_t tasks = (size_t)a->graph->task_count + 1;
    // One status read ends at most two tasks; dummies come in batches.
    size_t resolves = (size_t)fmin(a->die->aicpu.pop_batch, a->graph->task_count) + 2;
    int *ready_next = npu_arena_alloc(&a->arena, tasks, sizeof *ready_next);
    int *early_next = npu_arena_alloc(&a->arena, tasks, sizeof *early_next);
    a->tasks = npu_arena_alloc(&a->arena, tasks, sizeof *a->tasks);
    a->threads = npu_arena_alloc(&a->arena, (size_t)a->thread_count, sizeof *a->threads);
    a->workers.cores = npu_arena_alloc(&a->arena, (size_t)a->core_count, sizeof *a->workers.cores);
    if (ready_next == NULL || early_next == NULL || a->tasks == NULL || a->threads == NULL ||
        a->workers.cores == NULL)
        return false;
    for (int i = 0; i < a->thread_count; i++) {
        a->threads[i].resolve = npu_arena_alloc(&a->arena, resolves, sizeof(int));
        if (a->threads[i].resolve == NULL)
            return false;
    }
    for (size_t i = 0; i < tasks; i++)
        ready_next[i] = early_next[i] = NPU_QUEUE_OUT;
    for (int tier = 0; tier < NPU_TIERS; tier++)
        for (int shape = 0; shape < NPU_SHAPES; shape++)
            npu_queue_init(&a->queues[tier][shape],
                           tier == NPU_TIER_EARLY ? early_next : ready_next);
    npu_queue_init(&a->dummies, ready_next);
    return true;
}

static void set_up_cores(npu_aicpu *a) {
    int clusters = clusters_of(a->die);
    for (int i = 0; i < a->thread_count; i++)
        a->threads[i].id = i;
    for (int c = 0; c < clusters; c++) {
        npu_thread *t = &a->threads[c % a->thread_count];
        int ids[3] = {c, clusters + 2 * c, clusters + 2 * c + 1};
        for (int part = 0; part < 3; part++) {
            int bit = 3 * (c / a->thread_count) + part;
            assert(bit < NPU_THREAD_CORES);
            t->cores[bit] = ids[part];
            t->all |= UINT64_C(1) << bit;
            a->workers.cores[ids[part]] =
                (npu_core){.thread = t->id,
                           .bit = bit,
                           .working = -1,
                           .tokens = {{.task = -1, .row = -1}, {.task = -1, .row = -1}}};
        }
    }
    for (int i = 0; i < a->thread_count; i++)
        a->threads[i].idle = a->threads[i].all;
}

static void core_changed(void *owner) {
    npu_aicpu_wake(owner);
}

npu_status npu_aicpu_new(const npu_die *die, const npu_graph *graph, npu_engine *engine,
                         const npu_aicpu_hooks *hooks, npu_trace *trace, npu_aicpu **aicpu,
                         npu_error *err) {
    *aicpu = NULL;
    npu_status status = check_die(die, err);
    if (status == NPU_OK)
        status = check_tasks(die, graph, err);
    if (status != NPU_OK)
        return status;
    assert(trace->core_count == 3 * clusters_of(die) && "npu_aicpu_cores comes first");
    npu_aicpu *a = calloc(1, sizeof *a);
    if (a == NULL)
        return npu_fail_memory(err);
    a->die = die;
    a->graph = graph;
    a->engine = engine;
    a->trace = trace;
    a->workers = (npu_workers){.changed = core_changed,
                               .owner = a,
                               .die = die,
                               .engine = engine,
                               .hooks = *hooks,
                               .trace = trace};
    a->core_count = trace->core_count;
    a->thread_count = threads_of(die);
    a->drain = -1;
    status = allocate(a) ? npu_aicpu_link_tasks(a, err) : npu_fail_memory(err);
    if (status == NPU_OK)
        status = npu_aicpu_rings_new(a, err);
    if (status == NPU_OK)
        status = npu_aicpu_policy_new(a, err);
    if (status == NPU_OK && graph->runtime == NPU_RUNTIME_HOST)
        status = npu_aicpu_host_new(a, err);
    if (status != NPU_OK) {
        npu_aicpu_free(a);
        return status;
    }
    set_up_cores(a);
    *aicpu = a;
    return NPU_OK;
}

void npu_aicpu_free(npu_aicpu *a) {
    if (a == NULL)
        return;
    npu_arena_free(&a->arena);
    free(a);
}

static void thread_event(void *owner, int64_t tag) {
    npu_aicpu *a = owner;
    npu_thread *t = &a->threads[tag];
    npu_step step = t->next;
    t->idling = false;
    step(a, t);
    // A read that shows nothing new and the end of a spin change nothing by themselves.
    if (step != npu_aicpu_read_status && step != npu_aicpu_loop)
        npu_aicpu_wake(a);
}

void npu_aicpu_spend(npu_aicpu *a, npu_thread *t, double dt, npu_step next) {
    assert(dt >= 0 && !t->stopped);
    t->busy += dt;
    t->next = next;
    npu_engine_delay(a->engine, dt, thread_event, a, t->id);
}

void npu_aicpu_idle(npu_aicpu *a, npu_thread *t, double dt, npu_step next) {
    assert(!t->stopped);
    t->idling = true;
    t->next = next;
    npu_engine_delay(a->engine, dt, thread_event, a, t->id);
}

void npu_aicpu_fail(npu_aicpu *a, npu_status status) {
    assert(status != NPU_OK);
    if (a->status == NPU_OK)
        a->status = status;
    npu_engine_stop(a->engine);
}

void npu_aicpu_record(npu_aicpu *a) {
    assert(a->submitted == 0);
    a->recorded = a->workers.recorded = true;
}

// Threads begin at once and find nothing until the first submit ends.
void npu_aicpu_begin(npu_aicpu *a) {
    assert(a->submitted == 0);
    a->submit_start = npu_now(a);
    if (a->resolver != NULL)
        npu_aicpu_host_begin(a);
    else
        npu_aicpu_submit_next(a);
    for (int i = 0; i < a->thread_count; i++)
        npu_aicpu_spend(a, &a->threads[i], 0, npu_aicpu_loop);
}

void npu_aicpu_done(npu_aicpu *a, int core) {
    assert(core >= 0 && core < a->core_count);
    npu_worker_done(&a->workers, core);
}

npu_status npu_aicpu_result(const npu_aicpu *a, npu_error *err) {
    if (a->status != NPU_OK)
        return npu_fail(err, a->status, (npu_pos){0}, "%s", a->error.text);
    if (a->completed < a->graph->task_count)
        return npu_aicpu_stuck_error(a, err);
    npu_aicpu_check_invariants(a);
    return NPU_OK;
}

void npu_aicpu_busy(const npu_aicpu *a, double *busy, int count) {
    for (int i = 0; i < count; i++) {
        busy[i] = 0;
        if (i == 0)
            busy[i] = a->resolver != NULL ? a->resolver->busy : a->submit_busy;
        else if (i <= a->thread_count)
            busy[i] = a->threads[i - 1].busy;
    }
}

static void depths(const npu_aicpu *a, int *depth) {
    for (int shape = 0; shape < NPU_SHAPES; shape++)
        depth[shape] =
            a->queues[NPU_TIER_SYNC][shape].count + a->queues[NPU_TIER_READY][shape].count;
}

static int order(double x, double y) {
    return (x > y) - (x < y);
}

// Of phases that begin together, outer ones come before what they hold, and one that takes no
// time before the one that follows it.
static int compare_phases(const void *left, const void *right) {
    const npu_phase *x = left;
    const npu_phase *y = right;
    int diff = order(x->thread, y->thread);
    if (diff == 0)
        diff = order(x->start, y->start);
    if (diff == 0)
        diff = order(x->kind >= NPU_PHASE_RESOLVE, y->kind >= NPU_PHASE_RESOLVE);
    if (diff == 0)
        diff = order(x->end, y->end);
    if (diff == 0)
        diff = order(x->kind, y->kind);
    if (diff == 0)
        diff = order(x->task, y->task);
    return diff;
}

void npu_aicpu_stopped(npu_aicpu *a, npu_thread *t) {
    t->stopped = true;
    for (int i = 0; i < a->thread_count; i++)
        if (!a->threads[i].stopped)
            return;
    if (a->trace->phase_count > 0)
        qsort(a->trace->phases, (size_t)a->trace->phase_count, sizeof *a->trace->phases,
              compare_phases);
}

static npu_phase *add_phase(npu_aicpu *a) {
    npu_status status = NPU_GROW(a->trace, phases, phase_count, phase_capacity, &a->error);
    if (status != NPU_OK) {
        npu_aicpu_fail(a, status);
        return NULL;
    }
    return &a->trace->phases[a->trace->phase_count++];
}

void npu_aicpu_phase_begin(npu_aicpu *a, npu_thread *t) {
    t->phase_start = npu_now(a);
    depths(a, t->phase_depth);
}

void npu_aicpu_phase_end(npu_aicpu *a, npu_thread *t, npu_phase_kind kind, int64_t processed) {
    npu_phase *phase = add_phase(a);
    if (phase == NULL)
        return;
    *phase = (npu_phase){.thread = t->id,
                         .kind = kind,
                         .start = t->phase_start,
                         .end = npu_now(a),
                         .loop_iter = t->iteration,
                         .processed = processed,
                         .task = -1};
    for (int shape = 0; shape < NPU_SHAPES; shape++)
        phase->depth_start[shape] = t->phase_depth[shape];
    depths(a, phase->depth_end);
    if (kind == NPU_PHASE_DISPATCH) { // misses since the last record are counted as well
        phase->pop_hit = t->pop_hit;
        phase->pop_miss = t->pop_miss;
        t->pop_hit = t->pop_miss = 0;
    }
}

void npu_aicpu_phase_inner(npu_aicpu *a, npu_thread *t, npu_phase_kind kind, double start,
                           int64_t processed, int task) {
    double end = kind == NPU_PHASE_DUMMY_TASK ? start : npu_now(a);
    if (kind == NPU_PHASE_RESOLVE && end - start < resolve_recorded - NPU_ENGINE_TIE)
        return;
    npu_phase *phase = add_phase(a);
    if (phase != NULL)
        *phase = (npu_phase){.thread = t->id,
                             .kind = kind,
                             .start = start,
                             .end = end,
                             .loop_iter = t->iteration,
                             .processed = processed,
                             .task = task};
}
