// SPDX-License-Identifier: Apache-2.0
// What `npusim compare` has found, and its two forms.
#ifndef NPU_COMPARE_H
#define NPU_COMPARE_H

#include "simulated.h"

typedef struct npu_moved { // one kernel, by name; [0] in A, [1] in B
    const char *name;
    const npu_kernel_metrics *kernel[2]; // NULL: not there
    double wall[2]; // ns it adds to the observed path: its blocks and their gaps
} npu_moved;

// Something that happened in one of the runs and not in the other.
typedef struct npu_part_point {
    bool found;
    double time[2];   // ns, of what happened next in each; the earlier is where they part
    char what[2][96]; // "proj[3] block 2 starts on core 5", or "nothing"
} npu_part_point;

typedef struct npu_compared {
    const char *name[2]; // as given
    npu_simulated run[2];
    npu_moved *kernels; // those that moved most first
    int kernel_count;
    int moved; // of them, those of which anything is different
    npu_part_point part;
} npu_compared;

// At most 100 columns.
void npu_compare_print(const npu_compared *c, FILE *out);
npu_status npu_compare_json(const npu_compared *c, FILE *out, npu_error *err);
// What is different about a kernel, at most 60 characters: "blocks 64 -> 128; bound by .."
const char *npu_compare_why(const npu_moved *moved, char *buf, size_t size);

// compare_part.c: the first event that the two runs do not share.
npu_status npu_find_part(const npu_simulated *a, const npu_simulated *b, npu_part_point *part,
                         npu_error *err);

#endif
