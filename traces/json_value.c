// SPDX-License-Identifier: Apache-2.0
// Single values, taken from the steps of json.c.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

// A whole number as such or as text; false when the next value is neither.
static bool take_integer(npu_json *j, npu_json_token *t) {
    if (npu_json_next(j, t) != NPU_OK)
        return false;
    if (t->kind == NPU_JSON_STRING)
        return npu_json_integer(t->text, t->length, t);
    return t->kind == NPU_JSON_INTEGER;
}

npu_status npu_json_u64(npu_json *j, const char *what, uint64_t *value) {
    npu_json_token t;
    if (!take_integer(j, &t))
        return npu_json_refuse(j, "%s must be a whole number of 64 bits", what);
    *value = t.value;
    return NPU_OK;
}

npu_status npu_json_i64(npu_json *j, const char *what, int64_t least, int64_t most,
                        int64_t *value) {
    npu_json_token t;
    bool whole = take_integer(j, &t);
    if (!whole || (!t.negative && t.value > INT64_MAX) || (int64_t)t.value < least ||
        (int64_t)t.value > most)
        return npu_json_refuse(j, "%s must be a whole number from %lld to %lld", what,
                               (long long)least, (long long)most);
    *value = (int64_t)t.value;
    return NPU_OK;
}

npu_status npu_json_int(npu_json *j, const char *what, int least, int most, int *value) {
    int64_t wide = 0;
    npu_status status = npu_json_i64(j, what, least, most, &wide);
    if (status == NPU_OK)
        *value = (int)wide;
    return status;
}

npu_status npu_json_bool(npu_json *j, const char *what, bool *value) {
    npu_json_token t;
    npu_status status = npu_json_next(j, &t);
    if (status == NPU_OK && t.kind != NPU_JSON_BOOL)
        status = npu_json_refuse(j, "%s must be true or false", what);
    *value = status == NPU_OK && t.truth;
    return status;
}

npu_status npu_json_string(npu_json *j, const char *what, const char **text) {
    npu_json_token t;
    npu_status status = npu_json_next(j, &t);
    if (status == NPU_OK && t.kind != NPU_JSON_STRING)
        status = npu_json_refuse(j, "%s must be a text", what);
    if (status == NPU_OK && strlen(t.text) != t.length)
        status = npu_json_refuse(j, "%s holds a zero character", what);
    *text = status == NPU_OK ? t.text : "";
    return status;
}

// The text of a JSON number as digits * 10^exponent. Beyond 18 digits the rest is dropped.
static int64_t split_number(const char *text, int *exponent) {
    int64_t digits = 0;
    int kept = 0;
    bool fraction = false;
    *exponent = 0;
    const char *at = text + (*text == '-');
    for (; *at != '\0' && *at != 'e' && *at != 'E'; at++) {
        if (*at == '.') {
            fraction = true;
        } else if (kept < 18) {
            digits = digits * 10 + (*at - '0');
            kept += digits > 0;
            *exponent -= fraction;
        } else {
            *exponent += !fraction;
        }
    }
    if (*at != '\0') {
        long given = strtol(at + 1, NULL, 10);
        *exponent += given < -1000 ? -1000 : given > 1000 ? 1000 : (int)given;
    }
    return *text == '-' ? -digits : digits;
}

npu_status npu_json_fixed(npu_json *j, const char *what, int decimals, int64_t *value) {
    npu_json_token t;
    npu_status status = npu_json_next(j, &t);
    if (status != NPU_OK || (t.kind != NPU_JSON_INTEGER && t.kind != NPU_JSON_NUMBER))
        return npu_json_refuse(j, "%s must be a number", what);
    int exponent;
    int64_t digits = split_number(t.text, &exponent);
    int rest = 0;
    for (exponent += decimals; exponent < 0 && (digits != 0 || rest != 0); exponent++) {
        rest = (int)(digits % 10);
        digits /= 10;
    }
    for (; exponent > 0 && digits != 0; exponent--) {
        if (digits > INT64_MAX / 10 || digits < -INT64_MAX / 10)
            return npu_json_refuse(j, "%s is too large", what);
        digits *= 10;
    }
    *value = digits + (rest >= 5) - (rest <= -5);
    return NPU_OK;
}

static void put_quoted(FILE *out, const char *text, size_t length) {
    fputc('"', out);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20)
            fprintf(out, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

static void put_token(FILE *out, const npu_json_token *t) {
    switch (t->kind) {
    case NPU_JSON_BOOL:
        fputs(t->truth ? "true" : "false", out);
        break;
    case NPU_JSON_INTEGER:
    case NPU_JSON_NUMBER:
        fputs(t->text, out);
        break;
    case NPU_JSON_STRING:
    case NPU_JSON_KEY:
        put_quoted(out, t->text, t->length);
        break;
    case NPU_JSON_MAP:
        fputc('{', out);
        break;
    case NPU_JSON_LIST:
        fputc('[', out);
        break;
    case NPU_JSON_MAP_END:
        fputc('}', out);
        break;
    case NPU_JSON_LIST_END:
        fputc(']', out);
        break;
    default:
        fputs("null", out);
    }
}

const char *npu_json_quoted(npu_arena *arena, const char *text) {
    char *buffer = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&buffer, &size);
    if (out == NULL)
        return NULL;
    put_quoted(out, text, strlen(text));
    const char *quoted = fclose(out) == 0 ? npu_arena_text(arena, buffer, size) : NULL;
    free(buffer);
    return quoted;
}

static npu_status put_value(npu_json *j, FILE *out) {
    int depth = 0;
    bool begun = true; // nothing stands before in this list or map
    do {
        npu_json_token t;
        npu_status status = npu_json_next(j, &t);
        if (status != NPU_OK)
            return status;
        bool closes = t.kind == NPU_JSON_MAP_END || t.kind == NPU_JSON_LIST_END;
        bool opens = t.kind == NPU_JSON_MAP || t.kind == NPU_JSON_LIST;
        if (!begun && !closes)
            fputs(", ", out);
        put_token(out, &t);
        begun = opens || t.kind == NPU_JSON_KEY;
        if (t.kind == NPU_JSON_KEY)
            fputs(": ", out);
        depth += opens - closes;
    } while (depth > 0);
    return NPU_OK;
}

npu_status npu_json_raw(npu_json *j, npu_arena *arena, const char **text) {
    char *buffer = NULL;
    size_t size = 0;
    *text = NULL;
    FILE *out = open_memstream(&buffer, &size);
    if (out == NULL)
        return npu_json_no_memory(j);
    npu_status status = put_value(j, out);
    bool written = fclose(out) == 0;
    if (status == NPU_OK)
        *text = written ? npu_arena_text(arena, buffer, size) : NULL;
    if (status == NPU_OK && *text == NULL)
        status = npu_json_no_memory(j);
    free(buffer);
    return status;
}
