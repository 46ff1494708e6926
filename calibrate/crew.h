// SPDX-License-Identifier: Apache-2.0
// Simulates jobs of cases again and again on dies with other numbers. The graphs are loaded once;
// the processes that simulate last and inherit them.
#ifndef NPU_CREW_H
#define NPU_CREW_H

#include "job.h"
#include "overlay.h"
#include "pool.h"

typedef struct npu_outcome { // of one simulation
    npu_status status;
    npu_error error;   // that names a place
    double makespan;   // ns
    double seconds;    // of a processor that it took: the longest ones begin first
    npu_value *values; // by figure of the job
} npu_outcome;

// What is simulated when the jobs are no graphs of cases.
typedef struct npu_subject {
    // Simulates `count` jobs, which are one simulation, and reads their figures, those of one job
    // behind those of the other.
    npu_status (*simulate)(const void *owner, const int *jobs, int count, const npu_die *die,
                           double *makespan, npu_value *values, npu_error *err);
    bool (*same)(const void *owner, int a, int b); // jobs that are one simulation
    const void *owner;
} npu_subject;

typedef struct npu_crew {
    const npu_cases *cases;
    const npu_models *models;
    const npu_subject *subject; // or NULL
    struct npu_loaded *loaded;  // by job
    npu_outcome *outcomes;      // by job
    int *order;                 // the jobs of a run, in the order in which they begin
    int widest;                 // figures of all jobs that are one simulation
    bool joined;
    npu_pool pool;
} npu_crew;

// Loads the graphs of all jobs, with kernels/ and fabric/ of the folder `config`; one that is wrong
// makes its job fail. Zero-initialise *crew and close it in any case.
npu_status npu_crew_open(npu_crew *crew, const npu_cases *cases, const npu_models *models,
                         const npu_subject *subject, const char *config, int parallel,
                         npu_error *err);
// Simulates the listed jobs on the dies of the models; fills their outcomes. From the second
// run on, jobs that were the same simulation in the first are simulated once.
npu_status npu_crew_run(npu_crew *crew, const int *jobs, int count, npu_error *err);
// The graphs of a job; none when they could not be loaded.
const npu_ranks *npu_crew_ranks(const npu_crew *crew, int job);
void npu_crew_close(npu_crew *crew);

#endif
