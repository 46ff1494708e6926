// SPDX-License-Identifier: Apache-2.0
// One task: its arguments become windows, its kernel is bound.
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "build.h"

npu_status npu_build_task_ref(npu_build *b, const npu_yaml *node, const char *key,
                              const char **name) {
    npu_path path;
    int arity = 0;
    npu_status status = npu_yaml_want(node, NPU_YAML_SCALAR, key, b->err);
    if (status == NPU_OK)
        status = npu_path_parse(b, node->text, node->pos, &path);
    if (status == NPU_OK && path.group_count > 1)
        status =
            npu_fail(b->err, NPU_BAD_INPUT, node->pos, "'%s' has too many brackets", node->text);
    if (status != NPU_OK)
        return status;
    bool all =
        path.group_count == 0 || (path.length[0] == 1 && strncmp(path.group[0], "*", 1) == 0);
    if (!all)
        return npu_index_text(b, path.base, &path, 0, &arity, name);
    *name = npu_arena_text(b->arena, path.base, strlen(path.base));
    return *name != NULL ? NPU_OK : npu_fail_memory(b->err);
}

static npu_status read_afters(npu_build *b, const npu_yaml *node) {
    if (node == NULL)
        return NPU_OK;
    bool list = node->kind == NPU_YAML_LIST;
    npu_status status = NPU_OK;
    for (int i = 0; status == NPU_OK && i < (list ? node->count : 1); i++) {
        const npu_yaml *item = list ? node->items[i] : node;
        npu_after after = {b->task_count, NULL, item->pos};
        status = npu_build_task_ref(b, item, "after", &after.name);
        if (status == NPU_OK)
            status = NPU_GROW(b, afters, after_count, after_capacity, b->err);
        if (status == NPU_OK)
            b->afters[b->after_count++] = after;
    }
    return status;
}

// Appends the task under its name.
static npu_status add_task(npu_build *b, const npu_task *task, const char *base, int arity) {
    int index = b->task_count;
    npu_name *known = npu_names_find(&b->task_families, base);
    npu_status status = npu_add_name(b, &b->task_names, &b->task_families, "task", base, task->name,
                                     arity, index, task->pos);
    if (status == NPU_OK)
        status = NPU_GROW(b, tasks, task_count, task_capacity, b->err);
    if (status == NPU_OK)
        status = NPU_GROW(b, next_task, next_task_count, next_task_capacity, b->err);
    if (status != NPU_OK)
        return status;
    if (known != NULL) {
        npu_family *family = &b->families[known->value];
        b->next_task[family->last] = index;
        family->last = index;
    }
    assert(b->next_task_count == index);
    b->next_task[b->next_task_count++] = -1;
    b->tasks[b->task_count] = *task;
    b->tasks[b->task_count++].scope = b->scope;
    return NPU_OK;
}

// The name without any index: tasks of one name are one function.
static const char *function_name(npu_build *b, const char *base) {
    char *name = npu_arena_text(b->arena, base, strlen(base));
    int depth = 0;
    char *to = name;
    for (const char *from = base; name != NULL && *from != '\0'; from++) {
        depth += *from == '[';
        if (depth == 0)
            *to++ = *from;
        depth -= *from == ']';
    }
    if (name != NULL)
        *to = '\0';
    return name;
}

static npu_status set_function(npu_build *b, npu_task *task, const char *base) {
    bool plain = strchr(base, '[') == NULL;
    task->kernel = plain ? base : function_name(b, base);
    if (task->kernel == NULL)
        return npu_fail_memory(b->err);
    npu_func func = {.name = task->kernel, .aic_id = -1, .aiv_id = -1};
    bool aic = task->engine == NPU_AIC || task->engine == NPU_MIX;
    bool aiv = task->engine == NPU_AIV || task->engine == NPU_MIX;
    const npu_name *known = npu_names_find(&b->func_names, task->kernel);
    if (known != NULL) {
        const npu_func *old = &b->funcs[known->value];
        task->func = known->value;
        if ((old->aic_id >= 0) == aic && (old->aiv_id >= 0) == aiv)
            return NPU_OK;
        return npu_fail(b->err, NPU_BAD_INPUT, task->pos,
                        "'%s' runs on %s, but an earlier task called '%s' does not", task->name,
                        npu_engine_type_names[task->engine], task->kernel);
    }
    if (aic)
        func.aic_id = b->next_func_id++;
    if (aiv)
        func.aiv_id = b->next_func_id++;
    npu_status status = NPU_GROW(b, funcs, func_count, func_capacity, b->err);
    if (status == NPU_OK)
        status = npu_names_add(&b->func_names, task->kernel, b->func_count, b->err);
    task->func = b->func_count;
    if (status == NPU_OK)
        b->funcs[b->func_count++] = func;
    return status;
}

npu_status npu_build_dummy(npu_build *b, const npu_yaml *item) {
    static const char *const keys[] = {"dummy", "after", "early", NULL};
    npu_task task = {.func = -1, .engine = NPU_DUMMY, .pos = item->pos};
    const npu_yaml *early = npu_yaml_get(item, "early");
    const char *base = NULL;
    int arity = 0;
    npu_status status = npu_yaml_keys(item, "a dummy task", keys, b->err);
    if (status == NPU_OK)
        status = npu_new_name(b, npu_yaml_get(item, "dummy"), "dummy", &base, &task.name, &arity);
    if (status == NPU_OK && early != NULL)
        status = npu_build_flag(b, early, "early", &task.early);
    if (status == NPU_OK)
        status = read_afters(b, npu_yaml_get(item, "after"));
    if (status != NPU_OK)
        return status;
    task.manual = b->frame->manual;
    task.kernel = strchr(base, '[') == NULL ? base : function_name(b, base);
    if (task.kernel == NULL)
        return npu_fail_memory(b->err);
    task.first_arg = b->arg_count;
    return add_task(b, &task, base, arity);
}

// ---------------------------------------------------------------- arguments

// May an argument that the kernel uses as `own` be given as `wanted`? Reads stay reads and
// writes stay writes.
static bool access_fits(npu_access own, npu_access wanted) {
    if (own == wanted || wanted == NPU_NO_DEP || own == NPU_NO_DEP)
        return true;
    return own == NPU_IN ? wanted == NPU_INOUT : wanted != NPU_IN;
}

static npu_status read_arg_map(npu_build *b, const npu_yaml *map, const char *task, npu_arg *arg) {
    static const char *const keys[] = {"tensor", "access", "transpose", NULL};
    const npu_yaml *tensor = NULL;
    const npu_yaml *access = npu_yaml_get(map, "access");
    const npu_yaml *transpose = npu_yaml_get(map, "transpose");
    int wanted = 0;
    bool swap = false;
    npu_status status = npu_yaml_keys(map, "an argument", keys, b->err);
    if (status == NPU_OK)
        status = npu_yaml_need(map, "an argument", "tensor", &tensor, b->err);
    if (status == NPU_OK)
        status = npu_yaml_want(tensor, NPU_YAML_SCALAR, "tensor", b->err);
    if (status == NPU_OK)
        status = npu_build_ref(b, tensor->text, tensor->pos, arg);
    if (status == NPU_OK && transpose != NULL)
        status = npu_build_flag(b, transpose, "transpose", &swap);
    if (status == NPU_OK && swap)
        status = npu_transpose(b, transpose->pos, arg);
    if (status != NPU_OK || access == NULL)
        return status;
    status = npu_build_choice(b, access, "access", npu_access_names, &wanted);
    if (status == NPU_OK && !access_fits(arg->access, (npu_access)wanted))
        status = npu_fail(b->err, NPU_BAD_INPUT, access->pos,
                          "task '%s': the kernel uses '%s' as %s, so it cannot be given as %s",
                          task, arg->name, npu_access_names[arg->access], access->text);
    arg->access = (npu_access)wanted;
    return status;
}

static npu_status read_arg(npu_build *b, const npu_yaml *node, const char *task, npu_arg *arg) {
    if (node->kind == NPU_YAML_MAP)
        return read_arg_map(b, node, task, arg);
    npu_status status = npu_yaml_want(node, NPU_YAML_SCALAR, "an argument", b->err);
    return status == NPU_OK ? npu_build_ref(b, node->text, node->pos, arg) : status;
}

static bool is_fixed_key(const char *name) {
    for (int i = 0; npu_task_keys[i] != NULL; i++)
        if (strcmp(npu_task_keys[i], name) == 0)
            return true;
    return false;
}

// Where the argument is given: as a key of the task, or under `args:`.
static const npu_yaml *find_arg(const npu_yaml *item, const npu_yaml *args, const char *name) {
    const npu_yaml *node = npu_yaml_get(args, name);
    return node != NULL || is_fixed_key(name) ? node : npu_yaml_get(item, name);
}

static npu_window window_of(const npu_build *b, const npu_arg *arg) {
    const npu_tensor *tensor = &b->tensors[arg->tensor];
    const npu_tensor *storage = &b->tensors[tensor->storage];
    npu_window window = {.dtype = tensor->dtype, .rank = arg->rank, .pos = arg->pos};
    memcpy(window.shape, arg->shape, sizeof window.shape);
    memcpy(window.stride, arg->stride, sizeof window.stride);
    window.address = storage->address + arg->offset * npu_dtype_bytes(tensor->dtype);
    return window;
}

static npu_status read_args(npu_build *b, const npu_yaml *item, const npu_known_kernel *known,
                            npu_task *task, const npu_window **windows) {
    const npu_yaml *args = npu_yaml_get(item, "args");
    npu_window *list = npu_arena_alloc(b->arena, (size_t)known->arg_count, sizeof *list);
    if (list == NULL)
        return npu_fail_memory(b->err);
    if (args != NULL && npu_yaml_want(args, NPU_YAML_MAP, "args", b->err) != NPU_OK)
        return NPU_BAD_INPUT;
    const char *const *names = known->task_keys;
    while (args != NULL && is_fixed_key(names[0]))
        names++;
    if (args != NULL && npu_yaml_keys(args, "args", names, b->err) != NPU_OK)
        return NPU_BAD_INPUT;
    task->first_arg = b->arg_count;
    task->arg_count = known->arg_count;
    for (int i = 0; i < known->arg_count; i++) {
        npu_arg arg = {.name = known->args[i].name, .access = known->args[i].access};
        const npu_yaml *node = find_arg(item, args, arg.name);
        if (node == NULL)
            return npu_fail(b->err, NPU_BAD_INPUT, item->pos,
                            "task '%s': kernel '%s' needs the argument '%s'", task->name,
                            npu_kernel_name(known->kernel), arg.name);
        npu_status status = read_arg(b, node, task->name, &arg);
        if (status == NPU_OK)
            status = NPU_GROW(b, args, arg_count, arg_capacity, b->err);
        if (status != NPU_OK)
            return status;
        list[i] = window_of(b, &arg);
        b->args[b->arg_count++] = arg;
    }
    *windows = list;
    return NPU_OK;
}

// ---------------------------------------------------------------- numbers

npu_status npu_build_settings(npu_build *b, const npu_yaml *map, const char *what,
                              npu_setting **settings, int *count) {
    *count = 0;
    *settings = NULL;
    if (map == NULL)
        return NPU_OK;
    npu_status status = npu_yaml_want(map, NPU_YAML_MAP, what, b->err);
    if (status != NPU_OK)
        return status;
    *settings = npu_arena_alloc(b->arena, (size_t)map->count, sizeof **settings);
    if (*settings == NULL)
        return npu_fail_memory(b->err);
    for (int i = 0; i < map->count; i++) {
        npu_setting *setting = &(*settings)[i];
        setting->name = map->keys[i]->text;
        setting->pos = map->keys[i]->pos;
        const npu_yaml *item = map->items[i];
        setting->table = NULL;
        if (item->kind == NPU_YAML_SCALAR && strcmp(what, "with") == 0)
            setting->table = npu_build_find_table(b, item->text);
        if (setting->table == NULL)
            status = npu_build_number(b, item, setting->name, &setting->value);
        if (status != NPU_OK)
            return status;
    }
    *count = map->count;
    return NPU_OK;
}

static npu_status read_grid(npu_build *b, const npu_yaml *map, npu_binding *binding) {
    npu_setting *sizes = NULL;
    npu_status status = npu_build_settings(b, map, "grid", &sizes, &binding->axis_count);
    if (status != NPU_OK)
        return status;
    npu_axis *axes = npu_arena_alloc(b->arena, (size_t)binding->axis_count, sizeof *axes);
    if (axes == NULL)
        return npu_fail_memory(b->err);
    int64_t blocks = 1;
    for (int i = 0; i < binding->axis_count; i++) {
        axes[i] = (npu_axis){sizes[i].name, sizes[i].value};
        if (sizes[i].value < 1)
            return npu_fail(b->err, NPU_BAD_INPUT, sizes[i].pos,
                            "the grid axis '%s' is %" PRId64 "; it must be at least 1",
                            sizes[i].name, sizes[i].value);
        if (__builtin_mul_overflow(blocks, sizes[i].value, &blocks) || blocks > INT32_MAX)
            return npu_fail(b->err, NPU_BAD_INPUT, map->pos, "the grid has more than 2^31 blocks");
    }
    binding->grid = axes;
    return NPU_OK;
}

// What the file of the task says of the code around ops, else what the graph's own file says.
static npu_status read_calls(npu_build *b, npu_setting **calls, int *count) {
    static const char *const names[] = {"load", "extract", "matmul", "vec", "store", NULL};
    const npu_yaml *map = npu_yaml_get(b->files[b->frame->file].root, "calls");
    if (map == NULL)
        map = npu_yaml_get(b->files[0].root, "calls");
    if (map == NULL)
        return NPU_OK;
    npu_status status = npu_yaml_keys(map, "calls", names, b->err);
    return status ? status : npu_build_settings(b, map, "calls", calls, count);
}

static npu_status bind(npu_build *b, const npu_yaml *item, npu_known_kernel *known,
                       npu_task *task) {
    npu_binding binding = {.pos = item->pos};
    npu_setting *params = NULL;
    npu_setting *tile = NULL;
    npu_program *program = npu_arena_alloc(b->arena, 1, sizeof *program);
    if (program == NULL)
        return npu_fail_memory(b->err);
    npu_status status =
        npu_build_settings(b, npu_yaml_get(item, "with"), "with", &params, &binding.param_count);
    npu_setting *calls = NULL;
    if (status == NPU_OK)
        status = read_calls(b, &calls, &binding.call_count);
    binding.calls = calls;
    if (status == NPU_OK)
        status =
            npu_build_settings(b, npu_yaml_get(item, "tile"), "tile", &tile, &binding.tile_count);
    if (status == NPU_OK)
        status = read_grid(b, npu_yaml_get(item, "grid"), &binding);
    if (status == NPU_OK)
        status = read_args(b, item, known, task, &binding.windows);
    binding.params = params;
    binding.tile = tile;
    if (status == NPU_OK)
        status = npu_build_program(b, known, &binding, program);
    task->program = program;
    task->block_num = program->block_num;
    assert(status != NPU_OK || task->block_num >= 1);
    return status;
}

// ---------------------------------------------------------------- the task

static npu_status check_engine(npu_build *b, const npu_yaml *node, const npu_known_kernel *known,
                               npu_task *task) {
    static const char *const engines[] = {"aic", "aiv", "mix", NULL};
    int wanted = 0;
    task->engine = npu_kernel_engine(known->kernel);
    if (node == NULL)
        return NPU_OK;
    npu_status status = npu_build_choice(b, node, "engine", engines, &wanted);
    if (status == NPU_OK && wanted != (int)task->engine)
        status =
            npu_fail(b->err, NPU_BAD_INPUT, node->pos, "task '%s': kernel '%s' runs on %s, not %s",
                     task->name, npu_kernel_name(known->kernel),
                     npu_engine_type_names[task->engine], node->text);
    return status;
}

static npu_status read_flags(npu_build *b, const npu_yaml *item, npu_task *task) {
    static const char *const modes[] = {"auto", "manual", NULL};
    const npu_yaml *early = npu_yaml_get(item, "early");
    const npu_yaml *sync = npu_yaml_get(item, "sync_start");
    const npu_yaml *edges = npu_yaml_get(item, "edges");
    const npu_yaml *when = npu_yaml_get(item, "when");
    bool runs = true;
    int mode = b->frame->manual;
    npu_status status = NPU_OK;
    if (early != NULL)
        status = npu_build_flag(b, early, "early", &task->early);
    if (status == NPU_OK && sync != NULL)
        status = npu_build_flag(b, sync, "sync_start", &task->sync_start);
    if (status == NPU_OK && edges != NULL)
        status = npu_build_choice(b, edges, "edges", modes, &mode);
    if (status == NPU_OK && when != NULL)
        status = npu_build_flag(b, when, "when", &runs);
    task->manual = mode == 1;
    task->predicated = when != NULL;
    task->skipped = !runs;
    return status;
}

npu_status npu_build_task(npu_build *b, const npu_yaml *item) {
    npu_task task = {.pos = item->pos};
    const npu_yaml *kernel = NULL;
    const char *base = NULL;
    int arity = 0;
    int index = 0;
    npu_status status =
        npu_new_name(b, npu_yaml_get(item, "task"), "task", &base, &task.name, &arity);
    if (status != NPU_OK)
        return status;
    const char *what = npu_arena_printf(&b->scratch, "task '%s'", task.name);
    if (what == NULL)
        return npu_fail_memory(b->err);
    status = npu_yaml_need(item, what, "kernel", &kernel, b->err);
    if (status == NPU_OK)
        status = npu_build_kernel(b, kernel, &index);
    if (status != NPU_OK)
        return status;
    npu_known_kernel *known = &b->kernels[index];
    status = npu_yaml_keys(item, what, known->task_keys, b->err);
    if (status == NPU_OK)
        status = check_engine(b, npu_yaml_get(item, "engine"), known, &task);
    if (status == NPU_OK)
        status = set_function(b, &task, base);
    if (status == NPU_OK)
        status = read_flags(b, item, &task);
    if (status == NPU_OK)
        status = read_afters(b, npu_yaml_get(item, "after"));
    if (status == NPU_OK)
        status = bind(b, item, known, &task);
    return status == NPU_OK ? add_task(b, &task, base, arity) : status;
}
