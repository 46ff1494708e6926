// SPDX-License-Identifier: Apache-2.0
// `npusim`: finds the command and hands it the rest of the command line.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common.h"
#include "yaml_tree.h"

typedef struct main_args {
    cli_args shared;
    int command; // its index in argv, 0: none given
    bool version;
} main_args;

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"run", cli_run},           {"check", cli_check},         {"die", cli_die},
    {"selftest", cli_selftest}, {"bench", cli_bench},         {"plot", cli_plot},
    {"validate", cli_validate}, {"calibrate", cli_calibrate}, {"convert", cli_convert},
    {"replay", cli_replay},     {"explain", cli_explain},     {"compare", cli_compare},
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static const struct argp_option options[] = {
    CLI_ROW_HELP,
    {"version", CLI_VERSION, NULL, 0, "Print the version and exit.", 9},
    {0},
};

static const char doc[] =
    "Predict how long a task graph takes on an Ascend A2/A3 die.\n"
    "\n"
    "Commands:\n"
    "  run GRAPH      simulate a task graph and report how long it takes\n"
    "  check GRAPH    check a task graph without running it\n"
    "  explain DIR    say where the time of a run went, and what would save it\n"
    "  compare A B    say what moved between two runs or graphs\n"
    "  die NAME       print a die; --list: all that there are\n"
    "  selftest       compare a modelled die with its own peaks\n"
    "  validate       compare predictions with measurements\n"
    "  calibrate      fit numbers of a die to measurements\n"
    "  bench [GRAPH]  measure the simulator itself\n"
    "  plot DIR       draw the swimlane of a run\n"
    "  convert PATH   read, check and convert swimlane captures\n"
    "  replay DIR     carry out a captured graph by the model, and compare\n"
    "  help COMMAND   the same as COMMAND --help\n"
    "\v"
    "EXAMPLES\n"
    "  npusim check qproj.yaml\n"
    "  npusim run qproj.yaml --set tn=512 --out out/qproj\n"
    "  npusim help run\n"
    "\n" CLI_EXIT_STATUS;

static error_t parse(int key, char *value, struct argp_state *state) {
    main_args *args = state->input;
    switch (key) {
    case CLI_VERSION:
        args->version = true;
        return 0;
    case ARGP_KEY_ARG:
        args->command = state->next - 1;
        state->next = state->argc; // what follows is the command's
        return 0;
    case ARGP_KEY_END:
        if (args->command == 0 && !args->version && !args->shared.help)
            return cli_usage_error(&args->shared, "a command is missing");
        return 0;
    default:
        return cli_parse_shared(key, value, state);
    }
}

static const struct argp argp = {options, parse, "COMMAND [ARGUMENT...]", doc, NULL, NULL, NULL};

static int find_command(cli_args *args, const char *name) {
    const char *names[COMMAND_COUNT + 1];
    for (int i = 0; i < COMMAND_COUNT; i++) {
        names[i] = commands[i].name;
        if (strcmp(commands[i].name, name) == 0)
            return i;
    }
    names[COMMAND_COUNT] = "help";
    char hint[64];
    npu_did_you_mean(name, names, COMMAND_COUNT + 1, hint, sizeof hint);
    cli_usage_error(args, "unknown command '%s'%s", name, hint);
    return -1;
}

// `npusim help [COMMAND]`: argv[0] is "help".
static int help(int argc, char **argv) {
    static char self[] = "npusim", option[] = "--help";
    main_args args = {.shared = {.argp = &argp}};
    int status = NPU_BAD_INPUT;
    if (argc > 2) {
        cli_usage_error(&args.shared, "unexpected argument '%s' after '%s'", argv[2], argv[1]);
        return status;
    }
    const char *name = argc > 1 ? argv[1] : "help";
    if (strcmp(name, "help") == 0 || strcmp(name, option) == 0 || strcmp(name, "-h") == 0) {
        cli_parse(&args.shared, 2, (char *[]){self, option, NULL}, &status);
        return status;
    }
    int command = find_command(&args.shared, name);
    return command < 0 ? status : commands[command].run(2, (char *[]){argv[1], option, NULL});
}

// A file opened while standard output is closed would get its number, and then the report.
// Writes to a file open for reading only fail, as they should.
static void keep_standard_files(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDONLY) < 0)
            return;
}

int main(int argc, char **argv) {
    main_args args = {.shared = {.argp = &argp}};
    npu_error err = {0};
    int status = 0;
    keep_standard_files();
    if (!cli_parse(&args.shared, argc, argv, &status))
        return status;
    if (args.version) {
        printf("npusim %s\n", NPUSIM_VERSION);
        return cli_end(&args.shared, NPU_OK, &err);
    }
    cli_end(&args.shared, NPU_OK, &err);
    argc -= args.command;
    argv += args.command;
    if (strcmp(argv[0], "help") == 0)
        return help(argc, argv);
    int command = find_command(&args.shared, argv[0]);
    return command < 0 ? NPU_BAD_INPUT : commands[command].run(argc, argv);
}
