// SPDX-License-Identifier: Apache-2.0
// Errors are values: a function that can fail returns an npu_status and fills an
// npu_error with one sentence and the place in the user's file that caused it.
// Nothing in the library exits or aborts on input; assert() is for our own mistakes.
#ifndef NPU_ERROR_H
#define NPU_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum npu_status {
    NPU_OK = 0,
    NPU_BAD_INPUT = 2, // a config, an option or a file's content is wrong
    NPU_IO = 3,        // a file could not be read or written
    NPU_NO_MEMORY = 4,
} npu_status;

// A place in a text file. line and col count from 1; line 0 means "the file as a whole",
// file NULL means "no file". The string is borrowed (it lives as long as the parsed file).
typedef struct npu_pos {
    const char *file;
    int line;
    int col;
} npu_pos;

// The place `by` characters further to the right.
static inline npu_pos npu_pos_right(npu_pos pos, ptrdiff_t by) {
    if (pos.line > 0)
        pos.col += (int)by;
    return pos;
}

typedef struct npu_error {
    char text[1024]; // "file:line:col: sentence", without a newline; "" = no error yet
} npu_error;

// Fills `err` (may be NULL) and returns `status`, so that callers write
// `return npu_fail(err, NPU_BAD_INPUT, pos, "...")`. A first error is kept: later calls on
// the same npu_error change nothing, because the first one names the cause.
npu_status npu_fail(npu_error *err, npu_status status, npu_pos pos, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

// The error for a failed allocation.
npu_status npu_fail_memory(npu_error *err);

// Writes "file:line:col: " (as much of it as is known) into buf; returns buf.
const char *npu_pos_text(npu_pos pos, char *buf, int size);
// Does a message begin with "file:line:col: "?
bool npu_has_place(const char *text);

// Warnings gathered during a call: they do not stop it, but are shown and recorded.
// `lines` is owned by the list; free with npu_warnings_free.
typedef struct npu_warnings {
    char **lines;
    int *sentences; // of each line: where the sentence begins, behind the position
    int count;
    int capacity;
} npu_warnings;

// Appends one warning; a NULL list drops it. A text already in the list is not repeated.
void npu_warn(npu_warnings *list, npu_pos pos, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void npu_warnings_free(npu_warnings *list);

#endif
