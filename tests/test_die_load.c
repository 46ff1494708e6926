// SPDX-License-Identifier: Apache-2.0
// Die files: what is read from where, and every way to get one wrong.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "die.h"

#define BASE "extends: " NPUSIM_SOURCE "/configs/die/A3.yaml\nname: T\n"

static char folder[64];

static void write_file(const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void remove_file(const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}

// Every '@' of `text` stands for the folder.
static void with_folder(const char *text, char *buf, size_t size) {
    size_t used = 0;
    for (; *text != '\0' && used + sizeof folder < size; text++) {
        if (*text == '@')
            used += (size_t)snprintf(buf + used, size - used, "%s", folder);
        else
            buf[used++] = *text;
    }
    buf[used] = '\0';
}

static void assert_refused(const char *name, npu_status expected, const char *message) {
    npu_die die;
    npu_error err = {0};
    char full[1024];
    with_folder(message, full, sizeof full);
    npu_status status = npu_die_load(folder, name, &die, &err);
    assert_string_equal(err.text, full);
    assert_int_equal(status, expected);
    assert_null(die.name);
    assert_null(die.arena.chunks);
}

// Loads `text` as the die T.
static void assert_bad(const char *text, const char *message) {
    write_file("T.yaml", text);
    assert_refused("T", NPU_BAD_INPUT, message);
    remove_file("T.yaml");
}

static npu_die load_text(const char *text) {
    npu_die die;
    npu_error err = {0};
    write_file("T.yaml", text);
    npu_status status = npu_die_load(folder, "T", &die, &err);
    remove_file("T.yaml");
    assert_string_equal(err.text, "");
    assert_int_equal(status, NPU_OK);
    return die;
}

static const npu_die_note *note_of(const npu_die *die, const char *field) {
    int i = npu_die_field_find(field);
    assert_true(i >= 0);
    return &die->notes[i];
}

static void own_values_win_over_what_is_extended(void **state) {
    (void)state;
    npu_die die = load_text(BASE "clock: 2GHz\n"
                                 "l2: { read: [6TB/s, low, \"a guess\"] }\n"
                                 "hbm: { note: [medium, \"my die\"], rate: 2 TB/s }\n"
                                 "vector: { ops: { add: { startup: 30cyc, "
                                 "note: [high, \"measured\"] } } }\n");
    assert_string_equal(die.name, "T");
    assert_true(die.clock == 2.0);
    assert_int_equal(note_of(&die, "clock")->confidence, NPU_UNSURE);
    assert_null(note_of(&die, "clock")->source);
    assert_true(die.l2.read == 6000.0);
    assert_int_equal(note_of(&die, "l2.read")->confidence, NPU_LOW);
    assert_string_equal(note_of(&die, "l2.read")->source, "a guess");
    assert_int_equal(note_of(&die, "l2.read")->pos.line, 4);
    assert_true(die.hbm.rate == 2000.0);
    assert_int_equal(note_of(&die, "hbm.rate")->confidence, NPU_MEDIUM);
    assert_string_equal(note_of(&die, "hbm.rate")->source, "my die");
    assert_true(die.vector.ops[NPU_VEC_ADD].startup == 30.0);
    assert_int_equal(note_of(&die, "vector.ops.add.startup")->confidence, NPU_HIGH);
    // What T does not give is as it was, its source too.
    assert_true(die.clusters == 24.0);
    assert_true(die.vector.ops[NPU_VEC_ADD].per_repeat == 1.0);
    assert_true(strstr(note_of(&die, "hbm.size")->source, "memory_size") != NULL);
    npu_die_free(&die);
}

static void a_die_is_loaded_by_path_too(void **state) {
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/other.yaml", folder);
    write_file("other.yaml", BASE);
    npu_die die;
    npu_error err = {0};
    assert_int_equal(npu_die_load("/nowhere", path, &die, &err), NPU_OK);
    assert_string_equal(die.path, path);
    npu_die_free(&die);
    remove_file("other.yaml");
    assert_refused("/nowhere/x.yaml", NPU_IO,
                   "cannot read /nowhere/x.yaml: No such file or directory");
}

static void unknown_dies_name_the_nearest(void **state) {
    (void)state;
    assert_refused("A4", NPU_BAD_INPUT, "no die 'A4' in @");
    write_file("B2.yaml", "name: B2\n");
    write_file("A3.yaml", "name: A3\n");
    write_file("base.yaml", "clock: 1GHz\n");
    write_file("broken.yaml", "name: [\n");
    write_file("readme.txt", "name: C\n");
    assert_refused("A4", NPU_BAD_INPUT, "no die 'A4' in @; did you mean 'A3'?");
    assert_refused("base1", NPU_BAD_INPUT, "no die 'base1' in @; there are A3, B2, broken");
    assert_refused("", NPU_BAD_INPUT, "no die '' in @; there are A3, B2, broken");
    static const char *const files[] = {"A3.yaml", "B2.yaml", "base.yaml", "broken.yaml",
                                        "readme.txt"};
    for (int i = 0; i < 5; i++)
        remove_file(files[i]);
    npu_die die;
    npu_error err = {0};
    assert_int_equal(npu_die_load("/nowhere", "A3", &die, &err), NPU_IO);
    assert_string_equal(err.text,
                        "cannot read the folder of dies /nowhere: No such file or directory");
}

static void wrong_keys_name_the_nearest(void **state) {
    (void)state;
    assert_bad(BASE "hbn: { rate: 2TB/s }\n",
               "@/T.yaml:3:1: unknown key 'hbn' in a die; did you mean 'hbm'?");
    assert_bad(BASE "extend: x\n",
               "@/T.yaml:3:1: unknown key 'extend' in a die; did you mean 'extends'?");
    assert_bad(BASE "hbm: { rat: 2TB/s }\n",
               "@/T.yaml:3:8: unknown key 'rat' in hbm; did you mean 'rate'?");
    assert_bad(BASE "hbm: { name: x }\n", "@/T.yaml:3:8: unknown key 'name' in hbm");
    assert_bad(BASE "note: [low, x]\n", "@/T.yaml:3:1: unknown key 'note' in a die");
    assert_bad(BASE "hbm.rate: 2TB/s\n", "@/T.yaml:3:1: unknown key 'hbm.rate' in a die");
    assert_bad(BASE "vector: { ops: { ad: { startup: 1cyc } } }\n",
               "@/T.yaml:3:18: unknown key 'ad' in vector.ops; did you mean 'add'?");
    assert_bad(BASE "vector: { ops: { add: { start: 1cyc } } }\n",
               "@/T.yaml:3:25: unknown key 'start' in vector.ops.add");
    assert_bad(BASE "vector: { ops: { add: { per_rov: 1cyc } } }\n",
               "@/T.yaml:3:25: unknown key 'per_rov' in vector.ops.add; did you mean 'per_row'?");
}

static void wrong_shapes_are_refused(void **state) {
    (void)state;
    assert_bad("- a\n", "@/T.yaml:1:1: a die must be a map");
    assert_bad(BASE "hbm: 3\n", "@/T.yaml:3:6: hbm must be a map");
    assert_bad(BASE "vector: { ops: { add: 1cyc } }\n",
               "@/T.yaml:3:23: vector.ops.add must be a map");
    assert_bad(BASE "clock: { value: 1GHz }\n",
               "@/T.yaml:3:8: clock must be a value or [value, high|medium|low, \"source\"]");
    assert_bad(BASE "clock: [1GHz, high]\n",
               "@/T.yaml:3:8: clock must be a value or [value, high|medium|low, \"source\"]");
    assert_bad(BASE "clock: [[1GHz], high, x]\n",
               "@/T.yaml:3:8: clock must be a value or [value, high|medium|low, \"source\"]");
    assert_bad(BASE "clock: [1GHz, hihg, x]\n",
               "@/T.yaml:3:15: unknown confidence 'hihg'; did you mean 'high'?");
    assert_bad(BASE "clock: [1GHz, unsure, x]\n",
               "@/T.yaml:3:15: unknown confidence 'unsure'; there are high, medium, low");
    assert_bad(BASE "clock: [1GHz, high, \"\"]\n",
               "@/T.yaml:3:22: the source of clock must be a text");
    assert_bad(BASE "clock: [1GHz, high, [x]]\n",
               "@/T.yaml:3:21: the source of clock must be a text");
    assert_bad(BASE "hbm: { note: high }\n",
               "@/T.yaml:3:14: hbm.note must be [high|medium|low, \"source\"]");
    assert_bad(BASE "hbm: { note: [hig, x] }\n",
               "@/T.yaml:3:15: unknown confidence 'hig'; did you mean 'high'?");
    assert_bad("extends: " NPUSIM_SOURCE "/configs/die/A3.yaml\n",
               "@/T.yaml:1:1: a die needs the key 'name'");
    assert_bad("name: \"\"\n", "@/T.yaml:1:8: name must not be empty");
    assert_bad("name: [x]\n", "@/T.yaml:1:7: name must be a single value");
}

static void wrong_values_are_refused(void **state) {
    (void)state;
    assert_bad(BASE "clock: 1.85\n", "@/T.yaml:3:8: clock must be a number with Hz, kHz, MHz or "
                                     "GHz (for example 1.85GHz), not '1.85'");
    assert_bad(BASE "hbm: { rate: 1.76TB }\n",
               "@/T.yaml:3:14: hbm.rate must be a number with B/s, KB/s, MB/s, GB/s, TB/s, KiB/s, "
               "MiB/s, GiB/s or TiB/s (for example 1.6TB/s), not '1.76TB'");
    assert_bad(BASE "hbm: { rate: [-1TB/s, low, x] }\n",
               "@/T.yaml:3:15: hbm.rate must not be negative, but is '-1TB/s'");
    assert_bad(BASE "hbm: { rate: 0GB/s }\n",
               "@/T.yaml:3:14: hbm.rate must be above 0, at most 1e15, but is 0TB/s");
    assert_bad(BASE "hbm: { efficiency: 1.2 }\n",
               "@/T.yaml:3:20: hbm.efficiency must be above 0, at most 1, but is 1.2");
    assert_bad(BASE "clusters: 24.5\n",
               "@/T.yaml:3:11: clusters must be a whole number from 1 to 64, but is 24.5");
    assert_bad(BASE "clusters: 65\n",
               "@/T.yaml:3:11: clusters must be a whole number from 1 to 64, but is 65");
    assert_bad(BASE "clusters: 0\n",
               "@/T.yaml:3:11: clusters must be a whole number from 1 to 64, but is 0");
    assert_bad(BASE "aicpu: { schedulers: 9 }\n",
               "@/T.yaml:3:22: aicpu.schedulers must be a whole number from 1 to 8, but is 9");
    assert_bad(BASE "aicpu: { idle: 0ns }\n",
               "@/T.yaml:3:16: aicpu.idle must be above 0, at most 1e15, but is 0ns");
    assert_bad(BASE "l2: { line: 0B }\n",
               "@/T.yaml:3:13: l2.line must be a power of two from 32B to 64KiB, but is 0B");
    assert_bad(BASE "scalar: { op: 1e16cyc }\n",
               "@/T.yaml:3:15: scalar.op must be 0 or more, at most 1e15, but is 1e+16cyc");
    assert_bad(BASE "clock:\n", "@/T.yaml:3:7: clock must be a number with Hz, kHz, MHz or GHz "
                                "(for example 1.85GHz), not ''");
}

static void values_must_fit_together(void **state) {
    (void)state;
    assert_bad(BASE "buffers: { l0a: 1000B }\n",
               "@/T.yaml:3:17: buffers.l0a (1000B) must be a multiple of align.l0a (512B)");
    assert_bad(BASE "l2: { size: 1000B }\n",
               "@/T.yaml:3:13: l2.size (1000B) must be a multiple of l2.line (512B)");
    assert_bad(BASE "l2: { hit_latency: 1us }\n",
               "@/T.yaml:3:20: l2.hit_latency (1us) must be at most l2.miss_latency (230ns)");
    assert_bad(BASE "l2: { line: 500B }\n",
               "@/T.yaml:3:13: l2.line must be a power of two from 32B to 64KiB, but is 500B");
    assert_bad(BASE "l2: { line: 512B, sector: 1KiB }\n",
               "@/T.yaml:3:13: l2.line (512B) must be a multiple of l2.sector (1KiB)");
    assert_bad(BASE "hbm: { crowd_rate: 2TB/s }\n",
               "@/T.yaml:3:20: hbm.crowd_rate (2TB/s) must be at most hbm.rate (1.6TiB/s)");
    assert_bad(BASE "scalar: { queue_depth: 65 }\n",
               "@/T.yaml:3:24: scalar.queue_depth must be a whole number from 1 to 64, but is 65");
    assert_bad(BASE "sdma: { shared: 300GB/s }\n",
               "@/T.yaml:3:17: sdma.shared (300GB/s) must be at most sdma.rate (285GB/s)");
}

static void extending_goes_wrong_in_words(void **state) {
    (void)state;
    write_file("T.yaml", "extends: none.yaml\nname: T\n");
    assert_refused("T", NPU_IO,
                   "@/T.yaml:1:10: cannot extend @/none.yaml: No such file or "
                   "directory");
    assert_bad("extends: [A3]\nname: T\n", "@/T.yaml:1:10: extends must be a single value");
    assert_bad("extends: T.yaml\nname: T\n",
               "@/T.yaml:1:10: extends goes in a circle: @/T.yaml is already being read");
    write_file("U.yaml", "extends: ./T.yaml\n");
    assert_bad("extends: U.yaml\nname: T\n",
               "@/U.yaml:1:10: extends goes in a circle: @/./T.yaml is already being read");
    write_file("U.yaml", "- 1\n");
    assert_bad("extends: U.yaml\nname: T\n", "@/U.yaml:1:1: a die must be a map");
    write_file("U.yaml", "clock: 3\n");
    assert_bad("extends: U.yaml\nname: T\n",
               "@/U.yaml:1:8: clock must be a number with Hz, kHz, MHz or GHz (for example "
               "1.85GHz), not '3'");
    remove_file("U.yaml");
}

// d0 extends d1 ... extends d<depth>, which extends A3.
static void write_chain(int depth) {
    for (int i = 0; i <= depth; i++) {
        char name[32], text[256];
        snprintf(name, sizeof name, "d%d.yaml", i);
        if (i < depth)
            snprintf(text, sizeof text, "extends: d%d.yaml\nname: D\nclock: %dGHz\n", i + 1, i + 1);
        else
            snprintf(text, sizeof text, "%s", BASE);
        write_file(name, text);
    }
}

static void extending_is_eight_deep_at_most(void **state) {
    (void)state;
    write_chain(6); // d0 .. d6, A3, base_220: 8 times extends
    npu_die die;
    npu_error err = {0};
    assert_int_equal(npu_die_load(folder, "d0", &die, &err), NPU_OK);
    assert_true(die.clock == 1.0); // of the file asked for
    npu_die_free(&die);
    write_chain(7);
    assert_refused("d0", NPU_BAD_INPUT,
                   NPUSIM_SOURCE "/configs/die/A3.yaml:3:10: extends is nested deeper than 8 "
                                 "files");
    for (int i = 0; i <= 7; i++) {
        char name[32];
        snprintf(name, sizeof name, "d%d.yaml", i);
        remove_file(name);
    }
}

// A die file with all fields of `die` as text, but for field `without`.
static void write_flat(const npu_die *die, int without) {
    char path[128], open[3][64] = {{0}};
    snprintf(path, sizeof path, "%s/T.yaml", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("name: T\n", file);
    for (int i = 0; i < npu_die_field_count(); i++) {
        char name[64], text[64], *key = name;
        npu_die_field_name(i, name, sizeof name);
        int level = 0;
        for (char *dot; (dot = strchr(key, '.')) != NULL; key = dot + 1, level++) {
            *dot = '\0';
            if (strcmp(open[level], key) != 0) {
                fprintf(file, "%*s%s:\n", 2 * level, "", key);
                snprintf(open[level], sizeof open[level], "%s", key);
                for (int deeper = level + 1; deeper < 3; deeper++)
                    open[deeper][0] = '\0';
            }
        }
        if (i != without)
            fprintf(file, "%*s%s: %s\n", 2 * level, "", key,
                    npu_die_field_text(die, i, text, sizeof text));
    }
    assert_int_equal(fclose(file), 0);
}

static void what_is_printed_reads_back_the_same(void **state) {
    (void)state;
    npu_die die, back;
    npu_error err = {0};
    assert_int_equal(npu_die_load(NPUSIM_SOURCE "/configs/die", "A3", &die, &err), NPU_OK);
    write_flat(&die, -1);
    assert_int_equal(npu_die_load(folder, "T", &back, &err), NPU_OK);
    size_t from = offsetof(npu_die, clock), to = offsetof(npu_die, notes);
    assert_memory_equal((char *)&die + from, (char *)&back + from, to - from);
    npu_die_free(&back);
    npu_die_free(&die);
    remove_file("T.yaml");
}

static void a_die_without_a_field_is_refused(void **state) {
    (void)state;
    npu_die die;
    npu_error err = {0};
    assert_int_equal(npu_die_load(NPUSIM_SOURCE "/configs/die", "A3", &die, &err), NPU_OK);
    for (int i = 0; i < npu_die_field_count(); i++) {
        char name[64], message[128];
        snprintf(message, sizeof message, "@/T.yaml: die T has no %s",
                 npu_die_field_name(i, name, sizeof name));
        write_flat(&die, i);
        assert_refused("T", NPU_BAD_INPUT, message);
    }
    npu_die_free(&die);
    remove_file("T.yaml");
}

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/npusim-test-die-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int drop_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_values_win_over_what_is_extended),
        cmocka_unit_test(a_die_is_loaded_by_path_too),
        cmocka_unit_test(unknown_dies_name_the_nearest),
        cmocka_unit_test(wrong_keys_name_the_nearest),
        cmocka_unit_test(wrong_shapes_are_refused),
        cmocka_unit_test(wrong_values_are_refused),
        cmocka_unit_test(values_must_fit_together),
        cmocka_unit_test(extending_goes_wrong_in_words),
        cmocka_unit_test(extending_is_eight_deep_at_most),
        cmocka_unit_test(what_is_printed_reads_back_the_same),
        cmocka_unit_test(a_die_without_a_field_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
