// SPDX-License-Identifier: Apache-2.0
#include "common.h"

enum { OPTION_TO = CLI_OPTION_OWN, OPTION_OUT };

typedef struct convert_args {
    cli_args shared;
    npusim_convert_options options;
} convert_args;

static const struct argp_option options[] = {
    {"to", OPTION_TO, "FORMAT", 0,
     "What to write: g1, g2 or g3, the generations of chip_swimlane_records.json, with the graph "
     "and the names beside it; or perfetto, a Chrome trace. Default: nothing is written.",
     1},
    {"out", OPTION_OUT, "DIR", 0,
     "Write into DIR, which is made when missing; of several ranks, into DIR/rank{r}/d{k}. The "
     "files appear when all are complete. Needed with --to.",
     1},
    CLI_ROW_HELP,
    {0},
};

static const char doc[] =
    "Read swimlane captures, check them, and write them in another form.\n"
    "\n"
    "PATH is a folder of a capture as the runtime lays it out (the files in it, in its "
    "dfx_outputs, or in rank{r}/d{k} below either), the folder of an `npusim run --out`, or one "
    "file: swimlane records, a merged_swimlane.json, or an in-core trace (NAME_trace.json). "
    "Every generation of the records is read, and older names of files, keys and phases. "
    "Without records the merged swimlane stands for them; it holds less.\n"
    "\n"
    "Each capture is checked by the runtime's own rules: order of stamps, rows that overlap, rows "
    "without their mate, rows per task, clusters of MIX blocks, order along edges, and others. "
    "Broken rules are counted, with their first case; they stop nothing.\n"
    "\v"
    "FILES read\n"
    "  chip_swimlane_records.json  times; older names: l2_swimlane_records.json,\n"
    "                              l2_perf_records.json, perf_swimlane_*.json\n"
    "  deps.json, name_map*.json   the graph, the names of its kernels\n"
    "  pmu.csv                     counters of each row, of any event type\n"
    "  scope_stats.jsonl           how full the rings were; also in scope_stats/\n"
    "  merged_swimlane*.json       when there are no records\n"
    "\n"
    "FILES written\n"
    "  chip_swimlane_records.json  g1, g2, g3: read again it is the same capture\n"
    "  deps.json, name_map*.json, pmu.csv, scope_stats.jsonl\n"
    "                              copied beside it\n"
    "  merged_swimlane.json        perfetto: open it at ui.perfetto.dev\n"
    "\n"
    "EXAMPLES\n"
    "  npusim convert dfx_outputs\n"
    "  npusim convert dfx_outputs --to g3 --out out/g3\n"
    "  npusim run qproj.yaml --out out/qproj\n"
    "  npusim convert out/qproj --to g2 --out out/qproj_g2\n"
    "\n" CLI_EXIT_STATUS;

static error_t parse(int key, char *value, struct argp_state *state) {
    convert_args *args = state->input;
    switch (key) {
    case OPTION_TO:
        args->options.to = value;
        return 0;
    case OPTION_OUT:
        args->options.out = value;
        return 0;
    case ARGP_KEY_END:
        if (!args->shared.help && (args->options.to == NULL) != (args->options.out == NULL))
            return cli_usage_error(&args->shared, args->options.to == NULL
                                                      ? "--out needs --to, the form to write"
                                                      : "--to needs --out, the folder to write to");
        return cli_parse_shared(key, value, state);
    default:
        return cli_parse_shared(key, value, state);
    }
}

static const struct argp argp = {options, parse, "PATH", doc, NULL, NULL, NULL};

int cli_convert(int argc, char **argv) {
    convert_args args = {.shared = {.command = "convert", .argp = &argp, .operand_needed = true}};
    npu_error err = {0};
    int status = 0;
    if (!cli_parse(&args.shared, argc, argv, &status))
        return status;
    args.options.path = args.shared.operand;
    return cli_end(&args.shared, npusim_convert(&args.options, stdout, &err), &err);
}
