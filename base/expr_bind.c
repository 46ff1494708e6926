// SPDX-License-Identifier: Apache-2.0
#include "expr_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "yaml_tree.h"

// What a compiled node gives. Constants stay out of the pool until an op needs them.
typedef struct operand {
    operand_kind kind;
    int index;
    int64_t value; // when IN_POOL
} operand;

enum { MAX_TABLES = 8 }; // of an expression

typedef struct builder {
    npu_arena *arena;
    const npu_scope *scope;
    npu_pos pos;
    npu_error *err;
    bool constants_only;
    int maybe; // > 0 inside a branch that may not be taken: a fault there waits for the run
    op *ops;
    int count;
    int capacity;
    int64_t *pool;
    int pool_count;
    int pool_capacity;
    const npu_table *tables[MAX_TABLES];
    int table_count;
} builder;

static operand constant(int64_t value) {
    return (operand){.kind = IN_POOL, .value = value};
}

static npu_status pool_index(builder *b, operand x, int *index) {
    *index = x.index;
    if (x.kind != IN_POOL)
        return NPU_OK;
    npu_status status = NPU_GROW(b, pool, pool_count, pool_capacity, b->err);
    if (status != NPU_OK)
        return status;
    *index = b->pool_count++;
    b->pool[*index] = x.value;
    return NPU_OK;
}

static npu_status emit(builder *b, opcode code, int at, operand x, operand y, int dst) {
    op o = {.dst = dst, .at = at, .code = (uint8_t)code};
    o.a_kind = (uint8_t)x.kind;
    o.b_kind = (uint8_t)y.kind;
    if (code <= OP_MOVE && dst >= MAX_TEMPS)
        return npu_fail(b->err, NPU_BAD_INPUT, npu_pos_right(b->pos, at),
                        "the expression is nested too deeply");
    npu_status status = NPU_GROW(b, ops, count, capacity, b->err);
    if (status == NPU_OK)
        status = pool_index(b, x, &o.a);
    if (status == NPU_OK)
        status = pool_index(b, y, &o.b);
    if (status == NPU_OK)
        b->ops[b->count++] = o;
    return status;
}

static npu_status emit_or_fold(builder *b, opcode code, int at, operand x, operand y, int temp,
                               operand *out) {
    if (x.kind == IN_POOL && y.kind == IN_POOL) {
        *out = constant(0);
        fault f = npu_expr_apply(code, x.value, y.value, &out->value);
        if (f == FAULT_NONE)
            return NPU_OK;
        if (b->maybe == 0)
            return npu_expr_report(f, x.value, y.value, npu_pos_right(b->pos, at), b->err);
    }
    *out = (operand){.kind = IN_TEMP, .index = temp};
    return emit(b, code, at, x, y, temp);
}

static npu_status store(builder *b, operand x, int at, int temp) {
    if (x.kind == IN_TEMP) {
        assert(x.index == temp);
        return NPU_OK;
    }
    return emit(b, OP_MOVE, at, x, constant(0), temp);
}

static const npu_table *find_table(const builder *b, const char *name) {
    return b->scope != NULL && b->scope->table != NULL ? b->scope->table(b->scope->data, name)
                                                       : NULL;
}

static npu_status fail_unknown(builder *b, const node *n) {
    const char **names = NULL;
    int count = 0;
    if (n->code == NODE_NAME && find_table(b, n->name) != NULL)
        return npu_fail(b->err, NPU_BAD_INPUT, npu_pos_right(b->pos, n->at),
                        "'%s' is a table and needs its indices", n->name);
    if (n->code == NODE_TABLE)
        return npu_expr_fail_function(n->name, npu_pos_right(b->pos, n->at), b->err);
    if (b->scope != NULL && b->scope->names != NULL) {
        while (b->scope->names(b->scope->data, count) != NULL)
            count++;
        names = npu_arena_alloc(b->arena, (size_t)count, sizeof *names);
        if (names == NULL)
            return npu_fail_memory(b->err);
        for (int i = 0; i < count; i++)
            names[i] = b->scope->names(b->scope->data, i);
    }
    char hint[128];
    return npu_fail(b->err, NPU_BAD_INPUT, npu_pos_right(b->pos, n->at), "unknown name '%s'%s",
                    n->name, npu_did_you_mean(n->name, names, count, hint, sizeof hint));
}

static npu_status compile_name(builder *b, const node *n, operand *out) {
    npu_name_kind kind = NPU_NAME_UNKNOWN;
    *out = constant(0);
    if (b->scope != NULL)
        kind = b->scope->lookup(b->scope->data, n->name, &out->value, &out->index);
    if (kind == NPU_NAME_UNKNOWN)
        return fail_unknown(b, n);
    if (kind == NPU_NAME_CONST)
        return NPU_OK;
    if (b->constants_only)
        return npu_fail(b->err, NPU_BAD_INPUT, npu_pos_right(b->pos, n->at),
                        "'%s' is not a constant", n->name);
    assert(out->index >= 0);
    out->kind = IN_SLOT;
    return NPU_OK;
}

// A branch that is never taken is not compiled, but a misspelt name in it is still found.
static npu_status check_names(builder *b, const node *n) {
    operand unused;
    if (n->code == NODE_TABLE && find_table(b, n->name) == NULL)
        return fail_unknown(b, n);
    if (n->code == NODE_NAME)
        return compile_name(b, n, &unused);
    npu_status status = NPU_OK;
    for (int i = 0; status == NPU_OK && i < 3; i++)
        if (n->kids[i] != NULL)
            status = check_names(b, n->kids[i]);
    return status;
}

static npu_status compile(builder *b, const node *n, int temp, operand *out);

// Compiles a branch that may not be taken, and leaves its value (as 0 or 1 when `truth`) in
// the temporary.
static npu_status compile_branch(builder *b, const node *n, bool truth, int temp) {
    operand x;
    b->maybe++;
    npu_status status = compile(b, n, temp, &x);
    if (status == NPU_OK && truth)
        status = emit_or_fold(b, OP_NE, n->at, x, constant(0), temp, &x);
    b->maybe--;
    return status == NPU_OK ? store(b, x, n->at, temp) : status;
}

static npu_status compile_logic(builder *b, const node *n, int temp, operand *out) {
    bool is_or = n->code == NODE_OR;
    operand x;
    npu_status status = compile(b, n->kids[0], temp, &x);
    if (status != NPU_OK)
        return status;
    if (x.kind == IN_POOL) {
        *out = constant(is_or);
        if ((x.value != 0) == is_or)
            return check_names(b, n->kids[1]);
        status = compile(b, n->kids[1], temp, &x);
        return status != NPU_OK ? status : emit_or_fold(b, OP_NE, n->at, x, constant(0), temp, out);
    }
    status = emit_or_fold(b, OP_NE, n->at, x, constant(0), temp, out);
    int jump = b->count;
    if (status == NPU_OK)
        status = emit(b, is_or ? OP_JUMP_NONZERO : OP_JUMP_ZERO, n->at, *out, constant(0), 0);
    if (status == NPU_OK)
        status = compile_branch(b, n->kids[1], true, temp);
    if (status == NPU_OK)
        b->ops[jump].dst = b->count;
    return status;
}

static npu_status compile_choice(builder *b, const node *n, int temp, operand *out) {
    operand x;
    npu_status status = compile(b, n->kids[0], temp, &x);
    if (status != NPU_OK)
        return status;
    if (x.kind == IN_POOL) {
        bool yes = x.value != 0;
        status = compile(b, n->kids[yes ? 1 : 2], temp, out);
        return status == NPU_OK ? check_names(b, n->kids[yes ? 2 : 1]) : status;
    }
    int to_no = b->count;
    *out = (operand){.kind = IN_TEMP, .index = temp};
    status = emit(b, OP_JUMP_ZERO, n->at, x, constant(0), 0);
    if (status == NPU_OK)
        status = compile_branch(b, n->kids[1], false, temp);
    int to_end = b->count;
    if (status == NPU_OK)
        status = emit(b, OP_JUMP, n->at, constant(0), constant(0), 0);
    if (status != NPU_OK)
        return status;
    b->ops[to_no].dst = b->count;
    status = compile_branch(b, n->kids[2], false, temp);
    b->ops[to_end].dst = b->count;
    return status;
}

static npu_status add_table(builder *b, const node *n, const npu_table *table, int *index) {
    for (*index = 0; *index < b->table_count; (*index)++)
        if (b->tables[*index] == table)
            return NPU_OK;
    if (b->table_count == MAX_TABLES)
        return npu_fail(b->err, NPU_BAD_INPUT, npu_pos_right(b->pos, n->at),
                        "an expression has at most %d tables", MAX_TABLES);
    b->tables[b->table_count++] = table;
    return NPU_OK;
}

// Start and length of each dimension, in temporaries where they are no constants.
static npu_status compile_spans(builder *b, const node *n, const npu_table *table, int temp,
                                operand *spans) {
    int count = 0;
    npu_status status = NPU_OK;
    for (const node *i = n->kids[0]; i != NULL && status == NPU_OK; i = i->kids[2], count++) {
        if (count >= table->rank)
            continue;
        operand *span = &spans[2 * count];
        span[0] = constant(0);
        span[1] = constant(i->kids[0] == NULL ? table->size[count] : 1);
        if (i->kids[0] != NULL)
            status = compile(b, i->kids[0], temp + 2 * count, &span[0]);
        if (i->kids[1] != NULL && status == NPU_OK)
            status = compile(b, i->kids[1], temp + 2 * count + 1, &span[1]);
    }
    if (status == NPU_OK && count != table->rank)
        status = npu_fail(b->err, NPU_BAD_INPUT, npu_pos_right(b->pos, n->at),
                          "the table '%s' has %d dimension%s, and is given %d", n->name,
                          table->rank, table->rank > 1 ? "s" : "", count);
    return status;
}

static npu_status compile_table(builder *b, const node *n, int temp, operand *out) {
    const npu_table *table = find_table(b, n->name);
    *out = constant(0);
    if (table == NULL)
        return fail_unknown(b, n);
    operand spans[2 * NPU_TABLE_RANK] = {{IN_POOL, 0, 0}};
    int64_t values[2 * NPU_TABLE_RANK];
    npu_status status = compile_spans(b, n, table, temp, spans);
    bool known = true;
    for (int i = 0; status == NPU_OK && i < 2 * table->rank; i++) {
        known = known && spans[i].kind == IN_POOL;
        values[i] = spans[i].value;
    }
    if (status == NPU_OK && known) {
        int64_t x = 0, y = 0;
        fault f = npu_expr_table(table, values, &out->value, &x, &y);
        if (f == FAULT_NONE)
            return NPU_OK;
        if (b->maybe == 0)
            return npu_expr_report(f, x, y, npu_pos_right(b->pos, n->at), b->err);
    }
    for (int i = 0; status == NPU_OK && i < 2 * table->rank; i++)
        status = store(b, spans[i], n->at, temp + i);
    int index = 0;
    if (status == NPU_OK)
        status = add_table(b, n, table, &index);
    *out = (operand){.kind = IN_TEMP, .index = temp};
    return status == NPU_OK ? emit(b, OP_TABLE, n->at, constant(index), constant(0), temp) : status;
}

// Compiles into temporaries `temp` and above; a result IN_TEMP is always in `temp` itself.
static npu_status compile(builder *b, const node *n, int temp, operand *out) {
    switch (n->code) {
    case NODE_NUMBER:
        *out = constant(n->value);
        return NPU_OK;
    case NODE_NAME:
        return compile_name(b, n, out);
    case NODE_AND:
    case NODE_OR:
        return compile_logic(b, n, temp, out);
    case NODE_CHOOSE:
        return compile_choice(b, n, temp, out);
    case NODE_TABLE:
        return compile_table(b, n, temp, out);
    default:
        break;
    }
    operand x;
    operand y;
    assert(n->code < OP_MOVE);
    npu_status status = compile(b, n->kids[0], temp, &x);
    if (status == NPU_OK)
        status = compile(b, n->kids[1], x.kind == IN_TEMP ? temp + 1 : temp, &y);
    return status == NPU_OK ? emit_or_fold(b, n->code, n->at, x, y, temp, out) : status;
}

// Splits a two-operand op into its constant and its other operand.
static bool one_constant(const op *o, operand_kind other, int *index, int *pool) {
    *index = o->a_kind == other ? o->a : o->b;
    *pool = o->a_kind == other ? o->b : o->a;
    return (o->a_kind == other && o->b_kind == IN_POOL) ||
           (o->a_kind == IN_POOL && o->b_kind == other && o->code != OP_SUB);
}

// Code that is slot * k + c, done by just these two steps (so that it overflows exactly when
// the steps do), gets an OP_AFFINE in front. When that one overflows, the steps after it run
// and report where.
static npu_status add_fast_path(builder *b) {
    int64_t k = 1;
    int64_t c = 0;
    int slot = 0;
    int pool = 0;
    int i = 0;
    operand_kind from = IN_SLOT;
    assert(b->ops != NULL && b->count > 0);
    if (b->ops[0].code == OP_MUL || b->ops[0].code == OP_MOVE) {
        if (!one_constant(&b->ops[0], IN_SLOT, &slot, &pool))
            return NPU_OK;
        k = b->ops[0].code == OP_MUL ? b->pool[pool] : 1;
        from = IN_TEMP;
        i = 1;
    }
    if (i < b->count) {
        int index = 0;
        const op *o = &b->ops[i++];
        if ((o->code != OP_ADD && o->code != OP_SUB) || !one_constant(o, from, &index, &pool))
            return NPU_OK;
        slot = from == IN_SLOT ? index : slot;
        c = b->pool[pool];
        if (o->code == OP_SUB && __builtin_sub_overflow(0, c, &c))
            return NPU_OK;
    }
    if (i < b->count)
        return NPU_OK;
    operand added;
    npu_status status = pool_index(b, constant(c), &added.index);
    if (status == NPU_OK)
        status = emit(b, OP_AFFINE, 0, (operand){.kind = IN_SLOT, .index = slot}, constant(k),
                      added.index);
    if (status != NPU_OK)
        return status;
    op first = b->ops[b->count - 1];
    memmove(b->ops + 1, b->ops, (size_t)(b->count - 1) * sizeof(op));
    b->ops[0] = first;
    return NPU_OK;
}

static npu_status finish(builder *b, operand result, npu_code *out) {
    *out = (npu_code){.value = result.value, .pos = b->pos};
    if (result.kind == IN_POOL) {
        assert(b->count == 0);
        return NPU_OK;
    }
    npu_status status = store(b, result, 0, 0);
    if (status == NPU_OK)
        status = add_fast_path(b);
    if (status != NPU_OK)
        return status;
    _Static_assert(sizeof(op) % sizeof(int64_t) == 0, "the pool follows the ops");
    size_t op_bytes = (size_t)b->count * sizeof(op);
    size_t pool_bytes = (size_t)b->pool_count * sizeof(int64_t);
    char *block = npu_arena_alloc(b->arena, op_bytes + pool_bytes, 1);
    if (block == NULL)
        return npu_fail_memory(b->err);
    memcpy(block, b->ops, op_bytes);
    if (pool_bytes > 0)
        memcpy(block + op_bytes, b->pool, pool_bytes);
    out->value = 0;
    out->ops = (const op *)(void *)block;
    out->op_count = b->count;
    if (b->table_count == 0)
        return NPU_OK;
    npu_table *tables = npu_arena_alloc(b->arena, (size_t)b->table_count, sizeof *tables);
    if (tables == NULL)
        return npu_fail_memory(b->err);
    for (int i = 0; i < b->table_count; i++)
        tables[i] = *b->tables[i];
    out->tables = tables;
    return NPU_OK;
}

static npu_status bind(builder *b, const npu_expr *expr, npu_code *out) {
    operand result;
    b->pos = expr->pos;
    npu_status status = compile(b, expr->root, 0, &result);
    if (status == NPU_OK)
        status = finish(b, result, out);
    free(b->ops);
    free(b->pool);
    return status;
}

npu_status npu_expr_bind(npu_arena *arena, const npu_expr *expr, const npu_scope *scope,
                         npu_code *out, npu_error *err) {
    assert(arena != NULL && expr != NULL && out != NULL);
    *out = (npu_code){0};
    builder b = {.arena = arena, .scope = scope, .err = err};
    return bind(&b, expr, out);
}

npu_status npu_expr_value(npu_arena *arena, const char *text, npu_pos pos, const npu_scope *scope,
                          int64_t *value, npu_error *err) {
    const npu_expr *expr = NULL;
    npu_status status = npu_expr_parse(arena, text, pos, &expr, err);
    if (status != NPU_OK)
        return status;
    assert(expr != NULL);
    npu_code code;
    builder b = {.arena = arena, .scope = scope, .err = err, .constants_only = true};
    status = bind(&b, expr, &code);
    assert(status != NPU_OK || code.op_count == 0);
    if (status == NPU_OK)
        *value = code.value;
    return status;
}
