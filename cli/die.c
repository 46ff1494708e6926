// SPDX-License-Identifier: Apache-2.0
#include "common.h"

enum { OPTION_LIST = CLI_OPTION_OWN };

typedef struct die_args {
    cli_args shared;
    bool list;
} die_args;

static const struct argp_option options[] = {
    {"list", OPTION_LIST, NULL, 0, "List the dies with their clusters, clock, L2 and HBM.", 1},
    CLI_ROW_CONFIGS,
    CLI_ROW_HELP,
    {0},
};

static const char doc[] =
    "Print a die: every number with its unit, how sure it is and where it comes from.\n"
    "\n"
    "NAME is a die that --list shows, or the path of a .yaml file. After the numbers come the "
    "peaks that follow from them, each with its arithmetic.\n"
    "\v"
    "EXAMPLES\n"
    "  npusim die --list\n"
    "  npusim die A3\n"
    "  npusim die my_die.yaml\n"
    "\n" CLI_EXIT_STATUS;

static error_t parse(int key, char *value, struct argp_state *state) {
    die_args *args = state->input;
    cli_args *shared = &args->shared;
    if (key == OPTION_LIST) {
        args->list = true;
        return 0;
    }
    if (key == ARGP_KEY_END && !shared->help) {
        if (args->list && shared->operand != NULL)
            return cli_usage_error(shared, "give NAME or --list, not both");
        if (!args->list && shared->operand == NULL)
            return cli_usage_error(shared, "NAME or --list is missing");
    }
    return cli_parse_shared(key, value, state);
}

static const struct argp argp = {options, parse, "NAME\n--list", doc, NULL, NULL, NULL};

int cli_die(int argc, char **argv) {
    die_args args = {.shared = {.command = "die", .argp = &argp}};
    npu_error err = {0};
    int status = 0;
    if (!cli_parse(&args.shared, argc, argv, &status))
        return status;
    npu_status result = npusim_die(args.shared.input.config, args.shared.operand, stdout, &err);
    return cli_end(&args.shared, result, &err);
}
