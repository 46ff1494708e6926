// SPDX-License-Identifier: Apache-2.0
// The metadata of a records file.
#include <stdlib.h>
#include <string.h>

#include "records_impl.h"

static npu_status read_clock(npu_records_reader *r) {
    return npu_json_i64(r->j, "clock_freq_hz", 1, INT64_C(1000000000000), &r->c->clock_hz);
}

static npu_status read_core_count(npu_records_reader *r) {
    return npu_json_int(r->j, "num_cores", 1, NPU_MOST_CORES, &r->named_cores);
}

static npu_status read_core_types(npu_records_reader *r) {
    npu_status status = npu_json_enter(r->j, NPU_JSON_LIST, "core_types");
    bool more = true;
    for (int core = 0; status == NPU_OK; core++) {
        const char *type = "";
        status = npu_json_more(r->j, &more);
        if (status != NPU_OK || !more)
            break;
        if (core >= NPU_MOST_CORES)
            return npu_json_refuse(r->j, "core_types names more than %d cores", NPU_MOST_CORES);
        status = npu_json_string(r->j, "the type of a core", &type);
        bool aic = strcmp(type, "aic") == 0;
        if (status == NPU_OK && !aic && strcmp(type, "aiv") != 0)
            status = npu_json_refuse(r->j, "the type of core %d is neither aic nor aiv", core);
        if (status == NPU_OK)
            status = npu_capture_cores(r->c, core + 1, r->err);
        if (status == NPU_OK)
            r->c->cores[core].type = aic ? NPU_AIC : NPU_AIV;
    }
    return status;
}

// May stand before core_types: the threads are kept apart until the end.
static npu_status read_threads(npu_records_reader *r, int **threads, int *count, int *capacity) {
    npu_status status = npu_json_enter(r->j, NPU_JSON_LIST, "core_to_thread");
    bool more = true;
    while (status == NPU_OK && (status = npu_json_more(r->j, &more)) == NPU_OK && more) {
        int thread = -1;
        if (*count >= NPU_MOST_CORES)
            return npu_json_refuse(r->j, "core_to_thread names more than %d cores", NPU_MOST_CORES);
        status = npu_json_int(r->j, "the thread of a core", -1, NPU_MOST_STREAMS - 1, &thread);
        if (status == NPU_OK)
            status = npu_grow((void **)threads, capacity, *count + 1, sizeof **threads, r->err);
        if (status == NPU_OK)
            (*threads)[(*count)++] = thread;
    }
    return status;
}

static npu_status read_runtime(npu_records_reader *r) {
    r->has_runtime = true;
    return npu_records_text(r, "runtime", &r->c->runtime);
}

static npu_status read_epoch(npu_records_reader *r) {
    int64_t epoch = 0;
    npu_status status = npu_json_i64(r->j, "run_epoch", 0, UINT32_MAX, &epoch);
    r->epoch = (uint32_t)epoch;
    return status;
}

static npu_status keep_member(npu_records_reader *r, const char *key) {
    npu_member member = {.key = npu_json_quoted(&r->c->arena, key)};
    if (member.key == NULL)
        return npu_json_no_memory(r->j);
    npu_status status = npu_json_raw(r->j, &r->c->arena, &member.raw);
    if (status == NPU_OK)
        status = NPU_GROW(r->c, metadata, metadata_count, metadata_capacity, r->err);
    if (status == NPU_OK)
        r->c->metadata[r->c->metadata_count++] = member;
    return status;
}

static const npu_records_member members[] = {
    {"clock_freq_hz", read_clock},   {"num_cores", read_core_count},
    {"core_types", read_core_types}, {"runtime", read_runtime},
    {"run_epoch", read_epoch},       {"scheduler_streams", npu_records_said_streams},
};

static npu_status read_member(npu_records_reader *r, const char *key) {
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (strcmp(key, members[i].key) == 0)
            return members[i].read(r);
    return keep_member(r, key);
}

// Without core_types a die is N AICs and then 2 N AIVs.
static npu_status complete_cores(npu_records_reader *r) {
    npu_capture *c = r->c;
    if (c->core_count == 0 && r->named_cores % 3 == 0 && r->named_cores > 0) {
        npu_status status = npu_capture_cores(c, r->named_cores, r->err);
        for (int core = 0; status == NPU_OK && core < c->core_count; core++)
            c->cores[core].type = core < c->core_count / 3 ? NPU_AIC : NPU_AIV;
        return status;
    }
    if (c->core_count == 0)
        return npu_json_refuse(r->j, "metadata must give core_types, a list with each core's type");
    if (r->named_cores > 0 && r->named_cores != c->core_count)
        return npu_json_refuse(r->j, "metadata says %d cores, but gives the types of %d",
                               r->named_cores, c->core_count);
    return NPU_OK;
}

static npu_status give_threads(npu_records_reader *r, const int *threads, int count) {
    if (count > r->c->core_count)
        return npu_json_refuse(r->j, "core_to_thread names %d cores, but there are %d", count,
                               r->c->core_count);
    for (int core = 0; core < count; core++)
        r->c->cores[core].thread = threads[core];
    r->c->threaded = count > 0;
    return NPU_OK;
}

npu_status npu_records_metadata(npu_records_reader *r) {
    int *threads = NULL;
    int count = 0, capacity = 0;
    const char *key;
    npu_status status = npu_json_enter(r->j, NPU_JSON_MAP, "metadata");
    while (status == NPU_OK && (status = npu_json_key(r->j, &key)) == NPU_OK && key != NULL) {
        if (strcmp(key, "core_to_thread") == 0)
            status = read_threads(r, &threads, &count, &capacity);
        else
            status = read_member(r, key);
    }
    if (status == NPU_OK && r->c->clock_hz <= 0)
        status = npu_json_refuse(r->j, "metadata must give clock_freq_hz, a number of Hz above 0");
    if (status == NPU_OK)
        status = complete_cores(r);
    if (status == NPU_OK)
        status = give_threads(r, threads, count);
    r->has_metadata = status == NPU_OK;
    free(threads);
    return status;
}
