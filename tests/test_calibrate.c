// SPDX-License-Identifier: Apache-2.0
// Whole calibrations: "measurements" are simulated on a die with other numbers, which the fit has
// to find again from the unchanged die.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "npusim.h"

#define CONFIGS NPUSIM_SOURCE "/configs"
#define COPY NPUSIM_SOURCE "/tests/data/validation/copy.yaml"

static char folder[] = "/tmp/npusim-test-calibrate-XXXXXX";

static void write_text(const char *name, const char *text) {
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

// n scalar instructions on each block, and nothing else.
static const char work[] = "params: { n: 20000 }\n"
                           "kernels:\n"
                           "  work:\n"
                           "    engine: aiv\n"
                           "    args: { x: { access: in, shape: [R, C] } }\n"
                           "    params: { n: 1000 }\n"
                           "    program: [{ scalar: { ops: n } }]\n"
                           "tensors:\n"
                           "  x: { shape: [64, 1024], dtype: fp32, external: true }\n"
                           "tasks:\n"
                           "  - { task: work, kernel: work, x: x, with: { n: n } }\n";

static int enter_folder(void **state) {
    (void)state;
    if (mkdtemp(folder) == NULL || chdir(folder) != 0)
        return 1;
    write_text("work.yaml", work);
    write_text("true.yaml", "extends: " CONFIGS "/die/A3.yaml\nname: true\n"
                            "aiv_port: { write: 19.7B/cyc }\nscalar: { op: 7.3cyc }\n");
    write_text("own.yaml", "extends: " CONFIGS "/die/A3.yaml\nname: own\n"
                           "aiv_port: { write: 40B/cyc }\n");
    return 0;
}

static int leave_folder(void **state) {
    static const char *const names[] = {
        "work.yaml", "true.yaml", "own.yaml",   "copies.yaml",      "work_cases.yaml",
        "o.yaml",    "o.md",      "other.yaml", "dies/die/A3.yaml", "dies/die/base_220.yaml"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(names[i]);
    rmdir("dies/die");
    rmdir("dies");
    return chdir("/") != 0 || rmdir(folder) != 0;
}

static double simulate(const char *graph, const char *die, const char *const *sets, int count) {
    npusim_run_options o = {
        .input = {.graph = graph, .die = die, .config = CONFIGS, .sets = sets, .set_count = count}};
    npu_error err = {{0}};
    double makespan = 0;
    if (npusim_run(&o, NULL, NULL, &makespan, &err) != NPU_OK)
        print_error("%s\n", err.text);
    return makespan;
}

// In a process of its own: the memory that a simulation leaves behind makes every later fork slow.
static double measure(const char *graph, const char *die, const char *const *sets, int count) {
    int ends[2];
    double makespan = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        makespan = simulate(graph, die, sets, count);
        _exit(write(ends[1], &makespan, sizeof makespan) != sizeof makespan);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &makespan, sizeof makespan), sizeof makespan);
    close(ends[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(makespan > 0);
    return makespan;
}

// Two files, each of what one of the changed numbers decides.
static void write_cases(const char *die) {
    char text[2048];
    static const char *const rows[] = {"rows=48"};
    double eight = measure(COPY, "true.yaml", NULL, 0), more = measure(COPY, "true.yaml", rows, 1);
    snprintf(text, sizeof text,
             "group: copies\ndie: %s\ngraph: " COPY "\ncases:\n"
             "  - { case: eight, read: makespan, measured: %.9gns, row: r1 }\n"
             "  - { case: more, set: { rows: 48 }, read: makespan, measured: %.9gns, band: 1%% }\n"
             "not_simulated: [{ row: r2, reason: a | b }]\n",
             die, eight, more);
    write_text("copies.yaml", text);
    snprintf(text, sizeof text,
             "group: work\ndie: %s\ngraph: work.yaml\ncases:\n"
             "  - { case: work, read: makespan, measured: %.9gns }\n",
             die, measure("work.yaml", "true.yaml", NULL, 0));
    write_text("work_cases.yaml", text);
}

static const char *const both_files[] = {"copies.yaml", "work_cases.yaml"};

static npusim_calibrate_options options_of(const char *const *fits) {
    return (npusim_calibrate_options){.files = both_files,
                                      .file_count = 2,
                                      .config = CONFIGS,
                                      .fits = fits,
                                      .fit_count = fits != NULL,
                                      .jobs = 2,
                                      .evaluations = 40,
                                      .no_leave_out = true};
}

typedef struct texts {
    char report[16384], warn[4096];
} texts;

static void text_of(FILE *file, char *text, size_t size) {
    assert_non_null(file);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

static npu_status run(const npusim_calibrate_options *options, texts *t, npu_error *err) {
    FILE *report = tmpfile(), *warn = tmpfile();
    assert_non_null(report);
    assert_non_null(warn);
    err->text[0] = '\0';
    npu_status status = npusim_calibrate(options, report, warn, err);
    text_of(report, t->report, sizeof t->report);
    text_of(warn, t->warn, sizeof t->warn);
    return status;
}

static void run_well(const npusim_calibrate_options *options, texts *t) {
    npu_error err;
    npu_status status = run(options, t, &err);
    if (status)
        print_error("%s%s%s\n", t->report, t->warn, err.text);
    assert_int_equal(status, NPU_OK);
    assert_string_equal(t->warn, "");
}

// The number after `name` in the report's column (1: before, 2: after).
static double value_of(const texts *t, const char *name, int column) {
    char line[64], before[64], after[64];
    const char *at = strstr(t->report, name);
    assert_non_null(at);
    assert_int_equal(sscanf(at, "%63s %63s %63s", line, before, after), 3);
    return strtod(column == 1 ? before : after, NULL);
}

static bool within(double value, double expected, double share) {
    return value > expected * (1 - share) && value < expected * (1 + share);
}

static void has(const char *text, const char *part) {
    if (strstr(text, part) == NULL)
        print_error("no '%s' in:\n%s\n", part, text);
    assert_non_null(strstr(text, part));
}

// ---- finding numbers again -----------------------------------------------------------------

static void what_was_changed_is_found_again(void **state) {
    (void)state;
    static const char *const fits[] = {"scalar.op,aiv_port.write"};
    npusim_calibrate_options options = options_of(fits);
    static texts t;
    write_cases("A3");
    options.evaluations = 70;
    options.out = "o.yaml";
    options.report = "o.md";
    run_well(&options, &t);
    assert_true(within(value_of(&t, "scalar.op ", 2), 7.3, 0.01));
    assert_true(within(value_of(&t, "aiv_port.write ", 2), 19.7, 0.01));
    has(t.report, "A3: 2 parameters, 3 figures of 3 cases, ");
    assert_null(strstr(t.report, "not determined"));
    // The file is a die, which predicts the measurements without a further fit.
    double now = measure(COPY, "o.yaml", NULL, 0);
    assert_true(within(now, measure(COPY, "true.yaml", NULL, 0), 0.01));
    now = measure("work.yaml", "o.yaml", NULL, 0);
    assert_true(within(now, measure("work.yaml", "true.yaml", NULL, 0), 0.01));
    static char text[16384];
    text_of(fopen("o.yaml", "r"), text, sizeof text);
    has(text, "name: \"o\"\nscalar:\n  op: [7.");
    has(text, "cyc, low, \"calibrated on 3 figures of 3 cases: in-sample median 0.");
    has(text, "\naiv_port:\n  write: [19.");
    text_of(fopen("o.md", "r"), text, sizeof text);
    has(text, "# Accuracy of the die A3\n");
    has(text, "| `scalar.op` | ");
    has(text, "\nEvery figure is inside its band.\n");
    has(text, "\nAll parameters are determined by these cases.\n");
    has(text, "| copies | r2 | a \\| b |\n");
    has(text, "| copies | 2 | ");
    has(text, " | 1 of 2 | 0 of 1 |\n"); // rows, outside
}

static void what_cases_do_not_determine_is_named_and_kept(void **state) {
    (void)state;
    static const char *const fits[] = {"aiv_port.write", "cube.head"};
    npusim_calibrate_options options = options_of(fits);
    static texts t;
    write_cases("A3");
    options.file_count = 1;
    options.fit_count = 2;
    options.out = "o.yaml";
    run_well(&options, &t);
    const char *line = strstr(t.report, "cube.head ");
    assert_non_null(line);
    const char *end = strstr(line, "  not determined by these cases\n");
    assert_non_null(end);
    assert_null(memchr(line, '\n', (size_t)(end - line)));
    assert_true(value_of(&t, "cube.head ", 1) == value_of(&t, "cube.head ", 2));
    assert_true(within(value_of(&t, "aiv_port.write ", 2), 19.7, 0.01));
    static char text[4096];
    text_of(fopen("o.yaml", "r"), text, sizeof text);
    has(text, "# cube.head stays ");
    assert_null(strstr(text, "\ncube:"));
}

static void bounds_are_kept(void **state) {
    (void)state;
    static const char *const fits[] = {"aiv_port.write"};
    static const char *const bounds[] = {"aiv_port.write=26.12B/cyc..80B/cyc"};
    npusim_calibrate_options options = options_of(fits);
    static texts t;
    write_cases("A3");
    options.file_count = 1;
    options.bounds = bounds;
    options.bound_count = 1;
    run_well(&options, &t);
    assert_true(value_of(&t, "aiv_port.write ", 2) == 26.12);
    has(t.report, "26.12B/cyc .. 80B/cyc");
    has(t.report, "  at its bound\n");
}

static void without_a_fit_it_reports(void **state) {
    (void)state;
    npusim_calibrate_options options = options_of(NULL);
    static texts t;
    static char text[16384];
    write_cases("A3");
    options.report = "o.md";
    run_well(&options, &t);
    has(t.report, "A3: 0 parameters, 3 figures of 3 cases, 1 trial\n");
    text_of(fopen("o.md", "r"), text, sizeof text);
    has(text, "## Verdicts\n");
    has(text, "## Figures outside their band\n");
    has(text, "| copies | more: makespan | ");
    assert_null(strstr(text, "## The fit"));
    options.die = "true.yaml"; // extends A3, so that A3's cases run on it
    run_well(&options, &t);
    has(t.report, "all                                             3       0.0%\n");
}

// ---- which die a case gets -----------------------------------------------------------------

static void another_die_keeps_its_own_numbers(void **state) {
    (void)state;
    static const char *const fits[] = {"aiv_port.write,scalar.op"};
    npusim_calibrate_options options = options_of(fits);
    static texts t;
    write_cases("own.yaml");
    options.evaluations = 15;
    run_well(&options, &t);
    const char *line = strstr(t.report, "aiv_port.write ");
    assert_non_null(line);
    has(line, "    +0.00%    +0.00%  not determined by these cases\n");
    assert_true(within(value_of(&t, "scalar.op ", 2), 7.3, 0.02));
}

static void copy_file(const char *from, const char *to) {
    static char text[65536];
    text_of(fopen(from, "r"), text, sizeof text);
    write_text(to, text);
}

static void a_die_of_another_base_takes_no_part(void **state) {
    (void)state;
    static const char *const fits[] = {"aiv_port.write"};
    npusim_calibrate_options options = options_of(fits);
    npu_error err;
    static texts t;
    assert_int_equal(system("mkdir -p dies/die"), 0);
    copy_file(CONFIGS "/die/base_220.yaml", "dies/die/base_220.yaml");
    copy_file(CONFIGS "/die/A3.yaml", "dies/die/A3.yaml");
    write_cases("dies/die/A3.yaml");
    options.file_count = 1;
    assert_int_equal(run(&options, &t, &err), NPU_BAD_INPUT);
    assert_string_equal(err.text,
                        "nothing to fit to: no figure is of this die or of one with its base");
}

// ---- leaving groups out --------------------------------------------------------------------

// The last number in the first line that begins with `name`, in percent.
static double left_out_of(const texts *t, const char *name) {
    const char *at = strstr(t->report, name);
    if (at == NULL || strchr(at, '\n') == NULL)
        return -1; // no such line; no figure has this value
    const char *end = strchr(at, '\n');
    while (end > at && end[-1] != ' ')
        end--;
    return strtod(end, NULL);
}

// Three figures say 7.3 cycles, 82.9 us, and one says 5, 57.9 us (20000 cycles are 10.87 us). The
// fit to all takes what most say, which is also the median. Without the three, the other one is
// all there is: 57.9 / 82.9 is 30.2 % too little. Without the one, 82.9 / 57.9 is 43.2 % too much.
static void what_is_left_out_pulls_no_longer(void **state) {
    (void)state;
    static const char *const fits[] = {"scalar.op"};
    static const char *const files[] = {"work_cases.yaml", "other.yaml"};
    npusim_calibrate_options options = options_of(fits);
    static texts t;
    char text[2048];
    double most = measure("work.yaml", "true.yaml", NULL, 0);
    write_text("five.yaml", "extends: " CONFIGS "/die/A3.yaml\nscalar: { op: 5cyc }\nname: f\n");
    snprintf(text, sizeof text,
             "group: most\ndie: A3\ngraph: work.yaml\ncases:\n"
             "  - { case: a, read: makespan, measured: %.9gns }\n"
             "  - { case: b, read: makespan, measured: %.9gns }\n"
             "  - { case: c, read: makespan, measured: %.9gns }\n",
             most, most, most);
    write_text("work_cases.yaml", text);
    snprintf(text, sizeof text,
             "group: odd\ndie: A3\ngraph: work.yaml\ncases:\n"
             "  - { case: d, read: makespan, measured: %.9gns }\n",
             measure("work.yaml", "five.yaml", NULL, 0));
    write_text("other.yaml", text);
    unlink("five.yaml");
    options.files = files;
    options.no_leave_out = false;
    run_well(&options, &t);
    assert_true(within(value_of(&t, "scalar.op ", 2), 7.3, 0.01));
    assert_true(within(left_out_of(&t, "most "), 30.2, 0.01));
    assert_true(within(left_out_of(&t, "odd "), 43.2, 0.01));
}

// ---- the same bytes ------------------------------------------------------------------------

static void jobs_do_not_change_the_output(void **state) {
    (void)state;
    static const char *const fits[] = {"aiv_port.write,mte.per_row"};
    npusim_calibrate_options options = options_of(fits);
    static texts one, four;
    static char die[2][4096], report[2][16384];
    write_cases("A3");
    options.evaluations = 8;
    options.no_leave_out = false;
    options.out = "o.yaml";
    options.report = "o.md";
    for (int i = 0; i < 2; i++) {
        options.jobs = i == 0 ? 1 : 4;
        run_well(&options, i == 0 ? &one : &four);
        text_of(fopen("o.yaml", "r"), die[i], sizeof die[i]);
        text_of(fopen("o.md", "r"), report[i], sizeof report[i]);
    }
    assert_string_equal(one.report, four.report);
    assert_string_equal(die[0], die[1]);
    assert_string_equal(report[0], report[1]);
    has(one.report, "   left out\n");
}

// ---- what is wrong -------------------------------------------------------------------------

static const struct {
    const char *fit, *bounds, *out, *message;
} wrong[] = {
    {"l2.mis_latency", NULL, NULL,
     "unknown die field 'l2.mis_latency' in --fit; did you mean 'l2.miss_latency'?"},
    {"l2", NULL, NULL, "unknown die field 'l2' in --fit"},
    {"l2.line,,l2.size", NULL, NULL, "--fit has an empty name"},
    {"l2.line,l2.size,l2.line", NULL, NULL, "--fit names l2.line twice"},
    {"l2.line", "l2.size=1MiB..2MiB", NULL,
     "--bounds names 'l2.size', which is not in --fit; did you mean 'l2.line'?"},
    {"l2.line", "l2.line", NULL, "--bounds is NAME=LOW..HIGH, not 'l2.line'"},
    {"l2.line", "l2.line=64B", NULL, "--bounds is NAME=LOW..HIGH, not 'l2.line=64B'"},
    {"l2.line", "l2.line=128B..64B", NULL, "--bounds of l2.line: 128B is not below 64B"},
    {"l2.line", "l2.line=129B..255B", NULL,
     "--bounds of l2.line: it is a power of two, and there is none in between"},
    {"l2.line", "l2.line=16B..256B", NULL, "--bounds of l2.line: it may be from 32B to 64KiB"},
    {"hbm.efficiency", "hbm.efficiency=0.5..1.5", NULL,
     "--bounds of hbm.efficiency: it may be from 1e-09 to 1"},
    {"l2.miss_latency", "l2.miss_latency=0ns..1us", NULL,
     "--bounds of l2.miss_latency must be above 0: it is fitted by factors"},
    {"l2.miss_latency", "l2.miss_latency=1..2", NULL,
     "--bounds of l2.miss_latency must be a number with ns, us, ms or s (for example 140ns), not "
     "'1'"},
    {"l2.line", NULL, "o.yml", "--out 'o.yml' must end in .yaml: --die takes no other file"},
    {NULL, NULL, "o.yaml", "--out needs --fit: no field is fitted"},
    {"l2.line", NULL, CONFIGS "/die/base_220.yaml",
     "--out " CONFIGS "/die/base_220.yaml would replace a file that the die A3 is made of"},
};

static void wrong_options_come_before_all_work(void **state) {
    (void)state;
    int bad = 0;
    write_cases("A3");
    unlink("o.yaml");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        npusim_calibrate_options options = options_of(wrong[i].fit != NULL ? &wrong[i].fit : NULL);
        npu_error err;
        static texts t;
        options.bounds = &wrong[i].bounds;
        options.bound_count = wrong[i].bounds != NULL;
        options.out = wrong[i].out;
        npu_status status = run(&options, &t, &err);
        bool right = status == NPU_BAD_INPUT && strcmp(err.text, wrong[i].message) == 0 &&
                     t.report[0] == '\0';
        if (!right)
            print_error("expected: %s\ngot %d: %s\n", wrong[i].message, status, err.text);
        bad += !right;
    }
    assert_int_equal(bad, 0);
    assert_int_not_equal(access("o.yaml", F_OK), 0);
}

static void a_wrong_case_leaves_the_others(void **state) {
    (void)state;
    static const char *const fits[] = {"scalar.op"};
    static const char *const files[] = {"work_cases.yaml", "other.yaml"};
    npusim_calibrate_options options = options_of(fits);
    npu_error err;
    static texts t;
    write_cases("A3");
    write_text("other.yaml", "group: other\ndie: A4\ngraph: work.yaml\ncases:\n"
                             "  - { case: a, read: makespan, measured: 1us }\n"
                             "  - { case: b, die: A3, read: time of wrok, measured: 1us }\n");
    options.files = files;
    assert_int_equal(run(&options, &t, &err), NPU_BAD_INPUT);
    assert_string_equal(t.warn,
                        "other.yaml:2:6: no die 'A4' in " CONFIGS "/die; did you mean 'A3'?\n"
                        "other.yaml:6:39: no kernel 'wrok' ran; did you mean 'work'?\n");
    assert_string_equal(err.text, "2 cases or figures could not be simulated");
    assert_true(within(value_of(&t, "scalar.op ", 2), 7.3, 0.01));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_changed_is_found_again),
        cmocka_unit_test(what_cases_do_not_determine_is_named_and_kept),
        cmocka_unit_test(bounds_are_kept),
        cmocka_unit_test(without_a_fit_it_reports),
        cmocka_unit_test(another_die_keeps_its_own_numbers),
        cmocka_unit_test(a_die_of_another_base_takes_no_part),
        cmocka_unit_test(what_is_left_out_pulls_no_longer),
        cmocka_unit_test(jobs_do_not_change_the_output),
        cmocka_unit_test(wrong_options_come_before_all_work),
        cmocka_unit_test(a_wrong_case_leaves_the_others),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
