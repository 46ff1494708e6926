// SPDX-License-Identifier: Apache-2.0
// The levers inside tasks and between them: what each moves besides a number. Those of the
// scheduler and of the prefetch are in test_levers_schedule.c.
#include "levers.h"

#define CSA "models/deepseek_v4_flash/csa"
#define HC_PRE "models/deepseek_v4_flash/hc_pre"
#define EXPERTS "models/deepseek_v4_flash/experts"
#define ATTENTION "validation/graphs/decode_sparse_attn"

// int8 weights [1024, 32768]: a row of a tile is tn bytes, a line 512. All lines are fetched once,
// whole, by the first row in them; the other rows of a line, and A again for each N tile, are loads
// that cross from L2. A is 16 rows of 1024 B, in 128 B pieces, of which the first misses.
static void a_row_below_a_line_comes_again_for_the_rest_of_it(void **state) {
    (void)state;
    const double weights = 1024.0 * 32768, a = 16.0 * 1024;
    for (int tn = 128; tn <= 1024; tn *= 2) {
        char sets[64];
        snprintf(sets, sizeof sets, "tk=128 tn=%d", tn);
        lever *l = lever_run("validation/graphs/decode_qproj", sets);
        double again = tn < 512 ? weights * (512 - tn) / 512 : 0;
        assert_true(l->trace->totals.l2_miss_bytes == weights + a);
        assert_true(l->trace->totals.l2_hit_bytes == again + a * 32768 / tn - a / 4);
        lever_free(l);
    }
}

// C01: 56.3 to 36.0 us; C02: 74 to 56 us.
static void wide_n_and_long_k_are_faster_as_measured(void **state) {
    (void)state;
    const char *const q = "validation/graphs/decode_qproj";
    assert_true(lever_time(q, "tn=1024 tk=128") < 0.8 * lever_time(q, "tn=256 tk=512 stages=1"));
    lever *half = lever_run(q, "tn=512 tk=64"), *whole = lever_run(q, "tn=512 tk=128");
    lever_sum a = lever_sum_of(half, NULL), b = lever_sum_of(whole, NULL);
    assert_true(a.ops > b.ops);
    assert_int_equal(a.read, b.read);
    assert_int_equal(half->trace->totals.mac_padded, whole->trace->totals.mac_padded);
    lever_free(half);
    lever_free(whole);
}

// A K tile below a line, where the weights are [N, K]: a line of int8 comes twice.
static void a_short_k_tile_of_transposed_weights_reads_lines_twice(void **state) {
    (void)state;
    lever *half = lever_run(EXPERTS, "active=1 ex_tk=256 ex_w2_tk=256");
    lever *whole = lever_run(EXPERTS, "active=1");
    double weights = 3.0 * 2048 * 4096; // w1, w3, w2
    assert_true(half->trace->totals.l2_hit_bytes - whole->trace->totals.l2_hit_bytes >=
                weights / 2);
    assert_true(half->trace->totals.l2_miss_bytes == whole->trace->totals.l2_miss_bytes);
    assert_true(half->trace->makespan > whole->trace->makespan);
    lever_free(half);
    lever_free(whole);
}

// Each of the blocks that share a sum adds all of it: 16 x 1024 FP32.
static void split_k_has_more_blocks_of_the_same_work_and_stores_each_sum_again(void **state) {
    (void)state;
    for (int split = 1; split <= 4; split *= 2) {
        char sets[32];
        snprintf(sets, sizeof sets, "qr_split=%d", split);
        lever *l = lever_run(CSA, sets);
        lever_sum sum = lever_sum_of(l, "qr_proj_matmul");
        assert_int_equal(sum.rows, 8 * split);
        assert_int_equal(sum.written, split * 16 * 1024 * 4);
        lever_free(l);
    }
}

// 8 rows of 16384 FP32 values, read by one core or by 16. C08: 58.8 to 42.6 us.
static void partial_sums_share_the_walk(void **state) {
    (void)state;
    lever *serial = lever_run("validation/graphs/decode_hc_head", "fanned=0");
    lever *parts = lever_run("validation/graphs/decode_hc_head", "fanned=1");
    assert_int_equal(lever_sum_of(serial, "hc_head_rms").rows, 1);
    assert_int_equal(lever_sum_of(parts, "hc_head_rms").rows, 16);
    assert_int_equal(lever_sum_of(serial, "hc_head_rms").most_read,
                     16 * lever_sum_of(parts, "hc_head_rms").most_read);
    assert_true(parts->trace->makespan < serial->trace->makespan);
    lever_free(serial);
    lever_free(parts);
}

// 8 groups of 8 or 16 blocks, each with its own columns of weights.
static void over_tiling_dispatches_more_for_the_same_weights(void **state) {
    (void)state;
    lever *fit = lever_run(CSA, ""), *over = lever_run(CSA, "ob_blocks=16");
    lever_sum a = lever_sum_of(fit, "proj_b_mm"), b = lever_sum_of(over, "proj_b_mm");
    assert_int_equal(a.rows, 64);
    assert_int_equal(b.rows, 128);
    assert_int_equal(fit->trace->totals.load_bytes[NPU_WEIGHT],
                     over->trace->totals.load_bytes[NPU_WEIGHT]);
    assert_true(b.longest < a.longest);
    assert_true(over->trace->makespan > fit->trace->makespan);
    lever_free(fit);
    lever_free(over);
}

// A MIX block has three rows: 24 clusters. C51: 72.4 to 38.4 us.
static void a_fused_scope_is_one_task(void **state) {
    (void)state;
    lever *six = lever_run(HC_PRE, ""), *one = lever_run(HC_PRE, "fused=1");
    assert_int_equal(lever_tasks(six, NULL), 6);
    assert_int_equal(lever_tasks(one, NULL), 1);
    assert_true(one->graph->tasks[0].sync_start);
    assert_int_equal(one->trace->row_count, 72);
    assert_true(one->trace->makespan < six->trace->makespan);
    lever_free(six);
    lever_free(one);
}

// C62: 973.6 to 730.5 us.
static void cube_and_vector_in_two_tasks_do_not_hold_each_other(void **state) {
    (void)state;
    lever *mix = lever_run("validation/graphs/decode_experts", "fused=1");
    lever *two = lever_run("validation/graphs/decode_experts", "fused=0");
    int mixes = 0;
    for (int i = 0; i < mix->graph->task_count; i++)
        mixes += mix->graph->tasks[i].engine == NPU_MIX;
    assert_true(mixes > 0);
    for (int i = 0; i < two->graph->task_count; i++)
        assert_int_not_equal(two->graph->tasks[i].engine, NPU_MIX);
    assert_true(two->trace->makespan < mix->trace->makespan);
    lever_free(mix);
    lever_free(two);
}

// Two stages need iterations: eight K slices gain more than one does.
static void a_pipeline_needs_iterations_to_fill(void **state) {
    (void)state;
    const char *const q = "validation/graphs/decode_qproj";
    double eight = lever_time(q, "tn=256 tk=128 stages=2 blocks=128") /
                   lever_time(q, "tn=256 tk=128 stages=1 blocks=128");
    double one = lever_time(q, "tn=256 tk=1024 stages=2 blocks=128 q_lora=1024 tm=16") /
                 lever_time(q, "tn=256 tk=1024 stages=1 blocks=128 q_lora=1024 tm=16");
    assert_true(eight < 1);
    assert_true(eight < one);
}

// C46: 238 to 200 us. LEFT_RIGHT, 309 us, is hardly slower in the model: nothing is said.
static void up_down_gives_each_vector_lane_half_of_the_rows(void **state) {
    (void)state;
    double span[2];
    for (int split = 0; split <= 1; split++) {
        lever *l = lever_run("validation/graphs/decode_proj_b", split ? "split=1" : "split=0");
        double lane[2] = {0, 0};
        for (int i = 0; i < l->trace->row_count; i++)
            if (l->trace->rows[i].core >= 24)
                lane[(l->trace->rows[i].core - 24) % 2] += l->trace->rows[i].busy[NPU_PIPE_V];
        assert_true(lane[0] > 0);
        if (split)
            assert_true(lane[1] > 0.9 * lane[0] && lane[1] < 1.1 * lane[0]);
        else
            assert_true(lane[1] < 0.1 * lane[0]);
        span[split] = lever_sum_of(l, "proj_b").end - lever_sum_of(l, "proj_b").start;
        lever_free(l);
    }
    assert_true(span[1] < span[0]);
}

// C41: 854.8 to 733.4 us. In a consumer (C39) the model has the direction wrong: nothing is said.
static void a_gather_has_tasks_and_bytes_of_its_own_or_none(void **state) {
    (void)state;
    lever *own = lever_run(ATTENTION, "blocks=5 cmp=512 heads=32 skew=1 b_split=1 gather=3");
    lever *inside = lever_run(ATTENTION, "blocks=5 cmp=512 heads=32 skew=1 b_split=1 gather=4");
    assert_int_equal(lever_tasks(own, "gather_kv_cmp"), 1);
    assert_int_equal(lever_tasks(inside, "gather_kv_cmp"), 0);
    assert_true(lever_sum_of(own, NULL).written > lever_sum_of(inside, NULL).written);
    lever_free(own);
    lever_free(inside);
    own = lever_run(ATTENTION, "blocks=2 cmp=0 heads=32 skew=1 by_group=1 gather=3");
    lever *none = lever_run(ATTENTION, "blocks=2 cmp=0 heads=32 skew=1 by_group=1 gather=0");
    assert_int_equal(lever_tasks(own, "gather_kv"), 1);
    assert_int_equal(lever_tasks(none, "gather_kv"), 0);
    assert_true(none->trace->makespan < own->trace->makespan);
    lever_free(own);
    lever_free(none);
}

// Four stages of 131072 values: 2 + 4, 4 + 4 and 4 + 2 bytes of each in 3 tasks, or 4 + 4 in one.
static void an_fp32_stream_needs_no_casts(void **state) {
    (void)state;
    lever *bf16 = lever_run("levers/stream_dtype", "bf16=1");
    lever *fp32 = lever_run("levers/stream_dtype", "bf16=0");
    assert_int_equal(lever_tasks(bf16, NULL), 12);
    assert_int_equal(lever_tasks(fp32, NULL), 4);
    assert_int_equal(lever_sum_of(bf16, NULL).read, 4 * 131072 * (2 + 4 + 4));
    assert_int_equal(lever_sum_of(fp32, NULL).read, 4 * 131072 * 4);
    assert_true(fp32->trace->makespan < bf16->trace->makespan);
    lever_free(bf16);
    lever_free(fp32);
}

// C40: 877.6 to 701.6 us.
static void narrow_groups_remove_the_barrier_before_the_second_matmul(void **state) {
    (void)state;
    const char *const rows = "blocks=2 cmp=0 heads=32 skew=1 b_split=1 gather=3 by_group=0";
    const char *const groups = "blocks=2 cmp=0 heads=32 skew=1 b_split=1 gather=3 by_group=1";
    lever *barrier = lever_run(ATTENTION, rows), *free_ = lever_run(ATTENTION, groups);
    assert_true(lever_sum_of(barrier, "proj_b").start > lever_sum_of(barrier, "proj_a").end);
    assert_true(lever_sum_of(free_, "proj_b_mm").start < lever_sum_of(free_, "proj_a_mm").end);
    assert_true(free_->trace->makespan < barrier->trace->makespan);
    lever_free(barrier);
    lever_free(free_);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_below_a_line_comes_again_for_the_rest_of_it),
        cmocka_unit_test(wide_n_and_long_k_are_faster_as_measured),
        cmocka_unit_test(a_short_k_tile_of_transposed_weights_reads_lines_twice),
        cmocka_unit_test(split_k_has_more_blocks_of_the_same_work_and_stores_each_sum_again),
        cmocka_unit_test(partial_sums_share_the_walk),
        cmocka_unit_test(over_tiling_dispatches_more_for_the_same_weights),
        cmocka_unit_test(a_fused_scope_is_one_task),
        cmocka_unit_test(cube_and_vector_in_two_tasks_do_not_hold_each_other),
        cmocka_unit_test(a_pipeline_needs_iterations_to_fill),
        cmocka_unit_test(up_down_gives_each_vector_lane_half_of_the_rows),
        cmocka_unit_test(a_gather_has_tasks_and_bytes_of_its_own_or_none),
        cmocka_unit_test(an_fp32_stream_needs_no_casts),
        cmocka_unit_test(narrow_groups_remove_the_barrier_before_the_second_matmul),
    };
    return cmocka_run_group_tests_name("levers", tests, NULL, NULL);
}
