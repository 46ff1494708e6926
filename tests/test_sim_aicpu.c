// SPDX-License-Identifier: Apache-2.0
// Submission, polling, completion and plain dispatch, each with its times worked out by hand.
// The die of test_sim_aicpu.h, ns: submit 100 (+10 per argument), poll 10, idle 10, pop 2,
// payload 20, barrier 3, write 1, propagation 30, setup 50 (+25 gated, +100 cold), fin 4
// (+5 until visible), resolve 40 (+5 per consumer).
#include "test_sim_aicpu.h"

// The thread spins 0, 10 .. 100; at 100 the submit ends, before the thread's event of the same
// instant. Pop 102, payload 122, barrier 125 = dispatch, write 126, seen 156, set up (cold)
// 306. The thread reads at 136, 156, .. (10 to read, 10 to spin); FIN of 1306 is written at
// 1310, visible from 1315, read at 1316.
static void one_block(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    int t = task(f, "one", NPU_AIC, 1, 1000);
    run(f);
    assert_int_equal(f->trace.row_count, 1);
    assert_row(f, t, 0, 125, 156, 306, 1306, 1316);
    assert_int_equal(f->trace.rows[0].core, 0);
    assert_int_equal(f->trace.rows[0].reg_task_id, 1);
    assert_time(f->trace.makespan, 1316);
    assert_int_equal(f->trace.submit_count, 1);
    assert_time(f->trace.submits[0].start, 0);
    assert_time(f->trace.submits[0].end, 100);
    // The thread ends at 1356, after 10 + 59 spins of 10.
    assert_time(f->busy[0], 100);
    assert_time(f->busy[1], 1356 - 690);

    assert_int_equal(f->trace.phase_count, 2);
    const npu_phase *dispatch = phase_of(f, NPU_PHASE_DISPATCH, 0);
    assert_time(dispatch->start, 100);
    assert_time(dispatch->end, 126);
    assert_int_equal(dispatch->loop_iter, 11); // after ten spins
    assert_int_equal(dispatch->processed, 1);
    assert_int_equal(dispatch->pop_hit, 1);
    assert_int_equal(dispatch->depth_start[NPU_AIC], 1);
    assert_int_equal(dispatch->depth_end[NPU_AIC], 0);
    const npu_phase *complete = phase_of(f, NPU_PHASE_COMPLETE, 0);
    assert_time(complete->start, 1306); // the iteration's
    assert_time(complete->end, 1356);   // with the resolve
    assert_int_equal(complete->processed, 1);
    done(f);
}

// Arguments cost orchestrator time.
static void arguments(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    int a = task(f, "a", NPU_AIV, 1, 10);
    f->tasks[a].arg_count = 3;
    task(f, "b", NPU_AIV, 1, 10);
    run(f);
    assert_time(f->trace.submits[0].end, 130);
    assert_time(f->trace.submits[1].start, 130);
    assert_time(f->trace.submits[1].end, 230);
    assert_time(f->busy[0], 230);
    done(f);
}

// Block 1 has to wait until a read shows ACK of block 0 (written 306, read 316); it then goes
// into the pending slot: pop 318, payload 338, barrier 341, write 342, seen 372. Block 0 ends
// at 1306, FIN 1310: block 1 is picked up at once, starts 1360. The reads at 352, 372, .. find
// FIN of block 0 at 1332 and 1352 and must not act; at 1372 ACK of block 1 tells of block 0.
// After that the thread reads at 1382, 1402, ..; FIN of block 1 is visible from 2369.
static void pending_slot(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    int t = task(f, "two", NPU_AIC, 2, 1000);
    run(f);
    assert_row(f, t, 0, 125, 156, 306, 1306, 1372);
    assert_row(f, t, 1, 341, 1310, 1360, 2360, 2382);
    assert_int_equal(row_of(f, t, 1, 0)->reg_task_id, 2);
    done(f);
}

// Reads are 10 apart at best; here they take 300, so that more than one thing happens between
// two of them. The first, at 426, shows ACK of block 0 and opens the pending slot: block 1 is
// popped at 428, built 448, stamped 451, written 452, seen 482. The next read is at 752.
static void rare_reads(void **state) {
    (void)state;
    // Kernel 200: block 0 ends 506, FIN 510, block 1 starts 560 and ends 760. At 752 its ACK
    // tells of block 0; its own FIN is found at 1052.
    fixture *f = made_up(1, 1);
    f->die.aicpu.poll = 300;
    int t = task(f, "two", NPU_AIC, 2, 200);
    run(f);
    assert_row(f, t, 0, 125, 156, 306, 506, 752);
    assert_row(f, t, 1, 451, 510, 560, 760, 1052);
    done(f);
    // Kernel 130: block 0 ends 436, FIN 440; block 1 finds the core waiting, starts 532, ends
    // 662. At 752 its FIN tells of both.
    f = made_up(1, 1);
    f->die.aicpu.poll = 300;
    t = task(f, "two", NPU_AIC, 2, 130);
    run(f);
    assert_row(f, t, 0, 125, 156, 306, 436, 752);
    assert_row(f, t, 1, 451, 482, 532, 662, 752);
    assert_int_equal(phase_of(f, NPU_PHASE_COMPLETE, 0)->processed, 2);
    done(f);
    // Kernel 100: FIN of block 0 is written at 410, visible 415, so the read at 426 shows it:
    // the core is idle, and block 1 goes into the running slot.
    f = made_up(1, 1);
    f->die.aicpu.poll = 300;
    t = task(f, "two", NPU_AIC, 2, 100);
    run(f);
    assert_row(f, t, 0, 125, 156, 306, 406, 426);
    assert_row(f, t, 1, 451, 482, 532, 632, 752);
    done(f);
    // FIN becomes visible a little late (at 430): the read at 426 still shows ACK.
    f = made_up(1, 1);
    f->die.aicpu.poll = 300;
    f->die.aicpu.fin_visible = 20;
    t = task(f, "two", NPU_AIC, 2, 100);
    run(f);
    assert_row(f, t, 0, 125, 156, 306, 406, 752);
    assert_row(f, t, 1, 451, 482, 532, 632, 752);
    done(f);
}

// 24 blocks on 24 clusters: each thread pops at 102 in turn, claims as many as it has cores
// and pushes the rest back before it builds anything: 8 each. Payloads 8 x 20, barrier: 265.
static void spmd_shared(void **state) {
    (void)state;
    fixture *f = made_up(24, 3);
    int t = task(f, "spmd", NPU_AIC, 24, 1000);
    run(f);
    assert_int_equal(f->trace.row_count, 24);
    for (int i = 0; i < 24; i++) {
        const npu_row *row = row_of(f, t, i, 0);
        int thread = i / 8; // owns the clusters c with c mod 3 = thread, lowest first
        assert_int_equal(row->core, 3 * (i % 8) + thread);
        assert_int_equal(f->trace.cores[row->core].thread, thread);
        assert_time(row->dispatch, 265);
        assert_time(row->receive, 265 + 1 + i % 8 + 30);
    }
    for (int n = 0; n < 3; n++) {
        const npu_phase *dispatch = phase_of(f, NPU_PHASE_DISPATCH, n);
        assert_int_equal(dispatch->thread, n);
        assert_int_equal(dispatch->processed, 8);
    }
    done(f);
}

// A thread keeps its pending slots free while another one shows an idle core.
static void others_idle(void **state) {
    (void)state;
    fixture *f = made_up(2, 2);
    task(f, "long", NPU_AIC, 1, 5000);
    int b = task(f, "b", NPU_AIC, 1, 5000);
    int c = task(f, "c", NPU_AIC, 1, 100);
    run(f);
    assert_int_equal(row_of(f, 0, 0, 0)->core, 0);
    assert_int_equal(row_of(f, b, 0, 0)->core, 1); // not behind the first
    assert_true(row_of(f, b, 0, 0)->end > 5000);
    // With both busy the third may queue: its turn comes after one of them.
    assert_true(row_of(f, c, 0, 0)->dispatch < 1000);
    assert_true(row_of(f, c, 0, 0)->start > 5000);
    done(f);
}

// y then x are submitted behind p, so p's completion pushes x first. One core: x claims its
// first block and goes to the end of the queue, so y comes second.
static void claim_and_push_back(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    int p = task(f, "p", NPU_AIV, 1, 1000);
    int y = task(f, "y", NPU_AIC, 1, 1000);
    after(f, p);
    int x = task(f, "x", NPU_AIC, 3, 1000);
    after(f, p);
    run(f);
    int tasks[] = {p, x, y, x, x};
    int blocks[] = {0, 0, 0, 1, 2};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(f->trace.rows[i].task, tasks[i]);
        assert_int_equal(f->trace.rows[i].block, blocks[i]);
    }
    // p: read at 1316, resolved 1356, edges 1361 (x) and 1366 (y). Pop 1368, payload 1388,
    // barrier 1391.
    assert_time(row_of(f, p, 0, 0)->finish, 1316);
    assert_time(row_of(f, x, 0, 0)->dispatch, 1391);
    done(f);
}

// Consumers are released in the reverse order of submission, and with room for all they are
// one batch: one stamp, 1316 + 40 + 3 x 5 + 2 + 3 x 20 + 3.
// One AIC block, its completion seen at 1316 as in one_block: with 7 for the booking the resolve
// of 40 and all that follows come 7 later, the finish itself does not.
static void a_finish_costs_its_booking(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    f->die.aicpu.retire = 7;
    int t = task(f, "one", NPU_AIC, 1, 1000);
    run(f);
    assert_row(f, t, 0, 125, 156, 306, 1306, 1316);
    assert_time(f->trace.makespan, 1316);
    assert_time(phase_of(f, NPU_PHASE_COMPLETE, 0)->end, 1356 + 7);
    assert_time(f->busy[1], 1356 - 690 + 7);
    done(f);
}

static void last_submitted_first(void **state) {
    (void)state;
    fixture *f = made_up(3, 1);
    int p = task(f, "p", NPU_AIV, 1, 1000);
    for (int i = 0; i < 3; i++) {
        task(f, "c", NPU_AIC, 1, 1000);
        after(f, p);
        after(f, p); // several edges of one pair count once
    }
    run(f);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(f->trace.rows[1 + i].task, 3 - i);
        assert_int_equal(f->trace.rows[1 + i].core, i);
        assert_time(f->trace.rows[1 + i].dispatch, 1436);
        assert_time(f->trace.rows[1 + i].receive, 1436 + 1 + i + 30);
    }
    done(f);
}

// p is seen at 1316; d1 is pushed at 1361, popped 1363, resolved 1403, edge 1408 pushes d2:
// popped 1410, resolved 1450, edge 1455 pushes c: popped 1457, payload 1477, barrier 1480.
static void dummy_chain(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    int p = task(f, "p", NPU_AIV, 1, 1000);
    int d1 = task(f, "d1", NPU_DUMMY, 0, 0);
    after(f, p);
    int d2 = task(f, "d2", NPU_DUMMY, 0, 0);
    after(f, d1);
    int c = task(f, "c", NPU_AIC, 1, 1000);
    after(f, d2);
    run(f);
    assert_int_equal(f->trace.row_count, 2);
    assert_time(row_of(f, c, 0, 0)->dispatch, 1480);
    for (int n = 0; n < 2; n++) {
        const npu_phase *outer = phase_of(f, NPU_PHASE_DUMMY, n);
        assert_time(outer->start, 1361 + 47 * n);
        assert_time(outer->end, 1408 + 47 * n);
        assert_int_equal(outer->processed, 1);
        const npu_phase *marker = phase_of(f, NPU_PHASE_DUMMY_TASK, n);
        assert_time(marker->start, 1363 + 47 * n);
        assert_time(marker->end, marker->start);
        assert_int_equal(marker->task, n == 0 ? d1 : d2);
    }
    done(f);
}

// A dummy that waits for nothing, and a graph of nothing.
static void only_dummies(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    task(f, "d", NPU_DUMMY, 0, 0);
    run(f);
    assert_int_equal(f->trace.row_count, 0);
    assert_non_null(phase_of(f, NPU_PHASE_DUMMY, 0));
    done(f);
    f = made_up(1, 1);
    run(f);
    assert_int_equal(f->trace.submit_count, 0);
    done(f);
}

// 300 consumers: 40 + 300 x 5 = 1540 ns, recorded inside the complete phase; one: 45, not.
static void long_resolve(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    int p = task(f, "p", NPU_AIV, 1, 1000 + 301 * 100);
    for (int i = 0; i < 300; i++) {
        task(f, "c", NPU_DUMMY, 0, 0);
        after(f, p);
    }
    run(f);
    const npu_phase *outer = phase_of(f, NPU_PHASE_COMPLETE, 0);
    const npu_phase *inner = phase_of(f, NPU_PHASE_RESOLVE, 0);
    assert_time(inner->end - inner->start, 1540);
    assert_time(inner->start, row_of(f, p, 0, 0)->finish);
    assert_time(inner->end, outer->end);
    assert_int_equal(inner->processed, 300);
    assert_null(phase_of(f, NPU_PHASE_RESOLVE, 1));
    // Eight dummies per iteration.
    assert_int_equal(phase_of(f, NPU_PHASE_DUMMY, 0)->processed, 8);
    assert_int_equal(phase_of(f, NPU_PHASE_DUMMY, 37)->processed, 4);
    assert_null(phase_of(f, NPU_PHASE_DUMMY, 38));
    done(f);
}

// A producer that is complete when its consumer is submitted is not waited for.
static void late_consumer(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    int p = task(f, "p", NPU_AIV, 1, 0); // done from inside the start hook
    for (int i = 0; i < 9; i++)
        task(f, "filler", NPU_DUMMY, 0, 0);
    int c = task(f, "c", NPU_AIC, 1, 1000);
    after(f, p);
    run(f);
    assert_true(row_of(f, p, 0, 0)->finish < 1000);
    assert_true(row_of(f, c, 0, 0)->dispatch > 1100);
    assert_true(row_of(f, c, 0, 0)->dispatch < 1200);
    done(f);
}

static void cycle_is_an_error(void **state) {
    (void)state;
    fixture *f = made_up(2, 2);
    task(f, "first", NPU_AIC, 1, 1000);
    int a = task(f, "a", NPU_AIC, 1, 1000);
    f->tasks[a].pos = (npu_pos){"graph.yaml", 7, 3};
    after(f, a + 1);
    task(f, "b", NPU_AIC, 1, 1000);
    after(f, a);
    npu_error err = {0};
    assert_int_equal(carry_out(f, &err), NPU_BAD_INPUT);
    assert_string_equal(err.text, "graph.yaml:7:3: task 'a' cannot start: it waits for 'b', which "
                                  "never completes");
    assert_true(npu_engine_now(f->engine) < 2000); // not spun on
    done(f);
}

static void stop(void *owner, int64_t tag) {
    (void)tag;
    npu_engine_stop(owner);
}

static void kernel_never_ends(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    task(f, "hangs", NPU_AIC, 1, -1);
    prepare(f);
    npu_engine_delay(f->engine, 5000, stop, f->engine, 0);
    npu_error err = {0};
    assert_int_equal(npu_engine_run(f->engine, &err), NPU_OK);
    assert_int_equal(npu_aicpu_result(f->aicpu, &err), NPU_BAD_INPUT);
    assert_string_equal(err.text, "the run ended before task 'hangs' completed: 1 of its 1 blocks "
                                  "were sent");
    done(f);
}

static void bad_dies(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    npu_trace trace = {0};
    npu_die good = f->die;
    double *values[] = {&f->die.clusters, &f->die.aicpu.schedulers, &f->die.aicpu.idle,
                        &f->die.aicpu.poll, &f->die.aicpu.pop_batch};
    double bad[] = {0.5, 9, 0, 0, 0};
    for (int i = 0; i < 5; i++) {
        npu_error err = {0};
        f->die = good;
        *values[i] = bad[i];
        assert_int_equal(npu_aicpu_cores(&f->die, &trace, &err), NPU_BAD_INPUT);
        assert_string_not_equal(err.text, "");
    }
    f->die = good;
    f->die.clusters = 22;
    npu_error err = {0};
    assert_int_equal(npu_aicpu_cores(&f->die, &trace, &err), NPU_BAD_INPUT);
    assert_string_equal(err.text, "made up: a scheduler can own at most 21 clusters: 22 clusters "
                                  "need more than 1 schedulers");
    done(f);
}

// As pending_slot, but the core writes a record for 70 after FIN of 1310: block 1 is picked up at
// 1380, its ACK of 1430 read at 1432; then reads at 1442, 1462, ..: FIN shows from 2439.
static void a_recorder_holds_the_core(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    f->recorded = true;
    f->die.recorder.core = 70;
    int t = task(f, "two", NPU_AIC, 2, 1000);
    run(f);
    assert_row(f, t, 0, 125, 156, 306, 1306, 1432);
    assert_row(f, t, 1, 341, 1380, 1430, 2430, 2442);
    done(f);
}

// Submits take half as long again.
static void a_recorder_holds_the_orchestrator(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    f->recorded = true;
    f->die.recorder.submit = 0.5;
    f->tasks[task(f, "a", NPU_AIV, 1, 10)].arg_count = 3;
    run(f);
    assert_time(f->trace.submits[0].end, 195); // 1.5 x (100 + 3 x 10)
    done(f);
}

static void no_blocks(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    task(f, "empty", NPU_AIC, 0, 1000);
    npu_error err = {0};
    npu_aicpu_hooks hooks = {kernel_start, f};
    assert_int_equal(npu_aicpu_cores(&f->die, &f->trace, &err), NPU_OK);
    assert_int_equal(
        npu_aicpu_new(&f->die, &f->graph, f->engine, &hooks, &f->trace, &f->aicpu, &err),
        NPU_BAD_INPUT);
    assert_string_equal(err.text, "task 'empty' has no blocks");
    done(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_block),
        cmocka_unit_test(a_finish_costs_its_booking),
        cmocka_unit_test(arguments),
        cmocka_unit_test(pending_slot),
        cmocka_unit_test(a_recorder_holds_the_core),
        cmocka_unit_test(a_recorder_holds_the_orchestrator),
        cmocka_unit_test(rare_reads),
        cmocka_unit_test(spmd_shared),
        cmocka_unit_test(others_idle),
        cmocka_unit_test(claim_and_push_back),
        cmocka_unit_test(last_submitted_first),
        cmocka_unit_test(dummy_chain),
        cmocka_unit_test(only_dummies),
        cmocka_unit_test(long_resolve),
        cmocka_unit_test(late_consumer),
        cmocka_unit_test(cycle_is_an_error),
        cmocka_unit_test(kernel_never_ends),
        cmocka_unit_test(bad_dies),
        cmocka_unit_test(no_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
