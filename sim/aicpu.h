// SPDX-License-Identifier: Apache-2.0
// The AICPU: one orchestrator thread submits the graph, scheduler threads poll their cores,
// resolve completions and dispatch blocks (the runtime's tensormap-and-ring-buffer flavour;
// docs/dispatch.md). It also holds the worker's side of the protocol: the running and the
// pending slot of each core, set-up, ACK and FIN.
#ifndef NPU_AICPU_H
#define NPU_AICPU_H

#include "die.h"
#include "engine.h"
#include "graph.h"
#include "trace.h"

enum { NPU_MAX_SCHEDULERS = 8 }; // as many as the AICPU has cores

typedef struct npu_aicpu npu_aicpu;

// The cores, as the dispatcher uses them.
typedef struct npu_aicpu_hooks {
    // The kernel body of trace->rows[row] begins on its core now; the owner answers with one
    // npu_aicpu_done(aicpu, core), later or from inside this call.
    void (*start)(void *owner, int row);
    void *owner;
} npu_aicpu_hooks;

// Everything passed is borrowed until npu_aicpu_free. Rows, phases and submits are appended
// to `trace` (rows when dispatched); trace->cores must be filled with npu_aicpu_cores.
npu_status npu_aicpu_new(const npu_die *die, const npu_graph *graph, npu_engine *engine,
                         const npu_aicpu_hooks *hooks, npu_trace *trace, npu_aicpu **aicpu,
                         npu_error *err);
// Fills trace->cores and core_count for the die: clusters AICs, then 2 * clusters AIVs;
// cluster c belongs to scheduler c mod schedulers.
npu_status npu_aicpu_cores(const npu_die *die, npu_trace *trace, npu_error *err);
// From now on recording costs what the die says; before npu_aicpu_begin.
void npu_aicpu_record(npu_aicpu *aicpu);
// Makes the first events; the engine's run() then carries everything out.
void npu_aicpu_begin(npu_aicpu *aicpu);
// The kernel body on `core` ended now.
void npu_aicpu_done(npu_aicpu *aicpu, int core);
// After run(): NPU_OK when every task completed; otherwise what went wrong (out of memory, or
// a graph that cannot finish, naming a task that waits).
npu_status npu_aicpu_result(const npu_aicpu *aicpu, npu_error *err);
// ns each thread spent outside idle spins: [0] the orchestrator (or the resolving thread), [1 + t]
// scheduler t.
void npu_aicpu_busy(const npu_aicpu *aicpu, double *busy, int count);
void npu_aicpu_free(npu_aicpu *aicpu);

#endif
