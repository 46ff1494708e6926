// SPDX-License-Identifier: Apache-2.0
// npusim_replay through the shared library: a run that is replayed is the same run.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <jansson.h>

#include "npusim.h"

#define CONFIGS NPUSIM_SOURCE "/configs"

static char place[64];

static int begin(void **state) {
    (void)state;
    strcpy(place, "/tmp/npusim-test-replay-XXXXXX");
    return mkdtemp(place) != NULL ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", place);
    return system(command);
}

static const struct {
    const char *graph, *set;
} graphs[] = {
    {NPUSIM_SOURCE "/configs/models/deepseek_v4_flash/swa.yaml",
     NULL}, // MIX, a dummy, early dispatch
    {NPUSIM_SOURCE "/configs/models/deepseek_v4_flash/hc_pre.yaml", NULL},
    {NPUSIM_SOURCE "/configs/selftest/dispatch.yaml", "blocks=100"},
    {NPUSIM_SOURCE "/tests/data/graphs/layer.yaml", "T=8"},
    {NPUSIM_SOURCE "/tests/data/graphs/stack.yaml", NULL},
};
enum { GRAPHS = sizeof graphs / sizeof *graphs };

static npusim_input input_of(int i) {
    return (npusim_input){.graph = graphs[i].graph,
                          .config = CONFIGS,
                          .sets = &graphs[i].set,
                          .set_count = graphs[i].set != NULL};
}

static const char *run(int i, char folder[256]) {
    snprintf(folder, 256, "%s/run%d", place, i);
    npusim_run_options options = {.input = input_of(i), .out = folder, .no_plot = true};
    npu_error err = {{0}};
    if (npusim_run(&options, NULL, NULL, NULL, &err) != NPU_OK)
        fail_msg("%s", err.text);
    return folder;
}

// The report, to be freed.
static char *replay(const npusim_replay_options *options, double *error_share) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    npu_error err = {{0}};
    assert_non_null(out);
    if (npusim_replay(options, out, NULL, error_share, &err) != NPU_OK)
        fail_msg("%s", err.text);
    fclose(out);
    return text;
}

static void a_run_replayed_by_its_own_graph_differs_in_nothing(void **state) {
    (void)state;
    for (int i = 0; i < GRAPHS; i++) {
        char folder[256];
        double error = 1;
        npusim_replay_options options = {
            .input = input_of(i), .path = run(i, folder), .cost_model = true};
        char *text = replay(&options, &error);
        assert_true(error == 0);
        if (strstr(text,
                   "starts lie 0.0 ns apart in the median (0.0 %), 0.0 ns at most for 90 %") ==
            NULL)
            fail_msg("%s\n%s", graphs[i].graph, text);
        assert_null(strstr(text, "the capture\n")); // every kernel by its program
        free(text);
    }
}

static void another_die_shows(void **state) {
    (void)state;
    char folder[256];
    double error = 0;
    npusim_replay_options options = {
        .input = input_of(1), .path = run(1, folder), .cost_model = true};
    options.input.die = "910B4"; // 20 clusters
    npu_error err = {{0}};
    assert_int_equal(npusim_replay(&options, NULL, NULL, NULL, &err), NPU_BAD_INPUT);
    assert_non_null(strstr(err.text, "is of 72 cores, but the die 910B4 has 20 clusters of three"));
    char slow[256];
    snprintf(slow, sizeof slow, "%s/slow.yaml", place);
    FILE *file = fopen(slow, "w");
    assert_non_null(file);
    fprintf(file, "extends: %s/die/A3.yaml\nname: slow\naicpu: {resolve: [3us, low, \"a test\"]}\n",
            CONFIGS);
    fclose(file);
    options.input.die = slow;
    char *text = replay(&options, &error);
    assert_true(error > 0.05);
    assert_non_null(strstr(text, "+0.0%")); // the kernels take as long as before
    free(text);
}

// What the model takes for the kernels is what it would measure: the order alone is its own.
static void measured_times_stay_close_to_the_run(void **state) {
    (void)state;
    for (int i = 0; i < GRAPHS; i++) {
        for (int pinned = 0; pinned < 2; pinned++) {
            char folder[256];
            double error = 1;
            npusim_replay_options options = {.input = {.config = CONFIGS},
                                             .path = run(i, folder),
                                             .order_measured = pinned != 0};
            char *text = replay(&options, &error);
            if (!(fabs(error) < (pinned ? 0.08 : 0.02)))
                fail_msg("%s: %g\n%s", graphs[i].graph, error, text);
            assert_null(strstr(text, "the model\n"));
            free(text);
        }
    }
}

// ---- causes --------------------------------------------------------------------------------

static json_t *replay_json(npusim_replay_options options) {
    char path[128];
    npu_error err = {{0}};
    json_error_t wrong;
    snprintf(path, sizeof path, "%s/replay.json", place);
    options.json = path;
    if (npusim_replay(&options, NULL, NULL, NULL, &err) != NPU_OK)
        fail_msg("%s", err.text);
    json_t *json = json_load_file(path, 0, &wrong);
    if (json == NULL)
        fail_msg("%d: %s", wrong.line, wrong.text);
    assert_int_equal(remove(path), 0);
    return json;
}

static double number(const json_t *json, const char *key) {
    const json_t *value = json_object_get(json, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

// The difference of a cause; of NULL, of all.
static double difference(const json_t *json, const char *cause) {
    const json_t *causes = json_object_get(json, "causes");
    double sum = 0;
    assert_int_equal(json_array_size(causes), 6);
    for (size_t i = 0; i < json_array_size(causes); i++) {
        const json_t *item = json_array_get(causes, i);
        const char *name = json_string_value(json_object_get(item, "cause"));
        if (cause == NULL || strcmp(name, cause) == 0)
            sum += number(item, "difference_ns");
    }
    return sum;
}

static void of_an_equal_run_no_cause_differs(void **state) {
    (void)state;
    for (int i = 0; i < GRAPHS; i++) {
        char folder[256];
        npusim_replay_options options = {
            .input = input_of(i), .path = run(i, folder), .cost_model = true};
        json_t *json = replay_json(options);
        for (size_t c = 0; c < 6; c++)
            assert_true(
                number(json_array_get(json_object_get(json, "causes"), c), "difference_ns") == 0);
        assert_true(json_is_null(json_object_get(json_object_get(json, "parting"), "time")));
        assert_true(json_is_null(json_object_get(json_object_get(json, "parting"), "place")));
        json_decref(json);
    }
}

// One number of the die is changed: at least nine tenths of the difference, and at most eleven, are
// of the cause that the number belongs to.
static void a_changed_number_is_found_as_its_cause(void **state) {
    (void)state;
    static const struct {
        const char *number, *cause;
    } changes[] = {
        {"aicpu: {payload: [3us, low, \"a test\"]}", "dispatch"},
        {"aicpu: {propagation: [3us, low, \"a test\"]}", "dispatch"},
        {"aicpu: {resolve: [3us, low, \"a test\"]}", "resolve"},
        {"aicpu: {fin: [3us, low, \"a test\"]}", "resolve"},
        {"aicpu: {resolve_edge: [2us, low, \"a test\"]}", "resolve"},
        {"aicpu: {submit: [6us, low, \"a test\"]}", "back-pressure"},
        {"l2: {miss_latency: [3us, low, \"a test\"]}", "kernel time"},
    };
    char folder[256], slow[256];
    snprintf(slow, sizeof slow, "%s/slow.yaml", place);
    npusim_replay_options options = {
        .input = input_of(3), .path = run(3, folder), .cost_model = true};
    options.input.die = slow;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        FILE *file = fopen(slow, "w");
        assert_non_null(file);
        fprintf(file, "extends: %s/die/A3.yaml\nname: slow\n%s\n", CONFIGS, changes[i].number);
        fclose(file);
        json_t *json = replay_json(options);
        double all = number(json, "modelled_ns") - number(json, "measured_ns");
        double share = difference(json, changes[i].cause) / all;
        assert_true(all > 1000);
        assert_true(fabs(difference(json, NULL) - all) < 0.001);
        if (!(share >= 0.9 && share <= 1.1))
            fail_msg("%s: %g", changes[i].number, share);
        json_decref(json);
    }
}

// ---- files ---------------------------------------------------------------------------------

static char *read_file(const char *folder, const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    char *text = calloc(1 << 22, 1);
    assert_non_null(file);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 22) - 1, file) > 0);
    fclose(file);
    return text;
}

static void all_files_appear_and_the_page_holds_its_pictures(void **state) {
    (void)state;
    static const char *const pictures[] = {"swimlanes.png", "kernels.png"};
    char folder[256], out[128];
    npu_error err = {{0}};
    snprintf(out, sizeof out, "%s/compared", place);
    npusim_replay_options options = {
        .input = input_of(3), .path = run(3, folder), .cost_model = true, .out = out};
    assert_int_equal(npusim_replay(&options, NULL, NULL, NULL, &err), NPU_OK);
    for (int i = 0; i < 2; i++) {
        char *png = read_file(out, pictures[i]);
        assert_memory_equal(png, "\x89PNG", 4);
        free(png);
    }
    char *page = read_file(out, "replay.html");
    assert_non_null(strstr(page, "data:image/png;base64,iVBORw0KGgo")); // how a PNG begins
    assert_null(strstr(page, "http"));
    assert_non_null(strstr(page, "</html>"));
    free(page);
    char *text = read_file(out, "replay_swimlane.json");
    json_t *lanes = json_loads(text, 0, NULL);
    int rows[2] = {0, 0};
    const json_t *events = json_object_get(lanes, "traceEvents");
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        if (json_integer_value(json_object_get(event, "pid")) == 1 &&
            json_object_get(event, "dur") != NULL)
            rows[json_integer_value(json_object_get(event, "tid")) % 2]++;
    }
    assert_true(rows[0] > 0);
    assert_int_equal(rows[0], rows[1]);
    json_decref(lanes);
    free(text);
}

static void without_gnuplot_no_file_is_left(void **state) {
    (void)state;
    char folder[256], out[128], path[4096];
    struct stat info;
    npu_error err = {{0}};
    snprintf(path, sizeof path, "%s", getenv("PATH"));
    snprintf(out, sizeof out, "%s/nothing", place);
    npusim_replay_options options = {
        .input = input_of(3), .path = run(3, folder), .cost_model = true, .out = out};
    setenv("PATH", "/nowhere", 1);
    assert_int_equal(npusim_replay(&options, NULL, NULL, NULL, &err), NPU_IO);
    setenv("PATH", path, 1);
    assert_non_null(strstr(err.text, "needs the program gnuplot"));
    assert_int_not_equal(stat(out, &info), 0);
}

static void what_cannot_be_replayed_is_told(void **state) {
    (void)state;
    char folder[256];
    npu_error err = {{0}};
    npusim_replay_options options = {.input = {.config = CONFIGS},
                                     .path = NPUSIM_SOURCE "/tests/data/captures/ranks"};
    assert_int_equal(npusim_replay(&options, NULL, NULL, NULL, &err), NPU_BAD_INPUT);
    assert_non_null(strstr(err.text, "holds 2 captures; name the folder of one, as rank0/d0"));
    err = (npu_error){{0}};
    options.path = NPUSIM_SOURCE "/tests/data/captures/ranks/rank0/d0";
    assert_int_equal(npusim_replay(&options, NULL, NULL, NULL, &err), NPU_IO);
    assert_non_null(strstr(err.text, "there is no deps.json"));
    err = (npu_error){{0}};
    options.path = NPUSIM_SOURCE "/tests/data/captures/legacy";
    assert_int_equal(npusim_replay(&options, NULL, NULL, NULL, &err), NPU_BAD_INPUT);
    assert_non_null(strstr(err.text, "is of 3 cores, but the die A3 has 24 clusters of three"));
    err = (npu_error){{0}};
    options.path = run(1, folder);
    options.cost_model = true;
    options.input.graph = NPUSIM_SOURCE "/configs/models/gemm.yaml"; // of other kernels
    assert_int_equal(npusim_replay(&options, NULL, NULL, NULL, &err), NPU_BAD_INPUT);
    assert_non_null(strstr(err.text, "names no kernel of the capture"));
    err = (npu_error){{0}};
    options.input.graph = NULL;
    assert_int_equal(npusim_replay(&options, NULL, NULL, NULL, &err), NPU_BAD_INPUT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_replayed_by_its_own_graph_differs_in_nothing),
        cmocka_unit_test(another_die_shows),
        cmocka_unit_test(measured_times_stay_close_to_the_run),
        cmocka_unit_test(of_an_equal_run_no_cause_differs),
        cmocka_unit_test(a_changed_number_is_found_as_its_cause),
        cmocka_unit_test(all_files_appear_and_the_page_holds_its_pictures),
        cmocka_unit_test(without_gnuplot_no_file_is_left),
        cmocka_unit_test(what_cannot_be_replayed_is_told),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
