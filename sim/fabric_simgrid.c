// SPDX-License-Identifier: Apache-2.0
// Part of the simgrid module: a platform file's hosts and routes as plain data.
#include <stdio.h>
#include <string.h>

#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/link.h>
#include <xbt/dynar.h>

#include "fabric.h"

// The link's index in the room, added at its first use; -1 when there is no room left.
static int link_index(npu_fabric *f, int room, const_sg_link_t link) {
    const char *name = sg_link_get_name(link);
    for (int i = 0; i < f->link_count; i++)
        if (strncmp(f->links[i].name, name, NPU_FABRIC_NAME - 1) == 0)
            return i;
    if (f->link_count == room)
        return -1;
    npu_fabric_link *added = &f->links[f->link_count];
    snprintf(added->name, sizeof added->name, "%s", name);
    added->rate = sg_link_get_bandwidth(link) * 1e-9;
    added->shared = sg_link_is_shared(link) != 0;
    return f->link_count++;
}

static npu_status read_route(npu_fabric *f, int room, const sg_host_t *hosts, int from, int to,
                             npu_pos pos, npu_error *err) {
    npu_route *route = &f->routes[from * f->ranks + to];
    // NOLINTNEXTLINE(bugprone-sizeof-expression): links are pointers
    xbt_dynar_t links = xbt_dynar_new(sizeof(sg_link_t), NULL);
    npu_status status = NPU_OK;
    sg_host_get_route(hosts[from], hosts[to], links);
    route->latency = sg_host_get_route_latency(hosts[from], hosts[to]) * 1e9;
    unsigned count = (unsigned)xbt_dynar_length(links);
    for (unsigned i = 0; i < count && !status; i++) {
        sg_link_t link;
        xbt_dynar_get_cpy(links, i, &link);
        int index = link_index(f, room, link);
        if (index < 0)
            status = npu_fail(err, NPU_BAD_INPUT, pos, "its routes have more than %d links", room);
        else if (route->link_count == NPU_FABRIC_HOPS)
            status = npu_fail(err, NPU_BAD_INPUT, pos,
                              "the route from die%d to die%d has more than %d links", from, to,
                              NPU_FABRIC_HOPS);
        else
            route->links[route->link_count++] = index;
    }
    xbt_dynar_free(&links);
    return status;
}

__attribute__((visibility("default"))) npu_status npu_fabric_read(const char *path, npu_fabric *f,
                                                                  int room, npu_error *err);

npu_status npu_fabric_read(const char *path, npu_fabric *f, int room, npu_error *err) {
    char *args[] = {"npusim", "--cfg=debug/verbose-exit:0", NULL};
    int count = 2;
    npu_pos pos = {path, 0, 0};
    enum { MOST = 64 };
    sg_host_t hosts[MOST];
    if (f->ranks > MOST)
        return npu_fail(err, NPU_BAD_INPUT, pos, "at most %d dies are read", MOST);
    simgrid_init(&count, args);
    simgrid_load_platform(path);
    for (int r = 0; r < f->ranks; r++) {
        char name[16];
        snprintf(name, sizeof name, "die%d", r);
        hosts[r] = sg_host_by_name(name);
        if (hosts[r] == NULL)
            return npu_fail(err, NPU_BAD_INPUT, pos, "it has no host '%s'; rank %d would be on it",
                            name, r);
    }
    npu_status status = NPU_OK;
    for (int from = 0; from < f->ranks; from++)
        for (int to = 0; to < f->ranks && !status; to++)
            if (from != to)
                status = read_route(f, room, hosts, from, to, pos, err);
    return status;
}
