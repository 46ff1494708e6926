// SPDX-License-Identifier: Apache-2.0
// Residency is kept per page of 64 lines: a bit per line for present and for dirty. Pages are
// evicted whole, least recently used first.
#include "memory.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

enum { PAGE_LINES = 64 };

typedef struct page {
    uint64_t present, dirty;
    uint64_t unused;      // prefetched or stored, and not loaded since
    uint64_t warmed;      // of these: prefetched
    int32_t newer, older; // neighbours in order of use, -1 at the ends and when not resident
    double fetched;       // ns, when its latest lines were asked for
    double since;         // ns, from when readers are counted
    uint64_t seen;        // who has read it since then: a bit per core, which two may share
    int16_t readers;      // and how many bits that are
    int16_t visits, last; // changes from one reader to another; the latest one
    int16_t fetcher;      // the core that fetched
    bool was_crowded;     // just before then
} page;

// Who touches a line.
typedef enum source { BY_LOAD, BY_STORE, BY_SDMA, BEFORE_RUN } source;

// A tensor's memory, for the class of a line. In the order of addresses.
typedef struct extent {
    int64_t end; // behind it, within the die
    npu_class class_;
} extent;

struct npu_memory {
    npu_engine *engine;
    extent *extents;
    int extent_count;
    int rank;
    int cores; // of a die
    npu_totals *totals;
    int64_t line; // bytes, a power of two
    int shift;    // its logarithm
    double atomic;
    page *pages;
    int64_t page_count;
    int32_t newest, oldest;
    int64_t lines, capacity; // resident, and how many fit
    int sector_shift;        // logarithm of a sector's bytes
    int64_t align;           // bytes
    double flight;           // ns a line is on its way
    int crowd;               // readers above which a page is crowded
    double span;             // ns, in which they must come
    // of the access under way
    source by;
    npu_class class_; // of a load
    double now;
    int reader; // the core, -1 when nobody reads
};

// An address within its die. It may be that of an image, whose memory stands for this one.
static int64_t local(int64_t address) {
    return address & ((INT64_C(1) << NPU_RANK_SHIFT) - 1);
}

// ---- pages ---------------------------------------------------------------------------------

static void unlink_page(npu_memory *m, int32_t at) {
    page *p = &m->pages[at];
    if (p->newer >= 0)
        m->pages[p->newer].older = p->older;
    else
        m->newest = p->older;
    if (p->older >= 0)
        m->pages[p->older].newer = p->newer;
    else
        m->oldest = p->newer;
    p->newer = p->older = -1;
}

static void link_newest(npu_memory *m, int32_t at) {
    page *p = &m->pages[at];
    p->newer = -1;
    p->older = m->newest;
    if (m->newest >= 0)
        m->pages[m->newest].newer = at;
    else
        m->oldest = at;
    m->newest = at;
}

static void written_back(void *owner, int64_t bytes) {
    npu_memory *m = owner;
    m->totals->hbm_write_bytes += (double)bytes;
}

// ---- what becomes of lines -----------------------------------------------------------------

static const extent *extent_of(const npu_memory *m, int64_t address) {
    int low = 0, high = m->extent_count - 1;
    assert(high >= 0);
    while (low < high) { // the first that ends behind it
        int middle = low + (high - low) / 2;
        if (m->extents[middle].end > address)
            high = middle;
        else
            low = middle + 1;
    }
    return &m->extents[low];
}

// Adds the lines of a page to one figure of their classes.
static void book(npu_memory *m, int64_t at, uint64_t mask, size_t figure) {
    while (mask != 0) {
        int first = __builtin_ctzll(mask);
        int64_t address = (at * PAGE_LINES + first) * m->line;
        const extent *e = extent_of(m, address);
        int64_t lines = (e->end - address + m->line - 1) / m->line;
        uint64_t here = mask;
        if (lines < PAGE_LINES - first)
            here &= (UINT64_C(1) << (first + (lines > 1 ? lines : 1))) - 1;
        double *to = (double *)(void *)((char *)&m->totals->l2[e->class_] + figure);
        *to += (double)(__builtin_popcountll(here) * m->line);
        mask &= ~here;
    }
}

static void note_touch(npu_memory *m, page *p, int64_t at, uint64_t mask, uint64_t missing) {
    if (m->by == BY_LOAD) {
        uint64_t used = p->warmed & mask;
        m->totals->l2[m->class_].warmed_used += (double)(__builtin_popcountll(used) * m->line);
        p->unused &= ~mask;
        p->warmed &= ~mask;
    } else if (m->by == BY_STORE) {
        p->unused |= mask;
        p->warmed &= ~mask;
    } else if (m->by == BY_SDMA && missing != 0) {
        p->unused |= missing;
        p->warmed |= missing;
        book(m, at, missing, offsetof(npu_l2_use, warmed));
    }
}

static void evict_oldest(npu_memory *m) {
    int32_t at = m->oldest;
    assert(at >= 0);
    page *p = &m->pages[at];
    unlink_page(m, at);
    m->lines -= __builtin_popcountll(p->present);
    int64_t dirty = __builtin_popcountll(p->dirty) * m->line;
    if (p->unused != 0)
        book(m, at, p->unused, offsetof(npu_l2_use, evicted));
    p->present = p->dirty = p->unused = p->warmed = 0;
    if (dirty > 0)
        npu_engine_flow(m->engine, (double)dirty, npu_memory_engine_path(m, NPU_PATH_WRITE_BACK),
                        written_back, m, dirty);
}

// What a run, a row or a load touched: lines, of which fetched now, fetched past L2 from a
// crowded page, or on their way for another core; the rest are hits.
typedef struct lines {
    int64_t all, fresh, late, crowded;
    int64_t queued, queued_late; // there, or late, in crowded pages
    int64_t sectors;
} lines;

// Notes the reader of a page; true when more than `crowd` come within as many flights, or came in
// the span before that. Through L2 a core counts once. Past it each of its requests goes to HBM,
// and it counts again whenever another one came in between.
static bool crowded(npu_memory *m, page *p, bool past) {
    double age = m->now - p->since;
    if (age > m->span) {
        p->was_crowded = age <= 2 * m->span && (past ? p->visits : p->readers) > m->crowd;
        p->since = m->now;
        p->seen = 0;
        p->readers = p->visits = 0;
    }
    if (p->visits == 0 || p->last != m->reader) {
        uint64_t bit = UINT64_C(1) << m->reader % 64;
        p->readers += (p->seen & bit) == 0;
        p->seen |= bit;
        p->last = (int16_t)m->reader;
        p->visits += p->visits < INT16_MAX;
    }
    return p->was_crowded || (past ? p->visits : p->readers) > m->crowd;
}

// Touches the lines of `mask` in one page: `rows` lines in all, since rows may share one.
static void touch_page(npu_memory *m, int64_t at, uint64_t mask, int64_t rows, bool dirty,
                       lines *sum) {
    assert(at >= 0 && at < m->page_count);
    page *p = &m->pages[at];
    if (m->newest != (int32_t)at) {
        if (p->present != 0)
            unlink_page(m, (int32_t)at);
        link_newest(m, (int32_t)at);
    }
    if (dirty)
        p->dirty |= mask;
    bool late = m->now - p->fetched < m->flight && p->fetcher != m->reader;
    bool crowd = m->reader >= 0 && crowded(m, p, false);
    uint64_t missing = mask & ~p->present;
    int fresh = 0;
    if (missing != 0) {
        fresh = __builtin_popcountll(missing);
        p->present |= mask;
        m->lines += fresh;
        if (m->reader >= 0) {
            p->fetched = m->now;
            p->fetcher = (int16_t)m->reader;
        }
        while (m->lines > m->capacity && m->oldest != (int32_t)at)
            evict_oldest(m);
    }
    if (p->unused != 0 || m->by != BY_LOAD)
        note_touch(m, p, at, mask, missing);
    sum->all += rows;
    sum->fresh += fresh;
    if (late) // once each, like those that are fetched; what shares a line hits
        sum->late += __builtin_popcountll(mask) - fresh;
    if (crowd) {
        sum->queued += rows - fresh;
        if (late)
            sum->queued_late += __builtin_popcountll(mask) - fresh;
    }
}

static uint64_t line_mask(int64_t first, int64_t count) {
    uint64_t ones = count >= PAGE_LINES ? UINT64_MAX : (UINT64_C(1) << count) - 1;
    return ones << first;
}

// One contiguous run of bytes.
static void touch_run(npu_memory *m, int64_t address, int64_t bytes, bool dirty, lines *sum) {
    int64_t first = address >> m->shift;
    int64_t end = ((address + bytes - 1) >> m->shift) + 1;
    while (first < end) {
        int64_t at = first / PAGE_LINES, in_page = first % PAGE_LINES;
        int64_t count = end - first < PAGE_LINES - in_page ? end - first : PAGE_LINES - in_page;
        touch_page(m, at, line_mask(in_page, count), count, dirty, sum);
        first += count;
    }
}

// A run that does not start on a block of 32 B is split, and its first and last line are
// fetched for itself: parts of lines that others want too are not shared.
static void touch_unaligned(npu_memory *m, int64_t address, int64_t bytes, lines *sum) {
    lines run = {0};
    touch_run(m, address, bytes, false, &run);
    int64_t parts = (address & (m->line - 1)) != 0;
    parts += run.all > 1 && ((address + bytes) & (m->line - 1)) != 0;
    int64_t more = run.all - run.fresh < parts ? run.all - run.fresh : parts;
    run.fresh += more;
    run.late -= run.late < more ? run.late : more;
    run.queued -= run.queued < more ? run.queued : more;
    run.queued_late = run.queued_late < run.late ? run.queued_late : run.late;
    sum->all += run.all;
    sum->fresh += run.fresh;
    sum->late += run.late;
    sum->queued += run.queued;
    sum->queued_late += run.queued_late;
}

// `count` runs, `stride` apart. Neighbours that lie in one page are touched together: rows are
// often short, and there are many.
static void touch_rows(npu_memory *m, int64_t address, const npu_gm *gm, bool dirty, lines *sum) {
    uint64_t at = UINT64_MAX, mask = 0; // a page, and its lines to touch
    int64_t rows = 0;
    uint64_t start = (uint64_t)address, rest = (uint64_t)gm->run - 1;
    int shift = m->shift, sector = m->sector_shift;
    for (int32_t j = 0; j < gm->rows[1]; j++, start += (uint64_t)gm->stride[1]) {
        uint64_t first = start >> shift, last = (start + rest) >> shift;
        sum->sectors += (int64_t)(((start + rest) >> sector) - (start >> sector)) + 1;
        if (m->reader >= 0 && (start & (uint64_t)(m->align - 1)) != 0) {
            touch_unaligned(m, (int64_t)start, gm->run, sum);
            continue;
        }
        if (first / PAGE_LINES != at) {
            if (mask != 0)
                touch_page(m, (int64_t)at, mask, rows, dirty, sum);
            mask = 0;
            rows = 0;
            at = first / PAGE_LINES;
        }
        if (last / PAGE_LINES == at) { // 2 << 63 is 0, and 0 - 1 all lines
            mask |= ((UINT64_C(2) << (last - first)) - 1) << first % PAGE_LINES;
            rows += (int64_t)(last - first) + 1;
        } else {
            touch_run(m, (int64_t)start, gm->run, dirty, sum);
        }
    }
    if (mask != 0)
        touch_page(m, (int64_t)at, mask, rows, dirty, sum);
}

static lines touch(npu_memory *m, const npu_gm *gm, int reader, bool dirty) {
    lines total = {0};
    m->by = dirty ? BY_STORE : BY_LOAD;
    m->now = npu_engine_now(m->engine);
    m->reader = reader;
    for (int32_t i = 0; i < gm->rows[0]; i++)
        touch_rows(m, local(gm->address) + i * gm->stride[0], gm, dirty, &total);
    assert(total.fresh + total.late + total.crowded <= total.all);
    return total;
}

static int64_t missing_lines(const npu_memory *m, int64_t address, int64_t bytes) {
    int64_t first = address >> m->shift;
    int64_t end = ((address + bytes - 1) >> m->shift) + 1;
    int64_t missing = 0;
    while (first < end) {
        int64_t at = first / PAGE_LINES, in_page = first % PAGE_LINES;
        int64_t count = end - first < PAGE_LINES - in_page ? end - first : PAGE_LINES - in_page;
        missing += __builtin_popcountll(line_mask(in_page, count) & ~m->pages[at].present);
        first += count;
    }
    return missing;
}

// A load past L2 uses what is there.
static void note_run(npu_memory *m, int64_t address, int64_t bytes) {
    int64_t first = address >> m->shift;
    int64_t end = ((address + bytes - 1) >> m->shift) + 1;
    while (first < end) {
        int64_t at = first / PAGE_LINES, in_page = first % PAGE_LINES;
        int64_t count = end - first < PAGE_LINES - in_page ? end - first : PAGE_LINES - in_page;
        if (m->pages[at].unused != 0)
            note_touch(m, &m->pages[at], at, line_mask(in_page, count), 0);
        first += count;
    }
}

// What a bypassing load finds: what is resident stays as it is, and so does the order of use.
static lines look(npu_memory *m, const npu_gm *gm, int reader) {
    lines total = {0};
    m->by = BY_LOAD;
    m->now = npu_engine_now(m->engine);
    m->reader = reader;
    for (int32_t i = 0; i < gm->rows[0]; i++) {
        for (int32_t j = 0; j < gm->rows[1]; j++) {
            int64_t start = local(gm->address) + i * gm->stride[0] + j * gm->stride[1];
            int64_t end = start + gm->run - 1;
            int64_t fresh = missing_lines(m, start, gm->run);
            note_run(m, start, gm->run);
            total.all += (end >> m->shift) - (start >> m->shift) + 1;
            total.sectors += (end >> m->sector_shift) - (start >> m->sector_shift) + 1;
            if (crowded(m, &m->pages[(start >> m->shift) / PAGE_LINES], true))
                total.crowded += fresh;
            else
                total.fresh += fresh;
        }
    }
    return total;
}

npu_touch npu_memory_load(npu_memory *m, const npu_gm *gm, npu_class class_, int reader,
                          bool bypass) {
    m->class_ = class_;
    lines l = bypass ? look(m, gm, reader) : touch(m, gm, reader, false);
    // Of a line that is in L2 the sectors asked for cross to the core. A missing one is fetched
    // whole into L2; a load that bypasses it fetches its sectors only.
    double sectors = (double)(l.sectors << m->sector_shift) / (double)l.all;
    npu_touch t = {.miss = (double)l.fresh * (bypass ? sectors : (double)m->line),
                   .late = (double)(l.late - l.queued_late) * sectors,
                   .queued = (double)l.queued * sectors,
                   .crowd = (double)l.crowded * sectors,
                   .late_lines = (double)(l.late * m->line)};
    t.hit = (double)(l.all - l.fresh - (l.late - l.queued_late) - l.queued - l.crowded) * sectors;
    m->totals->l2[class_].hit += t.hit + t.late + t.queued;
    m->totals->l2[class_].missed += t.miss + t.crowd;
    m->totals->l2_hit_bytes += t.hit + t.late + t.queued;
    m->totals->l2_miss_bytes += t.miss + t.crowd;
    m->totals->hbm_read_bytes += t.miss + t.crowd;
    return t;
}

double npu_memory_store(npu_memory *m, const npu_gm *gm, bool atomic) {
    double bytes = (double)(touch(m, gm, -1, true).all * m->line);
    return atomic ? bytes * m->atomic : bytes;
}

double npu_memory_missing(const npu_memory *m, int64_t address, int64_t bytes) {
    return (double)(missing_lines(m, local(address), bytes) * m->line);
}

void npu_memory_fill(npu_memory *m, int64_t address, int64_t bytes) {
    lines touched = {0};
    m->now = npu_engine_now(m->engine);
    m->reader = -1;
    m->by = BY_SDMA;
    touch_run(m, local(address), bytes, false, &touched);
}

int npu_memory_reader(const npu_memory *m, int rank, int core) {
    assert(core >= 0 && core < m->cores);
    return rank == m->rank ? core : (rank + 1) * m->cores + core;
}

int npu_memory_engine_path(const npu_memory *m, npu_memory_path kind) {
    return m->rank * NPU_PATH_COUNT + (int)kind;
}

// ---- life ----------------------------------------------------------------------------------

static void warm_up(npu_memory *m, const npu_graph *graph, bool all) {
    lines warmed = {0};
    m->reader = -1;
    m->by = BEFORE_RUN;
    for (int i = 0; i < graph->tensor_count; i++) {
        const npu_tensor *t = &graph->tensors[i];
        if (t->bytes <= 0 || !(t->in_l2 || (all && t->external)))
            continue;
        for (int64_t at = 0; at < t->bytes && m->lines < m->capacity; at += m->line)
            touch_run(m, local(t->address) + at, 1, false, &warmed);
    }
}

// Returns where the last tensor ends.
static int64_t note_extents(npu_memory *m, const npu_graph *graph) {
    int64_t end = 0;
    for (int i = 0; i < graph->tensor_count; i++) {
        const npu_tensor *t = &graph->tensors[i];
        if (t->bytes <= 0)
            continue;
        assert(local(t->address) >= end);
        end = local(t->address) + t->bytes;
        m->extents[m->extent_count++] = (extent){end, t->class_};
    }
    return end;
}

npu_status npu_memory_new(const npu_die *die, const npu_graph *graph, npu_engine *engine, bool warm,
                          npu_totals *totals, npu_memory **memory, npu_error *err) {
    npu_memory *m = calloc(1, sizeof *m);
    if (m == NULL)
        return npu_fail_memory(err);
    m->engine = engine;
    m->rank = graph->rank;
    m->cores = 3 * (int)die->clusters;
    m->totals = totals;
    m->line = (int64_t)die->l2.line;
    while ((INT64_C(1) << m->shift) < m->line)
        m->shift++;
    assert(m->line == INT64_C(1) << m->shift);
    while ((1 << m->sector_shift) < (int)die->l2.sector)
        m->sector_shift++;
    m->align = (int64_t)die->align[NPU_UB];
    m->flight = die->l2.miss_latency;
    m->crowd = (int)fmin(die->hbm.crowd, INT16_MAX); // no page counts further
    m->span = die->hbm.crowd * die->l2.miss_latency;
    m->atomic = die->l2.atomic;
    m->capacity = (int64_t)(die->l2.size / die->l2.line);
    m->newest = m->oldest = -1;
    m->extents = calloc((size_t)graph->tensor_count + 1, sizeof *m->extents);
    if (m->extents == NULL) {
        npu_memory_free(m);
        return npu_fail_memory(err);
    }
    int64_t end = note_extents(m, graph);
    m->page_count = end / (m->line * PAGE_LINES) + 1;
    if (m->page_count < INT32_MAX)
        m->pages = calloc((size_t)m->page_count, sizeof *m->pages);
    if (m->pages == NULL) {
        npu_memory_free(m);
        return npu_fail_memory(err);
    }
    for (int64_t i = 0; i < m->page_count; i++) {
        m->pages[i].newer = m->pages[i].older = -1;
        m->pages[i].fetched = m->pages[i].since = -INFINITY;
    }
    warm_up(m, graph, warm);
    *memory = m;
    return NPU_OK;
}

void npu_memory_free(npu_memory *m) {
    if (m == NULL)
        return;
    free(m->extents);
    free(m->pages);
    free(m);
}

void npu_memory_check_invariants(const npu_memory *m) {
    int64_t count = 0;
    for (int32_t at = m->newest; at >= 0; at = m->pages[at].older) {
        const page *p = &m->pages[at];
        assert(p->present != 0 && (p->dirty & ~p->present) == 0);
        assert((p->unused & ~p->present) == 0 && (p->warmed & ~p->unused) == 0);
        assert(p->older < 0 || m->pages[p->older].newer == at);
        count += __builtin_popcountll(p->present);
    }
    assert(count == m->lines);
    assert(m->lines <= m->capacity + PAGE_LINES);
    (void)count;
}
