// SPDX-License-Identifier: Apache-2.0
#include "inline.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

// ---- what such a graph cannot have ---------------------------------------------------------

static npu_status refuse_path(const npu_yaml *node, const char *what, npu_error *err) {
    return npu_fail(err, NPU_BAD_INPUT, node->pos,
                    "a graph inside a case file cannot name the file of %s; give the graph a file "
                    "of its own",
                    what);
}

static npu_status check_items(const npu_yaml *items, npu_error *err) {
    npu_status status = NPU_OK;
    for (int i = 0; items != NULL && items->kind == NPU_YAML_LIST && i < items->count && !status;
         i++) {
        const npu_yaml *item = items->items[i];
        if (item->kind != NPU_YAML_MAP)
            continue; // the loader of graphs will say so
        const npu_yaml *include = npu_yaml_get(item, "include");
        if (include != NULL)
            return refuse_path(include, "an included graph", err);
        status = check_items(npu_yaml_get(item, "do"), err);
        if (!status)
            status = check_items(npu_yaml_get(item, "else"), err);
    }
    return status;
}

// Paths are relative to the file that names them, but the text is loaded from elsewhere.
static npu_status check_paths(const npu_yaml *graph, npu_error *err) {
    assert(graph->kind == NPU_YAML_MAP);
    const npu_yaml *kernels = npu_yaml_get(graph, "kernels");
    if (kernels != NULL && kernels->kind == NPU_YAML_MAP)
        for (int i = 0; i < kernels->count; i++)
            if (kernels->items[i]->kind == NPU_YAML_SCALAR)
                return refuse_path(kernels->items[i], "a kernel", err);
    return check_items(npu_yaml_get(graph, "tasks"), err);
}

// ---- its text ------------------------------------------------------------------------------

// The whole file, malloc'ed.
static npu_status read_file(const char *path, char **text, npu_error *err) {
    FILE *file = fopen(path, "rb");
    char *buffer = NULL;
    long size = -1;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (size >= 0) {
        rewind(file);
        buffer = calloc((size_t)size + 1, 1);
    }
    bool read = buffer != NULL && fread(buffer, 1, (size_t)size, file) == (size_t)size;
    int reason = errno;
    if (file != NULL)
        fclose(file);
    if (!read) {
        free(buffer);
        return npu_fail(err, NPU_IO, (npu_pos){0}, "cannot read %s: %s", path, strerror(reason));
    }
    *text = buffer;
    return NPU_OK;
}

// The byte at which the character `index` begins: libyaml counts characters.
static const char *character(const char *text, size_t index) {
    while (*text != '\0' && index > 0) {
        text++;
        if (((unsigned char)*text & 0xc0) != 0x80)
            index--;
    }
    return text;
}

// Where the map that starts at `pos` begins and ends.
static bool find_map(yaml_document_t *document, npu_pos pos, yaml_mark_t *begin, yaml_mark_t *end) {
    for (yaml_node_t *n = document->nodes.start; n < document->nodes.top; n++) {
        if (n->type != YAML_MAPPING_NODE || (int)n->start_mark.line + 1 != pos.line ||
            (int)n->start_mark.column + 1 != pos.col)
            continue;
        *begin = n->start_mark;
        *end = n->end_mark;
        return true;
    }
    return false;
}

// The map again, at the same place.
static char *cut(npu_arena *arena, const char *text, const yaml_mark_t *begin,
                 const yaml_mark_t *end) {
    const char *from = character(text, begin->index), *to = character(text, end->index);
    assert(from <= to);
    size_t blank = begin->line + begin->column, length = (size_t)(to - from);
    char *copy = npu_arena_alloc(arena, blank + length + 1, 1);
    if (copy == NULL)
        return NULL;
    memset(copy, '\n', begin->line);
    memset(copy + begin->line, ' ', begin->column);
    memcpy(copy + blank, from, length);
    return copy;
}

npu_status npu_inline_text(npu_arena *arena, const npu_yaml *graph, const char **text,
                           npu_error *err) {
    assert(graph->kind == NPU_YAML_MAP && graph->pos.file != NULL);
    char *whole = NULL;
    yaml_parser_t parser;
    yaml_document_t document;
    yaml_mark_t begin, end;
    npu_status status = check_paths(graph, err);
    if (!status)
        status = read_file(graph->pos.file, &whole, err);
    if (status)
        return status;
    assert(whole != NULL);
    if (!yaml_parser_initialize(&parser)) {
        free(whole);
        return npu_fail_memory(err);
    }
    const char *start = strncmp(whole, "\xef\xbb\xbf", 3) == 0 ? whole + 3 : whole;
    yaml_parser_set_input_string(&parser, (const unsigned char *)start, strlen(start));
    if (yaml_parser_load(&parser, &document)) {
        bool found = find_map(&document, graph->pos, &begin, &end);
        *text = found ? cut(arena, start, &begin, &end) : NULL;
        if (!found)
            status = npu_fail(err, NPU_IO, graph->pos, "the file changed while it was read");
        else if (*text == NULL)
            status = npu_fail_memory(err);
        yaml_document_delete(&document);
    } else {
        status = npu_fail(err, NPU_IO, graph->pos, "the file changed while it was read");
    }
    yaml_parser_delete(&parser);
    free(whole);
    return status;
}
