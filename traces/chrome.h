// SPDX-License-Identifier: Apache-2.0
// Chrome traces (the JSON that ui.perfetto.dev opens), one event after the other. Both the merged
// swimlane and the in-core traces are of this form.
#ifndef NPU_CHROME_H
#define NPU_CHROME_H

#include "json.h"

// What the arguments of an event may say; each is 0 or "" unless given.
typedef struct npu_chrome_args {
    const char *name;  // of a process or thread
    const char *phase; // of a scheduler
    const char *hint;  // event-hint
    bool has_task;
    uint64_t task; // taskId or task_id
    int64_t setup; // local_setup_us, in ps like all times here
    int64_t loop_iter, processed, submit_idx;
    bool has_depths;
    int64_t depth_start[3], depth_end[3];
} npu_chrome_args;

typedef struct npu_chrome_event {
    char ph; // 'X' slice, 'B' and 'E' its ends, 's' and 'f' of an arrow, 'M' name; 0: not given
    const char *name, *cat;
    const char *pid, *tid; // numbers as text
    const char *id;        // "" unless given
    bool has_bind;
    int64_t bind; // bind_id: the slice that an arrow touches
    int64_t ts, dur;
    npu_chrome_args args;
} npu_chrome_event;

// Calls `take` for every event of the file, in its order. The event's texts are gone when `take`
// returns. Returns what `take` returns, or NPU_BAD_INPUT with file:line:col.
typedef npu_status npu_chrome_take(void *user, npu_json *json, const npu_chrome_event *event);
npu_status npu_chrome_read(npu_json *json, npu_chrome_take *take, void *user);

#endif
