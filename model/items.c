// SPDX-License-Identifier: Apache-2.0
// Lists of tensors and tasks: loops and conditions are unrolled here.
#include <inttypes.h>
#include <string.h>

#include "build.h"

// Scratch memory is given back now and then: a fresh chunk costs more than an item uses.
enum { SCRATCH_ITEMS = 32 };

static npu_status read_list(npu_build *b, const npu_yaml *list, const char *key, const char *what,
                            npu_leaf_fn leaf);

static npu_status count_step(npu_build *b, npu_pos pos) {
    if (++b->steps > NPU_MAX_STEPS)
        return npu_fail(b->err, NPU_BAD_INPUT, pos, "loops and includes make more than %d items",
                        NPU_MAX_STEPS);
    return NPU_OK;
}

// "g in a..b"
static npu_status read_header(npu_build *b, const npu_yaml *node, const char **name, int64_t *from,
                              int64_t *to) {
    npu_status status = npu_yaml_want(node, NPU_YAML_SCALAR, "for", b->err);
    if (status != NPU_OK)
        return status;
    npu_loop_text loop;
    if (!npu_loop_split(node->text, &loop))
        return npu_fail(b->err, NPU_BAD_INPUT, node->pos, "a loop is written 'g in 0..8', not '%s'",
                        node->text);
    *name = npu_arena_text(b->arena, node->text, (size_t)loop.name_length);
    char *first = npu_arena_text(&b->scratch, loop.first, (size_t)loop.first_length);
    if (*name == NULL || first == NULL)
        return npu_fail_memory(b->err);
    npu_pos first_pos = npu_pos_right(node->pos, loop.first - node->text);
    npu_pos end_pos = npu_pos_right(node->pos, loop.end - node->text);
    status = npu_build_eval(b, first, first_pos, from);
    return status == NPU_OK ? npu_build_eval(b, loop.end, end_pos, to) : status;
}

static npu_status read_for(npu_build *b, const npu_yaml *item, const char *what, npu_leaf_fn leaf) {
    static const char *const keys[] = {"for", "do", NULL};
    const npu_yaml *body = NULL;
    const char *name = NULL;
    int64_t from = 0;
    int64_t to = 0;
    npu_status status = npu_yaml_keys(item, "a loop", keys, b->err);
    if (status == NPU_OK)
        status = npu_yaml_need(item, "a loop", "do", &body, b->err);
    if (status == NPU_OK)
        status = read_header(b, npu_yaml_get(item, "for"), &name, &from, &to);
    for (int64_t i = from; status == NPU_OK && i < to; i++) {
        status = count_step(b, item->pos);
        if (status == NPU_OK)
            status = npu_build_var(b, name, npu_yaml_get(item, "for")->pos, i);
        if (status == NPU_OK) {
            status = read_list(b, body, "do", what, leaf);
            b->var_count--;
        }
    }
    return status;
}

static npu_status read_if(npu_build *b, const npu_yaml *item, const char *what, npu_leaf_fn leaf) {
    static const char *const keys[] = {"if", "do", "else", NULL};
    const npu_yaml *body = NULL;
    bool holds = false;
    npu_status status = npu_yaml_keys(item, "a condition", keys, b->err);
    if (status == NPU_OK)
        status = npu_yaml_need(item, "a condition", "do", &body, b->err);
    if (status == NPU_OK)
        status = npu_build_flag(b, npu_yaml_get(item, "if"), "if", &holds);
    if (!holds)
        body = npu_yaml_get(item, "else");
    if (status != NPU_OK || body == NULL)
        return status;
    return read_list(b, body, holds ? "do" : "else", what, leaf);
}

static npu_status read_item(npu_build *b, const npu_yaml *item, const char *what,
                            npu_leaf_fn leaf) {
    npu_status status = npu_yaml_want(item, NPU_YAML_MAP, what, b->err);
    if (status == NPU_OK)
        status = count_step(b, item->pos);
    if (status != NPU_OK)
        return status;
    if (npu_yaml_get(item, "for") != NULL)
        return read_for(b, item, what, leaf);
    if (npu_yaml_get(item, "if") != NULL)
        return read_if(b, item, what, leaf);
    status = leaf(b, item);
    if (b->steps % SCRATCH_ITEMS == 0)
        npu_arena_free(&b->scratch);
    return status;
}

static npu_status read_list(npu_build *b, const npu_yaml *list, const char *key, const char *what,
                            npu_leaf_fn leaf) {
    npu_status status = npu_yaml_want(list, NPU_YAML_LIST, key, b->err);
    for (int i = 0; status == NPU_OK && i < list->count; i++)
        status = read_item(b, list->items[i], what, leaf);
    return status;
}

npu_status npu_build_items(npu_build *b, const npu_yaml *list, const char *key, const char *what,
                           npu_leaf_fn leaf) {
    return read_list(b, list, key, what, leaf);
}
