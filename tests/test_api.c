// SPDX-License-Identifier: Apache-2.0
// libnpusim as its users call it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "npusim.h"

#define CONFIGS NPUSIM_SOURCE "/configs"
#define GEMM CONFIGS "/models/gemm.yaml"

static npusim_input input_of(const char *graph) {
    return (npusim_input){.graph = graph, .config = CONFIGS};
}

// All that a call printed.
static char *text_of(FILE *file) {
    static char text[65536];
    rewind(file);
    size_t n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    fclose(file);
    return text;
}

static void a_run_needs_no_folder_and_no_report(void **state) {
    (void)state;
    npusim_run_options options = {.input = input_of(GEMM)};
    npu_error err = {{0}};
    double makespan = 0;
    assert_int_equal(npusim_run(&options, NULL, NULL, &makespan, &err), NPU_OK);
    assert_true(makespan > 0);
    assert_string_equal(err.text, "");
}

static void settings_change_the_result(void **state) {
    (void)state;
    const char *sets[] = {"K=2048"};
    npusim_run_options whole = {.input = input_of(GEMM)}, half = whole;
    half.input.sets = sets;
    half.input.set_count = 1;
    double a = 0, b = 0;
    assert_int_equal(npusim_run(&whole, NULL, NULL, &a, NULL), NPU_OK);
    assert_int_equal(npusim_run(&half, NULL, NULL, &b, NULL), NPU_OK);
    assert_true(b > 0.45 * a && b < 0.55 * a); // half as much to multiply and to read
}

// Files of rank r lie in rank<r>; a run that cannot be leaves no folder.
static void each_rank_gets_a_folder(void **state) {
    (void)state;
    char folder[] = "/tmp/npusim_test_XXXXXX";
    assert_non_null(mkdtemp(folder));
    const char *sets[] = {"P=2"};
    npusim_run_options options = {.input = input_of(NPUSIM_SOURCE "/tests/data/graphs/ranks.yaml"),
                                  .out = folder,
                                  .no_plot = true};
    options.input.sets = sets;
    options.input.set_count = 1;
    npu_error err = {{0}};
    assert_int_equal(npusim_run(&options, NULL, NULL, NULL, &err), NPU_OK);
    static const char *const names[] = {
        "chip_swimlane_records.json", "deps.json",   "name_map.json", "pmu.csv",
        "merged_swimlane.json",       "summary.json"};
    for (int rank = 0; rank < 2; rank++) {
        char path[256];
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            snprintf(path, sizeof path, "%s/rank%d/%s", folder, rank, names[i]);
            assert_int_equal(unlink(path), 0);
        }
        snprintf(path, sizeof path, "%s/rank%d", folder, rank);
        assert_int_equal(rmdir(path), 0);
    }
    options.input.fabric = "b3_node";
    assert_int_equal(npusim_run(&options, NULL, NULL, NULL, &err), NPU_IO);
    assert_non_null(strstr(err.text, "fabric/b3_node.xml: cannot read the fabric: No such file"));
    assert_int_equal(rmdir(folder), 0);
}

static void warm_weights_are_faster(void **state) {
    (void)state;
    // 16 blocks of 16 rows each: what they read bounds them.
    const char *sets[] = {"M=16", "tm=16", "gn=16"};
    npusim_run_options cold = {.input = input_of(GEMM)}, warm;
    cold.input.sets = sets;
    cold.input.set_count = 3;
    warm = cold;
    warm.input.l2_warm = true;
    double a = 0, b = 0;
    assert_int_equal(npusim_run(&cold, NULL, NULL, &a, NULL), NPU_OK);
    assert_int_equal(npusim_run(&warm, NULL, NULL, &b, NULL), NPU_OK);
    assert_true(b < 0.8 * a);
}

static void wrong_options_are_errors_and_leave_nothing(void **state) {
    (void)state;
    char folder[] = "/tmp/npusim-test-api-XXXXXX";
    assert_non_null(mkdtemp(folder));
    assert_int_equal(rmdir(folder), 0);
    npusim_run_options options = {.input = input_of(GEMM), .out = folder, .swimlane = 5};
    npu_error err = {{0}};
    assert_int_equal(npusim_run(&options, NULL, NULL, NULL, &err), NPU_BAD_INPUT);
    assert_string_equal(err.text, "the swimlane level is 1 to 4, not 5");
    options.swimlane = 4;
    options.input.engine = "fluit";
    err.text[0] = '\0';
    assert_int_equal(npusim_run(&options, NULL, NULL, NULL, &err), NPU_BAD_INPUT);
    assert_string_equal(err.text, "unknown engine 'fluit'; did you mean 'fluid'?");
    options.input.engine = NULL;
    options.input.die = "A33";
    err.text[0] = '\0';
    assert_int_equal(npusim_run(&options, NULL, NULL, NULL, &err), NPU_BAD_INPUT);
    struct stat s;
    assert_int_not_equal(stat(folder, &s), 0);
}

static void the_selftest_reaches_every_peak_on_every_die(void **state) {
    (void)state;
    static const char *const dies[] = {"910B1", "910B2", "910B3", "910B4", "A3", "9372", "9362"};
    for (size_t i = 0; i < sizeof dies / sizeof *dies; i++) {
        FILE *report = tmpfile();
        npu_error err = {{0}};
        npu_status status = npusim_selftest(CONFIGS, dies[i], NULL, report, &err);
        char *text = text_of(report);
        if (status)
            print_error("%s\n%s\n", err.text, text);
        assert_int_equal(status, NPU_OK);
        assert_null(strstr(text, "MISSED"));
        assert_non_null(strstr(text, "HBM, all AIV"));
    }
}

static void check_tells_what_it_found(void **state) {
    (void)state;
    static const struct {
        const char *name, *found;
    } graphs[] = {
        {"swa", "50 tasks (20 AIC, 28 AIV, 1 MIX, 1 dummy), 358 blocks"},
        {"hca", "57 tasks (21 AIC, 34 AIV, 1 MIX, 1 dummy), 381 blocks"},
        {"csa", "72 tasks (26 AIC, 43 AIV, 2 MIX, 1 dummy), 455 blocks"},
        {"moe", "217 tasks (100 AIC, 115 AIV, 1 MIX, 1 dummy), 755 blocks"},
        {"preamble", "4 tasks (0 AIC, 4 AIV, 0 MIX, 0 dummy), 58 blocks"},
        {"tail", "13 tasks (1 AIC, 11 AIV, 1 MIX, 0 dummy), 117 blocks"},
        {"mtp", "291 tasks (122 AIC, 164 AIV, 3 MIX, 2 dummy), 1363 blocks"},
        {"layer", "171 tasks (72 AIC, 95 AIV, 2 MIX, 2 dummy), 825 blocks"},
        {"forward", "7972 tasks (3243 AIC, 4535 AIV, 108 MIX, 86 dummy), 38147 blocks"},
    };
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        char path[512];
        snprintf(path, sizeof path, CONFIGS "/models/deepseek_v4_flash/%s.yaml", graphs[i].name);
        npusim_input input = input_of(path);
        FILE *report = tmpfile();
        assert_int_equal(npusim_check(&input, report, NULL, NULL), NPU_OK);
        assert_non_null(strstr(text_of(report), graphs[i].found));
    }
}

static void the_config_folder_follows_the_environment(void **state) {
    (void)state;
    char buf[4096];
    npu_error err = {{0}};
    assert_int_equal(setenv("NPUSIM_CONFIGS", CONFIGS, 1), 0);
    assert_int_equal(npusim_config_folder(buf, sizeof buf, &err), NPU_OK);
    assert_string_equal(buf, CONFIGS);
    assert_int_equal(setenv("NPUSIM_CONFIGS", "/nowhere", 1), 0);
    assert_int_equal(npusim_config_folder(buf, sizeof buf, &err), NPU_IO);
    assert_string_equal(err.text,
                        "NPUSIM_CONFIGS is '/nowhere', but there is no folder 'die' in it");
    unsetenv("NPUSIM_CONFIGS");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_needs_no_folder_and_no_report),
        cmocka_unit_test(settings_change_the_result),
        cmocka_unit_test(warm_weights_are_faster),
        cmocka_unit_test(each_rank_gets_a_folder),
        cmocka_unit_test(wrong_options_are_errors_and_leave_nothing),
        cmocka_unit_test(the_selftest_reaches_every_peak_on_every_die),
        cmocka_unit_test(check_tells_what_it_found),
        cmocka_unit_test(the_config_folder_follows_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
