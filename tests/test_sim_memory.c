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

static void assert_load(fixture *f, npu_gm region, double hit_lines, double miss_lines) {
    npu_touch touch = npu_memory_load(f->memory, &region, false);
    assert_true(touch.hit == hit_lines * line);
    assert_true(touch.miss == miss_lines * line);
    npu_memory_check_invariants(f->memory);
}

static void assert_missing(const fixture *f, int64_t address, int64_t bytes, double lines) {
    if (npu_memory_missing(f->memory, address, bytes) != lines * line)
        fail_msg("%g lines are missing, expected %g",
                 npu_memory_missing(f->memory, address, bytes) / line, lines);
}

static void assert_bypass(fixture *f, npu_gm region, double hit_lines, double miss_lines) {
    npu_touch touch = npu_memory_load(f->memory, &region, true);
    assert_true(touch.hit == hit_lines * line);
    assert_true(touch.miss == miss_lines * line);
    npu_memory_check_invariants(f->memory);
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
    assert_bypass(f, gm_rows(0, 128, 8, 1024), 3, 5); // every other line; 0, 2 and 4 are there
}

static void each_row_touches_whole_lines(void **state) {
    fixture *f = *state;
    make(f, EMPTY(COLD), 64);
    // 128 B in every 4 KiB: a line each.
    assert_load(f, gm_rows(0, 128, 32, 4096), 0, 32);
    assert_load(f, gm_rows(0, 128, 32, 4096), 32, 0);
    // The next 128 B are in the same lines; 128 B across a line's end are in two, the second new.
    assert_load(f, gm_rows(128, 128, 32, 4096), 32, 0);
    assert_load(f, gm_rows(448, 128, 32, 4096), 32, 32);
    // Four rows in one line ask for it four times.
    assert_load(f, gm_rows(512 * 1024, 128, 4, 128), 3, 1);
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

// ---- rates
// ---------------------------------------------------------------------------------------

#define LOAD(rows, to) "{ load: { from: 'x[" #rows ", :]', to: " #to " } }"
#define LOAD_ALONE(memory) GRAPH("aiv", memory, UB(a, 100, 1), "[" LOAD(0 : 100, a) "]")

static void a_core_reads_as_fast_as_its_lines_in_flight_allow(void **state) {
    fixture *f = *state;
    // 100 lines in flight and 1000 ns: 51.2 B/ns, so 100 lines take 1000. With 100 ns it would be
    // 512, which is also what the port takes.
    f->die.aiv.outstanding = 100;
    assert_time(run_alone(f, LOAD_ALONE(COLD), AIV0), 10 + 1000 + 1000);
    assert_time(run_alone(f, LOAD_ALONE(WARM), AIV0), 10 + 100 + 100);
    f->die.aiv.outstanding = 50; // 256 B/ns when they hit
    assert_time(run_alone(f, LOAD_ALONE(WARM), AIV0), 10 + 100 + 200);
    f->die.aiv.read = 128; // B per cycle: less
    assert_time(run_alone(f, LOAD_ALONE(WARM), AIV0), 10 + 100 + 400);
    f->die.clock = 2; // the port is twice as fast, the issue takes 5 ns
    assert_time(run_alone(f, LOAD_ALONE(WARM), AIV0), 5 + 100 + 200);
}

static void misses_come_before_hits(void **state) {
    fixture *f = *state;
    f->die.aiv.outstanding = 100;
    // The first load moves 1010 - 2010. Of the second, 50 lines miss and 50 hit: it is asked for at
    // 10 and its latency is over; 500 ns at 51.2 B/ns and 50 at 512.
    double end = run_alone(
        f, GRAPH("aiv", COLD, UB(a, 100, 2), "[" LOAD(0 : 100, a) "," LOAD(50 : 100, a) "]"), AIV0);
    assert_time(end, 2010 + 500 + 50);
}

#define SLOTS UB(a, 300, 1) ", l: { in: l1, shape: [300, 128], dtype: fp32 }"

static void cores_share_hbm_max_min(void **state) {
    fixture *f = *state;
    f->die.hbm.rate = 512;
    f->die.hbm.efficiency = 0.5;
    f->die.aiv.outstanding = 100;
    // 256 B/ns for two AICs and two AIVs. A quarter would be 64; the AIVs take no more than 51.2,
    // so each AIC gets (256 - 102.4) / 2 = 76.8. In 1000 ns: 150 lines each AIC, 100 each AIV. The
    // second AIC then has 150 lines left, and HBM for itself: 300 ns.
    load(f, GRAPH("mix", COLD, SLOTS,
                  "{ aic: [" LOAD(1000 * block : 150 * block + 150,
                                  l) "],"
                                     "  aiv: [{ if: block == 0, do: [" LOAD(2000 + 100 * lane : 100,
                                                                            a) "] }] }"));
    start_at(f, 0, 0, AIC0, 0);
    start_at(f, 0, 0, AIV0, 0);
    start_at(f, 0, 0, AIV1, 0);
    start_at(f, 0, 1, AIC0 + 1, 0);
    run(f);
    static const double ends[] = {2010, 2010, 2010, 2310};
    for (int row = 0; row < 4; row++)
        assert_time(f->rows[row].end, ends[row]);
    const npu_engine_stats *stats = npu_engine_get_stats(f->engine);
    assert_time(stats->link_busy[NPU_LINK_HBM], 1300);
    assert_time(stats->link_bytes[NPU_LINK_HBM], 650 * line);
    assert_time(stats->link_bytes[NPU_LINK_L2_READ], 650 * line); // through L2, too
}

static void hits_share_l2_and_not_hbm(void **state) {
    fixture *f = *state;
    f->die.l2.read = 256;
    load(f, GRAPH("aiv", WARM, UB(a, 300, 1), "[" LOAD(100 * block : 100 * block + 100, a) "]"));
    start_at(f, 0, 0, AIV0, 0);
    start_at(f, 0, 1, AIV3, 0);
    run(f);
    // 128 B/ns each: 100 lines in 400 ns; the second has 100 left, in 200.
    assert_time(f->rows[0].end, 110 + 400);
    assert_time(f->rows[1].end, 110 + 600);
    assert_time(npu_engine_get_stats(f->engine)->link_bytes[NPU_LINK_HBM], 0);
}

#define STORE_ALL(atomic)                                                                          \
    GRAPH("aiv", WARM, UB(a, 100, 1),                                                              \
          "[{ store: { from: a, to: 'y[100 * block : 100, :]', atomic: " atomic " } }]")

static void stores_share_the_way_into_l2(void **state) {
    fixture *f = *state;
    f->die.l2.write = 512;
    load(f, STORE_ALL("0"));
    start_at(f, 0, 0, AIV0, 0);
    start_at(f, 0, 1, AIV3, 0);
    run(f);
    assert_time(f->rows[0].end, 10 + 200 + 100);
    assert_time(f->rows[1].end, 10 + 200 + 100);
    const npu_engine_stats *stats = npu_engine_get_stats(f->engine);
    assert_time(stats->link_bytes[NPU_LINK_L2_WRITE], 200 * line);
    assert_time(stats->link_bytes[NPU_LINK_HBM] + stats->link_bytes[NPU_LINK_L2_READ], 0);
    // Alone, a core is bound by its port; an atomic add moves its bytes twice.
    f->die.aiv.write = 128;
    assert_time(run_alone(f, STORE_ALL("0"), AIV0), 10 + 400 + 100);
    assert_time(run_alone(f, STORE_ALL("1"), AIV0), 10 + 800 + 100);
    assert_true(f->rows[0].write_bytes == 51200); // as asked for
}

static void write_backs_share_hbm_with_misses(void **state) {
    fixture *f = *state;
    f->die.hbm.rate = 64;
    f->die.l2.size = 4 * (double)page_bytes;
    f->die.l2.miss_latency = 0;
    // Four pages are stored until 266. The load asks for one page then: the oldest goes back, 10 ns
    // alone (640 B); then each gets 32 B/ns until 1014 (32128 B); the load's last 640 B take 10.
    double end =
        run_alone(f,
                  GRAPH("aiv", COLD, UB(a, 256, 1),
                        "[{ store: { from: a, to: 'y[0 : 256, :]' } }," LOAD(0 : 64, a) "]"),
                  AIV0);
    assert_time(end, 266 + 1024);
    assert_true(f->trace.totals.hbm_write_bytes == (double)page_bytes);
    assert_true(f->trace.totals.hbm_read_bytes == (double)page_bytes);
    assert_true(npu_memory_missing(f->memory, y_address, page_bytes) == (double)page_bytes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_run_touches_whole_lines),
        TEST(a_bypassing_load_leaves_nothing),
        TEST(each_row_touches_whole_lines),
        TEST(a_line_is_fetched_once),
        TEST(a_store_leaves_its_lines_in_l2),
        TEST(lines_that_are_filled_are_not_missing),
        TEST(the_page_used_longest_ago_goes_first),
        TEST(a_load_larger_than_l2_leaves_its_end),
        TEST(the_page_being_touched_stays),
        TEST(dirty_lines_are_written_back_when_evicted),
        TEST(warm_tensors_are_there_from_the_start),
        TEST(a_core_reads_as_fast_as_its_lines_in_flight_allow),
        TEST(misses_come_before_hits),
        TEST(cores_share_hbm_max_min),
        TEST(hits_share_l2_and_not_hbm),
        TEST(stores_share_the_way_into_l2),
        TEST(write_backs_share_hbm_with_misses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
