// SPDX-License-Identifier: Apache-2.0
// The task graph: tensors, tasks in submission order, and edges. Loops, includes and
// parameters are gone: this is what the orchestrator submits.
#ifndef NPU_GRAPH_H
#define NPU_GRAPH_H

#include "error.h"
#include "mem.h"
#include "program.h"
#include "tile.h"

// Dies share one space of addresses; 64 TiB are each die's.
enum { NPU_RANK_SHIFT = 46, NPU_MAX_RANKS = 64 };

// What a tensor's bytes are counted as.
typedef enum npu_class {
    NPU_ACTIVATION,
    NPU_WEIGHT,
    NPU_CACHE,
    NPU_HANDOFF, // between the AIC and the AIVs of one block, through GM
    NPU_CLASS_COUNT,
} npu_class;
extern const char *const npu_class_names[];

typedef struct npu_tensor {
    const char *name;
    npu_dtype dtype;
    int rank;
    int64_t shape[NPU_MAX_RANK];
    int64_t stride[NPU_MAX_RANK]; // elements
    npu_class class_;
    int storage;     // the tensor whose memory this is a view of; its own index otherwise
    int64_t offset;  // elements from the start of the storage
    int64_t address; // bytes; storages start on 512 B boundaries, in file order, from
                     // rank << NPU_RANK_SHIFT on: an address says on which die it is
    int64_t bytes;   // of the storage's extent; 0 for a view
    bool external;   // exists before the graph runs (weights, caches, inputs)
    bool in_l2;      // `l2: warm`: its lines are in L2 when the run starts
    int on_ranks;    // the tensor that this one shows on every rank, -1 for all others
    npu_pos pos;
} npu_tensor;

// One argument of one task: a window of a tensor.
typedef struct npu_arg {
    const char *name; // the kernel's name for it
    int tensor;
    npu_access access;
    int rank;
    int64_t shape[NPU_MAX_RANK];
    int64_t stride[NPU_MAX_RANK]; // elements
    int64_t offset;               // elements from the start of the storage
    npu_pos pos;
} npu_arg;

typedef struct npu_task {
    const char *name;   // unique: "proj_a_mm[3]"
    const char *kernel; // name without the index: "proj_a_mm"; tasks of one name are one row
                        // in tables and one func_id in traces
    int func;           // index into npu_graph.funcs, -1 for a dummy
    npu_engine_type engine;
    const npu_program *program; // NULL for a dummy
    int first_arg, arg_count;   // in npu_graph.args
    int first_edge, edge_count; // edges into this task, in npu_graph.edges
    int64_t block_num;          // 0 for a dummy
    bool early;                 // consumers may be pre-staged (allow_early_resolve)
    bool sync_start;            // all blocks start together
    bool manual;                // in a manual scope: no edges by memory
    int scope;                  // in npu_graph.scopes
    bool predicated;            // `when:`: the runtime asks when the task is ready
    bool skipped;               // .. and the answer is no: it retires like a dummy
    npu_pos pos;
} npu_task;

typedef enum npu_edge_source {
    NPU_EDGE_EXPLICIT,  // `after:`
    NPU_EDGE_CREATOR,   // the task that allocated the tensor (its OUT argument)
    NPU_EDGE_TENSORMAP, // an earlier writer whose region overlaps
} npu_edge_source;

typedef struct npu_edge {
    int pred, succ; // task indices, pred < succ
    int arg;        // of the consumer, relative to its first; -1 for explicit
    npu_edge_source source;
    bool covered;     // tensormap: the consumer covers the producer's region wholly
    int producer_arg; // tensormap, creator: relative to pred's first; else -1
} npu_edge;

// Tasks [first, end) were submitted while the scope was open; those of scopes inside count too.
typedef struct npu_task_scope {
    int parent; // -1 for the first, which is the graph itself
    int depth;  // 0 for the first
    int first, end;
    npu_pos pos;
} npu_task_scope;

// The orchestrator waits for a task before it submits `before` (or ends).
typedef struct npu_read_back {
    int before, task;
    npu_pos pos;
} npu_read_back;

typedef enum npu_runtime { // who builds the graph
    NPU_RUNTIME_TENSORMAP, // the orchestrator, on the die, while tasks run
    NPU_RUNTIME_HOST,      // the host, before the run
} npu_runtime;

typedef enum npu_policy { // where ready blocks go
    NPU_POLICY_SHIPPED,
    NPU_POLICY_IDLE_FIRST,
    NPU_POLICY_LEAST_LOADED,
    NPU_POLICY_CRITICAL_PATH,
    NPU_POLICY_CALENDAR,
} npu_policy;
extern const char *const npu_runtime_names[];
extern const char *const npu_policy_names[];

typedef struct npu_func { // one row of name_map.json
    const char *name;
    int aic_id;                // func_id of the AIC half, -1 when there is none
    int aiv_id;                // func_id of the AIV half (both lanes), -1 when there is none
    const char *half_names[2]; // captured: what a MIX's AIC and AIV halves are called
} npu_func;

// What the host does around the graph, once a step. Times in ns.
typedef struct npu_host_step {
    bool given;
    int64_t submissions;            // programs that the graph is submitted as
    double submit;                  // of the host for each, on each rank
    double metadata;                // built on the host before; 0 when the device does it
    int64_t to_device, from_device; // bytes copied before and after
} npu_host_step;

typedef struct npu_graph {
    const char *path; // of the file it came from
    const char *name;
    const npu_tensor *tensors;
    int tensor_count;
    const npu_task *tasks; // in submission order
    int task_count;
    const npu_arg *args;
    int arg_count;
    const npu_edge *edges; // sorted by succ, then by producer; several may join one pair
    int edge_count;
    const npu_func *funcs;
    int func_count;
    const npu_task_scope *scopes; // outer ones before those inside
    int scope_count;
    const npu_read_back *read_backs; // in submission order
    int read_back_count;
    npu_runtime runtime;
    npu_policy policy;
    bool waves;      // the next blocks of a task go out when all before them have ended
    bool operators;  // `dispatch: operator`: launched one after the other, not by the AICPU
    int rank, ranks; // which of how many dies this is; 0 of 1 without `ranks:`
    int full;        // ranks from here on are not simulated: rank r is an image of r % full
    double skew;     // ns that this rank begins after time 0
    npu_host_step step;
    const char *fabric; // what joins them, as written: a name or a path of a .xml; NULL: not said
    uint64_t hash;      // of every file read and every setting: equal inputs, equal hash
    npu_arena arena;
} npu_graph;

// How to load.
typedef struct npu_graph_options {
    const char *kernel_folder; // where kernels that the graph does not define are found
    const char *const *sets;   // "name=value" texts of --set
    int set_count;
    int rank; // the graph of which die of `ranks:`; npu_graph.ranks tells how many there are
} npu_graph_options;

// Reads a graph file (docs/graphs.md) with everything it includes. On failure *graph is empty.
// `warnings` gets what does not stop a run.
npu_status npu_graph_load(const char *path, const npu_graph_options *options, npu_graph *graph,
                          npu_warnings *warnings, npu_error *err);
void npu_graph_free(npu_graph *graph);
// Asserts what must hold of a loaded graph: edges point backwards, ranges are inside arrays.
void npu_graph_check_invariants(const npu_graph *graph);

// Sizes that a tile program must respect. From the die, but the model does not know dies.
typedef struct npu_walls {
    int64_t buffer[NPU_BUFFER_COUNT]; // bytes
    int64_t align[NPU_BUFFER_COUNT];  // bytes; a slot starts on a multiple
    int64_t min_alloc;                // bytes: the smallest slot (32)
    int64_t line;                     // bytes of an L2 line (512)
    int64_t clusters;                 // sync_start limit: blocks <= clusters (MIX, AIC)
} npu_walls;

// The graphs of all ranks of one file: what one reaches on the others must lie there as it lies
// here. NPU_BAD_INPUT with the tensor's position.
npu_status npu_graph_check_ranks(const npu_graph *graphs, int count, npu_error *err);

// The checks before a run: buffer walls with the arithmetic shown, alignment, minimum
// allocation, short runs, sync_start limits. The first error is returned; warnings go on.
npu_status npu_graph_check(const npu_graph *graph, const npu_walls *walls, npu_warnings *warnings,
                           npu_error *err);

#endif
