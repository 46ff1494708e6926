// SPDX-License-Identifier: Apache-2.0
#include "deps.h"

#include <assert.h>

#include "emit.h"
#include "trace.h"

static const char *const access_types[] = {"INPUT", "OUTPUT", "INOUT", "OUTPUT_EXISTING", "NO_DEP"};
static const char *const source_names[] = {"explicit", "creator", "tensormap"};

_Static_assert(sizeof access_types / sizeof *access_types == NPU_ACCESS_COUNT, "accesses");

uint64_t npu_tensor_id(const char *name) {
    uint64_t hash = UINT64_C(14695981039346656037); // FNV-1a
    for (const char *c = name; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    return hash;
}

static const npu_tensor *storage_of(const npu_graph *graph, const npu_arg *arg) {
    return &graph->tensors[graph->tensors[arg->tensor].storage];
}

static json_t *numbers(const int64_t *values, int count) {
    json_t *list = json_array();
    for (int i = 0; i < count && list != NULL; i++)
        if (json_array_append_new(list, json_integer(values[i])) != 0) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

// A key made of a prefix and a word: "consumer_" "shape".
static int set_prefixed(json_t *json, const char *prefix, const char *word, json_t *value) {
    char key[40];
    snprintf(key, sizeof key, "%s%s", prefix, word);
    return json_object_set_new(json, key, value);
}

// The window's shape, start_offset and strides. False when memory runs out.
static bool set_window(json_t *json, const char *prefix, const npu_arg *arg) {
    npu_u64_text offset = npu_u64((uint64_t)arg->offset);
    return set_prefixed(json, prefix, "shape", numbers(arg->shape, arg->rank)) == 0 &&
           set_prefixed(json, prefix, "start_offset", json_string(offset.text)) == 0 &&
           set_prefixed(json, prefix, "strides", numbers(arg->stride, arg->rank)) == 0;
}

// The tensor's id, the dtype and the window.
static bool set_tensor(json_t *json, const char *prefix, const npu_graph *graph,
                       const npu_arg *arg) {
    npu_u64_text id = npu_u64(npu_tensor_id(storage_of(graph, arg)->name));
    const char *dtype = npu_dtype_runtime_names[graph->tensors[arg->tensor].dtype];
    return json_object_set_new(json, "tensor_id", json_string(id.text)) == 0 &&
           set_prefixed(json, prefix, "dtype", json_string(dtype)) == 0 &&
           set_window(json, prefix, arg);
}

static json_t *checked(json_t *json, bool fits) {
    if (fits)
        return json;
    json_decref(json);
    return NULL;
}

static json_t *arg_json(const npu_graph *graph, const npu_arg *arg, int idx) {
    json_t *json = json_pack("{s:i s:s}", "idx", idx, "type", access_types[arg->access]);
    // The memory of an OUTPUT is not there yet when dep_gen looks.
    bool fits = json != NULL && (arg->access == NPU_OUT || set_tensor(json, "", graph, arg));
    return checked(json, fits);
}

static json_t *task_json(const npu_graph *graph, int index) {
    const npu_task *task = &graph->tasks[index];
    int aic = task->engine == NPU_AIV ? -1 : npu_task_func_id(graph, task, NPU_AIC);
    int aiv = task->engine == NPU_AIC ? -1 : npu_task_func_id(graph, task, NPU_AIV);
    json_t *args = json_array();
    bool fits = args != NULL;
    for (int i = 0; i < task->arg_count && fits; i++) {
        const npu_arg *arg = &graph->args[task->first_arg + i];
        fits = json_array_append_new(args, arg_json(graph, arg, i)) == 0;
    }
    args = checked(args, fits);
    return json_pack("{s:s s:s s:b s:[iii] s:I s:o}", "task_id", npu_u64(npu_task_id(index)).text,
                     "scope", task->manual ? "manual" : "auto", "early_dispatch", task->early,
                     "kernel_ids", aic, aiv, task->engine == NPU_MIX ? aiv : -1, "block_num",
                     (json_int_t)task->block_num, "args", args);
}

static json_t *tensor_json(const npu_tensor *tensor) {
    return json_pack("{s:s s:s s:i s:s s:s}", "tensor_id",
                     npu_u64(npu_tensor_id(tensor->name)).text, "buffer_addr",
                     npu_u64((uint64_t)tensor->address).text, "version", 0, "dtype",
                     npu_dtype_runtime_names[tensor->dtype], "buffer_numel",
                     npu_u64((uint64_t)(tensor->bytes / npu_dtype_bytes(tensor->dtype))).text);
}

static json_t *edge_json(const npu_graph *graph, const npu_edge *edge) {
    bool map = edge->source == NPU_EDGE_TENSORMAP;
    json_t *json = json_pack("{s:s s:s s:i s:s}", "pred", npu_u64(npu_task_id(edge->pred)).text,
                             "succ", npu_u64(npu_task_id(edge->succ)).text, "arg", edge->arg,
                             "source", source_names[edge->source]);
    json_t *flags = map ? json_pack("[s]", "wait") : json_pack("[ss]", "wait", "retain");
    bool fits = json != NULL && json_object_set_new(json, "flags", flags) == 0;
    if (json == NULL)
        json_decref(flags);
    if (map)
        fits = fits && json_object_set_new(json, "overlap",
                                           json_string(edge->covered ? "covered" : "other")) == 0;
    if (edge->source != NPU_EDGE_EXPLICIT) {
        assert(edge->arg >= 0);
        const npu_arg *consumer = &graph->args[graph->tasks[edge->succ].first_arg + edge->arg];
        fits = fits && set_tensor(json, "consumer_", graph, consumer);
    }
    if (map) {
        assert(edge->producer_arg >= 0);
        const npu_task *pred = &graph->tasks[edge->pred];
        fits = fits &&
               set_window(json, "producer_", &graph->args[pred->first_arg + edge->producer_arg]);
    }
    return checked(json, fits);
}

npu_status npu_deps_write(FILE *out, const npu_graph *graph, npu_error *err) {
    npu_emit emit = {.out = out, .flags = JSON_COMPACT, .err = err};
    npu_emit_list(&emit, "{\"tasks\":[");
    for (int i = 0; i < graph->task_count; i++)
        npu_emit_item(&emit, "\n", task_json(graph, i));
    npu_emit_list(&emit, "],\n\"tensors\":[");
    for (int i = 0; i < graph->tensor_count; i++)
        if (graph->tensors[i].storage == i)
            npu_emit_item(&emit, "\n", tensor_json(&graph->tensors[i]));
    npu_emit_list(&emit, "],\n\"edges\":[");
    for (int i = 0; i < graph->edge_count; i++)
        npu_emit_item(&emit, "\n", edge_json(graph, &graph->edges[i]));
    npu_emit_text(&emit, "]}\n");
    return npu_emit_done(&emit);
}
