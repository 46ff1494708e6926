// SPDX-License-Identifier: Apache-2.0
// The reference engine: SimGrid keeps the time and shares the links. Built as a module.
//
// One actor, the controller, makes all callbacks; a flow is a transfer between two hosts by
// one of a pool of worker actors; delays are the controller's own timeouts.
//
// Units. SimGrid ends an action early when less than a precision is left of it:
// `surf/precision` for times, that times `maxmin/precision` for data. Both are to mean
// NPU_ENGINE_TIE, so that rounding cannot take apart what is due together. So a SimGrid
// second is so short that the fastest flow moves `maxmin/precision` in it. (The solver
// compares rates with their link's only, so it does not mind small ones.) A slower flow can
// end a little earlier than in the fluid engine. SimGrid's byte is a fraction of ours as the
// size of a transfer is an integer there.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // memfd_create
#endif
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/semaphore.h>

#include "engine_impl.h"

#define SOLVER_PRECISION 1e-12
#define LINK "<link id=\"%s%d.%d\" bandwidth=\"%.17gBps\" latency=\"0s\" sharing_policy=\"%s\"/>\n"
#define DATA_SCALE 1048576.0 // SimGrid's bytes per byte

enum { CONTROLLER_STACK = 8192, WORKER_STACK = 256 }; // KiB
enum { ALL_LANES = 768, PATH_LANES = 256 }; // SimGrid's routing table is quadratic in them

typedef struct job {
    npu_event event;
    int path;
} job;

// A path's flows start at one of its sources. Source 0 is for any number of flows: its cap
// is a fatpipe, which caps each flow but costs SimGrid time quadratic in their number. The
// others are for one flow at a time: their cap is a link.
typedef struct source_set {
    sg_host_t *hosts;
    int *idle; // sources without a flow, a stack
    int idle_count;
} source_set;

typedef struct simgrid {
    npu_engine base;
    double second;       // ns of a SimGrid second
    int lanes;           // sources per path beside source 0
    source_set *sources; // one per path
    sg_host_t hub;       // where all flows go
    job *jobs;           // flows no worker has taken yet; their order does not matter
    int job_count;
    int job_capacity;
    int unannounced; // flows no worker has been asked to take yet
    int busy;        // flows a worker has been asked to take, until they are done
    int workers;
    bool waiting; // the controller waits, and nobody has woken it yet
    bool quit;    // workers shall end
    sg_sem_t work;
    sg_sem_t wake;
} simgrid;

static void write_source(const simgrid *s, int path, int source, FILE *out) {
    double cap = s->base.net.paths[path].cap * DATA_SCALE * s->second;
    fprintf(out, "<host id=\"path%d.%d\" speed=\"1f\"/>\n", path, source);
    if (isfinite(cap))
        fprintf(out, LINK, "cap", path, source, cap, source == 0 ? "FATPIPE" : "SHARED");
}

static void write_route(const simgrid *s, int path, int source, FILE *out) {
    const npu_path *p = &s->base.net.paths[path];
    fprintf(out, "<route src=\"path%d.%d\" dst=\"hub\" symmetrical=\"NO\">", path, source);
    for (int k = 0; k < p->link_count; k++)
        fprintf(out, "<link_ctn id=\"link%d.0\"/>", p->links[k]);
    if (isfinite(p->cap))
        fprintf(out, "<link_ctn id=\"cap%d.%d\"/>", path, source);
    fputs("</route>\n", out);
}

static void write_platform(const simgrid *s, FILE *out) {
    fputs("<?xml version='1.0'?>\n"
          "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
          "<platform version=\"4.1\"><zone id=\"net\" routing=\"Full\">\n"
          "<host id=\"hub\" speed=\"1f\"/>\n",
          out);
    for (int i = 0; i < s->base.net.link_count; i++)
        fprintf(out, LINK, "link", i, 0, s->base.net.links[i].rate * DATA_SCALE * s->second,
                "SHARED");
    for (int i = 0; i < s->base.net.path_count; i++)
        for (int k = 0; k <= s->lanes; k++)
            write_source(s, i, k, out);
    for (int i = 0; i < s->base.net.path_count; i++) // the grammar wants routes last
        for (int k = 0; k <= s->lanes; k++)
            write_route(s, i, k, out);
    fputs("</zone></platform>\n", out);
}

// A file without a name; -1 when there can be none.
static int open_nameless(void) {
    int fd = memfd_create("npusim-platform", MFD_CLOEXEC);
    if (fd >= 0)
        return fd;
    char name[] = "/tmp/npusim-platform-XXXXXX";
    fd = mkstemp(name);
    if (fd >= 0)
        unlink(name);
    return fd;
}

static npu_status load_platform(const simgrid *s, npu_error *err) {
    int fd = open_nameless();
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (out == NULL) {
        if (fd >= 0)
            close(fd);
        return npu_fail(err, NPU_IO, (npu_pos){0},
                        "cannot make a temporary file for the simgrid platform");
    }
    write_platform(s, out);
    bool written = fflush(out) == 0 && !ferror(out);
    if (written) {
        char file[64];
        snprintf(file, sizeof file, "/proc/self/fd/%d", fd);
        simgrid_load_platform(file);
    }
    fclose(out);
    return written ? NPU_OK
                   : npu_fail(err, NPU_IO, (npu_pos){0}, "cannot write the simgrid platform");
}

// Plain max-min sharing without any model of TCP. The Full update keeps ten digits where
// the Lazy one drifts.
static void start_simgrid(double tie) {
    char timing[64], solver[64];
    snprintf(timing, sizeof timing, "--cfg=surf/precision:%.17g", tie);
    snprintf(solver, sizeof solver, "--cfg=maxmin/precision:%g", SOLVER_PRECISION);
    char *args[] = {"npusim",
                    "--log=root.thres:critical", // first: it silences the others
                    "--cfg=network/model:CM02",
                    "--cfg=network/optim:Full",
                    "--cfg=network/crosstraffic:0",
                    "--cfg=network/TCP-gamma:0",
                    "--cfg=network/latency-factor:1",
                    "--cfg=network/bandwidth-factor:1",
                    "--cfg=network/weight-S:0",
                    "--cfg=debug/verbose-exit:0",
#ifdef NPUSIM_SANITIZE
                    "--cfg=contexts/factory:thread", // stacks ASan knows about, but slow
#endif
                    timing,
                    solver,
                    NULL};
    int count = (int)(sizeof args / sizeof args[0]) - 1;
    // SimGrid takes over these signals; they are the program's.
    const int signals[] = {SIGINT, SIGSEGV, SIGBUS};
    struct sigaction kept[sizeof signals / sizeof signals[0]];
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        sigaction(signals[i], NULL, &kept[i]);
    simgrid_init(&count, args);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        sigaction(signals[i], &kept[i], NULL);
}

static bool make_sources(simgrid *s) {
    npu_arena *arena = &s->base.arena;
    int paths = s->base.net.path_count;
    s->lanes = paths > 0 ? ALL_LANES / paths : 0;
    s->lanes = s->lanes < PATH_LANES ? s->lanes : PATH_LANES;
    s->sources = npu_arena_alloc(arena, (size_t)paths + 1, sizeof *s->sources);
    if (s->sources == NULL)
        return false;
    for (int i = 0; i < paths; i++) {
        source_set *set = &s->sources[i];
        // NOLINTNEXTLINE(bugprone-sizeof-expression): hosts are pointers
        set->hosts = npu_arena_alloc(arena, (size_t)s->lanes + 1, sizeof *set->hosts);
        set->idle = npu_arena_alloc(arena, (size_t)s->lanes + 1, sizeof *set->idle);
        if (set->hosts == NULL || set->idle == NULL)
            return false;
        for (int k = s->lanes; k > 0; k--)
            set->idle[set->idle_count++] = k;
    }
    return true;
}

static void find_hosts(simgrid *s) {
    s->hub = sg_host_by_name("hub");
    for (int i = 0; i < s->base.net.path_count; i++)
        for (int k = 0; k <= s->lanes; k++) {
            char name[32];
            snprintf(name, sizeof name, "path%d.%d", i, k);
            s->sources[i].hosts[k] = sg_host_by_name(name);
            assert(s->sources[i].hosts[k] != NULL);
        }
}

static npu_status simgrid_engine_init(npu_engine *engine, npu_error *err) {
    static bool used; // of the process, as SimGrid's own state is
    if (used)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0},
                        "the simgrid engine can be used once per process");
    simgrid *s = (simgrid *)engine;
    if (!make_sources(s))
        return npu_fail_memory(err);
    double fastest = 0;
    for (int i = 0; i < engine->net.path_count; i++)
        fastest = fmax(fastest, npu_path_peak(engine, i));
    s->second = SOLVER_PRECISION / (DATA_SCALE * (fastest > 0 ? fastest : 1));
    used = true;
    start_simgrid(NPU_ENGINE_TIE / s->second);
    npu_status status = load_platform(s, err);
    if (status != NPU_OK)
        return status;
    find_hosts(s);
    s->work = sg_sem_init(0);
    s->wake = sg_sem_init(0);
    return NPU_OK;
}

// The platform stays: SimGrid frees it at exit.
static void simgrid_engine_free(npu_engine *engine) {
    simgrid *s = (simgrid *)engine;
    sg_sem_destroy(s->work);
    sg_sem_destroy(s->wake);
    free(s->jobs);
}

static bool simgrid_engine_flow(npu_engine *engine, int path, npu_event event) {
    simgrid *s = (simgrid *)engine;
    assert(event.bytes < 0x1p64 / DATA_SCALE); // 17 TB
    if (NPU_GROW(s, jobs, job_count, job_capacity, NULL) != NPU_OK)
        return false;
    s->jobs[s->job_count++] = (job){event, path};
    s->unannounced++;
    npu_meter_start(engine, path, engine->now);
    return true;
}

static double clock_ns(const simgrid *s) {
    return simgrid_get_clock() * s->second;
}

static void worker(int argc, char **argv) {
    (void)argc;
    (void)argv;
    simgrid *s = sg_actor_self_get_data();
    for (;;) {
        sg_sem_acquire(s->work);
        if (s->quit)
            return;
        job j = s->jobs[--s->job_count];
        source_set *set = &s->sources[j.path];
        int source = set->idle_count > 0 ? set->idle[--set->idle_count] : 0;
        sg_host_sendto(set->hosts[source], s->hub, j.event.bytes * DATA_SCALE);
        if (source > 0)
            set->idle[set->idle_count++] = source;
        if (s->quit)
            continue; // the engine was stopped while this flow was under way
        s->busy--;
        npu_meter_finish(&s->base, j.path, j.event.bytes, fmax(s->base.now, clock_ns(s)));
        npu_engine_collect(&s->base, j.event);
        if (s->waiting) {
            s->waiting = false;
            sg_sem_release(s->wake);
        }
    }
}

static void start_actor(simgrid *s, const char *name, xbt_main_func_t code, unsigned stack) {
    sg_actor_t actor = sg_actor_init(name, s->hub);
    sg_actor_set_data(actor, s);
    sg_actor_set_stacksize(actor, stack);
    sg_actor_start(actor, code, 0, NULL);
}

// Workers begin the flows made since the last call; SimGrid's clock stands still meanwhile.
static void announce(simgrid *s) {
    for (; s->unannounced > 0; s->unannounced--) {
        if (++s->busy > s->workers) {
            start_actor(s, "worker", worker, WORKER_STACK);
            s->workers++;
        }
        sg_sem_release(s->work);
    }
}

// Until a flow is done or the first delay is over.
static void wait_for_event(simgrid *s) {
    const npu_heap *timers = &s->base.timers;
    s->waiting = true;
    if (timers->count > 0)
        sg_sem_acquire_timeout(s->wake, (timers->items[0].key - clock_ns(s)) / s->second);
    else
        sg_sem_acquire(s->wake);
    s->waiting = false;
    sg_actor_yield(); // the other workers that are done at this instant report, too
}

static void controller(int argc, char **argv) {
    (void)argc;
    (void)argv;
    simgrid *s = sg_actor_self_get_data();
    npu_engine *engine = &s->base;
    while (!engine->stopped) {
        double time = clock_ns(s);
        if (engine->batch.count == 0) {
            double due = engine->timers.count > 0 ? engine->timers.items[0].key : INFINITY;
            if (due > time + NPU_ENGINE_TIE) {
                announce(s);
                if (due == INFINITY && s->busy == 0)
                    break;
                wait_for_event(s);
                continue;
            }
            time = due;
        }
        engine->now = fmax(engine->now, time);
        npu_engine_collect_timers(engine, time + NPU_ENGINE_TIE);
        npu_engine_deliver(engine);
    }
    // Workers with a flow under way see it through first: killing them would unwind through
    // their frames.
    s->quit = true;
    for (int i = 0; i < s->workers; i++)
        sg_sem_release(s->work);
}

static npu_status simgrid_engine_run(npu_engine *engine, npu_error *err) {
    (void)err;
    simgrid *s = (simgrid *)engine;
    start_actor(s, "controller", controller, CONTROLLER_STACK);
    simgrid_run();
    return NPU_OK;
}

__attribute__((visibility("default"))) extern const npu_engine_ops npu_engine_simgrid;
const npu_engine_ops npu_engine_simgrid = {sizeof(npu_engine),  sizeof(simgrid),
                                           simgrid_engine_init, simgrid_engine_flow,
                                           simgrid_engine_run,  simgrid_engine_free};
