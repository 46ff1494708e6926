// SPDX-License-Identifier: Apache-2.0
#include "study.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fit.h"
#include "local.h"

// ---- one calibration -----------------------------------------------------------------------

// The change of the mean error when a parameter of a trial is moved.
static npu_status probe(npu_predictor *p, int trial, int without, int param, double factor,
                        double *change, npu_error *err) {
    int moved = -1;
    npu_status status = npu_local_move(p, trial, without, param, factor, &moved, err);
    *change = !status && moved >= 0
                  ? npu_trial_error(p, moved, without) - npu_trial_error(p, trial, without)
                  : NAN;
    return status;
}

static npu_status probe_all(npu_predictor *p, int trial, int without, npu_sensitivity *of,
                            npu_error *err) {
    npu_status status = NPU_OK;
    for (int i = 0; i < p->params->count && !status; i++) {
        status = probe(p, trial, without, i, 1 - NPU_PROBE, &of[i].less, err);
        if (!status)
            status = probe(p, trial, without, i, 1 + NPU_PROBE, &of[i].more, err);
        // NAN compares false.
        of[i].determined =
            fabs(of[i].less) >= NPU_UNDETERMINED || fabs(of[i].more) >= NPU_UNDETERMINED;
    }
    return status;
}

// A parameter that the cases do not determine goes back to what the die had, as far as that
// costs nothing: the search has left it anywhere.
static npu_status settle(npu_predictor *p, int *trial, int without, const npu_sensitivity *of,
                         npu_error *err) {
    double least = npu_trial_error(p, *trial, without);
    npu_status status = NPU_OK;
    for (int i = 0; i < p->params->count && !status; i++) {
        const npu_param *at = &p->params->list[i];
        double values[NPU_PARAMS_MAX];
        int settled = 0;
        if (of[i].determined || at->before != at->start)
            continue;
        memcpy(values, p->trials[*trial].values, (size_t)p->params->count * sizeof *values);
        values[i] = at->before;
        status = npu_predict(p, values, without, &settled, err);
        if (!status && npu_trial_error(p, settled, without) < least + NPU_UNDETERMINED)
            *trial = settled;
    }
    return status;
}

// To all groups.
static npu_status calibrate(npu_predictor *p, int evaluations, int *trial, npu_sensitivity *of,
                            npu_error *err) {
    double start[NPU_PARAMS_MAX];
    for (int i = 0; i < p->params->count; i++)
        start[i] = p->params->list[i].start;
    npu_status status = npu_predict(p, start, NPU_ALL_GROUPS, trial, err);
    if (!status)
        status = npu_fit(p, NPU_ALL_GROUPS, evaluations, NULL, trial, err);
    if (!status)
        status = probe_all(p, *trial, NPU_ALL_GROUPS, of, err);
    if (!status)
        status = settle(p, trial, NPU_ALL_GROUPS, of, err);
    return status ? status : probe_all(p, *trial, NPU_ALL_GROUPS, of, err);
}

// To all groups but one, from the fit to all on. What the others do not determine there goes
// back to what the die had, and stays.
static npu_status calibrate_without(npu_predictor *p, int group, int evaluations, int *trial,
                                    npu_error *err) {
    npu_sensitivity of[NPU_PARAMS_MAX] = {{0}};
    bool fixed[NPU_PARAMS_MAX] = {false}, free = false;
    npu_status status = probe_all(p, *trial, group, of, err);
    if (!status)
        status = settle(p, trial, group, of, err);
    for (int i = 0; i < p->params->count; i++) {
        fixed[i] = !of[i].determined;
        free = free || of[i].determined;
    }
    return status || !free ? status : npu_fit(p, group, evaluations, fixed, trial, err);
}

// ---- leaving groups out --------------------------------------------------------------------

static bool group_counts(const npu_predictor *p, int group) {
    for (int i = 0; i < p->cases->figure_count; i++)
        if (p->fitted[i] && p->cases->cases[p->cases->figures[i].case_].group == group)
            return true;
    return false;
}

// Appends the errors on the group to `all`.
static npu_status leave_out(npu_predictor *p, int group, int evaluations, npu_left_out *left,
                            double *all, int *count, npu_error *err) {
    npu_status status = calibrate_without(p, group, evaluations, &left->trial, err);
    if (!status) // and now the group itself
        status = npu_predict(p, p->trials[left->trial].values, NPU_ALL_GROUPS, &left->trial, err);
    if (status)
        return status;
    int found = npu_trial_errors(p, left->trial, group, all + *count);
    left->median = npu_median(all + *count, found);
    *count += found;
    return NPU_OK;
}

static npu_status cross(npu_predictor *p, int evaluations, npu_study *study, double *errors,
                        npu_error *err) {
    npu_status status = NPU_OK;
    int count = 0, groups = 0;
    for (int g = 0; g < p->cases->group_count; g++)
        groups += group_counts(p, g);
    if (groups < 2)
        return NPU_OK;
    for (int g = 0; g < p->cases->group_count && !status; g++)
        if (group_counts(p, g)) {
            study->groups[g].trial = study->after;
            status = leave_out(p, g, evaluations, &study->groups[g], errors, &count, err);
        }
    study->crossed = !status;
    study->left_out = npu_median(errors, count);
    return status;
}

// ---- all of it -----------------------------------------------------------------------------

static npu_status fit_all(npu_predictor *p, int evaluations, npu_study *study, npu_error *err) {
    if (p->fitted_count == 0)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0},
                        "nothing to fit to: no figure is of this die or of one with its base");
    return calibrate(p, evaluations, &study->after, study->of, err);
}

npu_status npu_study_make(npu_predictor *p, int evaluations, bool leave, npu_study *study,
                          npu_error *err) {
    *study = (npu_study){0};
    study->groups = calloc((size_t)p->cases->group_count + 1, sizeof *study->groups);
    if (study->groups == NULL)
        return npu_fail_memory(err);
    for (int g = 0; g < p->cases->group_count; g++)
        study->groups[g].trial = -1;
    bool fits = p->params->count > 0;
    npu_status status = fits ? fit_all(p, evaluations, study, err) : NPU_OK;
    if (status)
        return status;
    double *errors = calloc((size_t)p->cases->figure_count + 1, sizeof *errors);
    if (errors == NULL)
        return npu_fail_memory(err);
    study->error = npu_trial_error(p, study->after, NPU_ALL_GROUPS);
    study->in_sample =
        npu_median(errors, npu_trial_errors(p, study->after, NPU_ALL_GROUPS, errors));
    if (fits)
        status = npu_predictor_check(p, study->after, err);
    if (!status && fits && leave)
        status = cross(p, evaluations, study, errors, err);
    free(errors);
    return status;
}

void npu_study_free(npu_study *study) {
    free(study->groups);
    *study = (npu_study){0};
}
