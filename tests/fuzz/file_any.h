/*
 * Any bytes as a data file: its own schema, then its rows in several ways. What comes must be columns that keep their promises,
 * row numbers must ascend, and of an exact read every row must pass the filter (statistics may lie, so that rows may lack).
 */
#ifndef TL_TESTS_FUZZ_FILE_ANY_H
#define TL_TESTS_FUZZ_FILE_ANY_H

#include "format/format.h"
#include "fuzz/input.h"

#define ANY_PATH "/any"
#define ANY_ROWS_MAX 200000 /* a few bytes may say "billions of nulls", and rightly so */

static inline void any_batch(const tl_batch *batch, const tl_read_spec *spec, int64_t *last)
{
    for (int32_t c = 0; c < batch->n_cols; c++)
        if (tl_column_check(batch->cols[c], NULL) != TL_OK)
            abort();
    for (int64_t i = 0; spec->with_row_numbers && i < batch->n_rows; i++) {
        if (batch->seq == NULL || batch->seq[i] <= *last)
            abort();
        *last = batch->seq[i];
    }
    if (!spec->exact || spec->predicate == NULL)
        return;
    uint32_t *sel = tl_alloc((size_t)batch->n_rows * sizeof *sel + 1);
    int64_t n = 0;
    if (sel == NULL || (tl_predicate_eval(spec->predicate, (const tl_column *const *)batch->cols, batch->n_rows, sel, &n, NULL) == TL_OK &&
                        n != batch->n_rows))
        abort();
    tl_free(sel);
}

/* Takes the predicate over. `first`, if not NULL, gets the file's first row. */
static inline void any_read_where(const tl_format *format, tl_fs *fs, const tl_type *type, uint8_t choice, tl_predicate *pred, tl_batch **first)
{
    tl_reader *reader = NULL;
    tl_read_spec spec = {.row_type = type,
                         .predicate = pred,
                         .exact = (choice & 2) != 0,
                         .batch_rows = (choice & 4) != 0 ? 7 : 0,
                         .with_row_numbers = (choice & 2) == 0};
    int64_t rows = 0, last = -1;
    if (format->open(fs, ANY_PATH, 0, &spec, &reader, NULL) == TL_OK) {
        while (rows <= ANY_ROWS_MAX) {
            tl_batch *batch = NULL;
            if (tl_reader_next(reader, &batch, NULL) != TL_OK || batch == NULL)
                break;
            any_batch(batch, &spec, &last);
            if (first != NULL && *first == NULL && batch->n_rows > 0 && tl_batch_slice(batch, 0, 1, first, NULL) != TL_OK)
                abort();
            rows += batch->n_rows;
            tl_batch_free(batch);
        }
    }
    tl_reader_free(reader);
    tl_predicate_free(pred);
}

static inline void any_read(const tl_format *format, tl_fs *fs, const tl_type *type, uint8_t choice)
{
    tl_predicate *pred = NULL;
    if ((choice & 1) != 0 && type->n_fields > 0)
        (void)tl_predicate_leaf((choice & 8) != 0 ? TL_PRED_IS_NULL : TL_PRED_IS_NOT_NULL, (choice >> 4) % type->n_fields, NULL, &pred, NULL);
    any_read_where(format, fs, type, choice, pred, NULL);
}

/* Rows whose first columns are as in the first row: bloom filters and dictionaries are asked. */
static inline void any_read_equal(const tl_format *format, tl_fs *fs, const tl_type *type)
{
    tl_batch *first = NULL;
    any_read_where(format, fs, type, 0, NULL, &first);
    for (int32_t c = 0; first != NULL && c < TL_MIN(type->n_fields, 3); c++) {
        tl_predicate *pred = NULL;
        (void)tl_predicate_leaf(TL_PRED_EQ, c, tl_column_ref(first->cols[c]), &pred, NULL); /* what does not suit the type is no predicate */
        if (pred != NULL)
            any_read_where(format, fs, type, 2, pred, NULL);
    }
    tl_batch_free(first);
}

static inline void any_file(const tl_format *format, const uint8_t *data, size_t size)
{
    tl_fs *fs = NULL;
    const tl_type *type = NULL;
    if (tl_fs_memory(&fs, NULL) != TL_OK || tl_fs_publish(fs, ANY_PATH, (tl_bytes_view){data, size}, false, NULL) != TL_OK)
        abort();
    if (format->schema(fs, ANY_PATH, &type, NULL) == TL_OK) {
        any_read_equal(format, fs, type);
        any_read(format, fs, type, 3);
        any_read(format, fs, type, 6);
        any_read(format, fs, type, 0x19);
        any_read(format, fs, type, 0x2b);
        tl_type_unref(type);
    }
    tl_fs_unref(fs);
}

#endif
