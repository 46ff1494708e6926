// SPDX-License-Identifier: Apache-2.0
// configs/models/deepseek_v4_flash/swa.yaml: every block of every task is streamed and counted, and
// compared with the figures of the decode workload, task by task and in sum.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "workload.h"

enum { LAYER = HC_PRE | ATTENTION | SWA | HC_POST };
static const workload_prefix layer[] = {{NULL, LAYER}};

static int load_layer(void **state) {
    workload *w = calloc(1, sizeof *w);
    *state = w;
    return w != NULL ? (int)workload_load(w, "deepseek_v4_flash/swa", NULL) : 1;
}

static int unload(void **state) {
    workload_free(*state);
    free(*state);
    return 0;
}

static void each_block_moves_and_computes_what_the_workload_says(void **state) {
    workload_check_tasks(*state, layer);
    workload_check_complete(*state, LAYER);
}

// Only the o-projection goes back, once per group; hc_pre stands before the rest in the table too.
static void tasks_come_in_the_order_of_submission(void **state) {
    static const char *const order[] = {"hc_pre_rms",
                                        "hc_pre_linear",
                                        "hc_pre_linear_reduce",
                                        "split_pre_post",
                                        "comb_sinkhorn",
                                        "mix_x",
                                        "swa_rope_step",
                                        "rms_norm",
                                        "prefetch_attn_w",
                                        "late_dep",
                                        "q_rope_prepare",
                                        "qr_proj_seed",
                                        "qr_proj_matmul",
                                        "qr_rms_norm_quant",
                                        "qproj_matmul",
                                        "qproj_dequant_rms_nope_rope",
                                        "kv_proj_seed",
                                        "kv_proj_matmul",
                                        "kv_rms_norm_rope",
                                        "swa_cache_insert_valid_bias",
                                        "swa_gather_kv",
                                        "qk_pv",
                                        "rope_cs",
                                        "merge_norm"};
    static const char *const group[] = {"proj_a_mm", "quant", "proj_b_mm"};
    const npu_graph *graph = &((workload *)*state)->graph;
    int at = 0;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        assert_string_equal(graph->tasks[at++].kernel, order[i]);
    for (int i = 0; i < 24; i++)
        assert_string_equal(graph->tasks[at++].kernel, group[i % 3]);
    assert_string_equal(graph->tasks[at++].kernel, "proj_b_act");
    assert_string_equal(graph->tasks[at++].kernel, "hc_post");
    assert_int_equal(at, graph->task_count);
}

static int64_t count_scalar(workload *w, const char *name) {
    for (int i = 0; i < w->graph.task_count; i++) {
        npu_stream stream;
        npu_op op;
        bool more = true;
        int64_t sum = 0;
        if (strcmp(w->graph.tasks[i].name, name) != 0)
            continue;
        npu_stream_open(&stream, w->graph.tasks[i].program, NPU_AIV, 0, 0);
        while (npu_stream_next(&stream, &op, &more, &w->err) == NPU_OK && more)
            sum += op.kind == NPU_OP_SCALAR ? op.scalar_gm : 0;
        return sum;
    }
    return -1;
}

static void scalars_are_read_one_by_one(void **state) {
    assert_int_equal(count_scalar(*state, "swa_rope_step"), 8);
    assert_int_equal(count_scalar(*state, "swa_cache_insert_valid_bias"), 8);
    assert_int_equal(count_scalar(*state, "swa_gather_kv"), 4);
    assert_int_equal(count_scalar(*state, "hc_post"), 20);
}

// ---- in sum --------------------------------------------------------------------------------

static void the_layer_has_its_totals(void **state) {
    workload_counts sum = workload_count(*state);
    assert_int_equal(sum.weight, 148538496);    // 148.54 MB
    assert_int_equal(sum.activation, 17815648); // 17.82 MB
    assert_int_equal(sum.cache, 1048576);       // 1.05 MB
    assert_int_equal(sum.store, 9145536);       // 9.15 MB
    assert_int_equal(sum.handoff, 393216);      // 0.39 MB
    assert_int_equal(sum.macs, 1786773504);     // 1.787 G
    assert_int_equal(sum.valid, 925892608);     // 0.926 G
    assert_int_equal(sum.elements, 6801464);    // 6.8 M
    assert_int_equal(sum.prefetch, 146800640);
}

// ---- edges ---------------------------------------------------------------------------------

static void tasks_wait_for_what_the_workload_says(void **state) {
    static const char *const table[][2] = {
        {"hc_pre_rms", ""},
        {"hc_pre_linear", ""},
        {"hc_pre_linear_reduce", "hc_pre_linear"},
        {"split_pre_post", "hc_pre_rms hc_pre_linear_reduce"},
        {"comb_sinkhorn", "hc_pre_rms hc_pre_linear_reduce"},
        {"mix_x", "split_pre_post"},
        {"swa_rope_step", ""},
        {"rms_norm", "mix_x"},
        {"prefetch_attn_w", "rms_norm!"},
        {"late_dep", "rms_norm!"},
        {"q_rope_prepare", "swa_rope_step"},
        {"qr_proj_seed", ""},
        {"qr_proj_matmul", "rms_norm qr_proj_seed"},
        {"qr_rms_norm_quant", "qr_proj_matmul"},
        {"qproj_matmul", "qr_rms_norm_quant"},
        {"qproj_dequant_rms_nope_rope", "q_rope_prepare qr_rms_norm_quant qproj_matmul"},
        {"kv_proj_seed", ""},
        {"kv_proj_matmul", "rms_norm late_dep! kv_proj_seed"},
        {"kv_rms_norm_rope", "q_rope_prepare kv_proj_matmul"},
        {"swa_cache_insert_valid_bias", "kv_rms_norm_rope"},
        {"swa_gather_kv", "swa_cache_insert_valid_bias"},
        {"qk_pv", "qproj_dequant_rms_nope_rope swa_cache_insert_valid_bias swa_gather_kv!"},
        {"rope_cs", "swa_rope_step"},
        {"merge_norm", "qk_pv! rope_cs!"},
        {"proj_a_mm[0]", "merge_norm!"},
        {"quant[0]", "proj_a_mm[0]!"},
        {"proj_b_mm[0]", "quant[0]!"},
        {"proj_a_mm[7]", "merge_norm!"},
        {"quant[7]", "proj_a_mm[7]!"},
        {"proj_b_mm[7]", "quant[7]!"},
        {"proj_b_act", "proj_b_mm[0]! proj_b_mm[1]! proj_b_mm[2]! proj_b_mm[3]! proj_b_mm[4]! "
                       "proj_b_mm[5]! proj_b_mm[6]! proj_b_mm[7]!"},
        {"hc_post", "split_pre_post comb_sinkhorn proj_b_act"},
    };
    workload *f = *state;
    char buf[512];
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_string_equal(workload_preds(&f->graph, table[i][0], buf, sizeof buf), table[i][1]);
}

static void the_longest_chain_has_16_tasks(void **state) {
    workload *f = *state;
    const npu_graph *graph = &f->graph;
    int hops[64] = {0}; // a dummy holds no core and counts as none
    int longest = 0;
    assert_true(graph->task_count <= 64);
    for (int i = 0; i < graph->task_count; i++) {
        const npu_task *task = &graph->tasks[i];
        for (int e = task->first_edge; e < task->first_edge + task->edge_count; e++)
            if (hops[graph->edges[e].pred] > hops[i])
                hops[i] = hops[graph->edges[e].pred];
        hops[i] += task->engine != NPU_DUMMY;
        if (hops[i] > longest)
            longest = hops[i];
    }
    assert_int_equal(longest, 16);
    assert_int_equal(hops[graph->task_count - 1], 16);
}

// ---- the gather ----------------------------------------------------------------------------

static void a_run_that_leaves_its_page_goes_row_by_row(void **state) {
    workload *f = *state;
    const npu_task *task = &f->graph.tasks[20];
    assert_string_equal(task->name, "swa_gather_kv");
    for (int64_t block = 0; block < task->block_num; block++) {
        npu_stream stream;
        npu_op op;
        bool more = true;
        int bulk = 0;
        int single = 0;
        npu_stream_open(&stream, task->program, NPU_AIV, block, 0);
        while (true) {
            assert_int_equal(npu_stream_next(&stream, &op, &more, &f->err), NPU_OK);
            if (!more)
                break;
            bulk += op.kind == NPU_OP_LOAD && op.gm.run == 16384;
            single += op.kind == NPU_OP_LOAD && op.gm.run == 1024;
        }
        bool last_quarter = block % 4 == 3;
        assert_int_equal(bulk, last_quarter ? 1 : 2);
        assert_int_equal(single, last_quarter ? 16 : 0);
    }
}

// Position 8193 of request 2 is row 1 of its page 64: page (4 * 64 + 2) % 128 of the pool.
static void rows_lie_where_the_block_table_says(void **state) {
    workload *f = *state;
    const npu_task *gather = &f->graph.tasks[20];
    const npu_arg *cache = &f->graph.args[gather->first_arg];
    npu_stream stream;
    npu_op op;
    npu_op last = {0};
    bool more = true;
    npu_stream_open(&stream, gather->program, NPU_AIV, 5 * 4 + 3, 0); // token 5, last quarter
    while (true) {
        assert_int_equal(npu_stream_next(&stream, &op, &more, &f->err), NPU_OK);
        if (!more)
            break;
        if (op.kind == NPU_OP_LOAD)
            last = op;
    }
    int64_t base = f->graph.tensors[cache->tensor].address;
    assert_int_equal(last.gm.address - base, ((256 + 2) % 128 * 128 + 1) * 1024);
}

// ---- settings ------------------------------------------------------------------------------

static void reload(workload *w, const char *name, const char *const *sets) {
    workload_free(w);
    assert_int_equal(workload_load(w, name, sets), NPU_OK);
}

static void settings_change_tiles_and_grids(void **state) {
    workload *f = *state;
    const char *const sets[] = {"q_tn=1024", "warm_q_kv=0", NULL};
    reload(f, "deepseek_v4_flash/swa", sets);
    assert_string_equal(f->graph.tasks[14].name, "qproj_matmul");
    assert_int_equal(f->graph.tasks[14].block_num, 32);
    workload_counts sum = workload_count(f);
    assert_int_equal(sum.weight, 148538496);
    assert_int_equal(sum.macs, 1786773504);
    assert_int_equal(sum.prefetch, 100663296); // wo_a and wo_b alone
}

static const npu_walls walls = { // L0A, L0B, L0C, L1, UB of an A2/A3 core
    {64 << 10, 64 << 10, 128 << 10, 512 << 10, (192 << 10) - 256},
    {512, 512, 64, 32, 32},
    32,
    512,
    24};

static void other_numbers_of_rows_fit_too(void **state) {
    workload *f = *state;
    const char *const sets[] = {"T=4", "T=16"};
    for (int i = 0; i < 2; i++) {
        const char *const set[] = {sets[i], NULL};
        reload(f, "deepseek_v4_flash/swa", set);
        assert_int_equal(npu_graph_check(&f->graph, &walls, NULL, &f->err), NPU_OK);
        workload_counts sum = workload_count(f);
        assert_int_equal(sum.cache, (i == 0 ? 4 : 16) * 128 * 1024);
        // 16 rows are computed in any case; attention has one block per token
        assert_int_equal(sum.macs - 1786773504, (i == 0 ? -4 : 8) * (int64_t)8388608);
    }
}

static void a_late_warm_up_waits_for_q(void **state) {
    workload *f = *state;
    const char *const sets[] = {"warm_late=1", "warm_q_kv=0", NULL};
    char buf[128];
    reload(f, "deepseek_v4_flash/swa", sets);
    assert_int_equal(f->graph.task_count, 50);
    assert_string_equal(workload_preds(&f->graph, "prefetch_attn_w", buf, sizeof buf),
                        "qproj_dequant_rms_nope_rope!");
}

static void one_gemm_is_one_block(void **state) {
    workload *f = *state;
    reload(f, "gemm", NULL);
    assert_int_equal(f->graph.task_count, 1);
    assert_int_equal(f->graph.tasks[0].block_num, 1);
    workload_counts sum = workload_count(f);
    assert_int_equal(sum.macs, (int64_t)128 * 4096 * 4096);
    assert_int_equal(sum.weight, 4096 * 4096 * 2);
    assert_int_equal(sum.activation, 16 * 128 * 4096 * 2); // again for each N tile
    assert_int_equal(sum.store, 128 * 4096 * 4);
}

static void a_gemm_spreads_over_cores(void **state) {
    workload *f = *state;
    const char *const sets[] = {"M=512", "gm=2", "gn=8", NULL};
    reload(f, "gemm", sets);
    assert_int_equal(f->graph.tasks[0].block_num, 16);
    workload_counts sum = workload_count(f);
    assert_int_equal(sum.macs, (int64_t)512 * 4096 * 4096);
    assert_int_equal(sum.store, 512 * 4096 * 4);
}

static void buffers_hold_every_task(void **state) {
    workload *f = *state;
    npu_status status = npu_graph_check(&f->graph, &walls, NULL, &f->err);
    assert_string_equal(f->err.text, "");
    assert_int_equal(status, NPU_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_block_moves_and_computes_what_the_workload_says),
        cmocka_unit_test(tasks_come_in_the_order_of_submission),
        cmocka_unit_test(scalars_are_read_one_by_one),
        cmocka_unit_test(the_layer_has_its_totals),
        cmocka_unit_test(tasks_wait_for_what_the_workload_says),
        cmocka_unit_test(the_longest_chain_has_16_tasks),
        cmocka_unit_test(a_run_that_leaves_its_page_goes_row_by_row),
        cmocka_unit_test(rows_lie_where_the_block_table_says),
        cmocka_unit_test(buffers_hold_every_task),
        cmocka_unit_test(settings_change_tiles_and_grids), // these load another graph
        cmocka_unit_test(other_numbers_of_rows_fit_too),
        cmocka_unit_test(a_late_warm_up_waits_for_q),
        cmocka_unit_test(one_gemm_is_one_block),
        cmocka_unit_test(a_gemm_spreads_over_cores),
    };
    return cmocka_run_group_tests(tests, load_layer, unload);
}
