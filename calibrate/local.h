// SPDX-License-Identifier: Apache-2.0
// What the predictions do around one set of values: a line for each figure and parameter, one
// below the value and another above, because a model of maxima bends. The lines are a guess of
// where to simulate next; no result is taken from them.
#ifndef NPU_LOCAL_H
#define NPU_LOCAL_H

#include "predict.h"

#define NPU_PROBE 0.1 // how far a parameter is moved to see what it does

typedef struct npu_local {
    npu_predictor *p;
    int without, centre; // a group, a trial
    double *logs;        // by figure: log(predicted / measured) at the centre; NAN: does not count
    double *below, *above; // by figure and parameter: its change per log of the value
} npu_local;

// Free in any case.
npu_status npu_local_open(npu_local *local, npu_predictor *p, int without, int centre,
                          npu_error *err);
void npu_local_free(npu_local *local);

// Moves each parameter alone and simulates, unless that is known, until `simulations` are used
// up; those not moved get no slope.
npu_status npu_local_probe(npu_local *local, int simulations, npu_error *err);
// The mean error that the lines give.
double npu_local_error(const npu_local *local, const double *values);
// A trial was simulated: the lines are turned so that they give it, and begin there if `move`.
npu_status npu_local_learn(npu_local *local, int trial, bool move, npu_error *err);

// One parameter of a trial moved by a factor. *moved is -1 when a die may not have that.
npu_status npu_local_move(npu_predictor *p, int trial, int without, int param, double factor,
                          int *moved, npu_error *err);

#endif
