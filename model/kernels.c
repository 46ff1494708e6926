// SPDX-License-Identifier: Apache-2.0
// Which kernel a task means: one of its own file, else one of the kernel folder. Each is
// parsed once.
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "build.h"

const char *const npu_task_keys[] = {"task",  "kernel", "args",  "with",       "tile",
                                     "grid",  "engine", "early", "sync_start", "after",
                                     "edges", "when",   NULL};

static npu_status add_kernel(npu_build *b, const char *name, const npu_yaml *map, int *index) {
    npu_known_kernel known = {0};
    npu_status status = npu_kernel_parse(b->arena, name, map, &known.kernel, b->err);
    if (status == NPU_OK)
        status = NPU_GROW(b, kernels, kernel_count, kernel_capacity, b->err);
    if (status != NPU_OK)
        return status;
    known.args = npu_kernel_args(known.kernel, &known.arg_count);
    int fixed = 0;
    while (npu_task_keys[fixed] != NULL)
        fixed++;
    size_t count = (size_t)fixed + (size_t)known.arg_count + 1;
    known.task_keys = npu_arena_alloc(b->arena, count, sizeof *known.task_keys);
    if (known.task_keys == NULL)
        return npu_fail_memory(b->err);
    for (int i = 0; i < fixed; i++)
        known.task_keys[i] = npu_task_keys[i];
    for (int i = 0; i < known.arg_count; i++)
        known.task_keys[fixed + i] = known.args[i].name;
    *index = b->kernel_count;
    b->kernels[b->kernel_count++] = known;
    return NPU_OK;
}

static npu_status load_kernel(npu_build *b, const char *path, const char *name, npu_pos pos,
                              int *index) {
    const npu_yaml *map = NULL;
    npu_status status = npu_build_read(b, path, pos, &map);
    return status == NPU_OK ? add_kernel(b, name, map, index) : status;
}

npu_status npu_build_own_kernels(npu_build *b, npu_file *file, const npu_yaml *map) {
    if (map == NULL)
        return NPU_OK;
    npu_status status = npu_yaml_want(map, NPU_YAML_MAP, "kernels", b->err);
    for (int i = 0; status == NPU_OK && i < map->count; i++) {
        const char *name = map->keys[i]->text;
        const npu_yaml *body = map->items[i];
        int index = 0;
        if (body->kind == NPU_YAML_SCALAR) {
            const char *path = npu_path_beside(b->arena, file->path, body->text);
            status = path != NULL ? load_kernel(b, path, name, body->pos, &index)
                                  : npu_fail_memory(b->err);
        } else {
            status = add_kernel(b, name, body, &index);
        }
        if (status == NPU_OK)
            status = npu_names_add(&file->kernels, name, index, b->err);
    }
    return status;
}

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// Names of the folder's kernels behind the `count` names already there, sorted.
static int list_folder(npu_build *b, const char *folder, const char **names, int count, int most) {
    DIR *dir = folder != NULL ? opendir(folder) : NULL;
    int first = count;
    const struct dirent *entry = NULL;
    while (dir != NULL && count < most && (entry = readdir(dir)) != NULL) {
        size_t length = strlen(entry->d_name);
        if (length <= 5 || strcmp(entry->d_name + length - 5, ".yaml") != 0)
            continue;
        names[count] = npu_arena_text(&b->scratch, entry->d_name, length - 5);
        count += names[count] != NULL;
    }
    if (dir != NULL)
        closedir(dir);
    qsort(names + first, (size_t)(count - first), sizeof *names, compare_texts);
    return count;
}

static npu_status unknown_kernel(npu_build *b, const npu_yaml *name) {
    enum { MOST = 512 };
    const npu_names *own = &b->files[b->frame->file].kernels;
    const char **names = npu_arena_alloc(&b->scratch, (size_t)own->count + MOST, sizeof *names);
    if (names == NULL)
        return npu_fail_memory(b->err);
    int count = 0;
    for (; count < own->count; count++)
        names[count] = own->items[count].text;
    count = list_folder(b, b->options->kernel_folder, names, count, own->count + MOST);
    char hint[128];
    return npu_fail(b->err, NPU_BAD_INPUT, name->pos, "unknown kernel '%s'%s", name->text,
                    npu_did_you_mean(name->text, names, count, hint, sizeof hint));
}

npu_status npu_build_kernel(npu_build *b, const npu_yaml *name, int *index) {
    npu_status status = npu_yaml_want(name, NPU_YAML_SCALAR, "kernel", b->err);
    if (status != NPU_OK)
        return status;
    const npu_name *own = npu_names_find(&b->files[b->frame->file].kernels, name->text);
    if (own == NULL)
        own = npu_names_find(&b->folder_kernels, name->text);
    if (own != NULL) {
        *index = own->value;
        return NPU_OK;
    }
    // A name, not a path: a graph does not reach outside the folder.
    const char *folder = b->options->kernel_folder;
    if (folder == NULL || !npu_is_name(name->text))
        return unknown_kernel(b, name);
    const char *path = npu_arena_printf(b->arena, "%s/%s.yaml", folder, name->text);
    if (path == NULL)
        return npu_fail_memory(b->err);
    if (access(path, F_OK) != 0)
        return unknown_kernel(b, name);
    status = load_kernel(b, path, name->text, name->pos, index);
    return status == NPU_OK ? npu_names_add(&b->folder_kernels, name->text, *index, b->err)
                            : status;
}
