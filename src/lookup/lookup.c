/* Opening a look-up: which columns it holds, how it follows the table, in memory or from files. */
#include "lookup/lookup_private.h"

/* ---- which columns ---- */

static int32_t stored_index(tl_lookup *l, int32_t column)
{
    for (int32_t i = 0; i < l->n_stored; i++)
        if (l->stored[i] == column)
            return i;
    l->stored[l->n_stored] = column;
    return l->n_stored++;
}

static tl_status map_columns(tl_lookup *l, const int32_t *columns, int32_t n, int32_t **out, tl_error *err)
{
    int32_t *mapped = tl_alloc(sizeof *mapped * (size_t)(n + 1));
    if (mapped == NULL)
        return tl_nomem(err, "look-up");
    for (int32_t i = 0; i < n; i++)
        mapped[i] = stored_index(l, columns[i]);
    *out = mapped;
    return TL_OK;
}

static tl_status bind_predicate(tl_lookup *l, const tl_predicate *predicate, const tl_type *row_type, tl_error *err)
{
    if (predicate == NULL)
        return TL_OK;
    TL_TRY(tl_predicate_dup(predicate, &l->predicate, err));
    TL_CLEANUP(tl_freep) bool *used = tl_calloc((size_t)row_type->n_fields + 1, sizeof *used);
    TL_CLEANUP(tl_freep) int32_t *map = tl_alloc(sizeof *map * (size_t)(row_type->n_fields + 1));
    if (used == NULL || map == NULL)
        return tl_nomem(err, "look-up");
    tl_predicate_columns(predicate, used);
    for (int32_t c = 0; c < row_type->n_fields; c++)
        map[c] = used[c] ? stored_index(l, c) : -1;
    return tl_predicate_remap(predicate, map, false, &l->stored_predicate, err);
}

static tl_status answer_type(const tl_type *row_type, const tl_lookup_spec *spec, const tl_type **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_field *fields = tl_calloc((size_t)spec->n_columns + 1, sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "look-up");
    tl_status status = TL_OK;
    for (int32_t i = 0; i < spec->n_columns && status == TL_OK; i++) {
        fields[i] = row_type->fields[spec->columns[i]];
        fields[i].type = NULL;
        status = tl_type_with_nullable(row_type->fields[spec->columns[i]].type, true, &fields[i].type, err);
    }
    if (status == TL_OK)
        status = tl_type_create_row(/* nullable= */ false, fields, spec->n_columns, out, err);
    for (int32_t i = 0; i < spec->n_columns; i++)
        tl_type_unref(fields[i].type);
    return status;
}

static tl_status choose_columns(tl_lookup *l, const tl_lookup_spec *spec, tl_error *err)
{
    const tl_type *row_type = tl_table_row_type(l->table);
    const tl_table_schema *schema = tl_table_schema_of(l->table);
    l->stored = tl_alloc(sizeof *l->stored * (size_t)(row_type->n_fields + 1));
    if (l->stored == NULL)
        return tl_nomem(err, "look-up");
    TL_TRY(map_columns(l, spec->keys, spec->n_keys, &l->keys, err));
    TL_TRY(map_columns(l, spec->columns, spec->n_columns, &l->columns, err));
    l->n_keys = spec->n_keys;
    l->n_columns = spec->n_columns;
    if (l->incremental && l->tier == TL_LOOKUP_MEMORY && schema->n_primary_keys > 0) {
        int32_t primary[64];
        if (schema->n_primary_keys > 64)
            return tl_error_set(err, TL_E_LIMIT, "a look-up needs a primary key of at most 64 columns");
        for (int32_t i = 0; i < schema->n_primary_keys; i++)
            primary[i] = tl_type_field_index(row_type, schema->primary_keys[i]);
        l->n_primary = schema->n_primary_keys;
        TL_TRY(map_columns(l, primary, l->n_primary, &l->primary, err));
        l->by_one_key = l->n_primary == l->n_keys && memcmp(l->primary, l->keys, sizeof *l->keys * (size_t)l->n_keys) == 0;
    }
    TL_TRY(bind_predicate(l, spec->predicate, row_type, err));
    TL_TRY(answer_type(row_type, spec, &l->answer, err));
    TL_TRY(tl_row_layout_create(l->answer, &l->layout, err));
    l->all_packed = true;
    for (int32_t i = 0; i < l->n_columns; i++)
        l->all_packed &= tl_row_layout_has(l->layout, i);
    return TL_OK;
}

/* ---- how it follows ---- */

static const char *option_or(const tl_table *table, const char *key, const char *fallback)
{
    const char *value = tl_table_option(table, key);
    return value == NULL ? fallback : value;
}

/* Changes are exact if a changelog tells them, if a delta's rows are whole (deduplicate), or if rows are only added. With deletion vectors
   a read does not see level 0: only what compactions tell fits to it. */
static bool changes_are_exact(const tl_table *table)
{
    if (tl_table_is_system(table))
        return false;
    if (tl_table_schema_of(table)->n_primary_keys == 0)
        return true;
    if (tl_table_config(table)->deletion_vectors)
        return strcmp(option_or(table, "changelog-producer", "none"), "lookup") == 0;
    return strcmp(option_or(table, "changelog-producer", "none"), "none") != 0 || strcmp(option_or(table, "merge-engine", "deduplicate"), "deduplicate") == 0;
}

/* ---- open ---- */

/* What a row is likely to take in memory: fixed-width columns as they are, others as 32 bytes, keys and index. */
static int64_t row_bytes(const tl_lookup_spec *spec)
{
    const tl_type *row_type = tl_table_row_type(spec->table);
    int64_t bytes = 48;
    for (int32_t i = 0; i < spec->n_keys + spec->n_columns; i++) {
        int32_t column = i < spec->n_keys ? spec->keys[i] : spec->columns[i - spec->n_keys];
        int32_t width = tl_phys_width(tl_type_phys(row_type->fields[column].type));
        bytes += width > 0 ? width : 32;
    }
    return bytes;
}

static tl_status choose_tier(tl_lookup *l, const tl_lookup_spec *spec, tl_error *err)
{
    bool only_memory = l->newest_partitions > 0 || tl_table_is_system(l->table);
    if (only_memory && spec->tier == TL_LOOKUP_FILES)
        return tl_error_set(err, TL_E_UNSUPPORTED, "a look-up in a system table or in max_pt() is held in memory: it cannot be made from files");
    l->tier = only_memory ? TL_LOOKUP_MEMORY : spec->tier;
    if (l->tier != TL_LOOKUP_AUTO)
        return TL_OK;
    tl_scan_spec scan = {.predicate = spec->predicate, .limit = -1, .pool = spec->pool};
    tl_splits splits = {0};
    TL_TRY(tl_table_plan(l->table, &scan, &splits, err));
    int64_t rows = 0;
    for (size_t i = 0; i < splits.n; i++) {
        for (size_t f = 0; f < splits.items[i].files.n; f++)
            rows += splits.items[i].files.items[f]->rows;
    }
    tl_splits_deinit(&splits);
    l->tier = rows <= spec->memory_bytes / row_bytes(spec) ? TL_LOOKUP_MEMORY : TL_LOOKUP_FILES;
    return TL_OK;
}

static tl_status init(tl_lookup *l, const tl_lookup_spec *spec, tl_error *err)
{
    l->table = spec->table;
    l->pool = spec->pool;
    l->map_filter = tl_map_filter_ref(spec->map_filter);
    l->incremental = changes_are_exact(l->table);
    l->newest_partitions =
        tl_newest_partitions_wanted(option_or(l->table, "scan.partitions", option_or(l->table, "lookup.dynamic-partition", "")));
    TL_TRY(choose_tier(l, spec, err));
    l->kept_bytes_max = spec->memory_bytes / 8;
    TL_TRY(choose_columns(l, spec, err));
    return tl_lookup_refresh(l, NULL, err);
}

tl_status tl_lookup_open(const tl_lookup_spec *spec, tl_lookup **out, tl_error *err)
{
    if (tl_table_is_format(spec->table)) /* without snapshots nobody knows when to look again */
        return tl_error_set(err, TL_E_UNSUPPORTED, "not supported: look-ups in a format table");
    tl_lookup *l = tl_calloc(1, sizeof *l);
    if (l == NULL)
        return tl_nomem(err, "look-up");
    tl_status status = init(l, spec, err);
    if (status != TL_OK) {
        tl_lookup_free(l);
        return tl_error_wrap(err, status, "look-up in '%s'", tl_table_path(spec->table));
    }
    *out = l;
    return TL_OK;
}

void tl_lookup_free(tl_lookup *l)
{
    if (l == NULL)
        return;
    tl_lookup__clear(l);
    tl_row_layout_free(l->layout);
    tl_type_unref(l->answer);
    tl_free(l->chunks);
    tl_free(l->stored);
    tl_free(l->keys);
    tl_free(l->columns);
    tl_free(l->primary);
    tl_predicate_free(l->predicate);
    tl_predicate_free(l->stored_predicate);
    tl_map_filter_unref(l->map_filter);
    tl_free(l);
}

int64_t tl_lookup_snapshot(const tl_lookup *l)
{
    return l->snapshot;
}

tl_lookup_tier tl_lookup_tier_of(const tl_lookup *l)
{
    return l->tier;
}

int64_t tl_lookup_rows(const tl_lookup *l)
{
    return l->alive;
}

int64_t tl_lookup_bytes(const tl_lookup *l)
{
    return l->held_bytes + tl_row_index_bytes(&l->by_key) + tl_row_index_bytes(&l->by_primary) + l->asked.bytes;
}
