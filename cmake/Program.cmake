# The library (static and shared) from all rooms, and the program.

tl_room(api tl_table)
target_compile_definitions(tl_api PRIVATE TL_VERSION="${PROJECT_VERSION}")

file(GLOB cli_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cli/*.c)
add_executable(tidelake_program ${cli_sources})
set_target_properties(tidelake_program PROPERTIES OUTPUT_NAME tidelake)
target_include_directories(tidelake_program PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(tidelake_program PRIVATE tl_api)
