// SPDX-License-Identifier: Apache-2.0
#include "summary.h"

#include "step.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

// jansson's builders give NULL when memory runs out, and set_new refuses a NULL: one look at
// the end of building is enough.
static int put(json_t *object, const char *key, json_t *value) {
    return json_object_set_new(object, key, value);
}

static json_t *texts(const char *const *items, int count) {
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(list, json_string(items[i]));
    return list;
}

// A die of the user's own is found by its path only.
static bool is_file(const char *die) {
    size_t length = die != NULL ? strlen(die) : 0;
    return length > 5 && strcmp(die + length - 5, ".yaml") == 0;
}

static json_t *inputs(const npu_context *context, const npusim_run_options *options,
                      const npu_graph *graph) {
    char hash[32];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)graph->hash);
    json_t *o = json_object();
    put(o, "graph", json_string(graph->path));
    put(o, "graph_hash", json_string(hash));
    put(o, "die", json_string(context->die.name));
    if (is_file(options->input.die))
        put(o, "die_file", json_string(options->input.die));
    if (graph->ranks > 1) {
        put(o, "rank", json_integer(graph->rank));
        put(o, "ranks", json_integer(graph->ranks));
        put(o, "fabric", json_string(context->ranks.fabric_path));
    }
    put(o, "engine", json_string(npu_engine_names[context->engine]));
    put(o, "l2", json_string(options->input.l2_warm ? "warm" : "cold"));
    put(o, "set", texts(options->input.sets, options->input.set_count));
    if (options->command != NULL)
        put(o, "command", json_string(options->command));
    return o;
}

static json_t *l2_use(const npu_totals *t) {
    json_t *o = json_object();
    for (int c = 0; c < NPU_CLASS_COUNT; c++) {
        json_t *use = json_object();
        put(use, "hit_bytes", json_real(t->l2[c].hit));
        put(use, "missed_bytes", json_real(t->l2[c].missed));
        put(use, "evicted_unused_bytes", json_real(t->l2[c].evicted));
        put(use, "warmed_bytes", json_real(t->l2[c].warmed));
        put(use, "warmed_used_bytes", json_real(t->l2[c].warmed_used));
        put(o, npu_class_names[c], use);
    }
    return o;
}

static json_t *totals(const npu_trace *trace) {
    const npu_totals *t = &trace->totals;
    json_t *o = json_object();
    json_t *loads = json_object(), *stores = json_object();
    for (int c = 0; c < NPU_CLASS_COUNT; c++) {
        put(loads, npu_class_names[c], json_integer(t->load_bytes[c]));
        put(stores, npu_class_names[c], json_integer(t->store_bytes[c]));
    }
    put(o, "load_bytes", loads);
    put(o, "store_bytes", stores);
    put(o, "macs", json_integer(t->mac_padded));
    put(o, "macs_valid", json_integer(t->mac_valid));
    put(o, "vec_elements", json_integer(t->vec_elements));
    put(o, "tile_ops", json_integer(t->ops));
    put(o, "prefetch_bytes", json_integer(t->prefetch_bytes));
    put(o, "l2", l2_use(t));
    put(o, "l2_hit_bytes", json_real(t->l2_hit_bytes));
    put(o, "l2_miss_bytes", json_real(t->l2_miss_bytes));
    put(o, "hbm_read_bytes", json_real(t->hbm_read_bytes));
    put(o, "hbm_write_bytes", json_real(t->hbm_write_bytes));
    return o;
}

static json_t *kernels(const npu_metrics *metrics) {
    json_t *list = json_array();
    for (int i = 0; i < metrics->kernel_count; i++) {
        const npu_kernel_metrics *k = &metrics->kernels[i];
        json_t *o = json_object();
        put(o, "name", json_string(k->name));
        put(o, "engine", json_string(npu_engine_type_names[k->engine]));
        put(o, "tasks", json_integer(k->tasks));
        put(o, "blocks", json_integer(k->blocks));
        put(o, "rows", json_integer(k->rows));
        put(o, "block_mean_us", json_real(k->block_mean / 1000));
        put(o, "block_max_us", json_real(k->block_max / 1000));
        put(o, "bound_pipe", json_string(npu_pipe_names[k->bound_pipe]));
        put(o, "bound_share", json_real(k->bound_share));
        put(o, "read_bytes", json_integer(k->read_bytes));
        put(o, "write_bytes", json_integer(k->write_bytes));
        put(o, "core_share", json_real(k->core_share));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *utilisation(const npu_trace *trace, const npu_metrics *metrics) {
    json_t *o = json_object(), *threads = json_array();
    const npu_totals *t = &trace->totals;
    double span = trace->makespan > 0 ? trace->makespan : 1;
    put(o, "aic", json_real(metrics->aic_busy));
    put(o, "aiv", json_real(metrics->aiv_busy));
    put(o, "hbm", json_real((t->hbm_read_bytes + t->hbm_write_bytes) / span / t->hbm_peak));
    put(o, "l2_read", json_real((t->l2_hit_bytes + t->l2_miss_bytes) / span / t->l2_read_peak));
    for (int i = 0; i < metrics->aicpu_count; i++)
        json_array_append_new(threads, json_real(metrics->aicpu_busy[i]));
    put(o, "aicpu", threads);
    return o;
}

static json_t *chain(const npu_graph *graph, const npu_metrics *metrics) {
    json_t *list = json_array();
    for (int i = 0; i < metrics->chain_count; i++) {
        const npu_chain_link *link = &metrics->chain[i];
        json_t *o = json_object();
        put(o, "task", json_string(graph->tasks[link->task].name));
        put(o, "wait_us", json_real(link->wait / 1000));
        put(o, "reason", json_string(npu_wait_names[link->reason]));
        put(o, "exec_us", json_real(link->exec / 1000));
        json_array_append_new(list, o);
    }
    return list;
}

// Of this rank alone.
static json_t *step(const npu_context *context, const npu_graph *graph, const npu_trace *trace) {
    npu_step_times t = npu_step_time(&graph->step, &context->die, trace->makespan);
    json_t *o = json_object();
    put(o, "total_us", json_real(t.total / 1000));
    put(o, "device_us", json_real(t.device / 1000));
    put(o, "metadata_us", json_real(t.metadata / 1000));
    put(o, "to_device_us", json_real(t.to_device / 1000));
    put(o, "submit_us", json_real(t.submit / 1000));
    put(o, "from_device_us", json_real(t.from_device / 1000));
    return o;
}

npu_status npu_summary_write(FILE *out, const npu_context *context,
                             const npusim_run_options *options, const npu_graph *graph,
                             const npu_trace *trace, const npu_metrics *metrics, npu_error *err) {
    json_t *o = json_object();
    put(o, "npusim", json_string(NPUSIM_VERSION));
    put(o, "input", inputs(context, options, graph));
    put(o, "warnings",
        texts((const char *const *)context->warnings.lines, context->warnings.count));
    put(o, "makespan_us", json_real(trace->makespan / 1000));
    if (graph->step.given)
        put(o, "step", step(context, graph, trace));
    put(o, "tasks", json_integer(graph->task_count));
    put(o, "rows", json_integer(trace->row_count));
    put(o, "utilisation", utilisation(trace, metrics));
    put(o, "totals", totals(trace));
    put(o, "kernels", kernels(metrics));
    int failed = put(o, "chain", chain(graph, metrics));
    if (o == NULL || failed || json_dumpf(o, out, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) != 0) {
        json_decref(o);
        return npu_fail(err, NPU_IO, (npu_pos){0}, "cannot write summary.json");
    }
    json_decref(o);
    fputc('\n', out);
    return NPU_OK;
}
