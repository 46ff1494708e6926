// SPDX-License-Identifier: Apache-2.0
#include "score.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double npu_percentile(const double *sorted, int count, double share) {
    assert(count > 0 && share >= 0 && share <= 1);
    double at = share * (count - 1);
    int below = (int)at;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (at - below) * (sorted[below + 1] - sorted[below]);
}

// ---- pairs and choices ---------------------------------------------------------------------

int npu_lead_figure(const npu_cases *cases, const npu_case *c, int variant) {
    for (int i = c->first_figure; i < c->first_figure + c->figure_count; i++)
        if (cases->figures[i].variant == variant && !cases->figures[i].hidden)
            return cases->figures[i].base < 0 ? i : -1;
    return -1;
}

static int direction(double ratio) {
    assert(ratio >= 0);
    return ratio > 1 + NPU_EQUAL ? 1 : ratio < 1 / (1 + NPU_EQUAL) ? -1 : 0;
}

static double in_ns(const npu_figure *figure, double value) { // or bytes per ns
    return value * figure->scale;
}

static npu_status add_pair(npu_verdicts *v, npu_pair pair, npu_error *err) {
    npu_status status = NPU_GROW(v, pairs, pair_count, pair_capacity, err);
    assert(pair.measured > 0 && pair.predicted >= 0);
    pair.right = direction(pair.measured) == direction(pair.predicted);
    if (!status)
        v->pairs[v->pair_count++] = pair;
    return status;
}

// Ratios between neighbours.
static npu_status pair_variants(const npu_cases *cases, int case_, npu_verdicts *v,
                                npu_error *err) {
    const npu_case *c = &cases->cases[case_];
    int from = -1;
    npu_status status = NPU_OK;
    for (int i = c->first_variant; i < c->first_variant + c->variant_count && !status; i++) {
        int to = npu_lead_figure(cases, c, i);
        if (to < 0)
            continue;
        const npu_figure *a = from >= 0 ? &cases->figures[from] : NULL, *b = &cases->figures[to];
        // Where nothing was predicted, or nothing but 0, there is no ratio.
        if (a != NULL && a->known && b->known && a->predicted > 0)
            status =
                add_pair(v,
                         (npu_pair){.case_ = case_,
                                    .from = from,
                                    .to = to,
                                    .measured = in_ns(b, b->measured) / in_ns(a, a->measured),
                                    .predicted = in_ns(b, b->predicted) / in_ns(a, a->predicted)},
                         err);
        from = to;
    }
    return status;
}

// Ratios that were measured as such.
static npu_status pair_ratios(const npu_cases *cases, int case_, npu_verdicts *v, npu_error *err) {
    const npu_case *c = &cases->cases[case_];
    npu_status status = NPU_OK;
    for (int i = c->first_figure; i < c->first_figure + c->figure_count && !status; i++) {
        const npu_figure *f = &cases->figures[i];
        if (f->base >= 0 && f->known)
            status = add_pair(v,
                              (npu_pair){.case_ = case_,
                                         .from = -1,
                                         .to = i,
                                         .measured = f->measured,
                                         .predicted = f->predicted},
                              err);
    }
    return status;
}

// Is `value` of `f` better than what the best so far has? Of equal ones the first is best, so
// that a model without an opinion chooses to change nothing.
static bool better(const npu_figure *f, double value, const npu_figure *best, double best_value) {
    double a = in_ns(f, value), b = in_ns(best, best_value);
    return f->dimension == NPU_DIM_RATE ? a > b : a < b;
}

static npu_status choose(const npu_cases *cases, int case_, npu_verdicts *v, npu_error *err) {
    const npu_case *c = &cases->cases[case_];
    assert(c->pair);
    const npu_figure *best = NULL, *chosen = NULL;
    int count = 0;
    for (int i = c->first_variant; i < c->first_variant + c->variant_count; i++) {
        int lead = npu_lead_figure(cases, c, i);
        if (lead < 0)
            continue;
        const npu_figure *f = &cases->figures[lead];
        if (!f->known || f->dimension == NPU_DIM_COUNT)
            return NPU_OK; // not all are there, or nobody wants more or less of it
        count++;
        if (best == NULL || better(f, f->measured, best, best->measured))
            best = f;
        if (chosen == NULL || better(f, f->predicted, chosen, chosen->predicted))
            chosen = f;
    }
    if (count < 2)
        return NPU_OK;
    double ratio = in_ns(chosen, chosen->measured) / in_ns(best, best->measured);
    npu_status status = NPU_GROW(v, choices, choice_count, choice_capacity, err);
    if (!status)
        v->choices[v->choice_count++] =
            (npu_choice){case_, best->variant, chosen->variant, direction(ratio) == 0};
    return status;
}

// ---- scores --------------------------------------------------------------------------------

static bool in_group(const npu_cases *cases, int group, int case_) {
    return group == cases->group_count || cases->cases[case_].group == group;
}

static void score_figure(const npu_cases *cases, int i, npu_score *score, double *errors) {
    const npu_figure *f = &cases->figures[i];
    score->rows_known += f->row != NULL;
    score->rows += f->row != NULL && f->known;
    score->missing += !f->known;
    assert(!f->hidden && f->measured > 0);
    score->banded += f->band >= 0 && f->known;
    score->outside += npu_figure_outside(f);
    if (!f->known || f->base >= 0)
        return;
    double error = fabs(npu_figure_error(f));
    if (score->figures == 0 || error > score->worst) {
        score->worst = error;
        score->worst_figure = i;
    }
    errors[score->figures++] = error;
}

// `group` past the last one: all. `errors` has room for one value per figure and pair.
static void score_group(const npu_cases *cases, const npu_verdicts *v, int group, double *errors) {
    assert(v->scores != NULL && errors != NULL && group <= cases->group_count);
    npu_score *score = &v->scores[group];
    *score = (npu_score){.worst_figure = -1};
    for (int i = 0; i < cases->figure_count; i++)
        if (in_group(cases, group, cases->figures[i].case_) && !cases->figures[i].hidden)
            score_figure(cases, i, score, errors);
    qsort(errors, (size_t)score->figures, sizeof *errors, compare);
    if (score->figures > 0) {
        score->median = npu_percentile(errors, score->figures, 0.5);
        score->p90 = npu_percentile(errors, score->figures, 0.9);
    }
    for (int i = 0; i < v->pair_count; i++) {
        if (!in_group(cases, group, v->pairs[i].case_))
            continue;
        errors[score->pairs++] = fabs(npu_pair_error(&v->pairs[i]));
        score->right += v->pairs[i].right;
    }
    qsort(errors, (size_t)score->pairs, sizeof *errors, compare);
    if (score->pairs > 0)
        score->ratio_median = npu_percentile(errors, score->pairs, 0.5);
    for (int i = 0; i < v->choice_count; i++) {
        if (!in_group(cases, group, v->choices[i].case_))
            continue;
        score->choices++;
        score->choices_right += v->choices[i].right;
    }
    for (int i = 0; i < cases->skipped_count; i++)
        score->rows_known += group == cases->group_count || cases->skipped[i].group == group;
}

npu_status npu_verdicts_make(const npu_cases *cases, npu_verdicts *verdicts, npu_error *err) {
    *verdicts = (npu_verdicts){0};
    npu_status status = NPU_OK;
    for (int i = 0; i < cases->case_count && !status; i++) {
        if (cases->cases[i].pair)
            status = pair_variants(cases, i, verdicts, err);
        if (!status)
            status = pair_ratios(cases, i, verdicts, err);
        if (!status && cases->cases[i].pair)
            status = choose(cases, i, verdicts, err);
    }
    if (status)
        return status;
    size_t most = (size_t)cases->figure_count + (size_t)verdicts->pair_count + 1;
    double *errors = calloc(most, sizeof *errors);
    verdicts->scores = calloc((size_t)cases->group_count + 1, sizeof *verdicts->scores);
    if (errors == NULL || verdicts->scores == NULL)
        status = npu_fail_memory(err);
    for (int group = 0; group <= cases->group_count && !status; group++)
        score_group(cases, verdicts, group, errors);
    free(errors);
    return status;
}

void npu_verdicts_free(npu_verdicts *verdicts) {
    free(verdicts->pairs);
    free(verdicts->choices);
    free(verdicts->scores);
    *verdicts = (npu_verdicts){0};
}
