# SPDX-License-Identifier: BSD-3-Clause
# What people call: mpirun (mpiexec), millet, mpicc and the like, the pkg-config files; and what is installed where.
# A build tree has the shape of an installed one (bin, lib, include, share), so everything works in place.

set(MLT_BIN ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib;${MLT_RPATH}") # an installed tree may be moved
set(MLT_DATE 2026-11-16)                  # of this version, for the pages of the manual
set_source_files_properties(src/tools/man.c PROPERTIES COMPILE_DEFINITIONS MLT_DATE="${MLT_DATE}")

# mlt_tool(NAME MAIN layer): the program NAME from its main file and the objects of a layer and all below it.
function(mlt_tool NAME MAIN LAYER)
  if(NOT EXISTS ${CMAKE_SOURCE_DIR}/${MAIN})
    return()
  endif()
  add_executable(${NAME} ${MAIN})
  mlt_layer_closure(OBJECTS ${LAYER})
  target_link_libraries(${NAME} PRIVATE mlt_flags ${OBJECTS})
  mlt_after_generation(${NAME})
  install(TARGETS ${NAME} RUNTIME DESTINATION bin)
endfunction()

# mlt_alias(NAME TARGET): another name in bin/ for the same file.
function(mlt_alias NAME FILE)
  file(MAKE_DIRECTORY ${MLT_BIN})
  file(CREATE_LINK ${FILE} ${MLT_BIN}/${NAME} SYMBOLIC)
  install(FILES ${MLT_BIN}/${NAME} DESTINATION bin)
endfunction()

foreach(LAYER flowc launch tools)
  target_compile_options(mlt_${LAYER} PRIVATE ${MLT_OPTIMIZE_LITTLE})
endforeach()
foreach(LAYER judge lua)
  target_compile_options(mlt_${LAYER} PRIVATE ${MLT_LINES_ONLY})
endforeach()
foreach(FOLDER csp/hang csp/names mpi/dyn mpi/error mpi/file mpi/info mpi/tool)
  file(GLOB FILES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${FOLDER}/*.c)
  set_property(SOURCE ${FILES} APPEND PROPERTY COMPILE_OPTIONS ${MLT_OPTIMIZE_LITTLE})
endforeach()
mlt_lua_plugin() # src/os/plugin.h
mlt_tool(mpirun src/launch/main_mpirun.c launch)
if(TARGET mpirun)
  mlt_alias(mpiexec mpirun)
  # Debuggers look for names of src/launch/mpir.c, in a stripped mpirun too, and for their types where they are there.
  set_target_properties(mpirun PROPERTIES ENABLE_EXPORTS ON)
  set_property(SOURCE ${CMAKE_SOURCE_DIR}/src/launch/mpir.c APPEND PROPERTY COMPILE_OPTIONS -g)
endif()
mlt_tool(millet src/tools/main_millet.c tools)

# mlt_rank_program(NAME MAIN): an MPI program that a command of `millet` starts with mpirun, in libexec/millet. It sees what
# programs of users see: the installed headers and libmpi_abi.
function(mlt_rank_program NAME MAIN)
  if(NOT EXISTS ${CMAKE_SOURCE_DIR}/${MAIN} OR NOT TARGET mpi_abi)
    return()
  endif()
  add_executable(${NAME} ${MAIN})
  target_link_libraries(${NAME} PRIVATE mlt_flags mpi_abi)
  mlt_after_generation(${NAME})
  set_target_properties(${NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/libexec/millet
                        INSTALL_RPATH "$ORIGIN/../../lib;${MLT_RPATH}")
  install(TARGETS ${NAME} RUNTIME DESTINATION libexec/millet)
endfunction()

mlt_rank_program(goalrun src/tools/ranks/main_goalrun.c)
mlt_rank_program(goalmeasure src/tools/ranks/main_goalmeasure.c)
mlt_rank_program(colltune src/tools/ranks/main_colltune.c)

# ---- mpicc

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

# ---- the manual: the programs print their pages themselves

if(CMAKE_CROSSCOMPILING OR MLT_SANITIZE)
  message(STATUS "manual pages: left out, since the programs that print them may not run here")
elseif(TARGET millet AND TARGET mpirun)
  set(MLT_MAN ${CMAKE_BINARY_DIR}/share/man)
  set(MLT_MAN_SCRIPT ${CMAKE_SOURCE_DIR}/cmake/man_pages.py)
  add_custom_command(OUTPUT ${MLT_MAN}/man1/millet.1 COMMAND ${Python3_EXECUTABLE} ${MLT_MAN_SCRIPT} ${MLT_BIN} ${MLT_MAN}/man1
                     DEPENDS millet ${MLT_BIN}/mpicc ${MLT_MAN_SCRIPT} COMMENT "Writing the manual")
  add_custom_target(man ALL DEPENDS ${MLT_MAN}/man1/millet.1)
  install(DIRECTORY ${MLT_MAN} DESTINATION share)
endif()

# ---- what else is installed

if(TARGET mpi_abi)
  install(TARGETS mpi_abi LIBRARY DESTINATION lib)
  # A folder with nothing else in it, which mpirun puts first into LD_LIBRARY_PATH.
  set(MLT_ABI lib/millet/abi)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/${MLT_ABI})
  file(CREATE_LINK ../../libmpi_abi.so.1 ${CMAKE_BINARY_DIR}/${MLT_ABI}/libmpi_abi.so.1 SYMBOLIC)
  install(FILES ${CMAKE_BINARY_DIR}/${MLT_ABI}/libmpi_abi.so.1 DESTINATION ${MLT_ABI})
  install(FILES ${CMAKE_BINARY_DIR}/include/mpi.h DESTINATION include)
endif()
file(GLOB_RECURSE MLT_HEADERS RELATIVE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/include/*.h)
foreach(HEADER IN LISTS MLT_HEADERS)
  # The build tree's include/ is what mpicc shows programs, so it holds the hand-written headers too.
  configure_file(${CMAKE_SOURCE_DIR}/include/${HEADER} ${CMAKE_BINARY_DIR}/include/${HEADER} COPYONLY)
  get_filename_component(FOLDER ${HEADER} DIRECTORY)
  install(FILES ${CMAKE_SOURCE_DIR}/include/${HEADER} DESTINATION include/${FOLDER})
endforeach()

if(EXISTS ${CMAKE_SOURCE_DIR}/share)
  file(GLOB MLT_SHARED LIST_DIRECTORIES false ${CMAKE_SOURCE_DIR}/share/*) # folders are for those who install Millet
  foreach(FILE IN LISTS MLT_SHARED)
    get_filename_component(NAME ${FILE} NAME)
    configure_file(${FILE} ${CMAKE_BINARY_DIR}/share/millet/${NAME} COPYONLY)
  endforeach()
  install(FILES ${MLT_SHARED} DESTINATION share/millet)
endif()
install(FILES README.md LICENSE CHANGELOG.md DESTINATION share/doc/millet)
install(DIRECTORY docs examples DESTINATION share/doc/millet)

add_custom_target(uninstall COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/uninstall.py
                  ${CMAKE_BINARY_DIR}/install_manifest.txt COMMENT "Removing what was installed" VERBATIM)
