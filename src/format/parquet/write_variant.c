/*
 * Shredded VARIANTs (option `parquet.variant.shreddingSchema`): a writer around the writer, which gets the parts as columns.
 *
 * The option is the JSON of a ROW whose fields are named as VARIANT columns of the table; a field's type tells into what the
 * column is shredded. Columns that it does not name, and VARIANTs within other columns, are written whole.
 * Source: Java VariantUtils, CatalogTableITCase of the reference (what the option looks like).
 */
#include "format/parquet/write_private.h"
#include "types/variant.h"

typedef struct shredding_writer {
    tl_file_writer base;
    tl_file_writer *inner;
    const tl_type *file_type; /* what the file has; ref held */
    const tl_type *row_type;  /* what it is given; ref held */
} shredding_writer;

static tl_status shredding_write(tl_file_writer *base, const tl_batch *batch, tl_error *err)
{
    shredding_writer *w = (shredding_writer *)base;
    TL_CLEANUP(tl_batch_freep) tl_batch *parts = NULL;
    if (batch->n_cols != w->row_type->n_fields)
        return tl_error_set(err, TL_E_INVALID, "a batch of %d columns does not fit a file of %d", batch->n_cols, w->row_type->n_fields);
    TL_TRY(tl_batch_create(w->file_type, batch->n_rows, &parts, err));
    for (int32_t i = 0; i < batch->n_cols; i++) {
        const tl_field *field = &w->file_type->fields[i];
        if (w->row_type->fields[i].type->kind != TL_VARIANT || field->type->kind == TL_VARIANT)
            parts->cols[i] = tl_column_ref(batch->cols[i]);
        else
            TL_TRY(tl_error_wrap(err, tl_variant_shred(batch->cols[i], field->type, &parts->cols[i], err), "column '%s'", field->name));
    }
    return w->inner->ops->write(w->inner, parts, err);
}

static int64_t shredding_bytes_estimate(tl_file_writer *base)
{
    shredding_writer *w = (shredding_writer *)base;
    return w->inner->ops->bytes_estimate(w->inner);
}

static int64_t shredding_memory_bytes(tl_file_writer *base)
{
    shredding_writer *w = (shredding_writer *)base;
    return w->inner->ops->memory_bytes(w->inner);
}

static tl_status shredding_finish(tl_file_writer *base, tl_write_result *out, tl_error *err)
{
    shredding_writer *w = (shredding_writer *)base;
    return w->inner->ops->finish(w->inner, out, err);
}

static void shredding_free(tl_file_writer *base)
{
    shredding_writer *w = (shredding_writer *)base;
    if (w == NULL)
        return;
    if (w->inner != NULL)
        w->inner->ops->free(w->inner);
    tl_type_unref(w->file_type);
    tl_type_unref(w->row_type);
    tl_free(w);
}

/* ---- the option ---- */

static const tl_field *schema_of(const tl_type *schemas, const tl_field *column)
{
    for (int32_t i = 0; column->type->kind == TL_VARIANT && i < schemas->n_fields; i++) {
        if (strcmp(schemas->fields[i].name, column->name) == 0)
            return &schemas->fields[i];
    }
    return NULL;
}

static tl_status parse_schemas(const char *text, const tl_type **out, tl_error *err)
{
    tl_arena arena = {0};
    const tl_json *json;
    tl_status status = tl_json_parse(&arena, (tl_bytes_view){(const uint8_t *)text, strlen(text)}, &json, err);
    if (status == TL_OK)
        status = tl_type_from_json(json, out, err);
    tl_arena_deinit(&arena);
    if (status == TL_OK && (*out)->kind != TL_ROW) {
        tl_type_unref(*out);
        *out = NULL;
        status = tl_error_set(err, TL_E_INVALID, "the JSON of a ROW type is expected");
    }
    return status;
}

static tl_status replace_types(const tl_type *row_type, const tl_type *schemas, const tl_type **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_field *fields = tl_calloc((size_t)row_type->n_fields, sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "shredding schema");
    tl_status status = TL_OK;
    for (int32_t i = 0; i < row_type->n_fields && status == TL_OK; i++) {
        const tl_field *schema = schema_of(schemas, &row_type->fields[i]);
        fields[i] = row_type->fields[i];
        fields[i].type = NULL;
        if (schema == NULL)
            fields[i].type = tl_type_ref(row_type->fields[i].type);
        else
            status = tl_variant_shredded_type(schema->type, &fields[i].type, err);
    }
    if (status == TL_OK)
        status = tl_type_create_row(row_type->nullable, fields, row_type->n_fields, out, err);
    for (int32_t i = 0; i < row_type->n_fields; i++)
        tl_type_unref(fields[i].type);
    return status;
}

static tl_status shredded_row_type(const tl_write_spec *spec, const char *option, const tl_type **out, tl_error *err)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *schemas = NULL;
    TL_TRY(tl_error_wrap(err, parse_schemas(option, &schemas, err), "option '%s'", TL_PQ_SHREDDING_OPTION));
    return tl_error_wrap(err, replace_types(spec->row_type, schemas, out, err), "option '%s'", TL_PQ_SHREDDING_OPTION);
}

tl_status tl_pq__create_shredding(tl_fs *fs, const char *path, const tl_write_spec *spec, const char *option, tl_file_writer **out, tl_error *err)
{
    static const tl_file_writer_ops ops = {.write = shredding_write,
                                           .bytes_estimate = shredding_bytes_estimate,
                                           .memory_bytes = shredding_memory_bytes,
                                           .finish = shredding_finish,
                                           .free = shredding_free};
    shredding_writer *w = tl_calloc(1, sizeof *w);
    if (w == NULL)
        return tl_nomem(err, "Parquet writer");
    w->base.ops = &ops;
    w->row_type = tl_type_ref(spec->row_type);
    tl_status status = shredded_row_type(spec, option, &w->file_type, err);
    tl_write_spec inner = *spec;
    inner.row_type = w->file_type;
    if (status == TL_OK)
        status = tl_pq__create_plain(fs, path, &inner, &w->inner, err);
    if (status != TL_OK) {
        shredding_free(&w->base);
        return status;
    }
    *out = &w->base;
    return TL_OK;
}
