# SPDX-License-Identifier: Apache-2.0
# The whole program from outside: tests/cli and tests/bad hold what it must print.
if(TARGET npusim)
  npu_test(test_cli)
  add_dependencies(test_cli npusim)
  target_compile_definitions(test_cli PRIVATE NPUSIM_PROGRAM="$<TARGET_FILE:npusim>")
endif()
