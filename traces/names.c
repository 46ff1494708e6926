// SPDX-License-Identifier: Apache-2.0
#include "names.h"

#include <assert.h>

#include "emit.h"

const char *npu_func_name(const npu_func *func, npu_engine_type core, char *buf, int size) {
    assert(core == NPU_AIC || core == NPU_AIV);
    bool both = func->aic_id >= 0 && func->aiv_id >= 0 && func->half_names[core] == NULL;
    snprintf(buf, (size_t)size, "%s%s%s",
             func->half_names[core] != NULL ? func->half_names[core] : func->name, both ? "_" : "",
             both ? npu_engine_type_names[core] : "");
    return buf;
}

static json_t *name_json(const npu_func *func, npu_engine_type core) {
    char name[256];
    char id[16];
    snprintf(id, sizeof id, "%d", core == NPU_AIC ? func->aic_id : func->aiv_id);
    return json_pack("{s:s}", id, npu_func_name(func, core, name, (int)sizeof name));
}

npu_status npu_names_write(FILE *out, const npu_graph *graph, npu_error *err) {
    npu_emit emit = {.out = out, .flags = JSON_EMBED, .err = err};
    npu_emit_text(&emit, "{");
    npu_emit_item(&emit, "\n  ", json_pack("{s:i}", "level", 2));
    npu_emit_item(&emit, "\n  ", json_pack("{s:s?}", "orchestrator_name", graph->name));
    npu_emit_list(&emit, ",\n  \"callable_id_to_name\": {");
    for (int i = 0; i < graph->func_count; i++) {
        if (graph->funcs[i].aic_id >= 0)
            npu_emit_item(&emit, "\n    ", name_json(&graph->funcs[i], NPU_AIC));
        if (graph->funcs[i].aiv_id >= 0)
            npu_emit_item(&emit, "\n    ", name_json(&graph->funcs[i], NPU_AIV));
    }
    npu_emit_text(&emit, emit.more ? "\n  }\n}\n" : "}\n}\n");
    return npu_emit_done(&emit);
}
