// SPDX-License-Identifier: Apache-2.0
// SimGrid reads one platform per process and ends the process on a bad one, so it does so in a
// child, which sends back what it found. Its own words are caught on the way.
#include "fabric.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "module.h"

// What the child fills: a head, then links, then routes.
typedef struct block {
    npu_status status; // of a child that lived to tell
    npu_error error;
    npu_fabric head; // its pointers mean nothing outside
    char data[];
} block;

typedef struct job {
    const char *path;
    int ranks, link_room;
    int words; // the file that takes what SimGrid prints
} job;

static size_t links_size(const job *j) {
    return (size_t)j->link_room * sizeof(npu_fabric_link);
}

static size_t routes_size(const job *j) {
    return (size_t)j->ranks * (size_t)j->ranks * sizeof(npu_route);
}

static npu_status read_in_child(const void *arg, void *result, npu_error *err) {
    const job *j = arg;
    block *b = result;
    void *symbol = NULL;
    npu_fabric_read_fn read = NULL;
    (void)err;
    b->status = npu_simgrid_symbol("npu_fabric_read", &symbol, &b->error);
    if (b->status)
        return NPU_OK;
    memcpy(&read, &symbol, sizeof read); // ISO C knows no cast from an object to a function
    dup2(j->words, STDERR_FILENO);
    b->head = (npu_fabric){.ranks = j->ranks,
                           .links = (npu_fabric_link *)(void *)b->data,
                           .routes = (npu_route *)(void *)(b->data + links_size(j))};
    b->status = read(j->path, &b->head, j->link_room, &b->error);
    return NPU_OK;
}

// What SimGrid said first: "[time] file:line: [category/ERROR] sentence".
static const char *first_words(FILE *words, char *buf, int size) {
    char line[512];
    snprintf(buf, (size_t)size,
             "it ended without a word; most often a route between two dies is missing");
    rewind(words);
    while (fgets(line, sizeof line, words) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        const char *mark = strstr(line, "/ERROR] ");
        mark = mark != NULL ? mark : strstr(line, "/CRITICAL] ");
        if (mark != NULL) {
            snprintf(buf, (size_t)size, "%s", strchr(mark, ' ') + 1);
            break;
        }
    }
    return buf;
}

static npu_status check(const npu_fabric *f, const char *path, npu_error *err) {
    npu_pos pos = {path, 0, 0};
    for (int i = 0; i < f->link_count; i++)
        if (!(f->links[i].rate > 0) || !isfinite(f->links[i].rate))
            return npu_fail(err, NPU_BAD_INPUT, pos, "link '%s' has no bandwidth",
                            f->links[i].name);
    for (int from = 0; from < f->ranks; from++) {
        for (int to = 0; to < f->ranks; to++) {
            const npu_route *route = npu_fabric_route(f, from, to);
            if (from != to && route->link_count == 0)
                return npu_fail(err, NPU_BAD_INPUT, pos, "there is no link from die%d to die%d",
                                from, to);
            if (!(route->latency >= 0) || !isfinite(route->latency))
                return npu_fail(err, NPU_BAD_INPUT, pos, "the latency from die%d to die%d is %g",
                                from, to, route->latency);
        }
    }
    return NPU_OK;
}

static npu_status copy_out(const job *j, const block *b, npu_fabric *fabric, npu_error *err) {
    int count = b->head.link_count;
    assert(count >= 0 && count <= j->link_room);
    *fabric = (npu_fabric){.ranks = j->ranks, .link_count = count};
    fabric->links = malloc(links_size(j));
    fabric->routes = malloc(routes_size(j));
    if (fabric->links == NULL || fabric->routes == NULL) {
        npu_fabric_free(fabric);
        return npu_fail_memory(err);
    }
    memcpy(fabric->links, b->data, links_size(j));
    memcpy(fabric->routes, b->data + links_size(j), routes_size(j));
    npu_status status = check(fabric, j->path, err);
    if (status)
        npu_fabric_free(fabric);
    return status;
}

npu_status npu_fabric_load(const char *path, int ranks, npu_fabric *fabric, npu_error *err) {
    assert(ranks > 1);
    *fabric = (npu_fabric){0};
    npu_pos pos = {path, 0, 0};
    if (access(path, R_OK) != 0)
        return npu_fail(err, NPU_IO, pos, "cannot read the fabric: %s", strerror(errno));
    FILE *words = tmpfile();
    if (words == NULL)
        return npu_fail(err, NPU_IO, (npu_pos){0}, "cannot make a temporary file: %s",
                        strerror(errno));
    job j = {path, ranks, 64 + 8 * ranks, fileno(words)};
    size_t size = sizeof(block) + links_size(&j) + routes_size(&j);
    block *b = calloc(1, size);
    if (b == NULL) {
        fclose(words);
        return npu_fail_memory(err);
    }
    npu_status status = npu_in_child(read_in_child, &j, b, size, NULL);
    char why[512];
    if (status) // the child died: SimGrid refused the file
        status = npu_fail(err, NPU_BAD_INPUT, pos, "SimGrid cannot read it: %s",
                          first_words(words, why, sizeof why));
    else if (b->status)
        status = npu_fail(err, b->status, (npu_pos){0}, "%s", b->error.text);
    if (!status)
        status = copy_out(&j, b, fabric, err);
    fclose(words);
    free(b);
    return status;
}

void npu_fabric_free(npu_fabric *fabric) {
    free(fabric->links);
    free(fabric->routes);
    *fabric = (npu_fabric){0};
}
