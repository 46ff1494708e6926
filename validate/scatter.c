// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "output.h"

extern char **environ;

enum { WIDTH = 1200, HEIGHT = 1000, COLOURS = 12 };

static const char *const palette[COLOURS] = {"#1f77b4", "#ff7f0e", "#2ca02c", "#d62728",
                                             "#9467bd", "#8c564b", "#e377c2", "#7f7f7f",
                                             "#bcbd22", "#17becf", "#0b3c7d", "#a04000"};

// ---- what is drawn -------------------------------------------------------------------------

// Text between single quotes. Names come from files, so only what gnuplot cannot take for
// anything else passes.
static void write_text(FILE *out, const char *text) {
    fputc('\'', out);
    for (int i = 0; text[i] != '\0'; i++) {
        unsigned char c = (unsigned char)text[i];
        bool plain = c >= ' ' && c < 127 && strchr("'\"\\`@$", c) == NULL;
        fputc(plain ? c : '_', out);
    }
    fputc('\'', out);
}

// Times in us, rates in GB/s, cycles and counts as they are. Ratios have no place here.
static double drawn(const npu_figure *f, double value) {
    assert(f->scale > 0 && f->dimension != NPU_DIM_RATIO);
    return f->dimension == NPU_DIM_TIME ? value * f->scale / 1000 : value * f->scale;
}

static bool is_drawn(const npu_cases *cases, const npu_figure *f, int group) {
    return cases->cases[f->case_].group == group && f->known && f->dimension != NPU_DIM_RATIO &&
           !f->hidden && f->predicted > 0;
}

static int write_group(const npu_cases *cases, int group, FILE *out) {
    int count = 0;
    fprintf(out, "$group%d << EOD\n", group);
    for (int i = 0; i < cases->figure_count; i++) {
        const npu_figure *f = &cases->figures[i];
        if (!is_drawn(cases, f, group))
            continue;
        fprintf(out, "%.9g %.9g\n", drawn(f, f->measured), drawn(f, f->predicted));
        count++;
    }
    fputs("EOD\n", out);
    return count;
}

// One power of ten around everything on both axes, so that the diagonal is one.
static void write_axes(const npu_cases *cases, FILE *out, double *from, double *to) {
    double least = INFINITY, most = 0;
    for (int i = 0; i < cases->figure_count; i++) {
        const npu_figure *f = &cases->figures[i];
        if (!is_drawn(cases, f, cases->cases[f->case_].group))
            continue;
        least = fmin(least, fmin(drawn(f, f->measured), drawn(f, f->predicted)));
        most = fmax(most, fmax(drawn(f, f->measured), drawn(f, f->predicted)));
    }
    assert(most == 0 || (least > 0 && least <= most));
    *from = most > 0 ? pow(10, floor(log10(least))) : 1;
    *to = most > 0 ? pow(10, floor(log10(most)) + 1) : 10;
    fprintf(out, "set logscale xy\nset xrange [%g:%g]\nset yrange [%g:%g]\n", *from, *to, *from,
            *to);
}

npu_status npu_scatter_script(const npu_cases *cases, FILE *out, npu_error *err) {
    double from, to;
    fprintf(out, "set terminal pngcairo noenhanced size %d,%d font 'DejaVu Sans,11'\n", WIDTH,
            HEIGHT);
    fputs("set title 'predicted over measured (us, GB/s, cycles, counts); the band is +-10 %'\n"
          "set xlabel 'measured'\nset ylabel 'predicted'\n"
          "set key outside right top vertical Left reverse\nset border 3\nset tics out nomirror\n"
          "set grid linetype 1 linecolor rgb '#dddddd'\n"
          "set format xy '%g'\n",
          out);
    write_axes(cases, out, &from, &to);
    fprintf(out, "$line << EOD\n%g %g\n%g %g\nEOD\n", from, from, to, to);
    unsigned char shown[4096] = {0};
    for (int group = 0; group < cases->group_count; group++) {
        bool any = write_group(cases, group, out) > 0;
        if (group < (int)sizeof shown)
            shown[group] = any;
    }
    fputs("plot $line using 1:($2 * 0.9):($2 * 1.1) with filledcurves fillcolor rgb '#e4e4e4' "
          "notitle, \\\n  $line with lines linecolor rgb '#909090' notitle",
          out);
    for (int group = 0; group < cases->group_count && group < (int)sizeof shown; group++) {
        if (!shown[group])
            continue;
        fprintf(out,
                ", \\\n  $group%d with points pointtype %d pointsize 1.1 linecolor rgb '%s' title ",
                group, 4 + group / COLOURS % 10, palette[group % COLOURS]);
        write_text(out, cases->groups[group]);
    }
    fputs("\n", out);
    return fflush(out) == 0 && !ferror(out)
               ? NPU_OK
               : npu_fail(err, NPU_IO, (npu_pos){0}, "cannot write the commands for gnuplot");
}

// ---- gnuplot -------------------------------------------------------------------------------

// Runs it on open files, without a shell. 0, or the errno of starting it.
static int run_gnuplot(FILE *script, int png, FILE *errors, int *wait_status) {
    char *const args[] = {"gnuplot", "-d", NULL}; // -d: no start-up file of the user's
    posix_spawn_file_actions_t actions;
    pid_t child = 0;
    int reason = posix_spawn_file_actions_init(&actions);
    if (reason != 0)
        return reason;
    reason = posix_spawn_file_actions_adddup2(&actions, fileno(script), STDIN_FILENO);
    if (reason == 0)
        reason = posix_spawn_file_actions_adddup2(&actions, png, STDOUT_FILENO);
    if (reason == 0)
        reason = posix_spawn_file_actions_adddup2(&actions, fileno(errors), STDERR_FILENO);
    if (reason == 0)
        reason = posix_spawnp(&child, args[0], &actions, NULL, args, environ);
    posix_spawn_file_actions_destroy(&actions);
    while (reason == 0 && waitpid(child, wait_status, 0) < 0)
        reason = errno != EINTR ? errno : 0;
    return reason;
}

static npu_status judge(int reason, int wait_status, FILE *errors, npu_error *err) {
    bool missing = reason == 0 && WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 127;
    if (reason == ENOENT || missing)
        return npu_fail(err, NPU_IO, (npu_pos){0},
                        "the plot needs the program gnuplot, which is not in PATH");
    if (reason != 0)
        return npu_fail(err, NPU_IO, (npu_pos){0}, "cannot run gnuplot: %s", strerror(reason));
    if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0)
        return NPU_OK;
    char complaint[512] = "";
    rewind(errors);
    size_t n = fread(complaint, 1, sizeof complaint - 1, errors);
    complaint[n] = '\0';
    return npu_fail(err, NPU_IO, (npu_pos){0}, "gnuplot failed: %s",
                    complaint[0] != '\0' ? complaint : "it gave no reason");
}

npu_status npu_scatter_png(const npu_cases *cases, const char *png, npu_error *err) {
    FILE *script = tmpfile(), *errors = tmpfile();
    int target = open(png, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    npu_status status = NPU_OK;
    if (target < 0 || script == NULL || errors == NULL)
        status = npu_fail(err, NPU_IO, (npu_pos){0}, "cannot write %s: %s",
                          target < 0 ? png : "a temporary file", strerror(errno));
    if (!status)
        status = npu_scatter_script(cases, script, err);
    if (!status) {
        rewind(script);
        int wait_status = 0;
        int reason = run_gnuplot(script, target, errors, &wait_status);
        status = judge(reason, wait_status, errors, err);
    }
    if (script != NULL)
        fclose(script);
    if (errors != NULL)
        fclose(errors);
    if (target >= 0 && close(target) != 0 && !status)
        status = npu_fail(err, NPU_IO, (npu_pos){0}, "cannot write %s: %s", png, strerror(errno));
    return status;
}
