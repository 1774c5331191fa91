/* Procedures that change data, keep it up, or bring it in. */
#include "sql/procedures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/parse.h"

static bool is_true(const char *text)
{
    return text != NULL && strcasecmp(text, "true") == 0;
}

static tl_status sort_partitions(tl_call *c, const tl_options *specs, size_t n)
{
    enum { COLUMNS_MAX = 64 };
    char *columns[COLUMNS_MAX];
    tl_commit_result result;
    tl_sort_spec spec = {.kind = c->args[2], .columns = columns, .partitions = specs, .n_partitions = n};
    char *names = tl_arena_strndup(c->b->arena, c->args[3], strlen(c->args[3]));
    BIND_ALLOC(c->b, names);
    for (char *save = NULL, *name = strtok_r(names, ", ", &save); name != NULL && spec.n_columns < COLUMNS_MAX; name = strtok_r(NULL, ", ", &save))
        columns[spec.n_columns++] = name;
    return tl_table_sort(c->table->table, NULL, &spec, &result, c->b->err);
}

static tl_status compact_partitions(tl_call *c, const tl_options *specs, size_t n)
{
    tl_commit_result result;
    tl_compact_spec spec = {.partitions = specs, .n_partitions = n, .idle_ms = TL_ABSENT};
    spec.full = c->args[7] == NULL || strcasecmp(c->args[7], "minor") != 0;
    if (c->args[6] != NULL)
        TL_TRY(tl_error_wrap(c->b->err, tl_parse_duration_ms(c->args[6], &spec.idle_ms, c->b->err), "partition_idle_time"));
    return tl_table_compact_partitions(c->table->table, NULL, &spec, c->b->session->pool, &result, c->b->err);
}

tl_status tl_proc__compact(tl_call *c)
{
    tl_commit_result result;
    if (c->args[5] != NULL)
        return BIND_ERROR(c->b, c->ast, "compact with 'where' is not supported");
    if (c->args[2] != NULL && c->args[6] != NULL)
        return BIND_ERROR(c->b, c->ast, "sort compact do not support 'partition_idle_time'.");
    if ((c->args[2] == NULL) != (c->args[3] == NULL))
        return BIND_ERROR(c->b, c->ast, "You must specify 'order strategy' and 'order by columns' both.");
    if (c->args[2] != NULL)
        return tl_call__with_partitions(c, c->args[1], sort_partitions);
    if (c->args[1] != NULL || c->args[6] != NULL)
        return tl_call__with_partitions(c, c->args[1], compact_partitions);
    bool full = c->args[7] == NULL || strcasecmp(c->args[7], "minor") != 0;
    return tl_table_compact(c->table->table, NULL, full, c->b->session->pool, &result, c->b->err);
}

tl_status tl_proc__expire_snapshots(tl_call *c)
{
    tl_expire_spec spec = {.older_than_ms = TL_ABSENT};
    TL_TRY(tl_call__integer(c, c->args[1], "retain_max", TL_ABSENT, &spec.retain_max));
    TL_TRY(tl_call__integer(c, c->args[2], "retain_min", TL_ABSENT, &spec.retain_min));
    TL_TRY(tl_call__age_of(c, c->args[3], "older_than", &spec.older_than_ms));
    TL_TRY(tl_call__integer(c, c->args[4], "max_deletes", 0, &spec.max_deletes));
    int32_t expired;
    return tl_table_expire(c->table->table, &spec, &expired, c->b->err);
}

/* The table's options do not count here, as in the reference: what is not given sets no limit. */
tl_status tl_proc__expire_changelogs(tl_call *c)
{
    int32_t expired;
    if (c->args[5] != NULL && strcasecmp(c->args[5], "true") == 0)
        return tl_table_delete_changelogs(c->table->table, &expired, c->b->err);
    tl_expire_spec spec = {.older_than_ms = INT64_MAX};
    TL_TRY(tl_call__integer(c, c->args[1], "retain_max", INT32_MAX, &spec.retain_max));
    TL_TRY(tl_call__integer(c, c->args[2], "retain_min", 1, &spec.retain_min));
    TL_TRY(tl_call__age_of(c, c->args[3], "older_than", &spec.older_than_ms));
    TL_TRY(tl_call__integer(c, c->args[4], "max_deletes", 0, &spec.max_deletes));
    return tl_table_expire_changelogs(c->table->table, &spec, &expired, c->b->err);
}

tl_status tl_proc__expire_partitions(tl_call *c)
{
    c->columns[0] = "expired_partitions";
    c->none = "No expired partitions.";
    return tl_table_expire_partitions(c->table->table, NULL, &c->cells, &c->n_cells, c->b->err);
}

static tl_status drop_partitions(tl_call *c, const tl_options *specs, size_t n)
{
    return tl_table_drop_partitions(c->table->table, specs, n, c->b->err);
}

tl_status tl_proc__drop_partition(tl_call *c)
{
    return tl_call__with_partitions(c, c->args[1], drop_partitions);
}

static tl_status mark_partitions(tl_call *c, const tl_options *specs, size_t n)
{
    return tl_table_mark_done(c->table->table, specs, n, c->b->err);
}

tl_status tl_proc__mark_partition_done(tl_call *c)
{
    return tl_call__with_partitions(c, c->args[1], mark_partitions);
}

/* Files that nothing refers to, older than a day if nothing else is said: how many, and their bytes. */
tl_status tl_proc__remove_orphan_files(tl_call *c)
{
    int64_t age = 86400000, bytes = 0;
    size_t n = 0;
    tl_orphan *orphans = NULL;
    bool dry = c->args[2] != NULL && strcasecmp(c->args[2], "true") == 0;
    TL_TRY(tl_call__age_of(c, c->args[1], "older_than", &age));
    if (age <= 0)
        return BIND_ERROR(c->b, c->ast, "'older_than' must be before now ('%s' is not): files that are being written belong to no snapshot yet", c->args[1]);
    TL_TRY((dry ? tl_table_find_orphans : tl_table_remove_orphans)(c->table->table, age, &orphans, &n, c->b->err));
    for (size_t i = 0; i < n; i++)
        bytes += orphans[i].bytes;
    tl_orphans_free(orphans, n);
    TL_TRY(tl_call__add_number(c, (int64_t)n));
    return tl_call__add_number(c, bytes);
}

static tl_status reindex(tl_call *c, const tl_options *specs, size_t n)
{
    return tl_table_rewrite_file_index(c->table->table, NULL, specs, n, NULL, c->b->err);
}

tl_status tl_proc__rewrite_file_index(tl_call *c)
{
    return tl_call__with_partitions(c, c->args[1], reindex);
}

tl_status tl_proc__alter_column_default_value(tl_call *c)
{
    const tl_alter change = {.kind = TL_ALTER_COLUMN_DEFAULT, .name = c->args[1], .value = c->args[2]};
    return tl_table_alter(c->table->lake, c->table->db, c->table->name, &change, 1, c->b->err);
}

tl_status tl_proc__merge_into(tl_call *c)
{
    const tl_merge_into_spec spec = {.target = c->table,
                                .target_path = c->args[0],
                                .target_alias = c->args[1],
                                .source_sqls = c->args[2],
                                .source_table = c->args[3],
                                .condition = c->args[4],
                                .matched_upsert_condition = c->args[5],
                                .matched_upsert_setting = c->args[6],
                                .insert_condition = c->args[7],
                                .insert_values = c->args[8],
                                .matched_delete_condition = c->args[9],
                                .unmatched_upsert_condition = c->args[10],
                                .unmatched_upsert_setting = c->args[11],
                                .unmatched_delete_condition = c->args[12]};
    return tl_sql__merge_into(c->b, c->ast, &spec);
}

tl_status tl_proc__data_evolution_merge_into(tl_call *c)
{
    if (tl_table_config(c->table->table) == NULL || !tl_table_config(c->table->table)->data_evolution)
        return BIND_ERROR(c->b, c->ast, "Only DataEvolutionTable supports data-evolution merge-into action.");
    const tl_merge_into_spec spec = {.target = c->table,
                                     .target_path = c->args[0],
                                     .target_alias = c->args[1],
                                     .source_sqls = c->args[2],
                                     .source_table = c->args[3],
                                     .condition = c->args[4],
                                     .matched_upsert_setting = c->args[5]};
    return tl_sql__merge_into(c->b, c->ast, &spec);
}

tl_status tl_proc__clone_tables(tl_call *c)
{
    static const char *const missing[] = {[7] = "where", [10] = "prefer_file_format"};
    for (size_t i = 7; i <= 10; i += 3)
        if (c->args[i] != NULL)
            return BIND_ERROR(c->b, c->ast, "clone with '%s' is not supported", missing[i]);
    if (c->args[11] != NULL && strcasecmp(c->args[11], "paimon") != 0)
        return BIND_ERROR(c->b, c->ast, "clone from '%s' is not supported: clone_from => 'paimon'", c->args[11]);
    const tl_clone_call spec = {.db = c->args[0],
                                .table = c->args[1],
                                .from_conf = c->args[2],
                                .to_db = c->args[3],
                                .to_table = c->args[4],
                                .to_conf = c->args[5],
                                .included = c->args[8],
                                .excluded = c->args[9],
                                .meta_only = is_true(c->args[12]),
                                .skip_existing = c->args[13] != NULL && !is_true(c->args[13])};
    return tl_sql__clone(c->b, c->ast, c->catalog, &spec);
}

tl_status tl_proc__migrate_table(tl_call *c)
{
    return tl_sql__migrate_table(c->b, c->ast, c->catalog, c->args[0], c->args[1], c->args[2], &c->options);
}
