// SPDX-License-Identifier: Apache-2.0
// Simulated times are exact: tests/baseline.txt holds, for each case, the makespan and a hash
// over all stamps of all rows, and they must come out again bit by bit, whatever the build type.
// After a change of the model that is meant, write the new ones: test_baseline --write.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "die.h"
#include "simulate.h"

#define BASELINE NPUSIM_SOURCE "/tests/baseline.txt"

typedef struct run_case {
    const char *graph; // below the sources
    const char *die;
    const char *sets[5];
    bool warm;
} run_case;

static const run_case cases[] = {
    {"configs/models/deepseek_v4_flash/swa.yaml", "A3", {NULL}, false},
    {"configs/models/deepseek_v4_flash/swa.yaml", "A3", {NULL}, true},
    {"configs/models/deepseek_v4_flash/swa.yaml", "910B3", {NULL}, false},
    {"configs/models/deepseek_v4_flash/swa.yaml", "910B4", {NULL}, false},
    {"configs/models/deepseek_v4_flash/hc_pre.yaml", "A3", {NULL}, false},
    {"configs/models/deepseek_v4_flash/hc_pre.yaml", "A3", {"fused=1"}, false},
    {"configs/models/deepseek_v4_flash/hca.yaml", "A3", {NULL}, false},
    {"configs/models/deepseek_v4_flash/csa.yaml", "A3", {NULL}, false},
    {"configs/models/deepseek_v4_flash/moe.yaml", "A3", {"active=16", "dies=1"}, false},
    {"configs/models/deepseek_v4_flash/tail.yaml", "A3", {"dies=1"}, false},
    {"configs/models/gemm.yaml", "A3", {NULL}, false},
    {"configs/models/gemm.yaml", "A3", {"M=1536", "gm=12", "gn=2", "tk=128"}, false},
    {"configs/selftest/stream.yaml", "A3", {NULL}, false},
    {"configs/selftest/stream.yaml", "910B1", {"aiv=0", "blocks=20", "warm=1"}, false},
    {"configs/selftest/multiply.yaml", "9362", {"count=100"}, false},
    {"configs/selftest/dispatch.yaml", "A3", {"blocks=500"}, false},
    {"tests/data/graphs/layer.yaml", "A3", {"T=8"}, false},
    {"tests/data/graphs/oproj.yaml", "9372", {NULL}, false},
    {"tests/data/graphs/stack.yaml", "910B2", {NULL}, false},
    {"tests/data/graphs/rings.yaml", "A3", {NULL}, false},
    {"configs/models/deepseek_v4_flash/swa.yaml", "A3", {"runtime=host"}, false},
    {"configs/models/deepseek_v4_flash/swa.yaml", "A3", {"policy=idle_first"}, false},
    {"configs/models/deepseek_v4_flash/swa.yaml", "A3", {"policy=least_loaded"}, false},
    {"configs/models/deepseek_v4_flash/swa.yaml", "A3", {"policy=critical_path"}, false},
    {"configs/models/deepseek_v4_flash/swa.yaml", "A3", {"policy=calendar"}, false},
    {"configs/models/deepseek_v4_flash/swa.yaml", "A3", {"waves=true"}, false},
};
enum { CASES = sizeof cases / sizeof *cases };

static void mix(uint64_t *hash, double value) {
    unsigned char bytes[sizeof value];
    memcpy(bytes, &value, sizeof value);
    for (size_t i = 0; i < sizeof bytes; i++)
        *hash = (*hash ^ bytes[i]) * UINT64_C(0x100000001b3);
}

static uint64_t hash_rows(const npu_trace *trace) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < trace->row_count; i++) {
        const npu_row *r = &trace->rows[i];
        const double stamps[] = {r->core,  r->task, r->dispatch, r->receive,
                                 r->start, r->end,  r->finish};
        for (size_t k = 0; k < sizeof stamps / sizeof *stamps; k++)
            mix(&hash, stamps[k]);
        for (int p = 0; p < NPU_PIPE_COUNT; p++)
            mix(&hash, r->busy[p]);
    }
    for (int i = 0; i < trace->phase_count; i++) {
        mix(&hash, trace->phases[i].start);
        mix(&hash, trace->phases[i].end);
    }
    return hash;
}

// "graph die sets l2 | makespan hash"
static npu_status describe(const run_case *c, char *line, int size, npu_error *err) {
    char path[512];
    npu_die die = {0};
    npu_graph graph = {0};
    npu_sim_result result = {0};
    npu_sim_options options = {.engine = NPU_ENGINE_FLUID, .l2_warm = c->warm};
    npu_graph_options loading = {NPUSIM_SOURCE "/configs/kernels", c->sets, 0, 0};
    while (c->sets[loading.set_count] != NULL)
        loading.set_count++;
    snprintf(path, sizeof path, "%s/%s", NPUSIM_SOURCE, c->graph);
    npu_status status = npu_die_load(NPUSIM_SOURCE "/configs/die", c->die, &die, err);
    if (!status)
        status = npu_graph_load(path, &loading, &graph, NULL, err);
    if (!status)
        status = npu_simulate(&graph, &die, &options, &result, err);
    if (!status) {
        int used = snprintf(line, (size_t)size, "%s %s", c->graph, c->die);
        for (int i = 0; i < loading.set_count; i++)
            used += snprintf(line + used, (size_t)(size - used), " %s", c->sets[i]);
        snprintf(line + used, (size_t)(size - used), " %s | %.17g ns, %d rows, %016" PRIx64,
                 c->warm ? "warm" : "cold", result.trace.makespan, result.trace.row_count,
                 hash_rows(&result.trace));
    }
    npu_sim_result_free(&result);
    npu_graph_free(&graph);
    npu_die_free(&die);
    return status;
}

static void every_stamp_comes_out_bit_by_bit(void **state) {
    (void)state;
    FILE *file = fopen(BASELINE, "r");
    assert_non_null(file);
    for (int i = 0; i < CASES; i++) {
        char want[1024] = "", got[1024] = "";
        npu_error err = {{0}};
        assert_non_null(fgets(want, sizeof want, file));
        want[strcspn(want, "\n")] = '\0';
        npu_status status = describe(&cases[i], got, sizeof got, &err);
        if (status)
            print_error("%s\n", err.text);
        assert_int_equal(status, NPU_OK);
        assert_string_equal(got, want);
    }
    fclose(file);
}

static void the_same_run_twice_is_the_same(void **state) {
    (void)state;
    char one[1024] = "1", two[1024] = "2";
    assert_int_equal(describe(&cases[0], one, sizeof one, NULL), NPU_OK);
    assert_int_equal(describe(&cases[0], two, sizeof two, NULL), NPU_OK);
    assert_string_equal(one, two);
}

static int write_baseline(void) {
    FILE *file = fopen(BASELINE, "w");
    npu_error err = {{0}};
    for (int i = 0; i < CASES && file != NULL; i++) {
        char line[1024];
        if (describe(&cases[i], line, sizeof line, &err)) {
            print_error("%s\n", err.text);
            fclose(file);
            return 1;
        }
        fprintf(file, "%s\n", line);
    }
    return file == NULL || fclose(file) != 0;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--write") == 0)
        return write_baseline();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_stamp_comes_out_bit_by_bit),
        cmocka_unit_test(the_same_run_twice_is_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
