// SPDX-License-Identifier: Apache-2.0
// Records files of all generations. Keys stand in the order of the runtime's.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "records.h"

typedef struct writer {
    npu_emit emit;
    const npu_capture *c;
    npu_generation generation;
    uint32_t epoch; // of the whole file, before G3
} writer;

// ---- metadata ------------------------------------------------------------------------------

// `text` quoted; a text that cannot be quoted fails the whole file.
static void emit_quoted(writer *w, const char *lead, const char *text) {
    char *quoted = npu_emit_quote(&w->emit, text);
    npu_emit_text(&w->emit, "%s%s", lead, quoted != NULL ? quoted : "null");
    free(quoted);
}

static void emit_cores(writer *w, bool types) {
    npu_emit_text(&w->emit, types ? ",\n    \"core_types\": [" : ",\n    \"core_to_thread\": [");
    for (int core = 0; core < w->c->core_count; core++) {
        const char *comma = core > 0 ? ", " : "";
        if (types)
            npu_emit_text(&w->emit, "%s\"%s\"", comma,
                          npu_engine_type_names[w->c->cores[core].type]);
        else
            npu_emit_text(&w->emit, "%s%d", comma, w->c->cores[core].thread);
    }
    npu_emit_text(&w->emit, "]");
}

// Who wrote the records of a stream, as members of an object.
static void emit_origin(writer *w, int id) {
    const npu_record_stream *stream = &w->c->streams[id];
    emit_quoted(w, "\"platform\": ", stream->platform);
    if (w->generation == NPU_G2)
        emit_quoted(w, ", \"runtime\": ", w->c->runtime);
    emit_quoted(w, ", \"producer\": ", stream->producer);
    npu_emit_text(&w->emit, ", \"scheduler_id\": %d, \"worker_id\": %lld", id,
                  (long long)stream->worker_id);
    emit_quoted(w, ", \"core_type\": ", stream->core_type);
    if (stream->has_physical)
        npu_emit_text(&w->emit, ", \"physical_core_id\": %lld",
                      (long long)stream->physical_core_id);
    else
        npu_emit_text(&w->emit, ", \"physical_core_id\": null");
    npu_emit_text(&w->emit,
                  ", \"capture\": {\"committed\": %lld, \"dropped\": %lld, \"truncated\": %s}",
                  (long long)stream->committed, (long long)stream->dropped,
                  stream->truncated ? "true" : "false");
}

// What only later generations have a place for.
static void emit_later_metadata(writer *w) {
    const npu_capture *c = w->c;
    bool usual = strcmp(c->runtime, npu_capture_usual_runtime(c)) == 0;
    if (w->generation == NPU_G3 || !usual)
        emit_quoted(w, ",\n    \"runtime\": ", c->runtime);
    if (w->generation != NPU_G3 && w->epoch != 0)
        npu_emit_text(&w->emit, ",\n    \"run_epoch\": %u", w->epoch);
    if (w->generation != NPU_G1)
        return;
    bool more = false;
    for (int id = 0; id < c->stream_count; id++) {
        if (!c->streams[id].said)
            continue;
        npu_emit_text(&w->emit, more ? ",\n      {" : ",\n    \"scheduler_streams\": [\n      {");
        emit_origin(w, id);
        npu_emit_text(&w->emit, "}");
        more = true;
    }
    if (more)
        npu_emit_text(&w->emit, "\n    ]");
}

static void emit_metadata(writer *w) {
    const npu_capture *c = w->c;
    npu_emit_text(&w->emit,
                  "{\n  \"chip_swimlane_level\": %d,\n  \"metadata\": {\n    \"clock_freq_hz\": "
                  "%lld,\n    \"num_cores\": %d",
                  c->level, (long long)c->clock_hz, c->core_count);
    emit_cores(w, true);
    if (c->threaded)
        emit_cores(w, false);
    emit_later_metadata(w);
    for (int i = 0; i < c->metadata_count; i++)
        npu_emit_text(&w->emit, ",\n    %s: %s", c->metadata[i].key, c->metadata[i].raw);
    npu_emit_text(&w->emit, "\n  },\n");
}

// ---- rows ----------------------------------------------------------------------------------

static void emit_core_rows(writer *w) {
    bool epochs = w->generation == NPU_G3;
    npu_emit_list(&w->emit, "  \"aicore_tasks\": [");
    for (int i = 0; i < w->c->core_row_count; i++) {
        const npu_core_row *row = &w->c->core_rows[i];
        npu_emit_line(&w->emit, "\n    [%d, %s, %u, %lld, %lld, %lld", row->core,
                      npu_u64(row->task).text, row->reg_task_id, (long long)row->start,
                      (long long)row->end, (long long)row->setup);
        if (epochs)
            npu_emit_text(&w->emit, ", %u]", row->epoch);
        else
            npu_emit_text(&w->emit, "]");
    }
    npu_emit_text(&w->emit, w->emit.more ? "\n  ],\n" : "],\n");
}

static void emit_cpu_rows(writer *w) {
    static const char *const heads[] = {
        [NPU_G1] = "  \"aicpu_tasks\": [",
        [NPU_G2] = ("  \"scheduler_tasks\": {\"schema_version\": 1, \"producer\": \"aicpu\", "
                    "\"records\": ["),
        [NPU_G3] = "  \"scheduler_tasks\": {\"producer\": \"aicpu\", \"records\": [",
    };
    npu_emit_list(&w->emit, heads[w->generation]);
    for (int i = 0; i < w->c->cpu_row_count; i++) {
        const npu_cpu_row *row = &w->c->cpu_rows[i];
        npu_emit_line(&w->emit, "\n    [%d, %u, %lld, %lld", row->core, row->reg_task_id,
                      (long long)row->dispatch, (long long)row->finish);
        if (w->generation == NPU_G3)
            npu_emit_text(&w->emit, ", %u]", row->epoch);
        else
            npu_emit_text(&w->emit, "]");
    }
    npu_emit_text(&w->emit, w->emit.more ? "\n  ]" : "]");
    npu_emit_text(&w->emit, w->generation == NPU_G1 ? "" : "}");
}

// ---- schedulers ----------------------------------------------------------------------------

// What a G1 record has in itself and a later one beside it.
static void emit_metrics(writer *w, const npu_record *record) {
    const int64_t *from = record->depth_start;
    const int64_t *to = record->depth_end;
    if (record->has & NPU_RECORD_POPS)
        npu_emit_text(&w->emit, ", \"pop_hit\": %lld, \"pop_miss\": %lld",
                      (long long)record->pop_hit, (long long)record->pop_miss);
    if (w->generation == NPU_G1 && (record->has & NPU_RECORD_TASK))
        npu_emit_text(&w->emit, ", \"task_id\": %s", npu_u64(record->task).text);
    if (record->has & NPU_RECORD_DEPTHS)
        npu_emit_text(&w->emit,
                      ", \"shared_at_start\": [%lld, %lld, %lld], \"shared_at_end\": [%lld, %lld, "
                      "%lld]",
                      (long long)from[0], (long long)from[1], (long long)from[2], (long long)to[0],
                      (long long)to[1], (long long)to[2]);
    if (record->extra != NULL)
        npu_emit_text(&w->emit, ", %s", record->extra);
}

static void emit_g1_record(writer *w, const npu_record *record) {
    emit_quoted(w, w->emit.more ? ",\n      {\"kind\": " : "\n      {\"kind\": ",
                w->c->kinds[record->kind]);
    w->emit.more = true;
    npu_emit_text(&w->emit,
                  ", \"start_cycles\": %lld, \"end_cycles\": %lld, \"loop_iter\": %lld, "
                  "\"tasks_processed\": %lld",
                  (long long)record->start, (long long)record->end, (long long)record->loop_iter,
                  (long long)record->processed);
    emit_metrics(w, record);
    npu_emit_text(&w->emit, "}");
}

static void emit_phases(writer *w) {
    npu_emit_text(&w->emit, ",\n  \"aicpu_scheduler_phases\": [");
    for (int id = 0; id < w->c->stream_count; id++) {
        const npu_record_stream *stream = &w->c->streams[id];
        npu_emit_list(&w->emit, id > 0 ? ",\n    [" : "\n    [");
        for (int i = stream->first; i < stream->first + stream->count; i++)
            emit_g1_record(w, &w->c->records[i]);
        npu_emit_text(&w->emit, w->emit.more ? "\n    ]" : "]");
    }
    npu_emit_text(&w->emit, "\n  ]");
}

static void emit_record(writer *w, const npu_record *record) {
    npu_emit_line(&w->emit, "\n        {\"start_cycles\": %lld, \"end_cycles\": %lld",
                  (long long)record->start, (long long)record->end);
    if (w->generation == NPU_G3)
        npu_emit_text(&w->emit, ", \"run_epoch\": %u", record->epoch);
    npu_emit_text(&w->emit, ", \"loop_iter\": %lld", (long long)record->loop_iter);
    emit_quoted(w, ", \"kind\": ", w->c->kinds[record->kind]);
    npu_emit_text(&w->emit, ", \"tasks_processed\": %lld, \"task_id\": %s}",
                  (long long)record->processed,
                  record->has & NPU_RECORD_TASK ? npu_u64(record->task).text : "null");
}

static void emit_stream(writer *w, int id, bool more) {
    const npu_record_stream *stream = &w->c->streams[id];
    const unsigned beside = NPU_RECORD_POPS | NPU_RECORD_DEPTHS;
    npu_emit_text(&w->emit, more ? ",\n      {" : "\n      {");
    emit_origin(w, id);
    npu_emit_list(&w->emit, ",\n       \"records\": [");
    for (int i = stream->first; i < stream->first + stream->count; i++)
        emit_record(w, &w->c->records[i]);
    npu_emit_list(&w->emit, "],\n       \"metrics\": [");
    for (int i = stream->first; i < stream->first + stream->count; i++) {
        const npu_record *record = &w->c->records[i];
        if (!(record->has & beside) && record->extra == NULL)
            continue;
        npu_emit_line(&w->emit, "\n        {\"record_index\": %d", i - stream->first);
        emit_metrics(w, record);
        npu_emit_text(&w->emit, "}");
    }
    npu_emit_text(&w->emit, "]}");
}

static void emit_streams(writer *w) {
    bool more = false;
    npu_emit_text(&w->emit,
                  w->generation == NPU_G2
                      ? ",\n  \"scheduler_records\": {\"schema_version\": 1, \"streams\": ["
                      : ",\n  \"scheduler_records\": {\"streams\": [");
    for (int id = 0; id < w->c->stream_count; id++) {
        if (!w->c->streams[id].said && w->c->streams[id].count == 0)
            continue;
        emit_stream(w, id, more);
        more = true;
    }
    npu_emit_text(&w->emit, "\n    ]}");
}

// ---- the orchestrator ----------------------------------------------------------------------

static void emit_call(writer *w, const npu_call *call) {
    const char *unit = w->c->host_calls ? "host_ns" : "cycles";
    npu_emit_line(&w->emit,
                  "\n      {\"submit_idx\": %lld, \"task_id\": %s, \"start_%s\": %lld, "
                  "\"end_%s\": %lld",
                  (long long)call->submit_idx, npu_u64(call->task).text, unit,
                  (long long)call->start, unit, (long long)call->end);
    if (w->generation == NPU_G3)
        npu_emit_text(&w->emit, ", \"run_epoch\": %u}", call->epoch);
    else
        npu_emit_text(&w->emit, "}");
}

static void emit_calls(writer *w) {
    int lanes = w->c->call_count > 0 ? w->c->calls[w->c->call_count - 1].lane + 1 : 1;
    int i = 0;
    npu_emit_text(&w->emit, w->c->host_calls ? ",\n  \"host_orchestrator_phases\": ["
                                             : ",\n  \"aicpu_orchestrator_phases\": [");
    for (int lane = 0; lane < lanes; lane++) {
        npu_emit_list(&w->emit, lane > 0 ? ",\n    [" : "\n    [");
        for (; i < w->c->call_count && w->c->calls[i].lane == lane; i++)
            emit_call(w, &w->c->calls[i]);
        npu_emit_text(&w->emit, w->emit.more ? "\n    ]" : "]");
    }
    assert(i == w->c->call_count);
    npu_emit_text(&w->emit, "\n  ]");
}

static void emit_uploads(writer *w) {
    npu_emit_list(&w->emit, ",\n  \"host_device_uploads\": [");
    for (int i = 0; i < w->c->upload_count; i++) {
        const npu_upload *upload = &w->c->uploads[i];
        emit_quoted(w, w->emit.more ? ",\n    {\"phase\": " : "\n    {\"phase\": ", upload->phase);
        w->emit.more = true;
        npu_emit_text(&w->emit,
                      ", \"start_host_ns\": %lld, \"end_host_ns\": %lld, \"detail\": %lld}",
                      (long long)upload->start, (long long)upload->end, (long long)upload->bytes);
    }
    npu_emit_text(&w->emit, "\n  ]");
}

// ---- epochs --------------------------------------------------------------------------------

// The one epoch of the capture; false when there are several.
static bool one_epoch(const npu_capture *c, uint32_t *epoch) {
    uint32_t least = UINT32_MAX, most = 0;
#define NOTE(items, count)                                                                         \
    for (int i = 0; i < (count); i++) {                                                            \
        least = (items)[i].epoch < least ? (items)[i].epoch : least;                               \
        most = (items)[i].epoch > most ? (items)[i].epoch : most;                                  \
    }
    NOTE(c->core_rows, c->core_row_count)
    NOTE(c->cpu_rows, c->cpu_row_count)
    NOTE(c->records, c->record_count)
    NOTE(c->calls, c->call_count)
#undef NOTE
    *epoch = most;
    return least >= most; // also without any
}

npu_status npu_records_write(FILE *out, const npu_capture *capture, npu_generation generation,
                             npu_error *err) {
    writer w = {.c = capture, .generation = generation, .emit = {.out = out, .err = err}};
    assert(generation <= NPU_G3 && capture->level >= 1 && capture->level <= 4);
    if (!one_epoch(capture, &w.epoch) && generation != NPU_G3)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){.file = capture->path},
                        "holds several run epochs, which only g3 tells apart");
    emit_metadata(&w);
    emit_core_rows(&w);
    emit_cpu_rows(&w);
    if (capture->level >= 3 || capture->record_count > 0) {
        if (generation == NPU_G1)
            emit_phases(&w);
        else
            emit_streams(&w);
    }
    if (capture->level >= 4 || capture->call_count > 0)
        emit_calls(&w);
    if (capture->upload_count > 0)
        emit_uploads(&w);
    npu_emit_text(&w.emit, "\n}\n");
    return npu_emit_done(&w.emit);
}
