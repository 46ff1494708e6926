// SPDX-License-Identifier: Apache-2.0
// deps.json of a capture: ids as numbers or as text, older files with less in them.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "deps.h"

typedef struct deps_reader {
    npu_json *j;
    npu_deps *d;
    npu_error *err;
} deps_reader;

enum { MOST_DIMENSIONS = 16 };

// One of the words, as its index.
static npu_status read_word(deps_reader *r, const char *what, const char *const *words,
                            int *index) {
    const char *text;
    npu_status status = npu_json_string(r->j, what, &text);
    for (*index = 0; status == NPU_OK && words[*index] != NULL; ++*index)
        if (strcmp(text, words[*index]) == 0)
            return NPU_OK;
    return status == NPU_OK ? npu_json_refuse(r->j, "%s '%.40s' is not known", what, text) : status;
}

static npu_status read_dtype(deps_reader *r, npu_dtype *dtype) {
    const char *text;
    npu_status status = npu_json_string(r->j, "dtype", &text);
    int i = 0;
    while (i < NPU_DTYPE_COUNT && strcmp(text, npu_dtype_runtime_names[i]) != 0)
        i++;
    *dtype = (npu_dtype)i;
    return status;
}

static npu_status add_extent(deps_reader *r, int64_t extent) {
    npu_status status = NPU_GROW(r->d, extents, extent_count, extent_capacity, r->err);
    if (status == NPU_OK)
        r->d->extents[r->d->extent_count++] = extent;
    return status;
}

// ---- arguments -----------------------------------------------------------------------------

typedef struct extents { // of one list
    int64_t values[MOST_DIMENSIONS];
    int count;
} extents;

static npu_status read_extents(deps_reader *r, const char *what, extents *list) {
    npu_status status = npu_json_enter(r->j, NPU_JSON_LIST, what);
    bool more = true;
    list->count = 0;
    while (status == NPU_OK && (status = npu_json_more(r->j, &more)) == NPU_OK && more) {
        int64_t value = 0;
        status = npu_json_i64(r->j, what, INT64_MIN, INT64_MAX, &value);
        if (status == NPU_OK && list->count >= MOST_DIMENSIONS)
            status = npu_json_refuse(r->j, "%s has more than %d dimensions", what, MOST_DIMENSIONS);
        if (status == NPU_OK)
            list->values[list->count++] = value;
    }
    return status;
}

static npu_status read_arg_member(deps_reader *r, const char *key, npu_dep_arg *arg, extents *shape,
                                  extents *strides) {
    int word = 0;
    npu_status status;
    if (strcmp(key, "idx") == 0)
        return npu_json_int(r->j, key, 0, INT32_MAX, &arg->idx);
    if (strcmp(key, "type") == 0) {
        status = read_word(r, "the type of an argument", npu_dep_access_names, &word);
        arg->access = (npu_access)word;
        return status;
    }
    if (strcmp(key, "tensor_id") == 0) {
        arg->windowed = true;
        return npu_json_u64(r->j, key, &arg->tensor);
    }
    if (strcmp(key, "dtype") == 0)
        return read_dtype(r, &arg->dtype);
    if (strcmp(key, "shape") == 0)
        return read_extents(r, "shape", shape);
    if (strcmp(key, "strides") == 0)
        return read_extents(r, "strides", strides);
    if (strcmp(key, "start_offset") == 0)
        return npu_json_i64(r->j, key, INT64_MIN, INT64_MAX, &arg->start_offset);
    return npu_json_skip(r->j);
}

static npu_status read_arg(deps_reader *r) {
    npu_dep_arg arg = {.idx = 0, .dtype = NPU_DTYPE_COUNT};
    extents shape = {.count = 0}, strides = {.count = 0};
    const char *key;
    npu_status status = npu_json_enter(r->j, NPU_JSON_MAP, "an argument");
    while (status == NPU_OK && (status = npu_json_key(r->j, &key)) == NPU_OK && key != NULL)
        status = read_arg_member(r, key, &arg, &shape, &strides);
    if (status == NPU_OK && strides.count != 0 && strides.count != shape.count)
        status = npu_json_refuse(r->j, "an argument has a shape of %d and strides of %d dimensions",
                                 shape.count, strides.count);
    arg.rank = shape.count;
    arg.first_extent = r->d->extent_count;
    for (int i = 0; i < shape.count && status == NPU_OK; i++)
        status = add_extent(r, shape.values[i]);
    int64_t step = 1; // without strides the elements stand side by side
    for (int i = shape.count - 1; i >= 0 && strides.count == 0; i--) {
        strides.values[i] = step;
        if (shape.values[i] > 0 && step <= INT64_MAX / shape.values[i])
            step *= shape.values[i];
    }
    for (int i = 0; i < shape.count && status == NPU_OK; i++)
        status = add_extent(r, strides.values[i]);
    if (status == NPU_OK)
        status = NPU_GROW(r->d, args, arg_count, arg_capacity, r->err);
    if (status == NPU_OK)
        r->d->args[r->d->arg_count++] = arg;
    return status;
}

// ---- tasks, tensors ------------------------------------------------------------------------

static npu_status read_list(deps_reader *r, const char *what, npu_status (*item)(deps_reader *r)) {
    npu_status status = npu_json_enter(r->j, NPU_JSON_LIST, what);
    bool more = true;
    while (status == NPU_OK && (status = npu_json_more(r->j, &more)) == NPU_OK && more)
        status = item(r);
    return status;
}

static npu_status read_kernels(deps_reader *r, npu_dep_task *task) {
    npu_status status = npu_json_enter(r->j, NPU_JSON_LIST, "kernel_ids");
    bool more = true;
    int count = 0;
    while (status == NPU_OK && (status = npu_json_more(r->j, &more)) == NPU_OK && more) {
        int id = -1;
        status = npu_json_int(r->j, "a kernel id", -1, INT32_MAX, &id);
        if (count < 3)
            task->kernel_ids[count] = id;
        count++;
    }
    if (status == NPU_OK && count != 3)
        status = npu_json_refuse(r->j, "kernel_ids must hold three numbers, not %d", count);
    task->has_kernels = true;
    return status;
}

static npu_status read_task_member(deps_reader *r, const char *key, npu_dep_task *task,
                                   bool *has_id) {
    if (strcmp(key, "task_id") == 0) {
        *has_id = true;
        return npu_json_u64(r->j, key, &task->id);
    }
    if (strcmp(key, "scope") == 0) {
        const char *scope;
        npu_status status = npu_json_string(r->j, "scope", &scope);
        task->manual = strcmp(scope, "manual") == 0;
        return status;
    }
    if (strcmp(key, "early_dispatch") == 0)
        return npu_json_bool(r->j, key, &task->early);
    if (strcmp(key, "kernel_ids") == 0)
        return read_kernels(r, task);
    task->has_blocks = task->has_blocks || strcmp(key, "block_num") == 0;
    if (strcmp(key, "block_num") == 0)
        return npu_json_i64(r->j, key, 0, INT32_MAX, &task->block_num);
    if (strcmp(key, "args") == 0)
        return read_list(r, "args", read_arg);
    return npu_json_skip(r->j);
}

static npu_status read_task(deps_reader *r) {
    npu_dep_task task = {.kernel_ids = {-1, -1, -1}, .block_num = 1};
    task.first_arg = r->d->arg_count;
    bool has_id = false;
    const char *key;
    npu_status status = npu_json_enter(r->j, NPU_JSON_MAP, "a task");
    while (status == NPU_OK && (status = npu_json_key(r->j, &key)) == NPU_OK && key != NULL)
        status = read_task_member(r, key, &task, &has_id);
    if (status == NPU_OK && !has_id)
        status = npu_json_refuse(r->j, "task %d has no task_id", r->d->task_count);
    task.arg_count = r->d->arg_count - task.first_arg;
    if (status == NPU_OK)
        status = NPU_GROW(r->d, tasks, task_count, task_capacity, r->err);
    if (status == NPU_OK)
        r->d->tasks[r->d->task_count++] = task;
    return status;
}

static npu_status read_tensor(deps_reader *r) {
    npu_dep_tensor tensor = {.dtype = NPU_DTYPE_COUNT};
    const char *key;
    npu_status status = npu_json_enter(r->j, NPU_JSON_MAP, "a tensor");
    while (status == NPU_OK && (status = npu_json_key(r->j, &key)) == NPU_OK && key != NULL) {
        if (strcmp(key, "tensor_id") == 0)
            status = npu_json_u64(r->j, key, &tensor.id);
        else if (strcmp(key, "buffer_addr") == 0)
            status = npu_json_u64(r->j, key, &tensor.address);
        else if (strcmp(key, "buffer_numel") == 0)
            status = npu_json_u64(r->j, key, &tensor.elements);
        else if (strcmp(key, "dtype") == 0)
            status = read_dtype(r, &tensor.dtype);
        else
            status = npu_json_skip(r->j);
    }
    if (status == NPU_OK)
        status = NPU_GROW(r->d, tensors, tensor_count, tensor_capacity, r->err);
    if (status == NPU_OK)
        r->d->tensors[r->d->tensor_count++] = tensor;
    return status;
}

// ---- edges ---------------------------------------------------------------------------------

enum { HAS_PRED = 1, HAS_SUCC = 2, HAS_FLAGS = 4 };

static npu_status read_flags(deps_reader *r, npu_dep_edge *edge) {
    npu_status status = npu_json_enter(r->j, NPU_JSON_LIST, "flags");
    bool more = true;
    while (status == NPU_OK && (status = npu_json_more(r->j, &more)) == NPU_OK && more) {
        const char *flag;
        status = npu_json_string(r->j, "a flag", &flag);
        edge->wait = edge->wait || strcmp(flag, "wait") == 0;
        edge->retain = edge->retain || strcmp(flag, "retain") == 0;
    }
    return status;
}

static npu_status read_edge_member(deps_reader *r, const char *key, npu_dep_edge *edge,
                                   unsigned *has) {
    int word = 0;
    npu_status status;
    if (strcmp(key, "pred") == 0) {
        *has |= HAS_PRED;
        return npu_json_u64(r->j, key, &edge->pred);
    }
    if (strcmp(key, "succ") == 0) {
        *has |= HAS_SUCC;
        return npu_json_u64(r->j, key, &edge->succ);
    }
    if (strcmp(key, "flags") == 0) {
        *has |= HAS_FLAGS;
        return read_flags(r, edge);
    }
    if (strcmp(key, "arg") == 0)
        return npu_json_int(r->j, key, -1, INT32_MAX, &edge->arg);
    if (strcmp(key, "source") == 0) {
        status = read_word(r, "the source of an edge", npu_dep_source_names, &word);
        edge->source = (npu_edge_source)word;
        return status;
    }
    if (strcmp(key, "overlap") == 0) {
        const char *text;
        status = npu_json_string(r->j, key, &text);
        edge->covered = strcmp(text, "covered") == 0;
        return status;
    }
    return npu_json_skip(r->j); // the windows are those of the tasks' arguments
}

static npu_status read_edge(deps_reader *r) {
    npu_dep_edge edge = {.arg = -1, .source = NPU_EDGE_EXPLICIT};
    unsigned has = 0;
    const char *key;
    npu_status status = npu_json_enter(r->j, NPU_JSON_MAP, "an edge");
    while (status == NPU_OK && (status = npu_json_key(r->j, &key)) == NPU_OK && key != NULL)
        status = read_edge_member(r, key, &edge, &has);
    if (status == NPU_OK && (has & (HAS_PRED | HAS_SUCC)) != (HAS_PRED | HAS_SUCC))
        status = npu_json_refuse(r->j, "an edge needs pred and succ");
    if (!(has & HAS_FLAGS)) {
        edge.wait = true;
        edge.retain = edge.source != NPU_EDGE_TENSORMAP;
    }
    if (status == NPU_OK)
        status = NPU_GROW(r->d, edges, edge_count, edge_capacity, r->err);
    if (status == NPU_OK)
        r->d->edges[r->d->edge_count++] = edge;
    return status;
}

// ---- the whole file ------------------------------------------------------------------------

static npu_status read_runtime(deps_reader *r) {
    const char *text;
    npu_status status = npu_json_string(r->j, "runtime", &text);
    if (status == NPU_OK &&
        (r->d->runtime = npu_arena_text(&r->d->arena, text, strlen(text))) == NULL)
        status = npu_json_no_memory(r->j);
    return status;
}

static npu_status read_members(deps_reader *r, bool *has_tasks) {
    const char *key;
    npu_status status = npu_json_enter(r->j, NPU_JSON_MAP, "the file");
    while (status == NPU_OK && (status = npu_json_key(r->j, &key)) == NPU_OK && key != NULL) {
        if (strcmp(key, "tasks") == 0) {
            *has_tasks = true;
            status = read_list(r, "tasks", read_task);
        } else if (strcmp(key, "tensors") == 0) {
            status = read_list(r, "tensors", read_tensor);
        } else if (strcmp(key, "edges") == 0) {
            status = read_list(r, "edges", read_edge);
        } else if (strcmp(key, "runtime") == 0) {
            status = read_runtime(r);
        } else {
            status = npu_json_skip(r->j);
        }
    }
    return status == NPU_OK ? npu_json_end(r->j) : status;
}

npu_status npu_deps_read_json(npu_json *json, npu_deps *deps, npu_error *err) {
    deps_reader r = {.j = json, .d = deps, .err = err};
    bool has_tasks = false;
    int task = -1;
    *deps = (npu_deps){0};
    npu_status status = read_members(&r, &has_tasks);
    if (status == NPU_OK && !has_tasks)
        status = npu_json_refuse_file(json, "has no list of tasks");
    if (status == NPU_OK)
        status = npu_deps_index(deps, err);
    if (status == NPU_OK)
        status = npu_deps_circle(deps, &task, err);
    if (status == NPU_OK && task >= 0)
        status = npu_json_refuse_file(json, "the edges go round in a circle through task %llu",
                                      (unsigned long long)deps->tasks[task].id);
    return status;
}

npu_status npu_deps_read(const char *path, npu_deps *deps, npu_error *err) {
    npu_json *json;
    *deps = (npu_deps){0};
    npu_status status = npu_json_open(path, NPU_JSON_ONE, &json, err);
    if (status == NPU_OK)
        status = npu_deps_read_json(json, deps, err);
    npu_json_close(json);
    return status;
}
