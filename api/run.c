// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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
#include "step.h"
#include "summary.h"
#include "swimlane.h"
#include "units.h"

typedef struct run {
    const npusim_run_options *options;
    npu_context context;
    npu_sim_result *results; // of each rank, as are the metrics
    npu_metrics *metrics;
    npu_link_use *fabric; // of each of its links
    int level;
} run;

// What the files of one rank are written from.
typedef struct one_rank {
    const run *run;
    const npu_graph *graph;
    const npu_trace *trace;
    const npu_metrics *metrics;
} one_rank;

static one_rank rank_of(const run *r, int rank) {
    return (one_rank){r, &r->context.ranks.graphs[rank], &r->results[rank].trace,
                      &r->metrics[rank]};
}

// ---- files ---------------------------------------------------------------------------------

static npu_status write_swimlane(const one_rank *r, FILE *out, npu_error *err) {
    return npu_swimlane_write(out, r->trace, r->run->level, err);
}

static npu_status write_deps(const one_rank *r, FILE *out, npu_error *err) {
    return npu_deps_write(out, r->graph, err);
}

static npu_status write_names(const one_rank *r, FILE *out, npu_error *err) {
    return npu_names_write(out, r->graph, err);
}

static npu_status write_pmu(const one_rank *r, FILE *out, npu_error *err) {
    return npu_pmu_write(out, r->trace, r->graph, err);
}

static npu_status write_perfetto(const one_rank *r, FILE *out, npu_error *err) {
    return npu_perfetto_write(out, r->trace, r->graph, r->run->level, err);
}

static npu_status write_summary(const one_rank *r, FILE *out, npu_error *err) {
    return npu_summary_write(out, &r->run->context, r->run->options, r->graph, r->trace, r->metrics,
                             err);
}

static const struct {
    const char *name;
    npu_status (*write)(const one_rank *r, FILE *out, npu_error *err);
} files[] = {
    {"chip_swimlane_records.json", write_swimlane},
    {"deps.json", write_deps},
    {"name_map.json", write_names},
    {"pmu.csv", write_pmu},
    {"merged_swimlane.json", write_perfetto},
    {"summary.json", write_summary},
};

static npu_status write_files(const one_rank *r, npu_out *out, npu_error *err) {
    npu_status status = NPU_OK;
    for (int i = 0; i < (int)(sizeof files / sizeof *files) && !status; i++) {
        FILE *file = npu_out_file(out, files[i].name, err);
        status = file == NULL ? NPU_IO : files[i].write(r, file, err);
    }
    return status;
}

// Of one rank the files lie in the folder itself, of several in one of its own for each.
static npu_status folder_of(const run *r, int rank, char *buf, size_t size, npu_error *err) {
    const char *folder = r->options->out;
    int n = r->context.ranks.count > 1 ? snprintf(buf, size, "%s/rank%d", folder, rank)
                                       : snprintf(buf, size, "%s", folder);
    return n >= 0 && (size_t)n < size
               ? NPU_OK
               : npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "the folder's path is too long");
}

// The folders are made before the simulation: one that cannot be written is known at once.
static npu_status begin_files(const run *r, npu_out **outs, npu_error *err) {
    npu_status status = NPU_OK;
    for (int i = 0; i < r->context.ranks.full && !status; i++) {
        char folder[NPU_CONFIG_PATH];
        status = folder_of(r, i, folder, sizeof folder, err);
        if (!status)
            status = npu_out_begin(folder, &outs[i], err);
    }
    return status;
}

static npu_status draw(const run *r, npu_error *err) {
    npu_status status = NPU_OK;
    for (int i = 0; i < r->context.ranks.full && !status; i++) {
        char folder[NPU_CONFIG_PATH];
        status = folder_of(r, i, folder, sizeof folder, err);
        if (!status)
            status = npusim_plot(folder, err);
    }
    return status;
}

// ---- the run -------------------------------------------------------------------------------

// What the simulation warns of is told after what the graph's checks did.
static npu_status simulate(run *r, FILE *warn, npu_error *err) {
    int told = r->context.warnings.count;
    const npu_ranks *ranks = &r->context.ranks;
    npu_sim_options options = {.engine = r->context.engine,
                               .l2_warm = r->options->input.l2_warm,
                               .hazards = &r->context.warnings,
                               .fabric = r->fabric};
    npu_status status = npu_simulate_ranks(ranks, &r->context.die, &options, r->results, err);
    npu_context_print_warnings(&r->context, told, warn);
    for (int i = 0; i < ranks->full && !status; i++) {
        npu_sim_result *result = &r->results[i];
        status = npu_metrics_make(&result->trace, &ranks->graphs[i], result->thread_busy,
                                  result->thread_count, &r->metrics[i], err);
    }
    return status;
}

static int slowest(const run *r) {
    int at = 0;
    for (int i = 1; i < r->context.ranks.full; i++)
        if (r->results[i].trace.makespan > r->results[at].trace.makespan)
            at = i;
    return at;
}

// The links that carried most; of several that carried the same the first.
static void print_fabric(const run *r, double makespan, FILE *out) {
    enum { SHOWN = 4 };
    const npu_fabric *fabric = &r->context.ranks.fabric;
    double last = INFINITY;
    for (int n = 0; n < SHOWN; n++) {
        int at = -1;
        for (int i = 0; i < fabric->link_count; i++)
            if (r->fabric[i].bytes < last && (at < 0 || r->fabric[i].bytes > r->fabric[at].bytes) &&
                fabric->links[i].shared)
                at = i;
        if (at < 0 || r->fabric[at].bytes <= 0)
            return;
        last = r->fabric[at].bytes;
        char bytes[32], rate[32], most[32];
        npu_show_bytes(last, bytes, sizeof bytes);
        npu_show_rate(last / makespan, rate, sizeof rate);
        npu_show_rate(fabric->links[at].rate, most, sizeof most);
        fprintf(out, "link %-16s %9s, %.1f %% busy; %s of %s\n", fabric->links[at].name, bytes,
                100 * r->fabric[at].busy / makespan, rate, most);
    }
}

static void print_step(const run *r, double makespan, FILE *out) {
    const npu_host_step *step = &r->context.ranks.graphs[0].step;
    if (!step->given)
        return;
    npu_step_times t = npu_step_time(step, &r->context.die, makespan);
    const double parts[] = {t.total, t.device, t.metadata, t.to_device, t.submit, t.from_device};
    char text[6][32];
    for (int i = 0; i < 6; i++)
        npu_show_time(parts[i], text[i], sizeof text[i]);
    fprintf(
        out,
        "step %s: device %s, host: metadata %s + copies to the device %s + %lld submission%s %s "
        "+ copies back %s\n",
        text[0], text[1], text[2], text[3], (long long)step->submissions,
        step->submissions == 1 ? "" : "s", text[4], text[5]);
}

// Of several ranks all makespans, and the rest of the slowest.
static void print_report(const run *r, FILE *out) {
    int count = r->context.ranks.full, shown = slowest(r);
    int ranks = r->context.ranks.count;
    for (int i = 0; i < count && ranks > 1; i++) {
        char time[32];
        npu_show_time(r->results[i].trace.makespan, time, sizeof time);
        fprintf(out, "rank %d: %s%s\n", i, time, i == shown ? ", told below" : "");
    }
    if (count < ranks)
        fprintf(out, "ranks %d to %d are images of these\n", count, ranks - 1);
    if (ranks > 1)
        print_fabric(r, r->results[shown].trace.makespan, out);
    npu_report report = {&r->results[shown].trace, &r->context.ranks.graphs[shown],
                         &r->metrics[shown], r->context.die.name};
    print_step(r, r->results[shown].trace.makespan, out);
    npu_report_print(out, &report);
}

static npu_status carry_out(run *r, FILE *report, FILE *warn, npu_error *err) {
    npu_out *outs[NPU_MAX_RANKS] = {NULL};
    int count = r->context.ranks.full;
    bool files_wanted = r->options->out != NULL;
    npu_status status = files_wanted ? begin_files(r, outs, err) : NPU_OK;
    if (!status)
        status = simulate(r, warn, err);
    for (int i = 0; i < count && files_wanted && !status; i++) {
        one_rank rank = rank_of(r, i);
        status = write_files(&rank, outs[i], err);
    }
    for (int i = 0; i < count; i++) {
        if (outs[i] != NULL && !status)
            status = npu_out_commit(outs[i], err);
        else
            npu_out_discard(outs[i]);
    }
    if (!status && report != NULL)
        print_report(r, report);
    if (!status && files_wanted && !r->options->no_plot)
        status = draw(r, err);
    return status;
}

static npu_status make_room(run *r, npu_error *err) {
    size_t count = (size_t)r->context.ranks.full;
    r->results = calloc(count, sizeof *r->results);
    r->metrics = calloc(count, sizeof *r->metrics);
    r->fabric = calloc((size_t)r->context.ranks.fabric.link_count + 1, sizeof *r->fabric);
    return r->results != NULL && r->metrics != NULL && r->fabric != NULL ? NPU_OK
                                                                         : npu_fail_memory(err);
}

static void close_run(run *r) {
    for (int i = 0; i < r->context.ranks.full; i++) {
        if (r->metrics != NULL)
            npu_metrics_free(&r->metrics[i]);
        if (r->results != NULL)
            npu_sim_result_free(&r->results[i]);
    }
    free(r->metrics);
    free(r->fabric);
    free(r->results);
    npu_context_close(&r->context);
}

npu_status npusim_run(const npusim_run_options *options, FILE *report, FILE *warn,
                      double *makespan_ns, npu_error *err) {
    run r = {.options = options, .level = options->swimlane ? options->swimlane : 4};
    if (r.level < 1 || r.level > 4)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "the swimlane level is 1 to 4, not %d",
                        r.level);
    npu_status status = npu_context_open(&r.context, &options->input, err);
    npu_context_print_warnings(&r.context, 0, warn);
    if (!status)
        status = make_room(&r, err);
    if (!status)
        status = carry_out(&r, report, warn, err);
    if (!status && makespan_ns != NULL)
        *makespan_ns = r.results[slowest(&r)].trace.makespan;
    close_run(&r);
    return status;
}
