# SPDX-License-Identifier: Apache-2.0
npu_test(test_calibrate_parts USES npu_calibrate)
npu_test(test_calibrate USES npusim_shared)
