// SPDX-License-Identifier: Apache-2.0
// Regions of tensors: from starts and lengths to runs of bytes in GM.
#include <assert.h>
#include <limits.h>

#include "kernel.h"

typedef struct extent { // `count` steps of `stride` bytes
    int64_t count, stride;
} extent;

// Does `a` step through memory more coarsely than `b`? A stride of 0 repeats all the rest.
static bool coarser(extent a, extent b) {
    return b.stride != 0 && (a.stride == 0 || a.stride > b.stride);
}

// Dimensions that matter, the finest first; neighbours that follow each other in memory are
// merged. Returns how many are left.
static int merge(const npu_window *window, const int64_t *length, int64_t size, extent *out) {
    int n = 0;
    for (int d = window->rank - 1; d >= 0; d--) {
        if (length[d] == 1)
            continue;
        extent e = {length[d], window->stride[d] * size};
        int at = n++;
        for (; at > 0 && coarser(out[at - 1], e); at--)
            out[at] = out[at - 1];
        out[at] = e;
    }
    int kept = 0;
    for (int i = 0; i < n; i++) {
        if (kept > 0 && out[i].stride == out[kept - 1].stride * out[kept - 1].count)
            out[kept - 1].count *= out[i].count;
        else
            out[kept++] = out[i];
    }
    return kept;
}

npu_status npu_region_shape(const npu_window *window, const int64_t *length, npu_pos pos,
                            npu_gm *gm, npu_error *err) {
    int64_t size = npu_dtype_bytes(window->dtype);
    for (int d = 0; d < window->rank; d++)
        if (length[d] <= 0 || length[d] > window->shape[d])
            return npu_fail(err, NPU_BAD_INPUT, pos,
                            "a region of length %lld in dimension %d, which has %lld",
                            (long long)length[d], d, (long long)window->shape[d]);
    extent extents[NPU_MAX_RANK];
    int n = merge(window, length, size, extents);
    int at = 0;
    gm->run = size;
    if (n > 0 && extents[0].stride == size) {
        gm->run = size * extents[0].count;
        at = 1;
    }
    if (n - at > 2)
        return npu_fail(err, NPU_BAD_INPUT, pos,
                        "the region steps through memory in more than two strides; split it");
    extent one = {1, 0};
    extent inner = n - at > 0 ? extents[at] : one;
    extent outer = n - at > 1 ? extents[at + 1] : one;
    if (inner.count > INT32_MAX || outer.count > INT32_MAX)
        return npu_fail(err, NPU_BAD_INPUT, pos, "the region has too many rows");
    gm->rows[0] = (int32_t)outer.count;
    gm->rows[1] = (int32_t)inner.count;
    gm->stride[0] = outer.stride;
    gm->stride[1] = inner.stride;
    return NPU_OK;
}

static npu_status outside(const npu_region *region, const npu_window *window, const char *name,
                          int d, int64_t start, int64_t length, npu_error *err) {
    return npu_fail(err, NPU_BAD_INPUT, region->pos,
                    "%s[%lld : %lld] leaves dimension %d of '%s', which has %lld", name,
                    (long long)start, (long long)length, d, name, (long long)window->shape[d]);
}

npu_status npu_region_eval(const npu_region *region, const npu_window *window, const char *name,
                           const int64_t *vars, npu_gm *gm, int64_t *last, npu_error *err) {
    int64_t length[NPU_MAX_RANK] = {0};
    int64_t elements = 0;
    assert(region->rank > 0 && region->rank == window->rank);
    for (int d = 0; d < region->rank; d++) {
        int64_t start = region->start[d].value;
        length[d] = region->length[d].value;
        if (region->start[d].op_count != 0) {
            npu_status status = npu_code_run(&region->start[d], vars, &start, err);
            if (status)
                return status;
        }
        if (region->length[d].op_count != 0) {
            npu_status status = npu_code_run(&region->length[d], vars, &length[d], err);
            if (status)
                return status;
        }
        if (start < 0 || length[d] <= 0 || start > window->shape[d] - length[d])
            return outside(region, window, name, d, start, length[d], err);
        elements += start * window->stride[d];
    }
    *last = length[region->rank - 1];
    *gm = region->shape;
    gm->address = window->address + elements * npu_dtype_bytes(window->dtype);
    return region->fixed ? NPU_OK : npu_region_shape(window, length, region->pos, gm, err);
}
