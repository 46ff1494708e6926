// SPDX-License-Identifier: Apache-2.0
// The kernels of configs/kernels: bytes by argument, MACs and elements of a block, against the
// figures of the decode workload (per block, all blocks alike).
#include "test_kernels_util.h"

typedef struct tally {
    int64_t load[MAX_ARGS], store[MAX_ARGS], prefetch[MAX_ARGS], run[MAX_ARGS];
    int64_t macs, valid, elements, gm, atomics;
} tally;

static void count_op(tally *sum, const npu_op *op) {
    int arg = op->gm.arg;
    switch (op->kind) {
    case NPU_OP_LOAD:
        sum->load[arg] += npu_gm_bytes(&op->gm);
        sum->run[arg] = op->gm.run;
        break;
    case NPU_OP_STORE:
        sum->store[arg] += npu_gm_bytes(&op->gm);
        sum->atomics += op->atomic;
        break;
    case NPU_OP_PREFETCH:
        sum->prefetch[arg] += npu_gm_bytes(&op->gm);
        break;
    case NPU_OP_MATMUL:
        sum->macs += op->m * op->n * op->k;
        sum->valid += op->valid;
        break;
    case NPU_OP_VEC:
        sum->elements += op->m * op->n;
        break;
    case NPU_OP_SCALAR:
        sum->gm += op->scalar_gm;
        break;
    default:
        break;
    }
}

static tally tally_block(fixture *f, int64_t block) {
    tally sum = {0};
    npu_engine_type engine = f->program.engine;
    for (int core = 0; core < 3; core++) {
        if ((core == 0 && engine == NPU_AIV) || (core > 0 && engine == NPU_AIC) ||
            (core == 2 && engine == NPU_AIV))
            continue;
        assert_ok(f, stream_block(f, core == 0 ? NPU_AIC : NPU_AIV, block, core == 2));
        for (int i = 0; i < f->count; i++)
            count_op(&sum, &f->ops[i]);
    }
    return sum;
}

static int64_t *find_count(fixture *f, tally *sum, const char *what, const char *name) {
    if (strcmp(what, "load") == 0)
        return &sum->load[find_arg(f, name)];
    if (strcmp(what, "store") == 0)
        return &sum->store[find_arg(f, name)];
    if (strcmp(what, "prefetch") == 0)
        return &sum->prefetch[find_arg(f, name)];
    if (strcmp(what, "run") == 0)
        return &sum->run[find_arg(f, name)];
    if (strcmp(what, "macs") == 0)
        return &sum->macs;
    if (strcmp(what, "valid") == 0)
        return &sum->valid;
    if (strcmp(what, "elements") == 0)
        return &sum->elements;
    if (strcmp(what, "gm") == 0)
        return &sum->gm;
    if (strcmp(what, "atomics") == 0)
        return &sum->atomics;
    fail_msg("no count '%s'", what);
    return NULL;
}

// "load x 512; store y 32; elements 90": these and nothing else.
static void check_tally(fixture *f, tally sum, const char *expected) {
    char *save = NULL;
    char *copy = npu_arena_text(&f->arena, expected, strlen(expected));
    for (char *one = strtok_r(copy, ";", &save); one != NULL; one = strtok_r(NULL, ";", &save)) {
        char what[32] = "", name[32] = "", number[32] = "";
        int words = sscanf(one, "%31s %31s %31s", what, name, number);
        int64_t *count = find_count(f, &sum, what, name);
        int64_t want = strtoll(words == 3 ? number : name, NULL, 10);
        if (*count != want)
            fail_msg("%s: '%s' is %lld", npu_kernel_name(f->kernel), one, (long long)*count);
        *count = 0;
    }
    tally none = {0};
    memcpy(none.run, sum.run, sizeof none.run);
    if (memcmp(&none, &sum, sizeof sum) != 0)
        fail_msg("%s: counts beside '%s'", npu_kernel_name(f->kernel), expected);
}

typedef struct row {
    const char *kernel, *settings;
    int64_t blocks;
    const char *expected;
} row;

static void check_rows(fixture *f, const row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        start_over(f);
        assert_ok(f, load_kernel(f, rows[i].kernel));
        assert_ok(f, bind_kernel(f, rows[i].settings));
        assert_int_equal(f->program.block_num, rows[i].blocks);
        for (int64_t block = 0; block < rows[i].blocks; block++)
            check_tally(f, tally_block(f, block), rows[i].expected);
    }
}

#define CHECK_ROWS(state, rows) check_rows(*(state), rows, sizeof(rows) / sizeof *(rows))

static void matmuls(void **state) {
    static const row rows[] = {
        {"matmul", // hc_pre_linear: slabs, 24 of 32 columns
         "a fp32 8x16384; b fp32 24x16384 t; c fp32 64x32; with slabs 1; tile n 32; tile k 256;"
         "grid n 1; grid k 4",
         4, "load a 131072; load b 393216; run b 1024; store c 2048; macs 2097152; valid 786432"},
        {"matmul", // qr_proj_matmul
         "a bf16 8x4096; b bf16 4096x1024; c fp32 16x1024; with atomic 1; tile n 128; tile k 256;"
         "grid n 8; grid k 2",
         16,
         "load a 32768; load b 524288; run b 256; store c 8192; atomics 1; macs 4194304;"
         "valid 2097152"},
        {"matmul", // qproj_matmul
         "a int8 16x1024; b int8 1024x32768; c int32 16x32768; with valid_m 8; tile n 512;"
         "tile k 128; grid n 64; grid k 1",
         64, "load a 16384; load b 524288; run b 512; store c 32768; macs 8388608; valid 4194304"},
        {"matmul", // kv_proj_matmul
         "a bf16 8x4096; b bf16 4096x512; c fp32 16x512; with atomic 1; tile n 128; tile k 256;"
         "grid n 4; grid k 4",
         16,
         "load a 16384; load b 262144; run b 256; store c 8192; atomics 1; macs 2097152;"
         "valid 1048576"},
        {"matmul", // proj_a_mm
         "a bf16 8x4096; b bf16 1024x4096 t; c fp32 16x1024; tile n 128; tile k 256; grid n 8;"
         "grid k 1",
         8, "load a 65536; load b 1048576; run b 512; store c 8192; macs 8388608; valid 4194304"},
        {"matmul", // proj_b_mm: two fragments of columns in a block
         "a int8 16x1024; b int8 4096x1024 t; c int32 16x4096; with valid_m 8; tile n 256;"
         "tile k 256; grid n 8; grid k 1",
         8, "load a 32768; load b 524288; run b 256; store c 32768; macs 8388608; valid 4194304"},
    };
    CHECK_ROWS(state, rows);
}

static void hyper_connection(void **state) {
    static const row rows[] = {
        {"hc_pre_rms", "x fp32 8x16384; inv fp32 8; grid b 1", 1,
         "load x 524288; store inv 32; elements 262424"},
        {"sum_slabs", "parts fp32 64x32; y fp32 16x32; grid b 1", 1,
         "load parts 8192; store y 2048; elements 1536"},
        {"split_pre_post",
         "mix fp32 16x32; inv fp32 8; base fp32 24; pre fp32 8x8; post fp32 8x4; grid b 1", 1,
         "load mix 512; load inv 32; load base 64; store pre 256; store post 128; elements 1216"},
        {"comb_sinkhorn", "mix fp32 16x32; inv fp32 8; base fp32 24; comb fp32 8x16; grid b 1", 1,
         "load mix 1024; load inv 32; load base 64; store comb 512; elements 27904"},
        {"mix_x", "x fp32 8x4x4096; pre fp32 8x8; y bf16 8x4096; grid d 4", 4,
         "load x 131072; load pre 256; store y 16384; elements 65600"},
        {"hc_post",
         "y bf16 8x4096; x fp32 8x4x4096; comb fp32 8x16; post fp32 8x4; out fp32 8x4x4096;"
         "grid t 2; grid s 4",
         8, "load y 32768; load x 262144; store out 65536; elements 163840; gm 20"},
    };
    CHECK_ROWS(state, rows);
}

static void projections(void **state) {
    static const row rows[] = {
        {"rope_rows",
         "cos bf16 16384x64; sin bf16 16384x64; cos_t bf16 8x64; sin_t bf16 8x64;"
         "with position 8192; with per_request 2; grid b 1",
         1,
         "load cos 1024; load sin 1024; run cos 128; store cos_t 1024; store sin_t 1024;"
         "elements 2048; gm 8"},
        {"rms_norm", "x bf16 8x4096; g bf16 4096; y bf16 8x4096; grid b 1", 1,
         "load x 131072; load g 8192; store y 65536; elements 233472"},
        {"rope_prepare",
         "cos_t bf16 8x64; sin_t bf16 8x64; cos fp32 8x64; sin fp32 8x64; swap int32 8x64;"
         "grid b 1",
         1,
         "load cos_t 1024; load sin_t 1024; store cos 2048; store sin 2048; store swap 2048;"
         "elements 10240"},
        {"fill", "y fp32 16x1024; grid b 1", 1, "store y 65536; elements 16384"},
        {"fill", "y fp32 16x512; grid b 1", 1, "store y 32768; elements 8192"},
        {"qr_rms_norm_quant",
         "x fp32 16x1024; g bf16 1024; q int8 8x1024; padded int8 16x1024; scale fp32 8; grid b 1",
         1,
         "load x 65536; load g 4096; store q 8192; store padded 8192; store scale 32;"
         "elements 92256"},
        {"q_dequant_norm_rope",
         "acc int32 16x32768; scale fp32 8; w_scale fp32 32768; cos fp32 8x64; sin fp32 8x64;"
         "swap int32 8x64; q bf16 8x64x512; grid h 16",
         16,
         "load acc 65536; load scale 32; load w_scale 8192; load cos 2048; load sin 2048;"
         "load swap 2048; store q 32768; elements 123008"},
        {"kv_rms_norm_rope",
         "x fp32 16x512; g bf16 512; cos fp32 8x64; sin fp32 8x64; swap int32 8x64;"
         "kv bf16 8x512; grid b 1",
         1,
         "load x 32768; load g 1024; load cos 2048; load sin 2048; load swap 2048; store kv 8192;"
         "elements 23040"},
    };
    CHECK_ROWS(state, rows);
}

static void attention(void **state) {
    static const row rows[] = {
        {"swa_cache_insert",
         "kv bf16 8x512; lengths int32 8; cache bf16 128x128x512; bias fp32 8x128;"
         "with position 8192; with per_request 2; grid b 1",
         1,
         "load kv 8192; load lengths 32; store cache 8192; store bias 4096; elements 9216; gm 8"},
        {"swa_gather_kv",
         "cache bf16 128x128x512; kv bf16 8x128x512; with position 8192; with per_request 2;"
         "grid t 8; grid q 4",
         32, "load cache 32768; store kv 32768; gm 4"},
        {"qk_pv",
         "q bf16 8x64x512; kv bf16 8x128x512; bias fp32 8x128; s fp32 8x2x32x128;"
         "p bf16 8x2x32x128; o fp32 8x64x512; m fp32 8x64; l fp32 8x64; grid t 8",
         8,
         "load q 65536; load kv 131072; load bias 512; load s 32768; load p 16384; store s 32768;"
         "store p 16384; store o 131072; store m 256; store l 256; macs 8388608; valid 8388608;"
         "elements 57344"},
        {"rope_cs",
         "cos_t bf16 8x64; sin_t bf16 8x64; cos fp32 8x64; sin fp32 8x64; swap int32 16x64;"
         "grid b 1",
         1,
         "load cos_t 512; load sin_t 512; store cos 2048; store sin 2048; store swap 4096;"
         "elements 13824"},
        {"merge_norm",
         "o fp32 8x64x512; m fp32 8x64; l fp32 8x64; sink fp32 64; cos fp32 8x64; sin fp32 8x64;"
         "swap int32 16x64; packed bf16 8x8x4096; grid t 8; grid h 4",
         32,
         "load o 32768; load m 64; load l 64; load sink 64; load cos 256; load sin 256;"
         "load swap 4096; store packed 16384; elements 21584"},
    };
    CHECK_ROWS(state, rows);
}

static void output_projection(void **state) {
    static const row rows[] = {
        {"quant", "x fp32 16x1024; q int8 16x1024; scale fp32 8; grid b 1", 1,
         "load x 65536; store q 16384; store scale 32; elements 65536"},
        {"sum_groups_dequant",
         "parts int32 16x32768; scale fp32 8x8; w_scale fp32 4096; y bf16 8x4096; grid n 8", 8,
         "load parts 131072; load scale 256; load w_scale 2048; store y 8192; elements 110592"},
        {"prefetch",
         "wq_a bf16 4096x1024; wkv bf16 4096x512; wq_b int8 1024x32768; wo_a bf16 8192x4096;"
         "wo_b int8 4096x8192; grid b 1",
         1,
         "prefetch wq_a 8388608; prefetch wkv 4194304; prefetch wq_b 33554432;"
         "prefetch wo_a 67108864; prefetch wo_b 33554432"},
    };
    CHECK_ROWS(state, rows);
}

// ---- in order ------------------------------------------------------------------------------

static const char *list_library(fixture *f, const char *kernel, const char *settings,
                                npu_engine_type core, int64_t block, int lane) {
    start_over(f);
    assert_ok(f, load_kernel(f, kernel));
    assert_ok(f, bind_kernel(f, settings));
    return list_block(f, core, block, lane);
}

// Two fragments of 16 of 28 columns, half of K each, in L1 tiles of 32 and L0 tiles of 16. The
// second fragment has 12 columns in memory; slab 1 begins in row 16 of C.
static void a_matmul_walks_fragments_then_k_then_l0_tiles(void **state) {
    fixture *f = *state;
    static const char settings[] = "a fp32 8x128; b fp32 128x28; c fp32 32x32; with slabs 1;"
                                   "tile n 16; tile k 32; tile l0 1024; grid n 1; grid k 2";
    assert_string_equal(list_library(f, "matmul", settings, NPU_AIC, 1, 0),
                        "load a 256+128*8/512 > a1.1\n"
                        "load b 7168+64*32/112 > b1.1\n"
                        "extract a1.1 > a0.1 16x16\n"
                        "extract b1.1 > b0.1 16x16\n"
                        "matmul a0.1 b0.1 > c0.1 16x16x16 valid 2048\n"
                        "extract a1.1 > a0.0 16x16\n"
                        "extract b1.1 > b0.0 16x16\n"
                        "matmul a0.0 b0.0 > c0.1 16x16x16 valid 2048 acc\n"
                        "load a 384+128*8/512 > a1.0\n"
                        "load b 10752+64*32/112 > b1.0\n"
                        "extract a1.0 > a0.1 16x16\n"
                        "extract b1.0 > b0.1 16x16\n"
                        "matmul a0.1 b0.1 > c0.1 16x16x16 valid 2048 acc\n"
                        "extract a1.0 > a0.0 16x16\n"
                        "extract b1.0 > b0.0 16x16\n"
                        "matmul a0.0 b0.0 > c0.1 16x16x16 valid 2048 acc\n"
                        "store c0.1 > c 2048+64*16/128\n"
                        "load a 256+128*8/512 > a1.1\n"
                        "load b 7232+48*32/112 > b1.1\n"
                        "extract a1.1 > a0.1 16x16\n"
                        "extract b1.1 > b0.1 16x16\n"
                        "matmul a0.1 b0.1 > c0.0 16x16x16 valid 1536\n"
                        "extract a1.1 > a0.0 16x16\n"
                        "extract b1.1 > b0.0 16x16\n"
                        "matmul a0.0 b0.0 > c0.0 16x16x16 valid 1536 acc\n"
                        "load a 384+128*8/512 > a1.0\n"
                        "load b 10816+48*32/112 > b1.0\n"
                        "extract a1.0 > a0.1 16x16\n"
                        "extract b1.0 > b0.1 16x16\n"
                        "matmul a0.1 b0.1 > c0.0 16x16x16 valid 1536 acc\n"
                        "extract a1.0 > a0.0 16x16\n"
                        "extract b1.0 > b0.0 16x16\n"
                        "matmul a0.0 b0.0 > c0.0 16x16x16 valid 1536 acc\n"
                        "store c0.0 > c 2112+64*16/128\n");
}

static const char qk_pv_settings[] =
    "q bf16 2x4x64; kv bf16 2x16x64; bias fp32 2x16; s fp32 2x2x2x16; p bf16 2x2x2x16;"
    "o fp32 2x4x64; m fp32 2x4; l fp32 2x4; tile head 2; tile l0 1024; grid t 2";

// K^T in two L0 tiles of 32 x 16, V in two of 8 x 64.
static void the_cube_does_all_scores_before_the_first_output(void **state) {
    fixture *f = *state;
    assert_string_equal(list_library(f, "qk_pv", qk_pv_settings, NPU_AIC, 1, 0),
                        "load kv 2048+2048 > kv1.0\n"
                        "load q 512+256 > q1.1\n"
                        "extract q1.1 > a0.1 2x32\n"
                        "extract kv1.0 > b0.1 32x16\n"
                        "matmul a0.1 b0.1 > s0.1 2x16x32\n"
                        "extract q1.1 > a0.0 2x32\n"
                        "extract kv1.0 > b0.0 32x16\n"
                        "matmul a0.0 b0.0 > s0.1 2x16x32 acc\n"
                        "store s0.1 > s 256+128\n"
                        "signal FIXPIPE 0\n"
                        "load q 768+256 > q1.0\n"
                        "extract q1.0 > a0.1 2x32\n"
                        "extract kv1.0 > b0.1 32x16\n"
                        "matmul a0.1 b0.1 > s0.0 2x16x32\n"
                        "extract q1.0 > a0.0 2x32\n"
                        "extract kv1.0 > b0.0 32x16\n"
                        "matmul a0.0 b0.0 > s0.0 2x16x32 acc\n"
                        "store s0.0 > s 384+128\n"
                        "signal FIXPIPE 0\n"
                        "wait MTE2 1\n"
                        "load p 128+64 > p1.1\n"
                        "extract p1.1 > a0.1 2x8\n"
                        "extract kv1.0 > b0.1 8x64\n"
                        "matmul a0.1 b0.1 > o0.0 2x64x8\n"
                        "extract p1.1 > a0.0 2x8\n"
                        "extract kv1.0 > b0.0 8x64\n"
                        "matmul a0.0 b0.0 > o0.0 2x64x8 acc\n"
                        "store o0.0 > o 1024+512\n"
                        "wait MTE2 1\n"
                        "load p 192+64 > p1.0\n"
                        "extract p1.0 > a0.1 2x8\n"
                        "extract kv1.0 > b0.1 8x64\n"
                        "matmul a0.1 b0.1 > o0.0 2x64x8\n"
                        "extract p1.0 > a0.0 2x8\n"
                        "extract kv1.0 > b0.0 8x64\n"
                        "matmul a0.0 b0.0 > o0.0 2x64x8 acc\n"
                        "store o0.0 > o 1536+512\n");
}

static void lane_0_works_and_lane_1_answers(void **state) {
    fixture *f = *state;
    assert_string_equal(list_library(f, "qk_pv", qk_pv_settings, NPU_AIV, 0, 0),
                        "load bias 0+64 > bb.0\n"
                        "wait MTE2 0\n"
                        "load s 0+128 > sb.1\n"
                        "muls sb.1 > sb.1 2x16\n"
                        "add sb.1 bb.0 > sb.1 2x16\n"
                        "row_max sb.1 > peak.1 2x16\n"
                        "row_expand_sub sb.1 peak.1 > sb.1 2x16\n"
                        "exp sb.1 > sb.1 2x16\n"
                        "row_sum sb.1 > sum.1 2x16\n"
                        "cast sb.1 > pb.1 2x16\n"
                        "store pb.1 > p 0+64\n"
                        "signal MTE3 1\n"
                        "store peak.1 > m 0+8\n"
                        "store sum.1 > l 0+8\n"
                        "wait MTE2 0\n"
                        "load s 128+128 > sb.0\n"
                        "muls sb.0 > sb.0 2x16\n"
                        "add sb.0 bb.0 > sb.0 2x16\n"
                        "row_max sb.0 > peak.0 2x16\n"
                        "row_expand_sub sb.0 peak.0 > sb.0 2x16\n"
                        "exp sb.0 > sb.0 2x16\n"
                        "row_sum sb.0 > sum.0 2x16\n"
                        "cast sb.0 > pb.0 2x16\n"
                        "store pb.0 > p 64+64\n"
                        "signal MTE3 1\n"
                        "store peak.0 > m 8+8\n"
                        "store sum.0 > l 8+8\n");
    assert_string_equal(list_block(f, NPU_AIV, 0, 1), "wait MTE2 0\n"
                                                      "signal MTE2 1\n"
                                                      "wait MTE2 0\n"
                                                      "signal MTE2 1\n");
}

// Pages of 8 rows, a pool of 6; token 3 is request 1 at position 17, its window 10 to 17. Rows
// 10 to 15 are in its page 1 (1 * 2 + 1 = 3 of the pool), 16 and 17 in its page 2 (5).
static void a_gather_copies_runs_and_splits_those_that_cross_a_page(void **state) {
    fixture *f = *state;
    static const char settings[] = "cache bf16 6x8x16; kv bf16 4x8x16; with position 16;"
                                   "with per_request 2; with run 4; grid t 4; grid q 1";
    assert_string_equal(list_library(f, "swa_gather_kv", settings, NPU_AIV, 3, 0),
                        "scalar 0 4\n"
                        "load cache 832+128 > bulk.1\n" // 3 * 256 + 2 * 32
                        "store bulk.1 > kv 768+128\n"
                        "load cache 960+32 > row.1\n"
                        "store row.1 > kv 896+32\n"
                        "load cache 992+32 > row.0\n"
                        "store row.0 > kv 928+32\n"
                        "load cache 1280+32 > row.1\n"
                        "store row.1 > kv 960+32\n"
                        "load cache 1312+32 > row.0\n"
                        "store row.0 > kv 992+32\n");
}

static void gemms(void **state) {
    static const row rows[] = {
        // 4 x 2 tiles on one block: A and B are read again for each
        {"gemm", "a bf16 512x512; b bf16 512x512; c fp32 512x512; grid m 1; grid n 1", 1,
         "load a 1048576; load b 2097152; store c 1048576; macs 134217728; valid 134217728"},
        {"gemm", "a bf16 512x512; b bf16 512x512; c fp32 512x512; grid m 4; grid n 2", 8,
         "load a 131072; load b 262144; store c 131072; macs 16777216; valid 16777216"},
        {"gemm",
         "a int8 32x64; b int8 96x64 t; c int32 32x96; tile m 32; tile n 32; tile k 64;"
         "grid m 1; grid n 3",
         3, "load a 2048; load b 2048; store c 4096; macs 65536; valid 65536"},
    };
    CHECK_ROWS(state, rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(gemms, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_matmul_walks_fragments_then_k_then_l0_tiles, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_cube_does_all_scores_before_the_first_output, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(lane_0_works_and_lane_1_answers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_gather_copies_runs_and_splits_those_that_cross_a_page,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(matmuls, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hyper_connection, set_up, tear_down),
        cmocka_unit_test_setup_teardown(projections, set_up, tear_down),
        cmocka_unit_test_setup_teardown(attention, set_up, tear_down),
        cmocka_unit_test_setup_teardown(output_projection, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
