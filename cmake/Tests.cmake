# Tests: tests/ROOM/test_*.c are one program each, linked to its room. cmocka; run by ctest.
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

get_property(tl_rooms GLOBAL PROPERTY TL_ROOMS)
foreach(room_target ${tl_rooms})
  string(REPLACE "tl_" "" room ${room_target})
  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${room}/test_*.c)
  foreach(source ${tests})
    get_filename_component(test ${source} NAME_WE)
    add_executable(${test} ${source})
    target_include_directories(${test} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/tests)
    target_compile_definitions(${test} PRIVATE TL_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    target_link_libraries(${test} PRIVATE ${room_target} PkgConfig::CMOCKA)
    add_test(NAME ${room}/${test} COMMAND ${test})
    set_tests_properties(${room}/${test} PROPERTIES TIMEOUT 300)
  endforeach()
endforeach()

# Small programs that scripts of tests/interop use: tests/ROOM/*_dump.c.
foreach(room_target ${tl_rooms})
  string(REPLACE "tl_" "" room ${room_target})
  file(GLOB tools CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${room}/*_dump.c)
  foreach(source ${tools})
    get_filename_component(tool ${source} NAME_WE)
    add_executable(${tool} ${source})
    target_link_libraries(${tool} PRIVATE ${room_target})
  endforeach()
endforeach()

# Tests of whole histories over all rooms up to table/: faults at every step, many writers at once (also under TSan).
# tests/FOLDER/test_*.c get the label FOLDER.
foreach(folder fault concurrent property)
  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${folder}/test_*.c)
  foreach(source ${tests})
    get_filename_component(test ${source} NAME_WE)
    add_executable(${test} ${source})
    target_include_directories(${test} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/tests)
    target_compile_definitions(${test} PRIVATE TL_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    target_link_libraries(${test} PRIVATE tl_table PkgConfig::CMOCKA)
    if(NOT test STREQUAL test_table_faults)
      add_test(NAME ${folder}/${test} COMMAND ${test})
      set_tests_properties(${folder}/${test} PROPERTIES LABELS ${folder} TIMEOUT 600)
    endif()
  endforeach()
endforeach()

# One test for each kind of table of the fault histories: together they would be the longest of all.
foreach(kind an_append_table_without_buckets an_append_table_with_buckets an_append_table_with_deletion_vectors
        a_keyed_table_without_changelog a_keyed_table_with_dynamic_buckets a_keyed_table_with_input_changelog
        an_aggregating_table_with_lookup_changelog a_keyed_table_with_full_compaction_changelog)
  add_test(NAME fault/${kind} COMMAND test_table_faults ${kind})
  set_tests_properties(fault/${kind} PROPERTIES LABELS fault TIMEOUT 900)
endforeach()
set_tests_properties(fault/an_append_table_with_deletion_vectors fault/a_keyed_table_with_dynamic_buckets PROPERTIES LABELS "fault;slow")

# Tests of rooms that use threads belong to the concurrent part, too. `concurrent_tests` builds that part alone (under TSan).
file(GLOB concurrent_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/concurrent/test_*.c)
add_custom_target(concurrent_tests)
foreach(source ${concurrent_sources})
  get_filename_component(test ${source} NAME_WE)
  add_dependencies(concurrent_tests ${test})
endforeach()
foreach(test api/test_api base/test_base lsm/test_threads stream/test_stream)
  if(TEST ${test})
    set_tests_properties(${test} PROPERTIES LABELS concurrent)
    get_filename_component(target ${test} NAME)
    add_dependencies(concurrent_tests ${target})
  endif()
endforeach()
