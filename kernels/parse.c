// SPDX-License-Identifier: Apache-2.0
// From YAML to a kernel as written: everything but the program's statements.
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernel.h"
#include "name.h"

const char *const npu_access_names[] = {"in", "out", "inout", "out_existing", "no_dep", NULL};

static const char *const kernel_keys[] = {"doc", "engine", "args",    "grid",  "params",  "tile",
                                          "let", "calls",  "require", "slots", "program", NULL};
static const char *const arg_keys[] = {"access", "shape", NULL};
static const char *const slot_keys[] = {"in", "shape", "dtype", "bytes", "copies", "pad", NULL};
static const char *const require_keys[] = {"that", "else", NULL};
static const char *const body_keys[] = {"aic", "aiv", NULL};

static npu_status want_name(const npu_yaml *key, const char *what, npu_error *err) {
    if (npu_is_name(key->text))
        return NPU_OK;
    return npu_fail(err, NPU_BAD_INPUT, key->pos,
                    "%s must be named by letters, digits and _, not '%s'", what, key->text);
}

npu_status npu_parse_expr(npu_arena *arena, const npu_yaml *node, const char *what,
                          const npu_expr **expr, npu_error *err) {
    npu_status status = npu_yaml_want(node, NPU_YAML_SCALAR, what, err);
    return status ? status : npu_expr_parse(arena, node->text, node->pos, expr, err);
}

// `{name: expression}`; "required" and "table" mean that the task must give it, a number or a
// table, when `defaults` is true.
static npu_status parse_named(npu_arena *arena, const npu_yaml *map, const char *what,
                              bool defaults, npu_named_expr **out, int *count, npu_error *err) {
    if (map == NULL)
        return NPU_OK;
    npu_status status = npu_yaml_want(map, NPU_YAML_MAP, what, err);
    if (status)
        return status;
    npu_named_expr *list = npu_arena_alloc(arena, (size_t)map->count, sizeof *list);
    if (list == NULL)
        return npu_fail_memory(err);
    for (int i = 0; i < map->count && !status; i++) {
        list[i] = (npu_named_expr){map->keys[i]->text, NULL, map->keys[i]->pos, false};
        status = want_name(map->keys[i], what, err);
        const npu_yaml *value = map->items[i];
        bool word = !status && defaults && value->kind == NPU_YAML_SCALAR;
        list[i].table = word && strcmp(value->text, "table") == 0;
        if (list[i].table || (word && strcmp(value->text, "required") == 0))
            continue;
        if (!status)
            status = npu_parse_expr(arena, value, what, &list[i].expr, err);
    }
    *out = list;
    *count = map->count;
    return status;
}

static npu_status parse_arg_shape(npu_arena *arena, const npu_yaml *list, npu_arg_ast *ast,
                                  npu_error *err) {
    npu_status status = npu_yaml_want(list, NPU_YAML_LIST, "the shape of an argument", err);
    if (status)
        return status;
    if (list->count < 1 || list->count > NPU_MAX_RANK)
        return npu_fail(err, NPU_BAD_INPUT, list->pos, "a shape has 1 to %d dimensions, not %d",
                        NPU_MAX_RANK, list->count);
    ast->rank = list->count;
    for (int i = 0; i < list->count && !status; i++) {
        const npu_yaml *item = list->items[i];
        status = npu_yaml_want(item, NPU_YAML_SCALAR, "a dimension", err);
        ast->texts[i] = item->text;
        if (!status && !npu_is_name(item->text))
            status = npu_expr_parse(arena, item->text, item->pos, &ast->exprs[i], err);
    }
    return status;
}

static npu_status parse_arg(npu_arena *arena, const npu_yaml *node, npu_kernel_arg *arg,
                            npu_arg_ast *ast, npu_error *err) {
    const npu_yaml *access = node;
    ast->rank = -1;
    ast->pos = node->pos;
    npu_status status = NPU_OK;
    if (node->kind == NPU_YAML_MAP) {
        status = npu_yaml_keys(node, "an argument", arg_keys, err);
        if (!status)
            status = npu_yaml_need(node, "an argument", "access", &access, err);
        const npu_yaml *shape = npu_yaml_get(node, "shape");
        if (!status && shape != NULL)
            status = parse_arg_shape(arena, shape, ast, err);
    }
    int choice = 0;
    if (!status)
        status = npu_yaml_choice(access, "access", npu_access_names, &choice, err);
    arg->access = (npu_access)choice;
    return status;
}

static npu_status parse_args(npu_arena *arena, const npu_yaml *map, npu_kernel *kernel,
                             npu_error *err) {
    if (map == NULL)
        return NPU_OK;
    npu_status status = npu_yaml_want(map, NPU_YAML_MAP, "args", err);
    if (status)
        return status;
    kernel->args = npu_arena_alloc(arena, (size_t)map->count, sizeof *kernel->args);
    kernel->arg_asts = npu_arena_alloc(arena, (size_t)map->count, sizeof *kernel->arg_asts);
    if (kernel->args == NULL || kernel->arg_asts == NULL)
        return npu_fail_memory(err);
    kernel->arg_count = map->count;
    for (int i = 0; i < map->count && !status; i++) {
        kernel->args[i].name = map->keys[i]->text;
        status = want_name(map->keys[i], "an argument", err);
        if (!status)
            status = parse_arg(arena, map->items[i], &kernel->args[i], &kernel->arg_asts[i], err);
    }
    return status;
}

// Names of the axes that the program knows.
static npu_status parse_axes(npu_arena *arena, const npu_yaml *list, npu_kernel *kernel,
                             npu_error *err) {
    if (list == NULL)
        return NPU_OK;
    npu_status status = npu_yaml_want(list, NPU_YAML_LIST, "the grid of a kernel", err);
    if (status)
        return status;
    kernel->axes = npu_arena_alloc(arena, (size_t)list->count, sizeof *kernel->axes);
    if (kernel->axes == NULL)
        return npu_fail_memory(err);
    kernel->axis_count = list->count;
    for (int i = 0; i < list->count && !status; i++) {
        status = npu_yaml_want(list->items[i], NPU_YAML_SCALAR, "a grid axis", err);
        if (!status)
            status = want_name(list->items[i], "a grid axis", err);
        if (!status)
            kernel->axes[i] = list->items[i]->text;
    }
    return status;
}

static npu_status parse_slot_size(npu_arena *arena, const npu_yaml *map, npu_slot_ast *slot,
                                  npu_error *err) {
    const npu_yaml *shape = npu_yaml_get(map, "shape");
    const npu_yaml *bytes = npu_yaml_get(map, "bytes");
    if ((shape == NULL) == (bytes == NULL))
        return npu_fail(err, NPU_BAD_INPUT, map->pos,
                        "slot '%s' needs either a shape with a dtype or bytes", slot->name);
    if (bytes != NULL)
        return npu_parse_expr(arena, bytes, "bytes", &slot->bytes, err);
    npu_status status = npu_yaml_want(shape, NPU_YAML_LIST, "the shape of a slot", err);
    if (!status && shape->count != 2)
        status = npu_fail(err, NPU_BAD_INPUT, shape->pos,
                          "the shape of a slot is [rows, columns], not %d numbers", shape->count);
    for (int i = 0; i < 2 && !status; i++)
        status = npu_parse_expr(arena, shape->items[i], "a dimension", &slot->shape[i], err);
    const npu_yaml *dtype = NULL;
    if (!status)
        status = npu_yaml_need(map, "a slot with a shape", "dtype", &dtype, err);
    if (!status)
        status = npu_yaml_want(dtype, NPU_YAML_SCALAR, "dtype", err);
    if (!status) {
        slot->dtype = dtype->text;
        slot->dtype_pos = dtype->pos;
    }
    return status;
}

static npu_status parse_slot(npu_arena *arena, const npu_yaml *map, npu_slot_ast *slot,
                             npu_error *err) {
    npu_status status = npu_yaml_keys(map, "a slot", slot_keys, err);
    const npu_yaml *where = NULL;
    int buffer = 0;
    if (!status)
        status = npu_yaml_need(map, "a slot", "in", &where, err);
    if (!status)
        status = npu_yaml_choice(where, "buffer", npu_buffer_names, &buffer, err);
    slot->buffer = (npu_buffer)buffer;
    if (!status)
        status = parse_slot_size(arena, map, slot, err);
    const npu_yaml *copies = npu_yaml_get(map, "copies");
    if (!status && copies != NULL)
        status = npu_parse_expr(arena, copies, "copies", &slot->copies, err);
    const npu_yaml *pad = npu_yaml_get(map, "pad");
    if (!status && pad != NULL)
        status = npu_parse_expr(arena, pad, "pad", &slot->pad, err);
    return status;
}

static npu_status parse_slots(npu_arena *arena, const npu_yaml *map, npu_kernel *kernel,
                              npu_error *err) {
    if (map == NULL)
        return NPU_OK;
    npu_status status = npu_yaml_want(map, NPU_YAML_MAP, "slots", err);
    if (status)
        return status;
    if (map->count > NPU_MAX_SLOTS)
        return npu_fail(err, NPU_BAD_INPUT, map->pos, "a kernel has at most %d slots, not %d",
                        NPU_MAX_SLOTS, map->count);
    kernel->slots = npu_arena_alloc(arena, (size_t)map->count, sizeof *kernel->slots);
    if (kernel->slots == NULL)
        return npu_fail_memory(err);
    kernel->slot_count = map->count;
    for (int i = 0; i < map->count && !status; i++) {
        kernel->slots[i].name = map->keys[i]->text;
        kernel->slots[i].pos = map->keys[i]->pos;
        status = want_name(map->keys[i], "a slot", err);
        if (!status)
            status = parse_slot(arena, map->items[i], &kernel->slots[i], err);
    }
    return status;
}

static npu_status parse_requires(npu_arena *arena, const npu_yaml *list, npu_kernel *kernel,
                                 npu_error *err) {
    if (list == NULL)
        return NPU_OK;
    npu_status status = npu_yaml_want(list, NPU_YAML_LIST, "require", err);
    if (status)
        return status;
    kernel->requires_ = npu_arena_alloc(arena, (size_t)list->count, sizeof *kernel->requires_);
    if (kernel->requires_ == NULL)
        return npu_fail_memory(err);
    kernel->require_count = list->count;
    for (int i = 0; i < list->count && !status; i++) {
        npu_require *require = &kernel->requires_[i];
        const npu_yaml *that = NULL, *message = NULL;
        status = npu_yaml_keys(list->items[i], "a requirement", require_keys, err);
        if (!status)
            status = npu_yaml_need(list->items[i], "a requirement", "that", &that, err);
        if (!status)
            status = npu_yaml_need(list->items[i], "a requirement", "else", &message, err);
        if (!status)
            status = npu_yaml_want(message, NPU_YAML_SCALAR, "else", err);
        if (!status)
            status = npu_parse_expr(arena, that, "that", &require->that, err);
        if (!status) {
            require->message = message->text;
            require->pos = that->pos;
        }
    }
    return status;
}

static npu_status parse_program(npu_arena *arena, const npu_yaml *node, npu_kernel *kernel,
                                npu_error *err) {
    if (kernel->engine != NPU_MIX) {
        int which = kernel->engine == NPU_AIC ? 0 : 1;
        return npu_parse_block(arena, kernel, node, 0, &kernel->body[which],
                               &kernel->body_count[which], err);
    }
    npu_status status = npu_yaml_want(node, NPU_YAML_MAP, "the program of a mix kernel", err);
    if (!status)
        status = npu_yaml_keys(node, "the program of a mix kernel", body_keys, err);
    for (int i = 0; i < 2 && !status; i++) {
        const npu_yaml *list = NULL;
        status = npu_yaml_need(node, "the program of a mix kernel", body_keys[i], &list, err);
        if (!status)
            status = npu_parse_block(arena, kernel, list, 0, &kernel->body[i],
                                     &kernel->body_count[i], err);
    }
    return status;
}

static npu_status parse_kernel(npu_arena *arena, const npu_yaml *map, npu_kernel *kernel,
                               npu_error *err) {
    const npu_yaml *engine = NULL, *program = NULL;
    int choice = 0;
    npu_status status = npu_yaml_keys(map, "a kernel", kernel_keys, err);
    if (!status)
        status = npu_yaml_need(map, "a kernel", "engine", &engine, err);
    if (!status)
        status = npu_yaml_choice(engine, "engine", npu_engine_type_names, &choice, err);
    if (!status && choice == NPU_DUMMY)
        status = npu_fail(err, NPU_BAD_INPUT, engine->pos,
                          "a dummy has no kernel; write the task as 'dummy: name'");
    kernel->engine = (npu_engine_type)choice;
    if (!status)
        status = parse_args(arena, npu_yaml_get(map, "args"), kernel, err);
    if (!status)
        status = parse_axes(arena, npu_yaml_get(map, "grid"), kernel, err);
    if (!status)
        status = parse_named(arena, npu_yaml_get(map, "params"), "a param", true, &kernel->params,
                             &kernel->param_count, err);
    if (!status)
        status = parse_named(arena, npu_yaml_get(map, "tile"), "a tile size", true, &kernel->tile,
                             &kernel->tile_count, err);
    if (!status)
        status = parse_named(arena, npu_yaml_get(map, "let"), "a let", false, &kernel->lets,
                             &kernel->let_count, err);
    if (!status)
        status = npu_parse_calls(arena, npu_yaml_get(map, "calls"), kernel, err);
    if (!status)
        status = parse_requires(arena, npu_yaml_get(map, "require"), kernel, err);
    if (!status)
        status = parse_slots(arena, npu_yaml_get(map, "slots"), kernel, err);
    if (!status)
        status = npu_yaml_need(map, "a kernel", "program", &program, err);
    return status ? status : parse_program(arena, program, kernel, err);
}

npu_status npu_kernel_parse(npu_arena *arena, const char *name, const npu_yaml *map,
                            const npu_kernel **out, npu_error *err) {
    assert(name != NULL && map != NULL);
    npu_kernel *kernel = npu_arena_alloc(arena, 1, sizeof *kernel);
    if (kernel == NULL)
        return npu_fail_memory(err);
    kernel->name = name;
    kernel->pos = map->pos;
    npu_status status = npu_yaml_want(map, NPU_YAML_MAP, "a kernel", err);
    if (!status)
        status = parse_kernel(arena, map, kernel, err);
    *out = status ? NULL : kernel;
    return status;
}

npu_status npu_kernel_load(npu_arena *arena, const char *folder, const char *name,
                           const npu_kernel **kernel, npu_error *err) {
    const char *path = npu_arena_printf(arena, "%s/%s.yaml", folder, name);
    const char *copy = npu_arena_text(arena, name, strlen(name));
    const npu_yaml *root = NULL;
    if (path == NULL || copy == NULL)
        return npu_fail_memory(err);
    npu_status status = npu_yaml_load(arena, path, &root, err);
    return status ? status : npu_kernel_parse(arena, copy, root, kernel, err);
}

const char *npu_kernel_name(const npu_kernel *kernel) {
    return kernel->name;
}

const npu_kernel_arg *npu_kernel_args(const npu_kernel *kernel, int *count) {
    *count = kernel->arg_count;
    return kernel->args;
}

npu_engine_type npu_kernel_engine(const npu_kernel *kernel) {
    return kernel->engine;
}
