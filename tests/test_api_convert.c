// SPDX-License-Identifier: Apache-2.0
// npusim_convert through the shared library: runs and captures from form to form.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "npusim.h"

#define CAPTURES NPUSIM_SOURCE "/tests/data/captures/"
#define RECORDS "chip_swimlane_records.json"

static char place[64];

static int begin(void **state) {
    (void)state;
    strcpy(place, "/tmp/npusim-test-convert-XXXXXX");
    return mkdtemp(place) != NULL ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", place);
    return system(command);
}

static const char *in_place(const char *name, char buf[256]) {
    snprintf(buf, 256, "%s/%s", place, name);
    return buf;
}

static char *read_all(const char *folder, const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("cannot open %s", path);
    char *text = calloc(1, 4 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, (4 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

static void same_file(const char *a, const char *b, const char *name) {
    char *x = read_all(a, name);
    char *y = read_all(b, name);
    assert_string_equal(x, y);
    free(x);
    free(y);
}

static bool there(const char *name) {
    char path[256];
    struct stat info;
    return stat(in_place(name, path), &info) == 0;
}

static void convert(const char *from, const char *to, const char *out) {
    npusim_convert_options options = {.path = from, .to = to, .out = out};
    npu_error err = {{0}};
    if (npusim_convert(&options, NULL, &err) != NPU_OK)
        fail_msg("%s", err.text);
}

// A run in each generation, each of them in each: a form does not depend on the way to it.
static void a_run_goes_through_all_forms_without_loss(void **state) {
    (void)state;
    static const char *const forms[] = {"g1", "g2", "g3"};
    char run[256], direct[256], through[256];
    npusim_run_options options = {
        .input = {.graph = NPUSIM_SOURCE "/configs/models/deepseek_v4_flash/hc_pre.yaml",
                  .config = NPUSIM_SOURCE "/configs"},
        .out = in_place("run", run),
        .no_plot = true};
    npu_error err = {{0}};
    assert_int_equal(npusim_run(&options, NULL, NULL, NULL, &err), NPU_OK);
    for (int g = 0; g < 3; g++)
        convert(run, forms[g], in_place(forms[g], direct));
    same_file(in_place("g1", direct), run, RECORDS); // what a run writes is g1
    same_file(direct, run, "deps.json");
    same_file(direct, run, "name_map.json");
    same_file(direct, run, "pmu.csv");
    convert(run, "perfetto", in_place("drawn", direct));
    for (int g = 0; g < 3; g++) {
        char first[256], name[32];
        in_place(forms[g], first);
        for (int h = 0; h < 3; h++) {
            snprintf(name, sizeof name, "%s_%s", forms[g], forms[h]);
            convert(first, forms[h], in_place(name, through));
            same_file(through, in_place(forms[h], direct), RECORDS);
        }
        snprintf(name, sizeof name, "%s_drawn", forms[g]);
        convert(first, "perfetto", in_place(name, through));
        same_file(through, in_place("drawn", direct), "merged_swimlane.json");
    }
}

static void an_older_capture_keeps_what_it_says(void **state) {
    (void)state;
    char g1[256], g3[256], back[256];
    convert(CAPTURES "legacy", "g1", in_place("old_g1", g1));
    convert(CAPTURES "legacy", "g3", in_place("old_g3", g3));
    convert(g3, "g1", in_place("old_back", back));
    same_file(g1, back, RECORDS);
    char *text = read_all(g1, RECORDS);
    assert_non_null(strstr(text, "\"kind\": \"wire\", \"start_cycles\": 4409875911800"));
    assert_non_null(strstr(text, "\"local_at_start\": [0, 0, 0]"));
    free(text);
    text = read_all(g3, "deps.json"); // the third generation wants to know
    assert_memory_equal(text, "{\"runtime\":\"tensormap_and_ringbuffer\",\"tasks\":[", 47);
    free(text);
}

static void ranks_keep_their_places(void **state) {
    (void)state;
    char out[256];
    convert(CAPTURES "ranks", "g1", in_place("ranks", out));
    assert_true(there("ranks/rank0/d0/" RECORDS));
    assert_true(there("ranks/rank1/d0/" RECORDS));
    assert_true(there("ranks/rank1/d0/pmu.csv"));
    char *text = read_all(out, "rank1/d0/" RECORDS);
    assert_non_null(strstr(text, "\"run_epoch\": 3,"));
    assert_non_null(strstr(text, "\"clock_alignment\": {\"status\": \"bounded\","));
    free(text);
}

static void put_text(const char *name, const char *text) {
    char path[256];
    FILE *file = fopen(in_place(name, path), "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void make_folder(const char *name) {
    char path[256];
    assert_int_equal(mkdir(in_place(name, path), 0777), 0);
}

static void one_bad_rank_leaves_no_file_of_any(void **state) {
    (void)state;
    char from[256], out[256];
    char *good = read_all(CAPTURES "ranks/rank0/d0", RECORDS);
    make_folder("half");
    make_folder("half/rank0");
    make_folder("half/rank1");
    put_text("half/rank0/" RECORDS, good);
    put_text("half/rank1/" RECORDS, "{\"metadata\":");
    free(good);
    npusim_convert_options options = {
        .path = in_place("half", from), .to = "g2", .out = in_place("half_out", out)};
    npu_error err = {{0}};
    assert_int_equal(npusim_convert(&options, NULL, &err), NPU_BAD_INPUT);
    assert_non_null(
        strstr(err.text, "/half/rank1/" RECORDS ":1:13: the file ends in the middle of its JSON"));
    assert_false(there("half_out"));
}

// A merged swimlane has less in it; what it has, its records have.
static void a_drawing_becomes_records_with_a_graph(void **state) {
    (void)state;
    char drawn[256], again[256], twice[256];
    convert(CAPTURES "legacy", "perfetto", in_place("picture", drawn));
    convert(drawn, "g2", in_place("picture_g2", again));
    char *text = read_all(again, "deps.json");
    assert_non_null(strstr(text, "\"pred\":\"8589934592\",\"succ\":\"8589934593\""));
    free(text);
    text = read_all(again, "name_map.json");
    assert_non_null(strstr(text, "\"2\": \"fuse_aiv\""));
    free(text);
    convert(again, "g3", in_place("picture_g3", twice));
    convert(twice, "g2", in_place("picture_back", drawn));
    same_file(again, drawn, RECORDS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_goes_through_all_forms_without_loss),
        cmocka_unit_test(an_older_capture_keeps_what_it_says),
        cmocka_unit_test(ranks_keep_their_places),
        cmocka_unit_test(one_bad_rank_leaves_no_file_of_any),
        cmocka_unit_test(a_drawing_becomes_records_with_a_graph),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
