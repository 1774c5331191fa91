/*
 * A table's metadata files: schema, snapshot, manifest list, manifest, tag, hints. Layouts: format reference §2-§5, §16, §17.
 *
 * meta/ reads and writes single files and knows their paths; what they mean together (scan, commit, expiry) is table/.
 */
#ifndef TL_META_META_H
#define TL_META_META_H

#include "base/map.h"
#include "format/format.h"
#include "io/io.h"
#include "types/column.h"

/* ---- schema/schema-N ---- */

typedef struct tl_table_schema {
    int64_t id;
    const tl_type *row_type; /* ROW NOT NULL of the table's columns with ids, descriptions, defaults */
    int32_t highest_field_id;
    char **partition_keys;
    int32_t n_partition_keys;
    char **primary_keys;
    int32_t n_primary_keys;
    tl_options options;
    char *comment; /* NULL if none */
    int64_t time_ms;
    int refs; /* private */
} tl_table_schema;

tl_table_schema *tl_table_schema_ref(const tl_table_schema *schema);
void tl_table_schema_unref(tl_table_schema *schema);
tl_status tl_table_schema_parse(tl_bytes_view json, tl_table_schema **out, tl_error *err);
/** Pretty-printed exactly as the reference does. */
tl_status tl_table_schema_format(const tl_table_schema *schema, tl_bytes *out, tl_error *err);
/** Primary key columns without partition columns ("trimmed"), as indices into row_type. `out` has room for n_primary_keys. */
int32_t tl_table_schema_trimmed_keys(const tl_table_schema *schema, int32_t *out);
/** Number the fields of a new table as the reference does (§2: top-level first, then nested; deeper ROWs children first). */
tl_status tl_schema_assign_ids(const tl_type *row_type, int32_t *highest_field_id, const tl_type **out, tl_error *err);

/* ---- paths ---- */

/** Folder layout of one table (one branch of it). Strings from tl_paths_*() are tl_free'd; NULL if out of memory. */
typedef struct tl_paths {
    const char *table;  /* root folder of the table: data files */
    const char *branch; /* NULL or "main": the root; else metadata lies in branch/branch-NAME */
} tl_paths;
char *tl_paths_schema(const tl_paths *paths, int64_t id);
char *tl_paths_snapshot(const tl_paths *paths, int64_t id);
char *tl_paths_changelog(const tl_paths *paths, int64_t id);
char *tl_paths_hint(const tl_paths *paths, const char *dir, const char *name); /* "snapshot", "changelog"; "LATEST", "EARLIEST" */
char *tl_paths_manifest(const tl_paths *paths, const char *name);
char *tl_paths_tag(const tl_paths *paths, const char *name);
char *tl_paths_dir(const tl_paths *paths, const char *dir); /* "schema", "snapshot", "manifest", "tag", … */
/** Whether a partition's value, NULL being no text, has no name of its own: nothing but white space, as Java has it. */
bool tl_partition_value_is_blank(tl_bytes_view text);
/** The value of a column of one row as it stands in the names of folders, but not escaped; what was in `out` goes. Fails without memory only. */
tl_status tl_partition_value_text(const tl_column *col, const char *default_name, bool legacy_names, tl_buf *out);
/** Partition folder "a=1/b=x" ("" if unpartitioned) of a decoded partition row. */
tl_status tl_partition_path(const tl_batch *partition, const char *default_name, bool legacy_names, char **out, tl_error *err);
/** The same of the values alone, "1/x", as format tables may have it. */
tl_status tl_partition_value_path(const tl_batch *partition, const char *default_name, bool legacy_names, char **out, tl_error *err);
/** TABLE/[path-directory/]PARTITION/bucket-N ("bucket-postpone" for -2). */
char *tl_paths_bucket(const tl_paths *paths, const char *data_dir, const char *partition_path, int32_t bucket);
/** Whether a name out of a file can be one component of a path: not empty, not "." or "..", without '/' or NUL. */
bool tl_path_is_name(tl_bytes_view name);
/** The same for a relative path of such names ("data/files"). */
bool tl_path_is_inside(const char *path);

/* ---- snapshot/snapshot-N, tag/tag-NAME ---- */

#define TL_ABSENT INT64_MIN /* of optional numbers in metadata */

typedef enum tl_commit_kind { TL_COMMIT_APPEND, TL_COMMIT_COMPACT, TL_COMMIT_OVERWRITE, TL_COMMIT_ANALYZE } tl_commit_kind;

typedef struct tl_snapshot {
    int64_t version;
    int64_t id;
    int64_t schema_id;
    char *base_manifest_list;
    int64_t base_manifest_list_bytes; /* TL_ABSENT in old snapshots */
    char *delta_manifest_list;
    int64_t delta_manifest_list_bytes;
    char *changelog_manifest_list; /* NULL if none */
    int64_t changelog_manifest_list_bytes;
    char *index_manifest; /* NULL if none */
    char *commit_user;
    int64_t commit_identifier;
    tl_commit_kind commit_kind;
    int64_t time_ms;
    int64_t total_record_count;
    int64_t delta_record_count;
    int64_t changelog_record_count; /* TL_ABSENT if none */
    int64_t watermark;              /* TL_ABSENT if none */
    char *statistics;               /* NULL if none */
    tl_options properties;          /* empty: absent */
    int64_t next_row_id;            /* TL_ABSENT in old snapshots */
    /* tags only */
    int64_t tag_create_time_ms; /* local wall clock as UTC; TL_ABSENT if none */
    int32_t tag_create_nanos;   /* below the millisecond */
    int64_t tag_retained_ms;    /* TL_ABSENT if none */
} tl_snapshot;

void tl_snapshot_free(tl_snapshot *snap);
static inline void tl_snapshot_freep(tl_snapshot **snap)
{
    tl_snapshot_free(*snap);
}
const char *tl_commit_kind_name(tl_commit_kind kind);
tl_status tl_snapshot_parse(tl_bytes_view json, tl_snapshot **out, tl_error *err);
tl_status tl_snapshot_format(const tl_snapshot *snap, tl_bytes *out, tl_error *err);
tl_status tl_snapshot_dup(const tl_snapshot *snap, tl_snapshot **out, tl_error *err);
tl_status tl_snapshot_read(tl_fs *fs, const tl_paths *paths, int64_t id, tl_snapshot **out, tl_error *err);
/** Newest and oldest snapshot id, 0 if the table has none. Trusts hints only as §1 says. */
tl_status tl_snapshot_latest_id(tl_fs *fs, const tl_paths *paths, int64_t *out, tl_error *err);
tl_status tl_snapshot_earliest_id(tl_fs *fs, const tl_paths *paths, int64_t *out, tl_error *err);
/** All ids, ascending (tl_free). Names that do not parse are left out. */
tl_status tl_snapshot_list(tl_fs *fs, const tl_paths *paths, int64_t **ids, size_t *n, tl_error *err);
/** Write snapshot-ID under a temporary name: nothing is visible yet. Released with tl_staged_deinit(). */
tl_status tl_snapshot_stage(tl_fs *fs, const tl_paths *paths, const tl_snapshot *snap, tl_staged *out, tl_error *err);
/** Publish it, after tl_fs_flush(); TL_E_CONFLICT (retryable) if that id exists. Then LATEST, best effort. */
tl_status tl_snapshot_publish(tl_fs *fs, const tl_paths *paths, int64_t id, const tl_staged *staged, tl_error *err);
/**
 * Hints are checked by those who read them and need not survive a power cut, but for a LATEST that goes back: the reference
 * believes it when it is too high.
 */
/** Id of the oldest snapshot file, whatever the hint says: an expiry that was interrupted begins there. 0 if there is none. */
tl_status tl_snapshot_first_id(tl_fs *fs, const tl_paths *paths, int64_t *out, tl_error *err);
/** What a hint says, 0 if it is missing or cannot be read. */
int64_t tl_hint_read(tl_fs *fs, const tl_paths *paths, const char *name);
tl_status tl_hint_write(tl_fs *fs, const tl_paths *paths, const char *name, int64_t id, bool durable, tl_error *err);

/** changelog/changelog-N: what a snapshot that expired leaves behind where changes are kept for longer. By form it is the snapshot;
    of what its lists name, only the files that hold changes are there. TL_E_NOT_FOUND if it is not there. */
tl_status tl_changelog_read(tl_fs *fs, const tl_paths *paths, int64_t id, tl_snapshot **out, tl_error *err);
/** Newest and oldest, 0 if there is none; and all, ascending (tl_free). */
tl_status tl_changelog_latest_id(tl_fs *fs, const tl_paths *paths, int64_t *out, tl_error *err);
tl_status tl_changelog_earliest_id(tl_fs *fs, const tl_paths *paths, int64_t *out, tl_error *err);
tl_status tl_changelog_list(tl_fs *fs, const tl_paths *paths, int64_t **ids, size_t *n, tl_error *err);
/** Publish a snapshot as a changelog, in place of one that is there; then LATEST, best effort. */
tl_status tl_changelog_publish(tl_fs *fs, const tl_paths *paths, const tl_snapshot *snap, tl_error *err);
tl_status tl_changelog_hint_write(tl_fs *fs, const tl_paths *paths, const char *name, int64_t id, tl_error *err);

tl_status tl_tag_read(tl_fs *fs, const tl_paths *paths, const char *name, tl_snapshot **out, tl_error *err); /* TL_E_NOT_FOUND */
tl_status tl_tag_publish(tl_fs *fs, const tl_paths *paths, const char *name, const tl_snapshot *snap, bool replace, tl_error *err);
/** Names in byte order; freed with tl_names_free(). */
tl_status tl_tag_list(tl_fs *fs, const tl_paths *paths, char ***names, size_t *n, tl_error *err);
void tl_names_free(char **names, size_t n);

/* ---- schema manager ---- */

tl_status tl_schema_read(tl_fs *fs, const tl_paths *paths, int64_t id, tl_table_schema **out, tl_error *err);
tl_status tl_schema_latest(tl_fs *fs, const tl_paths *paths, tl_table_schema **out, tl_error *err); /* TL_E_NOT_FOUND: no table */
tl_status tl_schema_list(tl_fs *fs, const tl_paths *paths, int64_t **ids, size_t *n, tl_error *err);
tl_status tl_schema_publish(tl_fs *fs, const tl_paths *paths, const tl_table_schema *schema, tl_error *err); /* TL_E_CONFLICT */

/* ---- statistics and data files ---- */

/** SimpleStats (§5): BinaryRows with arity, and one null count per column (-1 unknown). */
typedef struct tl_simple_stats {
    tl_bytes min;
    tl_bytes max;
    int64_t *null_counts;
    int32_t n;
} tl_simple_stats;

typedef enum tl_file_source { TL_FILE_UNKNOWN = -1, TL_FILE_APPENDED, TL_FILE_COMPACTED } tl_file_source;

/** DataFileMeta (§5). Everything owned; echoed exactly in DELETE entries. */
typedef struct tl_data_file {
    char *name;
    int64_t bytes;
    int64_t rows;
    tl_bytes min_key; /* BinaryRow with arity; arity 0 in append tables */
    tl_bytes max_key;
    tl_simple_stats key_stats;
    tl_simple_stats value_stats;
    int64_t min_seq;
    int64_t max_seq;
    int64_t schema_id;
    int32_t level;
    char **extra_files;
    int32_t n_extra_files;
    int64_t creation_time_ms; /* local wall clock as UTC; TL_ABSENT if none */
    int64_t delete_rows;      /* TL_ABSENT if unknown */
    tl_bytes embedded_index;  /* data NULL if none */
    int32_t file_source;      /* tl_file_source */
    char **value_stats_cols;  /* n_value_stats_cols < 0: null (all columns) */
    int32_t n_value_stats_cols;
    char *external_path; /* NULL if none */
    int64_t first_row_id; /* TL_ABSENT if none */
    char **write_cols;    /* n_write_cols < 0: null */
    int32_t n_write_cols;
    bool of_anchor; /* no part of the entry: a chained split's file whose schema is one of the snapshot branch (tl_lsm_config.anchors) */
    int refs;    /* private: shared between entries, levels and splits */
    bool packed; /* private: strings, bytes and arrays lie in the same allocation as the struct */
} tl_data_file;

tl_data_file *tl_data_file_create(void); /* all optional fields absent; NULL if out of memory */
tl_data_file *tl_data_file_ref(const tl_data_file *file);
void tl_data_file_unref(tl_data_file *file);
/** A file of the values of one BLOB column (§9.4). */
bool tl_data_file_is_blob(const tl_data_file *file);
/** A side file: of the values of a BLOB column, or of VECTOR columns in a format of their own (`….vector.…`), for rows of the data file that
 * has the other columns. */
bool tl_data_file_is_side(const tl_data_file *file);
/** Whether a file holds the column that its schema calls `name` (NULL: it has none). *hint, 0 at first, is where to look first: files
 * name their columns mostly in the order of the table. */
bool tl_data_file_holds(const tl_data_file *file, const char *name, int32_t *hint);
tl_status tl_data_file_dup(const tl_data_file *file, tl_data_file **out, tl_error *err); /* deep copy, to change level etc. */

typedef enum tl_entry_kind { TL_ENTRY_ADD = 0, TL_ENTRY_DELETE = 1 } tl_entry_kind;

typedef struct tl_manifest_entry {
    tl_entry_kind kind;
    tl_bytes partition; /* BinaryRow with arity; owned */
    int32_t bucket;
    int32_t total_buckets;
    tl_data_file *file; /* ref held */
} tl_manifest_entry;

typedef struct tl_entries {
    tl_manifest_entry *items;
    size_t n;
    size_t cap;
} tl_entries;
void tl_entries_deinit(tl_entries *entries);
/** Copies the partition, refs the file. */
tl_status tl_entries_add(tl_entries *entries, tl_entry_kind kind, tl_bytes_view partition, int32_t bucket, int32_t total_buckets,
                         const tl_data_file *file, tl_error *err);
/** Identity of §4.2 (partition, bucket, level, name, extra files, embedded index, external path) as bytes, for maps. */
tl_status tl_entry_identity(const tl_manifest_entry *entry, tl_buf *out);
/** ADD minus DELETE by identity (§4.2), in the order of the ADDs. Unmatched DELETEs are dropped if `drop_deletes`, else kept. */
tl_status tl_entries_merge(tl_entries *entries, bool drop_deletes, tl_error *err);

/** ManifestFileMeta (§4.1). */
typedef struct tl_manifest_meta {
    char *name;
    int64_t bytes;
    int64_t added;
    int64_t deleted;
    tl_simple_stats partition_stats;
    int64_t schema_id;
    int32_t min_bucket, max_bucket, min_level, max_level; /* INT32_MIN: absent */
    int64_t min_row_id, max_row_id;                       /* TL_ABSENT */
} tl_manifest_meta;
typedef struct tl_manifest_list {
    tl_manifest_meta *items;
    size_t n;
    size_t cap;
} tl_manifest_list;
void tl_manifest_list_deinit(tl_manifest_list *list);

tl_status tl_manifest_list_read(tl_fs *fs, const tl_paths *paths, const char *name, int64_t bytes, tl_manifest_list *out, tl_error *err);
/** Which entries of a manifest to keep while decoding (pruned before they are built); NULL keeps all. */
typedef bool (*tl_entry_filter)(void *ctx, tl_bytes_view partition, int32_t bucket, int32_t total_buckets, int32_t level);
/** Appends to `out`. */
tl_status tl_manifest_read(tl_fs *fs, const tl_paths *paths, const char *name, int64_t bytes, tl_entry_filter filter, void *ctx,
                           tl_entries *out, tl_error *err);

typedef enum tl_manifest_format { TL_MANIFEST_AVRO, TL_MANIFEST_PARQUET, TL_MANIFEST_ORC } tl_manifest_format;

/** Names, format and compression of the manifests that one committer writes. */
typedef struct tl_manifest_writer {
    tl_fs *fs;
    tl_paths paths;
    char uuid[37];
    int32_t next_manifest; /* counters of §1 */
    int32_t next_list;
    int32_t next_index;
    const tl_type *partition_type; /* ROW of the partition columns */
    tl_manifest_format format;     /* manifest.format */
    const tl_options *options;     /* table options for a Parquet writer; borrowed, may be NULL */
    char compression[16];          /* manifest.compression */
    int zstd_level;
    int64_t target_bytes; /* manifest.target-file-size */
} tl_manifest_writer;
/** Write entries, rolling at target_bytes; appends the new files' metas to `out`. Written files are synced. */
tl_status tl_manifest_write(tl_manifest_writer *w, const tl_manifest_entry *entries, size_t n, tl_manifest_list *out, tl_error *err);
/** Write one list (also an empty one); *name is tl_free'd. */
tl_status tl_manifest_list_write(tl_manifest_writer *w, const tl_manifest_meta *metas, size_t n, char **name, int64_t *bytes, tl_error *err);

/* ---- index manifests: all index files of a snapshot (§4.3, §15) ---- */

#define TL_INDEX_HASH "HASH"
#define TL_INDEX_DELETION_VECTORS "DELETION_VECTORS"

/** Where in a file of deletion vectors the one of a data file lies. */
typedef struct tl_dv_range {
    char *data_file;     /* name */
    int32_t offset;      /* of the size field */
    int32_t bytes;       /* f2: see §15, differs by variant */
    int64_t cardinality; /* TL_ABSENT in old files */
} tl_dv_range;

/** IndexFileMeta. Everything owned; not changed once it is in an entry. */
typedef struct tl_index_file {
    char *type; /* TL_INDEX_… or the name of a global index type */
    char *name;
    int64_t bytes;
    int64_t rows;
    tl_dv_range *ranges;
    int32_t n_ranges;    /* -1: null */
    char *external_path; /* NULL if none */
    bool has_global;     /* the fields below */
    int64_t row_start, row_end;
    int32_t field_id;
    int32_t *extra_fields;
    int32_t n_extra_fields; /* -1: null */
    tl_bytes global_meta;   /* data NULL if none */
    int refs;               /* private */
} tl_index_file;
tl_index_file *tl_index_file_create(void); /* all optional fields absent; NULL if out of memory */
tl_index_file *tl_index_file_ref(const tl_index_file *file);
void tl_index_file_unref(tl_index_file *file);

typedef struct tl_index_list {
    tl_index_file **items; /* refs held */
    size_t n;
    size_t cap;
} tl_index_list;
tl_status tl_index_list_add(tl_index_list *list, const tl_index_file *file, tl_error *err);
void tl_index_list_deinit(tl_index_list *list);

typedef struct tl_index_entry {
    tl_entry_kind kind;
    tl_bytes partition; /* BinaryRow with arity; owned */
    int32_t bucket;
    tl_index_file *file;  /* ref held */
    const char *replaces; /* of a change: name of the file of its bucket that it was made from, "" for none; NULL: not known. Borrowed */
} tl_index_entry;
typedef struct tl_index_entries {
    tl_index_entry *items;
    size_t n;
    size_t cap;
} tl_index_entries;
void tl_index_entries_deinit(tl_index_entries *entries);
/** Copies the partition, refs the file. */
tl_status tl_index_entries_add(tl_index_entries *entries, tl_entry_kind kind, tl_bytes_view partition, int32_t bucket, const tl_index_file *file,
                               tl_error *err);
/** All entries into `out`, which must be empty. */
tl_status tl_index_manifest_read(tl_fs *fs, const tl_paths *paths, const char *name, tl_index_entries *out, tl_error *err);
/** One file with all of them (index manifests never roll); *name is tl_free'd. */
tl_status tl_index_manifest_write(tl_manifest_writer *w, const tl_index_entry *entries, size_t n, char **name, tl_error *err);

/* ---- statistics from writer results ---- */

/** Modes of `metadata.stats-mode` (§5). */
typedef enum tl_stats_mode { TL_STATS_NONE, TL_STATS_COUNTS, TL_STATS_TRUNCATE, TL_STATS_FULL } tl_stats_mode;
typedef struct tl_stats_spec {
    tl_stats_mode mode;
    int32_t truncate; /* code points */
} tl_stats_spec;
tl_status tl_stats_spec_parse(const char *text, tl_stats_spec *out, tl_error *err);
/** Build SimpleStats of columns types[i] from the writer's stats[i] under specs[i]; with `dense`, *cols receives the names kept
    (*n_cols = -1 if all were). */
tl_status tl_simple_stats_build(const tl_type *const *types, const char *const *names, const tl_column_stats *stats, const tl_stats_spec *specs,
                                int32_t n, bool dense, tl_simple_stats *out, char ***cols, int32_t *n_cols, tl_error *err);
/** Bounds per field of a ROW from stored statistics, for tl_predicate_may_match(). */
typedef struct tl_bounds {
    int32_t n;
    tl_col_bounds *cols; /* of each field; unknown ones have no min and max, and null_count -1 */
    tl_column **columns; /* what cols point into: two rows, least and greatest; NULL if not decoded. Owned */
} tl_bounds;
/** Decode stored bounds (dense or not) of `row_type`, the columns that the file was written with. */
tl_status tl_simple_stats_bounds(const tl_simple_stats *stats, const tl_type *row_type, char *const *dense_cols, int32_t n_dense_cols,
                                 tl_bounds *out, tl_error *err);
/** The same for the fields with used[i] only (NULL: all): a plan over many wide files decodes what its filter looks at. */
tl_status tl_simple_stats_bounds_of(const tl_simple_stats *stats, const tl_type *row_type, const bool *used, char *const *dense_cols,
                                    int32_t n_dense_cols, tl_bounds *out, tl_error *err);
/**
 * For pruning: what the metadata may have lost. Bounds of CHAR may come from an ORC file, where values are padded, and its reader gives them
 * without; what is stored, and shown, is the padded form. Early releases of the reference (0.4) took bounds of TIMESTAMP(4..9) from ORC's
 * statistics, cut to milliseconds. After an error the bounds can only be released.
 */
tl_status tl_bounds_loosen(tl_bounds *bounds, tl_error *err);
void tl_bounds_deinit(tl_bounds *bounds);
void tl_simple_stats_deinit(tl_simple_stats *stats);

#endif
