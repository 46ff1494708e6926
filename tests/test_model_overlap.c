// SPDX-License-Identifier: Apache-2.0
// Whether two windows share an element, against counting the elements.
#include "build.h"
#include "test_model.h"

static npu_arg window(int64_t offset, int rank, const int64_t *shape, const int64_t *stride) {
    npu_arg w = {.rank = rank, .offset = offset};
    for (int i = 0; i < rank; i++) {
        w.shape[i] = shape[i];
        w.stride[i] = stride[i];
    }
    return w;
}

#define WINDOW(offset, rank, ...) window(offset, rank, (const int64_t[]){__VA_ARGS__}, strides)

static void check(npu_arg a, npu_arg b, bool overlaps, bool covers) {
    bool covered = !covers;
    assert_int_equal(npu_overlap(&a, &b, &covered), overlaps);
    assert_int_equal(covered, covers);
}

static void columns_of_a_matrix_are_told_apart(void **state) {
    (void)state;
    static const int64_t strides[] = {64, 1};
    npu_arg left = WINDOW(0, 2, 16, 32);
    npu_arg right = WINDOW(32, 2, 16, 32);
    npu_arg all = WINDOW(0, 2, 16, 64);
    check(left, right, false, false);
    check(left, left, true, true);
    check(all, right, true, true);
    check(right, all, true, false);
    check(WINDOW(16, 2, 16, 32), left, true, false);
}

static void a_row_and_a_column_meet_in_one_element(void **state) {
    (void)state;
    static const int64_t strides[] = {64, 1};
    npu_arg row = WINDOW(3 * 64, 2, 1, 64);
    npu_arg column = WINDOW(5, 2, 16, 1);
    check(row, column, true, false);
    check(WINDOW(3 * 64, 2, 1, 5), column, false, false);
    check(WINDOW(3 * 64, 2, 1, 6), column, true, false);
}

// An index drops its dimension, so that the ranks differ.
static void a_window_of_lower_rank_is_compared_exactly(void **state) {
    (void)state;
    const int64_t line[] = {1};
    const int64_t plane[] = {64, 1};
    npu_arg row = window(3 * 64 + 32, 1, (const int64_t[]){32}, line);
    check(row, window(0, 2, (const int64_t[]){16, 32}, plane), false, false);
    check(row, window(0, 2, (const int64_t[]){16, 33}, plane), true, false);
    check(window(0, 2, (const int64_t[]){4, 64}, plane), row, true, true);
}

static void a_reshaped_whole_covers_its_parts(void **state) {
    (void)state;
    const int64_t line[] = {1};
    const int64_t cube[] = {512, 64, 1};
    npu_arg flat = window(0, 1, (const int64_t[]){4096}, line);
    npu_arg part = window(64, 3, (const int64_t[]){8, 2, 64}, cube);
    check(flat, part, true, true);
    check(part, flat, true, false);
}

static void transposed_windows_are_compared_exactly(void **state) {
    (void)state;
    const int64_t row[] = {64, 1};
    const int64_t col[] = {1, 64};
    npu_arg left = window(0, 2, (const int64_t[]){16, 32}, row);
    npu_arg right = window(32, 2, (const int64_t[]){32, 16}, col);
    check(left, right, false, false);
    check(left, window(0, 2, (const int64_t[]){32, 16}, col), true, true);
}

// Layouts that do not fit each other: only the extents are compared.
static void strange_layouts_overlap_when_their_extents_do(void **state) {
    (void)state;
    const int64_t a[] = {64, 1};
    const int64_t b[] = {48, 1};
    check(window(0, 2, (const int64_t[]){4, 8}, a), window(16, 2, (const int64_t[]){4, 8}, b), true,
          false);
    check(window(0, 2, (const int64_t[]){4, 8}, a), window(200, 2, (const int64_t[]){4, 8}, b),
          false, false);
}

enum { SPACE = 4 * 6 * 8 };

static void mark(const npu_arg *w, bool *marks) {
    int64_t count = 1;
    for (int i = 0; i < w->rank; i++)
        count *= w->shape[i];
    for (int64_t n = 0; n < count; n++) {
        int64_t rest = n;
        int64_t at = w->offset;
        for (int i = w->rank - 1; i >= 0; i--) {
            at += rest % w->shape[i] * w->stride[i];
            rest /= w->shape[i];
        }
        assert_in_range(at, 0, SPACE - 1);
        marks[at] = true;
    }
}

static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

// A box of [4, 6, 8], perhaps with its dimensions in another order or one of them dropped.
static npu_arg random_window(uint32_t *seed) {
    static const int64_t shape[] = {4, 6, 8};
    static const int64_t stride[] = {48, 8, 1};
    npu_arg w = {0};
    int first = (int)(next_random(seed) % 3);
    for (int i = 0; i < 3; i++) {
        int dim = (first + i) % 3;
        int64_t length = 1 + next_random(seed) % shape[dim];
        w.offset += next_random(seed) % (shape[dim] - length + 1) * stride[dim];
        if (length == 1 && next_random(seed) % 2 == 0)
            continue;
        w.shape[w.rank] = length;
        w.stride[w.rank++] = stride[dim];
    }
    return w;
}

static void random_boxes_agree_with_counting(void **state) {
    (void)state;
    uint32_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        npu_arg a = random_window(&seed);
        npu_arg b = random_window(&seed);
        bool in_a[SPACE] = {false};
        bool in_b[SPACE] = {false};
        mark(&a, in_a);
        mark(&b, in_b);
        bool meet = false;
        bool inside = true;
        for (int i = 0; i < SPACE; i++) {
            meet = meet || (in_a[i] && in_b[i]);
            inside = inside && (in_a[i] || !in_b[i]);
        }
        check(a, b, meet, inside);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_of_a_matrix_are_told_apart),
        cmocka_unit_test(a_row_and_a_column_meet_in_one_element),
        cmocka_unit_test(a_window_of_lower_rank_is_compared_exactly),
        cmocka_unit_test(a_reshaped_whole_covers_its_parts),
        cmocka_unit_test(transposed_windows_are_compared_exactly),
        cmocka_unit_test(strange_layouts_overlap_when_their_extents_do),
        cmocka_unit_test(random_boxes_agree_with_counting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
