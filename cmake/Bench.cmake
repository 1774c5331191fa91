# The benchmark's programs. `tidelake bench …` finds tidelake-bench beside it; the others are not part of `all`: bench/run and
# bench/micro build them.
add_executable(tidelake_bench bench/tidelake_bench.c bench/records.c bench/measure.c bench/words.c)
set_target_properties(tidelake_bench PROPERTIES OUTPUT_NAME tidelake-bench)
target_link_libraries(tidelake_bench PRIVATE tidelake_static)
add_executable(bench_stages EXCLUDE_FROM_ALL bench/stages/stage.c bench/stages/columns.c bench/stages/keys.c bench/stages/merge.c
               bench/stages/parquet.c bench/stages/compress.c bench/stages/lookup.c)
target_link_libraries(bench_stages PRIVATE tl_lsm)
add_executable(bench_parquet_file EXCLUDE_FROM_ALL bench/stages/parquet_file.c)
target_link_libraries(bench_parquet_file PRIVATE tl_format)
add_executable(bench_buckets EXCLUDE_FROM_ALL bench/stages/buckets.c)
target_link_libraries(bench_buckets PRIVATE tl_lsm)
add_executable(bench_gen EXCLUDE_FROM_ALL bench/gen.c)
target_include_directories(bench_gen PRIVATE include)
add_executable(bench_limits EXCLUDE_FROM_ALL bench/limits.c bench/records.c bench/measure.c)
target_include_directories(bench_limits PRIVATE include)
target_link_libraries(bench_limits PRIVATE zstd)
add_executable(bench_shape EXCLUDE_FROM_ALL bench/shape.c bench/measure.c bench/words.c)
target_link_libraries(bench_shape PRIVATE tidelake_static)
