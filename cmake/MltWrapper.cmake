# SPDX-License-Identifier: BSD-3-Clause
# mpicc and the like, pkg-config, find_package(Millet), module files.

# The compiler that Millet was built with, by its bare name where the name alone finds it.
function(mlt_bare_name PATH OUT)
  get_filename_component(BARE "${PATH}" NAME)
  find_program(MLT_BARE_FOUND ${BARE} NO_CACHE)
  if(MLT_BARE_FOUND STREQUAL PATH)
    set(PATH ${BARE})
  endif()
  set(${OUT} "${PATH}" PARENT_SCOPE)
endfunction()

mlt_bare_name("${CMAKE_C_COMPILER}" MLT_WRAPPER_CC)
# The C++ compiler of the same family: cc and c++, gcc-12 and g++-12, clang and clang++.
string(REGEX REPLACE "gcc((-[0-9.]+)?)$" "g++\\1" MLT_WRAPPER_CXX "${MLT_WRAPPER_CC}")
string(REGEX REPLACE "clang((-[0-9.]+)?)$" "clang++\\1" MLT_WRAPPER_CXX "${MLT_WRAPPER_CXX}")
string(REGEX REPLACE "(^|[/-])cc$" "\\1c++" MLT_WRAPPER_CXX "${MLT_WRAPPER_CXX}")

configure_file(${CMAKE_SOURCE_DIR}/src/wrapper/mpicc.in ${MLT_BIN}/mpicc @ONLY FILE_PERMISSIONS
               OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
install(PROGRAMS ${MLT_BIN}/mpicc DESTINATION bin)
foreach(NAME mpicxx mpic++ mpiCC mpifort mpif90 mpif77)
  mlt_alias(${NAME} mpicc)
endforeach()

set(MLT_PC ${CMAKE_BINARY_DIR}/lib/pkgconfig)
configure_file(${CMAKE_SOURCE_DIR}/src/wrapper/millet.pc.in ${MLT_PC}/millet.pc @ONLY)
foreach(MLT_PC_NAME mpi-c mpi-cxx)
  set(MLT_PC_LANGUAGE C)
  if(MLT_PC_NAME STREQUAL mpi-cxx)
    set(MLT_PC_LANGUAGE C++)
  endif()
  configure_file(${CMAKE_SOURCE_DIR}/src/wrapper/mpi.pc.in ${MLT_PC}/${MLT_PC_NAME}.pc @ONLY)
endforeach()
install(FILES ${MLT_PC}/millet.pc ${MLT_PC}/mpi-c.pc ${MLT_PC}/mpi-cxx.pc DESTINATION lib/pkgconfig)

# find_package(Millet); module files for Environment Modules and Lmod, which takes the one in Lua if both are there.
include(CMakePackageConfigHelpers)
set(MLT_CONFIG ${CMAKE_BINARY_DIR}/lib/cmake/Millet)
configure_file(${CMAKE_SOURCE_DIR}/src/wrapper/MilletConfig.cmake.in ${MLT_CONFIG}/MilletConfig.cmake @ONLY)
write_basic_package_version_file(${MLT_CONFIG}/MilletConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(DIRECTORY ${MLT_CONFIG} DESTINATION lib/cmake)
set(MLT_MODULES ${CMAKE_BINARY_DIR}/share/modulefiles)
configure_file(${CMAKE_SOURCE_DIR}/src/wrapper/modulefile.in ${MLT_MODULES}/millet/${PROJECT_VERSION} @ONLY)
configure_file(${CMAKE_SOURCE_DIR}/src/wrapper/modulefile.lua.in ${MLT_MODULES}/millet/${PROJECT_VERSION}.lua @ONLY)
install(DIRECTORY ${MLT_MODULES} DESTINATION share)
