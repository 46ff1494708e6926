// SPDX-License-Identifier: Apache-2.0
#include "ranks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool is_path(const char *fabric) {
    size_t length = strlen(fabric);
    return length > 4 && strcmp(fabric + length - 4, ".xml") == 0;
}

// A name is found in the folder, a path of the graph's beside the graph.
static const char *fabric_path(npu_arena *arena, const npu_graph *graph,
                               const npu_ranks_options *options) {
    const char *fabric = options->fabric != NULL ? options->fabric : graph->fabric;
    const char *slash = strrchr(graph->path, '/');
    if (!is_path(fabric))
        return npu_arena_printf(arena, "%s/%s.xml", options->fabric_folder, fabric);
    if (options->fabric != NULL || fabric[0] == '/' || slash == NULL)
        return fabric;
    return npu_arena_printf(arena, "%.*s/%s", (int)(slash - graph->path), graph->path, fabric);
}

static npu_status load_fabric(npu_ranks *ranks, const npu_ranks_options *options, npu_error *err) {
    npu_graph *graph = &ranks->graphs[0];
    if (options->fabric == NULL && graph->fabric == NULL)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){graph->path, 0, 0},
                        "the graph has %d ranks, but no fabric that joins them; name one with "
                        "`fabric:`",
                        ranks->count);
    const char *path = fabric_path(&graph->arena, graph, options);
    ranks->fabric_path = path;
    return path == NULL ? npu_fail_memory(err)
                        : npu_fabric_load(path, ranks->count, &ranks->fabric, err);
}

static npu_status load_rank(const char *path, const npu_ranks_options *options, int rank,
                            npu_graph *graph, npu_warnings *warnings, npu_error *err) {
    npu_graph_options of_rank = options->graph;
    of_rank.rank = rank;
    return npu_graph_load(path, &of_rank, graph, warnings, err);
}

npu_status npu_ranks_load(const char *path, const npu_ranks_options *options, npu_ranks *ranks,
                          npu_warnings *warnings, npu_error *err) {
    npu_graph first = {0};
    *ranks = (npu_ranks){0};
    npu_status status = load_rank(path, options, 0, &first, warnings, err);
    if (status)
        return status;
    ranks->graphs = calloc((size_t)first.ranks, sizeof *ranks->graphs);
    if (ranks->graphs == NULL) {
        npu_graph_free(&first);
        return npu_fail_memory(err);
    }
    ranks->graphs[0] = first;
    ranks->count = first.ranks;
    ranks->full = first.full;
    for (int r = 1; r < ranks->count && !status; r++) {
        status = load_rank(path, options, r, &ranks->graphs[r], NULL, err);
        const npu_graph *g = &ranks->graphs[r];
        if (!status && (g->ranks != ranks->count || g->full != ranks->full))
            status = npu_fail(err, NPU_BAD_INPUT, (npu_pos){path, 0, 0},
                              "rank 0 has %d ranks, %d of them in full, and rank %d has %d and %d",
                              ranks->count, ranks->full, r, g->ranks, g->full);
    }
    if (!status && ranks->count > 1)
        status = npu_graph_check_ranks(ranks->graphs, ranks->count, err);
    if (!status && ranks->count > 1)
        status = load_fabric(ranks, options, err);
    if (status)
        npu_ranks_free(ranks);
    return status;
}

npu_status npu_ranks_check(const npu_ranks *ranks, const npu_walls *walls, npu_warnings *warnings,
                           npu_error *err) {
    npu_status status = NPU_OK;
    for (int r = 0; r < ranks->count && !status; r++)
        status = npu_graph_check(&ranks->graphs[r], walls, warnings, err);
    return status;
}

void npu_ranks_free(npu_ranks *ranks) {
    for (int r = 0; r < ranks->count; r++)
        npu_graph_free(&ranks->graphs[r]);
    free(ranks->graphs);
    npu_fabric_free(&ranks->fabric);
    *ranks = (npu_ranks){0};
}
