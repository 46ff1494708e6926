// SPDX-License-Identifier: Apache-2.0
// What a graph file says, against the flat graph written out by hand.
#include "test_model.h"

#define TASK "tasks: [{ dummy: d }]\n"

static void shape_is(const npu_tensor *t, int rank, const int64_t *shape, const int64_t *stride) {
    assert_int_equal(t->rank, rank);
    for (int i = 0; i < rank; i++) {
        assert_int_equal(t->shape[i], shape[i]);
        assert_int_equal(t->stride[i], stride[i]);
    }
}

#define LIST(...) ((const int64_t[]){__VA_ARGS__})

static void a_parameter_may_use_the_ones_before_it(void **state) {
    const npu_graph *g =
        loads(*state, "graph: small\n"
                      "params: { T: 8, rows: \"pad(T, 16)\", half: rows / 2 }\n"
                      "tensors: { x: { shape: [rows, half], dtype: int8 } }\n" TASK);
    assert_string_equal(g->name, "small");
    assert_string_equal(g->path, "g.yaml");
    shape_is(tensor_of(g, "x"), 2, LIST(16, 8), LIST(8, 1));
}

static void a_graph_without_a_name_is_called_as_its_file(void **state) {
    assert_string_equal(loads(*state, TASK)->name, "g");
}

static void a_setting_replaces_a_parameter(void **state) {
    fixture *f = *state;
    static const char *const sets[] = {"T=2 * 16", "D=T + 1"};
    loads(f, "params: { T: 8, D: 4, E: D * 2 }\n"
             "tensors: { x: { shape: [T, D, E], dtype: int8 } }\n" TASK);
    uint64_t hash = f->graph.hash;
    assert_int_equal(load_sets(f, sets, 2), NPU_OK);
    shape_is(tensor_of(&f->graph, "x"), 3, LIST(32, 33, 66), LIST(33 * 66, 66, 1));
    assert_int_not_equal(f->graph.hash, hash);
    static const char *const same[] = {"T=8"};
    assert_int_equal(load_sets(f, same, 1), NPU_OK);
    assert_int_equal(f->graph.hash, hash);
}

// --set reaches a parameter of an included file that `with` does not give, unless the graph's own
// file has one of the name.
static void a_setting_reaches_included_files(void **state) {
    static const char *const sets[] = {"a=4", "b=5", "c=6"};
    static const char *const other[] = {"c=7"};
    fixture *f = *state;
    write_file("a.yaml", "params: { a: 1, b: 1, c: 1 }\n" KERNELS
                         "tensors: { x: { shape: [a, b, c], dtype: int8 } }\n"
                         "tasks: [{ task: t, kernel: gen, y: x }]\n");
    write_file("g.yaml", "params: { a: 2 }\n"
                         "tasks: [{ include: a.yaml, with: { b: 3 } , as: one },\n"
                         "        { include: a.yaml, as: two }]\n");
    assert_int_equal(load_sets(f, sets, 3), NPU_OK);
    shape_is(tensor_of(&f->graph, "one.x"), 3, LIST(1, 3, 6), LIST(18, 6, 1));
    shape_is(tensor_of(&f->graph, "two.x"), 3, LIST(1, 5, 6), LIST(30, 6, 1));
    uint64_t hash = f->graph.hash;
    assert_int_equal(load_sets(f, other, 1), NPU_OK);
    shape_is(tensor_of(&f->graph, "two.x"), 3, LIST(1, 1, 7), LIST(7, 7, 1));
    assert_int_not_equal(f->graph.hash, hash);
}

static void the_hash_knows_every_file(void **state) {
    fixture *f = *state;
    write_file("k.yaml", "engine: aiv\nargs: { x: in }\nprogram: [{ scalar: { ops: 1 } }]\n");
    write_file("a.yaml", "tensors: { x: { shape: [8], dtype: int8, external: true } }\n"
                         "tasks: [{ task: t, kernel: k, x: x }]\n");
    uint64_t first = loads(f, "tasks: [{ include: a.yaml }]\n")->hash;
    assert_int_equal(loads(f, "# a comment\ntasks:\n  - include: a.yaml\n")->hash, first);
    write_file("k.yaml", "engine: aiv\nargs: { x: in }\nprogram: [{ scalar: { ops: 2 } }]\n");
    uint64_t second = loads(f, "tasks: [{ include: a.yaml }]\n")->hash;
    assert_int_not_equal(second, first);
    write_file("a.yaml", "tensors: { x: { shape: [9], dtype: int8, external: true } }\n"
                         "tasks: [{ task: t, kernel: k, x: x }]\n");
    assert_int_not_equal(loads(f, "tasks: [{ include: a.yaml }]\n")->hash, second);
}

static void tensors_say_what_they_are(void **state) {
    const npu_graph *g =
        loads(*state, "tensors:\n"
                      "  a: { shape: [3], dtype: int8 }\n"
                      "  b: { shape: [4, 512], dtype: bf16, class: weight, l2: warm }\n"
                      "  c: { shape: [2, 3, 5], dtype: fp32, class: cache, layout: col }\n"
                      "  d: { shape: [1], dtype: int64, class: handoff }\n"
                      "  e: { shape: [7], dtype: uint16, init: zero, l2: cold }\n"
                      "  f: { shape: [7], dtype: bool, class: weight, external: false }\n" TASK);
    static const struct {
        const char *name;
        int64_t address, bytes;
        bool external, warm;
        npu_class class_;
    } rows[] = {
        {"a", 0, 3, false, false, NPU_ACTIVATION},    {"b", 512, 4096, true, true, NPU_WEIGHT},
        {"c", 4608, 120, true, false, NPU_CACHE},     {"d", 5120, 8, false, false, NPU_HANDOFF},
        {"e", 5632, 14, true, false, NPU_ACTIVATION}, {"f", 6144, 7, false, false, NPU_WEIGHT},
    };
    assert_int_equal(g->tensor_count, 6);
    for (int i = 0; i < 6; i++) {
        const npu_tensor *t = &g->tensors[i];
        assert_string_equal(t->name, rows[i].name);
        assert_int_equal(t->storage, i);
        assert_int_equal(t->address, rows[i].address);
        assert_int_equal(t->bytes, rows[i].bytes);
        assert_int_equal(t->external, rows[i].external);
        assert_int_equal(t->in_l2, rows[i].warm);
        assert_int_equal(t->class_, rows[i].class_);
    }
    shape_is(&g->tensors[2], 3, LIST(2, 3, 5), LIST(1, 2, 6));
}

static void a_list_of_tensors_may_loop(void **state) {
    const npu_graph *g =
        loads(*state, "params: { n: 2, extra: 0 }\n"
                      "tensors:\n"
                      "  - for: g in 0..n\n"
                      "    do:\n"
                      "      - tensor: w[g]\n"
                      "        shape: [g + 1]\n"
                      "        dtype: int8\n"
                      "      - for: h in g..2\n"
                      "        do:\n"
                      "          - { tensor: \"p[g, h]\", shape: [4], dtype: int8 }\n"
                      "  - if: extra\n"
                      "    do: [{ tensor: x, shape: [1], dtype: int8 }]\n"
                      "    else: [{ tensor: y, shape: [1], dtype: int8 }]\n" TASK);
    static const char *const names[] = {"w[0]", "p[0,0]", "p[0,1]", "w[1]", "p[1,1]", "y"};
    assert_int_equal(g->tensor_count, 6);
    for (int i = 0; i < 6; i++)
        assert_string_equal(g->tensors[i].name, names[i]);
    assert_int_equal(tensor_of(g, "w[1]")->shape[0], 2);
}

static void views_are_windows_of_a_storage(void **state) {
    const npu_graph *g =
        loads(*state, "tensors:\n"
                      "  x: { shape: [16, 64], dtype: fp32, class: cache, l2: warm }\n"
                      "  rows: { view: \"x[4 : 8, :]\" }\n"
                      "  row: { view: \"x[3, 8 : 16]\" }\n"
                      "  box: { view: { of: rows, offset: [1, 32], shape: [2, 16] } }\n"
                      "  turned: { view: { of: box, transpose: true } }\n"
                      "  cube: { view: { of: rows, reshape: [8, 4, 16] } }\n"
                      "  top: { view: { of: x, shape: [4, 64] } }\n" TASK);
    shape_is(tensor_of(g, "rows"), 2, LIST(8, 64), LIST(64, 1));
    shape_is(tensor_of(g, "row"), 1, LIST(16), LIST(1));
    shape_is(tensor_of(g, "box"), 2, LIST(2, 16), LIST(64, 1));
    shape_is(tensor_of(g, "turned"), 2, LIST(16, 2), LIST(1, 64));
    shape_is(tensor_of(g, "cube"), 3, LIST(8, 4, 16), LIST(64, 16, 1));
    shape_is(tensor_of(g, "top"), 2, LIST(4, 64), LIST(64, 1));
    assert_int_equal(tensor_of(g, "rows")->offset, 4 * 64);
    assert_int_equal(tensor_of(g, "row")->offset, 3 * 64 + 8);
    assert_int_equal(tensor_of(g, "box")->offset, 5 * 64 + 32);
    assert_int_equal(tensor_of(g, "turned")->offset, 5 * 64 + 32);
    assert_int_equal(tensor_of(g, "top")->offset, 0);
    for (int i = 1; i < g->tensor_count; i++) {
        assert_int_equal(g->tensors[i].storage, 0);
        assert_int_equal(g->tensors[i].bytes, 0);
        assert_int_equal(g->tensors[i].class_, NPU_CACHE);
        assert_true(g->tensors[i].external && g->tensors[i].in_l2);
    }
}

static void window_is(const npu_graph *g, const char *task, int arg, int64_t offset, int rank,
                      const int64_t *shape, const int64_t *stride) {
    const npu_arg *a = &g->args[task_of(g, task)->first_arg + arg];
    assert_int_equal(a->offset, offset);
    assert_int_equal(a->rank, rank);
    for (int i = 0; i < rank; i++) {
        assert_int_equal(a->shape[i], shape[i]);
        assert_int_equal(a->stride[i], stride[i]);
    }
}

static void arguments_are_windows(void **state) {
    const npu_graph *g =
        loads(*state, KERNELS
              "params: { n: 2 }\n"
              "tensors: { x: { shape: [4, 8, 16], dtype: fp32, external: true },\n"
              "  z: { shape: [8], dtype: fp32 } }\n"
              "tasks:\n"
              "  - { task: whole, kernel: read, x: x }\n"
              "  - { task: plane, kernel: read, x: \"x[n, :, :]\" }\n"
              "  - { task: box, kernel: read, x: \"x[1 : n, 2 : 4, 8 : min(8, n * 4)]\" }\n"
              "  - { task: line, kernel: read, x: \"x[1, n == 2 ? 3 : 5 : 2, 7]\" }\n"
              "  - { task: turned, kernel: read, x: { tensor: \"x[0, :, :]\", transpose: true } }\n"
              "  - { task: two, kernel: use, y: z, x: x }\n"
              "  - { task: under, kernel: use, args: { x: x, y: z } }\n");
    window_is(g, "whole", 0, 0, 3, LIST(4, 8, 16), LIST(128, 16, 1));
    window_is(g, "plane", 0, 256, 2, LIST(8, 16), LIST(16, 1));
    window_is(g, "box", 0, 128 + 32 + 8, 3, LIST(2, 4, 8), LIST(128, 16, 1));
    window_is(g, "line", 0, 128 + 48 + 7, 1, LIST(2), LIST(16));
    window_is(g, "turned", 0, 0, 2, LIST(16, 8), LIST(1, 16));
    window_is(g, "two", 1, 0, 1, LIST(8), LIST(1)); // in the kernel's order
    window_is(g, "under", 1, 0, 1, LIST(8), LIST(1));
    assert_string_equal(g->args[task_of(g, "two")->first_arg].name, "x");
}

static void a_region_follows_the_index_of_its_tensor(void **state) {
    const npu_graph *g = loads(
        *state, KERNELS "tensors:\n"
                        "  - for: g in 0..2\n"
                        "    do: [{ tensor: \"o[g]\", shape: [4, 8], dtype: int8, class: cache }]\n"
                        "tasks:\n"
                        "  - { task: a, kernel: read, x: \"o[1][2 : 2, :]\" }\n"
                        "  - { task: b, kernel: read, x: \"o[2 - 1]\" }\n");
    window_is(g, "a", 0, 16, 2, LIST(2, 8), LIST(8, 1));
    window_is(g, "b", 0, 0, 2, LIST(4, 8), LIST(8, 1));
    assert_int_equal(g->args[0].tensor, 1);
    assert_int_equal(g->args[1].tensor, 1);
}

static void loops_and_conditions_make_tasks_in_order(void **state) {
    const npu_graph *g = loads(*state, "params: { n: 2, b: 0 }\n"
                                       "tasks:\n"
                                       "  - dummy: first\n"
                                       "  - for: g in 0..n\n"
                                       "    do:\n"
                                       "      - dummy: a[g]\n"
                                       "      - for: h in g..g + 2\n"
                                       "        do:\n"
                                       "          - if: h != 1\n"
                                       "            do:\n"
                                       "              - dummy: b[g, h * 10]\n"
                                       "  - for: g in 5..5\n"
                                       "    do: [{ dummy: never }]\n"
                                       "  - if: b\n"
                                       "    do: [{ dummy: yes }]\n"
                                       "    else: [{ dummy: no, early: n == 2 }]\n"
                                       "  - if: true\n"
                                       "    do: [{ dummy: last }]\n");
    static const char *const names[] = {"first", "a[0]", "b[0,0]", "a[1]", "b[1,20]", "no", "last"};
    assert_int_equal(g->task_count, 7);
    for (int i = 0; i < 7; i++)
        assert_string_equal(g->tasks[i].name, names[i]);
    assert_string_equal(g->tasks[4].kernel, "b");
    assert_int_equal(g->tasks[4].func, -1);
    assert_int_equal(g->tasks[4].block_num, 0);
    assert_null(g->tasks[4].program);
    assert_true(g->tasks[5].early);
    assert_false(g->tasks[6].early);
}

static void functions_are_numbered_at_their_first_submission(void **state) {
    const npu_graph *g =
        loads(*state, KERNELS "tensors: { x: { shape: [8], dtype: fp32, external: true } }\n"
                              "tasks:\n"
                              "  - { task: v, kernel: read, x: x }\n"
                              "  - for: g in 0..2\n"
                              "    do:\n"
                              "      - { task: \"m[g]\", kernel: both, x: x, y: x, engine: mix }\n"
                              "      - { task: \"c[g]\", kernel: add, y: x }\n"
                              "  - { task: w, kernel: read, x: x }\n");
    static const npu_func funcs[] = {{.name = "v", .aic_id = -1, .aiv_id = 0},
                                     {.name = "m", .aic_id = 1, .aiv_id = 2},
                                     {.name = "c", .aic_id = 3, .aiv_id = -1},
                                     {.name = "w", .aic_id = -1, .aiv_id = 4}};
    assert_int_equal(g->func_count, 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(g->funcs[i].name, funcs[i].name);
        assert_int_equal(g->funcs[i].aic_id, funcs[i].aic_id);
        assert_int_equal(g->funcs[i].aiv_id, funcs[i].aiv_id);
    }
    assert_int_equal(task_of(g, "m[1]")->func, 1);
    assert_int_equal(task_of(g, "c[1]")->engine, NPU_AIC);
    assert_string_equal(task_of(g, "c[1]")->kernel, "c");
}

static void a_task_sets_its_grid_and_numbers(void **state) {
    const npu_graph *g = loads(
        *state,
        "params: { n: 4 }\n"
        "kernels:\n"
        "  k:\n"
        "    engine: aiv\n"
        "    args: { x: in, tile: in }\n"
        "    params: { p: 1 }\n"
        "    tile: { m: required }\n"
        "    slots: { s: { in: ub, bytes: p * 1024 + tile.m } }\n"
        "    program: [{ scalar: { ops: 1 } }]\n"
        "tensors: { x: { shape: [8], dtype: fp32, external: true } }\n"
        "tasks:\n"
        "  - { task: a, kernel: k, x: x, args: { tile: x }, with: { p: n }, tile: { m: 32 },\n"
        "      grid: { i: n, j: 3 }, early: true, sync_start: n - 4 }\n"
        "  - { task: b, kernel: k, x: x, args: { tile: x }, tile: { m: 64 }, sync_start: n }\n");
    const npu_task *a = task_of(g, "a");
    const npu_task *b = task_of(g, "b");
    assert_int_equal(a->block_num, 12);
    assert_int_equal(a->program->body[1].slots[0].bytes, 4096 + 32);
    assert_true(a->early);
    assert_false(a->sync_start);
    assert_int_equal(b->block_num, 1);
    assert_int_equal(b->program->body[1].slots[0].bytes, 1024 + 64);
    assert_true(b->sync_start);
}

static void a_program_sees_the_address_of_its_window(void **state) {
    const npu_graph *g =
        loads(*state, "kernels:\n"
                      "  k: { engine: aiv, args: { x: { access: in, shape: [R, C] } },\n"
                      "       slots: { s: { in: ub, shape: [R, C], dtype: x } },\n"
                      "       program: [{ load: { from: \"x[:, :]\", to: s } }] }\n"
                      "tensors: { pad: { shape: [1], dtype: int8 },\n"
                      "  x: { shape: [8, 64], dtype: bf16, external: true } }\n"
                      "tasks: [{ task: a, kernel: k, x: \"x[2 : 4, 16 : 32]\" }]\n");
    npu_stream stream;
    npu_op op;
    bool more = false;
    npu_stream_open(&stream, g->tasks[0].program, NPU_AIV, 0, 0);
    assert_int_equal(npu_stream_next(&stream, &op, &more, NULL), NPU_OK);
    assert_true(more);
    assert_int_equal(op.gm.address, 512 + (2 * 64 + 16) * 2);
    assert_int_equal(op.gm.run, 64);
    assert_int_equal(op.gm.rows[0] * op.gm.rows[1], 4);
}

// a and b are alike, but for where x lies; c has another param, d another shape, e other strides.
static void tasks_that_differ_in_addresses_share_statements(void **state) {
    const npu_graph *g = loads(
        *state,
        "kernels:\n"
        "  k: { engine: aiv, args: { x: { access: in, shape: [R, C] } }, params: { n: 1 },\n"
        "       slots: { s: { in: ub, bytes: 4096 } },\n"
        "       program: [{ loop: i in 0..n, do: [{ load: { from: 'x[:, :]', to: s } }] }] }\n"
        "tensors: { x: { shape: [8, 32], dtype: int8, external: true },\n"
        "           y: { shape: [8, 64], dtype: int8, external: true } }\n"
        "tasks: [{ task: a, kernel: k, x: 'x[0 : 2, :]' }, { task: b, kernel: k, x: 'x[4 : 2, :]' "
        "},\n"
        "        { task: c, kernel: k, x: 'x[4 : 2, :]', with: { n: 2 } },\n"
        "        { task: d, kernel: k, x: 'x[4 : 4, :]' },\n"
        "        { task: e, kernel: k, x: 'y[4 : 2, 0 : 32]' }]\n");
    const struct npu_stmt *first = g->tasks[0].program->body[1].stmts;
    assert_ptr_equal(g->tasks[1].program->body[1].stmts, first);
    for (int i = 2; i < 5; i++)
        assert_ptr_not_equal(g->tasks[i].program->body[1].stmts, first);
    for (int i = 0; i < 2; i++) {
        npu_stream stream;
        npu_op op;
        bool more = false;
        npu_stream_open(&stream, g->tasks[i].program, NPU_AIV, 0, 0);
        assert_int_equal(npu_stream_next(&stream, &op, &more, NULL), NPU_OK);
        assert_int_equal(op.gm.address, g->tensors[0].address + i * 4 * 32);
    }
}

static void kernels_come_from_the_file_or_the_folder(void **state) {
    fixture *f = *state;
    write_file("k.yaml", "engine: aic\nargs: { x: in }\nprogram: [{ scalar: { ops: 1 } }]\n");
    const npu_graph *g =
        loads(f, KERNELS "  other: k.yaml\n"
                         "tensors: { x: { shape: [8], dtype: fp32, external: true } }\n"
                         "tasks:\n"
                         "  - { task: a, kernel: k, x: x }\n"
                         "  - { task: b, kernel: other, x: x }\n"
                         "  - { task: c, kernel: read, x: x, engine: aiv }\n");
    assert_int_equal(task_of(g, "a")->engine, NPU_AIC);
    assert_int_equal(task_of(g, "b")->engine, NPU_AIC);
    assert_int_equal(task_of(g, "c")->engine, NPU_AIV);
}

static void an_included_file_is_a_part_with_a_name(void **state) {
    fixture *f = *state;
    write_file("a.yaml", "params: { n: 1, m: n * 2 }\n"
                         "tensors: { x: { shape: [m], dtype: int8 } }\n"
                         "tasks: [{ dummy: t }, { dummy: u, after: t }]\n");
    const npu_graph *g = loads(f, "params: { n: 10 }\n"
                                  "tasks:\n"
                                  "  - include: a.yaml\n"
                                  "  - for: i in 0..2\n"
                                  "    do:\n"
                                  "      - include: a.yaml\n"
                                  "        as: part[i]\n"
                                  "        with: { n: n + i }\n"
                                  "  - { dummy: end, after: [t, \"part[1].u\"] }\n");
    assert_int_equal(g->task_count, 7);
    assert_string_equal(g->tasks[0].name, "t");
    assert_string_equal(g->tasks[4].name, "part[1].t");
    assert_string_equal(g->tasks[4].kernel, "part.t");
    assert_int_equal(tensor_of(g, "x")->shape[0], 2);
    assert_int_equal(tensor_of(g, "part[1].x")->shape[0], 22);
    assert_int_equal(g->edges[task_of(g, "part[1].u")->first_edge].pred, 4);
    assert_int_equal(task_of(g, "end")->edge_count, 2);
}

// Without a prefix an included file shares the names of its includer.
static void a_part_without_a_name_sees_the_tensors_around_it(void **state) {
    fixture *f = *state;
    write_file("a.yaml", KERNELS "tasks: [{ task: t, kernel: read, x: x }]\n");
    const npu_graph *g = loads(f, "tensors: { x: { shape: [8], dtype: fp32, external: true } }\n"
                                  "tasks: [{ include: a.yaml }]\n");
    assert_int_equal(g->args[0].tensor, 0);
}

static npu_status load_example(fixture *f, const char *name) {
    char path[512];
    npu_graph_options options = {NULL, NULL, 0, 0};
    snprintf(path, sizeof path, "%s/tests/data/graphs/%s", NPUSIM_SOURCE, name);
    return npu_graph_load(path, &options, &f->graph, &f->warnings, &f->err);
}

static void a_stack_of_layers_passes_tensors_on(void **state) {
    fixture *f = *state;
    assert_int_equal(load_example(f, "stack.yaml"), NPU_OK);
    const npu_graph *g = &f->graph;
    static const char *const names[] = {"L[0].norm", "L[0].seed", "L[0].proj",
                                        "L[1].norm", "L[1].seed", "L[1].proj",
                                        "L[2].norm", "L[2].proj", "done"};
    assert_int_equal(g->task_count, 9);
    for (int i = 0; i < 9; i++)
        assert_string_equal(g->tasks[i].name, names[i]);
    const npu_tensor *w = tensor_of(g, "L[2].w");
    assert_int_equal(w->storage, 1);
    assert_int_equal(w->offset, 2 * 128 * 128);
    assert_int_equal(w->class_, NPU_WEIGHT);
    const npu_arg *x = &g->args[task_of(g, "L[1].norm")->first_arg];
    assert_string_equal(g->tensors[x->tensor].name, "L[0].y");
    const npu_task *norm = task_of(g, "L[1].norm");
    assert_int_equal(norm->edge_count, 2); // the seed made y, the projection added to it
    assert_int_equal(g->edges[norm->first_edge].pred, 1);
    assert_int_equal(g->edges[norm->first_edge + 1].pred, 2);
    assert_int_equal(g->func_count, 3);
    assert_string_equal(g->funcs[0].name, "L.norm");
    // Layer 2 forgets to zero the sum it adds into.
    assert_int_equal(f->warnings.count, 1);
}

// In lists YAML splits a call at its commas; the loader puts it together again.
static void a_call_in_a_list_needs_no_quotes(void **state) {
    const npu_graph *g = loads(
        *state,
        "params: { T: 3 }\n"
        "tensors: { x: { shape: [pad(T, 16), max(1, min(T, 2), 0), 4], dtype: int8 } }\n" TASK);
    shape_is(tensor_of(g, "x"), 3, LIST(16, 2, 4), LIST(8, 4, 1));
}

static void loading_twice_gives_the_same_graph(void **state) {
    fixture *f = *state;
    assert_int_equal(load_example(f, "oproj.yaml"), NPU_OK);
    npu_graph first = f->graph;
    f->graph = (npu_graph){0};
    assert_int_equal(load_example(f, "oproj.yaml"), NPU_OK);
    assert_int_equal(first.hash, f->graph.hash);
    assert_int_equal(first.edge_count, f->graph.edge_count);
    for (int i = 0; i < first.edge_count; i++) { // field by field: there is padding between them
        const npu_edge *a = &first.edges[i];
        const npu_edge *b = &f->graph.edges[i];
        assert_true(a->pred == b->pred && a->succ == b->succ && a->arg == b->arg &&
                    a->source == b->source && a->covered == b->covered &&
                    a->producer_arg == b->producer_arg);
    }
    npu_graph_free(&first);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_parameter_may_use_the_ones_before_it),
        TEST(a_graph_without_a_name_is_called_as_its_file),
        TEST(a_setting_replaces_a_parameter),
        TEST(a_setting_reaches_included_files),
        TEST(the_hash_knows_every_file),
        TEST(tensors_say_what_they_are),
        TEST(a_list_of_tensors_may_loop),
        TEST(views_are_windows_of_a_storage),
        TEST(arguments_are_windows),
        TEST(a_region_follows_the_index_of_its_tensor),
        TEST(loops_and_conditions_make_tasks_in_order),
        TEST(functions_are_numbered_at_their_first_submission),
        TEST(a_task_sets_its_grid_and_numbers),
        TEST(a_program_sees_the_address_of_its_window),
        TEST(tasks_that_differ_in_addresses_share_statements),
        TEST(kernels_come_from_the_file_or_the_folder),
        TEST(an_included_file_is_a_part_with_a_name),
        TEST(a_part_without_a_name_sees_the_tensors_around_it),
        TEST(a_stack_of_layers_passes_tensors_on),
        TEST(a_call_in_a_list_needs_no_quotes),
        TEST(loading_twice_gives_the_same_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
