/*
 * Late materialisation where runs are merged.
 *
 * The deduplicate engine gives back one of a key's records as it is. So a row of the result that passes a filter is a record that
 * passes it, and its key is among the keys of all records that pass: the candidates. Finding them needs the key and the
 * filter's columns only; if there are few, the section is merged with "key is a candidate" as a predicate on keys, which may
 * go down into the files, where all other columns are then decoded for few rows. What a candidate's newest record says is
 * decided by the merge and the filter on its result, as ever.
 *
 * Engines that put rows together from several records have no such property.
 */
#include "lsm/lsm_private.h"

/* One record in so many; above that reading twice costs more than it saves. */
#define FEW_FACTOR 16
#define CANDIDATES_MAX 65536
/* Rows after which a share says something. */
#define TRIAL_ROWS 4096

typedef struct found {
    tl_batch **batches; /* key columns */
    int32_t n;
    int32_t cap;
    int64_t rows;
} found;

static void found_deinit(found *f)
{
    for (int32_t i = 0; i < f->n; i++)
        tl_batch_free(f->batches[i]);
    tl_free(f->batches);
}

static tl_status add_keys(const tl_lsm__scan *scan, const tl_batch *batch, found *f, tl_error *err)
{
    if (f->n == f->cap) {
        int32_t cap = f->cap == 0 ? 16 : f->cap * 2;
        tl_batch **grown = tl_realloc(f->batches, (size_t)cap * sizeof(*grown));
        if (grown == NULL)
            return tl_nomem(err, "filter");
        f->batches = grown;
        f->cap = cap;
    }
    TL_TRY(tl_batch_project(batch, scan->key_idx, scan->bucket->config->n_keys, &f->batches[f->n], err));
    f->n++;
    f->rows += batch->n_rows;
    return TL_OK;
}

static int64_t rows_of(const tl_file_list *run)
{
    int64_t rows = 0;
    for (size_t i = 0; i < run->n; i++)
        rows += run->items[i]->rows;
    return rows;
}

/* Candidates of one run; *few false if there are too many for `budget`. */
static tl_status search_run(tl_lsm__scan *scan, const tl_file_list *run, int64_t budget, found *f, bool *few, tl_error *err)
{
    tl_reader *reader = NULL;
    TL_TRY(tl_lsm__run_open(scan, run->items, run->n, TL_LSM__PUSH_ALL, &reader, err));
    tl_status status = TL_OK;
    while (*few && status == TL_OK) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        status = tl_reader_next(reader, &batch, err);
        if (status != TL_OK || batch == NULL)
            break;
        status = add_keys(scan, batch, f, err);
        *few = f->rows <= budget;
    }
    tl_reader_free(reader);
    return status;
}

/* Ascending and each once: the order in which files have them, so that looking for them is a merge. */
static tl_status sorted_keys(const tl_lsm__scan *scan, const found *f, tl_batch **out, tl_error *err)
{
    int32_t n_keys = scan->bucket->config->n_keys;
    TL_CLEANUP(tl_batch_freep) tl_batch *all = NULL;
    TL_CLEANUP(tl_keys_freep) tl_keys *keys = NULL;
    TL_TRY(tl_batch_concat((const tl_batch *const *)f->batches, f->n, &all, err));
    TL_TRY(tl_keys_create((const tl_column *const *)all->cols, n_keys, all->n_rows, &keys, err));
    TL_CLEANUP(tl_freep) uint32_t *order = tl_alloc((size_t)all->n_rows * sizeof(*order));
    if (order == NULL)
        return tl_nomem(err, "filter");
    TL_TRY(tl_keys_sort(keys, order, err));
    int64_t n = 0;
    for (int64_t i = 0; i < all->n_rows; i++) {
        if (n == 0 || tl_keys_compare(keys, order[n - 1], keys, order[i]) != 0)
            order[n++] = order[i];
    }
    return tl_batch_gather(all, order, n, out, err);
}

tl_status tl_lsm__candidates(tl_lsm__scan *scan, const tl_section *section, tl_batch **out, bool *few, tl_error *err)
{
    found f = {0};
    tl_status status = TL_OK;
    *few = true;
    *out = NULL;
    int64_t seen = TRIAL_ROWS; /* with the run being read: whether it has too many shows early */
    for (size_t i = 0; i < section->n_runs && status == TL_OK && *few; i++) {
        seen += rows_of(&section->runs[i]);
        status = search_run(scan, &section->runs[i], TL_MIN(seen / FEW_FACTOR, CANDIDATES_MAX), &f, few, err);
    }
    if (status == TL_OK && *few && f.rows > 0)
        status = sorted_keys(scan, &f, out, err);
    found_deinit(&f);
    return status;
}

/* Predicates compare floats otherwise than keys do. */
static bool can_push(const tl_column *col)
{
    return col->phys != TL_PHYS_F32 && col->phys != TL_PHYS_F64;
}

tl_status tl_lsm__among(const tl_lsm_config *config, const tl_batch *keys, const tl_predicate *pred, tl_predicate **out, tl_error *err)
{
    TL_CLEANUP(tl_predicate_freep) tl_predicate *all = NULL;
    TL_TRY(tl_predicate_dup(pred, &all, err));
    for (int32_t k = 0; k < config->n_keys; k++) {
        tl_predicate *leaf = NULL, *both = NULL;
        if (!can_push(keys->cols[k]))
            continue;
        TL_TRY(tl_predicate_leaf(TL_PRED_IN, config->key_idx[k], tl_column_ref(keys->cols[k]), &leaf, err));
        TL_TRY(tl_predicate_combine(TL_PRED_AND, TL_STEAL(all), leaf, &both, err));
        all = both;
    }
    *out = TL_STEAL(all);
    return TL_OK;
}
