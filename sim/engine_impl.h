// SPDX-License-Identifier: Apache-2.0
// Internal to the engine: what both implementations share. engine.c numbers the events,
// keeps the delays and the statistics; an implementation moves flows and advances `now`.
#ifndef NPU_ENGINE_IMPL_H
#define NPU_ENGINE_IMPL_H

#include <math.h>

#include "engine.h"
#include "engine_heap.h"

typedef struct npu_engine_ops {
    size_t base_size; // sizeof(npu_engine) it was built with: tells a stale module
    size_t size;      // of the implementation's struct, which starts with npu_engine
    npu_status (*init)(npu_engine *engine, npu_error *err);
    // event.bytes > 0. False when out of memory.
    bool (*flow)(npu_engine *engine, int path, npu_event event);
    npu_status (*run)(npu_engine *engine, npu_error *err);
    void (*free)(npu_engine *engine); // what init and run made; the base is engine.c's
} npu_engine_ops;

typedef struct npu_path_meter {
    int active;   // flows under way
    double bytes; // of the flows that completed
    int64_t flows;
} npu_path_meter;

typedef struct npu_link_meter {
    int active;   // paths with flows under way
    double since; // when the link last became busy
    double busy;  // ns of the busy times that ended
} npu_link_meter;

struct npu_engine {
    const npu_engine_ops *ops;
    npu_arena arena;
    npu_net net;
    double now;
    npu_heap timers; // key: the time they are due
    npu_heap batch;  // key 0: the callbacks to make at `now`
    int64_t next_seq;
    bool started;
    bool stopped;
    bool no_memory; // implies stopped
    npu_path_meter *paths;
    npu_link_meter *links;
    npu_engine_stats stats;
};

extern const npu_engine_ops npu_engine_fluid;

static inline void npu_engine_fail_memory(npu_engine *engine) {
    engine->no_memory = true;
    engine->stopped = true;
}

// Statistics of one flow's start and end. A link is busy while any of its paths is.
static inline void npu_meter_start(npu_engine *engine, int path, double now) {
    if (engine->paths[path].active++ > 0)
        return;
    const npu_path *p = &engine->net.paths[path];
    for (int i = 0; i < p->link_count; i++) {
        npu_link_meter *link = &engine->links[p->links[i]];
        if (link->active++ == 0)
            link->since = now;
    }
}

static inline void npu_meter_finish(npu_engine *engine, int path, double bytes, double now) {
    engine->paths[path].bytes += bytes;
    engine->paths[path].flows++;
    if (--engine->paths[path].active > 0)
        return;
    const npu_path *p = &engine->net.paths[path];
    for (int i = 0; i < p->link_count; i++) {
        npu_link_meter *link = &engine->links[p->links[i]];
        if (--link->active == 0)
            link->busy += now - link->since;
    }
}

// The most one flow of a path can get.
static inline double npu_path_peak(const npu_engine *engine, int path) {
    const npu_path *p = &engine->net.paths[path];
    double peak = p->cap;
    for (int i = 0; i < p->link_count; i++)
        peak = fmin(peak, engine->net.links[p->links[i]].rate);
    return peak;
}

// Adds to the batch: called in creation order by npu_engine_deliver, whatever the key was.
static inline void npu_engine_collect(npu_engine *engine, npu_event event) {
    event.key = 0;
    if (!npu_heap_push(&engine->batch, event))
        npu_engine_fail_memory(engine);
}

static inline void npu_engine_collect_timers(npu_engine *engine, double limit) {
    while (engine->timers.count > 0 && engine->timers.items[0].key <= limit)
        npu_engine_collect(engine, npu_heap_pop(&engine->timers));
}

// Makes the callbacks of the batch; what they start is not part of it.
static inline void npu_engine_deliver(npu_engine *engine) {
    while (engine->batch.count > 0 && !engine->stopped) {
        npu_event event = npu_heap_pop(&engine->batch);
        event.fn(event.owner, event.tag);
    }
}

#endif
