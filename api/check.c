// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "early.h"
#include "false_edges.h"
#include "races.h"
#include "redundant.h"

enum { MOST_KINDS = 24 }; // lines per analysis

static const char *plural(int64_t count) {
    return count == 1 ? "" : "s";
}

static void print_found(const npu_context *context, FILE *report) {
    const npu_graph *graph = &context->ranks.graphs[0];
    int64_t blocks = 0;
    int count[NPU_DUMMY + 1] = {0};
    for (int i = 0; i < graph->task_count; i++) {
        blocks += graph->tasks[i].block_num;
        count[graph->tasks[i].engine]++;
    }
    int edges = 0; // several causes may join one pair
    for (int i = 0; i < graph->edge_count; i++) {
        const npu_edge *e = &graph->edges[i];
        edges += i == 0 || e->succ != e[-1].succ || e->pred != e[-1].pred;
    }
    fprintf(report, "%s: %d task%s (%d AIC, %d AIV, %d MIX, %d dummy), %lld block%s, %d edge%s\n",
            graph->path, graph->task_count, plural(graph->task_count), count[NPU_AIC],
            count[NPU_AIV], count[NPU_MIX], count[NPU_DUMMY], (long long)blocks, plural(blocks),
            edges, plural(edges));
    if (graph->ranks > 1)
        fprintf(report, "rank 0 of %d, on fabric %s\n", graph->ranks, context->ranks.fabric_path);
    fprintf(report, "fits die %s, with %d warning%s\n", context->die.name, context->warnings.count,
            plural(context->warnings.count));
}

// ---- deep: findings by kinds of tasks ------------------------------------------------------

typedef struct finding { // about two tasks
    const npu_task *first, *second;
    const char *cause;
} finding;

static int compare_kinds(const finding *x, const finding *y) {
    int by_first = strcmp(x->first->kernel, y->first->kernel);
    int by_second = strcmp(x->second->kernel, y->second->kernel);
    return by_first != 0 ? by_first : by_second != 0 ? by_second : strcmp(x->cause, y->cause);
}

// Also by the tasks, whose addresses are in submission order.
static int by_kinds(const void *a, const void *b) {
    const finding *x = a, *y = b;
    int kinds = compare_kinds(x, y);
    if (kinds != 0)
        return kinds;
    if (x->second != y->second)
        return x->second < y->second ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

typedef struct group { // findings of one kind, [at, at + count)
    int at, count;
} group;

static int by_count(const void *a, const void *b) {
    const group *x = a, *y = b;
    return x->count != y->count ? (x->count > y->count ? -1 : 1)
                                : (x->at > y->at) - (x->at < y->at);
}

// One line for each kind, the most frequent first. `findings` are put into another order.
static npu_status print_kinds(FILE *out, finding *findings, int count, const char *first,
                              const char *second, const char *cause, npu_error *err) {
    assert(findings != NULL);
    group *groups = calloc((size_t)count + 1, sizeof *groups);
    if (groups == NULL)
        return npu_fail_memory(err);
    qsort(findings, (size_t)count, sizeof *findings, by_kinds);
    int group_count = 0;
    for (int i = 0; i < count; i++) {
        if (i == 0 || compare_kinds(&findings[i - 1], &findings[i]) != 0)
            groups[group_count++] = (group){i, 0};
        groups[group_count - 1].count++;
    }
    qsort(groups, (size_t)group_count, sizeof *groups, by_count);
    if (count > 0)
        fprintf(out, "  %7s  %-26s %-26s %s\n", "", first, second, cause);
    for (int i = 0; i < group_count && i < MOST_KINDS; i++) {
        const finding *f = &findings[groups[i].at];
        fprintf(out, "  %5d x  %-26.26s %-26.26s %s\n", groups[i].count, f->first->kernel,
                f->second->kernel, f->cause);
    }
    if (group_count > MOST_KINDS)
        fprintf(out, "  and %d more kinds\n", group_count - MOST_KINDS);
    free(groups);
    return NPU_OK;
}

typedef struct deep {
    const npu_graph *graph;
    const npu_walls *walls;
    npu_order order;
    FILE *out;
    npu_error *err;
} deep;

static npu_status print_redundant(const deep *d) {
    static const char *const causes[] = {"after", "creator", "tensor map"};
    npu_redundant found;
    npu_status status = npu_redundant_find(d->graph, &d->order, &found, d->err);
    finding *list = calloc((size_t)found.count + 1, sizeof *list);
    if (list == NULL)
        status = npu_fail_memory(d->err);
    for (int i = 0; i < found.count && list != NULL; i++) {
        const npu_redundant_edge *e = &found.items[i];
        list[i] = (finding){&d->graph->tasks[e->pred], &d->graph->tasks[e->succ],
                            causes[d->graph->edges[e->edge].source]};
    }
    if (!status) {
        fprintf(d->out, "\nredundant edges: %d of %d; another way orders the two tasks\n",
                found.count, found.pairs);
        status = print_kinds(d->out, list, found.count, "from", "to", "by", d->err);
    }
    free(list);
    npu_redundant_free(&found);
    return status;
}

static void print_early_end(FILE *out, bool complete) {
    if (!complete)
        fprintf(out, "  there are more: the search ended early for its length\n");
}

static const char *race_cause(const npu_graph *graph, const npu_race *race) {
    if (graph->args[race->first_arg].access == NPU_IN)
        return "write after read";
    return graph->args[race->second_arg].access == NPU_IN ? "read after write"
                                                          : "write after write";
}

static npu_status print_races(const deep *d) {
    npu_races found;
    npu_status status = npu_races_find(d->graph, &d->order, d->walls, &found, d->err);
    finding *list = calloc((size_t)found.count + 1, sizeof *list);
    if (list == NULL)
        status = npu_fail_memory(d->err);
    int reads = 0;
    for (int i = 0; i < found.count && list != NULL; i++) {
        const npu_race *r = &found.items[i];
        list[i] = (finding){&d->graph->tasks[r->first], &d->graph->tasks[r->second],
                            race_cause(d->graph, r)};
        reads += d->graph->args[r->first_arg].access == NPU_IN;
    }
    if (!status) {
        fprintf(d->out,
                "\nraces: %d of a write after a read, %d others; no edge orders the two tasks\n",
                reads, found.count - reads);
        print_early_end(d->out, found.complete);
        status = print_kinds(d->out, list, found.count, "first", "then", "race", d->err);
    }
    free(list);
    npu_races_free(&found);
    return status;
}

static npu_status print_false(const deep *d) {
    npu_false_edges found;
    npu_status status = npu_false_edges_find(d->graph, &d->order, &found, d->err);
    finding *list = calloc((size_t)found.count + 1, sizeof *list);
    if (list == NULL)
        status = npu_fail_memory(d->err);
    int cost = 0;
    for (int i = 0; i < found.count && list != NULL; i++) {
        const npu_false_edge *f = &found.items[i];
        list[i] = (finding){&d->graph->tasks[f->pred], &d->graph->tasks[f->succ],
                            f->ordered    ? "ordered anyway"
                            : f->in_graph ? "orders the two"
                                          : "orders the two, on the device only"};
        cost += !f->ordered;
    }
    if (!status) {
        fprintf(d->out,
                "\nfalse serialisation: %d edge%s of disjoint regions whose extents overlap, "
                "%d order tasks\n",
                found.count, plural(found.count), cost);
        print_early_end(d->out, found.complete);
        if (found.undecided > 0)
            fprintf(d->out, "  %d pairs of regions are too large to compare\n", found.undecided);
        status = print_kinds(d->out, list, found.count, "writer", "reader", "effect", d->err);
    }
    free(list);
    npu_false_edges_free(&found);
    return status;
}

static npu_status print_flags(const deep *d) {
    npu_flags found;
    npu_status status = npu_flags_find(d->graph, &d->order, &found, d->err);
    finding *list = calloc((size_t)found.count + 1, sizeof *list);
    if (list == NULL)
        status = npu_fail_memory(d->err);
    int count = 0;
    for (int i = 0; i < found.count && list != NULL; i++) {
        const npu_flag_use *use = &found.items[i];
        const npu_task *task = &d->graph->tasks[use->task];
        if (use->staged > 0)
            continue;
        bool sibling = use->sibling >= 0;
        list[count++] = (finding){task, sibling ? &d->graph->tasks[use->sibling] : task,
                                  use->consumers == 0 ? "none: nothing waits for it"
                                  : !sibling          ? "none: consumers cannot be staged"
                                  : use->by_redundant ? "lacks it; its edge is redundant"
                                                      : "lacks the flag"};
    }
    if (!status) {
        fprintf(d->out, "\nearly flags: %d of %d are useless; no consumer can be staged early\n",
                found.useless, found.count);
        status = print_kinds(d->out, list, count, "flagged", "sibling", "which", d->err);
    }
    free(list);
    npu_flags_free(&found);
    return status;
}

static npu_status look_deep(const npu_context *context, FILE *out, npu_error *err) {
    npu_walls walls;
    npu_die_walls(&context->die, &walls);
    deep d = {.graph = &context->ranks.graphs[0], .walls = &walls, .out = out, .err = err};
    if (d.graph->task_count > NPU_ORDER_TASKS)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){d.graph->path, 0, 0},
                        "%d tasks are too many to look at deeply; at most %d", d.graph->task_count,
                        NPU_ORDER_TASKS);
    npu_status status = npu_order_make(d.graph, &d.order, err);
    if (!status)
        status = print_redundant(&d);
    if (!status)
        status = print_races(&d);
    if (!status)
        status = print_false(&d);
    if (!status)
        status = print_flags(&d);
    npu_order_free(&d.order);
    return status;
}

static npu_status check(const npusim_input *input, bool deeply, FILE *report, FILE *warn,
                        npu_error *err) {
    npu_context context;
    npu_status status = npu_context_open(&context, input, err);
    npu_context_print_warnings(&context, 0, warn);
    if (!status && report != NULL)
        print_found(&context, report);
    if (!status && report != NULL && deeply)
        status = look_deep(&context, report, err);
    npu_context_close(&context);
    return status;
}

npu_status npusim_check(const npusim_input *input, FILE *report, FILE *warn, npu_error *err) {
    return check(input, false, report, warn, err);
}

npu_status npusim_check_deep(const npusim_input *input, FILE *report, FILE *warn, npu_error *err) {
    return check(input, true, report, warn, err);
}
