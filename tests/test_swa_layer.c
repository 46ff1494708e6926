// SPDX-License-Identifier: Apache-2.0
// configs/models/swa_attention.yaml: every block of every task is streamed and counted, and
// compared with the figures of the decode workload, task by task and in sum.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph.h"

typedef struct counts {
    int64_t load[NPU_CLASS_COUNT];
    int64_t store, handoff; // handoff: stores to tensors between the cores of a block
    int64_t macs, valid, elements, scalar_gm, prefetch;
} counts;

typedef struct fixture {
    npu_graph graph;
    npu_warnings warnings;
    npu_error err;
} fixture;

static npu_status load(fixture *f, const char *name, const char *const *sets, int set_count) {
    char path[512];
    snprintf(path, sizeof path, "%s/configs/models/%s.yaml", NPUSIM_SOURCE, name);
    npu_graph_options options = {NPUSIM_SOURCE "/configs/kernels", sets, set_count, 0};
    return npu_graph_load(path, &options, &f->graph, &f->warnings, &f->err);
}

static int load_layer(void **state) {
    fixture *f = calloc(1, sizeof *f);
    *state = f;
    npu_status status = f != NULL ? load(f, "swa_attention", NULL, 0) : NPU_NO_MEMORY;
    if (status)
        print_error("%s\n", f != NULL ? f->err.text : "out of memory");
    return (int)status;
}

static int unload(void **state) {
    fixture *f = *state;
    npu_graph_free(&f->graph);
    npu_warnings_free(&f->warnings);
    free(f);
    return 0;
}

// ---- counting ------------------------------------------------------------------------------

static void count_op(const npu_graph *graph, const npu_task *task, const npu_op *op, counts *sum) {
    npu_class class_ = NPU_ACTIVATION;
    if (op->kind == NPU_OP_LOAD || op->kind == NPU_OP_STORE)
        class_ = graph->tensors[graph->args[task->first_arg + op->gm.arg].tensor].class_;
    switch (op->kind) {
    case NPU_OP_LOAD:
        sum->load[class_] += npu_gm_bytes(&op->gm);
        break;
    case NPU_OP_STORE:
        *(class_ == NPU_HANDOFF ? &sum->handoff : &sum->store) += npu_gm_bytes(&op->gm);
        break;
    case NPU_OP_PREFETCH:
        sum->prefetch += npu_gm_bytes(&op->gm);
        break;
    case NPU_OP_MATMUL:
        sum->macs += op->m * op->n * op->k;
        sum->valid += op->valid;
        break;
    case NPU_OP_VEC:
        sum->elements += op->m * op->n;
        break;
    case NPU_OP_SCALAR:
        sum->scalar_gm += op->scalar_gm;
        break;
    default:
        break;
    }
}

static void count_core(fixture *f, const npu_task *task, npu_engine_type core, int64_t block,
                       int lane, counts *sum) {
    npu_stream stream;
    npu_op op;
    bool more = true;
    npu_stream_open(&stream, task->program, core, block, lane);
    while (more) {
        assert_int_equal(npu_stream_next(&stream, &op, &more, &f->err), NPU_OK);
        if (more)
            count_op(&f->graph, task, &op, sum);
    }
}

static counts count_block(fixture *f, const npu_task *task, int64_t block) {
    counts sum = {0};
    if (task->engine == NPU_AIC || task->engine == NPU_MIX)
        count_core(f, task, NPU_AIC, block, 0, &sum);
    if (task->engine == NPU_AIV || task->engine == NPU_MIX)
        count_core(f, task, NPU_AIV, block, 0, &sum);
    if (task->engine == NPU_MIX)
        count_core(f, task, NPU_AIV, block, 1, &sum);
    return sum;
}

// ---- per task ------------------------------------------------------------------------------

typedef struct expected {
    const char *name; // of all tasks with this name
    npu_engine_type engine;
    int tasks;
    int64_t blocks; // of one task
    bool early;
    int64_t weight, activation, cache, store, handoff, macs, valid, elements, scalar_gm;
} expected;

// Per block, in the order of submission.
static const expected rows[] = {
    {"hc_pre_rms", NPU_AIV, 1, 1, true, 0, 524288, 0, 32, 0, 0, 0, 262424, 0},
    {"hc_pre_linear", NPU_AIC, 1, 4, true, 393216, 131072, 0, 2048, 0, 2097152, 786432, 0, 0},
    {"hc_pre_linear_reduce", NPU_AIV, 1, 1, true, 0, 8192, 0, 2048, 0, 0, 0, 1536, 0},
    {"split_pre_post", NPU_AIV, 1, 1, true, 64, 544, 0, 384, 0, 0, 0, 1216, 0},
    {"comb_sinkhorn", NPU_AIV, 1, 1, true, 64, 1056, 0, 512, 0, 0, 0, 27904, 0},
    {"mix_x", NPU_AIV, 1, 4, true, 0, 131328, 0, 16384, 0, 0, 0, 65600, 0},
    {"swa_rope_step", NPU_AIV, 1, 1, false, 2048, 0, 0, 2048, 0, 0, 0, 2048, 8},
    {"rms_norm", NPU_AIV, 1, 1, true, 8192, 131072, 0, 65536, 0, 0, 0, 233472, 0},
    {"prefetch_attn_w", NPU_AIV, 1, 1, false, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"late_dep", NPU_DUMMY, 1, 0, false, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"q_rope_prepare", NPU_AIV, 1, 1, true, 0, 2048, 0, 6144, 0, 0, 0, 10240, 0},
    {"qr_proj_seed", NPU_AIV, 1, 1, false, 0, 0, 0, 65536, 0, 0, 0, 16384, 0},
    {"qr_proj_matmul", NPU_AIC, 1, 16, true, 524288, 32768, 0, 8192, 0, 4194304, 2097152, 0, 0},
    {"qr_rms_norm_quant", NPU_AIV, 1, 1, true, 4096, 65536, 0, 16416, 0, 0, 0, 92256, 0},
    {"qproj_matmul", NPU_AIC, 1, 64, false, 524288, 16384, 0, 32768, 0, 8388608, 4194304, 0, 0},
    {"qproj_dequant_rms_nope_rope", NPU_AIV, 1, 16, true, 8192, 71712, 0, 32768, 0, 0, 0, 123008,
     0},
    {"kv_proj_seed", NPU_AIV, 1, 1, false, 0, 0, 0, 32768, 0, 0, 0, 8192, 0},
    {"kv_proj_matmul", NPU_AIC, 1, 16, false, 262144, 16384, 0, 8192, 0, 2097152, 1048576, 0, 0},
    {"kv_rms_norm_rope", NPU_AIV, 1, 1, false, 1024, 38912, 0, 8192, 0, 0, 0, 23040, 0},
    {"swa_cache_insert_valid_bias", NPU_AIV, 1, 1, false, 0, 8224, 0, 12288, 0, 0, 0, 9216, 8},
    {"swa_gather_kv", NPU_AIV, 1, 32, false, 0, 0, 32768, 32768, 0, 0, 0, 0, 4},
    {"qk_pv", NPU_MIX, 1, 8, true, 0, 197120, 0, 131584, 49152, 8388608, 8388608, 57344, 0},
    {"rope_cs", NPU_AIV, 1, 1, false, 0, 1024, 0, 8192, 0, 0, 0, 13824, 0},
    {"merge_norm", NPU_AIV, 1, 32, true, 64, 37504, 0, 16384, 0, 0, 0, 21584, 0},
    {"proj_a_mm", NPU_AIC, 8, 8, true, 1048576, 65536, 0, 8192, 0, 8388608, 4194304, 0, 0},
    {"quant", NPU_AIV, 8, 1, true, 0, 65536, 0, 16416, 0, 0, 0, 65536, 0},
    {"proj_b_mm", NPU_AIC, 8, 8, true, 524288, 32768, 0, 32768, 0, 8388608, 4194304, 0, 0},
    {"proj_b_act", NPU_AIV, 1, 8, true, 2048, 131328, 0, 8192, 0, 0, 0, 110592, 0},
    {"hc_post", NPU_AIV, 1, 8, false, 0, 294912, 0, 65536, 0, 0, 0, 163840, 20},
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

static const expected *find_row(const char *name) {
    for (int i = 0; i < ROW_COUNT; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    fail_msg("no task '%s' is expected", name);
    return NULL;
}

#define CHECK(field, value)                                                                        \
    if ((value) != row->field)                                                                     \
    fail_msg("%s block %lld: " #field " is %lld, not %lld", task->name, (long long)block,          \
             (long long)(value), (long long)row->field)

static void check_block(fixture *f, const npu_task *task, int64_t block, const expected *row) {
    counts sum = count_block(f, task, block);
    CHECK(weight, sum.load[NPU_WEIGHT]);
    CHECK(activation, sum.load[NPU_ACTIVATION]);
    CHECK(cache, sum.load[NPU_CACHE]);
    CHECK(handoff, sum.load[NPU_HANDOFF]); // all that is handed over is read once
    CHECK(store, sum.store);
    CHECK(handoff, sum.handoff);
    CHECK(macs, sum.macs);
    CHECK(valid, sum.valid);
    CHECK(elements, sum.elements);
    CHECK(scalar_gm, sum.scalar_gm);
}

static void each_block_moves_and_computes_what_the_workload_says(void **state) {
    fixture *f = *state;
    for (int i = 0; i < f->graph.task_count; i++) {
        const npu_task *task = &f->graph.tasks[i];
        const expected *row = find_row(task->kernel);
        for (int64_t block = 0; block < task->block_num; block++)
            check_block(f, task, block, row);
    }
}

static void tasks_come_in_the_order_of_submission(void **state) {
    fixture *f = *state;
    int counted[ROW_COUNT] = {0};
    int last = 0;
    for (int i = 0; i < f->graph.task_count; i++) {
        const npu_task *task = &f->graph.tasks[i];
        const expected *row = find_row(task->kernel);
        int index = (int)(row - rows);
        assert_int_equal(task->engine, row->engine);
        assert_int_equal(task->block_num, row->blocks);
        if (task->early != row->early)
            fail_msg("%s: early is %d", task->name, task->early);
        counted[index]++;
        // Only the o-projection goes back, once per group.
        if (index < last)
            assert_true(strcmp(row->name, "proj_a_mm") == 0 && last == index + 2);
        last = index;
    }
    for (int i = 0; i < ROW_COUNT; i++)
        assert_int_equal(counted[i], rows[i].tasks);
}

// ---- in sum --------------------------------------------------------------------------------

static void the_layer_has_its_dispatches_blocks_and_rows(void **state) {
    fixture *f = *state;
    int tasks[4] = {0};
    int64_t blocks[4] = {0};
    for (int i = 0; i < f->graph.task_count; i++) {
        tasks[f->graph.tasks[i].engine]++;
        blocks[f->graph.tasks[i].engine] += f->graph.tasks[i].block_num;
    }
    assert_int_equal(tasks[NPU_AIC], 20);
    assert_int_equal(tasks[NPU_AIV], 28);
    assert_int_equal(tasks[NPU_MIX], 1);
    assert_int_equal(tasks[NPU_DUMMY], 1);
    assert_int_equal(blocks[NPU_AIC], 228);
    assert_int_equal(blocks[NPU_AIV], 122);
    assert_int_equal(blocks[NPU_MIX], 8);
    assert_int_equal(blocks[NPU_AIC] + blocks[NPU_AIV] + 3 * blocks[NPU_MIX], 374);
}

static void add(counts *sum, const counts *more) {
    for (int i = 0; i < NPU_CLASS_COUNT; i++)
        sum->load[i] += more->load[i];
    sum->store += more->store;
    sum->handoff += more->handoff;
    sum->macs += more->macs;
    sum->valid += more->valid;
    sum->elements += more->elements;
    sum->prefetch += more->prefetch;
}

static counts count_graph(fixture *f) {
    counts sum = {0};
    for (int i = 0; i < f->graph.task_count; i++)
        for (int64_t block = 0; block < f->graph.tasks[i].block_num; block++) {
            counts more = count_block(f, &f->graph.tasks[i], block);
            add(&sum, &more);
        }
    return sum;
}

static void the_layer_has_its_totals(void **state) {
    counts sum = count_graph(*state);
    assert_int_equal(sum.load[NPU_WEIGHT], 148538496);    // 148.54 MB
    assert_int_equal(sum.load[NPU_ACTIVATION], 17815648); // 17.82 MB
    assert_int_equal(sum.load[NPU_CACHE], 1048576);       // 1.05 MB
    assert_int_equal(sum.store, 9145536);                 // 9.15 MB
    assert_int_equal(sum.handoff, 393216);                // 0.39 MB
    assert_int_equal(sum.macs, 1786773504);               // 1.787 G
    assert_int_equal(sum.valid, 925892608);               // 0.926 G
    assert_int_equal(sum.elements, 6801464);              // 6.8 M
    assert_int_equal(sum.prefetch, 146800640);
}

// ---- edges ---------------------------------------------------------------------------------

// The tasks that `name` waits for, each once, with '!' where an explicit edge says so.
static const char *preds_of(const npu_graph *graph, const char *name, char *buf, size_t size) {
    buf[0] = '\0';
    for (int i = 0; i < graph->task_count; i++) {
        const npu_task *task = &graph->tasks[i];
        if (strcmp(task->name, name) != 0)
            continue;
        for (int e = task->first_edge; e < task->first_edge + task->edge_count; e++) {
            const npu_edge *edge = &graph->edges[e];
            bool explicit_ = edge->source == NPU_EDGE_EXPLICIT;
            if (e > task->first_edge && edge[-1].pred == edge->pred)
                continue;
            size_t used = strlen(buf);
            snprintf(buf + used, size - used, "%s%s%s", used > 0 ? " " : "",
                     graph->tasks[edge->pred].name, explicit_ ? "!" : "");
        }
        return buf;
    }
    fail_msg("no task '%s'", name);
    return buf;
}

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
    fixture *f = *state;
    char buf[512];
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_string_equal(preds_of(&f->graph, table[i][0], buf, sizeof buf), table[i][1]);
}

static void the_longest_chain_has_16_tasks(void **state) {
    fixture *f = *state;
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
    fixture *f = *state;
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
    fixture *f = *state;
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

static void settings_change_tiles_and_grids(void **state) {
    fixture *f = *state;
    const char *const sets[] = {"q_tn=1024", "warm_q_kv=0"};
    npu_graph_free(&f->graph);
    assert_int_equal(load(f, "swa_attention", sets, 2), NPU_OK);
    assert_string_equal(f->graph.tasks[14].name, "qproj_matmul");
    assert_int_equal(f->graph.tasks[14].block_num, 32);
    counts sum = count_graph(f);
    assert_int_equal(sum.load[NPU_WEIGHT], 148538496);
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
    fixture *f = *state;
    const char *const sets[] = {"T=4", "T=16"};
    for (int i = 0; i < 2; i++) {
        npu_graph_free(&f->graph);
        assert_int_equal(load(f, "swa_attention", &sets[i], 1), NPU_OK);
        assert_int_equal(npu_graph_check(&f->graph, &walls, NULL, &f->err), NPU_OK);
        counts sum = count_graph(f);
        assert_int_equal(sum.load[NPU_CACHE], (i == 0 ? 4 : 16) * 128 * 1024);
        // 16 rows are computed in any case; attention has one block per token
        assert_int_equal(sum.macs - 1786773504, (i == 0 ? -4 : 8) * (int64_t)8388608);
    }
}

static void a_late_warm_up_waits_for_q(void **state) {
    fixture *f = *state;
    const char *const sets[] = {"warm_late=1", "warm_q_kv=0"};
    char buf[128];
    npu_graph_free(&f->graph);
    assert_int_equal(load(f, "swa_attention", sets, 2), NPU_OK);
    assert_int_equal(f->graph.task_count, 50);
    assert_string_equal(preds_of(&f->graph, "prefetch_attn_w", buf, sizeof buf),
                        "qproj_dequant_rms_nope_rope!");
}

static void one_gemm_is_one_block(void **state) {
    fixture *f = *state;
    npu_graph_free(&f->graph);
    assert_int_equal(load(f, "gemm", NULL, 0), NPU_OK);
    assert_int_equal(f->graph.task_count, 1);
    assert_int_equal(f->graph.tasks[0].block_num, 1);
    counts sum = count_graph(f);
    assert_int_equal(sum.macs, (int64_t)128 * 4096 * 4096);
    assert_int_equal(sum.load[NPU_WEIGHT], 4096 * 4096 * 2);
    assert_int_equal(sum.load[NPU_ACTIVATION], 16 * 128 * 4096 * 2); // again for each N tile
    assert_int_equal(sum.store, 128 * 4096 * 4);
}

static void a_gemm_spreads_over_cores(void **state) {
    fixture *f = *state;
    const char *const sets[] = {"M=512", "gm=2", "gn=8"};
    npu_graph_free(&f->graph);
    assert_int_equal(load(f, "gemm", sets, 3), NPU_OK);
    assert_int_equal(f->graph.tasks[0].block_num, 16);
    counts sum = count_graph(f);
    assert_int_equal(sum.macs, (int64_t)512 * 4096 * 4096);
    assert_int_equal(sum.store, 512 * 4096 * 4);
}

static void buffers_hold_every_task(void **state) {
    fixture *f = *state;
    npu_status status = npu_graph_check(&f->graph, &walls, NULL, &f->err);
    assert_string_equal(f->err.text, "");
    assert_int_equal(status, NPU_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_block_moves_and_computes_what_the_workload_says),
        cmocka_unit_test(tasks_come_in_the_order_of_submission),
        cmocka_unit_test(the_layer_has_its_dispatches_blocks_and_rows),
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
