# SPDX-License-Identifier: Apache-2.0
npu_test(test_sim_aicpu USES npu_sim)
npu_test(test_sim_aicpu_early USES npu_sim)
npu_test(test_sim_aicpu_random USES npu_sim)
npu_test(test_sim_launch USES npu_sim)
npu_test(test_moe_ranks USES npu_sim)
