// SPDX-License-Identifier: Apache-2.0
// What the two halves of the reader of case files share: read.c (files, cases, variants) and
// figure.c (what is read and measured).
#ifndef NPU_READ_IMPL_H
#define NPU_READ_IMPL_H

#include "cases.h"
#include "yaml_tree.h"

// What a file, a case, a variant and a figure may say, each in place of the one before.
typedef enum inherited {
    SAYS_DIE,
    SAYS_GRAPH,
    SAYS_L2,
    SAYS_BAND,
    SAYS_SPREAD,
    SAYS_PER,
    SAYS_READ,
    SAYS_SOURCE,
    SAYS_ASSUMES,
    SAYS_COUNT,
} inherited;

enum { SET_LEVELS = 3 };

typedef struct scope {
    const npu_yaml *said[SAYS_COUNT]; // NULL: nobody did
    const npu_yaml *sets[SET_LEVELS]; // of the file, the case, the variant
} scope;

typedef struct reader {
    npu_cases *cases;
    int group;
    npu_warnings *problems;
    npu_error *err;
} reader;

// `inner` is what `outer` says, with what `map` says in its place.
void npu_scope_open(const scope *outer, const npu_yaml *map, scope *inner);

// The text of a name that ends up in tables: one line, not empty.
npu_status npu_read_name(const npu_yaml *node, const char *what, const char **name, npu_error *err);

// Adds the figures that the map of a case without variants, or of a variant, has: its own and
// those of its list. `what` is "a case" or "a variant".
npu_status npu_read_figures(reader *r, const npu_yaml *map, const char *what, const scope *s,
                            int case_, int variant);
// Finds, or adds, what the relative figures of a complete case are relative to.
npu_status npu_read_bases(reader *r, npu_case *c);
// Checks that the variants that a case compares can be compared.
npu_status npu_check_pairs(reader *r, const npu_case *c);
// Checks that nobody has named the row before.
npu_status npu_check_row(const reader *r, const char *row, npu_pos pos);
// "file:3:5"
const char *npu_read_place(npu_pos pos, char *buf, int size);

#endif
