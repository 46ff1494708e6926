// SPDX-License-Identifier: Apache-2.0
// Numbers with a written unit. A unit is part of a config value, never implied.
#ifndef NPU_UNITS_H
#define NPU_UNITS_H

#include "error.h"

typedef enum npu_unit {
    NPU_UNIT_NONE,      // 24, 0.85
    NPU_UNIT_PERCENT,   // 85% gives 0.85
    NPU_UNIT_BYTES,     // B KiB MiB GiB, KB MB GB (powers of 1000); gives bytes
    NPU_UNIT_RATE,      // B/s KB/s MB/s GB/s TB/s, KiB/s .. TiB/s; gives bytes per ns (= GB/s)
    NPU_UNIT_TIME,      // ns us ms s; gives ns
    NPU_UNIT_FREQUENCY, // Hz kHz MHz GHz; gives cycles per ns (= GHz)
    NPU_UNIT_CYCLES,    // cyc; gives cycles
    NPU_UNIT_PER_CYCLE, // B/cyc; gives bytes per cycle
    NPU_UNIT_MACS,      // MAC/cyc; gives multiply-accumulates per cycle
} npu_unit;

// Parses "1.6TB/s" (a space before the unit is allowed) as `unit`. Errors name the unit
// expected: "rate must be a number with B/s, KB/s, ... (for example 1.6TB/s), not '1.6TB'".
// Negative, infinite and overflowing numbers are errors. `what` names the value.
npu_status npu_unit_parse(const char *text, npu_unit unit, npu_pos pos, const char *what,
                          double *value, npu_error *err);

// Human-readable figures with their unit; each returns buf.
const char *npu_show_bytes(double bytes, char *buf, int size);       // "148.54 MB" (powers of 1000)
const char *npu_show_rate(double bytes_per_ns, char *buf, int size); // "1.76 TB/s"
const char *npu_show_time(double ns, char *buf, int size);           // "412.3 us"

// A figure in text of its own, so that several fit into one printf.
typedef struct npu_shown {
    char text[32];
} npu_shown;
npu_shown npu_shown_bytes(double bytes);
npu_shown npu_shown_rate(double bytes_per_ns);
npu_shown npu_shown_time(double ns);

#endif
