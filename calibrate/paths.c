// SPDX-License-Identifier: Apache-2.0
#include "paths.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// The folder of a path without symbolic links, "/a/b"; of malloc, or NULL.
static char *real_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL   ? strdup(".")
                   : slash == path ? strdup("/")
                                   : strndup(path, (size_t)(slash - path));
    char *real = folder != NULL ? realpath(folder, NULL) : NULL;
    free(folder);
    return real;
}

// Where both stop to be the same folders.
static size_t common(const char *a, const char *b) {
    size_t at = 0, same = 0;
    for (; a[at] != '\0' && a[at] == b[at]; at++)
        if (a[at] == '/')
            same = at + 1;
    bool a_ends = a[at] == '\0' || a[at] == '/', b_ends = b[at] == '\0' || b[at] == '/';
    if (a_ends && b_ends && at > 0 && a[at - 1] != '/') // one lies in the other
        same = at;
    return same;
}

static char *join(const char *from, const char *to) { // a folder and a file
    size_t same = common(from, to);
    const char *up = from + same, *rest = to + same;
    up += *up == '/';
    rest += *rest == '/';
    size_t levels = *up != '\0';
    for (const char *c = up; *c != '\0'; c++)
        levels += *c == '/';
    size_t length = strlen(rest), at = 0;
    char *path = calloc(3 * levels + length + 1, 1);
    if (path == NULL)
        return NULL;
    for (; at < 3 * levels; at++)
        path[at] = at % 3 == 2 ? '/' : '.';
    for (size_t i = 0; i < length; i++)
        path[at + i] = rest[i];
    return path;
}

char *npu_path_between(const char *from, const char *to) {
    char *folder = real_folder(from), *file = realpath(to, NULL);
    char *path = folder != NULL && file != NULL ? join(folder, file) : NULL;
    free(folder);
    free(file);
    return path;
}
