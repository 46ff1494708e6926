// SPDX-License-Identifier: Apache-2.0
#include "gnuplot.h"
#include "plot.h"
#include "replay_impl.h"
#include "units.h"

enum { MOST_KERNELS = 40, NAME = 24 };

double npu_replay_first(const npu_trace *trace) {
    double first = trace->row_count > 0 ? trace->rows[0].dispatch : 0;
    for (int i = 0; i < trace->row_count; i++)
        first = trace->rows[i].dispatch < first ? trace->rows[i].dispatch : first;
    return first;
}

npu_status npu_replay_swimlanes_png(const npu_replay *r, const char *png, npu_error *err) {
    const npu_trace *traces[] = {r->captured, &r->result.trace};
    double first[] = {npu_replay_first(traces[0]), npu_replay_first(traces[1])};
    char title[160], a[32], b[32];
    npu_picture picture = {.span = 0};
    snprintf(title, sizeof title, "%.60s: measured %s, modelled on %.30s %s", r->graph.name,
             npu_show_time(r->measured, a, sizeof a), r->about.die,
             npu_show_time(r->modelled, b, sizeof b));
    npu_status status = npu_picture_pair(traces, first, &r->graph, title, &picture, err);
    if (!status)
        status = npu_plot_png(&picture, png, err);
    npu_picture_free(&picture);
    return status;
}

// ---- the error per kernel ------------------------------------------------------------------

typedef struct bars { // of the kernels with most time
    int kernels[MOST_KERNELS];
    double values[2][MOST_KERNELS]; // error in %, starts apart in us
    int count;
} bars;

static void fill_bars(const npu_replay *r, bars *b) {
    b->count = 0;
    for (int i = 0; i < r->kernel_count && b->count < MOST_KERNELS; i++) {
        const npu_replay_kernel *k = &r->kernels[i];
        if (k->rows == 0)
            continue;
        b->kernels[b->count] = i;
        b->values[0][b->count] =
            k->measured.mean > 0 ? 100 * (k->modelled.mean / k->measured.mean - 1) : 0;
        b->values[1][b->count++] = k->start_error / 1e3;
    }
}

static void write_panel(const bars *b, int panel, FILE *out) {
    static const char *const titles[] = {"time of a row, modelled / measured - 1 (%)",
                                         "starts apart, median (us)"};
    double low = 0, high = 0;
    fprintf(out, "$bars%d << EOD\n", panel);
    for (int i = 0; i < b->count; i++) {
        double value = b->values[panel][i];
        low = value < low ? value : low;
        high = value > high ? value : high;
        fprintf(out, "%d %.3f\n", i, value);
    }
    if (high - low < 0.01) // nothing to see
        high = low + 1;
    fprintf(out,
            "EOD\nset title '%s'\nset xrange [%.3f:%.3f]\n"
            "plot $bars%d using ($2/2):1:(0 < $2 ? 0 : $2):(0 < $2 ? $2 : 0):($1-0.35):($1+0.35) "
            "with boxxyerror fillstyle solid noborder linecolor rgb '#1f77b4'\n",
            titles[panel], 1.05 * low, 1.05 * high, panel);
}

npu_status npu_replay_kernels_script(const npu_replay *r, FILE *out, npu_error *err) {
    bars b;
    fill_bars(r, &b);
    fprintf(out, "set terminal pngcairo noenhanced size 1400,%d font 'DejaVu Sans,11'\n",
            160 + 22 * b.count);
    fputs("set ytics (", out);
    for (int i = 0; i < b.count; i++) {
        fputs(i > 0 ? ", " : "", out);
        npu_gnuplot_text(out, r->kernels[b.kernels[i]].name, NAME);
        fprintf(out, " %d", i);
    }
    fprintf(out,
            ")\nset yrange [%d:-1]\nunset key\nset border 3 linecolor rgb '#444444'\n"
            "set tics out nomirror\nset grid xtics linecolor rgb '#a8a8a8' linewidth 0.6 "
            "dashtype 3\nset lmargin 28\nset multiplot layout 1,2\n",
            b.count);
    write_panel(&b, 0, out);
    write_panel(&b, 1, out);
    fputs("unset multiplot\n", out);
    if (fflush(out) != 0 || ferror(out))
        return npu_fail(err, NPU_IO, (npu_pos){0}, "cannot write the commands for gnuplot");
    return NPU_OK;
}

static npu_status write_script(const void *replay, FILE *out, npu_error *err) {
    return npu_replay_kernels_script(replay, out, err);
}

npu_status npu_replay_kernels_png(const npu_replay *r, const char *png, npu_error *err) {
    return npu_gnuplot_png(write_script, r, "kernels.png", png, err);
}
