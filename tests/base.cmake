# SPDX-License-Identifier: Apache-2.0
npu_test(test_base_name USES npu_base)
npu_test(test_base_yaml USES npu_base)
npu_test(test_base_yaml_text USES npu_base)
npu_test(test_base_expr USES npu_base)
npu_test(test_base_units USES npu_base)
npu_test(test_base_out USES npu_base)
