// SPDX-License-Identifier: Apache-2.0
// Hand-worked cases; every one runs on each engine that is built.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine.h"

enum { MAX_EVENTS = 64, MAX_LINKS = 2, MAX_PATHS = 3 };

typedef struct event {
    int64_t tag;
    double now;
} event;

// What a run did. Plain data: the simgrid engine runs in a child process and sends it back.
typedef struct outcome {
    npu_status status;
    char error[1024];
    int count;
    event events[MAX_EVENTS];
    double end;
    int64_t delays;
    int64_t flows;
    double link_bytes[MAX_LINKS];
    double link_busy[MAX_LINKS];
} outcome;

typedef struct context {
    npu_engine *engine;
    outcome *out;
} context;

typedef struct scenario {
    npu_link links[MAX_LINKS];
    int link_count;
    npu_path paths[MAX_PATHS];
    int path_count;
    void (*start)(context *c);
} scenario;

static void record(void *owner, int64_t tag) {
    context *c = owner;
    if (c->out->count < MAX_EVENTS)
        c->out->events[c->out->count] = (event){tag, npu_engine_now(c->engine)};
    c->out->count++;
}

static void run_here(npu_engine_kind kind, const scenario *s, outcome *out) {
    npu_net net = {s->links, s->link_count, s->paths, s->path_count};
    npu_error err = {0};
    context c = {NULL, out};
    out->status = npu_engine_new(kind, &net, &c.engine, &err);
    if (out->status == NPU_OK) {
        s->start(&c);
        out->status = npu_engine_run(c.engine, &err);
        out->end = npu_engine_now(c.engine);
        const npu_engine_stats *stats = npu_engine_get_stats(c.engine);
        out->delays = stats->delays;
        out->flows = stats->flows;
        memcpy(out->link_bytes, stats->link_bytes, (size_t)s->link_count * sizeof(double));
        memcpy(out->link_busy, stats->link_busy, (size_t)s->link_count * sizeof(double));
        npu_engine_free(c.engine);
    }
    memcpy(out->error, err.text, sizeof out->error);
}

static void run_in_child(npu_engine_kind kind, const scenario *s, outcome *out) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        run_here(kind, s, out);
        bool sent = write(ends[1], out, sizeof *out) == (ssize_t)sizeof *out;
        _exit(sent ? 0 : 1);
    }
    close(ends[1]);
    size_t got = 0;
    for (ssize_t n = 1; n > 0 && got<sizeof *out; got += n> 0 ? (size_t)n : 0)
        n = read(ends[0], (char *)out + got, sizeof *out - got);
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(got, sizeof *out);
}

// The engines under test: 0 up to this one.
#ifdef NPUSIM_HAVE_SIMGRID
enum { LAST_ENGINE = NPU_ENGINE_SIMGRID };
#else
enum { LAST_ENGINE = NPU_ENGINE_FLUID };
#endif

static void run(int kind, const scenario *s, outcome *out) {
    *out = (outcome){0};
    if (kind == NPU_ENGINE_SIMGRID)
        run_in_child(kind, s, out);
    else
        run_here(kind, s, out);
    assert_string_equal(out->error, "");
    assert_int_equal(out->status, NPU_OK);
}

static void assert_near(double got, double want) {
    if (fabs(got - want) > 1e-9 * fmax(1, fabs(want)))
        fail_msg("got %.17g, expected %.17g", got, want);
}

static void check(const scenario *s, const event *want, int count) {
    for (int kind = 0; kind <= LAST_ENGINE; kind++) {
        outcome out;
        run(kind, s, &out);
        assert_int_equal(out.count, count);
        for (int i = 0; i < count; i++) {
            assert_int_equal(out.events[i].tag, want[i].tag);
            assert_near(out.events[i].now, want[i].now);
        }
    }
}

#define CHECK(scenario, ...)                                                                       \
    check(scenario, (event[]){__VA_ARGS__}, (int)(sizeof((event[]){__VA_ARGS__}) / sizeof(event)))

static void flow(context *c, double bytes, int path, int64_t tag) {
    npu_engine_flow(c->engine, bytes, path, record, c, tag);
}

static void delay(context *c, double dt, int64_t tag) {
    npu_engine_delay(c->engine, dt, record, c, tag);
}

// --- sharing -------------------------------------------------------------------------------

static void start_two(context *c) {
    flow(c, 100, 0, 0);
    flow(c, 50, 0, 1);
}

static void test_two_flows_share_and_one_speeds_up(void **state) {
    (void)state;
    scenario s = {{{"l", 10}}, 1, {{"p", {0}, 1, INFINITY}}, 1, start_two};
    // 5 each until 10, when flow 1 is done; flow 0 then has 50 left at 10.
    CHECK(&s, {1, 10}, {0, 15});
}

static void start_three(context *c) {
    flow(c, 80, 0, 0);
    flow(c, 30, 1, 1);
    flow(c, 10, 2, 2);
}

static void test_two_links(void **state) {
    (void)state;
    scenario s = {{{"wide", 10}, {"narrow", 4}},
                  2,
                  {{"w", {0}, 1, INFINITY}, {"wn", {0, 1}, 2, INFINITY}, {"n", {1}, 1, INFINITY}},
                  3,
                  start_three};
    // [0, 5): narrow gives 2 to flows 1 and 2, flow 0 takes the 8 that wide has left.
    // [5, 10): flow 1 alone on narrow gets 4, flow 0 gets 6. [10, 11): flow 0 gets 10.
    CHECK(&s, {2, 5}, {1, 10}, {0, 11});
}

static void start_capped(context *c) {
    flow(c, 60, 1, 0);
    flow(c, 20, 0, 1);
    flow(c, 20, 0, 2);
}

static void test_what_a_capped_flow_leaves_goes_to_others(void **state) {
    (void)state;
    scenario s = {{{"l", 10}}, 1, {{"slow", {0}, 1, 2}, {"p", {0}, 1, INFINITY}}, 2, start_capped};
    CHECK(&s, {0, 10}, {1, 10}, {2, 10}); // 6, 2 and 2: a tie, in creation order
    s.paths[0].cap = 100;                 // does not bind: 10/3 until 6, then 10 for flow 0
    CHECK(&s, {1, 6}, {2, 6}, {0, 10});
}

static void start_same(context *c) {
    for (int i = 0; i < 3; i++)
        flow(c, 50, 0, i);
}

static void test_path_without_links(void **state) {
    (void)state;
    scenario s = {{{0}}, 0, {{"p", {0}, 0, 5}}, 1, start_same};
    CHECK(&s, {0, 10}, {1, 10}, {2, 10});
}

static void start_late(void *owner, int64_t tag) {
    record(owner, tag);
    flow(owner, 40, 0, 1);
}

static void start_staggered(context *c) {
    flow(c, 100, 0, 0);
    npu_engine_delay(c->engine, 4, start_late, c, 2);
}

static void test_late_flow_slows_the_first_down(void **state) {
    (void)state;
    scenario s = {{{"l", 10}}, 1, {{"p", {0}, 1, INFINITY}}, 1, start_staggered};
    // Flow 0: 40 by 4, then 5: 80 by 12 when flow 1 is done, then 10.
    CHECK(&s, {2, 4}, {1, 12}, {0, 14});
}

// --- order ---------------------------------------------------------------------------------

static void start_nothings(context *c) {
    delay(c, 0, 0);
    flow(c, 0, 0, 1);
    delay(c, 0, 2);
    flow(c, 0, 0, 3);
}

static void test_nothing_takes_no_time(void **state) {
    (void)state;
    scenario s = {{{"l", 10}}, 1, {{"p", {0}, 1, INFINITY}}, 1, start_nothings};
    CHECK(&s, {0, 0}, {1, 0}, {2, 0}, {3, 0});
}

static void start_ties(context *c) {
    delay(c, 0.1 + 0.2, 0); // an ulp above 0.3
    flow(c, 3, 0, 1);
    delay(c, 0.3, 2);
    flow(c, 1.5, 1, 3);
    delay(c, 0.3 + 2e-5, 5);
    delay(c, 0.3 + 1e-5, 4);
}

static void test_ties_come_in_creation_order(void **state) {
    (void)state;
    scenario s = {{{"l", 10}, {"m", 5}}, 2, {{"p", {0}, 1, 10}, {"q", {1}, 1, 5}}, 2, start_ties};
    CHECK(&s, {0, 0.3}, {1, 0.3}, {2, 0.3}, {3, 0.3}, {4, 0.3 + 1e-5}, {5, 0.3 + 2e-5});
    for (int kind = 0; kind <= LAST_ENGINE; kind++) {
        outcome out;
        run(kind, &s, &out);
        for (int i = 1; i < 4; i++)
            assert_true(out.events[i].now == out.events[0].now);
    }
}

static void start_more(void *owner, int64_t tag) {
    record(owner, tag);
    delay(owner, 0, tag + 10);
    flow(owner, 0, 0, tag + 20);
    flow(owner, 10, 0, tag + 30);
}

static void start_batch(context *c) {
    npu_engine_delay(c->engine, 1, start_more, c, 0);
    npu_engine_delay(c->engine, 1, start_more, c, 1);
    delay(c, 1, 2);
}

static void test_what_a_batch_starts_comes_after_it(void **state) {
    (void)state;
    scenario s = {{{"l", 10}}, 1, {{"p", {0}, 1, INFINITY}}, 1, start_batch};
    CHECK(&s, {0, 1}, {1, 1}, {2, 1}, {10, 1}, {20, 1}, {11, 1}, {21, 1}, {30, 3}, {31, 3});
}

// Buffers of a core: when one is filled, it is filled again.
static void refill(void *owner, int64_t tag) {
    record(owner, tag);
    if (tag < 6)
        npu_engine_flow(((context *)owner)->engine, 10 * (1 + (double)(tag % 2)), (int)(tag % 2),
                        refill, owner, tag + 2);
}

static void start_refills(context *c) {
    npu_engine_flow(c->engine, 10, 0, refill, c, 0);
    npu_engine_flow(c->engine, 20, 1, refill, c, 1);
}

static void test_chains_of_flows(void **state) {
    (void)state;
    scenario s = {
        {{"l", 10}}, 1, {{"p", {0}, 1, INFINITY}, {"q", {0}, 1, INFINITY}}, 2, start_refills};
    // 5 each: one refills every 2 ns, the other every 4 ns until the first ends at 8;
    // tag 5 then has all: 20 bytes in 2 ns, and tag 7 as well.
    CHECK(&s, {0, 2}, {1, 4}, {2, 4}, {4, 6}, {3, 8}, {6, 8}, {5, 10}, {7, 12});
}

// --- the rest ------------------------------------------------------------------------------

static void stop(void *owner, int64_t tag) {
    record(owner, tag);
    npu_engine_stop(((context *)owner)->engine);
}

static void start_stop(context *c) {
    delay(c, 5, 0);
    npu_engine_delay(c->engine, 5, stop, c, 1);
    delay(c, 5, 2); // of the same batch
    flow(c, 1000, 0, 3);
    delay(c, 50, 4);
}

static void test_stop_drops_the_rest(void **state) {
    (void)state;
    scenario s = {{{"l", 10}}, 1, {{"p", {0}, 1, INFINITY}}, 1, start_stop};
    CHECK(&s, {0, 5}, {1, 5});
    for (int kind = 0; kind <= LAST_ENGINE; kind++) {
        outcome out;
        run(kind, &s, &out);
        assert_near(out.end, 5);
        assert_near(out.link_bytes[0], 0); // of flows that completed
        assert_near(out.link_busy[0], 5);
    }
}

static void start_stopped(context *c) {
    delay(c, 5, 0);
    npu_engine_stop(c->engine);
}

static void start_none(context *c) {
    (void)c;
}

static void test_nothing_to_do(void **state) {
    (void)state;
    scenario s = {{{"l", 10}}, 1, {{"p", {0}, 1, INFINITY}}, 1, start_none};
    check(&s, NULL, 0);
    s.start = start_stopped;
    check(&s, NULL, 0);
}

static void second_flows(void *owner, int64_t tag) {
    record(owner, tag);
    flow(owner, 40, 1, 2);
    flow(owner, 0, 1, 3);
}

static void start_counted(context *c) {
    flow(c, 100, 0, 0);
    npu_engine_delay(c->engine, 30, second_flows, c, 1);
}

static void test_statistics(void **state) {
    (void)state;
    scenario s = {{{"a", 10}, {"b", 4}},
                  2,
                  {{"pa", {0}, 1, INFINITY}, {"pab", {0, 1}, 2, 2}},
                  2,
                  start_counted};
    for (int kind = 0; kind <= LAST_ENGINE; kind++) {
        outcome out;
        run(kind, &s, &out);
        assert_int_equal(out.delays, 1);
        assert_int_equal(out.flows, 3);
        assert_near(out.end, 50);
        assert_near(out.link_bytes[0], 140);
        assert_near(out.link_bytes[1], 40);
        assert_near(out.link_busy[0], 30); // [0, 10) and [30, 50)
        assert_near(out.link_busy[1], 20);
    }
}

static void test_same_again(void **state) {
    (void)state;
    scenario s = {{{"l", 7}}, 1, {{"p", {0}, 1, INFINITY}, {"q", {0}, 1, 3}}, 2, start_refills};
    for (int kind = 0; kind <= LAST_ENGINE; kind++) {
        outcome first, second;
        run(kind, &s, &first);
        run(kind, &s, &second);
        assert_memory_equal(&first, &second, sizeof first);
    }
}

// A class that never runs empty and has moved much must stay in step with delays for long:
// its clock is set back on the way.
typedef struct clocks {
    npu_engine *engine;
    int steps;
    double last[2];
    int64_t late;
} clocks;

static void tick(void *owner, int64_t tag) {
    clocks *c = owner;
    c->last[tag] = npu_engine_now(c->engine);
    c->late += tag == 1 && c->last[0] != c->last[1]; // the delay was made first
    if (c->steps-- <= 0)
        npu_engine_stop(c->engine);
    else if (tag == 0)
        npu_engine_delay(c->engine, 100.1, tick, c, 0);
    else
        npu_engine_flow(c->engine, 100.1, 0, tick, c, 1);
}

static void ignore(void *owner, int64_t tag) {
    (void)owner;
    (void)tag;
}

static void start_clocks(void *owner, int64_t tag) {
    clocks *c = owner;
    for (int i = 0; i < 998; i++)
        npu_engine_flow(c->engine, 1e12, 1, ignore, c, tag);
    npu_engine_delay(c->engine, 0.1, tick, c, 0);
    npu_engine_flow(c->engine, 0.1, 0, tick, c, 1);
}

static void test_flows_stay_in_step_with_delays(void **state) {
    (void)state;
    npu_link link = {"l", 1000};
    npu_path paths[] = {{"p", {0}, 1, INFINITY}, {"q", {0}, 1, INFINITY}};
    npu_net net = {&link, 1, paths, 2};
    npu_error err = {0};
    clocks c = {.steps = 1000000};
    assert_int_equal(npu_engine_new(NPU_ENGINE_FLUID, &net, &c.engine, &err), NPU_OK);
    npu_engine_flow(c.engine, 1e12, 0, ignore, &c, 0); // at 1000 first, then at 1
    npu_engine_delay(c.engine, 1e7, start_clocks, &c, 0);
    assert_int_equal(npu_engine_run(c.engine, &err), NPU_OK);
    assert_int_equal(c.late, 0);
    assert_near(c.last[1], 1e7 + 500000 * 100.1 + 0.1 - 100.1);
    npu_engine_free(c.engine);
}

#ifdef NPUSIM_HAVE_SIMGRID
static void start_engine_again(context *c) {
    scenario s = {{{"l", 10}}, 1, {{"p", {0}, 1, INFINITY}}, 1, start_two};
    npu_net net = {s.links, 1, s.paths, 1};
    npu_engine *second = NULL;
    npu_error err = {0};
    if (npu_engine_new(NPU_ENGINE_SIMGRID, &net, &second, &err) == NPU_BAD_INPUT &&
        second == NULL && strcmp(err.text, "the simgrid engine can be used once per process") == 0)
        delay(c, 1, 0);
}

static void test_simgrid_is_once_per_process(void **state) {
    (void)state;
    scenario s = {{{"l", 10}}, 1, {{"p", {0}, 1, INFINITY}}, 1, start_engine_again};
    outcome out;
    run(NPU_ENGINE_SIMGRID, &s, &out);
    assert_int_equal(out.count, 1); // start_engine_again was content
}
#endif

static void test_broken_module_is_an_error(void **state) {
    (void)state;
    char folder[] = "/tmp/npusim-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char file[64];
    snprintf(file, sizeof file, "%s/npusim_simgrid.so", folder);
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    fputs("not a module\n", out);
    fclose(out);
    setenv("NPUSIM_MODULES", folder, 1);
    npu_net net = {0};
    npu_engine *engine = NULL;
    npu_error err = {0};
    assert_int_equal(npu_engine_new(NPU_ENGINE_SIMGRID, &net, &engine, &err), NPU_BAD_INPUT);
    assert_null(engine);
    assert_non_null(strstr(err.text, "the simgrid engine cannot be loaded: "));
    unsetenv("NPUSIM_MODULES");
    unlink(file);
    rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_flows_share_and_one_speeds_up),
        cmocka_unit_test(test_two_links),
        cmocka_unit_test(test_what_a_capped_flow_leaves_goes_to_others),
        cmocka_unit_test(test_path_without_links),
        cmocka_unit_test(test_late_flow_slows_the_first_down),
        cmocka_unit_test(test_nothing_takes_no_time),
        cmocka_unit_test(test_ties_come_in_creation_order),
        cmocka_unit_test(test_what_a_batch_starts_comes_after_it),
        cmocka_unit_test(test_chains_of_flows),
        cmocka_unit_test(test_stop_drops_the_rest),
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_same_again),
        cmocka_unit_test(test_flows_stay_in_step_with_delays),
#ifdef NPUSIM_HAVE_SIMGRID
        cmocka_unit_test(test_simgrid_is_once_per_process),
#endif
        cmocka_unit_test(test_broken_module_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
