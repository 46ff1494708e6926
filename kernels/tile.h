// SPDX-License-Identifier: Apache-2.0
// The tile-op vocabulary: what one block of a kernel does, op by op. No times and no
// hardware rates: those belong to the die.
#ifndef NPU_TILE_H
#define NPU_TILE_H

#include <stdbool.h>
#include <stdint.h>

// The in-order pipes of a core. An AIC has S, MTE1, MTE2, M, FIXPIPE; an AIV has S, MTE2,
// MTE3, V.
typedef enum npu_pipe {
    NPU_PIPE_S,
    NPU_PIPE_V,
    NPU_PIPE_M,
    NPU_PIPE_MTE1,
    NPU_PIPE_MTE2,
    NPU_PIPE_MTE3,
    NPU_PIPE_FIXPIPE,
    NPU_PIPE_COUNT,
} npu_pipe;

typedef enum npu_buffer {
    NPU_L0A,
    NPU_L0B,
    NPU_L0C,
    NPU_L1,
    NPU_UB,
    NPU_BUFFER_COUNT,
} npu_buffer;

typedef enum npu_dtype {
    NPU_FP32,
    NPU_FP16,
    NPU_BF16,
    NPU_INT8,
    NPU_INT16,
    NPU_INT32,
    NPU_INT64,
    NPU_UINT8,
    NPU_UINT16,
    NPU_UINT32,
    NPU_UINT64,
    NPU_BOOL,
    NPU_DTYPE_COUNT,
} npu_dtype;

// Which cores run a kernel. MIX = the AIC and both AIVs of a cluster; DUMMY = none.
typedef enum npu_engine_type { NPU_AIC, NPU_AIV, NPU_MIX, NPU_DUMMY } npu_engine_type;

// Vector instruction classes whose cost differs. The die gives each its cycles.
typedef enum npu_vec_op {
    NPU_VEC_ADD,
    NPU_VEC_SUB,
    NPU_VEC_MUL,
    NPU_VEC_MAX,
    NPU_VEC_MIN,
    NPU_VEC_DIV,
    NPU_VEC_ADDS, // one operand a scalar
    NPU_VEC_MULS,
    NPU_VEC_EXP,
    NPU_VEC_LN,
    NPU_VEC_SQRT,
    NPU_VEC_RSQRT,
    NPU_VEC_ABS,
    NPU_VEC_RELU,
    NPU_VEC_AND,
    NPU_VEC_OR,
    NPU_VEC_NOT,
    NPU_VEC_COMPARE,
    NPU_VEC_SELECT,
    NPU_VEC_CAST,
    NPU_VEC_COPY,
    NPU_VEC_FILL,
    NPU_VEC_ROW_SUM, // reduce each row to one element
    NPU_VEC_ROW_MAX,
    NPU_VEC_COL_SUM, // reduce over rows
    NPU_VEC_COL_MAX,
    NPU_VEC_ROW_EXPAND,     // broadcast one element over its row
    NPU_VEC_ROW_EXPAND_MUL, // and combine with a tile
    NPU_VEC_ROW_EXPAND_SUB,
    NPU_VEC_ROW_EXPAND_DIV,
    NPU_VEC_COL_EXPAND,
    NPU_VEC_COL_EXPAND_MUL,
    NPU_VEC_GATHER, // one element per index
    NPU_VEC_TRANSPOSE,
    NPU_VEC_SORT32,
    NPU_VEC_MRGSORT,
    NPU_VEC_COUNT,
} npu_vec_op;

extern const char *const npu_pipe_names[];          // "S" ... "FIXPIPE", NULL-terminated
extern const char *const npu_buffer_names[];        // "l0a" ..., NULL-terminated
extern const char *const npu_dtype_names[];         // "fp32" ..., as written in configs
extern const char *const npu_dtype_runtime_names[]; // "FLOAT32" ..., as in deps.json
extern const char *const npu_engine_type_names[];   // "aic", "aiv", "mix", "dummy"
extern const char *const npu_vec_op_names[];        // "add" ...
int npu_dtype_bytes(npu_dtype dtype);

enum { NPU_MAX_RANK = 5, NPU_OP_SLOTS = 4, NPU_FLAGS = 11 }; // CrossCore flags: ids 0 to 10

// Global memory touched by one op: rows[0] x rows[1] runs of `run` contiguous bytes. Run
// (i, j) starts at address + i * stride[0] + j * stride[1].
typedef struct npu_gm {
    int arg; // of the kernel
    int64_t address;
    int64_t run;
    int32_t rows[2];
    int64_t stride[2];
} npu_gm;

static inline int64_t npu_gm_bytes(const npu_gm *gm) {
    return gm->run * gm->rows[0] * gm->rows[1];
}

typedef enum npu_op_kind {
    NPU_OP_LOAD,     // GM -> L1 or UB                        MTE2
    NPU_OP_EXTRACT,  // L1 -> L0A or L0B                      MTE1
    NPU_OP_MATMUL,   // L0A x L0B -> L0C                      M
    NPU_OP_VEC,      // UB -> UB                              V
    NPU_OP_STORE,    // L0C -> GM (FIXPIPE), UB -> GM (MTE3)
    NPU_OP_SIGNAL,   // raise a cross-core flag when the pipe gets here
    NPU_OP_WAIT,     // hold the pipe until the flag was raised once more
    NPU_OP_SCALAR,   // work of the scalar unit               S
    NPU_OP_PREFETCH, // hand a GM range to SDMA for L2        S issues, SDMA moves
    NPU_OP_NOTIFY,   // change a counter in GM, here or on another die       S
    NPU_OP_AWAIT,    // spin until a counter of this die has a value         S
    NPU_OP_DRAIN,    // hold S until the stores so far can be seen           S
    NPU_OP_COUNT,
} npu_op_kind;

// Whether an op of this kind names a region of GM.
static inline bool npu_op_in_gm(npu_op_kind kind) {
    return kind == NPU_OP_LOAD || kind == NPU_OP_STORE || kind == NPU_OP_PREFETCH ||
           kind == NPU_OP_NOTIFY || kind == NPU_OP_AWAIT;
}

// One op, as a stream yields it. Slot instances are indices into the core's slot copies
// (0 .. npu_program_instances); -1 marks the unused.
typedef struct npu_op {
    npu_op_kind kind;
    npu_pipe pipe;
    npu_dtype dtype;   // of the data moved or computed
    npu_buffer buffer; // EXTRACT, LOAD: destination; STORE: source
    int16_t reads[NPU_OP_SLOTS];
    int16_t writes;  // the instance written, or -1
    bool accumulate; // MATMUL: adds to what L0C holds
    bool atomic;     // STORE: adds to what GM holds
    bool bypass;     // LOAD: leaves nothing in L2
    bool same_banks; // VEC: its first two sources start in one bank group; the core tells
    bool broadcast;  // VEC: one of them has rows of one block of UB; the core tells
    bool unit_flag;  // MATMUL: hands its result to FIXPIPE unit by unit; its head is shorter
    npu_vec_op vec;
    int64_t m, n, k;    // MATMUL: size computed; EXTRACT, VEC, STORE from L0C: m rows, n columns
    int64_t valid;      // MATMUL: multiply-accumulates that matter (not padding)
    int64_t scalar_ops; // plain instructions: SCALAR does, others are issued by code around them
    int64_t scalar_gm;  // SCALAR: loads or stores to GM, each a round trip
    int flag;           // SIGNAL, WAIT
    bool set;           // NOTIFY: `value` replaces what the counter holds; else it is added
    int64_t value;      // NOTIFY; AWAIT: at least this
    npu_gm gm;          // LOAD, STORE, PREFETCH; NOTIFY, AWAIT: the counter
    int line;           // in the kernel's file
} npu_op;

#endif
