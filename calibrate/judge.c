// SPDX-License-Identifier: Apache-2.0
// How far the predictions of a trial are off.
#include <math.h>
#include <stdlib.h>

#include "predict.h"
#include "score.h"

void npu_predictor_show(npu_predictor *p, int trial, npu_warnings *problems) {
    const npu_trial *t = &p->trials[trial];
    for (int i = 0; i < p->cases->figure_count; i++) {
        npu_figure *f = &p->cases->figures[i];
        f->known = !isnan(t->raw[i]);
        f->predicted = f->known ? t->raw[i] : 0.0;
    }
    npu_cases_relate(p->cases, problems);
}

static int group_of(const npu_predictor *p, const npu_figure *f) {
    return p->cases->cases[f->case_].group;
}

void npu_trial_logs(npu_predictor *p, int trial, int without, double *logs) {
    npu_predictor_show(p, trial, NULL);
    for (int i = 0; i < p->cases->figure_count; i++) {
        const npu_figure *f = &p->cases->figures[i];
        double off = f->known ? log(f->predicted / f->measured) : NPU_MISS;
        bool counts = p->fitted[i] && group_of(p, f) != without;
        logs[i] = counts ? fmin(fmax(off, -NPU_MISS), NPU_MISS) : NAN;
    }
}

double npu_trial_error(npu_predictor *p, int trial, int without) {
    double sum = 0.0;
    int count = 0;
    if (p->trials[trial].refused)
        return 2 * NPU_MISS; // worse than anything that can be simulated
    npu_predictor_show(p, trial, NULL);
    for (int i = 0; i < p->cases->figure_count; i++) {
        const npu_figure *f = &p->cases->figures[i];
        if (!p->fitted[i] || group_of(p, f) == without)
            continue;
        sum += f->known ? fmin(fabs(log(f->predicted / f->measured)), NPU_MISS) : NPU_MISS;
        count++;
    }
    return count > 0 ? sum / count : 0.0;
}

int npu_trial_errors(npu_predictor *p, int trial, int group, double *errors) {
    int count = 0;
    npu_predictor_show(p, trial, NULL);
    for (int i = 0; i < p->cases->figure_count; i++) {
        const npu_figure *f = &p->cases->figures[i];
        if (p->fitted[i] && (group == NPU_ALL_GROUPS || group_of(p, f) == group))
            errors[count++] = f->known ? fabs(npu_figure_error(f)) : exp(NPU_MISS) - 1;
    }
    return count;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double npu_median(double *errors, int count) {
    qsort(errors, (size_t)count, sizeof *errors, compare);
    return count > 0 ? npu_percentile(errors, count, 0.5) : 0.0;
}
