/* Plans and expressions as text. */
#include "sql/bind.h"

static tl_status put(tl_buf *out, const char *text)
{
    return tl_buf_append_str(out, text);
}

static tl_status put_column(tl_buf *out, int32_t i, const tl_type *row)
{
    if (row != NULL && i < row->n_fields)
        return put(out, row->fields[i].name);
    return tl_buf_appendf(out, "$%d", (int)i);
}

static tl_status put_literal(tl_buf *out, const tl_column *col)
{
    if (tl_col_is_null(col, 0))
        return put(out, "NULL");
    bool quoted = tl_sql__is_text(col->type) || (col->type->kind >= TL_DATE && col->type->kind <= TL_TIMESTAMP_LTZ);
    TL_TRY(put(out, quoted ? "'" : ""));
    TL_TRY(tl_text_append_plain(out, col, 0));
    return put(out, quoted ? "'" : "");
}

static tl_status put_args(tl_buf *out, const tl_expr *e, const tl_type *input, const char *separator)
{
    for (int32_t i = 0; i < e->n_args; i++) {
        TL_TRY(put(out, i > 0 ? separator : ""));
        TL_TRY(tl_expr_format(e->args[i], input, out));
    }
    return TL_OK;
}

static tl_status put_call(tl_buf *out, const tl_expr *e, const tl_type *input)
{
    const char *name = e->fn->name;
    bool infix = e->n_args == 2 && ((name[0] < 'A' && name[0] != '$') || name[0] == '|' || strncmp(name, "IS ", 3) == 0 || strcmp(name, "LIKE") == 0);
    if (infix) {
        TL_TRY(put(out, "("));
        TL_TRY(tl_expr_format(e->args[0], input, out));
        TL_TRY(tl_buf_appendf(out, " %s ", name));
        TL_TRY(tl_expr_format(e->args[1], input, out));
        return put(out, ")");
    }
    if (e->n_args == 1 && strncmp(name, "IS ", 3) == 0) {
        TL_TRY(tl_expr_format(e->args[0], input, out));
        return tl_buf_appendf(out, " %s", name);
    }
    if (strcmp(name, "$FIELD") == 0) {
        TL_TRY(tl_expr_format(e->args[0], input, out));
        return tl_buf_appendf(out, ".%s", e->args[0]->type->fields[tl_col_i32(e->args[1]->literal, 0)].name);
    }
    TL_TRY(tl_buf_appendf(out, "%s(", name));
    TL_TRY(put_args(out, e, input, ", "));
    return put(out, ")");
}

static tl_status put_case(tl_buf *out, const tl_expr *e, const tl_type *input)
{
    TL_TRY(put(out, "CASE"));
    for (int32_t i = 0; i < e->n_args; i++) {
        TL_TRY(put(out, i == e->n_args - 1 ? " ELSE " : i % 2 == 0 ? " WHEN " : " THEN "));
        TL_TRY(tl_expr_format(e->args[i], input, out));
    }
    return put(out, " END");
}

tl_status tl_expr_format(const tl_expr *e, const tl_type *input, tl_buf *out)
{
    switch (e->kind) {
    case TL_EXPR_COLUMN:
        return put_column(out, e->column, input);
    case TL_EXPR_LITERAL:
        return put_literal(out, e->literal);
    case TL_EXPR_CALL:
        return put_call(out, e, input);
    case TL_EXPR_CAST:
        TL_TRY(put(out, e->is_try ? "TRY_CAST(" : "CAST("));
        TL_TRY(tl_expr_format(e->args[0], input, out));
        TL_TRY(put(out, " AS "));
        TL_TRY(tl_type_format(e->type, out));
        return put(out, ")");
    case TL_EXPR_AND:
    case TL_EXPR_OR:
        TL_TRY(put(out, "("));
        TL_TRY(put_args(out, e, input, e->kind == TL_EXPR_AND ? " AND " : " OR "));
        return put(out, ")");
    case TL_EXPR_CASE:
        return put_case(out, e, input);
    case TL_EXPR_COALESCE:
        TL_TRY(put(out, "COALESCE("));
        TL_TRY(put_args(out, e, input, ", "));
        return put(out, ")");
    case TL_EXPR_ROWTIME:
        return put(out, "PROCTIME()");
    case TL_EXPR_WATERMARK:
        return put(out, "CURRENT_WATERMARK()");
    case TL_EXPR_OUTER:
        return tl_buf_appendf(out, "outer%d.$%d", (int)e->level, (int)e->column);
    case TL_EXPR_SUBQUERY: {
        static const char *const names[] = {"", "EXISTS ", "IN ", "ANY ", "ALL "};
        TL_TRY(put_args(out, e, input, ", "));
        return tl_buf_appendf(out, "%s%s(subquery)", e->n_args > 0 ? " " : "", names[e->subquery]);
    }
    default:
        return put(out, "?");
    }
}

/* ---- plans ---- */

static const char *const join_names[] = {"Inner", "Left", "Right", "Full", "Semi", "Anti"};

static tl_status put_columns(tl_buf *out, const int32_t *columns, int32_t n, const tl_type *row)
{
    for (int32_t i = 0; i < n; i++) {
        TL_TRY(put(out, i > 0 ? ", " : ""));
        TL_TRY(put_column(out, columns[i], row));
    }
    return TL_OK;
}

static tl_status put_predicate(tl_buf *out, const tl_predicate *p, const tl_type *row)
{
    static const char *const ops[] = {"and",     "or", "not", "true",    "false",       "=",           "<>",        "<",        "<=",  ">",
                                      ">=",      "in", "not in", "between", "is null", "is not null", "starts with", "ends with", "contains", "like"};
    if (p->op == TL_PRED_AND || p->op == TL_PRED_OR || p->op == TL_PRED_NOT) {
        TL_TRY(put(out, "("));
        for (int32_t i = 0; i < p->n_children; i++) {
            if (i > 0 || p->op == TL_PRED_NOT)
                TL_TRY(tl_buf_appendf(out, "%s%s ", i > 0 ? " " : "", ops[p->op]));
            TL_TRY(put_predicate(out, p->children[i], row));
        }
        return put(out, ")");
    }
    TL_TRY(put_column(out, p->column, row));
    TL_TRY(tl_buf_appendf(out, " %s", ops[p->op]));
    for (int64_t i = 0; p->literals != NULL && i < p->literals->length; i++) {
        TL_TRY(put(out, i > 0 ? ", " : " "));
        TL_TRY(tl_text_append_plain(out, p->literals, i));
    }
    return TL_OK;
}

/* What the file indexes are asked of values in maps. A Filter above, or the join's condition, has it, too. */
static tl_status put_map_filter(tl_buf *out, const tl_map_filter *filter, const tl_type *row)
{
    tl_status status = TL_OK;
    const tl_type *values = NULL;
    TL_CLEANUP(tl_freep) tl_field *fields = tl_calloc((size_t)filter->n_values + 1, sizeof *fields);
    if (fields == NULL)
        return TL_E_NOMEM;
    for (int32_t i = 0; i < filter->n_values && status == TL_OK; i++) {
        const tl_field *map = &row->fields[filter->values[i].column];
        fields[i] = (tl_field){.name = tl_strf("%s['%s']", map->name, filter->values[i].key), .type = map->type->fields[1].type};
        status = fields[i].name == NULL ? TL_E_NOMEM : TL_OK;
    }
    if (status == TL_OK)
        status = tl_type_create_row(/* nullable= */ false, fields, filter->n_values, &values, NULL);
    if (status == TL_OK)
        status = put(out, " indexes where ");
    if (status == TL_OK)
        status = put_predicate(out, filter->predicate, values);
    for (int32_t i = 0; i < filter->n_values; i++)
        tl_free(fields[i].name);
    tl_type_unref(values);
    return status;
}

/* What the rows of a table are asked for where it is read. */
static tl_status put_pushed(tl_buf *out, const tl_plan *p)
{
    if (p->predicate != NULL) {
        TL_TRY(put(out, " where "));
        TL_TRY(put_predicate(out, p->predicate, p->table->row_type));
    }
    return p->map_filter == NULL ? TL_OK : put_map_filter(out, p->map_filter, p->table->row_type);
}

static tl_status put_table(tl_buf *out, const tl_sql_table *t)
{
    TL_TRY(tl_buf_appendf(out, "%s.%s.%s", t->catalog, t->db, t->name));
    for (size_t i = 0; t->kind == TL_SQL_TABLE_LAKE && i < t->options->count; i++)
        TL_TRY(tl_buf_appendf(out, "%s%s=%s%s", i == 0 ? " {" : ", ", t->options->keys[i], t->options->values[i], i + 1 == t->options->count ? "}" : ""));
    return TL_OK;
}

static tl_status put_keys(tl_buf *out, const tl_plan *p, const tl_type *left, const tl_type *right)
{
    for (int32_t i = 0; i < p->n_keys; i++) {
        TL_TRY(put(out, i > 0 ? " and " : ""));
        TL_TRY(put_column(out, p->left_keys[i], left));
        TL_TRY(put(out, p->null_safe != NULL && p->null_safe[i] ? " IS NOT DISTINCT FROM " : " = "));
        TL_TRY(put_column(out, p->right_keys[i], right));
    }
    return TL_OK;
}

static tl_status put_agg(tl_buf *out, const tl_agg_call *c, const tl_type *row)
{
    TL_TRY(tl_buf_appendf(out, "%s(%s", tl_agg_name(c->kind), c->distinct ? "DISTINCT " : ""));
    if (c->n_args == 0 && c->kind == TL_AGG_COUNT)
        TL_TRY(put(out, "*"));
    TL_TRY(put_columns(out, c->args, c->n_args, row));
    TL_TRY(put(out, ")"));
    if (c->filter < 0)
        return TL_OK;
    TL_TRY(put(out, " filter "));
    return put_column(out, c->filter, row);
}

static tl_status put_exprs(tl_buf *out, const tl_plan *p)
{
    for (int32_t i = 0; i < p->type->n_fields; i++) {
        TL_TRY(put(out, i > 0 ? ", " : ""));
        TL_TRY(tl_expr_format(p->exprs[i], p->inputs[0]->type, out));
        TL_TRY(tl_buf_appendf(out, " AS %s", p->type->fields[i].name));
    }
    return TL_OK;
}

static tl_status put_aggregate(tl_buf *out, const tl_plan *p)
{
    const tl_type *row = p->inputs[0]->type;
    TL_TRY(put(out, p->by_window ? "Window" : ""));
    TL_TRY(put(out, p->n_calls == 0 ? "Distinct [" : "Aggregate ["));
    TL_TRY(put_columns(out, p->group, p->n_group, row));
    TL_TRY(put(out, "]"));
    for (int32_t i = 0; i < p->n_calls; i++) {
        TL_TRY(put(out, i > 0 ? ", " : " "));
        TL_TRY(put_agg(out, &p->calls[i], row));
    }
    return p->grouping_sets != NULL ? tl_buf_appendf(out, " sets %d", (int)p->n_sets) : TL_OK;
}

static tl_status put_sort_keys(tl_buf *out, const tl_sort_key *keys, int32_t n, const tl_type *row)
{
    for (int32_t i = 0; i < n; i++) {
        TL_TRY(put(out, i > 0 ? ", " : ""));
        TL_TRY(put_column(out, keys[i].column, row));
        TL_TRY(tl_buf_appendf(out, "%s%s", keys[i].descending ? " desc" : "", keys[i].nulls_first == keys[i].descending ? (keys[i].nulls_first ? " nulls first" : " nulls last") : ""));
    }
    return TL_OK;
}

static tl_status put_over(tl_buf *out, const tl_plan *p)
{
    const tl_type *row = p->inputs[0]->type;
    TL_TRY(put(out, "Over"));
    for (int32_t i = 0; i < p->n_over; i++) {
        const tl_over *o = &p->over[i];
        TL_TRY(put(out, " [partition by "));
        TL_TRY(put_columns(out, o->partition, o->n_partition, row));
        TL_TRY(put(out, " order by "));
        TL_TRY(put_sort_keys(out, o->order, o->n_order, row));
        TL_TRY(put(out, "]"));
        for (int32_t k = 0; k < o->n_calls; k++) {
            TL_TRY(put(out, k > 0 ? ", " : " "));
            TL_TRY(put_agg(out, &o->calls[k], row));
        }
    }
    return TL_OK;
}

static tl_status put_rank(tl_buf *out, const tl_plan *p)
{
    const tl_type *row = p->inputs[0]->type;
    TL_TRY(tl_buf_appendf(out, "%sRank %lld to %lld%s [partition by ", p->by_window ? "Window" : "", (long long)p->rank_from, (long long)p->rank_to,
                          p->keep_newest ? " newest" : ""));
    TL_TRY(put_columns(out, p->over[0].partition, p->over[0].n_partition, row));
    TL_TRY(put(out, " order by "));
    TL_TRY(put_sort_keys(out, p->over[0].order, p->over[0].n_order, row));
    return put(out, p->with_rank ? "] with rank" : "]");
}

static tl_status put_join(tl_buf *out, const tl_plan *p)
{
    const char *how = p->kind == TL_PLAN_TEMPORAL_JOIN ? "Temporal" : p->by_window ? "Window" : p->is_interval ? "Interval" : "";
    TL_TRY(tl_buf_appendf(out, "%sJoin %s on ", how, join_names[p->join]));
    TL_TRY(put_keys(out, p, p->inputs[0]->type, p->inputs[1]->type));
    if (!p->is_interval)
        return TL_OK;
    TL_TRY(put(out, p->n_keys > 0 ? " and " : ""));
    TL_TRY(put_column(out, p->right_time, p->inputs[1]->type));
    TL_TRY(put(out, " - "));
    TL_TRY(put_column(out, p->left_time, p->inputs[0]->type));
    return tl_buf_appendf(out, " in %lld ... %lld ms", (long long)p->lower_ms, (long long)p->upper_ms);
}

static tl_status put_lookup(tl_buf *out, const tl_plan *p)
{
    TL_TRY(tl_buf_appendf(out, "LookupJoin %s ", join_names[p->join]));
    TL_TRY(put_table(out, p->table));
    TL_TRY(put(out, " on "));
    TL_TRY(put_keys(out, p, p->inputs[0]->type, p->table->row_type));
    TL_TRY(put(out, " ["));
    TL_TRY(put_columns(out, p->columns, p->n_columns, p->table->row_type));
    return put(out, "]");
}

static tl_status put_node(tl_buf *out, const tl_plan *p)
{
    static const char *const windows[] = {"Tumble", "Hop", "Cumulate", "Session"};
    const tl_type *input = p->n_inputs > 0 ? p->inputs[0]->type : NULL;
    switch (p->kind) {
    case TL_PLAN_SCAN:
        TL_TRY(put(out, "Scan "));
        TL_TRY(put_table(out, p->table));
        TL_TRY(put(out, " ["));
        TL_TRY(put_columns(out, p->columns, p->type->n_fields, p->table->row_type));
        TL_TRY(put(out, "]"));
        return put_pushed(out, p);
    case TL_PLAN_VALUES:
        return tl_buf_appendf(out, "Values %lld rows", (long long)p->n_rows);
    case TL_PLAN_PROJECT:
        TL_TRY(put(out, "Project "));
        return put_exprs(out, p);
    case TL_PLAN_FILTER:
        TL_TRY(put(out, "Filter "));
        return tl_expr_format(p->condition, input, out);
    case TL_PLAN_WATERMARK:
        TL_TRY(put(out, "Watermark "));
        TL_TRY(put_column(out, p->rowtime, input));
        TL_TRY(put(out, " = "));
        return tl_expr_format(p->condition, input, out);
    case TL_PLAN_JOIN:
    case TL_PLAN_TEMPORAL_JOIN:
        return put_join(out, p);
    case TL_PLAN_LOOKUP_JOIN:
        return put_lookup(out, p);
    case TL_PLAN_AGGREGATE:
        return put_aggregate(out, p);
    case TL_PLAN_UNION:
        return put(out, "UnionAll");
    case TL_PLAN_SETOP:
        return tl_buf_appendf(out, "%s%s", p->except ? "Except" : "Intersect", p->all ? "All" : "");
    case TL_PLAN_OVER:
        return put_over(out, p);
    case TL_PLAN_RANK:
        return put_rank(out, p);
    case TL_PLAN_WINDOW:
        TL_TRY(tl_buf_appendf(out, "Window %s size %lld ms slide %lld ms offset %lld ms on ", windows[p->window], (long long)p->size_ms, (long long)p->slide_ms,
                              (long long)p->offset_ms));
        return put_column(out, p->rowtime, input);
    case TL_PLAN_UNNEST:
        TL_TRY(tl_buf_appendf(out, "Unnest %s ", join_names[p->join]));
        return put_column(out, p->unnest_column, input);
    case TL_PLAN_SORT:
        TL_TRY(put(out, p->n_sort > 0 ? "Sort " : "Limit"));
        TL_TRY(put_sort_keys(out, p->sort, p->n_sort, input));
        if (p->offset > 0)
            TL_TRY(tl_buf_appendf(out, " offset %lld", (long long)p->offset));
        return p->limit >= 0 ? tl_buf_appendf(out, " limit %lld", (long long)p->limit) : TL_OK;
    default:
        TL_TRY(put(out, p->overwrite ? "Sink overwrite " : "Sink "));
        return put_table(out, p->table);
    }
}

/** What remains of a join's condition, over left then right columns. */
static tl_status put_rest(tl_buf *out, const tl_plan *p)
{
    bool is_join = p->kind == TL_PLAN_JOIN || p->kind == TL_PLAN_LOOKUP_JOIN || p->kind == TL_PLAN_TEMPORAL_JOIN;
    if (is_join)
        TL_TRY(put_pushed(out, p));
    if (!is_join || p->condition == NULL)
        return TL_OK;
    TL_TRY(put(out, " and "));
    bool semi = p->join == TL_JOIN_SEMI || p->join == TL_JOIN_ANTI;
    return tl_expr_format(p->condition, semi ? NULL : p->type, out);
}

static tl_status format(const tl_plan *p, int depth, tl_buf *out)
{
    for (int i = 0; i < depth; i++)
        TL_TRY(put(out, "  "));
    TL_TRY(put_node(out, p));
    TL_TRY(put_rest(out, p));
    TL_TRY(put(out, "\n"));
    for (int32_t i = 0; i < p->n_inputs; i++)
        TL_TRY(format(p->inputs[i], depth + 1, out));
    return TL_OK;
}

tl_status tl_plan_format(const tl_plan *plan, tl_buf *out)
{
    return format(plan, 0, out);
}
