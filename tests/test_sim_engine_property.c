// SPDX-License-Identifier: Apache-2.0
// Random programs on both engines: same callbacks, same order, same times.
//
// A program is a net and a forest of actions: the roots start at time 0, the others when
// their parent is done. Amounts come from short lists, so that ties are common.
//
// SimGrid runs once per process and takes tens of ms to start, so programs are run in
// batches, one child process each: their nets side by side, one program after the other.
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

enum { PROGRAMS = 2000, BATCH = 40 };
enum { MAX_LINKS = 5, MAX_PATHS = 6, MAX_ACTIONS = 80 };

// Ties within NPU_ENGINE_TIE are the contract's; completions that are apart, but by less
// than SimGrid can tell at the slowest rates here, are nobody's: such programs are skipped.
static const double too_close = 1e-3;

typedef struct action {
    int parent; // -1: a root
    int path;   // -1: a delay
    double amount;
} action;

typedef struct event {
    int action;
    double now; // since the program's start
} event;

typedef struct program {
    uint64_t seed;
    npu_link links[MAX_LINKS];
    int link_count;
    npu_path paths[MAX_PATHS];
    int path_count;
    action actions[MAX_ACTIONS];
    int action_count;
    event events[MAX_ACTIONS]; // as the fluid engine made them
} program;

// --- programs ------------------------------------------------------------------------------

static uint64_t next_random(uint64_t *state) { // splitmix64
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int below(uint64_t *state, int limit) {
    return (int)(next_random(state) % (uint64_t)limit);
}

// One of the list, or now and then any number in [1, 100).
static double pick(uint64_t *state, const double *list, int count) {
    int at = below(state, count + 1);
    return at < count ? list[at] : 1 + 99 * ((double)(next_random(state) >> 11) * 0x1p-53);
}

static npu_path make_path(uint64_t *state, int link_count) {
    static const double caps[] = {1, 2, 5, 10, 12.5, 40};
    npu_path path = {.name = "path"};
    int first = below(state, link_count);
    path.link_count = below(state, link_count + 1);
    for (int k = 0; k < path.link_count; k++)
        path.links[k] = (first + k) % link_count;
    bool capped = path.link_count == 0 || below(state, 2) == 0;
    path.cap = capped ? pick(state, caps, 6) : INFINITY;
    return path;
}

static void make_program(uint64_t seed, program *p) {
    static const double rates[] = {4, 10, 16, 25, 100};
    static const double delays[] = {0, 0.5, 1, 10, 10, 25};
    static const double sizes[] = {0, 64, 64, 128, 512, 1000};
    uint64_t state = seed;
    *p = (program){.seed = seed};
    p->link_count = 1 + below(&state, MAX_LINKS);
    for (int i = 0; i < p->link_count; i++)
        p->links[i] = (npu_link){"link", pick(&state, rates, 5)};
    p->path_count = 1 + below(&state, MAX_PATHS);
    for (int i = 0; i < p->path_count; i++)
        p->paths[i] = make_path(&state, p->link_count);
    p->action_count = 5 + below(&state, MAX_ACTIONS - 4);
    int roots = 1 + below(&state, p->action_count);
    for (int i = 0; i < p->action_count; i++) {
        action *a = &p->actions[i];
        a->parent = i < roots ? -1 : below(&state, i);
        a->path = below(&state, 3) == 0 ? -1 : below(&state, p->path_count);
        a->amount = a->path < 0 ? pick(&state, delays, 6) : pick(&state, sizes, 6);
    }
}

// --- runs ----------------------------------------------------------------------------------

// Programs one after the other on one engine.
typedef struct player {
    npu_engine *engine;
    const program *programs;
    int count;
    int current;
    double start;   // of the current program
    int first_path; // of its paths, in the engine's net
    int done;       // of its actions
    event *events;  // [count][MAX_ACTIONS]
} player;

static void on_done(void *owner, int64_t tag);

static void begin(player *pl, int which) {
    const action *a = &pl->programs[pl->current].actions[which];
    if (a->path < 0)
        npu_engine_delay(pl->engine, a->amount, on_done, pl, which);
    else
        npu_engine_flow(pl->engine, a->amount, pl->first_path + a->path, on_done, pl, which);
}

static void begin_children(player *pl, int parent) {
    const program *p = &pl->programs[pl->current];
    for (int i = parent + 1; i < p->action_count; i++)
        if (p->actions[i].parent == parent)
            begin(pl, i);
}

static void on_done(void *owner, int64_t tag) {
    player *pl = owner;
    const program *p = &pl->programs[pl->current];
    double now = npu_engine_now(pl->engine);
    if (pl->done < MAX_ACTIONS)
        pl->events[pl->current * MAX_ACTIONS + pl->done] = (event){(int)tag, now - pl->start};
    pl->done++;
    begin_children(pl, (int)tag);
    if (pl->done < p->action_count)
        return;
    pl->first_path += p->path_count;
    pl->start = now;
    pl->done = 0;
    if (++pl->current < pl->count)
        begin_children(pl, -1);
}

static npu_status play(npu_engine_kind kind, const program *programs, int count, event *events,
                       npu_error *err) {
    npu_link links[BATCH * MAX_LINKS];
    npu_path paths[BATCH * MAX_PATHS];
    npu_net net = {links, 0, paths, 0};
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < programs[i].path_count; k++) {
            npu_path *path = &paths[net.path_count++];
            *path = programs[i].paths[k];
            for (int m = 0; m < path->link_count; m++)
                path->links[m] += net.link_count;
        }
        for (int k = 0; k < programs[i].link_count; k++)
            links[net.link_count++] = programs[i].links[k];
    }
    player pl = {.programs = programs, .count = count, .events = events};
    npu_status status = npu_engine_new(kind, &net, &pl.engine, err);
    if (status != NPU_OK)
        return status;
    begin_children(&pl, -1);
    status = npu_engine_run(pl.engine, err);
    npu_engine_free(pl.engine);
    if (status == NPU_OK && pl.current != count)
        return npu_fail(err, NPU_IO, (npu_pos){0}, "program %d of the batch never ended",
                        pl.current);
    return status;
}

// The next program from `seed` on that has no near ties, with its events.
static uint64_t next_program(uint64_t seed, program *p) {
    for (bool again = true; again; seed++) {
        npu_error err = {0};
        make_program(seed, p);
        assert_int_equal(play(NPU_ENGINE_FLUID, p, 1, p->events, &err), NPU_OK);
        again = false;
        for (int i = 1; i < p->action_count; i++) {
            double gap = p->events[i].now - p->events[i - 1].now;
            assert_true(gap >= 0);
            again |= gap > 0 && gap < too_close;
        }
    }
    return seed;
}

// --- tests ---------------------------------------------------------------------------------

static bool same_events(const program *p, const event *got) {
    for (int i = 0; i < p->action_count; i++) {
        const event *want = &p->events[i];
        if (got[i].action == want->action &&
            fabs(got[i].now - want->now) <= 1e-6 * want->now + NPU_ENGINE_TIE)
            continue;
        fprintf(stderr,
                "program %llu, event %d: action %d at %.12g on fluid, action %d at %.12g on "
                "the other\n",
                (unsigned long long)p->seed, i, want->action, want->now, got[i].action, got[i].now);
        return false;
    }
    return true;
}

static bool agrees(npu_engine_kind kind, const program *programs, int count) {
    static event events[BATCH * MAX_ACTIONS];
    npu_error err = {0};
    if (play(kind, programs, count, events, &err) != NPU_OK) {
        fprintf(stderr, "programs %llu...: %s\n", (unsigned long long)programs[0].seed, err.text);
        return false;
    }
    bool same = true;
    for (int i = 0; i < count; i++)
        same &= same_events(&programs[i], &events[i * MAX_ACTIONS]);
    return same;
}

// Each batch in a child, so that simgrid can be used again and again.
static void check_all(npu_engine_kind kind) {
    static program programs[BATCH];
    uint64_t seed = 1;
    int events = 0, ties = 0;
    for (int done = 0; done < PROGRAMS; done += BATCH) {
        for (int i = 0; i < BATCH; i++) {
            program *p = &programs[i];
            seed = next_program(seed, p);
            events += p->action_count;
            for (int k = 1; k < p->action_count; k++)
                ties += p->events[k].now == p->events[k - 1].now;
        }
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(agrees(kind, programs, BATCH) ? 0 : 1);
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    printf("%d programs (%d seeds), %d events, %d of them tied with the one before\n", PROGRAMS,
           (int)seed - 1, events, ties);
    assert_true(ties > events / 10 && ties < events); // the lists above do their work
}

static void test_fluid_does_not_depend_on_the_start_time(void **state) {
    (void)state;
    check_all(NPU_ENGINE_FLUID);
}

#ifdef NPUSIM_HAVE_SIMGRID
static void test_simgrid_agrees_with_fluid(void **state) {
    (void)state;
    check_all(NPU_ENGINE_SIMGRID);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fluid_does_not_depend_on_the_start_time),
#ifdef NPUSIM_HAVE_SIMGRID
        cmocka_unit_test(test_simgrid_agrees_with_fluid),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
