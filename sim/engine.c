// SPDX-License-Identifier: Apache-2.0
#include "engine.h"

#include <stdlib.h>
#include <string.h>

#include "engine_impl.h"
#include "module.h"

const char *const npu_engine_names[] = {"fluid", "simgrid", NULL};

// The library behind the module takes tens of ms to load, so only a run that asks for it pays.
static npu_status load_simgrid(const npu_engine_ops **ops, npu_error *err) {
    void *found = NULL;
    npu_status status = npu_simgrid_symbol("npu_engine_simgrid", &found, err);
    *ops = found;
    if (!status && (*ops)->base_size != sizeof(npu_engine))
        status = npu_fail(err, NPU_BAD_INPUT, (npu_pos){0},
                          "the simgrid engine belongs to another version of npusim");
    return status;
}

static void check_net(const npu_net *net) {
    for (int i = 0; i < net->link_count; i++)
        assert(net->links[i].rate > 0 && isfinite(net->links[i].rate));
    for (int i = 0; i < net->path_count; i++) {
        const npu_path *path = &net->paths[i];
        assert(path->cap > 0 && path->link_count >= 0 && path->link_count <= NPU_PATH_LINKS);
        assert(isfinite(path->cap) || path->link_count > 0);
        for (int k = 0; k < path->link_count; k++) {
            assert(path->links[k] >= 0 && path->links[k] < net->link_count);
            for (int m = 0; m < k; m++)
                assert(path->links[m] != path->links[k]);
        }
    }
}

static const char *copy_name(npu_arena *arena, const char *name) {
    return npu_arena_text(arena, name != NULL ? name : "", name != NULL ? strlen(name) : 0);
}

// Arena memory for `count` elements; one more, so that none is not an error.
static void *table(npu_arena *arena, int count, size_t size) {
    return npu_arena_alloc(arena, (size_t)count + 1, size);
}

static bool copy_net(npu_engine *engine, const npu_net *net) {
    npu_arena *arena = &engine->arena;
    npu_link *links = table(arena, net->link_count, sizeof *links);
    npu_path *paths = table(arena, net->path_count, sizeof *paths);
    engine->links = table(arena, net->link_count, sizeof *engine->links);
    engine->paths = table(arena, net->path_count, sizeof *engine->paths);
    engine->stats.link_bytes = table(arena, net->link_count, sizeof(double));
    engine->stats.link_busy = table(arena, net->link_count, sizeof(double));
    if (links == NULL || paths == NULL || engine->links == NULL || engine->paths == NULL ||
        engine->stats.link_bytes == NULL || engine->stats.link_busy == NULL)
        return false;
    for (int i = 0; i < net->link_count; i++) {
        links[i] = net->links[i];
        links[i].name = copy_name(arena, net->links[i].name);
        if (links[i].name == NULL)
            return false;
    }
    for (int i = 0; i < net->path_count; i++) {
        paths[i] = net->paths[i];
        paths[i].name = copy_name(arena, net->paths[i].name);
        if (paths[i].name == NULL)
            return false;
    }
    engine->net = (npu_net){links, net->link_count, paths, net->path_count};
    return true;
}

static void free_base(npu_engine *engine) {
    free(engine->timers.items);
    free(engine->batch.items);
    npu_arena_free(&engine->arena);
    free(engine);
}

npu_status npu_engine_new(npu_engine_kind kind, const npu_net *net, npu_engine **engine,
                          npu_error *err) {
    assert(kind == NPU_ENGINE_FLUID || kind == NPU_ENGINE_SIMGRID);
    *engine = NULL;
    check_net(net);
    const npu_engine_ops *ops = &npu_engine_fluid;
    if (kind == NPU_ENGINE_SIMGRID) {
        npu_status status = load_simgrid(&ops, err);
        if (status != NPU_OK)
            return status;
    }
    npu_engine *fresh = calloc(1, ops->size);
    if (fresh == NULL)
        return npu_fail_memory(err);
    fresh->ops = ops;
    npu_status status = copy_net(fresh, net) ? ops->init(fresh, err) : npu_fail_memory(err);
    if (status != NPU_OK) {
        free_base(fresh);
        return status;
    }
    *engine = fresh;
    return NPU_OK;
}

double npu_engine_now(const npu_engine *engine) {
    return engine->now;
}

void npu_engine_delay(npu_engine *engine, double dt, npu_event_fn fn, void *owner, int64_t tag) {
    assert(dt >= 0 && isfinite(dt) && fn != NULL);
    engine->stats.delays++;
    npu_event event = {engine->now + dt, engine->next_seq++, 0, fn, owner, tag};
    if (!npu_heap_push(&engine->timers, event))
        npu_engine_fail_memory(engine);
}

void npu_engine_flow(npu_engine *engine, double bytes, int path, npu_event_fn fn, void *owner,
                     int64_t tag) {
    assert(bytes >= 0 && isfinite(bytes) && fn != NULL);
    assert(path >= 0 && path < engine->net.path_count);
    engine->stats.flows++;
    npu_event event = {engine->now, engine->next_seq++, bytes, fn, owner, tag};
    bool made =
        bytes > 0 ? engine->ops->flow(engine, path, event) : npu_heap_push(&engine->timers, event);
    if (!made)
        npu_engine_fail_memory(engine);
}

npu_status npu_engine_run(npu_engine *engine, npu_error *err) {
    assert(!engine->started);
    engine->started = true;
    npu_status status = NPU_OK;
    if (!engine->stopped)
        status = engine->ops->run(engine, err);
    engine->timers.count = 0; // a stopped run drops what is pending
    engine->batch.count = 0;
    return engine->no_memory ? npu_fail_memory(err) : status;
}

void npu_engine_stop(npu_engine *engine) {
    engine->stopped = true;
}

const npu_engine_stats *npu_engine_get_stats(const npu_engine *engine) {
    for (int i = 0; i < engine->net.link_count; i++) {
        const npu_link_meter *link = &engine->links[i];
        engine->stats.link_busy[i] =
            link->busy + (link->active > 0 ? engine->now - link->since : 0);
        engine->stats.link_bytes[i] = 0;
    }
    for (int i = 0; i < engine->net.path_count; i++) {
        const npu_path *path = &engine->net.paths[i];
        for (int k = 0; k < path->link_count; k++)
            engine->stats.link_bytes[path->links[k]] += engine->paths[i].bytes;
    }
    return &engine->stats;
}

void npu_engine_free(npu_engine *engine) {
    if (engine == NULL)
        return;
    engine->ops->free(engine);
    free_base(engine);
}
