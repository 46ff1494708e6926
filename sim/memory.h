// SPDX-License-Identifier: Apache-2.0
// GM as the cores see it: HBM behind the L2, in whole lines. It says which lines of a
// transfer hit, which links each kind of transfer crosses, and keeps what is resident.
//
// A line counts as resident from the moment it is asked for: a second core that asks while it
// is on its way does not fetch it again, but waits as long as for a miss.
#ifndef NPU_MEMORY_H
#define NPU_MEMORY_H

#include "die.h"
#include "engine.h"
#include "trace.h"

typedef struct npu_memory npu_memory;

// The kinds of transfer: each is a path of the engine's network.
typedef enum npu_memory_path {
    NPU_PATH_AIC_MISS,
    NPU_PATH_AIC_HIT,
    NPU_PATH_AIC_CROWD, // misses past L2 in a page that many cores read at once
    NPU_PATH_AIC_QUEUE, // hits in such a page
    NPU_PATH_AIC_WRITE,
    NPU_PATH_AIV_MISS,
    NPU_PATH_AIV_HIT,
    NPU_PATH_AIV_CROWD,
    NPU_PATH_AIV_QUEUE,
    NPU_PATH_AIV_WRITE,
    NPU_PATH_WRITE_BACK,  // dirty lines that L2 evicts
    NPU_PATH_SDMA,        // one stream alone
    NPU_PATH_SDMA_SHARED, // each of several
    NPU_PATH_COUNT,
} npu_memory_path;

typedef enum npu_memory_link {
    NPU_LINK_HBM,
    NPU_LINK_L2_READ,
    NPU_LINK_L2_WRITE,
    NPU_LINK_CROWD, // what the pages that many cores read at once yield
    NPU_LINK_COUNT,
} npu_memory_link;

// The die's network: links[NPU_LINK_COUNT] and paths[NPU_PATH_COUNT] are filled.
void npu_memory_net(const npu_die *die, npu_link *links, npu_path *paths);

// `warm`: external tensors are resident from the start, in file order, as far as they fit.
// Borrows everything; counts into *totals.
npu_status npu_memory_new(const npu_die *die, const npu_graph *graph, npu_engine *engine, bool warm,
                          npu_totals *totals, npu_memory **memory, npu_error *err);
void npu_memory_free(npu_memory *memory);

// What a load finds, in bytes. Missing lines are fetched whole; of lines that are in L2 only
// the sectors asked for cross to the core.
typedef struct npu_touch {
    double miss;
    double late;       // in lines that were asked for less than a miss's latency ago
    double crowd;      // missing past L2, in pages that many cores read at once
    double queued;     // there or late, in such pages
    double hit;        // all the rest
    double late_lines; // whole lines that are late, in whatever page
} npu_touch;

// Addresses are those of the graph, with the rank in their upper bits; they must be this die's.
// The missing lines become resident, unless the load bypasses L2. `reader` is the core, one of
// another die with a number of its own (npu_memory_reader); `class_` is what the bytes count as.
npu_touch npu_memory_load(npu_memory *memory, const npu_gm *gm, npu_class class_, int reader,
                          bool bypass);
// The number as which a core of `rank` reads here.
int npu_memory_reader(const npu_memory *memory, int rank, int core);
// The engine's path for a kind of transfer with this memory.
int npu_memory_engine_path(const npu_memory *memory, npu_memory_path kind);
// Bytes of whole lines a store sends to L2, where they become resident and dirty.
double npu_memory_store(npu_memory *memory, const npu_gm *gm, bool atomic);
// Bytes of the lines in [address, address + bytes) that are not resident.
double npu_memory_missing(const npu_memory *memory, int64_t address, int64_t bytes);
// Those lines become resident (an SDMA chunk has landed).
void npu_memory_fill(npu_memory *memory, int64_t address, int64_t bytes);
// Asserts that the lines counted are the lines kept and that they fit the L2.
void npu_memory_check_invariants(const npu_memory *memory);

#endif
