// SPDX-License-Identifier: Apache-2.0
// The module that holds everything that needs SimGrid, loaded when it is asked for.
#ifndef NPU_MODULE_H
#define NPU_MODULE_H

#include "error.h"

// The address of a function or object of the module. NPU_BAD_INPUT with a sentence when it is not
// installed. It is never closed: SimGrid cannot be unloaded.
npu_status npu_simgrid_symbol(const char *name, void **symbol, npu_error *err);

#endif
