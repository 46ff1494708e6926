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

enum { MAX_ARGS = 16, MAX_OPS = 4096 };

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
    for (char *word = strtok_r(copy, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save)) {
        assert_true(words < 4);
        w[words++] = word;
    }
    if (words < 3)
        fail_msg("'%s' is not a setting", text);
    npu_setting setting = {w[1], strtoll(w[2], NULL, 0), {"t.yaml", 6, 9}};
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

#define assert_ok(f, expression)                                                                   \
    do {                                                                                           \
        npu_status status_ = (expression);                                                         \
        assert_string_equal((f)->err.text, "");                                                    \
        assert_int_equal(status_, NPU_OK);                                                         \
    } while (0)

#endif
