// SPDX-License-Identifier: Apache-2.0
// A graph that stands inside a case file.
#ifndef NPU_INLINE_H
#define NPU_INLINE_H

#include "yaml_tree.h"

// The text of the map `graph` of the file at graph->pos.file, with everything before it blank:
// places in it are places in the file. In the arena.
npu_status npu_inline_text(npu_arena *arena, const npu_yaml *graph, const char **text,
                           npu_error *err);

#endif
