// SPDX-License-Identifier: Apache-2.0
// Simulates one variant of a case and reads its figures.
#ifndef NPU_JOB_H
#define NPU_JOB_H

#include "cases.h"
#include "die.h"
#include "ranks.h"
#include "simulate.h"

typedef struct npu_value { // of one figure
    double value;          // in units; of a relative figure and its base: in ns, bytes per ns
    npu_error error;       // "" when there is a value
} npu_value;

// Loads the graph of a job, of each rank; `config` is the folder with kernels/ and fabric/. Errors
// name a place in the case file when they have none in the graph's. On failure *ranks is empty.
npu_status npu_job_load(const npu_cases *cases, int job, const char *config, npu_ranks *ranks,
                        npu_error *err);
// Checks the graphs on the die and simulates them: results[ranks->full], free each when this
// succeeds.
npu_status npu_job_run(const npu_cases *cases, int job, const npu_ranks *ranks, const npu_die *die,
                       npu_engine_kind engine, npu_sim_result *results, npu_error *err);
// Reads the figures that npu_job_figure lists: of rank 0, but a makespan is that of the slowest.
npu_status npu_job_read(const npu_cases *cases, int job, const npu_ranks *ranks,
                        const npu_sim_result *results, npu_value *values, npu_error *err);
// Both.
npu_status npu_job_simulate(const npu_cases *cases, int job, const npu_ranks *ranks,
                            const npu_die *die, npu_engine_kind engine, npu_value *values,
                            npu_error *err);
// The n-th figure of a job, an index, or -1 past the last one.
int npu_job_figure(const npu_cases *cases, int job, int n);
// Takes over the values of a job; what is wrong with one goes to `problems`.
void npu_job_take(npu_cases *cases, int job, const npu_value *values, npu_warnings *problems);
// When all jobs are done: relative figures become ratios. One without a value loses it.
void npu_cases_relate(npu_cases *cases, npu_warnings *problems);

// `text` with the place in front unless it begins with one.
void npu_place_error(npu_error *error, npu_pos pos);

#endif
