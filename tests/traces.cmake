# SPDX-License-Identifier: Apache-2.0
foreach(part verify files perfetto metrics gaps plot)
  npu_test(test_traces_${part} USES npu_traces)
endforeach()
