/* Look-ups by key: a table of its own (the look-up follows it), keys in as Arrow, rows out as a batch. */
#include "api/api_private.h"

#include "base/parse.h"
#include "lookup/lookup.h"
#include "types/arrow.h"

struct tidelake_lookup {
    tidelake_table *table; /* the caller's, for its name */
    tl_table *target;      /* owned: the look-up is its only user */
    tl_pool *pool;
    tl_lookup *lookup;
    const tl_type *key_type; /* nullable: NULL is a key that nothing has */
    const tl_type *type;     /* of the answers */
    int32_t *keys;
    int32_t n_keys;
    int32_t *columns;
    int32_t n_columns;
    uint32_t *positions; /* of the last answer */
};

void tidelake_lookup_close(tidelake_lookup *l)
{
    if (l == NULL)
        return;
    tl_lookup_free(l->lookup);
    tl_pool_free(l->pool);
    tl_table_free(l->target);
    tl_type_unref(l->key_type);
    tl_type_unref(l->type);
    tl_free(l->keys);
    tl_free(l->columns);
    tl_free(l->positions);
    tl_free(l);
}

/* ---- open ---- */

static tl_status find_keys(tidelake_lookup *l, const tidelake_lookup_options *options, tl_error *err)
{
    const tl_type *row_type = tl_table_row_type(l->target);
    if (TL_API_HAS(options, n_keys) && options->keys != NULL) {
        if (options->n_keys == 0)
            return tl_error_set(err, TL_E_INVALID, "a look-up needs a key: at least one column");
        l->n_keys = (int32_t)options->n_keys;
        return tl_api__find_columns(row_type, options->keys, options->n_keys, &l->keys, err);
    }
    const tl_table_schema *schema = tl_table_schema_of(l->target);
    if (schema->n_primary_keys == 0 || tl_table_is_system(l->target))
        return tl_error_set(err, TL_E_INVALID, "there is no primary key: name the columns to look up by");
    l->n_keys = schema->n_primary_keys;
    return tl_api__find_columns(row_type, (const char *const *)schema->primary_keys, (size_t)l->n_keys, &l->keys, err);
}

static tl_status find_answer(tidelake_lookup *l, const tidelake_lookup_options *options, tl_error *err)
{
    const tl_type *row_type = tl_table_row_type(l->target);
    if (TL_API_HAS(options, n_columns) && options->columns != NULL) {
        l->n_columns = (int32_t)options->n_columns;
        return tl_api__find_columns(row_type, options->columns, options->n_columns, &l->columns, err);
    }
    l->n_columns = row_type->n_fields;
    l->columns = tl_alloc(sizeof *l->columns * ((size_t)l->n_columns + 1));
    if (l->columns == NULL)
        return tl_nomem(err, "columns");
    for (int32_t i = 0; i < l->n_columns; i++)
        l->columns[i] = i;
    return TL_OK;
}

/* The columns of the table as a ROW of nullable fields. */
static tl_status nullable_row(const tl_type *row_type, const int32_t *columns, int32_t n, const tl_type **out, tl_error *err)
{
    tl_field *fields = tl_calloc((size_t)n + 1, sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "look-up");
    tl_status status = TL_OK;
    for (int32_t i = 0; i < n && status == TL_OK; i++) {
        fields[i] = row_type->fields[columns[i]];
        fields[i].type = NULL;
        status = tl_type_with_nullable(row_type->fields[columns[i]].type, true, &fields[i].type, err);
    }
    if (status == TL_OK)
        status = tl_type_create_row(/* nullable= */ false, fields, n, out, err);
    for (int32_t i = 0; i < n; i++)
        tl_type_unref(fields[i].type);
    tl_free(fields);
    return status;
}

static tl_status memory_limit(const tl_table *table, const tidelake_lookup_options *options, int64_t *out, tl_error *err)
{
    static const char *const key = "lookup.cache-max-memory-size";
    if (TL_API_HAS(options, memory_bytes) && options->memory_bytes > 0) {
        *out = options->memory_bytes;
        return TL_OK;
    }
    const char *text = tl_table_option(table, key);
    if (text == NULL)
        text = tl_option_find(key)->default_value;
    return tl_error_wrap(err, tl_parse_memory_bytes(text, out, err), "option '%s'", key);
}

static tl_status choose_tier(const tidelake_lookup_options *options, tl_lookup_tier *out, tl_error *err)
{
    tidelake_lookup_tier asked = TL_API_HAS(options, tier) ? options->tier : TIDELAKE_LOOKUP_AUTO;
    switch (asked) {
    case TIDELAKE_LOOKUP_AUTO:
        *out = TL_LOOKUP_AUTO;
        return TL_OK;
    case TIDELAKE_LOOKUP_MEMORY:
        *out = TL_LOOKUP_MEMORY;
        return TL_OK;
    case TIDELAKE_LOOKUP_FILES:
        *out = TL_LOOKUP_FILES;
        return TL_OK;
    }
    return tl_error_set(err, TL_E_INVALID, "tier %d of a look-up does not exist", (int)asked);
}

static tl_status open_lookup(tidelake_lookup *l, const tidelake_lookup_options *options, tl_error *err)
{
    tidelake_table *table = l->table;
    TL_TRY(tl_table_open(table->lake->catalog, table->db, table->name, &table->options, &l->target, err));
    TL_TRY(find_keys(l, options, err));
    TL_TRY(find_answer(l, options, err));
    const tl_type *row_type = tl_table_row_type(l->target);
    TL_TRY(nullable_row(row_type, l->keys, l->n_keys, &l->key_type, err));
    TL_TRY(nullable_row(row_type, l->columns, l->n_columns, &l->type, err));
    TL_CLEANUP(tl_predicate_freep) tl_predicate *predicate = NULL;
    if (TL_API_HAS(options, where) && options->where != NULL)
        TL_TRY(tl_api__parse_where(options->where, row_type, &predicate, err));
    if (TL_API_HAS(options, threads) && options->threads > 1)
        TL_TRY(tl_pool_create(options->threads, &l->pool, err));
    tl_lookup_spec spec = {.table = l->target,
                           .keys = l->keys,
                           .n_keys = l->n_keys,
                           .columns = l->columns,
                           .n_columns = l->n_columns,
                           .predicate = predicate,
                           .pool = l->pool};
    TL_TRY(choose_tier(options, &spec.tier, err));
    TL_TRY(memory_limit(l->target, options, &spec.memory_bytes, err));
    return tl_lookup_open(&spec, &l->lookup, err);
}

tl_status tidelake_lookup_open(tidelake_table *table, const tidelake_lookup_options *options, tidelake_lookup **out, tl_error *err)
{
    tidelake_lookup *l = tl_calloc(1, sizeof *l);
    if (l == NULL)
        return tl_nomem(err, "look-up");
    l->table = table;
    tl_status status = open_lookup(l, options, err);
    if (status != TL_OK) {
        tidelake_lookup_close(l);
        return tl_api__in_table(table, status, err);
    }
    *out = l;
    return TL_OK;
}

/* ---- find ---- */

static tl_status answer(tidelake_lookup *l, const tl_lookup_matches *matches, tidelake_batch **out, tl_error *err)
{
    tl_batch *batch = NULL;
    TL_TRY(tl_batch_create(l->type, matches->n, &batch, err));
    tl_status status = tl_lookup_gather(l->lookup, matches->right, matches->n, batch->cols, err);
    if (status != TL_OK) {
        memset(batch->cols, 0, sizeof *batch->cols * (size_t)batch->n_cols); /* the gather has let go of what it made */
        tl_batch_free(batch);
        return status;
    }
    return tl_api__batch(batch, out, err);
}

tl_status tidelake_lookup_find(tidelake_lookup *l, struct ArrowArray *keys, const struct ArrowSchema *schema, tidelake_batch **out,
                               const uint32_t **positions, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *wanted = NULL;
    tl_status status = tl_arrow_import_batch(keys, schema, l->key_type, &wanted, err);
    if (status != TL_OK)
        return tl_api__in_table(l->table, tl_error_wrap(err, status, "look-up keys"), err);
    tl_lookup_matches matches = {0};
    status = tl_lookup_probe(l->lookup, (const tl_column *const *)wanted->cols, wanted->n_rows, &matches, err);
    if (status == TL_OK)
        status = answer(l, &matches, out, err);
    if (status == TL_OK) {
        tl_free(l->positions);
        l->positions = TL_STEAL(matches.left);
        if (positions != NULL)
            *positions = l->positions;
    }
    tl_lookup_matches_deinit(&matches);
    return tl_api__in_table(l->table, status, err);
}

tl_status tidelake_lookup_refresh(tidelake_lookup *l, int *changed, tl_error *err)
{
    bool is_new = false;
    TL_TRY(tl_api__in_table(l->table, tl_lookup_refresh(l->lookup, &is_new, err), err));
    if (changed != NULL)
        *changed = is_new;
    return TL_OK;
}

int64_t tidelake_lookup_snapshot(tidelake_lookup *l)
{
    return tl_lookup_snapshot(l->lookup);
}

int tidelake_lookup_is_in_memory(tidelake_lookup *l)
{
    return tl_lookup_tier_of(l->lookup) == TL_LOOKUP_MEMORY;
}

int64_t tidelake_lookup_memory_bytes(tidelake_lookup *l)
{
    return tl_lookup_bytes(l->lookup);
}

tl_status tidelake_lookup_arrow_schema(tidelake_lookup *l, struct ArrowSchema *out, tl_error *err)
{
    return tl_arrow_export_schema(l->type, out, err);
}

tl_status tidelake_lookup_key_schema(tidelake_lookup *l, struct ArrowSchema *out, tl_error *err)
{
    return tl_arrow_export_schema(l->key_type, out, err);
}
