/*
 * Look-up by key over a lake table, in one of two tiers:
 * - memory: the wanted rows and columns are held as batches with a hash index over the look-up key, and follow the table snapshot
 *   by snapshot. Where the table's changes are exact (a changelog, or the deduplicate engine's deltas), only they are read; else
 *   a new snapshot reloads the table;
 * - files: a probe reads what can contain its keys: pruned by partition, bucket and statistics of the files, in them by page index
 *   and bloom filter. Many keys in one probe share that work. Of keys that were asked for the rows are kept, up to an eighth of
 *   `memory_bytes`, until a refresh finds a new snapshot.
 *
 * A look-up sees one snapshot at a time: between two calls of tl_lookup_refresh() the answers do not change. One thread at a time.
 */
#ifndef TL_LOOKUP_LOOKUP_H
#define TL_LOOKUP_LOOKUP_H

#include "table/table.h"

typedef struct tl_lookup tl_lookup;

typedef enum tl_lookup_tier {
    TL_LOOKUP_MEMORY,
    TL_LOOKUP_FILES,
    TL_LOOKUP_AUTO /* memory, if the table is likely to fit into `memory_bytes` when it is opened */
} tl_lookup_tier;

typedef struct tl_lookup_spec {
    tl_table *table;               /* with its hints; outlives the look-up, which is its only user */
    const int32_t *keys;           /* columns of the table that are probed; any columns, one row or several a key */
    int32_t n_keys;
    const int32_t *columns;        /* columns wanted */
    int32_t n_columns;
    const tl_predicate *predicate; /* over the table's columns; rows that fail are not there. NULL: none */
    tl_map_filter *map_filter;     /* over the same: rows that fail may be missing (ref taken); in memory only. NULL: none */
    tl_pool *pool;                 /* for loading; NULL: the calling thread */
    tl_lookup_tier tier;
    int64_t memory_bytes;          /* for AUTO; files: an eighth of it may be kept */
} tl_lookup_spec;

/** Loads the latest snapshot (memory) or notes it (files). The spec's arrays are copied, the predicate is duplicated. */
tl_status tl_lookup_open(const tl_lookup_spec *spec, tl_lookup **out, tl_error *err);
void tl_lookup_free(tl_lookup *lookup);
/** Follow the table to its latest snapshot; *changed (may be NULL): whether there was a new one. */
tl_status tl_lookup_refresh(tl_lookup *lookup, bool *changed, tl_error *err);
/** The snapshot that answers come from; 0: the table has none. */
int64_t tl_lookup_snapshot(const tl_lookup *lookup);
/** Rows held and memory used. */
int64_t tl_lookup_rows(const tl_lookup *lookup);
int64_t tl_lookup_bytes(const tl_lookup *lookup);
/** What AUTO has chosen, or what was asked for. */
tl_lookup_tier tl_lookup_tier_of(const tl_lookup *lookup);

/** Pairs (probe row, found row), ascending by probe row; a probe row without a match does not occur. */
typedef struct tl_lookup_matches {
    uint32_t *left;    /* probe rows */
    tl_rowref *right;  /* found rows, for tl_lookup_gather() before the next refresh or (files) probe */
    int64_t n;
} tl_lookup_matches;
/**
 * `keys`: one column per key column, of its type (nullability apart). NULL matches nothing. TL_E_NOT_FOUND (files): the snapshot
 * has expired, a refresh is due.
 */
tl_status tl_lookup_probe(tl_lookup *lookup, const tl_column *const *keys, int64_t n_rows, tl_lookup_matches *out, tl_error *err);
void tl_lookup_matches_deinit(tl_lookup_matches *matches);
/** The wanted columns of found rows (row TL_ROW_NULL gives NULLs: the right side of a LEFT JOIN): n_columns columns, made nullable. */
tl_status tl_lookup_gather(tl_lookup *lookup, const tl_rowref *refs, int64_t n, tl_column **out, tl_error *err);

#endif
