// SPDX-License-Identifier: Apache-2.0
// The values of the fitted fields at which the mean error is least.
#ifndef NPU_FIT_H
#define NPU_FIT_H

#include "predict.h"

// Fits to the groups but `without` with at most `evaluations` trials; *trial is the best one.
npu_status npu_fit(npu_predictor *p, int without, int evaluations, int *trial, npu_error *err);

#endif
