// SPDX-License-Identifier: Apache-2.0
// From YAML to statements: loops, ifs and ops.
#include <limits.h>
#include <string.h>

#include "kernel.h"
#include "name.h"

// What each op's map may hold. `numbers` lists the keys of plain numbers.
typedef struct op_form {
    const char *name;
    const char *const *keys;
} op_form;

static const char *const load_keys[] = {"from", "to", "bypass", NULL};
static const char *const extract_keys[] = {"from", "to", "shape", NULL};
static const char *const matmul_keys[] = {"a",   "b",     "to",        "shape",
                                          "acc", "valid", "unit_flag", NULL};
static const char *const vec_keys[] = {"op", "in", "out", "shape", "elements", "dtype", NULL};
static const char *const store_keys[] = {"from", "to", "atomic", NULL};
static const char *const flag_keys[] = {"flag", "pipe", NULL};
static const char *const scalar_keys[] = {"ops", "gm", "reads", NULL};
static const char *const prefetch_keys[] = {"from", NULL};
static const char *const notify_keys[] = {"to", "add", "set", NULL};
static const char *const await_keys[] = {"at", "value", NULL};
static const char *const drain_keys[] = {NULL};
static const char *const loop_keys[] = {"loop", "do", NULL};
static const char *const if_keys[] = {"if", "do", "else", NULL};

static const op_form forms[NPU_OP_COUNT] = {
    [NPU_OP_LOAD] = {"load", load_keys},
    [NPU_OP_EXTRACT] = {"extract", extract_keys},
    [NPU_OP_MATMUL] = {"matmul", matmul_keys},
    [NPU_OP_VEC] = {"vec", vec_keys},
    [NPU_OP_STORE] = {"store", store_keys},
    [NPU_OP_SIGNAL] = {"signal", flag_keys},
    [NPU_OP_WAIT] = {"wait", flag_keys},
    [NPU_OP_SCALAR] = {"scalar", scalar_keys},
    [NPU_OP_PREFETCH] = {"prefetch", prefetch_keys},
    [NPU_OP_NOTIFY] = {"notify", notify_keys},
    [NPU_OP_AWAIT] = {"await", await_keys},
    [NPU_OP_DRAIN] = {"drain", drain_keys},
};
static const char *const statement_names[] = {"load",   "extract", "matmul", "vec",      "store",
                                              "signal", "wait",    "scalar", "prefetch", "notify",
                                              "await",  "drain",   "loop",   "if",       NULL};

// ---- ops -------------------------------------------------------------------------------

static npu_status numbers_in(npu_parser *p, const npu_yaml *list, const char *what, int want,
                             int at, npu_node *node) {
    npu_status status = npu_yaml_want(list, NPU_YAML_LIST, what, p->err);
    if (!status && list->count != want)
        status = npu_fail(p->err, NPU_BAD_INPUT, list->pos, "%s needs %d numbers, not %d", what,
                          want, list->count);
    for (int i = 0; i < want && !status; i++)
        status = npu_parse_expr(p->arena, list->items[i], what, &node->numbers[at + i], p->err);
    return status;
}

// true, false or an expression: often a kernel's parameter decides.
static npu_status parse_mode(npu_parser *p, const npu_yaml *map, const char *key, npu_node *node) {
    const npu_yaml *value = npu_yaml_get(map, key);
    if (value == NULL)
        return NPU_OK;
    npu_status status = npu_yaml_want(value, NPU_YAML_SCALAR, key, p->err);
    if (status)
        return status;
    const char *text = value->text;
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        text = strcmp(text, "true") == 0 ? "1" : "0";
    return npu_expr_parse(p->arena, text, value->pos, &node->mode, p->err);
}

static npu_status parse_load(npu_parser *p, const npu_yaml *map, npu_node *node) {
    const npu_yaml *from = NULL;
    npu_status status = npu_yaml_need(map, "load", "from", &from, p->err);
    if (!status)
        status = npu_parse_region(p, from, &node->region);
    if (!status)
        status = npu_parse_slot_in(p, map, "load", "to", 1u << NPU_L1 | 1u << NPU_UB, &node->write,
                                   &node->whole);
    return status ? status : parse_mode(p, map, "bypass", node);
}

static npu_status parse_extract(npu_parser *p, const npu_yaml *map, npu_node *node) {
    npu_status status =
        npu_parse_slot_in(p, map, "extract", "from", 1u << NPU_L1, &node->reads[0], NULL);
    if (!status)
        status = npu_parse_slot_in(p, map, "extract", "to", 1u << NPU_L0A | 1u << NPU_L0B,
                                   &node->write, &node->whole);
    node->read_count = 1;
    const npu_yaml *shape = npu_yaml_get(map, "shape");
    if (!status && shape != NULL)
        status = numbers_in(p, shape, "the shape of an extract", 2, 0, node);
    return status;
}

static npu_status parse_matmul(npu_parser *p, const npu_yaml *map, npu_node *node) {
    const npu_yaml *shape = NULL;
    npu_status status =
        npu_parse_slot_in(p, map, "matmul", "a", 1u << NPU_L0A, &node->reads[0], NULL);
    if (!status)
        status = npu_parse_slot_in(p, map, "matmul", "b", 1u << NPU_L0B, &node->reads[1], NULL);
    if (!status)
        status =
            npu_parse_slot_in(p, map, "matmul", "to", 1u << NPU_L0C, &node->write, &node->whole);
    node->read_count = 2;
    if (!status)
        status = npu_yaml_need(map, "matmul", "shape", &shape, p->err);
    if (!status)
        status = numbers_in(p, shape, "the shape of a matmul", 3, 0, node);
    const npu_yaml *valid = npu_yaml_get(map, "valid");
    if (!status)
        status = numbers_in(p, valid ? valid : shape, "valid", 3, 3, node);
    const npu_yaml *acc = npu_yaml_get(map, "acc");
    if (!status && acc != NULL)
        status = npu_parse_expr(p->arena, acc, "acc", &node->acc, p->err);
    return status ? status : parse_mode(p, map, "unit_flag", node);
}

static npu_status parse_vec_inputs(npu_parser *p, const npu_yaml *in, npu_node *node) {
    int count = in->kind == NPU_YAML_LIST ? in->count : 1;
    if (count > NPU_OP_SLOTS)
        return npu_fail(p->err, NPU_BAD_INPUT, in->pos, "vec reads at most %d slots, not %d",
                        NPU_OP_SLOTS, count);
    npu_status status = NPU_OK;
    for (int i = 0; i < count && !status; i++) {
        const npu_yaml *item = in->kind == NPU_YAML_LIST ? in->items[i] : in;
        status = npu_parse_slot(p, item, &node->reads[i], NULL);
        if (!status && p->kernel->slots[node->reads[i]].buffer != NPU_UB)
            status = npu_fail(p->err, NPU_BAD_INPUT, item->pos,
                              "vec works in ub, and slot '%s' is in %s",
                              p->kernel->slots[node->reads[i]].name,
                              npu_buffer_names[p->kernel->slots[node->reads[i]].buffer]);
    }
    node->read_count = count;
    return status;
}

static npu_status parse_vec_size(npu_parser *p, const npu_yaml *map, npu_node *node) {
    const npu_yaml *shape = npu_yaml_get(map, "shape");
    const npu_yaml *elements = npu_yaml_get(map, "elements");
    if (shape != NULL && elements != NULL)
        return npu_fail(p->err, NPU_BAD_INPUT, elements->pos,
                        "vec takes a shape or elements, not both");
    if (shape != NULL)
        return numbers_in(p, shape, "the shape of a vec", 2, 0, node);
    if (elements == NULL)
        return NPU_OK; // the slot's own shape
    npu_status status = npu_expr_parse(p->arena, "1", elements->pos, &node->numbers[0], p->err);
    return status ? status
                  : npu_parse_expr(p->arena, elements, "elements", &node->numbers[1], p->err);
}

static npu_status parse_vec(npu_parser *p, const npu_yaml *map, npu_node *node) {
    const npu_yaml *op = NULL;
    int choice = 0;
    npu_status status = npu_yaml_need(map, "vec", "op", &op, p->err);
    if (!status)
        status = npu_yaml_choice(op, "vec op", npu_vec_op_names, &choice, p->err);
    node->vec = (npu_vec_op)choice;
    if (!status)
        status = npu_parse_slot_in(p, map, "vec", "out", 1u << NPU_UB, &node->write, &node->whole);
    const npu_yaml *in = npu_yaml_get(map, "in");
    if (!status && in != NULL)
        status = parse_vec_inputs(p, in, node);
    for (int i = 0; i < node->read_count; i++)
        if (node->reads[i] == node->write)
            node->whole = false; // in place: the copy read is the copy written
    if (!status)
        status = parse_vec_size(p, map, node);
    const npu_yaml *dtype = npu_yaml_get(map, "dtype");
    if (!status && dtype != NULL)
        status = npu_yaml_want(dtype, NPU_YAML_SCALAR, "dtype", p->err);
    if (!status && dtype != NULL) {
        node->dtype = dtype->text;
        node->dtype_pos = dtype->pos;
    }
    return status;
}

static npu_status parse_store(npu_parser *p, const npu_yaml *map, npu_node *node) {
    const npu_yaml *to = NULL;
    npu_status status = npu_parse_slot_in(p, map, "store", "from", 1u << NPU_L0C | 1u << NPU_UB,
                                          &node->reads[0], NULL);
    node->read_count = 1;
    if (!status)
        status = npu_yaml_need(map, "store", "to", &to, p->err);
    if (!status)
        status = npu_parse_region(p, to, &node->region);
    return status ? status : parse_mode(p, map, "atomic", node);
}

static npu_status parse_flag(npu_parser *p, const npu_yaml *map, const char *what, npu_node *node) {
    const npu_yaml *flag = NULL, *pipe = NULL;
    npu_status status = npu_yaml_need(map, what, "flag", &flag, p->err);
    if (!status)
        status = npu_parse_expr(p->arena, flag, "flag", &node->numbers[0], p->err);
    if (!status)
        status = npu_yaml_need(map, what, "pipe", &pipe, p->err);
    if (!status)
        status = npu_yaml_choice(pipe, "pipe", npu_pipe_names, &node->pipe, p->err);
    return status;
}

static npu_status parse_scalar(npu_parser *p, const npu_yaml *map, npu_node *node) {
    npu_status status = NPU_OK;
    if (map->count == 0)
        status = npu_fail(p->err, NPU_BAD_INPUT, map->pos, "scalar needs ops, gm or reads");
    for (int i = 0; i < 2 && !status; i++) {
        const npu_yaml *value = npu_yaml_get(map, scalar_keys[i]);
        if (value != NULL)
            status = npu_parse_expr(p->arena, value, scalar_keys[i], &node->numbers[i], p->err);
    }
    if (!status && npu_yaml_get(map, "reads") != NULL) {
        status = npu_parse_slot_in(p, map, "scalar", "reads", 1u << NPU_UB, &node->reads[0], NULL);
        node->read_count = 1;
    }
    return status;
}

// The counter of a notify or an await: a region of one element.
static npu_status parse_counter(npu_parser *p, const npu_yaml *map, const char *what,
                                const char *key, npu_node *node) {
    const npu_yaml *at = NULL;
    npu_status status = npu_yaml_need(map, what, key, &at, p->err);
    return status ? status : npu_parse_region(p, at, &node->region);
}

static npu_status parse_notify(npu_parser *p, const npu_yaml *map, npu_node *node) {
    const npu_yaml *add = npu_yaml_get(map, "add"), *set = npu_yaml_get(map, "set");
    if ((add == NULL) == (set == NULL))
        return npu_fail(p->err, NPU_BAD_INPUT, map->pos, "notify takes either add or set");
    node->set = set != NULL;
    npu_status status = parse_counter(p, map, "notify", "to", node);
    return status ? status
                  : npu_parse_expr(p->arena, add != NULL ? add : set, add != NULL ? "add" : "set",
                                   &node->numbers[0], p->err);
}

static npu_status parse_await(npu_parser *p, const npu_yaml *map, npu_node *node) {
    const npu_yaml *value = NULL;
    npu_status status = parse_counter(p, map, "await", "at", node);
    if (!status)
        status = npu_yaml_need(map, "await", "value", &value, p->err);
    return status ? status : npu_parse_expr(p->arena, value, "value", &node->numbers[0], p->err);
}

static npu_status parse_op(npu_parser *p, const npu_yaml *map, npu_node *node) {
    const char *name = forms[node->op].name;
    npu_status status = npu_yaml_keys(map, name, forms[node->op].keys, p->err);
    const npu_yaml *from = NULL;
    if (status)
        return status;
    switch (node->op) {
    case NPU_OP_LOAD:
        return parse_load(p, map, node);
    case NPU_OP_EXTRACT:
        return parse_extract(p, map, node);
    case NPU_OP_MATMUL:
        return parse_matmul(p, map, node);
    case NPU_OP_VEC:
        return parse_vec(p, map, node);
    case NPU_OP_STORE:
        return parse_store(p, map, node);
    case NPU_OP_SIGNAL:
    case NPU_OP_WAIT:
        return parse_flag(p, map, name, node);
    case NPU_OP_SCALAR:
        return parse_scalar(p, map, node);
    case NPU_OP_PREFETCH:
        status = npu_yaml_need(map, name, "from", &from, p->err);
        return status ? status : npu_parse_region(p, from, &node->region);
    case NPU_OP_NOTIFY:
        return parse_notify(p, map, node);
    case NPU_OP_AWAIT:
        return parse_await(p, map, node);
    case NPU_OP_DRAIN:
    case NPU_OP_COUNT:
        break;
    }
    return status;
}

// ---- loops and ifs -----------------------------------------------------------------------

// "i in 0..n"
static npu_status parse_loop_head(npu_parser *p, const npu_yaml *head, npu_node *node) {
    npu_status status = npu_yaml_want(head, NPU_YAML_SCALAR, "loop", p->err);
    if (status)
        return status;
    const char *text = head->text;
    npu_loop_text loop;
    if (!npu_loop_split(text, &loop))
        return npu_fail(p->err, NPU_BAD_INPUT, head->pos,
                        "a loop is written 'i in first..end', not '%s'", text);
    node->var = npu_arena_text(p->arena, text, (size_t)loop.name_length);
    if (node->var == NULL)
        return npu_fail_memory(p->err);
    status = npu_parse_piece(p, loop.first, loop.first + loop.first_length,
                             npu_pos_right(head->pos, loop.first - text), &node->from);
    return status ? status
                  : npu_parse_piece(p, loop.end, text + strlen(text),
                                    npu_pos_right(head->pos, loop.end - text), &node->to);
}

static npu_status parse_nested(npu_parser *p, const npu_yaml *map, npu_node *node, int depth) {
    bool loop = node->kind == NPU_STMT_LOOP;
    const char *what = loop ? "a loop" : "an if";
    const npu_yaml *body = NULL;
    npu_status status = npu_yaml_keys(map, what, loop ? loop_keys : if_keys, p->err);
    if (!status && loop)
        status = parse_loop_head(p, npu_yaml_get(map, "loop"), node);
    else if (!status)
        status = npu_parse_expr(p->arena, npu_yaml_get(map, "if"), "if", &node->from, p->err);
    if (!status)
        status = npu_yaml_need(map, what, "do", &body, p->err);
    if (!status)
        status = npu_parse_block(p->arena, p->kernel, body, depth + 1, &node->body,
                                 &node->body_count, p->err);
    const npu_yaml *other = npu_yaml_get(map, "else");
    if (!status && other != NULL)
        status = npu_parse_block(p->arena, p->kernel, other, depth + 1, &node->other,
                                 &node->other_count, p->err);
    return status;
}

static npu_status parse_statement(npu_parser *p, const npu_yaml *map, int depth, npu_node *node) {
    npu_status status = npu_yaml_want(map, NPU_YAML_MAP, "an op", p->err);
    if (status)
        return status;
    if (map->count == 0)
        return npu_fail(p->err, NPU_BAD_INPUT, map->pos, "an op must say what it does");
    node->pos = map->pos;
    node->write = -1;
    if (npu_yaml_get(map, "loop") != NULL || npu_yaml_get(map, "if") != NULL) {
        node->kind = npu_yaml_get(map, "loop") ? NPU_STMT_LOOP : NPU_STMT_IF;
        return parse_nested(p, map, node, depth);
    }
    int op = 0;
    status = npu_yaml_choice(map->keys[0], "op", statement_names, &op, p->err);
    if (!status && map->count > 1)
        status = npu_fail(p->err, NPU_BAD_INPUT, map->keys[1]->pos,
                          "one op per list entry: '%s' stands beside '%s'", map->keys[1]->text,
                          map->keys[0]->text);
    if (status)
        return status;
    node->kind = NPU_STMT_OP;
    node->op = (npu_op_kind)op;
    return parse_op(p, map->items[0], node);
}

npu_status npu_parse_block(npu_arena *arena, const npu_kernel *kernel, const npu_yaml *list,
                           int depth, const npu_node **nodes, int *count, npu_error *err) {
    npu_parser p = {arena, kernel, err};
    npu_status status = npu_yaml_want(list, NPU_YAML_LIST, "a program", err);
    if (status)
        return status;
    if (depth >= NPU_MAX_DEPTH)
        return npu_fail(err, NPU_BAD_INPUT, list->pos, "ops are nested at most %d deep",
                        NPU_MAX_DEPTH);
    npu_node *out = npu_arena_alloc(arena, (size_t)list->count, sizeof *out);
    if (out == NULL)
        return npu_fail_memory(err);
    for (int i = 0; i < list->count && !status; i++)
        status = parse_statement(&p, list->items[i], depth, &out[i]);
    *nodes = out;
    *count = list->count;
    return status;
}

const char *const npu_call_names[] = {"load", "extract", "matmul", "vec", "store", NULL};

npu_status npu_parse_calls(npu_arena *arena, const npu_yaml *map, npu_kernel *kernel,
                           npu_error *err) {
    if (map == NULL)
        return NPU_OK;
    npu_status status = npu_yaml_keys(map, "calls", npu_call_names, err);
    for (int i = 0; i < map->count && !status; i++) {
        int op = 0;
        status = npu_yaml_choice(map->keys[i], "op", npu_call_names, &op, err);
        if (!status)
            status = npu_parse_expr(arena, map->items[i], "calls", &kernel->calls[op], err);
    }
    return status;
}
