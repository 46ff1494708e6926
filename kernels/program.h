// SPDX-License-Identifier: Apache-2.0
// Kernels: tile programs written in YAML (docs/kernels.md), bound to the arguments and
// parameters of one task, then streamed op by op for one block. Nothing is stored per op:
// a stream's memory does not depend on how long the program runs.
#ifndef NPU_PROGRAM_H
#define NPU_PROGRAM_H

#include "error.h"
#include "expr.h"
#include "mem.h"
#include "tile.h"
#include "yaml_tree.h"

typedef struct npu_kernel npu_kernel; // as written: parsed, nothing bound

typedef enum npu_access {
    NPU_IN,
    NPU_OUT, // memory the runtime allocates for this task (unless it exists)
    NPU_INOUT,
    NPU_OUT_EXISTING, // written, in memory that exists
    NPU_NO_DEP,       // used, but never the cause of an edge
    NPU_ACCESS_COUNT,
} npu_access;
extern const char *const npu_access_names[]; // "in", "out", "inout", "out_existing", "no_dep"

typedef struct npu_kernel_arg {
    const char *name;
    npu_access access;
} npu_kernel_arg;

// Parses one kernel (the map under its name). Unknown keys, ops, slots and so on are errors
// with position and the nearest right word.
npu_status npu_kernel_parse(npu_arena *arena, const char *name, const npu_yaml *map,
                            const npu_kernel **kernel, npu_error *err);
// Reads <folder>/<name>.yaml, whose top level is the kernel's map. NPU_IO when there is none.
npu_status npu_kernel_load(npu_arena *arena, const char *folder, const char *name,
                           const npu_kernel **kernel, npu_error *err);
const char *npu_kernel_name(const npu_kernel *kernel);
const npu_kernel_arg *npu_kernel_args(const npu_kernel *kernel, int *count);
npu_engine_type npu_kernel_engine(const npu_kernel *kernel);

// A window of a tensor, as given for an argument. Strides in elements, as in deps.json.
typedef struct npu_window {
    npu_dtype dtype;
    int rank;
    int64_t shape[NPU_MAX_RANK];
    int64_t stride[NPU_MAX_RANK];
    int64_t address; // of element 0 of the window, in bytes
    npu_pos pos;     // where the argument is written
} npu_window;

typedef struct npu_setting { // a number given by name
    const char *name;
    int64_t value;
    npu_pos pos;
    const npu_table *table; // NULL for a number
} npu_setting;

typedef struct npu_axis {
    const char *name;
    int64_t count;
} npu_axis;

// What a task gives its kernel.
typedef struct npu_binding {
    const npu_window *windows; // one per argument, in the kernel's order
    const npu_setting *params; // of `with:`
    int param_count;
    const npu_setting *tile; // of `tile:`, without the "tile." in front
    int tile_count;
    const npu_setting *calls; // scalar instructions around ops, for kernels that give none
    int call_count;
    const npu_axis *grid; // the first axis is the slowest
    int axis_count;
    npu_pos pos; // of the task
} npu_binding;

typedef struct npu_slot {
    const char *name;
    npu_buffer buffer;
    npu_dtype dtype;
    int rank; // 1 or 2 for a slot with a shape, 0 for one given in bytes
    int64_t shape[2];
    int64_t bytes; // of one copy
    int copies;
    int first;   // instance of copy 0
    int64_t pad; // bytes left free in front of copy 0 (UB: moves it to other banks)
    npu_pos pos;
} npu_slot;

// A bound kernel. `body[0]` is the AIC's program, `body[1]` the AIV's.
typedef struct npu_body {
    const npu_slot *slots;
    int slot_count;
    int instance_count; // sum of copies
    const struct npu_stmt *stmts;
    int stmt_count;
} npu_body;

typedef struct npu_program {
    const char *kernel;
    npu_engine_type engine;
    int64_t block_num; // product of the axes
    npu_body body[2];
    int arg_count;
    const struct npu_bound *bound; // what only the stream needs
} npu_program;

// Errors: a missing or unknown parameter, a shape that does not agree, a `require` that does
// not hold (with its message), a size that overflows.
npu_status npu_kernel_bind(npu_arena *arena, const npu_kernel *kernel, const npu_binding *binding,
                           npu_program *program, npu_error *err);

// Would both bindings of a kernel give the same program, but for addresses?
bool npu_binding_alike(const npu_kernel *kernel, const npu_binding *a, const npu_binding *b);
// `like` on other memory: `windows` differ from those that it was bound to in address and position
// alone. They are kept, as is what `like` is made of.
npu_status npu_program_move(npu_arena *arena, const npu_program *like, const npu_window *windows,
                            npu_program *program, npu_error *err);

enum { NPU_MAX_VARS = 48, NPU_MAX_SLOTS = 32, NPU_MAX_INSTANCES = 256, NPU_MAX_DEPTH = 12 };

// The ops of one block on one core, in program order. Plain data: copy it to fork it.
typedef struct npu_stream {
    const npu_program *program;
    const npu_body *body;
    int pc;
    int64_t vars[NPU_MAX_VARS];
    int64_t limits[NPU_MAX_DEPTH]; // last value of each open loop
    int16_t copy[NPU_MAX_SLOTS];   // current copy of each slot
} npu_stream;

// `core` NPU_AIC or NPU_AIV; `lane` is 0 or 1 on an AIV. 0 <= block < block_num.
void npu_stream_open(npu_stream *stream, const npu_program *program, npu_engine_type core,
                     int64_t block, int lane);
// Yields the next op; *more becomes false at the end. Errors: a region outside its tensor,
// arithmetic that fails.
npu_status npu_stream_next(npu_stream *stream, npu_op *op, bool *more, npu_error *err);

#endif
