// SPDX-License-Identifier: Apache-2.0
#include "expr_impl.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "yaml_tree.h"

// MAX_NESTING bounds the parser's recursion; MAX_HEIGHT that of the later steps, where a long
// sum is deep too.
enum { MAX_NESTING = 200, MAX_HEIGHT = 1000 };

typedef struct parser {
    npu_arena *arena;
    const char *text;
    npu_pos pos;
    npu_error *err;
    npu_status status; // of the first failure
    int at;
    int nesting;
} parser;

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
    p->status = npu_fail(p->err, NPU_BAD_INPUT, npu_pos_right(p->pos, at), "%s", sentence);
    return NULL;
}

// "expected WHAT before 'token'", at the token.
static const node *fail_expected(parser *p, const char *what) {
    skip_spaces(p);
    const char *token = p->text + p->at;
    npu_pos pos = npu_pos_right(p->pos, p->at);
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
    p->status = npu_fail(p->err, NPU_BAD_INPUT, npu_pos_right(p->pos, at),
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

static const function *find_function(const char *name, int length) {
    for (int i = 0; i < FUNCTION_COUNT; i++)
        if (strlen(functions[i].name) == (size_t)length &&
            memcmp(functions[i].name, name, (size_t)length) == 0)
            return &functions[i];
    return NULL;
}

npu_status npu_expr_fail_function(const char *name, npu_pos pos, npu_error *err) {
    const char *names[FUNCTION_COUNT];
    for (int i = 0; i < FUNCTION_COUNT; i++)
        names[i] = functions[i].name;
    char hint[64];
    return npu_fail(err, NPU_BAD_INPUT, pos, "unknown function '%s'%s", name,
                    npu_did_you_mean(name, names, FUNCTION_COUNT, hint, sizeof hint));
}

// The index of one dimension, and those after it.
static const node *parse_indices(parser *p) {
    const node *start = NULL, *length = NULL, *next = NULL;
    int at = p->at;
    if (p->nesting >= MAX_NESTING)
        return fail_at(p, at, "the expression is nested too deeply");
    if (!accept(p, ':')) {
        start = parse_choice(p);
        length = start != NULL && accept(p, ':') ? parse_choice(p) : NULL;
        if (p->status != NPU_OK)
            return NULL;
    }
    if (accept(p, ',')) {
        p->nesting++;
        next = parse_indices(p);
        p->nesting--;
        if (next == NULL)
            return NULL;
    } else if (!accept(p, ')')) {
        return fail_expected(p, "',' or ')'");
    }
    return new_node(p, NODE_INDEX, at, start, length, next);
}

// What is no function is a table; the binding finds out.
static const node *parse_table(parser *p, int at, int length) {
    const char *name = npu_arena_text(p->arena, p->text + at, (size_t)length);
    if (name == NULL)
        return fail_memory(p);
    const node *indices = parse_indices(p);
    node *n = indices != NULL ? npu_arena_alloc(p->arena, 1, sizeof *n) : NULL;
    if (n == NULL)
        return indices != NULL ? fail_memory(p) : NULL;
    *n = (node){.code = NODE_TABLE,
                .at = at,
                .height = indices->height + 1,
                .name = name,
                .kids = {indices}};
    return n;
}

// The values of a call whose '(' has been read. min and max of many become pairs.
static const node *parse_call(parser *p, int at, int length) {
    const function *f = find_function(p->text + at, length);
    if (f == NULL)
        return parse_table(p, at, length);
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
        const infix *found = peek_infix(p);
        if (found == NULL || found->level < level)
            break;
        int at = p->at;
        p->at += (int)strlen(found->text);
        const node *right = parse_infix(p, found->level + 1);
        left = right != NULL ? new_node(p, found->code, at, left, right, NULL) : NULL;
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
