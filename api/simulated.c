// SPDX-License-Identifier: Apache-2.0
#include "simulated.h"

#include <stdlib.h>

static npu_status simulate(npu_simulated *s, npu_error *err) {
    const npu_ranks *ranks = &s->context.ranks;
    s->results = calloc((size_t)ranks->full, sizeof *s->results);
    if (s->results == NULL)
        return npu_fail_memory(err);
    npu_sim_options options = {.engine = NPU_ENGINE_FLUID, .l2_warm = s->l2_warm};
    npu_status status = npu_simulate_ranks(ranks, &s->context.die, &options, s->results, err);
    for (int i = 1; i < ranks->full && !status; i++)
        if (s->results[i].trace.makespan > s->results[s->slowest].trace.makespan)
            s->slowest = i;
    return status;
}

npu_status npu_simulated_open(npu_simulated *s, const npusim_input *input, npu_error *err) {
    *s = (npu_simulated){.l2_warm = input->l2_warm};
    npu_status status = npu_context_open(&s->context, input, err);
    if (!status)
        status = simulate(s, err);
    if (status)
        return status;
    const npu_sim_result *result = &s->results[s->slowest];
    const npu_graph *graph = npu_simulated_graph(s);
    status = npu_metrics_make(&result->trace, graph, result->thread_busy, result->thread_count,
                              &s->metrics, err);
    return status ? status : npu_gaps_make(&result->trace, graph, &s->metrics, &s->gaps, err);
}

void npu_simulated_close(npu_simulated *s) {
    npu_gaps_free(&s->gaps);
    npu_metrics_free(&s->metrics);
    for (int i = 0; i < s->context.ranks.full && s->results != NULL; i++)
        npu_sim_result_free(&s->results[i]);
    free(s->results);
    npu_context_close(&s->context);
}
