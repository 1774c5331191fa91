# The public API's room, the program, and the library's two forms; what goes where at installation is in Install.cmake.

# Rooms that src/api/ uses; the libraries are made of these and what is below them.
option(TL_SQL "Build SQL: scripts, jobs, the shell" OFF)
if(TL_SQL)
  tl_room(api tl_stream)
else()
  tl_room(api tl_table)
  get_target_property(api_sources tl_api SOURCES)
  list(FILTER api_sources EXCLUDE REGEX "api/run\\.c$")
  set_target_properties(tl_api PROPERTIES SOURCES "${api_sources}")
endif()
target_compile_definitions(tl_api PRIVATE TL_VERSION="${PROJECT_VERSION}")

# The program has the rooms linked in: one file to copy, and nothing of ours to look up at each start.
file(GLOB cli_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cli/*.c)
if(NOT TL_SQL)
  list(FILTER cli_sources EXCLUDE REGEX "cli/(cmd_run|cmd_sql|line)\\.c$")
endif()
add_executable(tidelake_program ${cli_sources})
if(TL_SQL)
  target_compile_definitions(tidelake_program PRIVATE TL_SQL)
  find_library(READLINE_LIBRARY readline)
  if(READLINE_LIBRARY)
    target_compile_definitions(tidelake_program PRIVATE TL_READLINE)
    target_link_libraries(tidelake_program PRIVATE ${READLINE_LIBRARY})
  endif()
endif()
set_target_properties(tidelake_program PROPERTIES OUTPUT_NAME tidelake)
target_include_directories(tidelake_program PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(tidelake_program PRIVATE tl_api)

include(cmake/Library.cmake)
include(cmake/Install.cmake)
