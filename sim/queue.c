// SPDX-License-Identifier: Apache-2.0
#include "queue.h"

#include <assert.h>
#include <stddef.h>

void npu_queue_init(npu_queue *queue, int *next) {
    *queue = (npu_queue){.next = next, .head = NPU_QUEUE_END, .tail = NPU_QUEUE_END};
}

void npu_queue_push(npu_queue *queue, int task) {
    assert(queue->next[task] == NPU_QUEUE_OUT && "a task queued twice");
    queue->next[task] = NPU_QUEUE_END;
    if (queue->count == 0)
        queue->head = task;
    else
        queue->next[queue->tail] = task;
    queue->tail = task;
    queue->count++;
}

void npu_queue_push_ranked(npu_queue *queue, int task, const int *rank) {
    int before = NPU_QUEUE_END;
    int at = queue->count > 0 ? queue->head : NPU_QUEUE_END;
    while (at != NPU_QUEUE_END && rank[at] >= rank[task]) {
        before = at;
        at = queue->next[at];
    }
    if (at == NPU_QUEUE_END) {
        npu_queue_push(queue, task);
        return;
    }
    assert(queue->next[task] == NPU_QUEUE_OUT && "a task queued twice");
    queue->next[task] = at;
    if (before == NPU_QUEUE_END)
        queue->head = task;
    else
        queue->next[before] = task;
    queue->count++;
}

int npu_queue_pop(npu_queue *queue) {
    if (queue->count == 0)
        return -1;
    int task = queue->head;
    queue->head = queue->next[task];
    queue->next[task] = NPU_QUEUE_OUT;
    queue->count--;
    return task;
}

void npu_queue_check_invariants(const npu_queue *queue) {
    int count = 0;
    int last = NPU_QUEUE_END;
    for (int task = queue->count > 0 ? queue->head : NPU_QUEUE_END; task != NPU_QUEUE_END;
         task = queue->next[task]) {
        assert(task >= 0 && count < queue->count);
        last = task;
        count++;
    }
    assert(count == queue->count);
    assert(count == 0 || last == queue->tail);
}
