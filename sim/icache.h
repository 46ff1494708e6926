// SPDX-License-Identifier: Apache-2.0
// The instruction caches of the cores: what of the code of a graph's functions each core has
// fetched lately, and what it costs S to fetch the rest.
#ifndef NPU_ICACHE_H
#define NPU_ICACHE_H

#include "die.h"
#include "graph.h"

typedef struct npu_icache npu_icache;

// For the functions of `graph` on cores 0 .. cores - 1, all of them empty. Keeps `die` and `graph`.
// Error: no memory.
npu_status npu_icache_new(const npu_die *die, const npu_graph *graph, int cores, npu_icache **out,
                          npu_error *err);
void npu_icache_free(npu_icache *cache);

// S of `core` comes to a statement of the program of function `func`, compiled into so many
// instructions, at least 1. Returns how long it stands still for them in ns: 0 when the core still
// holds them, that is when it has fetched no more than a cache of other code since.
double npu_icache_fetch(npu_icache *cache, int core, int func, int statement, int64_t instructions);

#endif
