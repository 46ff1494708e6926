// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "explain.h"
#include "json_put.h"

static int by_path(const void *a, const void *b) {
    const npu_kernel_time *x = a, *y = b;
    double wall[2] = {x->path + x->gaps, y->path + y->gaps};
    bool rows[2] = {x->core > 0, y->core > 0};
    if (rows[0] != rows[1])
        return rows[0] ? -1 : 1;
    if (wall[0] != wall[1])
        return wall[0] > wall[1] ? -1 : 1;
    if (x->core != y->core)
        return x->core > y->core ? -1 : 1;
    return (x->func > y->func) - (x->func < y->func);
}

npu_kernel_time *npu_kernel_times(const npu_simulated *run, int *used) {
    const npu_metrics *m = &run->metrics;
    const npu_graph *graph = npu_simulated_graph(run);
    npu_kernel_time *times = calloc((size_t)m->kernel_count + 1, sizeof *times);
    if (times == NULL)
        return NULL;
    *used = 0;
    for (int i = 0; i < m->kernel_count; i++) {
        times[i] = (npu_kernel_time){.func = i, .core = m->kernels[i].core_time};
        *used += m->kernels[i].core_time > 0;
    }
    for (int i = 0; i < m->chain_count; i++) {
        npu_kernel_time *t = &times[graph->tasks[m->chain[i].task].func];
        t->path += m->chain[i].exec;
        t->gaps += m->chain[i].wait;
    }
    qsort(times, (size_t)m->kernel_count, sizeof *times, by_path);
    return times;
}

static json_t *us(double ns) {
    return json_real(ns / 1000);
}

static void put_parts(json_t *o, const double *part) {
    static const char *const keys[] = {"detect_us", "submit_us", "undispatched_us", "pick_up_us"};
    for (int c = 0; c < NPU_CAUSE_COUNT; c++)
        npu_json_put(o, keys[c], us(part[c]));
}

static json_t *observed(const npu_simulated *run) {
    const npu_metrics *m = &run->metrics;
    json_t *o = json_object(), *links = json_array();
    npu_json_put(o, "kernels_us", us(m->chain_exec));
    put_parts(o, run->gaps.part);
    npu_json_put(o, "last_finish_us", us(m->chain_tail));
    for (int i = 0; i < m->chain_count; i++) {
        const npu_chain_link *link = &m->chain[i];
        const npu_row *row = &npu_simulated_trace(run)->rows[link->row];
        json_t *l = json_object();
        npu_json_put(l, "task", json_string(npu_simulated_graph(run)->tasks[link->task].name));
        npu_json_put(l, "block", json_integer(row->block));
        npu_json_put(l, "core", json_integer(row->core));
        npu_json_put(l, "start_us", us(row->start));
        npu_json_put(l, "reason", json_string(npu_wait_names[link->reason]));
        put_parts(l, run->gaps.gaps[i].part);
        npu_json_put(l, "exec_us", us(link->exec));
        json_array_append_new(links, l);
    }
    npu_json_put(o, "links", links);
    return o;
}

static json_t *static_path(const npu_simulated *run) {
    json_t *o = json_object(), *tasks = json_array();
    npu_json_put(o, "length_us", us(run->gaps.path_length));
    for (int i = 0; i < run->gaps.path_count; i++) {
        const npu_static_link *link = &run->gaps.path[i];
        json_t *t = json_object();
        npu_json_put(t, "task", json_string(npu_simulated_graph(run)->tasks[link->task].name));
        npu_json_put(t, "length_us", us(link->length));
        json_array_append_new(tasks, t);
    }
    npu_json_put(o, "tasks", tasks);
    return o;
}

static json_t *kernels(const npu_simulated *run, const npu_kernel_time *times, int count) {
    json_t *list = json_array();
    for (int i = 0; i < count; i++) {
        json_t *o = json_object();
        npu_json_put(o, "name", json_string(run->metrics.kernels[times[i].func].name));
        npu_json_put(o, "core_us", us(times[i].core));
        npu_json_put(o, "path_us", us(times[i].path));
        npu_json_put(o, "gaps_us", us(times[i].gaps));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *cores(const npu_simulated *run, int type) {
    const npu_core_time *t = &run->gaps.cores[type];
    json_t *o = json_object();
    npu_json_put(o, "count", json_integer(t->cores));
    npu_json_put(o, "kernels_us", us(t->kernel));
    npu_json_put(o, "data_us", us(t->data));
    put_parts(o, t->part);
    npu_json_put(o, "no_work_us", us(t->no_work));
    return o;
}

static json_t *whatifs(const npu_explained *e) {
    json_t *list = json_array();
    for (int i = 0; i < e->whatifs.count; i++) {
        const npu_whatif *w = &e->whatifs.items[i];
        json_t *o = json_object();
        npu_json_put(o, "name", json_string(w->name));
        npu_json_put(o, "means", json_string(w->means));
        npu_json_put(o, "makespan_us", w->failed ? json_null() : us(w->makespan));
        npu_json_put(o, "saved_us",
                     w->failed ? json_null() : us(e->run.metrics.makespan - w->makespan));
        json_array_append_new(list, o);
    }
    return list;
}

npu_status npu_explain_json(const npu_explained *e, FILE *out, npu_error *err) {
    const npu_simulated *run = &e->run;
    int used = 0;
    npu_kernel_time *times = npu_kernel_times(run, &used);
    if (times == NULL)
        return npu_fail_memory(err);
    json_t *o = json_object();
    npu_json_put(o, "npusim", json_string(NPUSIM_VERSION));
    npu_json_put(o, "folder", json_string(e->folder));
    npu_json_put(o, "graph", json_string(npu_simulated_graph(run)->path));
    npu_json_put(o, "die", json_string(run->context.die.name));
    npu_json_put(o, "rank", json_integer(run->slowest));
    npu_json_put(o, "ranks", json_integer(run->context.ranks.count));
    npu_json_put(o, "makespan_us", us(run->metrics.makespan));
    npu_json_put(o, "observed_path", observed(run));
    npu_json_put(o, "static_path", static_path(run));
    npu_json_put(o, "kernels", kernels(run, times, used));
    npu_json_put(o, "aic", cores(run, NPU_AIC));
    npu_json_put(o, "aiv", cores(run, NPU_AIV));
    int failed = npu_json_put(o, "what_if", whatifs(e));
    free(times);
    return npu_json_print(o, failed, out, err);
}
