// SPDX-License-Identifier: Apache-2.0
// Each rule of a sound capture, broken by itself.
#include "test_traces_fixture.h"

#include "deps.h"
#include "sanity.h"

// One cluster (AIC 0, AIVs 1 and 2) of one scheduler, 50 MHz. Times in ticks:
//   a (id 1): AIC 0, 100 to 200, received 90, dispatched 80, finished 210
//   m (id 2): MIX on all three, 300 to 400 (core 0), 310 to 400 (cores 1 and 2)
//   b (id 3): two blocks on AIVs 1 and 2, 500 to 600
// a -> m -> b. `complete` holds every finish.
enum { ROWS = 6, TASKS = 3, EDGES = 2, RECORDS = 4, CALLS = 3 };

typedef struct sound {
    npu_capture c;
    npu_deps d;
    npu_sanity sanity;
} sound;

static void add_row(npu_capture *c, int core, uint64_t task, uint32_t reg, int64_t start,
                    int64_t end) {
    c->core_rows[c->core_row_count++] = (npu_core_row){
        .core = core, .task = task, .reg_task_id = reg, .start = start, .end = end, .setup = 10};
    c->cpu_rows[c->cpu_row_count++] =
        (npu_cpu_row){.core = core, .reg_task_id = reg, .dispatch = start - 20, .finish = end + 10};
}

static void add_record(npu_capture *c, npu_phase_kind kind, int64_t start, int64_t end) {
    c->records[c->record_count++] = (npu_record){.start = start, .end = end, .kind = (int)kind};
}

static void fill_capture(npu_capture *c) {
    assert_int_equal(npu_capture_begin(c, "sound", NULL), NPU_OK);
    c->level = 4;
    c->clock_hz = 50000000;
    c->threaded = true;
    assert_int_equal(npu_capture_cores(c, 3, NULL), NPU_OK);
    assert_int_equal(npu_capture_streams(c, 1, NULL), NPU_OK);
    for (int core = 0; core < 3; core++)
        c->cores[core] = (npu_captured_core){core == 0 ? NPU_AIC : NPU_AIV, 0};
    assert_int_equal(npu_grow((void **)&c->core_rows, &c->core_row_capacity, ROWS + 1,
                              sizeof *c->core_rows, NULL),
                     NPU_OK);
    assert_int_equal(
        npu_grow((void **)&c->cpu_rows, &c->cpu_row_capacity, ROWS + 1, sizeof *c->cpu_rows, NULL),
        NPU_OK);
    assert_int_equal(
        npu_grow((void **)&c->records, &c->record_capacity, RECORDS + 1, sizeof *c->records, NULL),
        NPU_OK);
    assert_int_equal(npu_grow((void **)&c->calls, &c->call_capacity, CALLS, sizeof *c->calls, NULL),
                     NPU_OK);
    add_row(c, 0, 1, 1, 100, 200);
    add_row(c, 0, 2, 2, 300, 400);
    add_row(c, 1, 2, 1, 310, 400);
    add_row(c, 2, 2, 1, 310, 400);
    add_row(c, 1, 3, 2, 500, 600);
    add_row(c, 2, 3, 2, 500, 600);
    add_record(c, NPU_PHASE_COMPLETE, 205, 215);
    add_record(c, NPU_PHASE_DISPATCH, 270, 290);
    add_record(c, NPU_PHASE_COMPLETE, 405, 415);
    add_record(c, NPU_PHASE_COMPLETE, 605, 615);
    c->streams[0] = npu_record_stream_usual(0, RECORDS);
    for (int i = 0; i < CALLS; i++)
        c->calls[c->call_count++] = (npu_call){
            .task = (uint64_t)i + 1, .submit_idx = i, .start = 10 + 20 * i, .end = 25 + 20 * i};
}

static void fill_deps(npu_deps *d) {
    *d = (npu_deps){0};
    assert_int_equal(npu_grow((void **)&d->tasks, &d->task_capacity, TASKS, sizeof *d->tasks, NULL),
                     NPU_OK);
    assert_int_equal(npu_grow((void **)&d->edges, &d->edge_capacity, EDGES, sizeof *d->edges, NULL),
                     NPU_OK);
    d->tasks[0] = (npu_dep_task){.id = 1,
                                 .has_kernels = true,
                                 .kernel_ids = {0, -1, -1},
                                 .has_blocks = true,
                                 .block_num = 1};
    d->tasks[1] = (npu_dep_task){
        .id = 2, .has_kernels = true, .kernel_ids = {1, 2, 2}, .has_blocks = true, .block_num = 1};
    d->tasks[2] = (npu_dep_task){.id = 3,
                                 .has_kernels = true,
                                 .kernel_ids = {-1, 3, -1},
                                 .has_blocks = true,
                                 .block_num = 2};
    d->edges[0] = (npu_dep_edge){.pred = 1, .succ = 2, .arg = -1, .wait = true};
    d->edges[1] = (npu_dep_edge){.pred = 2, .succ = 3, .arg = -1, .wait = true};
    d->task_count = TASKS;
    d->edge_count = EDGES;
}

static void begin(sound *s) {
    fill_capture(&s->c);
    fill_deps(&s->d);
}

// Checks, and frees what was checked.
static void finish(sound *s) {
    npu_error err = {0};
    assert_int_equal(npu_deps_index(&s->d, &err), NPU_OK);
    assert_int_equal(npu_capture_join(&s->c, &err), NPU_OK);
    assert_int_equal(npu_sanity_check(&s->c, &s->d, &s->sanity, &err), NPU_OK);
    npu_capture_free(&s->c);
    npu_deps_free(&s->d);
}

static void a_sound_capture_breaks_no_rule_of_all(void **state) {
    (void)state;
    sound s;
    begin(&s);
    finish(&s);
    for (int rule = 0; rule < NPU_RULE_COUNT; rule++) {
        assert_true(s.sanity.checked[rule]);
        if (s.sanity.broken[rule] != 0)
            fail_msg("%s: %s", npu_rule_names[rule], s.sanity.first[rule]);
    }
    sink text;
    sink_begin(&text);
    npu_sanity_print(text.out, &s.sanity);
    char *printed = sink_end(&text);
    assert_string_equal(printed, "  sanity: none of 22 rules broken\n");
    free(printed);
}

// What breaks a rule, and the rule; the numbers of cases are in `times`.
static void lose_start(sound *s) {
    s->c.core_rows[5].start = 0;
}
static void lose_cpu_row(sound *s) {
    s->c.cpu_rows[2] = s->c.cpu_rows[--s->c.cpu_row_count];
}
static void lose_core_row(sound *s) {
    s->c.core_row_count--;
}
static void drop_records(sound *s) {
    s->c.streams[0].dropped = 3;
}
static void cut_off(sound *s) {
    s->c.streams[0].truncated = true;
}
static void receive_early(sound *s) {
    s->c.cpu_rows[0].dispatch = 93; // received 90: 3 ticks before
}
static void setup_backwards(sound *s) {
    s->c.core_rows[0].setup = -1;
}
static void end_early(sound *s) {
    s->c.core_rows[4].end = 499;
}
static void finish_early(sound *s) {
    s->c.cpu_rows[0].finish = 197;
    s->c.records[0].start = 190; // that the scheduler sees it is another rule
}
static void overlap(sound *s) {
    s->c.core_rows[2].end = 501;
}
static void third_in_flight(sound *s) {
    add_row(&s->c, 0, 1, 3, 450, 460); // core 0's third
    s->c.cpu_rows[0].finish = s->c.cpu_rows[1].finish = 440;
    s->c.cpu_rows[6].dispatch = 430;
}
static void repeat_number(sound *s) {
    s->c.core_rows[1].reg_task_id = 1;
}
static void other_thread(sound *s) {
    s->c.records[2].end = 407; // the three finishes at 410 are 3 ticks behind
}
static void record_backwards(sound *s) {
    s->c.records[1].end = 269;
}
static void phases_overlap(sound *s) {
    s->c.records[1].end = 406;
}
static void calls_overlap(sound *s) {
    s->c.calls[1].start = 24;
}
static void unknown_task(sound *s) {
    s->c.core_rows[0].task = 9;
}
static void task_twice(sound *s) {
    s->d.tasks[0].id = 2;
}
static void unknown_consumer(sound *s) {
    s->d.edges[1].succ = 77;
}
static void forward_edge(sound *s) {
    npu_dep_task first = s->d.tasks[0];
    s->d.tasks[0] = s->d.tasks[1];
    s->d.tasks[1] = first;
}
static void wrong_core(sound *s) {
    s->d.tasks[0].kernel_ids[0] = -1;
    s->d.tasks[0].kernel_ids[1] = 7;
}
static void too_few_rows(sound *s) {
    s->d.tasks[2].block_num = 3;
}
static void half_a_cluster(sound *s) {
    s->c.core_rows[4].task = 2; // an AIV part more than the AIC's
}
static void start_before_producer(sound *s) {
    s->c.core_rows[1].end = 503; // m ends; b starts 500
}

typedef struct breach {
    void (*make)(sound *s);
    npu_rule rule;
    int times;
} breach;

static const breach breaches[] = {
    {lose_start, NPU_RULE_LOST, 1},           {lose_cpu_row, NPU_RULE_NO_CPU_ROW, 1},
    {lose_core_row, NPU_RULE_NO_CORE_ROW, 1}, {drop_records, NPU_RULE_DROPPED, 1},
    {cut_off, NPU_RULE_DROPPED, 1},           {receive_early, NPU_RULE_RECEIVE, 1},
    {setup_backwards, NPU_RULE_RECEIVE, 1},   {end_early, NPU_RULE_END, 1},
    {finish_early, NPU_RULE_FINISH, 1},       {overlap, NPU_RULE_OVERLAP, 1},
    {third_in_flight, NPU_RULE_FLIGHT, 1},    {repeat_number, NPU_RULE_REPEAT, 1},
    {other_thread, NPU_RULE_THREAD, 3},       {record_backwards, NPU_RULE_RECORD, 1},
    {phases_overlap, NPU_RULE_PHASES, 1},     {calls_overlap, NPU_RULE_CALLS, 1},
    {unknown_task, NPU_RULE_UNKNOWN, 1},      {task_twice, NPU_RULE_TWICE, 1},
    {unknown_consumer, NPU_RULE_SUCC, 1},     {forward_edge, NPU_RULE_FORWARD, 1},
    {wrong_core, NPU_RULE_KERNEL, 1},         {too_few_rows, NPU_RULE_ROWS, 1},
    {half_a_cluster, NPU_RULE_CLUSTER, 1},    {start_before_producer, NPU_RULE_ORDER, 1},
};

static void each_rule_is_counted_and_named_when_it_is_broken(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof breaches / sizeof *breaches; i++) {
        sound s;
        begin(&s);
        breaches[i].make(&s);
        finish(&s);
        const breach *b = &breaches[i];
        if (s.sanity.broken[b->rule] != b->times)
            fail_msg("%s: %d cases, not %d", npu_rule_names[b->rule], (int)s.sanity.broken[b->rule],
                     b->times);
        assert_true(s.sanity.first[b->rule][0] != '\0');
    }
}

// The border of each rule with a slack: 2 ticks are allowed.
static void two_ticks_are_forgiven(void **state) {
    (void)state;
    sound s;
    begin(&s);
    s.c.cpu_rows[0].dispatch = 92; // received 90
    s.c.cpu_rows[4].finish = 598;  // ends 600
    s.c.records[3].start = 600;    // 2 ticks behind that finish
    s.c.core_rows[2].end = 312;
    s.c.core_rows[3].end = 312;
    s.c.core_rows[1].end = 502; // m ends; b starts 500
    s.c.cpu_rows[1].finish = 602;
    finish(&s);
    assert_int_equal(npu_sanity_broken(&s.sanity), 0);
}

static void a_task_without_rows_hands_on_its_producers(void **state) {
    (void)state;
    sound s;
    begin(&s);
    // m becomes a dummy without rows between a and b; a ends after b starts.
    s.d.tasks[1] = (npu_dep_task){.id = 2, .has_kernels = true, .kernel_ids = {-1, -1, -1}};
    for (int i = 1; i <= 3; i++)
        s.c.core_rows[i].task = 1;
    s.c.core_rows[1].end = 520;
    finish(&s);
    assert_int_equal(s.sanity.broken[NPU_RULE_ORDER], 1);
    assert_string_equal(s.sanity.first[NPU_RULE_ORDER], "t3 starts 500, t2 ends 520");
}

static void a_task_whose_predicate_was_false_has_no_rows(void **state) {
    (void)state;
    for (int skipped = 0; skipped < 2; skipped++) {
        sound s;
        begin(&s);
        s.c.core_row_count = s.c.cpu_row_count = 4; // b did not run
        s.c.record_count = 3;
        if (skipped) {
            npu_record record = {.start = 420, .end = 420, .task = 3, .has = NPU_RECORD_TASK};
            assert_int_equal(npu_capture_kind(&s.c, "predicated_skip", &record.kind, NULL), NPU_OK);
            s.c.records[s.c.record_count++] = record;
        }
        s.c.streams[0].count = s.c.record_count;
        finish(&s);
        assert_int_equal(s.sanity.broken[NPU_RULE_ROWS], skipped ? 0 : 1);
    }
}

static void an_older_graph_does_not_say_how_many_rows(void **state) {
    (void)state;
    sound s;
    begin(&s);
    s.d.tasks[2].has_blocks = false;
    s.d.tasks[2].block_num = 1;
    finish(&s);
    assert_int_equal(s.sanity.broken[NPU_RULE_ROWS], 0);
}

static void without_a_graph_its_rules_are_not_checked(void **state) {
    (void)state;
    sound s;
    begin(&s);
    assert_int_equal(npu_capture_join(&s.c, NULL), NPU_OK);
    assert_int_equal(npu_sanity_check(&s.c, NULL, &s.sanity, NULL), NPU_OK);
    assert_false(s.sanity.checked[NPU_RULE_ORDER]);
    assert_true(s.sanity.checked[NPU_RULE_OVERLAP]);
    npu_capture_free(&s.c);
    npu_deps_free(&s.d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_capture_breaks_no_rule_of_all),
        cmocka_unit_test(each_rule_is_counted_and_named_when_it_is_broken),
        cmocka_unit_test(two_ticks_are_forgiven),
        cmocka_unit_test(a_task_without_rows_hands_on_its_producers),
        cmocka_unit_test(a_task_whose_predicate_was_false_has_no_rows),
        cmocka_unit_test(an_older_graph_does_not_say_how_many_rows),
        cmocka_unit_test(without_a_graph_its_rules_are_not_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
