// SPDX-License-Identifier: Apache-2.0
#include "counters.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

typedef struct counter {
    int64_t address, value;
    double since; // ns, of its last change
} counter;

typedef struct change { // on its way
    int64_t address, value;
    bool set;
} change;

struct npu_counters {
    npu_engine *engine;
    counter *counters; // by address
    int count, capacity;
    change *changes;
    int change_count, change_capacity;
    npu_waiter *waiters;
    int waiter_count, waiter_capacity;
};

// The place of `address`, or where it belongs.
static int place_of(const npu_counters *c, int64_t address) {
    int low = 0, high = c->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (c->counters[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const counter *find(const npu_counters *c, int64_t address) {
    int at = place_of(c, address);
    return at < c->count && c->counters[at].address == address ? &c->counters[at] : NULL;
}

static npu_status add(npu_counters *c, int64_t address, npu_error *err) {
    int at = place_of(c, address);
    if (at < c->count && c->counters[at].address == address)
        return NPU_OK;
    npu_status status = NPU_GROW(c, counters, count, capacity, err);
    if (status)
        return status;
    memmove(&c->counters[at + 1], &c->counters[at], (size_t)(c->count - at) * sizeof *c->counters);
    c->counters[at] = (counter){.address = address};
    c->count++;
    return NPU_OK;
}

static void wake_reached(npu_counters *c, const counter *changed) {
    int kept = 0;
    for (int i = 0; i < c->waiter_count; i++) {
        npu_waiter w = c->waiters[i];
        if (w.address == changed->address && changed->value >= w.value)
            w.wake(w.owner);
        else
            c->waiters[kept++] = w;
    }
    c->waiter_count = kept;
}

static void arrive(void *owner, int64_t tag) {
    npu_counters *c = owner;
    const change *arrived = &c->changes[tag];
    counter *changed = &c->counters[place_of(c, arrived->address)];
    assert(changed->address == arrived->address);
    changed->value = arrived->set ? arrived->value : changed->value + arrived->value;
    changed->since = npu_engine_now(c->engine);
    wake_reached(c, changed);
}

npu_status npu_counters_notify(npu_counters *c, int64_t address, int64_t value, bool set, double dt,
                               npu_error *err) {
    npu_status status = add(c, address, err);
    if (!status)
        status = NPU_GROW(c, changes, change_count, change_capacity, err);
    if (status)
        return status;
    c->changes[c->change_count] = (change){address, value, set};
    npu_engine_delay(c->engine, dt, arrive, c, c->change_count++);
    return NPU_OK;
}

int64_t npu_counters_value(const npu_counters *c, int64_t address) {
    const counter *found = find(c, address);
    return found != NULL ? found->value : 0;
}

npu_status npu_counters_await(npu_counters *c, const npu_waiter *waiter, bool *reached,
                              double *since, npu_error *err) {
    const counter *found = find(c, waiter->address);
    *since = found != NULL ? found->since : 0;
    *reached = npu_counters_value(c, waiter->address) >= waiter->value;
    if (*reached)
        return NPU_OK;
    npu_status status = NPU_GROW(c, waiters, waiter_count, waiter_capacity, err);
    if (!status)
        c->waiters[c->waiter_count++] = *waiter;
    return status;
}

const npu_waiter *npu_counters_waiters(const npu_counters *c, int *count) {
    *count = c->waiter_count;
    return c->waiters;
}

npu_status npu_counters_new(npu_engine *engine, npu_counters **out, npu_error *err) {
    npu_counters *c = calloc(1, sizeof *c);
    if (c == NULL)
        return npu_fail_memory(err);
    c->engine = engine;
    *out = c;
    return NPU_OK;
}

void npu_counters_free(npu_counters *c) {
    if (c == NULL)
        return;
    free(c->counters);
    free(c->changes);
    free(c->waiters);
    free(c);
}
