// SPDX-License-Identifier: Apache-2.0
#include "chrome.h"

#include <string.h>

enum { TIME_DECIMALS = 6 }; // of a us: ps

typedef struct event_reader {
    npu_json *j;
    npu_arena arena; // of one event
    npu_chrome_event event;
} event_reader;

// A text or a number, as text.
static npu_status read_text(event_reader *r, const char *what, const char **text) {
    npu_json_token t;
    npu_status status = npu_json_next(r->j, &t);
    if (status != NPU_OK)
        return status;
    if (t.kind != NPU_JSON_STRING && t.kind != NPU_JSON_INTEGER && t.kind != NPU_JSON_NUMBER)
        return npu_json_refuse(r->j, "%s must be a text or a number", what);
    if (strlen(t.text) != t.length)
        return npu_json_refuse(r->j, "%s holds a zero character", what);
    *text = npu_arena_text(&r->arena, t.text, t.length);
    return *text != NULL ? NPU_OK : npu_json_no_memory(r->j);
}

static npu_status read_number(event_reader *r, const char *what, int64_t *value) {
    return npu_json_i64(r->j, what, INT64_MIN, INT64_MAX, value);
}

static npu_status read_time(event_reader *r, const char *what, int64_t *ps) {
    npu_status status = npu_json_fixed(r->j, what, TIME_DECIMALS, ps);
    if (status == NPU_OK && (*ps > INT64_MAX / 4 || *ps < INT64_MIN / 4))
        status = npu_json_refuse(r->j, "%s is too large", what);
    return status;
}

static npu_status read_depths(event_reader *r, const char *what, int64_t depths[3]) {
    npu_status status = npu_json_enter(r->j, NPU_JSON_LIST, what);
    bool more = true;
    r->event.args.has_depths = true;
    for (int i = 0; status == NPU_OK; i++) {
        int64_t depth = 0;
        status = npu_json_more(r->j, &more);
        if (status != NPU_OK || !more)
            break;
        status = read_number(r, what, &depth);
        if (i < 3)
            depths[i] = depth;
    }
    return status;
}

static npu_status read_arg(event_reader *r, const char *key) {
    npu_chrome_args *args = &r->event.args;
    if (strcmp(key, "name") == 0)
        return read_text(r, "name", &args->name);
    if (strcmp(key, "phase") == 0)
        return read_text(r, "phase", &args->phase);
    if (strcmp(key, "event-hint") == 0)
        return read_text(r, "event-hint", &args->hint);
    if (strcmp(key, "taskId") == 0 || strcmp(key, "task_id") == 0) {
        args->has_task = true;
        return npu_json_u64(r->j, "a task's id", &args->task);
    }
    if (strcmp(key, "local_setup_us") == 0)
        return read_time(r, "local_setup_us", &args->setup);
    if (strcmp(key, "loop_iter") == 0)
        return read_number(r, "loop_iter", &args->loop_iter);
    if (strcmp(key, "tasks_processed") == 0)
        return read_number(r, "tasks_processed", &args->processed);
    if (strcmp(key, "submit_idx") == 0)
        return read_number(r, "submit_idx", &args->submit_idx);
    if (strncmp(key, "shared_at_start", 15) == 0)
        return read_depths(r, "shared_at_start", args->depth_start);
    if (strncmp(key, "shared_at_end", 13) == 0)
        return read_depths(r, "shared_at_end", args->depth_end);
    return npu_json_skip(r->j);
}

static npu_status read_args(event_reader *r) {
    npu_json_kind kind;
    const char *key;
    npu_status status = npu_json_peek(r->j, &kind);
    if (status != NPU_OK || kind != NPU_JSON_MAP)
        return status == NPU_OK ? npu_json_skip(r->j) : status;
    status = npu_json_enter(r->j, NPU_JSON_MAP, "args");
    while (status == NPU_OK && (status = npu_json_key(r->j, &key)) == NPU_OK && key != NULL)
        status = read_arg(r, key);
    return status;
}

static npu_status read_member(event_reader *r, const char *key) {
    npu_chrome_event *event = &r->event;
    if (strcmp(key, "ph") == 0) {
        const char *ph;
        npu_status status = npu_json_string(r->j, "ph", &ph);
        event->ph = ph[0];
        return status;
    }
    if (strcmp(key, "name") == 0)
        return read_text(r, "name", &event->name);
    if (strcmp(key, "cat") == 0)
        return read_text(r, "cat", &event->cat);
    if (strcmp(key, "pid") == 0)
        return read_text(r, "pid", &event->pid);
    if (strcmp(key, "tid") == 0)
        return read_text(r, "tid", &event->tid);
    if (strcmp(key, "id") == 0)
        return read_text(r, "id", &event->id);
    if (strcmp(key, "ts") == 0)
        return read_time(r, "ts", &event->ts);
    if (strcmp(key, "dur") == 0)
        return read_time(r, "dur", &event->dur);
    if (strcmp(key, "args") == 0)
        return read_args(r);
    if (strcmp(key, "bind_id") == 0) {
        event->has_bind = true;
        return read_number(r, "bind_id", &event->bind);
    }
    return npu_json_skip(r->j);
}

static npu_status read_events(event_reader *r, npu_chrome_take *take, void *user) {
    bool more = true;
    npu_status status = npu_json_enter(r->j, NPU_JSON_LIST, "traceEvents");
    while (status == NPU_OK && (status = npu_json_more(r->j, &more)) == NPU_OK && more) {
        const char *key;
        r->event = (npu_chrome_event){.name = "", .cat = "", .pid = "", .tid = "", .id = ""};
        r->event.args = (npu_chrome_args){.name = "", .phase = "", .hint = ""};
        status = npu_json_enter(r->j, NPU_JSON_MAP, "an event");
        while (status == NPU_OK && (status = npu_json_key(r->j, &key)) == NPU_OK && key != NULL)
            status = read_member(r, key);
        if (status == NPU_OK)
            status = take(user, r->j, &r->event);
        npu_arena_free(&r->arena);
        r->arena = (npu_arena){0};
    }
    return status;
}

// Events stand in an object's traceEvents, or the file is their list.
npu_status npu_chrome_read(npu_json *json, npu_chrome_take *take, void *user) {
    event_reader r = {.j = json};
    npu_json_kind kind;
    const char *key;
    bool found = false;
    npu_status status = npu_json_peek(json, &kind);
    if (status == NPU_OK && kind == NPU_JSON_LIST) {
        status = read_events(&r, take, user);
        return status == NPU_OK ? npu_json_end(json) : status;
    }
    if (status == NPU_OK)
        status = npu_json_enter(json, NPU_JSON_MAP, "the file");
    while (status == NPU_OK && (status = npu_json_key(json, &key)) == NPU_OK && key != NULL) {
        bool events = strcmp(key, "traceEvents") == 0;
        found = found || events;
        status = events ? read_events(&r, take, user) : npu_json_skip(json);
    }
    if (status == NPU_OK && !found)
        status = npu_json_refuse_file(json, "has no traceEvents");
    npu_arena_free(&r.arena);
    return status == NPU_OK ? npu_json_end(json) : status;
}
