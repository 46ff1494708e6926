// SPDX-License-Identifier: Apache-2.0
// The peaks of a die, measured in simulation: what the numbers in a die file promise must
// come out of the model that uses them.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "child.h"
#include "context.h"
#include "simulate.h"

typedef enum figure { READ_RATE, FLOPS, BLOCK_RATE } figure;

typedef struct probe {
    const char *name;
    const char *graph; // in configs/selftest
    const char *sets[5];
    figure what;
    double (*peak)(const npu_die *die);
    double tolerance; // the share of the peak that may be missing
    bool whole_die;   // one block per core: `blocks` is set to their number
    bool aiv;
} probe;

static double port_peak(const npu_die *die, const npu_core_port *port, double latency) {
    return fmin(port->read * die->clock, port->outstanding * die->l2.line / latency);
}

// On a die with few cores their ports together are less than HBM.
static double aiv_hbm_peak(const npu_die *die) {
    return fmin(npu_die_hbm_rate(die),
                2 * die->clusters * port_peak(die, &die->aiv, die->l2.miss_latency));
}

static double aic_hbm_peak(const npu_die *die) {
    return fmin(npu_die_hbm_rate(die),
                die->clusters * port_peak(die, &die->aic, die->l2.miss_latency));
}

static double aiv_l2_peak(const npu_die *die) {
    return fmin(die->l2.read, 2 * die->clusters * port_peak(die, &die->aiv, die->l2.hit_latency));
}

static double aic_l2_peak(const npu_die *die) {
    return fmin(die->l2.read, die->clusters * port_peak(die, &die->aic, die->l2.hit_latency));
}

static double aiv_hit_peak(const npu_die *die) {
    return port_peak(die, &die->aiv, die->l2.hit_latency);
}

static double aic_hit_peak(const npu_die *die) {
    return port_peak(die, &die->aic, die->l2.hit_latency);
}

static double aiv_miss_peak(const npu_die *die) {
    return port_peak(die, &die->aiv, die->l2.miss_latency);
}

static double aic_miss_peak(const npu_die *die) {
    return port_peak(die, &die->aic, die->l2.miss_latency);
}

static double int8_peak(const npu_die *die) {
    return npu_die_tflops(die, NPU_INT8);
}

static double fp16_peak(const npu_die *die) {
    return npu_die_tflops(die, NPU_FP16);
}

static double fp32_peak(const npu_die *die) {
    return npu_die_tflops(die, NPU_FP32);
}

// Per block a scheduler builds a payload, writes it, and later reads the status at least once and
// books the end.
static double dispatch_peak(const npu_die *die) {
    double each = die->aicpu.payload + die->aicpu.write + die->aicpu.poll + die->aicpu.retire;
    return die->aicpu.schedulers * 1000.0 / each; // per us
}

static const probe probes[] = {
    {"HBM, all AIV", "stream", {"aiv=1"}, READ_RATE, aiv_hbm_peak, 0.05, true, true},
    {"HBM, all AIC", "stream", {"aiv=0"}, READ_RATE, aic_hbm_peak, 0.05, true, false},
    {"L2, all AIV",
     "stream",
     {"aiv=1", "warm=1", "tiles=48", "passes=8"},
     READ_RATE,
     aiv_l2_peak,
     0.05,
     true,
     true},
    {"L2, all AIC",
     "stream",
     {"aiv=0", "warm=1", "tiles=48", "passes=8"},
     READ_RATE,
     aic_l2_peak,
     0.05,
     true,
     false},
    {"port of one AIV, L2 hits",
     "stream",
     {"aiv=1", "warm=1", "blocks=1"},
     READ_RATE,
     aiv_hit_peak,
     0.05,
     false,
     true},
    {"port of one AIC, L2 hits",
     "stream",
     {"aiv=0", "warm=1", "blocks=1"},
     READ_RATE,
     aic_hit_peak,
     0.05,
     false,
     false},
    {"port of one AIV, HBM",
     "stream",
     {"aiv=1", "blocks=1"},
     READ_RATE,
     aiv_miss_peak,
     0.05,
     false,
     true},
    {"port of one AIC, HBM",
     "stream",
     {"aiv=0", "blocks=1"},
     READ_RATE,
     aic_miss_peak,
     0.05,
     false,
     false},
    {"cube int8", "multiply", {"bytes=1"}, FLOPS, int8_peak, 0.05, true, false},
    {"cube fp16", "multiply", {"bytes=2"}, FLOPS, fp16_peak, 0.05, true, false},
    {"cube fp32", "multiply", {"bytes=4"}, FLOPS, fp32_peak, 0.05, true, false},
    {"dispatch of blocks", "dispatch", {NULL}, BLOCK_RATE, dispatch_peak, 0.5, false, true},
};

// Between the first start and the last end: what the kernels did, without the dispatch
// before and after.
static double kernel_time(const npu_trace *trace) {
    double first = INFINITY, last = 0;
    for (int i = 0; i < trace->row_count; i++) {
        first = fmin(first, trace->rows[i].start);
        last = fmax(last, trace->rows[i].end);
    }
    return last - first;
}

static double measured(const probe *p, const npu_trace *trace) {
    double bytes = 0;
    for (int c = 0; c < NPU_CLASS_COUNT; c++)
        bytes += (double)trace->totals.load_bytes[c];
    if (p->what == READ_RATE)
        return bytes / kernel_time(trace);
    if (p->what == FLOPS)
        return 2.0 * (double)trace->totals.mac_padded / kernel_time(trace) / 1000.0;
    return 1000.0 * trace->row_count / trace->makespan;
}

static const char *unit_of(figure what) {
    static const char *const units[] = {"GB/s", "TFLOPS", "blocks/us"};
    return units[what];
}

typedef struct job {
    const npusim_input *base;
    const probe *p;
    const npu_die *die;
} job;

static npu_status run_probe(const void *arg, void *rate, npu_error *err) {
    const job *j = arg;
    const npusim_input *base = j->base;
    const probe *p = j->p;
    char path[NPU_CONFIG_PATH + 64], blocks[32];
    const char *sets[6];
    npusim_input input = *base;
    snprintf(path, sizeof path, "%s/selftest/%s.yaml", base->config, p->graph);
    for (; input.set_count < 5 && p->sets[input.set_count] != NULL; input.set_count++)
        sets[input.set_count] = p->sets[input.set_count];
    if (p->whole_die) {
        snprintf(blocks, sizeof blocks, "blocks=%d", (int)j->die->clusters * (p->aiv ? 2 : 1));
        sets[input.set_count++] = blocks;
    }
    input.graph = path;
    input.sets = sets;
    npu_context context;
    npu_sim_result result = {0};
    npu_status status = npu_context_open(&context, &input, err);
    npu_sim_options options = {.engine = context.engine};
    if (!status)
        status = npu_simulate_ranks(&context.ranks, &context.die, &options, &result, err);
    if (!status)
        *(double *)rate = measured(p, &result.trace);
    npu_sim_result_free(&result);
    npu_context_close(&context);
    return status;
}

static npu_status run_probes(const npusim_input *input, const npu_die *die, FILE *report,
                             npu_error *err) {
    int missed = 0;
    const int count = (int)(sizeof probes / sizeof *probes);
    fprintf(report, "die %s\n%-28s %12s %12s  %-10s %8s\n", die->name, "probe", "simulated", "peak",
            "unit", "share");
    for (int i = 0; i < count; i++) {
        const probe *p = &probes[i];
        double rate = 0, peak = p->peak(die);
        job j = {input, p, die};
        npu_status status = input->engine != NULL && strcmp(input->engine, "simgrid") == 0
                                ? npu_in_child(run_probe, &j, &rate, sizeof rate, err)
                                : run_probe(&j, &rate, err);
        if (status)
            return status;
        // More than the peak is as wrong as too little: some limit does not hold.
        bool ok = rate >= peak * (1 - p->tolerance) && rate <= peak * (1 + 1e-6);
        missed += !ok;
        fprintf(report, "%-28s %12.2f %12.2f  %-10s %7.1f%%  %s\n", p->name, rate, peak,
                unit_of(p->what), 100 * rate / peak, ok ? "ok" : "MISSED");
    }
    if (missed == 0)
        return NPU_OK;
    return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "%d of %d probes miss their peak on die %s",
                    missed, count, die->name);
}

npu_status npusim_selftest(const char *config, const char *die_name, const char *engine,
                           FILE *report, npu_error *err) {
    char folder[NPU_CONFIG_PATH], dies[NPU_CONFIG_PATH + 16];
    npusim_input input = {.die = die_name ? die_name : "A3", .engine = engine, .config = config};
    npu_engine_kind kind;
    npu_status status = npu_engine_choice(engine, &kind, err);
    if (!status && config == NULL) {
        status = npusim_config_folder(folder, sizeof folder, err);
        input.config = folder;
    }
    if (status)
        return status;
    npu_die die;
    snprintf(dies, sizeof dies, "%s/die", input.config);
    status = npu_die_load(dies, input.die, &die, err);
    if (!status)
        status = run_probes(&input, &die, report, err);
    npu_die_free(&die);
    return status;
}
