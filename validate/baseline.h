// SPDX-License-Identifier: Apache-2.0
// What a model predicted before: a change that moves a prediction, or its error, is seen.
#ifndef NPU_BASELINE_H
#define NPU_BASELINE_H

#include <stdio.h>

#include "cases.h"

#define NPU_BASELINE_DRIFT 0.001 // a prediction may move by this share
#define NPU_BASELINE_WORSE 0.01  // and the absolute error may grow by this much

typedef struct npu_baseline_entry {
    const char *key; // "group | case | variant | read"
    double predicted;
    double error; // as a share, signed
} npu_baseline_entry;

typedef struct npu_baseline {
    npu_baseline_entry *entries;
    int count, capacity;
    npu_arena arena;
} npu_baseline;

typedef struct npu_regressions {
    int drifted, worse; // figures
    int fresh;          // that the baseline has not
    int gone;           // that only the baseline has
} npu_regressions;

npu_status npu_baseline_read(const char *path, npu_baseline *baseline, npu_error *err);
void npu_baseline_free(npu_baseline *baseline);
// Writes what is predicted now.
npu_status npu_baseline_write(FILE *out, const npu_cases *cases, npu_error *err);
// Prints what differs to `out` and counts it.
npu_status npu_baseline_compare(const npu_baseline *baseline, const npu_cases *cases, FILE *out,
                                npu_regressions *found, npu_error *err);

#endif
