// SPDX-License-Identifier: Apache-2.0
// First in, first out, statement by statement: a stamp is how much code a core had fetched when it
// fetched that statement last, itself included.
#include "icache.h"

#include <assert.h>
#include <stdlib.h>

struct npu_icache {
    double size, line, instruction; // bytes
    double miss;                    // ns per line
    int functions, statements;      // of all functions together
    int cores;
    int *first;      // [functions] where the stamps of a function start
    double *fetched; // [cores] bytes
    double *stamps;  // [cores][statements], 0 = never
};

static int statements_of(const npu_task *task) {
    int most = 0;
    for (int i = 0; i < 2; i++)
        if (task->program->body[i].stmt_count > most)
            most = task->program->body[i].stmt_count;
    return most;
}

// Tasks of one function have one program; should they not, the longest counts.
static void lay_out(npu_icache *cache, const npu_graph *graph) {
    for (int i = 0; i < graph->task_count; i++) {
        const npu_task *task = &graph->tasks[i];
        if (task->func < 0 || task->program == NULL)
            continue;
        int count = statements_of(task);
        if (count > cache->first[task->func])
            cache->first[task->func] = count;
    }
    for (int i = 0; i < cache->functions; i++) {
        int count = cache->first[i];
        cache->first[i] = cache->statements;
        cache->statements += count;
    }
}

npu_status npu_icache_new(const npu_die *die, const npu_graph *graph, int cores, npu_icache **out,
                          npu_error *err) {
    npu_icache *cache = calloc(1, sizeof *cache);
    if (cache == NULL)
        return npu_fail_memory(err);
    *cache = (npu_icache){.size = die->icache.size,
                          .line = die->icache.line,
                          .instruction = die->icache.instruction,
                          .miss = die->icache.miss,
                          .functions = graph->func_count,
                          .cores = cores};
    cache->first = calloc((size_t)graph->func_count + 1, sizeof *cache->first);
    cache->fetched = calloc((size_t)cores, sizeof *cache->fetched);
    if (cache->first != NULL)
        lay_out(cache, graph);
    cache->stamps = calloc((size_t)cores, ((size_t)cache->statements + 1) * sizeof *cache->stamps);
    if (cache->first == NULL || cache->fetched == NULL || cache->stamps == NULL) {
        npu_icache_free(cache);
        return npu_fail_memory(err);
    }
    *out = cache;
    return NPU_OK;
}

void npu_icache_free(npu_icache *cache) {
    if (cache == NULL)
        return;
    free(cache->first);
    free(cache->fetched);
    free(cache->stamps);
    free(cache);
}

double npu_icache_fetch(npu_icache *cache, int core, int func, int statement,
                        int64_t instructions) {
    assert(core >= 0 && core < cache->cores && func >= 0 && func < cache->functions);
    assert(instructions > 0 && cache->first[func] + statement < cache->statements);
    double *stamp = &cache->stamps[(size_t)core * (size_t)cache->statements +
                                   (size_t)(cache->first[func] + statement)];
    double *fetched = &cache->fetched[core];
    if (*stamp > 0 && *fetched - *stamp < cache->size)
        return 0;
    double bytes = (double)instructions * cache->instruction;
    *fetched += bytes;
    *stamp = *fetched;
    return bytes / cache->line * cache->miss;
}
