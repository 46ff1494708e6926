// SPDX-License-Identifier: Apache-2.0
// The time of a serving step: what the host does before and after the graph.
#ifndef NPU_STEP_H
#define NPU_STEP_H

#include "die.h"

typedef struct npu_step_times { // ns
    double metadata, to_device, submit, device, from_device;
    double total; // the sum: the host waits for each
} npu_step_times;

// `makespan` (ns) is that of the slowest rank, from the first rank's begin on. A copy takes
// host.copy + bytes / host.rate; none when there is nothing to copy.
npu_step_times npu_step_time(const npu_host_step *step, const npu_die *die, double makespan);

#endif
