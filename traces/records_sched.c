// SPDX-License-Identifier: Apache-2.0
// The schedulers' records: lists of objects in G1, streams that say who wrote them since G2.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "records_impl.h"

enum { HAS_KIND = 8, HAS_START = 16, HAS_END = 32, HAS_ALL = HAS_KIND | HAS_START | HAS_END };

// ---- one record ----------------------------------------------------------------------------

static npu_status read_depths(npu_records_reader *r, const char *what, int64_t depths[3]) {
    npu_status status = npu_json_enter(r->j, NPU_JSON_LIST, what);
    bool more = true;
    int count = 0;
    while (status == NPU_OK && (status = npu_json_more(r->j, &more)) == NPU_OK && more) {
        int64_t depth;
        status = npu_json_i64(r->j, what, INT64_MIN, INT64_MAX, &depth);
        if (status == NPU_OK && count < 3)
            depths[count] = depth;
        count++;
    }
    if (status == NPU_OK && count != 3)
        status = npu_json_refuse(r->j, "%s must hold three numbers, not %d", what, count);
    return status;
}

static npu_status read_kind(npu_records_reader *r, npu_record *record) {
    const char *name;
    npu_status status = npu_json_string(r->j, "the kind of a record", &name);
    if (status != NPU_OK)
        return status;
    if (strcmp(name, "fanout") == 0) // older names
        name = npu_phase_names[NPU_PHASE_RESOLVE];
    else if (strcmp(name, "prestage") == 0)
        name = npu_phase_names[NPU_PHASE_EARLY_DISPATCH];
    return npu_capture_kind(r->c, name, &record->kind, r->err);
}

static npu_status read_task(npu_records_reader *r, npu_record *record) {
    npu_json_kind kind;
    npu_status status = npu_json_peek(r->j, &kind);
    if (status != NPU_OK)
        return status;
    if (kind == NPU_JSON_NULL)
        return npu_json_skip(r->j);
    record->has |= NPU_RECORD_TASK;
    return npu_json_u64(r->j, "task_id", &record->task);
}

// A member that has no field: behind those before.
static npu_status keep_extra(npu_records_reader *r, const char *key, npu_record *record) {
    npu_arena *arena = &r->c->arena;
    const char *quoted = npu_json_quoted(arena, key);
    const char *raw = NULL;
    if (quoted == NULL)
        return npu_json_no_memory(r->j);
    npu_status status = npu_json_raw(r->j, arena, &raw);
    if (status != NPU_OK)
        return status;
    const char *before = record->extra;
    const char *both = npu_arena_printf(arena, "%s%s%s: %s", before != NULL ? before : "",
                                        before != NULL ? ", " : "", quoted, raw);
    if (both == NULL)
        return npu_json_no_memory(r->j);
    if (strlen(both) > NPU_MOST_EXTRA)
        return npu_json_refuse(r->j, "a record holds more than is kept of one");
    record->extra = both;
    return NPU_OK;
}

static npu_status read_number(npu_records_reader *r, const char *what, int64_t *value) {
    return npu_json_i64(r->j, what, INT64_MIN, INT64_MAX, value);
}

static npu_status read_stamp(npu_records_reader *r, const char *what, int64_t *value) {
    return npu_json_i64(r->j, what, 0, NPU_MOST_TICKS, value);
}

static npu_status read_record_member(npu_records_reader *r, const char *key, npu_record *record) {
    static const struct {
        const char *key;
        npu_status (*read)(npu_records_reader *r, const char *what, int64_t *value);
        size_t at;
        unsigned flag;
    } numbers[] = {
        {"start_cycles", read_stamp, offsetof(npu_record, start), HAS_START},
        {"end_cycles", read_stamp, offsetof(npu_record, end), HAS_END},
        {"loop_iter", read_number, offsetof(npu_record, loop_iter), 0},
        {"tasks_processed", read_number, offsetof(npu_record, processed), 0},
        {"pop_hit", read_number, offsetof(npu_record, pop_hit), NPU_RECORD_POPS},
        {"pop_miss", read_number, offsetof(npu_record, pop_miss), NPU_RECORD_POPS},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strcmp(key, numbers[i].key) != 0)
            continue;
        record->has |= numbers[i].flag;
        return numbers[i].read(r, numbers[i].key,
                               (int64_t *)(void *)((char *)record + numbers[i].at));
    }
    bool depth_start = strcmp(key, "shared_at_start") == 0;
    if (depth_start || strcmp(key, "shared_at_end") == 0) {
        record->has |= NPU_RECORD_DEPTHS;
        return read_depths(r, depth_start ? "shared_at_start" : "shared_at_end",
                           depth_start ? record->depth_start : record->depth_end);
    }
    if (strcmp(key, "kind") == 0) {
        record->has |= HAS_KIND;
        return read_kind(r, record);
    }
    if (strcmp(key, "task_id") == 0)
        return read_task(r, record);
    if (strcmp(key, "run_epoch") == 0) {
        int64_t epoch = 0;
        npu_status status = npu_json_i64(r->j, "run_epoch", 0, UINT32_MAX, &epoch);
        record->epoch = (uint32_t)epoch;
        return status;
    }
    return keep_extra(r, key, record);
}

static npu_status add_record(npu_records_reader *r, npu_record record) {
    if ((record.has & HAS_ALL) != HAS_ALL)
        return npu_json_refuse(r->j,
                               "a scheduler's record needs kind, start_cycles and end_cycles");
    record.has &= ~(unsigned)HAS_ALL;
    npu_status status = NPU_GROW(r->c, records, record_count, record_capacity, r->err);
    if (status != NPU_OK)
        return status;
    // Often a member is the same in all records: one copy will do.
    if (record.extra != NULL && r->last_extra != NULL && strcmp(record.extra, r->last_extra) == 0)
        record.extra = r->last_extra;
    r->last_extra = record.extra;
    r->c->records[r->c->record_count++] = record;
    return NPU_OK;
}

static npu_status read_record(npu_records_reader *r, bool legacy) {
    static const char *const no_work[] = {"scan", "poll", "idle"};
    npu_record record = {0};
    const char *key;
    npu_status status = npu_json_enter(r->j, NPU_JSON_MAP, "a scheduler's record");
    while (status == NPU_OK && (status = npu_json_key(r->j, &key)) == NPU_OK && key != NULL)
        status = read_record_member(r, key, &record);
    for (size_t i = 0; i < 3 && status == NPU_OK && legacy; i++) {
        if ((record.has & HAS_KIND) && strcmp(r->c->kinds[record.kind], no_work[i]) == 0) {
            r->c->legacy_records++;
            return NPU_OK;
        }
    }
    return status == NPU_OK ? add_record(r, record) : status;
}

#define NOT_SAID INT64_MIN

// Gives the records from `first` on to a stream.
static void close_stream(npu_records_reader *r, int id, int first) {
    npu_record_stream *stream = &r->c->streams[id];
    stream->first = first;
    stream->count = r->c->record_count - first;
    for (int i = first; i < r->c->record_count; i++)
        r->c->records[i].stream = id;
}

// ---- G1 ------------------------------------------------------------------------------------

npu_status npu_records_g1_phases(npu_records_reader *r) {
    npu_status status = npu_json_enter(r->j, NPU_JSON_LIST, "aicpu_scheduler_phases");
    bool more = true;
    if (r->has_records)
        return npu_json_refuse(r->j, "a second list of schedulers' records");
    r->has_records = true;
    for (int id = 0; status == NPU_OK; id++) {
        int first = r->c->record_count;
        status = npu_json_more(r->j, &more);
        if (status != NPU_OK || !more)
            break;
        if (id >= NPU_MOST_STREAMS)
            return npu_json_refuse(r->j, "there are more than %d schedulers", NPU_MOST_STREAMS);
        status = npu_json_enter(r->j, NPU_JSON_LIST, "an entry of aicpu_scheduler_phases");
        while (status == NPU_OK && (status = npu_json_more(r->j, &more)) == NPU_OK && more)
            status = read_record(r, true);
        if (status == NPU_OK && r->c->record_count > first) // empty ones behind are spare places
            status = npu_capture_streams(r->c, id + 1, r->err);
        if (status == NPU_OK && r->c->record_count > first)
            close_stream(r, id, first);
    }
    return status;
}

// ---- G2, G3 --------------------------------------------------------------------------------

typedef struct metric { // what stands beside a record
    int64_t index;
    npu_record record;
} metric;

typedef struct stream_reader {
    npu_records_reader *r;
    npu_record_stream stream;
    int id, first;
    metric *metrics;
    int metric_count, metric_capacity;
} stream_reader;

static npu_status read_metric(stream_reader *s) {
    npu_records_reader *r = s->r;
    metric item = {.index = -1};
    const char *key;
    npu_status status = npu_json_enter(r->j, NPU_JSON_MAP, "an entry of metrics");
    while (status == NPU_OK && (status = npu_json_key(r->j, &key)) == NPU_OK && key != NULL) {
        if (strcmp(key, "record_index") == 0)
            status = npu_json_i64(r->j, key, 0, INT32_MAX, &item.index);
        else
            status = read_record_member(r, key, &item.record);
    }
    if (status == NPU_OK && item.index < 0)
        status = npu_json_refuse(r->j, "an entry of metrics has no record_index");
    if (status == NPU_OK && (item.record.has & (unsigned)HAS_ALL) != 0)
        status = npu_json_refuse(r->j, "an entry of metrics has a kind or stamps of its own");
    if (status == NPU_OK)
        status = NPU_GROW(s, metrics, metric_count, metric_capacity, r->err);
    if (status == NPU_OK)
        s->metrics[s->metric_count++] = item;
    return status;
}

static npu_status merge_metric(stream_reader *s, const metric *item) {
    npu_records_reader *r = s->r;
    if (item->index >= r->c->record_count - s->first)
        return npu_json_refuse(r->j, "metrics name record %lld of %d", (long long)item->index,
                               r->c->record_count - s->first);
    npu_record *record = &r->c->records[s->first + item->index];
    const npu_record *more = &item->record;
    if (more->has & NPU_RECORD_POPS) {
        record->pop_hit = more->pop_hit;
        record->pop_miss = more->pop_miss;
    }
    if (more->has & NPU_RECORD_DEPTHS) {
        memcpy(record->depth_start, more->depth_start, sizeof record->depth_start);
        memcpy(record->depth_end, more->depth_end, sizeof record->depth_end);
    }
    record->has |= more->has;
    if (more->has & NPU_RECORD_TASK)
        record->task = more->task;
    if (more->extra != NULL && record->extra != NULL) {
        record->extra = npu_arena_printf(&r->c->arena, "%s, %s", record->extra, more->extra);
        if (record->extra == NULL)
            return npu_json_no_memory(r->j);
    } else if (more->extra != NULL) {
        record->extra = more->extra;
    }
    return NPU_OK;
}

// Whether records are missing, or how many.
static npu_status read_truncated(npu_records_reader *r, npu_record_stream *stream) {
    npu_json_kind kind;
    int64_t count = 0;
    npu_status status = npu_json_peek(r->j, &kind);
    if (status != NPU_OK || kind != NPU_JSON_INTEGER)
        return status == NPU_OK ? npu_json_bool(r->j, "truncated", &stream->truncated) : status;
    status = npu_json_i64(r->j, "truncated", 0, INT64_MAX, &count);
    stream->truncated = count > 0;
    return status;
}

static npu_status read_capture(npu_records_reader *r, npu_record_stream *stream) {
    const char *key;
    npu_status status = npu_json_enter(r->j, NPU_JSON_MAP, "the capture of a stream");
    while (status == NPU_OK && (status = npu_json_key(r->j, &key)) == NPU_OK && key != NULL) {
        if (strcmp(key, "committed") == 0)
            status = npu_json_i64(r->j, key, 0, INT64_MAX, &stream->committed);
        else if (strcmp(key, "dropped") == 0)
            status = npu_json_i64(r->j, key, 0, INT64_MAX, &stream->dropped);
        else if (strcmp(key, "truncated") == 0)
            status = read_truncated(r, stream);
        else
            status = npu_json_skip(r->j);
    }
    return status;
}

static npu_status read_stream_records(stream_reader *s) {
    bool more = true;
    npu_status status = npu_json_enter(s->r->j, NPU_JSON_LIST, "the records of a stream");
    while (status == NPU_OK && (status = npu_json_more(s->r->j, &more)) == NPU_OK && more)
        status = read_record(s->r, false);
    return status;
}

static npu_status read_metrics(stream_reader *s) {
    bool more = true;
    npu_status status = npu_json_enter(s->r->j, NPU_JSON_LIST, "the metrics of a stream");
    while (status == NPU_OK && (status = npu_json_more(s->r->j, &more)) == NPU_OK && more)
        status = read_metric(s);
    return status;
}

static npu_status read_physical(npu_records_reader *r, npu_record_stream *stream) {
    npu_json_kind kind;
    npu_status status = npu_json_peek(r->j, &kind);
    if (status != NPU_OK || kind == NPU_JSON_NULL)
        return status == NPU_OK ? npu_json_skip(r->j) : status;
    stream->has_physical = true;
    return read_number(r, "physical_core_id", &stream->physical_core_id);
}

static npu_status read_stream_member(stream_reader *s, const char *key) {
    npu_records_reader *r = s->r;
    if (strcmp(key, "scheduler_id") == 0)
        return npu_json_int(r->j, "scheduler_id", 0, NPU_MOST_STREAMS - 1, &s->id);
    if (strcmp(key, "platform") == 0)
        return npu_records_text(r, "platform", &s->stream.platform);
    if (strcmp(key, "producer") == 0)
        return npu_records_text(r, "producer", &s->stream.producer);
    if (strcmp(key, "core_type") == 0)
        return npu_records_text(r, "core_type", &s->stream.core_type);
    if (strcmp(key, "worker_id") == 0)
        return read_number(r, "worker_id", &s->stream.worker_id);
    if (strcmp(key, "physical_core_id") == 0)
        return read_physical(r, &s->stream);
    if (strcmp(key, "capture") == 0)
        return read_capture(r, &s->stream);
    if (strcmp(key, "records") == 0)
        return read_stream_records(s);
    if (strcmp(key, "metrics") == 0)
        return read_metrics(s);
    if (strcmp(key, "runtime") == 0) {
        r->has_runtime = true;
        return npu_records_text(r, "runtime", &r->c->runtime);
    }
    return npu_json_skip(r->j);
}

static npu_status keep_stream(stream_reader *s) {
    npu_records_reader *r = s->r;
    npu_status status = npu_capture_streams(r->c, s->id + 1, r->err);
    if (status != NPU_OK)
        return status;
    r->c->streams[s->id] = s->stream;
    r->c->streams[s->id].said = true;
    close_stream(r, s->id, s->first);
    return NPU_OK;
}

// One stream, of a file or of G1's metadata; the latter has no records.
static npu_status read_stream(npu_records_reader *r) {
    stream_reader s = {.r = r, .id = -1, .first = r->c->record_count};
    s.stream = npu_record_stream_usual(0, 0);
    s.stream.worker_id = s.stream.committed = NOT_SAID;
    const char *key;
    npu_status status = npu_json_enter(r->j, NPU_JSON_MAP, "a stream");
    while (status == NPU_OK && (status = npu_json_key(r->j, &key)) == NPU_OK && key != NULL)
        status = read_stream_member(&s, key);
    if (status == NPU_OK && s.id < 0)
        status = npu_json_refuse(r->j, "a stream has no scheduler_id");
    if (status == NPU_OK && s.id < r->c->stream_count &&
        (r->c->streams[s.id].said || r->c->streams[s.id].count > 0))
        status = npu_json_refuse(r->j, "scheduler %d has two streams", s.id);
    for (int i = 0; i < s.metric_count && status == NPU_OK; i++)
        status = merge_metric(&s, &s.metrics[i]);
    free(s.metrics);
    return status == NPU_OK ? keep_stream(&s) : status;
}

static npu_status read_streams(npu_records_reader *r, const char *what) {
    bool more = true;
    npu_status status = npu_json_enter(r->j, NPU_JSON_LIST, what);
    while (status == NPU_OK && (status = npu_json_more(r->j, &more)) == NPU_OK && more)
        status = read_stream(r);
    return status;
}

npu_status npu_records_streams(npu_records_reader *r) {
    const char *key;
    r->has_records = true;
    npu_status status = npu_json_enter(r->j, NPU_JSON_MAP, "scheduler_records");
    while (status == NPU_OK && (status = npu_json_key(r->j, &key)) == NPU_OK && key != NULL) {
        if (strcmp(key, "streams") == 0) {
            status = read_streams(r, "scheduler_records.streams");
        } else {
            r->has_schema = r->has_schema || strcmp(key, "schema_version") == 0;
            status = npu_json_skip(r->j);
        }
    }
    return status;
}

npu_status npu_records_said_streams(npu_records_reader *r) {
    return read_streams(r, "scheduler_streams");
}

static bool is_usual(const npu_record_stream *stream, const npu_record_stream *usual) {
    return strcmp(stream->platform, usual->platform) == 0 &&
           strcmp(stream->producer, usual->producer) == 0 &&
           strcmp(stream->core_type, usual->core_type) == 0 &&
           stream->worker_id == usual->worker_id && !stream->has_physical &&
           stream->committed == usual->committed && stream->dropped == 0 && !stream->truncated;
}

void npu_records_settle_streams(npu_capture *c) {
    for (int id = 0; id < c->stream_count; id++) {
        npu_record_stream *stream = &c->streams[id];
        npu_record_stream usual = npu_record_stream_usual(id, stream->count);
        usual.first = stream->first;
        if (stream->said && stream->worker_id == NOT_SAID)
            stream->worker_id = id;
        if (stream->said && stream->committed == NOT_SAID)
            stream->committed = stream->count;
        if (!stream->said || is_usual(stream, &usual))
            *stream = usual;
    }
    while (c->stream_count > 0 && !c->streams[c->stream_count - 1].said &&
           c->streams[c->stream_count - 1].count == 0)
        c->stream_count--;
}
