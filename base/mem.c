// SPDX-License-Identifier: Apache-2.0
#include "mem.h"

#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct npu_arena_chunk {
    struct npu_arena_chunk *next;
    size_t used;
    size_t size;
    max_align_t data[];
} chunk;

enum { CHUNK_BYTES = 16 * 1024 };

static void *chunk_take(chunk *c, size_t bytes) {
    void *at = (char *)c->data + c->used;
    c->used += bytes;
    assert(c->used <= c->size);
    return at;
}

void *npu_arena_alloc(npu_arena *arena, size_t count, size_t size) {
    if (size != 0 && count > (SIZE_MAX / 2) / size)
        return NULL;
    size_t align = sizeof(max_align_t);
    size_t bytes = (count * size + align - 1) / align * align;
    chunk *head = arena->chunks;
    if (head != NULL && head->size - head->used >= bytes)
        return chunk_take(head, bytes);
    size_t want = bytes > CHUNK_BYTES / 4 ? bytes : CHUNK_BYTES;
    chunk *fresh = calloc(1, sizeof *fresh + want);
    if (fresh == NULL)
        return NULL;
    fresh->size = want;
    if (head != NULL && want == bytes) { // a large block does not end the current chunk
        fresh->next = head->next;
        head->next = fresh;
    } else {
        fresh->next = head;
        arena->chunks = fresh;
    }
    return chunk_take(fresh, bytes);
}

char *npu_arena_text(npu_arena *arena, const char *text, size_t length) {
    char *copy = npu_arena_alloc(arena, length + 1, 1);
    if (copy != NULL)
        memcpy(copy, text, length);
    return copy;
}

char *npu_arena_printf(npu_arena *arena, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *text = length < 0 ? NULL : npu_arena_alloc(arena, (size_t)length + 1, 1);
    if (text != NULL) {
        va_start(args, fmt);
        vsnprintf(text, (size_t)length + 1, fmt, args);
        va_end(args);
    }
    return text;
}

void npu_arena_free(npu_arena *arena) {
    for (chunk *c = arena->chunks; c != NULL;) {
        chunk *next = c->next;
        free(c);
        c = next;
    }
    arena->chunks = NULL;
}

npu_status npu_grow(void **items, int *capacity, int need, size_t size, npu_error *err) {
    assert(need >= 0 && size > 0);
    if (need <= *capacity)
        return NPU_OK;
    if (need > INT_MAX / 2)
        return npu_fail_memory(err);
    int want = *capacity > 0 ? *capacity : 8;
    while (want < need)
        want = want < INT_MAX / 2 ? 2 * want : need;
    if ((size_t)want > SIZE_MAX / 2 / size)
        return npu_fail_memory(err);
    char *grown = realloc(*items, (size_t)want * size);
    if (grown == NULL)
        return npu_fail_memory(err);
    memset(grown + (size_t)*capacity * size, 0, (size_t)(want - *capacity) * size);
    *items = grown;
    *capacity = want;
    return NPU_OK;
}
