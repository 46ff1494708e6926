// SPDX-License-Identifier: Apache-2.0
// What the orchestrator does between submits: it opens and closes scopes, and waits for values.
#include <assert.h>

#include "build.h"

const char *const npu_runtime_names[] = {"tensormap", "host", NULL};
const char *const npu_policy_names[] = {"shipped",       "idle_first", "least_loaded",
                                        "critical_path", "calendar",   NULL};

npu_status npu_build_root_scope(npu_build *b) {
    assert(b->scope_count == 0);
    npu_status status = NPU_GROW(b, scopes, scope_count, scope_capacity, b->err);
    if (status != NPU_OK)
        return status;
    b->scopes[b->scope_count++] = (npu_task_scope){.parent = -1, .pos = {b->files[0].path, 0, 0}};
    return NPU_OK;
}

npu_status npu_build_open_scope(npu_build *b, npu_pos pos) {
    int depth = b->scopes[b->scope].depth + 1;
    if (depth >= NPU_MAX_SCOPES) // the graph itself is one of them
        return npu_fail(b->err, NPU_BAD_INPUT, pos, "scopes are nested deeper than %d",
                        NPU_MAX_SCOPES - 1);
    npu_status status = NPU_GROW(b, scopes, scope_count, scope_capacity, b->err);
    if (status != NPU_OK)
        return status;
    b->scopes[b->scope_count] =
        (npu_task_scope){b->scope, depth, b->task_count, b->task_count, pos};
    b->scope = b->scope_count++;
    return NPU_OK;
}

void npu_build_close_scope(npu_build *b) {
    npu_task_scope *scope = &b->scopes[b->scope];
    scope->end = b->task_count;
    if (scope->parent >= 0)
        b->scope = scope->parent;
}

static npu_status add_read_back(npu_build *b, int task, npu_pos pos) {
    npu_status status = NPU_GROW(b, read_backs, read_back_count, read_back_capacity, b->err);
    if (status == NPU_OK)
        b->read_backs[b->read_back_count++] = (npu_read_back){b->task_count, task, pos};
    return status;
}

npu_status npu_build_read_back(npu_build *b, const npu_yaml *item) {
    static const char *const keys[] = {"read_back", NULL};
    const npu_yaml *node = npu_yaml_get(item, "read_back");
    const char *name = NULL;
    npu_status status = npu_yaml_keys(item, "a read_back", keys, b->err);
    if (status == NPU_OK)
        status = npu_build_task_ref(b, node, "read_back", &name);
    if (status != NPU_OK)
        return status;
    const npu_name *one = npu_names_find(&b->task_names, name);
    if (one != NULL)
        return add_read_back(b, one->value, node->pos);
    const npu_name *all = npu_names_find(&b->task_families, name);
    if (all == NULL)
        return npu_unknown_task(b, name, node->pos, "read_back");
    for (int task = b->families[all->value].first; status == NPU_OK && task >= 0;
         task = b->next_task[task])
        status = add_read_back(b, task, node->pos);
    return status;
}
