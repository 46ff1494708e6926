// SPDX-License-Identifier: Apache-2.0
#include "gaps.h"

#include <assert.h>
#include <stdlib.h>

#include "index.h"

const char *const npu_cause_names[] = {"finish detection", "submit", "undispatched", "pick-up",
                                       NULL};

typedef struct maker {
    const npu_trace *trace;
    const npu_graph *graph;
    const npu_metrics *metrics;
    npu_gaps *gaps;
    npu_index index;
    double *ended;     // by task: when its last row ended; of a dummy, its producers' last
    double *seen;      // by task: when the AICPU had seen all its rows finish; dummies alike
    double *started;   // by task: its first start; of a dummy, -1
    double *submitted; // by task: the end of its submit, 0 without one
    double *longest;   // by task: the longest path that ends with it
    int *before;       // by task: the task before it on that path, -1 for none
} maker;

static double later(double a, double b) {
    return a > b ? a : b;
}

static double clamp(double value, double low, double high) {
    return value < low ? low : value > high ? high : value;
}

static void find_times(maker *m) {
    const npu_index *index = &m->index;
    assert(index->task.first != NULL && index->preds.first != NULL);
    for (int i = 0; i < m->trace->submit_count; i++)
        if (m->trace->submits[i].task >= 0)
            m->submitted[m->trace->submits[i].task] = m->trace->submits[i].end;
    for (int task = 0; task < m->graph->task_count; task++) {
        int begin = index->task.first[task], end = index->task.first[task + 1];
        m->started[task] = -1;
        for (int i = begin; i < end; i++) {
            const npu_row *row = &m->trace->rows[index->task.items[i]];
            if (i == begin) // rows come by start
                m->started[task] = row->start;
            m->ended[task] = later(m->ended[task], row->end);
            m->seen[task] = later(m->seen[task], row->finish);
        }
        if (begin < end)
            continue;
        for (int i = index->preds.first[task]; i < index->preds.first[task + 1]; i++) {
            m->ended[task] = later(m->ended[task], m->ended[index->preds.items[i]]);
            m->seen[task] = later(m->seen[task], m->seen[index->preds.items[i]]);
        }
    }
}

// When the last producer of a task had ended (or, of `times` seen, was seen to have); 0 without.
static double of_producers(const maker *m, const double *times, int task) {
    double last = 0;
    const npu_groups *preds = &m->index.preds;
    assert(preds->first != NULL);
    for (int i = preds->first[task]; i < preds->first[task + 1]; i++)
        last = later(last, times[preds->items[i]]);
    return last;
}

// Splits [from, the row's start]. `seen` is when the AICPU knew of all that the row waited for.
static void split(const maker *m, const npu_row *row, double from, double seen, double *part) {
    double at = from;
    double until[NPU_CAUSE_COUNT] = {seen, m->submitted[row->task], row->dispatch, row->start};
    // Sent before: staged early or queued behind another, the core goes on by itself when it may.
    bool sent = row->dispatch <= from;
    if (sent)
        until[NPU_CAUSE_SUBMIT] = until[NPU_CAUSE_DISPATCH] = from;
    for (int i = 0; i < NPU_CAUSE_COUNT; i++) {
        double end = clamp(until[i], at, row->start);
        part[i] = end - at;
        at = end;
    }
}

// ---- the chain -----------------------------------------------------------------------------

static void split_chain(maker *m) {
    const npu_metrics *metrics = m->metrics;
    const npu_chain_link *before = NULL;
    for (int i = 0; i < metrics->chain_count; i++) {
        const npu_chain_link *link = &metrics->chain[i];
        const npu_row *row = &m->trace->rows[link->row];
        double from = row->start - link->wait;
        double seen = of_producers(m, m->seen, link->task);
        // A core that was taken is known to be free from its row's finish on, unless the block
        // was sent there before and waited in its slot.
        if (link->reason == NPU_WAIT_CORE && before != NULL && row->dispatch > from)
            seen = later(seen, m->trace->rows[before->row].finish);
        split(m, row, from, seen, m->gaps->gaps[i].part);
        for (int c = 0; c < NPU_CAUSE_COUNT; c++)
            m->gaps->part[c] += m->gaps->gaps[i].part[c];
        before = link;
    }
    m->gaps->part[NPU_CAUSE_DETECT] += metrics->chain_tail;
}

// ---- the cores -----------------------------------------------------------------------------

static void split_core(maker *m, int core) {
    npu_core_time *sums = &m->gaps->cores[m->trace->cores[core].type];
    const npu_groups *rows = &m->index.core;
    assert(rows->first != NULL);
    double free_since = 0, seen_free = 0;
    for (int i = rows->first[core]; i < rows->first[core + 1]; i++) {
        const npu_row *row = &m->trace->rows[rows->items[i]];
        double ended = of_producers(m, m->ended, row->task);
        double from = clamp(ended, free_since, row->start);
        double seen = of_producers(m, m->seen, row->task);
        if (row->dispatch > free_since)
            seen = later(seen, seen_free);
        double part[NPU_CAUSE_COUNT];
        split(m, row, from, seen, part);
        sums->data += from - free_since;
        sums->kernel += row->end - row->start;
        for (int c = 0; c < NPU_CAUSE_COUNT; c++)
            sums->part[c] += part[c];
        free_since = row->end;
        seen_free = row->finish;
    }
    sums->cores++;
    sums->no_work += m->trace->makespan - free_since;
}

// ---- the static path -----------------------------------------------------------------------

static double length_of(const maker *m, int task) {
    return m->started[task] < 0 ? 0 : m->ended[task] - m->started[task];
}

static bool keeps(const maker *m, int pred, int succ) {
    if (m->started[succ] < 0) // a dummy takes no time
        return true;
    double tick = m->trace->clock_hz > 0 ? 1e9 / m->trace->clock_hz : 0;
    return m->ended[pred] <= m->started[succ] + 2 * tick && m->started[pred] < m->started[succ];
}

static npu_status find_path(maker *m, npu_error *err) {
    const npu_groups *preds = &m->index.preds;
    int last = -1, count = 0;
    for (int task = 0; task < m->graph->task_count; task++) {
        m->before[task] = -1;
        for (int i = preds->first[task]; i < preds->first[task + 1]; i++) {
            int pred = preds->items[i];
            if (keeps(m, pred, task) && m->longest[pred] > m->longest[task]) {
                m->longest[task] = m->longest[pred];
                m->before[task] = pred;
            }
        }
        m->longest[task] += length_of(m, task);
        if (last < 0 || m->longest[task] > m->longest[last])
            last = task;
    }
    for (int task = last; task >= 0; task = m->before[task])
        count += m->started[task] >= 0;
    m->gaps->path = calloc((size_t)count + 1, sizeof *m->gaps->path);
    if (m->gaps->path == NULL)
        return npu_fail_memory(err);
    m->gaps->path_count = count;
    m->gaps->path_length = last >= 0 ? m->longest[last] : 0;
    for (int task = last; task >= 0; task = m->before[task])
        if (m->started[task] >= 0)
            m->gaps->path[--count] = (npu_static_link){task, length_of(m, task)};
    return NPU_OK;
}

// ---- all together --------------------------------------------------------------------------

static npu_status allocate(maker *m, npu_error *err) {
    size_t tasks = (size_t)m->graph->task_count + 1;
    m->ended = calloc(tasks, sizeof *m->ended);
    m->seen = calloc(tasks, sizeof *m->seen);
    m->started = calloc(tasks, sizeof *m->started);
    m->submitted = calloc(tasks, sizeof *m->submitted);
    m->longest = calloc(tasks, sizeof *m->longest);
    m->before = calloc(tasks, sizeof *m->before);
    m->gaps->gaps = calloc((size_t)m->metrics->chain_count + 1, sizeof *m->gaps->gaps);
    bool room = m->ended != NULL && m->seen != NULL && m->started != NULL && m->submitted != NULL &&
                m->longest != NULL && m->before != NULL && m->gaps->gaps != NULL;
    return room ? npu_index_make(m->trace, m->graph, &m->index, err) : npu_fail_memory(err);
}

npu_status npu_gaps_make(const npu_trace *trace, const npu_graph *graph, const npu_metrics *metrics,
                         npu_gaps *gaps, npu_error *err) {
    *gaps = (npu_gaps){0};
    maker m = {.trace = trace, .graph = graph, .metrics = metrics, .gaps = gaps};
    npu_status status = allocate(&m, err);
    if (!status) {
        find_times(&m);
        split_chain(&m);
        for (int core = 0; core < trace->core_count; core++)
            split_core(&m, core);
        status = find_path(&m, err);
    }
    npu_index_free(&m.index);
    free(m.ended);
    free(m.seen);
    free(m.started);
    free(m.submitted);
    free(m.longest);
    free(m.before);
    return status;
}

void npu_gaps_free(npu_gaps *gaps) {
    free(gaps->gaps);
    free(gaps->path);
    *gaps = (npu_gaps){0};
}
