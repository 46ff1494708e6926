// SPDX-License-Identifier: Apache-2.0
#include "predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pool.h"

enum { PARTS = 64 }; // processes per trial; a fixed number, whatever runs at a time

typedef struct answer { // of one job; its values follow
    npu_status status;
    npu_error error;
} answer;

static const npu_variant *variant_of(const npu_predictor *p, int job) {
    return &p->cases->variants[p->cases->jobs[job].variant];
}

static npu_model *model_of(const npu_predictor *p, int job) {
    return &p->models->list[p->models->of_variant[p->cases->jobs[job].variant]];
}

static int group_of(const npu_predictor *p, int job) {
    return p->cases->cases[p->cases->jobs[job].case_].group;
}

// ---- simulating, in processes of their own -------------------------------------------------

static size_t answer_size(const npu_predictor *p) {
    return sizeof(answer) + (size_t)p->most_figures * sizeof(npu_value);
}

static int part_count(const npu_predictor *p) {
    return p->job_count < PARTS ? p->job_count : PARTS;
}

// Jobs at, at + PARTS, .. of the list are a part.
static size_t part_size(const npu_predictor *p) {
    return answer_size(p) * (size_t)((p->job_count + PARTS - 1) / PARTS);
}

static npu_status simulate(const npu_predictor *p, int job, npu_value *values, npu_error *err) {
    const npu_model *model = model_of(p, job);
    npu_ranks ranks = {0};
    if (model->status) {
        npu_status status = npu_fail(err, model->status, (npu_pos){0}, "%s", model->error.text);
        npu_place_error(err, variant_of(p, job)->die_pos);
        return status;
    }
    npu_status status = npu_job_load(p->cases, job, p->config, &ranks, err);
    if (!status)
        status =
            npu_job_simulate(p->cases, job, &ranks, &model->die, NPU_ENGINE_FLUID, values, err);
    npu_ranks_free(&ranks);
    return status;
}

static npu_status run_part(void *owner, int part, void *result, npu_error *err) {
    const npu_predictor *p = owner;
    unsigned char *at = result;
    npu_value *values = calloc((size_t)p->most_figures, sizeof *values);
    if (values == NULL)
        return npu_fail_memory(err);
    for (int i = part; i < p->job_count; i += PARTS, at += answer_size(p)) {
        answer a = {0};
        memset(values, 0, (size_t)p->most_figures * sizeof *values);
        a.status = simulate(p, p->jobs[i], values, &a.error);
        memcpy(at, &a, sizeof a);
        memcpy(at + sizeof a, values, (size_t)p->most_figures * sizeof *values);
    }
    free(values);
    return NPU_OK;
}

static void take_job(npu_predictor *p, int job, const answer *a, const npu_value *values) {
    npu_trial *trial = &p->trials[p->current];
    trial->done[job] = true;
    if (a->status > p->worst) {
        p->worst = a->status;
        p->worst_error = a->error;
    }
    for (int n = 0, i; (i = npu_job_figure(p->cases, job, n)) >= 0; n++) {
        bool known = !a->status && values[n].error.text[0] == '\0';
        trial->raw[i] = known ? values[n].value : NAN;
    }
    if (p->current > 0) // the first trial names what is wrong
        return;
    npu_error error = a->error;
    if (a->status) {
        npu_place_error(&error, variant_of(p, job)->pos);
        npu_warn(p->problems, (npu_pos){0}, "%s", error.text);
    }
    for (int n = 0; !a->status && npu_job_figure(p->cases, job, n) >= 0; n++)
        if (values[n].error.text[0] != '\0')
            npu_warn(p->problems, (npu_pos){0}, "%s", values[n].error.text);
}

typedef struct collector {
    npu_predictor *p;
    unsigned char **parts;
    npu_status status[PARTS];
    npu_error error[PARTS];
    int done;
} collector;

static npu_status run_collected(void *owner, int part, void *result, npu_error *err) {
    return run_part(((collector *)owner)->p, part, result, err);
}

static void take_part(void *owner, int part, npu_status status, const npu_error *error,
                      const void *result) {
    collector *c = owner;
    c->status[part] = status;
    c->error[part] = *error;
    c->done++;
    memcpy(c->parts[part], result, part_size(c->p));
}

// In the order of the jobs, whatever ended first.
static npu_status take_jobs(const collector *c, npu_error *err) {
    npu_predictor *p = c->p;
    npu_value *values = calloc((size_t)p->most_figures, sizeof *values);
    if (values == NULL)
        return npu_fail_memory(err);
    for (int i = 0; i < p->job_count; i++) {
        const unsigned char *at = c->parts[i % PARTS] + answer_size(p) * (size_t)(i / PARTS);
        answer a = {c->status[i % PARTS], c->error[i % PARTS]};
        if (!a.status)
            memcpy(&a, at, sizeof a);
        memcpy(values, at + sizeof a, (size_t)p->most_figures * sizeof *values);
        take_job(p, p->jobs[i], &a, values);
    }
    free(values);
    return NPU_OK;
}

static npu_status run_parts(collector *c, npu_error *err) {
    npu_predictor *p = c->p;
    npu_pool pool = {.jobs = part_count(p),
                     .parallel = p->parallel,
                     .result_size = part_size(p),
                     .owner = c,
                     .work = run_collected,
                     .done = take_part};
    c->parts = calloc(PARTS, sizeof *c->parts);
    npu_status status = NPU_OK;
    if (c->parts == NULL)
        return npu_fail_memory(err);
    for (int i = 0; i < pool.jobs && !status; i++) {
        c->parts[i] = calloc(1, pool.result_size);
        if (c->parts[i] == NULL)
            status = npu_fail_memory(err);
    }
    if (!status)
        status = npu_pool_run(&pool, err);
    if (!status)
        status = take_jobs(c, err);
    for (int i = 0; i < pool.jobs; i++)
        free(c->parts[i]);
    free(c->parts);
    return status;
}

// Runs the jobs of the list for the current trial.
static npu_status run_jobs(npu_predictor *p, npu_error *err) {
    collector *c = calloc(1, sizeof *c);
    if (c == NULL)
        return npu_fail_memory(err);
    c->p = p;
    p->worst = NPU_OK;
    npu_status status = run_parts(c, err);
    free(c);
    // A case that is wrong is left out; a full disk or memory ends the work.
    if (!status && p->worst > NPU_BAD_INPUT && p->current > 0)
        status = npu_fail(err, p->worst, (npu_pos){0}, "%s", p->worst_error.text);
    return status;
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
    // Cases that nothing is laid over give the same at all values.
    for (int job = 0; job < cases->job_count && p->trial_count > 0; job++) {
        t.done[job] = !model_of(p, job)->moves;
        for (int n = 0, i; t.done[job] && (i = npu_job_figure(cases, job, n)) >= 0; n++)
            t.raw[i] = p->trials[0].raw[i];
    }
    p->trials[p->trial_count++] = t;
    return NPU_OK;
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
    for (int job = 0; job < p->cases->job_count && !t->refused; job++)
        if (!t->done[job] && (without == NPU_ALL_GROUPS || group_of(p, job) != without))
            p->jobs[p->job_count++] = job;
    if (p->job_count == 0)
        return NPU_OK;
    // Trial 0 is the dies as they are: a wrong one is a mistake of the user's.
    status = npu_models_set(p->models, p->params, values, *trial > 0 ? &fits : NULL, err);
    t->refused = !fits;
    p->current = *trial;
    if (p->progress != NULL) {
        fprintf(p->progress, "\r\033[Ktrial %d", *trial + 1);
        fflush(p->progress);
    }
    return status || !fits ? status : run_jobs(p, err);
}

// ---- the first trial -----------------------------------------------------------------------

static int count_most(const npu_cases *cases) {
    int most = 1;
    for (int job = 0; job < cases->job_count; job++)
        while (npu_job_figure(cases, job, most) >= 0)
            most++;
    return most;
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
    p->most_figures = count_most(p->cases);
    p->fitted = calloc((size_t)p->cases->figure_count + 1, sizeof *p->fitted);
    p->jobs = calloc((size_t)p->cases->job_count + 1, sizeof *p->jobs);
    if (p->fitted == NULL || p->jobs == NULL)
        return npu_fail_memory(err);
    for (int i = 0; i < p->params->count; i++)
        before[i] = p->params->list[i].before;
    npu_status status = npu_predict(p, before, NPU_ALL_GROUPS, &trial, err);
    if (status)
        return status;
    npu_predictor_show(p, 0, problems);
    choose_fitted(p);
    return NPU_OK;
}

void npu_predictor_free(npu_predictor *p) {
    for (int i = 0; i < p->trial_count; i++)
        free_trial(&p->trials[i]);
    free(p->trials);
    free(p->fitted);
    free(p->jobs);
    *p = (npu_predictor){0};
}
