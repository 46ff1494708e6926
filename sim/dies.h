// SPDX-License-Identifier: Apache-2.0
// Several dies on one engine: the paths of all of them and between them, and who owns an address.
#ifndef NPU_DIES_H
#define NPU_DIES_H

#include "counters.h"
#include "fabric.h"
#include "memory.h"

// Transfers of a core with the GM of another die: each is a path for every ordered pair.
typedef enum npu_remote_path {
    NPU_REMOTE_AIC_MISS,
    NPU_REMOTE_AIC_HIT,
    NPU_REMOTE_AIC_WRITE,
    NPU_REMOTE_AIV_MISS,
    NPU_REMOTE_AIV_HIT,
    NPU_REMOTE_AIV_WRITE,
    NPU_REMOTE_COUNT,
} npu_remote_path;

typedef struct npu_dies {
    const npu_fabric *fabric; // NULL with one die
    int ranks;
    int full;                            // the others are images
    const npu_graph *graphs;             // [ranks]
    npu_memory *memories[NPU_MAX_RANKS]; // of an image: that of the rank it is an image of
    npu_counters *counters;              // of all dies
} npu_dies;

static inline int npu_rank_of(int64_t address) {
    return (int)(address >> NPU_RANK_SHIFT);
}

// The engine for `full` dies of one kind among `ranks`. `fabric` is NULL with one die. Images have
// the links of the fabric only.
npu_status npu_dies_engine(const npu_die *die, int ranks, int full, const npu_fabric *fabric,
                           npu_engine_kind kind, npu_engine **engine, npu_error *err);
// The path of what a core of rank `from` moves from or to the GM of rank `to`.
int npu_dies_path(const npu_dies *dies, int from, int to, npu_remote_path kind);
// ns, one way, between two ranks; 0 from one to itself.
double npu_dies_latency(const npu_dies *dies, int from, int to);

#endif
