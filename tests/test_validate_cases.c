// SPDX-License-Identifier: Apache-2.0
// Case files: what a good one becomes, and what is said about a wrong one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cases.h"
#include "job.h"

// Files are written into a folder of their own, as "c.yaml", so that places are short.
static char folder[] = "/tmp/npusim-test-cases-XXXXXX";

static int enter_folder(void **state) {
    (void)state;
    return mkdtemp(folder) == NULL || chdir(folder) != 0;
}

static int leave_folder(void **state) {
    (void)state;
    unlink("c.yaml");
    unlink("d.yaml");
    return chdir("/") != 0 || rmdir(folder) != 0;
}

static void write_text(const char *name, const char *text) {
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void read_more(npu_cases *cases, npu_warnings *problems, const char *name,
                      const char *text) {
    npu_error err = {{0}};
    write_text(name, text);
    npu_status status = npu_cases_read(cases, name, problems, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, NPU_OK);
}

static npu_cases read_good(const char *text) {
    npu_cases cases = {0};
    npu_warnings problems = {0};
    read_more(&cases, &problems, "c.yaml", text);
    for (int i = 0; i < problems.count; i++)
        print_error("%s\n", problems.lines[i]);
    assert_int_equal(problems.count, 0);
    assert_int_equal(cases.rejected, 0);
    npu_warnings_free(&problems);
    return cases;
}

// ---- good files ----------------------------------------------------------------------------

static void a_case_of_its_own(void **state) {
    (void)state;
    npu_cases cases = read_good("group: g\n"
                                "cases:\n"
                                "  - case: one\n"
                                "    source: a paper\n"
                                "    assumes: a cold cache\n"
                                "    die: A3\n"
                                "    graph: sub/x.yaml\n"
                                "    set: { T: 8, n: 2 * 4 }\n"
                                "    l2: warm\n"
                                "    read: time of proj\n"
                                "    measured: 56.3us\n"
                                "    row: R1\n"
                                "    band: 15%\n"
                                "    spread: 2%\n"
                                "    per: 4\n");
    assert_int_equal(cases.case_count, 1);
    assert_int_equal(cases.variant_count, 1);
    assert_int_equal(cases.figure_count, 1);
    assert_int_equal(cases.job_count, 1);
    const npu_variant *v = &cases.variants[0];
    assert_null(v->name);
    assert_string_equal(v->die, "A3");
    assert_string_equal(v->graph, "sub/x.yaml");
    assert_null(v->graph_text);
    assert_string_equal(v->source, "a paper");
    assert_string_equal(v->assumes, "a cold cache");
    assert_true(v->l2_warm);
    assert_int_equal(v->set_count, 2);
    assert_string_equal(v->sets[0], "T=8");
    assert_string_equal(v->sets[1], "n=2 * 4");
    const npu_figure *f = &cases.figures[0];
    assert_string_equal(f->row, "R1");
    assert_string_equal(f->unit, "us");
    assert_true(f->measured == 56.3 && f->scale == 1000);
    assert_true(f->band == 0.15 && f->spread == 0.02 && f->per == 4);
    assert_int_equal(f->read.quantity, NPU_READ_TIME);
    assert_string_equal(f->read.kernel, "proj");
    assert_int_equal(f->pos.line, 11);
    npu_cases_free(&cases);
}

static void what_is_not_said_has_defaults(void **state) {
    (void)state;
    npu_cases cases = read_good("group: g\n"
                                "die: A3\n"
                                "cases:\n"
                                "  - { case: a, graph: x.yaml, read: makespan, measured: 1ms }\n");
    const npu_figure *f = &cases.figures[0];
    assert_false(cases.variants[0].l2_warm);
    assert_int_equal(cases.variants[0].set_count, 0);
    assert_null(f->row);
    assert_true(f->band < 0 && f->spread == 0 && f->per == 1);
    assert_true(cases.cases[0].pair);
    npu_cases_free(&cases);
}

static void nearer_words_win(void **state) {
    (void)state;
    npu_cases cases = read_good("group: g\n"
                                "die: A3\n"
                                "band: 10%\n"
                                "graph: x.yaml\n"
                                "set: { a: 1, b: 1, c: 1 }\n"
                                "cases:\n"
                                "  - case: one\n"
                                "    set: { b: 2, c: 2 }\n"
                                "    read: makespan\n"
                                "    band: 20%\n"
                                "    variants:\n"
                                "      v: { set: { c: 3, d: 3 }, measured: 1us }\n"
                                "      w: { die: 910B4, l2: warm, measured: 2us, band: 30%,\n"
                                "           figures: [{ read: time of k, measured: 1us }] }\n");
    const npu_variant *v = &cases.variants[0], *w = &cases.variants[1];
    assert_int_equal(v->set_count, 4);
    assert_string_equal(v->sets[0], "a=1");
    assert_string_equal(v->sets[1], "b=2");
    assert_string_equal(v->sets[2], "c=3");
    assert_string_equal(v->sets[3], "d=3");
    assert_string_equal(v->die, "A3");
    assert_string_equal(w->die, "910B4");
    assert_true(w->l2_warm);
    assert_int_equal(cases.figure_count, 3);
    assert_true(cases.figures[0].band == 0.2);
    assert_true(cases.figures[1].band == 0.3);
    assert_true(cases.figures[2].band == 0.3);
    assert_int_equal(cases.figures[2].variant, 1);
    npu_cases_free(&cases);
}

static void the_unit_measured_is_kept(void **state) {
    (void)state;
    static const struct {
        const char *read, *measured, *unit;
        double value, scale;
        npu_dimension dimension;
    } units[] = {
        {"time of k", "140ns", "ns", 140, 1, NPU_DIM_TIME},
        {"time of k", "1.5 ms", "ms", 1.5, 1e6, NPU_DIM_TIME},
        {"sum time of k", "2s", "s", 2, 1e9, NPU_DIM_TIME},
        {"busy vec of k", "88.4cyc", "cyc", 88.4, 1, NPU_DIM_CYCLES},
        {"rate of k", "37GB/s", "GB/s", 37, 1, NPU_DIM_RATE},
        {"read rate of k", "1.6TB/s", "TB/s", 1.6, 1000, NPU_DIM_RATE},
        {"count of k", "48", "", 48, 1, NPU_DIM_COUNT},
        {"blocks of k", "16", "", 16, 1, NPU_DIM_COUNT},
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "group: g\ndie: A3\ngraph: x.yaml\ncases: [{ case: a, read: %s, measured: %s }]\n",
                 units[i].read, units[i].measured);
        npu_cases cases = read_good(text);
        const npu_figure *f = &cases.figures[0];
        assert_string_equal(f->unit, units[i].unit);
        assert_int_equal(f->dimension, units[i].dimension);
        assert_float_equal(f->measured, units[i].value, 1e-12);
        assert_float_equal(f->scale, units[i].scale, 1e-9);
        npu_cases_free(&cases);
    }
}

static void equal_variants_share_a_simulation(void **state) {
    (void)state;
    npu_cases cases = read_good("group: g\n"
                                "die: A3\n"
                                "cases:\n"
                                "  - case: a\n"
                                "    graph: x.yaml\n"
                                "    pair: false\n"
                                "    variants:\n"
                                "      u: { set: { n: 1 }, read: makespan, measured: 1us }\n"
                                "      v: { set: { n: 2 }, read: makespan, measured: 1us }\n"
                                "      w: { set: { n: 1 }, read: time of k, measured: 1us }\n"
                                "      x: { set: { n: 1 }, l2: warm, read: makespan, "
                                "measured: 1us }\n");
    assert_int_equal(cases.job_count, 3);
    assert_int_equal(cases.variants[0].job, 0);
    assert_int_equal(cases.variants[1].job, 1);
    assert_int_equal(cases.variants[2].job, 0);
    assert_int_equal(cases.variants[3].job, 2);
    assert_false(cases.cases[0].pair);
    assert_int_equal(npu_job_figure(&cases, 0, 0), 0);
    assert_int_equal(npu_job_figure(&cases, 0, 1), 2);
    assert_int_equal(npu_job_figure(&cases, 0, 2), -1);
    npu_cases_free(&cases);
}

static void a_ratio_brings_its_base(void **state) {
    (void)state;
    npu_cases cases = read_good("group: g\n"
                                "die: A3\n"
                                "graph: x.yaml\n"
                                "cases:\n"
                                "  - case: a\n"
                                "    variants:\n"
                                "      old way: {}\n"
                                "      new: { set: { n: 2 }, measured: 0.74,\n"
                                "             read: time of k relative to old way }\n"
                                "  - case: b\n"
                                "    read: time of k\n"
                                "    variants:\n"
                                "      one: { measured: 5us }\n"
                                "      two: { measured: 4us, figures: [\n"
                                "        { read: time of k relative to one, measured: 0.8 }] }\n");
    assert_int_equal(cases.cases[0].figure_count, 2);
    const npu_figure *ratio = &cases.figures[0], *base = &cases.figures[1];
    assert_int_equal(ratio->dimension, NPU_DIM_RATIO);
    assert_int_equal(ratio->base, 1);
    assert_true(base->hidden);
    assert_int_equal(base->variant, 0);
    assert_null(base->read.base);
    // What is measured anyway is its own base.
    assert_int_equal(cases.cases[1].figure_count, 3);
    assert_int_equal(cases.figures[4].base, 2);
    assert_false(cases.figures[2].hidden);
    npu_cases_free(&cases);
}

static void a_graph_inside_keeps_its_places(void **state) {
    (void)state;
    npu_cases cases = read_good("group: g\n"
                                "cases:\n"
                                "  - case: \xc3\xa4\n"
                                "    die: A3\n"
                                "    graph:\n"
                                "      params: { n: 1 } # \xc3\xb6\n"
                                "\n"
                                "      tasks: []\n"
                                "    read: makespan\n"
                                "    measured: 1us\n"
                                "  - { case: b, die: A3, read: makespan, measured: 1us, graph: { "
                                "tasks: [] } }\n");
    const npu_variant *v = &cases.variants[0];
    assert_string_equal(v->graph, "c.yaml");
    assert_string_equal(v->graph_text, "\n\n\n\n\n      params: { n: 1 } # \xc3\xb6\n\n"
                                       "      tasks: []\n    ");
    const char *flow = cases.variants[1].graph_text;
    assert_int_equal(strspn(flow, "\n"), 10);
    assert_string_equal(flow + 10 + 62, "{ tasks: [] }");
    npu_cases_free(&cases);
}

static void groups_and_rows_are_joined_over_files(void **state) {
    (void)state;
    npu_cases cases = {0};
    npu_warnings problems = {0};
    read_more(&cases, &problems, "c.yaml",
              "group: g\nnot_simulated: [{ row: R9, reason: too little is said }]\n");
    read_more(&cases, &problems, "d.yaml",
              "group: h\ndie: A3\ngraph: x.yaml\n"
              "cases: [{ case: a, read: makespan, measured: 1us, row: R1 }]\n");
    read_more(&cases, &problems, "c.yaml",
              "group: g\ndie: A3\ngraph: x.yaml\n"
              "cases:\n"
              "  - { case: a, read: makespan, measured: 1us, row: R2 }\n"
              "  - { case: b, read: makespan, measured: 1us, row: R1 }\n"
              "  - { case: c, read: makespan, measured: 1us, row: R9 }\n");
    assert_int_equal(cases.group_count, 2);
    assert_int_equal(cases.case_count, 2);
    assert_int_equal(cases.cases[1].group, 0);
    assert_int_equal(cases.skipped_count, 1);
    assert_string_equal(cases.skipped[0].reason, "too little is said");
    assert_int_equal(problems.count, 2);
    assert_string_equal(problems.lines[0],
                        "c.yaml:6:52: row 'R1' is simulated already, at d.yaml:4:46");
    assert_string_equal(problems.lines[1],
                        "c.yaml:7:52: row 'R9' is not simulated, says c.yaml:2:24");
    npu_warnings_free(&problems);
    npu_cases_free(&cases);
}

static void a_wrong_case_does_not_stop_the_others(void **state) {
    (void)state;
    npu_cases cases = {0};
    npu_warnings problems = {0};
    read_more(&cases, &problems, "c.yaml",
              "group: g\ndie: A3\ngraph: x.yaml\n"
              "cases:\n"
              "  - { case: a, read: makespan, measured: 1us }\n"
              "  - case: b\n"
              "    variants: { v: { read: makespan, measured: 1us }, w: { read: tiem of k } }\n"
              "  - { case: c, read: makespan, measured: 1us }\n");
    assert_int_equal(cases.case_count, 2);
    assert_int_equal(cases.variant_count, 2);
    assert_int_equal(cases.figure_count, 2);
    assert_int_equal(cases.job_count, 2);
    assert_string_equal(cases.cases[1].name, "c");
    assert_int_equal(cases.cases[1].first_figure, 1);
    assert_int_equal(cases.figures[1].case_, 1);
    assert_int_equal(cases.jobs[1].case_, 1);
    assert_int_equal(cases.rejected, 1);
    npu_warnings_free(&problems);
    npu_cases_free(&cases);
}

static void a_file_that_is_not_there_is_an_error(void **state) {
    (void)state;
    npu_cases cases = {0};
    npu_warnings problems = {0};
    npu_error err = {{0}};
    assert_int_equal(npu_cases_read(&cases, "missing.yaml", &problems, &err), NPU_IO);
    assert_string_equal(err.text, "cannot read missing.yaml: No such file or directory");
    npu_cases_free(&cases);
}

// ---- wrong files ---------------------------------------------------------------------------

// Of a whole file.
static const struct {
    const char *text, *message;
} wrong_files[] = {
    {"", "c.yaml: the file is empty"},
    {"[]\n", "c.yaml:1:1: a case file must be a map"},
    {"group: g\ncases: [\n", "c.yaml:3:1: bad YAML: did not find expected node content while "
                             "parsing a flow node"},
    {"cases: []\n", "c.yaml:1:1: a case file needs the key 'group'"},
    {"group: g\n", "c.yaml:1:1: a case file needs the key 'cases' or 'not_simulated'"},
    {"group: ''\ncases: []\n", "c.yaml:1:9: group is empty"},
    {"group: [g]\ncases: []\n", "c.yaml:1:8: group must be a single value"},
    {"group: \"a\\nb\"\ncases: []\n", "c.yaml:1:9: group must be one line"},
    {"group: g\ncase: []\n",
     "c.yaml:2:1: unknown key 'case' in a case file; did you mean 'cases'?"},
    {"group: g\ncases: {}\n", "c.yaml:2:8: cases must be a list"},
    {"group: g\nread: makespan\ncases: []\n", "c.yaml:2:1: unknown key 'read' in a case file"},
    {"group: g\nnot_simulated: 3\n", "c.yaml:2:16: not_simulated must be a list"},
    {"group: g\nnot_simulated: [{ row: R }]\n",
     "c.yaml:2:17: an item of not_simulated needs the key 'reason'"},
    {"group: g\nnot_simulated: [{ row: R, reason: x }, { row: R, reason: y }]\n",
     "c.yaml:2:47: row 'R' is not simulated, says c.yaml:2:24"},
    {"group: g\nnot_simulated: [{ reason: x }]\n",
     "c.yaml:2:17: an item of not_simulated needs the key 'row'"},
    {"group: g\nnot_simulated: [{ row: R, rows: [S], reason: x }]\n",
     "c.yaml:2:24: give 'row' or 'rows', not both"},
    {"group: g\nnot_simulated: [{ rows: S, reason: x }]\n", "c.yaml:2:25: rows must be a list"},
    {"group: g\nnot_simulated: [{ rows: [R, S, R], reason: x }]\n",
     "c.yaml:2:32: row 'R' is not simulated, says c.yaml:2:26"},
    {"group: g\nnot_simulated: [{ row: R, resaon: x }]\n",
     "c.yaml:2:27: unknown key 'resaon' in an item of not_simulated; did you mean 'reason'?"},
};

// Of one case, which stands at line 6, column 5.
static const struct {
    const char *text, *message;
} wrong_cases[] = {
    {"{ }", "c.yaml:6:5: a case needs the key 'case'"},
    {"just text", "c.yaml:6:5: a case must be a map"},
    {"{ case: [] }", "c.yaml:6:13: a case's name must be a single value"},
    {"{ case: good, read: makespan, measured: 1us }",
     "c.yaml:6:13: the group has a case 'good' already, at c.yaml:5:13"},
    {"{ case: a }", "c.yaml:6:5: a case needs the key 'measured'"},
    {"{ case: a, measured: 1us }", "c.yaml:6:5: a case needs the key 'read'"},
    {"{ case: a, read: makespan }", "c.yaml:6:5: a case needs the key 'measured'"},
    {"{ case: a, raed: makespan, measured: 1us }",
     "c.yaml:6:16: unknown key 'raed' in a case; did you mean 'read'?"},
    // readings
    {"{ case: a, read: makepsan, measured: 1us }",
     "c.yaml:6:22: unknown quantity 'makepsan'; did you mean 'makespan'?"},
    {"{ case: a, read: max tiem of k, measured: 1us }",
     "c.yaml:6:22: unknown quantity 'max tiem'; did you mean 'max time'?"},
    {"{ case: a, read: of k, measured: 1us }", "c.yaml:6:22: unknown quantity ''"},
    {"{ case: a, read: '', measured: 1us }", "c.yaml:6:23: 'read' is empty"},
    {"{ case: a, read: [time], measured: 1us }", "c.yaml:6:22: read must be a single value"},
    {"{ case: a, read: time, measured: 1us }",
     "c.yaml:6:26: 'time' needs a kernel: 'time of KERNEL'"},
    {"{ case: a, read: time of, measured: 1us }",
     "c.yaml:6:29: the kernel's name is missing after 'of'"},
    {"{ case: a, read: makespan of k, measured: 1us }", "c.yaml:6:31: 'makespan' is of no kernel"},
    {"{ case: a, read: time of k j, measured: 1us }", "c.yaml:6:32: unexpected 'j'"},
    {"{ case: a, read: busy of k, measured: 1us }",
     "c.yaml:6:27: 'busy' needs a pipe: 'busy mte2 of KERNEL'"},
    {"{ case: a, read: busy mte4 of k, measured: 1us }",
     "c.yaml:6:27: unknown pipe 'mte4'; did you mean 'mte1'?"},
    {"{ case: a, read: busy aic vec of k, measured: 1us }",
     "c.yaml:6:31: an AIC has no pipe 'vec'"},
    {"{ case: a, read: busy vec, measured: 1us }",
     "c.yaml:6:30: 'busy' needs a kernel: 'busy PIPE of KERNEL'"},
    {"{ case: a, read: a b c d e f g h i j k l m, measured: 1us }",
     "c.yaml:6:22: 'a b c d e f g h i j k l m' has too many words"},
    {"{ case: a, read: makespan relative, measured: 1 }",
     "c.yaml:6:31: 'relative' is written 'relative to VARIANT'"},
    {"{ case: a, read: makespan relative to b, measured: 1 }",
     "c.yaml:6:43: the case has no variant 'b'"},
    // values
    {"{ case: a, read: makespan, measured: 0us }",
     "c.yaml:6:42: measured must be above 0, but is '0us'"},
    {"{ case: a, read: makespan, measured: -5us }",
     "c.yaml:6:42: measured must not be negative, but is '-5us'"},
    {"{ case: a, read: makespan, measured: 56 }",
     "c.yaml:6:42: measured must be a number with ns, us, ms or s (for example 140ns), not '56'"},
    {"{ case: a, read: makespan, measured: 56us-core }",
     "c.yaml:6:42: measured must be a number with ns, us, ms or s (for example 140ns), not "
     "'56us-core'"},
    {"{ case: a, read: rate of k, measured: 5us }",
     "c.yaml:6:43: measured must be a number with B/s, KB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s "
     "or TiB/s (for example 1.6TB/s), not '5us'"},
    {"{ case: a, read: count of k, measured: 5us }",
     "c.yaml:6:44: measured must be a number (for example 24), not '5us'"},
    {"{ case: a, read: makespan, measured: { } }", "c.yaml:6:42: measured must be a single value"},
    {"{ case: a, read: makespan, measured: 1us, band: 0.15 }",
     "c.yaml:6:53: band must be a number with % (for example 85%), not '0.15'"},
    {"{ case: a, read: makespan, measured: 1us, spread: much }",
     "c.yaml:6:55: spread must be a number with % (for example 85%), not 'much'"},
    {"{ case: a, read: makespan, measured: 1us, per: 0 }",
     "c.yaml:6:52: per must be above 0, but is '0'"},
    {"{ case: a, read: makespan, measured: 1us, row: '' }", "c.yaml:6:53: row is empty"},
    {"{ case: a, read: makespan, measured: 1us, row: R0 }",
     "c.yaml:6:52: row 'R0' is simulated already, at c.yaml:5:45"},
    // what is simulated
    {"{ case: a, read: makespan, measured: 1us, l2: hot }",
     "c.yaml:6:51: unknown state of l2 'hot'; there are cold, warm"},
    {"{ case: a, read: makespan, measured: 1us, set: [T] }", "c.yaml:6:52: set must be a map"},
    {"{ case: a, read: makespan, measured: 1us, set: { T: [8] } }",
     "c.yaml:6:57: a setting must be a single value"},
    {"{ case: a, read: makespan, measured: 1us, graph: [] }",
     "c.yaml:6:54: graph must be the path of a graph, or a graph"},
    {"{ case: a, read: makespan, measured: 1us, graph: { kernels: { k: k.yaml }, tasks: [] } }",
     "c.yaml:6:70: a graph inside a case file cannot name the file of a kernel; give the graph a "
     "file of its own"},
    {"{ case: a, read: makespan, measured: 1us, graph: { tasks: [{ if: 1, do: [{ include: "
     "y.yaml }] }] } }",
     "c.yaml:6:89: a graph inside a case file cannot name the file of an included graph; give the "
     "graph a file of its own"},
    // figures
    {"{ case: a, figures: 3 }", "c.yaml:6:25: figures must be a list"},
    {"{ case: a, figures: [{ measured: 1us }] }", "c.yaml:6:26: a figure needs the key 'read'"},
    {"{ case: a, read: makespan, figures: [{ measured: 1us }] }",
     "c.yaml:6:42: a figure needs the key 'read'"},
    {"{ case: a, figures: [{ read: makespan, mesured: 1us }] }",
     "c.yaml:6:44: unknown key 'mesured' in a figure; did you mean 'measured'?"},
    {"{ case: a, figures: [{ read: makespan, measured: 1us }, { read: makespan, measured: 2us }] }",
     "c.yaml:6:89: 'makespan' is read twice; first at line 6"},
    // variants
    {"{ case: a, variants: [] }", "c.yaml:6:26: variants must be a map"},
    {"{ case: a, variants: { } }", "c.yaml:6:26: the case has no variants"},
    {"{ case: a, variants: { v: 3 } }", "c.yaml:6:31: a variant must be a map"},
    {"{ case: a, variants: { v: { sett: { } } } }",
     "c.yaml:6:33: unknown key 'sett' in a variant; did you mean 'set'?"},
    {"{ case: a, measured: 1us, variants: { v: { read: makespan, measured: 1us } } }",
     "c.yaml:6:26: in a case with variants 'measured' belongs to each of them"},
    {"{ case: a, variants: { v: { read: makespan } } }",
     "c.yaml:6:31: a variant needs the key 'measured'"},
    {"{ case: a, variants: { v: { row: R1 } } }", "c.yaml:6:31: a variant needs the key 'read'"},
    {"{ case: a, read: makespan, variants: { v: { measured: 1us }, w: { } } }",
     "c.yaml:6:66: variant 'w' has no 'measured', and no other is relative to it"},
    {"{ case: a, variants: { v: { read: makespan, measured: 1us }, w: { read: count of k, "
     "measured: 1 } } }",
     "c.yaml:6:99: the variants cannot be compared: this is a count, the one before a time; write "
     "'pair: false' in the case"},
    {"{ case: a, pair: no, variants: { v: { read: makespan, measured: 1us } } }",
     "c.yaml:6:22: pair must be true or false, not 'no'"},
    {"{ case: a, variants: { before: { }, w: { measured: 1, read: makespan relative to befor } } }",
     "c.yaml:6:86: the case has no variant 'befor'; did you mean 'before'?"},
    {"{ case: a, variants: { v: { measured: 1, read: makespan relative to v } } }",
     "c.yaml:6:73: a variant cannot be relative to itself"},
};

// Reads `text` as c.yaml; it must have one problem.
static bool says(const char *text, const char *message, int good) {
    npu_cases cases = {0};
    npu_warnings problems = {0};
    read_more(&cases, &problems, "c.yaml", text);
    const char *got = problems.count > 0 ? problems.lines[0] : "nothing";
    bool same = problems.count == 1 && cases.rejected == 1 && cases.case_count == good &&
                strcmp(got, message) == 0;
    if (!same)
        print_error("%s\n  expected: %s\n  got %d: %s\n", text, message, problems.count, got);
    npu_warnings_free(&problems);
    npu_cases_free(&cases);
    return same;
}

static void a_wrong_file_gets_one_line(void **state) {
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof wrong_files / sizeof *wrong_files; i++)
        wrong += !says(wrong_files[i].text, wrong_files[i].message, 0);
    assert_int_equal(wrong, 0);
}

static void a_wrong_case_gets_one_line(void **state) {
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof wrong_cases / sizeof *wrong_cases; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "group: g\ndie: A3\ngraph: x.yaml\n"
                 "cases:\n"
                 "  - { case: good, read: makespan, measured: 1us, row: R0 }\n"
                 "  - %s\n",
                 wrong_cases[i].text);
        wrong += !says(text, wrong_cases[i].message, 1);
    }
    assert_int_equal(wrong, 0);
}

// What a case needs and the file does not say.
static void die_and_graph_are_needed(void **state) {
    (void)state;
    assert_true(
        says("group: g\ngraph: x.yaml\ncases: [{ case: a, read: makespan, measured: 1us }]\n",
             "c.yaml:3:9: a case needs the key 'die'", 0));
    assert_true(says("group: g\ndie: A3\ncases: [{ case: a, read: makespan, measured: 1us }]\n",
                     "c.yaml:3:9: a case needs the key 'graph'", 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_case_of_its_own),
        cmocka_unit_test(what_is_not_said_has_defaults),
        cmocka_unit_test(nearer_words_win),
        cmocka_unit_test(the_unit_measured_is_kept),
        cmocka_unit_test(equal_variants_share_a_simulation),
        cmocka_unit_test(a_ratio_brings_its_base),
        cmocka_unit_test(a_graph_inside_keeps_its_places),
        cmocka_unit_test(groups_and_rows_are_joined_over_files),
        cmocka_unit_test(a_wrong_case_does_not_stop_the_others),
        cmocka_unit_test(a_file_that_is_not_there_is_an_error),
        cmocka_unit_test(a_wrong_file_gets_one_line),
        cmocka_unit_test(a_wrong_case_gets_one_line),
        cmocka_unit_test(die_and_graph_are_needed),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
