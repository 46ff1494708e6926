# SPDX-License-Identifier: Apache-2.0
npu_test(test_swa_layer USES npu_model)
