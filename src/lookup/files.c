/* The tier of files: rows are read when they are asked for. */
#include "lookup/lookup_private.h"

/* Predicates compare floats otherwise than keys do. */
static bool can_push(const tl_column *col)
{
    return col->phys != TL_PHYS_F32 && col->phys != TL_PHYS_F64;
}

/* The look-up's own filter, and for each key column that it is one of the wanted values. Not exact: mark_others() decides. */
static tl_status wanted_predicate(const tl_lookup *l, tl_column *const *wanted, tl_predicate **out, tl_error *err)
{
    TL_CLEANUP(tl_predicate_freep) tl_predicate *pred = NULL;
    if (l->predicate != NULL)
        TL_TRY(tl_predicate_dup(l->predicate, &pred, err));
    for (int32_t k = 0; k < l->n_keys; k++) {
        if (!can_push(wanted[k]))
            continue;
        tl_predicate *leaf = NULL, *both = NULL;
        TL_TRY(tl_predicate_leaf(TL_PRED_IN, l->stored[l->keys[k]], tl_column_ref(wanted[k]), &leaf, err));
        TL_TRY(tl_predicate_combine(TL_PRED_AND, TL_STEAL(pred), leaf, &both, err));
        pred = both;
    }
    *out = TL_STEAL(pred);
    return TL_OK;
}

/* Rows whose key has no NULL and is not known yet, in key order and each key once: the order in which files have them. */
static tl_status distinct_keys(const tl_lookup *l, const tl_column *const *keys, int64_t n_rows, uint32_t *rows, int64_t *n, tl_error *err)
{
    TL_CLEANUP(tl_keys_freep) tl_keys *all = NULL;
    *n = 0;
    TL_TRY(tl_keys_create(keys, l->n_keys, n_rows, &all, err));
    TL_TRY(tl_keys_sort(all, rows, err));
    for (int64_t i = 0; i < n_rows; i++) {
        bool again = *n > 0 && tl_keys_compare(all, rows[*n - 1], all, rows[i]) == 0;
        if (!again && !tl_lookup__any_null(keys, l->n_keys, rows[i]) && !tl_lookup__asked_has(&l->asked, all, rows[i], /* newest= */ false))
            rows[(*n)++] = rows[i];
    }
    return TL_OK;
}

static tl_status read_wanted(tl_lookup *l, tl_column *const *wanted, tl_error *err)
{
    TL_CLEANUP(tl_predicate_freep) tl_predicate *pred = NULL;
    TL_TRY(wanted_predicate(l, wanted, &pred, err));
    tl_scan_spec spec = {.columns = l->stored, .n_columns = l->n_stored, .predicate = pred, .limit = -1, .pool = l->pool};
    tl_splits splits = {0};
    TL_TRY(tl_table_plan_at(l->table, l->snapshot, &spec, &splits, err));
    tl_status status = TL_OK;
    for (size_t i = 0; i < splits.n && status == TL_OK; i++) {
        tl_reader *reader = NULL;
        status = tl_table_read_split(l->table, &splits.items[i], &spec, &reader, err);
        if (status == TL_OK)
            status = tl_lookup__load_reader(l, reader, err);
    }
    tl_splits_deinit(&splits);
    return status;
}

/* Note the keys of some rows as asked for, and read what files hold of them. */
static tl_status ask(tl_lookup *l, const tl_column *const *keys, const uint32_t *rows, int64_t n, tl_error *err)
{
    tl_keys *asked = NULL;
    tl_column **wanted = tl_calloc((size_t)l->n_keys + 1, sizeof *wanted);
    tl_status status = wanted == NULL ? tl_nomem(err, "look-up keys") : TL_OK;
    for (int32_t k = 0; k < l->n_keys && status == TL_OK; k++)
        status = tl_column_gather(keys[k], rows, n, &wanted[k], err);
    if (status == TL_OK)
        status = tl_keys_create((const tl_column *const *)wanted, l->n_keys, n, &asked, err);
    if (status == TL_OK)
        status = tl_lookup__asked_add(&l->asked, asked, err);
    if (status == TL_OK)
        status = read_wanted(l, wanted, err);
    for (int32_t k = 0; k < l->n_keys && wanted != NULL; k++)
        tl_column_unref(wanted[k]);
    tl_free(wanted);
    return status;
}

#define KEPT_CHUNKS_MAX 16384 /* every probe that reads makes some: a gather of many rows looks at all */

/*
 * Read what may hold one of the keys into chunks, which then answer as if they were the table. Rows are kept for the probes to come,
 * and that a key has none, as long as there is room: a key that is asked for again costs what it costs in memory.
 */
tl_status tl_lookup__load_wanted(tl_lookup *l, const tl_column *const *keys, int64_t n_rows, tl_error *err)
{
    TL_CLEANUP(tl_freep) uint32_t *rows = tl_alloc(sizeof *rows * (size_t)(n_rows + 1));
    if (rows == NULL)
        return tl_nomem(err, "look-up keys");
    if (l->held_bytes + l->asked.bytes > l->kept_bytes_max || l->n_chunks > KEPT_CHUNKS_MAX)
        tl_lookup__clear(l);
    int64_t n = 0;
    TL_TRY(distinct_keys(l, keys, n_rows, rows, &n, err));
    if (n == 0 || l->snapshot == 0)
        return TL_OK;
    tl_status status = ask(l, keys, rows, n, err);
    if (status != TL_OK)
        tl_lookup__clear(l); /* rows of some keys are there, of others not */
    return status;
}
