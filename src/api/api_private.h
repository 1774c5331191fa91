/* Handles of the public API: thin shells around the rooms' own objects. */
#ifndef TL_API_PRIVATE_H
#define TL_API_PRIVATE_H

#include <tidelake/tidelake.h>

#include "table/table.h"

struct tidelake_lake {
    tl_fs *fs;
    tl_catalog *catalog;
};

struct tidelake_table {
    tidelake_lake *lake;
    tl_table *table;
    char *db;
    char *name; /* without the database; with "$system" */
    tl_options options;
};

struct tidelake_batch {
    tl_batch *batch;
};

/* A batch read, or changes: `scan` is set then. */
struct tidelake_rows {
    tidelake_table *table; /* NULL: the result of a statement */
    void *owner;           /* what `reader` belongs to (a statement); NULL: nothing */
    void (*release_owner)(void *owner);
    tl_pool *pool;     /* owned; NULL: none */
    tl_reader *reader; /* batch read, or the split being read of a streaming read; NULL: none */
    int32_t *columns;  /* of the batch read */
    tl_predicate *predicate;
    const tl_type *type;
    /* changes */
    tl_table *followed; /* owned */
    tl_stream_scan *scan;
    tl_splits splits;
    size_t next_split;
    int64_t snapshot_id;
    int64_t split_snapshot; /* what the rows of the split being read are told to belong to */
    int64_t to_snapshot;
    int64_t poll_ms;
    bool follow;
    bool started;
};

/** Split "DB.TABLE" at its first dot; both strings are tl_free'd. */
tl_status tl_api__split_name(const char *name, char **db, char **table, tl_error *err);
tl_status tl_api__options(const tidelake_option *options, size_t n, tl_options *out, tl_error *err);
/** Names, each followed by a NUL, and another NUL at the end; frees the names. */
tl_status tl_api__join_names(char **names, size_t n, char **out, tl_error *err);
/** Add the table's name to a failure, unless a room below has told it already. */
tl_status tl_api__in_table(const tidelake_table *table, tl_status status, tl_error *err);
/** Columns and partition keys of a table to be made that were found in files. */
typedef struct tl_api__found {
    const tl_type *row_type;
    char **partition_keys;
    int32_t n_partition_keys;
} tl_api__found;
/** tidelake_create_table(); `found` (may be NULL) holds where the JSON says nothing, which may be NULL then. */
tl_status tl_api__create_table(tidelake_lake *lake, const char *name, const char *schema_json, const tl_api__found *found,
                               int if_not_exists, tl_error *err);
/** Parse a caller's JSON: what is wrong in it is TL_E_INVALID, for it is an argument, not a file of the lake. */
tl_status tl_api__parse_json(tl_arena *arena, tl_bytes_view text, const tl_json **out, tl_error *err);
/** Positions of named columns; tl_free. */
tl_status tl_api__find_columns(const tl_type *row_type, const char *const *names, size_t n, int32_t **out, tl_error *err);
/** A filter in JSON, bound to the row type. */
tl_status tl_api__parse_where(const char *where, const tl_type *row_type, tl_predicate **out, tl_error *err);
/** Objects {"p":"v"} as partition specs. */
tl_status tl_api__partitions(const tidelake_table *table, const char *const *specs_json, size_t n, tl_options **out, tl_error *err);
void tl_api__partitions_free(tl_options *specs, size_t n);
/** A text that the caller releases with tidelake_free(). */
tl_status tl_api__steal(tl_buf *buf, char **out, tl_error *err);
tl_status tl_api__batch(tl_batch *batch_take, tidelake_batch **out, tl_error *err);
/** Several pieces as one allocation: descriptors first, then the bytes. */
tl_status tl_api__pack(tl_buf *pieces, size_t n, tidelake_bytes **out, tl_error *err);
/** Read a field of a caller's option struct only if the caller's version has it. */
#define TL_API_HAS(options, field) \
    ((options) != NULL && (options)->struct_bytes >= offsetof(__typeof__(*(options)), field) + sizeof((options)->field))

#endif
