// SPDX-License-Identifier: Apache-2.0
// The top level of a records file, its rows and the calls of the orchestrator.
#include <assert.h>
#include <string.h>

#include "records_impl.h"

npu_status npu_records_text(npu_records_reader *r, const char *what, const char **text) {
    const char *read;
    npu_status status = npu_json_string(r->j, what, &read);
    *text = NULL;
    if (status == NPU_OK && (*text = npu_arena_text(&r->c->arena, read, strlen(read))) == NULL)
        status = npu_json_no_memory(r->j);
    return status;
}

// ---- rows ----------------------------------------------------------------------------------

enum { MOST_COLUMNS = 7 };

// The numbers of one row, as 64 bits; those behind the 7th are passed over.
static npu_status read_row(npu_records_reader *r, const char *what, int least, uint64_t *cells,
                           int *width) {
    npu_status status = npu_json_enter(r->j, NPU_JSON_LIST, what);
    npu_json_token t = {0};
    for (*width = 0; status == NPU_OK; ++*width) {
        status = npu_json_next(r->j, &t);
        if (status != NPU_OK || t.kind == NPU_JSON_LIST_END)
            break;
        if (t.kind != NPU_JSON_INTEGER)
            return npu_json_refuse(r->j, "%s: column %d is not a whole number of 64 bits", what,
                                   *width);
        if (*width < MOST_COLUMNS)
            cells[*width] = t.value;
    }
    if (status == NPU_OK && *width < least)
        status =
            npu_json_refuse(r->j, "%s has %d columns, at least %d are needed", what, *width, least);
    return status;
}

// Columns that a row of either stream has: the core, a stamp, the dispatch's number.
static bool is_core(const npu_records_reader *r, uint64_t cell) {
    return cell < NPU_MOST_CORES && (!r->has_metadata || cell < (uint64_t)r->c->core_count);
}

static npu_status check_row(npu_records_reader *r, const char *what, uint64_t core, uint64_t reg,
                            uint64_t from, uint64_t to) {
    if (!is_core(r, core))
        return npu_json_refuse(r->j, "%s is on core %llu, but there are %d cores", what,
                               (unsigned long long)core,
                               r->has_metadata ? r->c->core_count : NPU_MOST_CORES);
    if (reg > UINT32_MAX)
        return npu_json_refuse(r->j, "%s: reg_task_id has more than 32 bits", what);
    if (from > NPU_MOST_TICKS || to > NPU_MOST_TICKS)
        return npu_json_refuse(r->j, "%s: a stamp is negative or has more than 61 bits", what);
    return NPU_OK;
}

static npu_status read_epoch(npu_records_reader *r, const char *what, uint64_t cell,
                             uint32_t *epoch) {
    if (cell > UINT32_MAX)
        return npu_json_refuse(r->j, "%s: run_epoch has more than 32 bits", what);
    *epoch = (uint32_t)cell;
    return NPU_OK;
}

static npu_status read_core_row(npu_records_reader *r) {
    static const char what[] = "a row of aicore_tasks";
    uint64_t cells[MOST_COLUMNS] = {0};
    int width;
    uint32_t epoch = 0;
    npu_status status = read_row(r, what, 5, cells, &width);
    if (status == NPU_OK)
        status = check_row(r, what, cells[0], cells[2], cells[3], cells[4]);
    if (status == NPU_OK && width >= 7)
        status = read_epoch(r, what, cells[6], &epoch);
    int64_t setup = width >= 6 ? (int64_t)cells[5] : 0;
    if (status == NPU_OK && (setup > NPU_MOST_TICKS || setup < -NPU_MOST_TICKS))
        status = npu_json_refuse(r->j, "%s: setup has more than 61 bits", what);
    if (status == NPU_OK)
        status = NPU_GROW(r->c, core_rows, core_row_count, core_row_capacity, r->err);
    if (status != NPU_OK)
        return status;
    r->core_columns = width > r->core_columns ? width : r->core_columns;
    r->c->core_rows[r->c->core_row_count++] = (npu_core_row){.core = (int)cells[0],
                                                             .task = cells[1],
                                                             .reg_task_id = (uint32_t)cells[2],
                                                             .start = (int64_t)cells[3],
                                                             .end = (int64_t)cells[4],
                                                             .setup = setup,
                                                             .epoch = epoch,
                                                             .mate = -1};
    return NPU_OK;
}

static npu_status read_cpu_row(npu_records_reader *r) {
    static const char what[] = "a row of the AICPU's tasks";
    uint64_t cells[MOST_COLUMNS] = {0};
    int width;
    uint32_t epoch = 0;
    npu_status status = read_row(r, what, 4, cells, &width);
    if (status == NPU_OK)
        status = check_row(r, what, cells[0], cells[1], cells[2], cells[3]);
    if (status == NPU_OK && width >= 5 && r->has_scheduler_tasks)
        status = read_epoch(r, what, cells[4], &epoch);
    if (status == NPU_OK)
        status = NPU_GROW(r->c, cpu_rows, cpu_row_count, cpu_row_capacity, r->err);
    if (status != NPU_OK)
        return status;
    r->cpu_columns = width > r->cpu_columns ? width : r->cpu_columns;
    r->c->cpu_rows[r->c->cpu_row_count++] = (npu_cpu_row){.core = (int)cells[0],
                                                          .reg_task_id = (uint32_t)cells[1],
                                                          .dispatch = (int64_t)cells[2],
                                                          .finish = (int64_t)cells[3],
                                                          .epoch = epoch};
    return NPU_OK;
}

static npu_status read_list(npu_records_reader *r, const char *what,
                            npu_status (*item)(npu_records_reader *r)) {
    npu_status status = npu_json_enter(r->j, NPU_JSON_LIST, what);
    bool more = true;
    while (status == NPU_OK && (status = npu_json_more(r->j, &more)) == NPU_OK && more)
        status = item(r);
    return status;
}

static npu_status read_core_rows(npu_records_reader *r) {
    r->has_core_rows = true;
    return read_list(r, "aicore_tasks", read_core_row);
}

static npu_status read_cpu_rows(npu_records_reader *r) {
    return read_list(r, "aicpu_tasks", read_cpu_row);
}

static npu_status read_scheduler_tasks(npu_records_reader *r) {
    const char *key;
    r->has_scheduler_tasks = true;
    npu_status status = npu_json_enter(r->j, NPU_JSON_MAP, "scheduler_tasks");
    while (status == NPU_OK && (status = npu_json_key(r->j, &key)) == NPU_OK && key != NULL) {
        if (strcmp(key, "records") == 0) {
            status = read_list(r, "scheduler_tasks.records", read_cpu_row);
        } else {
            r->has_schema = r->has_schema || strcmp(key, "schema_version") == 0;
            status = npu_json_skip(r->j);
        }
    }
    return status;
}

// ---- the orchestrator ----------------------------------------------------------------------

static npu_status read_call_member(npu_records_reader *r, const char *key, npu_call *call,
                                   unsigned *seen) {
    if (strcmp(key, "start_cycles") == 0 || strcmp(key, "start_host_ns") == 0) {
        *seen |= 1;
        return npu_json_i64(r->j, "the start of a call", 0, NPU_MOST_TICKS, &call->start);
    }
    if (strcmp(key, "end_cycles") == 0 || strcmp(key, "end_host_ns") == 0) {
        *seen |= 2;
        return npu_json_i64(r->j, "the end of a call", 0, NPU_MOST_TICKS, &call->end);
    }
    if (strcmp(key, "task_id") == 0) {
        *seen |= 4;
        return npu_json_u64(r->j, "task_id", &call->task);
    }
    if (strcmp(key, "submit_idx") == 0)
        return npu_json_i64(r->j, "submit_idx", 0, INT64_MAX, &call->submit_idx);
    if (strcmp(key, "run_epoch") == 0) {
        int64_t epoch = 0;
        npu_status status = npu_json_i64(r->j, "run_epoch", 0, UINT32_MAX, &epoch);
        call->epoch = (uint32_t)epoch;
        return status;
    }
    return npu_json_skip(r->j);
}

static npu_status read_call(npu_records_reader *r, int lane) {
    npu_call call = {.lane = lane};
    unsigned seen = 0;
    const char *key;
    npu_status status = npu_json_enter(r->j, NPU_JSON_MAP, "a call of the orchestrator");
    while (status == NPU_OK && (status = npu_json_key(r->j, &key)) == NPU_OK && key != NULL)
        status = read_call_member(r, key, &call, &seen);
    if (status == NPU_OK && seen != 7)
        status = npu_json_refuse(r->j, "a call of the orchestrator needs a task_id, a start and "
                                       "an end");
    if (status == NPU_OK)
        status = NPU_GROW(r->c, calls, call_count, call_capacity, r->err);
    if (status == NPU_OK)
        r->c->calls[r->c->call_count++] = call;
    return status;
}

static npu_status read_lanes(npu_records_reader *r, const char *what, bool host) {
    npu_status status = npu_json_enter(r->j, NPU_JSON_LIST, what);
    bool more = true;
    for (int lane = 0; status == NPU_OK; lane++) {
        status = npu_json_more(r->j, &more);
        if (status != NPU_OK || !more)
            break;
        status = npu_json_enter(r->j, NPU_JSON_LIST, "a lane of the orchestrator");
        while (status == NPU_OK && (status = npu_json_more(r->j, &more)) == NPU_OK && more)
            status = read_call(r, lane);
    }
    r->c->host_calls = host;
    return status;
}

static npu_status read_calls(npu_records_reader *r) {
    r->has_calls = true;
    if (r->has_host_calls)
        return npu_json_refuse(r->j, "calls of an orchestrator on the host and on the AICPU");
    return read_lanes(r, "aicpu_orchestrator_phases", false);
}

static npu_status read_host_calls(npu_records_reader *r) {
    r->has_host_calls = true;
    if (r->has_calls)
        return npu_json_refuse(r->j, "calls of an orchestrator on the AICPU and on the host");
    return read_lanes(r, "host_orchestrator_phases", true);
}

static npu_status read_upload(npu_records_reader *r) {
    npu_upload upload = {.phase = ""};
    const char *key;
    npu_status status = npu_json_enter(r->j, NPU_JSON_MAP, "an upload");
    while (status == NPU_OK && (status = npu_json_key(r->j, &key)) == NPU_OK && key != NULL) {
        if (strcmp(key, "phase") == 0)
            status = npu_records_text(r, "the phase of an upload", &upload.phase);
        else if (strcmp(key, "start_host_ns") == 0)
            status = npu_json_i64(r->j, key, 0, NPU_MOST_TICKS, &upload.start);
        else if (strcmp(key, "end_host_ns") == 0)
            status = npu_json_i64(r->j, key, 0, NPU_MOST_TICKS, &upload.end);
        else if (strcmp(key, "detail") == 0)
            status = npu_json_i64(r->j, key, 0, INT64_MAX, &upload.bytes);
        else
            status = npu_json_skip(r->j);
    }
    if (status == NPU_OK)
        status = NPU_GROW(r->c, uploads, upload_count, upload_capacity, r->err);
    if (status == NPU_OK)
        r->c->uploads[r->c->upload_count++] = upload;
    return status;
}

static npu_status read_uploads(npu_records_reader *r) {
    return read_list(r, "host_device_uploads", read_upload);
}

// ---- the whole file ------------------------------------------------------------------------

static npu_status read_level(npu_records_reader *r) {
    r->has_level = true;
    return npu_json_int(r->j, "chip_swimlane_level", 1, 4, &r->c->level);
}

static const npu_records_member members[] = {
    {"chip_swimlane_level", read_level},
    {"l2_swimlane_level", read_level},
    {"metadata", npu_records_metadata},
    {"aicore_tasks", read_core_rows},
    {"aicpu_tasks", read_cpu_rows},
    {"scheduler_tasks", read_scheduler_tasks},
    {"aicpu_scheduler_phases", npu_records_g1_phases},
    {"scheduler_records", npu_records_streams},
    {"aicpu_orchestrator_phases", read_calls},
    {"host_orchestrator_phases", read_host_calls},
    {"host_device_uploads", read_uploads},
};

static npu_status read_member(npu_records_reader *r, const char *key) {
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (strcmp(key, members[i].key) == 0)
            return members[i].read(r);
    r->c->ignored_keys++;
    return npu_json_skip(r->j);
}

static npu_generation generation_of(const npu_records_reader *r) {
    if (!r->has_scheduler_tasks)
        return NPU_G1;
    if (r->c->cpu_row_count > 0)
        return r->cpu_columns >= 5 ? NPU_G3 : NPU_G2;
    if (r->c->core_row_count > 0)
        return r->core_columns >= 7 ? NPU_G3 : NPU_G2;
    return r->has_schema || !r->has_runtime ? NPU_G2 : NPU_G3;
}

// Before G3 the rows say nothing of an epoch.
static void set_epochs(npu_records_reader *r) {
    npu_capture *c = r->c;
    for (int i = 0; i < c->core_row_count; i++)
        c->core_rows[i].epoch = r->epoch;
    for (int i = 0; i < c->cpu_row_count; i++)
        c->cpu_rows[i].epoch = r->epoch;
    for (int i = 0; i < c->record_count; i++)
        c->records[i].epoch = r->epoch;
    for (int i = 0; i < c->call_count; i++)
        c->calls[i].epoch = r->epoch;
}

// Rows that stood before the metadata.
static npu_status check_cores(npu_records_reader *r) {
    const npu_capture *c = r->c;
    int most = -1;
    for (int i = 0; i < c->core_row_count; i++)
        most = c->core_rows[i].core > most ? c->core_rows[i].core : most;
    for (int i = 0; i < c->cpu_row_count; i++)
        most = c->cpu_rows[i].core > most ? c->cpu_rows[i].core : most;
    if (most >= c->core_count)
        return npu_json_refuse_file(r->j, "a row is on core %d, but there are %d cores", most,
                                    c->core_count);
    return NPU_OK;
}

static npu_status finish(npu_records_reader *r) {
    npu_capture *c = r->c;
    if (!r->has_metadata)
        return npu_json_refuse_file(r->j, "has no metadata object");
    if (!r->has_core_rows)
        return npu_json_refuse_file(r->j, "has no aicore_tasks");
    npu_status status = check_cores(r);
    if (!r->has_runtime)
        c->runtime = npu_capture_usual_runtime(c);
    c->generation = generation_of(r);
    npu_records_settle_streams(c);
    if (c->generation != NPU_G3)
        set_epochs(r);
    if (!r->has_level)
        c->level = r->has_calls || r->has_host_calls ? 4
                   : r->has_records                  ? 3
                   : c->cpu_row_count > 0            ? 2
                                                     : 1;
    return status == NPU_OK ? npu_capture_join(c, r->err) : status;
}

npu_status npu_records_read_json(npu_json *json, const char *path, npu_capture *capture,
                                 npu_error *err) {
    npu_records_reader r = {.j = json, .c = capture, .err = err};
    const char *key;
    npu_status status = npu_capture_begin(capture, path, err);
    if (status == NPU_OK)
        status = npu_json_enter(json, NPU_JSON_MAP, "the file");
    while (status == NPU_OK && (status = npu_json_key(json, &key)) == NPU_OK && key != NULL)
        status = read_member(&r, key);
    if (status == NPU_OK)
        status = npu_json_end(json);
    return status == NPU_OK ? finish(&r) : status;
}

npu_status npu_records_read(const char *path, npu_capture *capture, npu_error *err) {
    npu_json *json;
    *capture = (npu_capture){0};
    npu_status status = npu_json_open(path, NPU_JSON_ONE, &json, err);
    if (status == NPU_OK)
        status = npu_records_read_json(json, path, capture, err);
    npu_json_close(json);
    return status;
}
