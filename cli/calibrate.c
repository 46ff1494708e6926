// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <unistd.h>

#include "common.h"

enum {
    OPTION_JOBS = 'j',
    OPTION_CASES = CLI_OPTION_OWN,
    OPTION_FIT,
    OPTION_BOUNDS,
    OPTION_MAP,
    OPTION_EVALUATIONS,
    OPTION_NO_LEAVE_OUT,
    OPTION_OUT,
    OPTION_REPORT,
};

typedef struct calibrate_args {
    cli_args shared;
    npusim_calibrate_options options;
    const char **files, **fits, **bounds;
} calibrate_args;

static const struct argp_option options[] = {
    {"cases", OPTION_CASES, "FILE", 0,
     "A file of cases; those named after it belong to it. Default: all that come with npusim.", 1},
    {"die", CLI_OPTION_DIE, "NAME", 0, "The die to calibrate. Default: A3.", 1},
    {"fit", OPTION_FIT, "NAME,...", 0,
     "The fields to fit, by the names that `npusim die NAME` shows with their section: "
     "l2.miss_latency,mte.per_row. Default: none; the errors of the die are reported.",
     2},
    {"bounds", OPTION_BOUNDS, "NAME=LOW..HIGH", 0,
     "Keep a field in these bounds: l2.miss_latency=500ns..1us. May be given several times. "
     "Default: from a third of the die's value to three times.",
     2},
    {"map", OPTION_MAP, "GRAPH", 0,
     "Of captures: a graph file whose tile programs stand for the kernels of these names, as in "
     "`npusim replay`. Default: every kernel takes its measured time.",
     2},
    {"evaluations", OPTION_EVALUATIONS, "N", 0,
     "Try at most N sets of values in each fit. Default: 200.", 3},
    {"no-leave-out", OPTION_NO_LEAVE_OUT, NULL, 0,
     "Do not fit again without each group of cases, which takes most of the time.", 3},
    {"jobs", OPTION_JOBS, "N", 0,
     "Run N processes at a time. The output does not depend on it. Default: the number of "
     "processors.",
     3},
    {"out", OPTION_OUT, "FILE", 0, "Write the calibrated die into FILE, a .yaml.", 4},
    {"report", OPTION_REPORT, "FILE", 0, "Write all verdicts into FILE as Markdown.", 4},
    CLI_ROW_CONFIGS,
    CLI_ROW_HELP,
    {0},
};

static const char doc[] =
    "Fit numbers of a die to measurements.\n"
    "\n"
    "Looks for the values of the named fields at which the measured cases are predicted best, "
    "with the least mean of |log(predicted / measured)|, and prints them with the errors before "
    "and after. Each group of cases is also predicted by a fit to the others alone: where "
    "that error is much above the one of the fit to all, the values are no property of the die. "
    "Fields that the cases do not determine are named. docs/calibration.md says more.\n"
    "\n"
    "DIR is a folder of captures. They are replayed, and the cases are what each task kind spends "
    "on average between its submit and its finish; every fifth kind is a group.\n"
    "\v"
    "EXAMPLES\n"
    "  npusim calibrate --fit l2.miss_latency,mte.per_row --out fitted.yaml\n"
    "  npusim calibrate --cases my_cases.yaml --die 910B4 --fit hbm.efficiency\n"
    "  npusim calibrate --report accuracy.md\n"
    "  npusim calibrate dfx_outputs --fit aicpu.poll,aicpu.payload,aicpu.resolve,aicpu.submit\n"
    "\n" CLI_EXIT_STATUS;

static error_t take_number(calibrate_args *args, const char *option, long most, const char *value,
                           int *number) {
    char *end = NULL;
    long n = strtol(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end != '\0' || n < 1 || n > most)
        return cli_usage_error(&args->shared, "--%s is a number from 1 to %ld, not '%s'", option,
                               most, value);
    *number = (int)n;
    return 0;
}

static error_t take_file(calibrate_args *args, const char *value) {
    if (value[0] == '\0')
        return cli_usage_error(&args->shared, "FILE is empty");
    args->files[args->options.file_count++] = value;
    return 0;
}

static error_t parse(int key, char *value, struct argp_state *state) {
    calibrate_args *args = state->input;
    npusim_calibrate_options *o = &args->options;
    switch (key) {
    case OPTION_CASES:
    case ARGP_KEY_ARG:
        return take_file(args, value);
    case OPTION_FIT:
        args->fits[o->fit_count++] = value;
        return 0;
    case OPTION_BOUNDS:
        args->bounds[o->bound_count++] = value;
        return 0;
    case OPTION_EVALUATIONS:
        return take_number(args, "evaluations", 1000000, value, &o->evaluations);
    case OPTION_MAP:
        o->map = value;
        return 0;
    case OPTION_JOBS:
        return take_number(args, "jobs", 1024, value, &o->jobs);
    case OPTION_NO_LEAVE_OUT:
        o->no_leave_out = true;
        return 0;
    case OPTION_OUT:
        o->out = value;
        return 0;
    case OPTION_REPORT:
        o->report = value;
        return 0;
    default:
        return cli_parse_shared(key, value, state);
    }
}

static const struct argp argp = {options, parse, "[FILE... | DIR...]", doc, NULL, NULL, NULL};

static int calibrate(calibrate_args *args) {
    npusim_calibrate_options *o = &args->options;
    npu_error err = {0};
    o->files = args->files;
    o->fits = args->fits;
    o->bounds = args->bounds;
    o->config = args->shared.input.config;
    o->die = args->shared.input.die;
    o->progress = isatty(STDERR_FILENO) ? stderr : NULL;
    npu_status result = npusim_calibrate(o, stdout, stderr, &err);
    return cli_end(&args->shared, result, &err);
}

int cli_calibrate(int argc, char **argv) {
    calibrate_args args = {.shared = {.command = "calibrate", .argp = &argp}};
    npu_error err = {0};
    int status = 0;
    size_t words = (size_t)argc + 1;
    args.files = calloc(words, sizeof *args.files);
    args.fits = calloc(words, sizeof *args.fits);
    args.bounds = calloc(words, sizeof *args.bounds);
    if (args.files == NULL || args.fits == NULL || args.bounds == NULL)
        status = cli_end(&args.shared, npu_fail_memory(&err), &err);
    else if (cli_parse(&args.shared, argc, argv, &status))
        status = calibrate(&args);
    free(args.files);
    free(args.fits);
    free(args.bounds);
    return status;
}
