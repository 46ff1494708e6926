// SPDX-License-Identifier: Apache-2.0
// What the ranks of the decode step of V4-Flash send to each other: every byte of it, who waits for
// whom, and that nothing of it works by luck. A3, in pairs of dies.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "simulate.h"

enum { MAX_RANKS = 8, MAX_LINKS = 64 };

typedef struct step {
    npu_ranks ranks;
    npu_sim_result results[MAX_RANKS];
    npu_link_use use[MAX_LINKS];
    npu_warnings hazards;
} step;

// Loads configs/models/deepseek_v4_flash/NAME.yaml with the NULL-terminated settings.
static void load(step *s, const char *name, const char *const *sets) {
    char path[512];
    npu_error err = {{0}};
    *s = (step){0};
    snprintf(path, sizeof path, "%s/configs/models/deepseek_v4_flash/%s.yaml", NPUSIM_SOURCE, name);
    npu_ranks_options options = {
        {NPUSIM_SOURCE "/configs/kernels", sets, 0, 0}, NPUSIM_SOURCE "/configs/fabric", NULL};
    while (sets[options.graph.set_count] != NULL)
        options.graph.set_count++;
    npu_status status = npu_ranks_load(path, &options, &s->ranks, NULL, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, NPU_OK);
    assert_true(s->ranks.full <= MAX_RANKS && s->ranks.fabric.link_count <= MAX_LINKS);
}

static void run(step *s, const char *name, const char *const *sets) {
    npu_die die = {0};
    npu_error err = {{0}};
    load(s, name, sets);
    assert_int_equal(npu_die_load(NPUSIM_SOURCE "/configs/die", "A3", &die, &err), NPU_OK);
    npu_sim_options options = {
        .engine = NPU_ENGINE_FLUID, .hazards = &s->hazards, .fabric = s->use};
    npu_status status = npu_simulate_ranks(&s->ranks, &die, &options, s->results, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, NPU_OK);
    npu_die_free(&die);
}

static void done(step *s) {
    for (int r = 0; r < s->ranks.full; r++)
        npu_sim_result_free(&s->results[r]);
    npu_ranks_free(&s->ranks);
    npu_warnings_free(&s->hazards);
}

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})

// From the first start of a task's blocks to the last end.
static void span_of(const step *s, int rank, const char *name, double *start, double *end) {
    const npu_graph *graph = &s->ranks.graphs[rank];
    const npu_trace *trace = &s->results[rank].trace;
    *start = INFINITY;
    *end = -INFINITY;
    for (int i = 0; i < trace->row_count; i++) {
        const npu_row *row = &trace->rows[i];
        if (strcmp(graph->tasks[row->task].name, name) != 0)
            continue;
        *start = fmin(*start, row->start);
        *end = fmax(*end, row->end);
    }
    if (*end < 0)
        fail_msg("rank %d has not run '%s'", rank, name);
}

static double length_of(const step *s, int rank, const char *name) {
    double start, end;
    span_of(s, rank, name, &start, &end);
    return end - start;
}

static int tasks_named(const npu_graph *graph, const char *kernel) {
    int count = 0;
    for (int i = 0; i < graph->task_count; i++)
        count += strcmp(graph->tasks[i].kernel, kernel) == 0;
    return count;
}

// ---- what is sent --------------------------------------------------------------------------

static double carried(const step *s, const char *link) {
    for (int i = 0; i < s->ranks.fabric.link_count; i++)
        if (strcmp(s->ranks.fabric.links[i].name, link) == 0)
            return s->use[i].bytes;
    fail_msg("no link '%s'", link);
    return 0;
}

// 24 of a rank's 48 rows go to the other one: 4096 B, and a line each for scale and route; a line
// of counts; and 24 rows of 8192 B come back.
static void half_of_the_rows_cross_between_two_ranks(void **state) {
    (void)state;
    step s;
    run(&s, "moe", SETS("active=16", "full=2"));
    double want = 24 * (4096 + 2 * 512) + 512 + 24 * 8192;
    assert_true(fabs(carried(&s, "sio0_UP") - want) < 1);
    assert_true(fabs(carried(&s, "sio0_DOWN") - want) < 1);
    done(&s);
}

// 6 of 48 rows go to each of 7 ranks, 6 of which are in other packages.
static void seven_of_eight_rows_cross_between_eight_ranks(void **state) {
    (void)state;
    step s;
    run(&s, "moe", SETS("EP=8", "active=8"));
    double each = 6 * (4096 + 2 * 512) + 512 + 6 * 8192;
    assert_true(fabs(carried(&s, "sio0_UP") - each) < 1);
    assert_true(fabs(carried(&s, "plane0_UP") - 6 * each) < 1);
    assert_true(fabs(carried(&s, "plane0_DOWN") - 6 * each) < 1);
    done(&s);
}

// 8 rows of 8 KiB there, and the logits of 8 tokens back: 253 tiles of 256 columns in fp32.
static void the_lm_head_sends_rows_and_logits(void **state) {
    (void)state;
    step s;
    run(&s, "tail", SETS("full=2"));
    assert_true(fabs(carried(&s, "sio0_UP") - (8 * 8192 + 253.0 * 8 * 1024)) < 1);
    done(&s);
}

static void an_image_sends_what_its_original_sends(void **state) {
    (void)state;
    step image, whole;
    run(&image, "moe", SETS("active=16"));
    run(&whole, "moe", SETS("active=16", "full=2"));
    assert_int_equal(image.ranks.full, 1);
    assert_true(fabs(carried(&image, "sio0_UP") - carried(&whole, "sio0_UP")) < 1);
    assert_true(fabs(carried(&image, "sio0_DOWN") - carried(&whole, "sio0_DOWN")) < 1);
    double a = image.results[0].trace.makespan, b = whole.results[0].trace.makespan;
    assert_true(fabs(a / b - 1) < 0.05); // which block comes last is worth as much
    done(&image);
    done(&whole);
}

// ---- who waits -----------------------------------------------------------------------------

// Rank 1 begins 40 us later: rank 0 waits for its counts, its rows and its results.
static void a_rank_waits_for_one_that_is_late(void **state) {
    (void)state;
    step together, late;
    run(&together, "moe", SETS("active=16", "full=2"));
    run(&late, "moe", SETS("active=16", "lag=40"));
    assert_int_equal(late.ranks.full, 2);
    double more = length_of(&late, 0, "dispatch_meta") - length_of(&together, 0, "dispatch_meta");
    assert_true(more > 39e3 && more < 41e3);
    for (int r = 0; r < 2; r++) {
        static const char *const pairs[][2] = {{"dispatch_wait", "dispatch_push"},
                                               {"combine_wait", "combine"}};
        for (int i = 0; i < 2; i++) {
            double start, end, other_start, other_end;
            span_of(&late, r, pairs[i][0], &start, &end);
            span_of(&late, 1 - r, pairs[i][1], &other_start, &other_end);
            assert_true(end > other_end);
        }
    }
    done(&together);
    done(&late);
}

// A wait spins on a core: where it is anchored says for how long.
static void an_early_anchor_makes_a_wait_spin(void **state) {
    (void)state;
    step s, early;
    run(&s, "moe", SETS("active=4"));
    run(&early, "moe", SETS("active=4", "dispatch_anchor=0", "fold_notify=1", "combine_anchor=1"));
    assert_true(length_of(&s, 0, "dispatch_wait") < 3e3);
    assert_true(length_of(&early, 0, "dispatch_wait") > 5e3);
    assert_true(length_of(&early, 0, "combine_wait") > length_of(&s, 0, "combine_wait") + 2e3);
    assert_int_equal(early.hazards.count, 0);
    done(&s);
    done(&early);
}

// combine_wait no longer tells: that way of the notify is hidden behind the last rows.
static void a_notify_can_be_folded_into_the_blocks_that_push(void **state) {
    (void)state;
    step s, folded;
    run(&s, "moe", SETS("active=4"));
    run(&folded, "moe", SETS("active=4", "fold_notify=1"));
    assert_true(length_of(&folded, 0, "combine_wait") < length_of(&s, 0, "combine_wait"));
    assert_true(length_of(&folded, 0, "combine") >= length_of(&s, 0, "combine"));
    assert_int_equal(folded.hazards.count, 0);
    done(&s);
    done(&folded);
}

static void a_rank_alone_does_the_same_tasks(void **state) {
    (void)state;
    step alone, two;
    run(&alone, "moe", SETS("active=16", "dies=1"));
    run(&two, "moe", SETS("active=16", "full=2"));
    assert_int_equal(alone.ranks.count, 1);
    assert_int_equal(alone.results[0].trace.row_count, two.results[0].trace.row_count);
    assert_int_equal(alone.hazards.count, 0);
    double a = alone.results[0].trace.makespan, b = two.results[0].trace.makespan;
    assert_true(fabs(a / b - 1) < 0.06);
    done(&alone);
    done(&two);
}

// ---- routing -------------------------------------------------------------------------------

// An expert of E has no row of n tokens with (1 - 6 / E)^n: of 32, 25.4 have rows with 64 experts
// and 16 tokens, 25.0 with 256 and 64.
static void drawn_routes_leave_as_many_experts_idle_as_they_must(void **state) {
    (void)state;
    static const struct {
        const char *ranks;
        double want;
    } cases[] = {{"EP=2", 25.4}, {"EP=8", 25.0}};
    for (int i = 0; i < 2; i++) {
        double sum = 0;
        for (int seed = 1; seed <= 25; seed++) {
            step s;
            char text[16];
            snprintf(text, sizeof text, "seed=%d", seed);
            load(&s, "moe", SETS(cases[i].ranks, "dies=1", text));
            sum += tasks_named(&s.ranks.graphs[0], "exp_h_q") / 25.0;
            done(&s);
        }
        assert_true(fabs(sum - cases[i].want) < 1); // the mean of 25, sigma about 2 each
    }
}

static void each_layer_draws_its_own_routes(void **state) {
    (void)state;
    step s;
    load(&s, "forward", SETS("seed=1", "layers=3", "dies=1"));
    int count[3] = {0};
    for (int i = 0; i < s.ranks.graphs[0].task_count; i++)
        for (int l = 0; l < 3; l++) {
            char name[32];
            snprintf(name, sizeof name, "moe[%d].exp_h_q[", l);
            count[l] += strncmp(s.ranks.graphs[0].tasks[i].name, name, strlen(name)) == 0;
        }
    for (int l = 0; l < 3; l++)
        assert_in_range(count[l], 16, 32);
    assert_true(count[0] != count[1] || count[1] != count[2]);
    done(&s);
}

// Both ranks send all 8 tokens to experts 0 to 5, which are rank 0's: 6 tiles of 16 rows there,
// none on rank 1, which ends all the same.
static void a_file_says_where_all_rows_go(void **state) {
    (void)state;
    step s;
    char path[] = "/tmp/npusim_routes_XXXXXX", set[64];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    assert_non_null(file);
    for (int from = 0; from < 2; from++)
        for (int to = 0; to < 64; to++)
            fprintf(file, "%d%c", to < 6 ? 8 : 0, to == 63 ? '\n' : ' ');
    fclose(file);
    snprintf(set, sizeof set, "routes=@%s", path);
    run(&s, "moe", SETS(set, "full=2"));
    unlink(path);
    assert_int_equal(tasks_named(&s.ranks.graphs[0], "exp_h_q"), 6);
    assert_int_equal(tasks_named(&s.ranks.graphs[1], "exp_h_q"), 0);
    assert_true(fabs(carried(&s, "sio0_UP") - (512 + 48 * 8192)) < 1);            // results only
    assert_true(fabs(carried(&s, "sio0_DOWN") - (512 + 48 * (4096 + 1024))) < 1); // rows only
    assert_int_equal(s.hazards.count, 0);
    done(&s);
}

// ---- hazards -------------------------------------------------------------------------------

static bool warns_of(const step *s, const char *sentence) {
    for (int i = 0; i < s->hazards.count; i++)
        if (strstr(s->hazards.lines[i], sentence) != NULL)
            return true;
    return false;
}

static void nothing_that_ranks_tell_each_other_works_by_luck(void **state) {
    (void)state;
    static const struct {
        const char *name, *sets[5];
    } graphs[] = {
        {"moe", {"active=3", "full=2", NULL}},
        {"moe", {"active=3", "EP=8", NULL}},
        {"moe", {"active=3", "dies=1", NULL}},
        {"layer", {"active=3", "fused=1", NULL}},
        {"tail", {"full=2", NULL}},
        {"tail", {"TP=8", NULL}},
        {"tail", {"TP=2", "EP=4", "full=4", NULL}},
        {"forward", {"active=3", "layers=3", "full=2", NULL}},
        {"forward_mtp", {"active=3", "layers=1", NULL}},
    };
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        step s;
        run(&s, graphs[i].name, graphs[i].sets);
        if (s.hazards.count > 0)
            fail_msg("%s: %s", graphs[i].name, s.hazards.lines[0]);
        done(&s);
    }
}

static void without_its_drains_a_put_may_come_late(void **state) {
    (void)state;
    step s;
    run(&s, "moe", SETS("active=3", "full=2", "put_drains=0"));
    assert_true(warns_of(&s, "the notify of task 'dispatch_push' of rank 0 may pass the stores "
                             "before it, and task 'dispatch_wait' of rank 1 goes on from it"));
    done(&s);
    run(&s, "tail", SETS("full=2", "push_drains=0"));
    assert_true(warns_of(&s, "the notify of task 'lm_head_matmul_push' of rank 1 may pass"));
    done(&s);
}

static void without_epochs_a_layer_does_not_wait_for_its_own_rows(void **state) {
    (void)state;
    step s;
    run(&s, "forward", SETS("active=3", "layers=2", "full=2", "epochs=0"));
    assert_true(warns_of(&s, "tasks 'moe[0].dispatch_wait' and 'moe[1].dispatch_wait' of rank 0 "
                             "both wait for 32 of a counter that reaches 64"));
    done(&s);
}

// ---- barriers ------------------------------------------------------------------------------

// 24 blocks on 72 cores meet twice: no core ends before the last one has come to both barriers, and
// the first one is behind the cubes, which are the slowest of the first phase.
static void the_cores_of_a_fused_hc_pre_meet(void **state) {
    (void)state;
    step s;
    run(&s, "hc_pre", SETS("fused=1"));
    const npu_trace *trace = &s.results[0].trace;
    double first_end = INFINITY, last_start = 0;
    assert_int_equal(trace->row_count, 72);
    for (int i = 0; i < 72; i++) {
        first_end = fmin(first_end, trace->rows[i].end);
        last_start = fmax(last_start, trace->rows[i].start);
    }
    assert_true(first_end > last_start + 5e3); // a quarter of the products takes longer
    assert_int_equal(s.hazards.count, 0);
    done(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_of_the_rows_cross_between_two_ranks),
        cmocka_unit_test(seven_of_eight_rows_cross_between_eight_ranks),
        cmocka_unit_test(the_lm_head_sends_rows_and_logits),
        cmocka_unit_test(an_image_sends_what_its_original_sends),
        cmocka_unit_test(a_rank_waits_for_one_that_is_late),
        cmocka_unit_test(an_early_anchor_makes_a_wait_spin),
        cmocka_unit_test(a_notify_can_be_folded_into_the_blocks_that_push),
        cmocka_unit_test(a_rank_alone_does_the_same_tasks),
        cmocka_unit_test(drawn_routes_leave_as_many_experts_idle_as_they_must),
        cmocka_unit_test(each_layer_draws_its_own_routes),
        cmocka_unit_test(a_file_says_where_all_rows_go),
        cmocka_unit_test(nothing_that_ranks_tell_each_other_works_by_luck),
        cmocka_unit_test(without_its_drains_a_put_may_come_late),
        cmocka_unit_test(without_epochs_a_layer_does_not_wait_for_its_own_rows),
        cmocka_unit_test(the_cores_of_a_fused_hc_pre_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
