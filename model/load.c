// SPDX-License-Identifier: Apache-2.0
// From a graph file to the flat graph. docs/graphs.md is the language.
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "build.h"

// The kinds, the words and the order of a tree; its layout and comments do not count.
static void hash_tree(npu_build *b, const npu_yaml *tree) {
    uint64_t hash = (b->hash ^ (uint64_t)tree->kind) * 1099511628211u;
    for (const char *c = tree->text; c != NULL && *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    b->hash = (hash ^ (uint64_t)tree->count) * 1099511628211u;
    for (int i = 0; i < tree->count; i++) {
        if (tree->kind == NPU_YAML_MAP)
            hash_tree(b, tree->keys[i]);
        hash_tree(b, tree->items[i]);
    }
}

npu_status npu_build_read(npu_build *b, const char *path, npu_pos pos, const npu_yaml **root) {
    npu_error inner = {0};
    npu_status status = npu_yaml_load(b->arena, path, root, &inner);
    if (status != NPU_OK) // what is wrong inside a file says where by itself
        return npu_fail(b->err, status, status == NPU_IO ? pos : (npu_pos){0}, "%s", inner.text);
    hash_tree(b, *root);
    return NPU_OK;
}

npu_status npu_build_file(npu_build *b, const char *path, npu_pos pos, int *index) {
    static const char *const keys[] = {
        "doc",  "graph", "dispatch", "runtime", "policy",  "waves",   "ranks",   "fabric", "full",
        "skew", "step",  "calls",    "params",  "require", "kernels", "tensors", "tasks",  NULL};
    const npu_name *known = npu_names_find(&b->file_names, path);
    if (known != NULL) {
        *index = known->value;
        return NPU_OK;
    }
    npu_file file = {.path = path};
    npu_status status = npu_build_read(b, path, pos, &file.root);
    if (status != NPU_OK)
        return status;
    status = npu_yaml_keys(file.root, "a graph", keys, b->err);
    struct stat self;
    if (status == NPU_OK && stat(path, &self) != 0)
        status = npu_fail(b->err, NPU_IO, pos, "cannot read %s: %s", path, strerror(errno));
    if (status == NPU_OK)
        status = NPU_GROW(b, files, file_count, file_capacity, b->err);
    if (status != NPU_OK)
        return status;
    file.device = self.st_dev;
    file.inode = self.st_ino;
    *index = b->file_count;
    b->files[b->file_count++] = file;
    status = npu_names_add(&b->file_names, path, *index, b->err);
    return status == NPU_OK
               ? npu_build_own_kernels(b, &b->files[*index], npu_yaml_get(file.root, "kernels"))
               : status;
}

// Every tensor that the includer gave must be one of the file's.
static npu_status check_ties(npu_build *b, const npu_yaml *tensors) {
    const npu_frame *frame = b->frame;
    int count = tensors != NULL && tensors->kind == NPU_YAML_MAP ? tensors->count : 0;
    for (int i = 0; i < frame->tie_count; i++) {
        const npu_tie *tie = &frame->ties[i];
        if (tie->used)
            continue;
        const char **names = npu_arena_alloc(&b->scratch, (size_t)count + 1, sizeof *names);
        if (names == NULL)
            return npu_fail_memory(b->err);
        for (int n = 0; n < count; n++)
            names[n] = tensors->keys[n]->text;
        char hint[128];
        return npu_fail(b->err, NPU_BAD_INPUT, tie->pos, "'%s' has no tensor '%s'%s",
                        b->files[frame->file].path, tie->name,
                        npu_did_you_mean(tie->name, names, count, hint, sizeof hint));
    }
    return NPU_OK;
}

npu_status npu_build_frame(npu_build *b, const npu_override *given, int given_count) {
    const npu_yaml *root = b->files[b->frame->file].root;
    npu_status status = npu_build_rank(b);
    if (status == NPU_OK)
        status = npu_build_params(b, npu_yaml_get(root, "params"), given, given_count);
    if (status == NPU_OK && b->frame == &b->root)
        status = npu_build_ranks(b, npu_yaml_get(root, "ranks"), npu_yaml_get(root, "full"));
    if (status == NPU_OK && b->frame == &b->root)
        status = npu_build_skew(b, npu_yaml_get(root, "skew"));
    if (status == NPU_OK && b->frame == &b->root)
        status = npu_build_step(b, npu_yaml_get(root, "step"));
    if (status == NPU_OK)
        status = npu_build_require(b, npu_yaml_get(root, "require"));
    if (status == NPU_OK)
        status = npu_build_tensors(b, npu_yaml_get(root, "tensors"));
    if (status == NPU_OK)
        status = check_ties(b, npu_yaml_get(root, "tensors"));
    if (status == NPU_OK)
        status = npu_build_tasks(b, npu_yaml_get(root, "tasks"));
    return status;
}

// "name=value" texts of --set.
static npu_status read_sets(npu_build *b) {
    int count = b->options->set_count;
    assert(count == 0 || b->options->sets != NULL);
    b->sets = npu_arena_alloc(b->arena, (size_t)count, sizeof *b->sets);
    if (b->sets == NULL)
        return npu_fail_memory(b->err);
    for (int i = 0; i < count; i++) {
        const char *text = b->options->sets[i];
        npu_override *set = &b->sets[i];
        *set = (npu_override){0};
        set->pos.file = npu_arena_printf(b->arena, "--set %s", text);
        const char *equal = strchr(text, '=');
        if (set->pos.file == NULL)
            return npu_fail_memory(b->err);
        if (equal == NULL || equal == text || equal[1] == '\0')
            return npu_fail(b->err, NPU_BAD_INPUT, set->pos, "a setting is written name=value");
        set->name = npu_arena_text(b->arena, text, (size_t)(equal - text));
        set->text = npu_arena_text(b->arena, equal + 1, strlen(equal + 1));
        if (set->name == NULL || set->text == NULL)
            return npu_fail_memory(b->err);
    }
    return NPU_OK;
}

// "dir/moe.yaml" is the graph "moe".
static const char *name_of_path(npu_build *b, const char *path) {
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    size_t length = dot != NULL && dot > base ? (size_t)(dot - base) : strlen(base);
    return npu_arena_text(b->arena, base, length);
}

// Only the graph's own file says how it is dispatched: what it includes is a part of it.
static npu_status read_dispatch(npu_build *b, npu_graph *graph) {
    static const char *const names[] = {"aicpu", "operator", NULL};
    const npu_yaml *node = npu_yaml_get(b->files[0].root, "dispatch");
    int choice = 0;
    if (node == NULL)
        return NPU_OK;
    npu_status status = npu_yaml_choice(node, "dispatch", names, &choice, b->err);
    graph->operators = choice == 1;
    return status;
}

// What the file says under `key`, or what --set says instead. A parameter of that name comes first.
static npu_status setting(npu_build *b, const char *key, const npu_yaml **node) {
    const npu_yaml *root = b->files[0].root;
    *node = npu_yaml_get(root, key);
    if (npu_yaml_get(npu_yaml_get(root, "params"), key) != NULL)
        return NPU_OK;
    for (int i = 0; i < b->options->set_count; i++) {
        npu_override *given = &b->sets[i];
        if (strcmp(given->name, key) != 0)
            continue;
        npu_yaml *set = npu_arena_alloc(b->arena, 1, sizeof *set);
        if (set == NULL)
            return npu_fail_memory(b->err);
        *set = (npu_yaml){.kind = NPU_YAML_SCALAR, .text = given->text, .pos = given->pos};
        given->used = true;
        *node = set;
    }
    return NPU_OK;
}

// How the AICPU goes about it.
static npu_status read_runtime(npu_build *b, npu_graph *graph) {
    int choice = 0;
    npu_status status = setting(b, "runtime", &b->runtime);
    if (status == NPU_OK)
        status = setting(b, "policy", &b->policy);
    if (status == NPU_OK)
        status = setting(b, "waves", &b->waves);
    if (status == NPU_OK && b->runtime != NULL)
        status = npu_yaml_choice(b->runtime, "runtime", npu_runtime_names, &choice, b->err);
    graph->runtime = (npu_runtime)choice;
    choice = 0;
    if (status == NPU_OK && b->policy != NULL)
        status = npu_yaml_choice(b->policy, "policy", npu_policy_names, &choice, b->err);
    graph->policy = (npu_policy)choice;
    return status;
}

// What needs the parameters, or the tasks.
static npu_status check_runtime(npu_build *b, npu_graph *graph) {
    const npu_yaml *waves = b->waves;
    const npu_yaml *node = b->runtime != NULL ? b->runtime : b->policy != NULL ? b->policy : waves;
    npu_status status = NPU_OK;
    if (graph->operators && (node != NULL || b->read_back_count > 0))
        return npu_fail(b->err, NPU_BAD_INPUT, node != NULL ? node->pos : b->read_backs[0].pos,
                        "operators (dispatch: operator) are launched without the AICPU: there is "
                        "no runtime, policy, waves or read_back");
    if (waves != NULL)
        status = npu_build_flag(b, waves, "waves", &graph->waves);
    if (status == NPU_OK && waves != NULL && graph->waves && graph->policy == NPU_POLICY_CALENDAR)
        status = npu_fail(b->err, NPU_BAD_INPUT, waves->pos,
                          "a calendar has no waves: it says for each block where it goes");
    if (status == NPU_OK && graph->runtime == NPU_RUNTIME_HOST && b->read_back_count > 0)
        status = npu_fail(b->err, NPU_BAD_INPUT, b->read_backs[0].pos,
                          "the host builds this graph before it runs (runtime: host), so no value "
                          "can be read back");
    return status;
}

static npu_status read_fabric(npu_build *b, npu_graph *graph) {
    const npu_yaml *node = npu_yaml_get(b->files[0].root, "fabric");
    if (node == NULL)
        return NPU_OK;
    graph->fabric = node->text;
    return npu_yaml_want(node, NPU_YAML_SCALAR, "fabric", b->err);
}

static npu_status read_name(npu_build *b, npu_graph *graph) {
    assert(b->files != NULL && b->file_count > 0);
    const npu_yaml *node = npu_yaml_get(b->files[0].root, "graph");
    npu_status status = NPU_OK;
    if (node != NULL)
        status = npu_yaml_want(node, NPU_YAML_SCALAR, "graph", b->err);
    if (status != NPU_OK)
        return status;
    graph->name = node != NULL ? node->text : name_of_path(b, graph->path);
    return graph->name != NULL ? NPU_OK : npu_fail_memory(b->err);
}

// Only the file's own parameters are left on the stack; --set acts through them, or on included
// files.
static void hash_settings(npu_build *b) {
    for (int i = 0; i < b->var_count; i++) {
        const npu_table *table = b->vars[i].table;
        int64_t count = 1;
        for (int d = 0; table != NULL && d < table->rank; d++)
            count *= table->size[d];
        const int64_t *values = table != NULL ? table->values : &b->vars[i].value;
        for (int64_t v = 0; v < count; v++)
            b->hash = (b->hash ^ (uint64_t)values[v]) * 1099511628211u;
    }
    for (int i = 0; i < b->options->set_count; i++)
        for (const char *c = b->options->sets[i]; !b->sets[i].own && *c != '\0'; c++)
            b->hash = (b->hash ^ (unsigned char)*c) * 1099511628211u;
}

static npu_status read_graph(npu_build *b, npu_graph *graph, const char *path) {
    b->root.prefix = "";
    b->frame = &b->root;
    graph->path = npu_arena_text(b->arena, path, strlen(path));
    if (graph->path == NULL)
        return npu_fail_memory(b->err);
    npu_status status = read_sets(b);
    if (status == NPU_OK)
        status = npu_build_file(b, graph->path, (npu_pos){0}, &b->root.file);
    if (status == NPU_OK)
        status = read_name(b, graph);
    if (!status)
        status = read_dispatch(b, graph);
    if (!status)
        status = read_fabric(b, graph);
    if (!status)
        status = read_runtime(b, graph);
    if (!status)
        status = npu_build_root_scope(b);
    if (status == NPU_OK)
        status = npu_build_frame(b, NULL, 0);
    if (status == NPU_OK)
        status = npu_build_check_sets(b);
    if (status == NPU_OK)
        status = check_runtime(b, graph);
    if (status == NPU_OK && b->task_count == 0)
        status =
            npu_fail(b->err, NPU_BAD_INPUT, (npu_pos){graph->path, 0, 0}, "the graph has no tasks");
    hash_settings(b);
    return status == NPU_OK ? npu_build_edges(b) : status;
}

static npu_status keep(npu_build *b, const void *items, int count, size_t size, const void **out) {
    void *copy = npu_arena_alloc(b->arena, (size_t)count, size);
    if (copy == NULL)
        return npu_fail_memory(b->err);
    if (count > 0)
        memcpy(copy, items, (size_t)count * size);
    *out = copy;
    return NPU_OK;
}

#define KEEP(field, count)                                                                         \
    keep(b, b->field, b->count, sizeof *b->field, (const void **)&graph->field)

static npu_status finish(npu_build *b, npu_graph *graph) {
    npu_status status = KEEP(tensors, tensor_count);
    if (status == NPU_OK)
        status = KEEP(tasks, task_count);
    if (status == NPU_OK)
        status = KEEP(args, arg_count);
    if (status == NPU_OK)
        status = KEEP(edges, edge_count);
    if (status == NPU_OK)
        status = KEEP(funcs, func_count);
    npu_build_close_scope(b);
    if (status == NPU_OK)
        status = KEEP(scopes, scope_count);
    if (status == NPU_OK)
        status = KEEP(read_backs, read_back_count);
    graph->tensor_count = b->tensor_count;
    graph->task_count = b->task_count;
    graph->arg_count = b->arg_count;
    graph->edge_count = b->edge_count;
    graph->func_count = b->func_count;
    graph->scope_count = b->scope_count;
    graph->read_back_count = b->read_back_count;
    graph->rank = b->options->rank;
    graph->ranks = b->ranks;
    graph->full = b->full;
    graph->skew = b->skew;
    graph->step = b->step;
    graph->hash = b->hash;
    return status;
}

static void free_build(npu_build *b) {
    for (int i = 0; i < b->file_count; i++)
        npu_names_free(&b->files[i].kernels);
    npu_names_free(&b->tensor_names);
    npu_names_free(&b->tensor_families);
    npu_names_free(&b->task_names);
    npu_names_free(&b->task_families);
    npu_names_free(&b->func_names);
    npu_names_free(&b->folder_kernels);
    npu_names_free(&b->file_names);
    void *arrays[] = {b->tensors,   b->tasks,  b->args,       b->edges, b->funcs,
                      b->afters,    b->files,  b->kernels,    b->vars,  b->families,
                      b->next_task, b->scopes, b->read_backs, b->tables};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    npu_arena_free(&b->scratch);
}

npu_status npu_graph_load(const char *path, const npu_graph_options *options, npu_graph *graph,
                          npu_warnings *warnings, npu_error *err) {
    assert(path != NULL && options != NULL && graph != NULL);
    assert(options->rank >= 0 && options->rank < NPU_MAX_RANKS);
    npu_error local = {0};
    *graph = (npu_graph){0};
    npu_build b = {.options = options, .warnings = warnings, .arena = &graph->arena};
    b.err = err != NULL ? err : &local;
    b.hash = 14695981039346656037u;
    b.ranks = b.full = 1;
    b.next_address = (int64_t)options->rank << NPU_RANK_SHIFT;
    npu_status status = read_graph(&b, graph, path);
    if (status == NPU_OK)
        status = finish(&b, graph);
    free_build(&b);
    if (status != NPU_OK)
        npu_graph_free(graph);
    else
        npu_graph_check_invariants(graph);
    return status;
}

void npu_graph_free(npu_graph *graph) {
    npu_arena_free(&graph->arena);
    *graph = (npu_graph){0};
}

static void check_edge(const npu_graph *graph, const npu_edge *edge) {
    assert(edge->pred >= 0 && edge->pred < edge->succ && edge->succ < graph->task_count);
    assert(edge->arg < graph->tasks[edge->succ].arg_count);
    assert((edge->arg < 0) == (edge->source == NPU_EDGE_EXPLICIT));
    assert(edge->producer_arg < graph->tasks[edge->pred].arg_count);
}

void npu_graph_check_invariants(const npu_graph *graph) {
    int args = 0;
    int edges = 0;
    for (int i = 0; i < graph->task_count; i++) {
        const npu_task *task = &graph->tasks[i];
        assert((task->program == NULL) == (task->engine == NPU_DUMMY));
        assert((task->func < 0) == (task->program == NULL) && task->func < graph->func_count);
        const npu_task_scope *scope = &graph->scopes[task->scope];
        assert(task->scope < graph->scope_count && scope->first <= i && i < scope->end);
        assert(task->predicated || !task->skipped);
        assert(task->first_arg == args && task->first_edge == edges);
        args += task->arg_count;
        edges += task->edge_count;
        for (int e = task->first_edge; e < edges; e++) {
            assert(e < graph->edge_count && graph->edges[e].succ == i);
            check_edge(graph, &graph->edges[e]);
            assert(e == task->first_edge || graph->edges[e - 1].pred <= graph->edges[e].pred);
        }
    }
    for (int i = 0; i < graph->read_back_count; i++)
        assert(graph->read_backs[i].task < graph->read_backs[i].before &&
               graph->read_backs[i].before <= graph->task_count);
    assert(args == graph->arg_count && edges == graph->edge_count);
    for (int i = 0; i < graph->tensor_count; i++) {
        const npu_tensor *tensor = &graph->tensors[i];
        assert(tensor->storage >= 0 && tensor->storage <= i);
        assert(graph->tensors[tensor->storage].storage == tensor->storage);
        assert(tensor->address % NPU_STORAGE_ALIGN == 0);
        assert(tensor->on_ranks < i && (tensor->on_ranks < 0 || tensor->bytes == 0));
    }
    for (int i = 0; i < graph->arg_count; i++)
        assert(graph->args[i].tensor >= 0 && graph->args[i].tensor < graph->tensor_count);
}
