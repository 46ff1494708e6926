// SPDX-License-Identifier: Apache-2.0
// What two schedules have in common, and how well each of them uses the cores.
#ifndef NPU_SCHEDULE_H
#define NPU_SCHEDULE_H

#include "timed.h"

#define NPU_PARTING 1000.0 // ns; starts that lie further apart are told

typedef struct npu_parting { // the first point where the schedules part; ns from the first dispatch
    int task;                // -1: they do not
    int core, other_core;    // measured, modelled
    double at;               // the earlier one of the two starts
    double apart;            // modelled - measured start
} npu_parting;

// How many of a task's rows were sent two ticks or more before its last producer was seen to
// finish.
typedef enum npu_early_proof {
    NPU_EARLY_UNASKED, // no rows, or no producers with rows
    NPU_EARLY_NO,
    NPU_EARLY_PARTIAL,
    NPU_EARLY_FULL,
} npu_early_proof;
extern const char *const npu_early_proof_names[]; // "", "none", "partial", "full"

typedef struct npu_idle { // of one type of core; ns
    double time;          // in which a core had no row while a ready row was not sent
    double core_time;     // the same, times as many cores as could have begun
} npu_idle;

// By time: the first row that starts more than NPU_PARTING from its mate. By place: the first place
// of a core that another task takes.
void npu_part_by_time(const npu_timed *measured, const npu_timed *modelled, npu_parting *parting);
void npu_part_by_place(const npu_timed *measured, const npu_timed *modelled, int cores,
                       npu_parting *parting);
npu_early_proof npu_early_of(const npu_timed *run, int task, double tick);
// A row is ready when its task is submitted and its producers are seen to finish. idle[2]: AIC,
// AIV.
npu_status npu_idle_of(const npu_timed *run, const npu_trace *trace, npu_idle *idle,
                       npu_error *err);

#endif
