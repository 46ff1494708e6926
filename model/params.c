// SPDX-License-Identifier: Apache-2.0
// Parameters and the expressions over them.
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "build.h"
#include "expr.h"

// Inner names first; the frame's own variables only: an included file sees no others.
static const npu_var *find_var(const npu_build *b, const char *name) {
    for (int i = b->var_count - 1; i >= b->frame->first_var; i--)
        if (strcmp(b->vars[i].name, name) == 0)
            return &b->vars[i];
    return NULL;
}

static npu_name_kind look_up(void *scope, const char *name, int64_t *value, int *slot) {
    (void)slot;
    const npu_var *var = find_var(scope, name);
    if (var == NULL || var->table != NULL)
        return NPU_NAME_UNKNOWN;
    *value = var->value;
    return NPU_NAME_CONST;
}

static const char *list_names(void *scope, int i) {
    const npu_build *b = scope;
    int at = b->frame->first_var + i;
    return at < b->var_count ? b->vars[at].name : NULL;
}

static const npu_table *look_up_table(void *scope, const char *name) {
    return npu_build_find_table(scope, name);
}

const npu_table *npu_build_find_table(const npu_build *b, const char *name) {
    const npu_var *var = find_var(b, name);
    return var != NULL ? var->table : NULL;
}

npu_scope npu_build_scope(npu_build *b) {
    return (npu_scope){look_up, list_names, b, look_up_table};
}

// Most numbers are a literal or one name: those need no parser.
static bool eval_simple(const npu_build *b, const char *text, int64_t *value) {
    int n = 0;
    int64_t sum = 0;
    for (; n < 18 && text[n] >= '0' && text[n] <= '9'; n++)
        sum = sum * 10 + (text[n] - '0');
    if (n > 0 && text[n] == '\0') {
        *value = sum;
        return true;
    }
    const npu_var *var = npu_is_name(text) ? find_var(b, text) : NULL;
    if (var == NULL || var->table != NULL)
        return false;
    *value = var->value;
    return true;
}

npu_status npu_build_eval(npu_build *b, const char *text, npu_pos pos, int64_t *value) {
    if (eval_simple(b, text, value))
        return NPU_OK;
    npu_scope scope = npu_build_scope(b);
    return npu_expr_value(&b->scratch, text, pos, &scope, value, b->err);
}

npu_status npu_build_number(npu_build *b, const npu_yaml *node, const char *what, int64_t *value) {
    npu_status status = npu_yaml_want(node, NPU_YAML_SCALAR, what, b->err);
    return status == NPU_OK ? npu_build_eval(b, node->text, node->pos, value) : status;
}

// A word that is no flag: what other YAML calls true and false, or the nearest name.
static npu_status fail_flag(npu_build *b, const npu_yaml *node, const char *what) {
    static const char *const others[][2] = {
        {"yes", "true"}, {"on", "true"}, {"no", "false"}, {"off", "false"}};
    int most = b->var_count - b->frame->first_var + 2;
    const char **names = npu_arena_alloc(&b->scratch, (size_t)most, sizeof *names);
    if (names == NULL)
        return npu_fail_memory(b->err);
    int count = 0;
    const char *word = node->text;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcasecmp(word, others[i][0]) == 0)
            word = others[i][1];
    names[count++] = "true";
    names[count++] = "false";
    for (int i = b->frame->first_var; i < b->var_count; i++)
        names[count++] = b->vars[i].name;
    char hint[128];
    return npu_fail(b->err, NPU_BAD_INPUT, node->pos,
                    "%s must be true, false or an expression, not '%s'%s", what, node->text,
                    npu_did_you_mean(word, names, count, hint, sizeof hint));
}

npu_status npu_build_flag(npu_build *b, const npu_yaml *node, const char *what, bool *value) {
    npu_status status = npu_yaml_want(node, NPU_YAML_SCALAR, what, b->err);
    if (status != NPU_OK)
        return status;
    *value = strcmp(node->text, "true") == 0;
    if (*value || strcmp(node->text, "false") == 0)
        return NPU_OK;
    if (npu_is_name(node->text) && find_var(b, node->text) == NULL)
        return fail_flag(b, node, what);
    int64_t number = 0;
    status = npu_build_eval(b, node->text, node->pos, &number);
    *value = number != 0;
    return status;
}

npu_status npu_build_choice(npu_build *b, const npu_yaml *node, const char *what,
                            const char *const *names, int *index) {
    npu_status status = npu_yaml_want(node, NPU_YAML_SCALAR, what, b->err);
    if (status != NPU_OK)
        return status;
    char list[128] = "";
    for (int i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], node->text) == 0) {
            *index = i;
            return NPU_OK;
        }
        const char *comma = i == 0 ? "" : names[i + 1] == NULL ? " or " : ", ";
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", comma, names[i]);
    }
    return npu_fail(b->err, NPU_BAD_INPUT, node->pos, "%s must be %s, not '%s'", what, list,
                    node->text);
}

npu_status npu_build_var(npu_build *b, const char *name, npu_pos pos, int64_t value) {
    if (!npu_is_name(name))
        return npu_fail(b->err, NPU_BAD_INPUT, pos,
                        "'%s' is no name; a name is letters, digits and _", name);
    if (find_var(b, name) != NULL)
        return npu_fail(b->err, NPU_BAD_INPUT, pos, "the name '%s' is already in use", name);
    npu_status status = NPU_GROW(b, vars, var_count, var_capacity, b->err);
    if (status == NPU_OK)
        b->vars[b->var_count++] = (npu_var){name, value, NULL};
    return status;
}

static const npu_override *find_override(const npu_override *given, int count, const char *name) {
    for (int i = 0; i < count; i++)
        if (strcmp(given[i].name, name) == 0)
            return &given[i];
    return NULL;
}

static npu_status fail_unknown(npu_build *b, const npu_override *given, const char **names,
                               int count) {
    char hint[128];
    return npu_fail(b->err, NPU_BAD_INPUT, given->pos, "'%s' has no parameter '%s'%s",
                    b->files[b->frame->file].path, given->name,
                    npu_did_you_mean(given->name, names, count, hint, sizeof hint));
}

static npu_status check_with(npu_build *b, const npu_yaml *map, const npu_override *given,
                             int given_count) {
    int count = map != NULL ? map->count : 0;
    const char **names = npu_arena_alloc(&b->scratch, (size_t)count + 1, sizeof *names);
    if (names == NULL)
        return npu_fail_memory(b->err);
    for (int i = 0; i < count; i++)
        names[i] = map->keys[i]->text;
    for (int i = 0; i < given_count; i++) {
        if (find_override(given, i, given[i].name) != NULL)
            return npu_fail(b->err, NPU_BAD_INPUT, given[i].pos, "'%s' is set twice",
                            given[i].name);
        if (npu_yaml_get(map, given[i].name) == NULL)
            return fail_unknown(b, &given[i], names, count);
    }
    return NPU_OK;
}

// Which of --set are for the graph's own file. All others are for the files that it includes.
static npu_status claim_sets(npu_build *b, const npu_yaml *map) {
    for (int i = 0; i < b->options->set_count; i++) {
        npu_override *set = &b->sets[i];
        if (find_override(b->sets, i, set->name) != NULL)
            return npu_fail(b->err, NPU_BAD_INPUT, set->pos, "'%s' is set twice", set->name);
        set->own = npu_yaml_get(map, set->name) != NULL;
    }
    return NPU_OK;
}

npu_status npu_build_check_sets(npu_build *b) {
    const npu_override *unused = NULL;
    for (int i = 0; i < b->options->set_count && unused == NULL; i++)
        unused = b->sets[i].used ? NULL : &b->sets[i];
    if (unused == NULL)
        return NPU_OK;
    size_t most = 0;
    for (int f = 0; f < b->file_count; f++) {
        const npu_yaml *map = npu_yaml_get(b->files[f].root, "params");
        most += map != NULL ? (size_t)map->count : 0;
    }
    const char **names = npu_arena_alloc(&b->scratch, most + 1, sizeof *names);
    if (names == NULL)
        return npu_fail_memory(b->err);
    int count = 0;
    for (int f = 0; f < b->file_count; f++) {
        const npu_yaml *map = npu_yaml_get(b->files[f].root, "params");
        for (int i = 0; map != NULL && i < map->count; i++)
            names[count++] = map->keys[i]->text;
    }
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], unused->name) == 0)
            return npu_fail(b->err, NPU_BAD_INPUT, unused->pos,
                            "'%s' has no parameter '%s', and gives it to every file that it "
                            "includes",
                            b->files[b->frame->file].path, unused->name);
    return fail_unknown(b, unused, names, count);
}

// What a parameter is given: by `with:`, else by --set.
static const npu_override *find_given(npu_build *b, const npu_override *given, int given_count,
                                      const char *name) {
    const npu_override *with = find_override(given, given_count, name);
    for (int i = 0; with == NULL && i < b->options->set_count; i++) {
        npu_override *set = &b->sets[i];
        if (strcmp(set->name, name) == 0 && set->own == (b->frame->parent == NULL)) {
            set->used = true;
            return set;
        }
    }
    return with;
}

static npu_status fail_missing(npu_build *b, const npu_yaml *key) {
    if (b->frame->parent == NULL)
        return npu_fail(b->err, NPU_BAD_INPUT, key->pos,
                        "the parameter '%s' must be given: --set %s=..", key->text, key->text);
    return npu_fail(b->err, NPU_BAD_INPUT, b->frame->pos,
                    "'%s' needs the parameter '%s' in `with:`", b->files[b->frame->file].path,
                    key->text);
}

static npu_status read_param(npu_build *b, const npu_yaml *key, const npu_yaml *node,
                             const npu_override *given) {
    bool map = node->kind == NPU_YAML_MAP;
    npu_status status = map ? NPU_OK : npu_yaml_want(node, NPU_YAML_SCALAR, "a parameter", b->err);
    int64_t value = 0;
    const npu_table *table = NULL;
    if (status != NPU_OK)
        return status;
    if (map)
        status = npu_build_table(b, key, node, given, &table);
    else if (strcmp(node->text, "table") == 0 && given != NULL)
        status = npu_build_take_table(b, key, given, NULL, &table);
    else if (given != NULL && given->table != NULL)
        status = npu_fail(b->err, NPU_BAD_INPUT, given->pos,
                          "'%s' is a number, and is given a table", key->text);
    else if (given != NULL && given->text != NULL)
        status = npu_build_eval(b, given->text, given->pos, &value);
    else if (given != NULL)
        value = given->value;
    else if (strcmp(node->text, "required") == 0 || strcmp(node->text, "table") == 0)
        status = fail_missing(b, key);
    else
        status = npu_build_eval(b, node->text, node->pos, &value);
    if (status == NPU_OK)
        status = npu_build_var(b, key->text, key->pos, value);
    if (status == NPU_OK)
        b->vars[b->var_count - 1].table = table;
    return status;
}

npu_status npu_build_params(npu_build *b, const npu_yaml *map, const npu_override *given,
                            int given_count) {
    if (map != NULL && npu_yaml_want(map, NPU_YAML_MAP, "params", b->err) != NPU_OK)
        return NPU_BAD_INPUT;
    npu_status status =
        b->frame->parent == NULL ? claim_sets(b, map) : check_with(b, map, given, given_count);
    for (int i = 0; map != NULL && status == NPU_OK && i < map->count; i++)
        status = read_param(b, map->keys[i], map->items[i],
                            find_given(b, given, given_count, map->keys[i]->text));
    return status;
}

npu_status npu_build_require(npu_build *b, const npu_yaml *list) {
    static const char *const keys[] = {"that", "else", NULL};
    if (list == NULL)
        return NPU_OK;
    npu_status status = npu_yaml_want(list, NPU_YAML_LIST, "require", b->err);
    for (int i = 0; status == NPU_OK && i < list->count; i++) {
        const npu_yaml *item = list->items[i];
        const npu_yaml *that = NULL;
        const npu_yaml *sentence = NULL;
        int64_t holds = 1;
        status = npu_yaml_keys(item, "a requirement", keys, b->err);
        if (status == NPU_OK)
            status = npu_yaml_need(item, "a requirement", "that", &that, b->err);
        if (status == NPU_OK)
            status = npu_yaml_need(item, "a requirement", "else", &sentence, b->err);
        if (status == NPU_OK)
            status = npu_yaml_want(sentence, NPU_YAML_SCALAR, "else", b->err);
        if (status == NPU_OK)
            status = npu_build_number(b, that, "that", &holds);
        if (status == NPU_OK && holds == 0)
            status = npu_fail(b->err, NPU_BAD_INPUT, that->pos, "%s", sentence->text);
    }
    return status;
}
