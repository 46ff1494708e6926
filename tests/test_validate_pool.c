// SPDX-License-Identifier: Apache-2.0
// Jobs in processes: all of them once, their results and their ends.
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_job_ends_once),
        cmocka_unit_test(no_jobs_are_no_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
