# SPDX-License-Identifier: BSD-3-Clause
# What people call: mpirun (mpiexec), millet, mpicc and the like, the pkg-config files; and what is installed where.
# A build tree has the shape of an installed one (bin, lib, include, share), so everything works in place.

set(MLT_BIN ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib;${MLT_RPATH}") # an installed tree may be moved
set(MLT_DATE 2026-11-18)                  # of this version, for the pages of the manual
set_source_files_properties(src/tools/man.c PROPERTIES COMPILE_DEFINITIONS MLT_DATE="${MLT_DATE}")

# mlt_tool(NAME MAIN layer): the program NAME from its main file and the objects of a layer and all below it.
function(mlt_tool NAME MAIN LAYER)
  add_executable(${NAME} ${MAIN})
  target_compile_definitions(${NAME} PRIVATE ${MLT_WITH_DEFINITIONS})
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
  if(NOT TARGET mlt_${LAYER})
    continue()
  endif()
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
if(MLT_WITH_MPIRUN)
  mlt_tool(mpirun src/launch/main_mpirun.c launch)
  mlt_alias(mpiexec mpirun)
  # Debuggers look for names of src/launch/mpir.c, in a stripped mpirun too, and for their types where they are there.
  set_target_properties(mpirun PROPERTIES ENABLE_EXPORTS ON)
  set_property(SOURCE ${CMAKE_SOURCE_DIR}/src/launch/mpir.c APPEND PROPERTY COMPILE_OPTIONS -g)
endif()
if(MLT_WITH_GOAL)
  mlt_tool(millet src/tools/main_millet.c tools)

  # What `millet info` says of the library's size.
  set(MLT_SIZES ${MLT_GEN}/product_sizes.c)
  set(MLT_SIZED "")
  set(MLT_OBJECTS_mpi "")
  foreach(LAYER ${MLT_LAYERS})
    set(PRODUCT mpi)
    if(LAYER MATCHES "^(csp|flow)$")
      set(PRODUCT ${LAYER})
    endif()
    list(APPEND MLT_OBJECTS_${PRODUCT} $<TARGET_OBJECTS:mlt_${LAYER}>)
  endforeach()
  foreach(PRODUCT mpi csp flow)
    if(MLT_OBJECTS_${PRODUCT})
      file(GENERATE OUTPUT ${MLT_GEN}/objects_${PRODUCT}.txt CONTENT "$<JOIN:${MLT_OBJECTS_${PRODUCT}},\n>\n")
      list(APPEND MLT_SIZED ${PRODUCT}=${MLT_GEN}/objects_${PRODUCT}.txt)
      list(APPEND MLT_SIZED_OBJECTS ${MLT_OBJECTS_${PRODUCT}})
    endif()
  endforeach()
  add_custom_command(OUTPUT ${MLT_SIZES} COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/product_sizes.py ${MLT_SIZES} ${MLT_SIZED}
                     DEPENDS ${MLT_SIZED_OBJECTS} ${CMAKE_SOURCE_DIR}/cmake/product_sizes.py COMMENT "Sizes of the products")
  target_sources(millet PRIVATE ${MLT_SIZES})
endif()

# mlt_rank_program(NAME MAIN): an MPI program that a command of `millet` starts with mpirun, in libexec/millet. It sees what
# programs of users see: the installed headers and libmpi_abi.
function(mlt_rank_program NAME MAIN)
  if(NOT TARGET mpi_abi)
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

if(MLT_WITH_MPI)
  include(MltWrapper)
endif()

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
if(MLT_HEADERS_WITHOUT) # those of products that are not built
  list(REMOVE_ITEM MLT_HEADERS ${MLT_HEADERS_WITHOUT})
endif()
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
# The experiments of `millet papers`: in a build tree they are the source's own.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/millet)
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/papers ${CMAKE_BINARY_DIR}/share/millet/papers SYMBOLIC)
install(DIRECTORY papers DESTINATION share/millet USE_SOURCE_PERMISSIONS PATTERN __pycache__ EXCLUDE)
# Python finds the library by its own place, so the build tree has the same layout as a prefix.
if(MLT_WITH_CSP)
  set(MLT_PYTHON lib/python3/dist-packages)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/${MLT_PYTHON})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/python/millet ${CMAKE_BINARY_DIR}/${MLT_PYTHON}/millet SYMBOLIC)
  install(DIRECTORY python/millet DESTINATION ${MLT_PYTHON} FILES_MATCHING PATTERN *.py)
endif()
install(FILES README.md LICENSE CHANGELOG.md DESTINATION share/doc/millet)
install(DIRECTORY docs examples DESTINATION share/doc/millet)

add_custom_target(uninstall COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/uninstall.py
                  ${CMAKE_BINARY_DIR}/install_manifest.txt COMMENT "Removing what was installed" VERBATIM)
