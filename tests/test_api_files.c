// SPDX-License-Identifier: Apache-2.0
// The files of a run, read as the runtime's tools read them: join keys, ids, units, row counts
// and the rules of sanity (runtime notes 1.2 to 1.10), on every graph.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "npusim.h"

#define CONFIGS NPUSIM_SOURCE "/configs"

static const struct {
    const char *graph, *set;
} graphs[] = {
    {"configs/models/deepseek_v4_flash/swa.yaml", NULL},
    {"configs/models/deepseek_v4_flash/hc_pre.yaml", NULL},
    {"configs/models/deepseek_v4_flash/csa.yaml", NULL},
    {"configs/models/deepseek_v4_flash/mtp.yaml", "dies=1"},
    {"configs/models/gemm.yaml", NULL},
    {"configs/selftest/stream.yaml", NULL},
    {"configs/selftest/multiply.yaml", "count=10"},
    {"configs/selftest/dispatch.yaml", "blocks=100"},
    {"tests/data/graphs/layer.yaml", "T=8"},
    {"tests/data/graphs/oproj.yaml", NULL},
    {"tests/data/graphs/stack.yaml", NULL},
};
enum { GRAPHS = sizeof graphs / sizeof *graphs, CORES = 72, CLUSTERS = 24, MAX_TOKENS = 4096 };

static const char *const file_names[] = {
    "chip_swimlane_records.json", "deps.json",   "name_map.json", "pmu.csv",
    "merged_swimlane.json",       "summary.json"};

typedef struct files {
    char folder[64];
    json_t *lanes, *deps, *names;
} files;

static json_t *read_json(const char *folder, const char *name) {
    char path[256];
    json_error_t error;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    json_t *json = json_load_file(path, 0, &error);
    if (json == NULL)
        print_error("%s: %s\n", path, error.text);
    assert_non_null(json);
    return json;
}

static files run(int i, int level) {
    files f = {.folder = "/tmp/npusim-test-files-XXXXXX"};
    char path[512];
    assert_non_null(mkdtemp(f.folder));
    snprintf(path, sizeof path, "%s/%s", NPUSIM_SOURCE, graphs[i].graph);
    npusim_run_options options = {.input = {.graph = path,
                                            .config = CONFIGS,
                                            .sets = &graphs[i].set,
                                            .set_count = graphs[i].set != NULL},
                                  .out = f.folder,
                                  .swimlane = level,
                                  .no_plot = true};
    npu_error err = {{0}};
    npu_status status = npusim_run(&options, NULL, NULL, NULL, &err);
    if (status)
        print_error("%s\n", err.text);
    assert_int_equal(status, NPU_OK);
    f.lanes = read_json(f.folder, "chip_swimlane_records.json");
    f.deps = read_json(f.folder, "deps.json");
    f.names = read_json(f.folder, "name_map.json");
    return f;
}

static void done(files *f) {
    char path[256];
    json_decref(f->lanes);
    json_decref(f->deps);
    json_decref(f->names);
    for (size_t i = 0; i < sizeof file_names / sizeof *file_names; i++) {
        snprintf(path, sizeof path, "%s/%s", f->folder, file_names[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(f->folder), 0); // nothing else was left there
}

static json_int_t at(const json_t *row, size_t i) {
    const json_t *value = json_array_get(row, i);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static uint64_t id_of(const json_t *value) { // ids are decimal strings
    assert_true(json_is_string(value));
    char *end;
    uint64_t id = strtoull(json_string_value(value), &end, 10);
    assert_true(*end == '\0');
    return id;
}

static const json_t *task_by_id(const files *f, uint64_t id) {
    size_t i;
    json_t *task;
    json_array_foreach(json_object_get(f->deps, "tasks"), i, task) {
        if (id_of(json_object_get(task, "task_id")) == id)
            return task;
    }
    return NULL;
}

static bool is_aiv(int core) {
    return core >= CLUSTERS;
}

static int kernel_id(const json_t *task, int which) {
    return (int)at(json_object_get(task, "kernel_ids"), (size_t)which);
}

// The name that a reader finds for a row: AIC rows by the first id, AIV rows by the second,
// else the third.
static const char *row_name(const files *f, const json_t *task, int core) {
    int id = is_aiv(core) ? kernel_id(task, 1) : kernel_id(task, 0);
    if (is_aiv(core) && id < 0)
        id = kernel_id(task, 2);
    char key[16];
    snprintf(key, sizeof key, "%d", id);
    return json_string_value(
        json_object_get(json_object_get(f->names, "callable_id_to_name"), key));
}

// Both streams join on (core, register task id); each key stands once in each.
static void check_join(const files *f) {
    static json_int_t end_of[CORES][MAX_TOKENS];
    memset(end_of, 0, sizeof end_of);
    json_t *aicore = json_object_get(f->lanes, "aicore_tasks"), *row;
    json_t *aicpu = json_object_get(f->lanes, "aicpu_tasks");
    assert_int_equal(json_array_size(aicore), json_array_size(aicpu));
    size_t i;
    json_array_foreach(aicore, i, row) {
        assert_int_equal(json_array_size(row), 6);
        json_int_t core = at(row, 0), token = at(row, 2), start = at(row, 3), end = at(row, 4);
        json_int_t setup = at(row, 5);
        assert_true(core >= 0 && core < CORES && token >= 1 && token < MAX_TOKENS);
        assert_true(start > 0 && setup >= 0 && start - setup > 0 && start <= end);
        assert_true(end_of[core][token] == 0);
        end_of[core][token] = end;
    }
    json_array_foreach(aicpu, i, row) {
        assert_int_equal(json_array_size(row), 4);
        json_int_t core = at(row, 0), token = at(row, 1), dispatch = at(row, 2),
                   finish = at(row, 3);
        assert_true(core >= 0 && core < CORES && token >= 1 && token < MAX_TOKENS);
        assert_true(end_of[core][token] > 0 && dispatch > 0);
        assert_true(end_of[core][token] <= finish + 2); // stamps of two clocks' ticks
        end_of[core][token] = 0;
    }
}

// Rows of a task: its blocks times the kernels it has; none for a dummy. Every row has a name.
static void check_rows(const files *f) {
    json_t *tasks = json_object_get(f->deps, "tasks"), *task, *row;
    json_t *aicore = json_object_get(f->lanes, "aicore_tasks");
    size_t i, k, rows = 0;
    json_array_foreach(tasks, i, task) {
        json_int_t want = 0, got = 0;
        for (int n = 0; n < 3; n++)
            want += kernel_id(task, n) >= 0;
        want *= json_integer_value(json_object_get(task, "block_num"));
        uint64_t id = id_of(json_object_get(task, "task_id"));
        json_array_foreach(aicore, k, row) {
            if ((uint64_t)at(row, 1) != id)
                continue;
            got++;
            assert_non_null(row_name(f, task, (int)at(row, 0)));
        }
        assert_int_equal(got, want);
        rows += (size_t)got;
    }
    assert_int_equal(rows, json_array_size(aicore)); // no row of a task that is not there
}

// Rows of one core do not overlap, and at most two of them are in flight.
static void check_cores(const files *f) {
    json_t *aicore = json_object_get(f->lanes, "aicore_tasks"), *a, *b;
    size_t i, k;
    json_array_foreach(aicore, i, a) {
        json_array_foreach(aicore, k, b) {
            if (k <= i || at(a, 0) != at(b, 0))
                continue;
            assert_true(at(a, 4) <= at(b, 3) || at(b, 4) <= at(a, 3));
        }
    }
}

// first[t], last[t]: the first start and the last end of task t, in ticks.
static void check_edges(const files *f) {
    json_t *edges = json_object_get(f->deps, "edges"), *edge, *row;
    json_t *aicore = json_object_get(f->lanes, "aicore_tasks");
    size_t i, k;
    json_array_foreach(edges, i, edge) {
        uint64_t pred = id_of(json_object_get(edge, "pred")),
                 succ = id_of(json_object_get(edge, "succ"));
        assert_non_null(task_by_id(f, pred));
        assert_non_null(task_by_id(f, succ));
        json_int_t first = INT64_MAX, last = 0;
        json_array_foreach(aicore, k, row) {
            if ((uint64_t)at(row, 1) == pred && at(row, 4) > last)
                last = at(row, 4);
            if ((uint64_t)at(row, 1) == succ && at(row, 3) < first)
                first = at(row, 3);
        }
        assert_true(first >= last - 2);
    }
}

static void check_metadata(const files *f) {
    const json_t *meta = json_object_get(f->lanes, "metadata");
    assert_int_equal(json_integer_value(json_object_get(meta, "clock_freq_hz")), 50000000);
    assert_int_equal(json_integer_value(json_object_get(meta, "num_cores")), CORES);
    const json_t *types = json_object_get(meta, "core_types");
    const json_t *threads = json_object_get(meta, "core_to_thread");
    for (int core = 0; core < CORES; core++) {
        int cluster = is_aiv(core) ? (core - CLUSTERS) / 2 : core;
        assert_string_equal(json_string_value(json_array_get(types, (size_t)core)),
                            is_aiv(core) ? "aiv" : "aic");
        assert_int_equal(at(threads, (size_t)core), cluster % 3);
    }
}

static void the_files_of_every_graph_keep_the_rules(void **state) {
    (void)state;
    for (int i = 0; i < GRAPHS; i++) {
        files f = run(i, 0);
        check_metadata(&f);
        check_join(&f);
        check_rows(&f);
        check_cores(&f);
        check_edges(&f);
        done(&f);
    }
}

static void the_swa_layer_has_the_rows_of_the_workload(void **state) {
    (void)state;
    files f = run(0, 0);
    assert_int_equal(json_array_size(json_object_get(f.lanes, "aicore_tasks")), 374);
    json_t *tasks = json_object_get(f.deps, "tasks"), *task;
    size_t i, dummies = 0, blocks = 0;
    json_array_foreach(tasks, i, task) {
        bool dummy = kernel_id(task, 0) < 0 && kernel_id(task, 1) < 0 && kernel_id(task, 2) < 0;
        dummies += dummy;
        if (!dummy)
            blocks += (size_t)json_integer_value(json_object_get(task, "block_num"));
    }
    assert_int_equal(json_array_size(tasks), 50);
    assert_int_equal(dummies, 1);
    assert_int_equal(blocks, 358);
    done(&f);
}

static void lower_levels_hold_less(void **state) {
    (void)state;
    for (int level = 1; level <= 4; level++) {
        files f = run(0, level);
        assert_int_equal(json_integer_value(json_object_get(f.lanes, "chip_swimlane_level")),
                         level);
        bool aicpu = json_array_size(json_object_get(f.lanes, "aicpu_tasks")) > 0;
        assert_true(aicpu == (level >= 2));
        assert_true((json_object_get(f.lanes, "aicpu_scheduler_phases") != NULL) == (level >= 3));
        assert_true((json_object_get(f.lanes, "aicpu_orchestrator_phases") != NULL) ==
                    (level == 4));
        done(&f);
    }
}

static char *read_all(const char *folder, const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = calloc(1, 4 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, (4 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

static void the_same_run_twice_writes_the_same_bytes(void **state) {
    (void)state;
    files one = run(0, 0), two = run(0, 0);
    for (size_t i = 0; i < sizeof file_names / sizeof *file_names; i++) {
        char *a = read_all(one.folder, file_names[i]), *b = read_all(two.folder, file_names[i]);
        assert_string_equal(a, b);
        free(a);
        free(b);
    }
    done(&one);
    done(&two);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_files_of_every_graph_keep_the_rules),
        cmocka_unit_test(the_swa_layer_has_the_rows_of_the_workload),
        cmocka_unit_test(lower_levels_hold_less),
        cmocka_unit_test(the_same_run_twice_writes_the_same_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
