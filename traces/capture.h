// SPDX-License-Identifier: Apache-2.0
// What the swimlane files of one run hold, as they hold it: whole ticks and 64-bit ids, in the
// order of the file. Readers fill it, writers write it back without loss, npu_scene (scene.h)
// makes of it the trace and the graph that the rest of npusim knows.
#ifndef NPU_CAPTURE_H
#define NPU_CAPTURE_H

#include "trace.h"

typedef enum npu_generation { // of the records file (docs/traces.md)
    NPU_G1,
    NPU_G2,
    NPU_G3,
    NPU_MERGED, // merged_swimlane.json: times from the smallest stamp, in whole ns
    NPU_GENERATION_COUNT,
} npu_generation;
extern const char *const npu_generation_names[]; // "g1" ... "merged", NULL-terminated

// A row of the AICore stream. start 0: the record was lost.
typedef struct npu_core_row {
    uint64_t task;
    int64_t start, end;
    int64_t setup; // receive = start - setup
    uint32_t reg_task_id;
    uint32_t epoch; // run_epoch; 0 before G3
    int core;
    int mate; // its row of the AICPU stream, -1: none
} npu_core_row;

// A row of the AICPU stream.
typedef struct npu_cpu_row {
    int64_t dispatch, finish;
    uint32_t reg_task_id;
    uint32_t epoch;
    int core;
    bool joined; // an AICore row has it as its mate
} npu_cpu_row;

enum { // what a scheduler record has
    NPU_RECORD_TASK = 1,
    NPU_RECORD_POPS = 2,
    NPU_RECORD_DEPTHS = 4,
};

typedef struct npu_record { // one phase of a scheduler
    int64_t start, end;
    uint64_t task;
    int64_t loop_iter, processed;
    int64_t pop_hit, pop_miss;
    int64_t depth_start[3], depth_end[3];
    const char *extra; // members that have no field here, as JSON without braces; NULL: none
    uint32_t epoch;
    int stream;
    int kind; // index of npu_capture.kinds; below NPU_PHASE_COUNT it is an npu_phase_kind
    unsigned has;
} npu_record;

// Who wrote the records of one scheduler. `said` is false where nothing is said (before G2) or
// only what goes without saying (npu_record_stream_usual).
typedef struct npu_record_stream {
    bool said;
    const char *platform, *producer, *core_type;
    int64_t worker_id;
    bool has_physical; // physical_core_id is a number
    int64_t physical_core_id;
    int64_t committed, dropped;
    bool truncated;
    int first, count; // of its records in npu_capture.records
} npu_record_stream;

typedef struct npu_call { // of the orchestrator: a submit or an allocation
    uint64_t task;
    int64_t start, end; // ticks, or ns of the host (npu_capture.host_calls)
    int64_t submit_idx;
    uint32_t epoch;
    int lane;
} npu_call;

typedef struct npu_upload { // of the host to the device
    const char *phase;
    int64_t start, end, bytes; // ns of the host
} npu_upload;

typedef struct npu_member { // of a JSON object, kept as it is; the key with its quotes
    const char *key, *raw;
} npu_member;

typedef struct npu_captured_core { // of the capture
    npu_engine_type type;          // NPU_AIC or NPU_AIV
    int thread;                    // -1: none, or not said
} npu_captured_core;

typedef struct npu_capture {
    const char *path; // of the file
    npu_generation generation;
    int level; // 1..4
    int64_t clock_hz;
    const char *runtime; // "tensormap_and_ringbuffer", or "host_build_graph"
    npu_captured_core *cores;
    int core_count, core_capacity;
    bool threaded;        // core_to_thread is there
    npu_member *metadata; // what has no field here
    int metadata_count, metadata_capacity;
    npu_core_row *core_rows;
    int core_row_count, core_row_capacity;
    npu_cpu_row *cpu_rows;
    int cpu_row_count, cpu_row_capacity;
    npu_record_stream *streams; // by scheduler
    int stream_count, stream_capacity;
    npu_record *records; // those of one stream stand together
    int record_count, record_capacity;
    const char **kinds;
    int kind_count, kind_capacity;
    npu_call *calls; // by lane, then as in the file
    int call_count, call_capacity;
    bool host_calls; // by the host, in its ns
    npu_upload *uploads;
    int upload_count, upload_capacity;
    int64_t legacy_records; // of kinds that are no work (scan, poll, idle): left out
    int64_t ignored_keys;   // of the file's top level
    npu_arena arena;
} npu_capture;

// Does a kind of record exclude the other such kinds in time, on one thread? Not so what lies
// inside another, and markers.
bool npu_capture_outer(const npu_capture *capture, int kind);
// The number of AICs when the cores are N AICs and then 2 N AIVs, else 0.
int npu_capture_clusters(const npu_capture *capture);

// Names and defaults of an empty capture. Free it in any case.
npu_status npu_capture_begin(npu_capture *capture, const char *path, npu_error *err);
void npu_capture_free(npu_capture *capture);
// The index of a kind of record; a name not met before is added.
// NPU_BAD_INPUT when there would be more than 256.
npu_status npu_capture_kind(npu_capture *capture, const char *name, int *kind, npu_error *err);
// Joins the two streams of rows by (epoch, core, reg_task_id); of several rows with one key the
// first counts.
npu_status npu_capture_join(npu_capture *capture, npu_error *err);

// What goes without saying of scheduler `id` with `count` records.
npu_record_stream npu_record_stream_usual(int id, int count);
// The runtime that a capture without its name comes from.
const char *npu_capture_usual_runtime(const npu_capture *capture);
// Room for `count` cores or streams in all; new ones know nothing of themselves.
npu_status npu_capture_cores(npu_capture *capture, int count, npu_error *err);
npu_status npu_capture_streams(npu_capture *capture, int count, npu_error *err);

// Are its ids those of a graph that the host built?
bool npu_capture_host_graph(const npu_capture *capture);

#endif
