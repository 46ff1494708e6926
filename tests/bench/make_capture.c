// SPDX-License-Identifier: Apache-2.0
// Writes a swimlane capture of as many rows as wanted to standard output, to measure the readers:
//
//     make_capture 900000 g1 > big/chip_swimlane_records.json
//     /usr/bin/time -v npusim convert big
//
// Level 4, 72 cores: per row a dispatch and half a scheduler's record and orchestrator's call.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "records.h"

enum { CORES = 72, CLUSTERS = 24, SCHEDULERS = 3 };

static npu_status fill_cores(npu_capture *c, npu_error *err) {
    npu_status status = npu_capture_cores(c, CORES, err);
    if (status == NPU_OK)
        status = npu_capture_streams(c, SCHEDULERS, err);
    for (int core = 0; core < CORES && status == NPU_OK; core++) {
        int cluster = core < CLUSTERS ? core : (core - CLUSTERS) / 2;
        c->cores[core].type = core < CLUSTERS ? NPU_AIC : NPU_AIV;
        c->cores[core].thread = cluster % SCHEDULERS;
    }
    return status;
}

// Task i runs on core i mod 72; ids beyond 2^53 show that none passes through a double.
static npu_status fill_row(npu_capture *c, int i, npu_error *err) {
    int64_t start = INT64_C(4409875911990) + (int64_t)(i / CORES) * 2000 + i % CORES;
    uint64_t task = UINT64_C(0x4000000100000000) | (uint32_t)i;
    npu_status status = NPU_GROW(c, core_rows, core_row_count, core_row_capacity, err);
    if (status == NPU_OK)
        status = NPU_GROW(c, cpu_rows, cpu_row_count, cpu_row_capacity, err);
    if (status == NPU_OK)
        status = NPU_GROW(c, calls, call_count, call_capacity, err);
    if (status != NPU_OK)
        return status;
    uint32_t reg = (uint32_t)(i / CORES) + 1;
    c->core_rows[c->core_row_count++] = (npu_core_row){.core = i % CORES,
                                                       .task = task,
                                                       .reg_task_id = reg,
                                                       .start = start,
                                                       .end = start + 1800,
                                                       .setup = 15};
    c->cpu_rows[c->cpu_row_count++] = (npu_cpu_row){
        .core = i % CORES, .reg_task_id = reg, .dispatch = start - 30, .finish = start + 1840};
    if (i % 2 == 0)
        c->calls[c->call_count++] = (npu_call){.task = task,
                                               .submit_idx = i,
                                               .start = start - 200 + i % CORES,
                                               .end = start - 180 + i % CORES};
    return NPU_OK;
}

static npu_status fill_records(npu_capture *c, int stream, int count, npu_error *err) {
    npu_status status = NPU_OK;
    c->streams[stream] = npu_record_stream_usual(stream, count);
    c->streams[stream].first = c->record_count;
    for (int i = 0; i < count && status == NPU_OK; i++) {
        int64_t start = INT64_C(4409875911000) + (int64_t)i * 160;
        status = NPU_GROW(c, records, record_count, record_capacity, err);
        if (status == NPU_OK)
            c->records[c->record_count++] =
                (npu_record){.start = start,
                             .end = start + 150,
                             .loop_iter = i,
                             .processed = i % 7,
                             .pop_hit = 1,
                             .kind = i % 2 == 0 ? NPU_PHASE_DISPATCH : NPU_PHASE_COMPLETE,
                             .stream = stream,
                             .has = NPU_RECORD_DEPTHS | (i % 2 == 0 ? NPU_RECORD_POPS : 0U)};
    }
    return status;
}

int main(int argc, char **argv) {
    npu_capture c;
    npu_error err = {0};
    int generation = 0;
    long rows = argc == 3 ? strtol(argv[1], NULL, 10) : 0;
    while (argc == 3 && generation < NPU_MERGED &&
           strcmp(argv[2], npu_generation_names[generation]) != 0)
        generation++;
    if (rows <= 0 || rows > INT32_MAX / 4 || generation == NPU_MERGED) {
        fprintf(stderr, "usage: make_capture ROWS g1|g2|g3 > FILE\n");
        return 2;
    }
    npu_status status = npu_capture_begin(&c, "made", &err);
    c.level = 4;
    c.clock_hz = 50000000;
    c.threaded = true;
    if (status == NPU_OK)
        status = fill_cores(&c, &err);
    for (int i = 0; i < rows && status == NPU_OK; i++)
        status = fill_row(&c, i, &err);
    for (int stream = 0; stream < SCHEDULERS && status == NPU_OK; stream++)
        status = fill_records(&c, stream, (int)rows / 6, &err);
    if (status == NPU_OK)
        status = npu_records_write(stdout, &c, (npu_generation)generation, &err);
    npu_capture_free(&c);
    if (status != NPU_OK)
        fprintf(stderr, "%s\n", err.text);
    return (int)status;
}
