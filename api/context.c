// SPDX-License-Identifier: Apache-2.0
#include "context.h"

#include <stdio.h>
#include <string.h>

#include "yaml_tree.h"

npu_status npu_engine_choice(const char *name, npu_engine_kind *kind, npu_error *err) {
    *kind = NPU_ENGINE_FLUID;
    if (name == NULL)
        return NPU_OK;
    for (int i = 0; i < 2; i++) {
        if (strcmp(npu_engine_names[i], name) == 0) {
            *kind = (npu_engine_kind)i;
            return NPU_OK;
        }
    }
    char hint[64];
    return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "unknown engine '%s'%s", name,
                    npu_did_you_mean(name, npu_engine_names, 2, hint, sizeof hint));
}

static npu_status find_config(npu_context *context, const npusim_input *input, npu_error *err) {
    if (input->config == NULL)
        return npusim_config_folder(context->config, sizeof context->config, err);
    int n = snprintf(context->config, sizeof context->config, "%s", input->config);
    if (n < 0 || n >= (int)sizeof context->config)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "the config folder's path is too long");
    return NPU_OK;
}

static npu_status load(npu_context *context, const npusim_input *input, npu_error *err) {
    char folder[NPU_CONFIG_PATH + 16];
    npu_status status = npu_engine_choice(input->engine, &context->engine, err);
    if (!status)
        status = find_config(context, input, err);
    if (status)
        return status;
    snprintf(folder, sizeof folder, "%s/die", context->config);
    status = npu_die_load(folder, input->die ? input->die : "A3", &context->die, err);
    if (status || input->graph == NULL)
        return status;
    snprintf(folder, sizeof folder, "%s/kernels", context->config);
    char fabrics[NPU_CONFIG_PATH + 16];
    snprintf(fabrics, sizeof fabrics, "%s/fabric", context->config);
    npu_ranks_options options = {
        {folder, input->sets, input->set_count, 0}, fabrics, input->fabric};
    status = npu_ranks_load(input->graph, &options, &context->ranks, &context->warnings, err);
    if (status)
        return status;
    npu_walls walls;
    npu_die_walls(&context->die, &walls);
    return npu_ranks_check(&context->ranks, &walls, &context->warnings, err);
}

npu_status npu_context_open(npu_context *context, const npusim_input *input, npu_error *err) {
    *context = (npu_context){0};
    return load(context, input, err);
}

void npu_context_close(npu_context *context) {
    npu_ranks_free(&context->ranks);
    npu_die_free(&context->die);
    npu_warnings_free(&context->warnings);
}

void npu_context_print_warnings(const npu_context *context, int first, FILE *to) {
    for (int i = first; to != NULL && i < context->warnings.count; i++)
        fprintf(to, "%.*swarning: %s\n", context->warnings.sentences[i], context->warnings.lines[i],
                context->warnings.lines[i] + context->warnings.sentences[i]);
}
