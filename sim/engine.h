// SPDX-License-Identifier: Apache-2.0
// The event engine: now, delay and flow are all the die model needs. Two implementations of
// one contract: `fluid`, written for this model, and `simgrid`, the independent reference.
//
// Time is in ns, data in bytes, rates in bytes per ns (= GB/s).
//
// Flows share links max-min fairly: every flow gets the largest rate such that no link
// carries more than its rate and no flow more than its path's cap; what one flow cannot use
// goes to the others. All flows count the same.
//
// Order is part of the contract, because a tie broken differently is a different dispatch
// decision: callbacks due within NPU_ENGINE_TIE of the earliest one are called in the order
// in which their delay() or flow() was made, all at the same now().
#ifndef NPU_ENGINE_H
#define NPU_ENGINE_H

#include "error.h"

#define NPU_ENGINE_TIE 1e-7 // ns; far below a cycle (0.5 ns), far above rounding noise

typedef enum npu_engine_kind { NPU_ENGINE_FLUID, NPU_ENGINE_SIMGRID } npu_engine_kind;

enum { NPU_PATH_LINKS = 12 };

typedef struct npu_link {
    const char *name;
    double rate; // > 0
} npu_link;

// Flows of one path form a class: same links, same cap.
typedef struct npu_path {
    const char *name;
    int links[NPU_PATH_LINKS]; // indices of links, each at most once
    int link_count;            // may be 0: then only the cap holds
    double cap;                // per flow, > 0; INFINITY when link_count > 0 and none
} npu_path;

// The network; copied by npu_engine_new.
typedef struct npu_net {
    const npu_link *links;
    int link_count;
    const npu_path *paths;
    int path_count;
} npu_net;

typedef struct npu_engine npu_engine;
typedef void (*npu_event_fn)(void *owner, int64_t tag);

typedef struct npu_engine_stats {
    int64_t delays;
    int64_t flows;
    double *link_bytes; // [link_count] of the flows that completed; owned by the engine
    double *link_busy;  // [link_count] ns in which the link carried anything
} npu_engine_stats;

// The simgrid engine can be made once per process (SimGrid's own limit), and lives in a
// module loaded on demand: NPU_BAD_INPUT with a sentence when it is not installed.
npu_status npu_engine_new(npu_engine_kind kind, const npu_net *net, npu_engine **engine,
                          npu_error *err);
double npu_engine_now(const npu_engine *engine);
// Calls fn(owner, tag) after dt >= 0 ns.
void npu_engine_delay(npu_engine *engine, double dt, npu_event_fn fn, void *owner, int64_t tag);
// Moves bytes >= 0 over a path, then calls fn(owner, tag). 0 bytes complete at now().
void npu_engine_flow(npu_engine *engine, double bytes, int path, npu_event_fn fn, void *owner,
                     int64_t tag);
// Runs until nothing is left or npu_engine_stop; once per engine. Delays and flows may be
// made before run() and from callbacks. Out of memory inside a delay or flow surfaces here.
npu_status npu_engine_run(npu_engine *engine, npu_error *err);
// Makes run() return after the current callback; what is pending is dropped.
void npu_engine_stop(npu_engine *engine);
const npu_engine_stats *npu_engine_get_stats(const npu_engine *engine);
void npu_engine_free(npu_engine *engine);

// "fluid", "simgrid", NULL
extern const char *const npu_engine_names[];

#endif
