// SPDX-License-Identifier: Apache-2.0
// The fields of a die that are fitted, and what values they may take.
#ifndef NPU_PARAMS_H
#define NPU_PARAMS_H

#include "die.h"

enum { NPU_PARAMS_MAX = 32, NPU_PARAM_NAME = 64 };

typedef enum npu_grid { // the values that a field can have
    NPU_GRID_DIGITS,    // any, of which those with 4 digits are tried
    NPU_GRID_WHOLE,
    NPU_GRID_POWER, // of two
} npu_grid;

typedef struct npu_param {
    int field; // of the die
    char name[NPU_PARAM_NAME];
    npu_grid grid;
    double least, most; // that a die may have
    double before;      // in the die that is calibrated
    double low, high;   // above 0; the fit stays in between
    double start;       // `before`, or the bound next to it
} npu_param;

typedef struct npu_params {
    npu_param list[NPU_PARAMS_MAX];
    int count;
} npu_params;

// Reads "name,name" texts and "name=low..high" texts; bounds not given are a third and three
// times of the die's value. In the order of the die's fields.
npu_status npu_params_read(const npu_die *die, const char *const *fits, int fit_count,
                           const char *const *bounds, int bound_count, npu_params *params,
                           npu_error *err);
// Reads the bounds, after all parameters are known. A part of npu_params_read.
npu_status npu_params_bound(const npu_die *die, const char *const *bounds, int bound_count,
                            npu_params *params, npu_error *err);

// The nearest value that the fit may take, and the nearest that a die may have.
double npu_param_fit(const npu_param *param, double value);
double npu_param_round(const npu_param *param, double value);
// `value` times `factor`, but another value wherever there is one.
double npu_param_step(const npu_param *param, double value, double factor);
// The value with its unit.
const char *npu_param_text(const npu_param *param, double value, char *buf, int size);

#endif
