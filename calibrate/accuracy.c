// SPDX-License-Identifier: Apache-2.0
// docs/accuracy.md: what the calibrated die predicts well, what it does not, what nobody knows.
#include <math.h>

#include "output.h"
#include "results.h"

typedef struct writer {
    FILE *out;
    const npu_calibration *c;
    npu_cases *cases;
    npu_verdicts verdicts;
} writer;

// A cell of a table, or text between lines: what Markdown would take for its own is escaped.
static void put_text(FILE *out, const char *text) {
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '|' || *c == '*' || *c == '_' || *c == '<' || *c == '`' || *c == '\\')
            fputc('\\', out);
        fputc(*c == '\n' ? ' ' : *c, out);
    }
}

// "5 of 6", or nothing.
static void put_share(FILE *out, int part, int all) {
    if (all > 0)
        fprintf(out, " %d of %d |", part, all);
    else
        fputs(" |", out);
}

static void put_percent(FILE *out, double value, bool there) {
    if (there)
        fprintf(out, " %.1f%% |", 100 * value);
    else
        fputs(" |", out);
}

// ---- verdicts ------------------------------------------------------------------------------

static void put_score(const writer *w, const char *name, const npu_score *s) {
    fputs("| ", w->out);
    put_text(w->out, name);
    fprintf(w->out, " | %d |", s->figures);
    put_percent(w->out, s->median, s->figures > 0);
    put_percent(w->out, s->p90, s->figures > 0);
    put_percent(w->out, s->worst, s->figures > 0);
    put_share(w->out, s->right, s->pairs);
    put_percent(w->out, s->ratio_median, s->pairs > 0);
    put_share(w->out, s->choices_right, s->choices);
    put_share(w->out, s->rows, s->rows_known);
    put_share(w->out, s->outside, s->banded);
    fputc('\n', w->out);
}

static void put_verdicts(const writer *w) {
    fputs(
        "\n## Verdicts\n\n"
        "Errors are of predicted / measured - 1, without sign. Direction: pairs of variants whose "
        "change the model gets right; choice: cases whose best variant it finds; rows: "
        "measurements that could be simulated, of all known; outside: figures that leave the "
        "band that their case declares.\n\n"
        "| group | figures | median | 90th percentile | worst | direction | ratio error | choice "
        "| rows | outside |\n"
        "|---|---|---|---|---|---|---|---|---|---|\n",
        w->out);
    for (int g = 0; g < w->cases->group_count; g++)
        put_score(w, w->cases->groups[g], &w->verdicts.scores[g]);
    put_score(w, "all", &w->verdicts.scores[w->cases->group_count]);
}

// ---- the fit -------------------------------------------------------------------------------

static void put_param(const writer *w, int i) {
    const npu_param *p = &w->c->predictor->params->list[i];
    const npu_sensitivity *s = &w->c->study.of[i];
    char before[64], after[64], bounds[160], less[32], more[32];
    fprintf(w->out, "| `%s` | %s | %s | %s | %s | %s |\n", p->name,
            npu_param_text(p, p->before, before, sizeof before),
            npu_param_text(p, npu_param_after(w->c, i), after, sizeof after),
            npu_param_bounds(p, bounds, sizeof bounds), npu_show_change(s->less, less, sizeof less),
            npu_show_change(s->more, more, sizeof more));
}

static npu_status put_group_error(const writer *w, int g, npu_error *err) {
    npu_group_medians m;
    npu_status status = npu_calibration_group(w->c, g, &m, err);
    if (status || m.figures == 0)
        return status;
    fputs("| ", w->out);
    put_text(w->out, g < w->cases->group_count ? w->cases->groups[g] : "all");
    fprintf(w->out, " | %d |", m.figures);
    put_percent(w->out, m.before, true);
    put_percent(w->out, m.after, true);
    put_percent(w->out, m.left_out, m.left_out >= 0);
    fputc('\n', w->out);
    return NPU_OK;
}

static npu_status put_fit(const writer *w, npu_error *err) {
    const npu_predictor *p = w->c->predictor;
    npu_status status = NPU_OK;
    if (p->params->count == 0)
        return NPU_OK;
    fprintf(w->out,
            "\n## The fit\n\n"
            "%d figures of %d cases. The last two columns: how the mean of |log(predicted / "
            "measured)| changes when the parameter alone is moved.\n\n"
            "| parameter | before | after | bounds | at -10%% | at +10%% |\n"
            "|---|---|---|---|---|---|\n",
            p->fitted_count, p->fitted_cases);
    for (int i = 0; i < p->params->count; i++)
        put_param(w, i);
    fputs("\nMedian error of each group (ratios included); left out: by a fit to the other "
          "groups only.\n\n"
          "| group | figures | before | after | left out |\n|---|---|---|---|---|\n",
          w->out);
    for (int g = 0; g <= w->cases->group_count && !status; g++)
        status = put_group_error(w, g, err);
    int count = 0;
    for (int i = 0; i < p->params->count; i++)
        if (!w->c->study.of[i].determined)
            fprintf(w->out, "%s`%s`", count++ > 0 ? ", " : "\nNot determined by these cases: ",
                    p->params->list[i].name);
    fputs(count > 0 ? ".\n" : "\nAll parameters are determined by these cases.\n", w->out);
    return status;
}

// ---- figures -------------------------------------------------------------------------------

static void put_figure(const writer *w, const npu_figure *f) {
    char name[512], measured[64], predicted[64];
    fputs("| ", w->out);
    put_text(w->out, w->cases->groups[w->cases->cases[f->case_].group]);
    fputs(" | ", w->out);
    put_text(w->out, npu_figure_name(w->cases, f, name, sizeof name));
    fprintf(w->out, " | %s | ", npu_show_figure(f->measured, f->unit, measured, sizeof measured));
    if (f->known)
        fprintf(w->out, "%s | %+.1f%% |",
                npu_show_figure(f->predicted, f->unit, predicted, sizeof predicted),
                100 * npu_figure_error(f));
    else
        fputs("failed | |", w->out);
    put_percent(w->out, fmax(f->band, f->spread), f->band >= 0);
    fputc('\n', w->out);
}

static void put_outside(const writer *w) {
    int count = 0;
    for (int i = 0; i < w->cases->figure_count; i++) {
        const npu_figure *f = &w->cases->figures[i];
        if (f->hidden || (f->known && !npu_figure_outside(f)))
            continue;
        if (count++ == 0)
            fputs("\n## Figures outside their band\n\n"
                  "| group | figure | measured | predicted | error | band |\n"
                  "|---|---|---|---|---|---|\n",
                  w->out);
        put_figure(w, f);
    }
    if (count == 0)
        fputs("\nEvery figure is inside its band.\n", w->out);
}

static void put_skipped(const writer *w) {
    if (w->cases->skipped_count > 0)
        fputs("\n## Rows that are not simulated\n\n| group | row | reason |\n|---|---|---|\n",
              w->out);
    for (int i = 0; i < w->cases->skipped_count; i++) {
        const npu_skipped *s = &w->cases->skipped[i];
        const char *const cells[] = {w->cases->groups[s->group], s->row, s->reason};
        for (int n = 0; n < 3; n++) {
            fputs("| ", w->out);
            put_text(w->out, cells[n]);
            fputc(' ', w->out);
        }
        fputs("|\n", w->out);
    }
}

npu_status npu_calibration_accuracy(FILE *out, const npu_calibration *c, npu_error *err) {
    writer w = {.out = out, .c = c, .cases = c->predictor->cases};
    npu_predictor_show(c->predictor, c->study.after, NULL);
    npu_status status = npu_verdicts_make(w.cases, &w.verdicts, err);
    if (!status) {
        fputs("# Accuracy of the die ", out);
        put_text(out, c->die->name);
        fputs("\n\nWritten by `npusim calibrate --report` (docs/calibration.md); not by hand.\n",
              out);
        put_verdicts(&w);
        put_outside(&w);
        status = put_fit(&w, err); // last but one: it puts other trials into the cases
        put_skipped(&w);
    }
    npu_verdicts_free(&w.verdicts);
    if (!status && ferror(out))
        status = npu_fail(err, NPU_IO, (npu_pos){0}, "cannot write the report");
    return status;
}
