# SPDX-License-Identifier: BSD-3-Clause
# Lua 5.4 of the system, if it is there: MLT_LUA_WITHOUT is the file of src/lua that is not for this build, and
# mlt_lua_link(TARGET) gives a target Lua's headers and library. Cross builds usually have none: then src/lua/none.c says so.
find_path(MLT_LUA_HEADERS lua.h PATH_SUFFIXES lua5.4 lua54)
find_library(MLT_LUA_LIBRARY NAMES lua5.4 lua54)
mark_as_advanced(MLT_LUA_HEADERS MLT_LUA_LIBRARY)

set(MLT_LUA_WITHOUT generate.c)
if(MLT_LUA_HEADERS AND MLT_LUA_LIBRARY)
  set(MLT_LUA_WITHOUT none.c)
else()
  message(STATUS "Lua 5.4 is not there (liblua5.4-dev): millet goal runs no scripts")
endif()

function(mlt_lua_link TARGET)
  if(MLT_LUA_HEADERS AND MLT_LUA_LIBRARY)
    target_include_directories(${TARGET} SYSTEM PRIVATE ${MLT_LUA_HEADERS})
    target_link_libraries(${TARGET} PUBLIC ${MLT_LUA_LIBRARY})
  endif()
endfunction()
