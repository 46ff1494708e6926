// SPDX-License-Identifier: Apache-2.0
#include "swimlane.h"

#include <assert.h>

#include "emit.h"
#include "index.h"

static long long ticks(const npu_trace *trace, double ns) {
    return npu_trace_ticks(trace, ns);
}

static json_t *core_list(const npu_trace *trace, bool types) {
    json_t *list = json_array();
    for (int core = 0; core < trace->core_count && list != NULL; core++) {
        const npu_core_info *info = &trace->cores[core];
        json_t *item =
            types ? json_string(npu_engine_type_names[info->type]) : json_integer(info->thread);
        if (json_array_append_new(list, item) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

static void emit_metadata(npu_emit *emit, const npu_trace *trace, int level) {
    npu_emit_list(emit, "  \"metadata\": {");
    emit->flags |= JSON_EMBED; // members, without the braces that stand on their own lines
    npu_emit_item(emit, "\n    ", json_pack("{s:I}", "clock_freq_hz", (json_int_t)trace->clock_hz));
    npu_emit_item(emit, "\n    ", json_pack("{s:i}", "num_cores", trace->core_count));
    npu_emit_item(emit, "\n    ", json_pack("{s:o}", "core_types", core_list(trace, true)));
    if (level >= 3)
        npu_emit_item(emit, "\n    ",
                      json_pack("{s:o}", "core_to_thread", core_list(trace, false)));
    emit->flags &= ~(size_t)JSON_EMBED;
    npu_emit_text(emit, "\n  },\n");
}

static void emit_rows(npu_emit *emit, const npu_trace *trace, const npu_groups *by_core,
                      int level) {
    npu_emit_list(emit, "  \"aicore_tasks\": [");
    for (int i = 0; i < trace->row_count; i++) {
        const npu_row *row = &trace->rows[by_core->items[i]];
        assert(row->receive <= row->start && row->start <= row->end);
        long long start = ticks(trace, row->start);
        npu_emit_line(emit, "\n    [%d, %s, %u, %lld, %lld, %lld]", row->core,
                      npu_u64(npu_trace_task_id(trace, row->task)).text, row->reg_task_id, start,
                      ticks(trace, row->end), start - ticks(trace, row->receive));
    }
    npu_emit_text(emit, emit->more ? "\n  ],\n" : "],\n");
    npu_emit_list(emit, "  \"aicpu_tasks\": [");
    for (int i = 0; i < trace->row_count && level >= 2; i++) {
        const npu_row *row = &trace->rows[by_core->items[i]];
        npu_emit_line(emit, "\n    [%d, %u, %lld, %lld]", row->core, row->reg_task_id,
                      ticks(trace, row->dispatch), ticks(trace, row->finish));
    }
    npu_emit_text(emit, emit->more ? "\n  ]" : "]");
}

static void emit_phase(npu_emit *emit, const npu_trace *trace, const npu_phase *phase) {
    const int *from = phase->depth_start;
    const int *to = phase->depth_end;
    char extra[96] = ""; // what only this kind has
    if (phase->kind == NPU_PHASE_DISPATCH)
        snprintf(extra, sizeof extra, ", \"pop_hit\": %lld, \"pop_miss\": %lld",
                 (long long)phase->pop_hit, (long long)phase->pop_miss);
    else if (phase->kind == NPU_PHASE_DUMMY_TASK)
        snprintf(extra, sizeof extra, ", \"task_id\": %s",
                 npu_u64(npu_trace_task_id(trace, phase->task)).text);
    npu_emit_line(emit,
                  "\n      {\"kind\": \"%s\", \"start_cycles\": %lld, \"end_cycles\": %lld, "
                  "\"loop_iter\": %lld, \"tasks_processed\": %lld%s, "
                  "\"shared_at_start\": [%d, %d, %d], \"shared_at_end\": [%d, %d, %d]}",
                  npu_phase_names[phase->kind], ticks(trace, phase->start),
                  ticks(trace, phase->end), (long long)phase->loop_iter,
                  (long long)phase->processed, extra, from[0], from[1], from[2], to[0], to[1],
                  to[2]);
}

// A list for each scheduler; those behind the last that did something say nothing.
static void emit_phases(npu_emit *emit, const npu_trace *trace) {
    npu_emit_text(emit, ",\n  \"aicpu_scheduler_phases\": [");
    int i = 0, used = 1;
    for (int n = 0; n < trace->phase_count; n++)
        if (npu_phase_recorded(trace, &trace->phases[n]) && trace->phases[n].thread >= used)
            used = trace->phases[n].thread + 1;
    for (int thread = 0; thread < trace->scheduler_count; thread++) {
        if (thread >= used) { // what is left is too short to be recorded
            i = trace->phase_count;
            break;
        }
        npu_emit_list(emit, thread > 0 ? ",\n    [" : "\n    [");
        for (; i < trace->phase_count && trace->phases[i].thread <= thread; i++)
            if (npu_phase_recorded(trace, &trace->phases[i]))
                emit_phase(emit, trace, &trace->phases[i]);
        npu_emit_text(emit, emit->more ? "\n    ]" : "]");
    }
    assert(i == trace->phase_count && "a phase belongs to no scheduler");
    npu_emit_text(emit, "\n  ]");
}

static void emit_submits(npu_emit *emit, const npu_trace *trace) {
    npu_emit_list(emit, ",\n  \"aicpu_orchestrator_phases\": [\n    [");
    int allocations = 0;
    for (int i = 0; i < trace->submit_count; i++) {
        const npu_submit *submit = &trace->submits[i];
        uint64_t id = submit->task >= 0 ? npu_trace_task_id(trace, submit->task)
                                        : npu_alloc_id(allocations++);
        npu_emit_line(emit,
                      "\n      {\"submit_idx\": %d, \"task_id\": %s, \"start_cycles\": %lld, "
                      "\"end_cycles\": %lld}",
                      i, npu_u64(id).text, ticks(trace, submit->start), ticks(trace, submit->end));
    }
    npu_emit_text(emit, emit->more ? "\n    ]\n  ]" : "]\n  ]");
}

npu_status npu_swimlane_write(FILE *out, const npu_trace *trace, int level, npu_error *err) {
    assert(level >= 1 && level <= 4);
    npu_groups by_core = {0};
    npu_status status = npu_rows_by_core(trace, &by_core, err);
    if (status == NPU_OK) {
        npu_emit emit = {.out = out, .err = err};
        emit.flags = JSON_EMBED;
        npu_emit_text(&emit, "{");
        npu_emit_item(&emit, "\n  ", json_pack("{s:i}", "chip_swimlane_level", level));
        npu_emit_text(&emit, ",\n");
        emit.flags = 0;
        emit_metadata(&emit, trace, level);
        emit_rows(&emit, trace, &by_core, level);
        if (level >= 3)
            emit_phases(&emit, trace);
        if (level >= 4)
            emit_submits(&emit, trace);
        npu_emit_text(&emit, "\n}\n");
        status = npu_emit_done(&emit);
    }
    npu_groups_free(&by_core);
    return status;
}
