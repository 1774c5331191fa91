/* Rows of keys. */
#include "lookup/lookup_private.h"

/* Rows whose cache lines are asked for before the first of them is looked at. */
#define AHEAD 16

typedef struct match_list {
    tl_lookup_matches *out;
    int64_t expected;
    int64_t cap;
} match_list;

static tl_status add_match(match_list *list, uint32_t left, uint32_t chunk_number, uint32_t row)
{
    tl_lookup_matches *m = list->out;
    if (m->n == list->cap) {
        int64_t cap = list->cap == 0 ? TL_MAX(TL_MIN(list->expected, 4096), 4) : list->cap * 2;
        uint32_t *lefts = tl_realloc(m->left, sizeof *lefts * (size_t)cap);
        if (lefts == NULL)
            return TL_E_NOMEM;
        m->left = lefts;
        tl_rowref *rights = tl_realloc(m->right, sizeof *rights * (size_t)cap);
        if (rights == NULL)
            return TL_E_NOMEM;
        m->right = rights;
        list->cap = cap;
    }
    m->left[m->n] = left;
    m->right[m->n++] = (tl_rowref){chunk_number, row};
    return TL_OK;
}

static tl_status match_one(const tl_lookup *l, const tl_keys *probe, int64_t i, uint32_t hash, match_list *list)
{
    const struct tl_row_entry *entry = tl_row_index_first(&l->by_key, hash);
    for (; entry != NULL; entry = tl_row_index_next(&l->by_key, entry)) {
        const tl_lookup__chunk *c = &l->chunks[entry->chunk];
        __builtin_prefetch(&c->rows.starts[entry->row]); /* of what comes next, while the key is compared */
        if (!tl_bit_get(c->dead, entry->row) && tl_keys_compare(c->keys, entry->row, probe, i) == 0)
            TL_TRY(add_match(list, (uint32_t)i, entry->chunk, entry->row));
    }
    return TL_OK;
}

static tl_status probe_chunks(tl_lookup *l, const tl_column *const *keys, int64_t n_rows, tl_lookup_matches *out, tl_error *err)
{
    TL_CLEANUP(tl_keys_freep) tl_keys *probe = NULL;
    match_list list = {.out = out, .expected = n_rows};
    uint32_t hashes[AHEAD];
    TL_TRY(tl_keys_create(keys, l->n_keys, n_rows, &probe, err));
    for (int64_t from = 0; from < n_rows; from += AHEAD) {
        int64_t end = TL_MIN(from + AHEAD, n_rows);
        for (int64_t i = from; i < end; i++) {
            hashes[i - from] = tl_row_index_hash(probe, i);
            tl_row_index_prefetch(&l->by_key, hashes[i - from]);
        }
        for (int64_t i = from; i < end; i++) {
            if (!tl_lookup__any_null(keys, l->n_keys, i) && match_one(l, probe, i, hashes[i - from], &list) != TL_OK)
                return tl_nomem(err, "look-up matches");
        }
    }
    return TL_OK;
}

tl_status tl_lookup_probe(tl_lookup *l, const tl_column *const *keys, int64_t n_rows, tl_lookup_matches *out, tl_error *err)
{
    *out = (tl_lookup_matches){0};
    if (l->tier == TL_LOOKUP_MEMORY && l->alive == 0)
        return TL_OK;
    /* Keys of NOT NULL and of nullable columns have different bytes: the probe takes the stored columns' types. */
    const tl_type *row_type = tl_table_row_type(l->table);
    const tl_column **cols = tl_calloc((size_t)l->n_keys + 1, sizeof *cols);
    if (cols == NULL)
        return tl_nomem(err, "look-up keys");
    tl_status status = TL_OK;
    for (int32_t i = 0; i < l->n_keys && status == TL_OK; i++) {
        tl_column *typed = NULL;
        status = tl_column_retype(keys[i], row_type->fields[l->stored[l->keys[i]]].type, &typed, err);
        cols[i] = typed;
    }
    if (status == TL_OK && l->tier == TL_LOOKUP_FILES)
        status = tl_lookup__load_wanted(l, cols, n_rows, err);
    if (status == TL_OK && l->alive > 0)
        status = probe_chunks(l, cols, n_rows, out, err);
    for (int32_t i = 0; i < l->n_keys; i++)
        tl_column_unref((tl_column *)cols[i]);
    tl_free(cols);
    if (status != TL_OK)
        tl_lookup_matches_deinit(out);
    return status;
}

void tl_lookup_matches_deinit(tl_lookup_matches *matches)
{
    tl_free(matches->left);
    tl_free(matches->right);
    *matches = (tl_lookup_matches){0};
}
