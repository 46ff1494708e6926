// SPDX-License-Identifier: Apache-2.0
// Fixture of the tests of the YAML tree.
#ifndef TEST_BASE_YAML_H
#define TEST_BASE_YAML_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "yaml_tree.h"

typedef struct fixture {
    npu_arena arena;
    npu_error err;
    const npu_yaml *root;
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

static inline npu_status parse(fixture *f, const char *text) {
    f->err.text[0] = '\0';
    return npu_yaml_parse(&f->arena, "t.yaml", text, strlen(text), &f->root, &f->err);
}

static inline void assert_parses(fixture *f, const char *text) {
    npu_status status = parse(f, text);
    assert_string_equal(f->err.text, "");
    assert_int_equal(status, NPU_OK);
    assert_non_null(f->root);
}

static inline void assert_refused(fixture *f, const char *text, const char *message) {
    assert_int_equal(parse(f, text), NPU_BAD_INPUT);
    assert_string_equal(f->err.text, message);
    assert_null(f->root);
}

static inline void assert_at(const npu_yaml *node, int line, int col) {
    assert_string_equal(node->pos.file, "t.yaml");
    assert_int_equal(node->pos.line, line);
    assert_int_equal(node->pos.col, col);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
