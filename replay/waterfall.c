// SPDX-License-Identifier: Apache-2.0
#include "waterfall.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

const char *const npu_replay_cause_names[] = {"kernel time",   "dispatch",      "resolve",
                                       "back-pressure", "core conflict", "order"};

typedef enum delay {
    AFTER_SUBMIT, // until a scheduler turns to it
    AFTER_DATA,
    AFTER_SLOT,
    PUBLISH,    // enter -> dispatch
    AFTER_SENT, // until the kernel starts
    AFTER_CORE,
    AFTER_GATE, // staged early: from the producers' finish
    KERNEL,
    TAIL,
    DELAYS,
} delay;

static const npu_replay_cause cause_of[DELAYS] = {
    [AFTER_SUBMIT] = NPU_CAUSE_DISPATCH, [AFTER_DATA] = NPU_CAUSE_RESOLVE,
    [AFTER_SLOT] = NPU_CAUSE_DISPATCH,   [PUBLISH] = NPU_CAUSE_DISPATCH,
    [AFTER_SENT] = NPU_CAUSE_DISPATCH,   [AFTER_CORE] = NPU_CAUSE_CORE,
    [AFTER_GATE] = NPU_CAUSE_RESOLVE,    [KERNEL] = NPU_CAUSE_KERNEL,
    [TAIL] = NPU_CAUSE_RESOLVE,
};

typedef struct delays { // of one row, ns
    double of[DELAYS];
} delays;

typedef struct apart { // a run, taken apart
    const npu_timed *run;
    delays *rows;
} apart;

// ---- taking apart --------------------------------------------------------------------------

enum { MOST_BASES = 3 };

typedef struct base { // a time that a row waited for, and the delay behind it
    delay kind;
    double at; // -INFINITY: it did not wait for that
} base;

static int enter_bases(const npu_timed *run, int i, base *bases) {
    const npu_timed_row *row = &run->rows[i];
    double submit = run->submit[row->task];
    double data = run->data[row->task];
    double slot = row->slot >= 0 ? run->rows[row->slot].finish : -INFINITY;
    if (isnan(submit)) // nobody knows: zero, but behind what is known
        submit = data == -INFINITY ? 0 : -INFINITY;
    bases[0] = (base){AFTER_SUBMIT, submit};
    bases[1] = (base){AFTER_DATA, data};
    bases[2] = (base){AFTER_SLOT, slot};
    return 3;
}

static int start_bases(const npu_timed *run, int i, base *bases) {
    const npu_timed_row *row = &run->rows[i];
    bases[0] = (base){AFTER_SENT, row->dispatch};
    bases[1] = (base){AFTER_CORE, row->before >= 0 ? run->rows[row->before].end : -INFINITY};
    bases[2] = (base){AFTER_GATE, run->data[row->task]};
    return 3;
}

// What decided is the latest.
static int binding(const base *bases, int count) {
    int latest = 0;
    for (int i = 1; i < count; i++)
        if (bases[i].at > bases[latest].at)
            latest = i;
    return latest;
}

static int larger(int a, int b) {
    return a > b ? a : b;
}

static int compare_numbers(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

typedef int (*bases_of)(const npu_timed *run, int row, base *bases);

static double reached(const npu_timed_row *row, bool starts) {
    return starts ? row->start : row->enter;
}

// The delay behind what decided is known. medians[kind] is that of the known ones, NAN when there
// is none; `room` is as long as the rows.
static void find_medians(const npu_timed *run, bases_of find, bool starts, double *room,
                         double *medians) {
    base bases[MOST_BASES];
    int kinds = find(run, 0, bases); // of every row the same
    for (int k = 0; k < kinds; k++) {
        delay kind = bases[k].kind;
        int count = 0;
        for (int i = 0; i < run->count; i++) {
            const base *latest = &bases[binding(bases, find(run, i, bases))];
            if (latest->kind == kind)
                room[count++] = reached(&run->rows[i], starts) - latest->at;
        }
        qsort(room, (size_t)count, sizeof *room, compare_numbers);
        medians[kind] = count > 0 ? room[(count - 1) / 2] : NAN;
    }
}

// The delays behind the rest were at most what there was; there, the median stands.
static void take_waits(apart *a, bases_of find, bool starts, const double *medians) {
    base bases[MOST_BASES];
    for (int i = 0; i < a->run->count; i++) {
        int count = find(a->run, i, bases);
        int latest = binding(bases, count);
        for (int k = 0; k < count; k++) {
            double most = reached(&a->run->rows[i], starts) - bases[k].at;
            double *taken = &a->rows[i].of[bases[k].kind];
            *taken = k == latest ? most : fmin(most, medians[bases[k].kind]);
        }
    }
}

static void take_apart(apart *a, const double *medians) {
    take_waits(a, enter_bases, false, medians);
    take_waits(a, start_bases, true, medians);
    for (int i = 0; i < a->run->count; i++) {
        const npu_timed_row *row = &a->run->rows[i];
        a->rows[i].of[PUBLISH] = row->dispatch - row->enter;
        a->rows[i].of[KERNEL] = row->end - row->start;
        a->rows[i].of[TAIL] = row->finish - row->end;
    }
}

// Where nothing of a kind is known in one run, it was as in the other.
static npu_status take_both_apart(apart parts[2], npu_error *err) {
    double medians[2][DELAYS];
    int rows = larger(parts[0].run->count, parts[1].run->count);
    double *room = malloc(((size_t)rows + 1) * sizeof *room);
    for (int i = 0; i < 2; i++)
        parts[i].rows = calloc((size_t)parts[i].run->count + 1, sizeof *parts[i].rows);
    if (room == NULL || parts[0].rows == NULL || parts[1].rows == NULL) {
        free(room);
        return npu_fail_memory(err);
    }
    for (int i = 0; i < 2; i++) {
        find_medians(parts[i].run, enter_bases, false, room, medians[i]);
        find_medians(parts[i].run, start_bases, true, room, medians[i]);
    }
    for (int kind = AFTER_SUBMIT; kind <= AFTER_GATE; kind++) {
        if (kind == PUBLISH)
            continue;
        for (int i = 0; i < 2; i++)
            if (isnan(medians[i][kind]))
                medians[i][kind] = isnan(medians[!i][kind]) ? 0 : medians[!i][kind];
    }
    for (int i = 0; i < 2; i++)
        take_apart(&parts[i], medians[i]);
    free(room);
    return NPU_OK;
}

// ---- putting together ----------------------------------------------------------------------

typedef struct maker {
    const npu_graph *graph;
    const apart *order; // whose rows, cores and order
    const apart *of[2]; // measured, modelled
    int exchanged;      // causes below are of the modelled run
    npu_timed run;      // rows, submits and data that come out; the rest is borrowed from the order
    int *left;          // by task: rows to come
    int *waits;         // by task: producers to come
    double *done;       // by task
    int *list;          // tasks that are complete and whose consumers do not know it
} maker;

static double delay_of(const maker *m, int row, delay kind) {
    const apart *from = m->of[(int)cause_of[kind] < m->exchanged];
    int mate = m->order->run->rows[row].mate;
    if (from == m->order || mate < 0)
        return m->order->rows[row].of[kind];
    return from->rows[mate].of[kind];
}

// Tells the consumers of a complete task; those without rows are complete with their producers.
static void complete(maker *m, int task) {
    const npu_groups *succs = &m->order->run->index.succs;
    int count = 0;
    m->list[count++] = task;
    while (count > 0) {
        int pred = m->list[--count];
        for (int i = succs->first[pred]; i < succs->first[pred + 1]; i++) {
            int succ = succs->items[i];
            m->run.data[succ] = fmax(m->run.data[succ], m->done[pred]);
            if (--m->waits[succ] > 0 || m->left[succ] > 0)
                continue;
            m->done[succ] = fmax(m->run.data[succ], m->run.submit[succ]);
            m->list[count++] = succ;
        }
    }
}

static void begin(maker *m) {
    const npu_timed *order = m->order->run;
    int by = NPU_CAUSE_PRESSURE < m->exchanged;
    for (int t = 0; t < m->graph->task_count; t++) {
        m->left[t] = order->index.task.first[t + 1] - order->index.task.first[t];
        m->waits[t] = order->index.preds.first[t + 1] - order->index.preds.first[t];
        m->run.data[t] = m->done[t] = -INFINITY;
        m->run.submit[t] = m->of[by]->run->submit[t];
    }
    for (int t = 0; t < m->graph->task_count; t++) {
        bool idle = m->left[t] == 0;
        if (!idle || order->index.preds.first[t + 1] > order->index.preds.first[t])
            continue;
        m->done[t] = fmax(-INFINITY, m->run.submit[t]);
        complete(m, t);
    }
}

static double after(const maker *m, int row, bases_of find) {
    base bases[MOST_BASES];
    int count = find(&m->run, row, bases);
    double at = -INFINITY;
    for (int k = 0; k < count; k++)
        if (bases[k].at > -INFINITY)
            at = fmax(at, bases[k].at + delay_of(m, row, bases[k].kind));
    return at;
}

// NAN when a row comes before what it waited for.
static double put_together(maker *m) {
    double first = INFINITY, last = -INFINITY;
    begin(m);
    for (int i = 0; i < m->run.count; i++) {
        npu_timed_row *row = &m->run.rows[i];
        if (m->waits[row->task] > 0)
            return NAN;
        row->enter = after(m, i, enter_bases);
        row->dispatch = row->enter + delay_of(m, i, PUBLISH);
        row->start = after(m, i, start_bases);
        row->end = row->start + delay_of(m, i, KERNEL);
        row->finish = row->end + delay_of(m, i, TAIL);
        first = fmin(first, row->dispatch);
        last = fmax(last, row->finish);
        m->done[row->task] = fmax(m->done[row->task], row->finish);
        if (--m->left[row->task] == 0)
            complete(m, row->task);
    }
    return last - first;
}

static bool make_room(maker *m, int rows) {
    size_t tasks = (size_t)m->graph->task_count + 1;
    m->run.rows = malloc(((size_t)rows + 1) * sizeof *m->run.rows);
    m->run.submit = malloc(tasks * sizeof *m->run.submit);
    m->run.data = malloc(tasks * sizeof *m->run.data);
    m->left = malloc(tasks * sizeof *m->left);
    m->waits = malloc(tasks * sizeof *m->waits);
    m->done = malloc(tasks * sizeof *m->done);
    m->list = malloc(tasks * sizeof *m->list);
    return m->run.rows != NULL && m->run.submit != NULL && m->run.data != NULL && m->left != NULL &&
           m->waits != NULL && m->done != NULL && m->list != NULL;
}

static void free_room(maker *m) {
    free(m->run.rows);
    free(m->run.submit);
    free(m->run.data);
    free(m->left);
    free(m->waits);
    free(m->done);
    free(m->list);
}

static double exchange(maker *m, int exchanged) {
    const npu_timed *order;
    m->exchanged = exchanged;
    m->order = m->of[exchanged == NPU_CAUSE_COUNT];
    order = m->order->run;
    m->run.count = order->count;
    for (int i = 0; i < order->count; i++)
        m->run.rows[i] = order->rows[i];
    return put_together(m);
}

static bool close_to(double a, double b) { // NAN is close to nothing
    return fabs(a - b) <= 1e-3 + 1e-9 * fabs(b);
}

static void fill(maker *m, npu_waterfall *waterfall) {
    const npu_timed *measured = m->of[0]->run;
    const npu_timed *modelled = m->of[1]->run;
    double before = measured->last - measured->first;
    double end = modelled->last - modelled->first;
    waterfall->known =
        close_to(exchange(m, 0), before) && close_to(exchange(m, NPU_CAUSE_COUNT), end);
    for (int cause = 0; cause < NPU_CAUSE_COUNT && waterfall->known; cause++) {
        double now = cause + 1 < NPU_CAUSE_COUNT ? exchange(m, cause + 1) : end;
        waterfall->after[cause] = now;
        waterfall->share[cause] = now - before;
        before = now;
    }
}

npu_status npu_waterfall_make(const npu_graph *graph, const npu_timed *measured,
                              const npu_timed *modelled, npu_waterfall *waterfall, npu_error *err) {
    apart parts[2] = {{.run = measured}, {.run = modelled}};
    maker m = {.graph = graph, .of = {&parts[0], &parts[1]}};
    *waterfall = (npu_waterfall){.known = false};
    npu_status status = take_both_apart(parts, err);
    if (!status && !make_room(&m, larger(measured->count, modelled->count)))
        status = npu_fail_memory(err);
    if (!status)
        fill(&m, waterfall);
    free_room(&m);
    free(parts[0].rows);
    free(parts[1].rows);
    return status;
}
