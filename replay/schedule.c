// SPDX-License-Identifier: Apache-2.0
#include "schedule.h"

#include <math.h>
#include <stdlib.h>

const char *const npu_early_proof_names[] = {"", "none", "partial", "full"};

static double least(double a, double b) {
    return a < b ? a : b;
}

// ---- parting -------------------------------------------------------------------------------

void npu_part_by_time(const npu_timed *m, const npu_timed *s, npu_parting *parting) {
    *parting = (npu_parting){.task = -1, .at = INFINITY};
    for (int i = 0; i < m->count; i++) {
        const npu_timed_row *row = &m->rows[i];
        if (row->mate < 0)
            continue;
        const npu_timed_row *mate = &s->rows[row->mate];
        double apart = (mate->start - s->first) - (row->start - m->first);
        double at = least(row->start - m->first, mate->start - s->first);
        if (fabs(apart) > NPU_PARTING && at < parting->at)
            *parting = (npu_parting){row->task, row->core, mate->core, at, apart};
    }
}

void npu_part_by_place(const npu_timed *m, const npu_timed *s, int cores, npu_parting *parting) {
    *parting = (npu_parting){.task = -1, .at = INFINITY};
    for (int core = 0; core < cores; core++) {
        int i = m->index.core.first[core], i_end = m->index.core.first[core + 1];
        int k = s->index.core.first[core], k_end = s->index.core.first[core + 1];
        while (i < i_end && k < k_end &&
               m->rows[m->index.core.items[i]].task == s->rows[s->index.core.items[k]].task)
            i++, k++;
        const npu_timed_row *row = i < i_end ? &m->rows[m->index.core.items[i]] : NULL;
        const npu_timed_row *other = k < k_end ? &s->rows[s->index.core.items[k]] : NULL;
        double at = row != NULL ? row->start - m->first : INFINITY;
        double other_at = other != NULL ? other->start - s->first : INFINITY;
        const npu_timed_row *told = at <= other_at ? row : other;
        if (told == NULL || least(at, other_at) >= parting->at)
            continue;
        const npu_timed *mates = at <= other_at ? s : m;
        int mate = told->mate;
        *parting = (npu_parting){.task = told->task, .at = least(at, other_at)};
        parting->core = told == row ? core : mate >= 0 ? mates->rows[mate].core : -1;
        parting->other_core = told == other ? core : mate >= 0 ? mates->rows[mate].core : -1;
        if (mate >= 0) {
            double apart = mates->rows[mate].start - mates->first - parting->at;
            parting->apart = told == row ? apart : -apart;
        }
    }
}

// ---- early dispatch ------------------------------------------------------------------------

npu_early_proof npu_early_of(const npu_timed *run, int task, double tick) {
    const npu_groups *rows = &run->index.task;
    int count = rows->first[task + 1] - rows->first[task];
    int early = 0;
    if (count == 0 || run->data[task] == -INFINITY)
        return NPU_EARLY_UNASKED;
    for (int i = rows->first[task]; i < rows->first[task + 1]; i++)
        early += run->rows[rows->items[i]].dispatch + 2 * tick < run->data[task];
    return early == 0 ? NPU_EARLY_NO : early < count ? NPU_EARLY_PARTIAL : NPU_EARLY_FULL;
}

// ---- idle cores ----------------------------------------------------------------------------

typedef struct change {
    double at;
    int type;    // of core
    int waiting; // rows that are ready and not sent
    int busy;    // cores
} change;

static int compare_changes(const void *a, const void *b) {
    const change *x = a;
    const change *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

npu_status npu_idle_of(const npu_timed *run, const npu_trace *trace, npu_idle *idle,
                       npu_error *err) {
    change *changes = malloc((4 * (size_t)run->count + 1) * sizeof *changes);
    int waiting[2] = {0, 0}, busy[2] = {0, 0}, cores[2] = {0, 0}, count = 0;
    if (changes == NULL)
        return npu_fail_memory(err);
    for (int core = 0; core < trace->core_count; core++)
        cores[trace->cores[core].type]++;
    for (int i = 0; i < run->count; i++) {
        const npu_timed_row *row = &run->rows[i];
        int type = (int)trace->cores[row->core].type;
        double ready = fmax(run->data[row->task], run->submit[row->task]);
        if (ready > -INFINITY && ready < row->dispatch) {
            changes[count++] = (change){.at = ready, .type = type, .waiting = 1};
            changes[count++] = (change){.at = row->dispatch, .type = type, .waiting = -1};
        }
        changes[count++] = (change){.at = row->start, .type = type, .busy = 1};
        changes[count++] = (change){.at = row->end, .type = type, .busy = -1};
    }
    qsort(changes, (size_t)count, sizeof *changes, compare_changes);
    idle[0] = idle[1] = (npu_idle){0};
    for (int i = 0; i < count; i++) {
        waiting[changes[i].type] += changes[i].waiting;
        busy[changes[i].type] += changes[i].busy;
        double lasts = i + 1 < count ? changes[i + 1].at - changes[i].at : 0;
        for (int type = 0; type < 2 && lasts > 0; type++) {
            int could = cores[type] - busy[type];
            could = could < waiting[type] ? could : waiting[type];
            idle[type].time += could > 0 ? lasts : 0;
            idle[type].core_time += could > 0 ? could * lasts : 0;
        }
    }
    free(changes);
    return NPU_OK;
}
