// SPDX-License-Identifier: Apache-2.0
// The whole process, from exec to exit: `npusim run` of one GEMM of 128 x 4096 x 4096 on one
// AIC and of the SWA layer, trace written, no picture: the best and the median of many runs, and
// peak memory. Then the forward of V4-Flash with 1, 2, 4 .. 43 layers, which shows whether time
// grows linearly with layers. Not a test: what it prints depends on the machine.
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RUNS = 41 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// ms of user and system time, and the peak of memory in MB.
typedef struct used {
    double cpu, peak;
} used;

// ms from fork to exit, or -1. `set` and `folder` may be NULL.
static double run_once(const char *graph, const char *set, const char *folder, used *u) {
    double begin = now();
    fflush(NULL); // what is buffered must not be written by both
    pid_t pid = fork();
    if (pid == 0) {
        if (freopen("/dev/null", "w", stdout) == NULL || freopen("/dev/null", "w", stderr) == NULL)
            _exit(127);
        const char *argv[8] = {"npusim", "run", graph, "--no-plot"};
        int n = 4;
        if (set != NULL) {
            argv[n++] = "--set";
            argv[n++] = set;
        }
        if (folder != NULL) {
            argv[n++] = "--out";
            argv[n++] = folder;
        }
        execv(NPUSIM_PROGRAM, (char *const *)argv);
        _exit(127);
    }
    int status = 0;
    struct rusage r;
    if (pid < 0 || wait4(pid, &status, 0, &r) != pid || status != 0)
        return -1;
    u->cpu = (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1e3 +
             (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-3;
    u->peak = (double)r.ru_maxrss * 1024 / 1e6;
    return now() - begin;
}

static int bench(const char *name) {
    char graph[512], folder[] = "/tmp/npusim-bench-XXXXXX";
    double times[RUNS];
    used u = {0, 0};
    snprintf(graph, sizeof graph, "%s/configs/models/%s.yaml", NPUSIM_SOURCE, name);
    if (mkdtemp(folder) == NULL)
        return 1;
    for (int i = 0; i < RUNS; i++) {
        times[i] = run_once(graph, NULL, folder, &u);
        if (times[i] < 0) {
            fprintf(stderr, "%s did not run\n", graph);
            return 1;
        }
    }
    qsort(times, RUNS, sizeof *times, by_size);
    printf("%-16s best %6.2f ms, median %6.2f ms, peak %5.1f MB (files in %s)\n", name, times[0],
           times[RUNS / 2], u.peak, folder);
    return 0;
}

static int bench_layers(void) {
    static const int layers[] = {1, 2, 4, 8, 16, 32, 43};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        char set[32];
        used u = {0, 0};
        snprintf(set, sizeof set, "layers=%d", layers[i]);
        double wall =
            run_once(NPUSIM_SOURCE "/configs/models/deepseek_v4_flash/forward.yaml", set, NULL, &u);
        if (wall < 0) {
            fprintf(stderr, "the forward of %d layers did not run\n", layers[i]);
            return 1;
        }
        printf("forward, %2d layers: %7.1f ms, CPU %7.1f ms, %5.1f ms a layer, peak %5.1f MB\n",
               layers[i], wall, u.cpu, u.cpu / layers[i], u.peak);
    }
    return 0;
}

int main(void) {
    return bench("gemm") || bench("deepseek_v4_flash/swa") || bench_layers();
}
