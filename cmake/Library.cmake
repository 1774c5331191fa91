# libtidelake, shared and static, from the objects of the rooms that the API stands on.

# All rooms under `target` and the system libraries that they need, from the rooms' own link lists: there is no second list of
# dependencies. Paths of libraries become names (zstd), so that what is installed does not depend on this machine's folders.
function(tl_collect_dependencies target rooms_out libraries_out)
  set(todo ${target})
  set(seen)
  set(rooms)
  set(libraries)
  while(todo)
    list(POP_FRONT todo item)
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" item "${item}")
    if(item IN_LIST seen OR item STREQUAL "")
      continue()
    endif()
    list(APPEND seen ${item})
    if(item STREQUAL "Threads::Threads")
      list(APPEND libraries pthread)
    elseif(TARGET ${item})
      get_target_property(type ${item} TYPE)
      if(type STREQUAL "STATIC_LIBRARY")
        list(APPEND rooms ${item})
      endif()
      get_target_property(uses ${item} INTERFACE_LINK_LIBRARIES)
      if(uses)
        list(APPEND todo ${uses})
      endif()
    else()
      get_filename_component(name ${item} NAME)
      string(REGEX REPLACE "^lib(.*)\\.(so|a)$" "\\1" name "${name}")
      string(REGEX REPLACE "^-l" "" name "${name}")
      list(APPEND libraries ${name})
    endif()
  endwhile()
  list(REMOVE_DUPLICATES libraries)
  set(${rooms_out} ${rooms} PARENT_SCOPE)
  set(${libraries_out} ${libraries} PARENT_SCOPE)
endfunction()

tl_collect_dependencies(tl_api TL_LIBRARY_ROOMS TL_LIBRARY_NEEDS)
set(TL_LIBRARY_OBJECTS)
foreach(room ${TL_LIBRARY_ROOMS})
  list(APPEND TL_LIBRARY_OBJECTS $<TARGET_OBJECTS:${room}>)
endforeach()

# Shared. The version script is a second wall behind -fvisibility=hidden: it also keeps in what a static dependency brings.
set(TL_SOVERSION 0)
add_library(tidelake_shared SHARED ${TL_LIBRARY_OBJECTS})
set_target_properties(tidelake_shared PROPERTIES
  OUTPUT_NAME tidelake EXPORT_NAME tidelake LINKER_LANGUAGE C
  VERSION ${PROJECT_VERSION} SOVERSION ${TL_SOVERSION}
  LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/libtidelake.map)
target_link_options(tidelake_shared PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/libtidelake.map -Wl,--as-needed)
if(NOT TL_SANITIZE)
  target_link_options(tidelake_shared PRIVATE -Wl,-z,defs)
endif()
target_link_libraries(tidelake_shared PRIVATE ${TL_LIBRARY_NEEDS})

# Static. Objects are linked into one first, so that the rooms' functions become local to it: a program can have functions
# of the same names, and an archive shows the public symbols alone, as the shared library does.
set(prelinked ${CMAKE_BINARY_DIR}/tidelake_all.o)
add_custom_command(
  OUTPUT ${prelinked}
  COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${prelinked} ${TL_LIBRARY_OBJECTS}
  COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${prelinked}
  DEPENDS ${TL_LIBRARY_OBJECTS}
  COMMENT "Linking the rooms into one object"
  COMMAND_EXPAND_LISTS VERBATIM)
set_source_files_properties(${prelinked} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
add_library(tidelake_static STATIC ${prelinked})
set_target_properties(tidelake_static PROPERTIES OUTPUT_NAME tidelake EXPORT_NAME tidelake_static LINKER_LANGUAGE C)
target_link_libraries(tidelake_static INTERFACE ${TL_LIBRARY_NEEDS})

foreach(library tidelake_shared tidelake_static)
  target_include_directories(${library} INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
endforeach()
add_library(tidelake::tidelake ALIAS tidelake_shared)
add_library(tidelake::tidelake_static ALIAS tidelake_static)
