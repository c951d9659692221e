# SPDX-License-Identifier: BSD-3-Clause
# libfabric's headers, if they are there: MLT_FABRIC_WITHOUT are the files of src/wire that are not for this build. The
# library itself is loaded at run time. Without the headers src/wire/ofi/none.c says so.
include(CheckIncludeFile)
if(NOT MLT_FABRIC_HEADERS)
  unset(MLT_FABRIC_HEADERS CACHE) # they may have come since
endif()
check_include_file(rdma/fi_rma.h MLT_FABRIC_HEADERS)

set(MLT_FABRIC_WITHOUT ofi/fabric.c ofi/list.c ofi/load.c)
if(MLT_FABRIC_HEADERS)
  set(MLT_FABRIC_WITHOUT ofi/none.c)
else()
  message(STATUS "libfabric's headers are not there (libfabric-dev): messages to other hosts go by TCP")
endif()
