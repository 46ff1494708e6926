// SPDX-License-Identifier: Apache-2.0
#ifndef NPU_PATHS_H
#define NPU_PATHS_H

// How a file at `from`, which need not exist while its folder does, names the file `to`:
// "../die/A3.yaml". Of malloc; NULL when out of memory.
char *npu_path_between(const char *from, const char *to);

#endif
