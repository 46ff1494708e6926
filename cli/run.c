// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "common.h"

enum { OPTION_OUT = CLI_OPTION_OWN, OPTION_SWIMLANE, OPTION_NO_PLOT };

typedef struct run_args {
    cli_args shared;
    npusim_run_options options;
} run_args;

static const struct argp_option options[] = {
    CLI_ROW_DIE,
    CLI_ROW_SET,
    CLI_ROW_FABRIC,
    CLI_ROW_L2,
    CLI_ROW_ENGINE,
    {"out", OPTION_OUT, "DIR", 0,
     "Write the run's files into DIR, which is made when missing. They appear when all are "
     "complete. Default: no files, only the report.",
     4},
    {"swimlane", OPTION_SWIMLANE, "LEVEL", 0,
     "How much the swimlane files hold: 1 the rows of the cores; 2 also those of the AICPU; "
     "3 also the phases of its schedulers; 4 also the calls of the orchestrator. Default: 4.",
     4},
    {"no-plot", OPTION_NO_PLOT, NULL, 0, "Do not draw swimlane.png into DIR.", 4},
    CLI_ROW_CONFIGS,
    CLI_ROW_HELP,
    {0},
};

static const char doc[] =
    "Simulate a task graph and report how long it takes.\n"
    "\n"
    "GRAPH is a task graph, a YAML file. It is loaded and checked as by `npusim check`, then run "
    "on the modelled die. The report goes to standard output; its times, sizes and rates carry "
    "their units. The same inputs give the same bytes.\n"
    "\v"
    "FILES in DIR\n"
    "  summary.json                makespan, utilisation, kernels, critical chain\n"
    "  chip_swimlane_records.json  swimlane records of the runtime\n"
    "  deps.json, name_map.json    edges and names, as the runtime writes them\n"
    "  pmu.csv                     busy cycles of every pipe\n"
    "  merged_swimlane.json        open it at ui.perfetto.dev\n"
    "  swimlane.png                drawn by gnuplot\n"
    "\n"
    "EXAMPLES\n"
    "  npusim run qproj.yaml\n"
    "  npusim run qproj.yaml --set tn=512 --set stages=2 --l2 warm\n"
    "  npusim run qproj.yaml --die 910B4 --out out/qproj --swimlane 2\n"
    "\n" CLI_EXIT_STATUS;

static error_t take_swimlane(run_args *args, const char *value) {
    if (strlen(value) != 1 || value[0] < '1' || value[0] > '4')
        return cli_usage_error(&args->shared, "--swimlane is a level from 1 to 4, not '%s'", value);
    args->options.swimlane = value[0] - '0';
    return 0;
}

static error_t parse(int key, char *value, struct argp_state *state) {
    run_args *args = state->input;
    switch (key) {
    case OPTION_OUT:
        args->options.out = value;
        return 0;
    case OPTION_SWIMLANE:
        return take_swimlane(args, value);
    case OPTION_NO_PLOT:
        args->options.no_plot = true;
        return 0;
    default:
        return cli_parse_shared(key, value, state);
    }
}

static const struct argp argp = {options, parse, "GRAPH", doc, NULL, NULL, NULL};

// "npusim run graph.yaml --die A3": what the run is recorded with. NULL when out of memory.
static char *command_line(int argc, char **argv) {
    size_t size = sizeof "npusim";
    for (int i = 0; i < argc; i++)
        size += strlen(argv[i]) + 1;
    char *line = malloc(size);
    size_t at = 0;
    if (line != NULL)
        at = (size_t)snprintf(line, size, "npusim");
    for (int i = 0; line != NULL && i < argc; i++)
        at += (size_t)snprintf(line + at, size - at, " %s", argv[i]);
    return line;
}

int cli_run(int argc, char **argv) {
    run_args args = {.shared = {.command = "run", .argp = &argp, .operand_needed = true}};
    npu_error err = {0};
    int status = 0;
    char *line = command_line(argc, argv); // before argp puts argv into another order
    if (cli_parse(&args.shared, argc, argv, &status)) {
        args.options.input = args.shared.input;
        args.options.input.graph = args.shared.operand;
        args.options.command = line;
        npu_status result = line != NULL ? npusim_run(&args.options, stdout, stderr, NULL, &err)
                                         : npu_fail_memory(&err);
        status = cli_end(&args.shared, result, &err);
    }
    free(line);
    return status;
}
