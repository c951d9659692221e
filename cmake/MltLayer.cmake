# SPDX-License-Identifier: BSD-3-Clause
# mlt_layer(NAME [TOOL] [USES layer...]): one layer of the house. Its C files (not *_test.c) become the object library
# mlt_NAME. USES names the layers directly below; what those use is allowed too. test/layers_test.py reads
# ${CMAKE_BINARY_DIR}/layers.txt and fails on any other include.
set(MLT_LAYERS_FILE ${CMAKE_BINARY_DIR}/layers.txt)
file(WRITE ${MLT_LAYERS_FILE}.new "")
set(MLT_WARNINGS -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wundef
    -Wvla -Wno-unused-parameter)

add_library(mlt_flags INTERFACE)
target_include_directories(mlt_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_BINARY_DIR}/gen
                           ${CMAKE_BINARY_DIR}/include ${CMAKE_SOURCE_DIR}/include)
target_compile_definitions(mlt_flags INTERFACE _GNU_SOURCE MLT_VERSION="${PROJECT_VERSION}")
# Frame pointers cost nothing measurable here and let anyone walk a parked rank's stack.
target_compile_options(mlt_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:${MLT_WARNINGS}> -fno-omit-frame-pointer
                       $<$<COMPILE_LANGUAGE:C>:-fno-semantic-interposition>)
if(MLT_WERROR)
  target_compile_options(mlt_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:-Werror>)
endif()
if(MLT_SANITIZE)
  string(REPLACE ";" "," MLT_SANITIZE_LIST "${MLT_SANITIZE}")
  target_compile_options(mlt_flags INTERFACE -fsanitize=${MLT_SANITIZE_LIST} -fno-sanitize-recover=all)
  target_link_options(mlt_flags INTERFACE -fsanitize=${MLT_SANITIZE_LIST})
endif()
target_link_libraries(mlt_flags INTERFACE Threads::Threads ${CMAKE_DL_LIBS})

set(MLT_LAYERS "")
function(mlt_layer NAME)
  cmake_parse_arguments(LAYER "TOOL" "" "USES" ${ARGN})
  file(APPEND ${MLT_LAYERS_FILE}.new "${NAME}: ${LAYER_USES}\n")
  if(NAME STREQUAL arch)
    file(GLOB SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/arch/${CMAKE_SYSTEM_PROCESSOR}/*.[cS])
  else()
    file(GLOB_RECURSE SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${NAME}/*.c)
    list(FILTER SOURCES EXCLUDE REGEX "_(test|fuzz)\\.c$")
    list(FILTER SOURCES EXCLUDE REGEX "/main_[a-z]+\\.c$")
  endif()
  if(SOURCES)
    add_library(mlt_${NAME} OBJECT ${SOURCES})
    target_link_libraries(mlt_${NAME} PRIVATE mlt_flags)
    if(NOT LAYER_TOOL)
      list(APPEND MLT_LAYERS ${NAME})
      set(MLT_LAYERS ${MLT_LAYERS} PARENT_SCOPE)
    endif()
  endif()
endfunction()
