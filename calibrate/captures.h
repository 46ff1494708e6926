// SPDX-License-Identifier: Apache-2.0
// Captures as cases of a calibration: each is replayed in its own order, so that every step of the
// one run is in the other too, and the figures are what its task kinds spent on the steps that do
// not hang on the schedulers' loops. Every fifth kind, by name, is one group of the cases, so that
// leaving a group out holds these out.
#ifndef NPU_CAPTURES_H
#define NPU_CAPTURES_H

#include "crew.h"
#include "folder.h"
#include "replay.h"

enum { NPU_KIND_GROUPS = 5 };

typedef struct npu_captured { // one capture
    npu_run_files run;
    npu_scene scene;
    bool recorded;
    int *groups; // by function
} npu_captured;

typedef struct npu_captures {
    npu_captured *list;
    int count, capacity;
    const npu_graph *map; // tile programs by kernel name, or NULL
    npu_subject subject;
    struct npu_kind_figure *figures; // by figure of the cases
    int figure_count, figure_capacity;
} npu_captures;

// Reads all captures in the folders, replays them on the die as it is, and adds their figures to
// *cases, which `die_name` names the die of. Figures that one of the two runs lacks are left out.
// *captures must stay where it is, and the map too. Free it in any case.
npu_status npu_captures_read(npu_captures *captures, const char *const *folders, int count,
                             const npu_graph *map, const npu_die *die, const char *die_name,
                             npu_cases *cases, npu_error *err);
void npu_captures_free(npu_captures *captures);

#endif
