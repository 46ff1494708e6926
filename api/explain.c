// SPDX-License-Identifier: Apache-2.0
#include "explain.h"
#include "npusim.h"
#include "run_folder.h"

npu_status npusim_explain(const npusim_explain_options *options, FILE *report, FILE *warn,
                          npu_error *err) {
    npu_explained e = {.folder = options->folder};
    npu_run_folder folder;
    npu_status status = npu_run_folder_read(options->folder, &folder, err);
    folder.input.config = options->config;
    if (!status)
        status = npu_simulated_open(&e.run, &folder.input, err);
    if (!status) {
        char text[1024];
        if (warn != NULL && npu_run_folder_changed(&folder, e.folder, &e.run, text, sizeof text))
            fprintf(warn, "npusim: warning: %s; this explains it as it is now\n", text);
        status = npu_whatifs_run(&e.run, options->jobs, options->progress, &e.whatifs, err);
    }
    if (!status && report != NULL)
        status =
            options->json ? npu_explain_json(&e, report, err) : npu_explain_print(&e, report, err);
    npu_whatifs_free(&e.whatifs);
    npu_simulated_close(&e.run);
    npu_run_folder_free(&folder);
    return status;
}
