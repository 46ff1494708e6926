// SPDX-License-Identifier: Apache-2.0
// JSON files written one object at a time, so that memory does not grow with the trace.
// Text from outside (names) always goes through jansson. Objects that consist of numbers and
// our own words are the bulk of a trace; they are printed, which is several times faster.
#ifndef NPU_EMIT_H
#define NPU_EMIT_H

#include <jansson.h>
#include <stdio.h>

#include "error.h"

// A file being written. The first failure stays and makes later calls do nothing, so that
// callers look at `status` once, at the end.
typedef struct npu_emit {
    FILE *out;
    size_t flags; // of json_dumpf
    bool more;    // something stands before in the list being written: a comma is due
    char *text;   // one item, to reach the file in one piece
    size_t capacity;
    npu_status status;
    npu_error *err;
} npu_emit;

// A decimal number in text, for the u64 that JSON readers would round.
typedef struct npu_u64_text {
    char text[24];
} npu_u64_text;
npu_u64_text npu_u64(uint64_t value);

// Whole ns as us: "12.340".
typedef struct npu_us_text {
    char text[28];
} npu_us_text;
npu_us_text npu_us(int64_t ns);

// What belongs to no item, or to one that npu_emit_line began.
void npu_emit_text(npu_emit *emit, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// One item of a list: a comma when one is due, `lead` (white space), the JSON. Takes over the
// reference; NULL means that memory ran out when it was built.
void npu_emit_item(npu_emit *emit, const char *lead, json_t *json);
// One item of a list, printed.
void npu_emit_line(npu_emit *emit, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// `text` as a JSON string, quotes included; the caller frees it. NULL: memory ran out.
char *npu_emit_quote(npu_emit *emit, const char *text);
// Starts a list: `text` is what stands before its first item.
void npu_emit_list(npu_emit *emit, const char *text);
// Frees the buffer; NPU_IO when the stream refused something.
npu_status npu_emit_done(npu_emit *emit);

#endif
