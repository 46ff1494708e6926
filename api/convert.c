// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "folder.h"
#include "incore.h"
#include "npusim.h"
#include "out.h"
#include "perfetto.h"
#include "records.h"
#include "sanity.h"
#include "scene.h"
#include "units.h"

enum { TO_NOTHING = -1, TO_PERFETTO = NPU_G3 + 1 };

static const char *const formats[] = {"g1", "g2", "g3", "perfetto", NULL}; // by npu_generation

typedef struct written { // files of one capture
    npu_out *out;
} written;

typedef struct converter {
    const npusim_convert_options *options;
    int to; // a generation, TO_PERFETTO or TO_NOTHING
    FILE *report;
    npu_error *err;
    npu_capture_list list;
    written *outs; // one per capture
} converter;

// ---- files ---------------------------------------------------------------------------------

// Copies a file of the capture as it is, behind `head`, which replaces its first character.
static npu_status copy_file(FILE *out, const char *path, const char *head, npu_error *err) {
    FILE *in = fopen(path, "rb");
    char piece[16384];
    size_t length;
    if (in == NULL)
        return npu_fail(err, NPU_IO, (npu_pos){.file = path}, "cannot read: %s", strerror(errno));
    if (head != NULL) {
        int c;
        do
            c = fgetc(in);
        while (c != '{' && c != EOF);
        fputs(head, out);
    }
    while ((length = fread(piece, 1, sizeof piece, in)) > 0)
        fwrite(piece, 1, length, out);
    bool read = ferror(in) == 0;
    fclose(in);
    return read
               ? NPU_OK
               : npu_fail(err, NPU_IO, (npu_pos){.file = path}, "cannot read: %s", strerror(errno));
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static npu_status copy_beside(npu_out *out, const char *path, npu_error *err) {
    FILE *file = path != NULL ? npu_out_file(out, last_part(path), err) : NULL;
    if (path == NULL)
        return NPU_OK;
    return file != NULL ? copy_file(file, path, NULL, err) : NPU_IO;
}

// The graph: copied; G3 wants to know the runtime; of arrows it is written anew.
static npu_status write_graph(const converter *v, npu_out *out, const npu_capture_files *files,
                              const npu_run_files *run) {
    if (!run->has_deps)
        return NPU_OK;
    FILE *file = npu_out_file(out, "deps.json", v->err);
    if (file == NULL)
        return NPU_IO;
    if (files->deps == NULL)
        return npu_deps_write_captured(file, &run->deps, v->err);
    char head[128];
    snprintf(head, sizeof head, "{\"runtime\":\"%s\",", run->capture.runtime);
    bool add =
        v->to == NPU_G3 && run->deps.runtime == NULL &&
        strspn(run->capture.runtime, "abcdefghijklmnopqrstuvwxyz_") == strlen(run->capture.runtime);
    return copy_file(file, files->deps, add ? head : NULL, v->err);
}

static npu_status write_names(const converter *v, npu_out *out, const npu_capture_files *files,
                              const npu_run_files *run) {
    if (!run->has_names)
        return NPU_OK;
    if (files->names != NULL)
        return copy_beside(out, files->names, v->err);
    FILE *file = npu_out_file(out, "name_map.json", v->err);
    return file != NULL ? npu_name_map_write(file, &run->names, v->err) : NPU_IO;
}

static npu_status write_records(const converter *v, npu_out *out, const npu_capture_files *files,
                                const npu_run_files *run) {
    FILE *file = npu_out_file(out, "chip_swimlane_records.json", v->err);
    npu_status status = file != NULL
                            ? npu_records_write(file, &run->capture, (npu_generation)v->to, v->err)
                            : NPU_IO;
    if (status == NPU_OK)
        status = write_graph(v, out, files, run);
    if (status == NPU_OK)
        status = write_names(v, out, files, run);
    if (status == NPU_OK)
        status = copy_beside(out, files->pmu, v->err);
    if (status == NPU_OK)
        status = copy_beside(out, files->scope, v->err);
    return status;
}

static npu_status write_perfetto(const converter *v, npu_out *out, const npu_run_files *run) {
    npu_scene scene;
    npu_status status = npu_scene_make(&run->capture, run->has_deps ? &run->deps : NULL,
                                       run->has_names ? &run->names : NULL, &scene, v->err);
    FILE *file = status == NPU_OK ? npu_out_file(out, "merged_swimlane.json", v->err) : NULL;
    if (status == NPU_OK)
        status = file != NULL ? npu_perfetto_write(file, &scene.trace, &scene.graph,
                                                   run->capture.level, v->err)
                              : NPU_IO;
    if (status == NPU_OK && v->report != NULL && scene.clamped > 0)
        fprintf(v->report, "  %d stamps that went backwards are drawn without width\n",
                scene.clamped);
    npu_scene_free(&scene);
    return status;
}

// ---- the report ----------------------------------------------------------------------------

static void report_span(FILE *out, const npu_capture *c) {
    int64_t first = INT64_MAX, last = 0;
    char text[32];
    for (int i = 0; i < c->core_row_count; i++) {
        const npu_core_row *row = &c->core_rows[i];
        const npu_cpu_row *mate = row->mate >= 0 ? &c->cpu_rows[row->mate] : NULL;
        int64_t from = mate != NULL ? mate->dispatch : row->start - row->setup;
        int64_t to = mate != NULL ? mate->finish : row->end;
        if (row->start == 0)
            continue;
        first = from < first ? from : first;
        last = to > last ? to : last;
    }
    if (last > first)
        fprintf(out, "; first dispatch to last finish %s",
                npu_show_time((double)(last - first) * 1e9 / (double)c->clock_hz, text,
                              (int)sizeof text));
}

static void report_graph(FILE *out, const npu_deps *deps) {
    int allocations = 0;
    for (int i = 0; i < deps->edge_count; i++)
        allocations += deps->edges[i].pred_task < 0;
    fprintf(out, "  graph: %d tasks, %d edges, of these %d from allocations\n", deps->task_count,
            deps->edge_count, allocations);
}

static void report_scope(FILE *out, const npu_scope_stats *scope) {
    for (int ring = 0; ring < NPU_RINGS; ring++) {
        npu_scope_peak peak = npu_scope_peak_of(scope, ring);
        char heap[32];
        if (peak.tasks > 0 || peak.heap > 0)
            fprintf(out, "  ring %d: at most %lld tasks, %s of heap, %lld dependencies\n", ring,
                    (long long)peak.tasks, npu_show_bytes((double)peak.heap, heap, sizeof heap),
                    (long long)peak.deps);
    }
}

static void report_run(FILE *out, const npu_capture_files *files, const npu_run_files *run) {
    const npu_capture *c = &run->capture;
    const char *path = files->records != NULL ? files->records : files->merged;
    fprintf(out, "%s: %s, level %d, %d cores, %s\n", path, npu_generation_names[c->generation],
            c->level, c->core_count, c->runtime);
    fprintf(out, "  %d rows, %d scheduler records, %d orchestrator calls", c->core_row_count,
            c->record_count, c->call_count);
    report_span(out, c);
    fprintf(out, "\n");
    if (c->legacy_records > 0)
        fprintf(out, "  left out: older records without work (scan, poll, idle), %lld\n",
                (long long)c->legacy_records);
    if (c->ignored_keys > 0)
        fprintf(out, "  left out: keys of the file that are not known, %lld\n",
                (long long)c->ignored_keys);
    if (run->has_deps)
        report_graph(out, &run->deps);
    if (run->has_names)
        fprintf(out, "  names: %d functions\n", run->names.count);
    if (run->has_pmu)
        fprintf(out, "  pmu: %d rows, %d counters, event type %d\n", run->pmu.row_count,
                run->pmu.counter_count, run->pmu.row_count > 0 ? run->pmu.rows[0].event_type : 0);
    if (run->has_scope)
        report_scope(out, &run->scope);
}

// ---- one capture ---------------------------------------------------------------------------

static npu_status write_files(converter *v, int i, const npu_run_files *run) {
    const npu_capture_files *files = &v->list.items[i];
    const char *place = npu_arena_printf(&v->list.arena, "%s%s%s", v->options->out,
                                         files->place[0] != '\0' ? "/" : "", files->place);
    if (place == NULL)
        return npu_fail_memory(v->err);
    npu_status status = npu_out_begin(place, &v->outs[i].out, v->err);
    if (status == NPU_OK)
        status = v->to == TO_PERFETTO ? write_perfetto(v, v->outs[i].out, run)
                                      : write_records(v, v->outs[i].out, files, run);
    if (status == NPU_OK && v->report != NULL)
        fprintf(v->report, "  to %s: %s/%s\n", formats[v->to], place,
                v->to == TO_PERFETTO ? "merged_swimlane.json" : "chip_swimlane_records.json");
    return status;
}

static npu_status convert_one(converter *v, int i) {
    npu_run_files run;
    npu_sanity *sanity = calloc(1, sizeof *sanity);
    npu_status status = npu_run_files_read(&v->list.items[i], &run, v->err);
    if (status == NPU_OK && sanity == NULL)
        status = npu_fail_memory(v->err);
    if (status == NPU_OK)
        status = npu_sanity_check(&run.capture, run.has_deps ? &run.deps : NULL, sanity, v->err);
    if (status == NPU_OK && v->report != NULL) {
        report_run(v->report, &v->list.items[i], &run);
        npu_sanity_print(v->report, sanity);
    }
    if (status == NPU_OK && v->to != TO_NOTHING)
        status = write_files(v, i, &run);
    npu_run_files_free(&run);
    free(sanity);
    return status;
}

static npu_status convert_all(converter *v) {
    npu_status status = npu_folder_find(v->options->path, &v->list, v->err);
    v->outs = calloc((size_t)v->list.count + 1, sizeof *v->outs);
    if (status == NPU_OK && v->outs == NULL)
        status = npu_fail_memory(v->err);
    for (int i = 0; i < v->list.count && status == NPU_OK; i++)
        status = convert_one(v, i);
    for (int i = 0; i < v->list.count && v->outs != NULL; i++) {
        if (status == NPU_OK && v->outs[i].out != NULL)
            status = npu_out_commit(v->outs[i].out, v->err);
        else
            npu_out_discard(v->outs[i].out);
    }
    free(v->outs);
    npu_folder_free(&v->list);
    return status;
}

// ---- in-core traces ------------------------------------------------------------------------

static bool is_incore(const char *path) {
    static const char *const tails[] = {"_trace.json", "trace.clean.json"};
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        size_t length = strlen(path), tail = strlen(tails[i]);
        if (length >= tail && strcmp(path + length - tail, tails[i]) == 0)
            return true;
    }
    return false;
}

static npu_status report_incore(const char *path, FILE *out, npu_error *err) {
    npu_incore incore;
    char text[32];
    npu_status status = npu_incore_read(path, &incore, err);
    int64_t span = status == NPU_OK ? npu_incore_span(&incore) : 0;
    if (status == NPU_OK && out != NULL) {
        fprintf(out, "%s: in-core trace, %d slices, %lld arrows, %lld ends without the other, %s\n",
                path, incore.slice_count, (long long)incore.arrows, (long long)incore.unpaired,
                npu_show_time((double)span / 1e3, text, (int)sizeof text));
        for (int lane = 0; lane < incore.lane_count; lane++) {
            int64_t busy = npu_incore_busy(&incore, lane);
            fprintf(out, "  %-20s %-8s busy %s, %.1f %%\n", incore.lanes[lane].core,
                    incore.lanes[lane].pipe,
                    npu_show_time((double)busy / 1e3, text, (int)sizeof text),
                    span > 0 ? 100.0 * (double)busy / (double)span : 0.0);
        }
    }
    npu_incore_free(&incore);
    return status;
}

// --------------------------------------------------------------------------------------------

npu_status npusim_convert(const npusim_convert_options *options, FILE *report, npu_error *err) {
    converter v = {.options = options, .to = TO_NOTHING, .report = report, .err = err};
    if (options->to != NULL)
        for (v.to = 0; formats[v.to] != NULL && strcmp(formats[v.to], options->to) != 0;)
            v.to++;
    if (options->to != NULL && formats[v.to] == NULL)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0},
                        "a capture is converted to g1, g2, g3 or perfetto, not to '%.40s'",
                        options->to);
    if (options->to != NULL && options->out == NULL)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "there is no folder to write to");
    if (!is_incore(options->path))
        return convert_all(&v);
    if (options->to != NULL)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){.file = options->path},
                        "is an in-core trace, which can be opened as it is and is no swimlane");
    return report_incore(options->path, report, err);
}
