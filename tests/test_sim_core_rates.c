// SPDX-License-Identifier: Apache-2.0
// How fast loads and stores move, on the die of test_sim_core.h: a load takes 10 ns to issue, a
// latency of 100 when all its lines are in L2, else 1000, and 1 ns per line at the port, if no
// test says so differently. x begins at address 0, y behind its 4096 lines; 64 lines are a page.
#include "test_sim_core.h"

static const double line = 512, page_bytes = 64 * 512;

// ---- rates -------------------------------------------------------------------------------------

#define LOAD(rows, to) "{ load: { from: 'x[" #rows ", :]', to: " #to " } }"
#define LOAD_ALONE(memory) GRAPH("aiv", memory, UB(a, 100, 1), "[" LOAD(0 : 100, a) "]")

static void a_load_takes_its_latency_and_its_bytes(void **state) {
    fixture *f = *state;
    // 51200 B at 512 B/ns, as long as its 100 lines fit in flight.
    f->die.aiv.outstanding = 100;
    assert_time(run_alone(f, LOAD_ALONE(COLD), AIV0), 10 + 1000 + 100);
    assert_time(run_alone(f, LOAD_ALONE(WARM), AIV0), 10 + 100 + 100);
    f->die.aiv.read = 128;
    assert_time(run_alone(f, LOAD_ALONE(WARM), AIV0), 10 + 100 + 400);
    f->die.clock = 2; // the port is twice as fast, the issue takes 5 ns
    assert_time(run_alone(f, LOAD_ALONE(WARM), AIV0), 5 + 100 + 200);
}

static void lines_that_do_not_fit_in_flight_wait_for_a_latency(void **state) {
    fixture *f = *state;
    // 50 lines per 1000 ns when they miss, per 100 ns when they hit: 100 lines take two latencies,
    // in the second case less than 10 + 100 + 100.
    f->die.aiv.outstanding = 50;
    assert_time(run_alone(f, LOAD_ALONE(COLD), AIV0), 2000);
    assert_time(run_alone(f, LOAD_ALONE(WARM), AIV0), 210);
    f->die.aiv.outstanding = 20;
    assert_time(run_alone(f, LOAD_ALONE(COLD), AIV0), 5000);
    assert_time(run_alone(f, LOAD_ALONE(WARM), AIV0), 500);
}

#define STREAM(memory)                                                                             \
    GRAPH("aiv", memory, UB(a, 10, 8), "[{ loop: i in 0..8, do: [" LOAD(10 * i : 10, a) "] }]")

static void a_stream_gets_its_lines_in_flight_per_latency(void **state) {
    fixture *f = *state;
    // 8 x 10 lines at 20 per 1000 ns. The window is taken until 500, 1000, 1500 ...: the first
    // three loads are asked for at 0, 10, 20, the fourth at 500 (when half of 1500 is back), the
    // last at 2500. Its bytes could be there at 2500 + 10 + 1000 + 10.
    f->die.aiv.outstanding = 20;
    assert_time(run_alone(f, STREAM(COLD), AIV0), 4000);
    // Hits: 10 lines occupy 50 ns, more than the 10 for their bytes and the 10 to issue them.
    assert_time(run_alone(f, STREAM(WARM), AIV0), 400);
    // With 200 in flight they occupy 5: asked for every 10, the last at 70.
    f->die.aiv.outstanding = 200;
    assert_time(run_alone(f, STREAM(WARM), AIV0), 70 + 10 + 100 + 10);
    // 80 lines miss: 400 would do, so asking and the latency decide.
    assert_time(run_alone(f, STREAM(COLD), AIV0), 70 + 10 + 1000 + 10);
}

static void an_idle_window_saves_nothing_up(void **state) {
    fixture *f = *state;
    f->die.aiv.outstanding = 50;
    // The second load is asked for at 5000, after the window was empty for 3000.
    double end =
        run_alone(f,
                  GRAPH("aiv", COLD, UB(a, 100, 2),
                        "[" LOAD(0 : 100, a) ", { scalar: { ops: 5000 } }," LOAD(100 : 100, a) "]"),
                  AIV0);
    assert_time(end, 5000 + 2000);
}

static void a_load_waits_until_its_first_lines_fit(void **state) {
    fixture *f = *state;
    f->die.aiv.outstanding = 50;
    f->die.mte.issue = 30;
    // The window of the 200 lines is taken until 4000, the one line behind them occupies it for 20.
    // It is not asked for before 3000, so it is there at 3000 + 30 + 1000 + 1.
    double end = run_alone(f,
                           GRAPH("aiv", COLD, UB(a, 200, 1) ", " UB(b, 1, 1),
                                 "[" LOAD(0 : 200, a) "," LOAD(200 : 1, b) "]"),
                           AIV0);
    assert_time(end, 4031);
    assert_time(f->rows[0].busy[NPU_PIPE_MTE2], 4031);
}

static void misses_come_before_hits(void **state) {
    fixture *f = *state;
    f->die.hbm.rate = 51.2;
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
    f->die.aiv.read = 51.2;
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
    f->die.l2.size = 4 * page_bytes;
    f->die.l2.miss_latency = 0;
    // Four pages are stored until 266 and answered at 366. The load asks for one page then: the
    // oldest goes back, 10 ns alone (640 B); then each gets 32 B/ns until 1014 (32128 B); the
    // load's last 640 B take 10.
    double end =
        run_alone(f,
                  GRAPH("aiv", COLD, UB(a, 256, 1),
                        "[{ store: { from: a, to: 'y[0 : 256, :]' } }," LOAD(0 : 64, a) "]"),
                  AIV0);
    assert_time(end, 366 + 1024);
    assert_true(f->trace.totals.hbm_write_bytes == page_bytes);
    assert_true(f->trace.totals.hbm_read_bytes == page_bytes);
    assert_true(npu_memory_missing(f->memory, (4096 * 512), page_bytes) == page_bytes);
}

// ---- sectors, lines on their way, ragged rows, crowds ------------------------------------------

#define COLUMNS(first) "{ load: { from: 'x[0 : 100, " #first " : 32]', to: a } }"
#define COLUMNS_ALONE(memory, first) GRAPH("aiv", memory, UB(a, 100, 1), "[" COLUMNS(first) "]")

static void of_lines_in_l2_only_sectors_move(void **state) {
    fixture *f = *state;
    // 100 rows of 128 B that hit move in 25 ns. When they miss, whole lines do.
    assert_time(run_alone(f, COLUMNS_ALONE(WARM, 32), AIV0), 10 + 100 + 25);
    assert_time(run_alone(f, COLUMNS_ALONE(COLD, 32), AIV0), 10 + 1000 + 100);
    assert_time(npu_engine_get_stats(f->engine)->link_bytes[NPU_LINK_L2_READ], 100 * line);
}

static void late_lines_occupy_the_window_whole(void **state) {
    fixture *f = *state;
    f->die.aiv.outstanding = 50;
    load(f, GRAPH("aiv", COLD, UB(a, 100, 1),
                  "[{ if: block == 0, do: [" LOAD(0 : 100, a) "], else: [" COLUMNS(0) "] }]"));
    start_at(f, 0, 0, AIV0, 0);
    start_at(f, 0, 1, AIV1, 999);
    start_at(f, 0, 2, AIV2, 1000);
    run(f);
    assert_time(f->rows[0].end, 2000);
    // Asked for 999 before: two windows, though only 25 lines' worth crosses.
    assert_time(f->rows[1].end, 999 + 2000);
    // A ns later they hit.
    assert_time(f->rows[2].end, 1000 + 10 + 100 + 25);
    const npu_engine_stats *stats = npu_engine_get_stats(f->engine);
    assert_time(stats->link_bytes[NPU_LINK_HBM], 100 * line);
    assert_time(stats->link_bytes[NPU_LINK_L2_READ], 150 * line);
}

static void ragged_rows_miss_although_they_are_in_l2(void **state) {
    fixture *f = *state;
    // Columns 1 - 33 of 100 rows: each row a line, from HBM though x is in L2.
    assert_time(run_alone(f, COLUMNS_ALONE(WARM, 1), AIV0), 10 + 1000 + 100);
    assert_true(f->trace.totals.hbm_read_bytes == 100 * line);
    assert_time(run_alone(f, COLUMNS_ALONE(WARM, 8), AIV0), 10 + 100 + 50); // two sectors each
}

#define PAST(rows) "{ load: { from: 'x[" #rows ", :]', to: a, bypass: true } }"

static void crowds_share_one_rate(void **state) {
    fixture *f = *state;
    f->die.hbm.crowd = 2;
    f->die.hbm.crowd_rate = 64;
    load(f, GRAPH("aiv", COLD, UB(a, 64, 1), "[" PAST(0 : 64) "]"));
    static const int cores[] = {AIV0, AIV1, AIV2, AIV3, AIV0, AIV1};
    static const double starts[] = {0, 0, 0, 0, 2001, 4002};
    for (int i = 0; i < 6; i++)
        start_at(f, 0, i, cores[i], starts[i]);
    run(f);
    // The third and fourth make a crowd: 32 B/ns each, 1024 ns. Who comes in the 2000 ns after it
    // still belongs to it, but has the 64 B/ns alone.
    static const double ends[] = {1074, 1074, 2034, 2034, 2001 + 1010 + 512, 4002 + 1074};
    for (int row = 0; row < 6; row++)
        assert_time(f->rows[row].end, ends[row]);
    assert_time(npu_engine_get_stats(f->engine)->link_bytes[NPU_LINK_CROWD], 192 * line);
    // A page each is no crowd.
    load(f, GRAPH("aiv", COLD, UB(a, 64, 1), "[" PAST(64 * block : 64) "]"));
    for (int i = 0; i < 4; i++)
        start_at(f, 0, i, cores[i], 0);
    run(f);
    for (int row = 0; row < 4; row++)
        assert_time(f->rows[row].end, 1074);
}

static void hits_of_a_crowd_share_one_rate_and_not_hbm(void **state) {
    fixture *f = *state;
    f->die.hbm.crowd = 2;
    f->die.hbm.crowd_rate = 64;
    load(f, GRAPH("aiv", WARM, UB(a, 64, 1), "[" LOAD(0 : 64, a) "]"));
    static const int cores[] = {AIV0, AIV1, AIV2, AIV3};
    for (int i = 0; i < 4; i++)
        start_at(f, 0, i, cores[i], 0);
    run(f);
    // As past L2, but with the latency of hits: 10 + 100, then 64 ns alone or 1024 for two.
    static const double ends[] = {174, 174, 1134, 1134};
    for (int row = 0; row < 4; row++)
        assert_time(f->rows[row].end, ends[row]);
    const npu_engine_stats *stats = npu_engine_get_stats(f->engine);
    assert_time(stats->link_bytes[NPU_LINK_CROWD], 128 * line);
    assert_time(stats->link_bytes[NPU_LINK_L2_READ], 256 * line);
    assert_time(stats->link_bytes[NPU_LINK_HBM], 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_load_takes_its_latency_and_its_bytes),
        TEST(lines_that_do_not_fit_in_flight_wait_for_a_latency),
        TEST(a_stream_gets_its_lines_in_flight_per_latency),
        TEST(an_idle_window_saves_nothing_up),
        TEST(a_load_waits_until_its_first_lines_fit),
        TEST(misses_come_before_hits),
        TEST(cores_share_hbm_max_min),
        TEST(hits_share_l2_and_not_hbm),
        TEST(stores_share_the_way_into_l2),
        TEST(write_backs_share_hbm_with_misses),
        TEST(of_lines_in_l2_only_sectors_move),
        TEST(late_lines_occupy_the_window_whole),
        TEST(ragged_rows_miss_although_they_are_in_l2),
        TEST(crowds_share_one_rate),
        TEST(hits_of_a_crowd_share_one_rate_and_not_hbm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
