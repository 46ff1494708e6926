// SPDX-License-Identifier: Apache-2.0
#include "levers.h"

enum { MAX_SETS = 8 };

lever *lever_try(const char *path, const char *sets) {
    char file[512], text[256];
    const char *list[MAX_SETS];
    int count = 0;
    npu_die die = {0};
    lever *l = calloc(1, sizeof *l);
    assert_non_null(l);
    snprintf(file, sizeof file, "%s/configs/%s.yaml", NPUSIM_SOURCE, path);
    snprintf(text, sizeof text, "%s", sets);
    for (char *s = strtok(text, " "); s != NULL; s = strtok(NULL, " ")) {
        assert_true(count < MAX_SETS);
        list[count++] = s;
    }
    npu_ranks_options loading = {
        {NPUSIM_SOURCE "/configs/kernels", list, count, 0}, NPUSIM_SOURCE "/configs/fabric", NULL};
    npu_sim_options options = {.engine = NPU_ENGINE_FLUID};
    npu_status status = npu_die_load(NPUSIM_SOURCE "/configs/die", "A3", &die, &l->err);
    if (!status)
        status = npu_ranks_load(file, &loading, &l->ranks, NULL, &l->err);
    assert_string_equal(l->err.text, "");
    assert_int_equal(status, NPU_OK);
    l->status = npu_simulate_ranks(&l->ranks, &die, &options, l->results, &l->err);
    l->graph = &l->ranks.graphs[0];
    l->trace = &l->results[0].trace;
    npu_die_free(&die);
    return l;
}

lever *lever_run(const char *path, const char *sets) {
    lever *l = lever_try(path, sets);
    assert_string_equal(l->err.text, "");
    assert_int_equal(l->status, NPU_OK);
    return l;
}

void lever_free(lever *l) {
    for (int r = 0; r < l->ranks.full && !l->status; r++)
        npu_sim_result_free(&l->results[r]);
    npu_ranks_free(&l->ranks);
    free(l);
}

double lever_time(const char *path, const char *sets) {
    lever *l = lever_run(path, sets);
    double time = l->trace->makespan;
    lever_free(l);
    return time;
}

lever_sum lever_sum_of(const lever *l, const char *kernel) {
    lever_sum sum = {0};
    for (int i = 0; i < l->trace->row_count; i++) {
        const npu_row *row = &l->trace->rows[i];
        if (kernel != NULL && strcmp(l->graph->tasks[row->task].kernel, kernel) != 0)
            continue;
        if (sum.rows == 0 || row->start < sum.start)
            sum.start = row->start;
        sum.end = row->end > sum.end ? row->end : sum.end;
        sum.longest = row->end - row->start > sum.longest ? row->end - row->start : sum.longest;
        sum.most_read = row->read_bytes > sum.most_read ? row->read_bytes : sum.most_read;
        sum.rows++;
        sum.read += row->read_bytes;
        sum.written += row->write_bytes;
        sum.ops += row->ops;
    }
    return sum;
}

int lever_tasks(const lever *l, const char *kernel) {
    int count = 0;
    for (int i = 0; i < l->graph->task_count; i++)
        count += kernel == NULL || strcmp(l->graph->tasks[i].kernel, kernel) == 0;
    return count;
}

int lever_task(const lever *l, const char *name) {
    for (int i = 0; i < l->graph->task_count; i++)
        if (strcmp(l->graph->tasks[i].name, name) == 0)
            return i;
    return -1;
}
