// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "names.h"

void npu_name_map_free(npu_name_map *map) {
    free(map->names);
    npu_arena_free(&map->arena);
    *map = (npu_name_map){0};
}

npu_status npu_name_map_add(npu_name_map *map, int64_t id, const char *text, npu_error *err) {
    const char *kept = npu_arena_text(&map->arena, text, strlen(text));
    if (kept == NULL)
        return npu_fail_memory(err);
    npu_status status = NPU_GROW(map, names, count, capacity, err);
    if (status == NPU_OK)
        map->names[map->count++] = (npu_name_entry){id, kept};
    return status;
}

static int compare_names(const void *a, const void *b) {
    int64_t x = ((const npu_name_entry *)a)->id;
    int64_t y = ((const npu_name_entry *)b)->id;
    return x < y ? -1 : x > y;
}

void npu_name_map_sort(npu_name_map *map) {
    if (map->count > 0)
        qsort(map->names, (size_t)map->count, sizeof *map->names, compare_names);
}

const char *npu_name_map_find(const npu_name_map *map, int64_t id) {
    npu_name_entry wanted = {.id = id};
    const npu_name_entry *found = map->count > 0 ? bsearch(&wanted, map->names, (size_t)map->count,
                                                           sizeof wanted, compare_names)
                                                 : NULL;
    return found != NULL ? found->text : NULL;
}

static npu_status read_names(npu_json *json, npu_name_map *map, npu_error *err) {
    const char *key;
    npu_status status = npu_json_enter(json, NPU_JSON_MAP, "callable_id_to_name");
    while (status == NPU_OK && (status = npu_json_key(json, &key)) == NPU_OK && key != NULL) {
        npu_json_token id;
        const char *text;
        if (!npu_json_integer(key, strlen(key), &id) || id.negative || id.value > INT64_MAX)
            return npu_json_refuse(json, "'%.40s' is no id of a function", key);
        status = npu_json_string(json, "the name of a function", &text);
        if (status == NPU_OK)
            status = npu_name_map_add(map, (int64_t)id.value, text, err);
    }
    return status;
}

// A name, or null.
static npu_status read_orchestrator(npu_json *json, npu_name_map *map) {
    npu_json_kind kind;
    const char *text;
    npu_status status = npu_json_peek(json, &kind);
    if (status != NPU_OK || kind == NPU_JSON_NULL)
        return status == NPU_OK ? npu_json_skip(json) : status;
    status = npu_json_string(json, "orchestrator_name", &text);
    if (status == NPU_OK &&
        (map->orchestrator = npu_arena_text(&map->arena, text, strlen(text))) == NULL)
        status = npu_json_no_memory(json);
    return status;
}

npu_status npu_name_map_read_json(npu_json *json, npu_name_map *map, npu_error *err) {
    const char *key;
    *map = (npu_name_map){0};
    npu_status status = npu_json_enter(json, NPU_JSON_MAP, "the file");
    while (status == NPU_OK && (status = npu_json_key(json, &key)) == NPU_OK && key != NULL) {
        if (strcmp(key, "callable_id_to_name") == 0)
            status = read_names(json, map, err);
        else if (strcmp(key, "orchestrator_name") == 0)
            status = read_orchestrator(json, map);
        else
            status = npu_json_skip(json);
    }
    npu_name_map_sort(map);
    return status == NPU_OK ? npu_json_end(json) : status;
}

npu_status npu_name_map_read(const char *path, npu_name_map *map, npu_error *err) {
    npu_json *json;
    *map = (npu_name_map){0};
    npu_status status = npu_json_open(path, NPU_JSON_ONE, &json, err);
    if (status == NPU_OK)
        status = npu_name_map_read_json(json, map, err);
    npu_json_close(json);
    return status;
}

npu_status npu_name_map_write(FILE *out, const npu_name_map *map, npu_error *err) {
    npu_emit emit = {.out = out, .flags = JSON_EMBED, .err = err};
    npu_emit_text(&emit, "{");
    npu_emit_item(&emit, "\n  ", json_pack("{s:i}", "level", 2));
    npu_emit_item(&emit, "\n  ", json_pack("{s:s?}", "orchestrator_name", map->orchestrator));
    npu_emit_list(&emit, ",\n  \"callable_id_to_name\": {");
    for (int i = 0; i < map->count; i++) {
        char id[32];
        snprintf(id, sizeof id, "%lld", (long long)map->names[i].id);
        npu_emit_item(&emit, "\n    ", json_pack("{s:s}", id, map->names[i].text));
    }
    npu_emit_text(&emit, emit.more ? "\n  }\n}\n" : "}\n}\n");
    return npu_emit_done(&emit);
}
