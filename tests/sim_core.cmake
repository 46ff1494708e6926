# SPDX-License-Identifier: Apache-2.0
npu_test(test_sim_cost USES npu_sim)
npu_test(test_sim_core USES npu_sim)
npu_test(test_sim_flags USES npu_sim)
npu_test(test_sim_memory USES npu_sim)
npu_test(test_sim_sdma USES npu_sim)
