// SPDX-License-Identifier: Apache-2.0
#include "images.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct image { // of one core on one rank
    npu_stream stream;
    int64_t address[NPU_PIPE_COUNT][QUEUE]; // of the transfers in its pipes' queues
} image;

struct npu_images {
    const npu_cores *cores;
    int count;    // ranks that are images of this one
    bool *remote; // by task: it reaches other dies
    bool *active; // by core: its images are streamed
    image *all;   // [core][count]
};

static int rank_of_image(const npu_images *images, int i) {
    return images->cores->rank + (i + 1) * images->cores->dies->full;
}

static image *images_of(npu_images *images, const core_state *core) {
    return &images->all[core->index * images->count];
}

static void differ(core_state *core, int rank) {
    npu_cores *all = core->all;
    const npu_task *task = &all->graph->tasks[all->trace->rows[core->row].task];
    npu_core_fail(all,
                  npu_fail(&all->error, NPU_BAD_INPUT, task->pos,
                           "rank %d is no image of rank %d: task '%s' does something else there",
                           rank, all->rank, task->name));
}

void npu_images_start(npu_images *images, core_state *core) {
    const npu_row *row = &core->all->trace->rows[core->row];
    images->active[core->index] = images->remote[row->task];
    for (int i = 0; i < images->count && images->remote[row->task]; i++) {
        const npu_graph *graph = &core->all->dies->graphs[rank_of_image(images, i)];
        const npu_task *task = row->task < graph->task_count ? &graph->tasks[row->task] : NULL;
        if (task == NULL || task->program == NULL || row->block >= task->block_num) {
            differ(core, graph->rank);
            return;
        }
        npu_stream_open(&images_of(images, core)[i].stream, task->program, core->type, row->block,
                        core->lane);
    }
}

static void tell(npu_images *images, core_state *core, int rank, const npu_op *op, double sent) {
    npu_cores *all = core->all;
    int to = npu_rank_of(op->gm.address);
    if (to >= all->dies->full)
        return;
    double way = npu_dies_latency(all->dies, rank, to) + all->die->l2.hit_latency;
    npu_notice notice = {.address = op->gm.address,
                         .value = op->value,
                         .set = op->set,
                         .sent = sent,
                         .arrives = sent + way,
                         .by = {&all->dies->graphs[rank], all->trace->rows[core->row].task}};
    npu_status status = npu_counters_notify(all->dies->counters, &notice, &all->error);
    if (status)
        npu_core_fail(all, status);
    (void)images;
}

void npu_images_issue(npu_images *images, core_state *core, const npu_op *op, uint32_t seq,
                      double sent) {
    if (!images->active[core->index])
        return;
    for (int i = 0; i < images->count && core->all->status == NPU_OK; i++) {
        image *im = &images_of(images, core)[i];
        npu_op other;
        bool more = false;
        int rank = rank_of_image(images, i);
        npu_status status = npu_stream_next(&im->stream, &other, &more, &core->all->error);
        if (status) {
            npu_core_fail(core->all, status);
        } else if (!more || other.kind != op->kind || other.pipe != op->pipe) {
            differ(core, rank);
        } else if (op->kind == NPU_OP_NOTIFY) {
            tell(images, core, rank, &other, sent);
        } else if (op->kind == NPU_OP_LOAD || op->kind == NPU_OP_STORE) {
            im->address[op->pipe][seq % QUEUE] = other.gm.address;
        }
    }
}

// Nobody waits for what an image moves: the image is where its original is.
static void moved(void *owner, int64_t tag) {
    (void)owner;
    (void)tag;
}

static void move(const core_state *core, int from, int to, npu_remote_path kind, double bytes) {
    if (bytes > 0)
        npu_engine_flow(core->all->engine, bytes, npu_dies_path(core->all->dies, from, to, kind),
                        moved, NULL, 0);
}

void npu_images_ask(npu_images *images, core_state *core, npu_pipe pipe, uint32_t seq,
                    const queued *q) {
    if (!images->active[core->index])
        return;
    npu_dies *dies = core->all->dies;
    bool aiv = core->type == NPU_AIV;
    for (int i = 0; i < images->count; i++) {
        npu_gm gm = q->gm;
        gm.address = images_of(images, core)[i].address[pipe][seq % QUEUE];
        int from = rank_of_image(images, i), to = npu_rank_of(gm.address);
        if (to >= dies->full)
            continue;
        npu_memory *memory = dies->memories[to];
        if (q->kind == NPU_OP_STORE) {
            move(core, from, to, aiv ? NPU_REMOTE_AIV_WRITE : NPU_REMOTE_AIC_WRITE,
                 npu_memory_store(memory, &gm, q->atomic));
            continue;
        }
        npu_touch t = npu_memory_load(memory, &gm, npu_core_class(core, gm.arg),
                                      npu_memory_reader(memory, from, core->index), q->bypass);
        move(core, from, to, aiv ? NPU_REMOTE_AIV_MISS : NPU_REMOTE_AIC_MISS, t.miss + t.crowd);
        move(core, from, to, aiv ? NPU_REMOTE_AIV_HIT : NPU_REMOTE_AIC_HIT,
             t.hit + t.late + t.queued);
    }
}

static void find_remote(npu_images *images) {
    const npu_graph *graph = images->cores->graph;
    for (int i = 0; i < graph->task_count; i++)
        for (int a = 0; a < graph->tasks[i].arg_count; a++)
            images->remote[i] |=
                graph->tensors[graph->args[graph->tasks[i].first_arg + a].tensor].on_ranks >= 0;
}

npu_status npu_images_new(const npu_cores *cores, npu_images **out, npu_error *err) {
    const npu_dies *dies = cores->dies;
    int count = (dies->ranks - 1 - cores->rank) / dies->full;
    *out = NULL;
    if (count == 0)
        return NPU_OK;
    npu_images *images = calloc(1, sizeof *images);
    if (images == NULL)
        return npu_fail_memory(err);
    size_t core_count = (size_t)cores->core_count;
    images->cores = cores;
    images->count = count;
    images->remote = calloc((size_t)cores->graph->task_count + 1, sizeof *images->remote);
    images->active = calloc(core_count, sizeof *images->active);
    images->all = calloc(core_count * (size_t)count, sizeof *images->all);
    if (images->remote == NULL || images->active == NULL || images->all == NULL) {
        npu_images_free(images);
        return npu_fail_memory(err);
    }
    find_remote(images);
    *out = images;
    return NPU_OK;
}

void npu_images_free(npu_images *images) {
    if (images == NULL)
        return;
    free(images->remote);
    free(images->active);
    free(images->all);
    free(images);
}
