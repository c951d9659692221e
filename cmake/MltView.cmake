# SPDX-License-Identifier: BSD-3-Clause
# The page of `millet view`: page.html with the style and the scripts in their places, as arrays of bytes in a C file.
set(MLT_VIEW ${CMAKE_SOURCE_DIR}/src/tools/view)
set(MLT_VIEW_PAGE ${CMAKE_BINARY_DIR}/gen/view_page.c)
file(GLOB MLT_VIEW_FILES CONFIGURE_DEPENDS ${MLT_VIEW}/*.html ${MLT_VIEW}/*.css ${MLT_VIEW}/*.js)
add_custom_command(OUTPUT ${MLT_VIEW_PAGE}
                   COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/view_page.py ${MLT_VIEW}/page.html ${MLT_VIEW_PAGE}
                   DEPENDS ${MLT_VIEW_FILES} ${CMAKE_SOURCE_DIR}/cmake/view_page.py COMMENT "Writing the page of millet view")
target_sources(mlt_tools PRIVATE ${MLT_VIEW_PAGE})
