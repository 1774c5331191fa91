/*
 * The LSM tree of one bucket: write buffer, flush, levels, compaction picking and rewriting, changelog producers.
 * Source: format reference §11-§13; Java: org.apache.paimon.mergetree.
 *
 * lsm/ knows one bucket and its files; which buckets there are, and commits, belong to table/.
 */
#ifndef TL_LSM_LSM_H
#define TL_LSM_LSM_H

#include "index/deletion_vector.h"
#include "merge/merge.h"
#include "meta/meta.h"
#include "types/map_filter.h"

typedef enum tl_changelog_producer {
    TL_CHANGELOG_NONE,
    TL_CHANGELOG_INPUT,
    TL_CHANGELOG_LOOKUP,
    TL_CHANGELOG_FULL_COMPACTION
} tl_changelog_producer;

/** An order of rows: by columns, or along a curve through them. */
typedef enum tl_order_kind { TL_ORDER_COLUMNS, TL_ORDER_ZORDER, TL_ORDER_HILBERT } tl_order_kind;
typedef struct tl_order {
    tl_order_kind kind;
    int32_t *columns; /* of the table's row type */
    int32_t n_columns;
    int32_t text_bytes; /* ZORDER: bytes of a text that count */
} tl_order;

/**
 * Everything about a table that its buckets need, parsed once from schema and options. Immutable (but for `spill_fs`,
 * `spill_dir`, `clock`, which tests may replace before first use), shared by threads.
 */
typedef struct tl_lsm_config {
    tl_fs *fs;
    tl_paths paths;          /* strings owned */
    tl_table_schema *schema; /* ref held */
    int32_t *key_idx;        /* trimmed primary key in schema->row_type; n_keys == 0: append table */
    int32_t n_keys;
    tl_merge_engine *engine;        /* NULL in append tables */
    tl_merge_engine *buffer_engine; /* of the write buffer: see config.c */
    const tl_type *partition_type;  /* ROW of the partition columns, none if unpartitioned */
    const tl_type *read_type;       /* ROW of what can be read: the table's columns and, with row tracking, _ROW_ID and _SEQUENCE_NUMBER */
    int32_t *partition_idx;         /* per column of row_type: its index in partition_type, -1 if it is no partition column */
    char *write_unsupported;        /* feature that only writing needs and that is not there; NULL: none */
    tl_changelog_producer changelog_producer;
    bool row_deduplicate;
    bool *row_deduplicate_ignored; /* per column */
    bool ignore_delete;
    bool ignore_update_before;
    bool write_only;
    bool thin_mode;
    bool force_lookup;
    bool deletion_vectors;       /* deletion-vectors.enabled */
    bool deletion_vectors_64;    /* deletion-vectors.bitmap64 */
    bool index_in_data_dir;      /* index-file-in-data-file-dir */
    bool index_read;             /* file-index.read.enabled */
    bool ignore_corrupt_files;   /* scan.ignore-corrupt-files, -lost-files: data files are read as far as they can be, or not at all */
    bool ignore_lost_files;
    int64_t index_in_manifest_bytes; /* file-index.in-manifest-threshold */
    int64_t index_target_bytes;  /* deletion-vector.index-file.target-size */
    bool need_lookup; /* lookup changelog, first-row, deletion vectors or force-lookup: level 0 never lingers, reads see the lowest
                         level only (§13) */
    bool has_sequence_field;    /* sequence.field */
    bool old_schema;            /* set after creation: the schema is that of an older snapshot on purpose, newer values are cast to it */
    char *anchors;              /* set after creation: the branch that a chain table's files with `of_anchor` have their schemas from; owned */
    bool keep_deletes;          /* chain-table.enabled: compactions drop no row of kind -D, it may be of a row in another partition */
    bool unaware_bucket;        /* append table with bucket = -1 */
    bool blob_as_descriptor;    /* blob-as-descriptor: blobs are read as addresses of their bytes */
    struct tl_lsm__blobs *blobs; /* private: BLOB columns that are kept as descriptors, and what these may name; NULL: no BLOB columns */
    bool data_evolution;        /* data-evolution.enabled: files with the same row ids hold different columns (§11) */
    bool row_tracking;          /* row-tracking.enabled: rows have ids, which the committer gives and rewriting keeps (§11) */
    bool bucket_append_ordered; /* bucket-append-ordered */
    bool commit_force_compact;
    int32_t total_buckets; /* option `bucket` */
    int64_t target_file_bytes;
    int64_t blob_target_bytes; /* blob.target-file-size */
    int64_t vector_target_bytes; /* vector.target-file-size */
    char *vector_format; /* vector.file.format: VECTOR columns have side files of that format. NULL: they lie with the others */
    int64_t write_buffer_bytes;
    bool write_buffer_spillable;
    int32_t num_levels;
    int32_t compaction_trigger; /* num-sorted-run.compaction-trigger */
    int32_t stop_trigger;       /* num-sorted-run.stop-trigger */
    bool trigger_is_default;    /* nobody asked for a trigger: small files may wait for more of their kind (pick.c) */
    bool shape_is_default;      /* nor for anything else of the levels' shape: space may be taken back earlier (pick.c) */
    int32_t max_size_amplification_percent;
    int32_t size_ratio;
    int32_t offpeak_start_hour; /* -1: unset */
    int32_t offpeak_end_hour;
    int32_t offpeak_ratio;
    int64_t optimization_interval_ms;    /* compaction.optimization-interval; -1: unset */
    int64_t total_size_threshold;        /* -1: unset */
    int64_t incremental_size_threshold;  /* -1: unset */
    int32_t lookup_compact_max_interval; /* lookup-compact = gentle: level 0 is moved up each so many triggers; 0: radical */
    bool force_up_level0;
    bool force_rewrite_all;
    char *compression; /* file.compression; what a file really gets depends on its level too */
    int zstd_level;
    bool zstd_level_is_default;
    char *data_prefix;
    char *changelog_prefix;
    char *data_dir;          /* data-file.path-directory or NULL */
    bool suffix_compression; /* file.suffix.include.compression */
    bool stats_dense;
    int32_t stats_first_columns; /* metadata.stats-keep-first-n-columns; -1: all */
    bool legacy_partition_names;
    char *partition_default_name;
    int32_t compaction_min_file_num; /* append tables */
    int64_t split_open_file_cost;
    double delete_ratio_threshold; /* append tables: a file with a larger share of deleted rows is compacted */
    struct tl_lsm__external *external; /* private: data-file.external-paths; NULL: files lie in the table's folder */
    char *spill_dir; /* $TMPDIR or /tmp */
    tl_fs *spill_fs; /* local; ref held */
    tl_codec spill_codec;
    bool clusters_buckets;    /* append table with buckets and clustering.incremental: compactions sort rows instead of keeping their order */
    bool pk_clustering;       /* pk-clustering-override: files above level 0 are sorted by `cluster_order`, not by key */
    tl_order cluster_order;
    int64_t record_expire_ms; /* record-level.expire-time; -1: rows do not expire */
    int32_t time_column;      /* record-level.time-field, of the table; -1: rows do not expire */
    const tl_clock *clock;
    struct tl_lsm__layout *layout; /* private: columns of data files */
    int64_t recent_bytes;          /* private: held by recent.c */
    int refs;                      /* private */
} tl_lsm_config;

/** Parse; TL_E_UNSUPPORTED names options of features that are not there, TL_E_INVALID wrong values. */
tl_status tl_lsm_config_create(tl_fs *fs, const tl_paths *paths, const tl_table_schema *schema, tl_lsm_config **out,
                               tl_error *err);
/** Bucket where rows wait until a compaction gives them a real one (§15). */
#define TL_POSTPONE_BUCKET (-2)
/** How its files are written: unlike the table's others, and named after the commit user. */
tl_status tl_lsm_config_create_postpone(tl_fs *fs, const tl_paths *paths, const tl_table_schema *schema, const char *user, tl_lsm_config **out,
                                        tl_error *err);
/** Whether the file is sorted by other columns than the key, which are what _MIN_KEY and _MAX_KEY tell. */
static inline bool tl_lsm_is_clustered(const tl_lsm_config *config, const tl_data_file *file)
{
    return config->pk_clustering && file->level > 0;
}
tl_lsm_config *tl_lsm_config_ref(tl_lsm_config *config);
void tl_lsm_config_unref(tl_lsm_config *config);

/** What one bucket did since the last prepare: becomes one commit message (§16). Lists hold refs. */
typedef struct tl_file_list {
    tl_data_file **items;
    size_t n;
    size_t cap;
} tl_file_list;
tl_status tl_file_list_add(tl_file_list *list, const tl_data_file *file, tl_error *err);
void tl_file_list_deinit(tl_file_list *list);

/** Name of a data file: `mark` stands before the extensions (".vector" or ""), `compression` is told where the format's files (csv, json) or `with_suffix` (file.suffix.include.compression) ask for
    it. tl_free; NULL if out of memory. */
char *tl_data_file_name(const char *prefix, const char *uuid, int32_t number, const char *mark, const tl_format *format, const char *compression,
                        bool with_suffix);

typedef struct tl_commit_message {
    tl_bytes partition;
    int32_t bucket;
    int32_t total_buckets;
    tl_file_list new_files;
    tl_file_list deleted_files;
    tl_file_list changelog_files;
    tl_file_list compact_before;
    tl_file_list compact_after;
    tl_file_list compact_changelog;
    /* Index files: those of the data, and those of the compaction. */
    tl_index_list new_indexes;
    tl_index_list deleted_indexes;
    tl_index_list compact_new_indexes;
    tl_index_list compact_deleted_indexes;
    /* Buckets: name of the index file whose deletion vectors the new ones take the place of, "" for none; NULL: not known. Another
       one at the commit means that others deleted rows meanwhile, which would come back. */
    char *vectors_base;
    /* What the rows' buckets were chosen by; if it changed until the commit, keys may have got another bucket meanwhile. Digest of the
       partition's hash indexes (table/hash_index.c), or the snapshot whose keys are known (table/key_index.c). TL_BASE_ROWS: the snapshot
       whose rows got new values (table/update_rows.c); nobody else may have changed them since. */
    enum { TL_BASE_NONE, TL_BASE_HASHES, TL_BASE_SNAPSHOT, TL_BASE_ROWS } base_kind;
    uint64_t base;
} tl_commit_message;
void tl_commit_message_deinit(tl_commit_message *msg);
bool tl_commit_message_empty(const tl_commit_message *msg);

/* ---- one bucket being written ---- */

typedef struct tl_bucket_writer tl_bucket_writer;

/**
 * @param files      live files of the bucket in the snapshot the writer starts from (refs taken); none for overwrite
 * @param partition  BinaryRow with arity
 * @param pool       background compaction; NULL: compactions run inside the calls
 * @locality one writer thread; compactions run on the pool and touch files only
 */
tl_status tl_bucket_writer_create(tl_lsm_config *config, tl_bytes_view partition, int32_t bucket, int32_t total_buckets,
                                  tl_data_file *const *files, size_t n_files, tl_pool *pool, tl_bucket_writer **out,
                                  tl_error *err);
/**
 * Deletion vectors of the bucket's `files` in the snapshot the writer starts from. Before anything is written.
 *
 * @param vectors  NULL: none. A ref is taken, and the writer changes the set
 * @param origin   name of the index file that they lie in, "" if there is none; goes into messages as `vectors_base`
 */
tl_status tl_bucket_writer_restore(tl_bucket_writer *writer, tl_dv_set *vectors, const char *origin, tl_data_file *const *files,
                                   size_t n_files, tl_error *err);
/**
 * Write these columns of the table alone, in this order; batches have all of them all the same. Before anything is written.
 * TL_E_INVALID unless the table has data evolution.
 */
tl_status tl_bucket_writer_set_columns(tl_bucket_writer *writer, const int32_t *columns, int32_t n, tl_error *err);
/**
 * Store _ROW_ID and _SEQUENCE_NUMBER with the rows, which keep them; batches have both behind the table's columns (read_type). Before anything
 * is written. TL_E_INVALID unless the table has row tracking, without data evolution.
 */
tl_status tl_bucket_writer_keep_ids(tl_bucket_writer *writer, tl_error *err);
void tl_bucket_writer_free(tl_bucket_writer *writer); /* removes files that were not handed out by prepare */
/** Rows of one bucket, all columns of the table, row_kind set or NULL. The batch is shared (columns are ref'ed). */
tl_status tl_bucket_writer_write(tl_bucket_writer *writer, const tl_batch *batch, tl_error *err);
/** Whether the writer can still take so many rows: what it would refuse them for, before they are there. */
tl_status tl_bucket_writer_has_room(const tl_bucket_writer *writer, int64_t n_rows, tl_error *err);
/** Memory in the write buffer now, for the budget over all buckets. */
int64_t tl_bucket_writer_bytes(const tl_bucket_writer *writer);
/** Write the buffer out (spill or flush), to free memory. */
tl_status tl_bucket_writer_flush(tl_bucket_writer *writer, tl_error *err);
/** Flush and start a compaction: the picker's choice, or everything to the top level. */
tl_status tl_bucket_writer_compact(tl_bucket_writer *writer, bool full, tl_error *err);
/**
 * The first half of prepare: flush and start the compaction. Optional; prepare does it where it was not done since the last
 * write. Different writers may do it on different threads, so that a commit of many buckets uses all cores.
 */
tl_status tl_bucket_writer_begin_prepare(tl_bucket_writer *writer, bool wait_compaction, tl_error *err);
/** Flush, wait for compactions as the options say (or `wait_compaction`), and move what happened into *out. */
tl_status tl_bucket_writer_prepare(tl_bucket_writer *writer, bool wait_compaction, tl_commit_message *out, tl_error *err);
/** False while a later prepare may still bring a compaction (then the writer must stay open). */
bool tl_bucket_writer_idle(const tl_bucket_writer *writer);

/* ---- new values of BLOB columns ---- */

/** Folders whose files descriptors may name. Only the user of the program gives it: what a table keeps of it does not count. */
#define TL_BLOB_PATHS_OPTION "blob-descriptor.allowed-paths"

/** Turns values as users give them into those that files hold (blob_intake.c). Descriptors: types/blob_descriptor.h. */
typedef struct tl_blob_intake tl_blob_intake;
tl_status tl_blob_intake_create(tl_lsm_config *config, tl_blob_intake **out, tl_error *err);
/** Removes the files that it made, unless it was finished. NULL is fine. */
void tl_blob_intake_free(tl_blob_intake *intake);
/** How many rows of a batch of the table's columns to take at once from `from` on, so that what their descriptors name fits in memory: at
    least one, if there is one. */
tl_status tl_blob_intake_room(tl_blob_intake *intake, const tl_batch *batch, int64_t from, int64_t *rows, tl_error *err);
/** The batch as files hold it; shares what stays as it is. `columns`: which of the table each of its columns is, -1: none; NULL: it has all. */
tl_status tl_blob_intake_take(tl_blob_intake *intake, const int32_t *columns, const tl_batch *batch, tl_batch **out, tl_error *err);
/** Complete the files outside; they stay. More values may follow, into new files. */
tl_status tl_blob_intake_finish(tl_blob_intake *intake, tl_error *err);

/* ---- reading one bucket ---- */

typedef struct tl_bucket_read_spec {
    const int32_t *columns; /* indices into the config's read_type, in output order; NULL: all of the table */
    int32_t n_columns;
    const tl_predicate *predicate; /* bound to the config's read_type; exact: rows that fail are left out after merging */
    tl_map_filter *map_filter;     /* bound to the same (ref taken): rows that fail may be left out; NULL: none */
    bool keep_deletes;             /* results of kind -U/-D are returned too (audit log); row_kind is set */
    bool with_kinds;               /* row_kind is set (+I or +U); implied by keep_deletes */
    bool with_seq;                 /* the batches' seq is set */
    int64_t batch_rows;            /* 0: TL_BATCH_ROWS */
    tl_dv_set *vectors;            /* deletion vectors of the files: rows in them are not there (ref taken); NULL: none */
    bool follow_blobs;             /* columns that are kept as descriptors of blobs give their bytes, unless 'blob-as-descriptor' says otherwise */
    tl_pool *pool;                 /* decodes the columns of a batch side by side; outlives the reader; NULL: the calling thread */
} tl_bucket_read_spec;

/** Files merged as a batch read does (§18). In lookup mode per key only L0 records and the lowest other level count. */
tl_status tl_bucket_read(tl_lsm_config *config, tl_bytes_view partition, int32_t bucket, tl_data_file *const *files,
                         size_t n_files, const tl_bucket_read_spec *spec, tl_reader **out, tl_error *err);
/** All columns of the rows that tl_bucket_read() gives, in the order of their keys, also where the files are sorted by other columns. */
tl_status tl_bucket_read_by_key(tl_lsm_config *config, tl_bytes_view partition, int32_t bucket, tl_data_file *const *files, size_t n_files,
                                tl_dv_set *vectors, tl_reader **out, tl_error *err);
/** Files one after the other without merging, with their row kinds, deletes included (streaming reads, append tables, changelog
 * files). */
tl_status tl_files_read(tl_lsm_config *config, tl_bytes_view partition, int32_t bucket, tl_data_file *const *files,
                        size_t n_files, const tl_bucket_read_spec *spec, tl_reader **out, tl_error *err);
/** Folder of a bucket's files that have no path of their own; tl_free. NULL if out of memory. */
char *tl_bucket_dir(const tl_lsm_config *config, tl_bytes_view partition, int32_t bucket);
/** Full path of an index file of the bucket without a path of its own; tl_free. NULL if out of memory. */
char *tl_index_path(const tl_lsm_config *config, tl_bytes_view partition, int32_t bucket, const char *name);
/** Whether a local path lies in one of the folders of `data-file.external-paths`. */
bool tl_lsm_is_external(const tl_lsm_config *config, const char *path);
/** Full path of a data file; tl_free. NULL if out of memory. */
char *tl_data_file_path(const tl_lsm_config *config, tl_bytes_view partition, int32_t bucket, const tl_data_file *file);

/**
 * The entry of a file that another program wrote and that is to become a data file `name` of this append table. Its columns must be
 * the table's, with their types (TL_E_INVALID); rows and statistics come from the file's metadata.
 */
tl_status tl_file_adopt(tl_lsm_config *config, const tl_format *format, const char *path, const char *name, tl_data_file **out, tl_error *err);

/* ---- sections (also used to plan splits) ---- */

/** Partition files into sections of disjoint key ranges, each a list of sorted runs (Java: IntervalPartition). */
typedef struct tl_section {
    tl_file_list *runs; /* files of a run do not overlap and are in key order */
    size_t n_runs;
} tl_section;
tl_status tl_sections(const tl_lsm_config *config, tl_data_file *const *files, size_t n_files, tl_section **out, size_t *n,
                      tl_error *err);
void tl_sections_free(tl_section *sections, size_t n);

/* ---- rows that several files hold (data evolution; also used to plan splits and to prune) ---- */

/** Files by the rows that they hold values of: group g is order[ends[g - 1]] to order[ends[g]), indices into the list given. In a
 * group come data files, all of the same rows, the newest first, then side files (of BLOBs, of VECTORs) by row. */
typedef struct tl_row_groups {
    size_t n;
    size_t *order;
    size_t *ends;
} tl_row_groups;
/** TL_E_CORRUPT: files without row ids, or data files that hold some rows of others. Groups are in the order of their rows. */
tl_status tl_row_groups_create(tl_data_file *const *files, size_t n, tl_row_groups *out, tl_error *err);
void tl_row_groups_deinit(tl_row_groups *groups);

/** New values of some columns of rows, by the rows' ids. */
typedef struct tl_row_update {
    int64_t id;
    tl_rowref place; /* of the values: batch and row */
} tl_row_update;
typedef struct tl_row_updates {
    const int32_t *columns; /* of the table; none of them a partition column, or a BLOB with files of its own */
    int32_t n_columns;
    const tl_row_update *rows; /* ids ascend, no two are equal */
    size_t n;
    tl_batch *const *batches; /* column 0 is not looked at (their ids, as a rule), the values are in the columns behind it */
    size_t n_batches;
} tl_row_updates;
/** TL_E_UNSUPPORTED, TL_E_INVALID: columns of which rows cannot get new values. */
tl_status tl_evolution_check_update(const tl_lsm_config *config, const tl_row_updates *updates, tl_error *err);
/**
 * A file of these columns for all rows of one group (tl_row_groups: its files, data files first), added to the message's new files; another
 * one of VECTORs that have files of their own, in place of those, which go to the deleted files. The
 * group has the rows of `updates` from `from` to before `to`.
 */
tl_status tl_evolution_update(tl_lsm_config *config, tl_bytes_view partition, int32_t bucket, tl_data_file *const *files, size_t n_files,
                              const tl_row_updates *updates, size_t from, size_t to, tl_commit_message *msg, tl_error *err);

/**
 * The entry of a data file with the file indexes that the options ask for now, which are made from its rows (rewrite_file_index). The data
 * file itself stays.
 *
 * @param of_file  config under the schema that the file was written with
 * @param out      a new entry, whose index file (if it has one) is new; NULL: the file has what it should have
 */
tl_status tl_file_reindex(tl_lsm_config *config, tl_lsm_config *of_file, tl_bytes_view partition, int32_t bucket, const tl_data_file *file,
                          tl_data_file **out, tl_error *err);
/** Which rows of a data file are wanted. */
typedef struct tl_row_finder {
    const tl_predicate *predicate; /* bound to the table's row type, exact; NULL: none */
    tl_map_filter *map_filter;     /* bound to the same: rows that fail may be left out, so `match` must refuse them; NULL: none */
    /* Chooses among the rows that pass, given with all the table's columns and, with row tracking, _ROW_ID behind them; NULL: all of
       them. `sel` has room for each row. */
    tl_status (*match)(void *ctx, const tl_batch *rows, uint32_t *sel, int64_t *n, tl_error *err);
    void *ctx;
} tl_row_finder;
/** Numbers of the file's rows that the finder chooses, ascending (tl_free), without those in `vectors` (may be NULL). */
tl_status tl_file_find_rows(tl_lsm_config *config, tl_bytes_view partition, int32_t bucket, const tl_data_file *file, tl_dv_set *vectors,
                            const tl_row_finder *finder, int64_t **rows, size_t *n, tl_error *err);

/** Deletion vectors of a bucket and the index files that hold them. */
typedef struct tl_bucket_vectors {
    tl_dv_set *set; /* NULL: none */
    const tl_index_list *indexes;
} tl_bucket_vectors;

/**
 * Compact small files of an unaware append bucket: plan and rewrite into *msg (compact_before/after), which the caller has
 * zeroed. `full`: all files into one sequence. `vectors` may be NULL; deleted rows do not come along. §12. On failure *msg is empty and nothing is left behind.
 */
tl_status tl_append_compact(tl_lsm_config *config, tl_bytes_view partition, int32_t bucket, tl_data_file *const *files,
                            size_t n_files, const tl_bucket_vectors *vectors, bool full, tl_commit_message *msg, tl_error *err);
/** "order", "zorder", "hilbert" in any case. */
tl_status tl_order_parse_kind(const char *name, tl_order_kind *out, tl_error *err);
/** The order by these columns; `out->columns` is the caller's to tl_free, also on failure. TL_E_INVALID: there is no such column or kind. */
tl_status tl_order_of_columns(const tl_lsm_config *config, const char *kind, char *const *names, int32_t n, tl_order *out, tl_error *err);
/** The same as 'clustering.columns' and 'clustering.strategy' have it: "auto" takes the kind by the number of columns. */
tl_status tl_order_of_options(const tl_lsm_config *config, tl_order *out, tl_error *err);
typedef struct tl_cluster_spec {
    tl_order order;
    bool incremental; /* runs that universal compaction chooses, to a level of their own; otherwise all files, to level 0 */
    bool full;        /* incremental: everything to the top level */
} tl_cluster_spec;
/**
 * Sort rows of an append table's partition into new files, into *msg (compact_before/after) as tl_append_compact() does. Memory:
 * `write-buffer-size`, beyond that temporary files.
 */
tl_status tl_append_cluster(tl_lsm_config *config, tl_bytes_view partition, int32_t bucket, tl_data_file *const *files, size_t n_files,
                            const tl_bucket_vectors *vectors, const tl_cluster_spec *spec, tl_commit_message *msg, tl_error *err);
/**
 * Deletion vectors of an append bucket after rows of some files were deleted: `fresh` holds the new rows of each file named. The new
 * index files go into *msg (new_indexes; deleted_indexes where they are no longer whole), which the caller has zeroed.
 */
tl_status tl_append_delete(tl_lsm_config *config, tl_bytes_view partition, int32_t bucket, tl_data_file *const *files, size_t n_files,
                           const tl_bucket_vectors *vectors, tl_dv_set *fresh, tl_commit_message *msg, tl_error *err);
/**
 * The same by copy on write, for tables without deletion vectors: the files that `gone` names rows of are written again without them, into *msg
 * (deleted_files, new_files), which the caller has zeroed. Where a bucket's files have an order, rows keep theirs; else all
 * that stays of the files becomes one sequence. `files` are the live ones of the bucket. On failure *msg is empty and nothing is left behind.
 */
tl_status tl_append_rewrite_without(tl_lsm_config *config, tl_bytes_view partition, int32_t bucket, tl_data_file *const *files, size_t n_files,
                                    tl_dv_set *gone, tl_commit_message *msg, tl_error *err);

#endif
