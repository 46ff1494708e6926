// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "folder.h"
#include "npusim.h"

// Both engines agree to 1e-6 on every time, and summary.json keeps 12 digits.
static const double same_makespan = 2e-6;

static void warn_of_changes(const npu_explained *e, const npu_folder *folder, FILE *warn) {
    const npu_simulated *s = &e->run;
    int rank = folder->rank < s->context.ranks.count ? folder->rank : 0;
    double now = s->results[rank].trace.makespan;
    if (warn == NULL)
        return;
    if (s->context.ranks.graphs[rank].hash != folder->hash)
        fprintf(warn,
                "npusim: warning: %s has changed since the run in %s; what is explained is the "
                "graph as it is now\n",
                folder->input.graph, e->folder);
    else if (fabs(now - folder->makespan) > same_makespan * folder->makespan)
        fprintf(warn,
                "npusim: warning: the run in %s took %.1f us and takes %.1f us now; the die, the "
                "fabric or npusim has changed since\n",
                e->folder, folder->makespan / 1000, now / 1000);
}

npu_status npusim_explain(const npusim_explain_options *options, FILE *report, FILE *warn,
                          npu_error *err) {
    npu_explained e = {.folder = options->folder};
    npu_folder folder;
    npu_status status = npu_folder_read(options->folder, &folder, err);
    folder.input.config = options->config;
    if (!status)
        status = npu_simulated_open(&e.run, &folder.input, err);
    if (!status) {
        warn_of_changes(&e, &folder, warn);
        status = npu_whatifs_run(&e.run, options->progress, &e.whatifs, err);
    }
    if (!status && report != NULL)
        status =
            options->json ? npu_explain_json(&e, report, err) : npu_explain_print(&e, report, err);
    npu_whatifs_free(&e.whatifs);
    npu_simulated_close(&e.run);
    npu_folder_free(&folder);
    return status;
}
