// SPDX-License-Identifier: Apache-2.0
// SDMA: pulls ranges of GM into L2 in the background. Each issuing core is one stream: its
// descriptors run one after another, streams of several cores together. A descriptor starts up
// while the one before it still runs.
#ifndef NPU_SDMA_H
#define NPU_SDMA_H

#include "die.h"
#include "engine.h"
#include "memory.h"

typedef struct npu_sdma npu_sdma;

// Borrows everything. `core_count` issuing cores.
npu_status npu_sdma_new(const npu_die *die, npu_engine *engine, npu_memory *memory,
                        npu_totals *totals, int core_count, npu_sdma **sdma, npu_error *err);
// Hands a descriptor over at `at` (ns, now or later, in order for each core). NPU_NO_MEMORY when
// the queue cannot grow.
npu_status npu_sdma_prefetch(npu_sdma *sdma, int core, const npu_gm *gm, double at, npu_error *err);
void npu_sdma_free(npu_sdma *sdma);

#endif
