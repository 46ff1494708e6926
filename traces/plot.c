// SPDX-License-Identifier: Apache-2.0
#include "plot.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "gnuplot.h"

enum { WIDTH = 1800, HEIGHT = 1000, HEIGHT_OF_TWO = 1800, COLOURS = 30, LEGEND_NAME = 30 };

// Strong hues first, then lighter and darker ones of the same kinds. No greys: those are the
// AICPU's.
static const char *const palette[] = {
    "#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#bcbd22",
    "#17becf", "#ffd92f", "#0b3c7d", "#a04000", "#145a32", "#7b1113", "#4a2380", "#00c08b",
    "#ff00aa", "#7d6608", "#0e6655", "#aec7e8", "#ffbb78", "#98df8a", "#ff9896", "#c5b0d5",
    "#c49c94", "#f7b6d2", "#dbdb8d", "#9edae5", "#5c0040", "#6b8e23"};
static const char *const shades[] = {"#8c8c8c", "#333333", "#bdbdbd", "#5a5a5a"};
static const char *const shade_labels[] = {"complete", "dispatch", "other phases", "submit"};
static const char other_colour[] = "#d8cfc0";

_Static_assert(sizeof palette / sizeof *palette == COLOURS, "colours");
_Static_assert(sizeof shades / sizeof *shades == NPU_SHADE_COUNT, "shades");

// Heights in units of one core's lane; the AICPU's lanes are twice as high.
static double lane_height(npu_lane_kind kind) {
    return kind <= NPU_LANE_SCHEDULER ? 2 : 1;
}

static const double run_gap = 5; // between two runs

// The top of lane `lane`, or of what follows the last one. Groups stand apart.
static double lane_top(const npu_picture *picture, int lane) {
    assert(lane >= 0 && lane <= picture->lane_count);
    double top = 0;
    for (int i = 0; i < lane; i++) {
        top += lane_height(picture->lanes[i].kind);
        if (i + 1 < picture->lane_count && picture->lanes[i].kind != picture->lanes[i + 1].kind &&
            picture->lanes[i + 1].kind >= NPU_LANE_AIC)
            top += 1.5;
        if (i + 1 == picture->split)
            top += run_gap;
    }
    return top;
}

static bool group_begins(const npu_picture *picture, int lane) {
    return lane == 0 || lane == picture->split ||
           picture->lanes[lane].kind != picture->lanes[lane - 1].kind;
}

static void write_lanes(const npu_picture *picture, FILE *out) {
    static const char *const labels[] = {"orchestrator", "scheduler", "AIC", "AIV"};
    const char *comma = "";
    fputs("set ytics (", out);
    for (int i = 0, in_group = 0; i < picture->lane_count; i++) {
        npu_lane lane = picture->lanes[i];
        in_group = group_begins(picture, i) ? 0 : in_group + 1;
        if (lane.kind >= NPU_LANE_AIC && in_group % 4 != 0) // a label each would be too dense
            continue;
        double middle = lane_top(picture, i) + lane_height(lane.kind) / 2;
        if (lane.kind == NPU_LANE_ORCHESTRATOR)
            fprintf(out, "%s'%s' %.2f", comma, labels[lane.kind], middle);
        else
            fprintf(out, "%s'%s %d' %.2f", comma, labels[lane.kind], lane.number, middle);
        comma = ", ";
    }
    fputs(")\n", out);
    for (int i = 0; i < picture->lane_count; i++) { // a light ground under each group
        if (!group_begins(picture, i))
            continue;
        int last = i;
        while (last + 1 < picture->lane_count && !group_begins(picture, last + 1))
            last++;
        fprintf(out,
                "set object rectangle from graph 0, first %.2f to graph 1, first %.2f behind "
                "fillcolor rgb '#f3f3f3' fillstyle solid noborder\n",
                lane_top(picture, i),
                lane_top(picture, last) + lane_height(picture->lanes[last].kind));
    }
}

// How the kernels are coloured: colour[name] is an index into the palette, or -1 for "other".
typedef struct colouring {
    int *colour;
    int rest; // kernels without a colour of their own
    bool shade_used[NPU_SHADE_COUNT];
} colouring;

// Strong colours for the kernels with much time. When there are more kernels than colours,
// those with little time share one.
static bool choose_colours(const npu_picture *picture, colouring *c) {
    *c = (colouring){0};
    size_t count = (size_t)picture->name_count + 1;
    c->colour = calloc(count, sizeof *c->colour);
    double *time = calloc(count, sizeof *time); // 0: no bars, and so no place in the legend
    bool enough = c->colour != NULL && time != NULL;
    for (int i = 0; i < picture->bar_count && enough; i++) {
        const npu_bar *bar = &picture->bars[i];
        if (picture->lanes[bar->lane].kind >= NPU_LANE_AIC)
            time[bar->name] += bar->end - bar->start + 1e-9;
        else
            c->shade_used[bar->name] = true;
    }
    int used = 0;
    for (int i = 0; i < picture->name_count && enough; i++)
        used += time[i] > 0;
    int room = used <= COLOURS ? COLOURS : COLOURS - 1;
    for (int i = 0; i < picture->name_count && enough; i++) {
        int larger = 0;
        for (int j = 0; j < picture->name_count; j++)
            larger += time[j] > time[i] || (time[j] == time[i] && j < i);
        c->colour[i] = larger < room && time[i] > 0 ? larger : -1;
        c->rest += larger >= room && time[i] > 0;
    }
    free(time);
    return enough;
}

static const char *bar_colour(const npu_picture *picture, const colouring *c, const npu_bar *bar) {
    if (picture->lanes[bar->lane].kind < NPU_LANE_AIC)
        return shades[bar->name];
    assert(bar->name < picture->name_count);
    int colour = c->colour[bar->name];
    return colour >= 0 ? palette[colour] : other_colour;
}

static void write_bars(const npu_picture *picture, const colouring *c, FILE *out) {
    double least = picture->span / WIDTH; // so that a short bar shows
    fputs("$bars << EOD\n", out);
    fputs("-1 -1 -1 -1 0\n", out); // outside: gnuplot refuses to plot nothing
    for (int i = 0; i < picture->bar_count; i++) {
        const npu_bar *bar = &picture->bars[i];
        npu_lane_kind kind = picture->lanes[bar->lane].kind;
        double top = lane_top(picture, bar->lane);
        double end = bar->end - bar->start > least ? bar->end : bar->start + least;
        fprintf(out, "%.3f %.3f %.2f %.2f %ld\n", bar->start, end, top + 0.1 * lane_height(kind),
                top + 0.9 * lane_height(kind), strtol(bar_colour(picture, c, bar) + 1, NULL, 16));
    }
    fputs("EOD\n", out);
}

static void write_key(FILE *out, const char *colour, const char *name) {
    fprintf(out, ", \\\n  keyentry with boxes fillstyle solid noborder linecolor rgb '%s' title ",
            colour);
    npu_gnuplot_text(out, name, LEGEND_NAME);
}

static void write_plot(const npu_picture *picture, const colouring *c, FILE *out) {
    fputs("plot $bars using (($1 + $2) / 2):(($3 + $4) / 2):1:2:3:4:5 with boxxyerror "
          "fillstyle solid noborder linecolor rgb variable notitle",
          out);
    for (int i = 0; i < picture->name_count; i++)
        if (c->colour[i] >= 0)
            write_key(out, palette[c->colour[i]], picture->names[i]);
    if (c->rest > 0) {
        char rest[40];
        snprintf(rest, sizeof rest, "%d other kernels", c->rest);
        write_key(out, other_colour, rest);
    }
    for (int i = 0; i < NPU_SHADE_COUNT; i++) {
        char label[40];
        snprintf(label, sizeof label, "AICPU: %s", shade_labels[i]);
        if (c->shade_used[i])
            write_key(out, shades[i], label);
    }
    fputs("\n", out);
}

// Two runs need to be told apart.
static void write_runs(const npu_picture *picture, FILE *out) {
    static const char *const runs[] = {"measured", "modelled"};
    for (int i = 0; i < 2 && picture->split > 0; i++) {
        int first = i == 0 ? 0 : picture->split;
        fprintf(out, "set label '%s' at graph 0, first %.2f left font ',13'\n", runs[i],
                lane_top(picture, first) - 1.2);
    }
}

static void write_settings(const npu_picture *picture, FILE *out) {
    fprintf(out, "set terminal pngcairo noenhanced size %d,%d font 'DejaVu Sans,11'\n", WIDTH,
            picture->split > 0 ? HEIGHT_OF_TWO : HEIGHT);
    fputs("set title ", out);
    npu_gnuplot_text(out, picture->title, 120);
    fputs(" font ',15'\nset xlabel 'time (us)'\n", out);
    fprintf(out, "set xrange [0:%.3f]\nset yrange [%.2f:%.1f]\n",
            picture->span > 0 ? picture->span : 1, lane_top(picture, picture->lane_count) + 0.5,
            picture->split > 0 ? -3.5 : -0.5);
    fputs("set key outside right top vertical Left reverse width 1 samplen 1.2 spacing 1.1 "
          "font ',10'\n"
          "set border 3 linecolor rgb '#444444'\nset tics out nomirror\n"
          "set mxtics\nset grid xtics back linecolor rgb '#a8a8a8' linewidth 0.6 dashtype 3\n",
          out);
}

npu_status npu_plot_script(const npu_picture *picture, FILE *out, npu_error *err) {
    colouring c;
    npu_status status = choose_colours(picture, &c) ? NPU_OK : npu_fail_memory(err);
    if (status == NPU_OK) {
        write_settings(picture, out);
        write_lanes(picture, out);
        write_runs(picture, out);
        write_bars(picture, &c, out);
        write_plot(picture, &c, out);
        if (fflush(out) != 0 || ferror(out))
            status = npu_fail(err, NPU_IO, (npu_pos){0}, "cannot write the commands for gnuplot");
    }
    free(c.colour);
    return status;
}

static npu_status write_script(const void *picture, FILE *out, npu_error *err) {
    return npu_plot_script(picture, out, err);
}

npu_status npu_plot_png(const npu_picture *picture, const char *png, npu_error *err) {
    return npu_gnuplot_png(write_script, picture, "swimlane.png", png, err);
}
