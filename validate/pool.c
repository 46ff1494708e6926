// SPDX-License-Identifier: Apache-2.0
#include "pool.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// What a child sends; the result follows, aligned for anything.
typedef struct answer {
    _Alignas(max_align_t) npu_status status;
    npu_error error;
} answer;

typedef struct worker {
    int job; // -1: idle
    pid_t pid;
    int fd;
    unsigned char *bytes; // an answer and the result
    size_t have;
} worker;

static size_t answer_size(const npu_pool *pool) {
    return sizeof(answer) + pool->result_size;
}

static void send_all(int fd, const unsigned char *bytes, size_t size) {
    while (size > 0) {
        ssize_t n = write(fd, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        bytes += n;
        size -= (size_t)n;
    }
}

// In the child; does not return. The buffer is the child's own copy.
static void run_child(const npu_pool *pool, worker *w, int job, int fd) {
    answer a = {.status = NPU_OK};
    assert(w->bytes != NULL);
    memset(w->bytes, 0, answer_size(pool));
    a.status = pool->work(pool->owner, job, w->bytes + sizeof a, &a.error);
    memcpy(w->bytes, &a, sizeof a);
    send_all(fd, w->bytes, answer_size(pool));
    _exit(0);
}

static npu_status start(const npu_pool *pool, worker *w, int job, npu_error *err) {
    int ends[2];
    assert(w->job < 0);
    fflush(NULL); // what is buffered must not be written by both
    if (pipe(ends) != 0)
        return npu_fail(err, NPU_IO, (npu_pos){0}, "cannot make a pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid < 0) {
        int reason = errno;
        close(ends[0]);
        close(ends[1]);
        return npu_fail(err, NPU_IO, (npu_pos){0}, "cannot start a process: %s", strerror(reason));
    }
    if (pid == 0) {
        close(ends[0]);
        run_child(pool, w, job, ends[1]);
    }
    close(ends[1]);
    *w = (worker){.job = job, .pid = pid, .fd = ends[0], .bytes = w->bytes};
    return NPU_OK;
}

static int wait_for(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return 0;
    return status;
}

static void finish(const npu_pool *pool, worker *w) {
    answer a = {.status = NPU_BAD_INPUT};
    assert(w->job >= 0 && w->job < pool->jobs);
    close(w->fd);
    int status = wait_for(w->pid);
    if (w->have == answer_size(pool))
        memcpy(&a, w->bytes, sizeof a);
    else if (WIFSIGNALED(status))
        npu_fail(&a.error, a.status, (npu_pos){0}, "the simulation died of signal %d (%s)",
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        npu_fail(&a.error, a.status, (npu_pos){0}, "the simulation ended without a result");
    int job = w->job;
    w->job = -1;
    pool->done(pool->owner, job, a.status, &a.error, w->bytes + sizeof a);
}

static void receive(const npu_pool *pool, worker *w) {
    assert(w->have <= answer_size(pool));
    size_t room = answer_size(pool) - w->have;
    unsigned char more;
    ssize_t n = read(w->fd, room > 0 ? w->bytes + w->have : &more, room > 0 ? room : 1);
    if (n > 0 && room > 0)
        w->have += (size_t)n;
    else if (n == 0 || (n < 0 && errno != EINTR))
        finish(pool, w);
}

static void wait_and_receive(const npu_pool *pool, worker *workers, struct pollfd *fds) {
    int count = 0;
    for (int i = 0; i < pool->parallel; i++)
        if (workers[i].job >= 0)
            fds[count++] = (struct pollfd){.fd = workers[i].fd, .events = POLLIN};
    assert(count > 0);
    while (poll(fds, (nfds_t)count, -1) < 0 && errno == EINTR)
        ;
    for (int i = 0, at = 0; i < pool->parallel; i++)
        if (workers[i].job >= 0 && fds[at++].revents != 0)
            receive(pool, &workers[i]);
}

static npu_status run(const npu_pool *pool, worker *workers, struct pollfd *fds, npu_error *err) {
    assert(workers != NULL && fds != NULL);
    npu_status status = NPU_OK;
    int next = 0, running = 0;
    while (running > 0 || (next < pool->jobs && !status)) {
        running = 0;
        for (int i = 0; i < pool->parallel; i++) {
            if (workers[i].job < 0 && next < pool->jobs && !status)
                status = start(pool, &workers[i], next++, err);
            running += workers[i].job >= 0;
        }
        if (status) // nobody wants the results any more
            for (int i = 0; i < pool->parallel; i++)
                if (workers[i].job >= 0)
                    kill(workers[i].pid, SIGTERM);
        if (running > 0)
            wait_and_receive(pool, workers, fds);
    }
    return status;
}

npu_status npu_pool_run(const npu_pool *pool, npu_error *err) {
    assert(pool->parallel >= 1 && pool->jobs >= 0);
    npu_pool p = *pool;
    p.parallel = p.parallel < p.jobs ? p.parallel : p.jobs;
    if (p.parallel == 0)
        return NPU_OK;
    size_t count = (size_t)p.parallel;
    worker *workers = calloc(count, sizeof *workers);
    struct pollfd *fds = calloc(count, sizeof *fds);
    npu_status status = workers != NULL && fds != NULL ? NPU_OK : npu_fail_memory(err);
    for (int i = 0; i < p.parallel && workers != NULL; i++) {
        workers[i].job = -1;
        workers[i].bytes = calloc(1, answer_size(&p));
        if (workers[i].bytes == NULL)
            status = npu_fail_memory(err);
    }
    if (!status)
        status = run(&p, workers, fds, err);
    for (int i = 0; i < p.parallel && workers != NULL; i++)
        free(workers[i].bytes);
    free(workers);
    free(fds);
    return status;
}
