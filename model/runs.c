// SPDX-License-Identifier: Apache-2.0
// Streams the first block of every task, to see what cannot be seen from the outside: regions
// that leave their tensor, and rows that are shorter than a line.
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "build.h"

// The first task of a function is read well into its loops, the others that differ by their
// arguments only as far as errors usually need.
enum { FIRST_OPS = 4096, OTHER_OPS = 128 };

typedef struct arg_runs { // of one argument
    int64_t shortest;     // run below the line; 0 when there is none
    int64_t count;        // of such runs
    bool added;           // by an atomic store
    bool plain;           // moved in any other way
} arg_runs;

static void note_op(const npu_op *op, const npu_walls *walls, const npu_task *task,
                    arg_runs *runs) {
    if (op->kind != NPU_OP_LOAD && op->kind != NPU_OP_STORE)
        return;
    assert(op->gm.arg >= 0 && op->gm.arg < task->arg_count);
    arg_runs *r = &runs[op->gm.arg];
    if (op->kind == NPU_OP_STORE && op->atomic)
        r->added = true;
    else
        r->plain = true;
    if (op->gm.run >= walls->line)
        return;
    if (r->count == 0 || op->gm.run < r->shortest)
        r->shortest = op->gm.run;
    r->count += (int64_t)op->gm.rows[0] * op->gm.rows[1];
}

static npu_status stream(const npu_task *task, npu_engine_type core, int64_t block, int most,
                         const npu_walls *walls, arg_runs *runs, npu_error *err) {
    npu_stream s;
    npu_op op;
    bool more = true;
    npu_stream_open(&s, task->program, core, block, 0);
    for (int i = 0; i < most && more; i++) {
        npu_error inner = {0};
        npu_status status = npu_stream_next(&s, &op, &more, &inner);
        if (status != NPU_OK)
            return npu_fail(err, status, (npu_pos){0}, "%s (block %" PRId64 " of task '%s')",
                            inner.text, block, task->name);
        if (more && runs != NULL)
            note_op(&op, walls, task, runs);
    }
    return NPU_OK;
}

static npu_status stream_task(const npu_task *task, bool first, const npu_walls *walls,
                              arg_runs *runs, npu_error *err) {
    npu_status status = NPU_OK;
    int most = first ? FIRST_OPS : OTHER_OPS;
    for (int side = 0; side < 2 && status == NPU_OK; side++) {
        npu_engine_type core = side == 0 ? NPU_AIC : NPU_AIV;
        if (task->program->body[side].stmt_count == 0)
            continue;
        status = stream(task, core, 0, most, walls, first ? runs : NULL, err);
        // The last block finds grids that do not fit.
        if (status == NPU_OK && task->block_num > 1)
            status = stream(task, core, task->block_num - 1, most, walls, NULL, err);
    }
    return status;
}

static void warn_runs(const npu_graph *graph, const npu_task *task, const arg_runs *runs,
                      const npu_walls *walls, npu_warnings *warnings) {
    for (int i = 0; i < task->arg_count; i++) {
        const npu_arg *arg = &graph->args[task->first_arg + i];
        if (runs[i].count < 2) // a single short access is no pattern
            continue;
        npu_warn(warnings, arg->pos,
                 "task '%s' argument %s: rows of %" PRId64 " B are shorter than a %" PRId64
                 " B line: up to %.1fx the bytes move",
                 task->kernel, arg->name, runs[i].shortest, walls->line,
                 (double)walls->line / (double)runs[i].shortest);
    }
}

static npu_status check_all(const npu_graph *graph, const npu_walls *walls, int *first_of,
                            arg_runs *runs, bool *atomic, npu_warnings *warnings, npu_error *err) {
    npu_status status = NPU_OK;
    for (int i = 0; i < graph->func_count; i++)
        first_of[i] = -1;
    for (int i = 0; status == NPU_OK && i < graph->task_count; i++) {
        const npu_task *task = &graph->tasks[i];
        if (task->program == NULL)
            continue;
        bool first = first_of[task->func] < 0;
        if (first)
            first_of[task->func] = i;
        status = stream_task(task, first, walls, runs + task->first_arg, err);
        if (status == NPU_OK && first)
            warn_runs(graph, task, runs + task->first_arg, walls, warnings);
        const npu_task *like = &graph->tasks[first_of[task->func]];
        for (int a = 0; a < task->arg_count && a < like->arg_count; a++) {
            const arg_runs *r = &runs[like->first_arg + a];
            atomic[task->first_arg + a] = r->added && !r->plain;
        }
    }
    return status;
}

npu_status npu_check_runs(const npu_graph *graph, const npu_walls *walls, bool *atomic,
                          npu_warnings *warnings, npu_error *err) {
    // Per function: the first task, whose arguments stand for those of the others.
    int *first_of = calloc((size_t)graph->func_count + 1, sizeof *first_of);
    arg_runs *runs = calloc((size_t)graph->arg_count + 1, sizeof *runs);
    npu_status status = first_of != NULL && runs != NULL
                            ? check_all(graph, walls, first_of, runs, atomic, warnings, err)
                            : npu_fail_memory(err);
    free(first_of);
    free(runs);
    return status;
}
