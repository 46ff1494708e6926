// SPDX-License-Identifier: Apache-2.0
// The record of one run, simulated or real: what both backends fill and every writer,
// metric and plot reads. Times in ns from the start of the run; indices, no pointers
// between records.
#ifndef NPU_TRACE_H
#define NPU_TRACE_H

#include "graph.h"
#include "tile.h"

// One block (or one core's half of a MIX block) on one core.
typedef struct npu_row {
    int core;             // AIC = [0, N), AIV = [N, 3N); cluster c = {c, N + 2c, N + 2c + 1}
    int task;             // index into the graph's tasks
    int64_t block;        // of the task
    uint32_t reg_task_id; // sequence number of dispatches to this core, from 1
    // dispatch: the AICPU's stamp before the register writes; receive: the core picks the
    // token up; start, end: around the kernel body; finish: the AICPU saw the end.
    double dispatch, receive, start, end, finish;
    double busy[NPU_PIPE_COUNT];     // ns each pipe was occupied within [start, end]
    int64_t read_bytes, write_bytes; // GM bytes asked for by the ops
    int64_t ops;                     // tile ops run
} npu_row;

typedef enum npu_phase_kind { // runtime.md 1.3; outer kinds first
    NPU_PHASE_COMPLETE,
    NPU_PHASE_DISPATCH,
    NPU_PHASE_ASYNC_POLL,
    NPU_PHASE_RELEASE,
    NPU_PHASE_DUMMY,
    NPU_PHASE_EARLY_DISPATCH,
    NPU_PHASE_DRAIN,
    NPU_PHASE_OTHER,      // an outer kind of a capture that the model does not have
    NPU_PHASE_RESOLVE,    // inside complete or dummy
    NPU_PHASE_DUMMY_TASK, // zero-width marker
    NPU_PHASE_INNER,      // an inner kind or a marker that the model does not have
    NPU_PHASE_COUNT,
} npu_phase_kind;
extern const char *const npu_phase_names[];

typedef struct npu_phase {
    int thread;
    npu_phase_kind kind;
    const char *name; // of NPU_PHASE_OTHER and NPU_PHASE_INNER, else NULL
    double start, end;
    int64_t loop_iter;
    int64_t processed;                // tasks_processed: its meaning depends on the kind
    int64_t pop_hit, pop_miss;        // dispatch only
    int task;                         // markers only, else -1
    int depth_start[3], depth_end[3]; // ready + ready_sync of AIC, AIV, MIX
} npu_phase;

typedef struct npu_submit { // one orchestrator call
    int task;               // -1 for an allocation
    double start, end;
} npu_submit;

typedef struct npu_core_info {
    npu_engine_type type; // NPU_AIC or NPU_AIV
    int thread;           // the scheduler that owns it
} npu_core_info;

// What became of the lines of L2, in bytes of whole lines but for hits and misses.
typedef struct npu_l2_use {
    double hit, missed; // by loads, as they cross to the cores
    double evicted;     // prefetched or stored lines that were evicted before anyone loaded them
    double warmed;      // brought by SDMA
    double warmed_used; // of these: loaded before they were evicted; the rest was in vain
} npu_l2_use;

// What the run moved and computed, counted by the simulator from the ops.
typedef struct npu_totals {
    int64_t load_bytes[NPU_CLASS_COUNT];
    int64_t store_bytes[NPU_CLASS_COUNT];
    int64_t mac_padded, mac_valid;
    int64_t vec_elements;
    int64_t ops;
    int64_t prefetch_bytes;
    // memory system
    double l2_hit_bytes, l2_miss_bytes; // by loads, as they cross to the cores
    npu_l2_use l2[NPU_CLASS_COUNT];
    double hbm_read_bytes, hbm_write_bytes;
    double hbm_peak, l2_read_peak; // bytes per ns the die could move
    int64_t events;                // engine callbacks
} npu_totals;

typedef struct npu_trace {
    double clock_hz; // of the stamps in files (50 MHz)
    double core_hz;  // of the cores (for pmu.csv)
    const npu_core_info *cores;
    int core_count;
    npu_row *rows; // sorted by start, then core
    int row_count, row_capacity;
    npu_phase *phases; // by thread, then time
    int phase_count, phase_capacity;
    npu_submit *submits; // in order
    int submit_count, submit_capacity;
    int scheduler_count;
    const uint64_t *task_ids; // captured: the ids of the graph's tasks; NULL: simulated
    const uint64_t *call_ids; // captured: those of the submits, allocations included
    bool host_graph;          // captured: they are of a graph that the host built
    int64_t origin;           // captured: ticks at ns 0; every stamp is a whole tick
    double makespan;          // ns, from the first dispatch-side activity (0) to the last finish
    npu_totals totals;
} npu_trace;

// Frees what the trace owns (rows, phases, submits, cores).
void npu_trace_free(npu_trace *trace);

// Checks runtime.md 1.5 and 1.10 on any trace: dispatch <= receive <= start <= end <= finish
// (finish may be 2 ticks early), rows of one core do not overlap, at most two in flight per
// core, rows per task as its shape demands, MIX halves in one cluster, no pipe busier than
// its row is long, no task before its producers (less 2 ticks), no two phases of one thread
// at once. NPU_BAD_INPUT with the first rule broken and where.
npu_status npu_trace_verify(const npu_trace *trace, const npu_graph *graph, npu_error *err);
// Asserts the same of a trace that we made; the broken rule goes to stderr first.
void npu_trace_check_invariants(const npu_trace *trace, const npu_graph *graph);

// Cores that one block takes: 1, 3 for a MIX, 0 for a dummy.
int npu_task_cores(const npu_task *task);
// The func_id of a task's part on a core of this type; -1 when it has none.
int npu_task_func_id(const npu_graph *graph, const npu_task *task, npu_engine_type core);

// The id of a task in this trace, and how the runtime shows an id: "r1t7" (ring and number; "t7"
// on ring 0), or of a host's graph "t7", "g3t7", "p7". The latter returns buf.
uint64_t npu_trace_task_id(const npu_trace *trace, int task);
const char *npu_task_label(uint64_t id, bool host_graph, char *buf, int size);
// What a phase is called in files.
const char *npu_phase_name(const npu_phase *phase);

// The task id used in files: ring 1 for all (scope depth 1), local = submission index.
uint64_t npu_task_id(int task);
// The id of the n-th allocation: ring 0.
uint64_t npu_alloc_id(int n);

// A stamp in files: ticks of clock_hz, rounded down (so that order survives), from an
// origin that keeps every stamp above 0, which means "lost". Captured stamps are those of the file.
enum { NPU_TICK_ORIGIN = 10 };
int64_t npu_trace_ticks(const npu_trace *trace, double ns);
// The runtime records a resolve phase only when it lasts 50 ticks; all others always. What was
// captured was recorded.
bool npu_phase_recorded(const npu_trace *trace, const npu_phase *phase);

#endif
