// SPDX-License-Identifier: Apache-2.0
// JSON files written one object at a time, so that memory does not grow with the trace.
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

// Plain text.
void npu_emit_text(npu_emit *emit, const char *text);
// One item of a list: a comma when one is due, `lead` (white space), the JSON. Takes over the
// reference; NULL means that memory ran out when it was built.
void npu_emit_item(npu_emit *emit, const char *lead, json_t *json);
// The same, leaving the reference to the caller.
void npu_emit_kept(npu_emit *emit, const char *lead, const json_t *json);
// Starts a list: `text` is what stands before its first item.
void npu_emit_list(npu_emit *emit, const char *text);
// Frees the buffer; NPU_IO when the stream refused something.
npu_status npu_emit_done(npu_emit *emit);

#endif
