// SPDX-License-Identifier: Apache-2.0
#include "common.h"

static const struct argp_option options[] = {CLI_ROW_HELP, {0}};

static const char doc[] =
    "Draw the swimlane of a run.\n"
    "\n"
    "Reads the swimlane files in DIR, which `npusim run --out DIR` or the runtime has written, and "
    "draws DIR/swimlane.png with gnuplot.\n"
    "\v"
    "EXAMPLES\n"
    "  npusim run qproj.yaml --out out/qproj --no-plot\n"
    "  npusim plot out/qproj\n"
    "\n" CLI_EXIT_STATUS;

static const struct argp argp = {options, cli_parse_shared, "DIR", doc, NULL, NULL, NULL};

int cli_plot(int argc, char **argv) {
    cli_args args = {.command = "plot", .argp = &argp, .operand_needed = true};
    npu_error err = {0};
    int status = 0;
    if (!cli_parse(&args, argc, argv, &status))
        return status;
    return cli_end(&args, npusim_plot(args.operand, &err), &err);
}
