// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "name.h"

static void a_name_is_letters_digits_and_underscores(void **state) {
    (void)state;
    assert_int_equal(npu_name_length("x"), 1);
    assert_int_equal(npu_name_length("_a1[2]"), 3);
    assert_int_equal(npu_name_length("tile.n"), 4);
    assert_int_equal(npu_name_length("1x"), 0);
    assert_int_equal(npu_name_length(""), 0);
    assert_int_equal(npu_name_length("\xc3\xa9"), 0);
    assert_true(npu_is_name("Q_proj0"));
    assert_false(npu_is_name("q-proj"));
    assert_false(npu_is_name(""));
}

static void is_loop(const char *text, int name_length, int first, int first_length, int end) {
    npu_loop_text loop;
    assert_true(npu_loop_split(text, &loop));
    assert_int_equal(loop.name_length, name_length);
    assert_int_equal(loop.first - text, first);
    assert_int_equal(loop.first_length, first_length);
    assert_int_equal(loop.end - text, end);
}

static void the_head_of_a_loop_has_three_parts(void **state) {
    (void)state;
    is_loop("g in 0..8", 1, 5, 1, 8);
    is_loop("row  in  a + 1 .. n / 2", 3, 9, 5, 18);
    is_loop("i in ..8", 1, 5, 0, 7); // the expression in front of the dots is missing
    is_loop("i in 0..", 1, 5, 1, 8);
}

static void other_texts_are_no_loop(void **state) {
    static const char *const texts[] = {"",      "g",       "g in 8",      "g to 0..8",
                                        "0..8",  "in 0..8", "1g in 0..8",  "g in0..8",
                                        "gin 0", "a..b in", "g = 0..8 in "};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        npu_loop_text loop;
        assert_false(npu_loop_split(texts[i], &loop));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_letters_digits_and_underscores),
        cmocka_unit_test(the_head_of_a_loop_has_three_parts),
        cmocka_unit_test(other_texts_are_no_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
