// SPDX-License-Identifier: Apache-2.0
// What swimlane.png shows: bars on lanes, each in the colour of a name. Made from a trace, or
// read back from the files of one (ours, or a capture of a device).
#ifndef NPU_PICTURE_H
#define NPU_PICTURE_H

#include "trace.h"

typedef enum npu_lane_kind { // from top to bottom
    NPU_LANE_ORCHESTRATOR,
    NPU_LANE_SCHEDULER,
    NPU_LANE_AIC,
    NPU_LANE_AIV,
} npu_lane_kind;

typedef struct npu_lane {
    npu_lane_kind kind;
    int number; // of the core, or of the scheduler
} npu_lane;

typedef enum npu_shade { // what the AICPU does, in greys
    NPU_SHADE_COMPLETE,
    NPU_SHADE_DISPATCH,
    NPU_SHADE_OTHER,
    NPU_SHADE_SUBMIT,
    NPU_SHADE_COUNT,
} npu_shade;

typedef struct npu_bar {
    int lane;
    int name;          // index of a kernel's name; an npu_shade on the AICPU's lanes
    double start, end; // us
} npu_bar;

typedef struct npu_picture {
    const char *title;
    npu_lane *lanes; // sorted by kind, then number; of two runs, one after the other
    int split;       // the first lane of the second run; 0: there is one run
    int lane_count, lane_capacity;
    npu_bar *bars;
    int bar_count, bar_capacity;
    const char **names; // of the kernels
    int name_count, name_capacity;
    double span; // us
    npu_arena arena;
} npu_picture;

// Both leave something to free even when they fail.
npu_status npu_picture_make(const npu_trace *trace, const npu_graph *graph, const char *die,
                            npu_picture *picture, npu_error *err);
// Two runs of one graph on one machine, above each other, each from its `first` ns on: what was
// before begins there.
npu_status npu_picture_pair(const npu_trace *const traces[2], const double first[2],
                            const npu_graph *graph, const char *title, npu_picture *picture,
                            npu_error *err);
// Reads the capture in a folder (folder.h); summary.json, if it is there, gives the die.
npu_status npu_picture_read(const char *folder, npu_picture *picture, npu_error *err);
void npu_picture_free(npu_picture *picture);

// For makers of pictures. Lanes are added in order; a name is found again by its text.
npu_status npu_picture_lane(npu_picture *picture, npu_lane_kind kind, int number, npu_error *err);
npu_status npu_picture_bar(npu_picture *picture, npu_bar bar, npu_error *err);
npu_status npu_picture_name(npu_picture *picture, const char *text, int *name, npu_error *err);

#endif
