/*
 * The part of DuckDB's stable C API that is used, as a table of functions found in libduckdb when a query first needs it.
 * Private to sql/.
 *
 * Declared here and not taken from duckdb.h, so that the build needs nothing of DuckDB and one program works with and without
 * it. All names have been stable since 1.0 (handles are pointers; two structs are part of the ABI).
 */
#ifndef TL_SQL_DUCK_API_H
#define TL_SQL_DUCK_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef void *duck_handle; /* database, connection, config, statement, pending result, chunk, vector, type, function, info, value */

typedef struct duck_result {
    uint64_t deprecated[3];
    void *deprecated_columns;
    char *deprecated_error;
    void *internal;
} duck_result;

/** A string or blob in a vector: up to 12 bytes stand in it, longer ones behind the pointer. */
typedef struct duck_string {
    uint32_t length;
    char prefix[4];
    char *pointer;
} duck_string;
#define DUCK_INLINE_MAX 12

typedef struct duck_list_entry {
    uint64_t offset;
    uint64_t length;
} duck_list_entry;

typedef enum duck_type {
    DUCK_BOOLEAN = 1,
    DUCK_TINYINT = 2,
    DUCK_SMALLINT = 3,
    DUCK_INTEGER = 4,
    DUCK_BIGINT = 5,
    DUCK_FLOAT = 10,
    DUCK_DOUBLE = 11,
    DUCK_HUGEINT = 16,
    DUCK_BLOB = 18
} duck_type;

typedef void (*duck_delete_fn)(void *data);
typedef void (*duck_bind_fn)(duck_handle info);
typedef void (*duck_table_fn)(duck_handle info, duck_handle chunk);
typedef void (*duck_scalar_fn)(duck_handle info, duck_handle chunk, duck_handle vector);

/* F(result, name, arguments): states are 0 for success. */
#define DUCK_FUNCTIONS(F)                                                                                                        \
    F(const char *, library_version, (void))                                                                                     \
    F(int, create_config, (duck_handle *))                                                                                       \
    F(int, set_config, (duck_handle, const char *, const char *))                                                                \
    F(void, destroy_config, (duck_handle *))                                                                                     \
    F(int, open_ext, (const char *, duck_handle *, duck_handle, char **))                                                        \
    F(void, close, (duck_handle *))                                                                                              \
    F(int, connect, (duck_handle, duck_handle *))                                                                                \
    F(void, disconnect, (duck_handle *))                                                                                         \
    F(void, free, (void *))                                                                                                      \
    F(int, prepare, (duck_handle, const char *, duck_handle *))                                                                  \
    F(const char *, prepare_error, (duck_handle))                                                                                \
    F(void, destroy_prepare, (duck_handle *))                                                                                    \
    F(int, pending_prepared_streaming, (duck_handle, duck_handle *))                                                             \
    F(const char *, pending_error, (duck_handle))                                                                                \
    F(int, execute_pending, (duck_handle, duck_result *))                                                                        \
    F(void, destroy_pending, (duck_handle *))                                                                                    \
    F(void, destroy_result, (duck_result *))                                                                                     \
    F(const char *, result_error, (duck_result *))                                                                               \
    F(duck_handle, fetch_chunk, (duck_result))                                                                                   \
    F(void, destroy_data_chunk, (duck_handle *))                                                                                 \
    F(duck_handle, data_chunk_get_vector, (duck_handle, uint64_t))                                                               \
    F(uint64_t, data_chunk_get_size, (duck_handle))                                                                              \
    F(void, data_chunk_set_size, (duck_handle, uint64_t))                                                                        \
    F(uint64_t, vector_size, (void))                                                                                             \
    F(void *, vector_get_data, (duck_handle))                                                                                    \
    F(uint64_t *, vector_get_validity, (duck_handle))                                                                            \
    F(void, vector_ensure_validity_writable, (duck_handle))                                                                      \
    F(void, vector_assign_string_element_len, (duck_handle, uint64_t, const char *, uint64_t))                                   \
    F(duck_handle, list_vector_get_child, (duck_handle))                                                                         \
    F(uint64_t, list_vector_get_size, (duck_handle))                                                                             \
    F(int, list_vector_set_size, (duck_handle, uint64_t))                                                                        \
    F(int, list_vector_reserve, (duck_handle, uint64_t))                                                                         \
    F(duck_handle, struct_vector_get_child, (duck_handle, uint64_t))                                                             \
    F(duck_handle, create_logical_type, (int))                                                                                   \
    F(duck_handle, create_list_type, (duck_handle))                                                                              \
    F(duck_handle, create_struct_type, (duck_handle *, const char **, uint64_t))                                                 \
    F(void, destroy_logical_type, (duck_handle *))                                                                               \
    F(duck_handle, create_table_function, (void))                                                                                \
    F(void, destroy_table_function, (duck_handle *))                                                                             \
    F(void, table_function_set_name, (duck_handle, const char *))                                                                \
    F(void, table_function_add_parameter, (duck_handle, duck_handle))                                                            \
    F(void, table_function_set_extra_info, (duck_handle, void *, duck_delete_fn))                                                \
    F(void, table_function_set_bind, (duck_handle, duck_bind_fn))                                                                \
    F(void, table_function_set_init, (duck_handle, duck_bind_fn))                                                                \
    F(void, table_function_set_function, (duck_handle, duck_table_fn))                                                           \
    F(void, table_function_supports_projection_pushdown, (duck_handle, bool))                                                    \
    F(int, register_table_function, (duck_handle, duck_handle))                                                                  \
    F(void *, bind_get_extra_info, (duck_handle))                                                                                \
    F(duck_handle, bind_get_parameter, (duck_handle, uint64_t))                                                                  \
    F(void, bind_add_result_column, (duck_handle, const char *, duck_handle))                                                    \
    F(void, bind_set_bind_data, (duck_handle, void *, duck_delete_fn))                                                           \
    F(void, bind_set_error, (duck_handle, const char *))                                                                         \
    F(void *, init_get_bind_data, (duck_handle))                                                                                 \
    F(void, init_set_init_data, (duck_handle, void *, duck_delete_fn))                                                           \
    F(uint64_t, init_get_column_count, (duck_handle))                                                                            \
    F(uint64_t, init_get_column_index, (duck_handle, uint64_t))                                                                  \
    F(void, init_set_max_threads, (duck_handle, uint64_t))                                                                       \
    F(void, init_set_error, (duck_handle, const char *))                                                                         \
    F(void *, function_get_init_data, (duck_handle))                                                                             \
    F(void, function_set_error, (duck_handle, const char *))                                                                     \
    F(int64_t, get_int64, (duck_handle))                                                                                         \
    F(void, destroy_value, (duck_handle *))                                                                                      \
    F(duck_handle, create_scalar_function, (void))                                                                               \
    F(void, destroy_scalar_function, (duck_handle *))                                                                            \
    F(void, scalar_function_set_name, (duck_handle, const char *))                                                               \
    F(void, scalar_function_set_special_handling, (duck_handle))                                                                 \
    F(void, scalar_function_set_volatile, (duck_handle))                                                                         \
    F(void, scalar_function_add_parameter, (duck_handle, duck_handle))                                                           \
    F(void, scalar_function_set_return_type, (duck_handle, duck_handle))                                                         \
    F(void, scalar_function_set_extra_info, (duck_handle, void *, duck_delete_fn))                                               \
    F(void, scalar_function_set_function, (duck_handle, duck_scalar_fn))                                                         \
    F(int, register_scalar_function, (duck_handle, duck_handle))                                                                 \
    F(void *, scalar_function_get_extra_info, (duck_handle))                                                                     \
    F(void, scalar_function_set_error, (duck_handle, const char *))

#define DUCK_DECLARE(RESULT, NAME, ARGS) RESULT(*NAME) ARGS;
typedef struct duck_api {
    DUCK_FUNCTIONS(DUCK_DECLARE)
} duck_api;
#undef DUCK_DECLARE

/**
 * The library, loaded at the first call (thread-safe); it stays for the life of the process. Looked for in this order:
 * $TIDELAKE_DUCKDB (the file), $TL_DUCKDB_DIR, beside the program, the cache of script/fetch-duckdb, the system's libraries.
 * TL_E_UNSUPPORTED says how to get it.
 */
tl_status duck_load(const duck_api **out, tl_error *err);

#endif
