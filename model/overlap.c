// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <stdlib.h>

#include "build.h"

enum { MAX_AXES = 2 * NPU_MAX_RANK };

void npu_extent(const npu_arg *window, int64_t *extent, int64_t *count) {
    *extent = 1;
    *count = 1;
    for (int i = 0; i < window->rank; i++) {
        *extent += (window->shape[i] - 1) * window->stride[i];
        *count *= window->shape[i];
    }
}

// The strides of the dimensions longer than 1 of both windows, largest first, each once.
static int collect_strides(const npu_arg *a, const npu_arg *b, int64_t *strides) {
    int count = 0;
    for (int w = 0; w < 2; w++) {
        const npu_arg *window = w == 0 ? a : b;
        for (int i = 0; i < window->rank; i++) {
            if (window->shape[i] == 1)
                continue;
            int at = 0;
            while (at < count && strides[at] > window->stride[i])
                at++;
            if (at < count && strides[at] == window->stride[i])
                continue;
            for (int k = count; k > at; k--)
                strides[k] = strides[k - 1];
            strides[at] = window->stride[i];
            count++;
        }
    }
    assert(count <= MAX_AXES);
    return count;
}

// Length and start of the window along each stride, as one box in the grid that the strides
// span. False when it is none: a dimension twice, or running over into the next.
static bool as_box(const npu_arg *window, const int64_t *strides, int axes, int64_t *start,
                   int64_t *length, int64_t *rest) {
    for (int i = 0; i < axes; i++)
        length[i] = 1;
    for (int i = 0; i < window->rank; i++) {
        if (window->shape[i] == 1)
            continue;
        int at = 0;
        while (strides[at] != window->stride[i])
            at++;
        if (length[at] != 1)
            return false;
        length[at] = window->shape[i];
    }
    *rest = window->offset;
    for (int i = 0; i < axes; i++) {
        start[i] = *rest / strides[i];
        *rest %= strides[i];
        if (i > 0 && start[i] + length[i] > strides[i - 1] / strides[i])
            return false;
    }
    return true;
}

bool npu_overlap(const npu_arg *a, const npu_arg *b, bool *covers) {
    int64_t extent[2];
    int64_t count[2];
    npu_extent(a, &extent[0], &count[0]);
    npu_extent(b, &extent[1], &count[1]);
    *covers = false;
    if (a->offset + extent[0] <= b->offset || b->offset + extent[1] <= a->offset)
        return false;
    bool dense = count[0] == extent[0];
    bool around = a->offset <= b->offset && b->offset + extent[1] <= a->offset + extent[0];
    *covers = dense && around;
    int64_t strides[MAX_AXES];
    int64_t start[2][MAX_AXES];
    int64_t length[2][MAX_AXES];
    int64_t rest[2];
    int axes = collect_strides(a, b, strides);
    for (int i = 1; i < axes; i++)
        if (strides[i - 1] % strides[i] != 0)
            return true;
    if (!as_box(a, strides, axes, start[0], length[0], &rest[0]) ||
        !as_box(b, strides, axes, start[1], length[1], &rest[1]))
        return true;
    if (rest[0] != rest[1]) { // all strides are multiples of the last: they never meet
        *covers = false;
        return false;
    }
    bool inside = true;
    for (int i = 0; i < axes; i++) {
        int64_t end = start[0][i] + length[0][i];
        int64_t other = start[1][i] + length[1][i];
        if (end <= start[1][i] || other <= start[0][i]) {
            *covers = false;
            return false;
        }
        inside = inside && start[0][i] <= start[1][i] && other <= end;
    }
    *covers = *covers || inside;
    return true;
}
