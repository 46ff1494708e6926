// SPDX-License-Identifier: Apache-2.0
// Names and regions as written: "layer[3].q", "x[0 : 8, g * 512 : 512]".
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "build.h"

static const char *skip_spaces(const char *text) {
    return text + strspn(text, " \t\n");
}

const char *npu_shape_text(const int64_t *shape, int rank, char *buf, int size) {
    int used = snprintf(buf, (size_t)size, "[");
    for (int i = 0; i < rank && used < size; i++)
        used +=
            snprintf(buf + used, (size_t)(size - used), "%s%" PRId64, i > 0 ? ", " : "", shape[i]);
    if (used < size)
        snprintf(buf + used, (size_t)(size - used), "]");
    return buf;
}

// ---------------------------------------------------------------- names

// The text of "[...]" that starts at `text`; its length without the brackets, or -1.
static int group_length(const char *text) {
    assert(text[0] == '[');
    int depth = 0;
    for (int i = 0; text[i] != '\0'; i++) {
        depth += text[i] == '[' || text[i] == '(';
        depth -= text[i] == ']' || text[i] == ')';
        if (depth == 0)
            return i - 1;
    }
    return -1;
}

// Reads the groups behind a name; returns where they end.
static npu_status read_groups(npu_build *b, const char *text, npu_pos pos, const char **at,
                              npu_path *path) {
    path->group_count = 0;
    for (*at = skip_spaces(*at); **at == '['; *at = skip_spaces(*at)) {
        int length = group_length(*at);
        if (length < 0)
            return npu_fail(b->err, NPU_BAD_INPUT, npu_pos_right(pos, *at - text),
                            "'%s' lacks a ']'", text);
        if (path->group_count == 2)
            return npu_fail(b->err, NPU_BAD_INPUT, npu_pos_right(pos, *at - text),
                            "'%s' has too many brackets", text);
        int i = path->group_count++;
        path->group[i] = *at + 1;
        path->length[i] = length;
        path->group_pos[i] = npu_pos_right(pos, *at + 1 - text);
        *at += length + 2;
    }
    return NPU_OK;
}

npu_status npu_path_parse(npu_build *b, const char *text, npu_pos pos, npu_path *path) {
    const char *at = skip_spaces(text);
    const char *prefix = b->frame->prefix;
    *path = (npu_path){.simple = true};
    while (true) {
        int length = npu_name_length(at);
        if (length == 0)
            return npu_fail(b->err, NPU_BAD_INPUT, npu_pos_right(pos, at - text),
                            "'%s' is no name like x, x[i] or part.x", text);
        path->local = npu_arena_text(&b->scratch, at, (size_t)length);
        path->base = npu_arena_printf(&b->scratch, "%s%.*s", prefix, length, at);
        if (path->local == NULL || path->base == NULL)
            return npu_fail_memory(b->err);
        at += length;
        npu_status status = read_groups(b, text, pos, &at, path);
        if (status != NPU_OK || *at == '\0')
            return status;
        if (*at != '.' || path->group_count == 2)
            return npu_fail(b->err, NPU_BAD_INPUT, npu_pos_right(pos, at - text),
                            "'%s' is no name like x, x[i] or part.x", text);
        at++;
        int arity = 0;
        const char *part = path->base;
        if (path->group_count == 1)
            status = npu_index_text(b, path->base, path, 0, &arity, &part);
        if (status != NPU_OK)
            return status;
        prefix = npu_arena_printf(&b->scratch, "%s.", part);
        if (prefix == NULL)
            return npu_fail_memory(b->err);
        path->simple = false;
    }
}

npu_status npu_split(npu_build *b, const char *text, int length, npu_pos pos, npu_part *parts,
                     int most, int *count) {
    int from = 0;
    int depth = 0;
    *count = 0;
    for (int i = 0; i <= length; i++) {
        char c = i < length ? text[i] : ',';
        depth += c == '[' || c == '(';
        depth -= c == ']' || c == ')';
        if (c != ',' || (depth > 0 && i < length))
            continue;
        if (*count == most)
            return npu_fail(b->err, NPU_BAD_INPUT, pos, "[%.*s] has more than %d parts", length,
                            text, most);
        while (from < i && (text[from] == ' ' || text[from] == '\t'))
            from++;
        int end = i;
        while (end > from && (text[end - 1] == ' ' || text[end - 1] == '\t'))
            end--;
        if (end == from)
            return npu_fail(b->err, NPU_BAD_INPUT, npu_pos_right(pos, from),
                            "[%.*s] has an empty part", length, text);
        char *copy = npu_arena_text(&b->scratch, text + from, (size_t)(end - from));
        if (copy == NULL)
            return npu_fail_memory(b->err);
        parts[(*count)++] = (npu_part){copy, npu_pos_right(pos, from)};
        from = i + 1;
    }
    return NPU_OK;
}

npu_status npu_index_text(npu_build *b, const char *base, const npu_path *path, int group,
                          int *arity, const char **text) {
    npu_part parts[NPU_MAX_RANK];
    npu_status status = npu_split(b, path->group[group], path->length[group],
                                  path->group_pos[group], parts, NPU_MAX_RANK, arity);
    char buf[160] = "";
    int used = 0;
    for (int i = 0; status == NPU_OK && i < *arity; i++) {
        int64_t value = 0;
        status = npu_build_eval(b, parts[i].text, parts[i].pos, &value);
        used +=
            snprintf(buf + used, sizeof buf - (size_t)used, "%s%" PRId64, i > 0 ? "," : "", value);
    }
    if (status != NPU_OK)
        return status;
    *text = npu_arena_printf(b->arena, "%s[%s]", base, buf);
    return *text != NULL ? NPU_OK : npu_fail_memory(b->err);
}

npu_status npu_new_name(npu_build *b, const npu_yaml *node, const char *what, const char **base,
                        const char **full, int *arity) {
    npu_path path;
    npu_status status = npu_yaml_want(node, NPU_YAML_SCALAR, what, b->err);
    if (status == NPU_OK)
        status = npu_path_parse(b, node->text, node->pos, &path);
    if (status != NPU_OK)
        return status;
    if (!path.simple || path.group_count > 1)
        return npu_fail(b->err, NPU_BAD_INPUT, node->pos,
                        "'%s' is no new name; it may be x, x[i] or x[i, j]", node->text);
    *base = npu_arena_text(b->arena, path.base, strlen(path.base));
    if (*base == NULL)
        return npu_fail_memory(b->err);
    *full = *base;
    *arity = 0;
    return path.group_count == 1 ? npu_index_text(b, *base, &path, 0, arity, full) : NPU_OK;
}

npu_status npu_add_name(npu_build *b, npu_names *names, npu_names *families, const char *what,
                        const char *base, const char *full, int arity, int index, npu_pos pos) {
    if (npu_names_find(names, full) != NULL)
        return npu_fail(b->err, NPU_BAD_INPUT, pos, "there is already a %s '%s'", what, full);
    npu_name *known = npu_names_find(families, base);
    if (known != NULL && b->families[known->value].arity != arity)
        return npu_fail(b->err, NPU_BAD_INPUT, pos,
                        "there is already a %s '%s' with another number of indices", what, base);
    npu_status status = npu_names_add(names, full, index, b->err);
    if (status != NPU_OK || known != NULL)
        return status;
    status = NPU_GROW(b, families, family_count, family_capacity, b->err);
    if (status != NPU_OK)
        return status;
    b->families[b->family_count] = (npu_family){arity, index, index};
    return npu_names_add(families, base, b->family_count++, b->err);
}

// ---------------------------------------------------------------- windows

static npu_status check_dim(npu_build *b, const char *name, const npu_dim *dim, int i, int64_t size,
                            const char *shown) {
    if (dim->kind == NPU_DIM_ALL)
        return NPU_OK;
    if (dim->start < 0)
        return npu_fail(b->err, NPU_BAD_INPUT, dim->pos, "%s starts at %" PRId64 " in dimension %d",
                        shown, dim->start, i);
    if (dim->kind == NPU_DIM_INDEX && dim->start >= size)
        return npu_fail(b->err, NPU_BAD_INPUT, dim->pos,
                        "%s is at %" PRId64 ", but dimension %d of '%s' has %" PRId64, shown,
                        dim->start, i, name, size);
    if (dim->kind == NPU_DIM_INDEX)
        return NPU_OK;
    if (dim->length < 1)
        return npu_fail(b->err, NPU_BAD_INPUT, dim->pos,
                        "%s has length %" PRId64 " in dimension %d", shown, dim->length, i);
    if (dim->length > size || dim->start > size - dim->length)
        return npu_fail(b->err, NPU_BAD_INPUT, dim->pos,
                        "%s ends at %.0f, but dimension %d of '%s' has %" PRId64, shown,
                        (double)dim->start + (double)dim->length, i, name, size);
    return NPU_OK;
}

// The region with its numbers.
static const char *show_region(const char *name, const npu_dim *dims, int count, char *buf,
                               int size) {
    int used = snprintf(buf, (size_t)size, "%s[", name);
    for (int i = 0; i < count && used < size; i++) {
        const char *comma = i > 0 ? ", " : "";
        size_t left = (size_t)(size - used);
        if (dims[i].kind == NPU_DIM_ALL)
            used += snprintf(buf + used, left, "%s:", comma);
        else if (dims[i].kind == NPU_DIM_INDEX)
            used += snprintf(buf + used, left, "%s%" PRId64, comma, dims[i].start);
        else
            used += snprintf(buf + used, left, "%s%" PRId64 " : %" PRId64, comma, dims[i].start,
                             dims[i].length);
    }
    if (used < size)
        snprintf(buf + used, (size_t)(size - used), "]");
    return buf;
}

npu_status npu_cut(npu_build *b, const char *name, const npu_dim *dims, int count, npu_pos pos,
                   npu_arg *window) {
    char shown[256];
    assert(count <= NPU_MAX_RANK && window->rank <= NPU_MAX_RANK);
    show_region(name, dims, count, shown, sizeof shown);
    if (count != window->rank)
        return npu_fail(b->err, NPU_BAD_INPUT, pos, "%s names %d dimension%s, but '%s' has %d",
                        shown, count, count == 1 ? "" : "s", name, window->rank);
    int rank = 0;
    for (int i = 0; i < count; i++) {
        npu_status status = check_dim(b, name, &dims[i], i, window->shape[i], shown);
        if (status != NPU_OK)
            return status;
        bool all = dims[i].kind == NPU_DIM_ALL;
        if (!all)
            window->offset += dims[i].start * window->stride[i];
        if (dims[i].kind == NPU_DIM_INDEX)
            continue;
        window->shape[rank] = all ? window->shape[i] : dims[i].length;
        window->stride[rank] = window->stride[i];
        rank++;
    }
    if (rank == 0)
        return npu_fail(b->err, NPU_BAD_INPUT, pos,
                        "%s has no dimension left; write i : 1 to keep one", shown);
    window->rank = rank;
    return NPU_OK;
}

// Where the ':' of "start : length" is; that of "a ? b : c" does not count. NULL: no range.
static const char *find_colon(const char *text) {
    int depth = 0;
    int choices = 0;
    for (; *text != '\0'; text++) {
        depth += *text == '(';
        depth -= *text == ')';
        choices += *text == '?';
        if (*text == ':' && depth == 0 && choices-- == 0)
            return text;
    }
    return NULL;
}

static npu_status read_dim(npu_build *b, const npu_part *part, npu_dim *dim) {
    *dim = (npu_dim){.kind = NPU_DIM_ALL, .pos = part->pos};
    if (strcmp(part->text, ":") == 0)
        return NPU_OK;
    const char *colon = find_colon(part->text);
    dim->kind = colon == NULL ? NPU_DIM_INDEX : NPU_DIM_RANGE;
    if (colon == NULL)
        return npu_build_eval(b, part->text, part->pos, &dim->start);
    const char *end = colon;
    while (end > part->text && end[-1] == ' ')
        end--;
    const char *length = skip_spaces(colon + 1);
    char *start = npu_arena_text(&b->scratch, part->text, (size_t)(end - part->text));
    if (start == NULL)
        return npu_fail_memory(b->err);
    npu_status status = npu_build_eval(b, start, part->pos, &dim->start);
    if (status == NPU_OK)
        status =
            npu_build_eval(b, length, npu_pos_right(part->pos, length - part->text), &dim->length);
    return status;
}

static npu_status unknown_tensor(npu_build *b, const npu_path *path, npu_pos pos) {
    const char *prefix = b->frame->prefix;
    size_t skip = strlen(prefix);
    int most = b->tensor_families.count + b->frame->tie_count;
    const char **names = npu_arena_alloc(&b->scratch, (size_t)most + 1, sizeof *names);
    if (names == NULL)
        return npu_fail_memory(b->err);
    int count = 0;
    for (int i = 0; i < b->frame->tie_count; i++)
        names[count++] = b->frame->ties[i].name;
    for (int i = 0; i < b->tensor_families.count; i++)
        if (strncmp(b->tensor_families.items[i].text, prefix, skip) == 0)
            names[count++] = b->tensor_families.items[i].text + skip;
    char hint[128];
    const char *word = path->base + skip;
    return npu_fail(b->err, NPU_BAD_INPUT, pos, "unknown tensor '%s'%s", word,
                    npu_did_you_mean(word, names, count, hint, sizeof hint));
}

// The tensor of a path; *used counts the groups that are its index.
static npu_status find_tensor(npu_build *b, const npu_path *path, npu_pos pos, int *tensor,
                              int *used) {
    *used = 0;
    assert(path->local != NULL);
    for (int i = 0; path->simple && i < b->frame->tie_count; i++)
        if (strcmp(b->frame->ties[i].name, path->local) == 0) {
            *tensor = b->frame->ties[i].tensor;
            return NPU_OK;
        }
    npu_name *family = npu_names_find(&b->tensor_families, path->base);
    if (family == NULL)
        return unknown_tensor(b, path, pos);
    int arity = b->families[family->value].arity;
    const char *full = path->base;
    if (arity > 0) {
        if (path->group_count == 0)
            return npu_fail(b->err, NPU_BAD_INPUT, pos, "the tensor '%s' needs an index: %s[..]",
                            path->local, path->local);
        int given = 0;
        npu_status status = npu_index_text(b, path->base, path, 0, &given, &full);
        if (status != NPU_OK)
            return status;
        *used = 1;
    }
    npu_name *name = npu_names_find(&b->tensor_names, full);
    if (name == NULL)
        return npu_fail(b->err, NPU_BAD_INPUT, pos, "there is no tensor '%s'", full);
    *tensor = name->value;
    return NPU_OK;
}

npu_status npu_build_ref(npu_build *b, const char *text, npu_pos pos, npu_arg *window) {
    npu_path path;
    int index = 0;
    int used = 0;
    npu_status status = npu_path_parse(b, text, pos, &path);
    if (status == NPU_OK)
        status = find_tensor(b, &path, pos, &index, &used);
    if (status != NPU_OK)
        return status;
    const npu_tensor *tensor = &b->tensors[index];
    window->tensor = index;
    window->rank = tensor->rank;
    window->offset = tensor->offset;
    window->pos = pos;
    memcpy(window->shape, tensor->shape, sizeof window->shape);
    memcpy(window->stride, tensor->stride, sizeof window->stride);
    if (path.group_count == used)
        return NPU_OK;
    if (path.group_count > used + 1)
        return npu_fail(b->err, NPU_BAD_INPUT, pos, "'%s' has too many brackets", text);
    npu_part parts[NPU_MAX_RANK];
    npu_dim dims[NPU_MAX_RANK];
    int count = 0;
    status = npu_split(b, path.group[used], path.length[used], path.group_pos[used], parts,
                       NPU_MAX_RANK, &count);
    for (int i = 0; status == NPU_OK && i < count; i++)
        status = read_dim(b, &parts[i], &dims[i]);
    return status == NPU_OK ? npu_cut(b, tensor->name, dims, count, pos, window) : status;
}

npu_status npu_transpose(npu_build *b, npu_pos pos, npu_arg *window) {
    if (window->rank < 2)
        return npu_fail(b->err, NPU_BAD_INPUT, pos, "a window with one dimension has no transpose");
    int i = window->rank - 2;
    int64_t shape = window->shape[i];
    int64_t stride = window->stride[i];
    window->shape[i] = window->shape[i + 1];
    window->stride[i] = window->stride[i + 1];
    window->shape[i + 1] = shape;
    window->stride[i + 1] = stride;
    return NPU_OK;
}
