// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"

static uint32_t hash_text(const char *text) {
    uint32_t hash = 2166136261u;
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

// The slot that holds `text`, or the empty one where it belongs.
static int find_slot(const npu_names *names, const char *text) {
    uint32_t mask = (uint32_t)names->slot_count - 1;
    uint32_t at = hash_text(text) & mask;
    while (names->slots[at] != 0 && strcmp(names->items[names->slots[at] - 1].text, text) != 0)
        at = (at + 1) & mask;
    return (int)at;
}

npu_name *npu_names_find(const npu_names *names, const char *text) {
    if (names->count == 0)
        return NULL;
    int index = names->slots[find_slot(names, text)];
    return index != 0 ? &names->items[index - 1] : NULL;
}

static npu_status grow_slots(npu_names *names, npu_error *err) {
    int count = names->slot_count > 0 ? 2 * names->slot_count : 32;
    int *slots = calloc((size_t)count, sizeof *slots);
    if (slots == NULL)
        return npu_fail_memory(err);
    free(names->slots);
    names->slots = slots;
    names->slot_count = count;
    for (int i = 0; i < names->count; i++)
        names->slots[find_slot(names, names->items[i].text)] = i + 1;
    return NPU_OK;
}

npu_status npu_names_add(npu_names *names, const char *text, int value, npu_error *err) {
    npu_status status = NPU_GROW(names, items, count, capacity, err);
    if (status == NPU_OK && 2 * (names->count + 1) > names->slot_count)
        status = grow_slots(names, err);
    if (status != NPU_OK)
        return status;
    int slot = find_slot(names, text);
    assert(names->slots[slot] == 0);
    names->items[names->count++] = (npu_name){text, value};
    names->slots[slot] = names->count;
    return NPU_OK;
}

void npu_names_free(npu_names *names) {
    free(names->items);
    free(names->slots);
    *names = (npu_names){0};
}
