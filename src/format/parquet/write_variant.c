/*
 * Shredded VARIANTs: a writer around the writer, which gets the parts as columns. VARIANTs within other columns are written whole.
 *
 * The option `parquet.variant.shreddingSchema` is the JSON of a ROW whose fields are named as VARIANT columns of the table; a field's type
 * tells into what the column is shredded. Columns that it does not name are written whole. With `variant.inferShreddingSchema` the first rows
 * are kept until there are enough of them to tell (types/variant_infer.c); then the file begins.
 * Source: Java VariantUtils, CatalogTableITCase of the reference (what the option looks like), InferVariantShreddingWriter.
 */
#include <strings.h>

#include "base/parse.h"
#include "format/parquet/write_private.h"
#include "types/variant.h"

typedef struct shredding_writer {
    tl_file_writer base;
    tl_file_writer *inner; /* NULL: the schema is not known yet */
    const tl_type *file_type; /* what the file has; ref held */
    const tl_type *row_type;  /* what it is given; ref held */
    /* To infer the schema: */
    tl_fs *fs;
    char *path;
    tl_write_spec spec; /* its options and compression outlive the writer */
    int32_t *field_ids;
    tl_variant_limits limits;
    int64_t wanted_rows;
    int64_t n_rows;
    tl_batch **kept;
    size_t n_kept, cap;
} shredding_writer;

static tl_status write_parts(shredding_writer *w, const tl_batch *batch, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *parts = NULL;
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

/* ---- a schema from the first rows ---- */

static tl_status infer_column(const shredding_writer *w, int32_t column, int32_t *width_left, const tl_type **out, tl_error *err)
{
    const tl_type *type = w->row_type->fields[column].type;
    TL_CLEANUP(tl_type_unrefp) const tl_type *schema = NULL;
    TL_CLEANUP(tl_freep) const tl_column **cols = tl_alloc((w->n_kept + 1) * sizeof *cols);
    if (cols == NULL)
        return tl_nomem(err, "shredding schema");
    for (size_t i = 0; i < w->n_kept; i++)
        cols[i] = w->kept[i]->cols[column];
    TL_TRY(tl_error_wrap(err, tl_variant_infer(cols, w->n_kept, w->wanted_rows, &w->limits, width_left, &schema, err), "column '%s'",
                         w->row_type->fields[column].name));
    if (schema->kind != TL_VARIANT)
        return tl_variant_shredded_type(schema, out, err);
    *out = tl_type_ref(type);
    return TL_OK;
}

static tl_status infer_types(shredding_writer *w, tl_error *err)
{
    int32_t width_left = w->limits.max_width, n = w->row_type->n_fields;
    TL_CLEANUP(tl_freep) tl_field *fields = tl_calloc((size_t)n + 1, sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "shredding schema");
    tl_status status = TL_OK;
    for (int32_t i = 0; i < n && status == TL_OK; i++) {
        const tl_type *type = w->row_type->fields[i].type;
        fields[i] = w->row_type->fields[i];
        fields[i].type = NULL;
        if (type->kind == TL_VARIANT)
            status = infer_column(w, i, &width_left, &fields[i].type, err);
        else
            fields[i].type = tl_type_ref(type);
    }
    if (status == TL_OK)
        status = tl_type_create_row(w->row_type->nullable, fields, n, &w->file_type, err);
    for (int32_t i = 0; i < n; i++)
        tl_type_unref(fields[i].type);
    return status;
}

static void drop_kept(shredding_writer *w)
{
    for (size_t i = 0; i < w->n_kept; i++)
        tl_batch_free(w->kept[i]);
    tl_free(w->kept);
    w->kept = NULL;
    w->n_kept = w->cap = 0;
}

/* The file begins, with what was kept. */
static tl_status begin_file(shredding_writer *w, tl_error *err)
{
    TL_TRY(infer_types(w, err));
    tl_write_spec inner = w->spec;
    inner.row_type = w->file_type;
    TL_TRY(tl_pq__create_plain(w->fs, w->path, &inner, &w->inner, err));
    for (size_t i = 0; i < w->n_kept; i++)
        TL_TRY(write_parts(w, w->kept[i], err));
    drop_kept(w);
    return TL_OK;
}

static tl_status keep_batch(shredding_writer *w, const tl_batch *batch, tl_error *err)
{
    if (w->n_kept == w->cap) {
        size_t cap = w->cap == 0 ? 8 : w->cap * 2;
        tl_batch **kept = tl_realloc(w->kept, cap * sizeof *kept);
        if (kept == NULL)
            return tl_nomem(err, "rows");
        w->kept = kept;
        w->cap = cap;
    }
    TL_TRY(tl_batch_slice(batch, 0, batch->n_rows, &w->kept[w->n_kept], err)); /* shares the columns */
    w->n_kept++;
    w->n_rows += batch->n_rows;
    return w->n_rows >= w->wanted_rows ? begin_file(w, err) : TL_OK;
}

static tl_status shredding_write(tl_file_writer *base, const tl_batch *batch, tl_error *err)
{
    shredding_writer *w = (shredding_writer *)base;
    if (batch->n_cols != w->row_type->n_fields)
        return tl_error_set(err, TL_E_INVALID, "a batch of %d columns does not fit a file of %d", batch->n_cols, w->row_type->n_fields);
    return w->inner == NULL ? keep_batch(w, batch, err) : write_parts(w, batch, err);
}

static int64_t shredding_bytes_estimate(tl_file_writer *base)
{
    shredding_writer *w = (shredding_writer *)base;
    return w->inner == NULL ? 0 : w->inner->ops->bytes_estimate(w->inner);
}

static int64_t shredding_memory_bytes(tl_file_writer *base)
{
    shredding_writer *w = (shredding_writer *)base;
    int64_t bytes = 0;
    for (size_t i = 0; i < w->n_kept; i++)
        bytes += tl_batch_bytes(w->kept[i]);
    return w->inner == NULL ? bytes : w->inner->ops->memory_bytes(w->inner);
}

static tl_status shredding_finish(tl_file_writer *base, tl_write_result *out, tl_error *err)
{
    shredding_writer *w = (shredding_writer *)base;
    if (w->inner == NULL)
        TL_TRY(begin_file(w, err));
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
    drop_kept(w);
    tl_free(w->path);
    tl_free(w->field_ids);
    tl_fs_unref(w->fs);
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

static const tl_file_writer_ops shredding_ops = {.write = shredding_write,
                                                  .bytes_estimate = shredding_bytes_estimate,
                                                  .memory_bytes = shredding_memory_bytes,
                                                  .finish = shredding_finish,
                                                  .free = shredding_free};

tl_status tl_pq__create_shredding(tl_fs *fs, const char *path, const tl_write_spec *spec, const char *option, tl_file_writer **out, tl_error *err)
{
    shredding_writer *w = tl_calloc(1, sizeof *w);
    if (w == NULL)
        return tl_nomem(err, "Parquet writer");
    w->base.ops = &shredding_ops;
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

/* ---- inference ---- */

static tl_status int_option(const tl_options *options, const char *key, int64_t otherwise, int64_t *out, tl_error *err)
{
    const char *text = tl_options_get(options, key);
    *out = otherwise;
    return text == NULL ? TL_OK : tl_error_wrap(err, tl_parse_int(text, INT32_MIN, INT32_MAX, out, err), "option '%s'", key);
}

static tl_status read_limits(shredding_writer *w, const tl_options *options, tl_error *err)
{
    static const char ratio[] = "variant.shredding.minFieldCardinalityRatio";
    const char *text = tl_options_get(options, ratio);
    int64_t width, depth;
    TL_TRY(int_option(options, "variant.shredding.maxSchemaWidth", 300, &width, err));
    TL_TRY(int_option(options, "variant.shredding.maxSchemaDepth", 50, &depth, err));
    TL_TRY(int_option(options, "variant.shredding.maxInferBufferRow", 4096, &w->wanted_rows, err));
    w->wanted_rows = TL_MAX(w->wanted_rows, (int64_t)1); /* the first row is looked at all the same, as in the reference */
    w->limits = (tl_variant_limits){.max_width = (int32_t)width, .max_depth = (int32_t)depth, .min_ratio = 0.1};
    return text == NULL ? TL_OK : tl_error_wrap(err, tl_parse_double(text, &w->limits.min_ratio, err), "option '%s'", ratio);
}

bool tl_pq__infers_shredding(const tl_write_spec *spec)
{
    const char *infer = spec->options == NULL ? NULL : tl_options_get(spec->options, "variant.inferShreddingSchema");
    bool has_variants = false;
    for (int32_t i = 0; i < spec->row_type->n_fields; i++)
        has_variants |= spec->row_type->fields[i].type->kind == TL_VARIANT;
    return infer != NULL && strcasecmp(infer, "true") == 0 && has_variants && tl_options_get(spec->options, "variant.shreddingSchema") == NULL;
}

tl_status tl_pq__create_inferring(tl_fs *fs, const char *path, const tl_write_spec *spec, tl_file_writer **out, tl_error *err)
{
    shredding_writer *w = tl_calloc(1, sizeof *w);
    if (w == NULL)
        return tl_nomem(err, "Parquet writer");
    w->base.ops = &shredding_ops;
    w->row_type = tl_type_ref(spec->row_type);
    w->fs = tl_fs_ref(fs);
    w->spec = *spec;
    w->spec.row_type = w->row_type;
    w->path = tl_strdup(path);
    w->spec.field_ids = w->field_ids = tl_memdup(spec->field_ids, (size_t)w->row_type->n_fields * sizeof *w->field_ids);
    tl_status status = w->path == NULL || w->field_ids == NULL ? tl_nomem(err, "Parquet writer") : read_limits(w, spec->options, err);
    if (status != TL_OK) {
        shredding_free(&w->base);
        return status;
    }
    *out = &w->base;
    return TL_OK;
}
