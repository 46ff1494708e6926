// SPDX-License-Identifier: Apache-2.0
// Where two schedules part: both runs as lists of what happened, in time order.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"

// Times that both engines and all builds would give alike are the same.
static const double same_time = 1e-6;

typedef enum kind { SUBMITTED, DISPATCHED, STARTED, ENDED, FINISHED } kind;

typedef struct event {
    double time;
    kind kind;
    const char *task;
    int64_t block; // -1: of a submit
    int core;      // -1: of a submit
} event;

typedef struct events {
    event *items;
    int count;
} events;

static int by_time(const void *a, const void *b) {
    const event *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->core != y->core)
        return x->core < y->core ? -1 : 1;
    int task = strcmp(x->task, y->task);
    return task != 0 ? task : (x->block > y->block) - (x->block < y->block);
}

static npu_status collect(const npu_simulated *run, events *list, npu_error *err) {
    const npu_trace *trace = npu_simulated_trace(run);
    const npu_task *tasks = npu_simulated_graph(run)->tasks;
    size_t most = (size_t)trace->submit_count + 4 * (size_t)trace->row_count;
    list->items = calloc(most + 1, sizeof *list->items);
    if (list->items == NULL)
        return npu_fail_memory(err);
    for (int i = 0; i < trace->submit_count; i++) {
        const npu_submit *s = &trace->submits[i];
        if (s->task >= 0)
            list->items[list->count++] = (event){s->end, SUBMITTED, tasks[s->task].name, -1, -1};
    }
    for (int i = 0; i < trace->row_count; i++) {
        const npu_row *r = &trace->rows[i];
        const double times[] = {r->dispatch, r->start, r->end, r->finish};
        for (int k = 0; k < 4; k++)
            list->items[list->count++] =
                (event){times[k], (kind)(DISPATCHED + k), tasks[r->task].name, r->block, r->core};
    }
    qsort(list->items, (size_t)list->count, sizeof *list->items, by_time);
    return NPU_OK;
}

static bool same(const event *x, const event *y) {
    return fabs(x->time - y->time) <= same_time * (1 + fabs(x->time)) && x->kind == y->kind &&
           x->block == y->block && x->core == y->core && strcmp(x->task, y->task) == 0;
}

static void describe(const events *list, int at, double *time, char *text, size_t size) {
    static const char *const verbs[] = {"is submitted", "is dispatched to", "starts on", "ends on",
                                        "is seen to finish on"};
    *time = INFINITY;
    if (at == list->count) {
        snprintf(text, size, "nothing, it is over");
        return;
    }
    const event *e = &list->items[at];
    *time = e->time;
    if (e->kind == SUBMITTED)
        snprintf(text, size, "%.48s is submitted", e->task);
    else
        snprintf(text, size, "%.40s block %lld %s core %d", e->task, (long long)e->block,
                 verbs[e->kind], e->core);
}

npu_status npu_find_part(const npu_simulated *a, const npu_simulated *b, npu_part_point *part,
                         npu_error *err) {
    events lists[2] = {{0}};
    npu_status status = collect(a, &lists[0], err);
    if (!status)
        status = collect(b, &lists[1], err);
    *part = (npu_part_point){0};
    if (!status) {
        int at = 0;
        while (at < lists[0].count && at < lists[1].count &&
               same(&lists[0].items[at], &lists[1].items[at]))
            at++;
        part->found = at < lists[0].count || at < lists[1].count;
        for (int i = 0; i < 2; i++)
            describe(&lists[i], at, &part->time[i], part->what[i], sizeof part->what[i]);
    }
    free(lists[0].items);
    free(lists[1].items);
    return status;
}
