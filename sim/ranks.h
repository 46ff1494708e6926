// SPDX-License-Identifier: Apache-2.0
// What runs: the graph of each rank and the fabric that joins their dies. Most often one rank.
#ifndef NPU_RANKS_H
#define NPU_RANKS_H

#include "fabric.h"
#include "graph.h"

typedef struct npu_ranks {
    npu_graph *graphs; // [count], by rank
    int count;
    int full;                // ranks that are simulated; the others are images (images.h)
    npu_fabric fabric;       // empty with one rank
    const char *fabric_path; // it was read from; NULL with one rank
} npu_ranks;

typedef struct npu_ranks_options {
    npu_graph_options graph;   // `rank` is set by the call
    const char *fabric_folder; // where <name>.xml of a fabric is found
    const char *fabric; // a name or the path of a .xml instead of what the graph says; or NULL
} npu_ranks_options;

// Reads a graph file once per rank, and the fabric when there are several. Errors: those of
// npu_graph_load and npu_fabric_load; ranks whose shared tensors differ; several ranks and no
// fabric. On failure *ranks is empty. Warnings are those of rank 0.
npu_status npu_ranks_load(const char *path, const npu_ranks_options *options, npu_ranks *ranks,
                          npu_warnings *warnings, npu_error *err);
// npu_graph_check of every rank.
npu_status npu_ranks_check(const npu_ranks *ranks, const npu_walls *walls, npu_warnings *warnings,
                           npu_error *err);
void npu_ranks_free(npu_ranks *ranks);

#endif
