# SPDX-License-Identifier: Apache-2.0
npu_test(test_baseline USES npu_sim)
