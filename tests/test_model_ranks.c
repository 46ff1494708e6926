// SPDX-License-Identifier: Apache-2.0
// Graphs of several dies: one file, read once per rank.
#include "test_model.h"

#define TASKS "tasks: [{ dummy: d }]\n"

static npu_status load_rank(fixture *f, int rank) {
    npu_graph_options options = {".", NULL, 0, rank};
    npu_graph_free(&f->graph);
    f->err.text[0] = '\0';
    return npu_graph_load("g.yaml", &options, &f->graph, NULL, &f->err);
}

static void a_graph_without_ranks_is_rank_0_of_1(void **state) {
    const npu_graph *graph = loads(*state, TASKS);
    assert_int_equal(graph->rank, 0);
    assert_int_equal(graph->ranks, 1);
    assert_null(graph->fabric);
}

static void each_rank_reads_the_file_with_its_number(void **state) {
    fixture *f = *state;
    write_file("g.yaml", "params: { EP: 4 }\n"
                         "ranks: EP\n"
                         "fabric: ring\n"
                         "tensors: { x: { shape: [rank + 1, 8], dtype: fp32 } }\n" TASKS);
    for (int rank = 0; rank < 4; rank++) {
        assert_int_equal(load_rank(f, rank), NPU_OK);
        assert_int_equal(f->graph.rank, rank);
        assert_int_equal(f->graph.ranks, 4);
        assert_string_equal(f->graph.fabric, "ring");
        assert_int_equal(tensor_of(&f->graph, "x")->shape[0], rank + 1);
        // The upper bits of an address are the die's.
        assert_int_equal(tensor_of(&f->graph, "x")->address, (int64_t)rank << NPU_RANK_SHIFT);
    }
}

static void a_rank_has_its_skew(void **state) {
    fixture *f = *state;
    write_file("g.yaml", "ranks: 4\nskew: (rank % 2) * 3 us\n" TASKS);
    for (int rank = 0; rank < 4; rank++) {
        assert_int_equal(load_rank(f, rank), NPU_OK);
        assert_true(f->graph.skew == (rank % 2) * 3000);
    }
}

// Without a skew the ranks begin a submission apart.
static void a_step_tells_what_the_host_does(void **state) {
    fixture *f = *state;
    const npu_graph *graph =
        loads(f, "params: { rows: 4 }\nstep: { to_device: rows * 1024 }\n" TASKS);
    assert_true(graph->step.given && graph->step.submissions == 1 && graph->step.submit == 0);
    assert_int_equal(graph->step.to_device, 4096);
    write_file("g.yaml", "ranks: 3\nstep: { submissions: 2, submit: 120us, metadata: 5us, "
                         "from_device: 7 }\n" TASKS);
    assert_int_equal(load_rank(f, 2), NPU_OK);
    assert_int_equal(f->graph.step.submissions, 2);
    assert_true(f->graph.step.submit == 120000 && f->graph.step.metadata == 5000);
    assert_int_equal(f->graph.step.from_device, 7);
    assert_true(f->graph.skew == 240000);
    refuses(f, "step: { submit: 3 }\n" TASKS,
            "g.yaml:1:17: submit must end in ns, us or ms (for example rank * 3us), not '3'");
    refuses(f, "step: { submissions: 0 }\n" TASKS,
            "g.yaml:1:22: submissions must be at least 1, not 0");
    refuses(f, "step: { to_device: -1 }\n" TASKS,
            "g.yaml:1:20: to_device must be at least 0, not -1");
    refuses(f, "step: { submit_time: 3us }\n" TASKS,
            "g.yaml:1:9: unknown key 'submit_time' in step");
    refuses(f, "step: 3us\n" TASKS, "g.yaml:1:7: step must be a map");
}

static void an_included_file_knows_the_rank_too(void **state) {
    fixture *f = *state;
    write_file("a.yaml", "tensors: { y: { shape: [rank + 2], dtype: int8 } }\n" TASKS);
    write_file("g.yaml", "ranks: 2\ntasks: [{ include: a.yaml }]\n");
    assert_int_equal(load_rank(f, 1), NPU_OK);
    assert_int_equal(tensor_of(&f->graph, "y")->shape[0], 3);
}

// x begins at 512 of its die; element [r, i, j] of `all` is x[i, j] on rank r.
static void on_ranks_puts_the_rank_in_front(void **state) {
    fixture *f = *state;
    write_file("g.yaml", "ranks: 3\n"
                         "tensors:\n"
                         "  before: { shape: [1], dtype: int8 }\n"
                         "  x: { shape: [4, 8], dtype: bf16, class: cache }\n"
                         "  all: { on_ranks: x }\n" TASKS);
    assert_int_equal(load_rank(f, 2), NPU_OK);
    const npu_tensor *x = tensor_of(&f->graph, "x"), *all = tensor_of(&f->graph, "all");
    assert_int_equal(x->address, ((int64_t)2 << NPU_RANK_SHIFT) + 512);
    assert_int_equal(all->address, 512);
    assert_int_equal(all->rank, 3);
    assert_int_equal(all->shape[0], 3);
    assert_int_equal(all->shape[1], 4);
    assert_int_equal(all->shape[2], 8);
    assert_int_equal(all->stride[0] * 2, (int64_t)1 << NPU_RANK_SHIFT);
    assert_int_equal(all->stride[1], 8);
    assert_int_equal(all->class_, NPU_CACHE);
    assert_true(all->external);
    assert_int_equal(all->on_ranks, x - f->graph.tensors);
    assert_int_equal(x->on_ranks, -1);
}

static void wrong_ranks_are_refused(void **state) {
    fixture *f = *state;
    refuses(f, "ranks: 0\n" TASKS, "g.yaml:1:8: ranks must be 1 to 64, not 0");
    refuses(f, "ranks: 65\n" TASKS, "g.yaml:1:8: ranks must be 1 to 64, not 65");
    refuses(f, "ranks: EP\n" TASKS, "g.yaml:1:8: unknown name 'EP'");
    refuses(f, "ranks: 2\nfabric: [a]\n" TASKS, "g.yaml:2:9: fabric must be a single value");
    refuses(f, "tensors: { x: { shape: [rank], dtype: int8 } }\n" TASKS,
            "g.yaml:1:25: unknown name 'rank'");
    refuses(f, "full: 1\n" TASKS, "g.yaml:1:7: the graph has no `ranks`");
    refuses(f, "ranks: 2\nfull: 3\n" TASKS, "g.yaml:2:7: full must be 1 to 2, not 3");
    refuses(f, "skew: 3us\n" TASKS, "g.yaml:1:7: the graph has no `ranks`");
    refuses(f, "ranks: 2\nskew: 3\n" TASKS,
            "g.yaml:2:7: skew must end in ns, us or ms (for example rank * 3us), not '3'");
    refuses(f, "ranks: 2\nskew: rank - 1us\n" TASKS,
            "g.yaml:2:7: skew is 0 to 1000000000us, not -1");
    write_file("g.yaml", "ranks: 1 + (rank == 0)\n" TASKS);
    assert_int_equal(load_rank(f, 1), NPU_BAD_INPUT);
    assert_string_equal(f->err.text, "g.yaml:1:8: there is no rank 1: `ranks` depends on the rank");
}

#define X "tensors:\n  x: { shape: [4, 8], dtype: fp32 }\n"

static void on_ranks_takes_a_whole_tensor_of_a_graph_with_ranks(void **state) {
    fixture *f = *state;
    refuses(f, X "  all: { on_ranks: x }\n" TASKS, "g.yaml:3:20: the graph has no `ranks`");
    refuses(f, "ranks: 2\n" X "  all: { on_ranks: y }\n" TASKS, "g.yaml:4:20: unknown tensor 'y'");
    refuses(f, "ranks: 2\n" X "  all: { on_ranks: \"x[0 : 2, :]\" }\n" TASKS,
            "g.yaml:4:21: on_ranks takes a whole tensor that is no view, not 'x[0 : 2, :]'");
    refuses(f, "ranks: 2\n" X "  v: { view: x }\n  all: { on_ranks: v }\n" TASKS,
            "g.yaml:5:20: on_ranks takes a whole tensor that is no view, not 'v'");
    refuses(f, "ranks: 2\n" X "  a: { on_ranks: x }\n  all: { on_ranks: a }\n" TASKS,
            "g.yaml:5:20: on_ranks takes a whole tensor that is no view, not 'a'");
    refuses(f, "ranks: 2\n" X "  all: { on_ranks: x, dtype: int8 }\n" TASKS,
            "g.yaml:4:23: unknown key 'dtype' in a tensor on all ranks");
    refuses(f,
            "ranks: 2\ntensors:\n  x: { shape: [1, 1, 1, 1, 2], dtype: int8 }\n"
            "  all: { on_ranks: x }\n" TASKS,
            "g.yaml:4:20: 'x' has 5 dimensions, and the rank would be one more than possible");
}

// What others reach must lie alike everywhere; what they do not may differ.
static void shared_tensors_lie_alike_on_all_ranks(void **state) {
    fixture *f = *state;
    npu_graph graphs[2] = {{0}, {0}};
    static const char *const texts[] = {
        "ranks: 2\ntensors:\n  x: { shape: [4], dtype: int8 }\n  all: { on_ranks: x }\n"
        "  own: { shape: [rank + 1], dtype: int8 }\n" TASKS,
        "ranks: 2\ntensors:\n  own: { shape: [1 + 999 * rank], dtype: int8 }\n"
        "  x: { shape: [4], dtype: int8 }\n  all: { on_ranks: x }\n" TASKS,
    };
    for (int i = 0; i < 2; i++) {
        write_file("g.yaml", texts[i]);
        f->err.text[0] = '\0';
        for (int rank = 0; rank < 2; rank++) {
            npu_graph_options options = {".", NULL, 0, rank};
            assert_int_equal(npu_graph_load("g.yaml", &options, &graphs[rank], NULL, &f->err),
                             NPU_OK);
        }
        assert_int_equal(npu_graph_check_ranks(graphs, 2, &f->err),
                         i == 0 ? NPU_OK : NPU_BAD_INPUT);
        npu_graph_free(&graphs[0]);
        npu_graph_free(&graphs[1]);
    }
    assert_string_equal(f->err.text,
                        "g.yaml:5:3: 'x' of rank 0 is not the same on rank 1; a tensor that others "
                        "reach must be declared alike on all ranks, with the same ones before it");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_graph_without_ranks_is_rank_0_of_1),
        TEST(each_rank_reads_the_file_with_its_number),
        TEST(a_rank_has_its_skew),
        TEST(a_step_tells_what_the_host_does),
        TEST(an_included_file_knows_the_rank_too),
        TEST(on_ranks_puts_the_rank_in_front),
        TEST(wrong_ranks_are_refused),
        TEST(on_ranks_takes_a_whole_tensor_of_a_graph_with_ranks),
        TEST(shared_tensors_lie_alike_on_all_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
