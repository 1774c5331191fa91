# The benchmark's programs. `tidelake bench …` finds tidelake-bench beside it; the others are not part of `all`: bench/run and
# bench/micro build them.
add_executable(tidelake_bench bench/tidelake_bench.c bench/records.c bench/measure.c)
set_target_properties(tidelake_bench PROPERTIES OUTPUT_NAME tidelake-bench)
target_link_libraries(tidelake_bench PRIVATE tidelake_static)
foreach(micro micro_types micro_parquet micro_parquet_write lsm/bench_lsm)
  get_filename_component(name ${micro} NAME)
  add_executable(${name} EXCLUDE_FROM_ALL bench/${micro}.c)
  target_link_libraries(${name} PRIVATE tl_lsm)
endforeach()
add_executable(bench_gen EXCLUDE_FROM_ALL bench/gen.c)
target_include_directories(bench_gen PRIVATE include)
