// SPDX-License-Identifier: Apache-2.0
// Prefetches by SDMA, on the die of test_sim_core.h: the issuing core spends 300 ns per
// descriptor, whose first byte moves 500 ns later; a chunk is 100 lines, which one stream alone
// moves in 200 ns (256 B/ns) and one of several in 800 ns (64 B/ns).
#include "test_sim_core.h"

#define PREFETCH(from) "{ prefetch: { from: '" from "' } }"
#define LOAD(from) "{ load: { from: '" from "', to: a } }"
#define KERNEL(ops) GRAPH("aiv", COLD, UB(a, 200, 1), "[" ops "]")

static const double line = 512;

typedef struct probe { // how many of x's first `lines` lines are not in L2 at a time
    fixture *f;
    int lines;
    double time, missing;
} probe;

static void look(void *owner, int64_t tag) {
    (void)tag;
    probe *p = owner;
    p->missing = npu_memory_missing(p->f->memory, 0, p->lines * (int64_t)line) / line;
}

// Runs the blocks and looks at L2 meanwhile.
static void run_probed(fixture *f, probe *probes, int count) {
    build(f);
    for (int i = 0; i < CORES; i++)
        f->running[i] = -1;
    for (int i = 0; i < count; i++) {
        probes[i].f = f;
        npu_engine_delay(f->engine, probes[i].time, look, &probes[i], 0);
    }
    for (int row = 0; row < f->trace.row_count; row++)
        npu_engine_delay(f->engine, f->when[row], time_to_start, f, f->rows[row].core);
    assert_int_equal(npu_engine_run(f->engine, &f->err), NPU_OK);
    npu_memory_check_invariants(f->memory);
}

// Each probe's number must be what the caller has put there.
static void expect(fixture *f, probe *probes, int count) {
    double want[8];
    for (int i = 0; i < count; i++)
        want[i] = probes[i].missing;
    run_probed(f, probes, count);
    for (int i = 0; i < count; i++)
        if (probes[i].missing != want[i])
            fail_msg("at %.0f, %.0f of %d lines are missing, expected %.0f", probes[i].time,
                     probes[i].missing, probes[i].lines, want[i]);
}

static void the_core_spends_the_issue_and_goes_on(void **state) {
    fixture *f = *state;
    f->die.scalar.issue = 5;
    assert_time(run_alone(f, KERNEL(PREFETCH("x[0 : 200, :]")), AIV0), 305);
    assert_true(f->trace.totals.prefetch_bytes == 200 * 512);
}

static void chunks_become_visible_one_by_one(void **state) {
    fixture *f = *state;
    load(f, KERNEL(PREFETCH("x[0 : 250, :]")));
    start_at(f, 0, 0, AIV0, 0);
    // Handed over at 300, first byte at 800; 100 lines at 1000, at 1200, the last 50 at 1300.
    probe probes[] = {
        {.time = 999, .lines = 250, .missing = 250},  {.time = 1001, .lines = 250, .missing = 150},
        {.time = 1199, .lines = 250, .missing = 150}, {.time = 1201, .lines = 250, .missing = 50},
        {.time = 1299, .lines = 250, .missing = 50},  {.time = 1301, .lines = 250, .missing = 0}};
    expect(f, probes, 6);
}

static void a_descriptor_is_handed_over_when_s_gets_there(void **state) {
    fixture *f = *state;
    // S computes for 10000 ns before it issues; nothing else makes an event until then.
    load(f, KERNEL("{ scalar: { ops: 10000 } }," PREFETCH("x[0 : 100, :]")));
    start_at(f, 0, 0, AIV0, 0);
    probe probes[] = {{.time = 10999, .lines = 100, .missing = 100},
                      {.time = 11001, .lines = 100, .missing = 0}};
    expect(f, probes, 2);
}

static void descriptors_start_up_behind_each_other(void **state) {
    fixture *f = *state;
    // Handed over at 300 and 600. The first moves from 800 to 1400, the second right behind it.
    load(f, KERNEL(PREFETCH("x[0 : 300, :]") "," PREFETCH("x[300 : 100, :]")));
    start_at(f, 0, 0, AIV0, 0);
    probe full[] = {{.time = 1401, .lines = 400, .missing = 100},
                    {.time = 1599, .lines = 400, .missing = 100},
                    {.time = 1601, .lines = 400, .missing = 0}};
    expect(f, full, 3);
    // A short first one is done at 1000; the second still has to start, until 1100.
    load(f, KERNEL(PREFETCH("x[0 : 100, :]") "," PREFETCH("x[100 : 100, :]")));
    start_at(f, 0, 0, AIV0, 0);
    probe idle[] = {{.time = 1001, .lines = 200, .missing = 100},
                    {.time = 1299, .lines = 200, .missing = 100},
                    {.time = 1301, .lines = 200, .missing = 0}};
    expect(f, idle, 3);
}

static void rows_of_a_descriptor_move_one_after_the_other(void **state) {
    fixture *f = *state;
    // A column of 128 B in 100 rows: 100 lines, each moved in 2 ns.
    load(f, KERNEL(PREFETCH("x[0 : 100, 32 : 32]")));
    start_at(f, 0, 0, AIV0, 0);
    probe probes[] = {{.time = 901, .lines = 100, .missing = 50},
                      {.time = 999.5, .lines = 100, .missing = 1},
                      {.time = 1001, .lines = 100, .missing = 0}};
    expect(f, probes, 3);
}

static void a_core_that_misses_meanwhile_fetches_for_itself(void **state) {
    fixture *f = *state;
    // The load is asked for at 850. What it touches in the first chunk, under way, comes twice;
    // of the second chunk only the other half is left, in 100 ns.
    load(f, KERNEL("{ if: block == 0, do: [" PREFETCH("x[0 : 200, :]") "], else: [" LOAD(
                "x[50 : 100, :]") "] }"));
    start_at(f, 0, 0, AIV0, 0);
    int loader = start_at(f, 0, 1, AIV1, 850);
    probe probes[] = {{.time = 849, .lines = 200, .missing = 200},
                      {.time = 851, .lines = 200, .missing = 100},
                      {.time = 1001, .lines = 200, .missing = 50},
                      {.time = 1099, .lines = 200, .missing = 50},
                      {.time = 1101, .lines = 200, .missing = 0}};
    expect(f, probes, 5);
    assert_time(f->rows[loader].end, 850 + 10 + 1000 + 100);
    const npu_totals *totals = &f->trace.totals;
    assert_true(totals->l2_miss_bytes == 100 * line);
    assert_true(totals->prefetch_bytes == 150 * 512);
    assert_true(totals->hbm_read_bytes == 250 * line);
    // What the engine saw on the link is what is counted.
    const npu_engine_stats *stats = npu_engine_get_stats(f->engine);
    assert_true(stats->link_bytes[NPU_LINK_HBM] == 250 * line);
}

static void a_load_hits_what_was_prefetched(void **state) {
    fixture *f = *state;
    load(f, KERNEL("{ if: block == 0, do: [" PREFETCH("x[0 : 100, :]") "], else: [" LOAD(
                "x[0 : 100, :]") "] }"));
    start_at(f, 0, 0, AIV0, 0);
    int loader = start_at(f, 0, 1, AIV1, 1001);
    run(f);
    assert_time(f->rows[loader].end, 1001 + 10 + 100 + 100);
}

static void what_is_in_l2_is_not_fetched_again(void **state) {
    fixture *f = *state;
    load(f, GRAPH("aiv", WARM, UB(a, 100, 1), "[" PREFETCH("x[0 : 300, :]") "]"));
    start_at(f, 0, 0, AIV0, 0);
    run(f);
    assert_true(f->trace.totals.prefetch_bytes == 0);
    assert_true(npu_engine_get_stats(f->engine)->link_bytes[NPU_LINK_HBM] == 0);
}

#define TWO                                                                                        \
    KERNEL("{ if: block == 0, do: [" PREFETCH("x[0 : 400, :]") "], else: [" PREFETCH(              \
        "x[400 : 90, :]") "] }")

static void two_streams_share(void **state) {
    fixture *f = *state;
    // Both from 800 on: the chunk of the first takes 800 ns, the 90 lines of the second 720. Then
    // the first has the rest to itself, 3 chunks in 600.
    load(f, TWO);
    start_at(f, 0, 0, AIV0, 0);
    start_at(f, 0, 1, AIV1, 0);
    probe both[] = {
        {.time = 1519, .lines = 490, .missing = 490}, {.time = 1521, .lines = 490, .missing = 400},
        {.time = 1599, .lines = 490, .missing = 400}, {.time = 1601, .lines = 490, .missing = 300},
        {.time = 2199, .lines = 490, .missing = 100}, {.time = 2201, .lines = 490, .missing = 0}};
    expect(f, both, 6);
}

static void a_stream_shares_from_its_next_chunk_on(void **state) {
    fixture *f = *state;
    // The first stream's chunks end at 1000 and 1200 (alone), at 2000 (the second stream moves
    // from 1100 to 1820) and at 2200 (alone again).
    load(f, TWO);
    start_at(f, 0, 0, AIV0, 0);
    start_at(f, 0, 1, AIV1, 300);
    probe later[] = {
        {.time = 1199, .lines = 490, .missing = 390}, {.time = 1201, .lines = 490, .missing = 290},
        {.time = 1819, .lines = 490, .missing = 290}, {.time = 1821, .lines = 490, .missing = 200},
        {.time = 2001, .lines = 490, .missing = 100}, {.time = 2199, .lines = 490, .missing = 100},
        {.time = 2201, .lines = 490, .missing = 0}};
    expect(f, later, 7);
}

static void streams_and_cores_share_hbm(void **state) {
    fixture *f = *state;
    f->die.hbm.rate = 256;
    load(f, KERNEL("{ if: block == 0, do: [" PREFETCH("x[0 : 200, :]") "], else: [" LOAD(
                "x[200 : 100, :]") "] }"));
    start_at(f, 0, 0, AIV0, 0);
    int loader = start_at(f, 0, 1, AIV1, 0);
    // SDMA alone: chunk one 800 - 1000, 2560 B of chunk two until 1010. Then each gets 128 B/ns:
    // the other 48640 B of the chunk until 1390, after which the load has 2560 B left, for 10 ns.
    probe probes[] = {{.time = 1389, .lines = 200, .missing = 100},
                      {.time = 1391, .lines = 200, .missing = 0}};
    expect(f, probes, 2);
    assert_time(f->rows[loader].end, 1400);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_core_spends_the_issue_and_goes_on),
        TEST(chunks_become_visible_one_by_one),
        TEST(a_descriptor_is_handed_over_when_s_gets_there),
        TEST(descriptors_start_up_behind_each_other),
        TEST(rows_of_a_descriptor_move_one_after_the_other),
        TEST(a_core_that_misses_meanwhile_fetches_for_itself),
        TEST(a_load_hits_what_was_prefetched),
        TEST(what_is_in_l2_is_not_fetched_again),
        TEST(two_streams_share),
        TEST(a_stream_shares_from_its_next_chunk_on),
        TEST(streams_and_cores_share_hbm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
