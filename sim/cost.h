// SPDX-License-Identifier: Apache-2.0
// What one op costs on its pipe, in cycles, from the die's numbers alone (docs/model.md).
#ifndef NPU_COST_H
#define NPU_COST_H

#include "die.h"
#include "tile.h"

// Cycles the pipe cannot take the next op; an op that depends on this one starts after them.
// EXTRACT: bytes / rate + issue. MATMUL: head + fractals. VEC: repeats (slower when both
// sources share a bank group), rows, partial rows and the start-up, which every instruction pays.
// SCALAR: instructions and GM round trips. Others cost nothing here.
double npu_op_cycles(const npu_die *die, const npu_op *op);
// Draining an m x n tile of L0C through FIXPIPE: fixed + m * (max(row floor, 4 n / bytes) + odd
// * (odd part of ceil(n / 8) - 1)).
double npu_fixpipe_cycles(const npu_die *die, int64_t m, int64_t n);

#endif
