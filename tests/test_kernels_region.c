// SPDX-License-Identifier: Apache-2.0
// Regions: which bytes of GM an op touches, as runs and rows, for any strides.
#include "kernel.h"
#include "test_kernels_util.h"

// One op that loads `region` of an argument x; the window may be changed before the binding.
static void parse_region_kernel(fixture *f, const char *region) {
    char text[512];
    snprintf(text, sizeof text,
             "engine: aiv\n"
             "args: { x: in }\n"
             "slots: { s: { in: ub, bytes: 64KiB } }\n"
             "program: [ load: { from: \"%s\", to: s } ]\n",
             region);
    assert_ok(f, parse_kernel(f, text));
}

static const npu_gm *load_region(fixture *f, const char *region, const char *settings) {
    start_over(f);
    parse_region_kernel(f, region);
    assert_ok(f, bind_kernel(f, settings));
    assert_ok(f, stream_block(f, NPU_AIV, f->program.block_num - 1, 0));
    return &f->ops[0].gm;
}

typedef struct row {
    const char *region, *settings;
    int64_t address, run;
    int rows[2];
    int64_t stride[2];
} row;

static void regions_become_runs_and_rows(void **state) {
    static const row rows[] = {
        // the last dimension is contiguous: it is the run
        {"x[2 : 3, 8 : 16]", "x fp32 8x64", 2 * 256 + 32, 64, {1, 3}, {0, 256}},
        // an index, one element
        {"x[5, 7]", "x bf16 8x64", 5 * 128 + 14, 2, {1, 1}, {0, 0}},
        {"x[5, 7 : 1]", "x bf16 8x64", 5 * 128 + 14, 2, {1, 1}, {0, 0}},
        // whole rows follow each other: one run
        {"x[2 : 3, :]", "x fp32 8x64", 512, 768, {1, 1}, {0, 0}},
        {"x[:, :]", "x int8 8x64", 0, 512, {1, 1}, {0, 0}},
        // three dimensions: the two inner ones merge, or the outer ones do
        {"x[1 : 2, :, :]", "x int8 4x3x5", 15, 30, {1, 1}, {0, 0}},
        {"x[1 : 2, 0 : 2, :]", "x int8 4x3x5", 15, 10, {1, 2}, {0, 15}},
        {"x[:, :, 1 : 2]", "x int8 4x3x5", 1, 2, {1, 12}, {0, 5}},
        {"x[1 : 3, 0 : 2, 1 : 2]", "x int8 4x3x5", 16, 2, {3, 2}, {15, 5}},
        {"x[:, 1, :]", "x int8 4x3x5", 5, 5, {1, 4}, {0, 15}},
        // a column: rows of one element
        {"x[:, 3]", "x fp32 4x8", 12, 4, {1, 4}, {0, 32}},
        // transposed: the first dimension is the contiguous one
        {"x[0 : 16, 2 : 4]", "x bf16 32x64 t", 2 * 128, 32, {1, 4}, {0, 128}},
        {"x[:, 2 : 4]", "x bf16 32x64 t", 2 * 128, 512, {1, 1}, {0, 0}},
        {"x[3, 2 : 4]", "x bf16 32x64 t", 2 * 128 + 6, 2, {1, 4}, {0, 128}},
        // starts and lengths that depend on the block
        {"x[block, block * 2 : block + 1]", "x int8 8x64; grid b 4", 3 * 64 + 6, 4, {1, 1}, {0, 0}},
        {"x[0 : block, 0 : 8]", "x int8 8x64; grid b 4", 0, 8, {1, 3}, {0, 64}},
        // a colon of a choice is no colon of a range
        {"x[block > 2 ? 1 : 0, 8 : block > 2 ? 4 : 2]",
         "x int8 8x64; grid b 4",
         72,
         4,
         {1, 1},
         {0, 0}},
        {"x[min(block, 1), (1 + 1) * 2 : 4]", "x int8 8x64; grid b 4", 68, 4, {1, 1}, {0, 0}},
    };
    fixture *f = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *r = &rows[i];
        const npu_gm *gm = load_region(f, r->region, r->settings);
        bool same = gm->address == r->address && gm->run == r->run;
        for (int k = 0; k < 2; k++)
            same = same && gm->rows[k] == r->rows[k] && gm->stride[k] == r->stride[k];
        if (!same)
            fail_msg("%s: %lld+%lld, %d/%lld, %d/%lld", r->region, (long long)gm->address,
                     (long long)gm->run, gm->rows[0], (long long)gm->stride[0], gm->rows[1],
                     (long long)gm->stride[1]);
        assert_int_equal(gm->arg, 0);
        assert_int_equal(npu_gm_bytes(gm), r->run * r->rows[0] * r->rows[1]);
    }
}

// A window of 4 rows of 16 in a tensor whose rows are 100 apart, from element 50 on.
static void a_window_brings_its_strides_and_its_address(void **state) {
    fixture *f = *state;
    npu_window window = {
        .dtype = NPU_FP32, .rank = 2, .shape = {4, 16}, .stride = {100, 1}, .address = 200};
    int64_t all[] = {4, 16};
    int64_t some[] = {2, 16};
    npu_gm gm = {0};
    assert_ok(f, npu_region_shape(&window, all, window.pos, &gm, &f->err));
    assert_int_equal(gm.run, 64);
    assert_int_equal(gm.rows[1], 4);
    assert_int_equal(gm.stride[1], 400);
    npu_region region = {.rank = 2, .fixed = true, .start = {{.value = 1}}};
    region.length[0].value = 2;
    region.length[1].value = 16;
    int64_t last = 0;
    assert_ok(f, npu_region_shape(&window, some, window.pos, &region.shape, &f->err));
    assert_ok(f, npu_region_eval(&region, &window, "x", NULL, &gm, &last, &f->err));
    assert_int_equal(gm.address, 200 + 400);
    assert_int_equal(last, 16);
}

static void a_broadcast_window_reads_the_same_bytes_again(void **state) {
    fixture *f = *state;
    npu_window window = {.dtype = NPU_BF16, .rank = 2, .shape = {4, 16}, .stride = {0, 1}};
    int64_t all[] = {4, 16};
    npu_gm gm = {0};
    assert_ok(f, npu_region_shape(&window, all, window.pos, &gm, &f->err));
    assert_int_equal(gm.run, 32);
    assert_int_equal(gm.rows[1], 4);
    assert_int_equal(gm.stride[1], 0);
}

static void three_strides_are_too_many(void **state) {
    fixture *f = *state;
    start_over(f);
    parse_region_kernel(f, "x[0 : 2, 0 : 2, 0 : 2, 0 : 2]");
    assert_int_equal(bind_kernel(f, "x fp32 4x4x4x4"), NPU_BAD_INPUT);
    assert_string_equal(
        f->err.text,
        "k.yaml:4:27: the region steps through memory in more than two strides; split it");
    // the same region is fine where dimensions merge
    const npu_gm *gm = load_region(f, "x[0 : 2, :, 0 : 2, 0 : 2]", "x fp32 4x4x4x4");
    assert_int_equal(gm->rows[0] * gm->rows[1], 16);
    assert_int_equal(gm->stride[0], 64);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(regions_become_runs_and_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_window_brings_its_strides_and_its_address, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_broadcast_window_reads_the_same_bytes_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(three_strides_are_too_many, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
