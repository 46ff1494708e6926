# SPDX-License-Identifier: Apache-2.0
npu_test(test_swa_layer USES npu_model)
npu_test(test_workload USES npu_model)
target_sources(test_swa_layer PRIVATE workload.c)
target_sources(test_workload PRIVATE workload.c)
