/*
 * Statistics of files whose schema is not the table's: columns found by field id, bounds under today's types. Planned once for a
 * schema of files. Java: SimpleStatsEvolution.
 */
#include "table/table_private.h"
#include "types/evolve.h"

tl_status tl_stats_map_create(tl_table *table, int64_t schema_id, const bool *used, tl_stats_map **out, tl_error *err)
{
    const tl_type *mine = table->schema->row_type;
    const tl_table_schema *schema = NULL;
    TL_TRY(tl_table__schema(table, schema_id, &schema, err));
    TL_CLEANUP(tl_stats_map_freep) tl_stats_map *map = tl_calloc(1, sizeof *map);
    if (map == NULL)
        return tl_nomem(err, "statistics");
    map->schema_id = schema_id;
    map->mine = mine;
    map->file_type = schema->row_type;
    map->at = tl_alloc((size_t)(mine->n_fields + 1) * sizeof *map->at);
    map->used = tl_calloc((size_t)schema->row_type->n_fields + 1, sizeof *map->used);
    map->same = tl_calloc((size_t)mine->n_fields + 1, sizeof *map->same);
    if (map->at == NULL || map->used == NULL || map->same == NULL)
        return tl_nomem(err, "statistics");
    for (int32_t i = 0; i < mine->n_fields; i++) {
        int32_t at = schema == table->schema ? i : tl_type_field_index_by_id(schema->row_type, mine->fields[i].id);
        map->at[i] = at;
        if (at < 0)
            continue;
        map->used[at] = used == NULL || used[i];
        map->same[i] = tl_type_same(mine->fields[i].type, schema->row_type->fields[at].type);
    }
    *out = TL_STEAL(map);
    return TL_OK;
}

void tl_stats_map_free(tl_stats_map *map)
{
    if (map == NULL)
        return;
    tl_free(map->at);
    tl_free(map->used);
    tl_free(map->same);
    tl_free(map);
}

/* Bounds of a column of another type; *min_max holds both. */
static tl_status other_type(const tl_type *mine, tl_stats_use use, int64_t rows, tl_column **min_max, tl_col_bounds *out, tl_error *err)
{
    bool known = false;
    if (*min_max != NULL && use == TL_STATS_TO_PRUNE && mine->n_fields == 0)
        TL_TRY(tl_evolve_bounds(min_max, mine, &known, err));
    if (*min_max != NULL && use == TL_STATS_TO_SHOW && tl_cast_exists((*min_max)->type, mine)) {
        tl_column *cast = NULL;
        TL_TRY(tl_cast_stored(*min_max, mine, &cast, err));
        tl_column_unref(*min_max);
        *min_max = cast;
        known = true;
    }
    out->min = out->min != NULL && known ? *min_max : NULL;
    out->max = out->max != NULL && known ? *min_max : NULL;
    if (use == TL_STATS_TO_PRUNE && !known && out->null_count != rows)
        out->null_count = -1; /* casts may make more of them, and so may a ROW of which no field is left */
    return TL_OK;
}

tl_status tl_stats_map_bounds(const tl_stats_map *map, const tl_data_file *file, tl_stats_use use, tl_bounds *decoded, tl_col_bounds *out,
                              tl_error *err)
{
    /* Without names of their own the statistics are those of all columns that the file holds, in its order. */
    bool dense = file->n_value_stats_cols >= 0;
    char *const *names = dense ? file->value_stats_cols : file->write_cols;
    tl_status status = tl_simple_stats_bounds_of(&file->value_stats, map->file_type, map->used, names,
                                                 dense ? file->n_value_stats_cols : file->n_write_cols, decoded, err);
    if (status == TL_OK && use == TL_STATS_TO_PRUNE)
        status = tl_bounds_loosen(decoded, err);
    for (int32_t i = 0; i < map->mine->n_fields && status == TL_OK; i++) {
        int32_t at = map->at[i];
        out[i] = (tl_col_bounds){.null_count = -1};
        if (at < 0)
            out[i].null_count = file->rows; /* absent columns are null in every row */
        else if (at < decoded->n)
            out[i] = decoded->cols[at];
        if (at >= 0 && at < decoded->n && !map->same[i])
            status = other_type(map->mine->fields[i].type, use, file->rows, &decoded->columns[at], &out[i], err);
    }
    return tl_error_wrap(err, status, "statistics of file '%s'", file->name);
}
