# SPDX-License-Identifier: Apache-2.0
# The whole program from outside: tests/cli and tests/bad hold what it must print.
if(TARGET npusim)
  npu_test(test_cli)
  add_dependencies(test_cli npusim)
  target_compile_definitions(test_cli PRIVATE NPUSIM_PROGRAM="$<TARGET_FILE:npusim>")
endif()

add_executable(bench_process EXCLUDE_FROM_ALL bench/bench_process.c)
if(TARGET npusim)
  add_dependencies(bench_process npusim)
  target_compile_definitions(bench_process PRIVATE _DEFAULT_SOURCE NPUSIM_PROGRAM="$<TARGET_FILE:npusim>"
                             NPUSIM_SOURCE="${CMAKE_SOURCE_DIR}")
endif()

add_executable(make_capture EXCLUDE_FROM_ALL bench/make_capture.c)
target_link_libraries(make_capture PRIVATE npu_traces)
