// SPDX-License-Identifier: Apache-2.0
// What a run's folder says about the run: enough to load the same graph and die again.
#ifndef NPU_RUN_FOLDER_H
#define NPU_RUN_FOLDER_H

#include "mem.h"
#include "npusim.h"
#include "simulated.h"

typedef struct npu_run_folder {
    npusim_input input; // without the config folder, which a run does not record
    uint64_t hash;      // of the graph, when it ran
    double makespan;    // ns
    int rank;           // whose these are; the graph may have several
    npu_arena arena;
} npu_run_folder;

// Reads <folder>/summary.json, or that of rank0 below it. NPU_IO when there is none;
// NPU_BAD_INPUT when it is of another version or not a summary. Free in any case.
npu_status npu_run_folder_read(const char *folder, npu_run_folder *read, npu_error *err);
// What is not as it was when the run in `path` was made, now that it is simulated again: a
// sentence in buf, or NULL.
const char *npu_run_folder_changed(const npu_run_folder *folder, const char *path,
                                   const npu_simulated *run, char *buf, size_t size);
void npu_run_folder_free(npu_run_folder *folder);

#endif
