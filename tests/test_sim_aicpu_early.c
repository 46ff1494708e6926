// SPDX-License-Identifier: Apache-2.0
// MIX blocks, early dispatch and sync_start; the die as in test_sim_aicpu.c.
#include "test_sim_aicpu.h"

// A block takes a cluster: AIC c, AIVs N + 2c and N + 2c + 1. One batch: pop 102, payloads 142,
// barrier 145; six writes.
static void mix_rows(void **state) {
    (void)state;
    fixture *f = made_up(2, 1);
    int m = task(f, "mix", NPU_MIX, 2, 1000);
    run(f);
    int cores[] = {0, 2, 3, 1, 4, 5};
    assert_int_equal(f->trace.row_count, 6);
    for (int i = 0; i < 6; i++) {
        const npu_row *row = row_of(f, m, i / 3, i % 3);
        assert_int_equal(row->core, cores[i]);
        assert_time(row->dispatch, 145);
        assert_time(row->receive, 145 + 1 + i + 30);
    }
    assert_int_equal(phase_of(f, NPU_PHASE_DISPATCH, 0)->processed, 6);
    done(f);
}

// Cluster 0 runs a long AIC task, so the second MIX block has no idle cluster. While it waits,
// AIV work is skipped although cluster 0's AIVs are idle. Once the long task's ACK is read the
// block goes there: pending on the AIC, running on the AIVs, which start long before it.
// x is read until 216, then m: pop 218, payload 238, barrier 241, three writes 244. Now a sweep
// reads four cores: x at 254 and 304, before its ACK of 306, and at 354; the sweep ends at
// 384: pop 386, payload 406, barrier 409.
static void mix_remains(void **state) {
    (void)state;
    fixture *f = made_up(2, 1);
    int x = task(f, "x", NPU_AIC, 1, 5000);
    int m = task(f, "m", NPU_MIX, 2, 1000);
    int v = task(f, "v", NPU_AIV, 1, 100);
    run(f);
    assert_int_equal(row_of(f, x, 0, 0)->core, 0);
    int first[] = {1, 4, 5};
    int second[] = {0, 2, 3};
    for (int n = 0; n < 3; n++) {
        assert_int_equal(row_of(f, m, 0, n)->core, first[n]);
        assert_int_equal(row_of(f, m, 1, n)->core, second[n]);
    }
    double stamp = row_of(f, m, 1, 0)->dispatch;
    assert_time(row_of(f, m, 0, 0)->dispatch, 241);
    assert_time(stamp, 409);
    assert_true(row_of(f, v, 0, 0)->dispatch > stamp);
    assert_time(row_of(f, m, 1, 0)->receive, 5306 + 4); // FIN of x
    assert_time(row_of(f, m, 1, 1)->receive, stamp + 32);
    assert_time(row_of(f, m, 1, 1)->start, stamp + 32 + 150);
    done(f);
}

// Both queues fill when the dummy completes. Threads with an even number offer AIC work first,
// the others AIV work.
static void shape_order(void **state) {
    (void)state;
    fixture *f = made_up(2, 2);
    f->die.aicpu.resolve_edge = 0;
    int d = task(f, "d", NPU_DUMMY, 0, 0);
    int a = task(f, "aic", NPU_AIC, 8, 1000);
    after(f, d);
    int v = task(f, "aiv", NPU_AIV, 8, 1000);
    after(f, d);
    f->die.aicpu.submit = 1; // both wait before the first spin ends
    run(f);
    double first[2][2] = {{INFINITY, INFINITY}, {INFINITY, INFINITY}};
    for (int i = 0; i < f->trace.row_count; i++) {
        const npu_row *row = &f->trace.rows[i];
        assert_true(row->task == a || row->task == v);
        double *stamp = &first[f->trace.cores[row->core].thread][row->task == v];
        *stamp = fmin(*stamp, row->dispatch);
    }
    assert_true(first[0][0] < first[0][1]);
    assert_true(first[1][1] < first[1][0]);
    done(f);
}

// p (AIV) is published at 126. c is submitted at 200 behind a producer that is on its core:
// the thread, which reads p at 136, 156, .. 196, 216, finds it after the last of these. Pop
// 218, payload 238, barrier 241, write 242, seen 272, set up cold and with arguments 447.
// p ends at 1306, visible 1315; reads are now at 252, 272, .. 1332. Resolved 1372, edge 1377,
// doorbell written 1378, seen 1408.
static double early_start(bool flag) {
    fixture *f = made_up(1, 1);
    int p = task(f, "p", NPU_AIV, 1, 1000);
    f->tasks[p].early = flag;
    int c = task(f, "c", NPU_AIC, 1, 1000);
    after(f, p);
    run(f);
    if (flag) {
        assert_row(f, p, 0, 125, 156, 306, 1306, 1332);
        assert_row(f, c, 0, 241, 272, 1408, 2408, 2428);
        const npu_phase *early = phase_of(f, NPU_PHASE_EARLY_DISPATCH, 0);
        assert_time(early->start, 216);
        assert_time(early->end, 242);
        assert_int_equal(early->processed, 1);
    } else {
        // Read at 1316, resolved 1356, edge 1361: pop 1363, payload 1383, barrier 1386.
        assert_row(f, p, 0, 125, 156, 306, 1306, 1316);
        assert_row(f, c, 0, 1386, 1417, 1567, 2567, 2577);
        assert_null(phase_of(f, NPU_PHASE_EARLY_DISPATCH, 0));
    }
    double start = row_of(f, c, 0, 0)->start;
    done(f);
    return start;
}

static void early_dispatch(void **state) {
    (void)state;
    assert_time(early_start(false) - early_start(true), 159);
}

// One core, three blocks: one is staged, the doorbell lets it go, the others follow through
// the ready queue.
static void early_partly_staged(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    int p = task(f, "p", NPU_AIV, 1, 1000);
    f->tasks[p].early = true;
    int c = task(f, "c", NPU_AIC, 3, 1000);
    after(f, p);
    run(f);
    // ACK of 1408 is read at 1408; the pending slot: pop 1410, payload 1430, barrier 1433, write
    // 1434. Then reads at 1444, 1464, ..; block 1 gives ACK at 2412 + 50.
    assert_row(f, c, 0, 241, 272, 1408, 2408, 2464);
    assert_time(row_of(f, c, 1, 0)->dispatch, 1433);
    assert_time(row_of(f, c, 1, 0)->receive, 2412);
    assert_true(row_of(f, c, 2, 0)->dispatch > 2462);
    done(f);
}

// The core runs x, so c is staged into its pending slot. FIN of x must not wait for the ACK
// that c cannot give: x is booked at once and c promoted.
static void early_pending(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    int x = task(f, "x", NPU_AIC, 1, 600);
    int p = task(f, "p", NPU_AIV, 1, 2000);
    f->tasks[p].early = true;
    int c = task(f, "c", NPU_AIC, 1, 1000);
    after(f, p);
    run(f);
    const npu_row *xr = row_of(f, x, 0, 0);
    const npu_row *cr = row_of(f, c, 0, 0);
    assert_true(cr->dispatch > 306 && cr->dispatch < 450);
    assert_time(xr->end, 906);
    assert_true(xr->finish >= 915 && xr->finish <= 935);
    assert_time(cr->receive, 910);
    // Gate open: resolve, edge, write, propagation after p was seen.
    assert_time(cr->start, row_of(f, p, 0, 0)->finish + 40 + 5 + 1 + 30);
    done(f);
}

// The doorbell rings while c waits behind x: c is picked up after x, fills its arguments and
// finds the gate open.
static void early_rung_before_pick_up(void **state) {
    (void)state;
    fixture *f = made_up(1, 1);
    int x = task(f, "x", NPU_AIC, 1, 3000);
    int p = task(f, "p", NPU_AIV, 1, 600);
    f->tasks[p].early = true;
    int c = task(f, "c", NPU_AIC, 1, 1000);
    after(f, p);
    run(f);
    const npu_row *xr = row_of(f, x, 0, 0);
    const npu_row *cr = row_of(f, c, 0, 0);
    assert_true(cr->dispatch < row_of(f, p, 0, 0)->finish);
    assert_true(row_of(f, p, 0, 0)->finish + 100 < xr->end);
    assert_time(cr->receive, xr->end + 4);
    assert_time(cr->start, xr->end + 4 + 75);
    assert_true(xr->finish >= cr->start); // through c's ACK, as c is gated no more
    done(f);
}

// One unflagged producer is enough to rule a consumer out; a producer that is only staged
// itself does not count as launched; all blocks of a producer must be published.
static void early_not_allowed(void **state) {
    (void)state;
    fixture *f = made_up(4, 1);
    int p = task(f, "p", NPU_AIV, 1, 1000);
    f->tasks[p].early = true;
    int q = task(f, "q", NPU_AIV, 1, 1000);
    int c = task(f, "c", NPU_AIC, 1, 1000);
    after(f, p);
    after(f, q);
    run(f);
    assert_true(row_of(f, c, 0, 0)->dispatch > row_of(f, q, 0, 0)->finish);
    done(f);

    f = made_up(4, 1);
    p = task(f, "p", NPU_AIV, 1, 1000);
    f->tasks[p].early = true;
    int b = task(f, "b", NPU_AIC, 1, 1000);
    f->tasks[b].early = true;
    after(f, p);
    c = task(f, "c", NPU_AIC, 1, 1000);
    after(f, b);
    run(f);
    assert_true(row_of(f, b, 0, 0)->dispatch < row_of(f, p, 0, 0)->finish);
    assert_true(row_of(f, c, 0, 0)->dispatch > row_of(f, p, 0, 0)->finish);
    assert_true(row_of(f, c, 0, 0)->dispatch < row_of(f, b, 0, 0)->finish);
    done(f);

    f = made_up(1, 1);
    p = task(f, "p", NPU_AIV, 5, 1000); // two AIVs: the last block goes out late
    f->tasks[p].early = true;
    c = task(f, "c", NPU_AIC, 1, 1000);
    after(f, p);
    run(f);
    assert_true(row_of(f, c, 0, 0)->dispatch > row_of(f, p, 4, 0)->dispatch);
    assert_true(row_of(f, c, 0, 0)->dispatch < row_of(f, p, 4, 0)->finish);
    done(f);
}

// A gated MIX block: three doorbells, one write each, in the order of core ids.
static void early_mix(void **state) {
    (void)state;
    fixture *f = made_up(2, 1);
    int p = task(f, "p", NPU_AIV, 1, 1000);
    f->tasks[p].early = true;
    int m = task(f, "m", NPU_MIX, 1, 1000);
    after(f, p);
    run(f);
    int cores[] = {1, 4, 5}; // cluster 0's first AIV is busy
    double open = row_of(f, p, 0, 0)->finish + 45 + 30;
    for (int n = 0; n < 3; n++) {
        const npu_row *row = row_of(f, m, 0, n);
        assert_int_equal(row->core, cores[n]);
        assert_true(row->dispatch < row_of(f, p, 0, 0)->finish);
        assert_time(row->start, open + 1 + n);
    }
    done(f);
}

// A write takes 500 here. While thread 1 writes c's tokens, thread 0 completes c's producer:
// the stager finds c released when its writes are out, and rings itself.
// p: pop 12, payload 32, barrier 35, its three tokens written at 535, 1035, 1535, when it is
// launched. Thread 1 looked for p as well and came too late at 12, so it spins .., 1532, 1542:
// pop 1544, payload 1564, barrier 1567, writes until 3067.
// p's last core is ready at 1565 + 150, ends 2715, and p is complete before 2900.
static void early_rings_itself(void **state) {
    (void)state;
    fixture *f = made_up(2, 2);
    f->die.aicpu.write = 500;
    f->die.aicpu.submit = 1;
    int p = task(f, "p", NPU_MIX, 1, 1000); // on cluster 0, thread 0
    f->tasks[p].early = true;
    int c = task(f, "c", NPU_MIX, 1, 1000);
    after(f, p);
    run(f);
    assert_time(row_of(f, p, 0, 2)->receive, 1565);
    assert_true(row_of(f, p, 0, 2)->finish < 2800);
    for (int n = 0; n < 3; n++) {
        const npu_row *row = row_of(f, c, 0, n);
        assert_int_equal(f->trace.cores[row->core].thread, 1);
        assert_time(row->dispatch, 1567);
        assert_time(row->start, 3067 + 500 * (n + 1) + 30);
    }
    done(f);
}

// A cohort that fits one thread's idle cores goes out in one batch.
static void sync_start_fits(void **state) {
    (void)state;
    fixture *f = made_up(4, 1);
    int s = task(f, "s", NPU_AIC, 4, 1000);
    f->tasks[s].sync_start = true;
    run(f);
    for (int i = 0; i < 4; i++)
        assert_time(row_of(f, s, i, 0)->dispatch, 102 + 80 + 3);
    assert_null(phase_of(f, NPU_PHASE_DRAIN, 0));
    done(f);
}

// Four clusters, two threads, one core busy with x: the cohort of four does not fit, so the
// die drains. v, an AIV task, waits as well. When x is booked, both threads place two blocks.
static void sync_start_drains(void **state) {
    (void)state;
    fixture *f = made_up(4, 2);
    int x = task(f, "x", NPU_AIC, 1, 1000);
    int s = task(f, "s", NPU_AIC, 4, 1000);
    f->tasks[s].sync_start = true;
    int v = task(f, "v", NPU_AIV, 1, 100);
    run(f);
    double free_at = row_of(f, x, 0, 0)->finish;
    int cores[] = {0, 2, 1, 3};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(row_of(f, s, i, 0)->core, cores[i]);
        assert_true(row_of(f, s, i, 0)->dispatch > free_at);
        assert_time(row_of(f, s, i, 0)->dispatch, row_of(f, s, 0, 0)->dispatch);
    }
    assert_true(row_of(f, v, 0, 0)->dispatch > row_of(f, s, 0, 0)->dispatch);
    for (int n = 0; n < 2; n++) {
        const npu_phase *drain = phase_of(f, NPU_PHASE_DRAIN, n);
        assert_int_equal(drain->thread, n);
        assert_int_equal(drain->processed, 2);
    }
    done(f);
}

static void sync_start_too_wide(void **state) {
    (void)state;
    fixture *f = made_up(4, 1);
    int s = task(f, "s", NPU_AIV, 9, 1000);
    f->tasks[s].sync_start = true;
    npu_error err = {0};
    npu_aicpu_hooks hooks = {kernel_start, f};
    assert_int_equal(npu_aicpu_cores(&f->die, &f->trace, &err), NPU_OK);
    assert_int_equal(
        npu_aicpu_new(&f->die, &f->graph, f->engine, &hooks, &f->trace, &f->aicpu, &err),
        NPU_BAD_INPUT);
    assert_string_equal(err.text, "task 's' starts 9 blocks together (sync_start), but the die has "
                                  "room for 8");
    done(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mix_rows),
        cmocka_unit_test(mix_remains),
        cmocka_unit_test(shape_order),
        cmocka_unit_test(early_dispatch),
        cmocka_unit_test(early_partly_staged),
        cmocka_unit_test(early_pending),
        cmocka_unit_test(early_rung_before_pick_up),
        cmocka_unit_test(early_not_allowed),
        cmocka_unit_test(early_mix),
        cmocka_unit_test(early_rings_itself),
        cmocka_unit_test(sync_start_fits),
        cmocka_unit_test(sync_start_drains),
        cmocka_unit_test(sync_start_too_wide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
