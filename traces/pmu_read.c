// SPDX-License-Identifier: Apache-2.0
// pmu.csv of a capture. Columns are found by their names; those that are not known here are
// counters, whatever the event type.
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pmu.h"

enum { MOST_COLUMNS = 64 };

typedef enum field { // what a column is
    FIELD_THREAD,
    FIELD_CORE,
    FIELD_TASK,
    FIELD_FUNC,
    FIELD_TYPE,
    FIELD_TOTAL,
    FIELD_EVENT,
    FIELD_COUNTER,
} field;

static const char *const field_names[] = {"thread_id", "core_id",          "task_id",   "func_id",
                                          "core_type", "pmu_total_cycles", "event_type"};

typedef struct csv_reader {
    npu_pmu *pmu;
    npu_error *err;
    npu_pos pos; // of the cell
    field fields[MOST_COLUMNS];
    int column_count;
} csv_reader;

// The next cell of a line, which it ends; NULL behind the last.
static char *next_cell(char **line) {
    char *cell = *line;
    if (cell == NULL)
        return NULL;
    char *comma = strchr(cell, ',');
    *line = comma != NULL ? comma + 1 : NULL;
    if (comma != NULL)
        *comma = '\0';
    return cell;
}

static npu_status read_header(csv_reader *r, char *line) {
    unsigned seen = 0;
    char *begin = line;
    for (char *cell; (cell = next_cell(&line)) != NULL; r->column_count++) {
        r->pos.col = (int)(cell - begin) + 1;
        if (r->column_count == MOST_COLUMNS)
            return npu_fail(r->err, NPU_BAD_INPUT, r->pos, "more than %d columns", MOST_COLUMNS);
        int what = 0;
        while (what < FIELD_COUNTER && strcmp(cell, field_names[what]) != 0)
            what++;
        r->fields[r->column_count] = (field)what;
        seen |= 1U << what;
        if (what != FIELD_COUNTER)
            continue;
        if (r->pmu->counter_count == NPU_PMU_COUNTERS)
            return npu_fail(r->err, NPU_BAD_INPUT, r->pos, "more than %d counters",
                            NPU_PMU_COUNTERS);
        const char *name = npu_arena_text(&r->pmu->arena, cell, strlen(cell));
        if (name == NULL)
            return npu_fail_memory(r->err);
        r->pmu->counters[r->pmu->counter_count++] = name;
    }
    r->pos.col = 1;
    for (int what = 0; what < FIELD_COUNTER; what++)
        if (!(seen & 1U << what))
            return npu_fail(r->err, NPU_BAD_INPUT, r->pos, "the column %s is missing",
                            field_names[what]);
    return NPU_OK;
}

static npu_status read_number(csv_reader *r, const char *cell, uint64_t most, uint64_t *value) {
    char *end = NULL;
    bool hex = cell[0] == '0' && (cell[1] == 'x' || cell[1] == 'X');
    errno = 0;
    *value = strtoull(cell, &end, hex ? 16 : 10);
    bool digit = cell[0] >= '0' && cell[0] <= '9';
    if (!digit || *end != '\0' || errno != 0 || *value > most)
        return npu_fail(r->err, NPU_BAD_INPUT, r->pos, "'%.40s' is no whole number from 0 to %llu",
                        cell, (unsigned long long)most);
    return NPU_OK;
}

static npu_status take_cell(csv_reader *r, field what, const char *cell, npu_pmu_row *row,
                            int *counter) {
    uint64_t value = 0;
    if (strcmp(cell, "-1") == 0 && (what == FIELD_THREAD || what == FIELD_FUNC)) {
        *(what == FIELD_THREAD ? &row->thread : &row->func) = -1; // not known
        return NPU_OK;
    }
    bool wide = what == FIELD_TASK || what == FIELD_TOTAL || what == FIELD_COUNTER;
    npu_status status = read_number(r, cell, wide ? UINT64_MAX : INT32_MAX, &value);
    if (status == NPU_OK && what == FIELD_TYPE && value > 1)
        return npu_fail(r->err, NPU_BAD_INPUT, r->pos, "core_type is 0 (AIC) or 1 (AIV)");
    switch (what) {
    case FIELD_THREAD:
        row->thread = (int)value;
        break;
    case FIELD_CORE:
        row->core = (int)value;
        break;
    case FIELD_TASK:
        row->task = value;
        break;
    case FIELD_FUNC:
        row->func = (int)value;
        break;
    case FIELD_TYPE:
        row->type = value == 0 ? NPU_AIC : NPU_AIV;
        break;
    case FIELD_TOTAL:
        row->total_cycles = value;
        break;
    case FIELD_EVENT:
        row->event_type = (int)value;
        break;
    case FIELD_COUNTER:
        row->counters[(*counter)++] = value;
        break;
    }
    return status;
}

static npu_status read_row(csv_reader *r, char *line) {
    npu_pmu_row row = {.thread = 0};
    char *begin = line;
    int column = 0, counter = 0;
    npu_status status = NPU_OK;
    for (char *cell; status == NPU_OK && (cell = next_cell(&line)) != NULL; column++) {
        r->pos.col = (int)(cell - begin) + 1;
        if (column < r->column_count)
            status = take_cell(r, r->fields[column], cell, &row, &counter);
    }
    if (status == NPU_OK && column != r->column_count)
        status = npu_fail(r->err, NPU_BAD_INPUT, r->pos, "the row has %d columns, the header %d",
                          column, r->column_count);
    if (status == NPU_OK)
        status = NPU_GROW(r->pmu, rows, row_count, row_capacity, r->err);
    if (status == NPU_OK)
        r->pmu->rows[r->pmu->row_count++] = row;
    return status;
}

static npu_status read_lines(csv_reader *r, FILE *file) {
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    npu_status status = NPU_OK;
    while (status == NPU_OK && (length = getline(&line, &size, file)) >= 0) {
        r->pos.line++;
        r->pos.col = 1;
        while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
            line[--length] = '\0';
        if (strlen(line) != (size_t)length)
            status = npu_fail(r->err, NPU_BAD_INPUT, r->pos, "the line holds a zero character");
        else if (r->column_count == 0)
            status = read_header(r, line);
        else if (length > 0)
            status = read_row(r, line);
    }
    if (status == NPU_OK && ferror(file))
        status = npu_fail(r->err, NPU_IO, (npu_pos){.file = r->pos.file}, "cannot read: %s",
                          strerror(errno));
    if (status == NPU_OK && r->column_count == 0)
        status =
            npu_fail(r->err, NPU_BAD_INPUT, (npu_pos){.file = r->pos.file}, "the file is empty");
    free(line);
    return status;
}

npu_status npu_pmu_read_stream(FILE *file, const char *name, npu_pmu *pmu, npu_error *err) {
    csv_reader r = {.pmu = pmu, .err = err, .pos = {name, 0, 1}};
    *pmu = (npu_pmu){0};
    npu_status status = read_lines(&r, file);
    fclose(file);
    return status;
}

npu_status npu_pmu_read(const char *path, npu_pmu *pmu, npu_error *err) {
    FILE *file = fopen(path, "rb");
    *pmu = (npu_pmu){0};
    if (file == NULL)
        return npu_fail(err, NPU_IO, (npu_pos){.file = path}, "cannot read: %s", strerror(errno));
    return npu_pmu_read_stream(file, path, pmu, err);
}

void npu_pmu_free(npu_pmu *pmu) {
    free(pmu->rows);
    npu_arena_free(&pmu->arena);
    *pmu = (npu_pmu){0};
}
