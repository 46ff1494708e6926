// SPDX-License-Identifier: Apache-2.0
// The rules that need the graph.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sanity_impl.h"

typedef struct graph_checker {
    npu_checker *k;
    const npu_deps *deps;
    int *task_of;     // of each AICore row; -1: not in the graph
    npu_groups rows;  // rows of a task
    npu_groups edges; // edges that order, by consumer
    bool *skipped;    // of each task: its predicate was false
    int64_t *end;     // of each task: when its last row ends
    int *seen;        // of each task: 1 + the last consumer that met it
    int (*parts)[3];  // of each cluster: rows of one task on its AIC and AIVs
    int clusters;     // 0: the cores are not laid out in clusters
} graph_checker;

static const char *name_of(const graph_checker *g, int task, char buf[32]) {
    return npu_task_label(g->deps->tasks[task].id, npu_capture_host_graph(g->k->c), buf, 32);
}

// ---- tasks and edges -----------------------------------------------------------------------

static void check_graph(const graph_checker *g) {
    const npu_deps *d = g->deps;
    char text[32], other[32];
    npu_sanity_checked(g->k, NPU_RULE_TWICE);
    npu_sanity_checked(g->k, NPU_RULE_SUCC);
    npu_sanity_checked(g->k, NPU_RULE_FORWARD);
    for (int i = 1; i < d->task_count; i++)
        if (d->tasks[d->by_id[i]].id == d->tasks[d->by_id[i - 1]].id)
            npu_sanity_note(g->k, NPU_RULE_TWICE, "%s", name_of(g, d->by_id[i], text));
    for (int i = 0; i < d->edge_count; i++) {
        const npu_dep_edge *edge = &d->edges[i];
        if (edge->succ_task < 0)
            npu_sanity_note(g->k, NPU_RULE_SUCC, "edge %d, to %llu", i,
                            (unsigned long long)edge->succ);
        else if (edge->pred_task > edge->succ_task)
            npu_sanity_note(g->k, NPU_RULE_FORWARD, "%s before its producer %s",
                            name_of(g, edge->succ_task, text), name_of(g, edge->pred_task, other));
    }
}

// ---- rows of a task ------------------------------------------------------------------------

static void check_known(const graph_checker *g) {
    const npu_capture *c = g->k->c;
    char text[32];
    npu_sanity_checked(g->k, NPU_RULE_UNKNOWN);
    npu_sanity_checked(g->k, NPU_RULE_KERNEL);
    for (int i = 0; i < c->core_row_count; i++) {
        const npu_core_row *row = &c->core_rows[i];
        const char *name = npu_task_label(row->task, npu_capture_host_graph(c), text, 32);
        if (g->task_of[i] < 0) {
            npu_sanity_note(g->k, NPU_RULE_UNKNOWN, "%s, core %d", name, row->core);
            continue;
        }
        const npu_dep_task *task = &g->deps->tasks[g->task_of[i]];
        bool runs = c->cores[row->core].type == NPU_AIC
                        ? task->kernel_ids[0] >= 0
                        : task->kernel_ids[1] >= 0 || task->kernel_ids[2] >= 0;
        if (task->has_kernels && !runs)
            npu_sanity_note(g->k, NPU_RULE_KERNEL, "%s, core %d", name, row->core);
    }
}

static void check_count(const graph_checker *g, int t) {
    const npu_dep_task *task = &g->deps->tasks[t];
    int rows = g->rows.first[t + 1] - g->rows.first[t];
    int parts = npu_dep_parts(task);
    char text[32];
    if (!task->has_kernels || (!task->has_blocks && parts > 0) || (rows == 0 && g->skipped[t]))
        return;
    npu_sanity_checked(g->k, NPU_RULE_ROWS);
    if (rows != task->block_num * parts)
        npu_sanity_note(g->k, NPU_RULE_ROWS, "%s: %d rows, %lld blocks of %d kernels",
                        name_of(g, t, text), rows, (long long)task->block_num, parts);
}

// A cluster that runs the AIC's part of a block runs the AIVs' too.
static void check_clusters(const graph_checker *g, int t) {
    const npu_dep_task *task = &g->deps->tasks[t];
    const npu_capture *c = g->k->c;
    char text[32];
    if (g->clusters == 0 || npu_dep_parts(task) < 2)
        return;
    npu_sanity_checked(g->k, NPU_RULE_CLUSTER);
    memset(g->parts, 0, (size_t)g->clusters * sizeof *g->parts);
    for (int i = g->rows.first[t]; i < g->rows.first[t + 1]; i++) {
        int core = c->core_rows[g->rows.items[i]].core;
        int beyond = core - g->clusters;
        g->parts[beyond < 0 ? core : beyond / 2][beyond < 0 ? 0 : 1 + beyond % 2]++;
    }
    int aivs = (task->kernel_ids[1] >= 0) + (task->kernel_ids[2] >= 0);
    for (int cluster = 0; cluster < g->clusters; cluster++) {
        const int *parts = g->parts[cluster];
        bool whole = task->kernel_ids[0] >= 0 && aivs == 1 ? parts[0] == parts[1] + parts[2]
                     : task->kernel_ids[0] >= 0 ? parts[0] == parts[1] && parts[0] == parts[2]
                                                : parts[1] == parts[2];
        if (!whole)
            npu_sanity_note(g->k, NPU_RULE_CLUSTER,
                            "%s, cluster %d: %d on the AIC, %d and %d on the AIVs",
                            name_of(g, t, text), cluster, parts[0], parts[1], parts[2]);
    }
}

// ---- order ---------------------------------------------------------------------------------

// A task without rows hands on the latest end of its producers.
static void check_order(const graph_checker *g, int t) {
    const npu_capture *c = g->k->c;
    int64_t start = INT64_MAX, handed = 0;
    char text[32], other[32];
    for (int i = g->rows.first[t]; i < g->rows.first[t + 1]; i++) {
        const npu_core_row *row = &c->core_rows[g->rows.items[i]];
        start = row->start < start ? row->start : start;
        g->end[t] = row->end > g->end[t] ? row->end : g->end[t];
    }
    for (int i = g->edges.first[t]; i < g->edges.first[t + 1]; i++) {
        int pred = g->deps->edges[g->edges.items[i]].pred_task;
        if (g->seen[pred] == t + 1)
            continue;
        g->seen[pred] = t + 1;
        handed = g->end[pred] > handed ? g->end[pred] : handed;
        if (start != INT64_MAX && g->end[pred] > start + NPU_TICK_SLACK)
            npu_sanity_note(g->k, NPU_RULE_ORDER, "%s starts %lld, %s ends %lld",
                            name_of(g, t, text), (long long)start, name_of(g, pred, other),
                            (long long)g->end[pred]);
    }
    if (start == INT64_MAX)
        g->end[t] = handed;
}

// ---- the whole -----------------------------------------------------------------------------

static int task_of_row(const void *data, int item) {
    const graph_checker *g = data;
    return g->k->c->core_rows[item].start != 0 ? g->task_of[item] : -1;
}

static int consumer_of(const void *data, int item) {
    const npu_dep_edge *edge = &((const graph_checker *)data)->deps->edges[item];
    return edge->wait && edge->pred_task >= 0 ? edge->succ_task : -1;
}

static void note_skipped(const graph_checker *g) {
    for (int i = 0; i < g->k->c->record_count; i++) {
        const npu_record *record = &g->k->c->records[i];
        if (!(record->has & NPU_RECORD_TASK) ||
            strcmp(g->k->c->kinds[record->kind], "predicated_skip") != 0)
            continue;
        int task = npu_deps_find(g->deps, record->task);
        if (task >= 0)
            g->skipped[task] = true;
    }
}

static npu_status prepare(graph_checker *g) {
    size_t tasks = (size_t)g->deps->task_count;
    const npu_capture *c = g->k->c;
    g->clusters = npu_capture_clusters(c);
    g->task_of = calloc((size_t)c->core_row_count + 1, sizeof *g->task_of);
    g->skipped = calloc(tasks + 1, sizeof *g->skipped);
    g->end = calloc(tasks + 1, sizeof *g->end);
    g->seen = calloc(tasks + 1, sizeof *g->seen);
    g->parts = calloc((size_t)g->clusters + 1, sizeof *g->parts);
    if (g->task_of == NULL || g->skipped == NULL || g->end == NULL || g->seen == NULL ||
        g->parts == NULL)
        return npu_fail_memory(g->k->err);
    for (int i = 0; i < c->core_row_count; i++)
        g->task_of[i] = npu_deps_find(g->deps, c->core_rows[i].task);
    npu_status status = npu_groups_make(&g->rows, g->deps->task_count, c->core_row_count,
                                        task_of_row, g, g->k->err);
    if (status == NPU_OK)
        status = npu_groups_make(&g->edges, g->deps->task_count, g->deps->edge_count, consumer_of,
                                 g, g->k->err);
    return status;
}

npu_status npu_sanity_graph(npu_checker *k) {
    graph_checker g = {.k = k, .deps = k->deps};
    npu_status status = prepare(&g);
    if (status == NPU_OK) {
        note_skipped(&g);
        check_graph(&g);
        check_known(&g);
        npu_sanity_checked(k, NPU_RULE_ORDER);
        assert(g.rows.first != NULL && g.edges.first != NULL);
        for (int t = 0; t < k->deps->task_count; t++) {
            check_count(&g, t);
            check_clusters(&g, t);
            check_order(&g, t);
        }
    }
    free(g.task_of);
    free(g.skipped);
    free(g.end);
    free(g.seen);
    free(g.parts);
    npu_groups_free(&g.rows);
    npu_groups_free(&g.edges);
    return status;
}
