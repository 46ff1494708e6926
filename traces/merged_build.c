// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "merged_impl.h"

enum {
    ORIGIN_NS = 1000, // stamp of the first moment: 0 would mean a lost row
    TID_CORE = 10000, // + 10 x core (+ 1)
    TID_SCHEDULER = 30000,
    TID_OLD_SCHEDULER = 3000, // + thread
    TID_OLD_SCHEDULERS = 900,
    MOST_SCHEDULERS = 1024,
};

// ---- order ---------------------------------------------------------------------------------

// By view, thread (of a core: the core), time.
static int lane_of(const npu_slice *slice) {
    return slice->tid >= TID_CORE && slice->tid < TID_SCHEDULER ? slice->tid / 10 * 10 : slice->tid;
}

static int compare_slices(const void *a, const void *b) {
    const npu_slice *x = a;
    const npu_slice *y = b;
    if (x->view != y->view)
        return x->view < y->view ? -1 : 1;
    if (lane_of(x) != lane_of(y))
        return lane_of(x) - lane_of(y);
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return x->task < y->task ? -1 : x->task > y->task;
}

// ---- rows ----------------------------------------------------------------------------------

static int core_of(const npu_merged *m, const npu_slice *slice) {
    int core = (slice->tid - TID_CORE) / 10;
    bool is_core = slice->tid >= TID_CORE && core < m->capture->core_count && slice->has_task;
    return is_core && (slice->func >= 0 || slice->kind < 0) ? core : -1;
}

static npu_status add_core_row(npu_merged *m, const npu_slice *slice, int core, uint32_t reg) {
    npu_capture *c = m->capture;
    npu_status status = NPU_GROW(c, core_rows, core_row_count, core_row_capacity, m->err);
    if (status != NPU_OK)
        return status;
    c->core_rows[c->core_row_count++] =
        (npu_core_row){.core = core,
                       .task = slice->task,
                       .reg_task_id = reg,
                       .start = slice->start + slice->setup + ORIGIN_NS,
                       .end = slice->end + ORIGIN_NS,
                       .setup = slice->setup,
                       .mate = -1};
    return NPU_OK;
}

static npu_status add_cpu_row(npu_merged *m, const npu_slice *slice, int core, uint32_t reg) {
    npu_capture *c = m->capture;
    npu_status status = NPU_GROW(c, cpu_rows, cpu_row_count, cpu_row_capacity, m->err);
    if (status != NPU_OK)
        return status;
    c->cpu_rows[c->cpu_row_count++] = (npu_cpu_row){.core = core,
                                                    .reg_task_id = reg,
                                                    .dispatch = slice->start + ORIGIN_NS,
                                                    .finish = slice->end + ORIGIN_NS};
    return NPU_OK;
}

// Slices of one view on one core: m->slices[begin, end), by time.
typedef struct lane {
    int begin, end;
} lane;

static void find_lanes(const npu_merged *m, npu_view view, lane *lanes) {
    for (int i = 0; i < m->slice_count; i++) {
        int core = core_of(m, &m->slices[i]);
        if (core < 0 || m->slices[i].view != view)
            continue;
        if (lanes[core].end == 0)
            lanes[core].begin = i;
        lanes[core].end = i + 1;
    }
}

// Numbers the rows of a core; of one task, the first that was dispatched started first.
static npu_status build_core(npu_merged *m, int core, lane work, lane dispatch, uint32_t *numbers) {
    uint32_t reg = 0;
    npu_status status = NPU_OK;
    for (int i = work.begin; i < work.end && status == NPU_OK; i++) {
        if (core_of(m, &m->slices[i]) != core)
            continue;
        status = add_core_row(m, &m->slices[i], core, ++reg);
        int mate = dispatch.begin;
        while (mate < dispatch.end &&
               (numbers[mate] != 0 || m->slices[mate].task != m->slices[i].task))
            mate++;
        if (mate < dispatch.end)
            numbers[mate] = reg;
        while (dispatch.begin < dispatch.end && numbers[dispatch.begin] != 0)
            dispatch.begin++; // none of these is looked at again
    }
    return status;
}

static npu_status build_cores(npu_merged *m, lane *work, lane *dispatch, uint32_t *numbers) {
    npu_status status = NPU_OK;
    find_lanes(m, NPU_VIEW_WORKER, work);
    find_lanes(m, NPU_VIEW_DISPATCH, dispatch);
    for (int core = 0; core < m->capture->core_count && status == NPU_OK; core++) {
        status = build_core(m, core, work[core], dispatch[core], numbers);
        uint32_t spare = UINT32_MAX; // rows without their AICore row
        for (int i = dispatch[core].begin; i < dispatch[core].end && status == NPU_OK; i++)
            if (core_of(m, &m->slices[i]) == core)
                status =
                    add_cpu_row(m, &m->slices[i], core, numbers[i] != 0 ? numbers[i] : spare--);
    }
    return status;
}

static npu_status build_rows(npu_merged *m) {
    size_t cores = (size_t)m->capture->core_count;
    lane *lanes = calloc(2 * cores + 1, sizeof *lanes);
    uint32_t *numbers = calloc((size_t)m->slice_count + 1, sizeof *numbers);
    npu_status status = lanes != NULL && numbers != NULL
                            ? build_cores(m, lanes, lanes + cores, numbers)
                            : npu_fail_memory(m->err);
    free(lanes);
    free(numbers);
    return status;
}

// ---- schedulers and orchestrator -----------------------------------------------------------

static int thread_of(const npu_slice *slice) {
    if (slice->tid >= TID_SCHEDULER && slice->tid < TID_SCHEDULER + 10 * MOST_SCHEDULERS)
        return (slice->tid - TID_SCHEDULER) / 10;
    if (slice->tid >= TID_OLD_SCHEDULER && slice->tid < TID_OLD_SCHEDULER + TID_OLD_SCHEDULERS)
        return slice->tid - TID_OLD_SCHEDULER;
    return -1;
}

static bool no_work(const npu_merged *m, int kind) {
    const char *name = m->capture->kinds[kind];
    return strcmp(name, "idle") == 0 || strcmp(name, "scan") == 0 || strcmp(name, "poll") == 0;
}

static npu_status add_record(npu_merged *m, const npu_slice *slice, int thread) {
    npu_capture *c = m->capture;
    if (no_work(m, slice->kind)) {
        c->legacy_records++;
        return NPU_OK;
    }
    npu_status status = npu_capture_streams(c, thread + 1, m->err);
    if (status == NPU_OK)
        status = NPU_GROW(c, records, record_count, record_capacity, m->err);
    if (status != NPU_OK)
        return status;
    npu_record record = {.start = slice->start + ORIGIN_NS,
                         .end = slice->end + ORIGIN_NS,
                         .loop_iter = slice->loop_iter,
                         .processed = slice->processed,
                         .kind = slice->kind,
                         .stream = thread,
                         .task = slice->task};
    record.has =
        (slice->has_task ? NPU_RECORD_TASK : 0U) | (slice->has_depths ? NPU_RECORD_DEPTHS : 0U);
    memcpy(record.depth_start, slice->depth_start, sizeof record.depth_start);
    memcpy(record.depth_end, slice->depth_end, sizeof record.depth_end);
    c->records[c->record_count++] = record;
    return NPU_OK;
}

static int compare_records(const void *a, const void *b) {
    const npu_record *x = a;
    const npu_record *y = b;
    if (x->stream != y->stream)
        return x->stream - y->stream;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->end > y->end ? -1 : x->end < y->end; // what lies inside another comes behind it
}

static void close_streams(npu_capture *c) {
    if (c->record_count > 0)
        qsort(c->records, (size_t)c->record_count, sizeof *c->records, compare_records);
    int at = 0;
    for (int id = 0; id < c->stream_count; id++) {
        int first = at;
        while (at < c->record_count && c->records[at].stream == id)
            at++;
        c->streams[id] = npu_record_stream_usual(id, at - first);
        c->streams[id].first = first;
    }
}

// Older files cut a call into steps, which have its number in common.
static npu_status add_call(npu_merged *m, const npu_slice *slice) {
    npu_capture *c = m->capture;
    npu_call *last = c->call_count > 0 ? &c->calls[c->call_count - 1] : NULL;
    if (last != NULL && last->submit_idx == slice->submit_idx && last->task == slice->task) {
        last->end = slice->end + ORIGIN_NS > last->end ? slice->end + ORIGIN_NS : last->end;
        return NPU_OK;
    }
    npu_status status = NPU_GROW(c, calls, call_count, call_capacity, m->err);
    if (status == NPU_OK)
        c->calls[c->call_count++] = (npu_call){.task = slice->task,
                                               .start = slice->start + ORIGIN_NS,
                                               .end = slice->end + ORIGIN_NS,
                                               .submit_idx = slice->submit_idx};
    return status;
}

static npu_status build_aicpu(npu_merged *m) {
    npu_status status = NPU_OK;
    for (int i = 0; i < m->slice_count && status == NPU_OK; i++) {
        const npu_slice *slice = &m->slices[i];
        bool marker = slice->view == NPU_VIEW_WORKER && slice->tid >= NPU_TID_MARKERS &&
                      slice->tid < TID_SCHEDULER && slice->kind == NPU_PHASE_DUMMY_TASK;
        if (slice->view == NPU_VIEW_ORCHESTRATOR && slice->has_task)
            status = add_call(m, slice);
        else if (slice->view == NPU_VIEW_SCHEDULER && slice->kind >= 0 && thread_of(slice) >= 0)
            status = add_record(m, slice, thread_of(slice));
        else if (marker && slice->tid - NPU_TID_MARKERS < MOST_SCHEDULERS) {
            npu_slice point = *slice; // its width is for the eye
            point.end = point.start;
            status = add_record(m, &point, slice->tid - NPU_TID_MARKERS);
        }
    }
    close_streams(m->capture);
    return status;
}

// ---- the graph -----------------------------------------------------------------------------

typedef struct task_entry {
    uint64_t id;
    int call; // when it was submitted
    int kernel_ids[3];
} task_entry;

typedef struct task_list {
    task_entry *entries;
    int count, capacity;
} task_list;

static int compare_ids(const void *a, const void *b) {
    uint64_t x = ((const task_entry *)a)->id;
    uint64_t y = ((const task_entry *)b)->id;
    return x < y ? -1 : x > y;
}

static int compare_calls(const void *a, const void *b) {
    int x = ((const task_entry *)a)->call;
    int y = ((const task_entry *)b)->call;
    return x != y ? (x < y ? -1 : 1) : compare_ids(a, b);
}

// One entry per task that ran, or that was a dummy; sorted by id.
static npu_status collect_tasks(const npu_merged *m, task_list *list) {
    npu_status status = NPU_OK;
    for (int i = 0; i < m->slice_count && status == NPU_OK; i++) {
        const npu_slice *slice = &m->slices[i];
        int core = core_of(m, slice);
        bool dummy = slice->has_task && slice->kind == NPU_PHASE_DUMMY_TASK;
        if (slice->view != NPU_VIEW_WORKER || (core < 0 && !dummy))
            continue;
        task_entry entry = {slice->task, INT32_MAX, {-1, -1, -1}};
        if (core >= 0)
            entry.kernel_ids[m->capture->cores[core].type == NPU_AIC ? 0 : 1] = slice->func;
        status = NPU_GROW(list, entries, count, capacity, m->err);
        if (status == NPU_OK)
            list->entries[list->count++] = entry;
    }
    if (list->count > 0)
        qsort(list->entries, (size_t)list->count, sizeof *list->entries, compare_ids);
    int kept = 0;
    for (int i = 0; i < list->count; i++) {
        if (kept == 0 || list->entries[kept - 1].id != list->entries[i].id)
            list->entries[kept++] = list->entries[i];
        for (int k = 0; k < 2; k++)
            if (list->entries[i].kernel_ids[k] >= 0)
                list->entries[kept - 1].kernel_ids[k] = list->entries[i].kernel_ids[k];
    }
    list->count = kept;
    return status;
}

static npu_status add_tasks(npu_merged *m, task_list *list) {
    npu_status status = collect_tasks(m, list);
    for (int i = 0; i < m->capture->call_count && list->count > 0; i++) {
        task_entry wanted = {.id = m->capture->calls[i].task};
        task_entry *found =
            bsearch(&wanted, list->entries, (size_t)list->count, sizeof wanted, compare_ids);
        if (found != NULL && found->call == INT32_MAX)
            found->call = i;
    }
    if (list->count > 0)
        qsort(list->entries, (size_t)list->count, sizeof *list->entries, compare_calls);
    for (int i = 0; i < list->count && status == NPU_OK; i++) {
        const task_entry *entry = &list->entries[i];
        npu_dep_task task = {.id = entry->id, .has_kernels = true, .block_num = 1};
        memcpy(task.kernel_ids, entry->kernel_ids, sizeof task.kernel_ids);
        if (task.kernel_ids[0] >= 0) // of a MIX both AIVs run
            task.kernel_ids[2] = task.kernel_ids[1];
        status = NPU_GROW(m->deps, tasks, task_count, task_capacity, m->err);
        if (status == NPU_OK)
            m->deps->tasks[m->deps->task_count++] = task;
    }
    return status;
}

static npu_status add_names(npu_merged *m) {
    npu_status status = NPU_OK;
    npu_name_map *names = m->names;
    for (int i = 0; i < m->slice_count && status == NPU_OK; i++) {
        const npu_slice *slice = &m->slices[i];
        if (slice->func < 0 || slice->view != NPU_VIEW_WORKER ||
            (i > 0 && slice[-1].func == slice->func))
            continue;
        status = npu_name_map_add(names, slice->func, slice->kernel, m->err);
    }
    npu_name_map_sort(names);
    int kept = 0;
    for (int i = 0; i < names->count; i++)
        if (kept == 0 || names->names[kept - 1].id != names->names[i].id)
            names->names[kept++] = names->names[i];
    names->count = kept;
    return status;
}

// ---- arrows --------------------------------------------------------------------------------

// The slice of the worker view that an arrow touches: the last one of the thread that begins
// before. NULL: none.
static const npu_slice *touched(const npu_merged *m, const npu_arrow_end *end) {
    npu_slice wanted = {.view = NPU_VIEW_WORKER,
                        .tid = end->tid,
                        .start = end->ts,
                        .end = INT64_MAX,
                        .task = UINT64_MAX};
    int low = 0; // the first behind it
    for (int high = m->slice_count; low < high;) {
        int middle = low + (high - low) / 2;
        if (compare_slices(&m->slices[middle], &wanted) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    const npu_slice *found = low > 0 ? &m->slices[low - 1] : NULL;
    bool here =
        found != NULL && found->view == NPU_VIEW_WORKER && lane_of(found) == lane_of(&wanted);
    return here && found->has_task ? found : NULL;
}

static int compare_arrows(const void *a, const void *b) {
    const npu_arrow_end *x = a;
    const npu_arrow_end *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return y->leads - x->leads;
}

static npu_status add_edges(npu_merged *m) {
    npu_status status = NPU_OK;
    if (m->arrow_count > 0)
        qsort(m->arrows, (size_t)m->arrow_count, sizeof *m->arrows, compare_arrows);
    for (int i = 1; i < m->arrow_count && status == NPU_OK; i++) {
        const npu_arrow_end *to = &m->arrows[i];
        const npu_arrow_end *from = to - 1;
        if (from->id != to->id || !from->leads || to->leads)
            continue;
        const npu_slice *pred = touched(m, from);
        const npu_slice *succ = touched(m, to);
        if (pred == NULL || succ == NULL || pred->task == succ->task)
            continue;
        npu_dep_edge edge = {.pred = pred->task,
                             .succ = succ->task,
                             .arg = -1,
                             .source = NPU_EDGE_EXPLICIT,
                             .wait = true};
        status = NPU_GROW(m->deps, edges, edge_count, edge_capacity, m->err);
        if (status == NPU_OK)
            m->deps->edges[m->deps->edge_count++] = edge;
    }
    return status;
}

// ---- the whole -----------------------------------------------------------------------------

// From here on the names of the processes are known; arrows count in the worker view alone.
static void resolve_views(npu_merged *m) {
    int kept = 0;
    for (int i = 0; i < m->slice_count; i++)
        m->slices[i].view = m->processes[m->slices[i].process].view;
    for (int i = 0; i < m->arrow_count; i++)
        if (m->processes[m->arrows[i].process].view == NPU_VIEW_WORKER)
            m->arrows[kept++] = m->arrows[i];
    m->arrow_count = kept;
    if (m->slice_count > 0)
        qsort(m->slices, (size_t)m->slice_count, sizeof *m->slices, compare_slices);
}

static npu_status build_graph(npu_merged *m) {
    task_list list = {0};
    npu_status status = add_tasks(m, &list);
    free(list.entries);
    if (status == NPU_OK)
        status = add_names(m);
    if (status == NPU_OK)
        status = add_edges(m);
    return status == NPU_OK ? npu_deps_index(m->deps, m->err) : status;
}

npu_status npu_merged_build(npu_merged *m, npu_json *json) {
    npu_capture *c = m->capture;
    int circle = -1;
    c->generation = NPU_MERGED;
    c->clock_hz = 1000000000;
    if (c->core_count == 0)
        return npu_json_refuse_file(json, "has no threads AIC_n or AIV_n: no merged swimlane");
    resolve_views(m);
    npu_status status = build_rows(m);
    if (status == NPU_OK)
        status = build_aicpu(m);
    if (status == NPU_OK)
        status = build_graph(m);
    c->level = c->call_count > 0 ? 4 : c->record_count > 0 ? 3 : c->cpu_row_count > 0 ? 2 : 1;
    if (status == NPU_OK)
        status = npu_deps_circle(m->deps, &circle, m->err);
    if (status == NPU_OK && circle >= 0)
        status = npu_json_refuse_file(json, "the arrows go round in a circle through task %llu",
                                      (unsigned long long)m->deps->tasks[circle].id);
    return status == NPU_OK ? npu_capture_join(c, m->err) : status;
}
