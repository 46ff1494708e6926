// SPDX-License-Identifier: Apache-2.0
// A die file that extends another one and gives some of its fields anew.
#ifndef NPU_DIEFILE_H
#define NPU_DIEFILE_H

#include <stdio.h>

#include "params.h"

typedef struct npu_die_entry {
    const npu_param *param;
    double value;
    const char *confidence, *source; // NULL: none are written
} npu_die_entry;

// Writes the file; the entries are in the order of the die's fields.
void npu_diefile_write(FILE *out, const char *extends, const char *name,
                       const npu_die_entry *entries, int count);

#endif
