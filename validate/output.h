// SPDX-License-Identifier: Apache-2.0
// The results of a validation for people and for programs.
#ifndef NPU_OUTPUT_H
#define NPU_OUTPUT_H

#include <stdio.h>

#include "score.h"

// A table per group and the scores. Brief: without a line per figure.
void npu_validation_print(FILE *out, const npu_cases *cases, const npu_verdicts *verdicts,
                          bool brief);

// One line per figure.
npu_status npu_validation_csv(FILE *out, const npu_cases *cases, npu_error *err);
// Everything.
npu_status npu_validation_json(FILE *out, const npu_cases *cases, const npu_verdicts *verdicts,
                               npu_error *err);

// Predicted over measured as a picture, by gnuplot. NPU_IO when gnuplot is missing or fails.
npu_status npu_scatter_png(const npu_cases *cases, const char *png, npu_error *err);
// The commands that it gives to gnuplot, data included.
npu_status npu_scatter_script(const npu_cases *cases, FILE *out, npu_error *err);

// "56.30 us"
const char *npu_show_figure(double value, const char *unit, char *buf, int size);

#endif
