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

// The same elements in as few dimensions as possible, largest stride first.
static npu_arg simplify(const npu_arg *window) {
    npu_arg out = {.offset = window->offset};
    assert(window->rank <= NPU_MAX_RANK && window->offset >= 0);
    for (int i = 0; i < window->rank; i++) {
        if (window->shape[i] == 1)
            continue;
        int at = out.rank++;
        for (; at > 0 && out.stride[at - 1] < window->stride[i]; at--) {
            out.shape[at] = out.shape[at - 1];
            out.stride[at] = out.stride[at - 1];
        }
        out.shape[at] = window->shape[i];
        out.stride[at] = window->stride[i];
    }
    int kept = out.rank > 0 ? 1 : 0;
    for (int i = 1; i < out.rank; i++) {
        bool follows = out.stride[kept - 1] == out.shape[i] * out.stride[i];
        int to = follows ? kept - 1 : kept++;
        out.shape[to] = follows ? out.shape[to] * out.shape[i] : out.shape[i];
        out.stride[to] = out.stride[i];
    }
    out.rank = kept;
    return out;
}

// The strides of both, largest first, each once.
static int collect_strides(const npu_arg *a, const npu_arg *b, int64_t *strides) {
    int count = 0;
    int i = 0;
    int j = 0;
    while (i < a->rank || j < b->rank) {
        bool from_a = j == b->rank || (i < a->rank && a->stride[i] >= b->stride[j]);
        int64_t stride = from_a ? a->stride[i++] : b->stride[j++];
        if (count == 0 || strides[count - 1] != stride)
            strides[count++] = stride;
    }
    assert(count <= MAX_AXES);
    return count;
}

// Start and length of the window along each stride, as one box in the grid that the strides
// span. False when it is none, since it runs over from one line of the grid into the next.
static bool as_box(const npu_arg *window, const int64_t *strides, int axes, int64_t *start,
                   int64_t *length, int64_t *rest) {
    *rest = window->offset;
    for (int i = 0; i < axes; i++) {
        length[i] = 1;
        start[i] = *rest / strides[i];
        *rest %= strides[i];
    }
    for (int i = 0, at = 0; i < window->rank; i++) {
        while (strides[at] != window->stride[i])
            at++;
        if (length[at] != 1)
            return false;
        length[at] = window->shape[i];
    }
    for (int i = axes - 1; i > 0; i--) {
        int64_t line = strides[i - 1] / strides[i];
        if (start[i] == 0 && length[i - 1] == 1 && length[i] % line == 0) { // whole lines
            length[i - 1] = length[i] / line;
            length[i] = line;
        }
        if (start[i] + length[i] > line)
            return false;
    }
    return true;
}

// Both windows as boxes of one grid.
typedef struct boxes {
    int axes;
    int64_t start[2][MAX_AXES], length[2][MAX_AXES], rest[2];
} boxes;

// False when there is no grid in which both are boxes.
static bool find_boxes(const npu_arg *a, const npu_arg *b, boxes *found) {
    int64_t strides[MAX_AXES];
    npu_arg simple[2] = {simplify(a), simplify(b)};
    found->axes = collect_strides(&simple[0], &simple[1], strides);
    for (int i = 1; i < found->axes; i++)
        if (strides[i - 1] % strides[i] != 0)
            return false;
    return as_box(&simple[0], strides, found->axes, found->start[0], found->length[0],
                  &found->rest[0]) &&
           as_box(&simple[1], strides, found->axes, found->start[1], found->length[1],
                  &found->rest[1]);
}

bool npu_overlap_is_exact(const npu_arg *a, const npu_arg *b) {
    boxes found;
    return find_boxes(a, b, &found);
}

bool npu_extents_overlap(const npu_arg *a, const npu_arg *b) {
    int64_t extent[2];
    int64_t count[2];
    npu_extent(a, &extent[0], &count[0]);
    npu_extent(b, &extent[1], &count[1]);
    return a->offset + extent[0] > b->offset && b->offset + extent[1] > a->offset;
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
    boxes f;
    if (!find_boxes(a, b, &f))
        return true;
    if (f.rest[0] != f.rest[1]) { // all strides are multiples of the last: they never meet
        *covers = false;
        return false;
    }
    bool inside = true;
    for (int i = 0; i < f.axes; i++) {
        int64_t end = f.start[0][i] + f.length[0][i];
        int64_t other = f.start[1][i] + f.length[1][i];
        if (end <= f.start[1][i] || other <= f.start[0][i]) {
            *covers = false;
            return false;
        }
        inside = inside && f.start[0][i] <= f.start[1][i] && other <= end;
    }
    *covers = *covers || inside;
    return true;
}
