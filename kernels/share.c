// SPDX-License-Identifier: Apache-2.0
// Programs that differ in nothing but where their arguments lie share all statements: a layer's
// tasks come again in every layer.
#include <assert.h>
#include <string.h>

#include "kernel.h"

static bool same_settings(const npu_setting *a, int a_count, const npu_setting *b, int b_count) {
    if (a_count != b_count)
        return false;
    for (int i = 0; i < a_count; i++)
        if (a[i].value != b[i].value || a[i].table != b[i].table ||
            strcmp(a[i].name, b[i].name) != 0)
            return false;
    return true;
}

static bool same_window(const npu_window *a, const npu_window *b) {
    if (a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i] || a->stride[i] != b->stride[i])
            return false;
    return true;
}

bool npu_binding_alike(const npu_kernel *kernel, const npu_binding *a, const npu_binding *b) {
    if (a->axis_count != b->axis_count)
        return false;
    for (int i = 0; i < a->axis_count; i++)
        if (a->grid[i].count != b->grid[i].count || strcmp(a->grid[i].name, b->grid[i].name) != 0)
            return false;
    for (int i = 0; i < kernel->arg_count; i++)
        if (!same_window(&a->windows[i], &b->windows[i]))
            return false;
    return same_settings(a->params, a->param_count, b->params, b->param_count) &&
           same_settings(a->tile, a->tile_count, b->tile, b->tile_count) &&
           same_settings(a->calls, a->call_count, b->calls, b->call_count);
}

npu_status npu_program_move(npu_arena *arena, const npu_program *like, const npu_window *windows,
                            npu_program *program, npu_error *err) {
    assert(like != NULL && windows != NULL && program != NULL);
    struct npu_bound *bound = npu_arena_alloc(arena, 1, sizeof *bound);
    if (bound == NULL)
        return npu_fail_memory(err);
    *bound = *like->bound;
    bound->windows = windows;
    *program = *like;
    program->bound = bound;
    return NPU_OK;
}
