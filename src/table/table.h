/*
 * A table as a user sees it: create and alter, scan → splits, read, write, commit, time travel, streaming scan, system
 * tables, tags, rollback, expiry, fsck. Source: format reference §2, §16-§20; Java: org.apache.paimon.table.
 */
#ifndef TL_TABLE_TABLE_H
#define TL_TABLE_TABLE_H

#include "catalog/catalog.h"
#include "lsm/lsm.h"

typedef struct tl_table tl_table;

/* ---- create, open, alter ---- */

typedef struct tl_table_def {
    const tl_type *row_type; /* ids are assigned */
    char *const *partition_keys;
    int32_t n_partition_keys;
    char *const *primary_keys;
    int32_t n_primary_keys;
    const tl_options *options; /* `primary-key` and `partition` are moved out (§2) */
    const char *comment;       /* NULL if none */
} tl_table_def;
/** Validate as the reference does (what it refuses, with its reasons) and create. */
tl_status tl_table_create(tl_catalog *catalog, const char *db, const char *name, const tl_table_def *def, bool if_not_exists, tl_error *err);

/**
 * `name` may carry a system table or branch: `t$audit_log`, `t$branch_b`. `dynamic` options (may be NULL) are laid over the
 * stored ones, e.g. scan.snapshot-id, write-only, file.compression. Features that are not there give TL_E_UNSUPPORTED with
 * the feature's name: at open where schema and options tell, at read where files tell.
 */
tl_status tl_table_open(tl_catalog *catalog, const char *db, const char *name, const tl_options *dynamic, tl_table **out, tl_error *err);
/** For a streaming scan: scan.snapshot-id & co. say where to start; the schema stays the latest (a batch read takes the old one's). */
tl_status tl_table_open_streaming(tl_catalog *catalog, const char *db, const char *name, const tl_options *dynamic, tl_table **out,
                                  tl_error *err);
/** The same table once more, with another value of one option: for a job that works otherwise than the table's writers. */
tl_status tl_table_reopen(tl_table *table, const char *key, const char *value, tl_table **out, tl_error *err);
void tl_table_free(tl_table *table);
/** The newest snapshot on disk, whatever the scan options say; NULL in *out if there is none. */
tl_status tl_table_latest_snapshot(tl_table *table, tl_snapshot **out, tl_error *err);
/** Columns of what a read gives (of the system table, if it is one). */
const tl_type *tl_table_row_type(const tl_table *table);
const tl_table_schema *tl_table_schema_of(const tl_table *table); /* of the data table; with dynamic options laid over */
const tl_lsm_config *tl_table_config(const tl_table *table);
bool tl_table_is_system(const tl_table *table);
/** A table of type `format-table`: files in folders, without snapshots. Read and written in batch; whatever needs snapshots is refused. */
bool tl_table_is_format(const tl_table *table);
const char *tl_table_path(const tl_table *table);
/** Option with the dynamic ones laid over; NULL if unset (callers take the default from tl_option_find()). */
const char *tl_table_option(const tl_table *table, const char *key);

/** One line of the table of all options that the reference knows (options.c): key, type, default, what it means, effect here. */
typedef enum tl_option_effect { TL_OPTION_EFFECT, TL_OPTION_NO_EFFECT, TL_OPTION_REFUSED } tl_option_effect;
typedef struct tl_option_def {
    const char *key;
    const char *type;
    const char *default_value; /* NULL: unset */
    tl_option_effect effect;
    const char *description;
    bool immutable;         /* cannot be changed once there is a snapshot */
    const char *older_keys; /* comma list of keys of older releases that count too; NULL */
} tl_option_def;
const tl_option_def *tl_option_find(const char *key);
const tl_option_def *tl_option_all(size_t *n);

typedef struct tl_alter { /* one change */
    enum { TL_ALTER_SET_OPTION, TL_ALTER_RESET_OPTION, TL_ALTER_COMMENT, TL_ALTER_ADD_COLUMN, TL_ALTER_DROP_COLUMN, TL_ALTER_RENAME_COLUMN,
           TL_ALTER_COLUMN_TYPE, TL_ALTER_COLUMN_NULLABLE, TL_ALTER_COLUMN_COMMENT, TL_ALTER_COLUMN_POSITION, TL_ALTER_COLUMN_DEFAULT,
           TL_ALTER_DROP_PRIMARY_KEY } kind;
    const char *name;   /* option key or column; dots for nested fields unless a column has that very name */
    const char *value;  /* option value, new name, comment, default; NULL to remove */
    const tl_type *type; /* of ADD_COLUMN, COLUMN_TYPE; of COLUMN_NULLABLE only its `nullable` counts (or see `nullable`) */
    bool first;         /* position: first, last, or after or before another column */
    const char *after;
    /* later additions; zero is right for those who do not know them */
    char *const *path;  /* column as a path instead of `name` */
    int32_t n_path;
    bool last;
    const char *before;
    const char *comment;   /* of ADD_COLUMN */
    bool nullable;         /* of COLUMN_NULLABLE if `type` is NULL */
    bool keep_nullability; /* of COLUMN_TYPE */
} tl_alter;
/** Publish a new schema with the changes (optimistic, retried). */
tl_status tl_table_alter(tl_catalog *catalog, const char *db, const char *name, const tl_alter *changes, size_t n, tl_error *err);

/* ---- batch scan ---- */

typedef struct tl_scan_spec {
    const int32_t *columns; /* indices into tl_table_row_type(), in output order; NULL: all. None (0 of them): rows are only counted */
    int32_t n_columns;
    const tl_predicate *predicate; /* bound to tl_table_row_type(); pushed down and applied to the rows */
    tl_map_filter *map_filter;     /* bound to the same: rows, or changes, that fail may be left out (ref taken); NULL: none */
    int64_t limit;                 /* < 0: none */
    bool with_kinds;               /* the batches' row_kind is set and deletes are kept where the table's read gives them */
    tl_pool *pool;                 /* NULL: single-threaded */
    tl_pool *by_column;            /* takes the columns of a split's batches apart; NULL: the thread that reads it */
} tl_scan_spec;
/** Batch read of the latest snapshot, or of what the table's options (scan.snapshot-id, scan.tag-name, scan.timestamp-millis,
    incremental-between, …) ask for. A table without snapshots is empty. */
tl_status tl_table_read(tl_table *table, const tl_scan_spec *spec, tl_reader **out, tl_error *err);

/** Where a file of a chained split lies: its folder, and the branch that it and its schema are of. */
typedef struct tl_file_place {
    char *dir;
    char *branch;
} tl_file_place;
/** Splits: what one worker reads; can be sent elsewhere. Java: DataSplit. */
typedef struct tl_split {
    int64_t snapshot_id;
    tl_bytes partition;
    int32_t bucket;
    int32_t total_buckets;
    tl_file_list files;
    bool raw;       /* files can be read one after the other, without merging */
    bool streaming; /* rows are changes */
    bool other_branch; /* the files are those of the branch that scan.fallback-branch or scan.primary-branch names, or of a chain */
    /** Of chain tables: one for each of `files`, which are of several partitions but are read as rows of `partition`. NULL otherwise. Java:
        ChainSplit. */
    tl_file_place *places;
    /** CHANGES: what an overwrite replaced (before_files, as -U and -D reversed) and what it wrote; DIFF: the difference of two states. */
    enum { TL_SPLIT_DATA, TL_SPLIT_CHANGES, TL_SPLIT_DIFF } kind;
    tl_file_list before_files; /* not of DATA */
    tl_dv_set *vectors;        /* deletion vectors of `files`, ref held; NULL: none */
    tl_dv_set *before_vectors;
} tl_split;
typedef struct tl_splits {
    tl_split *items;
    size_t n;
    size_t cap;
} tl_splits;
void tl_splits_deinit(tl_splits *splits);
tl_status tl_table_plan(tl_table *table, const tl_scan_spec *spec, tl_splits *out, tl_error *err);

/* ---- newest partitions (newest_partitions.c) ---- */

#define TL_NEWEST_PARTITIONS_MAX 2

/** How many a text asks for: `max_pt()`, `max_two_pt()`; 0: it is another one, or NULL. */
int tl_newest_partitions_wanted(const char *partitions);
/** Order of two partitions, each a batch of one row of the partition columns; NULL is the least. */
int tl_partitions_compare(const tl_batch *a, const tl_batch *b);
/** The newest partitions of the splits, up to `wanted` (1 to 2) of them, the newest first, NULL behind them; to be freed by the caller. */
tl_status tl_newest_partitions(const tl_table *table, const tl_splits *splits, int wanted, tl_batch *newest[TL_NEWEST_PARTITIONS_MAX], tl_error *err);
/** The same for one snapshot, with the table's present schema and whatever its options ask for. TL_E_NOT_FOUND if it has expired. */
tl_status tl_table_plan_at(tl_table *table, int64_t snapshot_id, const tl_scan_spec *spec, tl_splits *out, tl_error *err);
tl_status tl_table_read_split(tl_table *table, const tl_split *split, const tl_scan_spec *spec, tl_reader **out, tl_error *err);
/** DataSplit version 8 (chained: ChainSplit version 1) and CommitMessage version 11 (§22). */
tl_status tl_split_serialize(const tl_split *split, const char *bucket_path, tl_buf *out, tl_error *err);
tl_status tl_split_deserialize(tl_bytes_view bytes, tl_split *out, tl_error *err);
tl_status tl_commit_message_serialize(const tl_commit_message *msg, tl_buf *out, tl_error *err);
tl_status tl_commit_message_deserialize(tl_bytes_view bytes, tl_commit_message *out, tl_error *err);

/* ---- streaming scan ---- */

typedef struct tl_stream_scan tl_stream_scan;
/** Starts as scan.mode & co. say (§18). `next_snapshot` > 0 resumes instead: follow from that snapshot on. */
tl_status tl_stream_scan_create(tl_table *table, int64_t next_snapshot, tl_stream_scan **out, tl_error *err);
void tl_stream_scan_free(tl_stream_scan *scan);
/**
 * The next plan: splits of one snapshot (sorted by partition and bucket), or TL_OK with *ready = false if nothing is new.
 * *snapshot_id is the snapshot that the rows belong to. `is_full` tells the initial full read.
 */
tl_status tl_stream_scan_plan(tl_stream_scan *scan, tl_splits *out, bool *ready, int64_t *snapshot_id, bool *is_full, tl_error *err);
/** Position to store for a resume: the snapshot that will be planned next. 0 before the first plan. */
int64_t tl_stream_scan_position(const tl_stream_scan *scan);
/** True once scan.bounded.watermark ended the scan: no plan will be ready any more. */
bool tl_stream_scan_ended(const tl_stream_scan *scan);
/** Watermark of the last planned snapshot, TL_ABSENT if none. */
int64_t tl_stream_scan_watermark(const tl_stream_scan *scan);

/* ---- write ---- */

typedef struct tl_table_writer tl_table_writer;
typedef struct tl_write_options {
    tl_pool *pool;        /* buckets are flushed on it, several at a time, and compacted beside; NULL: flushed inside the calls */
    tl_pool *compactions; /* where buckets are compacted if `pool` is NULL; NULL: inside the calls */
    bool ignore_previous; /* overwrite: don't look at existing files */
    bool real_buckets;    /* rows of postponed tables get real buckets now, unless 'postpone.batch-write-fixed-bucket' is false: what SQL in batch does */
    const char *user;    /* commit user, in names of files of postponed buckets; NULL: a random one */
    /* Tables with data evolution: columns (indices into the table's row type) that are written, in this order, whatever else the
       batches hold; NULL: all. The array must outlive the writer. */
    const int32_t *columns;
    int32_t n_columns;
    bool onto_rows; /* they are columns of rows that are there, with ids from `first_row_id` on */
    int64_t first_row_id;
    bool keep_ids; /* row tracking: rows of files that are rewritten keep their ids; batches have _ROW_ID and _SEQUENCE_NUMBER (NULL: the
                      commit's) behind the table's columns */
} tl_write_options;
tl_status tl_table_writer_create(tl_table *table, const tl_write_options *options, tl_table_writer **out, tl_error *err);
void tl_table_writer_free(tl_table_writer *writer);
/** All columns of the table in order; row kinds as given (or from rowkind.field). Splits by partition and bucket. NOT NULL is checked. With a
    pool of several threads the rows may be copied after the call has returned: whatever is wrong with them is told by this call, but
    that there is no memory or no disk for them by the next one, or by prepare. A writer that fails so with a batch in the buffers in part, or in
    prepare, refuses every further call. */
tl_status tl_table_writer_write(tl_table_writer *writer, const tl_batch *batch, tl_error *err);
/** Compact the buckets written since the last prepare: the picker's choice or, with `full`, everything to the top level. */
tl_status tl_table_writer_compact(tl_table_writer *writer, bool full, tl_error *err);
/** The same for every bucket of the latest snapshot: what a compaction job does. */
tl_status tl_table_writer_compact_all(tl_table_writer *writer, bool full, tl_error *err);
typedef struct tl_commit_messages {
    tl_commit_message *items;
    size_t n;
    size_t cap;
} tl_commit_messages;
void tl_commit_messages_deinit(tl_commit_messages *messages);
/** Messages of `from` go behind those of `to`; on failure nothing moves. */
tl_status tl_commit_messages_move(tl_commit_messages *to, tl_commit_messages *from, tl_error *err);
/**
 * Everything written so far as commit messages. They must be committed before more is written; a writer that goes on after a
 * commit must be told of it by tl_table_writer_committed().
 */
tl_status tl_table_writer_prepare(tl_table_writer *writer, bool wait_compaction, tl_commit_messages *out, tl_error *err);
/** Whether what look-ups make (a changelog, deletion vectors) is to come with its commit, which then waits for compactions (lookup-wait). */
bool tl_table_lookups_wait(const tl_table *table);
/**
 * A writer compacts everything with every so many commits, and when its input ends: full-compaction.delta-commits, else what
 * changelog-producer.compaction-interval is in checkpoints, else 1 for a changelog by full compaction; 0: never. TL_E_INVALID: no such value.
 */
tl_status tl_table_full_compaction_every(const tl_table *table, int64_t checkpoint_ms /* 0: a batch */, int64_t *out, tl_error *err);

/* ---- commit ---- */

#define TL_COMMIT_BATCH INT64_MAX /* commit identifier of batch jobs */

typedef struct tl_commit_spec {
    const char *user;          /* NULL: a random UUID */
    int64_t identifier;
    int64_t watermark;         /* TL_ABSENT: none */
    const tl_options *properties; /* NULL: none */
    bool ignore_empty;         /* nothing to commit gives no snapshot */
    bool overwrite;
    const tl_options *overwrite_partition; /* static spec "p" -> text; NULL: dynamic (partitions that get data) or, unpartitioned, all */
    bool keep_files; /* files of messages that cannot get in are left to the caller */
} tl_commit_spec;
typedef struct tl_commit_result {
    int64_t snapshot_id;   /* the last one made; 0 if none */
    int32_t snapshots;     /* 0, 1 or 2 */
    bool compaction_dropped; /* its race was lost; the data is in */
    int32_t retries;
} tl_commit_result;
/** Protocol of §16. TL_E_CONFLICT if data (not only compaction) conflicts. Files of messages that do not get in are removed. */
tl_status tl_table_commit(tl_table *table, const tl_commit_spec *spec, const tl_commit_messages *messages, tl_commit_result *out, tl_error *err);
/** Remove the files of messages that will not be committed. */
void tl_table_abort(tl_table *table, const tl_commit_messages *messages);
/**
 * Tell a long-lived writer how its messages fared. If others committed in between, or its compaction was dropped, its view of
 * the buckets is stale: they are opened anew from the latest snapshot when they are next written to.
 */
tl_status tl_table_writer_committed(tl_table_writer *writer, const tl_commit_result *result, tl_error *err);
/** Newest snapshot of a user, for recovery: identifier and properties. TL_E_NOT_FOUND if there is none. */
tl_status tl_table_latest_of_user(tl_table *table, const char *user, tl_snapshot **out, tl_error *err);

/* ---- deleting rows of append tables ---- */

typedef struct tl_delete_spec {
    const char *user;     /* NULL: a random UUID */
    tl_row_finder finder; /* which rows */
    /* Messages to commit with the deletion, asked for when all rows are found (those that take the deleted rows' place); `ctx` is the
       finder's. NULL: none. */
    tl_status (*written)(void *ctx, tl_commit_messages *out, tl_error *err);
} tl_delete_spec;
/** Mark rows in deletion vectors, or write files again without them where there are none, in one commit. TL_E_CONFLICT if others compacted the files or deleted rows of them meanwhile. */
tl_status tl_table_delete(tl_table *table, const tl_delete_spec *spec, int64_t *deleted, tl_commit_result *out, tl_error *err);
/** TL_E_INVALID, TL_E_UNSUPPORTED unless rows can be deleted: an append table without data evolution. */
tl_status tl_table_check_deletable(const tl_table *table, tl_error *err);

/* ---- changing columns of rows that are there (data evolution) ---- */

/** TL_E_INVALID unless columns can be changed by themselves: a table with data evolution. */
tl_status tl_table_check_updatable(const tl_table *table, tl_error *err);
/**
 * Write the new values, for each range of rows that has some one file of these columns, and commit them together with the messages of `more` (may
 * be NULL; moved out).
 *
 * @param base  the latest snapshot before the rows were read that the values were made from; 0: there was none
 * @error TL_E_CONFLICT if others changed rows of the same files since `base`, or rows are not there
 */
tl_status tl_table_update_rows(tl_table *table, const tl_row_updates *rows, int64_t base, tl_commit_messages *more, tl_commit_result *out, tl_error *err);

/* ---- files that others wrote (import_find.c, import.c) ---- */

typedef struct tl_import_file {
    char *path;
    char **values; /* of its folders `key=value`, unescaped; as many as the list has keys */
} tl_import_file;
/** Files below a folder, by path; those whose name, or a folder's, begins with `.` or `_` are left out. */
typedef struct tl_import_files {
    tl_import_file *items;
    size_t n, cap;
    char **keys; /* of the folders, outermost first: the same for all files */
    int32_t n_keys;
} tl_import_files;
void tl_import_files_deinit(tl_import_files *files);
/** `path` is a folder or one file. TL_E_NOT_FOUND; TL_E_INVALID if folders `key=value` differ in depth or keys. */
tl_status tl_import_find(tl_fs *fs, const char *path, tl_import_files *out, tl_error *err);
/** The format of a file by its name, or the one that was given. */
tl_status tl_import_format(const tl_import_file *file, const char *given, const tl_format **out, tl_error *err);
/** Columns of a file, for formats whose files have a schema. */
tl_status tl_import_columns(tl_fs *fs, const tl_import_file *file, const char *format, const tl_type **out, tl_error *err);
/** All columns of two ROWs, nullable. TL_E_INVALID if they differ in a column's type beyond the width of integers or floats, of which
    the larger is taken. */
tl_status tl_import_common_columns(const tl_type *a, const tl_type *b, const tl_type **out, tl_error *err);
/** `columns` and behind them the folders' keys that are none of them: INT, BIGINT or DATE if all values read so, else STRING. */
tl_status tl_import_row_type(const tl_import_files *files, const tl_type *columns, const tl_type **out, tl_error *err);
/** Value of a folder for a column of this type: one row, NULL for the default partition's name (also Hive's). */
tl_status tl_import_value(const char *text, const char *default_name, const tl_type *type, tl_column **out, tl_error *err);

typedef struct tl_import_spec {
    const tl_import_files *files;
    const char *format; /* NULL: by the files' names */
    const char *user;   /* NULL: a random UUID */
} tl_import_spec;
typedef struct tl_import_result {
    int64_t files, rows, bytes;
    bool has_files; /* after an error: files were moved and are not back; what the table's folder holds must stay */
    tl_commit_result commit;
} tl_import_result;
/**
 * Make the files data files of an append table without buckets, as they are: they are moved into its folders, and one commit adds them.
 * If that fails they are moved back. Nothing is moved before all files are found to fit (TL_E_INVALID). Java: HiveMigrator.
 */
tl_status tl_table_import(tl_table *table, const tl_import_spec *spec, tl_import_result *out, tl_error *err);

/* ---- clone (clone.c) ---- */

typedef struct tl_clone_spec {
    tl_catalog *to; /* the source's or another one */
    const char *db, *name;
    const tl_predicate *predicate; /* bound to the source's row type: only rows that pass; NULL: all */
    bool meta_only;                /* the table without rows */
    bool skip_existing;            /* a target that is there is left alone; otherwise its rows (of the partitions that get some) are replaced */
} tl_clone_spec;
typedef struct tl_clone_result {
    bool skipped;
    int64_t files, bytes; /* copied as they are */
    int64_t rows;         /* written: where a target was there, or with a predicate */
} tl_clone_result;
/**
 * The latest snapshot of a table as a table of its own: schemas, manifests, data and index files are copied as they are, and the snapshot
 * keeps its number; older snapshots, changelogs, tags, branches and consumers do not come along. Into a table that is there, and with a
 * predicate, rows are read and written. Java: CloneAction (whose rows are always read and written, keyed tables becoming postponed ones).
 */
tl_status tl_table_clone(tl_table *from, const tl_clone_spec *spec, tl_clone_result *out, tl_error *err);

/* ---- maintenance ---- */

/** A compaction job of its own: keyed buckets (full: everything to the top), small files of append tables, or with clustering.incremental
    sorted runs of them; commits. */
tl_status tl_table_compact(tl_table *table, const char *user /* NULL: random */, bool full, tl_pool *pool, tl_commit_result *out, tl_error *err);
/** "a=1,b=2;a=3": the specs of partitions, for tl_table_drop_partitions() and its like; tl_partition_specs_free(). None if it is empty.
    @error TL_E_INVALID if it has another form, or names more than 1,000 partitions */
tl_status tl_partition_specs_parse(const char *text, tl_options **out, size_t *n, tl_error *err);
void tl_partition_specs_free(tl_options *specs, size_t n);
typedef struct tl_compact_spec {
    bool full;
    const tl_options *partitions; /* specs as of tl_table_drop_partitions(): only these; NULL: all */
    size_t n_partitions;
    int64_t idle_ms; /* only partitions whose newest file is that old; TL_ABSENT: all */
} tl_compact_spec;
/** The same for some partitions; not for tables whose rows wait for buckets (`bucket` = -2). */
tl_status tl_table_compact_partitions(tl_table *table, const char *user /* NULL: random */, const tl_compact_spec *spec, tl_pool *pool,
                                      tl_commit_result *out, tl_error *err);
typedef struct tl_sort_spec {
    const char *kind;     /* "order", "zorder", "hilbert" */
    char *const *columns; /* names */
    int32_t n_columns;
    const tl_options *partitions; /* specs as of tl_table_drop_partitions(): only these; NULL: all */
    size_t n_partitions;
} tl_sort_spec;
/** Sort the rows of an append table without buckets, in each partition, into new files. One commit, in which rows do not change. */
tl_status tl_table_sort(tl_table *table, const char *user /* NULL: random */, const tl_sort_spec *spec, tl_commit_result *out, tl_error *err);
/**
 * Make the file indexes of live files what the options ask for now: entries change, data files stay; files that have them already are left
 * alone. In the partitions that one of the specs names (n == 0: all). Commits as a compaction does.
 */
tl_status tl_table_rewrite_file_index(tl_table *table, const char *user /* NULL: random */, const tl_options *partitions, size_t n,
                                      tl_commit_result *out, tl_error *err);
/**
 * Bring all manifests together that are small or tell of deleted files: a COMPACT snapshot without changes, or none where nothing is to
 * gain. `out` may be NULL.
 */
tl_status tl_table_compact_manifests(tl_table *table, tl_commit_result *out, tl_error *err);
/**
 * A snapshot without the manifests whose files are gone, so that what the others tell of can be read again; none if all are there.
 * *n: how many were gone. Rows are lost: whoever calls this knows that no better copy is left.
 */
tl_status tl_table_remove_lost_manifests(tl_table *table, size_t *n, tl_error *err);
/** Live data files that are gone, by path, and (unless `dry_run`) a snapshot that no longer has them. tl_names_free(). */
tl_status tl_table_remove_lost_files(tl_table *table, bool dry_run, char ***paths, size_t *n, tl_error *err);
/** Take everything away but the table's schemas: branches, tags, consumers, rows, changelogs, old snapshots, files nobody refers to. */
tl_status tl_table_purge(tl_table *table, tl_error *err);
/**
 * Write a partition (`partition` empty: the table) again with a number of buckets; 0: that of the option `bucket`. TL_E_CONFLICT if
 * anything was committed meanwhile. The option stays: what is written later needs it to have the same number.
 */
tl_status tl_table_rescale(tl_table *table, const tl_options *partition, int32_t n_buckets, tl_pool *pool, tl_commit_result *out, tl_error *err);
/**
 * Count the rows of the latest snapshot and the bytes of their files, and what $statistics tells of columns (indices into the row type;
 * TL_E_UNSUPPORTED for nested ones), into a statistics file that a snapshot of its own names.
 */
tl_status tl_table_analyze(tl_table *table, const int32_t *columns, int32_t n_columns, const char *user /* NULL: random */, tl_pool *pool,
                           tl_commit_result *out, tl_error *err);
/** Whether there are statistics of columns of a type. */
bool tl_table_has_column_stats(const tl_type *type);
tl_status tl_table_create_tag(tl_table *table, const char *name, int64_t snapshot_id /* 0: latest */, int64_t retained_ms /* TL_ABSENT */, tl_error *err);
tl_status tl_table_delete_tag(tl_table *table, const char *name, tl_error *err);
tl_status tl_table_rename_tag(tl_table *table, const char *from, const char *to, tl_error *err);
/** A tag that is there moves to another snapshot; what only it kept goes. */
tl_status tl_table_replace_tag(tl_table *table, const char *name, int64_t snapshot_id /* 0: latest */, int64_t retained_ms /* TL_ABSENT */, tl_error *err);
/** Delete the tags whose time is over and, if not TL_ABSENT, those made before an instant. Names: tl_names_free(). */
tl_status tl_table_expire_tags(tl_table *table, int64_t older_than_ms, char ***expired, size_t *n, tl_error *err);
/** Make the automatic tags that are due and delete those whose time is over, as after a commit. */
tl_status tl_table_trigger_tags(tl_table *table, tl_error *err);
/** Whether a job that has written nothing should commit all the same: an automatic tag is due by the clock, or
    `commit.force-create-snapshot`. Java: TableCommitImpl#forceCreatingSnapshot. */
tl_status tl_table_wants_snapshot(tl_table *table, bool *out, tl_error *err);
/** The first snapshot, of those that are there or tagged, that is not older than a time, or not below a watermark. TL_E_NOT_FOUND. */
tl_status tl_table_first_since(tl_table *table, bool watermark, int64_t ms, tl_snapshot **out, tl_error *err);
/** The last snapshot that is there and not younger than a time, or not above a watermark. TL_E_NOT_FOUND. */
tl_status tl_table_last_until(tl_table *table, bool watermark, int64_t ms, tl_snapshot **out, tl_error *err);
tl_status tl_table_rollback(tl_table *table, int64_t snapshot_id, const char *tag /* one of both */, tl_error *err);
typedef struct tl_expire_spec {
    int64_t retain_max; /* TL_ABSENT: from the options */
    int64_t retain_min;
    int64_t older_than_ms; /* age: snapshots younger than this are kept; TL_ABSENT: snapshot.time-retained */
    int64_t max_deletes;   /* at once; 0: as many as are due */
} tl_expire_spec;
tl_status tl_table_expire(tl_table *table, const tl_expire_spec *spec, int32_t *expired, tl_error *err);
/** The same for changelogs that outlived their snapshots (changelog.* retention); what is not given comes from the options of both. */
tl_status tl_table_expire_changelogs(tl_table *table, const tl_expire_spec *spec, int32_t *expired, tl_error *err);
/** All of them, whatever readers have seen. */
tl_status tl_table_delete_changelogs(tl_table *table, int32_t *deleted, tl_error *err);
tl_status tl_table_drop_partitions(tl_table *table, const tl_options *specs, size_t n_specs, tl_error *err);
/** The same in the name of a commit user. */
tl_status tl_table_drop_partitions_as(tl_table *table, const char *user, const tl_options *specs, size_t n_specs, tl_error *err);

/**
 * Drop the partitions that are older than partition.expiration-time. `dropped`: "dt=2026-03-03, hh=8" each, tl_names_free().
 * TL_E_INVALID without that option or without partitions.
 */
tl_status tl_table_expire_partitions(tl_table *table, const char *user /* NULL: random */, char ***dropped, size_t *n, tl_error *err);

/** Tell others that partitions are complete, as partition.mark-done-action says: a file _SUCCESS in their folders. Each spec names all
    partition columns. */
tl_status tl_table_mark_done(tl_table *table, const tl_options *specs, size_t n, tl_error *err);

/* Partitions that a streaming job wrote to and that are marked done when nothing came for long enough (mark_idle.c). */
typedef struct tl_idle_partitions tl_idle_partitions;
/** NULL in *out unless `partition.idle-time-to-done` asks for it. `pending` (may be NULL): the text of those that waited when the job ended,
    which count as written to now. The table must outlive the result. */
tl_status tl_idle_partitions_create(tl_table *table, const char *pending, int64_t now_ms, tl_idle_partitions **out, tl_error *err);
void tl_idle_partitions_free(tl_idle_partitions *idle);
/** Whether `now_ms` is to be a watermark instead of the clock's time. */
bool tl_idle_partitions_by_watermark(const tl_idle_partitions *idle);
/** The partitions of a commit's messages are written to. */
tl_status tl_idle_partitions_note(tl_idle_partitions *idle, const tl_commit_messages *messages, int64_t now_ms, tl_error *err);
/** Mark those whose time is over. */
tl_status tl_idle_partitions_mark(tl_idle_partitions *idle, int64_t now_ms, bool end_of_input, tl_error *err);
/** Those that wait, as JSON; tl_free(). */
tl_status tl_idle_partitions_text(const tl_idle_partitions *idle, char **out, tl_error *err);

/** A branch from a tag, or (`tag` NULL) an empty one with the table's schemas. */
tl_status tl_table_create_branch(tl_table *table, const char *name, const char *tag, tl_error *err);
tl_status tl_table_delete_branch(tl_table *table, const char *name, tl_error *err);
tl_status tl_table_rename_branch(tl_table *table, const char *from, const char *to, tl_error *err);
/** The table becomes what the branch is, from the branch's first snapshot on; younger snapshots, schemas and tags of the table go. */
tl_status tl_table_fast_forward(tl_table *table, const char *branch, tl_error *err);

/* Consumers: how far streaming readers got; expiry keeps what they have not read (§17). */
typedef struct tl_consumer {
    char *id;
    int64_t next_snapshot;
} tl_consumer;
tl_status tl_table_consumer_set(tl_table *table, const char *id, int64_t next_snapshot, tl_error *err);
tl_status tl_table_consumer_delete(tl_table *table, const char *id, tl_error *err);
/** Sorted by id; freed with tl_consumers_free(). */
tl_status tl_table_consumers(tl_table *table, tl_consumer **out, size_t *n, tl_error *err);
void tl_consumers_free(tl_consumer *consumers, size_t n);

/* Files that nothing refers to (orphans.c): leftovers of crashes, aborted writers, lost races. */
typedef struct tl_orphan {
    char *path;
    int64_t bytes;
} tl_orphan;
/** Those that are older (a writer may be about to commit younger ones), by path. TL_E_…: what is in use cannot be told. */
tl_status tl_table_find_orphans(tl_table *table, int64_t older_than_ms, tl_orphan **out, size_t *n, tl_error *err);
/**
 * Drop a table with its data, and of what lies in folders outside of it (`data-file.external-paths`) the files that any of its manifests
 * names. What of that cannot be told or removed stays, with a warning. Open handles see the table go.
 */
tl_status tl_table_drop(tl_catalog *catalog, const char *db, const char *name, bool if_exists, tl_error *err);
/** Removes them; the list tells which they were. */
tl_status tl_table_remove_orphans(tl_table *table, int64_t older_than_ms, tl_orphan **out, size_t *n, tl_error *err);
void tl_orphans_free(tl_orphan *orphans, size_t n);

typedef struct tl_repair_report {
    bool earliest, latest; /* hints that were wrong */
    tl_orphan *orphans;    /* removed; tl_orphans_free() */
    size_t n_orphans;
} tl_repair_report;
/** What can be mended without loss: hints, and orphans that are older; `dry_run`: only told. */
tl_status tl_table_repair(tl_table *table, int64_t older_than_ms, bool dry_run, tl_repair_report *out, tl_error *err);

typedef struct tl_fsck_report {
    int64_t snapshots, data_files, rows, changelog_rows, index_files;
    int64_t latest_snapshot; /* 0: none */
    int64_t manifests;
    char **problems;
    size_t n_problems;
} tl_fsck_report;
/** Every manifest and file of the latest snapshot (`all`: of all): counts, sizes, statistics, key ranges and order, sequence
    numbers, levels, index files; `all`: that the changelog leads from each state to the next, too. */
tl_status tl_table_fsck(tl_table *table, bool all, tl_fsck_report *out, tl_error *err);
void tl_fsck_report_deinit(tl_fsck_report *report);

#endif
