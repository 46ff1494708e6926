# SPDX-License-Identifier: Apache-2.0
# The readers against any bytes. tests/fuzz/corpus is replayed by CTest; with clang and
# -DNPUSIM_FUZZ=ON there is one libFuzzer program per reader, to be run on a copy of it:
#     fuzz_records -max_total_time=600 -max_len=4096 corpus/
file(GLOB FUZZ_CORPUS CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/*)
add_executable(fuzz_corpus fuzz/fuzz_readers.c)
target_link_libraries(fuzz_corpus PRIVATE npu_traces)
add_test(NAME fuzz_corpus COMMAND fuzz_corpus ${FUZZ_CORPUS})

if(NPUSIM_FUZZ)
  set(number 0)
  foreach(reader records merged deps names scope incore pmu) # in the order of fuzz_readers.c
    add_executable(fuzz_${reader} fuzz/fuzz_readers.c)
    target_compile_definitions(fuzz_${reader} PRIVATE FUZZ_READER=${number})
    target_link_libraries(fuzz_${reader} PRIVATE npu_traces)
    target_link_options(fuzz_${reader} PRIVATE -fsanitize=fuzzer)
    math(EXPR number "${number} + 1")
  endforeach()
endif()
