# SPDX-License-Identifier: Apache-2.0
foreach(part parts fit)
  npu_test(test_calibrate_${part} USES npu_calibrate)
endforeach()
npu_test(test_calibrate USES npusim_shared)
npu_test(test_calibrate_captures USES npusim_shared)
