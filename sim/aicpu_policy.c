// SPDX-License-Identifier: Apache-2.0
// Other ways to place ready blocks than the runtime's (`policy:` in a graph).
#include <assert.h>

#include "aicpu_state.h"

int npu_aicpu_room(const npu_aicpu *a, int shape) {
    return (shape == NPU_AIV ? 2 : 1) * a->core_count / 3;
}

// Waves of blocks from a task to the end of the graph, on the longest way: what a compiler knows
// before anything was measured.
static npu_status find_paths(npu_aicpu *a, npu_error *err) {
    int tasks = a->graph->task_count;
    a->path = npu_arena_alloc(&a->arena, (size_t)tasks + 1, sizeof *a->path);
    if (a->path == NULL)
        return npu_fail_memory(err);
    for (int task = tasks - 1; task >= 0; task--) {
        const npu_task_state *s = &a->tasks[task];
        int64_t room = npu_aicpu_room(a, npu_shape(a, task));
        if (s->width > 0)
            a->path[task] += (int)((a->graph->tasks[task].block_num + room - 1) / room);
        for (int i = 0; i < s->link_count; i++) {
            int pred = a->links[s->first_link + i].pred;
            if (a->path[pred] < a->path[task])
                a->path[pred] = a->path[task];
        }
    }
    return NPU_OK;
}

// ---------------------------------------------------------------- calendar

// The cores of unit `at` of a shape.
static int cores_of(const npu_aicpu *a, int shape, int at, int *cores) {
    int clusters = a->core_count / 3;
    cores[0] = shape == NPU_AIV ? clusters + at : at;
    cores[1] = clusters + 2 * at;
    cores[2] = cores[1] + 1;
    return shape == NPU_MIX ? 3 : 1;
}

// The unit with the fewest blocks so far, the lowest of equals.
static int least_booked(const npu_aicpu *a, int shape, const int64_t *booked) {
    int best = 0;
    int64_t least = INT64_MAX;
    for (int at = 0; at < npu_aicpu_room(a, shape); at++) {
        int cores[3];
        int64_t sum = 0;
        for (int i = cores_of(a, shape, at, cores); i > 0; i--)
            sum += booked[cores[i - 1]];
        if (sum < least) {
            least = sum;
            best = at;
        }
    }
    return best;
}

// Cohorts that start together are not in it: they take what is idle.
static bool has_date(const npu_aicpu *a, int task) {
    return a->calendar != NULL && !a->graph->tasks[task].sync_start;
}

static npu_status make_calendar(npu_aicpu *a, npu_error *err) {
    const npu_graph *graph = a->graph;
    size_t slots = 1;
    for (int task = 0; task < graph->task_count; task++)
        slots += (size_t)graph->tasks[task].block_num * (size_t)a->tasks[task].width;
    if (slots > INT32_MAX)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){graph->path, 0, 0},
                        "the graph has too many blocks for a calendar");
    size_t cores = (size_t)a->core_count;
    int64_t *booked = npu_arena_alloc(&a->arena, cores, sizeof *booked);
    int *last = npu_arena_alloc(&a->arena, cores, sizeof *last);
    a->slots = npu_arena_alloc(&a->arena, slots, sizeof *a->slots);
    a->calendar = npu_arena_alloc(&a->arena, cores, sizeof *a->calendar);
    if (booked == NULL || last == NULL || a->slots == NULL || a->calendar == NULL)
        return npu_fail_memory(err);
    for (size_t i = 0; i < cores; i++)
        last[i] = a->calendar[i] = -1;
    int used = 0;
    for (int task = 0; task < graph->task_count; task++)
        for (int64_t b = 0; has_date(a, task) && b < graph->tasks[task].block_num; b++) {
            if (a->tasks[task].width == 0)
                break;
            int ids[3];
            int shape = npu_shape(a, task);
            int count = cores_of(a, shape, least_booked(a, shape, booked), ids);
            for (int i = 0; i < count; i++) {
                a->slots[used] = (npu_date){task, -1, b};
                *(last[ids[i]] < 0 ? &a->calendar[ids[i]] : &a->slots[last[ids[i]]].next) = used;
                last[ids[i]] = used++;
                booked[ids[i]]++;
            }
        }
    return NPU_OK;
}

static bool due(const npu_aicpu *a, const npu_thread *t, int task, int bit) {
    for (int part = 0; part < a->tasks[task].width; part++) {
        int slot = a->calendar[t->cores[bit + part]];
        if (slot < 0 || a->slots[slot].task != task)
            return false;
        if (a->slots[slot].block != a->slots[a->calendar[t->cores[bit]]].block)
            return false;
    }
    return true;
}

int64_t npu_aicpu_policy_block(npu_aicpu *a, const npu_thread *t, int task, int bit, int64_t next) {
    if (!has_date(a, task))
        return next;
    assert(due(a, t, task, bit));
    int64_t block = a->slots[a->calendar[t->cores[bit]]].block;
    for (int part = 0; part < a->tasks[task].width; part++) {
        int *head = &a->calendar[t->cores[bit + part]];
        *head = a->slots[*head].next;
    }
    return block;
}

// ---------------------------------------------------------------- the choice of a unit

// Is a core free that no thread may know of yet: FIN is in its register and nothing waits behind?
static bool truly_idle(const npu_aicpu *a, const npu_thread *t, int bit) {
    const npu_core *core = &a->workers.cores[t->cores[bit]];
    const npu_token *running = &core->tokens[core->running];
    if (core->tokens[!core->running].state != NPU_TOKEN_NONE)
        return false;
    return running->state == NPU_TOKEN_NONE || running->state == NPU_TOKEN_FIN;
}

static bool die_has_idle(const npu_aicpu *a, int shape) {
    for (int i = 0; i < a->thread_count; i++) {
        npu_thread shown = {.all = a->threads[i].all};
        for (uint64_t left = shown.all; left != 0; left &= left - 1)
            if (truly_idle(a, &a->threads[i], __builtin_ctzll(left)))
                shown.idle |= left & -left;
        if (npu_aicpu_units(&shown, shape, false) != 0)
            return true;
    }
    return false;
}

uint64_t npu_aicpu_policy_units(npu_aicpu *a, const npu_thread *t, int task, uint64_t units,
                                bool pending) {
    if (pending && a->graph->policy == NPU_POLICY_IDLE_FIRST && die_has_idle(a, npu_shape(a, task)))
        return 0;
    if (!has_date(a, task))
        return units;
    uint64_t may = 0;
    for (uint64_t left = units; left != 0; left &= left - 1)
        if (due(a, t, task, __builtin_ctzll(left)))
            may |= left & -left;
    return may;
}

// Pending: since when the unit's running blocks are there. Idle: how often it was used.
static double load(const npu_aicpu *a, const npu_thread *t, int task, int bit) {
    double sent = 0, since = -1;
    for (int part = 0; part < a->tasks[task].width; part++) {
        const npu_core *core = &a->workers.cores[t->cores[bit + part]];
        const npu_token *running = &core->tokens[core->running];
        sent += core->tokens_sent;
        if (running->state != NPU_TOKEN_NONE && a->trace->rows[running->row].dispatch > since)
            since = a->trace->rows[running->row].dispatch;
    }
    return since >= 0 ? since : sent;
}

int npu_aicpu_policy_unit(const npu_aicpu *a, const npu_thread *t, int task, uint64_t units) {
    int best = __builtin_ctzll(units);
    if (a->graph->policy != NPU_POLICY_LEAST_LOADED)
        return best;
    for (uint64_t left = units & (units - 1); left != 0; left &= left - 1) {
        int bit = __builtin_ctzll(left);
        if (load(a, t, task, bit) < load(a, t, task, best))
            best = bit;
    }
    return best;
}

void npu_aicpu_push(npu_aicpu *a, npu_queue *queue, int task) {
    if (a->path != NULL)
        npu_queue_push_ranked(queue, task, a->path);
    else
        npu_queue_push(queue, task);
}

npu_status npu_aicpu_policy_new(npu_aicpu *a, npu_error *err) {
    if (a->graph->policy == NPU_POLICY_CRITICAL_PATH)
        return find_paths(a, err);
    return a->graph->policy == NPU_POLICY_CALENDAR ? make_calendar(a, err) : NPU_OK;
}
