// SPDX-License-Identifier: Apache-2.0
#include "gnuplot.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

void npu_gnuplot_text(FILE *out, const char *text, int most) {
    fputc('\'', out);
    for (int i = 0; text[i] != '\0' && i < most; i++) {
        unsigned char c = (unsigned char)text[i];
        bool plain = c >= ' ' && c < 127 && strchr("'\"\\`@$", c) == NULL;
        fputc(plain ? c : '_', out);
    }
    fputs((int)strlen(text) > most ? "..'" : "'", out);
}

// The first line that gnuplot wrote to its error stream, into buf.
static void read_complaint(FILE *errors, char *buf, int size) {
    rewind(errors);
    while (fgets(buf, size, errors) != NULL) {
        buf[strcspn(buf, "\n")] = '\0';
        char *text = buf + strspn(buf, " \t^");
        if (*text != '\0' && strncmp(text, "plot $", 6) != 0) { // not the echoed command
            memmove(buf, text, strlen(text) + 1);
            return;
        }
    }
    buf[0] = '\0';
}

// Runs gnuplot on the open files; returns errno-like reasons of starting it, and its status.
static int run_gnuplot(FILE *script, int png, FILE *errors, int *wait_status) {
    // -d: no start-up file of the user's. A named script is read in blocks, its standard input byte
    // by byte.
    char *const args[] = {"gnuplot", "-d", "/dev/stdin", NULL};
    posix_spawn_file_actions_t actions;
    int reason = posix_spawn_file_actions_init(&actions);
    if (reason != 0)
        return reason;
    reason = posix_spawn_file_actions_adddup2(&actions, fileno(script), STDIN_FILENO);
    if (reason == 0)
        reason = posix_spawn_file_actions_adddup2(&actions, png, STDOUT_FILENO);
    if (reason == 0)
        reason = posix_spawn_file_actions_adddup2(&actions, fileno(errors), STDERR_FILENO);
    pid_t child = 0;
    if (reason == 0)
        reason = posix_spawnp(&child, args[0], &actions, NULL, args, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (reason != 0)
        return reason;
    while (waitpid(child, wait_status, 0) < 0)
        if (errno != EINTR)
            return errno;
    return 0;
}

static npu_status judge(const char *what, int reason, int wait_status, FILE *errors,
                        npu_error *err) {
    if (reason == ENOENT ||
        (reason == 0 && WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 127))
        return npu_fail(err, NPU_IO, (npu_pos){0},
                        "%s needs the program gnuplot, which is not in PATH", what);
    if (reason != 0)
        return npu_fail(err, NPU_IO, (npu_pos){0}, "cannot run gnuplot: %s", strerror(reason));
    if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0)
        return NPU_OK;
    char complaint[512];
    read_complaint(errors, complaint, (int)sizeof complaint);
    return npu_fail(err, NPU_IO, (npu_pos){0}, "gnuplot failed: %s",
                    complaint[0] != '\0' ? complaint : "it gave no reason");
}

npu_status npu_gnuplot_png(npu_gnuplot_write *write, const void *subject, const char *what,
                           const char *png, npu_error *err) {
    assert(write != NULL && what != NULL && png != NULL);
    // Files instead of pipes: nothing can block, and a gnuplot that dies sends no signal here.
    FILE *script = tmpfile();
    FILE *errors = tmpfile();
    int target = open(png, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    npu_status status = NPU_OK;
    if (target < 0)
        status = npu_fail(err, NPU_IO, (npu_pos){.file = png}, "cannot write: %s", strerror(errno));
    else if (script == NULL || errors == NULL)
        status = npu_fail(err, NPU_IO, (npu_pos){0}, "cannot make a temporary file: %s",
                          strerror(errno));
    if (status == NPU_OK)
        status = write(subject, script, err);
    if (status == NPU_OK) {
        rewind(script);
        int wait_status = 0;
        int reason = run_gnuplot(script, target, errors, &wait_status);
        status = judge(what, reason, wait_status, errors, err);
    }
    if (script != NULL)
        fclose(script);
    if (errors != NULL)
        fclose(errors);
    if (target >= 0 && close(target) != 0 && status == NPU_OK)
        status = npu_fail(err, NPU_IO, (npu_pos){.file = png}, "cannot write: %s", strerror(errno));
    if (target >= 0 && status != NPU_OK)
        unlink(png);
    return status;
}
