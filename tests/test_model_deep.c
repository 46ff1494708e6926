// SPDX-License-Identifier: Apache-2.0
// The analyses of `npusim check --deep`, on graphs small enough to see the answer.
#include "test_model.h"

#include <time.h>

#include "early.h"
#include "false_edges.h"
#include "races.h"
#include "redundant.h"

static const npu_walls walls = {.buffer = {[NPU_UB] = 196352},
                                .align = {[NPU_UB] = 32},
                                .min_alloc = 32,
                                .line = 512,
                                .clusters = 24};

static npu_order order_of(const npu_graph *graph) {
    npu_order order = {0};
    npu_error err = {0};
    assert_int_equal(npu_order_make(graph, &order, &err), NPU_OK);
    return order;
}

// "a>b c>d": the tasks of each edge that was found.
static void assert_redundant(const npu_graph *graph, const char *expected, int pairs) {
    npu_order order = order_of(graph);
    npu_redundant r = {0};
    npu_error err = {0};
    char text[256] = "";
    assert_int_equal(npu_redundant_find(graph, &order, &r, &err), NPU_OK);
    for (int i = 0; i < r.count; i++) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%s%s>%s", n > 0 ? " " : "",
                 graph->tasks[r.items[i].pred].name, graph->tasks[r.items[i].succ].name);
        assert_int_equal(graph->edges[r.items[i].edge].pred, r.items[i].pred);
        assert_int_equal(graph->edges[r.items[i].edge].succ, r.items[i].succ);
        assert_true(npu_is_redundant(graph, &order, r.items[i].pred, r.items[i].succ));
    }
    assert_string_equal(text, expected);
    assert_int_equal(r.pairs, pairs);
    npu_redundant_free(&r);
    npu_order_free(&order);
}

static const char *const scratch = "tensors:\n"
                                   "  t: { shape: [64], dtype: fp32 }\n"
                                   "  u: { shape: [64], dtype: fp32 }\n"
                                   "  e: { shape: [8, 8], dtype: fp32, external: true }\n"
                                   "  flat: { view: { of: e, reshape: [64] } }\n";

static const npu_graph *loads_tasks(fixture *f, const char *tasks) {
    char text[8192];
    snprintf(text, sizeof text, "%s%stasks:\n%s", KERNELS, scratch, tasks);
    return loads(f, text);
}

static void an_edge_with_another_way_is_redundant(void **state) {
    // a -> b -> c -> d by `after`; a -> c has the way a, b, c; a -> d and b -> d have ways too.
    const npu_graph *graph = loads_tasks(*state, "  - { dummy: a }\n"
                                                 "  - { dummy: b, after: a }\n"
                                                 "  - { dummy: c, after: [a, b] }\n"
                                                 "  - { dummy: d, after: [c, b, a] }\n");
    assert_redundant(graph, "a>c a>d b>d", 6);
}

static void a_diamond_has_no_redundant_edge(void **state) {
    const npu_graph *graph = loads_tasks(*state, "  - { dummy: a }\n"
                                                 "  - { dummy: b, after: a }\n"
                                                 "  - { dummy: c, after: a }\n"
                                                 "  - { dummy: d, after: [b, c] }\n");
    assert_redundant(graph, "", 4);
}

static void several_edges_of_a_pair_are_one(void **state) {
    // t is created by a and added to by b: c waits for both, and for the creator through b. The
    // `after` repeats the edge by memory.
    const npu_graph *graph =
        loads_tasks(*state, "  - { task: a, kernel: gen, y: t }\n"
                            "  - { task: b, kernel: add, y: t }\n"
                            "  - { task: c, kernel: use, x: t, y: u, after: [a, b] }\n");
    assert_int_equal(graph->edge_count, 5); // a>b creator; a>c, b>c explicit, creator, tensormap
    assert_redundant(graph, "a>c", 3);
}

// "first>second" of each race.
static void assert_races(const npu_graph *graph, const char *expected) {
    npu_order order = order_of(graph);
    npu_races r;
    npu_error err = {0};
    char text[256] = "";
    assert_int_equal(npu_races_find(graph, &order, &walls, &r, &err), NPU_OK);
    for (int i = 0; i < r.count; i++) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%s%s>%s", n > 0 ? " " : "",
                 graph->tasks[r.items[i].first].name, graph->tasks[r.items[i].second].name);
    }
    assert_string_equal(text, expected);
    assert_true(r.complete);
    npu_races_free(&r);
    npu_order_free(&order);
}

static void a_write_after_a_read_is_a_race(void **state) {
    // w writes what r0 and r1 read and waits for neither; r1 is before it by `after`.
    assert_races(loads_tasks(*state,
                             "  - { task: r0, kernel: read, x: \"e[0 : 4, :]\" }\n"
                             "  - { task: r1, kernel: read, x: \"e[0 : 4, :]\" }\n"
                             "  - { task: r2, kernel: read, x: \"e[4 : 4, :]\" }\n"
                             "  - { task: w, kernel: put, y: \"e[0 : 4, :]\", after: r1 }\n"),
                 "r0>w");
}

static void every_race_is_listed(void **state) {
    // The check before a run says it once per kind; here each pair stands.
    assert_races(loads_tasks(*state, "  - for: i in 0..3\n"
                                     "    do: [{ task: \"r[i]\", kernel: read, x: e }]\n"
                                     "  - { task: w, kernel: put, y: e }\n"),
                 "r[2]>w r[1]>w r[0]>w");
}

static void two_writers_in_no_order_are_a_race(void **state) {
    assert_races(loads_tasks(*state, "  - { task: w, kernel: put, y: e }\n"
                                     "  - { task: v, kernel: put, y: e }\n"
                                     "  - { task: r, kernel: read, x: e }\n"),
                 "w>v");
}

typedef struct one_false {
    const char *text; // "pred>succ"
    bool in_graph, ordered;
} one_false;

static void finds_false(const npu_graph *graph, const one_false *expected, int count) {
    npu_order order = order_of(graph);
    npu_false_edges f;
    npu_error err = {0};
    assert_int_equal(npu_false_edges_find(graph, &order, &f, &err), NPU_OK);
    assert_int_equal(f.count, count);
    for (int i = 0; i < count; i++) {
        char text[128];
        snprintf(text, sizeof text, "%s>%s", graph->tasks[f.items[i].pred].name,
                 graph->tasks[f.items[i].succ].name);
        assert_string_equal(text, expected[i].text);
        assert_int_equal(f.items[i].in_graph, expected[i].in_graph);
        assert_int_equal(f.items[i].ordered, expected[i].ordered);
    }
    assert_true(f.complete);
    assert_int_equal(f.undecided, 0);
    npu_false_edges_free(&f);
    npu_order_free(&order);
}

static void the_runtime_waits_where_ranks_differ(void **state) {
    // w writes columns 0..3 of all rows (rank 2), r reads column 4 (rank 1, stride 8): disjoint,
    // but within the extent of w, elements 0 to 59. c reads columns 4..7 with rank 2: compared
    // exactly. l reads the last element, 63, beyond the extent. The graph has none of these edges.
    finds_false(loads_tasks(*state, "  - { task: w, kernel: put, y: \"e[:, 0 : 4]\" }\n"
                                    "  - { task: r, kernel: read, x: \"e[:, 4]\" }\n"
                                    "  - { task: c, kernel: read, x: \"e[:, 4 : 4]\" }\n"
                                    "  - { task: l, kernel: read, x: \"flat[63 : 1]\" }\n"),
                (const one_false[]){{"w>r", false, false}}, 1);
}

static void a_false_edge_costs_nothing_where_an_order_exists(void **state) {
    finds_false(loads_tasks(*state, "  - { task: w, kernel: put, y: \"e[:, 0 : 4]\" }\n"
                                    "  - { task: r, kernel: read, x: \"e[:, 4]\", after: w }\n"),
                (const one_false[]){{"w>r", false, true}}, 1);
}

static void an_edge_of_extents_may_be_false(void **state) {
    // The graph compares boxes in one grid of strides. Two rows of 3 elements, 8 apart, from
    // element 6 on run over the end of their line: {6,7,8} and {14,15,16}; no box. A read of
    // {9..13} is within the extent 6..16 and meets none of them; {12..16} does, at 14.
    const char *tasks = "  - { task: w, kernel: put, y: over }\n"
                        "  - { task: r, kernel: read, x: \"flat[9 : 5]\" }\n"
                        "  - { task: q, kernel: read, x: \"flat[12 : 5]\" }\n"
                        "  - { task: s, kernel: read, x: \"flat[9 : 5]\", after: [w, r, q] }\n";
    char text[8192];
    snprintf(text, sizeof text,
             "%s%s"
             "  tail: { view: \"flat[6 : 16]\" }\n"
             "  pair: { view: { of: tail, reshape: [2, 8] } }\n"
             "  over: { view: \"pair[:, 0 : 3]\" }\n"
             "tasks:\n%s",
             KERNELS, scratch, tasks);
    const npu_graph *graph = loads(*state, text);
    assert_int_equal(task_of(graph, "r")->edge_count, 1);
    finds_false(graph, (const one_false[]){{"w>r", true, false}, {"w>s", true, true}}, 2);
}

static void a_sibling_without_the_flag_makes_flags_useless(void **state) {
    // a and b are flagged, n is not. x waits for a and n: a's flag does nothing there. y waits for
    // b alone and may be staged. z is a dummy: never staged.
    const npu_graph *graph =
        loads_tasks(*state, "  - { task: a, kernel: gen, y: t, early: true }\n"
                            "  - { task: b, kernel: gen, y: u, early: true }\n"
                            "  - { dummy: n }\n"
                            "  - { task: x, kernel: read, x: t, after: n }\n"
                            "  - { task: y, kernel: read, x: u }\n"
                            "  - { dummy: z, after: [b] }\n"
                            "  - { task: last, kernel: read, x: e, early: true }\n");
    npu_order order = order_of(graph);
    npu_flags flags;
    npu_error err = {0};
    assert_int_equal(npu_flags_find(graph, &order, &flags, &err), NPU_OK);
    assert_int_equal(flags.count, 3);
    assert_int_equal(flags.useless, 2);
    const npu_flag_use *a = &flags.items[0], *b = &flags.items[1], *last = &flags.items[2];
    assert_string_equal(graph->tasks[a->task].name, "a");
    assert_int_equal(a->consumers, 1);
    assert_int_equal(a->staged, 0);
    assert_string_equal(graph->tasks[a->sibling].name, "n");
    assert_string_equal(graph->tasks[a->consumer].name, "x");
    assert_false(a->by_redundant);
    assert_int_equal(b->consumers, 2);
    assert_int_equal(b->staged, 1);
    assert_int_equal(b->cohorts, 1);
    assert_int_equal(b->sibling, -1);
    assert_int_equal(last->consumers, 0);
    assert_int_equal(last->staged, 0);
    npu_flags_free(&flags);
    npu_order_free(&order);
}

static void a_redundant_edge_can_spoil_a_flag(void **state) {
    // n -> a -> x, and n -> x besides: without that edge x would wait for flagged tasks only.
    const npu_graph *graph =
        loads_tasks(*state, "  - { dummy: n }\n"
                            "  - { task: a, kernel: gen, y: t, early: true, after: n }\n"
                            "  - { task: x, kernel: read, x: t, after: n }\n");
    npu_order order = order_of(graph);
    npu_flags flags;
    npu_error err = {0};
    assert_int_equal(npu_flags_find(graph, &order, &flags, &err), NPU_OK);
    assert_int_equal(flags.count, 1);
    assert_int_equal(flags.useless, 1);
    assert_true(flags.items[0].by_redundant);
    npu_flags_free(&flags);
    npu_order_free(&order);
}

// 1,000 layers of 8 tasks: each waits for 5 of the layer before, so 7,999 x 5 edges but for the
// first layer; each reads one region that all write.
static void large_graphs_take_seconds_at_most(void **state) {
    const npu_graph *graph = loads_tasks(
        *state, "  - for: i in 0..8\n"
                "    do: [{ task: \"t[0, i]\", kernel: read, x: \"e[:, i]\" }]\n"
                "  - for: l in 1..1000\n"
                "    do:\n"
                "      - for: i in 0..8\n"
                "        do:\n"
                "          - task: \"t[l, i]\"\n"
                "            kernel: read\n"
                "            x: { tensor: \"e[:, i]\", access: inout }\n"
                "            after: [\"t[l - 1, i]\", \"t[l - 1, (i + 1) % 8]\", \"t[l - 1, (i + "
                "2) % 8]\", \"t[l - 1, (i + 3) % 8]\", \"t[l - 1, (i + 4) % 8]\"]\n");
    assert_int_equal(graph->task_count, 8000);
    assert_true(graph->edge_count >= 999 * 8 * 5);
    npu_error err = {0};
    clock_t begin = clock();
    npu_order order = order_of(graph);
    npu_redundant redundant;
    npu_races races;
    npu_false_edges false_edges;
    npu_flags flags;
    assert_int_equal(npu_redundant_find(graph, &order, &redundant, &err), NPU_OK);
    assert_int_equal(npu_races_find(graph, &order, &walls, &races, &err), NPU_OK);
    assert_int_equal(npu_false_edges_find(graph, &order, &false_edges, &err), NPU_OK);
    assert_int_equal(npu_flags_find(graph, &order, &flags, &err), NPU_OK);
    assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 20);
    assert_int_equal(redundant.count, 0); // layers follow each other: no way around an edge
    assert_int_equal(races.count, 0);
    npu_redundant_free(&redundant);
    npu_races_free(&races);
    npu_false_edges_free(&false_edges);
    npu_flags_free(&flags);
    npu_order_free(&order);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_edge_with_another_way_is_redundant, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_diamond_has_no_redundant_edge, set_up, tear_down),
        cmocka_unit_test_setup_teardown(several_edges_of_a_pair_are_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_write_after_a_read_is_a_race, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_race_is_listed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(two_writers_in_no_order_are_a_race, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_runtime_waits_where_ranks_differ, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_false_edge_costs_nothing_where_an_order_exists, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_edge_of_extents_may_be_false, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_sibling_without_the_flag_makes_flags_useless, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_redundant_edge_can_spoil_a_flag, set_up, tear_down),
        cmocka_unit_test_setup_teardown(large_graphs_take_seconds_at_most, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
