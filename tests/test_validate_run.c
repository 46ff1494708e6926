// SPDX-License-Identifier: Apache-2.0
// Whole validations through the library: figures known by hand on a die of round numbers, and
// what is said about cases that cannot be simulated.
//
// A block of `work` runs n scalar instructions of 4 cyc at 2 GHz and nothing else: 2 ns each.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "npusim.h"

#define CONFIGS NPUSIM_SOURCE "/configs"
#define DATA NPUSIM_SOURCE "/tests/data/validation"

#define HEAD                                                                                       \
    "group: g\n"                                                                                   \
    "die: " DATA "/die.yaml\n"                                                                     \
    "graph:\n"                                                                                     \
    "  params: { n: 1000, blocks: 1 }\n"                                                           \
    "  kernels:\n"                                                                                 \
    "    work:\n"                                                                                  \
    "      engine: aiv\n"                                                                          \
    "      args: { x: { access: in, shape: [R, C] } }\n"                                           \
    "      params: { n: 1000 }\n"                                                                  \
    "      program: [{ scalar: { ops: n } }]\n"                                                    \
    "  tensors:\n"                                                                                 \
    "    x: { shape: [64, 1024], dtype: fp32, external: true }\n"                                  \
    "  tasks:\n"                                                                                   \
    "    - { task: work, kernel: work, x: x, with: { n: n }, grid: { b: blocks } }\n"              \
    "cases:\n" // line 15

static char folder[] = "/tmp/npusim-test-validate-XXXXXX";

static int enter_folder(void **state) {
    (void)state;
    return mkdtemp(folder) == NULL || chdir(folder) != 0;
}

static int leave_folder(void **state) {
    static const char *const names[] = {"c.yaml", "a.csv", "a.json", "base.txt"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(names[i]);
    return chdir("/") != 0 || rmdir(folder) != 0;
}

static void write_text(const char *name, const char *text) {
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

typedef struct texts {
    char report[16384], warn[8192];
} texts;

static void text_of(FILE *file, char *text, size_t size) {
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

static char *text_of_file(const char *name) {
    static char text[2][32768]; // of the last two files
    static int turn;
    FILE *file = fopen(name, "r");
    assert_non_null(file);
    turn = 1 - turn;
    text_of(file, text[turn], sizeof text[turn]);
    return text[turn];
}

// Options for c.yaml.
static npusim_validate_options options_of(void) {
    static const char *const files[] = {"c.yaml"};
    return (npusim_validate_options){.files = files, .file_count = 1, .config = CONFIGS};
}

static npu_status run(const npusim_validate_options *options, texts *t, npusim_validation *found,
                      npu_error *err) {
    FILE *report = tmpfile(), *warn = tmpfile();
    assert_non_null(report);
    assert_non_null(warn);
    err->text[0] = '\0';
    npu_status status = npusim_validate(options, report, warn, found, err);
    text_of(report, t->report, sizeof t->report);
    text_of(warn, t->warn, sizeof t->warn);
    return status;
}

// ---- known figures -------------------------------------------------------------------------

// All of them are predicted exactly, so every measured value here is a claim about the model.
static const char known[] =
    HEAD "  - case: one block\n"
         "    band: 0.01%\n"
         "    figures:\n"
         "      - { read: time of work, measured: 2us }\n"
         "      - { read: busy scalar of work, measured: 4000cyc }\n"
         "      - { read: busy aiv s of work, measured: 2000ns }\n"
         "      - { read: max time of work, measured: 4cyc, per: 1000 }\n"
         "      - { read: rate of work, measured: 1GB/s, band: 100% }\n"
         "  - case: two blocks on each AIV\n"
         "    band: 0.01%\n"
         "    set: { blocks: 96 }\n"
         "    figures:\n"
         "      - { read: blocks of work, measured: 96 }\n"
         "      - { read: count of work, measured: 96 }\n"
         "      - { read: mean time of work, measured: 0.002ms }\n"
         "      - { read: sum time of work, measured: 192us }\n"
         "      - { read: core time of *, measured: 192us }\n"
         "      - { read: busy scalar of work, measured: 8000cyc }\n"
         "  - case: more work\n"
         "    band: 0.01%\n"
         "    read: time of work\n"
         "    variants:\n"
         "      less: { measured: 2us }\n"
         "      more: { set: { n: 3000 }, measured: 6us, figures: [\n"
         "        { read: time of work relative to less, measured: 3 },\n"
         "        { read: busy s of work relative to least, measured: 6 }]}\n"
         "      least: { set: { n: 500 }, measured: 1us }\n";

static void check_known(const char *engine) {
    npusim_validate_options options = options_of();
    npusim_validation found;
    npu_error err;
    static texts t;
    options.engine = engine;
    write_text("c.yaml", known);
    npu_status status = run(&options, &t, &found, &err);
    if (status != NPU_OK || found.outside != 0)
        print_error("%s%s%s\n", t.report, t.warn, err.text);
    assert_int_equal(status, NPU_OK);
    assert_string_equal(t.warn, "");
    assert_int_equal(found.outside, 0);
    assert_int_equal(found.figures, 14);
    assert_int_equal(found.failed, 0);
    assert_non_null(strstr(t.report, "  less -> more                                               "
                                     "x3.000         x3.000    +0.0%  right\n"));
    assert_non_null(strstr(t.report, "direction right in 4 of 4 (100%), median ratio error 0.0%"));
}

static void figures_known_by_hand(void **state) {
    (void)state;
    check_known(NULL);
}

static void and_on_the_other_engine(void **state) {
    (void)state;
    setenv("NPUSIM_MODULES", NPUSIM_BUILD "/lib/npusim", 1);
    if (access(NPUSIM_BUILD "/lib/npusim/npusim_simgrid.so", R_OK) != 0)
        skip();
    check_known("simgrid");
}

static void a_band_that_is_left_is_counted(void **state) {
    (void)state;
    npusim_validate_options options = options_of();
    npusim_validation found;
    npu_error err;
    static texts t;
    write_text("c.yaml",
               HEAD "  - { case: a, read: time of work, measured: 1.7us, band: 15% }\n"
                    "  - { case: b, read: time of work, measured: 1.8us, band: 15% }\n"
                    "  - { case: c, read: time of work, measured: 2.4us, band: 15%, spread: 17% }\n"
                    "  - { case: d, read: time of work, measured: 9us }\n");
    assert_int_equal(run(&options, &t, &found, &err), NPU_OK);
    assert_int_equal(found.outside, 1);
    assert_non_null(strstr(t.report, "+17.6%  OUT of 15%\n"));
    assert_non_null(strstr(t.report, "  bands     1 of 3 figures outside\n"));
}

static void the_die_can_be_another(void **state) {
    (void)state;
    npusim_validate_options options = options_of();
    npusim_validation found;
    npu_error err;
    static texts t;
    write_text("c.yaml", "group: g\ndie: " DATA "/die.yaml\ngraph: " DATA "/copy.yaml\n"
                         "cases: [{ case: a, read: time of copy, measured: 2us }]\n");
    assert_int_equal(run(&options, &t, &found, &err), NPU_OK);
    char before[sizeof t.report];
    memcpy(before, t.report, sizeof before);
    options.die = "910B4";
    assert_int_equal(run(&options, &t, &found, &err), NPU_OK);
    assert_string_not_equal(before, t.report);
    options.die = "910B5";
    assert_int_equal(run(&options, &t, &found, &err), NPU_BAD_INPUT);
    assert_string_equal(t.report, "");
    assert_non_null(strstr(err.text, "910B5"));
}

// ---- the same bytes ------------------------------------------------------------------------

static void jobs_do_not_change_the_output(void **state) {
    (void)state;
    npusim_validate_options options = options_of();
    npusim_validation found;
    npu_error err;
    static texts one, four;
    write_text("c.yaml", known);
    options.csv = "a.csv";
    options.json = "a.json";
    options.jobs = 1;
    assert_int_equal(run(&options, &one, &found, &err), NPU_OK);
    char csv[16384], json[16384];
    snprintf(csv, sizeof csv, "%s", text_of_file("a.csv"));
    snprintf(json, sizeof json, "%s", text_of_file("a.json"));
    options.jobs = 4;
    assert_int_equal(run(&options, &four, &found, &err), NPU_OK);
    assert_string_equal(one.report, four.report);
    assert_string_equal(csv, text_of_file("a.csv"));
    assert_string_equal(json, text_of_file("a.json"));
    assert_non_null(strstr(csv, "g,more work,more,,time of work,us,6,6,"));
}

static void a_baseline_of_now_holds(void **state) {
    (void)state;
    npusim_validate_options options = options_of();
    npusim_validation found;
    npu_error err;
    static texts t;
    write_text("c.yaml", HEAD "  - { case: a, set: { n: 10000 }, read: time of work, "
                              "measured: 20us }\n");
    options.write_baseline = "base.txt";
    assert_int_equal(run(&options, &t, &found, &err), NPU_OK);
    options.write_baseline = NULL;
    options.baseline = "base.txt";
    assert_int_equal(run(&options, &t, &found, &err), NPU_OK);
    assert_int_equal(found.regressed, 0);
    write_text("c.yaml", HEAD "  - { case: a, set: { n: 9991 }, read: time of work, "
                              "measured: 20us }\n");
    assert_int_equal(run(&options, &t, &found, &err), NPU_OK);
    assert_int_equal(found.regressed, 0); // within 0.1 %
    write_text("c.yaml", HEAD "  - { case: a, set: { n: 9800 }, read: time of work, "
                              "measured: 20us }\n");
    assert_int_equal(run(&options, &t, &found, &err), NPU_OK);
    assert_int_equal(found.regressed, 2); // it moved, and it is worse
    assert_non_null(strstr(t.report, "  a: time of work\n"
                                     "    20.00 us -> 19.60 us (-2.00%), error +0.0% -> -2.0%, "
                                     "WORSE\n"));
}

// ---- wrong cases ---------------------------------------------------------------------------

// Cases that begin at line 16, column 5, and what is said about them.
static const struct {
    const char *text, *message;
} wrong[] = {
    {"{ case: a, read: time of wrok, measured: 2us }",
     "c.yaml:16:30: no kernel 'wrok' ran; did you mean 'work'?"},
    {"{ case: a, read: busy vec of w, measured: 2us }", "c.yaml:16:34: no kernel 'w' ran"},
    {"{ case: a, read: busy mac of work, measured: 2us }",
     "c.yaml:16:34: 'work' ran on no AIC, which has the pipe M"},
    {"{ case: a, set: { blcoks: 2 }, read: time of work, measured: 2us }",
     "c.yaml:16:23: 'c.yaml' has no parameter 'blcoks'; did you mean 'blocks'?"},
    {"{ case: a, set: { n: 1 / 0 }, read: time of work, measured: 2us }",
     "c.yaml:16:23: division by zero"},
    {"{ case: a, die: A4, read: time of work, measured: 2us }",
     "c.yaml:16:21: no die 'A4' in " CONFIGS "/die; did you mean 'A3'?"},
    {"{ case: a, die: no_die.yaml, read: time of work, measured: 2us }",
     "c.yaml:16:21: cannot read no_die.yaml: No such file or directory"},
    {"{ case: a, graph: no_graph.yaml, read: time of work, measured: 2us }",
     "c.yaml:16:23: cannot read no_graph.yaml: No such file or directory"},
    {"{ case: a, read: time of work, measured: 2us, graph: { tasks: [] } }",
     "c.yaml:16:58: c.yaml: the graph has no tasks"},
    {"{ case: a, read: time of work, measured: 2us, graph: { takss: [] } }",
     "c.yaml:16:60: unknown key 'takss' in a graph; did you mean 'tasks'?"},
    {"{ case: a, read: makespan relative to b, measured: 2 }",
     "c.yaml:16:43: the case has no variant 'b'"},
    {"{ case: a, variants: { u: { }, v: { read: busy v of work relative to u, measured: 2 } } }",
     "c.yaml:16:74: 'busy v of work relative to u' is 0 in variant 'u', so nothing is relative to "
     "it"},
};

static void a_case_that_cannot_run_gets_one_line(void **state) {
    (void)state;
    int bad = 0;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        npusim_validate_options options = options_of();
        npusim_validation found;
        npu_error err;
        char text[4096], message[512];
        static texts t;
        snprintf(text, sizeof text,
                 HEAD "  - %s\n  - { case: good, read: time of work, measured: 2us }\n",
                 wrong[i].text);
        snprintf(message, sizeof message, "%s\n", wrong[i].message);
        write_text("c.yaml", text);
        npu_status status = run(&options, &t, &found, &err);
        bool right = status == NPU_BAD_INPUT && found.failed == 1 && found.figures == 1 &&
                     strcmp(message, t.warn) == 0 &&
                     strcmp(err.text, "1 case or figure could not be simulated") == 0;
        if (!right)
            print_error("expected: %sgot %d: %s%s\n", message, status, t.warn, err.text);
        bad += !right;
    }
    assert_int_equal(bad, 0);
}

static void a_graph_that_does_not_fit_its_die(void **state) {
    (void)state;
    npusim_validate_options options = options_of();
    npusim_validation found;
    npu_error err;
    static texts t;
    write_text("c.yaml",
               "group: g\ndie: A3\n"
               "cases:\n"
               "  - case: a\n"
               "    read: makespan\n"
               "    measured: 1us\n"
               "    graph:\n"
               "      kernels:\n"
               "        big:\n"
               "          engine: aiv\n"
               "          args: { x: { access: in, shape: [R, C] } }\n"
               "          slots: { t: { in: ub, shape: [64, C], dtype: x } }\n"
               "          program: [{ load: { from: \"x[0 : 64, :]\", to: t } }]\n"
               "      tensors: { x: { shape: [64, 1024], dtype: fp32, external: true } }\n"
               "      tasks: [{ task: big, kernel: big, x: x }]\n"
               "  - case: b\n"
               "    graph: " DATA "/copy.yaml\n"
               "    figures: [{ read: time of copy, measured: 1us },\n"
               "              { read: time of cpoy, measured: 1us }]\n");
    assert_int_equal(run(&options, &t, &found, &err), NPU_BAD_INPUT);
    const char *line = strchr(t.warn, '\n');
    assert_non_null(line);
    static const char start[] = "c.yaml:15:15: task 'big': a UB tile of 64 x 1024 fp32 is 256 KiB";
    assert_int_equal(strncmp(t.warn, start, strlen(start)), 0);
    assert_non_null(strstr(t.warn, "(slot 't', c.yaml:12)\n"));
    assert_string_equal(line, "\nc.yaml:19:31: no kernel 'cpoy' ran; did you mean 'copy'?\n");
    assert_int_equal(found.failed, 2);
    assert_int_equal(found.figures, 1);
    assert_string_equal(err.text, "2 cases or figures could not be simulated");
}

static void nothing_is_relative_to_0(void **state) {
    (void)state;
    npusim_validate_options options = options_of();
    npusim_validation found;
    npu_error err;
    static texts t;
    write_text("c.yaml", "group: g\ndie: A3\ngraph: " DATA "/copy.yaml\n"
                         "cases:\n"
                         "  - case: a\n"
                         "    variants:\n"
                         "      u: { }\n"
                         "      v: { measured: 2, read: busy vec of copy relative to u }\n");
    assert_int_equal(run(&options, &t, &found, &err), NPU_BAD_INPUT);
    assert_string_equal(t.warn,
                        "c.yaml:8:60: 'busy vec of copy relative to u' is 0 in variant 'u', so "
                        "nothing is relative to it\n");
    assert_int_equal(found.failed, 1);
}

static void wrong_options_come_before_all_work(void **state) {
    (void)state;
    npusim_validate_options options = options_of();
    npu_error err;
    static texts t;
    write_text("c.yaml", known);
    options.engine = "fluit";
    assert_int_equal(run(&options, &t, NULL, &err), NPU_BAD_INPUT);
    assert_string_equal(err.text, "unknown engine 'fluit'; did you mean 'fluid'?");
    options.engine = NULL;
    options.csv = "c.yaml/a.csv";
    assert_int_equal(run(&options, &t, NULL, &err), NPU_IO);
    assert_string_equal(err.text, "cannot make the folder c.yaml: Not a directory");
    options.csv = "out/";
    assert_int_equal(run(&options, &t, NULL, &err), NPU_BAD_INPUT);
    assert_string_equal(err.text, "'out/' is a folder, not a file");
    options.csv = NULL;
    options.baseline = "no.txt";
    assert_int_equal(run(&options, &t, NULL, &err), NPU_IO);
    assert_string_equal(err.text, "cannot read no.txt: No such file or directory");
    options.baseline = NULL;
    options.config = folder; // without case files
    options.file_count = 0;
    assert_int_equal(run(&options, &t, NULL, &err), NPU_IO);
    char message[256];
    snprintf(message, sizeof message, "there are no case files in %s/validation", folder);
    assert_string_equal(err.text, message);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_known_by_hand),
        cmocka_unit_test(and_on_the_other_engine),
        cmocka_unit_test(a_band_that_is_left_is_counted),
        cmocka_unit_test(the_die_can_be_another),
        cmocka_unit_test(jobs_do_not_change_the_output),
        cmocka_unit_test(a_baseline_of_now_holds),
        cmocka_unit_test(a_case_that_cannot_run_gets_one_line),
        cmocka_unit_test(a_graph_that_does_not_fit_its_die),
        cmocka_unit_test(nothing_is_relative_to_0),
        cmocka_unit_test(wrong_options_come_before_all_work),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
