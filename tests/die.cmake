# SPDX-License-Identifier: Apache-2.0
npu_test(test_die USES npu_sim)
npu_test(test_die_load USES npu_sim)
npu_test(test_die_print USES npu_api)
