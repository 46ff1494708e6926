// SPDX-License-Identifier: Apache-2.0
// All cases take seconds, so each simulation must count. Around the best values, lines say what
// every figure would be (local.h); NLopt's Sbplx, a Nelder-Mead in subspaces, finds the least
// mean error of the lines inside a box; that place is simulated. The box grows where the lines
// hold and shrinks where they do not. Coordinates are log(value / start), so that a step is a
// share of a value, whatever its unit. Nothing draws random numbers.
#include "fit.h"

#include <assert.h>
#include <math.h>
#include <nlopt.h>

#include "local.h"

static const double PRECISION = 1e-4;   // of a value, as a share
static const double EXACT = 1e-4;       // a mean error that needs no better one
static const double GAIN = 3e-4;        // of the mean error: worth a simulation
static const double ROUND_GAIN = 1e-3;  // the same once the parameters were looked at anew,
static const double ROUND_SHARE = 0.01; // which a gain of so much of the error is worth
static const double BOX_FIRST = 0.4, BOX_MOST = 1.1, BOX_LEAST = 0.02; // half its side, in logs
enum { LOOKS = 4000 };                                                 // at the lines, per search

typedef struct search {
    npu_predictor *p;
    const bool *fixed; // or NULL
    npu_local local;
    double box;
    double gain;  // of the mean error: the lines must promise so much
    double error; // at the centre
    int limit;    // of p->simulated
    npu_error *err;
} search;

static const double *centre(const search *s) {
    return s->p->trials[s->local.centre].values;
}

// ---- along the lines -----------------------------------------------------------------------

static void values_at(const search *s, const double *x, double *values) {
    for (int i = 0; i < s->p->params->count; i++) {
        const npu_param *param = &s->p->params->list[i];
        bool stays = s->fixed != NULL && s->fixed[i];
        values[i] = stays ? centre(s)[i] : npu_param_fit(param, param->start * exp(x[i]));
    }
}

static double look(unsigned count, const double *x, double *gradient, void *data) {
    const search *s = data;
    double values[NPU_PARAMS_MAX];
    assert(gradient == NULL && (int)count == s->p->params->count);
    (void)count;
    (void)gradient;
    values_at(s, x, values);
    return npu_local_error(&s->local, values);
}

static bool set_up(search *s, nlopt_opt optimizer, double *x) {
    double low[NPU_PARAMS_MAX], high[NPU_PARAMS_MAX], step[NPU_PARAMS_MAX];
    for (int i = 0; i < s->p->params->count; i++) {
        const npu_param *param = &s->p->params->list[i];
        double at = log(centre(s)[i] / param->start);
        low[i] = fmax(log(param->low / param->start), at - s->box);
        high[i] = fmin(log(param->high / param->start), at + s->box);
        if (s->fixed != NULL && s->fixed[i])
            low[i] = high[i] = at;
        low[i] = fmin(low[i], high[i]);
        x[i] = fmin(fmax(x[i], low[i]), high[i]);
        step[i] = s->box / 2;
    }
    return nlopt_set_lower_bounds(optimizer, low) > 0 &&
           nlopt_set_upper_bounds(optimizer, high) > 0 &&
           nlopt_set_initial_step(optimizer, step) > 0 &&
           nlopt_set_min_objective(optimizer, look, s) > 0 &&
           nlopt_set_xtol_abs1(optimizer, PRECISION) > 0 && nlopt_set_maxeval(optimizer, LOOKS) > 0;
}

static npu_status look_once(search *s, double *x, double *least) {
    nlopt_result result = NLOPT_OUT_OF_MEMORY;
    nlopt_opt optimizer = nlopt_create(NLOPT_LN_SBPLX, (unsigned)s->p->params->count);
    if (optimizer != NULL && set_up(s, optimizer, x))
        result = nlopt_optimize(optimizer, x, least);
    nlopt_destroy(optimizer);
    assert(result != NLOPT_INVALID_ARGS && result != NLOPT_FAILURE);
    return result == NLOPT_OUT_OF_MEMORY ? npu_fail_memory(s->err) : NPU_OK;
}

// Where the lines are least inside the box.
static npu_status look_all(search *s, double *values, double *least) {
    double x[NPU_PARAMS_MAX], before = INFINITY;
    npu_status status = NPU_OK;
    for (int i = 0; i < s->p->params->count; i++)
        x[i] = log(centre(s)[i] / s->p->params->list[i].start);
    *least = s->error;
    // A simplex can shrink at a bend; a fresh one gets off it.
    while (!status && before - *least > GAIN / 10) {
        before = *least;
        status = look_once(s, x, least);
    }
    values_at(s, x, values);
    return status;
}

// ---- simulating ----------------------------------------------------------------------------

// The lines know nothing of what a die may have (an L2 hit no later than a miss). Where one
// parameter alone is to blame it stays, so that the others can move on along the edge.
static npu_status mend(const search *s, double *values) {
    bool fits = true;
    npu_status status = npu_models_set(s->p->models, s->p->params, values, &fits, s->err);
    for (int i = 0; i < s->p->params->count && !status && !fits; i++) {
        double was = values[i];
        values[i] = centre(s)[i];
        status = npu_models_set(s->p->models, s->p->params, values, &fits, s->err);
        if (!fits)
            values[i] = was;
    }
    return status;
}

// One step; *over when no further one is worth it.
static npu_status step(search *s, bool *over) {
    double values[NPU_PARAMS_MAX], least = 0.0;
    int trial = 0;
    npu_status status = look_all(s, values, &least);
    *over = !status && s->error - least < s->gain;
    if (status || *over)
        return status;
    status = mend(s, values);
    least = npu_local_error(&s->local, values);
    if (status || s->error - least < s->gain) { // a smaller box may have a place that fits
        s->box /= 4;
        *over = s->box < BOX_LEAST;
        return status;
    }
    status = npu_predict(s->p, values, s->local.without, &trial, s->err);
    if (status)
        return status;
    double error = npu_trial_error(s->p, trial, s->local.without);
    bool better = error < s->error;
    if (!s->p->trials[trial].refused)
        status = npu_local_learn(&s->local, trial, better, s->err);
    double share = (s->error - error) / (s->error - least); // of what the lines promised
    if (share < 0.1)
        s->box /= 4;
    else if (share > 0.5)
        s->box = fmin(2 * s->box, BOX_MOST);
    s->error = better ? error : s->error;
    *over = s->box < BOX_LEAST || s->error <= EXACT || s->p->simulated >= s->limit;
    return status;
}

static npu_status run_round(search *s) {
    bool over = false;
    npu_status status = npu_local_probe(&s->local, s->limit - s->p->simulated, s->err);
    while (!status && !over)
        status = step(s, &over);
    s->box = fmax(s->box, BOX_FIRST / 4);
    s->gain = ROUND_GAIN;
    return status;
}

npu_status npu_fit(npu_predictor *p, int without, int evaluations, const bool *fixed, int *trial,
                   npu_error *err) {
    search s = {.p = p, .fixed = fixed, .box = BOX_FIRST, .gain = GAIN, .err = err};
    double before = INFINITY;
    assert(p->params->count > 0 && evaluations > 0);
    s.limit = p->simulated + evaluations;
    s.error = npu_trial_error(p, *trial, without);
    npu_status status = npu_local_open(&s.local, p, without, *trial, err);
    do {
        before = s.error;
        if (!status)
            status = run_round(&s);
    } while (!status && p->simulated < s.limit && s.error > EXACT &&
             before - s.error > ROUND_SHARE * before);
    *trial = s.local.centre;
    npu_local_free(&s.local);
    return status;
}
