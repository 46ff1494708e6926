// SPDX-License-Identifier: Apache-2.0
// The links of a die and what crosses them.
#include <math.h>

#include "memory.h"

void npu_memory_net(const npu_die *die, npu_link *links, npu_path *paths) {
    links[NPU_LINK_HBM] = (npu_link){"hbm", npu_die_hbm_rate(die)};
    links[NPU_LINK_L2_READ] = (npu_link){"l2 read", die->l2.read};
    links[NPU_LINK_L2_WRITE] = (npu_link){"l2 write", die->l2.write};
    links[NPU_LINK_CROWD] = (npu_link){"crowd", die->hbm.crowd_rate};
    const int hbm = NPU_LINK_HBM, read = NPU_LINK_L2_READ, write = NPU_LINK_L2_WRITE;
    const int crowd = NPU_LINK_CROWD;
    double aic = die->aic.read * die->clock, aiv = die->aiv.read * die->clock;
    paths[NPU_PATH_AIC_MISS] = (npu_path){"aic miss", {hbm, read}, 2, aic};
    paths[NPU_PATH_AIC_HIT] = (npu_path){"aic hit", {read}, 1, aic};
    paths[NPU_PATH_AIC_CROWD] = (npu_path){"aic crowd", {hbm, crowd, read}, 3, aic};
    paths[NPU_PATH_AIC_QUEUE] = (npu_path){"aic queue", {crowd, read}, 2, aic};
    paths[NPU_PATH_AIC_WRITE] = (npu_path){"aic write", {write}, 1, die->aic.write * die->clock};
    paths[NPU_PATH_AIV_MISS] = (npu_path){"aiv miss", {hbm, read}, 2, aiv};
    paths[NPU_PATH_AIV_HIT] = (npu_path){"aiv hit", {read}, 1, aiv};
    paths[NPU_PATH_AIV_CROWD] = (npu_path){"aiv crowd", {hbm, crowd, read}, 3, aiv};
    paths[NPU_PATH_AIV_QUEUE] = (npu_path){"aiv queue", {crowd, read}, 2, aiv};
    paths[NPU_PATH_AIV_WRITE] = (npu_path){"aiv write", {write}, 1, die->aiv.write * die->clock};
    paths[NPU_PATH_WRITE_BACK] = (npu_path){"write back", {hbm}, 1, INFINITY};
    paths[NPU_PATH_SDMA] = (npu_path){"sdma", {hbm}, 1, die->sdma.rate};
    paths[NPU_PATH_SDMA_SHARED] = (npu_path){"sdma shared", {hbm}, 1, die->sdma.shared};
}
