# SPDX-License-Identifier: BSD-3-Clause
# mlt_layer(NAME [TOOL] [USES layer...] [TESTS layer...] [HEADERS header...] [WITHOUT file...]
# ABOUT text): one layer of the house. Its C files (not *_test.c) become the
# object library mlt_NAME. USES names the layers directly below; what those use is allowed too. test/layers_test.py reads
# ${CMAKE_BINARY_DIR}/layers.txt and fails on any other include. TOOL: no part of the library.
# TESTS names layers that only its tests may use. HEADERS: installed headers that the layer implements, and those
# above it may include. ABOUT: one line for the drawing in docs/architecture.md. WITHOUT: beginnings of the names
# of its files that are not for this build.
#
# mlt_layer_closure(OUT NAME...): these and every layer below them that has sources, for linking.
set(MLT_WARNINGS -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wundef
    -Wvla -Wno-unused-parameter)
if(CMAKE_UNITY_BUILD) # a local may have the name of another file's function, which that build makes visible here
  list(APPEND MLT_WARNINGS -Wno-shadow)
  # A test has functions of its own in the place of the first one's; the second one needs what only a program has.
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/os/uring.c ${CMAKE_SOURCE_DIR}/src/tools/info.c
                              PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endif()

add_library(mlt_flags INTERFACE)
target_include_directories(mlt_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_BINARY_DIR}/gen
                           ${CMAKE_BINARY_DIR}/include ${CMAKE_SOURCE_DIR}/include)
target_compile_definitions(mlt_flags INTERFACE _GNU_SOURCE MLT_VERSION="${PROJECT_VERSION}")
# Frame pointers cost nothing measurable here and let anyone walk a parked rank's stack.
target_compile_options(mlt_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:${MLT_WARNINGS}> -fno-omit-frame-pointer
                       -ffunction-sections -fdata-sections
                       $<$<COMPILE_LANGUAGE:C>:-fno-semantic-interposition>)
if(MLT_WERROR)
  target_compile_options(mlt_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:-Werror>)
endif()
if(MLT_SANITIZE)
  string(REPLACE ";" "," MLT_SANITIZE_LIST "${MLT_SANITIZE}")
  set(MLT_SANITIZE_FLAG "-fsanitize=${MLT_SANITIZE_LIST}")
  target_compile_options(mlt_flags INTERFACE ${MLT_SANITIZE_FLAG} -fno-sanitize-recover=all)
  target_link_options(mlt_flags INTERFACE ${MLT_SANITIZE_FLAG})
  if(MLT_SANITIZE STREQUAL thread AND CMAKE_C_COMPILER_ID STREQUAL GNU)
    # TSan does not follow fences. Ours only order looks at flags; data is handed over by acquire and release, which it does.
    target_compile_options(mlt_flags INTERFACE -Wno-tsan)
  endif()
endif()
if(MLT_COVERAGE) # of layers (mlt_layer), and not of tests, which come from a compiler cache then
  target_link_options(mlt_flags INTERFACE --coverage -Wl,--exclude-libs,libgcov.a) # whose names no library exports
endif()
if(MLT_FUZZ)
  target_compile_options(mlt_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
target_link_libraries(mlt_flags INTERFACE Threads::Threads ${CMAKE_DL_LIBS})

set(MLT_LAYERS "")    # layers of the library that have sources, lowest first
set(MLT_LAYER_LIST "") # all declared layers
function(mlt_layer NAME)
  cmake_parse_arguments(LAYER "TOOL" "ABOUT" "USES;TESTS;HEADERS;WITHOUT" ${ARGN})
  foreach(BELOW IN LISTS LAYER_USES LAYER_TESTS)
    if(NOT BELOW IN_LIST MLT_LAYER_LIST)
      message(FATAL_ERROR "layer '${NAME}' uses '${BELOW}', which is not declared above it")
    endif()
  endforeach()
  set(MLT_LAYER_LIST ${MLT_LAYER_LIST} ${NAME} PARENT_SCOPE)
  set(MLT_LAYER_USES_${NAME} "${LAYER_USES}" PARENT_SCOPE)
  set(MLT_LAYER_TESTS_${NAME} "${LAYER_TESTS}" PARENT_SCOPE)
  set(MLT_LAYER_HEADERS_${NAME} "${LAYER_HEADERS}" PARENT_SCOPE)
  set(MLT_LAYER_ABOUT_${NAME} "${LAYER_ABOUT}" PARENT_SCOPE)
  set(MLT_LAYER_WITHOUT_${NAME} "${LAYER_WITHOUT}" PARENT_SCOPE)

  if(NAME STREQUAL arch)
    file(GLOB SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/arch/${CMAKE_SYSTEM_PROCESSOR}/*.[cS])
  else()
    file(GLOB_RECURSE SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${NAME}/*.c)
  endif()
  list(FILTER SOURCES EXCLUDE REGEX "_(test|fuzz)\\.c$")
  list(FILTER SOURCES EXCLUDE REGEX "/main_[a-z]+\\.c$")
  foreach(FILE IN LISTS LAYER_WITHOUT)
    list(FILTER SOURCES EXCLUDE REGEX "/src/${NAME}/${FILE}")
  endforeach()
  if(SOURCES)
    add_library(mlt_${NAME} OBJECT EXCLUDE_FROM_ALL ${SOURCES})
    target_link_libraries(mlt_${NAME} PRIVATE mlt_flags)
    if(MLT_COVERAGE)
      target_compile_options(mlt_${NAME} PRIVATE $<$<COMPILE_LANGUAGE:C>:--coverage;-fprofile-update=atomic;-O1>)
    endif()
    if(NOT LAYER_TOOL)
      list(APPEND MLT_LAYERS ${NAME})
      set(MLT_LAYERS ${MLT_LAYERS} PARENT_SCOPE)
    endif()
  endif()
endfunction()

function(mlt_layer_closure OUT)
  set(OPEN ${ARGN})
  set(FOUND "")
  while(OPEN)
    list(POP_FRONT OPEN LAYER)
    if(NOT LAYER IN_LIST FOUND)
      list(APPEND FOUND ${LAYER})
      list(APPEND OPEN ${MLT_LAYER_USES_${LAYER}})
    endif()
  endwhile()
  set(TARGETS "")
  foreach(LAYER IN LISTS FOUND)
    if(TARGET mlt_${LAYER})
      list(APPEND TARGETS mlt_${LAYER})
    endif()
  endforeach()
  set(${OUT} ${TARGETS} PARENT_SCOPE)
endfunction()

# Writes the declared graph for the layer test; called once, after the last mlt_layer.
function(mlt_layers_write)
  set(TEXT "")
  foreach(LAYER IN LISTS MLT_LAYER_LIST)
    string(REPLACE ";" " " USES "${MLT_LAYER_USES_${LAYER}}")
    string(REPLACE ";" " " TESTS "${MLT_LAYER_TESTS_${LAYER}}")
    string(REPLACE ";" " " HEADERS "${MLT_LAYER_HEADERS_${LAYER}}")
    string(APPEND TEXT "${LAYER}: ${USES} | ${TESTS} | ${HEADERS} | ${MLT_LAYER_ABOUT_${LAYER}}\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/layers.txt CONTENT "${TEXT}" @ONLY)
endfunction()

# A program that may include what is generated from the tables is compiled after it.
function(mlt_after_generation NAME)
  if(TARGET mlt_gen)
    add_dependencies(${NAME} mlt_gen)
  endif()
endfunction()
