// SPDX-License-Identifier: Apache-2.0
// Reading JSON value by value: numbers of 64 bits, pieces, places, limits.
#include "test_traces_fixture.h"

#include "json.h"

typedef struct opened {
    npu_json *json;
    npu_error err;
} opened;

static void open_text(opened *o, const char *text, size_t length, npu_json_form form) {
    *o = (opened){.json = NULL};
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    rewind(file);
    assert_int_equal(npu_json_open_stream(file, "f.json", form, &o->json, &o->err), NPU_OK);
}

static void open_json(opened *o, const char *text) {
    open_text(o, text, strlen(text), NPU_JSON_ONE);
}

static void all_64_bits_of_a_number_arrive(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t value;
    } numbers[] = {{"0", 0},
                   {"-0", 0},
                   {"9007199254740993", UINT64_C(9007199254740993)}, // 2^53 + 1
                   {"9223372036854775808", UINT64_C(9223372036854775808)},
                   {"18446744073709551615", UINT64_MAX},
                   {"\"18446744073709551615\"", UINT64_MAX},
                   {"-1", UINT64_MAX}, // two's complement, as old files have it
                   {"-9223372036854775808", UINT64_C(9223372036854775808)}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        opened o;
        uint64_t value = 5;
        open_json(&o, numbers[i].text);
        assert_int_equal(npu_json_u64(o.json, "id", &value), NPU_OK);
        assert_true(value == numbers[i].value);
        assert_int_equal(npu_json_end(o.json), NPU_OK);
        npu_json_close(o.json);
    }
}

static void what_64_bits_do_not_hold_is_no_id(void **state) {
    (void)state;
    static const char *const bad[] = {"18446744073709551616",
                                      "-9223372036854775809",
                                      "1.0",
                                      "1e3",
                                      "\"12x\"",
                                      "\"\"",
                                      "\"-\"",
                                      "\"+1\"",
                                      "true",
                                      "null",
                                      "[1]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        opened o;
        uint64_t value;
        open_json(&o, bad[i]);
        assert_int_equal(npu_json_u64(o.json, "id", &value), NPU_BAD_INPUT);
        assert_string_equal(o.err.text, "f.json:1:1: id must be a whole number of 64 bits");
        npu_json_close(o.json);
    }
}

static void signed_numbers_keep_to_their_range(void **state) {
    (void)state;
    opened o;
    int64_t value = 0;
    open_json(&o, "[-5, 7, 18446744073709551615]");
    assert_int_equal(npu_json_enter(o.json, NPU_JSON_LIST, "list"), NPU_OK);
    assert_int_equal(npu_json_i64(o.json, "x", -5, 7, &value), NPU_OK);
    assert_int_equal(value, -5);
    assert_int_equal(npu_json_i64(o.json, "x", -5, 7, &value), NPU_OK);
    assert_int_equal(value, 7);
    // As two's complement this is -1, which would lie in the range.
    assert_int_equal(npu_json_i64(o.json, "x", -5, 7, &value), NPU_BAD_INPUT);
    assert_string_equal(o.err.text, "f.json:1:9: x must be a whole number from -5 to 7");
    npu_json_close(o.json);
}

static void decimals_are_counted_in_their_unit(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t value; // with 3 decimals
    } numbers[] = {{"12.340", 12340},
                   {"0.02", 20},
                   {"1.3800000000000026", 1380},
                   {"7", 7000},
                   {"0.0005", 1},
                   {"0.00049", 0},
                   {"-1.5", -1500},
                   {"1e-05", 0},
                   {"1.5e3", 1500000},
                   {"0", 0},
                   {"4409875911990.123", INT64_C(4409875911990123)}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        opened o;
        int64_t value = 5;
        open_json(&o, numbers[i].text);
        assert_int_equal(npu_json_fixed(o.json, "ts", 3, &value), NPU_OK);
        assert_int_equal(value, numbers[i].value);
        npu_json_close(o.json);
    }
    opened o;
    int64_t value;
    open_json(&o, "1e300");
    assert_int_equal(npu_json_fixed(o.json, "ts", 3, &value), NPU_BAD_INPUT);
    assert_string_equal(o.err.text, "f.json:1:1: ts is too large");
    npu_json_close(o.json);
}

static void a_value_kept_as_text_is_the_same_value(void **state) {
    (void)state;
    opened o;
    npu_arena arena = {0};
    const char *raw;
    open_json(&o, "{\"a\":[1, -2,18446744073709551616, 1.50e3,\"q\\\"\\u0001\\u00e9\"],\"b\":{},"
                  "\"c\":[null,true,{\"d\":[]}]}");
    assert_int_equal(npu_json_raw(o.json, &arena, &raw), NPU_OK);
    assert_string_equal(raw,
                        "{\"a\": [1, -2, 18446744073709551616, 1.50e3, \"q\\\"\\u0001\u00e9\"], "
                        "\"b\": {}, \"c\": [null, true, {\"d\": []}]}");
    npu_json_close(o.json);
    npu_arena_free(&arena);
}

static void a_map_is_walked_by_its_keys(void **state) {
    (void)state;
    opened o;
    const char *key;
    const char *text;
    bool truth = false;
    open_json(&o, "{\"skip\":{\"x\":[1,{\"y\":2}]},\"name\":\"n\",\"on\":true}");
    assert_int_equal(npu_json_enter(o.json, NPU_JSON_MAP, "the file"), NPU_OK);
    assert_int_equal(npu_json_key(o.json, &key), NPU_OK);
    assert_string_equal(key, "skip");
    assert_int_equal(npu_json_skip(o.json), NPU_OK);
    assert_int_equal(npu_json_key(o.json, &key), NPU_OK);
    assert_int_equal(npu_json_string(o.json, "name", &text), NPU_OK);
    assert_string_equal(text, "n");
    assert_int_equal(npu_json_key(o.json, &key), NPU_OK);
    assert_int_equal(npu_json_bool(o.json, "on", &truth), NPU_OK);
    assert_true(truth);
    assert_int_equal(npu_json_key(o.json, &key), NPU_OK);
    assert_null(key);
    assert_int_equal(npu_json_end(o.json), NPU_OK);
    npu_json_close(o.json);
}

// Values that lie across the borders of 64 KiB pieces, and a place far into the file.
static void pieces_leave_no_seam(void **state) {
    (void)state;
    enum { ITEMS = 20000 };
    char *text = malloc(ITEMS * 32);
    size_t length = 0;
    assert_non_null(text);
    text[length++] = '[';
    for (int i = 0; i < ITEMS; i++)
        length += (size_t)snprintf(text + length, 32, "%s\n\"k%d\", %d", i > 0 ? "," : "", i, i);
    length += (size_t)snprintf(text + length, 32, ",\n x]");
    opened o;
    open_text(&o, text, length, NPU_JSON_ONE);
    assert_int_equal(npu_json_enter(o.json, NPU_JSON_LIST, "list"), NPU_OK);
    for (int i = 0; i < ITEMS; i++) {
        char expected[32];
        const char *got;
        int number = -1;
        snprintf(expected, sizeof expected, "k%d", i);
        assert_int_equal(npu_json_string(o.json, "key", &got), NPU_OK);
        assert_string_equal(got, expected);
        assert_int_equal(npu_json_int(o.json, "number", 0, ITEMS, &number), NPU_OK);
        assert_int_equal(number, i);
    }
    assert_int_equal(npu_json_skip(o.json), NPU_BAD_INPUT);
    assert_string_equal(o.err.text, "f.json:20002:3: this is no JSON");
    npu_json_close(o.json);
    free(text);
}

static void a_key_outlives_the_piece_it_stood_in(void **state) {
    (void)state;
    enum { BLANKS = 70000 };
    char *text = malloc(BLANKS + 64);
    assert_non_null(text);
    int length = snprintf(text, BLANKS + 64, "{\"the_key\":%*s7}", BLANKS, "");
    opened o;
    const char *key;
    uint64_t value = 0;
    open_text(&o, text, (size_t)length, NPU_JSON_ONE);
    assert_int_equal(npu_json_enter(o.json, NPU_JSON_MAP, "the file"), NPU_OK);
    assert_int_equal(npu_json_key(o.json, &key), NPU_OK);
    assert_int_equal(npu_json_u64(o.json, key, &value), NPU_OK);
    assert_string_equal(key, "the_key");
    assert_int_equal(value, 7);
    npu_json_close(o.json);
    free(text);
}

static void lines_are_values_one_after_the_other(void **state) {
    (void)state;
    opened o;
    bool more = true;
    int sum = 0, number = 0;
    open_text(&o, "1\n2\n39\n", 7, NPU_JSON_LINES);
    while (npu_json_more(o.json, &more) == NPU_OK && more) {
        assert_int_equal(npu_json_int(o.json, "line", 0, 100, &number), NPU_OK);
        sum += number;
    }
    assert_int_equal(sum, 42);
    npu_json_close(o.json);
}

// What skipping a whole file says of it; NULL: nothing.
static const struct {
    const char *text, *sentence;
} files[] = {
    {"[]", NULL},
    {"", "f.json:1:1: the file ends in the middle of its JSON"},
    {"{\"a\":\n [1, 2", "f.json:2:7: the file ends in the middle of its JSON"},
    {"{\"a\":\n [1,, 2]}", "f.json:2:6: this is no JSON"},
    {"[NaN]", "f.json:1:3: this is no JSON"},
    {"[1] [2]", "f.json:1:6: something follows the end of the JSON"},
    {"[\"\xff\"]", "f.json:1:4: a string is no UTF-8"},
    {"[01]", "f.json:1:4: this is no JSON"},
    {"{\"a\" 1}", "f.json:1:7: this is no JSON"},
};

static void a_fault_is_told_with_its_line_and_column(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        opened o;
        open_json(&o, files[i].text);
        npu_status status = npu_json_skip(o.json);
        if (status == NPU_OK)
            status = npu_json_end(o.json);
        assert_int_equal(status, files[i].sentence == NULL ? NPU_OK : NPU_BAD_INPUT);
        assert_string_equal(o.err.text, files[i].sentence != NULL ? files[i].sentence : "");
        npu_json_close(o.json);
    }
}

static void deep_nesting_is_refused(void **state) {
    (void)state;
    char text[256] = "";
    for (int depth = 64; depth <= 65; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        opened o;
        open_text(&o, text, (size_t)depth * 2, NPU_JSON_ONE);
        assert_int_equal(npu_json_skip(o.json), depth == 64 ? NPU_OK : NPU_BAD_INPUT);
        npu_json_close(o.json);
    }
}

static void an_endless_text_is_refused(void **state) {
    (void)state;
    size_t length = 6U << 20;
    char *text = malloc(length);
    assert_non_null(text);
    memset(text, 'x', length);
    text[0] = '[';
    text[1] = '"';
    opened o;
    open_text(&o, text, length, NPU_JSON_ONE);
    assert_int_equal(npu_json_skip(o.json), NPU_BAD_INPUT);
    assert_non_null(strstr(o.err.text, "nothing but one text or blanks for 4 MiB"));
    npu_json_close(o.json);
    free(text);
}

static void a_text_with_a_zero_is_refused(void **state) {
    (void)state;
    opened o;
    const char *text;
    open_json(&o, "\"a\\u0000b\"");
    assert_int_equal(npu_json_string(o.json, "name", &text), NPU_BAD_INPUT);
    npu_json_close(o.json);
}

static void the_first_failure_stays(void **state) {
    (void)state;
    opened o;
    uint64_t value = 0;
    open_json(&o, "[true, 5]");
    assert_int_equal(npu_json_enter(o.json, NPU_JSON_LIST, "list"), NPU_OK);
    assert_int_equal(npu_json_u64(o.json, "first", &value), NPU_BAD_INPUT);
    assert_int_equal(npu_json_u64(o.json, "second", &value), NPU_BAD_INPUT);
    assert_string_equal(o.err.text, "f.json:1:2: first must be a whole number of 64 bits");
    npu_json_close(o.json);
}

static void a_file_that_is_not_there_is_named(void **state) {
    (void)state;
    npu_json *json;
    npu_error err = {0};
    assert_int_equal(npu_json_open("/no/such.json", NPU_JSON_ONE, &json, &err), NPU_IO);
    assert_string_equal(err.text, "/no/such.json: cannot read: No such file or directory");
    assert_null(json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_64_bits_of_a_number_arrive),
        cmocka_unit_test(what_64_bits_do_not_hold_is_no_id),
        cmocka_unit_test(signed_numbers_keep_to_their_range),
        cmocka_unit_test(decimals_are_counted_in_their_unit),
        cmocka_unit_test(a_value_kept_as_text_is_the_same_value),
        cmocka_unit_test(a_map_is_walked_by_its_keys),
        cmocka_unit_test(pieces_leave_no_seam),
        cmocka_unit_test(a_key_outlives_the_piece_it_stood_in),
        cmocka_unit_test(lines_are_values_one_after_the_other),
        cmocka_unit_test(a_fault_is_told_with_its_line_and_column),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(an_endless_text_is_refused),
        cmocka_unit_test(a_text_with_a_zero_is_refused),
        cmocka_unit_test(the_first_failure_stays),
        cmocka_unit_test(a_file_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
