// SPDX-License-Identifier: Apache-2.0
// Inside of die.c and die_load.c: what a field is.
#ifndef NPU_DIE_IMPL_H
#define NPU_DIE_IMPL_H

#include "die.h"
#include "units.h"

typedef enum npu_die_rule { // what a value may be
    NPU_DIE_ANY,            // 0 or more
    NPU_DIE_POSITIVE,
    NPU_DIE_WHOLE,    // 1, 2, 3 ...
    NPU_DIE_LINE,     // a power of two
    NPU_DIE_CLUSTERS, // also the depth of a queue
    NPU_DIE_SCHEDULERS,
    NPU_DIE_SHARE,
    NPU_DIE_RULE_COUNT,
} npu_die_rule;

enum { NPU_DIE_PATH = 64 }; // room for a field's name

typedef struct npu_die_field {
    char path[NPU_DIE_PATH]; // the keys that lead to it, joined by dots
    npu_unit unit;
    npu_die_rule rule;
    size_t offset; // of its double in npu_die
} npu_die_field;

npu_die_field npu_die_field_at(int field);
// True for "vector.ops" and the like: a path with fields below it.
bool npu_die_is_section(const char *path);
double npu_die_value(const npu_die *die, int field);

#endif
