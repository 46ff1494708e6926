// SPDX-License-Identifier: Apache-2.0
#include "step.h"

static double copy(const npu_die *die, int64_t bytes) {
    return bytes > 0 ? die->host.copy + (double)bytes / die->host.rate : 0;
}

npu_step_times npu_step_time(const npu_host_step *step, const npu_die *die, double makespan) {
    npu_step_times t = {.metadata = step->metadata,
                        .to_device = copy(die, step->to_device),
                        .submit = (double)step->submissions * step->submit,
                        .device = makespan,
                        .from_device = copy(die, step->from_device)};
    t.total = t.metadata + t.to_device + t.submit + t.device + t.from_device;
    return t;
}
