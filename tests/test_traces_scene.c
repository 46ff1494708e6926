// SPDX-License-Identifier: Apache-2.0
// Captures as traces and graphs: Perfetto files there and back, merged swimlanes, folders.
#include "test_traces_fixture.h"

#include <sys/stat.h>
#include <unistd.h>

#include "deps.h"
#include "folder.h"
#include "merged.h"
#include "names.h"
#include "perfetto.h"
#include "pmu.h"
#include "records.h"
#include "sanity.h"
#include "scene.h"
#include "swimlane.h"

// ---- a folder for each test ----------------------------------------------------------------

typedef struct place {
    char folder[256];
    npu_error err;
} place;

static void place_begin(place *p) {
    *p = (place){.err = {""}};
    snprintf(p->folder, sizeof p->folder, "%s/scene_XXXXXX", NPUSIM_BUILD);
    assert_non_null(mkdtemp(p->folder));
}

static void place_end(const place *p) {
    char command[320];
    snprintf(command, sizeof command, "rm -r '%s'", p->folder);
    assert_int_equal(system(command), 0);
}

static char *place_path(const place *p, const char *name, char buf[512]) {
    snprintf(buf, 512, "%s/%s", p->folder, name);
    return buf;
}

static void put_folder(const place *p, const char *name) {
    char path[512];
    assert_int_equal(mkdir(place_path(p, name, path), 0777), 0);
}

static FILE *put_open(const place *p, const char *name) {
    char path[512];
    FILE *file = fopen(place_path(p, name, path), "w");
    assert_non_null(file);
    return file;
}

static void put(const place *p, const char *name, const char *text) {
    FILE *file = put_open(p, name);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void put_run(const place *p, const fixture *f) {
    FILE *file = put_open(p, "chip_swimlane_records.json");
    assert_int_equal(npu_swimlane_write(file, &f->trace, 4, NULL), NPU_OK);
    fclose(file);
    file = put_open(p, "deps.json");
    assert_int_equal(npu_deps_write(file, &f->graph, NULL), NPU_OK);
    fclose(file);
    file = put_open(p, "name_map.json");
    assert_int_equal(npu_names_write(file, &f->graph, NULL), NPU_OK);
    fclose(file);
    file = put_open(p, "pmu.csv");
    assert_int_equal(npu_pmu_write(file, &f->trace, &f->graph, NULL), NPU_OK);
    fclose(file);
}

static char *perfetto_text(const npu_trace *trace, const npu_graph *graph, int level) {
    sink s;
    sink_begin(&s);
    assert_int_equal(npu_perfetto_write(s.out, trace, graph, level, NULL), NPU_OK);
    return sink_end(&s);
}

static npu_run_files read_place(place *p) {
    npu_capture_list list;
    npu_run_files run;
    if (npu_folder_find(p->folder, &list, &p->err) != NPU_OK)
        fail_msg("%s", p->err.text);
    assert_int_equal(list.count, 1);
    if (npu_run_files_read(&list.items[0], &run, &p->err) != NPU_OK)
        fail_msg("%s", p->err.text);
    npu_folder_free(&list);
    return run;
}

// ---- there and back ------------------------------------------------------------------------

// The stamps of the fixture are whole ticks, but for the phase of row 7 that is not recorded.
static void files_of_a_run_give_its_perfetto_file(void **state) {
    (void)state;
    fixture *f = fix_new();
    place p;
    place_begin(&p);
    put_run(&p, f);
    npu_run_files run = read_place(&p);
    npu_scene scene;
    assert_int_equal(npu_scene_make(&run.capture, &run.deps, &run.names, &scene, &p.err), NPU_OK);
    assert_int_equal(scene.clamped, 0);
    assert_int_equal(scene.backward, 0);
    assert_int_equal(scene.host_calls, 0);
    for (int level = 1; level <= 4; level++) {
        char *made = perfetto_text(&f->trace, &f->graph, level);
        char *again = perfetto_text(&scene.trace, &scene.graph, level);
        // An allocation's number is that of the file: 0 in both.
        assert_text(again, made);
        free(made);
        free(again);
    }
    npu_scene_free(&scene);
    npu_run_files_free(&run);
    place_end(&p);
    free(f);
}

static void a_scene_is_a_sound_trace(void **state) {
    (void)state;
    fixture *f = fix_new();
    place p;
    place_begin(&p);
    put_run(&p, f);
    npu_run_files run = read_place(&p);
    npu_scene scene;
    assert_int_equal(npu_scene_make(&run.capture, &run.deps, &run.names, &scene, &p.err), NPU_OK);
    scene.trace.core_hz = f->trace.core_hz; // what no capture says
    if (npu_trace_verify(&scene.trace, &scene.graph, &p.err) != NPU_OK)
        fail_msg("%s", p.err.text);
    for (int i = 0; i < FIX_ROWS; i++) {
        const npu_row *x = &scene.trace.rows[i], *y = &f->rows[i];
        assert_int_equal(x->core, y->core);
        assert_int_equal(x->task, y->task);
        assert_int_equal(x->block, y->block);
        // The capture's first stamp is the first submit, at 0 ns.
        assert_true(x->dispatch == y->dispatch && x->end == y->end && x->finish == y->finish);
    }
    assert_int_equal(scene.graph.edge_count, FIX_EDGES);
    assert_string_equal(scene.graph.funcs[1].name, "fuse");
    npu_scene_free(&scene);
    npu_run_files_free(&run);
    place_end(&p);
    free(f);
}

static void ticks_of_any_clock_come_back(void **state) {
    (void)state;
    static const int64_t clocks[] = {1, 7, 50000000, 1000000000, 999999937, INT64_C(1000000000000)};
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        npu_capture c;
        npu_scene scene;
        npu_error err = {0};
        assert_int_equal(npu_capture_begin(&c, "any", NULL), NPU_OK);
        assert_int_equal(npu_capture_cores(&c, 3, NULL), NPU_OK);
        assert_int_equal(
            npu_grow((void **)&c.core_rows, &c.core_row_capacity, 200, sizeof *c.core_rows, NULL),
            NPU_OK);
        c.clock_hz = clocks[i];
        c.level = 1;
        int64_t start = INT64_C(4409875911990) << 20; // far beyond 2^53 ns
        for (int r = 0; r < 200; r++) {
            c.core_rows[r] = (npu_core_row){
                .core = 1, .task = 5, .start = start, .end = start + 1 + r, .mate = -1};
            start += 2 + r * 97;
        }
        c.core_row_count = 200;
        assert_int_equal(npu_scene_make(&c, NULL, NULL, &scene, &err), NPU_OK);
        for (int r = 0; r < 200; r++) {
            assert_true(npu_trace_ticks(&scene.trace, scene.trace.rows[r].start) ==
                        c.core_rows[r].start);
            assert_true(npu_trace_ticks(&scene.trace, scene.trace.rows[r].end) ==
                        c.core_rows[r].end);
        }
        npu_scene_free(&scene);
        npu_capture_free(&c);
    }
}

static void what_goes_backwards_is_clamped_and_counted(void **state) {
    (void)state;
    npu_capture c;
    npu_scene scene;
    npu_error err = {0};
    assert_int_equal(npu_capture_begin(&c, "any", NULL), NPU_OK);
    assert_int_equal(npu_capture_cores(&c, 3, NULL), NPU_OK);
    assert_int_equal(
        npu_grow((void **)&c.core_rows, &c.core_row_capacity, 3, sizeof *c.core_rows, NULL),
        NPU_OK);
    c.clock_hz = 50000000;
    c.level = 1;
    c.core_rows[0] = (npu_core_row){.task = 5, .start = 100, .end = 90, .mate = -1};
    c.core_rows[1] = (npu_core_row){.task = 6, .start = 100, .end = 110, .setup = -5, .mate = -1};
    c.core_rows[2] = (npu_core_row){.task = 7, .start = 0, .end = 110, .mate = -1}; // lost
    c.core_row_count = 3;
    assert_int_equal(npu_scene_make(&c, NULL, NULL, &scene, &err), NPU_OK);
    assert_int_equal(scene.trace.row_count, 2);
    assert_int_equal(scene.clamped, 2);
    free(perfetto_text(&scene.trace, &scene.graph, 4)); // can be drawn
    npu_scene_free(&scene);
    c.core_rows[1].end = INT64_MAX / 4;
    c.clock_hz = 1;
    assert_int_equal(npu_scene_make(&c, NULL, NULL, &scene, &err), NPU_BAD_INPUT);
    assert_string_equal(err.text, "any: its stamps lie more than 146 years apart");
    npu_scene_free(&scene);
    npu_capture_free(&c);
}

// ---- merged swimlanes ----------------------------------------------------------------------

static void a_merged_swimlane_stands_for_the_records(void **state) {
    (void)state;
    fixture *f = fix_new();
    place p;
    place_begin(&p);
    FILE *file = put_open(&p, "merged_swimlane_20260101.json");
    assert_int_equal(npu_perfetto_write(file, &f->trace, &f->graph, 4, NULL), NPU_OK);
    fclose(file);
    npu_run_files run = read_place(&p);
    const npu_capture *c = &run.capture;
    assert_int_equal(c->generation, NPU_MERGED);
    assert_int_equal(c->level, 4);
    assert_int_equal(c->core_row_count, FIX_ROWS);
    assert_int_equal(c->cpu_row_count, FIX_ROWS);
    assert_int_equal(c->call_count, FIX_SUBMITS);
    assert_int_equal(c->record_count, FIX_PHASES - 1); // one resolve is too short
    assert_int_equal(run.deps.task_count, FIX_TASKS);
    assert_int_equal(run.deps.edge_count, 7); // an arrow per pair of functions: 2 + 2 + 2 + 1
    assert_string_equal(npu_name_map_find(&run.names, 2), "fuse_aiv");
    npu_sanity sanity;
    assert_int_equal(npu_sanity_check(c, &run.deps, &sanity, &p.err), NPU_OK);
    assert_int_equal(npu_sanity_broken(&sanity), 0);
    // Drawn again, it is the same but for what the file does not say.
    npu_scene scene;
    assert_int_equal(npu_scene_make(c, &run.deps, &run.names, &scene, &p.err), NPU_OK);
    assert_true(scene.trace.makespan == f->trace.makespan);
    for (int i = 0; i < FIX_ROWS; i++) {
        const npu_row *x = &scene.trace.rows[i], *y = &f->rows[i];
        assert_int_equal(x->core, y->core);
        assert_true(scene.trace.task_ids[x->task] == npu_task_id(y->task));
        assert_true(x->dispatch == y->dispatch && x->receive == y->receive);
        assert_true(x->start == y->start && x->end == y->end && x->finish == y->finish);
    }
    npu_scene_free(&scene);
    npu_run_files_free(&run);
    place_end(&p);
    free(f);
}

#define SLICE(pid, tid, ts, dur, id)                                                               \
    "{\"args\":{\"event-hint\":\"Task:r2t" #id ", FuncId:" #id ", CoreId:2\",\"taskId\":" #id      \
    "},\"name\":\"k" #id "(r2t" #id ")\",\"ph\":\"X\",\"pid\":" #pid ",\"tid\":" #tid              \
    ",\"ts\":" #ts ",\"dur\":" #dur "}"
#define NAME(what, pid, tid, name)                                                                 \
    "{\"args\":{\"name\":\"" name "\"},\"name\":\"" what "_name\",\"ph\":\"M\",\"pid\":" #pid      \
    ",\"tid\":" #tid "}"

static void older_processes_are_known_by_their_names(void **state) {
    (void)state;
    place p;
    place_begin(&p);
    // Names behind what they name; the first generation's numbers of processes; steps of a call.
    put(&p, "merged_swimlane.json",
        "{\"traceEvents\":[" SLICE(1, 10000, 50.72, 110.0, 7) "," SLICE(2, 10000, 48.82, 113.22, 7) "," SLICE(
            1, 10010, 165.42, 3,
            8) ","
               "{\"args\":{\"phase\":\"idle\",\"loop_iter\":1,\"tasks_processed\":0},\"name\":"
               "\"idle(0)\","
               "\"ph\":\"X\",\"pid\":3,\"tid\":3000,\"ts\":0.06,\"dur\":10.5},"
               "{\"args\":{\"phase\":\"complete\",\"loop_iter\":1,\"tasks_processed\":1},\"ph\":"
               "\"X\","
               "\"name\":\"complete(1)\",\"pid\":3,\"tid\":3002,\"ts\":162,\"dur\":1},"
               "{\"args\":{\"phase\":\"orch_alloc\",\"submit_idx\":0,\"task_id\":7},\"name\":\"a\","
               "\"ph\":\"X\",\"pid\":4,\"tid\":4003,\"ts\":21.08,\"dur\":1.3800000000000026},"
               "{\"args\":{\"phase\":\"orch_sync\",\"submit_idx\":0,\"task_id\":7},\"name\":\"b\","
               "\"ph\":\"X\",\"pid\":4,\"tid\":4003,\"ts\":22.46,\"dur\":2},"
               "{\"id\":0,\"name\":\"dependency\",\"ph\":\"s\",\"pid\":1,\"tid\":10000,\"ts\":160."
               "71},"
               "{\"id\":0,\"name\":\"dependency\",\"ph\":\"f\",\"pid\":1,\"tid\":10010,\"ts\":165."
               "42}," NAME("process", 1, 0, "AICore View") "," NAME("process", 2, 0, "AICPU View") "," NAME(
                   "process", 3, 0,
                   "AICPU Scheduler") "," NAME("process", 4, 0,
                                               "AICPU Orchestrator") "," NAME("thread", 1, 10000,
                                                                              "AIC_0") "," NAME("th"
                                                                                                "re"
                                                                                                "a"
                                                                                                "d",
                                                                                                1,
                                                                                                10010,
                                                                                                "AI"
                                                                                                "V_"
                                                                                                "1") "]}");
    npu_run_files run = read_place(&p);
    const npu_capture *c = &run.capture;
    assert_int_equal(c->core_row_count, 2);
    assert_int_equal(c->core_rows[0].end - c->core_rows[0].start, 110000); // ns
    assert_int_equal(c->cpu_rows[c->core_rows[0].mate].finish - c->core_rows[0].end, 1320);
    assert_int_equal(c->core_rows[1].mate, -1);
    assert_int_equal(c->legacy_records, 1);
    assert_int_equal(c->record_count, 1);
    assert_int_equal(c->records[0].stream, 2);
    assert_int_equal(c->call_count, 1);
    assert_int_equal(c->calls[0].end - c->calls[0].start, 3380);
    assert_int_equal(run.deps.edge_count, 1);
    assert_int_equal(run.deps.edges[0].succ, 8);
    assert_string_equal(npu_name_map_find(&run.names, 7), "k7");
    npu_run_files_free(&run);
    place_end(&p);
}

static void bad_merged_swimlanes_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *sentence;
    } bad[] = {
        {"{\"traceEvents\":[]}", ": has no threads AIC_n or AIV_n: no merged swimlane"},
        {"{}", ": has no traceEvents"},
        {"{\"traceEvents\":[{\"ph\":\"X\",\"pid\":1,\"tid\":-4}]}", ": '-4' is no thread"},
        {"{\"traceEvents\":[{\"ph\":\"X\",\"pid\":1,\"tid\":4,\"ts\":-1}]}",
         ": a slice begins before 0 or lasts less than 0"},
        {"{\"traceEvents\":[" NAME("thread", 1, 1, "AIC_99999999") "]}",
         ": 'AIC_99999999' is no core"},
        {"{\"traceEvents\":[" NAME("thread", 4, 1, "AIC_0") "," NAME(
             "process", 4, 1,
             "Worker View") "," SLICE(4, 10000, 1, 1,
                                      7) "," SLICE(4, 10000, 5, 1,
                                                   8) ","
                                                      "{\"id\":0,\"name\":\"dependency\",\"ph\":"
                                                      "\"s\",\"pid\":4,\"tid\":10000,\"ts\":1},"
                                                      "{\"id\":0,\"name\":\"dependency\",\"ph\":"
                                                      "\"f\",\"pid\":4,\"tid\":10000,\"ts\":5},"
                                                      "{\"id\":1,\"name\":\"dependency\",\"ph\":"
                                                      "\"s\",\"pid\":4,\"tid\":10000,\"ts\":5},"
                                                      "{\"id\":1,\"name\":\"dependency\",\"ph\":"
                                                      "\"f\",\"pid\":4,\"tid\":10000,\"ts\":1}]}",
         ": the arrows go round in a circle through task "},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        place p;
        place_begin(&p);
        put(&p, "merged_swimlane.json", bad[i].text);
        npu_capture_list list;
        npu_run_files run;
        assert_int_equal(npu_folder_find(p.folder, &list, &p.err), NPU_OK);
        assert_int_equal(npu_run_files_read(&list.items[0], &run, &p.err), NPU_BAD_INPUT);
        if (strstr(p.err.text, bad[i].sentence) == NULL)
            fail_msg("'%s' does not hold '%s'", p.err.text, bad[i].sentence);
        npu_run_files_free(&run);
        npu_folder_free(&list);
        place_end(&p);
    }
}

// ---- folders -------------------------------------------------------------------------------

static void ranks_are_found_in_their_order(void **state) {
    (void)state;
    static const char *const folders[] = {"dfx_outputs",           "dfx_outputs/rank10",
                                          "dfx_outputs/rank10/d0", "dfx_outputs/rank2",
                                          "dfx_outputs/rank2/d1",  "dfx_outputs/rank2/d0",
                                          "dfx_outputs/rankx",     "dfx_outputs/rank3"};
    place p;
    place_begin(&p);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        put_folder(&p, folders[i]);
    put(&p, "dfx_outputs/rank10/d0/chip_swimlane_records.json", "");
    put(&p, "dfx_outputs/rank2/d1/chip_swimlane_records.json", "");
    put(&p, "dfx_outputs/rank2/d1/deps.json", "");
    put(&p, "dfx_outputs/rank2/d0/l2_swimlane_records.json", "");
    put_folder(&p, "dfx_outputs/rank2/d0/scope_stats");
    put(&p, "dfx_outputs/rank2/d0/scope_stats/scope_stats.jsonl", "");
    put(&p, "dfx_outputs/rankx/chip_swimlane_records.json", ""); // no rank
    npu_capture_list list;
    assert_int_equal(npu_folder_find(p.folder, &list, &p.err), NPU_OK);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.items[0].place, "rank2/d0");
    assert_string_equal(list.items[1].place, "rank2/d1");
    assert_string_equal(list.items[2].place, "rank10/d0");
    assert_int_equal(list.items[2].rank, 10);
    assert_non_null(list.items[0].scope);
    assert_null(list.items[0].deps);
    assert_non_null(list.items[1].deps);
    npu_folder_free(&list);
    place_end(&p);
}

static void newer_names_and_records_go_first(void **state) {
    (void)state;
    place p;
    char path[512];
    place_begin(&p);
    static const char *const names[] = {"perf_swimlane_b.json", "perf_swimlane_a.json",
                                        "l2_perf_records.json", "l2_swimlane_records.json",
                                        "chip_swimlane_records.json"};
    static const char *const best[] = {"perf_swimlane_b.json", "perf_swimlane_a.json",
                                       "l2_perf_records.json", "l2_swimlane_records.json",
                                       "chip_swimlane_records.json"};
    put(&p, "merged_swimlane.json", "");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        put(&p, names[i], "");
        npu_capture_list list;
        assert_int_equal(npu_folder_find(p.folder, &list, &p.err), NPU_OK);
        assert_int_equal(list.count, 1);
        assert_string_equal(list.items[0].records, place_path(&p, best[i], path));
        npu_folder_free(&list);
    }
    put(&p, "name_map_z.json", "");
    put(&p, "name_map_b.json", "");
    npu_capture_list list;
    assert_int_equal(npu_folder_find(p.folder, &list, &p.err), NPU_OK);
    assert_string_equal(list.items[0].names, place_path(&p, "name_map_b.json", path));
    npu_folder_free(&list);
    place_end(&p);
}

static void an_empty_folder_holds_no_capture(void **state) {
    (void)state;
    place p;
    place_begin(&p);
    npu_capture_list list;
    assert_int_equal(npu_folder_find(p.folder, &list, &p.err), NPU_IO);
    assert_non_null(strstr(p.err.text, ": there is no chip_swimlane_records.json in this folder"));
    npu_folder_free(&list);
    p.err = (npu_error){""};
    assert_int_equal(npu_folder_find("/no/such/place", &list, &p.err), NPU_IO);
    npu_folder_free(&list);
    place_end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_a_run_give_its_perfetto_file),
        cmocka_unit_test(a_scene_is_a_sound_trace),
        cmocka_unit_test(ticks_of_any_clock_come_back),
        cmocka_unit_test(what_goes_backwards_is_clamped_and_counted),
        cmocka_unit_test(a_merged_swimlane_stands_for_the_records),
        cmocka_unit_test(older_processes_are_known_by_their_names),
        cmocka_unit_test(bad_merged_swimlanes_are_refused),
        cmocka_unit_test(ranks_are_found_in_their_order),
        cmocka_unit_test(newer_names_and_records_go_first),
        cmocka_unit_test(an_empty_folder_holds_no_capture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
