// SPDX-License-Identifier: Apache-2.0
// Why the modelled run takes longer or shorter than the measured one, cause by cause.
//
// A run is taken apart into delays: of each row, how long after each thing that it waited for it
// was taken up, sent, started, ended and seen. With its own delays a run comes out as it was. From
// the measured run on, the delays of one cause after the other become those of the modelled run,
// last the order; after each the makespan is worked out anew.
#ifndef NPU_WATERFALL_H
#define NPU_WATERFALL_H

#include "timed.h"

typedef enum npu_replay_cause { // in the order in which they are exchanged
    NPU_CAUSE_KERNEL,    // start -> end
    NPU_CAUSE_DISPATCH,  // a scheduler turns to it -> sent -> start; a free core is sent another
    NPU_CAUSE_RESOLVE,   // end -> seen; the last producer seen -> a scheduler turns to it
    NPU_CAUSE_PRESSURE,  // when the orchestrator has submitted it
    NPU_CAUSE_CORE,      // the row before on its core ends -> start
    NPU_CAUSE_ORDER,     // which rows a core runs, and in which order
    NPU_CAUSE_COUNT,
} npu_replay_cause;
extern const char *const npu_replay_cause_names[]; // "kernel time", ...

typedef struct npu_waterfall {
    bool known; // false: the stamps contradict the edges, and nothing can be worked out
    double after[NPU_CAUSE_COUNT]; // makespan when this cause and those before are exchanged, ns
    double share[NPU_CAUSE_COUNT]; // differences; their sum is modelled - measured
} npu_waterfall;

npu_status npu_waterfall_make(const npu_graph *graph, const npu_timed *measured,
                              const npu_timed *modelled, npu_waterfall *waterfall, npu_error *err);

#endif
