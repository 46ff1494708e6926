// SPDX-License-Identifier: Apache-2.0
#include "emit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

npu_u64_text npu_u64(uint64_t value) {
    npu_u64_text number;
    snprintf(number.text, sizeof number.text, "%llu", (unsigned long long)value);
    return number;
}

void npu_emit_text(npu_emit *emit, const char *text) {
    if (emit->status == NPU_OK)
        fputs(text, emit->out);
}

void npu_emit_list(npu_emit *emit, const char *text) {
    npu_emit_text(emit, text);
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

void npu_emit_kept(npu_emit *emit, const char *lead, const json_t *json) {
    if (emit->status != NPU_OK)
        return;
    if (emit->more)
        fputc(',', emit->out);
    emit->more = true;
    fputs(lead, emit->out);
    if (json == NULL || !dump(emit, json))
        emit->status = npu_fail_memory(emit->err);
}

void npu_emit_item(npu_emit *emit, const char *lead, json_t *json) {
    npu_emit_kept(emit, lead, json);
    json_decref(json);
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
