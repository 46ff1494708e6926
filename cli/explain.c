// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "common.h"

enum { OPTION_JSON = CLI_OPTION_OWN, OPTION_JOBS = 'j' };

typedef struct explain_args {
    cli_args shared;
    npusim_explain_options options;
} explain_args;

static const struct argp_option options[] = {
    {"json", OPTION_JSON, NULL, 0, "Print JSON instead of text, with every gap and what-if.", 4},
    {"jobs", OPTION_JOBS, "N", 0,
     "How many what-ifs to simulate at a time. The output does not depend on it. Default: as many "
     "as there are processors.",
     4},
    CLI_ROW_CONFIGS,
    CLI_ROW_HELP,
    {0},
};

static const char doc[] =
    "Explain where the time of a run went.\n"
    "\n"
    "DIR is what `npusim run --out DIR` has written. The run is simulated again from what its "
    "summary.json records, on the fluid engine; when the graph or the makespan is not what it was, "
    "a warning says so. Of several ranks the slowest is explained.\n"
    "\v"
    "THE REPORT\n"
    "  Critical path    observed: back from the last end, what each block waited\n"
    "                   for; static: the longest path of tasks, each as long as it was\n"
    "  Observed path    time lost per cause: finish detection, submit, ready but\n"
    "                   undispatched, pick-up\n"
    "  Each gap of it   the same for every gap, with the block that followed\n"
    "  Core time        against wall time: what a kernel costs cores, and what it\n"
    "                   adds to the makespan\n"
    "  Cores            what the cores did all the time\n"
    "  What if          the ten changes that save most, each simulated\n"
    "\n"
    "EXAMPLES\n"
    "  npusim run layer.yaml --out out/layer\n"
    "  npusim explain out/layer\n"
    "  npusim explain out/layer --json > explained.json\n"
    "\n" CLI_EXIT_STATUS;

static error_t parse(int key, char *value, struct argp_state *state) {
    explain_args *args = state->input;
    if (key == OPTION_JOBS)
        return cli_take_jobs(&args->shared, value, &args->options.jobs);
    if (key == OPTION_JSON) {
        args->options.json = true;
        return 0;
    }
    return cli_parse_shared(key, value, state);
}

static const struct argp argp = {options, parse, "DIR", doc, NULL, NULL, NULL};

int cli_explain(int argc, char **argv) {
    explain_args args = {.shared = {.command = "explain", .argp = &argp, .operand_needed = true}};
    npu_error err = {0};
    int status = 0;
    if (!cli_parse(&args.shared, argc, argv, &status))
        return status;
    args.options.folder = args.shared.operand;
    args.options.config = args.shared.input.config;
    args.options.progress = isatty(STDERR_FILENO) ? stderr : NULL;
    return cli_end(&args.shared, npusim_explain(&args.options, stdout, stderr, &err), &err);
}
