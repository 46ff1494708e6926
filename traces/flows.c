// SPDX-License-Identifier: Apache-2.0
// The arrows of merged_swimlane.json. All end or begin in Worker View; docs/traces.md lists them.
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "perfetto_impl.h"

// Where an arrow touches a slice.
typedef struct anchor {
    int pid, tid;
    int64_t ts; // ns
} anchor;

// A slice in Worker View: a row, or a dummy's sliver.
typedef struct bar {
    int tid;
    int64_t begin, start, end; // ns; a row begins when it is received, its kernel starts later
    int slice;                 // id
} bar;

enum { MOST_BARS = 2, INSIDE_NS = 10 };

// The bars that arrows of a task touch, one per function, and the rows (or -1) whose finish
// completes the task and whose dispatch begins it.
typedef struct task_ends {
    bar bars[MOST_BARS];
    int count;
    int finished_by, dispatched_by;
} task_ends;

typedef struct arrows {
    npu_perfetto *p;
    task_ends *tasks;
    int next; // id
} arrows;

static void arrow(arrows *a, const char *name, anchor from, anchor to) {
    npu_emit *emit = &a->p->emit;
    npu_emit_line(
        emit,
        "\n{\"cat\":\"flow\",\"id\":%d,\"name\":\"%s\",\"ph\":\"s\",\"pid\":%d,\"tid\":%d,"
        "\"ts\":%s}",
        a->next, name, from.pid, from.tid, npu_us(from.ts).text);
    npu_emit_line(
        emit,
        "\n{\"cat\":\"flow\",\"id\":%d,\"name\":\"%s\",\"ph\":\"f\",\"pid\":%d,\"tid\":%d,"
        "\"ts\":%s,\"bp\":\"e\"}",
        a->next, name, to.pid, to.tid, npu_us(to.ts).text);
    a->next++;
}

static bar row_bar(const npu_perfetto *p, int row_index) {
    const npu_row *row = &p->trace->rows[row_index];
    return (bar){npu_core_tid(row->core), npu_perfetto_at(p, row->receive),
                 npu_perfetto_at(p, row->start), npu_perfetto_at(p, row->end), p->slice[row_index]};
}

// The bar that stands for all rows of a task on one type of core: the one that begins first,
// on the lower core. -1 when no row is of this type.
static int first_row(const npu_perfetto *p, int task, npu_engine_type type) {
    int best = -1;
    for (int i = p->index.task.first[task]; i < p->index.task.first[task + 1]; i++) {
        int index = p->index.task.items[i];
        const npu_row *row = &p->trace->rows[index];
        const npu_row *least = best >= 0 ? &p->trace->rows[best] : NULL;
        if (p->trace->cores[row->core].type != type)
            continue;
        if (least == NULL || row->receive < least->receive ||
            (row->receive == least->receive && row->core < least->core))
            best = index;
    }
    return best;
}

static task_ends find_ends(const npu_perfetto *p, int task) {
    task_ends found = {.count = 0, .finished_by = -1, .dispatched_by = -1};
    for (int type = NPU_AIC; type <= NPU_AIV; type++) {
        int row = first_row(p, task, (npu_engine_type)type);
        if (row >= 0)
            found.bars[found.count++] = row_bar(p, row);
    }
    assert(found.count <= MOST_BARS);
    const npu_row *rows = p->trace->rows;
    for (int i = p->index.task.first[task]; i < p->index.task.first[task + 1]; i++) {
        int row = p->index.task.items[i];
        if (found.finished_by < 0 || rows[row].finish > rows[found.finished_by].finish)
            found.finished_by = row;
        if (found.dispatched_by < 0 || rows[row].dispatch < rows[found.dispatched_by].dispatch)
            found.dispatched_by = row;
    }
    if (found.count == 0 && p->marker[task] >= 0) { // a dummy
        const npu_phase *phase = &p->trace->phases[p->marker[task]];
        int64_t ts = npu_perfetto_at(p, phase->start);
        found.bars[found.count++] =
            (bar){NPU_TID_AICPU + phase->thread, ts, ts, ts + NPU_MARKER_NS, p->marker_slice[task]};
    }
    return found;
}

static void dependency(arrows *a, bar from, bar to, int64_t outputs, int64_t inputs) {
    assert(from.begin <= from.end && to.begin <= to.end);
    // Received before its producer ended is no violation: that is early dispatch.
    int64_t slack = llround(2e9 / a->p->trace->clock_hz);
    const char *name = from.end > to.start + slack ? "hb_violation" : "dependency";
    npu_emit *emit = &a->p->emit;
    npu_emit_line(
        emit,
        "\n{\"cat\":\"flow\",\"id\":%d,\"name\":\"%s\",\"ph\":\"s\",\"pid\":%d,\"tid\":%d,"
        "\"ts\":%s,\"input_task_count\":%lld,\"output_task_count\":%lld,\"bind_id\":%d}",
        a->next, name, NPU_PID_WORKER, from.tid, npu_us(from.begin).text, (long long)inputs,
        (long long)outputs, from.slice);
    npu_emit_line(
        emit,
        "\n{\"cat\":\"flow\",\"id\":%d,\"name\":\"%s\",\"ph\":\"f\",\"pid\":%d,\"tid\":%d,"
        "\"ts\":%s,\"bp\":\"e\",\"input_task_count\":%lld,\"output_task_count\":%lld,"
        "\"bind_id\":%d}",
        a->next, name, NPU_PID_WORKER, to.tid, npu_us(to.begin).text, (long long)inputs,
        (long long)outputs, to.slice);
    a->next++;
}

static int64_t width(const npu_task *task) {
    return task->block_num > 1 ? task->block_num : 1;
}

static void dependencies(arrows *a) {
    const npu_perfetto *p = a->p;
    for (int pred = 0; pred < p->graph->task_count; pred++) {
        const task_ends *from = &a->tasks[pred];
        for (int i = p->index.succs.first[pred]; i < p->index.succs.first[pred + 1]; i++) {
            int succ = p->index.succs.items[i];
            const task_ends *to = &a->tasks[succ];
            for (int f = 0; f < from->count; f++)
                for (int t = 0; t < to->count; t++)
                    dependency(a, from->bars[f], to->bars[t], width(&p->graph->tasks[pred]),
                               width(&p->graph->tasks[succ]));
        }
    }
}

static int thread_of(const npu_perfetto *p, int row) {
    assert(row >= 0 && row < p->trace->row_count);
    return p->trace->cores[p->trace->rows[row].core].thread;
}

// The "complete" phase that saw a row finish; NULL when there is none.
static const npu_phase *seen_by(const npu_perfetto *p, int row) {
    int phase = npu_perfetto_complete_at(p, thread_of(p, row), p->trace->rows[row].finish);
    return phase >= 0 ? &p->trace->phases[phase] : NULL;
}

// An arrow must begin inside its slice.
static int64_t inside(int64_t begin, int64_t end) {
    return end - INSIDE_NS > begin ? end - INSIDE_NS : begin;
}

// From a task's bars to the "complete" phase that saw its last row finish.
static void completions(arrows *a) {
    const npu_perfetto *p = a->p;
    for (int task = 0; task < p->graph->task_count; task++) {
        const task_ends *ends = &a->tasks[task];
        const npu_phase *phase = ends->finished_by >= 0 ? seen_by(p, ends->finished_by) : NULL;
        if (phase == NULL)
            continue;
        double finish = p->trace->rows[ends->finished_by].finish;
        int64_t ts = npu_perfetto_at(p, finish > phase->start ? finish : phase->start);
        for (int i = 0; i < ends->count; i++) {
            bar from = ends->bars[i];
            arrow(a, "complete", (anchor){NPU_PID_WORKER, from.tid, inside(from.begin, from.end)},
                  (anchor){NPU_PID_SCHEDULER, npu_scheduler_tid(phase->thread), ts});
        }
    }
}

// From the "complete" phase that made a task ready to the task's first dispatch.
static void releases(arrows *a) {
    const npu_perfetto *p = a->p;
    for (int task = 0; task < p->graph->task_count; task++) {
        int last = -1; // row of the producers that finishes last
        for (int i = p->index.preds.first[task]; i < p->index.preds.first[task + 1]; i++) {
            int row = a->tasks[p->index.preds.items[i]].finished_by;
            if (row >= 0 && (last < 0 || p->trace->rows[row].finish > p->trace->rows[last].finish))
                last = row;
        }
        int first = a->tasks[task].dispatched_by;
        const npu_phase *phase = last >= 0 && first >= 0 ? seen_by(p, last) : NULL;
        // A task dispatched early has none: the arrow would point backwards.
        if (phase == NULL || p->trace->rows[first].dispatch < phase->end)
            continue;
        int64_t ts = inside(npu_perfetto_at(p, phase->start), npu_perfetto_at(p, phase->end));
        arrow(a, "complete\u2192ready",
              (anchor){NPU_PID_SCHEDULER, npu_scheduler_tid(phase->thread), ts},
              (anchor){NPU_PID_SCHEDULER, npu_scheduler_tid(thread_of(p, first)),
                       npu_perfetto_at(p, p->trace->rows[first].dispatch)});
    }
}

static void dispatches(arrows *a) {
    const npu_perfetto *p = a->p;
    for (int i = 0; i < p->trace->row_count; i++) {
        const npu_row *row = &p->trace->rows[i];
        arrow(a, "dispatch",
              (anchor){NPU_PID_SCHEDULER, npu_scheduler_tid(thread_of(p, i)),
                       npu_perfetto_at(p, row->dispatch)},
              (anchor){NPU_PID_WORKER, npu_core_tid(row->core), npu_perfetto_at(p, row->start)});
    }
}

// From a task's submit to each of its dispatches.
static void submissions(arrows *a) {
    const npu_perfetto *p = a->p;
    for (int s = 0; s < p->trace->submit_count; s++) {
        int task = p->trace->submits[s].task;
        if (task < 0)
            continue;
        int64_t end = npu_perfetto_at(p, p->trace->submits[s].end);
        for (int i = p->index.task.first[task]; i < p->index.task.first[task + 1]; i++) {
            int row = p->index.task.items[i];
            arrow(a, "submit\u2192dispatch",
                  (anchor){NPU_PID_ORCHESTRATOR, NPU_TID_ORCHESTRATOR, end},
                  (anchor){NPU_PID_SCHEDULER, npu_scheduler_tid(thread_of(p, row)),
                           npu_perfetto_at(p, p->trace->rows[row].dispatch)});
        }
    }
}

void npu_perfetto_flows(npu_perfetto *p) {
    arrows a = {.p = p};
    a.tasks = calloc((size_t)p->graph->task_count + 1, sizeof *a.tasks);
    if (a.tasks == NULL) {
        p->emit.status = npu_fail_memory(p->emit.err);
        return;
    }
    for (int task = 0; task < p->graph->task_count; task++)
        a.tasks[task] = find_ends(p, task);
    dependencies(&a);
    if (p->level >= 3) {
        completions(&a);
        releases(&a);
        dispatches(&a);
    }
    if (p->level >= 4)
        submissions(&a);
    free(a.tasks);
}
