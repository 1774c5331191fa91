/* Whether a plan only adds rows: then operators above need not be ready for rows that are taken back. */
#include "stream/op.h"

/* Formats whose records are changes. */
static bool is_change_format(const tl_options *options)
{
    static const char *const formats[] = {"debezium-json", "canal-json", "maxwell-json", "ogg-json"};
    const char *format = options == NULL ? NULL : tl_options_get(options, "format");
    for (size_t i = 0; format != NULL && i < TL_ARRAY_LEN(formats); i++)
        if (strcmp(format, formats[i]) == 0)
            return true;
    return false;
}

static bool scan_adds(const tl_sql_table *table)
{
    if (table->kind == TL_SQL_TABLE_CONNECTOR)
        return !is_change_format(table->options);
    if (tl_stream__rows_are_changes(table))
        return true;
    const char *engine = tl_table_option(table->table, "merge-engine");
    return tl_table_schema_of(table->table)->n_primary_keys == 0 || (engine != NULL && strcmp(engine, "first-row") == 0);
}

/* Deduplication by processing time: the first row of a partition stays for ever. */
static bool keeps_first_to_come(const tl_plan *plan)
{
    const tl_over *over = &plan->over[0];
    return plan->rank_from == 1 && plan->rank_to == 1 && over->n_order == 1 && !over->order[0].descending &&
           plan->inputs[0]->time_attr[over->order[0].column] == TL_TIME_PROCTIME;
}

bool tl_stream__rows_are_changes(const tl_sql_table *table)
{
    return strstr(table->name, "$audit_log") != NULL || strstr(table->name, "$binlog") != NULL;
}

tl_status tl_stream__need_insert_only(const tl_plan *plan, const char *what, tl_error *err)
{
    for (int32_t i = 0; i < plan->n_inputs; i++)
        if (!tl_stream__insert_only(plan->inputs[i]))
            return tl_error_set(err, TL_E_INVALID, "%s doesn't support consuming update and delete changes, which its input makes", what);
    return TL_OK;
}

/*
 * A node that lets one half of an update pass and holds the other back: HAVING, or a join whose partner is another one now. What takes
 * the old row back must then reach the sink. Flink's rule: FlinkChangelogModeInferenceProgram.
 */
bool tl_stream__splits_updates(const tl_plan *plan)
{
    switch (plan->kind) {
    case TL_PLAN_SCAN:
        return plan->predicate != NULL && !scan_adds(plan->table);
    case TL_PLAN_FILTER:
    case TL_PLAN_LOOKUP_JOIN:
    case TL_PLAN_TEMPORAL_JOIN:
    case TL_PLAN_UNNEST:
    case TL_PLAN_JOIN:
        for (int32_t i = 0; i < plan->n_inputs; i++)
            if (!tl_stream__insert_only(plan->inputs[i]))
                return true;
        return false;
    case TL_PLAN_PROJECT:
    case TL_PLAN_WATERMARK:
    case TL_PLAN_UNION:
    case TL_PLAN_SINK:
        for (int32_t i = 0; i < plan->n_inputs; i++)
            if (tl_stream__splits_updates(plan->inputs[i]))
                return true;
        return false;
    default:
        return false;
    }
}

/* Column of the scan's table that a column of the plan is, through projections; -1: none, or there is another node. */
static int32_t scanned_column(const tl_plan *plan, int32_t column)
{
    for (; plan->kind == TL_PLAN_PROJECT || plan->kind == TL_PLAN_WATERMARK; plan = plan->inputs[0]) {
        if (plan->kind == TL_PLAN_PROJECT && plan->exprs[column]->kind != TL_EXPR_COLUMN)
            return -1;
        if (plan->kind == TL_PLAN_PROJECT)
            column = plan->exprs[column]->column;
    }
    return plan->kind == TL_PLAN_SCAN ? plan->columns[column] : -1;
}

bool tl_stream__filters_by_key(const tl_plan *scan)
{
    const tl_table_schema *schema = tl_table_schema_of(scan->table->table);
    const tl_type *row = scan->table->row_type;
    if (scan->predicate == NULL)
        return true;
    TL_CLEANUP(tl_freep) bool *used = tl_calloc((size_t)row->n_fields + 1, sizeof *used);
    if (used == NULL)
        return false;
    tl_predicate_columns(scan->predicate, used);
    for (int32_t i = 0; i < schema->n_primary_keys; i++)
        used[tl_type_field_index(row, schema->primary_keys[i])] = false;
    for (int32_t c = 0; c < row->n_fields; c++)
        if (used[c])
            return false;
    return true;
}

bool tl_stream__new_rows_do(const tl_plan *plan, const tl_sql_table *sink, bool drops_update_before)
{
    const tl_plan *scan = plan;
    while (scan->kind == TL_PLAN_PROJECT || scan->kind == TL_PLAN_WATERMARK)
        scan = scan->inputs[0];
    if (sink == NULL || !drops_update_before || scan->kind != TL_PLAN_SCAN || !tl_stream__lacks_old_rows(scan->table))
        return false;
    const tl_table_schema *from = tl_table_schema_of(scan->table->table), *to = tl_table_schema_of(sink->table);
    bool same = from->n_primary_keys == to->n_primary_keys && tl_stream__filters_by_key(scan);
    for (int32_t i = 0; same && i < to->n_primary_keys; i++) {
        int32_t column = scanned_column(plan, tl_type_field_index(sink->row_type, to->primary_keys[i]));
        same = false;
        for (int32_t k = 0; column >= 0 && k < from->n_primary_keys; k++)
            same |= tl_type_field_index(scan->table->row_type, from->primary_keys[k]) == column;
    }
    return same;
}

bool tl_stream__insert_only(const tl_plan *plan)
{
    switch (plan->kind) {
    case TL_PLAN_SCAN:
        return scan_adds(plan->table);
    case TL_PLAN_VALUES:
        return true;
    case TL_PLAN_AGGREGATE:
        return plan->by_window || (plan->n_calls == 0 && tl_stream__insert_only(plan->inputs[0])); /* DISTINCT */
    case TL_PLAN_RANK:
        return plan->by_window || (keeps_first_to_come(plan) && tl_stream__insert_only(plan->inputs[0]));
    case TL_PLAN_JOIN:
        if (plan->by_window)
            return true;
        if (!plan->is_interval && plan->join != TL_JOIN_INNER && plan->join != TL_JOIN_SEMI)
            return false;
        break;
    case TL_PLAN_TEMPORAL_JOIN: /* the right side's changes are versions */
        return tl_stream__insert_only(plan->inputs[0]);
    case TL_PLAN_PROJECT:
    case TL_PLAN_FILTER:
    case TL_PLAN_WATERMARK:
    case TL_PLAN_LOOKUP_JOIN:
    case TL_PLAN_UNION:
    case TL_PLAN_OVER:
    case TL_PLAN_WINDOW:
    case TL_PLAN_UNNEST:
        break;
    case TL_PLAN_SETOP:
    case TL_PLAN_SORT:
    case TL_PLAN_SINK:
        return false;
    }
    for (int32_t i = 0; i < plan->n_inputs; i++)
        if (!tl_stream__insert_only(plan->inputs[i]))
            return false;
    return true;
}
