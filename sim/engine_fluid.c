// SPDX-License-Identifier: Apache-2.0
// The fluid engine. All flows of a path have the same rate at all times, so the path keeps
// one virtual clock, the bytes each of its flows has been served, and a flow is nothing but
// the clock's reading at which it is done (its mark). A change of rates touches the paths,
// never the flows.
#include <stdlib.h>

#include "engine_impl.h"

// A clock that has run this far is set back before the next mark is made, so that the marks'
// rounding (2^-27 bytes here) stays below NPU_ENGINE_TIE however long a run is.
static const double clock_limit = 1 << 26;

typedef struct flow_class {
    npu_heap flows; // key: mark
    double clock;   // reading at time `since`
    double since;
    double rate;    // of each flow from `since` on
    int rated;      // for how many flows `rate` was computed
    double due;     // when the first flow is done; INFINITY while unknown
    double carried; // bytes moved up to `since`, for the final check
    bool changed;   // `due` has to be computed again
    // While rates are computed:
    double limit;
    bool settled;
} flow_class;

typedef struct fluid_link {
    double left;  // rate not yet given out
    int claims;   // flows whose rate is not known yet
    double fair;  // what each of these could get
    bool touched; // crossed by a class whose flows have changed, or by one that shares with it
} fluid_link;

typedef struct fluid {
    npu_engine base;
    flow_class *classes; // one per path
    int *active;         // paths with flows, and those that lost their last one just now
    int active_count;
    int *part; // those of them whose rates have to be computed
    int part_count;
    bool changed; // some class has changed
    fluid_link *links;
    int *open; // links in use, while rates are computed
    int open_count;
} fluid;

static npu_status fluid_init(npu_engine *engine, npu_error *err) {
    fluid *f = (fluid *)engine;
    size_t paths = (size_t)engine->net.path_count + 1;
    size_t links = (size_t)engine->net.link_count + 1;
    f->classes = npu_arena_alloc(&engine->arena, paths, sizeof *f->classes);
    f->active = npu_arena_alloc(&engine->arena, paths, sizeof *f->active);
    f->part = npu_arena_alloc(&engine->arena, paths, sizeof *f->part);
    f->links = npu_arena_alloc(&engine->arena, links, sizeof *f->links);
    f->open = npu_arena_alloc(&engine->arena, links, sizeof *f->open);
    if (f->classes == NULL || f->active == NULL || f->part == NULL || f->links == NULL ||
        f->open == NULL)
        return npu_fail_memory(err);
    return NPU_OK;
}

static void fluid_free(npu_engine *engine) {
    fluid *f = (fluid *)engine;
    for (int i = 0; i < engine->net.path_count; i++)
        free(f->classes[i].flows.items);
}

// Brings the clock to `now`. Due before the rate or the number of flows it was computed for
// changes; otherwise left alone, as every step rounds.
static void wind(flow_class *c, double now) {
    double step = (now - c->since) * c->rate;
    c->clock += step;
    c->carried += c->rated * step;
    c->since = now;
}

static double reading(const flow_class *c, double now) {
    return c->clock + (now - c->since) * c->rate;
}

// Keeps the order of the marks: one amount is taken from all, and the results are rounded no
// coarser than the marks were.
static void set_back(flow_class *c, double now) {
    wind(c, now);
    for (int i = 0; i < c->flows.count; i++)
        c->flows.items[i].key -= c->clock;
    c->clock = 0;
}

static bool fluid_flow(npu_engine *engine, int path, npu_event event) {
    fluid *f = (fluid *)engine;
    flow_class *c = &f->classes[path];
    if (c->flows.count == 0 || reading(c, engine->now) > clock_limit)
        set_back(c, engine->now);
    event.key = reading(c, engine->now) + event.bytes;
    if (!npu_heap_push(&c->flows, event))
        return false;
    if (c->flows.count == 1 && c->rated == 0)
        f->active[f->active_count++] = path;
    c->changed = f->changed = true;
    npu_meter_start(engine, path, engine->now);
    return true;
}

static const npu_path *path_of(const fluid *f, int path) {
    return &f->base.net.paths[path];
}

static bool touches(const fluid *f, const npu_path *path) {
    for (int k = 0; k < path->link_count; k++)
        if (f->links[path->links[k]].touched)
            return true;
    return false;
}

static void touch(fluid *f, const npu_path *path) {
    for (int k = 0; k < path->link_count; k++) {
        fluid_link *link = &f->links[path->links[k]];
        if (link->touched)
            continue;
        link->touched = true;
        link->left = f->base.net.links[path->links[k]].rate;
        f->open[f->open_count++] = path->links[k];
    }
}

// Classes whose number of flows changed, with all that share a link with them, directly or over
// others: the rates of the rest cannot change. Leaves them in `part`, and their links open with
// nothing given out yet.
static void choose_part(fluid *f) {
    f->part_count = f->open_count = 0;
    for (int i = 0; i < f->active_count; i++) {
        flow_class *c = &f->classes[f->active[i]];
        c->settled = c->flows.count == c->rated;
        if (!c->settled)
            f->part[f->part_count++] = f->active[i];
    }
    for (int done = 0; done < f->part_count;) {
        while (done < f->part_count)
            touch(f, path_of(f, f->part[done++]));
        for (int i = 0; i < f->active_count; i++) {
            flow_class *c = &f->classes[f->active[i]];
            if (c->settled && touches(f, path_of(f, f->active[i]))) {
                c->settled = false;
                f->part[f->part_count++] = f->active[i];
            }
        }
    }
    for (int i = 0; i < f->part_count; i++) {
        const npu_path *path = path_of(f, f->part[i]);
        for (int k = 0; k < path->link_count; k++)
            f->links[path->links[k]].claims += f->classes[f->part[i]].flows.count;
    }
}

// Leaves in `limit` what each path's flows could get if all claims on a link got the same,
// and returns the smallest: for the paths that have it, it is final.
static double lowest_limit(fluid *f, double floor) {
    for (int i = 0; i < f->open_count; i++) {
        fluid_link *link = &f->links[f->open[i]];
        if (link->claims > 0) // in exact arithmetic the floor changes nothing
            link->fair = fmax(link->left / link->claims, floor);
    }
    double lowest = INFINITY;
    for (int i = 0; i < f->part_count; i++) {
        flow_class *c = &f->classes[f->part[i]];
        if (c->settled)
            continue;
        const npu_path *path = path_of(f, f->part[i]);
        c->limit = path->cap;
        for (int k = 0; k < path->link_count; k++)
            c->limit = fmin(c->limit, f->links[path->links[k]].fair);
        lowest = fmin(lowest, c->limit);
    }
    assert(lowest > 0 && isfinite(lowest));
    return lowest;
}

// Leaves the max-min rate of every path of the part in `limit`.
static void fill(fluid *f) {
    double level = 0;
    for (int unsettled = f->part_count; unsettled > 0;) {
        level = lowest_limit(f, level);
        for (int i = 0; i < f->part_count; i++) {
            flow_class *c = &f->classes[f->part[i]];
            if (c->settled || c->limit > level * (1 + 1e-12))
                continue;
            const npu_path *path = path_of(f, f->part[i]);
            for (int k = 0; k < path->link_count; k++) {
                fluid_link *link = &f->links[path->links[k]];
                link->left -= c->limit * c->flows.count;
                link->claims -= c->flows.count;
            }
            c->settled = true;
            unsettled--;
        }
    }
    for (int i = 0; i < f->open_count; i++) {
        fluid_link *link = &f->links[f->open[i]];
        assert(link->claims == 0);
        assert(link->left >= -1e-9 * f->base.net.links[f->open[i]].rate);
        link->touched = false;
    }
}

static void compute_rates(fluid *f) {
    double now = f->base.now;
    choose_part(f);
    int kept = 0;
    for (int i = 0; i < f->part_count; i++) {
        flow_class *c = &f->classes[f->part[i]];
        if (c->flows.count > 0) {
            f->part[kept++] = f->part[i];
            continue;
        }
        wind(c, now);
        c->rate = 0;
        c->rated = 0;
        c->changed = false;
    }
    f->part_count = kept;
    fill(f);
    for (int i = 0; i < f->part_count; i++) {
        flow_class *c = &f->classes[f->part[i]];
        if (c->limit == c->rate && c->flows.count == c->rated)
            continue;
        wind(c, now);
        c->rate = c->limit;
        c->rated = c->flows.count;
        c->changed = true;
    }
    kept = 0;
    for (int i = 0; i < f->active_count; i++)
        if (f->classes[f->active[i]].flows.count > 0)
            f->active[kept++] = f->active[i];
    f->active_count = kept;
}

static double due_time(const flow_class *c) {
    return c->flows.count > 0 ? c->since + (c->flows.items[0].key - c->clock) / c->rate : INFINITY;
}

// After a batch. Callbacks often replace the flow that ended: then the rates still hold.
static void update(fluid *f) {
    if (!f->changed)
        return;
    f->changed = false;
    bool other_counts = false;
    for (int i = 0; i < f->active_count; i++) {
        const flow_class *c = &f->classes[f->active[i]];
        other_counts |= c->flows.count != c->rated;
    }
    if (other_counts)
        compute_rates(f);
    for (int i = 0; i < f->active_count; i++) {
        flow_class *c = &f->classes[f->active[i]];
        if (c->changed)
            c->due = due_time(c);
        c->changed = false;
    }
}

static double earliest(const fluid *f) {
    double time = f->base.timers.count > 0 ? f->base.timers.items[0].key : INFINITY;
    for (int i = 0; i < f->active_count; i++)
        time = fmin(time, f->classes[f->active[i]].due);
    return time;
}

static void collect_flows(fluid *f, double limit) {
    for (int i = 0; i < f->active_count; i++) {
        int path = f->active[i];
        flow_class *c = &f->classes[path];
        for (; c->due <= limit; c->due = due_time(c)) {
            npu_event event = npu_heap_pop(&c->flows);
            c->changed = f->changed = true;
            npu_meter_finish(&f->base, path, event.bytes, f->base.now);
            npu_engine_collect(&f->base, event);
        }
    }
}

// What went over each path is what was asked for, but for the rounding and for the flows
// that a tie ended up to NPU_ENGINE_TIE early.
static void check_bytes(const fluid *f) {
    for (int i = 0; i < f->base.net.path_count; i++) {
        const npu_path_meter *path = &f->base.paths[i];
        double early = (double)path->flows * npu_path_peak(&f->base, i) * NPU_ENGINE_TIE;
        assert(fabs(f->classes[i].carried - path->bytes) <= 1e-6 * path->bytes + early);
        (void)early;
    }
}

static npu_status fluid_run(npu_engine *engine, npu_error *err) {
    (void)err;
    fluid *f = (fluid *)engine;
    for (update(f); !engine->stopped; update(f)) {
        double time = earliest(f);
        if (time == INFINITY)
            break;
        engine->now = fmax(engine->now, time);
        npu_engine_collect_timers(engine, time + NPU_ENGINE_TIE);
        collect_flows(f, time + NPU_ENGINE_TIE);
        npu_engine_deliver(engine);
    }
    if (!engine->stopped)
        check_bytes(f);
    return NPU_OK;
}

const npu_engine_ops npu_engine_fluid = {sizeof(npu_engine), sizeof(fluid), fluid_init,
                                         fluid_flow,         fluid_run,     fluid_free};
