# SPDX-License-Identifier: BSD-3-Clause
# Tests beside what they test: src/LAYER/x_test.c becomes build/test/LAYER_x, src/LAYER/WING/x_test.c LAYER_WING_x, linked with the objects of its layer, of all
# below, and of those that it names for its tests, and a CTest test of that name with the layer as its label. `ctest -L '^fiber$'` runs one layer's.
#
# A test passes by exit status 0; 77 means that this machine cannot run it (skipped). It has MLT_TEST_TIMEOUT seconds,
# and more on a busy machine: test/patience.py ends it, and CTest's TIMEOUT only what patience.py could not.
# The tests of whole jobs are started by test/run_mpi, test/launch/run and test/build_test.py; ./check runs everything.
enable_testing()
set(MLT_TEST_TIMEOUT 240 CACHE STRING "Seconds that a unit test may take")
set(MLT_TEST_DIR ${CMAKE_BINARY_DIR}/test)
set(MLT_PATIENCE ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/test/patience.py ${MLT_TEST_TIMEOUT}) # on a busy machine more
math(EXPR MLT_TEST_TIMEOUT_MOST "20 * ${MLT_TEST_TIMEOUT}")

# Where tests find the tree. By __FILE__ they would find the one that a compiler cache knows them from.
file(CONFIGURE OUTPUT ${MLT_TEST_DIR}/include/source_dir.h CONTENT "#define MLT_SOURCE_DIR \"${CMAKE_SOURCE_DIR}\"\n" @ONLY)

# mlt_layer_archives(OUT LAYER...): the objects of these layers and all below them, to be linked as a test needs them: with all of
# them the link of a large one takes three times as long. Thin archives, which name the objects instead of copying them.
set(CMAKE_C_ARCHIVE_CREATE "<CMAKE_AR> qcT <TARGET> <OBJECTS>")
function(mlt_layer_archives OUT)
  mlt_layer_closure(TARGETS ${ARGN})
  foreach(OBJECTS IN LISTS TARGETS)
    if(NOT TARGET ${OBJECTS}_archive)
      add_library(${OBJECTS}_archive STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${OBJECTS}>)
      set_target_properties(${OBJECTS}_archive PROPERTIES LINKER_LANGUAGE C ARCHIVE_OUTPUT_DIRECTORY ${MLT_TEST_DIR}/layers)
      if(OBJECTS STREQUAL mlt_lua)
        mlt_lua_link(${OBJECTS}_archive)
      endif()
    endif()
  endforeach()
  list(TRANSFORM TARGETS APPEND _archive)
  set(${OUT} ${TARGETS} PARENT_SCOPE)
endfunction()

# mlt_test_program(LAYER FILE OUT): the executable of one test file; its name in OUT.
function(mlt_test_program LAYER FILE OUT)
  file(RELATIVE_PATH NAME ${CMAKE_SOURCE_DIR}/src ${FILE})
  string(REGEX REPLACE "(_test)?\\.c$" "" NAME ${NAME})
  string(REPLACE "/" "_" NAME ${NAME})
  add_executable(${NAME} ${FILE})
  mlt_layer_archives(ARCHIVES ${LAYER} ${MLT_LAYER_TESTS_${LAYER}})
  target_link_libraries(${NAME} PRIVATE mlt_flags -Wl,--start-group ${ARCHIVES} -Wl,--end-group m)
  mlt_after_generation(${NAME})
  set_target_properties(${NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${MLT_TEST_DIR})
  set(${OUT} ${NAME} PARENT_SCOPE)
endfunction()

# ---- delays: MLT_JITTER is for the files that use os/jitter.h, by themselves or by way of a header. All others are compiled as in a
# release build, so that a compiler cache has them.

if(MLT_JITTER)
  file(GLOB_RECURSE MLT_FILES RELATIVE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/src/*.[ch])
  set(MLT_DELAYED os/jitter.h)
  set(MLT_NEW os/jitter.h)
  while(MLT_NEW)
    string(REPLACE ";" "|" MLT_NEW "${MLT_NEW}")
    set(MLT_PATTERN "^#include \"(${MLT_NEW})\"")
    set(MLT_NEW "")
    foreach(FILE IN LISTS MLT_FILES)
      file(STRINGS ${CMAKE_SOURCE_DIR}/src/${FILE} FOUND REGEX ${MLT_PATTERN})
      if(FOUND AND NOT FILE IN_LIST MLT_DELAYED)
        list(APPEND MLT_DELAYED ${FILE})
        list(APPEND MLT_NEW ${FILE})
      endif()
    endforeach()
  endwhile()
  list(FILTER MLT_DELAYED INCLUDE REGEX "\\.c$")
  list(TRANSFORM MLT_DELAYED PREPEND ${CMAKE_SOURCE_DIR}/src/)
  set_source_files_properties(${MLT_DELAYED} PROPERTIES COMPILE_DEFINITIONS MLT_JITTER)
endif()

# ---- fuzz tests: src/LAYER/x_fuzz.c, beside the parser it feeds, with seeds in test/fuzz/x

if(MLT_FUZZ AND NOT CMAKE_C_COMPILER_ID STREQUAL Clang)
  message(FATAL_ERROR "MLT_FUZZ needs clang; configure with -DCMAKE_C_COMPILER=clang")
endif()
set(MLT_FUZZ_VARIANTS 20000 CACHE STRING "Variants of the seeds that a fuzz test tries")

# What mpirun's parsers call and test/fuzz/launcher.c takes over.
set(MLT_FUZZ_WRAPPED exit free fopen fclose getline __getdelim open mkdir
    mlt_quit mlt_say mlt_say_raw mlt_xcalloc mlt_xrealloc)

# What all of them share, compiled once.
add_library(mlt_fuzz_shared OBJECT EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/test/fuzz/fuzz.c)
target_link_libraries(mlt_fuzz_shared PRIVATE mlt_flags)
target_include_directories(mlt_fuzz_shared PUBLIC ${CMAKE_SOURCE_DIR}/test)
if(NOT MLT_FUZZ)
  target_sources(mlt_fuzz_shared PRIVATE ${CMAKE_SOURCE_DIR}/test/fuzz/driver.c)
endif()

# mlt_fuzz_program(LAYER FILE): build/test/LAYER_x_fuzz and the CTest test fuzz_x. In the preset `fuzz` the program is a
# libFuzzer target (LAYER_x_fuzz -max_total_time=60 corpus/x test/fuzz/x); else test/fuzz/driver.c plays a fixed sequence.
function(mlt_fuzz_program LAYER FILE)
  set(FUZZ ${CMAKE_SOURCE_DIR}/test/fuzz)
  mlt_test_program(${LAYER} ${FILE} NAME)
  target_link_libraries(${NAME} PRIVATE mlt_fuzz_shared)
  if(LAYER STREQUAL launch)
    target_sources(${NAME} PRIVATE ${FUZZ}/launcher.c)
    list(TRANSFORM MLT_FUZZ_WRAPPED PREPEND LINKER:--wrap= OUTPUT_VARIABLE WRAPS)
    target_link_options(${NAME} PRIVATE ${WRAPS})
  endif()
  get_filename_component(STEM ${FILE} NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" STEM ${STEM})
  if(STEM STREQUAL partition) # it takes fatal messages over
    target_link_options(${NAME} PRIVATE LINKER:--wrap=mlt_fatal)
  endif()
  set(VARIANTS ${MLT_FUZZ_VARIANTS})
  if(STEM STREQUAL ports) # each opens sockets and greets
    math(EXPR VARIANTS "${VARIANTS} / 20")
  endif()
  if(MLT_FUZZ)
    target_link_options(${NAME} PRIVATE -fsanitize=fuzzer -rtlib=compiler-rt) # UBSan of 128-bit products asks for it
    set(FOUND ${CMAKE_BINARY_DIR}/corpus/${STEM}) # libFuzzer adds to the first folder
    file(MAKE_DIRECTORY ${FOUND})
    add_test(NAME fuzz_${STEM} COMMAND ${MLT_PATIENCE} $<TARGET_FILE:${NAME}> -seed=1 -runs=${VARIANTS} ${FOUND} ${FUZZ}/${STEM})
  else()
    add_test(NAME fuzz_${STEM} COMMAND ${MLT_PATIENCE} ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${NAME}> ${FUZZ}/${STEM} ${VARIANTS})
    # libFuzzer looks for leaks; here the look at the end would take longer than the test.
    set_tests_properties(fuzz_${STEM} PROPERTIES ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
  endif()
  add_dependencies(tests_${LAYER} ${NAME})
  set_tests_properties(fuzz_${STEM} PROPERTIES LABELS "${LAYER};fuzz" TIMEOUT ${MLT_TEST_TIMEOUT_MOST} SKIP_RETURN_CODE 77)
endfunction()

# ---- a GPU: the stand-in for its driver and the kernels compiled for the processor, in build/test/gpu (test/gpu/stand_in.c)

set(MLT_STAND_IN ${MLT_TEST_DIR}/gpu)
add_library(stand_in SHARED EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/test/gpu/stand_in.c)
set_target_properties(stand_in PROPERTIES OUTPUT_NAME cuda SOVERSION 1)
target_link_libraries(stand_in PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
add_library(stand_in_kernels SHARED EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/test/gpu/kernels.c)
target_include_directories(stand_in_kernels PRIVATE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(stand_in_kernels PRIVATE -O2 -ffp-contract=off -fno-strict-aliasing -fsanitize=alignment -fsanitize-undefined-trap-on-error)
set_target_properties(stand_in stand_in_kernels PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${MLT_STAND_IN})
set_source_files_properties(${CMAKE_SOURCE_DIR}/test/gpu/kernels.c PROPERTIES OBJECT_DEPENDS
                            "${CMAKE_SOURCE_DIR}/src/gpu/kernels.cu;${CMAKE_SOURCE_DIR}/src/gpu/kernels.h")

# The layer that puts programs' buffers into device memory (test/gpu/layer.c). Whoever preloads it says where the driver is.
set(MLT_LAYER_GEN ${CMAKE_BINARY_DIR}/gen/gpu_layer.c)
set(MLT_LAYER ${CMAKE_SOURCE_DIR}/test/gpu)
if(TARGET mlt_mpi)
  add_custom_command(OUTPUT ${MLT_LAYER_GEN} COMMAND ${Python3_EXECUTABLE} ${MLT_LAYER}/gen_layer.py ${MLT_LAYER_GEN} COMMENT "Writing the layer of device buffers"
                     DEPENDS ${MLT_LAYER}/gen_layer.py ${CMAKE_SOURCE_DIR}/spec/gen_mpi.py ${CMAKE_SOURCE_DIR}/spec/mpi_functions.tsv
                             ${CMAKE_SOURCE_DIR}/spec/mpi_constants.tsv ${CMAKE_SOURCE_DIR}/spec/datatypes.tsv)
  add_library(device_layer SHARED ${MLT_LAYER}/layer.c ${MLT_LAYER}/layer_calls.c ${MLT_LAYER}/layer_memory.c ${MLT_LAYER}/layer_spans.c ${MLT_LAYER_GEN})
  target_include_directories(device_layer PRIVATE ${MLT_LAYER} ${CMAKE_BINARY_DIR}/include)
  target_link_libraries(device_layer PRIVATE stand_in Threads::Threads)
  target_compile_options(device_layer PRIVATE -fvisibility=default)
  add_dependencies(device_layer mlt_gen stand_in_kernels)
  set_target_properties(device_layer PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${MLT_STAND_IN} SKIP_BUILD_RPATH TRUE)
endif()

# Looking for leaks takes seconds a program. Of the tests that go over the same code again and again, these look.
set(MLT_LEAKS_ONLY_IN goal_text_read goal_image_image judge_check_check judge_pass_pass goal_derive coll_alg_alg coll_choose lua_generate lua_rulebook)

mlt_layer_closure(MLT_TESTED ${MLT_PRODUCT_LAYERS}) # those of what is built
foreach(LAYER IN LISTS MLT_LAYER_LIST)
  if(TARGET mlt_${LAYER} AND NOT mlt_${LAYER} IN_LIST MLT_TESTED)
    continue()
  endif()
  file(GLOB_RECURSE MLT_TEST_FILES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${LAYER}/*_test.c)
  if(NOT MLT_FABRIC_HEADERS)
    list(FILTER MLT_TEST_FILES EXCLUDE REGEX "wire/ofi/") # they speak to providers
  endif()
  foreach(FILE IN LISTS MLT_LAYER_WITHOUT_${LAYER})
    list(FILTER MLT_TEST_FILES EXCLUDE REGEX "/src/${LAYER}/${FILE}")
  endforeach()
  set(MLT_LAYER_TESTS "")
  foreach(FILE IN LISTS MLT_TEST_FILES)
    mlt_test_program(${LAYER} ${FILE} NAME)
    target_include_directories(${NAME} PRIVATE ${MLT_TEST_DIR}/include)
    add_test(NAME ${NAME} COMMAND ${MLT_PATIENCE} ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${NAME}>)
    set_tests_properties(${NAME} PROPERTIES LABELS ${LAYER} TIMEOUT ${MLT_TEST_TIMEOUT_MOST} SKIP_RETURN_CODE 77)
    if(LAYER MATCHES "^(goal|judge|coll|lua|tools)$" AND NOT NAME IN_LIST MLT_LEAKS_ONLY_IN)
      set_tests_properties(${NAME} PROPERTIES ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
    endif()
    if(NAME STREQUAL gpu_kernel)
      add_dependencies(${NAME} stand_in stand_in_kernels)
      set_tests_properties(${NAME} PROPERTIES ENVIRONMENT
                           "LD_LIBRARY_PATH=${MLT_STAND_IN};STAND_IN_KERNELS=$<TARGET_FILE:stand_in_kernels>;STAND_IN_LATE_US=0")
    endif()
    list(APPEND MLT_LAYER_TESTS ${NAME})
  endforeach()
  foreach(NAME IN LISTS MLT_LEAKS_ONLY_IN)
    string(REGEX REPLACE "^${LAYER}_" "" STEM ${NAME})
    if(NOT STEM STREQUAL NAME AND NOT TARGET ${NAME} AND NOT "${STEM}_test.c" IN_LIST MLT_LAYER_WITHOUT_${LAYER})
      message(FATAL_ERROR "MLT_LEAKS_ONLY_IN: there is no test ${NAME}")
    endif()
  endforeach()
  # `ninja tests_fiber` builds the tests of one layer and what they need, and nothing else.
  add_custom_target(tests_${LAYER} DEPENDS ${MLT_LAYER_TESTS})

  file(GLOB_RECURSE MLT_FUZZ_FILES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${LAYER}/*_fuzz.c)
  if(LAYER STREQUAL lua AND "none.c" IN_LIST MLT_LUA_WITHOUT)
    set(MLT_WITH_LUA TRUE)
  else()
    set(MLT_WITH_LUA FALSE)
    list(FILTER MLT_FUZZ_FILES EXCLUDE REGEX "/src/lua/")
  endif()
  foreach(FILE IN LISTS MLT_FUZZ_FILES)
    mlt_fuzz_program(${LAYER} ${FILE})
    if(MLT_WITH_LUA) # they compare with Lua's own functions
      get_filename_component(STEM ${FILE} NAME_WE)
      mlt_lua_link(${LAYER}_${STEM})
    endif()
  endforeach()
endforeach()

# ---- benchmarks of the inside: bench/NAME/NAME.c with a layer's objects, `ninja bench_NAME`, build/bench/NAME

function(mlt_bench_program NAME LAYER)
  add_executable(bench_${NAME} EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/${NAME}/${NAME}.c)
  mlt_layer_closure(OBJECTS ${LAYER})
  target_link_libraries(bench_${NAME} PRIVATE mlt_flags ${OBJECTS} m)
  mlt_after_generation(bench_${NAME})
  set_target_properties(bench_${NAME} PROPERTIES OUTPUT_NAME ${NAME} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
endfunction()

mlt_bench_program(sim judge)
mlt_bench_program(view trace) # writes traces for `millet view`

# ---- measuring this machine

if(NOT CMAKE_CROSSCOMPILING AND NOT MLT_SANITIZE AND TARGET goalmeasure)
  add_test(NAME goal_measure COMMAND ${MLT_PATIENCE} ${CMAKE_SOURCE_DIR}/test/goal/measure --build ${CMAKE_BINARY_DIR})
  set_tests_properties(goal_measure PROPERTIES LABELS goal TIMEOUT ${MLT_TEST_TIMEOUT_MOST})
endif()

# ---- tests of the source itself

if(NOT CMAKE_CROSSCOMPILING AND MLT_WITH_FLOW) # of all products
  foreach(NAME layers headers mentions)
    add_test(NAME source_${NAME} COMMAND ${MLT_PATIENCE} ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/test/${NAME}_test.py
             --build ${CMAKE_BINARY_DIR})
    add_test(NAME source_${NAME}_can_fail COMMAND ${MLT_PATIENCE} ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/test/${NAME}_test.py
             --self-test)
    set_tests_properties(source_${NAME} source_${NAME}_can_fail PROPERTIES LABELS source TIMEOUT ${MLT_TEST_TIMEOUT_MOST})
  endforeach()
  set_tests_properties(source_headers source_headers_can_fail PROPERTIES ENVIRONMENT "CC=${CMAKE_C_COMPILER}")
endif()
if(TARGET lua_rulebook) # it loads the plug-in
  add_dependencies(lua_rulebook millet_lua)
endif()
