// SPDX-License-Identifier: Apache-2.0
// swimlane.png, drawn by gnuplot (a program of its own, found in PATH; no shell).
#ifndef NPU_PLOT_H
#define NPU_PLOT_H

#include <stdio.h>

#include "picture.h"

// Writes the picture to `png`. NPU_IO with a sentence when gnuplot is missing or fails; the
// file is removed then.
npu_status npu_plot_png(const npu_picture *picture, const char *png, npu_error *err);

// The commands that npu_plot_png gives to gnuplot, data included.
npu_status npu_plot_script(const npu_picture *picture, FILE *out, npu_error *err);

#endif
