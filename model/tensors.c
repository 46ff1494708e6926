// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "build.h"

const char *const npu_class_names[] = {"activation", "weight", "cache", "handoff", NULL};
_Static_assert(sizeof npu_class_names / sizeof *npu_class_names == NPU_CLASS_COUNT + 1, "classes");

static const int64_t MAX_MEMORY = (int64_t)1 << NPU_RANK_SHIFT;

static const char *const tensor_keys[] = {"tensor", "shape",    "dtype", "class",
                                          "layout", "external", "init",  "l2",
                                          "view",   "on_ranks", NULL};

static npu_status add_tensor(npu_build *b, const npu_tensor *tensor, const char *base, int arity) {
    npu_status status = npu_add_name(b, &b->tensor_names, &b->tensor_families, "tensor", base,
                                     tensor->name, arity, b->tensor_count, tensor->pos);
    if (status == NPU_OK)
        status = NPU_GROW(b, tensors, tensor_count, tensor_capacity, b->err);
    if (status == NPU_OK)
        b->tensors[b->tensor_count++] = *tensor;
    return status;
}

// The sizes in a list, one per dimension.
static npu_status read_shape(npu_build *b, const npu_yaml *node, const char *name, int64_t *shape,
                             int *rank) {
    npu_status status = npu_yaml_want(node, NPU_YAML_LIST, "shape", b->err);
    if (status != NPU_OK)
        return status;
    if (node->count < 1 || node->count > NPU_MAX_RANK)
        return npu_fail(b->err, NPU_BAD_INPUT, node->pos,
                        "the tensor '%s' has %d dimensions; 1 to %d are possible", name,
                        node->count, NPU_MAX_RANK);
    *rank = node->count;
    for (int i = 0; i < node->count; i++) {
        status = npu_build_number(b, node->items[i], "a dimension", &shape[i]);
        if (status != NPU_OK)
            return status;
        if (shape[i] < 1)
            return npu_fail(b->err, NPU_BAD_INPUT, node->items[i]->pos,
                            "dimension %d of '%s' is %" PRId64 "; it must be at least 1", i, name,
                            shape[i]);
    }
    return NPU_OK;
}

static npu_status choose(npu_build *b, const npu_yaml *map, const char *key,
                         const char *const *names, int *index) {
    const npu_yaml *node = npu_yaml_get(map, key);
    return node != NULL ? npu_build_choice(b, node, key, names, index) : NPU_OK;
}

// What `external` and `init` say; the class decides when they are silent.
static npu_status read_external(npu_build *b, const npu_yaml *map, npu_tensor *tensor) {
    static const char *const inits[] = {"zero", NULL};
    const npu_yaml *node = npu_yaml_get(map, "external");
    const npu_yaml *init = npu_yaml_get(map, "init");
    int kind = 0;
    npu_status status = choose(b, map, "init", inits, &kind);
    tensor->external = init != NULL || tensor->class_ == NPU_WEIGHT || tensor->class_ == NPU_CACHE;
    if (status == NPU_OK && node != NULL)
        status = npu_build_flag(b, node, "external", &tensor->external);
    if (status == NPU_OK && init != NULL && !tensor->external)
        status = npu_fail(b->err, NPU_BAD_INPUT, init->pos,
                          "the host fills '%s' before the run, so it is external", tensor->name);
    return status;
}

static npu_status set_strides(npu_build *b, npu_tensor *tensor, bool col) {
    int64_t count = 1;
    for (int i = 0; i < tensor->rank; i++) {
        int dim = col ? i : tensor->rank - 1 - i;
        tensor->stride[dim] = count;
        if (__builtin_mul_overflow(count, tensor->shape[dim], &count))
            count = INT64_MAX;
    }
    if (__builtin_mul_overflow(count, npu_dtype_bytes(tensor->dtype), &tensor->bytes) ||
        tensor->bytes > MAX_MEMORY)
        return npu_fail(b->err, NPU_BAD_INPUT, tensor->pos, "the tensor '%s' is over 64 TiB",
                        tensor->name);
    return NPU_OK;
}

static npu_status read_spec(npu_build *b, const npu_yaml *map, npu_tensor *tensor) {
    static const char *const layouts[] = {"row", "col", NULL};
    static const char *const warmths[] = {"cold", "warm", NULL};
    int dtype = 0;
    int class_ = NPU_ACTIVATION;
    int col = 0;
    int warm = 0;
    const npu_yaml *shape = NULL;
    const npu_yaml *node = NULL;
    const char *what = npu_arena_printf(&b->scratch, "the tensor '%s'", tensor->name);
    if (what == NULL)
        return npu_fail_memory(b->err);
    npu_status status = npu_yaml_keys(map, what, tensor_keys, b->err);
    if (status == NPU_OK)
        status = npu_yaml_need(map, what, "shape", &shape, b->err);
    if (status == NPU_OK)
        status = npu_yaml_need(map, what, "dtype", &node, b->err);
    if (status == NPU_OK)
        status = read_shape(b, shape, tensor->name, tensor->shape, &tensor->rank);
    if (status == NPU_OK)
        status = npu_yaml_choice(node, "dtype", npu_dtype_names, &dtype, b->err);
    if (status == NPU_OK)
        status = choose(b, map, "class", npu_class_names, &class_);
    if (status == NPU_OK)
        status = choose(b, map, "layout", layouts, &col);
    if (status == NPU_OK)
        status = choose(b, map, "l2", warmths, &warm);
    tensor->dtype = (npu_dtype)dtype;
    tensor->class_ = (npu_class)class_;
    tensor->in_l2 = warm == 1;
    if (status == NPU_OK)
        status = read_external(b, map, tensor);
    return status == NPU_OK ? set_strides(b, tensor, col == 1) : status;
}

static npu_status place(npu_build *b, npu_tensor *tensor) {
    int64_t align = NPU_STORAGE_ALIGN;
    int64_t end = ((int64_t)b->options->rank + 1) * MAX_MEMORY;
    assert(b->next_address % align == 0 && b->next_address <= end);
    tensor->storage = b->tensor_count;
    tensor->address = b->next_address;
    b->next_address += (tensor->bytes + align - 1) / align * align;
    if (b->next_address > end)
        return npu_fail(b->err, NPU_BAD_INPUT, tensor->pos,
                        "with '%s' the tensors take over 64 TiB", tensor->name);
    return NPU_OK;
}

// The includer provides this tensor: nothing is made, but the two must agree.
static npu_status check_tie(npu_build *b, npu_tie *tie, const npu_tensor *declared) {
    const npu_tensor *given = &b->tensors[tie->tensor];
    bool same = given->dtype == declared->dtype && given->rank == declared->rank;
    for (int i = 0; same && i < given->rank; i++)
        same = given->shape[i] == declared->shape[i];
    tie->used = true;
    if (same)
        return NPU_OK;
    char ours[128];
    char theirs[128];
    return npu_fail(b->err, NPU_BAD_INPUT, tie->pos, "'%s' of '%s' is %s %s, but '%s' is %s %s",
                    tie->name, b->files[b->frame->file].path, npu_dtype_names[declared->dtype],
                    npu_shape_text(declared->shape, declared->rank, ours, sizeof ours), tie->shown,
                    npu_dtype_names[given->dtype],
                    npu_shape_text(given->shape, given->rank, theirs, sizeof theirs));
}

static npu_tie *find_tie(npu_build *b, const char *base, int arity) {
    const char *local = base + strlen(b->frame->prefix);
    for (int i = 0; arity == 0 && i < b->frame->tie_count; i++)
        if (strcmp(b->frame->ties[i].name, local) == 0)
            return &b->frame->ties[i];
    return NULL;
}

// ---------------------------------------------------------------- views

npu_status npu_build_view(npu_build *b, const char *base, const char *full, int arity, npu_pos pos,
                          const npu_arg *window) {
    const npu_tensor *of = &b->tensors[window->tensor];
    npu_tensor view = *of;
    view.name = full;
    view.rank = window->rank;
    memcpy(view.shape, window->shape, sizeof view.shape);
    memcpy(view.stride, window->stride, sizeof view.stride);
    view.offset = window->offset;
    view.bytes = 0;
    view.on_ranks = -1;
    view.pos = pos;
    assert(b->tensors[view.storage].storage == view.storage);
    return add_tensor(b, &view, base, arity);
}

// `offset` and `shape`: a box inside what `of` names.
static npu_status cut_view(npu_build *b, const npu_yaml *map, const char *name, npu_arg *window) {
    const npu_yaml *offset = npu_yaml_get(map, "offset");
    const npu_yaml *shape = npu_yaml_get(map, "shape");
    if (offset == NULL && shape == NULL)
        return NPU_OK;
    if (shape == NULL)
        return npu_fail(b->err, NPU_BAD_INPUT, offset->pos, "an offset needs a shape with it");
    npu_dim dims[NPU_MAX_RANK] = {0};
    int64_t sizes[NPU_MAX_RANK];
    int rank = 0;
    npu_status status = read_shape(b, shape, name, sizes, &rank);
    if (status == NPU_OK && offset != NULL)
        status = npu_yaml_want(offset, NPU_YAML_LIST, "offset", b->err);
    if (status == NPU_OK && offset != NULL && offset->count != rank)
        return npu_fail(b->err, NPU_BAD_INPUT, offset->pos, "offset and shape differ in length");
    for (int i = 0; status == NPU_OK && i < rank; i++) {
        const npu_yaml *at = offset != NULL ? offset->items[i] : NULL;
        dims[i] = (npu_dim){.kind = NPU_DIM_RANGE, .length = sizes[i]};
        dims[i].pos = at != NULL ? at->pos : shape->items[i]->pos;
        if (at != NULL)
            status = npu_build_number(b, at, "an offset", &dims[i].start);
    }
    if (status != NPU_OK)
        return status;
    return npu_cut(b, b->tensors[window->tensor].name, dims, rank, shape->pos, window);
}

static npu_status reshape_view(npu_build *b, const npu_yaml *node, const char *name,
                               npu_arg *window) {
    int64_t shape[NPU_MAX_RANK];
    int rank = 0;
    npu_status status = read_shape(b, node, name, shape, &rank);
    if (status != NPU_OK)
        return status;
    int64_t count = 1;
    for (int i = window->rank - 1; i >= 0; i--) {
        if (window->shape[i] > 1 && window->stride[i] != count)
            return npu_fail(b->err, NPU_BAD_INPUT, node->pos,
                            "only rows without gaps can be reshaped");
        count *= window->shape[i];
    }
    int64_t wanted = 1;
    for (int i = rank - 1; i >= 0; i--) {
        window->stride[i] = wanted;
        window->shape[i] = shape[i];
        if (__builtin_mul_overflow(wanted, shape[i], &wanted))
            wanted = INT64_MAX;
    }
    window->rank = rank;
    if (wanted == count)
        return NPU_OK;
    return npu_fail(b->err, NPU_BAD_INPUT, node->pos,
                    "%" PRId64 " elements cannot be reshaped to %" PRId64, count, wanted);
}

static npu_status read_view_map(npu_build *b, const npu_yaml *map, const char *name,
                                npu_arg *window) {
    static const char *const keys[] = {"of", "offset", "shape", "reshape", "transpose", NULL};
    const npu_yaml *of = NULL;
    const npu_yaml *reshape = npu_yaml_get(map, "reshape");
    const npu_yaml *transpose = npu_yaml_get(map, "transpose");
    bool swap = false;
    npu_status status = npu_yaml_keys(map, "a view", keys, b->err);
    if (status == NPU_OK)
        status = npu_yaml_need(map, "a view", "of", &of, b->err);
    if (status == NPU_OK)
        status = npu_yaml_want(of, NPU_YAML_SCALAR, "of", b->err);
    if (status == NPU_OK)
        status = npu_build_ref(b, of->text, of->pos, window);
    if (status == NPU_OK)
        status = cut_view(b, map, name, window);
    if (status == NPU_OK && reshape != NULL)
        status = reshape_view(b, reshape, name, window);
    if (status == NPU_OK && transpose != NULL)
        status = npu_build_flag(b, transpose, "transpose", &swap);
    if (status == NPU_OK && swap)
        status = npu_transpose(b, transpose->pos, window);
    return status;
}

static npu_status read_view(npu_build *b, const npu_yaml *map, const char *base, const char *full,
                            int arity, npu_pos pos) {
    const npu_yaml *node = npu_yaml_get(map, "view");
    npu_arg window = {0};
    npu_status status = npu_yaml_keys(map, "a tensor", tensor_keys, b->err);
    for (int i = 0; status == NPU_OK && i < map->count; i++)
        if (map->items[i] != node && strcmp(map->keys[i]->text, "tensor") != 0)
            status = npu_fail(b->err, NPU_BAD_INPUT, map->keys[i]->pos,
                              "'%s' cannot be given for the view '%s'; what it is a view of has it",
                              map->keys[i]->text, full);
    if (status == NPU_OK && node->kind == NPU_YAML_SCALAR)
        status = npu_build_ref(b, node->text, node->pos, &window);
    else if (status == NPU_OK)
        status = read_view_map(b, node, full, &window);
    return status == NPU_OK ? npu_build_view(b, base, full, arity, pos, &window) : status;
}

// ---------------------------------------------------------------- lists and maps

static npu_status read_tensor(npu_build *b, const npu_yaml *name, const npu_yaml *map) {
    npu_tensor tensor = {.on_ranks = -1, .pos = name->pos};
    const char *base = NULL;
    int arity = 0;
    npu_status status = npu_new_name(b, name, "a tensor's name", &base, &tensor.name, &arity);
    if (status == NPU_OK)
        status = npu_yaml_want(map, NPU_YAML_MAP, "a tensor", b->err);
    if (status != NPU_OK)
        return status;
    npu_tie *tie = find_tie(b, base, arity);
    if (npu_yaml_get(map, "view") != NULL) {
        if (tie != NULL)
            return npu_fail(b->err, NPU_BAD_INPUT, tie->pos,
                            "'%s' is a view and cannot be given from outside", tie->name);
        return read_view(b, map, base, tensor.name, arity, name->pos);
    }
    if (npu_yaml_get(map, "on_ranks") != NULL) {
        status = npu_build_on_ranks(b, map, &tensor);
        return status == NPU_OK ? add_tensor(b, &tensor, base, arity) : status;
    }
    status = read_spec(b, map, &tensor);
    if (status == NPU_OK && tie != NULL)
        return check_tie(b, tie, &tensor);
    if (status == NPU_OK)
        status = place(b, &tensor);
    return status == NPU_OK ? add_tensor(b, &tensor, base, arity) : status;
}

static npu_status read_listed(npu_build *b, const npu_yaml *item) {
    const npu_yaml *name = NULL;
    npu_status status = npu_yaml_need(item, "a tensor", "tensor", &name, b->err);
    return status == NPU_OK ? read_tensor(b, name, item) : status;
}

npu_status npu_build_tensors(npu_build *b, const npu_yaml *node) {
    if (node == NULL)
        return NPU_OK;
    if (node->kind == NPU_YAML_LIST)
        return npu_build_items(b, node, "tensors", "a tensor", read_listed);
    npu_status status = npu_yaml_want(node, NPU_YAML_MAP, "tensors", b->err);
    for (int i = 0; status == NPU_OK && i < node->count; i++) {
        const npu_yaml *inner = npu_yaml_get(node->items[i], "tensor");
        if (inner != NULL)
            return npu_fail(b->err, NPU_BAD_INPUT, inner->pos,
                            "'tensor' is for lists; here the name stands in front");
        status = read_tensor(b, node->keys[i], node->items[i]);
        npu_arena_free(&b->scratch);
    }
    return status;
}
