// SPDX-License-Identifier: Apache-2.0
// Internal to the engine: a binary heap of pending callbacks, smallest key first, equal keys
// in creation order. Inline because an event costs little more than its heap operations.
#ifndef NPU_ENGINE_HEAP_H
#define NPU_ENGINE_HEAP_H

#include <assert.h>

#include "engine.h"
#include "mem.h"

typedef struct npu_event {
    double key;   // what the heap is ordered by: a time, a finish mark, or 0 for seq alone
    int64_t seq;  // creation order, unique within an engine
    double bytes; // of a flow
    npu_event_fn fn;
    void *owner;
    int64_t tag;
} npu_event;

// Zero-initialise to start empty; the owner frees `items`.
typedef struct npu_heap {
    npu_event *items;
    int count;
    int capacity;
} npu_heap;

static inline bool npu_event_before(const npu_event *a, const npu_event *b) {
    return a->key < b->key || (a->key == b->key && a->seq < b->seq);
}

// False when out of memory; the heap is then unchanged.
static inline bool npu_heap_push(npu_heap *heap, npu_event event) {
    if (heap->count == heap->capacity && NPU_GROW(heap, items, count, capacity, NULL) != NPU_OK)
        return false;
    int at = heap->count++;
    while (at > 0) {
        int parent = (at - 1) / 2;
        if (!npu_event_before(&event, &heap->items[parent]))
            break;
        heap->items[at] = heap->items[parent];
        at = parent;
    }
    heap->items[at] = event;
    return true;
}

static inline npu_event npu_heap_pop(npu_heap *heap) {
    assert(heap->count > 0);
    npu_event top = heap->items[0];
    npu_event last = heap->items[--heap->count];
    int at = 0;
    for (;;) {
        int child = 2 * at + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count &&
            npu_event_before(&heap->items[child + 1], &heap->items[child]))
            child++;
        if (!npu_event_before(&heap->items[child], &last))
            break;
        heap->items[at] = heap->items[child];
        at = child;
    }
    heap->items[at] = last;
    return top;
}

#endif
