/* Batches as a new data file. Java: AvroRowDatumWriter, FieldWriterFactory. */
#include "format/avro/avro_private.h"
#include "format/gathered_stats.h"

typedef struct avro_writer {
    tl_file_writer base;
    const tl_type *type;
    tl_avro_out out;
    tl_avro_rows_out out_rows;
    tl_gathered_stats stats;
    bool with_stats;
    int64_t rows;
    int64_t plain_bytes; /* in blocks that are written */
} avro_writer;

/* ---- values ---- */

/* Fewest bytes of a big-endian two's complement, as Java's BigInteger gives them. */
static tl_status put_decimal(tl_buf *buf, tl_i128 v)
{
    uint8_t bytes[16];
    for (int b = 15; b >= 0; b--, v >>= 8)
        bytes[b] = (uint8_t)v;
    size_t skip = 0;
    while (skip < 15 && ((bytes[skip] == 0 && !(bytes[skip + 1] & 0x80)) || (bytes[skip] == 0xff && (bytes[skip + 1] & 0x80))))
        skip++;
    return tl_avro__put_bytes(buf, (tl_bytes_view){bytes + skip, sizeof bytes - skip});
}

/* Items as one block; those of maps have two values, and the key of an Avro map is never null. */
static tl_status put_items(tl_buf *buf, const tl_type *type, const tl_column *col, int64_t i)
{
    int32_t from = col->offsets[i], to = col->offsets[i + 1];
    const tl_type *first = type->fields[0].type, *second = col->phys == TL_PHYS_MAP ? type->fields[1].type : NULL;
    bool first_nullable = first->nullable && !(second != NULL && tl_avro__is_string_map(type));
    if (to > from)
        TL_TRY(tl_avro__put_long(buf, to - from));
    for (int32_t k = from; k < to; k++) {
        TL_TRY(tl_avro__put_value(buf, first, first_nullable, col->children[0], k));
        if (second != NULL)
            TL_TRY(tl_avro__put_value(buf, second, type->kind == TL_MULTISET || second->nullable, col->children[1], k));
    }
    return tl_avro__put_long(buf, 0);
}

static tl_status put_row(tl_buf *buf, const tl_type *type, const tl_column *col, int64_t i)
{
    for (int32_t f = 0; f < col->n_children; f++)
        TL_TRY(tl_avro__put_value(buf, type->fields[f].type, type->fields[f].type->nullable, col->children[f], i));
    return TL_OK;
}

/* A value that is not null. */
static tl_status put_plain(tl_buf *buf, const tl_type *type, const tl_column *col, int64_t i)
{
    bool decimal = type->kind == TL_DECIMAL;
    switch (col->phys) {
    case TL_PHYS_BOOL:
        return tl_buf_append_byte(buf, tl_col_bool(col, i));
    case TL_PHYS_I8:
        return tl_avro__put_long(buf, tl_col_i8(col, i));
    case TL_PHYS_I16:
        return tl_avro__put_long(buf, tl_col_i16(col, i));
    case TL_PHYS_I32:
        return tl_avro__put_long(buf, tl_col_i32(col, i));
    case TL_PHYS_I64:
        return decimal ? put_decimal(buf, tl_col_i64(col, i)) : tl_avro__put_long(buf, tl_col_i64(col, i));
    case TL_PHYS_I128:
        return put_decimal(buf, tl_col_i128(col, i));
    case TL_PHYS_F32:
        return tl_buf_append(buf, (const float *)col->values + i, 4);
    case TL_PHYS_F64:
        return tl_buf_append(buf, (const double *)col->values + i, 8);
    case TL_PHYS_BYTES:
        return tl_avro__put_bytes(buf, tl_col_bytes(col, i));
    case TL_PHYS_LIST:
    case TL_PHYS_MAP:
        return put_items(buf, type, col, i);
    case TL_PHYS_ROW:
        return put_row(buf, type, col, i);
    case TL_PHYS_TS96:
        break; /* refused when the schema was made */
    }
    return TL_E_INTERNAL;
}

/* `type` is that of the file: a batch's columns may say otherwise about what can be null. */
tl_status tl_avro__put_value(tl_buf *buf, const tl_type *type, bool nullable, const tl_column *col, int64_t i)
{
    bool is_null = tl_col_is_null(col, i);
    if (nullable)
        TL_TRY(tl_buf_append_byte(buf, is_null ? 0 : 2)); /* the branch, as zigzag */
    else if (is_null)
        return TL_E_INVALID;
    return is_null ? TL_OK : put_plain(buf, type, col, i);
}

/* ---- the writer ---- */

static tl_status put_error(const avro_writer *w, int64_t row, tl_status status, tl_error *err)
{
    const char *name = w->type->fields[w->out_rows.wrong_column].name;
    if (status == TL_E_INVALID)
        return tl_error_set(err, status, "column '%s' or a part of it is NOT NULL, but row %lld has a null", name, (long long)row);
    return tl_error_set(err, status, "column '%s': %s", name, tl_status_name(status));
}

static tl_status write_rows(avro_writer *w, const tl_batch *batch, tl_error *err)
{
    if (tl_avro__rows_out_plan(&w->out_rows, w->type, batch) != TL_OK)
        return tl_nomem(err, "Avro writer");
    for (int64_t i = 0; i < batch->n_rows; i++) {
        tl_status status = tl_avro__rows_out_put(&w->out_rows, i, &w->out.block);
        if (status != TL_OK)
            return put_error(w, w->rows + i, status, err);
        size_t plain = w->out.block.len;
        TL_TRY(tl_avro__out_record(&w->out, err));
        if (w->out.block.len == 0)
            w->plain_bytes += (int64_t)plain;
    }
    return TL_OK;
}

static tl_status writer_write(tl_file_writer *writer, const tl_batch *batch, tl_error *err)
{
    avro_writer *w = (avro_writer *)writer;
    if (batch->n_cols != w->type->n_fields)
        return tl_error_set(err, TL_E_INTERNAL, "a batch of %d columns for a file of %d", batch->n_cols, w->type->n_fields);
    TL_CLEANUP(tl_batch_freep) tl_batch *fitting = NULL;
    TL_TRY(tl_batch_fit_decimals(batch, &fitting, err));
    batch = fitting != NULL ? fitting : batch;
    tl_status status = write_rows(w, batch, err);
    if (status == TL_OK && w->with_stats)
        status = tl_format__gathered_add(&w->stats, batch, err);
    w->rows += batch->n_rows;
    return tl_error_wrap(err, status, "file '%s'", tl_path_base(w->out.path));
}

/* The block being filled counts as what it will probably shrink to. */
static int64_t writer_bytes_estimate(tl_file_writer *writer)
{
    const avro_writer *w = (const avro_writer *)writer;
    double ratio = w->plain_bytes > 0 ? (double)w->out.bytes / (double)w->plain_bytes : 1;
    return w->out.bytes + (int64_t)((double)w->out.block.len * TL_MIN(ratio, 1.0));
}

static tl_status writer_finish(tl_file_writer *writer, tl_write_result *out, tl_error *err)
{
    avro_writer *w = (avro_writer *)writer;
    TL_TRY(tl_error_wrap(err, tl_avro__out_finish(&w->out, err), "file '%s'", tl_path_base(w->out.path)));
    *out = (tl_write_result){.bytes = w->out.bytes, .rows = w->rows};
    if (w->with_stats)
        tl_format__gathered_take(&w->stats, out);
    return TL_OK;
}

static void writer_free(tl_file_writer *writer)
{
    avro_writer *w = (avro_writer *)writer;
    if (w == NULL)
        return;
    tl_avro__out_deinit(&w->out);
    tl_avro__rows_out_deinit(&w->out_rows);
    tl_format__gathered_deinit(&w->stats);
    tl_type_unref(w->type);
    tl_free(w);
}

static const tl_file_writer_ops writer_ops = {
    .write = writer_write,
    .bytes_estimate = writer_bytes_estimate,
    .finish = writer_finish,
    .free = writer_free,
};

tl_status tl_avro__writer_create(tl_fs *fs, const char *path, const tl_write_spec *spec, tl_file_writer **out, tl_error *err)
{
    avro_writer *w = tl_calloc(1, sizeof *w);
    if (w == NULL)
        return tl_nomem(err, "Avro writer");
    w->base.ops = &writer_ops;
    w->type = tl_type_ref(spec->row_type);
    w->with_stats = spec->with_stats;
    const char *codec = spec->options == NULL ? NULL : tl_options_get(spec->options, "avro.codec");
    const char *compression = codec != NULL ? codec : spec->compression != NULL ? spec->compression : "zstd";
    tl_buf schema = {0};
    tl_status status = tl_avro__type_schema(spec->row_type, &schema, err);
    if (status == TL_OK && w->with_stats)
        status = tl_format__gathered_init(&w->stats, spec->row_type->n_fields, err);
    if (status == TL_OK)
        status = tl_avro__out_create(&w->out, fs, path, (tl_bytes_view){schema.data, schema.len}, compression,
                                     spec->compression_level, err);
    tl_buf_deinit(&schema);
    if (status != TL_OK) {
        writer_free(&w->base);
        return tl_error_wrap(err, status, "file '%s'", tl_path_base(path));
    }
    *out = &w->base;
    return TL_OK;
}
