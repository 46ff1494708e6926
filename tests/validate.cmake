# SPDX-License-Identifier: Apache-2.0
foreach(part cases reading score files pool)
  npu_test(test_validate_${part} USES npu_validate)
endforeach()
npu_test(test_validate_run USES npusim_shared)
