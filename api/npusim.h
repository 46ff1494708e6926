// SPDX-License-Identifier: Apache-2.0
// libnpusim: predict how long a task graph takes on an Ascend A2/A3 die. Every subcommand of
// `npusim` is one call of this library with a struct of options; zero-initialised options are
// the defaults. Calls keep no state between them and may be made from several threads (the
// simgrid engine excepted: one use per process).
//
// Text results go to a caller's FILE; files appear whole or not at all.
#ifndef NPUSIM_H
#define NPUSIM_H

#include <stdbool.h>
#include <stdio.h>

#include "error.h"

#define NPUSIM_VERSION "0.1.0"

// What every call that loads a graph and a die needs.
typedef struct npusim_input {
    const char *graph;       // path of a graph file
    const char *die;         // name in the config folder ("A3") or path of a .yaml
    const char *config;      // config folder; NULL: found by npusim_config_folder
    const char *const *sets; // "name=value"
    int set_count;
    const char *engine; // "fluid" (also when NULL) or "simgrid"
    bool l2_warm;       // weights and inputs start in L2 instead of HBM
    const char *fabric; // joins the dies of a graph with ranks: a name ("a3_node") or the path of a
                        // SimGrid platform (.xml); NULL: what the graph says
} npusim_input;

typedef struct npusim_run_options {
    npusim_input input;
    const char *out;     // folder for the files; NULL: none are written
    int swimlane;        // level 1..4; 0 means 4
    bool no_plot;        // do not draw swimlane.png
    const char *command; // recorded in summary.json; may be NULL
} npusim_run_options;

// Simulates a graph; prints the report to `report` (may be NULL), warnings to `warn` (may be
// NULL) and writes the files. *makespan_ns may be NULL.
npu_status npusim_run(const npusim_run_options *options, FILE *report, FILE *warn,
                      double *makespan_ns, npu_error *err);

// Loads and checks without simulating; prints what was found.
npu_status npusim_check(const npusim_input *input, FILE *report, FILE *warn, npu_error *err);

// The same, then prints what the order of the tasks shows, by kinds of tasks: redundant edges,
// races, false serialisation, useless early flags. At most 32,768 tasks.
npu_status npusim_check_deep(const npusim_input *input, FILE *report, FILE *warn, npu_error *err);

// Prints the resolved die with its peak rates, or the list of dies (name NULL).
npu_status npusim_die(const char *config, const char *name, FILE *report, npu_error *err);

// Streams, multiplies and dispatches on a modelled die and compares with its peaks.
// NPU_BAD_INPUT when one is missed by more than its tolerance.
npu_status npusim_selftest(const char *config, const char *die, const char *engine, FILE *report,
                           npu_error *err);

typedef struct npusim_bench_options {
    npusim_input input; // graph NULL: the built-in graphs
} npusim_bench_options;

// Measures the simulator itself: tile ops and events per second, peak memory.
npu_status npusim_bench(const npusim_bench_options *options, FILE *report, npu_error *err);

typedef struct npusim_explain_options {
    const char *folder; // of a run (npusim_run_options.out)
    const char *config; // as in npusim_input
    bool json;          // JSON instead of text
    int jobs;           // what-ifs simulated at a time; 0: as many as there are processors
    FILE *progress;     // a terminal that shows how far it is, or NULL
} npusim_explain_options;

// Simulates a run again, from what its folder records, and prints to `report` where its time went:
// critical paths, each gap by its causes, the time of the cores, and what-ifs, each simulated. What
// has changed since the run goes to `warn` (may be NULL). NPU_IO: the folder or the graph cannot be
// read; NPU_BAD_INPUT: the folder is of another version or of no run.
npu_status npusim_explain(const npusim_explain_options *options, FILE *report, FILE *warn,
                          npu_error *err);

typedef struct npusim_compare_options {
    const char *a, *b;  // folders of two runs, or two graphs
    npusim_input input; // of graphs: all but `graph`, `engine`; of runs: `config`
    bool json;          // JSON instead of text
} npusim_compare_options;

// Simulates both and prints what moved and why: kernels, the waterfall from one makespan to the
// other, and where the schedules part. Errors: as npusim_explain; NPU_BAD_INPUT also for a graph
// that has changed since its run, for a run and a graph, and for settings given to runs.
npu_status npusim_compare(const npusim_compare_options *options, FILE *report, npu_error *err);

// Draws <folder>/swimlane.png (by gnuplot) from the swimlane files in `folder`.
npu_status npusim_plot(const char *folder, npu_error *err);

typedef struct npusim_convert_options {
    const char *path; // folder of a capture or of a run, or one file of it
    const char *to;   // "g1", "g2", "g3", "perfetto"; NULL: only read and report
    const char *out;  // folder for the files; needed with `to`
} npusim_convert_options;

// Reads captures of a device, or the files of runs, checks them by the runtime's rules, prints what
// was found to `report` (may be NULL), and writes them again in another form. All files appear
// when all are complete. A broken rule is counted and told, and is no failure.
npu_status npusim_convert(const npusim_convert_options *options, FILE *report, npu_error *err);

typedef enum npusim_recorder {
    NPUSIM_RECORDER_AUTO, // on, unless the folder is that of a run of npusim
    NPUSIM_RECORDER_ON,
    NPUSIM_RECORDER_OFF,
} npusim_recorder;

typedef struct npusim_replay_options {
    npusim_input input;       // `graph` is the map (tile programs by kernel name), or NULL
    const char *path;         // folder of the capture
    bool cost_model;          // kernels that the map names take the time of their tile programs
    npusim_recorder recorder; // is the time modelled that recording cost the device?
    bool order_measured;      // blocks run where, and in the order in which, the capture ran them
    const char *json, *html;  // files to write, or NULL
    const char *out;          // folder for both, the pictures and a Perfetto file, or NULL
} npusim_replay_options;

// Carries out a captured task graph on a die and prints how that differs from the capture to
// `report`; warnings of the map to `warn` (both may be NULL). Kernels that no tile program stands
// for take their measured times. Pictures, which the page holds, need gnuplot; docs/replay.md tells
// what the files are. They appear whole or not at all. *error_share (may be NULL) gets the
// makespan's error, modelled / measured - 1.
npu_status npusim_replay(const npusim_replay_options *options, FILE *report, FILE *warn,
                         double *error_share, npu_error *err);

typedef struct npusim_validate_options {
    const char *const *files; // of cases (docs/validation.md)
    int file_count;           // 0: all in the folder `validation` of the configs
    const char *config;       // as in npusim_input, as is `engine`
    const char *engine;
    const char *die;  // instead of the dies that the cases name; NULL: those
    int jobs;         // simulations at a time; 0: as many as there are processors
    bool brief;       // no line per figure
    const char *csv;  // files to write, or NULL
    const char *json; //
    const char *plot; // .png, drawn by gnuplot
    const char *write_baseline;
    const char *baseline; // file to compare with, or NULL
    FILE *progress;       // a terminal that shows how far it is, or NULL
} npusim_validate_options;

typedef struct npusim_validation {
    int figures;   // with a prediction to compare
    int outside;   // figures that leave the band they declare
    int regressed; // predictions that moved from the baseline, and errors that grew
    int failed;    // cases or figures that are wrong
} npusim_validation;

// Simulates measured cases and prints prediction beside measurement to `report`. What is wrong
// with a case goes to `warn` (may be NULL), one line each; the others run, and the call returns
// NPU_BAD_INPUT at the end. *found may be NULL.
npu_status npusim_validate(const npusim_validate_options *options, FILE *report, FILE *warn,
                           npusim_validation *found, npu_error *err);

typedef struct npusim_calibrate_options {
    const char *const *files; // of cases, as in npusim_validate_options; or folders of captures
    int file_count;
    const char *map;         // captures: a graph whose tile programs stand for kernels, or NULL
    const char *config;      // as in npusim_input
    const char *die;         // NULL: "A3"
    const char *const *fits; // "name,name": the die's fields to fit; none: only report
    int fit_count;
    const char *const *bounds; // "name=low..high"; default: a third to three times
    int bound_count;
    int jobs;           // simulations at a time; 0: as many as there are processors
    int evaluations;    // limit of each fit; 0: 200
    bool no_leave_out;  // do not fit again without each group
    const char *out;    // die file to write (.yaml), or NULL
    const char *report; // Markdown file to write, or NULL
    FILE *progress;     // a terminal that shows how far it is, or NULL
} npusim_calibrate_options;

// Fits fields of a die to measured cases, or to captures (docs/calibration.md), and prints what
// came of it to `report`. There is no Markdown report of captures. What is wrong with a case goes
// to `warn` (may be NULL), one line each; the others are used, the files are written, and the call
// returns NPU_BAD_INPUT at the end.
npu_status npusim_calibrate(const npusim_calibrate_options *options, FILE *report, FILE *warn,
                            npu_error *err);

// The folder of the built-in configs, into buf: $NPUSIM_CONFIGS, else beside the executable, else
// the installed one. NPU_IO when there is none.
npu_status npusim_config_folder(char *buf, int size, npu_error *err);

#endif
