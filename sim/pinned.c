// SPDX-License-Identifier: Apache-2.0
#include "pinned.h"

#include <assert.h>
#include <stdlib.h>

#include "index.h"

typedef struct pinned_task {
    int live; // producers that are not complete
    int left; // rows that were not seen to finish
    bool submitted, ready, complete;
} pinned_task;

typedef struct pinned_core {
    int next;    // place in npu_pinned.by_core
    int held;    // tokens not seen to finish: at most two
    int row;     // that the core works on, -1: none
    int pending; // that it holds behind that one, -1: none
    uint32_t tokens;
} pinned_core;

typedef struct pinned_thread { // a scheduler: it does one thing after the other
    double free;               // when it is done with all that it was asked for
    int running;               // its cores that hold a token
} pinned_thread;

struct npu_pinned {
    const npu_die *die;
    const npu_graph *graph;
    npu_engine *engine;
    npu_aicpu_hooks hooks;
    npu_trace *trace;
    const npu_pin *pins;
    npu_groups by_core, by_task; // pins
    npu_groups succs;            // edges by producer
    pinned_task *tasks;
    pinned_core *cores;
    pinned_thread threads[NPU_MAX_SCHEDULERS];
    bool recorded;
    int completed;
    double submit_start;
    npu_status status;
    npu_error error;
};

static double now(const npu_pinned *p) {
    return npu_engine_now(p->engine);
}

static void fail(npu_pinned *p, npu_status status) {
    p->status = status;
    npu_engine_stop(p->engine);
}

static double later(double a, double b) {
    return a > b ? a : b;
}

static pinned_thread *thread_of(npu_pinned *p, int core) {
    return &p->threads[p->trace->cores[core].thread];
}

// ns from now until a scheduler has done something that costs `cost`.
static double spend(const npu_pinned *p, pinned_thread *thread, double cost) {
    thread->free = later(thread->free, now(p)) + cost;
    return thread->free - now(p);
}

// ---- cores ---------------------------------------------------------------------------------

static void start_event(void *owner, int64_t row) {
    npu_pinned *p = owner;
    p->trace->rows[row].start = now(p);
    p->hooks.start(p->hooks.owner, (int)row);
}

static void pick_up(npu_pinned *p, int row) {
    npu_row *taken = &p->trace->rows[row];
    p->cores[taken->core].row = row;
    taken->receive = now(p);
    double setup = p->die->aicpu.setup + (taken->reg_task_id == 1 ? p->die->aicpu.cold : 0);
    npu_engine_delay(p->engine, setup, start_event, p, row);
}

static void token_event(void *owner, int64_t row) {
    npu_pinned *p = owner;
    pinned_core *core = &p->cores[p->trace->rows[row].core];
    if (core->row < 0)
        pick_up(p, (int)row);
    else
        core->pending = (int)row;
}

// Sends the core's next block when its task is ready and one of the core's two slots is free.
static void try_core(npu_pinned *p, int index) {
    pinned_core *core = &p->cores[index];
    if (core->held == 2 || core->next == p->by_core.first[index + 1])
        return;
    const npu_pin *pin = &p->pins[p->by_core.items[core->next]];
    if (!p->tasks[pin->task].ready)
        return;
    npu_status status = NPU_GROW(p->trace, rows, row_count, row_capacity, &p->error);
    if (status) {
        fail(p, status);
        return;
    }
    bool follows = p->graph->tasks[pin->task].engine == NPU_MIX &&
                   p->trace->cores[index].type == NPU_AIV; // a MIX block has one payload
    pinned_thread *thread = thread_of(p, index);
    double cost = follows ? p->die->aicpu.write
                          : p->die->aicpu.pop + p->die->aicpu.payload + p->die->aicpu.barrier +
                                p->die->aicpu.write;
    double sent = spend(p, thread, cost);
    thread->running += core->held++ == 0;
    core->next++;
    int row = p->trace->row_count++;
    p->trace->rows[row] = (npu_row){.core = index,
                                    .task = pin->task,
                                    .block = pin->block,
                                    .reg_task_id = ++core->tokens,
                                    .dispatch = now(p) + sent};
    npu_engine_delay(p->engine, sent + p->die->aicpu.propagation, token_event, p, row);
    try_core(p, index);
}

// ---- tasks ---------------------------------------------------------------------------------

static void complete_event(void *owner, int64_t task);

static void make_ready(npu_pinned *p, int task) {
    pinned_task *t = &p->tasks[task];
    t->ready = true;
    if (p->graph->tasks[task].engine == NPU_DUMMY)
        npu_engine_delay(p->engine,
                         spend(p, &p->threads[0], p->die->aicpu.pop + p->die->aicpu.resolve),
                         complete_event, p, task);
    for (int i = p->by_task.first[task]; i < p->by_task.first[task + 1]; i++)
        try_core(p, p->pins[p->by_task.items[i]].core);
}

static void released_event(void *owner, int64_t task) {
    npu_pinned *p = owner;
    pinned_task *t = &p->tasks[task];
    assert(t->live > 0);
    if (--t->live == 0 && t->submitted)
        make_ready(p, (int)task);
}

static void complete_event(void *owner, int64_t task) {
    npu_pinned *p = owner;
    p->tasks[task].complete = true;
    p->completed++;
    int edges = 0;
    for (int i = p->succs.first[task]; i < p->succs.first[task + 1]; i++)
        npu_engine_delay(p->engine, ++edges * p->die->aicpu.resolve_edge, released_event, p,
                         p->graph->edges[p->succs.items[i]].succ);
}

static void free_event(void *owner, int64_t index) {
    npu_pinned *p = owner;
    pinned_core *core = &p->cores[index];
    core->row = -1;
    if (core->pending >= 0) {
        int row = core->pending;
        core->pending = -1;
        pick_up(p, row);
    }
}

// The scheduler has seen the row finish, and books it.
static void seen_event(void *owner, int64_t row) {
    npu_pinned *p = owner;
    int index = p->trace->rows[row].core;
    int task = p->trace->rows[row].task;
    pinned_thread *thread = thread_of(p, index);
    thread->running -= --p->cores[index].held == 0;
    spend(p, thread, p->die->aicpu.retire);
    assert(p->tasks[task].left > 0);
    if (--p->tasks[task].left == 0) {
        int edges = p->succs.first[task + 1] - p->succs.first[task];
        npu_engine_delay(p->engine, spend(p, thread, p->die->aicpu.resolve), complete_event, p,
                         task);
        spend(p, thread, edges * p->die->aicpu.resolve_edge);
    }
    try_core(p, index);
}

// A scheduler reads its cores in turn: on average half of them come before this one.
void npu_pinned_done(npu_pinned *p, int index) {
    pinned_core *core = &p->cores[index];
    assert(core->row >= 0);
    npu_row *row = &p->trace->rows[core->row];
    const pinned_thread *thread = thread_of(p, index);
    double shown = p->die->aicpu.fin + p->die->aicpu.fin_visible;
    double looked = later(now(p) + shown, thread->free) - now(p) +
                    p->die->aicpu.poll * (1 + (thread->running - 1) / 2.0);
    row->end = now(p);
    row->finish = row->end + looked;
    p->trace->makespan = later(p->trace->makespan, row->finish);
    npu_engine_delay(p->engine, looked, seen_event, p, core->row);
    double recording = p->recorded ? p->die->recorder.core : 0;
    npu_engine_delay(p->engine, p->die->aicpu.fin + recording, free_event, p, index);
}

// ---- the orchestrator ----------------------------------------------------------------------

static double submit_cost(const npu_pinned *p, int task) {
    double cost = p->die->aicpu.submit + p->die->aicpu.submit_arg * p->graph->tasks[task].arg_count;
    return p->recorded ? cost * (1 + p->die->recorder.submit) : cost;
}

static void submit_event(void *owner, int64_t task) {
    npu_pinned *p = owner;
    npu_status status = NPU_GROW(p->trace, submits, submit_count, submit_capacity, &p->error);
    if (status) {
        fail(p, status);
        return;
    }
    p->trace->submits[p->trace->submit_count++] = (npu_submit){(int)task, p->submit_start, now(p)};
    p->submit_start = now(p);
    p->tasks[task].submitted = true;
    if (p->tasks[task].live == 0)
        make_ready(p, (int)task);
    if (task + 1 < p->graph->task_count)
        npu_engine_delay(p->engine, submit_cost(p, (int)task + 1), submit_event, p, task + 1);
}

void npu_pinned_record(npu_pinned *p) {
    p->recorded = true;
}

void npu_pinned_begin(npu_pinned *p) {
    if (p->graph->task_count > 0)
        npu_engine_delay(p->engine, submit_cost(p, 0), submit_event, p, 0);
}

npu_status npu_pinned_result(const npu_pinned *p, npu_error *err) {
    if (p->status != NPU_OK)
        return npu_fail(err, p->status, (npu_pos){0}, "%s", p->error.text);
    for (int i = 0; i < p->graph->task_count; i++)
        if (!p->tasks[i].complete)
            return npu_fail(err, NPU_BAD_INPUT, (npu_pos){.file = p->graph->path},
                            "the order of the cores and the edges wait for each other: task %s "
                            "never completes",
                            p->graph->tasks[i].name);
    return NPU_OK;
}

// ---- making --------------------------------------------------------------------------------

static int core_of(const void *data, int item) {
    return ((const npu_pinned *)data)->pins[item].core;
}

static int task_of(const void *data, int item) {
    return ((const npu_pinned *)data)->pins[item].task;
}

// Edges of one pair stand together; the first counts.
static int producer_of(const void *data, int item) {
    const npu_edge *edges = ((const npu_graph *)data)->edges;
    bool again = item > 0 && edges[item - 1].pred == edges[item].pred &&
                 edges[item - 1].succ == edges[item].succ;
    return again ? -1 : edges[item].pred;
}

static npu_status prepare(npu_pinned *p, int pin_count, npu_error *err) {
    const npu_graph *graph = p->graph;
    p->tasks = calloc((size_t)graph->task_count + 1, sizeof *p->tasks);
    p->cores = calloc((size_t)p->trace->core_count + 1, sizeof *p->cores);
    if (p->tasks == NULL || p->cores == NULL)
        return npu_fail_memory(err);
    npu_status status =
        npu_groups_make(&p->by_core, p->trace->core_count, pin_count, core_of, p, err);
    if (!status)
        status = npu_groups_make(&p->by_task, graph->task_count, pin_count, task_of, p, err);
    if (!status)
        status = npu_groups_make(&p->succs, graph->task_count, graph->edge_count, producer_of,
                                 graph, err);
    for (int i = 0; i < graph->edge_count; i++)
        p->tasks[graph->edges[i].succ].live += producer_of(graph, i) >= 0;
    for (int i = 0; i < graph->task_count && !status; i++)
        p->tasks[i].left = p->by_task.first[i + 1] - p->by_task.first[i];
    for (int i = 0; i < p->trace->core_count && !status; i++)
        p->cores[i] = (pinned_core){.next = p->by_core.first[i], .row = -1, .pending = -1};
    return status;
}

npu_status npu_pinned_new(const npu_die *die, const npu_graph *graph, npu_engine *engine,
                          const npu_aicpu_hooks *hooks, const npu_pin *pins, int pin_count,
                          npu_trace *trace, npu_pinned **out, npu_error *err) {
    npu_pinned *p = calloc(1, sizeof *p);
    if (p == NULL)
        return npu_fail_memory(err);
    *p = (npu_pinned){.die = die,
                      .graph = graph,
                      .engine = engine,
                      .hooks = *hooks,
                      .trace = trace,
                      .pins = pins};
    npu_status status = prepare(p, pin_count, err);
    if (status) {
        npu_pinned_free(p);
        return status;
    }
    *out = p;
    return NPU_OK;
}

void npu_pinned_free(npu_pinned *p) {
    if (p == NULL)
        return;
    npu_groups_free(&p->by_core);
    npu_groups_free(&p->by_task);
    npu_groups_free(&p->succs);
    free(p->tasks);
    free(p->cores);
    free(p);
}
