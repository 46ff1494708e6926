// SPDX-License-Identifier: Apache-2.0
// The fabric: the network between dies, read from a SimGrid platform file by SimGrid itself, so
// that it may be any topology that SimGrid can describe. Rank r is the host "die<r>" of the file.
#ifndef NPU_FABRIC_H
#define NPU_FABRIC_H

#include "engine.h"

enum { NPU_FABRIC_HOPS = 8, NPU_FABRIC_NAME = 64 };

typedef struct npu_fabric_link {
    char name[NPU_FABRIC_NAME];
    double rate; // bytes per ns
    bool shared; // by all flows; otherwise each flow gets `rate` (a FATPIPE)
} npu_fabric_link;

typedef struct npu_route {
    int links[NPU_FABRIC_HOPS]; // of the fabric
    int link_count;
    double latency; // ns, one way
} npu_route;

typedef struct npu_fabric {
    int ranks;
    npu_fabric_link *links;
    int link_count;
    npu_route *routes; // [from * ranks + to]; none from a rank to itself
} npu_fabric;

// Reads the routes between the first `ranks` dies. Errors: NPU_IO for a file that cannot be read,
// NPU_BAD_INPUT with SimGrid's own words for one that it refuses, for a missing die or route, for a
// link without bandwidth, and when the simgrid module is not installed. Free with npu_fabric_free.
npu_status npu_fabric_load(const char *path, int ranks, npu_fabric *fabric, npu_error *err);
void npu_fabric_free(npu_fabric *fabric);

static inline const npu_route *npu_fabric_route(const npu_fabric *fabric, int from, int to) {
    return &fabric->routes[from * fabric->ranks + to];
}

// Between fabric.c and the module: the room for `ranks` ranks, of which `link_count` links come
// back filled.
typedef npu_status (*npu_fabric_read_fn)(const char *path, npu_fabric *room, int link_room,
                                         npu_error *err);

#endif
