// SPDX-License-Identifier: Apache-2.0
#include "emit.h"
#include "replay_impl.h"

static const char *const cores[] = {"AIC", "AIV"};

static json_t *span_json(const npu_replay_span *span) {
    return json_pack("{s:f,s:f,s:f,s:f}", "mean_ns", span->mean, "p50_ns", span->p50, "p90_ns",
                     span->p90, "total_ns", span->total);
}

static json_t *kernel_json(const npu_replay_kernel *k) {
    double error = k->measured.mean > 0 ? k->modelled.mean / k->measured.mean - 1 : 0;
    return json_pack("{s:s,s:i,s:i,s:b,s:o,s:o,s:f,s:f,s:f}", "name", k->name, "tasks", k->tasks,
                     "rows", k->rows, "by_program", (int)k->by_program, "measured",
                     span_json(&k->measured), "modelled", span_json(&k->modelled), "error", error,
                     "share", k->share, "start_apart_ns", k->start_error);
}

static json_t *core_json(int core) {
    return core >= 0 ? json_integer(core) : json_null();
}

static json_t *parting_json(const npu_replay *r, const npu_parting *p) {
    if (p->task < 0)
        return json_null();
    return json_pack("{s:s,s:f,s:f,s:o,s:o}", "task", r->graph.tasks[p->task].name, "at_ns", p->at,
                     "apart_ns", p->apart, "measured_core", core_json(p->core), "modelled_core",
                     core_json(p->other_core));
}

static json_t *early_json(const int *tasks) {
    return json_pack("{s:i,s:i,s:i}", "full", tasks[NPU_EARLY_FULL], "partial",
                     tasks[NPU_EARLY_PARTIAL], "none", tasks[NPU_EARLY_NO]);
}

static json_t *idle_json(const npu_idle *idle) {
    return json_pack("{s:{s:f,s:f},s:{s:f,s:f}}", cores[0], "time_ns", idle[0].time, "core_time_ns",
                     idle[0].core_time, cores[1], "time_ns", idle[1].time, "core_time_ns",
                     idle[1].core_time);
}

// First start of a task, from the first dispatch.
static json_t *start_json(const npu_timed *run, int task) {
    const npu_groups *rows = &run->index.task;
    if (rows->first[task] == rows->first[task + 1])
        return json_null();
    return json_real(run->rows[rows->items[rows->first[task]]].start - run->first);
}

static json_t *task_json(const npu_replay *r, int t) {
    const npu_task *task = &r->graph.tasks[t];
    double tick = 1e9 / r->captured->clock_hz;
    return json_pack("{s:s,s:s?,s:o,s:o,s:s,s:s}", "task", task->name, "kernel",
                     task->func >= 0 ? task->kernel : NULL, "measured_start_ns",
                     start_json(&r->runs[0], t), "modelled_start_ns", start_json(&r->runs[1], t),
                     "measured_early", npu_early_proof_names[npu_early_of(&r->runs[0], t, tick)],
                     "modelled_early", npu_early_proof_names[npu_early_of(&r->runs[1], t, tick)]);
}

// A member of the file, behind others.
static void member(npu_emit *emit, const char *key, json_t *value) {
    npu_emit_text(emit, ",\n\"%s\": ", key);
    emit->more = false;
    npu_emit_item(emit, "", value);
}

static void lists(npu_emit *emit, const npu_replay *r) {
    npu_emit_list(emit, ",\n\"kernels\": [");
    for (int i = 0; i < r->kernel_count; i++)
        if (r->kernels[i].rows > 0)
            npu_emit_item(emit, "\n", kernel_json(&r->kernels[i]));
    npu_emit_list(emit, "],\n\"causes\": [");
    for (int c = 0; c < NPU_CAUSE_COUNT && r->waterfall.known; c++)
        npu_emit_item(emit, "\n",
                      json_pack("{s:s,s:f,s:f}", "cause", npu_replay_cause_names[c], "difference_ns",
                                r->waterfall.share[c], "makespan_ns", r->waterfall.after[c]));
    npu_emit_list(emit, "],\n\"task_list\": [");
    for (int t = 0; t < r->graph.task_count && emit->status == NPU_OK; t++)
        npu_emit_item(emit, "\n", task_json(r, t));
    npu_emit_text(emit, "]}\n");
}

npu_status npu_replay_json(FILE *out, const npu_replay *r, npu_error *err) {
    npu_emit emit = {.out = out, .flags = JSON_COMPACT | JSON_ENCODE_ANY, .err = err};
    npu_emit_list(&emit, "{\"capture\": ");
    npu_emit_item(&emit, "", json_string(r->about.capture));
    member(&emit, "die", json_string(r->about.die));
    member(&emit, "cost", json_string(r->about.cost_model ? "model" : "measured"));
    member(&emit, "order", json_string(r->about.order_measured ? "measured" : "model"));
    member(&emit, "recorder", json_boolean(r->about.recorded));
    member(&emit, "measured_ns", json_real(r->measured));
    member(&emit, "modelled_ns", json_real(r->modelled));
    member(&emit, "without_recorder_ns",
           r->about.recorded ? json_real(r->unrecorded) : json_null());
    member(&emit, "tasks", json_integer(r->tasks));
    member(&emit, "tasks_without_rows", json_integer(r->idle_tasks));
    member(&emit, "start_apart_ns",
           json_pack("{s:f,s:f}", "p50", r->start_median, "p90", r->start_p90));
    member(&emit, "parting",
           json_pack("{s:o,s:o}", "time", parting_json(r, &r->by_time), "place",
                     parting_json(r, &r->by_place)));
    member(&emit, "early",
           json_pack("{s:o,s:o}", "measured", early_json(r->early[0]), "modelled",
                     early_json(r->early[1])));
    member(&emit, "idle",
           json_pack("{s:o,s:o}", "measured", idle_json(r->idle[0]), "modelled",
                     idle_json(r->idle[1])));
    lists(&emit, r);
    return npu_emit_done(&emit);
}
