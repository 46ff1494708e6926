// SPDX-License-Identifier: Apache-2.0
// What every call that simulates begins with: the die and the checked graph.
#ifndef NPU_CONTEXT_H
#define NPU_CONTEXT_H

#include "die.h"
#include "engine.h"
#include "npusim.h"
#include "ranks.h"

enum { NPU_CONFIG_PATH = 4096 };

typedef struct npu_context {
    char config[NPU_CONFIG_PATH]; // folder of the configs
    npu_die die;
    npu_ranks ranks;
    npu_engine_kind engine;
    npu_warnings warnings;
} npu_context;

// Loads die and graph (input->graph NULL: the die alone) and checks the graph against the die's
// walls. Close it in any case: the warnings gathered before a failure are worth showing.
npu_status npu_context_open(npu_context *context, const npusim_input *input, npu_error *err);
void npu_context_close(npu_context *context);
// Prints the warnings gathered, from the `first` on, one per line (file:line:col: warning:
// sentence); `to` may be NULL.
void npu_context_print_warnings(const npu_context *context, int first, FILE *to);

// The engine's kind; NULL means fluid.
npu_status npu_engine_choice(const char *name, npu_engine_kind *kind, npu_error *err);

#endif
