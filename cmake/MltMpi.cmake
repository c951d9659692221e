# SPDX-License-Identifier: BSD-3-Clause
# mpi.h and the MPI surface from the tables of spec/ (docs/internals/mpi-layer.md), and libmpi_abi.so.1 from all layers.

# 00: extensions, MPIX_
set(MLT_CHAPTERS 00 03 04 05 06 07 08 09 10 11 12 13 14 15 16 19 20)
set(MLT_GEN ${CMAKE_BINARY_DIR}/gen)
set(MLT_SURFACE ${MLT_GEN}/mpi_fn.c ${MLT_GEN}/mpi_error_text.c ${MLT_GEN}/mpi_refuse.c ${MLT_GEN}/goal_surface.c)
foreach(CHAPTER ${MLT_CHAPTERS})
  list(APPEND MLT_SURFACE ${MLT_GEN}/mpi_surface_${CHAPTER}.c)
endforeach()
set(MLT_GENERATED ${MLT_SURFACE} ${MLT_GEN}/mpi_fn.h ${MLT_GEN}/mpi_bodies.h ${MLT_GEN}/mpi_refuse.h ${MLT_GEN}/goal_bodies.h
    ${MLT_GEN}/type_predefined.c ${CMAKE_BINARY_DIR}/include/mpi.h)

# The bodies say which functions are built, so they are an input of the tables' output.
file(GLOB_RECURSE MLT_BODIES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/mpi/*.[ch])
file(GLOB MLT_SPEC CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/spec/*)
add_custom_command(
  OUTPUT ${MLT_GEN}/stamp
  BYPRODUCTS ${MLT_GENERATED}
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/spec/gen_mpi.py ${CMAKE_SOURCE_DIR}/spec
          ${CMAKE_SOURCE_DIR}/src/mpi ${CMAKE_BINARY_DIR} ${PROJECT_VERSION}
  COMMAND ${CMAKE_COMMAND} -E touch ${MLT_GEN}/stamp
  DEPENDS ${MLT_SPEC} ${MLT_BODIES} ${CMAKE_SOURCE_DIR}/include/millet/goal.h
          ${CMAKE_SOURCE_DIR}/include/millet/coll.h
  COMMENT "The MPI surface from its tables")
add_custom_target(mlt_gen DEPENDS ${MLT_GEN}/stamp)
set_source_files_properties(${MLT_GENERATED} PROPERTIES GENERATED TRUE)
# A function of the surface ends with a jump to its body, so that no stack shows it.
set_source_files_properties(${MLT_SURFACE} PROPERTIES COMPILE_OPTIONS "${MLT_LINES_ONLY}")
foreach(CHAPTER 10 11 14 15 16) # info, processes and sessions, files, tools, what is deprecated
  set_source_files_properties(${MLT_GEN}/mpi_surface_${CHAPTER}.c PROPERTIES COMPILE_OPTIONS "${MLT_OPTIMIZE_LITTLE}")
endforeach()

if(TARGET mlt_type)
  target_sources(mlt_type PRIVATE ${MLT_GEN}/type_predefined.c)
  add_dependencies(mlt_type mlt_gen)
endif()
if(TARGET mlt_mpi)
  target_sources(mlt_mpi PRIVATE ${MLT_SURFACE})
  add_dependencies(mlt_mpi mlt_gen)
endif()
foreach(LAYER lib tools)
  add_dependencies(mlt_${LAYER} mlt_gen)
endforeach()

if(NOT MLT_WITH_MPI)
  return()
endif()
set(MLT_OBJECTS "")
foreach(LAYER ${MLT_LAYERS})
  list(APPEND MLT_OBJECTS $<TARGET_OBJECTS:mlt_${LAYER}>)
endforeach()

# What a program links: the name and SONAME of the standard ABI. Only what is marked for export is visible.
add_library(mpi_abi SHARED ${MLT_OBJECTS})
set_target_properties(mpi_abi PROPERTIES SOVERSION 1 LINKER_LANGUAGE C INSTALL_RPATH "${MLT_RPATH}")
target_link_libraries(mpi_abi PRIVATE mlt_flags)
target_link_options(mpi_abi PRIVATE -Wl,-z,defs -Wl,-z,relro -Wl,--gc-sections) # what no layer uses stays out
if(MLT_SANITIZE)
  target_link_options(mpi_abi PRIVATE -Wl,-z,undefs) # the sanitizer's names come with the program
endif()

# With the tests: the libraries of smaller products, linked from the same objects. Nothing of what they are without is missed.
if(MLT_TESTS AND MLT_WITH_FLOW AND NOT MLT_SANITIZE)
  foreach(PRODUCT mpi csp)
    set(LAYERS mpi)
    set(CSP 0)
    if(PRODUCT STREQUAL csp)
      set(LAYERS mpi csp)
      set(CSP 1)
    endif()
    mlt_layer_closure(LAYERS ${LAYERS})
    set(OBJECTS "")
    foreach(LAYER IN LISTS LAYERS)
      list(APPEND OBJECTS $<TARGET_OBJECTS:${LAYER}>)
    endforeach()
    add_library(mpi_abi_with_${PRODUCT} SHARED ${OBJECTS} ${CMAKE_SOURCE_DIR}/src/lib/settings.c ${CMAKE_SOURCE_DIR}/src/lib/upcalls.c)
    target_compile_definitions(mpi_abi_with_${PRODUCT} PRIVATE MLT_WITH_CSP=${CSP} MLT_WITH_FLOW=0)
    target_link_libraries(mpi_abi_with_${PRODUCT} PRIVATE mlt_flags)
    target_link_options(mpi_abi_with_${PRODUCT} PRIVATE -Wl,-z,defs -Wl,--gc-sections)
    set_target_properties(mpi_abi_with_${PRODUCT} PROPERTIES LINKER_LANGUAGE C LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test/products)
    mlt_after_generation(mpi_abi_with_${PRODUCT})
  endforeach()
endif()

if(NOT CMAKE_CROSSCOMPILING)
  set(MLT_SURFACE_TEST ${CMAKE_SOURCE_DIR}/test/surface_test.py --build ${CMAKE_BINARY_DIR})
  if(MLT_SANITIZE)
    list(APPEND MLT_SURFACE_TEST --sanitized)
  endif()
  add_test(NAME mpi_surface COMMAND ${Python3_EXECUTABLE} ${MLT_SURFACE_TEST})
  set_tests_properties(mpi_surface PROPERTIES LABELS mpi TIMEOUT 2400 ENVIRONMENT "CC=${CMAKE_C_COMPILER}")
endif()
