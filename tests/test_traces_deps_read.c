// SPDX-License-Identifier: Apache-2.0
// Captured graphs, names, counters, ring statistics and in-core traces: good files and bad ones.
#include "test_traces_fixture.h"

#include "deps.h"
#include "incore.h"
#include "names.h"
#include "pmu.h"
#include "scope.h"

static FILE *file_of(const char *text) {
    FILE *file = tmpfile();
    assert_non_null(file);
    fputs(text, file);
    rewind(file);
    return file;
}

static npu_json *json_of(const char *text, npu_json_form form, npu_error *err) {
    npu_json *json;
    assert_int_equal(npu_json_open_stream(file_of(text), "f", form, &json, err), NPU_OK);
    return json;
}

// ---- deps.json -----------------------------------------------------------------------------

static npu_status read_deps(const char *text, npu_deps *deps, npu_error *err) {
    npu_json *json = json_of(text, NPU_JSON_ONE, err);
    npu_status status = npu_deps_read_json(json, deps, err);
    npu_json_close(json);
    return status;
}

static npu_deps good_deps(const char *text) {
    npu_deps deps;
    npu_error err = {0};
    if (read_deps(text, &deps, &err) != NPU_OK)
        fail_msg("%s", err.text);
    return deps;
}

static void ids_may_be_text_or_numbers(void **state) {
    (void)state;
    npu_deps d = good_deps(
        "{\"tasks\":[{\"task_id\":\"13451765318376212391\"},{\"task_id\":13451765318376212392}],"
        "\"edges\":[{\"pred\":13451765318376212391,\"succ\":\"13451765318376212392\"}]}");
    assert_true(d.tasks[0].id == UINT64_C(13451765318376212391));
    assert_int_equal(d.edges[0].pred_task, 0);
    assert_int_equal(d.edges[0].succ_task, 1);
    assert_int_equal(npu_deps_find(&d, UINT64_C(13451765318376212392)), 1);
    assert_int_equal(npu_deps_find(&d, 5), -1);
    npu_deps_free(&d);
}

static void an_older_graph_says_less(void **state) {
    (void)state;
    npu_deps d = good_deps("{\"tasks\":[{\"task_id\":1},{\"task_id\":2,\"kernel_ids\":[3,4,4],"
                           "\"block_num\":8,\"early_dispatch\":true,\"scope\":\"manual\"}]}");
    assert_false(d.tasks[0].has_kernels);
    assert_int_equal(npu_dep_parts(&d.tasks[0]), -1);
    assert_false(d.tasks[0].has_blocks);
    assert_int_equal(d.tasks[0].block_num, 1);
    assert_int_equal(npu_dep_parts(&d.tasks[1]), 3);
    assert_true(d.tasks[1].has_blocks && d.tasks[1].early && d.tasks[1].manual);
    assert_int_equal(d.tasks[1].block_num, 8);
    assert_int_equal(d.edge_count, 0);
    npu_deps_free(&d);
}

static void flags_follow_from_the_source_unless_given(void **state) {
    (void)state;
    npu_deps d = good_deps(
        "{\"tasks\":[{\"task_id\":1},{\"task_id\":2}],\"edges\":["
        "{\"pred\":1,\"succ\":2,\"source\":\"explicit\"},"
        "{\"pred\":1,\"succ\":2,\"source\":\"creator\",\"arg\":0},"
        "{\"pred\":1,\"succ\":2,\"source\":\"tensormap\",\"arg\":1,\"overlap\":\"covered\"},"
        "{\"pred\":1,\"succ\":2,\"source\":\"creator\",\"flags\":[\"retain\"]},"
        "{\"pred\":9,\"succ\":2,\"source\":\"creator\"}]}");
    assert_true(d.edges[0].wait && d.edges[0].retain);
    assert_true(d.edges[1].wait && d.edges[1].retain);
    assert_true(d.edges[2].wait && !d.edges[2].retain && d.edges[2].covered);
    assert_int_equal(d.edges[2].arg, 1);
    assert_true(!d.edges[3].wait && d.edges[3].retain);
    assert_int_equal(d.edges[4].pred_task, -1); // an allocation
    npu_deps_free(&d);
}

static void arguments_are_windows_of_tensors(void **state) {
    (void)state;
    npu_deps d = good_deps(
        "{\"tasks\":[{\"task_id\":1,\"args\":[{\"idx\":0,\"type\":\"OUTPUT\"},"
        "{\"idx\":1,\"type\":\"INOUT\",\"tensor_id\":\"16725057478931123050\","
        "\"dtype\":\"BFLOAT16\",\"shape\":[4,16],\"start_offset\":\"64\",\"strides\":[32,1]},"
        "{\"idx\":2,\"type\":\"INPUT\",\"tensor_id\":7,\"dtype\":\"FLOAT8\",\"shape\":[2,3,5]}]}],"
        "\"tensors\":[{\"tensor_id\":\"16725057478931123050\",\"buffer_addr\":\"20622553907200\","
        "\"version\":0,\"dtype\":\"FLOAT32\",\"buffer_numel\":\"81920\"}]}");
    assert_int_equal(d.tasks[0].arg_count, 3);
    assert_int_equal(d.args[0].access, NPU_OUT);
    assert_false(d.args[0].windowed);
    assert_true(d.args[1].windowed && d.args[1].tensor == UINT64_C(16725057478931123050));
    assert_int_equal(d.args[1].access, NPU_INOUT);
    assert_int_equal(d.args[1].dtype, NPU_BF16);
    assert_int_equal(d.args[1].start_offset, 64);
    const int64_t *extents = d.extents + d.args[1].first_extent;
    assert_true(extents[0] == 4 && extents[1] == 16 && extents[2] == 32 && extents[3] == 1);
    assert_int_equal(d.args[2].dtype, NPU_DTYPE_COUNT); // a name that is not known
    extents = d.extents + d.args[2].first_extent;       // without strides: side by side
    assert_true(extents[3] == 15 && extents[4] == 5 && extents[5] == 1);
    assert_true(d.tensors[0].address == UINT64_C(20622553907200));
    assert_int_equal(d.tensors[0].elements, 81920);
    npu_deps_free(&d);
}

static void our_own_graph_is_read_back(void **state) {
    (void)state;
    fixture *f = fix_new();
    sink s;
    sink_begin(&s);
    assert_int_equal(npu_deps_write(s.out, &f->graph, NULL), NPU_OK);
    char *text = sink_end(&s);
    npu_deps d = good_deps(text);
    assert_int_equal(d.task_count, FIX_TASKS);
    assert_int_equal(d.edge_count, FIX_EDGES);
    for (int i = 0; i < FIX_EDGES; i++) {
        assert_int_equal(d.edges[i].pred_task, f->edges[i].pred);
        assert_int_equal(d.edges[i].succ_task, f->edges[i].succ);
        assert_int_equal(d.edges[i].source, f->edges[i].source);
        assert_int_equal(d.edges[i].covered, f->edges[i].covered);
    }
    for (int i = 0; i < FIX_TASKS; i++) {
        assert_int_equal(d.tasks[i].early, f->tasks[i].early);
        assert_int_equal(d.tasks[i].arg_count, f->tasks[i].arg_count);
        assert_int_equal(d.tasks[i].block_num, f->tasks[i].block_num);
    }
    npu_deps_free(&d);
    free(text);
    free(f);
}

static const struct {
    const char *text, *sentence;
} bad_deps[] = {
    {"[]", "f:1:1: the file must be an object"},
    {"{}", "f: has no list of tasks"},
    {"{\"tasks\":[{}]}", "f:1:12: task 0 has no task_id"},
    {"{\"tasks\":[{\"task_id\":\"12x\"}]}", "f:1:22: task_id must be a whole number of 64 bits"},
    {"{\"tasks\":[{\"task_id\":1e3}]}", "f:1:22: task_id must be a whole number of 64 bits"},
    {"{\"tasks\":[{\"task_id\":1,\"kernel_ids\":[1,2]}]}",
     "f:1:41: kernel_ids must hold three numbers, not 2"},
    {"{\"tasks\":[{\"task_id\":1,\"scope\":7}]}", "f:1:32: scope must be a text"},
    {"{\"tasks\":[{\"task_id\":1,\"block_num\":-1}]}",
     "f:1:36: block_num must be a whole number from 0 to 2147483647"},
    {"{\"tasks\":[{\"task_id\":1,\"args\":[{\"type\":\"IN\"}]}]}",
     "f:1:40: the type of an argument 'IN' is not known"},
    {"{\"tasks\":[{\"task_id\":1,\"args\":[{\"shape\":[1],\"strides\":[1,2]}]}]}",
     ": an argument has a shape of 1 and strides of 2 dimensions"},
    {"{\"tasks\":[],\"edges\":[{\"pred\":1}]}", "f:1:31: an edge needs pred and succ"},
    {"{\"tasks\":[],\"edges\":[{\"pred\":1,\"succ\":2,\"source\":\"x\"}]}",
     ": the source of an edge 'x' is not known"},
    {"{\"tasks\":[{\"task_id\":4}],\"edges\":[{\"pred\":4,\"succ\":4}]}",
     "f: the edges go round in a circle through task 4"},
    {"{\"tasks\":[{\"task_id\":4},{\"task_id\":5},{\"task_id\":6},{\"task_id\":7}],\"edges\":["
     "{\"pred\":7,\"succ\":6},{\"pred\":5,\"succ\":7},{\"pred\":6,\"succ\":5},"
     "{\"pred\":6,\"succ\":4}]}",
     "f: the edges go round in a circle through task "},
};

enum { BAD_CIRCLE = sizeof bad_deps / sizeof *bad_deps - 1 };

static void a_bad_graph_is_named_with_its_fault(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad_deps / sizeof *bad_deps; i++) {
        npu_deps d;
        npu_error err = {0};
        if (read_deps(bad_deps[i].text, &d, &err) != NPU_BAD_INPUT)
            fail_msg("%s\nis accepted", bad_deps[i].text);
        if (strstr(err.text, bad_deps[i].sentence) == NULL)
            fail_msg("'%s' does not hold '%s'", err.text, bad_deps[i].sentence);
        npu_deps_free(&d);
    }
}

// 4 waits for a circle without being on it; keeping memory alone is no circle.
static void a_circle_is_of_edges_that_order(void **state) {
    (void)state;
    npu_deps d;
    npu_error err = {0};
    assert_int_equal(read_deps(bad_deps[BAD_CIRCLE].text, &d, &err), NPU_BAD_INPUT);
    assert_null(strstr(err.text, "task 4"));
    npu_deps_free(&d);
    d = good_deps("{\"tasks\":[{\"task_id\":4},{\"task_id\":5}],\"edges\":["
                  "{\"pred\":4,\"succ\":5},{\"pred\":5,\"succ\":4,\"flags\":[\"retain\"]}]}");
    npu_deps_free(&d);
}

// ---- names ---------------------------------------------------------------------------------

static void names_are_found_by_their_id(void **state) {
    (void)state;
    npu_name_map map;
    npu_error err = {0};
    npu_json *json =
        json_of("{\"level\":2,\"orchestrator_name\":\"layer\",\"callable_id_to_name\":{"
                "\"12\":\"b\",\"3\":\"a\"}}",
                NPU_JSON_ONE, &err);
    assert_int_equal(npu_name_map_read_json(json, &map, &err), NPU_OK);
    npu_json_close(json);
    assert_string_equal(map.orchestrator, "layer");
    assert_string_equal(npu_name_map_find(&map, 3), "a");
    assert_string_equal(npu_name_map_find(&map, 12), "b");
    assert_null(npu_name_map_find(&map, 4));
    npu_name_map_free(&map);
    static const char *const bad[] = {"{\"callable_id_to_name\":{\"x\":\"a\"}}",
                                      "{\"callable_id_to_name\":{\"1\":7}}",
                                      "{\"callable_id_to_name\":[]}", "{\"orchestrator_name\":1}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err = (npu_error){0};
        json = json_of(bad[i], NPU_JSON_ONE, &err);
        assert_int_equal(npu_name_map_read_json(json, &map, &err), NPU_BAD_INPUT);
        assert_memory_equal(err.text, "f:1:", 4);
        npu_json_close(json);
        npu_name_map_free(&map);
    }
}

// ---- pmu.csv -------------------------------------------------------------------------------

#define PMU_FRONT "thread_id,core_id,task_id,func_id,core_type,pmu_total_cycles,"

static void the_sample_of_the_counters_is_read(void **state) {
    (void)state;
    npu_pmu pmu;
    npu_error err = {0};
    FILE *file =
        file_of(PMU_FRONT "vec_busy_cycles,cube_busy_cycles,scalar_busy_cycles,"
                          "mte1_busy_cycles,mte2_busy_cycles,mte3_busy_cycles,"
                          "icache_miss,icache_req,event_type\r\n"
                          "2,5,0x0000000200000a00,0,1,18432,1024,0,512,0,256,128,3,448,2\n");
    assert_int_equal(npu_pmu_read_stream(file, "pmu.csv", &pmu, &err), NPU_OK);
    assert_int_equal(pmu.row_count, 1);
    assert_int_equal(pmu.counter_count, 8);
    const npu_pmu_row *row = &pmu.rows[0];
    assert_int_equal(row->thread, 2);
    assert_int_equal(row->core, 5);
    assert_true(row->task == UINT64_C(0x200000a00));
    assert_int_equal(row->type, NPU_AIV);
    assert_int_equal(row->total_cycles, 18432);
    assert_int_equal(row->event_type, 2);
    assert_string_equal(pmu.counters[7], "icache_req");
    assert_int_equal(row->counters[7], 448);
    npu_pmu_free(&pmu);
}

static void counters_of_every_event_type_are_found_by_name(void **state) {
    (void)state;
    static const struct {
        int type, count;
        const char *names;
    } types[] = {
        {1, 7,
         "cube_fp16_exec,cube_int8_exec,vec_fp32_exec,vec_fp16_128lane_exec,"
         "vec_fp16_64lane_exec,vec_int32_exec,vec_misc_exec"},
        {4, 8,
         "ub_read_req,ub_write_req,l1_read_req,l1_write_req,l2_read_req,l2_write_req,"
         "main_read_req,main_write_req"},
        {5, 6, "l0a_read_req,l0a_write_req,l0b_read_req,l0b_write_req,l0c_read_req,l0c_write_req"},
        {6, 3, "bankgroup_stall_cycles,bank_stall_cycles,vec_resc_conflict_cycles"},
        {7, 8, "a,b,c,d,e,f,g,h"},
        {8, 6,
         "write_cache_hit,write_cache_miss_allocate,r0_read_cache_hit,"
         "r0_read_cache_miss_allocate,r1_read_cache_hit,r1_read_cache_miss_allocate"},
    };
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        char text[1024], values[256] = "";
        for (int i = 0; i < types[t].count; i++)
            snprintf(values + strlen(values), 32, "%d,", 100 + i);
        // The columns in another order: they are found by their names.
        snprintf(text, sizeof text,
                 "event_type,%s,core_type,func_id,task_id,core_id,thread_id,pmu_total_cycles\n"
                 "%d,%s0,3,0x1,4,-1,77\n",
                 types[t].names, types[t].type, values);
        npu_pmu pmu;
        npu_error err = {0};
        if (npu_pmu_read_stream(file_of(text), "pmu.csv", &pmu, &err) != NPU_OK)
            fail_msg("%s", err.text);
        assert_int_equal(pmu.counter_count, types[t].count);
        assert_int_equal(pmu.rows[0].event_type, types[t].type);
        assert_int_equal(pmu.rows[0].counters[types[t].count - 1], 99 + types[t].count);
        assert_int_equal(pmu.rows[0].total_cycles, 77);
        assert_int_equal(pmu.rows[0].thread, -1);
        npu_pmu_free(&pmu);
    }
}

static const struct {
    const char *text, *sentence;
} bad_pmus[] = {
    {"", "pmu.csv: the file is empty"},
    {"thread_id,core_id\n", "pmu.csv:1:1: the column task_id is missing"},
    {PMU_FRONT "event_type\n1,2\n", "pmu.csv:2:3: the row has 2 columns, the header 7"},
    {PMU_FRONT "event_type\n1,2,0x1,0,0,9,2,5\n", "the row has 8 columns, the header 7"},
    {PMU_FRONT "event_type\n1,2,0x1,0,0,nan,2\n",
     "pmu.csv:2:13: 'nan' is no whole number from 0 to 18446744073709551615"},
    {PMU_FRONT "event_type\n1,2,0x1ffffffffffffffff,0,0,1,2\n", "pmu.csv:2:5: "},
    {PMU_FRONT "event_type\n1,2,0x1,0,2,1,2\n", "pmu.csv:2:11: core_type is 0 (AIC) or 1 (AIV)"},
    {PMU_FRONT "event_type\n1,-2,0x1,0,1,1,2\n", "pmu.csv:2:3: '-2' is no whole number"},
    {PMU_FRONT "event_type\n1,2,,0,1,1,2\n", "pmu.csv:2:5: '' is no whole number"},
};

static void bad_counters_are_named_with_their_fault(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad_pmus / sizeof *bad_pmus; i++) {
        npu_pmu pmu;
        npu_error err = {0};
        assert_int_equal(npu_pmu_read_stream(file_of(bad_pmus[i].text), "pmu.csv", &pmu, &err),
                         NPU_BAD_INPUT);
        if (strstr(err.text, bad_pmus[i].sentence) == NULL)
            fail_msg("'%s' does not hold '%s'", err.text, bad_pmus[i].sentence);
        npu_pmu_free(&pmu);
    }
}

// ---- scope statistics ----------------------------------------------------------------------

#define SCOPE_HEAD                                                                                 \
    "{\"version\":6,\"fatal\":false,\"dropped\":0,\"total\":2,\"task_window_max\":[16384,16384],"  \
    "\"heap_max\":[268435456],\"dep_pool_max\":[16384],\"tensormap_max\":65536}\n"

static void the_sample_of_the_rings_is_read(void **state) {
    (void)state;
    npu_scope_stats stats;
    npu_error err = {0};
    npu_json *json = json_of(
        SCOPE_HEAD
        "{\"site\":\"a.cpp:7\",\"phase\":\"begin\",\"depth\":0,\"ring\":0,\"task_window_start\":0,"
        "\"task_window_end\":0,\"heap_start\":0,\"heap_end\":0,\"dep_pool_start\":1,"
        "\"dep_pool_end\":1,\"tensormap\":0}\n"
        "{\"site\":\"a.cpp:7\",\"phase\":\"end\",\"depth\":0,\"ring\":0,\"task_window_start\":0,"
        "\"task_window_end\":4,\"heap_start\":0,\"heap_end\":8192,\"dep_pool_start\":1,"
        "\"dep_pool_end\":6,\"tensormap\":5}\n",
        NPU_JSON_LINES, &err);
    assert_int_equal(npu_scope_read_json(json, &stats, &err), NPU_OK);
    npu_json_close(json);
    assert_int_equal(stats.version, 6);
    assert_int_equal(stats.tasks_max[1], 16384);
    assert_int_equal(stats.mark_count, 2);
    assert_true(!stats.marks[0].ends && stats.marks[1].ends);
    assert_string_equal(stats.marks[1].site, "a.cpp:7");
    npu_scope_peak peak = npu_scope_peak_of(&stats, 0);
    assert_int_equal(peak.tasks, 4);
    assert_int_equal(peak.heap, 8192);
    assert_int_equal(peak.deps, 5);
    assert_int_equal(npu_scope_peak_of(&stats, 1).tasks, 0);
    npu_scope_free(&stats);
}

static void bad_ring_statistics_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"",
                                      "{}",
                                      "[]",
                                      SCOPE_HEAD "{\"phase\":\"middle\"}",
                                      SCOPE_HEAD "{\"ring\":4}",
                                      SCOPE_HEAD "{\"heap_end\":\"x\"}",
                                      "{\"version\":6,\"heap_max\":[1,2,3,4,5]}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        npu_scope_stats stats;
        npu_error err = {0};
        npu_json *json = json_of(bad[i], NPU_JSON_LINES, &err);
        assert_int_equal(npu_scope_read_json(json, &stats, &err), NPU_BAD_INPUT);
        assert_memory_equal(err.text, "f:", 2);
        npu_json_close(json);
        npu_scope_free(&stats);
    }
}

// ---- in-core traces ------------------------------------------------------------------------

static void pipes_are_busy_while_an_instruction_runs(void **state) {
    (void)state;
    npu_incore c;
    npu_error err = {0};
    // MTE2: 0 to 2 us, 1 to 3 us beside it (lane #1), 5 to 6 us: busy for 4 us. A flag is waited
    // for from 3 to 5 us; another never ends.
    npu_json *json = json_of("{\"traceEvents\":["
                             "{\"ph\":\"X\",\"pid\":\"core0.cubecore0\",\"tid\":\"MTE2\",\"name\":"
                             "\"MOV\",\"ts\":0,\"dur\":2},"
                             "{\"ph\":\"X\",\"pid\":\"core0.cubecore0\",\"tid\":\"MTE2#1\","
                             "\"name\":\"MOV\",\"ts\":1,\"dur\":2},"
                             "{\"ph\":\"X\",\"pid\":\"core0.cubecore0\",\"tid\":\"MTE2\",\"name\":"
                             "\"MOV\",\"ts\":5,\"dur\":1.0},"
                             "{\"ph\":\"B\",\"pid\":\"core0.cubecore0\",\"tid\":\"MTE2\",\"name\":"
                             "\"WAIT\",\"id\":7,\"ts\":3},"
                             "{\"ph\":\"E\",\"pid\":\"core0.cubecore0\",\"tid\":\"MTE2\",\"name\":"
                             "\"WAIT\",\"id\":7,\"ts\":5},"
                             "{\"ph\":\"B\",\"pid\":\"core0.veccore1\",\"tid\":\"SCALAR\",\"name\":"
                             "\"SET\",\"id\":8,\"ts\":5},"
                             "{\"ph\":\"s\",\"pid\":\"core0.cubecore0\",\"tid\":\"MTE2\",\"name\":"
                             "\"x\",\"id\":1,\"ts\":5}]}",
                             NPU_JSON_ONE, &err);
    assert_int_equal(npu_incore_read_json(json, &c, &err), NPU_OK);
    npu_json_close(json);
    assert_int_equal(c.lane_count, 2);
    assert_string_equal(c.lanes[0].pipe, "MTE2");
    assert_string_equal(c.lanes[1].core, "core0.veccore1");
    assert_int_equal(c.slice_count, 4);
    assert_int_equal(c.unpaired, 1);
    assert_int_equal(c.arrows, 1);
    assert_int_equal(npu_incore_span(&c), 6000000); // ps
    assert_int_equal(npu_incore_busy(&c, 0), 4000000);
    npu_incore_free(&c);
}

static void bad_in_core_traces_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {
        "{}",
        "{\"traceEvents\":[]}",
        "{\"traceEvents\":[7]}",
        "{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":-1}]}",
        "{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1e40,\"dur\":1}]}",
        "{\"traceEvents\":[{\"ph\":\"X\",\"ts\":\"NaN\"}]}",
        "{\"traceEvents\":[{\"ph\":\"B\",\"id\":1,\"ts\":5},{\"ph\":\"E\",\"id\":1,\"ts\":4}]}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        npu_incore c;
        npu_error err = {0};
        npu_json *json = json_of(bad[i], NPU_JSON_ONE, &err);
        assert_int_equal(npu_incore_read_json(json, &c, &err), NPU_BAD_INPUT);
        npu_json_close(json);
        npu_incore_free(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_may_be_text_or_numbers),
        cmocka_unit_test(an_older_graph_says_less),
        cmocka_unit_test(flags_follow_from_the_source_unless_given),
        cmocka_unit_test(arguments_are_windows_of_tensors),
        cmocka_unit_test(our_own_graph_is_read_back),
        cmocka_unit_test(a_bad_graph_is_named_with_its_fault),
        cmocka_unit_test(a_circle_is_of_edges_that_order),
        cmocka_unit_test(names_are_found_by_their_id),
        cmocka_unit_test(the_sample_of_the_counters_is_read),
        cmocka_unit_test(counters_of_every_event_type_are_found_by_name),
        cmocka_unit_test(bad_counters_are_named_with_their_fault),
        cmocka_unit_test(the_sample_of_the_rings_is_read),
        cmocka_unit_test(bad_ring_statistics_are_refused),
        cmocka_unit_test(pipes_are_busy_while_an_instruction_runs),
        cmocka_unit_test(bad_in_core_traces_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
