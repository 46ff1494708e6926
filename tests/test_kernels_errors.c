// SPDX-License-Identifier: Apache-2.0
// Kernels that are wrong, and the exact sentence about each: found while parsing, while binding
// to a task's arguments, or while a block is streamed.
#include "test_kernels_util.h"

typedef struct bad {
    const char *text;     // of the kernel
    const char *settings; // NULL: it does not even parse
    const char *message;
} bad;

static void check_bad(fixture *f, const bad *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        start_over(f);
        npu_status status = parse_kernel(f, cases[i].text);
        if (cases[i].settings != NULL) {
            assert_string_equal(f->err.text, "");
            status = bind_kernel(f, cases[i].settings);
        }
        for (int64_t block = 0; !status && f->program.block_num > block; block++)
            status = stream_block(f, f->program.engine == NPU_AIC ? NPU_AIC : NPU_AIV, block, 0);
        assert_string_equal(f->err.text, cases[i].message);
        assert_int_equal(status, NPU_BAD_INPUT);
    }
}

#define CHECK_BAD(state, cases) check_bad(*(state), cases, sizeof(cases) / sizeof *(cases))

// Lines 1 to 4 of most kernels here; the program is line 5.
#define AIV                                                                                        \
    "engine: aiv\n"                                                                                \
    "args: { x: { access: in, shape: [R, C] }, y: out }\n"                                         \
    "params: { tile: 16, eps: required }\n"                                                        \
    "slots: { xb: { in: ub, shape: [1, tile], dtype: x, copies: 2 }, ub: { in: ub, bytes: 64 } "   \
    "}\n"
#define AIC                                                                                        \
    "engine: aic\n"                                                                                \
    "args: { a: in, c: out }\n"                                                                    \
    "slots: { a1: { in: l1, shape: [16, 32], dtype: a }, a0: { in: l0a, shape: [16, 16], dtype: "  \
    "a },\n"                                                                                       \
    "  b0: { in: l0b, shape: [16, 16], dtype: a }, c0: { in: l0c, shape: [16, 16], dtype: acc(a) " \
    "} }\n"

static void words_are_known_or_named(void **state) {
    static const bad cases[] = {
        {"[1, 2]", NULL, "k.yaml:1:1: a kernel must be a map"},
        {"engin: aiv\nprogram: []\n", NULL,
         "k.yaml:1:1: unknown key 'engin' in a kernel; did you mean 'engine'?"},
        {"program: []\n", NULL, "k.yaml:1:1: a kernel needs the key 'engine'"},
        {"engine: aiv\n", NULL, "k.yaml:1:1: a kernel needs the key 'program'"},
        {"engine: avi\nprogram: []\n", NULL,
         "k.yaml:1:9: unknown engine 'avi'; did you mean 'aiv'?"},
        {"engine: dummy\nprogram: []\n", NULL,
         "k.yaml:1:9: a dummy has no kernel; write the task as 'dummy: name'"},
        {"engine: aiv\nargs: { x: inn }\nprogram: []\n", NULL,
         "k.yaml:2:12: unknown access 'inn'; did you mean 'in'?"},
        {"engine: aiv\nargs: { x-y: in }\nprogram: []\n", NULL,
         "k.yaml:2:9: an argument must be named by letters, digits and _, not 'x-y'"},
        {"engine: aiv\nargs: { x: { access: in, shape: [1, 2, 3, 4, 5, 6] } }\nprogram: []\n", NULL,
         "k.yaml:2:33: a shape has 1 to 5 dimensions, not 6"},
        {AIV "program: [ laod: { from: \"x[0, 0]\", to: xb } ]\n", NULL,
         "k.yaml:5:12: unknown op 'laod'; did you mean 'load'?"},
        {AIV "program: [ { load: { from: \"x[0, 0]\", to: xb }, wait: { flag: 0, pipe: S } } ]\n",
         NULL, "k.yaml:5:49: one op per list entry: 'wait' stands beside 'load'"},
        {AIV "program: [ load: { from: \"x[0, 0]\" } ]\n", NULL,
         "k.yaml:5:18: load needs the key 'to'"},
        {AIV "program: [ load: { frm: \"x[0, 0]\", to: xb } ]\n", NULL,
         "k.yaml:5:20: unknown key 'frm' in load; did you mean 'from'?"},
        {AIV "program: [ load: { from: \"z[0, 0]\", to: xb } ]\n", NULL,
         "k.yaml:5:27: kernel 'k' has no argument 'z'"},
        {AIV "program: [ load: { from: x, to: xb } ]\n", NULL,
         "k.yaml:5:26: a region is written 'x[start : length, ...]', not 'x'"},
        {AIV "program: [ load: { from: \"x[0][1]\", to: xb } ]\n", NULL,
         "k.yaml:5:31: 'x[0][1]' goes on after its region"},
        {AIV "program: [ load: { from: \"x[0, 1 +]\", to: xb } ]\n", NULL,
         "k.yaml:5:35: expected a number, a name or '(' before the end"},
        {AIV "program: [ load: { from: \"x[0, 0]\", to: xc } ]\n", NULL,
         "k.yaml:5:41: unknown slot 'xc'; did you mean 'xb'?"},
        {AIV "program: [ load: { from: \"x[0, 0]\", to: xb 1 } ]\n", NULL,
         "k.yaml:5:41: unknown slot 'xb 1'"},
        {AIV "program: [ vec: { op: row_sun, in: xb, out: xb } ]\n", NULL,
         "k.yaml:5:23: unknown vec op 'row_sun'; did you mean 'row_sum'?"},
        {AIV "program: [ { loop: i from 0..3, do: [] } ]\n", NULL,
         "k.yaml:5:20: a loop is written 'i in first..end', not 'i from 0..3'"},
    };
    CHECK_BAD(state, cases);
}

static void forms_are_complete(void **state) {
    static const bad cases[] = {
        {"engine: mix\nprogram: []\n", NULL,
         "k.yaml:2:10: the program of a mix kernel must be a map"},
        {"engine: mix\nprogram: { aic: [] }\n", NULL,
         "k.yaml:2:10: the program of a mix kernel needs the key 'aiv'"},
        {"engine: aiv\nslots: { s: { in: ub } }\nprogram: []\n", NULL,
         "k.yaml:2:13: slot 's' needs either a shape with a dtype or bytes"},
        {"engine: aiv\nslots: { s: { in: ub, shape: [8], dtype: fp32 } }\nprogram: []\n", NULL,
         "k.yaml:2:30: the shape of a slot is [rows, columns], not 1 numbers"},
        {"engine: aiv\nslots: { s: { in: ub, shape: [8, 8] } }\nprogram: []\n", NULL,
         "k.yaml:2:13: a slot with a shape needs the key 'dtype'"},
        {"engine: aiv\nslots: { s: { in: l3, bytes: 32 } }\nprogram: []\n", NULL,
         "k.yaml:2:19: unknown buffer 'l3'; did you mean 'l1'?"},
        {AIV "program: [ vec: { op: add, in: [xb, xb, xb, xb, xb], out: xb } ]\n", NULL,
         "k.yaml:5:32: vec reads at most 4 slots, not 5"},
        {AIV "program: [ vec: { op: add, in: xb, out: xb, shape: [1, 2], elements: 2 } ]\n", NULL,
         "k.yaml:5:70: vec takes a shape or elements, not both"},
        {AIV "program: [ vec: { op: add, in: xb, out: xb, shape: [2] } ]\n", NULL,
         "k.yaml:5:52: the shape of a vec needs 2 numbers, not 1"},
        {AIV "program: [ scalar: {} ]\n", NULL, "k.yaml:5:20: scalar needs ops, gm or reads"},
        {AIV "program: [ signal: { flag: 1 } ]\n", NULL,
         "k.yaml:5:20: signal needs the key 'pipe'"},
        {AIV "program: [ {} ]\n", NULL, "k.yaml:5:12: an op must say what it does"},
        {AIC "program: [ load: { from: \"a[0]\", to: c0 } ]\n", NULL,
         "k.yaml:5:38: load cannot use slot 'c0' in l0c as 'to'; it takes l1 or ub"},
        {AIC "program: [ vec: { op: exp, in: a1, out: a1 } ]\n", NULL,
         "k.yaml:5:41: vec cannot use slot 'a1' in l1 as 'out'; it takes ub"},
        {AIC "program: [ matmul: { a: b0, b: b0, to: c0, shape: [1, 1, 1] } ]\n", NULL,
         "k.yaml:5:25: matmul cannot use slot 'b0' in l0b as 'a'; it takes l0a"},
    };
    CHECK_BAD(state, cases);
}

static void a_task_gives_what_the_kernel_asks_for(void **state) {
    static const bad cases[] = {
        {AIV "program: []\n", "x fp32 2x16; y fp32 2x16",
         "t.yaml:3:5: kernel 'k' needs the param 'eps'"},
        {AIV "program: []\n", "x fp32 2x16; y fp32 2x16; with ep 1",
         "t.yaml:6:9: kernel 'k' has no param 'ep'; did you mean 'eps'?"},
        {AIV "program: []\n", "x fp32 2x16; y fp32 2x16; with eps 1; tile n 4",
         "t.yaml:6:9: kernel 'k' has no tile size 'n'"},
        {AIV "program: []\n", "x fp32 16; y fp32 2x16; with eps 1",
         "t.yaml:5:7: argument 'x' of kernel 'k' needs 2 dimensions [R, C], and is given 1"},
        {"engine: aiv\nargs: { x: { access: in, shape: [R, C] }, y: { access: in, shape: [C, R] } "
         "}\n"
         "program: []\n",
         "x fp32 2x16; y fp32 16x3",
         "t.yaml:5:7: argument 'y' of kernel 'k': dimension 1 is 3, but R is 2"},
        {"engine: aiv\nargs: { x: { access: in, shape: [R, 2 * R] } }\nprogram: []\n", "x fp32 4x9",
         "t.yaml:5:7: argument 'x' of kernel 'k': dimension 1 is 9, but the kernel's is 8"},
        {"engine: aiv\nargs: { x: { access: in, shape: [R] } }\n"
         "require: [ { that: R % 8 == 0, else: \"rows come in eights\" } ]\nprogram: []\n",
         "x fp32 12", "t.yaml:3:5: kernel 'k': rows come in eights"},
        {AIV "program: []\n", "x fp32 2x16; y fp32 2x16; with eps 1; grid n 0",
         "t.yaml:3:5: grid axis 'n' must be at least 1, not 0"},
        {"engine: aiv\nargs: { x: { access: in, shape: [R] } }\nparams: { R: 1 }\nprogram: []\n",
         "x fp32 8", "k.yaml:3:11: the name 'R' already stands for something"},
        {"engine: aiv\nlet: { half: sise / 2 }\nparams: { size: 8 }\nprogram: []\n", "",
         "k.yaml:2:14: unknown name 'sise'; did you mean 'size'?"},
        {"engine: aiv\nlet: { half: size / 2 }\nparams: { size: 9 }\nprogram: []\n", "",
         "k.yaml:2:19: 9 / 2 leaves a rest; use // or ceil()"},
        {"engine: aiv\nslots: { s: { in: ub, bytes: 32 * (block + 1) } }\nprogram: []\n", "",
         "k.yaml:2:30: the size of a slot must not depend on the block or on a loop"},
        {"engine: aiv\nrequire: [ { that: block < 4, else: \"\" } ]\nprogram: []\n", "grid b 2",
         "k.yaml:2:20: a requirement must not depend on the block or on a loop"},
        {"engine: aiv\nslots: { s: { in: ub, shape: [8, 0], dtype: fp32 } }\nprogram: []\n", "",
         "k.yaml:2:10: slot 's' has the shape 8 x 0: both must be at least 1"},
        {"engine: aiv\nslots: { s: { in: ub, shape: [8, 8], dtype: fp23 } }\nprogram: []\n", "",
         "k.yaml:2:45: unknown dtype 'fp23'; did you mean 'fp32'?"},
        {"engine: aiv\nslots: { s: { in: ub, bytes: 32, copies: 65 } }\nprogram: []\n", "",
         "k.yaml:2:10: slot 's' needs 1 to 64 copies, not 65"},
        {"engine: aiv\nslots: { s: { in: ub, bytes: 0 } }\nprogram: []\n", "",
         "k.yaml:2:10: slot 's' is 0 bytes"},
    };
    CHECK_BAD(state, cases);
}

static void ops_fit_their_core_and_their_slots(void **state) {
    static const char x[] = "x fp32 2x48; y fp32 2x48; with eps 1";
    static const char a[] = "a int8 64x64; c int32 64x64";
    static const bad cases[] = {
        {AIV "program: [ load: { from: \"x[0]\", to: xb } ]\n", x,
         "k.yaml:5:27: argument 'x' has 2 dimensions, and the region names 1"},
        {AIV "program: [ load: { from: \"x[0, 0 : tlie]\", to: xb } ]\n", x,
         "k.yaml:5:36: unknown name 'tlie'; did you mean 'tile'?"},
        {AIV "program: [ { loop: i in 0..4, do: [ load: { from: \"x[0, i * tile : tile]\", to: xb "
             "} ] } ]\n",
         x, "k.yaml:5:52: x[48 : 16] leaves dimension 1 of 'x', which has 48"},
        {AIV "program: [ load: { from: \"x[2, 0 : tile]\", to: xb } ]\n", x,
         "k.yaml:5:27: x[2 : 1] leaves dimension 0 of 'x', which has 2"},
        {AIV "program: [ load: { from: \"x[0, block - 1 : tile]\", to: xb } ]\n", x,
         "k.yaml:5:27: x[-1 : 16] leaves dimension 1 of 'x', which has 48"},
        {AIV "program: [ load: { from: \"x[0, 0 : 64]\", to: xb } ]\n", x,
         "k.yaml:5:27: a region of length 64 in dimension 1, which has 48"},
        {AIV "program: [ load: { from: \"x[0, 0 : block]\", to: xb } ]\n", x,
         "k.yaml:5:27: x[0 : 0] leaves dimension 1 of 'x', which has 48"},
        {AIV "program: [ load: { from: \"x[0, 0 : 17]\", to: xb } ]\n", x,
         "k.yaml:5:12: 68 bytes do not fit slot 'xb' of 64 bytes"},
        {AIV "program: [ store: { from: xb, to: \"y[:, 0 : 9]\" } ]\n", x,
         "k.yaml:5:12: 72 bytes do not fit slot 'xb' of 64 bytes"},
        {AIV "program: [ vec: { op: exp, in: xb, out: xb, shape: [2, 16] } ]\n", x,
         "k.yaml:5:12: 2 x 16 elements fit no slot of this op"},
        {AIV "program: [ vec: { op: exp, in: ub, out: ub } ]\n", x,
         "k.yaml:5:12: give a shape: slot 'ub' is given in bytes"},
        {AIV "program: [ vec: { op: exp, in: xb, out: xb, elements: block } ]\n", x,
         "k.yaml:5:12: a size of this op is 0; possible is 1 to 1048576"},
        {AIV "program: [ { loop: tile in 0..2, do: [] } ]\n", x,
         "k.yaml:5:12: the name 'tile' already stands for something"},
        {AIV "program: [ scalar: { ops: -1 } ]\n", x,
         "k.yaml:5:12: ops of this op is -1; possible is 0 to 2147483647"},
        {AIV "program: [ signal: { pipe: MTE3, flag: 11 } ]\n", x,
         "k.yaml:5:12: the flag of this op is 11; possible is 0 to 10"},
        {AIV "program: [ wait: { pipe: FIXPIPE, flag: 1 } ]\n", x,
         "k.yaml:5:12: an AIV has no pipe FIXPIPE"},
        {AIC "program: [ signal: { pipe: V, flag: 1 } ]\n", a, "k.yaml:5:12: an AIC has no pipe V"},
        {"engine: aic\nargs: { x: in }\nslots: { s: { in: ub, bytes: 64 } }\n"
         "program: [ load: { from: \"x[:]\", to: s } ]\n",
         "x fp32 4", "k.yaml:4:12: slot 's' is in ub, which an AIC does not have"},
        {"engine: aiv\nargs: { x: in }\nslots: { s: { in: l1, bytes: 64 } }\n"
         "program: [ load: { from: \"x[:]\", to: s } ]\n",
         "x fp32 4", "k.yaml:4:12: slot 's' is in l1, which an AIV does not have"},
        {AIC "program: [ extract: { from: a1, to: a0, shape: [32, 32] } ]\n", a,
         "k.yaml:5:12: 1024 bytes do not fit slot 'a1' of 512 bytes"},
        {AIC "program: [ extract: { from: a1, to: a0, shape: [16, 32] } ]\n", a,
         "k.yaml:5:12: 512 bytes do not fit slot 'a0' of 256 bytes"},
        {AIC "program: [ matmul: { a: a0, b: b0, to: c0, shape: [16, 16, 32] } ]\n", a,
         "k.yaml:5:12: 512 bytes do not fit slot 'a0' of 256 bytes"},
        {AIC "program: [ matmul: { a: a0, b: b0, to: c0, shape: [8, 32, 16] } ]\n", a,
         "k.yaml:5:12: 512 bytes do not fit slot 'b0' of 256 bytes"},
        {AIC "program: [ matmul: { a: a0, b: b0, to: c0, shape: [32, 16, 8] } ]\n", a,
         "k.yaml:5:12: 2048 bytes do not fit slot 'c0' of 1024 bytes"},
        {AIC "program: [ matmul: { a: a0, b: b0, to: c0, shape: [8, 8, 8], valid: [8, 9, 8] } ]\n",
         a, "k.yaml:5:12: valid 8 x 9 x 8 is more than the shape 8 x 8 x 8"},
    };
    CHECK_BAD(state, cases);
}

static void the_library_says_what_does_not_fit(void **state) {
    static const struct {
        const char *kernel, *settings, *message;
    } cases[] = {
        {"matmul",
         "a bf16 8x4096; b bf16 4096x1000; c fp32 16x1000; tile n 128; tile k 256; grid n 8; grid "
         "k 1",
         "t.yaml:3:5: kernel 'matmul': N / grid.n must be a multiple of tile.n"},
        {"matmul",
         "a bf16 8x4096; b bf16 4095x1024; c fp32 16x1024; tile n 128; tile k 256; grid n 8; grid "
         "k 1",
         "t.yaml:5:7: argument 'b' of kernel 'matmul': dimension 0 is 4095, but K is 4096"},
        {"matmul",
         "a bf16 8x4096; b bf16 4096x1024; c fp32 16x1024; tile n 128; tile k 256; grid n 8; grid "
         "k 2",
         "t.yaml:3:5: kernel 'matmul': blocks that share a sum need atomic or slabs"},
        {"matmul",
         "a bf16 8x4096; b bf16 4096x1024; c fp32 16x1024; tile k 256; grid n 8; grid k 1",
         "t.yaml:3:5: kernel 'matmul' needs the tile size 'n'"},
        {"swa_gather_kv",
         "cache bf16 128x128x512; kv bf16 8x128x512; with position 100; grid t 8; grid q 4",
         "t.yaml:3:5: kernel 'swa_gather_kv': the window begins before position 0"},
    };
    fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start_over(f);
        assert_ok(f, load_kernel(f, cases[i].kernel));
        assert_int_equal(bind_kernel(f, cases[i].settings), NPU_BAD_INPUT);
        assert_string_equal(f->err.text, cases[i].message);
    }
}

static void a_kernel_that_is_no_file_is_named(void **state) {
    fixture *f = *state;
    assert_int_equal(load_kernel(f, "matmull"), NPU_IO);
    assert_non_null(strstr(f->err.text, "configs/kernels/matmull.yaml"));
    assert_null(f->kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(words_are_known_or_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(forms_are_complete, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_task_gives_what_the_kernel_asks_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ops_fit_their_core_and_their_slots, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_library_says_what_does_not_fit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_kernel_that_is_no_file_is_named, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
