// SPDX-License-Identifier: Apache-2.0
#include "results.h"

#include <math.h>
#include <stdlib.h>

#include "diefile.h"

const char *npu_show_change(double change, char *buf, int size) {
    if (isnan(change))
        snprintf(buf, (size_t)size, "-");
    else
        snprintf(buf, (size_t)size, "%+.2f%%", round(1e4 * change) / 100 + 0.0); // no "-0.00%"
    return buf;
}

double npu_param_after(const npu_calibration *c, int param) {
    return c->predictor->trials[c->study.after].values[param];
}

bool npu_param_kept(const npu_calibration *c, int param) {
    return !c->study.of[param].determined &&
           npu_param_after(c, param) == c->predictor->params->list[param].before;
}

const char *npu_param_bounds(const npu_param *param, char *buf, int size) {
    char low[64], high[64];
    snprintf(buf, (size_t)size, "%s .. %s", npu_param_text(param, param->low, low, sizeof low),
             npu_param_text(param, param->high, high, sizeof high));
    return buf;
}

npu_status npu_calibration_group(const npu_calibration *c, int group, npu_group_medians *medians,
                                 npu_error *err) {
    npu_predictor *p = c->predictor;
    bool all = group == p->cases->group_count;
    int which = all ? NPU_ALL_GROUPS : group;
    double *errors = calloc((size_t)p->cases->figure_count + 1, sizeof *errors);
    if (errors == NULL)
        return npu_fail_memory(err);
    medians->figures = npu_trial_errors(p, c->study.before, which, errors);
    medians->before = npu_median(errors, medians->figures);
    medians->after = npu_median(errors, npu_trial_errors(p, c->study.after, which, errors));
    bool crossed = c->study.crossed && (all || c->study.groups[group].trial >= 0);
    medians->left_out = !crossed ? -1 : all ? c->study.left_out : c->study.groups[group].median;
    free(errors);
    return NPU_OK;
}

// ---- on the terminal -----------------------------------------------------------------------

static void print_params(FILE *out, const npu_calibration *c) {
    const npu_params *params = c->predictor->params;
    fprintf(out, "\n%-28s %12s %12s  %-24s %9s %9s\n", "parameter", "before", "after", "bounds",
            "at -10%", "at +10%");
    for (int i = 0; i < params->count; i++) {
        const npu_param *p = &params->list[i];
        const npu_sensitivity *s = &c->study.of[i];
        char before[64], after[64], bounds[160], less[32], more[32];
        double value = npu_param_after(c, i);
        bool at_bound = value == p->low || value == p->high || isnan(s->less) || isnan(s->more);
        fprintf(out, "%-28s %12s %12s  %-24s %9s %9s%s\n", p->name,
                npu_param_text(p, p->before, before, sizeof before),
                npu_param_text(p, value, after, sizeof after),
                npu_param_bounds(p, bounds, sizeof bounds),
                npu_show_change(s->less, less, sizeof less),
                npu_show_change(s->more, more, sizeof more),
                !s->determined ? "  not determined by these cases"
                : at_bound     ? "  at its bound"
                               : "");
    }
}

static void print_group(FILE *out, const char *name, const npu_group_medians *m, bool fits) {
    fprintf(out, "%-40s %8d", name, m->figures);
    if (m->figures > 0)
        fprintf(out, " %9.1f%%", 100 * m->before);
    if (m->figures > 0 && fits)
        fprintf(out, " %9.1f%%", 100 * m->after);
    if (m->figures > 0 && m->left_out >= 0)
        fprintf(out, " %9.1f%%", 100 * m->left_out);
    fputc('\n', out);
}

static npu_status print_groups(FILE *out, const npu_calibration *c, npu_error *err) {
    npu_predictor *p = c->predictor;
    bool fits = p->params->count > 0;
    fprintf(out, "\n%-40s %8s %10s%s%s\n", "median error", "figures", fits ? "before" : "now",
            fits ? "      after" : "", c->study.crossed ? "   left out" : "");
    npu_status status = NPU_OK;
    for (int g = 0; g <= p->cases->group_count && !status; g++) {
        npu_group_medians medians = {0};
        status = npu_calibration_group(c, g, &medians, err);
        if (!status)
            print_group(out, g < p->cases->group_count ? p->cases->groups[g] : "all", &medians,
                        fits);
    }
    fprintf(out, "%-40s %8s %10.4f", "mean |log(predicted / measured)|", "",
            npu_trial_error(p, c->study.before, NPU_ALL_GROUPS));
    if (fits)
        fprintf(out, " %10.4f", c->study.error);
    fputc('\n', out);
    return status;
}

npu_status npu_calibration_print(FILE *out, const npu_calibration *c, npu_error *err) {
    const npu_predictor *p = c->predictor;
    fprintf(out, "%s: %d parameter%s, %d figure%s of %d case%s, %d trial%s\n", c->die->name,
            p->params->count, p->params->count == 1 ? "" : "s", p->fitted_count,
            p->fitted_count == 1 ? "" : "s", p->fitted_cases, p->fitted_cases == 1 ? "" : "s",
            p->trial_count, p->trial_count == 1 ? "" : "s");
    if (p->params->count > 0)
        print_params(out, c);
    return print_groups(out, c, err);
}

// ---- the die -------------------------------------------------------------------------------

// Medium: determined, and what was left out is met about as well as what was fitted to.
static const char *confidence_of(const npu_calibration *c, int param) {
    const npu_study *s = &c->study;
    bool holds = s->crossed && s->left_out <= 1.5 * fmax(s->in_sample, 0.01);
    return holds && s->of[param].determined ? "medium" : "low";
}

static void describe(const npu_calibration *c, int param, char *buf, int size) {
    const npu_study *s = &c->study;
    char left[40] = "not tried", less[32], more[32];
    if (s->crossed)
        snprintf(left, sizeof left, "%.1f %%", 100 * s->left_out);
    snprintf(buf, (size_t)size,
             "calibrated on %d figures of %d cases: in-sample median %.1f %%, left out %s; "
             "sensitivity %s at -10 %%, %s at +10 %%%s",
             c->predictor->fitted_count, c->predictor->fitted_cases, 100 * s->in_sample, left,
             npu_show_change(s->of[param].less, less, sizeof less),
             npu_show_change(s->of[param].more, more, sizeof more),
             s->of[param].determined ? "" : "; not determined by these cases");
}

npu_status npu_calibration_die(FILE *out, const npu_calibration *c, const char *extends,
                               const char *name, npu_error *err) {
    const npu_params *params = c->predictor->params;
    npu_die_entry entries[NPU_PARAMS_MAX];
    char sources[NPU_PARAMS_MAX][400];
    int count = 0;
    fputs("# SPDX-License-Identifier: Apache-2.0\n# Written by `npusim calibrate`.\n", out);
    for (int i = 0; i < params->count; i++) {
        const npu_param *p = &params->list[i];
        char value[64];
        if (npu_param_kept(c, i)) { // and so is where it comes from
            fprintf(out, "# %s stays %s: these cases do not determine it\n", p->name,
                    npu_param_text(p, p->before, value, sizeof value));
            continue;
        }
        describe(c, i, sources[i], sizeof sources[i]);
        entries[count++] =
            (npu_die_entry){p, npu_param_after(c, i), confidence_of(c, i), sources[i]};
    }
    npu_diefile_write(out, extends, name, entries, count);
    return ferror(out) ? npu_fail(err, NPU_IO, (npu_pos){0}, "cannot write the die file") : NPU_OK;
}
