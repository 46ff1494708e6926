// SPDX-License-Identifier: Apache-2.0
// What ops name: regions of arguments, and slots.
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"
#include "name.h"

// ---- regions ---------------------------------------------------------------------------

// The end of one piece of `text`: the next of `stops` outside brackets; a colon that belongs
// to a `?` does not stop it.
static const char *piece_end(const char *text, const char *stops) {
    int depth = 0, questions = 0;
    for (; *text != '\0'; text++) {
        if (*text == '(' || *text == '[')
            depth++;
        else if (depth > 0 && (*text == ')' || *text == ']'))
            depth--;
        else if (depth == 0 && *text == '?')
            questions++;
        else if (depth == 0 && *text == ':' && questions > 0)
            questions--;
        else if (depth == 0 && strchr(stops, *text) != NULL)
            break;
    }
    return text;
}

npu_status npu_parse_piece(npu_parser *p, const char *text, const char *end, npu_pos pos,
                           const npu_expr **expr) {
    const char *copy = npu_arena_text(p->arena, text, (size_t)(end - text));
    return copy == NULL ? npu_fail_memory(p->err)
                        : npu_expr_parse(p->arena, copy, pos, expr, p->err);
}

static bool blank(const char *text, const char *end) {
    while (text < end && isspace((unsigned char)*text))
        text++;
    return text == end;
}

static npu_status parse_dim(npu_parser *p, const char *text, const char *end, npu_pos pos,
                            npu_region_dim *dim) {
    const char *colon = piece_end(text, ",]:");
    if (colon >= end || *colon != ':')
        return npu_parse_piece(p, text, end, pos, &dim->start);
    if (blank(text, colon) && blank(colon + 1, end))
        return NPU_OK;
    npu_status status = npu_parse_piece(p, text, colon, pos, &dim->start);
    if (!status)
        status =
            npu_parse_piece(p, colon + 1, end, npu_pos_right(pos, colon + 1 - text), &dim->length);
    return status;
}

static npu_status find_arg(npu_parser *p, const char *name, npu_pos pos, int *arg) {
    const char *names[64];
    int count = 0;
    for (int i = 0; i < p->kernel->arg_count; i++) {
        if (strcmp(p->kernel->args[i].name, name) == 0) {
            *arg = i;
            return NPU_OK;
        }
        if (count < 64)
            names[count++] = p->kernel->args[i].name;
    }
    char hint[128];
    return npu_fail(p->err, NPU_BAD_INPUT, pos, "kernel '%s' has no argument '%s'%s",
                    p->kernel->name, name, npu_did_you_mean(name, names, count, hint, sizeof hint));
}

npu_status npu_parse_region(npu_parser *p, const npu_yaml *node, npu_region_ast *region) {
    npu_status status = npu_yaml_want(node, NPU_YAML_SCALAR, "a region", p->err);
    if (status)
        return status;
    const char *text = node->text;
    const char *open = strchr(text, '[');
    size_t length = strlen(text);
    if (open == NULL || length == 0 || text[length - 1] != ']')
        return npu_fail(p->err, NPU_BAD_INPUT, node->pos,
                        "a region is written 'x[start : length, ...]', not '%s'", text);
    const char *stop = open;
    while (stop > text && isspace((unsigned char)stop[-1]))
        stop--;
    const char *name = npu_arena_text(p->arena, text, (size_t)(stop - text));
    if (name == NULL)
        return npu_fail_memory(p->err);
    region->pos = node->pos;
    status = find_arg(p, name, node->pos, &region->arg);
    for (const char *at = open + 1; !status;) {
        const char *end = piece_end(at, ",]");
        if (region->rank == NPU_MAX_RANK)
            return npu_fail(p->err, NPU_BAD_INPUT, node->pos, "a region has at most %d dimensions",
                            NPU_MAX_RANK);
        status = parse_dim(p, at, end, npu_pos_right(node->pos, at - text),
                           &region->dims[region->rank++]);
        if (!status && *end != ',' && end[1] != '\0')
            status = npu_fail(p->err, NPU_BAD_INPUT, npu_pos_right(node->pos, end + 1 - text),
                              "'%s' goes on after its region", text);
        if (*end != ',')
            break;
        at = end + 1;
    }
    return status;
}

// ---- slots -----------------------------------------------------------------------------

// The slot a text names; "xb[...]" is a part of it.
npu_status npu_parse_slot(npu_parser *p, const npu_yaml *node, int *slot, bool *whole) {
    npu_status status = npu_yaml_want(node, NPU_YAML_SCALAR, "a slot", p->err);
    if (status)
        return status;
    size_t length = strcspn(node->text, "[");
    const char *names[NPU_MAX_SLOTS];
    for (int i = 0; i < p->kernel->slot_count; i++) {
        names[i] = p->kernel->slots[i].name;
        if (strlen(names[i]) == length && strncmp(names[i], node->text, length) == 0) {
            *slot = i;
            if (whole != NULL)
                *whole = node->text[length] == '\0';
            return NPU_OK;
        }
    }
    char hint[128];
    return npu_fail(p->err, NPU_BAD_INPUT, node->pos, "unknown slot '%s'%s", node->text,
                    npu_did_you_mean(node->text, names, p->kernel->slot_count, hint, sizeof hint));
}

// The slot under `key`, which must be in one of the `allowed` buffers (a bit each).
npu_status npu_parse_slot_in(npu_parser *p, const npu_yaml *map, const char *what, const char *key,
                             unsigned allowed, int *slot, bool *whole) {
    const npu_yaml *node = NULL;
    npu_status status = npu_yaml_need(map, what, key, &node, p->err);
    if (!status)
        status = npu_parse_slot(p, node, slot, whole);
    if (status)
        return status;
    npu_buffer buffer = p->kernel->slots[*slot].buffer;
    if (allowed & (1u << buffer))
        return NPU_OK;
    char takes[64] = "";
    for (int i = 0; i < NPU_BUFFER_COUNT; i++) {
        size_t used = strlen(takes);
        if (allowed & 1u << i)
            snprintf(takes + used, sizeof takes - used, "%s%s", used > 0 ? " or " : "",
                     npu_buffer_names[i]);
    }
    return npu_fail(p->err, NPU_BAD_INPUT, node->pos,
                    "%s cannot use slot '%s' in %s as '%s'; it takes %s", what,
                    p->kernel->slots[*slot].name, npu_buffer_names[buffer], key, takes);
}
