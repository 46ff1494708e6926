// SPDX-License-Identifier: Apache-2.0
#include "units.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A unit's factor is 10^ten * 2^two. The power of ten is put into the number's own exponent,
// so that strtod rounds once and 1.001TB/s is the double nearest to 1001; the power of two
// is exact.
typedef struct suffix {
    const char *name;
    int ten;
    int two;
} suffix;

typedef struct unit_rule {
    const char *expected; // what the error asks for
    suffix suffixes[10];  // ended by a NULL name
} unit_rule;

static const unit_rule rules[] = {
    [NPU_UNIT_NONE] = {"a number (for example 24)", {{"", 0, 0}}},
    [NPU_UNIT_PERCENT] = {"a number with % (for example 85%)", {{"%", -2, 0}}},
    [NPU_UNIT_BYTES] = {"a number with B, KB, MB, GB, KiB, MiB or GiB (for example 192MiB)",
                        {{"B", 0, 0},
                         {"KB", 3, 0},
                         {"MB", 6, 0},
                         {"GB", 9, 0},
                         {"KiB", 0, 10},
                         {"MiB", 0, 20},
                         {"GiB", 0, 30}}},
    [NPU_UNIT_RATE] = {"a number with B/s, KB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s or TiB/s "
                       "(for example 1.6TB/s)",
                       {{"B/s", -9, 0},
                        {"KB/s", -6, 0},
                        {"MB/s", -3, 0},
                        {"GB/s", 0, 0},
                        {"TB/s", 3, 0},
                        {"KiB/s", -9, 10},
                        {"MiB/s", -9, 20},
                        {"GiB/s", -9, 30},
                        {"TiB/s", -9, 40}}},
    [NPU_UNIT_TIME] = {"a number with ns, us, ms or s (for example 140ns)",
                       {{"ns", 0, 0}, {"us", 3, 0}, {"ms", 6, 0}, {"s", 9, 0}}},
    [NPU_UNIT_FREQUENCY] = {"a number with Hz, kHz, MHz or GHz (for example 1.85GHz)",
                            {{"Hz", -9, 0}, {"kHz", -6, 0}, {"MHz", -3, 0}, {"GHz", 0, 0}}},
    [NPU_UNIT_CYCLES] = {"a number with cyc (for example 12cyc)", {{"cyc", 0, 0}}},
    [NPU_UNIT_PER_CYCLE] = {"a number with B/cyc (for example 128B/cyc)", {{"B/cyc", 0, 0}}},
    [NPU_UNIT_MACS] = {"a number with MAC/cyc (for example 4096MAC/cyc)", {{"MAC/cyc", 0, 0}}},
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// The end of "12", "1.5" or ".5" at `text`; `text` itself when no digit stands there.
// Scanned by hand because strtod also takes signs, hex floats, inf and nan.
static const char *mantissa_end(const char *text) {
    const char *c = text;
    int digits = 0;
    for (; is_digit(*c); c++)
        digits++;
    if (*c == '.')
        for (c++; is_digit(*c); c++)
            digits++;
    return digits > 0 ? c : text;
}

// Reads "e-3" at *text, when one stands there. Held within bounds that strtod turns into an
// overflow or underflow anyway.
static int read_exponent(const char **text) {
    const char *c = *text;
    if (*c != 'e' && *c != 'E')
        return 0;
    c++;
    bool negative = *c == '-';
    if (*c == '-' || *c == '+')
        c++;
    if (!is_digit(*c))
        return 0;
    int value = 0;
    for (; is_digit(*c); c++)
        if (value < 100000)
            value = 10 * value + (*c - '0');
    *text = c;
    return negative ? -value : value;
}

static const suffix *find_suffix(const unit_rule *rule, const char *name) {
    for (const suffix *s = rule->suffixes; s->name != NULL; s++)
        if (strcmp(s->name, name) == 0)
            return s;
    return NULL;
}

npu_status npu_unit_parse(const char *text, npu_unit unit, npu_pos pos, const char *what,
                          double *value, npu_error *err) {
    assert(text != NULL && what != NULL && value != NULL);
    assert((unsigned)unit < sizeof rules / sizeof *rules);
    const unit_rule *rule = &rules[unit];
    if (text[0] == '-' && mantissa_end(text + 1) != text + 1)
        return npu_fail(err, NPU_BAD_INPUT, pos, "%s must not be negative, but is '%s'", what,
                        text);
    const char *rest = mantissa_end(text);
    size_t length = (size_t)(rest - text);
    int exponent = read_exponent(&rest);
    bool spaced = *rest == ' ';
    while (*rest == ' ')
        rest++;
    const suffix *s = find_suffix(rule, rest);
    // A space may only stand before a unit.
    if (length == 0 || s == NULL || (spaced && *rest == '\0'))
        return npu_fail(err, NPU_BAD_INPUT, pos, "%s must be %s, not '%s'", what, rule->expected,
                        text);
    char number[512];
    if (length > sizeof number - 32)
        return npu_fail(err, NPU_BAD_INPUT, pos, "%s has too many digits", what);
    snprintf(number, sizeof number, "%.*se%d", (int)length, text, exponent + s->ten);
    errno = 0;
    double scaled = strtod(number, NULL);
    bool in_range = errno != ERANGE;
    scaled = ldexp(scaled, s->two);
    if (!in_range || !isfinite(scaled))
        return npu_fail(err, NPU_BAD_INPUT, pos, "%s is out of range: '%s'", what, text);
    assert(scaled >= 0.0);
    *value = scaled;
    return NPU_OK;
}

// `value` in the largest of `count` units (each 1000 times the one before) in which it is at
// least 1 as printed: 999999 bytes are "1.00 MB" and not "1000.00 KB". `first` is the number
// of decimals in the first unit.
static const char *show_scaled(double value, const char *const *units, int count, int first,
                               int decimals, char *buf, int size) {
    assert(buf != NULL && size > 0 && count > 0);
    double step = 1.0;
    int places = first;
    int i = 0;
    while (i + 1 < count && fabs(value / step) >= 1000.0 - 0.5 * pow(10.0, -places)) {
        step *= 1000.0;
        places = decimals;
        i++;
    }
    snprintf(buf, (size_t)size, "%.*f %s", places, value / step, units[i]);
    return buf;
}

const char *npu_show_bytes(double bytes, char *buf, int size) {
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB"};
    return show_scaled(bytes, units, 6, 0, 2, buf, size);
}

const char *npu_show_rate(double bytes_per_ns, char *buf, int size) {
    static const char *const units[] = {"B/s", "KB/s", "MB/s", "GB/s", "TB/s", "PB/s"};
    return show_scaled(bytes_per_ns * 1e9, units, 6, 2, 2, buf, size);
}

const char *npu_show_time(double ns, char *buf, int size) {
    static const char *const units[] = {"ns", "us", "ms", "s"};
    return show_scaled(ns, units, 4, 1, 1, buf, size);
}

npu_shown npu_shown_bytes(double bytes) {
    npu_shown f = {{0}};
    npu_show_bytes(bytes, f.text, (int)sizeof f.text);
    return f;
}

npu_shown npu_shown_rate(double bytes_per_ns) {
    npu_shown f = {{0}};
    npu_show_rate(bytes_per_ns, f.text, (int)sizeof f.text);
    return f;
}

npu_shown npu_shown_time(double ns) {
    npu_shown f = {{0}};
    npu_show_time(ns, f.text, (int)sizeof f.text);
    return f;
}
