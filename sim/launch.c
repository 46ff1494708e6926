// SPDX-License-Identifier: Apache-2.0
#include "launch.h"

#include <assert.h>
#include <stdlib.h>

typedef struct unit { // what takes one block: a core, or a cluster for MIX
    int running;      // cores of it that have not ended
} unit;

struct npu_launch {
    const npu_die *die;
    const npu_graph *graph;
    npu_engine *engine;
    npu_aicpu_hooks hooks;
    npu_trace *trace;
    int clusters;
    int task;                  // the one that runs, or graph->task_count
    double launched;           // when it was launched
    int64_t next_block, ended; // of it
    unit *units;               // [2 * clusters]
    int *row;                  // [cores] the row that runs on a core, -1 when idle
    uint32_t *tokens;          // [cores] dispatches so far
    npu_status status;
    npu_error error;
};

static npu_engine_type type_of(const npu_launch *l) {
    return l->graph->tasks[l->task].engine;
}

static int unit_count(const npu_launch *l) {
    return type_of(l) == NPU_AIV ? 2 * l->clusters : l->clusters;
}

// The cores of a unit: an AIC, an AIV, or an AIC and its two AIVs.
static int cores_of(const npu_launch *l, int at, int *cores) {
    int aiv = l->clusters + 2 * at;
    if (type_of(l) == NPU_AIV) {
        cores[0] = l->clusters + at;
        return 1;
    }
    cores[0] = at;
    cores[1] = aiv;
    cores[2] = aiv + 1;
    return type_of(l) == NPU_MIX ? 3 : 1;
}

static int unit_of(const npu_launch *l, int core) {
    if (core < l->clusters)
        return core;
    return type_of(l) == NPU_AIV ? core - l->clusters : (core - l->clusters) / 2;
}

static void fail(npu_launch *l, npu_status status) {
    l->status = status;
    npu_engine_stop(l->engine);
}

static npu_status add_row(npu_launch *l, int core, int64_t block, double dispatched) {
    npu_trace *trace = l->trace;
    npu_status status = NPU_GROW(trace, rows, row_count, row_capacity, &l->error);
    if (status)
        return status;
    double now = npu_engine_now(l->engine);
    l->row[core] = trace->row_count++;
    trace->rows[l->row[core]] = (npu_row){.core = core,
                                          .task = l->task,
                                          .block = block,
                                          .reg_task_id = ++l->tokens[core],
                                          .dispatch = dispatched,
                                          .receive = now,
                                          .start = now};
    return NPU_OK;
}

static void start_next(npu_launch *l, int at, double dispatched) {
    int cores[3];
    int count = cores_of(l, at, cores);
    int64_t block = l->next_block++;
    assert(block < l->graph->tasks[l->task].block_num && l->units[at].running == 0);
    l->units[at].running = count;
    for (int i = 0; i < count; i++) {
        npu_status status = add_row(l, cores[i], block, dispatched);
        if (status) {
            fail(l, status);
            return;
        }
    }
    for (int i = 0; i < count; i++) // after the rows, which may move
        l->hooks.start(l->hooks.owner, l->row[cores[i]]);
}

enum { UNITS = 1 << 10 }; // more than a die has

// `tag` is task * UNITS + unit: when others were quicker, the task may even be over.
static void first_start(void *owner, int64_t tag) {
    npu_launch *l = owner;
    if (tag / UNITS == l->task && l->next_block < l->graph->tasks[l->task].block_num)
        start_next(l, (int)(tag % UNITS), l->launched);
}

static void launch_next(npu_launch *l) {
    const npu_graph *graph = l->graph;
    double now = npu_engine_now(l->engine);
    while (l->task < graph->task_count && npu_task_cores(&graph->tasks[l->task]) == 0)
        l->task++; // nothing to launch
    l->trace->makespan = now;
    if (l->task == graph->task_count)
        return;
    l->launched = now;
    l->next_block = l->ended = 0;
    int64_t wave = graph->tasks[l->task].block_num;
    if (wave > unit_count(l))
        wave = unit_count(l);
    assert(wave < UNITS);
    for (int64_t at = 0; at < wave; at++)
        npu_engine_delay(l->engine, l->die->launch.head + (double)(at + 1) * l->die->launch.core,
                         first_start, l, (int64_t)l->task * UNITS + at);
}

static void task_ended(void *owner, int64_t tag) {
    (void)tag;
    npu_launch *l = owner;
    l->task++;
    launch_next(l);
}

void npu_launch_done(npu_launch *l, int core) {
    npu_row *row = &l->trace->rows[l->row[core]];
    row->end = row->finish = npu_engine_now(l->engine);
    l->row[core] = -1;
    int at = unit_of(l, core);
    if (--l->units[at].running > 0)
        return;
    l->ended++;
    int64_t blocks = l->graph->tasks[l->task].block_num;
    if (l->ended == blocks) {
        row->finish += l->die->launch.tail; // when the scheduler knows of the whole
        npu_engine_delay(l->engine, l->die->launch.tail, task_ended, l, 0);
    } else if (l->next_block < blocks) {
        start_next(l, at, row->end);
    }
}

void npu_launch_begin(npu_launch *l) {
    launch_next(l);
}

npu_status npu_launch_result(const npu_launch *l, npu_error *err) {
    if (l->status != NPU_OK)
        return npu_fail(err, l->status, (npu_pos){0}, "%s", l->error.text);
    if (l->task < l->graph->task_count) {
        const npu_task *task = &l->graph->tasks[l->task];
        return npu_fail(err, NPU_BAD_INPUT, task->pos, "the run ended before task '%s' completed",
                        task->name);
    }
    return NPU_OK;
}

static npu_status check_tasks(const npu_graph *graph, npu_error *err) {
    for (int i = 0; i < graph->task_count; i++) {
        const npu_task *task = &graph->tasks[i];
        if (task->engine != NPU_DUMMY && task->block_num < 1)
            return npu_fail(err, NPU_BAD_INPUT, task->pos, "task '%s' has no blocks", task->name);
    }
    return NPU_OK;
}

npu_status npu_launch_new(const npu_die *die, const npu_graph *graph, npu_engine *engine,
                          const npu_aicpu_hooks *hooks, npu_trace *trace, npu_launch **out,
                          npu_error *err) {
    npu_status status = check_tasks(graph, err);
    if (status)
        return status;
    npu_launch *l = calloc(1, sizeof *l);
    if (l == NULL)
        return npu_fail_memory(err);
    *l = (npu_launch){.die = die,
                      .graph = graph,
                      .engine = engine,
                      .hooks = *hooks,
                      .trace = trace,
                      .clusters = (int)die->clusters};
    size_t cores = (size_t)trace->core_count;
    l->units = calloc(cores, sizeof *l->units);
    l->row = calloc(cores, sizeof *l->row);
    l->tokens = calloc(cores, sizeof *l->tokens);
    if (l->units == NULL || l->row == NULL || l->tokens == NULL) {
        npu_launch_free(l);
        return npu_fail_memory(err);
    }
    *out = l;
    return NPU_OK;
}

void npu_launch_free(npu_launch *l) {
    if (l == NULL)
        return;
    free(l->units);
    free(l->row);
    free(l->tokens);
    free(l);
}
