# SPDX-License-Identifier: Apache-2.0
npu_test(test_levers USES npu_sim)
npu_test(test_levers_schedule USES npu_sim)
target_sources(test_levers PRIVATE levers.c)
target_sources(test_levers_schedule PRIVATE levers.c)
# docs/levers.md is what the script makes of the tree: some hundred runs, for the plain build alone.
if(TARGET npusim AND NOT NPUSIM_SANITIZE)
  add_test(NAME test_levers_table COMMAND sh ${CMAKE_SOURCE_DIR}/scripts/levers.sh --check $<TARGET_FILE:npusim>)
endif()
