// SPDX-License-Identifier: Apache-2.0
// Figures as comma-separated values (RFC 4180, but lines end in a newline alone).
#include <assert.h>
#include <string.h>

#include "output.h"

static void put_text(FILE *out, const char *text) {
    if (text == NULL)
        return;
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"')
            fputc('"', out);
        fputc(*c, out);
    }
    fputc('"', out);
}

static void put_figure(FILE *out, const npu_cases *cases, const npu_figure *f) {
    const npu_case *c = &cases->cases[f->case_];
    const npu_variant *v = &cases->variants[f->variant];
    assert(!f->hidden && f->measured > 0);
    const char *const texts[] = {
        cases->groups[c->group], c->name, v->name, f->row, f->read.text, f->unit};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put_text(out, texts[i]);
        fputc(',', out);
    }
    fprintf(out, "%.9g,", f->measured);
    if (f->known)
        fprintf(out, "%.9g,%.6g", f->predicted, npu_figure_error(f));
    else
        fputc(',', out);
    fputc(',', out);
    if (f->spread > 0)
        fprintf(out, "%.6g", f->spread);
    fputc(',', out);
    if (f->band >= 0)
        fprintf(out, "%.6g", f->band);
    fprintf(out, ",%s,",
            !f->known               ? "failed"
            : f->band < 0           ? ""
            : npu_figure_outside(f) ? "outside"
                                    : "inside");
    put_text(out, v->die);
    fprintf(out, ",%s,", v->l2_warm ? "warm" : "cold");
    put_text(out, v->source);
    fputc(',', out);
    put_text(out, f->pos.file);
    fprintf(out, ",%d\n", f->pos.line);
}

npu_status npu_validation_csv(FILE *out, const npu_cases *cases, npu_error *err) {
    fputs("group,case,variant,row,read,unit,measured,predicted,error,spread,band,verdict,die,l2,"
          "source,file,line\n",
          out);
    for (int i = 0; i < cases->figure_count; i++)
        if (!cases->figures[i].hidden)
            put_figure(out, cases, &cases->figures[i]);
    return ferror(out) ? npu_fail(err, NPU_IO, (npu_pos){0}, "cannot write the csv file") : NPU_OK;
}
