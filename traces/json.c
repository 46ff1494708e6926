// SPDX-License-Identifier: Apache-2.0
// yajl pushes tokens; they wait in a queue, one piece of the file at a time, to be pulled.
#include "json.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

enum {
    PIECE = 64 * 1024,
    MOST_DEPTH = 64,
    MOST_PIECES_OF_A_TOKEN = 64, // yajl keeps a token that spans pieces: 4 MiB
};

typedef struct token {
    npu_json_token shown; // its text is filled in when it is pulled
    size_t text;          // where it begins in npu_json.text
    size_t end;           // of the token in the piece
} token;

struct npu_json {
    FILE *file;
    char *name;
    npu_error *err;
    npu_status status;
    yajl_handle parser;
    npu_json_form form;
    char piece[PIECE];
    size_t piece_length;
    int line, column; // of the piece's first character
    bool ended;       // the last piece is in the queue
    int barren;       // pieces in a row without a token
    int depth;
    const char *fault; // what is wrong behind the queue, or NULL
    size_t fault_at;
    token *tokens;
    int count, capacity, next;
    char *text;
    int text_count, text_capacity;
    char *key; // the last one, which must outlive the piece it stood in
    int key_capacity;
};

// ---- the queue -----------------------------------------------------------------------------

// A zero stands behind each text. 0 stops yajl.
static int add_text(npu_json *j, const void *text, size_t length) {
    if (length > (size_t)INT32_MAX - (size_t)j->text_count - 1 ||
        npu_grow((void **)&j->text, &j->text_capacity, j->text_count + (int)length + 1, 1,
                 j->err) != NPU_OK) {
        j->status = NPU_NO_MEMORY;
        return 0;
    }
    memcpy(j->text + j->text_count, text, length);
    j->text[j->text_count + (int)length] = '\0';
    j->text_count += (int)length + 1;
    return 1;
}

static int add(npu_json *j, npu_json_token shown) {
    if (NPU_GROW(j, tokens, count, capacity, j->err) != NPU_OK) {
        j->status = NPU_NO_MEMORY;
        return 0;
    }
    size_t text = (size_t)j->text_count - (shown.text != NULL ? shown.length + 1 : 0);
    j->tokens[j->count++] = (token){shown, text, yajl_get_bytes_consumed(j->parser)};
    return 1;
}

static int add_with_text(npu_json *j, npu_json_token shown, const void *text, size_t length) {
    shown.text = text;
    shown.length = length;
    return add_text(j, text, length) && add(j, shown);
}

static int on_null(void *data) {
    return add(data, (npu_json_token){.kind = NPU_JSON_NULL});
}

static int on_bool(void *data, int value) {
    return add(data, (npu_json_token){.kind = NPU_JSON_BOOL, .truth = value != 0});
}

bool npu_json_integer(const char *text, size_t length, npu_json_token *t) {
    bool negative = length > 0 && text[0] == '-';
    uint64_t value = 0;
    if (length == (size_t)negative)
        return false;
    for (size_t i = negative; i < length; i++) {
        unsigned digit = (unsigned)(text[i] - '0');
        if (digit > 9 || value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (negative && value > UINT64_C(1) << 63)
        return false;
    t->negative = negative && value > 0;
    t->value = negative ? -value : value;
    return true;
}

static int on_number(void *data, const char *text, size_t length) {
    npu_json_token t = {.kind = NPU_JSON_INTEGER};
    if (!npu_json_integer(text, length, &t))
        t.kind = NPU_JSON_NUMBER;
    return add_with_text(data, t, text, length);
}

static int on_string(void *data, const unsigned char *text, size_t length) {
    return add_with_text(data, (npu_json_token){.kind = NPU_JSON_STRING}, text, length);
}

static int on_key(void *data, const unsigned char *text, size_t length) {
    return add_with_text(data, (npu_json_token){.kind = NPU_JSON_KEY}, text, length);
}

static int open_level(npu_json *j, npu_json_kind kind) {
    if (++j->depth <= MOST_DEPTH)
        return add(j, (npu_json_token){.kind = kind});
    j->fault = "lists and maps are nested more than 64 deep";
    j->fault_at = yajl_get_bytes_consumed(j->parser);
    return 0;
}

static int close_level(npu_json *j, npu_json_kind kind) {
    j->depth--;
    return add(j, (npu_json_token){.kind = kind});
}

static int on_map(void *data) {
    return open_level(data, NPU_JSON_MAP);
}

static int on_map_end(void *data) {
    return close_level(data, NPU_JSON_MAP_END);
}

static int on_list(void *data) {
    return open_level(data, NPU_JSON_LIST);
}

static int on_list_end(void *data) {
    return close_level(data, NPU_JSON_LIST_END);
}

static const yajl_callbacks callbacks = {on_null,    on_bool,   NULL,       NULL,
                                         on_number,  on_string, on_map,     on_key,
                                         on_map_end, on_list,   on_list_end};

// ---- pieces --------------------------------------------------------------------------------

// The place of a character of the piece.
static npu_pos place(const npu_json *j, size_t at) {
    npu_pos pos = {j->name, j->line, j->column};
    assert(at <= j->piece_length);
    for (size_t i = 0; i < at; i++) {
        pos.col++;
        if (j->piece[i] == '\n') {
            pos.line++;
            pos.col = 1;
        }
    }
    return pos;
}

// What yajl says of the piece, in one line without its newline.
static void note_fault(npu_json *j, size_t at) {
    if (j->fault != NULL || j->status != NPU_OK) // a callback has said it
        return;
    j->fault_at = at;
    unsigned char *text = yajl_get_error(j->parser, 0, NULL, 0);
    j->fault = "this is no JSON";
    if (text != NULL && strstr((const char *)text, "premature EOF") != NULL)
        j->fault = "the file ends in the middle of its JSON";
    else if (text != NULL && strstr((const char *)text, "trailing garbage") != NULL)
        j->fault = "something follows the end of the JSON";
    else if (text != NULL && strstr((const char *)text, "UTF8") != NULL)
        j->fault = "a string is no UTF-8";
    yajl_free_error(j->parser, text);
}

static void read_piece(npu_json *j) {
    npu_pos next = place(j, j->piece_length);
    j->line = next.line;
    j->column = next.col;
    j->count = j->next = j->text_count = 0;
    j->piece_length = fread(j->piece, 1, PIECE, j->file);
    if (ferror(j->file)) {
        j->status = npu_fail(j->err, NPU_IO, (npu_pos){.file = j->name}, "cannot read: %s",
                             strerror(errno));
        return;
    }
    yajl_status status = yajl_parse(j->parser, (const unsigned char *)j->piece, j->piece_length);
    size_t at = yajl_get_bytes_consumed(j->parser);
    if (status == yajl_status_ok && j->piece_length < PIECE) {
        j->ended = true;
        status = yajl_complete_parse(j->parser);
        at = j->piece_length;
    }
    if (status != yajl_status_ok) {
        j->ended = true;
        note_fault(j, at);
    }
    j->barren = j->count > 0 ? 0 : j->barren + 1;
    if (j->barren > MOST_PIECES_OF_A_TOKEN && j->fault == NULL) {
        j->ended = true;
        j->fault = "nothing but one text or blanks for 4 MiB";
        j->fault_at = j->piece_length;
    }
}

// The next token, which stays in the queue; at the end of the file one of kind NPU_JSON_END.
static npu_json_token look(npu_json *j) {
    static const npu_json_token end = {.kind = NPU_JSON_END};
    while (j->status == NPU_OK && j->next == j->count && !j->ended)
        read_piece(j);
    if (j->status == NPU_OK && j->next == j->count && j->fault != NULL)
        j->status = npu_fail(j->err, NPU_BAD_INPUT, place(j, j->fault_at), "%s", j->fault);
    if (j->status != NPU_OK || j->next == j->count)
        return end;
    npu_json_token t = j->tokens[j->next].shown;
    if (t.text != NULL)
        t.text = j->text + j->tokens[j->next].text;
    return t;
}

static npu_json_token take(npu_json *j) {
    npu_json_token t = look(j);
    if (t.kind != NPU_JSON_END)
        j->next++;
    return t;
}

// ---- opening and closing -------------------------------------------------------------------

npu_status npu_json_open_stream(FILE *file, const char *name, npu_json_form form, npu_json **json,
                                npu_error *err) {
    assert(file != NULL && name != NULL);
    npu_json *j = calloc(1, sizeof *j);
    *json = NULL;
    if (j == NULL) {
        fclose(file);
        return npu_fail_memory(err);
    }
    j->file = file;
    j->err = err;
    j->form = form;
    j->line = j->column = 1;
    j->name = strdup(name);
    j->parser = yajl_alloc(&callbacks, NULL, j);
    if (j->name == NULL || j->parser == NULL) {
        npu_json_close(j);
        return npu_fail_memory(err);
    }
    if (form == NPU_JSON_LINES)
        yajl_config(j->parser, yajl_allow_multiple_values, 1);
    *json = j;
    return NPU_OK;
}

npu_status npu_json_open(const char *path, npu_json_form form, npu_json **json, npu_error *err) {
    *json = NULL;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return npu_fail(err, NPU_IO, (npu_pos){.file = path}, "cannot read: %s", strerror(errno));
    return npu_json_open_stream(file, path, form, json, err);
}

void npu_json_close(npu_json *j) {
    if (j == NULL)
        return;
    if (j->parser != NULL)
        yajl_free(j->parser);
    fclose(j->file);
    free(j->tokens);
    free(j->text);
    free(j->key);
    free(j->name);
    free(j);
}

// ---- pulling -------------------------------------------------------------------------------

npu_status npu_json_no_memory(npu_json *j) {
    if (j->status == NPU_OK)
        j->status = npu_fail_memory(j->err);
    return j->status;
}

// Where the token read last begins, as far as the piece holds it.
static npu_pos last_place(const npu_json *j) {
    if (j->next == 0)
        return place(j, 0);
    const token *last = &j->tokens[j->next - 1];
    npu_json_kind kind = last->shown.kind;
    size_t length = 1;
    if (kind == NPU_JSON_STRING || kind == NPU_JSON_KEY)
        length = last->shown.length + 2;
    else if (last->shown.text != NULL)
        length = last->shown.length;
    else if (kind == NPU_JSON_NULL || kind == NPU_JSON_BOOL)
        length = kind == NPU_JSON_NULL || last->shown.truth ? 4 : 5;
    return place(j, last->end > length ? last->end - length : 0);
}

static npu_status refuse(npu_json *j, npu_pos pos, const char *fmt, va_list args) {
    char sentence[512];
    vsnprintf(sentence, sizeof sentence, fmt, args);
    j->status = npu_fail(j->err, NPU_BAD_INPUT, pos, "%s", sentence);
    return j->status;
}

npu_status npu_json_refuse(npu_json *j, const char *fmt, ...) {
    if (j->status != NPU_OK)
        return j->status;
    va_list args;
    va_start(args, fmt);
    refuse(j, last_place(j), fmt, args);
    va_end(args);
    return j->status;
}

npu_status npu_json_refuse_file(npu_json *j, const char *fmt, ...) {
    if (j->status != NPU_OK)
        return j->status;
    va_list args;
    va_start(args, fmt);
    refuse(j, (npu_pos){.file = j->name}, fmt, args);
    va_end(args);
    return j->status;
}

npu_status npu_json_next(npu_json *j, npu_json_token *t) {
    *t = take(j);
    return j->status;
}

npu_status npu_json_peek(npu_json *j, npu_json_kind *kind) {
    *kind = look(j).kind;
    return j->status;
}

npu_status npu_json_enter(npu_json *j, npu_json_kind kind, const char *what) {
    assert(kind == NPU_JSON_MAP || kind == NPU_JSON_LIST);
    npu_json_kind found = take(j).kind;
    if (found != kind)
        npu_json_refuse(j, "%s must be %s", what, kind == NPU_JSON_MAP ? "an object" : "a list");
    return j->status;
}

npu_status npu_json_key(npu_json *j, const char **key) {
    npu_json_token t = take(j);
    assert(j->status != NPU_OK || t.kind == NPU_JSON_KEY || t.kind == NPU_JSON_MAP_END);
    *key = NULL;
    if (t.kind != NPU_JSON_KEY)
        return j->status;
    if (npu_grow((void **)&j->key, &j->key_capacity, (int)t.length + 1, 1, j->err) != NPU_OK) {
        j->status = NPU_NO_MEMORY;
        return j->status;
    }
    memcpy(j->key, t.text, t.length + 1);
    *key = j->key;
    return NPU_OK;
}

npu_status npu_json_more(npu_json *j, bool *more) {
    npu_json_kind kind = look(j).kind;
    *more = kind != NPU_JSON_LIST_END && kind != NPU_JSON_END;
    if (kind == NPU_JSON_LIST_END)
        j->next++;
    return j->status;
}

npu_status npu_json_skip(npu_json *j) {
    int depth = 0;
    do {
        npu_json_kind kind = take(j).kind;
        if (j->status != NPU_OK)
            return j->status;
        assert(kind != NPU_JSON_END);
        depth += (kind == NPU_JSON_MAP || kind == NPU_JSON_LIST) -
                 (kind == NPU_JSON_MAP_END || kind == NPU_JSON_LIST_END);
    } while (depth > 0);
    return NPU_OK;
}

npu_status npu_json_end(npu_json *j) {
    if (look(j).kind != NPU_JSON_END)
        npu_json_refuse(j, "something follows the end of the JSON");
    return j->status;
}
