# The public API's room, the program, and the library's two forms; what goes where at installation is in Install.cmake.

# Rooms that src/api/ uses; the libraries are made of these and what is below them.
tl_room(api tl_stream)
target_compile_definitions(tl_api PRIVATE TL_VERSION="${PROJECT_VERSION}")

# The program has the rooms linked in: one file to copy, and nothing of ours to look up at each start.
file(GLOB cli_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cli/*.c)
add_executable(tidelake_program ${cli_sources})
find_library(READLINE_LIBRARY readline)
if(READLINE_LIBRARY)
  target_compile_definitions(tidelake_program PRIVATE TL_READLINE)
  target_link_libraries(tidelake_program PRIVATE ${READLINE_LIBRARY})
endif()
set_target_properties(tidelake_program PROPERTIES OUTPUT_NAME tidelake)
target_include_directories(tidelake_program PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(tidelake_program PRIVATE tl_api)

include(cmake/Library.cmake)
include(cmake/Install.cmake)
if(TL_TESTS)
  include(cmake/ProgramTests.cmake)
endif()
