// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inline.h"
#include "read_impl.h"

static const char *const said_keys[SAYS_COUNT] = {"die", "graph", "l2",     "band",   "spread",
                                                  "per", "read",  "source", "assumes"};

void npu_scope_open(const scope *outer, const npu_yaml *map, scope *inner) {
    *inner = *outer;
    for (int i = 0; i < SAYS_COUNT; i++) {
        const npu_yaml *own = npu_yaml_get(map, said_keys[i]);
        inner->said[i] = own != NULL ? own : outer->said[i];
    }
}

npu_status npu_read_name(const npu_yaml *node, const char *what, const char **name,
                         npu_error *err) {
    npu_status status = npu_yaml_want(node, NPU_YAML_SCALAR, what, err);
    if (status)
        return status;
    if (node->text[0] == '\0')
        return npu_fail(err, NPU_BAD_INPUT, node->pos, "%s is empty", what);
    for (const char *c = node->text; *c != '\0'; c++)
        if ((unsigned char)*c < ' ')
            return npu_fail(err, NPU_BAD_INPUT, node->pos, "%s must be one line", what);
    *name = node->text;
    return NPU_OK;
}

static npu_status read_text(const npu_yaml *node, const char *what, const char **text,
                            npu_error *err) {
    npu_status status = NPU_OK;
    if (node != NULL)
        status = npu_yaml_want(node, NPU_YAML_SCALAR, what, err);
    if (node != NULL && !status)
        *text = node->text;
    return status;
}

// ---- variants ------------------------------------------------------------------------------

// The settings of all levels, a later one in place of an earlier one of the same name.
static npu_status read_sets(reader *r, const scope *s, npu_variant *v) {
    int most = 0;
    for (int level = 0; level < SET_LEVELS; level++) {
        if (s->sets[level] == NULL)
            continue;
        npu_status status = npu_yaml_want(s->sets[level], NPU_YAML_MAP, "set", r->err);
        if (status)
            return status;
        most += s->sets[level]->count;
    }
    const char **names = npu_arena_alloc(&r->cases->arena, (size_t)most, sizeof *names);
    const char **sets = npu_arena_alloc(&r->cases->arena, (size_t)most, sizeof *sets);
    npu_pos *places = npu_arena_alloc(&r->cases->arena, (size_t)most, sizeof *places);
    if (names == NULL || sets == NULL || places == NULL)
        return npu_fail_memory(r->err);
    for (int level = 0; level < SET_LEVELS; level++) {
        const npu_yaml *map = s->sets[level];
        for (int i = 0; map != NULL && i < map->count; i++) {
            const npu_yaml *value = map->items[i];
            npu_status status = npu_yaml_want(value, NPU_YAML_SCALAR, "a setting", r->err);
            if (status)
                return status;
            int at = 0;
            while (at < v->set_count && strcmp(names[at], map->keys[i]->text) != 0)
                at++;
            v->set_count += at == v->set_count;
            names[at] = map->keys[i]->text;
            sets[at] = npu_arena_printf(&r->cases->arena, "%s=%s", names[at], value->text);
            places[at] = map->keys[i]->pos;
            if (sets[at] == NULL)
                return npu_fail_memory(r->err);
        }
    }
    v->sets = sets;
    v->set_pos = places;
    return NPU_OK;
}

// A name in the configs, or the path of a file.
static npu_status read_die(reader *r, const npu_yaml *node, npu_variant *v) {
    npu_status status = npu_read_name(node, "die", &v->die, r->err);
    v->die_pos = node->pos;
    size_t length = status ? 0 : strlen(v->die);
    if (length > 5 && strcmp(v->die + length - 5, ".yaml") == 0)
        v->die = npu_path_beside(&r->cases->arena, node->pos.file, v->die);
    return status || v->die != NULL ? status : npu_fail_memory(r->err);
}

static npu_status read_graph(reader *r, const npu_yaml *node, npu_variant *v) {
    v->graph_pos = node->pos;
    v->graph = node->pos.file;
    if (node->kind == NPU_YAML_MAP)
        return npu_inline_text(&r->cases->arena, node, &v->graph_text, r->err);
    if (node->kind != NPU_YAML_SCALAR || node->text[0] == '\0')
        return npu_fail(r->err, NPU_BAD_INPUT, node->pos,
                        "graph must be the path of a graph, or a graph");
    v->graph = npu_path_beside(&r->cases->arena, node->pos.file, node->text);
    return v->graph != NULL ? NPU_OK : npu_fail_memory(r->err);
}

// What a case without variants, or one variant, runs. `what` is "a case" or "a variant".
static npu_status read_variant(reader *r, const npu_yaml *map, const char *what, const scope *s,
                               const char *name) {
    static const char *const l2_names[] = {"cold", "warm", NULL};
    npu_variant v = {.name = name, .pos = map->pos};
    const npu_yaml *die = s->said[SAYS_DIE], *graph = s->said[SAYS_GRAPH];
    npu_status status = die != NULL ? NPU_OK : npu_yaml_need(map, what, "die", &die, r->err);
    if (!status)
        status = graph != NULL ? NPU_OK : npu_yaml_need(map, what, "graph", &graph, r->err);
    if (!status)
        status = read_die(r, die, &v);
    if (!status)
        status = read_graph(r, graph, &v);
    if (!status && s->said[SAYS_L2] != NULL) {
        int warm = 0;
        status = npu_yaml_want(s->said[SAYS_L2], NPU_YAML_SCALAR, "l2", r->err);
        if (!status)
            status = npu_yaml_choice(s->said[SAYS_L2], "state of l2", l2_names, &warm, r->err);
        v.l2_warm = warm == 1;
    }
    if (!status)
        status = read_text(s->said[SAYS_SOURCE], "source", &v.source, r->err);
    if (!status)
        status = read_text(s->said[SAYS_ASSUMES], "assumes", &v.assumes, r->err);
    if (!status)
        status = read_sets(r, s, &v);
    if (!status)
        status = NPU_GROW(r->cases, variants, variant_count, variant_capacity, r->err);
    if (!status)
        r->cases->variants[r->cases->variant_count++] = v;
    return status;
}

static npu_status read_variants(reader *r, const npu_yaml *map, const scope *s, npu_case *c,
                                int case_) {
    static const char *const keys[] = {"doc",  "source",   "assumes", "die",     "graph",
                                       "l2",   "set",      "band",    "spread",  "per",
                                       "read", "measured", "row",     "figures", NULL};
    npu_status status = npu_yaml_want(map, NPU_YAML_MAP, "variants", r->err);
    if (!status && map->count == 0)
        status = npu_fail(r->err, NPU_BAD_INPUT, map->pos, "the case has no variants");
    for (int i = 0; !status && i < map->count; i++) {
        scope inner;
        const char *name = NULL;
        status = npu_yaml_keys(map->items[i], "a variant", keys, r->err);
        if (!status)
            status = npu_read_name(map->keys[i], "a variant's name", &name, r->err);
        if (status)
            break;
        npu_scope_open(s, map->items[i], &inner);
        inner.sets[2] = npu_yaml_get(map->items[i], "set");
        status = read_variant(r, map->items[i], "a variant", &inner, name);
        int variant = r->cases->variant_count - 1;
        if (!status) {
            r->cases->variants[variant].pos = map->keys[i]->pos;
            status = npu_read_figures(r, map->items[i], "a variant", &inner, case_, variant);
        }
        c->variant_count += !status;
    }
    return status;
}

// ---- jobs ----------------------------------------------------------------------------------

static bool same_run(const npu_variant *a, const npu_variant *b) {
    bool same = strcmp(a->die, b->die) == 0 && strcmp(a->graph, b->graph) == 0 &&
                a->l2_warm == b->l2_warm && a->set_count == b->set_count &&
                (a->graph_text == NULL) == (b->graph_text == NULL) &&
                (a->graph_text == NULL || strcmp(a->graph_text, b->graph_text) == 0);
    for (int i = 0; same && i < a->set_count; i++)
        same = strcmp(a->sets[i], b->sets[i]) == 0;
    return same;
}

static bool is_read(const npu_cases *cases, const npu_case *c, int variant) {
    for (int i = c->first_figure; i < c->first_figure + c->figure_count; i++)
        if (cases->figures[i].variant == variant)
            return true;
    return false;
}

static npu_status add_jobs(reader *r, const npu_case *c, int case_) {
    npu_cases *cases = r->cases;
    assert(c->variant_count > 0);
    for (int v = c->first_variant; v < c->first_variant + c->variant_count; v++) {
        if (!is_read(cases, c, v))
            return npu_fail(r->err, NPU_BAD_INPUT, cases->variants[v].pos,
                            "variant '%s' has no 'measured', and no other is relative to it",
                            cases->variants[v].name);
        int same = c->first_variant;
        while (same < v && !same_run(&cases->variants[same], &cases->variants[v]))
            same++;
        if (same < v) {
            cases->variants[v].job = cases->variants[same].job;
            continue;
        }
        npu_status status = NPU_GROW(cases, jobs, job_count, job_capacity, r->err);
        if (status)
            return status;
        cases->variants[v].job = cases->job_count;
        cases->jobs[cases->job_count++] = (npu_case_job){case_, v};
    }
    return NPU_OK;
}

// ---- cases ---------------------------------------------------------------------------------

static npu_status check_name(const reader *r, const npu_case *c) {
    for (int i = 0; i < r->cases->case_count; i++) {
        const npu_case *other = &r->cases->cases[i];
        char place[512];
        if (other->group == c->group && strcmp(other->name, c->name) == 0)
            return npu_fail(r->err, NPU_BAD_INPUT, c->pos,
                            "the group has a case '%s' already, at %s", c->name,
                            npu_read_place(other->pos, place, sizeof place));
    }
    return NPU_OK;
}

static npu_status read_body(reader *r, const npu_yaml *map, const scope *s, npu_case *c,
                            int case_) {
    static const char *const inner_keys[] = {"measured", "row", "figures"};
    const npu_yaml *variants = npu_yaml_get(map, "variants");
    if (variants == NULL) {
        npu_status status = read_variant(r, map, "a case", s, NULL);
        c->variant_count += !status;
        if (!status)
            status = npu_read_figures(r, map, "a case", s, case_, c->first_variant);
        const npu_yaml *measured;
        if (!status && r->cases->figure_count == c->first_figure)
            status = npu_yaml_need(map, "a case", "measured", &measured, r->err);
        return status;
    }
    for (int i = 0; i < 3; i++) {
        const npu_yaml *node = npu_yaml_get(map, inner_keys[i]);
        if (node != NULL)
            return npu_fail(r->err, NPU_BAD_INPUT, node->pos,
                            "in a case with variants '%s' belongs to each of them", inner_keys[i]);
    }
    return read_variants(r, variants, s, c, case_);
}

static npu_status read_case(reader *r, const npu_yaml *map, const scope *outer) {
    static const char *const keys[] = {"case",     "doc", "source",  "assumes",  "die",  "graph",
                                       "l2",       "set", "band",    "spread",   "per",  "read",
                                       "measured", "row", "figures", "variants", "pair", NULL};
    npu_cases *cases = r->cases;
    npu_case c = {.group = r->group,
                  .pair = true,
                  .first_variant = cases->variant_count,
                  .first_figure = cases->figure_count};
    const npu_yaml *name = NULL;
    scope s;
    npu_status status = npu_yaml_keys(map, "a case", keys, r->err);
    if (!status)
        status = npu_yaml_need(map, "a case", "case", &name, r->err);
    if (!status)
        status = npu_read_name(name, "a case's name", &c.name, r->err);
    if (status)
        return status;
    c.pos = name->pos;
    npu_scope_open(outer, map, &s);
    s.sets[1] = npu_yaml_get(map, "set");
    status = check_name(r, &c);
    if (!status && npu_yaml_get(map, "pair") != NULL)
        status = npu_yaml_bool(npu_yaml_get(map, "pair"), "pair", &c.pair, r->err);
    if (!status)
        status = read_body(r, map, &s, &c, cases->case_count);
    c.figure_count = cases->figure_count - c.first_figure;
    if (!status)
        status = npu_read_bases(r, &c);
    if (!status)
        status = npu_check_pairs(r, &c);
    if (!status)
        status = add_jobs(r, &c, cases->case_count);
    if (!status)
        status = NPU_GROW(cases, cases, case_count, case_capacity, r->err);
    if (!status)
        cases->cases[cases->case_count++] = c;
    return status;
}

// What is wrong goes to the list of problems; other failures end the reading.
static npu_status note_problem(reader *r, npu_status status) {
    if (status != NPU_BAD_INPUT)
        return status;
    assert(r->err->text[0] != '\0');
    npu_warn(r->problems, (npu_pos){0}, "%s", r->err->text);
    r->err->text[0] = '\0';
    r->cases->rejected++;
    return NPU_OK;
}

static npu_status read_cases(reader *r, const npu_yaml *list, const scope *s) {
    npu_cases *cases = r->cases;
    npu_status status = npu_yaml_want(list, NPU_YAML_LIST, "cases", r->err);
    if (status)
        return note_problem(r, status);
    for (int i = 0; i < list->count && !status; i++) {
        int variants = cases->variant_count, figures = cases->figure_count, jobs = cases->job_count;
        status = read_case(r, list->items[i], s);
        if (status) {
            cases->variant_count = variants;
            cases->figure_count = figures;
            cases->job_count = jobs;
            status = note_problem(r, status);
        }
    }
    return status;
}

// ---- rows that are not simulated -----------------------------------------------------------

static npu_status add_skipped(reader *r, const npu_yaml *row, const char *reason) {
    npu_skipped skipped = {.group = r->group, .reason = reason, .pos = row->pos};
    npu_status status = npu_read_name(row, "row", &skipped.row, r->err);
    if (!status)
        status = npu_check_row(r, skipped.row, row->pos);
    if (!status)
        status = NPU_GROW(r->cases, skipped, skipped_count, skipped_capacity, r->err);
    if (!status)
        r->cases->skipped[r->cases->skipped_count++] = skipped;
    return status;
}

// `row` is one, `rows` a list of them.
static npu_status read_skipped(reader *r, const npu_yaml *map) {
    static const char *const keys[] = {"row", "rows", "reason", NULL};
    static const char what[] = "an item of not_simulated";
    const npu_yaml *row = npu_yaml_get(map, "row"), *rows = npu_yaml_get(map, "rows");
    const npu_yaml *reason = NULL;
    const char *text = NULL;
    npu_status status = npu_yaml_keys(map, what, keys, r->err);
    if (!status && rows == NULL)
        status = npu_yaml_need(map, what, "row", &row, r->err);
    else if (!status && row != NULL)
        status = npu_fail(r->err, NPU_BAD_INPUT, row->pos, "give 'row' or 'rows', not both");
    if (!status && rows != NULL)
        status = npu_yaml_want(rows, NPU_YAML_LIST, "rows", r->err);
    if (!status)
        status = npu_yaml_need(map, what, "reason", &reason, r->err);
    if (!status)
        status = npu_read_name(reason, "reason", &text, r->err);
    if (!status && rows == NULL)
        return add_skipped(r, row, text);
    for (int i = 0; !status && i < rows->count; i++)
        status = add_skipped(r, rows->items[i], text);
    return status;
}

static npu_status read_all_skipped(reader *r, const npu_yaml *list) {
    npu_status status = npu_yaml_want(list, NPU_YAML_LIST, "not_simulated", r->err);
    if (status)
        return note_problem(r, status);
    for (int i = 0; i < list->count && !status; i++)
        status = note_problem(r, read_skipped(r, list->items[i]));
    return status;
}

// ---- files ---------------------------------------------------------------------------------

static npu_status find_group(reader *r, const npu_yaml *root) {
    npu_cases *cases = r->cases;
    const npu_yaml *node = NULL;
    const char *name = NULL;
    npu_status status = npu_yaml_need(root, "a case file", "group", &node, r->err);
    if (!status)
        status = npu_read_name(node, "group", &name, r->err);
    if (status)
        return status;
    assert(name != NULL);
    for (r->group = 0; r->group < cases->group_count; r->group++)
        if (strcmp(cases->groups[r->group], name) == 0)
            return NPU_OK;
    status = NPU_GROW(cases, groups, group_count, group_capacity, r->err);
    if (!status)
        cases->groups[cases->group_count++] = name;
    return status;
}

// Files name what all of their cases share, but a reading and what one read belongs to a case.
static npu_status read_top(reader *r, const npu_yaml *root) {
    static const char *const keys[] = {"group",  "doc",           "die", "l2",     "band",
                                       "spread", "graph",         "set", "source", "assumes",
                                       "cases",  "not_simulated", NULL};
    npu_status status = npu_yaml_keys(root, "a case file", keys, r->err);
    if (!status)
        status = find_group(r, root);
    if (!status && npu_yaml_get(root, "cases") == NULL &&
        npu_yaml_get(root, "not_simulated") == NULL)
        status = npu_fail(r->err, NPU_BAD_INPUT, root->pos,
                          "a case file needs the key 'cases' or 'not_simulated'");
    return status;
}

npu_status npu_cases_read(npu_cases *cases, const char *path, npu_warnings *problems,
                          npu_error *err) {
    assert(cases != NULL && path != NULL && problems != NULL);
    npu_error local = {{0}};
    reader r = {.cases = cases, .problems = problems, .err = &local};
    const npu_yaml *root = NULL;
    npu_status status = npu_yaml_load(&cases->arena, path, &root, &local);
    if (!status)
        status = read_top(&r, root);
    if (status == NPU_BAD_INPUT)
        return note_problem(&r, status);
    const scope nothing = {{NULL}, {NULL}};
    scope s = nothing;
    if (!status) {
        npu_scope_open(&nothing, root, &s);
        s.sets[0] = npu_yaml_get(root, "set");
    }
    if (!status && npu_yaml_get(root, "cases") != NULL)
        status = read_cases(&r, npu_yaml_get(root, "cases"), &s);
    if (!status && npu_yaml_get(root, "not_simulated") != NULL)
        status = read_all_skipped(&r, npu_yaml_get(root, "not_simulated"));
    return status ? npu_fail(err, status, (npu_pos){0}, "%s", local.text) : NPU_OK;
}

void npu_cases_free(npu_cases *cases) {
    free(cases->groups);
    free(cases->cases);
    free(cases->variants);
    free(cases->figures);
    free(cases->skipped);
    free(cases->jobs);
    npu_arena_free(&cases->arena);
    *cases = (npu_cases){0};
}

const char *npu_figure_name(const npu_cases *cases, const npu_figure *figure, char *buf, int size) {
    const char *variant = cases->variants[figure->variant].name;
    snprintf(buf, (size_t)size, "%s%s%s: %s", cases->cases[figure->case_].name,
             variant != NULL ? ", " : "", variant != NULL ? variant : "", figure->read.text);
    return buf;
}
