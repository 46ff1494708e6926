// SPDX-License-Identifier: Apache-2.0
// The host's part of a step: submissions, copies, metadata.
#include <inttypes.h>
#include <string.h>

#include "build.h"

npu_status npu_build_time(npu_build *b, const npu_yaml *node, const char *what, double *ns) {
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}};
    npu_status status = npu_yaml_want(node, NPU_YAML_SCALAR, what, b->err);
    if (status)
        return status;
    size_t length = strlen(node->text);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (length <= 2 || strcmp(node->text + length - 2, units[i].name) != 0)
            continue;
        const char *text = npu_arena_text(&b->scratch, node->text, length - 2);
        int64_t value = 0;
        if (text == NULL)
            return npu_fail_memory(b->err);
        status = npu_build_eval(b, text, node->pos, &value);
        if (!status && (value < 0 || value > INT64_C(1000000000)))
            status = npu_fail(b->err, NPU_BAD_INPUT, node->pos,
                              "%s is 0 to 1000000000%s, not %" PRId64, what, units[i].name, value);
        *ns = (double)value * units[i].ns;
        return status;
    }
    return npu_fail(b->err, NPU_BAD_INPUT, node->pos,
                    "%s must end in ns, us or ms (for example rank * 3us), not '%s'", what,
                    node->text);
}

static npu_status read_count(npu_build *b, const npu_yaml *map, const char *key, int64_t least,
                             int64_t *value) {
    const npu_yaml *node = npu_yaml_get(map, key);
    if (node == NULL)
        return NPU_OK;
    npu_status status = npu_build_number(b, node, key, value);
    if (!status && *value < least)
        status = npu_fail(b->err, NPU_BAD_INPUT, node->pos,
                          "%s must be at least %" PRId64 ", not %" PRId64, key, least, *value);
    return status;
}

npu_status npu_build_step(npu_build *b, const npu_yaml *map) {
    static const char *const keys[] = {"submissions", "submit",      "metadata",
                                       "to_device",   "from_device", NULL};
    if (map == NULL)
        return NPU_OK;
    npu_host_step *step = &b->step;
    step->given = true;
    step->submissions = 1;
    const npu_yaml *submit = npu_yaml_get(map, "submit");
    const npu_yaml *metadata = npu_yaml_get(map, "metadata");
    npu_status status = npu_yaml_keys(map, "step", keys, b->err);
    if (!status)
        status = read_count(b, map, "submissions", 1, &step->submissions);
    if (!status)
        status = read_count(b, map, "to_device", 0, &step->to_device);
    if (!status)
        status = read_count(b, map, "from_device", 0, &step->from_device);
    if (!status && submit != NULL)
        status = npu_build_time(b, submit, "submit", &step->submit);
    if (!status && metadata != NULL)
        status = npu_build_time(b, metadata, "metadata", &step->metadata);
    // One host thread submits to the ranks in turn.
    if (!status && npu_yaml_get(b->files[0].root, "skew") == NULL)
        b->skew = b->options->rank * step->submit;
    return status;
}
