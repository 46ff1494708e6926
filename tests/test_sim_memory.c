// SPDX-License-Identifier: Apache-2.0
// Lines of L2 and what moves them, on the die of test_sim_core.h: x and y have 4096 lines each, x
// from address 0; 64 lines are a page.
#include "test_sim_core.h"

#define EMPTY(x) GRAPH("aiv", x, UB(a, 1, 1), "[{ scalar: { ops: 1 } }]")

static const double line = 512;
static const int64_t page_bytes = 64 * 512;
static const int64_t y_address = 4096 * 512;

static void make(fixture *f, const char *x, double pages) {
    f->die.l2.size = pages * (double)page_bytes;
    load(f, x);
    build(f);
}

static npu_gm gm(int64_t address, int64_t run) {
    return (npu_gm){.address = address, .run = run, .rows = {1, 1}};
}

static npu_gm gm_rows(int64_t address, int64_t run, int32_t rows, int64_t stride) {
    return (npu_gm){.address = address, .run = run, .rows = {1, rows}, .stride = {0, stride}};
}

// What a load of `core` finds, in lines; a sector is a quarter.
typedef struct found {
    double hit, miss, late, crowd, queued;
} found;

static void assert_touch(fixture *f, int core, npu_gm region, bool bypass, found want) {
    npu_touch touch = npu_memory_load(f->memory, &region, NPU_WEIGHT, core, bypass);
    if (touch.hit != want.hit * line || touch.miss != want.miss * line ||
        touch.late != want.late * line || touch.crowd != want.crowd * line ||
        touch.queued != want.queued * line)
        fail_msg("hit %g, miss %g, late %g, crowd %g, queued %g lines; expected %g, %g, %g, %g, %g",
                 touch.hit / line, touch.miss / line, touch.late / line, touch.crowd / line,
                 touch.queued / line, want.hit, want.miss, want.late, want.crowd, want.queued);
    npu_memory_check_invariants(f->memory);
}

static void assert_load(fixture *f, npu_gm region, double hit_lines, double miss_lines) {
    assert_touch(f, AIV0, region, false, (found){.hit = hit_lines, .miss = miss_lines});
}

static void assert_missing(const fixture *f, int64_t address, int64_t bytes, double lines) {
    if (npu_memory_missing(f->memory, address, bytes) != lines * line)
        fail_msg("%g lines are missing, expected %g",
                 npu_memory_missing(f->memory, address, bytes) / line, lines);
}

static void assert_bypass(fixture *f, npu_gm region, double hit_lines, double miss_lines) {
    assert_touch(f, AIV0, region, true, (found){.hit = hit_lines, .miss = miss_lines});
}

// ---- lines -------------------------------------------------------------------------------------

static void a_run_touches_whole_lines(void **state) {
    fixture *f = *state;
    make(f, EMPTY(COLD), 64);
    assert_load(f, gm(0, 512), 0, 1);
    assert_load(f, gm(1024, 1), 0, 1);
    assert_load(f, gm(2047, 2), 0, 2);               // lines 3 and 4
    assert_load(f, gm(10 * 512 + 1, 512), 0, 2);     // lines 10 and 11
    assert_load(f, gm(60 * 512, 100 * 512), 0, 100); // over a page's end
    assert_load(f, gm(200 * 512 + 256, 300 * 512), 0, 301);
}

static void a_bypassing_load_leaves_nothing(void **state) {
    fixture *f = *state;
    make(f, EMPTY(COLD), 64);
    assert_load(f, gm(0, 1024), 0, 2);
    assert_bypass(f, gm(512, 2048), 1, 3); // the second line is there
    assert_bypass(f, gm(512, 2048), 1, 3);
    assert_load(f, gm(512, 2048), 1, 3);
    // A sector of every other line: 0, 2 and 4 are there, and of the others no more is fetched.
    assert_bypass(f, gm_rows(0, 128, 8, 1024), 3 * 0.25, 5 * 0.25);
    assert_missing(f, 5 * 512, 11 * 512, 11);
}

static void each_row_fetches_whole_lines(void **state) {
    fixture *f = *state;
    make(f, EMPTY(COLD), 64);
    // 128 B in every 4 KiB: a line each. Once they are there, only a sector of each crosses.
    assert_load(f, gm_rows(0, 128, 32, 4096), 0, 32);
    assert_load(f, gm_rows(0, 128, 32, 4096), 32 * 0.25, 0);
    // The next 128 B are in the same lines; 128 B across a line's end are in two, the second new.
    assert_load(f, gm_rows(128, 128, 32, 4096), 32 * 0.25, 0);
    assert_load(f, gm_rows(448, 128, 32, 4096), 32 * 0.25, 32);
    // Four rows in one line ask for it four times.
    assert_load(f, gm_rows(512 * 1024, 128, 4, 128), 3 * 0.25, 1);
    // Rows of rows: 2 x 3 of 2 lines.
    npu_gm region = {
        .address = 600 * 512, .run = 1024, .rows = {2, 3}, .stride = {200 * 512, 4096}};
    assert_load(f, region, 0, 12);
    // Upwards, and the last line of a page with the first of the next.
    assert_load(f, gm_rows(1000 * 512, 512, 3, -512), 0, 3);
    assert_missing(f, 998 * 512, 3 * 512, 0);
    assert_load(f, gm_rows(1151 * 512 + 256, 512, 2, 64 * 512), 0, 4);
}

static void a_line_is_fetched_once(void **state) {
    fixture *f = *state;
    make(f, EMPTY(COLD), 64);
    assert_load(f, gm(0, 10 * 512), 0, 10);
    assert_load(f, gm(5 * 512, 10 * 512), 5, 5);
    assert_load(f, gm(0, 15 * 512), 15, 0);
    const npu_totals *totals = &f->trace.totals;
    assert_true(totals->l2_miss_bytes == 15 * line && totals->l2_hit_bytes == 20 * line);
    assert_true(totals->hbm_read_bytes == 15 * line && totals->hbm_write_bytes == 0);
}

static void a_store_leaves_its_lines_in_l2(void **state) {
    fixture *f = *state;
    make(f, EMPTY(COLD), 64);
    npu_gm region = gm(100, 1000); // lines 0 to 2, nothing is read for the parts not written
    assert_true(npu_memory_store(f->memory, &region, false) == 3 * line);
    assert_load(f, gm(0, 4 * 512), 3, 1);
    assert_true(f->trace.totals.hbm_read_bytes == 1 * line);
    // An atomic add moves twice as much.
    assert_true(npu_memory_store(f->memory, &region, true) == 2 * 3 * line);
}

static void lines_that_are_filled_are_not_missing(void **state) {
    fixture *f = *state;
    make(f, EMPTY(COLD), 64);
    assert_missing(f, 100, 1000, 3);
    npu_memory_fill(f->memory, 512, 100 * 512);
    assert_missing(f, 0, 200 * 512, 100);
    assert_load(f, gm(0, 200 * 512), 100, 100);
}

// ---- sectors, lines on their way, ragged ends, crowds -----------------------------------------

static void of_lines_in_l2_the_sectors_asked_for_cross(void **state) {
    fixture *f = *state;
    make(f, EMPTY(COLD), 64);
    assert_load(f, gm(0, 64 * 512), 0, 64);
    assert_load(f, gm(0, 1), 0.25, 0);
    assert_load(f, gm(64, 128), 0.5, 0);           // 64 - 192: two sectors
    assert_load(f, gm(384, 512), 1, 0);            // four, of two lines
    assert_load(f, gm_rows(0, 32, 16, 512), 4, 0); // one in each line
    f->die.l2.sector = 512;
    make(f, EMPTY(COLD), 64);
    assert_load(f, gm(0, 64 * 512), 0, 64);
    assert_load(f, gm_rows(0, 32, 16, 512), 16, 0);
}

static void lines_on_their_way_are_waited_for(void **state) {
    fixture *f = *state;
    make(f, EMPTY(COLD), 64);
    assert_load(f, gm(0, 10 * 512), 0, 10);
    assert_load(f, gm(0, 10 * 512), 10, 0); // who asked for them queues behind himself
    assert_touch(f, AIV1, gm(0, 12 * 512), false, (found){.late = 10, .miss = 2});
    assert_touch(f, AIV2, gm_rows(0, 128, 4, 512), false, (found){.late = 4 * 0.25});
    // Rows that share a line wait for it once.
    assert_touch(f, AIV2, gm_rows(512, 128, 4, 128), false, (found){.late = 0.25, .hit = 0.75});
    npu_gm columns = gm_rows(0, 128, 4, 512);
    assert_true(npu_memory_load(f->memory, &columns, NPU_WEIGHT, AIV2, false).late_lines ==
                4 * line);
    assert_true(f->trace.totals.hbm_read_bytes == 12 * line);
    // What was there before is not on its way, nor what a prefetch has brought.
    npu_memory_fill(f->memory, 64 * 512, 10 * 512);
    assert_touch(f, AIV1, gm(64 * 512, 10 * 512), false, (found){.hit = 10});
}

static void ragged_ends_are_fetched_for_themselves(void **state) {
    fixture *f = *state;
    make(f, EMPTY(COLD), 64);
    assert_load(f, gm(0, 64 * 512), 0, 64);
    // 100 - 1100: of three lines the middle one hits, with the mean of 9 sectors in 3 lines.
    assert_load(f, gm(100, 1000), 0.75, 2);
    assert_load(f, gm(100, 924), 1, 1);        // 100 - 1024 ends with its line: 8 sectors in 2
    assert_load(f, gm(4, 128), 0, 1);          // first and last at once
    assert_load(f, gm(96, 1004), 9 * 0.25, 0); // it starts on 32 B: 96 - 1100, 9 sectors
    assert_load(f, gm_rows(2, 1022, 4, 2048), 4, 4); // each row on its own
    // A ragged end that another core has just asked for is not waited for.
    assert_touch(f, AIV1, gm(100, 1000), false, (found){.late = 0.75, .miss = 2});
    // Nothing is fetched twice into L2, and stores have no ragged ends.
    npu_gm ragged = gm(100, 1000);
    assert_true(npu_memory_store(f->memory, &ragged, false) == 3 * line);
}

static void a_page_that_many_read_past_l2_is_crowded(void **state) {
    fixture *f = *state;
    f->die.hbm.crowd = 2;
    make(f, EMPTY(COLD), 64);
    npu_gm region = gm(0, 10 * 512), same_page = gm(63 * 512, 512), other = gm(64 * 512, 512);
    assert_touch(f, AIV0, region, true, (found){.miss = 10});
    assert_touch(f, AIV0, region, true, (found){.miss = 10}); // the same core again
    assert_touch(f, AIV1, region, true, (found){.miss = 10});
    assert_touch(f, AIV2, region, true, (found){.crowd = 10});
    assert_touch(f, AIV2, same_page, true, (found){.crowd = 1});
    assert_touch(f, AIV2, other, true, (found){.miss = 1});
    assert_true(f->trace.totals.hbm_read_bytes == 42 * line);
    // What a load through L2 fetches is no crowd's, and then it is there for all.
    assert_touch(f, AIV3, region, false, (found){.miss = 10});
    assert_touch(f, AIV3, gm(0, 12 * 512), true, (found){.hit = 10, .crowd = 2});
}

static void what_many_read_in_l2_is_queued_for(void **state) {
    fixture *f = *state;
    f->die.hbm.crowd = 2;
    make(f, EMPTY(COLD), 64);
    npu_memory_fill(f->memory, 0, 20 * 512);
    npu_gm region = gm(0, 10 * 512);
    // A core counts once, though others come in between.
    assert_touch(f, AIV0, region, false, (found){.hit = 10});
    assert_touch(f, AIV1, region, false, (found){.hit = 10});
    assert_touch(f, AIV0, region, false, (found){.hit = 10});
    assert_touch(f, AIV1, region, false, (found){.hit = 10});
    assert_touch(f, AIV2, region, false, (found){.queued = 10});
    assert_touch(f, AIV0, gm_rows(0, 128, 4, 512), false, (found){.queued = 4 * 0.25});
    // Missing lines are fetched as ever. For the next core these are late and queued for at once.
    assert_touch(f, AIV0, gm(10 * 512, 20 * 512), false, (found){.queued = 10, .miss = 10});
    npu_gm late = gm(10 * 512, 20 * 512);
    npu_touch touch = npu_memory_load(f->memory, &late, NPU_WEIGHT, AIV1, false);
    assert_true(touch.queued == 20 * line && touch.late == 0 && touch.late_lines == 20 * line);
    assert_touch(f, AIV2, gm(64 * 512, 512), false, (found){.miss = 1}); // another page
}

// ---- capacity ----------------------------------------------------------------------------------

static void the_page_used_longest_ago_goes_first(void **state) {
    fixture *f = *state;
    make(f, EMPTY(COLD), 4);
    for (int page = 0; page < 4; page++)
        assert_load(f, gm(page * page_bytes, page_bytes), 0, 64);
    assert_load(f, gm(0, 512), 1, 0); // now page 1 is the oldest
    assert_load(f, gm(4 * page_bytes, 512), 0, 1);
    assert_missing(f, 0, page_bytes, 0);
    assert_missing(f, page_bytes, page_bytes, 64);
    assert_missing(f, 2 * page_bytes, 2 * page_bytes, 0);
    // There is room for 63 lines more; the line behind these takes page 2's place.
    assert_load(f, gm(4 * page_bytes + 512, 63 * 512), 0, 63);
    assert_missing(f, 2 * page_bytes, page_bytes, 0);
    assert_load(f, gm(5 * page_bytes, 512), 0, 1);
    assert_missing(f, 2 * page_bytes, page_bytes, 64);
}

static void a_load_larger_than_l2_leaves_its_end(void **state) {
    fixture *f = *state;
    make(f, EMPTY(COLD), 4);
    assert_load(f, gm(0, 10 * page_bytes), 0, 640);
    assert_missing(f, 0, 6 * page_bytes, 6 * 64);
    assert_missing(f, 6 * page_bytes, 4 * page_bytes, 0);
}

static void the_page_being_touched_stays(void **state) {
    fixture *f = *state;
    make(f, EMPTY(COLD), 0.5); // 32 lines
    assert_load(f, gm(0, page_bytes), 0, 64);
    assert_load(f, gm(0, page_bytes), 64, 0);
    assert_load(f, gm(page_bytes, page_bytes), 0, 64);
    assert_missing(f, 0, 2 * page_bytes, 64);
}

static void dirty_lines_are_written_back_when_evicted(void **state) {
    fixture *f = *state;
    make(f, EMPTY(COLD), 4);
    npu_gm dirty = gm(page_bytes, 10 * 512);
    npu_memory_store(f->memory, &dirty, false);
    assert_load(f, gm(page_bytes, page_bytes), 10, 54);
    assert_load(f, gm(2 * page_bytes, 4 * page_bytes), 0, 256); // pushes it out
    assert_missing(f, page_bytes, page_bytes, 64);
    assert_int_equal(npu_engine_run(f->engine, &f->err), NPU_OK);
    assert_true(f->trace.totals.hbm_write_bytes == 10 * line);
    assert_true(npu_engine_get_stats(f->engine)->link_bytes[NPU_LINK_HBM] == 10 * line);
    // What was written back is clean when it comes again.
    assert_load(f, gm(page_bytes, page_bytes), 0, 64);
}

// Two pages are warmed, of which a load uses half a page before 2 pages of stores evict both; of
// the stores one page is read in time. x is an activation, as is y.
static void what_becomes_of_lines_is_counted_by_class(void **state) {
    fixture *f = *state;
    make(f, EMPTY(COLD), 2);
    const npu_l2_use *use = &f->trace.totals.l2[NPU_ACTIVATION];
    npu_memory_fill(f->memory, 0, 2 * page_bytes);
    assert_true(use->warmed == 128 * line && use->warmed_used == 0);
    npu_gm half = {.run = line, .rows = {1, 32}, .stride = {0, line}};
    npu_memory_load(f->memory, &half, NPU_ACTIVATION, AIV0, false);
    npu_memory_load(f->memory, &half, NPU_ACTIVATION, AIV1, false); // used already
    assert_true(use->warmed_used == 32 * line && use->hit == 64 * line);
    npu_gm stored = {.address = y_address, .run = line, .rows = {1, 64}, .stride = {0, line}};
    npu_memory_store(f->memory, &stored, false); // page 1 is the older one: evicted unused
    assert_true(use->evicted == 64 * line);
    npu_memory_load(f->memory, &stored, NPU_ACTIVATION, AIV0, false);
    stored.address += page_bytes;
    npu_memory_store(f->memory, &stored, false); // half of page 0 had been used
    assert_true(use->evicted == 96 * line);
    stored.address += page_bytes;
    npu_memory_store(f->memory, &stored, false); // what was read is no loss
    assert_true(use->evicted == 96 * line);
    stored.address += page_bytes;
    npu_memory_store(f->memory, &stored, false); // but what was not is
    assert_true(use->evicted == 160 * line && use->warmed == 128 * line && use->missed == 0);
}

static void warm_tensors_are_there_from_the_start(void **state) {
    fixture *f = *state;
    make(f, EMPTY(WARM), 4096);
    assert_missing(f, 0, y_address, 0);
    assert_missing(f, y_address, y_address, 4096); // y is not external
    assert_true(f->trace.totals.hbm_read_bytes == 0);
    // As far as they fit.
    make(f, EMPTY(WARM), 4);
    assert_missing(f, 0, 4 * page_bytes, 0);
    assert_missing(f, 4 * page_bytes, y_address - 4 * page_bytes, 4096 - 256);
    // An external tensor is warm only if the run is.
    make(f, EMPTY(COLD), 4096);
    assert_missing(f, 0, y_address, 4096);
    npu_memory *warm = NULL;
    assert_int_equal(
        npu_memory_new(&f->die, &f->graph, f->engine, true, &f->trace.totals, &warm, &f->err),
        NPU_OK);
    assert_true(npu_memory_missing(warm, 0, y_address) == 0);
    assert_true(npu_memory_missing(warm, y_address, y_address) == 4096 * line);
    npu_memory_free(warm);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_run_touches_whole_lines),
        TEST(a_bypassing_load_leaves_nothing),
        TEST(each_row_fetches_whole_lines),
        TEST(a_line_is_fetched_once),
        TEST(what_becomes_of_lines_is_counted_by_class),
        TEST(a_store_leaves_its_lines_in_l2),
        TEST(lines_that_are_filled_are_not_missing),
        TEST(of_lines_in_l2_the_sectors_asked_for_cross),
        TEST(lines_on_their_way_are_waited_for),
        TEST(ragged_ends_are_fetched_for_themselves),
        TEST(a_page_that_many_read_past_l2_is_crowded),
        TEST(what_many_read_in_l2_is_queued_for),
        TEST(the_page_used_longest_ago_goes_first),
        TEST(a_load_larger_than_l2_leaves_its_end),
        TEST(the_page_being_touched_stays),
        TEST(dirty_lines_are_written_back_when_evicted),
        TEST(warm_tensors_are_there_from_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
