# Tests of the whole: how it is cut into rooms, the libraries, the headers, the installation, the program. Those of the rooms: Tests.cmake.
enable_testing()
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# tl_script_test(NAME command...): a test that needs no building of its own; TL_SANITIZE builds leave it to the plain ones
# where PLAIN is given (programs of others cannot be linked with libraries that want a sanitizer's run-time).
function(tl_script_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PLAIN" "" "COMMAND")
  if(arg_PLAIN AND TL_SANITIZE)
    return()
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300)
endfunction()

tl_script_test(architecture/rooms COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/architecture/rooms.py ${CMAKE_SOURCE_DIR})
tl_script_test(api/headers COMMAND ${CMAKE_SOURCE_DIR}/tests/api/headers.sh ${CMAKE_SOURCE_DIR} ${CMAKE_C_COMPILER})
tl_script_test(api/symbols COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/api/symbols.py ${CMAKE_SOURCE_DIR}
               $<TARGET_FILE:tidelake_shared> $<TARGET_FILE:tidelake_static>)
tl_script_test(api/install PLAIN COMMAND ${CMAKE_SOURCE_DIR}/tests/api/install.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${CMAKE_C_COMPILER})
tl_script_test(api/printed_files COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/api/printed_files.py $<TARGET_FILE:tidelake_program>)
set_tests_properties(api/printed_files PROPERTIES SKIP_RETURN_CODE 77)
file(GLOB cli_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/cli/*.test)
foreach(test ${cli_tests})
  get_filename_component(name ${test} NAME_WE)
  tl_script_test(cli/${name} COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/cli/run.py $<TARGET_FILE:tidelake_program> ${test})
endforeach()
tl_script_test(cli/full_disk COMMAND ${CMAKE_SOURCE_DIR}/tests/cli/full_disk.sh $<TARGET_FILE:tidelake_program>)
set_tests_properties(cli/full_disk PROPERTIES SKIP_RETURN_CODE 77)
tl_script_test(cli/examples COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/cli/examples.py $<TARGET_FILE:tidelake_program>)
tl_script_test(docs/generated COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/docs/generate --check $<TARGET_FILE:tidelake_program>)
tl_script_test(cli/start_up PLAIN COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/cli/start_up.py $<TARGET_FILE:tidelake_program>)

# Field cases (tests/field/README.md): one program, a test per file of cases.
file(GLOB field_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/field/*.c)
add_executable(field_cases ${field_sources})
target_include_directories(field_cases PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(field_cases PRIVATE tl_api)
file(GLOB field_cases CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/field/*.case)
foreach(cases ${field_cases})
  get_filename_component(name ${cases} NAME_WE)
  tl_script_test(field/${name} COMMAND field_cases ${cases})
endforeach()
