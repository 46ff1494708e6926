// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "units.h"

static const npu_pos here = {"d.yaml", 3, 7};

// Compares for equality of doubles: a unit must not cost a rounding.
static void assert_gives(const char *text, npu_unit unit, double expected) {
    double value = -1.0;
    npu_error err = {0};
    npu_status status = npu_unit_parse(text, unit, here, "value", &value, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, NPU_OK);
    if (value != expected)
        fail_msg("'%s' gives %.17g, not %.17g", text, value, expected);
}

static void assert_refused(const char *text, npu_unit unit, const char *what, const char *message) {
    double value = -1.0;
    npu_error err = {0};
    assert_int_equal(npu_unit_parse(text, unit, here, what, &value, &err), NPU_BAD_INPUT);
    assert_string_equal(err.text, message);
    assert_true(value == -1.0);
}

static void plain_numbers_have_no_unit(void **state) {
    (void)state;
    assert_gives("24", NPU_UNIT_NONE, 24.0);
    assert_gives("0.85", NPU_UNIT_NONE, 0.85);
    assert_gives(".5", NPU_UNIT_NONE, 0.5);
    assert_gives("1.5e3", NPU_UNIT_NONE, 1500.0);
    assert_gives("2E-2", NPU_UNIT_NONE, 0.02);
    assert_gives("0", NPU_UNIT_NONE, 0.0);
}

static void percentages_become_fractions(void **state) {
    (void)state;
    assert_gives("85%", NPU_UNIT_PERCENT, 0.85);
    assert_gives("57 %", NPU_UNIT_PERCENT, 0.57);
    assert_gives("100%", NPU_UNIT_PERCENT, 1.0);
}

static void sizes_become_bytes(void **state) {
    (void)state;
    assert_gives("192MiB", NPU_UNIT_BYTES, 201326592.0); // 192 * 1048576
    assert_gives("0.5KiB", NPU_UNIT_BYTES, 512.0);
    assert_gives("64 GiB", NPU_UNIT_BYTES, 68719476736.0); // 64 * 1073741824
    assert_gives("512B", NPU_UNIT_BYTES, 512.0);
    assert_gives("1.001KB", NPU_UNIT_BYTES, 1001.0);
    assert_gives("2MB", NPU_UNIT_BYTES, 2e6);
    assert_gives("3GB", NPU_UNIT_BYTES, 3e9);
}

static void rates_become_bytes_per_nanosecond(void **state) {
    (void)state;
    assert_gives("1.76TB/s", NPU_UNIT_RATE, 1760.0);
    assert_gives("1.001TB/s", NPU_UNIT_RATE, 1001.0); // 1.001 * 1000 would be 1000.9999999999999
    assert_gives("1.6e0 TB/s", NPU_UNIT_RATE, 1600.0);
    assert_gives("392GB/s", NPU_UNIT_RATE, 392.0);
    assert_gives("100MB/s", NPU_UNIT_RATE, 0.1);
    assert_gives("3KB/s", NPU_UNIT_RATE, 3e-6);
    assert_gives("7B/s", NPU_UNIT_RATE, 7e-9);
    assert_gives("1GiB/s", NPU_UNIT_RATE, 1.073741824);
    assert_gives("1TiB/s", NPU_UNIT_RATE, 1099.511627776);
    assert_gives("1MiB/s", NPU_UNIT_RATE, 0.001048576);
    assert_gives("1KiB/s", NPU_UNIT_RATE, 1.024e-6);
}

static void times_become_nanoseconds(void **state) {
    (void)state;
    assert_gives("140ns", NPU_UNIT_TIME, 140.0);
    assert_gives("1.1us", NPU_UNIT_TIME, 1100.0);
    assert_gives("2.3ms", NPU_UNIT_TIME, 2300000.0);
    assert_gives("1s", NPU_UNIT_TIME, 1e9);
}

static void frequencies_become_cycles_per_nanosecond(void **state) {
    (void)state;
    assert_gives("1.85GHz", NPU_UNIT_FREQUENCY, 1.85);
    assert_gives("1850MHz", NPU_UNIT_FREQUENCY, 1.85);
    assert_gives("50kHz", NPU_UNIT_FREQUENCY, 5e-5);
    assert_gives("1Hz", NPU_UNIT_FREQUENCY, 1e-9);
}

static void per_cycle_units_keep_their_number(void **state) {
    (void)state;
    assert_gives("12cyc", NPU_UNIT_CYCLES, 12.0);
    assert_gives("128B/cyc", NPU_UNIT_PER_CYCLE, 128.0);
    assert_gives("4096 MAC/cyc", NPU_UNIT_MACS, 4096.0);
}

static void a_missing_or_wrong_unit_names_those_that_fit(void **state) {
    (void)state;
    assert_refused("1.6TB", NPU_UNIT_RATE, "rate",
                   "d.yaml:3:7: rate must be a number with B/s, KB/s, MB/s, GB/s, TB/s, KiB/s, "
                   "MiB/s, GiB/s or TiB/s (for example 1.6TB/s), not '1.6TB'");
    assert_refused("85", NPU_UNIT_PERCENT, "share",
                   "d.yaml:3:7: share must be a number with % (for example 85%), not '85'");
    assert_refused("24B", NPU_UNIT_NONE, "cores",
                   "d.yaml:3:7: cores must be a number (for example 24), not '24B'");
    assert_refused("192", NPU_UNIT_BYTES, "size",
                   "d.yaml:3:7: size must be a number with B, KB, MB, GB, KiB, MiB or GiB (for "
                   "example 192MiB), not '192'");
    assert_refused("1min", NPU_UNIT_TIME, "latency",
                   "d.yaml:3:7: latency must be a number with ns, us, ms or s (for example "
                   "140ns), not '1min'");
    assert_refused("2ghz", NPU_UNIT_FREQUENCY, "clock",
                   "d.yaml:3:7: clock must be a number with Hz, kHz, MHz or GHz (for example "
                   "1.85GHz), not '2ghz'");
    assert_refused("3", NPU_UNIT_CYCLES, "x",
                   "d.yaml:3:7: x must be a number with cyc (for example 12cyc), not '3'");
    assert_refused("3B", NPU_UNIT_PER_CYCLE, "x",
                   "d.yaml:3:7: x must be a number with B/cyc (for example 128B/cyc), not '3B'");
    assert_refused("3MAC", NPU_UNIT_MACS, "x",
                   "d.yaml:3:7: x must be a number with MAC/cyc (for example 4096MAC/cyc), not "
                   "'3MAC'");
}

static void what_only_strtod_takes_for_a_number_is_refused(void **state) {
    static const char *const texts[] = {"0x1p3", "inf",  "nan", "infinity", "+1", " 1",
                                        "1 ",    "1e",   "1e+", ".",        "",   "e3",
                                        "-",     "-inf", "1,5", "1.2.3",    "--1"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char message[128];
        snprintf(message, sizeof message,
                 "d.yaml:3:7: x must be a number (for example 24), not '%s'", texts[i]);
        assert_refused(texts[i], NPU_UNIT_NONE, "x", message);
    }
}

static void negative_numbers_are_refused(void **state) {
    (void)state;
    assert_refused("-1GB/s", NPU_UNIT_RATE, "rate",
                   "d.yaml:3:7: rate must not be negative, but is '-1GB/s'");
    assert_refused("-0", NPU_UNIT_NONE, "x", "d.yaml:3:7: x must not be negative, but is '-0'");
}

static void numbers_a_double_cannot_hold_are_refused(void **state) {
    (void)state;
    assert_refused("1e309", NPU_UNIT_NONE, "x", "d.yaml:3:7: x is out of range: '1e309'");
    assert_refused("1e306ms", NPU_UNIT_TIME, "x", "d.yaml:3:7: x is out of range: '1e306ms'");
    assert_refused("1e300GiB", NPU_UNIT_BYTES, "x", "d.yaml:3:7: x is out of range: '1e300GiB'");
    assert_refused("1e-400", NPU_UNIT_NONE, "x", "d.yaml:3:7: x is out of range: '1e-400'");
    assert_refused("1e99999999999999999999", NPU_UNIT_NONE, "x",
                   "d.yaml:3:7: x is out of range: '1e99999999999999999999'");
    char digits[600];
    memset(digits, '1', sizeof digits);
    digits[sizeof digits - 1] = '\0';
    assert_refused(digits, NPU_UNIT_NONE, "x", "d.yaml:3:7: x has too many digits");
}

static void assert_shows(const char *(*show)(double, char *, int), double value,
                         const char *expected) {
    char buf[64];
    assert_string_equal(show(value, buf, sizeof buf), expected);
}

static void bytes_are_shown_in_powers_of_1000(void **state) {
    (void)state;
    assert_shows(npu_show_bytes, 0.0, "0 B");
    assert_shows(npu_show_bytes, 512.0, "512 B");
    assert_shows(npu_show_bytes, 1000.0, "1.00 KB");
    assert_shows(npu_show_bytes, 148540000.0, "148.54 MB");
    assert_shows(npu_show_bytes, 3e18, "3000.00 PB");
}

static void a_figure_never_rounds_up_to_1000_of_its_unit(void **state) {
    (void)state;
    assert_shows(npu_show_bytes, 999.6, "1.00 KB");
    assert_shows(npu_show_bytes, 999996.0, "1.00 MB");
    assert_shows(npu_show_bytes, 999990.0, "999.99 KB");
    assert_shows(npu_show_time, 999.96, "1.0 us");
}

static void rates_and_times_are_shown_with_their_unit(void **state) {
    (void)state;
    assert_shows(npu_show_rate, 1760.0, "1.76 TB/s");
    assert_shows(npu_show_rate, 0.25, "250.00 MB/s");
    assert_shows(npu_show_time, 140.0, "140.0 ns");
    assert_shows(npu_show_time, 412300.0, "412.3 us");
    assert_shows(npu_show_time, 2.5e6, "2.5 ms");
    assert_shows(npu_show_time, 7.2e12, "7200.0 s");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_numbers_have_no_unit),
        cmocka_unit_test(percentages_become_fractions),
        cmocka_unit_test(sizes_become_bytes),
        cmocka_unit_test(rates_become_bytes_per_nanosecond),
        cmocka_unit_test(times_become_nanoseconds),
        cmocka_unit_test(frequencies_become_cycles_per_nanosecond),
        cmocka_unit_test(per_cycle_units_keep_their_number),
        cmocka_unit_test(a_missing_or_wrong_unit_names_those_that_fit),
        cmocka_unit_test(what_only_strtod_takes_for_a_number_is_refused),
        cmocka_unit_test(negative_numbers_are_refused),
        cmocka_unit_test(numbers_a_double_cannot_hold_are_refused),
        cmocka_unit_test(bytes_are_shown_in_powers_of_1000),
        cmocka_unit_test(a_figure_never_rounds_up_to_1000_of_its_unit),
        cmocka_unit_test(rates_and_times_are_shown_with_their_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
