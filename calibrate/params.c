// SPDX-License-Identifier: Apache-2.0
#include "params.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "die_impl.h"
#include "yaml_tree.h"

// ---- values --------------------------------------------------------------------------------

// To 4 digits: what a calibration knows at best, and short in a die file.
static double four_digits(double value) {
    char text[40];
    snprintf(text, sizeof text, "%.3e", value);
    return strtod(text, NULL);
}

static double on_grid(const npu_param *p, double value) {
    if (value == p->before) // keeps the digits that its source has
        return value;
    if (p->grid == NPU_GRID_WHOLE)
        return round(value);
    return p->grid == NPU_GRID_POWER ? exp2(round(log2(value))) : four_digits(value);
}

double npu_param_round(const npu_param *p, double value) {
    return fmin(fmax(on_grid(p, value), p->least), p->most);
}

double npu_param_fit(const npu_param *p, double value) {
    return fmin(fmax(on_grid(p, value), p->low), p->high);
}

double npu_param_step(const npu_param *p, double value, double factor) {
    double there = npu_param_round(p, value * factor);
    if (there != value)
        return there;
    if (p->grid == NPU_GRID_POWER)
        return npu_param_round(p, factor > 1 ? 2 * value : value / 2);
    return p->grid == NPU_GRID_WHOLE ? npu_param_round(p, factor > 1 ? value + 1 : value - 1)
                                     : there;
}

const char *npu_param_text(const npu_param *p, double value, char *buf, int size) {
    npu_die die = {0};
    memcpy((char *)&die + npu_die_field_at(p->field).offset, &value, sizeof value);
    return npu_die_field_text(&die, p->field, buf, size);
}

// ---- names ---------------------------------------------------------------------------------

// The loader of dies has the last word on a value; these only keep the fit from asking in vain.
static void set_rule(npu_param *p, npu_die_rule rule) {
    p->least = rule == NPU_DIE_ANY ? 0.0 : 1e-9;
    p->most = 1e15;
    p->grid = NPU_GRID_DIGITS;
    if (rule == NPU_DIE_SHARE)
        p->most = 1.0;
    if (rule == NPU_DIE_ANY || rule == NPU_DIE_POSITIVE || rule == NPU_DIE_SHARE)
        return;
    p->grid = NPU_GRID_WHOLE;
    p->least = 1.0;
    if (rule == NPU_DIE_CLUSTERS)
        p->most = 64.0;
    if (rule == NPU_DIE_SCHEDULERS)
        p->most = 8.0;
    if (rule == NPU_DIE_LINE) {
        p->grid = NPU_GRID_POWER;
        p->least = 32.0;
        p->most = 65536.0;
    }
}

static npu_status unknown_field(const char *name, npu_error *err) {
    int count = npu_die_field_count();
    char(*names)[NPU_DIE_PATH] = calloc((size_t)count, sizeof *names);
    const char **list = calloc((size_t)count, sizeof *list);
    npu_status status = NPU_NO_MEMORY;
    if (names == NULL || list == NULL) {
        npu_fail_memory(err);
    } else {
        char hint[128];
        for (int i = 0; i < count; i++)
            list[i] = npu_die_field_name(i, names[i], NPU_DIE_PATH);
        status = npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "unknown die field '%s' in --fit%s",
                          name, npu_did_you_mean(name, list, count, hint, sizeof hint));
    }
    free(names);
    free(list);
    return status;
}

static npu_status add_param(const npu_die *die, const char *name, npu_params *params,
                            npu_error *err) {
    if (name[0] == '\0')
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "--fit has an empty name");
    int field = npu_die_field_find(name);
    if (field < 0)
        return unknown_field(name, err);
    if (params->count == NPU_PARAMS_MAX)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "--fit has more than %d names",
                        NPU_PARAMS_MAX);
    int at = params->count;
    for (; at > 0 && params->list[at - 1].field >= field; at--)
        if (params->list[at - 1].field == field)
            return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "--fit names %s twice", name);
    memmove(&params->list[at + 1], &params->list[at],
            (size_t)(params->count - at) * sizeof *params->list);
    params->count++;
    npu_param *p = &params->list[at];
    *p = (npu_param){.field = field, .before = npu_die_value(die, field)};
    npu_die_field_name(field, p->name, sizeof p->name);
    set_rule(p, npu_die_field_at(field).rule);
    return NPU_OK;
}

static npu_status add_names(const npu_die *die, const char *text, npu_params *params,
                            npu_error *err) {
    npu_status status = NPU_OK;
    for (const char *at = text; at != NULL && !status;) {
        char name[256];
        const char *comma = strchr(at, ',');
        snprintf(name, sizeof name, "%.*s", comma != NULL ? (int)(comma - at) : 255, at);
        status = add_param(die, name, params, err);
        at = comma != NULL ? comma + 1 : NULL;
    }
    return status;
}

npu_status npu_params_read(const npu_die *die, const char *const *fits, int fit_count,
                           const char *const *bounds, int bound_count, npu_params *params,
                           npu_error *err) {
    npu_status status = NPU_OK;
    *params = (npu_params){0};
    for (int i = 0; i < fit_count && !status; i++)
        status = add_names(die, fits[i], params, err);
    return status ? status : npu_params_bound(die, bounds, bound_count, params, err);
}
