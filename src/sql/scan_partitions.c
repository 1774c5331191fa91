/*
 * `scan.partitions`: which partitions of a table a batch query reads, as a condition over its columns. `a=1,b=2;a=3,b=4`, `max_pt()` (the
 * newest) or `max_two_pt()`. A column that is not given is NULL there. Java: PartitionLoader, StaticPartitionLoader (Flink module).
 */
#include "sql/bind.h"

#include "base/parse.h"
#include "table/table.h"
#include "types/text.h"

/* 'text' with its quotes doubled; NULL is the default partition. */
static tl_status append_condition(const tl_sql_table *table, int32_t column, tl_bytes_view value, tl_buf *out)
{
    const tl_field *field = &table->row_type->fields[column];
    TL_TRY(tl_buf_appendf(out, "`%s` ", field->name));
    if (value.data == NULL)
        return tl_buf_append_str(out, "IS NULL");
    TL_TRY(tl_buf_append_str(out, "= CAST('"));
    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] == '\'')
            TL_TRY(tl_buf_append_byte(out, '\''));
        TL_TRY(tl_buf_append_byte(out, value.data[i]));
    }
    TL_TRY(tl_buf_append_str(out, "' AS "));
    TL_TRY(tl_type_format(field->type, out));
    if (!field->type->nullable) /* a cast's type says nothing of that */
        out->len -= strlen(" NOT NULL");
    return tl_buf_append_byte(out, ')');
}

/* "a=1,b=2" of one partition. */
static tl_status append_spec(tl_binder *b, const tl_sql_table *table, tl_bytes_view spec, tl_buf *out)
{
    const char *default_name = tl_table_config(table->table)->partition_default_name;
    int32_t given = 0;
    TL_CLEANUP(tl_freep) char *text = tl_strndup((const char *)spec.data, spec.len);
    if (text == NULL)
        return tl_nomem(b->err, "partitions");
    tl_status status = tl_buf_append_byte(out, '(');
    for (int32_t k = 0; k < table->n_partition_key && status == TL_OK; k++) {
        const char *name = table->row_type->fields[table->partition_key[k]].name;
        tl_bytes_view piece, value = {0};
        for (const char *at = text; tl_list_next(&at, &piece);) {
            if (piece.len > strlen(name) && memcmp(piece.data, name, strlen(name)) == 0 && piece.data[strlen(name)] == '=') {
                value = (tl_bytes_view){piece.data + strlen(name) + 1, piece.len - strlen(name) - 1};
                given++;
            }
        }
        if (value.data != NULL && strlen(default_name) == value.len && memcmp(default_name, value.data, value.len) == 0)
            value.data = NULL;
        status = k == 0 ? TL_OK : tl_buf_append_str(out, " AND ");
        if (status == TL_OK)
            status = append_condition(table, table->partition_key[k], value, out);
    }
    int32_t pieces = 0;
    tl_bytes_view piece;
    for (const char *at = text; tl_list_next(&at, &piece);)
        pieces++;
    if (status == TL_OK)
        status = tl_buf_append_byte(out, ')');
    if (status != TL_OK)
        return tl_nomem(b->err, "partitions");
    if (pieces != given || given == 0)
        return tl_error_set(b->err, TL_E_INVALID, "option 'scan.partitions': '%s' is not of the form column=value,… with partition columns of the table", text);
    return TL_OK;
}

static tl_status static_text(tl_binder *b, const tl_sql_table *table, const char *partitions, tl_buf *out)
{
    for (const char *from = partitions; *from != '\0';) {
        size_t len = strcspn(from, ";");
        if (out->len > 0 && tl_buf_append_str(out, " OR ") != TL_OK)
            return tl_nomem(b->err, "partitions");
        TL_TRY(append_spec(b, table, (tl_bytes_view){(const uint8_t *)from, len}, out));
        from += len + (from[len] == ';');
    }
    return out->len > 0 ? TL_OK : tl_error_set(b->err, TL_E_INVALID, "option 'scan.partitions' names no partition");
}

/* ---- the newest ---- */

static tl_status row_text(const tl_sql_table *table, const tl_batch *row, tl_buf *out)
{
    TL_CLEANUP(tl_buf_deinit) tl_buf value = {0};
    if (out->len > 0)
        TL_TRY(tl_buf_append_str(out, " OR "));
    TL_TRY(tl_buf_append_byte(out, '('));
    for (int32_t k = 0; k < table->n_partition_key; k++) {
        value.len = 0;
        bool null = tl_col_is_null(row->cols[k], 0);
        if (!null)
            TL_TRY(tl_text_append_plain(&value, row->cols[k], 0));
        for (size_t i = 0; !null && row->cols[k]->type->kind >= TL_TIMESTAMP && i < value.len; i++)
            value.data[i] = value.data[i] == 'T' ? ' ' : value.data[i]; /* as casts have it */
        if (k > 0)
            TL_TRY(tl_buf_append_str(out, " AND "));
        TL_TRY(append_condition(table, table->partition_key[k], null ? (tl_bytes_view){0} : (tl_bytes_view){value.data == NULL ? (const uint8_t *)"" : value.data, value.len}, out));
    }
    return tl_buf_append_byte(out, ')');
}

static tl_status newest_text(tl_binder *b, const tl_sql_table *table, int wanted, tl_buf *out)
{
    tl_batch *newest[TL_NEWEST_PARTITIONS_MAX] = {NULL};
    tl_splits splits = {0};
    tl_scan_spec spec = {.limit = -1};
    TL_TRY(tl_table_plan(table->table, &spec, &splits, b->err));
    tl_status status = tl_newest_partitions(table->table, &splits, wanted, newest, b->err);
    tl_splits_deinit(&splits);
    if (status == TL_OK && newest[0] == NULL && tl_buf_append_str(out, "FALSE") != TL_OK)
        status = tl_nomem(b->err, "partitions");
    for (int i = 0; i < wanted; i++) {
        if (status == TL_OK && newest[i] != NULL && row_text(table, newest[i], out) != TL_OK)
            status = tl_nomem(b->err, "partitions");
        tl_batch_free(newest[i]);
    }
    return status;
}

tl_status tl_bind__scan_partitions(tl_binder *b, const tl_sql_table *table, tl_plan **plan)
{
    const char *partitions = tl_table_option(table->table, "scan.partitions"); /* hints are in it, too */
    if (partitions == NULL || b->streaming) /* there look-ups alone ask for it */
        return TL_OK;
    if (table->n_partition_key == 0)
        return tl_error_set(b->err, TL_E_INVALID, "option 'scan.partitions': table %s.%s has no partitions", table->db, table->name);
    TL_CLEANUP(tl_buf_deinit) tl_buf text = {0};
    int newest = tl_newest_partitions_wanted(partitions);
    TL_TRY(newest > 0 ? newest_text(b, table, newest, &text) : static_text(b, table, partitions, &text));
    const tl_ast *ast = NULL;
    tl_expr *condition = NULL;
    TL_TRY(tl_error_wrap(b->err, tl_sql__parse_expr(b->arena, (const char *)text.data, text.len, &ast, b->err), "option 'scan.partitions'"));
    TL_TRY(tl_error_wrap(b->err, tl_bind__over(b, *plan, ast, &condition), "option 'scan.partitions'"));
    return tl_bind__filter(b, *plan, condition, plan);
}
