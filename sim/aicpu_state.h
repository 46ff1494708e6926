// SPDX-License-Identifier: Apache-2.0
// What the AICPU's parts share: the books about tasks, queues and threads. The rule of time
// that all of them keep: an action takes effect at the end of the time that it costs. A
// thread is therefore a chain of steps, each waiting for its own cost and then acting on the
// state that it finds.
#ifndef NPU_AICPU_STATE_H
#define NPU_AICPU_STATE_H

#include "aicpu.h"
#include "queue.h"
#include "worker.h"

// The runtime keeps a thread's cores in one 64-bit word, three bits per cluster: AIC, AIV0,
// AIV1, clusters ascending.
enum { NPU_THREAD_CLUSTERS = 21, NPU_THREAD_CORES = 3 * NPU_THREAD_CLUSTERS };
#define NPU_AIC_BITS UINT64_C(0x1249249249249249)

enum { NPU_SHAPES = 3 }; // queues: NPU_AIC, NPU_AIV, NPU_MIX

// Where dispatch takes tasks from: cohorts that start together, ready tasks, and tasks that
// are staged behind a gate before they are ready.
typedef enum npu_tier { NPU_TIER_SYNC, NPU_TIER_READY, NPU_TIER_EARLY, NPU_TIERS } npu_tier;

typedef enum npu_early_state {
    NPU_EARLY_NONE,
    NPU_EARLY_STAGING, // a candidate: its blocks are gated
    NPU_EARLY_OVER,    // its producers completed
} npu_early_state;

typedef struct npu_task_state {
    int width;                  // cores per block
    int first_link, link_count; // its producers
    int fan_out;                // first link to a consumer that waits, -1
    int entries;                // that it got in the lists of its producers
    int holders;                // consumers that have not let go of it
    int ring_next;              // the task submitted to its ring after it, -1
    int64_t heap_end;           // where its outputs end in its ring's heap
    int64_t limit;              // blocks that may be claimed so far: all, or those of the wave
    int live;                   // producers not complete
    int unlaunched;             // producers neither launched nor complete
    bool may_early;             // every producer is flagged early
    bool submitted;
    bool launched; // every block is on a core, ungated (flagged tasks only)
    bool complete;
    bool freed;  // its slot
    bool let_go; // of its producers, some time after it completed
    npu_early_state early;
    int64_t next_block; // the first that no thread has claimed
    int64_t published;  // blocks whose tokens are written
    int64_t finished;   // cores that the AICPU saw finish
} npu_task_state;

typedef struct npu_task_link { // one per pair of tasks joined by edges
    int pred, succ;
    int next;     // of the producer's fan-out list
    bool retains; // explicit and creator edges: the producer's slot is kept for the consumer
    bool holds;   // .. and now it is
} npu_task_link;

// Tasks of one scope depth, in the order of submission; freed in this order only.
typedef struct npu_ring {
    int oldest, newest; // -1
    int64_t tasks;
    int64_t deps;                // entries that its tasks hold in lists of producers
    int64_t heap_top, heap_tail; // bytes: where the next output goes, where the oldest begins
} npu_ring;

typedef struct npu_date { // a place in a core's calendar
    int task, next;
    int64_t block;
} npu_date;

// The thread without cores that resolves completions when the host built the graph.
typedef struct npu_resolver {
    npu_queue *finished; // [threads] what each has seen complete
    int *wake;           // [tasks] the first task that waits for this one, -1
    int *wake_next;      // [tasks] the next one that waits for the same, -1
    int task, waiter;    // being resolved
    bool asleep;
    double sleep_from;
    double busy;
} npu_resolver;

typedef struct npu_thread npu_thread;
typedef void (*npu_step)(npu_aicpu *a, npu_thread *t);

typedef struct npu_claim { // one core of one claimed block, on the way to its register
    int core, slot;
    bool first; // of its block
} npu_claim;

struct npu_thread {
    int id;
    int cores[NPU_THREAD_CORES];
    uint64_t all;
    uint64_t idle; // running slot empty
    uint64_t open; // running slot ACKed, pending slot empty
    npu_step next; // what the event under way continues with
    bool idling;   // it is an idle spin
    bool stopped;
    // Asleep: its iterations would all be the same until something changes (aicpu_sleep.c).
    bool asleep;
    double sleep_from;    // when the next iteration would begin
    uint64_t sleep_sweep; // cores that an iteration reads
    int64_t round_misses; // pop_miss of one iteration
    int64_t round_change; // npu_aicpu.changes when the iteration began
    double busy;
    int64_t iteration;
    bool progress; // this iteration completed, retired or published something
    // the outer phase being recorded
    double phase_start;
    int phase_depth[NPU_SHAPES];
    // polling
    uint64_t sweep; // cores still to read
    int reading;
    int64_t retired; // sub-tasks seen finished in this sweep
    // resolving: the tasks to complete, then where to go on
    int *resolve;
    int resolve_count, resolve_at;
    npu_step resolved;
    double resolve_start;
    int link; // the next consumer
    int64_t visited;
    bool late; // the consumers have not counted this producer as launched
    // dispatch: the step of the staging order, the tasks popped in it, the blocks claimed
    npu_tier tier;
    int stage;
    bool singles_wait; // MIX work remains: AIC and AIV are skipped
    bool entered_drain;
    int batch[NPU_THREAD_CORES];
    int batch_count, batch_at;
    bool placed; // something of the batch
    npu_claim claims[NPU_THREAD_CORES];
    int claim_count;
    bool draining;                 // the claims are this thread's share of a drain
    int64_t out_cores, out_blocks; // published in this phase
    int64_t pop_hit, pop_miss;
    bool vain;    // this iteration popped tasks that it could not place
    int *release; // completed tasks that still hold their producers
    int release_count;
};

struct npu_aicpu {
    const npu_die *die;
    const npu_graph *graph;
    npu_engine *engine;
    npu_trace *trace;
    npu_workers workers;
    int core_count;
    npu_task_state *tasks;
    npu_task_link *links;
    int link_count;
    npu_thread *threads;
    int thread_count;
    npu_queue queues[NPU_TIERS][NPU_SHAPES]; // the first tier's are for sync_start
    npu_queue dummies;
    // the orchestrator
    bool recorded; // recording the swimlane takes time
    int submitted;
    double submit_start;
    double submit_busy;
    bool submit_waits; // for a slot or a value: it goes on when something is freed or completes
    int read_back;     // the next one
    npu_ring *rings;
    bool *closed;           // [scopes]
    npu_resolver *resolver; // NULL: the orchestrator builds the graph
    int *path;              // policies: see aicpu_policy.c
    npu_date *slots;
    int *calendar; // [cores] first of each, -1
    // sync_start drain
    int drain;         // the task that waits for the die, -1
    int drain_waiting; // threads that stopped for it
    int drain_staging; // threads that still place their share
    int completed;
    int64_t changes;   // that a thread could see
    int64_t in_flight; // tokens in slots
    npu_status status;
    npu_error error;
    npu_arena arena;
};

static inline int npu_shape(const npu_aicpu *a, int task) {
    return (int)a->graph->tasks[task].engine;
}

static inline double npu_now(const npu_aicpu *a) {
    return npu_engine_now(a->engine);
}

// aicpu.c
// The thread works for dt, then does `next`.
void npu_aicpu_spend(npu_aicpu *a, npu_thread *t, double dt, npu_step next);
// The same in a spin: this time is not busy. One spin takes die->aicpu.idle.
void npu_aicpu_idle(npu_aicpu *a, npu_thread *t, double dt, npu_step next);
// The thread has nothing left to do; with the last one the trace's phases are put in order.
void npu_aicpu_stopped(npu_aicpu *a, npu_thread *t);
// Ends the run with the error that the callback filled.
void npu_aicpu_fail(npu_aicpu *a, npu_status status);
// An outer phase starts here; and ends here, and is recorded.
void npu_aicpu_phase_begin(npu_aicpu *a, npu_thread *t);
void npu_aicpu_phase_end(npu_aicpu *a, npu_thread *t, npu_phase_kind kind, int64_t processed);
// A phase inside an outer one, or a marker.
void npu_aicpu_phase_inner(npu_aicpu *a, npu_thread *t, npu_phase_kind kind, double start,
                           int64_t processed, int task);

// aicpu_orch.c
npu_status npu_aicpu_link_tasks(npu_aicpu *a, npu_error *err);
// Begins the next submit, or the wait before it.
void npu_aicpu_submit_next(npu_aicpu *a);
// Something completed or was freed: the orchestrator goes on if that is what it waits for.
void npu_aicpu_submit_retry(npu_aicpu *a);
// One producer less that is neither launched nor complete.
void npu_aicpu_producer_launched(npu_aicpu *a, int task);
// Every block may have been launched now: tells the consumers, once.
void npu_aicpu_launched(npu_aicpu *a, int task);

// aicpu_ring.c
npu_status npu_aicpu_rings_new(npu_aicpu *a, npu_error *err);
// Is there room for the task? Fills a->error and ends the run when there never will be.
bool npu_aicpu_ring_room(npu_aicpu *a, int task);
// It takes its slot; `deps` are the entries that it got.
void npu_aicpu_ring_take(npu_aicpu *a, int task);
void npu_aicpu_ring_deps(npu_aicpu *a, int task);
// The task is the last that was submitted: closes the scopes that end with it.
void npu_aicpu_close_scopes(npu_aicpu *a, int task);
// The task completed on this thread, which lets go of its producers some time later; and now.
void npu_aicpu_defer_release(npu_aicpu *a, npu_thread *t, int task);
void npu_aicpu_release(npu_aicpu *a, npu_thread *t);

// aicpu_host.c
npu_status npu_aicpu_host_new(npu_aicpu *a, npu_error *err);
void npu_aicpu_host_begin(npu_aicpu *a);
// The thread hands over what it has seen complete.
void npu_aicpu_host_take(npu_aicpu *a, npu_thread *t);
bool npu_aicpu_host_idle(const npu_aicpu *a);

// aicpu_policy.c
npu_status npu_aicpu_policy_new(npu_aicpu *a, npu_error *err);
// To its place in the queue.
void npu_aicpu_push(npu_aicpu *a, npu_queue *queue, int task);
// Which of `units` may take blocks of the task, for another reason than being free.
uint64_t npu_aicpu_policy_units(npu_aicpu *a, const npu_thread *t, int task, uint64_t units,
                                bool pending);
// The unit that takes the next block, as the bit of its first core.
int npu_aicpu_policy_unit(const npu_aicpu *a, const npu_thread *t, int task, uint64_t units);
// The block that it takes; `next` unless a calendar says otherwise.
int64_t npu_aicpu_policy_block(npu_aicpu *a, const npu_thread *t, int task, int bit, int64_t next);
// Blocks of a shape that the die can hold in running slots.
int npu_aicpu_room(const npu_aicpu *a, int shape);

// aicpu_loop.c
void npu_aicpu_loop(npu_aicpu *a, npu_thread *t);
void npu_aicpu_loop_end(npu_aicpu *a, npu_thread *t);
void npu_aicpu_drained(npu_aicpu *a, npu_thread *t);

// The status of t->reading is read now.
void npu_aicpu_read_status(npu_aicpu *a, npu_thread *t);

// aicpu_sleep.c: after an iteration that did nothing.
void npu_aicpu_rest(npu_aicpu *a, npu_thread *t);
// Something changed now that a thread could see: those asleep go on where they would be.
void npu_aicpu_wake(npu_aicpu *a);

// aicpu_resolve.c
// The status of t->reading was read now: books it. True when t->resolve holds tasks.
bool npu_aicpu_read(npu_aicpu *a, npu_thread *t);
bool npu_aicpu_gated(const npu_aicpu *a, const npu_token *token);
// Completes the tasks in t->resolve, then goes on with t->resolved.
void npu_aicpu_resolve(npu_aicpu *a, npu_thread *t);
// The last producer is complete: doorbells of what is staged, the rest to its ready queue.
// Returns the number of register writes.
int npu_aicpu_ready(npu_aicpu *a, int task);

// aicpu_dispatch.c
void npu_aicpu_dispatch(npu_aicpu *a, npu_thread *t);
// Cores (for MIX: clusters, by their AIC) that can take a block.
uint64_t npu_aicpu_units(const npu_thread *t, int shape, bool pending);
static inline int npu_count_bits(uint64_t bits) {
    return __builtin_popcountll(bits);
}
// The thread claims its share of a drained task and goes on with npu_aicpu_drained.
void npu_aicpu_stage_share(npu_aicpu *a, npu_thread *t, int task);

// aicpu_check.c
// Asserts what must hold between any two events.
void npu_aicpu_check_invariants(const npu_aicpu *a);
// Nothing is under way that could ever make another task ready.
bool npu_aicpu_stuck(const npu_aicpu *a, const npu_thread *self);
npu_status npu_aicpu_stuck_error(const npu_aicpu *a, npu_error *err);

#endif
