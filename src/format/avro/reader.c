/* Data files as batches. A batch may end inside a block, and span several; its records are decoded in rows.c. */
#include "format/avro/avro_private.h"
#include "format/passing.h"

typedef struct avro_reader {
    tl_reader base;
    tl_format__input input;
    tl_avro_in in;
    tl_avro_rows rows;
    tl_predicate *predicate; /* rows that fail are left out; NULL: none */
    bool with_row_numbers;
    int64_t row_number; /* of the next record */
    const tl_row_ranges *wanted; /* NULL: all rows */
    size_t wanted_at;            /* the first of them that ends behind row_number */
} avro_reader;

/* ---- one batch ---- */

static tl_status next_block(avro_reader *r, bool *more, tl_error *err)
{
    *more = true;
    while (r->rows.left == 0) {
        tl_avro_block block;
        if (r->rows.c.p != r->rows.c.end)
            return tl_avro__in_corrupt(&r->in, "bytes after the last record", err);
        TL_TRY(tl_avro__in_head(&r->in, &block, err));
        if (block.at < 0) {
            *more = false;
            return TL_OK;
        }
        if (block.n_records > INT64_MAX - r->row_number)
            return tl_avro__in_corrupt(&r->in, "too many records", err);
        if (r->wanted != NULL && !tl_row_ranges_meet(r->wanted, &r->wanted_at, r->row_number, r->row_number + block.n_records)) {
            tl_avro__in_pass(&r->in, &block);
            r->row_number += block.n_records;
            continue;
        }
        tl_bytes_view data;
        TL_TRY(tl_avro__in_body(&r->in, &block, &data, err));
        r->rows.left = block.n_records;
        r->rows.c = (tl_avro_cursor){data.data, data.data + data.len};
    }
    return TL_OK;
}

static tl_status field_error(const avro_reader *r, int64_t row_number, tl_status status, tl_error *err)
{
    if (status == TL_E_NOMEM)
        return tl_nomem(err, "Avro column");
    int32_t field = r->rows.wrong_field;
    tl_bytes_view name = field >= 0 ? r->in.schema->names[field] : (tl_bytes_view){(const uint8_t *)"?", 1};
    return tl_error_set(err, status == TL_E_CORRUPT || status == TL_E_INVALID ? TL_E_CORRUPT : status,
                        "block %lld: row %lld: field '%.*s' is wrong, truncated or too large", (long long)r->in.block_no, (long long)row_number,
                        (int)TL_MIN(name.len, 100), (const char *)name.data);
}

static tl_status finish_batch(avro_reader *r, int64_t first_row, int64_t n_rows, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_CLEANUP(tl_batch_freep) tl_batch *read = NULL;
    TL_TRY(tl_batch_create(r->base.type, n_rows, &read, err));
    for (int32_t c = 0; c < read->n_cols; c++)
        TL_TRY(tl_avro__rows_take(&r->rows, c, &read->cols[c], err));
    TL_TRY(tl_batch_fit_decimals(read, &batch, err));
    if (batch == NULL)
        batch = TL_STEAL(read);
    if (r->with_row_numbers)
        TL_TRY(tl_batch_number(batch, first_row, err));
    *out = TL_STEAL(batch);
    return TL_OK;
}

static tl_status fill_batch(tl_reader *reader, tl_batch **out, tl_error *err)
{
    avro_reader *r = (avro_reader *)reader;
    bool more;
    TL_TRY(next_block(r, &more, err));
    int64_t first_row = r->row_number;
    if (!more) {
        *out = NULL;
        return TL_OK;
    }
    TL_TRY(tl_avro__rows_start(&r->rows, err));
    /* Rows of a batch are numbered through, so that it ends where a block was passed over. */
    while (more && tl_avro__rows_have_room(&r->rows) && r->row_number == first_row + r->rows.n) {
        tl_status status = tl_avro__rows_read(&r->rows);
        r->row_number = first_row + r->rows.n;
        if (status != TL_OK)
            return field_error(r, r->row_number, status, err);
        TL_TRY(next_block(r, &more, err));
    }
    return finish_batch(r, first_row, r->rows.n, out, err);
}

static tl_status reader_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    avro_reader *r = (avro_reader *)reader;
    return tl_format__next_passing(reader, fill_batch, r->predicate, tl_path_base(r->input.path), out, err);
}

static void reader_free(tl_reader *reader)
{
    avro_reader *r = (avro_reader *)reader;
    tl_avro__rows_deinit(&r->rows);
    tl_predicate_free(r->predicate);
    tl_avro__in_deinit(&r->in);
    tl_format__input_close(&r->input);
    tl_type_unref(r->base.type);
    tl_free(r);
}

/* ---- open ---- */

static tl_status prepare(avro_reader *r, const tl_read_spec *spec, tl_error *err)
{
    int64_t batch_rows = spec->batch_rows > 0 ? spec->batch_rows : TL_BATCH_ROWS;
    tl_bytes_view memory = {r->input.map, r->input.map == NULL ? 0 : (size_t)r->input.bytes};
    TL_TRY(tl_avro__in_open(&r->in, memory, r->input.file, r->input.bytes, err));
    TL_TRY(tl_avro__rows_init(&r->rows, spec->row_type, r->in.schema, r->in.null_branch, batch_rows, err));
    return spec->predicate != NULL && spec->exact ? tl_predicate_dup(spec->predicate, &r->predicate, err) : TL_OK;
}

static const tl_reader_ops reader_ops = {reader_next, reader_free};

tl_status tl_avro__reader_open(tl_fs *fs, const char *path, int64_t bytes, const tl_read_spec *spec, tl_reader **out,
                               tl_error *err)
{
    avro_reader *r = tl_calloc(1, sizeof *r);
    if (r == NULL)
        return tl_nomem(err, "Avro reader");
    r->base.ops = &reader_ops;
    r->base.type = tl_type_ref(spec->row_type);
    r->with_row_numbers = spec->with_row_numbers;
    r->wanted = spec->rows;
    if (r->wanted != NULL)
        tl_avro__in_expect_gaps(&r->in);
    tl_status status = tl_format__input_open(fs, path, bytes, &r->input, err);
    if (status == TL_OK)
        status = prepare(r, spec, err);
    if (status != TL_OK) {
        reader_free(&r->base);
        return tl_error_wrap(err, status, "file '%s'", tl_path_base(path));
    }
    *out = &r->base;
    return TL_OK;
}
