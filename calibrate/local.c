// SPDX-License-Identifier: Apache-2.0
#include "local.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double *row(const npu_local *l, double *slopes, int figure) {
    return slopes + (size_t)figure * (size_t)l->p->params->count;
}

npu_status npu_local_open(npu_local *l, npu_predictor *p, int without, int centre, npu_error *err) {
    size_t figures = (size_t)p->cases->figure_count + 1, params = (size_t)p->params->count;
    *l = (npu_local){.p = p, .without = without, .centre = centre};
    l->logs = calloc(figures, sizeof *l->logs);
    l->below = calloc(figures * params, sizeof *l->below);
    l->above = calloc(figures * params, sizeof *l->above);
    if (l->logs == NULL || l->below == NULL || l->above == NULL)
        return npu_fail_memory(err);
    npu_trial_logs(p, centre, without, l->logs);
    return NPU_OK;
}

void npu_local_free(npu_local *l) {
    free(l->logs);
    free(l->below);
    free(l->above);
    *l = (npu_local){0};
}

// ---- probing -------------------------------------------------------------------------------

npu_status npu_local_move(npu_predictor *p, int trial, int without, int param, double factor,
                          int *moved, npu_error *err) {
    double values[NPU_PARAMS_MAX];
    memcpy(values, p->trials[trial].values, (size_t)p->params->count * sizeof *values);
    values[param] = npu_param_step(&p->params->list[param], values[param], factor);
    *moved = -1;
    if (values[param] == p->trials[trial].values[param])
        return NPU_OK; // at the end of what a die may have
    npu_status status = npu_predict(p, values, without, moved, err);
    if (!status && p->trials[*moved].refused)
        *moved = -1;
    return status;
}

// The slopes of one side of a parameter; NAN when it cannot be moved there.
static npu_status probe_side(npu_local *l, int param, double factor, double *slopes, double *logs,
                             npu_error *err) {
    int moved = -1, figures = l->p->cases->figure_count;
    npu_status status = npu_local_move(l->p, l->centre, l->without, param, factor, &moved, err);
    if (status)
        return status;
    double way = NAN;
    if (moved >= 0) {
        npu_trial_logs(l->p, moved, l->without, logs);
        way = log(l->p->trials[moved].values[param]) - log(l->p->trials[l->centre].values[param]);
    }
    for (int i = 0; i < figures; i++)
        row(l, slopes, i)[param] = isnan(l->logs[i]) ? 0.0 : (logs[i] - l->logs[i]) / way;
    return NPU_OK;
}

// A side without a slope has that of the other one.
static void complete(npu_local *l, int param) {
    for (int i = 0; i < l->p->cases->figure_count; i++) {
        double *below = &row(l, l->below, i)[param], *above = &row(l, l->above, i)[param];
        if (isnan(*below))
            *below = isnan(*above) ? 0.0 : *above;
        if (isnan(*above))
            *above = *below;
    }
}

npu_status npu_local_probe(npu_local *l, int simulations, npu_error *err) {
    int limit = l->p->simulated + simulations;
    size_t figures = (size_t)l->p->cases->figure_count + 1, params = (size_t)l->p->params->count;
    double *logs = calloc(figures, sizeof *logs);
    npu_status status = NPU_OK;
    if (logs == NULL)
        return npu_fail_memory(err);
    memset(l->below, 0, figures * params * sizeof *l->below);
    memset(l->above, 0, figures * params * sizeof *l->above);
    for (int i = 0; i < l->p->params->count && !status && l->p->simulated < limit; i++) {
        status = probe_side(l, i, 1 - NPU_PROBE, l->below, logs, err);
        if (!status)
            status = probe_side(l, i, 1 + NPU_PROBE, l->above, logs, err);
        if (!status)
            complete(l, i);
    }
    free(logs);
    return status;
}

// ---- what the lines say --------------------------------------------------------------------

static void ways(const npu_local *l, const double *values, double *way) {
    for (int i = 0; i < l->p->params->count; i++)
        way[i] = log(values[i] / l->p->trials[l->centre].values[i]);
}

static double guess(const npu_local *l, int figure, const double *way) {
    const double *below = row(l, l->below, figure), *above = row(l, l->above, figure);
    double log = l->logs[figure];
    for (int i = 0; i < l->p->params->count; i++)
        log += way[i] * (way[i] < 0 ? below[i] : above[i]);
    return log;
}

double npu_local_error(const npu_local *l, const double *values) {
    double way[NPU_PARAMS_MAX] = {0}, sum = 0.0;
    int count = 0;
    ways(l, values, way);
    for (int i = 0; i < l->p->cases->figure_count; i++) {
        if (isnan(l->logs[i]))
            continue;
        sum += fmin(fabs(guess(l, i, way)), NPU_MISS);
        count++;
    }
    return count > 0 ? sum / count : 0.0;
}

// The least change of the slopes that gives the trial (Broyden's).
static void turn(npu_local *l, const double *logs, const double *way, double square) {
    for (int i = 0; i < l->p->cases->figure_count; i++) {
        double off = logs[i] - guess(l, i, way);
        for (int k = 0; k < l->p->params->count && !isnan(logs[i]); k++) {
            row(l, l->below, i)[k] += off * way[k] / square;
            row(l, l->above, i)[k] += off * way[k] / square;
        }
    }
}

// A bend stays where it was: what was on the way to the new centre is now on both sides of it.
static void shift(npu_local *l, const double *logs, const double *way) {
    for (int i = 0; i < l->p->cases->figure_count; i++) {
        double *below = row(l, l->below, i), *above = row(l, l->above, i);
        for (int k = 0; k < l->p->params->count; k++) {
            if (way[k] > 0)
                below[k] = above[k];
            if (way[k] < 0)
                above[k] = below[k];
        }
        l->logs[i] = logs[i];
    }
}

npu_status npu_local_learn(npu_local *l, int trial, bool move, npu_error *err) {
    double way[NPU_PARAMS_MAX] = {0}, square = 0.0;
    double *logs = calloc((size_t)l->p->cases->figure_count + 1, sizeof *logs);
    if (logs == NULL)
        return npu_fail_memory(err);
    ways(l, l->p->trials[trial].values, way);
    for (int i = 0; i < l->p->params->count; i++)
        square += way[i] * way[i];
    npu_trial_logs(l->p, trial, l->without, logs);
    assert(square > 0);
    turn(l, logs, way, square);
    if (move) {
        shift(l, logs, way);
        l->centre = trial;
    }
    free(logs);
    return NPU_OK;
}
