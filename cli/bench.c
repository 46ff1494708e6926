// SPDX-License-Identifier: Apache-2.0
#include "common.h"

static const struct argp_option options[] = {
    CLI_ROW_DIE, CLI_ROW_SET, CLI_ROW_FABRIC, CLI_ROW_ENGINE, CLI_ROW_CONFIGS, CLI_ROW_HELP, {0},
};

static const char doc[] =
    "Measure the simulator itself.\n"
    "\n"
    "Prints tile ops and events per second of this computer's time and the peak memory in MiB, "
    "for GRAPH or, without one, for the built-in graphs. These figures differ from run to run.\n"
    "\v"
    "EXAMPLES\n"
    "  npusim bench\n"
    "  npusim bench qproj.yaml --set tn=256 --engine simgrid\n"
    "\n" CLI_EXIT_STATUS;

static const struct argp argp = {options, cli_parse_shared, "[GRAPH]", doc, NULL, NULL, NULL};

int cli_bench(int argc, char **argv) {
    cli_args args = {.command = "bench", .argp = &argp};
    npu_error err = {0};
    int status = 0;
    if (!cli_parse(&args, argc, argv, &status))
        return status;
    npusim_bench_options bench = {.input = args.input};
    bench.input.graph = args.operand;
    return cli_end(&args, npusim_bench(&bench, stdout, &err), &err);
}
