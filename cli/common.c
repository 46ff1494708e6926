// SPDX-License-Identifier: Apache-2.0
#include "common.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "yaml_tree.h"

enum { MAX_OPTIONS = 16, NAME_SIZE = 64 };

static const char *full_name(const cli_args *args, char name[NAME_SIZE]) {
    snprintf(name, NAME_SIZE, "npusim%s%s", args->command != NULL ? " " : "",
             args->command != NULL ? args->command : "");
    return name;
}

error_t cli_usage_error(cli_args *args, const char *fmt, ...) {
    if (args->failed)
        return EINVAL;
    args->failed = true;
    npu_error err = {0}; // npu_fail keeps what the user typed on one line
    char sentence[sizeof err.text];
    va_list list;
    va_start(list, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, list);
    va_end(list);
    npu_fail(&err, NPU_BAD_INPUT, (npu_pos){0}, "%s", sentence);
    size_t length = strlen(err.text);
    bool asks = length > 0 && err.text[length - 1] == '?';
    char name[NAME_SIZE];
    full_name(args, name);
    fprintf(stderr, "%s: %s%s Try '%s --help'.\n", name, err.text, asks ? "" : ".", name);
    return EINVAL;
}

// ---- a look at the options before argp, which would print several lines and no nearest name --

// The row of the long option text[0, length), or NULL.
static const struct argp_option *find_option(const cli_args *args, const char *text,
                                             size_t length) {
    for (const struct argp_option *o = args->argp->options; o->name != NULL; o++)
        if (strlen(o->name) == length && strncmp(o->name, text, length) == 0)
            return o;
    return NULL;
}

static const struct argp_option *find_short(const cli_args *args, char c) {
    for (const struct argp_option *o = args->argp->options; o->name != NULL; o++)
        if (o->key == c)
            return o;
    return NULL;
}

static error_t unknown_option(cli_args *args, const char *text, size_t length) {
    char word[NAME_SIZE], names[MAX_OPTIONS][NAME_SIZE], hint[2 * NAME_SIZE];
    const char *list[MAX_OPTIONS];
    int count = 0, prefixed = -1;
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    for (const struct argp_option *o = args->argp->options; o->name != NULL; o++) {
        assert(count < MAX_OPTIONS);
        snprintf(names[count], NAME_SIZE, "--%s", o->name);
        if (prefixed < 0 && length > 2 && strncmp(names[count], word, strlen(word)) == 0)
            prefixed = count;
        list[count] = names[count];
        count++;
    }
    npu_did_you_mean(word, list, count, hint, sizeof hint);
    if (hint[0] == '\0' && prefixed >= 0)
        snprintf(hint, sizeof hint, "; did you mean '%s'?", names[prefixed]);
    return cli_usage_error(args, "unknown option '%.*s'%s", (int)length, text, hint);
}

// "-h", or "-j4": letters up to one that takes a value.
static error_t check_short(cli_args *args, char **argv, int i, bool *skip) {
    const char *text = argv[i];
    for (const char *c = text + 1; *c != '\0'; c++) {
        const struct argp_option *o = find_short(args, *c);
        if (o == NULL)
            return unknown_option(args, text, strlen(text));
        if (o->arg == NULL)
            continue;
        *skip = c[1] == '\0';
        if (*skip && (argv[i + 1] == NULL || argv[i + 1][0] == '\0'))
            return cli_usage_error(args, "the option -%c needs a value: -%c %s", *c, *c, o->arg);
        return 0;
    }
    return 0;
}

// Looks at argv[i]; *skip: the next word is its value.
static error_t check_option(cli_args *args, char **argv, int i, bool *skip) {
    const char *text = argv[i];
    *skip = false;
    if (text[0] != '-' || text[1] == '\0')
        return 0;
    if (text[1] != '-')
        return check_short(args, argv, i, skip);
    size_t length = strcspn(text, "=");
    const struct argp_option *o = find_option(args, text + 2, length - 2);
    if (o == NULL)
        return unknown_option(args, text, length);
    if (o->arg == NULL && text[length] == '=')
        return cli_usage_error(args, "the option --%s takes no value", o->name);
    *skip = o->arg != NULL && text[length] == '\0';
    const char *value = *skip ? argv[i + 1] : text + length + 1; // argv ends in NULL
    if (o->arg != NULL && (value == NULL || value[0] == '\0'))
        return cli_usage_error(args, "the option --%s needs a value: --%s=%s", o->name, o->name,
                               o->arg);
    return 0;
}

// npusim itself ends at the command's name: what follows is the command's.
static error_t check_options(cli_args *args, int argc, char **argv) {
    error_t failed = 0;
    bool skip = false;
    for (int i = 1; i < argc && !failed && strcmp(argv[i], "--") != 0; i += skip ? 2 : 1) {
        if (args->command == NULL && argv[i][0] != '-')
            break;
        failed = check_option(args, argv, i, &skip);
    }
    return failed;
}

// ---- parsing -------------------------------------------------------------------------------

static error_t take_operand(cli_args *args, const char *value) {
    const char *what = args->argp->args_doc;
    if (what == NULL)
        return cli_usage_error(args, "unexpected argument '%s'", value);
    if (value[0] == '\0')
        return cli_usage_error(args, "%s is empty", what);
    if (args->operand != NULL)
        return cli_usage_error(args, "unexpected argument '%s' after '%s'", value, args->operand);
    args->operand = value;
    return 0;
}

static error_t take_l2(cli_args *args, const char *value) {
    args->input.l2_warm = strcmp(value, "warm") == 0;
    if (args->input.l2_warm || strcmp(value, "cold") == 0)
        return 0;
    return cli_usage_error(args, "--l2 is cold or warm, not '%s'", value);
}

error_t cli_take_jobs(cli_args *args, const char *value, int *jobs) {
    char *end = NULL;
    long number = strtol(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end != '\0' || number < 1 || number > 1024)
        return cli_usage_error(args, "--jobs is a number from 1 to 1024, not '%s'", value);
    *jobs = (int)number;
    return 0;
}

error_t cli_parse_shared(int key, char *value, struct argp_state *state) {
    cli_args *args = state->input;
    switch (key) {
    case CLI_HELP:
        args->help = true;
        return 0;
    case CLI_OPTION_DIE:
        args->input.die = value;
        return 0;
    case CLI_OPTION_CONFIGS:
        args->input.config = value;
        return 0;
    case CLI_OPTION_SET:
        args->sets[args->input.set_count++] = value;
        return 0;
    case CLI_OPTION_ENGINE:
        args->input.engine = value;
        return 0;
    case CLI_OPTION_FABRIC:
        args->input.fabric = value;
        return 0;
    case CLI_OPTION_L2:
        return take_l2(args, value);
    case ARGP_KEY_ARG:
        return take_operand(args, value);
    case ARGP_KEY_END:
        if (args->operand == NULL && args->operand_needed && !args->help)
            return cli_usage_error(args, "%s is missing", args->argp->args_doc);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static npu_status print_help(const cli_args *args) {
    char name[NAME_SIZE];
    full_name(args, name);
    argp_help(args->argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
    return NPU_OK;
}

bool cli_parse(cli_args *args, int argc, char **argv, int *status) {
    args->sets = calloc((size_t)argc + 1, sizeof *args->sets);
    if (args->sets == NULL) {
        npu_error err = {0};
        *status = cli_end(args, npu_fail_memory(&err), &err);
        return false;
    }
    args->input.sets = args->sets;
    error_t failed = check_options(args, argc, argv);
    if (!failed) // the last flag: npusim itself stops at the command
        failed = argp_parse(args->argp, argc, argv,
                            ARGP_NO_ERRS | ARGP_NO_HELP | ARGP_NO_EXIT |
                                (args->command == NULL ? ARGP_IN_ORDER : 0),
                            NULL, args);
    if (!failed && !args->help)
        return true;
    npu_error err = {0};
    if (failed == ENOMEM)
        *status = cli_end(args, npu_fail_memory(&err), &err);
    else if (failed)
        *status = cli_end(args, NPU_BAD_INPUT, &err);
    else
        *status = cli_end(args, print_help(args), &err);
    return false;
}

// ---- the end of a command ------------------------------------------------------------------

// Nothing is printed when cli_usage_error has spoken, that is when the text is empty.
static void print_error(const npu_error *err) {
    if (err->text[0] != '\0')
        fprintf(stderr, "%s%s\n", npu_has_place(err->text) ? "" : "npusim: ", err->text);
}

int cli_end(cli_args *args, npu_status status, const npu_error *err) {
    free(args->sets);
    args->sets = NULL;
    errno = 0;
    bool written = fflush(stdout) == 0 && !ferror(stdout);
    if (status == NPU_OK && !written) {
        status = NPU_IO;
        fprintf(stderr, "npusim: cannot write to standard output: %s\n",
                errno != 0 ? strerror(errno) : "an earlier write failed");
    } else if (status != NPU_OK) {
        print_error(err);
    }
    return (int)status;
}
