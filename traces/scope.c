// SPDX-License-Identifier: Apache-2.0
#include "scope.h"

#include <stdlib.h>
#include <string.h>

typedef struct scope_reader {
    npu_json *j;
    npu_scope_stats *s;
    npu_error *err;
} scope_reader;

void npu_scope_free(npu_scope_stats *stats) {
    free(stats->marks);
    npu_arena_free(&stats->arena);
    *stats = (npu_scope_stats){0};
}

static npu_status read_count(npu_json *j, const char *what, int64_t *value) {
    return npu_json_i64(j, what, 0, INT64_MAX, value);
}

static npu_status read_rings(npu_json *j, const char *what, int64_t rings[NPU_RINGS]) {
    npu_status status = npu_json_enter(j, NPU_JSON_LIST, what);
    bool more = true;
    for (int i = 0; status == NPU_OK; i++) {
        status = npu_json_more(j, &more);
        if (status != NPU_OK || !more)
            break;
        if (i == NPU_RINGS)
            return npu_json_refuse(j, "%s is of more than %d rings", what, NPU_RINGS);
        status = read_count(j, what, &rings[i]);
    }
    return status;
}

static npu_status read_head(scope_reader *r) {
    npu_scope_stats *s = r->s;
    const char *key;
    npu_status status = npu_json_enter(r->j, NPU_JSON_MAP, "the first line");
    while (status == NPU_OK && (status = npu_json_key(r->j, &key)) == NPU_OK && key != NULL) {
        if (strcmp(key, "version") == 0)
            status = npu_json_int(r->j, key, 0, INT32_MAX, &s->version);
        else if (strcmp(key, "fatal") == 0)
            status = npu_json_bool(r->j, key, &s->fatal);
        else if (strcmp(key, "dropped") == 0)
            status = read_count(r->j, "dropped", &s->dropped);
        else if (strcmp(key, "total") == 0)
            status = read_count(r->j, "total", &s->total);
        else if (strcmp(key, "task_window_max") == 0)
            status = read_rings(r->j, "task_window_max", s->tasks_max);
        else if (strcmp(key, "heap_max") == 0)
            status = read_rings(r->j, "heap_max", s->heap_max);
        else if (strcmp(key, "dep_pool_max") == 0)
            status = read_rings(r->j, "dep_pool_max", s->deps_max);
        else if (strcmp(key, "tensormap_max") == 0)
            status = read_count(r->j, "tensormap_max", &s->tensormap_max);
        else
            status = npu_json_skip(r->j);
    }
    if (status == NPU_OK && s->version == 0)
        status = npu_json_refuse(r->j, "the first line has no version");
    return status;
}

static npu_status read_words(scope_reader *r, const char *key, npu_scope_mark *mark) {
    const char *text;
    npu_status status = npu_json_string(r->j, key[0] == 's' ? "site" : "phase", &text);
    if (status != NPU_OK)
        return status;
    if (key[0] == 's') {
        mark->site = npu_arena_text(&r->s->arena, text, strlen(text));
        return mark->site != NULL ? NPU_OK : npu_json_no_memory(r->j);
    }
    mark->ends = strcmp(text, "end") == 0;
    if (!mark->ends && strcmp(text, "begin") != 0)
        return npu_json_refuse(r->j, "the phase is begin or end, not '%.40s'", text);
    return NPU_OK;
}

static npu_status read_mark_member(scope_reader *r, const char *key, npu_scope_mark *mark) {
    static const struct {
        const char *key;
        size_t at;
    } numbers[] = {
        {"task_window_start", offsetof(npu_scope_mark, tasks_start)},
        {"task_window_end", offsetof(npu_scope_mark, tasks_end)},
        {"heap_start", offsetof(npu_scope_mark, heap_start)},
        {"heap_end", offsetof(npu_scope_mark, heap_end)},
        {"dep_pool_start", offsetof(npu_scope_mark, deps_start)},
        {"dep_pool_end", offsetof(npu_scope_mark, deps_end)},
        {"tensormap", offsetof(npu_scope_mark, tensormap)},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(key, numbers[i].key) == 0)
            return read_count(r->j, numbers[i].key,
                              (int64_t *)(void *)((char *)mark + numbers[i].at));
    if (strcmp(key, "site") == 0 || strcmp(key, "phase") == 0)
        return read_words(r, key, mark);
    if (strcmp(key, "depth") == 0)
        return npu_json_int(r->j, "depth", 0, INT32_MAX, &mark->depth);
    if (strcmp(key, "ring") == 0)
        return npu_json_int(r->j, "ring", 0, NPU_RINGS - 1, &mark->ring);
    return npu_json_skip(r->j);
}

static npu_status read_mark(scope_reader *r) {
    npu_scope_mark mark = {.site = ""};
    const char *key;
    npu_status status = npu_json_enter(r->j, NPU_JSON_MAP, "a line");
    while (status == NPU_OK && (status = npu_json_key(r->j, &key)) == NPU_OK && key != NULL)
        status = read_mark_member(r, key, &mark);
    if (status == NPU_OK)
        status = NPU_GROW(r->s, marks, mark_count, mark_capacity, r->err);
    if (status == NPU_OK)
        r->s->marks[r->s->mark_count++] = mark;
    return status;
}

npu_status npu_scope_read_json(npu_json *json, npu_scope_stats *stats, npu_error *err) {
    scope_reader r = {.j = json, .s = stats, .err = err};
    bool more = true;
    *stats = (npu_scope_stats){0};
    npu_status status = read_head(&r);
    while (status == NPU_OK && (status = npu_json_more(json, &more)) == NPU_OK && more)
        status = read_mark(&r);
    return status;
}

npu_status npu_scope_read(const char *path, npu_scope_stats *stats, npu_error *err) {
    npu_json *json;
    *stats = (npu_scope_stats){0};
    npu_status status = npu_json_open(path, NPU_JSON_LINES, &json, err);
    if (status == NPU_OK)
        status = npu_scope_read_json(json, stats, err);
    npu_json_close(json);
    return status;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

npu_scope_peak npu_scope_peak_of(const npu_scope_stats *stats, int ring) {
    npu_scope_peak peak = {0};
    for (int i = 0; i < stats->mark_count; i++) {
        const npu_scope_mark *mark = &stats->marks[i];
        if (mark->ring != ring)
            continue;
        peak.tasks = larger(peak.tasks, mark->tasks_end - mark->tasks_start);
        peak.heap = larger(peak.heap, mark->heap_end - mark->heap_start);
        peak.deps = larger(peak.deps, mark->deps_end - mark->deps_start);
    }
    return peak;
}
