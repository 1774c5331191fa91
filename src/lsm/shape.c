/*
 * Files of append tables that hold other columns than the table's: with those of row tracking where rows are rewritten and keep
 * their ids, or with some of the columns. Java: BaseAppendFileStoreWrite#withWriteType.
 */
#include "lsm/lsm_private.h"

static tl_status name_columns(tl_lsm__shape *shape, tl_error *err)
{
    shape->write_cols = tl_calloc((size_t)shape->n + 1, sizeof(*shape->write_cols));
    if (shape->write_cols == NULL)
        return tl_nomem(err, "columns of data files");
    for (int32_t i = 0; i < shape->n; i++)
        shape->write_cols[i] = shape->file_type->fields[i].name;
    return TL_OK;
}

/* The last column, _SEQUENCE_NUMBER, of rows that get the commit's number is NULL (SpecialFields#rowTypeWithRowTracking). */
static tl_status let_last_be_null(tl_lsm__shape *shape, tl_error *err)
{
    const tl_type *type = NULL, *old = shape->file_type;
    tl_field *fields = tl_memdup(old->fields, (size_t)old->n_fields * sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "columns of data files");
    tl_status status = tl_type_with_nullable(fields[old->n_fields - 1].type, true, &type, err);
    if (status == TL_OK) {
        fields[old->n_fields - 1].type = type;
        status = tl_type_create_row(/* nullable= */ false, fields, old->n_fields, &shape->file_type, err);
    }
    if (status == TL_OK)
        tl_type_unref(old);
    tl_type_unref(type);
    tl_free(fields);
    return status;
}

static tl_status choose_format(tl_lsm__shape *shape, const tl_lsm_config *config, tl_lsm__place place, tl_error *err)
{
    if (place == TL_LSM__IN_BLOB_FILES)
        shape->options.format = &tl_format_blob;
    if (place != TL_LSM__IN_VECTOR_FILES)
        return TL_OK;
    shape->options.vectors = true;
    return tl_error_wrap(err, tl_lsm__find_format(config->vector_format, &shape->options.format, err), "option 'vector.file.format'");
}

static tl_status fill(tl_lsm__shape *shape, tl_lsm_config *config, const int32_t *columns, tl_lsm__place place, bool null_seq, tl_error *err)
{
    const tl_lsm__file_options *usual = NULL;
    TL_TRY(tl_lsm__file_options_of(config, /* level= */ 0, /* changelog= */ false, &usual, err));
    shape->options = *usual;
    shape->options.next = NULL;
    shape->options.stats = tl_calloc((size_t)shape->n + 1, sizeof(*shape->options.stats));
    TL_TRY(choose_format(shape, config, place, err));
    shape->columns = tl_memdup(columns, (size_t)shape->n * sizeof(*columns));
    shape->field_ids = tl_calloc((size_t)shape->n + 1, sizeof(*shape->field_ids));
    if (shape->options.stats == NULL || shape->columns == NULL || shape->field_ids == NULL)
        return tl_nomem(err, "columns of data files");
    TL_TRY(tl_type_project(config->read_type, columns, shape->n, &shape->file_type, err));
    if (null_seq)
        TL_TRY(let_last_be_null(shape, err));
    for (int32_t i = 0; i < shape->n; i++)
        shape->field_ids[i] = shape->file_type->fields[i].id;
    return tl_lsm__make_stats(config, shape->file_type, /* first_value= */ 0, &shape->options, err);
}

static tl_status create(tl_lsm_config *config, const int32_t *columns, int32_t n, tl_lsm__place place, bool named, bool null_seq,
                        tl_lsm__shape **out, tl_error *err)
{
    tl_lsm__shape *shape = tl_calloc(1, sizeof *shape);
    if (shape == NULL)
        return tl_nomem(err, "columns of data files");
    shape->n = n;
    tl_status status = fill(shape, config, columns, place, null_seq, err);
    if (status == TL_OK && named)
        status = name_columns(shape, err);
    if (status != TL_OK) {
        tl_lsm__shape_free(shape);
        return status;
    }
    *out = shape;
    return TL_OK;
}

tl_status tl_lsm__shape_create(tl_lsm_config *config, const int32_t *columns, int32_t n, tl_lsm__place place, bool named, tl_lsm__shape **out,
                               tl_error *err)
{
    return create(config, columns, n, place, named, /* null_seq= */ false, out, err);
}

tl_status tl_lsm__shape_of_rewrite(tl_lsm_config *config, bool changes, tl_lsm__shape **out, tl_error *err)
{
    int32_t n = tl_lsm__n_readable(config);
    TL_CLEANUP(tl_freep) int32_t *columns = tl_alloc((size_t)(n + 1) * sizeof(*columns));
    if (columns == NULL)
        return tl_nomem(err, "columns of data files");
    for (int32_t i = 0; i < n; i++)
        columns[i] = i;
    return create(config, columns, n, TL_LSM__IN_DATA_FILES, /* named= */ true, changes, out, err);
}

void tl_lsm__shape_free(tl_lsm__shape *shape)
{
    if (shape == NULL)
        return;
    tl_free(shape->columns);
    tl_free(shape->field_ids);
    tl_free(shape->write_cols);
    tl_free(shape->options.stats);
    tl_type_unref(shape->file_type);
    tl_free(shape);
}
