# The SQL grammar: lemon makes grammar.c and grammar.h (not committed) out of src/sql/grammar.y.
# -c: uncompressed tables, see the grammar's head. A conflict in the grammar is an error of lemon, so of the build.
find_program(LEMON lemon REQUIRED)
set(TL_GRAMMAR_DIR ${CMAKE_BINARY_DIR}/generated/sql)
file(MAKE_DIRECTORY ${TL_GRAMMAR_DIR})
add_custom_command(
  OUTPUT ${TL_GRAMMAR_DIR}/grammar.c ${TL_GRAMMAR_DIR}/grammar.h
  COMMAND ${LEMON} -c -q -d${TL_GRAMMAR_DIR} ${CMAKE_SOURCE_DIR}/src/sql/grammar.y
  DEPENDS ${CMAKE_SOURCE_DIR}/src/sql/grammar.y
  VERBATIM)
target_sources(tl_sql PRIVATE ${TL_GRAMMAR_DIR}/grammar.c ${TL_GRAMMAR_DIR}/grammar.h)
target_include_directories(tl_sql PRIVATE ${TL_GRAMMAR_DIR})
