// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "workload.h"

// In the order of the workload notes. Where these have the mean of uneven blocks, this is the sum.
static const workload_row rows[] = {
    {PREAMBLE, "decode_build_swa_metadata", NPU_AIV, 1, 8, false, true, 0, 0, 0, 4096, 0, 0, 0,
     1024, 0},
    {PREAMBLE, "decode_build_swa_scalar_metadata", NPU_AIV, 1, 1, false, true, 0, 0, 0, 96, 0, 0, 0,
     0, 0},
    {PREAMBLE, "decode_build_cache_metadata", NPU_AIV, 1, 1, false, true, 0, 0, 0, 384, 0, 0, 0, 0,
     0},
    {PREAMBLE, "pack_x_hc", NPU_AIV, 1, 48, false, false, 65536, 0, 0, 524288, 0, 0, 0, 32768, 0},
    {HC_PRE, "hc_pre_rms", NPU_AIV, 1, 1, true, true, 0, 524288, 0, 32, 0, 0, 0, 262424, 0},
    {HC_PRE, "hc_pre_linear", NPU_AIC, 1, 4, true, true, 1572864, 524288, 0, 8192, 0, 8388608,
     3145728, 0, 0},
    {HC_PRE, "hc_pre_linear_reduce", NPU_AIV, 1, 1, true, true, 0, 8192, 0, 2048, 0, 0, 0, 1536, 0},
    {HC_PRE, "split_pre_post", NPU_AIV, 1, 1, true, true, 64, 544, 0, 384, 0, 0, 0, 1216, 0},
    {HC_PRE, "comb_sinkhorn", NPU_AIV, 1, 1, true, true, 64, 1056, 0, 512, 0, 0, 0, 27904, 0},
    {HC_PRE, "mix_x", NPU_AIV, 1, 4, true, true, 0, 525312, 0, 65536, 0, 0, 0, 262400, 0},
    {HC_FUSED, "hc_pre_fused", NPU_MIX, 1, 24, true, false, 1572864, 1581056, 0, 76416, 0, 8388608,
     3145728, -1, 0},
    {SWA, "swa_rope_step", NPU_AIV, 1, 1, false, true, 2048, 0, 0, 2048, 0, 0, 0, 2048, 0},
    {HCA, "hca_rope", NPU_AIV, 1, 1, false, true, 2560, 0, 0, 3072, 0, 0, 0, 2304, 0},
    {CSA, "csa_rope_step", NPU_AIV, 1, 1, false, true, 2560, 0, 0, 3072, 0, 0, 0, 2304, 0},
    {CSA, "csa_cmp_rope", NPU_AIV, 1, 1, false, true, 512, 0, 0, 1024, 0, 0, 0, 256, 0},
    {HCA, "rope_interleave", NPU_AIV, 1, 1, true, true, 0, 1024, 0, 2048, 0, 0, 0, 3072, 0},
    {CSA, "rope_interleave", NPU_AIV, 2, 1, true, true, 0, 1024, 0, 2048, 0, 0, 0, 3072, 0},
    {ATTENTION, "rms_norm", NPU_AIV, 1, 1, true, true, 8192, 131072, 0, 65536, 0, 0, 0, 233472, 0},
    {SWA, "prefetch_attn_w", NPU_AIV, 1, 1, false, true, 0, 0, 0, 0, 0, 0, 0, 0, 146800640},
    {HCA, "prefetch_attn_w", NPU_AIV, 1, 1, false, true, 0, 0, 0, 0, 0, 0, 0, 0, 146800640},
    {CSA, "prefetch_attn_w", NPU_AIV, 1, 1, false, true, 0, 0, 0, 0, 0, 0, 0, 0, 159907840},
    {ATTENTION, "late_dep", NPU_DUMMY, 1, 0, false, true, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {ATTENTION, "q_rope_prepare", NPU_AIV, 1, 1, true, true, 0, 2048, 0, 6144, 0, 0, 0, 10240, 0},
    {ATTENTION, "qr_proj_seed", NPU_AIV, 1, 1, false, true, 0, 0, 0, 65536, 0, 0, 0, 16384, 0},
    {ATTENTION, "qr_proj_matmul", NPU_AIC, 1, 16, true, true, 8388608, 524288, 0, 131072, 0,
     67108864, 33554432, 0, 0},
    {ATTENTION, "qr_rms_norm_quant", NPU_AIV, 1, 1, true, true, 4096, 65536, 0, 16416, 0, 0, 0,
     92256, 0},
    {ATTENTION, "qproj_matmul", NPU_AIC, 1, 64, false, true, 33554432, 1048576, 0, 2097152, 0,
     536870912, 268435456, 0, 0},
    {ATTENTION, "qproj_dequant_rms_nope_rope", NPU_AIV, 1, 16, true, true, 131072, 1147392, 0,
     524288, 0, 0, 0, 1968128, 0},
    {ATTENTION, "kv_proj_seed", NPU_AIV, 1, 1, false, true, 0, 0, 0, 32768, 0, 0, 0, 8192, 0},
    {ATTENTION, "kv_proj_matmul", NPU_AIC, 1, 16, false, true, 4194304, 262144, 0, 131072, 0,
     33554432, 16777216, 0, 0},
    {ATTENTION, "kv_rms_norm_rope", NPU_AIV, 1, 1, false, true, 1024, 38912, 0, 8192, 0, 0, 0,
     23040, 0},
    {SWA, "swa_cache_insert_valid_bias", NPU_AIV, 1, 1, false, true, 0, 8224, 0, 12288, 0, 0, 0,
     9216, 0},
    {SWA, "swa_gather_kv", NPU_AIV, 1, 32, false, true, 0, 0, 1048576, 1048576, 0, 0, 0, 0, 0},
    {SWA, "qk_pv", NPU_MIX, 1, 8, true, true, 0, 1576960, 0, 1052672, 393216, 67108864, 67108864,
     458752, 0},
    {SWA, "rope_cs", NPU_AIV, 1, 1, false, true, 0, 1024, 0, 8192, 0, 0, 0, 13824, 0},
    {SWA, "merge_norm", NPU_AIV, 1, 32, true, true, 2048, 1200128, 0, 524288, 0, 0, 0, 690688, 0},
    {HCA, "hca_cache_writeback", NPU_AIV, 1, 1, false, true, 0, 8192, 0, 8192, 0, 0, 0, 0, 0},
    {HCA, "hca_cache_topk", NPU_AIV, 1, 1, false, true, 0, 0, 0, 4096, 0, 0, 0, 0, 0},
    {HCA, "kv_score_proj", NPU_AIC, 1, 8, false, true, 8388608, 524288, 0, 65536, 0, 67108864,
     33554432, 0, 0},
    {HCA, "scatter_softmax_pool", NPU_AIV, 1, 1, false, true, 16384, 32768, 0, 32768, 0, 0, 0, 4096,
     0},
    {HCA, "rmsnorm_rope_cache_write", NPU_AIV, 1, 1, false, true, 1024, 67584, 0, 32768, 0, 0, 0,
     47616, 0},
    {HCA, "build_valid", NPU_AIV, 1, 1, true, true, 0, 8192, 0, 8192, 0, 0, 0, 12288, 0},
    {HCA, "hca_gather_kv", NPU_AIV, 1, 32, false, false, 0, 0, 1572864, 2097152, 0, 0, 0, 0, 0},
    {HCA, "qk_pv", NPU_MIX, 1, 16, true, true, 0, 3153920, 0, 2105344, 786432, 134217728, 134217728,
     1048576, 0},
    {HCA, "rope_swap", NPU_AIV, 1, 1, false, true, 0, 0, 0, 4096, 0, 0, 0, 9216, 0},
    {HCA, "rope_cs", NPU_AIV, 1, 2, false, true, 0, 1024, 0, 4096, 0, 0, 0, 6656, 0},
    {HCA, "merge_norm", NPU_AIV, 1, 32, false, true, 2048, 2252800, 0, 524288, 0, 0, 0, 1743360, 0},
    {CSA, "csa_cache_writeback", NPU_AIV, 1, 1, false, true, 0, 8192, 0, 8192, 0, 0, 0, 0, 0},
    {CSA, "kv_score_proj", NPU_AIC, 1, 16, false, true, 16777216, 1048576, 0, 131072, 0, 134217728,
     67108864, 0, 0},
    {CSA, "scatter_softmax_pool", NPU_AIV, 1, 1, false, true, 32768, 65536, 0, 65536, 0, 0, 0, 8192,
     0},
    {CSA, "rmsnorm_rope_cache_write", NPU_AIV, 1, 1, true, true, 1024, 67584, 0, 32768, 0, 0, 0,
     47616, 0},
    {CSA, "idx_qr_proj_matmul", NPU_AIC, 1, 8, true, true, 8388608, 131072, 0, 524288, 0, 134217728,
     67108864, 0, 0},
    {CSA, "idx_qr_proj_dequant", NPU_AIV, 1, 8, true, true, 32768, 262400, 0, 262144, 0, 0, 0,
     196608, 0},
    {CSA, "qr_rope_swap_idx", NPU_AIV, 1, 1, true, true, 0, 0, 0, 8192, 0, 0, 0, 18432, 0},
    {CSA, "qr_rope", NPU_AIV, 1, 16, true, true, 0, 401408, 0, 131072, 0, 0, 0, 262144, 0},
    {CSA, "qr_hadamard_matmul", NPU_AIC, 1, 8, true, true, 262144, 131072, 0, 262144, 0, 8388608,
     8388608, 0, 0},
    {CSA, "qr_hadamard_quant", NPU_AIV, 1, 8, true, true, 0, 524288, 0, 67584, 0, 0, 0, 458752, 0},
    {CSA, "weights_proj", NPU_AIC, 1, 4, false, true, 524288, 65536, 0, 16384, 0, 4194304, 2097152,
     0, 0},
    {CSA, "weights_proj_reduce", NPU_AIV, 1, 1, true, true, 0, 16384, 0, 4096, 0, 0, 0, 4096, 0},
    {CSA, "inner_kv_score_proj", NPU_AIC, 1, 8, false, true, 4194304, 524288, 0, 32768, 0, 33554432,
     16777216, 0, 0},
    {CSA, "inner_scatter_softmax_pool", NPU_AIV, 1, 1, true, true, 8192, 16384, 0, 16384, 0, 0, 0,
     2048, 0},
    {CSA, "inner_rmsnorm_rope", NPU_AIV, 1, 1, false, true, 256, 18432, 0, 4096, 0, 0, 0, 24576, 0},
    {CSA, "kv_hadamard", NPU_AIC, 1, 1, false, true, 32768, 8192, 0, 8192, 0, 262144, 65536, 0, 0},
    {CSA, "kv_and_cache_write", NPU_AIV, 1, 1, true, true, 0, 8192, 0, 0, 0, 0, 0, 16384, 0},
    {CSA, "score", NPU_MIX, 1, 16, true, true, 0, 139264, 2162688, 65536, 4194304, 134217728,
     134217728, 5292032, 0},
    {CSA, "topk", NPU_AIV, 1, 8, true, true, 0, 131072, 0, 147456, 0, 0, 0, 385024, 0},
    {CSA, "kv_touch", NPU_AIV, 1, 1, true, true, 0, 0, 8192, 8192, 0, 0, 0, 0, 0},
    {CSA, "csa_slots_build_valid_qk_plan", NPU_AIV, 1, 1, true, true, 0, 20512, 0, 37184, 0, 0, 0,
     71680, 0},
    {CSA, "qk_pv", NPU_MIX, 1, 24, true, false, 0, 2641920, 5242880, 5263360, 1966080, 335544320,
     335544320, 2293760, 0},
    {CSA, "rope_cs", NPU_AIV, 1, 1, true, true, 0, 1024, 0, 8192, 0, 0, 0, 15872, 0},
    {CSA, "merge_norm", NPU_AIV, 1, 32, false, true, 2048, 5410816, 0, 524288, 0, 0, 0, 4114944, 0},
    {ATTENTION, "proj_a_mm", NPU_AIC, 8, 8, true, true, 8388608, 524288, 0, 65536, 0, 67108864,
     33554432, 0, 0},
    {ATTENTION, "quant", NPU_AIV, 8, 1, true, true, 0, 65536, 0, 16416, 0, 0, 0, 65536, 0},
    {ATTENTION, "proj_b_mm", NPU_AIC, 8, 8, true, true, 4194304, 262144, 0, 262144, 0, 67108864,
     33554432, 0, 0},
    {ATTENTION, "proj_b_act", NPU_AIV, 1, 8, true, true, 16384, 1050624, 0, 65536, 0, 0, 0, 884736,
     0},
    {HC_POST, "hc_post", NPU_AIV, 1, 8, false, true, 0, 2359296, 0, 524288, 0, 0, 0, 1310720, 0},
    {MOE, "ffn_norm", NPU_AIV, 1, 8, true, true, 65536, 65536, 0, 131168, 0, 0, 0, 239616, 0},
    {MOE, "seed_dummy", NPU_DUMMY, 1, 0, false, true, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {MOE, "x_norm_quant", NPU_AIV, 1, 1, true, true, 0, 131104, 0, 32768, 0, 0, 0, 131072, 0},
    {MOE_EP2, "gate_pre_route", NPU_AIV, 1, 1, false, true, 0, 0, 0, 12288, 0, 0, 0, 3072, 0},
    {MOE_EP2, "gate", NPU_MIX, 1, 4, true, true, 1048576, 1048832, 0, 8192, 4096, 4194304, 2097152,
     24576, 0},
    {MOE_EP8, "gate_pre_route", NPU_AIV, 1, 1, false, true, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {MOE_EP8, "gate", NPU_MIX, 1, 16, true, true, 4194304, 4195328, 0, 32768, 16384, 16777216,
     8388608, 98304, 0},
    {MOE, "route_sort", NPU_AIV, 1, 1, true, true, 0, 16384, 0, 384, 0, 0, 0, 10624, 0},
    {MOE, "route_hash", NPU_AIV, 1, 1, true, true, 192, 8192, 0, 384, 0, 0, 0, 256, 0},
    {MOE, "sh_gate_mm", NPU_AIC, 1, 8, true, true, 8388608, 262144, 0, 131072, 0, 134217728,
     67108864, 0, 0},
    {MOE, "sh_up_mm", NPU_AIC, 1, 8, true, true, 8388608, 262144, 0, 131072, 0, 134217728, 67108864,
     0, 0},
    {MOE, "sh_gate_up_act_q", NPU_AIV, 1, 4, false, true, 65536, 196608, 0, 82176, 0, 0, 0, 344064,
     0},
    {MOE, "sh_w2_mm", NPU_AIC, 1, 16, false, true, 8388608, 524288, 0, 262144, 0, 134217728,
     67108864, 0, 0},
    {MOE, "sh_w2_act", NPU_AIV, 1, 1, true, true, 16384, 262656, 0, 65536, 0, 0, 0, 262144, 0},
    {MOE_EP2, "dispatch_meta", NPU_AIV, 1, 1, true, true, 0, 0, 0, 384, 0, 0, 0, 0, 0},
    {MOE_EP2, "dispatch_push", NPU_AIV, 1, 32, true, false, 0, 196608, 0, 199680, 0, 0, 0, 0, 0},
    {MOE_EP2, "dispatch_wait", NPU_AIV, 1, 1, true, true, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {MOE_EP2, "dispatch_gather", NPU_AIV, 1, 32, false, false, 0, 196608, 0, 197184, 0, 0, 0, 0, 0},
    {MOE_EP2, "combine", NPU_AIV, 1, 32, false, false, 0, 393216, 0, 393216, 0, 0, 0, 0, 0},
    {MOE_EP2, "combine_wait", NPU_AIV, 1, 1, false, true, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {MOE_EP8, "dispatch_meta", NPU_AIV, 1, 1, true, true, 0, 0, 0, 1152, 0, 0, 0, 0, 0},
    {MOE_EP8, "dispatch_push", NPU_AIV, 1, 32, true, false, 0, 196608, 0, 199680, 0, 0, 0, 0, 0},
    {MOE_EP8, "dispatch_wait", NPU_AIV, 1, 1, true, true, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {MOE_EP8, "dispatch_gather", NPU_AIV, 1, 32, false, false, 0, 196608, 0, 197184, 0, 0, 0, 0, 0},
    {MOE_EP8, "combine", NPU_AIV, 1, 32, false, false, 0, 393216, 0, 393216, 0, 0, 0, 0, 0},
    {MOE_EP8, "combine_wait", NPU_AIV, 1, 1, false, true, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {MOE, "shared_routed", NPU_AIV, 1, 8, false, true, 0, 458752, 0, 65536, 0, 0, 0, 458752, 0},
    {MOE, "exp_gate_mm", NPU_AIC, 1, 2, false, true, 8388608, 524288, 0, 131072, 0, 134217728,
     16777216, 0, 0},
    {MOE, "exp_up_mm", NPU_AIC, 1, 2, false, true, 8388608, 524288, 0, 131072, 0, 134217728,
     16777216, 0, 0},
    {MOE, "exp_gate_up_act", NPU_AIV, 1, 4, false, true, 16384, 262400, 0, 131072, 0, 0, 0, 524288,
     0},
    {MOE, "exp_h_q", NPU_AIV, 1, 1, false, true, 0, 262144, 0, 32832, 0, 0, 0, 229376, 0},
    {MOE, "exp_w2_mm", NPU_AIC, 1, 8, true, true, 8388608, 524288, 0, 262144, 0, 134217728,
     16777216, 0, 0},
    {MOE, "exp_w2_act", NPU_AIV, 1, 1, true, true, 16384, 262272, 0, 131072, 0, 0, 0, 262144, 0},
    {TAIL, "moe_signal_clear", NPU_AIV, 1, 1, false, true, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {TAIL, "hc_head_rms", NPU_AIV, 1, 16, false, true, 0, 524288, 0, 512, 0, 0, 0, 262144, 0},
    {TAIL, "hc_head_linear", NPU_AIC, 1, 16, false, true, 262144, 1048576, 0, 16384, 0, 4194304,
     524288, 0, 0},
    {TAIL, "hc_head_reduce", NPU_AIV, 1, 8, false, true, 256, 530432, 0, 65536, 0, 0, 0, 268288, 0},
    {TAIL_TP2, "lm_head_dispatch_push", NPU_AIV, 1, 8, false, true, 0, 131072, 0, 262144, 0, 0, 0,
     32768, 0},
    {TAIL_TP2, "lm_head_dispatch_wait", NPU_AIV, 1, 1, false, true, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {TAIL_TP2, "lm_head_dispatch_gather", NPU_AIV, 1, 8, false, true, 0, 131072, 0, 131072, 0, 0, 0,
     0, 0},
    {TAIL_TP2, "lm_head_matmul_push", NPU_MIX, 1, 24, false, false, 529530880, 37306368, 0, 8290304,
     4145152, 4244635648, 4236247040, 0, 0},
    {TAIL_TP2, "lm_head_combine_wait", NPU_AIV, 1, 1, false, true, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {TAIL_TP2, "lm_head_combine_gather", NPU_AIV, 1, 24, false, false, 0, 4136960, 0, 4136960, 0, 0,
     0, 0, 0},
    {TAIL_TP8, "lm_head_dispatch_push", NPU_AIV, 1, 8, false, true, 0, 131072, 0, 655360, 0, 0, 0,
     32768, 0},
    {TAIL_TP8, "lm_head_dispatch_wait", NPU_AIV, 1, 1, false, true, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {TAIL_TP8, "lm_head_dispatch_gather", NPU_AIV, 1, 8, false, true, 0, 524288, 0, 524288, 0, 0, 0,
     0, 0},
    {TAIL_TP8, "lm_head_matmul_push", NPU_MIX, 1, 24, false, false, 132382720, 37748736, 0, 8388608,
     4194304, 4294967296, 4236247040, 0, 0},
    {TAIL_TP8, "lm_head_combine_wait", NPU_AIV, 1, 1, false, true, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {TAIL_TP8, "lm_head_combine_gather", NPU_AIV, 1, 8, false, false, 0, 4136960, 0, 4136960, 0, 0,
     0, 0, 0},
    {TAIL, "lm_head_signal_clear", NPU_AIV, 1, 1, false, true, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {TAIL, "lm_head_greedy_sample", NPU_AIV, 1, 8, false, true, 0, 4136960, 0, 256, 0, 0, 0,
     7860224, 0},
    {MTP, "mtp_state_prepare", NPU_AIV, 1, 1, false, true, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {MTP, "mtp_verify_and_pack", NPU_AIV, 1, 1, false, true, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {MTP, "lookup_embedding", NPU_AIV, 1, 48, false, false, 65536, 0, 0, 65536, 0, 0, 0, 0, 0},
    {MTP, "pack_mtp_hidden", NPU_AIV, 1, 48, false, false, 0, 524288, 0, 786432, 0, 0, 0, 0, 0},
    {MTP, "decode_build_swa_metadata", NPU_AIV, 1, 8, false, true, 0, 0, 0, 4096, 0, 0, 0, 1024, 0},
    {MTP, "decode_build_swa_scalar_metadata", NPU_AIV, 1, 1, false, true, 0, 0, 0, 96, 0, 0, 0, 0,
     0},
    {MTP, "mtp_hidden_norm_quant", NPU_AIV, 1, 1, true, true, 65536, 131072, 0, 32800, 0, 0, 0,
     401408, 0},
    {MTP, "mtp_prev_norm_quant", NPU_AIV, 1, 4, true, true, 262144, 1048576, 0, 131200, 0, 0, 0,
     1343488, 0},
    {MTP, "mtp_linear", NPU_AIC, 1, 16, false, true, 33554432, 5242880, 0, 1310720, 0, 1342177280,
     671088640, 0, 0},
    {MTP, "mtp_dequant", NPU_AIV, 1, 4, false, true, 32768, 1310720, 0, 524288, 0, 0, 0, 1245184,
     0},
    {MTP, "mtp_state_advance", NPU_AIV, 1, 1, false, true, 0, 0, 0, 0, 0, 0, 0, 0, 0},
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

npu_status workload_load(workload *w, const char *name, const char *const *sets) {
    char path[512];
    int count = 0;
    snprintf(path, sizeof path, "%s/configs/models/%s.yaml", NPUSIM_SOURCE, name);
    while (sets != NULL && sets[count] != NULL)
        count++;
    npu_graph_options options = {NPUSIM_SOURCE "/configs/kernels", sets, count, 0};
    *w = (workload){0};
    npu_status status = npu_graph_load(path, &options, &w->graph, &w->warnings, &w->err);
    if (status)
        print_error("%s\n", w->err.text);
    return status;
}

void workload_free(workload *w) {
    npu_graph_free(&w->graph);
    npu_warnings_free(&w->warnings);
}

const workload_row *workload_find(const workload_prefix *prefixes, const char *function) {
    const char *dot = strrchr(function, '.');
    const char *name = dot != NULL ? dot + 1 : function;
    size_t length = dot != NULL ? (size_t)(dot - function) : 0;
    while (prefixes->prefix != NULL &&
           (strlen(prefixes->prefix) != length || strncmp(prefixes->prefix, function, length) != 0))
        prefixes++;
    for (int i = 0; i < ROW_COUNT; i++)
        if ((rows[i].unit & prefixes->units) != 0 && strcmp(rows[i].name, name) == 0)
            return &rows[i];
    fail_msg("no task '%s' is expected", function);
    return NULL;
}

// ---- counting ------------------------------------------------------------------------------

static void count_load(workload_counts *sum, npu_class class_, int64_t bytes) {
    switch (class_) {
    case NPU_WEIGHT:
        sum->weight += bytes;
        break;
    case NPU_CACHE:
        sum->cache += bytes;
        break;
    case NPU_HANDOFF:
        sum->handoff_load += bytes;
        break;
    default:
        sum->activation += bytes;
        break;
    }
}

static void count_op(const npu_graph *graph, const npu_task *task, const npu_op *op,
                     workload_counts *sum) {
    npu_class class_ = NPU_ACTIVATION;
    if (op->kind == NPU_OP_LOAD || op->kind == NPU_OP_STORE)
        class_ = graph->tensors[graph->args[task->first_arg + op->gm.arg].tensor].class_;
    switch (op->kind) {
    case NPU_OP_LOAD:
        count_load(sum, class_, npu_gm_bytes(&op->gm));
        break;
    case NPU_OP_STORE:
        *(class_ == NPU_HANDOFF ? &sum->handoff : &sum->store) += npu_gm_bytes(&op->gm);
        break;
    case NPU_OP_PREFETCH:
        sum->prefetch += npu_gm_bytes(&op->gm);
        break;
    case NPU_OP_MATMUL:
        sum->macs += op->m * op->n * op->k;
        sum->valid += op->valid;
        break;
    case NPU_OP_VEC:
        sum->elements += op->m * op->n;
        break;
    default:
        break;
    }
}

static void count_core(workload *w, const npu_task *task, npu_engine_type core, int64_t block,
                       int lane, workload_counts *sum) {
    npu_stream stream;
    npu_op op;
    bool more = true;
    npu_stream_open(&stream, task->program, core, block, lane);
    while (more) {
        if (npu_stream_next(&stream, &op, &more, &w->err))
            fail_msg("%s", w->err.text);
        if (more)
            count_op(&w->graph, task, &op, sum);
    }
}

static workload_counts count_block(workload *w, const npu_task *task, int64_t block) {
    workload_counts sum = {0};
    if (task->engine == NPU_AIC || task->engine == NPU_MIX)
        count_core(w, task, NPU_AIC, block, 0, &sum);
    if (task->engine == NPU_AIV || task->engine == NPU_MIX)
        count_core(w, task, NPU_AIV, block, 0, &sum);
    if (task->engine == NPU_MIX)
        count_core(w, task, NPU_AIV, block, 1, &sum);
    return sum;
}

// sum + sign * more
static void add(workload_counts *sum, const workload_counts *more, int sign) {
    sum->weight += sign * more->weight;
    sum->activation += sign * more->activation;
    sum->cache += sign * more->cache;
    sum->store += sign * more->store;
    sum->handoff += sign * more->handoff;
    sum->handoff_load += sign * more->handoff_load;
    sum->macs += sign * more->macs;
    sum->valid += sign * more->valid;
    sum->elements += sign * more->elements;
    sum->prefetch += sign * more->prefetch;
}

workload_counts workload_count_task(workload *w, const npu_task *task) {
    workload_counts sum = {0};
    for (int64_t block = 0; block < task->block_num; block++) {
        workload_counts more = count_block(w, task, block);
        add(&sum, &more, 1);
    }
    return sum;
}

workload_counts workload_count(workload *w) {
    workload_counts sum = {0};
    for (int i = 0; i < w->graph.task_count; i++) {
        workload_counts more = workload_count_task(w, &w->graph.tasks[i]);
        add(&sum, &more, 1);
    }
    return sum;
}

// ---- task by task --------------------------------------------------------------------------

static int wrong; // figures, told as they are found

#define CHECK(field, value)                                                                        \
    if ((value) != row->field * part / parts) {                                                    \
        print_error("%s%s: " #field " is %lld, not %lld\n", task->name,                            \
                    parts > 1 ? ", a block" : "", (long long)(value),                              \
                    (long long)(row->field * part / parts));                                       \
        wrong++;                                                                                   \
    }

// `part` of `parts` of what the row says.
static void check_counts(const npu_task *task, const workload_counts *sum, const workload_row *row,
                         int64_t part, int64_t parts) {
    CHECK(weight, sum->weight);
    CHECK(activation, sum->activation);
    CHECK(cache, sum->cache);
    CHECK(handoff, sum->handoff_load); // all that is handed over is read once
    CHECK(store, sum->store);
    CHECK(handoff, sum->handoff);
    CHECK(macs, sum->macs);
    CHECK(valid, sum->valid);
    if (row->elements >= 0)
        CHECK(elements, sum->elements);
    CHECK(prefetch, sum->prefetch);
}

static void check_task(workload *w, const npu_task *task, const workload_row *row) {
    if (task->engine != row->engine || task->block_num != row->blocks || task->early != row->early)
        fail_msg("%s: engine %d, %lld blocks, early %d", task->name, (int)task->engine,
                 (long long)task->block_num, task->early);
    if (!row->even) {
        workload_counts sum = workload_count_task(w, task);
        check_counts(task, &sum, row, 1, 1);
        return;
    }
    int before = wrong;
    for (int64_t block = 0; block < task->block_num && wrong == before; block++) {
        workload_counts sum = count_block(w, task, block);
        check_counts(task, &sum, row, 1, task->block_num);
    }
}

void workload_check_tasks(workload *w, const workload_prefix *prefixes) {
    wrong = 0;
    for (int i = 0; i < w->graph.task_count; i++)
        check_task(w, &w->graph.tasks[i], workload_find(prefixes, w->graph.tasks[i].kernel));
    assert_int_equal(wrong, 0);
}

void workload_check_complete(const workload *w, int units) {
    for (int r = 0; r < ROW_COUNT; r++) {
        int tasks = 0;
        for (int i = 0; i < w->graph.task_count; i++)
            tasks += strcmp(w->graph.tasks[i].kernel, rows[r].name) == 0;
        if ((rows[r].unit & units) != 0 && tasks != rows[r].tasks)
            fail_msg("%d tasks '%s', not %d", tasks, rows[r].name, rows[r].tasks);
    }
}

// ---- in sum --------------------------------------------------------------------------------

// The table of totals is rounded.
#define CLOSE(field, value, step)                                                                  \
    if ((value)-want->field > 0.51 * (step) || want->field - (value) > 0.51 * (step)) {            \
        print_error(#field " is %.4f, not %.3f\n", value, want->field);                            \
        wrong++;                                                                                   \
    }

workload_sum workload_sum_of(workload *w, bool plain) {
    workload_sum sum = {0};
    for (int i = 0; i < w->graph.task_count; i++) {
        const npu_task *task = &w->graph.tasks[i];
        if (plain && strchr(task->kernel, '.') != NULL)
            continue;
        workload_counts more = workload_count_task(w, task);
        add(&sum.counts, &more, 1);
        sum.tasks[task->engine]++;
        sum.blocks[task->engine] += task->block_num;
    }
    return sum;
}

workload_sum workload_difference(const workload_sum *a, const workload_sum *b) {
    workload_sum sum = *a;
    for (int i = 0; i < 4; i++) {
        sum.tasks[i] -= b->tasks[i];
        sum.blocks[i] -= b->blocks[i];
    }
    add(&sum.counts, &b->counts, -1);
    return sum;
}

void workload_check_totals(const workload_sum *sum, const workload_totals *want) {
    const workload_counts *counts = &sum->counts;
    assert_int_equal(sum->tasks[NPU_AIC], want->aic);
    assert_int_equal(sum->tasks[NPU_AIV], want->aiv);
    assert_int_equal(sum->tasks[NPU_MIX], want->mix);
    assert_int_equal(sum->tasks[NPU_DUMMY], want->dummy);
    assert_int_equal(sum->blocks[NPU_AIC], want->aic_blocks);
    assert_int_equal(sum->blocks[NPU_AIV], want->aiv_blocks);
    assert_int_equal(sum->blocks[NPU_MIX], want->mix_blocks);
    wrong = 0;
    CLOSE(weight, (double)counts->weight * 1e-6, 0.01);
    CLOSE(activation, (double)counts->activation * 1e-6, 0.01);
    CLOSE(cache, (double)counts->cache * 1e-6, 0.01);
    CLOSE(store, (double)counts->store * 1e-6, 0.01);
    CLOSE(handoff, (double)counts->handoff * 1e-6, 0.01);
    CLOSE(macs, (double)counts->macs * 1e-9, 0.001);
    CLOSE(valid, (double)counts->valid * 1e-9, 0.001);
    CLOSE(elements, (double)counts->elements * 1e-6, 0.1);
    assert_int_equal(wrong, 0);
}

// ---- edges ---------------------------------------------------------------------------------

const char *workload_preds(const npu_graph *graph, const char *name, char *buf, size_t size) {
    buf[0] = '\0';
    for (int i = 0; i < graph->task_count; i++) {
        const npu_task *task = &graph->tasks[i];
        if (strcmp(task->name, name) != 0)
            continue;
        for (int e = task->first_edge; e < task->first_edge + task->edge_count; e++) {
            const npu_edge *edge = &graph->edges[e];
            bool explicit_ = edge->source == NPU_EDGE_EXPLICIT;
            if (e > task->first_edge && edge[-1].pred == edge->pred)
                continue;
            size_t used = strlen(buf);
            snprintf(buf + used, size - used, "%s%s%s", used > 0 ? " " : "",
                     graph->tasks[edge->pred].name, explicit_ ? "!" : "");
        }
        return buf;
    }
    fail_msg("no task '%s'", name);
    return buf;
}
