// SPDX-License-Identifier: Apache-2.0
// Inside model/: a graph while its files are read.
#ifndef NPU_BUILD_H
#define NPU_BUILD_H

#include <sys/types.h>

#include "graph.h"
#include "name.h"
#include "yaml_tree.h"

enum {
    NPU_MAX_INCLUDES = 16,
    NPU_MAX_SCOPES = 64,
    NPU_MAX_STEPS = 1000000,
    NPU_STORAGE_ALIGN = 512
};

// Numbers by name, in order of insertion.
typedef struct npu_name {
    const char *text;
    int value;
} npu_name;

typedef struct npu_names {
    npu_name *items;
    int count, capacity;
    int *slots; // hash table of indices + 1
    int slot_count;
} npu_names;

// The entry of `text`, or NULL.
npu_name *npu_names_find(const npu_names *names, const char *text);
// `text` is borrowed and must be new.
npu_status npu_names_add(npu_names *names, const char *text, int value, npu_error *err);
void npu_names_free(npu_names *names);

typedef struct npu_file {
    const char *path;
    const npu_yaml *root;
    dev_t device; // with `inode`: which file it is, by whatever path
    ino_t inode;
    npu_names kernels; // its own, to indices of npu_build.kernels
} npu_file;

typedef struct npu_known_kernel {
    const npu_kernel *kernel;
    const npu_kernel_arg *args;
    int arg_count;
    const char **task_keys;             // what a task of this kernel may say; NULL-terminated
    const struct npu_variant *variants; // its programs so far, the newest first
} npu_known_kernel;

typedef struct npu_var { // a parameter or a loop variable
    const char *name;
    int64_t value;
    const npu_table *table; // NULL for a number
} npu_var;

typedef struct npu_kept_table {
    const npu_table *table;
} npu_kept_table;

// A parameter's value given from outside: by --set (text) or `with:` (value).
typedef struct npu_override {
    const char *name;
    const char *text;
    int64_t value;
    npu_pos pos;
    const npu_table *table; // `with:`, NULL for a number
    bool own;               // --set: a parameter of the graph's own file, not of those it includes
    bool used;              // --set: it has given a parameter its value
} npu_override;

typedef struct npu_tie { // a tensor of an included file that the includer provides
    const char *name;
    int tensor;
    const char *shown;
    npu_pos pos;
    bool used;
} npu_tie;

// Tensors or tasks that share a name but for the index.
typedef struct npu_family {
    int arity; // number of indices; 0: a plain name
    int first, last;
} npu_family;

typedef struct npu_after {
    int task;         // the one that waits
    const char *name; // in full; without index: the whole family
    npu_pos pos;
} npu_after;

// One use of a file.
typedef struct npu_frame {
    struct npu_frame *parent;
    int file;
    const char *prefix; // "" or "layer[3]."
    npu_pos pos;        // of the include
    int first_var;
    npu_tie *ties;
    int tie_count;
    bool manual;
} npu_frame;

typedef struct npu_build {
    const npu_graph_options *options;
    npu_override *sets; // of --set
    npu_warnings *warnings;
    npu_error *err;
    npu_arena *arena;  // of the graph
    npu_arena scratch; // what one item of a list needs while it is read
    npu_frame root, *frame;
    int depth;

    npu_tensor *tensors;
    int tensor_count, tensor_capacity;
    npu_task *tasks;
    int task_count, task_capacity;
    npu_arg *args;
    int arg_count, arg_capacity;
    npu_edge *edges;
    int edge_count, edge_capacity;
    npu_func *funcs;
    int func_count, func_capacity;
    npu_after *afters;
    int after_count, after_capacity;
    npu_task_scope *scopes;
    int scope_count, scope_capacity;
    int scope; // the one that is open
    npu_read_back *read_backs;
    int read_back_count, read_back_capacity;
    npu_file *files;
    int file_count, file_capacity;
    npu_known_kernel *kernels;
    int kernel_count, kernel_capacity;
    npu_var *vars;
    int var_count, var_capacity;
    npu_kept_table *tables; // no two have the same numbers
    int table_count, table_capacity;
    npu_family *families;
    int family_count, family_capacity;
    int *next_task; // the next of the same family, or -1
    int next_task_count, next_task_capacity;

    npu_names tensor_names, tensor_families;
    npu_names task_names, task_families;
    npu_names func_names, folder_kernels, file_names;
    int next_func_id;
    int64_t next_address;
    int ranks, full;
    double skew;
    npu_host_step step;
    const npu_yaml *runtime, *policy, *waves; // how it runs, as the file or --set says; NULL
    int64_t steps;                            // loop iterations and items so far
    uint64_t hash;
} npu_build;

// load.c: the index of the file at `path`, read at its first use. `pos` is where it is named.
npu_status npu_build_file(npu_build *b, const char *path, npu_pos pos, int *index);
// Reads the parts of the frame's file in their order. `given` is of `with:`; the graph's own file
// has none.
npu_status npu_build_frame(npu_build *b, const npu_override *given, int given_count);
// Reads a file and adds it to the hash. `pos` is where it is named.
npu_status npu_build_read(npu_build *b, const char *path, npu_pos pos, const npu_yaml **root);

// ranks.c: the file with `ranks:` is read once for each of them.
// Gives the frame the name `rank`, where the graph has ranks.
npu_status npu_build_rank(npu_build *b);
// Their number, and how many of them are simulated, expressions over the parameters; either may be
// NULL: 1, and all.
npu_status npu_build_ranks(npu_build *b, const npu_yaml *ranks, const npu_yaml *full);
// How much later this rank begins: an expression with a unit of time, "rank * 3us".
npu_status npu_build_skew(npu_build *b, const npu_yaml *node);
// step.c
// `step:`. Without a skew the ranks begin one submission after the other.
npu_status npu_build_step(npu_build *b, const npu_yaml *map);
// An expression with a unit of time (ns us ms), in ns: "rank * 3us".
npu_status npu_build_time(npu_build *b, const npu_yaml *node, const char *what, double *ns);
// `on_ranks: name`: a tensor of this file, on every rank, with the rank as a first dimension.
npu_status npu_build_on_ranks(npu_build *b, const npu_yaml *map, npu_tensor *tensor);

// params.c
npu_status npu_build_params(npu_build *b, const npu_yaml *map, const npu_override *given,
                            int given_count);
// Every --set must have met its parameter. To be called when all files are read.
npu_status npu_build_check_sets(npu_build *b);
npu_status npu_build_require(npu_build *b, const npu_yaml *list);
npu_status npu_build_var(npu_build *b, const char *name, npu_pos pos, int64_t value);
// The value of an expression over the parameters and loop variables in sight.
npu_status npu_build_eval(npu_build *b, const char *text, npu_pos pos, int64_t *value);
npu_status npu_build_number(npu_build *b, const npu_yaml *node, const char *what, int64_t *value);
// true, false, or an expression that is not 0.
npu_status npu_build_flag(npu_build *b, const npu_yaml *node, const char *what, bool *value);
// One of a few words: "l2 must be cold or warm, not 'hot'".
npu_status npu_build_choice(npu_build *b, const npu_yaml *node, const char *what,
                            const char *const *names, int *index);

// How expressions find them.
npu_scope npu_build_scope(npu_build *b);
// The table of that name, or NULL.
const npu_table *npu_build_find_table(const npu_build *b, const char *name);

// tables.c: a parameter that is a table of numbers, `given` by `with:` or --set or NULL.
npu_status npu_build_table(npu_build *b, const npu_yaml *key, const npu_yaml *map,
                           const npu_override *given, const npu_table **table);
// The table that `given` has, of the size of `want` unless that is NULL.
npu_status npu_build_take_table(npu_build *b, const npu_yaml *key, const npu_override *given,
                                const npu_table *want, const npu_table **table);

// items.c: a list with `for` and `if` in it; `leaf` reads every other item.
typedef npu_status (*npu_leaf_fn)(npu_build *b, const npu_yaml *item);
// `key` is what the list stands under, `what` an item of it.
npu_status npu_build_items(npu_build *b, const npu_yaml *list, const char *key, const char *what,
                           npu_leaf_fn leaf);

// ref.c
typedef struct npu_path { // a name as written: prefix.name[..][..]
    const char *base;     // in full, without the groups
    const char *local;    // the last name alone
    bool simple;          // no prefix written
    int group_count;
    const char *group[2]; // text between the brackets
    int length[2];
    npu_pos group_pos[2];
} npu_path;
npu_status npu_path_parse(npu_build *b, const char *text, npu_pos pos, npu_path *path);
// Splits [text, text + length) at the commas outside parentheses; at most `most` parts.
typedef struct npu_part {
    const char *text; // in scratch
    npu_pos pos;
} npu_part;
npu_status npu_split(npu_build *b, const char *text, int length, npu_pos pos, npu_part *parts,
                     int most, int *count);
// "name[1,2]" for the group's values.
npu_status npu_index_text(npu_build *b, const char *base, const npu_path *path, int group,
                          int *arity, const char **text);
// What a new thing is called: `base` without, `full` with its index.
npu_status npu_new_name(npu_build *b, const npu_yaml *node, const char *what, const char **base,
                        const char **full, int *arity);
// Adds a name to its family; `what` is "tensor" or "task".
npu_status npu_add_name(npu_build *b, npu_names *names, npu_names *families, const char *what,
                        const char *base, const char *full, int arity, int index, npu_pos pos);

typedef struct npu_dim {
    enum { NPU_DIM_ALL, NPU_DIM_INDEX, NPU_DIM_RANGE } kind;
    int64_t start, length;
    npu_pos pos;
} npu_dim;
// Cuts a window: indexed dimensions go away. `window` is changed in place.
npu_status npu_cut(npu_build *b, const char *name, const npu_dim *dims, int count, npu_pos pos,
                   npu_arg *window);
// The window that a text like "x[a : n, :]" names.
npu_status npu_build_ref(npu_build *b, const char *text, npu_pos pos, npu_arg *window);
// Swaps the last two dimensions.
npu_status npu_transpose(npu_build *b, npu_pos pos, npu_arg *window);
const char *npu_shape_text(const int64_t *shape, int rank, char *buf, int size);

// tensors.c
npu_status npu_build_tensors(npu_build *b, const npu_yaml *node);
// A tensor that is a window of another one.
npu_status npu_build_view(npu_build *b, const char *base, const char *full, int arity, npu_pos pos,
                          const npu_arg *window);

// scopes.c
// The scope that is the graph itself.
npu_status npu_build_root_scope(npu_build *b);
// One inside the open one; the caller closes what it opened.
npu_status npu_build_open_scope(npu_build *b, npu_pos pos);
void npu_build_close_scope(npu_build *b);
// `read_back: name`: the orchestrator waits for a task, or all of one name, submitted before.
npu_status npu_build_read_back(npu_build *b, const npu_yaml *item);

// tasks.c, task.c
npu_status npu_build_tasks(npu_build *b, const npu_yaml *list);
npu_status npu_build_task(npu_build *b, const npu_yaml *item);
npu_status npu_build_dummy(npu_build *b, const npu_yaml *item);
// The name of a task, or of all tasks of one name, as `after` has it. `key` is for messages.
npu_status npu_build_task_ref(npu_build *b, const npu_yaml *node, const char *key,
                              const char **name);
// "unknown task 'x' in after; did you mean 'y'?"
npu_status npu_unknown_task(npu_build *b, const char *name, npu_pos pos, const char *key);
// Name to number pairs of a map, in the arena.
npu_status npu_build_settings(npu_build *b, const npu_yaml *map, const char *what,
                              npu_setting **settings, int *count);

// kernels.c
npu_status npu_build_own_kernels(npu_build *b, npu_file *file, const npu_yaml *map);
npu_status npu_build_kernel(npu_build *b, const npu_yaml *name, int *index);
extern const char *const npu_task_keys[];

// programs.c: binds the kernel. What `binding` points to and `program` lie
// in the arena.
npu_status npu_build_program(npu_build *b, npu_known_kernel *known, const npu_binding *binding,
                             npu_program *program);

// overlap.c: do two windows of one storage share an element? *covers: `a` holds all of `b`.
// Exact when both are boxes of one layout; otherwise their extents decide.
bool npu_overlap(const npu_arg *a, const npu_arg *b, bool *covers);
// True when npu_overlap compares these two exactly.
bool npu_overlap_is_exact(const npu_arg *a, const npu_arg *b);
bool npu_extents_overlap(const npu_arg *a, const npu_arg *b);
// Elements from the first to the last, and how many there are.
void npu_extent(const npu_arg *window, int64_t *extent, int64_t *count);

// edges.c
npu_status npu_build_edges(npu_build *b);

// runs.c: what streaming the first blocks finds. atomic[i] becomes true for an argument that
// is only added to.
npu_status npu_check_runs(const npu_graph *graph, const npu_walls *walls, bool *atomic,
                          npu_warnings *warnings, npu_error *err);
// races.c: warns of tasks that touch the same memory in no order.
npu_status npu_check_races(const npu_graph *graph, const bool *atomic, npu_warnings *warnings,
                           npu_error *err);

#endif
