// SPDX-License-Identifier: Apache-2.0
// Inside kernels/: a kernel as parsed, and as bound. docs/kernels.md is the language.
#ifndef NPU_KERNEL_H
#define NPU_KERNEL_H

#include "expr.h"
#include "program.h"

enum { NPU_OP_NUMBERS = 6 };

typedef struct npu_named_expr {
    const char *name;
    const npu_expr *expr; // NULL: `required`
    npu_pos pos;
    bool table; // `table`: given by the task too
} npu_named_expr;

typedef struct npu_region_dim {
    const npu_expr *start;  // NULL: the whole dimension
    const npu_expr *length; // NULL: an index, length 1
} npu_region_dim;

typedef struct npu_region_ast {
    int arg;
    int rank;
    npu_region_dim dims[NPU_MAX_RANK];
    npu_pos pos;
} npu_region_ast;

typedef enum npu_stmt_kind { NPU_STMT_OP, NPU_STMT_LOOP, NPU_STMT_IF } npu_stmt_kind;

typedef struct npu_node { // a statement as written
    npu_stmt_kind kind;
    npu_pos pos;
    // loops and ifs
    const char *var;
    const npu_expr *from, *to; // IF: `from` is the condition
    const struct npu_node *body, *other;
    int body_count, other_count;
    // ops
    npu_op_kind op;
    int pipe; // of SIGNAL and WAIT
    npu_vec_op vec;
    int reads[NPU_OP_SLOTS], read_count; // slot indices
    int write;                           // slot index or -1
    bool whole;                          // the write takes the next copy
    const char *dtype;                   // as written, NULL when absent
    npu_pos dtype_pos;
    npu_region_ast region;
    // EXTRACT, VEC: m n. MATMUL: m n k valid_m valid_n valid_k. SCALAR: ops gm. SIGNAL, WAIT:
    // flag. NOTIFY, AWAIT: value.
    const npu_expr *numbers[NPU_OP_NUMBERS];
    const npu_expr *acc;
    bool set;             // NOTIFY: the value replaces the counter's
    const npu_expr *mode; // LOAD: bypass. STORE: atomic. MATMUL: unit_flag
} npu_node;

typedef struct npu_slot_ast {
    const char *name;
    npu_buffer buffer;
    const npu_expr *shape[2];
    const npu_expr *bytes;
    const npu_expr *copies;
    const npu_expr *pad;
    const char *dtype;
    npu_pos pos, dtype_pos;
} npu_slot_ast;

typedef struct npu_arg_ast {
    int rank;                            // -1: no shape given
    const char *texts[NPU_MAX_RANK];     // as written
    const npu_expr *exprs[NPU_MAX_RANK]; // NULL: a plain name, which binds the dimension
    npu_pos pos;
} npu_arg_ast;

typedef struct npu_require {
    const npu_expr *that;
    const char *message;
    npu_pos pos;
} npu_require;

struct npu_kernel {
    const char *name;
    npu_pos pos;
    npu_engine_type engine;
    npu_kernel_arg *args;
    npu_arg_ast *arg_asts;
    int arg_count;
    const char **axes; // of its grid; none: it takes any
    int axis_count;
    const npu_expr *calls[NPU_OP_COUNT]; // scalar instructions around each op of a kind
    npu_named_expr *params, *tile, *lets;
    int param_count, tile_count, let_count;
    npu_require *requires_;
    int require_count;
    npu_slot_ast *slots;
    int slot_count;
    const npu_node *body[2]; // AIC, AIV
    int body_count[2];
};

// parse_op.c: `calls:`, scalar instructions by name of an op.
npu_status npu_parse_calls(npu_arena *arena, const npu_yaml *map, npu_kernel *kernel,
                           npu_error *err);
extern const char *const npu_call_names[]; // ops that `calls:` may name, as npu_op_kind begins
typedef struct npu_parser {
    npu_arena *arena;
    const npu_kernel *kernel;
    npu_error *err;
} npu_parser;

// parse_ref.c
// The expression in [text, end); `pos` is where it stands.
npu_status npu_parse_piece(npu_parser *p, const char *text, const char *end, npu_pos pos,
                           const npu_expr **expr);
npu_status npu_parse_region(npu_parser *p, const npu_yaml *node, npu_region_ast *region);
// The slot a text names; "xb[...]" is a part of it, then *whole (may be NULL) is false.
npu_status npu_parse_slot(npu_parser *p, const npu_yaml *node, int *slot, bool *whole);
// The slot under `key`, which must be in one of the `allowed` buffers (a bit each).
npu_status npu_parse_slot_in(npu_parser *p, const npu_yaml *map, const char *what, const char *key,
                             unsigned allowed, int *slot, bool *whole);
// parse_op.c: a list of statements. Regions and slots are resolved by name.
npu_status npu_parse_block(npu_arena *arena, const npu_kernel *kernel, const npu_yaml *list,
                           int depth, const npu_node **nodes, int *count, npu_error *err);
// parse.c: an expression given as a YAML scalar.
npu_status npu_parse_expr(npu_arena *arena, const npu_yaml *node, const char *what,
                          const npu_expr **expr, npu_error *err);

// A bound region: where it starts depends on variables, its lengths often do not.
typedef struct npu_region {
    int arg;
    int rank;
    npu_code start[NPU_MAX_RANK];
    npu_code length[NPU_MAX_RANK];
    bool fixed; // all lengths are constant: `shape` holds the runs, but for the address
    npu_gm shape;
    npu_pos pos;
} npu_region;

// A bound statement; loops and ifs are jumps.
typedef struct npu_stmt {
    enum { NPU_DO_OP, NPU_DO_LOOP, NPU_DO_NEXT, NPU_DO_UNLESS, NPU_DO_JUMP } what;
    int target;        // LOOP: past its end; NEXT: its first statement; UNLESS, JUMP: where to
    int var, depth;    // LOOP, NEXT
    npu_code from, to; // LOOP; UNLESS: condition in `from`
    npu_op op;         // what does not change
    int16_t reads[NPU_OP_SLOTS];
    int16_t write;
    bool whole;
    npu_code numbers[NPU_OP_NUMBERS];
    bool constant; // all numbers are constant and already in `op`
    npu_code acc, mode;
    npu_region region;
    npu_pos pos;
} npu_stmt;

typedef struct npu_prologue { // a let that depends on the block
    int var;
    npu_code code;
} npu_prologue;

struct npu_bound {
    const npu_window *windows;
    const char **arg_names;
    const npu_axis *grid;
    int axis_count;
    const npu_prologue *prologue;
    int prologue_count;
};

enum { NPU_VAR_BLOCK, NPU_VAR_LANE, NPU_VAR_FIRST_AXIS };

// bind.c keeps the names that are known while binding.
typedef struct npu_binder {
    npu_arena *arena;
    const npu_kernel *kernel;
    const npu_binding *binding;
    struct npu_known *known;
    int known_count, known_capacity;
    int var_count;
    int64_t calls[NPU_OP_COUNT]; // scalar instructions around each op of a kind
    npu_error *err;
} npu_binder;

npu_status npu_bind_code(npu_binder *binder, const npu_expr *expr, npu_code *code);
// The value of an expression that must be constant; `what` names it in errors.
npu_status npu_bind_constant(npu_binder *binder, const npu_expr *expr, const char *what,
                             int64_t *value);
npu_status npu_bind_dtype(npu_binder *binder, const char *text, npu_pos pos, npu_dtype *dtype);
// Adds a variable, visible until the count of known names is put back.
npu_status npu_bind_var(npu_binder *binder, const char *name, npu_pos pos, int *var);
// bind_op.c: the statements of one body, of the AIC or of an AIV.
npu_status npu_bind_body(npu_binder *binder, bool aic, const npu_node *nodes, int count,
                         npu_body *body);

// region.c
// Fills run, rows and stride of *gm for lengths of a window; fails with more than two rows.
npu_status npu_region_shape(const npu_window *window, const int64_t *length, npu_pos pos,
                            npu_gm *gm, npu_error *err);
// Evaluates a region: bounds are checked. *last is the length of its last dimension.
npu_status npu_region_eval(const npu_region *region, const npu_window *window, const char *name,
                           const int64_t *vars, npu_gm *gm, int64_t *last, npu_error *err);

#endif
