// SPDX-License-Identifier: Apache-2.0
#include "perfetto.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "perfetto_impl.h"

int64_t npu_perfetto_at(const npu_perfetto *p, double ns) {
    return llround((double)(npu_trace_ticks(p->trace, ns) - p->origin) * 1e9 / p->trace->clock_hz);
}

int npu_perfetto_complete_at(const npu_perfetto *p, int thread, double ns) {
    assert(thread >= 0 && thread < p->trace->scheduler_count);
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
    npu_emit_line(&p->emit,
                  "\n{\"args\":{\"name\":\"%s\"},\"cat\":\"__metadata\",\"name\":\"process_name\","
                  "\"ph\":\"M\",\"pid\":%d}",
                  name, pid);
    npu_emit_line(&p->emit,
                  "\n{\"args\":{\"sort_index\":%d},\"cat\":\"__metadata\","
                  "\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":%d}",
                  pid, pid);
}

static void name_thread(npu_perfetto *p, int pid, int tid, const char *name) {
    npu_emit_line(&p->emit,
                  "\n{\"args\":{\"name\":\"%s\"},\"cat\":\"__metadata\",\"name\":\"thread_name\","
                  "\"ph\":\"M\",\"pid\":%d,\"tid\":%d}",
                  name, pid, tid);
}

static void name_numbered(npu_perfetto *p, int pid, int tid, const char *prefix, int number) {
    char name[32];
    snprintf(name, sizeof name, "%s_%d", prefix, number);
    name_thread(p, pid, tid, name);
}

static const char *core_prefix(const npu_trace *trace, int core) {
    return trace->cores[core].type == NPU_AIC ? "AIC" : "AIV";
}

// "r1t7", as a value to print.
typedef struct label_text {
    char text[32];
} label_text;

static label_text label(const npu_perfetto *p, int task) {
    label_text name = {""};
    npu_task_label(npu_trace_task_id(p->trace, task), p->trace->host_graph, name.text,
                   (int)sizeof name.text);
    return name;
}

static bool says_spmd(const char *name) {
    for (; *name != '\0'; name++)
        if (tolower((unsigned char)name[0]) == 's' && tolower((unsigned char)name[1]) == 'p' &&
            tolower((unsigned char)name[2]) == 'm' && tolower((unsigned char)name[3]) == 'd')
            return true;
    return false;
}

// What a task's slices are called on AICs and on AIVs: "name(r1t0)" in JSON, with _spmd behind
// the name of a task of several blocks. NULL where the task has no part.
typedef struct slice_names {
    char *text[2];
} slice_names;

static slice_names name_slices(npu_perfetto *p, int task_index) {
    const npu_task *task = &p->graph->tasks[task_index];
    slice_names names = {{NULL, NULL}};
    for (int type = NPU_AIC; type <= NPU_AIV; type++) {
        bool known = npu_task_func_id(p->graph, task, (npu_engine_type)type) >= 0;
        if (!known && p->trace->task_ids == NULL)
            continue;
        char name[256] = "task"; // captured, on a core for which it has no kernel
        char text[300];
        if (known)
            npu_func_name(&p->graph->funcs[task->func], (npu_engine_type)type, name,
                          (int)sizeof name);
        snprintf(text, sizeof text, "%s%s(%s)", name,
                 task->block_num > 1 && !says_spmd(name) ? "_spmd" : "", label(p, task_index).text);
        names.text[type] = npu_emit_quote(&p->emit, text);
    }
    return names;
}

static void free_names(slice_names names) {
    free(names.text[NPU_AIC]);
    free(names.text[NPU_AIV]);
}

// "2: [r1t0, r1t3]" in a fresh text; NULL when memory runs out.
static char *hint(const npu_perfetto *p, const npu_groups *groups, int task) {
    int count = groups->first[task + 1] - groups->first[task];
    size_t size = (size_t)count * 24 + 32; // an id has at most 20 digits
    char *text = malloc(size);
    if (text == NULL)
        return NULL;
    size_t used = (size_t)snprintf(text, size, "%d: [", count);
    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "",
                                 label(p, groups->items[groups->first[task] + i]).text);
    assert(used + 2 <= size);
    snprintf(text + used, size - used, "]");
    return text;
}

static void worker_slice(npu_perfetto *p, int row_index, const slice_names *names,
                         const char *fanout, const char *fanin) {
    const npu_row *row = &p->trace->rows[row_index];
    npu_engine_type type = p->trace->cores[row->core].type;
    int func_id = npu_task_func_id(p->graph, &p->graph->tasks[row->task], type);
    assert(names->text[type] != NULL);
    int64_t receive = npu_perfetto_at(p, row->receive);
    int64_t start = npu_perfetto_at(p, row->start);
    int64_t end = npu_perfetto_at(p, row->end);
    p->slice[row_index] = p->next_event++;
    npu_emit_line(
        &p->emit,
        "\n{\"args\":{\"event-hint\":\"Task:%s, FuncId:%d, CoreId:%d\",\"fanout-hint\":\"%s\","
        "\"fanin-hint\":\"%s\",\"duration-us\":%s,\"kernel-duration-us\":%s,"
        "\"local_setup_us\":%s,\"taskId\":%s},\"cat\":\"event\",\"id\":%d,\"name\":%s,\"ph\":\"X\","
        "\"pid\":%d,\"tid\":%d,\"ts\":%s,\"dur\":%s}",
        label(p, row->task).text, func_id, row->core, fanout, fanin, npu_us(end - receive).text,
        npu_us(end - start).text, npu_us(start - receive).text,
        npu_u64(npu_trace_task_id(p->trace, row->task)).text, p->slice[row_index],
        names->text[type], NPU_PID_WORKER, npu_core_tid(row->core), npu_us(receive).text,
        npu_us(end - receive).text);
}

static void worker_rows(npu_perfetto *p, int task) {
    char *fanout = hint(p, &p->index.succs, task);
    char *fanin = hint(p, &p->index.preds, task);
    slice_names names = name_slices(p, task);
    if (fanout == NULL || fanin == NULL)
        p->emit.status = npu_fail_memory(p->emit.err);
    for (int i = p->index.task.first[task];
         i < p->index.task.first[task + 1] && p->emit.status == NPU_OK; i++)
        worker_slice(p, p->index.task.items[i], &names, fanout, fanin);
    free_names(names);
    free(fanout);
    free(fanin);
}

static void worker_view(npu_perfetto *p) {
    const npu_trace *trace = p->trace;
    name_process(p, NPU_PID_WORKER, "Worker View");
    for (int core = 0; core < trace->core_count; core++)
        if (p->index.core.first[core + 1] > p->index.core.first[core])
            name_numbered(p, NPU_PID_WORKER, npu_core_tid(core), core_prefix(trace, core), core);
    int threads = p->level >= 3 ? trace->scheduler_count + (p->level >= 4) : 0;
    for (int thread = 0; thread < threads; thread++)
        name_numbered(p, NPU_PID_WORKER, NPU_TID_AICPU + thread, "AICPU", thread);
    for (int task = 0; task < p->graph->task_count; task++)
        if (p->index.task.first[task + 1] > p->index.task.first[task])
            worker_rows(p, task);
}

static void dispatch_slice(npu_perfetto *p, const npu_row *row, int lane,
                           const slice_names *names) {
    npu_engine_type type = p->trace->cores[row->core].type;
    int func_id = npu_task_func_id(p->graph, &p->graph->tasks[row->task], type);
    int64_t dispatch = npu_perfetto_at(p, row->dispatch);
    int64_t finish = npu_perfetto_at(p, row->finish);
    npu_emit_line(
        &p->emit,
        "\n{\"args\":{\"event-hint\":\"Task:%s, FuncId:%d, CoreId:%d\",\"dispatch-time-us\":%s,"
        "\"finish-time-us\":%s,\"aicpu-duration-us\":%s,\"taskId\":%s},\"cat\":\"event\",\"id\":%d,"
        "\"name\":%s,\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%s,\"dur\":%s}",
        label(p, row->task).text, func_id, row->core, npu_us(dispatch).text, npu_us(finish).text,
        npu_us(finish - dispatch).text, npu_u64(npu_trace_task_id(p->trace, row->task)).text,
        p->next_event++, names->text[type], NPU_PID_DISPATCH, npu_core_tid(row->core) + lane,
        npu_us(dispatch).text, npu_us(finish - dispatch).text);
}

// A core holds two tasks: the second in flight is drawn on a lane of its own. lane[row] = 0, 1.
static void choose_lanes(npu_perfetto *p, int *lane) {
    const npu_trace *trace = p->trace;
    for (int core = 0; core < trace->core_count; core++) {
        double until[2] = {0, 0};
        bool named[2] = {false, false};
        for (int i = p->index.core.first[core]; i < p->index.core.first[core + 1]; i++) {
            const npu_row *row = &trace->rows[p->index.core.items[i]];
            int l = until[0] <= row->dispatch ? 0 : 1;
            lane[p->index.core.items[i]] = l;
            until[l] = row->finish;
            if (!named[l])
                name_numbered(p, NPU_PID_DISPATCH, npu_core_tid(core) + l, core_prefix(trace, core),
                              core);
            named[l] = true;
        }
    }
}

static void dispatch_view(npu_perfetto *p) {
    name_process(p, NPU_PID_DISPATCH, "Scheduler View");
    int *lane = calloc((size_t)p->trace->row_count + 1, sizeof *lane);
    if (lane == NULL) {
        p->emit.status = npu_fail_memory(p->emit.err);
        return;
    }
    choose_lanes(p, lane);
    for (int task = 0; task < p->graph->task_count && p->emit.status == NPU_OK; task++) {
        if (p->index.task.first[task + 1] == p->index.task.first[task])
            continue;
        slice_names names = name_slices(p, task);
        for (int i = p->index.task.first[task];
             i < p->index.task.first[task + 1] && p->emit.status == NPU_OK; i++)
            dispatch_slice(p, &p->trace->rows[p->index.task.items[i]], lane[p->index.task.items[i]],
                           &names);
        free_names(names);
    }
    free(lane);
}

static const char *const phase_colours[NPU_PHASE_COUNT] = {
    [NPU_PHASE_COMPLETE] = "good",
    [NPU_PHASE_DISPATCH] = "terrible",
    [NPU_PHASE_ASYNC_POLL] = "yellow",
    [NPU_PHASE_RELEASE] = "olive",
    [NPU_PHASE_DUMMY] = "grey",
    [NPU_PHASE_EARLY_DISPATCH] = "rail_animation",
    [NPU_PHASE_DRAIN] = "cq_build_running",
    [NPU_PHASE_OTHER] = "grey",
    [NPU_PHASE_RESOLVE] = "vsync_highlight_color",
    [NPU_PHASE_DUMMY_TASK] = "grey",
    [NPU_PHASE_INNER] = "grey",
};

static void phase_slice(npu_perfetto *p, int phase_index) {
    const npu_phase *phase = &p->trace->phases[phase_index];
    const char *kind = npu_phase_name(phase);
    const int *from = phase->depth_start;
    const int *to = phase->depth_end;
    char extra[96] = ""; // what only this kind has
    if (phase->kind == NPU_PHASE_COMPLETE)
        snprintf(extra, sizeof extra, ",\"finishes_processed\":%lld,\"finish_rows_attributed\":%d",
                 (long long)phase->processed, p->finishes[phase_index]);
    int64_t start = npu_perfetto_at(p, phase->start);
    int64_t end = npu_perfetto_at(p, phase->end);
    npu_emit_line(&p->emit,
                  "\n{\"args\":{\"phase\":\"%s\",\"loop_iter\":%lld,\"tasks_processed\":%lld,"
                  "\"shared_at_start (aic,aiv,mix)\":[%d,%d,%d],"
                  "\"shared_at_end (aic,aiv,mix)\":[%d,%d,%d]%s},\"cat\":\"scheduler\","
                  "\"cname\":\"%s\",\"name\":\"%s(%lld)\",\"ph\":\"X\",\"pid\":%d,\"tid\":%d,"
                  "\"ts\":%s,\"dur\":%s}",
                  kind, (long long)phase->loop_iter, (long long)phase->processed, from[0], from[1],
                  from[2], to[0], to[1], to[2], extra, phase_colours[phase->kind], kind,
                  (long long)phase->processed, NPU_PID_SCHEDULER,
                  npu_scheduler_tid(phase->thread) + (phase->kind >= NPU_PHASE_RESOLVE ? 1 : 0),
                  npu_us(start).text, npu_us(end - start).text);
    if (phase->kind == NPU_PHASE_COMPLETE || phase->kind == NPU_PHASE_DISPATCH)
        npu_emit_line(
            &p->emit,
            "\n{\"args\":{\"AIC\":%d,\"AIV\":%d,\"MIX\":%d},\"cat\":\"queue\","
            "\"name\":\"shared_ready_queue\",\"ph\":\"C\",\"pid\":%d,\"tid\":%d,\"ts\":%s}",
            to[0], to[1], to[2], NPU_PID_SCHEDULER, NPU_TID_QUEUE, npu_us(end).text);
}

// A dummy has no row: a sliver on its scheduler's lane in Worker View stands for it.
static void dummy_slice(npu_perfetto *p, int phase_index) {
    const npu_phase *phase = &p->trace->phases[phase_index];
    assert(phase->task >= 0 && phase->task < p->graph->task_count);
    p->marker[phase->task] = phase_index;
    p->marker_slice[phase->task] = p->next_event;
    label_text name = label(p, phase->task);
    npu_emit_line(&p->emit,
                  "\n{\"args\":{\"loop_iter\":%lld,\"task_id\":%s,\"event-hint\":\"dummy(%s)\","
                  "\"phase\":\"dummy_task\"},\"cat\":\"event\",\"id\":%d,\"name\":\"dummy(%s)\","
                  "\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%s,\"dur\":%s}",
                  (long long)phase->loop_iter,
                  npu_u64(npu_trace_task_id(p->trace, phase->task)).text, name.text,
                  p->next_event++, name.text, NPU_PID_WORKER, NPU_TID_AICPU + phase->thread,
                  npu_us(npu_perfetto_at(p, phase->start)).text, npu_us(NPU_MARKER_NS).text);
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
        if ((trace->phases[i].kind == NPU_PHASE_RESOLVE ||
             trace->phases[i].kind == NPU_PHASE_INNER) &&
            npu_phase_recorded(trace, &trace->phases[i]))
            resolves[trace->phases[i].thread] = true;
    for (int thread = 0; thread < trace->scheduler_count; thread++) {
        name_numbered(p, NPU_PID_SCHEDULER, npu_scheduler_tid(thread), "Sched", thread);
        if (resolves[thread])
            name_numbered(p, NPU_PID_SCHEDULER, npu_scheduler_tid(thread) + 1, "Sched", thread);
    }
    free(resolves);
    name_thread(p, NPU_PID_SCHEDULER, NPU_TID_QUEUE, "shared_ready_queue (global)");
    for (int i = 0; i < trace->phase_count; i++) {
        if (trace->phases[i].kind == NPU_PHASE_DUMMY_TASK)
            dummy_slice(p, i);
        else if (npu_phase_recorded(trace, &trace->phases[i]))
            phase_slice(p, i);
    }
}

// An allocation is no task: a slice on the orchestrator's lane in Worker View stands for it.
static void alloc_slice(npu_perfetto *p, uint64_t id, const char *name, int64_t start,
                        int64_t end) {
    int64_t dur = end - start > NPU_MARKER_NS ? end - start : NPU_MARKER_NS;
    npu_emit_line(
        &p->emit,
        "\n{\"args\":{\"phase\":\"alloc\",\"task_id\":%s,\"event-hint\":\"alloc(%s)\"},"
        "\"cat\":\"event\",\"cname\":\"olive\",\"id\":%d,\"name\":\"alloc(%s)\",\"ph\":\"X\","
        "\"pid\":%d,\"tid\":%d,\"ts\":%s,\"dur\":%s}",
        npu_u64(id).text, name, p->next_event++, name, NPU_PID_WORKER,
        NPU_TID_AICPU + p->trace->scheduler_count, npu_us(start).text, npu_us(dur).text);
}

static void orchestrator_view(npu_perfetto *p) {
    const npu_trace *trace = p->trace;
    name_process(p, NPU_PID_ORCHESTRATOR, "AICPU Orchestrator");
    name_numbered(p, NPU_PID_ORCHESTRATOR, NPU_TID_ORCHESTRATOR, "Orch", 0);
    int allocations = 0;
    for (int i = 0; i < trace->submit_count; i++) {
        const npu_submit *submit = &trace->submits[i];
        uint64_t id = trace->call_ids != NULL ? trace->call_ids[i]
                      : submit->task >= 0     ? npu_task_id(submit->task)
                                              : npu_alloc_id(allocations++);
        char name[32];
        npu_task_label(id, trace->host_graph, name, (int)sizeof name);
        int64_t start = npu_perfetto_at(p, submit->start);
        int64_t end = npu_perfetto_at(p, submit->end);
        npu_emit_line(
            &p->emit,
            "\n{\"args\":{\"phase\":\"orch_submit\",\"submit_idx\":%d,\"task_id\":%s},"
            "\"cat\":\"orchestrator\",\"cname\":\"rail_animation\",\"name\":\"submit(%s)\","
            "\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%s,\"dur\":%s}",
            i, npu_u64(id).text, name, NPU_PID_ORCHESTRATOR, NPU_TID_ORCHESTRATOR,
            npu_us(start).text, npu_us(end - start).text);
        if (submit->task < 0)
            alloc_slice(p, id, name, start, end);
    }
}

static void earlier(double ns, double *least) {
    *least = *least < 0 || ns < *least ? ns : *least;
}

// Ticks of the smallest stamp that the level shows.
static int64_t find_origin(const npu_trace *trace, int level) {
    double least = -1;
    for (int i = 0; i < trace->row_count; i++) {
        earlier(trace->rows[i].receive, &least); // a capture's may come before its dispatch
        if (level >= 2)
            earlier(trace->rows[i].dispatch, &least);
    }
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
    if (status != NPU_OK)
        return status;
    if (p->slice == NULL || p->finishes == NULL || p->marker == NULL || p->marker_slice == NULL) {
        npu_fail_memory(err);
        return NPU_NO_MEMORY;
    }
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
    p.emit = (npu_emit){.out = out, .err = err};
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
