// SPDX-License-Identifier: Apache-2.0
// What the three steps of an expression share: text to a tree (expr_parse.c), tree to code
// with the constants folded in (expr_bind.c), running the code (expr_run.c).
//
// Code is for a small register machine: each operation reads two operands (constants, slots
// or temporaries) and writes a temporary. Only ?:, && and || jump, always forward.
#ifndef NPU_EXPR_IMPL_H
#define NPU_EXPR_IMPL_H

#include "expr.h"

enum { MAX_TEMPS = 256 }; // bounds the stack of npu_code_run

typedef enum opcode {
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_FLOOR,
    OP_MOD,
    OP_CEIL,
    OP_PAD,
    OP_MIN,
    OP_MAX,
    OP_LOG2,
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_MOVE,
    OP_JUMP, // from here on: `dst` is where to go on
    OP_JUMP_ZERO,
    OP_JUMP_NONZERO,
    OP_AFFINE, // only as the first op: slots[a] * pool[b] + pool[dst]
    OP_TABLE,  // of tables[a]; start and length of each dimension lie in temporaries from dst on
    // Only in trees:
    NODE_NUMBER,
    NODE_NAME,
    NODE_AND,
    NODE_OR,
    NODE_CHOOSE,
    NODE_TABLE, // its kid is the first index
    NODE_INDEX, // start (none: all), length (none: 1), the next index
} opcode;

typedef struct node {
    opcode code;
    int at; // offset of the operator or name in the text
    int height;
    int64_t value;
    const char *name;
    const struct node *kids[3];
} node;

struct npu_expr {
    const node *root;
    npu_pos pos;
};

typedef enum operand_kind { IN_POOL, IN_SLOT, IN_TEMP, KIND_COUNT } operand_kind;

// The pool of constants follows the last op in memory, hence the alignment.
typedef struct npu_code_op {
    _Alignas(int64_t) int a;
    int b;
    int dst;
    int at;
    uint8_t code;
    uint8_t a_kind;
    uint8_t b_kind;
} op;

typedef enum fault {
    FAULT_NONE,
    FAULT_OVERFLOW,
    FAULT_ZERO,
    FAULT_REST,
    FAULT_PAD,
    FAULT_LOG2,
    FAULT_TABLE,
} fault;

// x code y, for the codes up to OP_MOVE.
fault npu_expr_apply(opcode code, int64_t x, int64_t y, int64_t *out);
// Adds up what `spans` (start, length of each dimension) takes of a table. At FAULT_TABLE *x is the
// index that is outside, *y the size.
fault npu_expr_table(const npu_table *table, const int64_t *spans, int64_t *out, int64_t *x,
                     int64_t *y);
// "unknown function 'cel'; did you mean 'ceil'?"
npu_status npu_expr_fail_function(const char *name, npu_pos pos, npu_error *err);
// The error that `x code y` at `pos` failed with.
npu_status npu_expr_report(fault f, int64_t x, int64_t y, npu_pos pos, npu_error *err);

#endif
