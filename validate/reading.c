// SPDX-License-Identifier: Apache-2.0
#include "reading.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "yaml_tree.h"

enum { MAX_WORDS = 12 };

static const char *const quantities[] = {
    "makespan", "time", "latency",   "mean time",  "max time", "sum time", "core time",
    "busy",     "rate", "read rate", "write rate", "count",    "blocks"};
_Static_assert(sizeof quantities / sizeof *quantities == NPU_QUANTITY_COUNT, "quantities");

// The runtime's names of the pipes and the profiler's.
static const char *const pipe_words[] = {"scalar",  "vec", "mac", "mte1", "mte2", "mte3",
                                         "fixpipe", "s",   "v",   "m",    "cube"};
static const npu_pipe pipes[] = {NPU_PIPE_S,    NPU_PIPE_V,    NPU_PIPE_M,       NPU_PIPE_MTE1,
                                 NPU_PIPE_MTE2, NPU_PIPE_MTE3, NPU_PIPE_FIXPIPE, NPU_PIPE_S,
                                 NPU_PIPE_V,    NPU_PIPE_M,    NPU_PIPE_M};
enum { PIPE_WORDS = sizeof pipe_words / sizeof *pipe_words };
_Static_assert(sizeof pipes / sizeof *pipes == PIPE_WORDS, "pipes");

typedef struct parser {
    npu_arena *arena;
    const char *text;
    npu_pos pos;
    const char *words[MAX_WORDS];
    int at[MAX_WORDS]; // where each begins in the text
    int count;
    int next;
    npu_error *err;
} parser;

static npu_pos word_pos(const parser *p, int word) {
    npu_pos pos = p->pos;
    if (pos.line > 0)
        pos.col += word < p->count ? p->at[word] : (int)strlen(p->text);
    return pos;
}

static bool next_is(const parser *p, const char *word) {
    return p->next < p->count && strcmp(p->words[p->next], word) == 0;
}

static npu_status split(parser *p) {
    for (const char *c = p->text + strspn(p->text, " "); *c != '\0'; c += strspn(c, " ")) {
        size_t length = strcspn(c, " ");
        if (p->count == MAX_WORDS)
            return npu_fail(p->err, NPU_BAD_INPUT, p->pos, "'%s' has too many words", p->text);
        p->words[p->count] = npu_arena_text(p->arena, c, length);
        if (p->words[p->count] == NULL)
            return npu_fail_memory(p->err);
        p->at[p->count++] = (int)(c - p->text);
        c += length;
    }
    return p->count > 0 ? NPU_OK : npu_fail(p->err, NPU_BAD_INPUT, p->pos, "'read' is empty");
}

static bool has_pipe(npu_engine_type core, npu_pipe pipe) {
    bool both = pipe == NPU_PIPE_S || pipe == NPU_PIPE_MTE2;
    bool aiv = pipe == NPU_PIPE_V || pipe == NPU_PIPE_MTE3;
    return both || aiv == (core == NPU_AIV);
}

// "busy [aic|aiv] PIPE"
static npu_status read_pipe(parser *p, npu_reading *reading) {
    assert(reading->quantity == NPU_READ_BUSY);
    bool aic = p->next < p->count && strcasecmp(p->words[p->next], "aic") == 0;
    bool aiv = p->next < p->count && strcasecmp(p->words[p->next], "aiv") == 0;
    reading->core = aic ? NPU_AIC : aiv ? NPU_AIV : NPU_MIX;
    p->next += aic || aiv;
    if (p->next == p->count || next_is(p, "of"))
        return npu_fail(p->err, NPU_BAD_INPUT, word_pos(p, p->next),
                        "'busy' needs a pipe: 'busy mte2 of KERNEL'");
    const char *word = p->words[p->next];
    int pipe = 0;
    while (pipe < PIPE_WORDS && strcasecmp(pipe_words[pipe], word) != 0)
        pipe++;
    char hint[64];
    if (pipe == PIPE_WORDS)
        return npu_fail(p->err, NPU_BAD_INPUT, word_pos(p, p->next), "unknown pipe '%s'%s", word,
                        npu_did_you_mean(word, pipe_words, PIPE_WORDS, hint, sizeof hint));
    reading->pipe = pipes[pipe];
    if (reading->core != NPU_MIX && !has_pipe(reading->core, reading->pipe))
        return npu_fail(p->err, NPU_BAD_INPUT, word_pos(p, p->next), "an %s has no pipe '%s'",
                        aic ? "AIC" : "AIV", word);
    p->next++;
    return NPU_OK;
}

// The words up to "of" or "relative", of which "busy" takes some more.
static npu_status read_quantity(parser *p, npu_reading *reading) {
    if (next_is(p, "busy")) {
        p->next++;
        reading->quantity = NPU_READ_BUSY;
        return read_pipe(p, reading);
    }
    int end = 0;
    while (end < p->count && strcmp(p->words[end], "of") != 0 &&
           strcmp(p->words[end], "relative") != 0)
        end++;
    char phrase[64] = "", hint[64];
    for (int i = 0; i < end; i++) {
        size_t used = strlen(phrase);
        snprintf(phrase + used, sizeof phrase - used, "%s%s", i > 0 ? " " : "", p->words[i]);
    }
    for (int i = 0; i < NPU_QUANTITY_COUNT; i++) {
        if (strcmp(quantities[i], phrase) == 0) {
            reading->quantity = (npu_quantity)i;
            p->next = end;
            return NPU_OK;
        }
    }
    npu_did_you_mean(phrase, quantities, NPU_QUANTITY_COUNT, hint, sizeof hint);
    return npu_fail(p->err, NPU_BAD_INPUT, word_pos(p, 0), "unknown quantity '%s'%s", phrase, hint);
}

static npu_status read_kernel(parser *p, npu_reading *reading) {
    const char *quantity = quantities[reading->quantity];
    bool needed = reading->quantity != NPU_READ_MAKESPAN;
    if (!next_is(p, "of"))
        return needed ? npu_fail(p->err, NPU_BAD_INPUT, word_pos(p, p->next),
                                 "'%s' needs a kernel: '%s of KERNEL'", quantity,
                                 reading->quantity == NPU_READ_BUSY ? "busy PIPE" : quantity)
                      : NPU_OK;
    if (!needed)
        return npu_fail(p->err, NPU_BAD_INPUT, word_pos(p, p->next), "'%s' is of no kernel",
                        quantity);
    p->next++;
    if (p->next == p->count)
        return npu_fail(p->err, NPU_BAD_INPUT, word_pos(p, p->next),
                        "the kernel's name is missing after 'of'");
    reading->kernel = p->words[p->next];
    reading->kernel_pos = word_pos(p, p->next);
    p->next++;
    return NPU_OK;
}

// "relative to VARIANT": the rest of the text, since a variant's name may have spaces.
static npu_status read_base(parser *p, npu_reading *reading) {
    if (p->next == p->count)
        return NPU_OK;
    if (!next_is(p, "relative"))
        return npu_fail(p->err, NPU_BAD_INPUT, word_pos(p, p->next), "unexpected '%s'",
                        p->words[p->next]);
    p->next++;
    if (!next_is(p, "to") || p->next + 1 == p->count)
        return npu_fail(p->err, NPU_BAD_INPUT, word_pos(p, p->next - 1),
                        "'relative' is written 'relative to VARIANT'");
    p->next++;
    const char *rest = p->text + p->at[p->next];
    size_t length = strlen(rest);
    while (length > 0 && rest[length - 1] == ' ')
        length--;
    reading->base = npu_arena_text(p->arena, rest, length);
    reading->base_pos = word_pos(p, p->next);
    return reading->base != NULL ? NPU_OK : npu_fail_memory(p->err);
}

npu_status npu_reading_parse(npu_arena *arena, const char *text, npu_pos pos, npu_reading *reading,
                             npu_error *err) {
    assert(text != NULL && reading != NULL);
    parser p = {.arena = arena, .text = text, .pos = pos, .err = err};
    *reading = (npu_reading){.core = NPU_MIX};
    reading->text = npu_arena_text(arena, text, strlen(text));
    npu_status status = reading->text != NULL ? split(&p) : npu_fail_memory(err);
    if (!status)
        status = read_quantity(&p, reading);
    if (!status)
        status = read_kernel(&p, reading);
    if (!status)
        status = read_base(&p, reading);
    return status;
}

bool npu_reading_same(const npu_reading *a, const npu_reading *b) {
    if (a->quantity != b->quantity || (a->kernel == NULL) != (b->kernel == NULL))
        return false;
    if (a->kernel != NULL && strcmp(a->kernel, b->kernel) != 0)
        return false;
    return a->quantity != NPU_READ_BUSY || (a->pipe == b->pipe && a->core == b->core);
}
