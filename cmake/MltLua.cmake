# SPDX-License-Identifier: BSD-3-Clause
# Lua 5.4 of the system, if it is there: MLT_LUA_WITHOUT are the files of src/lua that are not for this build, and
# mlt_lua_link(TARGET) gives a target Lua's headers and library. Cross builds usually have none: then src/lua/none.c says so.
find_path(MLT_LUA_HEADERS lua.h PATH_SUFFIXES lua5.4 lua54)
find_library(MLT_LUA_LIBRARY NAMES lua5.4 lua54)
mark_as_advanced(MLT_LUA_HEADERS MLT_LUA_LIBRARY)

file(GLOB MLT_LUA_WITHOUT RELATIVE ${CMAKE_SOURCE_DIR}/src/lua CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/lua/*.c)
list(REMOVE_ITEM MLT_LUA_WITHOUT none.c check.c plugin.c)
if(MLT_LUA_HEADERS AND MLT_LUA_LIBRARY)
  set(MLT_LUA_WITHOUT none.c)
else()
  message(STATUS "Lua 5.4 is not there (liblua5.4-dev): millet goal runs no scripts, mpirun --coll reads no files")
endif()

function(mlt_lua_link TARGET)
  if(MLT_LUA_HEADERS AND MLT_LUA_LIBRARY)
    target_include_directories(${TARGET} SYSTEM PRIVATE ${MLT_LUA_HEADERS})
    target_link_libraries(${TARGET} PUBLIC ${MLT_LUA_LIBRARY} m)
  endif()
endfunction()

# mlt_lua_plugin(): lib/millet/millet_lua.so, the layer lua with what it needs of those below, for the library and mpirun to
# load when asked (src/os/plugin.h). An archive, so that no more than needed comes in; one name is visible.
function(mlt_lua_plugin)
  mlt_layer_closure(BELOW coll judge)
  set(OBJECTS "")
  foreach(LAYER IN LISTS BELOW)
    list(APPEND OBJECTS $<TARGET_OBJECTS:${LAYER}>)
  endforeach()
  add_library(mlt_lua_below STATIC ${OBJECTS})
  set_target_properties(mlt_lua_below PROPERTIES LINKER_LANGUAGE C ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/CMakeFiles)
  add_library(millet_lua MODULE $<TARGET_OBJECTS:mlt_lua>)
  set_target_properties(millet_lua PROPERTIES PREFIX "" LINKER_LANGUAGE C
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/millet)
  target_link_libraries(millet_lua PRIVATE mlt_flags mlt_lua_below)
  mlt_lua_link(millet_lua)
  target_link_options(millet_lua PRIVATE -Wl,--exclude-libs,libmlt_lua_below.a -Wl,-z,relro)
  if(NOT MLT_SANITIZE)
    target_link_options(millet_lua PRIVATE -Wl,-z,defs)
  endif()
  install(TARGETS millet_lua LIBRARY DESTINATION lib/millet)
endfunction()
