// SPDX-License-Identifier: Apache-2.0
// The tree is built from libyaml's events and not from its document API: only the events
// still tell of an anchor that nobody uses, and they let us stop at the nesting limit before
// anything is stored.
#include "yaml_tree.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { MAX_DEPTH = 64, MAX_WORD = 64 };
static const size_t MAX_FILE = (size_t)64 << 20;

typedef struct reader {
    npu_arena *arena;
    const char *file;
    const char *text;
    size_t length;
    npu_error *err;
    yaml_parser_t parser;
    // Entries of the collections still open; a collection that ends takes its own off the top.
    npu_yaml **stack;
    int count;
    int capacity;
} reader;

static npu_pos mark_pos(const reader *r, yaml_mark_t mark) {
    return (npu_pos){r->file, (int)mark.line + 1, (int)mark.column + 1};
}

// A byte that is no UTF-8 comes with an offset only.
static npu_pos offset_pos(const reader *r, size_t offset) {
    npu_pos pos = {r->file, 1, 1};
    for (size_t i = 0; i < offset && i < r->length; i++) {
        unsigned char c = (unsigned char)r->text[i];
        if (c == '\n') {
            pos.line++;
            pos.col = 1;
        } else if ((c & 0xC0) != 0x80) { // columns count characters, as libyaml's do
            pos.col++;
        }
    }
    return pos;
}

// The usual mistake behind libyaml's "found character that cannot start any token".
static bool is_tab(const reader *r, yaml_mark_t mark) {
    size_t at = 0;
    for (size_t line = 0; line < mark.line && at < r->length; at++)
        line += r->text[at] == '\n';
    return mark.column < r->length - at && r->text[at + mark.column] == '\t';
}

static npu_status parser_failed(reader *r) {
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_MEMORY_ERROR)
        return npu_fail_memory(r->err);
    npu_pos pos = p->error == YAML_READER_ERROR ? offset_pos(r, p->problem_offset)
                                                : mark_pos(r, p->problem_mark);
    if (p->error == YAML_SCANNER_ERROR && is_tab(r, p->problem_mark))
        return npu_fail(r->err, NPU_BAD_INPUT, pos, "bad YAML: a tab; indent with spaces");
    const char *context = p->context != NULL ? p->context : "";
    return npu_fail(r->err, NPU_BAD_INPUT, pos, "bad YAML: %s%s%s",
                    p->problem != NULL ? p->problem : "unknown problem", *context ? " " : "",
                    context);
}

static npu_status next_event(reader *r, yaml_event_t *event) {
    return yaml_parser_parse(&r->parser, event) ? NPU_OK : parser_failed(r);
}

static npu_status push(reader *r, npu_yaml *node) {
    npu_status status =
        npu_grow((void **)&r->stack, &r->capacity, r->count + 1, sizeof(npu_yaml *), r->err);
    if (status == NPU_OK)
        r->stack[r->count++] = node;
    return status;
}

static int compare_places(npu_pos a, npu_pos b) {
    if (a.line != b.line)
        return a.line < b.line ? -1 : 1;
    return (a.col > b.col) - (a.col < b.col);
}

static int compare_keys(const void *a, const void *b) {
    const npu_yaml *x = *(npu_yaml *const *)a;
    const npu_yaml *y = *(npu_yaml *const *)b;
    int order = strcmp(x->text, y->text);
    return order != 0 ? order : compare_places(x->pos, y->pos);
}

static npu_status check_duplicates(reader *r, const npu_yaml *map) {
    if (map->count < 2)
        return NPU_OK;
    size_t count = (size_t)map->count;
    npu_yaml **sorted = malloc(count * sizeof(npu_yaml *));
    if (sorted == NULL)
        return npu_fail_memory(r->err);
    memcpy(sorted, map->keys, count * sizeof(npu_yaml *));
    qsort(sorted, count, sizeof(npu_yaml *), compare_keys);
    const npu_yaml *first = NULL;
    const npu_yaml *second = NULL;
    for (size_t i = 1; i < count; i++) {
        bool same = strcmp(sorted[i - 1]->text, sorted[i]->text) == 0;
        // Of several duplicates the one that stands first in the file is reported.
        if (same && (second == NULL || compare_places(sorted[i]->pos, second->pos) < 0)) {
            first = sorted[i - 1];
            second = sorted[i];
        }
    }
    free(sorted);
    if (second == NULL)
        return NPU_OK;
    return npu_fail(r->err, NPU_BAD_INPUT, second->pos,
                    "duplicate key '%s'; first given at line %d", second->text, first->pos.line);
}

// Moves the entries above `base` from the stack into the node.
static npu_status take_entries(reader *r, npu_yaml *node, int base) {
    bool is_map = node->kind == NPU_YAML_MAP;
    int step = is_map ? 2 : 1;
    assert(base <= r->count && (r->count - base) % step == 0);
    node->count = (r->count - base) / step;
    node->items = npu_arena_alloc(r->arena, (size_t)node->count, sizeof(npu_yaml *));
    if (is_map)
        node->keys = npu_arena_alloc(r->arena, (size_t)node->count, sizeof(npu_yaml *));
    if (node->items == NULL || (is_map && node->keys == NULL))
        return npu_fail_memory(r->err);
    for (int i = 0; i < node->count; i++) {
        if (is_map)
            node->keys[i] = r->stack[base + i * step];
        node->items[i] = r->stack[base + i * step + step - 1];
    }
    r->count = base;
    return is_map ? check_duplicates(r, node) : NPU_OK;
}

static npu_status read_node(reader *r, yaml_event_t *event, int depth, npu_yaml **out);

static npu_status read_entries(reader *r, npu_yaml *node, int depth) {
    bool is_map = node->kind == NPU_YAML_MAP;
    yaml_event_type_t end = is_map ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT;
    int base = r->count;
    for (bool key = is_map;; key = is_map && !key) {
        yaml_event_t event;
        npu_status status = next_event(r, &event);
        if (status != NPU_OK)
            return status;
        npu_yaml *entry = NULL;
        bool done = event.type == end;
        if (!done)
            status = read_node(r, &event, depth + 1, &entry);
        yaml_event_delete(&event);
        if (done)
            return take_entries(r, node, base);
        if (status == NPU_OK && key && entry->kind != NPU_YAML_SCALAR)
            status = npu_fail(r->err, NPU_BAD_INPUT, entry->pos, "a key must be a single value");
        if (status == NPU_OK)
            status = push(r, entry);
        if (status != NPU_OK)
            return status;
    }
}

static npu_status read_scalar(reader *r, const yaml_event_t *event, npu_yaml *node) {
    const char *value = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    if (memchr(value, '\0', length) != NULL)
        return npu_fail(r->err, NPU_BAD_INPUT, node->pos, "a value must not hold a zero byte");
    yaml_scalar_style_t style = event->data.scalar.style;
    // So that an offset into the text can be added to the column.
    if (style == YAML_SINGLE_QUOTED_SCALAR_STYLE || style == YAML_DOUBLE_QUOTED_SCALAR_STYLE)
        node->pos.col++;
    node->text = npu_arena_text(r->arena, value, length);
    return node->text != NULL ? NPU_OK : npu_fail_memory(r->err);
}

static npu_status refuse_anchors(reader *r, const yaml_event_t *event) {
    const yaml_char_t *anchor = NULL;
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        anchor = event->data.scalar.anchor;
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = event->data.sequence_start.anchor;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = event->data.mapping_start.anchor;
        break;
    default:
        assert(event->type == YAML_ALIAS_EVENT);
        return npu_fail(r->err, NPU_BAD_INPUT, mark_pos(r, event->start_mark),
                        "aliases (*%s) are not supported; repeat the value",
                        (const char *)event->data.alias.anchor);
    }
    if (anchor == NULL)
        return NPU_OK;
    return npu_fail(r->err, NPU_BAD_INPUT, mark_pos(r, event->start_mark),
                    "anchors (&%s) are not supported", (const char *)anchor);
}

static npu_status read_node(reader *r, yaml_event_t *event, int depth, npu_yaml **out) {
    npu_status status = refuse_anchors(r, event);
    if (status != NPU_OK)
        return status;
    npu_pos pos = mark_pos(r, event->start_mark);
    if (depth > MAX_DEPTH)
        return npu_fail(r->err, NPU_BAD_INPUT, pos, "nested deeper than %d levels", MAX_DEPTH);
    npu_yaml *node = npu_arena_alloc(r->arena, 1, sizeof *node);
    if (node == NULL)
        return npu_fail_memory(r->err);
    node->pos = pos;
    *out = node;
    if (event->type == YAML_SCALAR_EVENT) {
        node->kind = NPU_YAML_SCALAR;
        return read_scalar(r, event, node);
    }
    node->kind = event->type == YAML_MAPPING_START_EVENT ? NPU_YAML_MAP : NPU_YAML_LIST;
    return read_entries(r, node, depth);
}

// "---" alone is a document whose root is an empty plain scalar.
static bool is_empty_root(const npu_yaml *root, const yaml_event_t *event) {
    assert(root != NULL);
    return root->kind == NPU_YAML_SCALAR && root->text[0] == '\0' &&
           event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

// Handles one event of the stream outside the root node.
static npu_status read_outer(reader *r, yaml_event_t *event, npu_yaml **root, bool *done) {
    npu_pos pos = mark_pos(r, event->start_mark);
    npu_pos whole = {r->file, 0, 0};
    switch (event->type) {
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return NPU_OK;
    case YAML_DOCUMENT_START_EVENT:
        if (*root != NULL)
            return npu_fail(r->err, NPU_BAD_INPUT, pos, "a second document starts here");
        return NPU_OK;
    case YAML_STREAM_END_EVENT:
        *done = true;
        return *root != NULL ? NPU_OK : npu_fail(r->err, NPU_BAD_INPUT, whole, "the file is empty");
    default:
        break;
    }
    npu_status status = read_node(r, event, 1, root);
    if (status == NPU_OK && is_empty_root(*root, event))
        status = npu_fail(r->err, NPU_BAD_INPUT, whole, "the file is empty");
    return status;
}

static npu_status too_large(const char *file, npu_error *err) {
    return npu_fail(err, NPU_BAD_INPUT, (npu_pos){file, 0, 0}, "the file is larger than 64 MiB");
}

npu_status npu_yaml_parse(npu_arena *arena, const char *name, const char *text, size_t length,
                          const npu_yaml **root, npu_error *err) {
    assert(arena != NULL && name != NULL && (text != NULL || length == 0) && root != NULL);
    *root = NULL;
    reader r = {.arena = arena, .text = text, .length = length, .err = err};
    r.file = npu_arena_text(arena, name, strlen(name));
    if (r.file == NULL)
        return npu_fail_memory(err);
    if (length > MAX_FILE)
        return too_large(r.file, err);
    if (!yaml_parser_initialize(&r.parser))
        return npu_fail_memory(err);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)(text ? text : ""), length);
    npu_yaml *tree = NULL;
    npu_status status = NPU_OK;
    for (bool done = false; status == NPU_OK && !done;) {
        yaml_event_t event;
        status = next_event(&r, &event);
        if (status == NPU_OK) {
            status = read_outer(&r, &event, &tree, &done);
            yaml_event_delete(&event);
        }
    }
    yaml_parser_delete(&r.parser);
    free(r.stack);
    if (status == NPU_OK)
        *root = tree;
    return status;
}

// The whole of `file` in a malloc'ed block; reads one byte more than allowed at most.
static npu_status read_all(FILE *file, const char *path, char **text, size_t *length,
                           npu_error *err) {
    size_t capacity = 0;
    *text = NULL;
    *length = 0;
    while (!feof(file)) {
        if (*length == capacity) {
            capacity = capacity > 0 ? 2 * capacity : 16384;
            char *grown = realloc(*text, capacity);
            if (grown == NULL)
                return npu_fail_memory(err);
            *text = grown;
        }
        *length += fread(*text + *length, 1, capacity - *length, file);
        if (ferror(file))
            return npu_fail(err, NPU_IO, (npu_pos){0}, "cannot read %s: %s", path, strerror(errno));
        if (*length > MAX_FILE)
            return too_large(path, err);
    }
    return NPU_OK;
}

npu_status npu_yaml_load(npu_arena *arena, const char *path, const npu_yaml **root,
                         npu_error *err) {
    assert(arena != NULL && path != NULL && root != NULL);
    *root = NULL;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return npu_fail(err, NPU_IO, (npu_pos){0}, "cannot read %s: %s", path, strerror(errno));
    char *text = NULL;
    size_t length = 0;
    npu_status status = read_all(file, path, &text, &length, err);
    fclose(file);
    if (status == NPU_OK)
        status = npu_yaml_parse(arena, path, text, length, root, err);
    free(text);
    return status;
}

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

// "; there are row, col"
static void list_names(const char *const *names, int count, char *buf, size_t size) {
    size_t used = 0;
    for (int i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(buf + used, size - used, "%s%s", i == 0 ? "; there are " : ", ",
                                 names[i]);
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
    npu_did_you_mean(node->text, names, at, hint, sizeof hint);
    if (hint[0] == '\0')
        list_names(names, at, hint, sizeof hint);
    return npu_fail(err, NPU_BAD_INPUT, node->pos, "unknown %s '%s'%s", what, node->text, hint);
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

const char *npu_path_beside(npu_arena *arena, const char *from, const char *relative) {
    const char *slash = strrchr(from, '/');
    if (relative[0] == '/' || slash == NULL)
        return npu_arena_text(arena, relative, strlen(relative));
    return npu_arena_printf(arena, "%.*s/%s", (int)(slash - from), from, relative);
}
