// SPDX-License-Identifier: Apache-2.0
// The die: every number that describes hardware, read from configs/die/*.yaml with its unit,
// its confidence and its source (docs/die.md). Code holds none.
//
// Inside: ns, bytes, bytes per ns (= GB/s), cycles of the core clock. After npu_die_load every
// number is finite and within what its field allows.
#ifndef NPU_DIE_H
#define NPU_DIE_H

#include "error.h"
#include "graph.h"
#include "mem.h"
#include "tile.h"

typedef struct npu_vec_cost { // one vector op on a tile of `rows` x `cols`
    double startup;           // cycles until the first result, hidden inside a stream of ops
    double per_repeat;        // cycles per vector.bytes of the tile (4 or 2 byte dtypes alike)
    double per_row;           // cycles per row on top (reductions, gathers, expands)
} npu_vec_cost;

typedef struct npu_core_port { // per AIC or per AIV, between the core and GM
    double read;               // bytes per cycle the port takes in (L2 hits reach it)
    double write;              // bytes per cycle it sends
    double outstanding;        // L2 lines in flight: rate <= outstanding * line / latency
} npu_core_port;

typedef struct npu_die {
    const char *name;
    const char *path;
    // cores and clusters
    double clock;    // GHz = cycles per ns
    double clusters; // each 1 AIC + 2 AIV
    // buffers: bytes, and alignment in bytes
    double buffer[NPU_BUFFER_COUNT];
    double align[NPU_BUFFER_COUNT];
    double min_alloc;
    // pipes and instruction costs, cycles
    struct {
        double issue;       // S: cycles to issue one op to its pipe
        double op;          // S: cycles of one plain scalar instruction
        double gm;          // S: cycles of one scalar load or store to GM
        double read;        // S: cycles to read what a vector op left, beyond waiting for it
        double queue_depth; // ops a pipe's queue holds before S stalls
        double flag;        // cycles from a cross-core flag raised to the waiter released
    } scalar;
    struct {
        double size, line;  // bytes
        double instruction; // bytes of one
        double miss;        // ns that S waits for a line
    } icache;
    struct {
        double mac_fp16, mac_int8, mac_fp32; // MAC per cycle; bf16 as fp16
        double fractal;                      // rows of m and n computed together (16)
        double fractal_bytes;                // bytes of k in one fractal (32)
        double head;                         // cycles per matmul instruction
        double unit_flag_head;               // the same when it hands over to FIXPIPE unit by unit
    } cube;
    struct {
        double l0a, l0b; // bytes per cycle
        double issue;    // cycles per instruction on top
    } mte1;
    struct {
        double issue;   // MTE2, MTE3: cycles between the starts of two instructions
        double per_row; // cycles per contiguous run
    } mte;
    struct {
        double fixed;     // cycles per tile drained
        double row_floor; // cycles per row at least
        double bytes;     // bytes of L0C (4 per element) per cycle for wide rows
        double odd;       // cycles per row and per (odd part of ceil(n / 8)) - 1
    } fixpipe;
    struct {
        double bytes;       // per repeat (256)
        double partial_row; // cycles on top when rows are no multiple of a repeat
        double bank_groups; // of UB; neighbours in address, bank_row bytes each
        double bank_row;
        double bank_conflict; // cycles per repeat at least when both sources lie in one group
        double broadcast;     // the same when a source has one bank_row for a whole row
        npu_vec_cost ops[NPU_VEC_COUNT];
    } vector;
    npu_core_port aic, aiv;
    // memory
    struct {
        double size, line;
        double sector;        // bytes of a line that cross to a core at least
        double read, write;   // bytes per ns of the whole fabric
        double hit_latency;   // ns, from issue to first byte; later requests go on meanwhile
        double miss_latency;  // ns, the same from HBM
        double write_latency; // ns from a store's last byte until L2 has answered
        double atomic;        // factor on the bytes of an atomic-add store
    } l2;
    struct {
        double size, rate, efficiency; // bytes, bytes per ns, share of the rate streams reach
        double crowd;                  // cores that may read one page of 64 lines at once, past L2
        double crowd_rate;             // bytes per ns of all pages that more cores read
    } hbm;
    struct {
        double start;  // ns from a descriptor handed over to its first byte
        double rate;   // bytes per ns of one stream alone
        double shared; // bytes per ns of each stream when several run
        double chunk;  // bytes that become visible in L2 together
        double issue;  // ns the issuing core spends per descriptor
    } sdma;
    // the AICPU and the worker's side of dispatch, ns; runtime.md 3.9
    struct {
        double schedulers;   // threads that own cores
        double submit;       // orchestrator: per submit
        double submit_arg;   // and per argument looked up
        double poll;         // reading one core's status register
        double idle;         // one loop iteration that found nothing to do; above 0
        double payload;      // building one block's payload
        double write;        // one posted register write
        double barrier;      // store barrier before a batch of writes
        double propagation;  // register write until the core sees it
        double retire;       // booking one sub-task seen finished
        double resolve;      // completing one task
        double resolve_edge; // and per consumer
        double pop;          // a look at a ready queue
        double pop_batch;    // dummies retired per iteration (8)
        double setup;        // core: token seen until kernel starts
        double setup_args;   // and on top when the core fills its own arguments (gated)
        double cold;         // first task on a core: on top of setup
        double fin;          // core: end of kernel until FIN is in its register
        double fin_visible;  // FIN written until a status read can see it
        double read_back;    // orchestrator: reading a value that a task has written
        double resolver;     // runtime: host: a round of the resolving thread that found nothing
        // capacities
        double rings;         // scopes nested deeper share the last one
        double ring_tasks;    // slots of one ring; one of them stays empty
        double ring_heap;     // bytes of the outputs of a ring's tasks
        double heap_align;    // bytes: an output takes a multiple
        double ring_deps;     // entries in producers' lists, for a ring's tasks
        double release_batch; // completed tasks that a thread keeps before it lets go of them
        double host_tasks;    // runtime: host: tasks of a graph
    } aicpu;
    // operators launched by the device's task scheduler, ns (launch.h)
    struct {
        double head; // from the launch until the first core is started
        double core; // and for each core
        double tail; // from the last end until the next launch
    } launch;
    // what recording a swimlane costs the runtime, level 4
    struct {
        double core;   // ns of a core behind each kernel, before it looks for the next
        double submit; // share by which submits take longer
    } recorder;
    // the host and its link
    struct {
        double copy; // ns of a copy of nothing
        double rate; // bytes per ns
    } host;
    double trace_clock;               // Hz of the stamps in swimlane files, as cycles per ns
    const struct npu_die_note *notes; // [npu_die_field_count()], by field
    npu_arena arena;
} npu_die;

typedef enum npu_confidence { NPU_UNSURE, NPU_LOW, NPU_MEDIUM, NPU_HIGH } npu_confidence;

typedef struct npu_die_note {  // where a number comes from
    npu_confidence confidence; // NPU_UNSURE: the file does not say
    const char *source;        // NULL: the file does not say
    npu_pos pos;               // of the value
} npu_die_note;

extern const char *const npu_confidence_names[]; // "unsure" .. "high", NULL-terminated

// Reads <name>.yaml from `folder` (the "die" folder of the configs), or the file itself when
// `name` ends in .yaml, with what it extends. Every field must be given somewhere; unknown
// ones are errors. On failure *die is empty.
npu_status npu_die_load(const char *folder, const char *name, npu_die *die, npu_error *err);
void npu_die_free(npu_die *die);
// The dies of a folder, sorted: every .yaml file with a `name:` (files without one are there
// to be extended) and those that cannot be parsed, so that loading them says why.
npu_status npu_die_list(npu_arena *arena, const char *folder, const char *const **names, int *count,
                        npu_error *err);

// Fields in the order of docs and of `npusim die`: "hbm.rate", "vector.ops.add.startup".
int npu_die_field_count(void);
const char *npu_die_field_name(int field, char *buf, int size);
// The field of that name, or -1.
int npu_die_field_find(const char *name);
// The value with its unit, in the shortest spelling that a config reads back as the same.
const char *npu_die_field_text(const npu_die *die, int field, char *buf, int size);

// Derived figures, each from the fields above.
// 2 * MAC * clock * clusters / 1000; 0 for what the cube does not multiply. int8: in TOPS.
double npu_die_tflops(const npu_die *die, npu_dtype dtype);
double npu_die_hbm_rate(const npu_die *die); // bytes per ns that streams reach
void npu_die_walls(const npu_die *die, npu_walls *walls);

#endif
