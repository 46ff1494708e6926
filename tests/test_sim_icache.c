// SPDX-License-Identifier: Apache-2.0
// The code of kernels in the instruction caches. On the die of test_sim_core.h an instruction has
// 4 B, a line 64 and a cache 1024; here a line costs 10 ns, so that the 16 instructions around an
// op take a line and 10 ns, unless they are there. An op of V on n lines takes 20 + n ns.
#include "test_sim_core.h"

#include "icache.h"

#define SLOTS UB(a, 100, 1) ", " UB(b, 100, 1)
#define EXP "{ vec: { op: exp, in: a, out: b } }"
#define CALLS "calls: { vec: 16 }\n"
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_cache, tear_down)

static int set_up_cache(void **state) {
    int failed = set_up(state);
    if (failed == 0) {
        fixture *f = *state;
        f->die.icache.miss = 10;
        f->die.scalar.op = 0; // nothing but the fetch takes S
    }
    return failed;
}

static void s_waits_for_code_that_it_comes_to_the_first_time(void **state) {
    fixture *f = *state;
    // Two ops in a loop are fetched in its first turn: 10, and 20 while the first runs, until 130.
    double end = run_alone(
        f, CALLS GRAPH("aiv", WARM, SLOTS, "[{ loop: i in 0..3, do: [" EXP "," EXP "] }]"), AIV0);
    assert_time(end, 10 + 6 * 120);
    // With a dear line S is what takes long: 1000, 2000, then an op, and no more.
    f->die.icache.miss = 1000;
    end = run_alone(
        f, CALLS GRAPH("aiv", WARM, SLOTS, "[{ loop: i in 0..3, do: [" EXP "," EXP "] }]"), AIV0);
    assert_time(end, 2000 + 5 * 120);
    assert_time(f->rows[0].busy[NPU_PIPE_S], 0);
}

static void a_kernel_that_follows_itself_is_there(void **state) {
    fixture *f = *state;
    load(f, CALLS GRAPH("aiv", WARM, SLOTS, "[" EXP "]"));
    start_at(f, 0, 0, AIV0, 0);
    start_at(f, 0, 1, AIV0, 0);
    start_at(f, 0, 2, AIV1, 0); // another core has a cache of its own
    run(f);
    assert_time(f->rows[0].end, 10 + 120);
    assert_time(f->rows[1].end - f->rows[1].start, 120);
    assert_time(f->rows[2].end, 10 + 120);
}

static void what_has_no_calls_has_no_code(void **state) {
    double end =
        run_alone(*state, GRAPH("aiv", WARM, SLOTS, "[" EXP ", { scalar: { ops: 9 } }]"), AIV0);
    assert_time(end, 120);
}

// The statements of `k`, whose program has at least 20 of them.
static npu_icache *twenty_statements(fixture *f) {
    static const char ten[] =
        EXP "," EXP "," EXP "," EXP "," EXP "," EXP "," EXP "," EXP "," EXP "," EXP;
    char text[4096];
    snprintf(text, sizeof text, GRAPH("aiv", WARM, SLOTS, "[%s, %s]"), ten, ten);
    load(f, text);
    npu_icache *cache = NULL;
    assert_int_equal(npu_icache_new(&f->die, &f->graph, 2, &cache, &f->err), NPU_OK);
    return cache;
}

static void the_code_fetched_first_goes_first(void **state) {
    fixture *f = *state;
    npu_icache *cache = twenty_statements(f);
    // 16 statements of a line each fill the cache; all are there.
    for (int i = 0; i < 16; i++)
        assert_time(npu_icache_fetch(cache, 0, 0, i, 16), 10);
    for (int i = 0; i < 16; i++)
        assert_time(npu_icache_fetch(cache, 0, 0, i, 16), 0);
    // One more drives out the first, which drives out the second; the last is still there.
    assert_time(npu_icache_fetch(cache, 0, 0, 16, 16), 10);
    assert_time(npu_icache_fetch(cache, 0, 0, 0, 16), 10);
    assert_time(npu_icache_fetch(cache, 0, 0, 1, 16), 10);
    assert_time(npu_icache_fetch(cache, 0, 0, 15, 16), 0);
    // The other core has fetched nothing.
    assert_time(npu_icache_fetch(cache, 1, 0, 15, 16), 10);
    npu_icache_free(cache);
}

static void code_counts_in_bytes(void **state) {
    fixture *f = *state;
    npu_icache *cache = twenty_statements(f);
    // 8 instructions are half a line; 240 leave room for one statement of a line beside them.
    assert_time(npu_icache_fetch(cache, 0, 0, 0, 8), 5);
    assert_time(npu_icache_fetch(cache, 0, 0, 1, 240), 150);
    assert_time(npu_icache_fetch(cache, 0, 0, 2, 16), 10);
    assert_time(npu_icache_fetch(cache, 0, 0, 1, 240), 0);
    assert_time(npu_icache_fetch(cache, 0, 0, 0, 8), 5); // 1024 B since
    npu_icache_free(cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(s_waits_for_code_that_it_comes_to_the_first_time),
        TEST(a_kernel_that_follows_itself_is_there),
        TEST(what_has_no_calls_has_no_code),
        TEST(the_code_fetched_first_goes_first),
        TEST(code_counts_in_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
