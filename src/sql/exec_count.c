/*
 * SELECT COUNT(*) without groups: the rows are counted here, without the embedded engine; a scan gives no column for it, so that
 * a lake table answers from its manifests where it can.
 */
#include "sql/exec.h"

bool tl_exec__is_count(const tl_plan *plan)
{
    if (plan->kind != TL_PLAN_AGGREGATE || plan->n_group > 0 || plan->grouping_sets != NULL || plan->n_calls == 0)
        return false;
    for (int32_t i = 0; i < plan->n_calls; i++) {
        const tl_agg_call *call = &plan->calls[i];
        if (call->kind != TL_AGG_COUNT || call->n_args > 0 || call->distinct || call->filter >= 0)
            return false;
    }
    return true;
}

static tl_status open_input(tl_sql_session *session, const tl_sql_env *env, const tl_plan *plan, tl_reader **out, tl_error *err)
{
    static const int32_t no_columns[1];
    while (plan->kind == TL_PLAN_PROJECT && plan->type->n_fields == 0 && !tl_exec__needs_engine(plan))
        plan = plan->inputs[0];
    if (plan->kind != TL_PLAN_SCAN || plan->table->kind == TL_SQL_TABLE_CONNECTOR)
        return tl_exec__open(session, env, plan, out, err);
    TL_CLEANUP(tl_type_unrefp) const tl_type *none = NULL;
    TL_TRY(tl_type_create_row(false, NULL, 0, &none, err));
    tl_plan scan = *plan;
    scan.type = none;
    scan.columns = no_columns;
    return tl_exec__open(session, env, &scan, out, err);
}

static tl_status append_count(const tl_type *type, int64_t n, tl_column **out, tl_error *err)
{
    TL_TRY(tl_column_alloc(type, 1, out, err));
    ((int64_t *)(*out)->values)[0] = n;
    return TL_OK;
}

tl_status tl_exec__open_count(tl_sql_session *session, const tl_sql_env *env, const tl_plan *plan, tl_reader **out, tl_error *err)
{
    tl_reader *in;
    TL_TRY(open_input(session, env, plan->inputs[0], &in, err));
    int64_t n = 0;
    tl_status status;
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        status = tl_reader_next(in, &batch, err);
        if (status != TL_OK || batch == NULL)
            break;
        n += batch->n_rows;
    }
    tl_reader_free(in);
    tl_batch *result = NULL;
    if (status == TL_OK)
        status = tl_batch_create(plan->type, 1, &result, err);
    for (int32_t i = 0; status == TL_OK && i < plan->n_calls; i++)
        status = append_count(plan->type->fields[i].type, n, &result->cols[i], err);
    if (status == TL_OK)
        return tl_reader_from_batch(result, out, err);
    tl_batch_free(result);
    return status;
}
