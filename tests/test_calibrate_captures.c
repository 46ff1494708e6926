// SPDX-License-Identifier: Apache-2.0
// Calibration to captures: runs on a die with other numbers are written as captures, from which the
// fit has to find the numbers again.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "npusim.h"

#define CONFIGS NPUSIM_SOURCE "/configs"

static char place[64];

static const char *const graphs[] = {CONFIGS "/models/deepseek_v4_flash/swa.yaml",
                                     CONFIGS "/selftest/dispatch.yaml",
                                     NPUSIM_SOURCE "/tests/data/graphs/stack.yaml"};
enum { GRAPHS = sizeof graphs / sizeof *graphs };
static char folders[GRAPHS][128];

static int begin(void **state) {
    (void)state;
    strcpy(place, "/tmp/npusim-test-captures-XXXXXX");
    if (mkdtemp(place) == NULL)
        return -1;
    char die[128];
    snprintf(die, sizeof die, "%s/true.yaml", place);
    FILE *file = fopen(die, "w");
    if (file == NULL)
        return -1;
    fprintf(file,
            "extends: %s/die/A3.yaml\nname: true\naicpu: {submit: [1.5us, low, a], "
            "propagation: [250ns, low, a], setup: [450ns, low, a]}\n",
            CONFIGS);
    fclose(file);
    for (int i = 0; i < GRAPHS; i++) {
        npu_error err = {{0}};
        snprintf(folders[i], sizeof folders[i], "%s/run%d", place, i);
        npusim_run_options options = {.input = {.graph = graphs[i], .config = CONFIGS, .die = die},
                                      .out = folders[i],
                                      .no_plot = true};
        if (npusim_run(&options, NULL, NULL, NULL, &err) != NPU_OK) {
            print_error("%s\n", err.text);
            return -1;
        }
    }
    return 0;
}

static int end(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", place);
    return system(command);
}

static char *calibrate(npusim_calibrate_options with, const char *fit) {
    npusim_calibrate_options *options = &with;
    const char *files[GRAPHS];
    char *text = NULL;
    size_t size = 0;
    npu_error err = {{0}};
    for (int i = 0; i < GRAPHS; i++)
        files[i] = folders[i];
    options->files = files;
    options->file_count = GRAPHS;
    options->config = CONFIGS;
    options->fits = &fit;
    options->fit_count = 1;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    if (npusim_calibrate(options, out, NULL, &err) != NPU_OK)
        fail_msg("%s", err.text);
    fclose(out);
    return text;
}

// The value behind the fit, as printed, in ns.
static double after(const char *text, const char *field) {
    const char *line = strstr(text, field);
    char *end = NULL;
    assert_non_null(line);
    strtod(line + strlen(field), &end); // before; then its unit
    end = strchr(end, ' ');
    assert_non_null(end);
    double value = strtod(end, &end);
    return strncmp(end, "us", 2) == 0 ? 1000 * value : value;
}

// A pinned replay sends row by row, where a scheduler writes the registers of a pass one after the
// other behind one stamp: some writes of 5 ns count as propagation.
static void changed_numbers_are_found_in_captures(void **state) {
    (void)state;
    npusim_calibrate_options options = {.jobs = 2};
    char *text = calibrate(options, "aicpu.submit,aicpu.propagation,aicpu.setup");
    if (fabs(after(text, "aicpu.submit") - 1500) > 30 ||
        fabs(after(text, "aicpu.propagation") - 250) > 25 ||
        fabs(after(text, "aicpu.setup") - 450) > 15)
        fail_msg("%s", text);
    assert_non_null(strstr(text, "left out")); // every fifth kind in turn
    assert_non_null(strstr(text, "task kinds 5, 10, ..."));
    free(text);
}

static void what_the_loops_hide_is_not_told_as_found(void **state) {
    (void)state;
    npusim_calibrate_options options = {.jobs = 1, .no_leave_out = true};
    char *text = calibrate(options, "aicpu.resolve_edge,aicpu.submit");
    const char *line = strstr(text, "aicpu.resolve_edge");
    assert_non_null(line);
    char row[256];
    snprintf(row, sizeof row, "%.*s", (int)strcspn(line, "\n"), line);
    if (strstr(row, "not determined by these cases") == NULL && strstr(row, "at its bound") == NULL)
        fail_msg("%s", row);
    free(text);
}

static void processes_do_not_change_the_output(void **state) {
    (void)state;
    npusim_calibrate_options one = {.jobs = 1}, two = {.jobs = 2};
    char *a = calibrate(one, "aicpu.submit");
    char *b = calibrate(two, "aicpu.submit");
    assert_string_equal(a, b);
    free(a);
    free(b);
}

static void wrong_requests_are_told(void **state) {
    (void)state;
    const char *mixed[] = {folders[0], NPUSIM_SOURCE "/tests/data/validation/copy.yaml"};
    const char *bare[] = {NPUSIM_SOURCE "/tests/data/captures/ranks"};
    npusim_calibrate_options options = {.files = mixed, .file_count = 2, .config = CONFIGS};
    npu_error err = {{0}};
    assert_int_equal(npusim_calibrate(&options, stdout, NULL, &err), NPU_BAD_INPUT);
    assert_string_equal(err.text, "folders of captures and files of cases cannot be mixed");
    err = (npu_error){{0}};
    options.file_count = 1;
    options.report = "report.md";
    assert_int_equal(npusim_calibrate(&options, stdout, NULL, &err), NPU_BAD_INPUT);
    assert_string_equal(err.text, "--report is of cases, not of captures");
    err = (npu_error){{0}};
    options.report = NULL;
    options.files = bare;
    assert_int_equal(npusim_calibrate(&options, stdout, NULL, &err), NPU_IO);
    assert_non_null(strstr(err.text, "there is no deps.json"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_numbers_are_found_in_captures),
        cmocka_unit_test(what_the_loops_hide_is_not_told_as_found),
        cmocka_unit_test(processes_do_not_change_the_output),
        cmocka_unit_test(wrong_requests_are_told),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
