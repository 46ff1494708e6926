// SPDX-License-Identifier: Apache-2.0
// merged_swimlane.json as a capture of last resort: what the runtime's converter drew, or npusim.
// Lost are the device's clock (stamps become ns from the first one), the numbers of the
// dispatches (counted anew on each core), queue depths' kinds, kernels of cores without rows,
// and edges for which there is no arrow.
#ifndef NPU_MERGED_H
#define NPU_MERGED_H

#include "capture.h"
#include "deps.h"
#include "names.h"

// Fills all three; free them in any case. Older files with other process names are known.
// NPU_BAD_INPUT with file:line:col when it is no such file.
npu_status npu_merged_read(const char *path, npu_capture *capture, npu_deps *deps,
                           npu_name_map *names, npu_error *err);
// The same from JSON that has been opened with `err`.
npu_status npu_merged_read_json(npu_json *json, const char *path, npu_capture *capture,
                                npu_deps *deps, npu_name_map *names, npu_error *err);

#endif
