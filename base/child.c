// SPDX-License-Identifier: Apache-2.0
#include "child.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool send_all(int fd, const void *data, size_t size) {
    const char *at = data;
    while (size > 0) {
        ssize_t n = write(fd, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

static bool receive_all(int fd, void *data, size_t size) {
    char *at = data;
    while (size > 0) {
        ssize_t n = read(fd, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

npu_status npu_in_child(npu_status (*work)(const void *arg, void *result, npu_error *err),
                        const void *arg, void *result, size_t size, npu_error *err) {
    int ends[2];
    fflush(NULL); // what is buffered must not be written by both
    if (pipe(ends) != 0)
        return npu_fail(err, NPU_IO, (npu_pos){0}, "cannot make a pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid < 0) {
        int why = errno;
        close(ends[0]);
        close(ends[1]);
        return npu_fail(err, NPU_IO, (npu_pos){0}, "cannot start a process: %s", strerror(why));
    }
    if (pid == 0) {
        close(ends[0]);
        npu_error error = {{0}};
        npu_status status = work(arg, result, &error);
        bool sent = send_all(ends[1], &status, sizeof status) &&
                    send_all(ends[1], &error, sizeof error) && send_all(ends[1], result, size);
        _exit(sent ? 0 : 1);
    }
    close(ends[1]);
    npu_status status = NPU_OK;
    npu_error error = {{0}};
    bool got = receive_all(ends[0], &status, sizeof status) &&
               receive_all(ends[0], &error, sizeof error) && receive_all(ends[0], result, size);
    close(ends[0]);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    if (!got)
        return npu_fail(err, NPU_IO, (npu_pos){0}, "a process of the simulation died");
    return status ? npu_fail(err, status, (npu_pos){0}, "%s", error.text) : NPU_OK;
}
