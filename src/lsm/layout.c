/*
 * Columns of data files (format reference §8).
 *
 * Written by us, in order: `_KEY_k` for each column of the trimmed primary key (not in thin mode), `_SEQUENCE_NUMBER`,
 * `_VALUE_KIND`, all columns of the table. Append tables: the columns alone. Java: KeyValue#schema, SpecialFields.
 *
 * Read: `_KEY_*` never; columns of the table by the name that their field id has in the file's own schema, older or newer, and with
 * the type that they have there. What becomes of their values is types/evolve.h.
 */
#include "lsm/lsm_private.h"

/* Fields of the file's ROW; names of keys are allocated into `names`. */
static tl_status system_fields(const tl_lsm_config *config, tl_lsm__layout *layout, tl_field *fields, const tl_type *seq_type,
                               const tl_type *kind_type, tl_error *err)
{
    int32_t n = 0;
    for (int32_t k = 0; k < layout->n_key_cols; k++, n++) {
        const tl_field *f = &config->schema->row_type->fields[config->key_idx[k]];
        fields[n] = (tl_field){
            .name = tl_strf(TL_LSM__KEY_PREFIX "%s", f->name), .id = TL_LSM__KEY_FIELD_ID_START + f->id, .type = f->type};
        if (fields[n].name == NULL)
            return tl_nomem(err, "columns of data files");
    }
    layout->seq_col = n;
    fields[n++] = (tl_field){.name = (char *)TL_LSM__SEQUENCE_NUMBER, .id = TL_LSM__SEQUENCE_FIELD_ID, .type = seq_type};
    layout->kind_col = n;
    fields[n++] = (tl_field){.name = (char *)TL_LSM__VALUE_KIND, .id = TL_LSM__KIND_FIELD_ID, .type = kind_type};
    layout->first_value = n;
    return TL_OK;
}

static tl_status build_file_type(const tl_lsm_config *config, tl_lsm__layout *layout, tl_error *err)
{
    const tl_type *row = config->schema->row_type;
    const tl_type *seq_type = NULL, *kind_type = NULL;
    layout->n_key_cols = config->thin_mode ? 0 : config->n_keys;
    layout->n_file_cols = row->n_fields + (config->n_keys > 0 ? layout->n_key_cols + 2 : 0);
    tl_field *fields = tl_calloc((size_t)layout->n_file_cols + 1, sizeof *fields);
    layout->field_ids = tl_calloc((size_t)layout->n_file_cols + 1, sizeof *layout->field_ids);
    tl_status status = TL_OK;
    if (fields == NULL || layout->field_ids == NULL) {
        status = tl_nomem(err, "columns of data files");
        goto out;
    }
    TL_TRY_GOTO(tl_type_create(TL_BIGINT, /* nullable= */ false, 0, 0, &seq_type, err));
    TL_TRY_GOTO(tl_type_create(TL_TINYINT, /* nullable= */ false, 0, 0, &kind_type, err));
    if (config->n_keys > 0)
        TL_TRY_GOTO(system_fields(config, layout, fields, seq_type, kind_type, err));
    for (int32_t i = 0; i < row->n_fields; i++)
        fields[layout->first_value + i] = row->fields[i];
    for (int32_t i = 0; i < layout->n_file_cols; i++)
        layout->field_ids[i] = fields[i].id;
    TL_TRY_GOTO(tl_type_create_row(/* nullable= */ false, fields, layout->n_file_cols, &layout->file_type, err));
out:
    for (int32_t k = 0; fields != NULL && k < layout->n_key_cols; k++)
        tl_free(fields[k].name);
    tl_free(fields);
    tl_type_unref(seq_type);
    tl_type_unref(kind_type);
    return status;
}

tl_status tl_lsm__layout_create(tl_lsm_config *config, tl_error *err)
{
    tl_lsm__layout *layout = tl_calloc(1, sizeof *layout);
    if (layout == NULL)
        return tl_nomem(err, "columns of data files");
    pthread_mutex_init(&layout->lock, NULL);
    layout->seq_col = layout->kind_col = -1;
    config->layout = layout;
    TL_TRY(build_file_type(config, layout, err));
    return tl_type_project(config->schema->row_type, config->key_idx, config->n_keys, &layout->key_type, err);
}

static void file_schema_free(tl_lsm__file_schema *schema, int32_t n_columns)
{
    if (schema == NULL)
        return;
    for (int32_t i = 0; schema->columns != NULL && i < n_columns; i++) {
        tl_free(schema->columns[i].name);
        tl_evolution_free(schema->columns[i].evolution);
        tl_free(schema->columns[i].unsupported);
    }
    tl_free(schema->columns);
    tl_table_schema_unref(schema->schema);
    tl_free(schema);
}

void tl_lsm__layout_free(tl_lsm__layout *layout, int32_t n_columns)
{
    tl_type_unref(layout->file_type);
    tl_type_unref(layout->key_type);
    tl_free(layout->field_ids);
    for (size_t i = 0; i < layout->n_schemas; i++)
        file_schema_free(layout->schemas[i], n_columns);
    tl_free(layout->schemas);
    tl_file_index_plan_free(layout->index_plan);
    tl_arena_deinit(&layout->arena);
    pthread_mutex_destroy(&layout->lock);
    tl_free(layout);
}

/* Map one column of today to the file's schema. What cannot be read is no error as long as nobody asks for it: a pair of types without
 * a cast, and values of a newer schema (somebody has altered the table since it was opened) that a cast back would change. */
static tl_status map_column(const tl_field *field, const tl_type *file_row, bool newer, tl_lsm__file_column *out, tl_error *err)
{
    int32_t j = tl_type_field_index_by_id(file_row, field->id);
    if (j < 0)
        return TL_OK; /* added later: NULL in these files */
    const tl_field *old = &file_row->fields[j];
    if (old->type != field->type) {
        tl_error why;
        tl_status status = tl_evolution_create(old->type, field->type, &out->evolution, &why);
        bool altered = newer && status == TL_OK && out->evolution != NULL && tl_evolution_changes_values(out->evolution);
        if (status == TL_E_UNSUPPORTED || altered)
            out->unsupported = tl_strf("column '%s': %s", field->name,
                                       altered ? "the table was altered, and the column has another type now: open the table anew" : why.message);
        if (status == TL_E_NOMEM || ((status == TL_E_UNSUPPORTED || altered) && out->unsupported == NULL))
            return tl_nomem(err, "file schema");
        if (status == TL_OK && out->evolution == NULL)
            return TL_OK; /* nothing of it is left */
    }
    out->name = tl_strdup(old->name);
    return out->name == NULL ? tl_nomem(err, "file schema") : TL_OK;
}

/* Whether a schema has columns, or types of columns, that `row` has not. */
static bool has_more(const tl_type *file_row, const tl_type *row)
{
    for (int32_t j = 0; j < file_row->n_fields; j++) {
        int32_t i = tl_type_field_index_by_id(row, file_row->fields[j].id);
        if (i < 0 || !tl_type_same(row->fields[i].type, file_row->fields[j].type))
            return true;
    }
    return false;
}

static tl_status file_schema_create(const tl_lsm_config *config, int64_t schema_id, bool of_anchor, tl_lsm__file_schema **out, tl_error *err)
{
    const tl_type *row = config->schema->row_type;
    tl_lsm__file_schema *mapped = tl_calloc(1, sizeof *mapped);
    tl_status status = TL_OK;
    if (mapped == NULL || (mapped->columns = tl_calloc((size_t)row->n_fields + 1, sizeof *mapped->columns)) == NULL) {
        status = tl_nomem(err, "file schema");
        goto out;
    }
    mapped->schema_id = schema_id;
    mapped->of_anchor = of_anchor;
    bool newer = !of_anchor && schema_id > config->schema->id; /* numbers of another branch say nothing about this one's */
    const tl_type *file_row = row;
    if (of_anchor || schema_id != config->schema->id) {
        tl_paths paths = {.table = config->paths.table, .branch = of_anchor ? config->anchors : config->paths.branch};
        TL_TRY_GOTO(tl_schema_read(config->fs, &paths, schema_id, &mapped->schema, err));
        file_row = mapped->schema->row_type;
        mapped->newer = newer && has_more(file_row, row);
    }
    mapped->row_type = file_row;
    for (int32_t i = 0; i < row->n_fields; i++)
        TL_TRY_GOTO(map_column(&row->fields[i], file_row, newer && !config->old_schema, &mapped->columns[i], err));
    *out = TL_STEAL(mapped);
out:
    file_schema_free(mapped, row->n_fields);
    return status;
}

static const tl_lsm__file_schema *find_schema(const tl_lsm__layout *layout, int64_t schema_id, bool of_anchor)
{
    for (size_t i = 0; i < layout->n_schemas; i++) {
        if (layout->schemas[i]->schema_id == schema_id && layout->schemas[i]->of_anchor == of_anchor)
            return layout->schemas[i];
    }
    return NULL;
}

tl_status tl_lsm__file_schema_of(tl_lsm_config *config, const tl_data_file *file, const tl_lsm__file_schema **out, tl_error *err)
{
    tl_lsm__layout *layout = config->layout;
    tl_status status = TL_OK;
    pthread_mutex_lock(&layout->lock);
    const tl_lsm__file_schema *found = find_schema(layout, file->schema_id, file->of_anchor);
    if (found == NULL) {
        tl_lsm__file_schema **grown = tl_realloc(layout->schemas, (layout->n_schemas + 1) * sizeof(layout->schemas[0]));
        if (grown == NULL) {
            status = tl_nomem(err, "file schema");
        } else {
            layout->schemas = grown;
            status = file_schema_create(config, file->schema_id, file->of_anchor, &layout->schemas[layout->n_schemas], err);
            if (status == TL_OK)
                found = layout->schemas[layout->n_schemas++];
        }
    }
    pthread_mutex_unlock(&layout->lock);
    TL_TRY(status);
    *out = found;
    return TL_OK;
}

tl_status tl_lsm__newer_file(tl_lsm_config *config, tl_data_file *const *files, size_t n, const tl_data_file **out, tl_error *err)
{
    *out = NULL;
    for (size_t i = 0; i < n && *out == NULL; i++) {
        const tl_lsm__file_schema *schema = NULL;
        if (files[i]->schema_id <= config->schema->id)
            continue;
        TL_TRY(tl_error_wrap(err, tl_lsm__file_schema_of(config, files[i], &schema, err), "data file '%s'", files[i]->name));
        *out = schema->newer ? files[i] : NULL;
    }
    return TL_OK;
}

tl_status tl_lsm__refuse_newer(const tl_lsm_config *config, const tl_data_file *newer, tl_error *err)
{
    return tl_error_set(err, TL_E_CONFLICT,
                        "the table was altered: data file '%s' has columns of schema %lld that rewriting it under schema %lld would lose; "
                        "open the table anew (restart the job)",
                        newer->name, (long long)newer->schema_id, (long long)config->schema->id);
}
