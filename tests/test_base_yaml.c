// SPDX-License-Identifier: Apache-2.0
#include "test_base_yaml.h"

#include <unistd.h>

static void a_tree_keeps_kinds_texts_and_order(void **state) {
    fixture *f = *state;
    assert_parses(f, "b: 1\na:\n  - x y\n  - {k: v}\nempty:\n");
    assert_int_equal(f->root->kind, NPU_YAML_MAP);
    assert_int_equal(f->root->count, 3);
    assert_string_equal(f->root->keys[0]->text, "b");
    assert_string_equal(f->root->keys[1]->text, "a");
    assert_string_equal(f->root->items[0]->text, "1");
    const npu_yaml *list = f->root->items[1];
    assert_int_equal(list->kind, NPU_YAML_LIST);
    assert_int_equal(list->count, 2);
    assert_null(list->text);
    assert_null(list->keys);
    assert_string_equal(list->items[0]->text, "x y");
    assert_string_equal(npu_yaml_get(list->items[1], "k")->text, "v");
    assert_string_equal(f->root->items[2]->text, "");
}

static void empty_collections_have_no_entries(void **state) {
    fixture *f = *state;
    assert_parses(f, "{a: [], b: {}}");
    assert_int_equal(npu_yaml_get(f->root, "a")->count, 0);
    assert_int_equal(npu_yaml_get(f->root, "b")->count, 0);
    assert_int_equal(npu_yaml_get(f->root, "b")->kind, NPU_YAML_MAP);
}

static void lines_and_columns_count_from_one(void **state) {
    fixture *f = *state;
    assert_parses(f, "# comment\na: 1\nlist:\n  - tm\n  - {k: v}\n");
    assert_at(f->root, 2, 1);
    assert_at(f->root->keys[0], 2, 1);
    assert_at(f->root->items[0], 2, 4);
    assert_at(f->root->items[1], 4, 3);
    assert_at(f->root->items[1]->items[0], 4, 5);
    assert_at(f->root->items[1]->items[1], 5, 5);
    assert_at(f->root->items[1]->items[1]->items[0], 5, 9);
}

static void a_quoted_text_stands_after_its_quote(void **state) {
    fixture *f = *state;
    assert_parses(f, "a: 'x ? 1 : 2'\nb: \"y\"\n");
    assert_at(f->root->items[0], 1, 5);
    assert_at(f->root->items[1], 2, 5);
}

static void a_duplicate_key_is_an_error_with_both_positions(void **state) {
    fixture *f = *state;
    assert_refused(f, "x: 1\ny: 2\nx: 3\n", "t.yaml:3:1: duplicate key 'x'; first given at line 1");
    assert_refused(f, "a:\n  - {k: 1,\n     k: 2}\n",
                   "t.yaml:3:6: duplicate key 'k'; first given at line 2");
}

static void the_first_of_several_duplicates_is_reported(void **state) {
    fixture *f = *state;
    assert_refused(f, "z: 1\nb: 2\na: 3\nz: 4\na: 5\nz: 6\n",
                   "t.yaml:4:1: duplicate key 'z'; first given at line 1");
}

static void equal_keys_of_different_maps_are_no_duplicates(void **state) {
    fixture *f = *state;
    assert_parses(f, "x: {x: 1}\ny: {x: 2}\n");
}

static void a_duplicate_is_found_in_a_map_of_many_keys(void **state) {
    enum { KEYS = 50000 };
    fixture *f = *state;
    char *text = malloc((size_t)KEYS * 12 + 64);
    assert_non_null(text);
    size_t length = 0;
    for (int i = 0; i < KEYS; i++)
        length += (size_t)sprintf(text + length, "k%d: v\n", (i * 7919) % KEYS);
    assert_parses(f, text);
    assert_int_equal(f->root->count, KEYS);
    sprintf(text + length, "k7919: again\n");
    assert_refused(f, text, "t.yaml:50001:1: duplicate key 'k7919'; first given at line 2");
    free(text);
}

static void anchors_and_aliases_are_refused(void **state) {
    fixture *f = *state;
    assert_refused(f, "a: &x 1\nb: 2\n", "t.yaml:1:4: anchors (&x) are not supported");
    assert_refused(f, "a: &x [1]\nb: *x\n", "t.yaml:1:4: anchors (&x) are not supported");
    assert_refused(f, "a: &x {b: *x}\n", "t.yaml:1:4: anchors (&x) are not supported");
    assert_refused(f, "a: *x\n", "t.yaml:1:4: aliases (*x) are not supported; repeat the value");
}

static void a_key_must_be_a_single_value(void **state) {
    fixture *f = *state;
    assert_refused(f, "? [a, b]\n: 1\n", "t.yaml:1:3: a key must be a single value");
    assert_refused(f, "x: {{a: 1}: 2}\n", "t.yaml:1:5: a key must be a single value");
}

static void an_empty_file_is_an_error(void **state) {
    fixture *f = *state;
    assert_refused(f, "", "t.yaml: the file is empty");
    assert_refused(f, "# only a comment\n", "t.yaml: the file is empty");
    assert_refused(f, "---\n", "t.yaml: the file is empty");
}

static void a_second_document_is_an_error(void **state) {
    fixture *f = *state;
    assert_refused(f, "a: 1\n---\nb: 2\n", "t.yaml:2:1: a second document starts here");
    assert_parses(f, "---\na: 1\n...\n");
}

static void nesting_ends_at_64(void **state) {
    fixture *f = *state;
    char text[256] = {0};
    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    assert_parses(f, text);
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    assert_refused(f, text, "t.yaml:1:65: nested deeper than 64 levels");
}

static void bad_yaml_is_reported_in_one_line_with_its_place(void **state) {
    fixture *f = *state;
    assert_refused(f, "a: b: c\n",
                   "t.yaml:1:5: bad YAML: mapping values are not allowed in this context");
    assert_refused(f, "a: [1, 2\nb: 3\n",
                   "t.yaml:2:2: bad YAML: did not find expected ',' or ']' while parsing a flow "
                   "sequence");
    assert_refused(f, "a:\n\t- 1\n", "t.yaml:2:1: bad YAML: a tab; indent with spaces");
    assert_refused(f, "a: @b\n",
                   "t.yaml:1:4: bad YAML: found character that cannot start any token while "
                   "scanning for the next token");
}

static void bytes_that_are_not_utf8_are_reported_at_their_place(void **state) {
    fixture *f = *state;
    assert_refused(f, "a: 1\nb: \xc3\xa9\xff\n",
                   "t.yaml:2:5: bad YAML: invalid leading UTF-8 octet");
}

static void a_zero_byte_in_a_value_is_an_error(void **state) {
    fixture *f = *state;
    assert_refused(f, "a: \"x\\0y\"\n", "t.yaml:1:4: a value must not hold a zero byte");
}

static void a_missing_file_is_named_once(void **state) {
    fixture *f = *state;
    assert_int_equal(npu_yaml_load(&f->arena, "/nowhere/a.yaml", &f->root, &f->err), NPU_IO);
    assert_string_equal(f->err.text, "cannot read /nowhere/a.yaml: No such file or directory");
}

static void a_folder_is_no_file(void **state) {
    fixture *f = *state;
    assert_int_equal(npu_yaml_load(&f->arena, "/", &f->root, &f->err), NPU_IO);
    assert_string_equal(f->err.text, "cannot read /: Is a directory");
}

static void a_file_is_read_with_its_name_in_positions(void **state) {
    fixture *f = *state;
    char path[] = "/tmp/npu_yaml_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "a: 1\n", 5), 5);
    close(fd);
    npu_status status = npu_yaml_load(&f->arena, path, &f->root, &f->err);
    unlink(path);
    assert_int_equal(status, NPU_OK);
    assert_string_equal(f->root->pos.file, path);
    assert_string_equal(npu_yaml_get(f->root, "a")->text, "1");
}

static void a_file_above_64_mib_is_refused(void **state) {
    fixture *f = *state;
    char path[] = "/tmp/npu_yaml_XXXXXX";
    char message[128];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, ((off_t)64 << 20) + 1), 0);
    close(fd);
    npu_status status = npu_yaml_load(&f->arena, path, &f->root, &f->err);
    unlink(path);
    assert_int_equal(status, NPU_BAD_INPUT);
    snprintf(message, sizeof message, "%s: the file is larger than 64 MiB", path);
    assert_string_equal(f->err.text, message);
}

static void an_absent_key_gives_null(void **state) {
    fixture *f = *state;
    assert_parses(f, "a: [1]\n");
    assert_null(npu_yaml_get(f->root, "b"));
    assert_null(npu_yaml_get(npu_yaml_get(f->root, "a"), "b"));
    assert_null(npu_yaml_get(NULL, "a"));
}

static void a_needed_key_is_named_when_missing(void **state) {
    fixture *f = *state;
    const npu_yaml *value = NULL;
    assert_parses(f, "a: 1\nb: x\n");
    assert_int_equal(npu_yaml_need(f->root, "a die", "a", &value, &f->err), NPU_OK);
    assert_string_equal(value->text, "1");
    assert_int_equal(npu_yaml_need(f->root, "a die", "cores", &value, &f->err), NPU_BAD_INPUT);
    assert_string_equal(f->err.text, "t.yaml:1:1: a die needs the key 'cores'");
    assert_null(value);
    npu_error other = {0};
    assert_int_equal(npu_yaml_need(f->root->items[1], "a die", "cores", &value, &other),
                     NPU_BAD_INPUT);
    assert_string_equal(other.text, "t.yaml:2:4: a die must be a map");
}

static void a_wrong_kind_is_named(void **state) {
    fixture *f = *state;
    assert_parses(f, "a: 1\n");
    npu_error map = {0};
    npu_error list = {0};
    npu_error scalar = {0};
    const npu_yaml *a = f->root->items[0];
    assert_int_equal(npu_yaml_want(a, NPU_YAML_SCALAR, "x", NULL), NPU_OK);
    assert_int_equal(npu_yaml_want(a, NPU_YAML_MAP, "a core", &map), NPU_BAD_INPUT);
    assert_string_equal(map.text, "t.yaml:1:4: a core must be a map");
    assert_int_equal(npu_yaml_want(a, NPU_YAML_LIST, "shape", &list), NPU_BAD_INPUT);
    assert_string_equal(list.text, "t.yaml:1:4: shape must be a list");
    assert_int_equal(npu_yaml_want(f->root, NPU_YAML_SCALAR, "name", &scalar), NPU_BAD_INPUT);
    assert_string_equal(scalar.text, "t.yaml:1:1: name must be a single value");
}

static void an_unknown_key_is_an_error_with_the_nearest_word(void **state) {
    static const char *const allowed[] = {"type", "shape", NULL};
    fixture *f = *state;
    assert_parses(f, "shape: 1\ntype: 2\n");
    assert_int_equal(npu_yaml_keys(f->root, "a tensor", allowed, &f->err), NPU_OK);
    assert_parses(f, "type: 1\nshap: 2\n");
    assert_int_equal(npu_yaml_keys(f->root, "a tensor", allowed, &f->err), NPU_BAD_INPUT);
    assert_string_equal(f->err.text,
                        "t.yaml:2:1: unknown key 'shap' in a tensor; did you mean 'shape'?");
    assert_parses(f, "colour: 2\n");
    assert_int_equal(npu_yaml_keys(f->root, "a tensor", allowed, &f->err), NPU_BAD_INPUT);
    assert_string_equal(f->err.text, "t.yaml:1:1: unknown key 'colour' in a tensor");
    assert_parses(f, "[1]\n");
    assert_int_equal(npu_yaml_keys(f->root, "a tensor", allowed, &f->err), NPU_BAD_INPUT);
    assert_string_equal(f->err.text, "t.yaml:1:1: a tensor must be a map");
}

static void only_true_and_false_are_booleans(void **state) {
    fixture *f = *state;
    bool value = false;
    assert_parses(f, "[true, false, yes]\n");
    assert_int_equal(npu_yaml_bool(f->root->items[0], "x", &value, &f->err), NPU_OK);
    assert_true(value);
    assert_int_equal(npu_yaml_bool(f->root->items[1], "x", &value, &f->err), NPU_OK);
    assert_false(value);
    assert_int_equal(npu_yaml_bool(f->root->items[2], "cached", &value, &f->err), NPU_BAD_INPUT);
    assert_string_equal(f->err.text, "t.yaml:1:15: cached must be true or false, not 'yes'");
}

static void a_choice_gives_the_index_or_the_nearest_word(void **state) {
    static const char *const names[] = {"fp16", "bf16", "int8", NULL};
    fixture *f = *state;
    int index = -1;
    assert_parses(f, "[int8, itn8, zebra]\n");
    assert_int_equal(npu_yaml_choice(f->root->items[0], "type", names, &index, &f->err), NPU_OK);
    assert_int_equal(index, 2);
    assert_int_equal(npu_yaml_choice(f->root->items[1], "type", names, &index, &f->err),
                     NPU_BAD_INPUT);
    assert_string_equal(f->err.text, "t.yaml:1:8: unknown type 'itn8'; did you mean 'int8'?");
    npu_error other = {0};
    assert_int_equal(npu_yaml_choice(f->root->items[2], "type", names, &index, &other),
                     NPU_BAD_INPUT);
    assert_string_equal(other.text,
                        "t.yaml:1:14: unknown type 'zebra'; there are fp16, bf16, int8");
}

static void the_nearest_name_is_within_a_third_of_the_word(void **state) {
    static const char *const names[] = {"tm", "tile", "bandwidth"};
    (void)state;
    assert_string_equal(npu_nearest("tn", names, 3), "tm");              // one change, at least 1
    assert_string_equal(npu_nearest("tiel", names, 3), "tile");          // one swap
    assert_null(npu_nearest("teil", names, 3));                          // two edits of 4 letters
    assert_string_equal(npu_nearest("badnwith", names, 3), "bandwidth"); // swap + missing letter
    assert_null(npu_nearest("bandits", names, 3));                       // 4 edits of 7 letters
    assert_string_equal(npu_nearest("TILE", names, 3), "tile");          // only the case differs
    assert_string_equal(npu_nearest("t", names, 3), "tm");               // one letter missing
    assert_null(npu_nearest("x", (const char *[]){"y"}, 1));             // nothing in common
    assert_null(npu_nearest("x", names, 0));
}

static void of_equally_near_names_the_first_is_taken(void **state) {
    static const char *const names[] = {"far", "bat", "cat"};
    static const char *const exact[] = {"bat", "hat"};
    (void)state;
    assert_string_equal(npu_nearest("hat", names, 3), "bat");
    assert_string_equal(npu_nearest("hat", exact, 2), "hat");
}

static void very_long_words_have_no_near_name(void **state) {
    char longer[70];
    char longest[70];
    (void)state;
    memset(longer, 'a', sizeof longer);
    longer[64] = '\0';
    memset(longest, 'a', sizeof longest);
    longest[65] = '\0';
    const char *names[] = {longest, longer};
    assert_null(npu_nearest(longest, names, 2));
    assert_ptr_equal(npu_nearest(longer, names, 2), longer);
}

static void a_hint_is_empty_when_nothing_is_near(void **state) {
    static const char *const names[] = {"shape"};
    char buf[64];
    (void)state;
    assert_string_equal(npu_did_you_mean("shpae", names, 1, buf, 64), "; did you mean 'shape'?");
    assert_string_equal(npu_did_you_mean("core", names, 1, buf, 64), "");
}

static void paths_are_taken_beside_the_file_that_names_them(void **state) {
    fixture *f = *state;
    assert_string_equal(npu_path_beside(&f->arena, "a/b/c.yaml", "d.yaml"), "a/b/d.yaml");
    assert_string_equal(npu_path_beside(&f->arena, "c.yaml", "d/e.yaml"), "d/e.yaml");
    assert_string_equal(npu_path_beside(&f->arena, "a/c.yaml", "/d.yaml"), "/d.yaml");
    assert_string_equal(npu_path_beside(&f->arena, "/c.yaml", "d.yaml"), "/d.yaml");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_tree_keeps_kinds_texts_and_order),
        TEST(empty_collections_have_no_entries),
        TEST(lines_and_columns_count_from_one),
        TEST(a_quoted_text_stands_after_its_quote),
        TEST(a_duplicate_key_is_an_error_with_both_positions),
        TEST(the_first_of_several_duplicates_is_reported),
        TEST(equal_keys_of_different_maps_are_no_duplicates),
        TEST(a_duplicate_is_found_in_a_map_of_many_keys),
        TEST(anchors_and_aliases_are_refused),
        TEST(a_key_must_be_a_single_value),
        TEST(an_empty_file_is_an_error),
        TEST(a_second_document_is_an_error),
        TEST(nesting_ends_at_64),
        TEST(bad_yaml_is_reported_in_one_line_with_its_place),
        TEST(bytes_that_are_not_utf8_are_reported_at_their_place),
        TEST(a_zero_byte_in_a_value_is_an_error),
        TEST(a_missing_file_is_named_once),
        TEST(a_folder_is_no_file),
        TEST(a_file_is_read_with_its_name_in_positions),
        TEST(a_file_above_64_mib_is_refused),
        TEST(an_absent_key_gives_null),
        TEST(a_needed_key_is_named_when_missing),
        TEST(a_wrong_kind_is_named),
        TEST(an_unknown_key_is_an_error_with_the_nearest_word),
        TEST(only_true_and_false_are_booleans),
        TEST(a_choice_gives_the_index_or_the_nearest_word),
        TEST(the_nearest_name_is_within_a_third_of_the_word),
        TEST(of_equally_near_names_the_first_is_taken),
        TEST(very_long_words_have_no_near_name),
        TEST(a_hint_is_empty_when_nothing_is_near),
        TEST(paths_are_taken_beside_the_file_that_names_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
