// SPDX-License-Identifier: Apache-2.0
#include "common.h"

static const struct argp_option options[] = {
    CLI_ROW_DIE, CLI_ROW_SET, CLI_ROW_FABRIC, CLI_ROW_CONFIGS, CLI_ROW_HELP, {0},
};

static const char doc[] =
    "Check a task graph without running it.\n"
    "\n"
    "Loads GRAPH with its kernels and everything it includes, works out the edges between its "
    "tasks, and checks that every tile fits the buffers of the die. The first mistake is printed "
    "as FILE:LINE:COLUMN: what is wrong. What does not stop a run, but is slower or stranger than "
    "it needs to be, is printed as a warning.\n"
    "\v"
    "EXAMPLES\n"
    "  npusim check qproj.yaml\n"
    "  npusim check qproj.yaml --set tn=1024 --die 910B4\n"
    "\n" CLI_EXIT_STATUS;

static const struct argp argp = {options, cli_parse_shared, "GRAPH", doc, NULL, NULL, NULL};

int cli_check(int argc, char **argv) {
    cli_args args = {.command = "check", .argp = &argp, .operand_needed = true};
    npu_error err = {0};
    int status = 0;
    if (!cli_parse(&args, argc, argv, &status))
        return status;
    args.input.graph = args.operand;
    return cli_end(&args, npusim_check(&args.input, stdout, stderr, &err), &err);
}
