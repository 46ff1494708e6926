// SPDX-License-Identifier: Apache-2.0
#include "diefile.h"

#include <string.h>

enum { DEPTH = 8 };

static void put_quoted(FILE *out, const char *text) {
    fputc('"', out);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            fputc('\\', out);
        fputc(*c, out);
    }
    fputc('"', out);
}

// Splits "vector.ops.add.startup"; returns how many keys there are.
static int split(char *name, const char *keys[DEPTH]) {
    int count = 0;
    for (char *rest = name; rest != NULL && count < DEPTH;) {
        char *dot = strchr(rest, '.');
        keys[count++] = rest;
        if (dot != NULL)
            *dot++ = '\0';
        rest = dot;
    }
    return count;
}

// Opens the sections that the field before was not in, and writes the field's key.
static void put_keys(FILE *out, const char *name, const char *before) {
    char text[NPU_PARAM_NAME], last[NPU_PARAM_NAME];
    const char *keys[DEPTH], *open[DEPTH];
    snprintf(text, sizeof text, "%s", name);
    snprintf(last, sizeof last, "%s", before);
    int count = split(text, keys), opened = split(last, open) - 1, level = 0;
    while (level < opened && level < count - 1 && strcmp(keys[level], open[level]) == 0)
        level++;
    for (; level < count; level++)
        fprintf(out, "%*s%s:%s", 2 * level, "", keys[level], level < count - 1 ? "\n" : " ");
}

void npu_diefile_write(FILE *out, const char *extends, const char *name,
                       const npu_die_entry *entries, int count) {
    fputs("extends: ", out);
    put_quoted(out, extends);
    fputs("\nname: ", out);
    put_quoted(out, name);
    fputc('\n', out);
    for (int i = 0; i < count; i++) {
        const npu_die_entry *e = &entries[i];
        char value[64];
        npu_param_text(e->param, e->value, value, sizeof value);
        put_keys(out, e->param->name, i > 0 ? entries[i - 1].param->name : "");
        if (e->source == NULL) {
            fprintf(out, "%s\n", value);
            continue;
        }
        fprintf(out, "[%s, %s, ", value, e->confidence);
        put_quoted(out, e->source);
        fputs("]\n", out);
    }
}
