// SPDX-License-Identifier: Apache-2.0
// What is read off a run that was made by hand: 2 AICs (cores 0, 1) and 4 AIVs (2 to 5).
//
//   proj[0], proj[1]  AIC, 2 and 1 blocks
//   fuse              MIX, 2 blocks
//   act               AIV, 1 block, takes no time
//   late              a dummy
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "reading.h"

static const npu_task tasks[] = {
    {.name = "proj[0]", .kernel = "proj", .engine = NPU_AIC, .block_num = 2},
    {.name = "proj[1]", .kernel = "proj", .engine = NPU_AIC, .block_num = 1},
    {.name = "fuse", .kernel = "fuse", .engine = NPU_MIX, .block_num = 2},
    {.name = "act", .kernel = "act", .engine = NPU_AIV, .block_num = 1},
    {.name = "late", .kernel = "late", .engine = NPU_DUMMY},
};
static const npu_graph graph = {.tasks = tasks, .task_count = 5};

static const npu_core_info cores[] = {{NPU_AIC, 0}, {NPU_AIC, 0}, {NPU_AIV, 0},
                                      {NPU_AIV, 0}, {NPU_AIV, 0}, {NPU_AIV, 0}};

static npu_row row(int core, int task, int64_t block, double start, double end) {
    return (npu_row){.core = core, .task = task, .block = block, .start = start, .end = end};
}

// Sorted by start, as a trace is.
static npu_trace make_trace(npu_row rows[16]) {
    int n = 0;
    rows[n] = row(0, 0, 0, 100, 300); // proj[0]: 200 ns on core 0
    rows[n].busy[NPU_PIPE_MTE2] = 150;
    rows[n].read_bytes = 4000;
    rows[n++].write_bytes = 1000;
    rows[n] = row(1, 0, 1, 120, 520); // 400 ns on core 1
    rows[n].busy[NPU_PIPE_MTE2] = 250;
    rows[n].read_bytes = 6000;
    rows[n++].write_bytes = 500;
    rows[n] = row(0, 1, 0, 400, 600); // proj[1]: 200 ns on core 0 again
    rows[n].busy[NPU_PIPE_MTE2] = 50;
    rows[n].read_bytes = 1000;
    rows[n++].write_bytes = 0;
    rows[n] = row(0, 2, 0, 700, 800); // fuse, block 0: 700 to 900
    rows[n++].busy[NPU_PIPE_MTE2] = 60;
    rows[n] = row(2, 2, 0, 710, 900);
    rows[n].busy[NPU_PIPE_MTE2] = 20;
    rows[n++].busy[NPU_PIPE_V] = 30;
    rows[n++] = row(3, 2, 0, 720, 860);
    rows[n++] = row(1, 2, 1, 800, 1000); // block 1: 800 to 1100
    rows[n++] = row(4, 2, 1, 800, 1100);
    rows[n] = row(5, 2, 1, 850, 900);
    rows[n++].busy[NPU_PIPE_V] = 10;
    rows[n] = row(2, 3, 0, 1200, 1200);
    rows[n++].read_bytes = 64;
    return (npu_trace){.cores = cores,
                       .core_count = 6,
                       .rows = rows,
                       .row_count = n,
                       .makespan = 1300,
                       .core_hz = 2e9};
}

static npu_status value_of(const char *text, double *value, npu_error *err) {
    npu_arena arena = {0};
    npu_row rows[16] = {{0}};
    npu_trace trace = make_trace(rows);
    npu_reading reading;
    npu_status status = npu_reading_parse(&arena, text, (npu_pos){"c.yaml", 3, 9}, &reading, err);
    if (status == NPU_OK)
        status = npu_reading_value(&reading, &trace, &graph, value, err);
    npu_arena_free(&arena);
    return status;
}

static void figures_by_hand(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double value;
    } known[] = {
        {"makespan", 1300},
        {"time of proj", 500},    // 100 to 600
        {"time of proj[0]", 420}, // 100 to 520
        {"time of proj[1]", 200},
        {"time of fuse", 400},  // 700 to 1100
        {"time of act", 0},     // it ran, in no time
        {"time of *", 1100},    // 100 to 1200
        {"time of *roj*", 500}, //
        {"time of p*j", 500},   //
        {"mean time of proj", 800.0 / 3},
        {"max time of proj", 400},
        {"sum time of proj", 800},
        {"core time of proj", 800},
        {"mean time of fuse", 250}, // blocks of 200 and 300
        {"max time of fuse", 300},
        {"sum time of fuse", 500},
        {"core time of fuse", 100 + 190 + 140 + 200 + 300 + 50},
        {"busy mte2 of proj", 225}, // core 0: 150 + 50, core 1: 250
        {"busy MTE2 of proj", 225},
        {"busy aic mte2 of proj", 225},
        {"busy aic mte2 of fuse", 30}, // 60 on core 0, nothing on core 1
        {"busy AIV mte2 of fuse", 5},  // 20 on one of four
        {"busy vec of fuse", 10},      // 40 on four
        {"busy v of fuse", 10},
        {"busy mac of fuse", 0},
        {"busy cube of fuse", 0},
        {"busy fixpipe of proj", 0},
        {"rate of proj", 12500.0 / 500},
        {"read rate of proj", 11000.0 / 500},
        {"write rate of proj", 1500.0 / 500},
        {"write rate of fuse", 0},
        {"count of proj", 3},
        {"count of fuse", 6},
        {"blocks of proj", 3},
        {"blocks of fuse", 2},
        {"blocks of *", 6},
        {"  time   of  proj ", 500},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        npu_error err = {{0}};
        double value = -1;
        if (value_of(known[i].text, &value, &err) != NPU_OK)
            print_error("%s: %s\n", known[i].text, err.text);
        assert_string_equal(err.text, "");
        if (!(value > known[i].value - 1e-9 && value < known[i].value + 1e-9))
            print_error("%s: %g\n", known[i].text, value);
        assert_float_equal(value, known[i].value, 1e-9);
    }
}

static void what_did_not_happen_is_an_error(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"time of prjo", "c.yaml:3:17: no kernel 'prjo' ran; did you mean 'proj'?"},
        {"time of proj[2]", "c.yaml:3:17: no kernel 'proj[2]' ran"},
        {"time of late", "c.yaml:3:17: no kernel 'late' ran"},
        {"count of q*", "c.yaml:3:18: no kernel 'q*' ran"},
        {"read rate of act", "c.yaml:3:22: kernel 'act' takes no time, so it has no rate"},
        {"busy mte2 of fuse", "c.yaml:3:22: 'fuse' ran on AICs and AIVs, and both have the pipe "
                              "MTE2; write 'busy aic' or 'busy aiv'"},
        {"busy scalar of *", "c.yaml:3:24: '*' ran on AICs and AIVs, and both have the pipe S; "
                             "write 'busy aic' or 'busy aiv'"},
        {"busy vec of proj", "c.yaml:3:21: 'proj' ran on no AIV, which has the pipe V"},
        {"busy mac of act", "c.yaml:3:21: 'act' ran on no AIC, which has the pipe M"},
        {"busy aiv mte2 of proj", "c.yaml:3:26: 'proj' ran on no AIV, which has the pipe MTE2"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        npu_error err = {{0}};
        double value = 0;
        assert_int_equal(value_of(wrong[i].text, &value, &err), NPU_BAD_INPUT);
        assert_string_equal(err.text, wrong[i].message);
    }
}

static void the_same_reading_is_known(void **state) {
    (void)state;
    static const struct {
        const char *a, *b;
        bool same;
    } pairs[] = {
        {"time of k", "time  of k", true},
        {"time of k relative to v", "time of k", true},
        {"time of k", "time of j", false},
        {"time of k", "mean time of k", false},
        {"makespan", "time of k", false},
        {"makespan", "makespan", true},
        {"busy v of k", "busy vec of k", true},
        {"busy vec of k", "busy mte3 of k", false},
        {"busy mte2 of k", "busy aic mte2 of k", false},
    };
    npu_arena arena = {0};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        npu_reading a, b;
        npu_pos nowhere = {0};
        assert_int_equal(npu_reading_parse(&arena, pairs[i].a, nowhere, &a, NULL), NPU_OK);
        assert_int_equal(npu_reading_parse(&arena, pairs[i].b, nowhere, &b, NULL), NPU_OK);
        assert_int_equal(npu_reading_same(&a, &b), pairs[i].same);
        assert_int_equal(npu_reading_same(&b, &a), pairs[i].same);
    }
    npu_arena_free(&arena);
}

static void the_base_may_have_spaces(void **state) {
    (void)state;
    npu_arena arena = {0};
    npu_reading r;
    assert_int_equal(npu_reading_parse(&arena, "busy aiv v of a.b[3] relative to K-tile 256 ",
                                       (npu_pos){"c.yaml", 3, 1}, &r, NULL),
                     NPU_OK);
    assert_string_equal(r.base, "K-tile 256");
    assert_int_equal(r.base_pos.col, 34);
    assert_string_equal(r.kernel, "a.b[3]");
    assert_int_equal(r.kernel_pos.col, 15);
    assert_int_equal(r.core, NPU_AIV);
    assert_int_equal(r.pipe, NPU_PIPE_V);
    npu_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_by_hand),
        cmocka_unit_test(what_did_not_happen_is_an_error),
        cmocka_unit_test(the_same_reading_is_known),
        cmocka_unit_test(the_base_may_have_spaces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
