// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay_impl.h"
#include "units.h"

static const char style[] =
    "body{font:14px sans-serif;margin:2em;color:#222}h1{font-size:20px}h2{font-size:16px}"
    "table{border-collapse:collapse;margin:1em 0}td,th{padding:2px 10px;text-align:right;"
    "border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}"
    "img{max-width:100%}";

// Names come from files.
static void put_text(FILE *out, const char *text) {
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc(*text, out);
        }
    }
}

static void put_time(FILE *out, double ns) {
    char text[32];
    fprintf(out, "<td>%s%s</td>", ns < 0 ? "-" : "",
            npu_show_time(ns < 0 ? -ns : ns, text, (int)sizeof text));
}

static double percent(double part, double whole) {
    return whole > 0 ? 100 * part / whole : 0;
}

static void put_kernels(FILE *out, const npu_replay *r) {
    fputs("<h2>Kernels</h2>\n<table><tr><th>kernel</th><th>tasks</th><th>rows</th>"
          "<th>measured mean</th><th>p50</th><th>p90</th><th>modelled mean</th><th>p50</th>"
          "<th>p90</th><th>error</th><th>share</th><th>starts apart</th><th>time of</th></tr>\n",
          out);
    for (int i = 0; i < r->kernel_count; i++) {
        const npu_replay_kernel *k = &r->kernels[i];
        if (k->rows == 0)
            continue;
        fputs("<tr><td>", out);
        put_text(out, k->name);
        fprintf(out, "</td><td>%d</td><td>%d</td>", k->tasks, k->rows);
        put_time(out, k->measured.mean);
        put_time(out, k->measured.p50);
        put_time(out, k->measured.p90);
        put_time(out, k->modelled.mean);
        put_time(out, k->modelled.p50);
        put_time(out, k->modelled.p90);
        fprintf(out, "<td>%+.1f %%</td><td>%+.1f %%</td>",
                percent(k->modelled.mean - k->measured.mean, k->measured.mean), 100 * k->share);
        put_time(out, k->start_error);
        fprintf(out, "<td>%s</td></tr>\n", k->by_program ? "the model" : "the capture");
    }
    fputs("</table>\n", out);
}

static void put_causes(FILE *out, const npu_replay *r) {
    fputs("<h2>From measured to modelled</h2>\n", out);
    if (!r->waterfall.known) {
        fputs("<p>The capture's stamps contradict its edges.</p>\n", out);
        return;
    }
    fputs("<table><tr><th>cause</th><th>difference</th><th>makespan</th></tr>\n"
          "<tr><td>measured</td><td></td>",
          out);
    put_time(out, r->measured);
    for (int c = 0; c < NPU_CAUSE_COUNT; c++) {
        fprintf(out, "</tr>\n<tr><td>%s</td>", npu_replay_cause_names[c]);
        put_time(out, r->waterfall.share[c]);
        put_time(out, r->waterfall.after[c]);
    }
    fputs("</tr></table>\n", out);
}

static void put_parting(FILE *out, const npu_replay *r, const npu_parting *p, const char *how) {
    fprintf(out, "<tr><td>the schedules part %s</td>", how);
    if (p->task < 0) {
        fputs("<td>never</td><td></td></tr>\n", out);
        return;
    }
    put_time(out, p->at);
    fputs("<td>task ", out);
    put_text(out, r->graph.tasks[p->task].name);
    fputs("</td></tr>\n", out);
}

static void put_schedule(FILE *out, const npu_replay *r) {
    static const char *const runs[] = {"measured", "modelled"};
    fputs("<h2>Schedules</h2>\n<table>\n", out);
    put_parting(out, r, &r->by_time, "in time");
    put_parting(out, r, &r->by_place, "in place");
    fputs("</table>\n<table><tr><th></th><th>sent early: full</th><th>partial</th><th>none</th>"
          "<th>AICs idle with ready rows</th><th>times cores</th><th>AIVs idle with ready rows</th>"
          "<th>times cores</th></tr>\n",
          out);
    for (int i = 0; i < 2; i++) {
        fprintf(out, "<tr><td>%s</td><td>%d</td><td>%d</td><td>%d</td>", runs[i],
                r->early[i][NPU_EARLY_FULL], r->early[i][NPU_EARLY_PARTIAL],
                r->early[i][NPU_EARLY_NO]);
        for (int type = 0; type < 2; type++) {
            put_time(out, r->idle[i][type].time);
            put_time(out, r->idle[i][type].core_time);
        }
        fputs("</tr>\n", out);
    }
    fputs("</table>\n", out);
}

// ---- pictures ------------------------------------------------------------------------------

static void put_base64(FILE *out, FILE *from) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char b[3];
    size_t count = 0;
    while ((count = fread(b, 1, sizeof b, from)) > 0) {
        if (count < 3)
            b[2] = 0;
        if (count < 2)
            b[1] = 0;
        fputc(digits[b[0] >> 2], out);
        fputc(digits[(b[0] & 3) << 4 | b[1] >> 4], out);
        fputc(count > 1 ? digits[(b[1] & 15) << 2 | b[2] >> 6] : '=', out);
        fputc(count > 2 ? digits[b[2] & 63] : '=', out);
    }
}

typedef npu_status draw_png(const npu_replay *replay, const char *png, npu_error *err);

// gnuplot draws into a file, which is read back.
static npu_status put_picture(FILE *out, const npu_replay *r, draw_png *draw, const char *title,
                              npu_error *err) {
    const char *folder = getenv("TMPDIR");
    char path[512];
    snprintf(path, sizeof path, "%.480s/npusim-XXXXXX", folder != NULL ? folder : "/tmp");
    int file = mkstemp(path);
    if (file < 0)
        return npu_fail(err, NPU_IO, (npu_pos){.file = path}, "cannot write: %s", strerror(errno));
    close(file);
    npu_status status = draw(r, path, err);
    FILE *png = status ? NULL : fopen(path, "rb");
    if (!status && png == NULL)
        status = npu_fail(err, NPU_IO, (npu_pos){.file = path}, "cannot read: %s", strerror(errno));
    if (!status) {
        fprintf(out, "<h2>%s</h2>\n<img alt=\"%s\" src=\"data:image/png;base64,", title, title);
        put_base64(out, png);
        fputs("\">\n", out);
    }
    if (png != NULL)
        fclose(png);
    unlink(path);
    return status;
}

npu_status npu_replay_html(FILE *out, const npu_replay *r, npu_error *err) {
    char a[32], b[32];
    fprintf(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
    put_text(out, r->graph.name);
    fprintf(out, "</title><style>%s</style></head><body>\n<h1>", style);
    put_text(out, r->graph.name);
    fputs(" on ", out);
    put_text(out, r->about.die);
    fprintf(out, "</h1>\n<p>measured %s, modelled %s (%+.1f %%), first dispatch to last finish; ",
            npu_show_time(r->measured, a, sizeof a), npu_show_time(r->modelled, b, sizeof b),
            percent(r->modelled - r->measured, r->measured));
    fprintf(out, "cost %s, order %s, recorder %s", r->about.cost_model ? "model" : "measured",
            r->about.order_measured ? "measured" : "model", r->about.recorded ? "on" : "off");
    if (r->about.recorded)
        fprintf(out, "; without the recorder %s", npu_show_time(r->unrecorded, a, sizeof a));
    fprintf(out,
            ".</p>\n<p>%d tasks ran; their starts lie %s apart in the median, %s at most for "
            "90 %%.</p>\n",
            r->tasks, npu_show_time(r->start_median, a, sizeof a),
            npu_show_time(r->start_p90, b, sizeof b));
    put_causes(out, r);
    put_schedule(out, r);
    npu_status status = put_picture(out, r, npu_replay_swimlanes_png, "Swimlanes", err);
    put_kernels(out, r);
    if (!status)
        status = put_picture(out, r, npu_replay_kernels_png, "Error per kernel", err);
    fputs("</body></html>\n", out);
    if (!status && ferror(out))
        status = npu_fail(err, NPU_IO, (npu_pos){0}, "cannot write the page");
    return status;
}
