// SPDX-License-Identifier: Apache-2.0
// The task kinds of the decode workload, and what a graph's tasks move and compute, to be compared
// with them.
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include "graph.h"

// Which rows of the table a graph may use: kinds have the same names in several units.
enum {
    PREAMBLE = 1 << 0,
    HC_PRE = 1 << 1,
    HC_FUSED = 1 << 2,
    ATTENTION = 1 << 3, // of all three kinds
    SWA = 1 << 4,
    HCA = 1 << 5,
    CSA = 1 << 6,
    HC_POST = 1 << 7,
    MOE = 1 << 8,
    MOE_EP2 = 1 << 9,
    MOE_EP8 = 1 << 10,
    TAIL = 1 << 11,
    TAIL_TP2 = 1 << 12,
    TAIL_TP8 = 1 << 13,
    MTP = 1 << 14,
};

typedef struct workload_counts { // bytes, multiply-accumulates, elements
    int64_t weight, activation, cache, store;
    int64_t handoff; // stores to tensors between the cores of a block
    int64_t handoff_load;
    int64_t macs, valid, elements, prefetch;
} workload_counts;

typedef struct workload_row {
    int unit;
    const char *name;
    npu_engine_type engine;
    int tasks;      // in a unit
    int64_t blocks; // of one task
    bool early;
    bool even; // all blocks do the same
    // Of one task, all blocks. elements -1: not known.
    int64_t weight, activation, cache, store, handoff, macs, valid, elements, prefetch;
} workload_row;

typedef struct workload_totals { // as the workload's table of totals has them
    int aic, aiv, mix, dummy;
    int64_t aic_blocks, aiv_blocks, mix_blocks;
    double weight, activation, cache, store, handoff; // MB
    double macs, valid;                               // 1e9
    double elements;                                  // 1e6
} workload_totals;

typedef struct workload_sum { // by engine
    int tasks[4];
    int64_t blocks[4];
    workload_counts counts;
} workload_sum;

typedef struct workload_prefix { // the units of tasks that are called "prefix[..].name"
    const char *prefix;
    int units;
} workload_prefix;

typedef struct workload {
    npu_graph graph;
    npu_warnings warnings;
    npu_error err;
} workload;

// Loads configs/models/NAME.yaml with the NULL-terminated settings, or none (NULL).
npu_status workload_load(workload *w, const char *name, const char *const *sets);
void workload_free(workload *w);

// The row of a function's name ("moe.gate"), by the prefixes up to one without a name, which holds
// for all others. Fails the test when there is none.
const workload_row *workload_find(const workload_prefix *prefixes, const char *function);

workload_counts workload_count_task(workload *w, const npu_task *task);
workload_counts workload_count(workload *w);

// Every task has its row's engine, blocks and early flag, and does what the row says.
void workload_check_tasks(workload *w, const workload_prefix *prefixes);
// Every row of the units has its number of tasks, with the submission order free.
void workload_check_complete(const workload *w, int units);
// Of all tasks; with `plain` of those alone whose names have no prefix.
workload_sum workload_sum_of(workload *w, bool plain);
// a - b
workload_sum workload_difference(const workload_sum *a, const workload_sum *b);
void workload_check_totals(const workload_sum *sum, const workload_totals *want);

// The tasks that `name` waits for, each once, with '!' where an explicit edge says so.
const char *workload_preds(const npu_graph *graph, const char *name, char *buf, size_t size);

#endif
