// SPDX-License-Identifier: Apache-2.0
// Checks before a run: what a core's buffers hold, and how many blocks start together.
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"

static const char *const buffer_labels[NPU_BUFFER_COUNT] = {"L0A", "L0B", "L0C", "L1", "UB"};

// "192 KiB" when it is a whole number of them, else "100 B".
static const char *show(int64_t bytes, char *buf, int size) {
    if (bytes % 1024 == 0)
        snprintf(buf, (size_t)size, "%" PRId64 " KiB", bytes / 1024);
    else
        snprintf(buf, (size_t)size, "%" PRId64 " B", bytes);
    return buf;
}

// What one copy takes. Saturates: the sum is compared with a wall, not used.
static int64_t slot_bytes(const npu_slot *slot, const npu_walls *walls) {
    int64_t align = walls->align[slot->buffer] > 1 ? walls->align[slot->buffer] : 1;
    int64_t bytes = slot->bytes > walls->min_alloc ? slot->bytes : walls->min_alloc;
    if (bytes > INT64_MAX - align)
        return INT64_MAX;
    return (bytes + align - 1) / align * align;
}

// The sizes of a slot: rows and columns are called as in a matmul where there is one.
static npu_status fail_slot(const npu_task *task, const npu_slot *slot, int64_t wall,
                            npu_error *err) {
    static const char *const dims[NPU_BUFFER_COUNT][2] = {{"m", "k"}, {"k", "n"}, {"m", "n"}};
    const char *const *dim = dims[slot->buffer];
    const char *label = buffer_labels[slot->buffer];
    char bytes[32];
    char limit[32];
    char most[128] = "";
    show(slot->bytes, bytes, sizeof bytes);
    show(wall, limit, sizeof limit);
    if (slot->rank != 2)
        return npu_fail(err, NPU_BAD_INPUT, task->pos,
                        "task '%s': the %s slot '%s' (%s:%d) is %s, over %s", task->name, label,
                        slot->name, slot->pos.file, slot->pos.line, bytes, limit);
    int64_t row = slot->bytes / slot->shape[1]; // bytes of one column of all rows
    if (wall / row > 0 && dim[0] != NULL)
        snprintf(most, sizeof most, "; the largest %s for %s = %" PRId64 " is %" PRId64, dim[1],
                 dim[0], slot->shape[0], wall / row);
    else if (wall / row > 0)
        snprintf(most, sizeof most, "; %" PRId64 " row%s can have at most %" PRId64 " column%s",
                 slot->shape[0], slot->shape[0] == 1 ? "" : "s", wall / row,
                 wall / row == 1 ? "" : "s");
    return npu_fail(err, NPU_BAD_INPUT, task->pos,
                    "task '%s': %s %s tile of %" PRId64 " x %" PRId64
                    " %s is %s, over %s%s (slot '%s', %s:%d)",
                    task->name, slot->buffer == NPU_UB ? "a" : "an", label, slot->shape[0],
                    slot->shape[1], npu_dtype_names[slot->dtype], bytes, limit, most, slot->name,
                    slot->pos.file, slot->pos.line);
}

static npu_status fail_sum(const npu_task *task, const npu_body *body, npu_buffer buffer,
                           const npu_walls *walls, int64_t sum, npu_error *err) {
    char text[640];
    char bytes[32];
    char limit[32];
    int used = 0;
    const npu_slot *first = NULL;
    for (int i = 0; i < body->slot_count && used < (int)sizeof text; i++) {
        const npu_slot *slot = &body->slots[i];
        if (slot->buffer != buffer)
            continue;
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%s %d x %s",
                         first != NULL ? " + " : "", slot->name, slot->copies,
                         show(slot_bytes(slot, walls), bytes, sizeof bytes));
        first = first != NULL ? first : slot;
    }
    assert(first != NULL);
    return npu_fail(err, NPU_BAD_INPUT, task->pos, "task '%s': %s: %s = %s, over %s (%s:%d)",
                    task->name, buffer_labels[buffer], text, show(sum, bytes, sizeof bytes),
                    show(walls->buffer[buffer], limit, sizeof limit), first->pos.file,
                    first->pos.line);
}

static npu_status check_body(const npu_task *task, const npu_body *body, const npu_walls *walls,
                             npu_warnings *warnings, npu_error *err) {
    int64_t sum[NPU_BUFFER_COUNT] = {0};
    for (int i = 0; i < body->slot_count; i++) {
        const npu_slot *slot = &body->slots[i];
        int64_t one = slot_bytes(slot, walls);
        int64_t all = 0;
        if (one > walls->buffer[slot->buffer])
            return fail_slot(task, slot, walls->buffer[slot->buffer], err);
        if (__builtin_mul_overflow(one, slot->copies, &all) ||
            __builtin_add_overflow(sum[slot->buffer], all, &sum[slot->buffer]))
            sum[slot->buffer] = INT64_MAX;
        if (slot->bytes < walls->min_alloc)
            npu_warn(warnings, slot->pos, "the slot '%s' of %" PRId64 " B takes %" PRId64 " B",
                     slot->name, slot->bytes, one);
    }
    for (int i = 0; i < NPU_BUFFER_COUNT; i++)
        if (sum[i] > walls->buffer[i])
            return fail_sum(task, body, (npu_buffer)i, walls, sum[i], err);
    return NPU_OK;
}

static npu_status check_sync(const npu_task *task, const npu_walls *walls, npu_error *err) {
    bool aiv = task->engine == NPU_AIV;
    int64_t most = aiv ? 2 * walls->clusters : walls->clusters;
    if (!task->sync_start || task->block_num <= most)
        return NPU_OK;
    return npu_fail(err, NPU_BAD_INPUT, task->pos,
                    "task '%s': sync_start with %" PRId64 " blocks, but only %" PRId64
                    " %s blocks fit on %" PRId64 " clusters at once",
                    task->name, task->block_num, most, npu_engine_type_names[task->engine],
                    walls->clusters);
}

npu_status npu_graph_check(const npu_graph *graph, const npu_walls *walls, npu_warnings *warnings,
                           npu_error *err) {
    assert(graph != NULL && walls != NULL && walls->line > 0 && walls->clusters > 0);
    for (int i = 0; i < graph->task_count; i++) {
        const npu_task *task = &graph->tasks[i];
        npu_status status = check_sync(task, walls, err);
        for (int side = 0; side < 2 && status == NPU_OK && task->program != NULL; side++)
            status = check_body(task, &task->program->body[side], walls, warnings, err);
        if (status != NPU_OK)
            return status;
    }
    bool *atomic = calloc((size_t)graph->arg_count + 1, sizeof *atomic);
    if (atomic == NULL)
        return npu_fail_memory(err);
    npu_status status = npu_check_runs(graph, walls, atomic, warnings, err);
    if (status == NPU_OK)
        status = npu_check_races(graph, atomic, warnings, err);
    free(atomic);
    return status;
}
