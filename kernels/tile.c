// SPDX-License-Identifier: Apache-2.0
#include "tile.h"

#include <assert.h>
#include <stddef.h>

const char *const npu_pipe_names[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIXPIPE", NULL};
const char *const npu_buffer_names[] = {"l0a", "l0b", "l0c", "l1", "ub", NULL};
const char *const npu_dtype_names[] = {"fp32",   "fp16",  "bf16",  "int8",   "int16",
                                       "int32",  "int64", "uint8", "uint16", "uint32",
                                       "uint64", "bool",  NULL};
const char *const npu_dtype_runtime_names[] = {"FLOAT32", "FLOAT16", "BFLOAT16", "INT8",   "INT16",
                                               "INT32",   "INT64",   "UINT8",    "UINT16", "UINT32",
                                               "UINT64",  "BOOL",    NULL};
const char *const npu_engine_type_names[] = {"aic", "aiv", "mix", "dummy", NULL};
const char *const npu_vec_op_names[] = {"add",
                                        "sub",
                                        "mul",
                                        "max",
                                        "min",
                                        "div",
                                        "adds",
                                        "muls",
                                        "exp",
                                        "ln",
                                        "sqrt",
                                        "rsqrt",
                                        "abs",
                                        "relu",
                                        "and",
                                        "or",
                                        "not",
                                        "compare",
                                        "select",
                                        "cast",
                                        "copy",
                                        "fill",
                                        "row_sum",
                                        "row_max",
                                        "col_sum",
                                        "col_max",
                                        "row_expand",
                                        "row_expand_mul",
                                        "row_expand_sub",
                                        "row_expand_div",
                                        "col_expand",
                                        "col_expand_mul",
                                        "gather",
                                        "transpose",
                                        "sort32",
                                        "mrgsort",
                                        NULL};

_Static_assert(sizeof npu_pipe_names / sizeof *npu_pipe_names == NPU_PIPE_COUNT + 1, "pipes");
_Static_assert(sizeof npu_dtype_names / sizeof *npu_dtype_names == NPU_DTYPE_COUNT + 1, "dtypes");
_Static_assert(sizeof npu_dtype_runtime_names / sizeof *npu_dtype_runtime_names ==
                   NPU_DTYPE_COUNT + 1,
               "runtime dtypes");
_Static_assert(sizeof npu_vec_op_names / sizeof *npu_vec_op_names == NPU_VEC_COUNT + 1, "vec ops");

int npu_dtype_bytes(npu_dtype dtype) {
    static const int bytes[NPU_DTYPE_COUNT] = {4, 2, 2, 1, 2, 4, 8, 1, 2, 4, 8, 1};
    assert(dtype >= 0 && dtype < NPU_DTYPE_COUNT);
    return bytes[dtype];
}
