// SPDX-License-Identifier: Apache-2.0
// Reads a figure off a trace.
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reading.h"
#include "yaml_tree.h"

// The rows of a kernel, and what they sum up to.
typedef struct selection {
    const npu_reading *reading;
    const npu_trace *trace;
    const npu_graph *graph;
    npu_row *rows; // copies, by task, then block
    int count;
} selection;

// '*' stands for any text.
static bool matches(const char *pattern, const char *name) {
    const char *after = NULL, *tried = NULL; // the last '*', and where its text ends so far
    while (*name != '\0') {
        if (*pattern == '*') {
            after = ++pattern;
            tried = name;
        } else if (*pattern == *name) {
            pattern++;
            name++;
        } else if (after != NULL) {
            pattern = after;
            name = ++tried;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

static int by_block(const void *a, const void *b) {
    const npu_row *x = a, *y = b;
    if (x->task != y->task)
        return x->task < y->task ? -1 : 1;
    if (x->block != y->block)
        return x->block < y->block ? -1 : 1;
    return (x->core > y->core) - (x->core < y->core);
}

static npu_status never_ran(const selection *s, npu_error *err) {
    const npu_graph *graph = s->graph;
    const char **names = calloc((size_t)graph->task_count + 1, sizeof *names);
    char hint[128];
    int count = 0;
    if (names == NULL)
        return npu_fail_memory(err);
    for (int i = 0; i < graph->task_count; i++)
        if (graph->tasks[i].engine != NPU_DUMMY)
            names[count++] = graph->tasks[i].kernel;
    npu_did_you_mean(s->reading->kernel, names, count, hint, sizeof hint);
    free(names);
    return npu_fail(err, NPU_BAD_INPUT, s->reading->kernel_pos, "no kernel '%s' ran%s",
                    s->reading->kernel, hint);
}

static npu_status select_rows(selection *s, npu_error *err) {
    const char *kernel = s->reading->kernel;
    assert(kernel != NULL && s->rows == NULL);
    s->rows = calloc((size_t)s->trace->row_count + 1, sizeof *s->rows);
    if (s->rows == NULL)
        return npu_fail_memory(err);
    for (int i = 0; i < s->trace->row_count; i++) {
        const npu_row *row = &s->trace->rows[i];
        const npu_task *task = &s->graph->tasks[row->task];
        if (matches(kernel, task->kernel) || matches(kernel, task->name))
            s->rows[s->count++] = *row;
    }
    qsort(s->rows, (size_t)s->count, sizeof *s->rows, by_block);
    return s->count > 0 ? NPU_OK : never_ran(s, err);
}

static double span(const selection *s) {
    assert(s->count > 0);
    double first = INFINITY, last = 0;
    for (int i = 0; i < s->count; i++) {
        first = fmin(first, s->rows[i].start);
        last = fmax(last, s->rows[i].end);
    }
    return last - first;
}

// With what the dispatcher takes before and after.
static double latency(const selection *s) {
    double first = INFINITY, last = 0;
    for (int i = 0; i < s->count; i++) {
        first = fmin(first, s->rows[i].dispatch);
        last = fmax(last, s->rows[i].finish);
    }
    return last - first;
}

typedef struct blocks {
    int count;
    double sum, max; // of their times
} blocks;

// A MIX block lasts from its first start to its last end.
static blocks count_blocks(const selection *s) {
    blocks b = {0};
    for (int i = 0, next; i < s->count; i = next) {
        const npu_row *row = &s->rows[i];
        double first = row->start, last = row->end;
        for (next = i + 1; next < s->count && s->rows[next].task == row->task &&
                           s->rows[next].block == row->block;
             next++) {
            first = fmin(first, s->rows[next].start);
            last = fmax(last, s->rows[next].end);
        }
        assert(last >= first && next > i);
        b.count++;
        b.sum += last - first;
        b.max = fmax(b.max, last - first);
    }
    return b;
}

static double core_time(const selection *s) {
    double sum = 0;
    for (int i = 0; i < s->count; i++)
        sum += s->rows[i].end - s->rows[i].start;
    return sum;
}

static double bytes(const selection *s, bool read, bool written) {
    double sum = 0;
    for (int i = 0; i < s->count; i++) {
        sum += read ? (double)s->rows[i].read_bytes : 0;
        sum += written ? (double)s->rows[i].write_bytes : 0;
    }
    return sum;
}

static npu_status rate(const selection *s, bool read, bool written, double *value, npu_error *err) {
    double time = span(s);
    if (!(time > 0))
        return npu_fail(err, NPU_BAD_INPUT, s->reading->kernel_pos,
                        "kernel '%s' takes no time, so it has no rate", s->reading->kernel);
    *value = bytes(s, read, written) / time;
    return NPU_OK;
}

// ---- busy pipes ----------------------------------------------------------------------------

// Which cores have the pipe that is asked for: as said, or as the pipe says.
static npu_status core_type(const selection *s, npu_engine_type *type, npu_error *err) {
    const npu_reading *r = s->reading;
    assert(r->quantity == NPU_READ_BUSY);
    bool ran[2] = {false, false};
    for (int i = 0; i < s->count; i++)
        ran[s->trace->cores[s->rows[i].core].type] = true;
    bool on_both = r->pipe == NPU_PIPE_S || r->pipe == NPU_PIPE_MTE2;
    *type = r->core;
    if (r->core == NPU_MIX && on_both && ran[NPU_AIC] && ran[NPU_AIV])
        return npu_fail(err, NPU_BAD_INPUT, r->kernel_pos,
                        "'%s' ran on AICs and AIVs, and both have the pipe %s; write 'busy aic' or "
                        "'busy aiv'",
                        r->kernel, npu_pipe_names[r->pipe]);
    if (r->core == NPU_MIX && on_both)
        *type = ran[NPU_AIC] ? NPU_AIC : NPU_AIV;
    else if (r->core == NPU_MIX)
        *type = r->pipe == NPU_PIPE_V || r->pipe == NPU_PIPE_MTE3 ? NPU_AIV : NPU_AIC;
    if (!ran[*type])
        return npu_fail(err, NPU_BAD_INPUT, r->kernel_pos,
                        "'%s' ran on no %s, which has the pipe %s", r->kernel,
                        *type == NPU_AIC ? "AIC" : "AIV", npu_pipe_names[r->pipe]);
    return NPU_OK;
}

// As the profiler shows it: summed over what a core ran, and the mean of the cores.
static npu_status busy(const selection *s, double *value, npu_error *err) {
    npu_engine_type type;
    npu_status status = core_type(s, &type, err);
    if (status)
        return status;
    bool *seen = calloc((size_t)s->trace->core_count + 1, sizeof *seen);
    if (seen == NULL)
        return npu_fail_memory(err);
    double sum = 0;
    int cores = 0;
    for (int i = 0; i < s->count; i++) {
        int core = s->rows[i].core;
        if (s->trace->cores[core].type != type)
            continue;
        sum += s->rows[i].busy[s->reading->pipe];
        cores += !seen[core];
        seen[core] = true;
    }
    free(seen);
    assert(cores > 0);
    *value = sum / cores;
    return NPU_OK;
}

// ---- all of them ---------------------------------------------------------------------------

static npu_status evaluate(const selection *s, double *value, npu_error *err) {
    blocks b = count_blocks(s);
    switch (s->reading->quantity) {
    case NPU_READ_TIME:
        *value = span(s);
        break;
    case NPU_READ_LATENCY:
        *value = latency(s);
        break;
    case NPU_READ_MEAN_TIME:
        *value = b.sum / b.count;
        break;
    case NPU_READ_MAX_TIME:
        *value = b.max;
        break;
    case NPU_READ_SUM_TIME:
        *value = b.sum;
        break;
    case NPU_READ_CORE_TIME:
        *value = core_time(s);
        break;
    case NPU_READ_BUSY:
        return busy(s, value, err);
    case NPU_READ_RATE:
        return rate(s, true, true, value, err);
    case NPU_READ_READ_RATE:
        return rate(s, true, false, value, err);
    case NPU_READ_WRITE_RATE:
        return rate(s, false, true, value, err);
    case NPU_READ_COUNT:
        *value = s->count;
        break;
    default:
        assert(s->reading->quantity == NPU_READ_BLOCKS);
        *value = b.count;
    }
    return NPU_OK;
}

npu_status npu_reading_value(const npu_reading *reading, const npu_trace *trace,
                             const npu_graph *graph, double *value, npu_error *err) {
    if (reading->quantity == NPU_READ_MAKESPAN) {
        *value = trace->makespan;
        return NPU_OK;
    }
    assert(reading->kernel != NULL);
    selection s = {.reading = reading, .trace = trace, .graph = graph};
    npu_status status = select_rows(&s, err);
    if (!status)
        status = evaluate(&s, value, err);
    free(s.rows);
    return status;
}
