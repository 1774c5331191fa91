/*
 * Which manifests, entries and files can hold rows that pass a predicate. A part of the predicate that some bound cannot answer
 * counts as TRUE, so that pruning never hides a row. Source: format reference §18; Java: ManifestsReader, BucketSelectConverter,
 * KeyValueFileStoreScan, AppendOnlyFileStoreScan.
 */
#include "table/table_private.h"

/* Java: BucketSelectConverter.MAX_VALUES: more combinations of bucket keys than this are not worth it. */
#define BUCKET_COMBINATIONS_MAX 1000

/* Buckets that the bucket-key values of the predicate fall into, for one total. */
typedef struct bucket_set {
    int32_t total;
    int32_t n;
    int32_t *buckets;
} bucket_set;

struct tl_pruner {
    tl_table *table;
    const tl_scan *scan;
    tl_predicate *partition; /* on the partition type */
    tl_predicate *keys;      /* on the key type */
    const tl_type *key_type;
    tl_column **bucket_keys; /* one column for each bucket key: the combinations; NULL: no such predicate */
    int64_t n_combinations;
    bool *used;          /* columns that the predicate looks at */
    tl_stats_map **maps; /* one for each schema of files */
    size_t n_maps;
    bucket_set *sets;
    int32_t n_sets;
    tl_map partitions; /* partition row -> one of the two marks: decisions made */
    tl_status status;
    tl_error error;
};

static char keep_mark, drop_mark;

/* ---- building ---- */

/* Map of the table's columns to positions in `columns`, -1 elsewhere. */
static tl_status column_map(const tl_table *table, const int32_t *columns, int32_t n, int32_t **out, tl_error *err)
{
    int32_t n_fields = table->schema->row_type->n_fields;
    *out = tl_alloc((size_t)n_fields * sizeof **out);
    if (*out == NULL)
        return tl_nomem(err, "predicate");
    for (int32_t i = 0; i < n_fields; i++)
        (*out)[i] = -1;
    for (int32_t i = 0; i < n; i++)
        (*out)[columns[i]] = i;
    return TL_OK;
}

tl_status tl_table__weakened(const tl_table *table, const tl_predicate *pred, const int32_t *columns, int32_t n, tl_predicate **out, tl_error *err)
{
    if (pred == NULL || n == 0)
        return TL_OK;
    TL_CLEANUP(tl_freep) int32_t *map = NULL;
    TL_TRY(column_map(table, columns, n, &map, err));
    return tl_predicate_remap(pred, map, /* weaken= */ true, out, err);
}

/* The values that `column` may have: the literals of an `=` or IN among the conjuncts of `pred`; NULL if there is none. */
static const tl_column *allowed_values(const tl_predicate *pred, int32_t column)
{
    if (pred->op == TL_PRED_AND) {
        for (int32_t i = 0; i < pred->n_children; i++) {
            const tl_column *found = allowed_values(pred->children[i], column);
            if (found != NULL)
                return found;
        }
        return NULL;
    }
    bool fixed = (pred->op == TL_PRED_EQ || pred->op == TL_PRED_IN) && pred->column == column && pred->literals != NULL;
    return fixed ? pred->literals : NULL;
}

/* Every combination of the allowed values, as columns of n_combinations rows. Null literals equal nothing and are left out. */
static tl_status combine(tl_pruner *p, const tl_column *const *values, tl_error *err)
{
    tl_table *table = p->table;
    int32_t n = table->n_bucket_keys;
    int64_t total = 1;
    for (int32_t i = 0; i < n; i++) {
        int64_t distinct = values[i]->length - values[i]->null_count;
        if (distinct == 0 || total * distinct > BUCKET_COMBINATIONS_MAX)
            return TL_OK;
        total *= distinct;
    }
    tl_column **cols = tl_calloc((size_t)n, sizeof *cols);
    TL_CLEANUP(tl_freep) uint32_t *rows = tl_alloc((size_t)total * sizeof *rows);
    tl_status status = cols == NULL || rows == NULL ? tl_nomem(err, "bucket keys") : TL_OK;
    int64_t repeat = 1;
    for (int32_t i = 0; status == TL_OK && i < n; i++) {
        int64_t distinct = values[i]->length - values[i]->null_count;
        for (int64_t r = 0; r < total; r++) {
            int64_t nth = (r / repeat) % distinct;
            int64_t row = 0;
            for (;; row++) {
                if (!tl_col_is_null(values[i], row) && nth-- == 0)
                    break;
            }
            rows[r] = (uint32_t)row;
        }
        repeat *= distinct;
        status = tl_column_gather(values[i], rows, total, &cols[i], err);
    }
    if (status == TL_OK) {
        p->bucket_keys = cols;
        p->n_combinations = total;
        return TL_OK;
    }
    for (int32_t i = 0; cols != NULL && i < n; i++)
        tl_column_unref(cols[i]);
    tl_free(cols);
    return status;
}

static tl_status find_bucket_keys(tl_pruner *p, tl_error *err)
{
    tl_table *table = p->table;
    const tl_predicate *pred = p->scan->predicate;
    if (pred == NULL || table->bucket_mode != TL_BUCKETS_FIXED || table->n_bucket_keys == 0)
        return TL_OK;
    const tl_column **values = tl_calloc((size_t)table->n_bucket_keys, sizeof *values);
    if (values == NULL)
        return tl_nomem(err, "bucket keys");
    tl_status status = TL_OK;
    bool all = true;
    for (int32_t i = 0; i < table->n_bucket_keys; i++) {
        values[i] = allowed_values(pred, table->bucket_idx[i]);
        all &= values[i] != NULL;
    }
    if (all)
        status = combine(p, values, err);
    tl_free(values);
    return status;
}

static tl_status build(tl_pruner *p, tl_error *err)
{
    tl_table *table = p->table;
    const tl_scan *scan = p->scan;
    TL_TRY(tl_table__weakened(table, scan->predicate, table->partition_idx, table->n_partition, &p->partition, err));
    if (scan->partition != NULL) {
        tl_predicate *copy = NULL;
        TL_TRY(tl_predicate_dup(scan->partition, &copy, err));
        tl_predicate *both = NULL;
        tl_predicate *mine = TL_STEAL(p->partition);
        TL_TRY(tl_predicate_combine(TL_PRED_AND, mine, copy, &both, err));
        p->partition = both;
    }
    TL_TRY(tl_table__weakened(table, scan->predicate, table->key_idx, table->n_keys, &p->keys, err));
    TL_TRY(tl_type_project(table->schema->row_type, table->key_idx, table->n_keys, &p->key_type, err));
    if (scan->predicate != NULL) {
        p->used = tl_calloc((size_t)table->schema->row_type->n_fields, sizeof *p->used);
        if (p->used == NULL)
            return tl_nomem(err, "predicate");
        tl_predicate_columns(scan->predicate, p->used);
    }
    return find_bucket_keys(p, err);
}

tl_status tl_pruner_create(tl_table *table, const tl_scan *scan, tl_pruner **out, tl_error *err)
{
    TL_CLEANUP(tl_pruner_freep) tl_pruner *p = tl_calloc(1, sizeof *p);
    if (p == NULL)
        return tl_nomem(err, "pruning");
    p->table = table;
    p->scan = scan;
    TL_TRY(build(p, err));
    *out = TL_STEAL(p);
    return TL_OK;
}

void tl_pruner_free(tl_pruner *p)
{
    if (p == NULL)
        return;
    tl_predicate_free(p->partition);
    tl_predicate_free(p->keys);
    tl_type_unref(p->key_type);
    for (int32_t i = 0; p->bucket_keys != NULL && i < p->table->n_bucket_keys; i++)
        tl_column_unref(p->bucket_keys[i]);
    tl_free(p->bucket_keys);
    for (int32_t i = 0; i < p->n_sets; i++)
        tl_free(p->sets[i].buckets);
    tl_free(p->sets);
    tl_free(p->used);
    for (size_t i = 0; i < p->n_maps; i++)
        tl_stats_map_free(p->maps[i]);
    tl_free(p->maps);
    tl_map_deinit(&p->partitions);
    tl_free(p);
}

tl_status tl_pruner_status(const tl_pruner *p, tl_error *err)
{
    return p->status == TL_OK ? TL_OK : tl_error_set(err, p->status, "%s", p->error.message);
}

/* ---- manifests ---- */

bool tl_pruner_manifest(tl_pruner *p, const tl_manifest_meta *meta)
{
    const tl_scan *scan = p->scan;
    if (meta->min_bucket != INT32_MIN && meta->max_bucket != INT32_MIN) {
        if (scan->bucket != INT32_MIN && (scan->bucket < meta->min_bucket || scan->bucket > meta->max_bucket))
            return false;
        if (scan->real_buckets_only && meta->max_bucket < 0)
            return false;
    }
    if (meta->min_level != INT32_MIN && meta->max_level != INT32_MIN &&
        (scan->level_min > meta->max_level || scan->level_max < meta->min_level))
        return false;
    if (p->partition == NULL)
        return true;
    tl_bounds bounds = {0};
    tl_status status = tl_simple_stats_bounds(&meta->partition_stats, p->table->partition_type, NULL, -1, &bounds, NULL);
    if (status != TL_OK)
        return true; /* unreadable statistics prune nothing */
    bool keep = tl_predicate_may_match(p->partition, bounds.cols, meta->added + meta->deleted);
    tl_bounds_deinit(&bounds);
    return keep;
}

/* ---- entries ---- */

bool tl_partition_matches(tl_table *table, const tl_predicate *pred, tl_bytes_view partition, tl_status *status, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *row = NULL;
    *status = tl_binary_row_decode(partition, table->partition_type, /* with_arity= */ true, &row, err);
    if (*status != TL_OK)
        return false;
    uint32_t sel[1];
    int64_t n = 0;
    *status = tl_predicate_eval(pred, (const tl_column *const *)row->cols, 1, sel, &n, err);
    return *status == TL_OK && n == 1;
}

/* Decided once for each distinct partition: a manifest repeats few of them many times. */
static bool partition_kept(tl_pruner *p, tl_bytes_view partition)
{
    if (p->scan->partitions != NULL && tl_map_get(p->scan->partitions, partition.data, partition.len) == NULL)
        return false;
    if (p->partition == NULL)
        return true;
    void *mark = tl_map_get(&p->partitions, partition.data, partition.len);
    if (mark != NULL)
        return mark == &keep_mark;
    tl_status status;
    bool keep = tl_partition_matches(p->table, p->partition, partition, &status, &p->error);
    if (status == TL_OK)
        status = tl_map_put(&p->partitions, partition.data, partition.len, keep ? &keep_mark : &drop_mark, NULL);
    if (status != TL_OK)
        p->status = status;
    return keep;
}

static const bucket_set *buckets_of_total(tl_pruner *p, int32_t total)
{
    for (int32_t i = 0; i < p->n_sets; i++) {
        if (p->sets[i].total == total)
            return &p->sets[i];
    }
    bucket_set *sets = tl_realloc(p->sets, (size_t)(p->n_sets + 1) * sizeof *sets);
    if (sets == NULL)
        return NULL;
    p->sets = sets;
    bucket_set *set = &sets[p->n_sets];
    *set = (bucket_set){.total = total, .n = (int32_t)p->n_combinations};
    set->buckets = tl_alloc((size_t)p->n_combinations * sizeof *set->buckets);
    if (set->buckets == NULL)
        return NULL;
    if (tl_bucket_assign(p->table->bucket_function, (const tl_column *const *)p->bucket_keys, p->table->n_bucket_keys, p->n_combinations, total,
                         set->buckets, NULL) != TL_OK) {
        tl_free(set->buckets);
        return NULL;
    }
    p->n_sets++;
    return set;
}

static bool bucket_kept(tl_pruner *p, int32_t bucket, int32_t total)
{
    const tl_scan *scan = p->scan;
    if (scan->bucket != INT32_MIN && bucket != scan->bucket)
        return false;
    if (scan->real_buckets_only && bucket < 0)
        return false;
    if (p->bucket_keys == NULL || total <= 0 || bucket < 0)
        return true;
    const bucket_set *set = buckets_of_total(p, total);
    if (set == NULL)
        return true; /* could not tell */
    for (int32_t i = 0; i < set->n; i++) {
        if (set->buckets[i] == bucket)
            return true;
    }
    return false;
}

bool tl_pruner_entry(void *ctx, tl_bytes_view partition, int32_t bucket, int32_t total_buckets, int32_t level)
{
    tl_pruner *p = ctx;
    if (level < p->scan->level_min || level > p->scan->level_max)
        return false;
    return bucket_kept(p, bucket, total_buckets) && partition_kept(p, partition);
}

/* ---- files ---- */

tl_status tl_pruner_file_keys(tl_pruner *p, const tl_data_file *file, bool *keep, tl_error *err)
{
    *keep = true;
    if (p->scan->created_after_ms != INT64_MIN && file->creation_time_ms != TL_ABSENT && file->creation_time_ms < p->scan->created_after_ms) {
        *keep = false;
        return TL_OK;
    }
    if (p->keys == NULL)
        return TL_OK;
    /* Types and order of the key cannot change; a new name does not matter. */
    tl_bounds bounds = {0};
    tl_status status = tl_simple_stats_bounds(&file->key_stats, p->key_type, NULL, -1, &bounds, err);
    if (status == TL_OK)
        status = tl_bounds_loosen(&bounds, err);
    if (status == TL_OK)
        *keep = tl_predicate_may_match(p->keys, bounds.cols, file->rows);
    tl_bounds_deinit(&bounds);
    return tl_error_wrap(err, status, "key statistics of file '%s'", file->name);
}

/* The map for files of one schema, made when the first of them is met. */
static tl_status stats_map_of(tl_pruner *p, int64_t schema_id, tl_stats_map **out, tl_error *err)
{
    for (size_t i = 0; i < p->n_maps; i++) {
        if (p->maps[i]->schema_id == schema_id) {
            *out = p->maps[i];
            return TL_OK;
        }
    }
    tl_stats_map **maps = tl_realloc(p->maps, (p->n_maps + 1) * sizeof(*maps));
    if (maps == NULL)
        return tl_nomem(err, "statistics");
    p->maps = maps;
    TL_TRY(tl_stats_map_create(p->table, schema_id, p->used, &maps[p->n_maps], err));
    *out = maps[p->n_maps++];
    return TL_OK;
}

tl_status tl_pruner_file_values(tl_pruner *p, const tl_data_file *file, bool *keep, tl_error *err)
{
    *keep = true;
    if (p->scan->predicate == NULL)
        return TL_OK;
    TL_CLEANUP(tl_freep) tl_col_bounds *cols = tl_calloc((size_t)p->table->schema->row_type->n_fields, sizeof *cols);
    if (cols == NULL)
        return tl_nomem(err, "statistics");
    tl_stats_map *map = NULL;
    TL_TRY(stats_map_of(p, file->schema_id, &map, err));
    tl_bounds decoded = {0};
    tl_status status = tl_stats_map_bounds(map, file, TL_STATS_TO_PRUNE, &decoded, cols, err);
    if (status == TL_OK)
        *keep = tl_predicate_may_match(p->scan->predicate, cols, file->rows);
    tl_bounds_deinit(&decoded);
    return status;
}

/* ---- files of the same rows ---- */

/* Bounds of the columns that a file holds and no newer one did. `decoded` keeps what they point to. */
static tl_status newest_bounds(tl_pruner *p, const tl_data_file *file, bool *known, tl_bounds *decoded, tl_col_bounds *cols, tl_error *err)
{
    int32_t n = p->table->schema->row_type->n_fields, hint = 0;
    TL_CLEANUP(tl_freep) tl_col_bounds *mine = tl_calloc((size_t)n, sizeof *mine);
    if (mine == NULL)
        return tl_nomem(err, "statistics");
    tl_stats_map *map = NULL;
    TL_TRY(stats_map_of(p, file->schema_id, &map, err));
    TL_TRY(tl_stats_map_bounds(map, file, TL_STATS_TO_PRUNE, decoded, mine, err));
    for (int32_t c = 0; c < n; c++) {
        const char *name = map->at[c] < 0 ? NULL : map->file_type->fields[map->at[c]].name;
        if (!p->used[c] || known[c] || !tl_data_file_holds(file, name, &hint))
            continue;
        cols[c] = mine[c];
        known[c] = true;
    }
    return TL_OK;
}

tl_status tl_pruner_group_values(tl_pruner *p, tl_data_file *const *files, size_t n_files, bool *keep, tl_error *err)
{
    int32_t n = p->table->schema->row_type->n_fields;
    *keep = true;
    if (p->scan->predicate == NULL || tl_data_file_is_side(files[0]))
        return TL_OK;
    TL_CLEANUP(tl_freep) tl_col_bounds *cols = tl_calloc((size_t)n, sizeof *cols);
    TL_CLEANUP(tl_freep) bool *known = tl_calloc((size_t)n, sizeof *known);
    TL_CLEANUP(tl_freep) tl_bounds *decoded = tl_calloc(n_files, sizeof *decoded);
    if (cols == NULL || known == NULL || decoded == NULL)
        return tl_nomem(err, "statistics");
    for (int32_t c = 0; c < n; c++)
        cols[c].null_count = -1; /* of a column in no file, too: it may be in a side file */
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n_files && !tl_data_file_is_side(files[i]); i++)
        status = newest_bounds(p, files[i], known, &decoded[i], cols, err);
    if (status == TL_OK)
        *keep = tl_predicate_may_match(p->scan->predicate, cols, files[0]->rows);
    for (size_t i = 0; i < n_files; i++)
        tl_bounds_deinit(&decoded[i]);
    return status;
}
