// SPDX-License-Identifier: Apache-2.0
// The text of every output, and baselines.
#include <jansson.h>
#include <unistd.h>

#include "baseline.h"
#include "output.h"
#include "test_validate.h"

static npu_cases make_cases(void) {
    npu_cases cases = {0};
    add_group(&cases, "copies, \"quoted\"");
    add_case(&cases, "rows of 512 B");
    add_variant(&cases, "before");
    cases.variants[0].source = "a paper";
    npu_figure *f = add_figure(&cases, "time of copy", 56.3, 61.93);
    f->row = "R1";
    f->band = 0.15;
    add_variant(&cases, "after");
    f = add_figure(&cases, "time of copy", 36, 45);
    f->band = 0.15;
    f->spread = 0.03;
    f = add_figure(&cases, "read rate of copy", 1.6, 1.28);
    f->unit = "TB/s";
    f->dimension = NPU_DIM_RATE;
    add_skipped(&cases, "R2", "the shapes are not given");
    add_skipped(&cases, "R4", "it waits for a host");
    add_skipped(&cases, "R3", "the shapes are not given");
    add_group(&cases, "others");
    add_case(&cases, "counts");
    add_variant(&cases, NULL);
    f = add_figure(&cases, "blocks of k", 48, 48);
    f->unit = "";
    f->scale = 1;
    f->dimension = NPU_DIM_COUNT;
    add_figure(&cases, "time of j", 5, -1);
    return cases;
}

// What `write` wrote.
static char *text_of(FILE *file) {
    static char text[65536];
    rewind(file);
    size_t n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    fclose(file);
    return text;
}

static FILE *new_file(void) {
    FILE *file = tmpfile();
    assert_non_null(file);
    return file;
}

static const char report[] =
    "== copies, \"quoted\"\n"
    "                                                           measured      predicted    error\n"
    "rows of 512 B\n"
    "  before time of copy                                      56.30 us       61.93 us   +10.0%  "
    "ok\n"
    "  after  time of copy                                      36.00 us       45.00 us   +25.0%  "
    "OUT of 15%\n"
    "  after  read rate of copy                               1.600 TB/s     1.280 TB/s   -20.0%\n"
    "  before -> after                                            x0.639         x0.727   +13.6%  "
    "right\n"
    "  best                                                        after          after           "
    "right\n"
    "not simulated\n"
    "  the shapes are not given:\n"
    "      R2, R3\n"
    "  it waits for a host:\n"
    "      R4\n"
    "  error     3 figures, median 20.0%, worst 25.0% (rows of 512 B, after: time of copy)\n"
    "  speed-up  direction right in 1 of 1 (100%), median ratio error 13.6%\n"
    "  choice    right in 1 of 1 (100%)\n"
    "  coverage  1 of 4 (25%) rows simulated\n"
    "  bands     1 of 2 figures outside\n"
    "\n"
    "== others\n"
    "                                                           measured      predicted    error\n"
    "counts\n"
    "  blocks of k                                                    48             48    +0.0%\n"
    "  time of j                                                5.000 us         failed\n"
    "  error     1 figure, median 0.0%, worst 0.0% (counts: blocks of k)\n"
    "  failed    1 figure\n"
    "\n";

static const char all[] =
    "== all\n"
    "  error     4 figures, median 15.0%, 90th percentile 23.5%, worst 25.0% (rows of 512 B, "
    "after: time of copy)\n"
    "  speed-up  direction right in 1 of 1 (100%), median ratio error 13.6%\n"
    "  choice    right in 1 of 1 (100%)\n"
    "  coverage  1 of 4 (25%) rows simulated\n"
    "  bands     1 of 2 figures outside\n"
    "  failed    1 figure\n";

static void the_report(void **state) {
    (void)state;
    npu_cases cases = make_cases();
    npu_verdicts verdicts;
    assert_int_equal(npu_verdicts_make(&cases, &verdicts, NULL), NPU_OK);
    char whole[sizeof report + sizeof all];
    snprintf(whole, sizeof whole, "%s%s", report, all);
    FILE *file = new_file();
    npu_validation_print(file, &cases, &verdicts, false);
    assert_string_equal(text_of(file), whole);
    file = new_file();
    npu_validation_print(file, &cases, &verdicts, true);
    const char *brief = text_of(file);
    assert_null(strstr(brief, "measured"));
    assert_null(strstr(brief, "R2"));
    assert_non_null(strstr(brief, all));
    npu_verdicts_free(&verdicts);
    npu_cases_free(&cases);
}

static void long_names_are_cut(void **state) {
    (void)state;
    npu_cases cases = {0};
    npu_verdicts verdicts;
    add_group(&cases, "g");
    add_case(&cases, "c");
    add_variant(&cases, "a variant whose name goes on and on and never ends at all");
    add_figure(&cases, "time of k", 1, 1);
    assert_int_equal(npu_verdicts_make(&cases, &verdicts, NULL), NPU_OK);
    FILE *file = new_file();
    npu_validation_print(file, &cases, &verdicts, false);
    assert_non_null(strstr(text_of(file), "\n  a variant whose name goes on and on and never en..  "
                                          "     1.000 us       1.000 us    +0.0%\n"));
    npu_verdicts_free(&verdicts);
    npu_cases_free(&cases);
}

static void the_csv_file(void **state) {
    (void)state;
    npu_cases cases = make_cases();
    FILE *file = new_file();
    assert_int_equal(npu_validation_csv(file, &cases, NULL), NPU_OK);
    assert_string_equal(
        text_of(file),
        "group,case,variant,row,read,unit,measured,predicted,error,spread,band,verdict,die,l2,"
        "source,file,line\n"
        "\"copies, \"\"quoted\"\"\",rows of 512 B,before,R1,time of copy,us,56.3,61.93,0.1,,0.15,"
        "inside,A3,cold,a paper,c.yaml,11\n"
        "\"copies, \"\"quoted\"\"\",rows of 512 B,after,,time of copy,us,36,45,0.25,0.03,0.15,"
        "outside,A3,cold,,c.yaml,12\n"
        "\"copies, \"\"quoted\"\"\",rows of 512 B,after,,read rate of copy,TB/s,1.6,1.28,-0.2,,,,"
        "A3,cold,,c.yaml,13\n"
        "others,counts,,,blocks of k,,48,48,0,,,,A3,cold,,c.yaml,21\n"
        "others,counts,,,time of j,us,5,,,,,failed,A3,cold,,c.yaml,22\n");
    npu_cases_free(&cases);
}

static double number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void the_json_file(void **state) {
    (void)state;
    npu_cases cases = make_cases();
    npu_verdicts verdicts;
    assert_int_equal(npu_verdicts_make(&cases, &verdicts, NULL), NPU_OK);
    FILE *file = new_file();
    assert_int_equal(npu_validation_json(file, &cases, &verdicts, NULL), NPU_OK);
    json_t *root = json_loads(text_of(file), 0, NULL);
    assert_non_null(root);
    json_t *groups = json_object_get(root, "groups");
    assert_int_equal(json_array_size(groups), 2);
    json_t *group = json_array_get(groups, 0);
    json_t *c = json_array_get(json_object_get(group, "cases"), 0);
    json_t *after = json_array_get(json_object_get(c, "variants"), 1);
    json_t *figures = json_object_get(after, "figures");
    assert_int_equal(json_array_size(figures), 2);
    json_t *f = json_array_get(figures, 0);
    assert_float_equal(number(f, "measured"), 36, 0);
    assert_float_equal(number(f, "predicted"), 45, 0);
    assert_float_equal(number(f, "error"), 0.25, 0);
    assert_true(json_is_false(json_object_get(f, "inside")));
    json_t *pair = json_array_get(json_object_get(c, "pairs"), 0);
    assert_string_equal(json_string_value(json_object_get(pair, "from")), "before");
    assert_float_equal(number(pair, "predicted"), 45 / 61.93, 1e-9);
    assert_true(json_is_true(json_object_get(pair, "direction")));
    json_t *choice = json_object_get(c, "choice");
    assert_string_equal(json_string_value(json_object_get(choice, "predicted")), "after");
    json_t *skipped = json_array_get(json_object_get(group, "not_simulated"), 0);
    assert_string_equal(json_string_value(json_object_get(skipped, "row")), "R2");
    json_t *score = json_object_get(root, "score");
    assert_float_equal(number(json_object_get(score, "error"), "median"), 0.15, 1e-9);
    assert_float_equal(number(json_object_get(score, "coverage"), "rows_known"), 4, 0);
    assert_float_equal(number(score, "failed"), 1, 0);
    json_t *missing = json_array_get(
        json_object_get(
            json_array_get(
                json_object_get(
                    json_array_get(json_object_get(json_array_get(groups, 1), "cases"), 0),
                    "variants"),
                0),
            "figures"),
        1);
    assert_null(json_object_get(missing, "predicted"));
    json_decref(root);
    npu_verdicts_free(&verdicts);
    npu_cases_free(&cases);
}

static void the_plot_has_every_figure(void **state) {
    (void)state;
    npu_cases cases = make_cases();
    cases.figures[3].dimension = NPU_DIM_RATIO; // has no place there
    FILE *file = new_file();
    assert_int_equal(npu_scatter_script(&cases, file, NULL), NPU_OK);
    const char *script = text_of(file);
    assert_non_null(strstr(script, "set logscale xy\n"));
    assert_non_null(strstr(script, "set xrange [10:10000]\nset yrange [10:10000]\n"));
    assert_non_null(strstr(script, "$group0 << EOD\n56.3 61.93\n36 45\n1600 1280\nEOD\n"));
    assert_non_null(strstr(script, "$group1 << EOD\nEOD\n"));
    assert_non_null(strstr(script, "($2 * 0.9):($2 * 1.1)"));
    assert_non_null(strstr(script, "title 'copies, _quoted_'"));
    assert_null(strstr(script, "others"));
    npu_cases_free(&cases);
}

// ---- baselines -----------------------------------------------------------------------------

static char path[] = "/tmp/npusim-test-baseline-XXXXXX";

static void write_text(const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int make_path(void **state) {
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 || close(fd) != 0;
}

static int remove_path(void **state) {
    (void)state;
    return unlink(path);
}

// Compares `cases` with what `before` gave.
static npu_regressions compare(const npu_cases *before, const npu_cases *cases, const char **text) {
    FILE *file = fopen(path, "w");
    npu_baseline baseline;
    npu_regressions found;
    assert_non_null(file);
    assert_int_equal(npu_baseline_write(file, before, NULL), NPU_OK);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(npu_baseline_read(path, &baseline, NULL), NPU_OK);
    file = new_file();
    assert_int_equal(npu_baseline_compare(&baseline, cases, file, &found, NULL), NPU_OK);
    *text = text_of(file);
    npu_baseline_free(&baseline);
    return found;
}

static void a_baseline_is_a_line_per_figure(void **state) {
    (void)state;
    npu_cases cases = make_cases();
    FILE *file = new_file();
    cases.figures[0].predicted = 61.93 + 1e-6; // 9 digits are enough to see it
    assert_int_equal(npu_baseline_write(file, &cases, NULL), NPU_OK);
    assert_string_equal(
        text_of(file),
        "# npusim validation baseline: predicted, error, figure\n"
        "6.19300010e+01 +10.0000% copies, \"quoted\" | rows of 512 B | before | time of copy\n"
        "4.50000000e+01 +25.0000% copies, \"quoted\" | rows of 512 B | after | time of copy\n"
        "1.28000000e+00 -20.0000% copies, \"quoted\" | rows of 512 B | after | read rate of copy\n"
        "4.80000000e+01 +0.0000% others | counts | - | blocks of k\n");
    npu_cases_free(&cases);
}

static void nothing_changed(void **state) {
    (void)state;
    npu_cases cases = make_cases();
    const char *text;
    npu_regressions r = compare(&cases, &cases, &text);
    assert_string_equal(text, "\n== baseline\n"
                              "  0 of 4 predictions moved by more than 0.1%, 0 errors grew by more "
                              "than 1%; 0 figures are new, 0 are gone\n");
    assert_int_equal(r.drifted + r.worse + r.fresh + r.gone, 0);
    npu_cases_free(&cases);
}

static void drift_and_worse_errors_are_told_apart(void **state) {
    (void)state;
    npu_cases before = make_cases(), now = make_cases();
    const char *text;
    now.figures[0].predicted = 61.93 * 0.9989;   // moved, and better
    now.figures[1].predicted = 45 * 1.0009;      // hardly moved
    now.figures[2].predicted = 1.28 * 0.98;      // moved, and worse by 1.6 points
    now.figures[3].measured = 48.0 * 100 / 98.5; // measured again: the same prediction is worse
    npu_regressions r = compare(&before, &now, &text);
    assert_int_equal(r.drifted, 2);
    assert_int_equal(r.worse, 2);
    assert_string_equal(
        text, "\n== baseline\n"
              "  rows of 512 B, before: time of copy\n"
              "    61.93 us -> 61.86 us (-0.11%), error +10.0% -> +9.9%\n"
              "  rows of 512 B, after: read rate of copy\n"
              "    1.280 TB/s -> 1.254 TB/s (-2.00%), error -20.0% -> -21.6%, WORSE\n"
              "  counts: blocks of k\n"
              "    48 -> 48 (+0.00%), error +0.0% -> -1.5%, WORSE\n"
              "  2 of 4 predictions moved by more than 0.1%, 2 errors grew by more than 1%; 0 "
              "figures are new, 0 are gone\n");
    npu_cases_free(&before);
    npu_cases_free(&now);
}

static void what_only_one_has_is_counted(void **state) {
    (void)state;
    npu_cases before = make_cases(), now = make_cases();
    const char *text;
    before.figures[0].read.text = "time of copies";
    before.figures[3].known = false;
    npu_regressions r = compare(&before, &now, &text);
    assert_int_equal(r.drifted + r.worse, 0);
    assert_int_equal(r.fresh, 2);
    assert_int_equal(r.gone, 1);
    npu_cases_free(&before);
    npu_cases_free(&now);
}

static void a_prediction_from_0_has_drifted(void **state) {
    (void)state;
    npu_cases before = make_cases(), now = make_cases();
    const char *text;
    before.figures[3].predicted = 0;
    assert_int_equal(compare(&before, &now, &text).drifted, 1);
    before.figures[3].predicted = now.figures[3].predicted = 0;
    assert_int_equal(compare(&before, &now, &text).drifted, 0);
    npu_cases_free(&before);
    npu_cases_free(&now);
}

static void a_wrong_baseline_is_an_error(void **state) {
    (void)state;
    static const char *const lines[] = {"what",        "1.0 5% ",    "1.0 5 key",  "x 5% key",
                                        "-1.0 5% key", "1.0  % key", "inf 5% key", "1.0% 5% key"};
    npu_baseline baseline;
    npu_error err = {{0}};
    char text[512], message[512];
    write_text("predictions\n");
    assert_int_equal(npu_baseline_read(path, &baseline, &err), NPU_BAD_INPUT);
    snprintf(message, sizeof message,
             "%s:1:1: a baseline begins with '# npusim validation baseline: predicted, error, "
             "figure'",
             path);
    assert_string_equal(err.text, message);
    npu_baseline_free(&baseline);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        err.text[0] = '\0';
        snprintf(text, sizeof text,
                 "# npusim validation baseline: predicted, error, figure\n\n# note\n%s\n",
                 lines[i]);
        write_text(text);
        assert_int_equal(npu_baseline_read(path, &baseline, &err), NPU_BAD_INPUT);
        snprintf(message, sizeof message,
                 "%s:4:1: a line of a baseline is 'PREDICTED ERROR%% FIGURE', not '%s'", path,
                 lines[i]);
        assert_string_equal(err.text, message);
        npu_baseline_free(&baseline);
    }
    err.text[0] = '\0';
    assert_int_equal(npu_baseline_read("/no/such/file", &baseline, &err), NPU_IO);
    assert_string_equal(err.text, "cannot read /no/such/file: No such file or directory");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_report),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(the_csv_file),
        cmocka_unit_test(the_json_file),
        cmocka_unit_test(the_plot_has_every_figure),
        cmocka_unit_test(a_baseline_is_a_line_per_figure),
        cmocka_unit_test(nothing_changed),
        cmocka_unit_test(drift_and_worse_errors_are_told_apart),
        cmocka_unit_test(what_only_one_has_is_counted),
        cmocka_unit_test(a_prediction_from_0_has_drifted),
        cmocka_unit_test(a_wrong_baseline_is_an_error),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
