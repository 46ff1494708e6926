# SPDX-License-Identifier: Apache-2.0
foreach(part verify files perfetto metrics gaps plot json records generations deps_read sanity scene)
  npu_test(test_traces_${part} USES npu_traces)
endforeach()
