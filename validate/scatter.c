// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <math.h>

#include "gnuplot.h"
#include "output.h"

enum { WIDTH = 1200, HEIGHT = 1000, COLOURS = 12, LEGEND_NAME = 120 };

static const char *const palette[COLOURS] = {"#1f77b4", "#ff7f0e", "#2ca02c", "#d62728",
                                             "#9467bd", "#8c564b", "#e377c2", "#7f7f7f",
                                             "#bcbd22", "#17becf", "#0b3c7d", "#a04000"};

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
        npu_gnuplot_text(out, cases->groups[group], LEGEND_NAME);
    }
    fputs("\n", out);
    return fflush(out) == 0 && !ferror(out)
               ? NPU_OK
               : npu_fail(err, NPU_IO, (npu_pos){0}, "cannot write the commands for gnuplot");
}

static npu_status write_script(const void *cases, FILE *out, npu_error *err) {
    return npu_scatter_script(cases, out, err);
}

npu_status npu_scatter_png(const npu_cases *cases, const char *png, npu_error *err) {
    return npu_gnuplot_png(write_script, cases, "the plot", png, err);
}
