// SPDX-License-Identifier: Apache-2.0
// What a sound capture keeps to (docs/traces.md). A rule that is broken is counted and its first
// case told; it never stops anything.
#ifndef NPU_SANITY_H
#define NPU_SANITY_H

#include <stdio.h>

#include "capture.h"
#include "deps.h"

typedef enum npu_rule {
    NPU_RULE_LOST,        // rows without a start
    NPU_RULE_NO_CPU_ROW,  // AICore rows without their AICPU row (level 2 on)
    NPU_RULE_NO_CORE_ROW, // AICPU rows without their AICore row: a lost buffer
    NPU_RULE_DROPPED,     // records that a scheduler says it dropped, or streams cut off
    NPU_RULE_RECEIVE,     // dispatch <= receive <= start, less 2 ticks for the former
    NPU_RULE_END,         // start <= end
    NPU_RULE_FINISH,      // end <= finish + 2 ticks
    NPU_RULE_OVERLAP,     // rows of one core by [start, end]
    NPU_RULE_FLIGHT,      // at most two rows of one core by [dispatch, finish]
    NPU_RULE_REPEAT,      // (core, reg_task_id) names one row of each stream
    NPU_RULE_THREAD,      // a finish lies in a `complete` of the core's scheduler
    NPU_RULE_RECORD,      // a scheduler's record does not end before it starts
    NPU_RULE_PHASES,      // outer phases of one scheduler do not overlap
    NPU_RULE_CALLS,       // the orchestrator's calls follow each other
    NPU_RULE_UNKNOWN,     // a row's task is in the graph
    NPU_RULE_TWICE,       // a task is in the graph once
    NPU_RULE_SUCC,        // an edge's consumer is in the graph
    NPU_RULE_FORWARD,     // a producer is submitted before its consumers
    NPU_RULE_KERNEL,      // a row's core has a kernel of its task
    NPU_RULE_ROWS,        // rows of a task = blocks x kernels
    NPU_RULE_CLUSTER,     // the parts of MIX blocks lie in one cluster
    NPU_RULE_ORDER,       // no task starts before its producers end, less 2 ticks
    NPU_RULE_COUNT,
} npu_rule;
extern const char *const npu_rule_names[]; // one line each, NULL-terminated

typedef struct npu_sanity {
    int64_t broken[NPU_RULE_COUNT];  // how often
    bool checked[NPU_RULE_COUNT];    // the capture has what the rule is about
    char first[NPU_RULE_COUNT][160]; // the first case
} npu_sanity;

// `deps` NULL: without the graph. Fails only for lack of memory.
npu_status npu_sanity_check(const npu_capture *capture, const npu_deps *deps, npu_sanity *sanity,
                            npu_error *err);
// How many rules are broken.
int npu_sanity_broken(const npu_sanity *sanity);
// "none of 22 rules broken", or a line per broken rule.
void npu_sanity_print(FILE *out, const npu_sanity *sanity);

#endif
