// SPDX-License-Identifier: Apache-2.0
#include "common.h"

static const struct argp_option options[] = {
    CLI_ROW_DIE, CLI_ROW_ENGINE, CLI_ROW_CONFIGS, CLI_ROW_HELP, {0},
};

static const char doc[] =
    "Compare a modelled die with its own peaks.\n"
    "\n"
    "Streams from HBM and from L2, multiplies and dispatches on the die, and prints each rate "
    "reached beside the one that the die's numbers allow. A rate that misses by more than its "
    "tolerance is an error, status 2.\n"
    "\v"
    "EXAMPLES\n"
    "  npusim selftest\n"
    "  npusim selftest --die 910B4 --engine simgrid\n"
    "\n" CLI_EXIT_STATUS;

static const struct argp argp = {options, cli_parse_shared, NULL, doc, NULL, NULL, NULL};

int cli_selftest(int argc, char **argv) {
    cli_args args = {.command = "selftest", .argp = &argp};
    npu_error err = {0};
    int status = 0;
    if (!cli_parse(&args, argc, argv, &status))
        return status;
    npu_status result =
        npusim_selftest(args.input.config, args.input.die, args.input.engine, stdout, &err);
    return cli_end(&args, result, &err);
}
