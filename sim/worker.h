// SPDX-License-Identifier: Apache-2.0
// The worker's side of the dispatch protocol: what a core does with the tokens that the AICPU
// writes into its dispatch register, and what its status register shows. A core holds at most
// two tokens: the one it works on and one more, which it picks up as soon as it has written
// FIN of the first.
#ifndef NPU_WORKER_H
#define NPU_WORKER_H

#include "aicpu.h"

// A token as its core sees it, in the order in which the states are passed through.
typedef enum npu_token_state {
    NPU_TOKEN_NONE,
    NPU_TOKEN_CLAIMED, // the AICPU still builds the payload
    NPU_TOKEN_SENT,    // its register write is on the way
    NPU_TOKEN_SEEN,    // there, but the core is busy with another one
    NPU_TOKEN_SETUP,   // picked up: caches invalidated, arguments filled
    NPU_TOKEN_GATE,    // set up, waiting for the doorbell
    NPU_TOKEN_RUNNING, // ACK written, the kernel body runs
    NPU_TOKEN_ENDED,   // the body ended, FIN not yet written
    NPU_TOKEN_FIN,     // FIN written
} npu_token_state;

typedef struct npu_token {
    npu_token_state state;
    int task;
    int64_t block;
    int row;         // -1 until it is stamped
    uint32_t number; // counts the tokens of a core, from 1
    bool gated;      // the core fills the arguments itself and waits for a doorbell
    bool published;  // all writes of its batch are out, so its doorbell may be rung
    bool rung;       // the doorbell was written
    bool open;       // the core saw it
    double visible;  // FIN: from when on a status read shows it
} npu_token;

typedef struct npu_core {
    int thread; // the scheduler that owns it
    int bit;    // its place there
    npu_token tokens[2];
    int running; // the AICPU's books: tokens[running] is the running slot, the other one is
                 // the pending slot
    int working; // the token the core works on, -1 while it waits for one
    uint32_t tokens_sent;
} npu_core;

typedef struct npu_workers {
    // Something changed that a status read may show from now on.
    void (*changed)(void *owner);
    void *owner;   // of `changed`
    bool recorded; // a record is written behind each kernel
    const npu_die *die;
    npu_engine *engine;
    npu_aicpu_hooks hooks;
    npu_trace *trace;
    npu_core *cores;
} npu_workers;

// The token tokens[slot], stamped and with its row, is written `dt` from now.
void npu_worker_send(npu_workers *workers, int core, int slot, double dt);
// Its doorbell is written `dt` from now.
void npu_worker_ring(npu_workers *workers, int core, int slot, double dt);
// The kernel body on `core` ended now.
void npu_worker_done(npu_workers *workers, int core);

// What a read of the status register shows now: the slot whose token it names (-1: an older
// one, or none yet), and whether with FIN or with ACK.
typedef struct npu_core_status {
    int slot;
    bool fin;
} npu_core_status;
npu_core_status npu_worker_status(const npu_workers *workers, int core);

#endif
