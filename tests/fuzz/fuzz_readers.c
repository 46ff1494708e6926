// SPDX-License-Identifier: Apache-2.0
// What any bytes do to the readers of captures. Built by clang with libFuzzer, one program per
// reader (tests/fuzz.cmake); the same function replays the kept corpus in CTest, built by any
// compiler. What was read is checked, drawn and written too, as far as it was accepted.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deps.h"
#include "incore.h"
#include "merged.h"
#include "names.h"
#include "perfetto.h"
#include "pmu.h"
#include "records.h"
#include "sanity.h"
#include "scene.h"
#include "scope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static FILE *nowhere; // what is written goes there

// Everything that is done with a capture. Two conversions must agree.
static void use_capture(const npu_capture *capture, const npu_deps *deps,
                        const npu_name_map *names) {
    npu_sanity sanity;
    npu_scene scene;
    npu_error err = {{0}};
    if (npu_sanity_check(capture, deps, &sanity, &err) != NPU_OK)
        abort();
    for (int g = NPU_G1; g <= NPU_G3; g++)
        npu_records_write(nowhere, capture, (npu_generation)g, &err);
    if (npu_scene_make(capture, deps, names, &scene, &err) == NPU_OK)
        npu_perfetto_write(nowhere, &scene.trace, &scene.graph, capture->level, &err);
    npu_scene_free(&scene);
}

static npu_status try_records(npu_json *json, npu_error *err) {
    npu_capture capture;
    npu_status status = npu_records_read_json(json, "fuzz", &capture, err);
    if (status == NPU_OK)
        use_capture(&capture, NULL, NULL);
    npu_capture_free(&capture);
    return status;
}

static npu_status try_merged(npu_json *json, npu_error *err) {
    npu_capture capture;
    npu_deps deps;
    npu_name_map names;
    npu_status status = npu_merged_read_json(json, "fuzz", &capture, &deps, &names, err);
    if (status == NPU_OK)
        use_capture(&capture, &deps, &names);
    npu_capture_free(&capture);
    npu_deps_free(&deps);
    npu_name_map_free(&names);
    return status;
}

static npu_status try_deps(npu_json *json, npu_error *err) {
    npu_deps deps;
    npu_capture capture;
    npu_status status = npu_deps_read_json(json, &deps, err);
    npu_error own = {{0}};
    if (npu_capture_begin(&capture, "fuzz", &own) != NPU_OK ||
        npu_capture_cores(&capture, 3, &own) != NPU_OK)
        abort();
    capture.clock_hz = 50000000;
    capture.level = 1;
    if (status == NPU_OK)
        use_capture(&capture, &deps, NULL);
    npu_capture_free(&capture);
    npu_deps_free(&deps);
    return status;
}

static npu_status try_names(npu_json *json, npu_error *err) {
    npu_name_map names;
    npu_status status = npu_name_map_read_json(json, &names, err);
    npu_name_map_free(&names);
    return status;
}

static npu_status try_scope(npu_json *json, npu_error *err) {
    npu_scope_stats stats;
    npu_status status = npu_scope_read_json(json, &stats, err);
    for (int ring = 0; ring < NPU_RINGS; ring++)
        npu_scope_peak_of(&stats, ring);
    npu_scope_free(&stats);
    return status;
}

static npu_status try_incore(npu_json *json, npu_error *err) {
    npu_incore incore;
    npu_status status = npu_incore_read_json(json, &incore, err);
    for (int lane = 0; lane < incore.lane_count && lane < 4; lane++)
        npu_incore_busy(&incore, lane);
    npu_incore_free(&incore);
    return status;
}

static npu_status try_pmu(FILE *file, npu_error *err) {
    npu_pmu pmu;
    npu_status status = npu_pmu_read_stream(file, "fuzz", &pmu, err);
    npu_pmu_free(&pmu);
    return status;
}

static const struct {
    const char *name;
    npu_json_form form;
    npu_status (*try)(npu_json *json, npu_error *err); // NULL: pmu.csv
} readers[] = {
    {"records", NPU_JSON_ONE, try_records},
    {"merged", NPU_JSON_ONE, try_merged},
    {"deps", NPU_JSON_ONE, try_deps},
    {"names", NPU_JSON_ONE, try_names},
    {"scope", NPU_JSON_LINES, try_scope},
    {"incore", NPU_JSON_ONE, try_incore},
    {"pmu", NPU_JSON_ONE, NULL},
};
enum { READERS = sizeof readers / sizeof *readers };

// An error is one line, and only bad input and lack of memory can be one.
static void check(npu_status status, const npu_error *err) {
    if (status != NPU_OK && status != NPU_BAD_INPUT && status != NPU_NO_MEMORY)
        abort();
    if ((status != NPU_OK) != (err->text[0] != '\0') || strchr(err->text, '\n') != NULL)
        abort();
}

static void read_all(int reader, FILE *file) {
    npu_error err = {{0}};
    npu_json *json = NULL;
    if (nowhere == NULL && (nowhere = fopen("/dev/null", "w")) == NULL)
        abort();
    if (readers[reader].try == NULL) {
        check(try_pmu(file, &err), &err);
        return;
    }
    if (npu_json_open_stream(file, "fuzz", readers[reader].form, &json, &err) != NPU_OK)
        abort();
    check(readers[reader].try(json, &err), &err);
    npu_json_close(json);
}

static void try_reader(int reader, const uint8_t *data, size_t size) {
    char *copy = malloc(size + 1);
    if (copy == NULL)
        return;
    memcpy(copy, data, size);
    FILE *file = size > 0 ? fmemopen(copy, size, "rb") : NULL;
    if (file != NULL)
        read_all(reader, file);
    free(copy);
}

#ifdef FUZZ_READER
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    try_reader(FUZZ_READER, data, size);
    return 0;
}
#else
// Every file of the corpus by every reader: fuzz_corpus FILE...
int main(int argc, char **argv) {
    static uint8_t data[1 << 20];
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (file == NULL) {
            fprintf(stderr, "cannot read %s\n", argv[i]);
            return 1;
        }
        size_t size = fread(data, 1, sizeof data, file);
        fclose(file);
        for (int reader = 0; reader < READERS; reader++)
            try_reader(reader, data, size);
    }
    if (nowhere != NULL)
        fclose(nowhere);
    return argc > 1 ? 0 : 1;
}
#endif
