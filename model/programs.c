// SPDX-License-Identifier: Apache-2.0
// The program of a task: a new one, or one that is there already, on other memory.
#include "build.h"

// Of one kernel, as many are looked at. A graph whose tasks are all different gains nothing, and
// must not pay for it.
enum { MAX_VARIANTS = 64 };

struct npu_variant {
    const struct npu_variant *next; // bound before
    const npu_program *program;
    npu_binding binding;
};

npu_status npu_build_program(npu_build *b, npu_known_kernel *known, const npu_binding *binding,
                             npu_program *program) {
    int seen = 0;
    for (const struct npu_variant *v = known->variants; v != NULL && seen < MAX_VARIANTS;
         v = v->next, seen++)
        if (npu_binding_alike(known->kernel, &v->binding, binding))
            return npu_program_move(b->arena, v->program, binding->windows, program, b->err);
    npu_status status = npu_kernel_bind(b->arena, known->kernel, binding, program, b->err);
    struct npu_variant *variant = npu_arena_alloc(b->arena, 1, sizeof *variant);
    if (status != NPU_OK || variant == NULL)
        return status != NPU_OK ? status : npu_fail_memory(b->err);
    *variant = (struct npu_variant){known->variants, program, *binding};
    known->variants = variant;
    return NPU_OK;
}
