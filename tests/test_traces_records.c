// SPDX-License-Identifier: Apache-2.0
// Swimlane records of all generations: their shapes, what is wrong with them, how they are written.
#include "test_traces_records.h"

#include "swimlane.h"

#define META                                                                                       \
    "\"metadata\":{\"clock_freq_hz\":50000000,\"num_cores\":3,"                                    \
    "\"core_types\":[\"aic\",\"aiv\",\"aiv\"]}"

// The example of the format: dispatch 970, receive 1000 - 18, kernel 1000 to 3500, finish 3540.
static void the_example_of_g1_is_read(void **state) {
    (void)state;
    npu_capture c = read_good("{\"chip_swimlane_level\":2," META
                              ",\"aicore_tasks\":[[0,4294967296,1,1000,3500,18]],"
                              "\"aicpu_tasks\":[[0,1,970,3540]]}");
    assert_int_equal(c.generation, NPU_G1);
    assert_int_equal(c.level, 2);
    assert_int_equal(c.clock_hz, 50000000);
    assert_int_equal(c.core_count, 3);
    assert_int_equal(c.cores[1].type, NPU_AIV);
    assert_false(c.threaded);
    assert_int_equal(c.core_row_count, 1);
    const npu_core_row *row = &c.core_rows[0];
    assert_true(row->task == UINT64_C(4294967296));
    assert_int_equal(row->start - row->setup, 982);
    assert_int_equal(row->mate, 0);
    assert_int_equal(c.cpu_rows[0].dispatch, 970);
    assert_int_equal(c.cpu_rows[0].finish, 3540);
    npu_capture_free(&c);
}

static void shapes_tell_the_generation(void **state) {
    (void)state;
    static const struct {
        const char *body;
        npu_generation generation;
        int64_t setup;
        uint32_t epoch;
    } files[] = {
        {"\"aicore_tasks\":[[0,7,1,100,110]],\"aicpu_tasks\":[[0,1,90,120]]", NPU_G1, 0, 0},
        {"\"aicore_tasks\":[[0,7,1,100,110,3]],\"aicpu_tasks\":[[0,1,90,120]]", NPU_G1, 3, 0},
        {"\"aicore_tasks\":[[0,7,1,100,110,3]],\"scheduler_tasks\":{\"schema_version\":1,"
         "\"producer\":\"aicpu\",\"records\":[[0,1,90,120]]}",
         NPU_G2, 3, 0},
        {"\"aicore_tasks\":[[0,7,1,100,110,3,9]],\"scheduler_tasks\":{\"producer\":\"aicpu\","
         "\"records\":[[0,1,90,120,9]]}",
         NPU_G3, 3, 9},
        // Columns to come, in a file that is G1 by its keys, mean nothing.
        {"\"aicore_tasks\":[[0,7,1,100,110,3,9,8]],\"aicpu_tasks\":[[0,1,90,120,9]]", NPU_G1, 3, 0},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char text[1024];
        snprintf(text, sizeof text, "{%s,%s}", files[i].body, META); // the metadata may come last
        npu_capture c = read_good(text);
        assert_int_equal(c.generation, files[i].generation);
        assert_int_equal(c.level, 2); // no level is given, but rows of the AICPU are
        assert_int_equal(c.core_rows[0].setup, files[i].setup);
        assert_int_equal(c.core_rows[0].epoch, files[i].epoch);
        assert_int_equal(c.core_rows[0].mate, 0);
        assert_int_equal(c.cpu_rows[0].epoch, files[i].epoch);
        npu_capture_free(&c);
    }
}

static void levels_follow_from_what_is_there(void **state) {
    (void)state;
    static const struct {
        const char *body;
        int level;
    } files[] = {
        {"\"aicore_tasks\":[]", 1},
        {"\"aicore_tasks\":[],\"aicpu_tasks\":[[0,1,90,120]]", 2},
        {"\"aicore_tasks\":[],\"aicpu_scheduler_phases\":[[]]", 3},
        {"\"aicore_tasks\":[],\"aicpu_orchestrator_phases\":[[]]", 4},
        {"\"aicore_tasks\":[],\"chip_swimlane_level\":3", 3},
        {"\"aicore_tasks\":[],\"l2_swimlane_level\":2", 2},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char text[512];
        snprintf(text, sizeof text, "{%s,%s}", META, files[i].body);
        npu_capture c = read_good(text);
        assert_int_equal(c.level, files[i].level);
        npu_capture_free(&c);
    }
}

static void rows_join_on_core_and_dispatch_not_on_task(void **state) {
    (void)state;
    // Two blocks of task 7 on core 1, the AICPU's rows in another order, one of either without
    // mate.
    npu_capture c = read_good(
        "{" META ",\"aicore_tasks\":[[1,7,2,300,400,0],[1,7,1,100,200,0],[0,8,1,100,110,0]],"
        "\"aicpu_tasks\":[[2,1,5,6],[1,1,90,210],[1,2,95,410]]}");
    assert_int_equal(c.core_rows[0].mate, 2);
    assert_int_equal(c.core_rows[1].mate, 1);
    assert_int_equal(c.core_rows[2].mate, -1);
    assert_false(c.cpu_rows[0].joined);
    npu_capture_free(&c);
}

static void ids_keep_64_bits(void **state) {
    (void)state;
    npu_capture c = read_good("{" META ",\"aicore_tasks\":[[0,4611686018427387905,1,100,110,0],"
                              "[0,18446744073709551614,2,120,130,0],[0,-3,3,140,150,0]]}");
    assert_true(c.core_rows[0].task == UINT64_C(4611686018427387905)); // 2^62 + 1
    assert_true(c.core_rows[1].task == UINT64_C(18446744073709551614));
    assert_true(c.core_rows[2].task == UINT64_MAX - 2);
    npu_capture_free(&c);
}

static void older_kinds_of_records_are_renamed_or_left_out(void **state) {
    (void)state;
    npu_capture c =
        read_good("{" META ",\"aicore_tasks\":[],\"aicpu_scheduler_phases\":[[],["
                  "{\"kind\":\"fanout\",\"start_cycles\":5,\"end_cycles\":9,\"loop_iter\":3},"
                  "{\"kind\":\"idle\",\"start_cycles\":9,\"end_cycles\":10},"
                  "{\"kind\":\"poll\",\"start_cycles\":9,\"end_cycles\":10},"
                  "{\"kind\":\"scan\",\"start_cycles\":9,\"end_cycles\":10},"
                  "{\"kind\":\"prestage\",\"start_cycles\":10,\"end_cycles\":12},"
                  "{\"kind\":\"wire\",\"start_cycles\":12,\"end_cycles\":13,\"tasks_processed\":5,"
                  "\"local_at_start\":[1,0,0],\"shared_at_start\":[1,2,3],\"local_at_end\":[0,0,1],"
                  "\"shared_at_end\":[4,5,6]}],[],[]]}");
    assert_int_equal(c.legacy_records, 3);
    assert_int_equal(c.record_count, 3);
    assert_int_equal(c.stream_count, 2); // empty lists behind are spare places
    assert_int_equal(c.streams[1].count, 3);
    assert_int_equal(c.records[0].kind, NPU_PHASE_RESOLVE);
    assert_int_equal(c.records[0].stream, 1);
    assert_int_equal(c.records[1].kind, NPU_PHASE_EARLY_DISPATCH);
    assert_string_equal(c.kinds[c.records[2].kind], "wire");
    assert_int_equal(c.records[2].depth_end[2], 6);
    assert_int_equal(c.records[2].has, NPU_RECORD_DEPTHS);
    assert_string_equal(c.records[2].extra,
                        "\"local_at_start\": [1, 0, 0], \"local_at_end\": [0, 0, 1]");
    npu_capture_free(&c);
}

#define STREAM_HEAD                                                                                \
    "{\"platform\":\"a2a3\",\"runtime\":\"tensormap_and_ringbuffer\",\"producer\":\"aicpu\","      \
    "\"scheduler_id\":2,\"worker_id\":5,\"core_type\":\"aicpu\",\"physical_core_id\":null,"        \
    "\"capture\":{\"committed\":4,\"dropped\":2,\"truncated\":true},"

static void what_stands_beside_a_stream_is_merged_into_its_records(void **state) {
    (void)state;
    npu_capture c = read_good(
        "{" META ",\"aicore_tasks\":[],\"scheduler_tasks\":{\"schema_version\":1,\"records\":[]},"
        "\"scheduler_records\":{\"schema_version\":1,\"streams\":[" STREAM_HEAD
        "\"metrics\":[{\"record_index\":1,\"pop_hit\":8,\"pop_miss\":798,"
        "\"shared_at_start\":[1,2,3],\"shared_at_end\":[0,0,0],\"claim_retries\":4}],"
        "\"records\":[{\"start_cycles\":5,\"end_cycles\":9,\"loop_iter\":1,\"kind\":\"complete\","
        "\"tasks_processed\":1,\"task_id\":null},{\"start_cycles\":9,\"end_cycles\":12,"
        "\"loop_iter\":1,\"kind\":\"dispatch\",\"tasks_processed\":3,\"task_id\":77}]}]}}");
    assert_int_equal(c.generation, NPU_G2);
    assert_int_equal(c.stream_count, 3); // a stream stands at its scheduler's number
    const npu_record_stream *stream = &c.streams[2];
    assert_true(stream->said);
    assert_int_equal(stream->worker_id, 5);
    assert_int_equal(stream->dropped, 2);
    assert_true(stream->truncated);
    assert_int_equal(stream->count, 2);
    assert_int_equal(c.records[0].has, 0);
    assert_int_equal(c.records[1].has, NPU_RECORD_TASK | NPU_RECORD_POPS | NPU_RECORD_DEPTHS);
    assert_int_equal(c.records[1].pop_miss, 798);
    assert_int_equal(c.records[1].depth_start[1], 2);
    assert_int_equal(c.records[1].task, 77);
    assert_string_equal(c.records[1].extra, "\"claim_retries\": 4");
    npu_capture_free(&c);
}

static void truncated_may_be_a_number(void **state) {
    (void)state;
    for (int count = 0; count < 2; count++) {
        char text[512];
        snprintf(text, sizeof text,
                 "{" META ",\"aicore_tasks\":[],\"scheduler_records\":{\"streams\":[{"
                 "\"scheduler_id\":0,\"capture\":{\"dropped\":1,\"truncated\":%d}}]}}",
                 count);
        npu_capture c = read_good(text);
        assert_int_equal(c.streams[0].truncated, count == 1);
        npu_capture_free(&c);
    }
}

static void calls_may_be_of_the_host(void **state) {
    (void)state;
    npu_capture c = read_good(
        "{" META ",\"aicore_tasks\":[],\"host_orchestrator_phases\":[[{\"submit_idx\":3,"
        "\"task_id\":9,\"start_host_ns\":1700000000000000001,\"end_host_ns\":1700000000000000009}]]"
        ","
        "\"host_device_uploads\":[{\"phase\":\"sm_h2d\",\"start_host_ns\":5,\"end_host_ns\":6,"
        "\"detail\":4096}]}");
    assert_true(c.host_calls);
    assert_string_equal(c.runtime, "host_build_graph");
    assert_int_equal(c.calls[0].end, INT64_C(1700000000000000009));
    assert_int_equal(c.uploads[0].bytes, 4096);
    npu_capture_free(&c);
}

// ---- bad files -----------------------------------------------------------------------------

#define ROWS "\"aicore_tasks\":[[0,7,1,100,110]]"
#define PHASES "\"aicpu_scheduler_phases\":"

static const struct {
    const char *text, *sentence;
} bad_files[] = {
    {"[]", "r.json:1:1: the file must be an object"},
    {"{}", "r.json: has no metadata object"},
    {"{" META "}", "r.json: has no aicore_tasks"},
    {"{\"metadata\":7}", "r.json:1:13: metadata must be an object"},
    {"{\"metadata\":{\"core_types\":[\"aic\"]}}",
     "r.json:1:34: metadata must give clock_freq_hz, a number of Hz above 0"},
    {"{\"metadata\":{\"clock_freq_hz\":0}}",
     "r.json:1:30: clock_freq_hz must be a whole number from 1 to 1000000000000"},
    {"{\"metadata\":{\"clock_freq_hz\":5}}",
     "r.json:1:31: metadata must give core_types, a list with each core's type"},
    {"{\"metadata\":{\"clock_freq_hz\":5,\"core_types\":[\"aix\"]}}",
     "r.json:1:46: the type of core 0 is neither aic nor aiv"},
    {"{\"metadata\":{\"clock_freq_hz\":5,\"num_cores\":2,\"core_types\":[\"aic\"]}}",
     "r.json:1:66: metadata says 2 cores, but gives the types of 1"},
    {"{\"metadata\":{\"clock_freq_hz\":5,\"num_cores\":3,\"core_to_thread\":[0,1,2,0]}}",
     "r.json:1:72: core_to_thread names 4 cores, but there are 3"},
    {"{\"chip_swimlane_level\":5}",
     "r.json:1:24: chip_swimlane_level must be a whole number from 1 to 4"},
    {"{" META ",\"aicore_tasks\":{}}", ": aicore_tasks must be a list"},
    {"{" META ",\"aicore_tasks\":[7]}", ": a row of aicore_tasks must be a list"},
    {"{" META ",\n\"aicore_tasks\":[[0,1,1,5]]}",
     "r.json:2:25: a row of aicore_tasks has 4 columns, at least 5 are needed"},
    {"{" META ",\n\"aicore_tasks\":[[0,1,1,5.5,6]]}",
     "r.json:2:24: a row of aicore_tasks: column 3 is not a whole number of 64 bits"},
    {"{" META ",\"aicore_tasks\":[[3,1,1,5,6]]}",
     ": a row of aicore_tasks is on core 3, but there are 3 cores"},
    {"{\"aicore_tasks\":[[3,1,1,5,6]]," META "}",
     "r.json: a row is on core 3, but there are 3 cores"},
    {"{" META ",\"aicore_tasks\":[[-1,1,1,5,6]]}", ": a row of aicore_tasks is on core"},
    {"{" META ",\"aicore_tasks\":[[0,1,4294967296,5,6]]}", ": reg_task_id has more than 32 bits"},
    {"{" META ",\"aicore_tasks\":[[0,1,1,-5,6]]}",
     ": a stamp is negative or has more than 61 bits"},
    {"{" META ",\"aicore_tasks\":[[0,1,1,5,9223372036854775807]]}", ": a stamp is negative"},
    {"{" META ",\"aicore_tasks\":[[0,1,1,5,6,9223372036854775807]]}",
     ": setup has more than 61 bits"},
    {"{" META "," ROWS ",\"aicpu_tasks\":[[0,1,5]]}",
     ": a row of the AICPU's tasks has 3 columns, at least 4 are needed"},
    {"{" META "," ROWS ",\"scheduler_tasks\":{\"records\":[[0,1,5,6,4294967296]]}}",
     ": run_epoch has more than 32 bits"},
    {"{" META "," ROWS "," PHASES "[7]}", ": an entry of aicpu_scheduler_phases must be a list"},
    {"{" META "," ROWS "," PHASES "[[7]]}", ": a scheduler's record must be an object"},
    {"{" META "," ROWS "," PHASES "[[{\"kind\":\"drain\",\"start_cycles\":5}]]}",
     ": a scheduler's record needs kind, start_cycles and end_cycles"},
    {"{" META "," ROWS "," PHASES "[[{\"shared_at_end\":[1,2]}]]}",
     ": shared_at_end must hold three numbers, not 2"},
    {"{" META "," ROWS ",\"scheduler_records\":{\"streams\":[{\"records\":[]}]}}",
     ": a stream has no scheduler_id"},
    {"{" META "," ROWS ",\"scheduler_records\":{\"streams\":[{\"scheduler_id\":1},"
     "{\"scheduler_id\":1}]}}",
     ": scheduler 1 has two streams"},
    {"{" META "," ROWS ",\"scheduler_records\":{\"streams\":[{\"scheduler_id\":1,"
     "\"metrics\":[{\"record_index\":0}]}]}}",
     ": metrics name record 0 of 0"},
    {"{" META "," ROWS ",\"aicpu_orchestrator_phases\":[[{\"task_id\":1,\"start_cycles\":5}]]}",
     ": a call of the orchestrator needs a task_id, a start and an end"},
    {"{" META "," ROWS ",\"aicpu_orchestrator_phases\":[[]],\"host_orchestrator_phases\":[[]]}",
     ": calls of an orchestrator on the AICPU and on the host"},
};

static void a_bad_file_is_named_with_its_fault(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad_files / sizeof *bad_files; i++) {
        npu_capture c;
        npu_error err = {0};
        if (read_text(bad_files[i].text, &c, &err) != NPU_BAD_INPUT)
            fail_msg("%s\nis accepted", bad_files[i].text);
        if (strstr(err.text, bad_files[i].sentence) == NULL || strncmp(err.text, "r.json:", 7) != 0)
            fail_msg("'%s' does not hold '%s'", err.text, bad_files[i].sentence);
        npu_capture_free(&c);
    }
}

// ---- writing -------------------------------------------------------------------------------

static void what_our_own_writer_writes_is_read_and_written_the_same(void **state) {
    (void)state;
    fixture *f = fix_new();
    for (int level = 1; level <= 4; level++) {
        sink s;
        sink_begin(&s);
        assert_int_equal(npu_swimlane_write(s.out, &f->trace, level, NULL), NPU_OK);
        char *written = sink_end(&s);
        npu_capture c = read_good(written);
        char *again = write_text(&c, NPU_G1);
        assert_text(again, written);
        npu_capture_free(&c);
        free(written);
        free(again);
    }
    free(f);
}

static void a_newer_generation_is_written_in_its_shape(void **state) {
    (void)state;
    npu_capture c = read_good(
        "{\"chip_swimlane_level\":4," META ",\"aicore_tasks\":[[0,7,1,100,110,3]],"
        "\"aicpu_tasks\":[[0,1,90,120]],\"aicpu_scheduler_phases\":[[{\"kind\":\"dispatch\","
        "\"start_cycles\":80,\"end_cycles\":95,\"loop_iter\":2,\"tasks_processed\":1,\"pop_hit\":1,"
        "\"pop_miss\":0}]],\"aicpu_orchestrator_phases\":[[{\"submit_idx\":0,\"task_id\":7,"
        "\"start_cycles\":60,\"end_cycles\":70}]]}");
    char *text = write_text(&c, NPU_G3);
    assert_text(
        text,
        "{\n"
        "  \"chip_swimlane_level\": 4,\n"
        "  \"metadata\": {\n"
        "    \"clock_freq_hz\": 50000000,\n"
        "    \"num_cores\": 3,\n"
        "    \"core_types\": [\"aic\", \"aiv\", \"aiv\"],\n"
        "    \"runtime\": \"tensormap_and_ringbuffer\"\n"
        "  },\n"
        "  \"aicore_tasks\": [\n"
        "    [0, 7, 1, 100, 110, 3, 0]\n"
        "  ],\n"
        "  \"scheduler_tasks\": {\"producer\": \"aicpu\", \"records\": [\n"
        "    [0, 1, 90, 120, 0]\n"
        "  ]},\n"
        "  \"scheduler_records\": {\"streams\": [\n"
        "      {\"platform\": \"a2a3\", \"producer\": \"aicpu\", \"scheduler_id\": 0, "
        "\"worker_id\": 0, \"core_type\": \"aicpu\", \"physical_core_id\": null, "
        "\"capture\": {\"committed\": 1, \"dropped\": 0, \"truncated\": false},\n"
        "       \"records\": [\n"
        "        {\"start_cycles\": 80, \"end_cycles\": 95, \"run_epoch\": 0, \"loop_iter\": 2, "
        "\"kind\": \"dispatch\", \"tasks_processed\": 1, \"task_id\": null}],\n"
        "       \"metrics\": [\n"
        "        {\"record_index\": 0, \"pop_hit\": 1, \"pop_miss\": 0}]}\n"
        "    ]},\n"
        "  \"aicpu_orchestrator_phases\": [\n"
        "    [\n"
        "      {\"submit_idx\": 0, \"task_id\": 7, \"start_cycles\": 60, \"end_cycles\": 70, "
        "\"run_epoch\": 0}\n"
        "    ]\n"
        "  ]\n"
        "}\n");
    free(text);
    npu_capture_free(&c);
}

static void several_epochs_are_for_g3_alone(void **state) {
    (void)state;
    npu_capture c =
        read_good("{" META ",\"aicore_tasks\":[[0,7,1,100,110,3,1],[0,7,1,200,210,3,2]],"
                  "\"scheduler_tasks\":{\"records\":[[0,1,90,120,1],[0,1,190,220,2]]}}");
    assert_int_equal(c.core_rows[1].mate, 1); // numbers begin anew in each epoch
    sink s;
    npu_error err = {0};
    sink_begin(&s);
    assert_int_equal(npu_records_write(s.out, &c, NPU_G1, &err), NPU_BAD_INPUT);
    assert_string_equal(err.text, "r.json: holds several run epochs, which only g3 tells apart");
    free(sink_end(&s));
    char *text = write_text(&c, NPU_G3);
    npu_capture again = read_good(text);
    assert_int_equal(again.core_rows[1].epoch, 2);
    npu_capture_free(&again);
    npu_capture_free(&c);
    free(text);
}

static void ids_are_shown_as_the_runtime_shows_them(void **state) {
    (void)state;
    char text[32];
    assert_string_equal(npu_task_label(UINT64_C(4294967303), false, text, 32), "r1t7");
    assert_string_equal(npu_task_label(7, false, text, 32), "t7");
    assert_string_equal(npu_task_label(UINT64_C(3) << 32 | 5, false, text, 32), "r3t5");
    assert_string_equal(npu_task_label(UINT64_MAX, false, text, 32), "18446744073709551615");
    assert_string_equal(npu_task_label(9, true, text, 32), "t9");
    assert_string_equal(npu_task_label(UINT64_C(1) << 62 | UINT64_C(3) << 32 | 4, true, text, 32),
                        "g3t4");
    assert_string_equal(npu_task_label(UINT64_C(2) << 62 | 6, true, text, 32), "p6");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_g1_is_read),
        cmocka_unit_test(shapes_tell_the_generation),
        cmocka_unit_test(levels_follow_from_what_is_there),
        cmocka_unit_test(rows_join_on_core_and_dispatch_not_on_task),
        cmocka_unit_test(ids_keep_64_bits),
        cmocka_unit_test(older_kinds_of_records_are_renamed_or_left_out),
        cmocka_unit_test(what_stands_beside_a_stream_is_merged_into_its_records),
        cmocka_unit_test(truncated_may_be_a_number),
        cmocka_unit_test(calls_may_be_of_the_host),
        cmocka_unit_test(a_bad_file_is_named_with_its_fault),
        cmocka_unit_test(what_our_own_writer_writes_is_read_and_written_the_same),
        cmocka_unit_test(a_newer_generation_is_written_in_its_shape),
        cmocka_unit_test(several_epochs_are_for_g3_alone),
        cmocka_unit_test(ids_are_shown_as_the_runtime_shows_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
