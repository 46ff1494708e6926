// SPDX-License-Identifier: Apache-2.0
// From a kernel as written and one task's arguments to a program: names get values,
// expressions are folded, slots get sizes.
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

typedef struct npu_known { // a name and what it means
    const char *name;
    bool is_var;
    int64_t value; // or the variable's slot
    const npu_table *table;
} npu_known;

// ---- names -------------------------------------------------------------------------------

static npu_name_kind lookup(void *data, const char *name, int64_t *value, int *slot) {
    const npu_binder *b = data;
    for (int i = b->known_count - 1; i >= 0; i--) {
        const npu_known *known = &b->known[i];
        if (strcmp(known->name, name) != 0 || known->table != NULL)
            continue;
        if (known->is_var) {
            *slot = (int)known->value;
            return NPU_NAME_SLOT;
        }
        *value = known->value;
        return NPU_NAME_CONST;
    }
    return NPU_NAME_UNKNOWN;
}

static const npu_table *known_table(void *data, const char *name) {
    const npu_binder *b = data;
    for (int i = 0; i < b->known_count; i++)
        if (b->known[i].table != NULL && strcmp(b->known[i].name, name) == 0)
            return b->known[i].table;
    return NULL;
}

static const char *known_name(void *data, int i) {
    const npu_binder *b = data;
    return i < b->known_count ? b->known[i].name : NULL;
}

static const npu_known *find_known(const npu_binder *b, const char *name) {
    for (int i = 0; i < b->known_count; i++)
        if (strcmp(b->known[i].name, name) == 0)
            return &b->known[i];
    return NULL;
}

static npu_status add_known(npu_binder *b, const char *name, bool is_var, int64_t value,
                            npu_pos pos) {
    if (name == NULL)
        return npu_fail_memory(b->err);
    if (find_known(b, name) != NULL)
        return npu_fail(b->err, NPU_BAD_INPUT, pos, "the name '%s' already stands for something",
                        name);
    if (b->known_count == b->known_capacity) {
        int capacity = b->known_capacity ? 2 * b->known_capacity : 64;
        npu_known *grown = npu_arena_alloc(b->arena, (size_t)capacity, sizeof *grown);
        if (grown == NULL)
            return npu_fail_memory(b->err);
        if (b->known_count > 0)
            memcpy(grown, b->known, (size_t)b->known_count * sizeof *grown);
        b->known = grown;
        b->known_capacity = capacity;
    }
    b->known[b->known_count++] = (npu_known){name, is_var, value, NULL};
    return NPU_OK;
}

npu_status npu_bind_var(npu_binder *b, const char *name, npu_pos pos, int *var) {
    if (b->var_count == NPU_MAX_VARS)
        return npu_fail(b->err, NPU_BAD_INPUT, pos, "a kernel has at most %d variables",
                        NPU_MAX_VARS);
    *var = b->var_count++;
    return add_known(b, name, true, *var, pos);
}

npu_status npu_bind_code(npu_binder *b, const npu_expr *expr, npu_code *code) {
    npu_scope scope = {lookup, known_name, b, known_table};
    return npu_expr_bind(b->arena, expr, &scope, code, b->err);
}

npu_status npu_bind_constant(npu_binder *b, const npu_expr *expr, const char *what,
                             int64_t *value) {
    npu_code code;
    npu_status status = npu_bind_code(b, expr, &code);
    if (!status && code.op_count != 0)
        status = npu_fail(b->err, NPU_BAD_INPUT, code.pos,
                          "%s must not depend on the block or on a loop", what);
    *value = code.value;
    return status;
}

npu_status npu_bind_dtype(npu_binder *b, const char *text, npu_pos pos, npu_dtype *dtype) {
    bool acc = strncmp(text, "acc(", 4) == 0;
    size_t length = acc ? strcspn(text + 4, ")") : strlen(text);
    const char *name = acc ? text + 4 : text;
    const char *names[NPU_DTYPE_COUNT + 64];
    int count = 0;
    for (int i = 0; i < b->kernel->arg_count; i++) {
        const char *arg = b->kernel->args[i].name;
        if (count < 64)
            names[count++] = arg;
        if (strlen(arg) != length || strncmp(arg, name, length) != 0)
            continue;
        *dtype = b->binding->windows[i].dtype;
        if (acc) // the cube sums int8 products in int32 and all others in fp32
            *dtype = *dtype == NPU_INT8 ? NPU_INT32 : NPU_FP32;
        return NPU_OK;
    }
    for (int i = 0; i < NPU_DTYPE_COUNT && !acc; i++) {
        names[count++] = npu_dtype_names[i];
        if (strcmp(npu_dtype_names[i], text) == 0) {
            *dtype = (npu_dtype)i;
            return NPU_OK;
        }
    }
    char hint[128];
    return npu_fail(b->err, NPU_BAD_INPUT, pos, "unknown dtype '%s'%s", text,
                    npu_did_you_mean(text, names, count, hint, sizeof hint));
}

// ---- arguments -----------------------------------------------------------------------------

static npu_status bind_dim(npu_binder *b, const npu_arg_ast *ast, const char *arg, int d,
                           const npu_window *window) {
    int64_t have = window->shape[d];
    int64_t want = have;
    if (ast->exprs[d] == NULL) {
        if (strcmp(ast->texts[d], "_") == 0)
            return NPU_OK;
        const npu_known *known = find_known(b, ast->texts[d]);
        if (known == NULL)
            return add_known(b, ast->texts[d], false, have, ast->pos);
        want = known->value;
    } else {
        npu_status status = npu_bind_constant(b, ast->exprs[d], "a dimension", &want);
        if (status)
            return status;
    }
    if (want == have)
        return NPU_OK;
    return npu_fail(b->err, NPU_BAD_INPUT, window->pos,
                    "argument '%s' of kernel '%s': dimension %d is %lld, but %s is %lld", arg,
                    b->kernel->name, d, (long long)have,
                    ast->exprs[d] ? "the kernel's" : ast->texts[d], (long long)want);
}

// "argument 'a' of kernel 'k' needs 3 dimensions [B, M, K], and is given 2"
static npu_status fail_rank(npu_binder *b, const npu_arg_ast *ast, const char *arg,
                            const npu_window *window) {
    char dims[256] = "";
    size_t used = 0;
    for (int d = 0; d < ast->rank && used < sizeof dims; d++)
        used += (size_t)snprintf(dims + used, sizeof dims - used, "%s%s", d > 0 ? ", " : "",
                                 ast->texts[d]);
    return npu_fail(b->err, NPU_BAD_INPUT, window->pos,
                    "argument '%s' of kernel '%s' needs %d dimension%s [%s], and is given %d", arg,
                    b->kernel->name, ast->rank, ast->rank == 1 ? "" : "s", dims, window->rank);
}

static npu_status bind_args(npu_binder *b) {
    const npu_kernel *kernel = b->kernel;
    npu_status status = NPU_OK;
    for (int i = 0; i < kernel->arg_count && !status; i++) {
        const npu_arg_ast *ast = &kernel->arg_asts[i];
        const npu_window *window = &b->binding->windows[i];
        const char *name = kernel->args[i].name;
        status = add_known(b, npu_arena_printf(b->arena, "%s.size", name), false,
                           npu_dtype_bytes(window->dtype), ast->pos);
        if (!status && ast->rank >= 0 && ast->rank != window->rank)
            status = fail_rank(b, ast, name, window);
        for (int d = 0; d < ast->rank && !status; d++)
            status = bind_dim(b, ast, name, d, window);
    }
    return status;
}

// ---- params, tile, grid, lets ------------------------------------------------------------

static npu_status check_given(npu_binder *b, const char *what, const npu_named_expr *asked,
                              int asked_count, const npu_setting *given, int given_count) {
    for (int i = 0; i < given_count; i++) {
        const char *names[64];
        int count = 0;
        bool found = false;
        for (int k = 0; k < asked_count; k++) {
            found = found || strcmp(asked[k].name, given[i].name) == 0;
            if (count < 64)
                names[count++] = asked[k].name;
        }
        char hint[128];
        if (!found)
            return npu_fail(b->err, NPU_BAD_INPUT, given[i].pos, "kernel '%s' has no %s '%s'%s",
                            b->kernel->name, what, given[i].name,
                            npu_did_you_mean(given[i].name, names, count, hint, sizeof hint));
    }
    return NPU_OK;
}

static npu_status bind_settings(npu_binder *b, const char *what, const char *prefix,
                                const npu_named_expr *asked, int asked_count,
                                const npu_setting *given, int given_count) {
    npu_status status = check_given(b, what, asked, asked_count, given, given_count);
    for (int i = 0; i < asked_count && !status; i++) {
        const npu_setting *setting = NULL;
        for (int k = 0; k < given_count; k++)
            if (strcmp(given[k].name, asked[i].name) == 0)
                setting = &given[k];
        int64_t value = setting ? setting->value : 0;
        if (setting == NULL && asked[i].expr == NULL)
            return npu_fail(b->err, NPU_BAD_INPUT, b->binding->pos, "kernel '%s' needs the %s '%s'",
                            b->kernel->name, what, asked[i].name);
        if (setting != NULL && asked[i].table != (setting->table != NULL))
            return npu_fail(b->err, NPU_BAD_INPUT, setting->pos,
                            "'%s' of kernel '%s' is a %s, and is given a %s", asked[i].name,
                            b->kernel->name, asked[i].table ? "table" : "number",
                            asked[i].table ? "number" : "table");
        if (setting == NULL)
            status = npu_bind_constant(b, asked[i].expr, what, &value);
        if (!status)
            status = add_known(b, npu_arena_printf(b->arena, "%s%s", prefix, asked[i].name), false,
                               value, asked[i].pos);
        if (!status && setting != NULL)
            b->known[b->known_count - 1].table = setting->table;
    }
    return status;
}

static npu_status check_axis(npu_binder *b, const char *name) {
    const npu_kernel *kernel = b->kernel;
    for (int i = 0; i < kernel->axis_count; i++)
        if (strcmp(kernel->axes[i], name) == 0)
            return NPU_OK;
    if (kernel->axis_count == 0)
        return NPU_OK;
    char hint[128];
    return npu_fail(b->err, NPU_BAD_INPUT, b->binding->pos, "kernel '%s' has no grid axis '%s'%s",
                    kernel->name, name,
                    npu_did_you_mean(name, kernel->axes, kernel->axis_count, hint, sizeof hint));
}

// An axis that the task does not give has one step.
static npu_status bind_other_axes(npu_binder *b) {
    npu_status status = NPU_OK;
    for (int i = 0; i < b->kernel->axis_count && !status; i++) {
        const char *name = npu_arena_printf(b->arena, "block.%s", b->kernel->axes[i]);
        if (name == NULL)
            return npu_fail_memory(b->err);
        if (find_known(b, name) != NULL)
            continue;
        status = add_known(b, name, false, 0, b->kernel->pos);
        if (!status)
            status = add_known(b, npu_arena_printf(b->arena, "grid.%s", b->kernel->axes[i]), false,
                               1, b->kernel->pos);
    }
    return status;
}

static npu_status bind_grid(npu_binder *b, int64_t *block_num) {
    const npu_binding *binding = b->binding;
    int var = 0;
    *block_num = 1;
    npu_status status = npu_bind_var(b, "block", b->kernel->pos, &var);
    assert(status || var == NPU_VAR_BLOCK);
    if (!status)
        status = npu_bind_var(b, "lane", b->kernel->pos, &var);
    for (int i = 0; i < binding->axis_count && !status; i++) {
        const npu_axis *axis = &binding->grid[i];
        if (axis->count <= 0)
            return npu_fail(b->err, NPU_BAD_INPUT, binding->pos,
                            "grid axis '%s' must be at least 1, not %lld", axis->name,
                            (long long)axis->count);
        if (__builtin_mul_overflow(*block_num, axis->count, block_num) || *block_num > INT_MAX)
            return npu_fail(b->err, NPU_BAD_INPUT, binding->pos, "the grid has too many blocks");
        status = check_axis(b, axis->name);
        if (!status)
            status = npu_bind_var(b, npu_arena_printf(b->arena, "block.%s", axis->name),
                                  binding->pos, &var);
        if (!status)
            status = add_known(b, npu_arena_printf(b->arena, "grid.%s", axis->name), false,
                               axis->count, binding->pos);
    }
    if (!status)
        status = bind_other_axes(b);
    return status ? status : add_known(b, "grid", false, *block_num, binding->pos);
}

// A let that is constant is a name like any other; one that depends on the block becomes a
// variable, computed when a stream opens.
static npu_status bind_lets(npu_binder *b, struct npu_bound *bound) {
    const npu_kernel *kernel = b->kernel;
    npu_prologue *prologue = npu_arena_alloc(b->arena, (size_t)kernel->let_count, sizeof *prologue);
    if (prologue == NULL)
        return npu_fail_memory(b->err);
    npu_status status = NPU_OK;
    for (int i = 0; i < kernel->let_count && !status; i++) {
        const npu_named_expr *let = &kernel->lets[i];
        npu_code code;
        status = npu_bind_code(b, let->expr, &code);
        if (status || code.op_count == 0) {
            status = status ? status : add_known(b, let->name, false, code.value, let->pos);
            continue;
        }
        npu_prologue *entry = &prologue[bound->prologue_count++];
        entry->code = code;
        status = npu_bind_var(b, let->name, let->pos, &entry->var);
    }
    bound->prologue = prologue;
    return status;
}

// A kernel that says nothing has the code around ops that its task's file tells of.
static npu_status bind_calls(npu_binder *b) {
    const npu_binding *binding = b->binding;
    npu_status status = NPU_OK;
    for (int i = 0; npu_call_names[i] != NULL && !status; i++) {
        for (int k = 0; k < binding->call_count; k++)
            if (strcmp(binding->calls[k].name, npu_call_names[i]) == 0)
                b->calls[i] = binding->calls[k].value;
        if (b->kernel->calls[i] != NULL)
            status = npu_bind_constant(b, b->kernel->calls[i], "calls", &b->calls[i]);
        if (!status && (b->calls[i] < 0 || b->calls[i] > INT_MAX))
            status = npu_fail(b->err, NPU_BAD_INPUT, b->binding->pos,
                              "kernel '%s': %lld instructions around a %s", b->kernel->name,
                              (long long)b->calls[i], npu_call_names[i]);
    }
    return status;
}

static npu_status check_requires(npu_binder *b) {
    for (int i = 0; i < b->kernel->require_count; i++) {
        const npu_require *require = &b->kernel->requires_[i];
        int64_t holds = 0;
        npu_status status = npu_bind_constant(b, require->that, "a requirement", &holds);
        if (status)
            return status;
        if (!holds)
            return npu_fail(b->err, NPU_BAD_INPUT, b->binding->pos, "kernel '%s': %s",
                            b->kernel->name, require->message);
    }
    return NPU_OK;
}

// ---- slots ---------------------------------------------------------------------------------

static npu_status bind_slot(npu_binder *b, const npu_slot_ast *ast, npu_slot *slot) {
    slot->name = ast->name;
    slot->buffer = ast->buffer;
    slot->pos = ast->pos;
    slot->dtype = NPU_UINT8;
    slot->copies = 1;
    npu_status status = NPU_OK;
    if (ast->bytes != NULL) {
        status = npu_bind_constant(b, ast->bytes, "the size of a slot", &slot->bytes);
    } else {
        slot->rank = 2;
        for (int i = 0; i < 2 && !status; i++)
            status = npu_bind_constant(b, ast->shape[i], "the shape of a slot", &slot->shape[i]);
        if (!status)
            status = npu_bind_dtype(b, ast->dtype, ast->dtype_pos, &slot->dtype);
        if (!status && (slot->shape[0] <= 0 || slot->shape[1] <= 0))
            return npu_fail(b->err, NPU_BAD_INPUT, ast->pos,
                            "slot '%s' has the shape %lld x %lld: both must be at least 1",
                            slot->name, (long long)slot->shape[0], (long long)slot->shape[1]);
        if (!status &&
            (__builtin_mul_overflow(slot->shape[0], slot->shape[1], &slot->bytes) ||
             __builtin_mul_overflow(slot->bytes, npu_dtype_bytes(slot->dtype), &slot->bytes)))
            return npu_fail(b->err, NPU_BAD_INPUT, ast->pos, "slot '%s' is too large", slot->name);
    }
    int64_t copies = 1;
    if (!status && ast->copies != NULL)
        status = npu_bind_constant(b, ast->copies, "copies", &copies);
    if (!status && (copies < 1 || copies > 64))
        return npu_fail(b->err, NPU_BAD_INPUT, ast->pos, "slot '%s' needs 1 to 64 copies, not %lld",
                        slot->name, (long long)copies);
    slot->copies = (int)copies;
    if (!status && ast->pad != NULL)
        status = npu_bind_constant(b, ast->pad, "pad", &slot->pad);
    if (!status && (slot->pad < 0 || slot->pad > INT_MAX))
        return npu_fail(b->err, NPU_BAD_INPUT, ast->pos, "slot '%s' has a pad of %lld bytes",
                        slot->name, (long long)slot->pad);
    if (!status && slot->bytes <= 0)
        return npu_fail(b->err, NPU_BAD_INPUT, ast->pos, "slot '%s' is %lld bytes", slot->name,
                        (long long)slot->bytes);
    return status;
}

// Both bodies of a mix kernel see one table of slots: a buffer belongs to one kind of core,
// so no slot is used by both.
static npu_status bind_slots(npu_binder *b, npu_body *body) {
    const npu_kernel *kernel = b->kernel;
    npu_slot *slots = npu_arena_alloc(b->arena, (size_t)kernel->slot_count, sizeof *slots);
    if (slots == NULL)
        return npu_fail_memory(b->err);
    npu_status status = NPU_OK;
    int instances = 0;
    for (int i = 0; i < kernel->slot_count && !status; i++) {
        status = bind_slot(b, &kernel->slots[i], &slots[i]);
        slots[i].first = instances;
        instances += slots[i].copies;
    }
    if (!status && instances > NPU_MAX_INSTANCES)
        status = npu_fail(b->err, NPU_BAD_INPUT, kernel->pos,
                          "kernel '%s' has %d copies of slots, and at most %d are possible",
                          kernel->name, instances, NPU_MAX_INSTANCES);
    body->slots = slots;
    body->slot_count = kernel->slot_count;
    body->instance_count = instances;
    return status;
}

// ---- all -----------------------------------------------------------------------------------

static npu_status bind_all(npu_binder *b, npu_program *program, struct npu_bound *bound) {
    const npu_kernel *kernel = b->kernel;
    const npu_binding *binding = b->binding;
    npu_status status = bind_args(b);
    if (!status)
        status = bind_grid(b, &program->block_num);
    if (!status)
        status = bind_settings(b, "param", "", kernel->params, kernel->param_count, binding->params,
                               binding->param_count);
    if (!status)
        status = bind_settings(b, "tile size", "tile.", kernel->tile, kernel->tile_count,
                               binding->tile, binding->tile_count);
    if (!status)
        status = bind_lets(b, bound);
    if (!status)
        status = bind_calls(b);
    if (!status)
        status = check_requires(b);
    if (!status)
        status = bind_slots(b, &program->body[0]);
    program->body[1] = program->body[0];
    for (int i = 0; i < 2 && !status; i++)
        if (kernel->body[i] != NULL)
            status =
                npu_bind_body(b, i == 0, kernel->body[i], kernel->body_count[i], &program->body[i]);
    return status;
}

static npu_status copy_binding(npu_binder *b, struct npu_bound *bound) {
    const npu_binding *binding = b->binding;
    int args = b->kernel->arg_count;
    npu_window *windows = npu_arena_alloc(b->arena, (size_t)args, sizeof *windows);
    const char **names = npu_arena_alloc(b->arena, (size_t)args, sizeof *names);
    npu_axis *grid = npu_arena_alloc(b->arena, (size_t)binding->axis_count, sizeof *grid);
    if (windows == NULL || names == NULL || grid == NULL)
        return npu_fail_memory(b->err);
    for (int i = 0; i < args; i++) {
        windows[i] = binding->windows[i];
        names[i] = b->kernel->args[i].name;
    }
    for (int i = 0; i < binding->axis_count; i++)
        grid[i] = binding->grid[i];
    bound->windows = windows;
    bound->arg_names = names;
    bound->grid = grid;
    bound->axis_count = binding->axis_count;
    return NPU_OK;
}

npu_status npu_kernel_bind(npu_arena *arena, const npu_kernel *kernel, const npu_binding *binding,
                           npu_program *program, npu_error *err) {
    assert(kernel != NULL && binding != NULL && program != NULL);
    npu_binder b = {.arena = arena, .kernel = kernel, .binding = binding, .err = err};
    struct npu_bound *bound = npu_arena_alloc(arena, 1, sizeof *bound);
    if (bound == NULL)
        return npu_fail_memory(err);
    *program = (npu_program){.kernel = kernel->name,
                             .engine = kernel->engine,
                             .arg_count = kernel->arg_count,
                             .bound = bound};
    npu_status status = copy_binding(&b, bound);
    return status ? status : bind_all(&b, program, bound);
}
