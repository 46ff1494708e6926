// SPDX-License-Identifier: Apache-2.0
#include "depends.h"

#include <string.h>

#include "die_impl.h"

static bool has_cores(const npu_graph *graph, npu_engine_type type) {
    for (int i = 0; i < graph->task_count; i++)
        if (graph->tasks[i].engine == type || graph->tasks[i].engine == NPU_MIX)
            return true;
    return false;
}

static bool begins_with_any(const char *path, const char *const *sections) {
    for (; *sections != NULL; sections++)
        if (strncmp(path, *sections, strlen(*sections)) == 0)
            return true;
    return false;
}

bool npu_graph_may_read(const npu_graph *graph, int field) {
    static const char *const aic[] = {"cube.", "mte1.", "fixpipe.", "aic_port.", NULL};
    static const char *const aiv[] = {"vector.", "aiv_port.", NULL};
    static const char *const launch[] = {"launch.", NULL};
    static const char *const aicpu[] = {"aicpu.", NULL};
    npu_die_field f = npu_die_field_at(field);
    if (strcmp(f.path, "aicpu.schedulers") == 0) // it also says how many threads a trace has
        return true;
    if (begins_with_any(f.path, graph->operators ? aicpu : launch))
        return false;
    if (begins_with_any(f.path, aic))
        return has_cores(graph, NPU_AIC);
    return !begins_with_any(f.path, aiv) || has_cores(graph, NPU_AIV);
}
