// SPDX-License-Identifier: Apache-2.0
#include "perfetto.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "perfetto_impl.h"

double npu_perfetto_us(const npu_perfetto *p, double ns) {
    return (double)(npu_trace_ticks(p->trace, ns) - p->origin) * 1e6 / p->trace->clock_hz;
}

// From ticks, not from two figures in us: their difference would not be a whole tick.
static double us_between(const npu_perfetto *p, double from, double to) {
    return (double)(npu_trace_ticks(p->trace, to) - npu_trace_ticks(p->trace, from)) * 1e6 /
           p->trace->clock_hz;
}

void npu_perfetto_event(npu_perfetto *p, json_t *event) {
    npu_emit_item(&p->emit, "\n", event);
}

int npu_perfetto_complete_at(const npu_perfetto *p, int thread, double ns) {
    int low = p->completes.first[thread];
    int end = p->completes.first[thread + 1];
    for (int high = end; low < high;) { // the first that ends at or after ns
        int middle = low + (high - low) / 2;
        if (p->trace->phases[p->completes.items[middle]].end < ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end ? p->completes.items[low] : -1;
}

static void name_process(npu_perfetto *p, int pid, const char *name) {
    npu_perfetto_event(p, json_pack("{s:{s:s} s:s s:s s:s s:i}", "args", "name", name, "cat",
                                    "__metadata", "name", "process_name", "ph", "M", "pid", pid));
    npu_perfetto_event(p, json_pack("{s:{s:i} s:s s:s s:s s:i}", "args", "sort_index", pid, "cat",
                                    "__metadata", "name", "process_sort_index", "ph", "M", "pid",
                                    pid));
}

static void name_thread(npu_perfetto *p, int pid, int tid, const char *prefix, int number) {
    char name[32];
    snprintf(name, sizeof name, "%s_%d", prefix, number);
    npu_perfetto_event(p, json_pack("{s:{s:s} s:s s:s s:s s:i s:i}", "args", "name", name, "cat",
                                    "__metadata", "name", "thread_name", "ph", "M", "pid", pid,
                                    "tid", tid));
}

static const char *core_prefix(const npu_trace *trace, int core) {
    return trace->cores[core].type == NPU_AIC ? "AIC" : "AIV";
}

static bool says_spmd(const char *name) {
    for (; *name != '\0'; name++)
        if (tolower((unsigned char)name[0]) == 's' && tolower((unsigned char)name[1]) == 'p' &&
            tolower((unsigned char)name[2]) == 'm' && tolower((unsigned char)name[3]) == 'd')
            return true;
    return false;
}

// "name(r1t0)", with _spmd behind the name of a task of several blocks.
static void slice_name(const npu_perfetto *p, const npu_row *row, char *buf, int size) {
    const npu_task *task = &p->graph->tasks[row->task];
    char name[256];
    npu_func_name(&p->graph->funcs[task->func], p->trace->cores[row->core].type, name,
                  (int)sizeof name);
    snprintf(buf, (size_t)size, "%s%s(r1t%d)", name,
             task->block_num > 1 && !says_spmd(name) ? "_spmd" : "", row->task);
}

// "2: [r1t0, r1t3]" in a fresh text; NULL when memory runs out.
static char *hint(const npu_groups *groups, int task) {
    int count = groups->first[task + 1] - groups->first[task];
    size_t size = (size_t)count * 16 + 32; // "r1t2147483647, " is 15 long
    char *text = malloc(size);
    if (text == NULL)
        return NULL;
    size_t used = (size_t)snprintf(text, size, "%d: [", count);
    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, size - used, "%sr1t%d", i > 0 ? ", " : "",
                                 groups->items[groups->first[task] + i]);
    snprintf(text + used, size - used, "]");
    return text;
}

static void worker_slice(npu_perfetto *p, int row_index, const char *fanout, const char *fanin) {
    const npu_row *row = &p->trace->rows[row_index];
    npu_engine_type type = p->trace->cores[row->core].type;
    char event_hint[80];
    char name[300];
    snprintf(event_hint, sizeof event_hint, "Task:r1t%d, FuncId:%d, CoreId:%d", row->task,
             npu_task_func_id(p->graph, &p->graph->tasks[row->task], type), row->core);
    slice_name(p, row, name, (int)sizeof name);
    double dur = us_between(p, row->receive, row->end);
    p->slice[row_index] = p->next_event++;
    npu_perfetto_event(
        p, json_pack("{s:{s:s s:s s:s s:f s:f s:f s:I} s:s s:i s:s s:s s:i s:i s:f s:f}", "args",
                     "event-hint", event_hint, "fanout-hint", fanout, "fanin-hint", fanin,
                     "duration-us", dur, "kernel-duration-us", us_between(p, row->start, row->end),
                     "local_setup_us", us_between(p, row->receive, row->start), "taskId",
                     (json_int_t)npu_task_id(row->task), "cat", "event", "id", p->slice[row_index],
                     "name", name, "ph", "X", "pid", NPU_PID_WORKER, "tid", npu_core_tid(row->core),
                     "ts", npu_perfetto_us(p, row->receive), "dur", dur));
}

static void worker_view(npu_perfetto *p) {
    const npu_trace *trace = p->trace;
    name_process(p, NPU_PID_WORKER, "Worker View");
    for (int core = 0; core < trace->core_count; core++)
        if (p->index.core.first[core + 1] > p->index.core.first[core])
            name_thread(p, NPU_PID_WORKER, npu_core_tid(core), core_prefix(trace, core), core);
    for (int thread = 0; thread < trace->scheduler_count + (p->level >= 4) && p->level >= 3;
         thread++)
        name_thread(p, NPU_PID_WORKER, 19000 + thread, "AICPU", thread);
    for (int task = 0; task < p->graph->task_count; task++) {
        int begin = p->index.task.first[task];
        int end = p->index.task.first[task + 1];
        if (begin == end)
            continue;
        char *fanout = hint(&p->index.succs, task);
        char *fanin = hint(&p->index.preds, task);
        if (fanout == NULL || fanin == NULL)
            p->emit.status = npu_fail_memory(p->emit.err);
        for (int i = begin; i < end && p->emit.status == NPU_OK; i++)
            worker_slice(p, p->index.task.items[i], fanout, fanin);
        free(fanout);
        free(fanin);
    }
}

static void dispatch_slice(npu_perfetto *p, const npu_row *row, int lane) {
    npu_engine_type type = p->trace->cores[row->core].type;
    char event_hint[80];
    char name[300];
    snprintf(event_hint, sizeof event_hint, "Task:r1t%d, FuncId:%d, CoreId:%d", row->task,
             npu_task_func_id(p->graph, &p->graph->tasks[row->task], type), row->core);
    slice_name(p, row, name, (int)sizeof name);
    double dispatch = npu_perfetto_us(p, row->dispatch);
    double finish = npu_perfetto_us(p, row->finish);
    double dur = us_between(p, row->dispatch, row->finish);
    npu_perfetto_event(p, json_pack("{s:{s:s s:f s:f s:f s:I} s:s s:i s:s s:s s:i s:i s:f s:f}",
                                    "args", "event-hint", event_hint, "dispatch-time-us", dispatch,
                                    "finish-time-us", finish, "aicpu-duration-us", dur, "taskId",
                                    (json_int_t)npu_task_id(row->task), "cat", "event", "id",
                                    p->next_event++, "name", name, "ph", "X", "pid",
                                    NPU_PID_DISPATCH, "tid", npu_core_tid(row->core) + lane, "ts",
                                    dispatch, "dur", dur));
}

// A core holds two tasks: the second in flight is drawn on a lane of its own.
static void dispatch_view(npu_perfetto *p) {
    const npu_trace *trace = p->trace;
    name_process(p, NPU_PID_DISPATCH, "Scheduler View");
    for (int core = 0; core < trace->core_count; core++) {
        double until[2] = {0, 0};
        bool named[2] = {false, false};
        for (int i = p->index.core.first[core]; i < p->index.core.first[core + 1]; i++) {
            const npu_row *row = &trace->rows[p->index.core.items[i]];
            int lane = until[0] <= row->dispatch ? 0 : 1;
            until[lane] = row->finish;
            if (!named[lane])
                name_thread(p, NPU_PID_DISPATCH, npu_core_tid(core) + lane,
                            core_prefix(trace, core), core);
            named[lane] = true;
            dispatch_slice(p, row, lane);
        }
    }
}

static const char *const phase_colours[NPU_PHASE_COUNT] = {
    "good", "terrible",       "yellow",           "olive",
    "grey", "rail_animation", "cq_build_running", "vsync_highlight_color",
    "grey"};

static void phase_slice(npu_perfetto *p, int phase_index) {
    const npu_phase *phase = &p->trace->phases[phase_index];
    const char *kind = npu_phase_names[phase->kind];
    const int *from = phase->depth_start;
    const int *to = phase->depth_end;
    json_t *args = json_pack("{s:s s:I s:I s:[iii] s:[iii]}", "phase", kind, "loop_iter",
                             (json_int_t)phase->loop_iter, "tasks_processed",
                             (json_int_t)phase->processed, "shared_at_start (aic,aiv,mix)", from[0],
                             from[1], from[2], "shared_at_end (aic,aiv,mix)", to[0], to[1], to[2]);
    if (phase->kind == NPU_PHASE_COMPLETE &&
        (json_object_set_new(args, "finishes_processed", json_integer(phase->processed)) != 0 ||
         json_object_set_new(args, "finish_rows_attributed",
                             json_integer(p->finishes[phase_index])) != 0)) {
        json_decref(args);
        args = NULL;
    }
    char name[64];
    snprintf(name, sizeof name, "%s(%lld)", kind, (long long)phase->processed);
    double start = npu_perfetto_us(p, phase->start);
    double end = npu_perfetto_us(p, phase->end);
    double dur = us_between(p, phase->start, phase->end);
    int tid = npu_scheduler_tid(phase->thread) + (phase->kind == NPU_PHASE_RESOLVE ? 1 : 0);
    npu_perfetto_event(p, json_pack("{s:o s:s s:s s:s s:s s:i s:i s:f s:f}", "args", args, "cat",
                                    "scheduler", "cname", phase_colours[phase->kind], "name", name,
                                    "ph", "X", "pid", NPU_PID_SCHEDULER, "tid", tid, "ts", start,
                                    "dur", dur));
    if (phase->kind == NPU_PHASE_COMPLETE || phase->kind == NPU_PHASE_DISPATCH)
        npu_perfetto_event(p, json_pack("{s:{s:i s:i s:i} s:s s:s s:s s:i s:i s:f}", "args", "AIC",
                                        to[0], "AIV", to[1], "MIX", to[2], "cat", "queue", "name",
                                        "shared_ready_queue", "ph", "C", "pid", NPU_PID_SCHEDULER,
                                        "tid", 3999, "ts", end));
}

// A dummy has no row: a sliver on its scheduler's lane in Worker View stands for it.
static void dummy_slice(npu_perfetto *p, int phase_index) {
    const npu_phase *phase = &p->trace->phases[phase_index];
    char name[40];
    assert(phase->task >= 0 && phase->task < p->graph->task_count);
    snprintf(name, sizeof name, "dummy(r1t%d)", phase->task);
    p->marker[phase->task] = phase_index;
    p->marker_slice[phase->task] = p->next_event;
    npu_perfetto_event(
        p, json_pack("{s:{s:I s:I s:s s:s} s:s s:i s:s s:s s:i s:i s:f s:f}", "args", "loop_iter",
                     (json_int_t)phase->loop_iter, "task_id", (json_int_t)npu_task_id(phase->task),
                     "event-hint", name, "phase", "dummy_task", "cat", "event", "id",
                     p->next_event++, "name", name, "ph", "X", "pid", NPU_PID_WORKER, "tid",
                     19000 + phase->thread, "ts", npu_perfetto_us(p, phase->start), "dur", 0.02));
}

static void scheduler_view(npu_perfetto *p) {
    const npu_trace *trace = p->trace;
    name_process(p, NPU_PID_SCHEDULER, "AICPU Scheduler");
    bool *resolves = calloc((size_t)trace->scheduler_count + 1, sizeof *resolves);
    if (resolves == NULL) {
        p->emit.status = npu_fail_memory(p->emit.err);
        return;
    }
    for (int i = 0; i < trace->phase_count; i++)
        if (trace->phases[i].kind == NPU_PHASE_RESOLVE &&
            npu_phase_recorded(trace, &trace->phases[i]))
            resolves[trace->phases[i].thread] = true;
    for (int thread = 0; thread < trace->scheduler_count; thread++) {
        name_thread(p, NPU_PID_SCHEDULER, npu_scheduler_tid(thread), "Sched", thread);
        if (resolves[thread])
            name_thread(p, NPU_PID_SCHEDULER, npu_scheduler_tid(thread) + 1, "Sched", thread);
    }
    free(resolves);
    npu_perfetto_event(p,
                       json_pack("{s:{s:s} s:s s:s s:s s:i s:i}", "args", "name",
                                 "shared_ready_queue (global)", "cat", "__metadata", "name",
                                 "thread_name", "ph", "M", "pid", NPU_PID_SCHEDULER, "tid", 3999));
    for (int i = 0; i < trace->phase_count; i++) {
        if (trace->phases[i].kind == NPU_PHASE_DUMMY_TASK)
            dummy_slice(p, i);
        else if (npu_phase_recorded(trace, &trace->phases[i]))
            phase_slice(p, i);
    }
}

static void orchestrator_view(npu_perfetto *p) {
    name_process(p, NPU_PID_ORCHESTRATOR, "AICPU Orchestrator");
    name_thread(p, NPU_PID_ORCHESTRATOR, 4000, "Orch", 0);
    int allocations = 0;
    for (int i = 0; i < p->trace->submit_count; i++) {
        const npu_submit *submit = &p->trace->submits[i];
        bool alloc = submit->task < 0;
        int number = alloc ? allocations++ : submit->task;
        uint64_t id = alloc ? npu_alloc_id(number) : npu_task_id(number);
        char name[40];
        snprintf(name, sizeof name, "submit(%s%d)", alloc ? "t" : "r1t", number);
        double start = npu_perfetto_us(p, submit->start);
        double dur = us_between(p, submit->start, submit->end);
        npu_perfetto_event(
            p, json_pack("{s:{s:s s:i s:I} s:s s:s s:s s:s s:i s:i s:f s:f}", "args", "phase",
                         "orch_submit", "submit_idx", i, "task_id", (json_int_t)id, "cat",
                         "orchestrator", "cname", "rail_animation", "name", name, "ph", "X", "pid",
                         NPU_PID_ORCHESTRATOR, "tid", 4000, "ts", start, "dur", dur));
        if (!alloc)
            continue;
        snprintf(name, sizeof name, "alloc(t%d)", number);
        npu_perfetto_event(p, json_pack("{s:{s:s s:I s:s} s:s s:s s:i s:s s:s s:i s:i s:f s:f}",
                                        "args", "phase", "alloc", "task_id", (json_int_t)id,
                                        "event-hint", name, "cat", "event", "cname", "olive", "id",
                                        p->next_event++, "name", name, "ph", "X", "pid",
                                        NPU_PID_WORKER, "tid", 19000 + p->trace->scheduler_count,
                                        "ts", start, "dur", dur > 0.02 ? dur : 0.02));
    }
}

static void earlier(double ns, double *least) {
    *least = *least < 0 || ns < *least ? ns : *least;
}

// Ticks of the smallest stamp that the level shows.
static int64_t find_origin(const npu_trace *trace, int level) {
    double least = -1;
    for (int i = 0; i < trace->row_count; i++)
        earlier(level >= 2 ? trace->rows[i].dispatch : trace->rows[i].receive, &least);
    for (int i = 0; i < trace->phase_count && level >= 3; i++)
        earlier(trace->phases[i].start, &least);
    for (int i = 0; i < trace->submit_count && level >= 4; i++)
        earlier(trace->submits[i].start, &least);
    return npu_trace_ticks(trace, least > 0 ? least : 0);
}

static int complete_thread(const void *data, int item) {
    const npu_phase *phase = &((const npu_trace *)data)->phases[item];
    return phase->kind == NPU_PHASE_COMPLETE ? phase->thread : -1;
}

// What the slices and arrows look up; freed by npu_perfetto_write.
static npu_status prepare(npu_perfetto *p, npu_error *err) {
    const npu_trace *trace = p->trace;
    npu_status status = npu_index_make(trace, p->graph, &p->index, err);
    if (status == NPU_OK)
        status = npu_groups_make(&p->completes, trace->scheduler_count, trace->phase_count,
                                 complete_thread, trace, err);
    p->slice = calloc((size_t)trace->row_count + 1, sizeof *p->slice);
    p->finishes = calloc((size_t)trace->phase_count + 1, sizeof *p->finishes);
    p->marker = calloc((size_t)p->graph->task_count + 1, sizeof *p->marker);
    p->marker_slice = calloc((size_t)p->graph->task_count + 1, sizeof *p->marker_slice);
    if (status == NPU_OK &&
        (p->slice == NULL || p->finishes == NULL || p->marker == NULL || p->marker_slice == NULL))
        status = npu_fail_memory(err);
    if (status != NPU_OK)
        return status;
    for (int i = 0; i < p->graph->task_count; i++)
        p->marker[i] = -1;
    for (int i = 0; i < trace->row_count; i++) {
        const npu_row *row = &trace->rows[i];
        int phase = npu_perfetto_complete_at(p, trace->cores[row->core].thread, row->finish);
        if (phase >= 0)
            p->finishes[phase]++;
    }
    return NPU_OK;
}

static void write_events(npu_perfetto *p) {
    npu_emit_list(&p->emit, "{\"traceEvents\": [");
    worker_view(p);
    if (p->level >= 2)
        dispatch_view(p);
    if (p->level >= 3)
        scheduler_view(p);
    if (p->level >= 4)
        orchestrator_view(p);
    npu_perfetto_flows(p);
    npu_emit_text(&p->emit, "\n]}\n");
}

npu_status npu_perfetto_write(FILE *out, const npu_trace *trace, const npu_graph *graph, int level,
                              npu_error *err) {
    assert(level >= 1 && level <= 4);
    npu_perfetto p = {.trace = trace, .graph = graph, .level = level};
    p.emit = (npu_emit){.out = out, .flags = JSON_COMPACT | JSON_REAL_PRECISION(15), .err = err};
    p.origin = find_origin(trace, level);
    npu_status status = prepare(&p, err);
    if (status == NPU_OK)
        write_events(&p);
    npu_status written = npu_emit_done(&p.emit);
    npu_index_free(&p.index);
    npu_groups_free(&p.completes);
    free(p.slice);
    free(p.finishes);
    free(p.marker);
    free(p.marker_slice);
    return status != NPU_OK ? status : written;
}
