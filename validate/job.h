// SPDX-License-Identifier: Apache-2.0
// Simulates one variant of a case and reads its figures.
#ifndef NPU_JOB_H
#define NPU_JOB_H

#include "cases.h"
#include "die.h"
#include "simulate.h"

typedef struct npu_value { // of one figure
    double value;          // in units; of a relative figure and its base: in ns, bytes per ns
    npu_error error;       // "" when there is a value
} npu_value;

// Loads the graph of a job. Errors name a place in the case file when they have none in the
// graph's. On failure *graph is empty.
npu_status npu_job_load(const npu_cases *cases, int job, const char *kernel_folder,
                        npu_graph *graph, npu_error *err);
// Checks the graph on the die and simulates it. Free the result when this succeeds.
npu_status npu_job_run(const npu_cases *cases, int job, const npu_graph *graph, const npu_die *die,
                       npu_engine_kind engine, npu_sim_result *result, npu_error *err);
// Reads the figures that npu_job_figure lists.
npu_status npu_job_read(const npu_cases *cases, int job, const npu_graph *graph,
                        const npu_trace *trace, npu_value *values, npu_error *err);
// Both.
npu_status npu_job_simulate(const npu_cases *cases, int job, const npu_graph *graph,
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
