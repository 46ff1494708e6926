// SPDX-License-Identifier: Apache-2.0
#include "incore.h"

#include <stdlib.h>
#include <string.h>

#include "chrome.h"

enum { MOST_LANES = 4096, MOST_OPEN = 65536 };

typedef struct open_slice { // a B without its E so far
    int lane;
    const char *id, *name;
    int64_t start;
} open_slice;

typedef struct incore_reader {
    npu_incore *c;
    npu_error *err;
    open_slice *open;
    int open_count, open_capacity;
} incore_reader;

void npu_incore_free(npu_incore *incore) {
    free(incore->lanes);
    free(incore->slices);
    npu_arena_free(&incore->arena);
    *incore = (npu_incore){0};
}

static npu_status find_lane(incore_reader *r, npu_json *json, const npu_chrome_event *event,
                            int *lane) {
    npu_incore *c = r->c;
    size_t length = strcspn(event->tid, "#"); // "MTE2#1": a slice that overlaps another
    for (*lane = 0; *lane < c->lane_count; ++*lane)
        if (strcmp(c->lanes[*lane].core, event->pid) == 0 &&
            strncmp(c->lanes[*lane].pipe, event->tid, length) == 0 &&
            c->lanes[*lane].pipe[length] == '\0')
            return NPU_OK;
    if (c->lane_count == MOST_LANES)
        return npu_json_refuse(json, "there are more than %d threads", MOST_LANES);
    npu_incore_lane fresh = {npu_arena_text(&c->arena, event->pid, strlen(event->pid)),
                             npu_arena_text(&c->arena, event->tid, length)};
    if (fresh.core == NULL || fresh.pipe == NULL)
        return npu_json_no_memory(json);
    npu_status status = NPU_GROW(c, lanes, lane_count, lane_capacity, r->err);
    if (status == NPU_OK)
        c->lanes[c->lane_count++] = fresh;
    return status;
}

static npu_status keep_text(incore_reader *r, npu_json *json, const char *text, const char **kept) {
    *kept = npu_arena_text(&r->c->arena, text, strlen(text));
    return *kept != NULL ? NPU_OK : npu_json_no_memory(json);
}

static npu_status add_slice(incore_reader *r, npu_incore_slice slice) {
    npu_status status = NPU_GROW(r->c, slices, slice_count, slice_capacity, r->err);
    if (status == NPU_OK)
        r->c->slices[r->c->slice_count++] = slice;
    return status;
}

static npu_status take_slice(incore_reader *r, npu_json *json, const npu_chrome_event *event) {
    npu_incore_slice slice = {.start = event->ts, .end = event->ts + event->dur};
    if (event->dur < 0)
        return npu_json_refuse(json, "a slice lasts less than 0");
    npu_status status = find_lane(r, json, event, &slice.lane);
    if (status == NPU_OK)
        status = keep_text(r, json, event->name, &slice.name);
    return status == NPU_OK ? add_slice(r, slice) : status;
}

static npu_status take_begin(incore_reader *r, npu_json *json, const npu_chrome_event *event) {
    open_slice begun = {.start = event->ts};
    if (r->open_count == MOST_OPEN)
        return npu_json_refuse(json, "more than %d slices have begun and not ended", MOST_OPEN);
    npu_status status = find_lane(r, json, event, &begun.lane);
    if (status == NPU_OK)
        status = keep_text(r, json, event->id, &begun.id);
    if (status == NPU_OK)
        status = keep_text(r, json, event->name, &begun.name);
    if (status == NPU_OK)
        status = NPU_GROW(r, open, open_count, open_capacity, r->err);
    if (status == NPU_OK)
        r->open[r->open_count++] = begun;
    return status;
}

// Ends the slice that began last with this id (without ids: on this thread).
static npu_status take_end(incore_reader *r, npu_json *json, const npu_chrome_event *event) {
    int lane;
    npu_status status = find_lane(r, json, event, &lane);
    int at = r->open_count - 1;
    while (at >= 0 && (strcmp(r->open[at].id, event->id) != 0 ||
                       (event->id[0] == '\0' && r->open[at].lane != lane)))
        at--;
    if (status != NPU_OK || at < 0) {
        r->c->unpaired += status == NPU_OK;
        return status;
    }
    open_slice begun = r->open[at];
    memmove(&r->open[at], &r->open[at + 1], (size_t)(r->open_count - at - 1) * sizeof *r->open);
    r->open_count--;
    if (event->ts < begun.start)
        return npu_json_refuse(json, "a slice ends before it begins");
    return add_slice(r, (npu_incore_slice){begun.lane, begun.name, begun.start, event->ts, true});
}

static npu_status take_event(void *user, npu_json *json, const npu_chrome_event *event) {
    incore_reader *r = user;
    switch (event->ph) {
    case 'X':
        return take_slice(r, json, event);
    case 'B':
    case 'b':
        return take_begin(r, json, event);
    case 'E':
    case 'e':
        return take_end(r, json, event);
    case 's':
        r->c->arrows++;
        return NPU_OK;
    default:
        return NPU_OK;
    }
}

static int compare_slices(const void *a, const void *b) {
    const npu_incore_slice *x = a;
    const npu_incore_slice *y = b;
    if (x->lane != y->lane)
        return x->lane - y->lane;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

npu_status npu_incore_read_json(npu_json *json, npu_incore *incore, npu_error *err) {
    incore_reader r = {.c = incore, .err = err};
    *incore = (npu_incore){0};
    npu_status status = npu_chrome_read(json, take_event, &r);
    if (status == NPU_OK && incore->slice_count == 0)
        status = npu_json_refuse_file(json, "has no slices");
    incore->unpaired += r.open_count;
    if (incore->slice_count > 0)
        qsort(incore->slices, (size_t)incore->slice_count, sizeof *incore->slices, compare_slices);
    free(r.open);
    return status;
}

npu_status npu_incore_read(const char *path, npu_incore *incore, npu_error *err) {
    npu_json *json;
    *incore = (npu_incore){0};
    npu_status status = npu_json_open(path, NPU_JSON_ONE, &json, err);
    if (status == NPU_OK)
        status = npu_incore_read_json(json, incore, err);
    npu_json_close(json);
    return status;
}

int64_t npu_incore_span(const npu_incore *incore) {
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (int i = 0; i < incore->slice_count; i++) {
        first = incore->slices[i].start < first ? incore->slices[i].start : first;
        last = incore->slices[i].end > last ? incore->slices[i].end : last;
    }
    return last > first ? last - first : 0;
}

int64_t npu_incore_busy(const npu_incore *incore, int lane) {
    int64_t busy = 0, until = INT64_MIN;
    for (int i = 0; i < incore->slice_count; i++) {
        const npu_incore_slice *slice = &incore->slices[i];
        if (slice->lane != lane || slice->flag || slice->end <= until)
            continue;
        busy += slice->end - (slice->start > until ? slice->start : until);
        until = slice->end;
    }
    return busy;
}
