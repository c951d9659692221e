# SPDX-License-Identifier: BSD-3-Clause
# MPI for Fortran (docs/internals/fortran.md): mpif.h, the sources of the modules, and libmpi_fortran.so, for which no Fortran
# compiler is needed; and the modules themselves, compiled, if there is one.

set(MLT_F_SHARE ${CMAKE_BINARY_DIR}/share/millet/fortran)
set(MLT_F_MODULES ${MLT_F_SHARE}/millet_mpi.f90 ${MLT_F_SHARE}/mpi.f90 ${MLT_F_SHARE}/mpi_f08.f90)
set(MLT_F_CALLS "")
set(MLT_F_CHAPTERS ${MLT_CHAPTERS})
list(REMOVE_ITEM MLT_F_CHAPTERS 00) # extensions are C's
foreach(CHAPTER ${MLT_F_CHAPTERS})
  list(APPEND MLT_F_CALLS ${MLT_GEN}/fortran_${CHAPTER}.c)
endforeach()
add_custom_command(
  OUTPUT ${MLT_GEN}/fortran_stamp
  BYPRODUCTS ${MLT_F_CALLS} ${MLT_F_MODULES} ${CMAKE_BINARY_DIR}/include/mpif.h
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/spec/gen_fortran.py ${CMAKE_SOURCE_DIR}/spec ${CMAKE_BINARY_DIR}
  COMMAND ${CMAKE_COMMAND} -E touch ${MLT_GEN}/fortran_stamp
  DEPENDS ${MLT_SPEC}
  COMMENT "Fortran's interfaces from their tables")
add_custom_target(mlt_gen_fortran DEPENDS ${MLT_GEN}/fortran_stamp)
set_source_files_properties(${MLT_F_CALLS} PROPERTIES GENERATED TRUE)

# All calls twice: as MPI_ and as PMPI_ (src/fortran/call.h).
target_sources(mlt_fortran PRIVATE ${MLT_F_CALLS})
add_library(mlt_fortran_p OBJECT ${CMAKE_SOURCE_DIR}/src/fortran/by_hand.c ${MLT_F_CALLS})
target_link_libraries(mlt_fortran_p PRIVATE mlt_flags)
target_compile_definitions(mlt_fortran_p PRIVATE MLT_F_PROFILING)
foreach(PART mlt_fortran mlt_fortran_p)
  add_dependencies(${PART} mlt_gen mlt_gen_fortran)
  # A wrapper is little more than the call of its C function: -O2 would give it no fewer instructions, and take twice the time.
  target_compile_options(${PART} PRIVATE -fno-plt ${MLT_OPTIMIZE_LITTLE})
endforeach()
if(MLT_OPTIMIZE_LITTLE) # only tools that are written in Fortran call PMPI_ there; fortified headers want an optimiser
  target_compile_options(mlt_fortran_p PRIVATE -O0 -U_FORTIFY_SOURCE)
endif()
add_library(mpi_fortran SHARED $<TARGET_OBJECTS:mlt_fortran> $<TARGET_OBJECTS:mlt_fortran_p>)
set_target_properties(mpi_fortran PROPERTIES SOVERSION 1 LINKER_LANGUAGE C INSTALL_RPATH "$ORIGIN")
target_link_libraries(mpi_fortran PRIVATE mlt_flags mpi_abi)
target_link_options(mpi_fortran PRIVATE -Wl,-z,defs -Wl,-z,relro)
if(MLT_SANITIZE)
  target_link_options(mpi_fortran PRIVATE -Wl,-z,undefs)
endif()
install(TARGETS mpi_fortran LIBRARY DESTINATION lib)
install(FILES ${CMAKE_BINARY_DIR}/include/mpif.h DESTINATION include)
install(FILES ${MLT_F_MODULES} DESTINATION share/millet/fortran)

# ---- the modules. They belong to a compiler and its version: mpifort makes those of others itself.

set(MLT_WRAPPER_FC gfortran)
find_program(MLT_FORTRAN NAMES gfortran DOC "A Fortran compiler whose modules are built with the library")
if(MLT_FORTRAN AND NOT CMAKE_CROSSCOMPILING)
  execute_process(COMMAND ${MLT_FORTRAN} -dumpfullversion OUTPUT_VARIABLE MLT_F_VERSION OUTPUT_STRIP_TRAILING_WHITESPACE)
  execute_process(COMMAND ${MLT_FORTRAN} -dumpmachine OUTPUT_VARIABLE MLT_F_MACHINE OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(MLT_F_FOLDER lib/millet/fortran/gfortran-${MLT_F_VERSION}-${MLT_F_MACHINE})
  set(MLT_F_OUT ${CMAKE_BINARY_DIR}/${MLT_F_FOLDER})
  add_custom_command(
    OUTPUT ${MLT_F_OUT}/libmpi_modules.a
    COMMAND ${CMAKE_SOURCE_DIR}/src/wrapper/fortran_modules ${MLT_F_SHARE} ${MLT_F_OUT} ${MLT_FORTRAN}
    DEPENDS ${MLT_GEN}/fortran_stamp ${CMAKE_SOURCE_DIR}/src/wrapper/fortran_modules
    COMMENT "The Fortran modules")
  add_custom_target(fortran_modules ALL DEPENDS ${MLT_F_OUT}/libmpi_modules.a)
  install(DIRECTORY ${MLT_F_OUT} DESTINATION lib/millet/fortran)
  configure_file(${CMAKE_SOURCE_DIR}/src/wrapper/mpi-fort.pc.in ${CMAKE_BINARY_DIR}/lib/pkgconfig/mpi-fort.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/lib/pkgconfig/mpi-fort.pc DESTINATION lib/pkgconfig)
else()
  message(STATUS "no gfortran: mpifort will make the Fortran modules when it first needs them")
endif()
configure_file(${CMAKE_SOURCE_DIR}/src/wrapper/fortran_modules ${CMAKE_BINARY_DIR}/libexec/millet/fortran_modules COPYONLY)
install(PROGRAMS ${CMAKE_SOURCE_DIR}/src/wrapper/fortran_modules DESTINATION libexec/millet)
