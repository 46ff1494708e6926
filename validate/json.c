// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <jansson.h>

#include "output.h"

// jansson's builders give NULL when memory runs out or a text is no UTF-8, and set_new refuses
// a NULL: what is missing then is found by counting.
typedef struct writer {
    const npu_cases *cases;
    const npu_verdicts *verdicts;
    bool failed;
} writer;

static void put(writer *w, json_t *object, const char *key, json_t *value) {
    w->failed |= json_object_set_new(object, key, value) != 0;
}

static void put_text(writer *w, json_t *object, const char *key, const char *text) {
    if (text != NULL)
        put(w, object, key, json_string(text));
}

static void add(writer *w, json_t *list, json_t *item) {
    w->failed |= json_array_append_new(list, item) != 0;
}

static json_t *figure_json(writer *w, const npu_figure *f) {
    json_t *o = json_object();
    put_text(w, o, "read", f->read.text);
    put_text(w, o, "row", f->row);
    put_text(w, o, "unit", f->unit);
    put(w, o, "measured", json_real(f->measured));
    if (f->known) {
        put(w, o, "predicted", json_real(f->predicted));
        put(w, o, "error", json_real(npu_figure_error(f)));
    }
    if (f->spread > 0)
        put(w, o, "spread", json_real(f->spread));
    if (f->band >= 0) {
        put(w, o, "band", json_real(f->band));
        put(w, o, "inside", json_boolean(f->known && !npu_figure_outside(f)));
    }
    put(w, o, "line", json_integer(f->pos.line));
    return o;
}

static json_t *variant_json(writer *w, const npu_case *c, int variant) {
    const npu_cases *cases = w->cases;
    const npu_variant *v = &cases->variants[variant];
    json_t *o = json_object(), *set = json_array(), *figures = json_array();
    put_text(w, o, "variant", v->name);
    put_text(w, o, "source", v->source);
    put_text(w, o, "assumes", v->assumes);
    put_text(w, o, "die", v->die);
    put_text(w, o, "l2", v->l2_warm ? "warm" : "cold");
    if (v->graph_text == NULL)
        put_text(w, o, "graph", v->graph);
    for (int i = 0; i < v->set_count; i++)
        add(w, set, json_string(v->sets[i]));
    put(w, o, "set", set);
    for (int i = c->first_figure; i < c->first_figure + c->figure_count; i++)
        if (cases->figures[i].variant == variant && !cases->figures[i].hidden)
            add(w, figures, figure_json(w, &cases->figures[i]));
    put(w, o, "figures", figures);
    return o;
}

static json_t *pair_json(writer *w, const npu_pair *pair) {
    const npu_cases *cases = w->cases;
    const npu_figure *to = &cases->figures[pair->to];
    assert(pair->from >= 0 || to->base >= 0);
    json_t *o = json_object();
    put_text(w, o, "from",
             pair->from < 0 ? to->read.base
                            : cases->variants[cases->figures[pair->from].variant].name);
    put_text(w, o, "to", cases->variants[to->variant].name);
    put(w, o, "measured", json_real(pair->measured));
    put(w, o, "predicted", json_real(pair->predicted));
    put(w, o, "error", json_real(npu_pair_error(pair)));
    put(w, o, "direction", json_boolean(pair->right));
    return o;
}

static json_t *choice_json(writer *w, const npu_choice *choice) {
    assert(choice->measured >= 0 && choice->predicted >= 0);
    json_t *o = json_object();
    put_text(w, o, "measured", w->cases->variants[choice->measured].name);
    put_text(w, o, "predicted", w->cases->variants[choice->predicted].name);
    put(w, o, "right", json_boolean(choice->right));
    return o;
}

static json_t *case_json(writer *w, int case_) {
    const npu_case *c = &w->cases->cases[case_];
    const npu_verdicts *v = w->verdicts;
    json_t *o = json_object(), *variants = json_array(), *pairs = json_array();
    put_text(w, o, "case", c->name);
    put_text(w, o, "file", c->pos.file);
    put(w, o, "line", json_integer(c->pos.line));
    for (int i = c->first_variant; i < c->first_variant + c->variant_count; i++)
        add(w, variants, variant_json(w, c, i));
    put(w, o, "variants", variants);
    for (int i = 0; i < v->pair_count; i++)
        if (v->pairs[i].case_ == case_)
            add(w, pairs, pair_json(w, &v->pairs[i]));
    put(w, o, "pairs", pairs);
    for (int i = 0; i < v->choice_count; i++)
        if (v->choices[i].case_ == case_)
            put(w, o, "choice", choice_json(w, &v->choices[i]));
    return o;
}

static json_t *score_json(writer *w, const npu_score *s) {
    json_t *o = json_object(), *error = json_object(), *ratio = json_object();
    json_t *choice = json_object(), *coverage = json_object(), *bands = json_object();
    put(w, error, "figures", json_integer(s->figures));
    if (s->figures > 0) {
        char name[300];
        npu_figure_name(w->cases, &w->cases->figures[s->worst_figure], name, sizeof name);
        put(w, error, "median", json_real(s->median));
        put(w, error, "p90", json_real(s->p90));
        put(w, error, "worst", json_real(s->worst));
        put_text(w, error, "worst_figure", name);
    }
    put(w, o, "error", error);
    put(w, ratio, "pairs", json_integer(s->pairs));
    put(w, ratio, "direction_right", json_integer(s->right));
    if (s->pairs > 0)
        put(w, ratio, "median_ratio_error", json_real(s->ratio_median));
    put(w, o, "speed_up", ratio);
    put(w, choice, "cases", json_integer(s->choices));
    put(w, choice, "right", json_integer(s->choices_right));
    put(w, o, "choice", choice);
    put(w, coverage, "rows_simulated", json_integer(s->rows));
    put(w, coverage, "rows_known", json_integer(s->rows_known));
    put(w, o, "coverage", coverage);
    put(w, bands, "figures", json_integer(s->banded));
    put(w, bands, "outside", json_integer(s->outside));
    put(w, o, "bands", bands);
    put(w, o, "failed", json_integer(s->missing));
    return o;
}

static json_t *group_json(writer *w, int group) {
    const npu_cases *cases = w->cases;
    json_t *o = json_object(), *list = json_array(), *skipped = json_array();
    put_text(w, o, "group", cases->groups[group]);
    for (int i = 0; i < cases->case_count; i++)
        if (cases->cases[i].group == group)
            add(w, list, case_json(w, i));
    put(w, o, "cases", list);
    for (int i = 0; i < cases->skipped_count; i++) {
        if (cases->skipped[i].group != group)
            continue;
        json_t *row = json_object();
        put_text(w, row, "row", cases->skipped[i].row);
        put_text(w, row, "reason", cases->skipped[i].reason);
        add(w, skipped, row);
    }
    put(w, o, "not_simulated", skipped);
    put(w, o, "score", score_json(w, &w->verdicts->scores[group]));
    return o;
}

npu_status npu_validation_json(FILE *out, const npu_cases *cases, const npu_verdicts *verdicts,
                               npu_error *err) {
    writer w = {cases, verdicts, false};
    json_t *o = json_object(), *groups = json_array();
    for (int group = 0; group < cases->group_count; group++)
        add(&w, groups, group_json(&w, group));
    put(&w, o, "groups", groups);
    put(&w, o, "score", score_json(&w, &verdicts->scores[cases->group_count]));
    bool written = !w.failed && json_dumpf(o, out, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) == 0;
    json_decref(o);
    if (!written)
        return npu_fail(err, NPU_IO, (npu_pos){0}, "cannot write the json file");
    fputc('\n', out);
    return NPU_OK;
}
