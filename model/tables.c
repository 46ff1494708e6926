// SPDX-License-Identifier: Apache-2.0
// Parameters that are tables of numbers: by an expression over their indices, drawn from a seed, or
// read from a file.
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "expr.h"

enum { MAX_NUMBERS = 1 << 20 }; // in a table, and drawn

static int64_t count_of(const npu_table *table) {
    int64_t count = 1;
    for (int d = 0; d < table->rank; d++)
        count *= table->size[d];
    return count;
}

static npu_status read_size(npu_build *b, const npu_yaml *list, npu_table *table) {
    npu_status status = npu_yaml_want(list, NPU_YAML_LIST, "the size of a table", b->err);
    if (status)
        return status;
    if (list->count < 1 || list->count > NPU_TABLE_RANK)
        return npu_fail(b->err, NPU_BAD_INPUT, list->pos, "a table has 1 to %d dimensions, not %d",
                        NPU_TABLE_RANK, list->count);
    table->rank = list->count;
    int64_t count = 1;
    for (int d = 0; d < list->count && !status; d++) {
        status = npu_build_number(b, list->items[d], "the size of a table", &table->size[d]);
        if (!status && (table->size[d] < 1 || table->size[d] > MAX_NUMBERS / count))
            return npu_fail(b->err, NPU_BAD_INPUT, list->items[d]->pos,
                            "a table has 1 to %d numbers", MAX_NUMBERS);
        count *= table->size[d];
    }
    return status;
}

// ---- by an expression ------------------------------------------------------------------------

typedef struct indices { // names of the indices, before those in sight
    npu_scope outer;
    const npu_yaml *names;
} indices;

static npu_name_kind look_up(void *data, const char *name, int64_t *value, int *slot) {
    const indices *in = data;
    for (int d = 0; d < in->names->count; d++) {
        if (strcmp(in->names->items[d]->text, name) != 0)
            continue;
        *slot = d;
        return NPU_NAME_SLOT;
    }
    return in->outer.lookup(in->outer.data, name, value, slot);
}

static const char *list_names(void *data, int i) {
    const indices *in = data;
    return i < in->names->count ? in->names->items[i]->text
                                : in->outer.names(in->outer.data, i - in->names->count);
}

static const npu_table *look_up_table(void *data, const char *name) {
    const indices *in = data;
    return in->outer.table(in->outer.data, name);
}

static npu_status read_names(npu_build *b, const npu_yaml *names, const npu_table *table) {
    npu_status status = npu_yaml_want(names, NPU_YAML_LIST, "at", b->err);
    if (!status && names->count != table->rank)
        return npu_fail(b->err, NPU_BAD_INPUT, names->pos,
                        "`at` names the index of each of the %d dimensions", table->rank);
    for (int d = 0; !status && d < names->count; d++) {
        status = npu_yaml_want(names->items[d], NPU_YAML_SCALAR, "an index", b->err);
        if (!status && !npu_is_name(names->items[d]->text))
            return npu_fail(b->err, NPU_BAD_INPUT, names->items[d]->pos,
                            "'%s' is no name; a name is letters, digits and _",
                            names->items[d]->text);
    }
    return status;
}

static npu_status evaluate(npu_build *b, const npu_yaml *map, const npu_table *table,
                           int64_t *values) {
    const npu_yaml *names = NULL, *node = NULL;
    npu_status status = npu_yaml_need(map, "a table", "at", &names, b->err);
    if (!status)
        status = npu_yaml_need(map, "a table", "value", &node, b->err);
    if (!status)
        status = read_names(b, names, table);
    if (!status)
        status = npu_yaml_want(node, NPU_YAML_SCALAR, "value", b->err);
    const npu_expr *expr = NULL;
    npu_code code = {0};
    indices in = {npu_build_scope(b), names};
    npu_scope scope = {look_up, list_names, &in, look_up_table};
    if (!status)
        status = npu_expr_parse(&b->scratch, node->text, node->pos, &expr, b->err);
    if (!status)
        status = npu_expr_bind(&b->scratch, expr, &scope, &code, b->err);
    int64_t at[NPU_TABLE_RANK] = {0}, count = count_of(table);
    for (int64_t i = 0; i < count && !status; i++) {
        status = npu_code_run(&code, at, &values[i], b->err);
        for (int d = table->rank - 1; d >= 0 && ++at[d] == table->size[d]; d--)
            at[d] = 0;
    }
    return status;
}

// ---- drawn -----------------------------------------------------------------------------------

static uint64_t next_random(uint64_t *state) { // splitmix64
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static npu_status read_draw(npu_build *b, const npu_yaml *map, int64_t *seed, int64_t *times,
                            int64_t *pick) {
    static const char *const keys[] = {"seed", "times", "pick", NULL};
    int64_t *const numbers[] = {seed, times, pick};
    npu_status status = npu_yaml_keys(map, "a draw", keys, b->err);
    for (int i = 0; i < 3 && !status; i++) {
        const npu_yaml *node = NULL;
        status = npu_yaml_need(map, "a draw", keys[i], &node, b->err);
        if (!status)
            status = npu_build_number(b, node, keys[i], numbers[i]);
    }
    return status;
}

// Each row (first index) counts `times` draws of `pick` different places in it, all alike.
static npu_status draw(npu_build *b, const npu_yaml *map, int64_t seed, int64_t times, int64_t pick,
                       const npu_table *table, int64_t *values) {
    int64_t rows = table->size[0], places = count_of(table) / rows;
    if (pick < 1 || pick > places || times < 0 || times > MAX_NUMBERS / pick / rows)
        return npu_fail(b->err, NPU_BAD_INPUT, map->pos,
                        "%" PRId64 " draws of %" PRId64 " different ones of %" PRId64
                        " are not possible",
                        times, pick, places);
    int64_t *order = npu_arena_alloc(&b->scratch, (size_t)places, sizeof *order);
    if (order == NULL)
        return npu_fail_memory(b->err);
    for (int64_t i = 0; i < places; i++)
        order[i] = i;
    memset(values, 0, (size_t)(rows * places) * sizeof *values);
    uint64_t state = (uint64_t)seed;
    for (int64_t t = 0; t < rows * times; t++) {
        for (int64_t k = 0; k < pick; k++) {
            int64_t other = k + (int64_t)(next_random(&state) % (uint64_t)(places - k));
            int64_t place = order[other];
            order[other] = order[k];
            order[k] = place;
            values[t / times * places + place]++;
        }
    }
    return NPU_OK;
}

// ---- from a file -----------------------------------------------------------------------------

static bool is_space(int c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ',';
}

// The next word, in line pos->line; "" at the end. What follows # on a line is for the reader.
static npu_status next_word(npu_build *b, FILE *file, npu_pos *pos, char *word, int size) {
    int length = 0;
    bool comment = false;
    for (int c = fgetc(file); c != EOF; c = fgetc(file)) {
        bool between = comment || is_space(c) || c == '#';
        if (length > 0 && between) {
            ungetc(c, file);
            break;
        }
        comment = c != '\n' && (comment || c == '#');
        pos->line += c == '\n';
        if (between)
            continue;
        if (length == size - 1)
            return npu_fail(b->err, NPU_BAD_INPUT, *pos, "a number has at most %d digits",
                            size - 1);
        word[length++] = (char)c;
    }
    word[length] = '\0';
    return NPU_OK;
}

// Whole numbers between spaces.
static npu_status parse_numbers(npu_build *b, FILE *file, const char *path, int64_t *values,
                                int64_t count) {
    npu_pos pos = {path, 1, 1};
    char word[24] = "";
    int64_t have = 0;
    npu_status status = next_word(b, file, &pos, word, sizeof word);
    while (!status && word[0] != '\0') {
        char *end = word;
        errno = 0;
        long long value = strtoll(word, &end, 10);
        if (*end != '\0' || errno != 0)
            return npu_fail(b->err, NPU_BAD_INPUT, pos, "'%s' is no whole number", word);
        if (have < count)
            values[have] = value;
        have++;
        status = next_word(b, file, &pos, word, sizeof word);
    }
    if (status || have == count)
        return status;
    return npu_fail(b->err, NPU_BAD_INPUT, (npu_pos){path, 0, 0},
                    "the table has %" PRId64 " numbers, and the file %" PRId64, count, have);
}

static npu_status read_file(npu_build *b, const npu_override *given, const npu_table *table,
                            int64_t *values) {
    if (given->text[0] != '@')
        return npu_fail(b->err, NPU_BAD_INPUT, given->pos,
                        "'%s' is a table; its numbers come from a file: --set %s=@FILE",
                        given->name, given->name);
    const char *path = given->text + 1;
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return npu_fail(b->err, NPU_IO, given->pos, "cannot read %s: %s", path, strerror(errno));
    npu_status status = parse_numbers(b, file, path, values, count_of(table));
    if (!status && ferror(file))
        status = npu_fail(b->err, NPU_IO, given->pos, "cannot read %s", path);
    fclose(file);
    for (int64_t i = 0; i < count_of(table) && !status; i++) // a part of the graph, like its files
        b->hash = (b->hash ^ (uint64_t)values[i]) * 1099511628211u;
    return status;
}

// ---- all -------------------------------------------------------------------------------------

static bool same(const npu_table *a, const npu_table *b) {
    return a->rank == b->rank && memcmp(a->size, b->size, sizeof a->size) == 0 &&
           memcmp(a->values, b->values, (size_t)count_of(a) * sizeof *a->values) == 0;
}

// Tasks whose tables are the same one can share their program.
static npu_status keep(npu_build *b, const npu_table *table, const npu_table **kept) {
    for (int i = 0; i < b->table_count; i++) {
        *kept = b->tables[i].table;
        if (same(table, *kept))
            return NPU_OK;
    }
    int64_t count = count_of(table);
    npu_table *copy = npu_arena_alloc(b->arena, 1, sizeof *copy);
    int64_t *values = npu_arena_alloc(b->arena, (size_t)count, sizeof *values);
    if (copy == NULL || values == NULL)
        return npu_fail_memory(b->err);
    memcpy(values, table->values, (size_t)count * sizeof *values);
    *copy = *table;
    copy->values = values;
    *kept = copy;
    npu_status status = NPU_GROW(b, tables, table_count, table_capacity, b->err);
    if (!status)
        b->tables[b->table_count++].table = copy;
    return status;
}

npu_status npu_build_take_table(npu_build *b, const npu_yaml *key, const npu_override *given,
                                const npu_table *want, const npu_table **table) {
    *table = given->table;
    if (given->table == NULL)
        return npu_fail(b->err, NPU_BAD_INPUT, given->pos, "'%s' is a table, and is given a number",
                        key->text);
    if (want != NULL && (given->table->rank != want->rank ||
                         memcmp(given->table->size, want->size, sizeof want->size) != 0))
        return npu_fail(b->err, NPU_BAD_INPUT, given->pos, "'%s' is a table of another size",
                        key->text);
    return NPU_OK;
}

npu_status npu_build_table(npu_build *b, const npu_yaml *key, const npu_yaml *map,
                           const npu_override *given, const npu_table **table) {
    static const char *const keys[] = {"table", "at", "value", "draw", NULL};
    npu_table made = {0};
    const npu_yaml *size = NULL, *drawn = npu_yaml_get(map, "draw");
    int64_t seed = 0, times = 0, pick = 0;
    npu_status status = npu_yaml_keys(map, "a table", keys, b->err);
    if (!status)
        status = npu_yaml_need(map, "a table", "table", &size, b->err);
    if (!status)
        status = read_size(b, size, &made);
    if (!status && given != NULL && given->text == NULL)
        return npu_build_take_table(b, key, given, &made, table);
    if (!status && drawn != NULL)
        status = read_draw(b, drawn, &seed, &times, &pick);
    if (status)
        return status;
    int64_t *values = npu_arena_alloc(&b->scratch, (size_t)count_of(&made), sizeof *values);
    if (values == NULL)
        return npu_fail_memory(b->err);
    made.values = values;
    if (given != NULL)
        status = read_file(b, given, &made, values);
    else if (seed != 0)
        status = draw(b, drawn, seed, times, pick, &made, values);
    else
        status = evaluate(b, map, &made, values);
    return status ? status : keep(b, &made, table);
}
