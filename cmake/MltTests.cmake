# SPDX-License-Identifier: BSD-3-Clause
# Tests beside what they test: src/LAYER/x_test.c becomes build/test/LAYER_x, linked with the objects of its layer and of all
# below, and a CTest test of that name with the layer as its label. `ctest -L '^fiber$'` runs one layer's.
#
# A test passes by exit status 0; 77 means that this machine cannot run it (skipped). It has MLT_TEST_TIMEOUT seconds.
# The tests of whole jobs are started by test/run_mpi, test/launch/run and test/build_test.py; ./check runs everything.
enable_testing()
set(MLT_TEST_TIMEOUT 60 CACHE STRING "Seconds that a unit test may take")
set(MLT_TEST_DIR ${CMAKE_BINARY_DIR}/test)

# mlt_test_program(LAYER FILE OUT): the executable of one test file; its name in OUT.
function(mlt_test_program LAYER FILE OUT)
  get_filename_component(STEM ${FILE} NAME_WE)
  string(REGEX REPLACE "_test$" "" STEM ${STEM})
  set(NAME ${LAYER}_${STEM})
  add_executable(${NAME} ${FILE})
  mlt_layer_closure(${LAYER} OBJECTS)
  target_link_libraries(${NAME} PRIVATE mlt_flags ${OBJECTS} m)
  mlt_after_generation(${NAME})
  set_target_properties(${NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${MLT_TEST_DIR})
  set(${OUT} ${NAME} PARENT_SCOPE)
endfunction()

foreach(LAYER IN LISTS MLT_LAYER_LIST)
  file(GLOB_RECURSE MLT_TEST_FILES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${LAYER}/*_test.c)
  set(MLT_LAYER_TESTS "")
  foreach(FILE IN LISTS MLT_TEST_FILES)
    mlt_test_program(${LAYER} ${FILE} NAME)
    add_test(NAME ${NAME} COMMAND ${NAME})
    set_tests_properties(${NAME} PROPERTIES LABELS ${LAYER} TIMEOUT ${MLT_TEST_TIMEOUT} SKIP_RETURN_CODE 77)
    list(APPEND MLT_LAYER_TESTS ${NAME})
  endforeach()
  # `ninja tests_fiber` builds the tests of one layer and what they need, and nothing else.
  add_custom_target(tests_${LAYER} DEPENDS ${MLT_LAYER_TESTS})

  if(MLT_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID STREQUAL Clang)
      message(FATAL_ERROR "MLT_FUZZ needs clang; configure with -DCMAKE_C_COMPILER=clang")
    endif()
    file(GLOB_RECURSE MLT_FUZZ_FILES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${LAYER}/*_fuzz.c)
    foreach(FILE IN LISTS MLT_FUZZ_FILES)
      mlt_test_program(${LAYER} ${FILE} NAME)
      target_link_options(${NAME} PRIVATE -fsanitize=fuzzer)
    endforeach()
  endif()
endforeach()

# ---- tests of the source itself

if(NOT CMAKE_CROSSCOMPILING)
  foreach(NAME layers headers)
    add_test(NAME source_${NAME} COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/test/${NAME}_test.py
             --build ${CMAKE_BINARY_DIR})
    add_test(NAME source_${NAME}_can_fail COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/test/${NAME}_test.py
             --self-test)
    set_tests_properties(source_${NAME} source_${NAME}_can_fail PROPERTIES LABELS source TIMEOUT 120)
  endforeach()
  set_tests_properties(source_headers source_headers_can_fail PROPERTIES ENVIRONMENT "CC=${CMAKE_C_COMPILER}")
endif()
