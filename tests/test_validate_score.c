// SPDX-License-Identifier: Apache-2.0
// Errors, pairs, choices and coverage worked out by hand.
#include "score.h"
#include "test_validate.h"

static npu_verdicts judge(const npu_cases *cases) {
    npu_verdicts verdicts;
    assert_int_equal(npu_verdicts_make(cases, &verdicts, NULL), NPU_OK);
    return verdicts;
}

static void near(double a, double b) {
    assert_float_equal(a, b, 1e-12);
}

static void percentiles_lie_between(void **state) {
    (void)state;
    const double one[] = {7}, two[] = {1, 2}, ten[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    near(npu_percentile(one, 1, 0.9), 7);
    near(npu_percentile(two, 2, 0.5), 1.5);
    near(npu_percentile(two, 2, 0), 1);
    near(npu_percentile(two, 2, 1), 2);
    near(npu_percentile(ten, 10, 0.5), 4.5);
    near(npu_percentile(ten, 10, 0.9), 8.1);
}

static void errors_of_groups_and_of_all(void **state) {
    (void)state;
    npu_cases cases = {0};
    add_group(&cases, "g");
    add_case(&cases, "a");
    add_variant(&cases, NULL);
    add_figure(&cases, "r1", 100, 110); // +10 %
    add_figure(&cases, "r2", 100, 70);  // -30 %
    add_figure(&cases, "r3", 100, -1);  // failed
    add_group(&cases, "h");
    add_case(&cases, "b");
    add_variant(&cases, NULL);
    add_figure(&cases, "r4", 100, 104)->hidden = true;
    add_figure(&cases, "r5", 100, 150); // +50 %
    npu_verdicts v = judge(&cases);
    assert_int_equal(v.scores[0].figures, 2);
    near(v.scores[0].median, 0.2);
    near(v.scores[0].worst, 0.3);
    assert_int_equal(v.scores[0].worst_figure, 1);
    assert_int_equal(v.scores[0].missing, 1);
    assert_int_equal(v.scores[1].figures, 1);
    near(v.scores[1].median, 0.5);
    assert_int_equal(v.scores[2].figures, 3);
    near(v.scores[2].median, 0.3);
    near(v.scores[2].p90, 0.3 + 0.8 * 0.2);
    near(v.scores[2].worst, 0.5);
    assert_int_equal(v.scores[2].worst_figure, 4);
    assert_int_equal(v.pair_count, 0);
    assert_int_equal(v.choice_count, 0);
    npu_verdicts_free(&v);
    npu_cases_free(&cases);
}

static void nothing_has_no_errors(void **state) {
    (void)state;
    npu_cases cases = {0};
    npu_verdicts v = judge(&cases);
    assert_int_equal(v.scores[0].figures, 0);
    assert_int_equal(v.scores[0].worst_figure, -1);
    npu_verdicts_free(&v);
    npu_cases_free(&cases);
}

static void bands_and_spreads(void **state) {
    (void)state;
    npu_cases cases = {0};
    add_group(&cases, "g");
    add_case(&cases, "a");
    add_variant(&cases, NULL);
    add_figure(&cases, "r1", 100, 114.9)->band = 0.15;
    add_figure(&cases, "r2", 100, 115.1)->band = 0.15;
    add_figure(&cases, "r3", 100, 84.9)->band = 0.15;
    npu_figure *f = add_figure(&cases, "r4", 100, 119);
    f->band = 0.15;
    f->spread = 0.2;
    add_figure(&cases, "r5", 100, 900);            // nobody says how far
    add_figure(&cases, "r6", 100, -1)->band = 0.1; // failed
    npu_verdicts v = judge(&cases);
    assert_false(npu_figure_outside(&cases.figures[0]));
    assert_true(npu_figure_outside(&cases.figures[1]));
    assert_true(npu_figure_outside(&cases.figures[2]));
    assert_false(npu_figure_outside(&cases.figures[3]));
    assert_false(npu_figure_outside(&cases.figures[4]));
    assert_false(npu_figure_outside(&cases.figures[5]));
    assert_int_equal(v.scores[0].banded, 4);
    assert_int_equal(v.scores[0].outside, 2);
    npu_verdicts_free(&v);
    npu_cases_free(&cases);
}

static void pairs_are_neighbours(void **state) {
    (void)state;
    npu_cases cases = {0};
    add_group(&cases, "g");
    // 100 -> 50 -> 50.4 -> 60, predicted 80 -> 60 -> 60 -> 54
    add_variants(&cases, "a", 4, (const double[]){100, 50, 50.4, 60},
                 (const double[]){80, 60, 60, 54});
    npu_verdicts v = judge(&cases);
    assert_int_equal(v.pair_count, 3);
    near(v.pairs[0].measured, 0.5);
    near(v.pairs[0].predicted, 0.75);
    near(npu_pair_error(&v.pairs[0]), 0.5);
    assert_true(v.pairs[0].right);
    assert_true(v.pairs[1].right); // both equal within 1 %
    near(npu_pair_error(&v.pairs[1]), 50 / 50.4 - 1);
    assert_false(v.pairs[2].right); // grows, predicted to fall
    near(npu_pair_error(&v.pairs[2]), 0.9 / (60 / 50.4) - 1);
    assert_int_equal(v.scores[0].pairs, 3);
    assert_int_equal(v.scores[0].right, 2);
    near(v.scores[0].ratio_median, 1 - 0.9 / (60 / 50.4)); // of 0.5, 0.008, 0.244
    npu_verdicts_free(&v);
    npu_cases_free(&cases);
}

static void equal_and_not_equal_is_wrong(void **state) {
    (void)state;
    static const struct {
        double measured, predicted; // after a before of 100
        bool right;
    } changes[] = {{100.9, 99.2, true}, {101.1, 100.9, false}, {101.1, 101.2, true},
                   {98.9, 99.1, false}, {99.1, 100.9, true},   {98.9, 98.9, true},
                   {98.9, 101.1, false}};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        npu_cases cases = {0};
        add_group(&cases, "g");
        add_variants(&cases, "a", 2, (const double[]){100, changes[i].measured},
                     (const double[]){100, changes[i].predicted});
        npu_verdicts v = judge(&cases);
        assert_int_equal(v.pairs[0].right, changes[i].right);
        npu_verdicts_free(&v);
        npu_cases_free(&cases);
    }
}

static void only_the_first_figures_pair(void **state) {
    (void)state;
    npu_cases cases = {0};
    add_group(&cases, "g");
    add_case(&cases, "a");
    add_variant(&cases, "before");
    add_figure(&cases, "time of k", 100, 100);
    add_figure(&cases, "busy mte2 of k", 10, 90);
    add_variant(&cases, "between"); // without a figure of its own
    npu_figure *ms = (add_variant(&cases, "after"), add_figure(&cases, "time of k", 0.05, 0.04));
    ms->scale = 1e6;
    npu_verdicts v = judge(&cases);
    assert_int_equal(v.pair_count, 1);
    near(v.pairs[0].measured, 0.5);
    near(v.pairs[0].predicted, 0.4);
    assert_int_equal(v.choice_count, 1);
    assert_int_equal(v.choices[0].measured, 2);
    assert_true(v.choices[0].right);
    npu_verdicts_free(&v);
    npu_cases_free(&cases);
}

static void what_failed_makes_no_pair_and_no_choice(void **state) {
    (void)state;
    npu_cases cases = {0};
    add_group(&cases, "g");
    add_variants(&cases, "a", 3, (const double[]){3, 2, 1}, (const double[]){3, -1, 1});
    add_variants(&cases, "b", 2, (const double[]){3, 2}, (const double[]){0, 1}); // no ratio
    npu_verdicts v = judge(&cases);
    assert_int_equal(v.pair_count, 0);
    assert_int_equal(v.choice_count, 1);
    assert_int_equal(v.choices[0].case_, 1);
    npu_verdicts_free(&v);
    npu_cases_free(&cases);
}

static void pairing_can_be_switched_off(void **state) {
    (void)state;
    npu_cases cases = {0};
    add_group(&cases, "g");
    add_variants(&cases, "a", 2, (const double[]){3, 2}, (const double[]){3, 1})->pair = false;
    npu_verdicts v = judge(&cases);
    assert_int_equal(v.pair_count, 0);
    assert_int_equal(v.choice_count, 0);
    assert_int_equal(v.scores[0].figures, 2);
    npu_verdicts_free(&v);
    npu_cases_free(&cases);
}

static void the_choice_is_the_models(void **state) {
    (void)state;
    static const struct {
        double measured[3], predicted[3];
        int best, chosen;
        bool right, rate;
    } known[] = {
        {{30, 20, 10}, {9, 8, 7}, 2, 2, true, false},
        {{30, 20, 10}, {9, 7, 8}, 2, 1, false, false},
        {{30, 10.05, 10}, {9, 7, 8}, 2, 1, true, false}, // as good as the best
        {{30, 10.2, 10}, {9, 7, 8}, 2, 1, false, false},
        {{30, 20, 10}, {8, 8, 8}, 2, 0, false, false}, // no opinion changes nothing
        {{10, 20, 30}, {8, 8, 8}, 0, 0, true, false},
        {{10, 20, 30}, {1, 2, 3}, 2, 2, true, true}, // the highest rate
        {{10, 20, 30}, {3, 2, 1}, 2, 0, false, true},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        npu_cases cases = {0};
        add_group(&cases, "g");
        add_variants(&cases, "a", 3, known[i].measured, known[i].predicted);
        for (int f = 0; f < 3 && known[i].rate; f++)
            cases.figures[f].dimension = NPU_DIM_RATE;
        npu_verdicts v = judge(&cases);
        assert_int_equal(v.choice_count, 1);
        assert_int_equal(v.choices[0].measured, known[i].best);
        assert_int_equal(v.choices[0].predicted, known[i].chosen);
        assert_int_equal(v.choices[0].right, known[i].right);
        assert_int_equal(v.scores[0].choices_right, known[i].right);
        npu_verdicts_free(&v);
        npu_cases_free(&cases);
    }
}

static void nobody_wants_the_least_of_a_count(void **state) {
    (void)state;
    npu_cases cases = {0};
    add_group(&cases, "g");
    add_variants(&cases, "a", 2, (const double[]){3, 2}, (const double[]){3, 1});
    cases.figures[0].dimension = cases.figures[1].dimension = NPU_DIM_COUNT;
    npu_verdicts v = judge(&cases);
    assert_int_equal(v.pair_count, 1);
    assert_int_equal(v.choice_count, 0);
    npu_verdicts_free(&v);
    npu_cases_free(&cases);
}

static void a_measured_ratio_is_a_pair(void **state) {
    (void)state;
    npu_cases cases = {0};
    add_group(&cases, "g");
    add_case(&cases, "a");
    add_variant(&cases, "nd");
    add_variant(&cases, "nz");
    npu_figure *f = add_figure(&cases, "time of k relative to nd", 0.8, 0.9);
    f->dimension = NPU_DIM_RATIO;
    f->base = 1;
    f->scale = 1;
    add_figure(&cases, "time of k", 1, 5)->hidden = true;
    npu_verdicts v = judge(&cases);
    assert_int_equal(v.scores[0].figures, 0);
    assert_int_equal(v.pair_count, 1);
    assert_int_equal(v.pairs[0].from, -1);
    near(npu_pair_error(&v.pairs[0]), 0.125);
    assert_true(v.pairs[0].right);
    assert_int_equal(v.choice_count, 0);
    npu_verdicts_free(&v);
    npu_cases_free(&cases);
}

static void coverage_counts_rows(void **state) {
    (void)state;
    npu_cases cases = {0};
    add_group(&cases, "g");
    add_case(&cases, "a");
    add_variant(&cases, NULL);
    add_figure(&cases, "r1", 1, 1)->row = "R1";
    add_figure(&cases, "r2", 1, -1)->row = "R2"; // failed
    add_figure(&cases, "r3", 1, 1);              // in no table
    add_skipped(&cases, "R3", "why");
    add_group(&cases, "h");
    add_skipped(&cases, "R4", "why");
    npu_verdicts v = judge(&cases);
    assert_int_equal(v.scores[0].rows, 1);
    assert_int_equal(v.scores[0].rows_known, 3);
    assert_int_equal(v.scores[1].rows, 0);
    assert_int_equal(v.scores[1].rows_known, 1);
    assert_int_equal(v.scores[2].rows, 1);
    assert_int_equal(v.scores[2].rows_known, 4);
    npu_verdicts_free(&v);
    npu_cases_free(&cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_lie_between),
        cmocka_unit_test(errors_of_groups_and_of_all),
        cmocka_unit_test(nothing_has_no_errors),
        cmocka_unit_test(bands_and_spreads),
        cmocka_unit_test(pairs_are_neighbours),
        cmocka_unit_test(equal_and_not_equal_is_wrong),
        cmocka_unit_test(only_the_first_figures_pair),
        cmocka_unit_test(what_failed_makes_no_pair_and_no_choice),
        cmocka_unit_test(pairing_can_be_switched_off),
        cmocka_unit_test(the_choice_is_the_models),
        cmocka_unit_test(nobody_wants_the_least_of_a_count),
        cmocka_unit_test(a_measured_ratio_is_a_pair),
        cmocka_unit_test(coverage_counts_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
