// SPDX-License-Identifier: Apache-2.0
// Output files appear whole or not at all: they are written under a temporary name in the
// same folder and renamed when the whole set is complete.
#ifndef NPU_OUT_H
#define NPU_OUT_H

#include <stdio.h>

#include "error.h"

typedef struct npu_out npu_out;

// A set of files in `folder` (made when missing, with its parents). NPU_IO with the
// folder's name and the reason when it cannot be made or written to.
npu_status npu_out_begin(const char *folder, npu_out **out, npu_error *err);
// Opens one file of the set for writing; the stream belongs to the set. NULL on failure.
FILE *npu_out_file(npu_out *out, const char *name, npu_error *err);
// Path of the temporary file behind `name` (for a program that writes it itself), or NULL.
const char *npu_out_path(npu_out *out, const char *name, npu_error *err);
// Closes all streams, checks every write, renames all into place; frees `out` either way.
// On failure nothing of the set is left behind.
npu_status npu_out_commit(npu_out *out, npu_error *err);
// Drops everything written. Harmless on NULL.
void npu_out_discard(npu_out *out);

#endif
