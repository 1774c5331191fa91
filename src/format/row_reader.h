/*
 * Inside this room: the reader of formats that store columns apart (parquet, orc).
 *
 * A file is a row of *parts* (row groups, stripes), each with some rows. Which rows of a part may pass the predicate, the format knows;
 * which of them are read in one pass (a *window*, at most a batch) and of which columns, is chosen here. With an exact predicate its
 * columns are read first; the others follow only for the rows that pass, and not at all where none does. Small results are
 * put together, so that a selective predicate does not hand out crumbs.
 */
#ifndef TL_FORMAT_ROW_READER_H
#define TL_FORMAT_ROW_READER_H

#include "format/input.h"

typedef struct tl_format__row_reader tl_format__row_reader;

/** What a format does. Rows are numbered within their part. */
typedef struct tl_format__row_ops {
    size_t bytes;            /* of the format's reader, which begins with a tl_format__row_reader */
    const char *file_name;   /* for messages: "ORC file" */
    const char *part_name;   /* "stripe" */
    size_t window_ranges;    /* a window has so many ranges at the most */
    int64_t gap_rows;        /* rows up to so many between two ranges are read with them */
    int32_t run_rows;        /* passing rows are read alone where they are one run in so many rows of the window, or fewer */
    /* Open the file. Its errors name it; after one there is nothing to free. */
    tl_status (*open)(tl_format__row_reader *r, tl_fs *fs, const char *path, int64_t bytes, tl_error *err);
    /* Everything before the first row: `type`, `predicate` and `is_used` are there. Sets n_parts. */
    tl_status (*init)(tl_format__row_reader *r, tl_error *err);
    int64_t (*part_rows)(tl_format__row_reader *r, int32_t part);
    /* Rows of the part that may pass; none: it is passed over. *out (tl_row_ranges_deinit()) comes empty. */
    tl_status (*part_ranges)(tl_format__row_reader *r, int32_t part, tl_row_ranges *out, tl_error *err);
    /* The part is read from now on; `skips`: not all of its rows one after the other. NULL: part_ranges() did what is needed. */
    tl_status (*part_open)(tl_format__row_reader *r, int32_t part, bool skips, tl_error *err);
    /* Lower *rows to what a window of the part may have so that its memory is bounded. */
    tl_status (*window_rows)(tl_format__row_reader *r, int64_t *rows, tl_error *err);
    /* Column `col` of n_rows rows of the part, at least one, behind all that was read of it. Called by several threads for several columns. */
    tl_status (*read_column)(tl_format__row_reader *r, int32_t col, const tl_row_ranges *rows, int64_t n_rows, tl_column **out, tl_error *err);
    void (*close)(tl_format__row_reader *r); /* what open() and init() made, as far as they came */
} tl_format__row_ops;

struct tl_format__row_reader {
    tl_reader base;
    const tl_format__row_ops *ops;
    const char *path;        /* for messages */
    tl_arena arena;          /* for what lives as long as the reader */
    tl_predicate *predicate; /* NULL: none */
    bool *is_used;           /* by column: by the predicate */
    bool is_late;            /* rows that do not pass are left out */
    int32_t n_parts;
    /* The rest is row_reader.c's. */
    bool with_row_numbers;
    int64_t batch_rows;
    tl_pool *pool;
    const tl_row_ranges *wanted; /* NULL: all rows */
    size_t wanted_at;            /* the first of them that ends in the part or behind it */
    int32_t part;                /* next one to open */
    bool is_open;
    int64_t part_first_row; /* in the file */
    int64_t next_first_row; /* of the next part */
    tl_row_ranges ranges;   /* of the part, still to read from range number `range` on */
    size_t range;
    /* the window */
    tl_row_ranges window;
    size_t window_cap;
    int64_t window_rows;
    int64_t window_rows_max;
    tl_row_ranges selected; /* late: runs of passing rows */
    uint32_t *sel;          /* late: passing rows of the window */
    tl_column **columns;    /* of the batch in the making */
    /* small results */
    tl_batch **pending;
    int32_t n_pending;
    int32_t pending_cap;
    int64_t pending_rows;
};

tl_status tl_format__row_reader_open(const tl_format__row_ops *ops, tl_fs *fs, const char *path, int64_t bytes, const tl_read_spec *spec,
                                     tl_reader **out, tl_error *err);
/** Whether the column is read before the others, for all rows of a window. */
static inline bool tl_format__reads_first(const tl_format__row_reader *r, int32_t col)
{
    return r->is_late && r->is_used[col];
}

#endif
