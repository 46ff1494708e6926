// SPDX-License-Identifier: Apache-2.0
// JSON that is built, then written. jansson's builders give NULL when memory runs out, and set_new
// refuses a NULL: one look at the end of building is enough.
#ifndef NPU_JSON_PUT_H
#define NPU_JSON_PUT_H

#include <jansson.h>
#include <stdio.h>

#include "error.h"

// 0 when it was put there.
static inline int npu_json_put(json_t *object, const char *key, json_t *value) {
    return json_object_set_new(object, key, value);
}

// Writes the object with a newline and frees it. `failed`: something is missing in it.
static inline npu_status npu_json_print(json_t *object, int failed, FILE *out, npu_error *err) {
    if (object == NULL || failed)
        return npu_fail_memory(err);
    int written = json_dumpf(object, out, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    json_decref(object);
    if (written != 0)
        return npu_fail(err, NPU_IO, (npu_pos){0}, "cannot write the JSON");
    fputc('\n', out);
    return NPU_OK;
}

#endif
