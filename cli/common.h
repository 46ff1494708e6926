// SPDX-License-Identifier: Apache-2.0
// What the commands of `npusim` share: options, how a wrong command line is reported, and how
// a command ends. A command parses its arguments into a struct that begins with a cli_args,
// fills the options of one npusim_ call and makes it.
#ifndef NPU_CLI_COMMON_H
#define NPU_CLI_COMMON_H

#include <argp.h>
#include <stdbool.h>

#include "npusim.h"

// Keys of the options; `h` and `V` also have their short form.
enum {
    CLI_HELP = 'h',
    CLI_VERSION = 'V',
    CLI_OPTION_DIE = 0x100,
    CLI_OPTION_CONFIGS,
    CLI_OPTION_SET,
    CLI_OPTION_ENGINE,
    CLI_OPTION_L2,
    CLI_OPTION_FABRIC,
    CLI_OPTION_OWN, // the first key a command may use for itself
};

// Rows of an argp_option table. The last number orders the help.
#define CLI_ROW_HELP                                                                               \
    { "help", CLI_HELP, NULL, 0, "Print this help and exit.", 9 }
#define CLI_ROW_DIE                                                                                \
    {                                                                                              \
        "die", CLI_OPTION_DIE, "NAME", 0,                                                          \
            "The die: a name that `npusim die --list` shows, or the path of a .yaml file. "        \
            "Default: A3.",                                                                        \
            1                                                                                      \
    }
#define CLI_ROW_CONFIGS                                                                            \
    {                                                                                              \
        "configs", CLI_OPTION_CONFIGS, "DIR", 0,                                                   \
            "The folder with die/ and kernels/. Default: $NPUSIM_CONFIGS, else what was "          \
            "installed with "                                                                      \
            "npusim.",                                                                             \
            5                                                                                      \
    }
#define CLI_ROW_SET                                                                                \
    {                                                                                              \
        "set", CLI_OPTION_SET, "NAME=VALUE", 0,                                                    \
            "Give the graph's parameter NAME another value: an integer or an expression "          \
            "(tn=2*256). "                                                                         \
            "May be given several times. Default: what the graph says.",                           \
            2                                                                                      \
    }
#define CLI_ROW_ENGINE                                                                             \
    {                                                                                              \
        "engine", CLI_OPTION_ENGINE, "NAME", 0,                                                    \
            "How shared rates are simulated: fluid, or simgrid, the slow reference. Default: "     \
            "fluid.",                                                                              \
            3                                                                                      \
    }
#define CLI_ROW_L2                                                                                 \
    {                                                                                              \
        "l2", CLI_OPTION_L2, "STATE", 0,                                                           \
            "Where weights and inputs are when the run starts: cold (in HBM) or warm (in L2). "    \
            "Default: cold.",                                                                      \
            2                                                                                      \
    }
#define CLI_ROW_FABRIC                                                                             \
    {                                                                                              \
        "fabric", CLI_OPTION_FABRIC, "NAME", 0,                                                    \
            "What joins the dies of a graph with several ranks: a name in fabric/ of the "         \
            "configs, or the path of a SimGrid platform (.xml). Default: what the graph says.",    \
            2                                                                                      \
    }

#define CLI_EXIT_STATUS                                                                            \
    "EXIT STATUS\n"                                                                                \
    "  0  done\n"                                                                                  \
    "  2  the command line or the content of a file is wrong\n"                                    \
    "  3  a file could not be read or written\n"                                                   \
    "  4  out of memory"

typedef struct cli_args {
    const char *command;     // its name, "run"; NULL: npusim itself
    const struct argp *argp; // its options and its help
    const char *operand;     // what stands for args_doc (GRAPH, DIR); NULL: nothing
    bool operand_needed;
    npusim_input input; // what the shared options say; `graph` is not filled
    bool help;
    bool failed; // a mistake has been reported
    const char **sets;
} cli_args;

// Reads the command line; argv[0] is not looked at. True: the command can go on. Otherwise
// *status is its exit status: the help was printed, or a mistake was reported.
// `args` begins the struct that the parser functions get as `state->input`.
bool cli_parse(cli_args *args, int argc, char **argv, int *status);

// Parser of the shared options and of the operand: what a command's own parser calls for the
// keys it does not know.
error_t cli_parse_shared(int key, char *value, struct argp_state *state);

// The value of --jobs.
error_t cli_take_jobs(cli_args *args, const char *value, int *jobs);

// Reports a wrong command line in one line, "npusim run: SENTENCE. Try 'npusim run --help'.";
// returns EINVAL for a parser to return.
error_t cli_usage_error(cli_args *args, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// Ends a command: reports the error of its call or a failed write to stdout, frees what
// cli_parse allocated, and returns the exit status.
int cli_end(cli_args *args, npu_status status, const npu_error *err);

// One function per command; argv[0] is the command's name. The exit status.
int cli_run(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_die(int argc, char **argv);
int cli_selftest(int argc, char **argv);
int cli_validate(int argc, char **argv);
int cli_calibrate(int argc, char **argv);
int cli_bench(int argc, char **argv);
int cli_plot(int argc, char **argv);
int cli_convert(int argc, char **argv);
int cli_replay(int argc, char **argv);
int cli_explain(int argc, char **argv);
int cli_compare(int argc, char **argv);

#endif
