// SPDX-License-Identifier: Apache-2.0
// What the tests of model/ share: graphs from text, in a folder of their own.
#ifndef TEST_MODEL_H
#define TEST_MODEL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph.h"

// Kernels that do nothing but have the arguments that edges are made of.
#define ONE_OP "program: [{ scalar: { ops: 1 } }] }\n"
#define KERNELS                                                                                    \
    "kernels:\n"                                                                                   \
    "  gen:  { engine: aiv, args: { y: out }, " ONE_OP                                             \
    "  use:  { engine: aiv, args: { x: in, y: out }, " ONE_OP                                      \
    "  read: { engine: aiv, args: { x: in }, " ONE_OP                                              \
    "  add:  { engine: aic, args: { y: inout }, " ONE_OP                                           \
    "  put:  { engine: aiv, args: { y: out_existing }, " ONE_OP                                    \
    "  peek: { engine: aiv, args: { x: no_dep }, " ONE_OP                                          \
    "  both: { engine: mix, args: { x: in, y: out }, "                                             \
    "program: { aic: [{ scalar: { ops: 1 } }], aiv: [{ scalar: { ops: 1 } }] } }\n"

typedef struct fixture {
    char folder[256];
    npu_graph graph;
    npu_warnings warnings;
    npu_error err;
} fixture;

static inline int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    *state = f;
    if (f == NULL)
        return -1;
    snprintf(f->folder, sizeof f->folder, "%s/test_model_XXXXXX", NPUSIM_BUILD);
    return mkdtemp(f->folder) != NULL ? chdir(f->folder) : -1;
}

static inline int tear_down(void **state) {
    static const char *const names[] = {"g.yaml", "a.yaml", "b.yaml", "c.yaml", "k.yaml"};
    fixture *f = *state;
    npu_graph_free(&f->graph);
    npu_warnings_free(&f->warnings);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(names[i]);
    int status = chdir(NPUSIM_BUILD) + rmdir(f->folder);
    free(f);
    return status;
}

static inline void write_file(const char *name, const char *text) {
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

// Loads g.yaml again; the kernel folder is the current one.
static inline npu_status load_sets(fixture *f, const char *const *sets, int count) {
    npu_graph_options options = {".", sets, count, 0};
    npu_graph_free(&f->graph);
    npu_warnings_free(&f->warnings);
    f->err.text[0] = '\0';
    return npu_graph_load("g.yaml", &options, &f->graph, &f->warnings, &f->err);
}

static inline npu_status load(fixture *f, const char *text) {
    write_file("g.yaml", text);
    return load_sets(f, NULL, 0);
}

static inline const npu_graph *loads(fixture *f, const char *text) {
    npu_status status = load(f, text);
    assert_string_equal(f->err.text, "");
    assert_int_equal(status, NPU_OK);
    return &f->graph;
}

static inline void refuses(fixture *f, const char *text, const char *message) {
    npu_status status = load(f, text);
    assert_string_equal(f->err.text, message);
    assert_int_equal(status, NPU_BAD_INPUT);
    assert_int_equal(f->graph.task_count, 0);
    assert_null(f->graph.arena.chunks);
}

static inline const npu_task *task_of(const npu_graph *graph, const char *name) {
    for (int i = 0; i < graph->task_count; i++)
        if (strcmp(graph->tasks[i].name, name) == 0)
            return &graph->tasks[i];
    fail_msg("no task '%s'", name);
    return NULL;
}

static inline const npu_tensor *tensor_of(const npu_graph *graph, const char *name) {
    for (int i = 0; i < graph->tensor_count; i++)
        if (strcmp(graph->tensors[i].name, name) == 0)
            return &graph->tensors[i];
    fail_msg("no tensor '%s'", name);
    return NULL;
}

#endif
