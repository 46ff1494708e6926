// SPDX-License-Identifier: Apache-2.0
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *npu_pos_text(npu_pos pos, char *buf, int size) {
    if (pos.file == NULL)
        buf[0] = '\0';
    else if (pos.line <= 0)
        snprintf(buf, (size_t)size, "%s: ", pos.file);
    else
        snprintf(buf, (size_t)size, "%s:%d:%d: ", pos.file, pos.line, pos.col);
    return buf;
}

// The text before *end ends in ":digits"; *end moves to the colon.
static bool ends_in_number(const char *text, const char **end) {
    const char *at = *end;
    while (at > text && at[-1] >= '0' && at[-1] <= '9')
        at--;
    if (at == *end || at == text || at[-1] != ':')
        return false;
    *end = at - 1;
    return true;
}

bool npu_has_place(const char *text) {
    const char *end = strstr(text, ": ");
    return end != NULL && ends_in_number(text, &end) && ends_in_number(text, &end);
}

// A message stays one line whatever a user's file holds.
static void one_line(char *text) {
    for (char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
}

static void format_at(char *out, int size, npu_pos pos, const char *fmt, va_list args) {
    npu_pos_text(pos, out, size);
    size_t used = strlen(out);
    vsnprintf(out + used, (size_t)size - used, fmt, args);
    one_line(out);
}

npu_status npu_fail(npu_error *err, npu_status status, npu_pos pos, const char *fmt, ...) {
    if (err != NULL && err->text[0] == '\0') {
        va_list args;
        va_start(args, fmt);
        format_at(err->text, (int)sizeof err->text, pos, fmt, args);
        va_end(args);
    }
    return status;
}

npu_status npu_fail_memory(npu_error *err) {
    return npu_fail(err, NPU_NO_MEMORY, (npu_pos){0}, "out of memory");
}

void npu_warn(npu_warnings *list, npu_pos pos, const char *fmt, ...) {
    if (list == NULL)
        return;
    char text[1024];
    va_list args;
    va_start(args, fmt);
    format_at(text, (int)sizeof text, pos, fmt, args);
    va_end(args);
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->lines[i], text) == 0)
            return;
    if (list->count == list->capacity) {
        int capacity = list->capacity ? 2 * list->capacity : 8;
        char **lines = realloc(list->lines, (size_t)capacity * sizeof *lines);
        if (lines == NULL)
            return;
        list->lines = lines;
        int *sentences = realloc(list->sentences, (size_t)capacity * sizeof *sentences);
        if (sentences == NULL)
            return;
        list->sentences = sentences;
        list->capacity = capacity;
    }
    char *copy = strdup(text);
    if (copy == NULL)
        return;
    char place[1024];
    list->sentences[list->count] = (int)strlen(npu_pos_text(pos, place, (int)sizeof place));
    list->lines[list->count++] = copy;
}

void npu_warnings_free(npu_warnings *list) {
    for (int i = 0; i < list->count; i++)
        free(list->lines[i]);
    free(list->lines);
    free(list->sentences);
    *list = (npu_warnings){0};
}
