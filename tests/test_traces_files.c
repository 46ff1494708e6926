// SPDX-License-Identifier: Apache-2.0
// Swimlane, deps, names and pmu files, to the letter.
#include "test_traces_fixture.h"

#include <jansson.h>

#include "deps.h"
#include "names.h"
#include "pmu.h"
#include "swimlane.h"

static const char aicore_rows[] = "  \"aicore_tasks\": [\n"
                                  "    [0, 4294967296, 1, 85, 285, 15],\n"
                                  "    [1, 4294967297, 1, 360, 560, 15],\n"
                                  "    [2, 4294967299, 1, 630, 730, 10],\n"
                                  "    [2, 4294967299, 2, 745, 845, 15],\n"
                                  "    [3, 4294967299, 1, 631, 730, 11],\n"
                                  "    [4, 4294967297, 1, 361, 561, 16],\n"
                                  "    [5, 4294967297, 1, 361, 510, 16]\n"
                                  "  ],\n";
static const char aicpu_rows[] = "  \"aicpu_tasks\": [\n"
                                 "    [0, 1, 60, 315],\n"
                                 "    [1, 1, 335, 585],\n"
                                 "    [2, 1, 610, 760],\n"
                                 "    [2, 2, 610, 875],\n"
                                 "    [3, 1, 610, 755],\n"
                                 "    [4, 1, 335, 590],\n"
                                 "    [5, 1, 335, 590]\n"
                                 "  ]";
static const char phases[] =
    "  \"aicpu_scheduler_phases\": [\n"
    "    [\n"
    "      {\"kind\": \"dispatch\", \"start_cycles\": 50, \"end_cycles\": 63, \"loop_"
    "iter\": 7, \"tasks_processed\": 1, \"pop_hit\": 1, \"pop_miss\": 2, \"shared_at_"
    "start\": [1, 0, 0], \"shared_at_end\": [0, 0, 0]},\n"
    "      {\"kind\": \"complete\", \"start_cycles\": 310, \"end_cycles\": 325, \"loo"
    "p_iter\": 50, \"tasks_processed\": 1, \"shared_at_start\": [0, 0, 0], \"shared_a"
    "t_end\": [0, 0, 1]},\n"
    "      {\"kind\": \"dispatch\", \"start_cycles\": 605, \"end_cycles\": 615, \"loo"
    "p_iter\": 90, \"tasks_processed\": 3, \"pop_hit\": 0, \"pop_miss\": 0, \"shared_"
    "at_start\": [0, 0, 0], \"shared_at_end\": [0, 0, 0]},\n"
    "      {\"kind\": \"complete\", \"start_cycles\": 750, \"end_cycles\": 875, \"loo"
    "p_iter\": 99, \"tasks_processed\": 3, \"shared_at_start\": [0, 0, 0], \"shared_a"
    "t_end\": [0, 0, 0]},\n"
    "      {\"kind\": \"resolve\", \"start_cycles\": 760, \"end_cycles\": 810, \"loop"
    "_iter\": 99, \"tasks_processed\": 2, \"shared_at_start\": [0, 0, 0], \"shared_at"
    "_end\": [0, 0, 0]}\n"
    "    ],\n"
    "    [\n"
    "      {\"kind\": \"dispatch\", \"start_cycles\": 325, \"end_cycles\": 338, \"loo"
    "p_iter\": 40, \"tasks_processed\": 3, \"pop_hit\": 0, \"pop_miss\": 0, \"shared_"
    "at_start\": [0, 0, 0], \"shared_at_end\": [0, 0, 0]},\n"
    "      {\"kind\": \"complete\", \"start_cycles\": 580, \"end_cycles\": 595, \"loo"
    "p_iter\": 80, \"tasks_processed\": 3, \"shared_at_start\": [0, 0, 0], \"shared_a"
    "t_end\": [0, 0, 0]},\n"
    "      {\"kind\": \"dummy_task\", \"start_cycles\": 598, \"end_cycles\": 598, \"l"
    "oop_iter\": 80, \"tasks_processed\": 1, \"task_id\": 4294967298, \"shared_at_sta"
    "rt\": [0, 0, 0], \"shared_at_end\": [0, 0, 0]}\n"
    "    ]\n"
    "  ]";
static const char submits[] =
    "  \"aicpu_orchestrator_phases\": [\n"
    "    [\n"
    "      {\"submit_idx\": 0, \"task_id\": 4294967296, \"start_cycles\": 10, \"end_c"
    "ycles\": 30},\n"
    "      {\"submit_idx\": 1, \"task_id\": 0, \"start_cycles\": 30, \"end_cycles\": "
    "35},\n"
    "      {\"submit_idx\": 2, \"task_id\": 4294967297, \"start_cycles\": 35, \"end_c"
    "ycles\": 55},\n"
    "      {\"submit_idx\": 3, \"task_id\": 4294967298, \"start_cycles\": 55, \"end_c"
    "ycles\": 70},\n"
    "      {\"submit_idx\": 4, \"task_id\": 4294967299, \"start_cycles\": 70, \"end_c"
    "ycles\": 90}\n"
    "    ]\n"
    "  ]";

static char *swimlane_text(const fixture *f, int level) {
    sink s;
    npu_error err = {0};
    sink_begin(&s);
    assert_int_equal(npu_swimlane_write(s.out, &f->trace, level, &err), NPU_OK);
    return sink_end(&s);
}

// The file of a level, put together from its parts.
static void swimlane_is(int level, const char *owners, const char *rest) {
    char expected[8192];
    snprintf(expected, sizeof expected,
             "{\n  \"chip_swimlane_level\": %d,\n  \"metadata\": {\n"
             "    \"clock_freq_hz\": 50000000,\n    \"num_cores\": 6,\n"
             "    \"core_types\": [\"aic\", \"aic\", \"aiv\", \"aiv\", \"aiv\", \"aiv\"]%s\n  },\n"
             "%s%s\n}\n",
             level, owners, aicore_rows, rest);
    fixture *f = fix_new();
    char *text = swimlane_text(f, level);
    assert_text(text, expected);
    free(text);
    free(f);
}

static const char owners_text[] = ",\n    \"core_to_thread\": [0, 1, 0, 0, 1, 1]";

static void level_1_holds_the_rows_of_the_cores_alone(void **state) {
    (void)state;
    swimlane_is(1, "", "  \"aicpu_tasks\": []");
}

static void level_2_adds_the_rows_of_the_aicpu(void **state) {
    (void)state;
    swimlane_is(2, "", aicpu_rows);
}

static void level_3_adds_phases_and_the_owners_of_cores(void **state) {
    (void)state;
    char rest[4096];
    snprintf(rest, sizeof rest, "%s,\n%s", aicpu_rows, phases);
    swimlane_is(3, owners_text, rest);
}

static void level_4_adds_the_orchestrator(void **state) {
    (void)state;
    char rest[8000];
    snprintf(rest, sizeof rest, "%s,\n%s,\n%s", aicpu_rows, phases, submits);
    swimlane_is(4, owners_text, rest);
}

static void the_example_of_the_format_comes_out_as_given(void **state) {
    (void)state;
    fixture *f = fix_new();
    // One AIC block on one cluster; stamps such that the ticks are those of the example.
    f->cores[1].type = NPU_AIV;
    f->rows[0] = fix_row(0, 0, 0, 1, (970 - NPU_TICK_ORIGIN) * 20, (982 - NPU_TICK_ORIGIN) * 20,
                         (1000 - NPU_TICK_ORIGIN) * 20, (3500 - NPU_TICK_ORIGIN) * 20,
                         (3540 - NPU_TICK_ORIGIN) * 20);
    f->trace.core_count = 3;
    f->trace.row_count = 1;
    char *text = swimlane_text(f, 2);
    json_t *written = json_loads(text, 0, NULL);
    json_t *example = json_loads(
        "{\"chip_swimlane_level\":2,\"metadata\":{\"clock_freq_hz\":50000000,\"num_cores\":3,"
        "\"core_types\":[\"aic\",\"aiv\",\"aiv\"]},"
        "\"aicore_tasks\":[[0,4294967296,1,1000,3500,18]], \"aicpu_tasks\":[[0,1,970,3540]]}",
        0, NULL);
    assert_non_null(written);
    assert_true(json_equal(written, example));
    json_decref(written);
    json_decref(example);
    free(text);
    free(f);
}

// Row i of a list under `key`, column c.
static json_int_t cell(const json_t *root, const char *key, size_t i, size_t c) {
    return json_integer_value(json_array_get(json_array_get(json_object_get(root, key), i), c));
}

static void both_row_streams_join_on_core_and_dispatch(void **state) {
    (void)state;
    fixture *f = fix_new();
    char *text = swimlane_text(f, 4);
    json_t *root = json_loads(text, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(root, "aicore_tasks")), FIX_ROWS);
    assert_int_equal(json_array_size(json_object_get(root, "aicpu_tasks")), FIX_ROWS);
    for (size_t i = 0; i < FIX_ROWS; i++) {
        int mates = 0;
        for (size_t j = 0; j < FIX_ROWS; j++) {
            if (cell(root, "aicore_tasks", i, 0) != cell(root, "aicpu_tasks", j, 0) ||
                cell(root, "aicore_tasks", i, 2) != cell(root, "aicpu_tasks", j, 1))
                continue;
            mates++;
            json_int_t receive =
                cell(root, "aicore_tasks", i, 3) - cell(root, "aicore_tasks", i, 5);
            assert_true(cell(root, "aicpu_tasks", j, 2) <= receive);
            assert_true(cell(root, "aicpu_tasks", j, 3) >= cell(root, "aicore_tasks", i, 4));
        }
        assert_int_equal(mates, 1);
    }
    json_decref(root);
    free(text);
    free(f);
}

static void a_run_without_rows_is_a_sound_file(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->trace.row_count = f->trace.phase_count = f->trace.submit_count = 0;
    char *text = swimlane_text(f, 4);
    json_t *root = json_loads(text, 0, NULL);
    assert_non_null(root);
    assert_int_equal(json_array_size(json_object_get(root, "aicore_tasks")), 0);
    assert_int_equal(json_array_size(json_object_get(root, "aicpu_scheduler_phases")),
                     1); // nobody did a thing
    json_decref(root);
    free(text);
    free(f);
}

static void deps_hold_tasks_tensors_and_edges(void **state) {
    (void)state;
    static const char expected[] =
        "{\"tasks\":[\n"
        "{\"task_id\":\"4294967296\",\"scope\":\"auto\",\"early_dispatch\":true,\"kernel_i"
        "ds\":[0,-1,-1],\"block_num\":1,\"args\":[{\"idx\":0,\"type\":\"INPUT\",\"tensor_id"
        "\":\"12638214688346347271\",\"dtype\":\"BFLOAT16\",\"shape\":[4,16],\"start_offs"
        "et\":\"0\",\"strides\":[16,1]},{\"idx\":1,\"type\":\"OUTPUT\"}]},\n"
        "{\"task_id\":\"4294967297\",\"scope\":\"auto\",\"early_dispatch\":false,\"kernel_"
        "ids\":[1,2,2],\"block_num\":1,\"args\":[{\"idx\":0,\"type\":\"INPUT\",\"tensor_id\""
        ":\"12638213588834719060\",\"dtype\":\"FLOAT32\",\"shape\":[4,16],\"start_offset"
        "\":\"0\",\"strides\":[16,1]},{\"idx\":1,\"type\":\"INOUT\",\"tensor_id\":\"126382168"
        "87369603693\",\"dtype\":\"FLOAT32\",\"shape\":[4,16],\"start_offset\":\"64\",\"str"
        "ides\":[16,1]}]},\n"
        "{\"task_id\":\"4294967298\",\"scope\":\"manual\",\"early_dispatch\":false,\"kerne"
        "l_ids\":[-1,-1,-1],\"block_num\":0,\"args\":[]},\n"
        "{\"task_id\":\"4294967299\",\"scope\":\"auto\",\"early_dispatch\":false,\"kernel_"
        "ids\":[-1,3,-1],\"block_num\":3,\"args\":[{\"idx\":0,\"type\":\"INPUT\",\"tensor_i"
        "d\":\"12638216887369603693\",\"dtype\":\"FLOAT32\",\"shape\":[8,16],\"start_offs"
        "et\":\"0\",\"strides\":[16,1]},{\"idx\":1,\"type\":\"OUTPUT_EXISTING\",\"tensor_id"
        "\":\"1871134702438174719\",\"dtype\":\"INT8\",\"shape\":[8,16],\"start_offset\":\""
        "0\",\"strides\":[16,1]},{\"idx\":2,\"type\":\"NO_DEP\",\"tensor_id\":\"12638214688"
        "346347271\",\"dtype\":\"BFLOAT16\",\"shape\":[4,16],\"start_offset\":\"0\",\"strid"
        "es\":[16,1]}]}],\n"
        "\"tensors\":[\n"
        "{\"tensor_id\":\"12638214688346347271\",\"buffer_addr\":\"0\",\"version\":0,\"dty"
        "pe\":\"BFLOAT16\",\"buffer_numel\":\"64\"},\n"
        "{\"tensor_id\":\"12638213588834719060\",\"buffer_addr\":\"512\",\"version\":0,\"d"
        "type\":\"FLOAT32\",\"buffer_numel\":\"64\"},\n"
        "{\"tensor_id\":\"12638216887369603693\",\"buffer_addr\":\"1024\",\"version\":0,\""
        "dtype\":\"FLOAT32\",\"buffer_numel\":\"128\"},\n"
        "{\"tensor_id\":\"1871134702438174719\",\"buffer_addr\":\"1536\",\"version\":0,\"d"
        "type\":\"INT8\",\"buffer_numel\":\"128\"}],\n"
        "\"edges\":[\n"
        "{\"pred\":\"4294967296\",\"succ\":\"4294967297\",\"arg\":0,\"source\":\"creator\",\"f"
        "lags\":[\"wait\",\"retain\"],\"tensor_id\":\"12638213588834719060\",\"consumer_d"
        "type\":\"FLOAT32\",\"consumer_shape\":[4,16],\"consumer_start_offset\":\"0\",\"c"
        "onsumer_strides\":[16,1]},\n"
        "{\"pred\":\"4294967297\",\"succ\":\"4294967298\",\"arg\":-1,\"source\":\"explicit\","
        "\"flags\":[\"wait\",\"retain\"]},\n"
        "{\"pred\":\"4294967297\",\"succ\":\"4294967299\",\"arg\":0,\"source\":\"tensormap\","
        "\"flags\":[\"wait\"],\"overlap\":\"covered\",\"tensor_id\":\"12638216887369603693"
        "\",\"consumer_dtype\":\"FLOAT32\",\"consumer_shape\":[8,16],\"consumer_start_o"
        "ffset\":\"0\",\"consumer_strides\":[16,1],\"producer_shape\":[4,16],\"producer"
        "_start_offset\":\"64\",\"producer_strides\":[16,1]},\n"
        "{\"pred\":\"4294967298\",\"succ\":\"4294967299\",\"arg\":-1,\"source\":\"explicit\","
        "\"flags\":[\"wait\",\"retain\"]}]}\n";
    fixture *f = fix_new();
    sink s;
    npu_error err = {0};
    sink_begin(&s);
    assert_int_equal(npu_deps_write(s.out, &f->graph, &err), NPU_OK);
    char *text = sink_end(&s);
    assert_text(text, expected);
    free(text);
    free(f);
}

static void a_tensor_id_depends_on_the_name_alone(void **state) {
    (void)state;
    assert_true(npu_tensor_id("x") == UINT64_C(12638214688346347271));
    assert_true(npu_tensor_id("x") != npu_tensor_id("y"));
}

static void names_give_a_mix_two_functions(void **state) {
    (void)state;
    static const char expected[] = "{\n"
                                   "  \"level\": 2,\n"
                                   "  \"orchestrator_name\": \"tiny\",\n"
                                   "  \"callable_id_to_name\": {\n"
                                   "    \"0\": \"mm\",\n"
                                   "    \"1\": \"fuse_aic\",\n"
                                   "    \"2\": \"fuse_aiv\",\n"
                                   "    \"3\": \"act\"\n"
                                   "  }\n"
                                   "}\n";
    fixture *f = fix_new();
    sink s;
    npu_error err = {0};
    sink_begin(&s);
    assert_int_equal(npu_names_write(s.out, &f->graph, &err), NPU_OK);
    char *text = sink_end(&s);
    assert_text(text, expected);
    free(text);
    free(f);
}

static void pmu_counts_cycles_of_the_core_clock(void **state) {
    (void)state;
    static const char expected[] =
        "thread_id,core_id,task_id,func_id,core_type,pmu_total_cycles,vec_busy_"
        "cycles,cube_busy_cycles,scalar_busy_cycles,mte1_busy_cycles,mte2_busy_"
        "cycles,mte3_busy_cycles,icache_miss,icache_req,event_type\n"
        "0,0,0x0000000100000000,0,0,7400,0,5550,185,1850,3700,0,0,0,2\n"
        "1,1,0x0000000100000001,1,0,7400,0,0,0,0,6660,0,0,0,2\n"
        "1,4,0x0000000100000001,2,1,7400,3700,0,0,0,0,925,0,0,2\n"
        "1,5,0x0000000100000001,2,1,5513,1850,0,0,0,0,0,0,0,2\n"
        "0,2,0x0000000100000003,3,1,3700,3700,0,0,0,0,0,0,0,2\n"
        "0,3,0x0000000100000003,3,1,3663,0,0,0,0,0,0,0,0,2\n"
        "0,2,0x0000000100000003,3,1,3700,0,0,0,0,0,0,0,0,2\n";
    fixture *f = fix_new();
    sink s;
    npu_error err = {0};
    sink_begin(&s);
    assert_int_equal(npu_pmu_write(s.out, &f->trace, &f->graph, &err), NPU_OK);
    char *text = sink_end(&s);
    assert_text(text, expected);
    free(text);
    free(f);
}

static int allocations_left;

static void *failing_malloc(size_t size) {
    return allocations_left-- > 0 ? malloc(size) : NULL;
}

static void writers_say_when_memory_runs_out(void **state) {
    (void)state;
    fixture *f = fix_new();
    npu_status swimlane = NPU_NO_MEMORY;
    npu_status names = NPU_NO_MEMORY;
    json_set_alloc_funcs(failing_malloc, free);
    for (int allowed = 0; allowed < 200; allowed++) {
        sink s;
        npu_error err = {0};
        sink_begin(&s);
        allocations_left = allowed;
        swimlane = npu_swimlane_write(s.out, &f->trace, 4, &err);
        allocations_left = allowed;
        names = npu_names_write(s.out, &f->graph, NULL);
        free(sink_end(&s));
        if (swimlane == NPU_OK && names == NPU_OK)
            break;
        assert_true(swimlane == NPU_OK || swimlane == NPU_NO_MEMORY);
        assert_true(names == NPU_OK || names == NPU_NO_MEMORY);
        if (swimlane == NPU_NO_MEMORY)
            assert_string_equal(err.text, "out of memory");
    }
    json_set_alloc_funcs(malloc, free);
    assert_int_equal(swimlane, NPU_OK);
    assert_int_equal(names, NPU_OK);
    free(f);
}

static void a_full_disk_is_reported(void **state) {
    (void)state;
    FILE *full = fopen("/dev/full", "w");
    if (full == NULL) {
        skip();
        return;
    }
    setvbuf(full, NULL, _IONBF, 0);
    fixture *f = fix_new();
    npu_error err = {0};
    assert_int_equal(npu_swimlane_write(full, &f->trace, 4, &err), NPU_IO);
    assert_string_equal(err.text, "cannot write a file of the trace");
    assert_int_equal(npu_deps_write(full, &f->graph, NULL), NPU_IO);
    assert_int_equal(npu_names_write(full, &f->graph, NULL), NPU_IO);
    assert_int_equal(npu_pmu_write(full, &f->trace, &f->graph, NULL), NPU_IO);
    fclose(full);
    free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(level_1_holds_the_rows_of_the_cores_alone),
        cmocka_unit_test(level_2_adds_the_rows_of_the_aicpu),
        cmocka_unit_test(level_3_adds_phases_and_the_owners_of_cores),
        cmocka_unit_test(level_4_adds_the_orchestrator),
        cmocka_unit_test(the_example_of_the_format_comes_out_as_given),
        cmocka_unit_test(both_row_streams_join_on_core_and_dispatch),
        cmocka_unit_test(a_run_without_rows_is_a_sound_file),
        cmocka_unit_test(deps_hold_tasks_tensors_and_edges),
        cmocka_unit_test(a_tensor_id_depends_on_the_name_alone),
        cmocka_unit_test(names_give_a_mix_two_functions),
        cmocka_unit_test(pmu_counts_cycles_of_the_core_clock),
        cmocka_unit_test(writers_say_when_memory_runs_out),
        cmocka_unit_test(a_full_disk_is_reported),
    };
    return cmocka_run_group_tests_name("swimlane, deps, names and pmu files", tests, NULL, NULL);
}
