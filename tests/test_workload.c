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

// The workload counts two rows of each expert's tile, whatever it has received.
#define TWO_ROWS "tile_rows=2"
static const char *const two_rows[] = {TWO_ROWS, NULL};

// One part, alone.
static void check_unit(const char *name, const char *const *sets, int units, int complete,
                       const workload_totals *want) {
    workload w;
    const workload_prefix all[] = {{NULL, units}};
    assert_int_equal(workload_load(&w, name, sets), NPU_OK);
    workload_check_tasks(&w, all);
    workload_check_complete(&w, complete);
    workload_sum sum = workload_sum_of(&w, false);
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

// The workload leaves out what the lanes of the fused task read again to make gates of their own.
static void the_fused_hc_pre_is_one_task_that_does_the_same(void **state) {
    (void)state;
    workload w;
    const char *const sets[] = {"fused=1", NULL};
    const workload_prefix all[] = {{NULL, HC_FUSED}};
    assert_int_equal(workload_load(&w, "deepseek_v4_flash/hc_pre", sets), NPU_OK);
    assert_int_equal(w.graph.task_count, 1);
    const npu_task *task = &w.graph.tasks[0];
    const workload_row *row = workload_find(all, task->kernel);
    workload_counts sum = workload_count_task(&w, task);
    assert_int_equal(task->engine, row->engine);
    assert_int_equal(task->block_num, row->blocks);
    assert_true(task->early && task->sync_start);
    assert_int_equal(sum.weight - 6 * 16 * 4, row->weight); // the biases of 6 lanes
    assert_int_equal(sum.macs, row->macs);
    assert_int_equal(sum.valid, row->valid);
    // 7 x the parts of the squares, the mixes of 6 lanes and of the comb matrix
    assert_int_equal(sum.activation - 7 * 16 * 8 * 4 - (6 + 4) * 8 * 8 * 4, row->activation);
    assert_int_equal(sum.store - 16 * 8 * 4, row->store); // the parts of the squares
    workload_free(&w);
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
    workload_sum sum = workload_sum_of(&w, false);
    workload_check_totals(&sum, want);
    workload_free(&w);
}

static void an_expert_tile_has_its_totals(void **state) {
    (void)state;
    const char *const sets[] = {"active=1", TWO_ROWS, NULL};
    const workload_totals want = {3,    3,   0,    0,   12,    6,     0,  25.20,
                                  2.36, 0.0, 0.82, 0.0, 0.403, 0.050, 1.0};
    check_unit("deepseek_v4_flash/experts", sets, MOE, 0, &want);
}

// A stage without its expert tiles.
static void check_moe_base(const char *ranks, const workload_totals *want) {
    workload w;
    const char *const stage[] = {ranks, "active=4", TWO_ROWS, NULL};
    const char *const tiles[] = {"active=4", TWO_ROWS, NULL};
    assert_int_equal(workload_load(&w, "deepseek_v4_flash/moe", stage), NPU_OK);
    workload_sum whole = workload_sum_of(&w, false);
    workload_free(&w);
    assert_int_equal(workload_load(&w, "deepseek_v4_flash/experts", tiles), NPU_OK);
    workload_sum experts = workload_sum_of(&w, false);
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
    const char *const sets[] = {"active=16", TWO_ROWS, NULL};
    const workload_totals want = {52,    67,  1,     1,   228,   235,   4,   431.11,
                                  45.71, 0.0, 15.42, 0.0, 6.858, 1.012, 19.6};
    check_moe(sets, MOE_EP2, &want);
}

static void moe_of_a_rank_alone_has_its_totals(void **state) {
    (void)state;
    const char *const sets[] = {"active=16", "dies=1", TWO_ROWS, NULL};
    const workload_totals want = {52,    67,  1,     1,   228,   235,   4,   431.11,
                                  45.71, 0.0, 15.42, 0.0, 6.858, 1.012, 19.6};
    check_moe(sets, MOE_EP2, &want);
}

static void moe_ep2_with_32_tiles_has_its_totals(void **state) {
    (void)state;
    const workload_totals want = {100,   115, 1,     1,   420,    331,   4,   834.29,
                                  83.47, 0.0, 28.53, 0.0, 13.300, 1.817, 35.8};
    check_moe(two_rows, MOE_EP2, &want);
}

static void moe_ep8_with_32_tiles_has_its_totals(void **state) {
    (void)state;
    const char *const sets[] = {"EP=8", TWO_ROWS, NULL};
    const workload_totals want = {100,   115, 1,     1,    420,    331,   16,  837.44,
                                  86.61, 0.0, 28.54, 0.02, 13.313, 1.823, 35.9};
    check_moe(sets, MOE_EP8, &want);
}

// Layers 0 to 2: route_hash in place of route_sort; all other rows are the same.
static void hash_routing_has_its_task(void **state) {
    (void)state;
    workload w;
    const workload_prefix all[] = {{NULL, STAGE | MOE_EP2}};
    const char *const sets[] = {"hash=1", TWO_ROWS, NULL};
    char buf[128];
    assert_int_equal(workload_load(&w, "deepseek_v4_flash/moe", sets), NPU_OK);
    workload_check_tasks(&w, all);
    assert_string_equal(workload_preds(&w.graph, "route_hash", buf, sizeof buf),
                        "gate_pre_route gate");
    workload_free(&w);
}

// ---- before and after the layers -----------------------------------------------------------

static void the_preamble_has_its_totals(void **state) {
    (void)state;
    const workload_totals want = {0, 4, 0, 0, 0, 58, 0, 0.07, 0.0, 0.0, 0.53, 0.0, 0.0, 0.0, 0.0};
    check_unit("deepseek_v4_flash/preamble", NULL, PREAMBLE, PREAMBLE, &want);
}

// The norm is that of the attention layers.
static void the_tail_tp2_has_its_totals(void **state) {
    (void)state;
    const workload_totals want = {1,     11,  1,     0,    16,    77,    24, 529.80,
                                  48.08, 0.0, 12.97, 4.15, 4.249, 4.237, 8.7};
    check_unit("deepseek_v4_flash/tail", NULL, TAIL | TAIL_TP2 | ATTENTION, TAIL | TAIL_TP2, &want);
}

static void the_tail_tp8_has_its_totals(void **state) {
    (void)state;
    const char *const sets[] = {"TP=8", NULL};
    const workload_totals want = {1,     11,  1,     0,    16,    61,    24, 132.65,
                                  48.91, 0.0, 13.85, 4.19, 4.299, 4.237, 8.7};
    check_unit("deepseek_v4_flash/tail", sets, TAIL | TAIL_TP8 | ATTENTION, TAIL | TAIL_TP8, &want);
}

// ---- MTP -----------------------------------------------------------------------------------

static void the_mtp_extras_have_their_totals(void **state) {
    (void)state;
    workload w;
    const workload_totals want = {1,    10,  0,    0,   16,    117,   0,  33.98,
                                  8.26, 0.0, 2.86, 0.0, 1.342, 0.671, 3.0};
    assert_int_equal(workload_load(&w, "deepseek_v4_flash/mtp", NULL), NPU_OK);
    workload_check_complete(&w, MTP);
    workload_sum sum = workload_sum_of(&w, true);
    workload_check_totals(&sum, &want);
    workload_free(&w);
}

static void check_composed(const char *name, const char *const *sets,
                           const workload_prefix *prefixes, const workload_totals *want) {
    workload w;
    assert_int_equal(workload_load(&w, name, sets), NPU_OK);
    workload_check_tasks(&w, prefixes);
    workload_sum sum = workload_sum_of(&w, false);
    workload_check_totals(&sum, want);
    workload_free(&w);
}

static void the_mtp_half_ep2_has_its_totals(void **state) {
    (void)state;
    const workload_prefix units[] = {{"swa", LAYER | SWA},
                                     {"moe", STAGE | MOE_EP2},
                                     {"tail", TAIL | TAIL_TP2 | ATTENTION},
                                     {NULL, MTP}};
    const workload_totals want = {122,    164,  3,     2,    680,    647,   36,  1546.61,
                                  157.62, 1.05, 53.50, 4.54, 20.678, 7.651, 54.3};
    check_composed("deepseek_v4_flash/mtp", two_rows, units, &want);
}

static void the_mtp_half_ep8_has_its_totals(void **state) {
    (void)state;
    const char *const sets[] = {"EP=8", "TP=8", TWO_ROWS, NULL};
    const workload_prefix units[] = {{"swa", LAYER | SWA},
                                     {"moe", STAGE | MOE_EP8},
                                     {"tail", TAIL | TAIL_TP8 | ATTENTION},
                                     {NULL, MTP}};
    const workload_totals want = {122,    164,  3,     2,    680,    631,   48,  1152.61,
                                  161.60, 1.05, 54.40, 4.60, 20.741, 7.657, 54.4};
    check_composed("deepseek_v4_flash/mtp", sets, units, &want);
}

// ---- forward -------------------------------------------------------------------------------

// Streaming a forward takes its time: its tasks are those of the units, which are checked one by
// one for one setting only.
static void check_forward(const char *const *sets, const workload_totals *want) {
    workload w;
    assert_int_equal(workload_load(&w, "deepseek_v4_flash/forward", sets), NPU_OK);
    workload_sum sum = workload_sum_of(&w, false);
    workload_check_totals(&sum, want);
    workload_free(&w);
}

static void the_forward_ep2_with_16_tiles_has_its_totals(void **state) {
    (void)state;
    const workload_totals want = {3243,    4535,   108,      86,      20729,
                                  16046,   1372,   26258.35, 3031.06, 189.24,
                                  1219.55, 150.20, 393.712,  101.422, 1430.6};
    const workload_prefix units[] = {{"swa", LAYER | SWA},
                                     {"hca", LAYER | HCA},
                                     {"csa", LAYER | CSA},
                                     {"moe", STAGE | MOE_EP2},
                                     {"tail", TAIL | TAIL_TP2 | ATTENTION},
                                     {NULL, PREAMBLE}};
    check_composed("deepseek_v4_flash/forward", two_rows, units, &want);
}

static void the_forward_ep2_with_32_tiles_has_its_totals(void **state) {
    (void)state;
    const char *const sets[] = {"active=32", TWO_ROWS, NULL};
    const workload_totals want = {5307,    6599,   108,      86,      28985,
                                  20174,   1372,   43594.98, 4654.52, 189.24,
                                  1783.20, 150.20, 670.738,  136.050, 2129.5};
    check_forward(sets, &want);
}

static void the_forward_ep8_tp2_with_32_tiles_has_its_totals(void **state) {
    (void)state;
    const char *const sets[] = {"EP=8", "active=32", TWO_ROWS, NULL};
    const workload_totals want = {5307,    6599,   108,      86,      28985,
                                  20174,   1888,   43730.24, 4789.82, 189.24,
                                  1783.76, 150.73, 671.279,  136.321, 2132.6};
    check_forward(sets, &want);
}

static void the_forward_ep8_tp8_with_32_tiles_has_its_totals(void **state) {
    (void)state;
    const char *const sets[] = {"EP=8", "TP=8", "active=32", TWO_ROWS, NULL};
    const workload_totals want = {5307,    6599,   108,      86,      28985,
                                  20158,   1888,   43333.10, 4790.65, 189.24,
                                  1784.65, 150.78, 671.329,  136.321, 2132.6};
    check_forward(sets, &want);
}

static void the_forward_ep8_tp8_with_25_tiles_has_its_totals(void **state) {
    (void)state;
    const char *const sets[] = {"EP=8", "TP=8", "active=25", TWO_ROWS, NULL};
    const workload_totals want = {4404,    5696,   108,      86,      25373,
                                  18352,   1888,   35748.32, 4080.39, 189.24,
                                  1538.05, 150.78, 550.130,  121.171, 1826.8};
    check_forward(sets, &want);
}

// The forward's 7886 tasks, the MTP half's 193 with 16 tiles: 289 - 16 x 6.
static void a_step_with_mtp_is_the_forward_and_the_mtp_half(void **state) {
    (void)state;
    workload w;
    assert_int_equal(workload_load(&w, "deepseek_v4_flash/forward_mtp", NULL), NPU_OK);
    assert_int_equal(w.graph.task_count, 7886 + 86 + 289 - 16 * 6 + 2);
    workload_free(&w);
}

// ---- settings ------------------------------------------------------------------------------

static const npu_walls walls = { // L0A, L0B, L0C, L1, UB of an A2/A3 core
    {64 << 10, 64 << 10, 128 << 10, 512 << 10, (192 << 10) - 256},
    {512, 512, 64, 32, 32},
    32,
    512,
    24};

static void load_and_check(workload *w, const char *name, const char *const *sets) {
    assert_int_equal(workload_load(w, name, sets), NPU_OK);
    if (npu_graph_check(&w->graph, &walls, NULL, &w->err))
        fail_msg("%s: %s", name, w->err.text);
}

static void every_unit_fits_with_other_sizes(void **state) {
    (void)state;
    static const struct {
        const char *name, *sets[6]; // the rest is NULL
    } units[] = {
        {"layer", {"kind=0", "T=4", NULL}},
        {"layer", {"kind=1", "T=4", NULL}},
        {"layer", {"kind=2", "T=4", NULL}},
        {"layer", {"kind=0", "T=16", "EP=8", NULL}},
        {"layer", {"kind=1", "T=16", "EP=4", "per_request=1", NULL}},
        {"layer", {"kind=2", "T=16", "per_request=4", "attn_blocks=20", NULL}},
        {"moe", {"EP=8", "active=8", "tile_rows=1", "hash=1", NULL}},
        {"swa", {"position=127", "qr_split=4", "kv_tn=64", "oa_tn=256", "ob_tn=128", NULL}},
        {"hca", {"position=127", "cmp_tn=32", "cmp_tk=256", "fused=1", "warm=0", NULL}},
        {"csa", {"position=127", "iq_tn=256", "inner_tn=16", "wp_split=2", "warm_late=1", NULL}},
        {"csa", {"position=16382", "per_request=2", NULL}},
        {"swa", {"rms_tile=256", "mix_blocks=8", "q_heads=8", "gather_blocks=8", "merge_heads=8"}},
        {"hca", {"oc_blocks=4", "norm_tile=256", "seed_tile=256", "qr_norm_tile=128", NULL}},
        {"csa", {"hc_split=8", "iq_dequant_blocks=16", "ob_act_blocks=16", "post_tokens=2", NULL}},
        {"moe", {"x_quant_tile=512", "sh_act_tile=512", "sh_act_rows=4", "sh_out_tile=256", NULL}},
        {"tail", {"head_tile=256", "out_blocks=16", "lm_gather_blocks=16", "greedy_pieces=40"}},
        {"mtp", {"embed_tile=1024", "mtp_pack_tile=512", "mtp_norm_tile=512", NULL}},
        {"tail", {"T=4", "TP=8", "lm_tn=128", "lm_blocks=20", NULL}},
        {"tail", {"T=16", "TP=4", "head_tk=128", NULL}},
        {"moe", {"EP=8", "seed=3", "fold_notify=1", "combine_anchor=1", "dispatch_anchor=0"}},
        {"tail", {"T=16", "TP=1", "EP=2", NULL}},
        {"mtp", {"T=16", "EP=4", "TP=4", "mtp_tn=128", NULL}},
        {"forward_mtp", {"batch=8", "layers=4", "ex_tn=128", "sh_tn=128", "gate_tk=1024", NULL}},
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        workload w;
        char name[64];
        snprintf(name, sizeof name, "deepseek_v4_flash/%s", units[i].name);
        load_and_check(&w, name, units[i].sets);
        workload_free(&w);
    }
}

static void a_whole_layer_is_attention_and_moe(void **state) {
    (void)state;
    static const struct {
        const char *name, *kind;
    } kinds[] = {{"deepseek_v4_flash/swa", "kind=0"},
                 {"deepseek_v4_flash/hca", "kind=1"},
                 {"deepseek_v4_flash/csa", "kind=2"}};
    const workload_totals moe = {52,    67,  1,     1,   228,   235,   4,   431.11,
                                 45.71, 0.0, 15.42, 0.0, 6.858, 1.012, 19.6};
    for (int i = 0; i < 3; i++) {
        workload w;
        const char *const sets[] = {kinds[i].kind, TWO_ROWS, NULL};
        assert_int_equal(workload_load(&w, "deepseek_v4_flash/layer", sets), NPU_OK);
        workload_sum layer = workload_sum_of(&w, false);
        workload_free(&w);
        assert_int_equal(workload_load(&w, kinds[i].name, NULL), NPU_OK);
        workload_sum attention = workload_sum_of(&w, false);
        workload_free(&w);
        workload_sum rest = workload_difference(&layer, &attention);
        workload_check_totals(&rest, &moe);
    }
}

static workload_counts count_named(workload *w, const char *name) {
    for (int i = 0; i < w->graph.task_count; i++)
        if (strcmp(w->graph.tasks[i].name, name) == 0)
            return workload_count_task(w, &w->graph.tasks[i]);
    fail_msg("no task '%s'", name);
    return (workload_counts){0};
}

// Positions 8318 and 8319: 8319 is the last of a group of 128. Each of 4 requests loads 128 rows of
// kv and score, 512 x fp32 wide, and works 4 x 6 times on 128 x 128 elements.
static void a_group_of_128_is_pooled_when_complete(void **state) {
    (void)state;
    workload w;
    const char *const sets[] = {"position=8318", NULL};
    load_and_check(&w, "deepseek_v4_flash/hca", sets);
    workload_counts pool = count_named(&w, "scatter_softmax_pool");
    assert_int_equal(pool.cache, 4 * 128 * 2 * 512 * 4);
    assert_int_equal(pool.elements, 4096 + 4 * 24 * 128 * 128);
    workload_counts norm = count_named(&w, "rmsnorm_rope_cache_write");
    assert_int_equal(norm.store, 32768 + 4 * 1024); // and a row of the cache for each request
    workload_free(&w);
}

// Positions 8194 and 8195: 8 rows of kv and score, 512 wide (the indexer's 128), and 7 merges of 9
// ops, for each of 4 requests.
static void a_group_of_4_is_merged_when_complete(void **state) {
    (void)state;
    workload w;
    const char *const sets[] = {"position=8194", NULL};
    load_and_check(&w, "deepseek_v4_flash/csa", sets);
    workload_counts pool = count_named(&w, "scatter_softmax_pool");
    assert_int_equal(pool.cache, 4 * 8 * 2 * 512 * 4);
    assert_int_equal(pool.elements, 8192 + 4 * 7 * 9 * 512);
    workload_counts inner = count_named(&w, "inner_scatter_softmax_pool");
    assert_int_equal(inner.cache, 4 * 8 * 2 * 128 * 4);
    assert_int_equal(inner.elements, 2048 + 4 * 7 * 9 * 128);
    workload_counts write = count_named(&w, "kv_and_cache_write");
    assert_int_equal(write.store, 4 * (128 + 4)); // int8 row and scale
    workload_free(&w);
}

// At position 1023 a token sees (1023 + 1) / 4 = 256 rows, the second of a request 256 too: 8 pages
// of 32, 4 for each of its 2 blocks; one page is 32 x 128 int8 and 32 scales.
static void the_score_reads_the_pages_that_are_seen(void **state) {
    (void)state;
    workload w;
    const char *const sets[] = {"position=1023", NULL};
    load_and_check(&w, "deepseek_v4_flash/csa", sets);
    workload_counts score = count_named(&w, "score");
    assert_int_equal(score.cache, 8 * 8 * (32 * 128 + 32 * 4));
    workload_free(&w);
}

static void a_layer_can_go_without_a_prefetch(void **state) {
    (void)state;
    workload w;
    const char *const sets[] = {"warm=0", "layers=2", NULL};
    assert_int_equal(workload_load(&w, "deepseek_v4_flash/forward", sets), NPU_OK);
    assert_int_equal(workload_count(&w).prefetch, 0);
    workload_free(&w);
}

// ---- edges ---------------------------------------------------------------------------------

typedef struct waits {
    const char *task, *preds;
} waits;

static void check_waits(const char *name, const char *const *sets, const waits *table, int count) {
    workload w;
    char buf[2048];
    assert_int_equal(workload_load(&w, name, sets), NPU_OK);
    for (int i = 0; i < count; i++)
        assert_string_equal(workload_preds(&w.graph, table[i].task, buf, sizeof buf),
                            table[i].preds);
    workload_free(&w);
}

static void hca_tasks_wait_for_what_the_workload_says(void **state) {
    (void)state;
    static const waits table[] = {
        {"hca_rope", ""},
        {"rope_interleave", "hca_rope"},
        {"hca_cache_writeback", "kv_rms_norm_rope"},
        {"kv_score_proj", "rms_norm late_dep!"},
        {"scatter_softmax_pool", "kv_score_proj"},
        {"rmsnorm_rope_cache_write", "rope_interleave scatter_softmax_pool!"},
        {"hca_cache_topk", ""},
        {"build_valid", "hca_cache_topk"},
        {"hca_gather_kv", "hca_cache_writeback rmsnorm_rope_cache_write hca_cache_topk"},
        {"qk_pv", "qproj_dequant_rms_nope_rope build_valid hca_gather_kv!"},
        {"rope_swap", ""},
        {"rope_cs", "hca_rope"},
        {"merge_norm", "qk_pv rope_swap rope_cs"},
    };
    check_waits("deepseek_v4_flash/hca", NULL, table, sizeof table / sizeof *table);
}

static void csa_tasks_wait_for_what_the_workload_says(void **state) {
    (void)state;
    static const waits table[] = {
        {"csa_rope_step", ""},
        {"rope_interleave[0]", "csa_rope_step"},
        {"csa_cmp_rope", ""},
        {"rope_interleave[1]", "csa_cmp_rope"},
        {"csa_cache_writeback", "kv_rms_norm_rope"},
        {"kv_score_proj", "rms_norm late_dep!"},
        {"scatter_softmax_pool", "kv_score_proj"},
        {"rmsnorm_rope_cache_write", "rope_interleave[1] scatter_softmax_pool"},
        {"idx_qr_proj_matmul", "qr_rms_norm_quant"},
        {"idx_qr_proj_dequant", "qr_rms_norm_quant idx_qr_proj_matmul"},
        {"qr_rope_swap_idx", ""},
        {"qr_rope", "rope_interleave[0] idx_qr_proj_dequant qr_rope_swap_idx"},
        {"qr_hadamard_matmul", "qr_rope"},
        {"qr_hadamard_quant", "qr_hadamard_matmul"},
        {"weights_proj", "rms_norm late_dep!"},
        {"weights_proj_reduce", "weights_proj"},
        {"inner_kv_score_proj", "rms_norm late_dep!"},
        {"inner_scatter_softmax_pool", "inner_kv_score_proj"},
        {"inner_rmsnorm_rope", "rope_interleave[0] inner_scatter_softmax_pool"},
        {"kv_hadamard", "inner_rmsnorm_rope"},
        {"kv_and_cache_write", "kv_hadamard"},
        {"score", "qr_hadamard_quant weights_proj_reduce kv_and_cache_write"},
        {"topk", "score"},
        {"kv_touch", "csa_cache_writeback"},
        {"csa_slots_build_valid_qk_plan", "topk"},
        {"qk_pv", "qproj_dequant_rms_nope_rope rmsnorm_rope_cache_write kv_touch "
                  "csa_slots_build_valid_qk_plan!"},
        {"rope_cs", "csa_rope_step"},
        {"merge_norm", "qk_pv rope_cs"},
    };
    check_waits("deepseek_v4_flash/csa", NULL, table, sizeof table / sizeof *table);
}

static void moe_tasks_wait_for_what_the_workload_says(void **state) {
    (void)state;
    static const char *const sets[] = {"active=3", NULL};
    static const waits table[] = {
        {"ffn_norm", "mix_x"},
        {"seed_dummy", ""},
        {"x_norm_quant", "ffn_norm seed_dummy!"},
        {"gate_pre_route", ""},
        {"gate", "ffn_norm gate_pre_route"},
        {"route_sort", "gate_pre_route gate"},
        {"sh_gate_mm", "x_norm_quant"},
        {"sh_up_mm", "x_norm_quant"},
        {"sh_gate_up_act_q", "sh_gate_mm sh_up_mm"},
        {"sh_w2_mm", "sh_gate_up_act_q"},
        {"sh_w2_act", "sh_gate_up_act_q sh_w2_mm"},
        {"dispatch_meta", "route_sort"},
        {"dispatch_push", "x_norm_quant route_sort"},
        {"dispatch_wait", "route_sort dispatch_push!"},
        {"dispatch_gather", "dispatch_meta! dispatch_push! dispatch_wait!"},
        {"exp_gate_mm[2,0]", "dispatch_gather"},
        {"exp_up_mm[2,0]", "dispatch_gather"},
        {"exp_gate_up_act[2,0]", "exp_gate_mm[2,0] exp_up_mm[2,0]"},
        {"exp_h_q[2,0]", "exp_gate_up_act[2,0]"},
        {"exp_w2_mm[2,0]", "exp_h_q[2,0]"},
        {"exp_w2_act[2,0]", "exp_w2_mm[2,0]"},
        {"combine", "exp_w2_act[0,0] exp_w2_act[1,0] exp_w2_act[2,0]"},
        {"combine_wait", "dispatch_push! combine!"},
        {"shared_routed", "sh_w2_act combine! combine_wait!"},
        {"hc_post", "comb_sinkhorn shared_routed"},
    };
    check_waits("deepseek_v4_flash/moe", sets, table, sizeof table / sizeof *table);
}

static void tail_tasks_wait_for_what_the_workload_says(void **state) {
    (void)state;
    static const char *const sets[] = {"layers=1", NULL};
    static const waits table[] = {
        {"swa[0].hc_pre_rms", "pack_x_hc"},
        {"swa[0].swa_cache_insert_valid_bias",
         "decode_build_swa_scalar_metadata swa[0].kv_rms_norm_rope"},
        {"moe[0].hc_pre_rms", "swa[0].hc_post"},
        {"tail.moe_signal_clear", "moe[0].hc_post"},
        {"tail.hc_head_rms", "moe[0].hc_post"},
        {"tail.hc_head_linear", "moe[0].hc_post"},
        {"tail.hc_head_reduce", "moe[0].hc_post tail.hc_head_rms tail.hc_head_linear"},
        {"tail.rms_norm", "tail.hc_head_reduce"},
        {"tail.lm_head_dispatch_push", "tail.rms_norm"},
        {"tail.lm_head_dispatch_wait", "tail.rms_norm"},
        {"tail.lm_head_dispatch_gather", "tail.lm_head_dispatch_push! tail.lm_head_dispatch_wait!"},
        {"tail.lm_head_matmul_push", "tail.lm_head_dispatch_gather"},
        {"tail.lm_head_combine_wait", "tail.lm_head_matmul_push!"},
        {"tail.lm_head_combine_gather", "tail.lm_head_matmul_push! tail.lm_head_combine_wait!"},
        {"tail.lm_head_signal_clear", "tail.lm_head_combine_gather"},
        {"tail.lm_head_greedy_sample", "tail.lm_head_combine_gather"},
    };
    check_waits("deepseek_v4_flash/forward", sets, table, sizeof table / sizeof *table);
}

static void mtp_tasks_wait_for_what_the_workload_says(void **state) {
    (void)state;
    static const char *const sets[] = {"layers=1", NULL};
    static const waits table[] = {
        {"decode_build_swa_metadata", "mtp_state_prepare"},
        {"mtp.mtp_verify_and_pack", "mtp_state_prepare tail.lm_head_greedy_sample"},
        {"mtp.lookup_embedding", "mtp.mtp_verify_and_pack"},
        {"mtp.pack_mtp_hidden", "moe[0].hc_post mtp.mtp_verify_and_pack"},
        {"mtp.mtp_hidden_norm_quant", "mtp.lookup_embedding"},
        {"mtp.mtp_prev_norm_quant", "mtp.pack_mtp_hidden"},
        {"mtp.mtp_linear", "mtp.mtp_hidden_norm_quant mtp.mtp_prev_norm_quant"},
        {"mtp.swa.hc_pre_rms", "mtp.mtp_dequant"},
        {"mtp.mtp_state_advance", "mtp.mtp_verify_and_pack mtp.tail.lm_head_greedy_sample"},
    };
    check_waits("deepseek_v4_flash/forward_mtp", sets, table, sizeof table / sizeof *table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(swa_attention_has_its_totals),
        cmocka_unit_test(hca_attention_has_its_totals),
        cmocka_unit_test(csa_attention_has_its_totals),
        cmocka_unit_test(the_fused_hc_pre_is_one_task_that_does_the_same),
        cmocka_unit_test(an_expert_tile_has_its_totals),
        cmocka_unit_test(moe_base_ep2_has_its_totals),
        cmocka_unit_test(moe_base_ep8_has_its_totals),
        cmocka_unit_test(moe_ep2_with_16_tiles_has_its_totals),
        cmocka_unit_test(moe_of_a_rank_alone_has_its_totals),
        cmocka_unit_test(moe_ep2_with_32_tiles_has_its_totals),
        cmocka_unit_test(moe_ep8_with_32_tiles_has_its_totals),
        cmocka_unit_test(hash_routing_has_its_task),
        cmocka_unit_test(the_preamble_has_its_totals),
        cmocka_unit_test(the_tail_tp2_has_its_totals),
        cmocka_unit_test(the_tail_tp8_has_its_totals),
        cmocka_unit_test(the_mtp_extras_have_their_totals),
        cmocka_unit_test(the_mtp_half_ep2_has_its_totals),
        cmocka_unit_test(the_mtp_half_ep8_has_its_totals),
        cmocka_unit_test(the_forward_ep2_with_16_tiles_has_its_totals),
        cmocka_unit_test(the_forward_ep2_with_32_tiles_has_its_totals),
        cmocka_unit_test(the_forward_ep8_tp2_with_32_tiles_has_its_totals),
        cmocka_unit_test(the_forward_ep8_tp8_with_32_tiles_has_its_totals),
        cmocka_unit_test(the_forward_ep8_tp8_with_25_tiles_has_its_totals),
        cmocka_unit_test(a_step_with_mtp_is_the_forward_and_the_mtp_half),
        cmocka_unit_test(every_unit_fits_with_other_sizes),
        cmocka_unit_test(a_whole_layer_is_attention_and_moe),
        cmocka_unit_test(a_group_of_128_is_pooled_when_complete),
        cmocka_unit_test(a_group_of_4_is_merged_when_complete),
        cmocka_unit_test(the_score_reads_the_pages_that_are_seen),
        cmocka_unit_test(a_layer_can_go_without_a_prefetch),
        cmocka_unit_test(hca_tasks_wait_for_what_the_workload_says),
        cmocka_unit_test(csa_tasks_wait_for_what_the_workload_says),
        cmocka_unit_test(moe_tasks_wait_for_what_the_workload_says),
        cmocka_unit_test(tail_tasks_wait_for_what_the_workload_says),
        cmocka_unit_test(mtp_tasks_wait_for_what_the_workload_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
