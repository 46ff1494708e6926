// SPDX-License-Identifier: Apache-2.0
#include "scene.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "scene_impl.h"

void npu_scene_free(npu_scene *scene) {
    free((void *)scene->trace.task_ids);
    free((void *)scene->trace.call_ids);
    npu_trace_free(&scene->trace);
    free((void *)scene->graph.tasks);
    free((void *)scene->graph.funcs);
    free((void *)scene->graph.edges);
    npu_arena_free(&scene->graph.arena);
    *scene = (npu_scene){.clamped = 0};
}

// ---- tasks ---------------------------------------------------------------------------------

int npu_scene_task(const npu_scene_maker *m, uint64_t id) {
    int known = m->deps->by_id != NULL ? npu_deps_find(m->deps, id) : -1;
    if (known >= 0)
        return known;
    int low = m->graph_task_count;
    for (int high = m->task_count; low < high;) {
        int middle = low + (high - low) / 2;
        if (m->ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < m->task_count && m->ids[low] == id ? low : -1;
}

static npu_status add_task(npu_scene_maker *m, uint64_t id, npu_task task) {
    char label[32];
    npu_task_label(id, npu_capture_host_graph(m->c), label, (int)sizeof label);
    task.name = npu_arena_text(&m->scene->graph.arena, label, strlen(label));
    if (task.name == NULL)
        return npu_fail_memory(m->err);
    npu_status status =
        npu_grow((void **)&m->ids, &m->id_capacity, m->task_count + 1, sizeof *m->ids, m->err);
    if (status == NPU_OK)
        status = NPU_GROW(m, tasks, task_count, task_capacity, m->err);
    if (status != NPU_OK)
        return status;
    m->ids[m->task_count] = id;
    m->tasks[m->task_count++] = task;
    return NPU_OK;
}

static int compare_ids(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

// Tasks that only rows know.
static npu_status add_unknown(npu_scene_maker *m) {
    uint64_t *ids = malloc(((size_t)m->c->core_row_count + 1) * sizeof *ids);
    int count = 0;
    npu_status status = NPU_OK;
    if (ids == NULL)
        return npu_fail_memory(m->err);
    for (int i = 0; i < m->c->core_row_count; i++) {
        const npu_core_row *row = &m->c->core_rows[i];
        if (row->start != 0 && npu_scene_task(m, row->task) < 0)
            ids[count++] = row->task;
    }
    qsort(ids, (size_t)count, sizeof *ids, compare_ids);
    for (int i = 0; i < count && status == NPU_OK; i++)
        if (i == 0 || ids[i] != ids[i - 1])
            status = add_task(m, ids[i], (npu_task){.func = -1, .engine = NPU_DUMMY});
    free(ids);
    return status;
}

// ---- functions -----------------------------------------------------------------------------

// The name of a func_id: the map's, or func_N.
static const char *name_of(npu_scene_maker *m, int id) {
    const char *known = id >= 0 ? npu_name_map_find(m->names, id) : NULL;
    if (known != NULL)
        return npu_arena_text(&m->scene->graph.arena, known, strlen(known));
    return npu_arena_printf(&m->scene->graph.arena, "func_%d", id);
}

// "fuse_aic" and "fuse_aiv" are the halves of fuse; others keep their own names.
static npu_status name_halves(npu_scene_maker *m, npu_func *func) {
    func->half_names[NPU_AIC] = name_of(m, func->aic_id);
    func->half_names[NPU_AIV] = name_of(m, func->aiv_id);
    if (func->half_names[0] == NULL || func->half_names[1] == NULL)
        return npu_fail_memory(m->err);
    const char *aic = func->half_names[NPU_AIC];
    const char *aiv = func->half_names[NPU_AIV];
    size_t length = strlen(aic);
    func->name = aic;
    if (length <= 4 || strcmp(aic + length - 4, "_aic") != 0)
        return NPU_OK;
    func->name = npu_arena_text(&m->scene->graph.arena, aic, length - 4);
    if (func->name == NULL)
        return npu_fail_memory(m->err);
    if (strlen(aiv) == length && strncmp(aic, aiv, length - 4) == 0 &&
        strcmp(aiv + length - 4, "_aiv") == 0)
        func->half_names[NPU_AIC] = func->half_names[NPU_AIV] = NULL; // the usual ones
    return NPU_OK;
}

// The function with these halves, made when it is new.
static npu_status find_func(npu_scene_maker *m, int aic_id, int aiv_id, int *index) {
    for (*index = 0; *index < m->func_count; ++*index)
        if (m->funcs[*index].aic_id == aic_id && m->funcs[*index].aiv_id == aiv_id)
            return NPU_OK;
    npu_func func = {.name = "task", .aic_id = aic_id, .aiv_id = aiv_id};
    npu_status status = NPU_OK;
    if (aic_id >= 0 && aiv_id >= 0)
        status = name_halves(m, &func);
    else if (aic_id >= 0 || aiv_id >= 0)
        func.name = name_of(m, aic_id >= 0 ? aic_id : aiv_id);
    if (status == NPU_OK && func.name == NULL)
        status = npu_fail_memory(m->err);
    if (status == NPU_OK)
        status = NPU_GROW(m, funcs, func_count, func_capacity, m->err);
    if (status == NPU_OK)
        m->funcs[m->func_count++] = func;
    return status;
}

// What a task runs, of its kernel ids, or of its rows where there are none.
typedef struct rows_of { // of one task
    int on[2];           // AICs, AIVs
} rows_of;

static npu_status give_func(npu_scene_maker *m, int t, const rows_of *rows) {
    npu_task *task = &m->tasks[t];
    const npu_dep_task *dep = t < m->graph_task_count ? &m->deps->tasks[t] : NULL;
    int ids[2] = {-1, -1};
    if (dep != NULL && dep->has_kernels) {
        ids[NPU_AIC] = dep->kernel_ids[0];
        ids[NPU_AIV] = dep->kernel_ids[1] >= 0 ? dep->kernel_ids[1] : dep->kernel_ids[2];
    }
    bool aic = ids[NPU_AIC] >= 0 || rows->on[NPU_AIC] > 0;
    bool aiv = ids[NPU_AIV] >= 0 || rows->on[NPU_AIV] > 0;
    bool two_aivs = dep != NULL && dep->kernel_ids[1] >= 0 && dep->kernel_ids[2] >= 0;
    task->engine = aic && aiv ? NPU_MIX
                   : aic      ? NPU_AIC
                   : aiv      ? (two_aivs ? NPU_MIX : NPU_AIV)
                              : NPU_DUMMY;
    int parts = dep != NULL && npu_dep_parts(dep) > 0 ? npu_dep_parts(dep)
                : task->engine == NPU_MIX             ? 3
                                                      : 1;
    int count = rows->on[NPU_AIC] + rows->on[NPU_AIV];
    task->block_num = dep != NULL && dep->has_blocks ? dep->block_num : count / parts;
    if (task->engine == NPU_DUMMY)
        task->block_num = 0;
    else if (task->block_num == 0 && count > 0)
        task->block_num = 1;
    task->func = -1;
    if (task->engine == NPU_DUMMY)
        return NPU_OK;
    npu_status status = find_func(m, ids[NPU_AIC], ids[NPU_AIV], &task->func);
    if (status == NPU_OK)
        task->kernel = m->funcs[task->func].name;
    return status;
}

static npu_status give_funcs(npu_scene_maker *m) {
    rows_of *rows = calloc((size_t)m->task_count + 1, sizeof *rows);
    npu_status status = rows != NULL ? NPU_OK : npu_fail_memory(m->err);
    for (int i = 0; i < m->c->core_row_count && status == NPU_OK; i++)
        if (m->task_of[i] >= 0)
            rows[m->task_of[i]].on[m->c->cores[m->c->core_rows[i].core].type]++;
    for (int t = 0; t < m->task_count && status == NPU_OK; t++)
        status = give_func(m, t, &rows[t]);
    free(rows);
    return status;
}

// ---- edges ---------------------------------------------------------------------------------

static int compare_edges(const void *a, const void *b) {
    const npu_edge *x = a;
    const npu_edge *y = b;
    if (x->succ != y->succ)
        return x->succ - y->succ;
    if (x->pred != y->pred)
        return x->pred - y->pred;
    return x->arg != y->arg ? x->arg - y->arg : (int)x->source - (int)y->source;
}

static npu_status add_edges(npu_scene_maker *m) {
    npu_status status = NPU_OK;
    for (int i = 0; i < m->deps->edge_count && status == NPU_OK; i++) {
        const npu_dep_edge *dep = &m->deps->edges[i];
        if (!dep->wait || dep->pred_task < 0 || dep->succ_task < 0)
            continue;
        if (dep->pred_task >= dep->succ_task) {
            m->scene->backward++;
            continue;
        }
        status = NPU_GROW(m, edges, edge_count, edge_capacity, m->err);
        if (status == NPU_OK)
            m->edges[m->edge_count++] = (npu_edge){.pred = dep->pred_task,
                                                   .succ = dep->succ_task,
                                                   .arg = dep->arg,
                                                   .source = dep->source,
                                                   .covered = dep->covered,
                                                   .producer_arg = -1};
    }
    if (m->edge_count > 0)
        qsort(m->edges, (size_t)m->edge_count, sizeof *m->edges, compare_edges);
    int at = 0;
    for (int t = 0; t < m->task_count; t++) {
        m->tasks[t].first_edge = at;
        while (at < m->edge_count && m->edges[at].succ == t)
            at++;
        m->tasks[t].edge_count = at - m->tasks[t].first_edge;
    }
    return status;
}

// ---- the whole -----------------------------------------------------------------------------

static npu_status name_graph(npu_scene_maker *m) {
    const char *name = m->names->orchestrator != NULL ? m->names->orchestrator : "capture";
    npu_graph *graph = &m->scene->graph;
    graph->ranks = graph->full = 1;
    graph->name = npu_arena_text(&graph->arena, name, strlen(name));
    graph->path = npu_arena_text(&graph->arena, m->c->path, strlen(m->c->path));
    return graph->name != NULL && graph->path != NULL ? NPU_OK : npu_fail_memory(m->err);
}

// A capture does not say which scopes were open: all tasks are in the first.
static npu_status give_scope(npu_scene_maker *m) {
    npu_graph *graph = &m->scene->graph;
    npu_task_scope *scope = npu_arena_alloc(&graph->arena, 1, sizeof *scope);
    if (scope == NULL)
        return npu_fail_memory(m->err);
    *scope = (npu_task_scope){.parent = -1, .end = m->task_count};
    graph->scopes = scope;
    graph->scope_count = 1;
    return NPU_OK;
}

npu_status npu_scene_graph(npu_scene_maker *m) {
    npu_status status = name_graph(m);
    m->graph_task_count = m->task_count; // of none so far
    for (int t = 0; t < m->deps->task_count && status == NPU_OK; t++) {
        const npu_dep_task *dep = &m->deps->tasks[t];
        status = add_task(
            m, dep->id,
            (npu_task){.arg_count = dep->arg_count, .early = dep->early, .manual = dep->manual});
    }
    m->graph_task_count = m->task_count;
    if (status == NPU_OK)
        status = add_unknown(m);
    m->task_of = calloc((size_t)m->c->core_row_count + 1, sizeof *m->task_of);
    if (m->task_of == NULL)
        return npu_fail_memory(m->err);
    for (int i = 0; i < m->c->core_row_count && status == NPU_OK; i++) {
        const npu_core_row *row = &m->c->core_rows[i];
        m->task_of[i] = row->start != 0 ? npu_scene_task(m, row->task) : -1;
    }
    if (status == NPU_OK)
        status = give_funcs(m);
    if (status == NPU_OK)
        status = give_scope(m);
    return status == NPU_OK ? add_edges(m) : status;
}

npu_status npu_scene_make(const npu_capture *capture, const npu_deps *deps,
                          const npu_name_map *names, npu_scene *scene, npu_error *err) {
    static const npu_deps no_deps = {.task_count = 0};
    static const npu_name_map no_names = {.count = 0};
    npu_scene_maker m = {.c = capture,
                         .deps = deps != NULL ? deps : &no_deps,
                         .names = names != NULL ? names : &no_names,
                         .scene = scene,
                         .err = err};
    *scene = (npu_scene){.clamped = 0};
    npu_status status = npu_scene_graph(&m);
    scene->graph.tasks = m.tasks;
    scene->graph.task_count = m.task_count;
    scene->graph.funcs = m.funcs;
    scene->graph.func_count = m.func_count;
    scene->graph.edges = m.edges;
    scene->graph.edge_count = m.edge_count;
    scene->trace.task_ids = m.ids;
    if (status == NPU_OK)
        status = npu_scene_trace(&m);
    free(m.task_of);
    return status;
}
