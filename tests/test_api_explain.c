// SPDX-License-Identifier: Apache-2.0
// explain and compare on a die where dispatch takes next to nothing: a submit is 100 ns, a scalar
// instruction 1 ns, threads poll every 0.1 ns. So times are sums, to within a few polls.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "npusim.h"

#define CONFIGS NPUSIM_SOURCE "/configs"

static const char *const die_text =
    "extends: " CONFIGS "/die/A3.yaml\n"
    "name: plain\n"
    "clock: 1GHz\n"
    "scalar: { issue: 0cyc, op: 1cyc }\n"
    "aicpu: { submit: 100ns, submit_arg: 0ns, poll: 0.1ns, idle: 0.1ns, payload: 0ns, write: 0ns,\n"
    "  barrier: 0ns, propagation: 0ns, retire: 0ns, resolve: 0ns, resolve_edge: 0ns, pop: 0ns,\n"
    "  setup: 0ns, setup_args: 0ns, cold: 0ns, fin: 0ns, fin_visible: 0ns }\n";

// a takes 1000 ns, b after it 500 n, and c beside them 200.
static const char *const graph_text =
    "params: { n: 1 }\n"
    "kernels:\n"
    "  a: { engine: aic, args: { y: out }, program: [{ scalar: { ops: 1000 } }] }\n"
    "  b: { engine: aiv, args: { x: in, y: out }, params: { n: required },\n"
    "       program: [{ scalar: { ops: \"500 * n\" } }] }\n"
    "  c: { engine: aiv, args: { y: out }, program: [{ scalar: { ops: 200 } }] }\n"
    "tensors:\n"
    "  t: { shape: [64], dtype: fp32 }\n"
    "  u: { shape: [64], dtype: fp32 }\n"
    "  v: { shape: [64], dtype: fp32 }\n"
    "tasks:\n"
    "  - { task: a, kernel: a, y: t }\n"
    "  - { task: b, kernel: b, x: t, y: u, with: { n: n } }\n"
    "  - { task: c, kernel: c, y: v }\n";

static char folder[] = "/tmp/npusim_explain_XXXXXX";

static void write_text(const char *name, const char *text) {
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int set_up(void **state) {
    (void)state;
    if (mkdtemp(folder) == NULL || chdir(folder) != 0)
        return -1;
    write_text("plain.yaml", die_text);
    write_text("g.yaml", graph_text);
    return 0;
}

static void remove_run(const char *run) {
    static const char *const names[] = {
        "chip_swimlane_records.json", "deps.json",   "name_map.json", "pmu.csv",
        "merged_swimlane.json",       "summary.json"};
    char path[256];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", run, names[i]);
        unlink(path);
    }
    rmdir(run);
}

static int tear_down(void **state) {
    (void)state;
    remove_run("a");
    remove_run("b");
    unlink("plain.yaml");
    unlink("g.yaml");
    return chdir("/") + rmdir(folder);
}

static void run_into(const char *out, const char *set) {
    npusim_run_options options = {
        .input = {.graph = "g.yaml", .die = "plain.yaml", .config = CONFIGS, .sets = &set},
        .out = out,
        .no_plot = true};
    options.input.set_count = set != NULL;
    npu_error err = {{0}};
    assert_int_equal(npusim_run(&options, NULL, NULL, NULL, &err), NPU_OK);
}

static char *take(FILE *file) {
    static char text[65536];
    rewind(file);
    size_t n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    fclose(file);
    return text;
}

static json_t *parse(FILE *file) {
    json_error_t problem;
    json_t *root = json_loads(take(file), 0, &problem);
    if (root == NULL)
        fail_msg("line %d: %s", problem.line, problem.text);
    return root;
}

static json_t *explain(const char *run, FILE *warn) {
    npusim_explain_options options = {.folder = run, .config = CONFIGS, .json = true};
    npu_error err = {{0}};
    FILE *out = tmpfile();
    assert_int_equal(npusim_explain(&options, out, warn, &err), NPU_OK);
    return parse(out);
}

static json_t *compare(const char *a, const char *b) {
    npusim_compare_options options = {.a = a, .b = b, .input = {.config = CONFIGS}, .json = true};
    npu_error err = {{0}};
    FILE *out = tmpfile();
    assert_int_equal(npusim_compare(&options, out, &err), NPU_OK);
    return parse(out);
}

static double number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value))
        fail_msg("no number '%s'", key);
    return json_number_value(value);
}

// Within 5 ns: some polls.
static void assert_us(const json_t *object, const char *key, double us) {
    double value = number(object, key);
    if (fabs(value - us) > 0.005)
        fail_msg("%s is %.6f us and not %.6f", key, value, us);
}

static const json_t *named(const json_t *list, const char *name) {
    size_t i;
    const json_t *item;
    json_array_foreach(list, i, item) {
        if (strcmp(json_string_value(json_object_get(item, "name")), name) == 0)
            return item;
    }
    fail_msg("no '%s'", name);
    return NULL;
}

static void a_run_is_explained_by_its_parts(void **state) {
    (void)state;
    run_into("a", NULL);
    FILE *warn = tmpfile();
    json_t *e = explain("a", warn);
    assert_string_equal(take(warn), "");
    // a is submitted at 100 and runs to 1100, b from then to 1600; c beside them.
    assert_us(e, "makespan_us", 1.6);
    const json_t *path = json_object_get(e, "observed_path");
    const json_t *links = json_object_get(path, "links");
    assert_int_equal(json_array_size(links), 2);
    assert_us(path, "kernels_us", 1.5);
    assert_us(path, "submit_us", 0.1);
    assert_us(path, "detect_us", 0);
    assert_us(path, "undispatched_us", 0);
    assert_us(path, "pick_up_us", 0);
    assert_string_equal(json_string_value(json_object_get(json_array_get(links, 1), "task")), "b");
    assert_us(json_array_get(links, 1), "exec_us", 0.5);
    assert_us(json_object_get(e, "static_path"), "length_us", 1.5);
    // c costs cores 200 ns and the makespan nothing.
    const json_t *c = named(json_object_get(e, "kernels"), "c");
    assert_us(c, "core_us", 0.2);
    assert_us(c, "path_us", 0);
    assert_us(named(json_object_get(e, "kernels"), "a"), "gaps_us", 0.1);
    // 23 AICs never work; the other works from 100 to 1100.
    assert_us(json_object_get(e, "aic"), "kernels_us", 1);
    assert_us(json_object_get(e, "aic"), "submit_us", 0.1);
    assert_us(json_object_get(e, "aic"), "no_work_us", 23 * 1.6 + 0.5);
    // b waits for a until 1100.
    assert_us(json_object_get(e, "aiv"), "data_us", 1.1);
    json_decref(e);
}

static void what_ifs_save_what_they_must(void **state) {
    (void)state;
    run_into("a", NULL);
    json_t *e = explain("a", NULL);
    const json_t *list = json_object_get(e, "what_if");
    // Without a, b waits for its own submit at 200 and ends at 700.
    assert_us(named(list, "a at zero cost"), "saved_us", 0.9);
    assert_us(named(list, "b at zero cost"), "saved_us", 0.5);
    assert_us(named(list, "c at zero cost"), "saved_us", 0);
    assert_us(named(list, "free orchestrator"), "saved_us", 0.1);
    assert_us(named(list, "free dispatch"), "saved_us", 0.1);
    assert_us(named(list, "free scalar unit"), "makespan_us", 0.3); // the last submit
    assert_us(named(list, "infinite HBM"), "saved_us", 0);
    double before = INFINITY;
    for (size_t i = 0; i < json_array_size(list); i++) {
        double saved = number(json_array_get(list, i), "saved_us");
        assert_true(saved <= before);
        before = saved;
    }
    json_decref(e);
}

static void a_comparison_names_the_kernel_that_moved(void **state) {
    (void)state;
    run_into("a", NULL);
    run_into("b", "n=3");
    json_t *c = compare("a", "b");
    assert_us(json_object_get(c, "a"), "makespan_us", 1.6);
    assert_us(json_object_get(c, "b"), "makespan_us", 2.6);
    assert_us(c, "difference_us", 1);
    const json_t *b = named(json_object_get(c, "kernels"), "b");
    assert_us(json_object_get(b, "a"), "block_mean_us", 0.5);
    assert_us(json_object_get(b, "b"), "block_mean_us", 1.5);
    assert_us(b, "share", 1);
    assert_string_equal(json_string_value(json_object_get(b, "why")),
                        "the same work, slower; S busy 100.0 % -> 100.0 %");
    const json_t *a = named(json_object_get(c, "kernels"), "a");
    assert_true(json_is_null(json_object_get(a, "why")));
    // Until b ends in the first run at 1600 nothing is different.
    const json_t *part = json_object_get(c, "part");
    assert_us(part, "a_us", 1.6);
    assert_us(part, "b_us", 2.6);
    assert_non_null(strstr(json_string_value(json_object_get(part, "a")), "b block 0 ends on"));
    json_decref(c);
}

static void a_run_compared_with_itself_has_not_moved(void **state) {
    (void)state;
    run_into("a", NULL);
    json_t *c = compare("a", "a");
    assert_true(json_is_null(json_object_get(c, "part")));
    assert_true(number(c, "difference_us") == 0);
    json_decref(c);
}

static void what_has_changed_since_the_run_is_told(void **state) {
    (void)state;
    run_into("a", NULL);
    write_text("plain.yaml", "extends: " CONFIGS "/die/A3.yaml\nname: plain\n");
    FILE *warn = tmpfile();
    json_decref(explain("a", warn));
    assert_non_null(strstr(take(warn), "npusim: warning: the run in a took 1.6 us and takes"));
    write_text("plain.yaml", die_text);
    char changed[4096];
    snprintf(changed, sizeof changed, "%s  - { dummy: d, after: c }\n", graph_text);
    write_text("g.yaml", changed);
    warn = tmpfile();
    json_decref(explain("a", warn));
    assert_string_equal(take(warn), "npusim: warning: g.yaml has changed since the run in a; this "
                                    "explains it as it is now\n");
    npusim_compare_options options = {.a = "a", .b = "a", .input = {.config = CONFIGS}};
    npu_error err = {{0}};
    assert_int_equal(npusim_compare(&options, NULL, &err), NPU_BAD_INPUT);
    assert_string_equal(err.text, "g.yaml has changed since the run in a; keep a copy of each "
                                  "version and compare these");
    write_text("g.yaml", graph_text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_explained_by_its_parts),
        cmocka_unit_test(what_ifs_save_what_they_must),
        cmocka_unit_test(a_comparison_names_the_kernel_that_moved),
        cmocka_unit_test(a_run_compared_with_itself_has_not_moved),
        cmocka_unit_test(what_has_changed_since_the_run_is_told),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
