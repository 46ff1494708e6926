// SPDX-License-Identifier: Apache-2.0
// Images: ranks that are not simulated. Rank r >= full does what rank r % full does, when that does
// it, with its own addresses: its programs are streamed beside those of the other, op by op, and
// what they send to ranks that are simulated, or fetch from them, crosses the fabric.
#ifndef NPU_IMAGES_H
#define NPU_IMAGES_H

#include "core_state.h"

// The streams of the images of one core, while a block runs.
typedef struct npu_images npu_images;

// For all cores of a rank; *images is NULL when the rank has none.
npu_status npu_images_new(const npu_cores *cores, npu_images **images, npu_error *err);
void npu_images_free(npu_images *images);
// A block starts on a core: its images are streamed too if its task reaches other dies.
void npu_images_start(npu_images *images, core_state *core);
// S has issued `op` as number `seq` of its pipe (0: an op of S itself); a notify of it is sent at
// `sent` (ns). Fails the run when an image does something else.
void npu_images_issue(npu_images *images, core_state *core, const npu_op *op, uint32_t seq,
                      double sent);
// The transfer `seq` of a pipe is asked for now.
void npu_images_ask(npu_images *images, core_state *core, npu_pipe pipe, uint32_t seq,
                    const queued *q);

#endif
