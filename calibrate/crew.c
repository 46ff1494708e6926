// SPDX-License-Identifier: Apache-2.0
#include "crew.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "die_impl.h"

typedef struct npu_loaded {
    npu_ranks ranks;
    npu_status status; // of loading it
    npu_error error;
    int first; // the first job that is the same simulation
} npu_loaded;

// To a process: the job and all numbers of its die.
typedef struct order {
    int job;
    double numbers[];
} order;

// And back: this, then the values of all jobs that are this simulation.
typedef struct report {
    npu_status status;
    npu_error error;
    double makespan, seconds;
} report;

static const npu_variant *variant_of(const npu_crew *crew, int job) {
    return &crew->cases->variants[crew->cases->jobs[job].variant];
}

static const npu_model *model_of(const npu_crew *crew, int job) {
    return &crew->models->list[crew->models->of_variant[crew->cases->jobs[job].variant]];
}

static int figure_count(const npu_crew *crew, int job) {
    int count = 0;
    while (npu_job_figure(crew->cases, job, count) >= 0)
        count++;
    return count;
}

// ---- in a process --------------------------------------------------------------------------

// Reads the figures of all jobs that are this simulation.
static npu_status read_all(const npu_crew *crew, int job, const npu_sim_result *results,
                           npu_value *values, npu_error *err) {
    npu_status status = NPU_OK;
    for (int j = job; j < crew->cases->job_count && !status; j++) {
        if (crew->loaded[j].first != job)
            continue;
        status = npu_job_read(crew->cases, j, &crew->loaded[j].ranks, results, values, err);
        values += figure_count(crew, j);
    }
    return status;
}

static npu_status simulate_subject(const npu_crew *crew, int job, const npu_die *die,
                                   double *makespan, npu_value *values, npu_error *err) {
    int *jobs = malloc(((size_t)crew->cases->job_count + 1) * sizeof *jobs);
    int count = 0;
    if (jobs == NULL)
        return npu_fail_memory(err);
    for (int j = job; j < crew->cases->job_count; j++)
        if (crew->loaded[j].first == job)
            jobs[count++] = j;
    npu_status status =
        crew->subject->simulate(crew->subject->owner, jobs, count, die, makespan, values, err);
    free(jobs);
    return status;
}

static npu_status simulate(const npu_crew *crew, const order *o, double *makespan,
                           npu_value *values, npu_error *err) {
    const npu_model *model = model_of(crew, o->job);
    const npu_loaded *loaded = &crew->loaded[o->job];
    if (model->status) {
        npu_status status = npu_fail(err, model->status, (npu_pos){0}, "%s", model->error.text);
        npu_place_error(err, variant_of(crew, o->job)->die_pos);
        return status;
    }
    if (loaded->status)
        return npu_fail(err, loaded->status, (npu_pos){0}, "%s", loaded->error.text);
    npu_die die = model->die; // as it was when the process began
    for (int i = 0; i < npu_die_field_count(); i++)
        memcpy((char *)&die + npu_die_field_at(i).offset, &o->numbers[i], sizeof o->numbers[i]);
    if (crew->subject != NULL)
        return simulate_subject(crew, o->job, &die, makespan, values, err);
    npu_sim_result *results = calloc((size_t)loaded->ranks.full, sizeof *results);
    if (results == NULL)
        return npu_fail_memory(err);
    npu_status status =
        npu_job_run(crew->cases, o->job, &loaded->ranks, &die, NPU_ENGINE_FLUID, results, err);
    *makespan = results[0].trace.makespan;
    if (!status)
        status = read_all(crew, o->job, results, values, err);
    for (int r = 0; r < loaded->ranks.full; r++)
        npu_sim_result_free(&results[r]);
    free(results);
    return status;
}

static npu_status work(void *owner, int at, const void *ordered, void *result, npu_error *err) {
    const npu_crew *crew = owner;
    report r = {.status = NPU_OK};
    clock_t begin = clock();
    npu_value *values = calloc((size_t)crew->widest, sizeof *values);
    (void)at;
    if (values == NULL)
        return npu_fail_memory(err);
    r.status = simulate(crew, ordered, &r.makespan, values, &r.error);
    r.seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    memcpy(result, &r, sizeof r);
    memcpy((char *)result + sizeof r, values, (size_t)crew->widest * sizeof *values);
    free(values);
    return NPU_OK;
}

// ---- in the parent -------------------------------------------------------------------------

static void fill_order(void *owner, int at, void *to) {
    const npu_crew *crew = owner;
    order *o = to;
    o->job = crew->order[at];
    for (int i = 0; i < npu_die_field_count(); i++)
        o->numbers[i] = npu_die_value(&model_of(crew, o->job)->die, i);
}

static void take(void *owner, int at, npu_status status, const npu_error *error,
                 const void *result) {
    const npu_crew *crew = owner;
    report r = {.status = status, .error = *error};
    const char *values = (const char *)result + sizeof r;
    if (!status)
        memcpy(&r, result, sizeof r);
    for (int j = crew->order[at]; j < crew->cases->job_count; j++) {
        if (crew->loaded[j].first != crew->order[at])
            continue;
        npu_outcome *o = &crew->outcomes[j];
        int count = figure_count(crew, j);
        o->status = r.status;
        o->error = r.error;
        o->makespan = r.makespan;
        o->seconds = r.seconds;
        memcpy(o->values, values, (size_t)count * sizeof *o->values);
        values += (size_t)count * sizeof *o->values;
    }
}

// The graph's hash covers all that it was loaded from. That they took the same time, to the last
// bit, is looked at as well.
static bool same_run(const npu_crew *crew, int a, int b) {
    const npu_ranks *x = &crew->loaded[a].ranks, *y = &crew->loaded[b].ranks;
    if (crew->subject != NULL)
        return crew->subject->same(crew->subject->owner, a, b);
    return x->graphs[0].hash == y->graphs[0].hash && x->count == 1 && y->count == 1 &&
           model_of(crew, a) == model_of(crew, b) &&
           variant_of(crew, a)->l2_warm == variant_of(crew, b)->l2_warm &&
           crew->outcomes[a].makespan == crew->outcomes[b].makespan;
}

// Only what was simulated without an error is joined: a line about each that is wrong.
static void join_jobs(npu_crew *crew) {
    for (int job = 0; job < crew->cases->job_count; job++) {
        int figures = 0, first = 0;
        if (crew->outcomes[job].status || !(crew->outcomes[job].makespan > 0))
            continue;
        while (first < job && (crew->loaded[first].first != first || !same_run(crew, first, job)))
            first++;
        crew->loaded[job].first = first;
        for (int j = first; j <= job; j++)
            figures += crew->loaded[j].first == first ? figure_count(crew, j) : 0;
        crew->widest = figures > crew->widest ? figures : crew->widest;
    }
    crew->joined = true;
}

static int begins_before(const npu_crew *crew, int a, int b) {
    double x = crew->outcomes[a].seconds, y = crew->outcomes[b].seconds;
    return x != y ? x > y : a < b;
}

// Each simulation once, the longest first. The results do not depend on the order.
static int put_in_order(const npu_crew *crew, const int *jobs, int count) {
    int ordered = 0;
    for (int i = 0; i < count; i++) {
        int job = crew->loaded[jobs[i]].first, at = 0;
        while (at < ordered && crew->order[at] != job)
            at++;
        if (at < ordered)
            continue;
        for (at = ordered++; at > 0 && begins_before(crew, job, crew->order[at - 1]); at--)
            crew->order[at] = crew->order[at - 1];
        crew->order[at] = job;
    }
    return ordered;
}

npu_status npu_crew_run(npu_crew *crew, const int *jobs, int count, npu_error *err) {
    if (crew->pool.workers == NULL) // otherwise the processes know another value
        crew->pool.result_size = sizeof(report) + (size_t)crew->widest * sizeof(npu_value);
    crew->pool.jobs = put_in_order(crew, jobs, count);
    npu_status status = npu_pool_run(&crew->pool, err);
    if (status || crew->joined)
        return status;
    npu_pool_close(&crew->pool); // new processes know what is joined
    join_jobs(crew);
    return NPU_OK;
}

// ---- opening and closing -------------------------------------------------------------------

static npu_status load(npu_crew *crew, int job, const char *config, npu_error *err) {
    npu_loaded *l = &crew->loaded[job];
    npu_outcome *o = &crew->outcomes[job];
    int count = figure_count(crew, job);
    l->first = job;
    if (crew->subject == NULL)
        l->status = npu_job_load(crew->cases, job, config, &l->ranks, &l->error);
    crew->widest = count > crew->widest ? count : crew->widest;
    o->values = calloc((size_t)count + 1, sizeof *o->values);
    if (o->values == NULL || l->status == NPU_NO_MEMORY)
        return npu_fail_memory(err);
    return NPU_OK;
}

npu_status npu_crew_open(npu_crew *crew, const npu_cases *cases, const npu_models *models,
                         const npu_subject *subject, const char *config, int parallel,
                         npu_error *err) {
    size_t count = (size_t)cases->job_count + 1;
    *crew = (npu_crew){.cases = cases, .models = models, .subject = subject, .widest = 1};
    crew->loaded = calloc(count, sizeof *crew->loaded);
    crew->outcomes = calloc(count, sizeof *crew->outcomes);
    crew->order = calloc(count, sizeof *crew->order);
    if (crew->loaded == NULL || crew->outcomes == NULL || crew->order == NULL)
        return npu_fail_memory(err);
    crew->pool =
        (npu_pool){.parallel = parallel,
                   .lasting = true,
                   .order_size = sizeof(order) + (size_t)npu_die_field_count() * sizeof(double),
                   .owner = crew,
                   .order = fill_order,
                   .work = work,
                   .done = take};
    npu_status status = NPU_OK;
    for (int job = 0; job < cases->job_count && !status; job++)
        status = load(crew, job, config, err);
    return status;
}

const npu_ranks *npu_crew_ranks(const npu_crew *crew, int job) {
    assert(job >= 0 && job < crew->cases->job_count);
    return &crew->loaded[job].ranks;
}

void npu_crew_close(npu_crew *crew) {
    npu_pool_close(&crew->pool);
    for (int job = 0; crew->cases != NULL && job < crew->cases->job_count; job++) {
        if (crew->loaded != NULL)
            npu_ranks_free(&crew->loaded[job].ranks);
        if (crew->outcomes != NULL)
            free(crew->outcomes[job].values);
    }
    free(crew->loaded);
    free(crew->outcomes);
    free(crew->order);
    *crew = (npu_crew){0};
}
