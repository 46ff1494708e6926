// SPDX-License-Identifier: Apache-2.0
#include "common.h"

enum { OPTION_DEEP = CLI_OPTION_OWN };

typedef struct check_args {
    cli_args shared;
    bool deep;
} check_args;

static const struct argp_option options[] = {
    CLI_ROW_DIE,
    CLI_ROW_SET,
    CLI_ROW_FABRIC,
    {"deep", OPTION_DEEP, NULL, 0,
     "Also look for redundant edges, races, false serialisation and useless early flags.", 3},
    CLI_ROW_CONFIGS,
    CLI_ROW_HELP,
    {0},
};

static const char doc[] =
    "Check a task graph without running it.\n"
    "\n"
    "Loads GRAPH with its kernels and everything it includes, works out the edges between its "
    "tasks, and checks that every tile fits the buffers of the die. The first mistake is printed "
    "as FILE:LINE:COLUMN: what is wrong. What does not stop a run, but is slower or stranger than "
    "it needs to be, is printed as a warning.\n"
    "\v"
    "WITH --deep, by kinds of tasks\n"
    "  redundant edges      another way orders the two tasks\n"
    "  races                nothing orders two tasks, one of which writes what both touch\n"
    "  false serialisation  a task waits for a writer whose region it does not touch\n"
    "  early flags          flags that do nothing, since a sibling lacks it\n"
    "\n"
    "EXAMPLES\n"
    "  npusim check qproj.yaml\n"
    "  npusim check qproj.yaml --set tn=1024 --die 910B4\n"
    "  npusim check layer.yaml --deep\n"
    "\n" CLI_EXIT_STATUS;

static error_t parse(int key, char *value, struct argp_state *state) {
    check_args *args = state->input;
    if (key == OPTION_DEEP) {
        args->deep = true;
        return 0;
    }
    return cli_parse_shared(key, value, state);
}

static const struct argp argp = {options, parse, "GRAPH", doc, NULL, NULL, NULL};

int cli_check(int argc, char **argv) {
    check_args args = {.shared = {.command = "check", .argp = &argp, .operand_needed = true}};
    npu_error err = {0};
    int status = 0;
    if (!cli_parse(&args.shared, argc, argv, &status))
        return status;
    args.shared.input.graph = args.shared.operand;
    npu_status (*check)(const npusim_input *, FILE *, FILE *, npu_error *) =
        args.deep ? npusim_check_deep : npusim_check;
    return cli_end(&args.shared, check(&args.shared.input, stdout, stderr, &err), &err);
}
