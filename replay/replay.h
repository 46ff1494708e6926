// SPDX-License-Identifier: Apache-2.0
// A captured task graph carried out by the model, beside what the device did (docs/replay.md).
#ifndef NPU_REPLAY_H
#define NPU_REPLAY_H

#include <stdio.h>

#include "scene.h"
#include "schedule.h"
#include "simulate.h"
#include "waterfall.h"

typedef struct npu_replay_options {
    const npu_graph
        *map;            // tile programs by kernel name; NULL: every kernel takes its measured time
    bool measured_order; // blocks run on the cores, and in the order, of the capture
    bool recorded;       // the recorder's time on cores and orchestrator is modelled too
    npu_engine_kind engine;
    bool l2_warm;
} npu_replay_options;

typedef struct npu_replay_span { // of the rows of a kernel, ns
    double mean, p50, p90, total;
} npu_replay_span;

typedef struct npu_replay_kernel { // tasks of one function of the capture
    const char *name;
    int tasks, rows;
    bool by_program; // its time is that of a tile program
    npu_replay_span measured, modelled;
    double share;       // of the sum over kernels of |modelled - measured total|, signed
    double start_error; // median over tasks of |modelled - measured first start|, ns
} npu_replay_kernel;

typedef struct npu_replay_about { // what was asked, for titles and files
    const char *capture, *die;
    bool cost_model, order_measured, recorded;
} npu_replay_about;

typedef struct npu_replay {
    // From the first dispatch to the last finish, ns.
    double measured, modelled;
    double start_median, start_p90; // over tasks, as start_error
    int tasks;                      // that ran
    int idle_tasks;                 // with a kernel but without a row: carried out as dummies
    npu_replay_kernel *kernels;     // by their share of the core time
    int kernel_count;
    npu_waterfall waterfall;
    npu_parting by_time, by_place;
    int early[2][NPU_EARLY_FULL + 1]; // tasks by proof; measured, modelled
    npu_idle idle[2][2];              // measured, modelled; by type of core
    double unrecorded;                // makespan modelled without the recorder; 0: not asked
    npu_timed runs[2];                // measured, modelled
    npu_replay_about about;           // to be filled by the caller
    const npu_trace *captured;        // of the scene
    npu_graph graph;                  // what was carried out; borrows from the scene and the map
    npu_sim_result result;
} npu_replay;

// Did recording cost the device time? Not in a folder as a run of npusim writes it.
bool npu_replay_recorded(const char *folder);

// Carries the scene out on the die. NPU_BAD_INPUT when that cannot be: edges against the order of
// submission, a map that fits nothing or has other widths, an order that cannot be pinned. `scene`
// and the map must outlive *replay, which is to be freed in any case.
npu_status npu_replay_run(const npu_scene *scene, const npu_die *die,
                          const npu_replay_options *options, npu_replay *replay, npu_error *err);
void npu_replay_free(npu_replay *replay);

// The report for people.
void npu_replay_print(FILE *out, const npu_replay *replay);
// And for machines: the same figures and one line per task, docs/replay.md.
npu_status npu_replay_json(FILE *out, const npu_replay *replay, npu_error *err);
// A Chrome trace: each core, scheduler and the orchestrator measured, and modelled below it; both
// runs begin with their first dispatch or the first call before it.
npu_status npu_replay_perfetto(FILE *out, const npu_replay *replay, npu_error *err);
// Pictures by gnuplot (traces/gnuplot.h): both swimlanes on one time axis; the kernels' errors.
npu_status npu_replay_swimlanes_png(const npu_replay *replay, const char *png, npu_error *err);
npu_status npu_replay_kernels_png(const npu_replay *replay, const char *png, npu_error *err);
npu_status npu_replay_kernels_script(const npu_replay *replay, FILE *out, npu_error *err);
// One page with the tables and both pictures, which it holds itself.
npu_status npu_replay_html(FILE *out, const npu_replay *replay, npu_error *err);

#endif
