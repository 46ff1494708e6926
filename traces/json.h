// SPDX-License-Identifier: Apache-2.0
// JSON files read one value after the other, whatever their size: what is held in memory is one
// piece of the file. The text is taken apart by yajl; this adds positions, limits, and reading by
// pulling. A number keeps its 64 bits: none passes through a double.
//
//     npu_json_open(path, NPU_JSON_ONE, &json, err);
//     npu_json_enter(json, NPU_JSON_MAP, "the file");
//     while (npu_json_key(json, &key) == NPU_OK && key != NULL)
//         ... npu_json_u64(json, "task_id", &id), npu_json_skip(json) ...
//
// The first failure stays: calls behind it return the same status and do nothing.
#ifndef NPU_JSON_H
#define NPU_JSON_H

#include <stdio.h>

#include "error.h"
#include "mem.h"

typedef enum npu_json_kind {
    NPU_JSON_END, // of the file
    NPU_JSON_NULL,
    NPU_JSON_BOOL,
    NPU_JSON_INTEGER, // from -2^63 to 2^64 - 1
    NPU_JSON_NUMBER,  // any other number
    NPU_JSON_STRING,
    NPU_JSON_KEY,
    NPU_JSON_MAP,
    NPU_JSON_LIST,
    NPU_JSON_MAP_END,
    NPU_JSON_LIST_END,
} npu_json_kind;

typedef enum npu_json_form {
    NPU_JSON_ONE,   // the file is one value
    NPU_JSON_LINES, // values one after the other
} npu_json_form;

typedef struct npu_json npu_json;

// NPU_IO when the file cannot be read; *json is NULL then. `err` is used until npu_json_close.
npu_status npu_json_open(const char *path, npu_json_form form, npu_json **json, npu_error *err);
// The same from a stream, which is closed in any case; `name` is what errors call it.
npu_status npu_json_open_stream(FILE *file, const char *name, npu_json_form form, npu_json **json,
                                npu_error *err);
void npu_json_close(npu_json *json); // harmless on NULL

// One step: a value, a key, or the begin or end of a list or map.
typedef struct npu_json_token {
    npu_json_kind kind;
    bool truth;       // NPU_JSON_BOOL
    bool negative;    // NPU_JSON_INTEGER
    uint64_t value;   // NPU_JSON_INTEGER; a negative one is two's complement
    const char *text; // numbers, strings, keys; valid until the next call
    size_t length;
} npu_json_token;
npu_status npu_json_next(npu_json *json, npu_json_token *token);

// What comes next; it stays.
npu_status npu_json_peek(npu_json *json, npu_json_kind *kind);
// Enters a map or a list: "WHAT must be a list" when something else comes.
npu_status npu_json_enter(npu_json *json, npu_json_kind kind, const char *what);
// Inside a map: the next key, or NULL at its end. Valid until the next key is asked for.
npu_status npu_json_key(npu_json *json, const char **key);
// Inside a list, or between the values of NPU_JSON_LINES: is there another item? The end is
// passed.
npu_status npu_json_more(npu_json *json, bool *more);
// Passes over one value with all that is in it.
npu_status npu_json_skip(npu_json *json);
// Nothing may follow the value that was read.
npu_status npu_json_end(npu_json *json);

// ---- single values: the next one must be ... ------------------------------------------------

// A whole number of 64 bits, or the same as text. A negative one is two's complement.
npu_status npu_json_u64(npu_json *json, const char *what, uint64_t *value);
// A whole number, as such or as text, within [least, most].
npu_status npu_json_i64(npu_json *json, const char *what, int64_t least, int64_t most,
                        int64_t *value);
npu_status npu_json_int(npu_json *json, const char *what, int least, int most, int *value);
npu_status npu_json_bool(npu_json *json, const char *what, bool *value);
// Valid until the next call. Holds no zero character.
npu_status npu_json_string(npu_json *json, const char *what, const char **text);
// A number with its point moved to the right, to the nearest: 0.12 with 3 decimals is 120.
npu_status npu_json_fixed(npu_json *json, const char *what, int decimals, int64_t *value);
// Is text[0, length) a whole number that 64 bits hold? Then `value` and `negative` are filled in.
bool npu_json_integer(const char *text, size_t length, npu_json_token *token);
// One value as compact JSON text, numbers as they stand; in the arena.
npu_status npu_json_raw(npu_json *json, npu_arena *arena, const char **text);
// `text` as a JSON string, quotes included; NULL when out of memory.
const char *npu_json_quoted(npu_arena *arena, const char *text);

// Refuses the value read last, or what holds it: NPU_BAD_INPUT with its line and column.
npu_status npu_json_refuse(npu_json *json, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
// Refuses the file as a whole.
npu_status npu_json_refuse_file(npu_json *json, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
// Notes that memory ran out.
npu_status npu_json_no_memory(npu_json *json);

#endif
