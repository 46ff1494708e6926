// SPDX-License-Identifier: Apache-2.0
#include "die_impl.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define FIELD(path, unit, rule, member)                                                            \
    { path, NPU_UNIT_##unit, NPU_DIE_##rule, offsetof(npu_die, member) }

// A vector op's three fields stand between `head` and `tail`; they come from npu_vec_op_names.
static const npu_die_field head[] = {
    FIELD("clock", FREQUENCY, POSITIVE, clock),
    FIELD("clusters", NONE, CLUSTERS, clusters),
    FIELD("min_alloc", BYTES, WHOLE, min_alloc),
    FIELD("trace_clock", FREQUENCY, POSITIVE, trace_clock),
    FIELD("buffers.l0a", BYTES, WHOLE, buffer[NPU_L0A]),
    FIELD("buffers.l0b", BYTES, WHOLE, buffer[NPU_L0B]),
    FIELD("buffers.l0c", BYTES, WHOLE, buffer[NPU_L0C]),
    FIELD("buffers.l1", BYTES, WHOLE, buffer[NPU_L1]),
    FIELD("buffers.ub", BYTES, WHOLE, buffer[NPU_UB]),
    FIELD("align.l0a", BYTES, WHOLE, align[NPU_L0A]),
    FIELD("align.l0b", BYTES, WHOLE, align[NPU_L0B]),
    FIELD("align.l0c", BYTES, WHOLE, align[NPU_L0C]),
    FIELD("align.l1", BYTES, WHOLE, align[NPU_L1]),
    FIELD("align.ub", BYTES, WHOLE, align[NPU_UB]),
    FIELD("scalar.issue", CYCLES, ANY, scalar.issue),
    FIELD("scalar.op", CYCLES, ANY, scalar.op),
    FIELD("scalar.gm", CYCLES, ANY, scalar.gm),
    FIELD("scalar.read", CYCLES, ANY, scalar.read),
    FIELD("scalar.queue_depth", NONE, CLUSTERS, scalar.queue_depth),
    FIELD("scalar.flag", CYCLES, ANY, scalar.flag),
    FIELD("icache.size", BYTES, WHOLE, icache.size),
    FIELD("icache.line", BYTES, WHOLE, icache.line),
    FIELD("icache.instruction", BYTES, WHOLE, icache.instruction),
    FIELD("icache.miss", TIME, ANY, icache.miss),
    FIELD("cube.mac_fp16", MACS, POSITIVE, cube.mac_fp16),
    FIELD("cube.mac_int8", MACS, POSITIVE, cube.mac_int8),
    FIELD("cube.mac_fp32", MACS, POSITIVE, cube.mac_fp32),
    FIELD("cube.fractal", NONE, WHOLE, cube.fractal),
    FIELD("cube.fractal_bytes", BYTES, WHOLE, cube.fractal_bytes),
    FIELD("cube.head", CYCLES, ANY, cube.head),
    FIELD("cube.unit_flag_head", CYCLES, ANY, cube.unit_flag_head),
    FIELD("mte1.l0a", PER_CYCLE, POSITIVE, mte1.l0a),
    FIELD("mte1.l0b", PER_CYCLE, POSITIVE, mte1.l0b),
    FIELD("mte1.issue", CYCLES, ANY, mte1.issue),
    FIELD("mte.issue", CYCLES, ANY, mte.issue),
    FIELD("mte.per_row", CYCLES, ANY, mte.per_row),
    FIELD("fixpipe.fixed", CYCLES, ANY, fixpipe.fixed),
    FIELD("fixpipe.row_floor", CYCLES, ANY, fixpipe.row_floor),
    FIELD("fixpipe.bytes", PER_CYCLE, POSITIVE, fixpipe.bytes),
    FIELD("fixpipe.odd", CYCLES, ANY, fixpipe.odd),
    FIELD("vector.bytes", BYTES, WHOLE, vector.bytes),
    FIELD("vector.partial_row", CYCLES, ANY, vector.partial_row),
    FIELD("vector.bank_groups", NONE, WHOLE, vector.bank_groups),
    FIELD("vector.bank_row", BYTES, WHOLE, vector.bank_row),
    FIELD("vector.bank_conflict", CYCLES, ANY, vector.bank_conflict),
    FIELD("vector.broadcast", CYCLES, ANY, vector.broadcast),
};

static const npu_die_field tail[] = {
    FIELD("aic_port.read", PER_CYCLE, POSITIVE, aic.read),
    FIELD("aic_port.write", PER_CYCLE, POSITIVE, aic.write),
    FIELD("aic_port.outstanding", NONE, WHOLE, aic.outstanding),
    FIELD("aiv_port.read", PER_CYCLE, POSITIVE, aiv.read),
    FIELD("aiv_port.write", PER_CYCLE, POSITIVE, aiv.write),
    FIELD("aiv_port.outstanding", NONE, WHOLE, aiv.outstanding),
    FIELD("l2.size", BYTES, WHOLE, l2.size),
    FIELD("l2.line", BYTES, LINE, l2.line),
    FIELD("l2.sector", BYTES, LINE, l2.sector),
    FIELD("l2.read", RATE, POSITIVE, l2.read),
    FIELD("l2.write", RATE, POSITIVE, l2.write),
    FIELD("l2.hit_latency", TIME, ANY, l2.hit_latency),
    FIELD("l2.miss_latency", TIME, ANY, l2.miss_latency),
    FIELD("l2.write_latency", TIME, ANY, l2.write_latency),
    FIELD("l2.atomic", NONE, POSITIVE, l2.atomic),
    FIELD("hbm.size", BYTES, WHOLE, hbm.size),
    FIELD("hbm.rate", RATE, POSITIVE, hbm.rate),
    FIELD("hbm.efficiency", NONE, SHARE, hbm.efficiency),
    FIELD("hbm.crowd", NONE, WHOLE, hbm.crowd),
    FIELD("hbm.crowd_rate", RATE, POSITIVE, hbm.crowd_rate),
    FIELD("sdma.start", TIME, ANY, sdma.start),
    FIELD("sdma.rate", RATE, POSITIVE, sdma.rate),
    FIELD("sdma.shared", RATE, POSITIVE, sdma.shared),
    FIELD("sdma.chunk", BYTES, WHOLE, sdma.chunk),
    FIELD("sdma.issue", TIME, ANY, sdma.issue),
    FIELD("aicpu.schedulers", NONE, SCHEDULERS, aicpu.schedulers),
    FIELD("aicpu.submit", TIME, ANY, aicpu.submit),
    FIELD("aicpu.submit_arg", TIME, ANY, aicpu.submit_arg),
    FIELD("aicpu.poll", TIME, ANY, aicpu.poll),
    // A scheduler that waits in no time would never let the clock go on.
    FIELD("aicpu.idle", TIME, POSITIVE, aicpu.idle),
    FIELD("aicpu.payload", TIME, ANY, aicpu.payload),
    FIELD("aicpu.write", TIME, ANY, aicpu.write),
    FIELD("aicpu.barrier", TIME, ANY, aicpu.barrier),
    FIELD("aicpu.propagation", TIME, ANY, aicpu.propagation),
    FIELD("aicpu.retire", TIME, ANY, aicpu.retire),
    FIELD("aicpu.resolve", TIME, ANY, aicpu.resolve),
    FIELD("aicpu.resolve_edge", TIME, ANY, aicpu.resolve_edge),
    FIELD("aicpu.pop", TIME, ANY, aicpu.pop),
    FIELD("aicpu.pop_batch", NONE, WHOLE, aicpu.pop_batch),
    FIELD("aicpu.setup", TIME, ANY, aicpu.setup),
    FIELD("aicpu.setup_args", TIME, ANY, aicpu.setup_args),
    FIELD("aicpu.cold", TIME, ANY, aicpu.cold),
    FIELD("aicpu.fin", TIME, ANY, aicpu.fin),
    FIELD("aicpu.fin_visible", TIME, ANY, aicpu.fin_visible),
    FIELD("aicpu.read_back", TIME, ANY, aicpu.read_back),
    FIELD("aicpu.resolver", TIME, POSITIVE, aicpu.resolver),
    FIELD("aicpu.rings", NONE, WHOLE, aicpu.rings),
    FIELD("aicpu.ring_tasks", NONE, WHOLE, aicpu.ring_tasks),
    FIELD("aicpu.ring_heap", BYTES, WHOLE, aicpu.ring_heap),
    FIELD("aicpu.heap_align", BYTES, LINE, aicpu.heap_align),
    FIELD("aicpu.ring_deps", NONE, WHOLE, aicpu.ring_deps),
    FIELD("aicpu.release_batch", NONE, WHOLE, aicpu.release_batch),
    FIELD("aicpu.host_tasks", NONE, WHOLE, aicpu.host_tasks),
    FIELD("launch.head", TIME, ANY, launch.head),
    FIELD("launch.core", TIME, ANY, launch.core),
    FIELD("launch.tail", TIME, ANY, launch.tail),
    FIELD("recorder.core", TIME, ANY, recorder.core),
    FIELD("recorder.submit", NONE, ANY, recorder.submit),
    FIELD("host.copy", TIME, ANY, host.copy),
    FIELD("host.rate", RATE, POSITIVE, host.rate),
};

enum {
    COSTS = 3,
    HEAD = sizeof head / sizeof *head,
    OPS = NPU_VEC_COUNT * COSTS,
    TAIL = sizeof tail / sizeof *tail,
};

// A number that is in npu_die but in no table would be read as 0 and never missed.
_Static_assert(sizeof(npu_die) ==
                   (HEAD + OPS + TAIL) * sizeof(double) + 3 * sizeof(void *) + sizeof(npu_arena),
               "every number of npu_die is a field");

const char *const npu_confidence_names[] = {"unsure", "low", "medium", "high", NULL};

static const char *const cost_names[COSTS] = {"startup", "per_repeat", "per_row"};
static const char op_prefix[] = "vector.ops.";

static npu_die_field op_field(int op, int cost) {
    static const size_t offsets[COSTS] = {offsetof(npu_vec_cost, startup),
                                          offsetof(npu_vec_cost, per_repeat),
                                          offsetof(npu_vec_cost, per_row)};
    npu_die_field field = {.unit = NPU_UNIT_CYCLES, .rule = NPU_DIE_ANY};
    int length = snprintf(field.path, sizeof field.path, "%s%s.%s", op_prefix, npu_vec_op_names[op],
                          cost_names[cost]);
    assert(length > 0 && (size_t)length < sizeof field.path);
    (void)length;
    field.offset =
        offsetof(npu_die, vector.ops) + (size_t)op * sizeof(npu_vec_cost) + offsets[cost];
    return field;
}

int npu_die_field_count(void) {
    return HEAD + OPS + TAIL;
}

npu_die_field npu_die_field_at(int field) {
    assert(field >= 0 && field < HEAD + OPS + TAIL);
    if (field < HEAD)
        return head[field];
    field -= HEAD;
    if (field < OPS)
        return op_field(field / COSTS, field % COSTS);
    return tail[field - OPS];
}

const char *npu_die_field_name(int field, char *buf, int size) {
    assert(buf != NULL && size > 0);
    snprintf(buf, (size_t)size, "%s", npu_die_field_at(field).path);
    return buf;
}

static int op_named(const char *name, size_t length) {
    for (int op = 0; op < NPU_VEC_COUNT; op++)
        if (strlen(npu_vec_op_names[op]) == length &&
            strncmp(npu_vec_op_names[op], name, length) == 0)
            return op;
    return -1;
}

static int find_op(const char *name) { // "add.startup"
    size_t length = strcspn(name, ".");
    int op = op_named(name, length);
    for (int cost = 0; cost < COSTS && op >= 0 && name[length] == '.'; cost++)
        if (strcmp(name + length + 1, cost_names[cost]) == 0)
            return HEAD + op * COSTS + cost;
    return -1;
}

int npu_die_field_find(const char *name) {
    assert(name != NULL);
    size_t length = strlen(op_prefix);
    if (strncmp(name, op_prefix, length) == 0)
        return find_op(name + length);
    for (int i = 0; i < HEAD; i++)
        if (strcmp(head[i].path, name) == 0)
            return i;
    for (int i = 0; i < TAIL; i++)
        if (strcmp(tail[i].path, name) == 0)
            return HEAD + OPS + i;
    return -1;
}

static bool lies_in(const char *path, const char *section) {
    size_t length = strlen(section);
    return strncmp(path, section, length) == 0 && path[length] == '.';
}

bool npu_die_is_section(const char *path) {
    size_t length = strlen(op_prefix);
    if (strcmp(path, "vector.ops") == 0)
        return true;
    if (strncmp(path, op_prefix, length) == 0)
        return op_named(path + length, strlen(path + length)) >= 0;
    for (int i = 0; i < HEAD; i++)
        if (lies_in(head[i].path, path))
            return true;
    for (int i = 0; i < TAIL; i++)
        if (lies_in(tail[i].path, path))
            return true;
    return false;
}

double npu_die_value(const npu_die *die, int field) {
    double value;
    memcpy(&value, (const char *)die + npu_die_field_at(field).offset, sizeof value);
    return value;
}

// Units to spell a value in: the shortest text is taken, of two as short the one that does not
// begin with "0.", then the earlier one.
typedef struct spelling {
    npu_unit unit;
    const char *name;
    double factor;
} spelling;

static const spelling spellings[] = {
    {NPU_UNIT_NONE, "", 1.0},
    {NPU_UNIT_BYTES, "B", 1.0},
    {NPU_UNIT_BYTES, "KiB", 1024.0},
    {NPU_UNIT_BYTES, "MiB", 1048576.0},
    {NPU_UNIT_BYTES, "GiB", 1073741824.0},
    {NPU_UNIT_RATE, "TB/s", 1e3},
    {NPU_UNIT_RATE, "GB/s", 1.0},
    {NPU_UNIT_RATE, "TiB/s", 1099.511627776},
    {NPU_UNIT_TIME, "ns", 1.0},
    {NPU_UNIT_TIME, "us", 1e3},
    {NPU_UNIT_FREQUENCY, "GHz", 1.0},
    {NPU_UNIT_FREQUENCY, "MHz", 1e-3},
    {NPU_UNIT_CYCLES, "cyc", 1.0},
    {NPU_UNIT_PER_CYCLE, "B/cyc", 1.0},
    {NPU_UNIT_MACS, "MAC/cyc", 1.0},
};

// Writes `value` in the given unit with the fewest digits that read back as the same number.
static bool spell(double value, const spelling *s, char *buf, int size) {
    static const int digits[] = {6, 9, 12, 15, 17};
    for (size_t i = 0; i < sizeof digits / sizeof *digits; i++) {
        double back = -1.0;
        snprintf(buf, (size_t)size, "%.*g%s", digits[i], value / s->factor, s->name);
        if (npu_unit_parse(buf, s->unit, (npu_pos){0}, "", &back, NULL) == NPU_OK && back == value)
            return true;
    }
    return false;
}

static size_t clumsiness(const char *text) {
    return 2 * strlen(text) + (strncmp(text, "0.", 2) == 0);
}

const char *npu_die_field_text(const npu_die *die, int field, char *buf, int size) {
    assert(die != NULL && buf != NULL && size > 0);
    npu_die_field f = npu_die_field_at(field);
    double value = npu_die_value(die, field);
    char best[64] = "";
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        char text[64];
        if (spellings[i].unit == f.unit && spell(value, &spellings[i], text, sizeof text) &&
            (best[0] == '\0' || clumsiness(text) < clumsiness(best)))
            memcpy(best, text, sizeof text);
    }
    assert(best[0] != '\0'); // the base unit spells every number
    snprintf(buf, (size_t)size, "%s", best);
    return buf;
}

double npu_die_tflops(const npu_die *die, npu_dtype dtype) {
    double mac = 0.0;
    if (dtype == NPU_FP16 || dtype == NPU_BF16)
        mac = die->cube.mac_fp16;
    else if (dtype == NPU_INT8)
        mac = die->cube.mac_int8;
    else if (dtype == NPU_FP32)
        mac = die->cube.mac_fp32;
    return 2.0 * mac * die->clock * die->clusters / 1000.0;
}

double npu_die_hbm_rate(const npu_die *die) {
    return die->hbm.rate * die->hbm.efficiency;
}

void npu_die_walls(const npu_die *die, npu_walls *walls) {
    assert(die != NULL && die->clusters >= 1.0 && walls != NULL);
    *walls = (npu_walls){
        .min_alloc = (int64_t)die->min_alloc,
        .line = (int64_t)die->l2.line,
        .clusters = (int64_t)die->clusters,
    };
    for (int b = 0; b < NPU_BUFFER_COUNT; b++) {
        walls->buffer[b] = (int64_t)die->buffer[b];
        walls->align[b] = (int64_t)die->align[b];
    }
}
