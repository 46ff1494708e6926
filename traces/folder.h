// SPDX-License-Identifier: Apache-2.0
// Where the files of captures are: one folder, or rank{r}/d{k} below it, as the runtime lays them
// out (docs/traces.md).
#ifndef NPU_FOLDER_H
#define NPU_FOLDER_H

#include "capture.h"
#include "deps.h"
#include "names.h"
#include "pmu.h"
#include "scope.h"

typedef struct npu_capture_files { // of one capture; NULL: there is none
    const char *folder;
    const char *place; // below the folder asked for: "", "rank0/d1"
    int rank, number;  // r and k; -1: no such folder
    const char *records, *merged, *deps, *names, *pmu, *scope;
} npu_capture_files;

typedef struct npu_capture_list {
    npu_capture_files *items; // by rank, then number
    int count, capacity;
    npu_arena arena;
} npu_capture_list;

// Finds the captures in `path`: in itself, in its dfx_outputs, or in rank{r}/d{k} and rank{r}
// below either. A path of a records file or a merged swimlane stands for that file alone. Older
// names of files are known. NPU_IO when there is none. Free *list in any case.
npu_status npu_folder_find(const char *path, npu_capture_list *list, npu_error *err);
void npu_folder_free(npu_capture_list *list);

// All that one capture's files say.
typedef struct npu_run_files {
    npu_capture capture;
    npu_deps deps;
    npu_name_map names;
    npu_pmu pmu;
    npu_scope_stats scope;
    bool has_deps, has_names, has_pmu, has_scope;
} npu_run_files;

// Reads the records and what is with them; without records the merged swimlane, whose arrows then
// stand for the graph unless deps.json is there. Free *run in any case.
npu_status npu_run_files_read(const npu_capture_files *files, npu_run_files *run, npu_error *err);
void npu_run_files_free(npu_run_files *run);

#endif
