// SPDX-License-Identifier: Apache-2.0
#include "baseline.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

static const char header[] = "# npusim validation baseline: predicted, error, figure";

// In the arena; NULL when out of memory.
static char *key_of(npu_arena *arena, const npu_cases *cases, const npu_figure *f) {
    assert(!f->hidden && f->variant < cases->variant_count);
    const npu_case *c = &cases->cases[f->case_];
    const char *variant = cases->variants[f->variant].name;
    return npu_arena_printf(arena, "%s | %s | %s | %s", cases->groups[c->group], c->name,
                            variant != NULL ? variant : "-", f->read.text);
}

// ---- the file ------------------------------------------------------------------------------

npu_status npu_baseline_write(FILE *out, const npu_cases *cases, npu_error *err) {
    npu_arena arena = {0};
    npu_status status = NPU_OK;
    fprintf(out, "%s\n", header);
    for (int i = 0; i < cases->figure_count && !status; i++) {
        const npu_figure *f = &cases->figures[i];
        if (f->hidden || !f->known)
            continue;
        const char *key = key_of(&arena, cases, f);
        if (key == NULL)
            status = npu_fail_memory(err);
        else
            fprintf(out, "%.8e %+.4f%% %s\n", f->predicted, 100 * npu_figure_error(f), key);
    }
    npu_arena_free(&arena);
    if (!status && ferror(out))
        status = npu_fail(err, NPU_IO, (npu_pos){0}, "cannot write the baseline");
    return status;
}

// "5.12030000e+02 -9.3500% group | case | variant | read"
static npu_status read_line(npu_baseline *b, char *line, npu_pos pos, npu_error *err) {
    char *end = NULL, *error_end = NULL;
    npu_baseline_entry entry = {.predicted = strtod(line, &end)};
    bool good = end != line && *end == ' ' && isfinite(entry.predicted) && entry.predicted >= 0;
    if (good) {
        entry.error = strtod(end + 1, &error_end) / 100;
        good = error_end != end + 1 && strncmp(error_end, "% ", 2) == 0 && isfinite(entry.error) &&
               error_end[2] != '\0';
    }
    if (!good)
        return npu_fail(err, NPU_BAD_INPUT, pos,
                        "a line of a baseline is 'PREDICTED ERROR%% FIGURE', not '%s'", line);
    entry.key = npu_arena_text(&b->arena, error_end + 2, strlen(error_end + 2));
    npu_status status =
        entry.key != NULL ? NPU_GROW(b, entries, count, capacity, err) : npu_fail_memory(err);
    if (!status)
        b->entries[b->count++] = entry;
    return status;
}

static int by_key(const void *a, const void *b) {
    return strcmp(((const npu_baseline_entry *)a)->key, ((const npu_baseline_entry *)b)->key);
}

npu_status npu_baseline_read(const char *path, npu_baseline *baseline, npu_error *err) {
    *baseline = (npu_baseline){0};
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return npu_fail(err, NPU_IO, (npu_pos){0}, "cannot read %s: %s", path, strerror(errno));
    char *line = NULL;
    size_t capacity = 0;
    npu_status status = NPU_OK;
    for (int number = 1; !status && getline(&line, &capacity, file) >= 0; number++) {
        line[strcspn(line, "\r\n")] = '\0';
        if (number == 1 && strcmp(line, header) != 0)
            status = npu_fail(err, NPU_BAD_INPUT, (npu_pos){path, 1, 1},
                              "a baseline begins with '%s'", header);
        else if (line[0] != '\0' && line[0] != '#')
            status = read_line(baseline, line, (npu_pos){path, number, 1}, err);
    }
    if (!status && ferror(file))
        status = npu_fail(err, NPU_IO, (npu_pos){0}, "cannot read %s: %s", path, strerror(errno));
    free(line);
    fclose(file);
    if (!status && baseline->count > 0)
        qsort(baseline->entries, (size_t)baseline->count, sizeof *baseline->entries, by_key);
    return status;
}

void npu_baseline_free(npu_baseline *baseline) {
    free(baseline->entries);
    npu_arena_free(&baseline->arena);
    *baseline = (npu_baseline){0};
}

// ---- comparing -----------------------------------------------------------------------------

static void compare(const npu_baseline_entry *before, const npu_cases *cases, const npu_figure *f,
                    FILE *out, npu_regressions *found) {
    char name[300], then[40], now[40];
    double drift = before->predicted > 0 ? f->predicted / before->predicted - 1
                   : f->predicted > 0    ? INFINITY
                                         : 0;
    double error = npu_figure_error(f);
    bool drifted = fabs(drift) > NPU_BASELINE_DRIFT;
    bool worse = fabs(error) > fabs(before->error) + NPU_BASELINE_WORSE;
    found->drifted += drifted;
    found->worse += worse;
    if (!drifted && !worse)
        return;
    npu_figure_name(cases, f, name, sizeof name);
    fprintf(out, "  %s\n    %s -> %s (%+.2f%%), error %+.1f%% -> %+.1f%%%s\n", name,
            npu_show_figure(before->predicted, f->unit, then, sizeof then),
            npu_show_figure(f->predicted, f->unit, now, sizeof now), 100 * drift,
            100 * before->error, 100 * error, worse ? ", WORSE" : "");
}

npu_status npu_baseline_compare(const npu_baseline *baseline, const npu_cases *cases, FILE *out,
                                npu_regressions *found, npu_error *err) {
    npu_arena arena = {0};
    npu_status status = NPU_OK;
    int met = 0;
    *found = (npu_regressions){0};
    fputs("\n== baseline\n", out);
    for (int i = 0; i < cases->figure_count && !status; i++) {
        const npu_figure *f = &cases->figures[i];
        if (f->hidden || !f->known)
            continue;
        npu_baseline_entry wanted = {.key = key_of(&arena, cases, f)};
        if (wanted.key == NULL) {
            status = npu_fail_memory(err);
            break;
        }
        const npu_baseline_entry *entry =
            baseline->count > 0 ? bsearch(&wanted, baseline->entries, (size_t)baseline->count,
                                          sizeof wanted, by_key)
                                : NULL;
        met += entry != NULL;
        found->fresh += entry == NULL;
        if (entry != NULL)
            compare(entry, cases, f, out, found);
    }
    npu_arena_free(&arena);
    found->gone = met < baseline->count ? baseline->count - met : 0;
    fprintf(out, "  %d of %d predictions moved by more than %g%%, %d errors grew by more than %g%%",
            found->drifted, met, 100 * NPU_BASELINE_DRIFT, found->worse, 100 * NPU_BASELINE_WORSE);
    fprintf(out, "; %d figures are new, %d are gone\n", found->fresh, found->gone);
    return status;
}
