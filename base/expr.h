// SPDX-License-Identifier: Apache-2.0
// Integer expressions, the only arithmetic of the config language: 64-bit, exact, checked.
//
//   a ? b : c   ||   &&   == != < <= > >=   + -   * / // %   - !   ( )
//   ceil(a / b) or ceil(a, b)   pad(a, b) = a rounded up to a multiple of b
//   min(a, ...)   max(a, ...)   log2(a) (exact powers only)
//
// `/` must divide without a rest and says so when it does not; `//` rounds down, and % has
// the sign of its divisor. Numbers may carry KiB, MiB or GiB. A name may hold dots
// (`tile.n`, `block.m`). The numbers of a table are written like a call, with an index for each of
// its dimensions: `rows(me, e)`. `a : n` adds up n of them from a on, `:` all: `rows(:, e)`.
// Comparisons give 0 or 1. Overflow is an error, never a wrap.
#ifndef NPU_EXPR_H
#define NPU_EXPR_H

#include "error.h"
#include "mem.h"

typedef struct npu_expr npu_expr; // parsed, not yet knowing what its names mean

// Parses text standing at `pos`. Errors point at the offending character (pos.col + offset).
npu_status npu_expr_parse(npu_arena *arena, const char *text, npu_pos pos, const npu_expr **out,
                          npu_error *err);

enum { NPU_TABLE_RANK = 4 };

typedef struct npu_table {
    int rank;
    int64_t size[NPU_TABLE_RANK];
    const int64_t *values; // the last index is the fastest
} npu_table;

typedef enum npu_name_kind { NPU_NAME_UNKNOWN, NPU_NAME_CONST, NPU_NAME_SLOT } npu_name_kind;

// What a name means where an expression is bound: a constant (*value filled), the slot of a
// variable (*slot filled, >= 0), or unknown.
typedef npu_name_kind (*npu_lookup_fn)(void *scope, const char *name, int64_t *value, int *slot);
// All names that are known, for "did you mean": entry i, or NULL past the end. May be NULL.
typedef const char *(*npu_names_fn)(void *scope, int i);

// The table of that name, or NULL.
typedef const npu_table *(*npu_table_fn)(void *scope, const char *name);

typedef struct npu_scope {
    npu_lookup_fn lookup;
    npu_names_fn names;
    void *data;
    npu_table_fn table; // may be NULL
} npu_scope;

// Code with the constants folded in. `op_count == 0` means the constant `value`.
typedef struct npu_code {
    int64_t value;
    const struct npu_code_op *ops;
    int op_count;
    npu_pos pos;
    const npu_table *tables; // what the ops index
} npu_code;

// Binds names and folds constants. Unknown names: "unknown name 'tn'; did you mean 'tm'?".
npu_status npu_expr_bind(npu_arena *arena, const npu_expr *expr, const npu_scope *scope,
                         npu_code *out, npu_error *err);
// Runs bound code on the variables in `slots`. Fails on overflow, division by zero and
// `/` with a rest, at the operator's position (as binding does where it can fold).
npu_status npu_code_run(const npu_code *code, const int64_t *slots, int64_t *value, npu_error *err);
// True when the code depends on slot i.
bool npu_code_uses(const npu_code *code, int slot);

// Parse, bind and run in one: every name must be a constant.
npu_status npu_expr_value(npu_arena *arena, const char *text, npu_pos pos, const npu_scope *scope,
                          int64_t *value, npu_error *err);

#endif
