/*
 * Splits that hold two states of a bucket: what an overwrite changed (the old rows taken back, then the new ones), and the
 * difference of two snapshots, key by key. Source: Java: IncrementalChangelogReadProvider, IncrementalDiffSplitRead.
 */
#include "table/table_private.h"

#include "types/key.h"

/* ---- filter and projection of full rows ---- */

static tl_status filter_project(const tl_bucket_read_spec *spec, tl_batch *full, tl_batch **out, tl_error *err)
{
    tl_status status = TL_OK;
    if (spec->predicate != NULL) {
        TL_CLEANUP(tl_freep) uint32_t *sel = tl_alloc((size_t)full->n_rows * sizeof *sel);
        int64_t n = 0;
        tl_batch *passed = NULL;
        status = sel == NULL ? tl_nomem(err, "filter")
                             : tl_predicate_eval(spec->predicate, (const tl_column *const *)full->cols, full->n_rows, sel, &n, err);
        if (status == TL_OK)
            status = tl_batch_gather(full, sel, n, &passed, err);
        tl_batch_free(full);
        full = passed;
    }
    if (status != TL_OK)
        return status;
    if (spec->columns == NULL) {
        *out = full;
        return TL_OK;
    }
    status = tl_batch_project(full, spec->columns, spec->n_columns, out, err);
    tl_batch_free(full);
    return status;
}

/* ---- rows taken back ---- */

typedef struct reversed {
    tl_reader base;
    tl_reader *inner;
} reversed;

static uint8_t reverse_kind(uint8_t kind)
{
    switch (kind) {
    case TL_KIND_INSERT:
        return TL_KIND_DELETE;
    case TL_KIND_UPDATE_BEFORE:
        return TL_KIND_UPDATE_AFTER;
    case TL_KIND_UPDATE_AFTER:
        return TL_KIND_UPDATE_BEFORE;
    default:
        return TL_KIND_INSERT;
    }
}

static tl_status reversed_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    reversed *r = (reversed *)reader;
    tl_batch *batch = NULL;
    TL_TRY(tl_reader_next(r->inner, &batch, err));
    if (batch != NULL) {
        if (batch->row_kind == NULL) {
            batch->row_kind = tl_calloc((size_t)batch->n_rows, 1);
            if (batch->row_kind == NULL) {
                tl_batch_free(batch);
                return tl_nomem(err, "row kinds");
            }
        }
        for (int64_t i = 0; i < batch->n_rows; i++)
            batch->row_kind[i] = reverse_kind(batch->row_kind[i]);
    }
    *out = batch;
    return TL_OK;
}

static void reversed_free(tl_reader *reader)
{
    reversed *r = (reversed *)reader;
    tl_reader_free(r->inner);
    tl_type_unref(r->base.type);
    tl_free(r);
}

static const tl_reader_ops reversed_ops = {reversed_next, reversed_free};

static tl_status reverse_take(tl_reader *inner, tl_reader **out, tl_error *err)
{
    reversed *r = tl_calloc(1, sizeof *r);
    if (r == NULL) {
        tl_reader_free(inner);
        return tl_nomem(err, "read");
    }
    r->base.ops = &reversed_ops;
    r->base.type = tl_type_ref(inner->type);
    r->inner = inner;
    *out = &r->base;
    return TL_OK;
}

/* Files of one state merged; before and after are each a whole state of what they hold. */
static tl_status read_state(tl_table *table, const tl_split *split, const tl_file_list *files, const tl_bucket_read_spec *spec, tl_reader **out,
                            tl_error *err)
{
    tl_bucket_read_spec of_state = *spec;
    of_state.vectors = files == &split->before_files ? split->before_vectors : split->vectors;
    if (split->kind == TL_SPLIT_DIFF && table->config->pk_clustering) /* the walk over both states goes by key */
        return tl_bucket_read_by_key(table->config, tl_bytes_view_of(split->partition), split->bucket, files->items, files->n, of_state.vectors, out,
                                     err);
    return tl_bucket_read(table->config, tl_bytes_view_of(split->partition), split->bucket, files->items, files->n, &of_state, out, err);
}

static tl_status read_overwrite(tl_table *table, const tl_split *split, const tl_bucket_read_spec *spec, tl_reader **out, tl_error *err)
{
    tl_bucket_read_spec adds = *spec;
    adds.keep_deletes = false;
    adds.with_kinds = true;
    TL_CLEANUP(tl_reader_freep) tl_reader *before = NULL;
    TL_CLEANUP(tl_reader_freep) tl_reader *after = NULL;
    TL_TRY(read_state(table, split, &split->before_files, &adds, &before, err));
    TL_TRY(reverse_take(TL_STEAL(before), &before, err));
    TL_TRY(read_state(table, split, &split->files, &adds, &after, err));
    tl_reader **parts = tl_alloc(2 * sizeof *parts); /* taken over with the readers */
    if (parts == NULL)
        return tl_nomem(err, "read");
    const tl_type *type = tl_type_ref(before->type);
    parts[0] = TL_STEAL(before);
    parts[1] = TL_STEAL(after);
    tl_status status = tl_reader_concat(type, parts, 2, out, err);
    tl_type_unref(type);
    return status;
}

/* ---- difference ---- */

typedef struct side {
    tl_reader *reader;
    tl_batch *batch;
    tl_keys *keys;
    int64_t row;
    bool at_end;
} side;

typedef struct diff {
    tl_reader base;
    tl_table *table;
    side sides[2]; /* before, after */
    tl_bucket_read_spec spec;
    int32_t *columns;
    tl_predicate *predicate;
    tl_rowref *refs; /* rows of the two current batches to be given out */
    uint8_t *kinds;
    int64_t n;
    int64_t cap;
} diff;

static void side_drop(side *s)
{
    tl_batch_free(s->batch);
    tl_keys_free(s->keys);
    s->batch = NULL;
    s->keys = NULL;
    s->row = 0;
}

static tl_status side_load(diff *d, side *s, tl_error *err)
{
    side_drop(s);
    while (!s->at_end && s->batch == NULL) {
        TL_TRY(tl_reader_next(s->reader, &s->batch, err));
        s->at_end = s->batch == NULL;
        if (s->batch != NULL && s->batch->n_rows == 0)
            side_drop(s);
    }
    if (s->batch == NULL)
        return TL_OK;
    TL_CLEANUP(tl_freep) const tl_column **cols = tl_calloc((size_t)d->table->n_keys, sizeof *cols);
    if (cols == NULL)
        return tl_nomem(err, "keys");
    for (int32_t i = 0; i < d->table->n_keys; i++)
        cols[i] = s->batch->cols[d->table->key_idx[i]];
    return tl_keys_create(cols, d->table->n_keys, s->batch->n_rows, &s->keys, err);
}

static bool rows_equal(const tl_batch *a, int64_t i, const tl_batch *b, int64_t j)
{
    if (tl_kind_is_retract(tl_batch_kind(a, i)) != tl_kind_is_retract(tl_batch_kind(b, j)))
        return false;
    for (int32_t c = 0; c < a->n_cols; c++) {
        if (!tl_column_equal(a->cols[c], i, b->cols[c], j))
            return false;
    }
    return true;
}

static tl_status push(diff *d, uint32_t src, int64_t row, uint8_t kind, tl_error *err)
{
    if (d->n == d->cap) {
        int64_t cap = d->cap == 0 ? TL_BATCH_ROWS : d->cap * 2;
        tl_rowref *refs = tl_realloc(d->refs, (size_t)cap * sizeof *refs);
        if (refs == NULL)
            return tl_nomem(err, "rows");
        d->refs = refs;
        uint8_t *kinds = tl_realloc(d->kinds, (size_t)cap);
        if (kinds == NULL)
            return tl_nomem(err, "rows");
        d->kinds = kinds;
        d->cap = cap;
    }
    d->refs[d->n] = (tl_rowref){.src = src, .row = (uint32_t)row};
    d->kinds[d->n++] = kind;
    return TL_OK;
}

/* One key: rows of it on either side (-1: not there). */
static tl_status one_key(diff *d, int64_t before, int64_t after, tl_error *err)
{
    const tl_batch *a = d->sides[0].batch, *b = d->sides[1].batch;
    bool keep_deletes = d->spec.keep_deletes;
    if (after < 0) {
        bool gone = keep_deletes && !tl_kind_is_retract(tl_batch_kind(a, before));
        return gone ? push(d, 0, before, TL_KIND_DELETE, err) : TL_OK;
    }
    if (before >= 0 && rows_equal(a, before, b, after))
        return TL_OK;
    uint8_t kind = tl_batch_kind(b, after);
    return keep_deletes || !tl_kind_is_retract(kind) ? push(d, 1, after, kind, err) : TL_OK;
}

/* Walk both batches until one of them is used up. */
static tl_status walk(diff *d, tl_error *err)
{
    side *a = &d->sides[0], *b = &d->sides[1];
    while ((a->batch != NULL ? a->row < a->batch->n_rows : a->at_end) && (b->batch != NULL ? b->row < b->batch->n_rows : b->at_end)) {
        if (a->batch == NULL && b->batch == NULL)
            return TL_OK;
        int c = a->batch == NULL ? 1 : b->batch == NULL ? -1 : tl_keys_compare(a->keys, a->row, b->keys, b->row);
        TL_TRY(one_key(d, c <= 0 ? a->row : -1, c >= 0 ? b->row : -1, err));
        a->row += c <= 0;
        b->row += c >= 0;
    }
    return TL_OK;
}

static tl_status flush(diff *d, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *full = NULL;
    const tl_batch *some = d->sides[0].batch != NULL ? d->sides[0].batch : d->sides[1].batch;
    TL_TRY(tl_batch_create(d->table->schema->row_type, d->n, &full, err));
    full->row_kind = tl_memdup(d->kinds, (size_t)d->n);
    if (full->row_kind == NULL)
        return tl_nomem(err, "row kinds");
    for (int32_t c = 0; c < full->n_cols; c++) {
        const tl_column *srcs[2] = {d->sides[0].batch == NULL ? some->cols[c] : d->sides[0].batch->cols[c],
                                    d->sides[1].batch == NULL ? some->cols[c] : d->sides[1].batch->cols[c]};
        TL_TRY(tl_column_gather_multi(full->type->fields[c].type, srcs, d->refs, d->n, &full->cols[c], err));
    }
    d->n = 0;
    return filter_project(&d->spec, TL_STEAL(full), out, err);
}

static tl_status diff_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    diff *d = (diff *)reader;
    for (;;) {
        for (int i = 0; i < 2; i++) {
            side *s = &d->sides[i];
            bool used_up = s->batch == NULL ? !s->at_end : s->row == s->batch->n_rows;
            if (used_up)
                TL_TRY(side_load(d, s, err));
        }
        if (d->sides[0].batch == NULL && d->sides[1].batch == NULL) {
            *out = NULL;
            return TL_OK;
        }
        TL_TRY(walk(d, err));
        if (d->n > 0)
            return flush(d, out, err);
    }
}

static void diff_free(tl_reader *reader)
{
    diff *d = (diff *)reader;
    for (int i = 0; i < 2; i++) {
        side_drop(&d->sides[i]);
        tl_reader_free(d->sides[i].reader);
    }
    tl_free(d->columns);
    tl_predicate_free(d->predicate);
    tl_free(d->refs);
    tl_free(d->kinds);
    tl_type_unref(d->base.type);
    tl_free(d);
}

static const tl_reader_ops diff_ops = {diff_next, diff_free};

static tl_status read_diff(tl_table *table, const tl_split *split, const tl_bucket_read_spec *spec, tl_reader **out, tl_error *err)
{
    if (table->n_keys == 0)
        return tl_error_set(err, TL_E_INVALID, "a difference of two states needs a primary key");
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    diff *d = tl_calloc(1, sizeof *d);
    if (d == NULL)
        return tl_nomem(err, "read");
    reader = &d->base;
    d->base.ops = &diff_ops;
    d->table = table;
    d->spec = *spec;
    TL_TRY(tl_table__projected_type(table, spec->columns, spec->n_columns, &d->base.type, err));
    if (spec->columns != NULL) {
        d->columns = tl_memdup(spec->columns, (size_t)spec->n_columns * sizeof *spec->columns);
        if (d->columns == NULL)
            return tl_nomem(err, "read");
        d->spec.columns = d->columns;
    }
    if (spec->predicate != NULL) {
        TL_TRY(tl_predicate_dup(spec->predicate, &d->predicate, err));
        d->spec.predicate = d->predicate;
    }
    tl_bucket_read_spec all = {.keep_deletes = spec->keep_deletes, .with_kinds = true};
    TL_TRY(read_state(table, split, &split->before_files, &all, &d->sides[0].reader, err));
    TL_TRY(read_state(table, split, &split->files, &all, &d->sides[1].reader, err));
    *out = TL_STEAL(reader);
    return TL_OK;
}

tl_status tl_table__read_changes(tl_table *table, const tl_split *split, const tl_bucket_read_spec *spec, tl_reader **out, tl_error *err)
{
    if (split->kind == TL_SPLIT_DIFF)
        return read_diff(table, split, spec, out, err);
    return read_overwrite(table, split, spec, out, err);
}
