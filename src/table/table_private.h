/*
 * What the files of table/ share.
 */
#ifndef TL_TABLE_TABLE_PRIVATE_H
#define TL_TABLE_TABLE_PRIVATE_H

#include <pthread.h>
#include <stdio.h>

#include "base/thread.h"
#include "table/table.h"
#include "types/binary_row.h"
#include "types/builder.h"
#include "types/predicate.h"
#include "types/text.h"

TL_DEFINE_CLEANUP(tl_table_freep, tl_table, tl_table_free)
TL_DEFINE_CLEANUP(tl_table_schema_unrefp, tl_table_schema, tl_table_schema_unref)

/* ---- system tables (system.c) ---- */

typedef enum tl_bucket_mode { TL_BUCKETS_UNAWARE, TL_BUCKETS_FIXED, TL_BUCKETS_DYNAMIC, TL_BUCKETS_POSTPONE } tl_bucket_mode;

typedef struct tl_system_table {
    const char *name;
    /* Columns in the text form of types; NULL: they follow from the data table (audit_log, binlog, ro, row_tracking). */
    const char *columns;
    /* Append all rows to the builders, one for each column. NULL: rows of the data table in another form. */
    tl_status (*rows)(tl_table *table, tl_builder *const *cols, tl_error *err);
} tl_system_table;

const tl_system_table *tl_system__find(const char *name);
const tl_system_table *tl_system__find_global(const char *name); /* of the database `sys` */
tl_status tl_system__read(tl_table *table, const tl_scan_spec *spec, tl_reader **out, tl_error *err);
/** Row type of audit_log and binlog over the data table's. */
tl_status tl_system__row_type(const tl_system_table *system, const tl_type *data_type, const tl_options *opts, const tl_type **out, tl_error *err);
/** Whether the data must be read with sequence numbers. */
bool tl_audit_wants_seq(const tl_table *table);
bool tl_system__is(const tl_table *table, const char *name);
/** The rows of a data split in the form of audit_log or binlog: a kind column in front, each column as an array. Takes `data`. */
tl_status tl_audit_reader(tl_table *table, tl_reader *data, const tl_scan_spec *spec, bool pack_updates, tl_reader **out, tl_error *err);
/** What the data table must read for a scan of audit_log or binlog; `columns` is tl_free'd by the caller. */
tl_status tl_audit_data_spec(tl_table *table, const tl_scan_spec *spec, tl_scan_spec *data_spec, int32_t **columns, tl_predicate **predicate,
                             tl_error *err);
bool tl_table__is_audit(const tl_table *table);
/** $row_tracking: the rows with their ids and sequence numbers, as columns that the table's config reads. */
bool tl_table__is_tracking(const tl_table *table);

/* ---- an open table (open.c) ---- */

/** Where the making of automatic tags goes on (tag_auto.c). */
typedef struct tl_auto_tags {
    int64_t next_snapshot; /* to look at; 0: not known yet */
    int64_t next_ms;       /* local time of the next tag; TL_ABSENT: there was none yet */
} tl_auto_tags;

struct tl_table {
    tl_fs *fs;
    tl_catalog *catalog; /* borrowed */
    char *db;
    char *name; /* of the data table, without `$…` */
    char *path;
    char *branch; /* NULL: main */
    tl_paths paths;
    tl_table_schema *schema; /* of this handle: the latest, or that of the snapshot travelled to; dynamic options laid over */
    tl_lsm_config *config;   /* NULL: system tables that read metadata only */
    const tl_system_table *system; /* NULL: the data table */
    const tl_type *row_type;       /* what a read gives */
    const tl_type *partition_type;
    int32_t *partition_idx; /* partition columns in schema->row_type */
    int32_t n_partition;
    int32_t *key_idx; /* trimmed primary key */
    int32_t n_keys;
    int32_t *bucket_idx; /* bucket key columns */
    int32_t n_bucket_keys;
    tl_bucket_mode bucket_mode;
    bool spans_partitions; /* dynamic buckets, and the primary key lacks partition columns: a key may move between partitions */
    int32_t n_buckets; /* option `bucket` */
    tl_bucket_function bucket_function;
    bool travelled; /* the options name a snapshot, a tag or a time */
    struct tl_folder *folder; /* a format table (format_table.h); NULL: it has snapshots. Owned */
    tl_table *other; /* the branch that is read, too (other_branch.c); NULL: none. Owned */
    bool other_is_first;
    bool lacks_branches; /* of a chain: rows cannot be read */
    tl_table *anchors; /* chain tables: the snapshot branch, and `other` is the delta branch (chain.h); NULL: no chain. Owned */

    pthread_mutex_t lock;
    /* guarded by lock */
    tl_table_schema **schemas; /* schemas of files, read so far */
    size_t n_schemas;
    tl_auto_tags auto_tags;
    int64_t partitions_checked_ms; /* when partitions were last looked at for expiry; 0: not yet */
    char *last_user; /* user and identifier that this handle committed last: no need to look for them in old snapshots */
    int64_t last_identifier;
    int64_t strict_safe_id; /* newest snapshot that a commit of this handle has looked at in strict mode */
    struct tl_known *known; /* of the snapshot that this handle made last (known.c); NULL: nothing. Owned */
};

/** A table without its other branch. */
tl_status tl_table__open_one(tl_catalog *catalog, const char *db, const char *name, const tl_options *dynamic, tl_table **out, tl_error *err);
/** The branches that the options name, if they are there: become table->other and table->anchors. */
tl_status tl_table__open_other_branch(tl_table *table, const tl_options *dynamic, tl_error *err);
/** A branch with these dynamic options; a snapshot that they name by the number that it has in `mine` is found by its time. */
tl_status tl_table__open_branch(const tl_table *table, const char *branch, const tl_paths *mine, const tl_options *dynamic, tl_table **out,
                                tl_error *err);
/** Splits of the table's own branch (read.c), and of both. `partitions`: only these; NULL: all. */
tl_status tl_table__plan_one(tl_table *table, const tl_predicate *pred, const tl_map *partitions, tl_pool *pool, tl_splits *out, tl_error *err);
/** Whether its files are read one after the other as they are, each row once. */
bool tl_table__reads_raw(const tl_split *split);
/** Reader of a split for a scan without columns: batches that have rows and nothing else. */
tl_status tl_table__count_split(tl_table *table, const tl_split *split, const tl_scan_spec *spec, tl_reader **out, tl_error *err);
tl_status tl_table__plan_both(tl_table *table, const tl_predicate *pred, tl_pool *pool, tl_splits *out, tl_error *err);
/** "DB.NAME" for messages. */
const char *tl_table__full_name(const tl_table *table, char out[256]);
/** Schema by id; cached in the table, borrowed until it is closed. */
tl_status tl_table__schema(tl_table *table, int64_t id, const tl_table_schema **out, tl_error *err);
bool tl_table__is_first_row(const tl_table *table);
/** TL_E_UNSUPPORTED for snapshots with index files that nobody here keeps up: not if only rows are added (or rewritten with their ids)
 * to a table with data evolution. */
tl_status tl_table__check_snapshot(tl_table *table, const tl_snapshot *snap, bool changes_rows, tl_error *err);
tl_status tl_table__require_data(const tl_table *table, const char *what, tl_error *err);
/** Newest schema on disk (new reference). */
tl_status tl_table__latest_schema(tl_table *table, tl_table_schema **out, tl_error *err);
/** TL_E_NOT_FOUND if there is no such branch, TL_E_INVALID if there can be none. */
tl_status tl_branch__require(tl_table *table, const char *name, tl_error *err);
/** Another handle of the same table (and branch) with this one's options and `forced` over them, whatever may be changed otherwise. */
tl_status tl_table__reopen(tl_table *table, const tl_options *forced, tl_table **out, tl_error *err);
/** tl_table_writer_compact_all() for a set of partition rows; NULL: all. */
tl_status tl_table__writer_compact(tl_table_writer *writer, const tl_map *partitions, bool full, tl_error *err);
/** How many buckets a partition without real ones gets, from the table's options. */
tl_status tl_postpone__default_buckets(const tl_table *table, int32_t *out, tl_error *err);
/** What a compaction of postponed buckets does, as messages of one compaction (postpone.c). */
tl_status tl_postpone__compact(tl_table *table, tl_pool *pool, tl_commit_messages *out, tl_error *err);
/** Split a comma list into NUL-terminated copies; `trim` cuts blanks. Freed with tl_names_free(). */
tl_status tl_table__split_list(const char *text, bool trim, char ***out, size_t *n, tl_error *err);

/* ---- options (options.c) ---- */

tl_status tl_table__canonical_options(tl_options *opts);
/** Whether tables whose option `type` is this can be opened and created. In any case of letters. */
bool tl_table__knows_type(const char *type);
tl_status tl_table__refuse_options(const tl_options *opts, tl_error *err);
/** The value or the default; NULL if there is neither. */
const char *tl_table__option_or_default(const tl_options *opts, const char *key);
bool tl_table__option_bool(const tl_options *opts, const char *key);
/** Number, duration in ms or memory size in bytes, by the option's type; `absent` if unset and without default. */
tl_status tl_table__option_int(const tl_options *opts, const char *key, int64_t absent, int64_t *out, tl_error *err);

/* ---- schemas (validate.c, create.c, alter.c, type_change.c) ---- */

/** Everything that the reference's SchemaValidation refuses, in its words. */
tl_status tl_table__validate(const tl_table_schema *schema, tl_error *err);
/** Whether the formats of a table's files hold its columns; whether its options for VECTOR columns fit them (validate_formats.c). */
tl_status tl_table__validate_formats(const tl_table_schema *schema, tl_error *err);
tl_status tl_table__validate_vectors(const tl_table_schema *schema, bool evolution, tl_error *err);
/** The same for files of one format. */
tl_status tl_table__validate_format(const tl_table_schema *schema, const char *format, tl_error *err);
/** What tables that are made or altered cannot have, though tables of others that have it may be opened (validate_new.c). */
tl_status tl_table__check_new(const tl_table_schema *schema, tl_error *err);
/** Sets scan.mode as the scan options imply (Java: CoreOptions.setDefaultValues). */
tl_status tl_table__default_scan_mode(tl_options *opts, tl_error *err);
/** Checks of SchemaManager.checkAlterTableOption / checkResetTableOption; `value` NULL: reset. */
tl_status tl_table__check_option_change(const tl_options *stored, const char *key, const char *value, tl_error *err);
/** Forced NOT NULL on keys, duplicate and missing columns, options `primary-key` and `partition` moved out (Java: Schema). */
tl_status tl_table__normalize(tl_table_schema *schema, tl_error *err);
/** Whether values of one type can be cast to another (Java: DataTypeCasts and CastExecutors). */
bool tl_table__can_cast(const tl_type *from, const tl_type *to, bool allow_explicit);
tl_status tl_table__validate_default(const tl_type *type, const char *text, tl_error *err);
/** Append a default value (nested_default.c). After an error the builder can only be freed. */
tl_status tl_table__read_default(tl_bytes_view text, const tl_type *type, tl_builder *builder, tl_error *err);
/** A default value as a column of one row. */
tl_status tl_table__default_column(const tl_type *type, const char *text, tl_column **out, tl_error *err);
/** Append "[a, b]". */
tl_status tl_table__append_list(tl_buf *buf, char *const *names, int32_t n);
/** New schema without fields changed: everything but the row type and lists is copied. refs = 1. */
tl_status tl_table__schema_dup(const tl_table_schema *from, tl_table_schema **out, tl_error *err);

/* ---- planning (plan.c, prune.c, splits.c) ---- */

typedef enum tl_scan_mode { TL_SCAN_ALL, TL_SCAN_DELTA, TL_SCAN_CHANGELOG } tl_scan_mode;

/** Which entries of a snapshot are wanted. Zero-initialise with tl_scan_init(). */
typedef struct tl_scan {
    tl_scan_mode mode;
    const tl_snapshot *snap;
    const tl_predicate *predicate; /* on the data table's row type */
    const tl_predicate *partition; /* on the partition type, exact */
    const tl_map *partitions;      /* set of partition rows (bytes with arity); NULL: all */
    int32_t level_min, level_max;
    int32_t bucket; /* INT32_MIN: all */
    bool real_buckets_only; /* bucket >= 0 */
    bool file_values;       /* CHANGELOG: value filters may drop files */
    int64_t created_after_ms; /* local wall clock; INT64_MIN: all */
    tl_pool *pool;
} tl_scan;

void tl_scan_init(tl_scan *scan, tl_scan_mode mode, const tl_snapshot *snap);
/** What a read of a snapshot looks at, whatever its predicate: levels, real buckets, files that are young enough (read.c). */
void tl_table__snapshot_scan(const tl_table *table, const tl_snapshot *snap, int64_t created_after_ms, tl_pool *pool, tl_scan *out);
/** Entries of the snapshot after pruning. ALL: live files. DELTA, CHANGELOG: as they stand, DELETE entries too. Appends to `out`. */
tl_status tl_table__scan(tl_table *table, const tl_scan *scan, tl_entries *out, tl_error *err);
/** Manifests of a snapshot in that mode, unpruned. */
tl_status tl_table__manifests(tl_table *table, const tl_snapshot *snap, tl_scan_mode mode, tl_manifest_list *out, tl_error *err);

/** Sort by partition (bytes) and bucket; entries of one bucket keep their order. */
tl_status tl_entries_sort_buckets(tl_entries *entries, tl_error *err);
/** Entries [from, to) of a bucket among sorted ones. */
void tl_entries_bucket_range(const tl_entries *entries, tl_bytes_view partition, int32_t bucket, size_t *from, size_t *to);

typedef struct tl_pruner tl_pruner;
tl_status tl_pruner_create(tl_table *table, const tl_scan *scan, tl_pruner **out, tl_error *err);
void tl_pruner_free(tl_pruner *pruner);
TL_DEFINE_CLEANUP(tl_pruner_freep, tl_pruner, tl_pruner_free)
bool tl_pruner_manifest(tl_pruner *pruner, const tl_manifest_meta *meta);
/** tl_entry_filter; `ctx` is the pruner. One thread at a time. Failures are kept: ask tl_pruner_status() afterwards. */
bool tl_pruner_entry(void *ctx, tl_bytes_view partition, int32_t bucket, int32_t total_buckets, int32_t level);
tl_status tl_pruner_status(const tl_pruner *pruner, tl_error *err);
/** What a predicate on the table's columns (NULL: none) says of n of them alone, bound to a ROW of these; *out stays where there are none. */
tl_status tl_table__weakened(const tl_table *table, const tl_predicate *pred, const int32_t *columns, int32_t n, tl_predicate **out, tl_error *err);
/** False only if no row of the file can have a key (or, second, a value) that passes. */
tl_status tl_pruner_file_keys(tl_pruner *pruner, const tl_data_file *file, bool *keep, tl_error *err);
tl_status tl_pruner_file_values(tl_pruner *pruner, const tl_data_file *file, bool *keep, tl_error *err);
/** The same for data files of the same rows, the newest first (and their blob files, which tell nothing). */
tl_status tl_pruner_group_values(tl_pruner *p, tl_data_file *const *files, size_t n, bool *keep, tl_error *err);
/** Where the table's columns are in files of one schema, for their statistics (stats_map.c); immutable. */
typedef struct tl_stats_map {
    int64_t schema_id;
    const tl_type *mine; /* borrowed from the table, as is the next */
    const tl_type *file_type;
    int32_t *at; /* per column of the table: its place in the file's schema, -1: none */
    bool *used;  /* per column of the file's schema */
    bool *same;  /* per column of the table: its type is the same there */
} tl_stats_map;
/** `used`: columns of the table that will be asked for; NULL: all. */
tl_status tl_stats_map_create(tl_table *table, int64_t schema_id, const bool *used, tl_stats_map **out, tl_error *err);
void tl_stats_map_free(tl_stats_map *map);
TL_DEFINE_CLEANUP(tl_stats_map_freep, tl_stats_map, tl_stats_map_free)

/** To prune: what is certain. To show: cast as values are, with the counts that are stored. */
typedef enum tl_stats_use { TL_STATS_TO_PRUNE, TL_STATS_TO_SHOW } tl_stats_use;
/** Value statistics as bounds per column of the table; `decoded` holds what they point to. */
tl_status tl_stats_map_bounds(const tl_stats_map *map, const tl_data_file *file, tl_stats_use use, tl_bounds *decoded, tl_col_bounds *out,
                              tl_error *err);

/** Deletion vectors of a snapshot (vectors.c). Zero-initialise; one thread. */
typedef struct tl_vectors {
    tl_map sets;  /* (bucket, partition) -> tl_dv_set, ref held */
    tl_map files; /* (bucket, partition) -> tl_index_list of the index files, also empty ones; owned */
    tl_buf key;
} tl_vectors;
/** None where the table has them not enabled or the snapshot (may be NULL) has none. */
tl_status tl_vectors__read(tl_table *table, const tl_snapshot *snap, tl_vectors *out, tl_error *err);
/** Those that the index files tell of. */
tl_status tl_vectors__of_entries(tl_table *table, const tl_index_entries *entries, tl_vectors *out, tl_error *err);
void tl_vectors__deinit(tl_vectors *vectors);
/** Those of a bucket, borrowed; NULL: none. `vectors` may be NULL. */
tl_status tl_vectors__find(tl_vectors *vectors, tl_bytes_view partition, int32_t bucket, tl_dv_set **out, tl_error *err);
/** Index files of a bucket; an empty list if there is none. Borrowed. */
tl_status tl_vectors__files(tl_vectors *vectors, tl_bytes_view partition, int32_t bucket, const tl_index_list **out, tl_error *err);
/** Batch reads leave level 0 out: only a compaction finds out what its rows replace (first-row, deletion vectors). */
bool tl_table__skips_level0(const tl_table *table);

/** Splits of the ADD entries: grouped by bucket in order of first appearance, packed as §18 says. `vectors` may be NULL. */
tl_status tl_table__splits(tl_table *table, const tl_entries *entries, int64_t snapshot_id, bool streaming, tl_vectors *vectors, tl_splits *out,
                           tl_error *err);
tl_status tl_splits_add(tl_splits *splits, tl_split **out, tl_error *err);
void tl_split_deinit(tl_split *split);
/** Splits of what lies between: before and after files per bucket, equal files taken out of both. */
typedef struct tl_state {
    const tl_entries *entries;
    tl_vectors *vectors; /* NULL: none */
} tl_state;
tl_status tl_table__change_splits(const tl_state *before, const tl_state *after, int64_t snapshot_id, bool diff, tl_splits *out,
                                  tl_error *err);
/** Sort by partition (as text, then bytes) and bucket: the order in which a streaming read shows buckets. */
tl_status tl_table__sort_splits(tl_table *table, tl_splits *splits, tl_error *err);

/* ---- reading (read.c, read_diff.c, parallel.c) ---- */

/** Readers opened one after the other, or several at a time on the pool. `helpers` (NULL without a pool): threads that have no split to read. */
typedef tl_status (*tl_open_fn)(void *ctx, size_t i, tl_pool *helpers, tl_reader **out, tl_error *err);
tl_status tl_parallel_reader(const tl_type *type, size_t n, tl_open_fn open, void *ctx, void (*free_ctx)(void *ctx), tl_pool *pool, int64_t limit,
                             tl_reader **out, tl_error *err);
/** CHANGES and DIFF splits. */
tl_status tl_table__read_changes(tl_table *table, const tl_split *split, const tl_bucket_read_spec *spec, tl_reader **out, tl_error *err);
/** Row type of some columns of the data table (NULL: all). */
tl_status tl_table__projected_type(const tl_table *table, const int32_t *columns, int32_t n, const tl_type **out, tl_error *err);

/* ---- time travel (time_travel.c) ---- */

typedef enum tl_read_kind { TL_READ_SNAPSHOT, TL_READ_DELTA, TL_READ_DIFF, TL_READ_EMPTY } tl_read_kind;

/** What a batch read reads, resolved from the options. */
typedef struct tl_read_point {
    tl_read_kind kind;
    tl_snapshot *snap;   /* SNAPSHOT; end of DIFF; NULL: the table is empty */
    tl_snapshot *before; /* DIFF */
    int64_t from, to;    /* DELTA: (from, to] */
    tl_scan_mode mode;   /* DELTA */
    int64_t created_after_ms;
} tl_read_point;
void tl_read_point_deinit(tl_read_point *point);
/** Partitions of a branch, whatever values they have: what is complete where it is the first. Of changes, those that changed. */
tl_status tl_table__list_partitions(tl_table *table, const tl_read_point *point, tl_pool *pool, tl_map *out, tl_error *err);
tl_status tl_table__read_point(tl_table *table, tl_read_point *out, tl_error *err);
/** The snapshot that scan.snapshot-id, -tag-name, -watermark, -timestamp, -timestamp-millis or -version name; NULL if none is set. */
tl_status tl_table__travel(tl_fs *fs, const tl_paths *paths, const tl_options *opts, tl_snapshot **out, tl_error *err);
/** Latest snapshot; NULL if there is none. */
tl_status tl_table__latest(tl_fs *fs, const tl_paths *paths, tl_snapshot **out, tl_error *err);
/** Oldest snapshot that still exists, not above `latest`; NULL if none. */
tl_status tl_table__earliest(tl_fs *fs, const tl_paths *paths, int64_t latest, tl_snapshot **out, tl_error *err);
/** Last snapshot with timeMillis <= ms; NULL if none. */
tl_status tl_table__at_or_before(tl_fs *fs, const tl_paths *paths, int64_t ms, tl_snapshot **out, tl_error *err);
/** Id of the last snapshot with timeMillis < ms (may be one that does not exist); -1: no snapshot at all; 0 with *too_early. With
    `changes` the changelogs that outlived their snapshots count, too. */
tl_status tl_table__earlier_than(tl_table *table, int64_t ms, bool changes, int64_t *out, bool *too_early, tl_error *err);
/** Effective scan.mode. */
const char *tl_table__startup_mode(const tl_options *opts);
/** `scan.timestamp` text in local time to epoch milliseconds. */
bool tl_parse_local_timestamp(const char *text, int64_t *ms);
/** Local wall clock of an instant, stored as if it were UTC, and back. */
int64_t tl_to_local_ms(int64_t epoch_ms);
int64_t tl_from_local_ms(int64_t local_ms);

/* ---- committing (commit.c, conflict.c, manifest_merge.c, overwrite.c) ---- */

/** Changes of one phase. */
typedef struct tl_changes {
    tl_entries table;
    tl_entries changelog;
    tl_index_entries indexes;
} tl_changes;
void tl_changes_deinit(tl_changes *changes);

/** One snapshot to make. */
typedef struct tl_attempt {
    tl_table *table;
    const tl_commit_messages *based; /* messages whose bases must still hold; NULL: none */
    const char *user;
    int64_t identifier;
    int64_t watermark;
    const tl_options *properties;
    tl_commit_kind kind;
    bool check;     /* look for conflicts */
    bool overwrite; /* the entries to delete are found anew at each try */
    const tl_predicate *overwrite_partition; /* on the partition type; NULL with partitions NULL: the whole table */
    const tl_map *overwrite_partitions;
    const char *statistics;  /* file of an ANALYZE; NULL: what the snapshot before has stays */
    bool discard_duplicates; /* files that are there already are left out */
    bool drop_lost_manifests; /* manifests that are gone are left out, and the rows of the others counted anew */
} tl_attempt;
/** Make one snapshot of `changes`, with retries. TL_E_CONFLICT (not retryable) if the changes contradict what is there. */
tl_status tl_commit__try(const tl_attempt *attempt, const tl_changes *changes, int64_t *snapshot_id, int32_t *retries, tl_error *err);

/**
 * For an overwrite of some partitions of a table whose primary key spans partitions: messages that delete the keys of the new files
 * `fresh` in the partitions that stay. The caller commits them with the overwrite, `based` on them, or aborts them. Retract.c says how.
 * @param partition, partitions  what is overwritten, as in tl_attempt
 * @error TL_E_UNSUPPORTED if the table's deletes do not take effect at once
 */
tl_status tl_retract__moved(tl_table *table, const tl_entries *fresh, const tl_predicate *partition, const tl_map *partitions,
                            tl_commit_messages *out, tl_error *err);

/** Names of files made by an attempt. */
typedef struct tl_names {
    char **items;
    size_t n;
    size_t cap;
} tl_names;
tl_status tl_names_add(tl_names *names, const char *name, tl_error *err);
void tl_names_deinit(tl_names *names);

/** Live files of some partitions: all of those that `partitions` holds. Zero-initialise; no partitions: nothing is known. */
typedef struct tl_live_files {
    tl_entries entries;
    tl_map partitions;
} tl_live_files;
void tl_live_files__deinit(tl_live_files *live);
bool tl_live_files__cover(const tl_live_files *live, const tl_map *partitions);
/** Apply what a snapshot changes in these partitions. Too many files are forgotten. */
tl_status tl_live_files__apply(tl_live_files *live, const tl_entries *delta, tl_error *err);

/** What is known of a snapshot without reading (known.c). */
typedef struct tl_known {
    int64_t id;
    char *delta_list;
    tl_manifest_list manifests; /* as tl_table__manifests() gives them */
    tl_live_files live;
} tl_known;
/* ---- strict_mode.c ---- */

/** TL_E_INVALID where `commit.strict-mode.last-safe-snapshot` is set and another user's snapshot since then forbids the commit. */
tl_status tl_strict_mode__check(tl_table *table, const char *user, tl_commit_kind kind, int64_t latest_id, tl_error *err);

/** What the handle knows if that is about `latest` (may be NULL), else NULL. It is the caller's then. */
tl_known *tl_known__take(tl_table *table, const tl_snapshot *latest);
/** Takes `known` over (NULL: nothing is known any more). */
void tl_known__give(tl_table *table, tl_known *known);
void tl_known__free(tl_known *known);
/** Takes over what the lists hold; NULL if that is too much or there is no memory (then they stay the caller's). */
tl_known *tl_known__create(const tl_snapshot *snap, tl_manifest_list *manifests, tl_live_files *live);

/** TL_E_CONFLICT that is no lost race: the same changes can never get in. */
tl_status tl_commit__contradiction(tl_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** Give new files of the messages the ids of rows that are there, from `first` on, one file after the other. */
tl_status tl_commit__onto_rows(tl_commit_messages *messages, int64_t first, tl_error *err);
/** Row ids and sequence numbers of a snapshot's new files (row tracking); *next_row_id goes on. Changed files are copies. (row_ids.c) */
tl_status tl_commit__assign_row_ids(int64_t snapshot_id, tl_entries *delta, int64_t *next_row_id, tl_error *err);
/** A file of an append that holds columns of rows that are there already (data evolution). */
bool tl_commit__is_onto_rows(const tl_manifest_entry *entry);
/** Checks of §16 c over base (live entries of the touched partitions) and delta. TL_E_CONFLICT names the files. */
tl_status tl_commit__check(tl_table *table, const tl_entries *base, const tl_entries *delta, tl_commit_kind kind, tl_error *err);
/**
 * Deletion vectors and data files fit: whoever rewrites a file knows all rows that were deleted from it, and vectors are made for
 * files that are there. `base` and `delta` as above; `old` are the snapshot's index files, `changes` what becomes of them.
 */
tl_status tl_commit__check_vectors(tl_table *table, const tl_entries *base, const tl_entries *delta, const tl_index_entries *old,
                                   const tl_index_entries *changes, tl_error *err);
/** Keys got their buckets by the hash indexes that were there, or by the keys of a snapshot: TL_E_CONFLICT if others changed those
    since, and a key may have two places. The reference does not look. `latest` may be NULL. */
tl_status tl_commit__check_bases(tl_table *table, const tl_snapshot *latest, const tl_index_entries *indexes, const tl_commit_messages *messages,
                                 tl_error *err);
/** Whether a snapshot in (known, latest], but for those of latest's user and identifier, is more than a compaction (or is gone). */
tl_status tl_commit__others_changed_rows(tl_table *table, int64_t known, int64_t latest, bool *out, tl_error *err);
/** Whether key ranges of two of the files meet. */
tl_status tl_commit__overlap(tl_table *table, const tl_manifest_entry *const *entries, size_t n, bool *overlap, tl_error *err);

/** §16 "manifest merging": the new base list's manifests. New files are named in `fresh` (indices into out), to be removed on failure. */
tl_status tl_manifests__merge(tl_table *table, tl_manifest_writer *writer, const tl_manifest_list *in, tl_manifest_list *out, tl_names *fresh,
                              tl_error *err);
/** Whether a full merge of manifests, however small they are together, would bring some of them together. */
tl_status tl_manifests__needs_full(tl_table *table, int64_t target_bytes, const tl_manifest_list *in, bool *out, tl_error *err);
/** Whether a manifest's file exists. */
tl_status tl_manifests__exists(tl_table *table, const tl_manifest_meta *meta, bool *out, tl_error *err);
tl_status tl_table__manifest_writer(tl_table *table, tl_manifest_writer *out, tl_error *err);
/** Identifier of a job's next commit; TL_COMMIT_BATCH without a user. */
tl_status tl_table__next_identifier(tl_table *table, const char *user, int64_t *out, tl_error *err);
/** TL_E_UNSUPPORTED for tables that can be read here but not written. */
tl_status tl_table__check_writable(const tl_table *table, tl_error *err);
/** `object` into table, branch and system table; the last two may be NULL. All tl_free'd by the caller. Java: Identifier. */
tl_status tl_table__split_name(const char *object, char **table, char **branch, char **system, tl_error *err);
/** The reference reads manifests as the option says: only what is written here may be asked for. */
tl_status tl_table__check_manifest_format(const tl_table *table, tl_error *err);
tl_status tl_manifest_meta__dup(const tl_manifest_meta *from, tl_manifest_list *to, tl_error *err);

/* ---- index files (index_files.c) ---- */

/** All index files of a snapshot; none for NULL. `out` is set. */
tl_status tl_indexes__read(tl_table *table, const tl_snapshot *snap, tl_index_entries *out, tl_error *err);
/** Path of an index file (`external`: its recorded path, NULL if none); tl_free. NULL if out of memory. */
char *tl_indexes__path(const tl_table *table, tl_bytes_view partition, int32_t bucket, const char *name, const char *external);
/** Remove an index file; a missing one is fine. */
void tl_indexes__remove(tl_table *table, tl_bytes_view partition, int32_t bucket, const tl_index_file *file);
/** What is there after the changes. TL_E_CONFLICT if they do not fit. `out` must be empty. */
tl_status tl_indexes__combine(const tl_table *table, const tl_index_entries *old, const tl_index_entries *changes, tl_index_entries *out,
                              tl_error *err);

/** Bytes of a hash index file, four a hash, big-endian; TL_E_CORRUPT if they are not as many as recorded. tl_bytes_deinit(). */
tl_status tl_hash_index__read(const tl_table *table, const tl_index_entry *e, tl_bytes *out, tl_error *err);
/** Digest of the hash indexes of a partition (hash_index.c). */
uint64_t tl_hash_index__digest(const tl_index_entries *indexes, tl_bytes_view partition);

/** Partition predicate of a static spec (column -> text; the default name is NULL), bound to the partition type. */
tl_status tl_table__partition_predicate(tl_table *table, const tl_options *spec, tl_predicate **out, tl_error *err);
/** Partitions that match one of several specs; NULL in *out: all. */
tl_status tl_table__partitions_predicate(tl_table *table, const tl_options *specs, size_t n, tl_predicate **out, tl_error *err);
/** Put files of an overwrite on the top level if no two of a bucket overlap (Java: tryUpgrade). */
tl_status tl_commit__upgrade(tl_table *table, tl_entries *entries, tl_error *err);
bool tl_partition_matches(tl_table *table, const tl_predicate *pred, tl_bytes_view partition, tl_status *status, tl_error *err);

/** Remove a data file and its extra files; a missing one is fine. */
void tl_table__remove_file(tl_table *table, tl_bytes_view partition, int32_t bucket, const tl_data_file *file);
/** Of the files beside it those that `kept`, an entry of the same data file, does not have. */
void tl_table__remove_extra_files(tl_table *table, tl_bytes_view partition, int32_t bucket, const tl_data_file *file, const tl_data_file *kept);

/* ---- deletion of what expired (expire.c, deletion.c, tag.c) ---- */

/** Names in use (of data files: partition, bucket, name; of manifests: name). */
typedef struct tl_name_set {
    tl_map map;
} tl_name_set;
void tl_name_set_deinit(tl_name_set *set);
tl_status tl_name_set_add(tl_name_set *set, const void *name, size_t bytes);
bool tl_name_set_has(const tl_name_set *set, const void *name, size_t bytes);
/** Data files of a snapshot (merged). */
tl_status tl_deletion__add_files(tl_table *table, const tl_snapshot *snap, tl_name_set *set, tl_error *err);
tl_status tl_deletion__add_manifests(tl_table *table, const tl_snapshot *snap, tl_name_set *set, tl_error *err);
tl_status tl_deletion__file_key(const tl_manifest_entry *entry, tl_buf *out);
/** A manifest list, if `name` is not NULL, and its manifests; the files of their entries into `files`, if that is not NULL. */
tl_status tl_deletion__add_list(tl_table *table, const char *name, int64_t bytes, tl_name_set *manifests, tl_name_set *files, tl_error *err);
/** What the other branches of a table need while files of this one are deleted; read when a file comes that they may share. Zeroed to begin. */
typedef struct tl_branch_uses {
    tl_name_set files;
    int64_t forked_ms;
    bool looked;
    bool read;
    bool unknown; /* it cannot be read */
} tl_branch_uses;
void tl_branch_uses__deinit(tl_branch_uses *uses);
/** Whether another branch needs the file with that key; true where that cannot be told. */
tl_status tl_branch_uses__has(tl_table *table, tl_branch_uses *uses, const tl_data_file *file, tl_bytes_view key, bool *out, tl_error *err);
/** All files and manifests that they need; either may be NULL. */
tl_status tl_branch_uses__add(tl_table *table, tl_name_set *files, tl_name_set *manifests, tl_error *err);

/** Remove files that the snapshot's delta deletes (and does not add under another level), except those in `keep` (may be NULL), those of
    `others` and, with `keep_appended`, those that no compaction wrote. */
tl_status tl_deletion__delta(tl_table *table, const tl_snapshot *snap, const tl_name_set *keep, tl_branch_uses *others, bool keep_appended,
                             tl_name_set *dirs, tl_error *err);
/** Remove the ADDed files of a manifest list. */
tl_status tl_deletion__added(tl_table *table, const char *list, int64_t bytes, tl_name_set *dirs, tl_error *err);
/** Remove all live files of a snapshot except those in `keep`. */
tl_status tl_deletion__live(tl_table *table, const tl_snapshot *snap, const tl_name_set *keep, tl_name_set *dirs, tl_error *err);
/** Remove manifests and lists of a snapshot that are not in `keep` (what is removed is added to it): base and delta, changelog, and its
    index and statistics files. */
enum { TL_LISTS_DATA = 1, TL_LISTS_CHANGELOG = 2, TL_LISTS_INDEXES = 4 };
tl_status tl_deletion__manifests(tl_table *table, const tl_snapshot *snap, unsigned lists, tl_name_set *keep, tl_error *err);
/** Remove bucket and partition folders of `dirs` that are empty, if snapshot.clean-empty-directories says so. */
tl_status tl_deletion__empty_dirs(tl_table *table, const tl_name_set *dirs, tl_error *err);

/** Snapshots of all tags, ascending by id, with their names. */
typedef struct tl_tagged {
    tl_snapshot *snap;
    char **names;
    size_t n_names;
} tl_tagged;
tl_status tl_tags__snapshots(tl_table *table, tl_tagged **out, size_t *n, tl_error *err);
void tl_tags__free(tl_tagged *tags, size_t n);

/** Tags while files are deleted, and the files of the one that was asked for last. */
typedef struct tl_tag_files {
    tl_tagged *tags; /* of tl_tags__snapshots() */
    size_t n;
    tl_name_set keep; /* files of the tag `of`; 0: of none */
    int64_t of;
    tl_branch_uses others;
} tl_tag_files;
void tl_tag_files__deinit(tl_tag_files *tags);
/** Files of the nearest tag before the snapshot: they stay. NULL if there is none; *known is false if that tag cannot be read: better
    leave orphans then than delete what it needs. */
tl_status tl_tag_files__before(tl_table *table, tl_tag_files *tags, int64_t id, const tl_name_set **out, bool *known, tl_error *err);
/** Manifests of the tags from `begin` (or the one before it) to `end` (exclusive), and of other branches. */
tl_status tl_tag_files__add_manifests(tl_table *table, const tl_tag_files *tags, int64_t begin, int64_t end, tl_name_set *set, tl_error *err);

/** A success file beside a tag, if tag.create-success-file says so; and its end with the tag. */
tl_status tl_mark_done__tag(tl_table *table, const char *tag, tl_error *err);
void tl_mark_done__forget_tag(tl_table *table, const char *tag);
/** TL_E_UNSUPPORTED, TL_E_INVALID: partition.mark-done-action names what cannot be done here. */
tl_status tl_mark_done__check(const tl_options *opts, tl_error *err);
/** Marks one partition, given as a row. */
tl_status tl_mark_done__row(tl_table *table, tl_bytes_view partition, tl_error *err);
/** Marks the partitions that a batch wrote to, if partition.end-input-to-done says so. */
tl_status tl_mark_done__batch(tl_table *table, const tl_commit_messages *messages, tl_error *err);

/** Name (tl_free) of the automatic tag before `name`, NULL if there is none. TL_E_INVALID: no automatic tag is called so. */
tl_status tl_tags__auto_before(tl_table *table, const char *name, char **out, tl_error *err);
/** Options of automatic tags fit together. */
tl_status tl_tags__check_options(const tl_options *opts, tl_error *err);
/** The tag after a batch, if tag.automatic-creation says so. */
tl_status tl_tags__after_batch(tl_table *table, tl_error *err);

/** The time that a partition's values stand for (partition_time.c). */
typedef struct tl_partition_time tl_partition_time;
tl_status tl_partition_time__create(const tl_table *table, tl_partition_time **out, tl_error *err);
void tl_partition_time__free(tl_partition_time *time);
TL_DEFINE_CLEANUP(tl_partition_time__freep, tl_partition_time, tl_partition_time__free)
/** Local milliseconds of one row of partition columns; *known is false if its values give no time. */
tl_status tl_partition_time__of(const tl_partition_time *time, const tl_batch *partition, int64_t *local_ms, bool *known, tl_error *err);
/** Drop the partitions whose time is over, in commits of the user with the identifier. `due_only`: not before
    partition.expiration-check-interval has passed. Nothing without partition.expiration-time. `dropped` may be NULL. */
tl_status tl_partitions__expire(tl_table *table, const char *user, int64_t identifier, bool due_only, tl_names *dropped, tl_error *err);
/** Upkeep after a commit of the user. */
tl_status tl_table__maintain(tl_table *table, const char *user, int64_t identifier, tl_error *err);

/** Remove consumers that consumer.expiration-time is over for. */
tl_status tl_consumers__expire(tl_table *table, tl_error *err);

/* ---- how long snapshots and changelogs are kept (retention.c, changelog.c) ---- */

typedef struct tl_retention {
    int64_t max, min; /* how many stay */
    int64_t age_ms;
    int64_t deletes; /* most that go at once */
} tl_retention;
/** Limits of snapshots or changelogs: from the options and, where `spec` (may be NULL) gives them, from the caller. */
tl_status tl_retention__read(const tl_options *opts, bool changelogs, const tl_expire_spec *spec, tl_retention *out, tl_error *err);
typedef struct tl_retained {
    tl_status (*read)(tl_fs *fs, const tl_paths *paths, int64_t id, tl_snapshot **out, tl_error *err);
    int64_t newest;   /* snapshot that counts start from */
    int64_t earliest; /* first that is there */
    int64_t last;     /* nothing from this one on goes */
    bool heed_consumers;
} tl_retained;
/** The first that stays; not above `earliest` if none goes. */
tl_status tl_retention__end(tl_table *table, const tl_retention *r, const tl_retained *what, int64_t *end, tl_error *err);

/** Whether changelogs outlive their snapshots (CoreOptions.changelogLifecycleDecoupled). */
bool tl_table__decoupled(const tl_options *opts);
/** Whether changes lie in files of their own; they are the appended data files otherwise. */
bool tl_table__has_changelog_files(const tl_table *table);
/** Snapshot N or, where changelogs outlive snapshots, changelog N. TL_E_NOT_FOUND if neither is there. */
tl_status tl_table__changes_at(tl_table *table, int64_t id, tl_snapshot **out, tl_error *err);
/** The oldest snapshot, or changelog, of which the changes can be read; 0 if there is none. */
tl_status tl_table__earliest_changes(tl_table *table, int64_t *out, tl_error *err);
tl_status tl_changelogs__expire(tl_table *table, const tl_expire_spec *spec, int32_t *expired, tl_error *err);
/** Manifests and files that the changelogs up to `last` need, where data files are the changes. */
tl_status tl_changelogs__add_needed(tl_table *table, int64_t last, tl_name_set *manifests, tl_name_set *files, tl_error *err);
/** Remove those above an id, the youngest first. */
tl_status tl_changelogs__roll_back(tl_table *table, int64_t above, tl_error *err);

#endif
