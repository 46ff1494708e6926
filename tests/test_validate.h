// SPDX-License-Identifier: Apache-2.0
// Cases made by hand, already simulated.
#ifndef TEST_VALIDATE_H
#define TEST_VALIDATE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cases.h"

// Names live longer than the cases. A group, a case, its variants and their figures are added in
// this order.
static inline void add_group(npu_cases *cases, const char *name) {
    assert_int_equal(NPU_GROW(cases, groups, group_count, group_capacity, NULL), NPU_OK);
    cases->groups[cases->group_count++] = name;
}

static inline npu_case *add_case(npu_cases *cases, const char *name) {
    assert_int_equal(NPU_GROW(cases, cases, case_count, case_capacity, NULL), NPU_OK);
    npu_case *c = &cases->cases[cases->case_count++];
    *c = (npu_case){.name = name,
                    .pos = {"c.yaml", 10 * cases->case_count, 3},
                    .group = cases->group_count - 1,
                    .pair = true,
                    .first_variant = cases->variant_count,
                    .first_figure = cases->figure_count};
    return c;
}

static inline void add_variant(npu_cases *cases, const char *name) {
    assert_int_equal(NPU_GROW(cases, variants, variant_count, variant_capacity, NULL), NPU_OK);
    npu_variant *v = &cases->variants[cases->variant_count++];
    *v = (npu_variant){.name = name, .die = "A3", .graph = "x.yaml"};
    cases->cases[cases->case_count - 1].variant_count++;
}

// predicted < 0: there is none.
static inline npu_figure *add_figure(npu_cases *cases, const char *read, double measured,
                                     double predicted) {
    assert_int_equal(NPU_GROW(cases, figures, figure_count, figure_capacity, NULL), NPU_OK);
    npu_figure *f = &cases->figures[cases->figure_count++];
    npu_case *c = &cases->cases[cases->case_count - 1];
    *f = (npu_figure){.read = {.text = read},
                      .pos = {"c.yaml", c->pos.line + ++c->figure_count, 5},
                      .case_ = cases->case_count - 1,
                      .variant = cases->variant_count - 1,
                      .unit = "us",
                      .scale = 1000,
                      .measured = measured,
                      .band = -1,
                      .per = 1,
                      .base = -1,
                      .known = predicted >= 0,
                      .predicted = predicted};
    return f;
}

// A case of variants "v1", "v2", .. with one figure each.
static inline npu_case *add_variants(npu_cases *cases, const char *name, int count,
                                     const double *measured, const double *predicted) {
    static const char *const names[] = {"v1", "v2", "v3", "v4", "v5", "v6"};
    npu_case *c = add_case(cases, name);
    for (int i = 0; i < count; i++) {
        add_variant(cases, names[i]);
        add_figure(cases, "time of k", measured[i], predicted[i]);
    }
    return c;
}

static inline void add_skipped(npu_cases *cases, const char *row, const char *reason) {
    assert_int_equal(NPU_GROW(cases, skipped, skipped_count, skipped_capacity, NULL), NPU_OK);
    cases->skipped[cases->skipped_count++] =
        (npu_skipped){.group = cases->group_count - 1, .row = row, .reason = reason};
}

#endif
