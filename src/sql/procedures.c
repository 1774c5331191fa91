/*
 * CALL sys.name(…): what the reference's procedures do. Arguments come by position or by name; all are constants, taken as text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/parse.h"
#include "sql/commands.h"

#define ARGS_MAX 14

typedef struct call {
    tl_binder *b;
    const tl_ast *ast;
    const char *catalog; /* of the procedure */
    const char *args[ARGS_MAX]; /* text; NULL: not given */
    tl_options options;         /* of the table, for this call */
    tl_sql_table *table;
    const char *columns[4]; /* of the result */
    int n_columns;
    const char *none; /* what it says without cells */
    char **cells;     /* row by row; tl_names_free() */
    size_t n_cells;
} call;

static tl_status integer(const call *c, const char *text, const char *what, int64_t or_else, int64_t *out)
{
    if (text == NULL) {
        *out = or_else;
        return TL_OK;
    }
    return tl_error_wrap(c->b->err, tl_parse_int(text, 0, INT64_MAX, out, c->b->err), "%s", what);
}

static tl_status required(const call *c, int i, const char *what)
{
    return c->args[i] != NULL ? TL_OK : BIND_ERROR(c->b, c->ast, "the procedure needs the argument '%s'", what);
}

static tl_status create_tag(call *c)
{
    int64_t snapshot, retained = TL_ABSENT;
    TL_TRY(required(c, 1, "tag"));
    TL_TRY(integer(c, c->args[2], "snapshot_id", 0, &snapshot));
    if (c->args[3] != NULL)
        TL_TRY(tl_parse_duration_ms(c->args[3], &retained, c->b->err));
    return tl_table_create_tag(c->table->table, c->args[1], snapshot, retained, c->b->err);
}

static tl_status delete_tag(call *c)
{
    TL_TRY(required(c, 1, "tag"));
    const char *from = c->args[1];
    while (*from != '\0') { /* a list: a,b */
        size_t n = strcspn(from, ",");
        const char *name = tl_arena_strndup(c->b->arena, from, n);
        BIND_ALLOC(c->b, name);
        TL_TRY(tl_table_delete_tag(c->table->table, name, c->b->err));
        from += n + (from[n] == ',');
    }
    return TL_OK;
}

static tl_status rename_tag(call *c)
{
    TL_TRY(required(c, 1, "tag"));
    TL_TRY(required(c, 2, "target_tag"));
    return tl_table_rename_tag(c->table->table, c->args[1], c->args[2], c->b->err);
}

static tl_status replace_tag(call *c)
{
    int64_t snapshot, retained = TL_ABSENT;
    TL_TRY(required(c, 1, "tag"));
    TL_TRY(integer(c, c->args[2], "snapshot_id", 0, &snapshot));
    if (c->args[3] != NULL)
        TL_TRY(tl_parse_duration_ms(c->args[3], &retained, c->b->err));
    return tl_table_replace_tag(c->table->table, c->args[1], snapshot, retained, c->b->err);
}

/* A cell of the result more. */
static tl_status add_cell(call *c, const char *text)
{
    char **cells = tl_realloc(c->cells, (c->n_cells + 1) * sizeof *cells);
    if (cells == NULL)
        return tl_nomem(c->b->err, "result");
    c->cells = cells;
    cells[c->n_cells] = tl_strdup(text);
    if (cells[c->n_cells] == NULL)
        return tl_nomem(c->b->err, "result");
    c->n_cells++;
    return TL_OK;
}

static tl_status add_number(call *c, int64_t v)
{
    char text[24] = "null";
    if (v != TL_ABSENT)
        snprintf(text, sizeof text, "%lld", (long long)v);
    return add_cell(c, text);
}

/* Tags the first snapshot since a time or a watermark, in milliseconds. */
static tl_status tag_first_since(call *c, bool watermark)
{
    int64_t ms, retained = TL_ABSENT;
    TL_TRY(required(c, 1, "tag"));
    TL_TRY(required(c, 2, watermark ? "watermark" : "timestamp"));
    TL_TRY(tl_error_wrap(c->b->err, tl_parse_int(c->args[2], INT64_MIN, INT64_MAX, &ms, c->b->err), "%s", watermark ? "watermark" : "timestamp"));
    if (c->args[3] != NULL)
        TL_TRY(tl_parse_duration_ms(c->args[3], &retained, c->b->err));
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    TL_TRY(tl_table_first_since(c->table->table, watermark, ms, &snap, c->b->err));
    TL_TRY(tl_table_create_tag(c->table->table, c->args[1], snap->id, retained, c->b->err));
    memcpy(c->columns, (const char *[]){"tagName", "snapshot", "commit_time", "watermark"}, sizeof c->columns);
    c->n_columns = 4;
    TL_TRY(add_cell(c, c->args[1]));
    TL_TRY(add_number(c, snap->id));
    TL_TRY(add_number(c, snap->time_ms));
    return add_number(c, snap->watermark);
}

static tl_status create_tag_from_timestamp(call *c)
{
    return tag_first_since(c, /* watermark= */ false);
}

static tl_status create_tag_from_watermark(call *c)
{
    return tag_first_since(c, /* watermark= */ true);
}

static tl_status trigger_tags(call *c)
{
    return tl_table_trigger_tags(c->table->table, c->b->err);
}

static tl_status rollback_to(call *c)
{
    int64_t snapshot;
    TL_TRY(integer(c, c->args[2], "snapshot_id", 0, &snapshot));
    if (c->args[1] == NULL && snapshot == 0)
        return BIND_ERROR(c->b, c->ast, "rollback_to needs 'tag' or 'snapshot_id'");
    return tl_table_rollback(c->table->table, snapshot, c->args[1], c->b->err);
}

/* To the last snapshot that is not younger than a time, or not above a watermark. */
static tl_status roll_back_before(call *c, bool watermark, int64_t *from, int64_t *to)
{
    int64_t ms;
    const char *what = watermark ? "watermark" : "timestamp";
    TL_TRY(required(c, 1, what));
    TL_TRY(tl_error_wrap(c->b->err, tl_parse_int(c->args[1], INT64_MIN, INT64_MAX, &ms, c->b->err), "%s", what));
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *latest = NULL;
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    TL_TRY(tl_table_latest_snapshot(c->table->table, &latest, c->b->err));
    if (latest == NULL)
        return BIND_ERROR(c->b, c->ast, "Latest snapshot is null, can not rollback.");
    TL_TRY(tl_table_last_until(c->table->table, watermark, ms, &snap, c->b->err));
    *from = latest->id;
    *to = snap->id;
    return tl_table_rollback(c->table->table, snap->id, NULL, c->b->err);
}

static tl_status rollback_to_timestamp(call *c)
{
    int64_t from, to;
    TL_TRY(roll_back_before(c, /* watermark= */ false, &from, &to));
    c->columns[0] = "previous_snapshot_id";
    c->columns[1] = "current_snapshot_id";
    c->n_columns = 2;
    TL_TRY(add_number(c, from));
    return add_number(c, to);
}

static tl_status rollback_to_watermark(call *c)
{
    int64_t from, to;
    char text[80];
    TL_TRY(roll_back_before(c, /* watermark= */ true, &from, &to));
    snprintf(text, sizeof text, "Success roll back to snapshot: %lld .", (long long)to);
    return add_cell(c, text);
}

static tl_status create_branch(call *c)
{
    TL_TRY(required(c, 1, "branch"));
    return tl_table_create_branch(c->table->table, c->args[1], c->args[2], c->b->err);
}

static tl_status delete_branch(call *c)
{
    TL_TRY(required(c, 1, "branch"));
    return tl_table_delete_branch(c->table->table, c->args[1], c->b->err);
}

static tl_status rename_branch(call *c)
{
    TL_TRY(required(c, 1, "from_branch"));
    TL_TRY(required(c, 2, "to_branch"));
    return tl_table_rename_branch(c->table->table, c->args[1], c->args[2], c->b->err);
}

static tl_status fast_forward(call *c)
{
    TL_TRY(required(c, 1, "branch"));
    return tl_table_fast_forward(c->table->table, c->args[1], c->b->err);
}

/** "dt=2026-03-03,hh=8;dt=…": specs parted by `;`, each of column=value parted by `,`. */
#define SPECS_MAX 64
static tl_status partition_specs(call *c, const char *text, tl_options *specs, size_t *n)
{
    *n = 0;
    for (const char *p = text; *p != '\0';) {
        size_t bytes = strcspn(p, ",;"), equals = strcspn(p, "=");
        if (equals >= bytes || *n == SPECS_MAX)
            return BIND_ERROR(c->b, c->ast, "'%s' is no list of partitions (a=1,b=2;a=3,b=4)", text);
        TL_CLEANUP(tl_freep) char *key = tl_strndup(p, equals);
        TL_CLEANUP(tl_freep) char *value = tl_strndup(p + equals + 1, bytes - equals - 1);
        if (key == NULL || value == NULL || tl_options_set(&specs[*n], key, value) != TL_OK)
            return tl_nomem(c->b->err, "partition");
        p += bytes;
        *n += *p != ',';
        p += *p != '\0';
    }
    return TL_OK;
}

/* What is done with the partitions of an argument, which may be NULL: none. */
static tl_status with_partitions(call *c, const char *text, tl_status (*run)(call *c, const tl_options *specs, size_t n))
{
    tl_options *specs = tl_calloc(SPECS_MAX + 1, sizeof *specs);
    size_t n = 0;
    if (specs == NULL)
        return tl_nomem(c->b->err, "partition");
    tl_status status = text == NULL ? TL_OK : partition_specs(c, text, specs, &n);
    if (status == TL_OK)
        status = run(c, specs, n);
    for (size_t i = 0; i <= SPECS_MAX; i++)
        tl_options_deinit(&specs[i]);
    tl_free(specs);
    return status;
}

static tl_status sort_partitions(call *c, const tl_options *specs, size_t n)
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

static tl_status compact(call *c)
{
    tl_commit_result result;
    if (c->args[5] != NULL || c->args[6] != NULL)
        return BIND_ERROR(c->b, c->ast, "compact with '%s' is not supported", c->args[5] != NULL ? "where" : "partition_idle_time");
    if ((c->args[2] == NULL) != (c->args[3] == NULL))
        return BIND_ERROR(c->b, c->ast, "You must specify 'order strategy' and 'order by columns' both.");
    if (c->args[2] != NULL)
        return with_partitions(c, c->args[1], sort_partitions);
    if (c->args[1] != NULL)
        return BIND_ERROR(c->b, c->ast, "compact with 'partitions' is supported for sorting (order_strategy, order_by) only");
    bool full = c->args[7] == NULL || strcasecmp(c->args[7], "minor") != 0;
    return tl_table_compact(c->table->table, NULL, full, c->b->session->pool, &result, c->b->err);
}

/* Age of what lies before a timestamp, text in the session's zone. */
static tl_status age_of(const call *c, const char *text, const char *what, int64_t *out)
{
    int64_t millis;
    int32_t nanos;
    if (text == NULL)
        return TL_OK;
    if (!tl_parse_timestamp((tl_bytes_view){(const uint8_t *)text, strlen(text)}, &millis, &nanos))
        return BIND_ERROR(c->b, c->ast, "'%s' is no timestamp: '%s'", what, text);
    *out = tl_clock_now_ms(c->b->session->clock) - tl_tz_to_utc_ms(c->b->session->zone, millis);
    return TL_OK;
}

static tl_status expire_snapshots(call *c)
{
    tl_expire_spec spec = {.older_than_ms = TL_ABSENT};
    TL_TRY(integer(c, c->args[1], "retain_max", TL_ABSENT, &spec.retain_max));
    TL_TRY(integer(c, c->args[2], "retain_min", TL_ABSENT, &spec.retain_min));
    TL_TRY(age_of(c, c->args[3], "older_than", &spec.older_than_ms));
    TL_TRY(integer(c, c->args[4], "max_deletes", 0, &spec.max_deletes));
    int32_t expired;
    return tl_table_expire(c->table->table, &spec, &expired, c->b->err);
}

/* The table's options do not count here, as in the reference: what is not given sets no limit. */
static tl_status expire_changelogs(call *c)
{
    int32_t expired;
    if (c->args[5] != NULL && strcasecmp(c->args[5], "true") == 0)
        return tl_table_delete_changelogs(c->table->table, &expired, c->b->err);
    tl_expire_spec spec = {.older_than_ms = INT64_MAX};
    TL_TRY(integer(c, c->args[1], "retain_max", INT32_MAX, &spec.retain_max));
    TL_TRY(integer(c, c->args[2], "retain_min", 1, &spec.retain_min));
    TL_TRY(age_of(c, c->args[3], "older_than", &spec.older_than_ms));
    TL_TRY(integer(c, c->args[4], "max_deletes", 0, &spec.max_deletes));
    return tl_table_expire_changelogs(c->table->table, &spec, &expired, c->b->err);
}

static tl_status expire_tags(call *c)
{
    int64_t age = TL_ABSENT;
    TL_TRY(age_of(c, c->args[1], "older_than", &age));
    c->columns[0] = "expired_tags";
    c->none = "No expired tags.";
    int64_t before = age == TL_ABSENT ? TL_ABSENT : tl_clock_now_ms(c->b->session->clock) - age;
    return tl_table_expire_tags(c->table->table, before, &c->cells, &c->n_cells, c->b->err);
}

static tl_status expire_partitions(call *c)
{
    c->columns[0] = "expired_partitions";
    c->none = "No expired partitions.";
    return tl_table_expire_partitions(c->table->table, NULL, &c->cells, &c->n_cells, c->b->err);
}

static tl_status drop_partitions(call *c, const tl_options *specs, size_t n)
{
    return tl_table_drop_partitions(c->table->table, specs, n, c->b->err);
}

static tl_status drop_partition(call *c)
{
    TL_TRY(required(c, 1, "partitions"));
    return with_partitions(c, c->args[1], drop_partitions);
}

static tl_status mark_partitions(call *c, const tl_options *specs, size_t n)
{
    return tl_table_mark_done(c->table->table, specs, n, c->b->err);
}

static tl_status mark_partition_done(call *c)
{
    TL_TRY(required(c, 1, "partitions"));
    return with_partitions(c, c->args[1], mark_partitions);
}

/* Files that nothing refers to, older than a day if nothing else is said: how many, and their bytes. */
static tl_status remove_orphan_files(call *c)
{
    int64_t age = 86400000, bytes = 0;
    size_t n = 0;
    tl_orphan *orphans = NULL;
    bool dry = c->args[2] != NULL && strcasecmp(c->args[2], "true") == 0;
    TL_TRY(age_of(c, c->args[1], "older_than", &age));
    TL_TRY((dry ? tl_table_find_orphans : tl_table_remove_orphans)(c->table->table, age, &orphans, &n, c->b->err));
    for (size_t i = 0; i < n; i++)
        bytes += orphans[i].bytes;
    tl_orphans_free(orphans, n);
    TL_TRY(add_number(c, (int64_t)n));
    return add_number(c, bytes);
}

static tl_status reindex(call *c, const tl_options *specs, size_t n)
{
    return tl_table_rewrite_file_index(c->table->table, NULL, specs, n, NULL, c->b->err);
}

static tl_status rewrite_file_index(call *c)
{
    return with_partitions(c, c->args[1], reindex);
}

static tl_status reset_consumer(call *c)
{
    int64_t next;
    TL_TRY(required(c, 1, "consumer_id"));
    if (c->args[2] == NULL)
        return tl_table_consumer_delete(c->table->table, c->args[1], c->b->err);
    TL_TRY(integer(c, c->args[2], "next_snapshot_id", 0, &next));
    return tl_table_consumer_set(c->table->table, c->args[1], next, c->b->err);
}

static tl_status clear_consumers(call *c)
{
    if (c->args[1] != NULL || c->args[2] != NULL)
        return BIND_ERROR(c->b, c->ast, "clear_consumers with patterns is not supported: name each consumer in reset_consumer");
    tl_consumer *consumers = NULL;
    size_t n = 0;
    TL_TRY(tl_table_consumers(c->table->table, &consumers, &n, c->b->err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++)
        status = tl_table_consumer_delete(c->table->table, consumers[i].id, c->b->err);
    tl_consumers_free(consumers, n);
    return status;
}

static tl_status alter_column_default_value(call *c)
{
    TL_TRY(required(c, 1, "column"));
    const tl_alter change = {.kind = TL_ALTER_COLUMN_DEFAULT, .name = c->args[1], .value = c->args[2]};
    return tl_table_alter(c->table->lake, c->table->db, c->table->name, &change, 1, c->b->err);
}

static tl_status merge_into(call *c)
{
    TL_TRY(required(c, 3, "source_table"));
    TL_TRY(required(c, 4, "merge_condition"));
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

static bool is_true(const char *text)
{
    return text != NULL && strcasecmp(text, "true") == 0;
}

static tl_status clone_tables(call *c)
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

static tl_status migrate_table(call *c)
{
    TL_TRY(required(c, 0, "connector"));
    TL_TRY(required(c, 1, "source_table"));
    TL_TRY(required(c, 2, "target_table"));
    return tl_sql__migrate_table(c->b, c->ast, c->catalog, c->args[0], c->args[1], c->args[2], &c->options);
}

static const struct procedure {
    const char *name;
    const char *args[ARGS_MAX]; /* the first is the table unless it has another name; KEY behind NAME=: it sets that option of the table; options: a list of them */
    tl_status (*run)(call *c);
} procedures[] = {
    {"create_tag", {"table", "tag", "snapshot_id", "time_retained"}, create_tag},
    {"delete_tag", {"table", "tag"}, delete_tag},
    {"rename_tag", {"table", "tag", "target_tag"}, rename_tag},
    {"replace_tag", {"table", "tag", "snapshot_id", "time_retained"}, replace_tag},
    {"create_tag_from_timestamp", {"table", "tag", "timestamp", "time_retained"}, create_tag_from_timestamp},
    {"create_tag_from_watermark", {"table", "tag", "watermark", "time_retained"}, create_tag_from_watermark},
    {"expire_tags", {"table", "older_than"}, expire_tags},
    {"trigger_tag_automatic_creation", {"table"}, trigger_tags},
    {"rollback_to", {"table", "tag", "snapshot_id"}, rollback_to},
    {"create_branch", {"table", "branch", "tag"}, create_branch},
    {"delete_branch", {"table", "branch"}, delete_branch},
    {"rename_branch", {"table", "from_branch", "to_branch"}, rename_branch},
    {"fast_forward", {"table", "branch"}, fast_forward},
    {"clone",
     {"database", "table", "catalog_conf", "target_database", "target_table", "target_catalog_conf", "parallelism", "where", "included_tables",
      "excluded_tables", "prefer_file_format", "clone_from", "meta_only", "clone_if_exists"},
     clone_tables},
    {"migrate_table", {"connector", "source_table", "target_table", "options", "parallelism", "delete_origin"}, migrate_table},
    {"compact",
     {"table", "partitions", "order_strategy", "order_by", "options", "where", "partition_idle_time", "compact_strategy"},
     compact},
    {"expire_snapshots", {"table", "retain_max", "retain_min", "older_than", "max_deletes", "options"}, expire_snapshots},
    {"expire_changelogs", {"table", "retain_max", "retain_min", "older_than", "max_deletes", "delete_all"}, expire_changelogs},
    {"expire_partitions",
     {"table", "expiration_time=partition.expiration-time", "timestamp_formatter=partition.timestamp-formatter",
      "timestamp_pattern=partition.timestamp-pattern", "expire_strategy=partition.expiration-strategy",
      "max_expires=partition.expiration-max-num", "options"},
     expire_partitions},
    {"drop_partition", {"table", "partitions"}, drop_partition},
    {"rewrite_file_index", {"table", "partitions"}, rewrite_file_index},
    {"merge_into",
     {"target_table", "target_alias", "source_sqls", "source_table", "merge_condition", "matched_upsert_condition", "matched_upsert_setting",
      "not_matched_insert_condition", "not_matched_insert_values", "matched_delete_condition", "not_matched_by_source_upsert_condition",
      "not_matched_by_source_upsert_setting", "not_matched_by_source_delete_condition"},
     merge_into},
    {"reset_consumer", {"table", "consumer_id", "next_snapshot_id"}, reset_consumer},
    {"clear_consumers", {"table", "including_consumers", "excluding_consumers"}, clear_consumers},
    {"alter_column_default_value", {"table", "column", "default_value"}, alter_column_default_value},
    {"mark_partition_done", {"table", "partitions"}, mark_partition_done},
    {"remove_orphan_files", {"table", "older_than", "dry_run", "parallelism", "mode"}, remove_orphan_files},
    {"rollback_to_timestamp", {"table", "timestamp"}, rollback_to_timestamp},
    {"rollback_to_watermark", {"table", "watermark"}, rollback_to_watermark},
};

/* What the reference has and is not here, and why. */
static const struct {
    const char *name, *reason;
} refused[] = {
    {"compact_database", "call compact for each table"},
    {"compact_manifest", "commits merge manifests"},
    {"purge_files", "use TRUNCATE TABLE, then expire_snapshots"},
    {"rescale", "set the option 'bucket' and overwrite"},
    {"rewrite_file_index", "a full compaction writes the indexes of the files it rewrites"},
    {"remove_unexisting_files", "'tidelake fsck' tells of files that are missing"},
    {"remove_unexisting_manifests", "'tidelake fsck' tells of files that are missing"},
    {"copy_files", "use the command 'tidelake clone'"},
    {"migrate_database", "there is no metastore; the command 'tidelake import' takes folders of files"},
    {"repair", "there is no metastore; 'tidelake fsck --repair' mends a table"},
    {"query_service", "it needs a cluster"},
    {"create_function", "it needs a REST catalog"},
    {"alter_function", "it needs a REST catalog"},
    {"drop_function", "it needs a REST catalog"},
    {"alter_view_dialect", "it needs a REST catalog"},
    {"create_global_index", "there are no global indexes"},
    {"vector_search", "there are no global indexes"},
    {"data_evolution_merge_into", "use merge_into"},
    {"init_file_based_privilege", "there are no users and privileges"},
    {"create_privileged_user", "there are no users and privileges"},
    {"drop_privileged_user", "there are no users and privileges"},
    {"grant_privilege_to_user", "there are no users and privileges"},
    {"revoke_privilege_from_user", "there are no users and privileges"},
};

static tl_status unknown(tl_binder *b, const tl_ast *ast, const char *name)
{
    for (size_t i = 0; i < TL_ARRAY_LEN(refused); i++) {
        if (strcasecmp(refused[i].name, name) == 0)
            return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, ast, "procedure %s is not supported: %s", name, refused[i].reason);
    }
    return BIND_ERROR(b, ast, "No match found for function signature %s(…): there is no such procedure", name);
}

const char *tl_sql__procedure_name(size_t i)
{
    return i < TL_ARRAY_LEN(procedures) ? procedures[i].name : NULL;
}

static tl_status constant_text(tl_binder *b, const tl_ast *ast, const char **out)
{
    tl_expr *e;
    TL_TRY(tl_bind__expr(b, ast, &e));
    if (e->kind != TL_EXPR_LITERAL)
        return BIND_ERROR(b, ast, "arguments of a procedure must be constant");
    *out = NULL;
    if (tl_col_is_null(e->literal, 0) || (tl_sql__is_text(e->type) && tl_col_bytes(e->literal, 0).len == 0)) /* '' is left out too */
        return TL_OK;
    tl_buf buf = {0};
    tl_status status = tl_text_append_plain(&buf, e->literal, 0);
    if (status == TL_OK)
        *out = tl_arena_strndup(b->arena, (const char *)buf.data, buf.len);
    tl_buf_deinit(&buf);
    BIND_ALLOC(b, *out);
    return status;
}

/** Whether an argument of the table below has this name. */
static bool is_argument(const char *arg, const char *name)
{
    size_t n = strcspn(arg, "=");
    return strncasecmp(arg, name, n) == 0 && name[n] == '\0';
}

/** "key=value,key=value" into the options of the call. */
static tl_status take_options(call *c, const char *text)
{
    while (*text != '\0') {
        size_t n = strcspn(text, ","), equals = strcspn(text, "=");
        const char *key = tl_arena_strndup(c->b->arena, text, TL_MIN(equals, n));
        if (equals >= n)
            return BIND_ERROR(c->b, c->ast, "'options': '%s' is no list of key=value", text);
        const char *value = tl_arena_strndup(c->b->arena, text + equals + 1, n - equals - 1);
        BIND_ALLOC(c->b, key);
        BIND_ALLOC(c->b, value);
        if (tl_options_set(&c->options, key, value) != TL_OK)
            return tl_nomem(c->b->err, "options");
        text += n + (text[n] == ',');
    }
    return TL_OK;
}

static tl_status bind_options(call *c, const struct procedure *p)
{
    for (int i = 0; i < ARGS_MAX && p->args[i] != NULL; i++) {
        const char *equals = strchr(p->args[i], '=');
        if (c->args[i] != NULL && strcmp(p->args[i], "options") == 0)
            TL_TRY(take_options(c, c->args[i]));
        else if (c->args[i] != NULL && equals != NULL && tl_options_set(&c->options, equals + 1, c->args[i]) != TL_OK)
            return tl_nomem(c->b->err, "options");
    }
    return TL_OK;
}

static bool takes_table(const struct procedure *p)
{
    return strcmp(p->args[0], "table") == 0 || strcmp(p->args[0], "target_table") == 0;
}

static tl_status bind_arguments(call *c, const struct procedure *p)
{
    tl_binder *b = c->b;
    int position = 0;
    for (const tl_ast *arg = tl_ast_first(c->ast->kid[1]); arg != NULL; arg = arg->next) {
        int i = position++;
        if (arg->kind == AST_ARG) {
            for (i = 0; i < ARGS_MAX && p->args[i] != NULL && !is_argument(p->args[i], arg->text);)
                i++;
        }
        if (i >= ARGS_MAX || p->args[i] == NULL)
            return arg->kind == AST_ARG ? BIND_ERROR(b, arg, "procedure %s has no argument '%s'", p->name, arg->text)
                                        : BIND_ERROR(b, arg, "procedure %s takes fewer arguments", p->name);
        TL_TRY(constant_text(b, arg->kind == AST_ARG ? arg->kid[0] : arg, &c->args[i]));
    }
    /* rollback_to and others take a snapshot number where the tag stands. */
    if (strcmp(p->name, "rollback_to") == 0 && c->args[1] != NULL && c->args[2] == NULL && c->args[1][strspn(c->args[1], "0123456789")] == '\0' && c->args[1][0] != '\0') {
        c->args[2] = c->args[1];
        c->args[1] = NULL;
    }
    return bind_options(c, p);
}

/** 'db.table' or 'table' of the procedure's catalog. */
static tl_status open_table(call *c, const char *catalog)
{
    tl_binder *b = c->b;
    TL_TRY(required(c, 0, "table"));
    const char *dot = strchr(c->args[0], '.');
    const char *db = dot != NULL ? tl_arena_strndup(b->arena, c->args[0], (size_t)(dot - c->args[0])) : b->db;
    BIND_ALLOC(b, db);
    tl_ast ids[3] = {{.kind = AST_ID, .text = catalog}, {.kind = AST_ID, .text = db}, {.kind = AST_ID, .text = dot != NULL ? dot + 1 : c->args[0]}};
    ids[0].next = &ids[1];
    ids[1].next = &ids[2];
    const tl_ast name = {.kind = AST_NAME, .count = 3, .kid = {&ids[0], &ids[2]}, .line = c->ast->line, .position = c->ast->position};
    tl_sql_object *object;
    TL_TRY(tl_bind__table(b, &name, c->options.count > 0 ? &c->options : NULL, &c->table, &object));
    if (c->table == NULL || c->table->kind != TL_SQL_TABLE_LAKE)
        return BIND_ERROR(b, c->ast, "'%s' is no table of a lake", c->args[0]);
    return TL_OK;
}

static tl_status tell(const call *c, tl_reader **out)
{
    if (c->n_cells == 0)
        return tl_result__single(c->columns[0], c->none, out, c->b->err);
    tl_result r;
    TL_TRY(tl_result__init(&r, c->columns, c->n_columns, c->b->err));
    tl_status status = TL_OK;
    for (size_t i = 0; i + (size_t)c->n_columns <= c->n_cells && status == TL_OK; i += (size_t)c->n_columns)
        status = tl_result__add(&r, (const char *const *)&c->cells[i], c->b->err);
    if (status == TL_OK)
        status = tl_result__finish(&r, out, c->b->err);
    tl_result__deinit(&r);
    return status;
}

tl_status tl_sql__call_procedure(tl_binder *b, const tl_ast *ast, tl_reader **out)
{
    const char *name = tl_ast_last_name(ast->kid[0]);
    const tl_ast *first = tl_ast_first(ast->kid[0]);
    const char *catalog = ast->kid[0]->count == 3 ? first->text : b->catalog;
    const struct procedure *p = procedures;
    while (p < procedures + TL_ARRAY_LEN(procedures) && strcasecmp(p->name, name) != 0)
        p++;
    if (p == procedures + TL_ARRAY_LEN(procedures))
        return unknown(b, ast, name);
    call c = {.b = b, .ast = ast, .catalog = catalog, .columns = {"result"}, .n_columns = 1, .none = "Success"};
    tl_status status = bind_arguments(&c, p);
    if (status == TL_OK && takes_table(p))
        status = open_table(&c, catalog);
    if (status == TL_OK)
        status = tl_error_wrap(b->err, p->run(&c), "line %d:%d: CALL %s", (int)ast->line, (int)ast->position, name);
    if (status == TL_OK)
        status = tell(&c, out);
    tl_options_deinit(&c.options);
    tl_names_free(c.cells, c.n_cells);
    return status;
}
