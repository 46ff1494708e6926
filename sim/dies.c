// SPDX-License-Identifier: Apache-2.0
#include "dies.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static int remote_path(int ranks, int full, int from, int to, npu_remote_path kind) {
    return full * NPU_PATH_COUNT + (from * ranks + to) * NPU_REMOTE_COUNT + (int)kind;
}

int npu_dies_path(const npu_dies *dies, int from, int to, npu_remote_path kind) {
    assert(from != to && from < dies->ranks && to < dies->ranks);
    return remote_path(dies->ranks, dies->full, from, to, kind);
}

double npu_dies_latency(const npu_dies *dies, int from, int to) {
    return from == to ? 0 : npu_fabric_route(dies->fabric, from, to)->latency;
}

// Adds the links of a route. One that is not shared only bounds each flow.
static void add_route(npu_path *path, const npu_fabric *fabric, const npu_route *route,
                      int first_link) {
    for (int i = 0; i < route->link_count; i++) {
        const npu_fabric_link *link = &fabric->links[route->links[i]];
        if (link->shared)
            path->links[path->link_count++] = first_link + route->links[i];
        else
            path->cap = fmin(path->cap, link->rate);
    }
    assert(path->link_count <= NPU_PATH_LINKS);
}

// What the cores of `from` move from and to the GM of `to`: it crosses what a core of `to` would
// cross, but for that core's port, and the fabric.
static void add_pair(npu_path *paths, const npu_fabric *fabric, int full, int from, int to) {
    static const npu_memory_path local[NPU_REMOTE_COUNT] = {
        [NPU_REMOTE_AIC_MISS] = NPU_PATH_AIC_MISS,   [NPU_REMOTE_AIC_HIT] = NPU_PATH_AIC_HIT,
        [NPU_REMOTE_AIC_WRITE] = NPU_PATH_AIC_WRITE, [NPU_REMOTE_AIV_MISS] = NPU_PATH_AIV_MISS,
        [NPU_REMOTE_AIV_HIT] = NPU_PATH_AIV_HIT,     [NPU_REMOTE_AIV_WRITE] = NPU_PATH_AIV_WRITE,
    };
    int ranks = fabric->ranks, first_link = full * NPU_LINK_COUNT;
    for (int kind = 0; kind < NPU_REMOTE_COUNT; kind++) {
        bool writes = kind == NPU_REMOTE_AIC_WRITE || kind == NPU_REMOTE_AIV_WRITE;
        npu_path *path = &paths[remote_path(ranks, full, from, to, (npu_remote_path)kind)];
        *path = paths[to % full * NPU_PATH_COUNT + (int)local[kind]];
        path->name = "remote";
        if (to >= full)
            path->link_count = 0;
        if (from != to)
            add_route(path, fabric,
                      writes ? npu_fabric_route(fabric, from, to)
                             : npu_fabric_route(fabric, to, from),
                      first_link);
    }
}

npu_status npu_dies_engine(const npu_die *die, int ranks, int full, const npu_fabric *fabric,
                           npu_engine_kind kind, npu_engine **engine, npu_error *err) {
    assert(full >= 1 && full <= ranks && (fabric == NULL) == (ranks == 1));
    int first = full * NPU_LINK_COUNT; // of the fabric's links
    int link_count = first + (fabric != NULL ? fabric->link_count : 0);
    int path_count = remote_path(ranks, full, 0, 0, 0);
    if (fabric != NULL)
        path_count += ranks * ranks * NPU_REMOTE_COUNT;
    npu_link *links = calloc((size_t)link_count, sizeof *links);
    npu_path *paths = calloc((size_t)path_count, sizeof *paths);
    if (links == NULL || paths == NULL) {
        free(links);
        free(paths);
        return npu_fail_memory(err);
    }
    for (int r = 0; r < full; r++) {
        npu_path *own = &paths[r * NPU_PATH_COUNT];
        npu_memory_net(die, &links[r * NPU_LINK_COUNT], own);
        for (int i = 0; i < NPU_PATH_COUNT; i++)
            for (int k = 0; k < own[i].link_count; k++)
                own[i].links[k] += r * NPU_LINK_COUNT;
    }
    for (int i = first; fabric != NULL && i < link_count; i++)
        links[i] = (npu_link){fabric->links[i - first].name, fabric->links[i - first].rate};
    for (int pair = 0; fabric != NULL && pair < ranks * ranks; pair++)
        add_pair(paths, fabric, full, pair / ranks, pair % ranks);
    npu_net net = {links, link_count, paths, path_count};
    npu_status status = npu_engine_new(kind, &net, engine, err);
    free(links);
    free(paths);
    return status;
}
