// SPDX-License-Identifier: Apache-2.0
#include "deps.h"

#include <assert.h>
#include <stdbool.h>

#include "emit.h"
#include "trace.h"

const char *const npu_dep_access_names[] = {"INPUT",           "OUTPUT", "INOUT",
                                            "OUTPUT_EXISTING", "NO_DEP", NULL};
const char *const npu_dep_source_names[] = {"explicit", "creator", "tensormap", NULL};

_Static_assert(sizeof npu_dep_access_names / sizeof *npu_dep_access_names == NPU_ACCESS_COUNT + 1,
               "accesses");

uint64_t npu_tensor_id(const char *name) {
    uint64_t hash = UINT64_C(14695981039346656037); // FNV-1a
    for (const char *c = name; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    return hash;
}

static const npu_tensor *storage_of(const npu_graph *graph, const npu_arg *arg) {
    return &graph->tensors[graph->tensors[arg->tensor].storage];
}

// "[4,16]". Five numbers of 20 characters fit.
typedef struct list_text {
    char text[112];
} list_text;

static list_text list_of(const int64_t *values, int count) {
    assert(count >= 0 && count <= NPU_MAX_RANK);
    list_text list = {"["};
    int used = 1;
    for (int i = 0; i < count; i++)
        used += snprintf(list.text + used, sizeof list.text - (size_t)used, "%s%lld",
                         i > 0 ? "," : "", (long long)values[i]);
    snprintf(list.text + used, sizeof list.text - (size_t)used, "]");
    return list;
}

// The window's shape, start_offset and strides, their keys behind `prefix`.
static void emit_window(npu_emit *emit, const char *prefix, const npu_arg *arg) {
    assert(arg->offset >= 0);
    npu_emit_text(emit, ",\"%sshape\":%s,\"%sstart_offset\":\"%lld\",\"%sstrides\":%s", prefix,
                  list_of(arg->shape, arg->rank).text, prefix, (long long)arg->offset, prefix,
                  list_of(arg->stride, arg->rank).text);
}

// The tensor's id, the dtype and the window.
static void emit_tensor(npu_emit *emit, const char *prefix, const npu_graph *graph,
                        const npu_arg *arg) {
    npu_emit_text(emit, ",\"tensor_id\":\"%s\",\"%sdtype\":\"%s\"",
                  npu_u64(npu_tensor_id(storage_of(graph, arg)->name)).text, prefix,
                  npu_dtype_runtime_names[graph->tensors[arg->tensor].dtype]);
    emit_window(emit, prefix, arg);
}

static void emit_task(npu_emit *emit, const npu_graph *graph, int index) {
    const npu_task *task = &graph->tasks[index];
    assert(task->first_arg >= 0 && task->first_arg + task->arg_count <= graph->arg_count);
    int aic = task->engine == NPU_AIV ? -1 : npu_task_func_id(graph, task, NPU_AIC);
    int aiv = task->engine == NPU_AIC ? -1 : npu_task_func_id(graph, task, NPU_AIV);
    npu_emit_line(emit,
                  "\n{\"task_id\":\"%s\",\"scope\":\"%s\",\"early_dispatch\":%s,"
                  "\"kernel_ids\":[%d,%d,%d],\"block_num\":%lld,\"args\":[",
                  npu_u64(npu_task_id(index)).text, task->manual ? "manual" : "auto",
                  task->early ? "true" : "false", aic, aiv, task->engine == NPU_MIX ? aiv : -1,
                  (long long)task->block_num);
    for (int i = 0; i < task->arg_count; i++) {
        const npu_arg *arg = &graph->args[task->first_arg + i];
        npu_emit_text(emit, "%s{\"idx\":%d,\"type\":\"%s\"", i > 0 ? "," : "", i,
                      npu_dep_access_names[arg->access]);
        if (arg->access != NPU_OUT) // its memory is not there yet when dep_gen looks
            emit_tensor(emit, "", graph, arg);
        npu_emit_text(emit, "}");
    }
    npu_emit_text(emit, "]}");
}

static void emit_storage(npu_emit *emit, const npu_tensor *tensor) {
    assert(tensor->address >= 0 && tensor->bytes >= 0);
    npu_emit_line(emit,
                  "\n{\"tensor_id\":\"%s\",\"buffer_addr\":\"%lld\",\"version\":0,\"dtype\":\"%s\","
                  "\"buffer_numel\":\"%lld\"}",
                  npu_u64(npu_tensor_id(tensor->name)).text, (long long)tensor->address,
                  npu_dtype_runtime_names[tensor->dtype],
                  (long long)(tensor->bytes / npu_dtype_bytes(tensor->dtype)));
}

static void emit_edge(npu_emit *emit, const npu_graph *graph, const npu_edge *edge) {
    bool map = edge->source == NPU_EDGE_TENSORMAP;
    npu_emit_line(
        emit, "\n{\"pred\":\"%s\",\"succ\":\"%s\",\"arg\":%d,\"source\":\"%s\",\"flags\":[%s]",
        npu_u64(npu_task_id(edge->pred)).text, npu_u64(npu_task_id(edge->succ)).text, edge->arg,
        npu_dep_source_names[edge->source], map ? "\"wait\"" : "\"wait\",\"retain\"");
    if (map)
        npu_emit_text(emit, ",\"overlap\":\"%s\"", edge->covered ? "covered" : "other");
    if (edge->source != NPU_EDGE_EXPLICIT) {
        assert(edge->arg >= 0);
        emit_tensor(emit, "consumer_", graph,
                    &graph->args[graph->tasks[edge->succ].first_arg + edge->arg]);
    }
    if (map) {
        assert(edge->producer_arg >= 0);
        emit_window(emit, "producer_",
                    &graph->args[graph->tasks[edge->pred].first_arg + edge->producer_arg]);
    }
    npu_emit_text(emit, "}");
}

npu_status npu_deps_write(FILE *out, const npu_graph *graph, npu_error *err) {
    npu_emit emit = {.out = out, .err = err};
    npu_emit_list(&emit, "{\"tasks\":[");
    for (int i = 0; i < graph->task_count; i++)
        emit_task(&emit, graph, i);
    npu_emit_list(&emit, "],\n\"tensors\":[");
    for (int i = 0; i < graph->tensor_count; i++)
        if (graph->tensors[i].storage == i)
            emit_storage(&emit, &graph->tensors[i]);
    npu_emit_list(&emit, "],\n\"edges\":[");
    for (int i = 0; i < graph->edge_count; i++)
        emit_edge(&emit, graph, &graph->edges[i]);
    npu_emit_text(&emit, "]}\n");
    return npu_emit_done(&emit);
}
