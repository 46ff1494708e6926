// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"

enum {
    OPTION_JOBS = 'j',
    OPTION_CSV = CLI_OPTION_OWN,
    OPTION_JSON,
    OPTION_PLOT,
    OPTION_BASELINE,
    OPTION_WRITE_BASELINE,
    OPTION_BRIEF,
};

typedef struct validate_args {
    cli_args shared;
    npusim_validate_options options;
    const char **files;
} validate_args;

static const struct argp_option options[] = {
    {"die", CLI_OPTION_DIE, "NAME", 0,
     "Simulate all cases on this die instead of those that they name.", 1},
    CLI_ROW_ENGINE,
    {"jobs", OPTION_JOBS, "N", 0,
     "Simulate N cases at a time, each in a process of its own. The output does not depend on it. "
     "Default: the number of processors.",
     3},
    {"brief", OPTION_BRIEF, NULL, 0, "Print the scores only, without a line per figure.", 4},
    {"csv", OPTION_CSV, "FILE", 0, "Write the figures as comma-separated values.", 4},
    {"json", OPTION_JSON, "FILE", 0, "Write the figures, the pairs and the scores as JSON.", 4},
    {"plot", OPTION_PLOT, "FILE", 0, "Draw predicted over measured into FILE, a .png, by gnuplot.",
     4},
    {"baseline", OPTION_BASELINE, "FILE", 0,
     "Compare with the predictions in FILE: one that moved by more than 0.1%, or whose error grew "
     "by more than 1 percentage point, is reported and ends in status 1.",
     4},
    {"write-baseline", OPTION_WRITE_BASELINE, "FILE", 0, "Write the predictions into FILE.", 4},
    CLI_ROW_CONFIGS,
    CLI_ROW_HELP,
    {0},
};

static const char doc[] =
    "Compare predictions with measurements.\n"
    "\n"
    "Simulates the measured cases in FILE... (default: all that come with npusim) and prints what "
    "the device gave, what is predicted, and the error. Each group of cases and all together get "
    "three verdicts, which are never merged: the error of the figures, the direction and error "
    "of the ratio between variants, and whether the best variant is found. Beside them stands "
    "how many of the rows known could be simulated. docs/validation.md describes the files.\n"
    "\v"
    "EXAMPLES\n"
    "  npusim validate --brief\n"
    "  npusim validate my_cases.yaml --die 910B4 --plot my_cases.png\n"
    "  npusim validate --write-baseline before.txt\n"
    "  npusim validate --baseline before.txt --json now.json\n"
    "\n"
    "EXIT STATUS\n"
    "  0  done, and every figure is in the band that it declares\n"
    "  1  a figure leaves its band, or is worse than the baseline\n"
    "  2  the command line or a case is wrong; the other cases were simulated\n"
    "  3  a file could not be read or written\n"
    "  4  out of memory";

static error_t take_file(validate_args *args, const char *value) {
    if (value[0] == '\0')
        return cli_usage_error(&args->shared, "FILE is empty");
    args->files[args->options.file_count++] = value;
    return 0;
}

static error_t parse(int key, char *value, struct argp_state *state) {
    validate_args *args = state->input;
    npusim_validate_options *o = &args->options;
    switch (key) {
    case OPTION_JOBS:
        return cli_take_jobs(&args->shared, value, &args->options.jobs);
    case OPTION_CSV:
        o->csv = value;
        return 0;
    case OPTION_JSON:
        o->json = value;
        return 0;
    case OPTION_PLOT:
        o->plot = value;
        return 0;
    case OPTION_BASELINE:
        o->baseline = value;
        return 0;
    case OPTION_WRITE_BASELINE:
        o->write_baseline = value;
        return 0;
    case OPTION_BRIEF:
        o->brief = true;
        return 0;
    case ARGP_KEY_ARG:
        return take_file(args, value);
    default:
        return cli_parse_shared(key, value, state);
    }
}

static const struct argp argp = {options, parse, "[FILE...]", doc, NULL, NULL, NULL};

static int validate(validate_args *args) {
    npusim_validate_options *o = &args->options;
    npusim_validation found = {0};
    npu_error err = {0};
    o->files = args->files;
    o->config = args->shared.input.config;
    o->engine = args->shared.input.engine;
    o->die = args->shared.input.die;
    o->progress = isatty(STDERR_FILENO) ? stderr : NULL;
    npu_status result = npusim_validate(o, stdout, stderr, &found, &err);
    int status = cli_end(&args->shared, result, &err);
    return status == 0 && found.outside + found.regressed > 0 ? 1 : status;
}

int cli_validate(int argc, char **argv) {
    validate_args args = {.shared = {.command = "validate", .argp = &argp}};
    npu_error err = {0};
    int status = 0;
    args.files = calloc((size_t)argc + 1, sizeof *args.files);
    if (args.files == NULL)
        return cli_end(&args.shared, npu_fail_memory(&err), &err);
    if (cli_parse(&args.shared, argc, argv, &status))
        status = validate(&args);
    free(args.files);
    return status;
}
