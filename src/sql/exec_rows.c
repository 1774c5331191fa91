/*
 * Batch operators that make several rows of one: UNNEST, and windows (a row goes into each window that it belongs to).
 *
 * For a piece of the input they collect which row each output row comes from, and gather the input's columns by that.
 */
#include "sql/cast.h"
#include "sql/exec.h"

#define ROWS_WANTED 16384 /* an output batch is closed when it has as many */
#define WINDOWS_MAX 100000 /* of one row */

typedef struct expander expander;
struct expander {
    tl_reader reader;
    tl_reader *in;
    const tl_plan *plan;
    const tl_tz *zone;
    tl_batch *batch; /* the input at hand, read up to row `at` */
    int64_t at;
    /* the output at hand */
    uint32_t *rows; /* rows of the input */
    int64_t n, cap;
    tl_rowref *elements; /* UNNEST: elements of the list */
    int32_t *ordinals;   /* 0: NULL */
    int64_t *starts, *ends; /* WINDOW */
};

static bool has_room(expander *x)
{
    if (x->n < x->cap)
        return true;
    int64_t cap = x->cap == 0 ? ROWS_WANTED : x->cap * 2;
    size_t n = (size_t)cap;
    void *rows = tl_realloc(x->rows, n * sizeof *x->rows);
    x->rows = rows != NULL ? rows : x->rows;
    void *elements = tl_realloc(x->elements, n * sizeof *x->elements);
    x->elements = elements != NULL ? elements : x->elements;
    void *ordinals = tl_realloc(x->ordinals, n * sizeof *x->ordinals);
    x->ordinals = ordinals != NULL ? ordinals : x->ordinals;
    void *starts = tl_realloc(x->starts, n * sizeof *x->starts);
    x->starts = starts != NULL ? starts : x->starts;
    void *ends = tl_realloc(x->ends, n * sizeof *x->ends);
    x->ends = ends != NULL ? ends : x->ends;
    if (rows == NULL || elements == NULL || ordinals == NULL || starts == NULL || ends == NULL)
        return false;
    x->cap = cap;
    return true;
}

/* ---- UNNEST ---- */

static bool add_element(expander *x, int64_t row, uint32_t element, int32_t ordinal)
{
    if (!has_room(x))
        return false;
    x->rows[x->n] = (uint32_t)row;
    x->elements[x->n] = (tl_rowref){0, element};
    x->ordinals[x->n++] = ordinal;
    return true;
}

static tl_status unnest_row(expander *x, int64_t row, tl_error *err)
{
    const tl_column *list = x->batch->cols[x->plan->unnest_column];
    bool good = true, multiset = list->type->kind == TL_MULTISET;
    int32_t ordinal = 0, from = 0, to = 0;
    if (!tl_col_is_null(list, row)) {
        from = list->offsets[row];
        to = list->offsets[row + 1];
    }
    for (int32_t e = from; e < to && good; e++) {
        int32_t times = multiset ? tl_col_i32(list->children[1], e) : 1;
        for (int32_t k = 0; k < times && good; k++)
            good = add_element(x, row, (uint32_t)e, ++ordinal);
    }
    if (ordinal == 0 && x->plan->join == TL_JOIN_LEFT && good)
        good = add_element(x, row, TL_ROW_NULL, 0);
    return good ? TL_OK : tl_nomem(err, "query");
}

static tl_status gather_elements(expander *x, const tl_column *child, int32_t at, tl_batch *out, tl_error *err)
{
    return tl_column_gather_multi(x->plan->type->fields[at].type, &child, x->elements, x->n, &out->cols[at], err);
}

/** The columns of the elements from number `at` on. */
static tl_status finish_unnest(expander *x, int32_t at, tl_batch *out, tl_error *err)
{
    const tl_column *list = x->batch->cols[x->plan->unnest_column], *element = list->children[0];
    if (list->type->kind == TL_MAP) {
        TL_TRY(gather_elements(x, element, at++, out, err));
        TL_TRY(gather_elements(x, list->children[1], at++, out, err));
    } else if (element->phys == TL_PHYS_ROW) {
        for (int64_t i = 0; i < x->n; i++) /* fields of a row that is NULL are NULL */
            if (x->elements[i].row != TL_ROW_NULL && tl_col_is_null(element, x->elements[i].row))
                x->elements[i].row = TL_ROW_NULL;
        for (int32_t f = 0; f < element->n_children; f++)
            TL_TRY(gather_elements(x, element->children[f], at++, out, err));
    } else {
        TL_TRY(gather_elements(x, element, at++, out, err));
    }
    if (!x->plan->with_ordinality)
        return TL_OK;
    tl_column *ordinals;
    TL_TRY(tl_column_alloc(x->plan->type->fields[at].type, x->n, &ordinals, err));
    out->cols[at] = ordinals;
    memcpy(ordinals->values, x->ordinals, (size_t)x->n * sizeof *x->ordinals);
    for (int64_t i = 0; i < x->n; i++)
        ordinals->null_count += x->ordinals[i] == 0;
    if (ordinals->null_count == 0)
        return TL_OK;
    ordinals->validity = tl_calloc(1, tl_bitmap_bytes(x->n));
    if (ordinals->validity == NULL)
        return tl_nomem(err, "query");
    for (int64_t i = 0; i < x->n; i++)
        if (x->ordinals[i] != 0)
            tl_bit_set(ordinals->validity, i);
    return TL_OK;
}

/* ---- windows ---- */

static int64_t window_start(int64_t time, int64_t offset, int64_t size)
{
    int64_t rest = (time - offset) % size;
    return time - (rest < 0 ? rest + size : rest);
}

static bool add_window(expander *x, int64_t row, int64_t start, int64_t end)
{
    if (!has_room(x))
        return false;
    x->rows[x->n] = (uint32_t)row;
    x->starts[x->n] = start;
    x->ends[x->n++] = end;
    return true;
}

static tl_status window_row(expander *x, int64_t row, tl_error *err)
{
    const tl_plan *p = x->plan;
    const tl_column *col = x->batch->cols[p->rowtime];
    if (tl_col_is_null(col, row)) /* belongs to no window */
        return TL_OK;
    int64_t time;
    int32_t nanos;
    tl_convert_timestamp_at(col, row, &time, &nanos);
    if (col->type->kind == TL_TIMESTAMP_LTZ)
        time += tl_tz_offset_ms(x->zone, time);
    bool good = true;
    int64_t start = window_start(time, p->offset_ms, p->window == TL_WINDOW_HOP ? p->slide_ms : p->size_ms);
    if (p->window == TL_WINDOW_TUMBLE) {
        good = add_window(x, row, start, start + p->size_ms);
    } else if (p->window == TL_WINDOW_HOP) {
        for (; start > time - p->size_ms && good; start -= p->slide_ms)
            good = add_window(x, row, start, start + p->size_ms);
    } else {
        int64_t first = window_start(time, p->offset_ms, p->slide_ms) + p->slide_ms;
        for (int64_t end = first; end <= start + p->size_ms && good; end += p->slide_ms)
            good = add_window(x, row, start, end);
    }
    return good ? TL_OK : tl_nomem(err, "query");
}

/** A bound of the windows as a column: of a TIMESTAMP local time, of one with local time zone the instant; less `minus`. */
static tl_status put_bounds(expander *x, int32_t at, const int64_t *bounds, int64_t minus, tl_batch *out, tl_error *err)
{
    const tl_type *type = x->plan->type->fields[at].type;
    TL_TRY(tl_column_alloc(type, x->n, &out->cols[at], err));
    bool local = type->kind == TL_TIMESTAMP_LTZ;
    for (int64_t i = 0; i < x->n; i++)
        tl_convert_put_timestamp(out->cols[at], i, (local ? tl_tz_to_utc_ms(x->zone, bounds[i]) : bounds[i]) - minus, 0);
    return TL_OK;
}

static tl_status finish_window(expander *x, int32_t at, tl_batch *out, tl_error *err)
{
    TL_TRY(put_bounds(x, at, x->starts, 0, out, err));
    TL_TRY(put_bounds(x, at + 1, x->ends, 0, out, err));
    return put_bounds(x, at + 2, x->ends, 1, out, err);
}

/* ---- both ---- */

static tl_status finish_batch(expander *x, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *result = NULL;
    TL_TRY(tl_batch_create(x->plan->type, x->n, &result, err));
    int32_t n_in = x->batch->n_cols;
    for (int32_t i = 0; i < n_in; i++)
        TL_TRY(tl_column_gather(x->batch->cols[i], x->rows, x->n, &result->cols[i], err));
    TL_TRY(x->plan->kind == TL_PLAN_UNNEST ? finish_unnest(x, n_in, result, err) : finish_window(x, n_in, result, err));
    *out = TL_STEAL(result);
    return TL_OK;
}

static tl_status expander_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    expander *x = (expander *)reader;
    *out = NULL;
    for (;;) {
        if (x->batch == NULL) {
            TL_TRY(tl_reader_next(x->in, &x->batch, err));
            x->at = 0;
            if (x->batch == NULL)
                return TL_OK;
        }
        x->n = 0;
        while (x->at < x->batch->n_rows && x->n < ROWS_WANTED) {
            TL_TRY(x->plan->kind == TL_PLAN_UNNEST ? unnest_row(x, x->at, err) : window_row(x, x->at, err));
            x->at++;
        }
        tl_status status = x->n > 0 ? finish_batch(x, out, err) : TL_OK;
        if (x->at == x->batch->n_rows) {
            tl_batch_free(x->batch);
            x->batch = NULL;
        }
        if (status != TL_OK || *out != NULL)
            return status;
    }
}

static void expander_free(tl_reader *reader)
{
    expander *x = (expander *)reader;
    tl_reader_free(x->in);
    tl_batch_free(x->batch);
    tl_type_unref(x->reader.type);
    tl_free(x->rows);
    tl_free(x->elements);
    tl_free(x->ordinals);
    tl_free(x->starts);
    tl_free(x->ends);
    tl_free(x);
}

tl_status tl_exec__open_expander(tl_sql_session *session, const tl_sql_env *env, const tl_plan *plan, tl_reader **out, tl_error *err)
{
    static const tl_reader_ops ops = {expander_next, expander_free};
    if (plan->kind == TL_PLAN_WINDOW && plan->window == TL_WINDOW_SESSION)
        return tl_error_set(err, TL_E_UNSUPPORTED, "SESSION windows are there in streaming mode only (SET 'execution.runtime-mode' = 'streaming')");
    if (plan->kind == TL_PLAN_WINDOW && plan->window != TL_WINDOW_TUMBLE && plan->size_ms / plan->slide_ms > WINDOWS_MAX)
        return tl_error_set(err, TL_E_LIMIT, "a row would be in more than %d windows", WINDOWS_MAX);
    tl_reader *in;
    TL_TRY(tl_exec__open(session, env, plan->inputs[0], &in, err));
    expander *x = tl_calloc(1, sizeof *x);
    if (x == NULL) {
        tl_reader_free(in);
        return tl_nomem(err, "query");
    }
    *x = (expander){.reader = {&ops, tl_type_ref(plan->type)}, .in = in, .plan = plan, .zone = env->zone};
    *out = &x->reader;
    return TL_OK;
}
