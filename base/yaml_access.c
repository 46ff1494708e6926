// SPDX-License-Identifier: Apache-2.0
// What readers of a tree ask for, and the nearest right word when it is not there.
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "yaml_tree.h"

enum { MAX_WORD = 64 };

const npu_yaml *npu_yaml_get(const npu_yaml *map, const char *key) {
    assert(key != NULL);
    if (map == NULL || map->kind != NPU_YAML_MAP)
        return NULL;
    for (int i = 0; i < map->count; i++)
        if (strcmp(map->keys[i]->text, key) == 0)
            return map->items[i];
    return NULL;
}

npu_status npu_yaml_need(const npu_yaml *map, const char *what, const char *key,
                         const npu_yaml **value, npu_error *err) {
    *value = NULL;
    if (map != NULL && map->kind != NPU_YAML_MAP)
        return npu_yaml_want(map, NPU_YAML_MAP, what, err);
    *value = npu_yaml_get(map, key);
    if (*value != NULL)
        return NPU_OK;
    npu_pos pos = map != NULL ? map->pos : (npu_pos){0};
    return npu_fail(err, NPU_BAD_INPUT, pos, "%s needs the key '%s'", what, key);
}

npu_status npu_yaml_want(const npu_yaml *node, npu_yaml_kind kind, const char *what,
                         npu_error *err) {
    static const char *const names[] = {"a single value", "a list", "a map"};
    assert((unsigned)kind < sizeof names / sizeof *names && what != NULL);
    if (node != NULL && node->kind == kind)
        return NPU_OK;
    npu_pos pos = node != NULL ? node->pos : (npu_pos){0};
    return npu_fail(err, NPU_BAD_INPUT, pos, "%s must be %s", what, names[kind]);
}

// The index of `word` in a NULL-terminated list, or the list's length.
static int find_word(const char *word, const char *const *list) {
    int i = 0;
    while (list[i] != NULL && strcmp(list[i], word) != 0)
        i++;
    return i;
}

npu_status npu_yaml_keys(const npu_yaml *map, const char *what, const char *const *allowed,
                         npu_error *err) {
    npu_status status = npu_yaml_want(map, NPU_YAML_MAP, what, err);
    for (int i = 0; status == NPU_OK && i < map->count; i++) {
        const npu_yaml *key = map->keys[i];
        int at = find_word(key->text, allowed);
        char hint[128];
        if (allowed[at] == NULL)
            status = npu_fail(err, NPU_BAD_INPUT, key->pos, "unknown key '%s' in %s%s", key->text,
                              what, npu_did_you_mean(key->text, allowed, at, hint, sizeof hint));
    }
    return status;
}

npu_status npu_yaml_bool(const npu_yaml *node, const char *what, bool *value, npu_error *err) {
    npu_status status = npu_yaml_want(node, NPU_YAML_SCALAR, what, err);
    if (status != NPU_OK)
        return status;
    *value = strcmp(node->text, "true") == 0;
    if (*value || strcmp(node->text, "false") == 0)
        return NPU_OK;
    return npu_fail(err, NPU_BAD_INPUT, node->pos, "%s must be true or false, not '%s'", what,
                    node->text);
}

npu_status npu_yaml_choice(const npu_yaml *node, const char *what, const char *const *names,
                           int *index, npu_error *err) {
    npu_status status = npu_yaml_want(node, NPU_YAML_SCALAR, what, err);
    if (status != NPU_OK)
        return status;
    int at = find_word(node->text, names);
    if (names[at] != NULL) {
        *index = at;
        return NPU_OK;
    }
    char hint[512];
    return npu_fail(err, NPU_BAD_INPUT, node->pos, "unknown %s '%s'%s", what, node->text,
                    npu_did_you_mean_or(node->text, names, at, hint, sizeof hint));
}

static bool same_letter(char a, char b) {
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static int least(int a, int b) {
    return a < b ? a : b;
}

// Edits (insert, drop, change, swap of neighbours) from a to b, both at most MAX_WORD long.
// Upper and lower case are the same.
static int edit_distance(const char *a, int a_length, const char *b, int b_length) {
    assert(a_length <= MAX_WORD && b_length <= MAX_WORD);
    int rows[3][MAX_WORD + 1]; // row i of the table is rows[i % 3]
    for (int j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (int i = 1; i <= a_length; i++) {
        int *row = rows[i % 3];
        const int *above = rows[(i + 2) % 3];
        row[0] = i;
        for (int j = 1; j <= b_length; j++) {
            row[j] = least(least(above[j], row[j - 1]) + 1,
                           above[j - 1] + !same_letter(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
                same_letter(a[i - 2], b[j - 1]))
                row[j] = least(row[j], rows[(i + 1) % 3][j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

const char *npu_nearest(const char *word, const char *const *names, int count) {
    size_t length = strlen(word);
    if (length > MAX_WORD)
        return NULL;
    int best = length >= 6 ? (int)length / 3 : 1;
    const char *nearest = NULL;
    for (int i = 0; i < count; i++) {
        size_t other = strlen(names[i]);
        if (other > MAX_WORD)
            continue;
        int distance = edit_distance(word, (int)length, names[i], (int)other);
        if (distance >= (int)length && distance >= (int)other)
            continue; // nothing in common
        if (distance < best || (distance == best && nearest == NULL)) {
            best = distance;
            nearest = names[i];
        }
    }
    return nearest;
}

const char *npu_did_you_mean(const char *word, const char *const *names, int count, char *buf,
                             int size) {
    assert(buf != NULL && size > 0);
    const char *name = npu_nearest(word, names, count);
    buf[0] = '\0';
    if (name != NULL)
        snprintf(buf, (size_t)size, "; did you mean '%s'?", name);
    return buf;
}

const char *npu_did_you_mean_or(const char *word, const char *const *names, int count, char *buf,
                                int size) {
    npu_did_you_mean(word, names, count, buf, size);
    if (buf[0] != '\0')
        return buf;
    int used = 0;
    for (int i = 0; i < count && used < size; i++)
        used += snprintf(buf + used, (size_t)(size - used), "%s%s", i == 0 ? "; there are " : ", ",
                         names[i]);
    return buf;
}

const char *npu_path_beside(npu_arena *arena, const char *from, const char *relative) {
    const char *slash = strrchr(from, '/');
    if (relative[0] == '/' || slash == NULL)
        return npu_arena_text(arena, relative, strlen(relative));
    return npu_arena_printf(arena, "%.*s/%s", (int)(slash - from), from, relative);
}
