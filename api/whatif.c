// SPDX-License-Identifier: Apache-2.0
#include "whatif.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aicpu_state.h"
#include "pool.h"
#include "redundant.h"

// A factor on rates that makes what they move take no time beside anything else; and ns, less than
// a cycle, where 0 cannot be: threads that poll for nothing would never let time pass.
static const double huge = 1e6, tiny = 0.1;

// What is simulated instead of the base. The graphs are copies whose tasks and edges may change.
typedef struct variant {
    npu_die die;
    npu_ranks ranks;
    npu_sim_options options;
    npu_arena arena;
    int func;
    npu_error *err;
} variant;

// ---- the die -------------------------------------------------------------------------------

static void free_orchestrator(npu_die *d) {
    d->aicpu.submit = d->aicpu.submit_arg = 0;
}

static void free_schedulers(npu_die *d) {
    d->aicpu.poll = d->aicpu.idle = tiny;
    d->aicpu.payload = d->aicpu.write = d->aicpu.barrier = d->aicpu.retire = 0;
    d->aicpu.resolve = d->aicpu.resolve_edge = d->aicpu.pop = 0;
    d->launch.head = d->launch.core = d->launch.tail = 0;
}

static void free_set_up(npu_die *d) {
    d->aicpu.propagation = d->aicpu.setup = d->aicpu.setup_args = d->aicpu.cold = 0;
    d->aicpu.fin = d->aicpu.fin_visible = 0;
}

static void free_dispatch(npu_die *d) {
    free_orchestrator(d);
    free_schedulers(d);
    free_set_up(d);
}

static void infinite_hbm(npu_die *d) {
    d->hbm.rate *= huge;
    d->hbm.crowd_rate *= huge;
}

static void infinite_l2(npu_die *d) {
    d->l2.read *= huge;
    d->l2.write *= huge;
}

static void infinite_ports(npu_die *d) {
    npu_core_port *ports[] = {&d->aic, &d->aiv};
    for (int i = 0; i < 2; i++) {
        ports[i]->read *= huge;
        ports[i]->write *= huge;
        ports[i]->outstanding *= huge;
    }
}

static void no_latency(npu_die *d) {
    d->l2.hit_latency = d->l2.miss_latency = tiny;
}

// Lines and sectors of the smallest block that a core moves; the bytes in flight stay.
static void no_over_fetch(npu_die *d) {
    double block = d->align[NPU_UB];
    double factor = d->l2.line / block;
    d->aic.outstanding *= factor;
    d->aiv.outstanding *= factor;
    d->l2.line = d->l2.sector = block;
}

static void free_vector(npu_die *d) {
    d->vector.partial_row = d->vector.bank_conflict = 0;
    for (int i = 0; i < NPU_VEC_COUNT; i++)
        d->vector.ops[i] = (npu_vec_cost){0};
}

static void free_cube(npu_die *d) {
    d->cube.mac_fp16 *= huge;
    d->cube.mac_int8 *= huge;
    d->cube.mac_fp32 *= huge;
    d->cube.head = d->cube.unit_flag_head = 0;
}

static void free_mte1(npu_die *d) {
    d->mte1.l0a *= huge;
    d->mte1.l0b *= huge;
    d->mte1.issue = 0;
}

static void free_fixpipe(npu_die *d) {
    d->fixpipe.fixed = d->fixpipe.row_floor = d->fixpipe.odd = 0;
    d->fixpipe.bytes *= huge;
}

static void free_mte_issue(npu_die *d) {
    d->mte.issue = d->mte.per_row = 0;
}

static void free_scalar(npu_die *d) {
    d->scalar.issue = d->scalar.op = d->scalar.gm = d->scalar.read = d->scalar.flag = 0;
}

static void twice_the_clusters(npu_die *d) {
    d->clusters *= 2;
}

// ---- the graphs ----------------------------------------------------------------------------

static npu_task *own_tasks(variant *v, npu_graph *graph) {
    npu_task *tasks = npu_arena_alloc(&v->arena, (size_t)graph->task_count + 1, sizeof *tasks);
    if (tasks == NULL)
        return NULL;
    if (graph->task_count > 0)
        memcpy(tasks, graph->tasks, (size_t)graph->task_count * sizeof *tasks);
    graph->tasks = tasks;
    return tasks;
}

static npu_status warm(variant *v, npu_graph *graph) {
    (void)graph;
    v->options.l2_warm = true;
    return NPU_OK;
}

static npu_status flag_all(variant *v, npu_graph *graph) {
    npu_task *tasks = own_tasks(v, graph);
    for (int i = 0; i < graph->task_count && tasks != NULL; i++)
        tasks[i].early = true;
    return tasks != NULL ? NPU_OK : npu_fail_memory(v->err);
}

static npu_status no_flags(variant *v, npu_graph *graph) {
    npu_task *tasks = own_tasks(v, graph);
    for (int i = 0; i < graph->task_count && tasks != NULL; i++)
        tasks[i].early = false;
    return tasks != NULL ? NPU_OK : npu_fail_memory(v->err);
}

static npu_status no_skew(variant *v, npu_graph *graph) {
    (void)v;
    graph->skew = 0;
    return NPU_OK;
}

static npu_status infinite_fabric(variant *v, npu_graph *graph) {
    const npu_fabric *old = &v->ranks.fabric;
    size_t pairs = (size_t)old->ranks * (size_t)old->ranks;
    if (graph->rank != 0) // once for all
        return NPU_OK;
    npu_fabric_link *links = npu_arena_alloc(&v->arena, (size_t)old->link_count + 1, sizeof *links);
    npu_route *routes = npu_arena_alloc(&v->arena, pairs + 1, sizeof *routes);
    if (links == NULL || routes == NULL)
        return npu_fail_memory(v->err);
    for (int i = 0; i < old->link_count; i++) {
        links[i] = old->links[i];
        links[i].rate *= huge;
    }
    for (size_t i = 0; i < pairs; i++) {
        routes[i] = old->routes[i];
        routes[i].latency = 0;
    }
    v->ranks.fabric.links = links;
    v->ranks.fabric.routes = routes;
    return NPU_OK;
}

// Keeps the edges of pairs that are not redundant.
static npu_status drop(variant *v, npu_graph *graph, const npu_redundant *redundant) {
    npu_task *tasks = own_tasks(v, graph);
    npu_edge *edges = npu_arena_alloc(&v->arena, (size_t)graph->edge_count + 1, sizeof *edges);
    if (tasks == NULL || edges == NULL)
        return npu_fail_memory(v->err);
    int kept = 0, at = 0;
    for (int i = 0; i < graph->task_count; i++) {
        int first = tasks[i].first_edge, end = first + tasks[i].edge_count;
        tasks[i].first_edge = kept;
        for (int e = first; e < end; e++) {
            const npu_edge *edge = &graph->edges[e];
            const npu_redundant_edge *r = &redundant->items[at];
            bool out = at < redundant->count && r->succ == i && r->pred == edge->pred;
            if (!out)
                edges[kept++] = *edge;
            else if (e + 1 == end || graph->edges[e + 1].pred != edge->pred)
                at++;
        }
        tasks[i].edge_count = kept - tasks[i].first_edge;
    }
    assert(at == redundant->count);
    graph->edges = edges;
    graph->edge_count = kept;
    return NPU_OK;
}

static npu_status no_redundant(variant *v, npu_graph *graph) {
    npu_order order = {0};
    npu_redundant redundant = {0};
    if (graph->task_count > NPU_ORDER_TASKS)
        return NPU_OK;
    npu_status status = npu_order_make(graph, &order, v->err);
    if (!status)
        status = npu_redundant_find(graph, &order, &redundant, v->err);
    if (!status)
        status = drop(v, graph, &redundant);
    npu_redundant_free(&redundant);
    npu_order_free(&order);
    return status;
}

// The blocks of the kernel are dispatched as before, but do nothing.
static npu_status empty_kernel(variant *v, npu_graph *graph) {
    npu_task *tasks = own_tasks(v, graph);
    if (tasks == NULL)
        return npu_fail_memory(v->err);
    for (int i = 0; i < graph->task_count; i++) {
        if (tasks[i].func != v->func || tasks[i].program == NULL)
            continue;
        npu_program *program = npu_arena_alloc(&v->arena, 1, sizeof *program);
        if (program == NULL)
            return npu_fail_memory(v->err);
        *program = *tasks[i].program;
        program->body[0].stmt_count = program->body[1].stmt_count = 0;
        tasks[i].program = program;
    }
    return NPU_OK;
}

// ---- one after the other -------------------------------------------------------------------

typedef struct change {
    const char *name;
    const char *means;
    void (*die)(npu_die *die);                         // one of the two
    npu_status (*graph)(variant *v, npu_graph *graph); // of each rank
} change;

static const change changes[] = {
    {"free dispatch", "submits, schedulers and core set-up take no time", free_dispatch, NULL},
    {"free orchestrator", "submits take no time", free_orchestrator, NULL},
    {"free schedulers", "polling, resolving and placing take no time", free_schedulers, NULL},
    {"free core set-up", "a token starts its kernel at once", free_set_up, NULL},
    {"infinite HBM", "HBM moves anything at once, after its latency", infinite_hbm, NULL},
    {"infinite L2", "L2 moves anything at once, after its latency", infinite_l2, NULL},
    {"infinite ports", "cores take in and send anything at once", infinite_ports, NULL},
    {"no memory latency", "first bytes come at once", no_latency, NULL},
    {"no over-fetch", "lines as small as a core's blocks: short rows cost what they hold",
     no_over_fetch, NULL},
    {"free vector ops", "V takes no time", free_vector, NULL},
    {"free matmuls", "M takes no time", free_cube, NULL},
    {"free extracts", "MTE1 takes no time", free_mte1, NULL},
    {"free FIXPIPE", "draining L0C takes no time", free_fixpipe, NULL},
    {"free load and store issue", "MTE2 and MTE3 pay bytes only", free_mte_issue, NULL},
    {"free scalar unit", "S and flags between cores take no time", free_scalar, NULL},
    {"twice the clusters", "the same grids on twice the cores", twice_the_clusters, NULL},
    {"L2 warm", "weights and inputs start in L2", NULL, warm},
    {"every task flagged early", "consumers are staged wherever they can be", NULL, flag_all},
    {"no early flags", "nothing is staged early", NULL, no_flags},
    {"no redundant edges", "the transitive reduction of the graph", NULL, no_redundant},
    {"infinite fabric", "between dies anything moves at once", NULL, infinite_fabric},
    {"no launch skew", "all ranks begin together", NULL, no_skew},
};
enum { CHANGE_COUNT = sizeof changes / sizeof *changes };

static bool any_early(const npu_graph *graph) {
    for (int i = 0; i < graph->task_count; i++)
        if (graph->tasks[i].early)
            return true;
    return false;
}

// False where a change would change nothing, or cannot be.
static bool applies(const npu_simulated *base, const change *c) {
    const npu_die *die = &base->context.die;
    const npu_ranks *ranks = &base->context.ranks;
    const npu_graph *graph = &ranks->graphs[0];
    bool skewed = false;
    for (int i = 0; i < ranks->count; i++)
        skewed = skewed || ranks->graphs[i].skew > 0;
    if (c->graph == warm)
        return !base->l2_warm;
    if (c->graph == no_skew)
        return skewed;
    if (c->graph == infinite_fabric)
        return ranks->count > 1;
    if (c->graph == no_flags)
        return any_early(graph) && !graph->operators;
    if (c->graph == flag_all || c->graph == no_redundant || c->die == free_orchestrator ||
        c->die == free_set_up)
        return !graph->operators;
    if (c->die == twice_the_clusters)
        return 2 * die->clusters <= NPU_THREAD_CLUSTERS * die->aicpu.schedulers;
    return true;
}

static npu_status prepare(variant *v, const npu_simulated *base, const change *c) {
    const npu_ranks *ranks = &base->context.ranks;
    v->die = base->context.die;
    v->options = (npu_sim_options){.engine = NPU_ENGINE_FLUID, .l2_warm = base->l2_warm};
    v->ranks = *ranks;
    v->ranks.graphs = npu_arena_alloc(&v->arena, (size_t)ranks->count, sizeof *v->ranks.graphs);
    if (v->ranks.graphs == NULL)
        return npu_fail_memory(v->err);
    memcpy(v->ranks.graphs, ranks->graphs, (size_t)ranks->count * sizeof *ranks->graphs);
    if (c->die != NULL)
        c->die(&v->die);
    npu_status status = NPU_OK;
    for (int i = 0; i < ranks->count && c->graph != NULL && !status; i++)
        status = c->graph(v, &v->ranks.graphs[i]);
    return status;
}

typedef struct outcome { // of one simulation, from its process
    double makespan;
    bool failed;
    char why[NPU_WHATIF_WHY];
} outcome;

static npu_status simulate(variant *v, outcome *o) {
    npu_sim_result *results = npu_arena_alloc(&v->arena, (size_t)v->ranks.full, sizeof *results);
    if (results == NULL)
        return npu_fail_memory(v->err);
    npu_error why = {0};
    npu_status status = npu_simulate_ranks(&v->ranks, &v->die, &v->options, results, &why);
    o->failed = status == NPU_BAD_INPUT;
    snprintf(o->why, sizeof o->why, "%.*s", (int)sizeof o->why - 1, why.text);
    for (int i = 0; i < v->ranks.full && !status; i++) {
        double makespan = results[i].trace.makespan;
        o->makespan = makespan > o->makespan ? makespan : o->makespan;
        npu_sim_result_free(&results[i]);
    }
    return o->failed ? NPU_OK : status ? npu_fail_memory(v->err) : NPU_OK;
}

typedef struct plan { // one simulation; the item of the list has the same index
    const change *change;
    int func; // of a change of one kernel
} plan;

typedef struct runner {
    const npu_simulated *base;
    npu_whatifs *list;
    plan *plans;
    int done;
    FILE *progress;
    npu_status status;
    npu_error *err;
} runner;

static npu_status work(void *owner, int job, const void *order, void *result, npu_error *err) {
    (void)order;
    const runner *r = owner;
    variant v = {.func = r->plans[job].func, .err = err};
    npu_status status = prepare(&v, r->base, r->plans[job].change);
    if (!status)
        status = simulate(&v, result);
    npu_arena_free(&v.arena);
    return status;
}

static void done(void *owner, int job, npu_status status, const npu_error *error,
                 const void *result) {
    runner *r = owner;
    const outcome *o = result;
    npu_whatif *item = &r->list->items[job];
    if (status == NPU_OK) {
        item->makespan = o->makespan;
        item->failed = o->failed;
        snprintf(item->why, sizeof item->why, "%s", o->why);
    } else if (status == NPU_NO_MEMORY) {
        r->status = npu_fail_memory(r->err);
    } else { // its process died
        item->failed = true;
        snprintf(item->why, sizeof item->why, "%.*s", NPU_WHATIF_WHY - 1, error->text);
    }
    if (r->progress != NULL)
        fprintf(r->progress, "\r\033[K%d of %d what-ifs", ++r->done, r->list->count);
}

// ---- which ---------------------------------------------------------------------------------

static npu_status add(runner *r, const change *c, int func, const char *name) {
    npu_whatifs *list = r->list;
    npu_status status = NPU_GROW(list, items, count, capacity, r->err);
    if (status)
        return status;
    npu_whatif *item = &list->items[list->count];
    *item = (npu_whatif){.means = c->means};
    snprintf(item->name, sizeof item->name, "%s", name);
    r->plans[list->count++] = (plan){c, func};
    return NPU_OK;
}

typedef struct candidate {
    int func;
    double score;
} candidate;

static int by_score(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    return x->score != y->score ? (x->score > y->score ? -1 : 1)
                                : (x->func > y->func) - (x->func < y->func);
}

// Kernels by their share of the observed path and of the core time: the ones worth a try.
static npu_status find_kernels(const npu_simulated *base, candidate **list, npu_error *err) {
    const npu_metrics *m = &base->metrics;
    const npu_graph *graph = npu_simulated_graph(base);
    *list = calloc((size_t)m->kernel_count + 1, sizeof **list);
    if (*list == NULL)
        return npu_fail_memory(err);
    for (int i = 0; i < m->kernel_count; i++)
        (*list)[i] = (candidate){i, m->kernels[i].core_share};
    for (int i = 0; i < m->chain_count && m->makespan > 0; i++)
        (*list)[graph->tasks[m->chain[i].task].func].score += m->chain[i].exec / m->makespan;
    qsort(*list, (size_t)m->kernel_count, sizeof **list, by_score);
    return NPU_OK;
}

static const change zero_cost = {"", "its blocks are dispatched, but do nothing", NULL,
                                 empty_kernel};

static npu_status add_kernels(runner *r) {
    candidate *kernels = NULL;
    npu_status status = find_kernels(r->base, &kernels, r->err);
    int count = r->base->metrics.kernel_count;
    for (int i = 0; !status && i < count && i < NPU_WHATIF_KERNELS && kernels[i].score > 0; i++) {
        char name[NPU_WHATIF_NAME];
        snprintf(name, sizeof name, "%.48s at zero cost",
                 r->base->metrics.kernels[kernels[i].func].name);
        status = add(r, &zero_cost, kernels[i].func, name);
    }
    free(kernels);
    return status;
}

static int by_makespan(const void *a, const void *b) {
    const npu_whatif *x = a, *y = b;
    if (x->failed != y->failed)
        return x->failed ? 1 : -1;
    if (x->makespan != y->makespan)
        return x->makespan < y->makespan ? -1 : 1;
    return strcmp(x->name, y->name);
}

static npu_status run_all(runner *r, int jobs) {
    if (jobs <= 0)
        jobs = (int)sysconf(_SC_NPROCESSORS_ONLN);
    npu_pool pool = {.jobs = r->list->count,
                     .parallel = jobs > 1 ? jobs : 1,
                     .result_size = sizeof(outcome),
                     .owner = r,
                     .work = work,
                     .done = done};
    npu_status status = npu_pool_run(&pool, r->err);
    if (r->progress != NULL)
        fputs("\r\033[K", r->progress);
    return status ? status : r->status;
}

npu_status npu_whatifs_run(const npu_simulated *base, int jobs, FILE *progress, npu_whatifs *list,
                           npu_error *err) {
    plan plans[CHANGE_COUNT + NPU_WHATIF_KERNELS];
    runner r = {.base = base, .list = list, .plans = plans, .progress = progress, .err = err};
    *list = (npu_whatifs){0};
    npu_status status = NPU_OK;
    for (int i = 0; i < CHANGE_COUNT && !status; i++)
        if (applies(base, &changes[i]))
            status = add(&r, &changes[i], -1, changes[i].name);
    if (!status)
        status = add_kernels(&r);
    if (!status)
        status = run_all(&r, jobs);
    if (!status && list->count > 1)
        qsort(list->items, (size_t)list->count, sizeof *list->items, by_makespan);
    return status;
}

void npu_whatifs_free(npu_whatifs *list) {
    free(list->items);
    *list = (npu_whatifs){0};
}
