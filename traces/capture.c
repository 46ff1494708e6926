// SPDX-License-Identifier: Apache-2.0
#include "capture.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KINDS = 256 };

const char *const npu_generation_names[] = {"g1", "g2", "g3", "merged", NULL};

_Static_assert(sizeof npu_generation_names / sizeof *npu_generation_names ==
                   NPU_GENERATION_COUNT + 1,
               "generations");

npu_status npu_capture_begin(npu_capture *capture, const char *path, npu_error *err) {
    *capture = (npu_capture){0};
    capture->path = npu_arena_text(&capture->arena, path, strlen(path));
    if (capture->path == NULL)
        return npu_fail_memory(err);
    capture->runtime = npu_capture_usual_runtime(capture);
    npu_status status = NPU_OK;
    for (int i = 0; i < NPU_PHASE_COUNT && status == NPU_OK; i++) {
        int kind;
        status = npu_capture_kind(capture, npu_phase_names[i], &kind, err);
        assert(status != NPU_OK || kind == i);
    }
    return status;
}

void npu_capture_free(npu_capture *capture) {
    free(capture->cores);
    free(capture->metadata);
    free(capture->core_rows);
    free(capture->cpu_rows);
    free(capture->streams);
    free(capture->records);
    free(capture->kinds);
    free(capture->calls);
    free(capture->uploads);
    npu_arena_free(&capture->arena);
    *capture = (npu_capture){0};
}

npu_status npu_capture_kind(npu_capture *capture, const char *name, int *kind, npu_error *err) {
    for (*kind = 0; *kind < capture->kind_count; ++*kind)
        if (strcmp(capture->kinds[*kind], name) == 0)
            return NPU_OK;
    if (*kind >= MOST_KINDS)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){.file = capture->path},
                        "there are more than %d kinds of scheduler records", MOST_KINDS);
    const char *kept = npu_arena_text(&capture->arena, name, strlen(name));
    if (kept == NULL)
        return npu_fail_memory(err);
    npu_status status = NPU_GROW(capture, kinds, kind_count, kind_capacity, err);
    if (status == NPU_OK)
        capture->kinds[capture->kind_count++] = kept;
    return status;
}

bool npu_capture_outer(const npu_capture *capture, int kind) {
    static const char *const inner[] = {"resolve",       "dummy_task",    "predicated_skip",
                                        "drain_prepare", "drain_publish", "resolve_standalone"};
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++)
        if (strcmp(capture->kinds[kind], inner[i]) == 0)
            return false;
    return true;
}

int npu_capture_clusters(const npu_capture *capture) {
    int aics = 0;
    while (aics < capture->core_count && capture->cores[aics].type == NPU_AIC)
        aics++;
    for (int core = aics; core < capture->core_count; core++)
        if (capture->cores[core].type != NPU_AIV)
            return 0;
    return capture->core_count == 3 * aics ? aics : 0;
}

npu_status npu_capture_cores(npu_capture *capture, int count, npu_error *err) {
    npu_status status = npu_grow((void **)&capture->cores, &capture->core_capacity, count,
                                 sizeof *capture->cores, err);
    for (; status == NPU_OK && capture->core_count < count; capture->core_count++)
        capture->cores[capture->core_count] = (npu_captured_core){.thread = -1};
    return status;
}

npu_status npu_capture_streams(npu_capture *capture, int count, npu_error *err) {
    npu_status status = npu_grow((void **)&capture->streams, &capture->stream_capacity, count,
                                 sizeof *capture->streams, err);
    if (status == NPU_OK && capture->stream_count < count)
        capture->stream_count = count; // npu_grow has zeroed them
    return status;
}

npu_record_stream npu_record_stream_usual(int id, int count) {
    return (npu_record_stream){.platform = "a2a3",
                               .producer = "aicpu",
                               .core_type = "aicpu",
                               .worker_id = id,
                               .committed = count,
                               .count = count};
}

const char *npu_capture_usual_runtime(const npu_capture *capture) {
    return capture->host_calls ? "host_build_graph" : "tensormap_and_ringbuffer";
}

// ---- joining -------------------------------------------------------------------------------

// A row of the AICPU by its key, for sorting and searching.
typedef struct key {
    uint64_t core; // epoch and core
    uint32_t reg_task_id;
    int row;
} key;

static key key_of(uint32_t epoch, int core, uint32_t reg_task_id, int row) {
    return (key){(uint64_t)epoch << 32 | (uint32_t)core, reg_task_id, row};
}

static int compare_keys(const key *a, const key *b) {
    if (a->core != b->core)
        return a->core < b->core ? -1 : 1;
    return a->reg_task_id < b->reg_task_id ? -1 : a->reg_task_id > b->reg_task_id;
}

static int compare_entries(const void *a, const void *b) {
    int order = compare_keys(a, b);
    return order != 0 ? order : ((const key *)a)->row - ((const key *)b)->row;
}

// The first of `count` sorted keys that is not below `wanted`.
static int find_key(const key *keys, int count, const key *wanted) {
    int low = 0;
    for (int high = count; low < high;) {
        int middle = low + (high - low) / 2;
        if (compare_keys(&keys[middle], wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

npu_status npu_capture_join(npu_capture *capture, npu_error *err) {
    int count = capture->cpu_row_count;
    key *keys = malloc(((size_t)count + 1) * sizeof *keys);
    if (keys == NULL)
        return npu_fail_memory(err);
    bool sorted = true;
    for (int i = 0; i < count; i++) {
        npu_cpu_row *row = &capture->cpu_rows[i];
        row->joined = false;
        keys[i] = key_of(row->epoch, row->core, row->reg_task_id, i);
        sorted = sorted && (i == 0 || compare_keys(&keys[i - 1], &keys[i]) <= 0);
    }
    if (!sorted)
        qsort(keys, (size_t)count, sizeof *keys, compare_entries);
    for (int i = 0; i < capture->core_row_count; i++) {
        npu_core_row *row = &capture->core_rows[i];
        key wanted = key_of(row->epoch, row->core, row->reg_task_id, 0);
        int found = find_key(keys, count, &wanted);
        row->mate = -1;
        if (found < count && compare_keys(&keys[found], &wanted) == 0 &&
            !capture->cpu_rows[keys[found].row].joined) {
            row->mate = keys[found].row;
            capture->cpu_rows[row->mate].joined = true;
        }
    }
    free(keys);
    return NPU_OK;
}

bool npu_capture_host_graph(const npu_capture *capture) {
    return capture->generation == NPU_G3 && strcmp(capture->runtime, "host_build_graph") == 0;
}
