// SPDX-License-Identifier: Apache-2.0
// What a fit is made of: simulations that are shared and repeated, and the lines along which it
// looks for the next place.
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

#include "crew.h"
#include "depends.h"
#include "die_impl.h"
#include "local.h"

#define DIES NPUSIM_SOURCE "/configs/die"
#define KERNELS NPUSIM_SOURCE "/configs/kernels"
#define COPY NPUSIM_SOURCE "/tests/data/validation/copy.yaml"

// ---- simulating again and again ------------------------------------------------------------

// Jobs 0, 2 and 4 are one simulation: the graph, its settings, the die and what L2 holds are the
// same. Job 1 has another setting, job 3 another die, job 5 another L2.
static const char cases_text[] =
    "group: g\ndie: A3\ngraph: " COPY "\ncases:\n"
    "  - { case: a, read: makespan, measured: 1us }\n"
    "  - { case: b, set: { rows: 16 }, read: makespan, measured: 1us }\n"
    "  - case: c\n    set: { rows: 8 }\n    figures:\n"
    "      - { read: makespan, measured: 1us }\n"
    "      - { read: write rate of copy, measured: 1GB/s }\n"
    "  - { case: d, die: 910B4, read: makespan, measured: 1us }\n"
    "  - { case: e, read: write rate of copy, measured: 1GB/s }\n"
    "  - { case: f, l2: warm, read: makespan, measured: 1us }\n";

enum { JOBS = 6 };

typedef struct setup {
    npu_cases cases;
    npu_die die;
    npu_params params;
    npu_models models;
    npu_crew crew;
} setup;

static void open_setup(setup *s, const char *fit) {
    char path[] = "/tmp/npusim-test-crew-XXXXXX";
    int fd = mkstemp(path);
    npu_error err = {{0}};
    npu_warnings problems = {0};
    assert_true(fd >= 0);
    assert_int_equal(write(fd, cases_text, strlen(cases_text)), strlen(cases_text));
    close(fd);
    *s = (setup){0};
    npu_status status = npu_cases_read(&s->cases, path, &problems, &err);
    unlink(path);
    for (int i = 0; i < problems.count; i++)
        print_error("%s\n", problems.lines[i]);
    assert_int_equal(problems.count, 0);
    npu_warnings_free(&problems);
    if (!status)
        status = npu_die_load(DIES, "A3", &s->die, &err);
    if (!status)
        status = npu_params_read(&s->die, &fit, 1, NULL, 0, &s->params, &err);
    if (!status)
        status = npu_models_make(&s->cases, DIES, &s->die, &s->params, &s->models, &err);
    if (status)
        print_error("%s\n", err.text);
    assert_int_equal(status, NPU_OK);
    assert_int_equal(s->cases.job_count, JOBS);
}

static void close_setup(setup *s) {
    npu_models_free(&s->models);
    npu_die_free(&s->die);
    npu_cases_free(&s->cases);
}

static void open_crew(setup *s, int parallel) {
    npu_error err = {{0}};
    open_setup(s, "aiv_port.write");
    assert_int_equal(npu_crew_open(&s->crew, &s->cases, &s->models, NULL, KERNELS, parallel, &err),
                     NPU_OK);
}

static void close_crew(setup *s) {
    npu_crew_close(&s->crew);
    close_setup(s);
}

static void run_crew(setup *s, double write_rate, double *values) {
    static const int all[JOBS] = {0, 1, 2, 3, 4, 5};
    npu_error err = {{0}};
    assert_int_equal(npu_models_set(&s->models, &s->params, &write_rate, NULL, &err), NPU_OK);
    assert_int_equal(npu_crew_run(&s->crew, all, JOBS, &err), NPU_OK);
    for (int job = 0, at = 0; job < JOBS; job++) {
        assert_int_equal(s->crew.outcomes[job].status, NPU_OK);
        for (int n = 0; npu_job_figure(&s->cases, job, n) >= 0; n++)
            values[at++] = s->crew.outcomes[job].values[n].value;
    }
}

static void equal_simulations_run_once_and_give_the_same(void **state) {
    (void)state;
    setup s;
    double first[JOBS + 1], again[JOBS + 1], slower[JOBS + 1], alone[JOBS + 1];
    open_crew(&s, 2);
    double rate = s.params.list[0].before;
    run_crew(&s, rate, first);
    assert_int_equal(s.crew.pool.jobs, JOBS); // nothing is known to be the same yet
    run_crew(&s, rate, again);
    assert_int_equal(s.crew.pool.jobs, JOBS - 2);
    assert_memory_equal(first, again, sizeof first);
    run_crew(&s, rate / 2, slower); // the processes hear of it
    close_crew(&s);
    for (int i = 0; i < JOBS + 1; i++)
        assert_true(slower[i] != first[i]);
    open_crew(&s, 1); // and a new crew, of one, that has joined nothing gives the same
    run_crew(&s, rate / 2, alone);
    assert_memory_equal(slower, alone, sizeof slower);
    close_crew(&s);
}

// ---- what a graph depends on ---------------------------------------------------------------

typedef struct kind { // of graph
    const char *graph, *sets[2];
    int set_count;
} kind;

// Between them: AIC alone, AIV alone, both in a block; given to the AICPU and launched.
static const kind kinds[] = {
    {NPUSIM_SOURCE "/configs/selftest/stream.yaml", {"aiv=1", "blocks=2"}, 2},
    {NPUSIM_SOURCE "/configs/selftest/stream.yaml", {"aiv=0", "blocks=2"}, 2},
    {NPUSIM_SOURCE "/configs/selftest/multiply.yaml", {"count=4"}, 1},
    {NPUSIM_SOURCE "/configs/selftest/dispatch.yaml", {"blocks=5"}, 1},
    {NPUSIM_SOURCE "/configs/models/deepseek_v4_flash/hc_pre.yaml", {NULL}, 0},
    {NPUSIM_SOURCE "/tests/data/graphs/layer.yaml", {"T=8"}, 1},
    {COPY, {NULL}, 0},
};

static void simulate(const npu_graph *graph, const npu_die *die, npu_sim_result *result) {
    npu_sim_options options = {.engine = NPU_ENGINE_FLUID};
    npu_error err = {{0}};
    if (npu_simulate(graph, die, &options, result, &err) != NPU_OK)
        print_error("%s: %s\n", graph->path, err.text);
}

static bool same_times(const npu_trace *a, const npu_trace *b) {
    bool same = a->makespan == b->makespan && a->row_count == b->row_count;
    for (int i = 0; same && i < a->row_count; i++) {
        const npu_row *x = &a->rows[i], *y = &b->rows[i];
        same = x->start == y->start && x->end == y->end && x->dispatch == y->dispatch &&
               x->finish == y->finish;
        for (int pipe = 0; same && pipe < NPU_PIPE_COUNT; pipe++)
            same = x->busy[pipe] == y->busy[pipe];
    }
    return same;
}

// Returns how many fields the graph is said not to read. Each of them 1.3 times as large, or one
// larger, must change nothing.
static int check_unread(npu_graph *graph, const npu_die *die) {
    npu_sim_result was = {0};
    int unread = 0;
    simulate(graph, die, &was);
    assert_true(was.trace.makespan > 0);
    for (int field = 0; field < npu_die_field_count(); field++) {
        if (npu_graph_may_read(graph, field))
            continue;
        npu_die_field f = npu_die_field_at(field);
        npu_die other = *die;
        npu_sim_result now = {0};
        double value = npu_die_value(die, field);
        value = f.rule == NPU_DIE_LINE    ? 2 * value
                : f.rule == NPU_DIE_SHARE ? value / 2
                                          : 1 + ceil(1.3 * value);
        memcpy((char *)&other + f.offset, &value, sizeof value);
        simulate(graph, &other, &now);
        if (!same_times(&was.trace, &now.trace))
            print_error("%s depends on %s\n", graph->path, f.path);
        assert_true(same_times(&was.trace, &now.trace));
        npu_sim_result_free(&now);
        unread++;
    }
    npu_sim_result_free(&was);
    return unread;
}

// All jobs of the setup copy on AIVs. A parameter of AICs tells them nothing new; with another
// write rate they are simulated, and then a third value of the first parameter tells nothing again.
static void what_cannot_be_felt_is_not_simulated(void **state) {
    (void)state;
    setup s;
    open_setup(&s, "aiv_port.write,cube.head");
    double write = s.params.list[1].before, head = s.params.list[0].before;
    assert_string_equal(s.params.list[0].name, "cube.head");
    npu_warnings problems = {0};
    npu_error err = {{0}};
    npu_predictor p = {.cases = &s.cases,
                       .models = &s.models,
                       .params = &s.params,
                       .config = NPUSIM_SOURCE "/configs",
                       .parallel = 2};
    assert_int_equal(npu_predictor_start(&p, &problems, &err), NPU_OK);
    assert_int_equal(p.simulated, 1);
    int a, b, c;
    const double longer[] = {2 * head, write}, slower[] = {2 * head, write / 2};
    const double both[] = {3 * head, write / 2};
    assert_int_equal(npu_predict(&p, longer, NPU_ALL_GROUPS, &a, &err), NPU_OK);
    assert_int_equal(p.simulated, 1);
    assert_int_equal(npu_predict(&p, slower, NPU_ALL_GROUPS, &b, &err), NPU_OK);
    assert_int_equal(p.simulated, 2);
    assert_int_equal(npu_predict(&p, both, NPU_ALL_GROUPS, &c, &err), NPU_OK);
    assert_int_equal(p.simulated, 2);
    for (int i = 0; i < s.cases.figure_count; i++) {
        assert_true(p.trials[a].raw[i] == p.trials[0].raw[i]);
        assert_true(p.trials[b].raw[i] != p.trials[0].raw[i]);
        assert_true(p.trials[c].raw[i] == p.trials[b].raw[i]);
    }
    assert_int_equal(npu_predictor_check(&p, c, &err), NPU_OK); // simulated after all: the same
    npu_warnings_free(&problems);
    npu_predictor_free(&p);
    close_setup(&s);
}

static void what_a_graph_cannot_read_changes_nothing(void **state) {
    (void)state;
    npu_die die;
    npu_error err = {{0}};
    int least = 1000, most = 0;
    assert_int_equal(npu_die_load(DIES, "A3", &die, &err), NPU_OK);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        npu_graph_options options = {KERNELS, kinds[i].sets, kinds[i].set_count, 0};
        npu_graph graph;
        if (npu_graph_load(kinds[i].graph, &options, &graph, NULL, &err) != NPU_OK)
            print_error("%s\n", err.text);
        assert_true(graph.task_count > 0);
        for (int launched = 0; launched < 2; launched++) {
            graph.operators = launched == 1;
            int unread = check_unread(&graph, &die);
            least = unread < least ? unread : least;
            most = unread > most ? unread : most;
        }
        npu_graph_free(&graph);
    }
    npu_die_free(&die);
    assert_int_equal(least, 3); // with all cores, to the AICPU: launch.head, core and tail
    assert_true(most > 100);    // on AICs alone: all of vector.ops
}

// ---- lines ---------------------------------------------------------------------------------

// Two parameters, two figures in two groups, three trials: what was measured is 1, so that what
// was predicted is exp(log).
typedef struct plane {
    npu_case case_[2];
    npu_figure figures[2];
    npu_cases cases;
    npu_params params;
    bool fitted[2];
    double values[3][2], raw[3][2];
    npu_trial trials[3];
    npu_predictor p;
    npu_local local;
} plane;

static void set_trial(plane *s, int trial, double a, double b, double log0, double log1) {
    s->values[trial][0] = a;
    s->values[trial][1] = b;
    s->raw[trial][0] = exp(log0);
    s->raw[trial][1] = exp(log1);
    s->trials[trial] = (npu_trial){.values = s->values[trial], .raw = s->raw[trial]};
}

static void open_plane(plane *s, int without) {
    *s = (plane){0};
    for (int i = 0; i < 2; i++) {
        s->case_[i].group = i;
        s->figures[i] = (npu_figure){.case_ = i, .measured = 1, .scale = 1, .per = 1, .base = -1};
        s->fitted[i] = true;
    }
    s->cases = (npu_cases){.cases = s->case_,
                           .case_count = 2,
                           .figures = s->figures,
                           .figure_count = 2,
                           .group_count = 2};
    s->params.count = 2;
    set_trial(s, 0, 10, 20, 0.5, -0.25);
    s->p = (npu_predictor){.cases = &s->cases,
                           .params = &s->params,
                           .fitted = s->fitted,
                           .trials = s->trials,
                           .trial_count = 3};
    assert_int_equal(npu_local_open(&s->local, &s->p, without, 0, NULL), NPU_OK);
    // Figure 0 grows with parameter 0 only upwards; figure 1 falls with parameter 1.
    s->local.above[0] = 1;
    s->local.below[3] = s->local.above[3] = -0.5;
}

static void same(double a, double b) {
    if (!(fabs(a - b) < 1e-12))
        print_error("%.15g is not %.15g\n", a, b);
    assert_true(fabs(a - b) < 1e-12);
}

static void lines_bend_at_the_centre(void **state) {
    (void)state;
    plane s;
    open_plane(&s, NPU_ALL_GROUPS);
    // (|0.5| + |-0.25|) / 2
    same(npu_local_error(&s.local, (const double[]){10, 20}), 0.375);
    // 0.1 more of log(parameter 0): 0.6; nothing when it is less
    same(npu_local_error(&s.local, (const double[]){10 * exp(0.1), 20}), 0.425);
    same(npu_local_error(&s.local, (const double[]){10 * exp(-0.1), 20}), 0.375);
    // 0.5 less of log(parameter 1): -0.25 + 0.25 = 0
    same(npu_local_error(&s.local, (const double[]){10, 20 * exp(-0.5)}), 0.25);
    npu_local_free(&s.local);
    open_plane(&s, 0); // figure 1 alone
    same(npu_local_error(&s.local, (const double[]){10 * exp(0.1), 20}), 0.25);
    npu_local_free(&s.local);
}

static void lines_learn_what_was_simulated(void **state) {
    (void)state;
    plane s;
    open_plane(&s, NPU_ALL_GROUPS);
    // Where the lines say 0.6 and -0.25 - 0.05 = -0.3.
    const double there[] = {10 * exp(0.1), 20 * exp(0.1)};
    set_trial(&s, 1, there[0], there[1], 0.8, -0.3);
    same(npu_local_error(&s.local, there), 0.45);
    assert_int_equal(npu_local_learn(&s.local, 1, false, NULL), NPU_OK);
    same(npu_local_error(&s.local, there), 0.55);
    // The missing 0.2 is on both ways alike: 0.1 / 0.1 = 1 more for each slope of figure 0.
    same(s.local.above[0], 2);
    same(s.local.above[1], 1);
    same(s.local.below[1], 1);
    same(s.local.above[3], -0.5);
    same(npu_local_error(&s.local, (const double[]){10, 20}), 0.375); // as before
    npu_local_free(&s.local);
}

static void lines_move_to_a_new_centre(void **state) {
    (void)state;
    plane s;
    open_plane(&s, NPU_ALL_GROUPS);
    set_trial(&s, 1, 10 * exp(0.1), 20, 0.6, -0.25); // as the lines say
    assert_int_equal(npu_local_learn(&s.local, 1, true, NULL), NPU_OK);
    assert_int_equal(s.local.centre, 1);
    same(npu_local_error(&s.local, s.values[1]), 0.425);
    // The bend of figure 0 is left behind: the way back falls as the way here rose.
    same(npu_local_error(&s.local, s.values[0]), 0.375);
    same(s.local.below[0], 1);
    npu_local_free(&s.local);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_simulations_run_once_and_give_the_same),
        cmocka_unit_test(what_cannot_be_felt_is_not_simulated),
        cmocka_unit_test(what_a_graph_cannot_read_changes_nothing),
        cmocka_unit_test(lines_bend_at_the_centre),
        cmocka_unit_test(lines_learn_what_was_simulated),
        cmocka_unit_test(lines_move_to_a_new_centre),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
