// SPDX-License-Identifier: Apache-2.0
// Between what a parameter may be fitted: "l2.miss_latency=500ns..1us".
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "die_impl.h"
#include "params.h"
#include "yaml_tree.h"

static const double WIDE = 3.0; // an unbounded fit goes this factor up and down

static void unknown_name(const char *text, const npu_params *params, npu_error *err) {
    const char *names[NPU_PARAMS_MAX];
    char hint[512];
    for (int i = 0; i < params->count; i++)
        names[i] = params->list[i].name;
    npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "--bounds names '%s', which is not in --fit%s", text,
             npu_did_you_mean_or(text, names, params->count, hint, sizeof hint));
}

// The parameter that "name=low..high" is about; NULL on failure.
static npu_param *find(const char *text, npu_params *params, npu_error *err) {
    char name[256];
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || strstr(equals, "..") == NULL) {
        npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "--bounds is NAME=LOW..HIGH, not '%s'", text);
        return NULL;
    }
    snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
    for (int i = 0; i < params->count; i++)
        if (strcmp(params->list[i].name, name) == 0)
            return &params->list[i];
    unknown_name(name, params, err);
    return NULL;
}

static npu_status parse(const npu_param *p, const char *text, int length, double *value,
                        npu_error *err) {
    char number[256], what[NPU_PARAM_NAME + 32];
    snprintf(number, sizeof number, "%.*s", length, text);
    snprintf(what, sizeof what, "--bounds of %s", p->name);
    return npu_unit_parse(number, npu_die_field_at(p->field).unit, (npu_pos){0}, what, value, err);
}

// The bounds become values that the field can have.
static npu_status narrow(npu_param *p, npu_error *err) {
    double low = p->low, high = p->high;
    if (p->grid == NPU_GRID_WHOLE) {
        low = ceil(low);
        high = floor(high);
    } else if (p->grid == NPU_GRID_POWER) {
        low = exp2(ceil(log2(low)));
        high = exp2(floor(log2(high)));
    }
    if (low > high)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0},
                        "--bounds of %s: it is a %s, and there is none in between", p->name,
                        p->grid == NPU_GRID_WHOLE ? "whole number" : "power of two");
    p->low = low;
    p->high = high;
    return NPU_OK;
}

static npu_status take(npu_param *p, const char *text, npu_error *err) {
    const char *low = strchr(text, '=') + 1, *dots = strstr(low, "..");
    char one[64], other[64];
    if (p->high > 0)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "--bounds of %s is given twice", p->name);
    npu_status status = parse(p, low, (int)(dots - low), &p->low, err);
    if (!status)
        status = parse(p, dots + 2, 255, &p->high, err);
    if (status)
        return status;
    if (!(p->low > 0))
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0},
                        "--bounds of %s must be above 0: it is fitted by factors", p->name);
    if (!(p->low < p->high))
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "--bounds of %s: %s is not below %s",
                        p->name, npu_param_text(p, p->low, one, sizeof one),
                        npu_param_text(p, p->high, other, sizeof other));
    if (p->low < p->least || p->high > p->most)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "--bounds of %s: it may be from %s to %s",
                        p->name, npu_param_text(p, p->least, one, sizeof one),
                        npu_param_text(p, p->most, other, sizeof other));
    return narrow(p, err);
}

static npu_status set_default(const npu_die *die, npu_param *p, npu_error *err) {
    if (!(p->before > 0))
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0},
                        "%s is 0 in %s, which says nothing of its size; give --bounds %s=LOW..HIGH",
                        p->name, die->name, p->name);
    p->low = npu_param_round(p, p->before / WIDE);
    p->high = npu_param_round(p, p->before * WIDE);
    return NPU_OK;
}

npu_status npu_params_bound(const npu_die *die, const char *const *bounds, int bound_count,
                            npu_params *params, npu_error *err) {
    npu_status status = NPU_OK;
    for (int i = 0; i < bound_count && !status; i++) {
        npu_param *p = find(bounds[i], params, err);
        status = p != NULL ? take(p, bounds[i], err) : NPU_BAD_INPUT;
    }
    for (int i = 0; i < params->count && !status; i++) {
        npu_param *p = &params->list[i];
        if (!(p->high > 0))
            status = set_default(die, p, err);
        p->start = fmin(fmax(p->before, p->low), p->high);
    }
    return status;
}
