// SPDX-License-Identifier: Apache-2.0
#include "module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODULE_FILE "npusim_simgrid.so"

enum { PATH_BYTES = 4096 };

// The folder of the running executable, without the last slash; "" when unknown.
static void executable_folder(char *out, size_t size) {
    ssize_t length = readlink("/proc/self/exe", out, size - 1);
    out[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(out, '/');
    if (slash != NULL)
        *slash = '\0';
}

// The first folder that has the module: the user's choice, next to the executable (a moved
// folder), the build tree or an installed prefix, the configured prefix.
static bool find_module(char *out, size_t size) {
    char exe[PATH_BYTES];
    executable_folder(exe, sizeof exe);
    const char *chosen = getenv("NPUSIM_MODULES");
    const struct {
        const char *folder, *below;
    } places[] = {{chosen, ""}, {exe, ""}, {exe, "/../lib/npusim"}, {NPUSIM_MODULE_DIR, ""}};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (places[i].folder == NULL || places[i].folder[0] == '\0')
            continue;
        int length = snprintf(out, size, "%s%s/" MODULE_FILE, places[i].folder, places[i].below);
        if (length > 0 && (size_t)length < size && access(out, R_OK) == 0)
            return true;
    }
    return false;
}

npu_status npu_simgrid_symbol(const char *name, void **symbol, npu_error *err) {
    char file[PATH_BYTES];
    if (!find_module(file, sizeof file))
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0},
                        "the simgrid engine is not installed: no " MODULE_FILE
                        " next to the program, in ../lib/npusim or in " NPUSIM_MODULE_DIR
                        " (NPUSIM_MODULES can name another folder)");
    void *module = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (module == NULL)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "the simgrid engine cannot be loaded: %s",
                        dlerror());
    *symbol = dlsym(module, name);
    if (*symbol == NULL)
        return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "%s belongs to another version of npusim",
                        file);
    return NPU_OK;
}
