// SPDX-License-Identifier: Apache-2.0
// Slices and arrows are collected as they come, since the names of the processes may come last;
// merged_build.c makes the capture of them.
#include "merged.h"

#include <stdlib.h>
#include <string.h>

#include "chrome.h"
#include "merged_impl.h"

static const struct {
    const char *name;
    npu_view view;
} processes[] = {
    {"Worker View", NPU_VIEW_WORKER},        {"AICore View", NPU_VIEW_WORKER},
    {"Scheduler View", NPU_VIEW_DISPATCH},   {"AICPU View", NPU_VIEW_DISPATCH},
    {"AICPU Scheduler", NPU_VIEW_SCHEDULER}, {"AICPU Orchestrator", NPU_VIEW_ORCHESTRATOR},
    {"Orchestrator", NPU_VIEW_ORCHESTRATOR}, {"Host Orchestrator", NPU_VIEW_ORCHESTRATOR},
};

static int64_t to_ns(int64_t ps) {
    return (ps + 500) / 1000;
}

// The process with this pid, made when it is new.
static npu_status find_process(npu_merged *m, npu_json *json, const char *pid, int *index) {
    for (*index = 0; *index < m->process_count; ++*index)
        if (strcmp(m->processes[*index].pid, pid) == 0)
            return NPU_OK;
    if (m->process_count == NPU_MOST_PROCESSES)
        return npu_json_refuse(json, "there are more than %d processes", NPU_MOST_PROCESSES);
    const char *kept = npu_arena_text(&m->arena, pid, strlen(pid));
    if (kept == NULL)
        return npu_json_no_memory(json);
    m->processes[m->process_count++] = (npu_process){kept, NPU_VIEW_OTHER};
    return NPU_OK;
}

static npu_status read_tid(npu_json *json, const char *text, int *tid) {
    npu_json_token number;
    if (!npu_json_integer(text, strlen(text), &number) || number.negative ||
        number.value > INT32_MAX)
        return npu_json_refuse(json, "'%.40s' is no thread", text);
    *tid = (int)number.value;
    return NPU_OK;
}

// "AIC_3" is core 3.
static npu_status name_core(npu_merged *m, npu_json *json, const char *name) {
    bool aic = strncmp(name, "AIC_", 4) == 0;
    npu_json_token number;
    if (!aic && strncmp(name, "AIV_", 4) != 0)
        return NPU_OK;
    if (!npu_json_integer(name + 4, strlen(name + 4), &number) || number.negative ||
        number.value >= NPU_MOST_MERGED_CORES)
        return npu_json_refuse(json, "'%.40s' is no core", name);
    int core = (int)number.value;
    int count = m->capture->core_count;
    npu_status status = core < count ? NPU_OK : npu_capture_cores(m->capture, core + 1, m->err);
    for (; status == NPU_OK && count < core; count++)
        m->capture->cores[count].type = NPU_AIV; // not named: idle
    if (status == NPU_OK)
        m->capture->cores[core].type = aic ? NPU_AIC : NPU_AIV;
    return status;
}

static npu_status take_name(npu_merged *m, npu_json *json, const npu_chrome_event *event) {
    int process;
    npu_status status = find_process(m, json, event->pid, &process);
    if (status != NPU_OK)
        return status;
    if (strcmp(event->name, "process_name") == 0)
        for (size_t i = 0; i < sizeof processes / sizeof *processes; i++)
            if (strcmp(event->args.name, processes[i].name) == 0)
                m->processes[process].view = processes[i].view;
    return strcmp(event->name, "thread_name") == 0 ? name_core(m, json, event->args.name) : NPU_OK;
}

// The number behind "FuncId:"; -1 when there is none.
static int func_of(const char *hint) {
    const char *at = strstr(hint, "FuncId:");
    if (at == NULL)
        return -1;
    at += strlen("FuncId:");
    at += strspn(at, " ");
    size_t length = strspn(at, "0123456789");
    npu_json_token number;
    if (!npu_json_integer(at, length, &number) || number.value > INT32_MAX)
        return -1;
    return (int)number.value;
}

// "mm_spmd(r1t0)" is kernel mm.
static npu_status kernel_name(npu_merged *m, npu_json *json, const char *name, const char **kept) {
    const char *end = strrchr(name, '(');
    size_t length = end != NULL ? (size_t)(end - name) : strlen(name);
    if (length > 5 && strncmp(name + length - 5, "_spmd", 5) == 0)
        length -= 5;
    *kept = npu_arena_text(&m->arena, name, length);
    return *kept != NULL ? NPU_OK : npu_json_no_memory(json);
}

static npu_status take_slice(npu_merged *m, npu_json *json, const npu_chrome_event *event) {
    const npu_chrome_args *args = &event->args;
    npu_slice slice = {.start = to_ns(event->ts),
                       .end = to_ns(event->ts + event->dur),
                       .setup = to_ns(args->setup),
                       .has_task = args->has_task,
                       .task = args->task,
                       .func = func_of(args->hint),
                       .loop_iter = args->loop_iter,
                       .processed = args->processed,
                       .submit_idx = args->submit_idx,
                       .has_depths = args->has_depths,
                       .kind = -1};
    memcpy(slice.depth_start, args->depth_start, sizeof slice.depth_start);
    memcpy(slice.depth_end, args->depth_end, sizeof slice.depth_end);
    if (slice.start < 0 || slice.end < slice.start)
        return npu_json_refuse(json, "a slice begins before 0 or lasts less than 0");
    npu_status status = find_process(m, json, event->pid, &slice.process);
    if (status == NPU_OK)
        status = read_tid(json, event->tid, &slice.tid);
    if (status == NPU_OK && args->phase[0] != '\0')
        status = npu_capture_kind(m->capture, args->phase, &slice.kind, m->err);
    if (status == NPU_OK && slice.func >= 0)
        status = kernel_name(m, json, event->name, &slice.kernel);
    if (status == NPU_OK)
        status = NPU_GROW(m, slices, slice_count, slice_capacity, m->err);
    if (status == NPU_OK)
        m->slices[m->slice_count++] = slice;
    return status;
}

static npu_status take_arrow(npu_merged *m, npu_json *json, const npu_chrome_event *event) {
    npu_json_token id;
    npu_arrow_end end = {.leads = event->ph == 's', .ts = to_ns(event->ts)};
    if (strcmp(event->name, "dependency") != 0 && strcmp(event->name, "hb_violation") != 0)
        return NPU_OK;
    if (!npu_json_integer(event->id, strlen(event->id), &id))
        return npu_json_refuse(json, "an arrow needs a number as its id");
    end.id = id.value;
    npu_status status = find_process(m, json, event->pid, &end.process);
    if (status == NPU_OK)
        status = read_tid(json, event->tid, &end.tid);
    if (status == NPU_OK)
        status = NPU_GROW(m, arrows, arrow_count, arrow_capacity, m->err);
    if (status == NPU_OK)
        m->arrows[m->arrow_count++] = end;
    return status;
}

static npu_status take_event(void *user, npu_json *json, const npu_chrome_event *event) {
    switch (event->ph) {
    case 'M':
        return take_name(user, json, event);
    case 'X':
        return take_slice(user, json, event);
    case 's':
    case 'f':
        return take_arrow(user, json, event);
    default:
        return NPU_OK;
    }
}

npu_status npu_merged_read_json(npu_json *json, const char *path, npu_capture *capture,
                                npu_deps *deps, npu_name_map *names, npu_error *err) {
    npu_merged m = {.capture = capture, .deps = deps, .names = names, .err = err};
    *deps = (npu_deps){0};
    *names = (npu_name_map){0};
    npu_status status = npu_capture_begin(capture, path, err);
    if (status == NPU_OK)
        status = npu_chrome_read(json, take_event, &m);
    if (status == NPU_OK)
        status = npu_merged_build(&m, json);
    free(m.slices);
    free(m.arrows);
    npu_arena_free(&m.arena);
    return status;
}

npu_status npu_merged_read(const char *path, npu_capture *capture, npu_deps *deps,
                           npu_name_map *names, npu_error *err) {
    npu_json *json;
    *capture = (npu_capture){0};
    *deps = (npu_deps){0};
    *names = (npu_name_map){0};
    npu_status status = npu_json_open(path, NPU_JSON_ONE, &json, err);
    if (status == NPU_OK)
        status = npu_merged_read_json(json, path, capture, deps, names, err);
    npu_json_close(json);
    return status;
}
