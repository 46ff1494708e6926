// SPDX-License-Identifier: Apache-2.0
// The picture of a run, from its trace and from its files, and gnuplot.
#include "test_traces_fixture.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deps.h"
#include "names.h"
#include "plot.h"
#include "swimlane.h"

// A folder of its own for each test.
typedef struct place {
    char folder[256];
    npu_picture picture;
    npu_error err;
} place;

static const char *const place_files[] = {"chip_swimlane_records.json",
                                          "l2_swimlane_records.json",
                                          "deps.json",
                                          "name_map.json",
                                          "name_map_b.json",
                                          "summary.json",
                                          "swimlane.png",
                                          "gnuplot"};

static void place_begin(place *p) {
    *p = (place){.picture = {0}};
    snprintf(p->folder, sizeof p->folder, "%s/plot_XXXXXX", NPUSIM_BUILD);
    assert_non_null(mkdtemp(p->folder));
}

static const char *place_path(const place *p, const char *name, char *buf, int size) {
    snprintf(buf, (size_t)size, "%s/%s", p->folder, name);
    return buf;
}

static void place_end(place *p) {
    char path[512];
    npu_picture_free(&p->picture);
    for (size_t i = 0; i < sizeof place_files / sizeof *place_files; i++)
        unlink(place_path(p, place_files[i], path, (int)sizeof path));
    assert_int_equal(rmdir(p->folder), 0);
}

static void put(const place *p, const char *name, const char *text) {
    char path[512];
    FILE *file = fopen(place_path(p, name, path, (int)sizeof path), "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void put_run(const place *p, const fixture *f, int level) {
    char path[512];
    FILE *file = fopen(place_path(p, "chip_swimlane_records.json", path, (int)sizeof path), "w");
    assert_int_equal(npu_swimlane_write(file, &f->trace, level, NULL), NPU_OK);
    fclose(file);
    file = fopen(place_path(p, "deps.json", path, (int)sizeof path), "w");
    assert_int_equal(npu_deps_write(file, &f->graph, NULL), NPU_OK);
    fclose(file);
    file = fopen(place_path(p, "name_map.json", path, (int)sizeof path), "w");
    assert_int_equal(npu_names_write(file, &f->graph, NULL), NPU_OK);
    fclose(file);
}

static void read_place(place *p) {
    if (npu_picture_read(p->folder, &p->picture, &p->err) != NPU_OK)
        fail_msg("%s", p->err.text);
}

static void a_trace_becomes_lanes_and_bars(void **state) {
    (void)state;
    fixture *f = fix_new();
    npu_picture picture;
    assert_int_equal(npu_picture_make(&f->trace, &f->graph, "A3", &picture, NULL), NPU_OK);
    assert_string_equal(picture.title, "tiny on A3: 17.3 us");
    assert_int_equal(picture.lane_count, 1 + 2 + FIX_CORES);
    assert_int_equal(picture.lanes[0].kind, NPU_LANE_ORCHESTRATOR);
    assert_int_equal(picture.lanes[2].kind, NPU_LANE_SCHEDULER);
    assert_int_equal(picture.lanes[5].kind, NPU_LANE_AIV);
    assert_int_equal(picture.lanes[5].number, 2);
    // resolves and markers lie inside other phases
    assert_int_equal(picture.bar_count, FIX_SUBMITS + 6 + FIX_ROWS);
    assert_int_equal(picture.name_count, 3); // the halves of fuse share one
    const npu_bar *last = &picture.bars[picture.bar_count - 1];
    assert_string_equal(picture.names[last->name], "act");
    assert_true(last->start == 14.7 && last->end == 16.7);
    npu_picture_free(&picture);
    free(f);
}

static void a_trace_without_phases_has_lanes_for_cores_alone(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->trace.phase_count = f->trace.submit_count = 0;
    npu_picture picture;
    assert_int_equal(npu_picture_make(&f->trace, &f->graph, "A3", &picture, NULL), NPU_OK);
    assert_int_equal(picture.lane_count, FIX_CORES);
    assert_int_equal(picture.bar_count, FIX_ROWS);
    npu_picture_free(&picture);
    free(f);
}

static int compare_bars(const void *a, const void *b) {
    const npu_bar *x = a;
    const npu_bar *y = b;
    if (x->lane != y->lane)
        return x->lane - y->lane;
    return x->start < y->start ? -1 : x->start > y->start;
}

static void files_give_the_picture_of_their_trace(void **state) {
    (void)state;
    fixture *f = fix_new();
    place p;
    place_begin(&p);
    put_run(&p, f, 4);
    read_place(&p);
    npu_picture made;
    assert_int_equal(npu_picture_make(&f->trace, &f->graph, "A3", &made, NULL), NPU_OK);
    assert_string_equal(p.picture.title, "tiny: 17.3 us");
    assert_int_equal(p.picture.lane_count, made.lane_count);
    assert_int_equal(p.picture.bar_count, made.bar_count);
    assert_true(fabs(p.picture.span - made.span) < 0.02);
    qsort(made.bars, (size_t)made.bar_count, sizeof *made.bars, compare_bars);
    qsort(p.picture.bars, (size_t)made.bar_count, sizeof *made.bars, compare_bars);
    for (int i = 0; i < made.bar_count; i++) {
        const npu_bar *x = &made.bars[i];
        const npu_bar *y = &p.picture.bars[i];
        assert_int_equal(x->lane, y->lane);
        assert_true(fabs(x->start - y->start) < 0.02 && fabs(x->end - y->end) < 0.02);
        if (made.lanes[x->lane].kind >= NPU_LANE_AIC)
            assert_string_equal(made.names[x->name], p.picture.names[y->name]);
        else
            assert_int_equal(x->name, y->name);
    }
    npu_picture_free(&made);
    place_end(&p);
    free(f);
}

#define EXAMPLE_META                                                                               \
    "\"metadata\":{\"clock_freq_hz\":50000000,\"num_cores\":3,"                                    \
    "\"core_types\":[\"aic\",\"aiv\",\"aiv\"]}"
#define EXAMPLE_ROWS                                                                               \
    "\"aicore_tasks\":[[0,4294967296,1,1000,3500,18]], \"aicpu_tasks\":[[0,1,970,3540]]"

static void the_example_of_the_format_is_read(void **state) {
    (void)state;
    place p;
    place_begin(&p);
    put(&p, "chip_swimlane_records.json",
        "{\"chip_swimlane_level\":2," EXAMPLE_META "," EXAMPLE_ROWS "}");
    read_place(&p);
    assert_int_equal(p.picture.lane_count, 3);
    assert_int_equal(p.picture.bar_count, 1);
    assert_string_equal(p.picture.names[0], "task");         // without deps.json
    assert_true(fabs(p.picture.bars[0].start - 0.6) < 1e-9); // from the dispatch, 30 ticks before
    assert_true(fabs(p.picture.bars[0].end - 50.6) < 1e-9);
    assert_true(fabs(p.picture.span - 51.4) < 1e-9);
    place_end(&p);
}

static void the_title_names_the_die_of_a_summary(void **state) {
    (void)state;
    place p;
    place_begin(&p);
    put(&p, "chip_swimlane_records.json", "{" EXAMPLE_META "," EXAMPLE_ROWS "}");
    put(&p, "name_map.json", "{\"orchestrator_name\":\"layer\"}");
    put(&p, "summary.json", "{\"input\":{\"die\":\"dies/A3.yaml\"}}");
    read_place(&p);
    assert_string_equal(p.picture.title, "layer on A3.yaml: 51.4 us");
    npu_picture_free(&p.picture);
    put(&p, "summary.json", "of another program");
    read_place(&p);
    assert_string_equal(p.picture.title, "layer: 51.4 us");
    place_end(&p);
}

static void a_makespan_ends_with_the_last_row(void **state) {
    (void)state;
    place p;
    place_begin(&p);
    put(&p, "chip_swimlane_records.json",
        "{" EXAMPLE_META "," EXAMPLE_ROWS ",\"aicpu_scheduler_phases\":[[{\"kind\":\"complete\","
        "\"start_cycles\":3530,\"end_cycles\":3600}]]}");
    put(&p, "name_map.json", "{\"orchestrator_name\":\"layer\"}");
    read_place(&p);
    assert_string_equal(p.picture.title, "layer: 51.4 us");
    assert_true(fabs(p.picture.span - 52.6) < 1e-9); // the phase is drawn whole
    place_end(&p);
}

static void a_dummy_takes_no_place_in_the_legend(void **state) {
    (void)state;
    place p;
    place_begin(&p);
    put(&p, "chip_swimlane_records.json", "{" EXAMPLE_META "," EXAMPLE_ROWS "}");
    put(&p, "deps.json",
        "{\"tasks\":[{\"task_id\":\"7\",\"kernel_ids\":[-1,-1,-1]},"
        "{\"task_id\":\"8\",\"kernel_ids\":[1,-1,-1]},"
        "{\"task_id\":\"4294967296\",\"kernel_ids\":[2,-1,-1]}]}");
    read_place(&p);
    sink s;
    sink_begin(&s);
    assert_int_equal(npu_plot_script(&p.picture, s.out, NULL), NPU_OK);
    char *script = sink_end(&s);
    assert_null(strstr(script, "title 'task'"));
    assert_null(strstr(script, "title 'func_1'")); // has no bar
    assert_non_null(strstr(script, "title 'func_2'"));
    free(script);
    place_end(&p);
}

static void older_and_wider_captures_are_read(void **state) {
    (void)state;
    place p;
    place_begin(&p);
    // Five columns; a 7th to come; a lost row; a negative id; phases of older kinds; spare lists.
    put(&p, "l2_swimlane_records.json",
        "{\"l2_swimlane_level\":3," EXAMPLE_META ",\"aicore_tasks\":[[0,7,1,1000,1100],"
        "[1,-2,1,1200,1300,5,99],[2,8,1,0,0,0]],\"aicpu_tasks\":[[0,1,990,1110,4]],"
        "\"aicpu_scheduler_phases\":[[{\"kind\":\"wire\",\"start_cycles\":995,\"end_cycles\":1000,"
        "\"local_at_start\":[0,0,0]},{\"kind\":\"idle\",\"start_cycles\":1000,"
        "\"end_cycles\":1005}],[]]}");
    put(&p, "deps.json",
        "{\"tasks\":[{\"task_id\":7,\"kernel_ids\":[3,-1,-1]},"
        "{\"task_id\":\"18446744073709551614\",\"kernel_ids\":[-1,-1,4]}],\"edges\":[]}");
    put(&p, "name_map_b.json", "{\"callable_id_to_name\":{\"4\":\"gather\"}}");
    read_place(&p);
    assert_int_equal(p.picture.lane_count, 1 + 3);
    assert_int_equal(p.picture.bar_count, 1 + 2);
    assert_string_equal(p.picture.names[0], "func_3");
    assert_string_equal(p.picture.names[1], "gather");
    assert_int_equal(p.picture.bars[0].name, NPU_SHADE_OTHER);
    assert_string_equal(p.picture.names[p.picture.bars[2].name], "gather");
    assert_true(fabs(p.picture.span - 310 * 0.02) < 1e-9);
    place_end(&p);
}

typedef struct bad_file {
    const char *file;
    const char *text;
    const char *sentence;
} bad_file;

#define SWIMLANE "chip_swimlane_records.json"

// The readers have tests of their own; these show that each file of the folder is read by one.
static const bad_file bad_files[] = {
    {SWIMLANE, "", ":1:1: the file ends in the middle of its JSON"},
    {SWIMLANE, "{" EXAMPLE_META ",\"aicore_tasks\":[[3,1,1,5,6]]}",
     ": a row of aicore_tasks is on core 3, but there are 3 cores"},
    {"deps.json", "{}", "/deps.json: has no list of tasks"},
    {"name_map.json", "nonsense", "/name_map.json:1:2: this is no JSON"},
};

static void a_bad_file_is_named_with_its_fault(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad_files / sizeof *bad_files; i++) {
        place p;
        place_begin(&p);
        put(&p, SWIMLANE, "{" EXAMPLE_META "," EXAMPLE_ROWS "}");
        put(&p, bad_files[i].file, bad_files[i].text);
        assert_int_equal(npu_picture_read(p.folder, &p.picture, &p.err), NPU_BAD_INPUT);
        if (strstr(p.err.text, bad_files[i].sentence) == NULL ||
            strncmp(p.err.text, p.folder, strlen(p.folder)) != 0)
            fail_msg("'%s' does not hold '%s'", p.err.text, bad_files[i].sentence);
        place_end(&p);
    }
}

static void a_folder_without_a_swimlane_is_refused(void **state) {
    (void)state;
    place p;
    place_begin(&p);
    assert_int_equal(npu_picture_read(p.folder, &p.picture, &p.err), NPU_IO);
    assert_non_null(strstr(p.err.text, ": there is no chip_swimlane_records.json in this folder"));
    place_end(&p);
}

static char *script_of(const npu_picture *picture) {
    sink s;
    sink_begin(&s);
    assert_int_equal(npu_plot_script(picture, s.out, NULL), NPU_OK);
    return sink_end(&s);
}

static void names_cannot_speak_to_gnuplot(void **state) {
    (void)state;
    fixture *f = fix_new();
    f->graph.name = "g'; system('x'); `y` \"z\" \\ @m $n\n\x01\xff";
    f->funcs[0].name = "mm'\nexit\n`id`";
    npu_picture picture;
    assert_int_equal(npu_picture_make(&f->trace, &f->graph, "A3", &picture, NULL), NPU_OK);
    char *script = script_of(&picture);
    assert_non_null(strstr(script, "set title 'g_; system(_x_); _y_ _z_ _ _m _n___ on A3"));
    assert_non_null(strstr(script, "title 'mm__exit__id_'"));
    free(script);
    npu_picture_free(&picture);
    free(f);
}

static void kernels_beyond_the_colours_share_one(void **state) {
    (void)state;
    npu_picture picture = {.title = "many", .span = 100};
    assert_int_equal(npu_picture_lane(&picture, NPU_LANE_AIC, 0, NULL), NPU_OK);
    for (int i = 0; i < 40; i++) {
        char text[16];
        int name = -1;
        snprintf(text, sizeof text, "k%02d", i);
        assert_int_equal(npu_picture_name(&picture, text, &name, NULL), NPU_OK);
        assert_int_equal(name, i);
        npu_bar bar = {0, name, i * 2.0, i * 2.0 + 0.1 + i * 0.01}; // later ones take longer
        assert_int_equal(npu_picture_bar(&picture, bar, NULL), NPU_OK);
    }
    int again = -1;
    assert_int_equal(npu_picture_name(&picture, "k07", &again, NULL), NPU_OK);
    assert_int_equal(again, 7);
    char *script = script_of(&picture);
    assert_null(strstr(script, "title 'k10'"));
    assert_non_null(strstr(script, "title 'k11'"));
    assert_non_null(strstr(script, "title 'k39'"));
    assert_non_null(strstr(script, "title '11 other kernels'"));
    free(script);
    npu_picture_free(&picture);
}

static bool have_gnuplot(void) {
    return system("gnuplot --version > /dev/null 2>&1") == 0;
}

static void gnuplot_draws_1800_by_1000_pixels(void **state) {
    (void)state;
    if (!have_gnuplot())
        skip();
    fixture *f = fix_new();
    place p;
    char png[512];
    place_begin(&p);
    assert_int_equal(npu_picture_make(&f->trace, &f->graph, "A3", &p.picture, NULL), NPU_OK);
    place_path(&p, "swimlane.png", png, (int)sizeof png);
    if (npu_plot_png(&p.picture, png, &p.err) != NPU_OK)
        fail_msg("%s", p.err.text);
    unsigned char head[24] = {0};
    FILE *file = fopen(png, "rb");
    assert_int_equal(fread(head, 1, sizeof head, file), sizeof head);
    fclose(file);
    assert_memory_equal(head, "\x89PNG\r\n\x1a\n", 8);
    assert_int_equal(head[18] << 8 | head[19], 1800);
    assert_int_equal(head[22] << 8 | head[23], 1000);
    place_end(&p);
    free(f);
}

static void an_empty_run_is_drawn_too(void **state) {
    (void)state;
    if (!have_gnuplot())
        skip();
    place p;
    char png[512];
    place_begin(&p);
    put(&p, SWIMLANE, "{" EXAMPLE_META ",\"aicore_tasks\":[],\"aicpu_tasks\":[]}");
    read_place(&p);
    place_path(&p, "swimlane.png", png, (int)sizeof png);
    if (npu_plot_png(&p.picture, png, &p.err) != NPU_OK)
        fail_msg("%s", p.err.text);
    place_end(&p);
}

// Draws with only the test's folder in PATH.
static npu_status draw_there(place *p, char *png, int size) {
    const char *old = getenv("PATH");
    char *path = strdup(old != NULL ? old : "");
    assert_non_null(path);
    setenv("PATH", p->folder, 1);
    place_path(p, "swimlane.png", png, size);
    npu_picture picture = {.title = "t", .span = 1};
    assert_int_equal(npu_picture_lane(&picture, NPU_LANE_AIC, 0, NULL), NPU_OK);
    npu_status status = npu_plot_png(&picture, png, &p->err);
    npu_picture_free(&picture);
    setenv("PATH", path, 1);
    free(path);
    return status;
}

static void a_missing_gnuplot_is_named(void **state) {
    (void)state;
    place p;
    char png[512];
    place_begin(&p);
    assert_int_equal(draw_there(&p, png, (int)sizeof png), NPU_IO);
    assert_string_equal(p.err.text, "swimlane.png needs the program gnuplot, which is not in PATH");
    assert_int_equal(access(png, F_OK), -1);
    place_end(&p);
}

static void a_failing_gnuplot_is_quoted(void **state) {
    (void)state;
    place p;
    char path[512];
    place_begin(&p);
    put(&p, "gnuplot", "#!/bin/sh\necho half a picture\necho ' line 3: no terminal' >&2\nexit 1\n");
    assert_int_equal(chmod(place_path(&p, "gnuplot", path, (int)sizeof path), 0755), 0);
    assert_int_equal(draw_there(&p, path, (int)sizeof path), NPU_IO);
    assert_string_equal(p.err.text, "gnuplot failed: line 3: no terminal");
    assert_int_equal(access(path, F_OK), -1); // nothing half done stays
    place_end(&p);
}

static void a_picture_that_cannot_be_written_is_reported(void **state) {
    (void)state;
    npu_picture picture = {.title = "t", .span = 1};
    npu_error err = {0};
    assert_int_equal(npu_plot_png(&picture, "/nowhere/at/all.png", &err), NPU_IO);
    assert_string_equal(err.text, "/nowhere/at/all.png: cannot write: No such file or directory");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_becomes_lanes_and_bars),
        cmocka_unit_test(a_trace_without_phases_has_lanes_for_cores_alone),
        cmocka_unit_test(files_give_the_picture_of_their_trace),
        cmocka_unit_test(the_example_of_the_format_is_read),
        cmocka_unit_test(the_title_names_the_die_of_a_summary),
        cmocka_unit_test(a_makespan_ends_with_the_last_row),
        cmocka_unit_test(a_dummy_takes_no_place_in_the_legend),
        cmocka_unit_test(older_and_wider_captures_are_read),
        cmocka_unit_test(a_bad_file_is_named_with_its_fault),
        cmocka_unit_test(a_folder_without_a_swimlane_is_refused),
        cmocka_unit_test(names_cannot_speak_to_gnuplot),
        cmocka_unit_test(kernels_beyond_the_colours_share_one),
        cmocka_unit_test(gnuplot_draws_1800_by_1000_pixels),
        cmocka_unit_test(an_empty_run_is_drawn_too),
        cmocka_unit_test(a_missing_gnuplot_is_named),
        cmocka_unit_test(a_failing_gnuplot_is_quoted),
        cmocka_unit_test(a_picture_that_cannot_be_written_is_reported),
    };
    return cmocka_run_group_tests_name("plot", tests, NULL, NULL);
}
