// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "die_impl.h"
#include "yaml_tree.h"

enum { MAX_EXTENDS = 8, MAX_WORDS = 128 };

typedef struct loader {
    npu_die *die;
    npu_die_note *notes; // pos.file is set once the field has been given
    npu_error *err;
    struct stat chain[MAX_EXTENDS + 1]; // files being read, the one asked for first
    int depth;
} loader;

// "buffers" and "l0a" give "buffers.l0a". Too long a path is cut, and then names no field.
static void join_path(char path[NPU_DIE_PATH], const char *prefix, const char *key) {
    snprintf(path, NPU_DIE_PATH, "%s%s%s", prefix, prefix[0] != '\0' ? "." : "", key);
}

// The rest of `path` behind "prefix.", or NULL when it does not lie inside.
static const char *inside(const char *path, const char *prefix) {
    size_t length = strlen(prefix);
    if (length == 0)
        return path;
    return strncmp(path, prefix, length) == 0 && path[length] == '.' ? path + length + 1 : NULL;
}

static npu_status unknown_key(loader *l, const npu_yaml *key, const char *prefix) {
    char words[MAX_WORDS][NPU_DIE_PATH];
    const char *names[MAX_WORDS];
    int count = 0;
    snprintf(words[count++], NPU_DIE_PATH, "%s", prefix[0] != '\0' ? "note" : "name");
    if (prefix[0] == '\0')
        snprintf(words[count++], NPU_DIE_PATH, "extends");
    for (int i = 0; i < npu_die_field_count() && count < MAX_WORDS; i++) {
        npu_die_field field = npu_die_field_at(i);
        const char *rest = inside(field.path, prefix);
        if (rest == NULL)
            continue;
        snprintf(words[count], NPU_DIE_PATH, "%.*s", (int)strcspn(rest, "."), rest);
        if (strcmp(words[count], words[count - 1]) != 0) // fields of one section stand together
            count++;
    }
    for (int i = 0; i < count; i++)
        names[i] = words[i];
    char hint[128];
    return npu_fail(l->err, NPU_BAD_INPUT, key->pos, "unknown key '%s' in %s%s", key->text,
                    prefix[0] != '\0' ? prefix : "a die",
                    npu_did_you_mean(key->text, names, count, hint, sizeof hint));
}

// Reads the confidence and the source in `list`, from entry `at` on.
static npu_status read_note(loader *l, const npu_yaml *list, int at, const char *what,
                            npu_die_note *note) {
    static const char *const words[] = {"high", "medium", "low", NULL};
    static const npu_confidence levels[] = {NPU_HIGH, NPU_MEDIUM, NPU_LOW};
    assert(list->kind == NPU_YAML_LIST && at + 2 <= list->count);
    int level = 0;
    npu_status status = npu_yaml_choice(list->items[at], "confidence", words, &level, l->err);
    if (status != NPU_OK)
        return status;
    const npu_yaml *source = list->items[at + 1];
    if (source->kind != NPU_YAML_SCALAR || source->text[0] == '\0')
        return npu_fail(l->err, NPU_BAD_INPUT, source->pos, "the source of %s must be a text",
                        what);
    note->confidence = levels[level];
    note->source = source->text;
    return NPU_OK;
}

// A map's `note: [confidence, source]` holds for its values that bring none of their own.
static npu_status section_note(loader *l, const npu_yaml *map, const char *prefix,
                               npu_die_note *note) {
    const npu_yaml *given = prefix[0] != '\0' ? npu_yaml_get(map, "note") : NULL;
    if (given == NULL)
        return NPU_OK;
    char what[NPU_DIE_PATH];
    join_path(what, prefix, "note");
    if (given->kind != NPU_YAML_LIST || given->count != 2)
        return npu_fail(l->err, NPU_BAD_INPUT, given->pos,
                        "%s must be [high|medium|low, \"source\"]", what);
    return read_note(l, given, 0, prefix, note);
}

static npu_status take_value(loader *l, int field, const npu_yaml *node, npu_die_note note) {
    npu_die_field f = npu_die_field_at(field);
    const npu_yaml *value = node;
    if (node->kind == NPU_YAML_LIST && node->count == 3) {
        value = node->items[0];
        npu_status status = read_note(l, node, 1, f.path, &note);
        if (status != NPU_OK)
            return status;
    }
    if (value->kind != NPU_YAML_SCALAR)
        return npu_fail(l->err, NPU_BAD_INPUT, node->pos,
                        "%s must be a value or [value, high|medium|low, \"source\"]", f.path);
    double number = 0.0;
    npu_status status = npu_unit_parse(value->text, f.unit, value->pos, f.path, &number, l->err);
    if (status != NPU_OK)
        return status;
    memcpy((char *)l->die + f.offset, &number, sizeof number);
    note.pos = value->pos;
    l->notes[field] = note;
    return NPU_OK;
}

static npu_status take_map(loader *l, const npu_yaml *map, const char *prefix, npu_die_note note) {
    npu_status status = npu_yaml_want(map, NPU_YAML_MAP, prefix[0] ? prefix : "a die", l->err);
    if (status == NPU_OK)
        status = section_note(l, map, prefix, &note);
    for (int i = 0; status == NPU_OK && i < map->count; i++) {
        const char *key = map->keys[i]->text;
        bool top = prefix[0] == '\0';
        if (top ? strcmp(key, "name") == 0 || strcmp(key, "extends") == 0
                : strcmp(key, "note") == 0)
            continue;
        char path[NPU_DIE_PATH];
        join_path(path, prefix, key);
        int field = npu_die_field_find(path);
        // A key with a dot in it would join to the name of a field deeper down.
        bool plain = strchr(key, '.') == NULL;
        if (plain && field >= 0)
            status = take_value(l, field, map->items[i], note);
        else if (plain && npu_die_is_section(path))
            status = take_map(l, map->items[i], path, note);
        else
            status = unknown_key(l, map->keys[i], prefix);
    }
    return status;
}

// Notes the file as being read; `from` is the `extends` that names it, NULL for the first.
static npu_status enter(loader *l, const char *path, const npu_yaml *from) {
    struct stat *self = &l->chain[l->depth];
    npu_pos pos = from != NULL ? from->pos : (npu_pos){0};
    if (stat(path, self) != 0)
        return from != NULL
                   ? npu_fail(l->err, NPU_IO, pos, "cannot extend %s: %s", path, strerror(errno))
                   : npu_fail(l->err, NPU_IO, pos, "cannot read %s: %s", path, strerror(errno));
    for (int i = 0; i < l->depth; i++)
        if (l->chain[i].st_dev == self->st_dev && l->chain[i].st_ino == self->st_ino)
            return npu_fail(l->err, NPU_BAD_INPUT, pos,
                            "extends goes in a circle: %s is already being read", path);
    l->depth++;
    return NPU_OK;
}

static npu_status take_file(loader *l, const char *path, const npu_yaml *from) {
    const npu_yaml *root = NULL;
    npu_status status = enter(l, path, from);
    if (status == NPU_OK)
        status = npu_yaml_load(&l->die->arena, path, &root, l->err);
    if (status == NPU_OK)
        status = npu_yaml_want(root, NPU_YAML_MAP, "a die", l->err);
    const npu_yaml *extends = NULL;
    if (status == NPU_OK)
        extends = npu_yaml_get(root, "extends");
    if (extends != NULL) {
        status = npu_yaml_want(extends, NPU_YAML_SCALAR, "extends", l->err);
        if (status == NPU_OK && l->depth > MAX_EXTENDS)
            status = npu_fail(l->err, NPU_BAD_INPUT, extends->pos,
                              "extends is nested deeper than %d files", MAX_EXTENDS);
        if (status != NPU_OK)
            return status;
        const char *parent = npu_path_beside(&l->die->arena, path, extends->text);
        status = parent != NULL ? take_file(l, parent, extends) : npu_fail_memory(l->err);
    }
    if (status == NPU_OK && from == NULL) {
        const npu_yaml *name = NULL;
        status = npu_yaml_need(root, "a die", "name", &name, l->err);
        if (status == NPU_OK)
            status = npu_yaml_want(name, NPU_YAML_SCALAR, "name", l->err);
        if (status == NPU_OK && name->text[0] == '\0')
            status = npu_fail(l->err, NPU_BAD_INPUT, name->pos, "name must not be empty");
        if (status == NPU_OK)
            l->die->name = name->text;
    }
    // After what it extends, so that its own values win.
    return status == NPU_OK ? take_map(l, root, "", (npu_die_note){0}) : status;
}

static npu_status check_given(loader *l) {
    for (int i = 0; i < npu_die_field_count(); i++) {
        char name[NPU_DIE_PATH];
        if (l->notes[i].pos.file == NULL)
            return npu_fail(l->err, NPU_BAD_INPUT, (npu_pos){l->die->path, 0, 0},
                            "die %s has no %s", l->die->name,
                            npu_die_field_name(i, name, sizeof name));
    }
    return NPU_OK;
}

// What a rule asks of a value, in the words of its error.
typedef struct limits {
    double least, most;
    bool above; // `least` itself is refused
    bool whole;
    const char *words;
} limits;

static npu_status check_rule(loader *l, int field) {
    static const double huge = 1e15; // whole numbers up to here are exact, with room to add
    static const limits rules[NPU_DIE_RULE_COUNT] = {
        [NPU_DIE_ANY] = {0.0, huge, false, false, "0 or more, at most 1e15"},
        [NPU_DIE_POSITIVE] = {0.0, huge, true, false, "above 0, at most 1e15"},
        [NPU_DIE_WHOLE] = {1.0, huge, false, true, "a whole number from 1 to 1e15"},
        [NPU_DIE_LINE] = {32.0, 65536.0, false, true, "a power of two from 32B to 64KiB"},
        [NPU_DIE_CLUSTERS] = {1.0, 64.0, false, true, "a whole number from 1 to 64"},
        [NPU_DIE_SCHEDULERS] = {1.0, 8.0, false, true, "a whole number from 1 to 8"},
        [NPU_DIE_SHARE] = {0.0, 1.0, true, false, "above 0, at most 1"},
    };
    npu_die_field f = npu_die_field_at(field);
    const limits *rule = &rules[f.rule];
    double value = npu_die_value(l->die, field);
    // A positive value that is almost 0 would divide into infinity later.
    bool low = value < rule->least || (rule->above && value < 1e-9);
    bool fits = !low && value <= rule->most && (!rule->whole || value == floor(value));
    int exponent = 0;
    if (fits && (f.rule != NPU_DIE_LINE || frexp(value, &exponent) == 0.5))
        return NPU_OK;
    char text[64];
    return npu_fail(l->err, NPU_BAD_INPUT, l->notes[field].pos, "%s must be %s, but is %s", f.path,
                    rule->words, npu_die_field_text(l->die, field, text, sizeof text));
}

typedef struct relation { // between two fields
    const char *a, *b;
    bool multiple; // a is a multiple of b; otherwise a is at most b
} relation;

static npu_status check_relation(loader *l, const relation *r) {
    int a = npu_die_field_find(r->a), b = npu_die_field_find(r->b);
    assert(a >= 0 && b >= 0);
    double x = npu_die_value(l->die, a), y = npu_die_value(l->die, b);
    if (r->multiple ? fmod(x, y) == 0.0 : x <= y)
        return NPU_OK;
    char one[64], other[64];
    return npu_fail(l->err, NPU_BAD_INPUT, l->notes[a].pos, "%s (%s) must be %s %s (%s)", r->a,
                    npu_die_field_text(l->die, a, one, sizeof one),
                    r->multiple ? "a multiple of" : "at most", r->b,
                    npu_die_field_text(l->die, b, other, sizeof other));
}

static npu_status check(loader *l) {
    static const relation relations[] = {
        {"buffers.l0a", "align.l0a", true},
        {"buffers.l0b", "align.l0b", true},
        {"buffers.l0c", "align.l0c", true},
        {"buffers.l1", "align.l1", true},
        {"buffers.ub", "align.ub", true},
        {"l2.size", "l2.line", true},
        {"l2.line", "l2.sector", true},
        {"hbm.crowd_rate", "hbm.rate", false},
        {"cube.unit_flag_head", "cube.head", false},
        {"l2.hit_latency", "l2.miss_latency", false},
        {"sdma.shared", "sdma.rate", false},
    };
    npu_status status = check_given(l);
    for (int i = 0; status == NPU_OK && i < npu_die_field_count(); i++)
        status = check_rule(l, i);
    for (size_t i = 0; status == NPU_OK && i < sizeof relations / sizeof *relations; i++)
        status = check_relation(l, &relations[i]);
    return status;
}

static bool ends_in_yaml(const char *name) {
    size_t length = strlen(name);
    return length >= 5 && strcmp(name + length - 5, ".yaml") == 0;
}

// "no die 'A4' in FOLDER; did you mean 'A3'?", or all that there are when none is near.
static npu_status no_such_die(npu_arena *arena, const char *folder, const char *name,
                              npu_error *err) {
    const char *const *names = NULL;
    int count = 0;
    npu_status status = npu_die_list(arena, folder, &names, &count, err);
    if (status != NPU_OK)
        return status;
    char hint[512];
    return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "no die '%s' in %s%s", name, folder,
                    npu_did_you_mean_or(name, names, count, hint, sizeof hint));
}

static npu_status load(const char *folder, const char *name, npu_die *die, npu_error *err) {
    npu_arena *arena = &die->arena;
    die->path = ends_in_yaml(name) ? npu_arena_text(arena, name, strlen(name))
                                   : npu_arena_printf(arena, "%s/%s.yaml", folder, name);
    npu_die_note *notes =
        npu_arena_alloc(arena, (size_t)npu_die_field_count(), sizeof(npu_die_note));
    if (die->path == NULL || notes == NULL)
        return npu_fail_memory(err);
    die->notes = notes;
    struct stat unused;
    if (!ends_in_yaml(name) && stat(die->path, &unused) != 0 && errno == ENOENT)
        return no_such_die(arena, folder, name, err);
    loader l = {.die = die, .notes = notes, .err = err};
    npu_status status = take_file(&l, die->path, NULL);
    return status == NPU_OK ? check(&l) : status;
}

npu_status npu_die_load(const char *folder, const char *name, npu_die *die, npu_error *err) {
    assert(folder != NULL && name != NULL && die != NULL);
    *die = (npu_die){0};
    npu_status status = load(folder, name, die, err);
    if (status != NPU_OK)
        npu_die_free(die);
    return status;
}

void npu_die_free(npu_die *die) {
    npu_arena_free(&die->arena);
    *die = (npu_die){0};
}

typedef struct name_list {
    const char **names;
    int count;
    int capacity;
} name_list;

// A file that parses, but has no `name:`, is no die.
static bool is_die(const char *path) {
    npu_arena arena = {0};
    const npu_yaml *root = NULL;
    npu_status status = npu_yaml_load(&arena, path, &root, NULL);
    bool is = status != NPU_OK || npu_yaml_get(root, "name") != NULL;
    npu_arena_free(&arena);
    return is;
}

static npu_status add_die(npu_arena *arena, const char *folder, const char *file, name_list *list,
                          npu_error *err) {
    if (!ends_in_yaml(file) || file[0] == '.')
        return NPU_OK;
    const char *path = npu_arena_printf(arena, "%s/%s", folder, file);
    const char *name = npu_arena_text(arena, file, strlen(file) - strlen(".yaml"));
    if (path == NULL || name == NULL)
        return npu_fail_memory(err);
    if (!is_die(path))
        return NPU_OK;
    npu_status status = NPU_GROW(list, names, count, capacity, err);
    if (status == NPU_OK)
        list->names[list->count++] = name;
    return status;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

npu_status npu_die_list(npu_arena *arena, const char *folder, const char *const **names, int *count,
                        npu_error *err) {
    assert(arena != NULL && folder != NULL && names != NULL && count != NULL);
    *names = NULL;
    *count = 0;
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return npu_fail(err, NPU_IO, (npu_pos){0}, "cannot read the folder of dies %s: %s", folder,
                        strerror(errno));
    name_list list = {0};
    npu_status status = NPU_OK;
    for (struct dirent *entry; status == NPU_OK && (entry = readdir(dir)) != NULL;)
        status = add_die(arena, folder, entry->d_name, &list, err);
    closedir(dir);
    const char **sorted = npu_arena_alloc(arena, (size_t)list.count, sizeof *sorted);
    if (sorted == NULL) {
        status = npu_fail_memory(err);
    } else if (status == NPU_OK) {
        for (int i = 0; i < list.count; i++)
            sorted[i] = list.names[i];
        qsort(sorted, (size_t)list.count, sizeof *sorted, compare_names);
        *names = sorted;
        *count = list.count;
    }
    free(list.names);
    return status;
}
