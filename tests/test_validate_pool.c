// SPDX-License-Identifier: Apache-2.0
// Jobs in processes: all of them once, their results and their ends; processes that last.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "pool.h"

enum { JOBS = 7, WORDS = 40000 }; // a result larger than a pipe holds

typedef struct result {
    int words[WORDS];
} result;

typedef struct seen {
    int times[JOBS];
    npu_status status[JOBS];
    char text[JOBS][64];
    bool right[JOBS];
} seen;

static npu_status work(void *owner, int job, const void *order, void *out, npu_error *err) {
    (void)owner;
    (void)order;
    result *r = out;
    if (job == 2)
        return npu_fail(err, NPU_NO_MEMORY, (npu_pos){0}, "job %d has no memory", job);
    if (job == 3)
        raise(SIGKILL);
    if (job == 4)
        _exit(0);
    struct timespec later = {0, (JOBS - job) * 2000000L}; // later jobs end sooner
    nanosleep(&later, NULL);
    for (int i = 0; i < WORDS; i++)
        r->words[i] = job * i;
    return NPU_OK;
}

static void done(void *owner, int job, npu_status status, const npu_error *error, const void *out) {
    seen *s = owner;
    const result *r = out;
    s->times[job]++;
    s->status[job] = status;
    snprintf(s->text[job], sizeof s->text[job], "%.63s", error->text);
    s->right[job] = true;
    for (int i = 0; i < WORDS; i++)
        s->right[job] = s->right[job] && r->words[i] == job * i;
}

static void every_job_ends_once(void **state) {
    (void)state;
    static const int parallel[] = {1, 2, 5, 100};
    for (size_t p = 0; p < sizeof parallel / sizeof *parallel; p++) {
        seen s;
        memset(&s, 0, sizeof s);
        npu_pool pool = {.jobs = JOBS,
                         .parallel = parallel[p],
                         .result_size = sizeof(result),
                         .owner = &s,
                         .work = work,
                         .done = done};
        assert_int_equal(npu_pool_run(&pool, NULL), NPU_OK);
        for (int job = 0; job < JOBS; job++)
            assert_int_equal(s.times[job], 1);
        for (int job = 0; job < JOBS; job++) {
            if (job >= 2 && job <= 4)
                continue;
            assert_int_equal(s.status[job], NPU_OK);
            assert_true(s.right[job]);
        }
        assert_int_equal(s.status[2], NPU_NO_MEMORY);
        assert_string_equal(s.text[2], "job 2 has no memory");
        assert_int_equal(s.status[3], NPU_BAD_INPUT);
        assert_string_equal(s.text[3], "the simulation died of signal 9 (Killed)");
        assert_int_equal(s.status[4], NPU_BAD_INPUT);
        assert_string_equal(s.text[4], "the simulation ended without a result");
    }
}

static void no_jobs_are_no_work(void **state) {
    (void)state;
    npu_pool pool = {.parallel = 4, .result_size = 8, .work = work, .done = done};
    assert_int_equal(npu_pool_run(&pool, NULL), NPU_OK);
}

// ---- processes that last -------------------------------------------------------------------

enum { SHORT = 5 };

typedef struct kept {
    npu_pool pool;
    int calls[SHORT], orders[SHORT]; // by job
    npu_status status[SHORT];
} kept;

// How often this process was asked, and twice what it was given. The order 30 is its end.
static npu_status count(void *owner, int job, const void *order, void *out, npu_error *err) {
    static int calls;
    int given, answer[2];
    (void)owner;
    (void)job;
    (void)err;
    memcpy(&given, order, sizeof given);
    if (given == 30)
        raise(SIGKILL);
    answer[0] = ++calls;
    answer[1] = 2 * given;
    memcpy(out, answer, sizeof answer);
    return NPU_OK;
}

static int round_;

static void give(void *owner, int job, void *order) {
    (void)owner;
    int given = 10 * job + round_;
    memcpy(order, &given, sizeof given);
}

static void keep(void *owner, int job, npu_status status, const npu_error *error, const void *out) {
    kept *k = owner;
    (void)error;
    k->status[job] = status;
    memcpy(&k->calls[job], out, sizeof k->calls[job]);
    memcpy(&k->orders[job], (const int *)out + 1, sizeof k->orders[job]);
}

static kept start_kept(void) {
    return (kept){.pool = {.jobs = SHORT,
                           .parallel = 1,
                           .lasting = true,
                           .order_size = sizeof(int),
                           .result_size = 2 * sizeof(int),
                           .order = give,
                           .work = count,
                           .done = keep}};
}

static void a_process_that_lasts_remembers_and_hears_what_is_new(void **state) {
    (void)state;
    kept k = start_kept();
    k.pool.owner = &k;
    for (round_ = 1; round_ <= 2; round_++) { // the child was made with round_ 1
        assert_int_equal(npu_pool_run(&k.pool, NULL), NPU_OK);
        for (int job = 0; job < SHORT; job++) {
            assert_int_equal(k.status[job], NPU_OK);
            assert_int_equal(k.calls[job], (round_ - 1) * SHORT + job + 1);
            assert_int_equal(k.orders[job], 2 * (10 * job + round_));
        }
    }
    npu_pool_close(&k.pool);
    npu_pool_close(&k.pool); // nothing is left
    round_ = 1;
    assert_int_equal(npu_pool_run(&k.pool, NULL), NPU_OK); // a new process
    assert_int_equal(k.calls[0], 1);
    npu_pool_close(&k.pool);
}

static void a_process_that_dies_is_replaced(void **state) {
    (void)state;
    kept k = start_kept();
    k.pool.owner = &k;
    round_ = 0; // job 3 is given 30
    for (int run = 0; run < 2; run++) {
        assert_int_equal(npu_pool_run(&k.pool, NULL), NPU_OK);
        assert_int_equal(k.status[2], NPU_OK);
        assert_int_equal(k.status[3], NPU_BAD_INPUT);
        assert_int_equal(k.status[4], NPU_OK);
        assert_int_equal(k.calls[4], 1); // of the next process
        assert_int_equal(k.calls[0], 1 + run);
    }
    npu_pool_close(&k.pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_job_ends_once),
        cmocka_unit_test(no_jobs_are_no_work),
        cmocka_unit_test(a_process_that_lasts_remembers_and_hears_what_is_new),
        cmocka_unit_test(a_process_that_dies_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
