// SPDX-License-Identifier: Apache-2.0
#include "metrics.h"

#include <assert.h>
#include <stdlib.h>

#include "metrics_impl.h"

// Sums of one kernel on one type of core.
typedef struct half_sums {
    double time;
    double busy[NPU_PIPE_COUNT];
} half_sums;

typedef struct kernel_sums {
    half_sums half[2]; // NPU_AIC, NPU_AIV
    double block_time;
} kernel_sums;

typedef struct maker {
    const npu_trace *trace;
    const npu_graph *graph;
    npu_index index;
    npu_metrics *metrics;
    kernel_sums *sums;              // by function
    npu_groups func;                // rows of a function
    double *head;                   // by row
    double *sorted;                 // as long as the rows
    double *first_start, *last_end; // by block, of one task
} maker;

static int compare(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double mean(const double *values, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += values[i];
    return sum / count;
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static void count_heads(maker *m) {
    const npu_groups *by_core = &m->index.core;
    for (int core = 0; core < m->trace->core_count; core++) {
        double free_since = -1;
        for (int i = by_core->first[core]; i < by_core->first[core + 1]; i++) {
            const npu_row *row = &m->trace->rows[by_core->items[i]];
            double from = row->dispatch > free_since ? row->dispatch : free_since;
            double head = row->start - from;
            m->head[by_core->items[i]] = head > 0 ? head : 0;
            free_since = row->end;
        }
    }
}

static void count_row(maker *m, int row_index) {
    const npu_row *row = &m->trace->rows[row_index];
    int func = m->graph->tasks[row->task].func;
    assert(func >= 0 && func < m->graph->func_count);
    npu_kernel_metrics *kernel = &m->metrics->kernels[func];
    npu_engine_type type = m->trace->cores[row->core].type;
    assert(type == NPU_AIC || type == NPU_AIV);
    half_sums *half = &m->sums[func].half[type];
    double time = row->end - row->start;
    half->time += time;
    for (int pipe = 0; pipe < NPU_PIPE_COUNT; pipe++)
        half->busy[pipe] += row->busy[pipe];
    kernel->rows++;
    kernel->core_time += time;
    kernel->read_bytes += row->read_bytes;
    kernel->write_bytes += row->write_bytes;
    m->metrics->core_time += time;
    *(type == NPU_AIC ? &m->metrics->aic_busy : &m->metrics->aiv_busy) += time;
}

// The time of each block of a task: from its first start to its last end.
static void count_blocks(maker *m, int task_index) {
    const npu_task *task = &m->graph->tasks[task_index];
    npu_kernel_metrics *kernel = &m->metrics->kernels[task->func];
    const npu_groups *by_task = &m->index.task;
    for (int i = by_task->first[task_index]; i < by_task->first[task_index + 1]; i++) {
        const npu_row *row = &m->trace->rows[by_task->items[i]];
        m->first_start[row->block] = -1;
    }
    for (int i = by_task->first[task_index]; i < by_task->first[task_index + 1]; i++) {
        const npu_row *row = &m->trace->rows[by_task->items[i]];
        double *first = &m->first_start[row->block];
        double *last = &m->last_end[row->block];
        if (*first < 0) // rows come by start
            *last = *first = row->start;
        *last = row->end > *last ? row->end : *last;
    }
    for (int64_t block = 0; block < task->block_num; block++) {
        double time = m->last_end[block] - m->first_start[block];
        m->sums[task->func].block_time += time;
        kernel->block_max = time > kernel->block_max ? time : kernel->block_max;
    }
    kernel->tasks++;
    kernel->blocks += task->block_num;
    kernel->name = m->graph->funcs[task->func].name;
    kernel->engine = task->engine;
}

static void find_bound(const kernel_sums *sums, npu_kernel_metrics *kernel) {
    kernel->bound_share = -1;
    for (int type = NPU_AIC; type <= NPU_AIV; type++) {
        const half_sums *half = &sums->half[type];
        for (int pipe = 0; pipe < NPU_PIPE_COUNT && half->time > 0; pipe++) {
            double share = half->busy[pipe] / half->time;
            if (share <= kernel->bound_share)
                continue;
            kernel->bound_core = (npu_engine_type)type;
            kernel->bound_pipe = (npu_pipe)pipe;
            kernel->bound_share = share;
        }
    }
    if (kernel->bound_share < 0)
        kernel->bound_share = 0;
}

static void finish_kernel(maker *m, int func) {
    npu_kernel_metrics *kernel = &m->metrics->kernels[func];
    int begin = m->func.first[func];
    int rows = m->func.first[func + 1] - begin;
    if (rows == 0)
        return;
    for (int i = 0; i < rows; i++)
        m->sorted[i] = m->head[m->func.items[begin + i]];
    kernel->head_mean = mean(m->sorted, rows);
    kernel->head_median = median(m->sorted, rows);
    for (int i = 0; i < rows; i++) {
        const npu_row *row = &m->trace->rows[m->func.items[begin + i]];
        m->sorted[i] = row->finish - row->end;
    }
    kernel->tail_mean = mean(m->sorted, rows);
    kernel->tail_median = median(m->sorted, rows);
    kernel->block_mean = m->sums[func].block_time / (double)kernel->blocks;
    if (m->metrics->core_time > 0)
        kernel->core_share = kernel->core_time / m->metrics->core_time;
    find_bound(&m->sums[func], kernel);
}

// Turns sums of time into shares of the makespan.
static void finish_die(maker *m, const double *aicpu_ns) {
    npu_metrics *metrics = m->metrics;
    int aic = 0;
    for (int core = 0; core < m->trace->core_count; core++)
        aic += m->trace->cores[core].type == NPU_AIC;
    int aiv = m->trace->core_count - aic;
    double span = metrics->makespan;
    metrics->aic_busy = span > 0 && aic > 0 ? metrics->aic_busy / (span * aic) : 0;
    metrics->aiv_busy = span > 0 && aiv > 0 ? metrics->aiv_busy / (span * aiv) : 0;
    assert(metrics->aic_busy <= 1 + 1e-9 && metrics->aiv_busy <= 1 + 1e-9);
    for (int i = 0; i < metrics->aicpu_count; i++)
        metrics->aicpu_busy[i] = span > 0 ? aicpu_ns[i] / span : 0;
}

static int row_func(const void *data, int item) {
    const maker *m = data;
    return m->graph->tasks[m->trace->rows[item].task].func;
}

static npu_status allocate(maker *m, npu_error *err) {
    npu_metrics *metrics = m->metrics;
    int64_t blocks = 1; // of the widest task
    for (int task = 0; task < m->graph->task_count; task++)
        blocks =
            m->graph->tasks[task].block_num > blocks ? m->graph->tasks[task].block_num : blocks;
    assert(blocks <= (int64_t)m->trace->row_count + 1 && "the trace must have been verified");
    size_t rows = (size_t)m->trace->row_count + 1;
    metrics->kernels = calloc((size_t)m->graph->func_count + 1, sizeof *metrics->kernels);
    metrics->aicpu_busy = calloc((size_t)metrics->aicpu_count + 1, sizeof *metrics->aicpu_busy);
    m->sums = calloc((size_t)m->graph->func_count + 1, sizeof *m->sums);
    m->head = calloc(rows, sizeof *m->head);
    m->sorted = calloc(rows, sizeof *m->sorted);
    m->first_start = calloc((size_t)blocks, sizeof *m->first_start);
    m->last_end = calloc((size_t)blocks, sizeof *m->last_end);
    if (metrics->kernels == NULL || metrics->aicpu_busy == NULL || m->sums == NULL ||
        m->head == NULL || m->sorted == NULL || m->first_start == NULL || m->last_end == NULL)
        return npu_fail_memory(err);
    npu_status status = npu_index_make(m->trace, m->graph, &m->index, err);
    if (status == NPU_OK)
        status =
            npu_groups_make(&m->func, m->graph->func_count, m->trace->row_count, row_func, m, err);
    return status;
}

static void compute(maker *m, const double *aicpu_ns) {
    assert(m->index.core.first != NULL && m->index.task.first != NULL && m->func.first != NULL);
    count_heads(m);
    for (int row = 0; row < m->trace->row_count; row++)
        count_row(m, row);
    for (int task = 0; task < m->graph->task_count; task++) {
        if (npu_task_cores(&m->graph->tasks[task]) == 0)
            m->metrics->dummies++;
        else
            count_blocks(m, task);
    }
    for (int func = 0; func < m->graph->func_count; func++)
        finish_kernel(m, func);
    finish_die(m, aicpu_ns);
}

npu_status npu_metrics_make(const npu_trace *trace, const npu_graph *graph, const double *aicpu_ns,
                            int aicpu_count, npu_metrics *metrics, npu_error *err) {
    *metrics = (npu_metrics){
        .makespan = trace->makespan, .kernel_count = graph->func_count, .aicpu_count = aicpu_count};
    maker m = {.trace = trace, .graph = graph, .metrics = metrics};
    npu_status status = allocate(&m, err);
    if (status == NPU_OK) {
        compute(&m, aicpu_ns);
        status = npu_chain_make(trace, graph, &m.index, metrics, err);
    }
    npu_index_free(&m.index);
    npu_groups_free(&m.func);
    free(m.sums);
    free(m.head);
    free(m.sorted);
    free(m.first_start);
    free(m.last_end);
    return status;
}

void npu_metrics_free(npu_metrics *metrics) {
    free(metrics->kernels);
    free(metrics->aicpu_busy);
    free(metrics->chain);
    *metrics = (npu_metrics){0};
}
