// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "context.h"
#include "deps.h"
#include "metrics.h"
#include "names.h"
#include "out.h"
#include "perfetto.h"
#include "plot.h"
#include "pmu.h"
#include "report.h"
#include "simulate.h"
#include "summary.h"
#include "swimlane.h"

typedef struct run {
    const npusim_run_options *options;
    npu_context context;
    npu_sim_result result;
    npu_metrics metrics;
    int level;
} run;

// ---- files ---------------------------------------------------------------------------------

static npu_status write_swimlane(const run *r, FILE *out, npu_error *err) {
    return npu_swimlane_write(out, &r->result.trace, r->level, err);
}

static npu_status write_deps(const run *r, FILE *out, npu_error *err) {
    return npu_deps_write(out, &r->context.graph, err);
}

static npu_status write_names(const run *r, FILE *out, npu_error *err) {
    return npu_names_write(out, &r->context.graph, err);
}

static npu_status write_pmu(const run *r, FILE *out, npu_error *err) {
    return npu_pmu_write(out, &r->result.trace, &r->context.graph, err);
}

static npu_status write_perfetto(const run *r, FILE *out, npu_error *err) {
    return npu_perfetto_write(out, &r->result.trace, &r->context.graph, r->level, err);
}

static npu_status write_summary(const run *r, FILE *out, npu_error *err) {
    return npu_summary_write(out, &r->context, r->options, &r->result.trace, &r->metrics, err);
}

static const struct {
    const char *name;
    npu_status (*write)(const run *r, FILE *out, npu_error *err);
} files[] = {
    {"chip_swimlane_records.json", write_swimlane},
    {"deps.json", write_deps},
    {"name_map.json", write_names},
    {"pmu.csv", write_pmu},
    {"merged_swimlane.json", write_perfetto},
    {"summary.json", write_summary},
};

static npu_status write_files(const run *r, npu_out *out, npu_error *err) {
    npu_status status = NPU_OK;
    for (int i = 0; i < (int)(sizeof files / sizeof *files) && !status; i++) {
        FILE *file = npu_out_file(out, files[i].name, err);
        status = file == NULL ? NPU_IO : files[i].write(r, file, err);
    }
    return status;
}

// ---- the run -------------------------------------------------------------------------------

static npu_status simulate(run *r, npu_error *err) {
    npu_sim_options options = {.engine = r->context.engine, .l2_warm = r->options->input.l2_warm};
    npu_status status = npu_simulate(&r->context.graph, &r->context.die, &options, &r->result, err);
    if (!status)
        status = npu_metrics_make(&r->result.trace, &r->context.graph, r->result.thread_busy,
                                  r->result.thread_count, &r->metrics, err);
    return status;
}

static void print_report(const run *r, FILE *out) {
    npu_report report = {&r->result.trace, &r->context.graph, &r->metrics, r->context.die.name};
    npu_report_print(out, &report);
}

// The folder is made before the simulation: one that cannot be written is known at once.
static npu_status carry_out(run *r, FILE *report, npu_error *err) {
    const char *folder = r->options->out;
    npu_out *out = NULL;
    npu_status status = folder != NULL ? npu_out_begin(folder, &out, err) : NPU_OK;
    if (!status)
        status = simulate(r, err);
    if (!status && out != NULL)
        status = write_files(r, out, err);
    if (status) {
        npu_out_discard(out);
        return status;
    }
    if (out != NULL)
        status = npu_out_commit(out, err);
    if (!status && report != NULL)
        print_report(r, report);
    if (!status && folder != NULL && !r->options->no_plot)
        status = npusim_plot(folder, err);
    return status;
}

npu_status npusim_run(const npusim_run_options *options, FILE *report, FILE *warn,
                      double *makespan_ns, npu_error *err) {
    run r = {.options = options, .level = options->swimlane ? options->swimlane : 4};
    if (r.level < 1 || r.level > 4)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "the swimlane level is 1 to 4, not %d",
                        r.level);
    npu_status status = npu_context_open(&r.context, &options->input, err);
    npu_context_print_warnings(&r.context, warn);
    if (!status)
        status = carry_out(&r, report, err);
    if (!status && makespan_ns != NULL)
        *makespan_ns = r.result.trace.makespan;
    npu_metrics_free(&r.metrics);
    npu_sim_result_free(&r.result);
    npu_context_close(&r.context);
    return status;
}
