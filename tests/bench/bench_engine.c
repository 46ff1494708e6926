// SPDX-License-Identifier: Apache-2.0
// Events per second of both engines: cores that load double-buffered over a shared link,
// with a delay (the compute) between the end of a load and the next one.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "engine.h"

enum { CORES = 72, BUFFERS = 2 };

typedef struct load {
    npu_engine *engine;
    int64_t *left; // events to make
    int path;
} load;

static void compute(void *owner, int64_t tag);

static void fetch(void *owner, int64_t tag) {
    load *l = owner;
    if ((*l->left)-- > 0)
        npu_engine_flow(l->engine, 16384 + 512 * (double)(tag % 13), l->path, compute, l, tag + 1);
}

static void compute(void *owner, int64_t tag) {
    load *l = owner;
    if ((*l->left)-- > 0)
        npu_engine_delay(l->engine, 20 + (double)(tag % 7), fetch, l, tag + 1);
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int bench(npu_engine_kind kind, int64_t events) {
    const npu_link links[] = {{"hbm", 1600}, {"l2", 4000}};
    const npu_path paths[] = {{"miss", {0, 1}, 2, 100}, {"hit", {1}, 1, 100}};
    const npu_net net = {links, 2, paths, 2};
    npu_error err = {0};
    load loads[CORES * BUFFERS];
    double start = seconds();
    npu_engine *engine = NULL;
    if (npu_engine_new(kind, &net, &engine, &err) != NPU_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (int i = 0; i < CORES * BUFFERS; i++) {
        loads[i] = (load){engine, &events, i % 3 == 0};
        npu_engine_delay(engine, i, fetch, &loads[i], i);
    }
    double made = seconds();
    if (npu_engine_run(engine, &err) != NPU_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    double ran = seconds();
    const npu_engine_stats *stats = npu_engine_get_stats(engine);
    double count = (double)(stats->delays + stats->flows);
    printf("%-8s %10.0f events, %7.3f s: %.3g M events/s (start %.3f s), end %.12g ns\n",
           npu_engine_names[kind], count, ran - made, count / (ran - made) / 1e6, made - start,
           npu_engine_now(engine));
    npu_engine_free(engine);
    return 0;
}

int main(int argc, char **argv) {
    int64_t events = argc > 1 ? strtoll(argv[1], NULL, 10) : 200000;
    int status = bench(NPU_ENGINE_FLUID, 50 * events) | bench(NPU_ENGINE_FLUID, events);
#ifdef NPUSIM_HAVE_SIMGRID
    status |= bench(NPU_ENGINE_SIMGRID, events);
#endif
    return status;
}
