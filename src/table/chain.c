/*
 * Chain tables: which branches one has, and where the files of a chained split lie. Planning is in chain_plan.c. Java: FileStoreTableFactory,
 * ChainReadContext.
 */
#include "table/chain.h"

#include <strings.h>

#include "types/key.h"

TL_DEFINE_CLEANUP(data_file_unrefp, tl_data_file, tl_data_file_unref)

static const char *snapshot_branch(const tl_table *table)
{
    return tl_table_option(table, "scan.fallback-snapshot-branch");
}

static const char *delta_branch(const tl_table *table)
{
    return tl_table_option(table, "scan.fallback-delta-branch");
}

tl_chain_role tl_chain__role(const tl_table *table)
{
    if (!tl_table__option_bool(&table->schema->options, "chain-table.enabled"))
        return TL_CHAIN_NONE;
    const char *snapshot = snapshot_branch(table), *delta = delta_branch(table), *own = table->branch == NULL ? "main" : table->branch;
    if (snapshot == NULL || delta == NULL)
        return TL_CHAIN_UNFINISHED;
    if (strcasecmp(snapshot, own) == 0)
        return TL_CHAIN_SNAPSHOT;
    return strcasecmp(delta, own) == 0 ? TL_CHAIN_DELTA : TL_CHAIN_READER;
}

/* ---- opening ---- */

/* *out stays NULL if there is no such branch. */
static tl_status open_branch(const tl_table *table, const char *branch, const tl_paths *mine, const tl_options *dynamic, tl_table **out, tl_error *err)
{
    TL_CLEANUP(tl_table_schema_unrefp) tl_table_schema *schema = NULL;
    tl_paths paths = {.table = table->path, .branch = strcmp(branch, "main") == 0 ? NULL : branch};
    tl_status status = tl_schema_latest(table->fs, &paths, &schema, err);
    if (status == TL_E_NOT_FOUND)
        return TL_OK;
    TL_TRY(status);
    return tl_table__open_branch(table, branch, mine, dynamic, out, err);
}

/* The level-0 files of a chain are what makes it: the table "as compacted" is the snapshot branch without the delta branch, as in the reference. */
static tl_status read_anchors_alone(tl_table *table)
{
    tl_table_free(table->other);
    table->other = TL_STEAL(table->anchors);
    return TL_OK;
}

tl_status tl_chain__open(tl_table *table, const tl_options *dynamic, tl_error *err)
{
    const char *snapshot = snapshot_branch(table), *delta = delta_branch(table);
    TL_TRY(open_branch(table, snapshot, &table->paths, dynamic, &table->anchors, err));
    table->lacks_branches = table->anchors == NULL;
    if (table->lacks_branches)
        return TL_OK;
    /* A snapshot that is asked for by its number is found in the delta branch by the time that it has in the snapshot branch. */
    const tl_options *of_anchors = &table->anchors->schema->options;
    tl_options given = {0};
    tl_status status = dynamic == NULL || tl_options_dup(dynamic, &given) == TL_OK ? TL_OK : tl_nomem(err, "options");
    const char *id = tl_options_get(of_anchors, "scan.snapshot-id");
    if (status == TL_OK && id != NULL && tl_options_get(&given, "scan.snapshot-id") != NULL &&
        tl_options_set(&given, "scan.snapshot-id", id) != TL_OK)
        status = tl_nomem(err, "options");
    if (status == TL_OK)
        status = open_branch(table, delta, &table->anchors->paths, &given, &table->other, err);
    tl_options_deinit(&given);
    table->lacks_branches = table->other == NULL;
    TL_TRY(status);
    if (tl_system__is(table, "ro"))
        return read_anchors_alone(table);
    if (table->other != NULL && table->other->config != NULL) { /* $partitions has none */
        table->other->config->anchors = tl_strdup(strcmp(snapshot, "main") == 0 ? "main" : table->anchors->branch);
        if (table->other->config->anchors == NULL)
            return tl_nomem(err, "branch name");
    }
    return TL_OK;
}

/* ---- partitions ---- */

int tl_chain__compare(const tl_batch *a, const tl_batch *b, int32_t n)
{
    int order = 0;
    for (int32_t i = 0; i < n && order == 0; i++)
        order = tl_column_compare(a->cols[i], 0, b->cols[i], 0, /* descending= */ false, /* nulls_first= */ true);
    return order;
}

bool tl_chain__has_null(const tl_batch *partition)
{
    bool any = false;
    for (int32_t i = 0; i < partition->n_cols; i++)
        any |= tl_col_is_null(partition->cols[i], 0);
    return any;
}

/* ---- where files lie ---- */

tl_status tl_chain__place(const tl_table *owner, const char *branch, tl_split *split, tl_error *err)
{
    split->places = tl_calloc(split->files.n + 1, sizeof *split->places);
    TL_CLEANUP(tl_freep) char *dir = tl_bucket_dir(owner->config, tl_bytes_view_of(split->partition), split->bucket);
    if (split->places == NULL || dir == NULL)
        return tl_nomem(err, "split");
    for (size_t i = 0; i < split->files.n; i++) {
        split->places[i] = (tl_file_place){.dir = tl_strdup(dir), .branch = tl_strdup(branch)};
        if (split->places[i].dir == NULL || split->places[i].branch == NULL)
            return tl_nomem(err, "split");
    }
    return TL_OK;
}

static tl_status file_at(const tl_table *table, const tl_data_file *file, const tl_file_place *place, tl_data_file **out, tl_error *err)
{
    bool of_anchor = strcasecmp(place->branch, snapshot_branch(table)) == 0;
    if (!of_anchor && strcasecmp(place->branch, delta_branch(table)) != 0)
        return tl_error_set(err, TL_E_CORRUPT, "data file '%s' of a chained split: branch '%s' is none of the chain table's ('%s', '%s')", file->name,
                            place->branch, snapshot_branch(table), delta_branch(table));
    TL_CLEANUP(data_file_unrefp) tl_data_file *copy = NULL;
    TL_TRY(tl_data_file_dup(file, &copy, err));
    copy->of_anchor = of_anchor;
    if (copy->external_path == NULL && (copy->external_path = tl_path_join(place->dir, copy->name)) == NULL)
        return tl_nomem(err, "file path");
    *out = TL_STEAL(copy);
    return TL_OK;
}

tl_status tl_chain__files(const tl_table *table, const tl_split *split, tl_file_list *out, tl_error *err)
{
    if (table->config->anchors == NULL)
        return tl_error_set(err, TL_E_INVALID, "a chained split is read from a chain table, with neither of its branches named");
    for (size_t i = 0; i < split->files.n; i++) {
        TL_CLEANUP(data_file_unrefp) tl_data_file *file = NULL;
        TL_TRY(file_at(table, split->files.items[i], &split->places[i], &file, err));
        TL_TRY(tl_file_list_add(out, file, err));
    }
    return TL_OK;
}
