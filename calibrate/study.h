// SPDX-License-Identifier: Apache-2.0
// A calibration: a fit to all groups, how much it depends on each parameter, and how well fits
// to all groups but one do on that one.
#ifndef NPU_STUDY_H
#define NPU_STUDY_H

#include "predict.h"

#define NPU_UNDETERMINED 0.001 // a parameter that changes the mean error by less

typedef struct npu_sensitivity { // of one parameter
    double less, more;           // change of the mean error at -10 % and +10 %; NAN: not allowed
    bool determined;
} npu_sensitivity;

typedef struct npu_left_out { // a group
    int trial;                // of the fit to the others; -1: none was made
    double median;            // of the errors on the group
} npu_left_out;

typedef struct npu_study {
    int before, after;    // trials
    double error;         // the mean error of `after`
    double in_sample;     // median error of `after`
    bool crossed;         // groups were left out
    double left_out;      // median over all figures, each by the fit without its group
    npu_left_out *groups; // by group of the cases
    npu_sensitivity of[NPU_PARAMS_MAX];
} npu_study;

// `evaluations` is the limit of each fit, in simulations of all cases. Free in any case.
npu_status npu_study_make(npu_predictor *p, int evaluations, bool leave_out, npu_study *study,
                          npu_error *err);
void npu_study_free(npu_study *study);

#endif
