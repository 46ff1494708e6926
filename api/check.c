// SPDX-License-Identifier: Apache-2.0
#include "context.h"

static const char *plural(int64_t count) {
    return count == 1 ? "" : "s";
}

static void print_found(const npu_context *context, FILE *report) {
    const npu_graph *graph = &context->ranks.graphs[0];
    int64_t blocks = 0;
    int count[NPU_DUMMY + 1] = {0};
    for (int i = 0; i < graph->task_count; i++) {
        blocks += graph->tasks[i].block_num;
        count[graph->tasks[i].engine]++;
    }
    int edges = 0; // several causes may join one pair
    for (int i = 0; i < graph->edge_count; i++) {
        const npu_edge *e = &graph->edges[i];
        edges += i == 0 || e->succ != e[-1].succ || e->pred != e[-1].pred;
    }
    fprintf(report, "%s: %d task%s (%d AIC, %d AIV, %d MIX, %d dummy), %lld block%s, %d edge%s\n",
            graph->path, graph->task_count, plural(graph->task_count), count[NPU_AIC],
            count[NPU_AIV], count[NPU_MIX], count[NPU_DUMMY], (long long)blocks, plural(blocks),
            edges, plural(edges));
    if (graph->ranks > 1)
        fprintf(report, "rank 0 of %d, on fabric %s\n", graph->ranks, context->ranks.fabric_path);
    fprintf(report, "fits die %s, with %d warning%s\n", context->die.name, context->warnings.count,
            plural(context->warnings.count));
}

npu_status npusim_check(const npusim_input *input, FILE *report, FILE *warn, npu_error *err) {
    npu_context context;
    npu_status status = npu_context_open(&context, input, err);
    npu_context_print_warnings(&context, 0, warn);
    if (!status && report != NULL)
        print_found(&context, report);
    npu_context_close(&context);
    return status;
}
