// SPDX-License-Identifier: Apache-2.0
// configs/models/deepseek_v4_flash/*.yaml: the parts of the decode step have the tasks, blocks,
// bytes and multiply-accumulates of the workload notes, task by task and in sum.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "workload.h"

enum { LAYER = HC_PRE | ATTENTION | HC_POST };

// One part, alone.
static void check_unit(const char *name, const char *const *sets, int units, int complete,
                       const workload_totals *want) {
    workload w;
    const workload_prefix all[] = {{NULL, units}};
    assert_int_equal(workload_load(&w, name, sets), NPU_OK);
    workload_check_tasks(&w, all);
    workload_check_complete(&w, complete);
    workload_sum sum = workload_sum_of(&w);
    workload_check_totals(&sum, want);
    workload_free(&w);
}

static void swa_attention_has_its_totals(void **state) {
    (void)state;
    const workload_totals want = {20,    28,   1,    1,    228,   122,   8,  148.54,
                                  17.82, 1.05, 9.15, 0.39, 1.787, 0.926, 6.8};
    check_unit("deepseek_v4_flash/swa", NULL, LAYER | SWA, LAYER | SWA, &want);
}

static void hca_attention_has_its_totals(void **state) {
    (void)state;
    const workload_totals want = {21,    34,   1,     1,    236,   129,   16, 156.95,
                                  21.08, 1.57, 11.39, 0.79, 1.921, 1.027, 8.5};
    check_unit("deepseek_v4_flash/hca", NULL, LAYER | HCA, LAYER | HCA, &want);
}

static void csa_attention_has_its_totals(void **state) {
    (void)state;
    const workload_totals want = {26,    43,   2,     1,    273,   142,   40,  178.79,
                                  26.67, 7.41, 14.13, 6.16, 2.504, 1.490, 18.8};
    check_unit("deepseek_v4_flash/csa", NULL, LAYER | CSA, LAYER | CSA, &want);
}

// ---- MoE -----------------------------------------------------------------------------------

enum { STAGE = HC_PRE | MOE | HC_POST };

// The rows of experts come once per tile, so that only the tasks are compared with the table.
static void check_moe(const char *const *sets, int ranks, const workload_totals *want) {
    workload w;
    const workload_prefix all[] = {{NULL, STAGE | ranks}};
    assert_int_equal(workload_load(&w, "deepseek_v4_flash/moe", sets), NPU_OK);
    workload_check_tasks(&w, all);
    workload_check_complete(&w, HC_PRE | HC_POST | ranks);
    workload_sum sum = workload_sum_of(&w);
    workload_check_totals(&sum, want);
    workload_free(&w);
}

static void an_expert_tile_has_its_totals(void **state) {
    (void)state;
    const char *const sets[] = {"active=1", NULL};
    const workload_totals want = {3,    3,   0,    0,   12,    6,     0,  25.20,
                                  2.36, 0.0, 0.82, 0.0, 0.403, 0.050, 1.0};
    check_unit("deepseek_v4_flash/experts", sets, MOE, 0, &want);
}

// A stage without its expert tiles.
static void check_moe_base(const char *ranks, const workload_totals *want) {
    workload w;
    const char *const stage[] = {ranks, "active=4", NULL};
    const char *const tiles[] = {"active=4", NULL};
    assert_int_equal(workload_load(&w, "deepseek_v4_flash/moe", stage), NPU_OK);
    workload_sum whole = workload_sum_of(&w);
    workload_free(&w);
    assert_int_equal(workload_load(&w, "deepseek_v4_flash/experts", tiles), NPU_OK);
    workload_sum experts = workload_sum_of(&w);
    workload_free(&w);
    workload_sum base = workload_difference(&whole, &experts);
    workload_check_totals(&base, want);
}

static void moe_base_ep2_has_its_totals(void **state) {
    (void)state;
    const workload_totals want = {4,    19,  1,    1,   36,    139,   4,  27.93,
                                  7.96, 0.0, 2.31, 0.0, 0.415, 0.207, 3.3};
    check_moe_base("EP=2", &want);
}

static void moe_base_ep8_has_its_totals(void **state) {
    (void)state;
    const workload_totals want = {4,     19,  1,    1,    36,    139,   16, 31.08,
                                  11.10, 0.0, 2.33, 0.02, 0.428, 0.213, 3.4};
    check_moe_base("EP=8", &want);
}

static void moe_ep2_with_16_tiles_has_its_totals(void **state) {
    (void)state;
    const char *const sets[] = {"active=16", NULL};
    const workload_totals want = {52,    67,  1,     1,   228,   235,   4,   431.11,
                                  45.71, 0.0, 15.42, 0.0, 6.858, 1.012, 19.6};
    check_moe(sets, MOE_EP2, &want);
}

static void moe_ep2_with_32_tiles_has_its_totals(void **state) {
    (void)state;
    const workload_totals want = {100,   115, 1,     1,   420,    331,   4,   834.29,
                                  83.47, 0.0, 28.53, 0.0, 13.300, 1.817, 35.8};
    check_moe(NULL, MOE_EP2, &want);
}

static void moe_ep8_with_32_tiles_has_its_totals(void **state) {
    (void)state;
    const char *const sets[] = {"EP=8", NULL};
    const workload_totals want = {100,   115, 1,     1,    420,    331,   16,  837.44,
                                  86.61, 0.0, 28.54, 0.02, 13.313, 1.823, 35.9};
    check_moe(sets, MOE_EP8, &want);
}

// Layers 0 to 2: route_hash in place of route_sort; all other rows are the same.
static void hash_routing_has_its_task(void **state) {
    (void)state;
    workload w;
    const workload_prefix all[] = {{NULL, STAGE | MOE_EP2}};
    const char *const sets[] = {"hash=1", NULL};
    char buf[128];
    assert_int_equal(workload_load(&w, "deepseek_v4_flash/moe", sets), NPU_OK);
    workload_check_tasks(&w, all);
    assert_string_equal(workload_preds(&w.graph, "route_hash", buf, sizeof buf),
                        "gate_pre_route gate");
    workload_free(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(swa_attention_has_its_totals),
        cmocka_unit_test(hca_attention_has_its_totals),
        cmocka_unit_test(csa_attention_has_its_totals),
        cmocka_unit_test(an_expert_tile_has_its_totals),
        cmocka_unit_test(moe_base_ep2_has_its_totals),
        cmocka_unit_test(moe_base_ep8_has_its_totals),
        cmocka_unit_test(moe_ep2_with_16_tiles_has_its_totals),
        cmocka_unit_test(moe_ep2_with_32_tiles_has_its_totals),
        cmocka_unit_test(moe_ep8_with_32_tiles_has_its_totals),
        cmocka_unit_test(hash_routing_has_its_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
