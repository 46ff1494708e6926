// SPDX-License-Identifier: Apache-2.0
// The whole process, from exec to exit: `npusim run` of one GEMM of 128 x 4096 x 4096 on one
// AIC and of the SWA layer, trace written, no picture. Prints the best and the median of many
// runs, and peak memory. Not a test: what it prints depends on the machine.
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

// ms from fork to exit, or -1.
static double run_once(const char *graph, const char *folder) {
    double begin = now();
    fflush(NULL); // what is buffered must not be written by both
    pid_t pid = fork();
    if (pid == 0) {
        if (freopen("/dev/null", "w", stdout) == NULL || freopen("/dev/null", "w", stderr) == NULL)
            _exit(127);
        execl(NPUSIM_PROGRAM, "npusim", "run", graph, "--out", folder, "--no-plot", (char *)NULL);
        _exit(127);
    }
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        return -1;
    return now() - begin;
}

static int bench(const char *name) {
    char graph[512], folder[] = "/tmp/npusim-bench-XXXXXX";
    double times[RUNS];
    snprintf(graph, sizeof graph, "%s/configs/models/%s.yaml", NPUSIM_SOURCE, name);
    if (mkdtemp(folder) == NULL)
        return 1;
    for (int i = 0; i < RUNS; i++) {
        times[i] = run_once(graph, folder);
        if (times[i] < 0) {
            fprintf(stderr, "%s did not run\n", graph);
            return 1;
        }
    }
    qsort(times, RUNS, sizeof *times, by_size);
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    printf("%-16s best %6.2f ms, median %6.2f ms, peak %5.1f MB (files in %s)\n", name, times[0],
           times[RUNS / 2], (double)usage.ru_maxrss * 1024 / 1e6, folder);
    return 0;
}

int main(void) {
    return bench("gemm") || bench("deepseek_v4_flash/swa");
}
