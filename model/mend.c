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

static npu_status mend_list(npu_build *b, npu_yaml *list, npu_error *err) {
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
                return npu_fail_memory(err);
        }
    }
    list->count = count;
    return NPU_OK;
}

static npu_status check_map(const npu_yaml *map, npu_error *err) {
    for (int i = 0; i + 1 < map->count; i++) {
        const npu_yaml *value = map->items[i];
        const char *next = map->keys[i + 1]->text;
        if (value->kind == NPU_YAML_SCALAR && open_parens(value->text) > 0 && open_parens(next) < 0)
            return npu_fail(err, NPU_BAD_INPUT, value->pos,
                            "inside { } an expression with a comma needs quotes: \"%s, %s\"",
                            value->text, next);
    }
    return NPU_OK;
}

static npu_status mend(npu_build *b, npu_yaml *tree, npu_error *err) {
    npu_status status = NPU_OK;
    if (tree->kind == NPU_YAML_LIST)
        status = mend_list(b, tree, err);
    else if (tree->kind == NPU_YAML_MAP)
        status = check_map(tree, err);
    for (int i = 0; status == NPU_OK && i < tree->count; i++)
        status = mend(b, tree->items[i], err);
    return status;
}

npu_status npu_build_read(npu_build *b, const char *path, const npu_yaml **root, npu_error *err) {
    const npu_yaml *tree = NULL;
    npu_status status = npu_yaml_load(b->arena, path, &tree, err);
    if (status != NPU_OK)
        return status;
    npu_build_hash(b, tree);
    *root = tree;
    return mend(b, (npu_yaml *)tree, err); // nobody else holds it yet
}
