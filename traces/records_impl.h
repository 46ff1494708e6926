// SPDX-License-Identifier: Apache-2.0
// What the parts of the records reader share: rows and calls (records_read.c), metadata
// (records_meta.c), schedulers (records_sched.c).
#ifndef NPU_RECORDS_IMPL_H
#define NPU_RECORDS_IMPL_H

#include "records.h"

enum {
    NPU_MOST_CORES = 100000,
    NPU_MOST_STREAMS = 1024,
    NPU_MOST_EXTRA = 65536, // characters of a record's members that have no field
};
#define NPU_MOST_TICKS (INT64_MAX / 4) // sums and differences of stamps fit in 64 bits

typedef struct npu_records_reader {
    npu_json *j;
    npu_capture *c;
    npu_error *err;
    bool has_level, has_metadata, has_core_rows, has_scheduler_tasks, has_schema, has_records;
    bool has_calls, has_host_calls, has_runtime;
    int core_columns, cpu_columns; // of the widest row
    int named_cores;               // num_cores
    uint32_t epoch;                // metadata.run_epoch
    const char *last_extra;        // of a record: often they are all the same
} npu_records_reader;

// One member of an object: the function that reads its value.
typedef struct npu_records_member {
    const char *key;
    npu_status (*read)(npu_records_reader *r);
} npu_records_member;

npu_status npu_records_metadata(npu_records_reader *r);
npu_status npu_records_g1_phases(npu_records_reader *r);    // aicpu_scheduler_phases
npu_status npu_records_streams(npu_records_reader *r);      // scheduler_records
npu_status npu_records_said_streams(npu_records_reader *r); // metadata.scheduler_streams
// Completes what was read of the streams, and drops those that say nothing.
void npu_records_settle_streams(npu_capture *c);

// A text that lasts as long as the capture.
npu_status npu_records_text(npu_records_reader *r, const char *what, const char **text);

#endif
