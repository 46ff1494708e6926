// SPDX-License-Identifier: Apache-2.0
#include "test_traces_fixture.h"

#include <jansson.h>

#include "perfetto.h"

// The file of a level, parsed; its events.
static json_t *events_of(const fixture *f, int level, json_t **root) {
    sink s;
    npu_error err = {0};
    sink_begin(&s);
    assert_int_equal(npu_perfetto_write(s.out, &f->trace, &f->graph, level, &err), NPU_OK);
    char *text = sink_end(&s);
    json_error_t problem;
    *root = json_loads(text, JSON_REJECT_DUPLICATES, &problem);
    if (*root == NULL)
        fail_msg("line %d: %s", problem.line, problem.text);
    free(text);
    json_t *events = json_object_get(*root, "traceEvents");
    assert_true(json_is_array(events));
    return events;
}

static const char *text_at(const json_t *event, const char *key) {
    const char *text = json_string_value(json_object_get(event, key));
    return text != NULL ? text : "";
}

static json_int_t int_at(const json_t *event, const char *key) {
    return json_integer_value(json_object_get(event, key));
}

static double real_at(const json_t *event, const char *key) {
    return json_number_value(json_object_get(event, key));
}

static int count(const json_t *events, const char *key, const char *value) {
    int found = 0;
    for (size_t i = 0; i < json_array_size(events); i++)
        found += strcmp(text_at(json_array_get(events, i), key), value) == 0;
    return found;
}

// The n-th slice of a process with this name.
static const json_t *slice(const json_t *events, json_int_t pid, const char *name, int n) {
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        if (strcmp(text_at(event, "ph"), "X") == 0 && int_at(event, "pid") == pid &&
            strcmp(text_at(event, "name"), name) == 0 && n-- == 0)
            return event;
    }
    fail_msg("process %d has no slice %s", (int)pid, name);
    return NULL;
}

static void assert_event(const json_t *event, const char *expected) {
    json_t *wanted = json_loads(expected, 0, NULL);
    assert_non_null(wanted);
    if (!json_equal(event, wanted)) {
        char *text = json_dumps(event, 0);
        fail_msg("%s\nis not\n%s", text, expected);
    }
    json_decref(wanted);
}

static void worker_view_shows_each_row_from_receive_to_end(void **state) {
    (void)state;
    fixture *f = fix_new();
    json_t *root;
    json_t *events = events_of(f, 4, &root);
    assert_event(slice(events, 4, "fuse_aiv(r1t1)", 0),
                 "{\"args\":{\"event-hint\":\"Task:r1t1, FuncId:2, CoreId:4\","
                 "\"fanout-hint\":\"2: [r1t2, r1t3]\",\"fanin-hint\":\"1: [r1t0]\","
                 "\"duration-us\":4.32,\"kernel-duration-us\":4.0,\"local_setup_us\":0.32,"
                 "\"taskId\":4294967297},\"cat\":\"event\",\"id\":2,\"name\":\"fuse_aiv(r1t1)\","
                 "\"ph\":\"X\",\"pid\":4,\"tid\":10040,\"ts\":6.7,\"dur\":4.32}");
    slice(events, 4, "mm(r1t0)", 0);
    slice(events, 4, "fuse_aic(r1t1)", 0);
    slice(events, 4, "act_spmd(r1t3)", 2);
    json_decref(root);
    free(f);
}

static void scheduler_view_shows_each_row_from_dispatch_to_finish(void **state) {
    (void)state;
    fixture *f = fix_new();
    json_t *root;
    json_t *events = events_of(f, 2, &root);
    assert_event(
        slice(events, 3, "mm(r1t0)", 0),
        "{\"args\":{\"event-hint\":\"Task:r1t0, FuncId:0, CoreId:0\","
        "\"dispatch-time-us\":0.0,\"finish-time-us\":5.1,\"aicpu-duration-us\":5.1,"
        "\"taskId\":4294967296},\"cat\":\"event\",\"id\":7,\"name\":\"mm(r1t0)\",\"ph\":\"X\","
        "\"pid\":3,\"tid\":10000,\"ts\":0.0,\"dur\":5.1}");
    // The second task in flight on core 2 has a lane of its own.
    assert_int_equal(int_at(slice(events, 3, "act_spmd(r1t3)", 0), "tid"), 10020);
    assert_int_equal(int_at(slice(events, 3, "act_spmd(r1t3)", 2), "tid"), 10021);
    json_decref(root);
    free(f);
}

static void scheduler_phases_and_queue_depths_are_shown(void **state) {
    (void)state;
    fixture *f = fix_new();
    json_t *root;
    json_t *events = events_of(f, 4, &root);
    assert_event(slice(events, 2, "complete(1)", 0),
                 "{\"args\":{\"phase\":\"complete\",\"loop_iter\":50,\"tasks_processed\":1,"
                 "\"shared_at_start (aic,aiv,mix)\":[0,0,0],"
                 "\"shared_at_end (aic,aiv,mix)\":[0,0,1],\"finishes_processed\":1,"
                 "\"finish_rows_attributed\":1},\"cat\":\"scheduler\",\"cname\":\"good\","
                 "\"name\":\"complete(1)\",\"ph\":\"X\",\"pid\":2,\"tid\":30000,\"ts\":6.0,"
                 "\"dur\":0.3}");
    assert_int_equal(int_at(slice(events, 2, "resolve(2)", 0), "tid"), 30001);
    assert_int_equal(count(events, "name", "resolve(2)"), 1); // the short one is not recorded
    assert_int_equal(count(events, "name", "shared_ready_queue"), 6);
    json_decref(root);
    free(f);
}

static void dummies_and_allocations_have_slivers_in_worker_view(void **state) {
    (void)state;
    fixture *f = fix_new();
    json_t *root;
    json_t *events = events_of(f, 4, &root);
    const json_t *dummy = slice(events, 4, "dummy(r1t2)", 0);
    assert_int_equal(int_at(dummy, "tid"), 19001);
    assert_true(real_at(dummy, "dur") == 0.02);
    const json_t *alloc = slice(events, 4, "alloc(t0)", 0);
    assert_int_equal(int_at(alloc, "tid"), 19002);
    assert_event(slice(events, 1, "submit(r1t1)", 0),
                 "{\"args\":{\"phase\":\"orch_submit\",\"submit_idx\":2,\"task_id\":4294967297},"
                 "\"cat\":\"orchestrator\",\"cname\":\"rail_animation\",\"name\":\"submit(r1t1)\","
                 "\"ph\":\"X\",\"pid\":1,\"tid\":4000,\"ts\":0.5,\"dur\":0.4}");
    json_decref(root);
    free(f);
}

static void each_level_adds_a_process(void **state) {
    (void)state;
    static const char *const names[] = {"Worker View", "Scheduler View", "AICPU Scheduler",
                                        "AICPU Orchestrator"};
    fixture *f = fix_new();
    for (int level = 1; level <= 4; level++) {
        json_t *root;
        json_t *events = events_of(f, level, &root);
        assert_int_equal(count(events, "name", "process_name"), level);
        for (int i = 0; i < level; i++) {
            int found = 0;
            for (size_t e = 0; e < json_array_size(events); e++)
                found += strcmp(text_at(json_object_get(json_array_get(events, e), "args"), "name"),
                                names[i]) == 0;
            assert_int_equal(found, 1);
        }
        json_decref(root);
    }
    free(f);
}

static void times_count_from_the_smallest_stamp_shown(void **state) {
    (void)state;
    fixture *f = fix_new();
    static const double mm_starts[] = {0, 0.2, 0.4, 1.2};
    for (int level = 1; level <= 4; level++) {
        json_t *root;
        json_t *events = events_of(f, level, &root);
        assert_true(real_at(slice(events, 4, "mm(r1t0)", 0), "ts") == mm_starts[level - 1]);
        json_decref(root);
    }
    free(f);
}

// Whether a slice of this process and thread is there at ts.
static bool slice_around(const json_t *events, const json_t *end) {
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        double ts = real_at(end, "ts");
        if (strcmp(text_at(event, "ph"), "X") == 0 && int_at(event, "pid") == int_at(end, "pid") &&
            int_at(event, "tid") == int_at(end, "tid") && ts >= real_at(event, "ts") &&
            ts <= real_at(event, "ts") + real_at(event, "dur") + 1e-9)
            return true;
    }
    return false;
}

static void arrows_join_slices_in_pairs(void **state) {
    (void)state;
    fixture *f = fix_new();
    json_t *root;
    json_t *events = events_of(f, 4, &root);
    int pairs = 0;
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *from = json_array_get(events, i);
        if (strcmp(text_at(from, "ph"), "s") != 0)
            continue;
        const json_t *to = json_array_get(events, i + 1);
        assert_string_equal(text_at(to, "ph"), "f");
        assert_string_equal(text_at(to, "bp"), "e");
        assert_string_equal(text_at(to, "name"), text_at(from, "name"));
        assert_int_equal(int_at(from, "id"), pairs);
        assert_int_equal(int_at(to, "id"), pairs++);
        assert_true(real_at(from, "ts") <= real_at(to, "ts"));
        assert_true(slice_around(events, from));
        assert_true(slice_around(events, to));
    }
    // mm -> fuse has two bars at one end; fuse -> act, barrier; barrier -> act.
    assert_int_equal(count(events, "name", "dependency"), 2 * (2 + 2 + 2 + 1));
    assert_int_equal(count(events, "name", "hb_violation"), 0);
    assert_int_equal(count(events, "name", "complete"), 2 * (1 + 2 + 1));
    assert_int_equal(count(events, "name", "complete\u2192ready"), 2 * 2);
    assert_int_equal(count(events, "name", "dispatch"), 2 * FIX_ROWS);
    assert_int_equal(count(events, "name", "submit\u2192dispatch"), 2 * FIX_ROWS);
    json_decref(root);
    free(f);
}

static void an_spmd_task_is_met_at_its_earliest_slice_on_the_lower_core(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->rows[4].receive = 12300; // core 2; now core 3 is first
    json_t *root;
    json_t *events = events_of(f, 1, &root);
    int met = 0;
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        if (strcmp(text_at(event, "ph"), "f") == 0 && int_at(event, "input_task_count") == 3) {
            assert_int_equal(int_at(event, "tid"), 10030);
            met++;
        }
    }
    assert_int_equal(met, 2); // from both functions of fuse; barrier is not shown at level 1
    json_decref(root);
    free(f);
}

static void a_consumer_that_starts_before_its_producer_ends_is_marked(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->rows[4].receive = 11000; // dispatched early, waiting at the gate: no fault
    f->rows[4].dispatch = 10000;
    json_t *root;
    assert_int_equal(count(events_of(f, 1, &root), "name", "hb_violation"), 0);
    json_decref(root);
    f->rows[4].start = 11000; // two ticks are forgiven, from the AIV part's 11020
    assert_int_equal(count(events_of(f, 1, &root), "name", "hb_violation"), 0);
    json_decref(root);
    f->rows[4].receive = f->rows[4].start = 10970;
    assert_int_equal(count(events_of(f, 1, &root), "name", "hb_violation"), 2);
    json_decref(root);
    free(f);
}

static void names_from_outside_are_escaped(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->funcs[0].name = "a\"b\\c";
    f->funcs[2].name = "my_SPMD_act";
    json_t *root;
    json_t *events = events_of(f, 1, &root);
    slice(events, 4, "a\"b\\c(r1t0)", 0);
    slice(events, 4, "my_SPMD_act(r1t3)", 0); // says so itself
    json_decref(root);
    free(f);
}

static void a_run_without_rows_is_a_sound_file(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->trace.row_count = f->trace.phase_count = f->trace.submit_count = 0;
    json_t *root;
    json_t *events = events_of(f, 4, &root);
    assert_int_equal(count(events, "ph", "X"), 0);
    json_decref(root);
    free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worker_view_shows_each_row_from_receive_to_end),
        cmocka_unit_test(scheduler_view_shows_each_row_from_dispatch_to_finish),
        cmocka_unit_test(scheduler_phases_and_queue_depths_are_shown),
        cmocka_unit_test(dummies_and_allocations_have_slivers_in_worker_view),
        cmocka_unit_test(each_level_adds_a_process),
        cmocka_unit_test(times_count_from_the_smallest_stamp_shown),
        cmocka_unit_test(arrows_join_slices_in_pairs),
        cmocka_unit_test(an_spmd_task_is_met_at_its_earliest_slice_on_the_lower_core),
        cmocka_unit_test(a_consumer_that_starts_before_its_producer_ends_is_marked),
        cmocka_unit_test(names_from_outside_are_escaped),
        cmocka_unit_test(a_run_without_rows_is_a_sound_file),
    };
    return cmocka_run_group_tests_name("the Perfetto file", tests, NULL, NULL);
}
