/* The printer and its formats: one file per family, chosen once by name. */
#ifndef TL_API_PRINTER_PRIVATE_H
#define TL_API_PRINTER_PRIVATE_H

#include "api/api_private.h"
#include "types/text.h"

#define PRINTER_FLUSH_BYTES ((size_t)256 << 10)

typedef struct printer_format {
    const char *name;
    tl_status (*start)(tidelake_printer *p, tl_error *err); /* NULL: nothing to do */
    tl_status (*print)(tidelake_printer *p, const tl_batch *batch, tl_error *err);
    tl_status (*finish)(tidelake_printer *p, tl_error *err); /* write all that is kept back to p->write */
    void (*close)(tidelake_printer *p);                      /* frees `state`; NULL: there is none */
} printer_format;

typedef struct printer_line {
    size_t from; /* in `out` */
    size_t len;  /* without the line end behind it */
} printer_line;

struct tidelake_printer {
    const printer_format *format;
    const tl_type *type; /* ROW of what is printed */
    tidelake_write_fn write;
    void *ctx;
    bool kinds, snapshots, sorted, colors;
    int64_t max_width;
    char *replace, *replacement;
    tl_buf out;
    tl_buf cell;
    printer_line *lines; /* sorted JSON lines */
    size_t n_lines, cap_lines;
    char **cells; /* table: texts row by row; NULL is NULL */
    size_t n_cells, cap_cells;
    int64_t rows_printed; /* table: came in */
    int64_t rows_shown;   /* table: went out */
    void *state;          /* of a format */
};

/** Write p->out out. */
tl_status tl_printer__flush(tidelake_printer *p, tl_error *err);

/* Cells of tables (printer_cell.c). */
/** Columns that UTF-8 text takes on a terminal. */
int tl_printer__width(const char *text);
/** Append `text` padded to `width`; `cut`: longer text ends with "…" there. Control characters become spaces. */
tl_status tl_printer__append_cell(tl_buf *out, const char *text, int width, bool right, bool cut);
/** A value that is not NULL in a form for eyes; replaces what is in `out`. */
tl_status tl_printer__cell_text(const tl_column *col, int64_t i, tl_buf *out);

tl_status tl_printer__table_print(tidelake_printer *p, const tl_batch *batch, tl_error *err);
tl_status tl_printer__table_finish(tidelake_printer *p, tl_error *err);
void tl_printer__table_close(tidelake_printer *p);

tl_status tl_printer__arrow_start(tidelake_printer *p, tl_error *err);
tl_status tl_printer__arrow_print(tidelake_printer *p, const tl_batch *batch, tl_error *err);
tl_status tl_printer__arrow_finish(tidelake_printer *p, tl_error *err);
void tl_printer__arrow_close(tidelake_printer *p);

tl_status tl_printer__parquet_start(tidelake_printer *p, tl_error *err);
tl_status tl_printer__parquet_print(tidelake_printer *p, const tl_batch *batch, tl_error *err);
tl_status tl_printer__parquet_finish(tidelake_printer *p, tl_error *err);
void tl_printer__parquet_close(tidelake_printer *p);

/** The type of what is printed with _snapshot and _kind as columns before it, where they are wanted; for formats of columns. */
tl_status tl_printer__full_type(const tidelake_printer *p, const tl_type **out, tl_error *err);
/** A batch of that type: the columns of `batch`, shared, behind those two. */
tl_status tl_printer__full_batch(const tidelake_printer *p, const tl_type *full_type, const tl_batch *batch, tl_batch **out,
                                 tl_error *err);

#endif
