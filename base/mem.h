// SPDX-License-Identifier: Apache-2.0
// Memory: an arena for what lives as long as its owner, and checked growth for arrays.
#ifndef NPU_MEM_H
#define NPU_MEM_H

#include <stddef.h>

#include "error.h"

// Everything allocated from an arena is freed at once. Zero-initialise to start empty.
typedef struct npu_arena {
    struct npu_arena_chunk *chunks;
} npu_arena;

// `count` zeroed elements of `size` bytes; NULL when out of memory or when the product
// overflows. Aligned for any type.
void *npu_arena_alloc(npu_arena *arena, size_t count, size_t size);
// A copy of text[0, length) with a terminating zero; NULL when out of memory.
char *npu_arena_text(npu_arena *arena, const char *text, size_t length);
// printf into the arena; NULL when out of memory.
char *npu_arena_printf(npu_arena *arena, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void npu_arena_free(npu_arena *arena);

// Makes room for `need` elements of `size` bytes in the malloc'ed array *items, whose
// capacity (in elements) is *capacity. New elements are zeroed. On failure the array is
// left as it was and NPU_NO_MEMORY is returned with `err` filled.
npu_status npu_grow(void **items, int *capacity, int need, size_t size, npu_error *err);

// Grows `array` (fields: `array`, `count`, `capacity` of the same struct) by one.
#define NPU_GROW(owner, array, count, capacity, err)                                               \
    npu_grow((void **)&(owner)->array, &(owner)->capacity, (owner)->count + 1,                     \
             sizeof *(owner)->array, err)

#endif
