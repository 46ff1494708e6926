// SPDX-License-Identifier: Apache-2.0
#include "sanity.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>

#include "sanity_impl.h"

const char *const npu_rule_names[] = {
    "rows of which the start was lost",
    "AICore rows without their AICPU row",
    "AICPU rows without their AICore row (a lost buffer)",
    "schedulers that dropped records",
    "rows out of order: dispatch, receive, start",
    "rows that end before they start",
    "rows that finish more than 2 ticks before they end",
    "rows that overlap on a core",
    "rows that are a core's third in flight",
    "rows whose core and dispatch number stand twice",
    "rows that finish outside a `complete` of their core's scheduler",
    "scheduler records that end before they start",
    "scheduler phases that overlap",
    "orchestrator calls that do not follow each other",
    "rows of tasks that are not in the graph",
    "tasks that stand twice in the graph",
    "edges to tasks that are not in the graph",
    "edges from a task submitted later",
    "rows on a core for which their task has no kernel",
    "tasks with other than blocks x kernels rows",
    "clusters with parts of MIX blocks",
    "edges whose consumer starts more than 2 ticks before its producer ends",
    NULL};

_Static_assert(sizeof npu_rule_names / sizeof *npu_rule_names == NPU_RULE_COUNT + 1, "rules");

void npu_sanity_note(npu_checker *k, npu_rule rule, const char *fmt, ...) {
    npu_sanity *sanity = k->sanity;
    if (sanity->broken[rule]++ > 0)
        return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(sanity->first[rule], sizeof sanity->first[rule], fmt, args);
    va_end(args);
}

static const char *label(const npu_checker *k, uint64_t task, char buf[32]) {
    return npu_task_label(task, npu_capture_host_graph(k->c), buf, 32);
}

// ---- rows ----------------------------------------------------------------------------------

static void check_joins(npu_checker *k) {
    const npu_capture *c = k->c;
    char text[32];
    npu_sanity_checked(k, NPU_RULE_LOST);
    for (int i = 0; i < c->core_row_count; i++)
        if (c->core_rows[i].start == 0)
            npu_sanity_note(k, NPU_RULE_LOST, "row %d, core %d", i, c->core_rows[i].core);
    if (c->level < 2)
        return;
    npu_sanity_checked(k, NPU_RULE_NO_CPU_ROW);
    npu_sanity_checked(k, NPU_RULE_NO_CORE_ROW);
    for (int i = 0; i < c->core_row_count; i++)
        if (c->core_rows[i].mate < 0)
            npu_sanity_note(k, NPU_RULE_NO_CPU_ROW, "%s, core %d, dispatch %u",
                            label(k, c->core_rows[i].task, text), c->core_rows[i].core,
                            c->core_rows[i].reg_task_id);
    for (int i = 0; i < c->cpu_row_count; i++)
        if (!c->cpu_rows[i].joined)
            npu_sanity_note(k, NPU_RULE_NO_CORE_ROW, "core %d, dispatch %u", c->cpu_rows[i].core,
                            c->cpu_rows[i].reg_task_id);
}

static void check_stamps(npu_checker *k, const npu_core_row *row) {
    const npu_cpu_row *mate = row->mate >= 0 ? &k->c->cpu_rows[row->mate] : NULL;
    char text[32];
    const char *name = label(k, row->task, text);
    int64_t receive = row->start - row->setup;
    if (receive > row->start || (mate != NULL && mate->dispatch > receive + NPU_TICK_SLACK))
        npu_sanity_note(k, NPU_RULE_RECEIVE,
                        "%s, core %d: dispatched %lld, received %lld, started %lld", name,
                        row->core, (long long)(mate != NULL ? mate->dispatch : 0),
                        (long long)receive, (long long)row->start);
    if (row->end < row->start)
        npu_sanity_note(k, NPU_RULE_END, "%s, core %d: %lld to %lld", name, row->core,
                        (long long)row->start, (long long)row->end);
    if (mate != NULL && mate->finish + NPU_TICK_SLACK < row->end)
        npu_sanity_note(k, NPU_RULE_FINISH, "%s, core %d: ends %lld, finishes %lld", name,
                        row->core, (long long)row->end, (long long)mate->finish);
}

// Rows of one core in the order of their starts.
static void check_core(npu_checker *k, int core) {
    const npu_capture *c = k->c;
    const npu_core_row *before = NULL; // the one that ends last so far
    int64_t flight[2] = {-1, -1};      // when the latest two known to be in flight finish
    char text[32], other[32];
    for (int i = k->core.first[core]; i < k->core.first[core + 1]; i++) {
        const npu_core_row *row = &c->core_rows[k->order[k->core.items[i]]];
        if (before != NULL && row->start < before->end)
            npu_sanity_note(k, NPU_RULE_OVERLAP, "core %d: %s starts %lld, %s ends %lld", core,
                            label(k, row->task, text), (long long)row->start,
                            label(k, before->task, other), (long long)before->end);
        if (before == NULL || row->end > before->end)
            before = row;
        if (row->mate < 0)
            continue;
        const npu_cpu_row *mate = &c->cpu_rows[row->mate];
        int slot = flight[0] <= flight[1] ? 0 : 1;
        if (flight[slot] > mate->dispatch + NPU_TICK_SLACK)
            npu_sanity_note(k, NPU_RULE_FLIGHT, "core %d: %s, dispatched %lld", core,
                            label(k, row->task, text), (long long)mate->dispatch);
        flight[slot] = mate->finish;
    }
}

typedef struct number { // of a dispatch
    uint64_t place;     // epoch and core
    uint32_t reg_task_id;
} number;

static int compare_numbers(const void *a, const void *b) {
    const number *x = a;
    const number *y = b;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return x->reg_task_id < y->reg_task_id ? -1 : x->reg_task_id > y->reg_task_id;
}

static npu_status check_repeats(npu_checker *k) {
    const npu_capture *c = k->c;
    number *numbers = malloc(((size_t)c->core_row_count + 1) * sizeof *numbers);
    if (numbers == NULL)
        return npu_fail_memory(k->err);
    for (int i = 0; i < c->core_row_count; i++) {
        const npu_core_row *row = &c->core_rows[i];
        numbers[i] = (number){(uint64_t)row->epoch << 32 | (uint32_t)row->core, row->reg_task_id};
    }
    qsort(numbers, (size_t)c->core_row_count, sizeof *numbers, compare_numbers);
    for (int i = 1; i < c->core_row_count; i++)
        if (compare_numbers(&numbers[i - 1], &numbers[i]) == 0)
            npu_sanity_note(k, NPU_RULE_REPEAT, "core %u, dispatch %u",
                            (unsigned)(numbers[i].place & UINT32_MAX), numbers[i].reg_task_id);
    free(numbers);
    return NPU_OK;
}

static npu_status check_rows(npu_checker *k) {
    static const npu_rule always[] = {NPU_RULE_RECEIVE, NPU_RULE_END, NPU_RULE_OVERLAP,
                                      NPU_RULE_REPEAT};
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        npu_sanity_checked(k, always[i]);
    if (k->c->cpu_row_count > 0) {
        npu_sanity_checked(k, NPU_RULE_FINISH);
        npu_sanity_checked(k, NPU_RULE_FLIGHT);
    }
    check_joins(k);
    for (int i = 0; i < k->order_count; i++)
        check_stamps(k, &k->c->core_rows[k->order[i]]);
    for (int core = 0; core < k->c->core_count; core++)
        check_core(k, core);
    return check_repeats(k);
}

// ---- schedulers ----------------------------------------------------------------------------

typedef struct span {
    int64_t start, end;
} span;

static int compare_spans(const void *a, const void *b) {
    const span *x = a;
    const span *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

// Records of one scheduler, sorted: all outer ones, or those of one kind (>= 0).
static int collect(const npu_checker *k, int stream, int kind, span *spans) {
    const npu_record_stream *s = &k->c->streams[stream];
    int count = 0;
    for (int i = s->first; i < s->first + s->count; i++) {
        const npu_record *record = &k->c->records[i];
        if (kind >= 0 ? record->kind == kind : npu_capture_outer(k->c, record->kind))
            spans[count++] = (span){record->start, record->end};
    }
    if (count > 0)
        qsort(spans, (size_t)count, sizeof *spans, compare_spans);
    return count;
}

static void check_stream(npu_checker *k, int stream, span *spans) {
    const npu_record_stream *s = &k->c->streams[stream];
    if (s->dropped > 0 || s->truncated)
        npu_sanity_note(k, NPU_RULE_DROPPED, "scheduler %d: %lld dropped%s", stream,
                        (long long)s->dropped, s->truncated ? ", cut off" : "");
    for (int i = s->first; i < s->first + s->count; i++)
        if (k->c->records[i].end < k->c->records[i].start)
            npu_sanity_note(k, NPU_RULE_RECORD, "scheduler %d: %s, %lld to %lld", stream,
                            k->c->kinds[k->c->records[i].kind], (long long)k->c->records[i].start,
                            (long long)k->c->records[i].end);
    int count = collect(k, stream, -1, spans);
    for (int i = 1; i < count; i++)
        if (spans[i].start < spans[i - 1].end)
            npu_sanity_note(k, NPU_RULE_PHASES,
                            "scheduler %d: one lasts until %lld, one starts %lld", stream,
                            (long long)spans[i - 1].end, (long long)spans[i].start);
}

// Does a span hold the stamp, give or take the slack?
static bool inside(const span *spans, int count, int64_t stamp) {
    int low = 0; // the first that starts behind the stamp
    for (int high = count; low < high;) {
        int middle = low + (high - low) / 2;
        if (spans[middle].start <= stamp + NPU_TICK_SLACK)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && spans[low - 1].end + NPU_TICK_SLACK >= stamp;
}

static void check_finishes(npu_checker *k, int stream, span *spans) {
    int count = collect(k, stream, NPU_PHASE_COMPLETE, spans);
    for (int i = 0; i < k->c->cpu_row_count; i++) {
        const npu_cpu_row *row = &k->c->cpu_rows[i];
        if (k->c->cores[row->core].thread == stream && !inside(spans, count, row->finish))
            npu_sanity_note(k, NPU_RULE_THREAD, "core %d, scheduler %d, dispatch %u, %lld",
                            row->core, stream, row->reg_task_id, (long long)row->finish);
    }
}

static void check_calls(npu_checker *k) {
    const npu_capture *c = k->c;
    npu_sanity_checked(k, NPU_RULE_CALLS);
    for (int i = 0; i < c->call_count; i++) {
        const npu_call *call = &c->calls[i];
        const npu_call *before = i > 0 && call[-1].lane == call->lane ? call - 1 : NULL;
        if (call->end < call->start || (before != NULL && call->start < before->end))
            npu_sanity_note(k, NPU_RULE_CALLS, "call %lld: %lld to %lld",
                            (long long)call->submit_idx, (long long)call->start,
                            (long long)call->end);
    }
}

static npu_status check_schedulers(npu_checker *k) {
    const npu_capture *c = k->c;
    if (c->call_count > 0)
        check_calls(k);
    if (c->record_count == 0)
        return NPU_OK;
    span *spans = malloc(((size_t)c->record_count + 1) * sizeof *spans);
    if (spans == NULL)
        return npu_fail_memory(k->err);
    npu_sanity_checked(k, NPU_RULE_DROPPED);
    npu_sanity_checked(k, NPU_RULE_RECORD);
    npu_sanity_checked(k, NPU_RULE_PHASES);
    for (int stream = 0; stream < c->stream_count; stream++) {
        check_stream(k, stream, spans);
        if (c->threaded && c->cpu_row_count > 0) {
            npu_sanity_checked(k, NPU_RULE_THREAD);
            check_finishes(k, stream, spans);
        }
    }
    free(spans);
    return NPU_OK;
}

// ---- the whole -----------------------------------------------------------------------------

typedef struct start_entry {
    int64_t start;
    int row;
} start_entry;

static int compare_starts(const void *a, const void *b) {
    const start_entry *x = a;
    const start_entry *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->row - y->row;
}

static int core_of(const void *data, int item) {
    const npu_checker *k = data;
    return k->c->core_rows[k->order[item]].core;
}

static npu_status sort_rows(npu_checker *k) {
    size_t count = (size_t)k->c->core_row_count;
    start_entry *entries = malloc((count + 1) * sizeof *entries);
    k->order = malloc((count + 1) * sizeof *k->order);
    if (entries == NULL || k->order == NULL) {
        free(entries);
        return npu_fail_memory(k->err);
    }
    for (int i = 0; i < k->c->core_row_count; i++)
        if (k->c->core_rows[i].start != 0)
            entries[k->order_count++] = (start_entry){k->c->core_rows[i].start, i};
    qsort(entries, (size_t)k->order_count, sizeof *entries, compare_starts);
    for (int i = 0; i < k->order_count; i++)
        k->order[i] = entries[i].row;
    free(entries);
    return npu_groups_make(&k->core, k->c->core_count, k->order_count, core_of, k, k->err);
}

npu_status npu_sanity_check(const npu_capture *capture, const npu_deps *deps, npu_sanity *sanity,
                            npu_error *err) {
    npu_checker k = {.c = capture, .deps = deps, .sanity = sanity, .err = err};
    *sanity = (npu_sanity){.broken = {0}};
    npu_status status = sort_rows(&k);
    if (status == NPU_OK)
        status = check_rows(&k);
    if (status == NPU_OK)
        status = check_schedulers(&k);
    if (status == NPU_OK && deps != NULL)
        status = npu_sanity_graph(&k);
    free(k.order);
    npu_groups_free(&k.core);
    return status;
}

int npu_sanity_broken(const npu_sanity *sanity) {
    int rules = 0;
    for (int i = 0; i < NPU_RULE_COUNT; i++)
        rules += sanity->broken[i] > 0;
    return rules;
}

void npu_sanity_print(FILE *out, const npu_sanity *sanity) {
    int checked = 0;
    for (int i = 0; i < NPU_RULE_COUNT; i++)
        checked += sanity->checked[i];
    int broken = npu_sanity_broken(sanity);
    if (broken == 0)
        fprintf(out, "  sanity: none of %d rules broken\n", checked);
    else
        fprintf(out, "  sanity: %d of %d rules broken\n", broken, checked);
    for (int i = 0; i < NPU_RULE_COUNT; i++)
        if (sanity->broken[i] > 0)
            fprintf(out, "    %8lld %s\n             first: %s\n", (long long)sanity->broken[i],
                    npu_rule_names[i], sanity->first[i]);
}
