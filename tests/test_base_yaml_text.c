// SPDX-License-Identifier: Apache-2.0
// Expressions, conditions and regions where YAML has other ideas about their signs.
#include "test_base_yaml.h"

// The entries of a list, with '|' between them.
static void assert_list(fixture *f, const char *text, const char *entries) {
    char buf[256] = "";
    assert_parses(f, text);
    assert_int_equal(f->root->kind, NPU_YAML_LIST);
    for (int i = 0; i < f->root->count; i++) {
        const npu_yaml *item = f->root->items[i];
        size_t used = strlen(buf);
        snprintf(buf + used, sizeof buf - used, "%s%s", i > 0 ? "|" : "",
                 item->kind == NPU_YAML_SCALAR ? item->text : "...");
    }
    assert_string_equal(buf, entries);
}

static void a_call_in_a_list_is_one_entry(void **state) {
    fixture *f = *state;
    assert_list(f, "[pad(T, 16), 64]", "pad(T, 16)|64");
    assert_list(f, "[64, max(a, b, c)]", "64|max(a, b, c)");
    assert_list(f, "[(min(a, b) + pad(c, d)) * 2, max(e, 1)]",
                "(min(a, b) + pad(c, d)) * 2|max(e, 1)");
    assert_list(f, "- [pad(T, 16)]\n- pad(T, 16)\n", "...|pad(T, 16)");
    assert_string_equal(f->root->items[0]->items[0]->text, "pad(T, 16)");
    assert_int_equal(f->root->items[0]->count, 1);
}

static void a_joined_call_keeps_its_columns(void **state) {
    fixture *f = *state;
    assert_list(f, "[pad(T,16)]", "pad(T,16)");
    assert_list(f, "[pad(T ,   16), 4]", "pad(T,    16)|4");
    assert_at(f->root->items[0], 1, 2);
    assert_at(f->root->items[1], 1, 17);
    assert_list(f, "[max(a,\n  b), 4]", "max(a, b)|4");
}

static void what_is_no_call_stays_as_it_is(void **state) {
    fixture *f = *state;
    assert_list(f, "[pad(T, 16, 64]", "pad(T|16|64");
    assert_list(f, "[a), (b]", "a)|(b");
    assert_list(f, "[(a, b)), (c, d)]", "(a|b))|(c, d)");
    assert_list(f, "['(a', b), (c, \"d)\"]", "(a|b)|(c|d)");
    assert_list(f, "[(a, [1], b)]", "(a|...|b)");
    assert_list(f, "- (a\n- b)\n", "(a|b)");
}

static void a_call_has_at_most_64_pieces(void **state) {
    fixture *f = *state;
    char zeros[63 * 2 + 1] = "";
    char text[256];
    for (int i = 0; i < 63; i++)
        memcpy(zeros + (size_t)2 * i, "0,", 3);
    snprintf(text, sizeof text, "[max(%s0)]", zeros);
    assert_parses(f, text);
    assert_int_equal(f->root->count, 1);
    snprintf(text, sizeof text, "[max(%s0,0)]", zeros);
    assert_parses(f, text);
    assert_int_equal(f->root->count, 65);
}

static void a_comma_in_a_map_asks_for_quotes(void **state) {
    fixture *f = *state;
#define COMMA "put the expression in quotes: a comma ends a value inside { }"
    assert_refused(f, "{ n: 1, a: pad(T, 16) }", "t.yaml:1:12: " COMMA);
    assert_refused(f, "a: { b: max(T, S, 16), c: 1 }", "t.yaml:1:9: " COMMA);
    assert_refused(f, "{ a: pad(T, 16), b: pad(T, 16) }", "t.yaml:1:6: " COMMA);
    assert_refused(f, "{ a: pad(T,\n  16) }", "t.yaml:1:6: " COMMA);
    assert_refused(f, "{ a: T > 1 ? pad(T, 16) : 8 }", "t.yaml:1:6: " COMMA);
    assert_parses(f, "{ a: 'pad(T, 16)', b: \"max(1, 2)\", c: [pad(T, 16)], d: (T), e: }");
    assert_parses(f, "{ a: pad(T, b: 3 }"); // the expression lacks its bracket
    assert_parses(f, "a: pad(T, 16)\nb: (\nc:\n");
}

static void a_colon_in_a_value_asks_for_quotes(void **state) {
    fixture *f = *state;
#define COLON(what) "put the " what " in quotes: a colon with a space ends a value"
    assert_refused(f, "n: a ? b : c\n", "t.yaml:1:10: " COLON("condition"));
    assert_refused(f, "{ m: 1, n: a ? b : c }", "t.yaml:1:18: " COLON("condition"));
    assert_refused(f, "n: [8, a ? b : c]\n", "t.yaml:1:8: " COLON("condition"));
    assert_refused(f, "n: [pad(a ? b : c, 16)]\n", "t.yaml:1:5: " COLON("condition"));
    assert_refused(f, "n:\n  - a ? b : c\n", "t.yaml:2:5: " COLON("condition"));
    assert_refused(f, "x: \xc3\xa9[0 : 8, :]\n", "t.yaml:1:8: " COLON("region"));
    assert_parses(f, "a: b ?c :d\n'e ? f': 'g ? h : i'\n");
}

static void a_bracket_in_a_value_asks_for_quotes(void **state) {
    fixture *f = *state;
#define BRACKET "put the text in quotes: a bracket ends a value inside { } and [ ]"
    assert_refused(f, "{ from: x[0 : 8, :], to: b }", "t.yaml:1:10: " BRACKET);
    assert_refused(f, "after: [p, proj[g]]", "t.yaml:1:16: " BRACKET);
    assert_refused(f, "[ 'a'[b] ]",
                   "t.yaml:1:6: bad YAML: did not find expected ',' or ']' while parsing a flow "
                   "sequence");
    assert_parses(f, "after: proj[g]\nx: [\"x[0]\"]\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_call_in_a_list_is_one_entry),        TEST(a_joined_call_keeps_its_columns),
        TEST(what_is_no_call_stays_as_it_is),       TEST(a_call_has_at_most_64_pieces),
        TEST(a_comma_in_a_map_asks_for_quotes),     TEST(a_colon_in_a_value_asks_for_quotes),
        TEST(a_bracket_in_a_value_asks_for_quotes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
