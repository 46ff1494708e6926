// SPDX-License-Identifier: Apache-2.0
// The values of the fitted fields at which the mean error is least.
#ifndef NPU_FIT_H
#define NPU_FIT_H

#include "predict.h"

// Fits to the groups but `without` with at most `evaluations` simulations of all cases, from
// *trial on, which becomes the best one. Parameters that are `fixed` stay (NULL: none is).
npu_status npu_fit(npu_predictor *p, int without, int evaluations, const bool *fixed, int *trial,
                   npu_error *err);

#endif
