// SPDX-License-Identifier: Apache-2.0
// What the tests of kernels share: a kernel from text or from the library, bound to arguments
// and settings that are written as text, and its ops.
#ifndef TEST_KERNELS_UTIL_H
#define TEST_KERNELS_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "program.h"

enum { MAX_ARGS = 16, MAX_OPS = 4096, MAX_LISTING = 1 << 15 };

typedef struct fixture {
    npu_arena arena;
    npu_error err;
    const npu_kernel *kernel;
    npu_window windows[MAX_ARGS];
    npu_setting params[MAX_ARGS], tile[MAX_ARGS];
    npu_axis grid[4];
    npu_binding binding;
    npu_program program;
    npu_op ops[MAX_OPS];
    int count;
    char listing[MAX_LISTING];
    size_t listed;
} fixture;

static inline int set_up(void **state) {
    *state = calloc(1, sizeof(fixture));
    return *state != NULL ? 0 : -1;
}

static inline int tear_down(void **state) {
    fixture *f = *state;
    npu_arena_free(&f->arena);
    free(f);
    return 0;
}

// Forgets the last kernel.
static inline void start_over(fixture *f) {
    npu_arena_free(&f->arena);
    memset(f, 0, sizeof *f);
}

static inline npu_status parse_kernel(fixture *f, const char *text) {
    const npu_yaml *root = NULL;
    npu_status status = npu_yaml_parse(&f->arena, "k.yaml", text, strlen(text), &root, &f->err);
    return status ? status : npu_kernel_parse(&f->arena, "k", root, &f->kernel, &f->err);
}

static inline npu_status load_kernel(fixture *f, const char *name) {
    return npu_kernel_load(&f->arena, NPUSIM_SOURCE "/configs/kernels", name, &f->kernel, &f->err);
}

static inline int find_arg(const fixture *f, const char *name) {
    int count = 0;
    const npu_kernel_arg *args = npu_kernel_args(f->kernel, &count);
    for (int i = 0; i < count; i++)
        if (strcmp(args[i].name, name) == 0)
            return i;
    fail_msg("the kernel has no argument '%s'", name);
    return -1;
}

static inline npu_dtype find_dtype(const char *name) {
    for (int i = 0; i < NPU_DTYPE_COUNT; i++)
        if (strcmp(npu_dtype_names[i], name) == 0)
            return (npu_dtype)i;
    fail_msg("no dtype '%s'", name);
    return NPU_FP32;
}

// "16x1024": a row-major window from address 0. With `transposed` the last two are swapped.
static inline void set_window(fixture *f, const char *arg, const char *dtype, const char *shape,
                              bool transposed) {
    npu_window *w = &f->windows[find_arg(f, arg)];
    *w = (npu_window){.dtype = find_dtype(dtype), .pos = {"t.yaml", 5, 7}};
    for (const char *at = shape; *at != '\0';) {
        char *end;
        w->shape[w->rank++] = strtoll(at, &end, 10);
        at = *end == 'x' ? end + 1 : end;
    }
    int64_t step = 1;
    for (int d = w->rank - 1; d >= 0; step *= w->shape[d--])
        w->stride[d] = step;
    if (!transposed)
        return;
    int64_t *n = &w->shape[w->rank - 2], *s = &w->stride[w->rank - 2];
    int64_t length = n[0], stride = s[0];
    n[0] = n[1], s[0] = s[1];
    n[1] = length, s[1] = stride;
}

static inline void set_one(fixture *f, const char *text) {
    char *w[4] = {NULL}, *save = NULL;
    char *copy = npu_arena_text(&f->arena, text, strlen(text));
    int words = 0;
    if (copy == NULL) {
        fail_msg("out of memory");
        return;
    }
    for (char *word = strtok_r(copy, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save)) {
        assert_true(words < 4);
        w[words++] = word;
    }
    if (words < 3) {
        fail_msg("'%s' is not a setting", text);
        return;
    }
    npu_setting setting = {w[1], strtoll(w[2], NULL, 0), {"t.yaml", 6, 9}, NULL};
    if (strcmp(w[0], "with") == 0)
        f->params[f->binding.param_count++] = setting;
    else if (strcmp(w[0], "tile") == 0)
        f->tile[f->binding.tile_count++] = setting;
    else if (strcmp(w[0], "grid") == 0)
        f->grid[f->binding.axis_count++] = (npu_axis){setting.name, setting.value};
    else
        set_window(f, w[0], w[1], w[2], words == 4 && strcmp(w[3], "t") == 0);
}

// "x fp32 8x64; b bf16 64x32 t; with eps 1; tile n 8; grid n 4"
static inline void set_all(fixture *f, const char *text) {
    char *save = NULL;
    char *copy = npu_arena_text(&f->arena, text, strlen(text));
    if (copy == NULL) {
        fail_msg("out of memory");
        return;
    }
    for (char *one = strtok_r(copy, ";", &save); one != NULL; one = strtok_r(NULL, ";", &save))
        set_one(f, one);
    f->binding.windows = f->windows;
    f->binding.params = f->params;
    f->binding.tile = f->tile;
    f->binding.grid = f->grid;
    f->binding.pos = (npu_pos){"t.yaml", 3, 5};
}

static inline npu_status bind_kernel(fixture *f, const char *settings) {
    set_all(f, settings);
    return npu_kernel_bind(&f->arena, f->kernel, &f->binding, &f->program, &f->err);
}

// All ops of one block on one core into f->ops.
static inline npu_status stream_block(fixture *f, npu_engine_type core, int64_t block, int lane) {
    npu_stream stream;
    bool more = true;
    npu_stream_open(&stream, &f->program, core, block, lane);
    for (f->count = 0;; f->count++) {
        assert_true(f->count < MAX_OPS);
        npu_status status = npu_stream_next(&stream, &f->ops[f->count], &more, &f->err);
        if (status || !more)
            return status;
    }
}

// ---- a program as text, one op per line ----------------------------------------------------

static inline void put(fixture *f, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(f->listing + f->listed, MAX_LISTING - f->listed, fmt, args);
    va_end(args);
    assert_true(length >= 0 && f->listed + (size_t)length < MAX_LISTING);
    f->listed += (size_t)length;
}

// "xb.1": copy 1 of the slot xb.
static inline void put_slot(fixture *f, const npu_body *body, int instance) {
    for (int i = 0; i < body->slot_count; i++) {
        const npu_slot *slot = &body->slots[i];
        if (instance >= slot->first && instance < slot->first + slot->copies) {
            put(f, " %s.%d", slot->name, instance - slot->first);
            return;
        }
    }
    fail_msg("no slot has the instance %d", instance);
}

// "x 0+64*4/256": four runs of 64 bytes, 256 apart, from address 0; then once more for rows[0].
static inline void put_gm(fixture *f, const npu_gm *gm) {
    int count = 0;
    put(f, " %s %lld+%lld", npu_kernel_args(f->kernel, &count)[gm->arg].name,
        (long long)gm->address, (long long)gm->run);
    for (int i = 1; i >= 0; i--)
        if (gm->rows[i] > 1)
            put(f, "*%d/%lld", gm->rows[i], (long long)gm->stride[i]);
}

static inline void put_op(fixture *f, const npu_body *body, const npu_op *op) {
    static const char *const names[] = {"load",   "extract", "matmul", "",        "store",
                                        "signal", "wait",    "scalar", "prefetch"};
    put(f, "%s", op->kind == NPU_OP_VEC ? npu_vec_op_names[op->vec] : names[op->kind]);
    if (op->kind == NPU_OP_LOAD || op->kind == NPU_OP_PREFETCH)
        put_gm(f, &op->gm);
    for (int i = 0; i < NPU_OP_SLOTS; i++)
        if (op->reads[i] >= 0)
            put_slot(f, body, op->reads[i]);
    if (op->kind == NPU_OP_STORE || op->writes >= 0)
        put(f, " >");
    if (op->kind == NPU_OP_STORE)
        put_gm(f, &op->gm);
    if (op->writes >= 0)
        put_slot(f, body, op->writes);
    if (op->kind == NPU_OP_MATMUL)
        put(f, " %lldx%lldx%lld", (long long)op->m, (long long)op->n, (long long)op->k);
    if (op->kind == NPU_OP_EXTRACT || op->kind == NPU_OP_VEC)
        put(f, " %lldx%lld", (long long)op->m, (long long)op->n);
    if (op->kind == NPU_OP_MATMUL && op->valid != op->m * op->n * op->k)
        put(f, " valid %lld", (long long)op->valid);
    if (op->kind == NPU_OP_SIGNAL || op->kind == NPU_OP_WAIT)
        put(f, " %s %d", npu_pipe_names[op->pipe], op->flag);
    if (op->kind == NPU_OP_SCALAR)
        put(f, " %lld %lld", (long long)op->scalar_ops, (long long)op->scalar_gm);
    put(f, "%s%s\n", op->accumulate ? " acc" : "", op->atomic ? " atomic" : "");
}

// The ops of one block on one core, as text.
static inline const char *list_block(fixture *f, npu_engine_type core, int64_t block, int lane) {
    f->listed = 0;
    f->listing[0] = '\0';
    npu_status status = stream_block(f, core, block, lane);
    assert_string_equal(f->err.text, "");
    assert_int_equal(status, NPU_OK);
    for (int i = 0; i < f->count; i++)
        put_op(f, &f->program.body[core == NPU_AIC ? 0 : 1], &f->ops[i]);
    return f->listing;
}

#define assert_ok(f, expression)                                                                   \
    do {                                                                                           \
        npu_status status_ = (expression);                                                         \
        assert_string_equal((f)->err.text, "");                                                    \
        assert_int_equal(status_, NPU_OK);                                                         \
    } while (0)

#endif
