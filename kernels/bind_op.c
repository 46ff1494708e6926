// SPDX-License-Identifier: Apache-2.0
// Binding of statements: nested loops and ifs become jumps, slots are checked against the
// op that uses them, what is constant is computed once.
#include <assert.h>
#include <string.h>

#include "kernel.h"

typedef struct emitter {
    npu_binder *b;
    const npu_slot *slots;
    npu_stmt *stmts;
    int count;
    int depth;
    bool aic; // whose program this is
} emitter;

// How many statements a block becomes: a loop adds two, an if up to two.
static int flat_count(const npu_node *nodes, int count) {
    int total = 0;
    for (int i = 0; i < count; i++) {
        total++;
        if (nodes[i].kind != NPU_STMT_OP)
            total += 1 + flat_count(nodes[i].body, nodes[i].body_count) +
                     flat_count(nodes[i].other, nodes[i].other_count);
    }
    return total;
}

static npu_status emit_block(emitter *e, const npu_node *nodes, int count);

static npu_stmt *emit(emitter *e, npu_pos pos) {
    npu_stmt *stmt = &e->stmts[e->count++];
    stmt->pos = pos;
    stmt->write = -1;
    for (int i = 0; i < NPU_OP_SLOTS; i++)
        stmt->reads[i] = -1;
    return stmt;
}

static npu_status emit_loop(emitter *e, const npu_node *node) {
    npu_binder *b = e->b;
    int known = b->known_count, at = e->count, var = 0;
    npu_stmt *stmt = emit(e, node->pos);
    stmt->what = NPU_DO_LOOP;
    stmt->depth = e->depth;
    npu_status status = npu_bind_code(b, node->from, &stmt->from);
    if (!status)
        status = npu_bind_code(b, node->to, &stmt->to);
    if (!status)
        status = npu_bind_var(b, node->var, node->pos, &var);
    stmt->var = var;
    e->depth++;
    if (!status)
        status = emit_block(e, node->body, node->body_count);
    e->depth--;
    if (status)
        return status;
    npu_stmt *next = emit(e, node->pos);
    next->what = NPU_DO_NEXT;
    next->var = var;
    next->depth = e->depth;
    next->target = at + 1;
    e->stmts[at].target = e->count;
    b->known_count = known; // the variable's name ends with its loop; so does its place
    b->var_count = var;
    return NPU_OK;
}

static npu_status emit_if(emitter *e, const npu_node *node) {
    npu_code condition;
    npu_status status = npu_bind_code(e->b, node->from, &condition);
    if (status)
        return status;
    if (condition.op_count == 0) // decided by the parameters: only one branch exists
        return condition.value ? emit_block(e, node->body, node->body_count)
                               : emit_block(e, node->other, node->other_count);
    int at = e->count;
    npu_stmt *stmt = emit(e, node->pos);
    stmt->what = NPU_DO_UNLESS;
    stmt->from = condition;
    status = emit_block(e, node->body, node->body_count);
    if (status || node->other_count == 0) {
        e->stmts[at].target = e->count;
        return status;
    }
    int jump = e->count;
    emit(e, node->pos)->what = NPU_DO_JUMP;
    e->stmts[at].target = e->count;
    status = emit_block(e, node->other, node->other_count);
    e->stmts[jump].target = e->count;
    return status;
}

static npu_status bind_region(npu_binder *b, const npu_region_ast *ast, npu_region *region) {
    const npu_window *window = &b->binding->windows[ast->arg];
    const char *name = b->kernel->args[ast->arg].name;
    region->arg = ast->arg;
    region->rank = ast->rank;
    region->pos = ast->pos;
    region->fixed = true;
    if (ast->rank != window->rank)
        return npu_fail(b->err, NPU_BAD_INPUT, ast->pos,
                        "argument '%s' has %d dimensions, and the region names %d", name,
                        window->rank, ast->rank);
    int64_t lengths[NPU_MAX_RANK] = {0};
    npu_status status = NPU_OK;
    for (int d = 0; d < ast->rank && !status; d++) {
        const npu_region_dim *dim = &ast->dims[d];
        region->length[d].value = dim->start == NULL ? window->shape[d] : 1;
        if (dim->start != NULL)
            status = npu_bind_code(b, dim->start, &region->start[d]);
        if (!status && dim->length != NULL)
            status = npu_bind_code(b, dim->length, &region->length[d]);
        region->fixed = region->fixed && region->length[d].op_count == 0;
        lengths[d] = region->length[d].value;
    }
    region->shape.arg = ast->arg;
    if (!status && region->fixed)
        status = npu_region_shape(window, lengths, ast->pos, &region->shape, b->err);
    return status;
}

// The sizes an op has when its map does not say: those of a slot.
static npu_status default_numbers(emitter *e, const npu_node *node, npu_stmt *stmt) {
    if (node->numbers[0] != NULL || (node->op != NPU_OP_VEC && node->op != NPU_OP_EXTRACT))
        return NPU_OK;
    const npu_slot *slot = &e->slots[node->write];
    if (node->op == NPU_OP_VEC && node->read_count > 0 && e->slots[node->reads[0]].rank == 2 &&
        slot->rank == 2 && e->slots[node->reads[0]].bytes > slot->bytes)
        slot = &e->slots[node->reads[0]]; // a reduction is as large as what it reads
    if (slot->rank != 2)
        return npu_fail(e->b->err, NPU_BAD_INPUT, node->pos,
                        "give a shape: slot '%s' is given in bytes", slot->name);
    stmt->numbers[0].value = slot->shape[0];
    stmt->numbers[1].value = slot->shape[1];
    return NPU_OK;
}

static npu_pipe pipe_of(const emitter *e, const npu_node *node) {
    switch (node->op) {
    case NPU_OP_LOAD:
        return NPU_PIPE_MTE2;
    case NPU_OP_EXTRACT:
        return NPU_PIPE_MTE1;
    case NPU_OP_MATMUL:
        return NPU_PIPE_M;
    case NPU_OP_VEC:
        return NPU_PIPE_V;
    case NPU_OP_STORE:
        return e->slots[node->reads[0]].buffer == NPU_L0C ? NPU_PIPE_FIXPIPE : NPU_PIPE_MTE3;
    case NPU_OP_SIGNAL:
    case NPU_OP_WAIT:
        return (npu_pipe)node->pipe;
    default:
        return NPU_PIPE_S;
    }
}

static npu_status bind_op_dtype(emitter *e, const npu_node *node, npu_op *op) {
    if (node->dtype != NULL)
        return npu_bind_dtype(e->b, node->dtype, node->dtype_pos, &op->dtype);
    if (npu_op_in_gm(node->op))
        op->dtype = e->b->binding->windows[node->region.arg].dtype;
    else if (node->read_count > 0)
        op->dtype = e->slots[node->reads[0]].dtype;
    else if (node->write >= 0)
        op->dtype = e->slots[node->write].dtype;
    return NPU_OK;
}

static npu_status bind_numbers(emitter *e, const npu_node *node, npu_stmt *stmt) {
    npu_status status = default_numbers(e, node, stmt);
    stmt->constant = true;
    for (int i = 0; i < NPU_OP_NUMBERS && !status; i++) {
        if (node->numbers[i] == NULL)
            continue;
        status = npu_bind_code(e->b, node->numbers[i], &stmt->numbers[i]);
        stmt->constant = stmt->constant && stmt->numbers[i].op_count == 0;
    }
    return status;
}

// An AIC has L0, L1 and the cube's pipes; an AIV has UB and the vector's.
static npu_status check_core(const emitter *e, const npu_node *node) {
    static const unsigned pipes[] = {1u << NPU_PIPE_S | 1u << NPU_PIPE_V | 1u << NPU_PIPE_MTE2 |
                                         1u << NPU_PIPE_MTE3,
                                     1u << NPU_PIPE_S | 1u << NPU_PIPE_M | 1u << NPU_PIPE_MTE1 |
                                         1u << NPU_PIPE_MTE2 | 1u << NPU_PIPE_FIXPIPE};
    const char *core = e->aic ? "an AIC" : "an AIV";
    for (int i = 0; i <= node->read_count; i++) {
        int slot = i < node->read_count ? node->reads[i] : node->write;
        if (slot >= 0 && (e->slots[slot].buffer == NPU_UB) == e->aic)
            return npu_fail(e->b->err, NPU_BAD_INPUT, node->pos,
                            "slot '%s' is in %s, which %s does not have", e->slots[slot].name,
                            npu_buffer_names[e->slots[slot].buffer], core);
    }
    npu_pipe pipe = pipe_of(e, node);
    if (pipes[e->aic] & 1u << pipe)
        return NPU_OK;
    return npu_fail(e->b->err, NPU_BAD_INPUT, node->pos, "%s has no pipe %s", core,
                    npu_pipe_names[pipe]);
}

static npu_status emit_op(emitter *e, const npu_node *node) {
    npu_stmt *stmt = emit(e, node->pos);
    npu_op *op = &stmt->op;
    npu_status status = check_core(e, node);
    if (status)
        return status;
    stmt->what = NPU_DO_OP;
    op->kind = node->op;
    op->pipe = pipe_of(e, node);
    op->vec = node->vec;
    op->line = node->pos.line;
    for (int i = 0; i < node->read_count; i++)
        stmt->reads[i] = (int16_t)node->reads[i];
    stmt->write = (int16_t)node->write;
    stmt->whole = node->whole;
    if (node->op == NPU_OP_STORE)
        op->buffer = e->slots[node->reads[0]].buffer;
    else if (node->write >= 0)
        op->buffer = e->slots[node->write].buffer;
    status = bind_op_dtype(e, node, op);
    if (!status)
        status = bind_numbers(e, node, stmt);
    if (!status && node->acc != NULL)
        status = npu_bind_code(e->b, node->acc, &stmt->acc);
    if (!status && node->mode != NULL)
        status = npu_bind_code(e->b, node->mode, &stmt->mode);
    if (node->op <= NPU_OP_STORE)
        op->scalar_ops = e->b->calls[node->op];
    op->set = node->set;
    if (!status && npu_op_in_gm(node->op))
        status = bind_region(e->b, &node->region, &stmt->region);
    return status;
}

static npu_status emit_block(emitter *e, const npu_node *nodes, int count) {
    npu_status status = NPU_OK;
    for (int i = 0; i < count && !status; i++) {
        if (nodes[i].kind == NPU_STMT_LOOP)
            status = emit_loop(e, &nodes[i]);
        else if (nodes[i].kind == NPU_STMT_IF)
            status = emit_if(e, &nodes[i]);
        else
            status = emit_op(e, &nodes[i]);
    }
    return status;
}

npu_status npu_bind_body(npu_binder *binder, bool aic, const npu_node *nodes, int count,
                         npu_body *body) {
    int flat = flat_count(nodes, count);
    emitter e = {.b = binder, .slots = body->slots, .aic = aic};
    e.stmts = npu_arena_alloc(binder->arena, (size_t)flat, sizeof *e.stmts);
    if (e.stmts == NULL)
        return npu_fail_memory(binder->err);
    npu_status status = emit_block(&e, nodes, count);
    assert(e.count <= flat);
    body->stmts = e.stmts;
    body->stmt_count = e.count;
    return status;
}
