// SPDX-License-Identifier: Apache-2.0
// Edges by hand: what the runtime's orchestrator would find.
#include "test_model.h"

#define TENSORS                                                                                    \
    "tensors: { x: { shape: [8, 64], dtype: fp32 }, z: { shape: [8, 64], dtype: fp32 } }\n"
#define TASKS "tasks:\n"

// The edges into a task: "a!" explicit, "a^" creator, "a~" tensor map, "a~c" covered; in the
// order of the graph.
static void edges_are(const npu_graph *graph, const char *task, const char *expected) {
    const npu_task *t = task_of(graph, task);
    char text[512] = "";
    for (int e = t->first_edge; e < t->first_edge + t->edge_count; e++) {
        const npu_edge *edge = &graph->edges[e];
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s%c%s", used > 0 ? " " : "",
                 graph->tasks[edge->pred].name, "!^~"[edge->source], edge -> covered ? "c" : "");
    }
    assert_string_equal(text, expected);
}

static void a_reader_waits_for_the_creator(void **state) {
    const npu_graph *g =
        loads(*state, KERNELS TENSORS TASKS "  - { task: a, kernel: gen, y: x }\n"
                                            "  - { task: b, kernel: use, x: x, y: z }\n"
                                            "  - { task: c, kernel: read, x: z }\n");
    edges_are(g, "a", "");
    edges_are(g, "b", "a^");
    edges_are(g, "c", "b^");
    const npu_edge *edge = &g->edges[task_of(g, "c")->first_edge];
    assert_int_equal(edge->arg, 0);
    assert_int_equal(edge->producer_arg, 1);
}

static void writers_add_to_the_creator(void **state) {
    const npu_graph *g =
        loads(*state, KERNELS TENSORS TASKS "  - { task: seed, kernel: gen, y: x }\n"
                                            "  - { task: mm, kernel: add, y: x }\n"
                                            "  - { task: norm, kernel: read, x: x }\n");
    edges_are(g, "mm", "seed^");
    edges_are(g, "norm", "seed^ mm~c");
}

static void reads_are_not_tracked(void **state) {
    const npu_graph *g =
        loads(*state, KERNELS "tensors: { x: { shape: [8], dtype: fp32, class: cache } }\n" TASKS
                              "  - { task: r, kernel: read, x: x }\n"
                              "  - { task: w, kernel: put, y: x }\n"
                              "  - { task: w2, kernel: put, y: x }\n"
                              "  - { task: r2, kernel: read, x: x }\n");
    edges_are(g, "w", "");
    edges_are(g, "w2", ""); // a pure write does not wait for another one either
    edges_are(g, "r2", "w~c w2~c");
}

static void an_inout_that_covers_ends_an_entry(void **state) {
    const npu_graph *g = loads(
        *state, KERNELS "tensors: { x: { shape: [8, 64], dtype: fp32, external: true } }\n" TASKS
                        "  - { task: w1, kernel: put, y: \"x[:, 0 : 32]\" }\n"
                        "  - { task: w2, kernel: put, y: \"x[:, 32 : 32]\" }\n"
                        "  - { task: part, kernel: add, y: \"x[0 : 4, :]\" }\n"
                        "  - { task: left, kernel: add, y: \"x[:, 0 : 32]\" }\n"
                        "  - { task: all, kernel: read, x: x }\n");
    edges_are(g, "part", "w1~ w2~");
    edges_are(g, "left", "w1~c part~"); // w2 is beside it, part sticks out
    edges_are(g, "all", "w2~c part~c left~c");
}

static void windows_side_by_side_do_not_meet(void **state) {
    const npu_graph *g =
        loads(*state, KERNELS "tensors: { x: { shape: [8, 64], dtype: fp32 }, z: { shape: [8, 64], "
                              "dtype: fp32 } }\n" TASKS "  - for: g in 0..4\n"
                              "    do:\n"
                              "      - { task: \"w[g]\", kernel: gen, y: \"x[:, g * 16 : 16]\" }\n"
                              "  - for: g in 0..4\n"
                              "    do:\n"
                              "      - { task: \"r[g]\", kernel: read, x: \"x[:, g * 16 : 16]\" }\n"
                              "  - { task: two, kernel: read, x: \"x[2, 8 : 16]\" }\n");
    edges_are(g, "w[3]", "");
    edges_are(g, "r[0]", "w[0]~c");
    edges_are(g, "r[3]", "w[3]~c");
    edges_are(g, "two", "w[0]~ w[1]~");
    // An OUT of a part cannot be the allocation of the whole.
    assert_int_equal(g->args[task_of(g, "w[0]")->first_arg].access, NPU_OUT_EXISTING);
}

static void only_the_first_whole_out_creates(void **state) {
    const npu_graph *g =
        loads(*state, KERNELS TENSORS TASKS "  - { task: a, kernel: gen, y: x }\n"
                                            "  - { task: b, kernel: gen, y: x }\n"
                                            "  - { task: c, kernel: read, x: x }\n");
    edges_are(g, "b", "a^");
    edges_are(g, "c", "a^ b~c");
    assert_int_equal(g->args[task_of(g, "a")->first_arg].access, NPU_OUT);
    assert_int_equal(g->args[task_of(g, "b")->first_arg].access, NPU_OUT_EXISTING);
}

static void an_external_tensor_has_no_creator(void **state) {
    const npu_graph *g =
        loads(*state, KERNELS "tensors: { x: { shape: [8], dtype: fp32, init: zero } }\n" TASKS
                              "  - { task: a, kernel: gen, y: x }\n"
                              "  - { task: b, kernel: read, x: x }\n");
    edges_are(g, "b", "a~c");
}

static void no_dep_is_never_a_cause(void **state) {
    const npu_graph *g = loads(*state, KERNELS TENSORS TASKS
                               "  - { task: a, kernel: gen, y: x }\n"
                               "  - { task: b, kernel: peek, x: x }\n"
                               "  - { task: c, kernel: read, x: { tensor: x, access: no_dep } }\n"
                               "  - { task: d, kernel: add, y: { tensor: x, access: no_dep } }\n"
                               "  - { task: e, kernel: read, x: x }\n");
    edges_are(g, "b", "");
    edges_are(g, "c", "");
    edges_are(g, "d", "");
    edges_are(g, "e", "a^");
}

static void an_access_can_be_changed_to_make_an_edge(void **state) {
    const npu_graph *g =
        loads(*state, KERNELS "tensors: { x: { shape: [8], dtype: fp32, class: cache } }\n" TASKS
                              "  - { task: touch, kernel: read, x: { tensor: x, access: inout } }\n"
                              "  - { task: next, kernel: read, x: x }\n");
    edges_are(g, "next", "touch~c");
}

static void a_manual_scope_has_no_edges_by_memory(void **state) {
    const npu_graph *g = loads(*state, KERNELS TENSORS TASKS
                               "  - { task: a, kernel: gen, y: x }\n"
                               "  - scope: manual\n"
                               "    do:\n"
                               "      - { task: b, kernel: add, y: x }\n"
                               "      - { task: c, kernel: use, x: x, y: z, after: b }\n"
                               "      - { task: d, kernel: read, x: x, edges: auto }\n"
                               "  - { task: e, kernel: read, x: x }\n"
                               "  - { task: f, kernel: read, x: z }\n"
                               "  - { task: g, kernel: read, x: z, edges: manual }\n");
    edges_are(g, "b", "");
    edges_are(g, "c", "b!");
    edges_are(g, "d", "a^");
    edges_are(g, "e", "a^"); // what b writes is unknown to the map
    edges_are(g, "f", "c^"); // but an allocation is known
    edges_are(g, "g", "");
    assert_true(task_of(g, "b")->manual);
    assert_false(task_of(g, "d")->manual);
}

static void explicit_edges_name_tasks_and_families(void **state) {
    const npu_graph *g =
        loads(*state, KERNELS TASKS "  - for: g in 0..3\n"
                                    "    do:\n"
                                    "      - { dummy: \"p[g]\" }\n"
                                    "  - { dummy: one, after: [\"p[1]\"] }\n"
                                    "  - { dummy: all, after: [p, one] }\n"
                                    "  - { dummy: star, after: \"p[*]\" }\n"
                                    "  - { dummy: twice, after: [one, \"p[0]\", p, one] }\n");
    edges_are(g, "one", "p[1]!");
    edges_are(g, "all", "p[0]! p[1]! p[2]! one!");
    edges_are(g, "star", "p[0]! p[1]! p[2]!");
    edges_are(g, "twice", "p[0]! p[1]! p[2]! one!");
    const npu_edge *edge = &g->edges[task_of(g, "one")->first_edge];
    assert_int_equal(edge->arg, -1);
    assert_int_equal(edge->producer_arg, -1);
}

static void edges_are_sorted_and_may_join_one_pair(void **state) {
    const npu_graph *g = loads(*state, KERNELS TENSORS TASKS
                               "  - { task: a, kernel: gen, y: x }\n"
                               "  - { task: b, kernel: gen, y: z }\n"
                               "  - { task: c, kernel: use, x: z, y: x, after: [b, a] }\n");
    edges_are(g, "c", "a! a^ b! b^");
}

static void views_share_the_memory_of_what_they_show(void **state) {
    const npu_graph *g =
        loads(*state, KERNELS "tensors:\n"
                              "  q: { shape: [8, 64, 4], dtype: bf16 }\n"
                              "  flat: { view: { of: q, reshape: [8, 256] } }\n"
                              "  half: { view: \"q[:, 32 : 32, :]\" }\n" TASKS
                              "  - { task: a, kernel: gen, y: flat }\n"
                              "  - { task: b, kernel: add, y: half }\n"
                              "  - { task: c, kernel: read, x: \"flat[:, 0 : 128]\" }\n"
                              "  - { task: d, kernel: read, x: \"flat[:, 0 : 129]\" }\n");
    edges_are(g, "b", "a^");
    edges_are(g, "c", "a^");
    edges_are(g, "d", "a^ b~");
}

static void a_read_without_a_writer_is_a_warning(void **state) {
    fixture *f = *state;
    loads(f, KERNELS TENSORS TASKS "  - { task: a, kernel: use, x: x, y: z }\n");
    assert_int_equal(f->warnings.count, 1);
    assert_string_equal(f->warnings.lines[0],
                        "g.yaml:11:32: task 'a' reads 'x', which no task before it writes; if it "
                        "exists before the run, say `external: true`");
}

static void one_task_may_use_a_tensor_twice(void **state) {
    const npu_graph *g =
        loads(*state, KERNELS TENSORS TASKS "  - { task: a, kernel: gen, y: x }\n"
                                            "  - { task: b, kernel: use, x: x, y: x }\n"
                                            "  - { task: c, kernel: read, x: x }\n");
    edges_are(g, "b", "a^ a^");
    edges_are(g, "c", "a^ b~c");
}

// The o-projection of a decode layer: two seeds of edges, loops and a join.
static void the_output_projection_has_its_edges(void **state) {
    fixture *f = *state;
    npu_graph_options options = {NULL, NULL, 0, 0};
    npu_status status = npu_graph_load(NPUSIM_SOURCE "/tests/data/graphs/oproj.yaml", &options,
                                       &f->graph, &f->warnings, &f->err);
    assert_string_equal(f->err.text, "");
    assert_int_equal(status, NPU_OK);
    const npu_graph *g = &f->graph;
    assert_int_equal(g->task_count, 1 + 3 * 8 + 2);
    edges_are(g, "proj_a_mm[5]", "merge_norm!");
    edges_are(g, "quant[5]", "proj_a_mm[5]!");
    edges_are(g, "proj_b_mm[5]", "quant[5]!");
    edges_are(g, "proj_b_act",
              "proj_b_mm[0]! proj_b_mm[1]! proj_b_mm[2]! proj_b_mm[3]! "
              "proj_b_mm[4]! proj_b_mm[5]! proj_b_mm[6]! proj_b_mm[7]!");
    edges_are(g, "hc_post", "proj_b_act^");
    assert_int_equal(f->warnings.count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_reader_waits_for_the_creator, set_up, tear_down),
        cmocka_unit_test_setup_teardown(writers_add_to_the_creator, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_are_not_tracked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_inout_that_covers_ends_an_entry, set_up, tear_down),
        cmocka_unit_test_setup_teardown(windows_side_by_side_do_not_meet, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_the_first_whole_out_creates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_external_tensor_has_no_creator, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_dep_is_never_a_cause, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_access_can_be_changed_to_make_an_edge, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_manual_scope_has_no_edges_by_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(explicit_edges_name_tasks_and_families, set_up, tear_down),
        cmocka_unit_test_setup_teardown(edges_are_sorted_and_may_join_one_pair, set_up, tear_down),
        cmocka_unit_test_setup_teardown(views_share_the_memory_of_what_they_show, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_read_without_a_writer_is_a_warning, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_task_may_use_a_tensor_twice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_output_projection_has_its_edges, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
