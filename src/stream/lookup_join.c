/*
 * Look-up join: each row is joined with the rows of a dimension table as it is now; row kinds are carried through. The dimension
 * follows its table between two batches.
 *
 * LOOKUP('retry-predicate' = 'lookup_miss', 'fixed-delay' = …, 'max-attempts' = N): rows without a match are tried again after a
 * pause, with what the dimension has become by then.
 */
#include "base/parse.h"
#include "lookup/lookup.h"
#include "stream/op.h"

#define RETRIES_DEFAULT 3

typedef struct lookup_op {
    tl_op base;
    const tl_plan *plan;
    tl_lookup *lookup;
    tl_sql_program *condition; /* over (left, wanted); NULL: none */
    const tl_type *joined;     /* ROW of (left, wanted), wanted nullable; for the condition */
    int64_t retry_delay_ms;
    int64_t retry_attempts; /* in all; 1: no retry */
} lookup_op;

/* Columns of (left rows, found rows) as a batch of `type`. */
static tl_status join_rows(lookup_op *j, const tl_batch *in, const uint32_t *left, const tl_rowref *right, int64_t n, const tl_type *type,
                           tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *result = NULL;
    TL_TRY(tl_batch_create(type, n, &result, err));
    tl_column *wanted[64];
    int32_t n_wanted = j->plan->n_columns;
    if (n_wanted > 64)
        return tl_error_set(err, TL_E_LIMIT, "a look-up join takes at most 64 columns of its table");
    for (int32_t c = 0; c < in->n_cols; c++)
        TL_TRY(tl_column_gather(in->cols[c], left, n, &result->cols[c], err));
    TL_TRY(tl_lookup_gather(j->lookup, right, n, wanted, err));
    for (int32_t c = 0; c < n_wanted; c++)
        result->cols[in->n_cols + c] = wanted[c];
    if (in->row_kind != NULL) {
        result->row_kind = tl_alloc((size_t)n + 1);
        if (result->row_kind == NULL)
            return tl_nomem(err, "row kinds");
        for (int64_t i = 0; i < n; i++)
            result->row_kind[i] = in->row_kind[left[i]];
    }
    if (in->seq != NULL) {
        result->seq = tl_alloc(sizeof *result->seq * (size_t)(n + 1));
        if (result->seq == NULL)
            return tl_nomem(err, "watermarks");
        for (int64_t i = 0; i < n; i++)
            result->seq[i] = in->seq[left[i]];
    }
    *out = TL_STEAL(result);
    return TL_OK;
}

/* Leave matches out that do not pass the condition; the order stays. */
static tl_status apply_condition(lookup_op *j, const tl_batch *in, tl_lookup_matches *m, tl_error *err)
{
    if (j->condition == NULL || m->n == 0)
        return TL_OK;
    TL_CLEANUP(tl_batch_freep) tl_batch *pairs = NULL;
    TL_TRY(join_rows(j, in, m->left, m->right, m->n, j->joined, &pairs, err));
    TL_CLEANUP(tl_freep) uint32_t *sel = tl_alloc(sizeof *sel * (size_t)m->n);
    if (sel == NULL)
        return tl_nomem(err, "matches");
    int64_t n;
    TL_TRY(tl_sql_program_select(j->condition, pairs, sel, &n, err));
    for (int64_t i = 0; i < n; i++) {
        m->left[i] = m->left[sel[i]];
        m->right[i] = m->right[sel[i]];
    }
    m->n = n;
    return TL_OK;
}

static tl_status find_matches(lookup_op *j, const tl_batch *in, tl_lookup_matches *out, tl_error *err)
{
    const tl_column *keys[64];
    if (j->plan->n_keys > 64)
        return tl_error_set(err, TL_E_LIMIT, "a look-up join has at most 64 keys");
    for (int32_t i = 0; i < j->plan->n_keys; i++)
        keys[i] = in->cols[j->plan->left_keys[i]];
    TL_TRY(tl_lookup_refresh(j->lookup, NULL, err));
    TL_TRY(tl_lookup_probe(j->lookup, keys, in->n_rows, out, err));
    return apply_condition(j, in, out, err);
}

static bool any_miss(const tl_lookup_matches *m, int64_t n_rows)
{
    int64_t expected = 0;
    for (int64_t i = 0; i < m->n; i++) {
        if ((int64_t)m->left[i] > expected)
            return true;
        expected = (int64_t)m->left[i] + 1;
    }
    return expected < n_rows;
}

/* For a LEFT JOIN: rows without a match get one of NULLs, at their place. */
static tl_status pad(const tl_lookup_matches *m, int64_t n_rows, tl_lookup_matches *out, tl_error *err)
{
    out->left = tl_alloc(sizeof *out->left * (size_t)(m->n + n_rows + 1));
    out->right = tl_alloc(sizeof *out->right * (size_t)(m->n + n_rows + 1));
    if (out->left == NULL || out->right == NULL)
        return tl_nomem(err, "matches");
    int64_t k = 0;
    for (int64_t row = 0; row < n_rows; row++) {
        int64_t before = k;
        for (; k < m->n && m->left[k] == row; k++) {
            out->left[out->n] = (uint32_t)row;
            out->right[out->n++] = m->right[k];
        }
        if (k == before) {
            out->left[out->n] = (uint32_t)row;
            out->right[out->n++] = (tl_rowref){0, TL_ROW_NULL};
        }
    }
    return TL_OK;
}

static tl_status join_batch(lookup_op *j, const tl_batch *in, tl_batch **out, tl_error *err)
{
    tl_lookup_matches matches = {0}, padded = {0};
    tl_status status = find_matches(j, in, &matches, err);
    for (int64_t attempt = 1; status == TL_OK && attempt < j->retry_attempts && any_miss(&matches, in->n_rows); attempt++) {
        tl_lookup_matches_deinit(&matches);
        tl_sleep_ms(j->retry_delay_ms);
        status = find_matches(j, in, &matches, err);
    }
    if (status == TL_OK && j->plan->join == TL_JOIN_LEFT) {
        status = pad(&matches, in->n_rows, &padded, err);
        if (status == TL_OK)
            status = join_rows(j, in, padded.left, padded.right, padded.n, j->base.type, out, err);
    } else if (status == TL_OK) {
        status = join_rows(j, in, matches.left, matches.right, matches.n, j->base.type, out, err);
    }
    tl_lookup_matches_deinit(&matches);
    tl_lookup_matches_deinit(&padded);
    return status;
}

static tl_status open_lookup(lookup_op *j, tl_error *err)
{
    const tl_plan *plan = j->plan;
    tl_lookup_spec spec = {.table = plan->table->table,
                           .keys = plan->right_keys,
                           .n_keys = plan->n_keys,
                           .columns = plan->columns,
                           .n_columns = plan->n_columns,
                           .predicate = plan->predicate,
                           .map_filter = plan->map_filter};
    return tl_lookup_open(&spec, &j->lookup, err);
}

static tl_status lookup_batch(tl_op *op, const tl_batch *in, tl_batch **out, tl_error *err)
{
    lookup_op *j = (lookup_op *)op;
    if (j->lookup == NULL) /* with the first row: what was committed before the job began is seen */
        TL_TRY(open_lookup(j, err));
    return tl_error_wrap(err, join_batch(j, in, out, err), "look-up join with '%s'", j->plan->table->name);
}

static tl_status lookup_next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    return tl_stream__each_batch(op, lookup_batch, out, state, err);
}

static void lookup_deinit(tl_op *op)
{
    lookup_op *j = (lookup_op *)op;
    tl_lookup_free(j->lookup);
    tl_sql_program_free(j->condition);
    tl_type_unref(j->joined);
}

/* (left, wanted) with the wanted columns nullable. */
static tl_status joined_type(const tl_plan *plan, int32_t n_left, const tl_type **out, tl_error *err)
{
    tl_field *fields = tl_calloc((size_t)plan->type->n_fields + 1, sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "operator");
    tl_status status = TL_OK;
    int32_t made = 0;
    for (; made < plan->type->n_fields && status == TL_OK; made++) {
        fields[made] = plan->type->fields[made];
        fields[made].type = NULL;
        status = tl_type_with_nullable(plan->type->fields[made].type, made >= n_left || plan->type->fields[made].type->nullable, &fields[made].type, err);
    }
    if (status == TL_OK)
        status = tl_type_create_row(false, fields, plan->type->n_fields, out, err);
    for (int32_t i = 0; i < made; i++)
        tl_type_unref(fields[i].type);
    tl_free(fields);
    return status;
}

static tl_status retry_hint(lookup_op *j, const tl_options *hint, tl_error *err)
{
    j->retry_attempts = 1;
    const char *predicate = hint == NULL ? NULL : tl_options_get(hint, "retry-predicate");
    if (predicate == NULL)
        return TL_OK;
    if (strcmp(predicate, "lookup_miss") != 0)
        return tl_error_set(err, TL_E_INVALID, "hint LOOKUP: 'retry-predicate' is '%s', not 'lookup_miss'", predicate);
    const char *delay = tl_options_get(hint, "fixed-delay"), *attempts = tl_options_get(hint, "max-attempts");
    if (delay == NULL)
        return tl_error_set(err, TL_E_INVALID, "hint LOOKUP: 'fixed-delay' is missing");
    TL_TRY(tl_error_wrap(err, tl_parse_duration_ms(delay, &j->retry_delay_ms, err), "hint LOOKUP: 'fixed-delay'"));
    int64_t retries = RETRIES_DEFAULT;
    if (attempts != NULL)
        TL_TRY(tl_error_wrap(err, tl_parse_int(attempts, 1, 1000000, &retries, err), "hint LOOKUP: 'max-attempts'"));
    j->retry_attempts = retries + 1;
    return TL_OK;
}

tl_status tl_stream__lookup_join(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err)
{
    static const tl_op_ops ops = {lookup_next, lookup_deinit};
    lookup_op *j = tl_stream__op_new(sizeof *j, &ops, pipeline, plan->type, input, NULL, err);
    if (j == NULL)
        return TL_E_NOMEM;
    j->plan = plan;
    tl_status status = retry_hint(j, plan->lookup_hint, err);
    if (status == TL_OK)
        status = joined_type(plan, input->type->n_fields, &j->joined, err);
    if (status == TL_OK && plan->condition != NULL)
        status = tl_stream__condition(pipeline, j->joined, plan->condition, &j->condition, err);
    return tl_stream__op_done(&j->base, status, out);
}
