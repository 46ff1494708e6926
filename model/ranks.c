// SPDX-License-Identifier: Apache-2.0
// Graphs of several dies. One file says what all of them do; it is read once per rank, with `rank`
// as a name. Tensors lie alike on every rank, so that an address of one die, with the rank in its
// upper bits, is known on all others.
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "build.h"

static bool has_ranks(const npu_build *b) {
    return npu_yaml_get(b->files[0].root, "ranks") != NULL;
}

npu_status npu_build_rank(npu_build *b) {
    if (!has_ranks(b))
        return NPU_OK;
    return npu_build_var(b, "rank", b->frame->pos, b->options->rank);
}

static npu_status read_count(npu_build *b, const npu_yaml *node, const char *what, int most,
                             int *count) {
    int64_t value = 0;
    npu_status status = npu_build_number(b, node, what, &value);
    if (!status && (value < 1 || value > most))
        status = npu_fail(b->err, NPU_BAD_INPUT, node->pos, "%s must be 1 to %d, not %" PRId64,
                          what, most, value);
    *count = (int)value;
    return status;
}

npu_status npu_build_ranks(npu_build *b, const npu_yaml *ranks, const npu_yaml *full) {
    if (ranks == NULL && full != NULL)
        return npu_fail(b->err, NPU_BAD_INPUT, full->pos, "the graph has no `ranks`");
    if (ranks == NULL)
        return NPU_OK;
    npu_status status = read_count(b, ranks, "ranks", NPU_MAX_RANKS, &b->ranks);
    if (!status && b->options->rank >= b->ranks)
        status = npu_fail(b->err, NPU_BAD_INPUT, ranks->pos,
                          "there is no rank %d: `ranks` depends on the rank", b->options->rank);
    b->full = b->ranks;
    if (!status && full != NULL)
        status = read_count(b, full, "full", b->ranks, &b->full);
    return status;
}

npu_status npu_build_skew(npu_build *b, const npu_yaml *node) {
    if (node == NULL)
        return NPU_OK;
    if (!has_ranks(b))
        return npu_fail(b->err, NPU_BAD_INPUT, node->pos, "the graph has no `ranks`");
    return npu_build_time(b, node, "skew", &b->skew);
}

npu_status npu_build_on_ranks(npu_build *b, const npu_yaml *map, npu_tensor *tensor) {
    static const char *const keys[] = {"tensor", "on_ranks", NULL};
    const npu_yaml *node = npu_yaml_get(map, "on_ranks");
    npu_arg window = {0};
    npu_status status = npu_yaml_keys(map, "a tensor on all ranks", keys, b->err);
    if (!status)
        status = npu_yaml_want(node, NPU_YAML_SCALAR, "on_ranks", b->err);
    if (!status)
        status = npu_build_ref(b, node->text, node->pos, &window);
    if (status)
        return status;
    const npu_tensor *of = &b->tensors[window.tensor];
    if (!has_ranks(b))
        return npu_fail(b->err, NPU_BAD_INPUT, node->pos, "the graph has no `ranks`");
    if (of->storage != window.tensor || of->on_ranks >= 0 || window.offset != of->offset ||
        window.rank != of->rank || memcmp(window.shape, of->shape, sizeof of->shape) != 0)
        return npu_fail(b->err, NPU_BAD_INPUT, node->pos,
                        "on_ranks takes a whole tensor that is no view, not '%s'", node->text);
    if (of->rank == NPU_MAX_RANK)
        return npu_fail(b->err, NPU_BAD_INPUT, node->pos,
                        "'%s' has %d dimensions, and the rank would be one more than possible",
                        of->name, NPU_MAX_RANK);
    const char *name = tensor->name;
    npu_pos pos = tensor->pos;
    *tensor = *of;
    tensor->name = name;
    tensor->pos = pos;
    tensor->on_ranks = window.tensor;
    tensor->external = true;
    tensor->in_l2 = false;
    tensor->bytes = 0;
    tensor->storage = b->tensor_count;
    tensor->address = of->address & (((int64_t)1 << NPU_RANK_SHIFT) - 1); // on rank 0
    tensor->rank = of->rank + 1;
    for (int i = 0; i < of->rank; i++) {
        tensor->shape[i + 1] = of->shape[i];
        tensor->stride[i + 1] = of->stride[i];
    }
    tensor->shape[0] = b->ranks;
    tensor->stride[0] = ((int64_t)1 << NPU_RANK_SHIFT) / npu_dtype_bytes(of->dtype);
    return NPU_OK;
}

static const npu_tensor *find(const npu_graph *graph, const char *name) {
    for (int i = 0; i < graph->tensor_count; i++)
        if (strcmp(graph->tensors[i].name, name) == 0)
            return &graph->tensors[i];
    return NULL;
}

static bool alike(const npu_tensor *a, const npu_tensor *b) {
    int64_t mask = ((int64_t)1 << NPU_RANK_SHIFT) - 1;
    return (a->address & mask) == (b->address & mask) && a->dtype == b->dtype &&
           a->rank == b->rank && memcmp(a->shape, b->shape, sizeof a->shape) == 0;
}

npu_status npu_graph_check_ranks(const npu_graph *graphs, int count, npu_error *err) {
    assert(count >= 1 && graphs[0].ranks == count);
    for (int r = 0; r < count; r++) {
        for (int i = 0; i < graphs[r].tensor_count; i++) {
            const npu_tensor *shown = &graphs[r].tensors[i];
            if (shown->on_ranks < 0)
                continue;
            const npu_tensor *here = &graphs[r].tensors[shown->on_ranks];
            for (int other = 0; other < count; other++) {
                const npu_tensor *there = find(&graphs[other], here->name);
                if (there == NULL || !alike(here, there))
                    return npu_fail(err, NPU_BAD_INPUT, shown->pos,
                                    "'%s' of rank %d is not the same on rank %d; a tensor that "
                                    "others reach must be declared alike on all ranks, with the "
                                    "same ones before it",
                                    here->name, r, other);
            }
        }
    }
    return NPU_OK;
}
