// SPDX-License-Identifier: Apache-2.0
// The simulator's own speed: from the graph file to the filled trace, once per process so
// that peak memory belongs to one run.
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
    npu_sim_result result = {0};
    double begin = now();
    npu_status status = npu_context_open(&context, input, err);
    double loaded = now();
    npu_sim_options options = {context.engine, input->l2_warm};
    if (!status)
        status = npu_simulate(&context.graph, &context.die, &options, &result, err);
    double end = now();
    if (!status) {
        bool first = f->ops == 0;
        f->load = first || loaded - begin < f->load ? loaded - begin : f->load;
        f->simulate = first || end - loaded < f->simulate ? end - loaded : f->simulate;
        f->ops = result.trace.totals.ops;
        f->events = result.events;
        f->makespan = result.trace.makespan;
    }
    npu_sim_result_free(&result);
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

npu_status npusim_bench(const npusim_bench_options *options, FILE *report, npu_error *err) {
    static const char *const built_in[] = {"swa_attention", "gemm", "gemm_large"};
    static const char *const large[] = {"M=3072", "N=8192", "K=8192", "gm=24"};
    char folder[NPU_CONFIG_PATH], path[NPU_CONFIG_PATH + 64];
    npusim_input input = options->input;
    npu_status status = NPU_OK;
    if (input.config == NULL) {
        status = npusim_config_folder(folder, sizeof folder, err);
        input.config = folder;
    }
    fprintf(report, "%-16s %-8s %9s %9s %10s %10s %10s %8s %12s\n", "graph", "engine", "load ms",
            "sim ms", "tile ops", "Mops/s", "Mevents/s", "MB", "makespan us");
    int count = options->input.graph != NULL ? 1 : 3;
    for (int i = 0; i < count && !status; i++) {
        const char *name = options->input.graph ? options->input.graph : built_in[i];
        const char *slash = strrchr(name, '/');
        if (options->input.graph == NULL) {
            snprintf(path, sizeof path, "%s/models/%s.yaml", input.config,
                     i == 2 ? "gemm" : built_in[i]);
            input.graph = path;
            input.sets = i == 2 ? large : NULL;
            input.set_count = i == 2 ? 4 : 0;
        }
        for (int e = 0; e < 2 && !status; e++)
            if (options->input.engine == NULL ||
                strcmp(options->input.engine, npu_engine_names[e]) == 0)
                status =
                    bench_graph(input, slash ? slash + 1 : name, npu_engine_names[e], report, err);
    }
    return status;
}
