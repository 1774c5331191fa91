/*
 * libtidelake: Apache Paimon tables, written, read, compacted and maintained from C.
 *
 * Handles are opaque and belong to whoever got them; each has a function that releases it (NULL is fine). Structs of options
 * begin with `struct_bytes = sizeof(…)`, so that later versions can add fields: initialise them with their TIDELAKE_…_INIT.
 * Functions return a tl_status and explain a failure in `err` (may be NULL). A lake and its tables may be used by several
 * threads at once; a reader, writer or printer by one thread at a time.
 *
 * Rows go in and out as Arrow batches (arrow_abi.h), or as text in the forms of docs/text-forms.md.
 */
#ifndef TIDELAKE_TIDELAKE_H
#define TIDELAKE_TIDELAKE_H

#include <stddef.h>
#include <stdint.h>

#include <tidelake/arrow_abi.h>
#include <tidelake/error.h>

#if defined(__GNUC__) && !defined(TIDELAKE_API)
#define TIDELAKE_API __attribute__((visibility("default")))
#elif !defined(TIDELAKE_API)
#define TIDELAKE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tidelake_lake tidelake_lake;       /* a warehouse */
typedef struct tidelake_table tidelake_table;     /* a table, or one of its system tables, with options laid over */
typedef struct tidelake_rows tidelake_rows;       /* a cursor over batches */
typedef struct tidelake_batch tidelake_batch;     /* some rows */
typedef struct tidelake_lookup tidelake_lookup;   /* rows of a table by key */
typedef struct tidelake_input tidelake_input;     /* rows from a file */
typedef struct tidelake_writer tidelake_writer;   /* rows into a table */
typedef struct tidelake_printer tidelake_printer; /* rows as text or as a file */

/** A key and its value; where an array of them is wanted, `n` follows. */
typedef struct tidelake_option {
    const char *key;
    const char *value;
} tidelake_option;

/** "0.1.0" */
TIDELAKE_API const char *tidelake_version(void);
/** "not found", "corrupt", … */
TIDELAKE_API const char *tidelake_status_name(tl_status status);

/* ---- lake ---- */

/** Open a warehouse: a folder, made if it is missing. */
TIDELAKE_API tl_status tidelake_open(const char *warehouse, tidelake_lake **out, tl_error *err);
TIDELAKE_API void tidelake_close(tidelake_lake *lake);
/** Names in byte order, each followed by a NUL, the list by another one; release with tidelake_free(). */
TIDELAKE_API tl_status tidelake_list_databases(tidelake_lake *lake, char **out, tl_error *err);
TIDELAKE_API tl_status tidelake_list_tables(tidelake_lake *lake, const char *db, char **out, tl_error *err);
TIDELAKE_API void tidelake_free(void *memory);

/**
 * Create "DB.TABLE" (the database too, if it is missing) from a JSON object:
 * {"columns":[{"name","type","comment"?,"default"?}],"partitionKeys":[],"primaryKeys":[],"options":{},"comment":""}
 */
TIDELAKE_API tl_status tidelake_create_table(tidelake_lake *lake, const char *name, const char *schema_json, int if_not_exists,
                                             tl_error *err);
TIDELAKE_API tl_status tidelake_drop_table(tidelake_lake *lake, const char *name, int if_exists, tl_error *err);
/** Changes as JSON: [{"op":"setOption","key","value"},{"op":"addColumn","name","type",…},…]; *schema_id: the new schema's. */
TIDELAKE_API tl_status tidelake_alter_table(tidelake_lake *lake, const char *name, const char *changes_json, int64_t *schema_id,
                                            tl_error *err);

/* ---- table ---- */

/** Open "DB.TABLE" or a system table ("DB.TABLE$snapshots"); `options` are laid over the stored ones. */
TIDELAKE_API tl_status tidelake_table_open(tidelake_lake *lake, const char *name, const tidelake_option *options, size_t n,
                                           tidelake_table **out, tl_error *err);
TIDELAKE_API void tidelake_table_close(tidelake_table *table);
/** Columns as an Arrow struct. */
TIDELAKE_API tl_status tidelake_table_arrow_schema(tidelake_table *table, struct ArrowSchema *out, tl_error *err);
/** Schema as JSON, as the table's schema file has it; tidelake_free(). */
TIDELAKE_API tl_status tidelake_table_schema_json(tidelake_table *table, char **out, tl_error *err);

/* ---- read ---- */

typedef struct tidelake_read_options {
    size_t struct_bytes;
    const char *const *columns; /* names in output order; NULL: all */
    size_t n_columns;           /* 0 with `columns` set: none, rows are only counted (from the manifests where those know) */
    const char *where;  /* filter as JSON: ["=","col",v], ["and",e,…], … (docs/text-forms.md); NULL: none */
    int64_t limit;      /* < 0: none */
    int kinds;          /* tell each row's kind (deletes are kept where the read gives them) */
    int threads;        /* 0 or 1: in the calling thread */
    int64_t batch_rows; /* 0: the default */
} tidelake_read_options;
#define TIDELAKE_READ_INIT {sizeof(tidelake_read_options), NULL, 0, NULL, -1, 0, 0, 0}

/** Batch read of the latest snapshot, or of what the table's options (scan.snapshot-id, scan.tag-name, …) ask for. */
TIDELAKE_API tl_status tidelake_read(tidelake_table *table, const tidelake_read_options *options, tidelake_rows **out,
                                     tl_error *err);

typedef struct tidelake_changes_options {
    size_t struct_bytes;
    int64_t next_snapshot;          /* > 0: go on from this snapshot; 0: as the table's scan.* options say */
    int64_t to_snapshot;            /* > 0: the last one; 0: no end */
    int follow;                     /* wait for new snapshots; otherwise the end is the latest one */
    int64_t poll_ms;                /* how often to look for new ones; 0: 200 */
    const tidelake_option *options; /* laid over the table's: scan.mode, scan.snapshot-id, consumer-id, … */
    size_t n_options;
} tidelake_changes_options;
#define TIDELAKE_CHANGES_INIT {sizeof(tidelake_changes_options), 0, 0, 0, 0, NULL, 0}

/** Streaming read: the table's changes, snapshot after snapshot, with row kinds. */
TIDELAKE_API tl_status tidelake_changes(tidelake_table *table, const tidelake_changes_options *options, tidelake_rows **out,
                                        tl_error *err);
/** Snapshot at which a later tidelake_changes() goes on after what was read so far. */
TIDELAKE_API int64_t tidelake_changes_position(tidelake_rows *rows);

/** The next batch, NULL at the end; release with tidelake_batch_free(). */
TIDELAKE_API tl_status tidelake_rows_next(tidelake_rows *rows, tidelake_batch **out, tl_error *err);
TIDELAKE_API void tidelake_rows_free(tidelake_rows *rows);
/** Make a stream of it; takes `rows` over, also on failure. */
TIDELAKE_API tl_status tidelake_rows_stream(tidelake_rows *rows, struct ArrowArrayStream *out, tl_error *err);
TIDELAKE_API tl_status tidelake_rows_arrow_schema(tidelake_rows *rows, struct ArrowSchema *out, tl_error *err);

TIDELAKE_API void tidelake_batch_free(tidelake_batch *batch);
TIDELAKE_API int64_t tidelake_batch_rows(const tidelake_batch *batch);
/** Kind of a row: 0 +I, 1 -U, 2 +U, 3 -D. */
TIDELAKE_API int tidelake_batch_kind(const tidelake_batch *batch, int64_t row);
/** The snapshot of a changes batch; 0 otherwise. */
TIDELAKE_API int64_t tidelake_batch_snapshot(const tidelake_batch *batch);
/** The columns as an Arrow struct array (shared, not copied); release it as Arrow says. */
TIDELAKE_API tl_status tidelake_batch_arrow(const tidelake_batch *batch, struct ArrowArray *out, tl_error *err);

/* ---- plan and read apart: splits can be sent to other processes or machines ---- */

/** Splits of a batch read as `n` runs of bytes in the reference's form (DataSplit); tidelake_free() on *out releases all. */
typedef struct tidelake_bytes {
    const uint8_t *data;
    size_t len;
} tidelake_bytes;
TIDELAKE_API tl_status tidelake_plan(tidelake_table *table, const tidelake_read_options *options, tidelake_bytes **out,
                                     size_t *n, tl_error *err);
TIDELAKE_API tl_status tidelake_read_split(tidelake_table *table, tidelake_bytes split, const tidelake_read_options *options,
                                           tidelake_rows **out, tl_error *err);

/* ---- look-up by key ---- */

typedef enum tidelake_lookup_tier {
    TIDELAKE_LOOKUP_AUTO = 0,   /* in memory if the table is likely to fit into memory_bytes, else from its files */
    TIDELAKE_LOOKUP_MEMORY = 1, /* loaded when it is opened: a look-up takes microseconds */
    TIDELAKE_LOOKUP_FILES = 2   /* each call reads what may contain its keys, ask for many at a time; keys asked for are kept in an
                                   eighth of memory_bytes, and cost microseconds from then on */
} tidelake_lookup_tier;

typedef struct tidelake_lookup_options {
    size_t struct_bytes;
    const char *const *keys;    /* columns to look up by, any of the table; NULL: its primary key */
    size_t n_keys;
    const char *const *columns; /* columns of the answers; NULL: all */
    size_t n_columns;
    const char *where;          /* rows that fail are not found; as in tidelake_read_options */
    tidelake_lookup_tier tier;
    int64_t memory_bytes;       /* for AUTO and FILES; 0: the table's lookup.cache-max-memory-size */
    int threads;                /* for loading and reading; 0 or 1: the calling thread */
} tidelake_lookup_options;
#define TIDELAKE_LOOKUP_INIT {sizeof(tidelake_lookup_options), NULL, 0, NULL, 0, NULL, TIDELAKE_LOOKUP_AUTO, 0, 0}

/**
 * Look rows up by key, as of the latest snapshot. The answers stay those of that snapshot until tidelake_lookup_refresh(). One
 * thread at a time; the table must stay open.
 */
TIDELAKE_API tl_status tidelake_lookup_open(tidelake_table *table, const tidelake_lookup_options *options, tidelake_lookup **out,
                                            tl_error *err);
TIDELAKE_API void tidelake_lookup_close(tidelake_lookup *lookup);
/**
 * Rows of some keys. `keys` (moved; released by the library, also on failure) has the key columns by name, as `schema` tells; NULL
 * finds nothing. The rows come in the order of their keys; `positions` (may be NULL) receives for each of them the number of
 * its key, valid until the next call. A key without a row is left out; where the key is not unique, it may have several.
 * TL_E_NOT_FOUND from files means that the snapshot has expired: refresh and ask again.
 */
TIDELAKE_API tl_status tidelake_lookup_find(tidelake_lookup *lookup, struct ArrowArray *keys, const struct ArrowSchema *schema,
                                            tidelake_batch **out, const uint32_t **positions, tl_error *err);
/** Follow the table to its latest snapshot; `changed` (may be NULL) tells whether there was a new one. */
TIDELAKE_API tl_status tidelake_lookup_refresh(tidelake_lookup *lookup, int *changed, tl_error *err);
/** The snapshot that answers are of; 0: the table has none. */
TIDELAKE_API int64_t tidelake_lookup_snapshot(tidelake_lookup *lookup);
/** Whether the rows are held in memory, and how many bytes they take. */
TIDELAKE_API int tidelake_lookup_is_in_memory(tidelake_lookup *lookup);
TIDELAKE_API int64_t tidelake_lookup_memory_bytes(tidelake_lookup *lookup);
/** Columns of the answers and of the keys; all nullable. */
TIDELAKE_API tl_status tidelake_lookup_arrow_schema(tidelake_lookup *lookup, struct ArrowSchema *out, tl_error *err);
TIDELAKE_API tl_status tidelake_lookup_key_schema(tidelake_lookup *lookup, struct ArrowSchema *out, tl_error *err);

/* ---- write ---- */

typedef enum tidelake_compaction {
    TIDELAKE_COMPACT_AUTO = 0, /* as the table's options say; tidelake_commit_options.wait_compaction: what a commit waits for */
    TIDELAKE_COMPACT_NONE = 1, /* only write (write-only) */
    TIDELAKE_COMPACT_FULL = 2  /* every touched bucket fully with every commit */
} tidelake_compaction;

typedef struct tidelake_write_options {
    size_t struct_bytes;
    const char *commit_user; /* NULL: a random one; a job that must be exactly once keeps its name for life */
    tidelake_compaction compaction;
    int overwrite;                              /* replace partitions (or, unpartitioned, everything) instead of adding */
    const tidelake_option *overwrite_partition; /* only this partition; NULL: those that get rows */
    size_t n_overwrite_partition;
    int threads; /* 0: one of its own for compactions; n > 0: n for those and for the work of commits; -1: all inside the calls */
    const char *const *columns; /* tables with data evolution: only these are written, whatever else rows hold; NULL: all */
    size_t n_columns;
    int64_t first_row_id; /* they are columns of rows that are there, with ids from this one on; -1: of new rows */
} tidelake_write_options;
#define TIDELAKE_WRITE_INIT {sizeof(tidelake_write_options), NULL, TIDELAKE_COMPACT_AUTO, 0, NULL, 0, 0, NULL, 0, -1}

TIDELAKE_API tl_status tidelake_writer_open(tidelake_table *table, const tidelake_write_options *options, tidelake_writer **out,
                                            tl_error *err);
/** What was not committed is removed. */
TIDELAKE_API void tidelake_writer_close(tidelake_writer *writer);
/**
 * Write rows. `array` (moved; released by the library, also on failure) has all columns of the table in order, as `schema`
 * tells; `kinds` one byte per row, or NULL for inserts. Rows are kept until a commit: that memory or disk failed for them may be told by a
 * later call; what is wrong with the rows themselves is told by this one, which then takes none of them. The array may be released after
 * the call, by any of the library's threads.
 */
TIDELAKE_API tl_status tidelake_writer_write(tidelake_writer *writer, struct ArrowArray *array,
                                             const struct ArrowSchema *schema, const uint8_t *kinds, tl_error *err);
TIDELAKE_API tl_status tidelake_writer_write_batch(tidelake_writer *writer, const tidelake_batch *batch, tl_error *err);

typedef struct tidelake_commit_options {
    size_t struct_bytes;
    int64_t identifier; /* > 0: grows with each commit of the user, makes a repeated commit harmless; 0: the next one */
    int64_t watermark;  /* INT64_MIN: none */
    const tidelake_option *properties; /* kept in the snapshot */
    size_t n_properties;
    /* Compactions that have begun: 1: wait for them, so that the commit has their result; -1: take in those that are done, wait only
       where a bucket has more runs than num-sorted-run.stop-trigger; 0: wait with the first commit of a writer, so that who commits
       once leaves a compacted table, and where what look-ups make is to come with its commit (lookup-wait); else as -1. Compactions
       that no commit took in before tidelake_writer_close() are given up. */
    int wait_compaction;
} tidelake_commit_options;
#define TIDELAKE_COMMIT_INIT {sizeof(tidelake_commit_options), 0, INT64_MIN, NULL, 0, 0}

typedef struct tidelake_commit_result {
    int64_t snapshot_id; /* the newest snapshot made; 0 if there was nothing to commit */
    int snapshots;       /* how many: 0, 1 or 2 (data, compaction) */
    int compaction_dropped;
    int retries;
} tidelake_commit_result;

/** Make everything written so far visible, at once. `result` may be NULL. */
TIDELAKE_API tl_status tidelake_writer_commit(tidelake_writer *writer, const tidelake_commit_options *options,
                                              tidelake_commit_result *result, tl_error *err);
/** Instead of a commit: hand the files over as serialised commit messages, for a commit elsewhere. As tidelake_plan(). Compactions
    that have begun are waited for. */
TIDELAKE_API tl_status tidelake_writer_prepare(tidelake_writer *writer, tidelake_bytes **out, size_t *n, tl_error *err);
TIDELAKE_API tl_status tidelake_commit_prepared(tidelake_table *table, const char *commit_user, const tidelake_bytes *messages,
                                                size_t n, const tidelake_commit_options *options,
                                                tidelake_commit_result *result, tl_error *err);
/** Remove the files of messages that will not be committed. */
TIDELAKE_API tl_status tidelake_abort_prepared(tidelake_table *table, const tidelake_bytes *messages, size_t n, tl_error *err);

/* ---- rows from files ---- */

/**
 * Rows for a table from a file ("-": standard input). `format`: "jsonl" (a blank line ends a batch; "_kind" tells the row's
 * kind), "csv" (first line: names), "parquet", "orc", "avro", or NULL: by the file's extension.
 */
TIDELAKE_API tl_status tidelake_input_open(tidelake_table *table, const char *path, const char *format, tidelake_input **out,
                                           tl_error *err);
TIDELAKE_API void tidelake_input_close(tidelake_input *input);
/** The next rows, NULL at the end. *commit_after: 1 if the input asks for a commit after them. */
TIDELAKE_API tl_status tidelake_input_next(tidelake_input *input, tidelake_batch **out, int *commit_after, tl_error *err);
/** Bytes read so far and in all (-1 unknown), for progress. */
TIDELAKE_API void tidelake_input_progress(const tidelake_input *input, int64_t *done, int64_t *total);

typedef struct tidelake_import_options {
    size_t struct_bytes;
    const char *format;      /* of all files; NULL: by their names */
    const char *schema_json; /* of a table that is made, as for tidelake_create_table(); what it leaves out is found in the files */
    int in_place;            /* files become the table's data files: they are moved, not read */
    const char *commit_user; /* NULL: a random one */
    int threads;             /* of background compaction when rows are copied; 0: inside the call */
    const tidelake_option *options; /* laid over the table's */
    size_t n_options;
    void (*progress)(void *ctx, int64_t rows, int64_t files, int64_t n_files); /* while rows are copied; NULL: none */
    void *progress_ctx;
} tidelake_import_options;
#define TIDELAKE_IMPORT_INIT {sizeof(tidelake_import_options), NULL, NULL, 0, NULL, 0, NULL, 0, NULL, NULL}
typedef struct tidelake_import_result {
    int64_t files, rows;
    int created; /* the table was made */
} tidelake_import_result;
/**
 * Bring files into "DB.TABLE", which is made if it is missing: one file, or all below a folder, whose folders `key=value` are partition
 * columns. jsonl, csv, parquet, orc and avro are read and written as the table has it, in one commit; `in_place` makes files in parquet,
 * orc and avro the data files of an append table without buckets. If it fails nothing has changed. `result` may be NULL.
 */
TIDELAKE_API tl_status tidelake_import(tidelake_lake *lake, const char *name, const char *path, const tidelake_import_options *options,
                                       tidelake_import_result *result, tl_error *err);

/* ---- rows as text ---- */

typedef struct tidelake_printer_options {
    size_t struct_bytes;
    const char *format;  /* "jsonl", "csv", "table", "arrow" (IPC stream), "parquet" */
    int kinds;           /* "_kind" first */
    int snapshots;       /* "_snapshot" before it */
    int sorted;          /* jsonl: lines in byte order, all of them kept in memory until finish */
    const char *replace; /* a text that is printed as `replacement` wherever it occurs in jsonl; NULL: none */
    const char *replacement;
    int64_t max_width; /* table: columns of the terminal; 0: no limit */
    int colors;        /* table: a terminal's escape sequences may be used */
} tidelake_printer_options;
#define TIDELAKE_PRINTER_INIT {sizeof(tidelake_printer_options), "jsonl", 0, 0, 0, NULL, NULL, 0, 0}

/** `write` gets the output piece by piece; returns 0, or an errno. */
typedef int (*tidelake_write_fn)(void *ctx, const void *data, size_t bytes);
TIDELAKE_API tl_status tidelake_printer_open(tidelake_rows *rows, const tidelake_printer_options *options,
                                             tidelake_write_fn write, void *ctx, tidelake_printer **out, tl_error *err);
TIDELAKE_API tl_status tidelake_printer_print(tidelake_printer *printer, const tidelake_batch *batch, tl_error *err);
/** Write what is kept back; then only close. */
TIDELAKE_API tl_status tidelake_printer_finish(tidelake_printer *printer, tl_error *err);
TIDELAKE_API void tidelake_printer_close(tidelake_printer *printer);

/* ---- maintenance ---- */

/** Count the rows of the latest snapshot and the bytes of their files, for planners ($statistics); makes a snapshot. */
TIDELAKE_API tl_status tidelake_analyze(tidelake_table *table, const char *commit_user, int threads, tidelake_commit_result *result,
                                        tl_error *err);
TIDELAKE_API tl_status tidelake_compact(tidelake_table *table, const char *commit_user, int full, int threads,
                                        tidelake_commit_result *result, tl_error *err);
typedef struct tidelake_compact_options {
    size_t struct_bytes;
    int full;               /* everything into one sorted run per bucket */
    int threads;            /* buckets at a time; 0, 1: one */
    const char *partitions; /* "a=1,b=2;a=3", where columns may be left out: only these; NULL: all */
    int64_t idle_ms;        /* > 0: only partitions whose newest file is that old */
    const char *commit_user; /* NULL: a random one */
} tidelake_compact_options;
#define TIDELAKE_COMPACT_INIT {sizeof(tidelake_compact_options), 0, 0, NULL, 0, NULL}
/** tidelake_compact() of some partitions. @error TL_E_UNSUPPORTED if rows wait for buckets ('bucket' = '-2'), TL_E_INVALID for a column that
    partitions do not have */
TIDELAKE_API tl_status tidelake_compact_partitions(tidelake_table *table, const tidelake_compact_options *options,
                                                   tidelake_commit_result *result, tl_error *err);
typedef struct tidelake_sort_options {
    size_t struct_bytes;
    const char *order;              /* "order", "zorder", "hilbert" */
    const char *const *columns;     /* names */
    size_t n_columns;
    const char *const *partitions;  /* JSON objects as for tidelake_drop_partitions(): only these; NULL: all */
    size_t n_partitions;
    const char *commit_user;        /* NULL: a random one */
} tidelake_sort_options;
#define TIDELAKE_SORT_INIT {sizeof(tidelake_sort_options), "order", NULL, 0, NULL, 0, NULL}
/** Sort the rows of an append table without buckets, in each partition, into new files, so that filters on the columns skip files. */
TIDELAKE_API tl_status tidelake_sort(tidelake_table *table, const tidelake_sort_options *options, tidelake_commit_result *result,
                                     tl_error *err);
/**
 * Delete rows of a table without a primary key, in one commit: into deletion vectors where `deletion-vectors.enabled`, else their files are written
 * again without them. `where` as in tidelake_read_options; NULL: all rows. `deleted` (may be NULL) receives their number.
 */
TIDELAKE_API tl_status tidelake_delete(tidelake_table *table, const char *commit_user, const char *where, int64_t *deleted,
                                       tidelake_commit_result *result, tl_error *err);
/** `snapshot_id` 0: the latest; `retain_ms` < 0: for ever. */
TIDELAKE_API tl_status tidelake_create_tag(tidelake_table *table, const char *tag, int64_t snapshot_id, int64_t retain_ms,
                                           tl_error *err);
TIDELAKE_API tl_status tidelake_delete_tag(tidelake_table *table, const char *tag, tl_error *err);
TIDELAKE_API tl_status tidelake_rename_tag(tidelake_table *table, const char *from, const char *to, tl_error *err);
/** To a snapshot (> 0) or to a tag. */
TIDELAKE_API tl_status tidelake_rollback(tidelake_table *table, int64_t snapshot_id, const char *tag, tl_error *err);
/** Numbers < 0: as the table's options say. */
TIDELAKE_API tl_status tidelake_expire(tidelake_table *table, int64_t retain_max, int64_t retain_min, int64_t retain_ms,
                                       int *expired, tl_error *err);
/** The same for changelogs that outlived their snapshots (`changelog.*` retention). */
TIDELAKE_API tl_status tidelake_expire_changelogs(tidelake_table *table, int64_t retain_max, int64_t retain_min, int64_t retain_ms,
                                                  int *expired, tl_error *err);
/** {"p":"v","q":1,"r":null} as an array of options, for tidelake_write_options.overwrite_partition; tidelake_free(). */
TIDELAKE_API tl_status tidelake_parse_partition(tidelake_table *table, const char *json, tidelake_option **out, size_t *n,
                                                tl_error *err);
/** Drop the partitions that match one of `n` such objects, which may leave keys out, in one commit. `commit_user` NULL: random. */
TIDELAKE_API tl_status tidelake_drop_partitions(tidelake_table *table, const char *commit_user, const char *const *specs_json,
                                                size_t n, tl_error *err);
/** Drop the partitions that are older than `partition.expiration-time`. *partitions_json: a list of their names, tidelake_free(). */
TIDELAKE_API tl_status tidelake_expire_partitions(tidelake_table *table, const char *commit_user, char **partitions_json,
                                                  tl_error *err);
/** Mark the partitions that `n` such objects name in full as complete: a file _SUCCESS in their folders. */
TIDELAKE_API tl_status tidelake_mark_partitions_done(tidelake_table *table, const char *const *specs_json, size_t n, tl_error *err);
/** Make the file indexes of live files what the table's options ask for now, in the partitions that match one of `n` such objects (0: all). */
TIDELAKE_API tl_status tidelake_rewrite_file_index(tidelake_table *table, const char *commit_user, const char *const *specs_json, size_t n,
                                                   tl_error *err);
/** A branch from a tag, or (`tag` NULL) an empty one with the table's schemas. */
TIDELAKE_API tl_status tidelake_create_branch(tidelake_table *table, const char *branch, const char *tag, tl_error *err);
TIDELAKE_API tl_status tidelake_delete_branch(tidelake_table *table, const char *branch, tl_error *err);
TIDELAKE_API tl_status tidelake_rename_branch(tidelake_table *table, const char *from, const char *to, tl_error *err);
/** The table becomes what the branch is, from the branch's first snapshot on; younger snapshots, schemas and tags of the table go.
    Other handles of the table must be opened anew. */
TIDELAKE_API tl_status tidelake_fast_forward(tidelake_table *table, const char *branch, tl_error *err);
/** How far a streaming reader got: expiry keeps what it has not read. One that is missing is no error for delete. */
TIDELAKE_API tl_status tidelake_set_consumer(tidelake_table *table, const char *id, int64_t next_snapshot, tl_error *err);
TIDELAKE_API tl_status tidelake_delete_consumer(tidelake_table *table, const char *id, tl_error *err);
/** Lines {"consumer":ID,"next":N} by id; tidelake_free(). */
TIDELAKE_API tl_status tidelake_consumers_json(tidelake_table *table, char **out, tl_error *err);
/** Check a table to the bottom; *report_json: {"snapshots":…,"problems":[…]}, tidelake_free(). *problems: how many. */
TIDELAKE_API tl_status tidelake_fsck(tidelake_table *table, int all_snapshots, char **report_json, size_t *problems,
                                     tl_error *err);
/**
 * Mend what can be mended without loss: hints that point nowhere, and files that nothing refers to, if they are older than
 * `older_than_ms` (a writer may be about to commit younger ones). `dry_run`: only tell. *report_json:
 * {"hints":["LATEST"],"orphans":["data/file",…],"bytes":N}, paths in the table's folder; tidelake_free().
 */
TIDELAKE_API tl_status tidelake_repair(tidelake_table *table, int64_t older_than_ms, int dry_run, char **report_json, tl_error *err);
typedef struct tidelake_clone_options {
    size_t struct_bytes;
    const char *where;  /* only rows that pass, as in tidelake_read_options; NULL: all */
    int meta_only;      /* the table without rows */
    int skip_existing;  /* a target that is there is left alone; otherwise its rows are replaced */
} tidelake_clone_options;
#define TIDELAKE_CLONE_INIT {sizeof(tidelake_clone_options), NULL, 0, 0}
/**
 * The latest snapshot of a table as the table "DB.TABLE" of a lake, the same one or another. Files are copied as they are; into a table that
 * is there, and with `where`, rows are read and written. *skipped (may be NULL): the target was there and left alone.
 */
TIDELAKE_API tl_status tidelake_clone(tidelake_table *table, tidelake_lake *to, const char *name, const tidelake_clone_options *options,
                                      int *skipped, tl_error *err);
/** The newest snapshot: id (0 if there is none), kind and records; for reports. `kind` may be NULL. */
TIDELAKE_API tl_status tidelake_latest(tidelake_table *table, int64_t *snapshot_id, const char **kind, int64_t *records,
                                       tl_error *err);
/** Every option that a table can have, as JSON lines with key, type, default, effect and description; tidelake_free(). */
TIDELAKE_API tl_status tidelake_options_json(char **out, tl_error *err);

/* ---- SQL ---- */

/** A procedure that `CALL sys.NAME(…)` runs, for whoever makes commands or forms of procedures. Texts are constants. */
typedef struct tidelake_procedure {
    size_t struct_bytes; /* set it to sizeof(tidelake_procedure) before a call */
    const char *name;
    const char *summary; /* one line */
    int takes_table;     /* the first argument is the table that it works on: DB.TABLE */
    size_t n_arguments;
} tidelake_procedure;
typedef struct tidelake_procedure_argument {
    size_t struct_bytes; /* as above */
    const char *name;
    const char *value; /* a word for it in a help text; "": true or false */
    const char *help;
    int required;
} tidelake_procedure_argument;
/** Procedure `i`; 0 behind the last. */
TIDELAKE_API int tidelake_procedure_at(size_t i, tidelake_procedure *out);
/** An argument of procedure `i`, by its position; 0 behind the last. */
TIDELAKE_API int tidelake_procedure_argument_at(size_t i, size_t argument, tidelake_procedure_argument *out);

typedef struct tidelake_run_report {
    int64_t rows_in;  /* read from sources by streaming jobs */
    int64_t rows_out; /* written into tables */
    int64_t commits;
    int64_t files; /* created by the process */
    int64_t bytes_written;
    int64_t peak_bytes; /* memory of the process */
    int64_t jobs;
    int64_t resumed; /* jobs that went on behind an earlier commit */
    double seconds;
} tidelake_run_report;

typedef struct tidelake_run_options {
    size_t struct_bytes;
    const tidelake_option *vars; /* ${NAME} in the script */
    size_t n_vars;
    double stop_after_idle_s; /* end unbounded jobs when nothing was committed for so long; < 0: never */
    int streaming;            /* execution.runtime-mode at the beginning */
    int fresh;                /* begin anew instead of behind the last commit */
    const char *name;         /* of the job; NULL: the script's pipeline.name */
    const volatile int *stop; /* non-zero: commit and end; NULL: none */
    void (*progress)(void *ctx, const tidelake_run_report *so_far);
    void *progress_ctx;
} tidelake_run_options;
#define TIDELAKE_RUN_INIT {sizeof(tidelake_run_options), NULL, 0, -1, 0, 0, NULL, NULL, NULL, NULL}

/** Run a SQL script (Flink's dialect). Results of queries go to standard output as JSON lines. `report` may be NULL. */
TIDELAKE_API tl_status tidelake_run_script(const char *text, size_t bytes, const tidelake_run_options *options,
                                           tidelake_run_report *report, tl_error *err);

typedef struct tidelake_session tidelake_session; /* catalogs, settings, temporary tables */

/** `warehouse` (may be NULL) becomes the catalog "lake" and is in use, with database `db` (NULL: "default"). */
TIDELAKE_API tl_status tidelake_session_open(const char *warehouse, const char *db, int threads, tidelake_session **out,
                                             tl_error *err);
TIDELAKE_API void tidelake_session_close(tidelake_session *session);
/** Execute one statement; *rows: its result, NULL if it has none. Release the rows before the next statement. */
TIDELAKE_API tl_status tidelake_session_execute(tidelake_session *session, const char *statement, tidelake_rows **rows,
                                                tl_error *err);
/** Whether a text ends with a whole statement: the `;` is not inside a string, comment or statement set. */
TIDELAKE_API int tidelake_sql_is_complete(const char *text, size_t bytes);
/** Words that may follow `prefix`, as tidelake_list_tables() gives names. */
TIDELAKE_API tl_status tidelake_session_complete(tidelake_session *session, const char *prefix, char **out, tl_error *err);

/* ---- what it cost ---- */

/** What this process has asked of its file systems since it began, in all of its threads. */
typedef struct tidelake_io {
    size_t struct_bytes;
    int64_t read_bytes; /* of a mapped file those pieces that were looked at */
    int64_t reads;
    int64_t written_bytes;
    int64_t writes;
    int64_t files_created;
    int64_t index_files;   /* data files whose index was asked by a filter */
    int64_t index_skipped; /* those of them that were not read at all */
    int64_t index_rows;    /* rows that were not read of the others */
} tidelake_io;
#define TIDELAKE_IO_INIT {sizeof(tidelake_io), 0, 0, 0, 0, 0, 0, 0, 0}
TIDELAKE_API void tidelake_io_count(tidelake_io *out);

/** "1 h", "PT1H", "P1D", "30 s" to milliseconds. */
TIDELAKE_API tl_status tidelake_parse_duration(const char *text, int64_t *ms, tl_error *err);

#ifdef __cplusplus
}
#endif
#endif
