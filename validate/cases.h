// SPDX-License-Identifier: Apache-2.0
// Measured cases, as docs/validation.md describes their files: what to simulate, what to read
// off it, and what a device gave. Files, cases and variants are flattened: all that a figure
// inherits is in it or in its variant.
#ifndef NPU_CASES_H
#define NPU_CASES_H

#include "reading.h"

// What the unit of a measured value says. Only figures of one dimension can be compared.
typedef enum npu_dimension {
    NPU_DIM_TIME,
    NPU_DIM_CYCLES,
    NPU_DIM_RATE,
    NPU_DIM_COUNT,
    NPU_DIM_RATIO, // of a relative reading
} npu_dimension;

typedef struct npu_figure {
    npu_reading read;
    npu_pos pos;
    int case_, variant;
    const char *row; // of the measurements, or NULL
    npu_dimension dimension;
    const char *unit; // as written: "us", "TB/s", "cyc"; "" for counts and ratios
    double scale;     // ns or bytes per ns in one unit, 1 for others
    double measured;  // in units
    double spread;    // of the measurement, as a share; 0: unknown
    double band;      // |predicted / measured - 1| may be; < 0: none is declared
    double per;       // the reading is divided by it
    bool hidden;      // not measured: another figure is relative to it
    int base;         // the figure that this one is relative to; -1: absolute
    // From the simulation:
    bool known;
    double predicted; // in units
} npu_figure;

typedef struct npu_variant {
    const char *name; // NULL when the case has no variants
    npu_pos pos;
    const char *source, *assumes; // or NULL
    const char *die;
    npu_pos die_pos;
    const char *graph; // path; of the case file when the graph is in it
    npu_pos graph_pos;
    const char *graph_text; // the graph when it is in the case file, else NULL
    bool l2_warm;
    const char *const *sets; // "name=value"
    const npu_pos *set_pos;
    int set_count;
    int job; // index into npu_cases.jobs
} npu_variant;

typedef struct npu_case {
    const char *name;
    npu_pos pos;
    int group;
    bool pair;                        // its variants are compared with each other
    int first_variant, variant_count; // at least one
    int first_figure, figure_count;   // those of a variant in its order, hidden ones last
} npu_case;

typedef struct npu_skipped { // a row that cannot be simulated
    int group;
    const char *row, *reason;
    npu_pos pos;
} npu_skipped;

typedef struct npu_case_job { // one simulation; equal variants of a case share it
    int case_, variant;
} npu_case_job;

typedef struct npu_cases {
    const char **groups; // names, in the order of the files
    int group_count, group_capacity;
    npu_case *cases;
    int case_count, case_capacity;
    npu_variant *variants;
    int variant_count, variant_capacity;
    npu_figure *figures;
    int figure_count, figure_capacity;
    npu_skipped *skipped;
    int skipped_count, skipped_capacity;
    npu_case_job *jobs;
    int job_count, job_capacity;
    int rejected; // cases, and files as a whole, that were wrong and are left out
    npu_arena arena;
} npu_cases;

// Adds the cases of a file. What is wrong in it goes to `problems`, one line each with its
// place, and the cases concerned are left out. Fails when the file cannot be read or memory
// runs out. Zero-initialise *cases before the first file; free it in any case.
npu_status npu_cases_read(npu_cases *cases, const char *path, npu_warnings *problems,
                          npu_error *err);
void npu_cases_free(npu_cases *cases);

// "q projection, wide N, after: time of qproj": how a figure is called in text.
const char *npu_figure_name(const npu_cases *cases, const npu_figure *figure, char *buf, int size);

// predicted / measured - 1
static inline double npu_figure_error(const npu_figure *figure) {
    return figure->predicted / figure->measured - 1;
}
// The band counts only where it is wider than the spread of the measurement itself.
static inline bool npu_figure_outside(const npu_figure *figure) {
    double error = npu_figure_error(figure);
    double allowed = figure->band > figure->spread ? figure->band : figure->spread;
    return figure->known && figure->band >= 0 && (error > allowed || error < -allowed);
}

#endif
