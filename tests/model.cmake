# SPDX-License-Identifier: Apache-2.0
npu_test(test_model_language USES npu_model)
npu_test(test_model_edges USES npu_model)
npu_test(test_model_ranks USES npu_model)
npu_test(test_model_tables USES npu_model)
npu_test(test_model_overlap USES npu_model)
npu_test(test_model_errors USES npu_model)
npu_test(test_model_check USES npu_model)
