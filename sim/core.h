// SPDX-License-Identifier: Apache-2.0
// The cores: in-order pipes that carry out the ops of a block (docs/model.md).
//
// An op starts when its pipe is free, the slots it reads are filled and the slots it writes
// are drained. Ops of fixed cost get their times at once, even when those lie ahead of now();
// only transfers with GM, which share links with other cores, need events.
#ifndef NPU_CORE_H
#define NPU_CORE_H

#include "die.h"
#include "dies.h"
#include "engine.h"
#include "graph.h"
#include "memory.h"
#include "sdma.h"
#include "trace.h"

typedef struct npu_cores npu_cores;

typedef struct npu_cores_hooks {
    void (*done)(void *owner, int core); // the block started last on this core has ended, now
    void *owner;
} npu_cores_hooks;

// The cores of the die graph->rank. Everything is borrowed; trace->cores must be filled, and
// dies->memories before the engine runs. Counts into trace->totals.
npu_status npu_cores_new(const npu_die *die, const npu_graph *graph, npu_engine *engine,
                         npu_dies *dies, npu_sdma *sdma, npu_trace *trace,
                         const npu_cores_hooks *hooks, npu_cores **cores, npu_error *err);
// Starts the block of trace->rows[row] on its core, which must be idle. Its pipes' busy
// times, bytes and ops are added to the row when it ends.
void npu_cores_start(npu_cores *cores, int row);
// The first error a block met (a region outside its tensor, a flag nobody raises): the engine
// is then stopped.
npu_status npu_cores_result(const npu_cores *cores, npu_error *err);
// After the run: NPU_BAD_INPUT when cores still spin on counters, with the first few of them.
npu_status npu_cores_awaited(const npu_counters *counters, npu_error *err);
void npu_cores_free(npu_cores *cores);

#endif
