// SPDX-License-Identifier: Apache-2.0
// Inside the core model: the state of one core's pipes. core.c fetches ops and resolves those
// of fixed cost; transfer.c carries out loads and stores; flags.c the cross-core flags.
#ifndef NPU_CORE_STATE_H
#define NPU_CORE_STATE_H

#include "core.h"
#include "cost.h"
#include "icache.h"
#include "program.h"

enum {
    QUEUE = 64,      // places in a pipe's queue; the die's depth is at most this
    HISTORY = 256,   // finish times a pipe remembers
    FLAG_MOST = 15,  // a flag counts to 15 (hardware notes 1b)
    FLAG_POSTS = 16, // times remembered of each flag
    INSTANCES = NPU_MAX_INSTANCES,
    PARTS = 4, // of a load's bytes, by the links that they cross
};

typedef struct queued { // an op that S has issued and that has not finished
    npu_op_kind kind;
    double ready;                 // ns, when S issued it, or later as far as is known
    uint32_t dep[NPU_PIPE_COUNT]; // per pipe: the op that must finish and has not, 0 = none
    double busy;                  // ns, ops of fixed cost
    int flag;
    // transfers
    npu_gm gm;
    bool atomic, bypass;
    double first_at, last_at; // ns, earliest time of the first and of the last byte
    double bytes[PARTS];      // to move: misses, hits, crowded misses, crowded hits; or written
    double began;             // ns, when it took the pipe
} queued;

typedef struct pipe_state {
    uint32_t issued;   // ops put into the queue
    uint32_t started;  // ops that have left the queue for the pipe
    uint32_t resolved; // ops whose finish is known
    double free;       // ns, when the pipe can take the next op
    double finish;     // ns, latest finish
    double window;     // ns, until when the lines in flight are taken (MTE2)
    double visible;    // ns, when what was stored can be seen by others
    double busy;       // ns, of this block
    bool waiting;      // a request timer is set (transfers)
    bool flowing;      // a first-byte timer is set or bytes move (transfers)
    queued queue[QUEUE];
    double starts[QUEUE];
    double history[HISTORY]; // finish of op i at i % HISTORY
} pipe_state;

// Which op of each pipe last wrote and last read a slot copy.
typedef struct slot_use {
    uint32_t written[NPU_PIPE_COUNT];
    uint32_t read[NPU_PIPE_COUNT];
} slot_use;

// The times at which one core raised a flag, or took it.
typedef struct flag_line {
    uint32_t count;
    double at[FLAG_POSTS]; // of the n-th (from 0) at n % FLAG_POSTS
} flag_line;

typedef struct core_state {
    struct npu_cores *all;
    int index;
    npu_engine_type type;
    int cluster, lane;
    int row;        // of the trace, -1 when idle
    uint32_t mixes; // MIX blocks that have ended here; a cluster's cores take them in one order
    bool ending;    // the event that ends the block is under way
    npu_stream stream;
    bool more;    // the stream has not ended
    bool fetched; // `op` holds an op that S has not issued yet
    npu_op op;
    double s_time; // ns, where the scalar unit is
    double s_busy; // ns
    pipe_state pipes[NPU_PIPE_COUNT];
    slot_use slots[INSTANCES];
    int16_t bank_group[INSTANCES]; // of UB, in which a slot copy starts
    bool one_block[INSTANCES];     // rows of a slot copy are one block of UB
    int pending_events;            // timers and flows of this block under way
    bool waking;                   // another core has changed a flag; also between blocks
    bool awaiting;                 // S spins on a counter that has not reached its value
    bool advancing;
    flag_line raised[NPU_FLAGS]; // by this core
    flag_line taken[NPU_FLAGS];  // by this core: it has waited for them
    npu_op_kind held;            // what a pipe of this core was held at last: SIGNAL or WAIT
    int held_flag;
    uint32_t row_ops;
    int64_t read_bytes, write_bytes;
} core_state;

struct npu_cores {
    const npu_die *die;
    const npu_graph *graph;
    npu_engine *engine;
    npu_dies *dies;
    int rank;
    npu_sdma *sdma;
    struct npu_images *images; // NULL: there are none
    npu_icache *icache;
    npu_trace *trace;
    npu_cores_hooks hooks;
    double cycle; // ns
    core_state *cores;
    int core_count, clusters;
    npu_error error;
    npu_status status;
};

static inline queued *queue_at(pipe_state *p, uint32_t seq) {
    return &p->queue[seq % QUEUE];
}

// Finish of op `seq`, which is known. One that is forgotten finished no later than the oldest
// remembered, because a pipe finishes in order; and that is soon enough for an op that S issues
// now, as S is never further ahead of a pipe than its queue is deep. Ops in queues do not wait
// until theirs is forgotten (npu_core_resolve).
static inline double finish_of(const pipe_state *p, uint32_t seq) {
    uint32_t oldest = p->resolved >= HISTORY ? p->resolved - HISTORY + 1 : 1;
    return p->history[(seq < oldest ? oldest : seq) % HISTORY];
}

// What the bytes of an argument of the block's task count as.
static inline npu_class npu_core_class(const core_state *core, int arg) {
    const npu_graph *graph = core->all->graph;
    const npu_task *task = &graph->tasks[core->all->trace->rows[core->row].task];
    return graph->tensors[graph->args[task->first_arg + arg].tensor].class_;
}

// core.c
void npu_core_advance(core_state *core);
void npu_core_fail(struct npu_cores *cores, npu_status status);
// Moves what is known of the slots an op needs into q->ready; false while an op it depends on
// is not resolved.
bool npu_core_ready(const core_state *core, queued *q);
// Records the finish of the next op of a pipe, and when ops that depend on it may start.
void npu_core_resolve(core_state *core, npu_pipe pipe, double finish, double done);

// transfer.c: does what can be done on a pipe of transfers; true when something changed.
bool npu_core_transfer(core_state *core, npu_pipe pipe);

// remote.c: ops of S that tell other dies, and wait for them; false while S must wait.
bool npu_core_notify(core_state *core, const npu_op *op);
bool npu_core_await(core_state *core, const npu_op *op);
bool npu_core_drain(core_state *core);
// An error unless the op's region lies on one die (and, if `here`, on this one).
bool npu_core_reaches(core_state *core, const npu_op *op, bool here);

// flags.c
// The core goes on from an event of its own, so that cores never run inside each other.
void npu_core_wake_soon(core_state *core);
// Raises a flag of this core at *at (ns, may lie ahead), which becomes later when the count is
// full until then. False when it is full and nobody has taken the flag yet.
bool npu_core_raise(core_state *core, int flag, double *at);
// Takes a flag at *at, which becomes later when it is raised later. False while it is not.
bool npu_core_take(core_state *core, int flag, double *at);
// The core has nothing under way: fails when its block can never end.
void npu_core_check_stuck(core_state *core);
// A block has ended on this core: the others of its cluster may wait in vain now.
void npu_core_check_mates(core_state *core);

#endif
