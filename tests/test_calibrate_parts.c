// SPDX-License-Identifier: Apache-2.0
// What a calibration is made of: values a field may take, die files, paths.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "diefile.h"
#include "paths.h"

#define DIES NPUSIM_SOURCE "/configs/die"

static void read_params(const char *fit, npu_params *params) {
    npu_die die;
    npu_error err = {{0}};
    assert_int_equal(npu_die_load(DIES, "A3", &die, &err), NPU_OK);
    npu_status status = npu_params_read(&die, &fit, 1, NULL, 0, params, &err);
    if (status)
        print_error("%s\n", err.text);
    assert_int_equal(status, NPU_OK);
    npu_die_free(&die);
}

static void bounds_follow_the_rule_of_the_field(void **state) {
    (void)state;
    npu_params params;
    read_params("l2.line,hbm.efficiency,clusters,aicpu.schedulers,mte.issue", &params);
    assert_int_equal(params.count, 5);
    for (int i = 0; i < params.count; i++) {
        const npu_param *p = &params.list[i];
        assert_true(i == 0 || params.list[i - 1].field < p->field);
        assert_true(p->low < p->before && p->before < p->high);
        assert_true(p->low >= p->least && p->high <= p->most);
        if (strcmp(p->name, "clusters") == 0)
            assert_true(p->low == 8 && p->high == 64);
        if (strcmp(p->name, "aicpu.schedulers") == 0)
            assert_true(p->low == 1 && p->high == 8);
        if (strcmp(p->name, "hbm.efficiency") == 0)
            assert_true(p->high == 1);
    }
}

static void values_stay_on_the_grid(void **state) {
    (void)state;
    npu_param whole = {.grid = NPU_GRID_WHOLE, .least = 1, .most = 64, .low = 2, .high = 9};
    npu_param power = {.grid = NPU_GRID_POWER, .least = 32, .most = 65536, .low = 64, .high = 512};
    npu_param any = {.least = 0, .most = 1e15, .before = 2.123456, .low = 1, .high = 4};
    assert_true(npu_param_fit(&whole, 3.4) == 3);
    assert_true(npu_param_fit(&whole, 30) == 9);
    assert_true(npu_param_round(&whole, 30) == 30);
    assert_true(npu_param_step(&whole, 4, 1.1) == 5);
    assert_true(npu_param_step(&whole, 1, 0.9) == 1); // there is nothing below
    assert_true(npu_param_fit(&power, 200) == 256);
    assert_true(npu_param_step(&power, 128, 0.9) == 64);
    assert_true(npu_param_fit(&any, 2.123456) == 2.123456); // as it was
    assert_true(npu_param_fit(&any, 2.123457) == 2.123);
    assert_true(npu_param_fit(&any, 4.2) == 4);
}

static void sections_are_opened_once(void **state) {
    (void)state;
    npu_params params;
    npu_die_entry entries[8];
    char text[2048] = "";
    read_params("vector.ops.add.startup,vector.bytes,vector.ops.add.per_repeat,clock,l2.line,"
                "vector.ops.mul.startup",
                &params);
    for (int i = 0; i < params.count; i++)
        entries[i] = (npu_die_entry){.param = &params.list[i], .value = 64 + i};
    entries[0].confidence = "low";
    entries[0].source = "a \"b\"";
    FILE *file = fmemopen(text, sizeof text, "w");
    assert_non_null(file);
    npu_diefile_write(file, "A3.yaml", "x", entries, params.count);
    fclose(file);
    assert_string_equal(text, "extends: \"A3.yaml\"\nname: \"x\"\n"
                              "clock: [64GHz, low, \"a \\\"b\\\"\"]\n"
                              "vector:\n"
                              "  bytes: 65B\n"
                              "  ops:\n"
                              "    add:\n"
                              "      startup: 66cyc\n"
                              "      per_repeat: 67cyc\n"
                              "    mul:\n"
                              "      startup: 68cyc\n"
                              "l2:\n"
                              "  line: 69B\n");
}

static void check_path(const char *from, const char *to, const char *expected) {
    char *path = npu_path_between(from, to);
    assert_non_null(path);
    assert_string_equal(path, expected);
    free(path);
}

static void paths_between_files(void **state) {
    (void)state;
    assert_int_equal(chdir(NPUSIM_SOURCE), 0);
    check_path("configs/die/new.yaml", "configs/die/A3.yaml", "A3.yaml");
    check_path("new.yaml", "configs/die/A3.yaml", "configs/die/A3.yaml");
    check_path("configs/kernels/x.yaml", "configs/die/A3.yaml", "../die/A3.yaml");
    check_path("tests/data/x.yaml", "configs/die/A3.yaml", "../../configs/die/A3.yaml");
    check_path("configs/die/x.yaml", "README.md", "../../README.md");
    char from_root[sizeof NPUSIM_SOURCE + 32];
    snprintf(from_root, sizeof from_root, "%s/README.md", NPUSIM_SOURCE + 1);
    check_path("/x.yaml", "README.md", from_root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_follow_the_rule_of_the_field),
        cmocka_unit_test(values_stay_on_the_grid),
        cmocka_unit_test(sections_are_opened_once),
        cmocka_unit_test(paths_between_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
