// SPDX-License-Identifier: Apache-2.0
// Pictures drawn by gnuplot, a program of its own, found in PATH and run without a shell.
#ifndef NPU_GNUPLOT_H
#define NPU_GNUPLOT_H

#include <stdio.h>

#include "error.h"

// Writes the commands that draw `subject`, data included, to `out`.
typedef npu_status npu_gnuplot_write(const void *subject, FILE *out, npu_error *err);

// Has gnuplot draw what `write` says into the file `png`. Returns what `write` returns, or NPU_IO
// with a sentence when a file cannot be written or gnuplot is missing or fails (its own first
// complaint is quoted); `png` is removed then. `what` names the picture when gnuplot is missing.
npu_status npu_gnuplot_png(npu_gnuplot_write *write, const void *subject, const char *what,
                           const char *png, npu_error *err);

// Writes at most `most` bytes of text between single quotes. Names come from files, so only what
// gnuplot cannot take for anything else passes; the rest becomes '_'.
void npu_gnuplot_text(FILE *out, const char *text, int most);

#endif
