// SPDX-License-Identifier: Apache-2.0
// A FIFO of tasks. The links live in an array that queues may share: a task is in at most one
// of the queues that share one, and at most once.
#ifndef NPU_QUEUE_H
#define NPU_QUEUE_H

#include <stdbool.h>

typedef struct npu_queue {
    int *next; // [tasks], shared; NPU_QUEUE_OUT when the task is in none
    int head, tail;
    int count;
} npu_queue;

enum { NPU_QUEUE_END = -1, NPU_QUEUE_OUT = -2 };

// `next` is borrowed and must hold NPU_QUEUE_OUT for every task.
void npu_queue_init(npu_queue *queue, int *next);
void npu_queue_push(npu_queue *queue, int task);
// In front of the first task with a lower rank, rank[task] being its own.
void npu_queue_push_ranked(npu_queue *queue, int task, const int *rank);
// The oldest task, or -1.
int npu_queue_pop(npu_queue *queue);
// Asserts that the chain is as long as the count says.
void npu_queue_check_invariants(const npu_queue *queue);

#endif
