// SPDX-License-Identifier: Apache-2.0
#include "child.h"

#include <string.h>

#include "pool.h"

typedef struct call {
    npu_status (*work)(const void *arg, void *result, npu_error *err);
    const void *arg;
    void *result;
    size_t size;
    npu_status status;
    npu_error *err;
} call;

static npu_status work(void *owner, int job, const void *order, void *result, npu_error *err) {
    const call *c = owner;
    (void)job;
    (void)order;
    return c->work(c->arg, result, err);
}

static void done(void *owner, int job, npu_status status, const npu_error *error,
                 const void *result) {
    call *c = owner;
    (void)job;
    memcpy(c->result, result, c->size);
    c->status = status ? npu_fail(c->err, status, (npu_pos){0}, "%s", error->text) : NPU_OK;
}

npu_status npu_in_child(npu_status (*call_work)(const void *arg, void *result, npu_error *err),
                        const void *arg, void *result, size_t size, npu_error *err) {
    call c = {.work = call_work, .arg = arg, .result = result, .size = size, .err = err};
    npu_pool pool = {
        .jobs = 1, .parallel = 1, .result_size = size, .owner = &c, .work = work, .done = done};
    npu_status status = npu_pool_run(&pool, err);
    return status ? status : c.status;
}
