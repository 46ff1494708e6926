// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "common.h"

enum {
    OPTION_MAP = CLI_OPTION_OWN,
    OPTION_COST,
    OPTION_ORDER,
    OPTION_RECORDER,
    OPTION_JSON,
    OPTION_HTML,
    OPTION_OUT
};

typedef struct replay_args {
    cli_args shared;
    npusim_replay_options options;
    const char *map;
} replay_args;

static const struct argp_option options[] = {
    CLI_ROW_DIE,
    {"cost", OPTION_COST, "WHOSE", 0,
     "Whose times the kernels take: measured, each block's own of the capture, which asks whether "
     "dispatch and graph are modelled right; or model, those of the tile programs in --map, which "
     "asks the same of the kernels. Default: measured.",
     2},
    {"order", OPTION_ORDER, "WHOSE", 0,
     "Who places the blocks: model, the modelled dispatch; or measured: each block on its core of "
     "the capture, behind the same one. Default: model.",
     2},
    {"map", OPTION_MAP, "GRAPH", 0,
     "A graph file (docs/graphs.md) whose tasks are called like kernels of the capture. The n-th "
     "task of a kernel takes the tile program and the arguments of the n-th of that name. Kernels "
     "that it does not name keep their measured times. Needed with --cost model.",
     2},
    {"recorder", OPTION_RECORDER, "STATE", 0,
     "Is the time modelled that recording the swimlane cost the device: on or off? Default: on, "
     "but off for the folder of an `npusim run`.",
     2},
    {"json", OPTION_JSON, "FILE", 0, "Write the report into FILE for machines.", 4},
    {"html", OPTION_HTML, "FILE", 0,
     "Write the report into FILE as one page that holds its pictures. Needs gnuplot.", 4},
    {"out", OPTION_OUT, "DIR", 0,
     "Write replay.json, replay.html, the pictures swimlanes.png and kernels.png, and "
     "replay_swimlane.json, both runs above each other for ui.perfetto.dev. Needs gnuplot.",
     4},
    CLI_ROW_SET,
    CLI_ROW_L2,
    CLI_ROW_ENGINE,
    CLI_ROW_CONFIGS,
    CLI_ROW_HELP,
    {0},
};

static const char doc[] =
    "Carry out a captured task graph by the model, and compare.\n"
    "\n"
    "DIR is a capture as `npusim convert` reads it, with its deps.json. The same tasks are "
    "submitted, dispatched and run on the modelled die. The report compares the time from the "
    "first dispatch to the last finish, kernel by kernel and cause by cause, and tells where the "
    "two schedules part and when cores are idle while work is ready.\n"
    "\v"
    "EXAMPLES\n"
    "  npusim replay dfx_outputs --die A3\n"
    "  npusim replay dfx_outputs --order measured --out compared\n"
    "  npusim replay dfx_outputs --cost model --map layer.yaml\n"
    "\n" CLI_EXIT_STATUS;

// One of two words.
static error_t take_word(replay_args *args, const char *option, const char *value, const char *yes,
                         const char *no, bool *is_yes) {
    *is_yes = strcmp(value, yes) == 0;
    if (*is_yes || strcmp(value, no) == 0)
        return 0;
    return cli_usage_error(&args->shared, "--%s is measured or model, not '%s'", option, value);
}

static error_t take_recorder(replay_args *args, const char *value) {
    bool on = strcmp(value, "on") == 0;
    if (!on && strcmp(value, "off") != 0)
        return cli_usage_error(&args->shared, "--recorder is on or off, not '%s'", value);
    args->options.recorder = on ? NPUSIM_RECORDER_ON : NPUSIM_RECORDER_OFF;
    return 0;
}

static error_t take_path(replay_args *args, const char *option, const char *value,
                         const char **path) {
    if (value[0] == '\0')
        return cli_usage_error(&args->shared, "--%s has an empty name", option);
    *path = value;
    return 0;
}

static error_t parse(int key, char *value, struct argp_state *state) {
    replay_args *args = state->input;
    switch (key) {
    case OPTION_MAP:
        args->map = value;
        return 0;
    case OPTION_COST:
        return take_word(args, "cost", value, "model", "measured", &args->options.cost_model);
    case OPTION_ORDER:
        return take_word(args, "order", value, "measured", "model", &args->options.order_measured);
    case OPTION_RECORDER:
        return take_recorder(args, value);
    case OPTION_JSON:
        return take_path(args, "json", value, &args->options.json);
    case OPTION_HTML:
        return take_path(args, "html", value, &args->options.html);
    case OPTION_OUT:
        return take_path(args, "out", value, &args->options.out);
    case ARGP_KEY_END:
        if (!args->shared.help && args->options.cost_model != (args->map != NULL))
            return cli_usage_error(&args->shared,
                                   args->map == NULL
                                       ? "--cost model needs --map, the kernels' tile programs"
                                       : "--map needs --cost model, which uses it");
        return cli_parse_shared(key, value, state);
    default:
        return cli_parse_shared(key, value, state);
    }
}

static const struct argp argp = {options, parse, "DIR", doc, NULL, NULL, NULL};

int cli_replay(int argc, char **argv) {
    replay_args args = {.shared = {.command = "replay", .argp = &argp, .operand_needed = true}};
    npu_error err = {0};
    int status = 0;
    if (!cli_parse(&args.shared, argc, argv, &status))
        return status;
    args.options.input = args.shared.input;
    args.options.input.graph = args.map;
    args.options.path = args.shared.operand;
    return cli_end(&args.shared, npusim_replay(&args.options, stdout, stderr, NULL, &err), &err);
}
