// SPDX-License-Identifier: Apache-2.0
// What a run would take if one thing cost nothing, or were otherwise: each is simulated.
#ifndef NPU_WHATIF_H
#define NPU_WHATIF_H

#include "simulated.h"

enum { NPU_WHATIF_NAME = 64, NPU_WHATIF_WHY = 256, NPU_WHATIF_KERNELS = 12 };

typedef struct npu_whatif {
    char name[NPU_WHATIF_NAME]; // "free dispatch"
    const char *means;          // what was changed, one phrase
    double makespan;            // ns, of the slowest rank
    bool failed;                // it could not be simulated: others wait for what was left out
    char why[NPU_WHATIF_WHY];   // then the error
} npu_whatif;

typedef struct npu_whatifs {
    npu_whatif *items; // the shortest first, those that failed last
    int count, capacity;
} npu_whatifs;

// Changes of the die and of the graph, and the kernels that take most, each at zero cost; each in a
// process of its own, `jobs` at a time (0: as many as there are processors). `progress` is a
// terminal that shows how far it is, or NULL. Free in any case.
npu_status npu_whatifs_run(const npu_simulated *base, int jobs, FILE *progress, npu_whatifs *list,
                           npu_error *err);
void npu_whatifs_free(npu_whatifs *list);

#endif
