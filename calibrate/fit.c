// SPDX-License-Identifier: Apache-2.0
// NLopt's Sbplx, a Nelder-Mead in subspaces: it needs no derivatives, which steps and maxima in
// the model do not have, and draws no random numbers. Coordinates are log(value / start), so that
// a step is a share of a value, whatever its unit.
#include "fit.h"

#include <assert.h>
#include <math.h>
#include <nlopt.h>

static const double PRECISION = 1e-3; // of a value, as a share
static const double EXACT = 1e-4;     // a mean error that needs no better one
static const double FIRST_STEP = 1.25;
static const double GAIN = 1e-4; // of the mean error: worth another search from where one ended

typedef struct search {
    npu_predictor *p;
    int without;
    nlopt_opt optimizer;
    int left; // evaluations
    int best; // trial
    double best_error;
    npu_status status;
    npu_error *err;
} search;

static double evaluate(unsigned count, const double *x, double *gradient, void *data) {
    search *s = data;
    double values[NPU_PARAMS_MAX];
    int trial = 0;
    assert(gradient == NULL && (int)count == s->p->params->count);
    (void)gradient;
    for (unsigned i = 0; i < count; i++) {
        const npu_param *param = &s->p->params->list[i];
        values[i] = npu_param_fit(param, param->start * exp(x[i]));
    }
    s->left--;
    s->status = npu_predict(s->p, values, s->without, &trial, s->err);
    if (s->status) {
        nlopt_force_stop(s->optimizer);
        return 2 * NPU_MISS;
    }
    double error = npu_trial_error(s->p, trial, s->without);
    if (s->best < 0 || error < s->best_error) { // of equal ones the first: nearest to the start
        s->best = trial;
        s->best_error = error;
    }
    return error;
}

// The first step must lead to another value.
static double first_step(const npu_param *p, double value) {
    double there = npu_param_fit(p, npu_param_step(p, value, FIRST_STEP));
    if (there == value) // at the upper bound
        there = npu_param_fit(p, npu_param_step(p, value, 1 / FIRST_STEP));
    double step = fabs(log(there / value));
    return step > 0 ? step : log(FIRST_STEP);
}

static bool set_up(search *s, double *x) {
    double low[NPU_PARAMS_MAX], high[NPU_PARAMS_MAX], step[NPU_PARAMS_MAX];
    const npu_params *params = s->p->params;
    for (int i = 0; i < params->count; i++) {
        const npu_param *param = &params->list[i];
        double value = s->best < 0 ? param->start : s->p->trials[s->best].values[i];
        low[i] = log(param->low / param->start);
        high[i] = log(param->high / param->start);
        x[i] = fmin(fmax(log(value / param->start), low[i]), high[i]);
        step[i] = first_step(param, value);
    }
    return nlopt_set_lower_bounds(s->optimizer, low) > 0 &&
           nlopt_set_upper_bounds(s->optimizer, high) > 0 &&
           nlopt_set_initial_step(s->optimizer, step) > 0 &&
           nlopt_set_min_objective(s->optimizer, evaluate, s) > 0 &&
           nlopt_set_stopval(s->optimizer, EXACT) > 0 &&
           nlopt_set_xtol_abs1(s->optimizer, PRECISION) > 0 &&
           nlopt_set_maxeval(s->optimizer, s->left) > 0;
}

static npu_status run_once(search *s) {
    double x[NPU_PARAMS_MAX], least = 0.0;
    nlopt_result result = NLOPT_OUT_OF_MEMORY;
    s->optimizer = nlopt_create(NLOPT_LN_SBPLX, (unsigned)s->p->params->count);
    if (s->optimizer != NULL && set_up(s, x))
        result = nlopt_optimize(s->optimizer, x, &least);
    nlopt_destroy(s->optimizer);
    assert(result != NLOPT_INVALID_ARGS && result != NLOPT_FAILURE);
    if (s->status)
        return s->status;
    return result == NLOPT_OUT_OF_MEMORY ? npu_fail_memory(s->err) : NPU_OK;
}

npu_status npu_fit(npu_predictor *p, int without, int evaluations, int *trial, npu_error *err) {
    search s = {.p = p, .without = without, .left = evaluations, .best = -1, .err = err};
    double before = INFINITY;
    npu_status status = NPU_OK;
    assert(p->params->count > 0 && evaluations > 0);
    // A simplex can shrink at an edge between two regimes; a fresh one gets off it.
    do {
        before = s.best < 0 ? INFINITY : s.best_error;
        status = run_once(&s);
    } while (!status && s.left > 0 && s.best_error > EXACT && before - s.best_error > GAIN);
    *trial = s.best;
    return status;
}
