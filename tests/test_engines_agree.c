// SPDX-License-Identifier: Apache-2.0
// Every graph of the test data and the configs gives the same times on both engines, and the same
// bits when it is simulated twice. Graphs are found by their folder, so that a new one is tested
// without a change here; large ones have smaller settings below.
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "simulate.h"

enum { MAX_SETS = 6, MAX_FILES = 64, PATH = 512 };

static const char *const folders[] = {NPUSIM_SOURCE "/tests/data/graphs",
                                      NPUSIM_SOURCE "/configs/models",
                                      NPUSIM_SOURCE "/configs/selftest"};

// How a file is run, if not just as it is. All lines of a file count.
typedef struct variant {
    const char *file; // how its path ends
    const char *die;  // NULL: A3
    const char *sets[MAX_SETS];
    bool warm;
} variant;

static const variant variants[] = {
    {"dispatch.yaml", NULL, {"blocks=300"}, false},
    {"gemm.yaml", NULL, {"N=512", "K=1024"}, false},
    {"gemm.yaml", "910B4", {"M=256", "N=1024", "K=512", "gm=2", "gn=4"}, false},
    {"graphs/layer.yaml", NULL, {"T=16"}, false},
    {"multiply.yaml", NULL, {"blocks=6", "count=100"}, false},
    {"oproj.yaml", NULL, {NULL}, false},
    {"oproj.yaml", "910B4", {NULL}, true},
    {"stream.yaml", NULL, {"blocks=48", "tiles=12"}, false},
    {"stream.yaml", NULL, {"blocks=7", "tiles=12", "warm=1"}, false},
    {"stream.yaml", "910B4", {"aiv=0", "blocks=20", "tiles=12"}, false},
    {"moe.yaml", NULL, {"active=3"}, false},
    {"moe.yaml", NULL, {"active=4", "full=2"}, false},
    {"moe.yaml", NULL, {"active=4", "lag=7", "fold_notify=1", "combine_anchor=1"}, false},
    {"moe.yaml", NULL, {"EP=8", "active=2"}, false},
    {"flash/layer.yaml", NULL, {"kind=0", "active=3", "full=2"}, false},
    {"flash/layer.yaml", NULL, {"kind=1", "active=3", "fused=1"}, false},
    {"flash/layer.yaml", NULL, {"kind=2", "active=3", "dies=1"}, false},
    {"swa.yaml", NULL, {NULL}, false},
    {"swa.yaml", "910B4", {NULL}, true},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

// ---- graphs
// --------------------------------------------------------------------------------------

typedef struct graph_file {
    char path[PATH];
    const char *name; // within path
} graph_file;

// Kernels and other parts lie in the same folders; a graph has tasks.
static bool has_tasks(const char *path) {
    char text[1024];
    bool found = false;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (!found && fgets(text, sizeof text, file) != NULL)
        found = strncmp(text, "tasks:", 6) == 0;
    fclose(file);
    return found;
}

static int by_path(const void *a, const void *b) {
    return strcmp(((const graph_file *)a)->path, ((const graph_file *)b)->path);
}

// The layers of a model; its other files are parts of them, or too large.
static const char *const layers[] = {"swa", "hca", "csa", "moe", "layer", "tail"};

static int find_graphs(graph_file *files) {
    int count = 0;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        snprintf(files[count++].path, PATH, "%s/configs/models/deepseek_v4_flash/%s.yaml",
                 NPUSIM_SOURCE, layers[i]);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        DIR *folder = opendir(folders[i]);
        const struct dirent *entry;
        while (folder != NULL && (entry = readdir(folder)) != NULL) {
            const char *end = strrchr(entry->d_name, '.');
            if (end == NULL || strcmp(end, ".yaml") != 0)
                continue;
            assert_true(count < MAX_FILES);
            graph_file *f = &files[count];
            int length = snprintf(f->path, PATH, "%s/%s", folders[i], entry->d_name);
            assert_true(length > 0 && length < PATH);
            count += has_tasks(f->path);
        }
        if (folder != NULL)
            closedir(folder);
    }
    qsort(files, (size_t)count, sizeof *files, by_path);
    for (int i = 0; i < count; i++)
        files[i].name = strrchr(files[i].path, '/') + 1;
    assert_true(count >= 6);
    return count;
}

static bool ends_with(const char *path, const char *end) {
    size_t length = strlen(path), tail = strlen(end);
    return length > tail && strcmp(path + length - tail, end) == 0;
}

// Calls `check` for each graph in each of its variants.
static void for_all_graphs(void (*check)(const graph_file *file, const variant *v)) {
    static graph_file files[MAX_FILES];
    static const variant as_it_is = {0};
    int count = find_graphs(files), used = 0;
    for (int i = 0; i < count; i++) {
        int runs = 0;
        for (int k = 0; k < VARIANTS; k++)
            if (ends_with(files[i].path, variants[k].file)) {
                check(&files[i], &variants[k]);
                runs++;
            }
        used += runs;
        if (runs == 0)
            check(&files[i], &as_it_is);
    }
    assert_int_equal(used, VARIANTS); // each names a file that exists
}

// ---- simulation
// ----------------------------------------------------------------------------------

static npu_status simulate(const graph_file *file, const variant *v, npu_engine_kind engine,
                           npu_sim_result *result, npu_error *err) {
    npu_die die = {0};
    npu_ranks ranks = {0};
    npu_ranks_options loading = {
        {NPUSIM_SOURCE "/configs/kernels", v->sets, 0, 0}, NPUSIM_SOURCE "/configs/fabric", NULL};
    npu_sim_result results[NPU_MAX_RANKS];
    npu_sim_options options = {.engine = engine, .l2_warm = v->warm};
    *result = (npu_sim_result){0};
    while (v->sets[loading.graph.set_count] != NULL)
        loading.graph.set_count++;
    npu_status status =
        npu_die_load(NPUSIM_SOURCE "/configs/die", v->die ? v->die : "A3", &die, err);
    if (!status)
        status = npu_ranks_load(file->path, &loading, &ranks, NULL, err);
    if (!status)
        status = npu_simulate_ranks(&ranks, &die, &options, results, err);
    if (!status)
        *result = results[ranks.full - 1]; // the last rank stands for all
    for (int r = 0; r < ranks.full - 1 && !status; r++)
        npu_sim_result_free(&results[r]);
    npu_ranks_free(&ranks);
    npu_die_free(&die);
    return status;
}

static void simulate_here(const graph_file *file, const variant *v, npu_sim_result *result) {
    npu_error err = {{0}};
    npu_status status = simulate(file, v, NPU_ENGINE_FLUID, result, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, NPU_OK);
}

// ---- twice
// ---------------------------------------------------------------------------------------

static void assert_same_rows(const npu_trace *a, const npu_trace *b) {
    assert_int_equal(a->row_count, b->row_count);
    for (int i = 0; i < a->row_count; i++) {
        const npu_row *x = &a->rows[i], *y = &b->rows[i];
        assert_true(x->core == y->core && x->task == y->task && x->block == y->block);
        assert_true(x->dispatch == y->dispatch && x->receive == y->receive);
        assert_true(x->start == y->start && x->end == y->end && x->finish == y->finish);
        assert_true(x->reg_task_id == y->reg_task_id && x->ops == y->ops);
        assert_true(x->read_bytes == y->read_bytes && x->write_bytes == y->write_bytes);
        for (int p = 0; p < NPU_PIPE_COUNT; p++)
            assert_true(x->busy[p] == y->busy[p]);
    }
}

static void assert_same_phases(const npu_trace *a, const npu_trace *b) {
    assert_int_equal(a->phase_count, b->phase_count);
    for (int i = 0; i < a->phase_count; i++) {
        const npu_phase *x = &a->phases[i], *y = &b->phases[i];
        assert_true(x->thread == y->thread && x->kind == y->kind && x->task == y->task);
        assert_true(x->start == y->start && x->end == y->end);
        assert_true(x->loop_iter == y->loop_iter && x->processed == y->processed);
        assert_true(x->pop_hit == y->pop_hit && x->pop_miss == y->pop_miss);
        for (int k = 0; k < 3; k++) {
            assert_int_equal(x->depth_start[k], y->depth_start[k]);
            assert_int_equal(x->depth_end[k], y->depth_end[k]);
        }
    }
    assert_int_equal(a->submit_count, b->submit_count);
    for (int i = 0; i < a->submit_count; i++)
        assert_true(a->submits[i].task == b->submits[i].task &&
                    a->submits[i].start == b->submits[i].start &&
                    a->submits[i].end == b->submits[i].end);
}

static void check_twice(const graph_file *file, const variant *v) {
    npu_sim_result one, two;
    simulate_here(file, v, &one);
    simulate_here(file, v, &two);
    assert_true(one.trace.makespan == two.trace.makespan && one.events == two.events);
    assert_same_rows(&one.trace, &two.trace);
    assert_same_phases(&one.trace, &two.trace);
    npu_sim_result_free(&one);
    npu_sim_result_free(&two);
}

static void a_run_gives_the_same_bits_twice(void **state) {
    (void)state;
    for_all_graphs(check_twice);
}

// ---- both engines
// ----------------------------------------------------------------------------------

#ifdef NPUSIM_HAVE_SIMGRID

typedef struct answer { // of the child; the rows follow
    npu_status status;
    npu_error err;
    double makespan;
    int row_count;
} answer;

static void write_all(int fd, const void *data, size_t size) {
    for (const char *at = data; size > 0;) {
        ssize_t done = write(fd, at, size);
        if (done <= 0)
            _exit(2);
        at += done;
        size -= (size_t)done;
    }
}

static void read_all(int fd, void *data, size_t size) {
    for (char *at = data; size > 0;) {
        ssize_t done = read(fd, at, size);
        if (done <= 0)
            fail_msg("the child ended without an answer");
        at += done;
        size -= (size_t)done;
    }
}

// SimGrid runs once per process.
static pid_t begin_child(const graph_file *file, const variant *v, int *from) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        npu_sim_result result;
        answer a = {0};
        close(ends[0]);
        a.status = simulate(file, v, NPU_ENGINE_SIMGRID, &result, &a.err);
        a.makespan = result.trace.makespan;
        a.row_count = result.trace.row_count;
        write_all(ends[1], &a, sizeof a);
        write_all(ends[1], result.trace.rows, (size_t)a.row_count * sizeof *result.trace.rows);
        _exit(0);
    }
    close(ends[1]);
    *from = ends[0];
    return child;
}

// The order of rows that start together may depend on rounding.
static int by_token(const void *a, const void *b) {
    const npu_row *x = a, *y = b;
    if (x->core != y->core)
        return x->core - y->core;
    return (x->reg_task_id > y->reg_task_id) - (x->reg_task_id < y->reg_task_id);
}

static bool near(double a, double b) {
    return fabs(a - b) <= 1e-6 * fabs(a);
}

static void compare_rows(const char *name, npu_row *fluid, npu_row *simgrid, int count) {
    if (fluid == NULL) {
        fail_msg("%s has no rows", name);
        return;
    }
    qsort(fluid, (size_t)count, sizeof *fluid, by_token);
    qsort(simgrid, (size_t)count, sizeof *simgrid, by_token);
    for (int i = 0; i < count; i++) {
        const npu_row *x = &fluid[i], *y = &simgrid[i];
        if (x->core != y->core || x->task != y->task || x->block != y->block ||
            !near(x->dispatch, y->dispatch) || !near(x->receive, y->receive) ||
            !near(x->start, y->start) || !near(x->end, y->end) || !near(x->finish, y->finish))
            fail_msg("%s, core %d, token %u: task %d block %d at %.9g - %.9g on fluid, task %d "
                     "block %d at %.9g - %.9g on simgrid",
                     name, x->core, (unsigned)x->reg_task_id, x->task, (int)x->block, x->start,
                     x->end, y->task, (int)y->block, y->start, y->end);
    }
}

static void check_engines(const graph_file *file, const variant *v) {
    npu_sim_result here;
    answer there;
    int from, status = 0;
    pid_t child = begin_child(file, v, &from);
    simulate_here(file, v, &here);
    read_all(from, &there, sizeof there);
    assert_string_equal(there.err.text, "");
    assert_int_equal(there.status, NPU_OK);
    if (!near(here.trace.makespan, there.makespan))
        fail_msg("%s: %.9g ns on fluid, %.9g on simgrid", file->name, here.trace.makespan,
                 there.makespan);
    assert_int_equal(here.trace.row_count, there.row_count);
    npu_row *rows = calloc((size_t)there.row_count + 1, sizeof *rows);
    assert_non_null(rows);
    read_all(from, rows, (size_t)there.row_count * sizeof *rows);
    close(from);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    if (here.trace.rows != NULL) // or no task has blocks
        compare_rows(file->name, here.trace.rows, rows, there.row_count);
    free(rows);
    npu_sim_result_free(&here);
}

static void both_engines_give_the_same_times(void **state) {
    (void)state;
    for_all_graphs(check_engines);
}

#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_gives_the_same_bits_twice),
#ifdef NPUSIM_HAVE_SIMGRID
        cmocka_unit_test(both_engines_give_the_same_times),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
