// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "compare.h"
#include "json_put.h"
#include "npusim.h"
#include "units.h"

enum { MOST_KERNELS = 24 };

static const double least_time = 0.05; // ns: what is printed as 0.0

static npu_shown signed_time(double ns) {
    if (fabs(ns) < least_time)
        return npu_shown_time(0);
    npu_shown f = {{ns > 0 ? '+' : '-'}};
    npu_show_time(fabs(ns), f.text + 1, (int)sizeof f.text - 1);
    return f;
}

static npu_shown share_of(double part, double whole) {
    npu_shown f = {"-"};
    if (fabs(whole) >= least_time)
        snprintf(f.text, sizeof f.text, "%.1f %%",
                 fabs(part) < least_time ? 0 : 100 * part / whole);
    return f;
}

// ---- why -----------------------------------------------------------------------------------

static void add(char *buf, size_t size, const char *what) {
    size_t n = strlen(buf);
    snprintf(buf + n, size - n, "%s%s", n > 0 ? "; " : "", what);
}

const char *npu_compare_why(const npu_moved *moved, char *buf, size_t size) {
    const npu_kernel_metrics *a = moved->kernel[0], *b = moved->kernel[1];
    char text[128];
    buf[0] = '\0';
    if (a == NULL || b == NULL) {
        snprintf(buf, size, "%s", a == NULL ? "new in B" : "gone in B");
        return buf;
    }
    if (a->blocks != b->blocks) {
        snprintf(text, sizeof text, "blocks %" PRId64 " -> %" PRId64, a->blocks, b->blocks);
        add(buf, size, text);
    }
    if (a->read_bytes != b->read_bytes) {
        snprintf(text, sizeof text, "reads %s -> %s", npu_shown_bytes((double)a->read_bytes).text,
                 npu_shown_bytes((double)b->read_bytes).text);
        add(buf, size, text);
    }
    if (a->bound_pipe != b->bound_pipe || a->bound_core != b->bound_core) {
        snprintf(text, sizeof text, "bound by %s %.0f %% -> %s %.0f %%",
                 npu_pipe_names[a->bound_pipe], 100 * a->bound_share, npu_pipe_names[b->bound_pipe],
                 100 * b->bound_share);
        add(buf, size, text);
    }
    if (buf[0] == '\0' && fabs(a->block_mean - b->block_mean) > 1e-6 * a->block_mean) {
        snprintf(text, sizeof text, "the same work, %s; %s busy %.1f %% -> %.1f %%",
                 b->block_mean > a->block_mean ? "slower" : "faster", npu_pipe_names[a->bound_pipe],
                 100 * a->bound_share, 100 * b->bound_share);
        add(buf, size, text);
    }
    if (buf[0] == '\0')
        add(buf, size, "another place in the schedule");
    return buf;
}

// ---- text ----------------------------------------------------------------------------------

static void print_head(const npu_compared *c, FILE *out) {
    for (int i = 0; i < 2; i++) {
        const npu_simulated *run = &c->run[i];
        fprintf(out, "%c  %10s  %s on %s, %s", "AB"[i], npu_shown_time(run->metrics.makespan).text,
                npu_simulated_graph(run)->name, run->context.die.name, c->name[i]);
        if (run->context.ranks.count > 1)
            fprintf(out, ", rank %d of %d", run->slowest, run->context.ranks.count);
        fputc('\n', out);
    }
    double a = c->run[0].metrics.makespan, b = c->run[1].metrics.makespan;
    fprintf(out, "   %10s  %s\n", signed_time(b - a).text, share_of(b - a, a).text);
}

static void print_step(FILE *out, const char *what, double a, double b, double difference) {
    fprintf(out, "  %-24s %11s %11s %12s %10s\n", what, npu_shown_time(a).text,
            npu_shown_time(b).text, signed_time(b - a).text, share_of(b - a, difference).text);
}

static void print_waterfall(const npu_compared *c, FILE *out) {
    const npu_metrics *a = &c->run[0].metrics, *b = &c->run[1].metrics;
    double difference = b->makespan - a->makespan;
    fprintf(out, "\n%-26s %11s %11s %12s %10s\n", "Observed critical path", "A", "B", "difference",
            "share");
    print_step(out, "kernels", a->chain_exec, b->chain_exec, difference);
    for (int i = 0; i < NPU_CAUSE_COUNT; i++)
        print_step(out, npu_cause_names[i], c->run[0].gaps.part[i], c->run[1].gaps.part[i],
                   difference);
    print_step(out, "makespan", a->makespan, b->makespan, difference);
}

static void print_pair(FILE *out, int width, int64_t a, int64_t b) {
    char text[48];
    if (a == b)
        snprintf(text, sizeof text, "%" PRId64, a);
    else
        snprintf(text, sizeof text, "%" PRId64 ">%" PRId64, a, b);
    fprintf(out, " %*s", width, text);
}

static void print_kernel(const npu_compared *c, const npu_moved *m, FILE *out) {
    const npu_kernel_metrics none = {0};
    const npu_kernel_metrics *a = m->kernel[0] != NULL ? m->kernel[0] : &none;
    const npu_kernel_metrics *b = m->kernel[1] != NULL ? m->kernel[1] : &none;
    double difference = c->run[1].metrics.makespan - c->run[0].metrics.makespan;
    double moved = m->wall[1] - m->wall[0];
    fprintf(out, "  %-24.24s", m->name);
    print_pair(out, 7, a->tasks, b->tasks);
    print_pair(out, 9, a->blocks, b->blocks);
    fprintf(out, " %10s %10s %10s %11s %9s\n", npu_shown_time(a->block_mean).text,
            npu_shown_time(b->block_mean).text, signed_time(b->core_time - a->core_time).text,
            signed_time(moved).text, share_of(moved, difference).text);
}

static void print_kernels(const npu_compared *c, FILE *out) {
    if (c->moved > 0)
        fprintf(out, "\n%-26s %7s %9s %10s %10s %10s %11s %9s\n", "Kernel", "tasks", "blocks",
                "mean A", "mean B", "core time", "on the path", "share");
    int printed = 0;
    for (int i = 0; i < c->moved && i < MOST_KERNELS; i++, printed++)
        print_kernel(c, &c->kernels[i], out);
    if (c->moved > printed)
        fprintf(out, "  and %d more that moved\n", c->moved - printed);
    fprintf(out, "%s%d of %d kernels are as they were\n", c->moved > 0 ? "  " : "\n",
            c->kernel_count - c->moved, c->kernel_count);
    if (c->moved > 0)
        fprintf(out, "\nWhy\n");
    for (int i = 0; i < c->moved && i < MOST_KERNELS; i++) {
        char why[68];
        fprintf(out, "  %-28.28s %s\n", c->kernels[i].name,
                npu_compare_why(&c->kernels[i], why, sizeof why));
    }
}

static void print_memory(const npu_compared *c, FILE *out) {
    const npu_totals *a = &npu_simulated_trace(&c->run[0])->totals;
    const npu_totals *b = &npu_simulated_trace(&c->run[1])->totals;
    const struct {
        const char *name;
        double a, b;
    } lines[] = {
        {"HBM read", a->hbm_read_bytes, b->hbm_read_bytes},
        {"HBM written", a->hbm_write_bytes, b->hbm_write_bytes},
        {"L2 hit", a->l2_hit_bytes, b->l2_hit_bytes},
        {"L2 missed", a->l2_miss_bytes, b->l2_miss_bytes},
    };
    fprintf(out, "\n%-26s %11s %11s\n", "Bytes", "A", "B");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        bool moved = lines[i].a > 0 && lines[i].a != lines[i].b;
        fprintf(out, "  %-24s %11s %11s%s%s\n", lines[i].name, npu_shown_bytes(lines[i].a).text,
                npu_shown_bytes(lines[i].b).text, moved ? "  " : "",
                moved ? share_of(lines[i].b - lines[i].a, lines[i].a).text : "");
    }
}

static void print_part(const npu_compared *c, FILE *out) {
    if (!c->part.found) {
        fprintf(out, "\nThe schedules are the same in every event.\n");
        return;
    }
    double time = fmin(c->part.time[0], c->part.time[1]);
    fprintf(out, "\nThe schedules part at %s\n", npu_shown_time(time).text);
    for (int i = 0; i < 2; i++)
        fprintf(out, "  %c  %10s  %s\n", "AB"[i],
                isfinite(c->part.time[i]) ? npu_shown_time(c->part.time[i]).text : "-",
                c->part.what[i]);
}

void npu_compare_print(const npu_compared *c, FILE *out) {
    print_head(c, out);
    print_waterfall(c, out);
    print_kernels(c, out);
    print_memory(c, out);
    print_part(c, out);
}

// ---- JSON ----------------------------------------------------------------------------------

static json_t *us(double ns) {
    return isfinite(ns) ? json_real(ns / 1000) : json_null();
}

static json_t *side(const npu_compared *c, int i) {
    static const char *const keys[] = {"detect_us", "submit_us", "undispatched_us", "pick_up_us"};
    const npu_simulated *run = &c->run[i];
    const npu_totals *t = &npu_simulated_trace(run)->totals;
    json_t *o = json_object();
    npu_json_put(o, "name", json_string(c->name[i]));
    npu_json_put(o, "graph", json_string(npu_simulated_graph(run)->path));
    npu_json_put(o, "die", json_string(run->context.die.name));
    npu_json_put(o, "rank", json_integer(run->slowest));
    npu_json_put(o, "makespan_us", us(run->metrics.makespan));
    npu_json_put(o, "kernels_us", us(run->metrics.chain_exec));
    for (int k = 0; k < NPU_CAUSE_COUNT; k++)
        npu_json_put(o, keys[k], us(run->gaps.part[k]));
    npu_json_put(o, "hbm_read_bytes", json_real(t->hbm_read_bytes));
    npu_json_put(o, "hbm_write_bytes", json_real(t->hbm_write_bytes));
    npu_json_put(o, "l2_hit_bytes", json_real(t->l2_hit_bytes));
    npu_json_put(o, "l2_miss_bytes", json_real(t->l2_miss_bytes));
    return o;
}

static json_t *half(const npu_moved *m, int i) {
    const npu_kernel_metrics *k = m->kernel[i];
    if (k == NULL)
        return json_null();
    json_t *o = json_object();
    npu_json_put(o, "tasks", json_integer(k->tasks));
    npu_json_put(o, "blocks", json_integer(k->blocks));
    npu_json_put(o, "block_mean_us", us(k->block_mean));
    npu_json_put(o, "core_us", us(k->core_time));
    npu_json_put(o, "path_us", us(m->wall[i]));
    return o;
}

static json_t *kernels(const npu_compared *c) {
    double difference = c->run[1].metrics.makespan - c->run[0].metrics.makespan;
    json_t *list = json_array();
    for (int i = 0; i < c->kernel_count; i++) {
        const npu_moved *m = &c->kernels[i];
        double moved = m->wall[1] - m->wall[0];
        char why[128];
        json_t *o = json_object();
        npu_json_put(o, "name", json_string(m->name));
        npu_json_put(o, "a", half(m, 0));
        npu_json_put(o, "b", half(m, 1));
        npu_json_put(o, "share", difference != 0 ? json_real(moved / difference) : json_null());
        npu_json_put(o, "why",
                     i < c->moved ? json_string(npu_compare_why(m, why, sizeof why)) : json_null());
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *part(const npu_compared *c) {
    if (!c->part.found)
        return json_null();
    json_t *o = json_object();
    npu_json_put(o, "a_us", us(c->part.time[0]));
    npu_json_put(o, "a", json_string(c->part.what[0]));
    npu_json_put(o, "b_us", us(c->part.time[1]));
    npu_json_put(o, "b", json_string(c->part.what[1]));
    return o;
}

npu_status npu_compare_json(const npu_compared *c, FILE *out, npu_error *err) {
    json_t *o = json_object();
    npu_json_put(o, "npusim", json_string(NPUSIM_VERSION));
    npu_json_put(o, "a", side(c, 0));
    npu_json_put(o, "b", side(c, 1));
    npu_json_put(o, "difference_us", us(c->run[1].metrics.makespan - c->run[0].metrics.makespan));
    npu_json_put(o, "part", part(c));
    return npu_json_print(o, npu_json_put(o, "kernels", kernels(c)), out, err);
}
