// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "expr.h"

// The scope of these tests: constants K = 0, tile.n = 16, big = INT64_MAX, and the variables
// m (slot 0), n (slot 1), block.m (slot 2).
static npu_name_kind lookup(void *scope, const char *name, int64_t *value, int *slot) {
    (void)scope;
    static const char *const constants[] = {"K", "tile.n", "big"};
    static const int64_t values[] = {0, 16, INT64_MAX};
    static const char *const slots[] = {"m", "n", "block.m"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(name, constants[i]) == 0) {
            *value = values[i];
            return NPU_NAME_CONST;
        }
        if (strcmp(name, slots[i]) == 0) {
            *slot = i;
            return NPU_NAME_SLOT;
        }
    }
    return NPU_NAME_UNKNOWN;
}

static const char *known_name(void *scope, int i) {
    static const char *const names[] = {"K", "tile.n", "big", "m", "n", "block.m"};
    (void)scope;
    return i < 6 ? names[i] : NULL;
}

// 3 rows of 4: 1 2 3 4, 10 20 30 40, 100 200 300 400
static const int64_t numbers[] = {1, 2, 3, 4, 10, 20, 30, 40, 100, 200, 300, 400};
static const npu_table rows = {2, {3, 4}, numbers};

static const npu_table *known_table(void *scope, const char *name) {
    (void)scope;
    return strcmp(name, "rows") == 0 ? &rows : NULL;
}

static const npu_scope scope = {lookup, known_name, NULL, known_table};
static const npu_pos here = {"k.yaml", 4, 10};

typedef struct fixture {
    npu_arena arena;
    npu_error err;
    npu_code code;
} fixture;

static int set_up(void **state) {
    *state = calloc(1, sizeof(fixture));
    return *state != NULL ? 0 : -1;
}

static int tear_down(void **state) {
    fixture *f = *state;
    npu_arena_free(&f->arena);
    free(f);
    return 0;
}

static npu_status bind(fixture *f, const char *text) {
    const npu_expr *expr = NULL;
    f->err.text[0] = '\0';
    npu_status status = npu_expr_parse(&f->arena, text, here, &expr, &f->err);
    return status == NPU_OK ? npu_expr_bind(&f->arena, expr, &scope, &f->code, &f->err) : status;
}

static void assert_binds(fixture *f, const char *text) {
    npu_status status = bind(f, text);
    assert_string_equal(f->err.text, "");
    assert_int_equal(status, NPU_OK);
}

static npu_status run(fixture *f, int64_t m, int64_t n, int64_t *value) {
    int64_t slots[] = {m, n, 1000};
    f->err.text[0] = '\0';
    return npu_code_run(&f->code, slots, value, &f->err);
}

// The value of `text` with m and n given.
static void assert_gives(fixture *f, const char *text, int64_t m, int64_t n, int64_t expected) {
    int64_t value = -12345;
    assert_binds(f, text);
    npu_status status = run(f, m, n, &value);
    assert_string_equal(f->err.text, "");
    assert_int_equal(status, NPU_OK);
    if (value != expected)
        fail_msg("'%s' gives %lld, not %lld", text, (long long)value, (long long)expected);
}

// The same arithmetic must come out of folding and of running.
static void assert_constant(fixture *f, const char *text, int64_t expected) {
    assert_gives(f, text, 0, 0, expected);
    assert_int_equal(f->code.op_count, 0);
    assert_true(f->code.value == expected);
}

// An error that is found when the expression is parsed or bound.
static void assert_refused(fixture *f, const char *text, const char *message) {
    assert_int_equal(bind(f, text), NPU_BAD_INPUT);
    assert_string_equal(f->err.text, message);
}

// An error that is found only when the code runs.
static void assert_fails(fixture *f, const char *text, int64_t m, int64_t n, const char *message) {
    int64_t value = 77;
    assert_binds(f, text);
    assert_int_equal(run(f, m, n, &value), NPU_BAD_INPUT);
    assert_string_equal(f->err.text, message);
}

static void numbers_may_carry_binary_suffixes(void **state) {
    fixture *f = *state;
    assert_constant(f, "42", 42);
    assert_constant(f, " 007 ", 7);
    assert_constant(f, "3KiB", 3072);
    assert_constant(f, "192MiB", 201326592);
    assert_constant(f, "2GiB", 2147483648);
    assert_constant(f, "9223372036854775807", INT64_MAX);
}

static void operators_bind_as_in_c(void **state) {
    fixture *f = *state;
    assert_constant(f, "1 + 2 * 3", 7);
    assert_constant(f, "(1 + 2) * 3", 9);
    assert_constant(f, "10 - 4 - 3", 3);
    assert_constant(f, "24 / 4 / 2", 3);
    assert_constant(f, "2 * 7 // 3 % 3", 1); // ((2 * 7) // 3) % 3 = 4 % 3
    assert_constant(f, "-2 + 5", 3);
    assert_constant(f, "- - 2", 2);
    assert_constant(f, "1 + 1 == 2", 1);
    assert_constant(f, "0 && 0 || 1", 1);
    assert_constant(f, "1 || 0 && 0", 1);
    assert_constant(f, "!1 + 1", 1); // (!1) + 1
    assert_constant(f, "0 ? 1 : 0 ? 2 : 3", 3);
    assert_constant(f, "1 ? 0 ? 4 : 5 : 6", 5);
    assert_constant(f, "0 || 0 ? 1 : 2", 2);
}

static void comparisons_give_zero_or_one(void **state) {
    fixture *f = *state;
    assert_constant(f, "3 < 4", 1);
    assert_constant(f, "4 < 4", 0);
    assert_constant(f, "4 <= 4", 1);
    assert_constant(f, "5 > 4", 1);
    assert_constant(f, "4 > 4", 0);
    assert_constant(f, "3 >= 4", 0);
    assert_constant(f, "3 != 4", 1);
    assert_constant(f, "3 == 4", 0);
    assert_constant(f, "!7", 0);
    assert_constant(f, "!0", 1);
    assert_constant(f, "5 && 7", 1);
    assert_constant(f, "5 || 7", 1);
}

static void floor_division_rounds_down_and_the_rest_has_the_divisors_sign(void **state) {
    fixture *f = *state;
    assert_constant(f, "7 // 2", 3);
    assert_constant(f, "-7 // 2", -4);
    assert_constant(f, "7 // -2", -4);
    assert_constant(f, "-7 // -2", 3);
    assert_constant(f, "7 % 3", 1);
    assert_constant(f, "-7 % 3", 2);
    assert_constant(f, "7 % -3", -2);
    assert_constant(f, "-7 % -3", -1);
    assert_constant(f, "(-big - 1) % -1", 0);
}

static void ceil_rounds_up(void **state) {
    fixture *f = *state;
    assert_constant(f, "ceil(7 / 2)", 4);
    assert_constant(f, "ceil(8 / 2)", 4);
    assert_constant(f, "ceil(7, 2)", 4);
    assert_constant(f, "ceil(-7, 2)", -3);
    assert_constant(f, "ceil(7, -2)", -3);
    assert_constant(f, "ceil(-7 / -2)", 4);
    assert_constant(f, "ceil(3 * 5 / 4)", 4);
    assert_constant(f, "ceil ( ( 9 / 2 ) )", 5);
}

static void the_other_functions_work(void **state) {
    fixture *f = *state;
    assert_constant(f, "pad(13, 8)", 16);
    assert_constant(f, "pad(16, 8)", 16);
    assert_constant(f, "pad(0, 8)", 0);
    assert_constant(f, "pad(-13, 8)", -8);
    assert_constant(f, "min(3)", 3);
    assert_constant(f, "min(3, 1, 2)", 1);
    assert_constant(f, "max(3, 1, 9, 2)", 9);
    assert_constant(f, "log2(1)", 0);
    assert_constant(f, "log2(1024)", 10);
    assert_constant(f, "log2(4611686018427387904)", 62);
    assert_constant(f, "max(1 ? 2 : 3, 1)", 2);
}

static void variables_are_read_from_their_slots(void **state) {
    fixture *f = *state;
    assert_gives(f, "m", 7, 0, 7);
    assert_gives(f, "n", 7, 3, 3);
    assert_gives(f, "block.m + tile.n", 0, 0, 1016);
    assert_gives(f, "(m + 1) * (n - 1)", 7, 3, 16);
    assert_gives(f, "m - (n - (m - n))", 10, 4, 12); // 10 - (4 - 6)
    assert_gives(f, "ceil(m / tile.n) * tile.n - m", 100, 0, 12);
    assert_gives(f, "min(m, n, 5) + max(m, n, 5)", 7, 3, 10);
    assert_gives(f, "m // n * n + m % n", -7, 3, -7);
    assert_gives(f, "pad(m, n) / n", 13, 8, 2);
    assert_gives(f, "log2(m)", 64, 0, 6);
    assert_gives(f, "!m", 64, 0, 0);
    assert_gives(f, "-m", 64, 0, -64);
}

static void a_scaled_and_shifted_variable_works_in_every_form(void **state) {
    fixture *f = *state;
    assert_gives(f, "m * 64 + 3", 5, 0, 323);
    assert_gives(f, "3 + 64 * m", 5, 0, 323);
    assert_gives(f, "64 * m - 3", 5, 0, 317);
    assert_gives(f, "3 - 64 * m", 5, 0, -317);
    assert_gives(f, "m - 3", 5, 0, 2);
    assert_gives(f, "3 - m", 5, 0, -2);
    assert_gives(f, "n * tile.n", 5, 3, 48);
    assert_gives(f, "(m + 2) * 3", 5, 0, 21);
    assert_gives(f, "m * 2 + n", 5, 3, 13);
    assert_gives(f, "m - (-big - 1)", -1, 0, INT64_MAX);
}

static void a_scaled_and_shifted_variable_overflows_as_its_steps_do(void **state) {
    fixture *f = *state;
    assert_fails(f, "m * 4 + 1", INT64_MAX / 2, 0,
                 "k.yaml:4:12: the value is too large for 64 bits");
    assert_fails(f, "m * 4 + 4", INT64_MAX / 4, 0,
                 "k.yaml:4:16: the value is too large for 64 bits");
    assert_gives(f, "m * 4 + 3", INT64_MAX / 4, 0, INT64_MAX);
    // The sum overflows although its result would fit again after the subtraction.
    assert_fails(f, "m + big - big", 1, 0, "k.yaml:4:12: the value is too large for 64 bits");
}

static void a_branch_not_taken_is_not_evaluated(void **state) {
    fixture *f = *state;
    assert_gives(f, "n > 0 ? 8 / n : 0", 0, 0, 0);
    assert_gives(f, "n > 0 ? 8 / n : 0", 0, 4, 2);
    assert_gives(f, "n != 0 && 8 / n == 2", 0, 0, 0);
    assert_gives(f, "n != 0 && 8 / n == 2", 0, 4, 1);
    assert_gives(f, "n == 0 || 8 / n == 2", 0, 0, 1);
    assert_gives(f, "n == 0 || 8 / n == 2", 0, 8, 0);
    assert_constant(f, "K > 0 ? 8 / K : 0", 0);
    assert_constant(f, "K && 8 / K", 0);
    assert_constant(f, "!K || 8 / K", 1);
    assert_constant(f, "K ? m : 5", 5);
}

static void a_fault_in_a_constant_branch_waits_until_it_is_taken(void **state) {
    fixture *f = *state;
    assert_gives(f, "n ? 8 / K : 3", 0, 0, 3);
    assert_fails(f, "n ? 8 / K : 3", 0, 1, "k.yaml:4:16: division by zero");
    assert_gives(f, "n && 8 / K", 0, 0, 0);
    assert_fails(f, "n && 8 / K", 0, 1, "k.yaml:4:17: division by zero");
}

static void logic_with_variables_gives_zero_or_one(void **state) {
    fixture *f = *state;
    assert_gives(f, "m && n", 5, 7, 1);
    assert_gives(f, "m && n", 5, 0, 0);
    assert_gives(f, "m || n", 0, 7, 1);
    assert_gives(f, "m || n", 0, 0, 0);
    assert_gives(f, "1 && m", 9, 0, 1);
    assert_gives(f, "0 || m", 9, 0, 1);
    assert_gives(f, "m && 4", 9, 0, 1);
    assert_gives(f, "(m && n) + (m || n) * 2", 0, 3, 2);
    assert_gives(f, "n + (m > 3 ? m * 2 : n) * 10", 4, 1, 81);
    assert_gives(f, "n + (m > 3 ? m * 2 : n) * 10", 3, 1, 11);
    assert_gives(f, "m > 3 && n > 3 ? 1 : m > 3 ? 2 : 3", 4, 4, 1);
    assert_gives(f, "m > 3 && n > 3 ? 1 : m > 3 ? 2 : 3", 4, 3, 2);
    assert_gives(f, "m > 3 && n > 3 ? 1 : m > 3 ? 2 : 3", 3, 3, 3);
}

static void division_errors_point_at_the_operator(void **state) {
    fixture *f = *state;
    assert_refused(f, "12 / 5", "k.yaml:4:13: 12 / 5 leaves a rest; use // or ceil()");
    assert_refused(f, "1 + 3 / K", "k.yaml:4:16: division by zero");
    assert_refused(f, "3 // 0", "k.yaml:4:12: division by zero");
    assert_refused(f, "3 % 0", "k.yaml:4:12: division by zero");
    assert_refused(f, "ceil(3 / 0)", "k.yaml:4:17: division by zero");
    assert_refused(f, "ceil(3, 0)", "k.yaml:4:10: division by zero");
    assert_refused(f, "pad(3, 0)", "k.yaml:4:10: division by zero");
    assert_refused(f, "pad(3, -4)", "k.yaml:4:10: pad() cannot round up to a multiple of -4");
    assert_refused(f, "log2(12)", "k.yaml:4:10: log2(12): not a power of two");
    assert_refused(f, "log2(0)", "k.yaml:4:10: log2(0): not a power of two");
    assert_fails(f, "2 * (m / n)", 12, 5, "k.yaml:4:17: 12 / 5 leaves a rest; use // or ceil()");
    assert_fails(f, "m % n", 12, 0, "k.yaml:4:12: division by zero");
}

static void overflow_is_an_error_in_every_operation(void **state) {
    fixture *f = *state;
    assert_refused(f, "9223372036854775808", "k.yaml:4:10: the value is too large for 64 bits");
    assert_refused(f, "8589934592GiB", "k.yaml:4:10: the value is too large for 64 bits");
    assert_refused(f, "big + 1", "k.yaml:4:14: the value is too large for 64 bits");
    assert_refused(f, "-big - 2", "k.yaml:4:15: the value is too large for 64 bits");
    assert_refused(f, "big * 2", "k.yaml:4:14: the value is too large for 64 bits");
    assert_refused(f, "-(-big - 1)", "k.yaml:4:10: the value is too large for 64 bits");
    assert_refused(f, "pad(big, 2)", "k.yaml:4:10: the value is too large for 64 bits");
    assert_refused(f, "(-big - 1) / -1", "k.yaml:4:21: the value is too large for 64 bits");
    assert_refused(f, "(-big - 1) // -1", "k.yaml:4:21: the value is too large for 64 bits");
    assert_fails(f, "m * n", INT64_MAX, 2, "k.yaml:4:12: the value is too large for 64 bits");
    assert_fails(f, "ceil(m, n)", INT64_MIN, -1, "k.yaml:4:10: the value is too large for 64 bits");
}

static void an_unfinished_expression_says_what_is_missing(void **state) {
    fixture *f = *state;
    assert_refused(f, "", "k.yaml:4:10: expected a number, a name or '(' before the end");
    assert_refused(f, "m +", "k.yaml:4:13: expected a number, a name or '(' before the end");
    assert_refused(f, "()", "k.yaml:4:11: expected a number, a name or '(' before ')'");
    assert_refused(f, "m + * 2", "k.yaml:4:14: expected a number, a name or '(' before '*'");
    assert_refused(f, "(m", "k.yaml:4:12: expected ')' before the end");
    assert_refused(f, "(m n", "k.yaml:4:13: expected ')' before 'n'");
    assert_refused(f, "min(m", "k.yaml:4:15: expected ',' or ')' before the end");
    assert_refused(f, "m ? 1", "k.yaml:4:15: expected ':' before the end");
    assert_refused(f, "m ? 1 2", "k.yaml:4:16: expected ':' before '2'");
    assert_refused(f, "m tile.n", "k.yaml:4:12: expected an operator before 'tile.n'");
    assert_refused(f, "m)", "k.yaml:4:11: expected an operator before ')'");
    assert_refused(f, "m = 3", "k.yaml:4:12: expected an operator before '='");
    assert_refused(f, "m & 3", "k.yaml:4:12: expected an operator before '&'");
    assert_refused(f, "m \xc3\x97 3", "k.yaml:4:12: expected an operator before '\xc3\x97'");
    assert_refused(f, "tile.", "k.yaml:4:14: expected an operator before '.'");
}

static void only_whole_numbers_with_known_suffixes_are_numbers(void **state) {
    fixture *f = *state;
    assert_refused(f, "1 + 2KB",
                   "k.yaml:4:14: '2KB' is not a whole number; only KiB, MiB or GiB "
                   "may follow the digits");
    assert_refused(f, "1.5",
                   "k.yaml:4:10: '1.5' is not a whole number; only KiB, MiB or GiB may "
                   "follow the digits");
    assert_refused(f, "0x10",
                   "k.yaml:4:10: '0x10' is not a whole number; only KiB, MiB or GiB "
                   "may follow the digits");
    assert_refused(f, "2KiB3",
                   "k.yaml:4:10: '2KiB3' is not a whole number; only KiB, MiB or GiB "
                   "may follow the digits");
    assert_refused(f, "2 KiB", "k.yaml:4:12: expected an operator before 'KiB'");
}

static void unknown_names_are_errors_with_the_nearest_name(void **state) {
    fixture *f = *state;
    assert_refused(f, "1 + tile.m", "k.yaml:4:14: unknown name 'tile.m'; did you mean 'tile.n'?");
    assert_refused(f, "zebra", "k.yaml:4:10: unknown name 'zebra'");
    assert_refused(f, "K ? zebra : 1", "k.yaml:4:14: unknown name 'zebra'");
    assert_refused(f, "K && 1 + zebra", "k.yaml:4:19: unknown name 'zebra'");
    assert_refused(f, "mni(1, 2)", "k.yaml:4:10: unknown function 'mni'; did you mean 'min'?");
    assert_refused(f, "m + floor(3)", "k.yaml:4:14: unknown function 'floor'");
}

// Rows are 1 2 3 4, 10 20 30 40 and 100 200 300 400.
static void a_table_gives_its_numbers_and_their_sums(void **state) {
    fixture *f = *state;
    assert_constant(f, "rows(1, 2)", 30);
    assert_constant(f, "rows(:, 3)", 4 + 40 + 400);
    assert_constant(f, "rows(1, 1 : 2) + 1", 20 + 30 + 1);
    assert_constant(f, "rows(0 : 2, :)", 10 + 100);
    assert_constant(f, "rows(2, 4 : 0)", 0);
    assert_gives(f, "rows(m, n)", 2, 1, 200);
    assert_gives(f, "2 * rows(m % 3, 0 : n) + n", 4, 2, 2 * 30 + 2);
    assert_gives(f, "rows(rows(0, m), :) - rows(m, rows(0, 1))", 0, 0, 100 - 3);
    assert_gives(f, "m < 3 ? rows(m, 0) : 7", 3, 0, 7);
    assert_gives(f, "1 ? 5 : rows(9, 9)", 0, 0, 5);
}

static void a_table_checks_its_indices(void **state) {
    fixture *f = *state;
    assert_refused(f, "rows(3, 0)", "k.yaml:4:10: the index 3 is outside a table's dimension of 3");
    assert_refused(f, "1 + rows(0, 2 : 3)",
                   "k.yaml:4:14: the index 4 is outside a table's dimension of 4");
    assert_refused(f, "rows(1)", "k.yaml:4:10: the table 'rows' has 2 dimensions, and is given 1");
    assert_refused(f, "rows(1, 2, 3)",
                   "k.yaml:4:10: the table 'rows' has 2 dimensions, and is given 3");
    assert_refused(f, "rows + 1", "k.yaml:4:10: 'rows' is a table and needs its indices");
    assert_refused(f, "rows(1 2)", "k.yaml:4:17: expected ',' or ')' before '2'");
    assert_fails(f, "rows(m, n)", 0, -1,
                 "k.yaml:4:10: the index -1 is outside a table's dimension of 4");
}

static void functions_check_the_number_of_their_values(void **state) {
    fixture *f = *state;
    assert_refused(f, "min()", "k.yaml:4:14: expected a number, a name or '(' before ')'");
    assert_refused(f, "pad(3)", "k.yaml:4:10: pad is written pad(a, b)");
    assert_refused(f, "pad(3, 4, 5)", "k.yaml:4:10: pad is written pad(a, b)");
    assert_refused(f, "log2(3, 4)", "k.yaml:4:10: log2 is written log2(a)");
    assert_refused(f, "ceil(m)", "k.yaml:4:10: ceil is written ceil(a / b) or ceil(a, b)");
    assert_refused(f, "ceil(m / 2 + 1)", "k.yaml:4:10: ceil is written ceil(a / b) or ceil(a, b)");
    assert_refused(f, "ceil(1, 2, 3)", "k.yaml:4:10: ceil is written ceil(a / b) or ceil(a, b)");
}

// `count` copies of `open`, "1", `count` copies of `close`; free the result.
static char *nested(const char *open, const char *close, int count) {
    char *text = calloc(1, (size_t)count * (strlen(open) + strlen(close)) + 2);
    assert_non_null(text);
    size_t length = 0;
    for (int i = 0; i < count; i++)
        length += (size_t)sprintf(text + length, "%s", open);
    text[length++] = '1';
    for (int i = 0; i < count; i++)
        length += (size_t)sprintf(text + length, "%s", close);
    return text;
}

static void nesting_is_bounded(void **state) {
    fixture *f = *state;
    char *fits = nested("(", ")", 199);
    char *deep = nested("(", ")", 200);
    char *signs = nested("-", "", 100000);
    char *choices = nested("1?1:", "", 100000);
    char *calls = nested("max(1,", ")", 100000);
    assert_constant(f, fits, 1);
    assert_refused(f, deep, "k.yaml:4:210: the expression is nested too deeply");
    assert_refused(f, signs, "k.yaml:4:209: the expression is nested too deeply");
    // The 201st level is the value after the 200th '?', and the first value of the 200th call.
    assert_refused(f, choices, "k.yaml:4:808: the expression is nested too deeply");
    assert_refused(f, calls, "k.yaml:4:1208: the expression is nested too deeply");
    free(fits);
    free(deep);
    free(signs);
    free(choices);
    free(calls);
}

static void long_sums_work_up_to_a_bound(void **state) {
    fixture *f = *state;
    char *fits = nested("", "+m", 999);
    char *longer = nested("", "+m", 1000);
    assert_gives(f, fits, 2, 0, 1999);
    assert_refused(f, longer, "k.yaml:4:2009: the expression is too long");
    free(fits);
    free(longer);
}

static void pending_operands_are_bounded(void **state) {
    fixture *f = *state;
    // Each level keeps three products until the innermost value is there.
    char *fits = nested("(m*m == m*m + m*m * (", "))", 64);
    char *deep = nested("(m*m == m*m + m*m * (", "))", 99);
    assert_binds(f, fits);
    assert_int_equal(bind(f, deep), NPU_BAD_INPUT);
    assert_non_null(strstr(f->err.text, ": the expression is nested too deeply"));
    free(fits);
    free(deep);
}

static void the_slots_that_code_reads_are_known(void **state) {
    fixture *f = *state;
    assert_binds(f, "m * 2 + 1");
    assert_true(npu_code_uses(&f->code, 0));
    assert_false(npu_code_uses(&f->code, 1));
    assert_binds(f, "m > 0 ? n : 3");
    assert_true(npu_code_uses(&f->code, 0));
    assert_true(npu_code_uses(&f->code, 1));
    assert_false(npu_code_uses(&f->code, 2));
    assert_binds(f, "K ? n : 3");
    assert_false(npu_code_uses(&f->code, 1));
    assert_binds(f, "max(1, 2)");
    assert_false(npu_code_uses(&f->code, 0));
}

static void a_value_needs_constants_only(void **state) {
    fixture *f = *state;
    int64_t value = 0;
    assert_int_equal(npu_expr_value(&f->arena, "tile.n * 2", here, &scope, &value, &f->err),
                     NPU_OK);
    assert_int_equal(value, 32);
    assert_int_equal(npu_expr_value(&f->arena, "3 + 4", here, NULL, &value, &f->err), NPU_OK);
    assert_int_equal(value, 7);
    assert_int_equal(npu_expr_value(&f->arena, "2 * m", here, &scope, &value, &f->err),
                     NPU_BAD_INPUT);
    assert_string_equal(f->err.text, "k.yaml:4:14: 'm' is not a constant");
    assert_int_equal(value, 7);
    npu_error none = {0};
    assert_int_equal(npu_expr_value(&f->arena, "x", here, NULL, &value, &none), NPU_BAD_INPUT);
    assert_string_equal(none.text, "k.yaml:4:10: unknown name 'x'");
}

static void without_a_line_errors_have_no_column(void **state) {
    fixture *f = *state;
    int64_t value = 0;
    npu_pos option = {"--set", 0, 0};
    assert_int_equal(npu_expr_value(&f->arena, "1 +", option, NULL, &value, &f->err),
                     NPU_BAD_INPUT);
    assert_string_equal(f->err.text, "--set: expected a number, a name or '(' before the end");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(numbers_may_carry_binary_suffixes),
        TEST(operators_bind_as_in_c),
        TEST(comparisons_give_zero_or_one),
        TEST(floor_division_rounds_down_and_the_rest_has_the_divisors_sign),
        TEST(ceil_rounds_up),
        TEST(the_other_functions_work),
        TEST(variables_are_read_from_their_slots),
        TEST(a_scaled_and_shifted_variable_works_in_every_form),
        TEST(a_scaled_and_shifted_variable_overflows_as_its_steps_do),
        TEST(a_branch_not_taken_is_not_evaluated),
        TEST(a_fault_in_a_constant_branch_waits_until_it_is_taken),
        TEST(logic_with_variables_gives_zero_or_one),
        TEST(division_errors_point_at_the_operator),
        TEST(overflow_is_an_error_in_every_operation),
        TEST(an_unfinished_expression_says_what_is_missing),
        TEST(only_whole_numbers_with_known_suffixes_are_numbers),
        TEST(unknown_names_are_errors_with_the_nearest_name),
        TEST(a_table_gives_its_numbers_and_their_sums),
        TEST(a_table_checks_its_indices),
        TEST(functions_check_the_number_of_their_values),
        TEST(nesting_is_bounded),
        TEST(long_sums_work_up_to_a_bound),
        TEST(pending_operands_are_bounded),
        TEST(the_slots_that_code_reads_are_known),
        TEST(a_value_needs_constants_only),
        TEST(without_a_line_errors_have_no_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
