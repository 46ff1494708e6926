// SPDX-License-Identifier: Apache-2.0
#include "compare.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "npusim.h"
#include "run_folder.h"

// ---- what is compared ----------------------------------------------------------------------

static bool is_folder(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

// A run that cannot be had again must not be compared: it would be another graph's.
static npu_status open_folder(const char *path, const char *config, npu_run_folder *folder,
                              npu_simulated *run, npu_error *err) {
    npu_status status = npu_run_folder_read(path, folder, err);
    folder->input.config = config;
    if (!status)
        status = npu_simulated_open(run, &folder->input, err);
    char text[1024];
    if (!status && npu_run_folder_changed(folder, path, run, text, sizeof text))
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0},
                        "%s; keep a copy of each version and compare these", text);
    return status;
}

static npu_status open_graph(const char *path, const npusim_input *shared, npu_simulated *run,
                             npu_error *err) {
    npusim_input input = *shared;
    input.graph = path;
    return npu_simulated_open(run, &input, err);
}

static npu_status check_kinds(const npusim_compare_options *options, bool folders[2],
                              npu_error *err) {
    const npusim_input *in = &options->input;
    assert(options->a != NULL && options->b != NULL);
    folders[0] = is_folder(options->a);
    folders[1] = is_folder(options->b);
    if (folders[0] != folders[1])
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0},
                        "%s is the folder of a run and %s a graph: compare two of a kind",
                        folders[0] ? options->a : options->b, folders[0] ? options->b : options->a);
    bool set = in->die != NULL || in->set_count > 0 || in->l2_warm || in->fabric != NULL;
    if (folders[0] && set)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0},
                        "a run has its die and its settings already; give them with graphs only");
    return NPU_OK;
}

// ---- kernels -------------------------------------------------------------------------------

static npu_moved *find_kernel(npu_compared *c, const char *name) {
    assert(name != NULL); // a function with rows has one
    for (int i = 0; i < c->kernel_count; i++)
        if (strcmp(c->kernels[i].name, name) == 0)
            return &c->kernels[i];
    npu_moved *added = &c->kernels[c->kernel_count++];
    *added = (npu_moved){.name = name};
    return added;
}

static double core_time(const npu_kernel_metrics *kernel) {
    return kernel != NULL ? kernel->core_time : 0;
}

static int by_move(const void *a, const void *b) {
    const npu_moved *x = a, *y = b;
    double wall[2] = {fabs(x->wall[1] - x->wall[0]), fabs(y->wall[1] - y->wall[0])};
    double core[2] = {fabs(core_time(x->kernel[1]) - core_time(x->kernel[0])),
                      fabs(core_time(y->kernel[1]) - core_time(y->kernel[0]))};
    if (wall[0] != wall[1])
        return wall[0] > wall[1] ? -1 : 1;
    if (core[0] != core[1])
        return core[0] > core[1] ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool differs(double a, double b) {
    return fabs(a - b) > 1e-6 * (1 + fabs(a));
}

static bool has_moved(const npu_moved *m) {
    const npu_kernel_metrics *a = m->kernel[0], *b = m->kernel[1];
    return a == NULL || b == NULL || a->tasks != b->tasks || a->blocks != b->blocks ||
           differs(a->core_time, b->core_time) || differs(m->wall[0], m->wall[1]);
}

static npu_status match_kernels(npu_compared *c, npu_error *err) {
    int most = c->run[0].metrics.kernel_count + c->run[1].metrics.kernel_count;
    c->kernel_count = 0;
    c->kernels = calloc((size_t)most + 1, sizeof *c->kernels);
    if (c->kernels == NULL)
        return npu_fail_memory(err);
    for (int i = 0; i < 2; i++) {
        const npu_metrics *m = &c->run[i].metrics;
        for (int k = 0; k < m->kernel_count; k++)
            if (m->kernels[k].rows > 0)
                find_kernel(c, m->kernels[k].name)->kernel[i] = &m->kernels[k];
        for (int l = 0; l < m->chain_count; l++) {
            const npu_task *task = &npu_simulated_graph(&c->run[i])->tasks[m->chain[l].task];
            find_kernel(c, m->kernels[task->func].name)->wall[i] +=
                m->chain[l].exec + m->chain[l].wait;
        }
    }
    qsort(c->kernels, (size_t)c->kernel_count, sizeof *c->kernels, by_move);
    for (int i = 0; i < c->kernel_count; i++)
        c->moved += has_moved(&c->kernels[i]);
    return NPU_OK;
}

// ---- all together --------------------------------------------------------------------------

npu_status npusim_compare(const npusim_compare_options *options, FILE *report, npu_error *err) {
    npu_compared c = {.name = {options->a, options->b}};
    npu_run_folder folders[2] = {{.rank = 0}, {.rank = 0}};
    bool are_folders[2];
    npu_status status = check_kinds(options, are_folders, err);
    for (int i = 0; i < 2 && !status; i++)
        status = are_folders[i]
                     ? open_folder(c.name[i], options->input.config, &folders[i], &c.run[i], err)
                     : open_graph(c.name[i], &options->input, &c.run[i], err);
    if (!status)
        status = match_kernels(&c, err);
    if (!status)
        status = npu_find_part(&c.run[0], &c.run[1], &c.part, err);
    if (!status && report != NULL && options->json)
        status = npu_compare_json(&c, report, err);
    else if (!status && report != NULL)
        npu_compare_print(&c, report);
    free(c.kernels);
    for (int i = 0; i < 2; i++) {
        npu_simulated_close(&c.run[i]);
        npu_run_folder_free(&folders[i]);
    }
    return status;
}
