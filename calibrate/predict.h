// SPDX-License-Identifier: Apache-2.0
// What the cases give with other values of the fitted fields. Nothing is simulated twice.
#ifndef NPU_PREDICT_H
#define NPU_PREDICT_H

#include <stdio.h>

#include "crew.h"

#define NPU_MISS 4.6 // |log(predicted / measured)| counts up to here: a factor of 100

enum { NPU_ALL_GROUPS = -1 };

typedef struct npu_trial { // one set of values
    double *values;        // by parameter
    bool *done;            // by job
    double *raw;           // by figure, not yet relative to another; NAN: none
    bool refused;          // a die may not have these values
} npu_trial;

typedef struct npu_predictor {
    npu_cases *cases;
    npu_models *models;
    const npu_params *params;
    const npu_subject *subject; // NULL: the graphs of the cases
    const char *config;         // the folder with kernels/ and fabric/
    int parallel;
    FILE *progress; // or NULL
    bool *fitted;   // by figure: counts in the error
    int fitted_count, fitted_cases;
    npu_trial *trials;
    int trial_count, trial_capacity;
    int simulated; // how often cases were simulated; trials can be completed later
    npu_crew crew;
    bool *takes;          // by job and parameter: what the job gives depends on it
    int *jobs, job_count; // to simulate next
    npu_warnings *problems;
} npu_predictor;

// The rest is filled by the caller. Simulates all cases on the dies as they are: trial 0. What
// is wrong goes to `problems`; those figures take no part in a fit. Free in any case.
npu_status npu_predictor_start(npu_predictor *p, npu_warnings *problems, npu_error *err);
void npu_predictor_free(npu_predictor *p);

// Simulates what is not known yet of the groups but `without` (NPU_ALL_GROUPS: of all); *trial
// is its index.
npu_status npu_predict(npu_predictor *p, const double *values, int without, int *trial,
                       npu_error *err);
// Simulates all of a trial anew, which must give what is known of it to the last bit: an
// assertion, because otherwise a job depends on a number that it seemed not to.
npu_status npu_predictor_check(npu_predictor *p, int trial, npu_error *err);
// Puts the predictions of a trial into the cases; what is wrong goes to `problems` (or NULL).
void npu_predictor_show(npu_predictor *p, int trial, npu_warnings *problems);

// By figure: log(predicted / measured) of the fitted ones of the groups but `without`, else NAN.
void npu_trial_logs(npu_predictor *p, int trial, int without, double *logs);
// The mean of |log(predicted / measured)| over the fitted figures of the groups but `without`.
double npu_trial_error(npu_predictor *p, int trial, int without);
// The errors |predicted / measured - 1| of the fitted figures of a group (NPU_ALL_GROUPS: of
// all), appended to `errors`; returns how many.
int npu_trial_errors(npu_predictor *p, int trial, int group, double *errors);
// Their median; 0 when there are none. Sorts.
double npu_median(double *errors, int count);

#endif
