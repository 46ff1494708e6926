// SPDX-License-Identifier: Apache-2.0
#include "sdma.h"

#include <assert.h>
#include <stdlib.h>

typedef struct range {
    int64_t address, bytes;
    double ready; // ns, when its first byte can move
} range;

typedef struct stream {
    npu_sdma *sdma;
    range *ranges; // [done, count) are waiting; the first of them is under way
    int count, capacity, done;
    int64_t at;  // bytes of ranges[done] that have landed
    bool active; // a chunk, or a timer for the next one, is under way
} stream;

struct npu_sdma {
    npu_engine *engine;
    npu_memory *memory;
    npu_totals *totals;
    double start;
    int64_t chunk;
    stream *streams;
    int core_count;
};

static void next_chunk(void *owner, int64_t tag);

// A descriptor that has still to start does not take anything from the others.
static bool running(const stream *s) {
    return s->done < s->count &&
           s->ranges[s->done].ready <= npu_engine_now(s->sdma->engine) + NPU_ENGINE_TIE;
}

static int running_streams(const npu_sdma *sdma) {
    int count = 0;
    for (int i = 0; i < sdma->core_count; i++)
        count += running(&sdma->streams[i]);
    return count;
}

static int64_t chunk_bytes(const stream *s) {
    int64_t left = s->ranges[s->done].bytes - s->at;
    return left < s->sdma->chunk ? left : s->sdma->chunk;
}

// A chunk's lines become visible together, when its last byte is in.
static void landed(void *owner, int64_t bytes) {
    stream *s = owner;
    npu_memory_fill(s->sdma->memory, s->ranges[s->done].address + s->at, bytes);
    s->at += bytes;
    if (s->at == s->ranges[s->done].bytes) {
        s->done++;
        s->at = 0;
    }
    next_chunk(s, 0);
}

static void next_chunk(void *owner, int64_t tag) {
    (void)tag;
    stream *s = owner;
    npu_sdma *sdma = s->sdma;
    if (s->done == s->count) {
        s->active = false;
        s->done = s->count = 0;
        return;
    }
    const range *r = &s->ranges[s->done];
    if (!running(s)) {
        npu_engine_delay(sdma->engine, r->ready - npu_engine_now(sdma->engine), next_chunk, s, 0);
        return;
    }
    int64_t bytes = chunk_bytes(s);
    double missing = npu_memory_missing(sdma->memory, r->address + s->at, bytes);
    sdma->totals->prefetch_bytes += (int64_t)missing;
    sdma->totals->hbm_read_bytes += missing;
    // Several streams get less together than one alone; who is there is asked for each chunk.
    npu_memory_path path = running_streams(sdma) > 1 ? NPU_PATH_SDMA_SHARED : NPU_PATH_SDMA;
    npu_engine_flow(sdma->engine, missing, npu_memory_engine_path(sdma->memory, path), landed, s,
                    bytes);
}

npu_status npu_sdma_prefetch(npu_sdma *sdma, int core, const npu_gm *gm, double at,
                             npu_error *err) {
    assert(core >= 0 && core < sdma->core_count && at >= npu_engine_now(sdma->engine));
    stream *s = &sdma->streams[core];
    for (int32_t i = 0; i < gm->rows[0]; i++) {
        for (int32_t j = 0; j < gm->rows[1]; j++) {
            npu_status status = NPU_GROW(s, ranges, count, capacity, err);
            if (status)
                return status;
            s->ranges[s->count++] = (range){gm->address + i * gm->stride[0] + j * gm->stride[1],
                                            gm->run, at + sdma->start};
        }
    }
    if (!s->active) {
        s->active = true;
        next_chunk(s, 0);
    }
    return NPU_OK;
}

npu_status npu_sdma_new(const npu_die *die, npu_engine *engine, npu_memory *memory,
                        npu_totals *totals, int core_count, npu_sdma **out, npu_error *err) {
    npu_sdma *sdma = calloc(1, sizeof *sdma);
    stream *streams = calloc((size_t)core_count, sizeof *streams);
    if (sdma == NULL || streams == NULL) {
        free(sdma);
        free(streams);
        return npu_fail_memory(err);
    }
    *sdma = (npu_sdma){.engine = engine,
                       .memory = memory,
                       .totals = totals,
                       .start = die->sdma.start,
                       .chunk = (int64_t)die->sdma.chunk,
                       .streams = streams,
                       .core_count = core_count};
    for (int i = 0; i < core_count; i++)
        streams[i].sdma = sdma;
    *out = sdma;
    return NPU_OK;
}

void npu_sdma_free(npu_sdma *sdma) {
    if (sdma == NULL)
        return;
    for (int i = 0; i < sdma->core_count; i++)
        free(sdma->streams[i].ranges);
    free(sdma->streams);
    free(sdma);
}
