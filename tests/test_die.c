// SPDX-License-Identifier: Apache-2.0
// The dies that are shipped, and what is derived from a die.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "die.h"

static const char folder[] = NPUSIM_SOURCE "/configs/die";

static npu_die load(const char *name) {
    npu_die die;
    npu_error err = {0};
    npu_status status = npu_die_load(folder, name, &die, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, NPU_OK);
    return die;
}

static void assert_text(const npu_die *die, const char *field, const char *expected) {
    char text[64];
    int i = npu_die_field_find(field);
    assert_true(i >= 0);
    assert_string_equal(npu_die_field_text(die, i, text, sizeof text), expected);
}

static void assert_near(double value, double expected, double tolerance) {
    if (!(value >= expected - tolerance && value <= expected + tolerance))
        fail_msg("%.9g is not %.9g +- %g", value, expected, tolerance);
}

// What differs between the bins: soc_platform_config.csv, and 2 x 4096 x clock x clusters.
static const struct {
    const char *name;
    double clusters, clock, l2_mib, hbm_gib, hbm_rate, tflops;
} bins[] = {
    {"910B1", 24, 1.85, 192, 64, 1759.2, 363.7}, {"910B2", 24, 1.8, 192, 64, 1759.2, 353.9},
    {"910B3", 20, 1.8, 192, 64, 1759.2, 294.9},  {"910B4", 20, 1.5, 96, 32, 879.6, 245.8},
    {"9362", 20, 1.5, 168, 64, 1759.2, 245.8},   {"9372", 20, 1.8, 192, 64, 1759.2, 294.9},
    {"9391", 24, 1.85, 192, 64, 1759.2, 363.7},  {"A3", 24, 1.85, 192, 64, 1759.2, 363.7},
};
enum { BINS = sizeof bins / sizeof *bins };

static void shipped_dies_are_the_published_bins(void **state) {
    (void)state;
    for (int i = 0; i < BINS; i++) {
        npu_die die = load(bins[i].name);
        assert_string_equal(die.name, bins[i].name);
        assert_near(die.clusters, bins[i].clusters, 0.0);
        assert_near(die.clock, bins[i].clock, 1e-12);
        assert_near(die.l2.size, bins[i].l2_mib * 1048576.0, 0.0);
        assert_near(die.hbm.size, bins[i].hbm_gib * 1073741824.0, 0.0);
        assert_near(die.hbm.rate, bins[i].hbm_rate, 0.05);
        assert_near(npu_die_tflops(&die, NPU_FP16), bins[i].tflops, 0.05);
        npu_die_free(&die);
    }
}

static void list_holds_the_shipped_dies_and_no_base(void **state) {
    (void)state;
    npu_arena arena = {0};
    npu_error err = {0};
    const char *const *names = NULL;
    int count = 0;
    assert_int_equal(npu_die_list(&arena, folder, &names, &count, &err), NPU_OK);
    assert_int_equal(count, BINS);
    for (int i = 0; i < BINS; i++)
        assert_string_equal(names[i], bins[i].name);
    npu_arena_free(&arena);
}

static void every_number_says_where_it_is_from(void **state) {
    (void)state;
    for (int i = 0; i < BINS; i++) {
        npu_die die = load(bins[i].name);
        for (int f = 0; f < npu_die_field_count(); f++) {
            char name[64];
            npu_die_field_name(f, name, sizeof name);
            const npu_die_note *note = &die.notes[f];
            if (note->confidence == NPU_UNSURE || note->source == NULL || note->source[0] == '\0')
                fail_msg("%s of %s has no confidence or no source", name, bins[i].name);
            assert_non_null(note->pos.file);
            assert_true(note->pos.line > 0);
        }
        npu_die_free(&die);
    }
}

static void numbers_of_a3_are_those_of_the_sources(void **state) {
    (void)state;
    static const char *const values[][2] = {
        {"clock", "1.85GHz"},
        {"trace_clock", "50MHz"},
        {"buffers.l0a", "64KiB"},
        {"buffers.l0c", "128KiB"},
        {"buffers.ub", "196352B"}, // 192 * 1024 - 256
        {"align.l0b", "512B"},
        {"align.l0c", "64B"},
        {"cube.mac_int8", "8192MAC/cyc"},
        {"cube.head", "21cyc"},
        {"mte1.l0a", "256B/cyc"},
        {"fixpipe.row_floor", "4.45cyc"},
        {"vector.ops.div.per_repeat", "4.03cyc"},
        {"vector.ops.gather.per_row", "46.6cyc"},
        {"hbm.rate", "1.6TiB/s"},
        {"hbm.efficiency", "0.85"},
        {"hbm.crowd", "8"},
        {"hbm.crowd_rate", "630GB/s"},
        {"l2.read", "6.5TB/s"},
        {"l2.sector", "128B"},
        {"l2.hit_latency", "90ns"},
        {"l2.miss_latency", "230ns"},
        {"mte.per_row", "2.7cyc"},
        {"aiv_port.write", "27.8B/cyc"},
        {"sdma.rate", "285GB/s"},
        {"sdma.shared", "76.5GB/s"},
        {"aicpu.cold", "1.8us"},
        {"aicpu.propagation", "140ns"},
    };
    npu_die die = load("A3");
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        assert_text(&die, values[i][0], values[i][1]);
    npu_die_free(&die);
}

// What one core alone was seen to take.
static void one_core_alone_takes_what_was_measured(void **state) {
    (void)state;
    npu_die die = load("A3");
    // add.1: 16 KB in 379 ns, latency and bytes; 8 KB out in 159 ns.
    assert_near(die.l2.miss_latency + 16384 / (die.aiv.read * die.clock), 379.0, 15.0);
    assert_near(8192 / (die.aiv.write * die.clock), 159.0, 1.0);
    // copy.UB1: an instruction of one row takes 20.6 cycles.
    assert_near(die.mte.issue + die.mte.per_row, 20.6, 0.15);
    // mm8192.C8: a GEMM that L2 feeds takes 84.5 B/cyc.
    assert_near(die.aic.read, 84.5, 1.0);
    // Lines in flight do not keep a stream of large tiles of an AIV below its port. An AIC draws
    // 58 to 66 GB/s from HBM (C01, mm8192.C1), and its port from L2.
    assert_true(die.aiv.outstanding * die.l2.line / die.l2.miss_latency > die.aiv.read * die.clock);
    assert_near(die.aic.outstanding * die.l2.line / die.l2.miss_latency, 62.0, 4.0);
    assert_true(die.aic.outstanding * die.l2.line / die.l2.hit_latency > die.aic.read * die.clock);
    npu_die_free(&die);
}

static void peaks_follow_from_the_fields(void **state) {
    (void)state;
    npu_die die = load("A3");
    assert_near(npu_die_tflops(&die, NPU_FP16), 363.7248, 1e-9); // 2 * 4096 * 1.85 * 24 / 1000
    assert_near(npu_die_tflops(&die, NPU_BF16), 363.7248, 1e-9);
    assert_near(npu_die_tflops(&die, NPU_INT8), 727.4496, 1e-9);
    assert_near(npu_die_tflops(&die, NPU_FP32), 90.9312, 1e-9);
    assert_near(npu_die_tflops(&die, NPU_INT32), 0.0, 0.0);
    assert_near(npu_die_hbm_rate(&die), 1495.3358137, 1e-6); // 1.6 * 2^40 / 1e9 * 0.85
    npu_die_free(&die);
}

static void walls_are_those_of_the_die(void **state) {
    (void)state;
    npu_die die = load("910B4");
    npu_walls walls;
    npu_die_walls(&die, &walls);
    static const int64_t buffer[NPU_BUFFER_COUNT] = {65536, 65536, 131072, 524288, 196352};
    static const int64_t align[NPU_BUFFER_COUNT] = {512, 512, 64, 32, 32};
    for (int b = 0; b < NPU_BUFFER_COUNT; b++) {
        assert_int_equal(walls.buffer[b], buffer[b]);
        assert_int_equal(walls.align[b], align[b]);
    }
    assert_int_equal(walls.min_alloc, 32);
    assert_int_equal(walls.line, 512);
    assert_int_equal(walls.clusters, 20);
    npu_die_free(&die);
}

static void field_names_are_unique_and_found(void **state) {
    (void)state;
    for (int i = 0; i < npu_die_field_count(); i++) {
        char name[64];
        assert_int_equal(npu_die_field_find(npu_die_field_name(i, name, sizeof name)), i);
    }
    assert_int_equal(npu_die_field_find("vector.ops"), -1);
    assert_int_equal(npu_die_field_find(""), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_dies_are_the_published_bins),
        cmocka_unit_test(list_holds_the_shipped_dies_and_no_base),
        cmocka_unit_test(every_number_says_where_it_is_from),
        cmocka_unit_test(numbers_of_a3_are_those_of_the_sources),
        cmocka_unit_test(one_core_alone_takes_what_was_measured),
        cmocka_unit_test(peaks_follow_from_the_fields),
        cmocka_unit_test(walls_are_those_of_the_die),
        cmocka_unit_test(field_names_are_unique_and_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
