// SPDX-License-Identifier: Apache-2.0
// Parameters that are tables of numbers. A tensor's shape shows what an expression gives: it must
// be at least 1, so that each has 1 added.
#include "test_model.h"

#define TASK "tasks: [{ dummy: d }]\n"
#define COUNTS "  counts: { table: [2, 3], at: [i, j], value: i * 10 + j }\n" // 0 1 2, 10 11 12

static int64_t size_of(const fixture *f, const char *tensor, int dim) {
    return tensor_of(&f->graph, tensor)->shape[dim];
}

static void a_table_has_a_value_for_each_index(void **state) {
    fixture *f = *state;
    loads(f, "params:\n"
             "  n: 10\n"
             "  counts: { table: [2, 3], at: [i, j], value: i * n + j }\n"
             "tensors: { x: { shape: [\"counts(1, 2)\", \"counts(:, 1)\", "
             "\"counts(1, 0 : 2) + 1\"], dtype: int8 } }\n" TASK);
    assert_int_equal(size_of(f, "x", 0), 12);
    assert_int_equal(size_of(f, "x", 1), 1 + 11);
    assert_int_equal(size_of(f, "x", 2), 10 + 11 + 1);
}

static void a_loop_may_go_as_far_as_a_table_says(void **state) {
    fixture *f = *state;
    const npu_graph *g = loads(f, "params:\n  counts: { table: [3], at: [e], value: \"e * 2\" }\n"
                                  "tasks:\n"
                                  "  - for: e in 0..3\n"
                                  "    do:\n"
                                  "      - for: t in 0..counts(e)\n"
                                  "        do: [{ dummy: \"d[e, t]\" }]\n");
    assert_int_equal(g->task_count, 0 + 2 + 4);
}

static void a_table_is_given_to_includes_and_kernels(void **state) {
    fixture *f = *state;
    write_file("a.yaml",
               "params: { c: table }\n"
               "kernels:\n"
               "  k: { engine: aiv, args: { x: no_dep }, params: { rows: table },\n"
               "       program: [{ loop: \"i in 0..rows(block, 2)\", do: "
               "[{ scalar: { ops: \"rows(block, i % 2) + 1\" } }] }] }\n"
               "tensors: { x: { shape: [4], dtype: int8, external: true } }\n"
               "tasks: [{ task: t, kernel: k, x: x, with: { rows: c }, grid: { b: 2 } }]\n");
    loads(f, "params:\n" COUNTS "tasks: [{ include: a.yaml, with: { c: counts } }]\n");
    for (int block = 0; block < 2; block++) {
        npu_stream stream;
        npu_op op;
        bool more = true;
        int64_t ops = 0;
        npu_stream_open(&stream, f->graph.tasks[0].program, NPU_AIV, block, 0);
        assert_int_equal(npu_stream_next(&stream, &op, &more, &f->err), NPU_OK);
        for (; more; ops++) // 0, 1, 0, .. and 10, 11, 10, ..
            assert_int_equal((npu_stream_next(&stream, &op, &more, &f->err), f->err.text[0]), 0);
        assert_int_equal(ops, block == 0 ? 2 : 12);
    }
}

static void a_table_comes_from_a_file(void **state) {
    fixture *f = *state;
    static const char *const sets[] = {"counts=@c.yaml"};
    loads(f, "params:\n" COUNTS
             "tensors: { x: { shape: [\"counts(:, 0)\", \"counts(1, 2)\"], dtype: int8 } }\n" TASK);
    uint64_t hash = f->graph.hash;
    write_file("c.yaml", "# rank 0\n5 0 7 # five, none, seven\n\n1,\t2 3");
    assert_int_equal(load_sets(f, sets, 1), NPU_OK);
    assert_int_equal(size_of(f, "x", 0), 6);
    assert_int_equal(size_of(f, "x", 1), 3);
    assert_int_not_equal(f->graph.hash, hash);
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"1 2 3\n4 5\n", "c.yaml: the table has 6 numbers, and the file 5"},
        {"1 2 3\n4 5 6 7\n", "c.yaml: the table has 6 numbers, and the file 7"},
        {"1 2 3\n4 5x 6\n", "c.yaml:2:1: '5x' is no whole number"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_file("c.yaml", bad[i].text);
        assert_int_equal(load_sets(f, sets, 1), NPU_BAD_INPUT);
        assert_string_equal(f->err.text, bad[i].message);
    }
    static const char *const number[] = {"counts=7"}, *const missing[] = {"counts=@none"};
    assert_int_equal(load_sets(f, number, 1), NPU_BAD_INPUT);
    assert_string_equal(f->err.text, "--set counts=7: 'counts' is a table; its numbers come from a "
                                     "file: --set counts=@FILE");
    assert_int_equal(load_sets(f, missing, 1), NPU_IO);
}

#define DRAWN                                                                                      \
    "params:\n"                                                                                    \
    "  seed: 7\n"                                                                                  \
    "  c: { table: [2, 8], at: [i, j], value: 1, draw: { seed: seed, times: 20, pick: 3 } }\n"     \
    "tensors:\n"                                                                                   \
    "  sums: { shape: [\"c(0, :)\", \"c(1, :)\"], dtype: int8 }\n"                                 \
    "  x: { shape: [\"c(0, 0) + 1\", \"c(0, 1) + 1\", \"c(1, 0) + 1\", \"c(1, 7) + 1\"], "         \
    "dtype: int8 }\n" TASK

static int changed(const fixture *f, const int64_t *sizes) {
    int count = 0;
    for (int i = 0; i < 4; i++)
        count += size_of(f, "x", i) != sizes[i];
    return count;
}

static void numbers_of_a_file_are_a_part_of_the_graph(void **state) {
    fixture *f = *state;
    static const char *const sets[] = {"counts=@c.yaml"};
    uint64_t hashes[2];
    write_file("a.yaml", "params:\n" COUNTS TASK);
    write_file("g.yaml", "tasks: [{ include: a.yaml }]\n");
    for (int i = 0; i < 2; i++) {
        write_file("c.yaml", i == 0 ? "1 2 3 4 5 6" : "1 2 3 4 5 7");
        assert_int_equal(load_sets(f, sets, 1), NPU_OK);
        hashes[i] = f->graph.hash;
    }
    assert_int_not_equal(hashes[0], hashes[1]);
}

// 20 draws of 3 of 8 places, for each of 2 rows: 60 in all, none more than 20.
static void a_table_is_drawn_from_a_seed(void **state) {
    fixture *f = *state;
    static const char *const other[] = {"seed=8"}, *const none[] = {"seed=0"};
    int64_t first[4];
    loads(f, DRAWN);
    assert_int_equal(size_of(f, "sums", 0), 60);
    assert_int_equal(size_of(f, "sums", 1), 60);
    for (int i = 0; i < 4; i++) {
        first[i] = size_of(f, "x", i);
        assert_in_range(first[i], 1, 21);
    }
    assert_int_equal(load_sets(f, NULL, 0), NPU_OK); // the same again
    assert_int_equal(changed(f, first), 0);
    assert_int_equal(load_sets(f, other, 1), NPU_OK);
    assert_true(changed(f, first) > 0);
    assert_int_equal(load_sets(f, none, 1), NPU_OK); // the expression's
    assert_int_equal(size_of(f, "sums", 0), 8);
}

// All ranks must see the same numbers.
static void a_draw_does_not_depend_on_the_rank(void **state) {
    fixture *f = *state;
    int64_t first[4];
    loads(f, "ranks: 2\n" DRAWN);
    for (int i = 0; i < 4; i++)
        first[i] = size_of(f, "x", i);
    npu_graph_options options = {".", NULL, 0, 1};
    npu_graph_free(&f->graph);
    assert_int_equal(npu_graph_load("g.yaml", &options, &f->graph, NULL, &f->err), NPU_OK);
    assert_int_equal(changed(f, first), 0);
}

static void what_is_wrong_with_a_table_is_said(void **state) {
    static const struct {
        const char *params, *message;
    } cases[] = {
        {"  c: { table: [2, 3], at: [i], value: 1 }\n",
         "g.yaml:2:27: `at` names the index of each of the 2 dimensions"},
        {"  c: { table: [0], at: [i], value: 1 }\n",
         "g.yaml:2:16: a table has 1 to 1048576 numbers"},
        {"  c: { table: [2, 2, 2, 2, 2], at: [i], value: 1 }\n",
         "g.yaml:2:15: a table has 1 to 4 dimensions, not 5"},
        {"  c: { table: [2], at: [i] }\n", "g.yaml:2:6: a table needs the key 'value'"},
        {"  c: { table: [2], at: [i], value: 1 // i }\n", "g.yaml:2:38: division by zero"},
        {"  c: { table: [2], at: [i], value: 1, draw: { seed: 1, times: 1, pick: 3 } }\n",
         "g.yaml:2:45: 1 draws of 3 different ones of 1 are not possible"},
        {"  c: { table: [2], at: [i], values: 1 }\n",
         "g.yaml:2:29: unknown key 'values' in a table; did you mean 'value'?"},
        {"  c: { table: [2], at: [i], value: 1 }\n  d: c + 1\n",
         "g.yaml:3:6: 'c' is a table and needs its indices"},
        {"  c: { table: [2], at: [i], value: 1 }\n  d: c(2)\n",
         "g.yaml:3:6: the index 2 is outside a table's dimension of 2"},
        {"  c: table\n", "g.yaml:2:3: the parameter 'c' must be given: --set c=.."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text, "params:\n%s" TASK, cases[i].params);
        refuses(*state, text, cases[i].message);
    }
}

static void a_number_is_no_table_and_a_table_no_number(void **state) {
    fixture *f = *state;
    write_file("a.yaml", "params: { c: table, n: 1 }\n" TASK);
    refuses(f, "params:\n  m: 2\ntasks: [{ include: a.yaml, with: { c: m } }]\n",
            "g.yaml:3:36: 'c' is a table, and is given a number");
    refuses(f, "params:\n" COUNTS "tasks: [{ include: a.yaml, with: { c: counts, n: counts } }]\n",
            "g.yaml:3:47: 'n' is a number, and is given a table");
    write_file("a.yaml", "params: { c: { table: [3, 2], at: [i, j], value: 0 } }\n" TASK);
    refuses(f, "params:\n" COUNTS "tasks: [{ include: a.yaml, with: { c: counts } }]\n",
            "g.yaml:3:36: 'c' is a table of another size");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_table_has_a_value_for_each_index),
        TEST(a_loop_may_go_as_far_as_a_table_says),
        TEST(a_table_is_given_to_includes_and_kernels),
        TEST(a_table_comes_from_a_file),
        TEST(numbers_of_a_file_are_a_part_of_the_graph),
        TEST(a_table_is_drawn_from_a_seed),
        TEST(a_draw_does_not_depend_on_the_rank),
        TEST(what_is_wrong_with_a_table_is_said),
        TEST(a_number_is_no_table_and_a_table_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
