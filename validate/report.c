// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <math.h>
#include <string.h>

#include "output.h"

enum { LABEL = 52, VARIANT = 24, LINE = 98 }; // columns

typedef struct printer {
    FILE *out;
    const npu_cases *cases;
    const npu_verdicts *verdicts;
} printer;

const char *npu_show_figure(double value, const char *unit, char *buf, int size) {
    int digits = value >= 1000 ? 1 : value >= 10 ? 2 : value >= 1 ? 3 : 4;
    if (unit[0] == '\0' && value == floor(value))
        digits = 0;
    snprintf(buf, (size_t)size, "%.*f%s%s", digits, value, unit[0] != '\0' ? " " : "", unit);
    return buf;
}

// `text` in at most `size` - 1 columns; what is cut off shows as "..".
static const char *fit(const char *text, char *buf, size_t size) {
    size_t length = strlen(text);
    assert(size > 3);
    snprintf(buf, size, "%s", text);
    if (length >= size)
        memcpy(buf + size - 3, "..", 3);
    return buf;
}

// ---- one case ------------------------------------------------------------------------------

// A line of the table; error NAN: none.
static void print_line(const printer *p, const char *label, const char *measured,
                       const char *predicted, double error, const char *verdict) {
    char text[LABEL + 1];
    fprintf(p->out, "%-*s %14s %14s", LABEL, fit(label, text, sizeof text), measured, predicted);
    if (!isnan(error))
        fprintf(p->out, " %+7.1f%%", 100 * error);
    else if (verdict[0] != '\0')
        fprintf(p->out, " %8s", "");
    fprintf(p->out, "%s%s\n", verdict[0] != '\0' ? "  " : "", verdict);
}

static void show_value(const npu_figure *f, double value, char *buf, int size) {
    if (f->dimension == NPU_DIM_RATIO)
        snprintf(buf, (size_t)size, "x%.3f", value);
    else
        npu_show_figure(value, f->unit, buf, size);
}

static void print_figure(const printer *p, const npu_figure *f, int variant_width) {
    char label[256], measured[40], predicted[40] = "failed", verdict[40] = "";
    const char *variant = p->cases->variants[f->variant].name;
    if (variant == NULL)
        snprintf(label, sizeof label, "  %s", f->read.text);
    else
        snprintf(label, sizeof label, "  %-*s %s", variant_width, variant, f->read.text);
    show_value(f, f->measured, measured, sizeof measured);
    if (f->known)
        show_value(f, f->predicted, predicted, sizeof predicted);
    if (npu_figure_outside(f))
        snprintf(verdict, sizeof verdict, "OUT of %.3g%%", 100 * f->band);
    else if (f->known && f->band >= 0)
        snprintf(verdict, sizeof verdict, "ok");
    print_line(p, label, measured, predicted, f->known ? npu_figure_error(f) : NAN, verdict);
}

static void print_pair(const printer *p, const npu_pair *pair) {
    const npu_cases *cases = p->cases;
    char label[256], measured[40], predicted[40];
    if (pair->from < 0)
        return; // its figure says it all
    assert(cases->figures[pair->from].case_ == cases->figures[pair->to].case_);
    snprintf(label, sizeof label, "  %s -> %s",
             cases->variants[cases->figures[pair->from].variant].name,
             cases->variants[cases->figures[pair->to].variant].name);
    snprintf(measured, sizeof measured, "x%.3f", pair->measured);
    snprintf(predicted, sizeof predicted, "x%.3f", pair->predicted);
    print_line(p, label, measured, predicted, npu_pair_error(pair),
               pair->right ? "right" : "WRONG");
}

static void print_choice(const printer *p, const npu_choice *choice) {
    char measured[15], predicted[15];
    print_line(p, "  best", fit(p->cases->variants[choice->measured].name, measured, 15),
               fit(p->cases->variants[choice->predicted].name, predicted, 15), NAN,
               choice->right ? "right" : "WRONG");
}

static void print_case(const printer *p, int case_) {
    const npu_cases *cases = p->cases;
    const npu_case *c = &cases->cases[case_];
    int width = 0;
    for (int i = c->first_variant; i < c->first_variant + c->variant_count; i++) {
        int length = cases->variants[i].name != NULL ? (int)strlen(cases->variants[i].name) : 0;
        width = length > width ? length : width;
    }
    fprintf(p->out, "%s\n", c->name);
    for (int i = c->first_figure; i < c->first_figure + c->figure_count; i++)
        if (!cases->figures[i].hidden)
            print_figure(p, &cases->figures[i], width < VARIANT ? width : VARIANT);
    for (int i = 0; i < p->verdicts->pair_count; i++)
        if (p->verdicts->pairs[i].case_ == case_)
            print_pair(p, &p->verdicts->pairs[i]);
    for (int i = 0; i < p->verdicts->choice_count; i++)
        if (p->verdicts->choices[i].case_ == case_)
            print_choice(p, &p->verdicts->choices[i]);
}

// ---- scores --------------------------------------------------------------------------------

static void print_share(FILE *out, int part, int whole) {
    fprintf(out, "%d of %d", part, whole);
    if (whole > 0)
        fprintf(out, " (%.0f%%)", floor(100.0 * part / whole)); // never 100 % but for all
}

static void print_score(const printer *p, const npu_score *s, bool all) {
    FILE *out = p->out;
    char name[300];
    if (s->figures > 0) {
        assert(s->worst_figure >= 0);
        npu_figure_name(p->cases, &p->cases->figures[s->worst_figure], name, sizeof name);
        fprintf(out, "  error     %d figure%s, median %.1f%%, ", s->figures,
                s->figures == 1 ? "" : "s", 100 * s->median);
        if (all)
            fprintf(out, "90th percentile %.1f%%, ", 100 * s->p90);
        fprintf(out, "worst %.1f%% (%s)\n", 100 * s->worst, name);
    }
    if (s->pairs > 0) {
        fputs("  speed-up  direction right in ", out);
        print_share(out, s->right, s->pairs);
        fprintf(out, ", median ratio error %.1f%%\n", 100 * s->ratio_median);
    }
    if (s->choices > 0) {
        fputs("  choice    right in ", out);
        print_share(out, s->choices_right, s->choices);
        fputc('\n', out);
    }
    if (s->rows_known > 0) {
        fputs("  coverage  ", out);
        print_share(out, s->rows, s->rows_known);
        fputs(" rows simulated\n", out);
    }
    if (s->banded > 0 && (all || s->outside > 0))
        fprintf(out, "  bands     %d of %d figures outside\n", s->outside, s->banded);
    if (s->missing > 0)
        fprintf(out, "  failed    %d figure%s\n", s->missing, s->missing == 1 ? "" : "s");
}

// The rows of the group with the reason of `first`, in lines of at most LINE columns.
static void print_rows(const printer *p, int first) {
    const npu_skipped *skipped = p->cases->skipped;
    int used = 0;
    for (int i = first; i < p->cases->skipped_count; i++) {
        if (skipped[i].group != skipped[first].group ||
            strcmp(skipped[i].reason, skipped[first].reason) != 0)
            continue;
        int length = (int)strlen(skipped[i].row) + 2;
        if (used == 0 || used + length > LINE) {
            fprintf(p->out, "%s\n     ", used > 0 ? "," : "");
            used = 5;
        } else {
            fputc(',', p->out);
        }
        fprintf(p->out, " %s", skipped[i].row);
        used += length;
    }
    fputc('\n', p->out);
}

static void print_skipped(const printer *p, int group) {
    const npu_skipped *skipped = p->cases->skipped;
    bool any = false;
    for (int i = 0; i < p->cases->skipped_count; i++) {
        int same = 0; // an earlier one with the reason
        while (same < i && (skipped[same].group != group ||
                            strcmp(skipped[same].reason, skipped[i].reason) != 0))
            same++;
        if (skipped[i].group != group || same < i)
            continue;
        fprintf(p->out, "%s  %s:", any ? "" : "not simulated\n", skipped[i].reason);
        any = true;
        print_rows(p, i);
    }
}

// Of one group.
static void print_table(const printer *p, int group) {
    bool any = false;
    for (int i = 0; i < p->cases->case_count; i++) {
        if (p->cases->cases[i].group != group)
            continue;
        if (!any)
            fprintf(p->out, "%*s %14s %14s %8s\n", LABEL, "", "measured", "predicted", "error");
        any = true;
        print_case(p, i);
    }
    print_skipped(p, group);
}

void npu_validation_print(FILE *out, const npu_cases *cases, const npu_verdicts *verdicts,
                          bool brief) {
    printer p = {out, cases, verdicts};
    for (int group = 0; group < cases->group_count; group++) {
        fprintf(out, "== %s\n", cases->groups[group]);
        if (!brief)
            print_table(&p, group);
        print_score(&p, &verdicts->scores[group], false);
        fputc('\n', out);
    }
    fprintf(out, "== all\n");
    print_score(&p, &verdicts->scores[cases->group_count], true);
}
