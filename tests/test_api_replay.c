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
        cmocka_unit_test(what_cannot_be_replayed_is_told),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
