// SPDX-License-Identifier: Apache-2.0
// Where the built-in configs are.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npusim.h"

static bool is_folder(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

// folder + tail into buf, when that is a folder with dies in it.
static bool try_folder(const char *folder, const char *tail, char *buf, int size) {
    int n = snprintf(buf, (size_t)size, "%s%s/die", folder, tail);
    if (n < 0 || n >= size || !is_folder(buf))
        return false;
    buf[n - 4] = '\0';
    return true;
}

static bool beside_executable(char *buf, int size) {
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (n <= 0)
        return false;
    exe[n] = '\0';
    char *slash = strrchr(exe, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    // installed: bin/../share/npusim; in a build folder inside the sources: build/bin/../..
    return try_folder(exe, "/../share/npusim", buf, size) ||
           try_folder(exe, "/../../configs", buf, size);
}

npu_status npusim_config_folder(char *buf, int size, npu_error *err) {
    const char *env = getenv("NPUSIM_CONFIGS");
    if (env != NULL && *env != '\0') {
        if (try_folder(env, "", buf, size))
            return NPU_OK;
        return npu_fail(err, NPU_IO, (npu_pos){0},
                        "NPUSIM_CONFIGS is '%s', but there is no folder 'die' in it", env);
    }
    if (beside_executable(buf, size) || try_folder(NPUSIM_DATA_DIR, "", buf, size))
        return NPU_OK;
    return npu_fail(err, NPU_IO, (npu_pos){0},
                    "no config folder found; set NPUSIM_CONFIGS or give --configs");
}
