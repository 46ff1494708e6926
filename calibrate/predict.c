// SPDX-License-Identifier: Apache-2.0
#include "predict.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "depends.h"

static const npu_variant *variant_of(const npu_predictor *p, int job) {
    return &p->cases->variants[p->cases->jobs[job].variant];
}

static npu_model *model_of(const npu_predictor *p, int job) {
    return &p->models->list[p->models->of_variant[p->cases->jobs[job].variant]];
}

static int group_of(const npu_predictor *p, int job) {
    return p->cases->cases[p->cases->jobs[job].case_].group;
}

// ---- simulating ----------------------------------------------------------------------------

static void take_job(npu_predictor *p, npu_trial *trial, int job, const npu_outcome *o) {
    trial->done[job] = true;
    for (int n = 0, i; (i = npu_job_figure(p->cases, job, n)) >= 0; n++) {
        bool known = !o->status && o->values[n].error.text[0] == '\0';
        trial->raw[i] = known ? o->values[n].value : NAN;
    }
}

// The first trial names what is wrong.
static void name_problems(npu_predictor *p, int job, const npu_outcome *o) {
    npu_error error = o->error;
    if (o->status) {
        npu_place_error(&error, variant_of(p, job)->pos);
        npu_warn(p->problems, (npu_pos){0}, "%s", error.text);
    }
    for (int n = 0; !o->status && npu_job_figure(p->cases, job, n) >= 0; n++)
        if (o->values[n].error.text[0] != '\0')
            npu_warn(p->problems, (npu_pos){0}, "%s", o->values[n].error.text);
}

// Simulates the jobs of the list for a trial, and takes them in the list's order.
static npu_status run_jobs(npu_predictor *p, int trial, npu_error *err) {
    npu_status status = npu_crew_run(&p->crew, p->jobs, p->job_count, err), worst = NPU_OK;
    for (int i = 0; i < p->job_count && !status; i++) {
        const npu_outcome *o = &p->crew.outcomes[p->jobs[i]];
        take_job(p, &p->trials[trial], p->jobs[i], o);
        if (trial == 0)
            name_problems(p, p->jobs[i], o);
        // A case that is wrong is left out; a full disk or memory ends the work.
        if (trial > 0 && o->status > NPU_BAD_INPUT && o->status > worst) {
            worst = o->status;
            npu_fail(err, worst, (npu_pos){0}, "%s", o->error.text);
        }
    }
    return status ? status : worst;
}

// ---- trials --------------------------------------------------------------------------------

static void free_trial(npu_trial *trial) {
    free(trial->values);
    free(trial->done);
    free(trial->raw);
}

static npu_status add_trial(npu_predictor *p, const double *values, npu_error *err) {
    const npu_cases *cases = p->cases;
    npu_status status = NPU_GROW(p, trials, trial_count, trial_capacity, err);
    if (status)
        return status;
    npu_trial t = {calloc((size_t)p->params->count + 1, sizeof *t.values),
                   calloc((size_t)cases->job_count + 1, sizeof *t.done),
                   calloc((size_t)cases->figure_count + 1, sizeof *t.raw), false};
    if (t.values == NULL || t.done == NULL || t.raw == NULL) {
        free_trial(&t);
        return npu_fail_memory(err);
    }
    memcpy(t.values, values, (size_t)p->params->count * sizeof *values);
    for (int i = 0; i < cases->figure_count; i++)
        t.raw[i] = NAN;
    p->trials[p->trial_count++] = t;
    return NPU_OK;
}

// Takes over what an earlier trial gave whose values were the same as far as the job can tell.
static void recall(npu_predictor *p, int trial, int job) {
    npu_trial *t = &p->trials[trial];
    const bool *takes = p->takes + (size_t)job * (size_t)p->params->count;
    for (int u = 0; u < p->trial_count && !t->done[job]; u++) {
        bool same = p->trials[u].done[job];
        for (int i = 0; i < p->params->count && same; i++)
            same = !takes[i] || t->values[i] == p->trials[u].values[i];
        t->done[job] = same;
        for (int n = 0, i; same && (i = npu_job_figure(p->cases, job, n)) >= 0; n++)
            t->raw[i] = p->trials[u].raw[i];
    }
}

static npu_status find_trial(npu_predictor *p, const double *values, int *trial, npu_error *err) {
    size_t size = (size_t)p->params->count * sizeof *values;
    for (*trial = 0; *trial < p->trial_count; (*trial)++)
        if (memcmp(p->trials[*trial].values, values, size) == 0)
            return NPU_OK;
    return add_trial(p, values, err);
}

npu_status npu_predict(npu_predictor *p, const double *values, int without, int *trial,
                       npu_error *err) {
    bool fits = true;
    npu_status status = find_trial(p, values, trial, err);
    if (status)
        return status;
    npu_trial *t = &p->trials[*trial];
    p->job_count = 0;
    for (int job = 0; job < p->cases->job_count && !t->refused; job++) {
        recall(p, *trial, job);
        if (!t->done[job] && (without == NPU_ALL_GROUPS || group_of(p, job) != without))
            p->jobs[p->job_count++] = job;
    }
    if (p->job_count == 0)
        return NPU_OK;
    // Trial 0 is the dies as they are: a wrong one is a mistake of the user's.
    status = npu_models_set(p->models, p->params, values, *trial > 0 ? &fits : NULL, err);
    t->refused = !fits;
    if (p->progress != NULL) {
        fprintf(p->progress, "\r\033[Ktrial %d", *trial + 1);
        fflush(p->progress);
    }
    if (status || !fits)
        return status;
    p->simulated++;
    return run_jobs(p, *trial, err);
}

npu_status npu_predictor_check(npu_predictor *p, int trial, npu_error *err) {
    const npu_trial *t = &p->trials[trial];
    if (t->refused)
        return NPU_OK; // nothing is known of it
    npu_status status = npu_models_set(p->models, p->params, t->values, NULL, err);
    p->job_count = 0;
    for (int job = 0; job < p->cases->job_count; job++)
        if (t->done[job])
            p->jobs[p->job_count++] = job;
    if (!status)
        status = npu_crew_run(&p->crew, p->jobs, p->job_count, err);
    for (int i = 0; i < p->job_count && !status; i++) {
        const npu_outcome *o = &p->crew.outcomes[p->jobs[i]];
        for (int n = 0, f; (f = npu_job_figure(p->cases, p->jobs[i], n)) >= 0; n++) {
            bool known = !o->status && o->values[n].error.text[0] == '\0';
            assert(known == !isnan(t->raw[f]) && (!known || o->values[n].value == t->raw[f]));
        }
    }
    return status;
}

// ---- the first trial -----------------------------------------------------------------------

static bool may_read(const npu_ranks *ranks, int field) {
    for (int r = 0; r < ranks->full; r++)
        if (npu_graph_may_read(&ranks->graphs[r], field))
            return true;
    return false;
}

static void find_takes(npu_predictor *p) {
    const npu_params *params = p->params;
    for (int job = 0; job < p->cases->job_count; job++) {
        const npu_ranks *ranks = npu_crew_ranks(&p->crew, job);
        for (int i = 0; i < params->count; i++)
            p->takes[job * params->count + i] =
                model_of(p, job)->takes[i] &&
                (p->subject != NULL || may_read(ranks, params->list[i].field));
    }
}

static void choose_fitted(npu_predictor *p) {
    npu_cases *cases = p->cases;
    for (int c = 0; c < cases->case_count; c++) {
        int before = p->fitted_count;
        for (int n = 0; n < cases->cases[c].figure_count; n++) {
            int i = cases->cases[c].first_figure + n;
            const npu_figure *f = &cases->figures[i];
            p->fitted[i] = f->known && !f->hidden &&
                           p->models->list[p->models->of_variant[f->variant]].related;
            p->fitted_count += p->fitted[i];
        }
        p->fitted_cases += p->fitted_count > before;
    }
}

npu_status npu_predictor_start(npu_predictor *p, npu_warnings *problems, npu_error *err) {
    double before[NPU_PARAMS_MAX];
    int trial = 0;
    p->problems = problems;
    p->fitted = calloc((size_t)p->cases->figure_count + 1, sizeof *p->fitted);
    p->jobs = calloc((size_t)p->cases->job_count + 1, sizeof *p->jobs);
    p->takes = calloc((size_t)p->cases->job_count * (size_t)p->params->count + 1, sizeof *p->takes);
    if (p->fitted == NULL || p->jobs == NULL || p->takes == NULL)
        return npu_fail_memory(err);
    for (int i = 0; i < p->params->count; i++)
        before[i] = p->params->list[i].before;
    npu_status status =
        npu_crew_open(&p->crew, p->cases, p->models, p->subject, p->config, p->parallel, err);
    if (!status)
        find_takes(p);
    if (!status)
        status = npu_predict(p, before, NPU_ALL_GROUPS, &trial, err);
    if (status)
        return status;
    npu_predictor_show(p, 0, problems);
    choose_fitted(p);
    return NPU_OK;
}

void npu_predictor_free(npu_predictor *p) {
    npu_crew_close(&p->crew);
    for (int i = 0; i < p->trial_count; i++)
        free_trial(&p->trials[i]);
    free(p->trials);
    free(p->fitted);
    free(p->jobs);
    free(p->takes);
    *p = (npu_predictor){0};
}
