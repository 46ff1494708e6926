// SPDX-License-Identifier: Apache-2.0
// The arrows of merged_swimlane.json. All end or begin in Worker View; docs/traces.md lists them.
#include <stdlib.h>

#include "perfetto_impl.h"

// Where an arrow touches a slice.
typedef struct anchor {
    int pid, tid;
    double ts;
    int slice; // id, or -1
} anchor;

// A slice in Worker View: a row, or a dummy's sliver.
typedef struct bar {
    int tid;
    double begin, end; // us
    int slice;
} bar;

enum { MOST_BARS = 3 };

// The bars that arrows of a task touch.
typedef struct task_bars {
    bar bars[MOST_BARS];
    int count;
} task_bars;

typedef struct arrows {
    npu_perfetto *p;
    task_bars *tasks;
    int next;
    json_t *from, *to; // one pair of objects for all arrows: only the values change
} arrows;

// The keys of an arrow's ends, in the order of the file. Counts are set for dependencies.
static json_t *arrow_end(const char *ph, bool counts) {
    json_t *json = json_pack("{s:s s:i s:s s:s s:i s:i s:f}", "cat", "flow", "id", 0, "name", "",
                             "ph", ph, "pid", 0, "tid", 0, "ts", 0.0);
    bool fits = json != NULL;
    if (ph[0] == 'f')
        fits = fits && json_object_set_new(json, "bp", json_string("e")) == 0;
    if (counts)
        fits = fits && json_object_set_new(json, "input_task_count", json_integer(1)) == 0 &&
               json_object_set_new(json, "output_task_count", json_integer(1)) == 0 &&
               json_object_set_new(json, "bind_id", json_integer(0)) == 0;
    if (fits)
        return json;
    json_decref(json);
    return NULL;
}

static void set_int(json_t *json, const char *key, json_int_t value) {
    json_integer_set(json_object_get(json, key), value);
}

static void close_arrows(arrows *a) {
    json_decref(a->from);
    json_decref(a->to);
    a->from = NULL;
    a->to = NULL;
}

// Starts a kind of arrow.
static bool open_arrows(arrows *a, const char *name, bool counts) {
    a->from = arrow_end("s", counts);
    a->to = arrow_end("f", counts);
    if (a->from != NULL && a->to != NULL &&
        json_object_set_new(a->from, "name", json_string(name)) == 0 &&
        json_object_set_new(a->to, "name", json_string(name)) == 0)
        return true;
    close_arrows(a);
    if (a->p->emit.status == NPU_OK)
        a->p->emit.status = npu_fail_memory(a->p->emit.err);
    return false;
}

static void emit_end(arrows *a, json_t *json, anchor at) {
    set_int(json, "id", a->next);
    set_int(json, "pid", at.pid);
    set_int(json, "tid", at.tid);
    set_int(json, "bind_id", at.slice);
    json_real_set(json_object_get(json, "ts"), at.ts);
    npu_emit_kept(&a->p->emit, "\n", json);
}

static void arrow(arrows *a, anchor from, anchor to) {
    emit_end(a, a->from, from);
    emit_end(a, a->to, to);
    a->next++;
}

static bar row_bar(const npu_perfetto *p, int row_index) {
    const npu_row *row = &p->trace->rows[row_index];
    return (bar){npu_core_tid(row->core), npu_perfetto_us(p, row->receive),
                 npu_perfetto_us(p, row->end), p->slice[row_index]};
}

// The bar of a task of several blocks that stands for all on one type of core: the one that
// begins first, on the lower core. -1 when no row is of this type.
static int spmd_row(const npu_perfetto *p, int task, npu_engine_type type) {
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

// All bars of a single block, one per function of an SPMD task, or a dummy's sliver.
static task_bars find_bars(const npu_perfetto *p, int task) {
    int begin = p->index.task.first[task];
    int end = p->index.task.first[task + 1];
    task_bars found = {.count = 0};
    if (begin == end && p->marker[task] >= 0) {
        const npu_phase *phase = &p->trace->phases[p->marker[task]];
        double ts = npu_perfetto_us(p, phase->start);
        found.bars[found.count++] =
            (bar){19000 + phase->thread, ts, ts + 0.02, p->marker_slice[task]};
    } else if (p->graph->tasks[task].block_num <= 1) {
        for (int i = begin; i < end && found.count < MOST_BARS; i++)
            found.bars[found.count++] = row_bar(p, p->index.task.items[i]);
    } else {
        for (int type = NPU_AIC; type <= NPU_AIV; type++) {
            int row = spmd_row(p, task, (npu_engine_type)type);
            if (row >= 0)
                found.bars[found.count++] = row_bar(p, row);
        }
    }
    return found;
}

static void dependency(arrows *a, bar from, bar to, int64_t outputs, int64_t inputs) {
    const char *name = from.end > to.begin ? "hb_violation" : "dependency";
    json_string_set(json_object_get(a->from, "name"), name);
    json_string_set(json_object_get(a->to, "name"), name);
    set_int(a->from, "input_task_count", inputs);
    set_int(a->from, "output_task_count", outputs);
    set_int(a->to, "input_task_count", inputs);
    set_int(a->to, "output_task_count", outputs);
    arrow(a, (anchor){NPU_PID_WORKER, from.tid, from.begin, from.slice},
          (anchor){NPU_PID_WORKER, to.tid, to.begin, to.slice});
}

static int64_t width(const npu_task *task) {
    return task->block_num > 1 ? task->block_num : 1;
}

static void dependencies(arrows *a) {
    const npu_perfetto *p = a->p;
    if (!open_arrows(a, "dependency", true))
        return;
    for (int pred = 0; pred < p->graph->task_count; pred++) {
        const task_bars *from = &a->tasks[pred];
        for (int i = p->index.succs.first[pred]; i < p->index.succs.first[pred + 1]; i++) {
            int succ = p->index.succs.items[i];
            const task_bars *to = &a->tasks[succ];
            for (int f = 0; f < from->count; f++)
                for (int t = 0; t < to->count; t++)
                    dependency(a, from->bars[f], to->bars[t], width(&p->graph->tasks[pred]),
                               width(&p->graph->tasks[succ]));
        }
    }
    close_arrows(a);
}

// The row whose finish completes the task, or -1.
static int last_row(const npu_perfetto *p, int task) {
    int last = -1;
    for (int i = p->index.task.first[task]; i < p->index.task.first[task + 1]; i++) {
        int row = p->index.task.items[i];
        if (last < 0 || p->trace->rows[row].finish > p->trace->rows[last].finish)
            last = row;
    }
    return last;
}

static int thread_of(const npu_perfetto *p, int row) {
    return p->trace->cores[p->trace->rows[row].core].thread;
}

// From a task's bars to the "complete" phase that saw its last row finish.
static void completions(arrows *a) {
    const npu_perfetto *p = a->p;
    if (!open_arrows(a, "complete", false))
        return;
    for (int task = 0; task < p->graph->task_count; task++) {
        int last = last_row(p, task);
        int phase_index =
            last < 0 ? -1
                     : npu_perfetto_complete_at(p, thread_of(p, last), p->trace->rows[last].finish);
        if (phase_index < 0)
            continue;
        const npu_phase *phase = &p->trace->phases[phase_index];
        double finish = p->trace->rows[last].finish;
        double ts = npu_perfetto_us(p, finish > phase->start ? finish : phase->start);
        for (int i = 0; i < a->tasks[task].count; i++) {
            bar from = a->tasks[task].bars[i]; // 0.01 us inside: an arrow must begin in its bar
            arrow(a, (anchor){NPU_PID_WORKER, from.tid, from.end - 0.01, from.slice},
                  (anchor){NPU_PID_SCHEDULER, npu_scheduler_tid(phase->thread), ts, -1});
        }
    }
    close_arrows(a);
}

// From the "complete" phase that made a task ready to the task's first dispatch.
static void releases(arrows *a) {
    const npu_perfetto *p = a->p;
    if (!open_arrows(a, "complete\u2192ready", false))
        return;
    for (int task = 0; task < p->graph->task_count; task++) {
        int last = -1; // row of the producers that finishes last
        for (int i = p->index.preds.first[task]; i < p->index.preds.first[task + 1]; i++) {
            int row = last_row(p, p->index.preds.items[i]);
            if (row >= 0 && (last < 0 || p->trace->rows[row].finish > p->trace->rows[last].finish))
                last = row;
        }
        int first = -1; // own row dispatched first
        for (int i = p->index.task.first[task]; i < p->index.task.first[task + 1]; i++) {
            int row = p->index.task.items[i];
            if (first < 0 || p->trace->rows[row].dispatch < p->trace->rows[first].dispatch)
                first = row;
        }
        if (last < 0 || first < 0)
            continue;
        int phase_index =
            npu_perfetto_complete_at(p, thread_of(p, last), p->trace->rows[last].finish);
        if (phase_index < 0)
            continue;
        const npu_phase *phase = &p->trace->phases[phase_index];
        double dispatch = p->trace->rows[first].dispatch;
        if (dispatch < phase->end) // dispatched early: the arrow would point backwards
            continue;
        arrow(a,
              (anchor){NPU_PID_SCHEDULER, npu_scheduler_tid(phase->thread),
                       npu_perfetto_us(p, phase->end) - 0.01, -1},
              (anchor){NPU_PID_SCHEDULER, npu_scheduler_tid(thread_of(p, first)),
                       npu_perfetto_us(p, dispatch), -1});
    }
    close_arrows(a);
}

static void dispatches(arrows *a) {
    const npu_perfetto *p = a->p;
    if (!open_arrows(a, "dispatch", false))
        return;
    for (int i = 0; i < p->trace->row_count; i++) {
        const npu_row *row = &p->trace->rows[i];
        arrow(a,
              (anchor){NPU_PID_SCHEDULER, npu_scheduler_tid(thread_of(p, i)),
                       npu_perfetto_us(p, row->dispatch), -1},
              (anchor){NPU_PID_WORKER, npu_core_tid(row->core), npu_perfetto_us(p, row->start),
                       p->slice[i]});
    }
    close_arrows(a);
}

// From a task's submit to each of its dispatches.
static void submissions(arrows *a) {
    const npu_perfetto *p = a->p;
    if (!open_arrows(a, "submit\u2192dispatch", false))
        return;
    for (int s = 0; s < p->trace->submit_count; s++) {
        int task = p->trace->submits[s].task;
        if (task < 0)
            continue;
        double end = npu_perfetto_us(p, p->trace->submits[s].end);
        for (int i = p->index.task.first[task]; i < p->index.task.first[task + 1]; i++) {
            int row = p->index.task.items[i];
            arrow(a, (anchor){NPU_PID_ORCHESTRATOR, 4000, end, -1},
                  (anchor){NPU_PID_SCHEDULER, npu_scheduler_tid(thread_of(p, row)),
                           npu_perfetto_us(p, p->trace->rows[row].dispatch), -1});
        }
    }
    close_arrows(a);
}

void npu_perfetto_flows(npu_perfetto *p) {
    arrows a = {.p = p};
    a.tasks = calloc((size_t)p->graph->task_count + 1, sizeof *a.tasks);
    if (a.tasks == NULL) {
        p->emit.status = npu_fail_memory(p->emit.err);
        return;
    }
    for (int task = 0; task < p->graph->task_count; task++)
        a.tasks[task] = find_bars(p, task);
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
