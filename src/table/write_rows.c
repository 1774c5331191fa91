/*
 * What happens to rows before they reach their buckets: NOT NULL checks, default values, row kinds, filters. Whole columns at a
 * time; a batch that needs nothing of it passes untouched. Source: Java: TableWriteImpl, RowKindGenerator, RowKindFilter,
 * DefaultValueRow.
 */
#include "table/write_private.h"

static tl_status note_unwritten(tl_row_rules *rules, const tl_write_options *options, tl_error *err)
{
    int32_t n = rules->table->schema->row_type->n_fields;
    if (options->columns == NULL)
        return TL_OK;
    if ((rules->unwritten = tl_alloc((size_t)n * sizeof *rules->unwritten)) == NULL)
        return tl_nomem(err, "columns");
    memset(rules->unwritten, true, (size_t)n * sizeof *rules->unwritten);
    for (int32_t i = 0; i < options->n_columns; i++)
        rules->unwritten[options->columns[i]] = false;
    return TL_OK;
}

tl_status tl_row_rules_create(const tl_table *table, const tl_write_options *options, tl_row_rules *out, tl_error *err)
{
    const tl_type *row = table->schema->row_type;
    const tl_options *opts = &table->schema->options;
    *out = (tl_row_rules){.table = table, .kind_column = -1};
    out->ignore_delete = tl_table__option_bool(opts, "ignore-delete");
    out->ignore_update_before = tl_table__option_bool(opts, "ignore-update-before");
    out->append_only = table->n_keys == 0;
    out->n_tracked = options->keep_ids ? 2 : 0;
    TL_TRY(note_unwritten(out, options, err));
    const char *field = tl_options_get(opts, "rowkind.field");
    if (field != NULL) {
        out->kind_column = tl_type_field_index(row, field);
        if (out->kind_column < 0)
            return tl_error_set(err, TL_E_INVALID, "Can not find rowkind %s in table schema", field);
        tl_type_kind kind = row->fields[out->kind_column].type->kind;
        if (kind != TL_CHAR && kind != TL_VARCHAR)
            return tl_error_set(err, TL_E_INVALID, "only support string type for rowkind, but %s is none", field);
    }
    out->defaults = tl_calloc((size_t)row->n_fields, sizeof *out->defaults);
    if (out->defaults == NULL)
        return tl_nomem(err, "default values");
    for (int32_t i = 0; i < row->n_fields; i++) {
        const tl_field *f = &row->fields[i];
        if (f->default_value == NULL)
            continue;
        TL_TRY(tl_error_wrap(err, tl_table__default_column(f->type, f->default_value, &out->defaults[i], err), "column '%s'", f->name));
        out->has_defaults = true;
    }
    return TL_OK;
}

void tl_row_rules_deinit(tl_row_rules *rules)
{
    for (int32_t i = 0; rules->defaults != NULL && i < rules->table->schema->row_type->n_fields; i++)
        tl_column_unref(rules->defaults[i]);
    tl_free(rules->defaults);
    tl_free(rules->unwritten);
    *rules = (tl_row_rules){0};
}

static tl_status check_batch(const tl_row_rules *rules, const tl_batch *batch, tl_error *err)
{
    const tl_type *row = rules->table->schema->row_type;
    if (batch->n_cols != row->n_fields + rules->n_tracked)
        return tl_error_set(err, TL_E_INVALID, "rows of %d columns cannot be written to a table of %d", batch->n_cols, row->n_fields);
    for (int32_t i = 0; i < row->n_fields; i++) {
        const tl_field *f = &row->fields[i];
        const tl_column *col = batch->cols[i];
        if (col->phys != tl_type_phys(f->type) || col->length != batch->n_rows)
            return tl_error_set(err, TL_E_INVALID, "column '%s' of the rows to write does not have the table's type", f->name);
        bool written = rules->unwritten == NULL || !rules->unwritten[i];
        if (written && !f->type->nullable && col->null_count > 0)
            return tl_error_set(err, TL_E_INVALID, "Cannot write null to non-null column(%s)", f->name);
    }
    return TL_OK;
}

/* ---- default values ---- */

static tl_status fill_defaults(const tl_type *type, const tl_column *col, const tl_column *value, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_rowref *refs = tl_alloc((size_t)col->length * sizeof *refs);
    if (refs == NULL)
        return tl_nomem(err, "default values");
    for (int64_t i = 0; i < col->length; i++)
        refs[i] = tl_col_is_null(col, i) ? (tl_rowref){1, 0} : (tl_rowref){0, (uint32_t)i};
    const tl_column *srcs[2] = {col, value};
    return tl_column_gather_multi(type, srcs, refs, col->length, out, err);
}

static tl_status apply_defaults(const tl_row_rules *rules, tl_batch *batch, tl_error *err)
{
    for (int32_t i = 0; rules->has_defaults && i < rules->table->schema->row_type->n_fields; i++) {
        if (rules->defaults[i] == NULL || batch->cols[i]->null_count == 0)
            continue;
        tl_column *filled = NULL;
        TL_TRY(fill_defaults(rules->table->schema->row_type->fields[i].type, batch->cols[i], rules->defaults[i], &filled, err));
        tl_column_unref(batch->cols[i]);
        batch->cols[i] = filled;
    }
    return TL_OK;
}

/* ---- row kinds ---- */

static tl_status read_kinds(const tl_row_rules *rules, tl_batch *batch, tl_error *err)
{
    if (rules->kind_column < 0)
        return TL_OK;
    const tl_column *col = batch->cols[rules->kind_column];
    uint8_t *kinds = tl_alloc((size_t)batch->n_rows);
    if (kinds == NULL)
        return tl_nomem(err, "row kinds");
    tl_free(batch->row_kind);
    batch->row_kind = kinds;
    for (int64_t i = 0; i < batch->n_rows; i++) {
        if (tl_col_is_null(col, i))
            return tl_error_set(err, TL_E_INVALID, "Row kind cannot be null.");
        tl_bytes_view text = tl_col_bytes(col, i);
        if (!tl_row_kind_parse(text, &kinds[i]))
            return tl_error_set(err, TL_E_INVALID, "Unsupported short string '%.*s' for row kind.", (int)TL_MIN(text.len, (size_t)64),
                                (const char *)text.data);
    }
    return TL_OK;
}

static tl_status check_kinds(const tl_batch *batch, tl_error *err)
{
    uint8_t most = 0;
    for (int64_t i = 0; batch->row_kind != NULL && i < batch->n_rows; i++)
        most = TL_MAX(most, batch->row_kind[i]);
    return most <= TL_KIND_DELETE ? TL_OK : tl_error_set(err, TL_E_INVALID, "row kind %u is unknown", most);
}

static bool passes(const tl_row_rules *rules, uint8_t kind)
{
    if (kind == TL_KIND_DELETE)
        return !rules->ignore_delete;
    if (kind == TL_KIND_UPDATE_BEFORE)
        return !rules->ignore_delete && !rules->ignore_update_before;
    return true;
}

static tl_status filter_kinds(const tl_row_rules *rules, tl_batch **batch, tl_error *err)
{
    const uint8_t *kinds = (*batch)->row_kind;
    if (kinds == NULL || !(rules->ignore_delete || rules->ignore_update_before))
        return TL_OK;
    int64_t n_rows = (*batch)->n_rows, n = 0;
    TL_CLEANUP(tl_freep) uint32_t *idx = tl_alloc((size_t)n_rows * sizeof *idx);
    if (idx == NULL)
        return tl_nomem(err, "rows");
    for (int64_t i = 0; i < n_rows; i++) {
        idx[n] = (uint32_t)i;
        n += passes(rules, kinds[i]);
    }
    if (n == n_rows)
        return TL_OK;
    tl_batch *left = NULL;
    TL_TRY(tl_batch_gather(*batch, idx, n, &left, err));
    tl_batch_free(*batch);
    *batch = left;
    return TL_OK;
}

static tl_status check_append(const tl_row_rules *rules, const tl_batch *batch, tl_error *err)
{
    static const char *const names[] = {"INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE"};
    for (int64_t i = 0; rules->append_only && batch->row_kind != NULL && i < batch->n_rows; i++) {
        if (tl_kind_is_retract(batch->row_kind[i]))
            return tl_error_set(err, TL_E_INVALID, "Append only writer can not accept row with RowKind %s", names[batch->row_kind[i] & 3]);
    }
    return TL_OK;
}

tl_status tl_row_rules_apply(const tl_row_rules *rules, const tl_batch *batch, tl_batch **out, tl_error *err)
{
    TL_TRY(check_batch(rules, batch, err));
    TL_CLEANUP(tl_batch_freep) tl_batch *copy = NULL;
    TL_TRY(tl_batch_slice(batch, 0, batch->n_rows, &copy, err)); /* shares the columns: what the rules change is ours */
    TL_TRY(apply_defaults(rules, copy, err));
    TL_TRY(read_kinds(rules, copy, err));
    TL_TRY(check_kinds(copy, err));
    TL_TRY(filter_kinds(rules, &copy, err));
    TL_TRY(check_append(rules, copy, err));
    *out = TL_STEAL(copy);
    return TL_OK;
}
