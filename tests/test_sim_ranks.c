// SPDX-License-Identifier: Apache-2.0
// Several dies: what they move to each other and tell each other, with times worked out by hand on
// a die of 1 GHz. Between the dies lies one link of 128 B/ns each way, 200 ns long.
#include "test_sim_core.h"

#include "simulate.h"
#include "step.h"

enum { MOST = 2 };

// `first` runs on rank 0 and `second` on rank 1, each one block of one AIV.
#define RANKS(first, second)                                                                       \
    "graph: t\n"                                                                                   \
    "dispatch: operator\n"                                                                         \
    "ranks: 2\n"                                                                                   \
    "kernels:\n"                                                                                   \
    "  a: { " ARGS " program: [" first "] }\n"                                                     \
    "  b: { " ARGS " program: [" second "] }\n"                                                    \
    "tensors:\n"                                                                                   \
    "  x: { shape: [64, 128], dtype: fp32, external: true }\n"                                     \
    "  n: { shape: [16], dtype: int32, init: zero }\n"                                             \
    "  xs: { on_ranks: x }\n"                                                                      \
    "  ns: { on_ranks: n }\n"                                                                      \
    "tasks:\n"                                                                                     \
    "  - if: rank == 0\n"                                                                          \
    "    do: [{ task: a, kernel: a, x: x, xs: xs, n: n, ns: ns }]\n"                               \
    "    else: [{ task: b, kernel: b, x: x, xs: xs, n: n, ns: ns }]\n"
#define ARGS                                                                                       \
    "engine: aiv, args: { x: no_dep, xs: no_dep, n: no_dep, ns: no_dep }, "                        \
    "slots: { ub: { in: ub, shape: [32, 128], dtype: fp32, copies: 2 } },"
#define IDLE "{ scalar: { ops: 1 } }"

typedef struct two {
    fixture *f;
    npu_ranks ranks;
    npu_sim_result results[MOST];
} two;

static npu_status simulate(two *t, fixture *f, const char *text) {
    static npu_fabric_link links[] = {{"right", 128, true}, {"left", 128, true}};
    static npu_route routes[] = {{{0}, 0, 0}, {{0}, 1, 200}, {{1}, 1, 200}, {{0}, 0, 0}};
    static npu_graph graphs[MOST];
    char path[] = "/tmp/npusim_test_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    f->err.text[0] = '\0';
    *t = (two){.f = f};
    for (int r = 0; r < MOST; r++) {
        npu_graph_options options = {.kernel_folder = ".", .rank = r};
        assert_int_equal(npu_graph_load(path, &options, &graphs[r], NULL, &f->err), NPU_OK);
    }
    unlink(path);
    t->ranks = (npu_ranks){graphs, MOST, graphs[0].full, {MOST, links, 2, routes}, "made up"};
    assert_int_equal(npu_graph_check_ranks(graphs, MOST, &f->err), NPU_OK);
    f->die.aicpu.schedulers = 1;
    f->die.aicpu.poll = f->die.aicpu.idle = 100;
    f->die.aicpu.pop_batch = 8;
    f->die.aicpu.rings = f->die.aicpu.heap_align = 1;
    f->die.aicpu.ring_tasks = f->die.aicpu.ring_deps = 100;
    f->die.aicpu.ring_heap = 1 << 30;
    f->die.trace_clock = 0.05;
    npu_sim_options options = {.engine = NPU_ENGINE_FLUID, .hazards = &f->warnings};
    return npu_simulate_ranks(&t->ranks, &f->die, &options, t->results, &f->err);
}

static void close_two(two *t) {
    for (int r = 0; r < MOST; r++) {
        npu_sim_result_free(&t->results[r]);
        npu_graph_free(&t->ranks.graphs[r]);
    }
}

static const npu_row *first_row(const two *t, int rank) {
    static const npu_row none = {0};
    const npu_trace *trace = &t->results[rank].trace;
    assert_true(trace->row_count > 0 && trace->rows != NULL);
    return trace->rows != NULL ? &trace->rows[0] : &none;
}

// How long the block of each rank takes.
static void assert_ends(fixture *f, const char *text, double first, double second) {
    two t;
    npu_status status = simulate(&t, f, text);
    assert_string_equal(f->err.text, "");
    assert_int_equal(status, NPU_OK);
    const double want[] = {first, second};
    for (int r = 0; r < MOST; r++) {
        const npu_row *row = first_row(&t, r);
        assert_int_equal(t.results[r].trace.row_count, 1);
        assert_time(row->end - row->start, want[r]);
    }
    close_two(&t);
}

static void assert_refused(fixture *f, const char *text, const char *sentence) {
    two t;
    assert_int_equal(simulate(&t, f, text), NPU_BAD_INPUT);
    if (strstr(f->err.text, sentence) == NULL)
        fail_msg("'%s' does not say '%s'", f->err.text, sentence);
    close_two(&t);
}

// Asked at 0: 10 to issue, a miss of 1000 there, 200 there and 200 back, 12800 B at 128 B/ns.
static void a_load_from_another_die_pays_the_way_twice(void **state) {
    assert_ends(*state, RANKS("{ load: { from: \"xs[1, 0 : 25, :]\", to: ub } }", IDLE),
                10 + 1000 + 400 + 100, 1);
}

// It asks when the first line is in, at 1414, and hits in the L2 of the other die.
static void what_was_read_stays_in_l2_of_its_own_die(void **state) {
    assert_ends(*state,
                RANKS("{ load: { from: \"xs[1, 0 : 1, :]\", to: ub } }, "
                      "{ vec: { op: copy, in: ub, out: ub } }, "
                      "{ scalar: { reads: ub } }, "
                      "{ load: { from: \"xs[1, 0 : 1, :]\", to: ub } }",
                      IDLE),
                10 + 1000 + 400 + 4 + 20 + 32 + 10 + 100 + 400 + 4, 1);
}

// Both ranks read the same 12800 B of rank 1: one over the fabric, one at its port's 512 B/ns.
static void each_die_reads_its_own_memory_directly(void **state) {
    assert_ends(*state,
                RANKS("{ load: { from: \"xs[1, 0 : 25, :]\", to: ub } }",
                      "{ load: { from: \"xs[1, 32 : 25, :]\", to: ub } }"),
                1510, 10 + 1000 + 25);
}

// Posted: 10 to issue, 512 B at 128 B/ns, seen 100 ns after 200 of the way; the answer takes 200.
static void a_block_ends_when_its_store_has_been_answered(void **state) {
    assert_ends(*state, RANKS("{ store: { from: ub, to: \"xs[1, 0, :]\" } }", IDLE),
                10 + 4 + 100 + 400, 1);
}

// The second one follows at 10, and its bytes those of the first.
static void stores_follow_each_other_without_an_answer(void **state) {
    assert_ends(*state,
                RANKS("{ store: { from: ub, to: \"xs[1, 0, :]\" } }, "
                      "{ store: { from: ub, to: \"xs[1, 1, :]\" } }",
                      IDLE),
                10 + 10 + 4 + 500, 1);
}

static void drain_waits_for_the_answer(void **state) {
    assert_ends(*state,
                RANKS("{ store: { from: ub, to: \"xs[1, 0, :]\" } }, { drain: {} }, "
                      "{ store: { from: ub, to: \"xs[1, 1, :]\" } }",
                      IDLE),
                2 * (10 + 4 + 500), 1);
}

// One line in flight, answered after 100 + 400: 10 stores need 10 of them, and so does a load of 10
// lines that hits.
static void lines_in_flight_bound_what_crosses(void **state) {
    fixture *f = *state;
    f->die.aiv.outstanding = 1;
    assert_ends(f, RANKS("{ store: { from: ub, to: \"xs[1, 0 : 10, :]\" } }", IDLE), 10 * 500 + 500,
                1);
}

// Raised at 300, there 200 + 100 later; the read that shows it takes 200.
static void await_ends_when_the_notify_has_arrived(void **state) {
    assert_ends(*state,
                RANKS("{ scalar: { ops: 300 } }, { notify: { to: \"ns[1, 3]\", add: 1 } }",
                      "{ await: { at: \"n[3]\", value: 1 } }"),
                300, 300 + 300 + 200);
}

static void await_finds_what_was_told_before(void **state) {
    assert_ends(*state,
                RANKS("{ notify: { to: \"ns[1, 3]\", add: 1 } }",
                      "{ scalar: { ops: 900 } }, { await: { at: \"n[3]\", value: 1 } }"),
                0, 900 + 200);
}

// Two rounds on one counter: the second waits for 2. A set replaces what was there.
static void counters_add_up_or_are_set(void **state) {
    assert_ends(*state,
                RANKS("{ notify: { to: \"ns[1, 0]\", add: 1 } }, { scalar: { ops: 1000 } }, "
                      "{ notify: { to: \"ns[1, 0]\", add: 1 } }",
                      "{ await: { at: \"n[0]\", value: 1 } }, "
                      "{ await: { at: \"n[0]\", value: 2 } }"),
                1000, 1000 + 300 + 200);
    assert_ends(*state,
                RANKS("{ notify: { to: \"ns[1, 0]\", set: 5 } }, { scalar: { ops: 1000 } }, "
                      "{ notify: { to: \"ns[1, 0]\", set: 7 } }",
                      "{ await: { at: \"n[0]\", value: 5 } }, "
                      "{ await: { at: \"n[0]\", value: 6 } }"),
                1000, 1000 + 300 + 200);
}

// A notify to one's own die goes through its L2 only.
static void a_die_can_tell_itself(void **state) {
    assert_ends(
        *state,
        RANKS("{ notify: { to: \"n[0]\", add: 1 } }, { await: { at: \"n[0]\", value: 1 } }", IDLE),
        100 + 200, 1);
}

// Rank 1 begins 5 us later and is told at 300 ns: its block finds that done.
static void a_rank_begins_after_its_skew(void **state) {
    fixture *f = *state;
    two t;
    assert_int_equal(simulate(&t, f,
                              RANKS("{ notify: { to: \"ns[1, 0]\", add: 1 } }",
                                    "{ await: { at: \"n[0]\", value: 1 } }") "skew: rank * 5us\n"),
                     NPU_OK);
    assert_time(first_row(&t, 0)->start, 0);
    assert_time(first_row(&t, 1)->start, 5000);
    assert_time(first_row(&t, 1)->end, 5200);
    close_two(&t);
}

// Two submissions of 100, a copy of 1000 B at 10 B/ns behind 30, none back, 5000 on the device.
static void a_step_is_the_sum_of_host_and_device(void **state) {
    fixture *f = *state;
    f->die.host.copy = 30;
    f->die.host.rate = 10;
    npu_host_step step = {
        .given = true, .submissions = 2, .submit = 100, .metadata = 7, .to_device = 1000};
    npu_step_times t = npu_step_time(&step, &f->die, 5000);
    assert_time(t.submit, 200);
    assert_time(t.to_device, 130);
    assert_time(t.from_device, 0);
    assert_time(t.total, 7 + 130 + 200 + 5000);
}

// Each rank puts a line on the other one, tells it and waits for the same: 514 for the put and its
// answer, told 300 later, read in 200. The stores of both share the way into neither.
#define EXCHANGE(full, peer)                                                                       \
    "graph: t\n"                                                                                   \
    "dispatch: operator\n"                                                                         \
    "ranks: 2\n"                                                                                   \
    "full: " full "\n"                                                                             \
    "kernels:\n"                                                                                   \
    "  a:\n"                                                                                       \
    "    params: { me: 0 }\n"                                                                      \
    "    engine: aiv\n"                                                                            \
    "    args: { xs: no_dep, n: no_dep, ns: no_dep }\n"                                            \
    "    slots: { ub: { in: ub, shape: [32, 128], dtype: fp32, copies: 2 } }\n"                    \
    "    program: [" peer "{ store: { from: ub, to: \"xs[1 - me, 0, :]\" } }, { drain: {} }, "     \
    "{ notify: { to: \"ns[1 - me, 0]\", add: 1 } }, { await: { at: \"n[0]\", value: 1 } }]\n"      \
    "tensors:\n"                                                                                   \
    "  x: { shape: [64, 128], dtype: fp32, external: true }\n"                                     \
    "  n: { shape: [16], dtype: int32, init: zero }\n"                                             \
    "  xs: { on_ranks: x }\n"                                                                      \
    "  ns: { on_ranks: n }\n"                                                                      \
    "tasks: [{ task: a, kernel: a, xs: xs, n: n, ns: ns, with: { me: rank } }]\n"

static void an_image_does_what_its_original_does(void **state) {
    assert_ends(*state, EXCHANGE("2", ""), 514 + 300 + 200, 514 + 300 + 200);
    two t;
    assert_int_equal(simulate(&t, *state, EXCHANGE("1", "")), NPU_OK);
    assert_time(first_row(&t, 0)->end, 514 + 300 + 200);
    assert_int_equal(t.results[1].trace.row_count, 0); // nobody runs there
    close_two(&t);
}

static void what_is_no_image_is_refused(void **state) {
    assert_refused(*state, EXCHANGE("1", "{ if: me, do: [{ drain: {} }] }, "),
                   "rank 1 is no image of rank 0: task 'a' does something else there");
}

// The lines about hazards that a run gives, or none.
static void assert_hazard(fixture *f, const char *text, const char *sentence) {
    two t;
    npu_warnings_free(&f->warnings);
    f->warnings = (npu_warnings){0};
    assert_int_equal(simulate(&t, f, text), NPU_OK);
    assert_int_equal(f->warnings.count, sentence != NULL);
    if (sentence != NULL)
        assert_string_equal(f->warnings.lines[0] + f->warnings.sentences[0], sentence);
    close_two(&t);
}

#define PUT "{ store: { from: ub, to: \"xs[1, 0, :]\" } }, "
#define TELL "{ notify: { to: \"ns[1, 0]\", add: 1 } }"
#define WAIT "{ await: { at: \"n[0]\", value: 1 } }"

static void a_notify_that_may_pass_its_stores_is_a_hazard(void **state) {
    assert_hazard(
        *state, RANKS(PUT TELL, WAIT),
        "hazard: the notify of task 'a' of rank 0 may pass the stores before it, and task "
        "'b' of rank 1 goes on from it; put a drain in between");
    assert_hazard(*state, RANKS(PUT "{ drain: {} }, " TELL, WAIT), NULL);
    assert_hazard(*state, RANKS(PUT TELL, IDLE), NULL); // nobody goes on from it
}

static void a_set_that_races_another_notify_is_a_hazard(void **state) {
    assert_hazard(
        *state,
        RANKS("{ notify: { to: \"ns[1, 0]\", set: 1 } }", "{ notify: { to: \"n[0]\", add: 1 } }"),
        "hazard: the set of task 'a' of rank 0 may reach its counter before or after the "
        "notify of task 'b' of rank 1");
    assert_hazard(*state, RANKS(TELL, "{ notify: { to: \"n[0]\", add: 1 } }"),
                  NULL);  // adds commute
    assert_hazard(*state, // at 400 the set has long arrived
                  RANKS("{ notify: { to: \"ns[1, 0]\", set: 1 } }",
                        "{ scalar: { ops: 400 } }, { notify: { to: \"n[0]\", add: 1 } }"),
                  NULL);
}

// Two tasks of rank 1 wait for 1 of a counter that two waves bring to 2.
static void a_counter_used_twice_without_an_epoch_is_a_hazard(void **state) {
    static const char again[] = "    else: [{ task: b, kernel: b, x: x, xs: xs, n: n, ns: ns }, "
                                "{ task: c, kernel: b, x: x, xs: xs, n: n, ns: ns }]\n";
    const char *texts[] = {
        RANKS(TELL ", { scalar: { ops: 2000 } }, " TELL, WAIT),
        RANKS(TELL, WAIT), // both wait for one wave: that is no reuse
    };
    for (int i = 0; i < 2; i++) {
        char text[4096];
        const char *end = strstr(texts[i], "    else:");
        int length = snprintf(text, sizeof text, "%.*s%s", (int)(end - texts[i]), texts[i], again);
        assert_true(length > 0 && length < (int)sizeof text);
        assert_hazard(*state, text,
                      i > 0
                          ? NULL
                          : "hazard: tasks 'b' and 'c' of rank 1 both wait for 1 of a counter that "
                            "reaches 2: the later one does not wait for its own wave; give each an "
                            "epoch");
    }
}

#define CLEAR "{ notify: { to: \"ns[1, 0]\", set: 0 } }"
#define LATER(ns) "{ scalar: { ops: " #ns " } }, "

// Rank 0 tells, and clears in between or at the end; tasks b and c of rank 1 wait for 1 each.
static void a_counter_that_is_cleared_begins_anew(void **state) {
    static const char again[] = "    else: [{ task: b, kernel: b, x: x, xs: xs, n: n, ns: ns }, "
                                "{ task: c, kernel: b, x: x, xs: xs, n: n, ns: ns }]\n";
    const char *texts[] = {
        RANKS(TELL ", " LATER(3000) TELL ", " LATER(90000) CLEAR, WAIT),
        RANKS(TELL ", " LATER(3000) CLEAR ", " LATER(3000) TELL, WAIT ", " LATER(4000) IDLE),
    };
    for (int i = 0; i < 2; i++) {
        char text[4096];
        const char *end = strstr(texts[i], "    else:");
        int length = snprintf(text, sizeof text, "%.*s%s", (int)(end - texts[i]), texts[i], again);
        assert_true(length > 0 && length < (int)sizeof text);
        assert_hazard(*state, text,
                      i > 0
                          ? NULL
                          : "hazard: tasks 'b' and 'c' of rank 1 both wait for 1 of a counter that "
                            "reaches 2: the later one does not wait for its own wave; give each an "
                            "epoch");
    }
}

static void ranks_that_wait_for_each_other_are_named(void **state) {
    assert_refused(
        *state,
        RANKS("{ await: { at: \"n[1]\", value: 2 } }", "{ await: { at: \"n[0]\", value: 1 } }"),
        "the run can never end: task 'a', block 0, of rank 0 holds aiv 2 and waits for "
        "'n', element 1, to reach 2 (it is 0); task 'b', block 0, of rank 1 holds aiv 2 "
        "and waits for 'n', element 0, to reach 1 (it is 0)");
}

static void one_op_reaches_one_die(void **state) {
    assert_refused(*state, RANKS("{ load: { from: \"xs[:, 0, :]\", to: ub } }", IDLE),
                   "task 'a', line 5 of kernel 'a': 'xs' lies on several dies; one op reaches one");
    assert_refused(*state, RANKS("{ await: { at: \"ns[1, 0]\", value: 1 } }", IDLE),
                   "'ns' lies on another die");
    assert_refused(*state, RANKS("{ prefetch: { from: \"xs[1, 0, :]\" } }", IDLE),
                   "'xs' lies on another die");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_load_from_another_die_pays_the_way_twice),
        TEST(what_was_read_stays_in_l2_of_its_own_die),
        TEST(each_die_reads_its_own_memory_directly),
        TEST(a_block_ends_when_its_store_has_been_answered),
        TEST(stores_follow_each_other_without_an_answer),
        TEST(drain_waits_for_the_answer),
        TEST(lines_in_flight_bound_what_crosses),
        TEST(await_ends_when_the_notify_has_arrived),
        TEST(await_finds_what_was_told_before),
        TEST(counters_add_up_or_are_set),
        TEST(a_die_can_tell_itself),
        TEST(a_rank_begins_after_its_skew),
        TEST(a_step_is_the_sum_of_host_and_device),
        TEST(an_image_does_what_its_original_does),
        TEST(what_is_no_image_is_refused),
        TEST(a_notify_that_may_pass_its_stores_is_a_hazard),
        TEST(a_set_that_races_another_notify_is_a_hazard),
        TEST(a_counter_used_twice_without_an_epoch_is_a_hazard),
        TEST(a_counter_that_is_cleared_begins_anew),
        TEST(ranks_that_wait_for_each_other_are_named),
        TEST(one_op_reaches_one_die),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
