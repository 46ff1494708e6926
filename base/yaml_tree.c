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

enum { MAX_DEPTH = 64, MAX_PIECES = 64 };
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

// The line of a mark and its length up to there. False when the mark is behind the last byte.
static bool find_line(const reader *r, yaml_mark_t mark, const char **line, size_t *length) {
    size_t start = 0;
    for (size_t i = 0; i < mark.line && start < r->length; start++)
        i += r->text[start] == '\n';
    size_t at = start;
    for (size_t i = 0; i < mark.column && at < r->length; i++) // characters of 1 to 4 bytes
        for (at++; at < r->length && (r->text[at] & 0xC0) == 0x80;)
            at++;
    *line = r->text + start;
    *length = at - start;
    return at < r->length;
}

static int net_count(const char *text, size_t length, char open, char close) {
    int count = 0;
    for (size_t i = 0; i < length; i++)
        count += (text[i] == open) - (text[i] == close);
    return count;
}

// The usual mistakes behind what libyaml says; NULL when it is none of them.
static const char *usual_mistake(const reader *r) {
    const char *line = NULL;
    size_t length = 0;
    if (!find_line(r, r->parser.problem_mark, &line, &length))
        return NULL;
    if (r->parser.error == YAML_SCANNER_ERROR && line[length] == '\t')
        return "bad YAML: a tab; indent with spaces";
    if (line[length] == '[' && length > 0 &&
        (isalnum((unsigned char)line[length - 1]) || line[length - 1] == '_'))
        return "put the text in quotes: a bracket ends a value inside { } and [ ]";
    if (line[length] == ':' && memchr(line, '?', length) != NULL)
        return "put the condition in quotes: a colon with a space ends a value";
    if (line[length] == ':' && net_count(line, length, '[', ']') > 0)
        return "put the region in quotes: a colon with a space ends a value";
    return NULL;
}

static npu_status parser_failed(reader *r) {
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_MEMORY_ERROR)
        return npu_fail_memory(r->err);
    npu_pos pos = p->error == YAML_READER_ERROR ? offset_pos(r, p->problem_offset)
                                                : mark_pos(r, p->problem_mark);
    const char *mistake = p->error != YAML_READER_ERROR ? usual_mistake(r) : NULL;
    if (mistake != NULL)
        return npu_fail(r->err, NPU_BAD_INPUT, pos, "%s", mistake);
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

// A collection being read.
typedef struct entries {
    bool flow; // in [ ] or { }
    int base;  // where its entries start on the stack
    // Where a comma has cut a call:
    int first;           // in a list: its first piece on the stack, or -1
    int depth;           // parentheses that are open since then
    const npu_yaml *cut; // in a map: the value before, when it has open parentheses
} entries;

static int open_parens(const npu_yaml *scalar) {
    return net_count(scalar->text, strlen(scalar->text), '(', ')');
}

// Makes one text of the entries from `first` on. Pieces of one line keep their columns.
static npu_status join_pieces(reader *r, int first) {
    npu_yaml *whole = r->stack[first];
    for (int i = first + 1; i < r->count; i++) {
        const npu_yaml *piece = r->stack[i];
        int spaces = piece->pos.col - whole->pos.col - (int)strlen(whole->text) - 1;
        if (piece->pos.line != whole->pos.line || spaces < 0)
            spaces = 1;
        whole->text = npu_arena_printf(r->arena, "%s,%*s%s", whole->text, spaces, "", piece->text);
        if (whole->text == NULL)
            return npu_fail_memory(r->err);
    }
    r->count = first + 1;
    return NPU_OK;
}

// "[pad(T, 16), 64]" comes as "pad(T", "16)" and "64".
static npu_status add_item(reader *r, entries *e, npu_yaml *item, bool plain) {
    npu_status status = push(r, item);
    int parens = plain && e->flow ? open_parens(item) : 0;
    if (e->first < 0 && parens > 0) {
        e->first = r->count - 1;
        e->depth = 0;
    }
    if (status != NPU_OK || e->first < 0)
        return status;
    e->depth += parens;
    if (plain && e->depth > 0 && r->count - e->first < MAX_PIECES)
        return NPU_OK;
    if (plain && e->depth == 0)
        status = join_pieces(r, e->first);
    e->first = -1;
    return status;
}

static npu_status add_key(reader *r, npu_yaml *key, bool plain) {
    if (key->kind != NPU_YAML_SCALAR)
        return npu_fail(r->err, NPU_BAD_INPUT, key->pos, "a key must be a single value");
    if (plain && strchr(key->text, '?') != NULL)
        return npu_fail(r->err, NPU_BAD_INPUT, key->pos,
                        "put the condition in quotes: a colon with a space ends a value");
    return push(r, key);
}

// "{ x: pad(T, 16) }" comes as x: "pad(T" and a key "16)" without a value.
static npu_status add_value(reader *r, entries *e, npu_yaml *value, bool plain) {
    const npu_yaml *key = r->stack[r->count - 1];
    bool none = plain && value->text[0] == '\0';
    if (e->cut != NULL && (none || open_parens(key) < 0))
        return npu_fail(r->err, NPU_BAD_INPUT, e->cut->pos,
                        "put the expression in quotes: a comma ends a value inside { }");
    e->cut = e->flow && plain && open_parens(value) > 0 ? value : NULL;
    return push(r, value);
}

static bool is_plain(const yaml_event_t *event) {
    return event->type == YAML_SCALAR_EVENT && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

static npu_status read_entries(reader *r, npu_yaml *node, bool flow, int depth) {
    bool is_map = node->kind == NPU_YAML_MAP;
    yaml_event_type_t end = is_map ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT;
    entries e = {.flow = flow, .base = r->count, .first = -1};
    for (bool key = is_map;; key = is_map && !key) {
        yaml_event_t event;
        npu_status status = next_event(r, &event);
        if (status != NPU_OK)
            return status;
        npu_yaml *entry = NULL;
        bool done = event.type == end;
        bool plain = is_plain(&event);
        if (!done)
            status = read_node(r, &event, depth + 1, &entry);
        yaml_event_delete(&event);
        if (done)
            return take_entries(r, node, e.base);
        if (status == NPU_OK && key)
            status = add_key(r, entry, plain);
        else if (status == NPU_OK)
            status = is_map ? add_value(r, &e, entry, plain) : add_item(r, &e, entry, plain);
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
    if (event->type == YAML_MAPPING_START_EVENT) {
        node->kind = NPU_YAML_MAP;
        return read_entries(r, node, event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE,
                            depth);
    }
    node->kind = NPU_YAML_LIST;
    return read_entries(r, node, event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE,
                        depth);
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
