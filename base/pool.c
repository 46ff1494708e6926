// SPDX-License-Identifier: Apache-2.0
#include "pool.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { IDLE = -1 };

// What a child sends; the result follows, aligned for anything.
typedef struct answer {
    _Alignas(max_align_t) npu_status status;
    npu_error error;
} answer;

typedef struct npu_worker {
    int job;              // or IDLE
    pid_t pid;            // 0: no process
    int fd;               // a socket to it
    unsigned char *bytes; // an answer and the result
    size_t have;
} worker;

static size_t answer_size(const npu_pool *pool) {
    return sizeof(answer) + pool->result_size;
}

// A socket whose other end is gone is an error here, not a signal.
static bool send_all(int fd, const void *data, size_t size) {
    const unsigned char *at = data;
    while (size > 0) {
        ssize_t n = send(fd, at, size, MSG_NOSIGNAL);
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
    unsigned char *at = data;
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

// ---- a child -------------------------------------------------------------------------------

// Does not return. The buffers are the child's own copies.
static void run_child(const npu_pool *pool, worker *w, unsigned char *order, int fd) {
    int job = 0;
    assert(w->bytes != NULL && order != NULL);
    while (receive_all(fd, &job, sizeof job) && receive_all(fd, order, pool->order_size)) {
        answer a = {.status = NPU_OK};
        memset(w->bytes, 0, answer_size(pool));
        a.status = pool->work(pool->owner, job, order, w->bytes + sizeof a, &a.error);
        memcpy(w->bytes, &a, sizeof a);
        if (!send_all(fd, w->bytes, answer_size(pool)) || !pool->lasting)
            break;
    }
    _exit(0);
}

static npu_status start(const npu_pool *pool, worker *w, unsigned char *order, npu_error *err) {
    int ends[2];
    fflush(NULL); // what is buffered must not be written by both
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return npu_fail(err, NPU_IO, (npu_pos){0}, "cannot make a socket: %s", strerror(errno));
    pid_t pid = fork();
    if (pid < 0) {
        int reason = errno;
        close(ends[0]);
        close(ends[1]);
        return npu_fail(err, NPU_IO, (npu_pos){0}, "cannot start a process: %s", strerror(reason));
    }
    if (pid == 0) {
        // An end that a sibling's child held open would hide that this process is gone.
        for (int i = 0; i < pool->parallel; i++)
            if (pool->workers[i].pid != 0)
                close(pool->workers[i].fd);
        close(ends[0]);
        run_child(pool, w, order, ends[1]);
    }
    close(ends[1]);
    w->pid = pid;
    w->fd = ends[0];
    return NPU_OK;
}

// ---- the parent ----------------------------------------------------------------------------

// Ends a process; returns how it ended.
static int stop(worker *w) {
    int status = 0;
    if (w->pid == 0)
        return status;
    close(w->fd); // a child that waits for an order goes
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
        ;
    w->pid = 0;
    w->job = IDLE;
    return status;
}

static npu_status give(const npu_pool *pool, worker *w, int job, unsigned char *order,
                       npu_error *err) {
    assert(w->job == IDLE);
    npu_status status = w->pid == 0 ? start(pool, w, order, err) : NPU_OK;
    if (status)
        return status;
    if (pool->order != NULL)
        pool->order(pool->owner, job, order);
    w->job = job;
    w->have = 0;
    // A process that is gone is found by reading from it.
    if (send_all(w->fd, &job, sizeof job))
        send_all(w->fd, order, pool->order_size);
    return NPU_OK;
}

static void finish(const npu_pool *pool, worker *w) {
    answer a = {.status = NPU_BAD_INPUT};
    int job = w->job, status = 0;
    bool complete = w->have == answer_size(pool);
    assert(job >= 0 && job < pool->jobs);
    if (!complete || !pool->lasting)
        status = stop(w);
    if (complete)
        memcpy(&a, w->bytes, sizeof a);
    else if (WIFSIGNALED(status))
        npu_fail(&a.error, a.status, (npu_pos){0}, "the simulation died of signal %d (%s)",
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        npu_fail(&a.error, a.status, (npu_pos){0}, "the simulation ended without a result");
    w->job = IDLE;
    pool->done(pool->owner, job, a.status, &a.error, w->bytes + sizeof a);
}

static void receive(const npu_pool *pool, worker *w) {
    assert(w->have < answer_size(pool));
    ssize_t n = read(w->fd, w->bytes + w->have, answer_size(pool) - w->have);
    if (n > 0)
        w->have += (size_t)n;
    if (n == 0 || (n < 0 && errno != EINTR) || w->have == answer_size(pool))
        finish(pool, w);
}

static void wait_and_receive(const npu_pool *pool, struct pollfd *fds) {
    int count = 0;
    for (int i = 0; i < pool->parallel; i++)
        if (pool->workers[i].job != IDLE)
            fds[count++] = (struct pollfd){.fd = pool->workers[i].fd, .events = POLLIN};
    assert(count > 0);
    while (poll(fds, (nfds_t)count, -1) < 0 && errno == EINTR)
        ;
    for (int i = 0, at = 0; i < pool->parallel; i++)
        if (pool->workers[i].job != IDLE && fds[at++].revents != 0)
            receive(pool, &pool->workers[i]);
}

static npu_status run(const npu_pool *pool, unsigned char *order, struct pollfd *fds,
                      npu_error *err) {
    npu_status status = NPU_OK;
    int next = 0, running = 0;
    while (running > 0 || (next < pool->jobs && !status)) {
        running = 0;
        for (int i = 0; i < pool->parallel; i++) {
            worker *w = &pool->workers[i];
            if (w->job == IDLE && next < pool->jobs && !status)
                status = give(pool, w, next++, order, err);
            running += w->job != IDLE;
        }
        if (status) // nobody wants the results any more
            for (int i = 0; i < pool->parallel; i++)
                if (pool->workers[i].job != IDLE)
                    kill(pool->workers[i].pid, SIGTERM);
        if (running > 0)
            wait_and_receive(pool, fds);
    }
    return status;
}

static npu_status make_workers(npu_pool *pool, npu_error *err) {
    if (pool->workers != NULL)
        return NPU_OK;
    pool->workers = calloc((size_t)pool->parallel, sizeof *pool->workers);
    if (pool->workers == NULL)
        return npu_fail_memory(err);
    npu_status status = NPU_OK;
    for (int i = 0; i < pool->parallel && !status; i++) {
        pool->workers[i].job = IDLE;
        pool->workers[i].bytes = calloc(1, answer_size(pool));
        if (pool->workers[i].bytes == NULL)
            status = npu_fail_memory(err);
    }
    return status;
}

npu_status npu_pool_run(npu_pool *pool, npu_error *err) {
    assert(pool->parallel >= 1 && pool->jobs >= 0);
    unsigned char *order = calloc(1, pool->order_size + 1);
    struct pollfd *fds = calloc((size_t)pool->parallel, sizeof *fds);
    npu_status status = order != NULL && fds != NULL ? NPU_OK : npu_fail_memory(err);
    if (!status)
        status = make_workers(pool, err);
    if (!status)
        status = run(pool, order, fds, err);
    free(order);
    free(fds);
    if (status || !pool->lasting)
        npu_pool_close(pool);
    return status;
}

void npu_pool_close(npu_pool *pool) {
    for (int i = 0; i < pool->parallel && pool->workers != NULL; i++) {
        stop(&pool->workers[i]);
        free(pool->workers[i].bytes);
    }
    free(pool->workers);
    pool->workers = NULL;
}
