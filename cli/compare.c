// SPDX-License-Identifier: Apache-2.0
#include "common.h"

enum { OPTION_JSON = CLI_OPTION_OWN };

typedef struct compare_args {
    cli_args shared; // its operand is A
    const char *b;
    npusim_compare_options options;
} compare_args;

static const struct argp_option options[] = {
    CLI_ROW_DIE,
    CLI_ROW_SET,
    CLI_ROW_FABRIC,
    CLI_ROW_L2,
    {"json", OPTION_JSON, NULL, 0, "Print JSON instead of text, with every kernel.", 4},
    CLI_ROW_CONFIGS,
    CLI_ROW_HELP,
    {0},
};

static const char doc[] =
    "Say what moved between two runs or two graphs, and why.\n"
    "\n"
    "A and B are both folders that `npusim run --out` has written, or both graphs, which run on "
    "the same die with the same settings. All are simulated, on the fluid engine; a graph that has "
    "changed since its run cannot be compared. Of several ranks the slowest is taken.\n"
    "\v"
    "THE REPORT\n"
    "  Observed critical path  from one makespan to the other: kernels, and gaps by\n"
    "                          their causes\n"
    "  Kernel                  tasks, blocks, mean time of a block, core time, what\n"
    "                          it adds to the path, its share of the difference\n"
    "  Why                     what is different about each kernel that moved\n"
    "  Bytes                   what HBM and L2 moved\n"
    "  The schedules part at   the first event that is not in both\n"
    "\n"
    "EXAMPLES\n"
    "  npusim compare layer.yaml wider.yaml --die A3\n"
    "  npusim run layer.yaml --out out/a\n"
    "  npusim run layer.yaml --set tn=1024 --out out/b\n"
    "  npusim compare out/a out/b\n"
    "\n" CLI_EXIT_STATUS;

static error_t parse(int key, char *value, struct argp_state *state) {
    compare_args *args = state->input;
    switch (key) {
    case OPTION_JSON:
        args->options.json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (args->shared.operand == NULL)
            args->shared.operand = value;
        else if (args->b == NULL)
            args->b = value;
        else
            return cli_usage_error(&args->shared, "unexpected argument '%s' after '%s'", value,
                                   args->b);
        return value[0] != '\0' ? 0 : cli_usage_error(&args->shared, "A or B is empty");
    case ARGP_KEY_END:
        if (!args->shared.help && args->b == NULL)
            return cli_usage_error(&args->shared, "%s missing",
                                   args->shared.operand == NULL ? "A and B are" : "B is");
        return 0;
    default:
        return cli_parse_shared(key, value, state);
    }
}

static const struct argp argp = {options, parse, "A B", doc, NULL, NULL, NULL};

int cli_compare(int argc, char **argv) {
    compare_args args = {.shared = {.command = "compare", .argp = &argp}};
    npu_error err = {0};
    int status = 0;
    if (!cli_parse(&args.shared, argc, argv, &status))
        return status;
    args.options.input = args.shared.input;
    args.options.a = args.shared.operand;
    args.options.b = args.b;
    return cli_end(&args.shared, npusim_compare(&args.options, stdout, &err), &err);
}
