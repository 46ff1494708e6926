// SPDX-License-Identifier: Apache-2.0
// How well a model does on measured cases. Three verdicts that are never merged, since errors
// cancel: the error of each figure, the error of each ratio between two variants, and whether
// the variant that the model would choose is the device's best.
#ifndef NPU_SCORE_H
#define NPU_SCORE_H

#include "cases.h"

#define NPU_EQUAL 0.01 // figures that differ by less are equal: no direction, no better choice

typedef struct npu_pair { // the change from one variant to the next
    int case_;
    int from, to;               // figures; from < 0: `to` was measured relative to another variant
    double measured, predicted; // the second over the first
    bool right;                 // the same direction
} npu_pair;

typedef struct npu_choice { // the best variant of a case: the fastest, or of the highest rate
    int case_;
    int measured, predicted; // variants
    bool right;              // what the model chooses is the device's best, or equal to it
} npu_choice;

typedef struct npu_score {     // of a group or of all
    int figures;               // absolute ones with a prediction
    double median, p90, worst; // of their absolute errors
    int worst_figure;          // -1: none
    int banded, outside;       // figures that declare a band (ratios too), and that leave it
    int pairs, right;
    double ratio_median; // of the absolute errors of the ratios
    int choices, choices_right;
    int rows, rows_known; // simulated, and those with what is not simulated
    int missing;          // figures without a prediction
} npu_score;

typedef struct npu_verdicts {
    npu_pair *pairs; // by case
    int pair_count, pair_capacity;
    npu_choice *choices;
    int choice_count, choice_capacity;
    npu_score *scores; // by group, then one of all
} npu_verdicts;

// Judges the predictions of all cases. Free in any case.
npu_status npu_verdicts_make(const npu_cases *cases, npu_verdicts *verdicts, npu_error *err);
void npu_verdicts_free(npu_verdicts *verdicts);

// predicted / measured - 1 of the ratio
static inline double npu_pair_error(const npu_pair *pair) {
    return pair->predicted / pair->measured - 1;
}

// The first figure of a variant by which it is compared with others, or -1.
int npu_lead_figure(const npu_cases *cases, const npu_case *c, int variant);
// The value below which `share` (0..1) of the sorted values lie, linear in between.
double npu_percentile(const double *sorted, int count, double share);

#endif
