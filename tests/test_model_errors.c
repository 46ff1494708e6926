// SPDX-License-Identifier: Apache-2.0
// Wrong graphs and the one line that each gets.
#include "test_model.h"

#define X "tensors: { x: { shape: [16, 8], dtype: fp32, external: true } }\n"
#define D "tasks: [{ dummy: d }]\n"

static const struct {
    const char *graph;
    const char *message;
} rows[] = {
    {"", "g.yaml: the file is empty"},
    {"- a\n", "g.yaml:1:1: a graph must be a map"},
    {"tasks: [{ dummy: d }]\n"
     "tensor: {}\n",
     "g.yaml:2:1: unknown key 'tensor' in a graph; did you mean 'tensors'?"},
    {"params: { a: 1 }\n", "g.yaml: the graph has no tasks"},
    {"tasks: []\n", "g.yaml: the graph has no tasks"},
    {"tasks: { a: 1 }\n", "g.yaml:1:8: tasks must be a list"},
    {"graph: [a]\n" D, "g.yaml:1:8: graph must be a single value"},
    {"params: [a]\n" D, "g.yaml:1:9: params must be a map"},
    {"params: { a: b, b: 1 }\n" D, "g.yaml:1:14: unknown name 'b'"},
    {"params: { 1a: 1 }\n" D, "g.yaml:1:11: '1a' is no name; a name is letters, digits and _"},
    {"params: { a: [1] }\n" D, "g.yaml:1:14: a parameter must be a single value"},
    {"params: { a: 7 / 2 }\n" D, "g.yaml:1:16: 7 / 2 leaves a rest; use // or ceil()"},
    {"params: { T: required }\n" D, "g.yaml:1:11: the parameter 'T' must be given: --set T=.."},
    {"params: { T: pad(3, 16) }\n" D,
     "g.yaml:1:14: put the expression in quotes: a comma ends a value inside { }"},
    {"require: [{ that: 1 == 2, else: \"one is not two\" }]\n" D, "g.yaml:1:19: one is not two"},
    {"require: [{ that: 1 }]\n" D, "g.yaml:1:11: a requirement needs the key 'else'"},
    {"require: { that: 1 }\n" D, "g.yaml:1:10: require must be a list"},
    {"require: [{ than: 1, else: a }]\n" D,
     "g.yaml:1:13: unknown key 'than' in a requirement; did you mean 'that'?"},
    {"tensors: { x: { shape: [8] } }\n" D, "g.yaml:1:15: the tensor 'x' needs the key 'dtype'"},
    {"tensors: { x: { dtype: int8 } }\n" D, "g.yaml:1:15: the tensor 'x' needs the key 'shape'"},
    {"tensors: { x: { shape: [8], dtype: int9 } }\n" D,
     "g.yaml:1:36: unknown dtype 'int9'; did you mean 'int8'?"},
    {"tensors: { x: { shape: [8], dtype: int8, clas: weight } }\n" D,
     "g.yaml:1:42: unknown key 'clas' in the tensor 'x'; did you mean 'class'?"},
    {"tensors: { x: { shape: [8], dtype: int8, class: weights } }\n" D,
     "g.yaml:1:49: class must be activation, weight, cache or handoff, not 'weights'"},
    {"tensors: { x: { shape: [8], dtype: int8, layout: column } }\n" D,
     "g.yaml:1:50: layout must be row or col, not 'column'"},
    {"tensors: { x: { shape: [8], dtype: int8, l2: hot } }\n" D,
     "g.yaml:1:46: l2 must be cold or warm, not 'hot'"},
    {"tensors: { x: { shape: [8], dtype: int8, init: one } }\n" D,
     "g.yaml:1:48: init must be zero, not 'one'"},
    {"tensors: { x: { shape: [8], dtype: int8, init: zero, external: false } }\n" D,
     "g.yaml:1:48: the host fills 'x' before the run, so it is external"},
    {"tensors: { x: { shape: [], dtype: int8 } }\n" D,
     "g.yaml:1:24: the tensor 'x' has 0 dimensions; 1 to 5 are possible"},
    {"tensors: { x: { shape: [1, 1, 1, 1, 1, 1], dtype: int8 } }\n" D,
     "g.yaml:1:24: the tensor 'x' has 6 dimensions; 1 to 5 are possible"},
    {"tensors: { x: { shape: [8, 0], dtype: int8 } }\n" D,
     "g.yaml:1:28: dimension 1 of 'x' is 0; it must be at least 1"},
    {"tensors: { x: { shape: [8, 2 - 4], dtype: int8 } }\n" D,
     "g.yaml:1:28: dimension 1 of 'x' is -2; it must be at least 1"},
    {"tensors: { x: { shape: 8, dtype: int8 } }\n" D, "g.yaml:1:24: shape must be a list"},
    {"tensors: { x: { shape: [1 * 4294967296, 4294967296, 2], dtype: int8 } }\n" D,
     "g.yaml:1:12: the tensor 'x' is over 64 TiB"},
    {"tensors: { x: { shape: [40000GiB], dtype: int8 }, y: { shape: [40000GiB], dtype: int8 } "
     "}\n" D,
     "g.yaml:1:51: with 'y' the tensors take over 64 TiB"},
    {"tensors: { \"x.y\": { shape: [8], dtype: int8 } }\n" D,
     "g.yaml:1:13: 'x.y' is no new name; it may be x, x[i] or x[i, j]"},
    {"tensors: { \"x[1][2]\": { shape: [8], dtype: int8 } }\n" D,
     "g.yaml:1:13: 'x[1][2]' is no new name; it may be x, x[i] or x[i, j]"},
    {"tensors: { x y: { shape: [8], dtype: int8 } }\n" D,
     "g.yaml:1:14: 'x y' is no name like x, x[i] or part.x"},
    {"tensors: [{ tensor: x, shape: [8], dtype: int8 }, { tensor: x, shape: [8], dtype: int8 "
     "}]\n" D,
     "g.yaml:1:61: there is already a tensor 'x'"},
    {"tensors: [{ tensor: x, shape: [8], dtype: int8 }, { tensor: \"x[0]\", shape: [8], dtype: "
     "int8 }]\n" D,
     "g.yaml:1:62: there is already a tensor 'x' with another number of indices"},
    {"tensors: [{ shape: [8], dtype: int8 }]\n" D, "g.yaml:1:11: a tensor needs the key 'tensor'"},
    {"tensors: { x: { tensor: x, shape: [8], dtype: int8 } }\n" D,
     "g.yaml:1:25: 'tensor' is for lists; here the name stands in front"},
    {"tensors: { x: [8] }\n" D, "g.yaml:1:15: a tensor must be a map"},
    {"tensors: { x: { shape: [8, 8], dtype: int8 }, v: { view: y } }\n" D,
     "g.yaml:1:58: unknown tensor 'y'"},
    {"tensors: { x: { shape: [8, 8], dtype: int8 }, v: { view: x, dtype: int8 } }\n" D,
     "g.yaml:1:61: 'dtype' cannot be given for the view 'v'; what it is a view of has it"},
    {"tensors: { x: { shape: [8, 8], dtype: int8 }, v: { view: { of: x, offset: [1, 1] } } }\n" D,
     "g.yaml:1:75: an offset needs a shape with it"},
    {"tensors: { x: { shape: [8, 8], dtype: int8 }, v: { view: { of: x, offset: [1], shape: [2, 2] "
     "} } }\n" D,
     "g.yaml:1:75: offset and shape differ in length"},
    {"tensors: { x: { shape: [8, 8], dtype: int8 }, v: { view: { of: x, offset: [1, 7], shape: [2, "
     "2] } } }\n" D,
     "g.yaml:1:79: x[1 : 2, 7 : 2] ends at 9, but dimension 1 of 'x' has 8"},
    {"tensors: { x: { shape: [8, 8], dtype: int8 }, v: { view: { of: x, reshape: [9, 9] } } }\n" D,
     "g.yaml:1:76: 64 elements cannot be reshaped to 81"},
    {"tensors: { x: { shape: [8, 8], dtype: int8 }, v: { view: { of: \"x[:, 0 : 4]\", reshape: "
     "[32] } } }\n" D,
     "g.yaml:1:88: only rows without gaps can be reshaped"},
    {"tensors: { x: { shape: [8], dtype: int8 }, v: { view: { of: x, transpose: true } } }\n" D,
     "g.yaml:1:75: a window with one dimension has no transpose"},
    {"tensors: { x: { shape: [8], dtype: int8 }, v: { view: { off: x } } }\n" D,
     "g.yaml:1:57: unknown key 'off' in a view; did you mean 'of'?"},
    {"tensors: { x: { shape: [8], dtype: int8 }, v: { view: { shape: [1] } } }\n" D,
     "g.yaml:1:55: a view needs the key 'of'"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: \"x[12 : 8, :]\" }]\n",
     "g.yaml:10:40: x[12 : 8, :] ends at 20, but dimension 0 of 'x' has 16"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: \"x[0 : 8, -1 : 8]\" }]\n",
     "g.yaml:10:47: x[0 : 8, -1 : 8] starts at -1 in dimension 1"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: \"x[16, :]\" }]\n",
     "g.yaml:10:40: x[16, :] is at 16, but dimension 0 of 'x' has 16"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: \"x[-1, :]\" }]\n",
     "g.yaml:10:40: x[-1, :] starts at -1 in dimension 0"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: \"x[0 : 0, :]\" }]\n",
     "g.yaml:10:40: x[0 : 0, :] has length 0 in dimension 0"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: \"x[0 : 8]\" }]\n",
     "g.yaml:10:38: x[0 : 8] names 1 dimension, but 'x' has 2"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: \"x[1, 2]\" }]\n",
     "g.yaml:10:38: x[1, 2] has no dimension left; write i : 1 to keep one"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: \"x[1 : 2, :\" }]\n",
     "g.yaml:10:39: 'x[1 : 2, :' lacks a ']'"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: \"x[1 : 2, :] + 1\" }]\n",
     "g.yaml:10:50: 'x[1 : 2, :] + 1' is no name like x, x[i] or part.x"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: \"x[1 : 2, :][1][2]\" }]\n",
     "g.yaml:10:52: 'x[1 : 2, :][1][2]' has too many brackets"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: \"x[, 1]\" }]\n",
     "g.yaml:10:40: [, 1] has an empty part"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: \"x[1, 2, 3, 4, 5, 6]\" }]\n",
     "g.yaml:10:40: [1, 2, 3, 4, 5, 6] has more than 5 parts"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: \"x[n : 2, :]\" }]\n",
     "g.yaml:10:40: unknown name 'n'"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: \"x[0 : 8, :][0]\" }]\n",
     "g.yaml:10:38: 'x[0 : 8, :][0]' has too many brackets"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: \"y\" }]\n",
     "g.yaml:10:38: unknown tensor 'y'"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: \"\" }]\n",
     "g.yaml:10:38: '' is no name like x, x[i] or part.x"},
    {KERNELS "tensors: [{ tensor: \"ww[0]\", shape: [8], dtype: int8 }]\n"
             "tasks: [{ task: t, kernel: read, x: ww }]\n",
     "g.yaml:10:37: the tensor 'ww' needs an index: ww[..]"},
    {KERNELS "tensors: [{ tensor: \"ww[0]\", shape: [8], dtype: int8 }]\n"
             "tasks: [{ task: t, kernel: read, x: \"ww[1]\" }]\n",
     "g.yaml:10:38: there is no tensor 'ww[1]'"},
    {KERNELS X "tasks: [{ task: t, kernel: raed, x: x }]\n",
     "g.yaml:10:28: unknown kernel 'raed'; did you mean 'read'?"},
    {KERNELS X "tasks: [{ task: t, kernel: ../read, x: x }]\n",
     "g.yaml:10:28: unknown kernel '../read'"},
    {KERNELS X "tasks: [{ task: t, x: x }]\n", "g.yaml:10:9: task 't' needs the key 'kernel'"},
    {KERNELS X "tasks: [{ task: t, kernel: use, x: x }]\n",
     "g.yaml:10:9: task 't': kernel 'use' needs the argument 'y'"},
    {KERNELS X "tasks: [{ task: t, kernel: use, x: x, y: x, z: x }]\n",
     "g.yaml:10:45: unknown key 'z' in task 't'"},
    {KERNELS X "tasks: [{ task: t, kernel: use, x: x, y: x, gird: { a: 1 } }]\n",
     "g.yaml:10:45: unknown key 'gird' in task 't'; did you mean 'grid'?"},
    {KERNELS X "tasks: [{ task: t, kernel: use, x: x, y: [x] }]\n",
     "g.yaml:10:42: an argument must be a single value"},
    {KERNELS X "tasks: [{ task: t, kernel: use, x: x, args: { z: x } }]\n",
     "g.yaml:10:47: unknown key 'z' in args"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: { tensor: x, access: inn } }]\n",
     "g.yaml:10:58: access must be in, out, inout, out_existing or no_dep, not 'inn'"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: { tensor: x, access: out } }]\n",
     "g.yaml:10:58: task 't': the kernel uses 'x' as in, so it cannot be given as out"},
    {KERNELS X "tasks: [{ task: t, kernel: put, y: { tensor: x, access: in } }]\n",
     "g.yaml:10:57: task 't': the kernel uses 'y' as out_existing, so it cannot be given as in"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: { tensr: x } }]\n",
     "g.yaml:10:39: unknown key 'tensr' in an argument; did you mean 'tensor'?"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: x, engine: aic }]\n",
     "g.yaml:10:48: task 't': kernel 'read' runs on aiv, not aic"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: x, engine: dummy }]\n",
     "g.yaml:10:48: engine must be aic, aiv or mix, not 'dummy'"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: x, edges: none }]\n",
     "g.yaml:10:47: edges must be auto or manual, not 'none'"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: x, early: yes }]\n",
     "g.yaml:10:47: early must be true, false or an expression, not 'yes'; did you mean 'true'?"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: x, grid: { a: 0 } }]\n",
     "g.yaml:10:48: the grid axis 'a' is 0; it must be at least 1"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: x, grid: { a: 65536, b: 65536 } }]\n",
     "g.yaml:10:46: the grid has more than 2^31 blocks"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: x, grid: { a: pad(3, 4) } }]\n",
     "g.yaml:10:51: put the expression in quotes: a comma ends a value inside { }"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: x, with: { p: 1 } }]\n",
     "g.yaml:10:48: kernel 'read' has no param 'p'"},
    {KERNELS X "tasks: [{ task: t, kernel: read, x: x, tile: 8 }]\n",
     "g.yaml:10:46: tile must be a map"},
    {KERNELS X
     "tasks: [{ task: \"t[0]\", kernel: read, x: x }, { task: \"t[1]\", kernel: add, y: x }]\n",
     "g.yaml:10:47: 't[1]' runs on aic, but an earlier task called 't' does not"},
    {"tasks: [{ dummy: d }, { dummy: d }]\n", "g.yaml:1:23: there is already a task 'd'"},
    {"tasks: [{ dummy: d }, { dummy: \"d[1]\" }]\n",
     "g.yaml:1:23: there is already a task 'd' with another number of indices"},
    {"tasks: [{ dummy: \"d[1]\" }, { dummy: \"d[1, 2]\" }]\n",
     "g.yaml:1:28: there is already a task 'd' with another number of indices"},
    {"tasks: [{ dumy: d }]\n", "g.yaml:1:9: an item of tasks is one of task, dummy, for, if, "
                               "include, scope, read_back; did you mean 'dummy'?"},
    {"tasks: [{ name: d }]\n",
     "g.yaml:1:9: an item of tasks is one of task, dummy, for, if, include, scope, read_back"},
    {"tasks: [d]\n", "g.yaml:1:9: a task must be a map"},
    {"tasks: [{ dummy: d, engine: aiv }]\n", "g.yaml:1:21: unknown key 'engine' in a dummy task"},
    {"tasks: [{ dummy: \"d[k]\" }]\n", "g.yaml:1:21: unknown name 'k'"},
    {"tasks: [{ for: g in 0, do: [] }]\n",
     "g.yaml:1:16: a loop is written 'g in 0..8', not 'g in 0'"},
    {"tasks: [{ for: 0..8, do: [] }]\n", "g.yaml:1:16: a loop is written 'g in 0..8', not '0..8'"},
    {"tasks: [{ for: g in 0..8 }]\n", "g.yaml:1:9: a loop needs the key 'do'"},
    {"tasks: [{ for: g in 0..8, do: { dummy: d } }]\n", "g.yaml:1:31: do must be a list"},
    {"tasks: [{ for: g in 0..n, do: [] }]\n", "g.yaml:1:24: unknown name 'n'"},
    {"tasks: [{ for: g in 0..2, od: [] }]\n",
     "g.yaml:1:27: unknown key 'od' in a loop; did you mean 'do'?"},
    {"params: { g: 1 }\n"
     "tasks: [{ for: g in 0..2, do: [] }]\n",
     "g.yaml:2:16: the name 'g' is already in use"},
    {"tasks: [{ for: g in 0..1 * 10000000, do: [] }]\n",
     "g.yaml:1:9: loops and includes make more than 1000000 items"},
    {"tasks: [{ if: a, do: [] }]\n",
     "g.yaml:1:15: if must be true, false or an expression, not 'a'"},
    {"tasks: [{ if: 1, do: [], elsewhere: [] }]\n",
     "g.yaml:1:26: unknown key 'elsewhere' in a condition"},
    {"tasks: [{ scope: manually, do: [] }]\n",
     "g.yaml:1:18: scope must be auto or manual, not 'manually'"},
    {"tasks: [{ scope: manual }]\n", "g.yaml:1:9: a scope needs the key 'do'"},
    {"tasks: [{ dummy: merge_norm }, { dummy: b, after: merge_nrom }]\n",
     "g.yaml:1:51: unknown task 'merge_nrom' in after; did you mean 'merge_norm'?"},
    {"tasks: [{ dummy: b, after: [b] }]\n", "g.yaml:1:29: task 'b' cannot come after itself"},
    {"tasks: [{ dummy: a, after: b }, { dummy: b }]\n",
     "g.yaml:1:28: task 'a' cannot come after 'b', which is submitted later"},
    {"tasks: [{ dummy: a, after: c }, { dummy: b, after: a }, { dummy: c, after: b }]\n",
     "g.yaml:1:28: task 'a' cannot come after 'c', which waits for it: a cycle a -> b -> c -> a"},
    {"tasks: [{ dummy: \"s[0]\" }, { dummy: \"s[1]\", after: s }]\n",
     "g.yaml:1:52: task 's[1]' cannot come after itself"},
    {"tasks: [{ dummy: a, after: { b: c } }]\n", "g.yaml:1:28: after must be a single value"},
    {"tasks: [{ dummy: \"a[0]\" }, { dummy: b, after: \"a[1]\" }]\n",
     "g.yaml:1:48: unknown task 'a[1]' in after"},
    {"tasks: [{ dummy: a, after: \"b[1][2]\" }]\n", "g.yaml:1:29: 'b[1][2]' has too many brackets"},
    {"tasks: [{ include: g.yaml }]\n", "g.yaml:1:20: a file includes itself: g.yaml -> g.yaml"},
    {"kernels: [a]\n" D, "g.yaml:1:10: kernels must be a map"},
    {"kernels: { k: { engine: aiv, arg: { x: in }, program: [] } }\n" D,
     "g.yaml:1:30: unknown key 'arg' in a kernel; did you mean 'args'?"},
};

static const struct {
    const char *graph;
    const char *message;
    const char *a, *b; // a.yaml and b.yaml, which may be NULL
} included[] = {
    {"tasks: [{ include: a.yaml }]\n",
     "b.yaml:1:20: a file includes itself: a.yaml -> b.yaml -> a.yaml",
     "tasks: [{ include: b.yaml }]\n", "tasks: [{ include: a.yaml }]\n"},
    {"tasks: [{ include: a.yaml, with: { rosw: 1 } }]\n",
     "g.yaml:1:36: 'a.yaml' has no parameter 'rosw'; did you mean 'rows'?",
     "params: { rows: 1 }\n" D, NULL},
    {"tasks: [{ include: a.yaml }]\n", "g.yaml:1:20: 'a.yaml' needs the parameter 'm' in `with:`",
     "params: { m: required }\n" D, NULL},
    {"tasks: [{ include: a.yaml, wiht: { n: 1 } }]\n",
     "g.yaml:1:28: unknown key 'wiht' in an include; did you mean 'with'?", "params: { m: 1 }\n" D,
     NULL},
    {"tasks: [{ include: a.yaml, as: 1x }]\n",
     "g.yaml:1:32: '1x' is no name like x, x[i] or part.x", D, NULL},
    {"tasks: [{ include: a.yaml }, { include: a.yaml }]\n",
     "a.yaml:1:9: there is already a task 'd'", D, NULL},
    {"tensors: { h: { shape: [8], dtype: int8 } }\n"
     "tasks: [{ include: a.yaml, tensors: { wieght: h }, as: p }]\n",
     "g.yaml:2:39: 'a.yaml' has no tensor 'wieght'; did you mean 'weight'?",
     "tensors: { weight: { shape: [8], dtype: int8 } }\n" D, NULL},
    {"tensors: { h: { shape: [8], dtype: int8 } }\n"
     "tasks: [{ include: a.yaml, tensors: { x: h }, as: p }]\n",
     "g.yaml:2:39: 'x' of 'a.yaml' is bf16 [8, 2], but 'h' is int8 [8]",
     "tensors: { x: { shape: [8, 2], dtype: bf16 } }\n" D, NULL},
    {"tensors: { h: { shape: [8], dtype: int8 } }\n"
     "tasks: [{ include: a.yaml, tensors: { v: h }, as: p }]\n",
     "g.yaml:2:39: 'v' is a view and cannot be given from outside",
     "tensors: { x: { shape: [8], dtype: int8 }, v: { view: x } }\n" D, NULL},
    {"tensors: { h: { shape: [8], dtype: int8 } }\n"
     "tasks: [{ include: a.yaml, tensors: { x: g } }]\n",
     "g.yaml:2:42: unknown tensor 'g'", "tensors: { x: { shape: [8], dtype: int8 } }\n" D, NULL},
};

static void wrong_graphs_get_their_line(void **state) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        refuses(*state, rows[i].graph, rows[i].message);
}

static void wrong_includes_get_their_line(void **state) {
    for (size_t i = 0; i < sizeof included / sizeof *included; i++) {
        write_file("a.yaml", included[i].a);
        if (included[i].b != NULL)
            write_file("b.yaml", included[i].b);
        refuses(*state, included[i].graph, included[i].message);
    }
}

static void refuses_sets(fixture *f, const char *first, const char *second, const char *message) {
    const char *sets[] = {first, second};
    assert_int_equal(load_sets(f, sets, second != NULL ? 2 : 1), NPU_BAD_INPUT);
    assert_string_equal(f->err.text, message);
}

static void wrong_settings_get_their_line(void **state) {
    fixture *f = *state;
    write_file("g.yaml", "params: { tn: 8, tk: 4 }\n" D);
    refuses_sets(f, "tnn=4", NULL,
                 "--set tnn=4: 'g.yaml' has no parameter 'tnn'; did you mean 'tn'?");
    refuses_sets(f, "tn", NULL, "--set tn: a setting is written name=value");
    refuses_sets(f, "=4", NULL, "--set =4: a setting is written name=value");
    refuses_sets(f, "tn=", NULL, "--set tn=: a setting is written name=value");
    refuses_sets(f, "tn=4", "tn=5", "--set tn=5: 'tn' is set twice");
    refuses_sets(f, "tn=tk", NULL, "--set tn=tk: unknown name 'tk'");
    refuses_sets(f, "tn=5 / 2", NULL, "--set tn=5 / 2: 5 / 2 leaves a rest; use // or ceil()");
    write_file("a.yaml", "params: { rows: 8 }\n" D);
    write_file("g.yaml", "params: { tn: 8 }\ntasks: [{ include: a.yaml, with: { rows: tn } }]\n");
    refuses_sets(f, "rosw=4", NULL,
                 "--set rosw=4: 'g.yaml' has no parameter 'rosw'; did you mean 'rows'?");
    refuses_sets(f, "rows=4", NULL,
                 "--set rows=4: 'g.yaml' has no parameter 'rows', and gives it to every file that "
                 "it includes");
}

static void a_file_that_is_not_there_is_named(void **state) {
    fixture *f = *state;
    assert_int_equal(load(f, "tasks: [{ include: none.yaml }]\n"), NPU_IO);
    assert_string_equal(f->err.text,
                        "g.yaml:1:20: cannot read none.yaml: No such file or directory");
    assert_int_equal(load(f, "kernels: { k: none.yaml }\n" D), NPU_IO);
    assert_string_equal(f->err.text,
                        "g.yaml:1:15: cannot read none.yaml: No such file or directory");
    unlink("g.yaml");
    assert_int_equal(load_sets(f, NULL, 0), NPU_IO);
    assert_string_equal(f->err.text, "cannot read g.yaml: No such file or directory");
}

static void includes_end_at_a_depth(void **state) {
    fixture *f = *state;
    char name[32];
    char text[64];
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "d%d.yaml", i);
        snprintf(text, sizeof text, "tasks: [{ include: d%d.yaml }]\n", i + 1);
        write_file(name, text);
    }
    npu_status status = load(f, "tasks: [{ include: d0.yaml }]\n");
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "d%d.yaml", i);
        unlink(name);
    }
    assert_int_equal(status, NPU_BAD_INPUT);
    assert_string_equal(f->err.text, "d15.yaml:1:20: includes are nested deeper than 16");
}

static void a_kernel_of_the_folder_is_suggested(void **state) {
    fixture *f = *state;
    write_file("matmul.yaml", "engine: aiv\nargs: { x: in }\nprogram: [{ scalar: { ops: 1 } }]\n");
    refuses(f, X "tasks: [{ task: t, kernel: matmull, x: x }]\n",
            "g.yaml:2:28: unknown kernel 'matmull'; did you mean 'matmul'?");
    unlink("matmul.yaml");
    write_file("k.yaml", "engine: aib\nargs: { x: in }\nprogram: []\n");
    assert_int_equal(load(f, X "tasks: [{ task: t, kernel: k, x: x }]\n"), NPU_BAD_INPUT);
    assert_memory_equal(f->err.text, "./k.yaml:1:9: ", 14);
}

// What a kernel refuses when it is bound points at the graph.
static void a_kernel_refuses_at_the_task(void **state) {
    fixture *f = *state;
    write_file("k.yaml", "engine: aiv\nargs: { x: { access: in, shape: [R, 8] } }\n"
                         "tile: { m: required }\n"
                         "require: [{ that: R % tile.m == 0, else: rows do not divide }]\n"
                         "program: [{ scalar: { ops: 1 } }]\n");
    refuses(f, X "tasks: [{ task: t, kernel: k, x: x, tile: { m: 3 } }]\n",
            "g.yaml:2:9: kernel 'k': rows do not divide");
    load(f, X "tasks: [{ task: t, kernel: k, x: \"x[:, 0 : 4]\", tile: { m: 4 } }]\n");
    assert_memory_equal(f->err.text, "g.yaml:2:35: ", 13);
    load(f, X "tasks: [{ task: t, kernel: k, x: x }]\n");
    assert_memory_equal(f->err.text, "g.yaml:2:9: ", 12);
}

static void a_cycle_may_run_through_memory(void **state) {
    refuses(*state,
            KERNELS X "tasks:\n"
                      "  - { task: a, kernel: put, y: x, after: c }\n"
                      "  - { task: b, kernel: add, y: x }\n"
                      "  - { task: c, kernel: read, x: x }\n",
            "g.yaml:11:42: task 'a' cannot come after 'c', which waits for it: a cycle a -> b -> c "
            "-> a");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(wrong_graphs_get_their_line),   TEST(wrong_includes_get_their_line),
        TEST(wrong_settings_get_their_line), TEST(a_file_that_is_not_there_is_named),
        TEST(includes_end_at_a_depth),       TEST(a_kernel_of_the_folder_is_suggested),
        TEST(a_kernel_refuses_at_the_task),  TEST(a_cycle_may_run_through_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
