/*
 * File indexes: what a data file says of its rows beside the rows, in the file's manifest entry or in a file `NAME.index`.
 * Source: format reference §10; Java: org.apache.paimon.fileindex.
 *
 * The container, big-endian:
 *   int64 magic 1493475289347502, int32 version 1, int32 bytes of the head (from the start to the body), int32 columns, each:
 *     UTF name (uint16 bytes, modified UTF-8; `m[k]` for the values of key k of map m), int32 indexes, each:
 *       UTF kind, int32 start in the container (-1: nothing was indexed), int32 bytes
 *   int32 0, the body
 */
#ifndef TL_INDEX_FILE_INDEX_H
#define TL_INDEX_FILE_INDEX_H

#include "base/map.h"
#include "base/row_set.h"
#include "io/io.h"
#include "types/predicate.h"

/* ---- reading ---- */

/** Where a data file's index is: bytes, or else a file. */
typedef struct tl_file_index_place {
    tl_bytes_view bytes; /* data NULL: in the file */
    tl_fs *fs;
    const char *path;
} tl_file_index_place;

/** Id of a field that stands for the values of a map under a key, with the name `m[k]` that indexes give them. */
#define TL_FILE_INDEX_MAP_VALUE (-2)

/** What an index says of a filter. */
typedef enum tl_file_index_verdict {
    TL_INDEX_ALL,  /* nothing: any row may pass */
    TL_INDEX_NONE, /* no row passes */
    TL_INDEX_SOME  /* no others than some rows pass */
} tl_file_index_verdict;

/**
 * Ask the index which rows can pass.
 *
 * @param pred  bound to `row_type`, whose columns have the names and types that they have in the data file; values of maps are fields of
 *              the id TL_FILE_INDEX_MAP_VALUE
 * @param rows  of the data file
 * @param out   TL_INDEX_SOME: the rows, with a few between them; tl_row_ranges_deinit()
 * @return TL_E_CORRUPT names column, kind and place
 */
tl_status tl_file_index_ask(const tl_file_index_place *place, const tl_predicate *pred, const tl_type *row_type, int64_t rows,
                            tl_file_index_verdict *verdict, tl_row_ranges *out, tl_error *err);

/** Files asked since the start of the process, and what came of it: for tests and metrics. */
typedef struct tl_file_index_counters {
    uint64_t files_asked;
    uint64_t files_skipped;
    uint64_t files_cut; /* of which some rows were read */
    uint64_t rows_cut;  /* their rows that were not */
} tl_file_index_counters;
tl_file_index_counters tl_file_index_count(void);

/* ---- writing ---- */

/** Which columns of a table are indexed, and how. Immutable, shared by threads. */
typedef struct tl_file_index_plan tl_file_index_plan;
/**
 * From `file-index.KIND.columns` and `file-index.KIND.COLUMN.OPTION`; *out is NULL if no column is indexed. TL_E_INVALID: an unknown
 * kind or column, a wrong option; TL_E_UNSUPPORTED: a type that the kind cannot index.
 */
tl_status tl_file_index_plan_create(const tl_options *options, const tl_type *row_type, tl_file_index_plan **out, tl_error *err);
void tl_file_index_plan_free(tl_file_index_plan *plan); /* NULL is fine */
/** The lists of columns alone (options of columns may be set before their column is listed): errors as above. */
tl_status tl_file_index_check_columns(const tl_options *options, const tl_type *row_type, tl_error *err);
/**
 * The plan for a file of an older schema: columns by their ids, under the names and types that they have there. What is not there, or had
 * a type that the kind cannot index, is left out; *out is NULL if nothing remains.
 */
tl_status tl_file_index_plan_for(const tl_file_index_plan *plan, const tl_type *row_type, tl_file_index_plan **out, tl_error *err);
/** Whether a column of the plan's row type is indexed. */
bool tl_file_index_plan_uses(const tl_file_index_plan *plan, int32_t column);

/** The indexes of one data file in the making. One thread. */
typedef struct tl_file_index_writer tl_file_index_writer;
/** The plan must outlive the writer. */
tl_status tl_file_index_writer_create(const tl_file_index_plan *plan, tl_file_index_writer **out, tl_error *err);
/** The file's next rows: columns of the plan's row type, n_rows long; those that it does not use may be NULL. */
tl_status tl_file_index_writer_add(tl_file_index_writer *writer, tl_column *const *cols, int64_t n_rows, tl_error *err);
/** Memory held, for budgets. */
int64_t tl_file_index_writer_bytes(const tl_file_index_writer *writer);
/**
 * Append the container. A kind that cannot hold a value of the file (bsi: beyond 64 bits) is left out for this file, with a warning in
 * the log: readers then read all rows.
 */
tl_status tl_file_index_writer_finish(tl_file_index_writer *writer, tl_buf *out, tl_error *err);
void tl_file_index_writer_free(tl_file_index_writer *writer); /* NULL is fine */

#endif
