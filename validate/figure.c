// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "read_impl.h"
#include "units.h"

// ---- one figure ----------------------------------------------------------------------------

static npu_dimension dimension_of(const npu_reading *read) {
    if (read->base != NULL)
        return NPU_DIM_RATIO;
    if (read->quantity == NPU_READ_COUNT || read->quantity == NPU_READ_BLOCKS)
        return NPU_DIM_COUNT;
    bool rate = read->quantity == NPU_READ_RATE || read->quantity == NPU_READ_READ_RATE ||
                read->quantity == NPU_READ_WRITE_RATE;
    return rate ? NPU_DIM_RATE : NPU_DIM_TIME;
}

// "us" of "56.3us": the letters at its end.
static const char *unit_of(const char *text) {
    assert(text != NULL);
    const char *unit = text + strlen(text);
    while (unit > text && (isalpha((unsigned char)unit[-1]) || unit[-1] == '/'))
        unit--;
    return unit;
}

static npu_status read_measured(const npu_yaml *node, npu_figure *figure, npu_error *err) {
    static const npu_unit units[] = {NPU_UNIT_TIME, NPU_UNIT_CYCLES, NPU_UNIT_RATE, NPU_UNIT_NONE,
                                     NPU_UNIT_NONE};
    npu_status status = npu_yaml_want(node, NPU_YAML_SCALAR, "measured", err);
    if (status)
        return status;
    figure->dimension = dimension_of(&figure->read);
    figure->unit = unit_of(node->text);
    if (figure->dimension == NPU_DIM_TIME && strcmp(figure->unit, "cyc") == 0)
        figure->dimension = NPU_DIM_CYCLES;
    npu_unit unit = units[figure->dimension];
    double value = 0;
    status = npu_unit_parse(node->text, unit, node->pos, "measured", &value, err);
    if (status)
        return status;
    if (!(value > 0))
        return npu_fail(err, NPU_BAD_INPUT, node->pos, "measured must be above 0, but is '%s'",
                        node->text);
    figure->scale = 1;
    if (unit == NPU_UNIT_TIME || unit == NPU_UNIT_RATE) {
        char one[64];
        snprintf(one, sizeof one, "1%s", figure->unit);
        status = npu_unit_parse(one, unit, node->pos, "measured", &figure->scale, err);
        assert(status == NPU_OK && "the unit was right a moment ago");
    }
    figure->measured = value / figure->scale;
    return status;
}

static npu_status read_share(const npu_yaml *node, const char *what, double *value,
                             npu_error *err) {
    if (node == NULL)
        return NPU_OK;
    npu_status status = npu_yaml_want(node, NPU_YAML_SCALAR, what, err);
    return status ? status
                  : npu_unit_parse(node->text, NPU_UNIT_PERCENT, node->pos, what, value, err);
}

static npu_status read_per(const npu_yaml *node, npu_figure *figure, npu_error *err) {
    figure->per = 1;
    if (node == NULL)
        return NPU_OK;
    npu_status status = npu_yaml_want(node, NPU_YAML_SCALAR, "per", err);
    if (!status)
        status = npu_unit_parse(node->text, NPU_UNIT_NONE, node->pos, "per", &figure->per, err);
    if (!status && !(figure->per > 0))
        status =
            npu_fail(err, NPU_BAD_INPUT, node->pos, "per must be above 0, but is '%s'", node->text);
    return status;
}

static npu_status add_figure(reader *r, const npu_figure *figure) {
    npu_status status = NPU_GROW(r->cases, figures, figure_count, figure_capacity, r->err);
    if (!status)
        r->cases->figures[r->cases->figure_count++] = *figure;
    return status;
}

// The same thing read twice from a variant would be counted twice.
static npu_status check_twice(const reader *r, const npu_figure *figure) {
    const npu_cases *cases = r->cases;
    for (int i = cases->figure_count - 1; i >= 0; i--) {
        const npu_figure *other = &cases->figures[i];
        if (other->variant != figure->variant || other->case_ != figure->case_)
            break;
        if (strcmp(other->read.text, figure->read.text) == 0)
            return npu_fail(r->err, NPU_BAD_INPUT, figure->pos,
                            "'%s' is read twice; first at line %d", figure->read.text,
                            other->pos.line);
    }
    return NPU_OK;
}

// The figure that `map` has by its keys read, measured and row.
static npu_status read_figure(reader *r, const npu_yaml *map, const char *what, const scope *s,
                              int case_, int variant) {
    npu_figure figure = {.case_ = case_, .variant = variant, .band = -1, .base = -1};
    const npu_yaml *read = s->said[SAYS_READ], *measured = NULL;
    const npu_yaml *row = npu_yaml_get(map, "row");
    npu_status status = read != NULL ? NPU_OK : npu_yaml_need(map, what, "read", &read, r->err);
    if (!status)
        status = npu_yaml_need(map, what, "measured", &measured, r->err);
    if (!status)
        status = npu_yaml_want(read, NPU_YAML_SCALAR, "read", r->err);
    if (!status)
        status = npu_reading_parse(&r->cases->arena, read->text, read->pos, &figure.read, r->err);
    if (!status) {
        figure.pos = measured->pos;
        status = read_measured(measured, &figure, r->err);
    }
    if (!status && row != NULL)
        status = npu_read_name(row, "row", &figure.row, r->err);
    if (!status && row != NULL)
        status = npu_check_row(r, figure.row, row->pos);
    if (!status)
        status = read_share(s->said[SAYS_BAND], "band", &figure.band, r->err);
    if (!status)
        status = read_share(s->said[SAYS_SPREAD], "spread", &figure.spread, r->err);
    if (!status)
        status = read_per(s->said[SAYS_PER], &figure, r->err);
    if (!status)
        status = check_twice(r, &figure);
    return status ? status : add_figure(r, &figure);
}

static npu_status read_list(reader *r, const npu_yaml *list, const scope *s, int case_,
                            int variant) {
    static const char *const keys[] = {"doc",    "read", "measured", "row",
                                       "spread", "band", "per",      NULL};
    npu_status status = npu_yaml_want(list, NPU_YAML_LIST, "figures", r->err);
    for (int i = 0; !status && i < list->count; i++) {
        const npu_yaml *map = list->items[i];
        scope inner;
        status = npu_yaml_keys(map, "a figure", keys, r->err);
        if (status)
            break;
        npu_scope_open(s, map, &inner);
        inner.said[SAYS_READ] = npu_yaml_get(map, "read");
        status = read_figure(r, map, "a figure", &inner, case_, variant);
    }
    return status;
}

npu_status npu_read_figures(reader *r, const npu_yaml *map, const char *what, const scope *s,
                            int case_, int variant) {
    const npu_yaml *list = npu_yaml_get(map, "figures");
    bool own = npu_yaml_get(map, "measured") != NULL || npu_yaml_get(map, "row") != NULL;
    // `read` alone is the mark of a figure only where nothing else can be meant by it.
    bool meant = npu_yaml_get(map, "read") != NULL && list == NULL;
    npu_status status = NPU_OK;
    if (own || meant)
        status = read_figure(r, map, what, s, case_, variant);
    if (!status && list != NULL)
        status = read_list(r, list, s, case_, variant);
    return status;
}

// ---- figures of a case together ------------------------------------------------------------

static int find_variant(const npu_cases *cases, const npu_case *c, const char *name) {
    for (int v = c->first_variant; v < c->first_variant + c->variant_count; v++)
        if (cases->variants[v].name != NULL && strcmp(cases->variants[v].name, name) == 0)
            return v;
    return -1;
}

static npu_status unknown_variant(reader *r, const npu_case *c, const npu_reading *read) {
    const char **names = npu_arena_alloc(&r->cases->arena, (size_t)c->variant_count, sizeof *names);
    if (names == NULL)
        return npu_fail_memory(r->err);
    int count = 0;
    char hint[128];
    for (int v = c->first_variant; v < c->first_variant + c->variant_count; v++)
        if (r->cases->variants[v].name != NULL)
            names[count++] = r->cases->variants[v].name;
    return npu_fail(r->err, NPU_BAD_INPUT, read->base_pos, "the case has no variant '%s'%s",
                    read->base, npu_did_you_mean(read->base, names, count, hint, sizeof hint));
}

// The figure of `variant` that reads the same, absolutely; it is added when there is none.
static npu_status find_base(reader *r, npu_case *c, const npu_figure *relative, int variant,
                            int *base) {
    for (int i = c->first_figure; i < c->first_figure + c->figure_count; i++) {
        const npu_figure *f = &r->cases->figures[i];
        *base = i;
        if (f->variant == variant && f->read.base == NULL && f->per == 1 &&
            f->dimension != NPU_DIM_CYCLES && npu_reading_same(&f->read, &relative->read))
            return NPU_OK;
    }
    assert(relative->read.base != NULL && variant != relative->variant);
    npu_figure hidden = {.read = relative->read,
                         .pos = relative->pos,
                         .case_ = relative->case_,
                         .variant = variant,
                         .unit = "",
                         .scale = 1,
                         .measured = 1,
                         .band = -1,
                         .per = 1,
                         .hidden = true,
                         .base = -1};
    hidden.read.base = NULL;
    hidden.dimension = dimension_of(&hidden.read);
    *base = r->cases->figure_count;
    c->figure_count++;
    return add_figure(r, &hidden);
}

npu_status npu_read_bases(reader *r, npu_case *c) {
    assert(c->first_figure + c->figure_count == r->cases->figure_count);
    int count = c->figure_count; // without those that are added
    for (int i = c->first_figure; i < c->first_figure + count; i++) {
        npu_figure figure = r->cases->figures[i]; // a copy: the array may move
        if (figure.read.base == NULL)
            continue;
        int variant = find_variant(r->cases, c, figure.read.base), base = -1;
        if (variant < 0)
            return unknown_variant(r, c, &figure.read);
        if (variant == figure.variant)
            return npu_fail(r->err, NPU_BAD_INPUT, figure.read.base_pos,
                            "a variant cannot be relative to itself");
        npu_status status = find_base(r, c, &figure, variant, &base);
        if (status)
            return status;
        r->cases->figures[i].base = base;
    }
    return NPU_OK;
}

const char *npu_read_place(npu_pos pos, char *buf, int size) {
    npu_pos_text(pos, buf, size);
    size_t length = strlen(buf);
    if (length >= 2 && strcmp(buf + length - 2, ": ") == 0)
        buf[length - 2] = '\0';
    return buf;
}

npu_status npu_check_row(const reader *r, const char *row, npu_pos pos) {
    const npu_cases *cases = r->cases;
    char place[512];
    for (int i = 0; i < cases->figure_count; i++) {
        const npu_figure *other = &cases->figures[i];
        if (other->row != NULL && strcmp(other->row, row) == 0)
            return npu_fail(r->err, NPU_BAD_INPUT, pos, "row '%s' is simulated already, at %s", row,
                            npu_read_place(other->pos, place, sizeof place));
    }
    for (int i = 0; i < cases->skipped_count; i++) {
        const npu_skipped *other = &cases->skipped[i];
        if (strcmp(other->row, row) == 0)
            return npu_fail(r->err, NPU_BAD_INPUT, pos, "row '%s' is not simulated, says %s", row,
                            npu_read_place(other->pos, place, sizeof place));
    }
    return NPU_OK;
}

// Neighbours are compared by the first figure of each.
npu_status npu_check_pairs(reader *r, const npu_case *c) {
    static const char *const names[] = {"a time", "cycles", "a rate", "a count", "a ratio"};
    const npu_figure *lead = NULL; // of the variant before
    int variant = -1;
    for (int i = c->first_figure; c->pair && i < c->first_figure + c->figure_count; i++) {
        const npu_figure *f = &r->cases->figures[i];
        if (f->hidden || f->variant == variant)
            continue;
        variant = f->variant;
        if (f->read.base != NULL)
            continue;
        if (lead != NULL && lead->dimension != f->dimension)
            return npu_fail(r->err, NPU_BAD_INPUT, f->pos,
                            "the variants cannot be compared: this is %s, the one before %s; "
                            "write 'pair: false' in the case",
                            names[f->dimension], names[lead->dimension]);
        lead = f;
    }
    return NPU_OK;
}
