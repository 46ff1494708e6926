// SPDX-License-Identifier: Apache-2.0
// What the checks of rows and schedulers (sanity.c) and those of the graph (sanity_graph.c) share.
#ifndef NPU_SANITY_IMPL_H
#define NPU_SANITY_IMPL_H

#include "index.h"
#include "sanity.h"

enum { NPU_TICK_SLACK = 2 }; // two stamps of different clocks' readings may differ by as much

typedef struct npu_checker {
    const npu_capture *c;
    const npu_deps *deps; // NULL: none
    npu_sanity *sanity;
    npu_error *err;
    int *order;      // the AICore rows that have a start, by start
    int order_count; //
    npu_groups core; // entries of `order` by core
} npu_checker;

// Counts a case; the first is told.
void npu_sanity_note(npu_checker *k, npu_rule rule, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static inline void npu_sanity_checked(npu_checker *k, npu_rule rule) {
    k->sanity->checked[rule] = true;
}

npu_status npu_sanity_graph(npu_checker *k);

#endif
