// SPDX-License-Identifier: Apache-2.0
#include "emit.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

// Writes the digits of `value`, at least `least` of them, so that they end before `end`;
// returns their start. snprintf would take most of the time of a file.
static char *digits_before(char *end, uint64_t value, int least) {
    assert(least >= 0 && least <= 20);
    for (; value != 0 || least > 0; value /= 10, least--)
        *--end = (char)('0' + value % 10);
    return end;
}

npu_u64_text npu_u64(uint64_t value) {
    char buf[24];
    char *end = buf + sizeof buf;
    char *start = digits_before(end, value, 1);
    npu_u64_text number = {""};
    memcpy(number.text, start, (size_t)(end - start));
    return number;
}

npu_us_text npu_us(int64_t ns) {
    assert(ns >= 0);
    char buf[28];
    char *end = buf + sizeof buf;
    char *start = digits_before(end, (uint64_t)ns % 1000, 3);
    *--start = '.';
    start = digits_before(start, (uint64_t)ns / 1000, 1);
    npu_us_text us = {""};
    memcpy(us.text, start, (size_t)(end - start));
    return us;
}

void npu_emit_text(npu_emit *emit, const char *fmt, ...) {
    if (emit->status != NPU_OK)
        return;
    va_list args;
    va_start(args, fmt);
    vfprintf(emit->out, fmt, args);
    va_end(args);
}

void npu_emit_list(npu_emit *emit, const char *text) {
    npu_emit_text(emit, "%s", text);
    emit->more = false;
}

// json_dumpf would call the stream for every comma; a buffer that is kept is much faster.
static bool dump(npu_emit *emit, const json_t *json) {
    for (;;) {
        size_t need = json_dumpb(json, emit->text, emit->capacity, emit->flags);
        if (need == 0)
            return false;
        if (need <= emit->capacity) {
            fwrite(emit->text, 1, need, emit->out);
            return true;
        }
        size_t capacity = need + need / 2 + 512;
        char *text = realloc(emit->text, capacity);
        if (text == NULL)
            return false;
        emit->text = text;
        emit->capacity = capacity;
    }
}

static void begin_item(npu_emit *emit) {
    if (emit->more)
        fputc(',', emit->out);
    emit->more = true;
}

void npu_emit_item(npu_emit *emit, const char *lead, json_t *json) {
    if (emit->status == NPU_OK) {
        begin_item(emit);
        fputs(lead, emit->out);
        if (json == NULL || !dump(emit, json))
            emit->status = npu_fail_memory(emit->err);
    }
    json_decref(json);
}

void npu_emit_line(npu_emit *emit, const char *fmt, ...) {
    if (emit->status != NPU_OK)
        return;
    begin_item(emit);
    va_list args;
    va_start(args, fmt);
    vfprintf(emit->out, fmt, args);
    va_end(args);
}

char *npu_emit_quote(npu_emit *emit, const char *text) {
    json_t *json = json_string(text);
    char *quoted = json != NULL ? json_dumps(json, JSON_ENCODE_ANY) : NULL;
    json_decref(json);
    if (quoted == NULL && emit->status == NPU_OK)
        emit->status = npu_fail_memory(emit->err);
    return quoted;
}

npu_status npu_emit_done(npu_emit *emit) {
    assert(emit->out != NULL);
    free(emit->text);
    emit->text = NULL;
    if (emit->status == NPU_OK && ferror(emit->out))
        emit->status =
            npu_fail(emit->err, NPU_IO, (npu_pos){0}, "cannot write a file of the trace");
    return emit->status;
}
