# SPDX-License-Identifier: BSD-3-Clause
# MILLET_WITH: which of Millet's products are built. Each stands on what it needs of the layers, and on nothing else:
#
#   mpi     libmpi_abi, headers, mpicc and the like, Fortran; mpirun; millet
#   csp     mpi, with processes and channels (millet/csp.h), the name server and MPI_Publish_name, which asks it
#   flow    csp, with programs of modules and wires (millet/flow.h, millet flow)
#   goal    millet alone: GOAL's checker, passes, simulator, pictures; traces and their page
#   mpirun  mpirun alone, for a host that starts jobs elsewhere
#
# MLT_WITH_MPI, _CSP, _FLOW, _GOAL, _MPIRUN say what is built; MLT_PRODUCT_LAYERS are the layers of its tops.
set(MLT_PRODUCTS mpi csp flow goal mpirun)
set(MILLET_WITH "${MLT_PRODUCTS}" CACHE STRING "What is built, separated by semicolons: mpi, csp, flow, goal, mpirun (cmake/MltProducts.cmake)")
foreach(PRODUCT IN LISTS MILLET_WITH)
  if(NOT PRODUCT IN_LIST MLT_PRODUCTS)
    string(REPLACE ";" ", " MLT_PRODUCTS "${MLT_PRODUCTS}")
    message(FATAL_ERROR "MILLET_WITH: there is no product '${PRODUCT}'; there are ${MLT_PRODUCTS}")
  endif()
endforeach()
if(NOT MILLET_WITH)
  message(FATAL_ERROR "MILLET_WITH is empty: nothing would be built")
endif()

# mlt_product(NAME LAYERS layer... FOR product...): NAME is built if MILLET_WITH has it or one of those that stand on it.
function(mlt_product NAME)
  cmake_parse_arguments(PRODUCT "" "" "LAYERS;FOR" ${ARGN})
  string(TOUPPER ${NAME} UPPER)
  set(BUILT 0)
  foreach(ASKED ${NAME} ${PRODUCT_FOR})
    if(ASKED IN_LIST MILLET_WITH)
      set(BUILT 1)
      set(MLT_PRODUCT_LAYERS ${MLT_PRODUCT_LAYERS} ${PRODUCT_LAYERS} PARENT_SCOPE)
    endif()
  endforeach()
  set(MLT_WITH_${UPPER} ${BUILT} PARENT_SCOPE)
endfunction()
mlt_product(mpi LAYERS lib fortran FOR csp flow)
mlt_product(csp LAYERS csp FOR flow)
mlt_product(flow LAYERS flowc)
mlt_product(goal LAYERS tools FOR mpi csp flow)
mlt_product(mpirun LAYERS launch FOR mpi csp flow)

# Of the layers that know what is there: src/lib and src/tools.
set(MLT_WITH_DEFINITIONS MLT_WITH_CSP=${MLT_WITH_CSP} MLT_WITH_FLOW=${MLT_WITH_FLOW})
set(MLT_LIB_PARTS mpi)
set(MLT_TOOLS_PARTS "")
set(MLT_TOOLS_WITHOUT "")
set(MLT_HEADERS_WITHOUT "")
if(MLT_WITH_CSP)
  list(APPEND MLT_LIB_PARTS csp)
  list(APPEND MLT_TOOLS_PARTS csp)
else()
  list(APPEND MLT_TOOLS_WITHOUT names/)
  list(APPEND MLT_HEADERS_WITHOUT millet/csp.h)
endif()
if(MLT_WITH_FLOW)
  list(APPEND MLT_LIB_PARTS flow)
  list(APPEND MLT_TOOLS_PARTS flowc)
else()
  list(APPEND MLT_TOOLS_WITHOUT flow/ draw/flow)
  list(APPEND MLT_HEADERS_WITHOUT millet/flow.h)
endif()
