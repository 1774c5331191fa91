/*
 * Deletion vectors: which rows of a data file are deleted, as Roaring bitmaps in index files. Source: format reference §15;
 * Java: org.apache.paimon.deletionvectors.
 */
#ifndef TL_INDEX_DELETION_VECTOR_H
#define TL_INDEX_DELETION_VECTOR_H

#include "base/map.h"
#include "base/row_set.h"
#include "io/io.h"

/* ---- one vector ---- */

/** Numbers of deleted rows (0: the file's first). Immutable, reference counted, shared by threads. */
typedef struct tl_dv tl_dv;

tl_dv *tl_dv_ref(const tl_dv *dv);
void tl_dv_unref(tl_dv *dv);
static inline void tl_dv_unrefp(tl_dv **dv)
{
    tl_dv_unref(*dv);
}
/** A vector of `n` ascending rows without doubles; `bitmap64` is the form in which it will be stored. */
tl_status tl_dv_create(const int64_t *rows, size_t n, bool bitmap64, tl_dv **out, tl_error *err);
/** Rows of either, in the form of `a`. */
tl_status tl_dv_union(const tl_dv *a, const tl_dv *b, tl_dv **out, tl_error *err);
int64_t tl_dv_count(const tl_dv *dv);
/** The greatest deleted row, -1 if there is none. */
int64_t tl_dv_last(const tl_dv *dv);
/**
 * Which of `n` ascending row numbers are not deleted: their positions among the numbers, ascending, into `sel`. Returns how
 * many; where all stay, `sel` is not written.
 */
int64_t tl_dv_select(const tl_dv *dv, const int64_t *rows, int64_t n, uint32_t *sel);

/**
 * What is worth reading of a file of about n_rows rows, whatever their number: where hardly any rows are deleted, all others; else all but
 * long stretches of deleted ones. *out comes empty.
 */
tl_status tl_dv_rest(const tl_dv *dv, int64_t n_rows, tl_row_ranges *out, tl_error *err);

/**
 * A record of an index file: int32 BE size, payload, int32 BE CRC-32 of the payload.
 *   32 bits: int32 BE magic 1581511376, portable Roaring bitmap
 *   64 bits: int32 LE magic 1681511377, int64 LE count, count times (int32 LE key, portable Roaring bitmap)
 * The payload's form tells which. `length` is what the manifest says (see tl_dv_place).
 */
tl_status tl_dv_decode(tl_bytes_view record, int64_t length, tl_dv **out, tl_error *err);
/** Append the record; *length is what the manifest must say. */
tl_status tl_dv_encode(const tl_dv *dv, tl_buf *out, int32_t *length, tl_error *err);

/* ---- the vectors of a bucket ---- */

/** Where a vector is stored. */
typedef struct tl_dv_place {
    const char *path;    /* of the index file */
    int64_t offset;      /* of the record */
    int64_t length;      /* 32 bits: of the payload; 64 bits: of the whole record, as Iceberg has it */
    int64_t cardinality; /* INT64_MIN: not known */
} tl_dv_place;

/** Vectors of some data files by the files' names; loaded when they are asked for. Reference counted. Thread-safe. */
typedef struct tl_dv_set tl_dv_set;

/** `fs` may be NULL: tl_dv_set_use() tells it before a vector is loaded. */
tl_status tl_dv_set_create(tl_fs *fs, tl_dv_set **out, tl_error *err);
/** The file system of a set that has none yet. */
void tl_dv_set_use(tl_dv_set *set, tl_fs *fs);
tl_dv_set *tl_dv_set_ref(tl_dv_set *set);
void tl_dv_set_unref(tl_dv_set *set);
static inline void tl_dv_set_unrefp(tl_dv_set **set)
{
    tl_dv_set_unref(*set);
}
/** Tell where a file's vector lies; strings are copied. A later one replaces an earlier one. */
tl_status tl_dv_set_add(tl_dv_set *set, const char *data_file, const tl_dv_place *place, tl_error *err);
/** Make `dv` the vector of the file (a ref is taken); NULL: it has none any more. */
tl_status tl_dv_set_put(tl_dv_set *set, const char *data_file, const tl_dv *dv, tl_error *err);
/** The file's vector as a new reference; NULL: none of its rows is deleted. `set` may be NULL: no vectors at all. */
tl_status tl_dv_set_get(tl_dv_set *set, const char *data_file, tl_dv **out, tl_error *err);
/** Whether the file has a vector, without loading it. */
bool tl_dv_set_has(tl_dv_set *set, const char *data_file);
/** Where it lies: false if there is none, or if it was put and is stored nowhere. Valid until the set changes. */
bool tl_dv_set_place(tl_dv_set *set, const char *data_file, tl_dv_place *out);
/** Deleted rows of the file; 0 if it has no vector, -1 if it is not known without loading. */
int64_t tl_dv_set_count(tl_dv_set *set, const char *data_file);
/** Names of all files with a vector, sorted; borrowed from the set, the array is tl_free'd. */
tl_status tl_dv_set_names(tl_dv_set *set, const char ***out, size_t *n, tl_error *err);

#endif
