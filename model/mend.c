// SPDX-License-Identifier: Apache-2.0
// YAML splits "[pad(T, 16), 1024]" at every comma. In lists the parts of a call are joined
// again, so that sizes can be written the plain way; in maps they cannot be told from keys,
// so that is an error that says what to do.
#include <string.h>

#include "build.h"

static int open_parens(const char *text) {
    int depth = 0;
    for (; *text != '\0'; text++)
        depth += (*text == '(') - (*text == ')');
    return depth;
}

static npu_status mend_list(npu_build *b, npu_yaml *list) {
    int count = 0;
    for (int i = 0; i < list->count; i++) {
        npu_yaml *item = list->items[i];
        list->items[count++] = item;
        if (item->kind != NPU_YAML_SCALAR)
            continue;
        int depth = open_parens(item->text);
        int last = i;
        while (depth > 0 && last + 1 < list->count &&
               list->items[last + 1]->kind == NPU_YAML_SCALAR)
            depth += open_parens(list->items[++last]->text);
        if (last == i || depth != 0)
            continue;
        for (; i < last; i++) {
            item->text = npu_arena_printf(b->arena, "%s, %s", item->text, list->items[i + 1]->text);
            if (item->text == NULL)
                return npu_fail_memory(b->err);
        }
    }
    list->count = count;
    return NPU_OK;
}

static npu_status check_map(npu_build *b, const npu_yaml *map) {
    for (int i = 0; i + 1 < map->count; i++) {
        const npu_yaml *value = map->items[i];
        const char *next = map->keys[i + 1]->text;
        if (value->kind == NPU_YAML_SCALAR && open_parens(value->text) > 0 && open_parens(next) < 0)
            return npu_fail(b->err, NPU_BAD_INPUT, value->pos,
                            "inside { } an expression with a comma needs quotes: \"%s, %s\"",
                            value->text, next);
    }
    return NPU_OK;
}

static npu_status mend(npu_build *b, npu_yaml *tree) {
    npu_status status = NPU_OK;
    if (tree->kind == NPU_YAML_LIST)
        status = mend_list(b, tree);
    else if (tree->kind == NPU_YAML_MAP)
        status = check_map(b, tree);
    for (int i = 0; status == NPU_OK && i < tree->count; i++)
        status = mend(b, tree->items[i]);
    return status;
}

npu_status npu_build_read(npu_build *b, const char *path, npu_pos pos, const npu_yaml **root) {
    const npu_yaml *tree = NULL;
    npu_error inner = {0};
    npu_status status = npu_yaml_load(b->arena, path, &tree, &inner);
    if (status != NPU_OK) // what is wrong inside a file says where by itself
        return npu_fail(b->err, status, status == NPU_IO ? pos : (npu_pos){0}, "%s", inner.text);
    npu_build_hash(b, tree);
    *root = tree;
    return mend(b, (npu_yaml *)tree); // nobody else holds it yet
}
