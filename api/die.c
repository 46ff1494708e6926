// SPDX-License-Identifier: Apache-2.0
#include "die.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "npusim.h"
#include "units.h"

enum { PAGE = 100, TEXT = 64 };

// Writes `text` from column `indent` on, in lines of at most PAGE columns, and ends the line.
static void print_wrapped(FILE *out, int indent, const char *text) {
    int at = indent;
    while (*text != '\0') {
        int word = (int)strcspn(text, " ");
        if (at > indent && at + 1 + word > PAGE) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
        }
        at += fprintf(out, "%s%.*s", at > indent ? " " : "", word, text);
        text += word;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static const char *source_text(const npu_die_note *note) {
    return note->source != NULL ? note->source : "no source given";
}

// "hbm" of "hbm.rate", "" of "clock".
static void section_of(const char *name, char section[TEXT]) {
    const char *dot = strchr(name, '.');
    snprintf(section, TEXT, "%.*s", dot != NULL ? (int)(dot - name) : 0, name);
}

// "rate" of "hbm.rate".
static const char *last_of(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot != NULL ? dot + 1 : name;
}

// `repeated`: the source is that of the line above.
static void print_field(FILE *out, const npu_die *die, int field, const char *name, bool repeated) {
    char value[TEXT];
    npu_die_field_text(die, field, value, sizeof value);
    const npu_die_note *note = &die->notes[field];
    int indent =
        fprintf(out, "  %-15s %-12s %-7s ", name, value, npu_confidence_names[note->confidence]);
    print_wrapped(out, indent, repeated ? "as above" : source_text(note));
}

// A vector op's startup, per_repeat and per_row in one line, when they share their source.
static void print_op(FILE *out, const npu_die *die, int first, const char *op) {
    const npu_die_note *notes = &die->notes[first];
    char value[3][TEXT];
    bool shared = true;
    for (int i = 0; i < 3; i++) {
        npu_die_field_text(die, first + i, value[i], sizeof value[i]);
        shared = shared && notes[i].confidence == notes[0].confidence &&
                 strcmp(source_text(&notes[i]), source_text(&notes[0])) == 0;
    }
    int indent = fprintf(out, "  %-15s %8s %10s %8s", op, value[0], value[1], value[2]);
    if (shared) {
        indent += fprintf(out, "  %-7s ", npu_confidence_names[notes[0].confidence]);
        print_wrapped(out, indent, source_text(&notes[0]));
        return;
    }
    fputc('\n', out);
    for (int i = 0; i < 3; i++) {
        char name[TEXT];
        npu_die_field_name(first + i, name, sizeof name);
        indent = fprintf(out, "    %-36s %-7s ", last_of(name),
                         npu_confidence_names[notes[i].confidence]);
        print_wrapped(out, indent, source_text(&notes[i]));
    }
}

// "add" of "vector.ops.add.startup"; NULL for other names.
static const char *op_of(const char *name, char op[TEXT]) {
    static const char front[] = "vector.ops.";
    if (strncmp(name, front, strlen(front)) != 0)
        return NULL;
    const char *start = name + strlen(front);
    snprintf(op, TEXT, "%.*s", (int)strcspn(start, "."), start);
    return op;
}

static void print_fields(FILE *out, const npu_die *die) {
    char open[TEXT] = "";
    bool in_ops = false;
    for (int i = 0; i < npu_die_field_count(); i++) {
        char name[TEXT], section[TEXT], op[TEXT];
        npu_die_field_name(i, name, sizeof name);
        section_of(name, section);
        bool opens = strcmp(section, open) != 0;
        if (opens)
            fprintf(out, "\n%s\n", section);
        memcpy(open, section, sizeof open);
        if (op_of(name, op) == NULL) {
            // Values under one `note` share its text, not only its words.
            bool repeated = !opens && i > 0 && die->notes[i].source != NULL &&
                            die->notes[i].source == die->notes[i - 1].source;
            print_field(out, die, i, last_of(name), repeated);
            continue;
        }
        if (!in_ops)
            fprintf(out, "  %-15s %8s %10s %8s\n", "ops", "startup", "per_repeat", "per_row");
        in_ops = true;
        print_op(out, die, i, op);
        i += 2;
    }
}

// One derived figure; the caller goes on with the arithmetic behind it.
static void peak(FILE *out, const char *what, const char *value) {
    fprintf(out, "  %-22s %14s  = ", what, value);
}

static void print_compute(FILE *out, const npu_die *die) {
    const struct {
        const char *what;
        npu_dtype dtype;
        const char *unit;
        double macs;
    } rows[] = {{"cube fp16, bf16", NPU_FP16, "TFLOPS", die->cube.mac_fp16},
                {"cube int8", NPU_INT8, "TOPS", die->cube.mac_int8},
                {"cube fp32", NPU_FP32, "TFLOPS", die->cube.mac_fp32}};
    char value[TEXT], what[TEXT];
    for (int i = 0; i < 3; i++) {
        snprintf(value, sizeof value, "%.1f %s", npu_die_tflops(die, rows[i].dtype), rows[i].unit);
        peak(out, rows[i].what, value);
        fprintf(out, "2 x %g MAC/cyc x %g GHz x %g AIC\n", rows[i].macs, die->clock, die->clusters);
    }
    static const npu_dtype dtypes[] = {NPU_FP16, NPU_FP32};
    for (int i = 0; i < 2; i++) {
        double lanes = die->vector.bytes / npu_dtype_bytes(dtypes[i]);
        double aivs = 2.0 * die->clusters;
        snprintf(what, sizeof what, "vector %s", npu_dtype_names[dtypes[i]]);
        snprintf(value, sizeof value, "%.1f TFLOPS", 2.0 * lanes * die->clock * aivs / 1000.0);
        peak(out, what, value);
        fprintf(out, "2 (multiply-add) x %g lanes x %g GHz x %g AIV\n", lanes, die->clock, aivs);
    }
}

static void print_memory(FILE *out, const npu_die *die) {
    char value[TEXT], nominal[TEXT];
    npu_show_rate(die->hbm.rate, nominal, sizeof nominal);
    peak(out, "HBM nominal", nominal);
    fprintf(out, "hbm.rate\n");
    peak(out, "HBM reachable", npu_show_rate(npu_die_hbm_rate(die), value, sizeof value));
    fprintf(out, "%s x %g\n", nominal, die->hbm.efficiency);
    peak(out, "L2 read", npu_show_rate(die->l2.read, value, sizeof value));
    fprintf(out, "l2.read\n");
    peak(out, "L2 write", npu_show_rate(die->l2.write, value, sizeof value));
    fprintf(out, "l2.write\n");
}

// What one core of a kind, and all of them, can draw.
static void print_port(FILE *out, const npu_die *die, const char *kind, const npu_core_port *port,
                       double cores) {
    const struct {
        const char *what;
        double bytes;
    } ways[] = {{"read", port->read}, {"write", port->write}};
    char value[TEXT], what[TEXT];
    for (int i = 0; i < 2; i++) {
        double rate = ways[i].bytes * die->clock;
        snprintf(what, sizeof what, "%s port %s", kind, ways[i].what);
        peak(out, what, npu_show_rate(rate, value, sizeof value));
        fprintf(out, "%g B/cyc x %g GHz; all %g together %s\n", ways[i].bytes, die->clock, cores,
                npu_show_rate(rate * cores, value, sizeof value));
    }
    const struct {
        const char *what;
        double latency;
    } streams[] = {{"from L2", die->l2.hit_latency}, {"from HBM", die->l2.miss_latency}};
    for (int i = 0; i < 2; i++) {
        if (streams[i].latency <= 0.0)
            continue; // then only the port bounds it
        double rate = port->outstanding * die->l2.line / streams[i].latency;
        snprintf(what, sizeof what, "one %s %s", kind, streams[i].what);
        peak(out, what, npu_show_rate(fmin(rate, port->read * die->clock), value, sizeof value));
        fprintf(out, "%g lines x %g B / %g ns, at most the port\n", port->outstanding, die->l2.line,
                streams[i].latency);
    }
}

static void print_dispatch(FILE *out, const npu_die *die) {
    char value[TEXT];
    peak(out, "task submit", npu_show_time(die->aicpu.submit, value, sizeof value));
    fprintf(out, "aicpu.submit, and %g ns per argument\n", die->aicpu.submit_arg);
    double block = die->aicpu.payload + die->aicpu.write + die->aicpu.poll;
    peak(out, "block issue, at best",
         npu_show_time(block / die->aicpu.schedulers, value, sizeof value));
    fprintf(out, "(%g payload + %g write + %g poll) ns / %g schedulers\n", die->aicpu.payload,
            die->aicpu.write, die->aicpu.poll, die->aicpu.schedulers);
}

static void print_die(FILE *out, const npu_die *die) {
    fprintf(out, "die %s (%s)\n", die->name, die->path);
    fprintf(out, "\n  %-15s %-12s %-7s %s\n", "field", "value", "sure", "source");
    print_fields(out, die);
    fprintf(out, "\nPeaks\n");
    print_compute(out, die);
    print_memory(out, die);
    print_port(out, die, "AIC", &die->aic, die->clusters);
    print_port(out, die, "AIV", &die->aiv, 2.0 * die->clusters);
    print_dispatch(out, die);
}

// One field as text, by name.
static const char *text_of(const npu_die *die, const char *name, char buf[TEXT]) {
    int field = npu_die_field_find(name);
    assert(field >= 0);
    return npu_die_field_text(die, field, buf, TEXT);
}

static npu_status print_list(FILE *out, const char *folder, npu_error *err) {
    npu_arena arena = {0};
    const char *const *names = NULL;
    int count = 0;
    npu_status status = npu_die_list(&arena, folder, &names, &count, err);
    if (status == NPU_OK)
        fprintf(out, "%-10s %8s %8s %7s %6s %10s %13s\n", "die", "clusters", "clock", "L2", "HBM",
                "HBM rate", "fp16");
    for (int i = 0; status == NPU_OK && i < count; i++) {
        npu_die die;
        status = npu_die_load(folder, names[i], &die, err);
        if (status != NPU_OK)
            break;
        char clusters[TEXT], clock[TEXT], l2[TEXT], hbm[TEXT], rate[TEXT];
        fprintf(out, "%-10s %8s %8s %7s %6s %10s %6.1f TFLOPS\n", names[i],
                text_of(&die, "clusters", clusters), text_of(&die, "clock", clock),
                text_of(&die, "l2.size", l2), text_of(&die, "hbm.size", hbm),
                npu_show_rate(die.hbm.rate, rate, sizeof rate), npu_die_tflops(&die, NPU_FP16));
        npu_die_free(&die);
    }
    npu_arena_free(&arena);
    return status;
}

npu_status npusim_die(const char *config, const char *name, FILE *report, npu_error *err) {
    assert(report != NULL);
    char found[1024], folder[1100];
    if (config == NULL) {
        npu_status status = npusim_config_folder(found, sizeof found, err);
        if (status != NPU_OK)
            return status;
        config = found;
    }
    int length = snprintf(folder, sizeof folder, "%s/die", config);
    if (length < 0 || (size_t)length >= sizeof folder)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "the config folder's path is too long");
    if (name == NULL)
        return print_list(report, folder, err);
    npu_die die;
    npu_status status = npu_die_load(folder, name, &die, err);
    if (status != NPU_OK)
        return status;
    print_die(report, &die);
    npu_die_free(&die);
    return NPU_OK;
}
