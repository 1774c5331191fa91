/*
 * Changes of a keyed table that has no changelog: a change is the new row of its key, and what it replaces is not told. Here the row of
 * each key is kept, so that what is above gets the old row taken back: filters, joins and aggregates would be wrong without. Flink:
 * ChangelogNormalize, ProcTimeDeduplicateKeepLastRowFunction.
 *
 * The scan below reads the key's columns and the filter's as well; of the filter it does only what speaks of the key, which holds for all
 * rows of a key or for none. The rest is asked of what comes out: a row that no longer passes is taken back.
 */
#include "stream/partitions.h"
#include "stream/ranking.h"

typedef struct kept_row {
    tl_aging age;
    tl_rowref row;
    bool is_there; /* not deleted */
} kept_row;

typedef struct changes {
    tl_ref_list rows;
    tl_buf kinds;
} changes;

typedef struct normalize_op {
    tl_op base;
    const tl_plan *plan;
    tl_plan scan; /* what is read: the plan's columns, then those that only this needs */
    const tl_type *read_type;
    int32_t *columns;
    int32_t *keys; /* in them */
    int32_t n_keys;
    tl_predicate *below, *above; /* filters, bound to the table's columns and to those read; NULL: none */
    tl_row_buffer rows;
    tl_map kept;
    int64_t n_deleted; /* keys that are only remembered */
    tl_ref_list gone;  /* rows that no key has any more; let go behind the batch */
    int64_t now_ms, expired_before, swept_ms;
} normalize_op;

/* ---- a batch ---- */

static tl_status emit(changes *c, tl_rowref row, uint8_t kind)
{
    TL_TRY(tl_ref_list_add(&c->rows, &row, 1));
    return tl_buf_append_byte(&c->kinds, kind);
}

static tl_status drop(normalize_op *o, kept_row *kept)
{
    if (!kept->is_there)
        return TL_OK;
    TL_TRY(tl_ref_list_add(&o->gone, &kept->row, 1));
    kept->is_there = false;
    o->n_deleted++;
    return TL_OK;
}

static tl_status take(normalize_op *o, kept_row *kept, tl_rowref row, changes *out)
{
    if (kept->is_there) {
        if (tl_rank_rows_equal(&o->rows, kept->row, o->rows.chunks[row.src], row.row))
            return tl_ref_list_add(&o->gone, &row, 1);
        TL_TRY(emit(out, kept->row, TL_KIND_UPDATE_BEFORE));
        TL_TRY(emit(out, row, TL_KIND_UPDATE_AFTER));
        TL_TRY(tl_ref_list_add(&o->gone, &kept->row, 1));
    } else {
        TL_TRY(emit(out, row, TL_KIND_INSERT));
        o->n_deleted--;
    }
    kept->row = row;
    kept->is_there = true;
    return TL_OK;
}

static tl_status change(normalize_op *o, kept_row *kept, uint8_t kind, tl_rowref row, changes *out)
{
    if (kept->age.written_ms == 0)
        o->n_deleted++; /* a new one: nothing is there yet */
    else if (kept->age.written_ms < o->expired_before)
        TL_TRY(drop(o, kept));
    kept->age.written_ms = TL_MAX(o->now_ms, 1);
    if (!tl_kind_is_retract(kind))
        return take(o, kept, row, out);
    if (kind != TL_KIND_DELETE || !kept->is_there)
        return TL_OK;
    TL_TRY(emit(out, kept->row, TL_KIND_DELETE));
    return drop(o, kept);
}

static tl_status apply(normalize_op *o, const tl_batch *batch, changes *out, tl_error *err)
{
    TL_CLEANUP(tl_keys_freep) tl_keys *keys = NULL;
    TL_CLEANUP(tl_freep) uint32_t *sel = tl_alloc(sizeof *sel * (size_t)(batch->n_rows + 1));
    TL_TRY(tl_stream__keys(batch, o->keys, o->n_keys, &keys, err));
    if (sel == NULL)
        return tl_nomem(err, "rows by key");
    int64_t n = 0;
    for (int64_t i = 0; i < batch->n_rows; i++)
        if (!tl_kind_is_retract(tl_batch_kind(batch, i)))
            sel[n++] = (uint32_t)i;
    uint32_t chunk = 0, added = 0;
    TL_TRY(tl_row_buffer_add(&o->rows, batch, sel, n, &chunk, err));
    for (int64_t i = 0; i < batch->n_rows; i++) {
        uint8_t kind = tl_batch_kind(batch, i);
        tl_rowref row = {chunk, added};
        added += !tl_kind_is_retract(kind);
        kept_row *kept = tl_partition_of(&o->kept, keys, i, sizeof *kept);
        if (kept == NULL || change(o, kept, kind, row, out) != TL_OK)
            return tl_nomem(err, "rows by key");
    }
    return TL_OK;
}

/* ---- what comes out ---- */

static tl_status filter(const normalize_op *o, tl_batch **batch, tl_error *err)
{
    if (o->above == NULL)
        return TL_OK;
    int64_t n = 0;
    TL_CLEANUP(tl_freep) uint32_t *sel = tl_alloc(sizeof *sel * (size_t)((*batch)->n_rows + 1));
    if (sel == NULL)
        return tl_nomem(err, "filter");
    TL_TRY(tl_predicate_eval(o->above, (const tl_column *const *)(*batch)->cols, (*batch)->n_rows, sel, &n, err));
    if (n == (*batch)->n_rows)
        return TL_OK;
    tl_batch *passing = NULL;
    TL_TRY(tl_batch_gather(*batch, sel, n, &passing, err));
    tl_batch_free(*batch);
    *batch = passing;
    return TL_OK;
}

static tl_status gather(const normalize_op *o, const changes *c, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *all = NULL;
    TL_CLEANUP(tl_batch_freep) tl_batch *wanted = NULL;
    TL_TRY(tl_ranking_gather(&o->rows, c->rows.refs, /* with_rank= */ false, NULL, c->rows.n, o->read_type, &all, err));
    if (c->rows.n > 0 && (all->row_kind = tl_memdup(c->kinds.data, c->kinds.len)) == NULL)
        return tl_nomem(err, "row kinds");
    TL_TRY(filter(o, &all, err));
    int32_t n = o->plan->type->n_fields;
    if (n == o->read_type->n_fields)
        return tl_stream__retype(all, o->plan->type, out, err);
    TL_CLEANUP(tl_freep) int32_t *first = tl_alloc(sizeof *first * (size_t)(n + 1));
    if (first == NULL)
        return tl_nomem(err, "columns");
    for (int32_t i = 0; i < n; i++)
        first[i] = i;
    TL_TRY(tl_batch_project(all, first, n, &wanted, err));
    return tl_stream__retype(wanted, o->plan->type, out, err);
}

/* ---- state ---- */

static bool is_deleted(const void *state)
{
    return !((const kept_row *)state)->is_there;
}

static void free_old(void *op, void *state)
{
    normalize_op *o = op;
    kept_row *kept = state;
    if (kept->is_there)
        tl_row_buffer_release(&o->rows, kept->row);
    else
        o->n_deleted--;
    tl_free(kept);
}

static tl_status compact(normalize_op *o, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_rowref **refs = tl_alloc(sizeof *refs * (size_t)(o->rows.alive + 1));
    if (refs == NULL)
        return tl_nomem(err, "rows by key");
    int64_t n = 0;
    size_t pos = 0;
    void *value;
    while (tl_map_next(&o->kept, &pos, NULL, &value))
        if (((kept_row *)value)->is_there)
            refs[n++] = &((kept_row *)value)->row;
    return tl_row_buffer_compact(&o->rows, refs, n, err);
}

static tl_status tidy(normalize_op *o, tl_error *err)
{
    for (int64_t i = 0; i < o->gone.n; i++)
        tl_row_buffer_release(&o->rows, o->gone.refs[i]);
    o->gone.n = 0;
    if (o->n_deleted > 4096 && (size_t)o->n_deleted > o->kept.count / 2) {
        if (tl_partitions_forget(&o->kept, is_deleted, tl_free) != TL_OK)
            return tl_nomem(err, "rows by key");
        o->n_deleted = 0;
    }
    return tl_row_buffer_is_sparse(&o->rows) ? compact(o, err) : TL_OK;
}

static tl_status normalize_batch(tl_op *op, const tl_batch *in, tl_batch **out, tl_error *err)
{
    normalize_op *o = (normalize_op *)op;
    int64_t ttl_ms = op->pipeline->state_ttl_ms;
    changes c = {0};
    o->now_ms = tl_stream__now_ms(op->pipeline);
    o->expired_before = tl_stream__expired_before(ttl_ms, o->now_ms);
    if (tl_stream__is_sweep_due(ttl_ms, o->now_ms, &o->swept_ms) && tl_partitions_expire(&o->kept, o->expired_before, free_old, o) != TL_OK)
        return tl_nomem(err, "rows by key");
    tl_status status = apply(o, in, &c, err);
    if (status == TL_OK)
        status = gather(o, &c, out, err);
    tl_free(c.rows.refs);
    tl_buf_deinit(&c.kinds);
    return status == TL_OK ? tidy(o, err) : status;
}

static tl_status normalize_next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    return tl_stream__each_batch(op, normalize_batch, out, state, err);
}

static void normalize_deinit(tl_op *op)
{
    normalize_op *o = (normalize_op *)op;
    tl_stream__op_free(op->inputs[0]); /* it refers to the plan that goes here */
    op->inputs[0] = NULL;
    tl_partitions_deinit(&o->kept, tl_free);
    tl_row_buffer_deinit(&o->rows);
    tl_predicate_free(o->below);
    tl_predicate_free(o->above);
    tl_type_unref(o->read_type);
    tl_free(o->columns);
    tl_free(o->keys);
    tl_free(o->gone.refs);
}

/* ---- which columns ---- */

/* Where a column of the table is among those read; it is added where it is not. */
static int32_t place_of(normalize_op *o, int32_t column)
{
    int32_t i = 0;
    while (i < o->scan.n_columns && o->columns[i] != column)
        i++;
    if (i == o->scan.n_columns)
        o->columns[o->scan.n_columns++] = column;
    return i;
}

static tl_status choose_columns(normalize_op *o, tl_error *err)
{
    const tl_table_schema *schema = tl_table_schema_of(o->plan->table->table);
    const tl_type *row = o->plan->table->row_type;
    o->columns = tl_alloc(sizeof *o->columns * (size_t)(o->plan->type->n_fields + row->n_fields + 1));
    o->keys = tl_alloc(sizeof *o->keys * (size_t)(schema->n_primary_keys + 1));
    if (o->columns == NULL || o->keys == NULL)
        return tl_nomem(err, "columns");
    o->scan.n_columns = o->plan->type->n_fields;
    memcpy(o->columns, o->plan->columns, sizeof *o->columns * (size_t)o->scan.n_columns);
    o->n_keys = schema->n_primary_keys;
    for (int32_t i = 0; i < o->n_keys; i++)
        o->keys[i] = place_of(o, tl_type_field_index(row, schema->primary_keys[i]));
    return TL_OK;
}

/* The filter's parts: below what speaks of the key alone, above the whole of it. */
static tl_status choose_filters(normalize_op *o, tl_error *err)
{
    const tl_type *row = o->plan->table->row_type;
    if (o->plan->predicate == NULL)
        return TL_OK;
    if (tl_stream__filters_by_key(o->plan)) /* the scan does all of it */
        return tl_predicate_dup(o->plan->predicate, &o->below, err);
    TL_CLEANUP(tl_freep) bool *used = tl_calloc((size_t)row->n_fields + 1, sizeof *used);
    TL_CLEANUP(tl_freep) int32_t *of_key = tl_alloc(sizeof *of_key * (size_t)(row->n_fields + 1));
    TL_CLEANUP(tl_freep) int32_t *of_read = tl_alloc(sizeof *of_read * (size_t)(row->n_fields + 1));
    if (used == NULL || of_key == NULL || of_read == NULL)
        return tl_nomem(err, "filter");
    tl_predicate_columns(o->plan->predicate, used);
    for (int32_t c = 0; c < row->n_fields; c++) {
        of_key[c] = -1;
        of_read[c] = used[c] ? place_of(o, c) : -1;
    }
    for (int32_t i = 0; i < o->n_keys; i++)
        of_key[o->columns[o->keys[i]]] = o->columns[o->keys[i]];
    TL_TRY(tl_predicate_remap(o->plan->predicate, of_key, /* weaken= */ true, &o->below, err));
    return tl_predicate_remap(o->plan->predicate, of_read, /* weaken= */ false, &o->above, err);
}

static tl_status init(normalize_op *o, tl_error *err)
{
    TL_TRY(choose_columns(o, err));
    TL_TRY(choose_filters(o, err));
    TL_TRY(tl_type_project(o->plan->table->row_type, o->columns, o->scan.n_columns, &o->read_type, err));
    o->scan.type = o->read_type;
    o->scan.columns = o->columns;
    o->scan.predicate = o->below;
    o->scan.map_filter = NULL; /* of what is above, which speaks of rows as they are now */
    return tl_stream__lake_leaf(o->base.pipeline, &o->scan, &o->base.inputs[0], err);
}

/* ---- when ---- */

static bool is_option(const tl_table *table, const char *key, const char *value)
{
    const char *text = tl_table_option(table, key);
    return text != NULL && strcmp(text, value) == 0;
}

bool tl_stream__has_no_changelog(const tl_sql_table *table)
{
    const char *producer = tl_table_option(table->table, "changelog-producer");
    return !tl_table_is_system(table->table) && (producer == NULL || strcmp(producer, "none") == 0);
}

bool tl_stream__lacks_old_rows(const tl_sql_table *table)
{
    return table->kind == TL_SQL_TABLE_LAKE && tl_stream__has_no_changelog(table) && tl_table_schema_of(table->table)->n_primary_keys > 0 &&
           !is_option(table->table, "merge-engine", "first-row") && !is_option(table->table, "scan.remove-normalize", "true");
}

tl_status tl_stream__normalize(tl_pipeline *pipeline, const tl_plan *plan, tl_op **out, tl_error *err)
{
    static const tl_op_ops ops = {normalize_next, normalize_deinit};
    normalize_op *o = tl_stream__op_new(sizeof *o, &ops, pipeline, plan->type, NULL, NULL, err);
    if (o == NULL)
        return TL_E_NOMEM;
    o->plan = plan;
    o->scan = *plan;
    pipeline->stateful = true;
    return tl_stream__op_done(&o->base, init(o, err), out);
}
