# Example programs that tests and the demonstration need.
add_executable(flight-events ${CMAKE_SOURCE_DIR}/examples/flights/events.c)
target_link_libraries(flight-events PRIVATE PkgConfig::ZLIB)
