// SPDX-License-Identifier: Apache-2.0
#include "counters.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

typedef struct counter {
    int64_t address, value;
    double since;        // ns, of its last change
    npu_actor overtaker; // whose notify may have passed its stores; `graph` NULL: none
    npu_actor first;     // that has waited for `awaited`, the highest value waited for
    npu_actor second;    // another task that has; `graph` NULL: none
    int64_t awaited;
    int newest; // change on its way to it, -1
} counter;

typedef struct change { // on its way
    npu_notice notice;
    int older; // of the same counter, -1
    bool arrived;
} change;

struct npu_counters {
    npu_engine *engine;
    npu_warnings *hazards;
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

static counter *find(const npu_counters *c, int64_t address) {
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
    c->counters[at] = (counter){.address = address, .newest = -1};
    c->count++;
    return NPU_OK;
}

// ---- hazards -------------------------------------------------------------------------------

static bool same(npu_actor a, npu_actor b) {
    return a.graph == b.graph && a.task == b.task;
}

static const npu_task *task_of(npu_actor actor) {
    return &actor.graph->tasks[actor.task];
}

// Of two changes that are on their way at once either may arrive first.
static void check_race(const npu_counters *c, const counter *k, const npu_notice *sent) {
    for (int i = k->newest; i >= 0; i = c->changes[i].older) {
        const npu_notice *other = &c->changes[i].notice;
        if (same(other->by, sent->by) || !(other->set || sent->set) ||
            other->arrives <= sent->sent || sent->arrives <= other->sent)
            continue;
        const npu_notice *set = other->set ? other : sent, *with = other->set ? sent : other;
        npu_warn(
            c->hazards, task_of(set->by)->pos,
            "hazard: the set of task '%s' of rank %d may reach its counter before or after the "
            "notify of task '%s' of rank %d",
            task_of(set->by)->name, set->by.graph->rank, task_of(with->by)->name,
            with->by.graph->rank);
    }
}

// A wait has ended: what it was told may not be true yet.
static void check_wait(const npu_counters *c, counter *k, const npu_waiter *w) {
    if (k->overtaker.graph != NULL)
        npu_warn(c->hazards, task_of(k->overtaker)->pos,
                 "hazard: the notify of task '%s' of rank %d may pass the stores before it, and "
                 "task '%s' of rank %d goes on from it; put a drain in between",
                 task_of(k->overtaker)->name, k->overtaker.graph->rank, task_of(w->by)->name,
                 w->by.graph->rank);
    if (w->value > k->awaited || k->first.graph == NULL) {
        k->awaited = w->value;
        k->first = w->by;
        k->second.graph = NULL;
    } else if (w->value == k->awaited && !same(k->first, w->by) && k->second.graph == NULL) {
        k->second = w->by;
    }
}

// Two waits for one value are for one wave, unless the counter goes on: then the later one found
// what it waited for already there.
static void check_reuse(const npu_counters *c, const counter *k) {
    if (k->second.graph == NULL || k->value <= k->awaited)
        return;
    npu_warn(c->hazards, task_of(k->second)->pos,
             "hazard: tasks '%s' and '%s' of rank %d both wait for %lld of a counter that "
             "reaches %lld: the later one does not wait for its own wave; give each an epoch",
             task_of(k->first)->name, task_of(k->second)->name, k->second.graph->rank,
             (long long)k->awaited, (long long)k->value);
}

void npu_counters_finish(npu_counters *c) {
    for (int i = 0; i < c->count; i++)
        check_reuse(c, &c->counters[i]);
}

// ---- changes -------------------------------------------------------------------------------

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
    const npu_notice *n = &c->changes[tag].notice;
    counter *changed = find(c, n->address);
    assert(changed != NULL);
    c->changes[tag].arrived = true;
    if (n->set && n->value < changed->value) { // cleared: it begins anew
        check_reuse(c, changed);
        changed->first.graph = changed->second.graph = NULL;
    }
    changed->value = n->set ? n->value : changed->value + n->value;
    changed->since = npu_engine_now(c->engine);
    if (n->overtakes)
        changed->overtaker = n->by;
    wake_reached(c, changed);
}

npu_status npu_counters_notify(npu_counters *c, const npu_notice *notice, npu_error *err) {
    npu_status status = add(c, notice->address, err);
    if (!status)
        status = NPU_GROW(c, changes, change_count, change_capacity, err);
    if (status)
        return status;
    counter *k = find(c, notice->address);
    while (k->newest >= 0 && c->changes[k->newest].arrived)
        k->newest = c->changes[k->newest].older;
    check_race(c, k, notice);
    c->changes[c->change_count] = (change){*notice, k->newest, false};
    k->newest = c->change_count;
    double dt = fmax(0, notice->arrives - npu_engine_now(c->engine));
    npu_engine_delay(c->engine, dt, arrive, c, c->change_count++);
    return NPU_OK;
}

int64_t npu_counters_value(const npu_counters *c, int64_t address) {
    const counter *found = find(c, address);
    return found != NULL ? found->value : 0;
}

npu_status npu_counters_await(npu_counters *c, const npu_waiter *waiter, bool *reached,
                              double *since, npu_error *err) {
    counter *found = find(c, waiter->address);
    *since = found != NULL ? found->since : 0;
    *reached = npu_counters_value(c, waiter->address) >= waiter->value;
    if (*reached && found != NULL)
        check_wait(c, found, waiter);
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

npu_status npu_counters_new(npu_engine *engine, npu_warnings *hazards, npu_counters **out,
                            npu_error *err) {
    npu_counters *c = calloc(1, sizeof *c);
    if (c == NULL)
        return npu_fail_memory(err);
    c->engine = engine;
    c->hazards = hazards;
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
