// SPDX-License-Identifier: Apache-2.0
// What a graph says of the orchestrator: scopes, values read back, predicates, and how it runs.
#include "test_model.h"

#define TASKS "tasks:\n"

static void scopes_are(const npu_graph *g, const int (*want)[4], int count) {
    assert_int_equal(g->scope_count, count);
    for (int i = 0; i < count; i++) {
        assert_int_equal(g->scopes[i].parent, want[i][0]);
        assert_int_equal(g->scopes[i].depth, want[i][1]);
        assert_int_equal(g->scopes[i].first, want[i][2]);
        assert_int_equal(g->scopes[i].end, want[i][3]);
    }
}

static void the_graph_itself_is_a_scope(void **state) {
    static const int want[][4] = {{-1, 0, 0, 1}};
    const npu_graph *g = loads(*state, "tasks: [{ dummy: a }]\n");
    scopes_are(g, want, 1);
    assert_int_equal(g->tasks[0].scope, 0);
    assert_int_equal(g->runtime, NPU_RUNTIME_TENSORMAP);
    assert_int_equal(g->policy, NPU_POLICY_SHIPPED);
    assert_false(g->waves);
}

static void scopes_nest_also_in_loops_and_includes(void **state) {
    static const int want[][4] = {{-1, 0, 0, 7}, {0, 1, 1, 3}, {1, 2, 2, 3},
                                  {0, 1, 3, 5},  {3, 2, 4, 5}, {0, 1, 5, 6}};
    write_file("a.yaml", "tasks: [{ dummy: e }]\n");
    const npu_graph *g = loads(*state, TASKS "  - { dummy: a }\n"
                                             "  - for: i in 0..2\n"
                                             "    do:\n"
                                             "      - scope: auto\n"
                                             "        do:\n"
                                             "          - { dummy: \"b[i]\" }\n"
                                             "          - scope: manual\n"
                                             "            do: [{ dummy: \"c[i]\" }]\n"
                                             "  - { scope: auto, do: [{ include: a.yaml }] }\n"
                                             "  - { dummy: f }\n");
    scopes_are(g, want, 6);
    assert_int_equal(task_of(g, "c[1]")->scope, 4);
    assert_int_equal(task_of(g, "e")->scope, 5);
    assert_int_equal(task_of(g, "f")->scope, 0);
    assert_true(task_of(g, "c[0]")->manual);
    assert_false(task_of(g, "b[0]")->manual);
    assert_int_equal(g->scopes[2].pos.line, 8);
}

// Files of 25, 25 and `last` scopes, each inside the one before.
static void write_nested(int last) {
    static const char *const names[] = {"g.yaml", "a.yaml", "b.yaml"};
    static const char *const inside[] = {"{ include: a.yaml }", "{ include: b.yaml }",
                                         "{ dummy: a }"};
    for (int file = 0; file < 3; file++) {
        FILE *out = fopen(names[file], "w");
        assert_non_null(out);
        int depth = file < 2 ? 25 : last;
        fputs("tasks: [", out);
        for (int i = 0; i < depth; i++)
            fputs("{ scope: auto, do: [", out);
        fputs(inside[file], out);
        for (int i = 0; i < depth; i++)
            fputs("] }", out);
        fputs("]\n", out);
        assert_int_equal(fclose(out), 0);
    }
}

static void scopes_nest_as_deep_as_the_runtime_has_them(void **state) {
    fixture *f = *state;
    write_nested(13);
    assert_int_equal(load_sets(f, NULL, 0), NPU_OK);
    assert_int_equal(f->graph.scopes[f->graph.tasks[0].scope].depth, 63);
    write_nested(14);
    assert_int_equal(load_sets(f, NULL, 0), NPU_BAD_INPUT);
    assert_string_equal(f->err.text, "b.yaml:1:269: scopes are nested deeper than 63");
}

static void values_are_read_back_where_it_says_so(void **state) {
    const npu_graph *g = loads(*state, TASKS "  - { dummy: a }\n"
                                             "  - { dummy: \"b[0]\" }\n"
                                             "  - { dummy: \"b[1]\" }\n"
                                             "  - { read_back: \"b[1]\" }\n"
                                             "  - { dummy: c }\n"
                                             "  - { read_back: b }\n");
    static const int want[][2] = {{3, 2}, {4, 1}, {4, 2}};
    assert_int_equal(g->read_back_count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(g->read_backs[i].before, want[i][0]);
        assert_int_equal(g->read_backs[i].task, want[i][1]);
    }
    assert_int_equal(g->read_backs[0].pos.line, 5);
}

static void a_predicate_is_known_with_its_answer(void **state) {
    const npu_graph *g = loads(*state, KERNELS "params: { hot: 3 }\n"
                                               "tensors: { x: { shape: [8], dtype: fp32 } }\n" TASKS
                                               "  - { task: a, kernel: gen, y: x }\n"
                                               "  - { task: b, kernel: put, y: x, when: hot < 3 }\n"
                                               "  - { task: c, kernel: put, y: x, when: true }\n");
    assert_false(task_of(g, "a")->predicated || task_of(g, "a")->skipped);
    assert_true(task_of(g, "b")->predicated && task_of(g, "b")->skipped);
    assert_true(task_of(g, "c")->predicated && !task_of(g, "c")->skipped);
    assert_non_null(task_of(g, "b")->program);
}

static void how_it_runs_is_said_once(void **state) {
    const npu_graph *g = loads(*state, "runtime: host\npolicy: critical_path\nwaves: 2 > 1\n"
                                       "tasks: [{ dummy: a }]\n");
    assert_int_equal(g->runtime, NPU_RUNTIME_HOST);
    assert_int_equal(g->policy, NPU_POLICY_CRITICAL_PATH);
    assert_true(g->waves);
}

static void how_it_runs_can_be_set(void **state) {
    static const char *const sets[] = {"runtime=host", "n=3", "policy=idle_first", "waves=n > 2"};
    static const char *const wrong[] = {"policy=best"};
    fixture *f = *state;
    write_file("g.yaml", "params: { n: 1 }\npolicy: critical_path\ntasks: [{ dummy: a }]\n");
    assert_int_equal(load_sets(f, NULL, 0), NPU_OK);
    uint64_t hash = f->graph.hash;
    assert_int_equal(load_sets(f, sets, 4), NPU_OK);
    assert_int_equal(f->graph.runtime, NPU_RUNTIME_HOST);
    assert_int_equal(f->graph.policy, NPU_POLICY_IDLE_FIRST);
    assert_true(f->graph.waves);
    assert_true(f->graph.hash != hash);
    assert_int_equal(load_sets(f, wrong, 1), NPU_BAD_INPUT);
    assert_string_equal(f->err.text, "--set policy=best: unknown policy 'best'; there are shipped, "
                                     "idle_first, least_loaded, critical_path, calendar");
    // A parameter of that name is what is meant.
    write_file("g.yaml", "params: { waves: 0 }\ntasks: [{ if: waves, do: [{ dummy: a }] }, "
                         "{ dummy: b }]\n");
    static const char *const param[] = {"waves=1"};
    assert_int_equal(load_sets(f, param, 1), NPU_OK);
    assert_int_equal(f->graph.task_count, 2);
    assert_false(f->graph.waves);
}

static void what_cannot_be_is_told(void **state) {
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"runtime: device\ntasks: [{ dummy: a }]\n",
         "g.yaml:1:10: unknown runtime 'device'; there are tensormap, host"},
        {"policy: best\ntasks: [{ dummy: a }]\n",
         "g.yaml:1:9: unknown policy 'best'; there are shipped, idle_first, least_loaded, "
         "critical_path, calendar"},
        {"waves: yes\ntasks: [{ dummy: a }]\n",
         "g.yaml:1:8: waves must be true, false or an expression, not 'yes'; did you mean 'true'?"},
        {"policy: calendar\nwaves: true\ntasks: [{ dummy: a }]\n",
         "g.yaml:2:8: a calendar has no waves: it says for each block where it goes"},
        {"dispatch: operator\npolicy: shipped\ntasks: [{ dummy: a }]\n",
         "g.yaml:2:9: operators (dispatch: operator) are launched without the AICPU: there is no "
         "runtime, policy, waves or read_back"},
        {"dispatch: operator\ntasks: [{ dummy: a }, { read_back: a }]\n",
         "g.yaml:2:36: operators (dispatch: operator) are launched without the AICPU: there is no "
         "runtime, policy, waves or read_back"},
        {"runtime: host\ntasks: [{ dummy: a }, { read_back: a }]\n",
         "g.yaml:2:36: the host builds this graph before it runs (runtime: host), so no value can "
         "be read back"},
        {"tasks: [{ dummy: norm }, { read_back: nrom }]\n",
         "g.yaml:1:39: unknown task 'nrom' in read_back; did you mean 'norm'?"},
        {"tasks: [{ read_back: a }, { dummy: a }]\n", "g.yaml:1:22: unknown task 'a' in read_back"},
        {"tasks: [{ dummy: a }, { read_back: [a] }]\n",
         "g.yaml:1:36: read_back must be a single value"},
        {"tasks: [{ dummy: a }, { read_back: a, cost: 3 }]\n",
         "g.yaml:1:39: unknown key 'cost' in a read_back"},
        {"tasks: [{ dummy: a, when: false }]\n", "g.yaml:1:21: unknown key 'when' in a dummy task"},
        {KERNELS "tasks: [{ task: a, kernel: gen, y: x, when: maybe }]\n",
         "g.yaml:9:45: when must be true, false or an expression, not 'maybe'"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuses(*state, wrong[i].text, wrong[i].message);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_graph_itself_is_a_scope, set_up, tear_down),
        cmocka_unit_test_setup_teardown(scopes_nest_also_in_loops_and_includes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(scopes_nest_as_deep_as_the_runtime_has_them, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(values_are_read_back_where_it_says_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_predicate_is_known_with_its_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(how_it_runs_is_said_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(how_it_runs_can_be_set, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_is_told, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
