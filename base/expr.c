// SPDX-License-Identifier: Apache-2.0
// Three steps: text to a tree (npu_expr_parse), tree to code with the constants folded in
// (npu_expr_bind), and running the code (npu_code_run). Code is for a small register machine:
// each operation reads two operands (constants, slots or temporaries) and writes a temporary.
// Only ?:, && and || jump, always forward.
#include "expr.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "yaml.h"

// MAX_NESTING bounds the parser's recursion; MAX_HEIGHT that of the later steps, where a long
// sum is deep too; MAX_TEMPS the stack of npu_code_run.
enum { MAX_NESTING = 200, MAX_HEIGHT = 1000, MAX_TEMPS = 256 };

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
    // Only in trees:
    NODE_NUMBER,
    NODE_NAME,
    NODE_AND,
    NODE_OR,
    NODE_CHOOSE,
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

// ---------------------------------------------------------------- parsing

typedef struct parser {
    npu_arena *arena;
    const char *text;
    npu_pos pos;
    npu_error *err;
    npu_status status; // of the first failure
    int at;
    int nesting;
} parser;

static npu_pos pos_at(npu_pos pos, int at) {
    if (pos.line > 0)
        pos.col += at;
    return pos;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_word_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// The length of the name or number at `text`; dots count when more of the word follows.
static int word_length(const char *text) {
    int n = 0;
    while (is_digit(text[n]) || is_word_start(text[n]) ||
           (text[n] == '.' && (is_digit(text[n + 1]) || is_word_start(text[n + 1]))))
        n++;
    return n;
}

static void skip_spaces(parser *p) {
    while (p->text[p->at] != '\0' && strchr(" \t\r\n", p->text[p->at]) != NULL)
        p->at++;
}

static const node *fail_memory(parser *p) {
    p->status = npu_fail_memory(p->err);
    return NULL;
}

static const node *fail_at(parser *p, int at, const char *sentence) {
    p->status = npu_fail(p->err, NPU_BAD_INPUT, pos_at(p->pos, at), "%s", sentence);
    return NULL;
}

// "expected WHAT before 'token'", at the token.
static const node *fail_expected(parser *p, const char *what) {
    skip_spaces(p);
    const char *token = p->text + p->at;
    npu_pos pos = pos_at(p->pos, p->at);
    if (*token == '\0') {
        p->status = npu_fail(p->err, NPU_BAD_INPUT, pos, "expected %s before the end", what);
        return NULL;
    }
    int length = word_length(token);
    if (length == 0)
        for (length = 1; (token[length] & 0xC0) == 0x80;) // a whole UTF-8 character
            length++;
    p->status =
        npu_fail(p->err, NPU_BAD_INPUT, pos, "expected %s before '%.*s'", what, length, token);
    return NULL;
}

static bool accept(parser *p, char c) {
    skip_spaces(p);
    if (p->text[p->at] != c)
        return false;
    p->at++;
    return true;
}

static const node *new_node(parser *p, opcode code, int at, const node *a, const node *b,
                            const node *c) {
    node *n = npu_arena_alloc(p->arena, 1, sizeof *n);
    if (n == NULL)
        return fail_memory(p);
    *n = (node){.code = code, .at = at, .height = 1, .kids = {a, b, c}};
    for (int i = 0; i < 3; i++)
        if (n->kids[i] != NULL && n->kids[i]->height >= n->height)
            n->height = n->kids[i]->height + 1;
    if (n->height > MAX_HEIGHT)
        return fail_at(p, at, "the expression is too long");
    return n;
}

static const node *new_number(parser *p, int at, int64_t value) {
    node *n = npu_arena_alloc(p->arena, 1, sizeof *n);
    if (n == NULL)
        return fail_memory(p);
    *n = (node){.code = NODE_NUMBER, .at = at, .height = 1, .value = value};
    return n;
}

static const node *parse_number(parser *p) {
    static const char *const suffixes[] = {"", "KiB", "MiB", "GiB"};
    int at = p->at;
    const char *text = p->text + at;
    int length = word_length(text);
    int digits = 0;
    int64_t value = 0;
    bool overflow = false;
    for (; is_digit(text[digits]); digits++)
        overflow = overflow || __builtin_mul_overflow(value, 10, &value) ||
                   __builtin_add_overflow(value, text[digits] - '0', &value);
    p->at += length;
    for (int i = 0; i < 4; i++) {
        size_t rest = (size_t)(length - digits);
        if (rest != strlen(suffixes[i]) || memcmp(text + digits, suffixes[i], rest) != 0)
            continue;
        if (overflow || __builtin_mul_overflow(value, (int64_t)1 << (10 * i), &value))
            return fail_at(p, at, "the value is too large for 64 bits");
        return new_number(p, at, value);
    }
    p->status = npu_fail(p->err, NPU_BAD_INPUT, pos_at(p->pos, at),
                         "'%.*s' is not a whole number; only KiB, MiB or GiB may follow the digits",
                         length, text);
    return NULL;
}

static const node *parse_choice(parser *p);

typedef struct function {
    const char *name;
    const char *usage;
    opcode code;
    int least; // number of values
    int most;
} function;

static const function functions[] = {
    {"ceil", "ceil is written ceil(a / b) or ceil(a, b)", OP_CEIL, 1, 2},
    {"pad", "pad is written pad(a, b)", OP_PAD, 2, 2},
    {"min", "min is written min(a, ...)", OP_MIN, 1, INT_MAX},
    {"max", "max is written max(a, ...)", OP_MAX, 1, INT_MAX},
    {"log2", "log2 is written log2(a)", OP_LOG2, 1, 1},
};
enum { FUNCTION_COUNT = sizeof functions / sizeof *functions };

static const function *find_function(parser *p, int at, int length) {
    const char *names[FUNCTION_COUNT];
    for (int i = 0; i < FUNCTION_COUNT; i++) {
        names[i] = functions[i].name;
        if (strlen(names[i]) == (size_t)length && memcmp(names[i], p->text + at, length) == 0)
            return &functions[i];
    }
    char hint[64];
    const char *name = npu_arena_text(p->arena, p->text + at, (size_t)length);
    if (name == NULL)
        fail_memory(p);
    else
        p->status = npu_fail(p->err, NPU_BAD_INPUT, pos_at(p->pos, at), "unknown function '%s'%s",
                             name, npu_did_you_mean(name, names, FUNCTION_COUNT, hint, 64));
    return NULL;
}

// The values of a call whose '(' has been read. min and max of many become pairs.
static const node *parse_call(parser *p, int at, int length) {
    const function *f = find_function(p, at, length);
    if (f == NULL)
        return NULL;
    const node *left = parse_choice(p);
    int count = 1;
    if (left != NULL && f->code == OP_LOG2) {
        const node *unused = new_number(p, at, 0); // every operation has two operands
        left = unused != NULL ? new_node(p, OP_LOG2, at, left, unused, NULL) : NULL;
    }
    for (; left != NULL && accept(p, ','); count++) {
        const node *right = parse_choice(p);
        left = right != NULL ? new_node(p, f->code, at, left, right, NULL) : NULL;
    }
    if (left == NULL)
        return NULL;
    if (!accept(p, ')'))
        return fail_expected(p, "',' or ')'");
    if (count < f->least || count > f->most)
        return fail_at(p, at, f->usage);
    if (f->code == OP_CEIL && count == 1) {
        if (left->code != OP_DIV)
            return fail_at(p, at, f->usage);
        return new_node(p, OP_CEIL, left->at, left->kids[0], left->kids[1], NULL);
    }
    return left;
}

static const node *parse_word(parser *p) {
    int at = p->at;
    int length = word_length(p->text + at);
    p->at += length;
    if (accept(p, '('))
        return parse_call(p, at, length);
    p->at = at + length;
    node *n = npu_arena_alloc(p->arena, 1, sizeof *n);
    char *name = npu_arena_text(p->arena, p->text + at, (size_t)length);
    if (n == NULL || name == NULL)
        return fail_memory(p);
    *n = (node){.code = NODE_NAME, .at = at, .height = 1, .name = name};
    return n;
}

static const node *parse_unary(parser *p) {
    skip_spaces(p);
    int at = p->at;
    char c = p->text[at];
    if (is_digit(c))
        return parse_number(p);
    if (is_word_start(c))
        return parse_word(p);
    if (accept(p, '(')) {
        const node *inner = parse_choice(p);
        if (inner != NULL && !accept(p, ')'))
            return fail_expected(p, "')'");
        return inner;
    }
    if (c != '-' && c != '!')
        return fail_expected(p, "a number, a name or '('");
    p->at++;
    if (p->nesting >= MAX_NESTING)
        return fail_at(p, at, "the expression is nested too deeply");
    p->nesting++;
    const node *operand = parse_unary(p);
    p->nesting--;
    const node *zero = operand != NULL ? new_number(p, at, 0) : NULL;
    if (zero == NULL)
        return NULL;
    return c == '-' ? new_node(p, OP_SUB, at, zero, operand, NULL)
                    : new_node(p, OP_EQ, at, operand, zero, NULL);
}

typedef struct infix {
    const char *text;
    int level; // binds tighter when higher
    opcode code;
} infix;

static const infix *peek_infix(parser *p) {
    static const infix table[] = {
        {"||", 1, NODE_OR}, {"&&", 2, NODE_AND}, {"==", 3, OP_EQ}, {"!=", 3, OP_NE},
        {"<=", 3, OP_LE},   {">=", 3, OP_GE},    {"<", 3, OP_LT},  {">", 3, OP_GT},
        {"+", 4, OP_ADD},   {"-", 4, OP_SUB},    {"*", 5, OP_MUL}, {"//", 5, OP_FLOOR},
        {"/", 5, OP_DIV},   {"%", 5, OP_MOD},
    };
    skip_spaces(p);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strncmp(p->text + p->at, table[i].text, strlen(table[i].text)) == 0)
            return &table[i];
    return NULL;
}

static const node *parse_infix(parser *p, int level) {
    const node *left = parse_unary(p);
    while (left != NULL) {
        const infix *op = peek_infix(p);
        if (op == NULL || op->level < level)
            break;
        int at = p->at;
        p->at += (int)strlen(op->text);
        const node *right = parse_infix(p, op->level + 1);
        left = right != NULL ? new_node(p, op->code, at, left, right, NULL) : NULL;
    }
    return left;
}

static const node *parse_choice(parser *p) {
    if (p->nesting >= MAX_NESTING)
        return fail_at(p, p->at, "the expression is nested too deeply");
    p->nesting++;
    const node *result = parse_infix(p, 1);
    int at = p->at;
    if (result != NULL && accept(p, '?')) {
        const node *yes = parse_choice(p);
        if (yes != NULL && !accept(p, ':'))
            yes = fail_expected(p, "':'");
        const node *no = yes != NULL ? parse_choice(p) : NULL;
        result = no != NULL ? new_node(p, NODE_CHOOSE, at, result, yes, no) : NULL;
    }
    p->nesting--;
    return result;
}

npu_status npu_expr_parse(npu_arena *arena, const char *text, npu_pos pos, const npu_expr **out,
                          npu_error *err) {
    assert(arena != NULL && text != NULL && out != NULL);
    *out = NULL;
    parser p = {.arena = arena, .text = text, .pos = pos, .err = err};
    if (strlen(text) > INT_MAX / 2)
        return npu_fail(err, NPU_BAD_INPUT, pos, "the expression is too long");
    const node *root = parse_choice(&p);
    skip_spaces(&p);
    if (root != NULL && text[p.at] != '\0')
        root = fail_expected(&p, "an operator");
    if (root == NULL)
        return p.status;
    npu_expr *expr = npu_arena_alloc(arena, 1, sizeof *expr);
    if (expr == NULL)
        return npu_fail_memory(err);
    *expr = (npu_expr){root, pos};
    *out = expr;
    return NPU_OK;
}

// ---------------------------------------------------------------- arithmetic

typedef enum fault {
    FAULT_NONE,
    FAULT_OVERFLOW,
    FAULT_ZERO,
    FAULT_REST,
    FAULT_PAD,
    FAULT_LOG2
} fault;

static npu_status report(fault f, int64_t x, int64_t y, npu_pos pos, npu_error *err) {
    switch (f) {
    case FAULT_ZERO:
        return npu_fail(err, NPU_BAD_INPUT, pos, "division by zero");
    case FAULT_REST:
        return npu_fail(err, NPU_BAD_INPUT, pos,
                        "%" PRId64 " / %" PRId64 " leaves a rest; use // or ceil()", x, y);
    case FAULT_PAD:
        return npu_fail(err, NPU_BAD_INPUT, pos, "pad() cannot round up to a multiple of %" PRId64,
                        y);
    case FAULT_LOG2:
        return npu_fail(err, NPU_BAD_INPUT, pos, "log2(%" PRId64 "): not a power of two", x);
    default:
        assert(f == FAULT_OVERFLOW);
        return npu_fail(err, NPU_BAD_INPUT, pos, "the value is too large for 64 bits");
    }
}

static fault divide(opcode code, int64_t x, int64_t y, int64_t *out) {
    if (y == 0)
        return FAULT_ZERO;
    if (y == -1) { // INT64_MIN / -1 would trap, for the remainder as well
        if (code == OP_MOD)
            return *out = 0, FAULT_NONE;
        return __builtin_sub_overflow(0, x, out) ? FAULT_OVERFLOW : FAULT_NONE;
    }
    int64_t quotient = x / y;
    int64_t rest = x % y;
    bool same_sign = (rest < 0) == (y < 0);
    switch (code) {
    case OP_DIV:
        if (rest != 0)
            return FAULT_REST;
        break;
    case OP_FLOOR:
        quotient -= rest != 0 && !same_sign;
        break;
    case OP_CEIL:
        quotient += rest != 0 && same_sign;
        break;
    default:
        assert(code == OP_MOD);
        quotient = rest != 0 && !same_sign ? rest + y : rest;
    }
    *out = quotient;
    return FAULT_NONE;
}

static fault pad_up(int64_t x, int64_t y, int64_t *out) {
    if (y <= 0)
        return y == 0 ? FAULT_ZERO : FAULT_PAD;
    int64_t rest = x % y;
    int64_t add = rest > 0 ? y - rest : -rest;
    return __builtin_add_overflow(x, add, out) ? FAULT_OVERFLOW : FAULT_NONE;
}

static fault exact_log2(int64_t x, int64_t *out) {
    if (x <= 0 || (x & (x - 1)) != 0)
        return FAULT_LOG2;
    *out = __builtin_ctzll((unsigned long long)x);
    return FAULT_NONE;
}

static inline fault apply(opcode code, int64_t x, int64_t y, int64_t *out) {
    switch (code) {
    case OP_ADD:
        return __builtin_add_overflow(x, y, out) ? FAULT_OVERFLOW : FAULT_NONE;
    case OP_SUB:
        return __builtin_sub_overflow(x, y, out) ? FAULT_OVERFLOW : FAULT_NONE;
    case OP_MUL:
        return __builtin_mul_overflow(x, y, out) ? FAULT_OVERFLOW : FAULT_NONE;
    case OP_DIV:
    case OP_FLOOR:
    case OP_MOD:
    case OP_CEIL:
        return divide(code, x, y, out);
    case OP_PAD:
        return pad_up(x, y, out);
    case OP_LOG2:
        return exact_log2(x, out);
    case OP_MIN:
        *out = x < y ? x : y;
        break;
    case OP_MAX:
        *out = x > y ? x : y;
        break;
    case OP_EQ:
        *out = x == y;
        break;
    case OP_NE:
        *out = x != y;
        break;
    case OP_LT:
        *out = x < y;
        break;
    case OP_LE:
        *out = x <= y;
        break;
    case OP_GT:
        *out = x > y;
        break;
    case OP_GE:
        *out = x >= y;
        break;
    default:
        assert(code == OP_MOVE);
        *out = x;
    }
    return FAULT_NONE;
}

// ---------------------------------------------------------------- binding

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

// What a compiled node gives. Constants stay out of the pool until an op needs them.
typedef struct operand {
    operand_kind kind;
    int index;
    int64_t value; // when IN_POOL
} operand;

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
        return npu_fail(b->err, NPU_BAD_INPUT, pos_at(b->pos, at),
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
        fault f = apply(code, x.value, y.value, &out->value);
        if (f == FAULT_NONE)
            return NPU_OK;
        if (b->maybe == 0)
            return report(f, x.value, y.value, pos_at(b->pos, at), b->err);
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

static npu_status fail_unknown(builder *b, const node *n) {
    const char **names = NULL;
    int count = 0;
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
    return npu_fail(b->err, NPU_BAD_INPUT, pos_at(b->pos, n->at), "unknown name '%s'%s", n->name,
                    npu_did_you_mean(n->name, names, count, hint, sizeof hint));
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
        return npu_fail(b->err, NPU_BAD_INPUT, pos_at(b->pos, n->at), "'%s' is not a constant",
                        n->name);
    assert(out->index >= 0);
    out->kind = IN_SLOT;
    return NPU_OK;
}

// A branch that is never taken is not compiled, but a misspelt name in it is still found.
static npu_status check_names(builder *b, const node *n) {
    operand unused;
    if (n->code == NODE_NAME)
        return compile_name(b, n, &unused);
    npu_status status = NPU_OK;
    for (int i = 0; status == NPU_OK && i < 3 && n->kids[i] != NULL; i++)
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

// ---------------------------------------------------------------- running

static npu_status run_steps(const npu_code *code, int start, const int64_t *slots, int64_t *value,
                            npu_error *err) {
    int64_t temps[MAX_TEMPS];
    const int64_t *pool = (const int64_t *)(const void *)(code->ops + code->op_count);
    const int64_t *const from[KIND_COUNT] = {
        [IN_POOL] = pool, [IN_SLOT] = slots, [IN_TEMP] = temps};
    temps[0] = 0;
    for (int i = start; i < code->op_count;) {
        const op *o = &code->ops[i++];
        int64_t x = from[o->a_kind][o->a];
        int64_t y = from[o->b_kind][o->b];
        if (o->code >= OP_JUMP) {
            assert(o->code <= OP_JUMP_NONZERO && o->dst >= i);
            if (o->code == OP_JUMP || (x == 0) == (o->code == OP_JUMP_ZERO))
                i = o->dst;
            continue;
        }
        fault f = apply((opcode)o->code, x, y, &temps[o->dst]);
        if (f != FAULT_NONE)
            return report(f, x, y, pos_at(code->pos, o->at), err);
    }
    *value = temps[0];
    return NPU_OK;
}

npu_status npu_code_run(const npu_code *code, const int64_t *slots, int64_t *value,
                        npu_error *err) {
    if (code->op_count == 0) {
        *value = code->value;
        return NPU_OK;
    }
    const op *first = &code->ops[0];
    if (first->code != OP_AFFINE)
        return run_steps(code, 0, slots, value, err);
    const int64_t *pool = (const int64_t *)(const void *)(code->ops + code->op_count);
    int64_t scaled;
    if (!__builtin_mul_overflow(slots[first->a], pool[first->b], &scaled) &&
        !__builtin_add_overflow(scaled, pool[first->dst], value))
        return NPU_OK;
    return run_steps(code, 1, slots, value, err);
}

bool npu_code_uses(const npu_code *code, int slot) {
    for (int i = 0; i < code->op_count; i++) {
        const op *o = &code->ops[i];
        if ((o->a_kind == IN_SLOT && o->a == slot) || (o->b_kind == IN_SLOT && o->b == slot))
            return true;
    }
    return false;
}
