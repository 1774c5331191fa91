/*
 * Readers over batches in memory and over other readers.
 */
#include "types/column.h"

/* ---- batches in memory ---- */

typedef struct batches_reader {
    tl_reader base;
    tl_batch **batches; /* NULL where handed out */
    int32_t n;
    int32_t pos;
} batches_reader;

static tl_status batches_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    (void)err; /* never fails */
    batches_reader *r = (batches_reader *)reader;
    *out = r->pos < r->n ? TL_STEAL(r->batches[r->pos]) : NULL;
    r->pos += r->pos < r->n;
    return TL_OK;
}

static void free_batches(tl_batch **batches, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        tl_batch_free(batches[i]);
    tl_free(batches);
}

static void batches_free(tl_reader *reader)
{
    batches_reader *r = (batches_reader *)reader;
    free_batches(r->batches, r->n);
    tl_type_unref(r->base.type);
    tl_free(r);
}

tl_status tl_reader_from_batches(const tl_type *type, tl_batch **batches, int32_t n, tl_reader **out, tl_error *err)
{
    static const tl_reader_ops ops = {batches_next, batches_free};
    batches_reader *r = tl_calloc(1, sizeof *r);
    if (r == NULL) {
        free_batches(batches, n);
        return tl_nomem(err, "reader");
    }
    r->base.ops = &ops;
    r->base.type = tl_type_ref(type);
    r->batches = batches;
    r->n = n;
    *out = &r->base;
    return TL_OK;
}

tl_status tl_reader_from_batch(tl_batch *batch, tl_reader **out, tl_error *err)
{
    tl_batch **one = tl_alloc(sizeof *one);
    if (one == NULL) {
        tl_batch_free(batch);
        return tl_nomem(err, "reader");
    }
    *one = batch;
    return tl_reader_from_batches(batch->type, one, 1, out, err);
}

/* ---- one reader after the other ---- */

typedef struct concat_reader {
    tl_reader base;
    tl_reader **readers; /* freed as soon as they end, so that files do not stay open */
    int32_t n;
    int32_t pos;
} concat_reader;

static tl_status concat_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    concat_reader *r = (concat_reader *)reader;
    for (; r->pos < r->n; r->pos++) {
        tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(r->readers[r->pos], &batch, err));
        if (batch != NULL) {
            *out = batch;
            return TL_OK;
        }
        tl_reader_free(TL_STEAL(r->readers[r->pos]));
    }
    *out = NULL;
    return TL_OK;
}

static void free_readers(tl_reader **readers, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        tl_reader_free(readers[i]);
    tl_free(readers);
}

static void concat_free(tl_reader *reader)
{
    concat_reader *r = (concat_reader *)reader;
    free_readers(r->readers, r->n);
    tl_type_unref(r->base.type);
    tl_free(r);
}

tl_status tl_reader_concat(const tl_type *type, tl_reader **readers, int32_t n, tl_reader **out, tl_error *err)
{
    static const tl_reader_ops ops = {concat_next, concat_free};
    concat_reader *r = tl_calloc(1, sizeof *r);
    if (r == NULL) {
        free_readers(readers, n);
        return tl_nomem(err, "reader");
    }
    r->base.ops = &ops;
    r->base.type = tl_type_ref(type);
    r->readers = readers;
    r->n = n;
    *out = &r->base;
    return TL_OK;
}
