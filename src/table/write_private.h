/* What the files of the table writer share. */
#ifndef TL_TABLE_WRITE_PRIVATE_H
#define TL_TABLE_WRITE_PRIVATE_H

#include "table/table_private.h"

/* ---- rows before they are split (write_rows.c) ---- */

typedef struct tl_row_rules {
    const tl_table *table;
    tl_column **defaults; /* per column: one row, or NULL */
    bool has_defaults;
    int32_t kind_column; /* rowkind.field; -1: none */
    bool ignore_delete;
    bool ignore_update_before;
    bool append_only;
    bool *unwritten; /* per column: only the others are written, and this one may be anything; NULL: all are */
    int32_t n_tracked; /* columns of row tracking behind the table's (keep_ids) */
} tl_row_rules;

/** `options`: which columns are written. */
tl_status tl_row_rules_create(const tl_table *table, const tl_write_options *options, tl_row_rules *out, tl_error *err);
void tl_row_rules_deinit(tl_row_rules *rules); /* works on a half-built object */
/** The rows to write: checked, with defaults and kinds, without those that are ignored. */
tl_status tl_row_rules_apply(const tl_row_rules *rules, const tl_batch *batch, tl_batch **out, tl_error *err);

/* ---- what a writer started from (write.c) ---- */

/** The snapshot that buckets and indexes of a writer reflect. They are opened when rows come; if the latest snapshot moved on in
    between, what is open is stale once the writer has committed. */
typedef struct tl_write_view {
    bool used;     /* something is open */
    bool stale;
    int64_t known; /* 0: no snapshot; meaningless if !used */
} tl_write_view;
/** The latest snapshot (NULL: none), to open something from. */
tl_status tl_write_view_latest(tl_write_view *view, tl_table *table, tl_snapshot **out, tl_error *err);

/* ---- buckets of keys where they are dynamic (hash_index.c) ---- */

typedef struct tl_hash_index tl_hash_index;
/** `view` must outlive it. `ignore_previous`: an overwrite, which starts without keys. */
tl_status tl_hash_index_create(tl_table *table, tl_write_view *view, bool ignore_previous, tl_hash_index **out, tl_error *err);
void tl_hash_index_free(tl_hash_index *index);
/** Forget everything: the partitions are loaded anew when rows come. */
void tl_hash_index_clear(tl_hash_index *index);
size_t tl_hash_index_partitions(const tl_hash_index *index);
/** Buckets of rows, from hashes of their trimmed primary keys and their partition rows (`offsets` NULL: unpartitioned). */
tl_status tl_hash_index_assign(tl_hash_index *index, const int32_t *hashes, int64_t n_rows, const tl_buf *rows, const int64_t *offsets,
                               int32_t *buckets, tl_error *err);
typedef tl_status (*tl_message_fn)(void *ctx, tl_bytes_view partition, int32_t bucket, tl_commit_message **out, tl_error *err);
/** Write the indexes of buckets that got keys, into the buckets' messages. What was written before a failure is in the messages. */
tl_status tl_hash_index_prepare(tl_hash_index *index, tl_message_fn message, void *ctx, tl_error *err);
/** Digest of the index files that the partition's keys got their buckets by, before the last prepare; false if none were asked. */
bool tl_hash_index_base(const tl_hash_index *index, tl_bytes_view partition, uint64_t *base);
/** Forget partitions that were not asked for in the last `keep_rounds` prepares. */
tl_status tl_hash_index_close_idle(tl_hash_index *index, int64_t keep_rounds, tl_error *err);

/* ---- where keys are that span partitions (key_index.c, retract.c) ---- */

/** A primary key, by which it is found: two share it by chance once in 10^38 pairs. */
typedef struct tl_key_hash {
    uint64_t low, high;
} tl_key_hash;
/** The hashes of rows' primary keys, from all of its columns in order. */
tl_status tl_key_hashes(const tl_column *const *cols, int32_t n_cols, int64_t n_rows, tl_key_hash *out, tl_error *err);

typedef struct tl_key_index tl_key_index;
/** `view` must outlive it. `ignore_previous`: an overwrite of the whole table, which starts without keys. */
tl_status tl_key_index_create(tl_table *table, tl_write_view *view, bool ignore_previous, tl_key_index **out, tl_error *err);
void tl_key_index_free(tl_key_index *index);
void tl_key_index_clear(tl_key_index *index);
bool tl_key_index_loaded(const tl_key_index *index);
/** Replace *batch by the rows to write, whose partitions and kinds may be others, and more or fewer; *buckets (tl_free) are theirs. */
tl_status tl_key_index_route(tl_key_index *index, tl_batch **batch, int32_t **buckets, tl_error *err);
/** The snapshot that the rows were routed by; false if there is none to hold on to. */
bool tl_key_index_base(const tl_key_index *index, int64_t *base);
/** Keeps the keys if nobody else changed rows. */
tl_status tl_key_index_committed(tl_key_index *index, const tl_commit_result *result, tl_error *err);

/** Write rows of the table's columns into a bucket that is known, with their kinds and without a look at any rules; takes `rows` over, also
    on failure. */
tl_status tl_table__writer_put(tl_table_writer *writer, tl_bytes_view partition, int32_t bucket, tl_batch *rows, tl_error *err);

/* ---- real buckets of postponed tables (bucket_counts.c) ---- */

typedef struct tl_bucket_counts tl_bucket_counts;
/** Whether a writer with these options places rows that would wait for a bucket otherwise. */
bool tl_bucket_counts_wanted(const tl_table *table, const tl_write_options *options);
/** How many buckets each partition has, in the latest snapshot. `pool` may be NULL. @error TL_E_CORRUPT if one has two numbers */
tl_status tl_bucket_counts_create(tl_table *table, tl_pool *pool, tl_bucket_counts **out, tl_error *err);
void tl_bucket_counts_free(tl_bucket_counts *counts);
/** `partition`: as it is stored, with arity. */
int32_t tl_bucket_counts_of(const tl_bucket_counts *counts, tl_bytes_view partition);
/** Buckets of rows, from their bucket key's columns and their partition rows (`offsets` NULL: unpartitioned). */
tl_status tl_bucket_counts_assign(const tl_bucket_counts *counts, const tl_table *table, const tl_column *const *cols, int64_t n_rows,
                                  const tl_buf *rows, const int64_t *offsets, int32_t *buckets, tl_error *err);

/* ---- rows by bucket ---- */

/** One bucket's rows of a batch. */
typedef struct tl_bucket_rows {
    tl_bytes partition; /* BinaryRow with arity; owned */
    int32_t bucket;
    uint32_t first, n; /* order[first, first + n) of the parts are their numbers */
    tl_batch *rows;    /* owned; NULL: not gathered yet */
} tl_bucket_rows;
typedef struct tl_bucket_parts {
    tl_bucket_rows *items;
    size_t n;
    tl_batch *batch; /* what they are parts of; NULL: the rows are all there */
    uint32_t *order; /* its row numbers, bucket by bucket */
} tl_bucket_parts;
void tl_bucket_parts_deinit(tl_bucket_parts *parts);

/* ---- rows that are gathered beside the caller (write_behind.c) ---- */

typedef struct tl_write_behind tl_write_behind;
tl_status tl_write_behind_create(tl_pool *pool, tl_write_behind **out, tl_error *err);
void tl_write_behind_free(tl_write_behind *behind);
/** Whether it pays to gather these parts on another thread: never without one to spare. `behind` may be NULL. */
bool tl_write_behind_wants(const tl_write_behind *behind, const tl_bucket_parts *parts);
/** Begin to gather the parts, which are taken over unless it fails. Those before must have been taken. */
tl_status tl_write_behind_leave(tl_write_behind *behind, tl_bucket_parts *parts, tl_error *err);
/** The parts that stayed behind, with their rows, gathered in the calling thread if no other has begun; n is 0 if there are none. After
    a failure they are still there, and taking them may be tried again. */
tl_status tl_write_behind_take(tl_write_behind *behind, tl_bucket_parts *out, tl_error *err);
/** Parts that are done with: their batch is kept until it pays to use its memory again, up to 16 MB of such batches. */
void tl_write_behind_hold(tl_write_behind *behind, tl_bucket_parts *parts);
/** A prepare: after few rows nothing is kept. */
void tl_write_behind_round(tl_write_behind *behind);

/* ---- which rows go where (write_split.c) ---- */

/** What buckets are chosen by where a number of buckets is not enough; all NULL for other tables. */
typedef struct tl_bucket_chooser {
    tl_hash_index *hashes;
    tl_key_index *keys;
    tl_bucket_counts *counts;
} tl_bucket_chooser;
/** Find the parts of a batch by partition and bucket; takes `batch` over, also on failure. Rows keep their order within a bucket. They are
    there with tl_bucket_parts_gather() only, unless all are one bucket's. */
tl_status tl_split_by_bucket(const tl_table *table, const tl_bucket_chooser *by, tl_batch *batch, tl_bucket_parts *out, tl_error *err);
/** Gather the rows of all parts, those that are not there yet: after a failure it may be tried again. */
tl_status tl_bucket_parts_gather(tl_bucket_parts *parts, tl_error *err);
/** The rows of the partition columns, without arity. */
tl_status tl_partition_rows(const tl_table *table, const tl_batch *batch, tl_buf *rows, int64_t *offsets, tl_error *err);
/** A partition's row as it is stored, arity in front. */
tl_status tl_partition_with_arity(const tl_table *table, tl_bytes_view row, tl_bytes *out);

#endif
