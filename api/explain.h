// SPDX-License-Identifier: Apache-2.0
// What `npusim explain` has found, and its two forms.
#ifndef NPU_EXPLAIN_H
#define NPU_EXPLAIN_H

#include "simulated.h"
#include "whatif.h"

typedef struct npu_explained {
    const char *folder;
    npu_simulated run;
    npu_whatifs whatifs;
} npu_explained;

// Time of one kernel by two measures: what its cores spent, and what it adds to the makespan.
typedef struct npu_kernel_time {
    int func;
    double core; // ns, of all cores
    double path; // ns of the observed path inside its blocks
    double gaps; // ns of the gaps before these
} npu_kernel_time;

// One for each function, those with rows first, by path + gaps, then by core time; *used is how
// many have rows. NULL when out of memory; free it.
npu_kernel_time *npu_kernel_times(const npu_simulated *run, int *used);

// At most 100 columns.
npu_status npu_explain_print(const npu_explained *e, FILE *out, npu_error *err);
npu_status npu_explain_json(const npu_explained *e, FILE *out, npu_error *err);

#endif
