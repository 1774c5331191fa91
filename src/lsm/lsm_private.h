/*
 * What the files of lsm/ share. Terms: README.md.
 */
#ifndef TL_LSM_LSM_PRIVATE_H
#define TL_LSM_LSM_PRIVATE_H

#include <stdatomic.h>

#include "index/file_index.h"
#include "lsm/lsm.h"
#include "types/evolve.h"

#define TL_LSM__KEY_PREFIX "_KEY_"
#define TL_LSM__SEQUENCE_NUMBER "_SEQUENCE_NUMBER"
#define TL_LSM__VALUE_KIND "_VALUE_KIND"
#define TL_LSM__ROW_ID "_ROW_ID"
#define TL_LSM__KEY_FIELD_ID_START 1073741823 /* SpecialFields#KEY_FIELD_ID_START */
#define TL_LSM__SEQUENCE_FIELD_ID 2147483646
#define TL_LSM__KIND_FIELD_ID 2147483645
#define TL_LSM__ROW_ID_FIELD_ID 2147483642
#define TL_LSM__SYSTEM_STATS_TRUNCATE 128 /* code points, for _KEY_* whatever the options say (§5) */

/* ---- layout.c, file_options.c: columns and options of data files ---- */

/** Columns of the data files that this table writes, and how the columns of older files map to today's (§8). */
typedef struct tl_lsm__layout {
    const tl_type *file_type; /* ROW: [_KEY_*] _SEQUENCE_NUMBER _VALUE_KIND columns…, or the columns alone (append) */
    int32_t *field_ids;
    int32_t n_file_cols;
    int32_t n_key_cols;      /* _KEY_* columns in the file: 0 in thin mode and append tables */
    int32_t seq_col;         /* -1 in append tables */
    int32_t kind_col;        /* -1 in append tables */
    int32_t first_value;     /* the first column of the table */
    const tl_type *key_type; /* ROW of the trimmed primary key; arity 0 in append tables */
    pthread_mutex_t lock;    /* guards all below; what is there once stays as it is */
    tl_arena arena;
    struct tl_lsm__file_options *file_options;
    struct tl_lsm__file_schema **schemas;
    size_t n_schemas;
    tl_file_index_plan *index_plan; /* NULL: no column is indexed */
    bool index_plan_known;
} tl_lsm__layout;

/** A column of the table in files of one schema. */
typedef struct tl_lsm__file_column {
    char *name;              /* in the file; NULL: it is not there, all NULL */
    tl_evolution *evolution; /* how its values become today's; NULL: they are */
    char *unsupported;       /* why it cannot be read; NULL: it can */
} tl_lsm__file_column;

/** Where the columns of the table are in files of one schema, planned once. */
typedef struct tl_lsm__file_schema {
    int64_t schema_id;
    bool of_anchor;               /* a schema of the branch config->anchors */
    tl_table_schema *schema;      /* NULL: the table's own */
    bool newer;                   /* holds what today's columns cannot: rewriting its files would lose it */
    tl_lsm__file_column *columns; /* per column of today's row type */
    const tl_type *row_type;      /* all columns of the schema; borrowed from `schema` or the config */
} tl_lsm__file_schema;

tl_status tl_lsm__layout_create(tl_lsm_config *config, tl_error *err);
void tl_lsm__layout_free(tl_lsm__layout *layout, int32_t n_columns);
/** The schema that a file was written with. Borrowed from the config. Thread-safe. */
tl_status tl_lsm__file_schema_of(tl_lsm_config *config, const tl_data_file *file, const tl_lsm__file_schema **out, tl_error *err);
/** A file among these that a newer schema wrote, with columns or types that this config does not know; NULL: none. A writer that
 * began before ALTER TABLE must leave it to later ones. */
tl_status tl_lsm__newer_file(tl_lsm_config *config, tl_data_file *const *files, size_t n, const tl_data_file **out, tl_error *err);
/** TL_E_CONFLICT: `newer` must not be rewritten here. */
tl_status tl_lsm__refuse_newer(const tl_lsm_config *config, const tl_data_file *newer, tl_error *err);
/** TL_E_UNSUPPORTED: files of this format cannot hold what the table stores. */
tl_status tl_lsm__check_format(const tl_lsm_config *config, const tl_format *format, tl_error *err);
/** By the name that an option gives, in any case. */
tl_status tl_lsm__find_format(const char *name, const tl_format **out, tl_error *err);
/** How files of a level are written. */
typedef struct tl_lsm__file_options {
    struct tl_lsm__file_options *next;
    int32_t level;
    bool changelog;
    const tl_format *format;
    const char *compression;
    const char *stats_mode;
    tl_stats_spec *stats; /* per column of the file */
    bool any_stats;
    bool vectors; /* side files of VECTOR columns, which are called so */
} tl_lsm__file_options;

/** Borrowed from the config. Thread-safe. TL_E_UNSUPPORTED for formats that are not there. */
tl_status tl_lsm__file_options_of(tl_lsm_config *config, int32_t level, bool changelog, const tl_lsm__file_options **out,
                                  tl_error *err);
/** Fill out->stats (one for each column, allocated by the caller) and `any_stats` for files of these columns, of which `first_value`
 * come before the table's. */
tl_status tl_lsm__make_stats(const tl_lsm_config *config, const tl_type *file_type, int32_t first_value, tl_lsm__file_options *out,
                             tl_error *err);
/** Reads and merges in lookup mode see, per key, level 0 and the lowest other level (§13); not with first-row, which needs no
 * such rule. */
static inline bool tl_lsm__reads_lowest_level(const tl_lsm_config *config)
{
    return config->need_lookup && tl_merge_engine_get_kind(config->engine) != TL_ENGINE_FIRST_ROW;
}
/** Number of columns of the table. */
static inline int32_t tl_lsm__n_columns(const tl_lsm_config *config)
{
    return config->schema->row_type->n_fields;
}
/** Number of columns that can be read. Those after the table's (row tracking): the row's id, its sequence number. */
static inline int32_t tl_lsm__n_readable(const tl_lsm_config *config)
{
    return config->read_type->n_fields;
}

/* ---- shape.c: files of append tables that hold other columns than the table's ---- */

typedef struct tl_lsm__shape {
    const tl_type *file_type; /* ROW */
    int32_t n;
    int32_t *columns;         /* per column of the file: which it is of what can be read */
    int32_t *field_ids;
    const char **write_cols;  /* names that the entry tells, of file_type; NULL: it tells none, the file holds all columns */
    tl_lsm__file_options options;
} tl_lsm__shape;

/* ---- blob_values.c: BLOB columns that are kept as descriptors, and what these name ---- */

struct tl_lsm__blobs {
    bool *described; /* per column of the table: blob-descriptor-field */
    bool *outside;   /* per column: blob-external-storage-field */
    char *folder;    /* blob-external-storage-path as it is set; NULL: it is not */
    char **allowed;  /* local folders of blob-descriptor.allowed-paths */
    int32_t n_allowed;
};
tl_status tl_lsm__blobs_parse(tl_lsm_config *config, const tl_options *options, tl_error *err);
void tl_lsm__blobs_free(struct tl_lsm__blobs *blobs);
/** Whether data files hold descriptors of the column's values. Columns of row tracking are none. */
static inline bool tl_lsm__is_described(const tl_lsm_config *config, int32_t column)
{
    return config->blobs != NULL && column < tl_lsm__n_columns(config) && config->blobs->described[column];
}

/** Files that descriptors name, some of them open. One thread. */
typedef struct tl_lsm__blob_files tl_lsm__blob_files;
tl_status tl_lsm__blob_files_create(const tl_lsm_config *config, tl_lsm__blob_files **out, tl_error *err);
void tl_lsm__blob_files_free(tl_lsm__blob_files *files); /* NULL is fine */
/**
 * The column with the bytes that its descriptors name. `all`: every value must be one (TL_E_INVALID); else others stay as they are.
 * TL_E_INVALID, TL_E_UNSUPPORTED: a file that must not or cannot be opened, or is shorter.
 */
tl_status tl_lsm__blobs_fetch(tl_lsm__blob_files *files, const tl_column *col, bool all, tl_column **out, tl_error *err);
/** Rows of the batch from `from` on (one at least, if there is one) whose values in these of its columns take no more than 64 MB. */
tl_status tl_lsm__blobs_room(tl_lsm__blob_files *files, const tl_batch *batch, const int32_t *columns, int32_t n, bool all, int64_t from, int64_t *rows,
                             tl_error *err);
/** A reader whose batches have bytes where `inner` has descriptors; `columns`: what its columns are of the table. Takes `inner` over, also on failure. */
tl_status tl_lsm__blobs_follow(tl_lsm_config *config, const int32_t *columns, int32_t n, tl_reader *inner_take, tl_reader **out, tl_error *err);
/** TL_E_UNSUPPORTED: the filter asks for values of a column of descriptors. */
tl_status tl_lsm__blobs_check_filter(const tl_lsm_config *config, const tl_predicate *pred, tl_error *err);

/** What kind of file a column of the table has its values in. */
typedef enum tl_lsm__place { TL_LSM__IN_DATA_FILES, TL_LSM__IN_BLOB_FILES, TL_LSM__IN_VECTOR_FILES } tl_lsm__place;
static inline tl_lsm__place tl_lsm__place_of(const tl_lsm_config *config, int32_t column)
{
    const tl_type *type = config->schema->row_type->fields[column].type;
    if (type->kind == TL_BLOB)
        return tl_lsm__is_described(config, column) ? TL_LSM__IN_DATA_FILES : TL_LSM__IN_BLOB_FILES;
    return type->kind == TL_VECTOR && config->vector_format != NULL && config->data_evolution ? TL_LSM__IN_VECTOR_FILES : TL_LSM__IN_DATA_FILES;
}
/** Columns of files of one kind. `named`: entries tell them. */
tl_status tl_lsm__shape_create(tl_lsm_config *config, const int32_t *columns, int32_t n, tl_lsm__place place, bool named, tl_lsm__shape **out,
                               tl_error *err);
/** Of rewritten files with row tracking: the table's columns, `_ROW_ID`, `_SEQUENCE_NUMBER`, which is NULL where rows change (`changes`). */
tl_status tl_lsm__shape_of_rewrite(tl_lsm_config *config, bool changes, tl_lsm__shape **out, tl_error *err);
void tl_lsm__shape_free(tl_lsm__shape *shape);
static inline void tl_lsm__shape_freep(tl_lsm__shape **shape)
{
    tl_lsm__shape_free(*shape);
}

/* ---- bucket.c: one bucket's place, names of files, lists of files ---- */

/** A bucket's folder and partition; immutable, reference counted. */
typedef struct tl_lsm__bucket {
    tl_lsm_config *config; /* ref held */
    tl_bytes partition;    /* BinaryRow with arity */
    tl_batch *partition_row;
    int32_t bucket;
    char *dir;
    tl_dv_set *vectors; /* of the bucket's data files, ref held; NULL: none. A writer changes it while no compaction runs */
    struct tl_lsm__recent *recent; /* rows of files just written; NULL: none are kept */
    tl_pool *pool;                 /* for the columns of a batch that is read; NULL: the calling thread */
    atomic_int refs;
} tl_lsm__bucket;

/* ---- external_paths.c ---- */

typedef struct tl_lsm__external tl_lsm__external;
/** *out is NULL where the options name no folders or the strategy is none. TL_E_INVALID, TL_E_UNSUPPORTED: wrong options. */
tl_status tl_lsm__external_create(const tl_options *options, tl_lsm__external **out, tl_error *err);
void tl_lsm__external_free(tl_lsm__external *external);
/** Where the next new file of a bucket goes, as manifests have it (file:/…); tl_free. NULL if out of memory. */
char *tl_lsm__external_next(const tl_lsm__bucket *bucket, const char *name);

tl_status tl_lsm__bucket_create(tl_lsm_config *config, tl_bytes_view partition, int32_t bucket, tl_lsm__bucket **out,
                                tl_error *err);
tl_lsm__bucket *tl_lsm__bucket_ref(tl_lsm__bucket *bucket);
void tl_lsm__bucket_unref(tl_lsm__bucket *bucket);
/** tl_free; NULL if out of memory. */
char *tl_lsm__bucket_file_path(const tl_lsm__bucket *bucket, const tl_data_file *file);
/** Where a new index file of the bucket goes; tl_free, NULL if out of memory. */
char *tl_lsm__index_path(const tl_lsm__bucket *bucket, const char *name);
/** Remove a file that no snapshot knows. A failure leaves an orphan, which is harmless, so there is no status. */
void tl_lsm__bucket_remove(const tl_lsm__bucket *bucket, const tl_data_file *file);

/** Names of new files: PREFIX UUID-N.FORMAT. One thread. */
typedef struct tl_lsm__names {
    char uuid[37];
    int32_t next;
} tl_lsm__names;
char *tl_lsm__names_next(tl_lsm__names *names, const tl_lsm_config *config, const tl_lsm__file_options *options);

/** All or nothing. */
tl_status tl_lsm__list_add_all(tl_file_list *list, const tl_file_list *from, tl_error *err);
/** Index of the very object, -1 if absent. */
int64_t tl_lsm__list_find(const tl_file_list *list, const tl_data_file *file);
int64_t tl_lsm__list_find_name(const tl_file_list *list, const char *name);
void tl_lsm__list_remove_at(tl_file_list *list, size_t i);
static inline void tl_lsm__list_clear(tl_file_list *list)
{
    tl_file_list_deinit(list);
}
int64_t tl_lsm__list_bytes(const tl_file_list *list);
/** Level and sequence numbers of a run's files, for a merge; the reader is left to the caller. */
tl_merge_input tl_lsm__merge_input(const tl_file_list *run);

/* ---- file_indexes.c ---- */

/** What is indexed of new data files; NULL: nothing. Borrowed from the config. Thread-safe. Fails on wrong options. */
tl_status tl_lsm__index_plan_of(tl_lsm_config *config, const tl_file_index_plan **out, tl_error *err);
/** Finish the indexes of a file that is written, and put them into its entry or beside it. On failure nothing is left behind. */
tl_status tl_lsm__index_attach(const tl_lsm__bucket *bucket, tl_file_index_writer *writer, tl_data_file *file, tl_error *err);
/** A filter on a file as its indexes are asked: in the names and types of the file. */
typedef struct tl_lsm__index_filter {
    const tl_predicate *pred;          /* NULL: none */
    const tl_type *type;               /* that `pred` is bound to */
    const tl_map_filter *map_filter;   /* bound to the table's row type; NULL: none */
    const tl_lsm__file_schema *schema; /* where its columns are in the file */
} tl_lsm__index_filter;
/** Which rows of a file can pass, as its index knows. */
tl_status tl_lsm__index_ask(const tl_lsm__bucket *bucket, const tl_data_file *file, const tl_lsm__index_filter *filter,
                            tl_file_index_verdict *verdict, tl_row_ranges *out, tl_error *err);

/* ---- sections.c ---- */

/** Normalised keys of files: row 2i is the smallest, 2i + 1 the largest key of file i. */
tl_status tl_lsm__file_keys(const tl_lsm_config *config, tl_data_file *const *files, size_t n, tl_keys **out, tl_error *err);
/** tl_sections() by the ranges of other columns, those that _MIN_KEY and _MAX_KEY hold. */
tl_status tl_lsm__sections_by(const tl_type *range_type, tl_data_file *const *files, size_t n_files, tl_section **out, size_t *n, tl_error *err);
/** Sort by smallest key, and check that no two files overlap (TL_E_CORRUPT otherwise: such a level was never valid). */
tl_status tl_lsm__sort_run(const tl_lsm_config *config, tl_file_list *files, tl_error *err);

/* ---- scan.c: data files as batches of table columns ---- */

typedef enum tl_lsm__push { TL_LSM__PUSH_NONE, TL_LSM__PUSH_KEYS, TL_LSM__PUSH_ALL } tl_lsm__push;

/** What one read wants of its files; immutable, shared by its readers. */
typedef struct tl_lsm__scan {
    tl_lsm__bucket *bucket;
    const tl_type *type; /* ROW of the batches: columns `columns` of the table */
    int32_t *columns;
    int32_t n_columns;
    int32_t *key_idx; /* of the trimmed key in `type`; NULL if not all are read */
    bool with_kind;   /* set row_kind (NULL where all rows are +I) */
    bool with_seq;
    bool drop_deletes; /* leave rows of kind -U and -D out */
    bool with_numbers; /* rows' numbers in their file can be asked for */
    bool drop_expired; /* leave rows out whose time is over (record-level expiry): the scan has all columns of the table in order */
    int64_t expiry_cutoff;
    int64_t batch_rows;
    tl_predicate *pred;     /* bound to `type`; NULL: none */
    tl_predicate *key_pred; /* the part of it that looks at key columns only; NULL: none */
    tl_map_filter *map_filter; /* asked of the indexes of every file: bound to the table's row type; NULL: none */
    atomic_int refs;
} tl_lsm__scan;

/** Columns of the table to read, in this order; `pred` is bound to the table's row type. */
tl_status tl_lsm__scan_create(tl_lsm__bucket *bucket, const int32_t *columns, int32_t n_columns, const tl_predicate *pred,
                              tl_lsm__scan **out, tl_error *err);
tl_lsm__scan *tl_lsm__scan_ref(tl_lsm__scan *scan);
void tl_lsm__scan_unref(tl_lsm__scan *scan);
static inline void tl_lsm__scan_unrefp(tl_lsm__scan **scan)
{
    tl_lsm__scan_unref(*scan);
}
/** One file; rows that fail `pred` (bound to scan->type, copied; NULL: none) are left out. */
tl_status tl_lsm__file_open(tl_lsm__scan *scan, const tl_data_file *file, const tl_predicate *pred, tl_reader **out,
                            tl_error *err);
/** Numbers in the file of the rows of the batch last read, as long as the reader is not called again; the scan has `with_numbers`. */
const int64_t *tl_lsm__file_row_numbers(const tl_reader *reader);
/** Files one after the other, each opened when it is its turn; with data evolution groups of files with the same rows. */
tl_status tl_lsm__run_open(tl_lsm__scan *scan, tl_data_file *const *files, size_t n, tl_lsm__push push, tl_reader **out,
                           tl_error *err);

/* ---- evolution_read.c: rows put together from files that hold different columns of them ---- */

/** `filters`: rows that fail scan->pred are left out. */
tl_status tl_lsm__evolution_open(tl_lsm__scan *scan, tl_data_file *const *files, size_t n, bool filters, tl_reader **out, tl_error *err);

/** Rows that are no -U or -D; `numbers` (may be NULL) follow. Takes the batch over, also when it fails. */
tl_status tl_lsm__drop_retracts(tl_batch *batch, int64_t *numbers, tl_batch **out, tl_error *err);

/* ---- expiry.c: rows whose time is over ---- */

/** After the keys and `record_expire_ms` are known: find the column of times. TL_E_INVALID if it cannot be one. */
tl_status tl_lsm__expiry_check(tl_lsm_config *config, const char *field, tl_error *err);
/** Seconds since 1970: rows whose time is before it are expired. */
int64_t tl_lsm__expiry_cutoff(const tl_lsm_config *config);
bool tl_lsm__is_expired(const tl_column *times, int64_t i, int64_t cutoff);
/** Rows that are not expired, of a scan with `drop_expired`. Takes the batch over, also when it fails. */
tl_status tl_lsm__drop_expired(const tl_lsm__scan *scan, tl_batch *batch, tl_batch **out, tl_error *err);
/** Whether the file's statistics tell of an expired row; false without record-level expiry. */
tl_status tl_lsm__file_has_expired(tl_lsm_config *config, const tl_data_file *file, bool *out, tl_error *err);

/* ---- recent.c: rows of files that a writer has just made ---- */

/** All rows of one file, immutable once they are in a tl_lsm__recent. */
typedef struct tl_lsm__kept {
    tl_batch **batches; /* of the table's columns, with seq */
    size_t n;
    size_t cap;
    int64_t bytes;
    atomic_int refs;
} tl_lsm__kept;
/** NULL if out of memory. */
tl_lsm__kept *tl_lsm__kept_create(void);
void tl_lsm__kept_unref(tl_lsm__kept *kept); /* NULL is fine */
/** False: the file has become too large to be kept, or there is no memory. */
bool tl_lsm__kept_add(tl_lsm__kept *kept, const tl_lsm_config *config, const tl_batch *batch);

/** Thread-safe. */
typedef struct tl_lsm__recent tl_lsm__recent;
tl_status tl_lsm__recent_create(tl_lsm_config *config, tl_lsm__recent **out, tl_error *err);
void tl_lsm__recent_free(tl_lsm__recent *recent); /* NULL is fine */
/** Takes `rows` over. Where there is no room for them they are not kept. */
void tl_lsm__recent_add(tl_lsm__recent *recent, const char *name, tl_lsm__kept *rows);
/** NULL: not there; else a ref. */
tl_lsm__kept *tl_lsm__recent_get(tl_lsm__recent *recent, const char *name);
void tl_lsm__recent_forget(tl_lsm__recent *recent, const char *name);
/** A reader of them as the file's would be; takes `rows` over, also when it fails. */
tl_status tl_lsm__kept_open(tl_lsm__scan *scan, tl_lsm__kept *rows, int32_t level, tl_reader **out, tl_error *err);

/** Set in `held` which of the table's columns a file holds. */
tl_status tl_lsm__columns_held(tl_lsm_config *config, const tl_data_file *file, bool *held, tl_error *err);

/* ---- evolution_compact.c ---- */

/** Plan and rewrite the files of a partition into msg->compact_before and compact_after. On failure files made lie in compact_after. */
tl_status tl_lsm__evolution_compact(tl_lsm__bucket *bucket, tl_data_file *const *files, size_t n, tl_commit_message *msg, tl_error *err);

/* ---- candidates.c: late materialisation where runs are merged ---- */

/**
 * Keys (a batch of the key columns, ascending, each once; NULL: none) of the records of a section that pass scan->pred. *few is
 * false, and nothing given, if there are too many of them to be worth a second reading. The scan has the key columns.
 */
tl_status tl_lsm__candidates(tl_lsm__scan *scan, const tl_section *section, tl_batch **out, bool *few, tl_error *err);
/** `pred` and that the key is one of `keys`, as far as predicates can say it; bound to the table's row type. */
tl_status tl_lsm__among(const tl_lsm_config *config, const tl_batch *keys, const tl_predicate *pred, tl_predicate **out, tl_error *err);

/* ---- vectors.c: deletion vectors as writers make them ---- */

/** Rows that a compaction found replaced, by file. */
typedef struct tl_lsm__deletions tl_lsm__deletions;
tl_status tl_lsm__deletions_create(tl_lsm__deletions **out, tl_error *err);
void tl_lsm__deletions_free(tl_lsm__deletions *deletions);
tl_status tl_lsm__deletions_add(tl_lsm__deletions *deletions, const tl_data_file *file, const int64_t *rows, size_t n, tl_error *err);

typedef struct tl_lsm__vector_change {
    tl_data_file *file; /* ref held */
    tl_dv *dv;          /* its vector from now on, ref held; NULL: it needs none any more */
} tl_lsm__vector_change;
typedef struct tl_lsm__vector_changes {
    tl_lsm__vector_change *items;
    size_t n;
    size_t cap;
} tl_lsm__vector_changes;
void tl_lsm__vector_changes_deinit(tl_lsm__vector_changes *changes);
/** Append the new vectors of the files that lost rows. */
tl_status tl_lsm__deletions_finish(tl_lsm__deletions *deletions, const tl_lsm__bucket *bucket, tl_lsm__vector_changes *out, tl_error *err);
/** The file was rewritten: note that its vector, if it has one, goes. */
tl_status tl_lsm__vector_gone(tl_dv_set *vectors, const tl_data_file *file, tl_lsm__vector_changes *out, tl_error *err);
/** Write vectors of the files named into index files of about `bytes_max` bytes; at least one, which may hold none. */
tl_status tl_lsm__write_vectors(const tl_lsm__bucket *bucket, tl_lsm__names *names, tl_dv_set *vectors, const char *const *files, size_t n,
                                int64_t bytes_max, tl_index_list *out, tl_error *err);
/** A message of a compaction that failed: its new files go, and it is empty. */
void tl_lsm__drop_message(const tl_lsm__bucket *bucket, tl_commit_message *msg);
void tl_lsm__index_remove(const tl_lsm__bucket *bucket, const tl_index_file *file);
tl_status tl_lsm__drop_dead_vectors(tl_dv_set *vectors, tl_data_file *const *files, size_t n_files, tl_error *err);

/* ---- data_writer.c ---- */

typedef struct tl_lsm__writer_spec {
    tl_lsm__bucket *bucket;
    tl_lsm__names *names; /* must outlive the writer */
    bool changelog;
    int32_t level;
    int32_t file_source; /* 0 APPEND, 1 COMPACT */
    int64_t *next_seq;   /* append tables: number of the next row, advanced; must outlive the writer. NULL: each file begins with 0 */
    const tl_lsm__shape *shape; /* columns of the files, among those of the batches; NULL: the layout's. Must outlive the writer */
    int64_t target_bytes;       /* 0: target-file-size */
} tl_lsm__writer_spec;

/** Writes sorted batches into files that roll at target-file-size, and describes them. */
typedef struct tl_lsm__writer tl_lsm__writer;
tl_status tl_lsm__writer_create(const tl_lsm__writer_spec *spec, tl_lsm__writer **out, tl_error *err);
/**
 * A writer of other columns of the same rows, made from `spec` and owned by `writer`: it gets what `writer` gets, ends its file where
 * `writer` does, and its files follow that of `writer`.
 */
tl_status tl_lsm__writer_add_side(tl_lsm__writer *writer, const tl_lsm__writer_spec *spec, tl_error *err);
/** Rows of all the table's columns, with seq (keyed tables). */
tl_status tl_lsm__writer_write(tl_lsm__writer *writer, const tl_batch *batch, tl_error *err);
/** Close the open file. Files stay the writer's until _finish(). */
tl_status tl_lsm__writer_roll(tl_lsm__writer *writer, tl_error *err);
/** Close, and hand the files over by appending them to `out`. */
tl_status tl_lsm__writer_finish(tl_lsm__writer *writer, tl_file_list *out, tl_error *err);
/** Removes every file that was not handed over. */
void tl_lsm__writer_free(tl_lsm__writer *writer);
static inline void tl_lsm__writer_freep(tl_lsm__writer **writer)
{
    tl_lsm__writer_free(*writer);
}
/** Estimated bytes of the open file. */
int64_t tl_lsm__writer_open_bytes(const tl_lsm__writer *writer);
/** Memory that closing the open file would free. */
int64_t tl_lsm__writer_memory_bytes(const tl_lsm__writer *writer);

/* What entries of files are filled from, also for files that others wrote (adopt.c). */
/** Value statistics under the modes `specs`; `shape` NULL: of the table's columns. */
tl_status tl_lsm__value_stats(const tl_lsm_config *config, const tl_lsm__shape *shape, const tl_stats_spec *specs, const tl_write_result *result,
                              tl_data_file *file, tl_error *err);
/** Keys and sequence numbers of a file of an append table. */
tl_status tl_lsm__no_keys(tl_data_file *file, int64_t first_seq, int64_t rows, tl_error *err);
/** The reference stores the wall clock of its zone as if it were UTC. */
int64_t tl_lsm__local_wall_clock_ms(const tl_clock *clock);

/* ---- levels.c ---- */

typedef struct tl_lsm__levels {
    const tl_lsm_config *config;
    tl_file_list *levels; /* [0]: newest first; above: in key order */
    int32_t n_levels;
} tl_lsm__levels;
tl_status tl_lsm__levels_init(tl_lsm__levels *levels, const tl_lsm_config *config, tl_data_file *const *files, size_t n,
                              tl_error *err);
void tl_lsm__levels_deinit(tl_lsm__levels *levels);
/** Take `before` out (by identity of the object) and put `after` in. On failure nothing changed. */
tl_status tl_lsm__levels_update(tl_lsm__levels *levels, const tl_file_list *before, const tl_file_list *after, tl_error *err);
int32_t tl_lsm__levels_run_count(const tl_lsm__levels *levels);
/** Highest level that holds files, -1 if there are none. */
int32_t tl_lsm__levels_highest(const tl_lsm__levels *levels);

/* ---- pick.c ---- */

/** A sorted run as the picker sees it: one file of level 0, or a whole level. */
typedef struct tl_lsm__run {
    int32_t level;
    int64_t bytes;
    int64_t stale; /* of these, how many take the place of rows of the oldest run: an estimate (stale.c) */
} tl_lsm__run;

/** The first `n_runs` runs are compacted into `output_level`; n_runs == 0: nothing to do. */
typedef struct tl_lsm__pick {
    size_t n_runs;
    int32_t output_level;
} tl_lsm__pick;

typedef struct tl_lsm__picker {
    const tl_lsm_config *config;
    int64_t last_full_ms; /* TL_ABSENT: never */
    int32_t triggers;     /* since level 0 was forced up, for lookup-compact = gentle */
    bool patient;         /* nobody waits for this pick's result: small files may wait for more of their kind */
    double fresh;         /* share of the bytes above the oldest run that the last full compaction added to it; < 0: there was none (stale.c) */
    double spread;        /* 0 … 1, another for each bucket: they do not all compact at once */
} tl_lsm__picker;

/** `bucket`: its number. */
void tl_lsm__picker_init(tl_lsm__picker *picker, const tl_lsm_config *config, int32_t bucket);
tl_lsm__pick tl_lsm__picker_pick(tl_lsm__picker *picker, int32_t n_levels, const tl_lsm__run *runs, size_t n);

/** Universal compaction alone, without what lookups need. */
tl_lsm__pick tl_lsm__picker_universal(tl_lsm__picker *picker, int32_t n_levels, const tl_lsm__run *runs, size_t n);

/* ---- stale.c ---- */

/** Whether the picker looks at `stale` of the runs: not where it has learned better, or must not (pick.c). */
bool tl_lsm__wants_stale(const tl_lsm__picker *picker);
/** Estimate `stale`, which is 0, of the runs, which are those of the levels, newest first. */
void tl_lsm__note_stale(const tl_lsm_config *config, const tl_lsm__levels *levels, tl_lsm__run *runs, size_t n);
/** A compaction into level `top`, where files were, has made `after` from `before`. */
void tl_lsm__learn_stale(tl_lsm__picker *picker, int32_t top, const tl_file_list *before, const tl_file_list *after);
/** What compacting all runs would give back. */
int64_t tl_lsm__stale_bytes(const tl_lsm__picker *picker, const tl_lsm__run *runs, size_t n);

/* ---- curve.c, sort_rows.c: rows in an order of their own ---- */

/** TL_E_INVALID if rows cannot be brought into it. */
tl_status tl_lsm__order_check(const tl_lsm_config *config, const tl_order *order, tl_error *err);
/** Smallest and largest value of a column, as numbers: what a curve spreads. One for each column of the order. */
typedef struct tl_lsm__scale {
    uint64_t min, max;
} tl_lsm__scale;
/** By the statistics of the files to be sorted; all numbers where those are missing. */
tl_status tl_lsm__scale_of_files(const tl_lsm_config *config, const tl_order *order, const tl_file_list *files, tl_lsm__scale *scales, tl_error *err);
/** Keys whose order is the rows'. `rows` have the table's columns first. */
tl_status tl_lsm__order_keys(const tl_order *order, const tl_lsm__scale *scales, const tl_batch *rows, tl_keys **out, tl_error *err);
typedef struct tl_lsm__spill tl_lsm__spill; /* spill.c */
/** Sorts rows of a ROW type; `type`, `order` and `scales` must outlive it. One thread. */
typedef struct tl_lsm__sorter tl_lsm__sorter;
tl_status tl_lsm__sorter_create(tl_lsm_config *config, const tl_type *type, const tl_order *order, const tl_lsm__scale *scales,
                                tl_lsm__sorter **out, tl_error *err);
/** Takes the batch, also on failure. */
tl_status tl_lsm__sorter_add(tl_lsm__sorter *s, tl_batch *batch_take, tl_error *err);
/** All rows in order into the writer. Once, at the end. */
tl_status tl_lsm__sorter_write(tl_lsm__sorter *s, tl_lsm__writer *writer, tl_error *err);
/** The same into a temporary file of its own. */
tl_status tl_lsm__sorter_spill(tl_lsm__sorter *s, tl_lsm__spill **out, tl_error *err);
void tl_lsm__sorter_free(tl_lsm__sorter *s); /* removes its temporary files */

/* ---- cluster.c ---- */

/** Files of an append bucket that are to be clustered now, and the level that their rows get; none: nothing is to be done. */
tl_status tl_lsm__cluster_choose(tl_lsm__bucket *bucket, const tl_cluster_spec *spec, tl_data_file *const *files, size_t n, tl_file_list *out,
                                 int32_t *level, tl_error *err);
/** Their rows, sorted, as new files of the level. */
tl_status tl_lsm__cluster_rewrite(tl_lsm__bucket *bucket, const tl_order *order, const tl_file_list *files, int32_t level, tl_file_list *out,
                                  tl_error *err);

/* ---- compaction.c ---- */

/** One compaction: its inputs (set before it runs) and results. Runs on any thread. */
typedef struct tl_lsm__compaction {
    tl_lsm__bucket *bucket; /* ref held */
    tl_file_list files;
    tl_file_list older; /* files of levels above output_level, for before-images */
    int32_t output_level;
    int32_t max_level;
    bool drop_deletes;
    bool rewrite_each; /* rewrite file by file (force-rewrite-all-files, or files with deleted rows) */
    bool given_up;     /* a value does not fit its type: nothing was made, the files stay */
    atomic_bool cancelled;
    /* results; on failure empty, and the files made were removed */
    tl_file_list before;
    tl_file_list after;
    tl_file_list changelog;
    tl_lsm__vector_changes vectors;
} tl_lsm__compaction;
void tl_lsm__compaction_deinit(tl_lsm__compaction *compaction);
tl_status tl_lsm__compaction_run(tl_lsm__compaction *compaction, tl_error *err);
/** The runs of a section merged; `scan` has all columns. */
tl_status tl_lsm__merge_section(tl_lsm__scan *scan, const tl_section *section, const tl_merge_spec *spec, tl_reader **out, tl_error *err);

/* ---- cluster_keyed.c: with pk-clustering-override ---- */

/** As tl_lsm__compaction_run(): `files` are those of level 0, `older` all others; `rewrite_each`: everything is merged. */
tl_status tl_lsm__recluster(tl_lsm__compaction *compaction, tl_error *err);

/* ---- merge_hooks.c: what merges do besides merging (§13) ---- */

/** Batches and compactions of tables in lookup mode: per key, level 0 and the lowest other level count. */
extern const tl_group_hook tl_lsm__lookup_read_hook;

typedef struct tl_lsm__older tl_lsm__older;
/** State of the hooks that write changelogs. */
typedef struct tl_lsm__changelog {
    tl_lsm__bucket *bucket;
    tl_lsm__writer *writer; /* of the changelog; NULL: none is wanted */
    tl_lsm__older *older;   /* lookup only */
    bool keys_only;         /* `older` knows keys and places only: what is found is deleted, not merged */
    tl_lsm__deletions *deletions; /* records found in `older` are deleted there; NULL: no deletion vectors */
    int64_t expiry_cutoff;  /* record-level expiry */
    int32_t max_level;      /* full-compaction only: of the options */
} tl_lsm__changelog;
void tl_lsm__lookup_changelog_hook(tl_lsm__changelog *changelog, tl_group_hook *out);
/** Merge engine first-row: rows of keys that are there already vanish, the others are told as new. */
void tl_lsm__first_row_hook(tl_lsm__changelog *changelog, tl_group_hook *out);
/** Before-images (tl_lsm__older_find()) of the keys of `n` groups: `asked` counts groups, ascending. */
tl_status tl_lsm__find_older(tl_lsm__changelog *changelog, const tl_groups *groups, const uint32_t *asked, uint32_t n,
                             tl_rowref *found, tl_error *err);
void tl_lsm__full_changelog_hook(tl_lsm__changelog *changelog, tl_group_hook *out);
/** Producer `input`: every record of the groups goes into the changelog, in order. */
void tl_lsm__input_changelog_hook(tl_lsm__changelog *changelog, tl_group_hook *out);
/** Rows of several batches of one type, with kinds and sequence numbers. */
tl_status tl_lsm__gather_rows(const tl_batch *const *sources, uint32_t n_sources, const tl_rowref *refs, int64_t n,
                              tl_batch **out, tl_error *err);
/** Hand out the records themselves, unmerged. */
extern const tl_group_hook tl_lsm__keep_all_hook;

/* ---- older.c: before-images from the levels below a compaction ---- */

/**
 * @param files      files of levels > 0, any order; refs taken
 * @param key_count  about how many keys will be asked for: decides between reading through and looking up
 * @param keys_only  only whether a key is there, and where, matters: the batches found hold nothing but keys
 */
tl_status tl_lsm__older_create(tl_lsm__bucket *bucket, const tl_file_list *files, int64_t key_count, bool keys_only,
                               tl_lsm__older **out, tl_error *err);
void tl_lsm__older_free(tl_lsm__older *older);
/**
 * Records of `n` keys, ascending and larger than those of the calls before; refs[i].src counts the batches of
 * tl_lsm__older_batches(), which are valid until the next call; refs[i].row is TL_ROW_NULL where there is none.
 * The record of the lowest level wins, whatever its kind.
 */
tl_status tl_lsm__older_find(tl_lsm__older *older, const tl_column *const *key_cols, int64_t n, tl_rowref *refs, tl_error *err);
const tl_batch *const *tl_lsm__older_batches(const tl_lsm__older *older, uint32_t *n);
/** The records found in the last call are deleted in their files (tables with deletion vectors only). */
tl_status tl_lsm__older_delete_found(const tl_lsm__older *older, tl_lsm__deletions *deletions, tl_error *err);

/* ---- write_buffer.c, spill.c ---- */

typedef struct tl_lsm__buffer tl_lsm__buffer;
tl_status tl_lsm__buffer_create(tl_lsm__bucket *bucket, tl_lsm__buffer **out, tl_error *err);
void tl_lsm__buffer_free(tl_lsm__buffer *buffer);
/** Takes refs on the columns; rows get the sequence numbers from `first_seq` on. */
tl_status tl_lsm__buffer_add(tl_lsm__buffer *buffer, const tl_batch *batch, int64_t first_seq, tl_error *err);
/** Memory held, with what sorting it will need. */
int64_t tl_lsm__buffer_bytes(const tl_lsm__buffer *buffer);
int64_t tl_lsm__buffer_rows(const tl_lsm__buffer *buffer); /* spilled ones included */
/** Move what is in memory into a sorted run on disk. */
tl_status tl_lsm__buffer_spill(tl_lsm__buffer *buffer, tl_error *err);
/** Merge everything into `data`, and write every record into `changelog` unless that is NULL. The buffer is empty afterwards,
 * also on failure. */
tl_status tl_lsm__buffer_flush(tl_lsm__buffer *buffer, tl_lsm__writer *data, tl_lsm__writer *changelog, tl_error *err);

/** A temporary file of batches. */
tl_status tl_lsm__spill_create(tl_lsm_config *config, tl_lsm__spill **out, tl_error *err);
tl_status tl_lsm__spill_write(tl_lsm__spill *spill, const tl_batch *batch, tl_error *err);
/** No more writes; the file is readable. */
tl_status tl_lsm__spill_finish(tl_lsm__spill *spill, tl_error *err);
int64_t tl_lsm__spill_bytes(const tl_lsm__spill *spill);
/** Removes the file. Readers must be gone. */
void tl_lsm__spill_free(tl_lsm__spill *spill);
/** Batches as written, `type` being the ROW type they had. The spill must outlive the reader. */
tl_status tl_lsm__spill_open(tl_lsm__spill *spill, const tl_type *type, tl_reader **out, tl_error *err);

/* ---- bucket_writer.c: what both kinds of bucket writers share ---- */

typedef struct tl_lsm__writer_ops {
    void (*free)(tl_bucket_writer *writer);
    tl_status (*write)(tl_bucket_writer *writer, const tl_batch *batch, tl_error *err);
    tl_status (*has_room)(const tl_bucket_writer *writer, int64_t n_rows, tl_error *err); /* NULL: always */
    int64_t (*bytes)(const tl_bucket_writer *writer);
    tl_status (*flush)(tl_bucket_writer *writer, tl_error *err);
    tl_status (*compact)(tl_bucket_writer *writer, bool full, tl_error *err);
    tl_status (*begin_prepare)(tl_bucket_writer *writer, bool wait_compaction, tl_error *err);
    tl_status (*prepare)(tl_bucket_writer *writer, bool wait_compaction, tl_commit_message *out,
                         tl_error *err); /* second half */
    bool (*idle)(const tl_bucket_writer *writer);
} tl_lsm__writer_ops;
struct tl_bucket_writer {
    const tl_lsm__writer_ops *ops;
    tl_lsm__bucket *bucket; /* ref held */
    int32_t total_buckets;
    bool failed; /* a write was lost: everything after it would be wrong */
    bool keeps_ids; /* batches have the columns of row tracking behind the table's, which are stored (append_writer.c) */
    bool begun;  /* prepare has begun, and nothing was written since */
    tl_pool *pool;
    tl_task_group *task; /* the running compaction; NULL: none */
    tl_file_list new_files;
    tl_file_list new_changelog;
    tl_file_list compact_before;
    tl_file_list compact_after;
    tl_file_list compact_changelog;
    tl_lsm__names index_names;
    bool vectors_changed; /* since they were written last */
    char *vectors_origin; /* name of the index file of the bucket; "": none, NULL: not known */
    char *vectors_base;   /* for the next message: what its index file takes the place of */
    tl_index_list compact_indexes;
};

/** Files of the bucket belong to the writer until they are drained. */
void tl_lsm__writer_base_init(tl_bucket_writer *base, const tl_lsm__writer_ops *ops, tl_lsm__bucket *bucket,
                              int32_t total_buckets, tl_pool *pool);
/** Removes the files that were not drained. No compaction may be running. */
void tl_lsm__writer_base_deinit(tl_bucket_writer *base);
/** Number of the next row of a bucket with these files (§11). */
int64_t tl_lsm__next_seq(tl_data_file *const *files, size_t n);
tl_status tl_lsm__task_start(tl_bucket_writer *base, tl_task_fn fn, void *arg, tl_error *err);
/** With `blocking`, waits. *ended: there was a compaction and it is over, with the status returned. */
tl_status tl_lsm__task_poll(tl_bucket_writer *base, bool blocking, bool *ended, tl_error *err);
/**
 * Book a compaction's result (Java: MergeTreeWriter#updateCompactResult): files made and consumed since the last drain vanish
 * at once, unless they were or became upgrades. On failure nothing changed.
 */
tl_status tl_lsm__book_compaction(tl_bucket_writer *base, const tl_file_list *before, const tl_file_list *after,
                                  const tl_file_list *changelog, tl_error *err);
/** Remove the files that a compaction made, when its result cannot be booked. */
void tl_lsm__discard_compaction(const tl_bucket_writer *base, const tl_file_list *before, const tl_file_list *after,
                                const tl_file_list *changelog);
/** Make the changes of a compaction the bucket's; the next prepare tells of them. */
tl_status tl_lsm__apply_vectors(tl_bucket_writer *base, const tl_lsm__vector_changes *changes, tl_error *err);
/** Write the bucket's vectors if some changed. */
tl_status tl_lsm__prepare_vectors(tl_bucket_writer *base, tl_error *err);
/** Move all lists into a message. */
tl_status tl_lsm__drain(tl_bucket_writer *base, tl_commit_message *out, tl_error *err);

tl_status tl_lsm__keyed_writer_create(tl_lsm__bucket *bucket, int32_t total_buckets, tl_data_file *const *files, size_t n_files,
                                      tl_pool *pool, tl_bucket_writer **out, tl_error *err);
tl_status tl_lsm__append_writer_create(tl_lsm__bucket *bucket, int32_t total_buckets, tl_data_file *const *files,
                                       size_t n_files, tl_pool *pool, tl_bucket_writer **out, tl_error *err);

/** Of bucket TL_POSTPONE_BUCKET; the bucket's config comes from tl_lsm_config_create_postpone(). */
tl_status tl_lsm__postpone_writer_create(tl_lsm__bucket *bucket, int32_t total_buckets, tl_bucket_writer **out, tl_error *err);

/* ---- append_vectors.c ---- */

typedef struct tl_lsm__file_groups {
    tl_file_list *items;
    size_t n;
} tl_lsm__file_groups;
void tl_lsm__file_groups_deinit(tl_lsm__file_groups *groups);
/** Files by the index file that holds their vector, smallest group first; those without one go to `rest`. `vectors` may be NULL. */
tl_status tl_lsm__group_by_index(const tl_bucket_vectors *vectors, const tl_file_list *files, tl_lsm__file_groups *out, tl_file_list *rest,
                                 tl_error *err);
/**
 * Index files after `rewritten` files (NULL: none) went and rows in `fresh` (NULL: none) were deleted: new ones are written, those
 * that they replace are told. `files` are the live ones.
 */
tl_status tl_lsm__change_indexes(const tl_lsm__bucket *bucket, const tl_bucket_vectors *vectors, tl_data_file *const *files, size_t n_files,
                                 const tl_file_list *rewritten, tl_dv_set *fresh, tl_index_list *new_indexes, tl_index_list *gone_indexes,
                                 tl_error *err);

/* ---- append_compact.c ---- */

/** What new files count as: APPEND ones take numbers of the commit with row tracking. */
typedef enum tl_lsm__rewrite_kind { TL_LSM__REWRITE_COMPACT, TL_LSM__REWRITE_APPEND } tl_lsm__rewrite_kind;
/** Rewrite append files into one sequence of new ones, rows in the order of the files, without those that the bucket's vectors name. */
tl_status tl_lsm__append_rewrite(tl_lsm__bucket *bucket, tl_data_file *const *files, size_t n, tl_lsm__rewrite_kind kind, const atomic_bool *cancelled,
                                 tl_file_list *out, tl_error *err);
/** A file below this size is worth compacting: CoreOptions#compactionFileSize. */
static inline int64_t tl_lsm__small_file_bytes(const tl_lsm_config *config)
{
    return config->target_file_bytes / 10 * 7;
}

#endif
