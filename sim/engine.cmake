# SPDX-License-Identifier: Apache-2.0
set(NPUSIM_MODULE_DIR ${CMAKE_INSTALL_LIBDIR}/npusim)

add_library(npu_engine STATIC ${CMAKE_SOURCE_DIR}/sim/engine.c
                              ${CMAKE_SOURCE_DIR}/sim/engine_fluid.c
                              ${CMAKE_SOURCE_DIR}/sim/fabric.c
                              ${CMAKE_SOURCE_DIR}/sim/module.c)
target_include_directories(npu_engine PUBLIC ${CMAKE_SOURCE_DIR}/sim)
target_link_libraries(npu_engine PUBLIC npu_base m ${CMAKE_DL_LIBS})
target_compile_definitions(
  npu_engine PRIVATE NPUSIM_MODULE_DIR="${CMAKE_INSTALL_FULL_LIBDIR}/npusim")

# The reference engine is a module of its own, so that only runs that ask for it load
# libsimgrid.
if(NPUSIM_SIMGRID)
  find_path(SIMGRID_INCLUDE_DIR simgrid/engine.h)
  find_library(SIMGRID_LIBRARY simgrid)
  if(NOT SIMGRID_INCLUDE_DIR OR NOT SIMGRID_LIBRARY)
    message(WARNING "SimGrid not found (Debian: libsimgrid-dev): building without the simgrid "
                    "engine")
  else()
    add_library(npusim_simgrid MODULE ${CMAKE_SOURCE_DIR}/sim/engine_simgrid.c
                                      ${CMAKE_SOURCE_DIR}/sim/fabric_simgrid.c)
    set_target_properties(npusim_simgrid PROPERTIES
      PREFIX "" SUFFIX .so C_VISIBILITY_PRESET hidden
      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/npusim)
    target_include_directories(npusim_simgrid PRIVATE ${CMAKE_SOURCE_DIR}/sim)
    target_include_directories(npusim_simgrid SYSTEM PRIVATE ${SIMGRID_INCLUDE_DIR})
    # -fexceptions: SimGrid may unwind through an actor's frames.
    target_compile_options(npusim_simgrid PRIVATE -fexceptions)
    target_compile_definitions(npusim_simgrid PRIVATE $<$<BOOL:${NPUSIM_SANITIZE}>:NPUSIM_SANITIZE>)
    target_link_options(npusim_simgrid PRIVATE -Wl,--as-needed,--exclude-libs,ALL)
    target_link_libraries(npusim_simgrid PRIVATE npu_base m ${SIMGRID_LIBRARY})
    add_dependencies(npu_engine npusim_simgrid)
    install(TARGETS npusim_simgrid LIBRARY DESTINATION ${NPUSIM_MODULE_DIR})
  endif()
endif()
