// SPDX-License-Identifier: Apache-2.0
// The Perfetto file: both runs above each other.
#include <math.h>
#include <stdlib.h>

#include "emit.h"
#include "replay_impl.h"

enum { CORES = 1, AICPU = 2 }; // processes

static const char *const runs[] = {"measured", "modelled"};

typedef struct lanes {
    npu_emit emit;
    const npu_replay *replay;
    char **names;    // by function, quoted
    double first[2]; // ns that are 0 in the file
} lanes;

static const npu_trace *trace_of(const lanes *l, int run) {
    return run == 0 ? l->replay->captured : &l->replay->result.trace;
}

static npu_us_text us(const lanes *l, int run, double ns) {
    ns -= l->first[run];
    return npu_us(ns > 0 ? (int64_t)(ns + 0.5) : 0);
}

static npu_us_text length(double ns) {
    return npu_us(ns > 0 ? (int64_t)(ns + 0.5) : 0);
}

static void name_lane(lanes *l, int process, int lane, const char *name, int number, int run) {
    npu_emit_line(&l->emit,
                  "\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,"
                  "\"args\":{\"name\":\"%s %d %s\"}}",
                  process, lane, name, number, runs[run]);
    npu_emit_line(&l->emit,
                  "\n{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%d,\"tid\":%d,"
                  "\"args\":{\"sort_index\":%d}}",
                  process, lane, lane);
}

static void name_process(lanes *l, int process, const char *name) {
    npu_emit_line(
        &l->emit,
        "\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":\"%s\"}}", process,
        name);
}

static void name_lanes(lanes *l) {
    const npu_trace *trace = trace_of(l, 0);
    name_process(l, CORES, "Cores");
    name_process(l, AICPU, "AICPU");
    for (int run = 0; run < 2; run++) {
        for (int core = 0; core < trace->core_count; core++)
            name_lane(l, CORES, 2 * core + run, trace->cores[core].type == NPU_AIC ? "AIC" : "AIV",
                      core, run);
        name_lane(l, AICPU, run, "Orchestrator", 0, run);
        for (int thread = 0; thread < trace_of(l, run)->scheduler_count; thread++)
            name_lane(l, AICPU, 2 + 2 * thread + run, "Scheduler", thread, run);
    }
}

static void write_rows(lanes *l, int run) {
    const npu_trace *trace = trace_of(l, run);
    const npu_replay *r = l->replay;
    for (int i = 0; i < r->runs[run].count && l->emit.status == NPU_OK; i++) {
        const npu_timed_row *timed = &r->runs[run].rows[i];
        const npu_row *row = &trace->rows[timed->row];
        char apart[48] = "";
        if (timed->mate >= 0) {
            double ns = r->runs[!run].rows[timed->mate].start - r->runs[!run].first -
                        (timed->start - r->runs[run].first);
            snprintf(apart, sizeof apart, ",\"modelled-measured-us\":%.3f",
                     (run == 0 ? ns : -ns) / 1e3);
        }
        npu_emit_line(&l->emit,
                      "\n{\"ph\":\"X\",\"name\":%s,\"cat\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%s,"
                      "\"dur\":%s,\"args\":{\"task\":\"%s\",\"block\":%lld,\"dispatch-us\":%s,"
                      "\"finish-us\":%s%s}}",
                      l->names[r->graph.tasks[row->task].func], runs[run], CORES,
                      2 * row->core + run, us(l, run, row->start).text,
                      length(row->end - row->start).text, r->graph.tasks[row->task].name,
                      (long long)row->block, us(l, run, row->dispatch).text,
                      us(l, run, row->finish).text, apart);
    }
}

static void write_aicpu(lanes *l, int run) {
    const npu_trace *trace = trace_of(l, run);
    for (int i = 0; i < trace->submit_count && l->emit.status == NPU_OK; i++) {
        const npu_submit *s = &trace->submits[i];
        npu_emit_line(&l->emit,
                      "\n{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%d,\"tid\":%d,"
                      "\"ts\":%s,\"dur\":%s}",
                      s->task >= 0 ? l->replay->graph.tasks[s->task].name : "alloc", runs[run],
                      AICPU, run, us(l, run, s->start).text, length(s->end - s->start).text);
    }
    for (int i = 0; i < trace->phase_count && l->emit.status == NPU_OK; i++) {
        const npu_phase *p = &trace->phases[i];
        if (p->kind >= NPU_PHASE_RESOLVE) // inside another, or without width
            continue;
        char *name = npu_emit_quote(&l->emit, npu_phase_name(p));
        if (name != NULL)
            npu_emit_line(&l->emit,
                          "\n{\"ph\":\"X\",\"name\":%s,\"cat\":\"%s\",\"pid\":%d,\"tid\":%d,"
                          "\"ts\":%s,\"dur\":%s}",
                          name, runs[run], AICPU, 2 + 2 * p->thread + run,
                          us(l, run, p->start).text, length(p->end - p->start).text);
        free(name);
    }
}

// Both runs have their first dispatch at one time, behind all that comes before.
static void find_zero(lanes *l) {
    double lead = 0;
    for (int run = 0; run < 2; run++)
        l->first[run] = npu_replay_first(trace_of(l, run));
    for (int run = 0; run < 2; run++) {
        const npu_trace *trace = trace_of(l, run);
        for (int i = 0; i < trace->submit_count; i++)
            lead = fmax(lead, l->first[run] - trace->submits[i].start);
        for (int i = 0; i < trace->phase_count; i++)
            lead = fmax(lead, l->first[run] - trace->phases[i].start);
    }
    l->first[0] -= lead;
    l->first[1] -= lead;
}

npu_status npu_replay_perfetto(FILE *out, const npu_replay *replay, npu_error *err) {
    lanes l = {.emit = {.out = out, .err = err}, .replay = replay};
    int funcs = replay->graph.func_count;
    l.names = calloc((size_t)funcs + 1, sizeof *l.names);
    if (l.names == NULL)
        return npu_fail_memory(err);
    for (int f = 0; f < funcs; f++)
        l.names[f] = npu_emit_quote(&l.emit, replay->graph.funcs[f].name);
    find_zero(&l);
    npu_emit_list(&l.emit, "{\"traceEvents\": [");
    name_lanes(&l);
    for (int run = 0; run < 2; run++) {
        write_rows(&l, run);
        write_aicpu(&l, run);
    }
    npu_emit_text(&l.emit, "\n]}\n");
    for (int f = 0; f < funcs; f++)
        free(l.names[f]);
    free(l.names);
    return npu_emit_done(&l.emit);
}
