// SPDX-License-Identifier: Apache-2.0
// A run of a graph of the levers, and what their tests read off it.
#ifndef LEVERS_H
#define LEVERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "simulate.h"

typedef struct lever {
    npu_ranks ranks;
    npu_sim_result results[NPU_MAX_RANKS];
    const npu_graph *graph; // of rank 0
    const npu_trace *trace;
    npu_error err;
    npu_status status;
} lever;

typedef struct lever_sum { // over the rows of a kernel
    int64_t rows, read, written, ops;
    double start, end; // of the first and the last
    double longest;
    int64_t most_read; // by one row
} lever_sum;

// configs/PATH.yaml on A3 with the settings "a=1 b=2" ("" for none). The status tells whether it
// ended; anything else that goes wrong fails the test.
lever *lever_try(const char *path, const char *sets);
// The same of a run that must end.
lever *lever_run(const char *path, const char *sets);
void lever_free(lever *l);
// Makespan of a run, ns.
double lever_time(const char *path, const char *sets);

// Of all tasks that are called `kernel`, on rank 0; NULL: of all.
lever_sum lever_sum_of(const lever *l, const char *kernel);
int lever_tasks(const lever *l, const char *kernel);
// -1 when there is none.
int lever_task(const lever *l, const char *name);

#endif
