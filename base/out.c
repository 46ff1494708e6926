// SPDX-License-Identifier: Apache-2.0
#include "out.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mem.h"

typedef struct out_file {
    const char *name;
    const char *temporary;
    const char *final;
    FILE *stream; // NULL when another program writes the file
} out_file;

struct npu_out {
    npu_arena arena;
    const char *folder;
    size_t made; // folder[0, made) is the first of its folders that we had to make; 0 = none
    out_file *files;
    int count;
    int capacity;
};

static npu_status fail_io(npu_error *err, const char *what, const char *path, int reason) {
    return npu_fail(err, NPU_IO, (npu_pos){0}, "cannot %s %s: %s", what, path,
                    reason != 0 ? strerror(reason) : "write error");
}

// Makes the folder and its parents, and notes the first one that was missing.
static npu_status make_folders(npu_out *out, char *path, npu_error *err) {
    assert(path != NULL && path[0] != '\0');
    size_t length = strlen(path);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        char kept = path[i];
        path[i] = '\0';
        int reason = mkdir(path, 0777) == 0 ? 0 : errno;
        if (reason == 0 && out->made == 0)
            out->made = i;
        struct stat info;
        // Above a folder that exists, other errors (a read-only file system, say) say nothing.
        if (reason != 0 && stat(path, &info) != 0)
            return fail_io(err, "make the folder", path, reason);
        if (reason != 0 && !S_ISDIR(info.st_mode))
            return fail_io(err, "make the folder", path, ENOTDIR);
        path[i] = kept;
    }
    return NPU_OK;
}

// Takes away the folders that we made, as far as they are empty.
static void remove_folders(const npu_out *out) {
    char *path = out->made > 0 ? strdup(out->folder) : NULL;
    if (path == NULL)
        return;
    for (size_t end = strlen(path); end >= out->made; end--) {
        if (path[end] != '/' && path[end] != '\0')
            continue;
        path[end] = '\0';
        if (rmdir(path) != 0)
            break;
    }
    free(path);
}

static void out_free(npu_out *out) {
    free(out->files);
    npu_arena_free(&out->arena);
    free(out);
}

npu_status npu_out_begin(const char *folder, npu_out **result, npu_error *err) {
    assert(folder != NULL && result != NULL);
    *result = NULL;
    npu_out *out = calloc(1, sizeof *out);
    if (out == NULL)
        return npu_fail_memory(err);
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    char *path = length > 0 ? npu_arena_text(&out->arena, folder, length)
                            : npu_arena_text(&out->arena, ".", 1);
    npu_status status = path != NULL ? NPU_OK : npu_fail_memory(err);
    if (status == NPU_OK) {
        out->folder = path;
        status = make_folders(out, path, err);
    }
    if (status == NPU_OK && access(path, W_OK | X_OK) != 0)
        status = fail_io(err, "write to the folder", path, errno);
    if (status != NPU_OK) {
        npu_out_discard(out);
        return status;
    }
    *result = out;
    return NPU_OK;
}

// Creates a new empty file. Not mkstemp: its files are readable by their owner only, and the
// renamed results should have the permissions of any other new file.
static int create_temporary(npu_out *out, const char *name, const char **path) {
    static atomic_uint serial;
    for (int attempt = 0; attempt < 1000; attempt++) {
        *path = npu_arena_printf(&out->arena, "%s/.%s.tmp%ld-%u", out->folder, name, (long)getpid(),
                                 atomic_fetch_add(&serial, 1));
        if (*path == NULL) {
            errno = ENOMEM;
            return -1;
        }
        int fd = open(*path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static npu_status check_name(const npu_out *out, const char *name, npu_error *err) {
    const char *reason = NULL;
    if (name[0] == '\0' || strchr(name, '/') != NULL)
        reason = "not a file name";
    for (int i = 0; i < out->count && reason == NULL; i++)
        if (strcmp(out->files[i].name, name) == 0)
            reason = "the name is used twice";
    if (reason == NULL)
        return NPU_OK;
    return npu_fail(err, NPU_BAD_INPUT, (npu_pos){0}, "cannot write %s/%s: %s", out->folder, name,
                    reason);
}

// Adds a file to the set; *fd is open for writing.
static npu_status add_file(npu_out *out, const char *name, int *fd, npu_error *err) {
    npu_status status = check_name(out, name, err);
    if (status == NPU_OK)
        status = NPU_GROW(out, files, count, capacity, err);
    if (status != NPU_OK)
        return status;
    out_file file = {0};
    file.name = npu_arena_text(&out->arena, name, strlen(name));
    file.final = npu_arena_printf(&out->arena, "%s/%s", out->folder, name);
    if (file.name == NULL || file.final == NULL)
        return npu_fail_memory(err);
    *fd = create_temporary(out, name, &file.temporary);
    if (*fd < 0)
        return fail_io(err, "write", file.final, errno);
    out->files[out->count++] = file;
    return NPU_OK;
}

FILE *npu_out_file(npu_out *out, const char *name, npu_error *err) {
    assert(out != NULL && name != NULL);
    int fd = -1;
    if (add_file(out, name, &fd, err) != NPU_OK)
        return NULL;
    out_file *file = &out->files[out->count - 1];
    file->stream = fdopen(fd, "w");
    if (file->stream == NULL) {
        fail_io(err, "write", file->final, errno);
        close(fd);
        unlink(file->temporary);
        out->count--;
        return NULL;
    }
    return file->stream;
}

const char *npu_out_path(npu_out *out, const char *name, npu_error *err) {
    assert(out != NULL && name != NULL);
    int fd = -1;
    if (add_file(out, name, &fd, err) != NPU_OK)
        return NULL;
    close(fd);
    return out->files[out->count - 1].temporary;
}

static npu_status close_streams(npu_out *out, npu_error *err) {
    npu_status status = NPU_OK;
    for (int i = 0; i < out->count; i++) {
        out_file *file = &out->files[i];
        if (file->stream == NULL)
            continue;
        // A write that failed earlier left its mark on the stream, but its reason is gone.
        bool failed = ferror(file->stream) != 0;
        errno = 0;
        failed = fclose(file->stream) != 0 || failed;
        file->stream = NULL;
        if (failed)
            status = fail_io(err, "write", file->final, errno);
    }
    return status;
}

// Looks for what would make a rename fail before the first one replaces a file.
static npu_status check_targets(const npu_out *out, npu_error *err) {
    for (int i = 0; i < out->count; i++) {
        struct stat info;
        if (lstat(out->files[i].final, &info) == 0 && S_ISDIR(info.st_mode))
            return fail_io(err, "write", out->files[i].final, EISDIR);
        if (lstat(out->files[i].temporary, &info) != 0)
            return fail_io(err, "write", out->files[i].final, errno);
    }
    return NPU_OK;
}

static npu_status rename_all(const npu_out *out, npu_error *err) {
    for (int i = 0; i < out->count; i++) {
        if (rename(out->files[i].temporary, out->files[i].final) == 0)
            continue;
        npu_status status = fail_io(err, "write", out->files[i].final, errno);
        while (i-- > 0)
            unlink(out->files[i].final);
        return status;
    }
    return NPU_OK;
}

npu_status npu_out_commit(npu_out *out, npu_error *err) {
    assert(out != NULL);
    npu_status status = close_streams(out, err);
    if (status == NPU_OK)
        status = check_targets(out, err);
    if (status == NPU_OK)
        status = rename_all(out, err);
    if (status == NPU_OK)
        out_free(out);
    else
        npu_out_discard(out);
    return status;
}

void npu_out_discard(npu_out *out) {
    if (out == NULL)
        return;
    close_streams(out, NULL);
    for (int i = 0; i < out->count; i++)
        unlink(out->files[i].temporary);
    if (out->folder != NULL)
        remove_folders(out);
    out_free(out);
}
