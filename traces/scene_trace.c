// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "scene_impl.h"

// ---- time ----------------------------------------------------------------------------------

static void note(int64_t stamp, int64_t *least, int64_t *most) {
    if (stamp <= 0)
        return; // lost
    *least = stamp < *least ? stamp : *least;
    *most = stamp > *most ? stamp : *most;
}

// The first and the last stamp of all streams.
static void find_span(const npu_scene_maker *m, int64_t *least, int64_t *most) {
    const npu_capture *c = m->c;
    *least = INT64_MAX;
    *most = 0;
    for (int i = 0; i < c->core_row_count; i++) {
        const npu_core_row *row = &c->core_rows[i];
        if (row->start != 0)
            note(row->start - row->setup, least, most);
        note(row->start, least, most);
        note(row->end, least, most);
    }
    for (int i = 0; i < c->cpu_row_count; i++) {
        note(c->cpu_rows[i].dispatch, least, most);
        note(c->cpu_rows[i].finish, least, most);
    }
    for (int i = 0; i < c->record_count; i++) {
        note(c->records[i].start, least, most);
        note(c->records[i].end, least, most);
    }
    for (int i = 0; i < c->call_count && !c->host_calls; i++) {
        note(c->calls[i].start, least, most);
        note(c->calls[i].end, least, most);
    }
    if (*most == 0)
        *least = 0;
}

static double to_ns(const npu_scene_maker *m, int64_t stamp) {
    int64_t ticks = stamp > m->scene->trace.origin ? stamp - m->scene->trace.origin : 0;
    return (double)ticks * 1e9 / m->scene->trace.clock_hz;
}

// Not before `least`; counts what had to be moved.
static double not_before(npu_scene_maker *m, double ns, double least) {
    if (ns >= least)
        return ns;
    m->scene->clamped++;
    return least;
}

// ---- cores ---------------------------------------------------------------------------------

static npu_status add_cores(npu_scene_maker *m) {
    const npu_capture *c = m->c;
    npu_trace *trace = &m->scene->trace;
    int clusters = npu_capture_clusters(c);
    npu_core_info *cores = calloc((size_t)c->core_count + 1, sizeof *cores);
    if (cores == NULL)
        return npu_fail_memory(m->err);
    trace->cores = cores;
    trace->core_count = c->core_count;
    trace->scheduler_count = c->stream_count;
    for (int core = 0; core < c->core_count; core++)
        if (c->cores[core].thread >= trace->scheduler_count)
            trace->scheduler_count = c->cores[core].thread + 1;
    if (trace->scheduler_count == 0)
        trace->scheduler_count = 1;
    for (int core = 0; core < c->core_count; core++) {
        int cluster = core < clusters ? core : clusters > 0 ? (core - clusters) / 2 : core;
        int thread = c->cores[core].thread;
        cores[core].type = c->cores[core].type;
        cores[core].thread = thread >= 0 ? thread : cluster % trace->scheduler_count;
    }
    return NPU_OK;
}

// ---- rows ----------------------------------------------------------------------------------

static npu_row make_row(npu_scene_maker *m, int i) {
    const npu_core_row *row = &m->c->core_rows[i];
    const npu_cpu_row *mate = row->mate >= 0 ? &m->c->cpu_rows[row->mate] : NULL;
    npu_row made = {.core = row->core, .task = m->task_of[i], .reg_task_id = row->reg_task_id};
    made.start = to_ns(m, row->start);
    made.receive = to_ns(m, row->start - row->setup);
    made.end = not_before(m, to_ns(m, row->end), made.start);
    if (made.receive > made.start) {
        made.receive = made.start;
        m->scene->clamped++;
    }
    made.dispatch = mate != NULL ? to_ns(m, mate->dispatch) : made.receive;
    made.finish = mate != NULL ? to_ns(m, mate->finish) : made.end;
    made.finish = not_before(m, made.finish, made.dispatch);
    return made;
}

static int compare_rows(const void *a, const void *b) {
    const npu_row *x = a;
    const npu_row *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->core != y->core)
        return x->core - y->core;
    return x->reg_task_id < y->reg_task_id ? -1 : x->reg_task_id > y->reg_task_id;
}

// A row of a MIX by its task and place.
typedef struct part {
    int task, cluster, core, row;
} part;

static int compare_parts(const void *a, const void *b) {
    const part *x = a;
    const part *y = b;
    if (x->task != y->task)
        return x->task - y->task;
    if (x->cluster != y->cluster)
        return x->cluster - y->cluster;
    if (x->core != y->core)
        return x->core - y->core;
    return x->row - y->row;
}

// The n-th rows of a cluster's cores are one block of a MIX.
static void number_mix(npu_trace *trace, const part *parts, int count) {
    int64_t block = 0; // the first of this cluster
    int64_t most = 0;  // blocks of this cluster so far
    int64_t nth = 0;   // of this core
    for (int i = 0; i < count; i++) {
        const part *before = i > 0 ? &parts[i - 1] : NULL;
        if (before == NULL || before->task != parts[i].task)
            block = most = nth = 0;
        else if (before->cluster != parts[i].cluster) {
            block += most;
            most = nth = 0;
        } else if (before->core != parts[i].core)
            nth = 0;
        trace->rows[parts[i].row].block = block + nth++;
        most = nth > most ? nth : most;
    }
}

static npu_status number_blocks(npu_scene_maker *m) {
    npu_trace *trace = &m->scene->trace;
    int clusters = npu_capture_clusters(m->c);
    int64_t *next = calloc((size_t)m->task_count + 1, sizeof *next);
    part *parts = calloc((size_t)trace->row_count + 1, sizeof *parts);
    int count = 0;
    if (next == NULL || parts == NULL) {
        free(next);
        free(parts);
        return npu_fail_memory(m->err);
    }
    for (int i = 0; i < trace->row_count; i++) {
        npu_row *row = &trace->rows[i];
        if (m->tasks[row->task].engine != NPU_MIX || clusters == 0) {
            row->block = next[row->task]++;
            continue;
        }
        int cluster = row->core < clusters ? row->core : (row->core - clusters) / 2;
        parts[count++] = (part){row->task, cluster, row->core, i};
    }
    qsort(parts, (size_t)count, sizeof *parts, compare_parts);
    number_mix(trace, parts, count);
    free(next);
    free(parts);
    return NPU_OK;
}

static npu_status add_rows(npu_scene_maker *m) {
    npu_trace *trace = &m->scene->trace;
    npu_status status = npu_grow((void **)&trace->rows, &trace->row_capacity,
                                 m->c->core_row_count + 1, sizeof *trace->rows, m->err);
    if (status != NPU_OK)
        return status;
    for (int i = 0; i < m->c->core_row_count; i++)
        if (m->task_of[i] >= 0)
            trace->rows[trace->row_count++] = make_row(m, i);
    qsort(trace->rows, (size_t)trace->row_count, sizeof *trace->rows, compare_rows);
    for (int i = 0; i < trace->row_count; i++)
        if (trace->rows[i].finish > trace->makespan)
            trace->makespan = trace->rows[i].finish;
    return number_blocks(m);
}

// ---- schedulers and orchestrator -----------------------------------------------------------

static int depth(int64_t value) {
    return value >= 0 && value <= INT32_MAX ? (int)value : 0; // what is no depth
}

static npu_status make_phase(npu_scene_maker *m, const npu_record *record, npu_phase *phase) {
    *phase = (npu_phase){.thread = record->stream,
                         .kind = record->kind < NPU_PHASE_COUNT ? (npu_phase_kind)record->kind
                                                                : NPU_PHASE_OTHER,
                         .start = to_ns(m, record->start),
                         .loop_iter = record->loop_iter,
                         .processed = record->processed,
                         .pop_hit = record->pop_hit,
                         .pop_miss = record->pop_miss,
                         .task = -1};
    phase->end = not_before(m, to_ns(m, record->end), phase->start);
    for (int i = 0; i < 3; i++) {
        phase->depth_start[i] = depth(record->depth_start[i]);
        phase->depth_end[i] = depth(record->depth_end[i]);
    }
    if (record->has & NPU_RECORD_TASK)
        phase->task = npu_scene_task(m, record->task);
    bool lost = phase->kind == NPU_PHASE_DUMMY_TASK && phase->task < 0;
    if (record->kind < NPU_PHASE_COUNT && !lost)
        return NPU_OK;
    if (lost || !npu_capture_outer(m->c, record->kind))
        phase->kind = NPU_PHASE_INNER;
    const char *name = m->c->kinds[record->kind];
    phase->name = npu_arena_text(&m->scene->graph.arena, name, strlen(name));
    return phase->name != NULL ? NPU_OK : npu_fail_memory(m->err);
}

static npu_status add_phases(npu_scene_maker *m) {
    npu_trace *trace = &m->scene->trace;
    npu_status status = npu_grow((void **)&trace->phases, &trace->phase_capacity,
                                 m->c->record_count + 1, sizeof *trace->phases, m->err);
    for (int id = 0; id < m->c->stream_count; id++) {
        const npu_record_stream *stream = &m->c->streams[id];
        for (int i = stream->first; i < stream->first + stream->count && status == NPU_OK; i++)
            status = make_phase(m, &m->c->records[i], &trace->phases[trace->phase_count++]);
    }
    return status;
}

static npu_status add_submits(npu_scene_maker *m) {
    npu_trace *trace = &m->scene->trace;
    uint64_t *ids = calloc((size_t)m->c->call_count + 1, sizeof *ids);
    trace->call_ids = ids;
    if (ids == NULL)
        return npu_fail_memory(m->err);
    if (m->c->host_calls) { // in the host's time
        m->scene->host_calls = m->c->call_count;
        return NPU_OK;
    }
    npu_status status = npu_grow((void **)&trace->submits, &trace->submit_capacity,
                                 m->c->call_count + 1, sizeof *trace->submits, m->err);
    for (int i = 0; i < m->c->call_count && status == NPU_OK; i++) {
        const npu_call *call = &m->c->calls[i];
        npu_submit *submit = &trace->submits[trace->submit_count];
        ids[trace->submit_count++] = call->task;
        submit->task = npu_scene_task(m, call->task);
        submit->start = to_ns(m, call->start);
        submit->end = not_before(m, to_ns(m, call->end), submit->start);
    }
    return status;
}

npu_status npu_scene_trace(npu_scene_maker *m) {
    npu_trace *trace = &m->scene->trace;
    int64_t least, most;
    find_span(m, &least, &most);
    trace->clock_hz = (double)m->c->clock_hz;
    trace->origin = least;
    trace->host_graph = npu_capture_host_graph(m->c);
    if ((double)(most - least) * 1e9 / trace->clock_hz > 0x1p62)
        return npu_fail(m->err, NPU_BAD_INPUT, (npu_pos){.file = m->c->path},
                        "its stamps lie more than 146 years apart");
    npu_status status = add_cores(m);
    if (status == NPU_OK)
        status = add_rows(m);
    if (status == NPU_OK)
        status = add_phases(m);
    return status == NPU_OK ? add_submits(m) : status;
}
