// SPDX-License-Identifier: Apache-2.0
// `npusim die`: what is printed about the shipped dies.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "npusim.h"

static const char configs[] = NPUSIM_SOURCE "/configs";

// The report about a die, or the list; malloc'ed.
static char *report_of(const char *name) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    npu_error err = {0};
    npu_status status = npusim_die(configs, name, out, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, NPU_OK);
    fclose(out);
    return text;
}

static void assert_line(const char *report, const char *line) {
    const char *at = strstr(report, line);
    if (at == NULL)
        fail_msg("no line '%s' in:\n%s", line, report);
    if (at == NULL) // fail_msg does not return, but only we know
        return;
    assert_true(at == report || at[-1] == '\n');
    assert_int_equal(at[strlen(line)], '\n');
}

static void the_list_has_a_line_for_each_die(void **state) {
    (void)state;
    char *report = report_of(NULL);
    assert_line(report, "die        clusters    clock      L2    HBM   HBM rate          fp16");
    assert_line(report, "910B4            20   1.5GHz   96MiB  32GiB 879.61 GB/s  245.8 TFLOPS");
    assert_line(report, "A3               24  1.85GHz  192MiB  64GiB  1.76 TB/s  363.7 TFLOPS");
    assert_null(strstr(report, "base"));
    free(report);
}

static void a_die_is_printed_with_its_sources(void **state) {
    (void)state;
    char *report = report_of("A3");
    assert_line(report, "die A3 (" NPUSIM_SOURCE "/configs/die/A3.yaml)");
    assert_line(report, "hbm");
    assert_line(report, "  l0a             64KiB        high    ini l0_a_size");
    assert_line(report, "  efficiency      0.85         medium  best read stream 1.49 TB/s "
                        "(copy.UB3) / 1.76");
    assert_line(report, "  l0b             512B         high    as above");
    assert_line(report, "  muls               26cyc       1cyc     0cyc  medium  fit 1.0 r + 26");
    for (char *line = strtok(report, "\n"); line != NULL; line = strtok(NULL, "\n"))
        if (strlen(line) > 100 && strncmp(line, "die ", 4) != 0)
            fail_msg("longer than a page: %s", line);
    free(report);
}

static void peaks_come_with_their_arithmetic(void **state) {
    (void)state;
    char *report = report_of("A3");
    static const char *const lines[] = {
        "  cube fp16, bf16          363.7 TFLOPS  = 2 x 4096 MAC/cyc x 1.85 GHz x 24 AIC",
        "  cube int8                  727.4 TOPS  = 2 x 8192 MAC/cyc x 1.85 GHz x 24 AIC",
        "  cube fp32                 90.9 TFLOPS  = 2 x 1024 MAC/cyc x 1.85 GHz x 24 AIC",
        "  vector fp32               11.4 TFLOPS  = 2 (multiply-add) x 64 lanes x 1.85 GHz x 48 "
        "AIV",
        "  HBM reachable               1.50 TB/s  = 1.76 TB/s x 0.85",
        "  AIC port read             157.25 GB/s  = 85 B/cyc x 1.85 GHz; all 24 together 3.77 "
        "TB/s",
        "  one AIV from HBM          118.40 GB/s  = 64 lines x 512 B / 230 ns, at most the port",
        "  one AIV from L2           118.40 GB/s  = 64 lines x 512 B / 90 ns, at most the port",
        "  block issue, at best         168.3 ns  = (400 payload + 5 write + 100 poll) ns / 3 "
        "schedulers",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_line(report, lines[i]);
    free(report);
}

static void a_die_without_sources_says_so(void **state) {
    (void)state;
    char folder[] = "/tmp/npusim-test-die-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/mine.yaml", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("extends: " NPUSIM_SOURCE "/configs/die/A3.yaml\nname: mine\nclock: 2GHz\n"
          "vector: { ops: { ln: { startup: 1cyc } } }\n",
          file);
    fclose(file);
    char *report = report_of(path);
    assert_line(report, "  clock           2GHz         unsure  no source given");
    assert_line(report, "  ln                  1cyc       2cyc     0cyc");
    assert_line(report, "    startup                              unsure  no source given");
    assert_line(report, "    per_repeat                           medium  fit 2.00 r + 33, fp32");
    free(report);
    assert_int_equal(remove(path), 0);
    assert_int_equal(remove(folder), 0);
}

static void unknown_dies_are_named(void **state) {
    (void)state;
    npu_error err = {0};
    assert_int_equal(npusim_die(configs, "A4", stdout, &err), NPU_BAD_INPUT);
    assert_string_equal(err.text,
                        "no die 'A4' in " NPUSIM_SOURCE "/configs/die; did you mean 'A3'?");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_has_a_line_for_each_die),
        cmocka_unit_test(a_die_is_printed_with_its_sources),
        cmocka_unit_test(peaks_come_with_their_arithmetic),
        cmocka_unit_test(a_die_without_sources_says_so),
        cmocka_unit_test(unknown_dies_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
