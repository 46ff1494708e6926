// SPDX-License-Identifier: Apache-2.0
// A calibration for people, and the die that it ends in.
#ifndef NPU_RESULTS_H
#define NPU_RESULTS_H

#include <stdio.h>

#include "study.h"

typedef struct npu_calibration {
    const npu_die *die; // that was calibrated
    npu_predictor *predictor;
    npu_study study;
} npu_calibration;

// Parameters and errors, before and after.
npu_status npu_calibration_print(FILE *out, const npu_calibration *c, npu_error *err);
// All verdicts after the fit, as Markdown.
npu_status npu_calibration_accuracy(FILE *out, const npu_calibration *c, npu_error *err);
// The calibrated die: what was fitted and is determined, with where it comes from.
npu_status npu_calibration_die(FILE *out, const npu_calibration *c, const char *extends,
                               const char *name, npu_error *err);

// "+1.23%", or "-" when the parameter cannot be moved so.
const char *npu_show_change(double change, char *buf, int size);
// True when a parameter is as it was, because the cases do not determine it.
bool npu_param_kept(const npu_calibration *c, int param);
// The value after the fit.
double npu_param_after(const npu_calibration *c, int param);
// "266.7ns .. 2.4us"
const char *npu_param_bounds(const npu_param *param, char *buf, int size);

typedef struct npu_group_medians { // of the errors of the fitted figures of a group
    int figures;
    double before, after, left_out; // left_out < 0: none
} npu_group_medians;

// Of the group past the last one: of all.
npu_status npu_calibration_group(const npu_calibration *c, int group, npu_group_medians *medians,
                                 npu_error *err);

#endif
