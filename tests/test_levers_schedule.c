// SPDX-License-Identifier: Apache-2.0
// The levers of the scheduler and of the prefetch of weights.
#include "levers.h"

#define CSA "models/deepseek_v4_flash/csa"
#define SWA "models/deepseek_v4_flash/swa"
#define NOTIFY "levers/notify"
#define WARM "levers/warm"

// Rows that were dispatched before the last of what their task waits for had been seen to end.
static int staged_ahead(const lever *l) {
    int count = 0;
    for (int i = 0; i < l->trace->row_count; i++) {
        const npu_task *task = &l->graph->tasks[l->trace->rows[i].task];
        bool ahead = false;
        for (int e = 0; e < task->edge_count && !ahead; e++) {
            int pred = l->graph->edges[task->first_edge + e].pred;
            for (int k = 0; k < l->trace->row_count && !ahead; k++)
                ahead = l->trace->rows[k].task == pred &&
                        l->trace->rows[k].finish > l->trace->rows[i].dispatch;
        }
        count += ahead;
    }
    return count;
}

// C83: 366.9 to 356.7 us.
static void early_flags_stage_consumers_before_their_producers_end(void **state) {
    (void)state;
    lever *off = lever_run(CSA, "warm=0 early=0"), *on = lever_run(CSA, "warm=0");
    assert_true(staged_ahead(on) > staged_ahead(off));
    assert_true(on->trace->makespan < off->trace->makespan);
    lever_free(off);
    lever_free(on);
}

static double first_dispatch(const lever *l, const char *kernel) {
    double first = -1;
    for (int i = 0; i < l->trace->row_count; i++)
        if (strcmp(l->graph->tasks[l->trace->rows[i].task].kernel, kernel) == 0 &&
            (first < 0 || l->trace->rows[i].dispatch < first))
            first = l->trace->rows[i].dispatch;
    assert_true(first >= 0);
    return first;
}

static void a_dummy_sends_siblings_one_hop_later(void **state) {
    (void)state;
    lever *race = lever_run(CSA, "late=0"), *routed = lever_run(CSA, "");
    const npu_task *dummy = &routed->graph->tasks[lever_task(routed, "late_dep")];
    assert_int_equal(dummy->edge_count, 1);
    assert_int_equal(race->graph->tasks[lever_task(race, "late_dep")].edge_count, 0);
    double later =
        first_dispatch(routed, "kv_proj_matmul") - first_dispatch(routed, "qr_proj_matmul");
    double at_once =
        first_dispatch(race, "kv_proj_matmul") - first_dispatch(race, "qr_proj_matmul");
    assert_true(later > 0);
    assert_true(later > at_once);
    lever_free(race);
    lever_free(routed);
}

// 56 tasks with 7 edges that say nothing new; each waits for the one before it either way.
static void redundant_edges_cost_the_orchestrator_and_order_nothing(void **state) {
    (void)state;
    lever *more = lever_run("levers/edges", "redundant=1"), *less = lever_run("levers/edges", "");
    assert_int_equal(more->graph->edge_count - less->graph->edge_count, 56 * 7);
    assert_int_equal(more->trace->row_count, less->trace->row_count);
    for (int i = 0; i < more->trace->row_count; i++)
        assert_int_equal(more->trace->rows[i].task, less->trace->rows[i].task);
    assert_true(less->trace->makespan < more->trace->makespan);
    lever_free(more);
    lever_free(less);
}

// Nothing else runs on the core of an early wait, from before the push until the other die tells.
static void a_wait_holds_its_core_until_it_is_told(void **state) {
    (void)state;
    lever *l = lever_run(NOTIFY, "blocks=24 wait_blocks=24 early_wait=1");
    lever_sum wait = lever_sum_of(l, "wait"), push = lever_sum_of(l, "push");
    assert_int_equal(wait.rows, 24);
    assert_true(wait.start < push.start && wait.end > push.end);
    assert_true(wait.longest > push.end - push.start);
    lever_free(l);
    l = lever_run(NOTIFY, "blocks=24 wait_blocks=24");
    assert_true(lever_sum_of(l, "wait").start > lever_sum_of(l, "push").end);
    lever_free(l);
}

// 40 waits leave 8 of 48 cores; the other sends are staged behind waits that wait for them.
static void waits_that_start_too_early_starve_the_sends_that_they_wait_for(void **state) {
    (void)state;
    lever *l = lever_try(NOTIFY, "early_wait=1");
    assert_int_not_equal(l->status, NPU_OK);
    assert_non_null(strstr(l->err.text, "can never end"));
    lever_free(l);
}

// Each of 48 blocks tells, and the wait is for 48: one task less, and nothing goes before its rows.
static void a_folded_notify_saves_a_task(void **state) {
    (void)state;
    lever *own = lever_run(NOTIFY, ""), *folded = lever_run(NOTIFY, "fold=1");
    assert_int_equal(lever_tasks(own, NULL) - lever_tasks(folded, NULL), 1);
    assert_int_equal(lever_tasks(folded, "tell"), 0);
    assert_true(lever_sum_of(folded, "wait").end >= lever_sum_of(folded, "push").end);
    assert_true(folded->trace->makespan < own->trace->makespan);
    lever_free(own);
    lever_free(folded);
}

static void pushes_of_many_blocks_share_the_rows(void **state) {
    (void)state;
    lever *one = lever_run(NOTIFY, "push_blocks=1"), *many = lever_run(NOTIFY, "");
    assert_int_equal(lever_sum_of(one, "push").written, lever_sum_of(many, "push").written);
    assert_int_equal(lever_sum_of(one, "push").most_read,
                     48 * lever_sum_of(many, "push").most_read);
    assert_true(many->trace->makespan < one->trace->makespan);
    lever_free(one);
    lever_free(many);
}

// 64 MiB, asked for long before they are read.
static void a_warm_that_lands_in_time_is_hit_in_full(void **state) {
    (void)state;
    const double bytes = 64.0 * 1024 * 1024;
    lever *cold = lever_run(WARM, "warm=0"), *warm = lever_run(WARM, "");
    assert_true(cold->trace->totals.l2_miss_bytes == bytes);
    assert_int_equal(cold->trace->totals.prefetch_bytes, 0);
    assert_true(warm->trace->totals.prefetch_bytes == (int64_t)bytes);
    assert_true(warm->trace->totals.l2_hit_bytes >= bytes);
    assert_true(warm->trace->totals.l2_miss_bytes == 0);
    assert_true(warm->trace->makespan < cold->trace->makespan);
    lever_free(cold);
    lever_free(warm);
}

// C79: one stream runs at 285 GB/s, two share 153 GB/s: 67 MB take 235 or 439 us.
static void two_streams_share_a_lower_rate_and_land_late(void **state) {
    (void)state;
    lever *one = lever_run(WARM, "ops=130000"), *two = lever_run(WARM, "ops=130000 streams=2");
    assert_int_equal(lever_tasks(two, "ask"), 2);
    assert_true(one->trace->totals.l2_miss_bytes == 0);
    assert_true(two->trace->totals.l2_miss_bytes > 0);
    assert_true(two->trace->totals.prefetch_bytes < one->trace->totals.prefetch_bytes);
    lever_free(one);
    lever_free(two);
}

// 256 MiB of weights, 192 MiB of L2.
static void a_warm_larger_than_l2_evicts_itself(void **state) {
    (void)state;
    lever *l = lever_run(WARM, "mb=256 ops=600000");
    assert_true(l->trace->totals.prefetch_bytes == (int64_t)256 * 1024 * 1024);
    assert_true(l->trace->totals.l2_miss_bytes > 64.0 * 1024 * 1024);
    lever_free(l);
}

// wo_a: [8192, 4096] BF16; wo_b: [4096, 8192] int8; wq_a, wkv and wq_b before them.
static void what_is_warmed_and_where_can_be_chosen(void **state) {
    (void)state;
    const int64_t mib = 1024 * 1024, a = 64 * mib, b = 32 * mib, q_kv = (8 + 4 + 32) * mib;
    const struct {
        const char *sets;
        int64_t bytes;
    } cases[] = {{"warm=0", 0},
                 {"warm_q_kv=0", a + b},
                 {"warm_o=0", q_kv},
                 {"warm_q_kv=0 warm_o=2", a},
                 {"warm_q_kv=0 warm_o=3", b}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lever *l = lever_run(SWA, cases[i].sets);
        // What was read before its turn came, or is under way at the end, is left out.
        assert_true(l->trace->totals.prefetch_bytes <= cases[i].bytes);
        assert_int_equal(l->trace->totals.prefetch_bytes > 0, cases[i].bytes > 0);
        lever_free(l);
    }
    lever *l = lever_run(SWA, "warm_q_kv=0 warm_late=1");
    assert_true(first_dispatch(l, "prefetch_attn_w") > first_dispatch(l, "qproj_matmul"));
    lever_free(l);
    l = lever_run(SWA, "warm_q_kv=0");
    assert_true(first_dispatch(l, "prefetch_attn_w") < first_dispatch(l, "qproj_matmul"));
    lever_free(l);
    l = lever_run(SWA, "warm_streams=2");
    assert_int_equal(lever_tasks(l, "prefetch_attn_w_o"), 1);
    lever_free(l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(early_flags_stage_consumers_before_their_producers_end),
        cmocka_unit_test(a_dummy_sends_siblings_one_hop_later),
        cmocka_unit_test(redundant_edges_cost_the_orchestrator_and_order_nothing),
        cmocka_unit_test(a_wait_holds_its_core_until_it_is_told),
        cmocka_unit_test(waits_that_start_too_early_starve_the_sends_that_they_wait_for),
        cmocka_unit_test(a_folded_notify_saves_a_task),
        cmocka_unit_test(pushes_of_many_blocks_share_the_rows),
        cmocka_unit_test(a_warm_that_lands_in_time_is_hit_in_full),
        cmocka_unit_test(two_streams_share_a_lower_rate_and_land_late),
        cmocka_unit_test(a_warm_larger_than_l2_evicts_itself),
        cmocka_unit_test(what_is_warmed_and_where_can_be_chosen),
    };
    return cmocka_run_group_tests_name("levers of the schedule", tests, NULL, NULL);
}
