// SPDX-License-Identifier: Apache-2.0
// The dies that cases are simulated on, with the values that are tried laid over them.
//
// A case on the calibrated die, or on one that it extends, runs on the calibrated die. Any other
// die of the same base keeps what its own files say and gets the tried values of the rest. A die
// of another base stays as it is.
#ifndef NPU_OVERLAY_H
#define NPU_OVERLAY_H

#include "cases.h"
#include "params.h"

typedef struct npu_model {
    const char *asked; // the die as the cases name it
    const char *name;  // of the die that they get
    const char *path;  // absolute
    bool related;      // of the same base
    bool takes[NPU_PARAMS_MAX];
    bool moves;        // takes any
    npu_status status; // of loading the die as it is, which stops its cases only
    npu_error error;
    npu_die die; // with the values set last
} npu_model;

typedef struct npu_models {
    npu_model *list;
    int count, capacity;
    int *of_variant; // by variant of the cases
    npu_arena arena;
} npu_models;

// `die` is the calibrated one, loaded; `folder` has the dies that cases name. Zero-initialise
// *models and free it in any case.
npu_status npu_models_make(const npu_cases *cases, const char *folder, const npu_die *die,
                           const npu_params *params, npu_models *models, npu_error *err);
void npu_models_free(npu_models *models);
// Loads all dies with these values. *fits is false when a die may not have them; then the dies
// must not be used. With NULL for `fits` that is an error.
npu_status npu_models_set(npu_models *models, const npu_params *params, const double *values,
                          bool *fits, npu_error *err);

// True when `path` is a file that the loaded die is read from.
npu_status npu_die_reads(const npu_die *die, const char *path, bool *reads, npu_error *err);

#endif
