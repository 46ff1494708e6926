// SPDX-License-Identifier: Apache-2.0
// The simulator's own speed: from the graph file to the filled trace, once per process so
// that peak memory belongs to one run.
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "child.h"
#include "context.h"
#include "simulate.h"

typedef struct figures {
    double load, simulate; // s, the best of several
    int64_t ops, events;
    double makespan; // ns
    double memory;   // MB
} figures;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static npu_status once(const npusim_input *input, figures *f, npu_error *err) {
    npu_context context;
    npu_sim_result results[NPU_MAX_RANKS];
    memset(results, 0, sizeof results);
    double begin = now();
    npu_status status = npu_context_open(&context, input, err);
    double loaded = now();
    npu_sim_options options = {.engine = context.engine, .l2_warm = input->l2_warm};
    if (!status)
        status = npu_simulate_ranks(&context.ranks, &context.die, &options, results, err);
    double end = now();
    if (!status) {
        bool first = f->ops == 0;
        f->load = first || loaded - begin < f->load ? loaded - begin : f->load;
        f->simulate = first || end - loaded < f->simulate ? end - loaded : f->simulate;
        f->ops = 0;
        f->makespan = 0;
        f->events = results[0].events; // of all ranks
        for (int r = 0; r < context.ranks.full; r++) {
            f->ops += results[r].trace.totals.ops;
            f->makespan = fmax(f->makespan, results[r].trace.makespan);
        }
    }
    for (int r = 0; r < context.ranks.full; r++)
        npu_sim_result_free(&results[r]);
    npu_context_close(&context);
    return status;
}

static npu_status measure(const void *arg, void *out, npu_error *err) {
    const npusim_input *input = arg;
    figures *f = out;
    // SimGrid runs once per process; the other engine is measured at its best of five.
    int repeats = input->engine != NULL && strcmp(input->engine, "simgrid") == 0 ? 1 : 5;
    npu_status status = NPU_OK;
    for (int i = 0; i < repeats && !status; i++)
        status = once(input, f, err);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    f->memory = (double)usage.ru_maxrss * 1024 / 1e6;
    return status;
}

static npu_status bench_graph(npusim_input input, const char *name, const char *engine,
                              FILE *report, npu_error *err) {
    figures f = {0};
    input.engine = engine;
    npu_status status = npu_in_child(measure, &input, &f, sizeof f, err);
    if (status)
        return status;
    double total = f.load + f.simulate;
    fprintf(report, "%-16s %-8s %9.2f %9.2f %10lld %10.2f %10.2f %8.1f %12.2f\n", name, engine,
            f.load * 1e3, f.simulate * 1e3, (long long)f.ops, (double)f.ops / total / 1e6,
            (double)f.events / f.simulate / 1e6, f.memory, f.makespan / 1e3);
    return NPU_OK;
}

typedef struct built_in {
    const char *name, *file; // below models/
    const char *sets[4];
    int set_count;
} built_in;

static const built_in built_ins[] = {
    {"swa_attention", "deepseek_v4_flash/swa", {NULL}, 0},
    {"gemm", "gemm", {NULL}, 0},
    {"gemm_large", "gemm", {"M=3072", "N=8192", "K=8192", "gm=24"}, 4},
};

// On one engine, or on both.
static npu_status bench_engines(npusim_input input, const char *name, FILE *report,
                                npu_error *err) {
    const char *asked = input.engine;
    npu_status status = NPU_OK;
    for (int e = 0; e < 2 && !status; e++)
        if (asked == NULL || strcmp(asked, npu_engine_names[e]) == 0)
            status = bench_graph(input, name, npu_engine_names[e], report, err);
    return status;
}

static npu_status bench_built_ins(npusim_input input, FILE *report, npu_error *err) {
    char path[NPU_CONFIG_PATH + 64];
    npu_status status = NPU_OK;
    for (size_t i = 0; i < sizeof built_ins / sizeof *built_ins && !status; i++) {
        const built_in *b = &built_ins[i];
        snprintf(path, sizeof path, "%s/models/%s.yaml", input.config, b->file);
        input.graph = path;
        input.sets = b->sets;
        input.set_count = b->set_count;
        status = bench_engines(input, b->name, report, err);
    }
    return status;
}

npu_status npusim_bench(const npusim_bench_options *options, FILE *report, npu_error *err) {
    char folder[NPU_CONFIG_PATH];
    npusim_input input = options->input;
    npu_engine_kind kind;
    npu_status status = npu_engine_choice(input.engine, &kind, err);
    if (!status && input.graph == NULL && input.set_count > 0)
        status = npu_fail(err, NPU_BAD_INPUT, (npu_pos){0},
                          "the built-in graphs have their own parameters; name a graph to set "
                          "others");
    if (!status && input.config == NULL) {
        status = npusim_config_folder(folder, sizeof folder, err);
        input.config = folder;
    }
    if (status)
        return status;
    fprintf(report, "%-16s %-8s %9s %9s %10s %10s %10s %8s %12s\n", "graph", "engine", "load ms",
            "sim ms", "tile ops", "Mops/s", "Mevents/s", "MB", "makespan us");
    if (input.graph == NULL)
        return bench_built_ins(input, report, err);
    const char *slash = strrchr(input.graph, '/');
    return bench_engines(input, slash ? slash + 1 : input.graph, report, err);
}
