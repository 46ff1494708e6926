// SPDX-License-Identifier: Apache-2.0
// The list of tasks: scopes, and files that are used as a part of another.
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "build.h"

static npu_status read_leaf(npu_build *b, const npu_yaml *item);

static npu_status read_scope(npu_build *b, const npu_yaml *item) {
    static const char *const keys[] = {"scope", "do", NULL};
    static const char *const modes[] = {"auto", "manual", NULL};
    const npu_yaml *body = NULL;
    int mode = 0;
    npu_status status = npu_yaml_keys(item, "a scope", keys, b->err);
    if (status == NPU_OK)
        status = npu_yaml_need(item, "a scope", "do", &body, b->err);
    if (status == NPU_OK)
        status = npu_build_choice(b, npu_yaml_get(item, "scope"), "scope", modes, &mode);
    if (status != NPU_OK)
        return status;
    status = npu_build_open_scope(b, item->pos);
    if (status != NPU_OK)
        return status;
    bool before = b->frame->manual;
    b->frame->manual = mode == 1;
    status = npu_build_items(b, body, "do", "a task", read_leaf);
    b->frame->manual = before;
    npu_build_close_scope(b);
    return status;
}

// ---------------------------------------------------------------- includes

static bool same_file(const npu_file *a, const npu_file *b) {
    return a->device == b->device && a->inode == b->inode;
}

// "a.yaml -> b.yaml -> a.yaml" when `file` is being read already, perhaps by another path.
static npu_status check_chain(npu_build *b, int file, npu_pos pos) {
    const char *chain = b->files[file].path;
    bool again = false;
    for (const npu_frame *f = b->frame; f != NULL && !again; f = f->parent) {
        chain = npu_arena_printf(&b->scratch, "%s -> %s", b->files[f->file].path, chain);
        if (chain == NULL)
            return npu_fail_memory(b->err);
        again = same_file(&b->files[f->file], &b->files[file]);
    }
    if (again)
        return npu_fail(b->err, NPU_BAD_INPUT, pos, "a file includes itself: %s", chain);
    if (b->depth >= NPU_MAX_INCLUDES)
        return npu_fail(b->err, NPU_BAD_INPUT, pos, "includes are nested deeper than %d",
                        NPU_MAX_INCLUDES);
    return NPU_OK;
}

// "x: outer" or "x: outer[..]", a window then becomes a view.
static npu_status read_tie(npu_build *b, const npu_yaml *key, const npu_yaml *value,
                           const char *prefix, npu_tie *tie) {
    npu_arg window = {0};
    npu_status status = npu_yaml_want(value, NPU_YAML_SCALAR, "a tensor's name", b->err);
    if (status == NPU_OK)
        status = npu_build_ref(b, value->text, value->pos, &window);
    if (status != NPU_OK)
        return status;
    const npu_tensor *of = &b->tensors[window.tensor];
    *tie = (npu_tie){
        .name = key->text, .tensor = window.tensor, .shown = value->text, .pos = key->pos};
    bool whole = window.rank == of->rank && window.offset == of->offset &&
                 memcmp(window.shape, of->shape, (size_t)of->rank * sizeof *of->shape) == 0;
    if (whole)
        return NPU_OK;
    const char *name = npu_arena_printf(b->arena, "%s%s", prefix, key->text);
    if (name == NULL)
        return npu_fail_memory(b->err);
    tie->tensor = b->tensor_count;
    return npu_build_view(b, name, name, 0, value->pos, &window);
}

static npu_status read_ties(npu_build *b, const npu_yaml *map, npu_frame *frame) {
    if (map == NULL)
        return NPU_OK;
    npu_status status = npu_yaml_want(map, NPU_YAML_MAP, "tensors", b->err);
    if (status != NPU_OK)
        return status;
    frame->ties = npu_arena_alloc(b->arena, (size_t)map->count, sizeof *frame->ties);
    if (frame->ties == NULL)
        return npu_fail_memory(b->err);
    for (int i = 0; status == NPU_OK && i < map->count; i++)
        status = read_tie(b, map->keys[i], map->items[i], frame->prefix, &frame->ties[i]);
    frame->tie_count = map->count;
    return status;
}

static npu_status read_prefix(npu_build *b, const npu_yaml *node, npu_frame *frame) {
    if (node == NULL)
        return NPU_OK;
    const char *base = NULL;
    const char *full = NULL;
    int arity = 0;
    npu_status status = npu_new_name(b, node, "as", &base, &full, &arity);
    if (status != NPU_OK)
        return status;
    frame->prefix = npu_arena_printf(b->arena, "%s.", full);
    return frame->prefix != NULL ? NPU_OK : npu_fail_memory(b->err);
}

static npu_status read_with(npu_build *b, const npu_yaml *map, npu_override **given, int *count) {
    npu_setting *settings = NULL;
    npu_status status = npu_build_settings(b, map, "with", &settings, count);
    if (status != NPU_OK)
        return status;
    *given = npu_arena_alloc(b->arena, (size_t)*count, sizeof **given);
    if (*given == NULL)
        return npu_fail_memory(b->err);
    for (int i = 0; i < *count; i++)
        (*given)[i] = (npu_override){.name = settings[i].name,
                                     .value = settings[i].value,
                                     .pos = settings[i].pos,
                                     .table = settings[i].table};
    return NPU_OK;
}

static npu_status read_include(npu_build *b, const npu_yaml *item) {
    static const char *const keys[] = {"include", "with", "as", "tensors", NULL};
    const npu_yaml *node = npu_yaml_get(item, "include");
    npu_frame frame = {.parent = b->frame,
                       .prefix = b->frame->prefix,
                       .manual = b->frame->manual,
                       .pos = node->pos};
    npu_override *given = NULL;
    int given_count = 0;
    npu_status status = npu_yaml_keys(item, "an include", keys, b->err);
    if (status == NPU_OK)
        status = npu_yaml_want(node, NPU_YAML_SCALAR, "include", b->err);
    if (status != NPU_OK)
        return status;
    const char *path = npu_path_beside(b->arena, b->files[b->frame->file].path, node->text);
    if (path == NULL)
        return npu_fail_memory(b->err);
    status = npu_build_file(b, path, node->pos, &frame.file);
    if (status == NPU_OK)
        status = check_chain(b, frame.file, node->pos);
    if (status == NPU_OK)
        status = read_prefix(b, npu_yaml_get(item, "as"), &frame);
    if (status == NPU_OK)
        status = read_ties(b, npu_yaml_get(item, "tensors"), &frame);
    if (status == NPU_OK)
        status = read_with(b, npu_yaml_get(item, "with"), &given, &given_count);
    if (status != NPU_OK)
        return status;
    frame.first_var = b->var_count;
    b->frame = &frame;
    b->depth++;
    status = npu_build_frame(b, given, given_count);
    b->depth--;
    b->var_count = frame.first_var;
    b->frame = frame.parent;
    return status;
}

// ---------------------------------------------------------------- items

static npu_status unknown_item(npu_build *b, const npu_yaml *item) {
    static const char *const kinds[] = {"task",    "dummy", "for",      "if",
                                        "include", "scope", "read_back"};
    char hint[128] = "";
    for (int i = 0; i < item->count && hint[0] == '\0'; i++)
        npu_did_you_mean(item->keys[i]->text, kinds, 7, hint, sizeof hint);
    return npu_fail(b->err, NPU_BAD_INPUT, item->pos,
                    "an item of tasks is one of task, dummy, for, if, include, scope, read_back%s",
                    hint);
}

static npu_status read_leaf(npu_build *b, const npu_yaml *item) {
    if (npu_yaml_get(item, "task") != NULL)
        return npu_build_task(b, item);
    if (npu_yaml_get(item, "dummy") != NULL)
        return npu_build_dummy(b, item);
    if (npu_yaml_get(item, "include") != NULL)
        return read_include(b, item);
    if (npu_yaml_get(item, "scope") != NULL)
        return read_scope(b, item);
    if (npu_yaml_get(item, "read_back") != NULL)
        return npu_build_read_back(b, item);
    return unknown_item(b, item);
}

npu_status npu_build_tasks(npu_build *b, const npu_yaml *list) {
    if (list == NULL)
        return NPU_OK;
    return npu_build_items(b, list, "tasks", "a task", read_leaf);
}
